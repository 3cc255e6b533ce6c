/* A chunk of events, into the model or into lanes. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/event_columns.h"
#include "../../lib/grow.h"
#include "nvt.h"
#include "nvt_counters.h"

struct event {
    unsigned kind; /* enum nvt_token */
    uint32_t name, domain;
    uint32_t domain_number; /* in the file */
    uint64_t ticks;
};

/* Whether pushes and pops may be plain from here on: of the default domain, up to the chunk's end. */
static inline int is_plain(const struct nvt_event_columns *columns)
{
    return !columns->domain && columns->domain_run > UINT32_MAX;
}

/* The next run of events of one domain, which has been defined by now. */
static int next_run(const struct nvt_file_process *process, struct nvt_event_columns *columns,
                    uint32_t number)
{
    if (nvt_event_run(columns))
        return -1;
    columns->model_domain = 0;
    if (!columns->domain)
        return 0;
    /* Definitions are read before any events are. */
    uint32_t since = nvt_map_get(&process->since, columns->domain);
    columns->model_domain = nvt_map_get(&process->domains, columns->domain);
    return since == NVT_MAP_NONE || since > number ? -1 : 0;
}

/* The next event, whatever it is. 0, or -1 when the chunk is malformed. */
static int next_event(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                      struct nvt_file_process *process, struct nvt_event_columns *columns,
                      struct event *event)
{
    uint64_t token = nvt_cursor_varint(&columns->tokens);
    columns->ticks += nvt_cursor_varint(&columns->times);
    if (!columns->tokens.at || !columns->times.at)
        return -1;
    if (!columns->domain_run && next_run(process, columns, later->number))
        return -1;
    columns->domain_run--;
    event->kind = token & 7;
    uint64_t name = token >> 3;
    if (name >= later->strings && name)
        return -1;
    event->name = name < later->strings ? reader->strings.ids[name] : 0;
    event->ticks = columns->ticks;
    event->domain_number = (uint32_t)columns->domain;
    event->domain = columns->model_domain;
    return 0;
}

int nvt_file_keep_payload(struct nvt_file_reader *reader, uint32_t process, uint32_t row,
                          int is_mark, const uint8_t *bytes, uint64_t size)
{
    if (nvt_grow(&reader->payloads, reader->payload_count, sizeof(*reader->payloads)))
        return -1;
    reader->payloads[reader->payload_count++] =
        (struct nvt_pending_payload){row, process, is_mark, {reader->blobs.size, (size_t)size, 0}};
    return nvt_buffer_append(&reader->blobs, bytes, (size_t)size);
}

/* What the attributes of an event say, into the row's columns. */
struct target {
    uint32_t *category, *color, *payload;
    uint8_t *flags;
    uint32_t row;
    int is_mark;
};

static int read_attributes(struct nvt_file_reader *reader, uint32_t process,
                           struct nvt_event_columns *columns, const struct target *target)
{
    struct nvt_event_attributes attributes;
    if (nvt_event_attributes(columns, &attributes))
        return -1;
    if (attributes.flags & NVT_ATTRIBUTE_CATEGORY)
        *target->category = attributes.category;
    if (attributes.flags & NVT_ATTRIBUTE_COLOR) {
        *target->color = attributes.color;
        *target->flags |= NVT_RANGE_HAS_COLOR;
    }
    if (attributes.flags & NVT_ATTRIBUTE_PAYLOAD) {
        char text[64];
        nvt_payload_number(attributes.payload_type, attributes.payload, text, sizeof(text));
        *target->payload = nvt_strings_add_text(reader->texts, text);
        *target->flags |= NVT_RANGE_HAS_PAYLOAD;
    }
    if (attributes.bytes && process != NVT_NONE && !target->is_mark &&
        nvt_file_take_counts(reader, target->row, &attributes.bytes, &attributes.size))
        return -1;
    return attributes.size ? nvt_file_keep_payload(reader, process, target->row, target->is_mark,
                                                   attributes.bytes, attributes.size)
                           : 0;
}

