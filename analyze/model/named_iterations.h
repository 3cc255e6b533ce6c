/*
 * The iterations that a program names, and which of them a moment lies in.
 *
 * They are its ranges `iteration` of the domain nvtally; where there is none those of any domain, or else PyTorch's
 * `ProfilerStep#<number>`, or else those of another name that programs give to them, `step`, `train_step`, `batch` … (loop_names.h). Or those that the user says (--iteration), and no others: NAME, NAME@DOMAIN or
 * "DOMAIN:NAME" as tables have it; what ends in * are all names that begin so. One that lies within another of its thread is none: a solver's own loop may be called so too.
 */
#ifndef NVT_NAMED_ITERATIONS_H
#define NVT_NAMED_ITERATIONS_H

#include "trace.h"

/* From now on a trace's iterations are the ranges of this name, a text that outlives it; NULL: as usual. 0, or -1 with err:
 * it has none. */
int nvt_iterations_set(struct nvt_trace *trace, const char *name, struct nvt_error *err);

/* Find out which name the program gives to them, where none are called `iteration`, nor PyTorch's: part of nvt_trace_finish.
 * 0, or -1 when out of memory. */
int nvt_iterations_recognize(struct nvt_trace *trace);

/* Whether they have another name than `iteration` and those of PyTorch: as the user says, or as the program calls them. */
int nvt_has_own_iterations(const struct nvt_trace *trace);

/* Whether a range is called as iterations are: as the user says, or the program calls them, or else `iteration`, of whatever domain. */
int nvt_is_called_iteration(const struct nvt_trace *trace, uint32_t range);

/* Their rows, ascending, without those that a window cuts (NVT_RANGE_CUT); malloc'ed with *count, NULL when out of memory. */
uint32_t *nvt_iterations(const struct nvt_trace *trace, uint32_t *count);
/* The same; *cut gets how many a window cuts. */
uint32_t *nvt_whole_iterations(const struct nvt_trace *trace, uint32_t *count, uint32_t *cut);

/*
 * What is steady about a process: the second half of those of the given iterations that are its (NVT_NONE: of all), from
 * the start of the first to the last end (ns). Returns how many these are; 0 where it has none: from and to are left.
 */
uint32_t nvt_steady_iterations(const struct nvt_trace *trace, uint32_t process,
                               const uint32_t *iterations, uint32_t count, int64_t *from,
                               int64_t *to);

/* Some of them in the order of their starts, and how late the latest of those up to each one ends. */
struct nvt_iteration_lane {
    uint32_t *items; /* indices of rows */
    int64_t *until;
    uint32_t *first; /* of each thread or process, and the end of the last */
    uint32_t count;  /* of threads or processes */
};

/* Zero-initialise; release with nvt_named_iterations_free, also after a failure. */
struct nvt_named_iterations {
    const struct nvt_trace *trace;
    uint32_t *rows;
    uint32_t count;
    struct nvt_iteration_lane threads, processes, all; /* all: one lane of everything */
};

/* 0, or -1 when out of memory. */
int nvt_named_iterations_of(struct nvt_named_iterations *iterations, const struct nvt_trace *trace);
void nvt_named_iterations_free(struct nvt_named_iterations *iterations);

/*
 * The iteration (index of rows) that holds a moment of a thread, the one that began last; NVT_NONE: none does. A thread
 * that has iterations is in no other's; one without is in those of its process, and in any where that has none. The
 * thread may be NVT_NONE; the process is asked for only then.
 */
uint32_t nvt_iteration_at(const struct nvt_named_iterations *iterations, uint32_t thread,
                          uint32_t process, int64_t moment);

#endif
