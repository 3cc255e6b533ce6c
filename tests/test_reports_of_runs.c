/*
 * Reports on phases and on where traces come from, over traces built in memory: what the tables must hold is worked out
 * by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "reports_kit.h"

#define CONFIGURATION "fragmented size=256 batch=8 fragments=2 mode=train"

/* What the workloads emit: warm-up, then iterations with the optimizer inside the backward. */
static void add_workload(struct nvt_trace *trace, const char *configuration, int64_t at)
{
    reports_push_in(trace, "nvtally", configuration, at, at + 1000);
    reports_push_in(trace, "nvtally", "warmup", at, at + 90);
    reports_push_in(trace, "nvtally", "forward", at + 1, at + 80); /* not of the measurement */
    for (int64_t i = 0; i < 3; i++) {
        int64_t start = at + 100 * (i + 1);
        reports_push_in(trace, "nvtally", "iteration", start, start + 99);
        struct nvt_range forward = reports_range(trace, "forward", start + 1, start + 11 + i);
        forward.domain = nvt_trace_domain(trace, 0, "nvtally");
        forward.flags = NVT_RANGE_HAS_PAYLOAD;
        forward.payload =
            nvt_strings_add_text(trace->strings, "{\"flops\":220, \"bytes\" : 1.1e2}");
        reports_add(trace, forward);
        reports_push_in(trace, "user", "wrapper", start + 20, start + 98);
        reports_push_in(trace, "nvtally", "backward", start + 20, start + 50);
        reports_push_in(trace, "nvtally", "optimizer", start + 40, start + 45);
        reports_push_in(trace, "nvtally", "fragment", start + 2, start + 3);
    }
}

static void test_phases(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    add_workload(trace, CONFIGURATION, 0);
    reports_push_in(trace, "nvtally", "forward", 2000, 2999); /* outside of any iteration */
    reports_expect_csv(
        trace, NULL, "phases",
        "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
        "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
        "fragmented,size=256 batch=8 fragments=2 mode=train,forward,3,11.0,1.0,10,11.0,12,"
        "0.020000,,10.000,,ok,measured\n"
        "fragmented,size=256 batch=8 fragments=2 mode=train,backward,3,30.0,0.0,30,30.0,30,,,,"
        ",ok,measured\n"
        "fragmented,size=256 batch=8 fragments=2 "
        "mode=train,optimizer,3,5.0,0.0,5,5.0,5,,,,,ok,measured\n",
        "");
}

/* What else a workload times: directly within its iterations, and calls under one clock. */
static void test_other_phases(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    reports_push_in(trace, "nvtally", "switchback dim=64 batch=128", 0, 1000);
    reports_push_in(trace, "nvtally", "warmup", 1, 9);
    reports_push_in(trace, "nvtally", "quantize", 2, 8);
    struct nvt_range loop = reports_range(trace, "loop", 100, 300);
    loop.domain = nvt_trace_domain(trace, 0, "nvtally");
    loop.flags = NVT_RANGE_HAS_PAYLOAD;
    loop.payload = nvt_strings_add_text(trace->strings, "4");
    reports_add(trace, loop);
    struct nvt_range all = reports_range(trace, "quantize", 110, 290);
    all.domain = loop.domain;
    all.flags = NVT_RANGE_HAS_PAYLOAD;
    all.payload = nvt_strings_add_text(trace->strings, "{\"flops\":0,\"bytes\":360}");
    reports_add(trace, all);
    reports_push_in(trace, "nvtally", "part", 120, 130);
    reports_push_in(trace, "user", "loop", 310, 320);
    reports_push_in(trace, "user", "theirs", 312, 318);
    reports_push_in(trace, "nvtally", "iteration", 400, 500);
    reports_push_in(trace, "nvtally", "step", 410, 430);
    reports_push_in(trace, "user", "note", 440, 450);
    reports_push_in(trace, "nvtally", "iteration", 500, 600);
    reports_push_in(trace, "nvtally", "step", 510, 550);
    reports_expect_csv(trace, NULL, "phases",
                       "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
                       "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
                       "switchback,dim=64 batch=128,quantize,4,45.0,,,,,,,2.000,,ok,measured\n"
                       "switchback,dim=64 batch=128,step,2,30.0,14.1,20,30.0,40,,,,,ok,measured\n",
                       "");
}

