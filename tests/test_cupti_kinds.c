/*
 * Every kind of record that CUPTI makes, and every call that launches: what the decoder knows, against
 * what NVIDIA's own libcupti says of them.
 */
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

/* --- every kind --- */

#define KIND(kind, record, row)                                                                    \
    {                                                                                              \
#kind, sizeof(CUpti_Activity##record), CUPTI_ACTIVITY_KIND_##kind, row                     \
    }

/* All kinds that this version of CUPTI still makes, with their structures; 0: they have no row. */
static const struct kind {
    const char *name;
    size_t size;
    CUpti_ActivityKind kind;
    uint32_t row;
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
    KIND(UNIFIED_MEMORY_COUNTER, UnifiedMemoryCounter3, 0), /* here of no counter */
    KIND(FUNCTION, Function, 0),
    KIND(MODULE, Module, 0),
    KIND(DEVICE_ATTRIBUTE, DeviceAttribute, 0),
    KIND(OPENACC_DATA, OpenAccData, 0),
    KIND(OPENACC_LAUNCH, OpenAccLaunch, 0),
    KIND(OPENACC_OTHER, OpenAccOther, 0),
    KIND(CUDA_EVENT, CudaEvent2, NVT_DEVICE_EVENT),
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
#define KINDS NVT_COUNT_OF(kinds)

/* Kinds that CUDA 13 has given up: a buffer cannot be read behind them. */
static const CUpti_ActivityKind gone[] = {
    CUPTI_ACTIVITY_KIND_EVENT,           CUPTI_ACTIVITY_KIND_METRIC,
    CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR,  CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS,
    CUPTI_ACTIVITY_KIND_BRANCH,          CUPTI_ACTIVITY_KIND_EVENT_INSTANCE,
    CUPTI_ACTIVITY_KIND_METRIC_INSTANCE, CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION,
    CUPTI_ACTIVITY_KIND_SHARED_ACCESS,   CUPTI_ACTIVITY_KIND_PC_SAMPLING,
};

static void the_library_walks_our_structures(void **state)
{
    size_t ends[KINDS];
    CUpti_Activity *record = NULL;
    (void)state;
    if (!cupti.decoder.next)
        skip();
    for (size_t i = 0; i < KINDS; i++) {
        memcpy(cupti.buffer + cupti.used, &kinds[i].kind, sizeof(kinds[i].kind));
        cupti.used += kinds[i].size;
        ends[i] = cupti.used;
    }
    for (size_t i = 0; i < KINDS; i++) {
        assert_int_equal(cupti.decoder.next(cupti.buffer, cupti.used, &record), CUPTI_SUCCESS);
        if ((size_t)((uint8_t *)record - cupti.buffer) + kinds[i].size != ends[i] ||
            record->kind != kinds[i].kind)
            fail_msg("the library has another structure for what comes before %s", kinds[i].name);
    }
    assert_int_equal(cupti.decoder.next(cupti.buffer, cupti.used, &record),
                     CUPTI_ERROR_MAX_LIMIT_REACHED);
}

static void every_kind_is_a_row_or_counted(void **state)
{
    uint64_t without = 0;
    size_t at = 0;
    (void)state;
    if (!cupti.decoder.next)
        skip();
    for (size_t i = 0; i < KINDS; i++) {
        memcpy(cupti.buffer + cupti.used, &kinds[i].kind, sizeof(kinds[i].kind));
        cupti.used += kinds[i].size;
        without += !kinds[i].row;
    }
    assert_int_equal(cupti_decode(cupti.buffer, cupti.used, 1 << 16), without);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].row)
            assert_int_equal(cupti.rows[at++].kind, kinds[i].row);
    assert_int_equal(at, cupti.count);
}

