/*
 * Sweeps: what ranges, calls and operations cost an iteration over a number; its report, its chart, and what is made of
 * the traces of a program of one's own.
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

#include "../analyze/reports/report.h"
#include "../analyze/sweeps/sweeps.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "sweeps_kit.h"

enum { MOST = 8, ITERATIONS = 10 };

/* --- made by hand ------------------------------------------------------------------------------------- */

struct made {
    struct nvt_runs runs;
    struct nvt_record records[MOST];
    struct nvt_input_trace traces[MOST];
    struct nvt_input input;
};

/* Ten iterations of a run: n kernels of 2 us each, n² us on the host, and a range that is always of 5 us. A kernel that was
 * launched within counts, whenever it runs; nothing before the first iteration does. */
static struct nvt_trace *make_run(int n)
{
    struct maker maker = make_begin();
    char name[32];
    make_launch(&maker, "before", 1000000);
    make_range(&maker, "solve", maker.now - 500);
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t start = maker.now;
        for (int k = 0; k < n; k++)
            make_launch(&maker, "work", 2000);
        int64_t inner = maker.now;
        maker.now += 1000L * n * n;
        make_range(&maker, "solve", inner);
        inner = maker.now;
        maker.now += 5000;
        make_range(&maker, "always", inner);
        snprintf(name, sizeof(name), "only at %d", n);
        make_range(&maker, name, inner);
        make_range(&maker, "iteration", start);
    }
    return make_end(&maker);
}

/* Runs of these axes, "n": 2, "m": 3. */
static void make_inputs(struct made *made, const int (*axes)[2], size_t count)
{
    *made = (struct made){0};
    made->runs = (struct nvt_runs){.records = made->records, .count = count, .is_of_traces = 1};
    made->input = (struct nvt_input){.traces = made->traces, .trace_count = count};
    for (size_t i = 0; i < count; i++) {
        char json[128];
        int size = snprintf(json, sizeof(json),
                            "{\"workload\": \"w\", \"n\": %d, \"m\": %d, \"backend\": \"host\"}",
                            axes[i][0], axes[i][1]);
        assert_int_equal(nvt_record_parse(&made->records[i], json, (size_t)size, NULL), 0);
        made->traces[i] = (struct nvt_input_trace){
            .trace = make_run(axes[i][0]), .runs = &made->runs, .record = i, .is_by_name = 1};
    }
}

static void free_inputs(struct made *made)
{
    for (size_t i = 0; i < made->input.trace_count; i++) {
        nvt_trace_free(made->traces[i].trace);
        nvt_record_free(&made->records[i]);
    }
    nvt_buffer_free(&made->input.notes);
}

static void an_iteration_is_added_up(void **state)
{
    (void)state;
    static const int axes[][2] = {{4, 1}, {2, 1}, {8, 1}};
    struct made made;
    struct nvt_sweeps sweeps = {0};
    double entry;
    make_inputs(&made, axes, 3);
    assert_int_equal(nvt_sweeps_of(&made.input, NULL, &sweeps, NULL), 0);
    /* m has one value: over it no three runs differ in it alone. */
    assert_int_equal(sweeps.count, 1);
    const struct nvt_sweep *sweep = &sweeps.items[0];
    assert_string_equal(sweep->where, "w m=1");
    assert_string_equal(sweep->axis, "n");
    assert_int_equal(sweep->runs, 3);
    assert_ptr_equal(sweep->first, &made.traces[0]);
    assert_true(nvt_sweep_largest(sweep->iteration)->n == 8);
    const struct nvt_sweep_item *solve = sweeps_find(sweep, NVT_SWEEP_RANGE, "solve"),
                                *work = sweeps_find(sweep, NVT_SWEEP_OPERATION, "work"),
                                *launch = sweeps_find(sweep, NVT_SWEEP_CALL, "cudaLaunchKernel"),
                                *always = sweeps_find(sweep, NVT_SWEEP_RANGE, "always");
    /* By n; the range before the first iteration is in none. */
    assert_true(solve->points[0].n == 2 && solve->points[1].n == 4);
    assert_int_equal(solve->count, 3);
    assert_true(solve->points[1].ns == 16000 && solve->points[1].count == 1);
    assert_true(nvt_sweep_least(solve)->n == 2 && nvt_sweep_least(solve)->ns == 4000);
    assert_true(nvt_sweep_largest(solve)->n == 8 && nvt_sweep_largest(solve)->ns == 64000);
    assert_ptr_equal(nvt_sweep_largest(solve)->point, &solve->points[2]);
    /* What is entered several times is added up, in the iteration that launched it. */
    assert_true(work->points[2].ns == 16000 && work->points[2].count == 8);
    assert_true(nvt_sweep_per_unit(work) == 1 && nvt_sweep_per_unit(launch) == 1);
    assert_true(nvt_sweep_per_unit(always) == 0);
    assert_int_equal(nvt_sweep_entry(work, &work->points[2], &entry), 0);
    assert_true(entry == 2000);
    assert_true(fabs(solve->growth.p - 2) < 1e-9);
    assert_false(nvt_growth_law(&always->growth)->rises);
    const struct nvt_sweep_item *whole = sweeps_find(sweep, NVT_SWEEP_RANGE, "iteration");
    assert_ptr_equal(sweep->iteration, whole);
    assert_true(nvt_sweep_lies_within(solve, whole) && !nvt_sweep_lies_within(whole, solve));
    assert_false(nvt_sweep_lies_within(solve, always));
    nvt_sweeps_free(&sweeps);
    free_inputs(&made);
}

