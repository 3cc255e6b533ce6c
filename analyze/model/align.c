#include "align.h"

#include <math.h>

#define MOST_GAPS 100000000

static double disagreement(const int64_t *a, const int64_t *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 1; i < count; i++)
        sum += fabs(((double)a[i] - (double)a[i - 1]) - ((double)b[i] - (double)b[i - 1]));
    return sum;
}

int nvt_align(const int64_t *shorter, uint32_t count, const int64_t *longer, uint32_t longer_count,
              uint32_t *offset)
{
    double best = INFINITY, second = INFINITY;
    uint64_t places = (uint64_t)longer_count - count + 1;
    *offset = 0;
    if (places > MOST_GAPS / (count ? count : 1))
        return 0;
    for (uint32_t i = 0; i < places; i++) {
        double sum = disagreement(shorter, longer + i, count);
        if (sum < best) {
            second = best;
            best = sum;
            *offset = i;
        } else if (sum < second)
            second = sum;
    }
    return second > 0 && 2 * best <= second;
}
