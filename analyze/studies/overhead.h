/*
 * Profiling overhead: the times of each phase at a level of collection compared with those of the same configuration
 * and warm-up without collection, the baseline. The report `overhead` and its chart read it; the run's own clock is the
 * same at every level.
 *
 * A level's j-th run of a configuration in a directory is paired with the j-th baseline there or, where there is none,
 * with the j-th baseline of all directories: `nvtally run` interleaves levels, so that both met the machine in the same
 * state: runs one after the other or, by --interleave iterations, side by side. By --interleave within a run is a pair
 * by itself: each of its iterations is paired with a neighbour without NVTX, its ratio is the median of theirs, and
 * where its memory lies is the same for both; of fewer than three iterations it is no pair, as the first, which may
 * meet a cold machine, moves their median. By --interleave halves a run is a pair by itself, too: of the medians of its
 * first half, of which nothing is recorded, and of the second. These four are not mixed. With two pairs and more the
 * slow-down is the median of the ratios, which between two runs are those of their medians. Its 95 % interval is, from
 * six pairs on, that between the order statistics that the sign test allows (Conover, "Practical Nonparametric
 * Statistics", 1999, section 3.2: distribution-free); with two to five Student's t of the logarithms of the ratios. A
 * single pair has the ratio of its means and the interval of Welch's t by the normal approximation (change.h), where
 * the iterations of a run count as independent and what differs from run to run is not in it. Published rows are paired
 * too; how many iterations theirs are of they may not say, and then there is no interval.
 */
#ifndef NVT_OVERHEAD_H
#define NVT_OVERHEAD_H

#include "../input/input.h"

struct nvt_slowdown_row {
    char *configuration; /* "workload key=value …" */
    const char *level;   /* belongs to the input */
    char *phase;
    int64_t warmup;          /* -1: the record does not say it */
    const char *interleave;  /* the value of --interleave; belongs to the input */
    double bare, with;       /* ns: medians over the pairs */
    double ratio, low, high; /* NaN: nothing can be said */
    /* CPU time of the recorder, as a share of the time in timed iterations: the median over the pairs, NaN when nothing
     * is known of it. The ratio is what the workload's clock shows, and a recorder that does its work while the
     * workload rests is not in it; had it taken all of that from the workload, the slow-down would have been ratio · (1
     * + recorder). */
    double recorder;
    size_t pairs;
    const char *source; /* "measured", "published": static text */
};

struct nvt_slowdowns {
    struct nvt_slowdown_row *rows;
    size_t count;
    size_t bare;       /* runs without collection, and those that are their own baseline */
    size_t short_runs; /* of the latter, how many are no pair, having too few iterations */
};

/* Of all run directories of the input, by configuration, warm-up, phase and level in the order in
 * which they come. 0, or -1 with err (out of memory). Zero-initialise; release with
 * nvt_slowdowns_free. */
int nvt_slowdowns_make(struct nvt_slowdowns *overheads, const struct nvt_input *input,
                       struct nvt_error *err);
void nvt_slowdowns_free(struct nvt_slowdowns *overheads);

/* Whether runs with that --interleave (NULL: none is stated) are their own baselines, by interleaved pairs or
 * halves. */
int nvt_interleave_is_own_bare(const char *interleave);

/* What has to be said of intervals that are of one pair of runs, as a sentence; NULL: there is none. */
const char *nvt_slowdowns_caution(const struct nvt_slowdowns *overheads);

/* The median of `count` ratios and its 95 % interval, as said above; the values are sorted. One
 * ratio has no interval. */
void nvt_ratio_interval(double *ratios, size_t count, double *median, double *low, double *high);

#endif
