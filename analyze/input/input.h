/*
 * The input of a command: the traces and run directories that it was given, and how they are read.
 * Reports, findings, charts and documents start from it. Zero-initialise, say how traces are to be
 * read, then add what was given (nvt_input_add, nvt_input_traces).
 */
#ifndef NVT_INPUT_H
#define NVT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/buffer.h"
#include "../../lib/error.h"
#include "../../lib/table.h"
#include "../model/launches.h"
#include "../model/trace.h"
#include "../model/window.h"
#include "runs.h"

struct nvt_cursor;       /* lib/cursor.h */
struct nvt_launch_cache; /* analyze/device/launch_cache.h */
struct nvt_ranks;        /* analyze/studies/rank_digest.h */
struct nvt_diagnosed;    /* analyze/diagnosis/diagnosed.h */

/* A trace, and the record of a run directory that it belongs to. */
struct nvt_input_trace {
    struct nvt_trace *trace;
    const struct nvt_runs *runs; /* the directory whose record names it; NULL: given by itself */
    size_t record;               /* in runs */
    int is_by_name; /* the record was made from the names of ranges (rows.h), it has no results */
    uint32_t named; /* then: the string of the range that names it */
    struct nvt_launches *launches; /* then the trace has no ranges, calls and operations; or NULL */
    uint64_t file[2];              /* device and number of the file, 0: unknown */
    struct nvt_ranks *digest;      /* what its ranks are compared by (rank_digest.h), or NULL */
    /* what was found in it before its events were released, or NULL */
    struct nvt_diagnosed *diagnosed;
    /* then: processes and devices with operations, in the order of the first ones */
    uint32_t (*worked_on)[2];
    uint32_t worked_on_count;
};

/* Whether a trace stands for itself: no directory and no row has results of it. */
static inline int nvt_input_is_own(const struct nvt_input_trace *from)
{
    return !from->runs || from->is_by_name;
}

/* The record of a run directory that a trace belongs to; NULL: it has none. */
static inline const struct nvt_record *nvt_record_of_trace(const struct nvt_input_trace *from)
{
    return from->runs && from->record < from->runs->count ? &from->runs->records[from->record]
                                                          : NULL;
}

/* Whether names of ranges that are alike but for numbers become one: always, or where a trace has more than NVT_MANY_NAMES,
   which a note says. */
enum nvt_grouping { NVT_GROUP_NONE, NVT_GROUP_MANY, NVT_GROUP_ALL };
enum { NVT_MANY_NAMES = 10000 };

/* For reports that need of a trace only what does not grow with its events. */
struct nvt_input_digester {
    /* Of a whole trace; called on any thread. NULL with err filled. No function: traces keep their events, and have no digest. */
    struct nvt_ranks *(*make)(const struct nvt_input_trace *from, struct nvt_error *err);
    void (*free)(struct nvt_ranks *digest);
    /* Before that, for who looks at single traces: sets `diagnosed` and `worked_on`. 0; 1: the trace has to stay as it is, without
     * a digest; -1 with err. NULL: nobody does. */
    int (*look)(struct nvt_input_trace *item, struct nvt_error *err);
    void (*forget)(struct nvt_diagnosed *diagnosed);
    /* What both made, as bytes for another process (image.h), and back: 0 or -1. NULL: files are not shared. */
    void (*put)(const struct nvt_input_trace *item, struct nvt_buffer *out);
    int (*take)(struct nvt_input_trace *item, struct nvt_cursor *in);
};

/* Analyses change nothing in it but the notes. */
struct nvt_input {
    struct nvt_input_trace *traces;
    size_t trace_count;
    struct nvt_runs **runs;
    size_t run_count;

    /* How traces are read. */
    /* enum nvt_project_flags, as they were asked for; 0: nvt_input_projection */
    unsigned project_flags;
    int compensate;    /* without the collector's own cost */
    int only_launches; /* launches are enough (nvt_trace_read_launches); excludes what follows */
    int plain_names;   /* ranges get plain names (plain_names.h) */
    enum nvt_grouping grouping; /* and those that are alike one name (alike_names.h) */
    int every_name; /* where ranges are put together, and one stands for others, each is shown (--every-name) */
    unsigned naming;                 /* enum nvt_kernel_naming_flags */
    const struct nvt_window *window; /* nothing outside of it; NULL: all */
    const char *iteration; /* which ranges are iterations (nvt_iterations_set); NULL: as usual */
    /* traces keep their digest, and no events (nvt_trace_release_events); NULL: all */
    const struct nvt_input_digester *digester;
    int64_t beginning; /* bytes of each file that are read (nvt_trace_read_beginning); 0: all */
    int leaves_out; /* of several files those that cannot be read are left out, which a note says */

