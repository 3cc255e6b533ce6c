/*
 * Rows that traces carry: what is made of a directory is made of its traces alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/studies/phases.h"
#include "../analyze/input/rows.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "small_trace.h"

/* --- whole commands ---------------------------------------------------------------------------------- */

/* A run of these words into a folder of this name, under mpirun where ranks are given. */
static void run(const char *words, const char *ranks, const char *folder)
{
    char command[1200];
    snprintf(command, sizeof(command), "cd \"$1\" && exec %s%s \"$0\" run %s --backend host -o %s",
             ranks ? "mpirun --allow-run-as-root --oversubscribe -n " : "", ranks ? ranks : "",
             words, folder);
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", command, cli_built("nvtally"), cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static struct cli_result ask(const char *command, const char *what)
{
    char line[600];
    snprintf(line, sizeof(line), "cd \"$1\" && exec \"$0\" %s %s", command, what);
    return cli_run((const char *const[]){"sh", "-c", line, cli_built("nvtally"), cli_folder, NULL});
}

/* A command that shows a finding names what it was given. */
static void without_commands(char *text)
{
    for (char *line; (line = strstr(text, "\n   show ")); text = line) {
        const char *end = strchr(line + 1, '\n');
        memmove(line, end ? end : "", strlen(end ? end : "") + 1);
    }
}

/* The traces of a folder, however they are ordered, tell the same as the folder. */
static void expect_the_same(const char *command, const char *folder)
{
    char all[128], turned[128];
    snprintf(all, sizeof(all), "%s/*.nvt", folder);
    snprintf(turned, sizeof(turned), "$(ls -r %s/*.nvt)", folder);
    struct cli_result want = ask(command, folder);
    cli_expect_status(&want, 0);
    without_commands(want.out);
    for (int i = 0; i < 2; i++) {
        struct cli_result got = ask(command, i ? turned : all);
        cli_expect_status(&got, 0);
        without_commands(got.out);
        if (strcmp(got.out, want.out) != 0)
            fail_msg("%s: of the traces\n%s\nof the folder\n%s", command, got.out, want.out);
        cli_result_free(&got);
    }
    cli_result_free(&want);
}

static void studies_are_made_of_traces(void **state)
{
    (void)state;
    run("fragmented --size 64 --batch 2 --fragments 2,8,32 --mode train,inference --iterations 5",
        NULL, "layers");
    expect_the_same("stats -f csv", "layers");
    expect_the_same("stats -f csv -r phases", "layers");
    expect_the_same("stats -f published", "layers");
    expect_the_same("diagnose --by fragments", "layers");
    static const char same[] = "n() { \"$0\" plot \"$@\" -o \"$P\" | sed 's|.*/||'; }; "
                               "P=of_folder; a=$(n layers); P=of_traces; "
                               "b=$(n layers/*.nvt); echo \"$a\"; test \"$a\" = \"$b\" && cmp "
                               "of_folder/fragments-size64-batch2.dat "
                               "of_traces/fragments-size64-batch2.dat";
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c", same, cli_built("nvtally"), NULL});
    if (!strstr(result.err, "gnuplot-nox")) {
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "fragments-size64-batch2.svg"));
    }
    cli_result_free(&result);
    run("switchback --dim 64 --batch 128 --warmup 0 --iterations 2", NULL, "int8");
    expect_the_same("stats -f csv", "int8");
    expect_the_same("stats -f published", "int8");
    run("accumulate --count 100 --iterations 2", NULL, "sums");
    expect_the_same("stats -f csv", "sums");
    run("transformer --size tiny --warmup 0,1 --iterations 2 --repeat 2", NULL, "model");
    expect_the_same("stats -f csv", "model");
    expect_the_same("stats -f csv -r warmup", "model");
}

/* One trace has the layout of its study, too. */
static void a_single_trace_has_its_layout(void **state)
{
    (void)state;
    static const struct {
        const char *trace, *begin;
    } known[] = {{"layers/*-train-fragments2.nvt", "Benchmarking with input_size=64, "},
                 {"int8/*switchoff*.nvt", "{\"repeat\": 2, \"batch_size\": 128, "},
                 {"sums/*-fp32*.nvt", "tensor("},
                 {"model/*-warmup1-repeat1.nvt", "With 1 warmup step, profiled by nvtx:\n+--"}};
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++) {
        char one[128];
        snprintf(one, sizeof(one), "$(ls %s | head -n 1)", known[i].trace);
        struct cli_result result = ask("stats -f published", one);
        cli_expect_status(&result, 0);
        if (strncmp(result.out, known[i].begin, strlen(known[i].begin)) != 0)
            fail_msg("%s: %s", known[i].trace, result.out);
        cli_result_free(&result);
    }
}