/* A sweep along each number, of at least three runs; --by leaves one. */
static void each_number_has_its_sweeps(void **state)
{
    (void)state;
    static const int axes[][2] = {{2, 1}, {2, 2}, {2, 3}, {4, 1}, {8, 1}, {4, 2}, {8, 2}, {16, 2}};
    struct made made;
    struct nvt_sweeps sweeps = {0};
    make_inputs(&made, axes, 8);
    assert_int_equal(nvt_sweeps_of(&made.input, NULL, &sweeps, NULL), 0);
    static const struct {
        const char *where, *axis;
        size_t runs;
    } expected[] = {{"w m=1", "n", 3}, {"w n=2", "m", 3}, {"w m=2", "n", 4}};
    assert_int_equal(sweeps.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(sweeps.items[i].where, expected[i].where);
        assert_string_equal(sweeps.items[i].axis, expected[i].axis);
        assert_int_equal(sweeps.items[i].runs, expected[i].runs);
    }
    nvt_sweeps_free(&sweeps);
    assert_int_equal(nvt_sweeps_of(&made.input, "m", &sweeps, NULL), 0);
    assert_int_equal(sweeps.count, 1);
    assert_string_equal(sweeps.items[0].axis, "m");
    nvt_sweeps_free(&sweeps);
    free_inputs(&made);
}

/* The row of a name; SIZE_MAX: none. */
static size_t row_of(const struct nvt_table *table, const char *kind, const char *name)
{
    for (size_t row = 0; row < nvt_table_rows(table); row++)
        if (!strcmp(nvt_table_text(table, row, nvt_table_find(table, "name")), name) &&
            !strcmp(nvt_table_text(table, row, nvt_table_find(table, "kind")), kind))
            return row;
    return SIZE_MAX;
}

static double number(const struct nvt_table *table, size_t row, const char *column)
{
    return nvt_table_real(table, row, nvt_table_find(table, column));
}

static void the_report_tells_the_laws(void **state)
{
    (void)state;
    static const int axes[][2] = {{2, 1}, {4, 1}, {8, 1}, {16, 1}};
    struct made made;
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    make_inputs(&made, axes, 4);
    assert_int_equal(nvt_report_make(&nvt_report_growth, &made.input, &tables, &err), 0);
    const struct nvt_table *table = tables.items[0];
    const size_t law = nvt_table_find(table, "growth");
    size_t row = row_of(table, "range", "iteration");
    assert_int_equal(row, 0);
    row = row_of(table, "range", "solve");
    assert_int_equal(row, 1);
    assert_string_equal(nvt_table_text(table, row, law), "256 µs·(n/16)^2");
    assert_true(number(table, row, "cost at the least") == 4000);
    assert_true(number(table, row, "cost at the largest") == 256000);
    assert_true(number(table, row, "largest") == 16 && number(table, row, "entries") == 1);
    /* 16 launches of 4 us, 256 us, 5 us. */
    assert_true(fabs(number(table, row, "of the iteration") - 100 * 256.0 / 325) < 1e-9);
    assert_true(fabs(number(table, row, "low") - 2) < 1e-9);
    row = row_of(table, "range", "always");
    assert_string_equal(nvt_table_text(table, row, law), "not shown");
    row = row_of(table, "device operation", "work");
    assert_true(number(table, row, "entries") == 16);
    assert_true(fabs(number(table, row, "exponent") - 1) < 1e-9);
    /* Names of one value only are left out, and this is said. */
    assert_int_equal(row_of(table, "range", "only at 16"), SIZE_MAX);
    assert_int_equal(nvt_buffer_append(&made.input.notes, "", 1), 0);
    assert_string_equal((const char *)made.input.notes.data,
                        "note: growth leaves out 4 names that occur with one value only\n");
    nvt_tables_free(&tables);
    free_inputs(&made);
    make_inputs(&made, axes, 2);
    assert_int_equal(nvt_report_make(&nvt_report_growth, &made.input, &tables, &err), 0);
    assert_int_equal(nvt_table_rows(tables.items[0]), 0);
    assert_int_equal(nvt_buffer_append(&made.input.notes, "", 1), 0);
    assert_non_null(
        strstr((const char *)made.input.notes.data, "growth needs three runs with iterations"));
    nvt_tables_free(&tables);
    free_inputs(&made);
}