/* The event is a sample of a counter, with its value as attributes. 0, or -1. */
static int read_sample(struct nvt_file_reader *reader, const struct nvt_file_thread *thread,
                       struct nvt_event_columns *columns, const struct event *event,
                       int has_attributes)
{
    struct nvt_event_attributes attributes = {0};
    struct nvt_file_counter_key key = {thread->process, event->domain, 0};
    struct nvt_file_sample sample = {.ticks = event->ticks,
                                     .thread = thread->row,
                                     .type = NVT_SAMPLE_NO_VALUE,
                                     .value = UINT64_MAX /* no reason that NVTX has */};
    struct nvt_event_sample head;
    if (nvt_event_sample(columns, &head) ||
        (has_attributes && nvt_event_attributes(columns, &attributes)))
        return -1;
    if (head.counter >= NVT_SAMPLE_COUNTERS) {
        const struct nvt_file_said said = {.sample = &head,
                                           .attributes = &attributes,
                                           .ticks = event->ticks,
                                           .process = thread->process,
                                           .thread = thread->row,
                                           .domain = event->domain,
                                           .name = event->name};
        return nvt_file_take_said(reader, &said);
    }
    key.id = head.counter;
    sample.clock = head.clock;
    sample.time = head.time;
    if (attributes.flags & NVT_ATTRIBUTE_PAYLOAD) {
        sample.type = (uint8_t)attributes.payload_type;
        sample.value = attributes.payload;
    }
    return nvt_file_keep_sample(reader, &key, &sample, attributes.bytes, (size_t)attributes.size);
}

static struct target range_target(struct nvt_trace *trace, uint32_t row)
{
    struct nvt_ranges *ranges = &trace->ranges;
    return (struct target){&ranges->category[row],
                           &ranges->color[row],
                           &ranges->payload[row],
                           &ranges->flags[row],
                           row,
                           0};
}

/* Of those that are pushed, what is left on the stack at the end is marked as unclosed: they may be
 * closed by take_plain, which looks at no flags. */
static uint32_t open_range(struct nvt_trace *trace, const struct event *event, uint32_t thread,
                           enum nvt_range_style style)
{
    struct nvt_range row = {.start = (int64_t)event->ticks,
                            .end = (int64_t)event->ticks,
                            .thread = thread,
                            .end_thread = thread,
                            .domain = event->domain,
                            .name = event->name,
                            .style = (uint8_t)style,
                            .flags = style == NVT_START_END ? NVT_RANGE_UNCLOSED : 0};
    return nvt_range_add(trace, &row);
}

static int push(struct nvt_file_thread *thread, uint32_t row, uint32_t domain)
{
    if (nvt_reserve(&thread->open, &thread->capacity, thread->depth + (size_t)1,
                    sizeof(*thread->open)))
        return -1;
    thread->open[thread->depth++] = (struct nvt_open_range){row, domain};
    return 0;
}

/* The innermost open range of this domain; domains nest independently of each other. */
static uint32_t pop(struct nvt_file_thread *thread, uint32_t domain)
{
    for (uint32_t i = thread->depth; i-- > 0;) {
        if (thread->open[i].domain != domain)
            continue;
        uint32_t row = thread->open[i].row;
        memmove(&thread->open[i], &thread->open[i + 1],
                (thread->depth - i - 1) * sizeof(*thread->open));
        thread->depth--;
        return row;
    }
    return NVT_NONE;
}

static void close_range(struct nvt_trace *trace, uint32_t row, uint64_t ticks, uint32_t thread)
{
    trace->ranges.end[row] = (int64_t)ticks;
    trace->ranges.end_thread[row] = thread;
    trace->ranges.flags[row] &= (uint8_t)~NVT_RANGE_UNCLOSED;
}

/* Which of several ends of a range counts is the first in time, wherever it stands in the file. */
static void end_range(struct nvt_trace *trace, uint32_t row, uint64_t ticks, uint32_t thread)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    if (ranges->flags[row] & NVT_RANGE_UNCLOSED || (int64_t)ticks < ranges->end[row])
        close_range(trace, row, ticks, thread);
}

