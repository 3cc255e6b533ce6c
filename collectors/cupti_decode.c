#include "cupti_decode.h"

#ifdef HAVE_CUPTI

#include <limits.h>
#include <string.h>

/* A row in the making. `again`: a name had no room, so the batch must go first. */
struct row {
    struct nvt_device_batch *batch;
    uint64_t fields[NVT_DEVICE_FIELDS_MAX];
    uint32_t kind, count;
    int again;
};

static uint64_t name(struct row *row, const char *text)
{
    uint32_t number = nvt_device_batch_name(row->batch, text);
    row->again |= number == UINT32_MAX;
    return number;
}

static void done(struct row *row, uint32_t kind, uint32_t count)
{
    row->kind = kind;
    row->count = count;
}

/* What every record of an operation has, under the same names. */
#define PUT_OPERATION(row, record)                                                                 \
    do {                                                                                           \
        (row)->fields[NVT_ROW_START] = (record)->start;                                            \
        (row)->fields[NVT_ROW_END] = (record)->end;                                                \
        (row)->fields[NVT_ROW_CORRELATION] = (record)->correlationId;                              \
        (row)->fields[NVT_OP_DEVICE] = (record)->deviceId;                                         \
        (row)->fields[NVT_OP_CONTEXT] = (record)->contextId;                                       \
        (row)->fields[NVT_OP_STREAM] = (record)->streamId;                                         \
        (row)->fields[NVT_OP_GRAPH] = (record)->graphId;                                           \
    } while (0)

static void put_kernel(struct row *row, const CUpti_ActivityKernel8 *record)
{
    uint64_t *fields = row->fields;
    PUT_OPERATION(row, record);
    fields[NVT_OP_NAME] = name(row, record->name);
    fields[NVT_OP_NODE] = record->graphNodeId;
    fields[NVT_KERNEL_GRID] = (uint32_t)record->gridX;
    fields[NVT_KERNEL_GRID + 1] = (uint32_t)record->gridY;
    fields[NVT_KERNEL_GRID + 2] = (uint32_t)record->gridZ;
    fields[NVT_KERNEL_BLOCK] = (uint32_t)record->blockX;
    fields[NVT_KERNEL_BLOCK + 1] = (uint32_t)record->blockY;
    fields[NVT_KERNEL_BLOCK + 2] = (uint32_t)record->blockZ;
    fields[NVT_KERNEL_REGISTERS] = record->registersPerThread;
    fields[NVT_KERNEL_STATIC_SHARED] = (uint32_t)record->staticSharedMemory;
    fields[NVT_KERNEL_DYNAMIC_SHARED] = (uint32_t)record->dynamicSharedMemory;
    fields[NVT_KERNEL_LOCAL] = record->localMemoryTotal_v2;
    done(row, NVT_DEVICE_KERNEL, NVT_KERNEL_FIELDS);
}

static void put_copy(struct row *row, const CUpti_ActivityMemcpy5 *record)
{
    uint64_t *fields = row->fields;
    PUT_OPERATION(row, record);
    fields[NVT_OP_NODE] = record->graphNodeId;
    fields[NVT_COPY_BYTES] = record->bytes;
    fields[NVT_COPY_KIND] = record->copyKind;
    fields[NVT_COPY_SOURCE] = record->srcKind;
    fields[NVT_COPY_TARGET] = record->dstKind;
    fields[NVT_COPY_SOURCE_DEVICE] = fields[NVT_COPY_TARGET_DEVICE] = record->deviceId;
    done(row, NVT_DEVICE_MEMCPY, NVT_COPY_FIELDS);
}

static void put_peer_copy(struct row *row, const CUpti_ActivityMemcpyPtoP4 *record)
{
    uint64_t *fields = row->fields;
    PUT_OPERATION(row, record);
    fields[NVT_OP_NODE] = record->graphNodeId;
    fields[NVT_COPY_BYTES] = record->bytes;
    fields[NVT_COPY_KIND] = record->copyKind;
    fields[NVT_COPY_SOURCE] = record->srcKind;
    fields[NVT_COPY_TARGET] = record->dstKind;
    fields[NVT_COPY_SOURCE_DEVICE] = record->srcDeviceId;
    fields[NVT_COPY_TARGET_DEVICE] = record->dstDeviceId;
    done(row, NVT_DEVICE_MEMCPY, NVT_COPY_FIELDS);
}

