/* What can be done with a trace only when all chunks of its file have been read. */
#include <stdio.h>
#include <stdlib.h>

#include "../model/column.h"
#include "../model/parallel.h"
#include "../model/recorded_parts.h"
#include "nvt.h"
#include "nvt_dormant.h"
#include "nvt_forks.h"

static void convert(const struct nvt_file_reader *reader, int64_t origin, int64_t *times,
                    uint32_t count)
{
    nvt_clock_convert_all(reader->samples, reader->sample_count, origin, times, count);
}

static void find_unclosed(struct nvt_file_reader *reader)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    struct nvt_threads *threads = &reader->trace->threads;
    for (uint32_t i = 0; i < nvt_file_thread_count(reader); i++) {
        const struct nvt_file_thread *thread = nvt_file_thread_at(reader, i);
        threads->last_ns[thread->row] =
            (int64_t)(thread->last > thread->last_call ? thread->last : thread->last_call);
        for (uint32_t k = 0; k < thread->depth; k++)
            ranges->flags[thread->open[k].row] |= NVT_RANGE_UNCLOSED;
    }
}

/* Of push/pop ranges that were open at the cut and still are at the end: since when. 0, or -1 when out of memory. */
static int keep_begun(struct nvt_file_reader *reader)
{
    const struct nvt_ranges *ranges = &reader->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!(ranges->flags[i] & NVT_RANGE_CARRIED) || !(ranges->flags[i] & NVT_RANGE_UNCLOSED) ||
            ranges->style[i] != NVT_PUSH_POP)
            continue;
        struct nvt_carried_range row = {ranges->thread[i], ranges->domain[i], ranges->name[i],
                                        nvt_file_time(reader, (uint64_t)ranges->start[i])};
        if (nvt_carried_range_add(reader->trace, &row) == NVT_NONE)
            return -1;
    }
    return 0;
}

/* Since when there are events of a thread of the model: from the cut on, or from within a chunk that lies across
 * it. In ticks. */
static uint64_t kept_from(const struct nvt_file_reader *reader, uint32_t row)
{
    for (uint32_t i = 0; i < nvt_file_thread_count(reader); i++) {
        const struct nvt_file_thread *thread = nvt_file_thread_at(reader, i);
        if (thread->row == row)
            return thread->has_first && thread->first < reader->cut ? thread->first : reader->cut;
    }
    return reader->cut;
}

/* The front of the recording was cut off: what was open there counts from there on, in ticks. */
static int begin_at_cut(struct nvt_file_reader *reader)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    const struct nvt_clock_sample *samples = reader->samples;
    const char *kept = nvt_trace_meta(reader->trace, "kept");
    if (!reader->is_cut || !reader->sample_count)
        return 0;
    uint64_t last = samples[reader->sample_count - 1].ticks;
    nvt_trace_note(
        reader->trace,
        "what ended in the first %.1f of %.1f s was cut off: only the latest %s were kept",
        (double)nvt_file_time(reader, reader->cut) / 1e9, (double)nvt_file_time(reader, last) / 1e9,
        kept ? kept : "events");
    if (keep_begun(reader))
        return -1;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!(ranges->flags[i] & NVT_RANGE_CARRIED))
            continue;
        int64_t from = (int64_t)kept_from(reader, ranges->thread[i]);
        if (ranges->start[i] >= from)
            continue;
        ranges->start[i] = from;
        if (!(ranges->flags[i] & NVT_RANGE_UNCLOSED) && ranges->end[i] < from)
            ranges->start[i] = ranges->end[i];
    }
    return 0;
}

/* When each thread's end was noticed: with its last chunk, else as far as the recording goes. What was open when a thread ended is not
 * known where recording had been stopped by then. */
