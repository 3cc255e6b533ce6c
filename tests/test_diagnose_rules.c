/*
 * The rules of the diagnosis, one by one: each on a trace that just has its trouble and on ones
 * that just have not, and all of them on traces without any.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/cuda_names.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "random_kit.h"

/* Of 30,000 slots of a core that has 6 in a cycle: of the front end, of the back end, operations dispatched and retired. */
#define SLOTS(time, front, back, dispatched, retired)                                              \
    {                                                                                              \
        .cpu_ns = time, .cycles = 5000, .chosen0 = front, .chosen1 = back, .chosen2 = dispatched,  \
        .chosen3 = retired                                                                         \
    }

static const struct trouble {
    const struct nvt_rule *rule;
    const char *says; /* in `what` */
    struct program has, has_not[3];
} troubles[] = {
    /* Ten kernels of 8 us and five waits; four are what timing three phases takes. */
    {&nvt_rule_sync,
     "after cudaStreamSynchronize",
     {.kernels = 10, .kernel_ns = 8000, .wait_every = 2},
     {{.kernels = 10, .kernel_ns = 8000, .wait_every = 3},
      {.kernels = 10, .kernel_ns = 60000, .wait_every = 2}}},
    /* A copy that waits says so by its end. */
    {&nvt_rule_sync,
     "after cudaMemcpyAsync",
     {.kernels = 2, .kernel_ns = 8000, .questions = 6, .copy_ns = 2000, .copy_bytes = 8},
     {{.kernels = 2, .kernel_ns = 8000, .questions = 3, .copy_ns = 2000, .copy_bytes = 8},
      {.kernels = 2, .kernel_ns = 200000, .questions = 6, .copy_ns = 2000, .copy_bytes = 8}}},
    /* A launch takes 6 us: the device waits 1.5 of them, or 1. */
    {&nvt_rule_launch,
     "waiting for kernel launches",
     {.kernels = 60, .kernel_ns = 4500},
     {{.kernels = 60, .kernel_ns = 5000},
      {.kernels = 60, .kernel_ns = 7000},
      {.kernels = 49, .kernel_ns = 4500, .iterations = 1}}},
    {&nvt_rule_kernels,
     "most of them gemm",
     {.kernels = 20, .kernel_ns = 5900},
     {{.kernels = 19, .kernel_ns = 5900}, {.kernels = 20, .kernel_ns = 6100}}},
    /* Ten of 100 us and a wait: 90 % of the SMs are idle for as good as all of the time, or 49 % for a fifth. */
    {&nvt_rule_grid,
     "gemm runs in 10 blocks on a GPU of 100 SMs",
     {.kernels = 10, .kernel_ns = 100000, .blocks = 10},
     {{.kernels = 10, .kernel_ns = 100000, .blocks = 51},
      {.kernels = 10, .kernel_ns = 19000, .blocks = 10},
      {.kernels = 10, .kernel_ns = 100000, .blocks = 50, .host_ns = 4500000}}},
    /* 100 SMs of compute capability 9.0 hold 16 blocks of 128 threads each: one block more is a wave of its own, for half of the
     * kernel's time. Two whole waves leave nothing idle; of more than three it is no longer known. */
    {&nvt_rule_tail,
     "the last wave of gemm has 1 block, and room for 1600",
     {.kernels = 10, .kernel_ns = 100000, .blocks = 1601},
     {{.kernels = 10, .kernel_ns = 100000, .blocks = 3200},
      {.kernels = 10, .kernel_ns = 100000, .blocks = 4801},
      {.kernels = 10, .kernel_ns = 100000, .blocks = 1601, .host_ns = 5000000}}},
    /* 32 iterations of 1 ms; the calls before the steady half count. */
    {&nvt_rule_cold,
     "first launches, code loading and context creation take 29 % of the time",
     {.kernels = 10, .kernel_ns = 100000, .cold_ns = 13000000},
     {{.kernels = 10, .kernel_ns = 100000, .cold_ns = 9900000},
      {.kernels = 10, .kernel_ns = 400000, .cold_ns = 13000000},
      {.kernels = 10, .kernel_ns = 100000}}},
    {&nvt_rule_idle,
     "while the CPU runs other code in range iteration",
     {.kernels = 10, .kernel_ns = 80000, .host_ns = 120000},
     {{.kernels = 10, .kernel_ns = 120000, .host_ns = 120000},
      {.kernels = 10, .kernel_ns = 40000, .host_ns = 90000}}},
    /* A wait of the host and 100 ns between iterations are the rest of each. */
    {&nvt_rule_input,
     "the loop spends 10 % of its time waiting for the DataLoader",
     {.data_ns = 101000, .host_ns = 900000},
     {{.data_ns = 99000, .host_ns = 900000},
      {.data_ns = 99000, .host_ns = 100000, .kernels = 10, .kernel_ns = 80000}}},
    /* A wait of the host and 100 ns between iterations are the rest of each, too. */
    {&nvt_rule_blocked,
     "the loop spends 15 % of its time reading files in range iteration",
     {.os_call = "read", .os_ns = 151000, .host_ns = 849000},
     {{.os_call = "read", .os_ns = 149000, .host_ns = 851000},
      {.os_call = "read", .os_ns = 151000, .host_ns = 100000, .kernels = 10, .kernel_ns = 80000},
      {.os_call = "pthread_setname_np", .os_ns = 900000, .kernels = 1, .kernel_ns = 8000}}},
    /* 64 samples of 64 are a share of 94 % at least. */
    {&nvt_rule_busy,
     "the loop spends 16 % of its time copying and filling memory in range iteration",
     {.busy = "memmove", .busy_ns = 160000, .host_ns = 840000},
     {{.busy = "memmove", .busy_ns = 158000, .host_ns = 842000},
      {.busy = "memmove", .busy_ns = 160000, .host_ns = 840000, .iterations = 25},
      {.busy = "sqrt", .busy_ns = 390000, .host_ns = 610000}}},
    /* Half of the part of one thread alone could be spared. */
    {&nvt_rule_serial,
     "one of 2 threads works alone 31 % of the time in range iteration",
     {.team_ns = 690000, .host_ns = 309000},
     {{.team_ns = 710000, .host_ns = 289000},
      {.team_ns = 90000, .host_ns = 910000, .kernels = 1, .kernel_ns = 8000},
      {.host_ns = 900000, .kernels = 1, .kernel_ns = 8000}}},
    {&nvt_rule_loading,
     "2.938 times per iteration", /* of each three; the first of them begins before the steady half */
     {.kernels = 3, .kernel_ns = 80000, .launch_ns = 1000000},
     {{.kernels = 3, .kernel_ns = 80000, .launch_ns = 999000},
      {.kernels = 3, .kernel_ns = 11000000, .launch_ns = 1000000}}},
    {&nvt_rule_stalled,
     "although gemm had been launched",
     {.kernels = 10, .kernel_ns = 80000, .stall_ns = 120000},
     {{.kernels = 10, .kernel_ns = 120000, .stall_ns = 120000},
      {.kernels = 10, .kernel_ns = 40000, .stall_ns = 95000},
      {.kernels = 10, .kernel_ns = 40000, .host_ns = 120000}}},
    {&nvt_rule_pageable,
     "pageable memory",
     {.kernels = 10,
      .kernel_ns = 150000,
      .copies = 1,
      .copy_ns = 100000,
      .copy_bytes = 1 << 20,
      .pageable = 1},
     {{.kernels = 10,
       .kernel_ns = 200000,
       .copies = 1,
       .copy_ns = 100000,
       .copy_bytes = 1 << 20,
       .pageable = 1},
      {.kernels = 10, .kernel_ns = 150000, .copies = 1, .copy_ns = 100000, .copy_bytes = 1 << 20},
      {.kernels = 10,
       .kernel_ns = 150000,
       .copies = 1,
       .copy_ns = 100000,
       .copy_bytes = 65535,
       .pageable = 1}}},
    {&nvt_rule_transfers,
     "24 % of GPU time is host-device copies",
     {.kernels = 10, .kernel_ns = 80000, .copies = 1, .copy_ns = 250000, .copy_bytes = 1 << 23},
     {{.kernels = 10, .kernel_ns = 80000, .copies = 1, .copy_ns = 190000, .copy_bytes = 1 << 23}}},
    /* 3 us each: while one is done, the host is in the call of the next. */
    {&nvt_rule_copies,
     "15 copies of 8 bytes",
     {.kernels = 10, .kernel_ns = 80000, .copies = 15, .copy_ns = 2000, .copy_bytes = 8},
     {{.kernels = 10, .kernel_ns = 10000, .copies = 9, .copy_ns = 2000, .copy_bytes = 8},
      {.kernels = 10, .kernel_ns = 80000, .copies = 12, .copy_ns = 2000, .copy_bytes = 8},
      {.kernels = 10, .kernel_ns = 80000, .copies = 15, .copy_ns = 2000, .copy_bytes = 4096}}},
    /* Ten questions of 8 us each; the first waits for the kernels too, which is not its time. */
    {&nvt_rule_copies,
     "10 copies of 8 bytes",
     {.kernels = 10, .kernel_ns = 130000, .questions = 10, .copy_ns = 2000, .copy_bytes = 8},
     {{.kernels = 10, .kernel_ns = 180000, .questions = 10, .copy_ns = 2000, .copy_bytes = 8}}},
    /* A loop of 3 us a launch: ten pages of 20 us, and what else the device does. */
    {&nvt_rule_unified,
     "10 times per iteration, 64 KiB each",
     {.kernels = 10,
      .kernel_ns = 80000,
      .copies = 10,
      .copy_ns = 20000,
      .copy_bytes = 1 << 16,
      .managed = 1},
     {{.kernels = 10,
       .kernel_ns = 80000,
       .copies = 9,
       .copy_ns = 20000,
       .copy_bytes = 1 << 16,
       .managed = 1},
      {.kernels = 10,
       .kernel_ns = 200000,
       .copies = 10,
       .copy_ns = 20000,
       .copy_bytes = 1 << 16,
       .managed = 1},
      {.kernels = 10, .kernel_ns = 80000, .copies = 10, .copy_ns = 20000, .copy_bytes = 1 << 16}}},
    /* Ten faults of 7 in a loop of 1 us a kernel and 81 us with it, the first fault begins where its kernel does. */
    {&nvt_rule_faults,
     "70 faults per iteration, most in gemm",
     {.kernels = 10, .kernel_ns = 80000, .faults = 10, .fault_ns = 8200},
     {{.kernels = 10, .kernel_ns = 80000, .faults = 9, .fault_ns = 20000},
      {.kernels = 10, .kernel_ns = 80000, .faults = 10, .fault_ns = 8000},
      {.kernels = 10, .kernel_ns = 80000, .faults = 10, .fault_ns = 20000, .fault_late = 1}}},
    {&nvt_rule_allocation,
     "1 call per iteration allocates or frees device memory",
     {.kernels = 10, .kernel_ns = 80000, .allocations = 1, .allocation_ns = 50000},
     {{.kernels = 10, .kernel_ns = 80000, .allocations = 1, .allocation_ns = 40000},
      {.kernels = 10,
       .kernel_ns = 80000,
       .allocations = 1,
       .allocation_ns = 50000,
       .allocation = "cudaMallocAsync"}}},
    /* 15 steps in the second half: 70 KiB make more than 1 MiB, 68 less. */
    {&nvt_rule_memory,
     "grows by 70.0 KiB",
     {.kernels = 1, .kernel_ns = 80000, .leak_bytes = 70 << 10},
     {{.kernels = 1, .kernel_ns = 80000, .leak_bytes = 68 << 10},
      {.kernels = 1, .kernel_ns = 80000, .leak_bytes = 4 << 20, .leak_until = 16},
      {.kernels = 1, .kernel_ns = 80000, .leak_bytes = 4 << 20, .leak_freed_every = 2}}},
    {&nvt_rule_memory,
     "the counter pool allocated grows by 70.0 KiB",
     {.kernels = 1, .kernel_ns = 80000, .leak_bytes = 70 << 10, .leak_counter = "pool allocated"},
     {{.kernels = 1, .kernel_ns = 80000, .leak_bytes = 68 << 10, .leak_counter = "pool allocated"},
      {.kernels = 1, .kernel_ns = 80000, .leak_bytes = 70 << 10, .leak_counter = "sent"},
      {.kernels = 1,
       .kernel_ns = 80000,
       .leak_bytes = 70 << 10,
       .leak_counter = "highest allocated"}}},
    /* 30 iterations of 150 ms are looked at: 300 KiB make more than 8 MiB, 260 less. */
    {&nvt_rule_resident,
     "the resident memory of the process grows by 0.29",
     {.host_ns = 150000000, .iterations = 40, .resident_bytes = 300 << 10},
     {{.host_ns = 150000000, .iterations = 40, .resident_bytes = 260 << 10},
      {.host_ns = 290000000, .iterations = 20, .resident_bytes = 3 << 20},
      {.host_ns = 150000000, .iterations = 40, .resident_bytes = 3 << 20, .resident_until = 30}}},
    {&nvt_rule_held,
     "1.00 GiB of device 0's memory is reserved and never used",
     {.kernels = 1,
      .kernel_ns = 80000,
      .leak_bytes = UINT64_C(3) << 30,
      .leak_until = 1,
      .held_bytes = UINT64_C(4) << 30},
     {{.kernels = 1,
       .kernel_ns = 80000,
       .leak_bytes = (UINT64_C(3) << 30) + 1,
       .leak_until = 1,
       .held_bytes = UINT64_C(4) << 30},
      {.kernels = 1,
       .kernel_ns = 80000,
       .leak_bytes = UINT64_C(4) << 30,
       .leak_until = 1,
       .held_bytes = UINT64_C(5) << 30},
      {.kernels = 1, .kernel_ns = 80000, .leak_bytes = UINT64_C(3) << 30, .leak_until = 1}}},
    {&nvt_rule_refused,
     "failed to allocate up to 1.00 GiB of device 0's memory, 32 times",
     {.kernels = 1, .kernel_ns = 80000, .leak_bytes = 1 << 20, .refused_bytes = 1 << 30},
     {{.kernels = 1, .kernel_ns = 80000, .leak_bytes = 1 << 20}}},
    /* 719 is a failed launch. */
    {&nvt_rule_refused,
     "cudaMalloc failed, 32 times",
     {.kernels = 1, .kernel_ns = 80000, .malloc_result = 2},
     {{.kernels = 1, .kernel_ns = 80000, .malloc_result = 719}}},
    {&nvt_rule_communication,
     "most of it in ncclDevKernel_AllReduce",
     {.kernels = 10, .kernel_ns = 80000, .communication_ns = 95000},
     {{.kernels = 10, .kernel_ns = 80000, .communication_ns = 85000},
      {.kernels = 10, .kernel_ns = 80000, .communication_ns = 95000, .iterations = 4}}},
    {&nvt_rule_mpi,
     "11 % of the time is spent in MPI, most of it in MPI_Allreduce",
     {.kernels = 10, .kernel_ns = 80000, .mpi_ns = 95000},
     {{.kernels = 10, .kernel_ns = 80000, .mpi_ns = 85000}}},
    /* A wait of the host and 100 ns between iterations are the rest. */
    {&nvt_rule_outside,
     "16 % of the time passes in no operator, between aten::mm and aten::mm",
     {.operator_ns = 421000, .pause_ns = 156000, .no_wait = 1},
     {{.operator_ns = 430000, .pause_ns = 140000, .no_wait = 1},
      {.operator_ns = 100000, .pause_ns = 90000, .kernels = 1, .kernel_ns = 8000}}},
    {&nvt_rule_operator,
     "of the time is spent in aten::sort itself",
     {.operator_ns = 450000, .second_operator = "aten::sort", .pause_ns = 50000, .no_wait = 1},
     {{.operator_ns = 350000, .second_operator = "aten::sort", .pause_ns = 300000, .no_wait = 1},
      {.operator_ns = 450000, .second_operator = "aten::addmm", .no_wait = 1}}},
    /* Behind the step; of 14 iterations too few are looked at. */
    {&nvt_rule_between,
     "the loop spends 16 % of its time between the optimizer's step and the next iteration",
     {.kernels = 10, .kernel_ns = 80000, .after_ns = 160000},
     {{.kernels = 10, .kernel_ns = 80000, .after_ns = 130000},
      {.kernels = 10, .kernel_ns = 80000, .after_ns = 160000, .iterations = 14}}},
    /* Too little; what training consists of, as where gradients are accumulated; and not as often as it would be. */
    /* The first part's take 10.1 % longer than the second's 1 ms, or 9.9 %; or too few of them. */
    {&nvt_rule_parts,
     "iterations take 1.10 ms in part 1 of the recording, 1.1 times as long as in part 2",
     {.host_ns = 1000000, .slow_ns = 101000, .slow_until = 16, .second_part = 16},
     {{.host_ns = 1000000, .slow_ns = 99000, .slow_until = 16, .second_part = 16},
      {.kernels = 1,
       .kernel_ns = 8000,
       .host_ns = 1000000,
       .slow_ns = 900000,
       .slow_until = 4,
       .second_part = 4},
      {.kernels = 1, .kernel_ns = 8000, .host_ns = 1000000, .slow_ns = 900000, .slow_until = 16}}},
    {&nvt_rule_periodic,
     "every 10 iterations, an evaluation takes 450",
     {.kernels = 10,
      .kernel_ns = 80000,
      .slow_every = 10,
      .slow_ns = 450000,
      .slow_range = "evaluate"},
     {{.kernels = 10,
       .kernel_ns = 80000,
       .slow_every = 10,
       .slow_ns = 330000,
       .slow_range = "evaluate"},
      {.kernels = 10,
       .kernel_ns = 80000,
       .slow_every = 10,
       .slow_ns = 450000,
       .slow_range = "optimizer step"},
      {.kernels = 10,
       .kernel_ns = 80000,
       .slow_every = 14,
       .slow_ns = 900000,
       .slow_range = "evaluate"}}},
    {&nvt_rule_iterations,
     "3 of 24 iterations take far longer, every 10 iterations",
     {.kernels = 10, .kernel_ns = 80000, .slow_every = 10, .slow_ns = 450000},
     {{.kernels = 10, .kernel_ns = 80000, .slow_every = 10, .slow_ns = 390000},
      {.kernels = 10, .kernel_ns = 80000, .slow_every = 29, .slow_ns = 900000}}},
    {&nvt_rule_warmup,
     "the first 2 of 32",
     {.kernels = 10, .kernel_ns = 80000, .slow_until = 2, .slow_ns = 700000},
     {{.kernels = 10, .kernel_ns = 80000, .slow_until = 2, .slow_ns = 600000},
      {.kernels = 10, .kernel_ns = 80000, .slow_until = 8, .slow_ns = 390000},
      /* One preempted iteration is no warm-up. */
      {.kernels = 10, .kernel_ns = 80000, .slow_until = 1, .slow_ns = 9000000}}},
    {&nvt_rule_timing,
     "iteration ends before",
     {.kernels = 10, .kernel_ns = 80000, .tail_ns = 90000},
     {{.kernels = 10, .kernel_ns = 80000, .tail_ns = 75000},
      {.kernels = 10, .kernel_ns = 80000, .tail_ns = 90000, .domain = "cpu_op"},
      {.kernels = 10, .kernel_ns = 80000, .tail_ns = 90000, .domain = "NCCL"}}},
    {&nvt_rule_unclosed,
     "range step is pushed and never popped: 20 open",
     {.host_ns = 1000, .unclosed = 20},
     {{.host_ns = 1000, .unclosed = 19}, {.host_ns = 1000}}},
    /* A third of the samples, and 90 % of the clock; a fifth, or 96 %; a device that hardly works. */
    {&nvt_rule_clocks,
     "the power limit throttles GPU 0 to 1800 MHz under load (maximum 2000 MHz)",
     {.kernels = 10, .kernel_ns = 80000, .clock_mhz = 1800, .limited = 33},
     {{.kernels = 10, .kernel_ns = 80000, .clock_mhz = 1800, .limited = 20},
      {.kernels = 10, .kernel_ns = 80000, .clock_mhz = 1920, .limited = 33},
      {.kernels = 1, .kernel_ns = 8000, .host_ns = 90000, .clock_mhz = 1800, .limited = 33}}},
    /* A team of twice as many threads as there are cores waits for those that do not run. */
    {&nvt_rule_oversubscribed,
     "4 computing threads on 2 cores",
     {.host_ns = 2000000, .crowd = 4, .ready = 2.6, .at_work = 50},
     {{.host_ns = 2000000, .crowd = 3, .ready = 2.6, .at_work = 50},
      {.host_ns = 2000000, .crowd = 4, .ready = 2.4, .at_work = 50},
      {.host_ns = 2000000, .crowd = 4, .ready = 2.6, .at_work = 49}}},
    {&nvt_rule_oversubscribed,
     "3 computing threads on 2 cores",
     {.host_ns = 2000000, .crowd = 3, .ready = 2.6, .at_work = 91},
     {{.host_ns = 2000000, .crowd = 2, .ready = 2.6, .at_work = 91},
      {.host_ns = 2000000, .crowd = 3, .ready = 2.4, .at_work = 91},
      {.host_ns = 9000000, .crowd = 3, .ready = 2.6, .at_work = 91}}},
    {&nvt_rule_machine,
     "2.6 runnable threads on 2 cores",
     {.kernels = 10, .kernel_ns = 80000, .ready = 2.6, .at_work = 91},
     {{.kernels = 10, .kernel_ns = 80000, .ready = 2.4, .at_work = 91},
      {.kernels = 10, .kernel_ns = 80000, .ready = 2.6, .at_work = 89}}},
    /* 16 iterations of 1 ms: 200 faults of 500 ns each are a tenth of it. A major one waits as long as the thread does not run. */
    {&nvt_rule_paging,
     "page faults take 10 % of the loop's time, most of it in range iteration",
     {.host_ns = 1000000, .counts = {.cpu_ns = 990000, .minor_faults = 203}},
     {{.host_ns = 1000000, .counts = {.cpu_ns = 990000, .minor_faults = 197}},
      {.host_ns = 10000,
       .kernels = 1,
       .kernel_ns = 1000,
       .counts = {.cpu_ns = 9900, .minor_faults = 9}}}},
    {&nvt_rule_paging,
     "page faults take 20 % of the loop's time",
     {.host_ns = 1000000, .counts = {.cpu_ns = 600000, .major_faults = 10, .voluntary = 20}},
     {{.host_ns = 1000000, .counts = {.cpu_ns = 820000, .major_faults = 10, .voluntary = 20}}}},
    {&nvt_rule_preempted,
     "other threads have the loop's core for 12 % of its time, most of it in range iteration",
     {.host_ns = 1000000, .counts = {.cpu_ns = 880000, .involuntary = 3}},
     {{.host_ns = 1000000, .counts = {.cpu_ns = 910000, .involuntary = 3}},
      {.host_ns = 1000000,
       .kernels = 1,
       .kernel_ns = 1000,
       .counts = {.cpu_ns = 500000, .involuntary = 3, .voluntary = 1}}}},
    {&nvt_rule_misses,
     "the core waits for memory in range iteration: 0.25 instructions per cycle",
     {.host_ns = 1000000,
      .counts =
          {.cpu_ns = 990000, .cycles = 2000000, .instructions = 500000, .cache_misses = 5000}},
     {{.host_ns = 1000000,
       .counts =
           {.cpu_ns = 990000, .cycles = 2000000, .instructions = 500000, .cache_misses = 4900}},
      {.host_ns = 1000000,
       .kernels = 1,
       .kernel_ns = 1000,
       .counts =
           {.cpu_ns = 990000, .cycles = 1000000, .instructions = 500000, .cache_misses = 5000}},
      {.host_ns = 1000000,
       .kernels = 1,
       .kernel_ns = 1000,
       .counts =
           {.cpu_ns = 190000, .cycles = 2000000, .instructions = 500000, .cache_misses = 5000}}}},
    /* Not as many slots, or in code that takes little time, or of counters that are others. */
    {&nvt_rule_slots,
     "range iteration is backend-bound: 60 % of the core's slots wait for data or for units",
     {.host_ns = 1000000, .topdown = "amd-zen4", .counts = SLOTS(990000, 3000, 18000, 4500, 4200)},
     {{.host_ns = 1000000, .topdown = "amd-zen4", .counts = SLOTS(990000, 3000, 17700, 4500, 4200)},
      {.host_ns = 1000000,
       .topdown = "amd-zen4",
       .kernels = 1,
       .kernel_ns = 1000,
       .counts = SLOTS(190000, 3000, 18000, 4500, 4200)},
      {.host_ns = 1000000, .counts = SLOTS(990000, 3000, 18000, 4500, 4200)}}},
    {&nvt_rule_slots,
     "range iteration is frontend-bound: 35 % of the core's slots get no instructions in time",
     {.host_ns = 1000000,
      .topdown = "amd-zen4",
      .counts = SLOTS(990000, 10500, 3000, 15000, 15000)},
     {{.host_ns = 1000000,
       .topdown = "amd-zen4",
       .counts = SLOTS(990000, 10400, 3000, 15000, 15000)}}},
    {&nvt_rule_slots,
     "range iteration speculates badly: 25 % of the core's slots",
     {.host_ns = 1000000, .topdown = "amd-zen4", .counts = SLOTS(990000, 3000, 3000, 16500, 9000)},
     {{.host_ns = 1000000,
       .topdown = "amd-zen4",
       .counts = SLOTS(990000, 3000, 3000, 16400, 9000)}}},
    {&nvt_rule_dram,
     "device memory is at 76 % of its peak for 100 % of the time, most of it in gemm",
     {.kernels = 10, .kernel_ns = 80000, .dram = 76},
     {{.kernels = 10, .kernel_ns = 80000, .dram = 74},
      {.kernels = 10, .kernel_ns = 80000, .dram = 76, .metric_share = 19},
      {.kernels = 10, .kernel_ns = 80000, .tensor = 76}}},
    /* Of the samples at a kernel's ends, all may be the kernel's. Kernels of 25 us are too short. */
    {&nvt_rule_tensor,
     "tensor cores are idle in GEMMs, which take 9",
     {.kernels = 10, .kernel_ns = 80000, .tensor = 3},
     {{.kernels = 10, .kernel_ns = 80000, .tensor = 5},
      {.kernels = 10, .kernel_ns = 25000, .tensor = 3},
      {.kernels = 1, .kernel_ns = 80000, .host_ns = 400000, .tensor = 3}}},
    {&nvt_rule_pcie,
     "the PCIe bus is near its peak and the GPU idle for 100 % of the time",
     {.kernels = 1, .kernel_ns = 80000, .pcie = 75, .sm_active = 9},
     {{.kernels = 1, .kernel_ns = 80000, .pcie = 74, .sm_active = 9},
      {.kernels = 1, .kernel_ns = 80000, .pcie = 75, .sm_active = 10},
      {.kernels = 1, .kernel_ns = 80000, .pcie = 75, .sm_active = 9, .metric_share = 9}}},
    {&nvt_rule_machine,
     "CPU steal time is 6 %",
     {.kernels = 10, .kernel_ns = 80000, .taken = 6},
     {{.kernels = 10, .kernel_ns = 80000, .taken = 4}}},
};