/* Two processes ran the same configuration: one row. */
static void test_phases_of_two_traces(void **state)
{
    (void)state;
    struct nvt_trace *first = reports_new_trace("a.nvt"), *second = reports_new_trace("b.nvt");
    add_workload(first, CONFIGURATION, 0);
    add_workload(second, CONFIGURATION, 50);
    add_workload(second, "linear size=64 batch=1", 5000);
    struct nvt_input input = reports_input_of(first, second);
    struct nvt_tables tables = reports_make_tables("phases", &input);
    const struct nvt_table *table = tables.items[0];
    assert_int_equal(nvt_table_rows(table), 6);
    assert_int_equal(nvt_table_int(table, 0, nvt_table_find(table, "n")), 6);
    assert_string_equal(nvt_table_text(table, 3, 0), "linear");
    assert_string_equal(nvt_table_text(table, 3, 1), "size=64 batch=1");
    assert_int_equal(nvt_table_int(table, 3, nvt_table_find(table, "n")), 3);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

/* Somebody's own script: no iteration, a forward within the forward, one that never ended. */
static void test_phases_of_anybody(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("their run.nvt");
    reports_push(trace, "forward", 0, 50);
    reports_push(trace, "forward", 10, 20);
    reports_push(trace, "backward", 60, 160);
    reports_push(trace, "forward", 200, 270);
    struct nvt_range lost = reports_range(trace, "backward", 300, 400);
    lost.flags = NVT_RANGE_UNCLOSED;
    reports_add(trace, lost);
    reports_expect_csv(trace, NULL, "phases",
                       "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
                       "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
                       ",their run.nvt,forward,2,60.0,14.1,50,60.0,70,,,,,ok,measured\n"
                       ",their run.nvt,backward,1,100.0,,100,100.0,100,,,,,ok,measured\n",
                       "");
}

static void test_phases_of_none(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    reports_push(trace, "iteration", 0, 100);
    reports_push(trace, "forward", 200, 300);
    reports_expect_csv(
        trace, NULL, "phases",
        "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
        "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n",
        "note: no range forward, backward or optimizer was found, or none within an iteration\n");
}

/* Broken payloads say nothing, and break nothing. */
static void test_strange_payloads(void **state)
{
    (void)state;
    const char *const payloads[] = {
        "{\"flops\"",        "{\"flops\":}",   "{\"flops\":nan}", "{\"flops\":-5}",
        "{\"flops\":1e999}", "\"flops\"  :  ", "flops:7",         "",
    };
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    for (size_t i = 0; i < NVT_COUNT_OF(payloads); i++) {
        struct nvt_range row =
            reports_range(trace, "forward", (int64_t)i * 10, (int64_t)i * 10 + 10);
        row.flags = NVT_RANGE_HAS_PAYLOAD;
        row.payload = nvt_strings_add_text(trace->strings, payloads[i]);
        reports_add(trace, row);
    }
    struct nvt_input input = reports_input_of(trace, NULL);
    struct nvt_tables tables = reports_make_tables("phases", &input);
    assert_int_equal(nvt_table_int(tables.items[0], 0, 3), NVT_COUNT_OF(payloads));
    assert_true(nvt_table_is_null(tables.items[0], 0, nvt_table_find(tables.items[0], "TFLOP/s")));
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

static void test_provenance(void **state)
{
    (void)state;
    struct nvt_trace *first = reports_new_trace("a.nvt"), *second = reports_new_trace("b.nvt");
    reports_push(first, "step", 0, 1);
    nvt_trace_set_meta(first, "backend", "host");
    nvt_trace_set_meta(second, "backend", "host");
    nvt_trace_set_meta(first, "device", "CPU A");
    nvt_trace_set_meta(second, "device", "CPU B");
    nvt_trace_set_meta(second, "date", "2026-11-21");
    struct nvt_input input = reports_input_of(first, second);
    struct nvt_tables tables = reports_make_tables("nvtx_sum", &input);
    const struct nvt_provenance *from = nvt_table_provenance(tables.items[0]);
    assert_string_equal(from->backend, "host");
    assert_string_equal(from->device, "several");
    assert_string_equal(from->date, "date not stated for all");
    assert_null(from->condition);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

/* Moments of one day have that day in common. */
static void test_provenance_of_a_day(void **state)
{
    (void)state;
    static const char *const dates[][2] = {
        {"2026-11-26T09:19:59Z", "2026-11-26"},
        {"2026-11-27T00:00:00Z", "several dates"},
        {"2026-11-26", "several dates"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(dates); i++) {
        struct nvt_trace *first = reports_new_trace("a.nvt"), *second = reports_new_trace("b.nvt");
        reports_push(first, "step", 0, 1);
        nvt_trace_set_meta(first, "date", "2026-11-26T08:20:51Z");
        nvt_trace_set_meta(second, "date", dates[i][0]);
        struct nvt_input input = reports_input_of(first, second);
        struct nvt_tables tables = reports_make_tables("nvtx_sum", &input);
        assert_string_equal(nvt_table_provenance(tables.items[0])->date, dates[i][1]);
        nvt_tables_free(&tables);
        nvt_input_free(&input);
    }
}

/* A table of one trace has that one's facts, whatever else was read; a trace of a run directory has
 * those of its row. */
static void test_provenance_of_one(void **state)
{
    (void)state;
    static const char row[] = "{\"size\": 64, \"backend\": \"cuda\", \"device\": \"GPU C\", "
                              "\"date\": \"2026-11-22T10:00:00Z\"}";
    static const char env[] = "{\"date\": \"2026-11-22\", \"backend\": \"hip\", "
                              "\"condition\": \"warm\"}";
    struct nvt_record record = {0};
    struct nvt_runs *runs = nvt_runs_new("runs");
    assert_int_equal(nvt_record_parse(&record, row, strlen(row), &reports_err), 0);
    assert_int_equal(nvt_runs_add(runs, &record), 0);
    assert_int_equal(nvt_record_parse(&runs->env, env, strlen(env), &reports_err), 0);
    struct nvt_trace *first = reports_new_trace("a.nvt"), *second = reports_new_trace("b.nvt");
    nvt_trace_set_meta(first, "date", "2026-11-20");
    nvt_trace_set_meta(second, "backend", "host");
    struct nvt_input input = reports_input_of(first, second);
    input.traces[1].runs = runs;
    assert_int_equal(nvt_input_take(&input, runs), 0);
    struct nvt_tables tables = reports_make_tables("nvtx_pushpop_trace", &input);
    const struct nvt_provenance *from = nvt_table_provenance(tables.items[0]);
    assert_null(from->backend);
    assert_null(from->device);
    assert_string_equal(from->date, "2026-11-20");
    assert_null(from->condition);
    from = nvt_table_provenance(tables.items[1]);
    assert_string_equal(from->backend, "cuda");
    assert_string_equal(from->device, "GPU C");
    assert_string_equal(from->date, "2026-11-22T10:00:00Z");
    assert_string_equal(from->condition, "warm");
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

/* Every report is listed, has a line about it, and its table has the columns that it declares. */
static void test_registry(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    assert_true(count >= 6);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(nvt_report_find(reports[i]->name), reports[i]);
        for (size_t k = 0; reports[i]->further && reports[i]->further[k]; k++)
            assert_null(nvt_report_find(reports[i]->further[k]));
        assert_true(strlen(reports[i]->about) > 10);
        if (reports[i]->needs & NVT_NEEDS_RUNS)
            continue;
        struct nvt_trace *trace = reports_new_trace("a.nvt");
        reports_push(trace, "forward", 0, 1);
        /* without, there is no curve of warming up, and no table */
        reports_push(trace, "iteration", 2, 3);
        const struct nvt_op copy = {.start = 2,
                                    .end = 3,
                                    .kind = NVT_OP_MEMCPY,
                                    .detail = NVT_NONE,
                                    .name = nvt_strings_add_text(trace->strings, "copy")};
        nvt_op_add(trace, &copy); /* without, trees of ranges have no columns of devices */
        struct nvt_input input = reports_input_of(trace, NULL);
        struct nvt_tables tables = reports_make_tables(reports[i]->name, &input);
        size_t columns = 0;
        for (; reports[i]->columns[columns].heading; columns++)
            assert_string_equal(nvt_table_column(tables.items[0], columns)->heading,
                                reports[i]->columns[columns].heading);
        assert_int_equal(nvt_table_columns(tables.items[0]), columns);
        nvt_tables_free(&tables);
        nvt_input_free(&input);
    }
    assert_null(nvt_report_find("no_such_report"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_other_phases),
        cmocka_unit_test(test_phases_of_two_traces),
        cmocka_unit_test(test_phases_of_anybody),
        cmocka_unit_test(test_phases_of_none),
        cmocka_unit_test(test_strange_payloads),
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_provenance_of_a_day),
        cmocka_unit_test(test_provenance_of_one),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
