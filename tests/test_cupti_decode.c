/*
 * The decoder of CUPTI's records. Buffers are made by hand; NVIDIA's own libcupti, which needs no
 * GPU for that, says where each record in them ends, so that a structure of another version than
 * the library's is found here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: the decoder is not there to be tested");
    return 0;
}

#else

#include <dlfcn.h>

#include "../collectors/cupti_decode.h"
#include "../lib/buffer.h"

static struct nvt_cupti_decoder decoder;
static CUptiResult (*version)(uint32_t *);

/* Rows and names of all batches of a decode, in order. */
static struct {
    struct nvt_device_row rows[4096];
    char *names[4096][8]; /* of row i: its batch's names, only the first of them */
    size_t count;
    unsigned batches;
} seen;

static void collect(void *context, struct nvt_device_batch *batch)
{
    size_t names_size, rows_size;
    const uint8_t *names = nvt_device_batch_names(batch, &names_size);
    const uint8_t *rows = nvt_device_batch_rows(batch, &rows_size);
    struct nvt_device_reader reader = {rows, rows + rows_size, 0};
    const uint8_t *texts[8] = {0};
    uint64_t lengths[8] = {0};
    (void)context;
    for (uint32_t i = 0; i < batch->names; i++) {
        uint64_t length = 0;
        const uint8_t *at = nvt_varint_get(names, batch->data + names_size, &length);
        if (!at) {
            fail_msg("a name is cut");
            return;
        }
        if (i < 8) {
            texts[i] = at;
            lengths[i] = length;
        }
        names = at + length;
    }
    assert_ptr_equal(names, batch->data + names_size);
    uint32_t rows_before = (uint32_t)seen.count;
    while (nvt_device_reader_next(&reader, &seen.rows[seen.count]) == 1) {
        for (int i = 0; i < 8; i++)
            seen.names[seen.count][i] =
                texts[i] ? strndup((const char *)texts[i], lengths[i]) : NULL;
        seen.count++;
    }
    assert_ptr_equal(reader.at, reader.end);
    assert_int_equal(seen.count - rows_before, batch->rows);
    seen.batches++;
    nvt_device_batch_clear(batch);
}

static void forget(void)
{
    for (size_t i = 0; i < seen.count; i++)
        for (int j = 0; j < 8; j++)
            free(seen.names[i][j]);
    memset(&seen, 0, sizeof(seen));
}

static uint64_t decode(uint8_t *buffer, size_t size, size_t room)
{
    struct nvt_device_batch *batch = malloc(sizeof(*batch));
    void *memory = malloc(room);
    forget();
    nvt_device_batch_init(batch, memory, room);
    uint64_t unknown = nvt_cupti_decode(&decoder, buffer, size, batch);
    if (batch->rows)
        collect(NULL, batch);
    free(memory);
    free(batch);
    return unknown;
}

/* A buffer as CUPTI asks for it. */
static uint8_t buffer[1 << 20] __attribute__((aligned(8)));
static size_t used;

static void put(const void *record, size_t size)
{
    assert_true(used + size <= sizeof(buffer));
    memcpy(buffer + used, record, size);
    used += size;
}
#define PUT(record) put(&(record), sizeof(record))

