/*
 * The rules of the diagnosis, one by one: each on a trace that just has its trouble and on ones that just have not, and
 * all of them on traces without any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../lib/count_of.h"
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
    /* of each three; the first of them begins before the steady half */
    {&nvt_rule_loading,
     "2.938 times per iteration",
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
    {&nvt_rule_slower_part,
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

/* Rules whose findings point at fewer moments than three. */
static const struct {
    const struct nvt_rule *rule;
    uint32_t moments;
} pointing[] = {{&nvt_rule_cold, 1},
                {&nvt_rule_held, 1},
                {&nvt_rule_warmup, 2},
                {&nvt_rule_dram, 1},
                {&nvt_rule_pcie, 1}};

static uint32_t moments_of(const struct nvt_rule *rule)
{
    for (size_t i = 0; i < NVT_COUNT_OF(pointing); i++)
        if (pointing[i].rule == rule)
            return pointing[i].moments;
    return NVT_MOMENTS;
}

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
        assert_int_equal(finding->moment_count, moments_of(troubles[i].rule));
        free(findings.items);
    }
}

static int is_given(const struct program *program)
{
    static const struct program none;
    return memcmp(program, &none, sizeof(none)) != 0;
}

static void each_rule_is_silent_just_below(void **state)
{
    (void)state;
    for (size_t i = 0; i < TROUBLES; i++)
        for (size_t j = 0; j < 3 && (!j || is_given(&troubles[i].has_not[j])); j++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_finds_its_trouble),
        cmocka_unit_test(each_rule_is_silent_just_below),
        cmocka_unit_test(each_rule_is_tested),
        cmocka_unit_test(nothing_is_found_in_clean_traces),
        cmocka_unit_test(the_most_expensive_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
