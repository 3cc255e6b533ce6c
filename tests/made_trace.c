#include "made_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/machine_load.h"
#include "../analyze/reports/report.h"
#include "../lib/render.h"

struct maker make_begin(void)
{
    struct maker maker = {.trace = nvt_trace_new("made up", "nvt"), .now = 1000, .launch_ns = 4000};
    maker.process = nvt_trace_process(maker.trace, 1);
    maker.thread = nvt_trace_thread(maker.trace, maker.process, 1);
    return maker;
}

void make_process(struct maker *maker, int64_t pid, uint32_t device)
{
    maker->process = nvt_trace_process(maker->trace, pid);
    maker->thread = nvt_trace_thread(maker->trace, maker->process, pid);
    maker->now = 1000;
    maker->device = 0;
    maker->number = device;
}

void make_range(struct maker *maker, const char *name, int64_t start)
{
    struct nvt_range row = {.start = start,
                            .end = maker->now,
                            .thread = maker->thread,
                            .end_thread = maker->thread,
                            .domain = maker->domain,
                            .name = nvt_strings_add_text(maker->trace->strings, name)};
    assert_int_not_equal(nvt_range_add(maker->trace, &row), NVT_NONE);
}

void make_call(struct maker *maker, const char *name, int64_t ns)
{
    struct nvt_api row = {.start = maker->now,
                          .end = maker->now + ns,
                          .thread = maker->thread,
                          .correlation = ++maker->correlation,
                          .name = nvt_strings_add_text(maker->trace->strings, name)};
    assert_int_not_equal(nvt_api_add(maker->trace, &row), NVT_NONE);
    maker->now += ns;
}

void make_os_call(struct maker *maker, const char *name, uint32_t thread, int64_t start,
                  int64_t end)
{
    make_os_call_row(maker, name, NULL,
                     (struct nvt_os_call){.start = start, .end = end, .thread = thread});
}

void make_os_call_row(struct maker *maker, const char *name, const char *file,
                      struct nvt_os_call row)
{
    row.name = nvt_strings_add_text(maker->trace->strings, name);
    row.file = file ? nvt_strings_add_text(maker->trace->strings, file) : 0;
    assert_int_not_equal(nvt_os_call_add(maker->trace, &row), NVT_NONE);
}

uint32_t make_function(struct maker *maker, uint32_t caller, const char *name, const char *module)
{
    struct nvt_call_frame row = {
        .parent = caller,
        .name = nvt_strings_add_text(maker->trace->strings, name),
        .module = module ? nvt_strings_add_text(maker->trace->strings, module) : 0};
    uint32_t function = nvt_call_frame_add(maker->trace, &row);
    assert_int_not_equal(function, NVT_NONE);
    return function + 1;
}

void make_sample(struct maker *maker, uint32_t thread, int64_t time, int64_t cpu_ns,
                 uint32_t function)
{
    struct nvt_cpu_sample row = {
        .time = time, .thread = thread, .cpu_ns = cpu_ns, .frame = function};
    assert_int_not_equal(nvt_cpu_sample_add(maker->trace, &row), NVT_NONE);
}

struct nvt_op make_op(struct maker *maker, const char *name, int64_t launched, int64_t ns)
{
    int64_t start = launched + 5000 > maker->device ? launched + 5000 : maker->device;
    struct nvt_op row = {.start = start,
                         .end = start + ns,
                         .process = maker->process,
                         .device = maker->number,
                         .correlation = maker->correlation,
                         .name = nvt_strings_add_text(maker->trace->strings, name),
                         .launch = INT64_MIN,
                         .kind = NVT_OP_KERNEL,
                         .detail = NVT_NONE};
    row.short_name = row.name;
    maker->device = row.end;
    return row;
}

void make_launch(struct maker *maker, const char *name, int64_t ns)
{
    int64_t launched = maker->now;
    make_call(maker, "cudaLaunchKernel", maker->launch_ns);
    struct nvt_op row = make_op(maker, name, launched, ns);
    assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
}

void make_device(struct maker *maker, uint32_t multiprocessors)
{
    const struct nvt_device row = {.process = maker->process,
                                   .device = maker->number,
                                   .multiprocessors = multiprocessors,
                                   .capability = 90};
    assert_int_not_equal(nvt_device_add(maker->trace, &row), NVT_NONE);
}

void make_grid(struct maker *maker, uint32_t blocks)
{
    const struct nvt_kernel row = {
        .grid_x = blocks, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1};
    uint32_t detail = nvt_kernel_add(maker->trace, &row);
    assert_int_not_equal(detail, NVT_NONE);
    maker->trace->ops.detail[maker->trace->ops.count - 1] = detail;
}

void make_wait(struct maker *maker)
{
    int64_t until = maker->device > maker->now ? maker->device - maker->now : 0;
    make_call(maker, "cudaStreamSynchronize", until + 1000);
}

char *make_report(const char *name, struct nvt_trace *const *traces, size_t count, char **note)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace inputs[4] = {{.trace = NULL}};
    struct nvt_input input = {.traces = inputs, .trace_count = count};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    for (size_t i = 0; i < count; i++)
        inputs[i] = (struct nvt_input_trace){.trace = traces[i]};
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    assert_int_equal(input.notes.size != 0, note != NULL);
    if (note)
        *note = strndup((const char *)input.notes.data, input.notes.size);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    return out;
}

