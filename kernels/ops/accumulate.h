/*
 * Adding one number many times, in formats whose every sum is rounded: exactly what such an
 * addition gives, on every backend.
 */
#ifndef NVT_ACCUMULATE_H
#define NVT_ACCUMULATE_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nvt_accumulate_form {
    NVT_ACCUMULATE_FP32,          /* sum and addend of float */
    NVT_ACCUMULATE_FP16,          /* of binary16 */
    NVT_ACCUMULATE_MIXED,         /* float sum, binary16 addend */
    NVT_ACCUMULATE_CAST,          /* the same, the addend turned into float explicitly before */
    NVT_ACCUMULATE_BF16,          /* of bfloat16 */
    NVT_ACCUMULATE_MIXED_BF16,    /* float sum, bfloat16 addend */
    NVT_ACCUMULATE_KAHAN,         /* of binary16, compensated */
    NVT_ACCUMULATE_PAIRWISE,      /* of binary16, as a binary tree */
    NVT_ACCUMULATE_KAHAN_BF16,    /* of bfloat16, compensated */
    NVT_ACCUMULATE_PAIRWISE_BF16, /* of bfloat16, as a binary tree */
};

/*
 * *sum (on the device) = addend + addend + … , `count` of them, starting from zero.
 *
 * A binary16 or bfloat16 number lies in a float. An addition of two is a float addition rounded to
 * the format, nearest and ties to even: as a float has more than twice their digits and two to
 * spare, that is the exact sum rounded once (Figueroa, "When is double rounding innocuous?", SIGNUM
 * Newsletter 30, 1995).
 *
 * Compensated: Kahan, "Further remarks on reducing truncation errors", CACM 8, 1965: y = x - c; t =
 * s + y; c = (t - s) - y; s = t, each step rounded. The tree joins partial sums of equally many
 * addends, as the binary digits of their number carry, and what is left at the end from the
 * smallest to the largest.
 */
void nvt_accumulate(float *sum, enum nvt_accumulate_form form, float addend, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
