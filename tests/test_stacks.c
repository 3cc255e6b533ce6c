/*
 * Stacks: what was open, names within names. Their own times add up to all time; operations stand below the ranges that
 * launched them; and what is written and drawn of them is a line or a box a path, whatever the names are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/device/project.h"
#include "../analyze/exports/export.h"
#include "../analyze/studies/stacks.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "cli.h"
#include "made_trace.h"
#include "stacks_kit.h"

static void add_op(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t launch,
                   int64_t start, int64_t end)
{
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .thread = thread,
                              .launch = launch,
                              .api = NVT_NONE,
                              .detail = NVT_NONE,
                              .kind = *name == '[' ? NVT_OP_MEMCPY : NVT_OP_KERNEL,
                              .name = nvt_strings_add_text(trace->strings, name)};
    assert_true(nvt_op_add(trace, &op) != NVT_NONE);
}

/* Two steps of two threads; PyTorch's numbers; a start/end range, which is in no stack. */
static struct nvt_trace *make_steps(void)
{
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5);
    uint32_t one = nvt_trace_thread(trace, process, 6), two = nvt_trace_thread(trace, process, 7);
    stacks_add_range(trace, one, "ProfilerStep#1", 0, 100);
    stacks_add_range(trace, one, "forward", 10, 50);
    stacks_add_range(trace, one, "aten::mm, op_id = 1", 20, 30);
    stacks_add_range(trace, one, "ProfilerStep#2", 100, 200);
    stacks_add_range(trace, one, "forward", 110, 150);
    stacks_add_range(trace, one, "aten::mm, op_id = 2", 120, 145);
    stacks_add_range(trace, two, "load", 0, 70);
    uint32_t lonely = stacks_add_range(trace, two, "transfer", 60, 300);
    trace->ranges.style[lonely] = NVT_START_END;
    add_op(trace, one, "gemm", 25, 40, 90);
    add_op(trace, one, "gemm", 125, 140, 170);
    add_op(trace, one, "[CUDA memset]", 105, 106, 108);
    add_op(trace, two, "[CUDA memcpy Host-to-Device]", 80, 81, 91);
    add_op(trace, two, "late", 400, 401, 405);
    add_op(trace, NVT_NONE, "unknown", INT64_MIN, 500, 501);
    return stacks_finished(trace);
}

static void own_times_add_up(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_steps();
    stacks_expect_written(trace, &nvt_exporter_folded,
                          "ProfilerStep#* 120\n"
                          "ProfilerStep#*;forward 45\n"
                          "ProfilerStep#*;forward;aten::mm 35\n"
                          "load 70\n");
    /* Across threads, what a thread launches outside of its ranges belongs to the others' that are
     * open: the copy, at 80, to the step. */
    stacks_expect_written(trace, &nvt_exporter_folded_device,
                          "ProfilerStep#*;forward;aten::mm;gemm 80\n"
                          "ProfilerStep#*;[CUDA memset] 2\n"
                          "transfer;[CUDA memcpy Host-to-Device] 10\n" NVT_STACKS_NOWHERE
                          ";late 4\n" NVT_STACKS_UNKNOWN ";unknown 1\n");
    struct nvt_stacks stacks = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_stacks_make(&stacks, trace, NVT_STACKS_HOST, 0, &err), 0);
    assert_int_equal(stacks.total, 270);
    assert_int_equal(stacks.count, 4);
    assert_int_equal(stacks.items[stacks.order[0]].total, 200);
    assert_int_equal(stacks.items[stacks.order[0]].count, 2);
    assert_int_equal(stacks.items[stacks.order[2]].depth, 2);
    assert_string_equal(nvt_stacks_name(&stacks, stacks.order[3]), "load");
    nvt_stacks_free(&stacks);
    nvt_trace_free(trace);
}

/* Calls of the system stand below the innermost range that holds them; those within calls of MPI, or of each other, are
 * theirs, and those across a range's end the outer one's. */
