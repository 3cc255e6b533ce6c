/* Records of what really ran: calls, and what a device of tests/emulated did. */
#ifdef HAVE_CUPTI

#include "stand_in_internal.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t stand_in_thread(void)
{
    return stand_in.thread_ids == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
               ? (uint32_t)syscall(SYS_gettid)
               : (uint32_t)(uintptr_t)pthread_self();
}

/* As CUPTI 13.0: where no single call was asked for when the driver came up, only kinds make records of calls. */
static void hear(void)
{
    pthread_mutex_lock(&stand_in.lock);
    for (int i = 0; i < 2 && !stand_in.was_called; i++)
        stand_in.heard[i] = memchr(stand_in.calls[i], 1, sizeof(stand_in.calls[i])) != NULL;
    stand_in.was_called = 1;
    pthread_mutex_unlock(&stand_in.lock);
}

static int is_wanted(int runtime, uint32_t id)
{
    if (!stand_in.was_called)
        hear();
    return stand_in.calls[runtime][id] &&
           (stand_in.heard[runtime] ||
            stand_in.on[runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER]);
}

void stand_in_record_call(int runtime, uint32_t id, uint64_t start, uint32_t correlation)
{
    if (!is_wanted(runtime, id))
        return;
    CUpti_ActivityAPI record = {.kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                : CUPTI_ACTIVITY_KIND_DRIVER,
                                .cbid = id,
                                .start = start,
                                .end = stand_in_now(),
                                .processId = (uint32_t)getpid(),
                                .threadId = stand_in_thread(),
                                .correlationId = correlation};
    PUT(record);
}

/* --- of a device that really runs something --- */

/* Numbers of streams, by their handles: those that tests make up have theirs in them. */
uint32_t stand_in_stream(const void *handle)
{
    enum { MOST = 128 };
    static const void *known[MOST];
    uint32_t id = 0;
    if ((uintptr_t)handle < 1000000)
        return (uint32_t)(uintptr_t)handle % 1000;
    pthread_mutex_lock(&stand_in.lock);
    while (id < MOST - 1 && known[id] && known[id] != handle)
        id++;
    known[id] = handle;
    pthread_mutex_unlock(&stand_in.lock);
    return 13 + id;
}

uint32_t stand_in_correlation(void);
uint32_t stand_in_correlation(void)
{
    return __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED);
}

void stand_in_call(const char *function, uint64_t start, uint32_t correlation);
void stand_in_call(const char *function, uint64_t start, uint32_t correlation)
{
    uint32_t id = stand_in_call_id(function);
    if (id)
        stand_in_record_call(1, id, start, correlation);
}

/* What the records of all operations have. */
#define FROM_STREAM(of)                                                                            \
    .start = (of)->start, .end = (of)->end, .deviceId = (of)->device,                              \
    .contextId = (of)->device + 1, .streamId = stand_in_stream((of)->stream),                      \
    .correlationId = (of)->correlation, .graphId = (of)->graph, .graphNodeId = (of)->node

static void put_kernel(const struct stand_in_operation *of)
{
    CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .gridX = (int32_t)of->blocks,
                                     .gridY = 1,
                                     .gridZ = 1,
                                     .blockX = (int32_t)of->threads,
                                     .blockY = 1,
                                     .blockZ = 1,
                                     .name = of->name,
                                     FROM_STREAM(of)};
    PUT(kernel);
}

static void put_copy(const struct stand_in_operation *of)
{
    CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                  .copyKind = of->to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                          : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                  .srcKind = of->to_host ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
                                                         : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                  .dstKind = of->to_host ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE
                                                         : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .bytes = of->bytes,
                                  FROM_STREAM(of)};
    PUT(copy);
}

