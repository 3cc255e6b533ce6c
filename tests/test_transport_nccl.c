/*
 * `nvtally run gpipe --transport nccl` with a stand-in for NCCL (tests/nccl), on the host and on the stand-in for
 * CUDA (tests/emulated), where messages move when their streams get there: every schedule and engine gives the loss
 * of one process alone, in one process and over ranks with a device each; a rank that dies, or has no memory, ends
 * the others. What NCCL does on a device is shown by tests/device/run, not here.
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

#define SMALL                                                                                      \
    "--d-model", "32", "--layers", "4", "--heads", "4", "--d-ff", "64", "--batch", "8",            \
        "--sequence", "8", "--vocabulary", "50"

static char *directory;
static char stand_in[4200], folder[4200];
static const char *program, *backend, *failing = "EMULATED_FAIL=";

static int make_directory(void)
{
    directory = cli_tempdir();
    if (!directory)
        return -1;
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_NCCL=%s", cli_built("tests/libnccl-stand-in.so"));
    snprintf(folder, sizeof(folder), "TMPDIR=%s", directory);
    return 0;
}

static int on_the_host(void **state)
{
    (void)state;
    program = "nvtally";
    backend = "host";
    return make_directory();
}

static int on_emulated_devices(void **state)
{
    (void)state;
    program = "emulated/nvtally";
    backend = "cuda";
    return make_directory();
}

static int remove_directory(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

static struct cli_result run(const char *ranks, const char *const words[])
{
    const char *argv[64] = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks};
    const char *const environment[] = {stand_in, folder, "EMULATED_DEVICES=4", failing, NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 120};
    size_t count = ranks ? 5 : 0;
    argv[count++] = cli_built(program);
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    return cli_run_with(&options, argv);
}

struct way {
    const char *schedule, *engine, *checkpoint;
};

/* The loss of a small run; ranks: NULL for a single process. */
static double loss(const char *ranks, const char *partitions, const char *transport,
                   const struct way *way)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const char *const words[] = {"run",
                                 "gpipe",
                                 "--partitions",
                                 partitions,
                                 "--microbatches",
                                 "4",
                                 "--checkpoint",
                                 way->checkpoint,
                                 "--engine",
                                 way->engine,
                                 "--schedule",
                                 way->schedule,
                                 "--transport",
                                 transport,
                                 SMALL,
                                 "--backend",
                                 backend,
                                 "--collect",
                                 "off",
                                 "--warmup",
                                 "0",
                                 "--iterations",
                                 "2",
                                 "-o",
                                 cli_in(directory, "out"),
                                 NULL};
    struct cli_result result = run(ranks, words);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = nvt_runs_read(cli_in(directory, "out"), &err);
    assert_non_null(runs);
    assert_int_equal(runs->count, 1);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    double found = nvt_record_number(&runs->records[0], "loss");
    assert_true(isfinite(found));
    nvt_runs_free(runs);
    return found;
}

static const struct way ways[] = {
    {"gpipe", "self", "off"},      {"gpipe", "torchgpipe", "on"},
    {"1f1b", "self", "on"},        {"1f1b", "torchgpipe", "off"},
    {"interleaved", "self", "on"}, {"interleaved", "torchgpipe", "on"},
};

/* The short form has a part of the combinations on emulated devices, where a run takes seconds. */
static bool is_whole(void)
{
    return cli_is_long() || strcmp(backend, "host") == 0;
}

/* The loss without messages, which is run once for each backend. */
static double local_loss(const char *partitions, size_t way)
{
    static struct {
        const char *backend;
        double loss;
    } known[10][NVT_COUNT_OF(ways)];
    const size_t count = (size_t)(*partitions - '0');
    if (known[count][way].backend != backend) {
        known[count][way].loss = loss(NULL, partitions, "local", &ways[way]);
        known[count][way].backend = backend;
    }
    return known[count][way].loss;
}

static void expect_losses(const char *ranks, const char *partitions)
{
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++)
        assert_true(loss(ranks, partitions, "nccl", &ways[i]) == local_loss(partitions, i));
}

/* One rank: every message goes through NCCL, to itself. */
static void one_rank_gives_the_same_losses(void **state)
{
    (void)state;
    expect_losses(NULL, "4");
#ifndef __SANITIZE_THREAD__
    if (is_whole())
        expect_losses(NULL, "1");
#endif
}

/* Also with more partitions than ranks: then some neighbours are one process, and others are not.
 */
static void ranks_give_the_same_losses(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    expect_losses("3", "4");
#ifndef __SANITIZE_THREAD__ /* a run takes seconds to start; three have both kinds of neighbours */
    if (is_whole()) {
        expect_losses("2", "4");
        expect_losses("4", "4");
    }
#endif
}

/* A device has eight queues for all of a process's streams, and those that share one wait for each other. A partition
 * has five, with memory's and the first they are seven. */
