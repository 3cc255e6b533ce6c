#include "running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/gaps.h"

int nvt_running_begin(struct nvt_running *running, const struct nvt_trace *trace)
{
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    if (!samples->count)
        return 0;
    running->is_taken = calloc(samples->count, 1);
    return !running->is_taken ||
                   nvt_sampled_functions_make(&running->functions, trace, NVT_BY_FUNCTION, NULL) ||
                   nvt_buckets_make(&running->threads, samples->thread, trace->threads.count, NULL,
                                    samples->count) ||
                   nvt_hot_begin(&running->hot, &running->functions)
               ? -1
               : 0;
}

void nvt_running_add(struct nvt_running *running, uint32_t thread, int64_t start, int64_t end)
{
    const struct nvt_trace *trace = running->functions.trace;
    if (!trace || thread >= trace->threads.count)
        return;
    uint32_t at = nvt_buckets_behind(&running->threads, thread, trace->cpu_samples.time, start);
    for (; at < running->threads.first[thread + 1]; at++) {
        uint32_t sample = running->threads.rows[at];
        if (trace->cpu_samples.time[sample] > end)
            break;
        if (!running->is_taken[sample])
            nvt_hot_add(&running->hot, sample);
        running->is_taken[sample] = 1;
    }
}

void nvt_running_tell(const struct nvt_running *running, struct nvt_finding *finding)
{
    enum { MOST = 2 };
    uint32_t most[MOST];
    const size_t size = sizeof(finding->evidence);
    if (running->hot.samples < NVT_RUNNING_LEAST || running->hot.all <= 0)
        return;
    uint32_t count = nvt_hot_most(&running->hot, most, MOST);
    size_t used = strlen(finding->evidence);
    for (uint32_t i = 0; i < count && i < MOST && used < size; i++) {
        double share = 100 * (double)running->hot.items[most[i]].self / (double)running->hot.all;
        if (i && share < 5)
            break;
        if (!i)
            snprintf(finding->evidence + used, size - used,
                     "; meanwhile, in %u samples: ", running->hot.samples);
        used = strlen(finding->evidence);
        snprintf(finding->evidence + used, size - used, "%s%s %.0f %%", i ? ", " : "",
                 NVT_FUNCTION_TEXT(&running->functions.items[most[i]]), share);
        used = strlen(finding->evidence);
    }
}

void nvt_running_free(struct nvt_running *running)
{
    nvt_sampled_functions_free(&running->functions);
    nvt_buckets_free(&running->threads);
    nvt_hot_free(&running->hot);
    free(running->is_taken);
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    nvt_running_add(context, gap->thread, gap->start, gap->end);
}

int nvt_running_tell_gaps(const struct nvt_view *view, unsigned cause, struct nvt_finding *finding,
                          struct nvt_error *err)
{
    struct nvt_running running = {.is_taken = NULL};
    struct nvt_gap_sum sum = {
        .cause = (enum nvt_gap_cause)cause, .each = add_gap, .context = &running};
    double share = 0, usual = 0;
    int status = 0;
    if (!view->trace->cpu_samples.count)
        return 0;
    if (nvt_running_begin(&running, view->trace))
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    else
        status = nvt_view_gaps(view, &sum, &share, &usual, err);
    if (!status)
        nvt_running_tell(&running, finding);
    nvt_running_free(&running);
    return status;
}