static void put_peer_copy(const struct stand_in_operation *of)
{
    CUpti_ActivityMemcpyPtoP4 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                      .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                      .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                      .bytes = of->bytes,
                                      .srcDeviceId = of->from_device,
                                      .srcContextId = of->from_device + 1,
                                      .dstDeviceId = of->to_device,
                                      .dstContextId = of->to_device + 1,
                                      FROM_STREAM(of)};
    PUT(copy);
}

static void put_set(const struct stand_in_operation *of)
{
    CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                 .bytes = of->bytes,
                                 .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                 FROM_STREAM(of)};
    PUT(set);
}

void stand_in_operation(const struct stand_in_operation *of);
void stand_in_operation(const struct stand_in_operation *of)
{
    if (of->kind == STAND_IN_KERNEL && stand_in.on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        put_kernel(of);
    if (of->kind == STAND_IN_COPY && stand_in.on[CUPTI_ACTIVITY_KIND_MEMCPY])
        put_copy(of);
    if (of->kind == STAND_IN_PEER_COPY && stand_in.on[CUPTI_ACTIVITY_KIND_MEMCPY2])
        put_peer_copy(of);
    if (of->kind == STAND_IN_SET && stand_in.on[CUPTI_ACTIVITY_KIND_MEMSET])
        put_set(of);
}

void stand_in_memory(const struct stand_in_memory *of);
void stand_in_memory(const struct stand_in_memory *of)
{
    CUpti_ActivityMemory4 memory = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                                    .memoryOperationType =
                                        of->taken ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                  : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                                    .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                    .correlationId = of->correlation,
                                    .address = of->address,
                                    .bytes = of->bytes,
                                    .timestamp = stand_in_now(),
                                    .processId = (uint32_t)getpid(),
                                    .deviceId = of->device,
                                    .contextId = of->device + 1,
                                    .streamId = stand_in_stream(of->stream),
                                    .isAsync = (uint32_t)of->pooled};
    if (of->pooled) {
        memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        memory.memoryPoolConfig.address = 0x9000;
        memory.memoryPoolConfig.pool.size = of->pool_bytes;
        memory.memoryPoolConfig.utilizedSize = of->pool_used;
    }
    if (stand_in.on[CUPTI_ACTIVITY_KIND_MEMORY2])
        PUT(memory);
}

void stand_in_wait(uint32_t device, const void *stream, uint64_t start, uint32_t correlation);
void stand_in_wait(uint32_t device, const void *stream, uint64_t start, uint32_t correlation)
{
    CUpti_ActivitySynchronization2 wait = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = stream ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE
                       : CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
        .start = start,
        .end = stand_in_now(),
        .correlationId = correlation,
        .contextId = device + 1,
        .streamId = stream ? stand_in_stream(stream) : CUPTI_SYNCHRONIZATION_INVALID_VALUE};
    if (stand_in.on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
        PUT(wait);
}

void stand_in_event(uint32_t device, const void *stream, uint32_t event, uint32_t correlation);
void stand_in_event(uint32_t device, const void *stream, uint32_t event, uint32_t correlation)
{
    CUpti_ActivityCudaEvent2 record = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                       .correlationId = correlation,
                                       .contextId = device + 1,
                                       .streamId = stand_in_stream(stream),
                                       .eventId = event};
    if (stand_in.on[CUPTI_ACTIVITY_KIND_CUDA_EVENT])
        PUT(record);
}

void stand_in_let_wait(uint32_t device, const void *stream, uint32_t event, uint64_t start,
                       uint32_t correlation);
void stand_in_let_wait(uint32_t device, const void *stream, uint32_t event, uint64_t start,
                       uint32_t correlation)
{
    CUpti_ActivitySynchronization2 wait = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
        .start = start,
        .end = stand_in_now(),
        .correlationId = correlation,
        .contextId = device + 1,
        .streamId = stand_in_stream(stream),
        .cudaEventId = event};
    if (stand_in.on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
        PUT(wait);
}

#else
/* Nothing without CUPTI's headers. */
typedef int nvt_calls_is_empty;
#endif
