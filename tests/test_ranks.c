/*
 * Which rank a trace is of, and which traces are of one run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/ranks.h"
#include "../lib/count_of.h"
#include "../lib/rank_text.h"
#include "small_trace.h"

enum { MOST = 8 };

static void files_tell_their_rank(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint32_t rank;
    } cases[] = {{"t.rank3.nvt", 3},       {"/a/rank7/rank-0.json", 0},
                 {"RANK_12.json.gz", 12},  {"rank=5.sqlite", 5},
                 {"frank.nvt", NVT_NONE},  {"/rank3/t.nvt", NVT_NONE},
                 {"ranks4.nvt", NVT_NONE}, {"rank123456789.nvt", NVT_NONE}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        assert_int_equal(nvt_rank_of_path(cases[i].path), cases[i].rank);
}

static void names_tell_a_rank(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t rank;
    } cases[] = {{"RANK 3 - GPU", 3},     {"rank 12", 12},          {"python (rank: 4)", 4},
                 {"[rank7]:", 7},         {"rank=0 of 8", 0},       {"Rank_5", 5},
                 {"python", NVT_NONE},    {"Frank 7", NVT_NONE},    {"rank", NVT_NONE},
                 {"rank of 3", NVT_NONE}, {"pagerank 9", NVT_NONE}, {"", NVT_NONE}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        assert_int_equal(nvt_rank_in_text(cases[i].name), cases[i].rank);
}

struct made {
    struct nvt_input_trace traces[MOST];
    struct nvt_record records[MOST];
    struct nvt_runs runs;
    struct nvt_input input;
};

/* A trace of a file, of a process with that rank, of what `row` says; NULL: of none. */
static void add(struct made *made, const char *path, uint32_t rank, const char *row)
{
    const size_t at = made->input.trace_count++;
    struct nvt_trace *trace = small_trace();
    free(trace->path);
    trace->path = strdup(path);
    small_thread(trace, 1, 1);
    trace->processes.rank[0] = rank;
    small_trace_finish(trace);
    made->traces[at].trace = trace;
    made->input.traces = made->traces;
    made->runs.records = made->records;
    made->runs.count = at + 1;
    if (!row)
        return;
    assert_int_equal(nvt_record_parse(&made->records[at], row, strlen(row), NULL), 0);
    made->traces[at].runs = &made->runs;
    made->traces[at].record = at;
    made->traces[at].is_by_name = 1;
}

static void expect(struct made *made, const size_t *expected, size_t runs)
{
    size_t count, *numbers = nvt_input_run_numbers(&made->input, &count);
    assert_non_null(numbers);
    assert_int_equal(count, runs);
    for (size_t i = 0; i < made->input.trace_count; i++) {
        assert_int_equal(numbers[i], expected[i]);
        nvt_trace_free(made->traces[i].trace);
        nvt_record_free(&made->records[i]);
    }
    free(numbers);
    *made = (struct made){0};
}

static void ranks_of_a_run_go_together(void **state)
{
    (void)state;
    static const char two[] = "{\"workload\": \"w\", \"n\": 2, \"backend\": \"\"}",
                      four[] = "{\"workload\": \"w\", \"n\": 4, \"backend\": \"\"}";
    struct made made = {0};
    /* By processes, and by names of files; the second one of a rank is of another run. */
    add(&made, "a.nvt", 0, NULL);
    add(&made, "b.rank1.nvt", NVT_NONE, NULL);
    add(&made, "c.nvt", 1, NULL);
    add(&made, "d.rank0.nvt", NVT_NONE, NULL);
    add(&made, "e.nvt", NVT_NONE, NULL);
    add(&made, "f.nvt", NVT_NONE, NULL);
    expect(&made, (const size_t[]){0, 0, 1, 1, 2, 3}, 4);
    /* Of what they were run with. */
    add(&made, "a.nvt", 0, two);
    add(&made, "b.nvt", 0, four);
    add(&made, "c.nvt", 1, four);
    add(&made, "d.nvt", 1, two);
    add(&made, "e.nvt", 1, NULL);
    add(&made, "f.nvt", NVT_NONE, two);
    expect(&made, (const size_t[]){0, 1, 1, 0, 2, 3}, 4);
    /* Of a row of a directory all are one run. */
    for (uint32_t i = 0; i < 4; i++) {
        add(&made, "a.nvt", i / 2 ? NVT_NONE : i, two);
        made.traces[i].is_by_name = 0;
        made.traces[i].record = i == 3;
    }
    expect(&made, (const size_t[]){0, 0, 0, 1}, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_tell_their_rank),
        cmocka_unit_test(names_tell_a_rank),
        cmocka_unit_test(ranks_of_a_run_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
