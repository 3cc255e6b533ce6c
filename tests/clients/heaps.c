/*
 * NVTX's memory extension and its deferred events; tests/test_heaps.c knows what to expect. A heap of 16 MiB gets 1,000
 * regions within ranges: "load" takes 600 of 10,000 bytes, "train" 400 of 20,000 bytes and gives back 300 of the first; "check" gives back
 * all but 10 of what is left. With the argument "slow" it waits between these; with "device" the heap's memory is one that the device of tests/cupti/stand_in.h gave, of 32 MiB.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../cupti/stand_in.h"

enum { HEAP = 16 << 20, LOADED = 600, LOADED_BYTES = 10000, TRAINED = 400, TRAINED_BYTES = 20000 };

static char memory[HEAP];

static nvtxMemHeapHandle_t new_heap(nvtxDomainHandle_t domain, const char *name)
{
    const nvtxMemVirtualRangeDesc_t range = {sizeof(memory), memory};
    nvtxMemHeapDesc_t heap;
    memset(&heap, 0, sizeof(heap));
    heap.extCompatID = NVTX_EXT_COMPATID_MEM;
    heap.structSize = sizeof(heap);
    heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
    heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    heap.typeSpecificDescSize = sizeof(range);
    heap.typeSpecificDesc = &range;
    heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
    heap.message.ascii = name;
    return nvtxMemHeapRegister(domain, &heap);
}

static nvtxMemRegionHandle_t take(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap, size_t at,
                                  size_t bytes)
{
    const nvtxMemVirtualRangeDesc_t range = {bytes, memory + at};
    nvtxMemRegionHandle_t handle = NULL;
    nvtxMemRegionsRegisterBatch_t batch;
    memset(&batch, 0, sizeof(batch));
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.heap = heap;
    batch.regionCount = 1;
    batch.regionDescElementSize = sizeof(range);
    batch.regionDescElements = &range;
    batch.regionHandleElementsOut = &handle;
    nvtxMemRegionsRegister(domain, &batch);
    return handle;
}

/* By pointers, several at once. */
static void give(nvtxDomainHandle_t domain, size_t first, size_t count, size_t bytes)
{
    nvtxMemRegionRef_t references[1024];
    nvtxMemRegionsUnregisterBatch_t batch;
    memset(&batch, 0, sizeof(batch));
    for (size_t i = 0; i < count; i++)
        references[i].pointer = memory + first + i * bytes;
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
    batch.refCount = count;
    batch.refElementSize = sizeof(references[0]);
    batch.refElements = references;
    nvtxMemRegionsUnregister(domain, &batch);
}

static void name_region(nvtxDomainHandle_t domain, size_t at, const char *name)
{
    nvtxMemRegionNameDesc_t element;
    nvtxMemRegionsNameBatch_t batch;
    memset(&element, 0, sizeof(element));
    memset(&batch, 0, sizeof(batch));
    element.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
    element.region.pointer = memory + at;
    element.nameType = NVTX_MESSAGE_TYPE_ASCII;
    element.name.ascii = name;
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.regionCount = 1;
    batch.regionElementSize = sizeof(element);
    batch.regionElements = &element;
    nvtxMemRegionsName(domain, &batch);
}

/* So that a recorder writes what there was. */
static useconds_t pause_us;

static void heaps(nvtxDomainHandle_t domain)
{
    const size_t behind = LOADED * LOADED_BYTES;
    nvtxMemHeapHandle_t heap = new_heap(domain, "arena");
    nvtxMemRegionHandle_t handle = NULL;
    nvtxRangePushA("load");
    for (size_t i = 0; i < LOADED; i++)
        handle = take(domain, heap, i * LOADED_BYTES, LOADED_BYTES);
    nvtxRangePop();
    if ((const char *)handle != memory + (LOADED - 1) * LOADED_BYTES)
        _exit(3);
    usleep(pause_us);
    nvtxRangePushA("train");
    for (size_t i = 0; i < TRAINED; i++)
        take(domain, heap, behind + i * TRAINED_BYTES, TRAINED_BYTES);
    give(domain, 0, 300, LOADED_BYTES);
    nvtxRangePop();
    name_region(domain, behind, "weights");
    usleep(pause_us);
    nvtxRangePushA("check");
    give(domain, 300 * LOADED_BYTES, 290, LOADED_BYTES);
    give(domain, behind, TRAINED, TRAINED_BYTES);
    give(domain, HEAP - 1, 1, 1); /* that was never taken */
    nvtxRangePop();
    nvtxMemPermissionsHandle_t permissions =
        nvtxMemPermissionsCreate(domain, NVTX_MEM_PERMISSIONS_CREATE_FLAGS_NONE);
    nvtxMemPermissionsBind(domain, permissions, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD, 0);
    nvtxMemPermissionsUnbind(domain, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD);
    nvtxMemPermissionsDestroy(domain, permissions);
}

