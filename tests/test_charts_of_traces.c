/*
 * All charts of one trace: texts that have room, names that are too long for any place, calls of the operating system,
 * and whose pictures a folder keeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "chart_kit.h"
#include "cli.h"

/* Rank 3: a sum of 20 us, 60 us of its own work, and a message. */
static void add_mpi(struct nvt_trace *trace, uint32_t thread)
{
    for (int i = 0; i < 2; i++) {
        const struct nvt_mpi_call call = {.start = 10000 + 70000 * i,
                                          .end = 20000 + 70000 * i,
                                          .thread = thread,
                                          .name =
                                              nvt_strings_add_text(trace->strings, "MPI_Allreduce"),
                                          .kind = NVT_MPI_COLLECTIVE};
        assert_true(nvt_mpi_call_add(trace, &call) != NVT_NONE);
    }
    const struct nvt_mpi_call message = {.start = 50000,
                                         .end = 50000,
                                         .thread = thread,
                                         .name = nvt_strings_add_text(trace->strings, "MPI_Send"),
                                         .kind = NVT_MPI_P2P,
                                         .peer = 1,
                                         .sent = 3000000,
                                         .received = UINT64_MAX};
    assert_true(nvt_mpi_call_add(trace, &message) != NVT_NONE);
    trace->processes.rank[trace->threads.process[thread]] = 3;
}

/* 30 us of files in the forward pass, a lock in the backward pass. */
static void add_os_calls(struct nvt_trace *trace, uint32_t thread)
{
    chart_add_os_call(trace, thread, "read", 10000, 40000);
    chart_add_os_call(trace, thread, "pthread_mutex_lock", 70000, 80000);
}

/* The i-th sample, in a function that the one before it called. */
static void add_cpu_sample(struct nvt_trace *trace, uint32_t thread, uint32_t i)
{
    const struct nvt_call_frame frame = {
        .parent = i,
        .name = nvt_strings_add_text(trace->strings, i ? "at::matmul(int)" : "main"),
        .module = nvt_strings_add_text(trace->strings, i ? "/x/libat.so" : "/x/prog")};
    const struct nvt_cpu_sample sample = {
        .time = i * 11000 + 100, .thread = thread, .cpu_ns = 5000, .frame = i + 1};
    assert_true(nvt_call_frame_add(trace, &frame) != NVT_NONE);
    assert_true(nvt_cpu_sample_add(trace, &sample) != NVT_NONE);
}

