/*
 * `nvtally run --launcher`: a sweep over ranks, each run of which a launcher of its own starts.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

#define MPIRUN "mpirun --allow-run-as-root --oversubscribe "

#define SMALL                                                                                      \
    "--d-model", "32", "--layers", "4", "--heads", "4", "--d-ff", "64", "--batch", "8",            \
        "--sequence", "16", "--vocabulary", "100", "--warmup", "1", "--iterations", "2",           \
        "--engine", "self", "--checkpoint", "off"

/* A sweep into "out". `launcher` NULL: without one. `option` and `value` NULL: none. */
static struct cli_result sweep(const char *partitions, const char *microbatches,
                               const char *transport, const char *launcher, const char *option,
                               const char *value)
{
    const char *argv[64] = {
        "nvtally",    "run",         "gpipe",   "--partitions", partitions, "--microbatches",
        microbatches, "--transport", transport, "-o",           "out",      SMALL};
    size_t count = 0;
    while (argv[count])
        count++;
    if (launcher) {
        argv[count++] = "--launcher";
        argv[count++] = launcher;
    }
    if (option)
        argv[count++] = option;
    if (value)
        argv[count++] = value;
    return cli_run_with(&(struct cli_options){.directory = cli_folder, .timeout_s = 120}, argv);
}

static struct nvt_runs *read_rows(size_t expected)
{
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "out"));
    if (runs->count != expected)
        fail_msg("%zu rows, not %zu", runs->count, expected);
    return runs;
}

static double number(const struct nvt_runs *runs, size_t row, const char *key)
{
    return nvt_record_number(&runs->records[row], key);
}