#define TROUBLES NVT_COUNT_OF(troubles)

static struct nvt_findings apply(const struct nvt_rule *rule, const struct program *program)
{
    struct nvt_input_trace trace = {.trace = make_program(program)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    if (rule)
        assert_int_equal(nvt_rule_apply(rule, &facts, &findings, NULL), 0);
    else
        assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    nvt_trace_free(trace.trace);
    return findings;
}

static void each_rule_finds_its_trouble(void **state)
{
    (void)state;
    for (size_t i = 0; i < TROUBLES; i++) {
        struct nvt_findings findings = apply(troubles[i].rule, &troubles[i].has);
        if (findings.count != 1)
            fail_msg("%s: %zu findings", troubles[i].rule->cause, findings.count);
        const struct nvt_finding *finding = &findings.items[0];
        assert_string_equal(finding->cause, troubles[i].rule->cause);
        if (!strstr(finding->what, troubles[i].says))
            fail_msg("%s: \"%s\"", finding->cause, finding->what);
        if (troubles[i].rule == &nvt_rule_paging)
            assert_non_null(strstr(finding->evidence, "; counted in the last 16 of 32 iterations"));
        assert_true(finding->cost_ns > 0 || finding->cost_bytes > 0);
        assert_true(finding->evidence[0] && finding->remedy[0] && finding->where[0]);
        const int has_one =
            troubles[i].rule == &nvt_rule_held || troubles[i].rule == &nvt_rule_cold ||
            troubles[i].rule == &nvt_rule_dram || troubles[i].rule == &nvt_rule_pcie;
        assert_int_equal(finding->moment_count, has_one                                ? 1
                                                : troubles[i].rule == &nvt_rule_warmup ? 2
                                                                                       : 3);
        free(findings.items);
    }
}

static void each_rule_is_silent_just_below(void **state)
{
    (void)state;
    for (size_t i = 0; i < TROUBLES; i++)
        for (size_t j = 0; j < 3 && (!j || troubles[i].has_not[j].kernels); j++) {
            struct nvt_findings findings = apply(troubles[i].rule, &troubles[i].has_not[j]);
            if (findings.count)
                fail_msg("%s, %zu: %s; %s", troubles[i].rule->cause, j, findings.items[0].what,
                         findings.items[0].evidence);
            free(findings.items);
        }
}

/* A new rule without its two traces fails here. */
static void each_rule_is_tested(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    for (size_t i = 0; i < count; i++) {
        int tested = rules[i]->compare != NULL; /* in test_diagnose.c and below */
        for (size_t j = 0; j < TROUBLES; j++)
            tested |= troubles[j].rule == rules[i];
        if (!tested)
            fail_msg("no trace for %s", rules[i]->cause);
        assert_true(!rules[i]->look != !rules[i]->compare);
        assert_true(rules[i]->about[0] && rules[i]->threshold[0] && rules[i]->remedy[0]);
    }
}

/* A loop with a bit of everything, as it should be, whose kernels vary by 10 %. */
static void nothing_is_found_in_clean_traces(void **state)
{
    (void)state;
    for (unsigned seed = (unsigned)kit_seed(1), last = seed + 199; seed <= last; seed++) {
        const struct program clean = {.kernels = 5 + (int)seed % 30,
                                      .kernel_ns = 40000 + 1000 * (int64_t)(seed % 50),
                                      .copies = 1,
                                      .copy_ns = 20000,
                                      .copy_bytes = 1 << 19,
                                      .host_ns = 5000,
                                      .no_ranges = seed % 5 == 0,
                                      .leak_bytes = 1 << 20,
                                      .leak_freed_every = 2,
                                      .jitter = seed};
        struct nvt_findings findings = apply(NULL, &clean);
        if (findings.count)
            fail_msg("seed %u: %s: %s; %s", seed, findings.items[0].cause, findings.items[0].what,
                     findings.items[0].evidence);
        free(findings.items);
    }
}

static void move_pages(struct maker *maker, uint8_t kind, int64_t start, uint64_t bytes,
                       uint64_t address)
{
    const struct nvt_migration migration = {.address = address, .cause = NVT_UM_MOVE_FAULT};
    const struct nvt_op op = {.start = start,
                              .end = start + 1000,
                              .process = maker->process,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .bytes = bytes,
                              .detail = nvt_migration_add(maker->trace, &migration),
                              .kind = NVT_OP_MEMCPY,
                              .copy_kind = kind};
    assert_int_not_equal(nvt_op_add(maker->trace, &op), NVT_NONE);
}

static void add_um(struct maker *maker, uint8_t kind, int64_t start, int64_t end)
{
    const struct nvt_um_event event = {.start = start,
                                       .end = end,
                                       .process = maker->process,
                                       .device = kind == NVT_UM_GPU_FAULT ? 0 : NVT_NONE,
                                       .target = NVT_NONE,
                                       .address = 0x1000,
                                       .faults = kind == NVT_UM_GPU_FAULT ? 2 : 0,
                                       .kind = kind};
    assert_int_not_equal(nvt_um_event_add(maker->trace, &event), NVT_NONE);
}

/* Which kernel, in which range; what comes and goes. Faults that overlap take their time once, as do kernels. */
static void faults_say_where_and_what_moves(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 8; i++) {
        int64_t begin = maker.now;
        make_launch(&maker, "quiet", 50000);
        int64_t range = maker.now;
        make_launch(&maker, "hungry", 50000);
        make_range(&maker, "gather", range);
        int64_t start = maker.device - 50000;
        for (int k = 0; k < 10; k++)
            add_um(&maker, NVT_UM_GPU_FAULT, start + 2000 * k, start + 2000 * k + 4000);
        add_um(&maker, NVT_UM_THRASHING, start, start);
        move_pages(&maker, NVT_COPY_UNIFIED_HTOD, start, 3000000, 0x1000);
        move_pages(&maker, NVT_COPY_UNIFIED_DTOH, start + 9000, 1000000, 0x1000);
        move_pages(&maker, NVT_COPY_UNIFIED_DTOH, start + 9500, 500000, 0x2000);
        make_wait(&maker);
        make_range(&maker, "iteration", begin);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(&nvt_rule_faults, &facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what, "kernels wait for pages of managed memory: 20 "
                                                "faults per iteration, most in hungry");
    /* 22 of 106 us, of which kernels take 100. */
    assert_string_equal(
        findings.items[0].evidence,
        "21 % of the time, 22 % of kernel time; the driver handles faults 40 "
        "times while 4 kernels run, for 2.20 µs each, in range gather; 12 MB migrate to "
        "devices and 6 MB to the host, 8 MB of it there and back; the driver reports "
        "thrashing, 4 times");
    assert_in_range((uint64_t)findings.items[0].cost_ns, 21999, 22001);
    free(findings.items);
    nvt_trace_free(trace.trace);
}

static void the_most_expensive_comes_first(void **state)
{
    (void)state;
    const struct program program = {.kernels = 20,
                                    .kernel_ns = 80000,
                                    .host_ns = 400000,
                                    .allocations = 2,
                                    .allocation_ns = 70000,
                                    .leak_bytes = 1 << 20};
    struct nvt_findings findings = apply(NULL, &program);
    assert_true(findings.count >= 3);
    assert_string_equal(findings.items[0].cause, "GPU idle");
    assert_string_equal(findings.items[findings.count - 1].cause, "memory growth");
    for (size_t i = 1; i < findings.count; i++)
        assert_true(findings.items[i - 1].cost_ns >= findings.items[i].cost_ns);
    free(findings.items);
}

/* A loop in which some iterations, in no period, wait for the host. */
static struct nvt_trace *now_and_then(void)
{
    struct maker maker = make_begin();
    for (int i = 0; i < 80; i++) {
        int64_t start = maker.now;
        maker.now += i % 7 == 3 || i % 11 == 5 ? 3000000 : 0;
        for (int k = 0; k < 10; k++)
            make_launch(&maker, "gemm", 80000);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    return make_end(&maker);
}

/* Of each trace what may explain its slow iterations comes before them. */
static void causes_come_before_slow_iterations(void **state)
{
    (void)state;
    struct nvt_input_trace traces[] = {{.trace = now_and_then()}, {.trace = now_and_then()}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_findings findings = {0};
    unsigned slow = 0;
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    for (size_t i = 0; i < findings.count; i++) {
        int is_behind = 0;
        if (findings.items[i].cause != nvt_rule_iterations.cause)
            continue;
        for (size_t k = 0; k < i; k++)
            is_behind |= findings.items[k].cause == nvt_rule_idle.cause &&
                         findings.items[k].trace == findings.items[i].trace;
        assert_true(is_behind);
        slow++;
    }
    assert_int_equal(slow, 2);
    free(findings.items);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

/* That the device is idle while the host evaluates is a consequence: it costs as much, and comes behind. */
static void causes_come_before_idle_devices(void **state)
{
    (void)state;
    const struct program program = {.kernels = 10,
                                    .kernel_ns = 80000,
                                    .iterations = 64,
                                    .slow_every = 8,
                                    .slow_ns = 4000000,
                                    .slow_range = "evaluate"};
    struct nvt_input_trace trace = {.trace = make_program(&program)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_findings findings = {0};
    size_t idle = 0;
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_true(findings.count >= 2);
    assert_string_equal(findings.items[0].cause, nvt_rule_periodic.cause);
    for (size_t i = 1; i < findings.count && !idle; i++)
        idle = findings.items[i].cause == nvt_rule_idle.cause ? i : 0;
    assert_true(idle && findings.items[idle].cost_ns > findings.items[0].cost_ns);
    free(findings.items);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace.trace);
}

/* The host is in `load` for most of a gap, in whose middle lies a small range. */
static void idle_time_is_that_of_the_range_around_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_findings findings = {0};
    for (int i = 0; i < 8; i++) {
        int64_t start = maker.now;
        maker.now += 200000;
        int64_t small = maker.now;
        maker.now += 10000;
        make_range(&maker, "small", small);
        maker.now += 200000;
        make_range(&maker, "load", start);
        make_launch(&maker, "gemm", 400000);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_idle, &facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].what, "while the CPU runs other code in range load"));
    nvt_trace_free(trace.trace);
    free(findings.items);
}

/* Iterations of so many ns, behind so many warm-ups of so many; `findings` gets what the rule says. */
static void warm_up(const int64_t *ns, int count, int warmups, int64_t warmup_ns,
                    const struct nvt_runs *runs, struct nvt_findings *findings)
{
    struct maker maker = make_begin();
    for (int i = 0; i < warmups + count; i++) {
        int64_t start = maker.now;
        maker.now += i < warmups ? warmup_ns : ns[i - warmups];
        make_range(&maker, i < warmups ? "warmup" : "iteration", start);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker), .runs = runs};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_warmup, &facts, findings, NULL), 0);
    nvt_trace_free(trace.trace);
}

