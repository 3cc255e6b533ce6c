#include "cupti_selected.h"

#ifdef HAVE_CUPTI

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "../../lib/count_of.h"

/* --- which fields: those that collectors/cupti_decode.c reads, by their numbers in cupti_activity.h ------------------------------------ */

#define FIELD(type, number, member)                                                                \
    {                                                                                              \
        number, offsetof(type, member), sizeof(((type *)0)->member)                                \
    }

#define KERNEL(number, member) FIELD(CUpti_ActivityKernel8, number, member)
static const struct nvt_cupti_field kernel[] = {
    KERNEL(0, kind),
    KERNEL(4, registersPerThread),
    KERNEL(7, start),
    KERNEL(8, end),
    KERNEL(10, deviceId),
    KERNEL(11, contextId),
    KERNEL(12, streamId),
    KERNEL(13, gridX),
    KERNEL(14, gridY),
    KERNEL(15, gridZ),
    KERNEL(16, blockX),
    KERNEL(17, blockY),
    KERNEL(18, blockZ),
    KERNEL(19, staticSharedMemory),
    KERNEL(20, dynamicSharedMemory),
    KERNEL(22, correlationId),
    KERNEL(24, name),
    KERNEL(31, graphNodeId),
    KERNEL(33, graphId),
    KERNEL(41, localMemoryTotal_v2),
};

#define COPY(number, member) FIELD(CUpti_ActivityMemcpy5, number, member)
static const struct nvt_cupti_field copy[] = {
    COPY(0, kind),      COPY(1, copyKind),       COPY(2, srcKind),
    COPY(3, dstKind),   COPY(5, bytes),          COPY(6, start),
    COPY(7, end),       COPY(8, deviceId),       COPY(9, contextId),
    COPY(10, streamId), COPY(11, correlationId), COPY(12, graphNodeId),
    COPY(13, graphId),
};

#define PEER(number, member) FIELD(CUpti_ActivityMemcpyPtoP4, number, member)
static const struct nvt_cupti_field peer[] = {
    PEER(0, kind),           PEER(1, copyKind),     PEER(2, srcKind),      PEER(3, dstKind),
    PEER(5, bytes),          PEER(6, start),        PEER(7, end),          PEER(8, deviceId),
    PEER(9, contextId),      PEER(10, streamId),    PEER(11, srcDeviceId), PEER(13, dstDeviceId),
    PEER(15, correlationId), PEER(16, graphNodeId), PEER(17, graphId),
};

#define SET(number, member) FIELD(CUpti_ActivityMemset4, number, member)
static const struct nvt_cupti_field set[] = {
    SET(0, kind),          SET(1, value),       SET(2, bytes),        SET(3, start),
    SET(4, end),           SET(5, deviceId),    SET(6, contextId),    SET(7, streamId),
    SET(8, correlationId), SET(10, memoryKind), SET(11, graphNodeId), SET(12, graphId),
};

#define GRAPH(number, member) FIELD(CUpti_ActivityGraphTrace2, number, member)
static const struct nvt_cupti_field graph[] = {
    GRAPH(0, kind),        GRAPH(1, correlationId), GRAPH(2, start),     GRAPH(3, end),
    GRAPH(4, deviceId),    GRAPH(5, graphId),       GRAPH(6, contextId), GRAPH(7, streamId),
    GRAPH(8, endDeviceId), GRAPH(9, endContextId),
};

#define CALL(number, member) FIELD(CUpti_ActivityAPI, number, member)
static const struct nvt_cupti_field call[] = {
    CALL(0, kind),     CALL(1, cbid),          CALL(2, start),       CALL(3, end),
    CALL(5, threadId), CALL(6, correlationId), CALL(7, returnValue),
};

#define WAIT(number, member) FIELD(CUpti_ActivitySynchronization, number, member)
static const struct nvt_cupti_field wait_for[] = {
    WAIT(0, kind),          WAIT(1, type),      WAIT(2, start),    WAIT(3, end),
    WAIT(4, correlationId), WAIT(5, contextId), WAIT(6, streamId), WAIT(7, cudaEventId),
};

