/* slow clock: what holds a device's clock down while it works. */
#include <math.h>
#include <stdio.h>

#include "../../lib/count_of.h"
#include "../device/machine_load.h"
#include "../diagnosis/diagnose.h"

#define LEAST_WORK    0.1  /* of the time */
#define LEAST_LIMITED 0.25 /* of the work */
#define MOST_CLOCK    0.95 /* of the highest */

/* Averages over the time in which a device works. */
struct clocks {
    double work_ns, clock, most, limited, power, power_limit, temperature;
    enum nvt_machine_gpu by;
};

struct holder {
    enum nvt_machine_gpu by;
    const char *what, *remedy;
};

static const struct holder holders[] = {
    {NVT_MACHINE_BY_POWER, "the power limit",
     "a higher power limit where that is allowed (nvidia-smi -q -d POWER), lower precision (tf32, "
     "bf16, fp8); compare only runs at one clock"},
    {NVT_MACHINE_BY_HEAT, "heat",
     "better cooling, fewer busy neighbours; compare only runs at one clock"},
    {NVT_MACHINE_BY_HARDWARE, "a board slowdown",
     "look at its power supply and cooling (nvidia-smi -q -d PERFORMANCE)"},
    {NVT_MACHINE_BY_SETTING, "a setting",
     "nvidia-smi -q -d CLOCK shows the application clocks; nvidia-smi -rac resets them"},
};

static double average(const struct nvt_view *view, const struct nvt_used_device *device,
                      const struct nvt_counter_courses *courses, enum nvt_machine_gpu id,
                      double *ns)
{
    struct nvt_machine_sum sum = {0, 0};
    uint32_t gpu = nvt_device_gpu(view->trace, device->process, device->device);
    nvt_machine_add_work(view->trace, device, courses,
                         nvt_machine_gpu_counter(view->trace, gpu, id), view->from, view->to, &sum);
    *ns = sum.ns;
    return nvt_machine_average(&sum);
}

/* Which holder holds it the longest, NULL: none is on record. */
static const struct holder *find_holder(const struct nvt_view *view,
                                        const struct nvt_used_device *device,
                                        const struct nvt_counter_courses *courses,
                                        struct clocks *clocks)
{
    const struct holder *found = NULL;
    double ns;
    clocks->limited = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(holders); i++) {
        double share = average(view, device, courses, holders[i].by, &ns);
        if (share > clocks->limited) {
            clocks->limited = share;
            found = &holders[i];
        }
    }
    clocks->clock = average(view, device, courses, NVT_MACHINE_SM_CLOCK, &clocks->work_ns);
    clocks->most = average(view, device, courses, NVT_MACHINE_SM_CLOCK_MOST, &ns);
    clocks->power = average(view, device, courses, NVT_MACHINE_POWER, &ns);
    clocks->power_limit = average(view, device, courses, NVT_MACHINE_POWER_LIMIT, &ns);
    clocks->temperature = average(view, device, courses, NVT_MACHINE_TEMPERATURE, &ns);
    return found;
}

/* Where it was held. */
static void point_at(const struct nvt_view *view, const struct nvt_used_device *device,
                     const struct nvt_counter_courses *courses, enum nvt_machine_gpu by,
                     struct nvt_finding *finding)
{
    uint32_t gpu = nvt_device_gpu(view->trace, device->process, device->device);
    const struct nvt_counter_course *course =
        &courses->items[nvt_machine_gpu_counter(view->trace, gpu, by)];
    for (uint32_t i = 0; i < course->count; i++)
        if (course->level[i] > 0 && nvt_is_steady(view, course->time[i]))
            nvt_finding_point(finding, course->time[i]);
}

static int look_at(const struct nvt_rule *rule, const struct nvt_view *view,
                   const struct nvt_used_device *device, const struct nvt_counter_courses *courses,
                   struct nvt_findings *findings, struct nvt_error *err)
{
    struct clocks clocks;
    char name[200];
    struct nvt_finding finding = nvt_finding_of(rule, view);
    const struct holder *holder = find_holder(view, device, courses, &clocks);
    /* Not less than: what is unknown is no trouble. */
    if (!holder || !(clocks.limited >= LEAST_LIMITED) ||
        !(clocks.work_ns >= LEAST_WORK * view->span_ns) ||
        !(clocks.clock <= MOST_CLOCK * clocks.most))
        return 0;
    nvt_device_words(view->trace, device->process, device->device, name, sizeof(name));
    finding.cost_ns = clocks.work_ns * (1 - clocks.clock / clocks.most) / view->units;
    snprintf(finding.what, sizeof(finding.what),
             "%s throttles %.120s to %.0f MHz under load (maximum %.0f MHz)", holder->what, name,
             clocks.clock, clocks.most);
    int used =
        snprintf(finding.evidence, sizeof(finding.evidence),
                 "throttled for %.0f %% of the time in which it works", 100 * clocks.limited);
    if (clocks.power > 0 && clocks.power_limit > 0)
        used += snprintf(finding.evidence + used, sizeof(finding.evidence) - (size_t)used,
                         "; %.0f of %.0f W", clocks.power, clocks.power_limit);
    if (clocks.temperature > 0)
        snprintf(finding.evidence + used, sizeof(finding.evidence) - (size_t)used, "; %.0f °C",
                 clocks.temperature);
    snprintf(finding.remedy, sizeof(finding.remedy), "%s", holder->remedy);
    point_at(view, device, courses, holder->by, &finding);
    nvt_finding_about(&finding, holder->what);
    return nvt_findings_add(findings, &finding, err);
}

static int find_clocks(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    int has = nvt_machine_courses(view->trace, &courses, err), status = has < 0 ? -1 : 0;
    for (uint32_t i = 0; has > 0 && i < view->device_count && !status; i++)
        status = look_at(rule, view, &view->devices[i], &courses, findings, err);
    nvt_counter_courses_free(&courses);
    return status;
}

const struct nvt_rule nvt_rule_clocks = {
    .cause = "slow clock",
    .about = "a GPU whose clock is throttled under load (record --trace machine)",
    .means = "The GPU runs below its maximum clock because of its power limit, heat, a board "
             "slowdown or a setting. Work that scales with the clock takes longer by that ratio. "
             "Runs at different clocks cannot be compared.",
    .found = "NVML's clock and throttle reasons are averaged over the time in which the device "
             "works. The finding names the reason that holds the longest, with power and "
             "temperature. Needs nvtally record --trace machine.",
    .threshold =
        "25 % of the time in which it works, which is 10 % of the time at least, and a clock of 95 "
        "% of its maximum or less: what a limit takes below that is within the noise of most "
        "measurements. The cost is that of work which scales with the clock",
    .remedy = "better cooling or a higher power limit; compare only runs at one clock",
    .helped = "nvidia-smi -pl within what the board allows; locked clocks (nvidia-smi -lgc) for "
              "measurements; lower precision; better airflow; fewer jobs on one board.",
    .confused = "A GPU under a power limit is normal for large GEMMs: it works as fast as its "
                "power allows. Memory-bound work does not scale with this clock, so the cost is an "
                "upper bound there.",
    .show = "stats -r machine",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .look = find_clocks,
};
