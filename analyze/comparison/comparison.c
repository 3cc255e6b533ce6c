#include "comparison.h"

#include <string.h>
#include <sys/stat.h>

#include "../../lib/quantity_text.h"
#include "../input/rows.h"
#include "compare_join.h"

/* --- reading the sides --- */

/* A reading of all arguments. */
struct reading {
    struct nvt_comparison *out;
    const struct nvt_comparison_request *request;
    struct nvt_compared_functions functions;
};

/* 0, or -1 with err. */
static int full(struct nvt_error *err)
{
    return nvt_fail(err, "out of memory");
}

static int add_argument(struct reading *reading, size_t side, const char *path,
                        struct nvt_error *err)
{
    const struct nvt_comparison_request *request = reading->request;
    struct nvt_comparison *out = reading->out;
    struct nvt_input input = {
        .plain_names = 1, .window = request->window, .iteration = request->iteration};
    int status = nvt_input_add(&input, path, err);
    if (!status)
        nvt_sides_add_origin(&out->groups, side, &input);
    if (!status)
        status = nvt_input_rows(&input, err) || nvt_input_traces(&input, err) ||
                 nvt_sides_add(&out->groups, side, &input, err) ||
                 nvt_compared_functions_add(&reading->functions, side, &input, err) ||
                 nvt_compared_memory_add(&out->memory, side, &input, err) ||
                 nvt_compared_machine_add(&out->machine, side, &input, err) ||
                 nvt_compared_counts_add(&out->counts, side, &input, err);
    if (!status && request->also)
        status = request->also(request->context, side, &input, err);
    if (!status && nvt_buffer_append(&out->notes, input.notes.data, input.notes.size))
        status = full(err);
    nvt_input_free(&input);
    return status ? -1 : 0;
}

int nvt_comparison_is_asked(int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(arguments[i], "vs"))
            return 1;
    return 0;
}

/* Read all sides. How many, or 0 with err. */
static size_t read_sides(struct reading *reading, int count, char **arguments,
                         struct nvt_error *err)
{
    const int together = nvt_comparison_is_asked(count, arguments);
    size_t side = 0;
    int given = 0;
    for (int i = 0; i < count; i++) {
        int is_border = !strcmp(arguments[i], "vs");
        if (is_border || (!together && given)) {
            if (!given || side + 1 == NVT_SIDES) {
                nvt_fail(err, given ? "more than %d sides" : "a side has nothing to compare",
                         NVT_SIDES);
                return 0;
            }
            side++;
            given = 0;
        }
        if (is_border)
            continue;
        given++;
        if (add_argument(reading, side, arguments[i], err))
            return 0;
    }
    if (!side || !given) {
        nvt_fail(err, "%s needs two sides: nvtally %s A vs B", reading->request->command,
                 reading->request->command);
        return 0;
    }
    return side + 1;
}

/* --- what is known of them --- */

/* Of traces that were run with something else on each side the rest of what they were run with is compared, and it is
 * said. 0, or -1. */
static int join_sides(struct nvt_comparison *out)
{
    struct nvt_buffer note = {0};
    int joined = nvt_compare_join(&out->groups, &out->memory, out->sides, &note);
    int failed = joined < 0;
    if (joined > 0) {
        failed = nvt_buffer_append(&note, "", 1);
        if (!failed)
            nvt_note_in(&out->notes, "note: %s", (const char *)note.data);
    }
    nvt_buffer_free(&note);
    return failed ? -1 : 0;
}

static int is_same_file(const char *left, const char *right)
{
    struct stat a, b;
    return !stat(left, &a) && !stat(right, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A line where a side has a file more than once: that shows no noise between runs. */
static void note_twice(struct nvt_buffer *notes, int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        for (int k = i; k-- > 0 && strcmp(arguments[k], "vs") != 0;)
            if (is_same_file(arguments[i], arguments[k])) {
                nvt_note_in(notes,
                            "note: %.900s is given more than once on a side: it is no further run",
                            arguments[i]);
                return;
            }
}

/* A line where phases of a side are of the run's own clock, those of another of ranges. */
static int note_clocks(struct nvt_comparison *out)
{
    int records = 0, ranges = 0;
    for (size_t side = 0; side < out->sides; side++) {
        records |= out->groups.origins[side].has_records && !out->groups.origins[side].has_ranges;
        ranges |= out->groups.origins[side].has_ranges;
    }
    return records && ranges
               ? nvt_buffer_printf(
                     &out->notes,
                     "note: phases of one side are timed by the run's own clock, those of another "
                     "by ranges, which include the cost of recording: short phases differ by that; "
                     "stats -r overhead compares the same clock\n")
               : 0;
}

/* A line where the machine was another. 0, or -1. */
static int note_machine(struct nvt_comparison *out)
{
    struct nvt_buffer text = {0};
    int failed = nvt_compared_machine_text(&out->machine, out->sides, &text);
    if (!failed && text.size)
        failed = nvt_buffer_printf(&out->notes,
                                   "note: %.*s: the machine may have changed, not the program\n",
                                   (int)text.size, (const char *)text.data);
    nvt_buffer_free(&text);
    return failed ? -1 : 0;
}

/* A line where ranges fault or wait more, or less. 0, or -1. */
static int note_counts(struct nvt_comparison *out, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    int failed = nvt_compared_counts_text(&out->counts, out->sides, &text, err);
    if (!failed && text.size)
        failed = nvt_buffer_printf(&out->notes, "note: CPU counters differ: %.*s\n", (int)text.size,
                                   (const char *)text.data);
    nvt_buffer_free(&text);
    return failed || nvt_compared_counts_note(&out->counts, out->sides, &out->notes) ? -1 : 0;
}

int nvt_comparison_make(struct nvt_comparison *comparison,
                        const struct nvt_comparison_request *request, int count, char **arguments,
                        struct nvt_error *err)
{
    struct reading reading = {.out = comparison, .request = request};
    int status = nvt_sides_init(&comparison->groups) ? full(err) : 0;
    if (!status) {
        comparison->sides = read_sides(&reading, count, arguments, err);
        status = comparison->sides ? 0 : -1;
    }
    if (!status && (nvt_compared_functions_finish(&reading.functions, comparison->sides,
                                                  &comparison->groups, &comparison->notes) ||
                    join_sides(comparison) || note_clocks(comparison) || note_machine(comparison) ||
                    note_counts(comparison, err) ||
                    nvt_outcomes_make(&comparison->outcomes, &comparison->groups, comparison->sides,
                                      request->tolerance, request->is_one_list)))
        status = full(err);
    if (!status && nvt_comparison_is_asked(count, arguments))
        note_twice(&comparison->notes, count, arguments);
    nvt_compared_functions_free(&reading.functions);
    return status;
}

void nvt_comparison_free(struct nvt_comparison *comparison)
{
    nvt_outcomes_free(&comparison->outcomes);
    nvt_sides_free(&comparison->groups);
    nvt_compared_memory_free(&comparison->memory);
    nvt_compared_counts_free(&comparison->counts);
    nvt_buffer_free(&comparison->notes);
    *comparison = (struct nvt_comparison){0};
}

/* --- what they come to --- */

/* What a side's first group is of; NULL: it has none. */
static const char *first_configuration(const struct nvt_sides *groups, size_t side)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->items[i].sides[side].count)
            return groups->items[i].configuration;
    return NULL;
}

