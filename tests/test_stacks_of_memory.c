/* Stacks of memory at its peak, and of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/studies/stacks.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "cli.h"
#include "made_trace.h"
#include "stacks_kit.h"

/* --- memory at its peak --- */

/* bytes < 0: a free; `allocated`: as the allocator says, -1: it says nothing. */
static void add_memory(struct nvt_trace *trace, uint32_t thread, uint32_t device, int64_t time,
                       uint64_t address, int64_t bytes, int64_t allocated)
{
    const struct nvt_memory_event event = {.time = time,
                                           .process = trace->threads.process[thread],
                                           .thread = thread,
                                           .device = device,
                                           .address = address,
                                           .bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
                                           .allocated =
                                               allocated < 0 ? UINT64_MAX : (uint64_t)allocated,
                                           .reserved = UINT64_MAX,
                                           .kind = bytes < 0 ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC};
    assert_true(nvt_memory_event_add(trace, &event) != NVT_NONE);
}

/* A training step: weights, from before; activations and a gradient, which another thread allocates; a block that is freed
 * before the peak, one whose address is used again without a free on record, and one behind the peak. And the host's. */
static struct nvt_trace *make_memory(void)
{
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5);
    uint32_t one = nvt_trace_thread(trace, process, 6), two = nvt_trace_thread(trace, process, 7);
    const struct nvt_device device = {
        .process = process, .device = 1, .name = nvt_strings_add_text(trace->strings, "H100")};
    nvt_device_add(trace, &device);
    stacks_add_range(trace, one, "step", 0, 100);
    stacks_add_range(trace, one, "forward", 10, 50);
    stacks_add_range(trace, one, "backward", 50, 100);
    stacks_add_function(trace, two, nvt_trace_domain(trace, process, "cpu_op"), "aten::mm", 60, 70);
    add_memory(trace, one, 1, 10, 0x10, 4000, 104000);
    add_memory(trace, one, 1, 20, 0x20, 2000, 106000);
    add_memory(trace, one, 1, 25, 0x30, 500, 106500);
    add_memory(trace, one, 1, 30, 0x20, -2000, 104500);
    add_memory(trace, one, 1, 31, 0x30, 700, 104700);
    add_memory(trace, two, 1, 65, 0x40, 8000, 112700);
    add_memory(trace, one, 1, 80, 0x99, -1000, 111700);
    add_memory(trace, one, 1, 90, 0x50, 1000, 112700);
    add_memory(trace, one, NVT_NONE, 5, 0x10, 300, -1);
    add_memory(trace, one, NVT_NONE, 200, 0x60, 200, -1);
    return stacks_finished(trace);
}

static void memory_at_its_peak(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_memory();
    stacks_expect_written(trace, &nvt_exporter_folded_memory,
                          "H100 (1);" NVT_STACKS_BEFORE " 100000\n"
                          "H100 (1);step;backward;aten::mm 8000\n"
                          "H100 (1);step;forward 4700\n"
                          "host;step 300\n"
                          "host;" NVT_STACKS_NOWHERE " 200\n");
    struct nvt_stacks stacks = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    /* Of its own thread alone, the operator is in no step. */
    assert_int_equal(nvt_stacks_make(&stacks, trace, NVT_STACKS_MEMORY,
                                     NVT_STACKS_NO_HOST_MEMORY | NVT_STACKS_NO_UNSEEN, &err),
                     0);
    assert_int_equal(stacks.total, 12700);
    assert_int_equal(stacks.unseen, 100000);
    assert_int_equal(stacks.count, 4);
    assert_int_equal(stacks.items[stacks.order[0]].at, 65);
    assert_string_equal(nvt_stacks_name(&stacks, stacks.order[1]), "aten::mm");
    assert_int_equal(stacks.items[stacks.order[1]].at, INT64_MIN);
    assert_int_equal(stacks.items[stacks.order[3]].count, 2);
    nvt_stacks_free(&stacks);
    nvt_trace_free(trace);
}

/* What was there before and only shrank has its peak before the first event; a level is a stranger's number. */
static void peaks_of_strangers(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6);
    add_memory(trace, thread, 0, 10, 0x10, -4000, 6000);
    add_memory(trace, thread, 0, 20, 0x20, 1000, 7000);
    add_memory(trace, thread, 2, 20, 0x20, -1000, -1);
    add_memory(trace, thread, 3, 30, 0x20, INT64_MAX, INT64_MAX);
    add_memory(trace, thread, 3, 31, 0x30, INT64_MAX, INT64_MAX);
    nvt_trace_thread(trace, nvt_trace_process(trace, 8), 9);
    add_memory(trace, 1, 0, 40, 0x20, 5, -1);
    stacks_expect_written(stacks_finished(trace), &nvt_exporter_folded_memory,
                          "device 3, PID 5 9223372036854775807\n"
                          "device 0, PID 5;" NVT_STACKS_BEFORE " 10000\n"
                          "device 2, PID 5;" NVT_STACKS_BEFORE " 1000\n"
                          "device 0, PID 8 5\n");
    nvt_trace_free(trace);
}

