/*
 * Diagnosis of several runs: what scales, what crosses, on runs of the fragment study and on made-up ones. Its rules
 * about one trace are in test_diagnose_rules.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/sweeps/curves.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "random_kit.h"

#define ITERATIONS 20

/* The looped fragment study: every fragment asks the device and waits for the answer. */
static struct nvt_trace *looped(int fragments)
{
    struct maker maker = make_begin();
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t iteration = maker.now;
        for (int f = 0; f < fragments; f++) {
            make_launch(&maker, "find_rows", 2000);
            make_wait(&maker);
            make_launch(&maker, "gather", 2000);
            make_launch(&maker, "gemm", 6000);
        }
        make_wait(&maker);
        make_range(&maker, "forward", iteration);
        make_range(&maker, "iteration", iteration);
        maker.now += 1000;
    }
    return make_end(&maker);
}

/* The grouped one: the same launches whatever the number of fragments. */
static struct nvt_trace *grouped(int fragments)
{
    struct maker maker = make_begin();
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t iteration = maker.now;
        make_launch(&maker, "choose", 2000);
        make_launch(&maker, "expert", 40000 + fragments % 3 * 100);
        make_wait(&maker);
        make_range(&maker, "forward", iteration);
        make_range(&maker, "iteration", iteration);
        maker.now += 1000;
    }
    return make_end(&maker);
}

/* Fragments among which the same work is shared, with so much for each besides. */
static struct nvt_trace *share(int fragments, int64_t all_ns, int64_t each_ns)
{
    struct maker maker = make_begin();
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t iteration = maker.now;
        for (int f = 0; f < fragments; f++) {
            int64_t fragment = maker.now;
            maker.now += all_ns / fragments + each_ns;
            make_range(&maker, "fragment", fragment);
        }
        make_range(&maker, "iteration", iteration);
    }
    return make_end(&maker);
}

/* The work gets a little less with more of them. */
static struct nvt_trace *shared(int fragments)
{
    return share(fragments, 1000000 - 100 * fragments, 0);
}

static struct nvt_trace *partly_shared(int fragments)
{
    return share(fragments, 1000000, 5000);
}

/* Runs with 2, 8, 32 and 128 fragments as an input. */
static void make_study(struct nvt_input *input, struct nvt_trace *(*make)(int), const char *variant)
{
    static const int fragments[] = {2, 8, 32, 128};
    struct nvt_runs *runs = calloc(1, sizeof(*runs));
    *input = (struct nvt_input){.trace_count = 4, .run_count = 1};
    input->traces = calloc(4, sizeof(*input->traces));
    input->runs = calloc(1, sizeof(*input->runs));
    input->runs[0] = runs;
    runs->path = strdup("made up");
    runs->records = calloc(4, sizeof(*runs->records));
    runs->count = 4;
    for (size_t i = 0; i < 4; i++) {
        char json[200];
        int size = snprintf(
            json, sizeof(json),
            "{\"workload\": \"fragmented\", \"fragments\": %d, \"size\": 64, \"variant\": \"%s\", "
            "\"backend\": \"cuda\"}",
            fragments[i], variant);
        assert_int_equal(nvt_record_parse(&runs->records[i], json, (size_t)size, NULL), 0);
        input->traces[i] =
            (struct nvt_input_trace){.trace = make(fragments[i]), .runs = runs, .record = i};
    }
}

static const struct nvt_finding *find(const struct nvt_findings *findings, const char *cause,
                                      const char *text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!strcmp(findings->items[i].cause, cause) && strstr(findings->items[i].what, text))
            return &findings->items[i];
    return NULL;
}

static int is_found(const struct nvt_findings *findings, const char *cause, const char *text)
{
    return find(findings, cause, text) != NULL;
}

static void names_what_is_done_for_each_fragment(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    make_study(&input, looped, "looped");
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_true(is_found(&findings, "scaling", "cudaLaunchKernel runs 3 times per fragments"));
    assert_true(is_found(&findings, "scaling", "cudaStreamSynchronize grows with fragments"));
    assert_true(is_found(&findings, "scaling", "forward grows with fragments"));
    assert_true(is_found(&findings, "sync-bound", "cudaStreamSynchronize"));
    assert_true(is_found(&findings, "many small kernels", "shorter than a launch"));
    free(findings.items);
    nvt_input_free(&input);
}

