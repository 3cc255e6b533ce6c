#include "sweeps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/sample.h"
#include "../input/ranks.h"
#include "curves.h"
#include "../../lib/map.h"
#include "../model/named_iterations.h"

/* --- what took time --------------------------------------------------------------------------- */

/* What it is called, when it was launched or entered, whose it is, and its own time. */
struct entry {
    uint32_t name, domain, thread, process;
    int64_t moment, start, end;
};

static uint32_t count_entries(const struct nvt_trace *trace, enum nvt_sweep_kind kind)
{
    return kind == NVT_SWEEP_RANGE  ? trace->ranges.count
           : kind == NVT_SWEEP_CALL ? trace->apis.count
                                    : trace->ops.count;
}

/* Whether a row counts. */
static int read_entry(const struct nvt_trace *trace, enum nvt_sweep_kind kind, uint32_t i,
                      struct entry *entry)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_ops *ops = &trace->ops;
    if (kind == NVT_SWEEP_RANGE) {
        *entry = (struct entry){ranges->name[i],  ranges->domain[i], ranges->thread[i], NVT_NONE,
                                ranges->start[i], ranges->start[i],  ranges->end[i]};
        return !(ranges->flags[i] & NVT_RANGE_PARTIAL);
    }
    if (kind == NVT_SWEEP_CALL) {
        *entry =
            (struct entry){apis->name[i],  0,           apis->thread[i], NVT_NONE, apis->start[i],
                           apis->start[i], apis->end[i]};
        return 1;
    }
    *entry =
        (struct entry){ops->name[i],  0,          ops->thread[i], ops->process[i], ops->launch[i],
                       ops->start[i], ops->end[i]};
    return ops->launch[i] != INT64_MIN;
}

/* The name behind the domain's. */
static const char *bare_name(const struct nvt_sweep_item *item)
{
    return item->key + item->domain_length + 1;
}

/* Whether an entry of the item's kind is one of it. `name`: the trace's id of its bare name. */
static int is_of(const struct nvt_sweep_item *item, const struct nvt_trace *trace, uint32_t name,
                 const struct entry *entry)
{
    if (entry->name != name)
        return 0;
    if (item->kind != NVT_SWEEP_RANGE)
        return 1;
    const char *domain = nvt_name(trace, trace->domains.name[entry->domain]);
    return strlen(domain) == item->domain_length &&
           !strncmp(domain, item->key, item->domain_length);
}

static uint32_t find_name(const struct nvt_sweep_item *item, const struct nvt_trace *trace)
{
    return nvt_strings_find(trace->strings, bare_name(item), strlen(bare_name(item)));
}

/* --- one run ---------------------------------------------------------------------------------- */

/* A trace, as one of those of a sweep. */
struct member {
    uint32_t sweep; /* from 1 on, in the order of their first runs */
    size_t run;     /* nvt_input_run_numbers */
    const struct nvt_input_trace *from;
    const struct nvt_member *axis;
};

/* What an item took in an iteration; there may be several of one where iterations overlap. */
struct cell {
    size_t iteration;
    double ns;
};

struct cells {
    struct cell *items;
    size_t count, capacity;
    uint64_t entries;
};

/* What is needed while a run is added, and of one of its traces, which are those of its ranks. */
struct work {
    double n;
    struct cells *cells; /* by item */
    size_t cell_count;
    size_t iteration_count; /* of all its traces */
    size_t before;          /* of those before this one */
    const struct nvt_trace *trace;
    struct nvt_named_iterations iterations;
    struct nvt_map item_of; /* by kind or domain, and string */
    struct nvt_map last_of; /* the outermost range, by thread and item */
};