/* What the run had and what is to be left out: fewer would make it worse. */
/* Of ranges that end before their work, those that PyTorch makes by itself are nobody's to change. */
static void annotations_of_pytorch_are_no_timing(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t findings;
    } cases[] = {
        {"Optimizer.step#SGD.step", 0},
        {"Optimizer.zero_grad#Adam.zero_grad", 0},
        {"## Call CompiledFxGraph fjs75i4jmhjizyb52gwp7gln7sgi42fcmh5xdwningderuqcuslv ##", 0},
        {"Torch-Compiled Region: 0/0", 0},
        {"DistributedDataParallel.forward", 0},
        {"FullyShardedDataParallel.forward", 0},
        {"FSDP::pre_forward", 0},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0},
        {"## forward ##", 1},
        {"ProfilerStep#3", 1},
        {"Optimizer.step", 1},
        {"optimizer", 1},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        struct nvt_findings findings = {0};
        for (int k = 0; k < 4; k++) {
            int64_t start = maker.now;
            make_launch(&maker, "gemm", 400000);
            make_range(&maker, cases[i].name, start);
            make_wait(&maker);
        }
        struct nvt_input_trace trace = {.trace = make_end(&maker)};
        struct nvt_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        assert_int_equal(nvt_rule_apply(&nvt_rule_timing, &facts, &findings, NULL), 0);
        if (findings.count != cases[i].findings)
            fail_msg("%s: %zu findings", cases[i].name, findings.count);
        nvt_trace_free(trace.trace);
        free(findings.items);
    }
}

