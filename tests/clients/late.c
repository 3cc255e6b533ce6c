/*
 * Announces all that a program may announce to NVTX at its start, and waits before it uses that: late FOLDER [fork|crowd|steps]. It makes files
 * in the folder, and waits for others: it makes `announced`, waits for `use`, makes `used`, waits for `change`, changes what is in its heap,
 * makes `changed`, waits for `end`. With fork a child does what is behind `use`; the parent waits for it. With crowd
 * there are MANY regions more; with steps there are ranges "step" until `use`. Where $NVTALLY_CUPTI names a stand-in, cudaProfilerStart comes before what is used. tests/test_late_start.c knows
 * what to expect.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cupti/stand_in.h"

enum fruit { APPLE = 1, PEAR = 2 };
enum { HEAP = 1 << 20, CROWD = 5000, MANY = 400000 };

struct basket {
    int32_t count;
    enum fruit fruit;
};

struct past {
    int64_t begin, end;
};

static char memory[3][HEAP];
static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;
static nvtxMemHeapHandle_t arena;
static uint64_t basket, loss, own_clock, past;
static nvtxRangeId_t open_range;

/* --- files ---------------------------------------------------------------------------------------- */

static const char *folder;

static void make(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static int is_made(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return !access(path, F_OK);
}

static void wait_for(const char *name)
{
    for (int i = 0; !is_made(name); i++) {
        if (i == 120000) /* two minutes */
            _exit(4);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* --- heaps ---------------------------------------------------------------------------------------- */

static nvtxMemHeapHandle_t new_heap(const char *name, char *start)
{
    const nvtxMemVirtualRangeDesc_t range = {HEAP, start};
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

static void take(nvtxMemHeapHandle_t heap, char *start, size_t bytes)
{
    const nvtxMemVirtualRangeDesc_t range = {bytes, start};
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
}

static void give(char *start)
{
    nvtxMemRegionRef_t reference;
    nvtxMemRegionsUnregisterBatch_t batch;
    memset(&batch, 0, sizeof(batch));
    reference.pointer = start;
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
    batch.refCount = 1;
    batch.refElementSize = sizeof(reference);
    batch.refElements = &reference;
    nvtxMemRegionsUnregister(domain, &batch);
}

static void resize(char *start, size_t bytes)
{
    const nvtxMemVirtualRangeDesc_t range = {bytes, start};
    nvtxMemRegionsResizeBatch_t batch;
    memset(&batch, 0, sizeof(batch));
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.regionDescCount = 1;
    batch.regionDescElementSize = sizeof(range);
    batch.regionDescElements = &range;
    nvtxMemRegionsResize(domain, &batch);
}

static void name_region(char *start, const char *name)
{
    nvtxMemRegionNameDesc_t element;
    nvtxMemRegionsNameBatch_t batch;
    memset(&element, 0, sizeof(element));
    memset(&batch, 0, sizeof(batch));
    element.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
    element.region.pointer = start;
    element.nameType = NVTX_MESSAGE_TYPE_ASCII;
    element.name.ascii = name;
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.regionCount = 1;
    batch.regionElementSize = sizeof(element);
    batch.regionElements = &element;
    nvtxMemRegionsName(domain, &batch);
}

/* At the start: 100,000 bytes that stay, 30,000 that do until "step", 20,000 that were 10,000, and others that are gone by then. */
static void announce_heaps(void)
{
    arena = new_heap("arena", memory[0]);
    take(arena, memory[0], 100000);
    name_region(memory[0], "weights");
    take(arena, memory[0] + 200000, 30000);
    take(arena, memory[0] + 300000, 10000);
    resize(memory[0] + 300000, 20000);
    take(arena, memory[0] + 400000, 77777);
    give(memory[0] + 400000);
    nvtxMemHeapHandle_t gone = new_heap("gone", memory[1]);
    take(gone, memory[1], 5555);
    nvtxMemHeapUnregister(domain, gone);
    nvtxMemHeapHandle_t reset = new_heap("reset", memory[2]);
    take(reset, memory[2], 6666);
    nvtxMemHeapReset(domain, reset);
    /* More than a small table holds, of which all but one end again. */
    for (int i = 0; i < CROWD; i++)
        take(reset, memory[2] + 16 * i, 16);
    for (int i = 1; i < CROWD; i++)
        give(memory[2] + 16 * i);
    nvtxMemPermissionsHandle_t permissions =
        nvtxMemPermissionsCreate(domain, NVTX_MEM_PERMISSIONS_CREATE_FLAGS_NONE);
    nvtxMemPermissionsBind(domain, permissions, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD, 0);
}

/* --- schemas, counters, clocks ---------------------------------------------------------------------- */

static uint64_t register_schema(const nvtxPayloadSchemaEntry_t *entries, size_t count, size_t size)
{
    nvtxPayloadSchemaAttr_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = entries;
    attributes.numEntries = count;
    attributes.payloadStaticSize = size;
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static uint64_t register_fruit(void)
{
    static const nvtxPayloadEnum_t values[] = {{"apple", APPLE, 0}, {"pear", PEAR, 0}};
    nvtxPayloadEnumAttr_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    attributes.entries = values;
    attributes.numEntries = 2;
    attributes.sizeOfEnum = sizeof(enum fruit);
    return nvtxPayloadEnumRegister(domain, &attributes);
}

static int64_t read_own_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 3 * ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) + 12345;
}

static void announce_numbers(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "count", NULL, 0, 0, NULL, NULL},
        {0, register_fruit(), "fruit", NULL, 0, 0, NULL, NULL},
    };
    basket = register_schema(entries, 2, sizeof(struct basket));
    nvtxSemanticsCounter_t meaning;
    memset(&meaning, 0, sizeof(meaning));
    meaning.header.structSize = sizeof(meaning);
    meaning.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
    meaning.header.version = NVTX_COUNTER_SEMANTIC_VERSION;
    meaning.unit = "nats";
    meaning.unitScaleNumerator = meaning.unitScaleDenominator = 1;
    nvtxCounterAttr_t counter;
    memset(&counter, 0, sizeof(counter));
    counter.structSize = sizeof(counter);
    counter.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    counter.name = "loss";
    counter.description = "of the model";
    counter.semantics = &meaning.header;
    loss = nvtxCounterRegister(domain, &counter);
    nvtxTimeDomainAttr_t clock;
    memset(&clock, 0, sizeof(clock));
    clock.timestampTypeId = NVTX_TIMESTAMP_TYPE_GPU_GLOBALTIMER;
    own_clock = nvtxTimeDomainRegister(domain, &clock);
    nvtxTimerSource(domain, own_clock, 0, read_own_clock);
    nvtxSemanticsTime_t time;
    memset(&time, 0, sizeof(time));
    time.header.structSize = sizeof(time);
    time.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
    time.header.version = NVTX_TIME_SEMANTIC_VERSION;
    time.timeDomainId = own_clock;
    const nvtxPayloadSchemaEntry_t times[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN,
         NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0, offsetof(struct past, begin),
         &time.header, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END,
         NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0, offsetof(struct past, end), &time.header,
         NULL},
    };
    past = register_schema(times, 2, sizeof(struct past));
}