/* What a window keeps of what was before it is no allocation within it. */
static void memory_from_before_a_window(void **state)
{
    (void)state;
    for (int says = 0; says < 2; says++) {
        struct nvt_trace *trace = nvt_trace_new("x", "test");
        uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6);
        stacks_add_range(trace, thread, "step", 10, 100);
        add_memory(trace, thread, 0, 10, 0x10, 500, says ? 500 : -1);
        trace->memory.is_earlier[0] = 1;
        add_memory(trace, thread, 0, 20, 0x20, 100, says ? 600 : -1);
        add_memory(trace, thread, 0, 30, 0x10, -500, says ? 100 : -1);
        stacks_finished(trace);
        stacks_expect_written(trace, &nvt_exporter_folded_memory,
                              "device 0;" NVT_STACKS_BEFORE " 500\ndevice 0;step 100\n");
        nvt_trace_free(trace);
    }
}

/* Without addresses nobody knows what was freed. */
static void memory_without_addresses(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6);
    stacks_add_range(trace, thread, "step", 0, 100);
    for (int i = 0; i < 3; i++)
        add_memory(trace, thread, 0, 10 + i, 0, 1000, -1);
    add_memory(trace, thread, 0, 50, 0, -1000, -1);
    stacks_expect_written(stacks_finished(trace), &nvt_exporter_folded_memory,
                          "device 0;" NVT_STACKS_NAMELESS " 3000\n");
    nvt_trace_free(trace);
    /* One that lacks it is no reason to know nothing of the others. */
    trace = nvt_trace_new("x", "test");
    thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6);
    add_memory(trace, thread, 0, 5, 0, -10, 700);
    add_memory(trace, thread, 0, 10, 0x10, 1000, 1700);
    stacks_expect_written(stacks_finished(trace), &nvt_exporter_folded_memory,
                          "device 0 1000\ndevice 0;" NVT_STACKS_BEFORE " 700\n");
    nvt_trace_free(trace);
}

/* --- samples --- */

#define CORE "/opt/lib/libcore.so"

/* A loop in Python that runs a library's operator in a step and outside of it, and a thread beside it. */
static struct nvt_trace *make_samples(int has_times)
{
    struct maker maker = make_begin();
    uint32_t start = make_function(&maker, 0, "_start", "/usr/bin/python3.12");
    uint32_t run = make_function(&maker, start, "pymain_run", "/usr/bin/python3.12");
    uint32_t loop = make_function(&maker, run, "train (train.py:9)", NULL);
    uint32_t eval = make_function(&maker, loop, "_PyEval_Vector", "/usr/bin/python3.12");
    uint32_t mm = make_function(&maker, eval, "at::mm(at::Tensor const&, at::Tensor const&)", CORE);
    uint32_t call = make_function(&maker, mm, "at::redispatch<at::Tensor (int)>", CORE);
    uint32_t gemm = make_function(&maker, call, "0x7f12", CORE);
    uint32_t copy = make_function(&maker, mm, "memcpy", "[kernel]");
    uint32_t worker = make_function(&maker, 0, "clone3", "/lib/libc.so.6");
    uint32_t spin = make_function(&maker, worker, "spin", "/lib/libpool.so.1");
    uint32_t beside = nvt_trace_thread(maker.trace, maker.process, 2);
    stacks_add_range(maker.trace, 0, "step", 0, 50);
    stacks_add_range(maker.trace, 0, "forward", 10, 50);
    const struct {
        uint32_t thread, function;
        int64_t time, ns;
    } samples[] = {{0, mm, 5, 100},       {0, gemm, 12, 300}, {0, gemm, 20, 300},
                   {0, gemm, 60, 200},    {0, copy, 45, 50},  {beside, spin, 20, 70},
                   {beside, spin, 21, 7}, {0, 0, 30, 3}};
    for (size_t i = 0; i < NVT_COUNT_OF(samples); i++)
        make_sample(&maker, samples[i].thread, samples[i].time, has_times ? samples[i].ns : 0,
                    samples[i].function);
    maker.trace->cpu_samples.flags[6] = NVT_CPU_SAMPLE_NO_CALLERS;
    return make_end(&maker);
}

#define MM     "at::mm(at::Tensor const&, at::Tensor const&)"
#define PYTHON "_start;pymain_run;train (train.py:9);_PyEval_Vector;" MM
#define GEMM   PYTHON ";at::redispatch<at::Tensor (int)>;[libcore.so]"