/* A heap whose regions are resized, reset, and end with it; and memory of no heap. */
static void changes(nvtxDomainHandle_t domain)
{
    nvtxMemHeapHandle_t heap = new_heap(domain, "changing");
    for (size_t i = 0; i < 3; i++)
        take(domain, heap, i * 10000, 1000);
    const nvtxMemVirtualRangeDesc_t larger = {5000, memory};
    nvtxMemRegionsResizeBatch_t resize;
    memset(&resize, 0, sizeof(resize));
    resize.extCompatID = NVTX_EXT_COMPATID_MEM;
    resize.structSize = sizeof(resize);
    resize.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    resize.regionDescCount = 1;
    resize.regionDescElementSize = sizeof(larger);
    resize.regionDescElements = &larger;
    nvtxMemRegionsResize(domain, &resize);
    take(domain, heap, 0, 2000); /* what lay there is not said to have ended */
    nvtxMemHeapReset(domain, heap);
    take(domain, heap, 500, 700);
    nvtxMemHeapUnregister(domain, heap);
    take(domain, NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, 0, 300);
}

/* --- deferred events --- */

struct past {
    int64_t begin, end;
    const char *message;
    uint32_t items, color;
};

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint64_t past_schema(nvtxDomainHandle_t domain, uint64_t clock, uint64_t begin, uint64_t end,
                            size_t count)
{
    nvtxSemanticsTime_t time;
    memset(&time, 0, sizeof(time));
    time.header.structSize = sizeof(time);
    time.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
    time.header.version = NVTX_TIME_SEMANTIC_VERSION;
    time.timeDomainId = clock;
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | begin, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0,
         offsetof(struct past, begin), &time.header, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "message", NULL, 0,
         offsetof(struct past, message), NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "items", NULL, 0, offsetof(struct past, items), NULL,
         NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, "color", NULL, 0, offsetof(struct past, color),
         NULL, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | end, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0,
         offsetof(struct past, end), &time.header, NULL},
    };
    nvtxPayloadSchemaAttr_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = entries;
    attributes.numEntries = count;
    attributes.payloadStaticSize = sizeof(struct past);
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void pause_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static void submit(nvtxDomainHandle_t domain, uint64_t schema, const struct past *events,
                   size_t count)
{
    nvtxEventBatch_t batch;
    memset(&batch, 0, sizeof(batch));
    batch.eventSchemaId = schema;
    batch.events = events;
    batch.size = count * sizeof(*events);
    nvtxEventBatchSubmit(domain, &batch);
}

/* A clock of the program's own. */
static int64_t made(void)
{
    return 3 * now(CLOCK_MONOTONIC) + 12345;
}

static int64_t made_by_data(void *data)
{
    return *(const int64_t *)data * made();
}

enum { SYNCED, RATED, READ, READ_WITH_DATA, CHAINED, CLOCKS };
static const char *const clock_names[CLOCKS] = {"synced", "rated", "read", "with data", "chained"};

/* Clocks that only the program knows, and what it says of each; the second time at a later moment. */
static void say_of_clocks(nvtxDomainHandle_t domain, const uint64_t *clocks, int is_again)
{
    static int64_t two = 2;
    const uint64_t known = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC;
    const int64_t monotonic = now(CLOCK_MONOTONIC), time = 3 * monotonic + 12345;
    const nvtxSyncPoint_t point = {7 * time, time};
    nvtxTimeSyncPoint(domain, clocks[SYNCED], known, time, monotonic);
    if (is_again)
        nvtxTimestampConversionFactor(domain, clocks[RATED], known, 1.0 / 3, time, monotonic);
    if (!is_again) {
        nvtxTimerSource(domain, clocks[READ], 0, made);
        nvtxTimerSourceWithData(domain, clocks[READ_WITH_DATA], 0, made_by_data, &two);
    }
    nvtxTimeSyncPointTable(domain, clocks[CHAINED], clocks[RATED], &point, 1);
}

