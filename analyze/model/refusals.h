/*
 * Refusals: an allocator that found no room, as readers store it: a mark of the domain NVT_REFUSAL_DOMAIN whose payload
 * says how much was asked for, of which device, and how much was free there.
 */
#ifndef NVT_REFUSALS_H
#define NVT_REFUSALS_H

#include "trace.h"

#define NVT_REFUSAL_DOMAIN "PyTorch"
#define NVT_REFUSAL_NAME   "out of memory"

struct nvt_refusal {
    int64_t time; /* ns */
    uint32_t process, device;
    uint64_t bytes; /* asked for */
    uint64_t free;  /* of the device, outside of the allocator; UINT64_MAX unknown */
};

/* Add a refusal to a trace as a mark of a thread. 0, or -1 when out of memory. */
int nvt_refusal_add(struct nvt_trace *trace, uint32_t thread, const struct nvt_refusal *refusal);

/* Whether a mark is one: then 1 and what it says. */
int nvt_refusal_of(const struct nvt_trace *trace, uint32_t mark, struct nvt_refusal *refusal);

#endif
