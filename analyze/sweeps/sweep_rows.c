#include "sweep_rows.h"

#include <string.h>

uint32_t nvt_sweep_row_count(const struct nvt_trace *trace, enum nvt_sweep_kind kind)
{
    return kind == NVT_SWEEP_RANGE  ? trace->ranges.count
           : kind == NVT_SWEEP_CALL ? trace->apis.count
                                    : trace->ops.count;
}

int nvt_sweep_row_read(const struct nvt_trace *trace, enum nvt_sweep_kind kind, uint32_t i,
                       struct nvt_sweep_row *row)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_ops *ops = &trace->ops;
    if (kind == NVT_SWEEP_RANGE) {
        *row =
            (struct nvt_sweep_row){ranges->name[i],  ranges->domain[i], ranges->thread[i], NVT_NONE,
                                   ranges->start[i], ranges->start[i],  ranges->end[i]};
        return !(ranges->flags[i] & NVT_RANGE_PARTIAL);
    }
    if (kind == NVT_SWEEP_CALL) {
        *row = (struct nvt_sweep_row){
            apis->name[i],  0,           apis->thread[i], NVT_NONE, apis->start[i],
            apis->start[i], apis->end[i]};
        return 1;
    }
    *row = (struct nvt_sweep_row){
        ops->name[i],  0,          ops->thread[i], ops->process[i], ops->launch[i],
        ops->start[i], ops->end[i]};
    return ops->launch[i] != INT64_MIN;
}

const char *nvt_sweep_bare_name(const struct nvt_sweep_item *item)
{
    return item->key + item->domain_length + 1;
}

int nvt_sweep_row_is_of(const struct nvt_sweep_item *item, const struct nvt_trace *trace,
                        uint32_t name, const struct nvt_sweep_row *row)
{
    if (row->name != name)
        return 0;
    if (item->kind != NVT_SWEEP_RANGE)
        return 1;
    const char *domain = nvt_name(trace, trace->domains.name[row->domain]);
    return strlen(domain) == item->domain_length &&
           !strncmp(domain, item->key, item->domain_length);
}

uint32_t nvt_sweep_find_name(const struct nvt_sweep_item *item, const struct nvt_trace *trace)
{
    return nvt_strings_find(trace->strings, nvt_sweep_bare_name(item),
                            strlen(nvt_sweep_bare_name(item)));
}
