#include "stack_changes.h"

#include <stdlib.h>
#include <string.h>

#include "../device/project.h"
#include "../model/named_iterations.h"
#include "../model/workload_ranges.h"

enum { PARENT_BITS = 30, NAME_BITS = 30 };

/* The row of a path, new or old; NVT_NONE: out of memory. */
static uint32_t row_of(struct nvt_stack_changes *changes, uint32_t parent, uint32_t name,
                       uint32_t kind)
{
    const uint64_t key = (uint64_t)(parent + 1) << (64 - PARENT_BITS) | (uint64_t)name << 4 | kind;
    if (name >> NAME_BITS || changes->count >> (PARENT_BITS - 1))
        return NVT_NONE;
    struct nvt_stack_change *change =
        nvt_map_item(&changes->by_path, key, &changes->items, &changes->count, sizeof(*change));
    if (!change)
        return NVT_NONE;
    change->parent = parent;
    change->name = name;
    change->kind = kind;
    change->depth = parent == NVT_NONE ? 0 : changes->items[parent].depth + 1;
    return (uint32_t)(change - changes->items);
}

/* Whether a name is a configuration's: "<workload> key=value …". */
static int is_configuration(const char *name)
{
    const char *behind = name + nvt_configuration_workload(name);
    return *behind == ' ' && strchr(behind, '=');
}

/* Whether a stack is the iteration of a configuration, in the outermost range that names this. */
static int is_of_configuration(const struct nvt_stacks *stacks, uint32_t i)
{
    const struct nvt_stack *stack = &stacks->items[i];
    if (stack->kind != NVT_STACK_RANGE || stack->parent == NVT_NONE ||
        strcmp(nvt_stacks_name(stacks, i), "iteration") != 0)
        return 0;
    const struct nvt_stack *around = &stacks->items[stack->parent];
    return around->kind == NVT_STACK_RANGE && around->parent == NVT_NONE &&
           is_configuration(nvt_stacks_name(stacks, stack->parent));
}

/* Of a stack and of those below it. */
struct counts {
    uint64_t all, inside;
};

static void add_stack(struct nvt_stack_change *row, size_t side, const struct nvt_stack *stack,
                      const struct counts *counts)
{
    row->total[side] += (double)stack->total;
    row->count[side] += counts->all;
    row->inside[side] += (double)stack->inside;
    row->inside_count[side] += counts->inside;
}

static void take_stack(struct nvt_stack_change *row, size_t side, const struct nvt_stack *stack,
                       const struct counts *counts)
{
    row->total[side] -= (double)stack->total;
    row->count[side] -= counts->all;
    row->inside[side] -= (double)stack->inside;
    row->inside_count[side] -= counts->inside;
}

/* Parents are lower rows. */
static int add_rows(struct nvt_stack_changes *changes, size_t side, const struct nvt_stacks *stacks)
{
    uint32_t *rows = malloc(((size_t)stacks->count + 1) * sizeof(*rows));
    struct counts *counts = calloc((size_t)stacks->count + 1, sizeof(*counts));
    int status = rows && counts ? 0 : -1;
    for (uint32_t i = 0; i < stacks->count && !status; i++)
        counts[i] = (struct counts){stacks->items[i].count, stacks->items[i].inside_count};
    for (uint32_t i = stacks->count; i-- > 0 && !status;)
        if (stacks->items[i].parent != NVT_NONE) {
            counts[stacks->items[i].parent].all += counts[i].all;
            counts[stacks->items[i].parent].inside += counts[i].inside;
        }
    for (uint32_t i = 0; i < stacks->count && !status; i++) {
        const struct nvt_stack *stack = &stacks->items[i];
        const uint32_t name = nvt_strings_add_text(changes->names, nvt_stacks_name(stacks, i));
        const int is_apart = is_of_configuration(stacks, i);
        const uint32_t parent =
            stack->parent == NVT_NONE || is_apart ? NVT_NONE : rows[stack->parent];
        rows[i] = name == NVT_NO_STRING ? NVT_NONE : row_of(changes, parent, name, stack->kind);
        status = rows[i] == NVT_NONE ? -1 : 0;
        if (status)
            break;
        add_stack(&changes->items[rows[i]], side, stack, &counts[i]);
        if (is_apart)
            take_stack(&changes->items[rows[stack->parent]], side, stack, &counts[i]);
    }
    free(rows);
    free(counts);
    return status;
}

