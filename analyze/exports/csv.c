#include <inttypes.h>

#include "../../lib/buffer.h"
#include "../../lib/render.h"
#include "../model/call_stacks.h"
#include "../model/cuda_names.h"
#include "../model/os_names.h"
#include "export.h"

/* A line; what an event does not have is left empty. */
struct line {
    const char *kind;
    int64_t start, end;
    uint32_t process, thread;
    int64_t device, stream; /* -1: none */
    uint64_t correlation;   /* 0: none */
    int64_t bytes;          /* -1: none */
    const char *domain, *name, *category, *payload;
    uint32_t frame; /* of who called, as calls have it */
};

/* Where lines go: with a column more, if any call has a stack. */
struct lines {
    FILE *file;
    int has_stacks;
    struct nvt_buffer stack;
};

static const struct line empty = {
    .process = NVT_NONE, .thread = NVT_NONE, .device = -1, .stream = -1, .bytes = -1};

static void put_csv_number(int64_t value, int given, FILE *out)
{
    if (given)
        fprintf(out, "%" PRId64, value);
    putc(',', out);
}

static void put_text(const char *text, char behind, FILE *out)
{
    if (text)
        nvt_render_csv_field(text, out);
    putc(behind, out);
}

/* The functions of a stack as collapsed stacks have them: the innermost one last. */
static void put_stack(const struct nvt_trace *trace, uint32_t frame, struct lines *lines)
{
    uint32_t rows[NVT_CALL_STACK_MOST], count = nvt_call_stack(trace, frame, rows);
    lines->stack.size = 0;
    while (count-- > 0) {
        const char *name = nvt_name(trace, trace->call_frames.name[rows[count]]);
        for (; *name; name++)
            nvt_buffer_append(&lines->stack, *name == ';' ? "," : name, 1);
        if (count)
            nvt_buffer_append(&lines->stack, ";", 1);
    }
    if (!nvt_buffer_append(&lines->stack, "", 1))
        nvt_render_csv_field((const char *)lines->stack.data, lines->file);
}

static void put_csv(const struct nvt_trace *trace, const struct line *line, struct lines *lines)
{
    FILE *out = lines->file;
    uint32_t process = line->process;
    int has_thread = line->thread != NVT_NONE;
    if (process == NVT_NONE && has_thread)
        process = trace->threads.process[line->thread];
    int has_process = process != NVT_NONE;
    fprintf(out, "%s,%" PRId64 ",%" PRId64 ",", line->kind, line->start, line->end - line->start);
    put_csv_number(has_process ? trace->processes.pid[process] : 0, has_process, out);
    put_csv_number(has_thread ? trace->threads.tid[line->thread] : 0, has_thread, out);
    put_csv_number(line->device, line->device >= 0, out);
    put_csv_number(line->stream, line->stream >= 0, out);
    put_csv_number((int64_t)line->correlation, line->correlation != 0, out);
    put_csv_number(line->bytes, line->bytes >= 0, out);
    put_text(line->domain, ',', out);
    put_text(line->name, ',', out);
    put_text(line->category, ',', out);
    put_text(line->payload, lines->has_stacks ? ',' : '\n', out);
    if (!lines->has_stacks)
        return;
    put_stack(trace, line->frame, lines);
    putc('\n', out);
}

static const char *optional_name(const struct nvt_trace *trace, uint32_t id)
{
    return id ? nvt_name(trace, id) : NULL;
}

static const char *domain_name(const struct nvt_trace *trace, uint32_t domain)
{
    return optional_name(trace, trace->domains.name[domain]);
}

static void put_csv_ranges(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct line line = empty;
        line.kind = ranges->style[i] == NVT_PUSH_POP ? "range" : "start-end range";
        line.start = ranges->start[i];
        line.end = ranges->end[i];
        line.thread = ranges->thread[i];
        line.domain = domain_name(trace, ranges->domain[i]);
        line.name = nvt_name(trace, ranges->name[i]);
        line.category = optional_name(trace, ranges->category[i]);
        if (ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD)
            line.payload = nvt_name(trace, ranges->payload[i]);
        put_csv(trace, &line, out);
    }
}

static void put_marks(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_marks *marks = &trace->marks;
    for (uint32_t i = 0; i < marks->count; i++) {
        struct line line = empty;
        line.kind = "mark";
        line.start = line.end = marks->time[i];
        line.thread = marks->thread[i];
        line.domain = domain_name(trace, marks->domain[i]);
        line.name = nvt_name(trace, marks->name[i]);
        line.category = optional_name(trace, marks->category[i]);
        if (marks->flags[i] & NVT_RANGE_HAS_PAYLOAD)
            line.payload = nvt_name(trace, marks->payload[i]);
        put_csv(trace, &line, out);
    }
}

