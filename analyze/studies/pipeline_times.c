/*
 * What a pipeline did, added up.
 */
#include <math.h>

#include "../../lib/clock.h"
#include "pipeline.h"

/* Kinds of spans as bits. */
#define KIND(kind) (1u << (unsigned)(kind))
#define WORK       (KIND(NVT_PIPE_FORWARD) | KIND(NVT_PIPE_BACKWARD))

double nvt_pipeline_level_before(const struct nvt_pipeline_view *view, int step, int partition)
{
    double before = NAN, behind = NAN;
    for (size_t i = 0; i < view->level_count; i++) {
        const struct nvt_pipeline_level *level = &view->levels[i];
        if (level->partition != partition || level->step > step)
            continue;
        *(level->step < step ? &before : &behind) = level->allocated;
    }
    return isnan(before) ? behind : before;
}

int nvt_pipeline_has(const struct nvt_pipeline_view *view, int partition)
{
    for (size_t i = 0; i < view->span_count; i++)
        if (view->spans[i].partition == partition)
            return 1;
    return 0;
}

/* Time of a partition in any of these kinds of spans, overlaps counted once. */
static int64_t covered(const struct nvt_pipeline_view *view, int partition, unsigned kinds)
{
    int64_t sum = 0, until = INT64_MIN;
    for (size_t i = 0; i < view->span_count; i++) {
        const struct nvt_pipeline_span *span = &view->spans[i];
        if (span->partition != partition || !(kinds & KIND(span->kind)))
            continue;
        int64_t from = span->start > until ? span->start : until;
        if (span->end > from)
            sum += span->end - from;
        if (span->end > until)
            until = span->end;
    }
    return sum;
}

int64_t nvt_pipeline_time(const struct nvt_pipeline_view *view, int partition, int kind)
{
    const unsigned waiting = KIND(NVT_PIPE_WAIT) | KIND(NVT_PIPE_MESSAGE);
    if (kind < 0)
        return covered(view, partition, WORK);
    if (kind == NVT_PIPE_WAIT)
        return covered(view, partition, WORK | waiting) - covered(view, partition, WORK);
    return covered(view, partition, KIND(kind));
}

int64_t nvt_pipeline_operations(const struct nvt_pipeline_view *view, int partition)
{
    int64_t sum = 0;
    for (size_t i = 0; i < view->span_count; i++) {
        const struct nvt_pipeline_span *span = &view->spans[i];
        if (span->partition == partition && (KIND(span->kind) & WORK))
            sum = nvt_clock_sum(sum, span->operations);
    }
    return sum;
}

int64_t nvt_pipeline_span_of_steps(const struct nvt_pipeline_view *view)
{
    int64_t sum = 0, until = INT64_MIN;
    for (size_t i = 0; i < view->step_count; i++) {
        const struct nvt_pipeline_step *step = &view->steps[i];
        const int64_t from = step->start > until ? step->start : until;
        if (step->end > from)
            sum = nvt_clock_sum(sum, step->end - from);
        until = step->end > until ? step->end : until;
    }
    return sum;
}
