/*
 * The decoder of CUPTI's records: each field of each row, and what does not fit. Buffers are made by
 * hand (cupti_kit.h); that it knows every kind is test_cupti_kinds.c.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: the decoder is not there to be tested");
    return 0;
}

#else

#include "cupti_kit.h"

/* --- fields --- */

/* Row i of the last decode, of that kind, with exactly these fields from field 0 on. */
static void assert_row(size_t i, uint32_t kind, uint32_t count, const uint64_t *fields)
{
    assert_true(i < cupti.count);
    assert_int_equal(cupti.rows[i].kind, kind);
    assert_int_equal(cupti.rows[i].count, count);
    for (uint32_t field = 0; field < count; field++)
        if (cupti.rows[i].fields[field] != fields[field])
            fail_msg("row %zu field %u: %llu, not %llu", i, field,
                     (unsigned long long)cupti.rows[i].fields[field],
                     (unsigned long long)fields[field]);
}
#define ASSERT_ROW(i, kind, ...)                                                                   \
    assert_row(i, kind, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void kernels(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
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
    CUPTI_PUT(kernel);
    kernel.start -= 1000; /* an earlier one may come later */
    kernel.end = kernel.start + 5;
    kernel.name = NULL;
    CUPTI_PUT(kernel);
    kernel.kind = CUPTI_ACTIVITY_KIND_KERNEL;
    kernel.name = "_Z3fooi";
    CUPTI_PUT(kernel);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_KERNEL, UINT64_C(1795247842475949760), UINT64_C(1795247842475950001),
               4294967295u, 0, 3, 4, 13, 17, UINT64_C(1) << 40, 2147483647, 65535, 2, 1024, 5, 6,
               255, 49152, 180224, UINT64_C(9000000000));
    assert_int_equal(cupti.rows[1].fields[NVT_ROW_START], kernel.start);
    assert_int_equal(cupti.rows[1].fields[NVT_ROW_END], kernel.end);
    assert_string_equal(cupti.names[0][cupti.rows[0].fields[NVT_OP_NAME]], "_Z3fooi");
    assert_string_equal(cupti.names[1][cupti.rows[1].fields[NVT_OP_NAME]], "");
    assert_int_equal(cupti.rows[2].fields[NVT_OP_NAME], cupti.rows[0].fields[NVT_OP_NAME]);
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

/* The text of the UUID of the device that a record is of. */
static const char *gpu_of(CUpti_ActivityDevice5 device)
{
    cupti.used = 0;
    device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    device.name = "H200";
    CUPTI_PUT(device);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    assert_int_equal(cupti.rows[0].count, NVT_DEV_FIELDS);
    return cupti.names[0][cupti.rows[0].fields[NVT_DEV_GPU]];
}

static void devices_are_told_apart(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUpti_ActivityDevice5 device = {.isCudaVisible = 1};
    assert_string_equal(gpu_of(device), "");
    for (int i = 0; i < 16; i++) {
        device.uuid.bytes[i] = (char)(i * 17);
        device.migUuid.bytes[i] = (char)(255 - i);
    }
    assert_string_equal(gpu_of(device), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    device.isMigEnabled = 1;
    assert_string_equal(gpu_of(device), "MIG-fffefdfc-fbfa-f9f8-f7f6-f5f4f3f2f1f0");
    memset(&device.migUuid, 0, sizeof(device.migUuid));
    assert_string_equal(gpu_of(device), "");
    device.isMigEnabled = device.isCudaVisible = 0;
    assert_string_equal(gpu_of(device), "");
}

static void a_graph_from_the_host(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUpti_ActivityGraphTrace2 from_host = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                           .start = 400,
                                           .end = 500,
                                           .deviceId = INT_MAX,
                                           .contextId = INT_MAX,
                                           .endDeviceId = 3,
                                           .endContextId = 4};
    CUPTI_PUT(from_host);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    assert_int_equal(cupti.rows[0].fields[NVT_OP_DEVICE], 3);
    assert_int_equal(cupti.rows[0].fields[NVT_OP_CONTEXT], 4);
}

static void copies_and_sets(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUPTI_PUT(copy);
    CUPTI_PUT(peer);
    CUPTI_PUT(set);
    CUPTI_PUT(graph);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_MEMCPY, 100, 170, 4, 0, 1, 2, 3, 5, 6, UINT64_C(1) << 33, 2, 3, 1, 1,
               1);
    ASSERT_ROW(1, NVT_DEVICE_MEMCPY, 200, 201, 9, 0, 1, 2, 3, 10, 11, 8, 10, 3, 3, 6, 7);
    ASSERT_ROW(2, NVT_DEVICE_MEMSET, 300, 310, 12, 0, 1, 2, 3, 13, 14, 4096, 0xff, 5);
    ASSERT_ROW(3, NVT_DEVICE_GRAPH, 400, 500, 15, 0, 1, 2, 3, 16, 0);
}

