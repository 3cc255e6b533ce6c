/* Sums of columns (columns.h). */
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
    int64_t column = (int64_t)blockIdx.x * 32 + threadIdx.x % 32;
    real sum = nvt_join_column(
        parts, a.rows, column < a.n, [&](int64_t row) { return a.x[row * a.n + column]; },
        [](real left, real right) { return left + right; });
    if (threadIdx.x < 32 && column < a.n)
        a.out[column] += sum;
}

void nvt_cuda_sum_columns(real *out, const real *x, int64_t rows, int64_t n)
{
    columns_args args = {out, x, rows, n};
    NVT_LAUNCH_THREADS(sum_columns_device, (n + 31) / 32, 32 * WARPS, args);
}
