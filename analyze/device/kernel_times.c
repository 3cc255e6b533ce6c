#include "kernel_times.h"

#include <stdlib.h>

#include "../../lib/clock.h"
#include "../model/column.h"
#include "../model/cuda_names.h"
#include "../model/kinds.h"

/* Adds all kernels of one name. 0, or -1 when out of memory. */
static int add_name(struct nvt_groups *kernels, uint32_t name, const struct nvt_kernel_time *time)
{
    char telling[NVT_TELLING_NAME_MAX];
    size_t size;
    const char *full = nvt_strings_get(kernels->trace->strings, name, &size);
    const uint32_t text = nvt_groups_text(kernels, nvt_telling_name(full, size, telling));
    struct nvt_kernel_time *sum = nvt_groups_item(kernels, nvt_groups_key(kernels, &text, 1));
    if (!sum)
        return -1;
    sum->ns = nvt_clock_sum(sum->ns, time->ns);
    sum->count += time->count;
    return 0;
}

/* Operations are many, names are few: added up by name first. */
int nvt_kernel_times_add(struct nvt_groups *kernels, const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t used = 0, *number = nvt_number_strings(trace, ops->name, ops->count, &used);
    struct nvt_kernel_time *times = calloc((size_t)used + 1, sizeof(*times));
    uint32_t *name = calloc((size_t)used + 1, sizeof(*name));
    int failed = !number || !times || !name;
    for (uint32_t i = 0; i < ops->count && !failed; i++) {
        if (ops->kind[i] != NVT_OP_KERNEL)
            continue;
        const uint32_t at = number[ops->name[i]];
        times[at].ns = nvt_clock_sum(times[at].ns, ops->end[i] - ops->start[i]);
        times[at].count++;
        name[at] = ops->name[i];
    }
    nvt_groups_trace(kernels, trace);
    for (uint32_t i = 0; i < used && !failed; i++)
        if (times[i].count)
            failed = add_name(kernels, name[i], &times[i]);
    free(number);
    free(times);
    free(name);
    return failed ? -1 : 0;
}

/* --- each of them ----------------------------------------------------------------------------------- */

int nvt_kernel_durations_add(struct nvt_groups *groups, const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t names, *number = nvt_number_strings(trace, ops->name, ops->count, &names);
    uint32_t *at = calloc((size_t)names + 1, sizeof(*at));
    uint32_t *name = calloc((size_t)names + 1, sizeof(*name));
    uint32_t *times = nvt_column_grow(NULL, ((size_t)ops->count + 1) * sizeof(*times));
    int simple = number && at && name && times;
    for (uint32_t i = 0; i < ops->count && simple; i++) {
        simple = ops->end[i] - ops->start[i] <= UINT32_MAX;
        at[number[ops->name[i]] + 1] += ops->kind[i] == NVT_OP_KERNEL;
        name[number[ops->name[i]]] = ops->name[i];
    }
    for (uint32_t i = 1; i < names && simple; i++)
        at[i] += at[i - 1];
    for (uint32_t i = 0; i < ops->count && simple; i++)
        if (ops->kind[i] == NVT_OP_KERNEL)
            times[at[number[ops->name[i]]]++] = (uint32_t)(ops->end[i] - ops->start[i]);
    for (uint32_t i = 0, from = 0; i < names && simple; from = at[i++]) {
        uint32_t key = nvt_groups_string(groups, name[i]);
        const struct nvt_piece piece = {times + from, at[i] - from,
                                        nvt_sums_of(times + from, at[i] - from), 0};
        if (piece.count)
            nvt_groups_piece(groups, nvt_groups_key(groups, &key, 1), &piece);
    }
    if (simple)
        nvt_groups_own(groups, times);
    else
        nvt_column_free(times);
    free(number);
    free(at);
    free(name);
    return simple;
}

void nvt_launched_kernels_add(struct nvt_groups *groups, const struct nvt_launches *launches)
{
    for (uint32_t i = 0; i < launches->lane_count; i++) {
        const struct nvt_launch_lane *lane = &launches->lanes[i];
        for (size_t cell = 0; cell < (size_t)lane->class_count * launches->names; cell++) {
            uint32_t key = nvt_groups_string(groups, launches->name[cell % launches->names]);
            const struct nvt_piece piece = nvt_launch_cell_piece(lane, &lane->cells[cell]);
            if (piece.count)
                nvt_groups_piece(groups, nvt_groups_key(groups, &key, 1), &piece);
        }
    }
}
