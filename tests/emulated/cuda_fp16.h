/* Halves of the stand-in for CUDA: the compiler's own, which are not those of kernels/ops/half.h. */
#ifndef EMULATED_CUDA_FP16_H
#define EMULATED_CUDA_FP16_H

#include <cstdint>
#include <cstring>

/* g++ before 13 knows _Float16 of x86 alone. */
#if defined(__aarch64__) && __GNUC__ < 13
typedef __fp16 emulated_half;
#else
typedef _Float16 emulated_half;
#endif

struct __half {
    emulated_half value;
    __half() = default;
    explicit __half(float from) : value(static_cast<emulated_half>(from))
    {
    }
    explicit __half(emulated_half from) : value(from)
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
    emulated_half value;
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
