/*
 * Inside the reader of rocprofv3's JSON: what is found in a file (rocprofv3.c), and what it becomes (rocprofv3_rows.c).
 */
#ifndef NVT_ROCPROFV3_H
#define NVT_ROCPROFV3_H

#include "../../lib/buffer.h"
#include "rocm.h"

/* Numbers of an item, of whatever list. */
enum nvt_v3_number {
    NVT_V3_ID, /* an agent's, a counter's, a message's */
    NVT_V3_TYPE,
    NVT_V3_INDEX,
    NVT_V3_KIND,
    NVT_V3_OPERATION,
    NVT_V3_THREAD,
    NVT_V3_CORRELATION,
    NVT_V3_START,
    NVT_V3_END,
    NVT_V3_AGENT,
    NVT_V3_SOURCE,
    NVT_V3_TARGET,
    NVT_V3_QUEUE,
    NVT_V3_STREAM,
    NVT_V3_KERNEL,
    NVT_V3_DISPATCH,
    NVT_V3_REGISTERS,
    NVT_V3_LDS,
    NVT_V3_GROUP, /* three of them */
    NVT_V3_GRID = NVT_V3_GROUP + 3,
    NVT_V3_BYTES = NVT_V3_GRID + 3,
    NVT_V3_ADDRESS,
    NVT_V3_NUMBERS
};

/* Texts of an item: strings, 0 where there is none. The later ones are better names. */
enum nvt_v3_text {
    NVT_V3_NAME,
    NVT_V3_PRODUCT,
    NVT_V3_MANGLED,
    NVT_V3_FORMATTED,
    NVT_V3_DEMANGLED,
    NVT_V3_TEXTS
};

/* Lists of a process. Of those that are not read, items are counted. */
enum nvt_v3_list {
    NVT_V3_AGENTS,
    NVT_V3_COUNTERS,
    NVT_V3_KINDS, /* names of kinds of records and of their operations */
    NVT_V3_MESSAGES,
    NVT_V3_SYMBOLS,
    NVT_V3_CALLS,
    NVT_V3_KERNELS,
    NVT_V3_COPIES,
    NVT_V3_ALLOCATIONS,
    NVT_V3_COUNTS,
    NVT_V3_LISTS,
    NVT_V3_UNREAD = NVT_V3_LISTS
};

struct nvt_v3_item {
    uint32_t have; /* bit i: number[i] was there */
    uint64_t number[NVT_V3_NUMBERS];
    uint32_t text[NVT_V3_TEXTS];
    /* of a kind, its operations in `operations`; of counts, theirs in `values` */
    uint32_t first, count;
};

struct nvt_v3_value {
    uint64_t counter;
    double value;
};

/* A process of the file. Zero-initialise; release with nvt_v3_free. */
struct nvt_v3 {
    struct nvt_trace *trace;
    uint64_t pid;
    uint32_t command;
    struct nvt_buffer lists[NVT_V3_LISTS]; /* of struct nvt_v3_item */
    struct nvt_buffer operations;          /* strings */
    struct nvt_buffer values;              /* of struct nvt_v3_value */
    uint64_t untimed;                      /* records that were left out, of all processes */
};

/* Put what was found into the trace, and forget it. 0, or -1 when out of memory. */
int nvt_v3_add(struct nvt_v3 *file);
void nvt_v3_free(struct nvt_v3 *file);

static inline uint64_t nvt_v3_get(const struct nvt_v3_item *item, unsigned number, uint64_t missing)
{
    return item->have >> number & 1 ? item->number[number] : missing;
}

#endif
