#include "timeline_sheet.h"

#include <stdlib.h>
#include <string.h>

#include "../analyze/diagnosis/diagnose.h"

enum {
    SEEN_MOST = 256, /* threads and streams that are told apart */
    NAMES_MOST = 5   /* names of ranges that have a colour: a legend of more is not read */
};

/* --- what is shown --- */

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (a[0] > b[0]) - (a[0] < b[0]);
}

static int within(const struct nvt_timeline_sheet *sheet, int64_t start, int64_t end)
{
    return end > sheet->from && start < sheet->to;
}

/* One that never ended was open until its thread was seen last. */
static int64_t end_of(const struct nvt_timeline_sheet *sheet, uint32_t range)
{
    const struct nvt_trace *trace = sheet->trace;
    int64_t end = trace->ranges.end[range],
            ended = trace->threads.ended_ns[trace->ranges.thread[range]];
    return trace->ranges.flags[range] & NVT_RANGE_UNCLOSED && ended > end ? ended : end;
}

/* Whether a range is drawn where its thread is. */
static int is_shown(const struct nvt_timeline_sheet *sheet, uint32_t range)
{
    const struct nvt_ranges *ranges = &sheet->trace->ranges;
    return sheet->trace->domains.name[ranges->domain[range]] != sheet->functions &&
           within(sheet, ranges->start[range], end_of(sheet, range));
}

/* Leave Python's functions out where anything else is to be seen. */
static void choose_ranges(struct nvt_timeline_sheet *sheet)
{
    static const char domain[] = "python_function";
    uint32_t found = nvt_strings_find(sheet->trace->strings, domain, strlen(domain));
    int others = 0, functions = 0;
    sheet->functions = found;
    for (uint32_t i = 0; i < sheet->trace->ranges.count && !(others && functions); i++) {
        others |= is_shown(sheet, i);
        functions |= sheet->trace->domains.name[sheet->trace->ranges.domain[i]] == found;
    }
    sheet->functions = others && functions ? found : NVT_NONE;
}

/* The iteration whose length is the median, or the whole trace, and what is shown of it. -1: out of
 * memory. */
static int choose_window(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    uint32_t count, *rows = nvt_iterations(trace, &count);
    int64_t(*lengths)[2] = malloc(((size_t)count + 1) * sizeof(*lengths));
    sheet->from = trace->first_ns;
    sheet->to = trace->last_ns;
    for (uint32_t i = 0; i < trace->ranges.count && !trace->is_part; i++)
        if (trace->ranges.flags[i] & NVT_RANGE_UNCLOSED && end_of(sheet, i) > sheet->to)
            sheet->to = end_of(sheet, i);
    for (uint32_t i = 0; rows && lengths && i < count; i++) {
        lengths[i][0] = trace->ranges.end[rows[i]] - trace->ranges.start[rows[i]];
        lengths[i][1] = i;
    }
    if (rows && lengths && count) {
        qsort(lengths, count, sizeof(*lengths), by_length);
        int64_t chosen = lengths[count / 2][1];
        sheet->from = trace->ranges.start[rows[chosen]];
        sheet->to = trace->ranges.end[rows[chosen]];
        sheet->iteration = (uint32_t)chosen + 1;
        sheet->iterations = count;
    }
    choose_ranges(sheet);
    int failed = !rows || !lengths;
    free(rows);
    free(lengths);
    return failed ? -1 : 0;
}

