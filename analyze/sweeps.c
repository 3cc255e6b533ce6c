#include "sweeps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/buffer.h"
#include "../lib/sample.h"
#include "curves.h"
#include "diagnose.h"

/* --- one run ---------------------------------------------------------------------------------- */

/* The iterations of a trace as intervals, and which of them holds a moment. */
struct window {
    const struct nvt_trace *trace;
    uint32_t *rows;
    uint32_t count;
};

/* The iteration that holds a moment, or NVT_NONE. */
static uint32_t holds(const struct window *window, int64_t moment)
{
    const struct nvt_ranges *ranges = &window->trace->ranges;
    uint32_t low = 0, high = window->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->start[window->rows[middle]] <= moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low && moment <= ranges->end[window->rows[low - 1]] ? low - 1 : NVT_NONE;
}

/* Something that took time: what it is called, when it was launched or entered, and its own time. */
struct entry {
    uint32_t name;
    int64_t moment, span[2];
};

/* How many rows of that kind a trace has, and one of them. 1, or 0 for one that does not count. */
static uint32_t count_entries(const struct nvt_trace *trace, enum nvt_sweep_kind kind)
{
    return kind == NVT_SWEEP_RANGE  ? trace->ranges.count
           : kind == NVT_SWEEP_CALL ? trace->apis.count
                                    : trace->ops.count;
}

static int read_entry(const struct nvt_trace *trace, enum nvt_sweep_kind kind, uint32_t i,
                      struct entry *entry)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_ops *ops = &trace->ops;
    if (kind == NVT_SWEEP_RANGE) {
        *entry =
            (struct entry){ranges->name[i], ranges->start[i], {ranges->start[i], ranges->end[i]}};
        return !(ranges->flags[i] & NVT_RANGE_UNCLOSED);
    }
    if (kind == NVT_SWEEP_CALL) {
        *entry = (struct entry){apis->name[i], apis->start[i], {apis->start[i], apis->end[i]}};
        return 1;
    }
    *entry = (struct entry){ops->name[i], ops->launch[i], {ops->start[i], ops->end[i]}};
    return ops->launch[i] != INT64_MIN;
}

/* --- one sweep -------------------------------------------------------------------------------- */

/* What is needed while a run is added. */
struct work {
    struct window window;
    double n;
    uint32_t *item_of; /* by kind and string: index + 1 in the sweep, 0: not looked for yet */
    double **sums;     /* by item: ns in each iteration of this run, NULL: it does not occur */
    size_t sum_count;
};

