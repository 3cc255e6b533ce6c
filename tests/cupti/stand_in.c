/* See stand_in.h: a stand-in for libcupti and a device, for tests. None of it is NVIDIA's. */
#ifdef HAVE_CUPTI

#include "stand_in.h"

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    CUpti_TimestampCallbackFunc timestamp;
    CUpti_CallbackFunc callback;
    int thread_ids;
    uint8_t on[64];         /* kinds */
    uint8_t calls[2][4096]; /* single calls: driver, runtime */
    uint8_t callbacks[8][4096];
    uint8_t *buffer;
    size_t size, used;
    int incomplete; /* records in the buffer that never end */
    uint64_t dropping, dropped;
    uint32_t correlation;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- time: another clock than ours, which runs 100 parts in a million fast --- */

static uint64_t own_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return UINT64_C(1700000000000000000) + ns + ns / 10000;
}

static uint64_t now(void)
{
    return state.timestamp ? state.timestamp() : own_time();
}

/* $STAND_IN_REFUSES names what this device's CUPTI cannot do. */
static int refuses(const char *what)
{
    const char *list = getenv("STAND_IN_REFUSES");
    return list && strstr(list, what) != NULL;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = now();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
    if (refuses("clock"))
        return CUPTI_ERROR_NOT_SUPPORTED;
    state.timestamp = function;
    return CUPTI_SUCCESS;
}

/* --- settings --- */

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = refuses("version") ? 14 : CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text =
        result == CUPTI_ERROR_NOT_SUPPORTED ? "CUPTI_ERROR_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    state.thread_ids = (int)type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t thread, uint32_t *id)
{
    (void)context;
    (void)thread;
    *id = (uint32_t)(uintptr_t)stream % 1000;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)context % 1000;
    return CUPTI_SUCCESS;
}

