/*
 * Reports: an analysis by name. Its input are traces and run directories, its output tables. A new
 * report is one new file analyze/reports/<name>.c, with a struct nvt_report nvt_report_<name>, and
 * its name in NVT_REPORTS.
 */
#ifndef NVT_REPORT_H
#define NVT_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "../../lib/table.h"
#include "../device/devices.h"
#include "../input/input.h"
#include "../model/groups.h"

/* All reports: X(name of nvt_report_<name>). Their order is that of `stats -r list`. */
#define NVT_REPORTS(X)                                                                             \
    X(summary)                                                                                     \
    X(run_time)                                                                                    \
    X(nvtx_sum)                                                                                    \
    X(nvtx_pushpop_sum)                                                                            \
    X(nvtx_startend_sum)                                                                           \
    X(nvtx_pushpop_trace)                                                                          \
    X(nvtx_marks)                                                                                  \
    X(nvtx_counters)                                                                               \
    X(nvtx_counter_ranges)                                                                         \
    X(machine)                                                                                     \
    X(gpu_metrics_by_range)                                                                        \
    X(phases)                                                                                      \
    X(roofline)                                                                                    \
    X(mfu)                                                                                         \
    X(fragments)                                                                                   \
    X(switchback)                                                                                  \
    X(gpipe)                                                                                       \
    X(pipeline)                                                                                    \
    X(accumulate)                                                                                  \
    X(warmup)                                                                                      \
    X(growth)                                                                                      \
    X(overhead)                                                                                    \
    X(matmul_share)                                                                                \
    X(attention)                                                                                   \
    X(cuda_gpu_kern_sum)                                                                           \
    X(cuda_gpu_kern_gb_sum)                                                                        \
    X(cuda_api_sum)                                                                                \
    X(cuda_api_callers)                                                                            \
    X(osrt_sum)                                                                                    \
    X(osrt_trace)                                                                                  \
    X(nvtx_osrt_sum)                                                                               \
    X(osrt_threads)                                                                                \
    X(osrt_files)                                                                                  \
    X(osrt_locks)                                                                                  \
    X(osrt_callers)                                                                                \
    X(cpu_functions)                                                                               \
    X(cpu_modules)                                                                                 \
    X(nvtx_cpu_counters)                                                                           \
    X(nvtx_cpu_sum)                                                                                \
    X(cpu_threads)                                                                                 \
    X(mpi_event_sum)                                                                               \
    X(mpi_event_trace)                                                                             \
    X(nvtx_mpi_sum)                                                                                \
    X(mpi_ranks)                                                                                   \
    X(mpi_peers)                                                                                   \
    X(mpi_waits)                                                                                   \
    X(profiler_overhead_sum)                                                                       \
    X(cuda_gpu_mem_time_sum)                                                                       \
    X(cuda_gpu_mem_size_sum)                                                                       \
    X(um_sum)                                                                                      \
    X(um_total_sum)                                                                                \
    X(um_cpu_page_faults_sum)                                                                      \
    X(cuda_gpu_sum)                                                                                \
    X(cuda_api_gpu_sum)                                                                            \
    X(cuda_kern_exec_sum)                                                                          \
    X(cuda_kern_exec_trace)                                                                        \
    X(cuda_gpu_trace)                                                                              \
    X(cuda_api_trace)                                                                              \
    X(nvtx_kern_sum)                                                                               \
    X(nvtx_gpu_proj_sum)                                                                           \
    X(nvtx_gpu_proj_trace)                                                                         \
    X(range_tree)                                                                                  \
    X(gpu_idle)                                                                                    \
    X(overlap)                                                                                     \
    X(critical_path)                                                                               \
    X(critical_path_trace)                                                                         \
    X(launch_latency)                                                                              \
    X(iterations)                                                                                  \
    X(nccl)                                                                                        \
    X(collectives)                                                                                 \
    X(ranks)                                                                                       \
    X(stragglers)                                                                                  \
    X(stages)                                                                                      \
    X(memory_peak)                                                                                 \
    X(memory_at_peak)                                                                              \
    X(memory_segments)                                                                             \
    X(memory_timeline)                                                                             \
    X(process_memory)

enum nvt_report_needs {
    /* made of rows of run directories: not without one, and no traces are read for it */
    NVT_NEEDS_RUNS = 1,
    NVT_TAKES_COMPENSATED = 2, /* compares no times of different threads (compensate.h) */
    NVT_TAKES_LAUNCHES = 4,    /* can do with traces that have launches only, and no ranges */
    NVT_PROJECTS = 8,          /* shows what ranges did on devices, as nvt_input_projection says */
    /* shows what nsys's projection gives, unless another was asked for */
    NVT_PROJECTS_AS_NSYS = 16,
    NVT_TAKES_DIGESTS = 32, /* can do with traces that have only their digests (rank_digest.h) */
};

struct nvt_report;

/* A further table of a report. */
struct nvt_table_kind {
    /* NULL: the report's. An error about a table that is given as a report names the report that it belongs
     * to. */
    const char *name;
    const char *title;
    struct nvt_column columns[NVT_COLUMNS_MOST];
    const char *order[NVT_ORDER_MOST];
    int is_optional; /* left out where it has no row */
};

/* Tables of a report, at most. */
#define NVT_REPORT_TABLES_MOST 8

/* What a report is made of. */
struct nvt_making {
    const struct nvt_report *report;
    struct nvt_input *input;
    const struct nvt_input_trace *from; /* the trace that is asked for, NULL: all */
    /* its first one, then those of `more`; nvt_making_leave_out leaves one out */
    struct nvt_table **tables;
    struct nvt_error *err;
};