/* Pages of managed memory that move: copies of the kinds that nsys has for them (ENUM_CUDA_MEMCPY_OPER), which CUPTI's
 * list of them has not. They are on no stream and of no call, and on the device where they arrive, or that they leave
 * for the host. */
static void put_migration(struct row *row, const CUpti_ActivityUnifiedMemoryCounter2 *record)
{
    enum { UNIFIED_HTOD = 11, UNIFIED_DTOH, UNIFIED_DTOD };
    uint64_t *fields = row->fields;
    int to_host =
        record->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH;
    int from_host =
        record->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
    fields[NVT_ROW_START] = record->start;
    fields[NVT_ROW_END] = record->end;
    fields[NVT_OP_DEVICE] = to_host ? record->srcId : record->dstId;
    fields[NVT_COPY_BYTES] = record->value;
    fields[NVT_COPY_KIND] = to_host ? UNIFIED_DTOH : from_host ? UNIFIED_HTOD : UNIFIED_DTOD;
    fields[NVT_COPY_SOURCE] = fields[NVT_COPY_TARGET] = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    fields[NVT_COPY_SOURCE_DEVICE] = record->srcId;
    fields[NVT_COPY_TARGET_DEVICE] = record->dstId;
    fields[NVT_COPY_ADDRESS] = record->address;
    fields[NVT_COPY_CAUSE] = record->flags;
    done(row, NVT_DEVICE_MEMCPY, NVT_MIGRATION_FIELDS);
}

/* What else CUPTI counts of managed memory. Fields that it leaves undefined for a kind are not read. */
static int put_managed(struct row *row, const CUpti_ActivityUnifiedMemoryCounter2 *record)
{
    uint64_t *fields = row->fields;
    int has_end = 0, is_on_host = 0, has_target = 0;
    switch (record->counterKind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
        return put_migration(row, record), 0;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
        is_on_host = 1;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING:
        has_end = 1;
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING:
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP:
        has_target = 1;
        break;
    default:
        return -1;
    }
    fields[NVT_ROW_START] = record->start;
    fields[NVT_ROW_END] = has_end ? record->end : record->start;
    fields[NVT_UM_KIND] = (uint64_t)record->counterKind;
    fields[NVT_UM_DEVICE] = is_on_host ? CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID : record->srcId;
    fields[NVT_UM_TARGET] = has_target ? record->dstId : CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
    fields[NVT_UM_ADDRESS] = record->address;
    fields[NVT_UM_VALUE] = record->value;
    fields[NVT_UM_FLAGS] = record->flags;
    done(row, NVT_DEVICE_UM, NVT_UM_FIELDS);
    return 0;
}

static void put_set(struct row *row, const CUpti_ActivityMemset4 *record)
{
    PUT_OPERATION(row, record);
    row->fields[NVT_OP_NODE] = record->graphNodeId;
    row->fields[NVT_SET_BYTES] = record->bytes;
    row->fields[NVT_SET_VALUE] = record->value;
    row->fields[NVT_SET_KIND] = record->memoryKind;
    done(row, NVT_DEVICE_MEMSET, NVT_SET_FIELDS);
}

static void put_graph(struct row *row, const CUpti_ActivityGraphTrace2 *record)
{
    PUT_OPERATION(row, record);
    /* One that begins on the host is where it ends; only records of CUDA 12.3 and later say so. */
    if (record->deviceId == INT_MAX) {
        row->fields[NVT_OP_DEVICE] = record->endDeviceId;
        row->fields[NVT_OP_CONTEXT] = record->endContextId;
    }
    done(row, NVT_DEVICE_GRAPH, NVT_OP_FIELDS);
}

static void put_call(struct row *row, const CUpti_ActivityAPI *record,
                     const struct nvt_cupti_decoder *decoder)
{
    int runtime = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const char *text = NULL;
    if (decoder->callback_name(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                               record->cbid, &text) != CUPTI_SUCCESS)
        text = NULL;
    row->fields[NVT_ROW_START] = record->start;
    row->fields[NVT_ROW_END] = record->end;
    row->fields[NVT_ROW_CORRELATION] = record->correlationId;
    row->fields[NVT_CALL_CLASS] = runtime ? NVT_CALL_RUNTIME : NVT_CALL_DRIVER;
    row->fields[NVT_CALL_NAME] = name(row, text);
    row->fields[NVT_CALL_THREAD] = record->threadId;
    row->fields[NVT_CALL_RESULT] = record->returnValue;
    done(row, NVT_DEVICE_API, NVT_CALL_FIELDS);
}

