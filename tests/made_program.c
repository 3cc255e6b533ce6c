#include "made_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../analyze/device/machine_load.h"
#include "../analyze/model/cuda_names.h"
#include "../analyze/model/refusals.h"
#include "../analyze/reports/report.h"
#include "../lib/topdown.h"

/* A question's call returns 1 us behind it. */
static void copy(struct maker *maker, const struct program *program, int is_question)
{
    uint8_t host = program->pageable ? NVT_KIND_PAGEABLE : NVT_KIND_PINNED;
    int64_t launched = maker->now, free = maker->device;
    int64_t begins = launched + 5000 > free ? launched + 5000 : free;
    make_call(maker, "cudaMemcpyAsync",
              is_question ? begins + program->copy_ns + 1000 - launched : 3000);
    struct nvt_op row = make_op(
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

/* Over all of the trace, which has so many iterations. */
static void sample_resident(struct maker *maker, const struct program *program, int iterations)
{
    for (int i = 0; i <= MADE_SAMPLES; i++) {
        double grown = (double)iterations * i / MADE_SAMPLES;
        if (program->resident_until && grown > program->resident_until)
            grown = program->resident_until;
        make_resident(maker, maker->now * i / MADE_SAMPLES,
                      500 * 1048576.0 + grown * program->resident_bytes);
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
    enum { MADE_SAMPLES_EACH = 4 };
    if (!program->busy)
        return;
    if (!maker->trace->call_frames.count)
        make_function(maker, 0, program->busy, "/lib/libc.so.6");
    for (int i = 0; i < MADE_SAMPLES_EACH; i++) {
        maker->now += program->busy_ns / MADE_SAMPLES_EACH;
        make_sample(maker, maker->thread, maker->now, program->busy_ns / MADE_SAMPLES_EACH, 1);
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

/* What makes the i-th iteration longer than others. */
static void be_slow(struct maker *maker, const struct program *program, int i)
{
    if (program->slow_every && i && i % program->slow_every == 0) {
        maker->now += program->slow_ns;
        if (program->slow_range)
            make_range(maker, program->slow_range, maker->now - program->slow_ns);
    }
    if (i < program->slow_until)
        maker->now += program->slow_ns;
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
        be_slow(&maker, program, i);
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
