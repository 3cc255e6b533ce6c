/*
 * The decoder of CUPTI's buffers, on kept buffers (NVTALLY_KEEP_BUFFERS) of any bytes. Which record follows which is asked of
 * a walk of this file: NVIDIA's trusts what it has written itself, and is not what is tested.
 */
#ifdef HAVE_CUPTI

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../collectors/cupti_decode.h"
#include "../../collectors/cupti_keep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the oldest structures that the decoder reads, so that what it reads behind one of them is noticed. */
static size_t size_of(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel8);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy5);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return sizeof(CUpti_ActivityCudaEvent);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizeof(CUpti_ActivityMemory3);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return sizeof(CUpti_ActivityMemoryPool2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return sizeof(CUpti_ActivityDevice4);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return sizeof(CUpti_ActivityContext);
    case CUPTI_ACTIVITY_KIND_STREAM:
        return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_NAME:
        return sizeof(CUpti_ActivityName);
    default:
        return 0;
    }
}

static CUptiResult next(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    uint8_t *at = *record ? (uint8_t *)*record + size_of(*record) : buffer;
    size_t left = size - (size_t)(at - buffer);
    if (left < 8)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    CUpti_Activity *there = (CUpti_Activity *)at;
    if (!size_of(there) || size_of(there) > left)
        return CUPTI_ERROR_INVALID_KIND;
    *record = there;
    return CUPTI_SUCCESS;
}

static CUptiResult callback_name(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    static const char *const names[] = {"cudaLaunchKernel_v7000", "cuLaunchKernel"};
    *name = names[domain == CUPTI_CB_DOMAIN_DRIVER_API];
    return id & 1 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static void full(void *rows, struct nvt_device_batch *batch)
{
    *(uint64_t *)rows += batch->rows;
    nvt_device_batch_clear(batch);
}

/* No record may get lost between the rows and those that are unknown. */
static void decode(uint8_t *buffer, size_t size, size_t room)
{
    uint64_t rows = 0, records = 0;
    const struct nvt_cupti_decoder decoder = {.next = next,
                                              .callback_name = callback_name,
                                              .full = full,
                                              .context = &rows,
                                              .release = free,
                                              .earliest = 1,
                                              .latest = UINT64_MAX / 2};
    struct nvt_device_batch batch;
    CUpti_Activity *record = NULL;
    void *memory = malloc(room);
    if (!memory)
        abort();
    CUptiResult result;
    while ((result = next(buffer, size, &record)) == CUPTI_SUCCESS)
        records++;
    nvt_device_batch_init(&batch, memory, room);
    uint64_t unknown = nvt_cupti_decode(&decoder, buffer, size, &batch);
    if (rows + batch.rows + unknown != records + (result != CUPTI_ERROR_MAX_LIMIT_REACHED))
        abort();
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    struct nvt_cupti_kept kept;
    if (file < 0) {
        file = memfd_create("kept", 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    uint8_t *whole = nvt_cupti_kept_read(path, next, &kept);
    if (!whole)
        return 0;
    decode(whole + sizeof(kept), (size_t)kept.size, 1024);
    decode(whole + sizeof(kept), (size_t)kept.size, 1 << 16);
    free(whole);
    return 0;
}

#else
/* Nothing without CUPTI's headers. */
typedef int nvt_fuzz_cupti_is_empty;
#endif
