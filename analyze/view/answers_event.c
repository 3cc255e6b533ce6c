/*
 * All that is known of one event.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/json.h"
#include "../../lib/people.h"
#include "../../lib/quantity_text.h"
#include "../model/call_stacks.h"
#include "../model/style_name.h"
#include "answers.h"

struct event {
    const struct nvt_viewer *viewer;
    const struct nvt_scene *scene;
    const struct nvt_trace *trace;
    uint32_t number; /* of the trace */
    uint32_t lane, row;
    struct nvt_buffer *out;
    int fields, links;
};

__attribute__((format(printf, 3, 4))) static void put_field(struct event *event, const char *name,
                                                            const char *format, ...)
{
    char value[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    if (!*value)
        return;
    nvt_buffer_printf(event->out, "%s[", event->fields++ ? "," : "");
    nvt_json_quote(event->out, name);
    nvt_buffer_printf(event->out, ",");
    nvt_json_quote(event->out, value);
    nvt_buffer_printf(event->out, "]");
}

static void put_text(struct event *event, const char *name, uint32_t text)
{
    put_field(event, name, "%s", nvt_name(event->trace, text));
}

static void put_bytes(struct event *event, const char *name, uint64_t bytes)
{
    char text[NVT_TIME_MAX];
    put_field(event, name, "%s", nvt_binary_text((double)bytes, text));
}

static void put_thread(struct event *event, const char *name, uint32_t thread)
{
    if (thread == NVT_NONE)
        return;
    const char *called = nvt_name(event->trace, event->trace->threads.name[thread]);
    put_field(event, name, "%" PRId64 "%s%s", event->trace->threads.tid[thread], *called ? " " : "",
              called);
}

static void put_stack(struct event *event, uint32_t frame)
{
    uint32_t rows[NVT_CALL_STACK_MOST];
    const uint32_t count = nvt_call_stack(event->trace, frame, rows);
    for (uint32_t i = 0; i < count; i++)
        put_text(event, i ? "called by" : "in", event->trace->call_frames.name[rows[i]]);
}

static void put_range_fields(struct event *event)
{
    const struct nvt_ranges *ranges = &event->trace->ranges;
    const uint32_t row = event->row;
    put_thread(event, "thread", ranges->thread[row]);
    put_field(event, "domain", "%s", nvt_domain_name(event->trace, ranges->domain[row]));
    put_text(event, "category", ranges->category[row]);
    put_text(event, "payload", ranges->payload[row]);
    put_field(event, "style", "%s", nvt_style_name(ranges->style[row]));
    if (ranges->flags[row] & NVT_RANGE_UNCLOSED)
        put_field(event, "end", "not recorded");
    if (ranges->flags[row] & NVT_RANGE_CARRIED)
        put_field(event, "start", "before what the trace has");
    if (ranges->children[row])
        put_field(event, "ranges in it", "%" PRIu32 ", %s", ranges->children[row],
                  NVT_TIME((double)ranges->children_ns[row]));
}

static void put_kernel_fields(struct event *event, uint32_t detail)
{
    const struct nvt_kernels *kernels = &event->trace->kernels;
    const uint64_t shared =
        (uint64_t)kernels->static_shared[detail] + kernels->dynamic_shared[detail];
    if (kernels->grid_x[detail])
        put_field(event, "grid", "%" PRIu32 " x %" PRIu32 " x %" PRIu32, kernels->grid_x[detail],
                  kernels->grid_y[detail], kernels->grid_z[detail]);
    if (kernels->block_x[detail])
        put_field(event, "block", "%" PRIu32 " x %" PRIu32 " x %" PRIu32, kernels->block_x[detail],
                  kernels->block_y[detail], kernels->block_z[detail]);
    if (kernels->registers[detail])
        put_field(event, "registers per thread", "%" PRIu32, kernels->registers[detail]);
    if (kernels->local_memory[detail])
        put_bytes(event, "local memory, in all", kernels->local_memory[detail]);
    if (kernels->registers[detail] || shared)
        put_bytes(event, "shared memory per block", shared);
    if (kernels->graph[detail])
        put_field(event, "graph, node", "%" PRIu64 ", %" PRIu64, kernels->graph[detail],
                  kernels->graph_node[detail]);
}

static void put_op_fields(struct event *event)
{
    const struct nvt_ops *ops = &event->trace->ops;
    const uint32_t row = event->row;
    if (ops->name[row] != nvt_op_name(event->trace, row))
        put_text(event, "whole name", ops->name[row]);
    put_field(event, "device, context, stream", "%" PRIu32 ", %" PRIu32 ", %" PRIu32,
              ops->device[row], ops->context[row], ops->stream[row]);
    if (ops->kind[row] == NVT_OP_KERNEL && ops->detail[row] != NVT_NONE)
        put_kernel_fields(event, ops->detail[row]);
    if (ops->bytes[row])
        put_bytes(event, "bytes", ops->bytes[row]);
    if (ops->correlation[row])
        put_field(event, "correlation", "%" PRIu64, ops->correlation[row]);
    put_thread(event, "launched by", ops->thread[row]);
    if (ops->launch[row] != INT64_MIN)
        put_field(event, "from launch to start", "%s",
                  NVT_TIME((double)(ops->start[row] - ops->launch[row])));
    if (ops->api[row] != NVT_NONE)
        put_stack(event, event->trace->apis.frame[ops->api[row]]);
}

static void put_call_fields(struct event *event)
{
    const struct nvt_trace *trace = event->trace;
    const uint32_t row = event->row;
    if (event->scene->lanes[event->lane].kind == NVT_VIEW_CALLS) {
        put_thread(event, "thread", trace->apis.thread[row]);
        if (trace->apis.result[row])
            put_field(event, "result", "%" PRId32, trace->apis.result[row]);
        put_stack(event, trace->apis.frame[row]);
        return;
    }
    put_thread(event, "thread", trace->os_calls.thread[row]);
    put_field(event, "result", "%" PRId64, trace->os_calls.result[row]);
    put_text(event, "file", trace->os_calls.file[row]);
    if (trace->os_calls.bytes[row])
        put_bytes(event, "bytes", trace->os_calls.bytes[row]);
    if (trace->os_calls.holder[row])
        put_field(event, "lock held by thread", "%" PRIu32, trace->os_calls.holder[row]);
    put_text(event, "called from", trace->os_calls.caller[row]);
    put_stack(event, trace->os_calls.frame[row]);
}

static void put_mpi_fields(struct event *event)
{
    const struct nvt_mpi_calls *calls = &event->trace->mpi_calls;
    const uint32_t row = event->row;
    put_thread(event, "thread", calls->thread[row]);
    if (calls->peer[row] != NVT_MPI_NONE)
        put_field(event, "peer or root", "%" PRId32, calls->peer[row]);
    if (calls->tag[row] != NVT_MPI_NONE)
        put_field(event, "tag", "%" PRId32, calls->tag[row]);
    if (calls->sent[row] != UINT64_MAX)
        put_bytes(event, "sent", calls->sent[row]);
    if (calls->received[row] != UINT64_MAX)
        put_bytes(event, "received", calls->received[row]);
    if (calls->ranks[row])
        put_field(event, "ranks", "%" PRIu32, calls->ranks[row]);
    put_text(event, "group", calls->group[row]);
}

static void put_fields(struct event *event, enum nvt_view_kind kind)
{
    const struct nvt_trace *trace = event->trace;
    if (kind == NVT_VIEW_RANGES || kind == NVT_VIEW_ITERATIONS)
        put_range_fields(event);
    else if (kind == NVT_VIEW_STREAM || kind == NVT_VIEW_GAPS)
        put_op_fields(event);
    else if (kind == NVT_VIEW_CALLS || kind == NVT_VIEW_OS_CALLS)
        put_call_fields(event);
    else if (kind == NVT_VIEW_MPI_CALLS)
        put_mpi_fields(event);
    else if (kind == NVT_VIEW_SAMPLES) {
        put_thread(event, "thread", trace->cpu_samples.thread[event->row]);
        put_stack(event, trace->cpu_samples.frame[event->row]);
    } else if (kind == NVT_VIEW_MARKS) {
        put_thread(event, "thread", trace->marks.thread[event->row]);
        put_field(event, "domain", "%s", nvt_domain_name(trace, trace->marks.domain[event->row]));
        put_text(event, "category", trace->marks.category[event->row]);
        put_text(event, "payload", trace->marks.payload[event->row]);
    }
}

/* The ranges around a moment of a thread, the innermost first: spans of its lane of ranges. */
static void put_path(struct event *event, uint32_t thread, int64_t moment, uint32_t but)
{
    int count = 0;
    for (uint32_t i = 0; i < event->scene->count && thread != NVT_NONE; i++) {
        const struct nvt_view_lane *lane = &event->scene->lanes[i];
        if (lane->kind != NVT_VIEW_RANGES || lane->thread != thread)
            continue;
        for (uint32_t t = lane->tracks.count; t-- > 0;) {
            const struct nvt_track *track = &lane->tracks.items[t];
            const uint32_t behind = nvt_track_from(track, 0, moment + 1);
            if (!behind || nvt_track_end(track, behind - 1) < moment ||
                track->row[behind - 1] == but)
                continue;
            nvt_buffer_printf(event->out, "%s{\"name\":", count++ ? "," : "");
            nvt_json_quote(event->out, nvt_name(event->trace, nvt_track_name(track, behind - 1)));
            nvt_buffer_printf(
                event->out, ",\"start\":%" PRId64 ",\"end\":%" PRId64 "}",
                nvt_viewer_axis(event->viewer, event->number, nvt_track_start(track, behind - 1)),
                nvt_viewer_axis(event->viewer, event->number, nvt_track_end(track, behind - 1)));
        }
    }
}

static void put_link(struct event *event, const char *what, uint32_t lane, int64_t start,
                     int64_t end, uint32_t name)
{
    nvt_buffer_printf(event->out,
                      "%s{\"what\":\"%s\",\"lane\":%" PRIu32 ",\"start\":%" PRId64
                      ",\"end\":%" PRId64 ",\"name\":",
                      event->links++ ? "," : "", what, event->viewer->first[event->number] + lane,
                      nvt_viewer_axis(event->viewer, event->number, start),
                      nvt_viewer_axis(event->viewer, event->number, end));
    nvt_json_quote(event->out, nvt_name(event->trace, name));
    nvt_buffer_printf(event->out, "}");
}

/* Of an operation the call that launched it; of a call the operations that it launched, among those that follow soon. */
static void put_links(struct event *event, enum nvt_view_kind kind)
{
    enum { LOOKED_AT = 100000, MOST = 20 };
    const struct nvt_trace *trace = event->trace;
    const struct nvt_ops *ops = &trace->ops;
    const int is_op = kind == NVT_VIEW_STREAM;
    const uint32_t call = is_op ? ops->api[event->row] : event->row;
    for (uint32_t i = 0; i < event->scene->count && call != NVT_NONE; i++) {
        const struct nvt_view_lane *lane = &event->scene->lanes[i];
        if (is_op && lane->kind == NVT_VIEW_CALLS && lane->thread == trace->apis.thread[call])
            put_link(event, "launched by", i, trace->apis.start[call], trace->apis.end[call],
                     trace->apis.name[call]);
        if (is_op || lane->kind != NVT_VIEW_STREAM)
            continue;
        for (uint32_t t = 0; t < lane->tracks.count; t++) {
            const struct nvt_track *track = &lane->tracks.items[t];
            uint32_t at = nvt_track_from(track, 0, trace->apis.start[call]);
            for (uint32_t n = 0; at < track->count && n < LOOKED_AT && event->links < MOST;
                 n++, at++)
                if (ops->api[track->row[at]] == call)
                    put_link(event, "launches", i, nvt_track_start(track, at),
                             nvt_track_end(track, at), nvt_track_name(track, at));
        }
    }
}

/* The number of a row's span on a track, NVT_NONE: there is none. */
static uint32_t find_span(const struct nvt_track *track, uint32_t row)
{
    for (uint32_t i = 0; i < track->count; i++)
        if (track->row[i] == row)
            return i;
    return NVT_NONE;
}

static void put_span(const struct event *event, const struct nvt_track *track, uint32_t span)
{
    nvt_buffer_printf(event->out, "\"name\":");
    nvt_json_quote(event->out, nvt_scene_name(event->scene, nvt_track_name(track, span)));
    nvt_buffer_printf(event->out, ",\"start\":%" PRId64 ",\"end\":%" PRId64,
                      nvt_viewer_axis(event->viewer, event->number, nvt_track_start(track, span)),
                      nvt_viewer_axis(event->viewer, event->number, nvt_track_end(track, span)));
}

static void put_neighbours(const struct event *event, const struct nvt_track *track, uint32_t span)
{
    int count = 0;
    for (uint32_t i = span ? span - 1 : 1; i <= span + 1 && i < track->count; i += 2) {
        nvt_buffer_printf(event->out, "%s{\"what\":\"%s\",\"row\":%" PRIu32 ",", count++ ? "," : "",
                          i < span ? "before" : "after", track->row[i]);
        put_span(event, track, i);
        nvt_buffer_printf(event->out, "}");
    }
}

static uint32_t thread_of(const struct event *event, enum nvt_view_kind kind)
{
    return kind == NVT_VIEW_STREAM ? event->trace->ops.thread[event->row]
                                   : event->scene->lanes[event->lane].thread;
}

int nvt_answer_event(const struct nvt_viewer *viewer, uint32_t lane, uint32_t number, uint32_t row,
                     struct nvt_buffer *out)
{
    struct event event = {.viewer = viewer, .lane = lane, .row = row, .out = out};
    event.scene = nvt_viewer_lane(viewer, &event.lane, &event.number);
    if (!event.scene || number >= event.scene->lanes[event.lane].tracks.count)
        return 1;
    const struct nvt_track *track = &event.scene->lanes[event.lane].tracks.items[number];
    const uint32_t span = find_span(track, row);
    if (span == NVT_NONE)
        return 1;
    const enum nvt_view_kind kind = event.scene->lanes[event.lane].kind;
    event.trace = event.scene->trace;
    nvt_buffer_printf(out, "{\"lane\":%" PRIu32 ",\"kind\":", lane);
    nvt_json_quote(out, nvt_view_kind_name(kind));
    nvt_buffer_printf(out, ",");
    put_span(&event, track, span);
    nvt_buffer_printf(out, ",\"fields\":[");
    put_fields(&event, kind);
    nvt_buffer_printf(out, "],\"path\":[");
    const int is_op = kind == NVT_VIEW_STREAM;
    const int64_t launch = is_op ? event.trace->ops.launch[row] : nvt_track_start(track, span);
    put_path(&event, launch == INT64_MIN ? NVT_NONE : thread_of(&event, kind), launch,
             kind == NVT_VIEW_RANGES ? row : NVT_NONE);
    nvt_buffer_printf(out, "],\"links\":[");
    if (is_op || kind == NVT_VIEW_CALLS)
        put_links(&event, kind);
    nvt_buffer_printf(out, "],\"neighbours\":[");
    put_neighbours(&event, track, span);
    nvt_buffer_printf(out, "]}\n");
    return out->failed ? -1 : 0;
}