static void calls_stand_below_their_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6), strings[4];
    static const char *const names[] = {"read", "MPI_Send", "poll", "fopen"};
    for (size_t i = 0; i < 4; i++)
        strings[i] = nvt_strings_add_text(trace->strings, names[i]);
    stacks_add_range(trace, thread, "step", 0, 1000);
    stacks_add_range(trace, thread, "load", 100, 500);
    const struct nvt_mpi_call mpi = {
        .start = 600, .end = 700, .thread = thread, .name = strings[1]};
    const struct nvt_os_call calls[] = {
        {.start = 200, .end = 300, .thread = thread, .name = strings[0]},
        {.start = 450, .end = 550, .thread = thread, .name = strings[0]},
        {.start = 610, .end = 690, .thread = thread, .name = strings[2]},
        {.start = 800, .end = 900, .thread = thread, .name = strings[3]},
        {.start = 810, .end = 820, .thread = thread, .name = strings[0]},
        {.start = 2000, .end = 2100, .thread = thread, .name = strings[0]}};
    assert_true(nvt_mpi_call_add(trace, &mpi) != NVT_NONE);
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++)
        assert_true(nvt_os_call_add(trace, &calls[i]) != NVT_NONE);
    stacks_finished(trace);
    stacks_expect_written(trace, &nvt_exporter_folded,
                          "step 300\n"
                          "step;load 300\n"
                          "step;load;read 100\n"
                          "step;MPI_Send 100\n"
                          "step;fopen 100\n"
                          "step;read 100\n");
    nvt_trace_free(trace);
}

/* Operations of a program without ranges are the outermost; of any program they add up to what all
 * operations took. */
static void operations_add_up(void **state)
{
    (void)state;
    for (int no_ranges = 0; no_ranges < 2; no_ranges++) {
        struct nvt_error err = NVT_ERROR_INIT;
        const struct program program = {.iterations = 8,
                                        .no_ranges = no_ranges,
                                        .kernels = 12,
                                        .kernel_ns = 9000,
                                        .backward = 6,
                                        .copies = 2,
                                        .copy_ns = 4000,
                                        .jitter = 3};
        struct nvt_trace *trace = make_program(&program);
        struct nvt_stacks stacks = {0};
        int64_t all = 0, own = 0;
        uint64_t ops = 0;
        for (uint32_t i = 0; i < trace->ops.count; i++)
            all += trace->ops.end[i] - trace->ops.start[i];
        assert_int_equal(
            nvt_stacks_make(&stacks, trace, NVT_STACKS_DEVICE, NVT_ACROSS_THREADS, &err), 0);
        for (uint32_t i = 0; i < stacks.count; i++) {
            const struct nvt_stack *stack = &stacks.items[i];
            own += stack->self;
            ops += stack->count;
            assert_true(stack->parent == NVT_NONE ? !stack->depth : stack->parent < i);
            assert_true(stack->kind == NVT_STACK_RANGE ? !stack->self : stack->self > 0);
            assert_int_equal(stack->depth == 0 && stack->kind != NVT_STACK_RANGE, no_ranges);
        }
        assert_true(all > 0);
        assert_int_equal(own, all);
        assert_int_equal(stacks.total, all);
        assert_int_equal(ops, trace->ops.count);
        nvt_stacks_free(&stacks);
        nvt_trace_free(trace);
    }
}

/* Functions of Python's stack around, between and within ranges. */
static void functions_are_left_out_where_asked(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    uint32_t functions = nvt_trace_domain(trace, process, "python_function");
    stacks_add_function(trace, thread, functions, "<module>", 0, 100);
    stacks_add_range(trace, thread, "step", 10, 90);
    stacks_add_function(trace, thread, functions, "train.py(7): f", 20, 80);
    stacks_add_range(trace, thread, "forward", 30, 50);
    stacks_add_function(trace, thread, functions, "linear.py(1): g", 35, 40);
    stacks_add_function(trace, thread, functions, "nn.Module: Linear_0", 82, 86);
    stacks_finished(trace);
    stacks_expect_written(trace, &nvt_exporter_folded,
                          "<module> 20\n"
                          "<module>;step 16\n"
                          "<module>;step;train.py(7): f 40\n"
                          "<module>;step;train.py(7): f;forward 15\n"
                          "<module>;step;train.py(7): f;forward;linear.py(1): g 5\n"
                          "<module>;step;nn.Module: Linear_0 4\n");
    struct nvt_stacks stacks = {0};
    assert_int_equal(
        nvt_stacks_make(&stacks, trace, NVT_STACKS_HOST, NVT_STACKS_NO_FUNCTIONS, &err), 0);
    assert_int_equal(stacks.count, 3);
    assert_int_equal(stacks.items[0].self, 56);
    assert_string_equal(nvt_stacks_name(&stacks, 2), "nn.Module: Linear_0");
    assert_int_equal(stacks.items[1].self, 20);
    assert_int_equal(stacks.items[1].parent, 0);
    nvt_stacks_free(&stacks);
    nvt_trace_free(trace);
}

