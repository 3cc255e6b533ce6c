#include "pipeline.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"
#include "../input/clocks.h"
#include "../model/payload.h"
#include "phases.h"
#include "pipeline_device.h"

#define PARTITIONS_MOST 1024

/* --- reading names and payloads --- */

/* "forward p2", "wait p0.1" … : 0 when the name is none of those. */
static int parse_name(const char *name, struct nvt_pipeline_span *span)
{
    static const char *const kinds[] = {"forward p", "backward p", "recompute p", "wait p"};
    for (int kind = 0; kind < 4; kind++) {
        size_t length = strlen(kinds[kind]);
        char *end;
        if (strncmp(name, kinds[kind], length) || name[length] < '0' || name[length] > '9')
            continue;
        long partition = strtol(name + length, &end, 10), chunk = 0;
        if (*end == '.')
            chunk = strtol(end + 1, &end, 10);
        if (*end || partition >= PARTITIONS_MOST || chunk < 0 || chunk > PARTITIONS_MOST)
            return 0;
        span->kind = (enum nvt_pipeline_kind)kind;
        span->partition = (int)partition;
        span->chunk = (int)chunk;
        return 1;
    }
    return 0;
}

/* The number that a text starts with; -1 for one that no int holds. */
static int number_of(const char *text)
{
    long number = strtol(text, NULL, 10);
    return number < 0 || number > INT_MAX ? -1 : (int)number;
}

/* A forward or a backward. */
static int is_work(const struct nvt_pipeline_span *span)
{
    return span->kind == NVT_PIPE_FORWARD || span->kind == NVT_PIPE_BACKWARD;
}

/* --- one trace --- */

/* What is read of one trace before it is added to its view. */
struct reading {
    const struct nvt_trace *trace;
    struct nvt_pipeline_device device; /* empty: no operations */
    struct nvt_pipeline_view *view;
    int64_t offset; /* to the axis of the view */
    uint32_t main_thread;
};

static int add_step(struct reading *reading, uint32_t range)
{
    struct nvt_pipeline_view *view = reading->view;
    const struct nvt_ranges *ranges = &reading->trace->ranges;
    if (nvt_grow(&view->steps, view->step_count, sizeof(*view->steps)))
        return -1;
    view->steps[view->step_count++] = (struct nvt_pipeline_step){
        ranges->start[range] + reading->offset, ranges->end[range] + reading->offset, INT64_MAX};
    return 0;
}

/* The step that a time lies in; -1: in none, as in a warm-up. */
static int step_at(const struct nvt_pipeline_view *view, int64_t time)
{
    size_t low = 0;
    NVT_BISECT(low, view->step_count, view->steps[low].end < time);
    return low < view->step_count && view->steps[low].start <= time ? (int)low : -1;
}

static int read_steps(struct reading *reading)
{
    const struct nvt_trace *trace = reading->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const char *name = nvt_name(trace, ranges->name[i]);
        if (!nvt_is_workloads_domain(trace, ranges->domain[i]) || ranges->parent[i] == NVT_NONE)
            continue;
        if (!strcmp(name, "step") && add_step(reading, i))
            return -1;
        if (!strcmp(name, "step"))
            reading->main_thread = ranges->thread[i];
        if (!strcmp(name, "backward") && reading->view->step_count)
            reading->view->steps[reading->view->step_count - 1].backward_start =
                ranges->start[i] + reading->offset;
    }
    return 0;
}

/* What a range says of itself, by the host's time. 0: it is none of a step's. */
static int read_span(const struct reading *reading, uint32_t range, struct nvt_pipeline_span *span)
{
    const struct nvt_trace *trace = reading->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    *span = (struct nvt_pipeline_span){.start = ranges->start[range] + reading->offset,
                                       .end = ranges->end[range] + reading->offset,
                                       .host_end = ranges->end[range] + reading->offset,
                                       .device = -1,
                                       .trace = reading->view->traces};
    if (!nvt_is_workloads_domain(trace, ranges->domain[range]) ||
        !parse_name(nvt_name(trace, ranges->name[range]), span))
        return 0;
    span->step = step_at(reading->view, span->start);
    if (ranges->flags[range] & NVT_RANGE_HAS_PAYLOAD)
        span->microbatch = number_of(nvt_name(trace, ranges->payload[range]));
    return span->step >= 0;
}

