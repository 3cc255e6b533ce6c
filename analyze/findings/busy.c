/* busy host: a loop spends much of its time on work of a kind that can be spared, or in one function, as samples tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"
#include "../../lib/text.h"
#include "../diagnosis/blocking.h"
#include "../diagnosis/serial.h"
#include "../diagnosis/work_kinds.h"

#define LEAST_SAMPLES 50
#define LEAST_SHARE   0.15
/* An interpreter is at work in every program in Python, one function in every program: that is a finding only where a GPU waits for
 * it. Without one it may be all that the program is for. */
#define LEAST_OF_INTERPRETER 0.3
#define LEAST_OF_FUNCTION    0.4

/* What is said of a kind: what a thread does, what to do about it, and how sure that is. */
static const struct kind {
    const char *does, *remedy;
    enum nvt_confidence confidence;
    double least;
} kinds[NVT_WORK_KINDS + 1] = {
    [NVT_WORK_SPINS] = {"spinning while other threads work",
                        "no more threads than free cores (OMP_NUM_THREADS=, "
                        "torch.set_num_threads()), OMP_WAIT_POLICY=passive; larger pieces of work, "
                        "in even parts",
                        NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_COLLECTS] =
        {"collecting garbage",
         "gc.freeze() after the setup, gc.disable() and a gc.collect() every n-th "
         "iteration; fewer long-lived objects: arrays instead of lists",
         NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_COPIES_OBJECTS] =
        {"in copy.deepcopy()",
         "copy once or not at all: share what nobody changes, and copy only "
         "the part that changes",
         NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_LOGS] = {"writing log lines",
                       "fewer lines: a level that leaves them out (logger.isEnabledFor() before "
                       "costly arguments), or every n-th iteration; a queue to another thread "
                       "(logging.handlers.QueueHandler)",
                       NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_SERIALISES] = {"serialising and parsing",
                             "read and convert data once, before the loop, to arrays in binary "
                             "form; between processes, shared memory instead of pickles",
                             NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_COMPRESSES] =
        {"compressing and unpacking",
         "a lower level or a faster codec (zstd, lz4); unpack once, before the loop, or on other "
         "threads or processes, ahead of it",
         NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_DECODES] = {"decoding and encoding images or video",
                          "decode and resize once, before the loop; in more processes, ahead of "
                          "it; or on the GPU (nvJPEG, DALI)",
                          NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_DRAWS] =
        {"drawing random numbers",
         "draw many at once, as an array (NumPy, torch), or on the GPU; a faster generator",
         NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_TEXT] = {"formatting and parsing text",
                       "convert data once, before the loop, to binary form; fewer lines of log; "
                       "compile patterns once",
                       NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_ALLOCATES] = {"allocating and freeing memory",
                            "allocate buffers once, before the loop, and reuse them; write results "
                            "into existing arrays (out=); another allocator (jemalloc, tcmalloc)",
                            NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_COPIES] = {"copying and filling memory",
                         "pass references or views instead of copies; write results where they are "
                         "needed (out=); fill only what is read",
                         NVT_LIKELY, LEAST_SHARE},
    [NVT_WORK_INTERPRETS] = {"in the Python interpreter",
                             "work on whole arrays instead of elements (NumPy, torch); "
                             "torch.compile, CUDA graphs, Numba or Cython for what is left",
                             NVT_LIKELY, LEAST_OF_INTERPRETER},
    [NVT_WORK_NONE] = {"in one function",
                       "check whether it has to run each time, and what makes it slow (perf "
                       "annotate); then distribute it over threads",
                       NVT_POSSIBLE, LEAST_OF_FUNCTION},
};

/* Samples of a loop's thread in the steady part. */
struct host {
    const struct nvt_view *view;
    struct nvt_sampled_functions functions;
    struct nvt_work work;
    struct nvt_thread_ranges ranges;
    struct nvt_span *device; /* when it works */
    size_t device_count;
    uint32_t *samples; /* rows of the thread */
    uint8_t *of;       /* of each: its kind */
    uint32_t count, thread;
    int is_loop; /* it enters iterations */
    double ns;   /* of all of them */
};

