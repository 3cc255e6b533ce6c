#include "stacks_build.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../model/alike_names.h"
#include "../model/cover.h"
#include "../model/cuda_names.h"
#include "../model/plain_names.h"
#include "../device/project.h"
#include "calls_by_range.h"

/* --- rows --- */

static uint32_t new_row(struct nvt_stacks_build *build, uint32_t parent, uint32_t name,
                        uint32_t kind)
{
    struct nvt_stacks *stacks = build->stacks;
    if (nvt_grow(&stacks->items, stacks->count, sizeof(*stacks->items)))
        return NVT_NONE;
    stacks->items[stacks->count] = (struct nvt_stack){
        .parent = parent,
        .name = name,
        .depth = parent == NVT_NONE ? 0 : stacks->items[parent].depth + 1,
        .kind = kind,
        .op = NVT_NONE,
        .at = INT64_MIN,
    };
    return stacks->count++;
}

uint32_t nvt_stacks_row(struct nvt_stacks_build *build, uint32_t parent, uint32_t name,
                        uint32_t kind)
{
    if (name == NVT_NO_STRING)
        return NVT_NONE;
    uint64_t key = (uint64_t)(parent + 1) << 32 | (uint64_t)(kind != NVT_STACK_RANGE) << 31 | name;
    uint32_t *at = nvt_map_at(&build->by_path, key);
    if (at && *at == NVT_MAP_NONE)
        *at = new_row(build, parent, name, kind);
    return at ? *at : NVT_NONE;
}

uint32_t nvt_stacks_row_of(struct nvt_stacks_build *build, uint32_t parent, const char *name,
                           uint32_t kind)
{
    return nvt_stacks_row(build, parent, nvt_strings_add_text(build->stacks->names, name), kind);
}

uint32_t nvt_stacks_name_of(struct nvt_stacks_build *build, uint32_t string)
{
    uint32_t *known = &build->translated[string];
    if (*known == NVT_NONE) {
        char *plain = nvt_plain_name(nvt_name(build->trace, string));
        *known = plain ? nvt_strings_add_text(build->stacks->names, plain) : NVT_NO_STRING;
        free(plain);
    }
    return *known;
}

/* Find the names of ranges that are alike. 0, or -1 when out of memory. */
static int find_alike(struct nvt_stacks_build *build)
{
    for (uint32_t i = 0; i < build->trace->ranges.count; i++)
        if (nvt_stacks_name_of(build, build->trace->ranges.name[i]) == NVT_NO_STRING)
            return -1;
    build->alike = nvt_alike_names(build->stacks->names, &build->stacks->has_alike);
    return build->alike ? 0 : -1;
}

/* The name of a range's row. */
static uint32_t range_name(struct nvt_stacks_build *build, uint32_t range)
{
    uint32_t name = nvt_stacks_name_of(build, build->trace->ranges.name[range]);
    return build->alike && name != NVT_NO_STRING ? build->alike[name] : name;
}

int nvt_stacks_place_ranges(struct nvt_stacks_build *build)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    const uint32_t *parent = build->nesting.parent;
    for (uint32_t i = ranges->count; i-- > 0;)
        if (build->is_wanted[i] && parent[i] != NVT_NONE)
            build->is_wanted[parent[i]] = 1;
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint32_t around = parent[i] == NVT_NONE ? NVT_NONE : build->row_of[parent[i]];
        build->row_of[i] = around;
        if (!build->is_wanted[i] || nvt_is_function_of(build->trace, build->functions, i))
            continue;
        build->row_of[i] = nvt_stacks_row(build, around, range_name(build, i), NVT_STACK_RANGE);
        if (build->row_of[i] == NVT_NONE)
            return -1;
    }
    return 0;
}

void nvt_stacks_add(struct nvt_stack *stack, uint64_t count, int64_t ns)
{
    stack->count += count;
    stack->self = nvt_clock_sum(stack->self, ns);
}

/* --- time of the host --- */

/* What a call takes is none of the range's own time. 0, or -1 when out of memory. */
static int add_call(struct nvt_stacks_build *build, const struct nvt_thread_ranges *holders,
                    const struct nvt_held_calls *calls, uint32_t call)
{
    int64_t ns = calls->end[call] - calls->start[call];
    uint32_t range =
        nvt_holder_of(holders, calls->thread[call], calls->start[call], calls->end[call]);
    uint32_t around = range == NVT_NONE ? NVT_NONE : build->row_of[range];
    if (around == NVT_NONE)
        return 0;
    uint32_t row =
        nvt_stacks_row(build, around, nvt_stacks_name_of(build, calls->name[call]), NVT_STACK_CALL);
    if (row == NVT_NONE)
        return -1;
    nvt_stacks_add(&build->stacks->items[row], 1, ns);
    nvt_stacks_add(&build->stacks->items[around], 0, -ns);
    if (nvt_stacks_is_range_inside(build, range)) {
        nvt_stacks_add_inside(&build->stacks->items[row], 1, ns);
        nvt_stacks_add_inside(&build->stacks->items[around], 0, -ns);
    }
    return 0;
}

