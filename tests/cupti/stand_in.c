/* See stand_in.h: a stand-in for libcupti and a device, for tests. None of it is NVIDIA's. */
#ifdef HAVE_CUPTI

#include "stand_in_internal.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/count_of.h"

struct stand_in_state stand_in = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- time: another clock than ours, which runs 100 parts in a million fast --- */

static uint64_t own_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return UINT64_C(1700000000000000000) + ns + ns / 10000;
}

uint64_t stand_in_now(void)
{
    return stand_in.timestamp ? stand_in.timestamp() : own_time();
}

/* $STAND_IN_REFUSES names what this device's CUPTI cannot do. */
int stand_in_refuses(const char *what)
{
    const char *list = getenv("STAND_IN_REFUSES");
    return list && strstr(list, what) != NULL;
}
#define refuses stand_in_refuses

static _Thread_local int in_second __attribute__((tls_model("initial-exec")));

void stand_in_is_first(void)
{
    if (stand_in.is_second && !in_second)
        abort();
}

void stand_in_enter_second(void)
{
    if (!stand_in.is_second)
        abort();
    in_second++;
}

void stand_in_leave_second(void)
{
    in_second--;
}

#ifdef STAND_IN_SECOND
enum { VERSION = 130500 };
#else
enum { VERSION = CUPTI_API_VERSION };
void stand_in_give_others(const void *record, size_t size)
{
    (void)record;
    (void)size;
}
const void *stand_in_selected(const void *record, size_t *size, void *room)
{
    (void)size;
    (void)room;
    return record;
}
size_t stand_in_selected_size(uint32_t kind)
{
    (void)kind;
    return 0;
}
#endif

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = stand_in_now();
    return CUPTI_SUCCESS;
}

/* Whether anything is recorded already, and not for another tool that nobody can know of: some settings have to be made
 * before, or CUPTI mixes the old and the new. */
static int is_taken_over;
static int has_begun(void)
{
    size_t kind = 0;
    while (kind < sizeof(stand_in.on) && !stand_in.on[kind])
        kind++;
    return kind < sizeof(stand_in.on) && !is_taken_over;
}

/* Before any kind is enabled (its headers), and once: a second one makes times of another clock (PyTorch issue 192021). */
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
    stand_in_is_first();
    if (has_begun() || stand_in.timestamp)
        abort();
    if (refuses("clock"))
        return CUPTI_ERROR_NOT_SUPPORTED;
    stand_in.timestamp = function;
    return CUPTI_SUCCESS;
}

/* --- settings --- */

CUptiResult cuptiGetVersion(uint32_t *version)
{
    /* As NVIDIA's of CUDA 13.3 and later where there is no driver: 0, and nothing else works. */
    *version = 0;
    if (refuses("answers"))
        return CUPTI_ERROR_UNKNOWN;
    *version = refuses("version") ? 14 : refuses("12.8") ? 26 : refuses("waits") ? 130000 : VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    if (refuses("answers"))
        return CUPTI_ERROR_UNKNOWN;
    *text = result == CUPTI_ERROR_NOT_SUPPORTED       ? "CUPTI_ERROR_NOT_SUPPORTED"
            : result == CUPTI_ERROR_INVALID_PARAMETER ? "CUPTI_ERROR_INVALID_PARAMETER"
            : result == CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED
                ? "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED"
                : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

/* "Thread id type must not be changed during the profiling session." */
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    stand_in_is_first();
    if (has_begun())
        abort();
    stand_in.thread_ids = (int)type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t thread, uint32_t *id)
{
    (void)context;
    (void)thread;
    *id = stand_in_stream(stream);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)context % 1000;
    return CUPTI_SUCCESS;
}