/* Those of one kind, and of one function where that is of none. */
struct part {
    enum nvt_work_kind kind;
    uint32_t function; /* NVT_NONE: any */
    uint32_t count;
    double ns, busy_ns;         /* busy: while a device works */
    struct nvt_longest longest; /* of samples that follow each other */
    struct nvt_places ranges;
    struct nvt_hot hot;
    struct nvt_places callers;
};

/* Processor time of a sample, as far as it lies in the steady part. */
static int64_t time_of(const struct host *host, uint32_t sample)
{
    const struct nvt_cpu_samples *samples = &host->view->trace->cpu_samples;
    const int64_t room = samples->time[sample] - host->view->from;
    return samples->cpu_ns[sample] < room ? samples->cpu_ns[sample] : room;
}

static int is_steady_sample(const struct host *host, uint32_t sample)
{
    const struct nvt_cpu_samples *samples = &host->view->trace->cpu_samples;
    return samples->thread[sample] == host->thread &&
           nvt_is_steady(host->view, samples->time[sample]);
}

/* The thread that is looked at: one that enters iterations, of those the one with the most time; without any, the main one;
 * else, of a view without either, the one with the most. NVT_NONE: none has any. -1 when out of memory. */
static int choose_thread(struct host *host)
{
    const struct nvt_view *view = host->view;
    const struct nvt_trace *trace = view->trace;
    const uint32_t threads = trace->threads.count;
    double *ns = calloc((size_t)threads + 1, sizeof(*ns));
    uint8_t *rank = calloc((size_t)threads + 1, 1);
    host->thread = NVT_NONE;
    for (uint32_t i = 0; ns && rank && i < trace->cpu_samples.count; i++)
        if (nvt_is_steady(view, trace->cpu_samples.time[i]) &&
            nvt_is_viewed_thread(view, trace->cpu_samples.thread[i]))
            ns[trace->cpu_samples.thread[i]] += (double)trace->cpu_samples.cpu_ns[i];
    for (uint32_t i = 0; ns && rank && i < view->iteration_count; i++)
        rank[trace->ranges.thread[view->iterations[i]]] = 2;
    for (uint32_t i = 0; ns && rank && i < threads; i++) {
        rank[i] = rank[i] ? rank[i] : (uint8_t)nvt_is_main_thread(trace, i);
        int is_better = host->thread == NVT_NONE || rank[i] > rank[host->thread] ||
                        (rank[i] == rank[host->thread] && ns[i] > ns[host->thread]);
        if (ns[i] > 0 && is_better)
            host->thread = i;
    }
    host->is_loop = host->thread != NVT_NONE && rank && rank[host->thread] == 2;
    int failed = !ns || !rank;
    free(ns);
    free(rank);
    return failed ? -1 : 0;
}

/* 0, or -1 when out of memory. */
static int take_samples(struct host *host)
{
    const struct nvt_cpu_samples *samples = &host->view->trace->cpu_samples;
    host->samples = malloc(((size_t)samples->count + 1) * sizeof(*host->samples));
    host->of = malloc((size_t)samples->count + 1);
    if (!host->samples || !host->of)
        return -1;
    for (uint32_t i = 0; i < samples->count; i++)
        if (is_steady_sample(host, i)) {
            host->of[host->count] = (uint8_t)nvt_work_of(&host->work, i);
            host->samples[host->count++] = i;
            host->ns += (double)time_of(host, i);
        }
    return 0;
}

static int begin_busy(struct host *host)
{
    const struct nvt_trace *trace = host->view->trace;
    if (choose_thread(host))
        return -1;
    if (host->thread == NVT_NONE)
        return 0;
    return nvt_work_make(&host->work, &host->functions) ||
                   nvt_thread_ranges_make(&host->ranges, trace, NULL) ||
                   nvt_device_work(host->view, trace->threads.process[host->thread], &host->device,
                                   &host->device_count) ||
                   take_samples(host)
               ? -1
               : 0;
}

static void free_host(struct host *host)
{
    nvt_sampled_functions_free(&host->functions);
    nvt_work_free(&host->work);
    nvt_thread_ranges_free(&host->ranges);
    free(host->device);
    free(host->samples);
    free(host->of);
}