static void a_kind_of_the_past_ends_its_buffer(void **state)
{
    (void)state;
    if (!cupti.decoder.next)
        skip();
    for (size_t i = 0; i < NVT_COUNT_OF(gone); i++) {
        CUpti_ActivityContext3 context = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT};
        cupti.used = 0;
        memset(cupti.buffer, 0, 4096);
        CUPTI_PUT(context);
        CUPTI_PUT(gone[i]);
        assert_int_equal(cupti_decode(cupti.buffer, 2048, 1 << 16), 1);
        assert_int_equal(cupti.count, 1);
    }
}

/* What is read of a record lies where it has lain since CUDA 11.8, whose structures the headers still have. */
#define SAME(old, new, field)                                                                      \
    _Static_assert(offsetof(CUpti_Activity##old, field) == offsetof(CUpti_Activity##new, field) && \
                       sizeof(((CUpti_Activity##old *)0)->field) ==                                \
                           sizeof(((CUpti_Activity##new *)0)->field),                              \
                   #old "." #field)
#define SAME_OPERATION(old, new)                                                                   \
    SAME(old, new, start);                                                                         \
    SAME(old, new, end);                                                                           \
    SAME(old, new, correlationId);                                                                 \
    SAME(old, new, deviceId);                                                                      \
    SAME(old, new, contextId);                                                                     \
    SAME(old, new, streamId);                                                                      \
    SAME(old, new, graphId)
SAME_OPERATION(Kernel8, Kernel10);
SAME(Kernel8, Kernel10, name);
SAME(Kernel8, Kernel10, graphNodeId);
SAME(Kernel8, Kernel10, gridX);
SAME(Kernel8, Kernel10, blockZ);
SAME(Kernel8, Kernel10, registersPerThread);
SAME(Kernel8, Kernel10, staticSharedMemory);
SAME(Kernel8, Kernel10, dynamicSharedMemory);
SAME(Kernel8, Kernel10, localMemoryTotal_v2);
SAME_OPERATION(Memcpy5, Memcpy6);
SAME(Memcpy5, Memcpy6, graphNodeId);
SAME(Memcpy5, Memcpy6, bytes);
SAME(Memcpy5, Memcpy6, copyKind);
SAME(Memcpy5, Memcpy6, srcKind);
SAME(Memcpy5, Memcpy6, dstKind);
SAME_OPERATION(GraphTrace, GraphTrace2);
SAME(Synchronization, Synchronization2, start);
SAME(Synchronization, Synchronization2, end);
SAME(Synchronization, Synchronization2, type);
SAME(Synchronization, Synchronization2, correlationId);
SAME(Synchronization, Synchronization2, contextId);
SAME(Synchronization, Synchronization2, streamId);
SAME(Synchronization, Synchronization2, cudaEventId);
SAME(Memory3, Memory4, timestamp);
SAME(Memory3, Memory4, correlationId);
SAME(Memory3, Memory4, memoryOperationType);
SAME(Memory3, Memory4, memoryKind);
SAME(Memory3, Memory4, deviceId);
SAME(Memory3, Memory4, address);
SAME(Memory3, Memory4, bytes);
SAME(Memory3, Memory4, name);
SAME(Memory3, Memory4, contextId);
SAME(Memory3, Memory4, streamId);
SAME(Memory3, Memory4, memoryPoolConfig);
SAME(MemoryPool2, MemoryPool3, timestamp);
SAME(MemoryPool2, MemoryPool3, correlationId);
SAME(MemoryPool2, MemoryPool3, memoryPoolOperationType);
SAME(MemoryPool2, MemoryPool3, deviceId);
SAME(MemoryPool2, MemoryPool3, address);
SAME(MemoryPool2, MemoryPool3, size);
SAME(MemoryPool2, MemoryPool3, utilizedSize);
SAME(Overhead, Overhead3, start);
SAME(Overhead, Overhead3, end);
SAME(Overhead, Overhead3, overheadKind);
SAME(Overhead, Overhead3, objectKind);
SAME(Overhead, Overhead3, objectId);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, counterKind);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, value);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, start);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, end);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, address);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, srcId);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, dstId);
SAME(UnifiedMemoryCounter2, UnifiedMemoryCounter3, flags);
SAME(Device4, Device5, id);
SAME(Device4, Device5, name);
SAME(Device4, Device5, uuid);
SAME(Device4, Device5, isCudaVisible);
SAME(Device4, Device5, isMigEnabled);
SAME(Device4, Device5, migUuid);
SAME(Device4, Device5, globalMemorySize);
SAME(Device4, Device5, numMultiprocessors);
SAME(Device4, Device5, computeCapabilityMinor);
SAME(Context, Context3, contextId);
SAME(Context, Context3, deviceId);
SAME(Context, Context3, nullStreamId);

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
    for (size_t i = 0; i < NVT_COUNT_OF(launches); i++)
        assert_true(nvt_cupti_is_launch(launches[i]));
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++)
        assert_false(nvt_cupti_is_launch(others[i]));
    assert_true(nvt_cupti_is_graph_launch("cudaGraphLaunch_ptsz_v10000"));
    assert_false(nvt_cupti_is_graph_launch("cudaLaunchKernel_v7000"));
    assert_true(nvt_cupti_is_memory_call("cudaMallocAsync_v11020"));
    assert_true(nvt_cupti_is_memory_call("cuMemFree_v2"));
    assert_false(nvt_cupti_is_memory_call("cudaMemcpy_v3020"));
    assert_true(nvt_cupti_is_sync_call("cudaEventSynchronize_v3020"));
    assert_true(nvt_cupti_is_sync_call("cuStreamWaitEvent_ptsz"));
    assert_false(nvt_cupti_is_sync_call("cudaEventQuery_v3020"));
    assert_false(nvt_cupti_is_sync_call("cudaMemcpy_v3020"));
    assert_true(nvt_cupti_is_question("cudaGetDevice_v3020"));
    assert_true(nvt_cupti_is_question("cudaStreamIsCapturing_v10000"));
    assert_true(nvt_cupti_is_question("cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6000"));
    assert_true(nvt_cupti_is_question("cuKernelGetName"));
    assert_false(nvt_cupti_is_question("cuKernelGetFunction")); /* may load it */
    assert_false(nvt_cupti_is_question("cudaGetDeviceCount_v3020"));
    assert_false(nvt_cupti_is_question("cudaStreamSynchronize_v3020"));
    assert_false(nvt_cupti_is_question("cudaStreamBeginCapture_v10000"));
    assert_false(nvt_cupti_is_question("cudaEventQuery_v3020"));
    assert_false(nvt_cupti_is_question("cuLaunchKernel"));
}