static void put_wait(struct row *row, const CUpti_ActivitySynchronization *record)
{
    row->fields[NVT_ROW_START] = record->start;
    row->fields[NVT_ROW_END] = record->end;
    row->fields[NVT_ROW_CORRELATION] = record->correlationId;
    row->fields[NVT_WAIT_TYPE] = (uint64_t)record->type;
    row->fields[NVT_WAIT_CONTEXT] = record->contextId;
    row->fields[NVT_WAIT_STREAM] = record->streamId;
    row->fields[NVT_WAIT_EVENT] = record->cudaEventId;
    done(row, NVT_DEVICE_SYNC, NVT_WAIT_FIELDS);
}

/* Which record of it a wait is for, the reader finds by the order of the calls: only CUDA 12.8 and later number them. */
static void put_event(struct row *row, const CUpti_ActivityCudaEvent *record)
{
    row->fields[NVT_EVENT_CORRELATION] = record->correlationId;
    row->fields[NVT_EVENT_CONTEXT] = record->contextId;
    row->fields[NVT_EVENT_STREAM] = record->streamId;
    row->fields[NVT_EVENT_ID] = record->eventId;
    done(row, NVT_DEVICE_EVENT, NVT_EVENT_FIELDS);
}

static void put_memory(struct row *row, const CUpti_ActivityMemory3 *record)
{
    uint64_t *fields = row->fields;
    fields[NVT_ROW_START] = fields[NVT_ROW_END] = record->timestamp;
    fields[NVT_ROW_CORRELATION] = record->correlationId;
    fields[NVT_MEM_OPERATION] = (uint64_t)record->memoryOperationType;
    fields[NVT_MEM_DEVICE] = record->deviceId;
    fields[NVT_MEM_ADDRESS] = record->address;
    fields[NVT_MEM_BYTES] = record->bytes;
    fields[NVT_MEM_KIND] = (uint64_t)record->memoryKind;
    fields[NVT_MEM_NAME] = name(row, record->name);
    fields[NVT_MEM_CONTEXT] = record->contextId;
    fields[NVT_MEM_STREAM] = record->streamId;
    if (record->memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
        fields[NVT_MEM_POOL] = record->memoryPoolConfig.address;
        fields[NVT_MEM_POOL_SIZE] = record->memoryPoolConfig.pool.size;
        fields[NVT_MEM_POOL_USED] = record->memoryPoolConfig.utilizedSize;
    }
    done(row, NVT_DEVICE_MEMORY, NVT_MEM_FIELDS);
}

static void put_pool(struct row *row, const CUpti_ActivityMemoryPool2 *record)
{
    uint64_t *fields = row->fields;
    fields[NVT_ROW_START] = fields[NVT_ROW_END] = record->timestamp;
    fields[NVT_ROW_CORRELATION] = record->correlationId;
    fields[NVT_MEM_OPERATION] = (uint64_t)record->memoryPoolOperationType;
    fields[NVT_MEM_DEVICE] = record->deviceId;
    fields[NVT_MEM_POOL] = record->address;
    fields[NVT_MEM_POOL_SIZE] = record->size;
    fields[NVT_MEM_POOL_USED] = record->utilizedSize;
    fields[NVT_MEM_KIND] = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    done(row, NVT_DEVICE_POOL, NVT_MEM_KIND + 1);
}

static void put_cost(struct row *row, const CUpti_ActivityOverhead3 *record)
{
    row->fields[NVT_ROW_START] = record->start;
    row->fields[NVT_ROW_END] = record->end;
    row->fields[NVT_COST_KIND] = (uint64_t)record->overheadKind;
    if (record->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD)
        row->fields[NVT_COST_THREAD] = record->objectId.pt.threadId;
    done(row, NVT_DEVICE_OVERHEAD, NVT_COST_FIELDS);
}

