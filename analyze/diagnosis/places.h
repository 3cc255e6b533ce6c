/*
 * What threads were in during spans of time (gaps of a device, calls that wait): names of ranges, calls, files, and
 * which of them it was for most of that time.
 */
#ifndef NVT_PLACES_H
#define NVT_PLACES_H

#include "../../lib/map.h"
#include "../model/thread_ranges.h"

struct nvt_span {
    int64_t start, end; /* ns */
};

/* How much of a span lies in others, which ascend and are apart, ns. *first, 0 at first, passes those that end before it: the
 * spans asked for ascend, too. */
int64_t nvt_span_within(const struct nvt_span *span, const struct nvt_span *others, size_t count,
                        size_t *first);

struct nvt_place {
    uint64_t key;
    int64_t ns;      /* of the spans */
    int64_t until;   /* of the span that was looked at last */
    uint64_t number; /* of that span */
    double instances, instances_ns;
};

/* Zero-initialise; release with nvt_places_free. */
struct nvt_places {
    struct nvt_map keys;
    struct nvt_place *items;
    uint32_t count;
};

/* The time of a span, of that number (from 1 on, ascending), within an instance of a key, such as a range of that name.
 * What several instances of one key share counts once; they come by their starts. 0, or -1 when out of memory. */
int nvt_places_add(struct nvt_places *places, uint64_t key, uint64_t number,
                   const struct nvt_span *span, const struct nvt_span *instance);

/* The time that a sample, of that number, stands for, within an instance of a key that lasts so long (both ns): all of it, as the
 * moment of the sample was in it, though some of that time may lie before. Instances of one key within each other count once.
 * 0, or -1 when out of memory. */
int nvt_places_add_sample(struct nvt_places *places, uint64_t key, uint64_t number, int64_t ns,
                          int64_t instance_ns);
void nvt_places_free(struct nvt_places *places);

/* The place that at least half of the spans' time, ns in all, is in, of several that of the shortest instances; NULL:
 * there is none. */
const struct nvt_place *nvt_places_best(const struct nvt_places *places, int64_t ns);

/* The one with most time; NULL: there is none. */
const struct nvt_place *nvt_places_most(const struct nvt_places *places);

#endif
