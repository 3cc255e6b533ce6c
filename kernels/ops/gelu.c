#include "gelu.h"

#include "real_math.h"

#define SQRT_HALF         ((real)0.70710678118654752440)
#define INVERSE_SQRT_2_PI ((real)0.39894228040143267794)

struct gelu_args {
    real *out;
    const real *x, *dy;
    int64_t n;
};

NVT_DEVICE real gelu_of(real x, real dy, const struct gelu_args *a)
{
    (void)dy;
    (void)a;
    return x * (real)0.5 * (1 + real_erf(x * SQRT_HALF));
}

NVT_DEVICE real gelu_gradient(real x, real dy, const struct gelu_args *a)
{
    real cumulative = (real)0.5 * (1 + real_erf(x * SQRT_HALF));
    real density = INVERSE_SQRT_2_PI * real_exp(-(real)0.5 * x * x);
    (void)a;
    return dy * (cumulative + x * density);
}

NVT_MAP(gelu_forward, gelu_args, out, x, x, gelu_of)
NVT_MAP(gelu_backward, gelu_args, out, x, dy, gelu_gradient)

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
