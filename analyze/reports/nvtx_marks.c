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

enum { DOMAIN, NAME, CATEGORY, COUNT, FIRST, LAST, PAYLOAD_MIN, PAYLOAD_MAX };

static const struct nvt_column_spec columns[] = {
    [DOMAIN] = {"Domain", "", NVT_TEXT, 0, 0},
    [NAME] = {"Name", "", NVT_TEXT, 0, 0},
    [CATEGORY] = {"Category", "", NVT_TEXT, 0, 0},
    [COUNT] = {"Count", "", NVT_INT, 0, 0},
    [FIRST] = {"First (ns)", "ns", NVT_INT, 0, 0},
    [LAST] = {"Last (ns)", "ns", NVT_INT, 0, 0},
    [PAYLOAD_MIN] = {"Payload Min", "", NVT_REAL, NVT_SHORTEST, 0},
    [PAYLOAD_MAX] = {"Payload Max", "", NVT_REAL, NVT_SHORTEST, 0},
};

/* Of a group: times, ns, and payloads that are numbers. */
struct sum {
    uint64_t count;
    int64_t first, last;
    double low, high; /* low > high: there is none */
};

struct sums {
    struct nvt_groups groups;
    struct sum *items; /* of every group */
    uint32_t count;
};

/* Whether the whole text is a finite number. */
static int is_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end > text && !*end && isfinite(*value);
}

static int add_mark(struct sums *sums, const struct nvt_trace *trace, uint32_t i)
{
    const struct nvt_marks *marks = &trace->marks;
    uint32_t parts[] = {nvt_groups_string(&sums->groups, trace->domains.name[marks->domain[i]]),
                        nvt_groups_string(&sums->groups, marks->name[i]),
                        nvt_groups_string(&sums->groups, marks->category[i])};
    uint32_t group = nvt_groups_key(&sums->groups, parts, 3);
    double value;
    if (group == NVT_NONE)
        return -1;
    if (group == sums->count) {
        struct sum *items = realloc(sums->items, ((size_t)group + 1) * sizeof(*items));
        if (!items)
            return -1;
        sums->items = items;
        sums->items[sums->count++] = (struct sum){0, marks->time[i], 0, INFINITY, -INFINITY};
    }
    struct sum *sum = &sums->items[group];
    sum->count++;
    sum->last = marks->time[i];
    if (marks->flags[i] & NVT_RANGE_HAS_PAYLOAD &&
        is_number(nvt_name(trace, marks->payload[i]), &value)) {
        sum->low = value < sum->low ? value : sum->low;
        sum->high = value > sum->high ? value : sum->high;
    }
    return 0;
}

static void put_sums(struct nvt_table *table, const struct sums *sums)
{
    for (uint32_t i = 0; i < sums->count; i++) {
        const uint32_t *key = sums->groups.groups[i].key;
        const struct sum *sum = &sums->items[i];
        size_t row = nvt_table_add_row(table);
        nvt_table_set_name(table, row, DOMAIN, nvt_groups_name(&sums->groups, key[0]));
        nvt_table_set_text(table, row, NAME, nvt_groups_name(&sums->groups, key[1]));
        nvt_table_set_name(table, row, CATEGORY, nvt_groups_name(&sums->groups, key[2]));
        nvt_table_set_int(table, row, COUNT, (int64_t)sum->count);
        nvt_table_set_int(table, row, FIRST, sum->first);
        nvt_table_set_int(table, row, LAST, sum->last);
        if (sum->low <= sum->high) {
            nvt_table_set_real(table, row, PAYLOAD_MIN, sum->low);
            nvt_table_set_real(table, row, PAYLOAD_MAX, sum->high);
        }
    }
}

static struct nvt_table *make_one(struct nvt_input *input, const struct nvt_trace *trace,
                                  struct nvt_error *err)
{
    struct sums sums = {.groups = {0}};
    int failed = 0;
    struct nvt_table *table =
        nvt_report_trace_table(&nvt_report_nvtx_marks, input, trace, "NVTX marks", err);
    nvt_groups_trace(&sums.groups, trace);
    for (uint32_t i = 0; table && i < trace->marks.count && !failed; i++)
        failed = add_mark(&sums, trace, i);
    if (failed || nvt_groups_failed(&sums.groups)) {
        nvt_table_free(table);
        table = NULL;
        nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    if (table)
        put_sums(table, &sums);
    nvt_groups_free(&sums.groups);
    free(sums.items);
    return table;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    uint64_t marks = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        struct nvt_table *table = make_one(input, input->traces[i].trace, err);
        if (!table || nvt_report_add(tables, table, err))
            return -1;
        marks += input->traces[i].trace->marks.count;
    }
    if (!marks)
        nvt_note(input, "note: no NVTX marks in the input");
    return 0;
}

const struct nvt_report nvt_report_nvtx_marks = {
    .name = "nvtx_marks",
    .about = "marks by name: how many, the first and last time, smallest and largest payload",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