int nvt_stack_changes_add(struct nvt_stack_changes *changes, size_t side,
                          const struct nvt_trace *trace, struct nvt_error *err)
{
    /* What says little is left out by its name alone, so that it is on both sides. */
    const unsigned flags = NVT_ACROSS_WAITS | NVT_STACKS_NO_FUNCTIONS | NVT_STACKS_ALIKE |
                           NVT_STACKS_NO_UNSEEN | NVT_STACKS_SHORT | NVT_STACKS_ALL_LIBRARIES |
                           NVT_STACKS_INSIDE;
    struct nvt_stacks stacks = {0};
    if (!changes->names)
        changes->names = nvt_strings_new();
    int status = changes->names ? 0 : nvt_fail(err, "out of memory");
    if (!status)
        status = nvt_stacks_make(&stacks, trace, changes->what, flags, err);
    if (!status && stacks.total > 0) {
        changes->total[side] += (double)stacks.total;
        changes->inside[side] += (double)stacks.inside;
        changes->iterations[side] += stacks.iterations;
        changes->lacks_iterations |= !stacks.iterations;
        changes->traces[side]++;
        changes->unseen[side] += (double)stacks.unseen;
        changes->counts_samples |= stacks.counts_samples;
        changes->has_times |= !stacks.counts_samples;
        changes->has_alike |= stacks.has_alike;
        if (add_rows(changes, side, &stacks))
            status = nvt_fail(err, "out of memory");
    }
    nvt_stacks_free(&stacks);
    return status;
}

void nvt_stack_changes_free(struct nvt_stack_changes *changes)
{
    free(changes->items);
    nvt_strings_free(changes->names);
    nvt_map_free(&changes->by_path);
    *changes = (struct nvt_stack_changes){.what = changes->what};
}

int nvt_stack_changes_are_inside(const struct nvt_stack_changes *changes)
{
    for (size_t side = 0; side < NVT_SIDES; side++)
        if (changes->total[side] > 0 && !(changes->inside[side] > 0))
            return 0;
    return !changes->lacks_iterations;
}

double nvt_stack_changes_units(const struct nvt_stack_changes *changes, size_t side)
{
    return (double)(nvt_stack_changes_are_inside(changes) ? changes->iterations[side]
                                                          : changes->traces[side]);
}

double nvt_stack_changes_value(const struct nvt_stack_changes *changes, size_t side)
{
    const double units = nvt_stack_changes_units(changes, side);
    const double sum =
        nvt_stack_changes_are_inside(changes) ? changes->inside[side] : changes->total[side];
    return units > 0 ? sum / units : 0;
}

int nvt_stack_changes_has(const struct nvt_stack_changes *changes, size_t a, size_t b)
{
    return changes->total[a] > 0 && changes->total[b] > 0 &&
           !(changes->counts_samples && changes->has_times);
}

/* --- order --- */

struct place {
    uint32_t row, parent; /* parent: of none 0, else its row and 1 */
    double size;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

uint32_t *nvt_stack_changes_order(const struct nvt_stack_changes *changes, size_t a, size_t b)
{
    struct place *places = malloc(((size_t)changes->count + 1) * sizeof(*places));
    uint32_t *order = malloc(((size_t)changes->count + 1) * sizeof(*order));
    if (!places || !order) {
        free(places);
        free(order);
        return NULL;
    }
    for (uint32_t i = 0; i < changes->count; i++) {
        const double left = nvt_stack_change_value(changes, i, a);
        const double right = nvt_stack_change_value(changes, i, b);
        places[i] = (struct place){i, changes->items[i].parent + 1, left > right ? left : right};
    }
    /* What is around a row is a lower one, so its brothers come before those of the row. */
    if (changes->count)
        qsort(places, changes->count, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < changes->count; i++)
        order[i] = places[i].row;
    free(places);
    return order;
}
