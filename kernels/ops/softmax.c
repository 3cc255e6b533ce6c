#include "ops.h"
#include "real_math.h"

#include <math.h>

struct softmax_args {
    real *out;
    const real *x, *dp;
    int64_t n;
};

NVT_KERNEL(softmax_forward, softmax_args)
{
    const real *x = a.x + row * a.n;
    real *p = a.out + row * a.n;
    real top = x[0], sum = 0;
    FOR_THREADS(i, a.n)
    {
        top = real_max(top, x[i]);
    }
    top = block_max(top);
    FOR_THREADS(i, a.n)
    {
        p[i] = (real)exp((double)(x[i] - top));
        sum += p[i];
    }
    sum = block_sum(sum);
    FOR_THREADS(i, a.n)
    {
        p[i] /= sum;
    }
}

NVT_KERNEL(softmax_backward, softmax_args)
{
    const real *p = a.x + row * a.n, *dp = a.dp + row * a.n;
    real *dx = a.out + row * a.n;
    real sum = 0;
    NVT_SIMD_SUM(sum)
    FOR_THREADS(i, a.n)
    {
        sum += p[i] * dp[i];
    }
    sum = block_sum(sum);
    FOR_THREADS(i, a.n)
    {
        dx[i] = p[i] * (dp[i] - sum);
    }
}

void nvt_softmax_forward(real *p, const real *x, int64_t rows, int64_t n)
{
    struct softmax_args args = {p, x, NULL, n};
    NVT_LAUNCH(softmax_forward, rows, args);
}

void nvt_softmax_backward(real *dx, const real *p, const real *dp, int64_t rows, int64_t n)
{
    struct softmax_args args = {dx, p, dp, n};
    NVT_LAUNCH(softmax_backward, rows, args);
}
