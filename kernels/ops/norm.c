#include "norm.h"

#include "real_math.h"
#include "stored.h"

#ifdef __CUDACC__
#include "../cuda/columns.h"
#endif

/* Rows are summed in this many groups side by side, then the groups. */
#define GROUPS 64
/* Columns that a row of the second sum takes; on a device one of the first as well, a thread each. */
#define COLUMNS   256
#define CHUNKS(n) (((n) + COLUMNS - 1) / COLUMNS)

int64_t nvt_norm_scratch(int64_t n)
{
    return 2 * GROUPS * n;
}

/* --- forward ---------------------------------------------------------------------------------- */

struct norm_args {
    void *y; /* stored; LayerNorm's are real */
    real *m, *r;
    const real *x, *g, *b;
    int64_t n;
    real eps;
};

NVT_STORED_KERNEL(rmsnorm_forward, norm_args)
{
    const real *x = a.x + row * a.n;
    nvt_stored *y = (nvt_stored *)a.y + row * a.n;
    real sum = 0;
    NVT_SIMD_SUM(sum)
    FOR_THREADS(i, a.n)
    {
        sum += x[i] * x[i];
    }
    sum = block_sum(sum);
    real r = 1 / real_sqrt(sum / (real)a.n + a.eps);
    FOR_THREADS(i, a.n)
    {
        NVT_KEEP(y[i], NVT_READ(x[i]) * r * NVT_READ(a.g[i]));
    }
    FOR_THREADS(i, 1)
    {
        a.r[row] = r;
    }
}

NVT_KERNEL(layernorm_forward, norm_args)
{
    const real *x = a.x + row * a.n;
    real *y = (real *)a.y + row * a.n;
    real sum = 0, squares = 0;
    NVT_SIMD_SUM(sum)
    FOR_THREADS(i, a.n)
    {
        sum += x[i];
    }
    real m = block_sum(sum) / (real)a.n;
    NVT_SIMD_SUM(squares)
    FOR_THREADS(i, a.n)
    {
        squares += (x[i] - m) * (x[i] - m);
    }
    squares = block_sum(squares);
    real r = 1 / real_sqrt(squares / (real)a.n + a.eps);
    FOR_THREADS(i, a.n)
    {
        y[i] = (NVT_READ(x[i]) - m) * r * NVT_READ(a.g[i]) + NVT_READ(a.b[i]);
    }
    FOR_THREADS(i, 1)
    {
        a.m[row] = m;
        a.r[row] = r;
    }
}

void nvt_rmsnorm_forward(enum nvt_precision precision, void *y, real *r, const real *x,
                         const real *g, int64_t rows, int64_t n, real eps)
{
    struct norm_args args = {y, NULL, r, x, g, NULL, n, eps};
    NVT_LAUNCH_STORED(precision, rmsnorm_forward, rows, args);
}

void nvt_layernorm_forward(real *y, real *m, real *r, const real *x, const real *g, const real *b,
                           int64_t rows, int64_t n, real eps)
{
    struct norm_args args = {y, m, r, x, g, b, n, eps};
    NVT_LAUNCH(layernorm_forward, rows, args);
}

/* --- backward --------------------------------------------------------------------------------- */

struct norm_backward_args {
    real *dx, *dg, *db, *parts; /* parts[2][GROUPS][n] */
    void *copy;                 /* stored; NULL: none */
    const void *dy;             /* stored */
    const real *x, *g, *m, *r;  /* m is NULL for RMSNorm */
    int64_t rows, n;
    int add;
};

#ifdef __CUDACC__
/* Sums of dy · h and of dy over the rows of a group, of a chunk of columns. */
NVT_STORED_KERNEL(norm_sum_groups, norm_backward_args)
{
    const nvt_stored *dys = (const nvt_stored *)a.dy;
    int64_t group = row / CHUNKS(a.n), i = row % CHUNKS(a.n) * COLUMNS + threadIdx.x;
    int64_t each = (a.rows + GROUPS - 1) / GROUPS, first = group * each;
    int64_t end = first + each < a.rows ? first + each : a.rows;
    real along = 0, sum = 0;
    if (i >= a.n)
        return;
#pragma unroll 8
    for (int64_t k = first; k < end; k++) {
        real m = a.m ? a.m[k] : 0, r = a.r[k], dy = NVT_VALUE(dys[k * a.n + i]);
        along += dy * ((a.x[k * a.n + i] - m) * r);
        sum += dy;
    }
    a.parts[group * a.n + i] = along;
    if (a.db)
        a.parts[(GROUPS + group) * a.n + i] = sum;
}