/* An end whose start has not been read yet: chunks of two threads stand in the file as they were written,
 * so that one thread's start may follow another one's end. */
static int keep_end(struct nvt_file_process *process, uint64_t range, uint64_t ticks,
                    uint32_t thread)
{
    uint32_t *place = nvt_map_at(&process->early, range);
    if (!place)
        return -1;
    if (*place != NVT_MAP_NONE) {
        if (ticks < process->ends[*place].ticks)
            process->ends[*place] = (struct nvt_early_end){ticks, thread};
        return 0;
    }
    if (nvt_grow(&process->ends, process->end_count, sizeof(*process->ends)))
        return -1;
    process->ends[process->end_count] = (struct nvt_early_end){ticks, thread};
    *place = process->end_count++;
    return 0;
}

/* Events that were carried over a cut may stand behind later ones. */
static void note_last(struct nvt_file_thread *thread, uint64_t ticks)
{
    if (ticks > thread->last)
        thread->last = ticks;
}

/* A start or an end of a range that any thread may end. */
static int start_or_end(struct nvt_file_reader *reader, const struct nvt_file_thread *thread,
                        uint64_t range, const struct event *event, uint32_t *row)
{
    struct nvt_trace *trace = reader->trace;
    struct nvt_file_process *process = &reader->processes[thread->process];
    if (event->kind == NVT_TOKEN_END) {
        *row = nvt_map_get(&process->ranges, range);
        if (*row == NVT_NONE)
            return keep_end(process, range, event->ticks, thread->row);
        end_range(trace, *row, event->ticks, thread->row);
        return 0;
    }
    uint32_t *known = nvt_map_at(&process->ranges, range);
    *row = open_range(trace, event, thread->row, NVT_START_END);
    if (!known || *row == NVT_NONE)
        return -1;
    *known = *row;
    uint32_t early = nvt_map_get(&process->early, range);
    if (early != NVT_MAP_NONE)
        end_range(trace, *row, process->ends[early].ticks, process->ends[early].thread);
    return 0;
}

static uint32_t add_mark(struct nvt_trace *trace, const struct event *event, uint32_t thread)
{
    struct nvt_mark row = {.time = (int64_t)event->ticks,
                           .thread = thread,
                           .domain = event->domain,
                           .name = event->name};
    return nvt_mark_add(trace, &row);
}

/* Apply one event. *row gets the range or mark it concerns, NVT_NONE when there is none (a pop
 * without a push). 0, or -1 when out of memory or the chunk is malformed. */
static int apply(struct nvt_file_reader *reader, struct nvt_file_thread *thread,
                 struct nvt_event_columns *columns, const struct event *event, uint32_t *row)
{
    struct nvt_trace *trace = reader->trace;
    uint64_t range;
    *row = NVT_NONE;
    switch (event->kind) {
    case NVT_TOKEN_PUSH:
        *row = open_range(trace, event, thread->row, NVT_PUSH_POP);
        return *row == NVT_NONE || push(thread, *row, event->domain_number) ? -1 : 0;
    case NVT_TOKEN_POP:
        *row = pop(thread, event->domain_number);
        if (*row != NVT_NONE)
            close_range(trace, *row, event->ticks, thread->row);
        return 0;
    case NVT_TOKEN_MARK:
        *row = add_mark(trace, event, thread->row);
        return *row == NVT_NONE ? -1 : 0;
    case NVT_TOKEN_START:
    case NVT_TOKEN_END:
        return nvt_event_range(columns, &range) ? -1
                                                : start_or_end(reader, thread, range, event, row);
    default:
        return -1;
    }
}

/*
 * Pushes and pops of the default domain without attributes, which most events are: from event
 * `from` to the first that is something else, at most to `end`. Returns where it stopped; the
 * columns stand there. Such ranges are not marked as unclosed: those left on the stack are.
 */