static void expect_evidence(const struct nvt_findings *findings, const char *what,
                            const char *evidence)
{
    const struct nvt_finding *finding = find(findings, "scaling", what);
    assert_non_null(finding);
    if (!strstr(finding->evidence, evidence))
        fail_msg("%s: %s", what, finding->evidence);
}

/* What is entered for each unit tells an entry's own time, and a line where that rises. */
static void entries_tell_their_own_time(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    char moments[NVT_MOMENTS_MAX];
    make_study(&input, looped, "looped");
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    expect_evidence(&findings, "cudaLaunchKernel runs 3 times",
                    "384 entries per iteration at fragments=128, 4.00 µs each (median), 1.54 ms "
                    "in all (");
    expect_evidence(&findings, "cudaLaunchKernel runs 3 times",
                    "; cost = 0 ns + 12.0 µs·fragments (slope ± 0 ns at 95 %)");
    const struct nvt_finding *finding = find(&findings, "scaling", "find_rows runs 1 time");
    assert_non_null(finding);
    assert_ptr_equal(finding->trace, input.traces[3].trace);
    nvt_finding_moments(finding, moments, sizeof(moments));
    assert_string_equal(moments, "5.000 µs, 23.000 µs, 41.000 µs of made up");
    free(findings.items);
    nvt_input_free(&input);
}

/* A batch into 2, 8, 32 and 128 parts: each is entered once more, and all of them take as long. */
static void work_that_is_divided_is_not_done_for_each(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    make_study(&input, shared, "shared");
    assert_int_equal(nvt_diagnose(&input, "fragments", &findings, NULL), 0);
    assert_int_equal(findings.count, 0);
    nvt_input_free(&input);
}

/* Of entries that have a part that is divided and one that is not, what they cost is what has grown. */
static void only_what_has_grown_is_what_entries_cost(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    make_study(&input, partly_shared, "partly");
    assert_int_equal(nvt_diagnose(&input, "fragments", &findings, NULL), 0);
    const struct nvt_finding *finding = find(&findings, "scaling", "fragment runs 1 time");
    assert_non_null(finding);
    assert_true(fabs(finding->cost_ns - 126 * 5000) < 1000);
    expect_evidence(
        &findings, "fragment runs 1 time",
        "1.64 ms in all (100 % of the iteration), compared with 1.01 ms at fragments=2");
    free(findings.items);
    nvt_input_free(&input);
}

static void is_silent_where_nothing_grows(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    make_study(&input, grouped, "grouped");
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_int_equal(findings.count, 0);
    nvt_input_free(&input);
}

static void one_axis_can_be_asked_for(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1100];
    make_study(&input, looped, "looped");
    /* Waits and small kernels of single traces depend on no axis. */
    assert_int_equal(nvt_diagnose(&input, "fragments", &findings, NULL), 0);
    assert_true(findings.count > 0);
    for (size_t i = 0; i < findings.count; i++)
        assert_string_equal(findings.items[i].cause, "scaling");
    free(findings.items);
    findings = (struct nvt_findings){0};
    assert_int_equal(nvt_diagnose(&input, "size", &findings, NULL), 0);
    assert_int_equal(findings.count, 0);
    static const char *const refused[] = {"bogus", "fragment", "variant", "backend", ", "};
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++) {
        err = (struct nvt_error)NVT_ERROR_INIT;
        assert_int_equal(nvt_diagnose(&input, refused[i], &findings, &err), -1);
        nvt_error_text(&err, text, sizeof(text));
        if (!strstr(text, refused[i]) || !strstr(text, "; there are: fragments, size"))
            fail_msg("%s", text);
    }
    nvt_input_free(&input);
    struct nvt_input_trace alone = {.trace = looped(2)};
    const struct nvt_input traces = {.traces = &alone, .trace_count = 1};
    assert_int_equal(nvt_diagnose(&traces, "fragments", &findings, &err), -1);
    assert_int_equal(findings.count, 0);
    nvt_trace_free(alone.trace);
}

