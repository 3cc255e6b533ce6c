/*
 * A block has 32 neighbouring columns, and its warps take turns in the rows: as few columns as a gradient of a bias
 * has would keep a small part of a device busy if each block had more of them.
 */
#include "columns.h"

#define WARPS 32

struct columns_args {
    real *out;
    const real *x;
    int64_t rows, n;
};

static __global__ void __launch_bounds__(32 * WARPS) sum_columns_device(columns_args a)
{
    __shared__ real parts[WARPS][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64_t column = (int64_t)blockIdx.x * 32 + lane;
    real sum = 0;
    if (column < a.n) {
#pragma unroll 8
        for (int64_t r = warp; r < a.rows; r += WARPS)
            sum += a.x[r * a.n + column];
    }
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp || column >= a.n)
        return;
    for (int other = 1; other < WARPS; other++)
        sum += parts[other][lane];
    a.out[column] += sum;
}

void nvt_cuda_sum_columns(real *out, const real *x, int64_t rows, int64_t n)
{
    columns_args args = {out, x, rows, n};
    NVT_LAUNCH_THREADS(sum_columns_device, (n + 31) / 32, 32 * WARPS, args);
}
