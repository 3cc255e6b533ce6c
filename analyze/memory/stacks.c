#include "stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../device/devices.h"
#include "alike_names.h"
#include "levels.h"
#include "../../lib/map.h"
#include "../model/cover.h"
#include "../model/nesting.h"
#include "../model/plain_names.h"
#include "../device/project.h"
#include "../studies/calls_by_range.h"

/* The ranges directly around an operation, NVT_NONE for none: of the thread that launched it, and of
 * another one, which then lies around that. */
struct place {
    uint32_t own, lent;
};

struct build {
    struct nvt_stacks *stacks;
    const struct nvt_trace *trace;
    struct nvt_map by_path; /* (parent + 1) << 32 | name -> row */
    uint32_t *translated;   /* strings of the trace -> names, plain; NVT_NONE: not yet */
    uint32_t capacity;
    uint32_t functions; /* name of the domain that is left out, or NVT_NONE */
    struct nvt_nesting nesting;
    uint32_t *row_of;     /* ranges -> rows, of what is left out those around it; NVT_NONE: none */
    struct place *places; /* of operations, or allocations */
    const uint32_t *threads; /* theirs */
    uint8_t *is_wanted;      /* ranges of which there shall be rows */
    int has_callers;         /* of memory: the functions that took it are on record */
    uint32_t *alike;         /* names of ranges -> what stands for all that are alike, or NULL */
};

/* --- rows --- */

static uint32_t new_row(struct build *build, uint32_t parent, uint32_t name, uint32_t kind)
{
    struct nvt_stacks *stacks = build->stacks;
    if (stacks->count == build->capacity) {
        uint32_t capacity = build->capacity ? build->capacity * 2 : 64;
        struct nvt_stack *items = realloc(stacks->items, capacity * sizeof(*items));
        if (!items)
            return NVT_NONE;
        stacks->items = items;
        build->capacity = capacity;
    }
    stacks->items[stacks->count] = (struct nvt_stack){
        .parent = parent,
        .name = name,
        .depth = parent == NVT_NONE ? 0 : stacks->items[parent].depth + 1,
        .kind = kind,
        .at = INT64_MIN,
    };
    return stacks->count++;
}

/* The row of a name within another row, new or old. NVT_NONE: out of memory. */
static uint32_t row_at(struct build *build, uint32_t parent, uint32_t name, uint32_t kind)
{
    if (name == NVT_NO_STRING)
        return NVT_NONE;
    uint64_t key = (uint64_t)(parent + 1) << 32 | (uint64_t)(kind != NVT_STACK_RANGE) << 31 | name;
    uint32_t *at = nvt_map_at(&build->by_path, key);
    if (at && *at == NVT_MAP_NONE)
        *at = new_row(build, parent, name, kind);
    return at ? *at : NVT_NONE;
}

/* The number of a name of the trace, without numbers of its own. */
static uint32_t name_of(struct build *build, uint32_t string)
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
static int find_alike(struct build *build)
{
    for (uint32_t i = 0; i < build->trace->ranges.count; i++)
        if (name_of(build, build->trace->ranges.name[i]) == NVT_NO_STRING)
            return -1;
    build->alike = nvt_alike_names(build->stacks->names, &build->stacks->has_alike);
    return build->alike ? 0 : -1;
}

/* The name of a range's row. */
static uint32_t range_name(struct build *build, uint32_t range)
{
    uint32_t name = name_of(build, build->trace->ranges.name[range]);
    return build->alike && name != NVT_NO_STRING ? build->alike[name] : name;
}

/* Rows of the ranges that are wanted, and of those around them, which are lower ones. 0, or -1 when
 * out of memory. */
static int place_ranges(struct build *build)
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
        build->row_of[i] = row_at(build, around, range_name(build, i), NVT_STACK_RANGE);
        if (build->row_of[i] == NVT_NONE)
            return -1;
    }
    return 0;
}

static void add(struct nvt_stack *stack, uint64_t count, int64_t ns)
{
    stack->count += count;
    stack->self = nvt_clock_sum(stack->self, ns);
}

/* --- time of the host --- */

