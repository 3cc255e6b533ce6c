/* What can be said of device rows only when all of them have been read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"

#include "../model/cuda_names.h"
#include "nvt.h"
#include "nvt_device.h"

/* --- time --- */

static int by_time(const void *a, const void *b)
{
    const struct nvt_device_moment *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->cupti != right->cupti)
        return left->cupti < right->cupti ? -1 : 1;
    return 0;
}

/* CUPTI's times to the trace's, by the model's row of the process. One moment gives the distance
 * between the clocks, more of them their drift as well; none: CUPTI has taken its times from
 * CLOCK_MONOTONIC. */
struct clocks {
    struct nvt_clock_sample *samples;
    size_t *first, *count; /* of each process */
    int64_t origin;
};

/* Sorted moments as samples of a clock, strictly ascending in both fields. */
static void fill_clocks(const struct nvt_file_reader *reader, struct clocks *clocks)
{
    const struct nvt_file_devices *devices = &reader->devices;
    size_t used = 0;
    for (size_t i = 0; i < devices->moment_count; i++) {
        const struct nvt_device_moment *moment = &devices->moments[i];
        uint32_t owner = reader->processes[moment->process].row;
        if (clocks->count[owner]) {
            const struct nvt_clock_sample *last = &clocks->samples[used - 1];
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it is filled */
            if (moment->cupti <= last->ticks || moment->monotonic_ns <= last->monotonic_ns)
                continue;
        } else
            clocks->first[owner] = used;
        clocks->count[owner]++;
        clocks->samples[used++] = (struct nvt_clock_sample){moment->cupti, moment->monotonic_ns, 0};
    }
}

static inline int64_t on_axis(const struct clocks *clocks, uint32_t process, int64_t time)
{
    size_t count = clocks->count[process];
    if (!count)
        return nvt_clock_since(time, clocks->origin);
    const struct nvt_clock_sample *samples = clocks->samples + clocks->first[process];
    if (count == 1)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it has been filled */
        time = (int64_t)((uint64_t)time + (uint64_t)samples->monotonic_ns - samples->ticks);
    else
        time = nvt_clock_convert(samples, count, (uint64_t)time);
    return nvt_clock_since(time, clocks->origin);
}

/* Rows that are of processes: CUPTI's. */
static void convert_rows(struct nvt_trace *trace, const struct clocks *clocks)
{
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        const struct nvt_layout_table *table = &nvt_layout()[i];
        if (!nvt_layout_is_owned_by(table, NVT_TABLE_processes))
            continue;
        const uint32_t *process = nvt_layout_values(trace, table, table->owner);
        const uint32_t rows = nvt_layout_rows(trace, table);
        int64_t *start = nvt_layout_starts(trace, table), *end = nvt_layout_ends(trace, table);
        for (uint32_t row = 0; row < rows; row++)
            start[row] = on_axis(clocks, process[row], start[row]);
        for (uint32_t row = 0; end != start && row < rows; row++)
            end[row] = on_axis(clocks, process[row], end[row]);
    }
}

/* Calls: their threads as rows of the model, their times, and when each thread was seen last. */
static void convert_calls(struct nvt_trace *trace, const struct clocks *clocks,
                          const uint32_t *rows)
{
    struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        uint32_t thread = rows[apis->thread[i]], process = trace->threads.process[thread];
        apis->thread[i] = thread;
        apis->start[i] = on_axis(clocks, process, apis->start[i]);
        apis->end[i] = on_axis(clocks, process, apis->end[i]);
        int64_t end = apis->end[i] > apis->start[i] ? apis->end[i] : apis->start[i];
        if (end > trace->threads.last_ns[thread])
            trace->threads.last_ns[thread] = end;
    }
}

static void free_clocks(struct clocks *clocks)
{
    free(clocks->samples);
    free(clocks->first);
    free(clocks->count);
}

/* 0, or -1 when out of memory; to be freed in any case. */
static int make_clocks(struct clocks *clocks, struct nvt_file_reader *reader, int64_t origin)
{
    struct nvt_file_devices *devices = &reader->devices;
    size_t processes = (size_t)reader->trace->processes.count + 1;
    *clocks = (struct clocks){malloc((devices->moment_count + 1) * sizeof(*clocks->samples)),
                              calloc(processes, sizeof(size_t)), calloc(processes, sizeof(size_t)),
                              origin};
    if (!clocks->samples || !clocks->first || !clocks->count)
        return -1;
    if (devices->moment_count)
        qsort(devices->moments, devices->moment_count, sizeof(*devices->moments), by_time);
    fill_clocks(reader, clocks);
    return 0;
}

