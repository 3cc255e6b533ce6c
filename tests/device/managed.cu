/*
 * A program for `record --trace um`: memory that host and device touch in turn, without a prefetch, in ranges that say who.
 *
 *   managed [MiB]   64 unless given
 *
 * It ends with 0 when every number is what both have made of it, 1 when not or when a call fails, which it says.
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#define TURNS 3

__global__ void add_one(int *numbers, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        numbers[i]++;
}

static int fails(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        fprintf(stderr, "managed: %s: %s\n", what, cudaGetErrorString(status));
    return status != cudaSuccess;
}

static int touch_on_device(int *numbers, size_t count)
{
    nvtxRangePushA("device");
    add_one<<<256, 256>>>(numbers, count);
    int failed = fails(cudaGetLastError(), "launch") || fails(cudaDeviceSynchronize(), "kernel");
    nvtxRangePop();
    return failed;
}

/* Every number is what it has to be, and one more. */
static int touch_on_host(int *numbers, size_t count, int expected)
{
    size_t wrong = 0;
    nvtxRangePushA("host");
    for (size_t i = 0; i < count; i++)
        wrong += numbers[i]++ != expected;
    nvtxRangePop();
    if (wrong)
        fprintf(stderr, "managed: %zu numbers are wrong\n", wrong);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    long mib = argc > 1 ? strtol(argv[1], NULL, 10) : 64;
    size_t count = (size_t)(mib > 0 ? mib : 1) << 18;
    int *numbers = NULL,
        failed = fails(cudaMallocManaged(&numbers, count * sizeof(*numbers)), "memory");
    for (size_t i = 0; !failed && i < count; i++)
        numbers[i] = 0;
    for (int turn = 0; turn < TURNS && !failed; turn++)
        failed = touch_on_device(numbers, count) || touch_on_host(numbers, count, 2 * turn + 1);
    if (numbers)
        cudaFree(numbers);
    return failed;
}
