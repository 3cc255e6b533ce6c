/*
 * A program for `record --trace metrics`: copies whose bytes are known, in ranges that say which.
 *
 *   copies [MiB [TURNS]]   256 and 100 unless given; turns over the bus are a quarter of it
 *
 * It prints a line for each counter that has them in a range: moved, the range, CUPTI's counter, bytes. It ends with 0, or with 1
 * when a call fails, which it says.
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static int fails(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        fprintf(stderr, "copies: %s: %s\n", what, cudaGetErrorString(status));
    return status != cudaSuccess;
}

static int copy(const char *range, void *to, const void *from, size_t bytes, long turns,
                cudaMemcpyKind kind)
{
    int failed = 0;
    nvtxRangePushA(range);
    for (long i = 0; i < turns && !failed; i++)
        failed = fails(cudaMemcpyAsync(to, from, bytes, kind, 0), range);
    failed = fails(cudaDeviceSynchronize(), range) || failed;
    nvtxRangePop();
    return failed;
}

int main(int argc, char **argv)
{
    const long mib = argc > 1 ? strtol(argv[1], NULL, 10) : 256,
               turns = argc > 2 ? strtol(argv[2], NULL, 10) : 100, over_bus = turns / 4 + 1;
    const size_t bytes = (size_t)(mib > 0 ? mib : 1) << 20;
    void *first = NULL, *second = NULL, *host = NULL;
    if (fails(cudaMalloc(&first, bytes), "memory") || fails(cudaMalloc(&second, bytes), "memory") ||
        fails(cudaMallocHost(&host, bytes), "pinned memory") ||
        fails(cudaMemset(first, 1, bytes), "memset"))
        return 1;
    /* Until sampling has begun. */
    for (int i = 0; i < 5; i++)
        if (copy("warm-up", second, first, bytes, turns, cudaMemcpyDeviceToDevice))
            return 1;
    if (copy("device", second, first, bytes, turns, cudaMemcpyDeviceToDevice) ||
        copy("to device", first, host, bytes, over_bus, cudaMemcpyHostToDevice) ||
        copy("to host", host, first, bytes, over_bus, cudaMemcpyDeviceToHost))
        return 1;
    printf("moved\tdevice\tdram__bytes_read.sum.per_second\t%zu\n", bytes * (size_t)turns);
    printf("moved\tdevice\tdram__bytes_write.sum.per_second\t%zu\n", bytes * (size_t)turns);
    printf("moved\tto device\tpcie__read_bytes.sum.per_second\t%zu\n", bytes * (size_t)over_bus);
    printf("moved\tto host\tpcie__write_bytes.sum.per_second\t%zu\n", bytes * (size_t)over_bus);
    return 0;
}
