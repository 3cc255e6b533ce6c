/*
 * Sweeps of traces that name what programs of all kinds name: iterations, repetitions, axes and ranks, and how long
 * names are shown.
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
#include "../analyze/input/rows.h"
#include "../analyze/reports/report.h"
#include "../analyze/sweeps/sweeps.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "../plots/frame.h"
#include "../plots/label.h"
#include "cli.h"
#include "small_trace.h"
#include "sweeps_kit.h"

/* --- what programs of all kinds name ------------------------------------------------------------------- */

enum { RUNS = 40 };

/* Traces by what they name, and their rows. */
struct named {
    struct nvt_input_trace traces[RUNS];
    struct nvt_input input;
    struct nvt_sweeps sweeps;
};

/* The body of a run with n, in the thread of it. */
typedef void body(struct nvt_trace *trace, uint32_t thread, int n);

/* Runs of "NAME n=<n>" with as many iterations of 1000 ns, and what a body adds. */
static void add_named(struct named *named, const char *name, int n, int iterations, body *add)
{
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    char full[1024];
    snprintf(full, sizeof(full), name, n);
    small_range(trace, thread, "nvtally", full, 0, 2000L * iterations, NVT_PUSH_POP);
    for (int i = 0; i < iterations; i++)
        small_range(trace, thread, "nvtally", "iteration", 10 + 2000L * i, 1010 + 2000L * i,
                    NVT_PUSH_POP);
    add(trace, thread, n);
    small_trace_finish(trace);
    named->traces[named->input.trace_count++] = (struct nvt_input_trace){.trace = trace};
}

static void find_sweeps(struct named *named, size_t count)
{
    struct nvt_error err = NVT_ERROR_INIT;
    /* The input owns what nvt_input_take adds to it, so its traces have to be its own. */
    struct nvt_input_trace *traces = calloc(named->input.trace_count + 1, sizeof(*traces));
    memcpy(traces, named->traces, named->input.trace_count * sizeof(*traces));
    named->input.traces = traces;
    assert_int_equal(nvt_input_rows(&named->input, &err), 0);
    assert_int_equal(nvt_sweeps_of(&named->input, NULL, &named->sweeps, &err), 0);
    assert_int_equal(named->sweeps.count, count);
}

static void free_named(struct named *named)
{
    nvt_sweeps_free(&named->sweeps);
    nvt_input_free(&named->input);
    *named = (struct named){0};
}

static void adds_work(struct nvt_trace *trace, uint32_t thread, int n)
{
    small_range(trace, thread, "", "work", 20, 20 + 10L * n, NVT_PUSH_POP);
}

static void adds_nothing(struct nvt_trace *trace, uint32_t thread, int n)
{
    (void)trace;
    (void)thread;
    (void)n;
}

static void adds_long_names(struct nvt_trace *trace, uint32_t thread, int n)
{
    small_range(trace, thread, "", "a_name_that_is_longer_than_any_place_of_a_legend_has_room_for",
                20, 30 + 10L * n, NVT_PUSH_POP);
    small_range(trace, thread, "", "行列の積をとる関数の名前はとても長いので切り取られる", 200,
                210 + 10L * n, NVT_PUSH_POP);
}

/* Of more runs than a paper has all count. */
static void runs_may_be_many(void **state)
{
    (void)state;
    struct named named = {0};
    for (int n = 1; n <= RUNS; n++)
        add_named(&named, "w n=%d", n, 1, adds_work);
    find_sweeps(&named, 1);
    const struct nvt_sweep *sweep = &named.sweeps.items[0];
    const struct nvt_sweep_item *work = sweeps_find(sweep, NVT_SWEEP_RANGE, "work");
    assert_int_equal(sweep->runs, RUNS);
    assert_int_equal(work->value_count, RUNS);
    assert_true(nvt_sweep_largest(work)->n == RUNS && nvt_sweep_largest(work)->ns == 10 * RUNS);
    assert_true(fabs(nvt_sweep_share(sweep, work) - 0.4) < 1e-9);
    assert_true(fabs(work->growth.p - 1) < 1e-9);
    free_named(&named);
}

