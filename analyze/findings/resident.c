/* process memory growth: what is resident of a process grows throughout a loop, and does not level off. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../diagnosis/beats.h"
#include "../diagnosis/rising.h"

/* Processes that grow of one kind: those that enter a loop, or those that work for it. */
struct kind {
    const struct nvt_process_memory *most; /* the one that grows most, NULL: none does */
    struct nvt_process_growth growth;
    uint32_t grow, of;
    double bytes; /* of all together */
};

struct growing {
    const struct nvt_view *view;
    struct nvt_processes_memory all;
    struct nvt_beats beats; /* where there are no iterations: what repeats, if anything */
    struct kind own, workers;
};

/* The loop of a process: its iterations or, where the trace has none, what it repeats. 0, or -1 when out of memory. */
static int make_loop(const struct growing *growing, uint32_t process, struct nvt_memory_loop *loop)
{
    const struct nvt_beats *beats = &growing->beats;
    const struct nvt_trace *trace = growing->view->trace;
    if (nvt_memory_loop_make(loop, trace, process))
        return -1;
    if (loop->count || !beats->count || trace->threads.process[beats->thread] != process)
        return 0;
    nvt_memory_loop_free(loop);
    *loop = (struct nvt_memory_loop){.starts = malloc(beats->count * sizeof(int64_t)),
                                     .count = beats->count,
                                     .end = beats->items[beats->count - 1].end,
                                     .process = process};
    for (uint32_t i = 0; loop->starts && i < beats->count; i++)
        loop->starts[i] = beats->items[i].start;
    return loop->starts ? 0 : -1;
}

/* 0, or -1 when out of memory. */
static int judge_growth(struct growing *growing, const struct nvt_process_memory *memory)
{
    struct nvt_memory_loop loop = {.count = 0};
    struct nvt_process_growth found = {.from = 0};
    int failed = make_loop(growing, memory->process, &loop) ||
                 (loop.count && nvt_process_growth_find(&found, memory, &loop));
    struct kind *kind = loop.process != memory->process ? &growing->workers : &growing->own;
    kind->of += loop.count > 0;
    if (!failed && found.level.is_steady) {
        kind->grow++;
        kind->bytes += found.level.growth;
        if (!kind->most || found.level.growth > kind->growth.level.growth) {
            kind->most = memory;
            kind->growth = found;
        }
    }
    nvt_memory_loop_free(&loop);
    return failed ? -1 : 0;
}

/* "of it 96 MiB anonymous", and whether the device's memory grows with it. */
static void tell_what_grew(const struct growing *growing, const struct kind *kind,
                           struct nvt_finding *finding)
{
    const struct nvt_counter_course *file = kind->most->courses[NVT_MACHINE_FILE_BACKED];
    const struct nvt_trace *trace = growing->view->trace;
    const int64_t from = kind->growth.from, to = kind->growth.to;
    if (file) {
        const double mapped = nvt_course_level_at(file, to) - nvt_course_level_at(file, from);
        const int is_mapped = mapped > 0.5 * kind->growth.level.growth;
        nvt_finding_append(finding, is_mapped ? "; most of it in mapped files and shared memory"
                                              : "; most of it anonymous: the heap, objects of "
                                                "Python, tensors on the host");
    }
    for (uint32_t i = 0; i < growing->all.courses.count; i++) {
        const struct nvt_counter_course *course = &growing->all.courses.items[i];
        if (!course->count || trace->counters.process[i] != kind->most->process ||
            nvt_is_sampled_counter(trace, i) || !nvt_is_memory_counter(trace, i))
            continue;
        const double more = nvt_course_level_at(course, to) - nvt_course_level_at(course, from);
        nvt_finding_append(finding, "; the counter %.40s of PyTorch or the program %s meanwhile",
                           nvt_name(trace, trace->counters.name[i]),
                           more >= NVT_STEADY_GROWTH_BYTES ? "grows, too," : "does not grow");
    }
}

