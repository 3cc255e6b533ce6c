/*
 * The collector's own cost: measured and written down by the collector, taken off by `stats
 * --compensate`. Exact on traces that are made up, within reason on a real program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/compensate.h"
#include "../analyze/readers/reader.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/trace_file.h"
#include "cli.h"

/* --- made up ---------------------------------------------------------------------------------- */

static void put_cost(struct nvt_trace *trace, enum nvt_cost what, uint32_t ns)
{
    struct nvt_event_cost row = {0, ns * 1000, (uint8_t)what};
    assert_int_not_equal(nvt_event_cost_add(trace, &row), NVT_NONE);
}

/* Two threads; a pair costs 30 ns, 10 of them inside; with attributes 60 and 20; start/end 50 and
 * 20; a mark 8. */
static struct nvt_trace *two_threads(void)
{
    struct nvt_trace *trace = nvt_trace_new("made up", "nvt");
    assert_non_null(trace);
    uint32_t process = nvt_trace_process(trace, 100);
    nvt_trace_thread(trace, process, 100);
    nvt_trace_thread(trace, process, 101);
    put_cost(trace, NVT_COST_PUSH_POP, 30);
    put_cost(trace, NVT_COST_PUSH_POP_INSIDE, 10);
    put_cost(trace, NVT_COST_ATTRIBUTES, 60);
    put_cost(trace, NVT_COST_ATTRIBUTES_INSIDE, 20);
    put_cost(trace, NVT_COST_START_END, 50);
    put_cost(trace, NVT_COST_START_END_INSIDE, 20);
    put_cost(trace, NVT_COST_MARK, 8);
    return trace;
}

static uint32_t put_range(struct nvt_trace *trace, int64_t start, int64_t end, uint32_t domain,
                          uint8_t flags)
{
    struct nvt_range row = {.start = start,
                            .end = end,
                            .domain = domain,
                            .name = nvt_strings_add_text(trace->strings, "range"),
                            .parent = NVT_NONE,
                            .style = NVT_PUSH_POP,
                            .flags = flags};
    return nvt_range_add(trace, &row);
}

static int64_t length(const struct nvt_trace *trace, uint32_t range)
{
    return trace->ranges.end[range] - trace->ranges.start[range];
}

static void a_range_loses_what_it_and_all_in_it_cost(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = two_threads();
    uint32_t outer = put_range(trace, 1000, 2000, 0, 0);
    uint32_t tiny = put_range(trace, 1100, 1200, 0, 0);
    uint32_t colored = put_range(trace, 1400, 1500, 0, NVT_RANGE_HAS_COLOR);
    struct nvt_mark mark = {.time = 1300};
    nvt_mark_add(trace, &mark);
    assert_int_equal(nvt_compensate(trace, &err), 0);
    assert_int_equal(trace->ranges.start[outer], 990); /* 10 of its own before it */
    assert_int_equal(length(trace, tiny), 100 - 10);
    assert_int_equal(length(trace, colored), 100 - 20);
    assert_int_equal(length(trace, outer), 1000 - 10 - 30 - 8 - 60);
    assert_int_equal(trace->marks.time[0], 1300 - 15 - 30 - 4);
    nvt_trace_free(trace);
}

static void ranges_of_a_domain_cost_what_attributes_cost(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = two_threads();
    uint32_t domain = nvt_trace_domain(trace, 0, "library");
    uint32_t outer = put_range(trace, 1000, 3000, 0, 0),
             inner = put_range(trace, 2000, 2500, domain, 0);
    assert_int_equal(nvt_compensate(trace, &err), 0);
    assert_int_equal(length(trace, inner), 500 - 20);
    assert_int_equal(length(trace, outer), 2000 - 10 - 60);
    nvt_trace_free(trace);
}

static void other_threads_do_not_count(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = two_threads();
    uint32_t outer = put_range(trace, 1000, 2000, 0, 0), other = put_range(trace, 1200, 1300, 0, 0);
    trace->ranges.thread[other] = trace->ranges.end_thread[other] = 1;
    /* From the one thread to the other: it keeps its length, whatever happened on them. */
    uint32_t across = put_range(trace, 2100, 5100, 0, 0);
    trace->ranges.style[across] = NVT_START_END;
    trace->ranges.end_thread[across] = 1;
    uint32_t within = put_range(trace, 6000, 6500, 0, 0);
    trace->ranges.style[within] = NVT_START_END;
    assert_int_equal(nvt_compensate(trace, &err), 0);
    assert_int_equal(length(trace, outer), 1000 - 10);
    assert_int_equal(length(trace, other), 100 - 10);
    assert_int_equal(length(trace, across), 3000);
    assert_int_equal(length(trace, within), 500 - 20);
    nvt_trace_free(trace);
}

