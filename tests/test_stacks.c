/*
 * Stacks: what was open, names within names. Their own times add up to all time; operations stand
 * below the ranges that launched them; and what is written of them is a line a path, whatever the
 * names are.
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

#include "../analyze/exports/export.h"
#include "../analyze/device/project.h"
#include "../analyze/studies/stacks.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "cli.h"
#include "made_trace.h"

static uint32_t add_range(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                          int64_t end)
{
    const struct nvt_range range = {.start = start,
                                    .end = end,
                                    .thread = thread,
                                    .end_thread = thread,
                                    .name = nvt_strings_add_text(trace->strings, name)};
    uint32_t row = nvt_range_add(trace, &range);
    assert_true(row != NVT_NONE);
    return row;
}

static void add_function(struct nvt_trace *trace, uint32_t thread, uint32_t domain,
                         const char *name, int64_t start, int64_t end)
{
    uint32_t row = add_range(trace, thread, name, start, end);
    trace->ranges.domain[row] = domain;
}

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

static struct nvt_trace *finished(struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static void expect_written(const struct nvt_trace *trace, const struct nvt_exporter *exporter,
                           const char *expected)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(exporter->write(trace, stream, &err), 0);
    fclose(stream);
    assert_string_equal(out, expected);
    free(out);
}

/* Two steps of two threads; PyTorch's numbers; a start/end range, which is in no stack. */
static struct nvt_trace *make_steps(void)
{
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5);
    uint32_t one = nvt_trace_thread(trace, process, 6), two = nvt_trace_thread(trace, process, 7);
    add_range(trace, one, "ProfilerStep#1", 0, 100);
    add_range(trace, one, "forward", 10, 50);
    add_range(trace, one, "aten::mm, op_id = 1", 20, 30);
    add_range(trace, one, "ProfilerStep#2", 100, 200);
    add_range(trace, one, "forward", 110, 150);
    add_range(trace, one, "aten::mm, op_id = 2", 120, 145);
    add_range(trace, two, "load", 0, 70);
    uint32_t lonely = add_range(trace, two, "transfer", 60, 300);
    trace->ranges.style[lonely] = NVT_START_END;
    add_op(trace, one, "gemm", 25, 40, 90);
    add_op(trace, one, "gemm", 125, 140, 170);
    add_op(trace, one, "[CUDA memset]", 105, 106, 108);
    add_op(trace, two, "[CUDA memcpy Host-to-Device]", 80, 81, 91);
    add_op(trace, two, "late", 400, 401, 405);
    add_op(trace, NVT_NONE, "unknown", INT64_MIN, 500, 501);
    return finished(trace);
}

