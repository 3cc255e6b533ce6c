/*
 * NVTX's memory extension: heaps that a program divides into regions, as allocators with pools announce them. A heap's
 * handle is the address of its memory, a region's its own address, as NVTX's header has it, and the reader follows what lies
 * where (analyze/readers/nvt_heaps.c). Here it is kept only for a recording that may begin late (heaps.h).
 *
 * Permissions are for tools that check accesses; of them nothing is recorded.
 */
#include <nvtx3/nvToolsExtMem.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/heap_payload.h"
#include "events.h"
#include "heaps.h"
#include "modules.h"

/* Handles of what has no address: no pointer is that low. */
static _Atomic uintptr_t next_handle = 1;

static void record(nvtxDomainHandle_t domain, const struct nvt_heap_said *said,
                   uint32_t message_type, nvtxMessageValue_t message)
{
    if (nvt_heaps_watch)
        nvt_heaps_take(domain, said, message_type, message);
    else
        nvt_heaps_record(domain, said, message_type, message, 0);
}

static void record_nameless(nvtxDomainHandle_t domain, const struct nvt_heap_said *said)
{
    const nvtxMessageValue_t none = {NULL};
    record(domain, said, NVTX_MESSAGE_UNKNOWN, none);
}

static uint64_t number_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* --- heaps --- */

static nvtxMemHeapHandle_t register_heap(nvtxDomainHandle_t domain, const nvtxMemHeapDesc_t *desc)
{
    struct nvt_heap_said said = {.operation = NVT_HEAP_REGISTER};
    if (!desc || desc->structSize < sizeof(*desc))
        return NVTX_MEM_HEAP_HANDLE_NO_TOOL;
    /* Of other types of memory nothing is known here, but for the name and what lies in it. */
    if (desc->type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS && desc->typeSpecificDesc &&
        desc->typeSpecificDescSize >= sizeof(nvtxMemVirtualRangeDesc_t)) {
        const nvtxMemVirtualRangeDesc_t *range = desc->typeSpecificDesc;
        said.address = number_of(range->ptr);
        said.bytes = range->size;
    }
    said.heap = said.address ? said.address : atomic_fetch_add(&next_handle, 1);
    record(domain, &said, desc->messageType, desc->message);
    return (nvtxMemHeapHandle_t)(uintptr_t)said.heap;
}

static void end_heap(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    const struct nvt_heap_said said = {.operation = NVT_HEAP_UNREGISTER, .heap = number_of(heap)};
    record_nameless(domain, &said);
}

static void reset_heap(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    const struct nvt_heap_said said = {.operation = NVT_HEAP_RESET, .heap = number_of(heap)};
    record_nameless(domain, &said);
}

/* --- regions --- */

/* Descriptions of regions of a batch: those of virtual memory, at least as large as known here. */
struct batch {
    const char *elements;
    size_t count, size;
};

static int is_batch(const struct batch *batch, size_t least)
{
    return batch->elements && batch->size >= least;
}

static void record_regions(nvtxDomainHandle_t domain, const struct batch *batch,
                           enum nvt_heap_operation operation, nvtxMemHeapHandle_t heap)
{
    for (size_t i = 0; i < batch->count; i++) {
        nvtxMemVirtualRangeDesc_t region;
        memcpy(&region, batch->elements + i * batch->size, sizeof(region));
        const struct nvt_heap_said said = {operation, number_of(heap), number_of(region.ptr),
                                           region.size};
        record_nameless(domain, &said);
    }
}

static void add_regions(nvtxDomainHandle_t domain, const nvtxMemRegionsRegisterBatch_t *desc)
{
    if (!desc || desc->structSize < sizeof(*desc) ||
        desc->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS)
        return;
    const struct batch batch = {desc->regionDescElements, desc->regionCount,
                                desc->regionDescElementSize};
    if (!is_batch(&batch, sizeof(nvtxMemVirtualRangeDesc_t)))
        return;
    for (size_t i = 0; desc->regionHandleElementsOut && i < batch.count; i++) {
        nvtxMemVirtualRangeDesc_t region;
        memcpy(&region, batch.elements + i * batch.size, sizeof(region));
        desc->regionHandleElementsOut[i] = (nvtxMemRegionHandle_t)(uintptr_t)number_of(region.ptr);
    }
    record_regions(domain, &batch, NVT_HEAP_ADD_REGION, desc->heap);
}