/* --- names, and what is open ------------------------------------------------------------------------ */

static void announce_names(void)
{
    static const nvtxResourceAttributes_t lock = {.version = NVTX_VERSION,
                                                  .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE,
                                                  .identifierType =
                                                      NVTX_RESOURCE_TYPE_GENERIC_HANDLE,
                                                  .identifier.ullValue = 0x1234,
                                                  .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                                  .message.ascii = "the lock"};
    domain = nvtxDomainCreateA("early");
    registered = nvtxDomainRegisterStringA(domain, "registered early");
    nvtxDomainNameCategoryA(domain, 3, "network");
    nvtxNameCategoryA(5, "disk");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the main thread");
    nvtxDomainResourceCreate(domain, (nvtxResourceAttributes_t *)&lock);
    nvtxNameCudaDeviceA(0, "first device");
    nvtxNameCudaStreamA((cudaStream_t)(uintptr_t)0x77, "the copies");
    nvtxNameCudaEventA((cudaEvent_t)(uintptr_t)0x88, "the end of copies");
    for (int i = 0; i < 20000; i++) /* the same again and again */
        nvtxDomainNameCategoryA(domain, 3, "network");
    nvtxDomainNameCategoryA(domain, 4, "late network");
}

static void *help(void *argument)
{
    (void)argument;
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the helper");
    nvtxRangePushA("open in the helper");
    make("helped");
    wait_for("use");
    nvtxRangePop();
    nvtxRangePushA("help");
    nvtxRangePop();
    return NULL;
}

static nvtxEventAttributes_t attributes_of(uint32_t category)
{
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = category;
    return attributes;
}

