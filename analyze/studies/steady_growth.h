/*
 * Whether a level, as memory in use, grows and does not level off: a leak, as far as samples of the level can tell.
 *
 * Two things are looked at: the lowest level in each of eight equal parts of the time, so that what goes up and down within a
 * part (a batch, garbage that is collected) does not count; and the lower envelope, the greatest curve that never falls and is
 * never above the level.
 *
 * It grows steadily where all of this holds:
 * - There are 40 samples and more, four in each part, over 4 seconds at least: of less nobody can tell warm-up from growth.
 * - The growth is 8 MiB, and 0.5 % of the level, at least: fragmentation and the kernel's way of counting pages make some MiB.
 * - Each of the seven steps from one part to the next is a quarter of the mean step or more: a level that jumps now and then
 *   grows in few of them, garbage that piles up until it is collected only behind the last collection. Of levels that wander at
 *   random, one in 400 grows in all of them.
 * - The second half grows by 0.7 of the first half or more, or the last quarter by 0.8 of the one before: a cache that fills up
 *   grows ever more slowly, while malloc() may take less for the same from some moment on. A cache that has random keys and is
 *   half full at the end still passes; nobody could tell from what was seen.
 * - At the end the envelope was flat for no longer than 1.5 times the longest flat stretch before, or 1/20 of the time: what
 *   has levelled off, as a cache that is full, stays flat.
 * - The level was never before as high as it is at the end, in what the caller knows of the time before (`highest_before`).
 */
#ifndef NVT_STEADY_GROWTH_H
#define NVT_STEADY_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#define NVT_STEADY_GROWTH_SAMPLES 40
#define NVT_STEADY_GROWTH_NS      INT64_C(4000000000)
#define NVT_STEADY_GROWTH_BYTES   8388608.0

struct nvt_steady_growth {
    int is_steady;
    double first, last; /* the lowest in the first and in the last part */
    double growth;      /* over all of the time, at the rate between these two */
};

/* `count` samples, ascending in time (ns), of a level in bytes. highest_before: 0 where nothing is known. 0, or -1 when out of
 * memory. */
int nvt_steady_growth_find(struct nvt_steady_growth *found, const int64_t *time,
                           const double *level, size_t count, double highest_before);

#endif
