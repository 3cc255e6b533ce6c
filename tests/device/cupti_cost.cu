/*
 * What recording takes from a program, in one process: small launches in a row; two launches, a copy to the host and a wait in a
 * row; and a row of short kernels behind which the host waits. Each in rounds, first without records, and then with them: from
 * the range "recorded" on, for a collector with --capture recorded, or cupti_alone_begin() of the library that
 * CUDA_INJECTION64_PATH names (cupti_alone.c). A process has one of several speeds of launching, which both halves have.
 *
 * usage: cupti_cost [NAME]
 * A line: the name, and of each of the three the median of the rounds without records, in us, that with them, and how often the
 * one goes into the other. 0; 2 where there is no device.
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAUNCHES 2000
#define CHAINS   300
#define KERNELS  7
#define ROUNDS   10 /* of each half; the first one is not counted */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
static double took[2][ALL][ROUNDS];

static void measure(const place *at, int recorded)
{
    for (int round = 0; round < ROUNDS; round++) {
        launches(at);
        took[recorded][0][round] = launches(at);
        took[recorded][1][round] = chains(at);
        took[recorded][2][round] = layers(at);
    }
}

static double median(double *rounds)
{
    qsort(rounds + 1, ROUNDS - 1, sizeof(*rounds), ascending);
    return rounds[1 + (ROUNDS - 1) / 2];
}

static void begin(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void (*function)(void) = library ? (void (*)(void))dlsym(library, "cupti_alone_begin") : NULL;
    nvtxRangePushA("recorded");
    if (function)
        function();
}

int main(int argc, char **argv)
{
    place at = {};
    if (cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc((void **)&at.numbers, 128) != cudaSuccess ||
        cudaMallocHost((void **)&at.host, 128) != cudaSuccess) {
        fprintf(stderr, "cupti_cost: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 2;
    }
    measure(&at, 0);
    begin();
    measure(&at, 1);
    nvtxRangePop();
    printf("%-28s", argc > 1 ? argv[1] : "bare");
    for (int what = 0; what < ALL; what++) {
        double without = median(took[0][what]), with = median(took[1][what]);
        printf("  %7.3f %7.3f %6.4f", without, with, with / without);
    }
    printf("\n");
    return 0;
}