static const char *const runtime_names[] = {
    [CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000] = "cudaLaunchKernel_v7000",
    [CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020] = "cudaMalloc_v3020",
    [CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020] = "cudaDeviceSynchronize_v3020",
    [CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020] = "cudaGetDevice_v3020",
};
static const char *const driver_names[] = {
    [CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel] = "cuLaunchKernel",
    [CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2] = "cuMemcpyHtoDAsync_v2",
    [CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent] = "cuCtxGetCurrent",
};

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    int runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    size_t count =
        runtime ? sizeof(runtime_names) / sizeof(char *) : sizeof(driver_names) / sizeof(char *);
    *name = id < count ? (runtime ? runtime_names : driver_names)[id] : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    state.requested = requested;
    state.completed = completed;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if ((unsigned)kind >= sizeof(state.on) ||
        (kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL && refuses("pools")))
        return CUPTI_ERROR_NOT_SUPPORTED;
    state.on[kind] = 1;
    /* The kind has the last word about single calls. */
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memset(state.calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME], 1, sizeof(state.calls[0]));
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    state.on[kind] = 0;
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memset(state.calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME], 0, sizeof(state.calls[0]));
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
    if (refuses("choice"))
        return CUPTI_ERROR_NOT_SUPPORTED;
    state.calls[1][id] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
    if (refuses("choice"))
        return CUPTI_ERROR_NOT_SUPPORTED;
    state.calls[0][id] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                           void *data)
{
    (void)data;
    if (refuses("subscriber"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *subscriber = (CUpti_SubscriberHandle)&state;
    state.callback = callback;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    state.callbacks[domain][id] = (uint8_t)enable;
    return CUPTI_SUCCESS;
}

/* --- buffers --- */

static size_t size_of(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return sizeof(CUpti_ActivityContext3);
    default:
        return 0;
    }
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + size_of(*record) : buffer;
    if (next >= buffer + size)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return size_of(*record) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

/* Called with the lock held, which is let go meanwhile: the callbacks may take their time. */
static void hand_back(void)
{
    uint8_t *buffer = state.buffer;
    size_t size = state.size, used = state.used;
    state.buffer = NULL;
    state.used = state.size = 0;
    state.incomplete = 0;
    pthread_mutex_unlock(&state.lock);
    state.completed(NULL, 0, buffer, size, used);
    pthread_mutex_lock(&state.lock);
}

static void put(const void *record, size_t size, int complete)
{
    size_t most = 0;
    pthread_mutex_lock(&state.lock);
    if (state.buffer && state.used + size > state.size)
        hand_back();
    if (state.dropping) {
        state.dropping--;
        state.dropped++;
    } else {
        if (!state.buffer)
            state.requested(&state.buffer, &state.size, &most);
        if (state.buffer && state.used + size <= state.size) {
            memcpy(state.buffer + state.used, record, size);
            state.used += size;
            state.incomplete += !complete;
        } else {
            state.dropped++;
        }
    }
    pthread_mutex_unlock(&state.lock);
}

#define PUT(record) put(&(record), sizeof(record), 1)

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    pthread_mutex_lock(&state.lock);
    /* Without force, a buffer with a record that has not ended stays here. */
    if (state.buffer && state.used &&
        (!state.incomplete || flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
        hand_back();
    pthread_mutex_unlock(&state.lock);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    pthread_mutex_lock(&state.lock);
    *dropped = state.dropped;
    state.dropped = 0;
    pthread_mutex_unlock(&state.lock);
    return CUPTI_SUCCESS;
}

/* --- what the made-up device does --- */

static uint32_t thread_id(void)
{
    return state.thread_ids == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
               ? (uint32_t)syscall(SYS_gettid)
               : (uint32_t)(uintptr_t)pthread_self();
}

static void call(int runtime, uint32_t id, uint64_t start, uint32_t correlation)
{
    if (!state.calls[runtime][id])
        return;
    CUpti_ActivityAPI record = {.kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                : CUPTI_ACTIVITY_KIND_DRIVER,
                                .cbid = id,
                                .start = start,
                                .end = now(),
                                .processId = (uint32_t)getpid(),
                                .threadId = thread_id(),
                                .correlationId = correlation};
    PUT(record);
}

void stand_in_launch(const char *name, uint64_t ns, int complete);
void stand_in_launch(const char *name, uint64_t ns, int complete)
{
    uint64_t start = now();
    uint32_t correlation = __atomic_add_fetch(&state.correlation, 1, __ATOMIC_RELAXED);
    call(1, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, start, correlation + 1000000);
    call(1, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, start, correlation);
    if (!state.on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        return;
    uint64_t begins = now();
    CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .registersPerThread = 40,
                                     .start = complete ? begins : 0,
                                     .end = complete ? begins + ns : 0,
                                     .contextId = 1,
                                     .streamId = 7,
                                     .gridX = 2,
                                     .gridY = 3,
                                     .gridZ = 4,
                                     .blockX = 32,
                                     .blockY = 2,
                                     .blockZ = 1,
                                     .staticSharedMemory = 128,
                                     .dynamicSharedMemory = 256,
                                     .localMemoryTotal_v2 = 4096,
                                     .correlationId = correlation,
                                     .name = name,
                                     .graphId = 5,
                                     .graphNodeId = 9};
    put(&kernel, sizeof(kernel), complete);
}

void stand_in_copy(uint64_t bytes, uint64_t ns);
void stand_in_copy(uint64_t bytes, uint64_t ns)
{
    uint64_t at = now();
    uint32_t correlation = __atomic_add_fetch(&state.correlation, 1, __ATOMIC_RELAXED);
    CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                  .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                  .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                  .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .bytes = bytes,
                                  .start = at,
                                  .end = at + ns,
                                  .streamId = 7,
                                  .contextId = 1,
                                  .correlationId = correlation};
    call(0, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, at, correlation);
    if (state.on[CUPTI_ACTIVITY_KIND_MEMCPY])
        PUT(copy);
}

static void copies(uint64_t at)
{
    CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                  .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                  .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                  .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .bytes = 1 << 20,
                                  .start = at,
                                  .end = at + 100,
                                  .streamId = 7,
                                  .contextId = 1};
    CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                 .value = 7,
                                 .bytes = 4096,
                                 .start = at + 200,
                                 .end = at + 250,
                                 .streamId = 7,
                                 .contextId = 1,
                                 .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE};
    if (state.on[CUPTI_ACTIVITY_KIND_MEMCPY])
        PUT(copy);
    if (state.on[CUPTI_ACTIVITY_KIND_MEMSET])
        PUT(set);
}