/* Directories of two studies: the first is shown, and how to ask for the other. */
static void what_is_not_shown_is_named(void **state)
{
    (void)state;
    struct cli_result result = ask("stats", "model int8");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "[switchback]"));
    assert_null(strstr(result.out, "[phases]"));
    assert_non_null(strstr(result.err, "note: this is the report switchback; for transformer there "
                                       "is another: -r switchback,phases prints them all\n"));
    cli_result_free(&result);
    result = ask("stats -f published -r phases,switchback", "model int8");
    cli_expect_status(&result, 0);
    const char *lines = strstr(result.out, "+\n\n{\"repeat\"");
    assert_non_null(lines);
    assert_memory_equal(result.out, "With 0 warmup", 13);
    assert_null(strstr(lines, "With "));
    cli_result_free(&result);
    result = ask("stats", "layers");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "this is the report"));
    cli_result_free(&result);
}

static void ranks_are_one_run(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){"mpirun", "--version", NULL});
    int has_mpi = !result.status && !access(cli_built("libnvtally-mpi.so"), R_OK);
    cli_result_free(&result);
    if (!has_mpi)
        skip();
    run("gpipe --transport mpi --partitions 2 --microbatches 4 --engine self --checkpoint off "
        "--d-model 16 --layers 4 --heads 2 --d-ff 32 --batch 8 --sequence 4 --vocabulary 20 "
        "--iterations 2",
        "2", "ranks");
    expect_the_same("stats -f csv", "ranks");
    expect_the_same("stats -f csv -r pipeline", "ranks");
}

/* --- made by hand ------------------------------------------------------------------------------------- */

static void mark(struct nvt_trace *trace, const char *domain, const char *text)
{
    struct nvt_mark row = {.thread = small_thread(trace, 1, 1),
                           .domain = nvt_trace_domain(trace, 0, domain),
                           .name = nvt_strings_add_text(trace->strings, text)};
    assert_true(nvt_mark_add(trace, &row) != NVT_NONE);
}

static void rows_of(struct nvt_input *input, struct nvt_trace **traces, size_t count)
{
    struct nvt_error err = NVT_ERROR_INIT;
    *input = (struct nvt_input){0};
    input->traces = calloc(count, sizeof(*input->traces));
    input->trace_count = count;
    for (size_t i = 0; i < count; i++) {
        small_trace_finish(traces[i]);
        input->traces[i].trace = traces[i];
    }
    assert_int_equal(nvt_input_rows(input, &err), 0);
}

#define ROW(n)                                                                                     \
    "result {\"workload\": \"w\", \"n\": " n ", \"backend\": \"host\", \"device\": \"d" n "\"}"

static void a_trace_is_of_its_row(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_trace *traces[] = {small_trace(), small_trace(), small_trace()};
    mark(traces[0], "nvtally", "no row");
    mark(traces[1], "nvtally", ROW("2"));
    mark(traces[2], "nvtally", ROW("3"));
    rows_of(&input, traces, 3);
    assert_int_equal(input.run_count, 1);
    assert_int_equal(input.runs[0]->count, 2);
    /* The one without a row has moved behind. */
    assert_ptr_equal(input.traces[0].trace, traces[1]);
    assert_ptr_equal(input.traces[0].runs, input.runs[0]);
    assert_ptr_equal(input.traces[1].trace, traces[2]);
    assert_int_equal(input.traces[1].record, 1);
    assert_null(input.traces[2].runs);
    assert_string_equal(nvt_record_text(&input.runs[0]->env, "backend"), "host");
    assert_string_equal(nvt_record_text(&input.runs[0]->env, "device"), "several");
    nvt_input_free(&input);
}

static void a_trace_of_several_runs_is_of_none(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_trace *traces[] = {small_trace()};
    mark(traces[0], "nvtally", ROW("2"));
    mark(traces[0], "nvtally", ROW("3"));
    rows_of(&input, traces, 1);
    assert_int_equal(input.runs[0]->count, 2);
    assert_null(input.traces[0].runs);
    nvt_input_free(&input);
}

static void what_is_no_row_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *domain, *text;
        int told;
    } others[] = {{"", ROW("1"), 0},
                  {"mine", ROW("1"), 0},
                  {"nvtally", "result", 0},
                  {"nvtally", "results {}", 0},
                  {"nvtally", "result {\"workload\": ", 1},
                  {"nvtally", "result {\"a\": 1} {", 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++) {
        struct nvt_input input;
        struct nvt_trace *traces[] = {small_trace()};
        mark(traces[0], others[i].domain, others[i].text);
        rows_of(&input, traces, 1);
        assert_int_equal(input.run_count, 0);
        assert_null(input.traces[0].runs);
        assert_int_equal(input.notes.size > 0, others[i].told);
        nvt_input_free(&input);
    }
}