/* 0, or -1 when out of memory. */
static int tell_growth(struct growing *growing, const struct kind *kind,
                       struct nvt_finding *finding)
{
    const struct nvt_trace *trace = growing->view->trace;
    const struct nvt_beats *beats = &growing->beats;
    const struct nvt_process_growth *growth = &kind->growth;
    const uint32_t process = kind->most->process;
    const int is_worker = kind == &growing->workers;
    const char *of = is_worker ? "processes that work for the loop" : "the process";
    const int is_its_thread = beats->count && trace->threads.process[beats->thread] == process;
    finding->cost_bytes = kind->bytes / growth->iterations;
    finding->per = "per iteration";
    snprintf(finding->what, sizeof(finding->what),
             "the resident memory of %s grows by %.3g MiB per iteration and does not level off", of,
             finding->cost_bytes / NVT_MEBIBYTE);
    nvt_finding_about(finding, of);
    nvt_finding_append(
        finding,
        "%.5g MiB at first, %.5g MiB at the end of the last %.0f iterations, more in "
        "each eighth of them",
        growth->level.first / NVT_MEBIBYTE, growth->level.last / NVT_MEBIBYTE, growth->iterations);
    if (kind->of > 1 || is_worker)
        nvt_finding_append(finding, ", in process %lld; %u of %u such processes grow",
                           (long long)trace->processes.pid[process], kind->grow, kind->of);
    if (beats->is_guess && beats->count)
        nvt_finding_append(finding, "; an iteration is taken to begin with each range %.60s",
                           nvt_name(trace, trace->ranges.name[beats->items[0].range]));
    tell_what_grew(growing, kind, finding);
    const struct nvt_rising rising = {.trace = trace,
                                      .course = kind->most->courses[NVT_MACHINE_RESIDENT],
                                      .process = process,
                                      .thread = is_its_thread ? beats->thread : NVT_NONE,
                                      .from = growth->from,
                                      .to = growth->to};
    return nvt_rising_tell(&rising, finding);
}

static int look_at_processes(const struct nvt_rule *rule, struct growing *growing,
                             struct nvt_findings *findings)
{
    const struct kind *const kinds[] = {&growing->own, &growing->workers};
    int failed = nvt_processes_memory_make(&growing->all, growing->view->trace) ||
                 nvt_beats_make(&growing->beats, growing->view);
    for (uint32_t i = 0; i < growing->all.count && !failed; i++)
        failed = judge_growth(growing, &growing->all.items[i]);
    for (int i = 0; i < 2 && !failed; i++) {
        struct nvt_finding finding = nvt_finding_of(rule, growing->view);
        if (kinds[i]->most)
            failed = tell_growth(growing, kinds[i], &finding) ||
                     nvt_findings_add(findings, &finding, NULL);
    }
    return failed;
}

static int find_resident(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    struct growing growing = {.view = view};
    if (!nvt_processes_sampled(view->trace))
        return 0;
    int failed = look_at_processes(rule, &growing, findings);
    nvt_processes_memory_free(&growing.all);
    nvt_beats_free(&growing.beats);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_resident = {
    .cause = "process memory growth",
    .about = "resident memory of a process that grows throughout a loop: a leak on the host, or "
             "results that are kept (record --pytorch, or --trace process)",
    .means = "The process needs more memory with each iteration, and nothing suggests that this "
             "ends. On a long run the kernel kills it, or workers, or the machine swaps.",
    .found = "The lowest resident size in each eighth of the time must rise, so what goes up and "
             "down within an iteration does not count. The finding says whether the growth is "
             "anonymous (heap, Python objects, tensors on the host) or file-backed, what a counter "
             "of PyTorch's allocator does then, in which range most of it comes, and with --trace "
             "cpu who calls allocators. Workers of a loop are a finding of their own. Needs record "
             "--pytorch, or --trace process or machine.",
    .threshold =
        "8 MiB and 0.5 % more, after the first quarter of at least 22 iterations, over 4 s and 40 "
        "samples: warm-up and fragmentation take as much. In each eighth of that time the lowest "
        "level is higher than in the one before, at the end as fast as before, and the level was "
        "never as high: a cache that is full, garbage that is collected and a level that jumps do "
        "not count. Without iterations, a loop is known by the outermost range that repeats",
    .remedy = "free what each iteration keeps: in PyTorch append loss.item() instead of loss, "
              "bound caches and logs, and end references of closures and exceptions; tracemalloc, "
              "or memray run, names the lines that allocated what is kept",
    .helped = "Lists of losses and outputs as numbers. functools.lru_cache with a maxsize=. "
              "DataLoader workers: arrays instead of lists of Python objects, whose reference "
              "counts copy shared pages. tracemalloc snapshots of two iterations, compared. "
              "MALLOC_ARENA_MAX=2 or jemalloc, where many threads allocate.",
    .confused = "Memory growth: memory that an allocator has handed out, on the device or by "
                "events. A cache with random keys that is half full still looks like a leak. "
                "Copy-on-write of a forked worker grows until all its pages are its own.",
    .show = "stats -r process_memory",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_PROCESS,
    .is_whole = 1,
    .look = find_resident,
};