static void samples_stand_below_their_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_samples(1);
    stacks_expect_written(trace, &nvt_exporter_folded_cpu,
                          "step;forward;" GEMM " 600\n"
                          "step;forward;" PYTHON ";memcpy 50\n"
                          "step;forward;[unknown] 3\n"
                          "step;" PYTHON " 100\n" NVT_STACKS_NOWHERE ";" GEMM
                          " 200\n" NVT_STACKS_NOWHERE ";clone3;spin 70\n" NVT_STACKS_NOWHERE
                          ";" NVT_STACKS_STACKLESS ";spin 7\n");
    nvt_trace_free(trace);
    trace = make_samples(0);
    stacks_expect_written(trace, &nvt_exporter_folded_cpu,
                          "step;forward;" GEMM " 2\n"
                          "step;forward;" PYTHON ";memcpy 1\n"
                          "step;forward;[unknown] 1\n"
                          "step;" PYTHON " 1\n" NVT_STACKS_NOWHERE ";" NVT_STACKS_STACKLESS
                          ";spin 1\n" NVT_STACKS_NOWHERE ";" GEMM " 1\n" NVT_STACKS_NOWHERE
                          ";clone3;spin 1\n");
    nvt_trace_free(trace);
    /* Where no sample has callers, that is nothing to say of each. */
    trace = make_samples(1);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        trace->cpu_samples.flags[i] = NVT_CPU_SAMPLE_NO_CALLERS;
    stacks_expect_written(trace, &nvt_exporter_folded_cpu,
                          "step;forward;[libcore.so] 600\n"
                          "step;forward;memcpy 50\n"
                          "step;forward;[unknown] 3\n"
                          "step;" MM " 100\n" NVT_STACKS_NOWHERE
                          ";[libcore.so] 200\n" NVT_STACKS_NOWHERE ";spin 77\n");
    nvt_trace_free(trace);
}

/* What starts programs, what the interpreter does around Python, what libraries only pass on. */
static void what_says_little_is_left_out(void **state)
{
    (void)state;
    static const char *const paths[] = {"forward",      "train (train.py)", MM,
                                        "[libcore.so]", "memcpy",           "[unknown]"};
    struct nvt_trace *trace = make_samples(1);
    struct nvt_stacks stacks = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_stacks_make(&stacks, trace, NVT_STACKS_CPU,
                                     NVT_STACKS_SHORT | NVT_STACKS_NO_UNSEEN, &err),
                     0);
    assert_int_equal(stacks.total, 1023);
    assert_int_equal(stacks.unseen, 7);
    assert_string_equal(nvt_stacks_name(&stacks, stacks.order[0]), "step");
    for (size_t i = 0; i < NVT_COUNT_OF(paths); i++)
        assert_string_equal(nvt_stacks_name(&stacks, stacks.order[i + 1]), paths[i]);
    assert_int_equal(stacks.items[stacks.order[4]].depth, 4);
    assert_int_equal(stacks.items[stacks.order[4]].kind, NVT_STACK_LIBRARY);
    assert_int_equal(stacks.items[stacks.order[4]].total, 600);
    assert_int_equal(stacks.items[stacks.order[5]].kind, NVT_STACK_SYSTEM);
    nvt_stacks_free(&stacks);
    nvt_trace_free(trace);
}

/* --- the chart --- */

/* What cannot be told is said, and not drawn: it would leave no room. */
static void memory_is_drawn(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *data = stacks_drawn(make_memory(), &nvt_chart_memory_at_peak, "x-memory-at-peak.dat");
    assert_non_null(strstr(data, "# from_KiB\tto_KiB"));
    assert_non_null(strstr(data, "\n0\t12.4023438\t0\tH100 (1) 11.3 %\n"));
    assert_non_null(strstr(data, "\n0\t7.8125\t2\tbackward 7.1 %\n"));
    assert_null(strstr(data, "before"));
    assert_null(strstr(data, "host"));
    free(data);
}

/* Names in C++ for short; shares with what is not drawn. */
static void samples_are_drawn(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *data = stacks_drawn(make_samples(1), &nvt_chart_cpu, "made_up-cpu.dat");
    assert_non_null(strstr(data, "# from_µs\tto_µs"));
    assert_non_null(strstr(data, "\tstep 73.1 %\n"));
    assert_non_null(strstr(data, "\ttrain (train.py) 63.1 %\n"));
    assert_non_null(strstr(data, "\tmm 63.1 %\n"));
    assert_null(strstr(data, "Tensor"));
    assert_null(strstr(data, "_start"));
    free(data);
    data = stacks_drawn(make_samples(0), &nvt_chart_cpu, "made_up-cpu.dat");
    assert_non_null(strstr(data, "# from_samples\tto_samples"));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_at_its_peak),
        cmocka_unit_test(peaks_of_strangers),
        cmocka_unit_test(memory_from_before_a_window),
        cmocka_unit_test(memory_without_addresses),
        cmocka_unit_test(memory_is_drawn),
        cmocka_unit_test(samples_stand_below_their_ranges),
        cmocka_unit_test(what_says_little_is_left_out),
        cmocka_unit_test(samples_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