static void note_ends(struct nvt_file_reader *reader)
{
    const int has_parts = nvt_trace_meta(reader->trace, "recorded") != NULL;
    for (uint32_t i = 0; reader->sample_count && i < nvt_file_thread_count(reader); i++) {
        const struct nvt_file_thread *thread = nvt_file_thread_at(reader, i);
        uint64_t last = reader->samples[reader->sample_count - 1].ticks;
        const int64_t ended = nvt_file_time(reader, thread->ended ? thread->ended : last);
        if (!has_parts || nvt_is_recorded_at(reader->trace, ended))
            reader->trace->threads.ended_ns[thread->row] = ended;
        if (!reader->ended || reader->left)
            reader->trace->open_ns = nvt_file_time(reader, reader->ended ? reader->left : last);
    }
}

/* A range that was never closed lasts as long as its thread is known to have lived, calls
 * included. */
static void end_unclosed(struct nvt_trace *trace)
{
    struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_threads *threads = &trace->threads;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->flags[i] & NVT_RANGE_UNCLOSED)
            ranges->end[i] = threads->last_ns[ranges->thread[i]];
}

/* The name of a category, its number when it was given none, nothing for category 0. */
static uint32_t category_name(struct nvt_file_reader *reader, uint32_t thread, uint32_t domain,
                              uint32_t category)
{
    char text[32];
    uint32_t owner = reader->trace->threads.process[thread];
    if (!category)
        return 0;
    for (uint32_t i = 0; i < reader->process_count; i++) {
        if (reader->processes[i].row != owner)
            continue;
        uint32_t name =
            nvt_map_get(&reader->processes[i].categories, (uint64_t)domain << 32 | category);
        if (name == NVT_MAP_NONE)
            name = nvt_file_kin_category(reader, i, domain, category);
        if (name != NVT_MAP_NONE)
            return name;
    }
    snprintf(text, sizeof(text), "%u", category);
    return nvt_strings_add_text(reader->trace->strings, text);
}

static void name_categories(struct nvt_file_reader *reader)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    struct nvt_marks *marks = &reader->trace->marks;
    /* Few have one; and a zero that is written takes memory. */
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->category[i])
            ranges->category[i] =
                category_name(reader, ranges->thread[i], ranges->domain[i], ranges->category[i]);
    for (uint32_t i = 0; i < marks->count; i++)
        if (marks->category[i])
            marks->category[i] =
                category_name(reader, marks->thread[i], marks->domain[i], marks->category[i]);
}

/* The model's ids for texts of payloads. */
static int intern_texts(struct nvt_file_reader *reader, uint32_t *payloads, const uint8_t *flags,
                        uint32_t count)
{
    int status = 0;
    /* 1: nothing but the empty text. */
    for (uint32_t i = 0; nvt_strings_count(reader->texts) > 1 && i < count; i++)
        if (flags[i] & NVT_RANGE_HAS_PAYLOAD) {
            size_t length;
            const char *text = nvt_strings_get(reader->texts, payloads[i], &length);
            payloads[i] = nvt_strings_add(reader->trace->strings, text, length);
            status |= payloads[i] == NVT_NO_STRING;
        }
    return status ? -1 : 0;
}

static int decode_payloads(struct nvt_file_reader *reader)
{
    struct nvt_trace *trace = reader->trace;
    struct nvt_buffer text = {0};
    uint64_t left = NVT_PAYLOAD_GRACE + NVT_PAYLOAD_RATIO * (uint64_t)reader->blobs.size;
    int status =
        intern_texts(reader, trace->ranges.payload, trace->ranges.flags, trace->ranges.count) ||
        intern_texts(reader, trace->marks.payload, trace->marks.flags, trace->marks.count);
    for (size_t i = 0; i < reader->payload_count && !status; i++) {
        const struct nvt_pending_payload *pending = &reader->payloads[i];
        if (pending->process == NVT_NONE)
            continue;
        int is_call = nvt_file_take_mpi(reader, pending);
        if (is_call) {
            status = is_call < 0;
            continue;
        }
        if (nvt_file_take_collective(reader, pending))
            status = -1;
        uint32_t *payload = pending->is_mark ? &trace->marks.payload[pending->row]
                                             : &trace->ranges.payload[pending->row];
        uint8_t *flags = pending->is_mark ? &trace->marks.flags[pending->row]
                                          : &trace->ranges.flags[pending->row];
        text.size = 0;
        /* A payload at the end of a range stands behind the one at its start. */
        if (*flags & NVT_RANGE_HAS_PAYLOAD)
            status = nvt_buffer_printf(&text, "%s ", nvt_name(trace, *payload));
        nvt_payload_text(reader, &reader->processes[pending->process], &pending->blob, &left,
                         &text);
        if (!left) {
            nvt_trace_warn(trace,
                           "payloads hold more text than a recording has: the rest is left out");
            break;
        }
        *payload = nvt_strings_add(trace->strings, text.data ? (char *)text.data : "", text.size);
        *flags |= NVT_RANGE_HAS_PAYLOAD;
        status |= text.failed || *payload == NVT_NO_STRING;
    }
    nvt_buffer_free(&text);
    return status ? -1 : 0;
}

