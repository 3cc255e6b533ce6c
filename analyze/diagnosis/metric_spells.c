#include "metric_spells.h"

#include "../../lib/grow.h"

int nvt_spells_add(struct nvt_spells *spells, const struct nvt_gpu_metric *metric, uint32_t sample,
                   double value)
{
    const int64_t end = metric->course->time[sample];
    int64_t begin = end - (int64_t)metric->interval_ns;
    if (spells->count && begin < spells->items[spells->count - 1][1])
        begin = spells->items[spells->count - 1][1];
    if (begin >= end)
        return 0;
    spells->ns += (double)(end - begin);
    spells->sum += value * (double)(end - begin);
    if (spells->count && begin == spells->items[spells->count - 1][1]) {
        spells->items[spells->count - 1][1] = end;
        return 0;
    }
    if (nvt_grow(&spells->items, spells->count, sizeof(*spells->items)))
        return -1;
    spells->items[spells->count][0] = begin;
    spells->items[spells->count++][1] = end;
    return 0;
}

void nvt_spells_add_kernels(const struct nvt_spells *spells, const struct nvt_view *view,
                            const struct nvt_used_device *device, double *ns)
{
    const struct nvt_ops *ops = &view->trace->ops;
    uint32_t first = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const uint32_t op = device->ops[i];
        if (ops->kind[op] != NVT_OP_KERNEL)
            continue;
        /* Operations come in the order of their starts. */
        while (first < spells->count && spells->items[first][1] <= ops->start[op])
            first++;
        for (uint32_t k = first; k < spells->count && spells->items[k][0] < ops->end[op]; k++) {
            const int64_t from =
                ops->start[op] > spells->items[k][0] ? ops->start[op] : spells->items[k][0];
            const int64_t to =
                ops->end[op] < spells->items[k][1] ? ops->end[op] : spells->items[k][1];
            ns[ops->name[op]] += (double)(to - from);
        }
    }
}

uint32_t nvt_most_of_names(const struct nvt_trace *trace, const double *ns)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < nvt_strings_count(trace->strings); i++)
        if (ns[i] > ns[most])
            most = i;
    return ns[most] > 0 ? most : 0;
}

void nvt_spells_point(const struct nvt_spells *spells, struct nvt_finding *finding)
{
    for (uint32_t i = 0; i < spells->count; i++)
        nvt_finding_point(finding, spells->items[i][0]);
}
