/*
 * Columns made one number each, in the device's own form. kernels/ops/linear.c calls the sums.
 */
#ifndef NVT_CUDA_COLUMNS_H
#define NVT_CUDA_COLUMNS_H

#include "../backend.h"

/* out[n] += Σ rows of x[rows][n], in the same order in every run. */
void nvt_cuda_sum_columns(real *out, const real *x, int64_t rows, int64_t n);

/*
 * What `join` makes of 0 and of at(line) of all lines of this thread's column, nvt_column_of(width). A block has `width`
 * neighbouring columns (is_there: there is this one), and all its lanes that have the same take turns in the lines: as few
 * columns as a gradient of a bias has would keep a small part of a device busy if each block had more of them. All
 * threads of a block come here, with `parts` in shared memory; the result is whole in its first `width` threads.
 */
template <int width> static __device__ __forceinline__ int64_t nvt_column_of(void)
{
    return (int64_t)blockIdx.x * width + threadIdx.x % width;
}

template <int width, int warps, typename T, typename F, typename J>
static __device__ __forceinline__ T nvt_join_column(T (&parts)[warps][32], int64_t lines,
                                                    bool is_there, F at, J join)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T joined = 0;
    if (is_there) {
#pragma unroll 8
        for (int64_t line = threadIdx.x / width; line < lines; line += warps * 32 / width)
            joined = join(joined, at(line));
    }
#pragma unroll
    for (int step = 16; step >= width; step /= 2)
        joined = join(joined, (T)__shfl_xor_sync(0xffffffffu, joined, step));
    parts[warp][lane] = joined;
    __syncthreads();
    if (!warp)
        for (int other = 1; other < warps; other++)
            joined = join(joined, parts[other][lane]);
    return joined;
}

#endif
