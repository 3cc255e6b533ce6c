#include "crowd.h"

#include <math.h>
#include <stdlib.h>

#include "../device/machine_load.h"

/* Processor time in the steady part, ns: of each thread, and of each process behind them. NULL when out of memory. */
static double *processor_times(const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    double *ns = calloc((size_t)trace->threads.count + trace->processes.count + 1, sizeof(*ns));
    for (uint32_t i = 0; ns && i < samples->count; i++) {
        uint32_t thread = samples->thread[i];
        if (samples->time[i] < view->from || samples->time[i] > view->to)
            continue;
        ns[thread] += (double)samples->cpu_ns[i];
        ns[trace->threads.count + trace->threads.process[thread]] += (double)samples->cpu_ns[i];
    }
    return ns;
}

static void count(struct nvt_crowd *crowd, const struct nvt_view *view, const double *ns)
{
    const struct nvt_trace *trace = view->trace;
    const double *of_process = ns + trace->threads.count;
    const double least = NVT_CROWD_THREAD * crowd->processors * view->span_ns;
    crowd->own = 0;
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        crowd->own += of_process[i] / view->span_ns;
        if (crowd->process == NVT_NONE || of_process[i] > of_process[crowd->process])
            crowd->process = i;
    }
    for (uint32_t i = 0; i < trace->processes.count; i++)
        crowd->processes += i != crowd->process && of_process[i] >= least;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        crowd->threads += trace->threads.process[i] == crowd->process && ns[i] >= least;
}

static void find_moments(struct nvt_crowd *crowd, const struct nvt_view *view,
                         const struct nvt_counter_courses *courses)
{
    const struct nvt_counter_course *course =
        &courses->items[nvt_machine_host_counter(view->trace, NVT_MACHINE_RUNNABLE)];
    for (uint32_t i = 0; i < course->count && crowd->moment_count < NVT_MOMENTS; i++)
        if (course->level[i] >= NVT_CROWD_READY * crowd->processors &&
            nvt_is_steady(view, course->time[i]))
            crowd->moments[crowd->moment_count++] = course->time[i];
}

void nvt_crowd_point(const struct nvt_crowd *crowd, struct nvt_finding *finding)
{
    for (uint32_t i = 0; i < crowd->moment_count; i++)
        nvt_finding_point(finding, crowd->moments[i]);
}

int nvt_crowd_make(struct nvt_crowd *crowd, const struct nvt_view *view, struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    *crowd = (struct nvt_crowd){.own = NAN, .process = NVT_NONE};
    int has = nvt_machine_courses(view->trace, &courses, err);
    if (has > 0) {
        crowd->ready = nvt_machine_host_average(view->trace, &courses, NVT_MACHINE_RUNNABLE,
                                                view->from, view->to);
        crowd->processors = nvt_machine_host_average(view->trace, &courses, NVT_MACHINE_PROCESSORS,
                                                     view->from, view->to);
        crowd->at_work =
            nvt_machine_host_average(view->trace, &courses, NVT_MACHINE_BUSY, view->from, view->to);
    }
    const int is_ready = has > 0 && crowd->ready >= NVT_CROWD_READY * crowd->processors;
    const int has_samples = view->trace->cpu_samples.count > 0;
    double *ns = is_ready && has_samples ? processor_times(view) : NULL;
    if (ns)
        count(crowd, view, ns);
    crowd->is_crowded = is_ready && (crowd->at_work >= NVT_CROWD_AT_WORK ||
                                     (crowd->threads >= NVT_CROWD_TEAM * crowd->processors &&
                                      crowd->at_work >= NVT_CROWD_TEAM_AT_WORK));
    if (crowd->is_crowded)
        find_moments(crowd, view, &courses);
    nvt_counter_courses_free(&courses);
    free(ns);
    if (is_ready && has_samples && !ns)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    return has < 0 ? -1 : 0;
}

int nvt_is_own_crowd(const struct nvt_crowd *crowd)
{
    return crowd->is_crowded && crowd->own >= 0.5 * crowd->processors * crowd->at_work / 100 &&
           crowd->threads + crowd->processes > crowd->processors;
}
