/*
 * What sides of traces were run with, and what of that is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/comparison/compare_join.h"
#include "../analyze/input/rows.h"
#include "../lib/count_of.h"
#include "small_trace.h"

/* A trace of what a name says, with a range of `ns`, and memory of so many bytes. */
static void add(struct nvt_sides *groups, struct nvt_compared_memory *memory, size_t side,
                const char *name, int64_t ns)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input input = {.traces = calloc(1, sizeof(*input.traces)), .trace_count = 1};
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    if (*name)
        small_range(trace, thread, "nvtally", name, 0, 1000, NVT_PUSH_POP);
    small_range(trace, thread, "", "work", 10, 10 + ns, NVT_PUSH_POP);
    const struct nvt_memory_event event = {.process = trace->threads.process[thread],
                                           .kind = NVT_MEMORY_ALLOC,
                                           .bytes = (uint64_t)ns,
                                           .allocated = UINT64_MAX,
                                           .reserved = UINT64_MAX};
    assert_int_equal(nvt_memory_event_add(trace, &event), 0);
    small_trace_finish(trace);
    input.traces[0].trace = trace;
    nvt_sides_add_origin(groups, side, &input);
    assert_int_equal(nvt_input_rows(&input, &err), 0);
    assert_int_equal(nvt_sides_add(groups, side, &input, &err), 0);
    assert_int_equal(nvt_compared_memory_add(memory, side, &input, &err), 0);
    nvt_input_free(&input);
}

/* How many series a side has of the range, and how many values of memory. */
static void count(const struct nvt_sides *groups, const struct nvt_compared_memory *memory,
                  const char *configuration, size_t side, size_t expected)
{
    size_t series = 0, values = 0;
    for (size_t i = 0; i < groups->count; i++)
        if (!strcmp(groups->items[i].name, ":work") &&
            !strcmp(groups->items[i].configuration, configuration))
            series += groups->items[i].sides[side].count;
    for (size_t i = 0; i < memory->count; i++)
        if (!strcmp(memory->items[i].configuration, configuration))
            values += memory->items[i].sides[side].count;
    if (series != expected || values != expected)
        fail_msg("'%s' of side %zu: %zu series and %zu values, not %zu", configuration, side,
                 series, values, expected);
}

static const struct {
    const char *sides[3][3], *note;
    const char *configurations[3];
    size_t counts[3][3]; /* by configuration, then side */
} cases[] = {
    /* Another variant on each side. */
    {{{"my w impl=old n=2", "my w impl=old n=4"}, {"my w impl=new n=2", "my w impl=new n=4"}},
     "the sides differ in impl (A old, B new)",
     {"my w n=2", "my w n=4"},
     {{1, 1}, {1, 1}}},
    /* The number itself; a run more of the one. */
    {{{"w n=2", "w n=2"}, {"w n=4"}, {"w n=8"}},
     "the sides differ in n (A 2, B 4, C 8)",
     {"w"},
     {{2, 1, 1}}},
    /* Programs, of which one has an axis more. */
    {{{"w n=2"}, {"other one m=3 n=2"}},
     "the sides differ in workload (A w, B other one), m (A none, B 3)",
     {"n=2"},
     {{1, 1}}},
    /* Nothing is known of one. */
    {{{""}, {"w n=2"}},
     "the sides differ in workload (A none, B w), n (A none, B 2)",
     {""},
     {{1, 1}}},
    /* Configurations are joined in any order of runs. */
    {{{"w n=2", "w n=4"}, {"w n=4", "w n=2"}}, NULL, {"w n=2", "w n=4"}, {{1, 1}, {1, 1}}},
    /* What varies on a side is not what is compared. */
    {{{"w n=2", "w n=4"}, {"w n=8"}}, NULL, {"w n=2", "w n=4", "w n=8"}, {{1, 0}, {1, 0}, {0, 1}}},
    {{{"w"}, {"w"}}, NULL, {""}, {{1, 1}}},
    /* Repetitions are numbered, and keys stand as they like. */
    {{{"w seed=1 n=2", "w seed=2 n=2"}, {"w n=2 seed=3", "w run=2 n=2"}},
     NULL,
     {"w n=2"},
     {{2, 2}}},
    {{{"w lr=1 n=8"}, {"w n=8 lr=1"}}, NULL, {"w lr=1 n=8"}, {{1, 1}}},
};

static void sides_are_joined(void **state)
{
    (void)state;
    for (size_t c = 0; c < NVT_COUNT_OF(cases); c++) {
        struct nvt_sides groups;
        struct nvt_compared_memory memory = {0};
        struct nvt_buffer note = {0};
        size_t sides = 0;
        assert_int_equal(nvt_sides_init(&groups), 0);
        for (; sides < 3 && cases[c].sides[sides][0]; sides++)
            for (size_t i = 0; i < 3 && cases[c].sides[sides][i]; i++)
                add(&groups, &memory, sides, cases[c].sides[sides][i], 100);
        assert_int_equal(nvt_compare_join(&groups, &memory, sides, &note), cases[c].note != NULL);
        assert_int_equal(nvt_buffer_append(&note, "", 1), 0);
        assert_string_equal((const char *)note.data, cases[c].note ? cases[c].note : "");
        for (size_t i = 0; i < 3 && cases[c].configurations[i]; i++)
            for (size_t side = 0; side < sides; side++)
                count(&groups, &memory, cases[c].configurations[i], side, cases[c].counts[i][side]);
        /* What names all of a run is called by its program alone. */
        for (size_t i = 0; i < groups.count; i++)
            assert_null(strchr(groups.items[i].name, '='));
        nvt_buffer_free(&note);
        nvt_compared_memory_free(&memory);
        nvt_sides_free(&groups);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
