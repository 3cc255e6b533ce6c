/* preempted threads: others take the cores of a loop that would run. */
#include <stdio.h>

#include "../diagnosis/counted_loop.h"

#define LEAST_SHARE   0.1
#define LEAST_AN_UNIT 1
#define LEAST_COUNT   20

struct preempted {
    struct nvt_counted_loop loop;
    double switches, ns;
};

/*
 * A range whose thread never began to wait in it was ready all the time: what it did not run, others did, on its core. Of ranges that
 * also wait, that time is not known apart, and none of it counts.
 */
static void measure_preempted(struct preempted *preempted)
{
    const struct nvt_counted_loop *loop = &preempted->loop;
    const struct nvt_ranges *ranges = &loop->view->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const int64_t *own = loop->counted->own[i].of;
        if (!loop->counts[i] || own[NVT_COUNT_VOLUNTARY] != 0 || own[NVT_COUNT_INVOLUNTARY] <= 0 ||
            own[NVT_COUNT_CPU_TIME] < 0)
            continue;
        const double ns = nvt_counted_loop_own_ns(loop, i) - (double)own[NVT_COUNT_CPU_TIME];
        if (!(ns > 0))
            continue;
        preempted->switches += (double)own[NVT_COUNT_INVOLUNTARY];
        preempted->ns += ns;
        loop->lost[ranges->name[i]] += ns;
    }
}

static int tell_preempted(const struct preempted *preempted, struct nvt_finding *finding,
                          struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_view *view = preempted->loop.view;
    double of_all;
    const uint32_t name = nvt_counted_loop_most(&preempted->loop, &of_all);
    const double ns = preempted->ns / preempted->loop.threads;
    finding->cost_ns = ns / view->units;
    nvt_finding_about(finding, nvt_name(view->trace, name));
    snprintf(finding->what, sizeof(finding->what),
             "other threads have the loop's core for %.0f %% of its time, most of it in range %s",
             100 * ns / view->span_ns, finding->subject);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s %s, each for %s; range %s has %.0f %% of this time; ranges that also wait are "
             "left out, so that it is more",
             NVT_COUNTED(preempted->switches / view->units, "involuntary switch",
                         "involuntary switches"),
             view->per, NVT_TIME(preempted->ns / preempted->switches), finding->subject,
             100 * of_all);
    nvt_counted_loop_point(&preempted->loop, name, NVT_COUNT_INVOLUNTARY, finding);
    return nvt_findings_add(findings, finding, err);
}

static int find_preempted(const struct nvt_rule *rule, const struct nvt_view *view,
                          struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct preempted preempted = {.ns = 0};
    const double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    int status = nvt_counted_loop_make(&preempted.loop, view, err);
    if (!status)
        measure_preempted(&preempted);
    if (!status && preempted.loop.threads && preempted.switches >= least &&
        preempted.ns >= LEAST_SHARE * view->span_ns * preempted.loop.threads)
        status = tell_preempted(&preempted, &finding, findings, err);
    nvt_counted_loop_free(&preempted.loop);
    return status;
}

static const struct nvt_rule *const reasons[] = {&nvt_rule_oversubscribed, &nvt_rule_machine, NULL};

const struct nvt_rule nvt_rule_preempted = {
    .cause = "preempted threads",
    .about = "a loop whose threads are ready to run while other threads have their cores",
    .means = "More threads want to run than there are cores. The kernel takes the core from the "
             "loop's thread (an involuntary context switch) and gives it to another one; the loop "
             "stands until its turn comes.",
    .found = "In a range with involuntary switches in which the thread never began to wait, all "
             "time in which it did not run is time of others. Needs nvtally record --trace "
             "counters.",
    .threshold =
        "1 involuntary switch per iteration (20 without iterations) and 10 % of the time of "
        "the loop's threads: the kernel's own threads take the core for microseconds",
    .remedy = "fewer threads (OMP_NUM_THREADS=, num_workers=), or cores of the loop's own "
              "(taskset, cgroups); whose threads they are: nvtally record --trace cpu,machine",
    .helped = "As many threads and workers as there are cores; in containers, thread counts by the "
              "cgroup's limit; pinning the loop's thread.",
    .confused = "CPU oversubscribed and busy machine say whose threads have the cores, and need "
                "--trace cpu,machine. Time that a hypervisor takes is no switch: see busy machine.",
    .show = "stats -r nvtx_cpu_counters",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_COUNTS,
    .reasons = reasons,
    .look = find_preempted,
};
