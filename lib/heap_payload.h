/*
 * What NVTX's memory extension says (nvtx3/nvToolsExtMem.h), as the collector (collectors/inject/nvtx_memory.c) writes it and
 * the reader of traces (analyze/readers/nvt_heaps.c) reads it. Each is a sample of the counter NVT_SAMPLE_OF_HEAP, which no
 * program has: a mark with this as its extended payload, under the schema id 0. Its name is that of the heap, or of the region.
 */
#ifndef NVT_HEAP_PAYLOAD_H
#define NVT_HEAP_PAYLOAD_H

#include <stdint.h>

enum nvt_heap_operation {
    NVT_HEAP_REGISTER = 1, /* address, bytes: of the heap's memory */
    NVT_HEAP_UNREGISTER,
    NVT_HEAP_RESET,      /* it has no region any more */
    NVT_HEAP_ADD_REGION, /* address, bytes: of the region, as of the next one */
    NVT_HEAP_RESIZE_REGION,
    NVT_HEAP_REMOVE_REGION, /* address */
    NVT_HEAP_NAME_REGION,   /* address */
    NVT_HEAP_TOLD, /* a recording that began late now knows which heaps and regions there are. bytes: how many of them it
                      does not */
};

struct nvt_heap_said {
    uint64_t operation; /* enum nvt_heap_operation */
    /* its handle, the address of its memory; 0: the process's whole memory, or unknown */
    uint64_t heap;
    uint64_t address, bytes;
};

#endif