/* Memory of a device: that is taken, or freed. */
static void set_device_memory(int is_taken)
{
    stand_in_memory_function set = NULL;
    const char *cupti = getenv("NVTALLY_CUPTI");
    void *library = cupti ? dlopen(cupti, RTLD_NOW) : NULL;
    const struct stand_in_memory said = {
        .taken = is_taken, .address = 0x7000000, .bytes = 5000000, .device = 0};
    if (library)
        *(void **)&set = dlsym(library, "stand_in_memory");
    if (set)
        set(&said);
}

/* What cuInit does, memory that is taken, and cudaProfilerStart. */
static void start_profiler(void)
{
    int (*injection)(void) = NULL;
    stand_in_profiler_function profiler = NULL;
    const char *collector = getenv("CUDA_INJECTION64_PATH"), *cupti = getenv("NVTALLY_CUPTI");
    void *library = collector ? dlopen(collector, RTLD_NOW) : NULL;
    if (!library || !cupti)
        return;
    *(void **)&injection = dlsym(library, "InitializeInjection");
    if (injection)
        injection();
    library = dlopen(cupti, RTLD_NOW);
    if (library)
        *(void **)&profiler = dlsym(library, "stand_in_profiler");
    if (!profiler)
        _exit(5);
    set_device_memory(1);
    profiler(1);
}

static void use(void)
{
    struct basket content = {7, PEAR};
    const nvtxPayloadData_t payload = {basket, sizeof(content), &content};
    nvtxEventAttributes_t attributes = attributes_of(3);
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = registered;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;
    attributes.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    nvtxRangePop();             /* "open": its push was before */
    nvtxDomainRangePop(domain); /* "open, too" */
    nvtxDomainRangePop(domain); /* none */
    nvtxRangeEnd(open_range);   /* "open start" */
    nvtxRangePushA("step");
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxCounterSampleFloat64(domain, loss, 0.5);
    const int64_t begin = read_own_clock();
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    const struct past event = {begin, read_own_clock()};
    take(arena, memory[0] + 500000, 40000);
    give(memory[0] + 200000);
    nvtxDomainRangePop(domain);
    attributes = attributes_of(4);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "named last";
    nvtxDomainMarkEx(domain, &attributes);
    attributes = attributes_of(5);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "a mark";
    nvtxMarkEx(&attributes);
    nvtxEventBatch_t batch;
    memset(&batch, 0, sizeof(batch));
    batch.eventSchemaId = past;
    batch.events = &event;
    batch.size = sizeof(event);
    nvtxEventBatchSubmit(domain, &batch);
    nvtxRangePop();
}

/* One grows, one ends, one comes; one that has grown ends; one comes and ends; one lies where another was. */
static void change(void)
{
    resize(memory[0] + 300000, 25000);
    give(memory[0] + 300000);
    take(arena, memory[0] + 600000, 50000);
    take(arena, memory[0] + 700000, 88888);
    give(memory[0] + 700000);
    give(memory[0] + 500000);
    take(arena, memory[0] + 500000, 45000);
}

static void go_on(void)
{
    wait_for("use");
    start_profiler();
    use();
    set_device_memory(0);
    make("used");
    wait_for("change");
    change();
    make("changed");
    wait_for("end");
    nvtxRangePushA("last step");
    give(memory[0] + 600000);
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    pthread_t helper;
    if (argc < 2)
        return 2;
    folder = argv[1];
    announce_names();
    announce_numbers();
    announce_heaps();
    nvtxRangePushA("open");
    nvtxEventAttributes_t attributes = attributes_of(3);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "open, too";
    nvtxDomainRangePushEx(domain, &attributes);
    open_range = nvtxRangeStartA("open start");
    if (pthread_create(&helper, NULL, help, NULL))
        return 3;
    wait_for("helped");
    for (int i = 0; argc > 2 && !strcmp(argv[2], "crowd") && i < MANY; i++)
        take(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE,
             (char *)((uintptr_t)0x100000000 + 64 * (uintptr_t)i), 64);
    if (argc > 2 && !strcmp(argv[2], "fork")) {
        int status = 1;
        const pid_t child = fork();
        if (!child) {
            arena = new_heap("arena", memory[0]);
            take(arena, memory[0] + 200000, 30000);
            take(arena, memory[0] + 300000, 20000);
            make("announced");
            go_on();
            _exit(0);
        }
        waitpid(child, &status, 0);
        pthread_join(helper, NULL);
        return status;
    }
    make("announced");
    while (argc > 2 && !strcmp(argv[2], "steps") && !is_made("use")) {
        nvtxRangePushA("step");
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        nvtxRangePop();
    }
    pthread_join(helper, NULL);
    go_on();
    return 0;
}
