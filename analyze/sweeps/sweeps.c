#include "sweeps.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/buffer.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../input/ranks.h"
#include "../model/named_iterations.h"
#include "curves.h"
#include "sweep_rows.h"
#include "sweep_run.h"

/* --- all runs of a sweep ---------------------------------------------------------------------- */

static int by_n(const void *left, const void *right)
{
    const struct nvt_sweep_point *a = left, *b = right;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

static double median_of(const struct nvt_sweep_point *points, size_t count, size_t offset,
                        double *scratch)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&scratch[i], (const char *)&points[i] + offset, sizeof(*scratch));
    return nvt_sample_median(scratch, count);
}

/* Of `count` points with one n. */
static struct nvt_sweep_value value_of(const struct nvt_sweep_point *points, size_t count,
                                       double *scratch)
{
    struct nvt_sweep_value value = {
        points->n, median_of(points, count, offsetof(struct nvt_sweep_point, ns), scratch),
        median_of(points, count, offsetof(struct nvt_sweep_point, mean_ns), scratch),
        median_of(points, count, offsetof(struct nvt_sweep_point, count), scratch), points};
    for (size_t i = 1; i < count; i++)
        if (fabs(points[i].ns - value.ns) < fabs(value.point->ns - value.ns))
            value.point = &points[i];
    return value;
}

/* How many points from the first on have its n. */
static size_t count_same(const struct nvt_sweep_item *item, size_t first)
{
    size_t count = 1;
    while (first + count < item->count && item->points[first + count].n == item->points[first].n)
        count++;
    return count;
}

/* What an item's points come to. `scratch` has room for two numbers a point. 0 or -1. */
static int end_item(struct nvt_sweep_item *item, double *scratch)
{
    qsort(item->points, item->count, sizeof(*item->points), by_n);
    for (size_t i = 0; i < item->count; i++)
        item->is_mean |= !(item->points[i].ns > 0);
    for (size_t i = 0; i < item->count && item->is_mean; i++)
        item->points[i].ns = item->points[i].mean_ns;
    item->values = calloc(item->count + 1, sizeof(*item->values));
    if (!item->values)
        return -1;
    for (size_t i = 0, same; i < item->count; i += same) {
        same = count_same(item, i);
        item->values[item->value_count++] = value_of(&item->points[i], same, scratch);
    }
    for (size_t i = 0; i < item->count; i++) {
        scratch[i] = item->points[i].n;
        scratch[item->count + i] = item->points[i].ns;
    }
    if (item->count >= 3)
        item->growth = nvt_growth_of(scratch, scratch + item->count, item->count);
    return 0;
}

static int end_sweep(struct nvt_sweep *sweep)
{
    double *scratch = malloc((2 * sweep->runs + 2) * sizeof(*scratch));
    int status = scratch ? 0 : -1;
    for (size_t i = 0; i < sweep->count && !status; i++) {
        status = end_item(&sweep->items[i], scratch);
        if (sweep->items[i].is_iteration)
            sweep->iteration = &sweep->items[i];
    }
    free(scratch);
    return status;
}

static void free_sweep(struct nvt_sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        free(sweep->items[i].points);
        free(sweep->items[i].values);
    }
    free(sweep->items);
    free(sweep->where);
    nvt_strings_free(sweep->names);
    nvt_strings_free(sweep->shown);
    *sweep = (struct nvt_sweep){0};
}

/* --- which runs are of one sweep -------------------------------------------------------------- */

/* A trace, as one of those of a sweep. */
struct member {
    uint32_t sweep; /* from 1 on, in the order of their first runs */
    size_t run;     /* nvt_input_run_numbers */
    const struct nvt_input_trace *from;
    const struct nvt_member *axis;
};

struct members {
    struct member *items;
    size_t count;
    size_t *runs;               /* of the traces of the input */
    struct nvt_strings *sweeps; /* "axis\nworkload\nrest" */
};

/* The workload and its axes but one: malloc'ed, NULL when out of memory. */
static char *rest_of(const struct nvt_record *record, const char *axis)
{
    char none[1];
    size_t size = nvt_record_rest(record, axis, NULL, none, sizeof(none)) + 1;
    char *rest = malloc(size);
    if (rest)
        nvt_record_rest(record, axis, NULL, rest, size);
    return rest;
}