static void warm_ups_are_added_to_those_there_were(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    static const char row[] = "{\"workload\": \"toy\", \"backend\": \"host\", \"warmup\": 10}";
    int64_t ns[COUNT];
    struct nvt_record record = {0};
    struct nvt_runs runs = {.records = &record, .count = 1};
    assert_int_equal(nvt_record_parse(&record, row, sizeof(row) - 1, NULL), 0);
    for (int i = 0; i < COUNT; i++)
        ns[i] = i < 3 ? 300000 : 100000;
    const struct {
        int warmups;
        const struct nvt_runs *runs;
        const char *remedy;
    } cases[] = {
        {0, NULL, "exclude the first 3 from the measurement; reports do with --filter-time"},
        {10, NULL, "exclude the first 3 from the measurement"},
        {0, &runs, "exclude the first 3 too: --warmup 13"},
        {10, &runs, "exclude the first 3 too: --warmup 13"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_findings findings = {0};
        warm_up(ns, COUNT, cases[i].warmups, 300000, cases[i].runs, &findings);
        assert_int_equal(findings.count, 1);
        assert_int_equal(
            strncmp(findings.items[0].remedy, cases[i].remedy, strlen(cases[i].remedy)), 0);
        assert_int_equal(strstr(findings.items[0].remedy, "--warmup") != NULL,
                         cases[i].runs != NULL);
        free(findings.items);
    }
    /* It had been warm: what is slow now is something else. */
    struct nvt_findings findings = {0};
    warm_up(ns, COUNT, 10, 101000, NULL, &findings);
    assert_int_equal(findings.count, 0);
    nvt_record_free(&record);
}

/* A number in (0, 1), by a 64-bit LCG (Knuth's MMIX). */
static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

/* An iteration of a busy machine: mostly flat, with a tail as heavy as 1/x; now and then preempted;
 * or spread over decades. */
static double noisy(int kind, uint64_t *seed)
{
    double chance = uniform(seed), jitter = 1 + 0.02 * uniform(seed);
    if (kind == 0)
        return jitter / pow(chance, 1 / 1.1);
    if (kind == 1)
        return chance < 0.1 ? jitter + 20 * uniform(seed) : jitter;
    return exp(1.5 * sqrt(-2 * log(chance)) * cos(6.283185307179586 * uniform(seed)));
}

/* Without any warm-up in them, 1 of 100 may be taken for one (the threshold says so); a real one is
 * found in the same noise. */
static void noise_is_no_warm_up(void **state)
{
    (void)state;
    enum { TRIALS = 1000, MOST = 200 };
    static const int counts[] = {16, 20, 50, MOST};
    for (int kind = 0; kind < 3; kind++)
        for (size_t c = 0; c < NVT_COUNT_OF(counts); c++) {
            uint64_t seed = 1 + c;
            size_t alarms = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                int64_t ns[MOST];
                struct nvt_findings findings = {0};
                for (int i = 0; i < counts[c]; i++)
                    ns[i] = (int64_t)(100000 * noisy(kind, &seed));
                warm_up(ns, counts[c], 0, 0, NULL, &findings);
                alarms += findings.count;
                free(findings.items);
            }
            print_message("noise %d, %d iterations: %zu of %d\n", kind, counts[c], alarms, TRIALS);
            assert_true(alarms <= TRIALS / 100);
        }
    uint64_t seed = 1;
    size_t found = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t ns[50];
        struct nvt_findings findings = {0};
        for (int i = 0; i < 50; i++)
            ns[i] = (int64_t)(100000 * noisy(1, &seed) * (i < 5 ? 4 : 1));
        warm_up(ns, 50, 0, 0, NULL, &findings);
        found += findings.count;
        free(findings.items);
    }
    print_message("warm-up of 5 in 50: %zu of %d\n", found, TRIALS);
    assert_true(found >= TRIALS * 9 / 10);
}

