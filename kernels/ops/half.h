/*
 * IEEE 754 binary16 as bits in memory, and its conversions: to float exactly, from float to nearest
 * with ties to even. The host's are branch-free, so that loops over them become vector code with
 * any compiler; a device has instructions for them.
 */
#ifndef NVT_HALF_H
#define NVT_HALF_H

#include <string.h>

#include "../backend.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

typedef uint16_t nvt_half;

/* Bits without the sign order halves by magnitude: finite ones below infinity, NaNs above it. */
#define NVT_HALF_MAGNITUDE 0x7fffu
#define NVT_HALF_INFINITY  0x7c00u

#ifdef __CUDACC__
NVT_DEVICE float nvt_half_value(nvt_half half)
{
    return __half2float(__ushort_as_half(half));
}

NVT_DEVICE nvt_half nvt_half_of(float value)
{
    return __half_as_ushort(__float2half_rn(value));
}
#else
NVT_DEVICE float nvt_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

NVT_DEVICE uint32_t nvt_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Subnormal halves get an implicit bit that is then taken away: a product that would do, too, is
 * slow on processors that compute with subnormal floats in microcode. */
NVT_DEVICE float nvt_half_value(nvt_half half)
{
    uint32_t magnitude = (uint32_t)(half & NVT_HALF_MAGNITUDE) << 13;
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t normal = magnitude + (magnitude >= 0x0f800000u ? 0x70000000u : 0x38000000u);
    float tiny = nvt_float_of_bits(magnitude + 0x38800000u) - 0x1p-14f;
    uint32_t bits = magnitude < 0x00800000u ? nvt_bits_of_float(tiny) : normal;
    return nvt_float_of_bits(sign | bits);
}

/* Subnormal results are rounded by the adder: 0.5's last place is a half's least subnormal. */
NVT_DEVICE nvt_half nvt_half_of(float value)
{
    uint32_t bits = nvt_bits_of_float(value), sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t tiny = nvt_bits_of_float(nvt_float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t beyond = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t half = magnitude < 0x38800000u ? tiny : normal;
    return (nvt_half)(sign | (magnitude >= 0x47800000u ? beyond : half));
}
#endif

#endif
