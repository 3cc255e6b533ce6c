#include "gelu.h"

#include "gelu_one.h"

struct gelu_args {
    real *out;
    const real *x, *dy;
    int64_t n;
};

NVT_DEVICE real gelu_of(real x, real dy, const struct gelu_args *a)
{
    (void)dy;
    (void)a;
    return nvt_gelu_one(x);
}

NVT_DEVICE real gelu_gradient(real x, real dy, const struct gelu_args *a)
{
    (void)a;
    return nvt_gelu_gradient_one(x, dy);
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
