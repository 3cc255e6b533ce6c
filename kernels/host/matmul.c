/*
 * Batched matrix products on the host. OpenBLAS multiplies float: the lower precisions are emulated
 * by rounding both inputs, to nearest and ties to even, before a float product.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../backend.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(_OPENMP) && defined(HAVE_CBLAS) && !defined(NVT_REAL_DOUBLE)
#include <cblas.h>
#include <pthread.h>
#define BLAS_HAS_THREADS
#endif

/* Multiply-adds of a product below which OpenBLAS's own threads cost more than they bring: an attention
 * head's products of 128 by 128 by 32 took four to eight times as long on two of them as on one. */
#define SMALL_PRODUCT (INT64_C(8) << 20)

/* Numbers to round, in chunks. */
struct round_args {
    real *out;
    const real *in;
    int64_t n;
    int mantissa; /* bits kept of a float's 23 */
};

/* Round to fewer bits of mantissa with float's exponents: TF32 (10) and bfloat16 (7). Infinity and
 * NaN stay. */
static float round_mantissa(float value, int mantissa)
{
    uint32_t bits, drop = 23u - (uint32_t)mantissa;
    memcpy(&bits, &value, sizeof(bits));
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return value;
    bits += (1u << (drop - 1)) - 1 + (bits >> drop & 1);
    bits &= ~((1u << drop) - 1);
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

/* binary16: 10 bits of mantissa, multiples of 2⁻²⁴ below 2⁻¹⁴, infinity from 65520. (clang has no
 * _Float16 on every processor.) */
static float round_half(float value)
{
    float size = fabsf(value);
    if (size >= 65520)
        return copysignf(INFINITY, value);
    return size < 0x1p-14f ? rintf(value * 0x1p24f) * 0x1p-24f : round_mantissa(value, 10);
}

NVT_KERNEL(round_inputs, round_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = row * NVT_CHUNK_ELEMENTS + j;
        if (i < a.n)
            a.out[i] = (real)(a.mantissa ? round_mantissa((float)a.in[i], a.mantissa)
                                         : round_half((float)a.in[i]));
    }
}

/* A rounded copy of n numbers; NULL when memory is out. */
static real *rounded(const real *in, int64_t n, enum nvt_precision precision)
{
    real *out = (real *)malloc((size_t)n * sizeof(real));
    struct round_args args = {out, in, n,
                              precision == NVT_TF32   ? 10
                              : precision == NVT_BF16 ? 7
                                                      : 0};
    if (out)
        NVT_LAUNCH(round_inputs, NVT_CHUNKS(n), args);
    return out;
}

static void multiply_one(const struct nvt_matmul *shape, int64_t i, const real *a, const real *b,
                         real *c)
{
    nvt_backend_matmul(shape->transpose_a, shape->transpose_b, shape->m, shape->n, shape->k,
                       shape->alpha, a + i * shape->stride_a, b + i * shape->stride_b, shape->beta,
                       c + i * shape->stride_c);
}

#ifdef BLAS_HAS_THREADS
/* OpenBLAS counts its threads for the process: the first that wants it on one thread sets that, the last
 * one restores it. */
static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int blas_users, blas_threads;

static void hold_blas_to_one_thread(void)
{
    pthread_mutex_lock(&blas_lock);
    if (!blas_users++) {
        blas_threads = openblas_get_num_threads();
        openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&blas_lock);
}

static void release_blas(void)
{
    pthread_mutex_lock(&blas_lock);
    if (!--blas_users)
        openblas_set_num_threads(blas_threads);
    pthread_mutex_unlock(&blas_lock);
}

/* Many small products: one of our threads each, rather than all of OpenBLAS's on one after the other. */
static int multiply_apart(const struct nvt_matmul *shape, const real *a, const real *b, real *c)
{
    if (shape->count < 2 || shape->m * shape->n * shape->k > SMALL_PRODUCT ||
        omp_get_max_threads() < 2)
        return 0;
    hold_blas_to_one_thread();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < shape->count; i++)
        multiply_one(shape, i, a, b, c);
    release_blas();
    return 1;
}
#else
static int multiply_apart(const struct nvt_matmul *shape, const real *a, const real *b, real *c)
{
    (void)shape, (void)a, (void)b, (void)c;
    return 0;
}
#endif

static void multiply_all(const struct nvt_matmul *shape, const real *a, const real *b, real *c)
{
    if (multiply_apart(shape, a, b, c))
        return;
    for (int64_t i = 0; i < shape->count; i++)
        multiply_one(shape, i, a, b, c);
}

/* Elements that an input spans. */
static int64_t span(const struct nvt_matmul *shape, int64_t stride, int64_t rows, int64_t columns)
{
    return (shape->count - 1) * stride + rows * columns;
}

void nvt_backend_matmul_batched(const struct nvt_matmul *shape, const void *a, const void *b,
                                void *c)
{
    const real *left = (const real *)a, *right = (const real *)b;
    if (shape->count < 1)
        return;
    if (shape->precision == NVT_FP32) {
        multiply_all(shape, left, right, (real *)c);
        return;
    }
    real *low_a = rounded(left, span(shape, shape->stride_a, shape->m, shape->k), shape->precision);
    real *low_b =
        rounded(right, span(shape, shape->stride_b, shape->k, shape->n), shape->precision);
    /* Out of memory shows as NaN: a wrong precision would not show at all. */
    if (low_a && low_b)
        multiply_all(shape, low_a, low_b, (real *)c);
    else
        memset(c, 0xff, (size_t)span(shape, shape->stride_c, shape->m, shape->n) * sizeof(real));
    free(low_a);
    free(low_b);
}

size_t nvt_backend_stored_bytes(enum nvt_precision precision)
{
    (void)precision;
    return sizeof(real);
}

int nvt_backend_emulates(enum nvt_precision precision)
{
    return precision != NVT_FP32;
}
