/*
 * collectives: communication between devices and ranks, by what it was and how large (device/collective_calls.h): how often, how
 * long, and how fast. A row is a collective of a size.
 *
 * Sizes and bandwidths are those of messages.h. Times are those of kernels, which wait for the rank that comes last: the
 * shortest one is nearest to what the link can do.
 */
#include <math.h>

#include "../device/collective_calls.h"
#include "../device/messages.h"
#include "report.h"

static int group_collectives(struct nvt_groups *groups, const struct nvt_trace *trace,
                             const struct nvt_making *making)
{
    (void)making;
    return nvt_collective_calls_add(groups, trace);
}

static void put_collectives_group(struct nvt_table *table, struct nvt_groups *groups,
                                  uint32_t number)
{
    const struct nvt_group *of = &groups->groups[number];
    const struct nvt_message *message = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    const double factor = nvt_bus_factor(message->name, message->ranks);
    const int has_size = message->bytes != NVT_MESSAGE_UNKNOWN;
    const double bytes = has_size ? (double)message->bytes : NAN;
    nvt_table_put(table, message->name, message->type, NVT_IF(message->ranks, message->ranks),
                  NVT_IF(has_size, message->bytes), of->count, of->total, &times,
                  times.median > 0 ? bytes / times.median : NAN,
                  times.median > 0 ? factor * bytes / times.median : NAN,
                  times.min > 0 ? factor * bytes / times.min : NAN);
}

const struct nvt_report nvt_report_collectives = {
    .name = "collectives",
    .about = "communication by kind and size: calls, times, bandwidth as NCCL's tests define it",
    .columns = {{"Collective", NVT_NAMES},
                {"Type", NVT_NAMES},
                {"Ranks", NVT_COUNTS},
                {"Size (B)", "B", NVT_INT, 0, 0},
                {"Calls", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                NVT_SUMMARY_COLUMNS(""),
                {"Bandwidth Med (GB/s)", NVT_REALS("GB/s", 2)},
                {"Bus Med (GB/s)", NVT_REALS("GB/s", 2)},
                {"Bus Best (GB/s)", NVT_REALS("GB/s", 2)}},
    .title = "Communication by kind and size",
    .order = {"-Total Time (ns)"},
    .nothing = "no communication in the input",
    .group = group_collectives,
    .put_group = put_collectives_group,
    .group_size = sizeof(struct nvt_message),
};
