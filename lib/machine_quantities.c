#include "machine_quantities.h"

#define QUANTITY(id, name, unit, about) {name, unit, about},

const struct nvt_machine_quantity *nvt_machine_host_quantity(enum nvt_machine_host id)
{
    static const struct nvt_machine_quantity quantities[] = {NVT_MACHINE_HOST_QUANTITIES(QUANTITY)};
    return &quantities[id];
}

const struct nvt_machine_quantity *nvt_machine_gpu_quantity(enum nvt_machine_gpu id)
{
    static const struct nvt_machine_quantity quantities[] = {NVT_MACHINE_GPU_QUANTITIES(QUANTITY)};
    return &quantities[id];
}

const struct nvt_machine_quantity *nvt_machine_process_quantity(enum nvt_machine_process id)
{
    static const struct nvt_machine_quantity quantities[] = {
        NVT_MACHINE_PROCESS_QUANTITIES(QUANTITY)};
    return &quantities[id];
}