#define EVENT(number, member) FIELD(CUpti_ActivityCudaEvent, number, member)
static const struct nvt_cupti_field event[] = {
    EVENT(0, kind),     EVENT(1, correlationId), EVENT(2, contextId),
    EVENT(3, streamId), EVENT(4, eventId),
};

/* What allocated it, a name, cannot be selected. */
#define MEMORY(number, member) FIELD(CUpti_ActivityMemory3, number, member)
static const struct nvt_cupti_field memory[] = {
    MEMORY(0, kind),
    MEMORY(1, memoryOperationType),
    MEMORY(2, memoryKind),
    MEMORY(3, correlationId),
    MEMORY(4, address),
    MEMORY(5, bytes),
    MEMORY(6, timestamp),
    MEMORY(8, deviceId),
    MEMORY(9, contextId),
    MEMORY(10, streamId),
    MEMORY(12, memoryPoolConfig.memoryPoolType),
    MEMORY(13, memoryPoolConfig.address),
    MEMORY(15, memoryPoolConfig.pool.size),
    MEMORY(17, memoryPoolConfig.utilizedSize),
};

#define POOL(number, member) FIELD(CUpti_ActivityMemoryPool2, number, member)
static const struct nvt_cupti_field pool[] = {
    POOL(0, kind),          POOL(1, memoryPoolOperationType),
    POOL(3, correlationId), POOL(5, deviceId),
    POOL(7, address),       POOL(8, size),
    POOL(10, timestamp),    POOL(11, utilizedSize),
};

#define COST(number, member) FIELD(CUpti_ActivityOverhead3, number, member)
static const struct nvt_cupti_field cost[] = {
    COST(0, kind),
    COST(1, overheadKind),
    COST(2, objectId.pt.processId),
    COST(3, objectId.pt.threadId),
    COST(4, start),
    COST(5, end),
    COST(7, overheadData),
};

#define EXTERNAL(number, member) FIELD(CUpti_ActivityExternalCorrelation, number, member)
static const struct nvt_cupti_field external[] = {
    EXTERNAL(0, kind),
    EXTERNAL(1, externalKind),
    EXTERNAL(2, externalId),
    EXTERNAL(3, correlationId),
};

#define MANAGED(number, member) FIELD(CUpti_ActivityUnifiedMemoryCounter2, number, member)
static const struct nvt_cupti_field managed[] = {
    MANAGED(0, kind),  MANAGED(1, counterKind), MANAGED(2, value),
    MANAGED(3, start), MANAGED(4, end),         MANAGED(5, address),
    MANAGED(6, srcId), MANAGED(7, dstId),       MANAGED(10, flags),
};

#define DEVICE(number, member) FIELD(CUpti_ActivityDevice4, number, member)
static const struct nvt_cupti_field device[] = {
    DEVICE(0, kind),
    DEVICE(3, globalMemorySize),
    DEVICE(9, numMultiprocessors),
    DEVICE(24, computeCapabilityMajor),
    DEVICE(25, computeCapabilityMinor),
    DEVICE(26, id),
    DEVICE(28, uuid),
    DEVICE(29, name),
    DEVICE(30, isCudaVisible),
    DEVICE(31, isMigEnabled),
    DEVICE(34, migUuid),
};

#define CONTEXT(number, member) FIELD(CUpti_ActivityContext, number, member)
static const struct nvt_cupti_field context[] = {
    CONTEXT(0, kind),
    CONTEXT(1, contextId),
    CONTEXT(2, deviceId),
    CONTEXT(4, nullStreamId),
};

#define KIND(name, fields)                                                                         \
    {                                                                                              \
        CUPTI_ACTIVITY_KIND_##name, fields, NVT_COUNT_OF(fields)                                   \
    }
