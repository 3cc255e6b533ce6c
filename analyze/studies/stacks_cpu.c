#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "../model/thread_ranges.h"
#include "hot_functions.h"
#include "pairs.h"
#include "stacks_build.h"

struct samples {
    struct nvt_stacks_build *build;
    struct nvt_sampled_functions functions;
    struct nvt_thread_ranges ranges;
    /* row around and 1, row of call_frames and 1: so each path is walked once */
    struct nvt_pairs pairs;
    struct nvt_pairs inside; /* those of samples in typical iterations alone */
    uint32_t *names;         /* of each function; NVT_NONE: not yet */
    uint32_t *innermost;     /* of each sample: the range, NVT_NONE: none */
    uint32_t *depth;         /* of each row of call_frames: how many are around it */
    /* row around and 1, row of call_frames and 1 -> the row around what that calls */
    struct nvt_map callers;
    unsigned flags;
    int all_alone;  /* no sample has callers */
    int has_python; /* there are functions of Python */
    int failed;
};

/* --- functions --- */

/* What programs and threads begin with, in every stack. */
static int is_start(const char *name)
{
    static const char *const starts[] = {
        "_start",   "__libc_start_main", "__libc_start_call_main", "clone", "clone3", "__clone",
        "__clone3", "start_thread"};
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++) {
        size_t length = strlen(starts[i]);
        if (!strncmp(name, starts[i], length) && (!name[length] || name[length] == '@'))
            return 1;
    }
    return 0;
}

static uint32_t kind_of(const struct nvt_sampled_function *function)
{
    static const uint32_t kinds[] = {
        [NVT_OF_UNKNOWN] = NVT_STACK_LIBRARY,     [NVT_OF_PYTHON] = NVT_STACK_PYTHON,
        [NVT_OF_PROGRAM] = NVT_STACK_PROGRAM,     [NVT_OF_LIBRARY] = NVT_STACK_LIBRARY,
        [NVT_OF_INTERPRETER] = NVT_STACK_LIBRARY, [NVT_OF_SYSTEM] = NVT_STACK_SYSTEM};
    return kinds[function->owner];
}

/* The row of a function below another row. */
static uint32_t row_of(struct samples *samples, uint32_t around, uint32_t function)
{
    const struct nvt_sampled_function *what = &samples->functions.items[function];
    uint32_t *name = &samples->names[function];
    if (*name == NVT_NONE)
        *name = nvt_strings_add_text(samples->build->stacks->names, what->name);
    return nvt_stacks_row(samples->build, around, *name, kind_of(what));
}

/* The row of a frame below another row: of its function, or where nothing is left out also of its line. */
static uint32_t row_of_frame(struct samples *samples, uint32_t around, uint32_t frame)
{
    const struct nvt_trace *trace = samples->build->trace;
    const uint32_t function = samples->functions.of_frame[frame];
    const struct nvt_sampled_function *what = &samples->functions.items[function];
    if (samples->flags & NVT_STACKS_SHORT || what->owner != NVT_OF_PYTHON)
        return row_of(samples, around, function);
    return nvt_stacks_row_of(samples->build, around,
                             nvt_name(trace, trace->call_frames.name[frame]), NVT_STACK_PYTHON);
}

/* --- stacks --- */

/* Whether a function that called others is left out. */
static int says_little(const struct samples *samples, uint32_t frame)
{
    const struct nvt_sampled_function *what =
        &samples->functions.items[samples->functions.of_frame[frame]];
    return samples->flags & NVT_STACKS_SHORT &&
           (is_start(what->name) || (samples->has_python && what->owner == NVT_OF_INTERPRETER));
}

/* The row around what a function calls (`frame`: its row and 1; 0: around all), below another row. Each is found once, but
 * for the innermost part of stacks that are too deep to be kept. NVT_NONE: the top, or out of memory (`failed`). */
static uint32_t row_of_caller(struct samples *samples, uint32_t around, uint32_t frame)
{
    const struct nvt_call_frames *frames = &samples->build->trace->call_frames;
    const uint64_t key = (uint64_t)(around + 1) << 32;
    const int is_cut = frame && samples->depth[frame - 1] >= NVT_NESTING_DEPTH;
    uint32_t path[NVT_NESTING_DEPTH], depth = 0, row = around;
    for (; frame && depth < NVT_NESTING_DEPTH; frame = frames->parent[frame - 1]) {
        uint32_t known = is_cut ? NVT_MAP_NONE : nvt_map_get(&samples->callers, key | frame);
        if (known != NVT_MAP_NONE) {
            row = known;
            break;
        }
        path[depth++] = frame - 1;
    }
    while (depth-- && !samples->failed) {
        if (!says_little(samples, path[depth]))
            row = row_of_frame(samples, row, path[depth]);
        uint32_t *at = is_cut ? &row : nvt_map_at(&samples->callers, key | (path[depth] + 1));
        samples->failed |= !at || (row == NVT_NONE && !says_little(samples, path[depth]));
        if (at)
            *at = row;
    }
    return row;
}