/* Ranges of these clocks, within "work". */
static void begin_on_clocks(nvtxDomainHandle_t domain, uint64_t *clocks, uint64_t *schemas)
{
    nvtxTimeDomainAttr_t own;
    memset(&own, 0, sizeof(own));
    own.timestampTypeId = NVTX_TIMESTAMP_TYPE_GPU_GLOBALTIMER;
    for (int i = 0; i < CLOCKS; i++) {
        clocks[i] = nvtxTimeDomainRegister(domain, &own);
        schemas[i] = past_schema(domain, clocks[i], NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN,
                                 NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END, 5);
    }
    say_of_clocks(domain, clocks, 0);
    pause_ms(2);
    say_of_clocks(domain, clocks, 1);
    pause_ms(2);
    say_of_clocks(domain, clocks, 1);
}

/* Ranges that were over before anything was said of them: they lie within "work", which encloses them. */
static void deferred(nvtxDomainHandle_t domain)
{
    const uint64_t begin = NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN,
                   end = NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END;
    nvtxTimeDomainAttr_t own;
    memset(&own, 0, sizeof(own));
    own.timestampTypeId = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME;
    const uint64_t clock = nvtxTimeDomainRegister(domain, &own);
    const uint64_t tool = past_schema(domain, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, begin, end, 5),
                   monotonic = past_schema(domain, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC,
                                           begin, end, 5),
                   real = past_schema(domain, clock, begin, end, 5),
                   gpu = past_schema(domain, NVTX_TIMESTAMP_TYPE_GPU_GLOBALTIMER, begin, end, 5),
                   mark = past_schema(domain, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED,
                                      NVTX_PAYLOAD_ENTRY_FLAG_MARK, 0, 3);
    static const int64_t factors[CLOCKS] = {1, 1, 1, 2, 7};
    struct past ticks[3], other[2], own_clock[CLOCKS];
    uint64_t clocks[CLOCKS], schemas[CLOCKS];
    begin_on_clocks(domain, clocks, schemas);
    nvtxRangePushA("work");
    for (uint32_t i = 0; i < 3; i++) {
        ticks[i] = (struct past){nvtxTimestampGet(), 0, "past", i, 0xff00ff00};
        pause_ms(2);
        ticks[i].end = nvtxTimestampGet();
    }
    other[0] = (struct past){now(CLOCK_MONOTONIC), 0, "monotonic", 7, 0};
    other[1] = (struct past){now(CLOCK_REALTIME), 0, "real", 8, 0};
    for (uint32_t i = 0; i < CLOCKS; i++)
        own_clock[i] = (struct past){factors[i] * made(), 0, clock_names[i], 9 + i, 0};
    pause_ms(2);
    for (int i = 0; i < CLOCKS; i++)
        own_clock[i].end = factors[i] * made();
    other[0].end = now(CLOCK_MONOTONIC);
    other[1].end = now(CLOCK_REALTIME);
    nvtxRangePop();
    pause_ms(5);
    submit(domain, tool, ticks, 3);
    submit(domain, monotonic, &other[0], 1);
    submit(domain, real, &other[1], 1);
    for (int i = 0; i < CLOCKS; i++)
        submit(domain, schemas[i], &own_clock[i], 1);
    ticks[0].message = "moment";
    const nvtxPayloadData_t single = {mark, sizeof(ticks[0]), &ticks[0]};
    nvtxEventSubmit(domain, &single, 1);
    submit(domain, gpu, ticks, 1); /* of a clock that nobody here knows */
    submit(domain, tool, (struct past[]){{1, 2, "before", 0, 0}}, 1); /* before the recording */
}

/* --- a device --- */

/* What cuInit does. */
static void initialize(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*injection)(void) = NULL;
    if (library)
        *(void **)&injection = dlsym(library, "InitializeInjection");
    if (injection)
        injection();
}

static void set_memory(int is_taken)
{
    static stand_in_memory_function set;
    const char *path = getenv("NVTALLY_CUPTI");
    const struct stand_in_memory said = {.taken = is_taken,
                                         .address = (uint64_t)(uintptr_t)memory,
                                         .bytes = 2 * (uint64_t)HEAP,
                                         .device = 0};
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (library)
        *(void **)&set = dlsym(library, "stand_in_memory");
    if (!set)
        _exit(4);
    set(&said);
}

int main(int count, char **arguments)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("pool");
    if (count > 1 && !strcmp(arguments[1], "changes")) {
        changes(domain);
        return 0;
    }
    const int has_device = count > 1 && !strcmp(arguments[1], "device");
    pause_us = count > 1 && !has_device ? 300000 : 0;
    if (has_device) {
        initialize();
        set_memory(1);
    }
    heaps(domain);
    if (has_device)
        set_memory(0);
    deferred(domain);
    return 0;
}
