/*
 * Problems planted into recordings of an H100 and of the emulated device: times, names and noise of programs that ran, and a truth
 * that is known.
 *
 * A problem is put into each iteration where one call of its thread has ended and the next has not begun. What came later, on the
 * host and, launched later, on the device, is moved by what it takes. The truth is again a difference: the mean iteration of the
 * second half with the problem, less that with the same work done well. Each trace is then written in our own format, in nsys's
 * schema and as Chrome's events, and read again: findings must not depend on who wrote a trace.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../analyze/diagnosis/diagnose.h"
#include "../../../analyze/exports/export.h"
#include "../../../analyze/model/layout.h"
#include "../../../analyze/readers/reader.h"
#include "../../../lib/count_of.h"
#include "../../read_kit.h"
#include "bench.h"

#define LEAST_ITERATED 8
#define MOST_FINDINGS  16

static const struct form {
    const struct nvt_exporter *exporter;
    const char *file;
} forms[BENCH_FORMS] = {{&nvt_exporter_nvt, "planted.nvt"},
                        {&nvt_exporter_sqlite, "planted.sqlite"},
                        {&nvt_exporter_chrome, "planted.json"}};

/* One that is being planted. */
struct planting {
    struct bench_program program;
    const struct bench_trouble *trouble;
    struct nvt_trace *trace;
    uint32_t *iterations, count;
    uint32_t own_ops; /* of the trace itself, before those that are planted */
    uint64_t seed;
};

/* Whether a row of that table lies, as a whole, behind a moment: of an operation it counts when it was launched. */
static int is_behind(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                     uint32_t row, int64_t moment)
{
    const struct nvt_ops *ops = &trace->ops;
    if (table == &nvt_layout()[NVT_TABLE_ops] && ops->launch[row] != INT64_MIN)
        return ops->launch[row] >= moment;
    return nvt_layout_starts(trace, table)[row] >= moment;
}

/* What lies behind a moment begins `ns` later; what goes on there ends later. Of each table the rows up to counts[table]. */
static void move(struct nvt_trace *trace, const uint32_t *counts, int64_t moment, int64_t ns)
{
    for (size_t t = 0; t < NVT_TABLE_COUNT; t++) {
        const struct nvt_layout_table *table = &nvt_layout()[t];
        if (table->times == NVT_TIMELESS)
            continue;
        int64_t *starts = nvt_layout_starts(trace, table), *ends = nvt_layout_ends(trace, table);
        for (uint32_t row = 0; row < counts[t]; row++) {
            if (is_behind(trace, table, row, moment)) {
                starts[row] += ns;
                ends[row] += ends == starts ? 0 : ns;
            } else if (t == NVT_TABLE_ranges && ends[row] >= moment)
                ends[row] += ns;
        }
    }
    for (uint32_t row = 0; row < counts[NVT_TABLE_ops]; row++)
        if (trace->ops.launch[row] >= moment)
            trace->ops.launch[row] += ns;
}

/* Behind a call of an iteration's thread, drawn; where it has none, its middle. */
static int64_t moment_in(struct planting *planting, uint32_t iteration)
{
    const struct nvt_ranges *ranges = &planting->trace->ranges;
    const struct nvt_apis *apis = &planting->trace->apis;
    const int64_t start = ranges->start[iteration], end = ranges->end[iteration];
    int64_t moment = start + (end - start) / 2;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < apis->count; i++) {
        int64_t next = end;
        if (apis->thread[i] != ranges->thread[iteration] || apis->start[i] < start ||
            apis->end[i] >= end)
            continue;
        for (uint32_t k = i + 1; k < apis->count && next == end; k++)
            if (apis->thread[k] == apis->thread[i])
                next = apis->start[k];
        if (next > apis->end[i] && bench_random(&planting->program.random) % ++seen == 0)
            moment = apis->end[i];
    }
    return moment;
}

static void begin_at(struct planting *planting, uint32_t iteration, int64_t moment)
{
    struct nvt_trace *trace = planting->trace;
    struct maker *maker = &planting->program.maker;
    maker->trace = trace;
    maker->process = trace->ops.process[0];
    maker->number = trace->ops.device[0];
    maker->thread = trace->ranges.thread[iteration];
    maker->domain = trace->ranges.domain[iteration];
    maker->launch_ns = 6000;
    maker->now = maker->device = moment;
    for (uint32_t i = 0; i < planting->own_ops; i++)
        if (!is_behind(trace, &nvt_layout()[NVT_TABLE_ops], i, moment) &&
            trace->ops.end[i] > maker->device)
            maker->device = trace->ops.end[i];
    for (uint32_t i = 0; i < trace->apis.count && !maker->correlation; i++)
        if (trace->apis.correlation[i] > maker->correlation)
            maker->correlation = trace->apis.correlation[i];
    maker->correlation += 1000000;
}

