#include "timeline_sheet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/diagnosis/diagnose.h"

enum { SEEN_MOST = 256 }; /* threads and streams that are told apart */

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
        snprintf(sheet->part, sizeof(sheet->part),
                 "Iteration %" PRId64 " of %" PRIu32 ", the one of median length.", chosen + 1,
                 count);
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
                                        .stream = trace->ops.stream[op]};
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

/* Threads first, then streams, each the busiest first. -1: out of memory. */
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
            at->ns += (double)(trace->ops.end[i] - trace->ops.start[i]);
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
    free(seen);
    return seen ? 0 : -1;
}

static int place_of(const struct nvt_timeline_sheet *sheet, const struct nvt_timeline_source *what)
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

/* Which threads are in calls of the operating system, and all lanes, from above. */
static void place_lanes(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_os_calls *calls = &sheet->trace->os_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        const struct nvt_timeline_source thread = {.thread = calls->thread[i]};
        int place = within(sheet, calls->start[i], calls->end[i]) ? place_of(sheet, &thread) : -1;
        if (place >= 0)
            sheet->sources[place].waits = 1;
    }
    for (int i = 0; i < sheet->source_count; i++) {
        struct nvt_timeline_source *source = &sheet->sources[i];
        source->lane = sheet->lanes;
        for (int k = 0; k < source->depth + source->waits; k++) {
            int is_of_waits = k == source->depth;
            /* It lies close below the ranges, and is low. */
            sheet->place[sheet->lanes] = is_of_waits ? sheet->bottom - 0.46 : sheet->bottom;
            sheet->height[sheet->lanes++] = is_of_waits ? 0.4 : 1;
            sheet->bottom += is_of_waits ? 0.54 : 1;
        }
    }
}

/* What begins in the column of a lane's last box makes that longer, and names it where it is the
 * longest there: thousands of them would be no more to be seen than one. Lanes' boxes come by their
 * starts. */
static void add_box(struct nvt_timeline_sheet *sheet, int lane, int64_t start, int64_t end,
                    uint32_t name)
{
    int64_t column = (sheet->to - sheet->from) / NVT_TIMELINE_COLUMNS + 1;
    struct nvt_timeline_box *last = sheet->last[lane];
    start = start > sheet->from ? start : sheet->from;
    end = end < sheet->to ? end : sheet->to;
    if (name != NVT_NONE)
        sheet->shares[name] += (double)(end - start);
    if (last && start < last->start + column && end < last->start + column) {
        if (end - start > last->longest) {
            last->longest = end - start;
            last->name = name;
        }
        last->filled += end - start;
        last->end = end > last->end ? end : last->end;
    } else if (sheet->count < NVT_TIMELINE_BOXES) {
        sheet->last[lane] = &sheet->boxes[sheet->count++];
        *sheet->last[lane] =
            (struct nvt_timeline_box){start, end, end - start, end - start, name, lane};
    }
}

static int take_boxes(struct nvt_timeline_sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    sheet->boxes = calloc(NVT_TIMELINE_BOXES, sizeof(*sheet->boxes));
    sheet->shares = calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(*sheet->shares));
    if (!sheet->boxes || !sheet->shares)
        return -1;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const struct nvt_timeline_source thread = {.thread = trace->ranges.thread[i]};
        int64_t start = trace->ranges.start[i], end = end_of(sheet, i);
        int place = is_shown(sheet, i) ? place_of(sheet, &thread) : -1;
        int depth = place < 0 ? -1 : depth_of(&sheet->sources[place], start, end);
        sheet->deeper += depth >= NVT_TIMELINE_DEPTH;
        if (depth < 0 || depth >= NVT_TIMELINE_DEPTH)
            continue;
        add_box(sheet, sheet->sources[place].lane + depth, start, end, trace->ranges.name[i]);
        sheet->may_cross |= trace->ranges.style[i] != NVT_PUSH_POP;
        sheet->are_open |= end > trace->ranges.end[i];
    }
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        const struct nvt_timeline_source thread = {.thread = trace->os_calls.thread[i]};
        int64_t start = trace->os_calls.start[i], end = trace->os_calls.end[i];
        int place = within(sheet, start, end) ? place_of(sheet, &thread) : -1;
        if (place >= 0)
            add_box(sheet, sheet->sources[place].lane + sheet->sources[place].depth, start, end,
                    NVT_NONE);
    }
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        const struct nvt_timeline_source stream = stream_of(trace, i);
        int64_t start = trace->ops.start[i], end = trace->ops.end[i];
        int place = within(sheet, start, end) ? place_of(sheet, &stream) : -1;
        if (place >= 0)
            add_box(sheet, sheet->sources[place].lane, start, end, nvt_op_name(trace, i));
    }
    return 0;
}

/* --- names --- */

struct share {
    uint32_t name;
    double ns;
};

static int by_share(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static int choose_names(struct nvt_timeline_sheet *sheet)
{
    uint32_t ids = nvt_strings_count(sheet->trace->strings);
    struct share *shares = malloc(((size_t)ids + 1) * sizeof(*shares));
    size_t count = 0;
    /* Of names that some box has: each once, as its time is taken away when it is seen. */
    for (size_t i = 0; shares && i < sheet->count; i++) {
        uint32_t id = sheet->boxes[i].name;
        if (id == NVT_NONE)
            continue;
        if (sheet->shares[id] > 0)
            shares[count++] = (struct share){id, sheet->shares[id]};
        sheet->shares[id] = 0;
    }
    if (count)
        qsort(shares, count, sizeof(*shares), by_share);
    for (size_t i = 0; i < count && i < NVT_NAMES_MOST; i++)
        sheet->names[sheet->name_count++] = shares[i].name;
    free(shares);
    const char *names[NVT_NAMES_MOST];
    for (size_t i = 0; i < sheet->name_count; i++)
        names[i] = nvt_name(sheet->trace, sheet->names[i]);
    nvt_name_colors(names, sheet->name_count, sheet->colors);
    return shares ? 0 : -1;
}

size_t nvt_timeline_color(const struct nvt_timeline_sheet *sheet,
                          const struct nvt_timeline_box *box)
{
    size_t i = 0;
    if (box->name == NVT_NONE)
        return NVT_TIMELINE_WAITS;
    while (i < sheet->name_count && sheet->names[i] != box->name)
        i++;
    return i < sheet->name_count ? i : NVT_TIMELINE_OTHERS;
}

int nvt_timeline_make(struct nvt_timeline_sheet *sheet, const struct nvt_trace *trace)
{
    *sheet = (struct nvt_timeline_sheet){.trace = trace};
    if (choose_window(sheet) || choose_sources(sheet))
        return -1;
    place_lanes(sheet);
    return take_boxes(sheet) || choose_names(sheet) ? -1 : 0;
}

void nvt_timeline_free(struct nvt_timeline_sheet *sheet)
{
    free(sheet->boxes);
    free(sheet->shares);
}
