/*
 * What CUPTI itself takes, without a collector: small launches in a row, and two launches, a copy to the host and a wait in a
 * row, with nothing asked for and with each kind of record that a level of --trace asks for. No level can disturb a program
 * less than that. Buffers are given and thrown away, a clock is registered as the collector's is.
 *
 * usage: cupti_cost LIBCUPTI
 * A line each: what was asked for, µs of the one and of the other, the median of the rounds with the least and the
 * largest. The configurations take turns within a round. 0; 2 where there is no CUPTI, or no device.
 */
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFER   ((size_t)4 << 20)
#define LAUNCHES 2000
#define CHAINS   300
#define ROUNDS   22 /* the first one is not counted */

#define EACH_FUNCTION(X)                                                                           \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivityEnableRuntimeApi)

#define DECLARE(name) static decltype(&name) p_##name;
EACH_FUNCTION(DECLARE)

static int load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int missing = !library;
#define FIND(name)                                                                                 \
    p_##name = library ? (decltype(&name))dlsym(library, #name) : NULL;                            \
    missing |= !p_##name;
    EACH_FUNCTION(FIND)
    return missing;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t CUPTIAPI timestamp(void)
{
    return now_ns();
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = BUFFER;
    *buffer = (uint8_t *)aligned_alloc(8, BUFFER);
    *most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

struct wish {
    const char *name;
    CUpti_ActivityKind kinds[4]; /* ends at 0 */
    int launching;               /* the calls that launch, and no others */
};

#define CONFIGURATIONS 5
static const wish asked[CONFIGURATIONS] = {
    {"nothing", {}, 0},
    {"kernels", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}, 0},
    {"kernels, copies", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY}, 0},
    {"kernels, copies, launching calls",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY},
     1},
    {"kernels, copies, all calls",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
      CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER},
     0},
};

static void ask(int configuration, int on)
{
    for (int i = 0; i < 4 && asked[configuration].kinds[i]; i++)
        if ((on ? p_cuptiActivityEnable : p_cuptiActivityDisable)(asked[configuration].kinds[i]))
            fprintf(stderr, "cupti_cost: kind %d is refused\n", (int)asked[configuration].kinds[i]);
    if (!asked[configuration].launching)
        return;
    p_cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, (uint8_t)on);
    p_cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, (uint8_t)on);
}

static __global__ void increment(int *numbers)
{
    numbers[threadIdx.x]++;
}

static double launches(cudaStream_t stream, int *numbers)
{
    uint64_t start = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        increment<<<1, 32, 0, stream>>>(numbers);
    cudaStreamSynchronize(stream);
    return (double)(now_ns() - start) / LAUNCHES / 1000;
}

static double chains(cudaStream_t stream, int *numbers, int *host)
{
    uint64_t start = now_ns();
    for (int i = 0; i < CHAINS; i++) {
        increment<<<1, 32, 0, stream>>>(numbers);
        increment<<<1, 32, 0, stream>>>(numbers);
        cudaMemcpyAsync(host, numbers, sizeof(*host), cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
    }
    return (double)(now_ns() - start) / CHAINS / 1000;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, double *launch, double *chain)
{
    const int last = ROUNDS - 2;
    qsort(launch, ROUNDS - 1, sizeof(*launch), ascending);
    qsort(chain, ROUNDS - 1, sizeof(*chain), ascending);
    printf("%-34s %7.3f [%.3f %.3f]   %7.3f [%.3f %.3f]\n", name, launch[last / 2], launch[0],
           launch[last], chain[last / 2], chain[0], chain[last]);
}

int main(int argc, char **argv)
{
    static double launch[CONFIGURATIONS][ROUNDS], chain[CONFIGURATIONS][ROUNDS];
    cudaStream_t stream;
    int *numbers, *host;
    if (argc != 2 || load(argv[1])) {
        fprintf(stderr, "cupti_cost: %s\n",
                argc == 2 ? "no CUPTI there" : "usage: cupti_cost LIBCUPTI");
        return 2;
    }
    p_cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    p_cuptiActivityRegisterTimestampCallback(timestamp);
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc((void **)&numbers, 128) != cudaSuccess ||
        cudaMallocHost((void **)&host, 128) != cudaSuccess) {
        fprintf(stderr, "cupti_cost: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CONFIGURATIONS; i++) {
            ask(i, 1);
            launches(stream, numbers);
            launch[i][round] = launches(stream, numbers);
            chain[i][round] = chains(stream, numbers, host);
            p_cuptiActivityFlushAll(0);
            ask(i, 0);
        }
    printf("%-34s %7s %25s\n", "records asked for", "a launch, us", "2 launches, copy, wait, us");
    for (int i = 0; i < CONFIGURATIONS; i++)
        print(asked[i].name, launch[i] + 1, chain[i] + 1);
    return 0;
}
