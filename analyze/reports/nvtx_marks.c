/*
 * nvtx_marks: marks by domain, name and category: how many, when the first and the last one were
 * set, and between what their payloads lie where these are numbers. A table a trace: each has its own
 * time axis. What came first is first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/groups.h"
#include "report.h"

/* What a group has: times, ns, and payloads that are numbers. */
struct sum {
    uint64_t count;
    int64_t first, last;
    double low, high; /* low > high: there is none */
};

/* Whether the whole text is a finite number. */
static int is_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end > text && !*end && isfinite(*value);
}

static void add_mark(struct nvt_groups *groups, const struct nvt_trace *trace, uint32_t i)
{
    const struct nvt_marks *marks = &trace->marks;
    uint32_t parts[] = {nvt_groups_string(groups, trace->domains.name[marks->domain[i]]),
                        nvt_groups_string(groups, marks->name[i]),
                        nvt_groups_string(groups, marks->category[i])};
    struct sum *sum = nvt_groups_item(groups, nvt_groups_key(groups, parts, 3));
    double value;
    if (!sum)
        return;
    if (!sum->count++)
        *sum = (struct sum){1, marks->time[i], 0, INFINITY, -INFINITY};
    sum->last = marks->time[i];
    if (marks->flags[i] & NVT_RANGE_HAS_PAYLOAD &&
        is_number(nvt_name(trace, marks->payload[i]), &value)) {
        sum->low = value < sum->low ? value : sum->low;
        sum->high = value > sum->high ? value : sum->high;
    }
}

static int put_nvtx_marks_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                const struct nvt_making *making)
{
    struct nvt_groups groups = {.item_size = sizeof(struct sum)};
    nvt_groups_trace(&groups, trace);
    for (uint32_t i = 0; i < trace->marks.count; i++)
        add_mark(&groups, trace, i);
    int status = nvt_groups_finish(&groups, making->err);
    for (uint32_t i = 0; i < groups.count && !status; i++) {
        const struct sum *sum = nvt_groups_item(&groups, i);
        const int has_payload = sum->low <= sum->high;
        nvt_table_put(table, nvt_text_if_any(nvt_groups_part(&groups, i, 0)),
                      nvt_groups_part(&groups, i, 1),
                      nvt_text_if_any(nvt_groups_part(&groups, i, 2)), sum->count, sum->first,
                      sum->last, NVT_IF(has_payload, sum->low), NVT_IF(has_payload, sum->high));
    }
    nvt_groups_free(&groups);
    return status;
}

const struct nvt_report nvt_report_nvtx_marks = {
    .name = "nvtx_marks",
    .about = "marks by name: how many, the first and last time, smallest and largest payload",
    .columns = {{"Domain", NVT_NAMES},
                {"Name", NVT_NAMES},
                {"Category", NVT_NAMES},
                {"Count", NVT_COUNTS},
                {"First (ns)", NVT_MOMENTS_NS},
                {"Last (ns)", NVT_MOMENTS_NS},
                {"Payload Min", NVT_REALS("", NVT_SHORTEST)},
                {"Payload Max", NVT_REALS("", NVT_SHORTEST)}},
    .title = "NVTX marks",
    .nothing = "no NVTX marks in the input",
    .each_trace = put_nvtx_marks_trace,
};
