/* What the timeline shows of devices beside their operations: whose work these are, and when there are none. */
#include <stdlib.h>
#include <string.h>

#include "../analyze/device/gaps.h"
#include "../analyze/device/project.h"
#include "timeline_sheet.h"

enum { GAP_LEAST = 5 }; /* pixels of one that is marked */

/* Whether a range is a phase, as others lie around or within those. */
static int is_phase(const struct nvt_trace *trace, uint32_t range)
{
    return nvt_is_phase(nvt_name(trace, trace->ranges.name[range]));
}

/* The first stream, of the only device; -1: there is none, or several. */
static int only_device(const struct nvt_timeline_sheet *sheet)
{
    int first = -1;
    for (int i = 0; i < sheet->source_count; i++) {
        const struct nvt_timeline_source *source = &sheet->sources[i];
        if (!source->is_stream)
            continue;
        if (first >= 0 && (source->device != sheet->sources[first].device ||
                           source->process != sheet->sources[first].process))
            return -1;
        first = first < 0 ? i : first;
    }
    return first;
}

int nvt_timeline_has_spans(const struct nvt_timeline_sheet *sheet)
{
    const struct nvt_ranges *ranges = &sheet->trace->ranges;
    if (only_device(sheet) < 0)
        return 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (is_phase(sheet->trace, i) && ranges->end[i] > sheet->from &&
            ranges->start[i] < sheet->to)
            return 1;
    return 0;
}

int nvt_timeline_is_alone(const struct nvt_timeline_sheet *sheet)
{
    size_t streams = sheet->undrawn[1];
    for (int i = 0; i < sheet->source_count; i++)
        streams += sheet->sources[i].is_stream != 0;
    return streams == 1;
}

struct span {
    int64_t start, end;
    uint32_t range;
};

static int by_start(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

int nvt_timeline_add_spans(struct nvt_timeline_sheet *sheet, struct nvt_error *err)
{
    const struct nvt_trace *trace = sheet->trace;
    size_t count = 0;
    if (sheet->spans < 0)
        return 0;
    struct nvt_projected *projected = nvt_project_ranges(trace, NVT_ACROSS_WAITS, err);
    struct span *spans = projected ? calloc((size_t)trace->ranges.count + 1, sizeof(*spans)) : NULL;
    int status = spans ? 0 : projected ? nvt_fail(err, "out of memory") : -1;
    for (uint32_t i = 0; spans && i < trace->ranges.count; i++)
        if (projected[i].ops && is_phase(trace, i) && projected[i].end > sheet->from &&
            projected[i].start < sheet->to)
            spans[count++] = (struct span){projected[i].start, projected[i].end, i};
    if (count)
        qsort(spans, count, sizeof(*spans), by_start);
    for (size_t i = 0; i < count; i++)
        nvt_timeline_add(sheet, &(struct nvt_timeline_box){.start = spans[i].start,
                                                           .end = spans[i].end,
                                                           .row = spans[i].range,
                                                           .lane = sheet->spans,
                                                           .kind = NVT_TIMELINE_SPAN});
    free(spans);
    free(projected);
    return status;
}

/* Mark a gap in every stream of its device. */
static void add_gap(void *context, const struct nvt_gap *gap)
{
    struct nvt_timeline_sheet *sheet = context;
    const int64_t start = gap->start > sheet->from ? gap->start : sheet->from;
    const int64_t end = gap->end < sheet->to ? gap->end : sheet->to;
    if (end - start < GAP_LEAST * ((sheet->to - sheet->from) / sheet->columns))
        return;
    for (int i = 0; i < sheet->source_count && end > start; i++) {
        const struct nvt_timeline_source *source = &sheet->sources[i];
        if (source->is_stream && source->process == gap->process && source->device == gap->device &&
            sheet->count < NVT_TIMELINE_BOXES)
            sheet->boxes[sheet->count++] = (struct nvt_timeline_box){.start = start,
                                                                     .end = end,
                                                                     .longest = end - start,
                                                                     .filled = end - start,
                                                                     .row = gap->cause,
                                                                     .lane = source->lane,
                                                                     .kind = NVT_TIMELINE_IDLE};
    }
}

int nvt_timeline_add_gaps(struct nvt_timeline_sheet *sheet, struct nvt_error *err)
{
    return sheet->trace->ops.count ? nvt_gaps(sheet->trace, NULL, add_gap, sheet, NULL, err) : 0;
}
