/* Time until any moment in which something was the case: spans of time, and the sum of those before each. */
#ifndef NVT_SPENT_H
#define NVT_SPENT_H

#include <stdint.h>

/* Zero-initialise; release with nvt_spent_free. */
struct nvt_spent {
    int64_t (*spans)[2]; /* apart, ascending */
    int64_t *sums;       /* of those before */
    uint32_t count;
};

void nvt_spent_free(struct nvt_spent *spent);

/* Spans come in the order of their starts. 0, or -1 when out of memory. */
int nvt_spent_add(struct nvt_spent *spent, int64_t start, int64_t end);

/* ns until a moment. */
int64_t nvt_spent_until(const struct nvt_spent *spent, int64_t moment);

#endif