static void no_duration_gets_negative_and_nesting_stays(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = two_threads();
    uint32_t domain = nvt_trace_domain(trace, 0, "library");
    put_range(trace, 100000, 102001, 0, 0);
    for (int i = 0; i < 1000; i++) /* shorter by far than what they cost */
        put_range(trace, 100001 + 2 * i, 100002 + 2 * i, i % 2 ? domain : 0, 0);
    assert_int_equal(nvt_compensate(trace, &err), 0);
    for (uint32_t i = 1; i < trace->ranges.count; i++) {
        assert_true(length(trace, i) >= 0 && length(trace, i) <= 1);
        assert_true(trace->ranges.start[i] > trace->ranges.end[i - 1] || i == 1);
    }
    assert_true(length(trace, 0) > 0);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(trace->ranges.children[0], 500);
    for (uint32_t i = 1; i < trace->ranges.count; i++)
        assert_int_equal(trace->ranges.parent[i], trace->ranges.domain[i] ? NVT_NONE : 0);
    nvt_trace_free(trace);
}

static void calls_move_with_the_ranges_around_them(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = two_threads();
    put_range(trace, 1000, 1100, 0, 0);
    uint32_t range = put_range(trace, 1200, 1500, 0, 0);
    struct nvt_api call = {.start = 1230, .end = 1290};
    nvt_api_add(trace, &call);
    assert_int_equal(nvt_compensate(trace, &err), 0);
    assert_int_equal(trace->apis.end[0] - trace->apis.start[0], 60);
    assert_true(trace->apis.start[0] > trace->ranges.start[range]);
    assert_true(trace->apis.end[0] < trace->ranges.end[range]);
    nvt_trace_free(trace);
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_chunk(struct nvt_trace_writer *writer, enum nvt_chunk_kind kind, uint32_t process,
                        const uint64_t *values, size_t count)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer bytes = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(nvt_buffer_varint(&bytes, values[i]), 0);
    struct nvt_chunk chunk = {
        .kind = (uint16_t)kind, .process = process, .thread = NVT_NO_INDEX, .count = 1};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, bytes.data, bytes.size, &err), 0);
    nvt_buffer_free(&bytes);
}

/* A file with one process, written with so many of its fields. */
static const char *process_file(size_t fields)
{
    const uint64_t process[] = {7, 1, 5, 0, 30000, 10000, 60000, 20000, 50000, 20000, 8000};
    struct nvt_error err = NVT_ERROR_INIT;
    const char *path = cli_in(cli_folder, "process.nvt");
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 0, &err);
    assert_non_null(writer);
    write_chunk(writer, NVT_CHUNK_PROCESS, 0, process, fields);
    write_chunk(writer, NVT_CHUNK_END, NVT_NO_INDEX, (const uint64_t[]){0, 0}, 2);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    return path;
}

static void files_with_and_without_costs_are_read(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(process_file(4), &err);
    assert_non_null(trace);
    assert_int_equal(trace->processes.pid[0], 7);
    assert_int_equal(trace->event_costs.count, 0);
    nvt_trace_free(trace);
    trace = nvt_trace_read(process_file(11), &err);
    assert_non_null(trace);
    assert_int_equal(nvt_event_cost_of(trace, 0, NVT_COST_PUSH_POP), 30000);
    assert_int_equal(nvt_event_cost_of(trace, 0, NVT_COST_MARK), 8000);
    nvt_trace_free(trace);
}

static void what_cannot_be_compensated_is_refused(void **state)
{
    (void)state;
    const char *path = process_file(4);
    struct cli_result result =
        cli_run((const char *[]){"nvtally", "stats", "--compensate", path, NULL});
    cli_expect_failure(&result, "not have its collector's overhead");
    cli_result_free(&result);
    path = process_file(11);
    result =
        cli_run((const char *[]){"nvtally", "stats", "--compensate", "-r", "overlap", path, NULL});
    cli_expect_failure(&result, "--compensate works with nvtx_sum");
    cli_result_free(&result);
}

/* --- a real program --------------------------------------------------------------------------- */