/* Both tables by their starts at once, so that what MPI calls of the system is a part of MPI's. */
static int add_calls(struct nvt_stacks_build *build)
{
    const struct nvt_trace *trace = build->trace;
    const struct nvt_mpi_calls *mpi = &trace->mpi_calls;
    const struct nvt_os_calls *os = &trace->os_calls;
    const struct nvt_held_calls tables[] = {{.count = mpi->count,
                                             .start = mpi->start,
                                             .end = mpi->end,
                                             .thread = mpi->thread,
                                             .name = mpi->name},
                                            {.count = os->count,
                                             .start = os->start,
                                             .end = os->end,
                                             .thread = os->thread,
                                             .name = os->name}};
    struct nvt_thread_ranges holders = {0};
    int64_t *until = malloc(((size_t)trace->threads.count + 1) * sizeof(*until));
    int status = until ? nvt_thread_ranges_make(&holders, trace, NULL) : -1;
    for (uint32_t t = 0; t < trace->threads.count && !status; t++)
        until[t] = INT64_MIN;
    for (uint32_t i = 0, k = 0; i < mpi->count + os->count && !status; i++) {
        int is_os = k == mpi->count || (i - k < os->count && os->start[i - k] < mpi->start[k]);
        uint32_t call = is_os ? i - k : k;
        const struct nvt_held_calls *table = &tables[is_os];
        k += !is_os;
        if (nvt_cover_begins(&until[table->thread[call]], table->start[call], table->end[call]))
            status = add_call(build, &holders, table, call);
    }
    nvt_thread_ranges_free(&holders);
    free(until);
    return status;
}

static int add_host(struct nvt_stacks_build *build)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        build->is_wanted[i] = ranges->style[i] == NVT_PUSH_POP;
    if (nvt_stacks_place_ranges(build))
        return -1;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const int64_t self = ranges->end[i] - ranges->start[i] - build->nesting.children_ns[i];
        const uint64_t counts = !nvt_is_function_of(build->trace, build->functions, i);
        if (!build->is_wanted[i] || build->row_of[i] == NVT_NONE)
            continue;
        nvt_stacks_add(&build->stacks->items[build->row_of[i]], counts, self);
        if (nvt_stacks_is_range_inside(build, i))
            nvt_stacks_add_inside(&build->stacks->items[build->row_of[i]], counts, self);
    }
    return build->trace->mpi_calls.count || build->trace->os_calls.count ? add_calls(build) : 0;
}

/* --- time of the devices --- */

int nvt_stacks_find_place(void *context, uint32_t op, const uint32_t *rows, uint32_t count)
{
    struct nvt_stacks_build *build = context;
    const struct nvt_ranges *ranges = &build->trace->ranges;
    struct nvt_stacks_place *place = &build->places[op];
    *place = (struct nvt_stacks_place){NVT_NONE, NVT_NONE};
    for (uint32_t i = 0; i < count; i++)
        if (ranges->style[rows[i]] == NVT_PUSH_POP) {
            int is_own = ranges->thread[rows[i]] == build->threads[op];
            *(is_own ? &place->own : &place->lent) = rows[i];
        }
    if (count && nvt_stacks_outer(place) == NVT_NONE)
        place->own = rows[count - 1];
    if (nvt_stacks_outer(place) != NVT_NONE)
        build->is_wanted[nvt_stacks_outer(place)] = 1;
    return 0;
}

uint32_t nvt_stacks_row_below(struct nvt_stacks_build *build, uint32_t row, uint32_t range)
{
    uint32_t path[NVT_NESTING_DEPTH], depth = 0;
    for (uint32_t at = range; at != NVT_NONE && depth < NVT_NESTING_DEPTH;
         at = build->nesting.parent[at])
        path[depth++] = at;
    while (depth && row != NVT_NONE) {
        uint32_t next = path[--depth];
        if (!nvt_is_function_of(build->trace, build->functions, next))
            row = nvt_stacks_row(build, row, range_name(build, next), NVT_STACK_RANGE);
    }
    return row;
}

