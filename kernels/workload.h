/*
 * Workloads: what `nvtally run` measures. A workload is one file in kernels/workloads/ with a struct
 * nvt_workload nvt_workload_<name>, one in kernels/ with its axes (axes_<name>.c, nvt_axes_<name>), and its
 * name in NVT_WORKLOADS. The axes are apart because the program knows them without loading a backend.
 *
 * The driver calls setup, `warmup` times all phases, `iterations` times all phases with the clock on, and
 * teardown. In the NVTX domain "nvtally" that is a range "WORKLOAD key=value …", in it a range "warmup" for
 * each untimed iteration, without any within it, and a range "iteration" for each timed one (both with
 * their number as payload), in that a range for each phase with its FLOPs and bytes. A phase's range ends
 * with a synchronisation of the device; the clock is read just inside it.
 *
 * A workload of operations that have nothing to do with each other measures them one by one
 * (enum nvt_timing): warm-ups and calls of the first, then of the second. Where all calls are under one
 * clock, they have one range instead of the iterations, "loop" with their number as payload, and in it the
 * phase's, with the FLOPs and bytes of all of them.
 *
 * Where a run is to be compared within itself, each timed iteration has a twin next to it, before and behind
 * it in turn, that does the same but for the calls of NVTX. Only the times tell the two apart.
 *
 * Or it has as many warm-ups and iterations first without these calls. Then all is done again within a range "recorded", which
 * is all that the trace is to have (record --capture): so the times of the first half are those of a process in which nothing
 * is recorded, and what both halves share, such as where memory lies, is in neither's favour. The loss is that of all
 * iterations.
 *
 * Where several runs take turns, all of setup, each warm-up iteration, each timed iteration or loop, and
 * all that comes behind the last one are a turn each: nothing of one run goes on beside a timed iteration of
 * another.
 */
#ifndef NVT_WORKLOAD_H
#define NVT_WORKLOAD_H

#include <stdint.h>

#include "../lib/error.h"
#include "../lib/nvtx.h"
#include "backend.h"
#include "frame/allocator.h"
#include "frame/faults.h"
#include "frame/turns.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All workloads: X(name of nvt_workload_<name> and nvt_axes_<name>). Their order is that of --help. */
#define NVT_WORKLOADS(X)                                                                           \
    X(linear)                                                                                      \
    X(fragmented)                                                                                  \
    X(transformer)                                                                                 \
    X(switchback)                                                                                  \
    X(accumulate)                                                                                  \
    X(gpipe)

#define NVT_CONFIGURATION_MAX 512
#define NVT_PHASES_MOST       24 /* of a workload */
#define NVT_NUMBERS_MOST      64 /* of a row, beyond those that every workload has */

/* One configuration and how it is measured. */
struct nvt_run_settings {
    const char *workload;
    const char *configuration; /* "size=256 batch=8 mode=train fragments=32", no nulls */
    int64_t warmup, iterations;
    uint64_t seed;
    uint64_t memory_limit; /* bytes, 0: what the backend has */
    int within;            /* each iteration twice, once with the calls of NVTX and once without */
    int halves;            /* as many first, without them, in front of a range "recorded" */
    const char *turns;     /* file of those that it takes turns with (frame/turns.h), NULL: none */
    int64_t place;         /* its number among them */
};

enum nvt_run_status { NVT_RUN_OK, NVT_RUN_OOM, NVT_RUN_ERROR };

struct nvt_phase_result {
    const char *name; /* static text */
    int is_absent;    /* not run in this configuration: it has no times */
    double *ns;       /* of every timed iteration, `iterations` of them; see calls */
    /* of every iteration of its twin without NVTX, or of the first half's; NULL: none */
    double *mute_ns;
    int64_t calls; /* 1. Else ns[0], the mean of so many under one clock, is all that is known */
    struct nvt_work_payload work;
    const char *precision; /* static text: see struct nvt_workload; NULL: the configuration's */
    uint64_t peak_allocated, peak_reserved; /* bytes within the phase, over all timed iterations */
};

/* A number of the row that only this workload has. */
struct nvt_run_number {
    char key[64];
    double value;
};

/* Released with nvt_workload_release. */
struct nvt_run_result {
    enum nvt_run_status status;
    char message[512]; /* why it is not ok, or what to know of it when it is; "" for nothing */
    int64_t iterations;
    int64_t timed_ns; /* that the timed iterations took, with what lies between their phases */
    struct nvt_phase_result phases[NVT_PHASES_MOST];
    size_t phase_count;
    struct nvt_run_number numbers[NVT_NUMBERS_MOST];
    size_t number_count;
    uint64_t parameters;
    uint64_t peak_allocated, peak_reserved; /* bytes, over the timed part */
    double loss;                            /* after the last iteration, NaN when there is none */
    struct nvt_backend_facts backend;
};

