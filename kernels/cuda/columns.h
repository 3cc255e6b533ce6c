/*
 * Columns made one number each, in the device's own form. kernels/ops/linear.c calls the sums.
 */
#ifndef NVT_CUDA_COLUMNS_H
#define NVT_CUDA_COLUMNS_H

#include "../backend.h"

/* out[n] += Σ rows of x[rows][n], in the same order in every run. */
void nvt_cuda_sum_columns(real *out, const real *x, int64_t rows, int64_t n);

/*
 * What `join` makes of 0 and of at(line) of all lines of this thread's column. A block has 32 neighbouring columns, of
 * which a lane takes one (is_there: there is one for it), and its warps take turns in the lines: as few columns as a
 * gradient of a bias has would keep a small part of a device busy if each block had more of them. All threads of a
 * block come here, with `parts` in shared memory; the result is whole in the first warp.
 */
template <int warps, typename T, typename F, typename J>
static __device__ __forceinline__ T nvt_join_column(T (&parts)[warps][32], int64_t lines,
                                                    bool is_there, F at, J join)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T joined = 0;
    if (is_there) {
#pragma unroll 8
        for (int64_t line = warp; line < lines; line += warps)
            joined = join(joined, at(line));
    }
    parts[warp][lane] = joined;
    __syncthreads();
    if (!warp)
        for (int other = 1; other < warps; other++)
            joined = join(joined, parts[other][lane]);
    return joined;
}

#endif