static uint32_t take_plain(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                           struct nvt_file_thread *thread, struct nvt_event_columns *columns,
                           uint32_t from, uint32_t end)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    struct nvt_cursor tokens = columns->tokens, times = columns->times;
    uint64_t ticks = columns->ticks, token, step;
    /* An event takes a byte at least. */
    uint64_t room = (uint64_t)(tokens.end - tokens.at);
    if (nvt_range_reserve(reader->trace, ranges->count + (room < end - from ? room : end - from)))
        return from;
    for (; from < end; from++) {
        const uint8_t *next = nvt_varint_get(tokens.at, tokens.end, &token);
        const uint8_t *time = nvt_varint_get(times.at, times.end, &step);
        if (!next || !time || (token & 7) > NVT_TOKEN_POP || token >> 3 >= later->strings)
            break;
        uint32_t row = ranges->count;
        if ((token & 7) == NVT_TOKEN_PUSH) {
            if (push(thread, row, 0))
                break;
            ranges->start[row] = (int64_t)(ticks + step);
            ranges->thread[row] = thread->row;
            ranges->name[row] = reader->strings.ids[token >> 3];
            ranges->count++;
        } else if (thread->depth && !thread->open[thread->depth - 1].domain) {
            row = thread->open[--thread->depth].row;
        } else {
            row = pop(thread, 0);
        }
        if (row != NVT_NONE) {
            ranges->end[row] = (int64_t)(ticks + step);
            ranges->end_thread[row] = thread->row;
        }
        ticks += step;
        tokens.at = next;
        times.at = time;
    }
    columns->tokens = tokens;
    columns->times = times;
    columns->ticks = ticks;
    note_last(thread, ticks);
    return from;
}

/* --- into lanes --- */

/* The kind of a range that an event begins: the default domain's are their names. NVT_NONE when out of memory. */
static uint32_t lane_kind(struct nvt_file_lanes *lanes, const struct event *event)
{
    const struct nvt_lane_kind kind = {event->domain, event->name, NVT_PUSH_POP};
    if (!event->domain)
        return event->name;
    uint32_t *known = nvt_map_at(&lanes->kinds, (uint64_t)event->domain << 32 | event->name);
    if (known && *known == NVT_MAP_NONE)
        *known = nvt_lanes_add_kind(lanes->lanes, &kind);
    return known ? *known : NVT_NONE;
}

static inline void put_range(struct nvt_file_lane *lane, int64_t time, uint32_t kind)
{
    struct nvt_lane_ranges *ranges = &lane->ranges;
    if (ranges->count && time <= ranges->items[ranges->count - 1].start)
        lane->unsure = 1;
    ranges->items[ranges->count++] = (struct nvt_lane_range){time, time, kind, 0};
}

/* What take_plain does. */
static uint32_t take_plain_lane(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                                struct nvt_file_thread *thread, struct nvt_event_columns *columns,
                                uint32_t from, uint32_t end)
{
    struct nvt_file_lane *lane = &reader->lanes->threads[later->header.thread];
    struct nvt_cursor tokens = columns->tokens, times = columns->times;
    struct nvt_clock_line line = lane->line;
    uint64_t ticks = columns->ticks, token, step;
    uint64_t room = (uint64_t)(tokens.end - tokens.at);
    int has_pext = nvt_has_pext();
    if (nvt_lane_ranges_reserve(&lane->ranges, room < end - from ? room : end - from))
        return from;
    for (; from < end; from++) {
        const uint8_t *next = nvt_varint_take(tokens.at, tokens.end, &token, has_pext);
        const uint8_t *time = nvt_varint_take(times.at, times.end, &step, has_pext);
        if (!next || !time || (token & 7) > NVT_TOKEN_POP || token >> 3 >= later->strings)
            break;
        int64_t now = nvt_clock_convert_near(reader->samples, reader->sample_count,
                                             reader->lanes->origin, &line, ticks + step);
        uint32_t row = lane->ranges.count;
        if ((token & 7) == NVT_TOKEN_PUSH) {
            if (push(thread, row, 0))
                break;
            put_range(lane, now, reader->strings.ids[token >> 3]);
        } else {
            row = thread->depth && !thread->open[thread->depth - 1].domain
                      ? thread->open[--thread->depth].row
                      : pop(thread, 0);
            if (row != NVT_NONE)
                lane->ranges.items[row].end = now;
        }
        ticks += step;
        tokens.at = next;
        times.at = time;
    }
    lane->line = line;
    columns->tokens = tokens;
    columns->times = times;
    columns->ticks = thread->last = ticks;
    return from;
}

