/* GPU idle: the device has nothing to do while the CPU runs non-CUDA code. */
#include <stdio.h>
#include <string.h>

#include "../device/gaps.h"
#include "../diagnosis/diagnose.h"
#include "../diagnosis/blocking.h"
#include "../diagnosis/places.h"
#include "../diagnosis/running.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3
#define LEAST_PLACE 0.3 /* of the gaps' time, for a range to be named */

struct host {
    const struct nvt_trace *trace;
    struct nvt_thread_ranges ranges;
    struct nvt_buckets calls; /* of the system's libraries: rows of each thread, by their starts */
    struct nvt_places in_ranges, in_calls; /* by name */
    struct nvt_places in_files;            /* by name of the call and file */
    struct nvt_buckets mpi_calls;          /* rows of each thread, by their starts */
    struct nvt_places in_mpi;              /* all calls of MPI in one place */
    uint64_t gaps;
    int64_t ns; /* of all gaps */
    int failed;
};

static void add_idle_range(struct host *host, const struct nvt_span *gap, uint32_t range)
{
    const struct nvt_ranges *ranges = &host->trace->ranges;
    const struct nvt_span span = {ranges->start[range], ranges->end[range]};
    host->failed |=
        nvt_places_add(&host->in_ranges, ranges->name[range], host->gaps, gap, &span) != 0;
}

/* The ranges that are open where it begins, outer before inner, and those that begin within it. */
static void add_idle_ranges(struct host *host, const struct nvt_span *gap, uint32_t thread)
{
    const struct nvt_buckets *threads = &host->ranges.threads;
    const int64_t *starts = host->trace->ranges.start;
    uint32_t open[NVT_NESTING_DEPTH];
    uint32_t depth = nvt_thread_ranges_open(&host->ranges, thread, gap->start, open);
    while (depth)
        add_idle_range(host, gap, open[--depth]);
    uint32_t at = nvt_buckets_behind(threads, thread, starts, gap->start);
    for (; at < threads->first[thread + 1] && starts[threads->rows[at]] < gap->end; at++)
        add_idle_range(host, gap, threads->rows[at]);
}

/* A call's name, and its file with it. */
static uint64_t key_of_file(uint32_t name, uint32_t file)
{
    return (uint64_t)name << 32 | file;
}

/* Calls of a thread follow each other: one at most is open where the gap begins. */
static void add_idle_calls(struct host *host, const struct nvt_span *gap, uint32_t thread)
{
    const struct nvt_os_calls *calls = &host->trace->os_calls;
    const uint32_t *rows = host->calls.rows, *first = host->calls.first;
    uint32_t at = nvt_buckets_from(&host->calls, thread, calls->start, gap->start);
    at -= at > first[thread];
    for (; at < first[thread + 1] && calls->start[rows[at]] < gap->end; at++) {
        const struct nvt_span span = {calls->start[rows[at]], calls->end[rows[at]]};
        uint32_t name = calls->name[rows[at]], file = calls->file[rows[at]];
        host->failed |= nvt_places_add(&host->in_calls, name, host->gaps, gap, &span) != 0;
        if (file)
            host->failed |= nvt_places_add(&host->in_files, key_of_file(name, file), host->gaps,
                                           gap, &span) != 0;
    }
}

/* Calls of MPI, which do not lie in each other. */
static void add_mpi(struct host *host, const struct nvt_span *gap, uint32_t thread)
{
    const struct nvt_mpi_calls *calls = &host->trace->mpi_calls;
    const uint32_t *rows = host->mpi_calls.rows, *first = host->mpi_calls.first;
    uint32_t at = nvt_buckets_from(&host->mpi_calls, thread, calls->start, gap->start);
    at -= at > first[thread];
    for (; at < first[thread + 1] && calls->start[rows[at]] < gap->end; at++) {
        const struct nvt_span span = {calls->start[rows[at]], calls->end[rows[at]]};
        host->failed |= nvt_places_add(&host->in_mpi, 0, host->gaps, gap, &span) != 0;
    }
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    struct host *host = context;
    const struct nvt_span span = {gap->start, gap->end};
    host->gaps++;
    host->ns += gap->end - gap->start;
    if (gap->thread == NVT_NONE)
        return;
    add_idle_ranges(host, &span, gap->thread);
    add_idle_calls(host, &span, gap->thread);
    add_mpi(host, &span, gap->thread);
}

