/*
 * What a pipeline did, added up, and what its schedule would have it do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../model/cover.h"
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

/* A partition's first work on a device, or NULL. */
static const struct nvt_pipeline_span *work_of(const struct nvt_pipeline_view *view, int partition)
{
    for (size_t i = 0; i < view->span_count; i++)
        if (view->spans[i].partition == partition && view->spans[i].device >= 0)
            return &view->spans[i];
    return NULL;
}

int nvt_pipeline_device_of(const struct nvt_pipeline_view *view, int partition)
{
    const struct nvt_pipeline_span *first = work_of(view, partition);
    for (size_t i = 0; first && i < view->span_count; i++)
        if (view->spans[i].partition == partition && view->spans[i].device >= 0 &&
            view->spans[i].device != first->device)
            return -1;
    return first ? first->device : -1;
}

int nvt_pipeline_shares(const struct nvt_pipeline_view *view, int partition)
{
    const struct nvt_pipeline_span *own = work_of(view, partition);
    for (int i = 0; own && i < partition; i++) {
        const struct nvt_pipeline_span *other = work_of(view, i);
        if (other && other->trace == own->trace && other->device == own->device)
            return 1;
    }
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
        sum += nvt_cover(&until, span->start, span->end);
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
        sum = nvt_clock_sum(sum, nvt_cover(&until, step->start, step->end));
    }
    return sum;
}

/* The value of a key in "key=value key=value …", up to its end or a space; NULL: there is none. */
static const char *value_of(const char *configuration, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = configuration; *at; at += strspn(at, " ")) {
        if (!strncmp(at, key, length) && at[length] == '=')
            return at + length + 1;
        at += strcspn(at, " ");
    }
    return NULL;
}

/* NaN where it is none, or less than 1. */
static double number_of(const char *configuration, const char *key)
{
    const char *value = value_of(configuration, key);
    const double number = value ? strtod(value, NULL) : NAN;
    return number >= 1 ? number : NAN;
}

static int is_value(const char *value, const char *word)
{
    return strcspn(value, " ") == strlen(word) && !strncmp(value, word, strlen(word));
}

double nvt_pipeline_bubble(const char *configuration)
{
    const char *schedule = value_of(configuration, "schedule");
    double idle = number_of(configuration, "partitions") - 1, parts = NAN;
    if (schedule && (is_value(schedule, "gpipe") || is_value(schedule, "1f1b")))
        parts = 1;
    else if (schedule && is_value(schedule, "interleaved"))
        parts = number_of(configuration, "virtual_stages");
    return idle / (parts * number_of(configuration, "microbatches") + idle);
}
