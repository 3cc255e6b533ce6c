/*
 * Products of halves and of 8-bit integers for the reference, by their definition: its numbers are
 * double, which the host's own code for them is not.
 */
#include "../../kernels/ops/half.h"

#ifdef NVT_REAL_DOUBLE
size_t nvt_backend_half_scratch(int transpose_a, int64_t m, int64_t n, int64_t k)
{
    (void)transpose_a;
    (void)m;
    (void)n;
    (void)k;
    return 0;
}

void nvt_backend_matmul_half(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                             const nvt_half *a, const nvt_half *b, nvt_half *c, void *scratch)
{
    (void)scratch;
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            double sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += (double)nvt_half_value(a[transpose_a ? i * m + row : row * k + i]) *
                       (double)nvt_half_value(b[transpose_b ? column * k + i : i * n + column]);
            c[row * n + column] = nvt_half_of((float)sum);
        }
}

void nvt_backend_matmul_int8(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b,
                             int32_t *c)
{
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            int32_t sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += a[row * k + i] * b[column * k + i];
            c[row * n + column] = sum;
        }
}
#else
typedef int nothing_but_the_reference_has_these;
#endif
