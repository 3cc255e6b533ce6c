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
    snprintf(finding.what, sizeof(finding.what),
             "the hypervisor gave %.0f %% of the processors' time to other machines", taken);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "the kernel's count of stolen time; what ran then took longer by it, however little "
             "else ran here");
    snprintf(finding.remedy, sizeof(finding.remedy),
             "measure on a machine whose processors are its own, or in turns: run --interleave, "
             "several runs a side");
    point_at(view, courses, NVT_MACHINE_STOLEN, LEAST_TAKEN, &finding);
    nvt_finding_about(&finding, "hypervisor");
    return nvt_findings_add(findings, &finding, err);
}

/* "; of that, this program's threads had 1.6 processors", where that is known. */
static void tell_own(const struct nvt_crowd *crowd, struct nvt_finding *finding)
{
    if (crowd->own >= 0)
        nvt_finding_append(finding, "; this program's threads had %.1f of them", crowd->own);
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
             "%.1f threads want to run on %.0f processor%s: each has to wait for its turn",
             crowd.ready, crowd.processors, crowd.processors > 1 ? "s" : "");
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "on average, of this program and of all others; the processors are at work for %.0f %% "
        "of their time",
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
    .about = "processors that other threads or other machines have (record --trace machine)",
    .threshold =
        "5 % of the processors' time given to other machines; or 1.25 threads ready to run for "
        "each processor while these are at work for 90 % of their time: what runs only now and "
        "then beside a program makes less than a quarter of a thread. The cost is that of threads "
        "which wait for a processor as long as all others do",
    .remedy = "fewer threads and workers (OMP_NUM_THREADS=, num_workers=), or end what else runs; "
              "times measured beside other work are not those of the program alone",
    .confidence = NVT_SEEN,
    .is_whole = 1,
    .look = find_machine,
};
