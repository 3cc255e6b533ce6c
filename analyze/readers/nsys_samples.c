/*
 * Samples of what threads run (nsys profile --sample): COMPOSITE_EVENTS, a row a sample, and SAMPLING_CALLCHAINS, a row a function
 * on its stack, depth 0 the innermost one.
 *
 * What nsys 2023.4 writes, and what is made of it:
 *  - A sample in so many (--samples-per-backtrace) has its callers. Of the others the one row has no method of unwinding: for the
 *    function alone was looked. One of which callers were looked for and not found has a method, or an entry that says so.
 *  - Such entries, "[Broken backtraces]" (of a module of the same name) behind the last function that was found, are no functions;
 *    specialEntry is not always set. Most stacks end with one, whether anything is missing or not.
 *  - A function of no known name is "0x55bcadd541a4", unresolved, in the module that it lies in. It is kept as it is, where that is
 *    "[Unknown]" (what a frame pointer that is none points at) without one.
 *  - LINUX_PERF_OPTIONS:SAMPLING_PERIOD is in ns of processor time where CPU_IP_TRIGGER_TYPE is Software, and elsewhere in events
 *    of the processor, of which it is unknown how long they took.
 *  - Sampled are the process tree, or all of the machine: then only processes matter of which there is something else, or that
 *    nsys started (ProcessStreams).
 * Rows come in the order of sample and depth, and are read in one pass; if they do not, they are sorted. Exports of ours have
 * cpuNs, too (exports/sqlite_samples.c).
 */
#ifdef HAVE_SQLITE
#include "frames.h"
#include "nsys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

/* Functions of a stack that are taken, the innermost ones; nsys has 256. */
#define DEPTH 512
/* What is no function. */
#define ARTIFICIAL (NVT_NONE - 1)
#define KERNEL     "[kernel]"
#define UNKNOWN    "[Unknown]"
/* ENUM_SAMPLING_THREAD_STATE: unknown and running, and "OS runtime", which is in a call. */
#define STATE_RUNNING    1
#define STATE_OS_RUNTIME 8
/* Longer ones are no periods. */
#define PERIOD_MOST INT64_C(3600000000000)

struct sample_id {
    int64_t id;
    uint32_t row; /* of cpu_samples */
    uint32_t is_done;
};

struct function {
    uint32_t name, module; /* strings */
};

struct nvt_nsys_samples {
    int64_t period;      /* of the trigger, 0 unknown */
    int is_clock;        /* it is in ns */
    int takes_all;       /* samples of all processes */
    struct nvt_map tree; /* processes that nsys started, as their global ids have them */
    struct sample_id *ids;
    uint32_t count;
    uint64_t others, idle; /* that were left out */
    struct nvt_map ids_of; /* symbol << 32 | module << 1 | whether of the kernel -> function */
    struct nvt_map texts;  /* name << 32 | module -> function */
    struct nvt_frame_tree frames;
    struct function *functions;
    uint32_t function_count;
    /* The stack that is being read, and the last one that was, from its outermost function on. */
    uint32_t at; /* one of ids, or NVT_NONE: of no sample that is taken */
    int64_t id;
    int64_t depth; /* of its last row, -1: there was none */
    int looked;    /* for callers */
    int is_disordered, is_sorted;
    uint32_t stack[DEPTH], stack_count;
    uint32_t before[DEPTH], rows[DEPTH], before_count;
};

/* --- how it was sampled --- */

enum { NAME, VALUE };

static int setting(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const char *name = (const char *)sqlite3_column_text(table->statement, NAME);
    const char *value = (const char *)sqlite3_column_text(table->statement, VALUE);
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
    uint32_t *at = nvt_map_at(&reader->samples->tree, (uint64_t)nvt_nsys_int(table, 0, 0) >> 24);
    if (!at)
        return -1;
    *at = 1;
    return 0;
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
    if (row.thread == NVT_NONE || nvt_grow(&samples->ids, samples->count, sizeof(*samples->ids)))
        return -1;
    struct sample_id *id = &samples->ids[samples->count];
    *id = (struct sample_id){.id = nvt_nsys_int(table, S_ID, 0),
                             .row = nvt_cpu_sample_add(reader->trace, &row)};
    if (id->row == NVT_NONE)
        return -1;
    samples->count++;
    return 0;
}

static int compare_ids(const void *left, const void *right)
{
    const struct sample_id *a = left, *b = right;
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : (a->row > b->row) - (a->row < b->row);
}

static void sort_ids(struct nvt_nsys_samples *samples)
{
    for (uint32_t i = 1; i < samples->count; i++)
        if (samples->ids[i].id < samples->ids[i - 1].id) {
            qsort(samples->ids, samples->count, sizeof(*samples->ids), compare_ids);
            return;
        }
}

