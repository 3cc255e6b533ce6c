#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "../../lib/json.h"
#include "../../lib/version.h"
#include "../model/counters.h"
#include "../model/launches.h"
#include "../path/critical_path.h"
#include "../model/cuda_names.h"
#include "../device/devices.h"
#include "export.h"
#include "first.h"
#include "chrome_args.h"
#include "chrome_rows.h"
#include "../../lib/map.h"

/* Devices are processes of the file; their numbers lie above those of real processes (2^22 on
 * Linux) and within 31 bits, which viewers keep. */
#define DEVICE_PID (INT64_C(1) << 30)
/* The row of a process's critical path: above the numbers of real threads. */
#define PATH_TID INT32_MAX
/* Beside the keys of streams' tracks, which have the device above bit 33. */
#define UM_TRACK (UINT64_C(1) << 63)

struct writer {
    const struct nvt_trace *trace;
    int64_t first; /* time 0 of the file */
    FILE *out;
    struct nvt_buffer text;   /* of one event */
    struct nvt_map devices;   /* process << 32 | device -> number */
    struct nvt_map sequences; /* nvt_sequences_map */
    uint32_t device_count;
    struct nvt_rows rows; /* of threads, and of devices' streams */
    double *levels;       /* of counters so far */
    int failed;           /* out of memory */
    int events;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    writer->failed |= length < 0 || (size_t)length >= sizeof(piece) ||
                      nvt_buffer_append(&writer->text, piece, (size_t)length);
}

static void put_quoted(struct writer *writer, const char *before, const char *text)
{
    put(writer, "%s", before);
    writer->failed |= nvt_json_quote(&writer->text, text);
}

/* Microseconds with three decimals, from the first event on. */
static void put_time(struct writer *writer, const char *before, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    put(writer, "%s%s%" PRIu64 ".%03u", before, ns < 0 ? "-" : "", size / 1000,
        (unsigned)(size % 1000));
}

static void begin_chrome(struct writer *writer, char phase, int64_t pid, int64_t tid, int64_t time)
{
    writer->text.size = 0;
    put(writer, "%s\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64,
        writer->events++ ? "," : "", phase, pid, tid);
    put_time(writer, ",\"ts\":", nvt_clock_since(time, writer->first));
}

static void end(struct writer *writer)
{
    put(writer, "}");
    fwrite(writer->text.data, 1, writer->text.size, writer->out);
}

static int64_t pid_of(const struct writer *writer, uint32_t process)
{
    return process == NVT_NONE ? 0 : writer->trace->processes.pid[process];
}

static int64_t tid_of(const struct writer *writer, uint32_t thread)
{
    return thread == NVT_NONE ? 0 : writer->trace->threads.tid[thread];
}

static uint32_t process_of(const struct writer *writer, uint32_t thread)
{
    return thread == NVT_NONE ? NVT_NONE : writer->trace->threads.process[thread];
}

/* --- names --- */

static void put_chrome_name(struct writer *writer, const char *what, int64_t pid, int64_t tid,
                            const char *name)
{
    begin_chrome(writer, 'M', pid, tid, writer->first);
    put(writer, ",\"name\":\"%s\",\"args\":{", what);
    put_quoted(writer, strcmp(what, "process_labels") ? "\"name\":" : "\"labels\":", name);
    put(writer, "}");
    end(writer);
}

static void put_owners(struct writer *writer)
{
    const struct nvt_trace *trace = writer->trace;
    char label[32];
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        const int64_t pid = trace->processes.pid[i];
        if (trace->processes.name[i])
            put_chrome_name(writer, "process_name", pid, 0,
                            nvt_name(trace, trace->processes.name[i]));
        if (nvt_chrome_label(trace, i, label, sizeof(label)))
            put_chrome_name(writer, "process_labels", pid, 0, label);
    }
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.name[i])
            put_chrome_name(writer, "thread_name", pid_of(writer, trace->threads.process[i]),
                            trace->threads.tid[i], nvt_name(trace, trace->threads.name[i]));
}

/* The number that stands for a device, which is named when it comes up first. */
static int64_t device_pid(struct writer *writer, uint32_t process, uint32_t device)
{
    uint32_t *at = nvt_map_at(&writer->devices, (uint64_t)process << 32 | device);
    if (!at) {
        writer->failed = 1;
        return 0;
    }
    if (*at != NVT_MAP_NONE)
        return DEVICE_PID + *at;
    char name[256];
    int64_t pid = DEVICE_PID + (*at = writer->device_count++);
    put_chrome_name(writer, "process_name", pid, 0,
                    nvt_chrome_device(writer->trace, process, device, name, sizeof(name)));
    return pid;
}