/* --- what programs of all kinds name ------------------------------------------------------------------- */

/* Several runs of one n: a median each, of the iteration too. Runs of one n alone are no sweep. */
static void repetitions_have_their_median(void **state)
{
    (void)state;
    struct made made;
    struct nvt_sweeps sweeps = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    const int axes[][2] = {{1, 5}, {2, 5}, {4, 5}, {4, 5}, {4, 5}};
    make_inputs(&made, axes, 5);
    /* The last three differ by their range "always", which is moved by hand. */
    for (size_t i = 2; i < 5; i++) {
        struct nvt_ranges *ranges = &made.traces[i].trace->ranges;
        const int64_t longer[] = {0, 40000, 10000};
        for (uint32_t r = 0; r < ranges->count; r++) {
            const char *name = nvt_name(made.traces[i].trace, ranges->name[r]);
            if (!strcmp(name, "always"))
                ranges->start[r] -= longer[i - 2];
        }
    }
    assert_int_equal(nvt_sweeps_of(&made.input, NULL, &sweeps, &err), 0);
    assert_int_equal(sweeps.count, 1);
    const struct nvt_sweep *sweep = &sweeps.items[0];
    assert_string_equal(sweep->axis, "n");
    assert_int_equal(sweep->runs, 5);
    const struct nvt_sweep_item *always = sweeps_find(sweep, NVT_SWEEP_RANGE, "always");
    assert_int_equal(always->count, 5);
    assert_int_equal(always->value_count, 3);
    assert_true(nvt_sweep_largest(always)->ns == 15000);
    assert_ptr_equal(nvt_sweep_largest(always)->point->trace, made.traces[4].trace);
    nvt_sweeps_free(&sweeps);
    free_inputs(&made);
}

/* --- whole commands: a program of one's own ------------------------------------------------------------ */