static void memory(uint64_t at)
{
    uint32_t correlation = __atomic_add_fetch(&state.correlation, 1, __ATOMIC_RELAXED);
    CUpti_ActivityMemory4 single = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                                    .memoryOperationType =
                                        CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                                    .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                    .correlationId = correlation,
                                    .address = 0x1000,
                                    .bytes = 1000,
                                    .timestamp = at};
    CUpti_ActivityMemory4 pooled = single;
    pooled.address = 0x2000;
    pooled.bytes = 300;
    pooled.timestamp = at + 10;
    pooled.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    pooled.memoryPoolConfig.address = 0x9000;
    pooled.memoryPoolConfig.pool.size = 2000;
    pooled.memoryPoolConfig.utilizedSize = 300;
    CUpti_ActivityMemoryPool3 trim = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                      .memoryPoolOperationType =
                                          CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
                                      .address = 0x9000,
                                      .size = 500,
                                      .utilizedSize = 300,
                                      .timestamp = at + 20};
    call(1, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, at, correlation);
    if (state.on[CUPTI_ACTIVITY_KIND_MEMORY2]) {
        PUT(single);
        PUT(pooled);
    }
    if (state.on[CUPTI_ACTIVITY_KIND_MEMORY_POOL])
        PUT(trim);
}

static void others(uint64_t at)
{
    CUpti_ActivitySynchronization2 wait = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
        .start = at,
        .end = at + 30,
        .contextId = 1,
        .streamId = 7};
    CUpti_ActivityOverhead3 overhead = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                        .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE,
                                        .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                                        .start = at,
                                        .end = at + 40};
    overhead.objectId.pt.threadId = thread_id();
    CUpti_ActivityExternalCorrelation external = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                  .externalKind =
                                                      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                  .externalId = 77,
                                                  .correlationId = 1};
    CUpti_ActivityGraphTrace2 graph = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                       .start = at,
                                       .end = at + 50,
                                       .graphId = 5,
                                       .contextId = 1,
                                       .streamId = 7};
    CUpti_ActivityDevice5 device = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
                                    .globalMemorySize = UINT64_C(1) << 34,
                                    .numMultiprocessors = 12,
                                    .name = "stand-in"};
    CUpti_ActivityContext3 context = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = 1};
    if (state.on[CUPTI_ACTIVITY_KIND_DEVICE])
        PUT(device);
    if (state.on[CUPTI_ACTIVITY_KIND_CONTEXT])
        PUT(context);
    if (state.on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
        PUT(wait);
    if (state.on[CUPTI_ACTIVITY_KIND_OVERHEAD])
        PUT(overhead);
    if (state.on[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION])
        PUT(external);
    if (state.on[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
        PUT(graph);
}

void stand_in_everything(void);
void stand_in_everything(void)
{
    uint64_t at = now();
    others(at);
    copies(at);
    memory(at);
    call(0, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, at, 2000000);
    call(0, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, at, 2000001);
    call(1, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, at, 2000002);
}

static void tell(CUpti_CallbackDomain domain, uint32_t id, CUpti_ApiCallbackSite site)
{
    CUpti_CallbackData data = {.callbackSite = site};
    if (state.callback && state.callbacks[domain][id])
        state.callback(NULL, domain, id, &data);
}

void stand_in_profiler(int start);
void stand_in_profiler(int start)
{
    uint32_t id =
        start ? CUPTI_DRIVER_TRACE_CBID_cuProfilerStart : CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;
    tell(CUPTI_CB_DOMAIN_DRIVER_API, id, CUPTI_API_ENTER);
    tell(CUPTI_CB_DOMAIN_DRIVER_API, id, CUPTI_API_EXIT);
}

void stand_in_reset(void);
void stand_in_reset(void)
{
    tell(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020,
         CUPTI_API_ENTER);
    pthread_mutex_lock(&state.lock);
    state.used = 0;
    pthread_mutex_unlock(&state.lock);
    tell(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020,
         CUPTI_API_EXIT);
}

void stand_in_drop(uint64_t count);
void stand_in_drop(uint64_t count)
{
    pthread_mutex_lock(&state.lock);
    state.dropping = count;
    pthread_mutex_unlock(&state.lock);
}

#else
/* Nothing without CUPTI's headers. */
typedef int nvt_stand_in_is_empty;
#endif
