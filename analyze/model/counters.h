/*
 * NVTX counters over time: the samples of each in order, and the level that they make. Of a counter whose samples
 * say how much more there is (NVT_COUNTER_DELTA) the level is their running sum, from 0; else it is the sample
 * itself. A level holds until the next sample.
 */
#ifndef NVT_COUNTERS_H
#define NVT_COUNTERS_H

#include "../../lib/machine_quantities.h"
#include "trace.h"

/* The level behind a sample, from that before it (0 before the first). */
static inline double nvt_counter_level(enum nvt_counter_values values, double before, double sample)
{
    return values == NVT_COUNTER_DELTA ? before + sample : sample;
}

struct nvt_counter_course {
    uint32_t counter; /* row of the trace */
    uint32_t count;
    const int64_t *time;         /* ns, ascending */
    const double *value, *level; /* in the counter's unit */
    /* Of levels, a block of NVT_COURSE_BLOCK each. */
    const double *lowest, *highest;
    const double *integral; /* of the level from the first sample to each, times ns */
};
#define NVT_COURSE_BLOCK 256u

/* A course for every row of trace->counters, in their order; release with nvt_counter_courses_free. */
struct nvt_counter_courses {
    struct nvt_counter_course *items;
    uint32_t count;
    int64_t *times;
    double *values, *levels, *blocks, *integrals;
};

/* 0, or -1 when out of memory. */
int nvt_counter_courses(const struct nvt_trace *trace, struct nvt_counter_courses *courses);
void nvt_counter_courses_free(struct nvt_counter_courses *courses);

/* How many samples were taken up to and at a time. */
uint32_t nvt_course_until(const struct nvt_counter_course *course, int64_t time);

/* The lowest and the highest level of samples `from` to `to` (not with it); there is one at least. */
void nvt_course_bounds(const struct nvt_counter_course *course, uint32_t from, uint32_t to,
                       double *lowest, double *highest);

/* Whether a counter is of memory in use: its samples are levels, in bytes, and "alloc" is in its name, not "high",
 * "peak" or "max". `nvt_counts_memory`: whether a trace has one. */
int nvt_is_memory_counter(const struct nvt_trace *trace, uint32_t counter);
int nvt_counts_memory(const struct nvt_trace *trace);

/* The integral of the level over the part of [from, to] for which it is known: from the first sample to the last. In
 * the counter's unit times ns. How long that part is, ns, is added to *known. */
double nvt_course_integral(const struct nvt_counter_course *course, int64_t from, int64_t to,
                           double *known);

/* Whether the recorder samples it: no thread of the program takes part. */
static inline int nvt_is_sampled_counter(const struct nvt_trace *trace, uint32_t counter)
{
    return trace->counters.is_of_machine[counter] || trace->counters.is_of_process[counter];
}

/* How many counters are of the machine, and whether there are samples of those. */
uint32_t nvt_machine_counters(const struct nvt_trace *trace);
int nvt_has_machine_samples(const struct nvt_trace *trace);

/* How many processes have samples of their memory. */
uint32_t nvt_processes_sampled(const struct nvt_trace *trace);

/* The counter of a quantity of a process's memory, NVT_NONE when there is none. */
uint32_t nvt_process_counter(const struct nvt_trace *trace, uint32_t process,
                             enum nvt_machine_process id);

#endif
