/*
 * Reports: an analysis by name. Its input are traces and run directories, its output tables. A new
 * report is one new file analyze/reports/<name>.c, with a struct nvt_report nvt_report_<name>, and
 * its name in NVT_REPORTS.
 */
#ifndef NVT_REPORT_H
#define NVT_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "../../lib/buffer.h"
#include "../../lib/table.h"
#include "../input/runs.h"
#include "../model/trace.h"
#include "../model/window.h"

/* All reports: X(name of nvt_report_<name>). Their order is that of `stats -r list`. */
#define NVT_REPORTS(X)                                                                             \
    X(summary)                                                                                     \
    X(nvtx_sum)                                                                                    \
    X(nvtx_pushpop_sum)                                                                            \
    X(nvtx_startend_sum)                                                                           \
    X(nvtx_pushpop_trace)                                                                          \
    X(nvtx_marks)                                                                                  \
    X(nvtx_counters)                                                                               \
    X(nvtx_counter_ranges)                                                                         \
    X(machine)                                                                                     \
    X(phases)                                                                                      \
    X(roofline)                                                                                    \
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
    X(collectives)                                                                                 \
    X(stragglers)                                                                                  \
    X(memory_peak)                                                                                 \
    X(memory_at_peak)                                                                              \
    X(memory_segments)                                                                             \
    X(memory_timeline)

struct nvt_launch_cache; /* analyze/reports/launches.h */

/* A trace, and where in the run directories it came from. */
struct nvt_input_trace {
    struct nvt_trace *trace;
    const struct nvt_runs *runs; /* the directory whose record names it, NULL: given by itself */
    size_t record;               /* in runs */
    int is_by_name; /* the record is made of what its ranges name (rows.h): it has no results */
    uint32_t named; /* then: the string of the range that names it */
    struct nvt_launches *launches; /* then the trace has no ranges, calls and operations; or NULL */
    uint64_t file[2];              /* device and number of the file, 0: unknown */
};

/* Whether a trace stands for itself: no directory and no row has results of it. */
static inline int nvt_input_is_own(const struct nvt_input_trace *from)
{
    return !from->runs || from->is_by_name;
}

/* What reports read. They change nothing in it but the notes. */
struct nvt_report_input {
    struct nvt_input_trace *traces;
    size_t trace_count;
    struct nvt_runs **runs;
    size_t run_count;
    unsigned project_flags; /* enum nvt_project_flags: how operations belong to ranges */
    int only_launches; /* reports need no more of traces (nvt_trace_read_launches); set it first */
    int compensate;    /* traces are read without the collector's own cost */
    int plain_names;   /* ranges get plain names (plain_names.h); not with only_launches */
    unsigned
        naming; /* enum nvt_kernel_naming_flags, of what the report takes; not with only_launches */
    const struct nvt_window
        *window; /* of traces no more is read, NULL: all; not with only_launches */
    const char *
        iteration; /* which ranges iterations are (nvt_iterations_set), NULL: as usual; not with only_launches */
    struct nvt_launch_cache *launches; /* what several reports need, NULL: not kept */
    struct nvt_buffer notes;           /* lines for stderr, each with its '\n' */
};

enum nvt_report_needs {
    NVT_NEEDS_TRACES = 1,      /* traces are read for it, those of run directories too */
    NVT_NEEDS_RUNS = 2,        /* cannot be made without a run directory */
    NVT_TAKES_COMPENSATED = 4, /* compares no times of different threads (compensate.h) */
    NVT_TAKES_LAUNCHES = 8,    /* can do with traces that have launches only, and no ranges */
};

struct nvt_report {
    const char *name;
    const char *about;
    unsigned needs;
    unsigned naming;                       /* enum nvt_kernel_naming_flags that it takes */
    const struct nvt_column_spec *columns; /* of its (first) table */
    size_t column_count;
    /* Append tables; none, and a note that says why, where nothing is there to tell. 0, or -1 with err filled. */
    int (*make)(struct nvt_report_input *input, struct nvt_tables *tables, struct nvt_error *err);
    /* Write the layout of the published file, NULL when there is none. 0 or -1. */
    int (*published)(struct nvt_report_input *input, FILE *out, struct nvt_error *err);
    /* Names of its tables that are not called as the report is, up to a NULL; NULL: all are. Tables are made with the
     * names in here, so that who takes one for a report is told where it is. */
    const char *const *further;
};

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