/* How phases are put to the clock. */
enum nvt_timing {
    NVT_TIME_ITERATIONS, /* all phases in turn, `iterations` times */
    NVT_TIME_SINGLE,     /* one phase after the other, each call of it in an iteration of its own */
    NVT_TIME_LOOP,       /* one phase after the other, all its calls under one clock */
};

/* What a workload has at hand. */
struct nvt_run_context {
    const struct nvt_run_settings *settings;
    struct nvt_allocator *allocator;
    struct nvt_nvtx nvtx; /* for ranges of its own; they are left out of warm-ups */
    /* The driver's: */
    const struct nvt_workload *workload;
    struct nvt_run_result *result;
    nvtxStringHandle_t names[NVT_PHASES_MOST];
    struct nvt_faults faults;
    struct nvt_turns *turns;          /* NULL: it is alone */
    double phase_ns[NVT_PHASES_MOST]; /* of this iteration; NaN: it could not be told apart */
    uint64_t memory_limit;            /* bytes that all allocators together may hold, 0: no bound */
    uint64_t refused;    /* bytes that an allocator of the workload's own could not give, 0: none */
    char refused_at[24]; /* whose that is: "rank 1: ", "": this process's */
};

struct nvt_phase {
    const char *name; /* of its range and, with "_ns_mean" behind it, in the row */
    /* 0 or -1 with err; the driver waits for the device behind it. NULL: the phase lies within another
     * one, which opens and closes it with nvt_phase_begin and nvt_phase_end. */
    int (*run)(struct nvt_run_context *context, void *state, struct nvt_error *err);
};

struct nvt_workload {
    const char *name;
    const struct nvt_phase *phases; /* in the order in which they are run */
    size_t phase_count;
    /* Make the state of a configuration. 0 with *state, or -1 with err; that device memory ran out is
     * told by the allocator's `refused`. */
    int (*setup)(struct nvt_run_context *context, void **state, struct nvt_error *err);
    void (*teardown)(struct nvt_run_context *context, void *state);
    double (*loss)(void *state); /* may be NULL */
    uint64_t (*parameters)(const void *state);
    /* FLOPs and bytes of one run of a phase, of those nested in it too. */
    void (*work)(const void *state, size_t phase, struct nvt_work_payload *work);
    /* What a phase multiplies, "fp16" or "int8" (static text), where its products are of another precision than the
     * configuration's "precision=", or than float without it. NULL for a phase: they are not. May be NULL. */
    const char *(*precision)(size_t phase);
    /* Numbers of its own, by nvt_run_number, when all iterations are done: 0 or -1 with err. May be NULL. */
    int (*finish)(struct nvt_run_context *context, void *state, struct nvt_error *err);
    enum nvt_timing (*timing)(const void *state); /* NULL: NVT_TIME_ITERATIONS */
};

/* A value of a configuration text, or `missing`. */
int64_t nvt_configuration_number(const char *configuration, const char *key, int64_t missing);
/* Whether the configuration has this word as the value of the key. */
int nvt_configuration_is(const char *configuration, const char *key, const char *word);

/* A phase within another one: its range, with a wait for the device before and behind it. */
struct nvt_phase_clock {
    int64_t start;
    struct nvt_memory_scope memory;
};
void nvt_phase_begin(struct nvt_run_context *context, size_t phase, struct nvt_phase_clock *clock);
void nvt_phase_end(struct nvt_run_context *context, size_t phase, struct nvt_phase_clock *clock);

/* In setup: this configuration has no such phase. It is not run, has no range, and its times are null. */
void nvt_phase_absent(struct nvt_run_context *context, size_t phase);

/* Put a number into the row. Beyond NVT_NUMBERS_MOST it is left out, and the run is an error. */
void nvt_run_number(struct nvt_run_context *context, const char *key, double value);

#define NVT_LIBRARY_API __attribute__((visibility("default")))

/* The entries of libnvtally-host.so and libnvtally-cuda.so: run one configuration; release the result;
 * tell what the backend is (0, or -1 with err when it has no device). */
NVT_LIBRARY_API void nvt_workload_run(const struct nvt_run_settings *settings,
                                      struct nvt_run_result *result);
NVT_LIBRARY_API void nvt_workload_release(struct nvt_run_result *result);
NVT_LIBRARY_API int nvt_workload_backend(struct nvt_backend_facts *facts, struct nvt_error *err);
/* Measure the peak: 0, or -1 with err when there is no device or no memory. 2.3 GiB of a device or 260 MiB of a host
 * where there is so much, a quarter of that at least. */
NVT_LIBRARY_API int nvt_workload_peak(struct nvt_peak *peak, struct nvt_error *err);

#define NVT_DECLARE_WORKLOAD(name) extern const struct nvt_workload nvt_workload_##name;
NVT_WORKLOADS(NVT_DECLARE_WORKLOAD)
#undef NVT_DECLARE_WORKLOAD

#ifdef __cplusplus
}
#endif
#endif
