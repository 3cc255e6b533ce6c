/*
 * nvtx_sum, nvtx_pushpop_sum, nvtx_startend_sum: ranges by total time, with nsys's headings. Ranges
 * of one "domain:name" are one row, over all traces; the default domain gives ":name".
 *
 * A range whose end was never seen has no duration: it is left out, and counted in a note. (nsys
 * counts it up to the last event, which puts a killed process's outermost range on top.) The
 * deviation of a single range is 0, as nsys prints it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/sample.h"
#include "../../lib/map.h"
#include "report.h"

enum { TIME, TOTAL, INSTANCES, AVG, MED, MIN, MAX, STD, LAST };

#define COMMON_COLUMNS                                                                             \
    {"Time (%)", "%", NVT_REAL, 1, 0}, {"Total Time (ns)", "ns", NVT_INT, 0, 0},                   \
        {"Instances", "", NVT_INT, 0, 0}, {"Avg (ns)", "ns", NVT_REAL, 1, 0},                      \
        {"Med (ns)", "ns", NVT_REAL, 1, 0}, {"Min (ns)", "ns", NVT_INT, 0, 0},                     \
        {"Max (ns)", "ns", NVT_INT, 0, 0},                                                         \
    {                                                                                              \
        "StdDev (ns)", "ns", NVT_REAL, 1, 0                                                        \
    }

static const struct nvt_column_spec columns_with_style[] = {
    COMMON_COLUMNS, {"Style", "", NVT_TEXT, 0, 0}, {"Range", "", NVT_TEXT, 0, 0}};
static const struct nvt_column_spec columns[] = {COMMON_COLUMNS, {"Range", "", NVT_TEXT, 0, 0}};

struct group {
    uint32_t name; /* "domain:name" */
    uint8_t style;
    size_t instances;
    size_t first; /* of its values */
    int64_t total;
};

struct sums {
    struct nvt_strings *names;
    struct group *groups;
    uint32_t count, capacity;
    struct nvt_map by_name;
    uint32_t *group_of;       /* of every range of all traces, NVT_NONE: left out */
    double *values;           /* durations, group behind group */
    size_t ranges;            /* of all traces */
    size_t unclosed, carried; /* left out */
    int styles;               /* bits: 1 << enum nvt_range_style */
};

static uint32_t full_name(struct sums *sums, const struct nvt_trace *trace, uint32_t range)
{
    const char *domain_name = nvt_domain_name(trace, trace->ranges.domain[range]);
    struct nvt_buffer text = {0};
    uint32_t id = NVT_NO_STRING;
    if (!nvt_buffer_printf(&text, "%s:%s", domain_name, nvt_name(trace, trace->ranges.name[range])))
        id = nvt_strings_add(sums->names, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    return id;
}

/* The group of a name and style, added when new; NVT_NONE when out of memory. */
static uint32_t group_at(struct sums *sums, uint32_t name, uint8_t style)
{
    uint32_t *at = nvt_map_at(&sums->by_name, (uint64_t)name << 1 | style);
    if (!at || *at != NVT_MAP_NONE)
        return at ? *at : NVT_NONE;
    if (sums->count == sums->capacity) {
        uint32_t capacity = sums->capacity ? sums->capacity * 2 : 64;
        struct group *groups = realloc(sums->groups, capacity * sizeof(*groups));
        if (!groups)
            return NVT_NONE;
        sums->groups = groups;
        sums->capacity = capacity;
    }
    sums->groups[sums->count] = (struct group){.name = name, .style = style};
    return *at = sums->count++;
}

/* Sort the ranges of one trace into groups. Names are put together once a name and domain. */
static int assign(struct sums *sums, const struct nvt_trace *trace, uint32_t *group_of)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map seen[2] = {{0}, {0}};
    int status = 0;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        uint8_t style = ranges->style[i] == NVT_PUSH_POP ? NVT_PUSH_POP : NVT_START_END;
        group_of[i] = NVT_NONE;
        if (!(sums->styles & 1 << style))
            continue;
        if (ranges->flags[i] & NVT_RANGE_PARTIAL) {
            *(ranges->flags[i] & NVT_RANGE_UNCLOSED ? &sums->unclosed : &sums->carried) += 1;
            continue;
        }
        uint32_t *group =
            nvt_map_at(&seen[style], (uint64_t)ranges->domain[i] << 32 | ranges->name[i]);
        if (group && *group == NVT_MAP_NONE) {
            uint32_t name = full_name(sums, trace, i);
            *group = name == NVT_NO_STRING ? NVT_NONE : group_at(sums, name, style);
        }
        status = !group || *group == NVT_NONE ? -1 : 0;
        if (status)
            break;
        group_of[i] = *group;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): group_at() has made it */
        sums->groups[*group].instances++;
        sums->groups[*group].total =
            nvt_clock_sum(sums->groups[*group].total, ranges->end[i] - ranges->start[i]);
    }
    nvt_map_free(&seen[0]);
    nvt_map_free(&seen[1]);
    return status;
}

