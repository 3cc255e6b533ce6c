/* cold start: first launches, module loads and the creation of contexts, while the device has nothing to do. */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/one_of.h"
#include "../device/gaps.h"
#include "../diagnosis/blocking.h"
#include "../model/cover.h"
#include "../model/recorded_parts.h"

#define LEAST_SHARE   0.1
#define LEAST_NS      10000000 /* in all */
#define LEAST_CALL_NS 1000000  /* as NVT_GAP_LOAD_NS: 100 times what a launch costs */

enum { IS_FIRST = 1 }; /* of a call: it launches a kernel for the first time */

struct cold {
    unsigned char *calls;  /* of each: IS_FIRST */
    struct nvt_span *work; /* when a device works, overlaps joined */
    size_t work_count, first;
    int64_t from, until; /* of the first call; how far those so far reach */
    /* of all cold calls, what several threads do at once counted once; of launches */
    int64_t ns, launch_ns;
    uint64_t launches, loads;
    uint32_t longest; /* call, NVT_NONE: none */
    struct nvt_longest moments;
};

/* Calls that load code or create a context, by a part of their names. */
static int loads(const char *name)
{
    static const char *const parts[] = {"ModuleLoad",       "LibraryLoad", "cuInit",
                                        "PrimaryCtxRetain", "CtxCreate",   "ModuleGetFunction",
                                        "LibraryGetKernel"};
    return NVT_HAS_ONE_OF(name, parts);
}

/* Mark the calls that launch each kernel first, and find when devices work. 0, or -1 when out of memory. */
static int begin_cold(struct cold *cold, const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_ops *ops = &trace->ops;
    struct nvt_view whole = *view;
    unsigned char *seen = calloc((size_t)nvt_strings_count(trace->strings) + 1, 1);
    whole.from = INT64_MIN;
    whole.to = INT64_MAX;
    cold->calls = calloc((size_t)trace->apis.count + 1, 1);
    int failed = !seen || !cold->calls ||
                 nvt_device_work(&whole, view->process, &cold->work, &cold->work_count);
    for (uint32_t i = 0; i < ops->count && !failed; i++) {
        if (!nvt_is_viewed(view, ops->process[i]) || ops->kind[i] != NVT_OP_KERNEL ||
            seen[ops->short_name[i]])
            continue;
        seen[ops->short_name[i]] = 1;
        if (ops->api[i] != NVT_NONE)
            cold->calls[ops->api[i]] = IS_FIRST;
    }
    free(seen);
    return failed ? -1 : 0;
}

static void add_call(struct cold *cold, const struct nvt_trace *trace, uint32_t call, int is_launch)
{
    const struct nvt_apis *apis = &trace->apis;
    int64_t ns = nvt_cover(&cold->until, apis->start[call], apis->end[call]);
    if (!ns)
        return;
    cold->ns += ns;
    cold->launch_ns += is_launch ? ns : 0;
    cold->launches += is_launch ? 1 : 0;
    cold->loads += is_launch ? 0 : 1;
    nvt_longest_add(&cold->moments, apis->start[call], (double)ns);
    if (cold->longest == NVT_NONE ||
        apis->end[call] - apis->start[call] > apis->end[cold->longest] - apis->start[cold->longest])
        cold->longest = call;
}

/* Whether a call is slow because it is the first: of its process, of its kernel, or as it loads code. */
static int is_cold(const struct cold *cold, uint32_t call, int is_first, const char *name)
{
    return is_first || loads(name) || (cold->calls[call] == IS_FIRST && nvt_call_launches(name));
}

/* Calls of a loop's steady part are the rule `loading`'s. */
static void add_cold_calls(struct cold *cold, const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_apis *apis = &trace->apis;
    const int64_t end = view->iteration_count ? view->from : view->to;
    int has_begun = 0;
    for (uint32_t i = 0; i < apis->count && apis->start[i] < end; i++) {
        const struct nvt_span call = {apis->start[i], apis->end[i]};
        const char *name = nvt_name(trace, apis->name[i]);
        const int is_first = !has_begun;
        if (!nvt_is_viewed_thread(view, apis->thread[i]))
            continue;
        if (is_first)
            cold->from = cold->until = call.start;
        has_begun = 1;
        if (call.end - call.start < LEAST_CALL_NS || !is_cold(cold, i, is_first, name))
            continue;
        int64_t busy = nvt_span_within(&call, cold->work, cold->work_count, &cold->first);
        if (busy * 2 < call.end - call.start)
            add_call(cold, trace, i, nvt_call_launches(name));
    }
}

