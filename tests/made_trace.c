#include "made_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/machine_load.h"
#include "../analyze/model/refusals.h"
#include "../analyze/model/cuda_names.h"
#include "../analyze/reports/report.h"
#include "../lib/render.h"
#include "../lib/topdown.h"

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

static struct nvt_op next_op(struct maker *maker, const char *name, int64_t launched, int64_t ns)
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
    struct nvt_op row = next_op(maker, name, launched, ns);
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

/* A question's call returns 1 us behind it. */
static void copy(struct maker *maker, const struct program *program, int is_question)
{
    uint8_t host = program->pageable ? NVT_KIND_PAGEABLE : NVT_KIND_PINNED;
    int64_t launched = maker->now, free = maker->device;
    int64_t begins = launched + 5000 > free ? launched + 5000 : free;
    make_call(maker, "cudaMemcpyAsync",
              is_question ? begins + program->copy_ns + 1000 - launched : 3000);
    struct nvt_op row = next_op(
        maker, is_question ? "[CUDA memcpy Device-to-Host]" : "[CUDA memcpy Host-to-Device]",
        launched, program->copy_ns);
    row.kind = NVT_OP_MEMCPY;
    row.copy_kind = is_question ? NVT_COPY_DTOH : NVT_COPY_HTOD;
    row.source_kind = is_question ? NVT_KIND_DEVICE : host;
    row.target_kind = is_question ? host : NVT_KIND_DEVICE;
    row.bytes = program->copy_bytes;
    if (program->managed && !is_question)
        row.copy_kind = NVT_COPY_UNIFIED_HTOD;
    assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
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

static void count_leak(struct maker *maker, const struct program *program, int iteration)
{
    struct nvt_trace *trace = maker->trace;
    if (!trace->counters.count) {
        const struct nvt_counter counter = {
            .process = maker->process,
            .name = nvt_strings_add_text(trace->strings, program->leak_counter),
            .unit = nvt_strings_add_text(trace->strings, "bytes")};
        assert_int_not_equal(nvt_counter_add(trace, &counter), NVT_NONE);
    }
    const struct nvt_counter_sample sample = {.time = maker->now,
                                              .thread = maker->thread,
                                              .value = (double)program->leak_bytes * iteration};
    assert_int_not_equal(nvt_counter_sample_add(trace, &sample), NVT_NONE);
}

static void leak(struct maker *maker, const struct program *program, int iteration)
{
    int frees = program->leak_freed_every && iteration % program->leak_freed_every == 1;
    struct nvt_memory_event row = {
        .time = maker->now,
        .process = maker->process,
        .thread = maker->thread,
        .address = (uint64_t)(frees ? iteration : iteration + 1) << 20,
        .bytes = program->leak_bytes,
        .allocated =
            program->held_bytes ? program->leak_bytes * ((uint64_t)iteration + 1) : UINT64_MAX,
        .reserved = program->held_bytes ? program->held_bytes : UINT64_MAX,
        .kind = frees ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC};
    if (program->leak_counter)
        count_leak(maker, program, iteration);
    else if (program->leak_bytes && (!program->leak_until || iteration < program->leak_until))
        assert_int_not_equal(nvt_memory_event_add(maker->trace, &row), NVT_NONE);
}

static void refuse(struct maker *maker, const struct program *program)
{
    const struct nvt_refusal refusal = {
        .time = maker->now, .bytes = program->refused_bytes, .free = UINT64_MAX};
    if (program->refused_bytes)
        assert_int_equal(nvt_refusal_add(maker->trace, maker->thread, &refusal), 0);
    if (program->malloc_result) {
        make_call(maker, "cudaMalloc_v3020", 2000);
        maker->trace->apis.result[maker->trace->apis.count - 1] = program->malloc_result;
    }
}

/* 90 to 110 % of it, by a linear congruential generator. */
static int64_t vary(int64_t ns, unsigned *seed)
{
    if (!*seed)
        return ns;
    *seed = *seed * 1664525u + 1013904223u;
    return ns * (900 + (int64_t)(*seed >> 16) % 201) / 1000;
}

/* Faults of the kernels from `first` on; pages come and go. */
static void fault(struct maker *maker, const struct program *program, uint32_t first)
{
    const struct nvt_ops *ops = &maker->trace->ops;
    int64_t late = maker->device + 1000;
    for (uint32_t i = 0; i < (uint32_t)program->faults; i++) {
        int64_t start = program->fault_late ? late + 100 * i : ops->start[first + i];
        const struct nvt_um_event event = {.start = start,
                                           .end = start + program->fault_ns,
                                           .process = maker->process,
                                           .device = maker->number,
                                           .target = NVT_NONE,
                                           .address = 0x1000,
                                           .faults = 7,
                                           .kind = NVT_UM_GPU_FAULT};
        assert_int_not_equal(nvt_um_event_add(maker->trace, &event), NVT_NONE);
    }
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

static void work(struct maker *maker, const struct program *program, unsigned *seed)
{
    uint32_t first = maker->thread;
    for (int i = 0; i < program->allocations; i++)
        make_call(maker, program->allocation ? program->allocation : "cudaMalloc",
                  program->allocation_ns);
    for (int i = 0; i < program->copies; i++)
        copy(maker, program, 0);
    if (program->stall_ns)
        maker->device = maker->now + program->stall_ns;
    for (int i = 0; i < program->kernels; i++) {
        maker->thread = i >= program->kernels - program->backward
                            ? nvt_trace_thread(maker->trace, maker->process, 2)
                            : first;
        if (program->cold_ns && !maker->trace->ops.count)
            maker->launch_ns = program->cold_ns;
        make_launch(maker, "gemm", vary(program->kernel_ns, seed));
        maker->launch_ns = program->launch_ns ? program->launch_ns : 6000;
        if (program->blocks)
            make_grid(maker, program->blocks);
        if (program->wait_every && i % program->wait_every == program->wait_every - 1)
            make_wait(maker);
    }
    if (program->faults)
        fault(maker, program, maker->trace->ops.count - (uint32_t)program->kernels);
    maker->thread = first;
    for (int i = 0; i < program->questions; i++)
        copy(maker, program, 1);
    if (program->communication_ns)
        make_launch(maker, "ncclDevKernel_AllReduce", vary(program->communication_ns, seed));
    if (!program->no_wait)
        make_wait(maker);
    if (program->tail_ns)
        make_launch(maker, "tail", program->tail_ns);
    if (program->mpi_ns)
        make_mpi_call(maker, program->mpi_ns);
}

/* --- the machine beside it --- */

#define SAMPLES 128

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

/* Over all of the trace, which has so many iterations. */
static void sample_resident(struct maker *maker, const struct program *program, int iterations)
{
    for (int i = 0; i <= SAMPLES; i++) {
        double grown = (double)iterations * i / SAMPLES;
        if (program->resident_until && grown > program->resident_until)
            grown = program->resident_until;
        make_resident(maker, maker->now * i / SAMPLES,
                      500 * 1048576.0 + grown * program->resident_bytes);
    }
}

/* Over all of the trace; `share`: % of the samples that have the value, the others 0. */
static void sample(struct maker *maker, uint32_t counter, double value, int share)
{
    for (int i = 0; i <= SAMPLES; i++) {
        struct nvt_counter_sample row = {.time = maker->now * i / SAMPLES,
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

static void sample_metrics(struct maker *maker, const struct program *program)
{
    const int share = program->metric_share ? program->metric_share : 100;
    if (program->dram > 0) {
        make_metric(maker, "DRAM Read Bandwidth", program->dram - 10, share);
        make_metric(maker, "DRAM Write Bandwidth", 10, share);
    }
    if (program->tensor > 0)
        make_metric(maker, "Tensor Active", program->tensor, share);
    if (program->pcie > 0) {
        make_metric(maker, "PCIe RX Throughput", program->pcie, share);
        make_metric(maker, "PCIe TX Throughput", 1, share);
        make_metric(maker, "SMs Active", program->sm_active, share);
    }
}

static void sample_machine(struct maker *maker, const struct program *program)
{
    uint32_t gpu = nvt_strings_add_text(maker->trace->strings, "GPU-1");
    struct nvt_device device = {.process = maker->process, .device = maker->number, .gpu = gpu};
    if (program->ready > 0) {
        make_host_samples(maker, NVT_MACHINE_PROCESSORS, 2);
        make_host_samples(maker, NVT_MACHINE_RUNNABLE, program->ready);
        make_host_samples(maker, NVT_MACHINE_BUSY, program->at_work);
    }
    if (program->taken > 0)
        make_host_samples(maker, NVT_MACHINE_STOLEN, program->taken);
    if (!(program->clock_mhz > 0))
        return;
    nvt_device_add(maker->trace, &device);
    make_gpu_samples(maker, gpu, NVT_MACHINE_SM_CLOCK, program->clock_mhz, 100);
    make_gpu_samples(maker, gpu, NVT_MACHINE_SM_CLOCK_MOST, 2000, 100);
    make_gpu_samples(maker, gpu, NVT_MACHINE_BY_POWER, 1, program->limited);
    make_gpu_samples(maker, gpu, NVT_MACHINE_BY_HEAT, 1, program->limited / 2);
}

/* The other thread is known by what it waits in: until the next iteration, which begins with this. */
static void work_in_a_team(struct maker *maker, const struct program *program, int64_t *waits_since)
{
    uint32_t other;
    if (!program->team_ns)
        return;
    other = nvt_trace_thread(maker->trace, maker->process, 9);
    if (*waits_since)
        make_os_call(maker, "pthread_cond_wait", other, *waits_since, maker->now);
    maker->now += program->team_ns;
    make_os_call(maker, "pthread_barrier_wait", maker->thread, maker->now - 1000, maker->now);
    *waits_since = maker->now;
}

static void be_busy(struct maker *maker, const struct program *program)
{
    enum { SAMPLES_EACH = 4 };
    if (!program->busy)
        return;
    if (!maker->trace->call_frames.count)
        make_function(maker, 0, program->busy, "/lib/libc.so.6");
    for (int i = 0; i < SAMPLES_EACH; i++) {
        maker->now += program->busy_ns / SAMPLES_EACH;
        make_sample(maker, maker->thread, maker->now, program->busy_ns / SAMPLES_EACH, 1);
    }
}

/* As PyTorch's profiler has them. */
static void operate(struct maker *maker, const struct program *program)
{
    const uint32_t domain = maker->domain;
    if (!program->operator_ns)
        return;
    maker->domain = nvt_trace_domain(maker->trace, maker->process, "cpu_op");
    for (int i = 0; i < 2; i++) {
        maker->now += program->operator_ns;
        make_range(maker, i && program->second_operator ? program->second_operator : "aten::mm",
                   maker->now - program->operator_ns);
        maker->now += i ? 0 : program->pause_ns;
    }
    maker->domain = domain;
}

static void step(struct maker *maker, const struct program *program)
{
    if (!program->after_ns)
        return;
    maker->now += 1000;
    make_range(maker, "optimizer", maker->now - 1000);
    maker->now += program->after_ns;
}

static void crowd(struct maker *maker, const struct program *program)
{
    if (program->crowd && !maker->trace->call_frames.count)
        make_function(maker, 0, "gemm", "/x/libtorch_cpu.so");
    for (int i = 0; i < program->crowd; i++)
        make_sample(maker, nvt_trace_thread(maker->trace, maker->process, 20 + i), maker->now,
                    2000000, 1);
}

static void count(struct maker *maker, const struct program *program, int64_t start)
{
    struct nvt_range_count row = program->counts;
    const struct nvt_event_cost cost = {maker->process, 500000, NVT_COST_FAULT};
    if (!row.cpu_ns)
        return;
    if (!maker->trace->event_costs.count)
        nvt_event_cost_add(maker->trace, &cost);
    if (program->topdown)
        nvt_trace_set_meta(maker->trace, NVT_FACT_TOPDOWN, program->topdown);
    row.start = start;
    row.end = maker->now;
    row.thread = maker->thread;
    assert_int_not_equal(nvt_range_count_add(maker->trace, &row), NVT_NONE);
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

struct nvt_trace *make_program(const struct program *program)
{
    struct maker maker = make_begin();
    unsigned seed = program->jitter;
    int64_t waits_since = 0;
    maker.launch_ns = program->launch_ns ? program->launch_ns : 6000;
    if (program->blocks)
        make_device(&maker, 100);
    if (program->domain)
        maker.domain = nvt_trace_domain(maker.trace, maker.process, program->domain);
    maker.trace->processes.rank[maker.process] =
        program->rank ? (uint32_t)program->rank - 1 : NVT_NONE;
    for (int i = 0; i < (program->iterations ? program->iterations : 32); i++) {
        if (program->second_part && i == program->second_part)
            make_pause(&maker, 1000000000);
        int64_t start = maker.now;
        maker.now += program->data_ns;
        if (program->data_ns)
            make_range(&maker, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                       start);
        work_in_a_team(&maker, program, &waits_since);
        maker.now += vary(program->host_ns, &seed);
        if (program->os_call)
            make_os_call(&maker, program->os_call, maker.thread, maker.now,
                         maker.now + program->os_ns);
        maker.now += program->os_ns;
        be_busy(&maker, program);
        crowd(&maker, program);
        work(&maker, program, &seed);
        operate(&maker, program);
        leak(&maker, program, i);
        if (i < program->unclosed) {
            make_range(&maker, "step", maker.now);
            maker.trace->ranges.flags[maker.trace->ranges.count - 1] = NVT_RANGE_UNCLOSED;
        }
        refuse(&maker, program);
        step(&maker, program);
        if (program->slow_every && i && i % program->slow_every == 0) {
            maker.now += program->slow_ns;
            if (program->slow_range)
                make_range(&maker, program->slow_range, maker.now - program->slow_ns);
        }
        if (i < program->slow_until)
            maker.now += program->slow_ns;
        if (!program->no_ranges)
            make_range(&maker, "iteration", start);
        count(&maker, program, start);
        maker.now += 100;
        if (program->no_wait || program->tail_ns)
            maker.now = maker.device + 1000 > maker.now ? maker.device + 1000 : maker.now;
    }
    if (waits_since)
        make_os_call(&maker, "pthread_cond_wait", nvt_trace_thread(maker.trace, maker.process, 9),
                     waits_since, maker.now);
    if (program->second_part)
        make_pause(&maker, -1);
    sample_machine(&maker, program);
    sample_metrics(&maker, program);
    if (program->resident_bytes > 0)
        sample_resident(&maker, program, program->iterations ? program->iterations : 32);
    return make_end(&maker);
}
