/*
 * Pages of managed memory that moved or faulted: what there is of an address, and of all, as the statistical reports of Nsight
 * Systems count them (Nsight Systems User Guide).
 *
 * GPU page faults are as many as the driver found of a page, and CPU page faults as many as there are records. Copies from
 * device to device are in none of it.
 */
#ifndef NVT_MANAGED_MEMORY_H
#define NVT_MANAGED_MEMORY_H

#include "../model/trace.h"

struct nvt_managed_pages {
    uint64_t address;            /* 0: it was not recorded */
    uint64_t to_device, to_host; /* bytes */
    uint64_t copies_to_device, copies_to_host;
    uint64_t host_faults, device_faults;
    uint64_t fault_rows; /* of devices: of pages that faulted */
    double ns;           /* of the copies */
};

/* Whether an operation moved pages between the host and a device. */
int nvt_is_page_move(const struct nvt_ops *ops, uint32_t op);

/* Pages of a trace by the address at which they begin, ascending; malloc'ed, *count of them. NULL when out of memory. */
struct nvt_managed_pages *nvt_managed_by_address(const struct nvt_trace *trace, uint32_t *count);

/* Pages of several traces together. Zero-initialise. */
struct nvt_managed_total {
    struct nvt_managed_pages pages;
    uint64_t lowest, highest; /* addresses; highest 0: none was recorded */
    int has_faults;           /* a trace has them, or could have */
};

void nvt_managed_total_add(struct nvt_managed_total *total, const struct nvt_trace *trace);

#endif
