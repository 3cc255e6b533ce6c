#include "cross_entropy.h"

#include "real_math.h"
#include "stored.h"

struct cross_entropy_args {
    real *loss, *lse;
    void *dx;                 /* stored */
    const real *x, *kept_lse; /* the latter in the backward pass */
    const int32_t *target;
    int64_t n;
    real scale;
};

NVT_KERNEL(cross_entropy_forward, cross_entropy_args)
{
    const real *x = a.x + row * a.n;
    real top = x[0], sum = 0;
    FOR_THREADS(i, a.n)
    {
        top = real_max(top, x[i]);
    }
    top = block_max(top);
    NVT_SIMD_SUM(sum)
    FOR_THREADS(i, a.n)
    {
        sum += real_exp(x[i] - top);
    }
    sum = block_sum(sum);
    FOR_THREADS(i, 1)
    {
        a.lse[row] = top + real_log(sum);
        a.loss[row] = a.lse[row] - x[a.target[row]];
    }
}

NVT_STORED_KERNEL(cross_entropy_backward, cross_entropy_args)
{
    const real *x = a.x + row * a.n, lse = a.kept_lse[row];
    nvt_stored *dx = (nvt_stored *)a.dx + row * a.n;
    int64_t target = a.target[row];
    NVT_SIMD
    FOR_THREADS(i, a.n)
    {
        NVT_KEEP(dx[i], a.scale * (real_exp(NVT_READ(x[i]) - lse) - (i == target)));
    }
}

void nvt_cross_entropy_forward(real *loss, real *lse, const real *x, const int32_t *target,
                               int64_t rows, int64_t n)
{
    struct cross_entropy_args args = {loss, lse, NULL, x, NULL, target, n, 0};
    NVT_LAUNCH(cross_entropy_forward, rows, args);
}

void nvt_cross_entropy_backward(enum nvt_precision precision, void *dx, const real *x,
                                const real *lse, const int32_t *target, int64_t rows, int64_t n,
                                real scale)
{
    struct cross_entropy_args args = {NULL, NULL, dx, x, lse, target, n, scale};
    NVT_LAUNCH_STORED(precision, cross_entropy_backward, rows, args);
}

struct mean_args {
    real *mean;
    const real *x;
    int64_t n;
};

NVT_KERNEL(mean, mean_args)
{
    real sum = 0;
    FOR_THREADS(i, a.n)
    {
        sum += a.x[i];
    }
    sum = block_sum(sum);
    FOR_THREADS(i, 1)
    {
        a.mean[row] = sum / (real)a.n;
    }
}

void nvt_mean(real *result, const real *x, int64_t n)
{
    struct mean_args args = {result, x, n};
    NVT_LAUNCH(mean, 1, args);
}