static int convert_times(struct nvt_file_reader *reader, int64_t origin, const uint32_t *rows)
{
    struct clocks clocks;
    int status = make_clocks(&clocks, reader, origin);
    if (!status) {
        convert_rows(reader->trace, &clocks);
        convert_calls(reader->trace, &clocks, rows);
    }
    free_clocks(&clocks);
    return status;
}

/* --- lanes --- */

/* A start and a length, with clocks that may have drifted. 1: the length has become too long. */
static int convert_length(const struct clocks *clocks, uint32_t process, int64_t *start,
                          uint32_t *length)
{
    int64_t from = on_axis(clocks, process, *start);
    int64_t ns = on_axis(clocks, process, *start + *length) - from;
    *start = from;
    *length = ns < 0 ? 0 : (uint32_t)ns;
    return ns > UINT32_MAX;
}

int nvt_file_device_lanes(struct nvt_file_reader *reader, int64_t origin)
{
    struct nvt_lanes *lanes = reader->lanes->lanes;
    struct clocks clocks;
    int status = make_clocks(&clocks, reader, origin);
    for (uint32_t i = 0; i < lanes->count && !status; i++) {
        struct nvt_lane *lane = &lanes->items[i];
        uint32_t owner = reader->processes[lane->process].row;
        lane->unsure |= clocks.count[owner] > 0;
        lane->offset = clocks.count[owner] ? 0 : origin;
        for (uint32_t k = 0; k < lane->calls.count && clocks.count[owner]; k++)
            status |= convert_length(&clocks, owner, &lane->calls.items[k].start,
                                     &lane->calls.items[k].length);
    }
    for (uint32_t i = 0; reader->devices.moment_count && i < lanes->op_count && !status; i++) {
        uint32_t owner = reader->processes[lanes->ops[i].next].row;
        if (clocks.count[owner])
            status = convert_length(&clocks, owner, &lanes->ops[i].start, &lanes->ops[i].length);
    }
    free_clocks(&clocks);
    return status;
}

/* --- threads --- */

/* The row of each calling thread: one that NVTX knows, or a new one. */
static uint32_t *thread_rows(struct nvt_file_reader *reader)
{
    struct nvt_file_devices *devices = &reader->devices;
    struct nvt_trace *trace = reader->trace;
    struct nvt_map known = {0};
    uint32_t *rows = malloc(((size_t)devices->thread_count + 1) * sizeof(*rows));
    int failed = !rows;
    for (uint32_t i = 0; !failed && i < reader->thread_count; i++) {
        uint32_t row = reader->threads[i].row;
        uint32_t *at = nvt_map_at(&known, (uint64_t)reader->threads[i].process << 32 |
                                              (uint32_t)trace->threads.tid[row]);
        failed = !at;
        if (at && *at == NVT_MAP_NONE)
            *at = row;
    }
    for (size_t i = 0; !failed && i < devices->thread_count; i++) {
        uint32_t process = devices->threads[i].process;
        rows[i] = nvt_map_get(&known, (uint64_t)process << 32 | (uint32_t)devices->threads[i].tid);
        if (rows[i] != NVT_MAP_NONE)
            continue;
        const struct nvt_thread fresh = {.process = reader->processes[process].row,
                                         .tid = devices->threads[i].tid};
        rows[i] = nvt_thread_add(trace, &fresh);
        failed = rows[i] == NVT_NONE;
    }
    nvt_map_free(&known);
    if (!failed)
        return rows;
    free(rows);
    return NULL;
}

static void link_overheads(struct nvt_overheads *overheads, const uint32_t *rows)
{
    for (uint32_t i = 0; i < overheads->count; i++)
        if (overheads->thread[i] != NVT_NONE)
            overheads->thread[i] = rows[overheads->thread[i]];
}

/* --- memory --- */

static uint64_t call_key(uint32_t process, uint64_t correlation)
{
    return (uint64_t)process << 32 | (uint32_t)correlation;
}

