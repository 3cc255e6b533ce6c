/*
 * Page faults of managed memory in nsys's exports (nsys profile --cuda-um-cpu-page-faults=true
 * --cuda-um-gpu-page-faults=true), and what copies that are pages moved by the driver have more than others. nsys has no
 * tables of thrashing, throttling and remote maps.
 */
#ifdef HAVE_SQLITE
#include "../../lib/count_of.h"
#include "nsys.h"

#include "../model/cuda_names.h"

/* nsys's numbers of accesses and causes are CUPTI's; 0, which is unknown, for those of a later version. */
static uint8_t within(int64_t number, int count)
{
    return number > 0 && number < count ? (uint8_t)number : 0;
}

int nvt_nsys_migration(struct nvt_nsys *reader, struct nvt_nsys_table *table, int address,
                       int cause, uint32_t *detail)
{
    const struct nvt_migration migration = {
        .address = (uint64_t)nvt_nsys_int(table, address, 0),
        .cause = within(nvt_nsys_int(table, cause, 0), NVT_UM_MOVES)};
    *detail = nvt_migration_add(reader->trace, &migration);
    return *detail == NVT_NONE ? -1 : 0;
}

enum { C_START, C_ADDRESS, C_PID, C_PC, C_INSTRUCTION, C_MODULE, C_SOURCE, C_LINE };

static int host_fault(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_um_event event = {.start = nvt_nsys_time(table, C_START),
                                 .process = nvt_nsys_process(reader, table, C_PID),
                                 .device = NVT_NONE,
                                 .target = NVT_NONE,
                                 .address = (uint64_t)nvt_nsys_int(table, C_ADDRESS, 0),
                                 .faults = 1,
                                 .pc = (uint64_t)nvt_nsys_int(table, C_PC, 0),
                                 .instruction = nvt_nsys_name(reader, table, C_INSTRUCTION),
                                 .module = nvt_nsys_name(reader, table, C_MODULE),
                                 .source = nvt_nsys_name(reader, table, C_SOURCE),
                                 .line = nvt_nsys_u32(table, C_LINE, 0),
                                 .kind = NVT_UM_CPU_FAULT};
    event.end = event.start;
    if (event.process == NVT_NONE || event.instruction == NVT_NO_STRING ||
        event.module == NVT_NO_STRING || event.source == NVT_NO_STRING)
        return -1;
    return nvt_um_event_add(reader->trace, &event) == NVT_NONE ? -1 : 0;
}

enum { G_START, G_END, G_ADDRESS, G_PID, G_DEVICE, G_FAULTS, G_ACCESS };

static int device_fault(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_um_event event = {
        .start = nvt_nsys_time(table, G_START),
        .end = nvt_nsys_time(table, G_END),
        .process = nvt_nsys_process(reader, table, G_PID),
        .device = nvt_nsys_u32(table, G_DEVICE, 0),
        .target = NVT_NONE,
        .address = (uint64_t)nvt_nsys_int(table, G_ADDRESS, 0),
        .faults = nvt_nsys_size(table, G_FAULTS),
        .kind = NVT_UM_GPU_FAULT,
        .reason = within(nvt_nsys_int(table, G_ACCESS, 0), NVT_UM_ACCESSES)};
    if (event.process == NVT_NONE)
        return -1;
    return nvt_um_event_add(reader->trace, &event) == NVT_NONE ? -1 : 0;
}

static const struct nvt_nsys_spec tables[] = {
    {"CUDA_UM_CPU_PAGE_FAULT_EVENTS",
     NULL,
     2,
     {"start", "address", "globalPid", "originalFaultPc", "CpuInstruction", "module", "sourceFile",
      "sourceLine"},
     host_fault},
    {"CUDA_UM_GPU_PAGE_FAULT_EVENTS",
     NULL,
     3,
     {"start", "end", "address", "globalPid", "deviceId", "numberOfPageFaults", "faultAccessType"},
     device_fault},
};

int nvt_nsys_read_um(struct nvt_nsys *reader)
{
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        if (nvt_nsys_read(reader, &tables[i]))
            return -1;
    return 0;
}
#endif