#define COUNTER(what)  CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##what

/* A counter with something in each field, also in those that CUPTI leaves undefined for its kind. */
static CUpti_ActivityUnifiedMemoryCounter3 counter(CUpti_ActivityUnifiedMemoryCounterKind kind,
                                                   uint64_t value, uint32_t flags)
{
    return (CUpti_ActivityUnifiedMemoryCounter3){.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
                                                 .counterKind = kind,
                                                 .value = value,
                                                 .start = 100,
                                                 .end = 170,
                                                 .address = UINT64_C(0x7f0000200000),
                                                 .srcId = 2,
                                                 .dstId = 3,
                                                 .streamId = 99,
                                                 .processId = 4711,
                                                 .flags = flags,
                                                 .processors = {6}};
}

static void pages_that_move_are_copies(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUpti_ActivityUnifiedMemoryCounter3 move = counter(COUNTER(BYTES_TRANSFER_HTOD), 65536, 2);
    const uint64_t host = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID, at = move.address;
    move.srcId = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
    CUPTI_PUT(move);
    move = counter(COUNTER(BYTES_TRANSFER_DTOH), UINT64_C(1) << 33, 4);
    move.dstId = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
    CUPTI_PUT(move);
    move = counter(COUNTER(BYTES_TRANSFER_DTOD), 4096, 5);
    CUPTI_PUT(move);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_MEMCPY, 100, 170, 0, 0, 3, 0, 0, 0, 0, 65536, 11, 5, 5, host, 3, at,
               2);
    ASSERT_ROW(1, NVT_DEVICE_MEMCPY, 100, 170, 0, 0, 2, 0, 0, 0, 0, UINT64_C(1) << 33, 12, 5, 5, 2,
               host, at, 4);
    ASSERT_ROW(2, NVT_DEVICE_MEMCPY, 100, 170, 0, 0, 3, 0, 0, 0, 0, 4096, 13, 5, 5, 2, 3, at, 5);
}

/* Ends, sources and targets only where CUPTI says that it has some. */
static void other_counters_of_managed_memory(void **state)
{
    const CUpti_ActivityUnifiedMemoryCounter3 all[] = {
        counter(COUNTER(CPU_PAGE_FAULT_COUNT), UINT64_C(0x4005d0), 2),
        counter(COUNTER(GPU_PAGE_FAULT), 7, 3),
        counter(COUNTER(THRASHING), 2 << 20, 1 << 5),
        counter(COUNTER(THROTTLING), 0, 1 << 6),
        counter(COUNTER(REMOTE_MAP), 65536, 2),
        counter(COUNTER(UNKNOWN), 1, 1),
        counter((CUpti_ActivityUnifiedMemoryCounterKind)9, 1, 1), /* of the future */
    };
    const uint64_t none = UINT32_MAX, at = all[0].address;
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUPTI_PUT(all);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 2);
    ASSERT_ROW(0, NVT_DEVICE_UM, 100, 100, 0, 3, none, none, at, 0x4005d0, 2);
    ASSERT_ROW(1, NVT_DEVICE_UM, 100, 170, 0, 4, 2, none, at, 7, 3);
    ASSERT_ROW(2, NVT_DEVICE_UM, 100, 100, 0, 5, 2, none, at, 2 << 20, 1 << 5);
    ASSERT_ROW(3, NVT_DEVICE_UM, 100, 170, 0, 6, 2, none, at, 0, 1 << 6);
    ASSERT_ROW(4, NVT_DEVICE_UM, 100, 100, 0, 7, 2, 3, at, 65536, 2);
    assert_int_equal(cupti.count, 5);
}

