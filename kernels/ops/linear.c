#include "ops.h"

#include <math.h>
#include <stdlib.h>

#include "real_math.h"

#ifdef __CUDACC__
#include "../cuda/columns.h"
#include "../cuda/linear.h"
#endif

struct bias_args {
    real *y;
    const real *b;
    int64_t rows, n;
};

/* Columns of a row of bias_forward: few long rows are work for more processors than there are rows. */
#define BIAS_COLUMNS   1024
#define BIAS_CHUNKS(n) (((n) + BIAS_COLUMNS - 1) / BIAS_COLUMNS)

/* A row is a chunk of a row's columns. */
NVT_KERNEL(bias_forward, bias_args)
{
    int64_t first = row % BIAS_CHUNKS(a.n) * BIAS_COLUMNS, rest = a.n - first;
    real *y = a.y + row / BIAS_CHUNKS(a.n) * a.n + first;
    FOR_THREADS(i, rest < BIAS_COLUMNS ? rest : BIAS_COLUMNS)
    {
        y[i] += NVT_READ(a.b[first + i]);
    }
}

#ifndef __CUDACC__
/* A row is a chunk of columns: each sums its own. */
NVT_KERNEL(bias_backward, bias_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = row * NVT_CHUNK_ELEMENTS + j;
        real sum = 0;
        for (int64_t r = 0; i < a.n && r < a.rows; r++)
            sum += a.b[r * a.n + i];
        if (i < a.n)
            a.y[i] += sum;
    }
}
#endif

void nvt_bias_forward(real *y, const real *b, int64_t rows, int64_t n)
{
    struct bias_args args = {y, b, rows, n};
    NVT_LAUNCH(bias_forward, rows * BIAS_CHUNKS(n), args);
}

void nvt_linear_forward(real *y, const real *x, const real *w, const real *b, int64_t rows,
                        int64_t n, int64_t k)
{
#ifdef __CUDACC__
    if (!nvt_cuda_linear(y, x, w, b, rows, n, k))
        return;
#endif
    nvt_backend_matmul(0, 1, rows, n, k, 1, x, w, 0, y);
    nvt_bias_forward(y, b, rows, n);
}

void nvt_bias_backward(real *db, const real *dy, int64_t rows, int64_t n)
{
#ifdef __CUDACC__
    nvt_cuda_sum_columns(db, dy, rows, n);
#else
    struct bias_args args = {db, dy, rows, n};
    NVT_LAUNCH(bias_backward, NVT_CHUNKS(n), args);
#endif
}

struct mse_args {
    real *dy;
    const real *y, *t;
    int64_t n;
};

NVT_DEVICE real mse_gradient(real y, real t, const struct mse_args *a)
{
    return 2 / (real)a->n * (y - t);
}

NVT_MAP(mse_backward, mse_args, dy, y, t, mse_gradient)

void nvt_mse_backward(real *dy, const real *y, const real *t, int64_t n)
{
    struct mse_args args = {dy, y, t, n};
    NVT_LAUNCH(mse_backward, NVT_CHUNKS(n), args);
}

double nvt_mse_loss(const real *y, const real *t, int64_t n)
{
    size_t bytes = (size_t)n * sizeof(real);
    real *outputs = (real *)malloc(bytes), *targets = (real *)malloc(bytes);
    double sum = NAN;
    if (outputs && targets) {
        nvt_backend_to_host(outputs, y, bytes);
        nvt_backend_to_host(targets, t, bytes);
        sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += ((double)outputs[i] - (double)targets[i]) *
                   ((double)outputs[i] - (double)targets[i]);
    }
    free(outputs);
    free(targets);
    return sum / (double)n;
}

struct adam_args {
    real *at[3]; /* w, m, v */
    const real *g;
    int64_t n;
    real rate, beta1, beta2, epsilon, correction2;
};

NVT_DEVICE void adam_of(real e[3], real g, const struct adam_args *a)
{
    e[1] = a->beta1 * e[1] + (1 - a->beta1) * g;
    e[2] = a->beta2 * e[2] + (1 - a->beta2) * g * g;
    e[0] -= a->rate * e[1] / (real_sqrt(e[2]) * a->correction2 + a->epsilon);
}

NVT_UPDATE(adam_step, adam_args, 3, adam_of)

void nvt_adam_step(real *w, const real *g, real *m, real *v, int64_t n, int64_t step,
                   const struct nvt_adam *adam)
{
    double correction1 = 1 - pow((double)adam->beta1, (double)step);
    double correction2 = 1 - pow((double)adam->beta2, (double)step);
    struct adam_args args = {{w, m, v},
                             g,
                             n,
                             (real)((double)adam->lr / correction1),
                             adam->beta1,
                             adam->beta2,
                             adam->epsilon,
                             (real)(1 / sqrt(correction2))};
    NVT_LAUNCH(adam_step, NVT_CHUNKS(n), args);
}