static void resize_regions(nvtxDomainHandle_t domain, const nvtxMemRegionsResizeBatch_t *desc)
{
    if (!desc || desc->structSize < sizeof(*desc) ||
        desc->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS)
        return;
    const struct batch batch = {desc->regionDescElements, desc->regionDescCount,
                                desc->regionDescElementSize};
    if (is_batch(&batch, sizeof(nvtxMemVirtualRangeDesc_t)))
        record_regions(domain, &batch, NVT_HEAP_RESIZE_REGION, NULL);
}

/* By pointer or by handle, which are the same number here. */
static void remove_regions(nvtxDomainHandle_t domain, const nvtxMemRegionsUnregisterBatch_t *desc)
{
    if (!desc || desc->structSize < sizeof(*desc))
        return;
    const struct batch batch = {(const char *)desc->refElements, desc->refCount,
                                desc->refElementSize};
    for (size_t i = 0; is_batch(&batch, sizeof(nvtxMemRegionRef_t)) && i < batch.count; i++) {
        nvtxMemRegionRef_t region;
        memcpy(&region, batch.elements + i * batch.size, sizeof(region));
        const struct nvt_heap_said said = {.operation = NVT_HEAP_REMOVE_REGION,
                                           .address = number_of(region.pointer)};
        record_nameless(domain, &said);
    }
}

static void name_regions(nvtxDomainHandle_t domain, const nvtxMemRegionsNameBatch_t *desc)
{
    if (!desc || desc->structSize < sizeof(*desc))
        return;
    const struct batch batch = {(const char *)desc->regionElements, desc->regionCount,
                                desc->regionElementSize};
    for (size_t i = 0; is_batch(&batch, sizeof(nvtxMemRegionNameDesc_t)) && i < batch.count; i++) {
        nvtxMemRegionNameDesc_t name;
        memcpy(&name, batch.elements + i * batch.size, sizeof(name));
        const struct nvt_heap_said said = {.operation = NVT_HEAP_NAME_REGION,
                                           .address = number_of(name.region.pointer)};
        record(domain, &said, name.nameType, name.name);
    }
}

/* --- permissions --- */

static nvtxMemPermissionsHandle_t create_permissions(nvtxDomainHandle_t domain, int32_t flags)
{
    (void)domain;
    (void)flags;
    return (nvtxMemPermissionsHandle_t)atomic_fetch_add(&next_handle, 1);
}

static const struct nvt_callback callbacks[] = {
    {NVTX3EXT_CBID_nvtxMemHeapRegister, (NvtxFunctionPointer)register_heap},
    {NVTX3EXT_CBID_nvtxMemHeapUnregister, (NvtxFunctionPointer)end_heap},
    {NVTX3EXT_CBID_nvtxMemHeapReset, (NvtxFunctionPointer)reset_heap},
    {NVTX3EXT_CBID_nvtxMemRegionsRegister, (NvtxFunctionPointer)add_regions},
    {NVTX3EXT_CBID_nvtxMemRegionsResize, (NvtxFunctionPointer)resize_regions},
    {NVTX3EXT_CBID_nvtxMemRegionsUnregister, (NvtxFunctionPointer)remove_regions},
    {NVTX3EXT_CBID_nvtxMemRegionsName, (NvtxFunctionPointer)name_regions},
    {NVTX3EXT_CBID_nvtxMemPermissionsCreate, (NvtxFunctionPointer)create_permissions},
};

const struct nvt_extension nvt_extension_memory = {NVTX_EXT_MODULEID_MEM, callbacks,
                                                   NVT_COUNT_OF(callbacks)};
