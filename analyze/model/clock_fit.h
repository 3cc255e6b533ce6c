/*
 * How the clock of one host runs against that of another, from moments that are the same on both: the ends of collectives, which
 * all ranks leave together.
 *
 * to = from + offset + drift (from - at). The drift is the median of the slopes between each moment and the one half of them
 * later, the offset the median of what is left (after Theil and Sen: a third of the moments may be wrong). Fewer than 8 moments
 * have no drift, and it is 500 ppm at most, as clocks of hosts are (Linux slews one by as much). The residual is the median distance of the moments from that line: how well it is known.
 */
#ifndef NVT_CLOCK_FIT_H
#define NVT_CLOCK_FIT_H

#include <stdint.h>

struct nvt_clock_fit {
    int64_t at;         /* ns of `from` */
    int64_t offset;     /* ns, at that moment */
    double drift;       /* ns in a ns: 5e-5 are 50 ppm */
    double residual_ns; /* median */
    uint32_t count;     /* moments */
};

/* Fit the line to `count` > 0 moments in the order of time. 0, or -1 when out of memory. */
int nvt_clock_fit(const int64_t *from, const int64_t *to, uint32_t count,
                  struct nvt_clock_fit *fit);

/* A moment of `from` on the clock `to`, and one of `to` on the clock `from`. */
int64_t nvt_clock_fit_apply(const struct nvt_clock_fit *fit, int64_t moment);
int64_t nvt_clock_fit_revert(const struct nvt_clock_fit *fit, int64_t moment);

#endif