static void add_kernel(struct maker *maker, const char *name, uint32_t stream, int64_t start,
                       int64_t end)
{
    uint32_t id = nvt_strings_add_text(maker->trace->strings, name);
    struct nvt_op row = {.start = start,
                         .end = end,
                         .process = maker->process,
                         .stream = stream,
                         .name = id,
                         .short_name = id,
                         .launch = INT64_MIN,
                         .kind = NVT_OP_KERNEL,
                         .detail = NVT_NONE};
    assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
}

/* Ten steps of 1000 us: a collective beside the kernels of the first 600, or until `until` us. */
static void communicate(int64_t until, struct nvt_findings *findings)
{
    struct maker maker = make_begin();
    for (int i = 0; i < 10; i++) {
        int64_t start = maker.now;
        add_kernel(&maker, "gemm", 7, start, start + 600000);
        add_kernel(&maker, "ncclKernel_ReduceScatter", 20, start + 100000, start + 650000);
        add_kernel(&maker, "ncclKernel_AllReduce", 20, start + 660000, start + until * 1000);
        add_kernel(&maker, "gemm", 7, start + 800000, start + 1000000);
        maker.now += 1000000;
        make_range(&maker, "iteration", start);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_communication, &facts, findings, NULL), 0);
    nvt_trace_free(trace.trace);
}