/* One of ids, or NVT_NONE: most often that behind the last one. */
static uint32_t find_id(const struct nvt_nsys_samples *samples, int64_t id)
{
    uint32_t low = samples->at == NVT_NONE ? 0 : samples->at + 1, high = samples->count;
    if (low < high && samples->ids[low].id == id)
        return low;
    for (low = 0; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (samples->ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < samples->count && samples->ids[low].id == id ? low : NVT_NONE;
}

/* --- functions --- */

enum { C_ID, C_DEPTH, C_SYMBOL, C_MODULE, C_KERNEL, C_SPECIAL, C_METHOD, C_ADDRESS };

static int is_bracketed(const char *text)
{
    return *text == '[' && text[strlen(text) - 1] == ']';
}

static uint32_t function_called(struct nvt_nsys *reader, uint32_t name, uint32_t module)
{
    struct nvt_nsys_samples *samples = reader->samples;
    uint32_t *at = nvt_map_at(&samples->texts, (uint64_t)name << 32 | module);
    if (!at || nvt_grow(&samples->functions, samples->function_count, sizeof(*samples->functions)))
        return NVT_NONE;
    if (*at == NVT_MAP_NONE) {
        samples->functions[samples->function_count] = (struct function){name, module};
        *at = samples->function_count++;
    }
    return *at;
}

/* What a row names; NVT_NONE when out of memory, ARTIFICIAL. */
static uint32_t named_function(struct nvt_nsys *reader, struct nvt_nsys_table *table, int is_kernel)
{
    struct nvt_strings *strings = reader->trace->strings;
    uint32_t name = nvt_nsys_name(reader, table, C_SYMBOL);
    uint32_t module = nvt_nsys_name(reader, table, C_MODULE);
    char address[24];
    if (name == NVT_NO_STRING || module == NVT_NO_STRING)
        return NVT_NONE;
    const char *text = nvt_name(reader->trace, name), *in = nvt_name(reader->trace, module);
    if (is_bracketed(text) && !strcmp(text, in) && strcmp(text, UNKNOWN))
        return ARTIFICIAL;
    if (!*text && !nvt_nsys_is_null(table, C_ADDRESS)) {
        snprintf(address, sizeof(address), "0x%" PRIx64,
                 (uint64_t)nvt_nsys_int(table, C_ADDRESS, 0));
        name = nvt_strings_add_text(strings, address);
    } else if (!*text)
        name = nvt_strings_add_text(strings, UNKNOWN);
    if (is_kernel && strncmp(in, "[kernel", 7))
        module = nvt_strings_add_text(strings, KERNEL);
    else if (!strcmp(in, UNKNOWN))
        module = 0;
    if (name == NVT_NO_STRING || module == NVT_NO_STRING)
        return NVT_NONE;
    return function_called(reader, name, module);
}

/* The same, found once for each pair of ids. */
static uint32_t function_of(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    int is_kernel = nvt_nsys_int(table, C_KERNEL, 0) != 0;
    if (sqlite3_column_type(table->statement, C_SYMBOL) != SQLITE_INTEGER ||
        sqlite3_column_type(table->statement, C_MODULE) == SQLITE_TEXT)
        return named_function(reader, table, is_kernel);
    int64_t symbol = nvt_nsys_int(table, C_SYMBOL, 0), module = nvt_nsys_int(table, C_MODULE, 0);
    if (symbol < 0 || symbol > INT32_MAX || module < 0 || module > INT32_MAX)
        return named_function(reader, table, is_kernel);
    uint64_t key = (uint64_t)symbol << 32 | (uint64_t)module << 1 | (uint64_t)is_kernel;
    uint32_t known = nvt_map_get(&reader->samples->ids_of, key);
    if (known != NVT_MAP_NONE)
        return known;
    uint32_t function = named_function(reader, table, is_kernel);
    uint32_t name = nvt_map_get(&reader->strings, (uint64_t)symbol);
    if (function == NVT_NONE || name == NVT_MAP_NONE || !*nvt_name(reader->trace, name))
        return function; /* without a name it is its address, which others are not at */
    uint32_t *at = nvt_map_at(&reader->samples->ids_of, key);
    if (!at)
        return NVT_NONE;
    *at = function;
    return function;
}

/* --- stacks --- */

/* The stack is complete: its sample gets it. Most stacks begin as the last one did. 0 or -1. */
static int finish_stack(struct nvt_nsys *reader)
{
    struct nvt_nsys_samples *samples = reader->samples;
    struct nvt_cpu_samples *table = &reader->trace->cpu_samples;
    uint32_t count = samples->stack_count, level = 0;
    if (samples->at == NVT_NONE || samples->depth < 0)
        return 0;
    while (level < count && level < samples->before_count &&
           samples->before[level] == samples->stack[count - 1 - level])
        level++;
    for (; level < count; level++) {
        uint32_t function = samples->stack[count - 1 - level];
        samples->before[level] = function;
        samples->rows[level] = nvt_frames_below(
            &samples->frames, reader->trace, level ? samples->rows[level - 1] : 0,
            samples->functions[function].name, samples->functions[function].module);
        if (!samples->rows[level])
            return -1;
        samples->before_count = level + 1;
    }
    struct sample_id *id = &samples->ids[samples->at];
    id->is_done = 1;
    table->frame[id->row] = count ? samples->rows[count - 1] : 0;
    table->flags[id->row] = count == 1 && !samples->looked ? NVT_CPU_SAMPLE_NO_CALLERS : 0;
    return 0;
}

/* 0, or -1. */
static int begin_stack(struct nvt_nsys *reader, int64_t id)
{
    struct nvt_nsys_samples *samples = reader->samples;
    if (finish_stack(reader))
        return -1;
    uint32_t at = find_id(samples, id);
    samples->id = id;
    samples->depth = at == NVT_NONE ? 0 : -1; /* -1 there: nothing has begun yet */
    samples->at = at;
    samples->stack_count = 0;
    samples->looked = 0;
    samples->is_disordered |= at != NVT_NONE && samples->ids[at].is_done;
    return 0;
}

static int entry(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_nsys_samples *samples = reader->samples;
    int64_t id = nvt_nsys_int(table, C_ID, 0);
    if (samples->is_disordered && !samples->is_sorted)
        return 0; /* it is read again */
    if ((id != samples->id || (samples->at == NVT_NONE && samples->depth < 0)) &&
        begin_stack(reader, id))
        return -1;
    if (samples->at == NVT_NONE)
        return 0;
    int64_t depth = (int64_t)nvt_nsys_size(table, C_DEPTH);
    if (depth <= samples->depth) {
        samples->is_disordered = 1;
        return 0; /* sorted: there are two of them */
    }
    samples->depth = depth;
    uint32_t function = nvt_nsys_int(table, C_SPECIAL, 0) ? ARTIFICIAL : function_of(reader, table);
    if (function == NVT_NONE)
        return -1;
    samples->looked |= function == ARTIFICIAL || nvt_nsys_int(table, C_METHOD, 0);
    if (function != ARTIFICIAL && samples->stack_count < DEPTH)
        samples->stack[samples->stack_count++] = function;
    return 0;
}

/* --- all of it --- */

#define CALLCHAIN_COLUMNS                                                                          \
    {                                                                                              \
        "id", "stackDepth", "symbol", "module", "kernelMode", "specialEntry", "unwindMethod",      \
            "originalIP"                                                                           \
    }

static int read_stacks(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec as_they_come = {"SAMPLING_CALLCHAINS", NULL, 3,
                                                      CALLCHAIN_COLUMNS, entry};
    static const struct nvt_nsys_spec sorted = {
        "SAMPLING_CALLCHAINS", "1 ORDER BY \"id\", \"stackDepth\"", 3, CALLCHAIN_COLUMNS, entry};
    struct nvt_nsys_samples *samples = reader->samples;
    samples->at = NVT_NONE;
    samples->depth = -1;
    if (nvt_nsys_read(reader, &as_they_come))
        return -1;
    if (samples->is_disordered) {
        nvt_frame_tree_free(&samples->frames);
        reader->trace->call_frames.count = 0;
        for (uint32_t i = 0; i < samples->count; i++) {
            samples->ids[i].is_done = 0;
            reader->trace->cpu_samples.frame[samples->ids[i].row] = 0;
            reader->trace->cpu_samples.flags[samples->ids[i].row] = 0;
        }
        samples->at = NVT_NONE;
        samples->depth = -1;
        samples->before_count = 0;
        samples->is_sorted = 1;
        if (nvt_nsys_read(reader, &sorted))
            return -1;
    }
    return finish_stack(reader) ? nvt_fail_at(reader->err, reader->path, -1, "out of memory") : 0;
}

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
    note_left_out(reader, samples->others, "of processes of which nothing else is in the trace");
    note_left_out(reader, samples->idle, "of threads that did not run");
    sort_ids(samples);
    return samples->count ? read_stacks(reader) : 0;
}

int nvt_nsys_read_samples(struct nvt_nsys *reader)
{
    reader->samples = calloc(1, sizeof(*reader->samples));
    if (!reader->samples)
        return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
    int status = read_all(reader);
    nvt_map_free(&reader->samples->tree);
    nvt_map_free(&reader->samples->ids_of);
    nvt_map_free(&reader->samples->texts);
    nvt_frame_tree_free(&reader->samples->frames);
    free(reader->samples->ids);
    free(reader->samples->functions);
    free(reader->samples);
    reader->samples = NULL;
    return status;
}
#endif