/* 0, or -1 when out of memory. */
static int begin_idle(struct host *host)
{
    const struct nvt_os_calls *calls = &host->trace->os_calls;
    if (nvt_thread_ranges_make(&host->ranges, host->trace, NULL))
        return -1;
    const struct nvt_mpi_calls *mpi = &host->trace->mpi_calls;
    const uint32_t threads = host->trace->threads.count;
    return nvt_buckets_make(&host->calls, calls->thread, threads, NULL, calls->count) ||
                   nvt_buckets_make(&host->mpi_calls, mpi->thread, threads, NULL, mpi->count)
               ? -1
               : 0;
}

static void free_host(struct host *host)
{
    nvt_thread_ranges_free(&host->ranges);
    nvt_buckets_free(&host->calls);
    nvt_places_free(&host->in_ranges);
    nvt_places_free(&host->in_calls);
    nvt_places_free(&host->in_files);
    nvt_buckets_free(&host->mpi_calls);
    nvt_places_free(&host->in_mpi);
}

/* The file of at least half of a call's time; 0: there is none, or it is not known. */
static uint32_t file_of(const struct host *host, const struct nvt_place *call)
{
    for (uint32_t i = 0; call && i < host->in_files.count; i++) {
        const struct nvt_place *file = &host->in_files.items[i];
        if (file->key >> 32 == call->key && file->ns >= call->ns - file->ns)
            return (uint32_t)file->key;
    }
    return 0;
}

/* Behind what is told already, as much of it as there is room for. */
static void tell_file(const struct nvt_trace *trace, uint32_t file, struct nvt_finding *finding)
{
    static const char of[] = " of ";
    char text[NVT_FILE_TEXT_MAX];
    size_t used = strlen(finding->what), room = sizeof(finding->what) - used;
    if (file && room > sizeof(of))
        snprintf(finding->what + used, room, "%s%s", of,
                 nvt_file_text(nvt_name(trace, file), room - sizeof(of), text));
}

/* Whether the host did not work in a gap for most of the time, ns in all: it waited for requests, outside of a training loop, as a
 * server should; or it was in MPI, which another rule tells of. */
static int is_no_work(const struct nvt_view *view, const struct host *host)
{
    const struct nvt_place *call = nvt_places_best(&host->in_calls, host->ns);
    const char *name = call ? nvt_name(view->trace, (uint32_t)call->key) : "";
    return (!view->iteration_count && nvt_blocking_kind(name, "") == NVT_OS_POLL) ||
           nvt_places_best(&host->in_mpi, host->ns) != NULL;
}

/* The range that the host was in, of the shortest instances of those for half of the time, or else the one for most of it. */
static const struct nvt_place *place_of(const struct host *host)
{
    const struct nvt_place *best = nvt_places_best(&host->in_ranges, host->ns);
    const struct nvt_place *most = nvt_places_most(&host->in_ranges);
    return best || !most || (double)most->ns < LEAST_PLACE * (double)host->ns ? best : most;
}

