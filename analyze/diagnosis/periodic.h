/*
 * What a loop does in every n-th iteration only: an evaluation, a checkpoint, a log. Found from what iterations take, and from
 * the ranges in those that take longer.
 */
#ifndef NVT_PERIODIC_H
#define NVT_PERIODIC_H

#include "beats.h"

/* First iterations that are left out: warm-up. */
#define NVT_PERIODIC_WARMUP 8

/* A range of every n-th iteration, such as an evaluation; most programs that evaluate there save there, too. */
struct nvt_periodic_part {
    uint32_t name, domain;
    double ns; /* what the hits have of it more than others; all together */
};
enum { NVT_PERIODIC_PARTS = 2 };

struct nvt_periodic {
    uint32_t every, phase; /* iterations `phase`, `phase` + `every`, …; every 0: there is nothing */
    uint32_t hits, expected; /* how many of those that are looked at take longer, of how many */
    double usual_ns;         /* median of all others */
    double excess_ns;        /* of all hits together, beyond that */
    double hit_ns;           /* what they take together */
    /* that make half of the excess; the largest first */
    struct nvt_periodic_part parts[NVT_PERIODIC_PARTS];
    uint32_t part_count; /* 0: no range has so much */
    double least_ns;     /* from where on an iteration takes longer */
    int is_slow; /* iterations are named, and take longer for no known range: `slow iterations` reports that */
};

/*
 * The period with the most excess of which at least 3 iterations, and 4 in 5 of all that it has, take longer than a
 * quarter more than the median, and 5 deviations (by the median distance) more. It must be improbable by chance (1 in
 * 100, over all periods), or a range must lie in all of these iterations, and in hardly any other. Nothing is found of
 * what is below 5 % of the loop's time, nor where most of it lies in what training consists of: steps, as where
 * gradients are accumulated, passes, and waits for batches, which another rule reports. 0, or -1 when out of memory.
 */
int nvt_periodic_find(struct nvt_periodic *found, const struct nvt_beats *beats);

/* What is counted: all parts, or without any all of the excess. */
static inline double nvt_periodic_ns(const struct nvt_periodic *found)
{
    double sum = 0;
    for (uint32_t i = 0; i < found->part_count; i++)
        sum += found->parts[i].ns;
    return found->part_count ? sum : found->excess_ns;
}

/* Whether a beat is one of those. */
static inline int nvt_is_periodic(const struct nvt_periodic *found, const struct nvt_beats *beats,
                                  uint32_t beat)
{
    return found->every && beat >= NVT_PERIODIC_WARMUP && beat % found->every == found->phase &&
           nvt_beat_ns(&beats->items[beat]) > found->least_ns;
}

#endif
