/* The report on the critical path: tables that agree with each other, functions, several processes, and each step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/path/critical_path.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "made_trace.h"
#include "path_kit.h"
#include "simulated_program.h"
#include "small_trace.h"

/* Its tables over a trace, which it frees. */
static void report_on(struct nvt_trace *trace, struct nvt_tables *tables)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    assert_int_equal(nvt_report_make(nvt_report_find("critical_path"), &input, tables, &err), 0);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

static double cell(const struct nvt_table *table, size_t row, const char *heading)
{
    size_t column = nvt_table_find(table, heading);
    assert_true(column != SIZE_MAX);
    return nvt_table_real(table, row, column);
}

static double sum_of(const struct nvt_table *table, const char *heading)
{
    double sum = 0;
    for (size_t i = 0; i < nvt_table_rows(table); i++)
        sum += cell(table, i, heading);
    return sum;
}

/* The tables agree with each other. */
static void check_sums(const struct nvt_tables *tables)
{
    static const char *const kinds[] = {
        "Compute (%)", "Communication (%)", "Copy (%)",    "Gap (%)",     "Stall (%)",
        "Launch (%)",  "CUDA Call (%)",     "Wake-up (%)", "OS Call (%)", "Host (%)"};
    assert_int_equal(tables->count, 3);
    const struct nvt_table *paths = tables->items[0], *names = tables->items[1];
    size_t last = nvt_table_rows(paths) - 1;
    for (size_t row = 0; row <= last; row++) {
        double sum = 0;
        for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++)
            sum += cell(paths, row, kinds[i]);
        assert_float_equal(sum, 100, 1e-6);
    }
    for (size_t i = 1; i < 3; i++) {
        assert_float_equal(sum_of(tables->items[i], "Path (%)"), 100, 1e-6);
        assert_float_equal(sum_of(tables->items[i], "On Path (ns)"), cell(paths, last, "Path (ns)"),
                           0);
    }
    for (size_t i = 0; i < nvt_table_rows(names); i++)
        assert_true(cell(names, i, "Hidden (%)") >= 0 && cell(names, i, "Hidden (%)") <= 100);
}