/* What a call takes is none of the range's own time. 0, or -1 when out of memory. */
static int add_call(struct build *build, const struct nvt_thread_ranges *holders,
                    const struct nvt_held_calls *calls, uint32_t call)
{
    int64_t ns = calls->end[call] - calls->start[call];
    uint32_t range =
        nvt_holder_of(holders, calls->thread[call], calls->start[call], calls->end[call]);
    uint32_t around = range == NVT_NONE ? NVT_NONE : build->row_of[range];
    if (around == NVT_NONE)
        return 0;
    uint32_t row = row_at(build, around, name_of(build, calls->name[call]), NVT_STACK_CALL);
    if (row == NVT_NONE)
        return -1;
    add(&build->stacks->items[row], 1, ns);
    add(&build->stacks->items[around], 0, -ns);
    return 0;
}

/* Both tables by their starts at once, so that what MPI calls of the system is a part of MPI's. */
static int add_calls(struct build *build)
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

static int add_host(struct build *build)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        build->is_wanted[i] = ranges->style[i] == NVT_PUSH_POP;
    if (place_ranges(build))
        return -1;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (build->is_wanted[i] && build->row_of[i] != NVT_NONE)
            add(&build->stacks->items[build->row_of[i]],
                !nvt_is_function_of(build->trace, build->functions, i),
                ranges->end[i] - ranges->start[i] - build->nesting.children_ns[i]);
    return build->trace->mpi_calls.count || build->trace->os_calls.count ? add_calls(build) : 0;
}

/* --- time of the devices --- */

/* The range whose row is known: that of another thread has the operation's own below it. */
static uint32_t outer_of(const struct place *place)
{
    return place->lent != NVT_NONE ? place->lent : place->own;
}

/* The innermost push/pop ranges of an operation or allocation, else the start/end range opened last. */
static int find_place(void *context, uint32_t op, const uint32_t *rows, uint32_t count)
{
    struct build *build = context;
    const struct nvt_ranges *ranges = &build->trace->ranges;
    struct place *place = &build->places[op];
    *place = (struct place){NVT_NONE, NVT_NONE};
    for (uint32_t i = 0; i < count; i++)
        if (ranges->style[rows[i]] == NVT_PUSH_POP) {
            int is_own = ranges->thread[rows[i]] == build->threads[op];
            *(is_own ? &place->own : &place->lent) = rows[i];
        }
    if (count && outer_of(place) == NVT_NONE)
        place->own = rows[count - 1];
    if (outer_of(place) != NVT_NONE)
        build->is_wanted[outer_of(place)] = 1;
    return 0;
}

/* The row of a range and of those around it below another row: of those the innermost ones, where they
 * are more than stacks may be deep. NVT_NONE: out of memory. */
static uint32_t row_below(struct build *build, uint32_t row, uint32_t range)
{
    uint32_t path[NVT_NESTING_DEPTH], depth = 0;
    for (uint32_t at = range; at != NVT_NONE && depth < NVT_NESTING_DEPTH;
         at = build->nesting.parent[at])
        path[depth++] = at;
    while (depth && row != NVT_NONE) {
        uint32_t next = path[--depth];
        if (!nvt_is_function_of(build->trace, build->functions, next))
            row = row_at(build, row, range_name(build, next), NVT_STACK_RANGE);
    }
    return row;
}

/* The row that an operation stands in: 0 and the row, NVT_NONE at the top, or -1 when out of memory. */
static int row_around(struct build *build, uint32_t op, uint32_t *row)
{
    const struct place *place = &build->places[op];
    const struct nvt_ops *ops = &build->trace->ops;
    uint32_t outer = outer_of(place);
    *row = outer == NVT_NONE ? NVT_NONE : build->row_of[outer];
    if (*row == NVT_NONE && build->trace->ranges.count) {
        int is_known = ops->thread[op] != NVT_NONE && ops->launch[op] != INT64_MIN;
        const char *name = is_known ? NVT_STACKS_NOWHERE : NVT_STACKS_UNKNOWN;
        *row = row_at(build, NVT_NONE, nvt_strings_add_text(build->stacks->names, name),
                      NVT_STACK_RANGE);
        return *row == NVT_NONE ? -1 : 0;
    }
    if (place->lent != NVT_NONE && place->own != NVT_NONE) {
        *row = row_below(build, *row, place->own);
        return *row == NVT_NONE ? -1 : 0;
    }
    return 0;
}

