/*
 * Diagnosis: on runs of the fragment study, and on made-up device traces whose trouble is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnose.h"
#include "cli.h"

#define ITERATIONS 20

/* A device trace being made: one thread, one stream, a clock. */
struct maker {
    struct nvt_trace *trace;
    uint32_t thread;
    int64_t now, device;
    uint64_t correlation;
};

static struct maker begin(void)
{
    struct maker maker = {.trace = nvt_trace_new("made up", "nvt"), .now = 1000};
    maker.thread = nvt_trace_thread(maker.trace, nvt_trace_process(maker.trace, 1), 1);
    return maker;
}

static void range(struct maker *maker, const char *name, int64_t start)
{
    struct nvt_range row = {.start = start, .end = maker->now, .thread = maker->thread,
                            .end_thread = maker->thread,
                            .name = nvt_strings_add_text(maker->trace->strings, name)};
    assert_int_not_equal(nvt_range_add(maker->trace, &row), NVT_NONE);
}

static void call(struct maker *maker, const char *name, int64_t ns)
{
    struct nvt_api row = {.start = maker->now, .end = maker->now + ns, .thread = maker->thread,
                          .correlation = ++maker->correlation,
                          .name = nvt_strings_add_text(maker->trace->strings, name)};
    assert_int_not_equal(nvt_api_add(maker->trace, &row), NVT_NONE);
    maker->now += ns;
}

/* A kernel of so many ns: launched now, run when the device is free. */
static void launch(struct maker *maker, const char *name, int64_t ns)
{
    int64_t launched = maker->now;
    call(maker, "cudaLaunchKernel", 4000);
    int64_t start = launched + 5000 > maker->device ? launched + 5000 : maker->device;
    struct nvt_op row = {.start = start, .end = start + ns, .correlation = maker->correlation,
                         .name = nvt_strings_add_text(maker->trace->strings, name),
                         .launch = INT64_MIN, .kind = NVT_OP_KERNEL, .detail = NVT_NONE};
    row.short_name = row.name;
    assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
    maker->device = row.end;
}

static void synchronize(struct maker *maker)
{
    int64_t until = maker->device > maker->now ? maker->device - maker->now : 0;
    call(maker, "cudaStreamSynchronize", until + 1000);
}

/* The looped fragment study: every fragment asks the device and waits for the answer. */
static struct nvt_trace *looped(int fragments)
{
    struct maker maker = begin();
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t iteration = maker.now;
        for (int f = 0; f < fragments; f++) {
            launch(&maker, "find_rows", 2000);
            synchronize(&maker);
            launch(&maker, "gather", 2000);
            launch(&maker, "gemm", 6000);
        }
        synchronize(&maker);
        range(&maker, "forward", iteration);
        range(&maker, "iteration", iteration);
        maker.now += 1000;
    }
    assert_int_equal(nvt_trace_finish(maker.trace, NULL), 0);
    return maker.trace;
}

/* The grouped one: the same launches whatever the number of fragments. */
static struct nvt_trace *grouped(int fragments)
{
    struct maker maker = begin();
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t iteration = maker.now;
        launch(&maker, "choose", 2000);
        launch(&maker, "expert", 40000 + fragments % 3 * 100);
        synchronize(&maker);
        range(&maker, "forward", iteration);
        range(&maker, "iteration", iteration);
        maker.now += 1000;
    }
    assert_int_equal(nvt_trace_finish(maker.trace, NULL), 0);
    return maker.trace;
}

/* Runs with 2, 8, 32 and 128 fragments as an input. */
static void make_study(struct nvt_report_input *input, struct nvt_trace *(*make)(int),
                       const char *variant)
{
    static const int fragments[] = {2, 8, 32, 128};
    struct nvt_runs *runs = calloc(1, sizeof(*runs));
    *input = (struct nvt_report_input){.trace_count = 4, .run_count = 1};
    input->traces = calloc(4, sizeof(*input->traces));
    input->runs = calloc(1, sizeof(*input->runs));
    input->runs[0] = runs;
    runs->path = strdup("made up");
    runs->records = calloc(4, sizeof(*runs->records));
    runs->count = 4;
    for (size_t i = 0; i < 4; i++) {
        char json[200];
        int size = snprintf(json, sizeof(json),
                            "{\"workload\": \"fragmented\", \"fragments\": %d, \"variant\": \"%s\", "
                            "\"backend\": \"cuda\"}",
                            fragments[i], variant);
        assert_int_equal(nvt_record_parse(&runs->records[i], json, (size_t)size, NULL), 0);
        input->traces[i] = (struct nvt_input_trace){make(fragments[i]), runs, i};
    }
}

static int is_found(const struct nvt_findings *findings, const char *cause, const char *text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!strcmp(findings->items[i].cause, cause) && strstr(findings->items[i].what, text))
            return 1;
    return 0;
}

