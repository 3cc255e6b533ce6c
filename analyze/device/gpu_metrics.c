#include "gpu_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"
#include "devices.h"
#include "project.h"

/* A sample later than that behind the one before it, in intervals, has others missing between them. */
#define GAP 1.5
/* Of the differences between samples, as many as the median is of. */
#define DIFFERENCES 4096u

/* --- which they are --------------------------------------------------------------------------- */

int nvt_is_gpu_metric(const struct nvt_trace *trace, uint32_t counter)
{
    const struct nvt_counters *counters = &trace->counters;
    const char *domain = nvt_domain_name(trace, counters->domain[counter]),
               *name = nvt_name(trace, counters->name[counter]);
    if (!counters->is_of_machine[counter] || strncmp(domain, "GPU ", 4) != 0)
        return 0;
    for (int id = 0; id < NVT_MACHINE_GPU_COUNT; id++)
        if (!strcmp(name, nvt_machine_gpu_quantity((enum nvt_machine_gpu)id)->name))
            return 0;
    return 1;
}

int nvt_has_gpu_metrics(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->counters.count; i++)
        if (nvt_is_gpu_metric(trace, i))
            return 1;
    return 0;
}

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median of the times between samples, ns. `room` is for DIFFERENCES of them. */
static double interval_of(const struct nvt_counter_course *course, int64_t *room)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < course->count && count < DIFFERENCES; i++)
        if (course->time[i] > course->time[i - 1])
            room[count++] = course->time[i] - course->time[i - 1];
    qsort(room, count, sizeof(*room), by_length);
    const uint32_t middle = count / 2;
    return count ? (double)room[middle] : 0;
}

static double rounding_of(const struct nvt_counter_course *course)
{
    for (uint32_t i = 0; i < course->count; i++)
        if (course->value[i] != floor(course->value[i]))
            return 0;
    return 0.5;
}

/* Whether all metrics are of one GPU, which then is that of all operations of unknown devices. */
static int has_one_gpu(const struct nvt_trace *trace)
{
    const struct nvt_counters *counters = &trace->counters;
    uint32_t first = NVT_NONE;
    for (uint32_t i = 0; i < counters->count; i++) {
        if (!nvt_is_gpu_metric(trace, i))
            continue;
        if (first != NVT_NONE && counters->domain[i] != counters->domain[first])
            return 0;
        first = i;
    }
    return 1;
}

int nvt_gpu_metrics_make(struct nvt_gpu_metrics *metrics, const struct nvt_trace *trace)
{
    const struct nvt_counters *counters = &trace->counters;
    int64_t *room = malloc(DIFFERENCES * sizeof(*room));
    metrics->count = counters->count;
    metrics->items = calloc((size_t)counters->count + 1, sizeof(*metrics->items));
    if (nvt_counter_courses(trace, &metrics->courses) || !metrics->items || !room) {
        free(room);
        return -1;
    }
    const int is_one = has_one_gpu(trace);
    for (uint32_t i = 0; i < counters->count; i++) {
        const struct nvt_counter_course *course = &metrics->courses.items[i];
        const int is_known = nvt_is_gpu_metric(trace, i) && (is_one || counters->gpu[i]);
        const double interval = is_known ? interval_of(course, room) : 0;
        if (!(interval > 0))
            continue;
        metrics->items[i] = (struct nvt_gpu_metric){
            .course = course,
            .interval_ns = interval,
            .most = strchr(nvt_name(trace, counters->unit[i]), '%') ? 100 : INFINITY,
            .rounding = rounding_of(course)};
    }
    free(room);
    return 0;
}

void nvt_gpu_metrics_free(struct nvt_gpu_metrics *metrics)
{
    nvt_counter_courses_free(&metrics->courses);
    free(metrics->items);
    *metrics = (struct nvt_gpu_metrics){.items = NULL};
}

/* --- a span ----------------------------------------------------------------------------------- */