static void adds_thirds(struct nvt_trace *trace, uint32_t thread, int n)
{
    (void)n;
    /* In one of five iterations, and as a range within itself. */
    small_range(trace, thread, "", "rare", 20, 520, NVT_PUSH_POP);
    for (int i = 0; i < 5; i++) {
        int64_t start = 600 + 2000L * i;
        small_range(trace, thread, "", "recursive", start, start + 300, NVT_PUSH_POP);
        small_range(trace, thread, "", "recursive", start + 10, start + 290, NVT_PUSH_POP);
    }
}

static void what_is_rare_has_its_mean(void **state)
{
    (void)state;
    struct named named = {0};
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 5, adds_thirds);
    find_sweeps(&named, 1);
    const struct nvt_sweep *sweep = &named.sweeps.items[0];
    const struct nvt_sweep_item *rare = sweeps_find(sweep, NVT_SWEEP_RANGE, "rare");
    assert_true(rare->is_mean && nvt_sweep_largest(rare)->ns == 100);
    assert_true(fabs(nvt_sweep_share(sweep, rare) - 0.1) < 1e-9);
    const struct nvt_sweep_item *recursive = sweeps_find(sweep, NVT_SWEEP_RANGE, "recursive");
    assert_true(!recursive->is_mean && nvt_sweep_largest(recursive)->ns == 300);
    assert_true(nvt_sweep_largest(recursive)->count == 2);
    free_named(&named);
}

static void adds_own_loop(struct nvt_trace *trace, uint32_t thread, int n)
{
    /* A solver's own loop, what looks like a configuration, and another domain's range of the same name. */
    for (int i = 0; i < 4; i++)
        small_range(trace, thread, "nvtally", "iteration", 100 + 20L * i, 110 + 20L * i,
                    NVT_PUSH_POP);
    small_range(trace, thread, "nvtally", "sub x=3", 200, 300, NVT_PUSH_POP);
    small_range(trace, thread, "nvtally", "sub x=4", 300, 400, NVT_PUSH_POP);
    small_range(trace, thread, "", "same", 400, 400 + 10L * n, NVT_PUSH_POP);
    small_range(trace, thread, "mine", "same", 600, 610, NVT_PUSH_POP);
    small_range(trace, thread, "nvtally", "same", 700, 720, NVT_PUSH_POP);
}

/* Another thread of the process and another process have iterations of their own at the same time. */
static void adds_others(struct nvt_trace *trace, uint32_t thread, int n)
{
    const uint32_t second = small_thread(trace, 1, 2), other = small_thread(trace, 2, 1);
    (void)thread;
    small_range(trace, second, "nvtally", "iteration", 500, 5000, NVT_PUSH_POP);
    small_range(trace, second, "", "theirs", 600, 600 + 100L * n, NVT_PUSH_POP);
    small_range(trace, other, "nvtally", "iteration", 900, 2000, NVT_PUSH_POP);
    small_range(trace, thread, "", "ours", 950, 960, NVT_PUSH_POP);
}

static void iterations_are_told_apart(void **state)
{
    (void)state;
    struct named named = {0};
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 1, adds_own_loop);
    find_sweeps(&named, 1);
    const struct nvt_sweep *sweep = &named.sweeps.items[0];
    assert_true(nvt_sweep_largest(sweep->iteration)->ns == 1000);
    assert_true(nvt_sweep_largest(sweep->iteration)->count == 1);
    assert_string_equal(sweep->iteration->name, "iteration");
    assert_true(nvt_sweep_largest(sweeps_find(sweep, NVT_SWEEP_RANGE, "nvtally:iteration"))->ns ==
                40);
    assert_true(nvt_sweep_largest(sweeps_find(sweep, NVT_SWEEP_RANGE, "same"))->ns == 40);
    assert_true(nvt_sweep_largest(sweeps_find(sweep, NVT_SWEEP_RANGE, "mine:same"))->ns == 10);
    assert_true(nvt_sweep_largest(sweeps_find(sweep, NVT_SWEEP_RANGE, "nvtally:same"))->ns == 20);
    free_named(&named);
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 1, adds_others);
    find_sweeps(&named, 1);
    sweep = &named.sweeps.items[0];
    /* Three iterations: 1000, 4500 and 1100 ns. */
    assert_true(nvt_sweep_largest(sweep->iteration)->ns == 1100);
    assert_true(nvt_sweep_largest(sweeps_find(sweep, NVT_SWEEP_RANGE, "theirs"))->mean_ns * 3 ==
                400);
    assert_true(nvt_sweep_largest(sweeps_find(sweep, NVT_SWEEP_RANGE, "ours"))->mean_ns * 3 == 10);
    free_named(&named);
}