/* Only what no kernel runs beside counts: 50 us of one collective, and of the other up to 140. */
static void exposed_collectives_are_told_from_hidden_ones(void **state)
{
    (void)state;
    struct nvt_findings findings = {0};
    communicate(900, &findings);
    assert_int_equal(findings.count, 1);
    const struct nvt_finding *finding = &findings.items[0];
    assert_string_equal(finding->what,
                        "19 % of GPU time is communication with no kernel overlapping, most of "
                        "it in ncclKernel_AllReduce");
    assert_string_equal(
        finding->evidence,
        "2 stretches per iteration, 95.0 µs each, the longest 140 µs; no kernel overlaps "
        "24 % of the time in communication; ncclKernel_AllReduce is 74 % of that");
    assert_true(finding->cost_ns > 189999 && finding->cost_ns < 190001);
    assert_int_equal(finding->moment_count, 3);
    assert_int_equal(finding->moments[0], 1000 + 5660000);
    assert_int_equal(finding->moments[1], 1000 + 6660000);
    free(findings.items);
    findings = (struct nvt_findings){0};
    communicate(708, &findings); /* 98 us of 1000 */
    assert_int_equal(findings.count, 0);
}

/* Four ranks, of which the third computes for so long; the others wait for it. */
static size_t stragglers(int64_t kernel_ns, int with_rank, int by_mpi, struct nvt_finding *finding)
{
    struct nvt_input_trace traces[4];
    struct nvt_input input = {.traces = traces, .trace_count = 4};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    for (int i = 0; i < 4; i++) {
        struct program program = {.kernels = 10,
                                  .kernel_ns = 90000,
                                  .communication_ns = 10 * (kernel_ns - 90000) + 20000,
                                  .rank = with_rank ? i + 1 : 0};
        if (i == 2) {
            program.kernel_ns = kernel_ns;
            program.communication_ns = 20000;
        }
        if (by_mpi) {
            program.mpi_ns = program.communication_ns;
            program.communication_ns = 0;
        }
        traces[i] = (struct nvt_input_trace){.trace = make_program(&program)};
    }
    assert_int_equal(nvt_rule_apply(&nvt_rule_ranks, &facts, &findings, NULL), 0);
    if (findings.count)
        *finding = findings.items[0];
    for (int i = 0; i < 4; i++)
        nvt_trace_free(traces[i].trace);
    free(findings.items);
    return findings.count;
}

