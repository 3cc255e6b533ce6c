#include "gelu.h"

#include "real_math.h"

#define SQRT_HALF         ((real)0.70710678118654752440)
#define INVERSE_SQRT_2_PI ((real)0.39894228040143267794)

struct gelu_args {
    real *out;
    const real *x, *dy;
    int64_t n;
};

NVT_KERNEL(gelu_forward, gelu_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n)
            a.out[i] = a.x[i] * (real)0.5 * (1 + real_erf(a.x[i] * SQRT_HALF));
    }
}

NVT_KERNEL(gelu_backward, gelu_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n) {
            real x = a.x[i];
            real cumulative = (real)0.5 * (1 + real_erf(x * SQRT_HALF));
            real density = INVERSE_SQRT_2_PI * real_exp(-(real)0.5 * x * x);
            a.out[i] = a.dy[i] * (cumulative + x * density);
        }
    }
}

void nvt_gelu_forward(real *y, const real *x, int64_t n)
{
    struct gelu_args args = {y, x, NULL, n};
    NVT_LAUNCH(gelu_forward, NVT_CHUNKS(n), args);
}

void nvt_gelu_backward(real *dx, const real *dy, const real *x, int64_t n)
{
    struct gelu_args args = {dx, x, dy, n};
    NVT_LAUNCH(gelu_backward, NVT_CHUNKS(n), args);
}