/* What apply does: marks are of no interest, and ranges that any thread may end are too much. */
static int apply_lane(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                      struct nvt_file_thread *thread, const struct event *event)
{
    struct nvt_file_lane *lane = &reader->lanes->threads[later->header.thread];
    int64_t now = nvt_clock_convert_near(reader->samples, reader->sample_count,
                                         reader->lanes->origin, &lane->line, event->ticks);
    uint32_t row;
    switch (event->kind) {
    case NVT_TOKEN_PUSH:
        row = lane_kind(reader->lanes, event);
        if (row == NVT_NONE || nvt_lane_ranges_reserve(&lane->ranges, 1) ||
            push(thread, lane->ranges.count, event->domain_number))
            return -1;
        put_range(lane, now, row);
        return 0;
    case NVT_TOKEN_POP:
        row = pop(thread, event->domain_number);
        if (row != NVT_NONE)
            lane->ranges.items[row].end = now;
        return 0;
    case NVT_TOKEN_MARK:
        return 0;
    default:
        reader->lanes->complex_events = 1;
        return 0;
    }
}

/* Attributes and samples of all events up to `count`, where nobody wants to know what they say; but a
 * chunk in which they are broken is malformed: -1, else 0. */
static int check_rest(struct nvt_file_lanes *lanes, struct nvt_event_columns *columns,
                      uint32_t count)
{
    struct nvt_event_attributes attributes;
    struct nvt_event_sample sample;
    for (uint64_t after = 0; columns->next_attribute < count && columns->next_attribute >= after;) {
        after = columns->next_attribute + 1;
        if (nvt_event_attributes(columns, &attributes))
            return -1;
    }
    for (uint64_t after = 0; columns->next_sample < count && columns->next_sample >= after;) {
        after = columns->next_sample + 1;
        if (nvt_event_sample(columns, &sample))
            return -1;
        /* A range that is past is in no order. */
        lanes->complex_events |= sample.counter == NVT_SAMPLE_OF_RANGE;
    }
    return 0;
}

/* The task of the next event, number `number` of the chunk, has its turn. What was carried over a cut is in no order. */
static int begin_turn(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                      const struct nvt_event_columns *columns, uint32_t number,
                      const struct nvt_file_thread *task)
{
    const uint32_t thread = later->header.thread;
    struct nvt_cursor times = columns->times;
    if (later->header.flags & NVT_CHUNK_CARRIED || !nvt_file_has_tasks(reader, thread))
        return 0;
    if (!times.at)
        return -1;
    const uint64_t from = columns->ticks + nvt_cursor_varint(&times);
    if (number)
        nvt_file_end_turn(reader, thread, columns->ticks);
    return nvt_file_begin_turn(reader, thread, task->row, from);
}

/* From event number `number` on the thread runs another task: *thread gets where its events go. 0, or -1. */
static int change_task(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                       struct nvt_event_columns *columns, uint32_t number,
                       struct nvt_file_thread **thread)
{
    while (columns->next_task <= number)
        if (nvt_event_task(columns))
            return -1;
    if (nvt_file_has_tasks(reader, later->header.thread))
        *thread = nvt_file_task(reader, later->header.thread, (uint32_t)columns->task);
    if (*thread && !(later->header.flags & NVT_CHUNK_CARRIED) && !(*thread)->has_first) {
        (*thread)->has_first = 1;
        (*thread)->first = columns->ticks;
    }
    return *thread ? begin_turn(reader, later, columns, number, *thread) : -1;
}

