#include "dropout.h"

#include "gelu_one.h"
#include "philox.h"

struct dropout_args {
    real *y;
    const real *x, *with, *b; /* with: another array of n; b[columns] */
    int64_t n, columns;
    real scale;
    uint32_t threshold;
    uint64_t seed, stream;
};

/* Four elements share a block of random words, and accesses of a device. `rest`: how many there are from here on. */
NVT_DEVICE void read_four(real four[4], const real *x, int64_t rest)
{
#ifdef __CUDACC__
    if (rest >= 4 && !((uintptr_t)x % sizeof(nvt_four))) {
        nvt_four whole = *(const nvt_four *)x;
        for (int k = 0; k < 4; k++)
            four[k] = whole.at[k];
        return;
    }
#endif
    for (int k = 0; k < 4; k++)
        four[k] = k < rest ? x[k] : 0;
}

NVT_DEVICE void write_four(real *y, const real four[4], int64_t rest)
{
#ifdef __CUDACC__
    if (rest >= 4 && !((uintptr_t)y % sizeof(nvt_four))) {
        *(nvt_four *)y = {{four[0], four[1], four[2], four[3]}};
        return;
    }
#endif
    for (int k = 0; k < 4 && k < rest; k++)
        y[k] = four[k];
}

/* factor[k]: what element first + k is multiplied with. */
NVT_DEVICE void factors(real factor[4], int64_t first, const struct dropout_args *a)
{
    uint32_t words[4] = {0, 0, 0, 0};
    if (a->threshold)
        philox_block(words, (uint64_t)first / 4, a->stream, a->seed);
    for (int k = 0; k < 4; k++)
        factor[k] = words[k] >= a->threshold ? a->scale : 0;
}

NVT_KERNEL(dropout, dropout_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS / 4)
    {
        int64_t first = NVT_ELEMENT(row, 4 * j), rest = a.n - first;
        real x[4], factor[4];
        if (rest > 0) {
            read_four(x, a.x + first, rest);
            factors(factor, first, &a);
            for (int k = 0; k < 4; k++)
                x[k] = factor[k] != 0 ? x[k] * factor[k] : 0;
            write_four(a.y + first, x, rest);
        }
    }
}

NVT_KERNEL(gelu_dropout_forward, dropout_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS / 4)
    {
        int64_t first = NVT_ELEMENT(row, 4 * j), rest = a.n - first;
        real x[4], factor[4];
        if (rest > 0) {
            read_four(x, a.x + first, rest);
            factors(factor, first, &a);
            for (int k = 0; k < 4; k++)
                x[k] = factor[k] != 0 ? nvt_gelu_one(x[k]) * factor[k] : 0;
            write_four(a.y + first, x, rest);
        }
    }
}

NVT_KERNEL(gelu_dropout_backward, dropout_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS / 4)
    {
        int64_t first = NVT_ELEMENT(row, 4 * j), rest = a.n - first;
        real x[4], dy[4], factor[4];
        if (rest > 0) {
            read_four(x, a.x + first, rest);
            read_four(dy, a.with + first, rest);
            factors(factor, first, &a);
            for (int k = 0; k < 4; k++)
                dy[k] = factor[k] != 0 ? nvt_gelu_gradient_one(x[k], dy[k] * factor[k]) : 0;
            write_four(a.y + first, dy, rest);
        }
    }
}

NVT_KERNEL(bias_dropout_add, dropout_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS / 4)
    {
        int64_t first = NVT_ELEMENT(row, 4 * j), rest = a.n - first;
        real x[4], y[4], factor[4];
        if (rest > 0) {
            int64_t column = first % a.columns;
            read_four(x, a.with + first, rest);
            read_four(y, a.x + first, rest);
            factors(factor, first, &a);
            for (int k = 0; k < 4; k++) {
                int64_t at = column + k < a.columns ? column + k : (column + k) % a.columns;
                real value = y[k] + NVT_READ(a.b[at]);
                y[k] = x[k] + (factor[k] != 0 ? value * factor[k] : 0);
            }
            write_four(a.y + first, y, rest);
        }
    }
}

static struct dropout_args args_of(real *y, const real *x, int64_t n, double rate, uint64_t seed,
                                   uint64_t stream)
{
    struct dropout_args args = {
        y,    x,     NULL, NULL, n, 1, (real)(1 / (1 - rate)), (uint32_t)(rate * 4294967296.0),
        seed, stream};
    return args;
}

void nvt_dropout(real *y, const real *x, int64_t n, double rate, uint64_t seed, uint64_t stream)
{
    struct dropout_args args = args_of(y, x, n, rate, seed, stream);
    NVT_LAUNCH(dropout, NVT_CHUNKS(n), args);
}

void nvt_gelu_dropout_forward(real *y, const real *x, int64_t n, double rate, uint64_t seed,
                              uint64_t stream)
{
    struct dropout_args args = args_of(y, x, n, rate, seed, stream);
    NVT_LAUNCH(gelu_dropout_forward, NVT_CHUNKS(n), args);
}

void nvt_gelu_dropout_backward(real *dx, const real *dy, const real *x, int64_t n, double rate,
                               uint64_t seed, uint64_t stream)
{
    struct dropout_args args = args_of(dx, x, n, rate, seed, stream);
    args.with = dy;
    NVT_LAUNCH(gelu_dropout_backward, NVT_CHUNKS(n), args);
}

void nvt_bias_dropout_add(real *y, const real *b, const real *x, int64_t rows, int64_t n,
                          double rate, uint64_t seed, uint64_t stream)
{
    struct dropout_args args = args_of(y, y, rows * n, rate, seed, stream);
    args.with = x;
    args.b = b;
    args.columns = n;
    NVT_LAUNCH(bias_dropout_add, NVT_CHUNKS(rows * n), args);
}