/* What can be done side by side when all is read: device rows, and for each table its starts and its ends. */
struct completion {
    struct nvt_file_reader *reader;
    int64_t origin; /* the first moment, where the axis starts */
    int failed;     /* of device rows */
};

#define COMPLETION_PARTS (1 + 2 * NVT_TABLE_COUNT)

static void complete_part(void *context, size_t part)
{
    struct completion *completion = context;
    struct nvt_file_reader *reader = completion->reader;
    if (!part) {
        completion->failed = nvt_file_device_finish(reader, completion->origin);
        return;
    }
    const struct nvt_layout_table *table = &nvt_layout()[(part - 1) / 2];
    const int is_end = part % 2 == 0;
    if (nvt_file_has_host_times(table) && !(is_end && table->times == NVT_MOMENTARY))
        convert(reader, completion->origin,
                is_end ? nvt_layout_ends(reader->trace, table)
                       : nvt_layout_starts(reader->trace, table),
                nvt_layout_rows(reader->trace, table));
}

int nvt_file_complete(struct nvt_file_reader *reader)
{
    struct nvt_trace *trace = reader->trace;
    struct completion completion = {.reader = reader};
    trace->ops_unlinked = 1;
    find_unclosed(reader);
    nvt_file_note_tasks(reader);
    name_categories(reader);
    /* Payloads know their ranges by row, so rows are left out behind them. */
    if (decode_payloads(reader) || nvt_file_complete_counts(reader) ||
        nvt_file_device_capture(reader) || nvt_file_device_threads(reader))
        return -1;
    if (reader->sample_count) {
        completion.origin = reader->samples[0].monotonic_ns;
        trace->origin_ns = reader->samples[0].realtime_ns;
    }
    nvt_file_note_deferred(reader);
    if (begin_at_cut(reader) || nvt_file_add_parts(reader))
        return -1;
    note_ends(reader);
    nvt_file_complete_pace(reader);
    if (nvt_file_complete_os(reader))
        return -1;
    trace->is_late = reader->is_cut || nvt_trace_meta(trace, "capture") ||
                     nvt_trace_meta(trace, "delay") || nvt_trace_meta(trace, "recorded");
    if (nvt_file_complete_counters(reader, completion.origin) ||
        nvt_file_complete_machine(reader, completion.origin) ||
        nvt_file_complete_metrics(reader, completion.origin))
        return -1;
    /* Those that NVTX has not seen have no time yet. */
    for (uint32_t i = 0; i < nvt_file_thread_count(reader); i++)
        convert(reader, completion.origin,
                &trace->threads.last_ns[nvt_file_thread_at(reader, i)->row], 1);
    if (trace->ranges.count + trace->ops.count < NVT_BESIDE_FROM)
        for (size_t part = 0; part < COMPLETION_PARTS; part++)
            complete_part(&completion, part);
    else
        nvt_parallel(complete_part, &completion, COMPLETION_PARTS);
    end_unclosed(trace);
    if (nvt_file_end_parts(reader))
        return -1;
    nvt_file_take_turns(reader);
    return completion.failed || nvt_file_complete_collectives(reader) ||
                   nvt_file_complete_mpi(reader) || nvt_file_end_loops(trace)
               ? -1
               : 0;
}