/* The row of a stack's innermost function, below another row; NVT_NONE: out of memory. */
static uint32_t row_of_stack(struct samples *samples, uint32_t around, uint32_t frame)
{
    if (!frame)
        return row_of(samples, around, 0);
    uint32_t row =
        row_of_caller(samples, around, samples->build->trace->call_frames.parent[frame - 1]);
    return samples->failed ? NVT_NONE : row_of_frame(samples, row, frame - 1);
}

static int put(struct samples *samples, uint32_t row, uint64_t count, int64_t weight)
{
    if (row == NVT_NONE)
        return -1;
    nvt_stacks_add(&samples->build->stacks->items[row], count, weight);
    return 0;
}

static int is_inside(const struct samples *samples, uint32_t sample)
{
    const struct nvt_cpu_samples *rows = &samples->build->trace->cpu_samples;
    return nvt_stacks_is_inside(samples->build, rows->thread[sample], NVT_NONE, rows->time[sample]);
}

/* Of which the function alone is known. */
static int add_alone(struct samples *samples, uint32_t around, uint32_t sample)
{
    const int64_t weight = nvt_sample_weight(&samples->functions, sample);
    struct nvt_stacks *stacks = samples->build->stacks;
    if (!samples->all_alone && samples->flags & NVT_STACKS_NO_UNSEEN) {
        stacks->unseen = nvt_clock_sum(stacks->unseen, weight);
        return 0;
    }
    if (!samples->all_alone) {
        around = nvt_stacks_row_of(samples->build, around, NVT_STACKS_STACKLESS, NVT_STACK_RANGE);
        if (around == NVT_NONE)
            return -1;
    }
    const uint32_t frame = samples->build->trace->cpu_samples.frame[sample];
    const uint32_t row =
        frame ? row_of_frame(samples, around, frame - 1) : row_of(samples, around, 0);
    if (row != NVT_NONE && is_inside(samples, sample))
        nvt_stacks_add_inside(&samples->build->stacks->items[row], 1, weight);
    return put(samples, row, 1, weight);
}

/* The row around a sample's functions: 0 and the row, NVT_NONE at the top, or -1 when out of memory. */
static int row_around(const struct samples *samples, uint32_t sample, uint32_t *row)
{
    struct nvt_stacks_build *build = samples->build;
    const uint32_t range = samples->innermost[sample];
    *row = range == NVT_NONE ? NVT_NONE : build->row_of[range];
    if (*row != NVT_NONE || !build->trace->ranges.count)
        return 0;
    *row = nvt_stacks_row_of(build, NVT_NONE, NVT_STACKS_NOWHERE, NVT_STACK_RANGE);
    return *row == NVT_NONE ? -1 : 0;
}

static int add_samples(struct samples *samples)
{
    const struct nvt_cpu_samples *rows = &samples->build->trace->cpu_samples;
    uint32_t around;
    for (uint32_t i = 0; i < rows->count; i++) {
        int is_alone = rows->flags[i] & NVT_CPU_SAMPLE_NO_CALLERS;
        const int64_t weight = nvt_sample_weight(&samples->functions, i);
        if (row_around(samples, i, &around) ||
            (is_alone ? add_alone(samples, around, i)
                      : nvt_pairs_add(&samples->pairs, around + 1, rows->frame[i], weight)))
            return -1;
        if (!is_alone && is_inside(samples, i) &&
            nvt_pairs_add(&samples->inside, around + 1, rows->frame[i], weight))
            return -1;
    }
    for (uint32_t i = 0; i < samples->pairs.count; i++) {
        const struct nvt_pair *pair = &samples->pairs.items[i];
        if (put(samples, row_of_stack(samples, pair->whole - 1, pair->part), pair->count,
                pair->weight))
            return -1;
    }
    for (uint32_t i = 0; i < samples->inside.count; i++) {
        const struct nvt_pair *pair = &samples->inside.items[i];
        const uint32_t row = row_of_stack(samples, pair->whole - 1, pair->part);
        if (row == NVT_NONE)
            return -1;
        nvt_stacks_add_inside(&samples->build->stacks->items[row], pair->count, pair->weight);
    }
    return 0;
}

