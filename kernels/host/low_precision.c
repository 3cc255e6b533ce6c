/*
 * Products of halves and of 8-bit integers on the host. Halves are turned into floats block by
 * block, so that little memory and mostly the cache is used, and multiplied by OpenBLAS, which has
 * no product of halves. Integers are oneDNN's, or a plain loop where there is none or where it does
 * not compute exactly: before VNNI its sums of pairs saturate at 16 bits.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "../ops/int8_product.h"
#include "../ops/quantize.h"

#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

/* Floats of a block of the streamed operand and result; and rows of it at least, for the product's
 * sake. */
#define BLOCK_FLOATS ((int64_t)4 << 20)
#define BLOCK_ROWS   256

static int64_t block_rows(int64_t rows, int64_t floats_a_row)
{
    int64_t block = BLOCK_FLOATS / floats_a_row;
    block = block < BLOCK_ROWS ? BLOCK_ROWS : block;
    return block < rows ? block : rows;
}

size_t nvt_backend_half_scratch(int transpose_a, int64_t m, int64_t n, int64_t k)
{
    int64_t whole = transpose_a ? m * n : n * k;
    int64_t block = transpose_a ? block_rows(k, m + n) * (m + n) : block_rows(m, k + n) * (k + n);
    return (size_t)(whole + block) * sizeof(float);
}

/* c = aᵀ·b, a[k][m], b[k][n]: sums of blocks of k. */
static void multiply_transposed(int64_t m, int64_t n, int64_t k, const nvt_half *a,
                                const nvt_half *b, nvt_half *c, float *sums)
{
    int64_t block = block_rows(k, m + n);
    float *left = sums + m * n, *right = left + block * m;
    for (int64_t first = 0; first < k; first += block) {
        int64_t rows = k - first < block ? k - first : block;
        nvt_half_to_float(left, a + first * m, rows * m);
        nvt_half_to_float(right, b + first * n, rows * n);
        nvt_backend_matmul(1, 0, m, n, rows, 1, left, right, first ? 1 : 0, sums);
    }
    nvt_half_from_float(c, sums, m * n);
}

void nvt_backend_matmul_half(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                             const nvt_half *a, const nvt_half *b, nvt_half *c, void *scratch)
{
    float *right = (float *)scratch;
    if (transpose_a) {
        multiply_transposed(m, n, k, a, b, c, right);
        return;
    }
    int64_t block = block_rows(m, k + n);
    float *left = right + n * k, *out = left + block * k;
    nvt_half_to_float(right, b, n * k);
    for (int64_t first = 0; first < m; first += block) {
        int64_t rows = m - first < block ? m - first : block;
        nvt_half_to_float(left, a + first * k, rows * k);
        nvt_backend_matmul(0, transpose_b, rows, n, k, 1, left, right, 0, out);
        nvt_half_from_float(c + first * n, out, rows * n);
    }
}

/* --- integers ---------------------------------------------------------------------------------------- */

/* c[m][n] = a[m][k]·b[n][k]ᵀ, 32-bit sums. */
static void int8_loop(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b, int32_t *c)
{
    struct int8_args args = {a, b, c, n, k};
    NVT_LAUNCH(int8_product, m, args);
}

#ifdef HAVE_DNNL
static int dnnl_product(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b,
                        int32_t *c)
{
    const int32_t none = 0;
    return dnnl_gemm_s8s8s32('N', 'T', 'F', m, n, k, 1.0f, a, k, 0, b, k, 0, 0.0f, c, n, &none) ==
                   dnnl_success
               ? 0
               : -1;
}

/*
 * The largest sums of either sign, in the first and the last column of a tile, and odd ones beyond 2^24: oneDNN has
 * instructions of processors that saturate in between, and on Arm it adds in float.
 */
static int dnnl_is_exact(void)
{
    enum { SIDE = 16, DEPTH = 2048 };
    static const int8_t ends[] = {126, -127, 125};
    int8_t *a = malloc((size_t)2 * SIDE * DEPTH), *b = a ? a + SIDE * DEPTH : NULL;
    int32_t c[SIDE * SIDE];
    if (!a)
        return 0;
    for (int i = 0; i < SIDE * DEPTH; i++) {
        a[i] = i / DEPTH % 2 ? -127 : 127;
        b[i] = i / DEPTH % 3 ? -127 : 127;
    }
    for (int i = 0; i < SIDE; i++)
        a[i * DEPTH + DEPTH - 1] = ends[i % 3];
    int exact = !dnnl_product(SIDE, SIDE, DEPTH, a, b, c);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int left = (int)a[i / SIDE * DEPTH], last = (int)a[i / SIDE * DEPTH + DEPTH - 1];
        exact &= c[i] == ((DEPTH - 1) * left + last) * b[i % SIDE * DEPTH];
    }
    free(a);
    return exact;
}
#endif

/* Whether oneDNN is built in and computes exactly on this processor. */
static int int8_by_library(void)
{
#ifdef HAVE_DNNL
    static atomic_int known; /* 0: not asked yet, 1: no, 2: yes */
    int answer = atomic_load(&known);
    if (!answer) {
        answer = dnnl_is_exact() ? 2 : 1;
        atomic_store(&known, answer);
    }
    return answer == 2;
#else
    return 0;
#endif
}

int nvt_backend_int8_is_plain(void)
{
    return !int8_by_library();
}

void nvt_backend_matmul_int8(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b,
                             int32_t *c)
{
#ifdef HAVE_DNNL
    if (int8_by_library() && !dnnl_product(m, n, k, a, b, c))
        return;
#endif
    int8_loop(m, n, k, a, b, c);
}
