/*
 * The quantities that `record --trace machine` samples, and `--trace process` of each process: names, units and meaning,
 * as the recorder writes them (chunk MACHINE of docs/trace-format.md) and analyses look for them.
 *
 * A quantity belongs to the host, to a device or to a process. Shares are in % of the time since the sample before, all
 * processors together being 100. "limited" is 1 while the driver throttles the SM clock for that reason, else 0.
 */
#ifndef NVT_MACHINE_QUANTITIES_H
#define NVT_MACHINE_QUANTITIES_H

#include <stddef.h>

#define NVT_MACHINE_HOST    "host" /* domain of what is of the host */
#define NVT_MACHINE_GPU     "GPU %u" /* of a device, by NVML's number, which nsys's samples have, too */
#define NVT_MACHINE_PROCESS "process"

/* X(id, name, unit, what it is). */
#define NVT_MACHINE_HOST_QUANTITIES(X)                                                             \
    X(BUSY, "processors at work", "%", "share of all CPUs that ran something")                     \
    X(STOLEN, "processors taken away", "%",                                                        \
      "steal time: share of all CPUs that the hypervisor gave to other machines")                  \
    X(WAITING, "waiting for storage", "%",                                                         \
      "share of all CPUs that were idle while a thread of theirs waited for storage")              \
    X(RUNNABLE, "threads ready to run", "", "threads that ran or could have run, of all programs") \
    X(PROCESSORS, "processors", "", "that are online")                                             \
    X(PROCESSOR_CLOCK, "processor clock", "MHz", "average over some of the CPUs")                  \
    X(AVAILABLE, "memory available", "B", "what programs could still allocate without swapping")

#define NVT_MACHINE_GPU_QUANTITIES(X)                                                              \
    X(SM_CLOCK, "SM clock", "MHz", "clock of the multiprocessors")                                 \
    X(SM_CLOCK_MOST, "SM clock, highest", "MHz", "the highest clock that the device has")          \
    X(MEMORY_CLOCK, "memory clock", "MHz", "clock of the device's memory")                         \
    X(POWER, "power", "W", "power draw of the board")                                              \
    X(POWER_LIMIT, "power limit", "W", "highest power draw that the board may have")               \
    X(TEMPERATURE, "temperature", "°C", "of the GPU's die")                                        \
    X(WORK, "at work", "%", "share of the driver's sample period in which a kernel ran")           \
    X(IN_USE, "memory in use", "B", "by all processes and the driver")                             \
    X(BY_POWER, "clock limited by power", "", "the power limit, or a power brake")                 \
    X(BY_HEAT, "clock limited by heat", "", "the GPU or its memory is too hot")                    \
    X(BY_HARDWARE, "clock limited by hardware", "",                                                \
      "a slowdown that the board asks for: heat, power brake or supply")                           \
    X(BY_SETTING, "clock limited by setting", "", "application clocks, or those of another GPU")

/* The first two every time; those behind them seldom, as the kernel walks over all pages for them. */
#define NVT_MACHINE_PROCESS_QUANTITIES(X)                                                          \
    X(RESIDENT, "resident memory", "B", "of the process in main memory (RSS)")                     \
    X(FILE_BACKED, "file-backed memory", "B",                                                      \
      "part of the resident memory: mapped files and shared memory")                               \
    X(PROPORTIONAL, "proportional memory", "B",                                                    \
      "resident memory with shared pages divided among the processes that share them (PSS)")       \
    X(PINNED, "pinned memory", "B", "locked or pinned, so that it cannot be swapped out")          \
    X(SWAPPED, "swapped memory", "B", "swapped out")

#define NVT_MACHINE_ID(id, name, unit, about) NVT_MACHINE_##id,
enum nvt_machine_host { NVT_MACHINE_HOST_QUANTITIES(NVT_MACHINE_ID) NVT_MACHINE_HOST_COUNT };
enum nvt_machine_gpu { NVT_MACHINE_GPU_QUANTITIES(NVT_MACHINE_ID) NVT_MACHINE_GPU_COUNT };
enum nvt_machine_process {
    NVT_MACHINE_PROCESS_QUANTITIES(NVT_MACHINE_ID) NVT_MACHINE_PROCESS_COUNT
};
#undef NVT_MACHINE_ID

struct nvt_machine_quantity {
    const char *name, *unit, *about;
};

/* Of the host by enum nvt_machine_host, of a device by enum nvt_machine_gpu, of a process by enum nvt_machine_process. Static. */
const struct nvt_machine_quantity *nvt_machine_host_quantity(enum nvt_machine_host id);
const struct nvt_machine_quantity *nvt_machine_gpu_quantity(enum nvt_machine_gpu id);
const struct nvt_machine_quantity *nvt_machine_process_quantity(enum nvt_machine_process id);

#endif
