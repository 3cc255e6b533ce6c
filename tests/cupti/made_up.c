/* Records that were made up: what tests/test_cupti.c and others expect. */
#ifdef HAVE_CUPTI

#include "stand_in_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/count_of.h"

void stand_in_launch(const char *name, uint64_t ns, int complete);
void stand_in_launch(const char *name, uint64_t ns, int complete)
{
    uint64_t start = stand_in_now();
    uint32_t correlation = __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED);
    stand_in_record_call(1, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, start,
                         correlation + 1000000);
    stand_in_record_call(1, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, start, correlation);
    if (!stand_in.on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        return;
    /* With $STAND_IN_CLOCK as CUPTI has it where it does not ask for the time that it should. */
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    uint64_t begins = getenv("STAND_IN_CLOCK")
                          ? (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec
                          : stand_in_now();
    int has_times = complete || getenv("STAND_IN_ENDS");
    CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .registersPerThread = 40,
                                     .start = has_times ? begins : 0,
                                     .end = has_times ? begins + ns : 0,
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
    stand_in_put(&kernel, sizeof(kernel), complete);
}

void stand_in_copy(uint64_t bytes, uint64_t ns);
void stand_in_copy(uint64_t bytes, uint64_t ns)
{
    uint64_t at = stand_in_now();
    uint32_t correlation = __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED);
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
    stand_in_record_call(0, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, at, correlation);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_MEMCPY])
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
    if (stand_in.on[CUPTI_ACTIVITY_KIND_MEMCPY])
        PUT(copy);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_MEMSET])
        PUT(set);
}

static void memory(uint64_t at)
{
    uint32_t correlation = __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED);
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
    stand_in_record_call(1, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, at, correlation);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_MEMORY2]) {
        PUT(single);
        PUT(pooled);
    }
    if (stand_in.on[CUPTI_ACTIVITY_KIND_MEMORY_POOL])
        PUT(trim);
}

/* Pages come to the device by a fault of the host and one of the device, and go back. */
static void managed(uint64_t at)
{
    CUpti_ActivityUnifiedMemoryCounter3 counter = {.kind =
                                                       CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
                                                   .address = 0x7f0000200000,
                                                   .processId = (uint32_t)getpid()};
    static const struct {
        uint64_t start, end, value;
        CUpti_ActivityUnifiedMemoryCounterKind kind;
        uint32_t source, target, flags;
    } all[] = {
        {10, 0, 0x4005d0, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, 9, 9, 2},
        {20, 50, 7, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 0, 9, 1},
        {30, 40, 65536, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, UINT32_MAX,
         0, 2},
        {60, 80, 4096, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 0,
         UINT32_MAX, 4},
        {90, 0, 2 << 20, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING, 3, 9, 0},
        {95, 99, 0, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING, 0, 9, 0},
        {100, 0, 65536, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP, 0, UINT32_MAX, 2},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++) {
        counter.counterKind = all[i].kind;
        counter.start = at + all[i].start;
        counter.end = all[i].end ? at + all[i].end : 0;
        counter.value = all[i].value;
        counter.srcId = all[i].source;
        counter.dstId = all[i].target;
        counter.flags = all[i].flags;
        if (stand_in.on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] &&
            stand_in.counters[all[i].kind])
            PUT(counter);
    }
}

#define SYNC_CORRELATION 2000002