/* PyTorch's backward: operators on a thread of their own, within a phase of another thread. */
static void operators_stand_below_the_phase_of_another_thread(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5);
    uint32_t one = nvt_trace_thread(trace, process, 6), two = nvt_trace_thread(trace, process, 7);
    uint32_t operators = nvt_trace_domain(trace, process, "cpu_op");
    stacks_add_range(trace, one, "step", 0, 100);
    stacks_add_range(trace, one, "backward", 40, 90);
    stacks_add_function(trace, two, operators, "MulBackward", 50, 60);
    stacks_add_function(trace, two, operators, "aten::mul", 51, 59);
    stacks_add_function(trace, two, operators, "MulBackward", 120, 130);
    add_op(trace, two, "mul", 52, 200, 210);
    add_op(trace, two, "mul", 125, 210, 215);
    add_op(trace, two, "fill", 70, 216, 220);
    /* PyTorch's annotation of a collective is in the program's domain, and none of the program's all the same. */
    stacks_add_range(trace, two, "nccl:all_reduce", 80, 85);
    add_op(trace, two, "ncclDevKernel", 81, 230, 260);
    stacks_finished(trace);
    stacks_expect_written(trace, &nvt_exporter_folded_device,
                          "step;backward;nccl:all_reduce;ncclDevKernel 30\n"
                          "step;backward;MulBackward;aten::mul;mul 10\n"
                          "step;backward;fill 4\n"
                          "MulBackward;mul 5\n");
    nvt_trace_free(trace);
}

/* Twelve layers are one when asked for, two are two; kernels of different sizes stay what they are. */
static void names_that_differ_in_numbers(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    char name[32];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "layer.%d (q%d)", i + 5, 20 * i);
        stacks_add_range(trace, thread, name, 10 * i, 10 * i + 10);
        snprintf(name, sizeof(name), "%d.fc%d", i, 1 + i % 2);
        stacks_add_range(trace, thread, name, 10 * i, 10 * i + 4);
        snprintf(name, sizeof(name), "gemm_%d", i % 5);
        add_op(trace, thread, name, 10 * i + 1, 1000 + i, 1001 + i);
    }
    stacks_finished(trace);
    struct nvt_stacks stacks = {0};
    const unsigned flags = NVT_STACKS_ALIKE;
    assert_int_equal(nvt_stacks_make(&stacks, trace, NVT_STACKS_HOST, flags, &err), 0);
    assert_int_equal(stacks.count, 3);
    assert_string_equal(nvt_stacks_name(&stacks, stacks.order[0]), "layer.* (q*)");
    assert_int_equal(stacks.items[stacks.order[0]].count, 12);
    assert_int_equal(stacks.items[stacks.order[0]].self, 72);
    assert_string_equal(nvt_stacks_name(&stacks, stacks.order[1]), "*.fc1");
    assert_true(stacks.has_alike);
    nvt_stacks_free(&stacks);
    assert_int_equal(nvt_stacks_make(&stacks, trace, NVT_STACKS_DEVICE, flags, &err), 0);
    assert_int_equal(stacks.count, 3 + 2 * 5);
    nvt_stacks_free(&stacks);
    assert_int_equal(nvt_stacks_make(&stacks, trace, NVT_STACKS_HOST, 0, &err), 0);
    assert_int_equal(stacks.count, 24);
    assert_false(stacks.has_alike);
    nvt_stacks_free(&stacks);
    nvt_trace_free(trace);
}

/* A name is one field of one line; paths of any depth are written in time. */
static void names_and_depths_of_strangers(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    stacks_add_range(trace, thread, "a;b\nc\x1b[31m", 0, 10);
    stacks_add_range(trace, thread, "", 2, 4);
    stacks_finished(trace);
    stacks_expect_written(trace, &nvt_exporter_folded, "a,b␊c␛[31m 8\na,b␊c␛[31m;(no name) 2\n");
    nvt_trace_free(trace);
    enum { DEEP = 20000 };
    trace = nvt_trace_new("x", "test");
    process = nvt_trace_process(trace, 5);
    thread = nvt_trace_thread(trace, process, 6);
    for (int i = 0; i < DEEP; i++)
        stacks_add_range(trace, thread, i % 2 ? "odd" : "even", i, 2 * DEEP - i);
    stacks_finished(trace);
    char *out = NULL;
    size_t size, lines = 0;
    struct nvt_error err = NVT_ERROR_INIT;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(nvt_exporter_folded.write(trace, stream, &err), 0);
    fclose(stream);
    for (const char *at = out; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, DEEP);
    assert_non_null(strstr(out, "\n…;odd;even;odd;"));
    assert_true(size < (size_t)DEEP * 2000);
    free(out);
    nvt_trace_free(trace);
}