static void put_samples(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    for (uint32_t i = 0; i < samples->count; i++) {
        struct line line = empty;
        char value[32];
        uint32_t counter = samples->counter[i];
        snprintf(value, sizeof(value), "%.17g", samples->value[i]);
        line.kind = "sample";
        line.start = line.end = samples->time[i];
        line.thread = samples->thread[i];
        line.domain = domain_name(trace, trace->counters.domain[counter]);
        line.name = nvt_name(trace, trace->counters.name[counter]);
        line.category = optional_name(trace, trace->counters.unit[counter]);
        line.payload = value;
        put_csv(trace, &line, out);
    }
}

static void put_csv_calls(const struct nvt_trace *trace, struct lines *out)
{
    static const char *const classes[] = {"runtime call", "driver call", "library call", "call"};
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        struct line line = empty;
        line.kind = classes[apis->class[i] <= NVT_API_OTHER ? apis->class[i] : NVT_API_OTHER];
        line.start = apis->start[i];
        line.end = apis->end[i];
        line.thread = apis->thread[i];
        line.correlation = apis->correlation[i];
        line.name = nvt_name(trace, apis->name[i]);
        line.frame = apis->frame[i];
        put_csv(trace, &line, out);
    }
}

/* The category says what kind, the payload what it worked with: a file, or the address of a lock. */
static void put_os_calls(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_os_names names = {{0}};
    for (uint32_t i = 0; i < calls->count; i++) {
        struct line line = empty;
        char address[24];
        line.kind = "OS call";
        line.start = calls->start[i];
        line.end = calls->end[i];
        line.thread = calls->thread[i];
        if (calls->bytes[i] && calls->bytes[i] <= INT64_MAX)
            line.bytes = (int64_t)calls->bytes[i];
        line.name = nvt_name(trace, calls->name[i]);
        line.frame = calls->frame[i];
        line.category = nvt_os_kind_name(nvt_os_names_kind(&names, trace, calls->name[i]));
        line.payload = optional_name(trace, calls->file[i]);
        if (!line.payload && calls->address[i]) {
            snprintf(address, sizeof(address), "0x%" PRIx64, calls->address[i]);
            line.payload = address;
        }
        put_csv(trace, &line, out);
    }
    nvt_os_names_free(&names);
}

/* The category says what kind, the payload who is at the other end. */
static void put_mpi_calls(const struct nvt_trace *trace, struct lines *out)
{
    static const char *const kinds[NVT_MPI_KINDS] = {[NVT_MPI_OTHER] = "other",
                                                     [NVT_MPI_P2P] = "point-to-point",
                                                     [NVT_MPI_COLLECTIVE] = "collective",
                                                     [NVT_MPI_WAIT] = "wait"};
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        struct line line = empty;
        char payload[48];
        uint64_t bytes = calls->sent[i] == UINT64_MAX ? calls->received[i] : calls->sent[i];
        line.kind = "MPI call";
        line.start = calls->start[i];
        line.end = calls->end[i];
        line.thread = calls->thread[i];
        line.bytes = bytes > INT64_MAX ? -1 : (int64_t)bytes;
        line.name = nvt_name(trace, calls->name[i]);
        line.category = kinds[calls->kind[i]];
        if (calls->peer[i] != NVT_MPI_NONE) {
            snprintf(payload, sizeof(payload), "%s %" PRId32,
                     calls->kind[i] == NVT_MPI_COLLECTIVE ? "root" : "peer", calls->peer[i]);
            line.payload = payload;
        }
        put_csv(trace, &line, out);
    }
}

/* The name is the innermost function, the category the library or program that it is in, the payload the processor time that it
 * stands for, ns. */
static void put_cpu_samples(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    for (uint32_t i = 0; i < samples->count; i++) {
        struct line line = empty;
        char payload[24];
        line.kind = "CPU sample";
        line.start = line.end = samples->time[i];
        line.thread = samples->thread[i];
        if (samples->frame[i]) {
            line.name = nvt_name(trace, trace->call_frames.name[samples->frame[i] - 1]);
            line.category = optional_name(trace, trace->call_frames.module[samples->frame[i] - 1]);
        }
        if (samples->cpu_ns[i]) {
            snprintf(payload, sizeof(payload), "%" PRId64, samples->cpu_ns[i]);
            line.payload = payload;
        }
        put_csv(trace, &line, out);
    }
}

enum { ADDRESS_MAX = 24 };

static const char *address_text(uint64_t address, char out[ADDRESS_MAX])
{
    snprintf(out, ADDRESS_MAX, "0x%" PRIx64, address);
    return out;
}