/* Its name among the sweep's: NVT_NO_STRING when out of memory. */
static uint32_t add_name(struct nvt_sweep *sweep, enum nvt_sweep_kind kind, const char *name)
{
    struct nvt_buffer text = {0};
    uint32_t id = NVT_NO_STRING;
    if (!sweep->names)
        sweep->names = nvt_strings_new();
    if (sweep->names && !nvt_buffer_printf(&text, "%d%s", (int)kind, name))
        id = nvt_strings_add(sweep->names, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    return id;
}

/* The item of a name, new if need be. SIZE_MAX: out of memory. */
static size_t find_item(struct nvt_sweep *sweep, enum nvt_sweep_kind kind, const char *name)
{
    const uint32_t id = add_name(sweep, kind, name);
    if (id == NVT_NO_STRING)
        return SIZE_MAX;
    if (id <= sweep->count)
        return id - 1;
    if (sweep->count == sweep->capacity) {
        size_t capacity = sweep->capacity ? sweep->capacity * 2 : 32;
        struct nvt_sweep_item *items = realloc(sweep->items, capacity * sizeof(*items));
        if (!items)
            return SIZE_MAX;
        sweep->items = items;
        sweep->capacity = capacity;
    }
    struct nvt_sweep_item *item = &sweep->items[sweep->count];
    *item =
        (struct nvt_sweep_item){.kind = kind, .name = nvt_strings_get(sweep->names, id, NULL) + 1};
    return sweep->count++;
}

/* Begin the item's point of this run. 0, 1 when it has no room for more points, or -1. */
static int begin_point(struct work *work, struct nvt_sweep *sweep, size_t index)
{
    struct nvt_sweep_item *item = &sweep->items[index];
    if (index >= work->sum_count) {
        double **sums = realloc(work->sums, sweep->capacity * sizeof(*sums));
        if (!sums)
            return -1;
        memset(sums + work->sum_count, 0, (sweep->capacity - work->sum_count) * sizeof(*sums));
        work->sums = sums;
        work->sum_count = sweep->capacity;
    }
    if (work->sums[index])
        return 0;
    if (item->count == NVT_SWEEP_POINTS)
        return 1;
    if (item->count == item->capacity) {
        size_t capacity = item->capacity ? item->capacity * 2 : 4;
        struct nvt_sweep_point *points = realloc(item->points, capacity * sizeof(*points));
        if (!points)
            return -1;
        item->points = points;
        item->capacity = capacity;
    }
    work->sums[index] = calloc(work->window.count, sizeof(**work->sums));
    if (!work->sums[index])
        return -1;
    item->points[item->count++] =
        (struct nvt_sweep_point){.n = work->n, .trace = work->window.trace};
    return 0;
}

static int add_entry(struct work *work, struct nvt_sweep *sweep, enum nvt_sweep_kind kind,
                     const struct entry *entry)
{
    const struct nvt_trace *trace = work->window.trace;
    uint32_t iteration = holds(&work->window, entry->moment);
    if (iteration == NVT_NONE)
        return 0;
    uint32_t *known =
        &work->item_of[(size_t)kind * nvt_strings_count(trace->strings) + entry->name];
    size_t index = *known ? *known - 1 : find_item(sweep, kind, nvt_name(trace, entry->name));
    if (index == SIZE_MAX)
        return -1;
    *known = (uint32_t)index + 1;
    int status = begin_point(work, sweep, index);
    if (status)
        return status < 0 ? -1 : 0;
    struct nvt_sweep_item *item = &sweep->items[index];
    struct nvt_sweep_point *point = &item->points[item->count - 1];
    if (point->example_count < NVT_SWEEP_EXAMPLES)
        point->examples[point->example_count++] = entry->span[0];
    point->count++;
    work->sums[index][iteration] += (double)(entry->span[1] - entry->span[0]);
    return 0;
}

/* Sums of this run become what an iteration costs. */
static void end_run(const struct work *work, struct nvt_sweep *sweep)
{
    const uint32_t iterations = work->window.count;
    struct nvt_summary summary;
    for (size_t i = 0; i < sweep->count && i < work->sum_count; i++) {
        struct nvt_sweep_item *item = &sweep->items[i];
        if (!work->sums[i])
            continue;
        struct nvt_sweep_point *point = &item->points[item->count - 1];
        nvt_sample_summary(work->sums[i], iterations, &summary);
        point->ns = summary.median > 0 ? summary.median : summary.mean;
        point->count /= iterations;
        if (nvt_sweep_is_iteration(item) && work->n >= sweep->largest) {
            sweep->largest = work->n;
            sweep->iteration_ns = point->ns;
        }
    }
}

/* Add up what lies in the iterations of a run. 0 or -1. */
static int add_run(struct nvt_sweep *sweep, const struct nvt_trace *trace, double n)
{
    struct work work = {.window = {.trace = trace}, .n = n};
    struct entry entry;
    work.window.rows = nvt_iterations(trace, &work.window.count);
    work.item_of = calloc((size_t)NVT_SWEEP_KINDS * nvt_strings_count(trace->strings) + 1,
                          sizeof(*work.item_of));
    int status = work.window.rows && work.item_of ? 0 : -1;
    sweep->runs++;
    for (enum nvt_sweep_kind kind = 0; kind < NVT_SWEEP_KINDS; kind++)
        for (uint32_t i = 0; i < count_entries(trace, kind) && !status; i++)
            if (read_entry(trace, kind, i, &entry))
                status = add_entry(&work, sweep, kind, &entry);
    if (!status)
        end_run(&work, sweep);
    for (size_t i = 0; i < work.sum_count; i++)
        free(work.sums[i]);
    free(work.sums);
    free(work.item_of);
    free(work.window.rows);
    return status;
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct nvt_record *record_of(const struct nvt_input_trace *from)
{
    return from->runs ? &from->runs->records[from->record] : NULL;
}

/* Whether a trace is a run of the sweep that `where` describes: its n, or NaN. */
static double is_in(const struct nvt_input_trace *from, const char *axis, const char *where)
{
    char other[256];
    const struct nvt_record *record = record_of(from);
    double n = record ? nvt_record_number(record, axis) : NAN;
    if (!(n > 0))
        return NAN;
    nvt_record_rest(record, axis, NULL, other, sizeof(other));
    return strcmp(where, other) ? NAN : n;
}

static void free_sweep(struct nvt_sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        free(sweep->items[i].points);
    free(sweep->items);
    nvt_strings_free(sweep->names);
    *sweep = (struct nvt_sweep){0};
}

/* All runs that differ from run `first` in this axis alone, unless an earlier one is of them. 0 or -1. */
static int add_sweep(struct nvt_sweeps *sweeps, const struct nvt_report_input *input, size_t first,
                     const char *axis)
{
    struct nvt_sweep sweep = {.axis = axis, .largest = -INFINITY, .first = &input->traces[first]};
    int status = 0;
    nvt_record_rest(record_of(sweep.first), axis, NULL, sweep.where, sizeof(sweep.where));
    for (size_t i = 0; i < first; i++)
        if (is_in(&input->traces[i], axis, sweep.where) > 0)
            return 0;
    for (size_t i = first; i < input->trace_count && !status; i++) {
        double n = is_in(&input->traces[i], axis, sweep.where);
        if (n > 0)
            status = add_run(&sweep, input->traces[i].trace, n);
    }
    if (!status && sweep.runs >= 3 && sweeps->count == sweeps->capacity) {
        size_t capacity = sweeps->capacity ? 2 * sweeps->capacity : 8;
        struct nvt_sweep *items = realloc(sweeps->items, capacity * sizeof(*items));
        status = items ? 0 : -1;
        sweeps->items = items ? items : sweeps->items;
        sweeps->capacity = items ? capacity : sweeps->capacity;
    }
    if (status || sweep.runs < 3)
        free_sweep(&sweep);
    else
        sweeps->items[sweeps->count++] = sweep;
    return status;
}

int nvt_sweeps_of(const struct nvt_report_input *input, const char *by, struct nvt_sweeps *sweeps,
                  struct nvt_error *err)
{
    int status = 0;
    for (size_t run = 0; run < input->trace_count && !status; run++) {
        const struct nvt_record *record = record_of(&input->traces[run]);
        for (size_t m = 0; record && m < record->count && !status; m++) {
            const struct nvt_member *member = &record->members[m];
            if (nvt_record_is_axis(record, m) && member->type == NVT_VALUE_NUMBER &&
                member->number > 0 && (!by || !strcmp(by, member->key)))
                status = add_sweep(sweeps, input, run, member->key);
        }
    }
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

int nvt_sweep_is_iteration(const struct nvt_sweep_item *item)
{
    return item->kind == NVT_SWEEP_RANGE && !strcmp(item->name, "iteration");
}

struct nvt_growth nvt_sweep_growth(const struct nvt_sweep_item *item)
{
    double n[NVT_SWEEP_POINTS], cost[NVT_SWEEP_POINTS];
    for (size_t i = 0; i < item->count; i++) {
        n[i] = item->points[i].n;
        cost[i] = item->points[i].ns;
    }
    return nvt_growth_of(n, cost, item->count);
}

double nvt_sweep_per_unit(const struct nvt_sweep_item *item)
{
    double per_unit = item->points[0].count / item->points[0].n;
    for (size_t i = 0; i < item->count; i++)
        if (!(fabs(item->points[i].count / item->points[i].n / per_unit - 1) < 0.01))
            return 0;
    return per_unit;
}

const struct nvt_sweep_point *nvt_sweep_largest(const struct nvt_sweep_item *item)
{
    const struct nvt_sweep_point *largest = &item->points[0];
    for (size_t i = 1; i < item->count; i++)
        largest = item->points[i].n > largest->n ? &item->points[i] : largest;
    return largest;
}

const struct nvt_sweep_point *nvt_sweep_least(const struct nvt_sweep_item *item)
{
    const struct nvt_sweep_point *least = &item->points[0];
    for (size_t i = 1; i < item->count; i++)
        least = item->points[i].n < least->n ? &item->points[i] : least;
    return least;
}

int nvt_sweep_entry(const struct nvt_sweep_item *item, const struct nvt_sweep_point *point,
                    double *median)
{
    struct window window = {point->trace, NULL, 0};
    const uint32_t rows = count_entries(point->trace, item->kind);
    double *values = malloc(((size_t)rows + 1) * sizeof(*values));
    struct nvt_summary summary;
    struct entry entry;
    size_t count = 0;
    window.rows = nvt_iterations(point->trace, &window.count);
    int status = window.rows && values ? 0 : -1;
    for (uint32_t i = 0; i < rows && !status; i++)
        if (read_entry(point->trace, item->kind, i, &entry) &&
            !strcmp(item->name, nvt_name(point->trace, entry.name)) &&
            holds(&window, entry.moment) != NVT_NONE)
            values[count++] = (double)(entry.span[1] - entry.span[0]);
    if (!status)
        nvt_sample_summary(values, count, &summary);
    *median = status ? 0 : summary.median;
    free(values);
    free(window.rows);
    return status;
}

int nvt_sweep_lies_within(const struct nvt_sweep_item *inner, const struct nvt_sweep_item *outer)
{
    const struct nvt_sweep_point *point = nvt_sweep_largest(inner);
    const struct nvt_ranges *ranges = &point->trace->ranges;
    uint32_t row = 0;
    if (!point->example_count || nvt_sweep_is_iteration(inner))
        return 0;
    if (nvt_sweep_is_iteration(outer))
        return 1;
    while (row < ranges->count &&
           (ranges->start[row] != point->examples[0] ||
            strcmp(inner->name, nvt_name(point->trace, ranges->name[row])) != 0))
        row++;
    while (row < ranges->count && (row = ranges->parent[row]) < ranges->count)
        if (!strcmp(outer->name, nvt_name(point->trace, ranges->name[row])))
            return 1;
    return 0;
}