static int load(void **state)
{
    static const char *const places[] = {"libcupti.so.13", "libcupti.so.12",
                                         "/usr/local/cuda/lib64/libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
    void *library = NULL;
    (void)state;
    for (size_t i = 0; !library && i < sizeof(places) / sizeof(places[0]); i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    if (library) {
        *(void **)&decoder.next = dlsym(library, "cuptiActivityGetNextRecord");
        *(void **)&decoder.callback_name = dlsym(library, "cuptiGetCallbackName");
        *(void **)&version = dlsym(library, "cuptiGetVersion");
    }
    decoder.full = collect;
    return 0;
}

static int empty_buffer(void **state)
{
    (void)state;
    used = 0;
    memset(buffer, 0, sizeof(buffer));
    if (!decoder.next)
        print_message("libcupti is not here: its walk through the buffers is not tested\n");
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    forget();
    return 0;
}

/* --- every kind --- */

#define KIND(kind, record, row)                                                                    \
    {                                                                                              \
        CUPTI_ACTIVITY_KIND_##kind, sizeof(CUpti_Activity##record), row, #kind                     \
    }

/* All kinds that this version of CUPTI still makes, with their structures; 0: they have no row. */
static const struct kind {
    CUpti_ActivityKind kind;
    size_t size;
    uint32_t row;
    const char *name;
} kinds[] = {
    KIND(MEMCPY, Memcpy6, NVT_DEVICE_MEMCPY),
    KIND(MEMSET, Memset4, NVT_DEVICE_MEMSET),
    KIND(KERNEL, Kernel10, NVT_DEVICE_KERNEL),
    KIND(DRIVER, API, NVT_DEVICE_API),
    KIND(RUNTIME, API, NVT_DEVICE_API),
    KIND(DEVICE, Device5, NVT_DEVICE_DEVICE),
    KIND(CONTEXT, Context3, NVT_DEVICE_CONTEXT),
    KIND(CONCURRENT_KERNEL, Kernel10, NVT_DEVICE_KERNEL),
    KIND(NAME, Name, NVT_DEVICE_NAME),
    KIND(MARKER, Marker2, 0),
    KIND(MARKER_DATA, MarkerData2, 0),
    KIND(OVERHEAD, Overhead3, NVT_DEVICE_OVERHEAD),
    KIND(CDP_KERNEL, CdpKernel, 0),
    KIND(PREEMPTION, Preemption, 0),
    KIND(ENVIRONMENT, Environment, 0),
    KIND(MEMCPY2, MemcpyPtoP4, NVT_DEVICE_MEMCPY),
    KIND(UNIFIED_MEMORY_COUNTER, UnifiedMemoryCounter3, 0),
    KIND(FUNCTION, Function, 0),
    KIND(MODULE, Module, 0),
    KIND(DEVICE_ATTRIBUTE, DeviceAttribute, 0),
    KIND(OPENACC_DATA, OpenAccData, 0),
    KIND(OPENACC_LAUNCH, OpenAccLaunch, 0),
    KIND(OPENACC_OTHER, OpenAccOther, 0),
    KIND(CUDA_EVENT, CudaEvent2, 0),
    KIND(STREAM, Stream, NVT_DEVICE_STREAM),
    KIND(SYNCHRONIZATION, Synchronization2, NVT_DEVICE_SYNC),
    KIND(EXTERNAL_CORRELATION, ExternalCorrelation, NVT_DEVICE_EXTERNAL),
    KIND(NVLINK, NvLink4, 0),
    KIND(MEMORY, Memory, 0),
    KIND(PCIE, Pcie, 0),
    KIND(OPENMP, OpenMp, 0),
    KIND(INTERNAL_LAUNCH_API, API, 0),
    KIND(MEMORY2, Memory4, NVT_DEVICE_MEMORY),
    KIND(MEMORY_POOL, MemoryPool3, NVT_DEVICE_POOL),
    KIND(GRAPH_TRACE, GraphTrace2, NVT_DEVICE_GRAPH),
    KIND(JIT, Jit2, 0),
    KIND(DEVICE_GRAPH_TRACE, DeviceGraphTrace, 0),
    KIND(MEM_DECOMPRESS, MemDecompress, 0),
    KIND(CONFIDENTIAL_COMPUTE_ROTATION, ConfidentialComputeRotation, 0),
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Kinds that CUDA 13 has given up: a buffer cannot be read behind them. */
static const CUpti_ActivityKind gone[] = {
    CUPTI_ACTIVITY_KIND_EVENT,           CUPTI_ACTIVITY_KIND_METRIC,
    CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR,  CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS,
    CUPTI_ACTIVITY_KIND_BRANCH,          CUPTI_ACTIVITY_KIND_EVENT_INSTANCE,
    CUPTI_ACTIVITY_KIND_METRIC_INSTANCE, CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION,
    CUPTI_ACTIVITY_KIND_SHARED_ACCESS,   CUPTI_ACTIVITY_KIND_PC_SAMPLING,
};

static int has_own_version(void)
{
    uint32_t number = 0;
    return version && version(&number) == CUPTI_SUCCESS &&
           number / 1000 == CUPTI_API_VERSION / 1000;
}

static void the_library_walks_our_structures(void **state)
{
    size_t ends[KINDS];
    CUpti_Activity *record = NULL;
    (void)state;
    if (!has_own_version())
        skip();
    for (size_t i = 0; i < KINDS; i++) {
        memcpy(buffer + used, &kinds[i].kind, sizeof(kinds[i].kind));
        used += kinds[i].size;
        ends[i] = used;
    }
    for (size_t i = 0; i < KINDS; i++) {
        assert_int_equal(decoder.next(buffer, used, &record), CUPTI_SUCCESS);
        if ((size_t)((uint8_t *)record - buffer) + kinds[i].size != ends[i] ||
            record->kind != kinds[i].kind)
            fail_msg("the library has another structure for what comes before %s", kinds[i].name);
    }
    assert_int_equal(decoder.next(buffer, used, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
}

static void every_kind_is_a_row_or_counted(void **state)
{
    uint64_t without = 0;
    size_t at = 0;
    (void)state;
    if (!has_own_version())
        skip();
    for (size_t i = 0; i < KINDS; i++) {
        memcpy(buffer + used, &kinds[i].kind, sizeof(kinds[i].kind));
        used += kinds[i].size;
        without += !kinds[i].row;
    }
    assert_int_equal(decode(buffer, used, 1 << 16), without);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].row)
            assert_int_equal(seen.rows[at++].kind, kinds[i].row);
    assert_int_equal(at, seen.count);
}

static void a_kind_of_the_past_ends_its_buffer(void **state)
{
    (void)state;
    if (!has_own_version())
        skip();
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
        CUpti_ActivityContext3 context = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT};
        used = 0;
        memset(buffer, 0, 4096);
        PUT(context);
        PUT(gone[i]);
        assert_int_equal(decode(buffer, 2048, 1 << 16), 1);
        assert_int_equal(seen.count, 1);
    }
}

/* --- fields --- */

/* Row i of the last decode, of that kind, with exactly these fields from field 0 on. */
static void assert_row(size_t i, uint32_t kind, uint32_t count, const uint64_t *fields)
{
    assert_true(i < seen.count);
    assert_int_equal(seen.rows[i].kind, kind);
    assert_int_equal(seen.rows[i].count, count);
    for (uint32_t field = 0; field < count; field++)
        if (seen.rows[i].fields[field] != fields[field])
            fail_msg("row %zu field %u: %llu, not %llu", i, field,
                     (unsigned long long)seen.rows[i].fields[field],
                     (unsigned long long)fields[field]);
}
#define ASSERT_ROW(i, kind, ...)                                                                   \
    assert_row(i, kind, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void kernels(void **state)
{
    (void)state;
    if (!decoder.next)
        skip();
    CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .registersPerThread = 255,
                                     .start = UINT64_C(1795247842475949760),
                                     .end = UINT64_C(1795247842475950001),
                                     .deviceId = 3,
                                     .contextId = 4,
                                     .streamId = 13,
                                     .gridX = 2147483647,
                                     .gridY = 65535,
                                     .gridZ = 2,
                                     .blockX = 1024,
                                     .blockY = 5,
                                     .blockZ = 6,
                                     .staticSharedMemory = 49152,
                                     .dynamicSharedMemory = 180224,
                                     .localMemoryTotal = 1,
                                     .localMemoryTotal_v2 = UINT64_C(9000000000),
                                     .correlationId = 4294967295u,
                                     .name = "_Z3fooi",
                                     .graphNodeId = UINT64_C(1) << 40,
                                     .graphId = 17};
    PUT(kernel);
    kernel.start -= 1000; /* an earlier one may come later */
    kernel.end = kernel.start + 5;
    kernel.name = NULL;
    PUT(kernel);
    kernel.kind = CUPTI_ACTIVITY_KIND_KERNEL;
    kernel.name = "_Z3fooi";
    PUT(kernel);
    assert_int_equal(decode(buffer, used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_KERNEL, UINT64_C(1795247842475949760), UINT64_C(1795247842475950001),
               4294967295u, 0, 3, 4, 13, 17, UINT64_C(1) << 40, 2147483647, 65535, 2, 1024, 5, 6,
               255, 49152, 180224, UINT64_C(9000000000));
    assert_int_equal(seen.rows[1].fields[NVT_ROW_START], kernel.start);
    assert_int_equal(seen.rows[1].fields[NVT_ROW_END], kernel.end);
    assert_string_equal(seen.names[0][seen.rows[0].fields[NVT_OP_NAME]], "_Z3fooi");
    assert_string_equal(seen.names[1][seen.rows[1].fields[NVT_OP_NAME]], "");
    assert_int_equal(seen.rows[2].fields[NVT_OP_NAME], seen.rows[0].fields[NVT_OP_NAME]);
}

static CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                     .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                                     .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                     .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                     .bytes = UINT64_C(1) << 33,
                                     .start = 100,
                                     .end = 170,
                                     .deviceId = 1,
                                     .contextId = 2,
                                     .streamId = 3,
                                     .correlationId = 4,
                                     .graphNodeId = 6,
                                     .graphId = 5};
static CUpti_ActivityMemcpyPtoP4 peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                         .srcKind = 3,
                                         .dstKind = 3,
                                         .bytes = 8,
                                         .start = 200,
                                         .end = 201,
                                         .deviceId = 1,
                                         .contextId = 2,
                                         .streamId = 3,
                                         .srcDeviceId = 6,
                                         .dstDeviceId = 7,
                                         .correlationId = 9,
                                         .graphNodeId = 11,
                                         .graphId = 10};
static CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                    .value = 0xff,
                                    .bytes = 4096,
                                    .start = 300,
                                    .end = 310,
                                    .deviceId = 1,
                                    .contextId = 2,
                                    .streamId = 3,
                                    .correlationId = 12,
                                    .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
                                    .graphNodeId = 14,
                                    .graphId = 13};
static CUpti_ActivityGraphTrace2 graph = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                          .correlationId = 15,
                                          .start = 400,
                                          .end = 500,
                                          .deviceId = 1,
                                          .graphId = 16,
                                          .contextId = 2,
                                          .streamId = 3};

static void copies_and_sets(void **state)
{
    (void)state;
    if (!decoder.next)
        skip();
    PUT(copy);
    PUT(peer);
    PUT(set);
    PUT(graph);
    assert_int_equal(decode(buffer, used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_MEMCPY, 100, 170, 4, 0, 1, 2, 3, 5, 6, UINT64_C(1) << 33, 2, 3, 1, 1,
               1);
    ASSERT_ROW(1, NVT_DEVICE_MEMCPY, 200, 201, 9, 0, 1, 2, 3, 10, 11, 8, 10, 3, 3, 6, 7);
    ASSERT_ROW(2, NVT_DEVICE_MEMSET, 300, 310, 12, 0, 1, 2, 3, 13, 14, 4096, 0xff, 5);
    ASSERT_ROW(3, NVT_DEVICE_GRAPH, 400, 500, 15, 0, 1, 2, 3, 16, 0);
}

static void calls(void **state)
{
    (void)state;
    if (!decoder.next)
        skip();
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                              .cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                              .start = 10,
                              .end = 12,
                              .threadId = 4711,
                              .correlationId = 5,
                              .returnValue = 2};
    CUpti_ActivitySynchronization2 wait = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
        .start = 20,
        .end = 29,
        .correlationId = 6,
        .contextId = 7,
        .streamId = 8,
        .cudaEventId = 9};
    CUpti_ActivityOverhead3 cost = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                    .overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
                                    .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                                    .start = 30,
                                    .end = 31};
    PUT(call);
    call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    call.cbid = CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2;
    PUT(call);
    call.cbid = 999999; /* of the future */
    PUT(call);
    PUT(wait);
    cost.objectId.pt.threadId = 4711;
    PUT(cost);
    assert_int_equal(decode(buffer, used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_API, 10, 12, 5, NVT_CALL_RUNTIME, 0, 4711, 2);
    ASSERT_ROW(1, NVT_DEVICE_API, 10, 12, 5, NVT_CALL_DRIVER, 1, 4711, 2);
    ASSERT_ROW(2, NVT_DEVICE_API, 10, 12, 5, NVT_CALL_DRIVER, 2, 4711, 2);
    assert_string_equal(seen.names[0][0], "cudaLaunchKernel_v7000");
    assert_string_equal(seen.names[0][1], "cuMemcpyHtoDAsync_v2");
    assert_string_equal(seen.names[0][2], "");
    ASSERT_ROW(3, NVT_DEVICE_SYNC, 20, 29, 6, 1, 7, 8, 9);
    ASSERT_ROW(4, NVT_DEVICE_OVERHEAD, 30, 31, 0, UINT64_C(5) << 16, 4711);
}

