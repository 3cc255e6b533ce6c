/* page-fault-bound: a loop that takes new pages from the system again and again. */
#include <stdio.h>

#include "../diagnosis/counted_loop.h"
#include "../readers/compensate.h"

#define LEAST_SHARE   0.1
#define LEAST_AN_UNIT 10
#define LEAST_COUNT   100

struct paging {
    struct nvt_counted_loop loop;
    double minor, major, minor_ns, major_ns;
};

/* What a minor fault costs in the process of a range, ns; 0: it was not measured. */
static double fault_ns(const struct nvt_trace *trace, uint32_t range)
{
    const uint32_t process = trace->threads.process[trace->ranges.thread[range]];
    return nvt_event_cost_of(trace, process, NVT_COST_FAULT) / 1000.0;
}

/* Of the time that a range does not run, the part of its waits that are major faults: each of them is a wait. */
static double major_ns(const struct nvt_counted_loop *loop, uint32_t range)
{
    const struct nvt_count_values *own = &loop->counted->own[range];
    const double major = (double)own->of[NVT_COUNT_MAJOR_FAULTS],
                 waits = (double)own->of[NVT_COUNT_VOLUNTARY],
                 off = nvt_counted_loop_own_ns(loop, range) - (double)own->of[NVT_COUNT_CPU_TIME];
    if (!(major > 0) || !(off > 0) || own->of[NVT_COUNT_CPU_TIME] < 0)
        return 0;
    return waits > major ? off * major / waits : off;
}

static void measure_paging(struct paging *paging)
{
    const struct nvt_counted_loop *loop = &paging->loop;
    const struct nvt_trace *trace = loop->view->trace;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const struct nvt_count_values *own = &loop->counted->own[i];
        if (!loop->counts[i] || own->of[NVT_COUNT_MINOR_FAULTS] < 0)
            continue;
        const double minor = (double)own->of[NVT_COUNT_MINOR_FAULTS],
                     minor_ns = minor * fault_ns(trace, i), waited = major_ns(loop, i);
        paging->minor += minor;
        paging->major +=
            (double)(own->of[NVT_COUNT_MAJOR_FAULTS] > 0 ? own->of[NVT_COUNT_MAJOR_FAULTS] : 0);
        paging->minor_ns += minor_ns;
        paging->major_ns += waited;
        loop->lost[trace->ranges.name[i]] += minor_ns + waited;
    }
}

static int tell_paging(const struct paging *paging, struct nvt_finding *finding,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_view *view = paging->loop.view;
    const int is_major = paging->major_ns > paging->minor_ns;
    int64_t from, to;
    double of_all;
    const uint32_t name = nvt_counted_loop_most(&paging->loop, &of_all);
    const double ns = (paging->minor_ns + paging->major_ns) / paging->loop.threads;
    finding->cost_ns = ns / view->units;
    nvt_finding_about(finding, nvt_name(view->trace, name));
    snprintf(finding->what, sizeof(finding->what),
             "page faults take %.0f %% of the loop's time, most of it in range %s",
             100 * ns / view->span_ns, finding->subject);
    snprintf(finding->evidence, sizeof(finding->evidence), "%s and %s %s",
             NVT_COUNTED(paging->minor / view->units, "minor fault", "minor faults"),
             NVT_COUNTED(paging->major / view->units, "major fault", "major faults"), view->per);
    if (paging->minor > 0)
        nvt_finding_append(finding,
                           "; a minor fault costs %s at least, as measured when the "
                           "recording began",
                           NVT_TIME(paging->minor_ns / paging->minor));
    if (is_major)
        nvt_finding_append(finding, "; threads wait %s %s for pages from storage",
                           NVT_TIME(paging->major_ns / view->units), view->per);
    nvt_finding_append(finding, "; range %s has %.0f %% of this time", finding->subject,
                       100 * of_all);
    if (view->iteration_count)
        nvt_finding_append(finding, "; counted in the last %u of %u iterations",
                           nvt_steady_iterations(view->trace, NVT_NONE, view->iterations,
                                                 view->iteration_count, &from, &to),
                           view->iteration_count);
    if (is_major)
        snprintf(finding->remedy, sizeof(finding->remedy), "%s",
                 "read files before the loop (MAP_POPULATE, madvise(MADV_WILLNEED), or read() into "
                 "a buffer that is kept), and keep what the loop needs in memory");
    nvt_counted_loop_point(&paging->loop, name,
                           is_major ? NVT_COUNT_MAJOR_FAULTS : NVT_COUNT_MINOR_FAULTS, finding);
    return nvt_findings_add(findings, finding, err);
}

static int find_paging(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct paging paging = {.minor = 0};
    const double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    int status = nvt_counted_loop_make(&paging.loop, view, err);
    if (!status)
        measure_paging(&paging);
    if (!status && paging.loop.threads && paging.minor + paging.major >= least &&
        paging.minor_ns + paging.major_ns >= LEAST_SHARE * view->span_ns * paging.loop.threads)
        status = tell_paging(&paging, &finding, findings, err);
    nvt_counted_loop_free(&paging.loop);
    return status;
}

const struct nvt_rule nvt_rule_paging = {
    .cause = "page-fault-bound",
    .about = "a loop that touches memory which the system has to provide or read first",
    .means =
        "The loop allocates memory, touches it and frees it, in every iteration. Each new page "
        "is a fault, in which the kernel finds a page and fills it with zeros. Major faults "
        "read the page from storage.",
    .found =
        "Page faults of the loop's threads are counted by range. A minor fault counts with what "
        "one "
        "on a new page of 4 KiB cost when the recording began; larger pages cost more. Major "
        "faults "
        "count with the time that their range did not run. Needs nvtally record --trace counters.",
    .threshold = "10 faults per iteration (100 without iterations) and 10 % of the time of the "
                 "loop's threads: the libraries of a loop that keeps its memory fault now and then",
    .remedy = "allocate before the loop and keep the memory; or let malloc keep it: "
              "MALLOC_TRIM_THRESHOLD_=-1 MALLOC_MMAP_MAX_=0 (glibc), or jemalloc or tcmalloc",
    .in_pytorch = "reuse tensors (out=, in-place operators), or LD_PRELOAD jemalloc or tcmalloc, "
                  "which keep freed memory, as PyTorch's performance guide recommends for the CPU",
    .helped = "Buffers that are made once; an allocator that keeps freed memory; huge pages "
              "(madvise, THP) for large arrays; MAP_POPULATE where all of it is used.",
    .confused =
        "Page faults: those are of kernels on managed memory of a GPU. The first iterations "
        "fault in any program: only the second half is looked at.",
    .show = "stats -r nvtx_cpu_counters",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_COUNTS,
    .look = find_paging,
};
