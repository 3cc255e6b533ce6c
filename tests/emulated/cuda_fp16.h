/* Halves of the stand-in for CUDA: the compiler's own, which are not those of kernels/ops/half.h. */
#ifndef EMULATED_CUDA_FP16_H
#define EMULATED_CUDA_FP16_H

#include <cstdint>
#include <cstring>

struct __half {
    _Float16 value;
    explicit __half(float from) : value(static_cast<_Float16>(from))
    {
    }
    explicit __half(_Float16 from) : value(from)
    {
    }
};

static inline float __half2float(__half half)
{
    return static_cast<float>(half.value);
}

static inline __half __float2half_rn(float from)
{
    return __half(from);
}

static inline __half __ushort_as_half(uint16_t bits)
{
    _Float16 value;
    memcpy(&value, &bits, sizeof(value));
    return __half(value);
}

static inline uint16_t __half_as_ushort(__half half)
{
    uint16_t bits;
    memcpy(&bits, &half.value, sizeof(bits));
    return bits;
}

#endif
