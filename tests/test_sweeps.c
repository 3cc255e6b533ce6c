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

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/input/rows.h"
#include "../analyze/reports/report.h"
#include "../analyze/sweeps/sweeps.h"
#include "../lib/count_of.h"
#include "../lib/text.h"
#include "../plots/chart.h"
#include "../plots/frame.h"
#include "../plots/label.h"
#include "cli.h"
#include "made_trace.h"
#include "small_trace.h"

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

static const struct nvt_sweep_item *find(const struct nvt_sweep *sweep, enum nvt_sweep_kind kind,
                                         const char *name)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->items[i].kind == kind && !strcmp(sweep->items[i].name, name))
            return &sweep->items[i];
    fail_msg("no %s %s", nvt_sweep_kind_name(kind), name);
    return NULL;
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
    const struct nvt_sweep_item *solve = find(sweep, NVT_SWEEP_RANGE, "solve"),
                                *work = find(sweep, NVT_SWEEP_OPERATION, "work"),
                                *launch = find(sweep, NVT_SWEEP_CALL, "cudaLaunchKernel"),
                                *always = find(sweep, NVT_SWEEP_RANGE, "always");
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
    const struct nvt_sweep_item *whole = find(sweep, NVT_SWEEP_RANGE, "iteration");
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
    const struct nvt_sweep_item *work = find(sweep, NVT_SWEEP_RANGE, "work");
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
    const struct nvt_sweep_item *rare = find(sweep, NVT_SWEEP_RANGE, "rare");
    assert_true(rare->is_mean && nvt_sweep_largest(rare)->ns == 100);
    assert_true(fabs(nvt_sweep_share(sweep, rare) - 0.1) < 1e-9);
    const struct nvt_sweep_item *recursive = find(sweep, NVT_SWEEP_RANGE, "recursive");
    assert_true(!recursive->is_mean && nvt_sweep_largest(recursive)->ns == 300);
    assert_true(nvt_sweep_largest(recursive)->count == 2);
    free_named(&named);
}

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
    const struct nvt_sweep_item *always = find(sweep, NVT_SWEEP_RANGE, "always");
    assert_int_equal(always->count, 5);
    assert_int_equal(always->value_count, 3);
    assert_true(nvt_sweep_largest(always)->ns == 15000);
    assert_ptr_equal(nvt_sweep_largest(always)->point->trace, made.traces[4].trace);
    nvt_sweeps_free(&sweeps);
    free_inputs(&made);
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
    assert_true(nvt_sweep_largest(find(sweep, NVT_SWEEP_RANGE, "nvtally:iteration"))->ns == 40);
    assert_true(nvt_sweep_largest(find(sweep, NVT_SWEEP_RANGE, "same"))->ns == 40);
    assert_true(nvt_sweep_largest(find(sweep, NVT_SWEEP_RANGE, "mine:same"))->ns == 10);
    assert_true(nvt_sweep_largest(find(sweep, NVT_SWEEP_RANGE, "nvtally:same"))->ns == 20);
    free_named(&named);
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 1, adds_others);
    find_sweeps(&named, 1);
    sweep = &named.sweeps.items[0];
    /* Three iterations: 1000, 4500 and 1100 ns. */
    assert_true(nvt_sweep_largest(sweep->iteration)->ns == 1100);
    assert_true(nvt_sweep_largest(find(sweep, NVT_SWEEP_RANGE, "theirs"))->mean_ns * 3 == 400);
    assert_true(nvt_sweep_largest(find(sweep, NVT_SWEEP_RANGE, "ours"))->mean_ns * 3 == 10);
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
    assert_int_equal(find(&named.sweeps.items[0], NVT_SWEEP_RANGE, "work")->value_count, 3);
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
    const struct nvt_sweep_item *half = find(&named.sweeps.items[0], NVT_SWEEP_RANGE, "half");
    assert_true(half->is_mean);
    assert_true(fabs(nvt_sweep_largest(half)->ns - 160.1) < 1e-9);
    free_named(&named);
    for (int n = 1; n <= 4; n *= 2)
        add_named(&named, "w n=%d", n, 10, adds_half_in_turns);
    find_sweeps(&named, 1);
    half = find(&named.sweeps.items[0], NVT_SWEEP_RANGE, "half");
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
    const struct nvt_sweep_item *work = find(sweep, NVT_SWEEP_RANGE, "work");
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
        assert_int_equal(nvt_chart_growth.draw(&request, &err), 0);
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
    assert_true(nvt_chart_growth.fits(&named.input));
    assert_int_equal(nvt_chart_growth.draw(&request, &err), 0);
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
        cmocka_unit_test(an_iteration_is_added_up),
        cmocka_unit_test(each_number_has_its_sweeps),
        cmocka_unit_test(the_report_tells_the_laws),
        cmocka_unit_test(runs_may_be_many),
        cmocka_unit_test(what_is_rare_has_its_mean),
        cmocka_unit_test(repetitions_have_their_median),
        cmocka_unit_test(iterations_are_told_apart),
        cmocka_unit_test(axes_may_have_any_name),
        cmocka_unit_test(repetitions_and_order_do_not_matter),
        cmocka_unit_test(half_is_a_mean),
        cmocka_unit_test(ranks_are_one_run),
        cmocka_unit_test(long_names_are_not_folded),
        cmocka_unit_test(zero_is_left_out_and_told),
        cmocka_unit_test(own_traces_are_drawn),
        cmocka_unit_test(ranges_of_other_domains_are_shown),
        cmocka_unit_test(compare_keeps_values_apart),
        cmocka_unit_test(a_file_twice_is_told),
        cmocka_unit_test(a_window_has_no_axis),
        cmocka_unit_test(legends_have_room),
        cmocka_unit_test(pictures_have_names_of_their_own),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