/* What an iteration of the second half lasts, ns. */
static double mean_of(const struct planting *planting)
{
    const struct nvt_ranges *ranges = &planting->trace->ranges;
    const uint32_t half = planting->count / 2;
    return (double)(ranges->end[planting->iterations[planting->count - 1]] -
                    ranges->start[planting->iterations[half]]) /
           (planting->count - half);
}

/* From the last iteration to the first, so that moments still hold. What it costs in the mean of the second half, ns. */
static double plant(struct planting *planting, int64_t ns, int is_well)
{
    struct nvt_trace *trace = planting->trace;
    for (uint32_t i = planting->count; i-- > 0;) {
        const uint32_t iteration = planting->iterations[i];
        uint32_t counts[NVT_TABLE_COUNT];
        planting->program.random.state = planting->seed + i;
        const int64_t moment = moment_in(planting, iteration);
        planting->program.iteration = (int)i;
        begin_at(planting, iteration, moment);
        for (size_t t = 0; t < NVT_TABLE_COUNT; t++)
            counts[t] = nvt_layout_rows(trace, &nvt_layout()[t]);
        planting->trouble->put(&planting->program, ns, is_well);
        move(trace, counts, moment, planting->program.maker.now - moment);
    }
    return mean_of(planting);
}

static const struct bench_names names = {
    .iteration = "iteration",
    .kernels = {"gemm", "softmax", "layer_norm", "add", "gelu", "adam"},
    .work = "work"};

/* 0 where the trace has too few iterations for a loop. */
static int begin_planting(struct planting *planting, const char *path,
                          const struct bench_trouble *trouble, uint64_t seed)
{
    *planting = (struct planting){.trouble = trouble, .trace = kit_read(path), .seed = seed};
    /* What older recordings do not say: an H100's compute capability is 9.0. */
    for (uint32_t i = 0; i < planting->trace->devices.count; i++)
        planting->trace->devices.capability[i] = 90;
    planting->own_ops = planting->trace->ops.count;
    planting->iterations = nvt_iterations(planting->trace, &planting->count);
    planting->program = (struct bench_program){.names = &names,
                                               .has_device = 1,
                                               .kernels = 8,
                                               .kernel_ns = 60000,
                                               .iterations = (int)planting->count};
    return planting->count >= LEAST_ITERATED;
}

static void end_planting(struct planting *planting)
{
    free(planting->iterations);
    nvt_trace_free(planting->trace);
}

static void diagnose_file(const char *path, struct nvt_findings *findings)
{
    struct nvt_input_trace from = {.trace = kit_read(path)};
    struct nvt_input input = {.traces = &from, .trace_count = 1};
    assert_int_equal(nvt_diagnose(&input, NULL, findings, NULL), 0);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(from.trace);
}

static void write_form(const struct nvt_trace *trace, const struct form *form, const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    (void)unlink(path);
    if (form->exporter->write_file) {
        if (form->exporter->write_file(trace, path, &err))
            fail_msg("%s: %s", path, err.message);
        return;
    }
    FILE *out = fopen(path, "w");
    if (!out || form->exporter->write(trace, out, &err) || fclose(out))
        fail_msg("%s: %s", path, err.message);
}

/* The causes that the trace has by itself, and the costliest of them. */
struct own {
    const char *causes[MOST_FINDINGS];
    size_t count;
    double most_ns;
};

static int is_own(const struct own *own, const char *cause)
{
    for (size_t i = 0; i < own->count; i++)
        if (!strcmp(own->causes[i], cause))
            return 1;
    return 0;
}

static void look_at_own(const char *path, struct own *own)
{
    struct nvt_findings findings = {0};
    diagnose_file(path, &findings);
    for (size_t i = 0; i < findings.count && own->count < MOST_FINDINGS; i++) {
        own->causes[own->count++] = findings.items[i].cause;
        own->most_ns = fmax(own->most_ns, findings.items[i].cost_ns);
    }
    free(findings.items);
}

