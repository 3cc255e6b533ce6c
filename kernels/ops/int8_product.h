/*
 * The product of 8-bit integers as a plain kernel: what both backends fall back to.
 * c[row][column] = Σ_i a[row][i] · b[column][i] over k, in 32 bits.
 */
#ifndef NVT_INT8_PRODUCT_H
#define NVT_INT8_PRODUCT_H

#include "../backend.h"

struct int8_args {
    const int8_t *a, *b;
    int32_t *c;
    int64_t n, k;
};

NVT_KERNEL(int8_product, int8_args)
{
    const int8_t *left = a.a + row * a.k;
    FOR_THREADS(column, a.n)
    {
        const int8_t *right = a.b + column * a.k;
        int32_t sum = 0;
        for (int64_t i = 0; i < a.k; i++)
            sum += left[i] * right[i];
        a.c[row * a.n + column] = sum;
    }
}

#endif