/* Its number, from 1 on. NVT_NO_STRING: out of memory. */
static uint32_t add_name(struct nvt_sweep *sweep, enum nvt_sweep_kind kind, const char *domain,
                         const char *name)
{
    struct nvt_buffer text = {0};
    uint32_t id = NVT_NO_STRING;
    if (!sweep->names)
        sweep->names = nvt_strings_new();
    if (!sweep->shown)
        sweep->shown = nvt_strings_new();
    if (sweep->names && sweep->shown &&
        !nvt_buffer_printf(&text, "%d%s:%s", (int)kind, domain, name))
        id = nvt_strings_add(sweep->names, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    return id;
}

/* How an item is called: by its bare name, unless that is taken or is not enough. 0 or -1. */
static int call(struct nvt_sweep *sweep, struct nvt_sweep_item *item)
{
    const char *name = bare_name(item);
    item->name = name;
    if (item->kind != NVT_SWEEP_RANGE || item->is_iteration)
        return 0;
    if ((item->domain_length && strncmp(item->key, "nvtally:", item->domain_length + 1) != 0) ||
        !strcmp(name, "iteration") ||
        nvt_strings_find(sweep->shown, name, strlen(name)) != NVT_NO_STRING)
        item->name = item->key;
    return nvt_strings_add_text(sweep->shown, item->name) == NVT_NO_STRING ? -1 : 0;
}

/* The item of an entry, new if need be; that of iterations has no domain and no name in the trace. SIZE_MAX: out of memory. */
static size_t find_item(struct nvt_sweep *sweep, enum nvt_sweep_kind kind, const char *domain,
                        const char *name, int is_iteration)
{
    const uint32_t id = add_name(sweep, kind, is_iteration ? "\n" : domain, name);
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
    *item = (struct nvt_sweep_item){.kind = kind,
                                    .key = nvt_strings_get(sweep->names, id, NULL) + 1,
                                    .domain_length = is_iteration ? 1 : strlen(domain),
                                    .is_iteration = is_iteration};
    return call(sweep, item) ? SIZE_MAX : sweep->count++;
}

/* Add to what an item took in an iteration. 0 or -1. */
static int add_cell(struct work *work, size_t index, size_t iteration, double ns)
{
    if (index >= work->cell_count) {
        const size_t count = 2 * index + 32;
        struct cells *all = realloc(work->cells, count * sizeof(*all));
        if (!all)
            return -1;
        memset(all + work->cell_count, 0, (count - work->cell_count) * sizeof(*all));
        work->cells = all;
        work->cell_count = count;
    }
    struct cells *cells = &work->cells[index];
    struct cell *last = cells->count ? &cells->items[cells->count - 1] : NULL;
    cells->entries++;
    if (last && last->iteration == iteration) {
        last->ns += ns;
        return 0;
    }
    if (cells->count == cells->capacity) {
        size_t capacity = cells->capacity ? cells->capacity * 2 : 8;
        struct cell *items = realloc(cells->items, capacity * sizeof(*items));
        if (!items)
            return -1;
        cells->items = items;
        cells->capacity = capacity;
    }
    cells->items[cells->count++] = (struct cell){iteration, ns};
    return 0;
}

/* Begin the item's point of this run. 0 or -1. */
static int begin_point(const struct work *work, const struct nvt_sweep *sweep,
                       struct nvt_sweep_item *item)
{
    if (item->count == item->capacity) {
        size_t capacity = item->capacity ? item->capacity * 2 : 4;
        struct nvt_sweep_point *points = realloc(item->points, capacity * sizeof(*points));
        if (!points)
            return -1;
        item->points = points;
        item->capacity = capacity;
    }
    item->points[item->count++] =
        (struct nvt_sweep_point){.n = work->n, .trace = work->trace, .run = sweep->runs};
    return 0;
}

/* The item of a row. NULL: out of memory. */
static struct nvt_sweep_item *item_of(struct work *work, struct nvt_sweep *sweep,
                                      enum nvt_sweep_kind kind, const struct entry *entry,
                                      int is_iteration)
{
    /* Domains are fewer than ranges, and those than 2^32 - 8. */
    const uint32_t whose = is_iteration              ? UINT32_MAX
                           : kind == NVT_SWEEP_RANGE ? (uint32_t)NVT_SWEEP_KINDS + entry->domain
                                                     : (uint32_t)kind;
    const uint32_t name = is_iteration ? 0 : entry->name;
    uint32_t *at = nvt_map_at(&work->item_of, (uint64_t)whose << 32 | name);
    if (at && *at == NVT_MAP_NONE) {
        const struct nvt_trace *trace = work->trace;
        const char *domain =
            kind == NVT_SWEEP_RANGE ? nvt_name(trace, trace->domains.name[entry->domain]) : "";
        size_t index =
            find_item(sweep, kind, domain,
                      is_iteration ? "iteration" : nvt_name(trace, entry->name), is_iteration);
        if (index == SIZE_MAX)
            return NULL;
        *at = (uint32_t)index;
    }
    return at && sweep->items ? &sweep->items[*at] : NULL;
}

/* Whether a range lies in one of its thread and item, whose time it is then. 1, 0, or -1 when out of memory. */
static int is_within_itself(struct work *work, uint32_t row, size_t index)
{
    const struct nvt_ranges *ranges = &work->trace->ranges;
    if (ranges->style[row] != NVT_PUSH_POP)
        return 0;
    uint32_t *last = nvt_map_at(&work->last_of, (uint64_t)ranges->thread[row] << 32 | index);
    if (!last)
        return -1;
    if (*last != NVT_MAP_NONE && ranges->end[row] <= ranges->end[*last])
        return 1;
    *last = row;
    return 0;
}

static int add_entry(struct work *work, struct nvt_sweep *sweep, enum nvt_sweep_kind kind,
                     uint32_t row, const struct entry *entry)
{
    uint32_t at = nvt_iteration_at(&work->iterations, entry->thread, entry->process, entry->moment);
    if (at == NVT_NONE)
        return 0;
    const int is_iteration = kind == NVT_SWEEP_RANGE && work->iterations.rows[at] == row;
    struct nvt_sweep_item *item = item_of(work, sweep, kind, entry, is_iteration);
    if (!item)
        return -1;
    const size_t index = (size_t)(item - sweep->items);
    const int is_inner = kind == NVT_SWEEP_RANGE ? is_within_itself(work, row, index) : 0;
    if (is_inner < 0 || add_cell(work, index, work->before + at,
                                 is_inner ? 0 : (double)(entry->end - entry->start)))
        return -1;
    if (work->cells[index].entries == 1 && begin_point(work, sweep, item))
        return -1;
    struct nvt_sweep_point *point = &item->points[item->count - 1];
    if (point->example_count < NVT_SWEEP_EXAMPLES && point->trace == work->trace)
        point->examples[point->example_count++] = entry->start;
    return 0;
}

/* What an item took in each iteration, 0 where it is not. In how many it is. */
static size_t add_up_cells(const struct cells *cells, size_t iterations, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < iterations; i++)
        values[i] = NAN;
    for (size_t i = 0; i < cells->count; i++) {
        double *value = &values[cells->items[i].iteration];
        count += isnan(*value) ? 1 : 0;
        *value = (isnan(*value) ? 0 : *value) + cells->items[i].ns;
    }
    for (size_t i = 0; i < iterations; i++)
        if (isnan(values[i]))
            values[i] = 0;
    return count;
}