/* The interval that a sample is of begins here, ns. */
static double begin_of(const struct nvt_gpu_metric *metric, uint32_t sample)
{
    const struct nvt_counter_course *course = metric->course;
    const double end = (double)course->time[sample], alone = end - metric->interval_ns;
    const double before = sample ? (double)course->time[sample - 1] : alone;
    return end - before > GAP * metric->interval_ns ? alone : before;
}

/* What a sample adds to a span of which `within` of its `length` ns lie in it. */
static void add_sample(const struct nvt_gpu_metric *metric, double value, double length,
                       double within, struct nvt_metric_sum *part)
{
    const double outside = length - within, low = fmax(0, value - metric->rounding) * length,
                 high = fmin(metric->most, value + metric->rounding) * length;
    /* The other part of it has the most or nothing; 0 times INFINITY is nothing. */
    const double elsewhere = outside > 0 ? metric->most * outside : 0;
    part->integral += value * within;
    part->low += fmax(0, low - elsewhere);
    part->high += fmin(metric->most * within, high);
    part->ns += within;
    part->samples++;
}

void nvt_gpu_metric_add(const struct nvt_gpu_metric *metric, int64_t from, int64_t to,
                        struct nvt_metric_sum *sum)
{
    const struct nvt_counter_course *course = metric->course;
    const double first = (double)from, last = (double)to, ns = last - first;
    struct nvt_metric_sum part = {.ns = 0};
    if (ns < NVT_METRIC_LEAST * metric->interval_ns) {
        sum->short_++;
        return;
    }
    for (uint32_t i = nvt_course_until(course, from); i < course->count; i++) {
        const double begin = begin_of(metric, i), end = (double)course->time[i];
        const double within = fmin(end, last) - fmax(begin, first);
        if (begin >= last)
            break;
        if (within > 0)
            add_sample(metric, course->value[i], end - begin, within, &part);
    }
    const double missing = ns - part.ns;
    if (part.ns < ns / 2 || (missing > 0.5 && isinf(metric->most))) {
        sum->unknown++;
        return;
    }
    sum->spans++;
    sum->samples += part.samples;
    sum->ns += ns;
    sum->integral += part.integral * ns / part.ns;
    sum->low += part.low;
    sum->high += part.high + (missing > 0.5 ? metric->most * missing : 0);
}

/* --- spans of ranges -------------------------------------------------------------------------- */

struct spans {
    const struct nvt_trace *trace;
    struct nvt_gpu_span *items;
    uint32_t count;
    struct nvt_map at; /* range << 32 | gpu */
};

static int add_op(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct spans *spans = context;
    const struct nvt_ops *ops = &spans->trace->ops;
    const uint32_t gpu =
        count ? nvt_device_gpu(spans->trace, ops->process[op], ops->device[op]) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t before = spans->count;
        struct nvt_gpu_span *span = nvt_map_item(&spans->at, (uint64_t)ranges[i] << 32 | gpu,
                                                 &spans->items, &spans->count, sizeof(*span));
        if (!span)
            return -1;
        if (spans->count > before)
            *span = (struct nvt_gpu_span){ranges[i], gpu, ops->start[op], ops->end[op]};
        span->start = ops->start[op] < span->start ? ops->start[op] : span->start;
        span->end = ops->end[op] > span->end ? ops->end[op] : span->end;
    }
    return 0;
}

struct nvt_gpu_span *nvt_gpu_spans(const struct nvt_trace *trace, unsigned flags, uint32_t *count,
                                   struct nvt_error *err)
{
    struct spans spans = {.trace = trace};
    const int status = nvt_project(trace, flags, add_op, &spans, err);
    nvt_map_free(&spans.at);
    *count = spans.count;
    if (!status && !spans.items)
        spans.items = malloc(sizeof(*spans.items));
    if (!status && spans.items)
        return spans.items;
    free(spans.items);
    nvt_fail_at(err, trace->path, -1, "out of memory");
    return NULL;
}