static void the_slow_rank_is_named(void **state)
{
    (void)state;
    struct nvt_finding finding;
    assert_int_equal(stragglers(97000, 1, 0, &finding), 1);
    assert_non_null(strstr(finding.what, "rank 2 is slower than the other 3"));
    assert_int_equal(finding.moment_count, 3);
    assert_true(finding.cost_ns > 69000 && finding.cost_ns < 71000);
    assert_int_equal(stragglers(97000, 1, 1, &finding), 1);
    assert_string_equal(finding.what, "rank 2 is slower than the other 3, which wait for it");
    assert_int_equal(stragglers(94000, 1, 1, &finding), 0);
    assert_int_equal(stragglers(94000, 1, 0, &finding), 0);
    assert_int_equal(stragglers(97000, 0, 0, &finding), 0); /* strangers to each other */
}

/* Two files of ranks of `groups` groups, in each of which the second rank's host works for so long; what all rules find. */
static struct nvt_findings late_hosts(int64_t host_ns, const char *const groups[4], uint32_t size)
{
    struct nvt_input_trace traces[4];
    struct nvt_input input = {.traces = traces, .trace_count = 4};
    struct nvt_findings findings = {0};
    for (uint32_t i = 0; i < 4; i++) {
        const int64_t host = i % 2 ? host_ns : 0;
        struct maker maker = make_begin();
        maker.trace->processes.rank[maker.process] = i;
        const struct nvt_collective group = {
            .group = nvt_strings_add_text(maker.trace->strings, groups[i]), .ranks = size};
        nvt_collective_add(maker.trace, &group);
        const struct nvt_kernel kernel = {.grid_x = 4, .grid_y = 1, .grid_z = 1, .collective = 1};
        uint32_t detail = nvt_kernel_add(maker.trace, &kernel);
        for (int k = 0; k < 20; k++) {
            int64_t start = maker.now;
            maker.now += host;
            make_launch(&maker, "gemm", 1000000);
            make_launch(&maker, "ncclDevKernel_AllReduce", 20000 + host_ns - host);
            maker.trace->ops.detail[maker.trace->ops.count - 1] = detail;
            make_wait(&maker);
            make_range(&maker, "iteration", start);
        }
        traces[i] = (struct nvt_input_trace){.trace = make_end(&maker)};
    }
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    for (size_t i = 0; i < findings.count; i++)
        findings.items[i].trace = NULL;
    for (int i = 0; i < 4; i++)
        nvt_trace_free(traces[i].trace);
    return findings;
}

static size_t count_of(const struct nvt_findings *findings, const struct nvt_rule *rule,
                       const char *says)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].cause == rule->cause && strstr(findings->items[i].what, says);
    return count;
}

/* A host that launches late is told as such, within its group, and nobody is told to overlap what is waiting for it. */
static void a_late_host_is_a_straggler_of_its_group(void **state)
{
    (void)state;
    static const char *const two[] = {"tp0", "tp0", "tp1", "tp1"}, *const one[] = {"a", "a", "a",
                                                                                   "a"};
    struct nvt_findings findings = late_hosts(400000, two, 2);
    assert_int_equal(
        count_of(&findings, &nvt_rule_ranks,
                 "the host of rank 1 launches late, and the other 1 rank waits for it"),
        1);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, "the host of rank 3 launches late"), 1);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, ""), 2);
    assert_int_equal(count_of(&findings, &nvt_rule_communication, ""), 0);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].cause == nvt_rule_ranks.cause)
            assert_non_null(strstr(findings.items[i].evidence, "last in 20 of 20 collectives"));
    free(findings.items);
    /* Too little; groups of two that share a name: who is in which is not known. */
    findings = late_hosts(50000, two, 2);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, ""), 0);
    free(findings.items);
    findings = late_hosts(400000, one, 2);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, ""), 0);
    assert_int_equal(count_of(&findings, &nvt_rule_communication, ""), 2);
    free(findings.items);
}

