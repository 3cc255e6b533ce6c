/* allocation in the loop: device memory is taken and given back again and again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/one_of.h"
#include "../diagnosis/called_from.h"

#define LEAST_SHARE   0.05
#define LEAST_COUNT   10
#define LEAST_AN_UNIT 0.2
/* Where no iterations are on record. */
#define LEAST_ROUNDS 5
#define LEAST_SPREAD 0.5

/* Calls that go to the driver for memory. Those of pools (cudaMallocAsync …) are the remedy. */
static int allocates(const char *name)
{
    static const char *const calls[] = {
        "cudaMalloc",     "cudaFree",  "cudaHostAlloc", "cuMemAlloc",    "cuMemFree",
        "cuMemHostAlloc", "hipMalloc", "hipFree",       "hipHostMalloc", "hipExtMalloc"};
    if (strstr(name, "Async"))
        return 0;
    return NVT_BEGINS_WITH_ONE_OF(name, calls);
}

/* What is done again and again without iterations on record: a round is from an allocation behind a free to the next
 * such one. */
struct rounds {
    double count, ns, longest_ns, second_ns;
    double open_ns; /* of the last one */
    int64_t first, last;
    int has_freed;
};

struct calls {
    struct rounds rounds;
    double count;
    double covered_ns; /* of the steady part: two threads may call at once */
    double ns;         /* that they take one by one */
    int64_t until;
    double second_ns; /* of the second longest */
    uint32_t longest;
};

static double longest_of(const struct calls *calls, const struct nvt_apis *apis)
{
    return calls->longest == NVT_NONE
               ? 0
               : (double)(apis->end[calls->longest] - apis->start[calls->longest]);
}

static void end_round(struct rounds *rounds)
{
    double ns = rounds->open_ns;
    rounds->ns += ns;
    rounds->second_ns = fmax(rounds->second_ns, fmin(ns, rounds->longest_ns));
    rounds->longest_ns = fmax(rounds->longest_ns, ns);
    rounds->open_ns = 0;
}

static void add_to_round(struct rounds *rounds, int frees, int64_t start, double ns)
{
    if (!frees && (rounds->has_freed || rounds->count < 1)) {
        end_round(rounds);
        rounds->first = rounds->count < 1 ? start : rounds->first;
        rounds->last = start;
        rounds->count++;
    }
    rounds->has_freed = frees;
    if (rounds->count >= 1)
        rounds->open_ns += ns;
}

/* Rounds enough, over half of the steady part, that would take their share were the two longest as the others. */
static int is_repeated(struct rounds *rounds, const struct nvt_view *view)
{
    end_round(rounds);
    double usual = nvt_usual_time(rounds->ns, rounds->count, rounds->longest_ns, rounds->second_ns);
    return rounds->count >= LEAST_ROUNDS && usual / view->span_ns >= LEAST_SHARE &&
           (double)(rounds->last - rounds->first) >= LEAST_SPREAD * view->span_ns;
}

static void add_allocation(struct calls *calls, const struct nvt_view *view, uint32_t call)
{
    const struct nvt_apis *apis = &view->trace->apis;
    int64_t start = apis->start[call], end = apis->end[call], length = end - start;
    const char *name = nvt_name(view->trace, apis->name[call]);
    add_to_round(&calls->rounds, strstr(name, "Free") != NULL, start, (double)length);
    calls->count++;
    calls->ns += (double)length;
    if (calls->longest == NVT_NONE || (double)length > longest_of(calls, apis)) {
        calls->second_ns = longest_of(calls, apis);
        calls->longest = call;
    } else
        calls->second_ns = fmax(calls->second_ns, (double)length);
    start = start > calls->until ? start : calls->until;
    end = end < view->to ? end : view->to;
    if (end > start) {
        calls->covered_ns += (double)(end - start);
        calls->until = end;
    }
}

/* Whether a call allocates: each name is looked at once. `names` has a byte of each. */
static int is_allocation(const struct nvt_trace *trace, uint8_t *names, uint32_t call)
{
    enum { YES = 1, NO };
    uint8_t *name = &names[trace->apis.name[call]];
    if (!*name)
        *name = allocates(nvt_name(trace, trace->apis.name[call])) ? YES : NO;
    return *name == YES;
}

static int find_allocation(const struct nvt_rule *rule, const struct nvt_view *view,
                           struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_apis *apis = &view->trace->apis;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct calls calls = {.until = view->from, .longest = NVT_NONE};
    uint8_t *names = calloc((size_t)nvt_strings_count(view->trace->strings) + 1, 1);
    if (!names)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < apis->count; i++)
        if (nvt_is_steady_call(view, i) && is_allocation(view->trace, names, i)) {
            add_allocation(&calls, view, i);
            nvt_finding_point(&finding, apis->start[i]);
        }
    free(names);
    double share = calls.covered_ns / view->span_ns;
    double usual = nvt_usual_time(calls.ns, calls.count, longest_of(&calls, apis), calls.second_ns);
    if (calls.count < LEAST_COUNT || calls.count < LEAST_AN_UNIT * view->units ||
        fmin(share, usual / view->span_ns) < LEAST_SHARE)
        return 0;
    if (!view->iteration_count && !is_repeated(&calls.rounds, view))
        return 0;
    const char *count = NVT_COUNT(calls.count / view->units);
    const int one = !strcmp(count, "1");
    finding.cost_ns = calls.covered_ns / view->units;
    snprintf(finding.what, sizeof(finding.what), "%s call%s %s allocate%s or free%s device memory",
             count, one ? "" : "s", view->per, one ? "s" : "", one ? "s" : "");
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%.0f calls, %s each, %.0f %% of the time; the longest, %.100s, takes %s", calls.count,
             NVT_TIME(calls.ns / calls.count), 100 * share,
             nvt_name(view->trace, apis->name[calls.longest]), NVT_TIME(longest_of(&calls, apis)));
    if (nvt_called_from_tell_calls(view, allocates, "the calls' time", &finding, err))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_allocation = {
    .cause = "allocation in the loop",
    .about = "cudaMalloc, cudaFree and the like in every iteration",
    .means = "cudaMalloc and cudaFree are slow, and cudaFree waits until the whole device is idle. "
             "In a loop they cost time on the CPU and stop the GPU.",
    .found = "Calls that allocate or free device or pinned memory count. Calls of pools "
             "(cudaMallocAsync) do not: they are the remedy. Without iterations, memory must be "
             "freed and allocated anew at least five times, over half of the second half of the "
             "trace. The finding names the longest call and, with stacks, who calls.",
    .threshold =
        "10 calls, one in every 5 iterations, and 5 % of the time, in the second half of the "
        "iterations: by then caches are filled; even with the two longest cut to the mean of the "
        "rest, because what is allocated once is not a loop; without iterations, the same of 5 "
        "rounds of allocating and freeing, over half of that time; calls of pools do not count",
    .remedy = "allocate before the loop, or use a pool (cudaMallocAsync, a caching allocator)",
    .helped =
        "cudaMallocAsync with a release threshold (cudaMemPoolAttrReleaseThreshold), RMM, "
        "PyTorch's caching allocator. In PyTorch, no torch.cuda.empty_cache() in the loop; "
        "expandable segments where shapes vary (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True). "
        "Workspaces that are allocated for the largest shape.",
    .confused =
        "Sync-bound: cudaFree waits for the device, too. Out of memory: PyTorch's allocator frees "
        "and retries when memory is short, and then calls cudaMalloc in every iteration.",
    .show = "stats -r cuda_api_sum",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_CALLS,
    .look = find_allocation,
};
