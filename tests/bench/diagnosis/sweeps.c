/* Sweeps of the benchmark of diagnosis: runs that differ in one number, and what is said of how their cost grows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../lib/count_of.h"
#include "../../../analyze/diagnosis/diagnose.h"
#include "bench.h"

enum { VALUES = 6, MOST_RUNS = 2 * VALUES, ITERATIONS = 20 };

/* A sweep: what the forward pass of each variant costs at n, in ns: fixed + slope * n^exponent. */
struct sweep {
    int variants;
    double fixed[2], slope[2], exponent[2];
    double noise;      /* of an iteration, as a share */
    double unevenness; /* of a run, whose iterations are all longer or shorter */
};

static double normal(struct bench_random *random)
{
    const double radius = sqrt(-2 * log(bench_even(random, 1e-12, 1)));
    return radius * cos(6.283185307179586 * bench_even(random, 0, 1));
}

static double cost(const struct sweep *sweep, int variant, double n)
{
    return sweep->fixed[variant] + sweep->slope[variant] * pow(n, sweep->exponent[variant]);
}

/* *mean_ns gets what its forward passes last on average. */
static struct nvt_trace *make_run(const struct sweep *sweep, double ns, struct bench_random *random,
                                  double *mean_ns)
{
    struct maker maker = make_begin();
    ns *= fmax(1 + sweep->unevenness * normal(random), 0.2);
    *mean_ns = 0;
    for (int i = 0; i < ITERATIONS; i++) {
        const int64_t start = maker.now;
        maker.now += (int64_t)(ns * fmax(1 + sweep->noise * normal(random), 0.2));
        make_range(&maker, "forward", start);
        *mean_ns += (double)(maker.now - start) / ITERATIONS;
        maker.now += 20000;
        make_range(&maker, "iteration", start);
        maker.now += 100;
    }
    return make_end(&maker);
}

/* The findings of a sweep over 1, 2, 4 ... fragments; the caller's. */
static struct nvt_findings diagnose(const struct sweep *sweep, struct bench_random *random)
{
    struct nvt_record records[MOST_RUNS] = {{0}};
    struct nvt_runs runs = {.records = records, .count = (size_t)sweep->variants * VALUES};
    struct nvt_runs *all = &runs;
    struct nvt_input_trace traces[MOST_RUNS];
    struct nvt_input input = {
        .traces = traces, .trace_count = runs.count, .runs = &all, .run_count = 1};
    struct nvt_findings findings = {0};
    for (size_t i = 0; i < runs.count; i++) {
        const int variant = (int)i / VALUES, n = 1 << (i % VALUES);
        char json[200];
        double mean_ns;
        traces[i] = (struct nvt_input_trace){
            .trace = make_run(sweep, cost(sweep, variant, n), random, &mean_ns),
            .runs = &runs,
            .record = i};
        const int size =
            snprintf(json, sizeof(json),
                     "{\"workload\": \"made\", \"variant\": \"%s\", \"fragments\": %d, "
                     "\"backend\": \"host\", \"forward_ns_median\": %.0f}",
                     variant ? "grouped" : "looped", n, mean_ns);
        assert_int_equal(nvt_record_parse(&records[i], json, (size_t)size, NULL), 0);
    }
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    for (size_t i = 0; i < runs.count; i++) {
        nvt_trace_free(traces[i].trace);
        nvt_record_free(&records[i]);
    }
    nvt_buffer_free(&input.notes);
    return findings;
}

/* --- what is drawn, and what is right ------------------------------------------------------------- */

static struct sweep draw(struct bench_random *random, int variants)
{
    struct sweep sweep = {.variants = variants,
                          .noise = bench_even(random, 0.005, 0.05),
                          .unevenness = bench_even(random, 0.001, 0.02)};
    for (int i = 0; i < 2; i++)
        sweep.exponent[i] = 1;
    return sweep;
}

static struct sweep draw_power(struct bench_random *random, double *truth)
{
    struct sweep sweep = draw(random, 1);
    sweep.slope[0] = bench_even_log(random, 1e5, 1e6);
    sweep.exponent[0] = *truth = bench_even(random, 0.8, 2.5);
    return sweep;
}