static void the_collector_measures_itself(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    const char *path = cli_in(cli_folder, "t.nvt");
    struct cli_result result = cli_run(
        (const char *[]){"nvtally", "record", "-o", path, "--", cli_client("nested"), "1", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_non_null(trace);
    /* All but that of a page fault, which goes with --trace counters. */
    assert_int_equal(trace->event_costs.count, NVT_COST_FAULT);
    static const enum nvt_cost pairs[] = {NVT_COST_PUSH_POP, NVT_COST_ATTRIBUTES,
                                          NVT_COST_START_END};
    for (size_t i = 0; i < 3; i++) {
        uint32_t pair = nvt_event_cost_of(trace, 0, pairs[i]);
        uint32_t inside = nvt_event_cost_of(trace, 0, (enum nvt_cost)(pairs[i] + 1));
        assert_true(pair > 1000 && pair < 10000000); /* 1 ns, 10 us */
        assert_true(inside > 0 && inside < pair);
    }
    assert_true(nvt_event_cost_of(trace, 0, NVT_COST_MARK) > 1000);
    /* Nothing of the measuring is in the trace. */
    assert_int_equal(trace->ranges.count, 1001);
    assert_int_equal(trace->marks.count, 0);
    assert_int_equal(trace->threads.count, 1);
    nvt_trace_free(trace);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the ranges `outer`, ns. */
static double outer_median(const char *path, int compensate)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace =
        compensate ? nvt_trace_read_compensated(path, &err) : nvt_trace_read(path, &err);
    assert_non_null(trace);
    double *took = calloc(trace->ranges.count, sizeof(*took)), median;
    size_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), "outer"))
            took[count++] = (double)length(trace, i);
    assert_true(count > 0);
    qsort(took, count, sizeof(*took), ascending);
    median = took[count / 2];
    free(took);
    nvt_trace_free(trace);
    return median;
}

#define ROUNDS 9

static bool compensation_helps(void)
{
    double raw[ROUNDS], compensated[ROUNDS];
    const char *path = cli_in(cli_folder, "n.nvt"), *client = cli_client("nested");
    for (int i = 0; i < ROUNDS; i++) {
        struct cli_result bare = cli_run((const char *[]){client, "40", NULL});
        struct cli_result result =
            cli_run((const char *[]){"nvtally", "record", "-o", path, "--", client, "40", NULL});
        cli_expect_status(&bare, 0);
        cli_expect_status(&result, 0);
        double took = strtod(bare.out, NULL);
        assert_true(took > 0);
        raw[i] = outer_median(path, 0) - took;
        compensated[i] = outer_median(path, 1) - took;
        cli_result_free(&bare);
        cli_result_free(&result);
    }
    qsort(raw, ROUNDS, sizeof(*raw), ascending);
    qsort(compensated, ROUNDS, sizeof(*compensated), ascending);
    double off = compensated[ROUNDS / 2] < 0 ? -compensated[ROUNDS / 2] : compensated[ROUNDS / 2];
    print_message("1000 ranges cost the one around them %.0f ns; compensated, %.0f ns are left\n",
                  raw[ROUNDS / 2], compensated[ROUNDS / 2]);
    return raw[ROUNDS / 2] > 0 && off < raw[ROUNDS / 2];
}

static void compensated_times_are_nearer_to_bare_ones(void **state)
{
    (void)state;
    for (int i = 0; i < CLI_TRIES; i++)
        if (compensation_helps())
            return;
    cli_give_up("in none of %d measurements", CLI_TRIES);
}

static void tables_say_that_they_are_compensated(void **state)
{
    (void)state;
    static const char *const reports[] = {"nvtx_sum", "nvtx_pushpop_sum", "nvtx_pushpop_trace",
                                          "range_tree"};
    const char *path = cli_in(cli_folder, "t.nvt");
    struct cli_result result = cli_run(
        (const char *[]){"nvtally", "record", "-o", path, "--", cli_client("nested"), "1", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
        result = cli_run((const char *[]){"nvtally", "stats", "--compensate", "-r", reports[i],
                                          "-f", "markdown", path, NULL});
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "the collector's own cost of "));
        assert_non_null(strstr(result.err, "note: subtracted, in ns: "));
        cli_result_free(&result);
        result = cli_run((const char *[]){"nvtally", "stats", "-r", reports[i], path, NULL});
        cli_expect_status(&result, 0);
        assert_null(strstr(result.out, "own cost"));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_loses_what_it_and_all_in_it_cost),
        cmocka_unit_test(ranges_of_a_domain_cost_what_attributes_cost),
        cmocka_unit_test(other_threads_do_not_count),
        cmocka_unit_test(no_duration_gets_negative_and_nesting_stays),
        cmocka_unit_test(calls_move_with_the_ranges_around_them),
        cmocka_unit_test(files_with_and_without_costs_are_read),
        cmocka_unit_test(what_cannot_be_compensated_is_refused),
        cmocka_unit_test(the_collector_measures_itself),
        cmocka_unit_test(compensated_times_are_nearer_to_bare_ones),
        cmocka_unit_test(tables_say_that_they_are_compensated),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