/* Record the program with 2, 4, 8 and 16 into a folder. */
static void record(const char *folder, const char *whose)
{
    static const char script[] = "mkdir \"$2\" && for n in 2 4 8 16; do "
                                 "\"$0\" record -o \"$2/g$n.nvt\" -- \"$1\" $n $3 || exit; done";
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"),
                                           cli_client("grow"), folder, whose, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* What a command line of nvtally says, in the folder of the test. */
static struct cli_result ask(const char *line)
{
    char script[300];
    snprintf(script, sizeof(script), "exec \"$0\" %s", line);
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    return result;
}

static void own_traces_are_drawn(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    record("own", "");
    struct cli_result result = ask("plot -o drawn own/g*.nvt");
    /* The cost over n, and charts of the first three. */
    static const char *const drawn[] = {"drawn/growth-n-grow.svg\n", "drawn/g2-timeline.svg\n",
                                        "drawn/g8-ranges.svg\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(drawn); i++)
        if (!strstr(result.out, drawn[i]))
            fail_msg("%s: no %s", result.out, drawn[i]);
    assert_null(strstr(result.out, "g16-"));
    assert_non_null(strstr(result.err, "the first 3 of 4 traces"));
    cli_result_free(&result);
    char *data = cli_read_text(cli_in(cli_folder, "drawn"), "growth-n-grow.dat");
    assert_non_null(strstr(data, "# solve\n2\t"));
    assert_non_null(strstr(data, "# element\n2\t"));
    free(data);
    char *script = cli_read_text(cli_in(cli_folder, "drawn"), "growth-n-grow.gp");
    static const char *const texts[] = {"'Cost of grow over n'", "'n, log scale'",
                                        "'time per iteration (", "medians of the iterations",
                                        "·(n/16)^"};
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++)
        if (!strstr(script, texts[i]))
            fail_msg("no %s in %s", texts[i], script);
    free(script);
    /* None is passed over for the sake of another that has no row. */
    result = ask("plot -o two own/g2.nvt own/g4.nvt");
    assert_non_null(strstr(result.out, "two/g2-ranges.svg"));
    assert_non_null(strstr(result.out, "two/g4-ranges.svg"));
    assert_null(strstr(result.out, "growth"));
    cli_result_free(&result);
    result = ask("report -o own.html own/g*.nvt");
    cli_result_free(&result);
    char *html = cli_read_text(cli_folder, "own.html");
    assert_non_null(strstr(html, "Cost over the number that was varied"));
    assert_non_null(strstr(html, "<svg"));
    assert_non_null(strstr(html, "grow 16"));
    free(html);
}

/* Ranges of another domain are no phases: the report of ranges is shown instead of an empty one. */
static void ranges_of_other_domains_are_shown(void **state)
{
    (void)state;
    record("mine", "mine");
    struct cli_result result = ask("stats mine/g*.nvt");
    assert_non_null(strstr(result.out, "[nvtx_sum]"));
    assert_non_null(strstr(result.out, " solve"));
    assert_null(strstr(result.err, "there is another"));
    cli_result_free(&result);
    result = ask("stats -r growth mine/g*.nvt");
    assert_non_null(strstr(result.out, "solve"));
    assert_non_null(strstr(result.out, "element"));
    cli_result_free(&result);
    /* Sixteen microseconds of an iteration are little beside what a busy machine takes of it. */
    char folder[16] = "mine", line[64];
    for (int try = 1; try <= CLI_TRIES; try++) {
        snprintf(line, sizeof(line), "diagnose --by n %s/g*.nvt", folder);
        result = ask(line);
        const int is_found = strstr(result.out, "element runs 1 time per n") != NULL;
        cli_result_free(&result);
        if (is_found)
            return;
        snprintf(folder, sizeof(folder), "mine%d", try);
        record(folder, "mine");
    }
    cli_give_up("the entries of element are not found");
}

/* Sides of a sweep are compared value by value; of one value each they are compared whatever that is. */
static void compare_keeps_values_apart(void **state)
{
    (void)state;
    record("sides", "");
    struct cli_result result =
        ask("compare -f csv sides/g2.nvt sides/g4.nvt vs sides/g4.nvt sides/g2.nvt");
    assert_non_null(strstr(result.out, "\ngrow n=2,range,nvtally:solve,B,12,12,"));
    assert_non_null(strstr(result.out, "\ngrow n=4,range,nvtally:solve,B,12,12,"));
    assert_null(strstr(result.err, "the sides differ"));
    cli_result_free(&result);
    result = ask("compare -f csv sides/g2.nvt sides/g8.nvt");
    assert_non_null(strstr(result.out, "\ngrow,range,nvtally:solve,B,12,12,"));
    assert_non_null(strstr(result.err, "note: the sides differ in n (A 2, B 8)\n"));
    cli_result_free(&result);
}

/* The same file is no further run. */
static void a_file_twice_is_told(void **state)
{
    (void)state;
    record("twice", "");
    struct cli_result result = ask("compare twice/g2.nvt ./twice/g2.nvt vs twice/g4.nvt");
    assert_non_null(strstr(result.err, "./twice/g2.nvt is given more than once on a side"));
    cli_result_free(&result);
    result = ask("compare twice/g2.nvt vs twice/g2.nvt");
    assert_null(strstr(result.err, "more than once"));
    cli_result_free(&result);
}

/* A window leaves no runs, and that is the reason that is given. */
static void a_window_has_no_axis(void **state)
{
    (void)state;
    record("window", "");
    struct cli_result result = cli_run_with(
        &(const struct cli_options){.directory = cli_folder},
        (const char *const[]){cli_built("nvtally"), "diagnose", "--by", "n", "--filter-nvtx",
                              "solve", "window/g2.nvt", "window/g4.nvt", "window/g8.nvt", NULL});
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "--by n compares whole runs: not parts of them"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iteration_is_added_up),
        cmocka_unit_test(each_number_has_its_sweeps),
        cmocka_unit_test(the_report_tells_the_laws),
        cmocka_unit_test(repetitions_have_their_median),
        cmocka_unit_test(own_traces_are_drawn),
        cmocka_unit_test(ranges_of_other_domains_are_shown),
        cmocka_unit_test(compare_keeps_values_apart),
        cmocka_unit_test(a_file_twice_is_told),
        cmocka_unit_test(a_window_has_no_axis),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
