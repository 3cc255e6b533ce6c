/*
 * Instructions per cycle and misses per 1,000 instructions of ranges on the sides of a comparison, from the hardware counters of
 * record --trace counters: why code takes longer that does the same.
 *
 * They are judged as times are (change.h): each call has a value, in the order of the calls; each trace is a run; the interval of a
 * ratio holds for all ratios of the comparison together.
 */
#ifndef NVT_COMPARE_RATES_H
#define NVT_COMPARE_RATES_H

#include "../../lib/buffer.h"
#include "../model/groups.h"
#include "../studies/change.h"
#include "../studies/range_counts.h"
#include "compare_sides.h"

/* Zero-initialise; release with nvt_compared_rates_free, also after a failure. */
struct nvt_compared_rates {
    struct nvt_groups names;
    struct nvt_compared_rate {
        uint32_t name, rate, side;
        struct nvt_typical typical;
    } * items;
    size_t count;
};

/* Add a trace to a side. 0, or -1 when out of memory. */
int nvt_compared_rates_add(struct nvt_compared_rates *rates, size_t side,
                           const struct nvt_counted_ranges *counted);

/*
 * When all sides are there: append a sentence for each of the rates that differ most between the first and another side, three at
 * most, which are those whose interval holds no change of less than 5 %: "work has 1.8 instructions per cycle on side A, 0.6 on side
 * B: 33 % of it (30 to 36 %)". 0, or -1 when out of memory.
 */
int nvt_compared_rates_text(const struct nvt_compared_rates *rates, size_t sides,
                            struct nvt_buffer *out);
void nvt_compared_rates_free(struct nvt_compared_rates *rates);

#endif
