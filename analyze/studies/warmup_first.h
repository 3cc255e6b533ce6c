/*
 * Where the first iteration's time goes: each range by what it takes itself, without those in it, and each call of the
 * API, in the first iteration of a process and in those behind the change point. And what of it is memory touched for
 * the first time, where there are marks "page faults" of the domain "nvtally" (kernels/frame/faults.h).
 *
 * All of it is of the same processes: those whose first iteration is timed, as warm-ups have no ranges in them; where
 * there is none, of all, and no range is known. So the ranges' parts add up to the first iteration's excess, what was
 * faster in it taken off. Calls and causes lie within ranges: they are the same time, counted again.
 */
#ifndef NVT_WARMUP_FIRST_H
#define NVT_WARMUP_FIRST_H

#include "warmup.h"

/* A range by its path below the iteration ("forward/attention"; "" is the iteration itself); a call;
 * or a cause, page faults. */
enum nvt_first_kind { NVT_FIRST_RANGE, NVT_FIRST_CALL, NVT_FIRST_CAUSE, NVT_FIRST_KINDS };

/* The name of the cause. */
#define NVT_FIRST_FAULTS "page faults, at what one takes here (an estimate)"

struct nvt_first_part {
    const char *name;
    enum nvt_first_kind kind;
    double first, later;               /* ns an iteration; of a cause CPU time, estimated */
    double faults_first, faults_later; /* page faults an iteration; NaN: unknown */
    /* what those in the first iteration take, estimated; not cut to `first`, so one sees how good
     * the estimate is */
    double faults_ns;
    /* first - later, as a part of the first iteration's excess, of a cause above 1 where the estimate is; NaN when it
     * has none */
    double share;
};

struct nvt_first {
    struct nvt_strings *names;
    struct nvt_first_part *parts; /* by excess, the largest first */
    uint32_t count;
    size_t processes; /* that all of it is the mean of */
    /* What iterations of them take: the first one, and those behind the change point. */
    double first_ns, later_ns;
    /* API calls before the first iteration, without those within other calls: ns a process, and how many there are of all. */
    double before_ns;
    size_t before;
    int is_timed;   /* their first iteration is: ranges are known */
    int leaves_out; /* other processes of the study, as their first iteration is not timed */
    int has_faults;
};

/* Zero-initialise; release with nvt_first_free, also after a failure. 0, or -1 with err (out of
 * memory). */
int nvt_first_make(struct nvt_first *first, const struct nvt_warmup_study *study,
                   struct nvt_error *err);
void nvt_first_free(struct nvt_first *first);

/* Of each kind keep the `most` parts that differ most, either way, and put the others together into
 * one behind them: "(7 others, 2 of them faster at first)". 0, or -1 with err (out of memory). */
int nvt_first_fold(struct nvt_first *first, size_t most, struct nvt_error *err);

#endif