#define RUNTIME_NAME(name) [CUPTI_RUNTIME_TRACE_CBID_##name] = #name
static const char *const runtime_names[] = {
    RUNTIME_NAME(cudaLaunchKernel_v7000),
    RUNTIME_NAME(cudaMalloc_v3020),
    RUNTIME_NAME(cudaFree_v3020),
    RUNTIME_NAME(cudaDeviceSynchronize_v3020),
    RUNTIME_NAME(cudaStreamSynchronize_v3020),
    RUNTIME_NAME(cudaGetDevice_v3020),
    RUNTIME_NAME(cudaGetDeviceCount_v3020),
    RUNTIME_NAME(cudaSetDevice_v3020),
    RUNTIME_NAME(cudaMallocAsync_v11020),
    RUNTIME_NAME(cudaFreeAsync_v11020),
    RUNTIME_NAME(cudaMemcpyAsync_v3020),
    RUNTIME_NAME(cudaMemcpyPeerAsync_v4000),
    RUNTIME_NAME(cudaMemsetAsync_v3020),
    RUNTIME_NAME(cudaGraphLaunch_v10000),
    RUNTIME_NAME(cudaGraphInstantiate_v10000),
    RUNTIME_NAME(cudaStreamBeginCapture_v10000),
    RUNTIME_NAME(cudaStreamEndCapture_v10000),
    RUNTIME_NAME(cudaEventCreateWithFlags_v3020),
    RUNTIME_NAME(cudaEventRecord_v3020),
    RUNTIME_NAME(cudaEventDestroy_v3020),
    RUNTIME_NAME(cudaStreamWaitEvent_v3020),
    RUNTIME_NAME(cudaMemPoolTrimTo_v11020),
};
static const char *const driver_names[] = {
    [CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel] = "cuLaunchKernel",
    [CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2] = "cuMemcpyHtoDAsync_v2",
    [CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent] = "cuCtxGetCurrent",
};

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    int runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    size_t count = runtime ? NVT_COUNT_OF(runtime_names) : NVT_COUNT_OF(driver_names);
    *name = id < count ? (runtime ? runtime_names : driver_names)[id] : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

uint32_t stand_in_call_id(const char *function)
{
    size_t length = strlen(function);
    for (uint32_t id = 0; id < NVT_COUNT_OF(runtime_names); id++)
        if (runtime_names[id] && !strncmp(runtime_names[id], function, length) &&
            !strncmp(runtime_names[id] + length, "_v", 2))
            return id;
    return 0;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    stand_in_is_first();
    if (stand_in.has_other)
        abort();
    stand_in.requested = requested;
    stand_in.completed = completed;
    return CUPTI_SUCCESS;
}

/* Only when the driver is up: before that it is not defined. With "latecomers" a context that is there by then has none. */
CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
                                           uint32_t count)
{
    if (!stand_in.has_driver)
        abort();
    if (refuses("early") && !stand_in.has_context)
        return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE;
    if (refuses("latecomers") && stand_in.has_context)
        return CUPTI_SUCCESS;
    if (refuses("managed"))
        return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED;
    if (refuses("up"))
        return CUPTI_ERROR_NOT_INITIALIZED;
    for (uint32_t i = 0; i < count; i++) {
        unsigned kind = (unsigned)config[i].kind;
        if (!kind || kind >= sizeof(stand_in.counters) ||
            (kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING && refuses("thrashing")))
            return CUPTI_ERROR_INVALID_PARAMETER;
    }
    for (uint32_t i = 0; i < count; i++)
        stand_in.counters[config[i].kind] = config[i].enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    stand_in_is_first();
    /* It has to be configured first: transfers are among what is always wanted. */
    if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER &&
        !stand_in.counters[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD])
        return CUPTI_ERROR_NOT_READY;
    if ((unsigned)kind >= sizeof(stand_in.on) ||
        (kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL && refuses("pools")) ||
        (kind == CUPTI_ACTIVITY_KIND_CONTEXT && refuses("contexts")))
        return CUPTI_ERROR_NOT_SUPPORTED;
    /* Of devices it has told when the driver came up, before anybody asked. */
    stand_in.on[kind] = kind != CUPTI_ACTIVITY_KIND_DEVICE || !refuses("devices");
    /* The kind has the last word about single calls. */
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memset(stand_in.calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME], 1, sizeof(stand_in.calls[0]));
    return CUPTI_SUCCESS;
}