static int by_time(const void *left, const void *right)
{
    const struct nvt_timeline_source *a = left, *b = right;
    if (a->is_stream != b->is_stream)
        return a->is_stream - b->is_stream;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

/* Streams of a device behind each other. */
static int by_device(const void *left, const void *right)
{
    const struct nvt_timeline_source *a = left, *b = right;
    if (a->is_stream != b->is_stream)
        return a->is_stream - b->is_stream;
    if (a->is_stream && a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->is_stream && a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static struct nvt_timeline_source *source_of(struct nvt_timeline_source *sources, size_t *count,
                                             const struct nvt_timeline_source *what)
{
    for (size_t i = *count; i-- > 0;) {
        struct nvt_timeline_source *at = &sources[i];
        if (at->is_stream == what->is_stream &&
            (what->is_stream ? at->process == what->process && at->device == what->device &&
                                   at->stream == what->stream
                             : at->thread == what->thread))
            return at;
    }
    if (*count == SEEN_MOST)
        return NULL;
    sources[*count] = *what;
    return &sources[(*count)++];
}

static struct nvt_timeline_source stream_of(const struct nvt_trace *trace, uint32_t op)
{
    return (struct nvt_timeline_source){.is_stream = 1,
                                        .process = trace->ops.process[op],
                                        .device = trace->ops.device[op],
                                        .stream = trace->ops.stream[op],
                                        .until = INT64_MIN};
}

/* How deep a range lies within others of its thread, of whatever domain: they come by their starts. */
static int depth_of(struct nvt_timeline_source *thread, int64_t start, int64_t end)
{
    while (thread->open_count && thread->open[thread->open_count - 1] <= start)
        thread->open_count--;
    int depth = thread->open_count;
    if (depth < NVT_TIMELINE_OPEN)
        thread->open[thread->open_count++] = end;
    return depth;
}

/* Time within the window in which a stream had an operation. */
static void add_busy(const struct nvt_timeline_sheet *sheet, struct nvt_timeline_source *stream,
                     uint32_t op)
{
    const struct nvt_ops *ops = &sheet->trace->ops;
    int64_t start = ops->start[op] > sheet->from ? ops->start[op] : sheet->from;
    int64_t end = ops->end[op] < sheet->to ? ops->end[op] : sheet->to;
    start = start > stream->until ? start : stream->until;
    stream->ns += end > start ? (double)(end - start) : 0;
    stream->until = end > stream->until ? end : stream->until;
}

/* Threads first, then streams, each the busiest first; streams of a device stay together. -1: out of memory. */
static int choose_sources(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    struct nvt_timeline_source *seen = malloc(SEEN_MOST * sizeof(*seen));
    size_t count = 0;
    for (uint32_t i = 0; seen && i < trace->ranges.count; i++) {
        const struct nvt_timeline_source thread = {.thread = trace->ranges.thread[i]};
        if (!is_shown(sheet, i))
            continue;
        struct nvt_timeline_source *at = source_of(seen, &count, &thread);
        int depth = at ? depth_of(at, trace->ranges.start[i], end_of(sheet, i)) : 0;
        if (at && at->depth <= depth)
            at->depth = depth < NVT_TIMELINE_DEPTH ? depth + 1 : NVT_TIMELINE_DEPTH;
        if (at && !depth)
            at->ns += (double)(end_of(sheet, i) - trace->ranges.start[i]);
    }
    for (uint32_t i = 0; seen && i < trace->ops.count; i++) {
        const struct nvt_timeline_source stream = stream_of(trace, i);
        if (!within(sheet, trace->ops.start[i], trace->ops.end[i]))
            continue;
        struct nvt_timeline_source *at = source_of(seen, &count, &stream);
        if (at) {
            add_busy(sheet, at, i);
            at->depth = 1;
        }
    }
    if (count)
        qsort(seen, count, sizeof(*seen), by_time);
    int taken[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int is_stream = seen[i].is_stream;
        if (taken[is_stream]++ >= (is_stream ? NVT_TIMELINE_STREAMS : NVT_TIMELINE_THREADS)) {
            sheet->undrawn[is_stream]++;
            continue;
        }
        seen[i].open_count = 0;
        sheet->sources[sheet->source_count++] = seen[i];
    }
    qsort(sheet->sources, (size_t)sheet->source_count, sizeof(*sheet->sources), by_device);
    free(seen);
    return seen ? 0 : -1;
}

int nvt_timeline_source_at(const struct nvt_timeline_sheet *sheet,
                           const struct nvt_timeline_source *what)
{
    for (int i = 0; i < sheet->source_count; i++) {
        const struct nvt_timeline_source *at = &sheet->sources[i];
        if (at->is_stream == what->is_stream &&
            (what->is_stream ? at->process == what->process && at->device == what->device &&
                                   at->stream == what->stream
                             : at->thread == what->thread))
            return i;
    }
    return -1;
}

static void put_lane(struct nvt_timeline_sheet *sheet, double apart, double height)
{
    sheet->bottom += apart;
    sheet->lanes[sheet->lane_count++] = (struct nvt_timeline_lane){sheet->bottom, height};
    sheet->bottom += height;
}

/* The source that an OS call is drawn with; -1: it is not. */
static int call_place(const struct nvt_timeline_sheet *sheet, uint32_t call)
{
    const struct nvt_os_calls *calls = &sheet->trace->os_calls;
    const struct nvt_timeline_source thread = {.thread = calls->thread[call]};
    return within(sheet, calls->start[call], calls->end[call])
               ? nvt_timeline_source_at(sheet, &thread)
               : -1;
}

/* Which threads are in OS calls, and all lanes, from above. */
static void place_lanes(struct nvt_timeline_sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->trace->os_calls.count; i++) {
        const int place = call_place(sheet, i);
        if (place >= 0)
            sheet->sources[place].waits = 1;
    }
    sheet->spans = -1;
    sheet->is_alone = nvt_timeline_is_alone(sheet);
    for (int i = 0; i < sheet->source_count; i++) {
        struct nvt_timeline_source *source = &sheet->sources[i];
        const int is_first_stream = source->is_stream && (!i || !source[-1].is_stream);
        const double apart = i && !source->is_stream ? 0.3 : is_first_stream && i ? 0.4 : 0.1;
        if (is_first_stream && nvt_timeline_has_spans(sheet)) {
            sheet->spans = sheet->lane_count;
            put_lane(sheet, apart, 1);
        }
        source->lane = sheet->lane_count;
        for (int k = 0; k < source->depth; k++)
            put_lane(sheet, k || (is_first_stream && sheet->spans >= 0) ? 0.06 : apart,
                     source->is_stream ? 1.6 : 1);
        /* It lies close below the ranges, and is low. */
        if (source->waits)
            put_lane(sheet, 0.04, 0.4);
    }
}

void nvt_timeline_add(struct nvt_timeline_sheet *sheet, const struct nvt_timeline_box *what)
{
    const int64_t column = (sheet->to - sheet->from) / sheet->columns + 1;
    const int64_t start = what->start > sheet->from ? what->start : sheet->from;
    const int64_t end = what->end < sheet->to ? what->end : sheet->to;
    struct nvt_timeline_box *last = sheet->last[what->lane];
    if (last && last->kind == what->kind && start < last->start + column &&
        end < last->start + column) {
        if (end - start > last->longest) {
            last->longest = end - start;
            last->row = what->row;
        }
        last->count++;
        last->filled += end - start;
        last->end = end > last->end ? end : last->end;
        sheet->are_merged = 1;
    } else if (sheet->count < NVT_TIMELINE_BOXES) {
        sheet->last[what->lane] = last = &sheet->boxes[sheet->count++];
        *last = *what;
        last->count = 1;
        last->start = start;
        last->end = end;
        last->longest = last->filled = end - start;
    }
}

static double shown_time(const struct nvt_timeline_sheet *sheet, int64_t start, int64_t end)
{
    start = start > sheet->from ? start : sheet->from;
    end = end < sheet->to ? end : sheet->to;
    return (double)(end - start);
}

static void take_ranges(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const struct nvt_timeline_source thread = {.thread = trace->ranges.thread[i]};
        int64_t start = trace->ranges.start[i], end = end_of(sheet, i);
        int place = is_shown(sheet, i) ? nvt_timeline_source_at(sheet, &thread) : -1;
        int depth = place < 0 ? -1 : depth_of(&sheet->sources[place], start, end);
        sheet->deeper += depth >= NVT_TIMELINE_DEPTH;
        if (depth < 0 || depth >= NVT_TIMELINE_DEPTH)
            continue;
        sheet->shares[trace->ranges.name[i]] += shown_time(sheet, start, end);
        nvt_timeline_add(sheet,
                         &(struct nvt_timeline_box){.start = start,
                                                    .end = end,
                                                    .row = i,
                                                    .lane = sheet->sources[place].lane + depth,
                                                    .kind = NVT_TIMELINE_RANGE});
        sheet->may_cross |= trace->ranges.style[i] != NVT_PUSH_POP;
        sheet->are_open |= end > trace->ranges.end[i];
    }
}

static void take_calls(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_os_calls *calls = &sheet->trace->os_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        const int place = call_place(sheet, i);
        if (place >= 0)
            nvt_timeline_add(sheet, &(struct nvt_timeline_box){.start = calls->start[i],
                                                               .end = calls->end[i],
                                                               .row = i,
                                                               .lane = sheet->sources[place].lane +
                                                                       sheet->sources[place].depth,
                                                               .kind = NVT_TIMELINE_CALL});
    }
}

