#include "gelu.h"

#include "gelu_one.h"
#include "stored.h"

struct gelu_args {
    void *out;
    const void *x, *dy;
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

NVT_STORED_MAP(gelu_forward, gelu_args, out, x, x, gelu_of)
NVT_STORED_MAP(gelu_backward, gelu_args, out, x, dy, gelu_gradient)

void nvt_gelu_forward(enum nvt_precision precision, void *y, const void *x, int64_t n)
{
    struct gelu_args args = {y, x, NULL, n};
    NVT_LAUNCH_STORED(precision, gelu_forward, NVT_CHUNKS(n), args);
}

void nvt_gelu_backward(enum nvt_precision precision, void *dx, const void *dy, const void *x,
                       int64_t n)
{
    struct gelu_args args = {dx, x, dy, n};
    NVT_LAUNCH_STORED(precision, gelu_backward, NVT_CHUNKS(n), args);
}
