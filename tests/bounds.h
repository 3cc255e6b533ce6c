/*
 * How far a computed product may be from the exact one: bounds that follow from the formats, not from what was seen.
 * y is the exact number; a bound is one of |computed - y|. Halves are IEEE binary16.
 */
#ifndef NVT_TESTS_BOUNDS_H
#define NVT_TESTS_BOUNDS_H

#include <math.h>
#include <stdint.h>

#define BOUND_FLOAT 0x1p-24 /* half a unit in the last place: float, rounded to the nearest */
#define BOUND_CUT   0x1p-23 /* a whole one: float, cut off */

/* γ_n = n·u/(1 − n·u): n roundings by a factor within 1 ± u each (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2002, lemma 3.1). */
static inline double bound_gamma(double roundings, double unit)
{
    return roundings * unit / (1 - roundings * unit);
}

/* Rounding a result to a half adds half a unit in the last place, to subnormal ones 2^-25. */
static inline double bound_rounding(double y)
{
    return fmax(fabs(y) * 0x1p-11, 0x1p-25);
}

/* A result that is off by `limit`, and then rounded to a half. */
static inline double bound_as_half(double y, double limit)
{
    return limit + bound_rounding(fabs(y) + limit);
}

/*
 * The sum of k products of halves, which are exact in float, in whatever order: off by at most γ_k·Σ|a·b| (Higham, eq.
 * 3.5), `magnitude` being that sum. Then it is rounded to a half.
 */
static inline double bound_of_halves(double y, double magnitude, int64_t k)
{
    return bound_as_half(y, bound_gamma((double)k, BOUND_FLOAT) * magnitude);
}

/*
 * The same by a device, whose tensor cores do not round to nearest (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior
 * of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021). Blocks of at least four products are added to a sum at a
 * time: each of the products and the sum loses what lies below the last place of the largest, and the result what lies
 * below its own. A product may be split, and its parts added up. So there are at most k + 3·⌈k/4⌉ <= 2k + 2 cuts of
 * 2^-23 of Σ|a·b| each.
 */
static inline double bound_of_halves_cut(double y, double magnitude, int64_t k)
{
    return bound_as_half(y, bound_gamma(2 * (double)k + 2, BOUND_CUT) * magnitude);
}

/* What stands for a quantised number is off by at most half a step of s/127, as it was rounded to the nearest. */
static inline double bound_half_step(double scale)
{
    return scale / 254;
}

/* An exact sum that is scaled: five roundings of float (the sum's conversion, 1/127², two scales, the product), and the
 * one to half. */
static inline double bound_scaled(double y, double limit)
{
    return bound_as_half(y, limit + (fabs(y) + limit) * bound_gamma(5, BOUND_FLOAT));
}

/*
 * A product in int8 against the exact product of the same halves. With x' = x + e and w' = w + f the values that the
 * integers stand for, |e| <= dx = s_x/254 and |f| <= dw = s_w/254:
 *
 *   |x'·w' − x·w| = |x·f + w·e + e·f| <= dw·|x|₁ + dx·|w|₁ + k·dx·dw
 *
 * (the usual bound of a uniform quantiser, half a step, carried through the product), and then the scaling.
 */
static inline double bound_of_int8(double y, double norm_x, double norm_w, double scale_x,
                                   double scale_w, int64_t k)
{
    double dx = bound_half_step(scale_x), dw = bound_half_step(scale_w);
    return bound_scaled(y, dw * norm_x + dx * norm_w + (double)k * dx * dw);
}

#endif