static void names_what_is_done_for_each_fragment(void **state)
{
    (void)state;
    struct nvt_report_input input;
    struct nvt_findings findings = {0};
    struct nvt_case facts = {&input, NULL};
    make_study(&input, looped, "looped");
    assert_int_equal(nvt_diagnose_scaling(&facts, &findings, NULL), 0);
    assert_int_equal(nvt_diagnose_calls(&facts, &findings, NULL), 0);
    assert_true(is_found(&findings, "scaling", "cudaLaunchKernel is entered 3 times for each"));
    assert_true(is_found(&findings, "scaling", "forward grows with fragments"));
    assert_true(is_found(&findings, "sync-bound", "cudaStreamSynchronize"));
    assert_true(is_found(&findings, "launch-bound", "cudaLaunchKernel"));
    free(findings.items);
    nvt_input_free(&input);
}

static void is_silent_where_nothing_grows(void **state)
{
    (void)state;
    struct nvt_report_input input;
    struct nvt_findings findings = {0};
    struct nvt_case facts = {&input, NULL};
    make_study(&input, grouped, "grouped");
    assert_int_equal(nvt_diagnose_scaling(&facts, &findings, NULL), 0);
    assert_int_equal(nvt_diagnose_warmup(&facts, &findings, NULL), 0);
    assert_int_equal(nvt_diagnose_calls(&facts, &findings, NULL), 0);
    assert_int_equal(nvt_diagnose_timing(&facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 0);
    nvt_input_free(&input);
}

static void one_axis_can_be_asked_for(void **state)
{
    (void)state;
    struct nvt_report_input input;
    struct nvt_findings findings = {0};
    struct nvt_case facts = {&input, "batch"};
    make_study(&input, looped, "looped");
    assert_int_equal(nvt_diagnose_scaling(&facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 0);
    nvt_input_free(&input);
}

/* A range that only launches, and the same with a wait in it. */
static void ranges_that_end_early_are_named(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        struct maker maker = begin();
        for (int i = 0; i < 10; i++) {
            int64_t start = maker.now;
            launch(&maker, "long kernel", 500000);
            if (waits)
                synchronize(&maker);
            range(&maker, "timed", start);
            maker.now = maker.device + 1000;
        }
        assert_int_equal(nvt_trace_finish(maker.trace, NULL), 0);
        struct nvt_input_trace trace = {maker.trace, NULL, 0};
        struct nvt_report_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        struct nvt_findings findings = {0};
        assert_int_equal(nvt_diagnose_timing(&facts, &findings, NULL), 0);
        assert_int_equal(findings.count, !waits);
        if (!waits)
            assert_true(is_found(&findings, "un-synchronised timing", "timed ends before"));
        free(findings.items);
        nvt_trace_free(maker.trace);
    }
}

static void slow_first_iterations_are_named(void **state)
{
    (void)state;
    for (int cold = 0; cold < 2; cold++) {
        struct maker maker = begin();
        for (int i = 0; i < 40; i++) {
            int64_t start = maker.now;
            maker.now += cold && i < 2 ? 900000 : 100000 + i % 7 * 1000;
            range(&maker, "iteration", start);
        }
        assert_int_equal(nvt_trace_finish(maker.trace, NULL), 0);
        struct nvt_input_trace trace = {maker.trace, NULL, 0};
        struct nvt_report_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        struct nvt_findings findings = {0};
        assert_int_equal(nvt_diagnose_warmup(&facts, &findings, NULL), 0);
        assert_int_equal(findings.count, cold);
        if (cold)
            assert_true(is_found(&findings, "warm-up inside", "the first 2 of 40"));
        free(findings.items);
        nvt_trace_free(maker.trace);
    }
}

/* The study itself: the range of each fragment is named for looped, and nothing scales in grouped. */
static void the_host_study_is_explained(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *out = cli_in(directory, "out");
    const char *run[] = {"nvtally", "run", "fragmented", "--size", "256", "--batch", "8",
                         "--fragments", "2,8,32,128", "--mode", "inference", "--iterations", "20",
                         "--backend", "host", "-o", out, NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *diagnose[] = {"nvtally", "diagnose", out, "--by", "fragments", "-f", "csv", NULL};
    result = cli_run(diagnose);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "variant=looped,range fragment is entered 1 time for each of "
                                       "the fragments"));
    for (char *line = result.out; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char row[2048];
        snprintf(row, sizeof(row), "%.*s", (int)strcspn(line, "\n"), line);
        assert_false(!strncmp(row, "scaling", 7) && strstr(row, "grouped"));
    }
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "diagnose", cli_in(directory, "nowhere"), NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "nowhere");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_is_done_for_each_fragment),
        cmocka_unit_test(is_silent_where_nothing_grows),
        cmocka_unit_test(one_axis_can_be_asked_for),
        cmocka_unit_test(ranges_that_end_early_are_named),
        cmocka_unit_test(slow_first_iterations_are_named),
        cmocka_unit_test(the_host_study_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
