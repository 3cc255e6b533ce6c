/*
 * One number's part in quantisation (quantize.h): for the kernels that both backends have, and for those of a device
 * alone.
 */
#ifndef NVT_QUANTIZE_ONE_H
#define NVT_QUANTIZE_ONE_H

#include <math.h>

#include "half.h"

/* What a group's scale says: a positive finite one divides, all else makes zeros. */
NVT_DEVICE int nvt_is_divisor(float scale)
{
    return scale > 0 && scale <= 65504.0f;
}

/*
 * 127·x / scale as float division rounds it, by the scale's reciprocal, itself rounded to nearest. The product is off
 * by 1.5 units in the last place at most, what is left of 127·x is exact in a fused step, and so the corrected
 * quotient lies within 2^-22 units of the exact one before it is rounded. That could matter only nearer than that to the middle between
 * two floats. 127·x has 18 bits and the scale 11: such a quotient is at least 2^-12 units from any middle, and is
 * none itself, as its product with the scale would have 25 bits.
 */
NVT_DEVICE float nvt_quotient(float x, float scale, float reciprocal)
{
    float dividend = 127.0f * x, quotient = dividend * reciprocal;
    return fmaf(fmaf(-quotient, scale, dividend), reciprocal, quotient);
}

NVT_DEVICE uint16_t nvt_larger(uint16_t top, nvt_half x)
{
    uint16_t magnitude = (uint16_t)(x & NVT_HALF_MAGNITUDE);
    return magnitude > top ? magnitude : top;
}

/* What nvt_dequantize's kernels take, that of both backends and that of a device alone: a row of a block each. */
struct dequantize_args {
    nvt_half *out;
    const int32_t *acc;
    const float *sa, *sb;
    int64_t rows, n;
    int shared;
};

#endif