static int is_of(const struct host *host, const struct part *part, uint32_t i)
{
    return host->of[i] == (uint8_t)part->kind &&
           (part->function == NVT_NONE ||
            nvt_function_of(&host->functions, host->samples[i]) == part->function);
}

/* Whether a device works at a moment; they ascend from call to call. */
static int is_at_work(const struct host *host, size_t *first, int64_t moment)
{
    while (*first < host->device_count && host->device[*first].end <= moment)
        (*first)++;
    return *first < host->device_count && host->device[*first].start <= moment;
}

/* Samples that follow each other, without a pause. */
struct run {
    int64_t start, end;
    double ns; /* 0: none is open */
};

static void end_run(struct run *run, struct part *part)
{
    if (run->ns > 0)
        nvt_longest_add(&part->longest, run->start, run->ns);
    run->ns = 0;
}

/* How many there are, how long they take, and for how much of it a device works. */
static void count_part(const struct host *host, struct part *part)
{
    const struct nvt_cpu_samples *rows = &host->view->trace->cpu_samples;
    size_t first = 0;
    struct run run = {0, host->view->from, 0};
    for (uint32_t i = 0; i < host->count; i++) {
        int64_t end = rows->time[host->samples[i]], ns = time_of(host, host->samples[i]);
        if (!is_of(host, part, i) || end - ns - run.end > ns)
            end_run(&run, part);
        if (!is_of(host, part, i))
            continue;
        run.start = run.ns > 0 ? run.start : end - ns;
        run.end = end;
        run.ns += (double)ns;
        part->count++;
        part->ns += (double)ns;
        part->busy_ns += is_at_work(host, &first, end) ? (double)ns : 0;
    }
    end_run(&run, part);
}

/* A caller is told with the line that calls: its name in the trace and its module. */
static uint64_t caller_key(const struct host *host, uint32_t frame)
{
    const struct nvt_call_frames *frames = &host->view->trace->call_frames;
    return (uint64_t)frames->name[frame] << 32 | frames->module[frame];
}

static const char *caller_text(const struct host *host, uint64_t key,
                               char out[NVT_FUNCTION_TEXT_MAX])
{
    const struct nvt_trace *trace = host->view->trace;
    const struct nvt_sampled_function function = {
        .name = nvt_name(trace, (uint32_t)(key >> 32)),
        .module = nvt_file_name(nvt_name(trace, (uint32_t)key)),
        .owner = (uint32_t)key ? NVT_OF_PROGRAM : NVT_OF_PYTHON};
    return nvt_function_text(&function, out);
}

/* The functions, who calls them, and in which ranges. 0, or -1 when out of memory. */
static int look_into(const struct host *host, struct part *part)
{
    const struct nvt_trace *trace = host->view->trace;
    uint32_t open[NVT_NESTING_DEPTH];
    int failed = nvt_hot_begin(&part->hot, &host->functions);
    for (uint32_t i = 0; i < host->count && !failed; i++) {
        uint32_t sample = host->samples[i], frame = trace->cpu_samples.frame[sample];
        const int64_t ns = time_of(host, sample), moment = trace->cpu_samples.time[sample];
        uint32_t caller = frame ? host->work.caller[frame - 1] : 0;
        if (caller && part->function == host->functions.of_frame[caller - 1]) /* it is its own */
            caller = host->functions.own_caller[caller - 1];
        if (!is_of(host, part, i))
            continue;
        nvt_hot_add(&part->hot, sample);
        if (caller)
            failed = nvt_places_add_sample(&part->callers, caller_key(host, caller - 1),
                                           i + UINT64_C(1), ns, ns);
        uint32_t depth = nvt_thread_ranges_open(&host->ranges, host->thread, moment, open);
        while (depth && !failed) {
            uint32_t range = open[--depth];
            failed =
                nvt_places_add_sample(&part->ranges, trace->ranges.name[range], i + UINT64_C(1), ns,
                                      trace->ranges.end[range] - trace->ranges.start[range]);
        }
    }
    return failed ? -1 : 0;
}

static void free_part(struct part *part)
{
    nvt_places_free(&part->ranges);
    nvt_places_free(&part->callers);
    nvt_hot_free(&part->hot);
}

