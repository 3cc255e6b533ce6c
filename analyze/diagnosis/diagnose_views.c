/* What of a trace a rule looks at: its steady part, process by process. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "../../lib/sample.h"
#include "../device/shared.h"
#include "../model/recorded_parts.h"

double nvt_slow_iteration_ns(const struct nvt_view *view, uint32_t first, double *usual)
{
    const uint32_t count = view->iteration_count - first;
    double *values = malloc(((size_t)count + 1) * sizeof(*values));
    if (!values)
        return NAN;
    for (uint32_t i = 0; i < count; i++)
        values[i] = nvt_iteration_ns(view, first + i);
    const double deviation = nvt_sample_deviation(values, count, usual);
    free(values);
    return fmax(1.5 * *usual, *usual + 5 * deviation);
}

static uint32_t process_of_thread(const struct nvt_trace *trace, uint32_t thread)
{
    return thread == NVT_NONE ? NVT_NONE : trace->threads.process[thread];
}

static uint32_t process_of_range(const struct nvt_trace *trace, uint32_t range)
{
    return process_of_thread(trace, trace->ranges.thread[range]);
}

/* Whether a range is one of a process's; NVT_NONE: any is. */
static int is_in(const struct nvt_trace *trace, uint32_t process, uint32_t range)
{
    return process == NVT_NONE || process_of_range(trace, range) == process;
}

/* Mark the processes that enter iterations or, where none does, those that use a device. How many. */
static uint32_t mark_processes(const struct nvt_trace *trace, const uint32_t *iterations,
                               uint32_t iteration_count, unsigned char *is_marked)
{
    uint32_t processes = trace->processes.count, count = 0;
    for (uint32_t i = 0; i < iteration_count; i++) {
        uint32_t process = process_of_range(trace, iterations[i]);
        if (process < processes)
            is_marked[process] = 1;
    }
    for (uint32_t i = 0; i < trace->ops.count && !iteration_count; i++)
        if (trace->ops.process[i] < processes)
            is_marked[trace->ops.process[i]] = 1;
    for (uint32_t i = 0; i < processes; i++)
        count += is_marked[i];
    return count;
}

/* Append the iterations of a process, or all, to `rows`. How many. */
static uint32_t take_iterations(const struct nvt_trace *trace, uint32_t process,
                                const uint32_t *all, uint32_t count, uint32_t *rows)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_in(trace, process, all[i]))
            rows[taken++] = all[i];
    return taken;
}

static int64_t later_end(const struct nvt_view *view, uint32_t thread, int64_t last)
{
    const struct nvt_trace *trace = view->trace;
    int counts = thread != NVT_NONE && nvt_is_viewed_thread(view, thread);
    return counts && trace->threads.ended_ns[thread] > last ? trace->threads.ended_ns[thread]
                                                            : last;
}

/* When the trace ends: what was never closed lasted until its thread ended, or the recording, however long after the
 * last event that was. A window ends where it was cut. */
static int64_t end_of(const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    int64_t last = trace->last_ns;
    for (uint32_t i = 0; i < ranges->count && !trace->is_part; i++)
        if (ranges->flags[i] & NVT_RANGE_UNCLOSED)
            last = later_end(view, ranges->thread[i], last);
    for (uint32_t i = 0; i < calls->count && !trace->is_part; i++)
        if (calls->flags[i] & NVT_RANGE_UNCLOSED)
            last = later_end(view, calls->thread[i], last);
    return trace->cut_ns && trace->cut_ns < last ? trace->cut_ns : last;
}

struct nvt_view nvt_view_of_calls(const struct nvt_view *view)
{
    const struct nvt_os_calls *calls = &view->trace->os_calls;
    struct nvt_view of_calls = *view;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < calls->count; i++) {
        first = calls->start[i] < first ? calls->start[i] : first;
        last = calls->end[i] > last ? calls->end[i] : last;
    }
    of_calls.from = first / 2 + last / 2;
    of_calls.to = last;
    of_calls.span_ns = nvt_recorded_ns(view->trace, of_calls.from, last);
    return of_calls;
}

/* Time of iterations of the steady part, and the part of it in which a process is in any. ns */
struct side {
    double sum, any;
    uint32_t threads, processes; /* that enter them */
};

/* An iteration; `until`: how far its process has been in any, or INT64_MIN. */
static void add_side(struct side *side, const struct nvt_view *view, uint32_t range,
                     unsigned char *is_seen, int64_t *until)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    const int64_t start = ranges->start[range], end = ranges->end[range];
    if (start < view->from || end > view->to)
        return;
    side->threads += !is_seen[ranges->thread[range]];
    side->processes += *until == INT64_MIN;
    is_seen[ranges->thread[range]] = 1;
    const int64_t from = start > *until ? start : *until;
    side->sum += (double)(end - start);
    side->any += end > from ? (double)(end - from) : 0;
    *until = end > *until ? end : *until;
}