/* The report that fits what was given: the study of a run directory, the ranges of a trace, or what
 * its device did where it has none. */
const struct nvt_report *nvt_report_default(const struct nvt_report_input *input);

/* A note where directories have workloads whose study is another one than that which is shown: which,
 * and how to ask for them. */
void nvt_report_note_left_out(struct nvt_report_input *input, const struct nvt_report *shown);

/* Whether any trace has calls of MPI. */
int nvt_report_has_mpi(const struct nvt_report_input *input);

/* Whether any trace has calls of the operating system. */
int nvt_report_has_os_calls(const struct nvt_report_input *input);

/* Whether any trace has samples of what threads run. */
int nvt_report_has_cpu_samples(const struct nvt_report_input *input);
/* Whether a trace has stacks of such calls, and of those of CUDA. */
int nvt_report_has_os_stacks(const struct nvt_report_input *input);
int nvt_report_has_cuda_stacks(const struct nvt_report_input *input);

/* Notes that there are calls of MPI, or of the operating system, or samples of what threads run, and which reports have them;
 * none where there is none. */
void nvt_report_note_calls(struct nvt_report_input *input);

/*
 * Read a trace, a run directory, or the traces of a directory that no run wrote (input_folder.h) into
 * the input; a file that was given before is not read again. 0 or -1. Warnings about what could not be read become notes. nvt_input_traces then reads
 * the traces that the directories name; one that is missing or broken is a note, because the records
 * stand without it. With a window directories of runs are refused, whose rows are of all that ran.
 */
int nvt_input_add(struct nvt_report_input *input, const char *path, struct nvt_error *err);
int nvt_input_traces(struct nvt_report_input *input, struct nvt_error *err);
void nvt_input_free(struct nvt_report_input *input);

/* Whether a trace of the input is that of a record. */
int nvt_input_has_trace(const struct nvt_report_input *input, const struct nvt_runs *runs,
                        size_t record);

/* Append runs, which become the input's. 0, or -1 when out of memory. */
int nvt_input_take(struct nvt_report_input *input, struct nvt_runs *runs);

/* Whether `output` would go over what was read: a trace, or the files of a run directory. 0, or -1 with
 * err: it would. */
int nvt_input_check_output(const struct nvt_report_input *input, const char *output,
                           struct nvt_error *err);

/* Add a line to the notes (dropped when out of memory). */
void nvt_note(struct nvt_report_input *input, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same to notes that are of no input. */
void nvt_note_in(struct nvt_buffer *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * A new table of a report with the provenance that all of the input has in common (what differs
 * reads "several", and what only some of it states "not stated of all"). NULL with err filled when out of memory.
 */
struct nvt_table *nvt_report_table(const struct nvt_report *report,
                                   const struct nvt_report_input *input, const char *title,
                                   struct nvt_error *err);

/* The same with the first columns only, of a report whose last ones are not always needed. */
struct nvt_table *nvt_report_table_of(const struct nvt_report *report, size_t columns,
                                      const struct nvt_report_input *input, const char *title,
                                      struct nvt_error *err);

/* Leave what is in the window of a trace, and what it was run with. 0, or -1 with err. */
int nvt_input_cut(const struct nvt_window *window, struct nvt_trace *trace, struct nvt_error *err);

/* Whether a trace is a part of one: there is a window, or there was when it was exported. */
static inline int nvt_input_has_part(const struct nvt_report_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->is_part)
            return 1;
    return nvt_window_is_set(input->window);
}

/* Of one trace, with its own provenance; where there are several the title names it: "TITLE of PATH". */
struct nvt_table *nvt_report_trace_table(const struct nvt_report *report,
                                         const struct nvt_report_input *input,
                                         const struct nvt_trace *trace, const char *title,
                                         struct nvt_error *err);

/* What all of the input has in common; texts are the input's, or static. */
struct nvt_provenance nvt_report_provenance(const struct nvt_report_input *input);

/* A note of what --compensate took off; none where nothing was asked for. */
void nvt_report_note_costs(struct nvt_report_input *input);

/* Append a finished table, taking ownership. 0, or -1 with err filled when it had failed. */
int nvt_report_add(struct nvt_tables *tables, struct nvt_table *table, struct nvt_error *err);

#endif
