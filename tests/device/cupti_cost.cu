/*
 * What CUPTI itself takes, without a collector: small launches in a row, two launches, a copy to the host and a wait in a
 * row, and a row of short kernels behind which the host waits, with nothing asked for and with each kind of record that a level
 * of --trace asks for. Buffers are given and thrown away, a clock is registered as the collector's is.
 *
 * usage: cupti_cost LIBCUPTI        all in one process, in turns: one that has had CUPTI from its beginning
 *        cupti_cost [NAME]          what the process is like: bare, or what is injected into it (cupti_alone.c, a collector)
 * A line each: what was asked for, µs of each of the three, the median of the rounds with the least and the largest.
 * 0; 2 where there is no CUPTI, or no device.
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
#define KERNELS  7
#define ROUNDS   12 /* the first one is not counted */

#define EACH_FUNCTION(X)                                                                           \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivityEnableRuntimeApi)                                                               \
    X(cuptiActivityEnableDriverApi)

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
    CUpti_ActivityKind kinds[5]; /* ends at 0 */
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

static void ask(const wish *one, int on)
{
    for (const CUpti_ActivityKind *kind = one->kinds; *kind; kind++)
        if ((on ? p_cuptiActivityEnable : p_cuptiActivityDisable)(*kind))
            fprintf(stderr, "cupti_cost: kind %d is refused\n", (int)*kind);
    if (!one->launching)
        return;
    p_cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, (uint8_t)on);
    p_cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, (uint8_t)on);
}

static __global__ void increment(int *numbers)
{
    numbers[threadIdx.x]++;
}

/* As long as a kernel of a small layer. */
static __global__ void linger(int *numbers)
{
    const long long until = clock64() + 5000;
    while (clock64() < until)
        ;
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

/* A layer: what the host has launched, it waits for. */
static double layers(const place *at)
{
    uint64_t start = now_ns();
    for (int i = 0; i < CHAINS; i++) {
        for (int kernel = 0; kernel < KERNELS; kernel++)
            linger<<<1, 32, 0, at->stream>>>(at->numbers);
        cudaStreamSynchronize(at->stream);
    }
    return (double)(now_ns() - start) / CHAINS / 1000;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { ALL = 3 };
static double took[CONFIGURATIONS][ALL][ROUNDS];

static void measure(const place *at, int i, int round)
{
    launches(at);
    took[i][0][round] = launches(at);
    took[i][1][round] = chains(at);
    took[i][2][round] = layers(at);
}

static void print(const char *name, int i)
{
    const int last = ROUNDS - 2;
    printf("%-34s", name);
    for (int what = 0; what < ALL; what++) {
        double *at = took[i][what] + 1;
        qsort(at, ROUNDS - 1, sizeof(*at), ascending);
        printf(" %7.3f [%.3f %.3f]", at[last / 2], at[0], at[last]);
    }
    printf("\n");
}

static void in_turns(const place *at)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CONFIGURATIONS; i++) {
            ask(&asked[i], 1);
            measure(at, i, round);
            p_cuptiActivityFlushAll(0);
            ask(&asked[i], 0);
        }
    printf("%-34s %22s %24s %22s\n", "records asked for", "a launch, us", "2 launches, copy, wait",
           "7 kernels, wait");
    for (int i = 0; i < CONFIGURATIONS; i++)
        print(asked[i].name, i);
}

static int fail(const char *why)
{
    fprintf(stderr, "cupti_cost: %s\n", why);
    return 2;
}

int main(int argc, char **argv)
{
    place at = {};
    const char *library = argc == 2 && strchr(argv[1], '/') ? argv[1] : NULL;
    if (argc > 2)
        return fail("usage: cupti_cost [LIBCUPTI | NAME]");
    if (library) {
        if (load(library))
            return fail("no CUPTI there");
        p_cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
        p_cuptiActivityRegisterTimestampCallback(timestamp);
    }
    if (cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc((void **)&at.numbers, 128) != cudaSuccess ||
        cudaMallocHost((void **)&at.host, 128) != cudaSuccess)
        return fail(cudaGetErrorString(cudaGetLastError()));
    if (library) {
        in_turns(&at);
    } else {
        for (int round = 0; round < ROUNDS; round++)
            measure(&at, 0, round);
        print(argc == 2 ? argv[1] : "bare", 0);
    }
    return 0;
}