    struct nvt_launch_cache *launches; /* what several reports need; NULL: not kept */
    struct nvt_buffer notes;           /* lines for stderr, each with its '\n' */
};

/* How operations belong to ranges: as it was asked for, or else NVT_ACROSS_WAITS. Reports with nsys's names take the flags as they
 * are, which is nsys's definition where nothing was asked for. */
static inline unsigned nvt_input_projection(const struct nvt_input *input)
{
    return input->project_flags ? input->project_flags : NVT_ACROSS_WAITS;
}

/*
 * Read a trace, a run directory, or the traces of a directory that no run wrote (input_folder.h) into
 * the input. A file that was given before is not read again. nvt_input_traces then reads the traces
 * that the directories name. What could not be read becomes a note: a trace in part, or one that a
 * directory names, whose records stand without it. With a window, run directories are refused: their
 * rows are of all that ran. 0, or -1 with err filled.
 */
int nvt_input_add(struct nvt_input *input, const char *path, struct nvt_error *err);
/* nvt_input_add for several paths; files among them are read at the same time. */
int nvt_input_add_all(struct nvt_input *input, char *const *paths, size_t count,
                      struct nvt_error *err);
int nvt_input_traces(struct nvt_input *input, struct nvt_error *err);
void nvt_input_free(struct nvt_input *input);

/* Append runs, which become the input's. 0, or -1 when out of memory. */
int nvt_input_take(struct nvt_input *input, struct nvt_runs *runs);

/* Leave only what is in the window of a trace, and what it was run with. 0, or -1 with err filled. */
int nvt_input_cut(const struct nvt_window *window, struct nvt_trace *trace, struct nvt_error *err);

/* Check that `output` would not overwrite what was read: a trace, or the files of a run directory.
 * 0, or -1 with err filled. */
int nvt_input_check_output(const struct nvt_input *input, const char *output,
                           struct nvt_error *err);

/* The first row of a workload (NULL: of any) at or behind *i, among those of all run directories, behind which *i is then; NULL: none. */
const struct nvt_record *nvt_input_record_of(const struct nvt_input *input, const char *workload,
                                             size_t *i);

/* An error: that the input has no run of a workload. -1. */
int nvt_input_refuse(const struct nvt_input *input, const char *workload, struct nvt_error *err);

/* Sizes, times and numbers of its traces' files as they are now, in a number: another one once one of them has changed. A pipe does
 * not count: it is read once. */
uint64_t nvt_input_signature(const struct nvt_input *input);

/* Whether a trace of the input is that of a record. */
int nvt_input_has_trace(const struct nvt_input *input, const struct nvt_runs *runs, size_t record);

/* Whether a trace is a part of one: there is a window, or there was one when it was exported. */
int nvt_input_has_part(const struct nvt_input *input);

/* Whether any trace has MPI calls; OS calls; CPU samples; CPU counts of ranges. */
int nvt_input_has_mpi(const struct nvt_input *input);
int nvt_input_has_os_calls(const struct nvt_input *input);
int nvt_input_has_cpu_samples(const struct nvt_input *input);
int nvt_input_has_range_counts(const struct nvt_input *input);
/* Whether any trace has stacks of OS calls; of calls of CUDA. */
int nvt_input_has_os_stacks(const struct nvt_input *input);
int nvt_input_has_cuda_stacks(const struct nvt_input *input);

/* What all of the input has in common: what differs reads "several", what only a part states "not
 * stated for all". Texts are the input's, or static. */
struct nvt_provenance nvt_input_provenance(const struct nvt_input *input);
/* What is stated of one trace. */
struct nvt_provenance nvt_input_trace_provenance(const struct nvt_input_trace *from);

/* Add a line to the notes; dropped when out of memory. */
void nvt_note(struct nvt_input *input, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Add a line to notes that belong to no input; dropped when out of memory. */
void nvt_note_in(struct nvt_buffer *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