static int lane_events(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                       struct nvt_file_thread *thread, struct nvt_event_columns *columns)
{
    struct nvt_file_process *process = &reader->processes[thread->process];
    uint32_t count = later->header.count;
    struct event event;
    if (columns->tasks.at && nvt_file_has_tasks(reader, later->header.thread))
        reader->lanes->complex_events = 1;
    for (uint32_t i = 0; i < count && !reader->lanes->complex_events; i++) {
        if (is_plain(columns)) {
            i = take_plain_lane(reader, later, thread, columns, i, count);
            if (i == count)
                break;
        }
        if (next_event(reader, later, process, columns, &event) ||
            apply_lane(reader, later, thread, &event))
            return -1;
        thread->last = event.ticks;
    }
    return check_rest(reader->lanes, columns, count);
}

/* The first event at or behind `from` that may not be plain, as far as other columns say. */
static uint32_t plain_end(const struct nvt_event_columns *columns, uint32_t count)
{
    uint64_t end = columns->next_attribute < count ? columns->next_attribute : count;
    return (uint32_t)(columns->next_task < end ? columns->next_task : end);
}

/* Every event of the chunk into the model. 0, or -1 when it is malformed or there is no memory. */
static int model_events(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                        struct nvt_file_thread *thread, struct nvt_event_columns *columns)
{
    const struct nvt_chunk *chunk = &later->header;
    struct nvt_file_process *process = &reader->processes[thread->process];
    struct event event;
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint32_t row, category = 0, color = 0, text = 0;
        uint8_t flags = 0;
        if (columns->next_task <= i && change_task(reader, later, columns, i, &thread))
            return -1;
        if (is_plain(columns)) {
            i = take_plain(reader, later, thread, columns, i, plain_end(columns, chunk->count));
            if (i == chunk->count)
                break;
            if (columns->next_task <= i && change_task(reader, later, columns, i, &thread))
                return -1;
        }
        if (next_event(reader, later, process, columns, &event))
            return -1;
        note_last(thread, event.ticks);
        if (columns->next_sample == i && event.kind == NVT_TOKEN_MARK) {
            if (read_sample(reader, thread, columns, &event, columns->next_attribute == i))
                return -1;
            continue;
        }
        if (apply(reader, thread, columns, &event, &row))
            return -1;
        if (columns->next_attribute != i)
            continue;
        struct target target = {&category, &color, &text, &flags, 0, 0};
        struct nvt_marks *marks = &reader->trace->marks;
        if (row != NVT_NONE && event.kind == NVT_TOKEN_MARK)
            target = (struct target){&marks->category[row],
                                     &marks->color[row],
                                     &marks->payload[row],
                                     &marks->flags[row],
                                     row,
                                     1};
        else if (row != NVT_NONE)
            target = range_target(reader->trace, row);
        if (read_attributes(reader, row == NVT_NONE ? NVT_NONE : thread->process, columns, &target))
            return -1;
    }
    return 0;
}

int nvt_file_events(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                    const uint8_t *payload, struct nvt_error *err)
{
    const struct nvt_chunk *chunk = &later->header;
    struct nvt_ranges *ranges = &reader->trace->ranges;
    struct nvt_event_columns columns;
    uint32_t before = ranges->count;
    if (chunk->thread >= reader->thread_count || nvt_event_columns_open(&columns, chunk, payload))
        return nvt_fail(err, "an events chunk is malformed");
    struct nvt_file_thread *thread = &reader->threads[chunk->thread];
    if (columns.next_task && begin_turn(reader, later, &columns, 0, thread))
        return nvt_fail(err, "an events chunk is malformed");
    if (reader->lanes ? lane_events(reader, later, thread, &columns)
                      : model_events(reader, later, thread, &columns))
        return nvt_fail(err, "an events chunk is malformed");
    note_last(thread, columns.ticks);
    if (chunk->flags & NVT_CHUNK_CARRIED) {
        for (uint32_t i = before; i < ranges->count; i++)
            ranges->flags[i] |= NVT_RANGE_CARRIED;
        return 0;
    }
    nvt_file_end_turn(reader, chunk->thread, columns.ticks);
    if (!thread->has_first) {
        thread->has_first = 1;
        thread->first = chunk->first;
    }
    return 0;
}