/* Two iterations with phases, kernels on one stream, and an allocator that takes and gives. */
static struct nvt_trace *make_trace(void)
{
    struct nvt_trace *trace = nvt_trace_new("/tmp/made.nvt", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    static const char *const names[] = {"iteration", "forward", "backward"};
    static const int64_t starts[] = {0, 0, 60000}, ends[] = {100000, 60000, 100000};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            struct nvt_range range = {.start = i * 110000 + starts[k],
                                      .end = i * 110000 + ends[k],
                                      .thread = thread,
                                      .end_thread = thread,
                                      .name = nvt_strings_add_text(trace->strings, names[k])};
            assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        }
    for (int i = 0; i < 20; i++) {
        uint32_t name = nvt_strings_add_text(trace->strings, i % 2 ? "matmul" : "softmax");
        struct nvt_op op = {.start = i * 11000 + 500,
                            .end = i * 11000 + 9000,
                            .process = process,
                            .stream = 7,
                            .correlation = (uint64_t)i + 1,
                            .thread = NVT_NONE,
                            .launch = INT64_MIN,
                            .api = NVT_NONE,
                            .detail = NVT_NONE,
                            .name = name,
                            .short_name = name};
        struct nvt_memory_event event = {.time = i * 11000,
                                         .process = process,
                                         .thread = thread,
                                         .address = 4096,
                                         .bytes = 1 << 20,
                                         .allocated = (uint64_t)(i % 5 + 1) << 20,
                                         .reserved = 6u << 20,
                                         .kind = i % 5 ? NVT_MEMORY_ALLOC : NVT_MEMORY_FREE};
        add_cpu_sample(trace, thread, (uint32_t)i);
        const struct nvt_api call = {.start = i * 10000,
                                     .end = i * 10000 + 400,
                                     .thread = thread,
                                     .correlation = (uint64_t)i + 1,
                                     .name =
                                         nvt_strings_add_text(trace->strings, "cudaLaunchKernel")};
        assert_true(nvt_op_add(trace, &op) != NVT_NONE);
        assert_true(nvt_api_add(trace, &call) != NVT_NONE);
        assert_true(nvt_memory_event_add(trace, &event) != NVT_NONE);
    }
    add_mpi(trace, thread);
    add_os_calls(trace, thread);
    const struct nvt_api other = {.start = 450,
                                  .end = 480,
                                  .thread = thread,
                                  .name = nvt_strings_add_text(trace->strings, "cudaMalloc")};
    assert_true(nvt_api_add(trace, &other) != NVT_NONE);
    assert_int_equal(nvt_trace_set_meta(trace, "device", "A made GPU"), 0);
    chart_add_counters(trace, 200000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* An 'x' and as many letters of two bytes, whose places are odd: cut by bytes, one of them falls apart. */
static uint32_t long_name(struct nvt_trace *trace, size_t letters, const char *end)
{
    char name[300] = "x";
    size_t length = 1;
    for (size_t i = 0; i <= letters; i++)
        length +=
            (size_t)snprintf(name + length, sizeof(name) - length, "%s", i < letters ? "ä" : end);
    return nvt_strings_add_text(trace->strings, name);
}

/* The same with names that are too long for any place. */
static struct nvt_trace *make_trace_of_long_names(void)
{
    struct nvt_trace *trace = make_trace();
    uint32_t forward = nvt_strings_find(trace->strings, "forward", 7);
    uint32_t backward = nvt_strings_find(trace->strings, "backward", 8);
    const struct nvt_device device = {.process = NVT_NONE, .name = long_name(trace, 60, "")};
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (trace->ranges.name[i] == forward || trace->ranges.name[i] == backward)
            trace->ranges.name[i] =
                long_name(trace, 60, trace->ranges.name[i] == forward ? "1" : "2");
    trace->counters.name[0] = long_name(trace, 130, "");
    trace->counters.unit[1] = long_name(trace, 60, "");
    assert_true(nvt_device_add(trace, &device) != NVT_NONE);
    return trace;
}

/* Names end with an ellipsis, characters stay whole, and two that differ at their ends do so in the legend. */
static void test_long_names(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    static const char *const scripts[] = {"made-memory.gp", "made-counters.gp", "made-timeline.gp"};
    char *directory = cli_tempdir();
    struct nvt_trace *trace = make_trace_of_long_names();
    free(chart_draw(trace, directory));
    nvt_trace_free(trace);
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        char *script = cli_read_file(cli_in(directory, scripts[i]), NULL);
        assert_null(strstr(script, "\xef\xbf\xbd"));
        if (i < 2 && !(strstr(script, "ä1'") && strstr(script, "ä2'") && strstr(script, "…")))
            fail_msg("%s: %s", scripts[i], script);
        free(script);
    }
    cli_tempdir_remove(directory);
}

/* Of the ranges what their calls are, of those within each other no more than the range; without ranges, of threads. */
static void test_calls_of_the_system(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    struct nvt_trace *trace = make_trace();
    free(chart_draw(trace, directory));
    nvt_trace_free(trace);
    char *data = cli_read_file(cli_in(directory, "made-osrt.dat"), NULL);
    assert_non_null(strstr(data, "# files\n0\t15\t0\titeration · 20.0 % of 200 µs\n"
                                 "0\t25\t1\tforward · 25.0 % of 120 µs\n"
                                 "0\t0\t2\tbackward · 12.5 % of 80 µs\n"));
    assert_non_null(strstr(data, "# locks\n15\t20\t0\t"));
    assert_non_null(strstr(data, "# outside\n20\t100\t0\t"));
    free(data);
    for (int has_ranges = 0; has_ranges < 2; has_ranges++) {
        struct nvt_error err = NVT_ERROR_INIT;
        trace = nvt_trace_new("/tmp/made.nvt", "test");
        uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 1), 7);
        const struct nvt_range range = {.end = 1000,
                                        .name = nvt_strings_add_text(trace->strings, "r")};
        if (has_ranges)
            assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        trace->threads.name[thread] = nvt_strings_add_text(trace->strings, "worker");
        chart_add_os_call(trace, thread, "fopen", 0, 900);
        chart_add_os_call(trace, thread, "open", 100, 700);
        chart_add_os_call(trace, thread, "poll", 900, 1000);
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        free(chart_draw(trace, directory));
        nvt_trace_free(trace);
        data = cli_read_file(cli_in(directory, "made-osrt.dat"), NULL);
        assert_non_null(strstr(data, has_ranges
                                         ? "\n0\t93.75\t0\tr · 100.0 % of 1 µs\n"
                                         : "\n0\t90\t0\tworker, thread 7 · 100.0 % of 1 µs\n"));
        free(data);
    }
    cli_tempdir_remove(directory);
}