static void tell_busy_what(const struct host *host, const struct part *part,
                           struct nvt_finding *finding)
{
    const struct kind *kind = &kinds[part->kind];
    const struct nvt_place *range = nvt_places_best(&part->ranges, (int64_t)part->ns);
    const char *name = range ? nvt_name(host->view->trace, (uint32_t)range->key) : "";
    char about[512], function[NVT_FUNCTION_TEXT_MAX + 8] = "";
    if (part->function != NVT_NONE)
        snprintf(function, sizeof(function), ", %s",
                 NVT_FUNCTION_TEXT(&host->functions.items[part->function]));
    snprintf(about, sizeof(about), "%s%s%s%.300s", kind->does, function, range ? " in range " : "",
             name);
    nvt_finding_about(finding, about);
    snprintf(finding->what, sizeof(finding->what), "%s spends %.0f %% of its time %s%s%s%.70s",
             host->is_loop ? "the loop" : "a thread", 100 * part->ns / host->view->span_ns,
             kind->does, function, range ? " in range " : "", name);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", kind->remedy);
    finding->confidence = kind->confidence;
}

/* How sure the share is, what runs, and who calls it. */
static void tell_busy_evidence(const struct host *host, const struct part *part,
                               struct nvt_finding *finding)
{
    const struct nvt_place *caller = nvt_places_most(&part->callers);
    uint32_t most[2];
    uint32_t count = nvt_hot_most(&part->hot, most, 2);
    double low, high;
    nvt_share_interval(part->count, host->count, &low, &high);
    nvt_finding_append(
        finding, "%u of %u samples of its CPU time (%.0f %%, 95 %% interval %.0f to %.0f %%)",
        part->count, host->count, 100.0 * part->count / host->count, 100 * low, 100 * high);
    for (uint32_t i = 0; i < count && i < 2 && part->function == NVT_NONE; i++)
        nvt_finding_append(finding, "%s%s %.0f %%", i ? ", " : ", of them in ",
                           NVT_FUNCTION_TEXT(&host->functions.items[most[i]]),
                           100 * (double)part->hot.items[most[i]].self / part->ns);
    if (caller)
        nvt_finding_append(finding, "; %.0f %% of them from %s",
                           100 * (double)caller->ns / part->ns,
                           caller_text(host, caller->key, (char[NVT_FUNCTION_TEXT_MAX]){0}));
    if (host->ns < host->view->span_ns)
        nvt_finding_append(finding, "; the thread runs for %.0f %% of the time",
                           100 * host->ns / host->view->span_ns);
    if (part->busy_ns > 0)
        nvt_finding_append(finding, "; a GPU works for %.0f %% of it",
                           100 * part->busy_ns / part->ns);
}

/* Whether it is enough, at the lower end of what the samples allow, and not beside the work of a device. */
static int is_much(const struct host *host, const struct part *part)
{
    double low, high;
    nvt_share_interval(part->count, host->count, &low, &high);
    return part->count >= LEAST_SAMPLES &&
           low * host->ns >= kinds[part->kind].least * host->view->span_ns &&
           2 * part->busy_ns < part->ns;
}

/* 0, or -1 when out of memory. */
static int tell_busy(const struct nvt_rule *rule, const struct host *host, struct part *part,
                     struct nvt_findings *findings)
{
    struct nvt_finding finding = nvt_finding_of(rule, host->view);
    count_part(host, part);
    if (!is_much(host, part))
        return 0;
    int failed = look_into(host, part);
    if (!failed) {
        finding.cost_ns = (part->ns - part->busy_ns) / host->view->units;
        tell_busy_what(host, part, &finding);
        tell_busy_evidence(host, part, &finding);
        nvt_finding_point_longest(&finding, &part->longest);
        failed = nvt_findings_add(findings, &finding, NULL);
    }
    free_part(part);
    return failed ? -1 : 0;
}

/* The function of no known kind with most of the thread's time; NVT_NONE: none has any. -1 when out of memory. */
static int find_function(const struct host *host, uint32_t *function)
{
    struct nvt_hot hot = {.functions = NULL};
    int failed = nvt_hot_begin(&hot, &host->functions);
    *function = NVT_NONE;
    for (uint32_t i = 0; i < host->count && !failed; i++)
        if (host->of[i] == NVT_WORK_NONE && nvt_function_of(&host->functions, host->samples[i]))
            nvt_hot_add(&hot, host->samples[i]);
    if (!failed && !nvt_hot_most(&hot, function, 1))
        *function = NVT_NONE;
    nvt_hot_free(&hot);
    return failed ? -1 : 0;
}