/* How many threads of a process are in iterations side by side: then a unit is one of each, as long as a thread's. */
static double side_by_side(const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    struct side side = {0, 0, 0, 0};
    unsigned char *is_seen = calloc((size_t)trace->threads.count + 1, 1);
    int64_t *until = malloc(((size_t)trace->processes.count + 1) * sizeof(*until));
    for (uint32_t i = 0; until && i < trace->processes.count; i++)
        until[i] = INT64_MIN;
    for (uint32_t i = 0; is_seen && until && i < view->iteration_count; i++)
        add_side(&side, view, view->iterations[i], is_seen,
                 &until[process_of_range(trace, view->iterations[i])]);
    free(is_seen);
    free(until);
    return side.any > 0
               ? fmax(1, fmin(round(side.sum / side.any), (double)side.threads / side.processes))
               : 1;
}

void nvt_view_steady_part(struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    view->to = view->iteration_count ? trace->last_ns : end_of(view);
    view->from = trace->first_ns + (view->to - trace->first_ns) / 2;
    view->per = view->iteration_count ? "per iteration" : "in the second half of the trace";
    view->units = nvt_steady_iterations(trace, NVT_NONE, view->iterations, view->iteration_count,
                                        &view->from, &view->to);
    view->units = fmax(view->units / side_by_side(view), 1);
    view->span_ns = nvt_recorded_ns(trace, view->from, view->to);
    if (!(view->span_ns > 0) &&
        trace->os_calls.count) /* of which the trace's extent knows nothing */
        *view = nvt_view_of_calls(view);
}

/* Without iterations, for a rule about single operations: from the first operation to the end of the last one. */
static void find_device_time(struct nvt_view *view)
{
    const struct nvt_ops *ops = &view->trace->ops;
    int is_first = 1;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (!nvt_is_viewed(view, ops->process[i]))
            continue;
        view->from = is_first ? ops->start[i] : view->from;
        view->to = is_first || ops->end[i] > view->to ? ops->end[i] : view->to;
        is_first = 0;
    }
    view->per = "in the trace";
    view->span_ns = nvt_recorded_ns(view->trace, view->from, view->to);
}

static int works(const struct nvt_view *view, const struct nvt_used_device *device)
{
    const struct nvt_ops *ops = &view->trace->ops;
    if (device->users == 1 && !nvt_is_viewed(view, device->process))
        return 0;
    for (uint32_t i = 0; i < device->count && ops->start[device->ops[i]] <= view->to; i++)
        if (ops->end[device->ops[i]] > view->from &&
            nvt_is_viewed(view, ops->process[device->ops[i]]))
            return 1;
    return 0;
}

/* Append the devices that a view uses in its steady part to `devices`. */
static void take_devices(struct nvt_view *view, const struct nvt_used_devices *used,
                         struct nvt_used_device *devices)
{
    view->devices = devices;
    for (uint32_t i = 0; i < used->count; i++)
        if (works(view, &used->items[i]))
            devices[view->device_count++] = used->items[i];
}

/* Append a view of a process, or of all. */
static void add_view(struct nvt_views *views, const struct nvt_rule *rule,
                     const struct nvt_input_trace *from, uint32_t process, const uint32_t *all,
                     uint32_t count)
{
    struct nvt_view view = {.input = from,
                            .trace = from->trace,
                            .process = process,
                            .process_count = 1,
                            .iterations = views->iterations + views->iteration_count};
    view.iteration_count = take_iterations(from->trace, process, all, count,
                                           views->iterations + views->iteration_count);
    views->iteration_count += view.iteration_count;
    nvt_view_steady_part(&view);
    if (rule->is_of_operations && !view.iteration_count)
        find_device_time(&view);
    if (views->devices)
        take_devices(&view, &views->used, views->devices + views->device_count);
    views->device_count += view.device_count;
    views->items[views->count++] = view;
}

static int make_room(struct nvt_views *views, const struct nvt_rule *rule,
                     const struct nvt_trace *trace, const struct nvt_input *input,
                     uint32_t iterations, struct nvt_error *err)
{
    views->items = calloc((size_t)trace->processes.count + 1, sizeof(*views->items));
    views->iterations = malloc(((size_t)iterations + 1) * sizeof(*views->iterations));
    if (!views->items || !views->iterations)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    if (!(rule->needs & NVT_RULE_OPS))
        return 0;
    if (rule->has_gaps ? nvt_used_gpus_make(&views->used, trace, 1, err) ||
                             nvt_shared_work(&views->used, trace, input, err)
                       : nvt_used_devices_make(&views->used, trace, err))
        return -1;
    size_t users = 0; /* one device may be in the views of several */
    for (uint32_t i = 0; i < views->used.count; i++)
        users += views->used.items[i].users;
    views->devices = malloc((users + 1) * sizeof(*views->devices));
    return views->devices ? 0 : nvt_fail_at(err, trace->path, -1, "out of memory");
}

