/*
 * Binary search.
 */
#ifndef NVT_BISECT_H
#define NVT_BISECT_H

/*
 * Moves `at`, an index, to the first place of [at, end) for which the condition does not hold, or to `end`. The condition is an
 * expression of `at`, which holds for no place behind one for which it does not:
 *
 *     uint32_t at = 0;
 *     NVT_BISECT(at, count, time[at] < moment);
 */
#define NVT_BISECT(at, end, condition)                                                             \
    do {                                                                                           \
        __typeof__(at) nvt_low = (at), nvt_high = (end);                                           \
        while (nvt_low < nvt_high) {                                                               \
            (at) = nvt_low + (nvt_high - nvt_low) / 2;                                             \
            if (condition)                                                                         \
                nvt_low = (at) + 1;                                                                \
            else                                                                                   \
                nvt_high = (at);                                                                   \
        }                                                                                          \
        (at) = nvt_low;                                                                            \
    } while (0)

#endif