/* Of anybody's program: a range of the domain nvtally says what was varied. */
static void a_configuration_is_a_row(void **state)
{
    (void)state;
    static const char *const names[] = {"solver n=2 mode=fast", "solver n=4.5 mode=fast", "plain"};
    struct nvt_input input;
    struct nvt_trace *traces[] = {small_trace(), small_trace(), small_trace(), small_trace()};
    for (int i = 0; i < 3; i++)
        small_range(traces[i], small_thread(traces[i], 1, 1), "nvtally", names[i], 0, 100,
                    NVT_PUSH_POP);
    /* Of two configurations it is the trace of neither. */
    for (int i = 0; i < 2; i++)
        small_range(traces[3], small_thread(traces[3], 1, 1), "nvtally", names[i], 200 * i,
                    200 * i + 100, NVT_PUSH_POP);
    rows_of(&input, traces, 4);
    assert_int_equal(input.run_count, 1);
    assert_int_equal(input.runs[0]->count, 2);
    const struct nvt_record *record = &input.runs[0]->records[1];
    assert_string_equal(nvt_record_text(record, "workload"), "solver");
    assert_true(nvt_record_axis(record, "n")->number == 4.5);
    assert_string_equal(nvt_record_axis(record, "mode")->text, "fast");
    assert_ptr_equal(input.traces[1].trace, traces[1]);
    assert_null(input.traces[2].runs);
    assert_null(input.traces[3].runs);
    nvt_input_free(&input);
}

/* A name may have several words before its numbers; nothing of it is lost, in rows and in phases alike. */
static void a_name_may_have_several_words(void **state)
{
    (void)state;
    static const struct {
        const char *name, *workload;
    } names[] = {{"my solver n=2", "my solver"},    {"solver n=2", "solver"},
                 {"my  solver  n=2", "my  solver"}, {"solver =x n=2", "solver =x"},
                 {"solver n=2 and more", "solver"}, {"a b c d n=2 m=3", "a b c d"},
                 {"solver with = alone", "solver"}};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        assert_int_equal(nvt_configuration_workload(names[i].name), strlen(names[i].workload));
        struct nvt_input input;
        struct nvt_trace *traces[] = {small_trace()};
        uint32_t thread = small_thread(traces[0], 1, 1);
        small_range(traces[0], thread, "nvtally", names[i].name, 0, 100, NVT_PUSH_POP);
        small_range(traces[0], thread, "nvtally", "iteration", 10, 90, NVT_PUSH_POP);
        small_range(traces[0], thread, "nvtally", "solve", 20, 80, NVT_PUSH_POP);
        rows_of(&input, traces, 1);
        assert_int_equal(input.run_count, 1);
        assert_string_equal(nvt_record_text(&input.runs[0]->records[0], "workload"),
                            names[i].workload);
        assert_true(input.traces[0].is_by_name && nvt_input_is_own(&input.traces[0]));
        struct nvt_phases *phases = nvt_phases_of(&input, NULL);
        assert_non_null(phases);
        assert_int_equal(nvt_phases_count(phases), 1);
        assert_string_equal(nvt_phases_row(phases, 0)->workload, names[i].workload);
        nvt_phases_free(phases);
        nvt_input_free(&input);
    }
}

/* A rank whose rank 0 is not there has no row. */
static void a_rank_alone_has_no_row(void **state)
{
    (void)state;
    static const char rest[] = "result {\"workload\": \"w\", \"backend\": \"host\", \"ranks\": 2, "
                               "\"rank\": %d, \"status\": \"ok\"}";
    for (int first = 0; first < 2; first++) {
        struct nvt_input input;
        struct nvt_trace *traces[] = {small_trace(), small_trace()};
        char text[200];
        snprintf(text, sizeof(text), rest, 1);
        mark(traces[0], "nvtally", text);
        snprintf(text, sizeof(text), rest, first ? 0 : 2);
        mark(traces[1], "nvtally", text);
        rows_of(&input, traces, 2);
        assert_int_equal(input.run_count, first);
        if (first) {
            assert_int_equal(input.runs[0]->count, 1);
            assert_ptr_equal(input.traces[0].trace, traces[1]);
            assert_ptr_equal(input.traces[1].runs, input.runs[0]);
            assert_int_equal(input.traces[1].record, 0);
        }
        nvt_input_free(&input);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(studies_are_made_of_traces),
        cmocka_unit_test(a_single_trace_has_its_layout),
        cmocka_unit_test(what_is_not_shown_is_named),
        cmocka_unit_test(ranks_are_one_run),
        cmocka_unit_test(a_trace_is_of_its_row),
        cmocka_unit_test(a_trace_of_several_runs_is_of_none),
        cmocka_unit_test(what_is_no_row_is_left),
        cmocka_unit_test(a_configuration_is_a_row),
        cmocka_unit_test(a_name_may_have_several_words),
        cmocka_unit_test(a_rank_alone_has_no_row),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