static void put_external(struct row *row, const CUpti_ActivityExternalCorrelation *record)
{
    row->fields[NVT_EXT_CORRELATION] = record->correlationId;
    row->fields[NVT_EXT_KIND] = (uint64_t)record->externalKind;
    row->fields[NVT_EXT_ID] = record->externalId;
    done(row, NVT_DEVICE_EXTERNAL, NVT_EXT_FIELDS);
}

/* Room for "GPU-", 16 bytes as hexadecimal digits, four hyphens and the end. */
#define UUID_TEXT 41

/* Which device it is, the same for all processes: a part of one is a device of its own. "": not known. A device that
 * CUDA does not see may have the number of one that it sees. */
static void write_uuid(const CUpti_ActivityDevice4 *record, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const CUuuid *uuid = record->isMigEnabled ? &record->migUuid : &record->uuid;
    int is_known = 0;
    char *at = text + 4;
    memcpy(text, record->isMigEnabled ? "MIG-" : "GPU-", 4);
    for (size_t i = 0; i < sizeof(uuid->bytes); i++) {
        unsigned char byte = (unsigned char)uuid->bytes[i];
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[byte >> 4];
        *at++ = digits[byte & 15];
        is_known |= byte;
    }
    *at = 0;
    if (!is_known || !record->isCudaVisible)
        *text = 0;
}

static void put_device(struct row *row, const CUpti_ActivityDevice4 *record)
{
    char uuid[UUID_TEXT];
    write_uuid(record, uuid);
    row->fields[NVT_DEV_ID] = record->id;
    row->fields[NVT_DEV_NAME] = name(row, record->name);
    row->fields[NVT_DEV_MEMORY] = record->globalMemorySize;
    row->fields[NVT_DEV_MULTIPROCESSORS] = record->numMultiprocessors;
    row->fields[NVT_DEV_MAJOR] = record->computeCapabilityMajor;
    row->fields[NVT_DEV_MINOR] = record->computeCapabilityMinor;
    row->fields[NVT_DEV_GPU] = name(row, uuid);
    done(row, NVT_DEVICE_DEVICE, NVT_DEV_FIELDS);
}

static void put_context(struct row *row, const CUpti_ActivityContext *record)
{
    row->fields[NVT_CTX_ID] = record->contextId;
    row->fields[NVT_CTX_DEVICE] = record->deviceId;
    row->fields[NVT_CTX_NULL_STREAM] = record->nullStreamId;
    done(row, NVT_DEVICE_CONTEXT, NVT_CTX_FIELDS);
}

static void put_stream(struct row *row, const CUpti_ActivityStream *record)
{
    row->fields[NVT_STREAM_CONTEXT] = record->contextId;
    row->fields[NVT_STREAM_ID] = record->streamId;
    row->fields[NVT_STREAM_FLAG] = (uint64_t)record->flag;
    row->fields[NVT_STREAM_PRIORITY] = record->priority;
    done(row, NVT_DEVICE_STREAM, NVT_STREAM_FIELDS);
}

/* The id within CUPTI's union of them; a thread's is its tid. */
static uint64_t object_id(CUpti_ActivityObjectKind kind, const CUpti_ActivityObjectKindId *id)
{
    switch (kind) {
    case CUPTI_ACTIVITY_OBJECT_PROCESS:
        return id->pt.processId;
    case CUPTI_ACTIVITY_OBJECT_THREAD:
        return id->pt.threadId;
    case CUPTI_ACTIVITY_OBJECT_DEVICE:
        return id->dcs.deviceId;
    case CUPTI_ACTIVITY_OBJECT_CONTEXT:
        return id->dcs.contextId;
    case CUPTI_ACTIVITY_OBJECT_STREAM:
        return id->dcs.streamId;
    default:
        return 0;
    }
}

static void put_name(struct row *row, const CUpti_ActivityName *record)
{
    row->fields[NVT_NAME_TYPE] = (uint64_t)record->objectKind;
    row->fields[NVT_NAME_ID] = object_id(record->objectKind, &record->objectId);
    row->fields[NVT_NAME_TEXT] = name(row, record->name);
    done(row, NVT_DEVICE_NAME, NVT_NAME_FIELDS);
}

