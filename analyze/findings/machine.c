/* busy machine: processors that others have while the program runs. */
#include <math.h>
#include <stdio.h>

#include "../device/machine_load.h"
#include "../diagnosis/crowd.h"
#include "../diagnosis/diagnose.h"

#define LEAST_TAKEN 5 /* % */

/* Where a quantity, which has an average, was at least that much. */
static void point_at(const struct nvt_view *view, const struct nvt_counter_courses *courses,
                     enum nvt_machine_host id, double least, struct nvt_finding *finding)
{
    const struct nvt_counter_course *course =
        &courses->items[nvt_machine_host_counter(view->trace, id)];
    for (uint32_t i = 0; i < course->count; i++)
        if (course->level[i] >= least && nvt_is_steady(view, course->time[i]))
            nvt_finding_point(finding, course->time[i]);
}

/* Look for processor time that the hypervisor has taken. */
static int look_for_taken(const struct nvt_rule *rule, const struct nvt_view *view,
                          const struct nvt_counter_courses *courses, struct nvt_findings *findings,
                          struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    double taken =
        nvt_machine_host_average(view->trace, courses, NVT_MACHINE_STOLEN, view->from, view->to);
    if (!(taken >= LEAST_TAKEN))
        return 0;
    finding.cost_ns = taken / 100 * view->span_ns / view->units;
    snprintf(finding.what, sizeof(finding.what), "CPU steal time is %.0f %%", taken);
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "the hypervisor ran other machines then, by the kernel's count; what ran here took longer "
        "by it");
    snprintf(
        finding.remedy, sizeof(finding.remedy),
        "measure on a machine with dedicated cores, or interleaved: run --interleave, several runs "
        "per side");
    point_at(view, courses, NVT_MACHINE_STOLEN, LEAST_TAKEN, &finding);
    nvt_finding_about(&finding, "hypervisor");
    return nvt_findings_add(findings, &finding, err);
}

/* "; of that, this program's threads had 1.6 processors", where that is known. */
static void tell_own(const struct nvt_crowd *crowd, struct nvt_finding *finding)
{
    if (crowd->own >= 0)
        nvt_finding_append(finding, "; this program's threads used %.1f cores", crowd->own);
}

static int look_for_ready(const struct nvt_rule *rule, const struct nvt_view *view,
                          struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct nvt_crowd crowd;
    if (nvt_crowd_make(&crowd, view, err))
        return -1;
    if (!crowd.is_crowded || nvt_is_own_crowd(&crowd)) /* the rule `oversubscribed` tells that */
        return 0;
    finding.cost_ns = (1 - crowd.processors / crowd.ready) * view->span_ns / view->units;
    snprintf(finding.what, sizeof(finding.what),
             "%.1f runnable threads on %.0f core%s: the CPU is oversubscribed", crowd.ready,
             crowd.processors, crowd.processors > 1 ? "s" : "");
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "on average, of this program and of all others; the cores are busy %.0f %% of the time",
        crowd.at_work);
    tell_own(&crowd, &finding);
    nvt_crowd_point(&crowd, &finding);
    nvt_finding_about(&finding, "threads");
    return nvt_findings_add(findings, &finding, err);
}

static int find_machine(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    int has = nvt_machine_courses(view->trace, &courses, err);
    int failed = has < 0 || (has && (look_for_taken(rule, view, &courses, findings, err) ||
                                     look_for_ready(rule, view, findings, err)));
    nvt_counter_courses_free(&courses);
    return failed ? -1 : 0;
}

const struct nvt_rule nvt_rule_machine = {
    .cause = "busy machine",
    .about = "cores that other programs or other machines use (record --trace machine)",
    .means = "More threads are runnable than there are cores, or the hypervisor gives the cores to "
             "other machines. Everything takes longer than on an idle machine, and differently "
             "each time.",
    .found = "Runnable threads, CPU utilisation and steal time of the kernel are averaged over the "
             "loop. With --trace cpu, the finding shows how many cores the program itself used. "
             "Needs nvtally record --trace machine.",
    .threshold = "5 % steal time; or 1.25 runnable threads per core at 90 % utilisation: what runs "
                 "only now and then next to a program makes less than a quarter of a thread. The "
                 "cost is that of threads which wait for a core as long as all others do",
    .remedy = "fewer threads and workers (OMP_NUM_THREADS=, num_workers=), or end what else runs; "
              "times measured next to other work are not those of the program alone",
    .helped = "A reserved node or cpuset; taskset and numactl; ending other jobs. For measurements "
              "on shared machines, interleaved runs of both sides and medians.",
    .confused = "CPU oversubscribed: the program's own threads are too many. Serial part and slow "
                "iterations may only be effects of a busy machine.",
    .show = "stats -r machine",
    .confidence = NVT_SEEN,
    .is_whole = 1,
    .needs = NVT_RULE_MACHINE,
    .look = find_machine,
};