struct nvt_trace *make_end(struct maker *maker)
{
    assert_int_equal(nvt_trace_finish(maker->trace, NULL), 0);
    return maker->trace;
}

static void make_reduction(struct maker *maker, const char *name, uint32_t ranks, int64_t ns)
{
    const struct nvt_mpi_call call = {.start = maker->now,
                                      .end = maker->now + ns,
                                      .thread = maker->thread,
                                      .name = nvt_strings_add_text(maker->trace->strings, name),
                                      .communicator = ranks ? 7 : 0,
                                      .ranks = ranks,
                                      .sent = 8000,
                                      .received = 8000,
                                      .peer = NVT_MPI_NONE,
                                      .tag = NVT_MPI_NONE,
                                      .kind = NVT_MPI_COLLECTIVE};
    assert_int_not_equal(nvt_mpi_call_add(maker->trace, &call), NVT_NONE);
    maker->now += ns;
}

void make_mpi_call(struct maker *maker, int64_t ns)
{
    make_reduction(maker, "MPI_Allreduce", 0, ns);
}

void make_all_reduce(struct maker *maker, uint32_t ranks, int64_t ns)
{
    make_reduction(maker, "all_reduce", ranks, ns);
}

/* --- the machine beside it --- */

static uint32_t counter_of(struct maker *maker, const struct nvt_machine_quantity *quantity,
                           const char *domain, uint32_t gpu)
{
    struct nvt_counter row = {.process = maker->process,
                              .domain = nvt_trace_domain(maker->trace, maker->process, domain),
                              .name = nvt_strings_add_text(maker->trace->strings, quantity->name),
                              .unit = nvt_strings_add_text(maker->trace->strings, quantity->unit),
                              .values = NVT_COUNTER_ABSOLUTE,
                              .is_of_machine = 1,
                              .gpu = gpu};
    return nvt_counter_add(maker->trace, &row);
}

void make_resident(struct maker *maker, int64_t time, double bytes)
{
    struct nvt_trace *trace = maker->trace;
    struct nvt_counter_sample row = {
        .time = time,
        .counter = nvt_process_counter(trace, maker->process, NVT_MACHINE_RESIDENT),
        .thread = maker->thread,
        .value = bytes};
    if (row.counter == NVT_NONE) {
        row.counter = counter_of(maker, nvt_machine_process_quantity(NVT_MACHINE_RESIDENT),
                                 NVT_MACHINE_PROCESS, 0);
        trace->counters.is_of_machine[row.counter] = 0;
        trace->counters.is_of_process[row.counter] = 1;
    }
    assert_int_not_equal(nvt_counter_sample_add(trace, &row), NVT_NONE);
}

/* Over all of the trace; `share`: % of the samples that have the value, the others 0. */
static void sample(struct maker *maker, uint32_t counter, double value, int share)
{
    for (int i = 0; i <= MADE_SAMPLES; i++) {
        struct nvt_counter_sample row = {.time = maker->now * i / MADE_SAMPLES,
                                         .counter = counter,
                                         .thread = maker->thread,
                                         .value = i * 37 % 100 < share ? value : 0};
        nvt_counter_sample_add(maker->trace, &row);
    }
}

void make_host_samples(struct maker *maker, int id, double value)
{
    sample(maker,
           counter_of(maker, nvt_machine_host_quantity((enum nvt_machine_host)id), NVT_MACHINE_HOST,
                      0),
           value, 100);
}

void make_gpu_samples(struct maker *maker, uint32_t gpu, int id, double value, int share)
{
    sample(maker,
           counter_of(maker, nvt_machine_gpu_quantity((enum nvt_machine_gpu)id), "GPU 0", gpu),
           value, share);
}

void make_metric(struct maker *maker, const char *name, double value, int share)
{
    enum { INTERVAL = 10000 };
    const struct nvt_machine_quantity quantity = {name, "Throughput %", ""};
    const uint32_t counter = counter_of(maker, &quantity, "GPU 0", 0);
    for (int64_t i = 0; i * INTERVAL <= maker->now + INTERVAL; i++) {
        const struct nvt_counter_sample row = {.time = i * INTERVAL,
                                               .counter = counter,
                                               .thread = maker->thread,
                                               .value = i * 37 % 100 < share ? value : 0};
        nvt_counter_sample_add(maker->trace, &row);
    }
}

void make_pause(struct maker *maker, int64_t ns)
{
    struct nvt_parts *parts = &maker->trace->parts;
    const struct nvt_part first = {.start = 0}, next = {.start = maker->now + ns};
    if (!parts->count)
        assert_int_not_equal(nvt_part_add(maker->trace, &first), NVT_NONE);
    parts->end[parts->count - 1] = maker->now;
    if (ns < 0)
        return;
    maker->now += ns;
    assert_int_not_equal(nvt_part_add(maker->trace, &next), NVT_NONE);
    parts->end[parts->count - 1] = INT64_MAX / 4;
}
