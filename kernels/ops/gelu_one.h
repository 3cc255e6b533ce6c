/* GELU of one number (gelu.h), for the kernels that have it as a part. */
#ifndef NVT_GELU_ONE_H
#define NVT_GELU_ONE_H

#include "real_math.h"

#define NVT_SQRT_HALF         ((real)0.70710678118654752440)
#define NVT_INVERSE_SQRT_2_PI ((real)0.39894228040143267794)

NVT_DEVICE real nvt_gelu_one(real x)
{
    return x * (real)0.5 * (1 + real_erf(x * NVT_SQRT_HALF));
}

/* dy · dy/dx. */
NVT_DEVICE real nvt_gelu_gradient_one(real x, real dy)
{
    real cumulative = (real)0.5 * (1 + real_erf(x * NVT_SQRT_HALF));
    real density = NVT_INVERSE_SQRT_2_PI * real_exp(-(real)0.5 * x * x);
    return dy * (cumulative + x * density);
}

#endif
