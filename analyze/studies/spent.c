#include "spent.h"

#include <stdlib.h>

#include "../../lib/grow.h"

void nvt_spent_free(struct nvt_spent *spent)
{
    free(spent->spans);
    free(spent->sums);
}

int nvt_spent_add(struct nvt_spent *spent, int64_t start, int64_t end)
{
    const uint32_t count = spent->count;
    if (count && start <= spent->spans[count - 1][1]) {
        spent->spans[count - 1][1] =
            end > spent->spans[count - 1][1] ? end : spent->spans[count - 1][1];
        return 0;
    }
    if (nvt_grow(&spent->spans, count, sizeof(*spent->spans)) ||
        nvt_grow(&spent->sums, count, sizeof(*spent->sums)))
        return -1;
    spent->sums[count] =
        count ? spent->sums[count - 1] + spent->spans[count - 1][1] - spent->spans[count - 1][0]
              : 0;
    spent->spans[count][0] = start;
    spent->spans[count][1] = end;
    spent->count++;
    return 0;
}

int64_t nvt_spent_until(const struct nvt_spent *spent, int64_t moment)
{
    uint32_t low = 0, high = spent->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (spent->spans[middle][0] < moment)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const int64_t end = spent->spans[low - 1][1] < moment ? spent->spans[low - 1][1] : moment;
    return spent->sums[low - 1] + end - spent->spans[low - 1][0];
}
