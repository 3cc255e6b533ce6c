/*
 * Heaps and regions of NVTX's memory extension that there are, by number: what a recording that begins late has to be told (heaps.h).
 *
 * A table of fixed places in levels, each four times as large as the one before and made when that has no room: at most 349,520 places,
 * 22 MB. A number has two groups of places in each level. Takes no lock; a child of fork sees an empty table (MADV_WIPEONFORK). What
 * happens to one number happens one after the other, as a program frees memory before it takes it anew; who goes through the table may
 * see a number that is just being changed as it was before or as it is then.
 */
#ifndef NVT_INJECT_HEAP_TABLE_H
#define NVT_INJECT_HEAP_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "events.h"
#include "registry.h"

struct nvt_heap_place {
    _Atomic uint64_t number; /* the handle of a heap, the address of a region; 0: it is free */
    /* the recorder that knows of it, 0: none; NVT_HEAP_CHANGED: as it was once */
    _Atomic uint64_t told;
    _Atomic uint64_t heap, bytes, address;
    /* it has ended, and the recorder that knows of it does not know that */
    _Atomic uint64_t is_gone;
    _Atomic(nvtxDomainHandle_t) domain;
    _Atomic(const struct nvtxStringRegistration *) name; /* NULL: it has none */
};

#define NVT_HEAP_CHANGED (UINT64_C(1) << 63)
#define NVT_HEAP_LEVELS  4u

/* Zeros are an empty one. */
struct nvt_heap_table {
    struct nvt_heap_place *_Atomic levels[NVT_HEAP_LEVELS];
    _Atomic uint64_t lost; /* numbers that found no place */
};

/* Memory of that size that a child of fork sees as zeros. NULL: there is none. Leaves errno as it was. */
void *nvt_heap_pages(size_t bytes);

/* The place of a number; NULL: it has none. */
struct nvt_heap_place *nvt_heap_find(struct nvt_heap_table *table, uint64_t number);

/* Have these values at the number's place, or at a new one. The place, NULL: there is no room. */
struct nvt_heap_place *nvt_heap_put(struct nvt_heap_table *table, uint64_t number,
                                    const struct nvt_heap_place *values);

/* The place is free. */
void nvt_heap_clear(struct nvt_heap_place *place);

/* Call `visit` for each number that there is. */
void nvt_heap_each(struct nvt_heap_table *table,
                   void (*visit)(struct nvt_heap_place *place, uint64_t number, void *context),
                   void *context);

#endif