static void put_ops(const struct nvt_trace *trace, struct lines *out)
{
    static const char *const kinds[] = {"kernel", "memcpy", "memset"};
    const struct nvt_ops *ops = &trace->ops;
    for (uint32_t i = 0; i < ops->count; i++) {
        struct line line = empty;
        char address[ADDRESS_MAX];
        line.kind = kinds[ops->kind[i] <= NVT_OP_MEMSET ? ops->kind[i] : NVT_OP_KERNEL];
        line.start = ops->start[i];
        line.end = ops->end[i];
        line.process = ops->process[i];
        line.thread = ops->thread[i];
        line.device = ops->device[i];
        line.stream = ops->stream[i];
        line.correlation = ops->correlation[i];
        line.name = nvt_name(trace, ops->name[i]);
        if (ops->bytes[i])
            line.bytes = (int64_t)ops->bytes[i];
        if (ops->kind[i] == NVT_OP_MEMCPY && ops->detail[i] != NVT_NONE) {
            line.category = nvt_um_move_label(trace->migrations.cause[ops->detail[i]]);
            line.payload = address_text(trace->migrations.address[ops->detail[i]], address);
        }
        put_csv(trace, &line, out);
    }
}

static void put_syncs(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_syncs *syncs = &trace->syncs;
    for (uint32_t i = 0; i < syncs->count; i++) {
        struct line line = empty;
        line.kind = "synchronization";
        line.start = syncs->start[i];
        line.end = syncs->end[i];
        line.process = syncs->process[i];
        line.device = syncs->device[i];
        line.stream = syncs->stream[i];
        line.correlation = syncs->correlation[i];
        line.name = nvt_sync_label(syncs->type[i]);
        put_csv(trace, &line, out);
    }
}

static void put_csv_memory(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_memory *memory = &trace->memory;
    for (uint32_t i = 0; i < memory->count; i++) {
        struct line line = empty;
        line.kind = memory->kind[i] == NVT_MEMORY_FREE ? "free" : "allocate";
        line.start = line.end = memory->time[i];
        line.process = memory->process[i];
        line.thread = memory->thread[i];
        line.device = memory->device[i] == NVT_NONE ? -1 : (int64_t)memory->device[i];
        line.bytes = (int64_t)memory->bytes[i];
        line.name = nvt_name(trace, memory->source[i]);
        put_csv(trace, &line, out);
    }
}

/* The name is the host's instruction, the category the kind of access or the cause, the payload the address and, of a device,
 * how many faults it had there. */
static void put_um_events(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_um_events *events = &trace->um_events;
    for (uint32_t i = 0; i < events->count; i++) {
        struct line line = empty;
        char address[ADDRESS_MAX], payload[64];
        uint8_t kind = events->kind[i], reason = events->reason[i];
        line.kind = nvt_um_label(kind);
        line.start = events->start[i];
        line.end = events->end[i];
        line.process = events->process[i];
        line.device = events->device[i] == NVT_NONE ? -1 : (int64_t)events->device[i];
        line.bytes = events->bytes[i] ? (int64_t)events->bytes[i] : -1;
        line.name = optional_name(trace, events->instruction[i]);
        line.category = kind == NVT_UM_REMOTE_MAP ? nvt_um_map_label(reason)
                        : reason                  ? nvt_um_access_label(reason)
                                                  : NULL;
        line.payload = address_text(events->address[i], address);
        if (kind == NVT_UM_GPU_FAULT) {
            snprintf(payload, sizeof(payload), "%s, %" PRIu64 " faults", address,
                     events->faults[i]);
            line.payload = payload;
        }
        put_csv(trace, &line, out);
    }
}

static void put_overheads(const struct nvt_trace *trace, struct lines *out)
{
    const struct nvt_overheads *overheads = &trace->overheads;
    for (uint32_t i = 0; i < overheads->count; i++) {
        struct line line = empty;
        line.kind = "overhead";
        line.start = overheads->start[i];
        line.end = overheads->end[i];
        line.process = overheads->process[i];
        line.thread = overheads->thread[i];
        line.name = nvt_name(trace, overheads->name[i]);
        put_csv(trace, &line, out);
    }
}

static int write_csv(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    struct lines lines = {.file = out, .has_stacks = nvt_has_call_stacks(trace)};
    fprintf(out,
            "Kind,Start (ns),Duration (ns),PID,TID,Device,Stream,Correlation,Bytes,Domain,Name,"
            "Category,Payload%s\n",
            lines.has_stacks ? ",Stack" : "");
    put_csv_ranges(trace, &lines);
    put_marks(trace, &lines);
    put_samples(trace, &lines);
    put_csv_calls(trace, &lines);
    put_os_calls(trace, &lines);
    put_mpi_calls(trace, &lines);
    put_cpu_samples(trace, &lines);
    put_ops(trace, &lines);
    put_syncs(trace, &lines);
    put_csv_memory(trace, &lines);
    put_um_events(trace, &lines);
    put_overheads(trace, &lines);
    nvt_buffer_free(&lines.stack);
    return lines.stack.failed ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

const struct nvt_exporter nvt_exporter_csv = {
    .name = "csv", .about = "one row per event", .write = write_csv};