static int put_span(struct nvt_pipeline_view *view, const struct nvt_pipeline_span *span)
{
    if (nvt_grow(&view->spans, view->span_count, sizeof(*view->spans)))
        return -1;
    view->spans[view->span_count++] = *span;
    if (span->partition >= view->partitions)
        view->partitions = span->partition + 1;
    return 0;
}

static int add_span(struct reading *reading, uint32_t range)
{
    struct nvt_pipeline_view *view = reading->view;
    const struct nvt_projected *work = reading->device.work;
    struct nvt_pipeline_span span;
    if (!read_span(reading, range, &span))
        return 0;
    if (work && span.kind != NVT_PIPE_WAIT && work[range].ops) {
        span.start = work[range].start + reading->offset;
        span.end = work[range].end + reading->offset;
        span.operations = work[range].busy;
        span.on_device = view->on_device = 1;
        span.device = (int)reading->device.where[range];
    }
    view->has_workers |= reading->trace->ranges.thread[range] != reading->main_thread;
    return put_span(view, &span);
}

static int add_message(struct reading *reading, const struct nvt_pipeline_message *message)
{
    struct nvt_pipeline_span span;
    /* What is recomputed is in a backward, too. */
    if (!read_span(reading, message->range, &span) || span.kind == NVT_PIPE_RECOMPUTE)
        return 0;
    span.kind = NVT_PIPE_MESSAGE;
    span.start = message->start + reading->offset;
    span.end = message->end + reading->offset;
    return put_span(reading->view, &span);
}

/* All that lies in the steps that have been read. */
static int read_spans(struct reading *reading)
{
    const struct nvt_trace *trace = reading->trace;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (add_span(reading, i))
            return -1;
    for (size_t i = 0; i < reading->device.message_count; i++)
        if (add_message(reading, &reading->device.messages[i]))
            return -1;
    return 0;
}

static int add_level(struct reading *reading, uint32_t mark)
{
    struct nvt_pipeline_view *view = reading->view;
    const struct nvt_marks *marks = &reading->trace->marks;
    const char *name = nvt_name(reading->trace, marks->name[mark]);
    const char *payload = nvt_name(reading->trace, marks->payload[mark]);
    if (strncmp(name, "memory p", 8) || name[8] < '0' || name[8] > '9')
        return 0;
    const int64_t time = marks->time[mark] + reading->offset;
    struct nvt_pipeline_level level = {
        .start = time,
        .time = time,
        .partition = number_of(name + 8),
        .allocated = nvt_member_number(payload, "\"allocated\""),
        .reserved = nvt_member_number(payload, "\"reserved\""),
        .peak_allocated = nvt_member_number(payload, "\"peak_allocated\""),
        .peak_reserved = nvt_member_number(payload, "\"peak_reserved\"")};
    double microbatch = nvt_member_number(payload, "\"microbatch\"");
    level.step = step_at(view, level.time);
    if (level.step < 0 || level.partition < 0 || level.partition >= PARTITIONS_MOST ||
        !(level.peak_allocated >= 0) || !(microbatch >= 0 && microbatch < 1e6))
        return 0;
    level.microbatch = (int)microbatch;
    level.is_backward = nvt_member_number(payload, "\"is_backward\"") > 0;
    if (nvt_grow(&view->levels, view->level_count, sizeof(*view->levels)))
        return -1;
    view->levels[view->level_count++] = level;
    return 0;
}

/* What a trace says of the rank that it is of, by its mark "clock offset" and its ranges. */
struct rank {
    int number, of;            /* 0 of 1 where there is no mark */
    int64_t to_rank0;          /* as in struct nvt_rank_clock */
    const char *configuration; /* "gpipe partitions=4 …", the trace's; NULL: it names none */
};

/* The range that a configuration is named by; NULL: there is none. */
static const char *named_configuration(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (nvt_range_is_configuration(trace, i))
            return nvt_name(trace, trace->ranges.name[i]);
    return NULL;
}

static struct rank rank_of(const struct nvt_trace *trace)
{
    const struct nvt_rank_clock clock = nvt_rank_clock_of(trace);
    return (struct rank){clock.rank, clock.ranks ? clock.ranks : 1, clock.to_rank0,
                         named_configuration(trace)};
}