/* Pictures of all traces together are called after these: another trace's in the same folder stay. */
static void pictures_of_other_traces_stay(void **state)
{
    (void)state;
    static const char *const expected[] = {"one-osrt", "two-osrt", "one-and-1-more-osrt"};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given[2] = {{.trace = NULL}};
    char name[200];
    for (int i = 0; i < 2; i++) {
        given[i].trace = nvt_trace_new(i ? "/tmp/two.nvt" : "/tmp/one.nvt", "test");
        assert_int_equal(nvt_trace_finish(given[i].trace, &err), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        const struct nvt_input input = {.traces = &given[i % 2], .trace_count = i < 2 ? 1 : 2};
        nvt_chart_traces_name(&input, "osrt", name, sizeof(name));
        assert_string_equal(name, expected[i]);
    }
    const struct nvt_input none = {.trace_count = 0};
    nvt_chart_traces_name(&none, "osrt", name, sizeof(name));
    assert_string_equal(name, "osrt");
    nvt_trace_free(given[0].trace);
    nvt_trace_free(given[1].trace);
}

static void test_trace(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    chart_draw_trace(make_trace(), directory);
    /* The iteration of median length is shown, 100 µs of it; each kernel in the lane of its stream,
     * below the two of the ranges. */
    char *data = cli_read_file(cli_in(directory, "made-timeline.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t100\t0.1\t1.1\titeration 100 µs\n"));
    assert_non_null(strstr(data, "\n0\t60\t1.16\t2.16\tforward 60.0 µs\n"));
    assert_non_null(strstr(data, "\n60\t100\t1.16\t2.16\tbackward 40.0 µs\n"));
    /* From the first kernel that a phase launched to its last; kernels by what they are. */
    assert_non_null(strstr(data, "\n11.5\t75\t2.56\t3.56\tforward 63.5 µs\n"));
    const char *gemm = strstr(data, "# c8\n"), *elementwise = strstr(data, "# c10\n");
    assert_non_null(gemm && elementwise ? strstr(gemm, "\n11.5\t20\t3.62\t5.22\tmatmul\n") : NULL);
    assert_non_null(strstr(elementwise, "\n0.5\t9\t3.62\t5.22\tsoftm…\n"));
    free(data);
    /* The kernels that lie in each phase; the host's time in both iterations. */
    data = cli_read_file(cli_in(directory, "made-flame-device.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t161.5\t0\titeration 95 %\n"));
    assert_non_null(strstr(data, "\n0\t102\t1\tforward 60 %\n"));
    assert_non_null(strstr(data, "\n102\t161.5\t1\tbackward 35 %\n"));
    free(data);
    data = cli_read_file(cli_in(directory, "made-flame-host.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t200\t0\titeration 100 %\n"));
    assert_non_null(strstr(data, "\n0\t120\t1\tforward 60 %\n"));
    assert_non_null(strstr(data, "\n120\t200\t1\tbackward 40 %\n"));
    free(data);
    /* The highest level is in the data, and what is left behind is drawn to the end. */
    data = cli_read_file(cli_in(directory, "made-memory.dat"), NULL);
    assert_non_null(strstr(data, "\n44\t5\t6\n"));
    assert_non_null(strstr(data, "\n218\t5\t6\n"));
    free(data);
    /* What more tokens there are comes to; the last level is drawn to the end. */
    data = cli_read_file(cli_in(directory, "made-counters.dat"), NULL);
    assert_non_null(strstr(data, "\n20\t8192\n"));
    assert_non_null(strstr(data, "\n180\t40960\n"));
    assert_non_null(strstr(data, "\n218\t40960\n"));
    free(data);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_calls_of_the_system),
        cmocka_unit_test(pictures_of_other_traces_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