/* What is there already is told once more. */
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    CUpti_ActivityDevice5 device = {
        .kind = CUPTI_ACTIVITY_KIND_DEVICE, .name = "dumped", .isCudaVisible = 1};
    CUptiResult result = cuptiActivityEnable(kind);
    if (stand_in.is_over)
        abort();
    if (result == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_DEVICE)
        PUT(device);
    return result;
}

/* What is still running has no record that could be told: CUPTI's would end when the kind is enabled again. */
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    stand_in_is_first();
    if (stand_in.is_over)
        abort();
    stand_in.on[kind] = 0;
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        pthread_mutex_lock(&stand_in.lock);
        stand_in.dropped += (uint64_t)stand_in.incomplete;
        pthread_mutex_unlock(&stand_in.lock);
    }
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memset(stand_in.calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME], 0, sizeof(stand_in.calls[0]));
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
    stand_in_is_first();
    if (refuses("choice") ||
        (id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 && refuses("kernel launches")))
        return CUPTI_ERROR_NOT_SUPPORTED;
    stand_in.calls[1][id] = enable && !refuses("silently");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
    stand_in_is_first();
    if (refuses("choice") ||
        (id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2 && refuses("one call")))
        return CUPTI_ERROR_NOT_SUPPORTED;
    stand_in.calls[0][id] = enable && !refuses("silently");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    stand_in_is_first();
    stand_in.wants_answers = !enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    stand_in_is_first();
    if (refuses("attributes") || attribute != CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
        *size != 1)
        return CUPTI_ERROR_INVALID_PARAMETER;
    stand_in.gets_zeros = *(const uint8_t *)value;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                           void *data)
{
    (void)data;
    /* CUPTI starts a thread by now, which would take the program's signals. */
    sigset_t mask;
    if (pthread_sigmask(SIG_BLOCK, NULL, &mask) || !sigismember(&mask, SIGTERM))
        abort();
    /* As NVIDIA's of CUDA 12 where the driver is too old. */
    if (refuses("driver")) {
        stand_in.has_other = 1;
        return CUPTI_ERROR_NOT_INITIALIZED;
    }
    if (refuses("subscriber")) {
        stand_in.has_other = 1;
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    *subscriber = (CUpti_SubscriberHandle)&stand_in;
    stand_in.was_called = 0; /* the driver that comes up has loaded this tool */
    stand_in.callback = callback;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED &&
        refuses("finish"))
        return CUPTI_ERROR_INVALID_PARAMETER;
    stand_in.callbacks[domain][id] = (uint8_t)enable;
    return CUPTI_SUCCESS;
}

/* --- buffers --- */