/* What an item took in each iteration becomes what one costs. */
static void end_point(const struct cells *cells, size_t iterations, double *values,
                      struct nvt_sweep_point *point)
{
    struct nvt_summary summary = {.median = 0};
    double sum = 0;
    for (size_t i = 0; i < cells->count; i++)
        sum += cells->items[i].ns;
    /* In fewer than half of them the median is 0, and in half of them it is half of the least. */
    if (2 * add_up_cells(cells, iterations, values) > iterations)
        nvt_sample_summary(values, iterations, &summary);
    point->mean_ns = sum / (double)iterations;
    point->ns = summary.median;
    point->count = (double)cells->entries / (double)iterations;
}

/* Add up what lies in the iterations of one of its traces. 0 or -1. */
static int add_trace(struct work *work, struct nvt_sweep *sweep, const struct nvt_trace *trace)
{
    struct entry entry;
    work->trace = trace;
    work->before = work->iteration_count;
    int status = nvt_named_iterations_of(&work->iterations, trace);
    work->iteration_count += work->iterations.count;
    for (enum nvt_sweep_kind kind = 0; kind < NVT_SWEEP_KINDS && work->iterations.count; kind++)
        for (uint32_t i = 0; i < count_entries(trace, kind) && !status; i++)
            if (read_entry(trace, kind, i, &entry))
                status = add_entry(work, sweep, kind, i, &entry);
    nvt_map_free(&work->item_of);
    nvt_map_free(&work->last_of);
    work->item_of = work->last_of = (struct nvt_map){0};
    nvt_named_iterations_free(&work->iterations);
    return status;
}

/* Add a run, the members of that number. 0 or -1. */
static int add_run(struct nvt_sweep *sweep, const struct member *members, size_t count, size_t run)
{
    struct work work = {0};
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (members[i].run != run)
            continue;
        work.n = members[i].axis->number;
        status = add_trace(&work, sweep, members[i].from->trace);
    }
    double *values = malloc((work.iteration_count + 1) * sizeof(*values));
    status = values ? status : -1;
    for (size_t i = 0; i < work.cell_count && i < sweep->count && !status; i++)
        if (work.cells[i].count)
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what has entries has a point */
            end_point(&work.cells[i], work.iteration_count, values,
                      &sweep->items[i].points[sweep->items[i].count - 1]);
    for (size_t i = 0; i < work.cell_count; i++)
        free(work.cells[i].items);
    free(work.cells);
    free(values);
    sweep->runs++;
    return status;
}

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
    struct nvt_summary summary;
    for (size_t i = 0; i < count; i++)
        memcpy(&scratch[i], (const char *)&points[i] + offset, sizeof(*scratch));
    nvt_sample_summary(scratch, count, &summary);
    return summary.median;
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