static const struct {
    CUpti_ActivityKind kind;
    const struct nvt_cupti_field *fields;
    size_t count;
} kinds[] = {
    KIND(CONCURRENT_KERNEL, kernel),
    KIND(MEMCPY, copy),
    KIND(MEMCPY2, peer),
    KIND(MEMSET, set),
    KIND(GRAPH_TRACE, graph),
    KIND(RUNTIME, call),
    KIND(DRIVER, call),
    KIND(SYNCHRONIZATION, wait_for),
    KIND(CUDA_EVENT, event),
    KIND(MEMORY2, memory),
    KIND(MEMORY_POOL, pool),
    KIND(OVERHEAD, cost),
    KIND(EXTERNAL_CORRELATION, external),
    KIND(UNIFIED_MEMORY_COUNTER, managed),
    KIND(DEVICE, device),
    KIND(CONTEXT, context),
};

const struct nvt_cupti_field *nvt_cupti_fields(CUpti_ActivityKind kind, size_t *count)
{
    for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++)
        if (kinds[i].kind == kind) {
            *count = kinds[i].count;
            return kinds[i].fields;
        }
    *count = 0;
    return NULL;
}

int nvt_cupti_select(CUpti_ActivityKind kind, int *numbers, struct nvt_cupti_config *config)
{
    size_t count;
    const struct nvt_cupti_field *fields = nvt_cupti_fields(kind, &count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = fields[i].number;
    *config = (struct nvt_cupti_config){
        .size = sizeof(*config),
        .selection = {.size = sizeof(config->selection), .count = count, .fields = numbers}};
    return fields ? 0 : -1;
}

/* --- where they lie ------------------------------------------------------------------------------------------------------------------- */

/* Of a kind, in the order of its fields. As what is selected never changes, nor do these. */
#define KINDS_MOST 64
static struct {
    _Atomic int is_known;
    struct {
        uint32_t offset, bytes; /* 0: CUPTI has not got it */
    } at[NVT_CUPTI_FIELDS_MOST];
} layouts[KINDS_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void learn(CUpti_ActivityKind kind, const struct nvt_cupti_layout *layout)
{
    size_t count;
    const struct nvt_cupti_field *fields = nvt_cupti_fields(kind, &count);
    for (size_t i = 0; i < layout->count; i++) {
        const struct nvt_cupti_place *place = &layout->places[i];
        for (size_t k = 0; k < count; k++)
            if (fields[k].number == place->field && place->bytes <= layout->bytes &&
                place->offset <= layout->bytes - place->bytes) {
                layouts[kind].at[k].offset = (uint32_t)place->offset;
                layouts[kind].at[k].bytes = (uint32_t)place->bytes;
            }
    }
    /* A record begins with its kind: else it is another one's. */
    atomic_store(&layouts[kind].is_known, count && !layouts[kind].at[0].offset &&
                                              layouts[kind].at[0].bytes == fields[0].bytes);
}

void nvt_cupti_learn_layouts(const struct nvt_cupti_completion *info)
{
    if (!info || info->size < sizeof(*info) || !info->layouts)
        return;
    for (size_t kind = 0; kind < info->count && kind < KINDS_MOST; kind++) {
        if (!info->layouts[kind] || atomic_load(&layouts[kind].is_known))
            continue;
        pthread_mutex_lock(&lock);
        if (!atomic_load(&layouts[kind].is_known))
            learn((CUpti_ActivityKind)kind, info->layouts[kind]);
        pthread_mutex_unlock(&lock);
    }
}

const CUpti_Activity *nvt_cupti_whole(const CUpti_Activity *record, void *whole)
{
    const unsigned kind = (unsigned)record->kind;
    size_t count;
    if (kind >= KINDS_MOST || !atomic_load(&layouts[kind].is_known))
        return NULL;
    const struct nvt_cupti_field *fields = nvt_cupti_fields(record->kind, &count);
    memset(whole, 0, NVT_CUPTI_WHOLE);
    for (size_t i = 0; i < count; i++) {
        const uint32_t bytes = layouts[kind].at[i].bytes;
        /* The low bytes of a larger one, as numbers lie on all machines that CUDA runs on. */
        memcpy((char *)whole + fields[i].offset, (const char *)record + layouts[kind].at[i].offset,
               bytes < fields[i].bytes ? bytes : fields[i].bytes);
    }
    if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD)
        ((CUpti_ActivityOverhead3 *)whole)->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    return whole;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_selected_is_empty;
#endif