static void take_ops(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        const struct nvt_timeline_source stream = stream_of(trace, i);
        int64_t start = trace->ops.start[i], end = trace->ops.end[i];
        int place = within(sheet, start, end) ? nvt_timeline_source_at(sheet, &stream) : -1;
        if (place < 0)
            continue;
        if (nvt_kernel_class_of(trace, i) == NVT_CLASS_OTHER)
            sheet->kernel_shares[nvt_op_name(trace, i)] += shown_time(sheet, start, end);
        nvt_timeline_add(sheet, &(struct nvt_timeline_box){.start = start,
                                                           .end = end,
                                                           .row = i,
                                                           .lane = sheet->sources[place].lane,
                                                           .kind = NVT_TIMELINE_OP});
    }
}

static int take_boxes(struct nvt_timeline_sheet *sheet, struct nvt_error *err)
{
    const size_t ids = (size_t)nvt_strings_count(sheet->trace->strings) + 1;
    sheet->boxes = calloc(NVT_TIMELINE_BOXES, sizeof(*sheet->boxes));
    sheet->shares = calloc(ids, sizeof(*sheet->shares));
    sheet->kernel_shares = calloc(ids, sizeof(*sheet->kernel_shares));
    if (!sheet->boxes || !sheet->shares || !sheet->kernel_shares)
        return nvt_fail(err, "out of memory");
    take_ranges(sheet);
    take_calls(sheet);
    take_ops(sheet);
    return nvt_timeline_add_spans(sheet, err) || nvt_timeline_add_gaps(sheet, err) ? -1 : 0;
}

