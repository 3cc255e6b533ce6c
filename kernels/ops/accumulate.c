#include "accumulate.h"

#include <string.h>

enum format { FP32, FP16, BF16 };

struct accumulate_args {
    float *sum;
    enum nvt_accumulate_form form;
    float addend;
    int64_t count;
};

NVT_DEVICE uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

NVT_DEVICE float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Clear the lowest `drop` bits, to nearest and ties to even; a carry moves into the exponent. */
NVT_DEVICE uint32_t drop_bits(uint32_t bits, uint32_t drop)
{
    bits += (1u << (drop - 1)) - 1 + (bits >> drop & 1);
    return bits & ~((1u << drop) - 1);
}

NVT_DEVICE float to_fp16(float value)
{
    const uint32_t bits = bits_of(value), sign = bits & 0x80000000u, size = bits ^ sign;
    if (size >= 0x7f800000u)
        return value;
    if (size >= 0x477ff000u) /* 65520, halfway to what would be the next number */
        return float_of(sign | 0x7f800000u);
    if (size >= 0x38800000u) /* 2^-14, the least normal one */
        return float_of(sign | drop_bits(size, 13));
    /* Between 1/2 and 1 the digits of a float are multiples of 2^-24, as those wanted here. */
    return float_of(sign | bits_of((float_of(size) + 0.5f) - 0.5f));
}

NVT_DEVICE float to_bf16(float value)
{
    const uint32_t bits = bits_of(value);
    /* Exponents are float's, subnormal numbers included. */
    return (bits & 0x7fffffffu) >= 0x7f800000u ? value : float_of(drop_bits(bits, 16));
}

NVT_DEVICE float to_format(float value, enum format format)
{
    return format == FP16 ? to_fp16(value) : format == BF16 ? to_bf16(value) : value;
}

NVT_DEVICE float add_plainly(float addend, int64_t count, enum format format)
{
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum = to_format(sum + addend, format);
    return sum;
}

NVT_DEVICE float add_compensated(float addend, int64_t count, enum format format)
{
    float sum = 0, lost = 0;
    for (int64_t i = 0; i < count; i++) {
        const float wanted = to_format(addend - lost, format);
        const float next = to_format(sum + wanted, format);
        lost = to_format(to_format(next - sum, format) - wanted, format);
        sum = next;
    }
    return sum;
}

NVT_DEVICE float add_pairwise(float addend, int64_t count, enum format format)
{
    float parts[64], sum = 0;
    int depth = 0;
    for (int64_t i = 0; i < count; i++) {
        float part = addend;
        for (int64_t carry = i; carry & 1; carry >>= 1)
            part = to_format(parts[--depth] + part, format);
        parts[depth++] = part;
    }
    while (depth)
        sum = to_format(parts[--depth] + sum, format);
    return sum;
}

NVT_KERNEL(accumulate, accumulate_args)
{
    (void)row;
    const float half = to_fp16(a.addend), brain = to_bf16(a.addend);
    float sum = 0;
    switch (a.form) {
    case NVT_ACCUMULATE_FP32:
        sum = add_plainly(a.addend, a.count, FP32);
        break;
    case NVT_ACCUMULATE_FP16:
        sum = add_plainly(half, a.count, FP16);
        break;
    case NVT_ACCUMULATE_MIXED:
    case NVT_ACCUMULATE_CAST:
        sum = add_plainly(half, a.count, FP32);
        break;
    case NVT_ACCUMULATE_BF16:
        sum = add_plainly(brain, a.count, BF16);
        break;
    case NVT_ACCUMULATE_MIXED_BF16:
        sum = add_plainly(brain, a.count, FP32);
        break;
    case NVT_ACCUMULATE_KAHAN:
        sum = add_compensated(half, a.count, FP16);
        break;
    case NVT_ACCUMULATE_PAIRWISE:
        sum = add_pairwise(half, a.count, FP16);
        break;
    case NVT_ACCUMULATE_KAHAN_BF16:
        sum = add_compensated(brain, a.count, BF16);
        break;
    case NVT_ACCUMULATE_PAIRWISE_BF16:
        sum = add_pairwise(brain, a.count, BF16);
        break;
    }
    /* One sum after another cannot be shared out: a single thread does it. */
    FOR_THREADS(i, 1)
    a.sum[i] = sum;
}

void nvt_accumulate(float *sum, enum nvt_accumulate_form form, float addend, int64_t count)
{
    struct accumulate_args args = {sum, form, addend, count};
    NVT_LAUNCH(accumulate, 1, args);
}