static int add_ops(struct build *build)
{
    const struct nvt_ops *ops = &build->trace->ops;
    for (uint32_t i = 0; i < ops->count; i++) {
        uint32_t around, name = nvt_op_name(build->trace, i);
        uint32_t kind = ops->kind[i] == NVT_OP_KERNEL ? NVT_STACK_KERNEL : NVT_STACK_MEMORY;
        if (row_around(build, i, &around))
            return -1;
        uint32_t row = row_at(build, around, name_of(build, name), kind);
        if (row == NVT_NONE)
            return -1;
        add(&build->stacks->items[row], 1, ops->end[i] - ops->start[i]);
    }
    return 0;
}

static int add_devices(struct build *build, unsigned flags)
{
    build->places = malloc(((size_t)build->trace->ops.count + 1) * sizeof(*build->places));
    build->threads = build->trace->ops.thread;
    if (!build->places ||
        nvt_project(build->trace, flags & NVT_ACROSS_THREADS, find_place, build, NULL))
        return -1;
    return place_ranges(build) ? -1 : add_ops(build);
}

/* --- memory at its peak --- */

/* "NVIDIA H100 (0)", and whose it is where several processes have memory. */
static uint32_t series_name(struct build *build, const struct nvt_levels *levels,
                            const struct nvt_level_series *series)
{
    char text[256];
    uint32_t others = 0;
    for (uint32_t i = 0; i < levels->count; i++)
        others += levels->series[i].process != series->process;
    if (series->device == NVT_NONE ||
        *nvt_device_name(build->trace, series->process, series->device))
        nvt_device_text(build->trace, series->process, series->device, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "device %" PRIu32, series->device);
    size_t used = strlen(text);
    if (others)
        snprintf(text + used, sizeof(text) - used, ", PID %" PRIu64,
                 (uint64_t)build->trace->processes.pid[series->process]);
    return nvt_strings_add_text(build->stacks->names, text);
}

/* What was in use of a series and of no allocation on record, in a row of its own. */
static int add_unseen(struct build *build, uint32_t around, const struct nvt_level_peak *peak)
{
    const char *name = peak->lacks_addresses ? NVT_STACKS_NAMELESS : NVT_STACKS_BEFORE;
    uint32_t row =
        row_at(build, around, nvt_strings_add_text(build->stacks->names, name), NVT_STACK_RANGE);
    if (row == NVT_NONE)
        return -1;
    add(&build->stacks->items[row], 0, peak->unknown);
    return 0;
}

/* The series' own row, which stands around each of its allocations that was in use, and what of it is not known. */
static int add_series(struct build *build, const struct nvt_levels *levels,
                      const struct nvt_level_series *series, unsigned flags, uint32_t *around)
{
    struct nvt_level_peak peak = {0};
    int status = nvt_level_peak(&peak, series, build->trace);
    uint32_t row = NVT_NONE;
    int is_shown = peak.unknown && !(flags & NVT_STACKS_NO_UNSEEN);
    build->stacks->unseen = nvt_clock_sum(build->stacks->unseen, peak.unknown);
    build->stacks->has_nameless |= peak.lacks_addresses;
    if (!status && (peak.count || is_shown)) {
        row = row_at(build, NVT_NONE, series_name(build, levels, series), NVT_STACK_RANGE);
        status = row == NVT_NONE ? -1 : 0;
    }
    if (row != NVT_NONE && peak.event != NVT_NONE)
        build->stacks->items[row].at = build->trace->memory.time[series->events[peak.event]];
    if (!status && is_shown)
        status = add_unseen(build, row, &peak);
    for (uint32_t i = 0; i < peak.count && !status; i++)
        around[peak.held[i]] = row;
    free(peak.held);
    return status;
}

static int add_all_series(struct build *build, unsigned flags, uint32_t *around)
{
    struct nvt_levels levels = {0};
    uint32_t devices = 0;
    int status = nvt_levels_make(&levels, build->trace);
    for (uint32_t i = 0; i < levels.count; i++)
        devices += levels.series[i].device != NVT_NONE;
    for (uint32_t i = 0; i < levels.count && !status; i++)
        if (levels.series[i].device != NVT_NONE || !devices || !(flags & NVT_STACKS_NO_HOST_MEMORY))
            status = add_series(build, &levels, &levels.series[i], flags, around);
    nvt_levels_free(&levels);
    return status;
}