static void memory_and_pools(void **state)
{
    (void)state;
    if (!decoder.next)
        skip();
    CUpti_ActivityMemory4 memory = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                                    .memoryOperationType =
                                        CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                                    .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                    .correlationId = 1,
                                    .address = UINT64_C(0x7f0000000000),
                                    .bytes = 1 << 21,
                                    .timestamp = 50,
                                    .deviceId = 2,
                                    .contextId = 3,
                                    .streamId = 4,
                                    .name = "table"};
    CUpti_ActivityMemoryPool3 pool = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                      .memoryPoolOperationType =
                                          CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
                                      .correlationId = 5,
                                      .deviceId = 2,
                                      .address = 0xabc,
                                      .size = 64,
                                      .timestamp = 60,
                                      .utilizedSize = 32};
    PUT(memory);
    memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    memory.memoryPoolConfig.address = 0xabc;
    memory.memoryPoolConfig.pool.size = 128;
    memory.memoryPoolConfig.utilizedSize = 96;
    PUT(memory);
    /* Of an imported pool there is no size, but another process. */
    memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
    PUT(memory);
    PUT(pool);
    assert_int_equal(decode(buffer, used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_MEMORY, 50, 50, 1, 2, 2, UINT64_C(0x7f0000000000), 1 << 21, 0, 0, 0, 3,
               0, 3, 4);
    ASSERT_ROW(1, NVT_DEVICE_MEMORY, 50, 50, 1, 2, 2, UINT64_C(0x7f0000000000), 1 << 21, 0xabc, 128,
               96, 3, 0, 3, 4);
    assert_int_equal(seen.rows[2].fields[NVT_MEM_POOL], 0);
    ASSERT_ROW(3, NVT_DEVICE_POOL, 60, 60, 5, 3, 2, 0, 0, 0xabc, 64, 32, 3);
    assert_string_equal(seen.names[0][0], "table");
}

