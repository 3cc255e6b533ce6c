/* input-bound: a loop that waits for its next batch, where PyTorch's loaders say so. */
#include <stdio.h>
#include <stdlib.h>

#include "../diagnosis/loop_interruptions.h"
#include "../diagnosis/running.h"
#include "../model/batches.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

struct waits {
    double ns, count; /* ns: without what devices worked meanwhile */
    int64_t until;    /* of the last one */
    struct nvt_longest longest;
};

/* Operations up to one, in the order of their starts. */
struct worked {
    uint32_t next;
    int64_t until; /* the end of the last of them */
};

/* The part of a span in which no device works for the view, ns; spans follow each other. */
static int64_t idle_within(const struct nvt_view *view, struct worked *worked, int64_t start,
                           int64_t end)
{
    const struct nvt_ops *ops = &view->trace->ops;
    int64_t at = start > worked->until ? start : worked->until, idle = 0;
    for (; worked->next < ops->count && ops->start[worked->next] < end; worked->next++) {
        if (!nvt_is_viewed(view, ops->process[worked->next]))
            continue;
        if (ops->start[worked->next] > at)
            idle += ops->start[worked->next] - at;
        if (ops->end[worked->next] > worked->until)
            worked->until = ops->end[worked->next];
        at = at > worked->until ? at : worked->until;
    }
    return end > at ? idle + end - at : idle;
}

/* One within another, as where the profiler annotates what `record --pytorch` does, is the same wait. */
static void add_up_input(const struct nvt_view *view, struct waits *waits)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    struct worked worked = {.until = INT64_MIN};
    waits->until = view->from;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->start[i] < waits->until || ranges->end[i] > view->to ||
            ranges->flags[i] & NVT_RANGE_PARTIAL ||
            !nvt_is_viewed_thread(view, ranges->thread[i]) || !nvt_is_batch_wait(view->trace, i))
            continue;
        const double ns = (double)idle_within(view, &worked, ranges->start[i], ranges->end[i]);
        waits->until = ranges->end[i];
        waits->ns += ns;
        waits->count++;
        nvt_longest_add(&waits->longest, ranges->start[i], ns);
    }
}

/* What `record --pytorch` saw of the making of batches, by workers or in the wait itself. */
struct making {
    double dataset_ns, collate_ns, batches;
};

/*
 * In the steady part. Workers are processes of their own, and whose they are is not recorded: of all there are, also
 * where each process that iterates is looked at by itself.
 */
static struct making add_up_making(const struct nvt_view *view)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    struct making making = {0, 0, 0};
    for (uint32_t i = 0; i < ranges->count; i++) {
        const double ns = (double)(ranges->end[i] - ranges->start[i]);
        if (!nvt_is_steady(view, ranges->start[i]) || ranges->flags[i] & NVT_RANGE_PARTIAL)
            continue;
        if (nvt_is_of_pytorch(view->trace, i, "dataset")) {
            making.dataset_ns += ns;
            making.batches++;
        } else if (nvt_is_of_pytorch(view->trace, i, "collate"))
            making.collate_ns += ns;
    }
    return making;
}

/* Whether a range is the making of samples, in the steady part; where that is in no range, the wait for a batch. */
static int is_making(const struct nvt_view *view, uint32_t range, int is_known)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    return nvt_is_steady(view, ranges->start[range]) &&
           !(ranges->flags[range] & NVT_RANGE_PARTIAL) &&
           (is_known ? nvt_is_of_pytorch(view->trace, range, "dataset")
                     : nvt_is_viewed_thread(view, ranges->thread[range]) &&
                           nvt_is_batch_wait(view->trace, range));
}

/* OS calls in that, on the thread that does it most. 0, or -1 when out of memory. */
static int tell_calls(const struct nvt_view *view, int is_known, struct nvt_finding *finding)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    struct nvt_loop_spans spans = {.view = view, .thread = NVT_NONE};
    double *of = calloc((size_t)view->trace->threads.count + 1, sizeof(*of));
    int failed = !of;
    for (uint32_t i = 0; i < ranges->count && !failed; i++) {
        if (!is_making(view, i, is_known))
            continue;
        const uint32_t thread = ranges->thread[i];
        of[thread] += (double)(ranges->end[i] - ranges->start[i]);
        if (spans.thread == NVT_NONE || of[thread] > of[spans.thread])
            spans.thread = thread;
    }
    for (uint32_t i = 0; i < ranges->count && !failed && spans.thread != NVT_NONE; i++)
        if (ranges->thread[i] == spans.thread && is_making(view, i, is_known) &&
            (!spans.count || ranges->start[i] >= spans.items[spans.count - 1].end))
            failed = nvt_loop_spans_add(&spans, ranges->start[i], ranges->end[i]);
    if (!failed && spans.count)
        failed = nvt_loop_spans_tell_calls(&spans, finding);
    nvt_loop_spans_free(&spans);
    free(of);
    return failed ? -1 : 0;
}