/* Loops of which it is known what they wait for. */
static void loops_wait_for_what_they_wait_for(void **state)
{
    (void)state;
    static const struct {
        struct program program;
        const char *heading;
        double least;
        const char *range;
    } loops[] = {
        {{.kernels = 20, .kernel_ns = 100000}, "Compute (%)", 90, ":iteration"},
        {{.kernels = 20, .kernel_ns = 1000, .host_ns = 2000000}, "Host (%)", 90, ":iteration"},
        {{.kernels = 100, .kernel_ns = 1000, .launch_ns = 10000},
         "CUDA Call (%)",
         90,
         ":iteration"},
        {{.kernels = 2, .kernel_ns = 1000, .communication_ns = 900000},
         "Communication (%)",
         90,
         ":iteration"},
        {{.kernels = 2, .kernel_ns = 1000, .copies = 4, .copy_ns = 900000, .copy_bytes = 1 << 20},
         "Copy (%)",
         90,
         ":iteration"},
        {{.kernels = 4, .kernel_ns = 1000, .stall_ns = 5000000}, "Stall (%)", 90, ":iteration"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(loops); i++) {
        struct nvt_tables tables = {0};
        report_on(make_program(&loops[i].program), &tables);
        check_sums(&tables);
        assert_int_equal(nvt_table_rows(tables.items[0]), 2);
        assert_string_equal(
            nvt_table_text(tables.items[0], 1, nvt_table_find(tables.items[0], "Part")),
            "last 16 iterations");
        double share = cell(tables.items[0], 1, loops[i].heading);
        if (share < loops[i].least)
            fail_msg("loop %zu: %s is %.1f", i, loops[i].heading, share);
        assert_string_equal(
            nvt_table_text(tables.items[2], 0, nvt_table_find(tables.items[2], "Range")),
            loops[i].range);
        nvt_tables_free(&tables);
    }
}

/* Functions in samples of the host where it is on the path: not beside a kernel that is waited for. */
static void functions_on_the_path_are_listed(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_tables tables = {0};
    uint32_t load = make_function(&maker, 0, "load (data.py:7)", NULL);
    uint32_t poll = make_function(&maker, 0, "poll", "/lib/libc.so.6");
    for (int i = 0; i < 8; i++) {
        int64_t start = maker.now;
        make_sample(&maker, 0, start + 300000, 300000, load);
        make_sample(&maker, 0, start + 400000, 100000, poll);
        maker.now += 500000;
        make_launch(&maker, "gemm", 400000);
        make_sample(&maker, 0, maker.now + 100000, 100000, poll);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    report_on(make_end(&maker), &tables);
    assert_int_equal(tables.count, 4);
    const struct nvt_table *code = tables.items[3];
    assert_string_equal(nvt_table_title(code),
                        "Host code on the critical path, in these iterations (8 samples)");
    assert_int_equal(nvt_table_rows(code), 2);
    assert_string_equal(nvt_table_text(code, 0, nvt_table_find(code, "Function")),
                        "load (data.py)");
    assert_true(cell(code, 0, "Of Host Code (%)") == 75);
    assert_true(cell(code, 0, "CPU Time (ns)") == 4 * 300000);
    assert_true(cell(code, 1, "Samples") == 4);
    nvt_tables_free(&tables);
}

/* An OS call has one row, with all of its time, as a CUDA call has. */
static void os_calls_have_one_row_each(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    struct nvt_tables tables = {0};
    const uint32_t thread = path_thread_of(trace, 1);
    size_t found = 0;
    small_range(trace, thread, "", "main", 0, 400000, NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 10000, 20000);
    path_op(trace, "a", 7, 1, 15000, 115000);
    path_call(trace, 1, "cudaDeviceSynchronize", 3, 50000, 120000);
    path_os_call(trace, thread, "poll", 30000, 40000);
    path_os_call(trace, thread, "read", 200000, 250000);
    small_trace_finish(trace);
    report_on(trace, &tables);
    const struct nvt_table *names = tables.items[1];
    const size_t name = nvt_table_find(names, "Name");
    assert_true(sum_of(names, "Path (%)") < 100.01);
    for (size_t i = 0; i < nvt_table_rows(names); i++)
        if (!strcmp(nvt_table_text(names, i, name), "read")) {
            found++;
            assert_true(cell(names, i, "On Path (ns)") == 50000);
            assert_true(cell(names, i, "Total Time (ns)") == 50000);
        }
    assert_int_equal(found, 1);
    nvt_tables_free(&tables);
}

/* Of several processes the time on the path is more than passed: the tables say why. */
static void paths_of_several_processes_are_added_up(void **state)
{
    (void)state;
    static const struct program program = {.kernels = 20, .kernel_ns = 100000};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace traces[] = {{.trace = make_program(&program)},
                                       {.trace = make_program(&program)}};
    for (size_t count = 1; count <= 2; count++) {
        struct nvt_input input = {.traces = traces, .trace_count = count};
        struct nvt_tables tables = {0};
        assert_int_equal(nvt_report_make(nvt_report_find("critical_path"), &input, &tables, &err),
                         0);
        assert_string_equal(nvt_table_title(tables.items[1]),
                            count > 1 ? "Critical paths by operation, added up, in these iterations"
                                      : "Critical path by operation, in these iterations");
        assert_string_equal(nvt_table_title(tables.items[2]),
                            count > 1 ? "Critical paths by range, added up, in these iterations"
                                      : "Critical path by range, in these iterations");
        nvt_buffer_free(&input.notes);
        nvt_tables_free(&tables);
    }
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

/* In Chrome's trace events: an event a step, in a row of its own. */
static void steps_are_events(void **state)
{
    (void)state;
    static struct simulated sim;
    struct nvt_critical_paths paths;
    struct nvt_error err = NVT_ERROR_INIT;
    char *text = NULL;
    size_t size, events = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    simulated_make(&sim, 7, 300, 3, 2);
    simulated_run(&sim);
    struct nvt_trace *trace = simulated_trace(&sim, 0);
    assert_int_equal(nvt_exporter_chrome_path.write(trace, out, &err), 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(nvt_critical_paths_make(&paths, trace, NVT_BY_THREAD, &err), 0);
    for (const char *at = text; (at = strstr(at, "\"cat\":\"" NVT_EXPORT_PATH "\"")) != NULL; at++)
        events++;
    assert_int_equal(events, paths.items[0].count);
    assert_non_null(strstr(text, "\"name\":\"critical path\""));
    assert_non_null(strstr(text, "{\"kind\":\"Compute\",\"range\":\""));
    nvt_critical_paths_free(&paths);
    nvt_trace_free(trace);
    free(text);
}

/* Whatever it is: the path of a program without iterations, step by step. */
static void every_step_is_listed(void **state)
{
    (void)state;
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace input_trace = {
        .trace = make_program(&(struct program){.kernels = 10, .kernel_ns = 50000, .backward = 4})};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    assert_int_equal(nvt_report_make(nvt_report_find("critical_path_trace"), &input, &tables, &err),
                     0);
    assert_int_equal(nvt_report_make(nvt_report_find("critical_path"), &input, &tables, &err), 0);
    assert_true(nvt_table_rows(tables.items[0]) > 100);
    assert_float_equal(sum_of(tables.items[0], "Duration (ns)"),
                       cell(tables.items[1], 0, "Path (ns)"), 0);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(input_trace.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_wait_for_what_they_wait_for),
        cmocka_unit_test(os_calls_have_one_row_each),
        cmocka_unit_test(paths_of_several_processes_are_added_up),
        cmocka_unit_test(functions_on_the_path_are_listed),
        cmocka_unit_test(every_step_is_listed),
        cmocka_unit_test(steps_are_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