static void calls(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
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
    const CUpti_ActivityCudaEvent2 event = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                            .correlationId = 4,
                                            .contextId = 7,
                                            .streamId = 13,
                                            .eventId = 9};
    CUPTI_PUT(call);
    call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    call.cbid = CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2;
    CUPTI_PUT(call);
    call.cbid = 999999; /* of the future */
    CUPTI_PUT(call);
    CUPTI_PUT(wait);
    cost.objectId.pt.threadId = 4711;
    CUPTI_PUT(cost);
    CUPTI_PUT(event);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_API, 10, 12, 5, NVT_CALL_RUNTIME, 0, 4711, 2);
    ASSERT_ROW(1, NVT_DEVICE_API, 10, 12, 5, NVT_CALL_DRIVER, 1, 4711, 2);
    ASSERT_ROW(2, NVT_DEVICE_API, 10, 12, 5, NVT_CALL_DRIVER, 2, 4711, 2);
    assert_string_equal(cupti.names[0][0], "cudaLaunchKernel_v7000");
    assert_string_equal(cupti.names[0][1], "cuMemcpyHtoDAsync_v2");
    assert_string_equal(cupti.names[0][2], "");
    ASSERT_ROW(3, NVT_DEVICE_SYNC, 20, 29, 6, 1, 7, 8, 9);
    ASSERT_ROW(4, NVT_DEVICE_OVERHEAD, 30, 31, 0, UINT64_C(5) << 16, 4711);
    ASSERT_ROW(5, NVT_DEVICE_EVENT, 4, 7, 13, 9);
}

static unsigned released;

static void release(void *memory)
{
    released++;
    free(memory);
}

/* What lies beside a record is freed once, even where the record goes into a second batch; of other overheads there
 * is no pointer before CUDA 12.4. */
static void what_lies_beside_a_record_is_freed(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUpti_ActivityOverhead3 cost = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                    .overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL,
                                    .start = 30,
                                    .end = 31};
    for (int i = 0; i < 40; i++) {
        cost.overheadData = malloc(sizeof(CUpti_ActivityOverheadCommandBufferFullData));
        assert_non_null(cost.overheadData);
        CUPTI_PUT(cost);
    }
    cost.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE;
    cost.overheadData = &released;
    CUPTI_PUT(cost);
    cupti.decoder.release = release;
    released = 0;
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 12), 0);
    cupti.decoder.release = NULL;
    assert_int_equal(cupti.count, 41);
    assert_int_equal(released, 40);
}

static void memory_and_pools(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
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
    CUPTI_PUT(memory);
    memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    memory.memoryPoolConfig.address = 0xabc;
    memory.memoryPoolConfig.pool.size = 128;
    memory.memoryPoolConfig.utilizedSize = 96;
    CUPTI_PUT(memory);
    /* Of an imported pool there is no size, but another process. */
    memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
    CUPTI_PUT(memory);
    CUPTI_PUT(pool);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_MEMORY, 50, 50, 1, 2, 2, UINT64_C(0x7f0000000000), 1 << 21, 0, 0, 0, 3,
               0, 3, 4);
    ASSERT_ROW(1, NVT_DEVICE_MEMORY, 50, 50, 1, 2, 2, UINT64_C(0x7f0000000000), 1 << 21, 0xabc, 128,
               96, 3, 0, 3, 4);
    assert_int_equal(cupti.rows[2].fields[NVT_MEM_POOL], 0);
    ASSERT_ROW(3, NVT_DEVICE_POOL, 60, 60, 5, 3, 2, 0, 0, 0xabc, 64, 32, 3);
    assert_string_equal(cupti.names[0][0], "table");
}

static void objects(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
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
    CUPTI_PUT(device);
    CUPTI_PUT(context);
    CUPTI_PUT(stream);
    CUPTI_PUT(named);
    CUPTI_PUT(external);
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), 0);
    ASSERT_ROW(0, NVT_DEVICE_DEVICE, 6, 0, UINT64_C(150000000000), 132, 9, 1, 1);
    ASSERT_ROW(1, NVT_DEVICE_CONTEXT, 1, 6, 7);
    ASSERT_ROW(2, NVT_DEVICE_STREAM, 1, 13, 2, 3);
    ASSERT_ROW(3, NVT_DEVICE_NAME, 5, 13, 2);
    ASSERT_ROW(4, NVT_DEVICE_EXTERNAL, 99, 4, UINT64_C(1) << 60);
    assert_string_equal(cupti.names[0][0], "NVIDIA H200");
    assert_string_equal(cupti.names[3][2], "compute");
}