/* A thousand narrow ones are one box, next to the wide one; deeper than twenty levels none is. */
static void what_is_too_narrow_is_one_box(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    char name[32];
    stacks_add_range(trace, thread, "step", 0, 100000);
    stacks_add_range(trace, thread, "wide", 0, 60000);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "narrow %c%c%c", 97 + i % 10, 97 + i / 10 % 10, 97 + i / 100);
        stacks_add_range(trace, thread, name, 60000 + 20 * i, 60000 + 20 * i + 20);
    }
    char *data = stacks_drawn(stacks_finished(trace), &nvt_chart_flame, "x-flame-host.dat");
    assert_non_null(strstr(data, "\n0\t100\t0\tstep 100 %\n"));
    assert_non_null(strstr(data, "\n0\t60\t1\twide 60 %\n"));
    assert_non_null(strstr(data, "\n60\t80\t1\t\n"));
    assert_null(strstr(data, "narrow"));
    free(data);
    trace = nvt_trace_new("x", "test");
    process = nvt_trace_process(trace, 5);
    thread = nvt_trace_thread(trace, process, 6);
    for (int i = 0; i < 30; i++)
        stacks_add_range(trace, thread, "level", i, 10000 - i);
    data = stacks_drawn(stacks_finished(trace), &nvt_chart_flame, "x-flame-host.dat");
    assert_non_null(strstr(data, "\t19\tlevel"));
    assert_null(strstr(data, "\t20\tlevel"));
    free(data);
}

/* Where a whole name has no room, what it has in common with the one around it is left out. */
static void names_go_on_from_those_around_them(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    stacks_add_range(trace, thread, "step", 0, 2000);
    stacks_add_range(trace, thread, "encoder.layers (ModuleList)", 0, 500);
    stacks_add_range(trace, thread, "encoder.layers.attention", 0, 200);
    stacks_add_range(trace, thread, "encoder.layersize", 200, 400);
    char *data = stacks_drawn(stacks_finished(trace), &nvt_chart_flame, "x-flame-host.dat");
    assert_non_null(strstr(data, "\t0.5\t1\tencoder.layers (ModuleList)\n"));
    assert_non_null(strstr(data, "\t0.2\t2\t.attention\n"));
    assert_non_null(strstr(data, "\t0.4\t2\tencoder.…\n"));
    free(data);
}

/* Ranges beside each other are what the chart of ranges shows; names cannot command gnuplot. */
static void what_lies_in_nothing_is_not_drawn(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    stacks_add_range(trace, thread, "a", 0, 10);
    stacks_add_range(trace, thread, "b", 10, 20);
    add_op(trace, NVT_NONE, "kernel", INT64_MIN, 3, 9);
    stacks_finished(trace);
    assert_null(stacks_drawn(trace, &nvt_chart_flame, "x-flame-host.dat"));
    trace = nvt_trace_new("x", "test");
    process = nvt_trace_process(trace, 5);
    thread = nvt_trace_thread(trace, process, 6);
    stacks_add_range(trace, thread, "'; system('touch pwned'); `touch pwned` \\n %s \"", 0, 1000);
    stacks_add_range(trace, thread, "\ttab\nline", 0, 1000);
    char *data = stacks_drawn(stacks_finished(trace), &nvt_chart_flame, "x-flame-host.dat");
    assert_null(strchr(data, '\''));
    assert_null(strchr(data, '\\'));
    assert_non_null(strstr(data, "\t1\t tab line"));
    assert_int_not_equal(access("pwned", F_OK), 0);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_times_add_up),
        cmocka_unit_test(operations_add_up),
        cmocka_unit_test(calls_stand_below_their_ranges),
        cmocka_unit_test(functions_are_left_out_where_asked),
        cmocka_unit_test(operators_stand_below_the_phase_of_another_thread),
        cmocka_unit_test(names_that_differ_in_numbers),
        cmocka_unit_test(names_and_depths_of_strangers),
        cmocka_unit_test(what_is_too_narrow_is_one_box),
        cmocka_unit_test(names_go_on_from_those_around_them),
        cmocka_unit_test(what_lies_in_nothing_is_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
