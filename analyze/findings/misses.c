/* memory-bound code: ranges in which the core waits for memory, by hardware counters. */
#include <stdio.h>
#include <stdlib.h>

#include "../diagnosis/counted_loop.h"

#define LEAST_SHARE 0.2
#define LEAST_MPKI  10
#define MOST_IPC    0.5

/* Sums over ranges of one name. */
struct code {
    double cycles, instructions, misses, cpu_ns;
};

static void add_code(struct code *codes, const struct nvt_counted_loop *loop)
{
    const struct nvt_ranges *ranges = &loop->view->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const int64_t *own = loop->counted->own[i].of;
        struct code *code = &codes[ranges->name[i]];
        if (!loop->counts[i] || own[NVT_COUNT_CYCLES] < 0 || own[NVT_COUNT_INSTRUCTIONS] < 0 ||
            own[NVT_COUNT_CACHE_MISSES] < 0 || own[NVT_COUNT_CPU_TIME] < 0)
            continue;
        code->cycles += (double)own[NVT_COUNT_CYCLES];
        code->instructions += (double)own[NVT_COUNT_INSTRUCTIONS];
        code->misses += (double)own[NVT_COUNT_CACHE_MISSES];
        code->cpu_ns += (double)own[NVT_COUNT_CPU_TIME];
    }
}

static int waits_for_memory(const struct code *code)
{
    return code->misses * 1000 >= LEAST_MPKI * code->instructions &&
           code->instructions < MOST_IPC * code->cycles && code->instructions > 0;
}

static int tell_misses(const struct nvt_counted_loop *loop, const struct code *codes,
                       struct nvt_finding *finding, struct nvt_findings *findings,
                       struct nvt_error *err)
{
    enum { LINE = 64 }; /* bytes of a cache line, of x86-64 */
    const struct nvt_view *view = loop->view;
    double of_all;
    const uint32_t name = nvt_counted_loop_most(loop, &of_all);
    const struct code *code = &codes[name];
    double saved = 0;
    for (uint32_t i = 1; i < nvt_strings_count(view->trace->strings); i++)
        if (loop->lost[i] > 0)
            saved += codes[i].cpu_ns * (1 - codes[i].instructions / codes[i].cycles);
    finding->cost_ns = saved / loop->threads / view->units;
    nvt_finding_about(finding, nvt_name(view->trace, name));
    snprintf(finding->what, sizeof(finding->what),
             "the core waits for memory in range %s: %.2f instructions per cycle", finding->subject,
             code->instructions / code->cycles);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%.1f misses of the last cache per 1,000 instructions, %.2f GB/s of cache lines in "
             "user code; range %s takes %s of CPU time %s; at 1 instruction per cycle it would be "
             "%s less",
             1000 * code->misses / code->instructions, LINE * code->misses / code->cpu_ns,
             finding->subject, NVT_TIME(code->cpu_ns / view->units), view->per,
             NVT_TIME(code->cpu_ns * (1 - code->instructions / code->cycles) / view->units));
    nvt_counted_loop_point(loop, name, NVT_COUNT_CACHE_MISSES, finding);
    return nvt_findings_add(findings, finding, err);
}

static int find_misses(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct nvt_counted_loop loop = {.counts = NULL};
    const uint32_t strings = nvt_strings_count(view->trace->strings);
    struct code *codes = calloc((size_t)strings + 1, sizeof(*codes));
    double ns = 0;
    int status = codes ? nvt_counted_loop_make(&loop, view, err)
                       : nvt_fail_at(err, view->trace->path, -1, "out of memory");
    if (!status)
        add_code(codes, &loop);
    for (uint32_t i = 1; i < strings && !status; i++)
        if (waits_for_memory(&codes[i])) {
            loop.lost[i] = codes[i].cpu_ns;
            ns += codes[i].cpu_ns;
        }
    if (!status && loop.threads && ns >= LEAST_SHARE * view->span_ns * loop.threads)
        status = tell_misses(&loop, codes, &finding, findings, err);
    nvt_counted_loop_free(&loop);
    free(codes);
    return status;
}

const struct nvt_rule nvt_rule_misses = {
    .cause = "memory-bound code",
    .about = "ranges of the CPU whose instructions wait for data from main memory",
    .means =
        "The core spends most cycles without completing an instruction, and instructions miss "
        "the last cache often. More cores or a higher clock help little; fewer bytes, or bytes "
        "that are used again while they are in a cache, do.",
    .found = "Cycles, instructions and misses of the last cache in user code come from the "
             "processor's counters, range by range. Needs nvtally record --trace counters on a "
             "machine that passes them on; nvtally info says whether this one does.",
    .threshold = "ranges with 10 misses of the last cache per 1,000 instructions and less than 0.5 "
                 "instructions per cycle, which take 20 % of the time of the loop's threads: code "
                 "that computes completes more than one instruction per cycle and misses less than "
                 "once per 1,000. The cost is the time above that at 1 instruction per cycle",
    .remedy =
        "use data again while it is in a cache (blocking, fused loops), smaller types, arrays "
        "read in order instead of pointers that are followed",
    .helped =
        "Loops over the same array made into one; arrays of structures made into structures of "
        "arrays; hash tables and trees laid out flat; huge pages where misses of the TLB add "
        "to it; prefetching where addresses are known early.",
    .confused = "Page-fault-bound: the kernel works there, which these counters leave out. Few "
                "instructions per cycle without misses are mispredicted branches, divisions, or "
                "threads that share a core.",
    .show = "stats -r nvtx_cpu_counters",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_COUNTS,
    .look = find_misses,
};
