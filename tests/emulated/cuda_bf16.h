/* bfloat16 of the stand-in for CUDA: the upper half of a float, rounded to nearest, ties to even. */
#ifndef EMULATED_CUDA_BF16_H
#define EMULATED_CUDA_BF16_H

#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    explicit __nv_bfloat16(float from)
    {
        uint32_t whole;
        memcpy(&whole, &from, sizeof(whole));
        uint32_t rounded = whole + 0x7fff + (whole >> 16 & 1);
        bits = static_cast<uint16_t>((from == from ? rounded : whole | 0x400000) >> 16);
    }
};

static inline float __bfloat162float(__nv_bfloat16 from)
{
    uint32_t whole = static_cast<uint32_t>(from.bits) << 16;
    float value;
    memcpy(&value, &whole, sizeof(value));
    return value;
}

static inline __nv_bfloat16 __float2bfloat16_rn(float from)
{
    return __nv_bfloat16(from);
}

#endif
