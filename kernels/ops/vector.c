#include "vector.h"

struct vector_args {
    real *out;
    const real *x, *y;
    int64_t n;
};

/* The elements of a chunk; the last one is shorter. */
#define FOR_ELEMENTS(i)                                                                            \
    const int64_t first = row * NVT_CHUNK_ELEMENTS, rest = a.n - first;                            \
    const int64_t count = rest < NVT_CHUNK_ELEMENTS ? rest : NVT_CHUNK_ELEMENTS;                   \
    real *out = a.out + first;                                                                     \
    FOR_THREADS(i, count)

NVT_KERNEL(vector_add, vector_args)
{
    FOR_ELEMENTS(i)
    out[i] += a.x[first + i];
}

NVT_KERNEL(relu_forward, vector_args)
{
    FOR_ELEMENTS(i)
    out[i] = a.x[first + i] > 0 ? a.x[first + i] : 0;
}

NVT_KERNEL(relu_backward, vector_args)
{
    FOR_ELEMENTS(i)
    out[i] = a.y[first + i] > 0 ? a.x[first + i] : 0;
}

void nvt_add(real *y, const real *x, int64_t n)
{
    struct vector_args args = {y, x, NULL, n};
    NVT_LAUNCH(vector_add, NVT_CHUNKS(n), args);
}

void nvt_relu_forward(real *y, const real *x, int64_t n)
{
    struct vector_args args = {y, x, NULL, n};
    NVT_LAUNCH(relu_forward, NVT_CHUNKS(n), args);
}

void nvt_relu_backward(real *dx, const real *dy, const real *y, int64_t n)
{
    struct vector_args args = {dx, dy, y, n};
    NVT_LAUNCH(relu_backward, NVT_CHUNKS(n), args);
}
