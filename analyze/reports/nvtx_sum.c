/*
 * nvtx_sum, nvtx_pushpop_sum, nvtx_startend_sum: ranges by total time, with nsys's headings. Ranges
 * of one "domain:name" are one row, over all traces; the default domain gives ":name".
 *
 * A range whose end was never seen has no duration: it is left out, and counted in a note. (nsys
 * counts it up to the last event, which puts a killed process's outermost range on top.) The
 * deviation of a single range is 0, as nsys prints it.
 */
#include "../../lib/map.h"
#include "../model/style_name.h"
#include "report.h"

/* What a report is of: ranges of these styles. */
enum { PUSH_POP = 1 << NVT_PUSH_POP, START_END = 1 << NVT_START_END };

struct sums {
    struct nvt_groups groups; /* of a name and a style */
    size_t ranges;
    size_t unclosed, carried; /* left out */
};

/* The group of a range, of which names are put together once a name and domain; NVT_NONE: out of memory. */
static uint32_t group_of(struct sums *sums, struct nvt_map *seen, const struct nvt_trace *trace,
                         uint32_t range, uint8_t style)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *group = nvt_map_at(seen, (uint64_t)ranges->domain[range] << 32 | ranges->name[range]);
    if (group && *group == NVT_MAP_NONE) {
        const uint32_t key[] = {nvt_groups_range(&sums->groups, range), style};
        *group = nvt_groups_key(&sums->groups, key, 2);
    }
    return group ? *group : NVT_NONE;
}

static int add_nvtx_sum_trace(struct sums *sums, const struct nvt_trace *trace, unsigned styles)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map seen[2] = {{0}, {0}};
    int status = 0;
    nvt_groups_trace(&sums->groups, trace);
    sums->ranges += ranges->count;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        uint8_t style = ranges->style[i] == NVT_PUSH_POP ? NVT_PUSH_POP : NVT_START_END;
        if (!(styles & 1u << style))
            continue;
        if (ranges->flags[i] & NVT_RANGE_PARTIAL) {
            *(ranges->flags[i] & NVT_RANGE_UNCLOSED ? &sums->unclosed : &sums->carried) += 1;
            continue;
        }
        uint32_t group = group_of(sums, &seen[style], trace, i, style);
        nvt_groups_add(&sums->groups, group, ranges->end[i] - ranges->start[i]);
        status = group == NVT_NONE ? -1 : 0;
    }
    nvt_map_free(&seen[0]);
    nvt_map_free(&seen[1]);
    return status;
}

static void put_nvtx_sum_group(struct nvt_table *table, struct nvt_groups *groups, uint32_t number,
                               unsigned styles)
{
    const struct nvt_group *group = &groups->groups[number];
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    nvt_table_put(table, groups->total > 0 ? nvt_percent(group->total, groups->total) : 0,
                  group->total, group->count, &times);
    if (styles == (PUSH_POP | START_END))
        nvt_table_more(table, nvt_style_name(group->key[1]));
    nvt_table_more(table, nvt_groups_part(groups, number, 0));
}

static void note_nvtx_sum_left_out(const struct nvt_making *making, size_t count, const char *why)
{
    if (count)
        nvt_note(making->input, "note: %s leaves out %zu range%s that %s", making->report->name,
                 count, count == 1 ? "" : "s", why);
}

static int put_nvtx_sum(struct nvt_table *table, const struct nvt_making *making)
{
    struct sums sums = {.ranges = 0};
    int status = 0;
    for (size_t i = 0; i < making->input->trace_count && !status; i++)
        status = add_nvtx_sum_trace(&sums, making->input->traces[i].trace, making->report->of);
    if (!status)
        status = nvt_groups_finish(&sums.groups, making->err);
    for (uint32_t i = 0; i < sums.groups.count && !status; i++)
        put_nvtx_sum_group(table, &sums.groups, i, making->report->of);
    if (!status && !sums.ranges)
        nvt_note(making->input, "note: no NVTX ranges in the input");
    note_nvtx_sum_left_out(making, sums.unclosed, "never ended");
    note_nvtx_sum_left_out(making, sums.carried, "began before what was kept");
    nvt_groups_free(&sums.groups);
    return status;
}

#define BY_TIME                                                                                    \
    .order = {"-Total Time (ns)", "Range"}, .needs = NVT_TAKES_COMPENSATED, .of_input = put_nvtx_sum

const struct nvt_report nvt_report_nvtx_sum = {
    .name = "nvtx_sum",
    .about = "ranges of both styles by total time",
    .title = "NVTX range summary",
    .columns = {NVT_TIME_COLUMNS("Instances"), {"Style", NVT_SPARE_NAMES}, {"Range", NVT_RANGES}},
    BY_TIME,
    .of = PUSH_POP | START_END,
};

const struct nvt_report nvt_report_nvtx_pushpop_sum = {
    .name = "nvtx_pushpop_sum",
    .about = "push/pop ranges by total time",
    .title = "NVTX push/pop range summary",
    .columns = {NVT_TIME_COLUMNS("Instances"), {"Range", NVT_RANGES}},
    BY_TIME,
    .of = PUSH_POP,
};

const struct nvt_report nvt_report_nvtx_startend_sum = {
    .name = "nvtx_startend_sum",
    .about = "start/end ranges by total time",
    .title = "NVTX start/end range summary",
    .columns = {NVT_TIME_COLUMNS("Instances"), {"Range", NVT_RANGES}},
    BY_TIME,
    .of = START_END,
};
