#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../../lib/date.h"
#include "../model/layout.h"
#include "kineto_dialects.h"
#include "reader.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times after 2001 are wall-clock time, those before count from a start of their own. */
#define EPOCH_NS INT64_C(1000000000000000000)

static int out_of_memory(struct nvt_kineto *reader)
{
    return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
}

/* The process of what has none: that of the first call, else the first one, else one that is made. NVT_NONE when out
 * of memory. */
static uint32_t first_process(struct nvt_trace *trace)
{
    if (trace->apis.count)
        return trace->threads.process[trace->apis.thread[0]];
    return trace->processes.count ? 0 : nvt_trace_process(trace, 0);
}

/* Whether anything is there whose process could not be told from its event. */
static int has_unowned(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->overheads.count; i++)
        if (trace->overheads.process[i] == NVT_NONE)
            return 1;
    for (uint32_t i = 0; i < trace->marks.count; i++)
        if (trace->marks.thread[i] == NVT_NONE)
            return 1;
    return trace->ops.count || trace->syncs.count;
}

/* Put marks that are of no thread on the first one of a process. 0, or -1 when out of memory. */
static int own_marks(struct nvt_trace *trace, uint32_t process)
{
    uint32_t thread = 0;
    while (thread < trace->threads.count && trace->threads.process[thread] != process)
        thread++;
    for (uint32_t i = 0; i < trace->marks.count; i++) {
        if (trace->marks.thread[i] != NVT_NONE)
            continue;
        if (thread == trace->threads.count && nvt_trace_thread(trace, process, 0) == NVT_NONE)
            return -1;
        trace->marks.thread[i] = thread;
    }
    return 0;
}

/* The process whose call has a correlation id, by that id. 0 or -1. */
static int map_callers(struct nvt_map *callers, const struct nvt_trace *trace)
{
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        uint32_t *caller = nvt_map_at(callers, apis->correlation[i]);
        if (!caller)
            return -1;
        if (*caller == NVT_MAP_NONE)
            *caller = trace->threads.process[apis->thread[i]];
    }
    return 0;
}

/* Whether any call is of another process. Where none is, there is nothing to look up. */
static int has_callers_besides(const struct nvt_trace *trace, uint32_t process)
{
    for (uint32_t i = 0; i < trace->apis.count; i++)
        if (trace->threads.process[trace->apis.thread[i]] != process)
            return 1;
    return 0;
}

static uint32_t caller_of(const struct nvt_map *callers, uint64_t correlation, uint32_t first)
{
    uint32_t caller = nvt_map_get(callers, correlation);
    return caller == NVT_MAP_NONE ? first : caller;
}

/* The process of a rank that operations stand under: that of its calls, else one that is made. NVT_NONE when out of memory. */
static uint32_t process_of_lane(struct nvt_kineto *reader, struct nvt_kineto_owner *lane)
{
    for (uint32_t i = 0; i < reader->owner_count && lane->row == NVT_NONE; i++)
        if (reader->owners[i].rank_and_1 == lane->rank_and_1)
            lane->row = reader->owners[i].row;
    if (lane->row == NVT_NONE) {
        const struct nvt_process process = {
            .pid = -1, .parent_pid = -1, .name = lane->name, .rank = lane->rank_and_1 - 1};
        lane->row = nvt_process_add(reader->trace, &process);
    }
    return lane->row;
}

/* Device operations of files that were put together of those of several ranks. 0, or -1 when out of memory. */
static int own_lanes(struct nvt_kineto *reader)
{
    struct nvt_ops *ops = &reader->trace->ops;
    for (uint32_t i = 0; i < ops->count && i < reader->lane_capacity; i++) {
        struct nvt_kineto_owner *lane =
            reader->lanes[i] ? &reader->owners[reader->lanes[i] - 1] : NULL;
        if (!lane || !lane->rank_and_1)
            continue;
        ops->process[i] = process_of_lane(reader, lane);
        if (ops->process[i] == NVT_NONE)
            return -1;
    }
    return 0;
}

/* Device operations that do not say whose they are: the process whose call has their correlation id. These ids count
 * in each process, so that this tells it in files of one process, as PyTorch's are. */
static int own_operations(struct nvt_kineto *reader)
{
    struct nvt_trace *trace = reader->trace;
    struct nvt_map callers = {0};
    if (!has_unowned(trace))
        return 0;
    uint32_t first = first_process(trace);
    int status = first == NVT_NONE ? out_of_memory(reader) : 0;
    if (!status && has_callers_besides(trace, first) && map_callers(&callers, trace))
        status = out_of_memory(reader);
    for (uint32_t i = 0; i < trace->ops.count && !status; i++)
        if (trace->ops.process[i] == NVT_NONE)
            trace->ops.process[i] = caller_of(&callers, trace->ops.correlation[i], first);
    for (uint32_t i = 0; i < trace->syncs.count && !status; i++)
        if (trace->syncs.process[i] == NVT_NONE)
            trace->syncs.process[i] = caller_of(&callers, trace->syncs.correlation[i], first);
    for (uint32_t i = 0; i < trace->overheads.count && !status; i++)
        if (trace->overheads.process[i] == NVT_NONE)
            trace->overheads.process[i] = first;
    if (!status && own_marks(trace, first))
        status = out_of_memory(reader);
    nvt_map_free(&callers);
    return status;
}

