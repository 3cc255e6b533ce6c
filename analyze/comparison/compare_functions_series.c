#include <stdlib.h>

#include "../studies/hot_functions.h"
#include "compare_functions.h"
#include "function_value.h"

#define FUNCTIONS_MOST 4096 /* that are compared: those with the most samples */
#define ALONE_MOST     0.05 /* of a side's samples, or call trees are not compared */

/* How it is done. */
struct finishing {
    const struct nvt_compared_functions *functions;
    struct nvt_sides *groups;
    size_t sides;
    int by_iteration, has_trees;
    uint64_t *self, *tree; /* samples on all sides of each text */
    uint8_t *is_own;
};

static uint64_t samples_of(const struct finishing *finishing,
                           const struct nvt_function_count *count)
{
    return count->within.samples + (finishing->by_iteration ? 0 : count->outside.samples);
}

/* How many samples each function has. 0, or -1 when out of memory. */
static int count_all(struct finishing *finishing)
{
    const struct nvt_compared_functions *functions = finishing->functions;
    const size_t texts = nvt_strings_count(functions->texts);
    finishing->self = calloc(texts + 1, sizeof(*finishing->self));
    finishing->tree = calloc(texts + 1, sizeof(*finishing->tree));
    finishing->is_own = calloc(texts + 1, 1);
    if (!finishing->self || !finishing->tree || !finishing->is_own)
        return -1;
    for (uint32_t i = 0; i < functions->row_count; i++) {
        const struct nvt_function_row *row = &functions->rows[i];
        finishing->self[row->name] += samples_of(finishing, &row->self);
        finishing->tree[row->name] += samples_of(finishing, &row->tree);
        finishing->is_own[row->name] |= row->is_own != 0;
    }
    return 0;
}

/* From how many samples on functions are compared, so that there are not too many. */
static uint64_t least_samples(const struct finishing *finishing)
{
    const uint32_t texts = nvt_strings_count(finishing->functions->texts);
    for (uint64_t least = NVT_FEW_SAMPLES;; least *= 2) {
        size_t count = 0;
        for (uint32_t i = 0; i < texts; i++)
            count += finishing->tree[i] >= least;
        if (count <= FUNCTIONS_MOST)
            return least;
    }
}

/* What a run's samples tell of a function, NULL: it has none of it. 0, 1: the run has none at all, or -1 when out of memory. */
static int add_value(const struct finishing *finishing, enum nvt_compared_kind kind, uint32_t name,
                     const struct nvt_function_run *run, const struct nvt_function_count *count)
{
    const struct nvt_strings *texts = finishing->functions->texts;
    static const struct nvt_function_count none = {{0, 0}, {0, 0}, 0};
    const int whole = !finishing->by_iteration;
    const double all = (double)run->within.time + (double)run->outside.time;
    count = count ? count : &none;
    const struct nvt_function_samples samples = {
        .time = (double)count->within.time + (whole ? (double)count->outside.time : 0),
        .all_time = (double)run->within.time + (whole ? (double)run->outside.time : 0),
        .samples = samples_of(finishing, count),
        .all_samples = run->within.samples + (whole ? run->outside.samples : 0),
        .spread = (double)(run->within.samples + run->outside.samples) * run->squares / all / all,
        .iterations = whole ? 1 : run->iterations,
        .parts = whole ? 0 : run->parts,
        .squares = count->squares};
    if (!samples.all_samples || !samples.iterations || !(samples.all_time > 0))
        return 0;
    struct nvt_typical value = nvt_function_value(&samples);
    value.rank = run->rank;
    return nvt_sides_add_samples(
        finishing->groups, kind, nvt_strings_get(texts, run->configuration, NULL),
        nvt_strings_get(texts, name, NULL), run->side, &value, samples.time / samples.iterations);
}