/* Which thread took it: the one that made the call. */
static int link_memory(struct nvt_file_reader *reader)
{
    struct nvt_trace *trace = reader->trace;
    struct nvt_map calls = {0};
    int status = 0;
    for (uint32_t i = 0; trace->memory.count && !status && i < trace->apis.count; i++) {
        uint32_t thread = trace->apis.thread[i];
        status = nvt_map_set(
            &calls, call_key(trace->threads.process[thread], trace->apis.correlation[i]), thread);
    }
    for (uint32_t i = 0; !status && i < trace->memory.count; i++)
        if (reader->devices.memory_calls[i])
            trace->memory.thread[i] = nvt_map_get(
                &calls, call_key(trace->memory.process[i], reader->devices.memory_calls[i]));
    nvt_map_free(&calls);
    return status;
}

/* --- what is missing --- */

int nvt_file_device_thread_end(struct nvt_file_reader *reader, uint32_t process, uint64_t ticks)
{
    struct nvt_file_devices *devices = &reader->devices;
    struct nvt_device_process *known = nvt_file_device_process(devices, process);
    if (!known)
        return -1;
    if (known->ended < ticks)
        known->ended = ticks;
    return 0;
}

static void note_end(struct nvt_file_reader *reader, const struct nvt_device_process *process)
{
    struct nvt_trace *trace = reader->trace;
    long long pid = trace->processes.pid[reader->processes[process->process].row];
    if (process->final)
        return;
    if (process->ended <= process->delivered) {
        nvt_trace_note(trace,
                       "process %lld ended without delivering its last device records: what its "
                       "devices did at the end is unknown",
                       pid);
        return;
    }
    int64_t until = process->until_ns ? process->until_ns
                                      : nvt_clock_convert(reader->samples, reader->sample_count,
                                                          process->delivered);
    int64_t ns = nvt_clock_since(
        nvt_clock_convert(reader->samples, reader->sample_count, process->ended), until);
    /* Where the disk was full, a last word, or the count of what was lost, may be among what could not be written, and the end was
       one as any other. */
    nvt_trace_note(trace,
                   "process %lld ended %s%.1f ms after it delivered its last device records: later "
                   "ones are unknown",
                   pid, !reader->ended || nvt_trace_lost(trace) ? "" : "suddenly, ",
                   (double)ns / 1e6);
}

static void note_records(struct nvt_trace *trace, uint64_t count, const char *which,
                         const char *what)
{
    if (count)
        nvt_trace_note(trace, "%llu device record%s%s %s %s", (unsigned long long)count,
                       count == 1 ? "" : "s", which, count == 1 ? "was" : "were", what);
}

static void note_missing(struct nvt_file_reader *reader)
{
    const struct nvt_file_devices *devices = &reader->devices;
    struct nvt_trace *trace = reader->trace;
    for (size_t i = 0; i < devices->process_count; i++)
        if (devices->processes[i].is_used)
            note_end(reader, &devices->processes[i]);
    note_records(trace, devices->lost_cupti, "", "lost, because CUPTI had no room");
    note_records(trace, devices->lost_ring, "", "lost at a full buffer");
    note_records(trace, devices->unknown, " of a kind unknown to the collector", "left out");
    note_records(trace, devices->untimed, " without times", "left out");
}

/* What the trace says it was taken on: the GPU before the processor, unless it is named already. */
static int name_device(struct nvt_trace *trace)
{
    const char *processor = nvt_trace_meta(trace, "device");
    const char *gpu = trace->devices.count ? nvt_name(trace, trace->devices.name[0]) : "";
    char *both = NULL;
    if (!*gpu || (processor && strstr(processor, gpu)))
        return 0;
    if (asprintf(&both, processor ? "%s, %s" : "%s", gpu, processor) < 0)
        return -1;
    int status = nvt_trace_set_meta(trace, "device", both);
    free(both);
    return status;
}

int nvt_file_device_threads(struct nvt_file_reader *reader)
{
    reader->devices.rows = thread_rows(reader);
    return reader->devices.rows ? 0 : -1;
}

int nvt_file_device_finish(struct nvt_file_reader *reader, int64_t origin)
{
    const uint32_t *rows = reader->devices.rows;
    link_overheads(&reader->trace->overheads, rows);
    nvt_recorded_events_link(&reader->devices.events, &reader->trace->syncs);
    if (convert_times(reader, origin, rows) || nvt_file_complete_heaps(reader, origin) ||
        nvt_pools_follow(reader->trace, reader->devices.words) || link_memory(reader) ||
        name_device(reader->trace))
        return -1;
    note_missing(reader);
    return 0;
}

