/* Sampled CPU time of all traces of an input: what its tables have in common. */
#ifndef NVT_CPU_INPUT_H
#define NVT_CPU_INPUT_H

#include "../../lib/python_stacks.h"
#include "../model/groups.h"
#include "../input/input.h"
#include "hot_functions.h"
#include "pairs.h"

/* The name of CPU samples in messages, and how to record them. */
#define NVT_CPU_SAMPLES "CPU samples (record --trace cpu, nsys profile --sample)"

/* What is known of the samples of all traces of the input. */
struct nvt_cpu_input {
    uint64_t samples, alone; /* in all; those without callers */
    int64_t weight;          /* ns of all; samples, where any trace has no times */
    int has_times;
    struct nvt_python_stacks python;
};

/* Count the samples of an input. */
struct nvt_cpu_input nvt_cpu_count(const struct nvt_input *input);

/* Count the samples of an input, and note what must be known to read numbers of them: that there are none, or few, or no times;
 * with `totals` also that callers are not known of all; that Python's stacks are missing. */
struct nvt_cpu_input nvt_cpu_look(struct nvt_input *input, int totals);

/* The title, with how many samples the table is made of. */
void nvt_cpu_title(struct nvt_table *table, const char *title, const struct nvt_cpu_input *all);

/* A weight as a time, for a cell; null where it is none. */
static inline struct nvt_cell nvt_cpu_time(const struct nvt_cpu_input *all, int64_t weight)
{
    return NVT_IF(all->has_times, weight);
}

/* The functions of a trace, weighed as those of all are. 0, or -1 with err filled. */
int nvt_cpu_functions(struct nvt_sampled_functions *functions, const struct nvt_trace *trace,
                      enum nvt_sampled_functions_by by, const struct nvt_cpu_input *all,
                      struct nvt_error *err);

/* The group of each function of a trace, whose key is its name and its module as strings of the groups, which are equal
 * in all traces. malloc'ed; NULL when out of memory. */
uint32_t *nvt_cpu_groups(struct nvt_groups *groups, const struct nvt_sampled_functions *functions);

#endif
