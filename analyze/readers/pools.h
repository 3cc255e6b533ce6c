/*
 * A device's allocated and reserved memory, from records that are each of one memory pool (CUDA's stream-ordered
 * allocator) or of a single allocation. Readers use it.
 */
#ifndef NVT_POOLS_H
#define NVT_POOLS_H

#include "../model/trace.h"

/* What a record says beyond its row of the model's memory. */
struct nvt_pool_word {
    uint64_t pool;       /* address, 0: of no pool */
    uint64_t used, size; /* bytes, of the pool, after it */
    int is_pool;         /* no allocation: an event of the pool itself */
};

/*
 * Fill the levels of rows 0 to count - 1 of the model's memory (all that there are) from the words of each, in the
 * order of time, then of rows: what the pools of a device said last, and single allocations that were not freed. Memory that is freed
 * and was not allocated in the trace was there from its beginning on, which a note says. A row
 * whose record has a level of the whole device keeps it. Sums wrap around where records are nonsense. 0, or -1 when out
 * of memory.
 */
int nvt_pools_follow(struct nvt_trace *trace, const struct nvt_pool_word *words);

#endif
