/* How many blocks fit on an SM: examples of the programming guide, and what the toolkit's own calculator says of random kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/occupancy.h"
#include "../lib/count_of.h"

static uint32_t blocks(uint32_t capability, uint32_t threads, uint32_t registers, uint64_t shared)
{
    const struct nvt_block block = {.threads = threads, .registers = registers, .shared = shared};
    return nvt_blocks_per_sm(capability, &block);
}

static void each_limit_is_kept(void **state)
{
    (void)state;
    assert_int_equal(blocks(90, 32, 16, 0), 32);  /* blocks */
    assert_int_equal(blocks(90, 1024, 16, 0), 2); /* warps */
    assert_int_equal(blocks(75, 1024, 16, 0), 1);
    assert_int_equal(blocks(90, 256, 128, 0), 2); /* registers: 16 warps */
    assert_int_equal(blocks(90, 128, 255, 0), 2);
    assert_int_equal(blocks(90, 128, 32, 113 * 1024), 2); /* shared memory: 2 x 114 KiB */
    assert_int_equal(blocks(90, 128, 32, 227 * 1024), 1);
    assert_int_equal(blocks(80, 128, 32, 163 * 1024), 1);
}

static void what_is_not_known_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(blocks(61, 128, 32, 0), 0);
    assert_int_equal(blocks(0, 128, 32, 0), 0);
    assert_int_equal(blocks(90, 0, 32, 0), 0);
    assert_int_equal(blocks(90, 2048, 32, 0), 0);
    assert_int_equal(blocks(90, 128, 32, 228 * 1024), 0);
    assert_int_equal(blocks(90, 128, 300, 0), 0);
}

#if __has_include(<cuda_occupancy.h>) && __has_include(<cuda_runtime_api.h>)
#include <cuda_occupancy.h>

/* Of what cudaGetDeviceProperties says of such devices, what the calculator needs. */
static const struct cudaOccDeviceProp properties[] = {
    {.computeMajor = 7,
     .computeMinor = 0,
     .maxThreadsPerMultiprocessor = 2048,
     .sharedMemPerMultiprocessor = 96 << 10},
    {.computeMajor = 7,
     .computeMinor = 5,
     .maxThreadsPerMultiprocessor = 1024,
     .sharedMemPerMultiprocessor = 64 << 10},
    {.computeMajor = 8,
     .computeMinor = 0,
     .maxThreadsPerMultiprocessor = 2048,
     .sharedMemPerMultiprocessor = 164 << 10},
    {.computeMajor = 8,
     .computeMinor = 6,
     .maxThreadsPerMultiprocessor = 1536,
     .sharedMemPerMultiprocessor = 100 << 10},
    {.computeMajor = 8,
     .computeMinor = 9,
     .maxThreadsPerMultiprocessor = 1536,
     .sharedMemPerMultiprocessor = 100 << 10},
    {.computeMajor = 9,
     .computeMinor = 0,
     .maxThreadsPerMultiprocessor = 2048,
     .sharedMemPerMultiprocessor = 228 << 10},
    {.computeMajor = 10,
     .computeMinor = 0,
     .maxThreadsPerMultiprocessor = 2048,
     .sharedMemPerMultiprocessor = 228 << 10},
    {.computeMajor = 12,
     .computeMinor = 0,
     .maxThreadsPerMultiprocessor = 1536,
     .sharedMemPerMultiprocessor = 100 << 10},
};

static int theirs(const struct cudaOccDeviceProp *device, uint32_t threads, uint32_t registers,
                  uint64_t shared)
{
    struct cudaOccDeviceProp whole = *device;
    const struct cudaOccFuncAttributes function = {.maxThreadsPerBlock = 1024,
                                                   .numRegs = (int)registers,
                                                   .sharedSizeBytes = (size_t)shared,
                                                   .partitionedGCConfig = PARTITIONED_GC_OFF,
                                                   .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                                   .maxDynamicSharedSizeBytes = 228 << 10,
                                                   .numBlockBarriers = 1};
    const struct cudaOccDeviceState config = {.cacheConfig = CACHE_PREFER_NONE,
                                              .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult result;
    whole.maxThreadsPerBlock = 1024;
    whole.regsPerBlock = 65536;
    whole.regsPerMultiprocessor = 65536;
    whole.warpSize = 32;
    whole.sharedMemPerBlock = 48 << 10;
    whole.sharedMemPerBlockOptin =
        whole.sharedMemPerMultiprocessor - (whole.computeMajor >= 8 ? 1024 : 0);
    whole.reservedSharedMemPerBlock = whole.computeMajor >= 8 ? 1024 : 0;
    whole.numSms = 100;
    return cudaOccMaxActiveBlocksPerMultiprocessor(&result, &whole, &function, &config,
                                                   (int)threads, 0) == CUDA_OCC_SUCCESS
               ? result.activeBlocksPerMultiprocessor
               : 0;
}

static void the_toolkit_says_the_same(void **state)
{
    uint64_t seed = 1;
    unsigned fitting = 0;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const struct cudaOccDeviceProp *device = &properties[(size_t)i % NVT_COUNT_OF(properties)];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const uint32_t threads = 1 + (uint32_t)(seed >> 33) % 1024,
                       registers = 16 + (uint32_t)(seed >> 20) % 240;
        const uint64_t shared =
            (seed >> 12) % 3 ? (seed >> 40) % (device->sharedMemPerMultiprocessor) : 0;
        const uint32_t capability = (uint32_t)(device->computeMajor * 10 + device->computeMinor);
        const uint32_t ours = blocks(capability, threads, registers, shared);
        const int expected = theirs(device, threads, registers, shared);
        if ((int)ours != expected)
            fail_msg("%u: %u threads, %u registers, %llu bytes: %u, not %d", capability, threads,
                     registers, (unsigned long long)shared, ours, expected);
        fitting += ours > 0;
    }
    assert_true(fitting > 50000);
}
#else
static void the_toolkit_says_the_same(void **state)
{
    (void)state;
    print_message("skipped: no cuda_occupancy.h here\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_is_kept),
        cmocka_unit_test(what_is_not_known_is_nothing),
        cmocka_unit_test(the_toolkit_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