static void score_form(struct bench_recorded *score, size_t form,
                       const struct bench_trouble *trouble, double cost_ns, const struct own *own,
                       const struct nvt_findings *findings)
{
    const struct nvt_finding *found = NULL;
    struct bench_recorded_form *counts = &score->forms[form];
    for (size_t i = 0; i < findings->count; i++) {
        const struct nvt_finding *finding = &findings->items[i];
        if (bench_tells_of(finding->cause, trouble->causes)) {
            found = found ? found : finding;
            continue;
        }
        if (is_own(own, finding->cause) || bench_tells_of(finding->cause, trouble->consequences))
            continue;
        counts->also++;
        if (score->shows_misses)
            printf("also told: %s in %s as %s: %s: %s\n", trouble->name, score->path,
                   forms[form].exporter->name, finding->cause, finding->what);
    }
    counts->cases++;
    if (!found && score->shows_misses)
        printf("missed: %s of %.0f ns in %s as %s\n", trouble->name, cost_ns, score->path,
               forms[form].exporter->name);
    if (!found)
        return;
    counts->found++;
    counts->first += found == findings->items || cost_ns < own->most_ns;
    /* A trace that has the cause by itself has more of it. */
    if (trouble->no_size || is_own(own, found->cause))
        return;
    counts->sizeable++;
    counts->sized += fabs(found->cost_ns - cost_ns) <= 0.2 * cost_ns;
    if (score->shows_misses && fabs(found->cost_ns - cost_ns) > 0.2 * cost_ns)
        printf("wrong size: %s of %.0f ns in %s as %s: %.0f ns: %s\n", trouble->name, cost_ns,
               score->path, forms[form].exporter->name, found->cost_ns, found->evidence);
}

/* What the trace's own iterations last in the mean of the second half, ns; 0: it has too few. */
static double own_mean(const char *path)
{
    struct planting planting;
    const double mean = begin_planting(&planting, path, NULL, 0) ? mean_of(&planting) : 0;
    end_planting(&planting);
    return mean;
}

static void run_case(struct bench_recorded *score, const char *folder, const char *path,
                     const struct bench_trouble *trouble, uint64_t seed, int64_t ns,
                     const struct own *own)
{
    struct planting well, planting;
    char file[PATH_MAX];
    begin_planting(&well, path, trouble, seed);
    const double without = plant(&well, ns, 1);
    end_planting(&well);
    begin_planting(&planting, path, trouble, seed);
    const double cost_ns = plant(&planting, ns, 0) - without;
    for (size_t i = 0; i < BENCH_FORMS; i++) {
        struct nvt_findings findings = {0};
        snprintf(file, sizeof(file), "%s/%s", folder, forms[i].file);
        write_form(planting.trace, &forms[i], file);
        /* The first form links and sorts what was planted; the others are made of it. */
        if (!i) {
            nvt_trace_free(planting.trace);
            planting.trace = kit_read(file);
        }
        diagnose_file(file, &findings);
        score_form(score, i, trouble, cost_ns, own, &findings);
        free(findings.items);
    }
    end_planting(&planting);
}

static int is_plantable(const struct bench_trouble *trouble)
{
    return !trouble->is_once && !trouble->is_alone && !trouble->is_of_ranks && !trouble->end &&
           (trouble->has_device || trouble->has_host_part);
}

void bench_plant(struct bench_recorded *score, struct bench_random *random,
                 const char *const *files, size_t file_count, unsigned cases)
{
    char folder[] = "/tmp/bench-diagnosis-XXXXXX";
    if (!mkdtemp(folder))
        fail_msg("%s", folder);
    for (size_t f = 0; f < file_count; f++) {
        struct own own = {.count = 0};
        score->path = files[f];
        look_at_own(files[f], &own);
        const double mean = own_mean(files[f]);
        for (size_t t = 0; t < bench_trouble_count && mean > 0; t++)
            for (unsigned i = 0; i < cases && is_plantable(&bench_troubles[t]); i++) {
                const double share =
                    fmin(bench_troubles[t].least * bench_even(random, 1.3, 4), 0.6);
                run_case(score, folder, files[f], &bench_troubles[t], bench_random(random) >> 16,
                         (int64_t)(mean * share / (1 - share)), &own);
            }
    }
    for (size_t i = 0; i < BENCH_FORMS; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof(file), "%s/%s", folder, forms[i].file);
        (void)unlink(file);
    }
    (void)rmdir(folder);
}

const char *bench_form_name(size_t form)
{
    return forms[form].exporter->name;
}