/* --- capture --- */

static int by_edge(const void *a, const void *b)
{
    const struct nvt_capture_edge *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->ticks != right->ticks)
        return left->ticks < right->ticks ? -1 : 1;
    return right->begins - left->begins;
}

/* Whether the last edge of this process at or before that moment begins a capture. */
static int is_captured(const struct nvt_file_devices *devices, uint32_t process, uint64_t ticks)
{
    size_t low = 0;
    const struct nvt_capture_edge wanted = {process, ticks, 0};
    NVT_BISECT(low, devices->edge_count, by_edge(&devices->edges[low], &wanted) <= 0);
    return low && devices->edges[low - 1].process == process && devices->edges[low - 1].begins;
}

static void keep_rows(struct nvt_file_reader *reader, enum nvt_table_number number,
                      const uint32_t *files, uint32_t *place)
{
    struct nvt_trace *trace = reader->trace;
    const struct nvt_layout_table *table = &nvt_layout()[number];
    const int64_t *start = nvt_layout_starts(trace, table);
    const uint32_t rows = nvt_layout_rows(trace, table);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rows; i++)
        place[i] = is_captured(&reader->devices, files[nvt_layout_process(trace, table, i)],
                               (uint64_t)start[i])
                       ? kept++
                       : NVT_NONE;
    nvt_layout_keep(trace, table, place, kept);
}

/* Of what has the host's times. 0, or -1 when out of memory. */
static int keep_tables(struct nvt_file_reader *reader, const uint32_t *files)
{
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        const struct nvt_layout_table *table = &nvt_layout()[i];
        if (!nvt_file_has_host_times(table))
            continue;
        uint32_t *place =
            malloc(((size_t)nvt_layout_rows(reader->trace, table) + 1) * sizeof(*place));
        if (!place)
            return -1;
        keep_rows(reader, (enum nvt_table_number)i, files, place);
        free(place);
    }
    return 0;
}

/* Samples, and what is said of heaps, go by when they were handed over: they are not in the trace yet. */
static void keep_samples(struct nvt_file_reader *reader)
{
    struct nvt_file_counters *counters = &reader->counters;
    struct nvt_file_heaps *heaps = &reader->heaps;
    uint64_t kept = 0;
    size_t kept_events = 0;
    for (size_t i = 0; i < heaps->count; i++)
        if (is_captured(&reader->devices, heaps->items[i].process, heaps->items[i].ticks))
            heaps->items[kept_events++] = heaps->items[i];
    heaps->count = kept_events;
    for (uint64_t i = 0; i < counters->sample_count; i++)
        if (is_captured(&reader->devices, counters->items[counters->samples[i].counter].process,
                        counters->samples[i].ticks))
            counters->samples[kept++] = counters->samples[i];
    counters->sample_count = kept;
}

int nvt_file_device_capture(struct nvt_file_reader *reader)
{
    struct nvt_file_devices *devices = &reader->devices;
    if (!nvt_trace_meta(reader->trace, "capture"))
        return 0;
    uint32_t *files = calloc((size_t)reader->trace->processes.count + 1, sizeof(*files));
    if (!files)
        return -1;
    for (uint32_t i = 0; i < reader->process_count; i++)
        files[reader->processes[i].row] = i;
    if (devices->edge_count)
        qsort(devices->edges, devices->edge_count, sizeof(*devices->edges), by_edge);
    else
        nvt_trace_note(reader->trace, "nothing was captured: %s never began",
                       nvt_trace_meta(reader->trace, "capture"));
    int status = keep_tables(reader, files);
    keep_samples(reader);
    free(files);
    return status;
}

void nvt_file_device_free(struct nvt_file_devices *devices)
{
    nvt_demangler_free(devices->demangler);
    nvt_map_free(&devices->kernel_names);
    nvt_map_free(&devices->short_names);
    nvt_map_free(&devices->callers);
    nvt_map_free(&devices->contexts);
    free(devices->threads);
    free(devices->moments);
    free(devices->edges);
    free(devices->processes);
    free(devices->words);
    free(devices->memory_calls);
    nvt_recorded_events_free(&devices->events);
    free(devices->rows);
}
