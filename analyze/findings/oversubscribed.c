/* CPU oversubscribed: the program's own threads and workers are more than there are processors. */
#include <stdio.h>

#include "../diagnosis/crowd.h"

static void tell_oversubscribed_what(const struct nvt_crowd *crowd, struct nvt_finding *finding)
{
    char workers[48] = "";
    if (crowd->processes)
        snprintf(workers, sizeof(workers), " and %u worker process%s", crowd->processes,
                 crowd->processes > 1 ? "es" : "");
    snprintf(finding->what, sizeof(finding->what), "%u computing thread%s%s on %.0f core%s",
             crowd->threads, crowd->threads == 1 ? "" : "s", workers, crowd->processors,
             crowd->processors > 1 ? "s" : "");
}

static int find_oversubscribed(const struct nvt_rule *rule, const struct nvt_view *view,
                               struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct nvt_crowd crowd;
    if (nvt_crowd_make(&crowd, view, err))
        return -1;
    if (!nvt_is_own_crowd(&crowd))
        return 0;
    finding.cost_ns = (1 - crowd.processors / crowd.ready) * view->span_ns / view->units;
    tell_oversubscribed_what(&crowd, &finding);
    nvt_finding_append(&finding,
                       "%.1f threads of all programs are runnable on average, and the cores are "
                       "busy %.0f %% of the "
                       "time; this program's threads use %.1f of them, most of it process %lld",
                       crowd.ready, crowd.at_work, crowd.own,
                       (long long)view->trace->processes.pid[crowd.process]);
    nvt_crowd_point(&crowd, &finding);
    nvt_finding_about(&finding, "threads");
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_oversubscribed = {
    .cause = "CPU oversubscribed",
    .about = "a program that runs more threads and workers than there are cores",
    .means = "Threads of the program take turns on the cores. Each waits for its turn, caches are "
             "lost, and locks are held by threads that do not run. Fewer threads would be faster.",
    .found = "Runnable threads and utilisation come from --trace machine, and which threads "
             "compute from --trace cpu. A thread counts that takes 2 % of all CPU time. Needs "
             "nvtally record --trace nvtx,cpu,machine.",
    .threshold =
        "1.25 runnable threads per core at 90 % utilisation, or at 50 % where a process has 2 "
        "computing threads per core (record --trace machine), of "
        "which the program's own threads have half and more, and are more than there are "
        "cores (--trace cpu); a thread counts that takes 2 % of the time of all cores. "
        "Where others have most of it, that is busy machine",
    .remedy = "fewer threads, so that they and the workers fit the cores: torch.set_num_threads(), "
              "OMP_NUM_THREADS=, MKL_NUM_THREADS=; fewer workers (num_workers=), each with "
              "torch.set_num_threads(1)",
    .helped = "torch.set_num_threads(1) and OMP_NUM_THREADS=1 in DataLoader workers; one worker "
              "per free core; OMP_WAIT_POLICY=passive, so that waiting threads do not spin; in "
              "containers, thread counts by the cgroup's limit instead of the host's cores.",
    .confused = "Busy machine: other programs use the cores. Serial part is not reported then, "
                "since waiting threads are too many already.",
    .show = "stats -r cpu_threads",
    .confidence = NVT_SEEN,
    .is_whole = 1,
    .needs = NVT_RULE_MACHINE | NVT_RULE_SAMPLES,
    .look = find_oversubscribed,
};