/* Leave out ranges whose end was told to be before their start. */
static void leave_out_untimed(struct nvt_kineto *reader)
{
    const struct nvt_layout_table *table = &nvt_layout()[NVT_TABLE_ranges];
    const struct nvt_ranges *ranges = &reader->trace->ranges;
    uint32_t kept = 0, count = ranges->count;
    for (uint32_t i = 0; i < count; i++) {
        if (ranges->end[i] < ranges->start[i])
            continue;
        for (uint32_t column = 0; column < table->count && kept < i; column++) {
            uint32_t width = table->columns[column].width;
            uint8_t *values = nvt_layout_values(reader->trace, table, column);
            memcpy(values + (size_t)kept * width, values + (size_t)i * width, width);
        }
        kept++;
    }
    nvt_layout_set_rows(reader->trace, table, kept);
    reader->untimed += count - kept;
}

static int set_date(struct nvt_kineto *reader)
{
    char date[NVT_DATE_SIZE];
    if (reader->first == INT64_MAX || reader->trace->origin_ns < 0 ||
        reader->first > INT64_MAX - reader->trace->origin_ns ||
        reader->first + reader->trace->origin_ns < EPOCH_NS)
        return 0;
    time_t seconds = (time_t)((reader->first + reader->trace->origin_ns) / 1000000000);
    nvt_date(seconds, date);
    return *date ? nvt_trace_set_meta(reader->trace, "date", date) : 0;
}

/* By its calls, or without any by its device: ROCm has the categories of CUDA. */
static const char *backend_of(const struct nvt_kineto *reader)
{
    const struct nvt_trace *trace = reader->trace;
    const char *device = trace->devices.count ? nvt_name(trace, trace->devices.name[0]) : "";
    if (reader->backend)
        return reader->backend;
    if (!strncmp(device, "AMD ", 4))
        return "hip";
    return strncmp(device, "Intel", 5) ? "cuda" : "xpu";
}

static int set_facts(struct nvt_kineto *reader)
{
    struct nvt_trace *trace = reader->trace;
    if (set_date(reader))
        return -1;
    if (trace->ops.count && nvt_trace_set_meta(trace, "backend", backend_of(reader)))
        return -1;
    if (trace->devices.count &&
        nvt_trace_set_meta(trace, "device", nvt_name(trace, trace->devices.name[0])))
        return -1;
    for (uint32_t i = 0; i < trace->processes.count; i++)
        if (trace->processes.rank[i] == NVT_NONE)
            trace->processes.rank[i] = reader->rank;
    return 0;
}

/* Say what was not read: events without a time, and kinds. Flows of PyTorch's profiler and of our export repeat what ids say. */
static void note_unread(struct nvt_kineto *reader, int is_of_others)
{
    static const struct {
        const char *phases, *name;
    } kinds[] = {{"stf", "flows"},       {"Tp", "steps of asynchronous events"},
                 {"P", "samples"},       {"NOD", "states of objects"},
                 {"vV", "memory dumps"}, {"c", "clock synchronisations"},
                 {"(),", "contexts"}};
    struct nvt_buffer text = {0};
    uint64_t others = 0;
    for (unsigned i = 1; i < NVT_COUNT_OF(reader->unread); i++)
        others += reader->unread[i];
    for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++) {
        uint64_t count = 0;
        for (const char *phase = kinds[i].phases; *phase; phase++)
            count += reader->unread[(unsigned)*phase];
        others -= count;
        if (count && (i || is_of_others))
            nvt_buffer_printf(&text, "%s%s (%llu)", text.size ? ", " : "", kinds[i].name,
                              (unsigned long long)count);
    }
    if (others)
        nvt_buffer_printf(&text, "%sof unknown kinds (%llu)", text.size ? ", " : "",
                          (unsigned long long)others);
    if (text.size && !nvt_buffer_append(&text, "", 1))
        nvt_trace_note(reader->trace, "events that are not read: %s", (const char *)text.data);
    nvt_buffer_free(&text);
    if (reader->managed)
        nvt_trace_note(reader->trace,
                       "page faults and other events of managed memory are not read from this "
                       "format (%llu); export --to nvt has them",
                       (unsigned long long)reader->managed);
    if (reader->mistimed)
        nvt_trace_note(reader->trace,
                       "left out: events whose ts or dur is missing, no number, or out of range "
                       "(microseconds belong there) (%llu)",
                       (unsigned long long)reader->mistimed);
}

int nvt_kineto_finish(struct nvt_kineto *reader, int is_of_others)
{
    if (nvt_kineto_pair_anew(reader))
        return out_of_memory(reader);
    if (nvt_dialect_finish(reader))
        return -1;
    if (own_lanes(reader))
        return out_of_memory(reader);
    if (own_operations(reader))
        return -1;
    if (nvt_kineto_own_counters(reader->trace))
        return out_of_memory(reader);
    note_unread(reader, is_of_others);
    nvt_ranges_close(reader->trace);
    leave_out_untimed(reader);
    if (reader->untimed)
        nvt_trace_note(reader->trace, NVT_UNTIMED_NOTE, (unsigned long long)reader->untimed);
    return nvt_kineto_stacks(reader->trace) || set_facts(reader) ? out_of_memory(reader) : 0;
}

void nvt_kineto_free(struct nvt_kineto *reader)
{
    nvt_map_free(&reader->pids);
    nvt_map_free(&reader->tids);
    nvt_map_free(&reader->threads);
    nvt_map_free(&reader->async);
    nvt_map_free(&reader->domains);
    nvt_dialect_free(&reader->dialects);
    nvt_map_free(&reader->series);
    nvt_map_free(&reader->counters);
    nvt_kineto_host_free(&reader->host);
    nvt_kineto_groups_free(reader);
    free(reader->owners);
    free(reader->pairs);
    free(reader->lanes);
}