/* The row of the function that took an allocation, below another row; NVT_NONE: out of memory. */
static uint32_t row_of_calls(struct build *build, uint32_t row, uint32_t frame)
{
    const struct nvt_call_frames *frames = &build->trace->call_frames;
    uint32_t path[NVT_NESTING_DEPTH], depth = 0;
    for (; frame && depth < NVT_NESTING_DEPTH; frame = frames->parent[frame - 1])
        path[depth++] = frame - 1;
    while (depth && row != NVT_NONE)
        row = row_at(build, row, name_of(build, frames->name[path[--depth]]), NVT_STACK_RANGE);
    return row;
}

int nvt_stacks_has_callers(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; trace->call_frames.count && i < trace->memory.count; i++)
        if (trace->memory.frame[i])
            return 1;
    return 0;
}

/* What stands for the function and range of an allocation of which neither is known; NULL: its range does. */
static const char *stands_for(const struct build *build, const struct place *place)
{
    if (outer_of(place) != NVT_NONE)
        return NULL;
    return build->has_callers           ? NVT_STACKS_STACKLESS
           : build->trace->ranges.count ? NVT_STACKS_NOWHERE
                                        : NULL;
}

/* An allocation into the row of the function that took it, or else of its innermost range, below that of its series. */
static int add_held(struct build *build, uint32_t event, uint32_t around)
{
    static const struct place nowhere = {NVT_NONE, NVT_NONE};
    uint32_t row = around, frame = build->trace->memory.frame[event];
    const struct place *place =
        build->trace->memory.is_earlier[event] ? &nowhere : &build->places[event];
    const char *instead = frame ? NULL : stands_for(build, place);
    if (instead)
        row = row_at(build, row, nvt_strings_add_text(build->stacks->names, instead),
                     NVT_STACK_RANGE);
    if (row != NVT_NONE && place->lent != NVT_NONE)
        row = row_below(build, row, place->lent);
    if (row != NVT_NONE && place->own != NVT_NONE)
        row = row_below(build, row, place->own);
    if (row != NVT_NONE && frame)
        row = row_of_calls(build, row, frame);
    if (row == NVT_NONE)
        return -1;
    add(&build->stacks->items[row], 1, (int64_t)build->trace->memory.bytes[event]);
    return 0;
}

static int add_memory(struct build *build, unsigned flags)
{
    uint32_t events = build->trace->memory.count, count = 0;
    uint32_t *around = malloc(((size_t)events + 1) * sizeof(*around));
    uint32_t *held = malloc(((size_t)events + 1) * sizeof(*held));
    build->places = malloc(((size_t)events + 1) * sizeof(*build->places));
    build->threads = build->trace->memory.thread;
    for (uint32_t i = 0; around && i < events; i++)
        around[i] = NVT_NONE;
    int status = around && held && build->places ? add_all_series(build, flags, around) : -1;
    for (uint32_t i = 0; i < events && !status; i++)
        if (around[i] != NVT_NONE)
            held[count++] = i;
    if (!status)
        status = nvt_project_memory(build->trace, flags & NVT_ACROSS_THREADS, held, count,
                                    find_place, build, NULL);
    for (uint32_t i = 0; i < count && !status; i++)
        status = add_held(build, held[i], around[held[i]]);
    free(around);
    free(held);
    return status;
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
        stack->total = nvt_clock_sum(stack->total, stack->self);
        int64_t *above =
            stack->parent == NVT_NONE ? &stacks->total : &stacks->items[stack->parent].total;
        *above = nvt_clock_sum(*above, stack->total);
    }
}

/* Names, nesting and room. 0, or -1 when out of memory. */
static int begin(struct build *build, unsigned flags)
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
    return nvt_nesting_make(&build->nesting, trace, NULL);
}

int nvt_stacks_make(struct nvt_stacks *stacks, const struct nvt_trace *trace,
                    enum nvt_stacks_of what, unsigned flags, struct nvt_error *err)
{
    struct build build = {.stacks = stacks,
                          .trace = trace,
                          .has_callers =
                              what == NVT_STACKS_MEMORY && nvt_stacks_has_callers(trace)};
    int status = begin(&build, flags);
    if (!status)
        status = what == NVT_STACKS_HOST     ? add_host(&build)
                 : what == NVT_STACKS_DEVICE ? add_devices(&build, flags)
                                             : add_memory(&build, flags);
    if (!status) {
        add_up(stacks);
        status = put_in_order(stacks);
    }
    nvt_nesting_free(&build.nesting);
    nvt_map_free(&build.by_path);
    free(build.translated);
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