static void a_rank_has_as_many_streams_as_it_needs(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    failing = "EMULATED_FAIL=cudaStreamCreateWithFlags:8";
    assert_true(isfinite(loss("4", "4", "nccl", &ways[2])));
    failing = "EMULATED_FAIL=";
}

/* SIGKILL of the worker of rank 1 of two; `option` is mpirun's. With two partitions each, a rank's messages wait for each
 * other's. */
static struct cli_result run_and_kill(const char *option)
{
    static const char script[] =
        "rm -rf dead; mpirun $2 --allow-run-as-root --oversubscribe -n 2 \"$0\" run gpipe "
        "--partitions 4 --schedule 1f1b "
        "--microbatches 4 --checkpoint on --engine self --transport nccl --d-model 32 --layers 4 "
        "--heads 4 --d-ff 64 --batch 8 --sequence 8 --vocabulary 50 --backend $3 --iterations "
        "1000000 "
        "-o dead & "
        "for i in $(seq 6000); do sleep 0.1; for r in 0 1; do "
        "\"$0\" stats -r nvtx_sum dead/*-rank$r.nvt 2>&1 | grep -q \"forward p$r\" || continue 2; "
        "done; break; done; "
        "for p in $(pgrep -f 'worker run.*gpipe'); do "
        "grep -qz \"$1\" /proc/$p/environ && grep -qz OMPI_COMM_WORLD_RANK=1 /proc/$p/environ && "
        "kill -9 $p && break; done; "
        "start=$(date +%s); wait; echo took $(($(date +%s) - start)); ls dead/*.nvt | wc -l";
    const char *const environment[] = {stand_in, folder, "EMULATED_DEVICES=2", NULL};
    return cli_run_with(
        &(struct cli_options){.directory = directory, .environment = environment, .timeout_s = 60},
        (const char *const[]){"bash", "-c", script, cli_built(program), folder, option, backend,
                              NULL});
}

/* What was said then, and "took SECONDS". Open MPI itself may stand still when it goes on without a rank, after an error of its
 * own process management: seen once in some hundreds of runs, and none of ours. */
static struct cli_result kill_one_rank(const char *option)
{
    struct cli_result result = run_and_kill(option);
    if (result.timed_out && strstr(result.err, "PMIX ERROR")) {
        print_message("once more: mpirun said: %s\n", strstr(result.err, "PMIX ERROR"));
        cli_result_free(&result);
        result = run_and_kill(option);
    }
    cli_expect_status(&result, 0);
    const char *took = strstr(result.out, "took ");
    assert_non_null(took);
    assert_true(atoi(took + 5) < 120);
    assert_non_null(strstr(result.err, "nvtally: rank 1 of 2 failed: killed by signal 9"));
    assert_non_null(strstr(result.out, "\n2\n"));
    return result;
}

static void one_rank_that_dies_ends_all(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    struct cli_result result = kill_one_rank("");
    cli_result_free(&result);
}

/* The option of Open MPI's mpirun by which the others go on; NULL: there is none. Since 5 a rank that has
 * failed ends them by its exit status, too. */
static const char *going_on(void)
{
    static const char before[] = "mpirun (Open MPI) ";
    struct cli_result version = cli_run((const char *const[]){"mpirun", "--version", NULL});
    const char *number = strstr(version.out, before);
    const char *option = !number ? NULL
                         : atoi(number + strlen(before)) < 5
                             ? "--enable-recovery"
                             : "--runtime-options recoverable,error-nonzero-status=0";
    cli_result_free(&version);
    return option;
}

/* A launcher that lets the others go on: what NCCL notices ends them. */
static void a_rank_that_is_gone_is_noticed(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    const char *option = going_on();
    if (!option)
        skip();
    struct cli_result result = kill_one_rank(option);
    assert_non_null(strstr(
        result.err, "nvtally: rank 0 of 2 failed: NCCL: a rank has ended: remote process exited"));
    cli_result_free(&result);
}

static void expect_row_without_memory(void)
{
    struct nvt_runs *runs = cli_read_runs(cli_in(directory, "short"));
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
    nvt_runs_free(runs);
}

/* The second partition alone has too little memory: for its logits in a step, or, before ranks are joined, for its
 * targets. */