int nvt_views_make(struct nvt_views *views, const struct nvt_rule *rule,
                   const struct nvt_input_trace *from, const struct nvt_input *input,
                   struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    uint32_t count = 0, *all = nvt_iterations(trace, &count);
    unsigned char *is_marked = calloc((size_t)trace->processes.count + 1, 1);
    int status = all && is_marked ? make_room(views, rule, trace, input, count, err)
                                  : nvt_fail_at(err, trace->path, -1, "out of memory");
    uint32_t marked = is_marked && all ? mark_processes(trace, all, count, is_marked) : 0;
    int apart = marked > 1 && !rule->is_whole;
    for (uint32_t i = 0; i < trace->processes.count && apart && !status; i++)
        if (is_marked[i])
            add_view(views, rule, from, i, all, count);
    if (!apart && !status) {
        add_view(views, rule, from, NVT_NONE, all, count);
        views->items[0].process_count = count && marked ? marked : 1;
        /* Processes enter their iterations side by side: a unit is one of each. */
        views->items[0].units = fmax(views->items[0].units / views->items[0].process_count, 1);
    }
    free(is_marked);
    free(all);
    return status;
}

void nvt_views_free(struct nvt_views *views)
{
    free(views->items);
    free(views->iterations);
    free(views->devices);
    nvt_used_devices_free(&views->used);
    *views = (struct nvt_views){0};
}

/* Of the whole, 0: not known. */
static double part_of_time(const struct nvt_finding *finding)
{
    const double share = finding->cost_ns > 0 ? nvt_finding_share(finding) : 0;
    return isnan(share) ? 0 : share;
}

/* What may be as it should comes behind what is not. */
static int class_of(const struct nvt_finding *finding)
{
    return finding->rule && finding->rule->is_fatal ? 0
           : !(finding->cost_ns > 0)                ? 4
           : finding->rule && finding->rule->error  ? 3
           : finding->confidence == NVT_POSSIBLE    ? 2
                                                    : 1;
}

int nvt_findings_by_cost(const void *left, const void *right)
{
    const struct nvt_finding *a = left, *b = right;
    const double share = part_of_time(a), other = part_of_time(b);
    if (class_of(a) != class_of(b))
        return class_of(a) - class_of(b);
    if (share != other)
        return share < other ? 1 : -1;
    if (a->cost_ns != b->cost_ns)
        return a->cost_ns < b->cost_ns ? 1 : -1;
    if (a->cost_bytes != b->cost_bytes)
        return a->cost_bytes < b->cost_bytes ? 1 : -1;
    int order = strcmp(a->cause, b->cause);
    return order ? order : strcmp(a->where, b->where);
}

void nvt_findings_sort(struct nvt_findings *findings, size_t first)
{
    if (findings->count > first + 1)
        qsort(findings->items + first, findings->count - first, sizeof(*findings->items),
              nvt_findings_by_cost);
}

void nvt_finding_append(struct nvt_finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->evidence);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(finding->evidence + used, sizeof(finding->evidence) - used, format, values);
    va_end(values);
}

/* Say of which process a finding is, and how many have it. */
static void tell_process(struct nvt_finding *finding, size_t have, size_t of)
{
    const struct nvt_processes *processes = &finding->trace->processes;
    uint32_t rank = processes->rank[finding->process];
    size_t used = strlen(finding->evidence), room = sizeof(finding->evidence) - used;
    char name[48];
    if (rank != NVT_NONE)
        snprintf(name, sizeof(name), "rank %u", rank);
    else
        snprintf(name, sizeof(name), "process %lld", (long long)processes->pid[finding->process]);
    if (have > 1)
        snprintf(finding->evidence + used, room,
                 "; in %s, the costliest of the %zu that have it, of %zu processes", name, have,
                 of);
    else
        snprintf(finding->evidence + used, room, "; in %s, the only one of %zu processes", name,
                 of);
}

/* Put the costliest of those that are about the same in front, and take the others out. How many. */
static size_t join(struct nvt_findings *findings, size_t at)
{
    struct nvt_finding *best = &findings->items[at];
    size_t kept = at + 1, have = 1;
    for (size_t i = at + 1; i < findings->count; i++) {
        struct nvt_finding next = findings->items[i];
        int is_same = next.process != best->process && nvt_findings_agree(&next, best);
        if (!is_same) {
            findings->items[kept++] = next;
            continue;
        }
        have++;
        if (nvt_findings_by_cost(&next, best) < 0)
            *best = next;
    }
    findings->count = kept;
    return have;
}

void nvt_views_join(struct nvt_findings *findings, size_t first, size_t of)
{
    for (size_t i = first; i < findings->count && of > 1; i++) {
        size_t have = join(findings, i);
        tell_process(&findings->items[i], have, of);
    }
}
