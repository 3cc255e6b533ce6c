/* Times of kernels by name, over traces. */
#ifndef NVT_KERNEL_TIMES_H
#define NVT_KERNEL_TIMES_H

#include "../model/groups.h"
#include "../model/launches.h"

/* --- sums by what names tell (nvt_telling_name) --- */

/* What groups carry. */
struct nvt_kernel_time {
    int64_t ns;
    uint64_t count;
};

/* Add the kernels of a trace to groups whose key is that name; begin with {.item_size = sizeof(struct nvt_kernel_time)}. 0, or -1
 * when out of memory. */
int nvt_kernel_times_add(struct nvt_groups *kernels, const struct nvt_trace *trace);

/* --- each of them, by whole names, which are the groups' keys --- */

/* Add the kernels of a trace. 0: some time needs more than 32 bits, or there is no memory, and nothing has been added. */
int nvt_kernel_durations_add(struct nvt_groups *groups, const struct nvt_trace *trace);

/* Add the kernels of a trace that has only launches. */
void nvt_launched_kernels_add(struct nvt_groups *groups, const struct nvt_launches *launches);

#endif
