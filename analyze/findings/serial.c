/* serial part: one thread of several works alone for much of the time, and the others wait for it. */
#include <stdio.h>

#include "../diagnosis/crowd.h"
#include "../diagnosis/running.h"
#include "../diagnosis/serial.h"

/* The range that holds most of the serial part; "" if none does. */
static const char *range_of(const struct nvt_view *view, const struct nvt_serial *serial,
                            double *share)
{
    const struct nvt_pair *most = nvt_pairs_most(&serial->ranges, 0);
    *share = most ? (double)most->weight / serial->ns : 0;
    return most ? nvt_name(view->trace, most->part) : "";
}

static void tell_serial_what(const struct nvt_view *view, const struct nvt_serial *serial,
                             struct nvt_finding *finding)
{
    double share;
    const char *range = range_of(view, serial, &share);
    char part[32] = "";
    nvt_finding_about(finding, range);
    if (share < 0.9)
        snprintf(part, sizeof(part), ", %.0f %% of that", 100 * share);
    snprintf(finding->what, sizeof(finding->what),
             "one of %u threads works alone %.0f %% of the time%s%s%.120s, and %s",
             serial->others + 1, 100 * serial->ns / serial->inside_ns, *range ? part : "",
             *range ? " in range " : "", range,
             serial->others == 1 ? "the other one waits" : "the others wait");
}

/* The range with most of the rest, where that is much. */
static void tell_next_range(const struct nvt_view *view, const struct nvt_serial *serial,
                            struct nvt_finding *finding)
{
    const struct nvt_pair *next = serial->ranges.first[1] > 1 ? &serial->ranges.items[1] : NULL;
    if (next && next->part && (double)next->weight >= 0.1 * serial->ns)
        nvt_finding_append(finding, "; %.0f %% of it in range %.80s",
                           100 * (double)next->weight / serial->ns,
                           nvt_name(view->trace, next->part));
}

static void tell_serial_evidence(const struct nvt_view *view, const struct nvt_serial *serial,
                                 struct nvt_finding *finding)
{
    const struct nvt_pair *call = nvt_pairs_most(&serial->calls, 0);
    const double whole = serial->inside_ns / view->units, part = serial->ns / view->units;
    nvt_finding_append(finding, "%s of %s %s, the longest %s", NVT_TIME(part), NVT_TIME(whole),
                       view->per, NVT_TIME(serial->longest.ns[0]));
    tell_next_range(view, serial, finding);
    if (call)
        nvt_finding_append(finding, "; %u thread%s wait%s, most in %.40s()", serial->others,
                           serial->others == 1 ? "" : "s", serial->others == 1 ? "s" : "",
                           nvt_name(view->trace, call->part));
    nvt_finding_append(
        finding,
        "; two or more threads work %.0f %% of the time, up to %u at once; spread over "
        "%u, %s would take %s at best (Amdahl: T - S + S/n)",
        100 * serial->parallel_ns / serial->inside_ns, serial->at_once, serial->at_once,
        view->iteration_count ? "an iteration" : "that half of the trace",
        NVT_TIME(whole - nvt_serial_gain(serial) / view->units));
}

/* 0, or -1 when out of memory. */
static int tell_functions(const struct nvt_view *view, const struct nvt_serial *serial,
                          struct nvt_finding *finding)
{
    struct nvt_running running = {.is_taken = NULL};
    int failed = nvt_running_begin(&running, view->trace);
    for (uint32_t i = 0; i < serial->count && !failed; i++)
        nvt_running_add(&running, serial->thread, serial->items[i].start, serial->items[i].end);
    failed = failed || nvt_running_tell(&running, finding);
    nvt_running_free(&running);
    return failed;
}

static int find_serial(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_serial serial = {0};
    struct nvt_crowd crowd;
    if (nvt_crowd_make(&crowd, view, err))
        return -1;
    /* Threads that wait for a processor are too many already: the rule `machine` says so. */
    int status = crowd.is_crowded ? 0 : nvt_serial_find(&serial, view);
    if (status > 0) {
        struct nvt_finding finding = nvt_finding_of(rule, view);
        finding.cost_ns = nvt_serial_gain(&serial) / view->units;
        tell_serial_what(view, &serial, &finding);
        tell_serial_evidence(view, &serial, &finding);
        nvt_finding_point_longest(&finding, &serial.longest);
        status =
            tell_functions(view, &serial, &finding) || nvt_findings_add(findings, &finding, err)
                ? -1
                : 0;
    }
    nvt_serial_free(&serial);
    return status < 0 ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_serial = {
    .cause = "serial part",
    .about =
        "a part of a loop in which one thread works while those it works with at other times wait",
    .means = "The threads of a parallel loop wait for one of them, which does its part alone. "
             "However many cores are added, that part takes as long as it does: it bounds the "
             "speed-up (Amdahl's law).",
    .found =
        "When threads work is known from the calls in which they wait (--trace nvtx,osrt), else "
        "from samples (nvtx,cpu), else from their ranges. The other threads count if the loop's "
        "thread waits for them. An iteration of T with a serial part of S takes at best T - S + "
        "S/n, where n is how many threads work at once for 5 % of the time or more. The finding "
        "names the range with most of the part, what the others wait in, and with samples the "
        "functions. Waits that are not recorded, such as libgomp's barriers, look like work to "
        "osrt; cpu sees them unless they spin (OMP_WAIT_POLICY=passive). Where other programs use "
        "the CPU, the rule may stay silent.",
    .threshold =
        "15 % of the time that spreading that part over all threads would save, in at least 3 "
        "parts, even with the two longest cut to the mean of the rest; and two threads or more "
        "work for 10 % of the time: what is serial throughout has no threads to spread it over. "
        "Threads count that the loop waits for: it continues when their work is done. Not those "
        "that never work, or that work ahead (load data), nor while a device works",
    .remedy = "distribute that part over the threads (more parallel loops, a tree reduction), or "
              "overlap it with the parallel part of the next iteration; then measure again: what "
              "is left bounds what more threads can do",
    .helped = "Parallel reductions and merges instead of one thread that collects all results; "
              "parallel setup of the next batch; pipelining the serial part with the next "
              "iteration; thread-local results that are combined less often.",
    .confused = "Lock contention (host blocked): the others wait for a lock and not for this "
                "thread's work. CPU oversubscribed: all threads work, but take turns on the cores. "
                "Data loaders work ahead and do not count.",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OS_CALLS,
    .look = find_serial,
};