/* The number of a row for what happens on a stream, named when it comes up first. Waiting has rows
 * of its own, as it goes on beside what is waited for. */
static int64_t stream_row(struct writer *writer, int64_t pid, uint32_t stream, int waits,
                          int64_t start, int64_t end)
{
    int is_new;
    uint64_t track = (uint64_t)(pid - DEVICE_PID) << 33 | (uint64_t)waits << 32 | stream;
    int64_t tid = waits ? NVT_ROWS_NO_TID : (int64_t)stream;
    const struct nvt_row *row = nvt_rows_take(&writer->rows, track, tid, start, end, &is_new);
    if (!row) {
        writer->failed = 1;
        return 0;
    }
    if (is_new) {
        char name[80], number[16] = "";
        if (row->number)
            snprintf(number, sizeof(number), " (%" PRIu32 ")", row->number + 1);
        snprintf(name, sizeof(name), "stream %" PRIu32 "%s%s", stream, waits ? ", waits" : "",
                 number);
        put_chrome_name(writer, "thread_name", pid, row->tid, name);
    }
    return row->tid;
}

/* --- ranges and marks --- */

/* Readers take the category for the domain, and some names for something else. */
static void put_category(struct writer *writer, uint32_t domain)
{
    const char *name = nvt_domain_name(writer->trace, domain);
    if (!*name)
        put(writer, ",\"cat\":\"user_annotation\"");
    else if (nvt_chrome_is_taken(name))
        put(writer, ",\"cat\":\"nvtx.%s\"", name);
    else
        put_quoted(writer, ",\"cat\":", name);
}

static void put_attributes(struct writer *writer, uint32_t category, uint32_t color,
                           uint32_t payload, uint8_t flags, int is_crossing)
{
    const char *comma = is_crossing ? "," : "";
    put(writer, ",\"args\":{%s", is_crossing ? "\"push/pop\":1" : "");
    if (category) {
        put(writer, "%s", comma);
        put_quoted(writer, "\"category\":", nvt_name(writer->trace, category));
        comma = ",";
    }
    if (flags & NVT_RANGE_HAS_COLOR) {
        put(writer, "%s\"color\":\"#%08" PRIX32 "\"", comma, color);
        comma = ",";
    }
    if (flags & NVT_RANGE_UNCLOSED) {
        put(writer, "%s\"unclosed\":1", comma);
        comma = ",";
    }
    put(writer, "%s", flags & NVT_RANGE_HAS_PAYLOAD ? comma : "");
    if (flags & NVT_RANGE_HAS_PAYLOAD)
        put_quoted(writer, "\"payload\":", nvt_name(writer->trace, payload));
    put(writer, "}");
}

/* A push/pop range that crosses one of another domain goes beside the thread, as a start/end range
 * does, with a word to readers. */
static void put_chrome_range(struct writer *writer, uint32_t i)
{
    const struct nvt_ranges *ranges = &writer->trace->ranges;
    uint32_t thread = ranges->thread[i], last = ranges->end_thread[i];
    int nests = ranges->style[i] == NVT_PUSH_POP;
    if (nests)
        nests = nvt_rows_nests(&writer->rows, thread, ranges->start[i], ranges->end[i]);
    writer->failed |= nests < 0;
    begin_chrome(writer, nests ? 'X' : 'b', pid_of(writer, process_of(writer, thread)),
                 tid_of(writer, thread), ranges->start[i]);
    if (nests)
        put_time(writer, ",\"dur\":", ranges->end[i] - ranges->start[i]);
    else
        put(writer, ",\"id\":\"%" PRIu32 "\"", i);
    put_category(writer, ranges->domain[i]);
    put_quoted(writer, ",\"name\":", nvt_name(writer->trace, ranges->name[i]));
    put_attributes(writer, ranges->category[i], ranges->color[i], ranges->payload[i],
                   ranges->flags[i], !nests && ranges->style[i] == NVT_PUSH_POP);
    end(writer);
    if (nests || ranges->flags[i] & NVT_RANGE_UNCLOSED)
        return;
    begin_chrome(writer, 'e', pid_of(writer, process_of(writer, last)), tid_of(writer, last),
                 ranges->end[i]);
    put(writer, ",\"id\":\"%" PRIu32 "\"", i);
    put_category(writer, ranges->domain[i]);
    put_quoted(writer, ",\"name\":", nvt_name(writer->trace, ranges->name[i]));
    end(writer);
}