/* An axis may be called as what rows say themselves, and as long as it likes; twice it is its first one. */
static void axes_may_have_any_name(void **state)
{
    (void)state;
    static const char *const names[] = {"w rank=%d",   "w backend=%d",     "w device=%d",
                                        "w status=%d", "w trace=%d",       "w workload=%d",
                                        "w size=%d",   "w iterations=%d",  "w n=%d n=7",
                                        "w ключ=%d",   "w device=gpu n=%d"};
    char longer[600];
    struct named named = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        for (int n = 1; n <= 4; n *= 2)
            add_named(&named, names[i], n, 1, adds_work);
        find_sweeps(&named, 1);
        assert_true(nvt_sweep_largest(named.sweeps.items[0].iteration)->n == 4);
        assert_null(nvt_record_text(&named.input.runs[0]->records[0], "status"));
        assert_null(nvt_record_text(&named.input.runs[0]->records[0], "device"));
        free_named(&named);
    }
    /* Configurations that differ behind 300 bytes are two. */
    for (int which = 0; which < 2; which++) {
        snprintf(longer, sizeof(longer), "w text=%0300d-%d n=%%d", 0, which);
        for (int n = 1; n <= 4; n *= 2)
            add_named(&named, longer, n, 1, adds_work);
    }
    find_sweeps(&named, 2);
    assert_string_not_equal(named.sweeps.items[0].where, named.sweeps.items[1].where);
    free_named(&named);
}

/* Of one row however its name is written, and whichever repetition it is: one sweep with repetitions. */
static void repetitions_and_order_do_not_matter(void **state)
{
    (void)state;
    static const char *const names[] = {"w n=%d m=1 seed=7", "w m=1 n=%d seed=8",
                                        "w seed=9 run=2 m=1 n=%d"};
    struct named named = {0};
    for (size_t i = 0; i < 3; i++)
        for (int n = 1; n <= 4; n *= 2)
            add_named(&named, names[i], n, 1, adds_work);
    find_sweeps(&named, 1);
    assert_string_equal(named.sweeps.items[0].where, "w m=1");
    assert_int_equal(named.sweeps.items[0].runs, 9);
    assert_int_equal(sweeps_find(&named.sweeps.items[0], NVT_SWEEP_RANGE, "work")->value_count, 3);
    free_named(&named);
}

static void adds_half(struct nvt_trace *trace, uint32_t thread, int n)
{
    for (int i = 0; i < 5; i++)
        small_range(trace, thread, "", "half", 20 + 2000L * i, 20 + 2000L * i + (i ? 100L * n : 1),
                    NVT_PUSH_POP);
}

/* Another thread has ten iterations at the same time, and in the first five they take turns. */
static void adds_half_in_turns(struct nvt_trace *trace, uint32_t thread, int n)
{
    const uint32_t second = small_thread(trace, 1, 2);
    for (int i = 0; i < 10; i++)
        small_range(trace, second, "nvtally", "iteration", 15 + 2000L * i, 1015 + 2000L * i,
                    NVT_PUSH_POP);
    for (int i = 0; i < 15; i++) {
        int64_t start = 20 + 2000L * (i / 3) + 300L * (i % 3);
        small_range(trace, i % 3 == 1 ? second : thread, "", "half", start,
                    start + (i / 3 ? 50L * n : 1), NVT_PUSH_POP);
    }
}

