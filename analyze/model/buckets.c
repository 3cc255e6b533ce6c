#include "buckets.h"

#include <stdlib.h>

#include "../../lib/bisect.h"

int nvt_buckets_make(struct nvt_buckets *buckets, const uint32_t *owner, uint32_t owners,
                     const uint32_t *order, uint32_t count)
{
    buckets->rows = malloc(((size_t)count + 1) * sizeof(uint32_t));
    buckets->first = calloc((size_t)owners + 2, sizeof(uint32_t));
    if (!buckets->rows || !buckets->first)
        return -1;
    /* Counted two places behind, so that first[k + 1], which is then where the next of k goes, ends as their end. */
    for (uint32_t i = 0; i < count; i++)
        if (owner[i] < owners)
            buckets->first[owner[i] + 2]++;
    for (uint32_t k = 2; k <= owners; k++)
        buckets->first[k] += buckets->first[k - 1];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = order ? order[i] : i;
        if (owner[row] < owners)
            buckets->rows[buckets->first[owner[row] + 1]++] = row;
    }
    return 0;
}

void nvt_buckets_free(struct nvt_buckets *buckets)
{
    free(buckets->rows);
    free(buckets->first);
    *buckets = (struct nvt_buckets){0};
}

uint32_t nvt_buckets_from(const struct nvt_buckets *buckets, uint32_t owner, const int64_t *time,
                          int64_t moment)
{
    uint32_t low = buckets->first[owner];
    NVT_BISECT(low, buckets->first[owner + 1], time[buckets->rows[low]] < moment);
    return low;
}

uint32_t nvt_buckets_behind(const struct nvt_buckets *buckets, uint32_t owner, const int64_t *time,
                            int64_t moment)
{
    return moment == INT64_MAX ? buckets->first[owner + 1]
                               : nvt_buckets_from(buckets, owner, time, moment + 1);
}
