#include "between_steps.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/sample.h"

#define LEAST_SHARE 0.15
#define LEAST_COUNT 8
/* Times that lie so far above the median are of another kind: periodic work, or chance. */
#define MOST_USUAL 3

static double time_of(const struct nvt_beat *beat)
{
    return (double)(beat->until - beat->step);
}

static int counts(const struct nvt_between_steps *steps, uint32_t beat)
{
    return nvt_is_steady(steps->view, steps->beats.items[beat].start) &&
           steps->beats.items[beat].is_followed;
}

/* 0, or -1 when out of memory. */
static int find_usual(struct nvt_between_steps *steps)
{
    const struct nvt_beats *beats = &steps->beats;
    double *values = malloc(((size_t)beats->count + 1) * sizeof(*values));
    int failed = !values;
    for (uint32_t i = 0; i < beats->count && values; i++)
        if (counts(steps, i))
            values[steps->count++] = time_of(&beats->items[i]);
    if (steps->count)
        steps->median_ns = nvt_sample_median(values, steps->count);
    free(values);
    for (uint32_t i = 0; i < beats->count && !failed; i++) {
        const struct nvt_beat *beat = &beats->items[i];
        if (!counts(steps, i) || time_of(beat) > MOST_USUAL * steps->median_ns)
            continue;
        steps->longest_ns = fmax(steps->longest_ns, time_of(beat));
        nvt_longest_add(&steps->longest, beat->step, time_of(beat));
        failed = nvt_loop_spans_add(&steps->spans, beat->step, beat->until);
    }
    return failed ? -1 : 0;
}

/* 0, or -1 when out of memory. */
static int find_busy(struct nvt_between_steps *steps)
{
    struct nvt_span *work = NULL;
    size_t count = 0, first = 0;
    int failed =
        steps->view->trace->ops.count &&
        nvt_device_work(steps->view, steps->view->trace->threads.process[steps->beats.thread],
                        &work, &count);
    for (size_t i = 0; i < steps->spans.count; i++)
        steps->busy_ns += (double)nvt_span_within(&steps->spans.items[i], work, count, &first);
    free(work);
    return failed;
}

int nvt_between_steps_make(struct nvt_between_steps *steps, const struct nvt_view *view)
{
    steps->view = view;
    if (nvt_beats_make(&steps->beats, view))
        return -1;
    steps->spans.view = view;
    steps->spans.thread = steps->beats.thread;
    if (!steps->beats.has_steps || steps->beats.is_guess)
        return 0;
    if (find_usual(steps) || find_busy(steps))
        return -1;
    steps->share = steps->median_ns * steps->count / view->span_ns;
    steps->is_large = steps->count >= LEAST_COUNT &&
                      steps->share * (1 - steps->busy_ns / steps->spans.ns) >= LEAST_SHARE;
    return 0;
}

double nvt_between_steps_part(const struct nvt_between_steps *steps,
                              const struct nvt_blocking *blocking, uint32_t item)
{
    const struct nvt_blocked *blocked = &blocking->items[item];
    const struct nvt_loop_spans *spans = &steps->spans;
    double ns = 0;
    size_t first = 0;
    if (blocked->thread != spans->thread || !(blocked->ns > 0))
        return 0;
    for (uint32_t i = 0; i < blocking->call_count; i++)
        if (blocking->calls[i].blocked == item)
            ns += (double)nvt_span_within(&blocking->calls[i].span, spans->items, spans->count,
                                          &first);
    return ns / blocked->ns;
}

void nvt_between_steps_free(struct nvt_between_steps *steps)
{
    nvt_loop_spans_free(&steps->spans);
    nvt_beats_free(&steps->beats);
}