/* What half of the iterations have has no median that says anything. */
static void half_is_a_mean(void **state)
{
    (void)state;
    struct named named = {0};
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 10, adds_half);
    find_sweeps(&named, 1);
    const struct nvt_sweep_item *half =
        sweeps_find(&named.sweeps.items[0], NVT_SWEEP_RANGE, "half");
    assert_true(half->is_mean);
    assert_true(fabs(nvt_sweep_largest(half)->ns - 160.1) < 1e-9);
    free_named(&named);
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 10, adds_half_in_turns);
    find_sweeps(&named, 1);
    half = sweeps_find(&named.sweeps.items[0], NVT_SWEEP_RANGE, "half");
    assert_true(half->is_mean);
    /* 12 of 200 ns, three of 1. */
    assert_true(fabs(nvt_sweep_largest(half)->ns - 120.15) < 1e-9);
    free_named(&named);
}

/* Traces of the ranks of a run are that run, which has the iterations of all. */
static void ranks_are_one_run(void **state)
{
    (void)state;
    struct named named = {0};
    for (int n = 1; n <= 4; n *= 2)
        for (int rank = 0; rank < 2; rank++)
            for (int repeat = 0; repeat < (n == 4 ? 2 : 1); repeat++) {
                add_named(&named, "w n=%d", n * 1000, 1, rank ? adds_nothing : adds_work);
                struct nvt_trace *trace = named.traces[named.input.trace_count - 1].trace;
                trace->processes.rank[0] = (uint32_t)rank;
            }
    find_sweeps(&named, 1);
    const struct nvt_sweep *sweep = &named.sweeps.items[0];
    const struct nvt_sweep_item *work = sweeps_find(sweep, NVT_SWEEP_RANGE, "work");
    assert_int_equal(sweep->runs, 4);
    assert_int_equal(sweep->iteration->count, 4);
    /* On one of two ranks: the mean. */
    assert_true(work->is_mean && nvt_sweep_largest(work)->ns == 20000);
    assert_true(nvt_sweep_largest(work)->count == 0.5);
    free_named(&named);
    /* Two runs of four ranks are no sweep. */
    for (int n = 1; n <= 2; n++)
        for (uint32_t rank = 0; rank < 4; rank++) {
            add_named(&named, "w n=%d", n, 1, adds_work);
            named.traces[named.input.trace_count - 1].trace->processes.rank[0] = rank;
        }
    find_sweeps(&named, 0);
    free_named(&named);
}

static void adds_long_ranges(struct nvt_trace *trace, uint32_t thread, int n)
{
    static const char same[] =
        "company::product::solver::detail::preconditioned_conjugate_gradient_without_restarts::"
        "a_very_long_name_indeed::";
    char name[256];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s%s", same, i ? "multiply" : "reduce");
        small_range(trace, thread, "", name, 20 + 400 * i, 30 + 400 * i + 80L * n, NVT_PUSH_POP);
    }
}

/* Names that begin alike are two things. */
static void long_names_are_not_folded(void **state)
{
    (void)state;
    struct named named = {0};
    struct nvt_findings findings = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 1, adds_long_ranges);
    find_sweeps(&named, 1);
    assert_int_equal(nvt_diagnose(&named.input, "n", &findings, &err), 0);
    assert_int_equal(nvt_findings_fold(&findings, &named.input, &err), 0);
    size_t told = 0;
    for (size_t i = 0; i < findings.count; i++) {
        assert_int_equal(findings.items[i].sweeps, 0);
        told += strstr(findings.items[i].what, "company::") != NULL;
    }
    assert_int_equal(told, 2);
    free(findings.items);
    free_named(&named);
}

static void zero_is_left_out_and_told(void **state)
{
    (void)state;
    struct named named = {0};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    add_named(&named, "w n=%d", 0, 1, adds_work);
    add_named(&named, "w n=%d", -3, 1, adds_work);
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 1, adds_work);
    find_sweeps(&named, 1);
    assert_int_equal(named.sweeps.items[0].runs, 3);
    assert_int_equal(named.sweeps.items[0].without, 2);
    assert_int_equal(nvt_report_make(&nvt_report_growth, &named.input, &tables, &err), 0);
    assert_int_equal(nvt_buffer_append(&named.input.notes, "", 1), 0);
    assert_string_equal(
        (const char *)named.input.notes.data,
        "note: growth is over n above 0: it leaves out 2 runs of w with 0 or less\n");
    nvt_tables_free(&tables);
    free_named(&named);
}

/* --- whole commands: a program of one's own ------------------------------------------------------------ */