/* --- names --- */

/* The names with most time, of `most` at most: each is taken from the shares. Returns how many. */
static size_t pick_names(double *shares, uint32_t ids, uint32_t *names, size_t most)
{
    size_t count = 0;
    for (uint32_t best = 0; count < most; count++) {
        for (uint32_t id = 0; id < ids; id++)
            best = shares[id] > shares[best] ? id : best;
        if (!(shares[best] > 0))
            break;
        names[count] = best;
        shares[best] = 0;
    }
    return count;
}

static void choose_looks(struct nvt_timeline_sheet *sheet)
{
    static const char *const kernel_colors[NVT_TIMELINE_KERNELS_MOST] = {"#44AA99", "#999933",
                                                                         "#AA4499"};
    const uint32_t ids = nvt_strings_count(sheet->trace->strings);
    const char *names[NVT_NAMES_MOST];
    sheet->name_count = pick_names(sheet->shares, ids, sheet->names, NAMES_MOST);
    sheet->kernel_count =
        pick_names(sheet->kernel_shares, ids, sheet->kernels, NVT_TIMELINE_KERNELS_MOST);
    for (size_t i = 0; i < sheet->name_count; i++)
        names[i] = nvt_name(sheet->trace, sheet->names[i]);
    nvt_name_tints(names, sheet->name_count, sheet->colors);
    sheet->colors[NVT_TIMELINE_OTHER_RANGES] = NVT_OTHERS_COLOR;
    for (int i = 0; i < NVT_KERNEL_CLASSES; i++)
        sheet->colors[NVT_TIMELINE_CLASSES + i] = nvt_class_color((enum nvt_kernel_class)i);
    for (int i = 0; i < NVT_TIMELINE_KERNELS_MOST; i++)
        sheet->colors[NVT_TIMELINE_KERNELS + i] = kernel_colors[i];
    sheet->colors[NVT_TIMELINE_CALLS] = NVT_CALLS_COLOR;
    sheet->colors[NVT_TIMELINE_GAPS] = NVT_IDLE_COLOR;
}

static size_t look_of_name(const uint32_t *names, size_t count, uint32_t name, size_t first,
                           size_t other)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] == name)
            return first + i;
    return other;
}

size_t nvt_timeline_look(const struct nvt_timeline_sheet *sheet, const struct nvt_timeline_box *box)
{
    const struct nvt_trace *trace = sheet->trace;
    if (box->kind == NVT_TIMELINE_CALL)
        return NVT_TIMELINE_CALLS;
    if (box->kind == NVT_TIMELINE_IDLE)
        return NVT_TIMELINE_GAPS;
    if (box->kind != NVT_TIMELINE_OP)
        return look_of_name(sheet->names, sheet->name_count, trace->ranges.name[box->row], 0,
                            NVT_TIMELINE_OTHER_RANGES);
    const enum nvt_kernel_class class = nvt_kernel_class_of(trace, box->row);
    return class == NVT_CLASS_OTHER
               ? look_of_name(sheet->kernels, sheet->kernel_count, nvt_op_name(trace, box->row),
                              NVT_TIMELINE_KERNELS, NVT_TIMELINE_CLASSES + NVT_CLASS_OTHER)
               : NVT_TIMELINE_CLASSES + (size_t) class;
}

int nvt_timeline_make(struct nvt_timeline_sheet *sheet, const struct nvt_trace *trace, int columns,
                      struct nvt_error *err)
{
    *sheet = (struct nvt_timeline_sheet){.trace = trace, .columns = columns};
    if (choose_window(sheet) || choose_sources(sheet))
        return nvt_fail(err, "out of memory");
    sheet->unit = nvt_time_unit_for((double)(sheet->to - sheet->from));
    place_lanes(sheet);
    if (take_boxes(sheet, err))
        return -1;
    choose_looks(sheet);
    return 0;
}

void nvt_timeline_free(struct nvt_timeline_sheet *sheet)
{
    free(sheet->boxes);
    free(sheet->shares);
    free(sheet->kernel_shares);
}