static void objects(void **state)
{
    (void)state;
    if (!decoder.next)
        skip();
    CUpti_ActivityDevice5 device = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
                                    .globalMemorySize = UINT64_C(150000000000),
                                    .numMultiprocessors = 132,
                                    .computeCapabilityMajor = 9,
                                    .computeCapabilityMinor = 1,
                                    .id = 6,
                                    .name = "NVIDIA H200"};
    CUpti_ActivityContext3 context = {
        .kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = 1, .deviceId = 6, .nullStreamId = 7};
    CUpti_ActivityStream stream = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
                                   .contextId = 1,
                                   .streamId = 13,
                                   .priority = 3,
                                   .flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING};
    CUpti_ActivityName named = {.kind = CUPTI_ACTIVITY_KIND_NAME,
                                .objectKind = CUPTI_ACTIVITY_OBJECT_STREAM,
                                .objectId.dcs.streamId = 13,
                                .name = "compute"};
    CUpti_ActivityExternalCorrelation external = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                  .externalKind =
                                                      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1,
                                                  .externalId = UINT64_C(1) << 60,
                                                  .correlationId = 99};
    PUT(device);
    PUT(context);
    PUT(stream);
    PUT(named);
    PUT(external);
    assert_int_equal(decode(buffer, used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_DEVICE, 6, 0, UINT64_C(150000000000), 132, 9, 1);
    ASSERT_ROW(1, NVT_DEVICE_CONTEXT, 1, 6, 7);
    ASSERT_ROW(2, NVT_DEVICE_STREAM, 1, 13, 2, 3);
    ASSERT_ROW(3, NVT_DEVICE_NAME, 5, 13, 1);
    ASSERT_ROW(4, NVT_DEVICE_EXTERNAL, 99, 4, UINT64_C(1) << 60);
    assert_string_equal(seen.names[0][0], "NVIDIA H200");
    assert_string_equal(seen.names[3][1], "compute");
}

/* --- room --- */

static void nothing_is_lost_at_the_end_of_a_batch(void **state)
{
    static char names[700][64];
    (void)state;
    if (!decoder.next)
        skip();
    for (int i = 0; i < 700; i++) {
        CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_KERNEL,
                                         .start = (uint64_t)i * 1000 + 1,
                                         .end = (uint64_t)i * 1000 + 500};
        snprintf(names[i], sizeof(names[i]), "kernel number %d of many", i);
        kernel.name = names[i];
        PUT(kernel);
    }
    assert_int_equal(decode(buffer, used, 4096), 0);
    assert_int_equal(seen.count, 700);
    assert_true(seen.batches > 5);
    for (size_t i = 0; i < 700; i++) {
        assert_int_equal(seen.rows[i].fields[NVT_ROW_START], i * 1000 + 1);
        uint64_t number = seen.rows[i].fields[NVT_OP_NAME];
        if (number < 8)
            assert_string_equal(seen.names[i][number], names[i]);
    }
}