static void gather(struct sums *sums, const struct nvt_input *input)
{
    size_t at = 0, first = 0;
    for (uint32_t i = 0; i < sums->count; i++) {
        sums->groups[i].first = first;
        first += sums->groups[i].instances;
        sums->groups[i].instances = 0;
    }
    for (size_t t = 0; t < input->trace_count; t++) {
        const struct nvt_ranges *ranges = &input->traces[t].trace->ranges;
        for (uint32_t i = 0; i < ranges->count; i++, at++) {
            if (sums->group_of[at] == NVT_NONE)
                continue;
            struct group *group = &sums->groups[sums->group_of[at]];
            sums->values[group->first + group->instances++] =
                (double)(ranges->end[i] - ranges->start[i]);
        }
    }
}

static int collect(struct sums *sums, const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        sums->ranges += input->traces[i].trace->ranges.count;
    sums->names = nvt_strings_new();
    sums->group_of = malloc((sums->ranges + 1) * sizeof(*sums->group_of));
    sums->values = malloc((sums->ranges + 1) * sizeof(*sums->values));
    if (!sums->names || !sums->group_of || !sums->values)
        return -1;
    size_t at = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        if (assign(sums, input->traces[i].trace, sums->group_of + at))
            return -1;
        at += input->traces[i].trace->ranges.count;
    }
    gather(sums, input);
    return 0;
}

static void release(struct sums *sums)
{
    nvt_strings_free(sums->names);
    nvt_map_free(&sums->by_name);
    free(sums->groups);
    free(sums->group_of);
    free(sums->values);
}

static void fill(struct nvt_table *table, const struct sums *sums, int with_style)
{
    double all = 0;
    for (uint32_t i = 0; i < sums->count; i++)
        all += (double)sums->groups[i].total;
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct group *group = &sums->groups[i];
        struct nvt_summary summary;
        nvt_sample_summary(sums->values + group->first, group->instances, &summary);
        size_t row = nvt_table_add_row(table);
        nvt_table_set_real(table, row, TIME, all > 0 ? 100 * (double)group->total / all : 0);
        nvt_table_set_int(table, row, TOTAL, group->total);
        nvt_table_set_int(table, row, INSTANCES, (int64_t)group->instances);
        nvt_table_set_real(table, row, AVG, summary.mean);
        nvt_table_set_real(table, row, MED, summary.median);
        nvt_table_set_int(table, row, MIN, (int64_t)summary.min);
        nvt_table_set_int(table, row, MAX, (int64_t)summary.max);
        nvt_table_set_real(table, row, STD, group->instances < 2 ? 0 : summary.std);
        if (with_style)
            nvt_table_set_text(table, row, LAST,
                               group->style == NVT_PUSH_POP ? "PushPop" : "StartEnd");
        nvt_table_set_text(table, row, with_style ? LAST + 1 : LAST,
                           nvt_strings_get(sums->names, group->name, NULL));
    }
    nvt_table_sort(table, with_style ? LAST + 1 : LAST, 0);
    nvt_table_sort(table, TOTAL, 1);
}

static int make(const struct nvt_report *report, const char *title, int styles,
                struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct sums sums = {.styles = styles};
    struct nvt_table *table = NULL;
    int status = -1;
    if (collect(&sums, input)) {
        nvt_fail(err, "out of memory");
        goto out;
    }
    table = nvt_report_table(report, input, title, err);
    if (!table)
        goto out;
    fill(table, &sums, report->columns == columns_with_style);
    if (!sums.ranges)
        nvt_note(input, "note: no NVTX ranges in the input");
    if (sums.unclosed)
        nvt_note(input, "note: %s leaves out %zu range%s that never ended", report->name,
                 sums.unclosed, sums.unclosed == 1 ? "" : "s");
    if (sums.carried)
        nvt_note(input, "note: %s leaves out %zu range%s that began before what was kept",
                 report->name, sums.carried, sums.carried == 1 ? "" : "s");
    status = nvt_report_add(tables, table, err);
out:
    release(&sums);
    return status;
}

static int make_sum(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_nvtx_sum, "NVTX range summary", 1 << NVT_PUSH_POP | 1 << NVT_START_END,
                input, tables, err);
}

static int make_pushpop(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_nvtx_pushpop_sum, "NVTX push/pop range summary", 1 << NVT_PUSH_POP,
                input, tables, err);
}

static int make_startend(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_nvtx_startend_sum, "NVTX start/end range summary", 1 << NVT_START_END,
                input, tables, err);
}

const struct nvt_report nvt_report_nvtx_sum = {
    .name = "nvtx_sum",
    .about = "ranges of both styles by total time",
    .needs = NVT_NEEDS_TRACES | NVT_TAKES_COMPENSATED,
    .columns = columns_with_style,
    .column_count = sizeof(columns_with_style) / sizeof(columns_with_style[0]),
    .make = make_sum,
};

const struct nvt_report nvt_report_nvtx_pushpop_sum = {
    .name = "nvtx_pushpop_sum",
    .about = "push/pop ranges by total time",
    .needs = NVT_NEEDS_TRACES | NVT_TAKES_COMPENSATED,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make_pushpop,
};

const struct nvt_report nvt_report_nvtx_startend_sum = {
    .name = "nvtx_startend_sum",
    .about = "start/end ranges by total time",
    .needs = NVT_NEEDS_TRACES | NVT_TAKES_COMPENSATED,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make_startend,
};