/* A rank without the model's first part begins a step with a message: it enters it with its first work, and not when it
 * begins to wait, while others are still in the step before. Of steps without work nothing is kept. */
static void enter_steps(struct nvt_pipeline_view *view, size_t first_span)
{
    size_t worked = 0, kept = first_span;
    int has_first_part = 0;
    for (size_t i = first_span; i < view->span_count; i++) {
        const struct nvt_pipeline_span *span = &view->spans[i];
        if (is_work(span) && (size_t)span->step >= worked)
            worked = (size_t)span->step + 1;
        has_first_part |= is_work(span) && !span->partition && !span->chunk;
    }
    for (size_t i = first_span; i < view->span_count; i++)
        if ((size_t)view->spans[i].step < worked)
            view->spans[kept++] = view->spans[i];
    view->span_count = kept;
    view->step_count = worked;
    for (size_t i = 0; i < worked && !has_first_part; i++)
        view->steps[i].start = view->steps[i].end;
    for (size_t i = first_span; i < kept && !has_first_part; i++) {
        const struct nvt_pipeline_span *span = &view->spans[i];
        if (is_work(span) && span->start < view->steps[span->step].start)
            view->steps[span->step].start = span->start;
    }
}

/* A step of the pipeline is under way while it is in any rank. Ranks may know of different numbers of them: one has been
 * killed before the others. */
static void widen_steps(struct nvt_pipeline_view *view, struct nvt_pipeline_step *others,
                        size_t other_count)
{
    if (other_count > view->step_count) {
        struct nvt_pipeline_step *fewer = view->steps;
        const size_t count = view->step_count;
        view->steps = others;
        view->step_count = other_count;
        others = fewer;
        other_count = count;
    }
    for (size_t i = 0; i < other_count; i++) {
        struct nvt_pipeline_step *step = &view->steps[i];
        if (others[i].start < step->start)
            step->start = others[i].start;
        if (others[i].end > step->end)
            step->end = others[i].end;
        if (others[i].backward_start < step->backward_start)
            step->backward_start = others[i].backward_start;
    }
    free(others);
}

