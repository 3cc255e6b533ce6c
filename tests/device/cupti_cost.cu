/*
 * What CUPTI itself takes, without a collector: small launches in a row, and two launches, a copy to the host and a wait in a
 * row, with nothing asked for and with each kind of record that a level of --trace asks for. No level can disturb a program
 * less than that. Buffers are given and thrown away, a clock is registered as the collector's is.
 *
 * usage: cupti_cost LIBCUPTI        all in one process, in turns
 *        cupti_cost LIBCUPTI NAME   one of them alone, in a process of its own: kernel or full as those levels ask, plain for
 *                                   kernel with CUPTI's own clock and its own numbers of threads
 *        cupti_cost                 CUPTI is not loaded: bare, or what a collector adds that this runs under
 * A line each: what was asked for, µs of the one and of the other, the median of the rounds with the least and the
 * largest. 0; 2 where there is no CUPTI, or no device.
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
    X(cuptiActivityEnableRuntimeApi)                                                               \
    X(cuptiActivityEnableDriverApi)                                                                \
    X(cuptiSetThreadIdType)

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

enum alone { IN_TURN, ALONE, PLAIN };

struct wish {
    const char *name;
    CUpti_ActivityKind kinds[12]; /* ends at 0 */
    int launching;                /* the calls that launch, and no others */
    enum alone alone;
};

#define AT_KERNEL                                                                                  \
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,                             \
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET

#define CONFIGURATIONS 8
static const wish asked[CONFIGURATIONS] = {
    {"nothing", {}, 0, IN_TURN},
    {"kernels", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}, 0, IN_TURN},
    {"kernels, copies",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY},
     0,
     IN_TURN},
    {"kernels, copies, launching calls",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY},
     1,
     IN_TURN},
    {"kernels, copies, all calls",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
      CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER},
     0,
     IN_TURN},
    {"kernel", {AT_KERNEL}, 1, ALONE},
    {"plain", {AT_KERNEL}, 1, PLAIN},
    {"full",
     {AT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
      CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL,
      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD},
     0,
     ALONE},
};

static void ask(const wish *one, int on)
{
    for (const CUpti_ActivityKind *kind = one->kinds; *kind; kind++)
        if ((on ? p_cuptiActivityEnable : p_cuptiActivityDisable)(*kind))
            fprintf(stderr, "cupti_cost: kind %d is refused\n", (int)*kind);
    if (!one->launching)
        return;
    p_cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, (uint8_t)on);
    p_cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, (uint8_t)on);
    if (one->alone == IN_TURN)
        return;
    p_cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, (uint8_t)on);
    p_cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, (uint8_t)on);
}

static __global__ void increment(int *numbers)
{
    numbers[threadIdx.x]++;
}

struct place {
    cudaStream_t stream;
    int *numbers, *host;
};

static double launches(const place *at)
{
    uint64_t start = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        increment<<<1, 32, 0, at->stream>>>(at->numbers);
    cudaStreamSynchronize(at->stream);
    return (double)(now_ns() - start) / LAUNCHES / 1000;
}

static double chains(const place *at)
{
    uint64_t start = now_ns();
    for (int i = 0; i < CHAINS; i++) {
        increment<<<1, 32, 0, at->stream>>>(at->numbers);
        increment<<<1, 32, 0, at->stream>>>(at->numbers);
        cudaMemcpyAsync(at->host, at->numbers, sizeof(*at->host), cudaMemcpyDeviceToHost,
                        at->stream);
        cudaStreamSynchronize(at->stream);
    }
    return (double)(now_ns() - start) / CHAINS / 1000;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double launch[CONFIGURATIONS][ROUNDS], chain[CONFIGURATIONS][ROUNDS];

static void measure(const place *at, int i, int round)
{
    launches(at);
    launch[i][round] = launches(at);
    chain[i][round] = chains(at);
}

static void print(const char *name, int i)
{
    const int last = ROUNDS - 2;
    double *a = launch[i] + 1, *b = chain[i] + 1;
    qsort(a, ROUNDS - 1, sizeof(*a), ascending);
    qsort(b, ROUNDS - 1, sizeof(*b), ascending);
    printf("%-34s %7.3f [%.3f %.3f]   %7.3f [%.3f %.3f]\n", name, a[last / 2], a[0], a[last],
           b[last / 2], b[0], b[last]);
}

static void in_turns(const place *at)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CONFIGURATIONS && asked[i].alone == IN_TURN; i++) {
            ask(&asked[i], 1);
            measure(at, i, round);
            p_cuptiActivityFlushAll(0);
            ask(&asked[i], 0);
        }
    printf("%-34s %7s %25s\n", "records asked for", "a launch, us", "2 launches, copy, wait, us");
    for (int i = 0; i < CONFIGURATIONS && asked[i].alone == IN_TURN; i++)
        print(asked[i].name, i);
}

/* Asked for before CUDA comes up, as a collector does. */
static void one_alone(const place *at, const wish *one)
{
    for (int round = 0; round < ROUNDS; round++) {
        measure(at, 0, round);
        if (one)
            p_cuptiActivityFlushAll(0);
    }
    print(one ? one->name : "bare", 0);
}

static const wish *find(const char *name)
{
    for (int i = 0; i < CONFIGURATIONS; i++)
        if (!strcmp(asked[i].name, name))
            return &asked[i];
    return NULL;
}

static int fail(const char *why)
{
    fprintf(stderr, "cupti_cost: %s\n", why);
    return 2;
}

int main(int argc, char **argv)
{
    place at = {};
    const wish *one = argc == 3 ? find(argv[2]) : NULL;
    if (argc > 3 || (argc == 3 && !one))
        return fail("usage: cupti_cost [LIBCUPTI [kernel | plain | full]]");
    if (argc > 1) {
        if (load(argv[1]))
            return fail("no CUPTI there");
        p_cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
        if (!one || one->alone != PLAIN)
            p_cuptiActivityRegisterTimestampCallback(timestamp);
        if (one && one->alone != PLAIN)
            p_cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
        if (one)
            ask(one, 1);
    }
    if (cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc((void **)&at.numbers, 128) != cudaSuccess ||
        cudaMallocHost((void **)&at.host, 128) != cudaSuccess)
        return fail(cudaGetErrorString(cudaGetLastError()));
    if (argc == 2)
        in_turns(&at);
    else
        one_alone(&at, one);
    return 0;
}