static void own_times_add_up(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_steps();
    expect_written(trace, &nvt_exporter_folded,
                   "ProfilerStep#* 120\n"
                   "ProfilerStep#*;forward 45\n"
                   "ProfilerStep#*;forward;aten::mm 35\n"
                   "load 70\n");
    /* Across threads, what a thread launches outside of its ranges belongs to the others' that are
     * open: the copy, at 80, to the step. */
    expect_written(trace, &nvt_exporter_folded_device,
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
    add_range(trace, thread, "step", 0, 1000);
    add_range(trace, thread, "load", 100, 500);
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
    finished(trace);
    expect_written(trace, &nvt_exporter_folded,
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
    add_function(trace, thread, functions, "<module>", 0, 100);
    add_range(trace, thread, "step", 10, 90);
    add_function(trace, thread, functions, "train.py(7): f", 20, 80);
    add_range(trace, thread, "forward", 30, 50);
    add_function(trace, thread, functions, "linear.py(1): g", 35, 40);
    add_function(trace, thread, functions, "nn.Module: Linear_0", 82, 86);
    finished(trace);
    expect_written(trace, &nvt_exporter_folded,
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
    add_range(trace, one, "step", 0, 100);
    add_range(trace, one, "backward", 40, 90);
    add_function(trace, two, operators, "MulBackward", 50, 60);
    add_function(trace, two, operators, "aten::mul", 51, 59);
    add_function(trace, two, operators, "MulBackward", 120, 130);
    add_op(trace, two, "mul", 52, 200, 210);
    add_op(trace, two, "mul", 125, 210, 215);
    add_op(trace, two, "fill", 70, 216, 220);
    /* PyTorch's annotation of a collective is in the program's domain, and none of the program's all the same. */
    add_range(trace, two, "nccl:all_reduce", 80, 85);
    add_op(trace, two, "ncclDevKernel", 81, 230, 260);
    finished(trace);
    expect_written(trace, &nvt_exporter_folded_device,
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
        add_range(trace, thread, name, 10 * i, 10 * i + 10);
        snprintf(name, sizeof(name), "%d.fc%d", i, 1 + i % 2);
        add_range(trace, thread, name, 10 * i, 10 * i + 4);
        snprintf(name, sizeof(name), "gemm_%d", i % 5);
        add_op(trace, thread, name, 10 * i + 1, 1000 + i, 1001 + i);
    }
    finished(trace);
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
    add_range(trace, thread, "a;b\nc\x1b[31m", 0, 10);
    add_range(trace, thread, "", 2, 4);
    finished(trace);
    expect_written(trace, &nvt_exporter_folded, "a,b␊c␛[31m 8\na,b␊c␛[31m;(no name) 2\n");
    nvt_trace_free(trace);
    enum { DEEP = 20000 };
    trace = nvt_trace_new("x", "test");
    process = nvt_trace_process(trace, 5);
    thread = nvt_trace_thread(trace, process, 6);
    for (int i = 0; i < DEEP; i++)
        add_range(trace, thread, i % 2 ? "odd" : "even", i, 2 * DEEP - i);
    finished(trace);
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
    add_range(trace, one, "step", 0, 100);
    add_range(trace, one, "forward", 10, 50);
    add_range(trace, one, "backward", 50, 100);
    add_function(trace, two, nvt_trace_domain(trace, process, "cpu_op"), "aten::mm", 60, 70);
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
    return finished(trace);
}

static void memory_at_its_peak(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_memory();
    expect_written(trace, &nvt_exporter_folded_memory,
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
    expect_written(finished(trace), &nvt_exporter_folded_memory,
                   "device 3, PID 5 9223372036854775807\n"
                   "device 0, PID 5;" NVT_STACKS_BEFORE " 10000\n"
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
        add_range(trace, thread, "step", 10, 100);
        add_memory(trace, thread, 0, 10, 0x10, 500, says ? 500 : -1);
        trace->memory.is_earlier[0] = 1;
        add_memory(trace, thread, 0, 20, 0x20, 100, says ? 600 : -1);
        add_memory(trace, thread, 0, 30, 0x10, -500, says ? 100 : -1);
        finished(trace);
        expect_written(trace, &nvt_exporter_folded_memory,
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
    add_range(trace, thread, "step", 0, 100);
    for (int i = 0; i < 3; i++)
        add_memory(trace, thread, 0, 10 + i, 0, 1000, -1);
    add_memory(trace, thread, 0, 50, 0, -1000, -1);
    expect_written(finished(trace), &nvt_exporter_folded_memory,
                   "device 0;" NVT_STACKS_NAMELESS " 3000\n");
    nvt_trace_free(trace);
    /* One that lacks it is no reason to know nothing of the others. */
    trace = nvt_trace_new("x", "test");
    thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6);
    add_memory(trace, thread, 0, 5, 0, -10, 700);
    add_memory(trace, thread, 0, 10, 0x10, 1000, 1700);
    expect_written(finished(trace), &nvt_exporter_folded_memory,
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
    add_range(maker.trace, 0, "step", 0, 50);
    add_range(maker.trace, 0, "forward", 10, 50);
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
    expect_written(trace, &nvt_exporter_folded_cpu,
                   "step;forward;" GEMM " 600\n"
                   "step;forward;" PYTHON ";memcpy 50\n"
                   "step;forward;[unknown] 3\n"
                   "step;" PYTHON " 100\n" NVT_STACKS_NOWHERE ";" GEMM " 200\n" NVT_STACKS_NOWHERE
                   ";clone3;spin 70\n" NVT_STACKS_NOWHERE ";" NVT_STACKS_STACKLESS ";spin 7\n");
    nvt_trace_free(trace);
    trace = make_samples(0);
    expect_written(trace, &nvt_exporter_folded_cpu,
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
    expect_written(trace, &nvt_exporter_folded_cpu,
                   "step;forward;[libcore.so] 600\n"
                   "step;forward;memcpy 50\n"
                   "step;forward;[unknown] 3\n"
                   "step;" MM " 100\n" NVT_STACKS_NOWHERE ";[libcore.so] 200\n" NVT_STACKS_NOWHERE
                   ";spin 77\n");
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

/* The data of a chart of a trace, which is freed; NULL: it draws none. */
static char *drawn(struct nvt_trace *trace, const struct nvt_chart *chart, const char *name)
{
    char *directory = cli_tempdir(), *paths = NULL;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    size_t size;
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    if (chart->draw(&request, &err))
        fail_msg("%s", err.message);
    fclose(out);
    char *data = cli_read_file(cli_in(directory, name), NULL);
    free(paths);
    nvt_trace_free(trace);
    cli_tempdir_remove(directory);
    return data;
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
    add_range(trace, thread, "step", 0, 100000);
    add_range(trace, thread, "wide", 0, 60000);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "narrow %c%c%c", 97 + i % 10, 97 + i / 10 % 10, 97 + i / 100);
        add_range(trace, thread, name, 60000 + 20 * i, 60000 + 20 * i + 20);
    }
    char *data = drawn(finished(trace), &nvt_chart_flame, "x-flame-host.dat");
    assert_non_null(strstr(data, "\n0\t100\t0\tstep 100 %\n"));
    assert_non_null(strstr(data, "\n0\t60\t1\twide 60 %\n"));
    assert_non_null(strstr(data, "\n60\t80\t1\t\n"));
    assert_null(strstr(data, "narrow"));
    free(data);
    trace = nvt_trace_new("x", "test");
    process = nvt_trace_process(trace, 5);
    thread = nvt_trace_thread(trace, process, 6);
    for (int i = 0; i < 30; i++)
        add_range(trace, thread, "level", i, 10000 - i);
    data = drawn(finished(trace), &nvt_chart_flame, "x-flame-host.dat");
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
    add_range(trace, thread, "step", 0, 2000);
    add_range(trace, thread, "encoder.layers (ModuleList)", 0, 500);
    add_range(trace, thread, "encoder.layers.attention", 0, 200);
    add_range(trace, thread, "encoder.layersize", 200, 400);
    char *data = drawn(finished(trace), &nvt_chart_flame, "x-flame-host.dat");
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
    add_range(trace, thread, "a", 0, 10);
    add_range(trace, thread, "b", 10, 20);
    add_op(trace, NVT_NONE, "kernel", INT64_MIN, 3, 9);
    finished(trace);
    assert_null(drawn(trace, &nvt_chart_flame, "x-flame-host.dat"));
    trace = nvt_trace_new("x", "test");
    process = nvt_trace_process(trace, 5);
    thread = nvt_trace_thread(trace, process, 6);
    add_range(trace, thread, "'; system('touch pwned'); `touch pwned` \\n %s \"", 0, 1000);
    add_range(trace, thread, "\ttab\nline", 0, 1000);
    char *data = drawn(finished(trace), &nvt_chart_flame, "x-flame-host.dat");
    assert_null(strchr(data, '\''));
    assert_null(strchr(data, '\\'));
    assert_non_null(strstr(data, "\t1\t tab line"));
    assert_int_not_equal(access("pwned", F_OK), 0);
    free(data);
}

/* What cannot be told is said, and not drawn: it would leave no room. */
static void memory_is_drawn(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *data = drawn(make_memory(), &nvt_chart_memory_at_peak, "x-memory-at-peak.dat");
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
    char *data = drawn(make_samples(1), &nvt_chart_cpu, "made_up-cpu.dat");
    assert_non_null(strstr(data, "# from_µs\tto_µs"));
    assert_non_null(strstr(data, "\tstep 73.1 %\n"));
    assert_non_null(strstr(data, "\ttrain (train.py) 63.1 %\n"));
    assert_non_null(strstr(data, "\tmm 63.1 %\n"));
    assert_null(strstr(data, "Tensor"));
    assert_null(strstr(data, "_start"));
    free(data);
    data = drawn(make_samples(0), &nvt_chart_cpu, "made_up-cpu.dat");
    assert_non_null(strstr(data, "# from_samples\tto_samples"));
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
        cmocka_unit_test(memory_at_its_peak),
        cmocka_unit_test(peaks_of_strangers),
        cmocka_unit_test(memory_from_before_a_window),
        cmocka_unit_test(memory_without_addresses),
        cmocka_unit_test(what_is_too_narrow_is_one_box),
        cmocka_unit_test(names_go_on_from_those_around_them),
        cmocka_unit_test(what_lies_in_nothing_is_not_drawn),
        cmocka_unit_test(memory_is_drawn),
        cmocka_unit_test(samples_stand_below_their_ranges),
        cmocka_unit_test(what_says_little_is_left_out),
        cmocka_unit_test(samples_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