/* Add a trace to a view: the first of its ranks brings the steps, the others widen them. */
static int read_trace(struct nvt_pipeline_view *view, const struct nvt_trace *trace, int64_t offset,
                      struct nvt_error *err)
{
    struct reading reading = {trace, {0}, view, offset, NVT_NONE};
    struct nvt_pipeline_step *others = view->steps;
    const size_t other_count = view->step_count, first_span = view->span_count;
    int status = 0;
    /* Its own steps say which of its spans belong to which. */
    view->steps = NULL;
    view->step_count = 0;
    status = read_steps(&reading);
    if (!status && view->step_count && trace->ops.count)
        status = nvt_pipeline_device_make(&reading.device, trace, err);
    if (!status && view->step_count)
        status = read_spans(&reading);
    for (uint32_t i = 0; i < trace->marks.count && !status && view->step_count; i++)
        if (nvt_is_workloads_domain(trace, trace->marks.domain[i]))
            status = add_level(&reading, i);
    enter_steps(view, first_span);
    view->has_workers |= other_count > 0;
    widen_steps(view, others, other_count);
    view->traces++;
    nvt_pipeline_device_free(&reading.device);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

/* --- all --- */

static int by_start(const void *left, const void *right)
{
    const struct nvt_pipeline_span *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static int by_time(const void *left, const void *right)
{
    const struct nvt_pipeline_level *a = left, *b = right;
    return (a->time > b->time) - (a->time < b->time);
}

/* What a view was begun with, while others are looked for that belong to it. */
struct beginning {
    size_t first; /* trace of the input */
    struct rank rank;
    uint8_t *has_rank; /* [rank.of] */
};

static int by_host_end(const void *left, const void *right)
{
    const struct nvt_pipeline_span *a = left, *b = right;
    return (a->host_end > b->host_end) - (a->host_end < b->host_end);
}

/* Give levels the times of what they were taken behind: of their partition's last forward or backward, whose range had
 * ended when the mark was made. `last`: two of each partition. */
static void place_levels(struct nvt_pipeline_view *view, const struct nvt_pipeline_span **last)
{
    qsort(view->spans, view->span_count, sizeof(*view->spans), by_host_end);
    for (size_t i = 0, k = 0; i < view->level_count; i++) {
        struct nvt_pipeline_level *level = &view->levels[i];
        for (; k < view->span_count && view->spans[k].host_end <= level->time; k++)
            if (view->spans[k].kind <= NVT_PIPE_BACKWARD)
                last[2 * view->spans[k].partition + (view->spans[k].kind == NVT_PIPE_BACKWARD)] =
                    &view->spans[k];
        const struct nvt_pipeline_span *span =
            level->partition < view->partitions ? last[2 * level->partition + !!level->is_backward]
                                                : NULL;
        if (!span || span->step != level->step || span->microbatch != level->microbatch)
            continue;
        level->start = span->start;
        level->time = span->end;
    }
}

/* A step's backward begins when the first partition's does: on a device not when it is launched, on ranks not when the first
 * of them begins to wait for it. */
static void place_backwards(struct nvt_pipeline_view *view)
{
    for (size_t i = view->span_count; i-- > 0;) {
        const struct nvt_pipeline_span *span = &view->spans[i];
        struct nvt_pipeline_step *step = &view->steps[span->step];
        /* By start, the first one comes last. */
        if (span->kind == NVT_PIPE_BACKWARD && step->backward_start != INT64_MAX)
            step->backward_start = span->start;
    }
}

/* What a partition waited for on a device, where the host does not: it had nothing to do from the end of its last work
 * until that began which the wait is before. Spans are by their ends on the host; `until` and `waits`: one of each
 * partition, for itself. */
static void place_device_waits(struct nvt_pipeline_view *view, int64_t *until,
                               struct nvt_pipeline_span **waits)
{
    for (int i = 0; i < view->partitions; i++)
        until[i] = INT64_MIN;
    for (size_t i = 0; i < view->span_count; i++) {
        struct nvt_pipeline_span *span = &view->spans[i];
        struct nvt_pipeline_span **wait = &waits[span->partition];
        if (span->kind == NVT_PIPE_WAIT)
            *wait = span;
        if (!is_work(span))
            continue;
        int64_t *behind = &until[span->partition];
        if (*wait && span->on_device) {
            (*wait)->start = *behind < span->start ? *behind : span->start;
            (*wait)->end = span->start;
            (*wait)->on_device = 1;
        }
        *wait = NULL;
        *behind = span->end > *behind ? span->end : *behind;
    }
}

/* Who waits for a step that nobody is in yet is in none. */
static int place_waits(struct nvt_pipeline_view *view)
{
    const size_t partitions = (size_t)view->partitions;
    int64_t *until = malloc(partitions * sizeof(*until) + 1);
    struct nvt_pipeline_span **waits = calloc(partitions + 1, sizeof(struct nvt_pipeline_span *));
    const int is_done = until && waits;
    if (is_done && view->on_device) {
        qsort(view->spans, view->span_count, sizeof(*view->spans), by_host_end);
        place_device_waits(view, until, waits);
    }
    free(until);
    free((void *)waits);
    for (size_t i = 0; i < view->span_count; i++) {
        struct nvt_pipeline_span *span = &view->spans[i];
        const int64_t begun = view->steps[span->step].start;
        if (span->kind != NVT_PIPE_WAIT && span->kind != NVT_PIPE_MESSAGE)
            continue;
        span->start = span->start > begun ? span->start : begun;
        span->end = span->end > begun ? span->end : begun;
    }
    return is_done ? 0 : -1;
}

/* Sort what has been read of all of a view's traces. 0, or -1 with err. */
static int settle(struct nvt_pipeline_view *view, struct nvt_error *err)
{
    const struct nvt_pipeline_span **last = calloc(2 * (size_t)view->partitions + 1, sizeof(*last));
    if (!last)
        return nvt_fail(err, "out of memory");
    if (view->level_count) {
        qsort(view->levels, view->level_count, sizeof(*view->levels), by_time);
        if (view->span_count)
            place_levels(view, last);
        qsort(view->levels, view->level_count, sizeof(*view->levels), by_time);
    }
    free(last);
    if (view->span_count) {
        if (place_waits(view))
            return nvt_fail(err, "out of memory");
        qsort(view->spans, view->span_count, sizeof(*view->spans), by_start);
        place_backwards(view);
    }
    return 0;
}

static void release(struct nvt_pipeline_view *view)
{
    free(view->configuration);
    free(view->steps);
    free(view->spans);
    free(view->levels);
}

/* Whether a trace is a rank of the view: of the same record, or another rank of the same configuration. */
static int belongs(const struct nvt_input_trace *at, const struct nvt_input_trace *first,
                   const struct rank *rank, const struct beginning *beginning)
{
    const char *name = rank->configuration, *other = beginning->rank.configuration;
    if (at->runs || first->runs)
        return at->runs == first->runs && at->record == first->record;
    return name && other && !strcmp(name, other) && rank->of > 1 &&
           rank->of == beginning->rank.of && !beginning->has_rank[rank->number];
}

static int begin(struct nvt_pipeline_view *view, struct beginning *beginning,
                 const struct nvt_input_trace *at, const struct rank *rank)
{
    const struct nvt_record *record = nvt_record_of_trace(at);
    const char *axes = rank->configuration ? strchr(rank->configuration, ' ') : NULL;
    beginning->rank = *rank;
    beginning->has_rank = calloc((size_t)rank->of, 1);
    view->ranks = rank->of;
    view->predicted = record ? nvt_record_number(record, "bubble_predicted") : NAN;
    view->configuration = record ? nvt_record_configuration(record) : strdup(axes ? axes + 1 : "");
    if (!view->configuration || !beginning->has_rank)
        return -1;
    /* A run that was killed has no results. */
    if (isnan(view->predicted))
        view->predicted = nvt_pipeline_bubble(view->configuration);
    return 0;
}

static void note_rank(struct nvt_pipeline_view *view, uint8_t *has_rank, int rank)
{
    if (!has_rank || rank >= view->ranks || has_rank[rank])
        return;
    has_rank[rank] = 1;
    view->ranks_here++;
}

/* Add a trace to the view that it belongs to, or to a new one; that goes again where the trace has no pipeline. */
static int add_trace(struct nvt_pipeline_views *views, struct beginning *beginnings,
                     const struct nvt_input *input, size_t number, struct nvt_error *err)
{
    const struct nvt_input_trace *at = &input->traces[number];
    struct rank rank = rank_of(at->trace);
    size_t i = 0;
    while (i < views->count &&
           !belongs(at, &input->traces[beginnings[i].first], &rank, &beginnings[i]))
        i++;
    struct nvt_pipeline_view *view = &views->items[i];
    int is_new = i == views->count;
    if (is_new) {
        views->count++;
        beginnings[i].first = number;
        if (begin(view, &beginnings[i], at, &rank))
            return nvt_fail(err, "out of memory");
    }
    if (read_trace(view, at->trace, rank.to_rank0 - beginnings[i].rank.to_rank0, err))
        return -1;
    note_rank(view, beginnings[i].has_rank, rank.number);
    if (is_new && !view->span_count) {
        views->count--;
        release(view);
        free(beginnings[i].has_rank);
        memset(view, 0, sizeof(*view));
        memset(&beginnings[i], 0, sizeof(beginnings[i]));
    }
    return 0;
}

int nvt_pipeline_views_make(struct nvt_pipeline_views *views, const struct nvt_input *input,
                            struct nvt_error *err)
{
    *views = (struct nvt_pipeline_views){0};
    views->items = calloc(input->trace_count + 1, sizeof(*views->items));
    struct beginning *beginnings = calloc(input->trace_count + 1, sizeof(*beginnings));
    if (!views->items || !beginnings) {
        free(beginnings);
        return nvt_fail(err, "out of memory");
    }
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(views, beginnings, input, i, err);
    for (size_t i = 0; i < views->count; i++) {
        free(beginnings[i].has_rank);
        status = status ? status : settle(&views->items[i], err);
    }
    free(beginnings);
    return status;
}

void nvt_pipeline_views_free(struct nvt_pipeline_views *views)
{
    for (size_t i = 0; i < views->count; i++)
        release(&views->items[i]);
    free(views->items);
    *views = (struct nvt_pipeline_views){0};
}

int nvt_pipeline_is_in(const struct nvt_trace *trace)
{
    const char *name = named_configuration(trace);
    return name && !strncmp(name, "gpipe ", 6);
}