/* Whether it is told that the thread works alone while others wait (rule `serial`), with the functions that it is
 * in. -1 when out of memory. */
static int is_told(const struct host *host)
{
    struct nvt_serial serial = {0};
    int found = nvt_serial_find(&serial, host->view);
    int status = found > 0 ? serial.thread == host->thread : found;
    nvt_serial_free(&serial);
    return status;
}

/* 0, or -1 when out of memory. */
static int tell_all(const struct nvt_rule *rule, const struct host *host,
                    struct nvt_findings *findings)
{
    struct part one = {.kind = NVT_WORK_NONE};
    int failed = 0;
    for (int kind = 0; kind < NVT_WORK_KINDS && !failed; kind++) {
        struct part part = {.kind = (enum nvt_work_kind)kind, .function = NVT_NONE};
        if (kinds[kind].does)
            failed = tell_busy(rule, host, &part, findings);
    }
    int told = failed ? -1 : is_told(host);
    failed = told < 0 || find_function(host, &one.function);
    if (!failed && !told && one.function != NVT_NONE && host->device_count)
        failed = tell_busy(rule, host, &one, findings);
    return failed ? -1 : 0;
}

static int find_busy(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct host host = {.view = view};
    const size_t before = findings->count;
    if (view->trace->cpu_samples.count < LEAST_SAMPLES)
        return 0;
    if (nvt_sampled_functions_make(&host.functions, view->trace, NVT_BY_FUNCTION, err))
        return -1;
    int failed = host.functions.has_times && begin_busy(&host);
    if (!failed && host.count >= LEAST_SAMPLES)
        failed = tell_all(rule, &host, findings);
    nvt_findings_sort(findings, before);
    free_host(&host);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_busy = {
    .cause = "busy host",
    .about = "avoidable CPU work in a loop: copies, allocation, garbage collection, text, spinning",
    .means = "The loop's thread computes, but not what the program is for: it copies, allocates, "
             "collects garbage, parses or formats, compresses, decodes, spins, or interprets "
             "Python. That work can be done once, elsewhere, or not at all.",
    .found =
        "CPU samples of the loop's thread are sorted by functions and libraries into kinds of work "
        "(avoidable by name) and, in a loop that uses a GPU, one function of no known kind. "
        "Libraries that compute (BLAS, FFT) "
        "are no finding. The finding has the number of samples, the interval of the share, the "
        "functions, and where in the program most of them were called from. Functions without "
        "symbols are known only by their library. Needs nvtally record --trace cpu.",
    .threshold = "15 % of the time for work of one kind, known from functions and libraries; 30 % "
                 "for Python's interpreter, which runs in every Python program; 40 % for one "
                 "function of no known kind while the GPU is idle. In at least 50 samples, at the "
                 "lower end of the "
                 "share's 95 % interval, on the thread that enters iterations (without any, the "
                 "main one). Not if a device works for half of it, nor for libraries that compute "
                 "(BLAS, FFT), nor one function where serial part is about the thread",
    .remedy = "do it once, before the loop, or on other threads; the finding says what helps "
              "against its kind of work",
    .helped = "Garbage collection: gc.freeze() after the setup, gc.disable() with your own "
              "gc.collect() every n-th iteration. Deep copies: shared immutable data. Parsing: "
              "binary formats, converted once. Allocation: reused buffers, jemalloc or tcmalloc. "
              "Interpreter: whole-array operations, torch.compile, Numba, Cython. Spinning: fewer "
              "threads, OMP_WAIT_POLICY=passive.",
    .confused = "Host blocked: the thread waits instead of computing. Serial part: the work is "
                "needed, but other threads wait for it. A function of no known kind is a possible "
                "finding only: it may be the program's real work.",
    .show = "stats -r nvtx_cpu_sum",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_SAMPLES,
    .look = find_busy,
};
