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
                   nvt_hot_begin(&running->hot, &running->functions) ||
                   nvt_work_make(&running->work, &running->functions)
               ? -1
               : 0;
}

static void add_sample(struct nvt_running *running, uint32_t sample)
{
    const struct nvt_trace *trace = running->functions.trace;
    const uint32_t frame = trace->cpu_samples.frame[sample];
    const uint32_t caller = frame ? running->work.caller[frame - 1] : 0;
    nvt_hot_add(&running->hot, sample);
    if (caller && nvt_pairs_add(&running->callers, 0, trace->call_frames.name[caller - 1],
                                nvt_sample_weight(&running->functions, sample)))
        running->failed = 1;
}

void nvt_running_add(struct nvt_running *running, uint32_t thread, int64_t start, int64_t end)
{
    const struct nvt_trace *trace = running->functions.trace;
    if (!trace || thread == NVT_NONE)
        return;
    uint32_t at = nvt_buckets_behind(&running->threads, thread, trace->cpu_samples.time, start);
    for (; at < running->threads.first[thread + 1]; at++) {
        uint32_t sample = running->threads.rows[at];
        if (trace->cpu_samples.time[sample] > end)
            break;
        if (!running->is_taken[sample])
            add_sample(running, sample);
        running->is_taken[sample] = 1;
    }
}

int nvt_running_tell(struct nvt_running *running, struct nvt_finding *finding)
{
    enum { MOST = 2 };
    const struct nvt_hot *hot = &running->hot;
    const double all = (double)hot->all;
    uint32_t most[MOST];
    if (running->failed || (hot->samples && nvt_pairs_sort(&running->callers, 1)))
        return -1;
    if (hot->samples < NVT_RUNNING_LEAST || hot->all <= 0)
        return 0;
    uint32_t count = nvt_hot_most(hot, most, MOST);
    nvt_finding_append(finding, "; running then, in %u samples: ", hot->samples);
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        double share = 100 * (double)hot->items[most[i]].self / all;
        if (!i || share >= 5)
            nvt_finding_append(finding, "%s%s %.0f %%", i ? ", " : "",
                               NVT_FUNCTION_TEXT(&running->functions.items[most[i]]), share);
    }
    const struct nvt_pair *caller = nvt_pairs_most(&running->callers, 0);
    if (caller)
        nvt_finding_append(finding, "; %.0f %% of them from %.80s",
                           100 * (double)caller->weight / all,
                           nvt_name(running->functions.trace, caller->part));
    return 0;
}

void nvt_running_free(struct nvt_running *running)
{
    nvt_sampled_functions_free(&running->functions);
    nvt_buckets_free(&running->threads);
    nvt_hot_free(&running->hot);
    nvt_work_free(&running->work);
    nvt_pairs_free(&running->callers);
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
    int status = 0;
    if (!view->trace->cpu_samples.count)
        return 0;
    if (nvt_running_begin(&running, view->trace))
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    else
        status = nvt_view_gaps(view, &sum, err);
    if (!status && nvt_running_tell(&running, finding))
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    nvt_running_free(&running);
    return status;
}