/*
 * A report says what its table is (title, columns, order) and has one way to fill it: each_trace, over_traces, each_device, group
 * with put_group, of_input, or make. These return 0, or -1 with err filled, or with err left alone where there was no
 * memory. nvt_report_make does the rest: it makes the tables, orders and adds them, and notes when they are empty.
 */
struct nvt_report {
    const char *name;
    const char *about;
    unsigned needs;
    unsigned naming;   /* enum nvt_kernel_naming_flags that it takes */
    unsigned of;       /* for who fills it: which of the reports that he can make */
    const char *title; /* of its (first) table */
    struct nvt_column columns[NVT_COLUMNS_MOST]; /* of that, up to one without a heading */
    const char *order[NVT_ORDER_MOST]; /* of its rows (nvt_table_order), or as they are put */
    /* A note where the input does not have what the report is about, "no MPI calls in the input"; and one where it has, but there
     * is no row. NULL: none. */
    const char *missing;
    int (*is_in)(const struct nvt_input *input);
    const char *nothing;

    /* Put the rows of a trace into a table of its own. */
    int (*each_trace)(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_making *making);
    /* Whether a trace gets one: of several, those that do not are left out. NULL: all do. */
    int (*has)(const struct nvt_trace *trace);
    /* Put the rows of a trace behind those of the traces before it. */
    int (*over_traces)(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_making *making);
    /* Put the rows of a device that a trace has operations of. */
    int (*each_device)(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, const struct nvt_making *making);
    /* Sort what a trace has into groups, which carry a struct of this size; then put the rows of each group of all traces. */
    int (*group)(struct nvt_groups *groups, const struct nvt_trace *trace,
                 const struct nvt_making *making);
    void (*put_group)(struct nvt_table *table, struct nvt_groups *groups, uint32_t group);
    size_t group_size;
    /* Put the rows of all of the input. */
    int (*of_input)(struct nvt_table *table, const struct nvt_making *making);
    /* Its further tables, up to one without a title; filled by the same function. NULL: none. */
    const struct nvt_table_kind *more;
    /* Append tables, whichever they are. */
    int (*make)(const struct nvt_report *report, struct nvt_input *input, struct nvt_tables *tables,
                struct nvt_error *err);

    /* Write the layout of the published file, NULL when there is none. 0 or -1. */
    int (*published)(struct nvt_input *input, FILE *out, struct nvt_error *err);
    /* Names of tables that its `make` gives others than the report's, up to a NULL; NULL: all are. */
    const char *const *further;
};

/* Append the tables of a report; none, and a note with the reason, where there is nothing to show. 0, or -1 with err
 * filled. */
int nvt_report_make(const struct nvt_report *report, struct nvt_input *input,
                    struct nvt_tables *tables, struct nvt_error *err);

/* Another title of the first table than the report's. */
void nvt_making_title(const struct nvt_making *making, const char *title);

/* The table is not to be shown. */
void nvt_making_leave_out(const struct nvt_making *making, size_t table);

/* Append the tables of its each_trace alone, or else its own alone, for a `make` that has more to add. 0, or -1 with err
 * filled. */
int nvt_report_make_each(const struct nvt_report *report, struct nvt_input *input,
                         struct nvt_tables *tables, struct nvt_error *err);
int nvt_report_make_tables(const struct nvt_report *report, struct nvt_input *input,
                           struct nvt_tables *tables, struct nvt_error *err);

#define NVT_DECLARE_REPORT(name) extern const struct nvt_report nvt_report_##name;
NVT_REPORTS(NVT_DECLARE_REPORT)
#undef NVT_DECLARE_REPORT

/* All reports; *count gets how many. */
const struct nvt_report *const *nvt_reports(size_t *count);

/* A report by name, or NULL. */
const struct nvt_report *nvt_report_find(const char *name);

/* A report by name, or by one that nsys used to call it, with nsys's options behind it ("cuda_gpu_kern_sum:base"), which
 * *naming gets (enum nvt_kernel_naming_flags). NULL with err filled, which names the nearest, the report that has a table of
 * that name, or the options that it takes. */
const struct nvt_report *nvt_report_named(const char *name, unsigned *naming,
                                          struct nvt_error *err);

/* Whether an input has the runs that a report needs. 0, or -1 with err filled. */
int nvt_report_has_runs(const struct nvt_report *report, const struct nvt_input *input,
                        struct nvt_error *err);

/* The tables of a report that was found by nvt_report_named, with its options. 0, or -1 with err filled. */
int nvt_report_make_named(const struct nvt_report *report, unsigned naming, struct nvt_input *input,
                          struct nvt_tables *tables, struct nvt_error *err);

/* The report that fits what was given: the study of a run directory, the ranges of a trace, or what
 * its device did where it has none. */
const struct nvt_report *nvt_report_default(const struct nvt_input *input);

/* A note where directories have workloads whose study is another one than that which is shown: which,
 * and how to ask for them. */
void nvt_report_note_left_out(struct nvt_input *input, const struct nvt_report *shown);

/*
 * A new table of a report with the provenance that all of the input has in common (what differs
 * reads "several", and what only some of it states "not stated of all"). NULL with err filled when out of memory.
 */
struct nvt_table *nvt_report_table(const struct nvt_report *report, const struct nvt_input *input,
                                   const char *title, struct nvt_error *err);

/* A note where operations of other threads count for ranges in these reports, or, by nsys's definition, do not. 0, or -1 with err
 * filled. */
int nvt_report_note_lent(struct nvt_input *input, const struct nvt_report *const *shown,
                         size_t count, struct nvt_error *err);

/* Append a finished table, taking ownership. 0, or -1 with err filled when it had failed. */
int nvt_report_add(struct nvt_tables *tables, struct nvt_table *table, struct nvt_error *err);

#endif