/* --- times --- */

/* Of operations alone: the others' are the callback's. CUPTI's own clock is 5000 ahead. */
static void times_that_cannot_be_are_put_right_or_left_out(void **state)
{
    static const struct {
        uint64_t start, end, real_start, real_end;
    } times[] = {{1000, 2000, 1000, 2000}, {1500, 1500, 1500, 1500}, {999, 2000, 0, 0},
                 {1000, 2001, 0, 0},       {3000, 1500, 0, 0},       {6000, 7000, 1000, 2000},
                 {6000, 7001, 0, 0},       {5999, 6500, 0, 0},       {0, 0, 0, 0},
                 {UINT64_MAX, 1, 0, 0}};
    const size_t count = NVT_COUNT_OF(times);
    (void)state;
    if (!cupti.decoder.next)
        skip();
    for (size_t i = 0; i < count; i++) {
        CUpti_ActivityMemset4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                        .start = times[i].start,
                                        .end = times[i].end,
                                        .bytes = 1};
        CUPTI_PUT(record);
    }
    CUpti_ActivityAPI call = {
        .kind = CUPTI_ACTIVITY_KIND_RUNTIME, .cbid = 1, .start = 1, .end = 9000};
    CUPTI_PUT(call);
    cupti.decoder.earliest = 1000;
    cupti.decoder.latest = 2000;
    cupti.decoder.ahead = 5000;
    uint64_t unknown = cupti_decode(cupti.buffer, cupti.used, 1 << 16);
    cupti.decoder.earliest = cupti.decoder.latest = cupti.decoder.ahead = 0;
    assert_int_equal(unknown, 0);
    assert_int_equal(cupti.count, count + 1);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cupti.rows[i].fields[NVT_ROW_START], times[i].real_start);
        assert_int_equal(cupti.rows[i].fields[NVT_ROW_END], times[i].real_end);
        assert_int_equal(cupti.rows[i].fields[NVT_SET_BYTES], 1);
    }
    assert_int_equal(cupti.rows[count].fields[NVT_ROW_END], 9000);
}

/* --- room --- */

static void nothing_is_lost_at_the_end_of_a_batch(void **state)
{
    static char names[700][64];
    (void)state;
    if (!cupti.decoder.next)
        skip();
    for (int i = 0; i < 700; i++) {
        CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_KERNEL,
                                         .start = (uint64_t)i * 1000 + 1,
                                         .end = (uint64_t)i * 1000 + 500};
        snprintf(names[i], sizeof(names[i]), "kernel number %d of many", i);
        kernel.name = names[i];
        CUPTI_PUT(kernel);
    }
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 4096), 0);
    assert_int_equal(cupti.count, 700);
    assert_true(cupti.batches > 5);
    for (size_t i = 0; i < 700; i++) {
        assert_int_equal(cupti.rows[i].fields[NVT_ROW_START], i * 1000 + 1);
        uint64_t number = cupti.rows[i].fields[NVT_OP_NAME];
        if (number < 8)
            assert_string_equal(cupti.names[i][number], names[i]);
    }
}

static void a_cut_buffer(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME, .cbid = 1, .start = 1, .end = 2};
    CUPTI_PUT(call);
    CUPTI_PUT(call);
    assert_int_equal(cupti_decode(cupti.buffer, 0, 1 << 16), 0);
    assert_int_equal(cupti.count, 0);
    assert_int_equal(cupti_decode(cupti.buffer, sizeof(call), 1 << 16), 0);
    assert_int_equal(cupti.count, 1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, cupti_empty)
    const struct CMUnitTest tests[] = {
        TEST(devices_are_told_apart),
        TEST(a_graph_from_the_host),
        TEST(kernels),
        TEST(copies_and_sets),
        TEST(pages_that_move_are_copies),
        TEST(other_counters_of_managed_memory),
        TEST(calls),
        TEST(memory_and_pools),
        TEST(objects),
        TEST(times_that_cannot_be_are_put_right_or_left_out),
        TEST(nothing_is_lost_at_the_end_of_a_batch),
        TEST(a_cut_buffer),
        TEST(what_lies_beside_a_record_is_freed),
    };
    return cmocka_run_group_tests(tests, cupti_load, cupti_forget);
}

#endif
