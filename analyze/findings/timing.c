/* un-synchronised timing: ranges that end before the device work that they launched. */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/one_of.h"
#include "../diagnosis/diagnose.h"
#include "../device/project.h"
#include "../model/recording.h"

#define LEAST_COUNT 3
#define LEAST_AFTER 0.1

struct early {
    uint64_t count, all;
    int64_t ns;
    double until_ns; /* of these, from their beginning to the end of their work */
    int64_t examples[3];
    uint8_t is_looked_at, is_pytorch; /* its name */
};

/* Annotations that PyTorch makes by itself: nobody can end them later, and what they are around is not waited for. The
 * steps of its profiler ("ProfilerStep#3") are the program's own, which calls step(). */
static int is_pytorch(const char *name)
{
    static const char *const own[] = {"Optimizer.step#",
                                      "Optimizer.zero_grad#",
                                      "## Call CompiledFxGraph ",
                                      "Torch-Compiled Region",
                                      "DistributedDataParallel.forward",
                                      "FullyShardedDataParallel.",
                                      "FSDP::",
                                      "enumerate(DataLoader)#"};
    return NVT_BEGINS_WITH_ONE_OF(name, own);
}

/* Each name is looked at once. */
static int is_own(const struct nvt_trace *trace, struct early *early, uint32_t name)
{
    if (!early->is_looked_at) {
        early->is_looked_at = 1;
        early->is_pytorch = (uint8_t)is_pytorch(nvt_name(trace, name));
    }
    return early->is_pytorch;
}

/* When the last operation of each range ended; INT64_MIN: it has none. */
struct ends {
    const struct nvt_ops *ops;
    int64_t *last;
};

static int keep_last(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    const struct ends *ends = context;
    const int64_t end = ends->ops->end[op];
    for (uint32_t i = 0; i < count; i++)
        if (end > ends->last[ranges[i]])
            ends->last[ranges[i]] = end;
    return 0;
}

/* By range; malloc'ed, NULL with err when out of memory. */
static int64_t *find_ends(const struct nvt_trace *trace, struct nvt_error *err)
{
    const size_t count = (size_t)trace->ranges.count + 1;
    struct ends ends = {&trace->ops, malloc(count * sizeof(*ends.last))};
    if (!ends.last) {
        nvt_fail_at(err, trace->path, -1, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        ends.last[i] = INT64_MIN;
    if (!nvt_project(trace, 0, keep_last, &ends, err))
        return ends.last;
    free(ends.last);
    return NULL;
}

/* How often, and by how long, the operations of ranges ended after them, by name of the range; malloc'ed, NULL with err when out of
 * memory. */
static struct early *add_up_timing(const struct nvt_view *view, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    int64_t *ends = find_ends(trace, err);
    struct early *names =
        ends ? calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(*names)) : NULL;
    uint8_t *libraries = names ? nvt_library_domains(trace) : NULL;
    if (ends && !libraries) {
        nvt_fail_at(err, trace->path, -1, "out of memory");
        free(names);
        names = NULL;
    }
    for (uint32_t i = 0; i < trace->ranges.count && names; i++) {
        struct early *early = &names[trace->ranges.name[i]];
        if (ends[i] == INT64_MIN || (trace->ranges.flags[i] & NVT_RANGE_PARTIAL) ||
            nvt_is_operator(trace, libraries, i) || nvt_is_recorders_range(trace, i) ||
            is_own(trace, early, trace->ranges.name[i]))
            continue;
        int64_t after = ends[i] - trace->ranges.end[i];
        early->all++;
        if ((double)after <= LEAST_AFTER * (double)(trace->ranges.end[i] - trace->ranges.start[i]))
            continue;
        if (early->count < 3)
            early->examples[early->count] = trace->ranges.end[i];
        early->count++;
        early->ns += after;
        early->until_ns += (double)(ends[i] - trace->ranges.start[i]);
    }
    free(libraries);
    free(ends);
    return names;
}

static int is_early(const struct early *early)
{
    return early->all >= LEAST_COUNT && early->count * 2 >= early->all;
}

static int find_timing(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    uint32_t worst = NVT_NONE, ranges = 0;
    if (!view->trace->ops.count || !view->trace->ranges.count)
        return 0;
    struct early *names = add_up_timing(view, err);
    if (!names)
        return -1;
    for (uint32_t id = 0; id < nvt_strings_count(view->trace->strings); id++) {
        if (!is_early(&names[id]))
            continue;
        ranges++;
        if (worst == NVT_NONE || names[id].ns > names[worst].ns)
            worst = id;
    }
    int status = 0;
    if (ranges) {
        const struct early *early = &names[worst];
        struct nvt_finding finding = nvt_finding_of(rule, view);
        finding.per = "each time";
        finding.cost_ns = (double)early->ns / (double)early->count;
        finding.whole_ns = early->until_ns / (double)early->count;
        nvt_finding_about(&finding, nvt_name(view->trace, worst));
        snprintf(finding.what, sizeof(finding.what),
                 "range %s ends before the GPU work that it launched", finding.subject);
        snprintf(finding.evidence, sizeof(finding.evidence),
                 "%llu of %llu times, by %s on average: its time is that of the launches; %u range "
                 "name%s end%s like this",
                 (unsigned long long)early->count, (unsigned long long)early->all,
                 NVT_TIME(finding.cost_ns), ranges, ranges == 1 ? "" : "s", ranges == 1 ? "s" : "");
        for (uint64_t i = 0; i < early->count && i < 3; i++)
            nvt_finding_point(&finding, early->examples[i]);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(names);
    return status;
}

const struct nvt_rule nvt_rule_timing = {
    .cause = "un-synchronised timing",
    .about = "ranges whose time on the host is not that of their GPU work; the cost is the error",
    .means = "Launches return before their kernels have run. A timer around them measures the "
             "launches, and the work shows up in whatever waits next. Figures that were taken this "
             "way are too small, and those of the next wait too large.",
    .found =
        "For each name of a range, the end of its last device operation is compared with its own "
        "end. Operators and collectives of PyTorch, ranges of libraries, and annotations that "
        "PyTorch makes by itself are excluded; ProfilerStep# and the program's own names are not.",
    .threshold = "at least 3 ranges of a name, half of which end before their device work by a "
                 "tenth of their own length: a smaller error is harmless; not PyTorch's own ranges "
                 "(operators, Optimizer.step#...), those of record --pytorch, nor those of "
                 "libraries, which launch and continue",
    .remedy = "synchronise before the range ends, or read nvtx_gpu_proj_sum",
    .helped =
        "torch.cuda.synchronize() before each reading of a clock, CUDA events "
        "(torch.cuda.Event(enable_timing=True)), torch.utils.benchmark or triton.testing.do_bench. "
        "In a profile nothing has to change: projected spans have the work's own time.",
    .confused = "In a program that is not timed, ranges that launch and continue are right, and "
                "synchronising would only slow it down: then ignore this finding. Backward on "
                "another thread: the work is not attributed at all.",
    .show = "stats -r nvtx_gpu_proj_sum",
    .error = "not measured",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS | NVT_RULE_RANGES,
    .is_whole = 1,
    .look = find_timing,
};
