#include "sweep_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../../lib/sample.h"
#include "../model/named_iterations.h"
#include "sweep_rows.h"

/* What an item took in an iteration; there may be several of one where iterations overlap. */
struct cell {
    size_t iteration;
    double ns;
};

struct cells {
    struct cell *items;
    size_t count;
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

/* The number of an item's name, from 1 on. NVT_NO_STRING: out of memory. */
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
    const char *name = nvt_sweep_bare_name(item);
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
    if (nvt_grow(&sweep->items, sweep->count, sizeof(*sweep->items)))
        return SIZE_MAX;
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
    if (nvt_reserve_zeroed(&work->cells, &work->cell_count, index + 1, sizeof(*work->cells)))
        return -1;
    struct cells *cells = &work->cells[index];
    struct cell *last = cells->count ? &cells->items[cells->count - 1] : NULL;
    cells->entries++;
    if (last && last->iteration == iteration) {
        last->ns += ns;
        return 0;
    }
    if (nvt_grow(&cells->items, cells->count, sizeof(*cells->items)))
        return -1;
    cells->items[cells->count++] = (struct cell){iteration, ns};
    return 0;
}

/* Begin the item's point of this run. 0 or -1. */
static int begin_point(const struct work *work, const struct nvt_sweep *sweep,
                       struct nvt_sweep_item *item)
{
    if (nvt_grow(&item->points, item->count, sizeof(*item->points)))
        return -1;
    item->points[item->count++] =
        (struct nvt_sweep_point){.n = work->n, .trace = work->trace, .run = sweep->runs};
    return 0;
}

/* The item of a row. NULL: out of memory. */
static struct nvt_sweep_item *item_of(struct work *work, struct nvt_sweep *sweep,
                                      enum nvt_sweep_kind kind, const struct nvt_sweep_row *entry,
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
                     uint32_t row, const struct nvt_sweep_row *entry)
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
    double sum = 0;
    for (size_t i = 0; i < cells->count; i++)
        sum += cells->items[i].ns;
    /* In fewer than half of them the median is 0, and in half of them it is half of the least. */
    const int is_most = 2 * add_up_cells(cells, iterations, values) > iterations;
    point->mean_ns = sum / (double)iterations;
    point->ns = is_most ? nvt_sample_median(values, iterations) : 0;
    point->count = (double)cells->entries / (double)iterations;
}

/* Add up what lies in the iterations of one of its traces. 0 or -1. */
static int add_trace(struct work *work, struct nvt_sweep *sweep, const struct nvt_trace *trace)
{
    struct nvt_sweep_row entry;
    work->trace = trace;
    work->before = work->iteration_count;
    int status = nvt_named_iterations_of(&work->iterations, trace);
    work->iteration_count += work->iterations.count;
    for (enum nvt_sweep_kind kind = 0; kind < NVT_SWEEP_KINDS && work->iterations.count; kind++)
        for (uint32_t i = 0; i < nvt_sweep_row_count(trace, kind) && !status; i++)
            if (nvt_sweep_row_read(trace, kind, i, &entry))
                status = add_entry(work, sweep, kind, i, &entry);
    nvt_map_free(&work->item_of);
    nvt_map_free(&work->last_of);
    work->item_of = work->last_of = (struct nvt_map){0};
    nvt_named_iterations_free(&work->iterations);
    return status;
}

int nvt_sweep_add_run(struct nvt_sweep *sweep, double n, const struct nvt_trace *const *traces,
                      size_t count)
{
    struct work work = {.n = n};
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = add_trace(&work, sweep, traces[i]);
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