static struct sweep draw_line(struct bench_random *random, double *truth)
{
    struct sweep sweep = draw(random, 1);
    sweep.fixed[0] = bench_even_log(random, 1e6, 1e7);
    sweep.slope[0] = sweep.fixed[0] * bench_even(random, 0.05, 0.5);
    *truth = NAN;
    return sweep;
}

/* One has a cost of its own, the other grows faster; they meet between 4 and 16. */
static struct sweep draw_crossing(struct bench_random *random, double *truth)
{
    struct sweep sweep = draw(random, 2);
    *truth = bench_even_log(random, 4, 16);
    sweep.slope[0] = bench_even_log(random, 2e5, 1e6);
    sweep.fixed[0] = sweep.slope[0];
    sweep.slope[1] = sweep.slope[0] * bench_even(random, 0, 0.4);
    sweep.fixed[1] = sweep.fixed[0] + (sweep.slope[0] - sweep.slope[1]) * *truth;
    return sweep;
}

/* Nothing grows; runs differ by noise. */
static struct sweep draw_flat(struct bench_random *random, double *truth)
{
    struct sweep sweep = draw(random, 1);
    sweep.fixed[0] = bench_even_log(random, 1e6, 1e8);
    sweep.unevenness = bench_even(random, 0.01, 0.1);
    *truth = NAN;
    return sweep;
}

/* Two variants that cost the same at every number. */
static struct sweep draw_equal(struct bench_random *random, double *truth)
{
    struct sweep sweep = draw_flat(random, truth);
    sweep.variants = 2;
    sweep.fixed[1] = sweep.fixed[0];
    return sweep;
}

/* Whether a number in a finding is within 10 % of the truth: the exponent, or where lines cross. */
static int is_right(const struct nvt_finding *finding, const char *before, double truth)
{
    const char *at = strstr(finding->what, before);
    return isnan(truth) ||
           (at ? fabs(atof(at + strlen(before)) - truth) <= 0.1 * truth
               : fabs(truth - 1) <= 0.1 && !strcmp(before, "^")); /* it grows with n */
}

static const struct kind {
    const char *name, *cause, *before; /* before: the number in the finding's text */
    struct sweep (*draw)(struct bench_random *random, double *truth);
    int is_healthy;
} kinds[] = {{"grows as a power", "scaling", "^", draw_power, 0},
             {"grows along a line", "scaling", "^", draw_line, 0},
             {"two variants cross", "crossing", "fragments=", draw_crossing, 0},
             {"noise alone", "scaling", "^", draw_flat, 1},
             {"two that are equal", "crossing", "^", draw_equal, 1}};

#define KINDS (NVT_COUNT_OF(kinds))

static void run(const struct kind *kind, struct bench_sweep *score, struct bench_random *random,
                int shows_misses)
{
    const uint64_t seed = random->state;
    double truth;
    const struct sweep sweep = kind->draw(random, &truth);
    struct nvt_findings findings = diagnose(&sweep, random);
    const struct nvt_finding *found = NULL;
    for (size_t i = 0; i < findings.count && !found; i++)
        if (kind->is_healthy || !strcmp(findings.items[i].cause, kind->cause))
            found = &findings.items[i];
    const int right = found && is_right(found, kind->before, truth);
    score->cases++;
    score->found += found != NULL;
    score->right += (unsigned)right;
    if (shows_misses && (kind->is_healthy ? found != NULL : !right))
        printf("%s: sweep %s, seed %llu, truth %g; %s: %s; %s\n",
               kind->is_healthy ? "false" : "wrong", kind->name, (unsigned long long)seed, truth,
               found ? found->cause : "-", found ? found->what : "", found ? found->evidence : "");
    free(findings.items);
}

size_t bench_sweeps(struct bench_random *random, unsigned count, int shows_misses,
                    struct bench_sweep **sweeps)
{
    static struct bench_sweep scores[KINDS];
    for (size_t i = 0; i < KINDS; i++) {
        scores[i] = (struct bench_sweep){
            .name = kinds[i].name, .cause = kinds[i].cause, .is_healthy = kinds[i].is_healthy};
        for (unsigned k = 0; k < count; k++)
            run(&kinds[i], &scores[i], random, shows_misses);
    }
    *sweeps = scores;
    return KINDS;
}