/* The ranges that samples are in. 0, or -1 when out of memory. */
static int begin(struct samples *samples)
{
    struct nvt_stacks_build *build = samples->build;
    const struct nvt_cpu_samples *rows = &build->trace->cpu_samples;
    const struct nvt_call_frames *frames = &build->trace->call_frames;
    uint32_t open[NVT_NESTING_DEPTH];
    if (nvt_sampled_functions_make(&samples->functions, build->trace, NVT_BY_FUNCTION, NULL) ||
        nvt_thread_ranges_make(&samples->ranges, build->trace, NULL))
        return -1;
    build->stacks->counts_samples = !samples->functions.has_times;
    samples->innermost = calloc((size_t)rows->count + 1, sizeof(*samples->innermost));
    samples->names = malloc((size_t)samples->functions.count * sizeof(*samples->names));
    samples->depth = malloc(((size_t)frames->count + 1) * sizeof(*samples->depth));
    if (!samples->innermost || !samples->names || !samples->depth)
        return -1;
    for (uint32_t i = 0; i < samples->functions.count; i++) {
        samples->names[i] = NVT_NONE;
        samples->has_python |= samples->functions.items[i].owner == NVT_OF_PYTHON;
    }
    for (uint32_t i = 0; i < frames->count; i++)
        samples->depth[i] = frames->parent[i] ? samples->depth[frames->parent[i] - 1] + 1 : 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t depth =
            nvt_thread_ranges_open(&samples->ranges, rows->thread[i], rows->time[i], open);
        samples->innermost[i] = depth ? open[0] : NVT_NONE;
        if (depth)
            build->is_wanted[open[0]] = 1;
        samples->all_alone &= (rows->flags[i] & NVT_CPU_SAMPLE_NO_CALLERS) != 0;
    }
    return nvt_stacks_place_ranges(build);
}

int nvt_stacks_of_samples(struct nvt_stacks_build *build, unsigned flags)
{
    struct samples samples = {.build = build, .flags = flags, .all_alone = 1};
    int status = begin(&samples) || add_samples(&samples) ? -1 : 0;
    nvt_sampled_functions_free(&samples.functions);
    nvt_thread_ranges_free(&samples.ranges);
    nvt_pairs_free(&samples.pairs);
    nvt_pairs_free(&samples.inside);
    free(samples.innermost);
    free(samples.names);
    free(samples.depth);
    nvt_map_free(&samples.callers);
    return status;
}

/* --- what only passes time on --- */

/* Whether all of a row's time is that of the one row in it, and both are of libraries, as is what is around it. */
static int passes_on(const struct nvt_stacks *stacks, uint32_t row, uint32_t only_child)
{
    const struct nvt_stack *stack = &stacks->items[row];
    return stack->kind == NVT_STACK_LIBRARY && !stack->self && only_child < stacks->count &&
           stacks->items[only_child].kind == NVT_STACK_LIBRARY && stack->parent != NVT_NONE &&
           stacks->items[stack->parent].kind == NVT_STACK_LIBRARY;
}

/* Parents are lower rows, before and after. */
int nvt_stacks_shorten(struct nvt_stacks *stacks)
{
    const size_t count = stacks->count;
    /* the only one; NVT_NONE - 1: several */
    uint32_t *child = malloc((count + 1) * sizeof(*child));
    /* new number, of what is left out its parent's */
    uint32_t *place = malloc((count + 1) * sizeof(*place));
    uint32_t kept = 0;
    for (size_t i = 0; child && i < count; i++)
        child[i] = NVT_NONE;
    for (uint32_t i = 0; child && i < count; i++)
        if (stacks->items[i].parent != NVT_NONE) {
            uint32_t *only = &child[stacks->items[i].parent];
            *only = *only == NVT_NONE ? i : NVT_NONE - 1;
        }
    for (uint32_t i = 0; child && place && i < count; i++) /* before any is moved */
        place[i] = !passes_on(stacks, i, child[i]);
    for (uint32_t i = 0; child && place && i < count; i++) {
        struct nvt_stack stack = stacks->items[i];
        int is_kept = place[i] != 0;
        if (stack.parent != NVT_NONE)
            stack.parent = place[stack.parent];
        place[i] = is_kept ? kept : stack.parent;
        if (!is_kept)
            continue;
        stack.depth = stack.parent == NVT_NONE ? 0 : stacks->items[stack.parent].depth + 1;
        stacks->items[kept++] = stack;
    }
    int status = child && place ? 0 : -1;
    if (!status)
        stacks->count = kept;
    free(child);
    free(place);
    return status;
}