static void put_mark(struct writer *writer, uint32_t i)
{
    const struct nvt_marks *marks = &writer->trace->marks;
    uint32_t thread = marks->thread[i];
    begin_chrome(writer, 'i', pid_of(writer, process_of(writer, thread)), tid_of(writer, thread),
                 marks->time[i]);
    put(writer, ",\"s\":\"t\"");
    put_category(writer, marks->domain[i]);
    put_quoted(writer, ",\"name\":", nvt_name(writer->trace, marks->name[i]));
    put_attributes(writer, marks->category[i], marks->color[i], marks->payload[i], marks->flags[i],
                   0);
    end(writer);
}

/* The level of a counter: of one whose samples say how much more there is, what they have come to. */
static void put_sample(struct writer *writer, uint32_t i)
{
    const struct nvt_trace *trace = writer->trace;
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    const struct nvt_counters *counters = &trace->counters;
    uint32_t counter = samples->counter[i], thread = samples->thread[i];
    if (counter >= counters->count)
        return;
    double *level = &writer->levels[counter];
    *level = nvt_counter_level(counters->values[counter], *level, samples->value[i]);
    begin_chrome(writer, 'C', pid_of(writer, process_of(writer, thread)), tid_of(writer, thread),
                 samples->time[i]);
    /* Viewers tell counters of a process apart by name. */
    char whole[400];
    const char *name = nvt_name(trace, counters->name[counter]);
    if (counters->is_of_machine[counter]) {
        snprintf(whole, sizeof(whole), "%.60s: %.300s",
                 nvt_name(trace, trace->domains.name[counters->domain[counter]]), name);
        name = whole;
        put(writer, ",\"cat\":\"" NVT_EXPORT_MACHINE "\"");
    } else if (counters->is_of_process[counter])
        put(writer, ",\"cat\":\"" NVT_EXPORT_PROCESS "\"");
    else
        put_category(writer, counters->domain[counter]);
    put_quoted(writer, ",\"name\":", name);
    const char *unit = nvt_name(trace, counters->unit[counter]);
    put_quoted(writer, ",\"args\":{", *unit ? unit : "value");
    put(writer, ":%.17g}", *level);
    end(writer);
}

/* --- calls and operations --- */

static void begin_call(struct writer *writer, uint32_t thread, int64_t start, int64_t end)
{
    begin_chrome(writer, 'X', pid_of(writer, process_of(writer, thread)), tid_of(writer, thread),
                 start);
    put_time(writer, ",\"dur\":", end - start);
}

static void put_chrome_call(struct writer *writer, uint32_t i)
{
    const struct nvt_apis *apis = &writer->trace->apis;
    begin_call(writer, apis->thread[i], apis->start[i], apis->end[i]);
    writer->failed |= nvt_chrome_call(&writer->text, writer->trace, i);
    end(writer);
}

static void put_os_call(struct writer *writer, uint32_t i)
{
    const struct nvt_os_calls *calls = &writer->trace->os_calls;
    begin_call(writer, calls->thread[i], calls->start[i], calls->end[i]);
    writer->failed |= nvt_chrome_os(&writer->text, writer->trace, i);
    end(writer);
}

static void put_mpi_call(struct writer *writer, uint32_t i)
{
    const struct nvt_mpi_calls *calls = &writer->trace->mpi_calls;
    begin_call(writer, calls->thread[i], calls->start[i], calls->end[i]);
    writer->failed |= nvt_chrome_mpi(&writer->text, writer->trace, i);
    end(writer);
}

static void put_op_name(struct writer *writer, uint32_t i)
{
    const struct nvt_ops *ops = &writer->trace->ops;
    if (ops->kind[i] == NVT_OP_KERNEL) {
        put(writer, ",\"cat\":\"kernel\"");
        put_quoted(writer, ",\"name\":", nvt_name(writer->trace, ops->name[i]));
    } else if (ops->kind[i] == NVT_OP_MEMCPY)
        put(writer, ",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy %s (%s -> %s)\"",
            nvt_chrome_way(ops->copy_kind[i]), nvt_memory_label(ops->source_kind[i]),
            nvt_memory_label(ops->target_kind[i]));
    else
        put(writer, ",\"cat\":\"gpu_memset\",\"name\":\"Memset (%s)\"",
            nvt_memory_label(ops->target_kind[i]));
}