static void a_rank_without_memory_ends_all(void **state)
{
    static const char *const shortages[][4] = {{"8", "32", "3000", "20M"},
                                               {"4096", "64", "50", "6M"}};
    (void)state;
    if (!cli_has_mpirun())
        skip();
    for (size_t i = 0; i < 4; i++) {
        const char *const *of = shortages[i / 2];
        const char *const words[] = {"run",
                                     "gpipe",
                                     "--partitions",
                                     "2",
                                     "--batch",
                                     of[0],
                                     "--sequence",
                                     of[1],
                                     "--vocabulary",
                                     of[2],
                                     "--microbatches",
                                     "2",
                                     "--memory-limit",
                                     of[3],
                                     "--checkpoint",
                                     "off",
                                     "--transport",
                                     "nccl",
                                     "--engine",
                                     i % 2 ? "self" : "torchgpipe",
                                     "--d-model",
                                     "8",
                                     "--layers",
                                     "2",
                                     "--heads",
                                     "2",
                                     "--d-ff",
                                     "16",
                                     "--warmup",
                                     "0",
                                     "--iterations",
                                     "1",
                                     "--backend",
                                     backend,
                                     "-o",
                                     cli_in(directory, "short"),
                                     NULL};
        struct cli_result result = run("2", words);
        assert_false(result.timed_out);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.err, "rank 0 of 2 failed: rank 1: out of memory: "));
        cli_result_free(&result);
        expect_row_without_memory();
    }
}

/* Both have too little: an abort waits for messages that the other's causes. */
static void ranks_without_memory_end(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    const char *const words[] = {"run",
                                 "gpipe",
                                 "--partitions",
                                 "2",
                                 "--microbatches",
                                 "4",
                                 "--checkpoint",
                                 "off",
                                 "--transport",
                                 "nccl",
                                 "--engine",
                                 "self",
                                 "--d-model",
                                 "64",
                                 "--layers",
                                 "4",
                                 "--heads",
                                 "4",
                                 "--d-ff",
                                 "256",
                                 "--batch",
                                 "32",
                                 "--sequence",
                                 "64",
                                 "--vocabulary",
                                 "300",
                                 "--memory-limit",
                                 "20M",
                                 "--warmup",
                                 "0",
                                 "--iterations",
                                 "1",
                                 "--backend",
                                 backend,
                                 "-o",
                                 cli_in(directory, "short"),
                                 NULL};
    struct cli_result result = run("2", words);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    expect_row_without_memory();
}

/* What NCCL says of an error, in its first line. */
static void an_error_has_nccls_own_words(void **state)
{
    (void)state;
    const char *const environment[] = {stand_in, "TMPDIR=/nowhere", NULL};
    const char *const argv[] = {"nvtally",
                                "run",
                                "gpipe",
                                "--partitions",
                                "2",
                                "--microbatches",
                                "2",
                                "--checkpoint",
                                "off",
                                "--engine",
                                "self",
                                "--transport",
                                "nccl",
                                SMALL,
                                "--backend",
                                "host",
                                "--collect",
                                "off",
                                "--warmup",
                                "0",
                                "--iterations",
                                "1",
                                "-o",
                                cli_in(directory, "why"),
                                NULL};
    struct cli_result result =
        cli_run_with(&(struct cli_options){.environment = environment}, argv);
    cli_expect_status(&result, 2);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(cli_in(directory, "why"));
    assert_string_equal(nvt_record_text(&runs->records[0], "message"),
                        "NCCL: starting: an error of the stand-in (the stand-in found no folder)");
    nvt_runs_free(runs);
}

static void without_nccl_one_line_says_so(void **state)
{
    static const char *const environment[] = {"NVTALLY_NCCL=/nowhere/libnccl.so.2", NULL};
    (void)state;
    const char *const argv[] = {"nvtally",
                                "run",
                                "gpipe",
                                "--partitions",
                                "2",
                                "--microbatches",
                                "2",
                                "--checkpoint",
                                "off",
                                "--engine",
                                "self",
                                "--transport",
                                "nccl",
                                SMALL,
                                "--backend",
                                "host",
                                "--iterations",
                                "1",
                                NULL};
    struct cli_result result =
        cli_run_with(&(struct cli_options){.environment = environment}, argv);
    cli_expect_failure(&result, "NCCL was not found (/nowhere/libnccl.so.2");
    cli_result_free(&result);
}

int main(void)
{
#define HERE(test)   cmocka_unit_test_setup_teardown(test, on_the_host, remove_directory)
#define DEVICE(test) cmocka_unit_test_setup_teardown(test, on_emulated_devices, remove_directory)
    const struct CMUnitTest tests[] = {
        HERE(one_rank_gives_the_same_losses),
        HERE(ranks_give_the_same_losses),
        HERE(one_rank_that_dies_ends_all),
        HERE(a_rank_that_is_gone_is_noticed),
        HERE(a_rank_without_memory_ends_all),
        HERE(ranks_without_memory_end),
        DEVICE(one_rank_gives_the_same_losses),
        DEVICE(ranks_give_the_same_losses),
        DEVICE(a_rank_has_as_many_streams_as_it_needs),
        DEVICE(one_rank_that_dies_ends_all),
        DEVICE(a_rank_that_is_gone_is_noticed),
        DEVICE(a_rank_without_memory_ends_all),
        DEVICE(ranks_without_memory_end),
        HERE(an_error_has_nccls_own_words),
        cmocka_unit_test(without_nccl_one_line_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
