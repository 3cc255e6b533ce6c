/*
 * mfu: FLOPs of ranges, modules and iterations, and their share of the peak, by name, over all traces (studies/mfu.h). The table says
 * which peak it is. Above 100 % something of it is wrong, and the share is left out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../studies/mfu.h"
#include "report.h"

static const char *const sources[] = {NULL, "measured", "data sheet"};

static int group_mfu(struct nvt_groups *groups, const struct nvt_trace *trace,
                     const struct nvt_making *making)
{
    (void)trace;
    return nvt_mfu_add(groups, making->input, making->from, making->err);
}

/* "bf16", "fp32 bf16". */
static void precisions(const struct nvt_mfu *mfu, char *out, size_t size)
{
    *out = 0;
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        if (mfu->flops[roof] > 0)
            snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? " " : "",
                     nvt_roof_name((enum nvt_roof)roof));
}

static void put_mfu(struct nvt_table *table, struct nvt_groups *groups, uint32_t group)
{
    const struct nvt_mfu *mfu = nvt_groups_item(groups, group);
    const double share = mfu->peak_ns / mfu->ns;
    double flops = mfu->untyped;
    char text[64];
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        flops += mfu->flops[roof];
    precisions(mfu, text, sizeof(text));
    nvt_table_put(table, nvt_groups_part(groups, group, 0), mfu->instances, (int64_t)mfu->ns,
                  flops / (double)mfu->instances / 1e9, flops / mfu->ns / 1e3,
                  nvt_text_if_any(text), share <= 1 ? 100 * share : NAN,
                  share > 1          ? "above 100 %"
                  : mfu->untyped > 0 ? "type unknown"
                                     : sources[mfu->source]);
}

const struct nvt_report nvt_report_mfu = {
    .name = "mfu",
    .about = "FLOPs of ranges, modules and iterations, and their share of the peak (MFU)",
    .needs = NVT_PROJECTS,
    .title = "Model FLOPs utilization",
    .columns = {{"Range", NVT_RANGES},
                {"Instances", NVT_COUNTS},
                {"Time (ns)", NVT_NS},
                {"GFLOP each", NVT_REALS("", NVT_SHORTEST)},
                {"TFLOP/s", NVT_REALS("", NVT_SHORTEST)},
                {"Precision", NVT_NAMES},
                {"MFU (%)", NVT_PERCENT},
                {"Peak", NVT_NAMES}},
    .order = {"-Time (ns)", "Range"},
    .missing =
        "no FLOPs in the input (record_shapes=True in torch.profiler, or ranges that declare "
        "flops and bytes)",
    .nothing = "no range with FLOPs has time on the device",
    .is_in = nvt_has_flops,
    .group = group_mfu,
    .put_group = put_mfu,
    .group_size = sizeof(struct nvt_mfu),
};