int nvt_comparison_check(const struct nvt_comparison *comparison, int memory, struct nvt_error *err)
{
    const struct nvt_sides *groups = &comparison->groups;
    const char *first = first_configuration(groups, 0), *other = NULL;
    if (comparison->outcomes.compared ||
        (memory && nvt_compared_memory_is_shared(&comparison->memory, comparison->sides)))
        return 0;
    for (size_t side = 1; side < comparison->sides && !other; side++)
        other = first_configuration(groups, side);
    const int differ = first && other && strcmp(first, other) != 0;
    return nvt_fail(err,
                    "the sides have nothing in common: no phase, range or kernel of the same name "
                    "and configuration%s%.200s%s%.200s%s",
                    differ ? " (side A has '" : "", differ ? first : "",
                    differ ? "', another one '" : "", differ ? other : "", differ ? "')" : "");
}

static int note_missing(struct nvt_comparison *comparison)
{
    const struct nvt_outcomes *outcomes = &comparison->outcomes;
    struct nvt_buffer *notes = &comparison->notes;
    int failed = 0;
    for (size_t side = 0; side < comparison->sides; side++) {
        size_t counts[NVT_GROUP_KINDS] = {0}, all = 0;
        for (size_t i = 0; i < outcomes->count; i++) {
            const struct nvt_outcome *row = &outcomes->rows[i];
            const int is_here = side ? side == row->side && !row->group->sides[0].count
                                     : row->group->sides[0].count > 0;
            counts[row->group->kind] += !nvt_outcome_has_both(row) && is_here;
            all += !nvt_outcome_has_both(row) && is_here;
        }
        if (!all)
            continue;
        failed |= nvt_buffer_printf(notes, "only in %c:", (char)('A' + side));
        for (size_t kind = 0, before = 0; kind < NVT_GROUP_KINDS; kind++)
            if (counts[kind]) {
                failed |= nvt_buffer_printf(notes, "%s %zu %s%s", before ? "," : "", counts[kind],
                                            nvt_compared_kind_name((enum nvt_compared_kind)kind),
                                            counts[kind] == 1 ? "" : "s");
                before = 1;
            }
        failed |= nvt_buffer_printf(notes, "\n");
    }
    return failed;
}

static int note_runs(struct nvt_comparison *comparison)
{
    const struct nvt_outcomes *outcomes = &comparison->outcomes;
    struct nvt_buffer *notes = &comparison->notes;
    size_t runs = 0, paired = 0, left_out = 0;
    int failed = 0;
    if (!outcomes->compared)
        return 0;
    for (size_t i = 0; i < outcomes->compared; i++) {
        const struct nvt_change *change = &outcomes->changes[i];
        size_t fewer = change->runs[0] < change->runs[1] ? change->runs[0] : change->runs[1];
        runs = fewer > runs ? fewer : runs;
        paired += change->is_paired != 0;
        left_out += change->left_out > 0;
    }
    if (runs < NVT_CHANGE_RUNS)
        failed |= nvt_buffer_printf(notes,
                                    "%s per side: the noise between runs is unknown; five per side "
                                    "show it (A1 A2 … vs B1 B2 …)\n",
                                    runs == 1 ? "one run" : "two runs");
    if (paired)
        failed |= nvt_buffer_printf(
            notes,
            "%zu of %zu rows compare the k-th run of a side with the k-th of the other, because "
            "their times are correlated (ranks have rank in their names)\n",
            paired, outcomes->compared);
    if (left_out)
        failed |=
            nvt_buffer_printf(notes, "ranks or runs that only one side has are left out of %s\n",
                              NVT_COUNTED((double)left_out, "row", "rows"));
    return failed;
}

int nvt_comparison_note_outcomes(struct nvt_comparison *comparison, struct nvt_error *err)
{
    return note_runs(comparison) || note_missing(comparison) ? full(err) : 0;
}
