/* Sums of columns (columns.h). */
#include "columns.h"

#define WARPS 32

struct columns_args {
    real *out;
    const real *x;
    int64_t rows, n;
};

template <int width>
static __global__ void __launch_bounds__(32 * WARPS) sum_columns_device(columns_args a)
{
    __shared__ real parts[WARPS][32];
    int64_t column = nvt_column_of<width>();
    real sum = nvt_join_column<width>(
        parts, a.rows, column < a.n, [&](int64_t row) { return a.x[row * a.n + column]; },
        [](real left, real right) { return left + right; });
    if (threadIdx.x < width && column < a.n)
        a.out[column] += sum;
}

/* What keeps every multiprocessor of a large device busy. */
#define BLOCKS 128

template <int width> static void launch(const columns_args &args)
{
    NVT_LAUNCH_THREADS(sum_columns_device<width>, (args.n + width - 1) / width, 32 * WARPS, args);
}

/* 32 bytes of a row are what memory gives at least. */
void nvt_cuda_sum_columns(real *out, const real *x, int64_t rows, int64_t n)
{
    columns_args args = {out, x, rows, n};
    if (n >= 32 * BLOCKS)
        launch<32>(args);
    else if (n >= 16 * BLOCKS)
        launch<16>(args);
    else
        launch<8>(args);
}