/* Which of the two is dear, and what to do about that. 0, or -1 when out of memory. */
static int tell_making(const struct nvt_view *view, struct nvt_finding *finding)
{
    const struct making making = add_up_making(view);
    const int is_collate = making.collate_ns > making.dataset_ns;
    if (making.batches <= 0)
        return view->trace->os_calls.count ? tell_calls(view, 0, finding) : 0;
    nvt_finding_append(
        finding, "; making a batch takes %s to collate and %s in the dataset (__getitem__)",
        NVT_TIME(making.collate_ns / making.batches), NVT_TIME(making.dataset_ns / making.batches));
    const int failed = !is_collate && view->trace->os_calls.count && tell_calls(view, 1, finding);
    if (is_collate)
        snprintf(finding->remedy, sizeof(finding->remedy),
                 "a collate_fn= that does less: samples of one shape that need no padding, or a "
                 "dataset that makes tensors of many samples at once (__getitems__); or more "
                 "workers (num_workers=, persistent_workers=True)");
    return failed;
}

/* What the loop's threads ran while they waited, and those that made batches. 0, or -1 when out of memory. */
static int tell_running(const struct nvt_view *view, struct nvt_finding *finding)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    struct nvt_running running = {.is_taken = NULL};
    int status = nvt_running_begin(&running, view->trace);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        int is_wait =
            nvt_is_viewed_thread(view, ranges->thread[i]) && nvt_is_batch_wait(view->trace, i);
        if (nvt_is_steady(view, ranges->start[i]) &&
            (is_wait || nvt_is_of_pytorch(view->trace, i, "dataset") ||
             nvt_is_of_pytorch(view->trace, i, "collate")))
            nvt_running_add(&running, ranges->thread[i], ranges->start[i], ranges->end[i]);
    }
    if (!status)
        status = nvt_running_tell(&running, finding);
    nvt_running_free(&running);
    return status;
}

static void tell_waits(const struct nvt_view *view, const struct waits *waits,
                       struct nvt_finding *finding)
{
    const int has_device = view->trace->ops.count > 0;
    finding->cost_ns = waits->ns / view->units;
    snprintf(finding->what, sizeof(finding->what),
             "the loop spends %.0f %% of its time waiting for the DataLoader%s",
             100 * waits->ns / view->span_ns, has_device ? " while the GPU is idle" : "");
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s %s, %s each on average, the longest %s%s",
             NVT_COUNTED(waits->count / view->units, "wait", "waits"), view->per,
             NVT_TIME(waits->ns / waits->count), NVT_TIME(waits->longest.ns[0]),
             has_device ? ", without GPU activity meanwhile" : "; GPU activity was not recorded");
}

static int find_input(const struct nvt_rule *rule, const struct nvt_view *view,
                      struct nvt_findings *findings, struct nvt_error *err)
{
    struct waits waits = {0};
    struct nvt_finding finding = nvt_finding_of(rule, view);
    add_up_input(view, &waits);
    double usual = nvt_usual_time(waits.ns, waits.count, waits.longest.ns[0], waits.longest.ns[1]);
    if (waits.count < LEAST_COUNT || usual < LEAST_SHARE * view->span_ns)
        return 0;
    tell_waits(view, &waits, &finding);
    if (tell_making(view, &finding) ||
        (view->trace->cpu_samples.count && tell_running(view, &finding)))
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    nvt_finding_point_longest(&finding, &waits.longest);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_input = {
    .cause = "input-bound",
    .about = "a training loop that waits for its DataLoader",
    .means = "The loop asks for the next batch before a worker has finished it. Training runs at "
             "the speed of data loading, and a faster GPU changes nothing.",
    .found = "Waits are the ranges enumerate(DataLoader)#… of PyTorch's profiler, or data of "
             "nvtally record --pytorch, less the time in which a GPU works. With --pytorch the "
             "finding shows how long making a batch "
             "takes, in the dataset and to collate, over all workers; with --trace cpu, the "
             "functions that ran meanwhile.",
    .threshold = "10 % of the time, in at least 3 waits, even with the two longest cut to the mean "
                 "of the rest: the first batch of an epoch, for which workers start, is not a "
                 "loop; known from PyTorch's profiler and from record --pytorch",
    .remedy = "more workers (num_workers=, persistent_workers=True), a larger prefetch_factor=, or "
              "less work per sample: decode and resize once, before training",
    .helped = "num_workers up to the number of cores (more is CPU oversubscribed), "
              "persistent_workers=True, pin_memory=True. Samples stored as they are needed: "
              "resized images, tokenised text, a few large files (WebDataset, memory-mapped "
              "arrays) instead of many small ones. Augmentation on the GPU (DALI, Kornia, "
              "torchvision v2). A collate_fn that only stacks.",
    .confused = "GPU idle: the host is busy with something else than waiting for a batch. Where it "
                "waits, GPU idle names this finding as its reason. CPU oversubscribed: "
                "workers are slow because there are too many of them. Host blocked: workers wait "
                "for the disk or the network.",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_RANGES,
    .look = find_input,
};