static int add_function(const struct finishing *finishing, uint32_t name, int is_tree)
{
    const struct nvt_compared_functions *functions = finishing->functions;
    for (uint32_t run = 0; run < functions->run_count; run++) {
        const uint32_t row = nvt_map_get(&functions->by_name, (uint64_t)run << 32 | name);
        const struct nvt_function_row *found = row == NVT_MAP_NONE ? NULL : &functions->rows[row];
        if (add_value(finishing, is_tree ? NVT_GROUP_TREE : NVT_GROUP_FUNCTION, name,
                      &functions->runs[run],
                      !found    ? NULL
                      : is_tree ? &found->tree
                                : &found->self))
            return -1;
    }
    return 0;
}

/* A call tree of the function alone would say the same twice. */
static int add_all(const struct finishing *finishing)
{
    const uint64_t least = least_samples(finishing);
    const uint32_t texts = nvt_strings_count(finishing->functions->texts);
    for (uint32_t i = 0; i < texts; i++) {
        const uint64_t self = finishing->self[i], tree = finishing->tree[i];
        if (self >= least && add_function(finishing, i, 0))
            return -1;
        if (tree >= least && tree != self && finishing->is_own[i] && finishing->has_trees &&
            add_function(finishing, i, 1))
            return -1;
    }
    return 0;
}

/* Whether functions can be compared; else a line about why not, where there is anything to tell. -1: out of memory. */
static int can_compare(const struct nvt_compared_functions *functions, size_t sides,
                       struct nvt_buffer *notes)
{
    size_t with = 0, first = 0;
    for (size_t side = sides; side-- > 0;)
        if (functions->samples[side]) {
            with++;
            first = side;
        }
    if (!with)
        return 0;
    if (with < 2 || first)
        return nvt_buffer_printf(notes, "note: functions are not compared: no CPU samples were "
                                        "recorded on side A and another one\n")
                   ? -1
                   : 0;
    if (functions->timed && functions->untimed)
        return nvt_buffer_printf(notes, "note: functions are not compared: the samples of some "
                                        "traces have no CPU time\n")
                   ? -1
                   : 0;
    return 1;
}

/* Whether the stacks of all sides are known well enough, and a line where they are not. -1: out of memory. */
static int can_compare_trees(const struct nvt_compared_functions *functions, size_t sides,
                             struct nvt_buffer *notes)
{
    for (size_t side = 0; side < sides; side++)
        if ((double)functions->alone[side] > ALONE_MOST * (double)functions->samples[side])
            return nvt_buffer_printf(notes,
                                     "note: only the functions' own time is compared: %.0f %% of "
                                     "the samples of side %c have no callers\n",
                                     100 * (double)functions->alone[side] /
                                         (double)functions->samples[side],
                                     (char)('A' + side))
                       ? -1
                       : 0;
    return 1;
}

int nvt_compared_functions_finish(const struct nvt_compared_functions *functions, size_t sides,
                                  struct nvt_sides *groups, struct nvt_buffer *notes)
{
    struct finishing finishing = {.functions = functions, .groups = groups, .sides = sides};
    const int can = can_compare(functions, sides, notes);
    const size_t before = groups->count;
    if (can <= 0)
        return can;
    finishing.by_iteration = !functions->without;
    finishing.has_trees = can_compare_trees(functions, sides, notes);
    int status = finishing.has_trees < 0 || count_all(&finishing) || add_all(&finishing) ? -1 : 0;
    groups->functions = (struct nvt_compared_samples){.by_iteration = finishing.by_iteration,
                                                      .are_counts = functions->untimed > 0};
    if (!status && groups->count == before)
        status = nvt_buffer_printf(notes, "note: functions are not compared: none has %d samples\n",
                                   NVT_FEW_SAMPLES);
    else if (!status && functions->untimed)
        status = nvt_buffer_printf(
            notes, "note: the samples have no CPU time: functions are compared by their number of "
                   "samples, which is right if both sides were sampled at the same rate\n");
    free(finishing.self);
    free(finishing.tree);
    free(finishing.is_own);
    return status ? -1 : 0;
}