/* What is said of some of three traces. */
static const struct {
    size_t from, count;
    const char *const lines[7]; /* of all of them */
} missing[] = {
    {0,
     1,
     {"20 of 52 rules skipped: no device operations in the trace (nvtally record --trace "
      "kernel, on a ",
      "1 of 52 rules skipped: no API calls in the trace",
      "2 of 52 rules skipped: no memory events in the trace",
      "5 of 52 rules skipped: no iterations in the trace",
      "; for training, nvtally record --pytorch)\n",
      " rules skipped: no OS calls, CPU samples, machine samples",
      "2 of 52 rules skipped: no torch.profiler operators without a GPU in the trace"}},
    {1,
     1,
     {"2 of 52 rules skipped: no memory events in the trace (",
      "10 of 52 rules skipped: no NVTX ranges in the trace",
      "3 of 52 rules skipped: no GPU metrics in the trace (nvtally record --trace "
      "metrics)\n",
      " rules skipped: no OS calls, CPU samples, machine samples",
      "2 of 52 rules skipped: no torch.profiler operators without a GPU in the trace"}},
    {0,
     2,
     {"2 of 52 rules skipped: no memory events in the traces (",
      "5 of 52 rules skipped: no iterations in the traces",
      "3 of 52 rules skipped: no GPU metrics in the traces",
      " rules skipped: no OS calls, CPU samples, machine samples",
      "2 of 52 rules skipped: no torch.profiler operators without a GPU in the trace"}},
    {0,
     3,
     {"3 of 52 rules skipped: no GPU metrics in the traces",
      " rules skipped: no OS calls, CPU samples, machine samples",
      "2 of 52 rules skipped: no torch.profiler operators without a GPU in the trace"}},
};

/* A line for each kind of record that is missing, and none where a trace has it. */
static void what_rules_could_not_look_at_is_said(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    maker.now += 1000;
    make_range(&maker, "forward", 0);
    struct nvt_input_trace traces[] = {
        {.trace = make_end(&maker)},
        {.trace =
             make_program(&(struct program){.kernels = 4, .kernel_ns = 80000, .no_ranges = 1})},
        {.trace = make_program(
             &(struct program){.kernels = 4, .kernel_ns = 80000, .leak_bytes = 1024})}};
    for (size_t i = 0; i < NVT_COUNT_OF(missing); i++) {
        struct nvt_input input = {.traces = traces + missing[i].from,
                                  .trace_count = missing[i].count};
        struct nvt_buffer text = {0};
        size_t lines = 0;
        assert_int_equal(nvt_diagnose_missing(&input, &text, NULL), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        for (size_t at = 0; at < text.size; at++)
            lines += text.data[at] == '\n';
        for (size_t j = 0; j < 7 && missing[i].lines[j]; j++) {
            lines -= missing[i].lines[j][0] != ';';
            if (!strstr((const char *)text.data, missing[i].lines[j]))
                fail_msg("%zu: no \"%s\" in\n%s", i, missing[i].lines[j], (const char *)text.data);
        }
        assert_int_equal(lines, 0);
        nvt_buffer_free(&text);
    }
    for (size_t i = 0; i < 3; i++)
        nvt_trace_free(traces[i].trace);
}

/* With an option of what recorded the trace. */
static void the_way_to_record_it_is_that_of_the_recorder(void **state)
{
    (void)state;
    static const enum nvt_recorder recorders[] = {NVT_BY_NVTALLY, NVT_BY_NSYS, NVT_BY_PYTORCH};
    static const char *const remedies[] = {"(nvtally record --trace memory)\n",
                                           "(nsys profile --cuda-memory-usage=true)\n",
                                           "(profile_memory=True in torch.profiler)\n"};
    const struct program program = {.kernels = 4, .kernel_ns = 80000};
    struct nvt_input_trace traces[] = {{.trace = make_program(&program)},
                                       {.trace = make_program(&program)}};
    for (size_t i = 0; i < 9; i++) {
        struct nvt_input input = {.traces = traces, .trace_count = 2};
        struct nvt_buffer text = {0};
        traces[0].trace->recorder = recorders[i % 3];
        traces[1].trace->recorder = recorders[i / 3];
        assert_int_equal(nvt_diagnose_missing(&input, &text, NULL), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        if (!strstr((const char *)text.data, remedies[i % 3 == i / 3 ? i % 3 : 0]))
            fail_msg("%zu: %s", i, (const char *)text.data);
        nvt_buffer_free(&text);
    }
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

static void rules_are_listed_and_documented(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    static char manual[100000];
    FILE *file = fopen("docs/man/nvtally-diagnose.1.scd", "r");
    assert_non_null(file);
    manual[fread(manual, 1, sizeof(manual) - 1, file)] = 0;
    fclose(file);
    const char *command[] = {"nvtally", "diagnose", "--rules", "-f", "csv", NULL};
    struct cli_result result = cli_run(command);
    cli_expect_status(&result, 0);
    for (size_t i = 0; i < count; i++) {
        char heading[100];
        snprintf(heading, sizeof(heading), "*%s*", rules[i]->cause);
        if (!strstr(manual, heading))
            fail_msg("%s is not in the manual", heading);
        assert_non_null(strstr(result.out, rules[i]->cause));
    }
    for (int i = 0; i < NVT_CONFIDENCES; i++) {
        char word[40];
        snprintf(word, sizeof(word), "_%s_", nvt_confidence_name((enum nvt_confidence)i));
        assert_non_null(strstr(manual, word));
    }
    cli_result_free(&result);
    const char *both[] = {"nvtally", "diagnose", "--rules", "out", NULL};
    result = cli_run(both);
    cli_expect_failure(&result, "--rules takes no trace");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_finds_its_trouble),
        cmocka_unit_test(each_rule_is_silent_just_below),
        cmocka_unit_test(each_rule_is_tested),
        cmocka_unit_test(nothing_is_found_in_clean_traces),
        cmocka_unit_test(faults_say_where_and_what_moves),
        cmocka_unit_test(the_most_expensive_comes_first),
        cmocka_unit_test(causes_come_before_slow_iterations),
        cmocka_unit_test(causes_come_before_idle_devices),
        cmocka_unit_test(idle_time_is_that_of_the_range_around_it),
        cmocka_unit_test(annotations_of_pytorch_are_no_timing),
        cmocka_unit_test(warm_ups_are_added_to_those_there_were),
        cmocka_unit_test(noise_is_no_warm_up),
        cmocka_unit_test(the_slow_rank_is_named),
        cmocka_unit_test(a_late_host_is_a_straggler_of_its_group),
        cmocka_unit_test(exposed_collectives_are_told_from_hidden_ones),
        cmocka_unit_test(what_rules_could_not_look_at_is_said),
        cmocka_unit_test(the_way_to_record_it_is_that_of_the_recorder),
        cmocka_unit_test(rules_are_listed_and_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