/* 0, or -1 for a kind that has no row. */
static int put(struct row *row, const CUpti_Activity *record,
               const struct nvt_cupti_decoder *decoder)
{
    const void *at = record;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return put_kernel(row, at), 0;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return put_copy(row, at), 0;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return put_peer_copy(row, at), 0;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return put_set(row, at), 0;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return put_graph(row, at), 0;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return put_call(row, at, decoder), 0;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return put_wait(row, at), 0;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return put_event(row, at), 0;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return put_memory(row, at), 0;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return put_pool(row, at), 0;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return put_cost(row, at), 0;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return put_managed(row, at);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return put_external(row, at), 0;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return put_device(row, at), 0;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return put_context(row, at), 0;
    case CUPTI_ACTIVITY_KIND_STREAM:
        return put_stream(row, at), 0;
    case CUPTI_ACTIVITY_KIND_NAME:
        return put_name(row, at), 0;
    default:
        return -1;
    }
}

/* Whether it ran on a device, with its times where all of those have them. */
static int is_operation(const struct row *row)
{
    return row->kind == NVT_DEVICE_KERNEL || row->kind == NVT_DEVICE_MEMCPY ||
           row->kind == NVT_DEVICE_MEMSET || row->kind == NVT_DEVICE_GRAPH;
}

static int can_be(const struct nvt_cupti_decoder *decoder, uint64_t start, uint64_t end)
{
    return start >= decoder->earliest && start <= decoder->latest && end <= decoder->latest;
}

static void put_times_right(const struct nvt_cupti_decoder *decoder, struct row *row)
{
    uint64_t *start = &row->fields[NVT_ROW_START], *end = &row->fields[NVT_ROW_END];
    if (!decoder->latest || !is_operation(row) || can_be(decoder, *start, *end))
        return;
    int moves = can_be(decoder, *start - decoder->ahead, *end - decoder->ahead);
    *start = moves ? *start - decoder->ahead : 0;
    *end = moves ? *end - decoder->ahead : 0;
}

/* 0, or -1 when there is no row for it, or no room even in an empty batch. */
static int add(const struct nvt_cupti_decoder *decoder, const CUpti_Activity *record,
               struct nvt_device_batch *batch)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        struct row row = {.batch = batch};
        if (put(&row, record, decoder))
            return -1;
        put_times_right(decoder, &row);
        if (!row.again && !nvt_device_batch_add(batch, row.kind, row.fields, row.count))
            return 0;
        decoder->full(decoder->context, batch);
    }
    return -1;
}

/* Records of a full command buffer came with what they point at, which is the reader's to free; before CUDA 12.4 those
 * of other overheads end before the pointer. */
static void release(const struct nvt_cupti_decoder *decoder, const CUpti_Activity *record)
{
    const CUpti_ActivityOverhead3 *cost = (const void *)record;
    if (decoder->release && record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD &&
        cost->overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
        decoder->release(cost->overheadData);
}

static void see(struct nvt_cupti_seen *seen, const CUpti_Activity *record)
{
    const int is_kernel = record->kind == CUPTI_ACTIVITY_KIND_KERNEL ||
                          record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    const CUpti_ActivityOverhead3 *cost = (const void *)record;
    seen->records++;
    if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD &&
        cost->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD && cost->end > cost->start)
        seen->overhead_ns += cost->end - cost->start;
    seen->devices += record->kind == CUPTI_ACTIVITY_KIND_DEVICE;
    seen->calls +=
        record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    seen->kernels += (uint64_t)is_kernel;
    seen->linked +=
        is_kernel && ((const CUpti_ActivityKernel8 *)(const void *)record)->correlationId;
}

uint64_t nvt_cupti_decode(const struct nvt_cupti_decoder *decoder, uint8_t *buffer, size_t size,
                          struct nvt_device_batch *batch)
{
    CUpti_Activity *record = NULL;
    uint64_t unknown = 0, room[512 / sizeof(uint64_t)];
    for (;;) {
        CUptiResult result = decoder->next(buffer, size, &record);
        /* Behind a record that is not whole, where the next one begins is unknown. */
        if (result != CUPTI_SUCCESS)
            return unknown + (result != CUPTI_ERROR_MAX_LIMIT_REACHED);
        const CUpti_Activity *whole = decoder->whole ? decoder->whole(record, room) : record;
        if (!whole) {
            unknown++;
            continue;
        }
        unknown += add(decoder, whole, batch) != 0;
        if (decoder->seen)
            see(decoder->seen, whole);
        release(decoder, whole);
    }
}