static void tell_cold(const struct nvt_view *view, const struct cold *cold, double share,
                      struct nvt_finding *finding)
{
    const struct nvt_apis *apis = &view->trace->apis;
    finding->total_ns = finding->cost_ns = (double)cold->ns;
    finding->whole_ns = nvt_recorded_ns(view->trace, cold->from, view->to);
    finding->per = "in the trace";
    snprintf(finding->what, sizeof(finding->what),
             "first launches, code loading and context creation take %.0f %% of the time",
             100 * share);
    nvt_finding_append(finding, "%s in all while the GPU is idle", NVT_TIME((double)cold->ns));
    if (cold->launches)
        nvt_finding_append(finding, "; %s first launch%s %s each",
                           NVT_COUNT((double)cold->launches),
                           cold->launches == 1 ? " takes" : "es take",
                           NVT_TIME((double)cold->launch_ns / (double)cold->launches));
    if (cold->loads)
        nvt_finding_append(finding, "; %s other call%s %s", NVT_COUNT((double)cold->loads),
                           cold->loads == 1 ? " takes" : "s take",
                           NVT_TIME((double)(cold->ns - cold->launch_ns)));
    nvt_finding_append(finding, "; the longest, %s, is %.60s",
                       NVT_TIME((double)(apis->end[cold->longest] - apis->start[cold->longest])),
                       nvt_name(view->trace, apis->name[cold->longest]));
    nvt_finding_point_longest(finding, &cold->moments);
}

static int find_cold(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct cold cold = {.longest = NVT_NONE};
    int status =
        begin_cold(&cold, view) ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
    if (!status)
        add_cold_calls(&cold, view);
    double share = (double)cold.ns / nvt_recorded_ns(view->trace, cold.from, view->to);
    if (!status && cold.ns >= LEAST_NS && share >= LEAST_SHARE) {
        tell_cold(view, &cold, share, &finding);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(cold.calls);
    free(cold.work);
    return status;
}

const struct nvt_rule nvt_rule_cold = {
    .cause = "cold start",
    .about = "launches and calls that are slow because they are the first: code is loaded or "
             "compiled, a context is created",
    .means = "Before the loop is steady, the program waits for the driver: a context is created, "
             "modules are loaded, kernels are compiled at their first launch. For a long training "
             "this does not matter; for short programs, tests and servers that scale up it is a "
             "large part of the time.",
    .found = "Calls of 1 ms and more count while no device works for half of them: the first "
             "launch of each kernel, calls that load modules or libraries, and the first call of a "
             "process. Only what comes before the steady part of the loop is looked at; without "
             "iterations, the whole trace. The cost is of the time from the first CUDA call on.",
    .threshold =
        "10 % of the time from the first CUDA call on, and 10 ms, in calls of 1 ms and more before "
        "the steady part (without iterations: in the whole trace): the first launch of a kernel, "
        "calls that load modules or libraries, and the first call of a process; only those with no "
        "device at work for half of them, since a launch may also wait for room in the queue",
    .remedy = "warm up before measuring or profiling (torch.profiler.schedule, or a few untimed "
              "iterations); for short programs load less code, and keep compiled code in a cache",
    .helped =
        "For measurements: iterations that are not timed. For short programs: "
        "CUDA_MODULE_LOADING=LAZY (the default since CUDA 12.2 on Linux) loads only what runs; a "
        "library built for the one architecture in use; caches of compiled code (CUDA_CACHE_PATH, "
        "TORCHINDUCTOR_FX_GRAPH_CACHE=1). For servers: a warm process that is kept.",
    .confused = "Code loading: the same within the steady loop. Warm-up inside: slow first "
                "iterations that were measured, whatever the reason. Time before the first CUDA "
                "call, such as imports, is in nvtally stats -r run_time.",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .is_of_operations = 1,
    .look = find_cold,
};
