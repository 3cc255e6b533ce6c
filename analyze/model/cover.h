/*
 * The time that spans cover together, overlaps counted once: spans come by their start.
 */
#ifndef NVT_COVER_H
#define NVT_COVER_H

#include <stdint.h>

/* How much of a span no earlier one has covered. `until`: how far they reach; INT64_MIN before the first. */
static inline int64_t nvt_cover(int64_t *until, int64_t start, int64_t end)
{
    int64_t from = start > *until ? start : *until;
    *until = end > *until ? end : *until;
    return end > from ? end - from : 0;
}

/* Whether a span begins behind all earlier ones: of calls within each other, that it is an outermost one. */
static inline int nvt_cover_begins(int64_t *until, int64_t start, int64_t end)
{
    return nvt_cover(until, start, end) == end - start;
}

#endif