static int add_member(struct members *members, const struct nvt_input_trace *from, size_t run,
                      const struct nvt_member *axis)
{
    struct nvt_buffer text = {0};
    const char *workload = nvt_record_text(nvt_record_of_trace(from), "workload");
    char *rest = nvt_record_sorted_axes(nvt_record_of_trace(from), axis->key);
    uint32_t id = NVT_NO_STRING;
    if (rest && !nvt_buffer_printf(&text, "%s\n%s\n%s", axis->key, workload ? workload : "", rest))
        id = nvt_strings_add(members->sweeps, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    free(rest);
    if (id == NVT_NO_STRING)
        return -1;
    if (nvt_grow(&members->items, members->count, sizeof(*members->items)))
        return -1;
    members->items[members->count++] = (struct member){id, run, from, axis};
    return 0;
}

static int find_members(struct members *members, const struct nvt_input *input, const char *by)
{
    for (size_t run = 0; run < input->trace_count; run++) {
        const struct nvt_record *record = nvt_record_of_trace(&input->traces[run]);
        for (size_t m = 0; record && m < record->axis_count; m++) {
            const struct nvt_member *axis = &record->members[record->axis_first + m];
            /* What is named twice is its first one. */
            if (axis->type == NVT_VALUE_NUMBER && axis == nvt_record_axis(record, axis->key) &&
                (!by || !strcmp(by, axis->key)) &&
                add_member(members, &input->traces[run], members->runs[run], axis))
                return -1;
        }
    }
    return 0;
}

static int by_sweep(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->sweep != b->sweep)
        return a->sweep < b->sweep ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

/* Whether it is the first of its run. */
static int is_first(const struct member *members, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (members[i].run == members[index].run)
            return 0;
    return 1;
}

static int has_three_runs(const struct member *members, size_t count)
{
    size_t runs = 0;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++)
        if (members[i].axis->number > 0 && is_first(members, i)) {
            runs++;
            least = fmin(least, members[i].axis->number);
            most = fmax(most, members[i].axis->number);
        }
    return runs >= 3 && least < most;
}

/* Add the run of that number, the first of whose members is given. 0 or -1. */
static int add_run(struct nvt_sweep *sweep, const struct member *members, size_t count,
                   const struct member *first)
{
    const struct nvt_trace **traces = malloc((count + 1) * sizeof(*traces));
    size_t trace_count = 0;
    if (!traces)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (members[i].run == first->run)
            traces[trace_count++] = members[i].from->trace;
    int status = nvt_sweep_add_run(sweep, first->axis->number, traces, trace_count);
    free(traces);
    return status;
}

/* Append the sweep of these runs. 0 or -1. */
static int add_sweep(struct nvt_sweeps *sweeps, const struct member *members, size_t count)
{
    const char *axis = members->axis->key;
    struct nvt_sweep sweep = {.where = rest_of(nvt_record_of_trace(members->from), axis),
                              .axis = axis};
    int status = sweep.where ? 0 : -1;
    for (size_t i = 0; i < count && !status; i++) {
        const double n = members[i].axis->number;
        if (!is_first(members, i))
            continue;
        if (!(n > 0)) {
            sweep.without++;
            continue;
        }
        sweep.first = sweep.first ? sweep.first : members[i].from;
        status = add_run(&sweep, members, count, &members[i]);
    }
    if (!status)
        status = end_sweep(&sweep);
    if (!status)
        status = nvt_grow(&sweeps->items, sweeps->count, sizeof(*sweeps->items));
    if (status)
        free_sweep(&sweep);
    else
        sweeps->items[sweeps->count++] = sweep;
    return status;
}

int nvt_sweeps_of(const struct nvt_input *input, const char *by, struct nvt_sweeps *sweeps,
                  struct nvt_error *err)
{
    size_t runs;
    struct members members = {.sweeps = nvt_strings_new(),
                              .runs = nvt_input_run_numbers(input, &runs)};
    int status = members.sweeps && members.runs ? find_members(&members, input, by) : -1;
    if (!status && members.count)
        qsort(members.items, members.count, sizeof(*members.items), by_sweep);
    for (size_t i = 0, count; i < members.count && !status; i += count) {
        for (count = 1; i + count < members.count; count++)
            if (members.items[i + count].sweep != members.items[i].sweep)
                break;
        if (has_three_runs(&members.items[i], count))
            status = add_sweep(sweeps, &members.items[i], count);
    }
    free(members.items);
    free(members.runs);
    nvt_strings_free(members.sweeps);
    return status ? nvt_fail(err, "out of memory") : 0;
}