/* An arrow from the start of the call to the start of the operation. */
static void put_arrow(struct writer *writer, uint32_t i, int64_t pid, int64_t row)
{
    const struct nvt_ops *ops = &writer->trace->ops;
    if (ops->thread[i] == NVT_NONE || ops->launch[i] == INT64_MIN || ops->launch[i] < writer->first)
        return;
    begin_chrome(writer, 's', pid_of(writer, process_of(writer, ops->thread[i])),
                 tid_of(writer, ops->thread[i]), ops->launch[i]);
    put(writer, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%" PRIu32, i);
    end(writer);
    begin_chrome(writer, 'f', pid, row, ops->start[i]);
    put(writer, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%" PRIu32 ",\"bp\":\"e\"", i);
    end(writer);
}

static void put_chrome_op(struct writer *writer, uint32_t i)
{
    const struct nvt_ops *ops = &writer->trace->ops;
    int64_t pid = device_pid(writer, ops->process[i], ops->device[i]);
    int64_t row = stream_row(writer, pid, ops->stream[i], 0, ops->start[i], ops->end[i]);
    begin_chrome(writer, 'X', pid, row, ops->start[i]);
    put_time(writer, ",\"dur\":", ops->end[i] - ops->start[i]);
    put_op_name(writer, i);
    put(writer,
        ",\"args\":{\"process\":%" PRId64 ",\"device\":%" PRIu32 ",\"context\":%" PRIu32
        ",\"stream\":%" PRIu32 ",\"correlation\":%" PRIu64,
        pid_of(writer, ops->process[i]), ops->device[i], ops->context[i], ops->stream[i],
        ops->correlation[i]);
    writer->failed |= nvt_chrome_op(&writer->text, writer->trace, &writer->sequences, i);
    put(writer, "}");
    end(writer);
    put_arrow(writer, i, pid, row);
}

static void put_sync(struct writer *writer, uint32_t i)
{
    const struct nvt_syncs *syncs = &writer->trace->syncs;
    int64_t pid = device_pid(writer, syncs->process[i], syncs->device[i]);
    int64_t row = stream_row(writer, pid, syncs->stream[i], 1, syncs->start[i], syncs->end[i]);
    begin_chrome(writer, 'X', pid, row, syncs->start[i]);
    put_time(writer, ",\"dur\":", syncs->end[i] - syncs->start[i]);
    put(writer, ",\"cat\":\"cuda_sync\",\"name\":\"%s\"", nvt_sync_label(syncs->type[i]));
    put(writer,
        ",\"args\":{\"process\":%" PRId64 ",\"device\":%" PRIu32 ",\"context\":%" PRIu32
        ",\"stream\":%" PRIu32 ",\"correlation\":%" PRIu64,
        pid_of(writer, syncs->process[i]), syncs->device[i], syncs->context[i], syncs->stream[i],
        syncs->correlation[i]);
    if (syncs->recorded[i])
        put(writer,
            ",\"wait_on_stream\":%" PRIu32 ",\"wait_on_cuda_event_record_corr_id\":%" PRIu64,
            syncs->recorded_stream[i], syncs->recorded[i]);
    put(writer, "}");
    end(writer);
}

/* --- memory and overhead --- */

static void put_level(struct writer *writer, const char *name, uint64_t level, const char *before)
{
    if (level != UINT64_MAX)
        put(writer, "%s\"%s\":%" PRIu64, before, name, level);
}

/* As PyTorch writes it, and as a counter, which viewers draw. */
static void put_chrome_memory(struct writer *writer, uint32_t i)
{
    const struct nvt_memory *memory = &writer->trace->memory;
    uint64_t allocated = memory->allocated[i], reserved = memory->reserved[i];
    int64_t pid = pid_of(writer, memory->process[i]);
    int on_device = memory->device[i] != NVT_NONE;
    begin_chrome(writer, 'i', pid, tid_of(writer, memory->thread[i]), memory->time[i]);
    put(writer,
        ",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"args\":{\"Addr\":"
        "%" PRIu64 ",\"Bytes\":%s%" PRIu64 ",\"Device Type\":%d,\"Device Id\":%" PRId64,
        memory->address[i], memory->kind[i] == NVT_MEMORY_FREE ? "-" : "", memory->bytes[i],
        on_device, on_device ? (int64_t)memory->device[i] : -1);
    put_level(writer, "Total Allocated", allocated, ",");
    put_level(writer, "Total Reserved", reserved, ",");
    put(writer, "}");
    end(writer);
    if (allocated == UINT64_MAX && reserved == UINT64_MAX)
        return;
    begin_chrome(writer, 'C', pid, 0, memory->time[i]);
    put(writer, ",\"cat\":\"" NVT_EXPORT_MEMORY "\",\"name\":\"memory of ");
    put(writer, on_device ? "GPU %" PRIu32 "\",\"args\":{" : "the host\",\"args\":{",
        memory->device[i]);
    put_level(writer, "allocated", allocated, "");
    put_level(writer, "reserved", reserved, allocated == UINT64_MAX ? "" : ",");
    put(writer, "}");
    end(writer);
}

/* What lasts has a row of its device; a moment stands across the rows of a process. */
static void put_um(struct writer *writer, uint32_t i)
{
    const struct nvt_um_events *events = &writer->trace->um_events;
    int64_t pid = pid_of(writer, events->process[i]);
    int lasts = nvt_chrome_um_lasts(writer->trace, i), is_new = 0;
    if (events->device[i] != NVT_NONE)
        pid = device_pid(writer, events->process[i], events->device[i]);
    const struct nvt_row *row =
        lasts ? nvt_rows_take(&writer->rows, UM_TRACK | (uint64_t)pid, NVT_ROWS_NO_TID,
                              events->start[i], events->end[i], &is_new)
              : NULL;
    writer->failed |= lasts && !row;
    int64_t tid = row ? row->tid : 0;
    if (is_new)
        put_chrome_name(writer, "thread_name", pid, tid, "managed memory");
    begin_chrome(writer, lasts ? 'X' : 'i', pid, tid, events->start[i]);
    if (lasts)
        put_time(writer, ",\"dur\":", events->end[i] - events->start[i]);
    else
        put(writer, ",\"s\":\"p\"");
    writer->failed |= nvt_chrome_um(&writer->text, writer->trace, i);
    end(writer);
}

static void put_overhead(struct writer *writer, uint32_t i)
{
    const struct nvt_overheads *overheads = &writer->trace->overheads;
    begin_chrome(writer, 'X', pid_of(writer, overheads->process[i]),
                 tid_of(writer, overheads->thread[i]), overheads->start[i]);
    put_time(writer, ",\"dur\":", overheads->end[i] - overheads->start[i]);
    put(writer, ",\"cat\":\"overhead\"");
    put_quoted(writer, ",\"name\":", nvt_name(writer->trace, overheads->name[i]));
    end(writer);
}

/* --- critical paths --- */

static void put_step(struct writer *writer, int64_t pid, const struct nvt_path_segment *step)
{
    const struct nvt_trace *trace = writer->trace;
    const char *range =
        step->range == NVT_NONE ? "" : nvt_name(trace, trace->ranges.name[step->range]);
    const char *name = step->kind != NVT_PATH_HOST ? nvt_path_name(trace, step)
                       : *range                    ? range
                                                   : "outside of ranges";
    begin_chrome(writer, 'X', pid, PATH_TID, step->start);
    put_time(writer, ",\"dur\":", step->end - step->start);
    put(writer, ",\"cat\":\"" NVT_EXPORT_PATH "\"");
    put_quoted(writer, ",\"name\":", name);
    put_quoted(writer, ",\"args\":{\"kind\":", nvt_path_kind_name(step->kind));
    put_quoted(writer, ",\"range\":", range);
    if (step->thread != NVT_NONE)
        put(writer, ",\"thread\":%" PRId64, tid_of(writer, step->thread));
    else
        put(writer, ",\"stream\":%" PRIu32, trace->ops.stream[step->row]);
    put(writer, "}");
    end(writer);
}

/* A row a process, above its threads. 0, 1 where there is none, or -1 with err filled. */
static int put_paths(struct writer *writer, struct nvt_error *err)
{
    struct nvt_critical_paths paths = {0};
    if (nvt_critical_paths_make(&paths, writer->trace, NVT_ACROSS_WAITS, err))
        return -1;
    int status = paths.count ? 0 : 1;
    for (uint32_t i = 0; i < paths.count; i++) {
        int64_t pid = pid_of(writer, paths.items[i].process);
        put_chrome_name(writer, "thread_name", pid, PATH_TID, "critical path");
        begin_chrome(writer, 'M', pid, PATH_TID, writer->first);
        put(writer, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":-1}");
        end(writer);
        for (uint32_t k = 0; k < paths.items[i].count && !writer->failed; k++)
            put_step(writer, pid, &paths.items[i].segments[k]);
    }
    nvt_critical_paths_free(&paths);
    return status;
}

/* --- the file --- */

static void put_head(struct writer *writer)
{
    const struct nvt_trace *trace = writer->trace;
    const struct nvt_devices *devices = &trace->devices;
    writer->text.size = 0;
    put(writer, "{\"schemaVersion\":1,\"" NVT_EXPORT_OWN "\":\"" NVT_VERSION
                "\",\"displayTimeUnit\":\"ns\"");
    int64_t base;
    /* A broken file's clock can stand anywhere. */
    if (trace->origin_ns && !__builtin_add_overflow(trace->origin_ns, writer->first, &base))
        put(writer, ",\"baseTimeNanoseconds\":%" PRId64, base);
    put(writer, ",\"deviceProperties\":[");
    for (uint32_t i = 0; i < devices->count; i++) {
        put(writer, "%s{\"id\":%" PRIu32, i ? "," : "", devices->device[i]);
        put_quoted(writer, ",\"name\":", nvt_name(trace, devices->name[i]));
        put(writer, ",\"totalGlobalMem\":%" PRIu64 ",\"numSms\":%" PRIu32, devices->memory_bytes[i],
            devices->multiprocessors[i]);
        if (devices->capability[i])
            put(writer, ",\"computeMajor\":%" PRIu32 ",\"computeMinor\":%" PRIu32,
                devices->capability[i] / 10, devices->capability[i] % 10);
        put(writer, "}");
    }
    put(writer, "]");
    if (nvt_chrome_rank(trace) != NVT_NONE)
        put(writer, ",\"distributedInfo\":{\"rank\":%" PRIu32 "}", nvt_chrome_rank(trace));
    put(writer, ",\"traceEvents\":[");
    fwrite(writer->text.data, 1, writer->text.size, writer->out);
}

static int write_events(const struct nvt_trace *trace, int with_paths, FILE *out,
                        struct nvt_error *err)
{
    struct writer writer = {.trace = trace, .first = nvt_export_first(trace), .out = out};
    const struct {
        uint32_t count;
        void (*put)(struct writer *writer, uint32_t i);
    } kinds[] = {
        {trace->ranges.count, put_chrome_range},
        {trace->marks.count, put_mark},
        {trace->apis.count, put_chrome_call},
        {trace->os_calls.count, put_os_call},
        {trace->mpi_calls.count, put_mpi_call},
        {trace->ops.count, put_chrome_op},
        {trace->syncs.count, put_sync},
        {trace->memory.count, put_chrome_memory},
        {trace->um_events.count, put_um},
        {trace->overheads.count, put_overhead},
        {trace->counter_samples.count, put_sample},
    };
    writer.levels = calloc((size_t)trace->counters.count + 1, sizeof(*writer.levels));
    if (!writer.levels)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    writer.failed = nvt_sequences_map(&writer.sequences, trace);
    put_head(&writer);
    put_owners(&writer);
    for (size_t kind = 0; kind < NVT_COUNT_OF(kinds); kind++)
        for (uint32_t i = 0; i < kinds[kind].count && !writer.failed; i++)
            kinds[kind].put(&writer, i);
    writer.failed |= nvt_chrome_samples(trace, writer.first, out, &writer.events);
    int status = with_paths ? put_paths(&writer, err) : 0;
    fputs("\n]}\n", out);
    free(writer.levels);
    nvt_buffer_free(&writer.text);
    nvt_map_free(&writer.devices);
    nvt_map_free(&writer.sequences);
    nvt_rows_free(&writer.rows);
    return writer.failed ? nvt_fail_at(err, trace->path, -1, "out of memory") : status;
}

static int write_chrome(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    return write_events(trace, 0, out, err);
}

static int write_chrome_path(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    return write_events(trace, 1, out, err);
}

const struct nvt_exporter nvt_exporter_chrome = {
    .name = "chrome", .about = "trace events, for Perfetto", .is_trace = 1, .write = write_chrome};

const struct nvt_exporter nvt_exporter_chrome_path = {
    .name = "chrome-path",
    .is_trace = 1,
    .about = "trace events, with the critical path of each process as a row",
    .of = "critical path (it needs device operations and all CUDA calls)",
    .write = write_chrome_path};