/* --- lanes --- */

/* What was read, as a lane for every thread of the model. */
static int make_lanes(struct nvt_file_reader *reader)
{
    struct nvt_lanes *lanes = reader->lanes->lanes;
    uint32_t count = reader->trace->threads.count;
    lanes->items = calloc((size_t)count + 1, sizeof(*lanes->items));
    if (!lanes->items)
        return -1;
    lanes->count = count;
    for (uint32_t i = 0; i < count; i++)
        lanes->items[i].thread = i;
    for (uint32_t i = 0; i < reader->thread_count; i++) {
        struct nvt_file_lane *from = &reader->lanes->threads[i];
        struct nvt_lane *lane = &lanes->items[reader->threads[i].row];
        for (uint32_t k = 0; k < reader->threads[i].depth; k++)
            from->ranges.items[reader->threads[i].open[k].row].children = NVT_LANE_OPEN;
        lane->ranges = from->ranges;
        lane->process = reader->threads[i].process;
        lane->unsure |= from->unsure;
        from->ranges = (struct nvt_lane_ranges){0};
    }
    for (size_t i = 0; i < reader->devices.thread_count && i < reader->lanes->caller_count; i++) {
        struct nvt_file_calls *from = &reader->lanes->callers[i];
        struct nvt_lane *lane = &lanes->items[reader->devices.rows[i]];
        lane->calls = from->calls;
        lane->process = reader->devices.threads[i].process;
        lane->unsure |= from->unsure;
        from->calls = (struct nvt_lane_calls){0};
    }
    return 0;
}

/* The later one of `last` and the end of a lane's last call, on the axis of its ranges. ns. */
static int64_t lane_last(const struct nvt_lane *lane, int64_t last)
{
    for (uint32_t i = 0; i < lane->calls.count; i++) {
        int64_t end = lane->calls.items[i].start + lane->calls.items[i].length - lane->offset;
        last = end > last ? end : last;
    }
    return last;
}

/* As end_unclosed, when the times of calls are known too. */
static void end_unclosed_lanes(struct nvt_file_reader *reader)
{
    for (uint32_t i = 0; i < reader->thread_count; i++) {
        const struct nvt_file_thread *thread = &reader->threads[i];
        struct nvt_lane *lane = &reader->lanes->lanes->items[thread->row];
        if (!thread->depth)
            continue;
        int64_t last =
            nvt_clock_convert_near(reader->samples, reader->sample_count, reader->lanes->origin,
                                   &reader->lanes->threads[i].line, thread->last);
        last = lane_last(lane, last);
        for (uint32_t k = 0; k < thread->depth; k++)
            lane->ranges.items[thread->open[k].row].end = last;
    }
}

void nvt_file_lanes_free(struct nvt_file_lanes *lanes, uint32_t threads)
{
    for (uint32_t i = 0; lanes->threads && i < threads; i++)
        nvt_column_free(lanes->threads[i].ranges.items);
    for (size_t i = 0; i < lanes->caller_count; i++)
        nvt_column_free(lanes->callers[i].calls.items);
    free(lanes->threads);
    free(lanes->callers);
    nvt_map_free(&lanes->kinds);
}

int nvt_file_complete_lanes(struct nvt_file_reader *reader)
{
    struct nvt_trace *trace = reader->trace;
    if (reader->lanes->complex_events || reader->lanes->complex_rows)
        return 1;
    if (nvt_file_device_threads(reader) || make_lanes(reader) ||
        nvt_file_device_lanes(reader, reader->lanes->origin))
        return -1;
    end_unclosed_lanes(reader);
    if (reader->sample_count)
        trace->origin_ns = reader->samples[0].realtime_ns;
    return nvt_file_device_finish(reader, reader->lanes->origin);
}
