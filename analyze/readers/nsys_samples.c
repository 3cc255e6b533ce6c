/*
 * Samples of what threads run (nsys profile --sample): COMPOSITE_EVENTS, a row a sample, and SAMPLING_CALLCHAINS, a row a function
 * on its stack.
 *
 * Of a sample's stack (nsys_stacks.h) nsys 2023.4 writes:
 *  - A sample in so many (--samples-per-backtrace) has its callers. Of the others the one row has no method of unwinding: for the
 *    function alone was looked. One of which callers were looked for and not found has a method, or an entry that says so.
 *  - LINUX_PERF_OPTIONS:SAMPLING_PERIOD is in ns of processor time where CPU_IP_TRIGGER_TYPE is Software, and elsewhere in events
 *    of the processor, of which it is unknown how long they took.
 *  - Sampled are the process tree, or all of the machine: then only processes matter of which there is something else, or that
 *    nsys started (ProcessStreams).
 * Exports of ours have cpuNs, too (exports/sqlite_samples.c).
 */
#ifdef HAVE_SQLITE
#include "nsys_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ENUM_SAMPLING_THREAD_STATE: unknown and running, and "OS runtime", which is in a call. */
#define STATE_RUNNING    1
#define STATE_OS_RUNTIME 8
/* Longer ones are no periods. */
#define PERIOD_MOST INT64_C(3600000000000)

struct nvt_nsys_samples {
    int64_t period;        /* of the trigger, 0 unknown */
    int is_clock;          /* it is in ns */
    int takes_all;         /* samples of all processes */
    struct nvt_map tree;   /* processes that nsys started, as their global ids have them */
    uint64_t others, idle; /* that were left out */
};

/* --- how it was sampled --- */

enum { NAME, VALUE };

static int setting(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const char *name = nvt_nsys_plain_text(table, NAME);
    const char *value = nvt_nsys_plain_text(table, VALUE);
    struct nvt_nsys_samples *samples = reader->samples;
    const char *what = name ? strchr(name, ':') : NULL;
    if (!what || !value)
        return 0;
    if (!strcmp(what, ":SAMPLING_PERIOD"))
        samples->period = strtoll(value, NULL, 10);
    else if (!strcmp(what, ":CPU_IP_TRIGGER_TYPE"))
        samples->is_clock = !strcmp(value, "Software");
    else if (!strcmp(what, ":COLLECTION_MODE"))
        samples->takes_all = !strcmp(value, "ProcessTree");
    return 0;
}

static int started(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return nvt_map_set(&reader->samples->tree, (uint64_t)nvt_nsys_int(table, 0, 0) >> 24, 1);
}

/* --- samples --- */

enum { S_ID, S_TIME, S_TID, S_STATE, S_NS };

static int is_wanted(const struct nvt_nsys *reader, uint64_t process)
{
    return reader->samples->takes_all || nvt_map_get(&reader->processes, process) != NVT_MAP_NONE ||
           nvt_map_get(&reader->samples->tree, process) != NVT_MAP_NONE;
}

static int sample(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_nsys_samples *samples = reader->samples;
    int64_t state = nvt_nsys_int(table, S_STATE, STATE_RUNNING);
    if (nvt_nsys_is_null(table, S_TID))
        return 0;
    if (!is_wanted(reader, (uint64_t)nvt_nsys_int(table, S_TID, 0) >> 24)) {
        samples->others++;
        return 0;
    }
    if (state > STATE_RUNNING && state != STATE_OS_RUNTIME) {
        samples->idle++;
        return 0;
    }
    const struct nvt_cpu_sample row = {.time = nvt_nsys_time(table, S_TIME),
                                       .thread = nvt_nsys_thread(reader, table, S_TID),
                                       .cpu_ns = (int64_t)(nvt_nsys_is_null(table, S_NS)
                                                               ? (uint64_t)samples->period
                                                               : nvt_nsys_size(table, S_NS))};
    if (row.thread == NVT_NONE)
        return -1;
    uint32_t at = nvt_cpu_sample_add(reader->trace, &row);
    return at == NVT_NONE ? -1 : nvt_nsys_stacks_want(reader, nvt_nsys_int(table, S_ID, 0), at);
}

/* --- all of it --- */

static void note_left_out(struct nvt_nsys *reader, uint64_t count, const char *why)
{
    if (count)
        nvt_trace_note(reader->trace, "%" PRIu64 " sample%s left out: %s", count,
                       count == 1 ? " is" : "s are", why);
}

static int read_all(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec settings = {
        "META_DATA_CAPTURE", "name GLOB 'LINUX_PERF_OPTIONS:*'", 2, {"name", "value"}, setting};
    static const struct nvt_nsys_spec tree = {"ProcessStreams", NULL, 1, {"globalPid"}, started};
    static const struct nvt_nsys_spec rows = {
        "COMPOSITE_EVENTS", NULL, 3, {"id", "start", "globalTid", "threadState", "cpuNs"}, sample};
    struct nvt_nsys_samples *samples = reader->samples;
    if (nvt_nsys_read(reader, &settings) || nvt_nsys_read(reader, &tree))
        return -1;
    if (!samples->is_clock || samples->period < 0 || samples->period > PERIOD_MOST)
        samples->period = 0;
    samples->takes_all |= !reader->processes.used && !samples->tree.used;
    if (nvt_nsys_read(reader, &rows))
        return -1;
    note_left_out(reader, samples->others, "of processes that have nothing else in the trace");
    note_left_out(reader, samples->idle, "of threads that did not run");
    return nvt_nsys_stacks_read(reader, "SAMPLING_CALLCHAINS", reader->trace->cpu_samples.frame,
                                reader->trace->cpu_samples.flags);
}

int nvt_nsys_read_samples(struct nvt_nsys *reader)
{
    reader->samples = calloc(1, sizeof(*reader->samples));
    if (!reader->samples)
        return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
    int status = read_all(reader);
    nvt_map_free(&reader->samples->tree);
    free(reader->samples);
    reader->samples = NULL;
    return status;
}
#endif