/* What a shell prints there, at most 99 characters of it. */
static const char *shell(const char *script)
{
    static char out[100];
    struct cli_result result =
        cli_run_with(&(struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    snprintf(out, sizeof(out), "%s", result.out);
    cli_result_free(&result);
    return out;
}

/* As many ranks as partitions, beside one process; each rank has its trace, which tells its number. */
static void runs_over_ranks_are_rows_of_one_sweep(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    struct cli_result result =
        sweep("1,2,4", "4", "local,mpi", MPIRUN "-n {partitions}", NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = read_rows(6);
    for (size_t i = 0; i < 6; i++) {
        const struct nvt_record *row = &runs->records[i];
        int is_local = !strcmp(nvt_record_text(row, "transport"), "local");
        double partitions = nvt_record_number(row, "partitions");
        assert_string_equal(nvt_record_text(row, "status"), "ok");
        /* Threads of the products are not the same, so that sums may be rounded otherwise. */
        assert_true(fabs(number(runs, i, "loss") / number(runs, 0, "loss") - 1) < 1e-6);
        if (is_local || partitions < 2)
            assert_true(isnan(nvt_record_number(row, "ranks")));
        else
            assert_true(nvt_record_number(row, "ranks") == partitions);
    }
    nvt_runs_free(runs);
    assert_string_equal(shell("ls -A out | grep -c '[.]nvt$'"), "10\n");
    assert_string_equal(shell("ls -A out | grep -cv '[.]nvt$'"), "2\n");
    assert_string_equal(
        shell("for r in 0 1 2 3; do \"$0\" stats -r nvtx_marks -f csv out/*partitions4*-rank$r.nvt "
              "| grep -c \"\\\"\\\"ranks\\\"\\\": 4, \\\"\\\"rank\\\"\\\": $r, \"; done"),
        "1\n1\n1\n1\n");
    /* All ranks of a run are put together. */
    assert_string_equal(shell("\"$0\" stats -r pipeline -f csv out | grep -c "
                              "'partitions=4.*transport=mpi.*,[0-3],2,.*,host,$'"),
                        "4\n");
}

/* Every rank is asked for memory that one run's partitions do not have; the next run has enough. */
static void memory_that_runs_out_is_a_row(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    struct cli_result result =
        sweep("1,2", "2", "mpi", MPIRUN "-n {partitions}", "--memory-limit", "3M");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "1 of 2 configurations failed"));
    cli_result_free(&result);
    struct nvt_runs *runs = read_rows(2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    assert_non_null(strstr(nvt_record_text(&runs->records[1], "message"), "--memory-limit"));
    nvt_runs_free(runs);
    /* Rows that ended stay, those of ranks too. */
    result = sweep("1,2", "2", "mpi", MPIRUN "-n {partitions}", "--memory-limit=3M", "--resume");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    runs = read_rows(2);
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    nvt_runs_free(runs);
    /* With more memory it is another question. */
    result = sweep("1,2", "2", "mpi", MPIRUN "-n {partitions}", "--resume", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    runs = read_rows(2);
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "ok");
    nvt_runs_free(runs);
}

/* One rank of the first run is killed: that run is an error, and the sweep goes on. */
static void a_rank_that_dies_is_a_row(void **state)
{
    static const char script[] = "#!/bin/sh\n"
                                 "case \"$*\" in *' ranks') exec \"$@\" ;; esac\n"
                                 "[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] && mkdir died 2>/dev/null && "
                                 "kill -9 $$\n"
                                 "exec \"$@\"\n";
    (void)state;
    if (!cli_has_mpirun())
        skip();
    cli_write_file(cli_in(cli_folder, "dies"), script, sizeof(script) - 1);
    struct cli_result result =
        sweep("2", "2,4", "mpi", MPIRUN "-n 2 sh ./dies", "--time-limit", "100");
    assert_false(result.timed_out);
    cli_expect_status(&result, 128 + 9);
    cli_result_free(&result);
    struct nvt_runs *runs = read_rows(2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "error");
    assert_non_null(strstr(nvt_record_text(&runs->records[0], "message"), "killed by signal 9"));
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "ok");
    nvt_runs_free(runs);
    /* Once more, that one alone. */
    result = sweep("2", "2,4", "mpi", MPIRUN "-n 2", "--resume", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    runs = read_rows(2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
    nvt_runs_free(runs);
}

/* SIGTERM while ranks are at work: they end, and nothing is left of the run that was not finished. */
static void an_interrupted_run_leaves_nothing(void **state)
{
    static const char script[] =
        "\"$0\" run gpipe --partitions 2 --microbatches 2 --engine self --checkpoint off "
        "--transport mpi --d-model 32 --layers 4 --heads 4 --d-ff 64 --batch 8 --sequence 16 "
        "--vocabulary 100 --iterations 1000000 -o cut --launcher '" MPIRUN "-n 2' & "
        "for i in $(seq 6000); do sleep 0.1; \"$0\" stats -r nvtx_sum cut/*-rank1.nvt 2>&1 | "
        "grep -q 'forward p1' && break; done; kill $!; wait $!; echo ended with $?; ls -A cut; "
        "pgrep -f 'worker run.*gpipe.*[0]000000' >/dev/null && echo 'still at work'; true";
    (void)state;
    if (!cli_has_mpirun())
        skip();
    const char *out = shell(script);
    if (strcmp(out, "ended with 143\nenv.json\nresults.jsonl\n") != 0)
        fail_msg("%s", out);
}

/* Memory that the second partition alone does not have. */
struct shortage {
    const char *batch, *sequence, *vocabulary, *limit;
};

static const struct shortage shortages[] = {
    {"8", "32", "3000", "20M"}, /* for its logits, while the first one waits for their gradient */
    {"4096", "64", "50", "6M"}, /* for its targets, when the first one is ready to compare clocks */
};

static struct cli_result run_short(const struct shortage *of, const char *engine, int is_launched)
{
    const char *argv[64] = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"};
    size_t count = is_launched ? 0 : 5;
    const char *const words[] = {cli_built("nvtally"),
                                 "run",
                                 "gpipe",
                                 "--partitions",
                                 "2",
                                 "--microbatches",
                                 "2",
                                 "--transport",
                                 "mpi",
                                 "--engine",
                                 engine,
                                 "--batch",
                                 of->batch,
                                 "--sequence",
                                 of->sequence,
                                 "--vocabulary",
                                 "",
                                 "--memory-limit",
                                 of->limit,
                                 "--d-model",
                                 "8",
                                 "--layers",
                                 "2",
                                 "--heads",
                                 "2",
                                 "--d-ff",
                                 "16",
                                 "--checkpoint",
                                 "off",
                                 "--warmup",
                                 "0",
                                 "--backend",
                                 "host",
                                 "-o",
                                 "short"};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
        argv[count++] = words[i][0] ? words[i] : of->vocabulary;
    if (is_launched) {
        argv[count++] = "--launcher";
        argv[count] = MPIRUN "-n 2";
    }
    return cli_run_with(&(struct cli_options){.directory = cli_folder, .timeout_s = 30}, argv);
}

/* The others have done nothing wrong, and wait for it: they end at once, and all traces can be read. */
static void memory_that_runs_out_in_one_rank_ends_all(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    for (size_t i = 0; i < 4; i++) {
        int is_launched = i % 2;
        struct cli_result result =
            run_short(&shortages[i / 2], is_launched ? "self" : "torchgpipe", is_launched);
        assert_false(result.timed_out);
        cli_expect_status(&result, 0);
        if (!is_launched)
            assert_non_null(strstr(result.err, "rank 0 of 2 failed: rank 1: out of memory: "));
        cli_result_free(&result);
        struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "short"));
        assert_int_equal(runs->count, 1);
        assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
        assert_non_null(strstr(nvt_record_text(&runs->records[0], "message"), "--memory-limit"));
        nvt_runs_free(runs);
        assert_string_equal(shell("for r in 0 1; do \"$0\" stats -r nvtx_marks short/*-rank$r.nvt "
                                  ">/dev/null && echo read; done"),
                            "read\nread\n");
    }
}

static void expect_refused(const char *launcher, const char *transport, const char *option,
                           const char *value, const char *needle)
{
    struct cli_result result = sweep("2", "2", transport, launcher, option, value);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}

static void launchers_that_are_none(void **state)
{
    (void)state;
    expect_refused("no-such-launcher -n 2", "mpi", NULL, NULL,
                   "--launcher no-such-launcher: there is no such program");
    expect_refused(" ", "mpi", NULL, NULL, "--launcher: names no program");
    expect_refused("false", "mpi", NULL, NULL, "\"false\": ended with exit status 1");
    expect_refused("true", "mpi", NULL, NULL, "\"true\": it starts no ranks");
    expect_refused("true {wheels}", "mpi", NULL, NULL, "{wheels} is not an axis of gpipe");
    expect_refused("true {engine}", "mpi", NULL, NULL, "{engine} is not a number");
    expect_refused("env", "local", NULL, NULL, "is for --transport mpi and nccl");
    expect_refused("env", "mpi", "--one-process", NULL, "--one-process: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_over_ranks_are_rows_of_one_sweep),
        cmocka_unit_test(memory_that_runs_out_is_a_row),
        cmocka_unit_test(memory_that_runs_out_in_one_rank_ends_all),
        cmocka_unit_test(a_rank_that_dies_is_a_row),
        cmocka_unit_test(an_interrupted_run_leaves_nothing),
        cmocka_unit_test(launchers_that_are_none),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
