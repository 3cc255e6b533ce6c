#include "steady_growth.h"

#include <math.h>
#include <stdlib.h>

#define PARTS        8
#define LEAST_SAMPLE 4 /* of a part */
#define LEAST_SHARE  0.005
#define LEAST_STEP   0.25
#define LEAST_SECOND 0.7 /* of the first half, of the second one */
#define LEAST_LAST   0.8 /* of the third quarter, of the last one */
/* Steps of the envelope, by whose lengths flat stretches are measured. */
#define HEIGHTS   32
#define MOST_FLAT 1.5

/* The lowest level of a part, from there on, and the first time of that. */
struct low {
    double level;
    int64_t time;
};

/* Of each part: what it does not fall below again. 0: a part has too few samples. */
static int find_lows(const int64_t *time, const double *level, size_t count, struct low *lows)
{
    const double length = (double)(time[count - 1] - time[0]);
    size_t samples[PARTS] = {0};
    for (int i = 0; i < PARTS; i++)
        lows[i] = (struct low){INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        const double at = PARTS * ((double)(time[i] - time[0]) / length);
        const int part = at < PARTS ? (int)at : PARTS - 1;
        if (level[i] < lows[part].level)
            lows[part] = (struct low){level[i], time[i]};
        samples[part]++;
    }
    for (int i = PARTS; i-- > 0;) {
        if (samples[i] < LEAST_SAMPLE)
            return 0;
        if (i + 1 < PARTS && lows[i + 1].level < lows[i].level)
            lows[i] = lows[i + 1];
    }
    return 1;
}

/* Whether the envelope was flat at the end for longer than ever before. */
static int is_flat_at_end(const int64_t *time, const double *envelope, size_t count)
{
    const double growth = envelope[count - 1] - envelope[0];
    const double length = (double)(time[count - 1] - time[0]);
    double longest = length / HEIGHTS;
    int64_t last = time[0];
    int height = 0;
    for (size_t i = 0; i < count && height < HEIGHTS; i++) {
        const int before = height;
        while (height < HEIGHTS && envelope[i] >= envelope[0] + growth * (height + 0.5) / HEIGHTS)
            height++;
        if (height == before)
            continue;
        longest = fmax(longest, (double)(time[i] - last));
        last = time[i];
    }
    return (double)(time[count - 1] - last) > MOST_FLAT * longest;
}

/* 1, 0, or -1 when out of memory. */
static int has_levelled(const int64_t *time, const double *level, size_t count)
{
    double *envelope = malloc(count * sizeof(*envelope));
    if (!envelope)
        return -1;
    for (size_t i = count; i-- > 0;)
        envelope[i] = i + 1 < count ? fmin(level[i], envelope[i + 1]) : level[i];
    const int is_flat = is_flat_at_end(time, envelope, count);
    free(envelope);
    return is_flat;
}

static double step(const struct low *lows, int from, int to)
{
    return lows[to].level - lows[from].level;
}

/* length: of the time, ns. */
static int is_steady(const struct low *lows, int64_t length, struct nvt_steady_growth *found)
{
    enum { LAST = PARTS - 1 };
    const double all = step(lows, 0, LAST), ns = (double)(lows[LAST].time - lows[0].time);
    found->first = lows[0].level;
    found->last = lows[LAST].level;
    found->growth = ns > 0 ? all * (double)length / ns : 0;
    if (found->growth < NVT_STEADY_GROWTH_BYTES || found->growth < LEAST_SHARE * found->first)
        return 0;
    for (int i = 0; i < LAST; i++)
        if (step(lows, i, i + 1) < LEAST_STEP * all / LAST)
            return 0;
    return step(lows, PARTS / 2, LAST) >= LEAST_SECOND * step(lows, 0, PARTS / 2 - 1) ||
           step(lows, LAST - 2, LAST) >= LEAST_LAST * step(lows, LAST - 4, LAST - 2);
}

int nvt_steady_growth_find(struct nvt_steady_growth *found, const int64_t *time,
                           const double *level, size_t count, double highest_before)
{
    struct low lows[PARTS];
    *found = (struct nvt_steady_growth){0};
    if (count < NVT_STEADY_GROWTH_SAMPLES || time[count - 1] - time[0] < NVT_STEADY_GROWTH_NS ||
        !find_lows(time, level, count, lows) ||
        !is_steady(lows, time[count - 1] - time[0], found) || highest_before >= found->last)
        return 0;
    const int levelled = has_levelled(time, level, count);
    found->is_steady = levelled == 0;
    return levelled < 0 ? -1 : 0;
}