static void others(uint64_t at)
{
    CUpti_ActivitySynchronization2 wait = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
        .start = at,
        .end = at + 30,
        .correlationId = SYNC_CORRELATION,
        .contextId = 1,
        .streamId = 7};
    CUpti_ActivityOverhead3 overhead = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                        .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE,
                                        .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                                        .start = at,
                                        .end = at + 40};
    overhead.objectId.pt.threadId = stand_in_thread();
    CUpti_ActivitySynchronization2 question = wait; /* has not ended */
    question.returnValue = CUDA_ERROR_NOT_READY;
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
                                    .computeCapabilityMajor = 9,
                                    .name = "stand-in",
                                    .isCudaVisible = 1};
    /* CUDA_VISIBLE_DEVICES has left it out; its number may be that of another one. */
    CUpti_ActivityDevice5 hidden = {.kind = CUPTI_ACTIVITY_KIND_DEVICE, .name = "hidden"};
    memset(&device.uuid, 0x5f, sizeof(device.uuid));
    memset(&hidden.uuid, 0x11, sizeof(hidden.uuid));
    CUpti_ActivityContext3 context = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = 1};
    if (stand_in.on[CUPTI_ACTIVITY_KIND_DEVICE]) {
        PUT(hidden);
        PUT(device);
    }
    if (stand_in.on[CUPTI_ACTIVITY_KIND_CONTEXT])
        PUT(context);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
        PUT(wait);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] && !stand_in.wants_answers)
        PUT(question);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_OVERHEAD])
        PUT(overhead);
    /* It comes in front of a call's. */
    if (stand_in.on[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] &&
        stand_in.calls[1][CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000])
        PUT(external);
    if (stand_in.on[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
        PUT(graph);
}

void stand_in_everything(void);
void stand_in_everything(void)
{
    uint64_t at = stand_in_now();
    others(at);
    copies(at);
    memory(at);
    managed(at);
    stand_in_record_call(0, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, at, 2000000);
    stand_in_record_call(0, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, at, 2000001);
    stand_in_record_call(1, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, at,
                         SYNC_CORRELATION);
}

static void tell(CUpti_CallbackDomain domain, uint32_t id, CUpti_ApiCallbackSite site)
{
    CUpti_CallbackData data = {.callbackSite = site};
    if (stand_in.callback && stand_in.callbacks[domain][id])
        stand_in.callback(NULL, domain, id, &data);
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
    static const struct {
        const char *name;
        CUpti_CallbackDomain domain;
        uint32_t id;
    } calls[] = {
        {"cuCtxDestroy", CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2},
        {"cuDevicePrimaryCtxReset", CUPTI_CB_DOMAIN_DRIVER_API,
         CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2},
        {"cuDevicePrimaryCtxRelease", CUPTI_CB_DOMAIN_DRIVER_API,
         CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2},
        {"cudaDeviceReset", CUPTI_CB_DOMAIN_RUNTIME_API,
         CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020}};
    const char *wanted = getenv("STAND_IN_RESETS");
    size_t i = 0, last = NVT_COUNT_OF(calls) - 1;
    while (i < last && (!wanted || strcmp(calls[i].name, wanted)))
        i++;
    tell(calls[i].domain, calls[i].id, CUPTI_API_ENTER);
    pthread_mutex_lock(&stand_in.lock);
    stand_in.used = 0;
    stand_in.incomplete = 0;
    pthread_mutex_unlock(&stand_in.lock);
    tell(calls[i].domain, calls[i].id, CUPTI_API_EXIT);
}

/* As CUPTI does: often, and once more. */
void stand_in_warn(void);
void stand_in_warn(void)
{
    CUpti_StateData state = {
        .notification = {CUPTI_ERROR_NOT_SUPPORTED, "a stand-in has its reasons"}};
    const CUpti_CallbackId ids[] = {CUPTI_CBID_STATE_WARNING, CUPTI_CBID_STATE_FATAL_ERROR};
    for (int i = 0; i < 10; i++) {
        const CUpti_CallbackId id = ids[i == 1];
        if (i == 2)
            state.notification.message = NULL;
        if (stand_in.callback && stand_in.callbacks[CUPTI_CB_DOMAIN_STATE][id])
            stand_in.callback(NULL, CUPTI_CB_DOMAIN_STATE, id, &state);
    }
}

static void go_down(void)
{
    stand_in.is_down = 1;
}

void stand_in_come_up(unsigned us);
void stand_in_come_up(unsigned us)
{
    CUpti_ActivityDevice5 device = {
        .kind = CUPTI_ACTIVITY_KIND_DEVICE, .name = "stand-in", .isCudaVisible = 1};
    stand_in.coming_up = 1;
    if (stand_in.on[CUPTI_ACTIVITY_KIND_DEVICE])
        PUT(device);
    usleep(us);
    atexit(go_down);
    stand_in.coming_up = 0;
}

void stand_in_drop(uint64_t count);
void stand_in_drop(uint64_t count)
{
    pthread_mutex_lock(&stand_in.lock);
    stand_in.dropping = count;
    pthread_mutex_unlock(&stand_in.lock);
}

#else
/* Nothing without CUPTI's headers. */
typedef int nvt_made_up_is_empty;
#endif