void nvt_sweeps_free(struct nvt_sweeps *sweeps)
{
    for (size_t i = 0; i < sweeps->count; i++)
        free_sweep(&sweeps->items[i]);
    free(sweeps->items);
    *sweeps = (struct nvt_sweeps){0};
}

/* --- what they say ---------------------------------------------------------------------------- */

const char *nvt_sweep_kind_name(enum nvt_sweep_kind kind)
{
    static const char *const names[] = {"range", "call", "device operation"};
    return names[kind];
}

double nvt_sweep_share(const struct nvt_sweep *sweep, const struct nvt_sweep_item *item)
{
    const struct nvt_sweep_value *part = nvt_sweep_largest(item), *whole = NULL;
    for (size_t i = 0; sweep->iteration && i < sweep->iteration->value_count; i++)
        if (sweep->iteration->values[i].n == part->n)
            whole = &sweep->iteration->values[i];
    if (!whole || !(whole->ns > 0) || !(whole->mean_ns > 0))
        return NAN;
    return item->is_mean ? part->mean_ns / whole->mean_ns : part->ns / whole->ns;
}

double nvt_sweep_per_unit(const struct nvt_sweep_item *item)
{
    double per_unit = item->points[0].count / item->points[0].n;
    for (size_t i = 0; i < item->count; i++)
        if (!(fabs(item->points[i].count / item->points[i].n / per_unit - 1) < 0.01))
            return 0;
    return per_unit;
}

int nvt_sweep_entry(const struct nvt_sweep_item *item, const struct nvt_sweep_point *point,
                    double *median)
{
    const struct nvt_trace *trace = point->trace;
    const uint32_t rows = nvt_sweep_row_count(trace, item->kind),
                   name = nvt_sweep_find_name(item, trace);
    double *values = malloc(((size_t)rows + 1) * sizeof(*values));
    struct nvt_named_iterations iterations = {0};
    struct nvt_sweep_row entry;
    size_t count = 0;
    int status = nvt_named_iterations_of(&iterations, trace) || !values ? -1 : 0;
    for (uint32_t i = 0; i < rows && !status; i++)
        if (nvt_sweep_row_read(trace, item->kind, i, &entry) &&
            nvt_sweep_row_is_of(item, trace, name, &entry) &&
            nvt_iteration_at(&iterations, entry.thread, entry.process, entry.moment) != NVT_NONE)
            values[count++] = (double)(entry.end - entry.start);
    *median = status ? 0 : nvt_sample_median(values, count);
    free(values);
    nvt_named_iterations_free(&iterations);
    return status;
}

/* The first range that begins there or later. */
static uint32_t range_from(const struct nvt_ranges *ranges, int64_t start)
{
    uint32_t low = 0;
    NVT_BISECT(low, ranges->count, ranges->start[low] < start);
    return low;
}

static int is_row_of(const struct nvt_sweep_item *item, const struct nvt_trace *trace,
                     uint32_t name, uint32_t row)
{
    struct nvt_sweep_row entry;
    nvt_sweep_row_read(trace, NVT_SWEEP_RANGE, row, &entry);
    return nvt_sweep_row_is_of(item, trace, name, &entry);
}

int nvt_sweep_lies_within(const struct nvt_sweep_item *inner, const struct nvt_sweep_item *outer)
{
    const struct nvt_sweep_point *point = nvt_sweep_largest(inner)->point;
    const struct nvt_trace *trace = point->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    if (inner->is_iteration || outer->is_iteration)
        return !inner->is_iteration;
    const uint32_t name = nvt_sweep_find_name(inner, trace),
                   outer_name = nvt_sweep_find_name(outer, trace);
    uint32_t row = range_from(ranges, point->examples[0]);
    while (row < ranges->count && ranges->start[row] == point->examples[0] &&
           !is_row_of(inner, trace, name, row))
        row++;
    while (row < ranges->count && (row = ranges->parent[row]) < ranges->count)
        if (is_row_of(outer, trace, outer_name, row))
            return 1;
    return 0;
}