struct members {
    struct member *items;
    size_t count, capacity;
    size_t *runs;               /* of the traces of the input */
    struct nvt_strings *sweeps; /* "axis\nworkload\nrest" */
};

static const struct nvt_record *record_of(const struct nvt_input_trace *from)
{
    return from->runs ? &from->runs->records[from->record] : NULL;
}

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
    const char *workload = nvt_record_text(record_of(from), "workload");
    char *rest = nvt_record_sorted_axes(record_of(from), axis->key);
    uint32_t id = NVT_NO_STRING;
    if (rest && !nvt_buffer_printf(&text, "%s\n%s\n%s", axis->key, workload ? workload : "", rest))
        id = nvt_strings_add(members->sweeps, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    free(rest);
    if (id == NVT_NO_STRING)
        return -1;
    if (members->count == members->capacity) {
        size_t capacity = members->capacity ? members->capacity * 2 : 32;
        struct member *items = realloc(members->items, capacity * sizeof(*items));
        if (!items)
            return -1;
        members->items = items;
        members->capacity = capacity;
    }
    members->items[members->count++] = (struct member){id, run, from, axis};
    return 0;
}

static int find_members(struct members *members, const struct nvt_report_input *input,
                        const char *by)
{
    for (size_t run = 0; run < input->trace_count; run++) {
        const struct nvt_record *record = record_of(&input->traces[run]);
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

/* Append the sweep of these runs. 0 or -1. */
static int add_sweep(struct nvt_sweeps *sweeps, const struct member *members, size_t count)
{
    const char *axis = members->axis->key;
    struct nvt_sweep sweep = {.where = rest_of(record_of(members->from), axis), .axis = axis};
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
        status = add_run(&sweep, members, count, members[i].run);
    }
    if (!status)
        status = end_sweep(&sweep);
    if (!status && sweeps->count == sweeps->capacity) {
        size_t capacity = sweeps->capacity ? 2 * sweeps->capacity : 8;
        struct nvt_sweep *items = realloc(sweeps->items, capacity * sizeof(*items));
        status = items ? 0 : -1;
        sweeps->items = items ? items : sweeps->items;
        sweeps->capacity = items ? capacity : sweeps->capacity;
    }
    if (status)
        free_sweep(&sweep);
    else
        sweeps->items[sweeps->count++] = sweep;
    return status;
}

int nvt_sweeps_of(const struct nvt_report_input *input, const char *by, struct nvt_sweeps *sweeps,
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
    const uint32_t rows = count_entries(trace, item->kind), name = find_name(item, trace);
    double *values = malloc(((size_t)rows + 1) * sizeof(*values));
    struct nvt_named_iterations iterations = {0};
    struct nvt_summary summary;
    struct entry entry;
    size_t count = 0;
    int status = nvt_named_iterations_of(&iterations, trace) || !values ? -1 : 0;
    for (uint32_t i = 0; i < rows && !status; i++)
        if (read_entry(trace, item->kind, i, &entry) && is_of(item, trace, name, &entry) &&
            nvt_iteration_at(&iterations, entry.thread, entry.process, entry.moment) != NVT_NONE)
            values[count++] = (double)(entry.end - entry.start);
    if (!status)
        nvt_sample_summary(values, count, &summary);
    *median = status ? 0 : summary.median;
    free(values);
    nvt_named_iterations_free(&iterations);
    return status;
}

/* The first range that begins there or later. */
static uint32_t range_from(const struct nvt_ranges *ranges, int64_t start)
{
    uint32_t low = 0, high = ranges->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges->start[middle] < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int is_row_of(const struct nvt_sweep_item *item, const struct nvt_trace *trace,
                     uint32_t name, uint32_t row)
{
    struct entry entry;
    read_entry(trace, NVT_SWEEP_RANGE, row, &entry);
    return is_of(item, trace, name, &entry);
}

int nvt_sweep_lies_within(const struct nvt_sweep_item *inner, const struct nvt_sweep_item *outer)
{
    const struct nvt_sweep_point *point = nvt_sweep_largest(inner)->point;
    const struct nvt_trace *trace = point->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    if (inner->is_iteration || outer->is_iteration)
        return !inner->is_iteration;
    const uint32_t name = find_name(inner, trace), outer_name = find_name(outer, trace);
    uint32_t row = range_from(ranges, point->examples[0]);
    while (row < ranges->count && ranges->start[row] == point->examples[0] &&
           !is_row_of(inner, trace, name, row))
        row++;
    while (row < ranges->count && (row = ranges->parent[row]) < ranges->count)
        if (is_row_of(outer, trace, outer_name, row))
            return 1;
    return 0;
}
