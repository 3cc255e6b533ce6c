/* Kernels by what their names tell (nvt_telling_name), over traces. */
#ifndef NVT_KERNEL_TIMES_H
#define NVT_KERNEL_TIMES_H

#include "../model/groups.h"

/* What groups carry. */
struct nvt_kernel_time {
    int64_t ns;
    uint64_t count;
};

/* Add the kernels of a trace to groups whose key is that name; begin with {.item_size = sizeof(struct nvt_kernel_time)}. 0, or -1
 * when out of memory. */
int nvt_kernel_times_add(struct nvt_groups *kernels, const struct nvt_trace *trace);

#endif