static void sum_rows(enum nvt_precision precision, const struct norm_backward_args *args)
{
    static_assert(COLUMNS == NVT_BLOCK, "a thread has a column");
    NVT_LAUNCH_STORED(precision, norm_sum_groups, GROUPS * CHUNKS(args->n), *args);
    nvt_cuda_sum_columns(args->dg, args->parts, GROUPS, args->n);
    if (args->db)
        nvt_cuda_sum_columns(args->db, args->parts + GROUPS * args->n, GROUPS, args->n);
}
#else
/* Sums of dy · h and of dy over the rows of a group. */
NVT_KERNEL(norm_sum_groups, norm_backward_args)
{
    int64_t each = (a.rows + GROUPS - 1) / GROUPS;
    int64_t first = row * each, end = first + each < a.rows ? first + each : a.rows;
    real *weight = a.parts + row * a.n, *bias = a.parts + (GROUPS + row) * a.n;
    FOR_THREADS(i, a.n)
    {
        weight[i] = 0;
        bias[i] = 0;
    }
    for (int64_t k = first; k < end; k++) {
        const real *dy = (const real *)a.dy + k * a.n, *x = a.x + k * a.n;
        real m = a.m ? a.m[k] : 0, r = a.r[k];
        FOR_THREADS(i, a.n)
        {
            weight[i] += dy[i] * ((x[i] - m) * r);
            bias[i] += dy[i];
        }
    }
}

NVT_KERNEL(norm_add_groups, norm_backward_args)
{
    FOR_THREADS(j, COLUMNS)
    {
        int64_t i = row * COLUMNS + j;
        real weight = 0, bias = 0;
        for (int64_t group = 0; i < a.n && group < GROUPS; group++) {
            weight += a.parts[group * a.n + i];
            bias += a.parts[(GROUPS + group) * a.n + i];
        }
        if (i < a.n) {
            a.dg[i] += weight;
            if (a.db)
                a.db[i] += bias;
        }
    }
}

static void sum_rows(enum nvt_precision precision, const struct norm_backward_args *args)
{
    (void)precision;
    NVT_LAUNCH(norm_sum_groups, GROUPS, *args);
    NVT_LAUNCH(norm_add_groups, CHUNKS(args->n), *args);
}
#endif

NVT_STORED_KERNEL(norm_backward, norm_backward_args)
{
    const nvt_stored *dy = (const nvt_stored *)a.dy + row * a.n;
    const real *x = a.x + row * a.n;
    real *dx = a.dx + row * a.n;
    real m = a.m ? a.m[row] : 0, r = a.r[row], sum = 0, along = 0;
    FOR_THREADS(i, a.n)
    {
        real u = a.g[i] * NVT_VALUE(dy[i]);
        sum += u;
        along += u * ((x[i] - m) * r);
    }
    sum = block_sum(sum) / (real)a.n;
    along = block_sum(along) / (real)a.n;
    if (!a.m)
        sum = 0;
    FOR_THREADS(i, a.n)
    {
        real u = NVT_READ(a.g[i]) * NVT_VALUE(NVT_READ(dy[i]));
        real value = r * (u - sum - (NVT_READ(x[i]) - m) * r * along);
        dx[i] = value = a.add ? NVT_READ(dx[i]) + value : value;
        if (a.copy)
            NVT_KEEP(((nvt_stored *)a.copy)[row * a.n + i], value);
    }
}

static void launch_backward(enum nvt_precision precision, struct norm_backward_args args)
{
    sum_rows(precision, &args);
    NVT_LAUNCH_STORED(precision, norm_backward, args.rows, args);
}

void nvt_rmsnorm_backward(enum nvt_precision precision, real *dx, void *copy, int add, real *dg,
                          const void *dy, const real *x, const real *g, const real *r, int64_t rows,
                          int64_t n, real *scratch)
{
    struct norm_backward_args args = {dx, dg, NULL, scratch, copy, dy, x, g, NULL, r, rows, n, add};
    launch_backward(precision, args);
}

void nvt_layernorm_backward(real *dx, int add, real *dg, real *db, const real *dy, const real *x,
                            const real *g, const real *m, const real *r, int64_t rows, int64_t n,
                            real *scratch)
{
    struct norm_backward_args args = {dx, dg, db, scratch, NULL, dy, x, g, m, r, rows, n, add};
    launch_backward(NVT_FP32, args);
}