/* Where the host was, into the finding. 1, 0 if it is none, or -1 when out of memory. */
static int find_place(const struct nvt_view *view, struct nvt_finding *finding)
{
    struct host host = {.trace = view->trace};
    struct nvt_gap_sum sum = {.cause = NVT_GAP_HOST, .each = add_gap, .context = &host};
    char part[24] = "", inside[76] = "";
    int failed = begin_idle(&host) || nvt_view_gaps(view, &sum, NULL) || host.failed;
    const struct nvt_place *best = failed ? NULL : place_of(&host);
    const struct nvt_place *call = failed ? NULL : nvt_places_best(&host.in_calls, host.ns);
    if (best)
        nvt_finding_about(finding, nvt_name(view->trace, (uint32_t)best->key));
    if (best && (double)best->ns < 0.9 * (double)host.ns)
        snprintf(part, sizeof(part), ", %.0f %% of it", 100 * (double)best->ns / (double)host.ns);
    if (call)
        snprintf(inside, sizeof(inside), ", for %.0f %% of that time in %.36s()",
                 100 * (double)call->ns / (double)host.ns,
                 nvt_name(view->trace, (uint32_t)call->key));
    snprintf(finding->what, sizeof(finding->what),
             "GPU is idle while the CPU runs other code%s%s%s%.80s%s", call ? " or waits" : "",
             part, best ? " in range " : "", finding->subject, inside);
    tell_file(view->trace, file_of(&host, call), finding);
    const int is_told = !failed && !is_no_work(view, &host);
    free_host(&host);
    return failed ? -1 : is_told;
}

static int find_idle(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_HOST};
    if (nvt_view_gaps(view, &sum, err))
        return -1;
    if (sum.count < LEAST_COUNT || sum.usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    const int is_told = find_place(view, &finding);
    if (is_told <= 0)
        return is_told ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s %s, %s each, %.0f %% of the GPU's time, while the launching thread ran non-CUDA "
             "code; the longest %s",
             NVT_COUNTED((double)sum.count / view->units, "gap", "gaps"), view->per,
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * sum.share,
             NVT_TIME((double)sum.longest_ns[0]));
    if (nvt_running_tell_gaps(view, NVT_GAP_HOST, &finding, err))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

static const struct nvt_rule *const reasons[] = {&nvt_rule_ranks,    &nvt_rule_input,
                                                 &nvt_rule_blocked,  &nvt_rule_busy,
                                                 &nvt_rule_serial,   &nvt_rule_between,
                                                 &nvt_rule_periodic, &nvt_rule_oversubscribed,
                                                 &nvt_rule_machine,  NULL};

const struct nvt_rule nvt_rule_idle = {
    .cause = "GPU idle",
    .about = "gaps in which the launching thread runs its own code: data, logging, checks",
    .means = "The GPU has finished all it was given, and the thread that launches is busy "
             "elsewhere: it prepares data, writes logs, computes metrics, or waits for another "
             "thread. The GPU idles as long as that takes.",
    .found = "A gap of 100 µs or more counts if the thread that launches the next operation was in "
             "no CUDA call for most of it. The finding names the shortest push/pop range that "
             "holds half of that time, with its share if that is below 90 %. With OS calls "
             "(--trace osrt) it names the call and the file with half of it; with --trace cpu, the "
             "functions that ran and who called them.",
    .threshold = "10 % of the device's time, in at least 3 gaps of 100 µs or more, even with the "
                 "two longest cut to the mean of the rest: one gap is not a loop, and shorter ones "
                 "are the launching itself. Not where the host waits for requests outside of "
                 "iterations (epoll_wait, accept), nor in MPI",
    .remedy = "do that work on another thread, or one iteration ahead, or after the launches of "
              "the iteration instead of before them",
    .helped = "DataLoader workers with pin_memory=True and a prefetcher that copies the next batch "
              "while the current one runs. Metrics and logs every n-th iteration, from values that "
              "are already on the host. Launching the next iteration before the bookkeeping of the "
              "last one. Moving preprocessing to the GPU.",
    .confused = "Launch-bound: many gaps below 100 µs, between launches. Sync-bound: the gap "
                "follows a wait for the GPU. Stalled device: the next operation had been launched "
                "already. If the trace has OS calls or CPU samples, host blocked and busy host say "
                "what the CPU does, and this finding names them as its reason.",
    .reasons = reasons,
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_idle,
};