static size_t size_of(const CUpti_Activity *record)
{
    const size_t selected = stand_in_selected_size(record->kind);
    if (selected)
        return selected;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
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
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
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
    stand_in_is_first();
    uint8_t *next = *record ? (uint8_t *)*record + size_of(*record) : buffer;
    if (next >= buffer + size)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return size_of(*record) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

/* This thread is in a callback from which CUPTI may not be flushed: about buffers, or in any other domain than those of calls
 * ("Flushing Activity Buffers" in its manual). */
/* Initial-exec: it takes no memory when it is first used, which tests have run out. */
static _Thread_local int may_not_flush __attribute__((tls_model("initial-exec")));

/* A buffer, and what CUPTI makes of it: it relies on zeros. */
static void ask(void)
{
    size_t most = 0;
    may_not_flush++;
    stand_in.requested(&stand_in.buffer, &stand_in.size, &most);
    may_not_flush--;
    for (size_t i = 0; stand_in.buffer && i < stand_in.size; i++) {
        if (stand_in.gets_zeros && stand_in.buffer[i])
            abort();
        stand_in.buffer[i] = 0;
    }
}

/* Called with the lock held, which is let go meanwhile: the callbacks may take their time. */
static void hand_back(void)
{
    uint8_t *buffer = stand_in.buffer;
    size_t size = stand_in.size, used = stand_in.used;
    stand_in.buffer = NULL;
    stand_in.used = stand_in.size = 0;
    stand_in.incomplete = 0;
    pthread_mutex_unlock(&stand_in.lock);
    may_not_flush++;
    stand_in.completed(NULL, 0, buffer, size, used);
    may_not_flush--;
    pthread_mutex_lock(&stand_in.lock);
}

static void tell_once(_Atomic int *is_told, CUpti_CallbackIdResource id)
{
    if (atomic_exchange(is_told, 1) || !stand_in.callback ||
        !stand_in.callbacks[CUPTI_CB_DOMAIN_RESOURCE][id])
        return;
    may_not_flush++;
    CUpti_ResourceData data = {.context = (CUcontext)&stand_in};
    stand_in.callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
    may_not_flush--;
}

/* The first record of anything but a device tells of a context, and of a driver that is up. */
static void tell_of_context(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_DEVICE)
        return;
    tell_once(&stand_in.has_driver, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
    tell_once(&stand_in.has_context, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
}

/* --- another tool in the process, which has not subscribed: it takes CUPTI's buffers, as PyTorch's profiler does --- */

static uint8_t others[2][4096] __attribute__((aligned(8)));

static void others_requested(uint8_t **buffer, size_t *size, size_t *most)
{
    static unsigned next;
    *buffer = others[next++ % 2];
    *size = sizeof(others[0]);
    *most = 0;
}

static void others_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid)
{
    (void)context;
    (void)stream;
    (void)buffer;
    (void)size;
    (void)valid;
}

void stand_in_take_over(void);
void stand_in_take_over(void)
{
    pthread_mutex_lock(&stand_in.lock);
    is_taken_over = 1;
    if (stand_in.is_second)
        abort();
    stand_in.requested = others_requested;
    stand_in.completed = others_completed;
    pthread_mutex_unlock(&stand_in.lock);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

void stand_in_put(const void *record, size_t size, int complete)
{
    uint64_t room[128];
    tell_of_context(record);
    stand_in_give_others(record, size);
    record = stand_in_selected(record, &size, room);
    pthread_mutex_lock(&stand_in.lock);
    if (stand_in.buffer && stand_in.used + size > stand_in.size)
        hand_back();
    if (stand_in.dropping) {
        stand_in.dropping--;
        stand_in.dropped++;
    } else {
        if (!stand_in.buffer)
            ask();
        if (stand_in.buffer && stand_in.used + size <= stand_in.size) {
            memcpy(stand_in.buffer + stand_in.used, record, size);
            stand_in.used += size;
            stand_in.incomplete += !complete;
        } else {
            stand_in.dropped++;
        }
    }
    pthread_mutex_unlock(&stand_in.lock);
}

static _Atomic unsigned flushes;

int stand_in_wait_for_flushes(unsigned count);
int stand_in_wait_for_flushes(unsigned count)
{
    const unsigned before = atomic_load(&flushes);
    for (int i = 0; i < 600000; i++) {
        if (atomic_load(&flushes) - before >= count)
            return 1;
        usleep(1000);
    }
    return 0;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    if (may_not_flush)
        abort();
    /* The driver is coming up, with its locks held. */
    if (stand_in.coming_up && !(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
        abort();
    if (stand_in.is_down)
        return CUPTI_ERROR_NOT_INITIALIZED;
    /* Behind the last one CUPTI's own handlers run. */
    if (stand_in.is_over)
        abort();
    stand_in.is_over = (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
    pthread_mutex_lock(&stand_in.lock);
    /* With $STAND_IN_ENDS one ends while this is asked. */
    if (stand_in.incomplete && getenv("STAND_IN_ENDS"))
        stand_in.incomplete--;
    /* Without force, a buffer with a record that has not ended stays here. */
    if (stand_in.buffer && stand_in.used &&
        (!stand_in.incomplete || flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)) {
        hand_back();
        if (refuses("empties"))
            ask(); /* for what may come, and keeps it until then */
    }
    pthread_mutex_unlock(&stand_in.lock);
    atomic_fetch_add(&flushes, 1);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    stand_in_is_first();
    (void)context;
    (void)stream;
    pthread_mutex_lock(&stand_in.lock);
    *dropped = stand_in.dropped;
    stand_in.dropped = 0;
    pthread_mutex_unlock(&stand_in.lock);
    return CUPTI_SUCCESS;
}

#else
/* Nothing without CUPTI's headers. */
typedef int nvt_stand_in_is_empty;
#endif