static void a_cut_buffer(void **state)
{
    (void)state;
    if (!decoder.next)
        skip();
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME, .cbid = 1, .start = 1, .end = 2};
    PUT(call);
    PUT(call);
    assert_int_equal(decode(buffer, 0, 1 << 16), 0);
    assert_int_equal(seen.count, 0);
    assert_int_equal(decode(buffer, sizeof(call), 1 << 16), 0);
    assert_int_equal(seen.count, 1);
}

/* --- which calls --- */

static void levels_choose_calls(void **state)
{
    static const char *const launches[] = {
        "cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060", "cudaLaunchCooperativeKernel_v9000",
        "cudaMemcpyAsync_v3020",  "cudaMemset_v3020",           "cudaGraphLaunch_v10000",
        "cuLaunchKernelEx",       "cuMemcpyHtoDAsync_v2",       "cuMemsetD32Async",
        "cuGraphLaunch",          "cudaMemcpyPeerAsync_v4000",  "__cudaLaunchKernel_v13000"};
    static const char *const others[] = {
        "cudaLaunchHostFunc_v10000", "cudaMalloc_v3020", "cuCtxSynchronize",
        "cudaGraphCreate_v10000",    "cuMemAlloc_v2",    "cudaStreamSynchronize_v3020",
        "cudaGetDevice_v3020"};
    (void)state;
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        assert_true(nvt_cupti_is_launch(launches[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(nvt_cupti_is_launch(others[i]));
    assert_true(nvt_cupti_is_graph_launch("cudaGraphLaunch_ptsz_v10000"));
    assert_false(nvt_cupti_is_graph_launch("cudaLaunchKernel_v7000"));
    assert_true(nvt_cupti_is_memory_call("cudaMallocAsync_v11020"));
    assert_true(nvt_cupti_is_memory_call("cuMemFree_v2"));
    assert_false(nvt_cupti_is_memory_call("cudaMemcpy_v3020"));
    assert_true(nvt_cupti_is_question("cudaGetDevice_v3020"));
    assert_false(nvt_cupti_is_question("cudaGetDeviceCount_v3020"));
    assert_false(nvt_cupti_is_question("cuLaunchKernel"));
}

/* The prefixes against all names that this CUPTI has. */
static void every_launching_call_is_known(void **state)
{
    unsigned launching = 0;
    (void)state;
    if (!decoder.callback_name)
        skip();
    for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain <= CUPTI_CB_DOMAIN_RUNTIME_API; domain++)
        for (uint32_t id = 1; id < 2000; id++) {
            const char *name = NULL;
            if (decoder.callback_name((CUpti_CallbackDomain)domain, id, &name) != CUPTI_SUCCESS ||
                !name)
                continue;
            int launches = (strstr(name, "Launch") && !strstr(name, "HostFunc") &&
                            !strstr(name, "Configure") && !strstr(name, "Setup")) ||
                           strstr(name, "Memcpy") || strstr(name, "Memset");
            /* Nodes are only described by these, and attributes only asked for. */
            launches = launches && !strstr(name, "Graph") && !strstr(name, "Attribute");
            launches = launches || strstr(name, "GraphLaunch");
            if (launches && !nvt_cupti_is_launch(name))
                fail_msg("not among the launches: %s", name);
            launching += (unsigned)launches;
        }
    assert_true(launching > 100);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, empty_buffer)
    const struct CMUnitTest tests[] = {
        TEST(the_library_walks_our_structures),
        TEST(every_kind_is_a_row_or_counted),
        TEST(a_kind_of_the_past_ends_its_buffer),
        TEST(kernels),
        TEST(copies_and_sets),
        TEST(calls),
        TEST(memory_and_pools),
        TEST(objects),
        TEST(nothing_is_lost_at_the_end_of_a_batch),
        TEST(a_cut_buffer),
        TEST(levels_choose_calls),
        TEST(every_launching_call_is_known),
    };
    return cmocka_run_group_tests(tests, load, forget_all);
}

#endif
