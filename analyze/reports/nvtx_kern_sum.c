/*
 * nvtx_kern_sum: kernels by the ranges that hold their launch, with nsys's headings and definitions
 * (device/kernels_by_range.h), over all traces. "NVTX Inst" is in how many ranges of the name there was such a kernel. Kernels of no
 * range have a row without one.
 */
#include "../device/kernel_naming.h"
#include "../device/kernels_by_range.h"
#include "../model/style_name.h"
#include "report.h"

static int group_nvtx_kern_sum(struct nvt_groups *groups, const struct nvt_trace *trace,
                               const struct nvt_making *making)
{
    (void)trace;
    return nvt_kernels_by_range_add(groups, making->input, making->from, making->err);
}

static void put_nvtx_kern_sum_group(struct nvt_table *table, struct nvt_groups *groups,
                                    uint32_t number)
{
    const struct nvt_group *group = &groups->groups[number];
    const struct nvt_launching_ranges *counted = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    const uint32_t *key = group->key;
    const int in_range = key[NVT_BY_RANGE_STYLE] != NVT_BY_NO_RANGE,
              in_thread = key[NVT_BY_RANGE_PID] != NVT_BY_NO_ID;
    nvt_table_put(table, NVT_IF(in_range, nvt_groups_name(groups, key[NVT_BY_RANGE_NAME])),
                  NVT_IF(in_range, nvt_style_name(key[NVT_BY_RANGE_STYLE])),
                  NVT_IF(in_thread, (int32_t)key[NVT_BY_RANGE_PID]),
                  NVT_IF(in_thread, (int32_t)key[NVT_BY_RANGE_TID]), counted->instances,
                  group->count, group->total, &times,
                  nvt_groups_name(groups, key[NVT_BY_RANGE_KERNEL]));
}

const struct nvt_report nvt_report_nvtx_kern_sum = {
    .name = "nvtx_kern_sum",
    .about = "kernels by the range that they were launched in",
    .needs = NVT_TAKES_LAUNCHES | NVT_PROJECTS_AS_NSYS,
    .naming = NVT_KERNEL_BASE,
    .columns = {{"NVTX Range", NVT_RANGES},
                {"Style", NVT_SPARE_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"NVTX Inst", NVT_COUNTS},
                {"Kern Inst", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                NVT_SUMMARY_COLUMNS(""),
                {"Kernel Name", NVT_KERNELS}},
    .title = "NVTX range kernel summary",
    .order = {"-Total Time (ns)", "NVTX Range", "Kernel Name", "PID", "TID"},
    .nothing = "no kernels in the input",
    .group = group_nvtx_kern_sum,
    .put_group = put_nvtx_kern_sum_group,
    .group_size = sizeof(struct nvt_launching_ranges),
};
