/* What device rows say of managed memory. */
#include <stdio.h>

#include "../model/cuda_names.h"
#include "nvt.h"
#include "nvt_device_chunk.h"

/* A number of CUPTI's that the model keeps in a byte; 0, which is unknown, beyond those that there are. */
static uint8_t within(uint64_t number, uint64_t count)
{
    return number < count ? (uint8_t)number : 0;
}

int nvt_device_read_migration(const struct nvt_device_chunk *chunk,
                              const struct nvt_device_row *row, uint32_t *detail)
{
    const struct nvt_migration migration = {.address = row->fields[NVT_COPY_ADDRESS],
                                            .cause =
                                                within(row->fields[NVT_COPY_CAUSE], NVT_UM_MOVES)};
    *detail = nvt_migration_add(chunk->trace, &migration);
    return *detail == NVT_NONE ? -1 : 0;
}

/* Where a fault of the host was: the address of the instruction, as nsys has it where it knows no function. */
static int fill_host_fault(const struct nvt_device_chunk *chunk, struct nvt_um_event *event)
{
    char text[32];
    event->faults = 1;
    if (!event->pc)
        return 0;
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)event->pc);
    event->instruction = nvt_strings_add_text(chunk->trace->strings, text);
    return event->instruction == NVT_NO_STRING ? -1 : 0;
}

/* A kind that a later CUPTI adds is left out. */
int nvt_device_read_um(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    uint64_t kind = row->fields[NVT_UM_KIND], value = row->fields[NVT_UM_VALUE];
    struct nvt_um_event event = {.start = (int64_t)row->fields[NVT_ROW_START],
                                 .end = (int64_t)row->fields[NVT_ROW_END],
                                 .process = chunk->owner,
                                 .device = (uint32_t)row->fields[NVT_UM_DEVICE],
                                 .target = (uint32_t)row->fields[NVT_UM_TARGET],
                                 .address = row->fields[NVT_UM_ADDRESS],
                                 .kind = (uint8_t)kind};
    switch (kind) {
    case NVT_UM_CPU_FAULT:
        event.pc = value;
        event.reason = within(row->fields[NVT_UM_FLAGS], NVT_UM_ACCESSES);
        if (fill_host_fault(chunk, &event))
            return -1;
        break;
    case NVT_UM_GPU_FAULT:
        event.faults = value;
        event.reason = within(row->fields[NVT_UM_FLAGS], NVT_UM_ACCESSES);
        break;
    case NVT_UM_THRASHING: /* its device is a mask of several */
        event.device = NVT_NONE;
        event.bytes = value;
        break;
    case NVT_UM_REMOTE_MAP:
        event.bytes = value;
        event.reason = within(row->fields[NVT_UM_FLAGS], NVT_UM_MAPS);
        break;
    case NVT_UM_THROTTLING:
        break;
    default:
        return 0;
    }
    return nvt_um_event_add(chunk->trace, &event) == NVT_NONE ? -1 : 0;
}