/* The row that an operation stands in: 0 and the row, NVT_NONE at the top, or -1 when out of memory. */
static int row_around(struct nvt_stacks_build *build, uint32_t op, uint32_t *row)
{
    const struct nvt_stacks_place *place = &build->places[op];
    const struct nvt_ops *ops = &build->trace->ops;
    uint32_t outer = nvt_stacks_outer(place);
    *row = outer == NVT_NONE ? NVT_NONE : build->row_of[outer];
    if (*row == NVT_NONE && build->trace->ranges.count) {
        int is_known = ops->thread[op] != NVT_NONE && ops->launch[op] != INT64_MIN;
        const char *name = is_known ? NVT_STACKS_NOWHERE : NVT_STACKS_UNKNOWN;
        *row = nvt_stacks_row_of(build, NVT_NONE, name, NVT_STACK_RANGE);
        return *row == NVT_NONE ? -1 : 0;
    }
    if (place->lent != NVT_NONE && place->own != NVT_NONE) {
        *row = nvt_stacks_row_below(build, *row, place->own);
        return *row == NVT_NONE ? -1 : 0;
    }
    return 0;
}

/* What a kernel is called (nvt_telling_name), by its whole name. */
static uint32_t kernel_name(struct nvt_stacks_build *build, uint32_t name)
{
    char telling[NVT_TELLING_NAME_MAX];
    uint32_t *known = &build->kernels[name];
    if (*known == NVT_NONE) {
        const char *whole = nvt_name(build->trace, name);
        *known = nvt_strings_add_text(build->stacks->names,
                                      nvt_telling_name(whole, strlen(whole), telling));
    }
    return *known;
}

static int add_ops(struct nvt_stacks_build *build)
{
    const struct nvt_ops *ops = &build->trace->ops;
    const size_t strings = (size_t)nvt_strings_count(build->trace->strings) + 1;
    build->kernels = malloc(strings * sizeof(*build->kernels));
    if (!build->kernels)
        return -1;
    for (size_t i = 0; i < strings; i++)
        build->kernels[i] = NVT_NONE;
    for (uint32_t i = 0; i < ops->count; i++) {
        const int is_kernel = ops->kind[i] == NVT_OP_KERNEL;
        uint32_t around, name = is_kernel ? kernel_name(build, ops->name[i])
                                          : nvt_stacks_name_of(build, ops->name[i]);
        if (row_around(build, i, &around))
            return -1;
        uint32_t row =
            nvt_stacks_row(build, around, name, is_kernel ? NVT_STACK_KERNEL : NVT_STACK_MEMORY);
        if (row == NVT_NONE)
            return -1;
        if (build->stacks->items[row].op == NVT_NONE)
            build->stacks->items[row].op = i;
        nvt_stacks_add(&build->stacks->items[row], 1, ops->end[i] - ops->start[i]);
        if (nvt_stacks_is_inside(build, ops->thread[i], ops->process[i],
                                 ops->launch[i] == INT64_MIN ? ops->start[i] : ops->launch[i]))
            nvt_stacks_add_inside(&build->stacks->items[row], 1, ops->end[i] - ops->start[i]);
    }
    return 0;
}

static int add_devices(struct nvt_stacks_build *build, unsigned flags)
{
    build->places = malloc(((size_t)build->trace->ops.count + 1) * sizeof(*build->places));
    build->threads = build->trace->ops.thread;
    if (!build->places ||
        nvt_project(build->trace, flags & NVT_PROJECT_FLAGS, nvt_stacks_find_place, build, NULL))
        return -1;
    return nvt_stacks_place_ranges(build) ? -1 : add_ops(build);
}

/* --- totals and order --- */

static int by_place(const void *left, const void *right, void *context)
{
    const struct nvt_stacks *stacks = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct nvt_stack *x = &stacks->items[a], *y = &stacks->items[b];
    if (x->parent != y->parent) /* the top, NVT_NONE, comes first */
        return x->parent + 1 < y->parent + 1 ? -1 : 1;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    int names = strcmp(nvt_stacks_name(stacks, a), nvt_stacks_name(stacks, b));
    return names ? names : a < b ? -1 : a > b;
}

/*
 * Rows by their parents lie in blocks, which are put one into the other: a stack of what is to be
 * put, the children of a row in place of it, the first of them on top.
 */
