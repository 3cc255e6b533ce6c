/*
 * Which moments of one clock belong to which of another, when the second one has more of them.
 */
#ifndef NVT_ALIGN_H
#define NVT_ALIGN_H

#include <stdint.h>

/*
 * Find the run of `count` moments of `longer` (of `longer_count` > count, in their order) whose gaps
 * are those of `shorter`, which has `count`: the clocks may be apart. *offset gets where it begins.
 * Whether that is beyond doubt: its gaps must differ from those of `shorter` by half of what they do
 * at the next best place at the most. Not where count × (longer_count - count + 1) is above 10^8.
 */
int nvt_align(const int64_t *shorter, uint32_t count, const int64_t *longer, uint32_t longer_count,
              uint32_t *offset);

#endif