/* The prefixes against all names that this CUPTI has. */
static void every_call_that_is_needed_is_known(void **state)
{
    unsigned launching = 0;
    (void)state;
    if (!cupti.decoder.callback_name)
        skip();
    for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain <= CUPTI_CB_DOMAIN_RUNTIME_API; domain++)
        for (uint32_t id = 1; id < 2000; id++) {
            const char *name = NULL;
            if (cupti.decoder.callback_name((CUpti_CallbackDomain)domain, id, &name) !=
                    CUPTI_SUCCESS ||
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
            int syncs = strstr(name, "Synchronize") || strstr(name, "WaitEvent") ||
                        strstr(name, "EventRecord") || strstr(name, "RecordEvent");
            if (syncs && !strstr(name, "Graph") && !nvt_cupti_is_sync_call(name))
                fail_msg("not among the waits: %s", name);
        }
    assert_true(launching > 100);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, cupti_empty)
    const struct CMUnitTest tests[] = {
        TEST(the_library_walks_our_structures),   TEST(every_kind_is_a_row_or_counted),
        TEST(a_kind_of_the_past_ends_its_buffer), TEST(levels_choose_calls),
        TEST(every_call_that_is_needed_is_known),
    };
    return cmocka_run_group_tests(tests, cupti_load, cupti_forget);
}

#endif