static int put_in_order(struct nvt_stacks *stacks)
{
    size_t count = stacks->count;
    uint32_t *sorted = malloc((count + 1) * sizeof(*sorted)), used = 0, put = 0;
    uint32_t *first = calloc(count + 2, sizeof(*first)); /* of row p at p + 1, of the top at 0 */
    uint32_t *waiting = malloc((count + 1) * sizeof(*waiting));
    stacks->order = malloc((count + 1) * sizeof(*stacks->order));
    int status = sorted && first && waiting && stacks->order ? 0 : -1;
    for (uint32_t i = 0; i < count && !status; i++)
        sorted[i] = i;
    if (!status && count)
        qsort_r(sorted, count, sizeof(*sorted), by_place, stacks);
    for (uint32_t i = 0; i < count && !status; i++)
        if (!i || stacks->items[sorted[i]].parent != stacks->items[sorted[i - 1]].parent)
            first[stacks->items[sorted[i]].parent + 1] = i + 1;
    for (uint32_t parent = NVT_NONE; !status;) {
        uint32_t begin = first[parent + 1], end = begin;
        while (begin && end <= count && stacks->items[sorted[end - 1]].parent == parent)
            end++;
        while (end > begin)
            waiting[used++] = sorted[--end - 1];
        if (!used)
            break;
        parent = stacks->order[put++] = waiting[--used];
    }
    free(sorted);
    free(first);
    free(waiting);
    return status;
}

/* Parents are lower rows. */
static void add_up(struct nvt_stacks *stacks)
{
    for (uint32_t i = stacks->count; i-- > 0;) {
        struct nvt_stack *stack = &stacks->items[i];
        struct nvt_stack *around = stack->parent == NVT_NONE ? NULL : &stacks->items[stack->parent];
        int64_t *above = around ? &around->total : &stacks->total;
        int64_t *above_inside = around ? &around->inside : &stacks->inside;
        stack->total = nvt_clock_sum(stack->total, stack->self);
        *above = nvt_clock_sum(*above, stack->total);
        *above_inside = nvt_clock_sum(*above_inside, stack->inside);
    }
}

/* Names, nesting and room. 0, or -1 when out of memory. */
static int begin(struct nvt_stacks_build *build, unsigned flags)
{
    const struct nvt_trace *trace = build->trace;
    size_t strings = nvt_strings_count(trace->strings), ranges = trace->ranges.count;
    build->stacks->names = nvt_strings_new();
    build->translated = malloc((strings + 1) * sizeof(*build->translated));
    build->row_of = malloc((ranges + 1) * sizeof(*build->row_of));
    build->is_wanted = calloc(ranges + 1, 1);
    if (!build->stacks->names || !build->translated || !build->row_of || !build->is_wanted)
        return -1;
    for (size_t i = 0; i < strings; i++)
        build->translated[i] = NVT_NONE;
    build->functions = flags & NVT_STACKS_NO_FUNCTIONS ? nvt_python_functions(trace) : NVT_NONE;
    if (flags & NVT_STACKS_ALIKE && find_alike(build))
        return -1;
    if (flags & NVT_STACKS_INSIDE && nvt_stacks_find_typical(build))
        return -1;
    return nvt_nesting_make(&build->nesting, trace, NULL);
}

int nvt_stacks_make(struct nvt_stacks *stacks, const struct nvt_trace *trace,
                    enum nvt_stacks_of what, unsigned flags, struct nvt_error *err)
{
    struct nvt_stacks_build build = {.stacks = stacks,
                                     .trace = trace,
                                     .has_callers = what == NVT_STACKS_MEMORY &&
                                                    nvt_stacks_has_callers(trace)};
    int status = begin(&build, flags);
    if (status)
        goto out;
    status = what == NVT_STACKS_HOST     ? add_host(&build)
             : what == NVT_STACKS_DEVICE ? add_devices(&build, flags)
             : what == NVT_STACKS_CPU    ? nvt_stacks_of_samples(&build, flags)
                                         : nvt_stacks_of_memory(&build, flags);
    if (status)
        goto out;
    add_up(stacks);
    if (flags & NVT_STACKS_SHORT && !(flags & NVT_STACKS_ALL_LIBRARIES))
        status = nvt_stacks_shorten(stacks);
    if (!status)
        status = put_in_order(stacks);
out:
    nvt_nesting_free(&build.nesting);
    nvt_map_free(&build.by_path);
    nvt_named_iterations_free(&build.iterations);
    free(build.is_typical);
    free(build.translated);
    free(build.kernels);
    free(build.row_of);
    free(build.places);
    free(build.is_wanted);
    free(build.alike);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

void nvt_stacks_free(struct nvt_stacks *stacks)
{
    free(stacks->items);
    free(stacks->order);
    nvt_strings_free(stacks->names);
    *stacks = (struct nvt_stacks){0};
}

const char *nvt_stacks_name(const struct nvt_stacks *stacks, uint32_t row)
{
    return nvt_strings_get(stacks->names, stacks->items[row].name, NULL);
}