static void the_looped_trace_alone_names_its_cause(void **state)
{
    (void)state;
    struct nvt_input_trace trace = {.trace = looped(32)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_true(is_found(&findings, "sync-bound", "cudaStreamSynchronize"));
    assert_true(is_found(&findings, "many small kernels", "shorter than a launch"));
    free(findings.items);
    nvt_trace_free(trace.trace);
}

#define SIZES 7

/* Two variants over n = 2 … 128: cost = a + b·n, each measurement off by noise · N(0, 1). */
struct lines {
    double a[2], b[2], noise;
};

/* A normal number by Box and Muller, uniform ones by a 64-bit LCG (Knuth's MMIX). */
static double normal(uint64_t *seed)
{
    double uniform[2];
    for (int i = 0; i < 2; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        uniform[i] = ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(uniform[0])) * cos(6.283185307179586 * uniform[1]);
}

static void make_lines(struct nvt_input *input, const struct lines *lines, uint64_t seed)
{
    static const char *const variants[] = {"simple", "clever"};
    struct nvt_runs *runs = calloc(1, sizeof(*runs));
    *input = (struct nvt_input){.run_count = 1};
    input->runs = calloc(1, sizeof(*input->runs));
    input->runs[0] = runs;
    runs->path = strdup("made up");
    runs->count = (size_t)2 * SIZES;
    runs->records = calloc(runs->count, sizeof(*runs->records));
    for (size_t i = 0; i < runs->count; i++) {
        int n = 2 << (i % SIZES);
        size_t variant = i / SIZES;
        double cost =
            (lines->a[variant] + lines->b[variant] * n) * (1 + lines->noise * normal(&seed));
        char json[300];
        int size = snprintf(json, sizeof(json),
                            "{\"workload\": \"made\", \"n\": %d, \"variant\": \"%s\", "
                            "\"backend\": \"host\", \"status\": \"ok\", "
                            "\"forward_ns_mean\": 1e9, \"forward_ns_median\": %.3f}",
                            n, variants[variant], cost);
        assert_int_equal(nvt_record_parse(&runs->records[i], json, (size_t)size, NULL), 0);
    }
}

/* Whether they cross; *crossing gets where. */
static int cross(const struct lines *lines, uint64_t seed, struct nvt_crossing *crossing)
{
    struct nvt_input input;
    struct nvt_curves curves = {0};
    make_lines(&input, lines, seed);
    assert_int_equal(nvt_curves_of(&input, NULL, &curves, NULL), 0);
    assert_int_equal(curves.count, 2);
    assert_string_equal(nvt_curves_differ(&curves.items[0], &curves.items[1]), "variant");
    int crosses = nvt_curves_cross(&curves.items[0], &curves.items[1], crossing);
    nvt_curves_free(&curves);
    nvt_input_free(&input);
    return crosses;
}

static void the_crossing_of_two_variants_is_found(void **state)
{
    (void)state;
    const struct lines lines = {{1000, 5000}, {500, 100}, 0}; /* they meet at n = 10 */
    struct nvt_input input;
    struct nvt_findings findings = {0};
    make_lines(&input, &lines, 1);
    assert_int_equal(nvt_diagnose(&input, "n", &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_true(is_found(&findings, "crossing",
                         "forward: variant=simple is cheaper up to n=10, clever from there on"));
    assert_non_null(strstr(findings.items[0].evidence, "simple costs 1.00 µs + 500 ns·n,"));
    assert_non_null(strstr(findings.items[0].evidence, "up to n=8, the second from 16 on"));
    assert_true(fabs(findings.items[0].cost_ns - (1000 + 500 * 128 - 5000 - 100 * 128)) < 1);
    free(findings.items);
    nvt_input_free(&input);
}

static void variants_that_do_not_cross_are_left_alone(void **state)
{
    (void)state;
    const struct lines apart = {{1000, 2000}, {500, 600}, 0.02};
    const struct lines beyond = {{1000, 66000}, {500, 100}, 0}; /* they would meet at 162.5 */
    const struct lines same = {{1000, 1000}, {500, 500}, 0.05};
    struct nvt_crossing crossing;
    int found = 0;
    for (uint64_t seed = kit_seed(1), last = seed + 999; seed <= last; seed++) {
        assert_false(cross(&apart, seed, &crossing));
        found += cross(&same, seed, &crossing);
    }
    assert_true(found <= 50);
    assert_false(cross(&beyond, 1, &crossing));
}

/* 95 of 100 intervals should; 1000 trials leave that within 3.5 standard deviations of 0.7 %. */
static void the_interval_of_a_crossing_covers_it(void **state)
{
    (void)state;
    const struct lines lines = {{1000, 5000}, {500, 100}, 0.05};
    struct nvt_crossing crossing;
    int covered = 0;
    for (uint64_t seed = kit_seed(1), last = seed + 999; seed <= last; seed++) {
        assert_true(cross(&lines, seed, &crossing));
        assert_true(crossing.from < crossing.n && crossing.n < crossing.to);
        covered += crossing.from <= 10 && crossing.to >= 10;
    }
    assert_in_range(covered, 925, 975);
}

/* The study itself: the range of each fragment is named for looped, and nothing scales in grouped.
 */
static void the_host_study_is_explained(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("what is found rests on how times grow");
    char *directory = cli_tempdir();
    const char *out = cli_in(directory, "out");
    /* On a busy machine threads that wait for each other take longer than what they share, and that is found instead. */
    setenv("OMP_NUM_THREADS", "1", 1);
    const char *run[] = {
        "nvtally", "run",         "fragmented", "--size", "256",       "--batch",
        "8",       "--fragments", "2,8,32,128", "--mode", "inference", "--iterations",
        "20",      "--backend",   "host",       "-o",     out,         NULL};
    struct cli_result result = cli_run(run);
    unsetenv("OMP_NUM_THREADS");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *diagnose[] = {"nvtally", "diagnose", out, "--by", "fragments", "-f", "csv", NULL};
    result = cli_run(diagnose);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "variant=looped,range fragment runs 1 time per "
                                       "fragments"));
    for (char *line = result.out; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char row[2048];
        snprintf(row, sizeof(row), "%.*s", (int)strcspn(line, "\n"), line);
        /* That a time grows is a matter of chance on a busy machine; how often a range is entered is not. */
        assert_false(!strncmp(row, "scaling", 7) && strstr(row, "grouped") &&
                     strstr(row, "runs 1 time"));
    }
    cli_result_free(&result);
    const char *along[] = {"nvtally", "diagnose", out, "--by", "batch", NULL};
    result = cli_run(along);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out,
                        "Nothing was found.\n\n1 value of batch above 0 in the runs: rules "
                        "along it need three runs with two values\n");
    cli_result_free(&result);
    const char *bogus[] = {"nvtally", "diagnose", out, "--by", "bogus", NULL};
    result = cli_run(bogus);
    cli_expect_failure(&result, "no axis 'bogus' with numbers in the input; there are: size, ");
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "diagnose", cli_in(directory, "nowhere"), NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "nowhere");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Three runs of one configuration say nothing of what grows with its parameters. */
static void runs_of_one_value_have_no_slope(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *run[] = {"nvtally",      "run",         "fragmented", "--size",    "64",
                         "--batch",      "8",           "--mode",     "inference", "--variant",
                         "looped",       "--fragments", "8",          "--warmup",  "0,1,2",
                         "--iterations", "5",           "-o",         directory,   NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", directory, NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, "nan"));
    assert_null(strstr(result.out, "scaling:"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Rows that only their conditions tell apart have them in their names; others have not. */
static void conditions_are_named_where_they_differ(void **state)
{
    (void)state;
    static const struct {
        const char *row, *name;
    } cases[] = {
        {"{\"workload\": \"toy\", \"size\": 1, \"backend\": \"host\", \"collect\": \"nvtx\", "
         "\"warmup\": 0, \"trace\": \"a\"}",
         "toy size=1 collect=nvtx"},
        {"{\"workload\": \"toy\", \"size\": 1, \"backend\": \"host\", \"collect\": \"full\", "
         "\"warmup\": 0, \"trace\": \"b\"}",
         "toy size=1 collect=full"},
        {"{\"workload\": \"toy\", \"size\": 2, \"backend\": \"host\", \"collect\": \"nvtx\", "
         "\"warmup\": 0, \"trace\": \"c\"}",
         "toy size=2"},
        /* Nothing was traced of this one. */
        {"{\"workload\": \"toy\", \"size\": 2, \"backend\": \"host\", \"collect\": \"off\", "
         "\"warmup\": 0, \"trace\": null}",
         "toy size=2 collect=off"},
        {"{\"workload\": \"other\", \"size\": 2, \"backend\": \"cuda\", \"collect\": \"nvtx\", "
         "\"warmup\": 5, \"trace\": \"d\"}",
         "other size=2"},
    };
    enum { CASES = NVT_COUNT_OF(cases) };
    struct nvt_record records[CASES];
    struct nvt_runs runs = {.records = records, .count = CASES};
    char name[256];
    memset(records, 0, sizeof(records));
    for (size_t i = 0; i < CASES; i++)
        assert_int_equal(nvt_record_parse(&records[i], cases[i].row, strlen(cases[i].row), NULL),
                         0);
    for (size_t i = 0; i < CASES; i++) {
        const struct nvt_input_trace from = {.runs = &runs, .record = i};
        nvt_case_name(&from, name, sizeof(name));
        assert_string_equal(name, cases[i].name);
        nvt_case_name(&from, name, 8); /* what is too long is cut */
        assert_int_equal(strlen(name), 7);
    }
    for (size_t i = 0; i < CASES; i++)
        nvt_record_free(&records[i]);
}

/* Two variants that grow alike are one finding to read, and an iteration that grows as what is in it says nothing more. */
static void sweeps_that_share_a_finding_are_one(void **state)
{
    (void)state;
    struct nvt_input input, other;
    struct nvt_findings findings = {0};
    char title[500], where[600];
    make_study(&input, looped, "looped");
    make_study(&other, looped, "unrolled");
    struct nvt_input_trace *traces = calloc(8, sizeof(*traces));
    memcpy(traces, input.traces, 4 * sizeof(*traces));
    memcpy(traces + 4, other.traces, 4 * sizeof(*traces));
    struct nvt_input both = input;
    both.traces = traces;
    both.trace_count = 8;
    assert_int_equal(nvt_diagnose(&both, "fragments", &findings, NULL), 0);
    assert_null(find(&findings, "scaling", "iteration grows"));
    size_t each = findings.count;
    assert_true(each >= 4 && each % 2 == 0);
    assert_int_equal(nvt_findings_fold(&findings, &both, NULL), 0);
    assert_int_equal(findings.count, each / 2);
    const struct nvt_finding *forward = find(&findings, "scaling", "forward grows with fragments");
    assert_non_null(forward);
    assert_int_equal(forward->sweeps, 2);
    nvt_finding_title(forward, title, sizeof(title));
    assert_non_null(strstr(title, "scaling in 2 sweeps   up to "));
    nvt_finding_where(forward, where, sizeof(where));
    assert_non_null(strstr(where, " and 1 more"));
    free(findings.items);
    free(traces);
    nvt_input_free(&input);
    nvt_input_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_is_done_for_each_fragment),
        cmocka_unit_test(sweeps_that_share_a_finding_are_one),
        cmocka_unit_test(entries_tell_their_own_time),
        cmocka_unit_test(work_that_is_divided_is_not_done_for_each),
        cmocka_unit_test(only_what_has_grown_is_what_entries_cost),
        cmocka_unit_test(is_silent_where_nothing_grows),
        cmocka_unit_test(one_axis_can_be_asked_for),
        cmocka_unit_test(the_looped_trace_alone_names_its_cause),
        cmocka_unit_test(the_crossing_of_two_variants_is_found),
        cmocka_unit_test(variants_that_do_not_cross_are_left_alone),
        cmocka_unit_test(the_interval_of_a_crossing_covers_it),
        cmocka_unit_test(the_host_study_is_explained),
        cmocka_unit_test(runs_of_one_value_have_no_slope),
        cmocka_unit_test(conditions_are_named_where_they_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