/* However long the names are, a key of the legend has room in its chart, and its law is in it. */
static void legends_have_room(void **state)
{
    (void)state;
    static const char *const names[] = {
        "w n=%d", "w number_of_elements_in_each_row_of_all_the_matrices_that_there_are=%d",
        "w 行列の大きさを表すとても長い名前の変数=%d"};
    for (size_t i = 0; i < 3; i++) {
        struct named named = {0};
        struct nvt_error err = NVT_ERROR_INIT;
        if (!cli_has_gnuplot())
            skip();
        for (int n = 1; n <= 4; n *= 2)
            add_named(&named, names[i], n, 1, adds_long_names);
        find_sweeps(&named, 1);
        char *paths = NULL;
        size_t size = 0;
        FILE *list = open_memstream(&paths, &size);
        const struct nvt_chart_request request = {
            .input = &named.input, .directory = cli_folder, .format = "svg", .paths = list};
        assert_int_equal(nvt_chart_pictures(&nvt_chart_growth, &request, &err), 0);
        fclose(list);
        char *slash = strrchr(paths, '/');
        *strstr(slash, ".svg") = 0;
        char script_path[300];
        snprintf(script_path, sizeof(script_path), "%s.gp", slash + 1);
        char *script = cli_read_text(cli_folder, script_path);
        size_t keys = 0;
        char *rest = script;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
            double x;
            char *at = strstr(line, " at screen "), *text = strchr(line, '\'');
            if (!at || !strstr(at, " left noenhanced") || sscanf(at, " at screen %lf", &x) != 1)
                continue;
            *at = 0;
            assert_true(x >= 0 &&
                        x * NVT_FRAME_WIDTH + nvt_label_pixels(text) * 0.97 - 7 < NVT_FRAME_WIDTH);
            keys += strstr(text, " ns·") != NULL;
        }
        assert_int_equal(keys, 2);
        free(script);
        free(paths);
        free_named(&named);
    }
}

/* Configurations whose names are the same in a file's name have pictures of their own. */
static void pictures_have_names_of_their_own(void **state)
{
    (void)state;
    static const char *const names[] = {"w k=a.b n=%d", "w k=a_b n=%d", "w k=a:b n=%d"};
    struct named named = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char *paths = NULL;
    size_t size = 0;
    if (!cli_has_gnuplot())
        skip();
    for (size_t i = 0; i < 3; i++)
        for (int n = 1; n <= 4; n *= 2)
            add_named(&named, names[i], n, 1, adds_work);
    find_sweeps(&named, 3);
    FILE *list = open_memstream(&paths, &size);
    const struct nvt_chart_request request = {.input = &named.input,
                                              .directory = cli_folder,
                                              .format = "svg",
                                              .paths = list,
                                              .drawn = nvt_strings_new()};
    assert_true(nvt_chart_fits(&nvt_chart_growth, &named.input));
    assert_int_equal(nvt_chart_pictures(&nvt_chart_growth, &request, &err), 0);
    fclose(list);
    assert_non_null(strstr(paths, "/growth-n-w_k_a_b.svg\n"));
    assert_non_null(strstr(paths, "/growth-n-w_k_a_b-2.svg\n"));
    assert_non_null(strstr(paths, "/growth-n-w_k_a_b-3.svg\n"));
    char *script = cli_read_text(cli_folder, "growth-n-w_k_a_b-2.gp");
    assert_non_null(strstr(script, "'growth-n-w_k_a_b-2.dat'"));
    assert_non_null(strstr(script, "k=a_b"));
    free(script);
    free(paths);
    nvt_strings_free(request.drawn);
    free_named(&named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_may_be_many),
        cmocka_unit_test(what_is_rare_has_its_mean),
        cmocka_unit_test(iterations_are_told_apart),
        cmocka_unit_test(axes_may_have_any_name),
        cmocka_unit_test(repetitions_and_order_do_not_matter),
        cmocka_unit_test(half_is_a_mean),
        cmocka_unit_test(ranks_are_one_run),
        cmocka_unit_test(long_names_are_not_folded),
        cmocka_unit_test(zero_is_left_out_and_told),
        cmocka_unit_test(legends_have_room),
        cmocka_unit_test(pictures_have_names_of_their_own),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