/* --- which calls --- */

static int starts(const char *text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (!strncmp(text, *prefixes, strlen(*prefixes)))
            return 1;
    return 0;
}

int nvt_cupti_is_kernel_launch(const char *name)
{
    static const char *const kernels[] = {"cudaLaunchKernel", "__cudaLaunchKernel",
                                          "cuLaunchKernel", NULL};
    return starts(name, kernels);
}

int nvt_cupti_is_graph_launch(const char *name)
{
    static const char *const graphs[] = {"cudaGraphLaunch", "cuGraphLaunch", NULL};
    return starts(name, graphs);
}

int nvt_cupti_is_launch(const char *name)
{
    /* From CUDA 13 on, what nvcc makes of <<<>>> calls __cudaLaunchKernel. */
    static const char *const launches[] = {"cudaLaunch", "cudaMemcpy", "cudaMemset", "__cudaLaunch",
                                           "cuLaunch",   "cuMemcpy",   "cuMemset",   "cu64Memcpy",
                                           "cu64Memset", NULL};
    /* A host function is work of the host. */
    static const char *const others[] = {"cudaLaunchHostFunc", "cuLaunchHostFunc", NULL};
    return (starts(name, launches) && !starts(name, others)) || nvt_cupti_is_graph_launch(name);
}

int nvt_cupti_is_memory_call(const char *name)
{
    static const char *const calls[] = {"cudaMalloc",         "cudaFree",
                                        "cudaHostAlloc",      "cudaHostRegister",
                                        "cudaHostUnregister", "cudaMemPoolTrim",
                                        "cuMemAlloc",         "cuMemFree",
                                        "cuMemHostAlloc",     "cuMemHostRegister",
                                        "cuMemPoolTrim",      "cuMemCreate",
                                        "cuMemRelease",       NULL};
    return starts(name, calls);
}

int nvt_cupti_is_sync_call(const char *name)
{
    static const char *const calls[] = {"cudaDeviceSynchronize", "cudaThreadSynchronize",
                                        "cudaStreamSynchronize", "cudaEventSynchronize",
                                        "cudaStreamWaitEvent",   "cudaEventRecord",
                                        "cuCtxSynchronize",      "cuStreamSynchronize",
                                        "cuEventSynchronize",    "cuStreamWaitEvent",
                                        "cuEventRecord",         "cuCtxWaitEvent",
                                        "cuCtxRecordEvent",      "cuGreenCtxRecordEvent",
                                        "cuGreenCtxWaitEvent",   NULL};
    return starts(name, calls);
}

/* cuKernelGetName comes before each cudaLaunchKernel of CUDA 13. */
int nvt_cupti_is_question(const char *name)
{
    static const char *const questions[] = {"cudaGetDevice_v",
                                            "cudaGetLastError",
                                            "cudaPeekAtLastError",
                                            "cudaGetErrorString",
                                            "cudaGetErrorName",
                                            "cuCtxGetCurrent",
                                            "cuCtxGetDevice",
                                            "cuKernelGetAttribute",
                                            "cuKernelGetName",
                                            "cuFuncGetName",
                                            "cudaFuncGetName",
                                            "cuDevicePrimaryCtxGetState",
                                            "cuGetProcAddress",
                                            "cudaDeviceGetAttribute",
                                            "cuDeviceGetAttribute",
                                            "cudaPointerGetAttributes",
                                            "cuPointerGetAttribute",
                                            "cudaFuncGetAttributes",
                                            "cuFuncGetAttribute",
                                            "cudaOccupancyMaxActive",
                                            "cuOccupancyMaxActive",
                                            "cudaStreamIsCapturing",
                                            "cuStreamIsCapturing",
                                            "cudaStreamGetCaptureInfo",
                                            "cuStreamGetCaptureInfo",
                                            "cudaThreadExchangeStreamCaptureMode",
                                            "cuThreadExchangeStreamCaptureMode",
                                            NULL};
    return starts(name, questions);
}

#endif
