/*
 * tests/device/run without a device: what is not run is said and is no success. And dry, with the host
 * in the place of the device: rows, going on after a break, packing. What goals.py decides, of rows whose
 * ratios are known.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"

/* The script with its folders in ours; dry at the smallest size that can be cut into 128 fragments. */
static struct cli_result run(const char *dry, const char *work, const char *iterations,
                             const char *const parts[])
{
    static char variables[5][4200];
    const char *argv[16] = {"tests/device/run"};
    snprintf(variables[0], sizeof(variables[0]), "BUILD=%s",
             cli_built(strcmp(dry, "emulated") ? "" : "emulated"));
    snprintf(variables[1], sizeof(variables[1]), "WORK=%s", cli_in(cli_folder, work));
    snprintf(variables[2], sizeof(variables[2]), "OUT=%s", cli_in(cli_folder, "packed"));
    snprintf(variables[3], sizeof(variables[3]), "ITERATIONS=%s", iterations);
    snprintf(variables[4], sizeof(variables[4]), "DRY=%s", dry);
    const char *const environment[] = {variables[0], variables[1], variables[2],
                                       variables[3], variables[4], NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 240};
    for (size_t i = 0; parts[i]; i++)
        argv[i + 1] = parts[i];
    return cli_run_with(&options, argv);
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    static const char *const parts[] = {"everything", NULL};
    struct cli_result result = run("", "wrong", "1", parts);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "usage: tests/device/run"));
    cli_result_free(&result);
}

static void without_a_device_parts_are_not_run(void **state)
{
    (void)state;
    if (!access("/dev/nvidiactl", F_OK))
        skip();
    static const char *const parts[] = {"check", "fragments", "train", NULL};
    struct cli_result result = run("", "none", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "fragments: not run:"));
    assert_non_null(strstr(
        result.out, "Not run: build check fragments overhead beside_linear beside_transformer "
                    "beside_switchback beside_gpipe transformer switchback gpipe nccl "
                    "accumulate train sanitize pack"));
    cli_result_free(&result);
}

static void a_part_is_resumed_and_packed(void **state)
{
    (void)state;
    static const char *const fragments[] = {"fragments", NULL};
    static const char *const both[] = {"fragments", "pack", NULL};
    struct cli_result result = run("1", "work", "no number", fragments);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "0 of 39 rows"));
    cli_result_free(&result);
    result = run("1", "work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "39 of 39 rows"));
    cli_result_free(&result);
    result = run("1", "work", "1", both);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "fragments: was done before"));
    assert_non_null(strstr(result.out,
                           "Not run: build check overhead beside_linear beside_transformer "
                           "beside_switchback beside_gpipe transformer switchback gpipe nccl "
                           "accumulate train sanitize"));
    assert_non_null(strstr(result.out, "A dry run on the processor"));
    cli_result_free(&result);
    glob_t packed;
    assert_int_equal(glob(cli_in(cli_in(cli_folder, "packed"), "*"), 0, NULL, &packed), 0);
    /* The results, and the traces of the eight inference runs. */
    assert_int_equal(packed.gl_pathc, 2);
    globfree(&packed);
    const char *argv[] = {
        "tar", "tzf", cli_in(cli_in(cli_folder, "packed"), "nvtally-device-results.tar.gz"), NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "fragments-128/results.jsonl"));
    assert_non_null(strstr(result.out, "fragments-128/env.json"));
    cli_result_free(&result);
}

/* Parts with one iteration, dry, all of which end well; what is said then, up to NULL. */
static void rehearse(const char *dry, const char *work, const char *const parts[],
                     const char *const said[])
{
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    struct cli_result result = run(dry, work, "1", parts);
    cli_expect_status(&result, 0);
    for (size_t i = 0; said[i]; i++)
        if (!strstr(result.out, said[i]))
            fail_msg("no '%s' in\n%s", said[i], result.out);
    cli_result_free(&result);
}

/* Every part that needs neither PyTorch nor a device, as a dry run has it. */
static void every_part_can_be_rehearsed(void **state)
{
    (void)state;
    static const char *const parts[] = {"overhead",   "transformer", "switchback", "gpipe",
                                        "accumulate", "nccl",        NULL};
    static const char *const said[] = {
        "2 rounds of off,nvtx",
        "6 of 6 rows",
        "2 of 2 rows",
        "28 of 28 rows",
        "24 of 24 rows",
        "losses over NCCL with one rank those without, to 1e-6          reached  12 of 12 cases",
        "sums, the host's to the bit",
        NULL};
    rehearse("1", "dry", parts, said);
}

/* The same with the CUDA backend, on the stand-in for CUDA: what a device has and the host has not, graphs and the
 * levels of the collector, too. */
static void a_device_can_be_rehearsed(void **state)
{
    (void)state;
    static const char *const parts[] = {"fragments",  "overhead", "transformer", "switchback",
                                        "accumulate", "nccl",     NULL};
    static const char *const said[] = {"39 of 39 rows",
                                       "2 rounds of off,nvtx,kernel,full",
                                       "12 of 12 rows",
                                       "2 of 2 rows",
                                       "24 of 24 rows",
                                       "12 of 12 cases",
                                       "sums, the host's to the bit",
                                       "nothing below is a result of a device",
                                       NULL};
    rehearse("emulated", "emulated", parts, said);
}

/* With PyTorch for python3 here, ours and theirs in turn; without, that is said. */
static void beside_pytorch_or_not_run(void **state)
{
    (void)state;
    static const char *const import[] = {"python3", "-c", "import torch", NULL};
    static const char *const parts[] = {"beside_gpipe", "beside_switchback", NULL};
    struct cli_result result = cli_run(import);
    int has_torch = result.status == 0;
    cli_result_free(&result);
    result = run("1", "beside", "1", parts);
    cli_expect_status(&result, has_torch ? 0 : 3);
    assert_non_null(strstr(result.out, has_torch ? "2 rounds, ours and theirs in turn"
                                                 : "no PyTorch with cpu for python3 here"));
    cli_result_free(&result);
}

/* --- what goals.py decides --- */

static void put(const char *folder, const char *name, const char *text)
{
    mkdir(cli_in(cli_folder, "goals"), 0777);
    char path[4096];
    snprintf(path, sizeof(path), "%s", cli_in(cli_in(cli_folder, "goals"), folder));
    mkdir(path, 0777);
    char *inner = strrchr(name, '/');
    if (inner) {
        char below[64];
        snprintf(below, sizeof(below), "%.*s", (int)(inner - name), name);
        mkdir(cli_in(path, below), 0777);
    }
    cli_write_file(cli_in(path, name), text, strlen(text));
}

/* Levels; at kernel and full a row tells how many records of the device its trace has. */
#define OFF           "off\""
#define KERNEL        "kernel\", \"device_records\": 7"
#define FULL(records) "full\", \"device_records\": " #records
#define LEVEL(mode, level, ns)                                                                     \
    "{\"workload\": \"t\", \"size\": 1, \"mode\": \"" mode                                         \
    "\", \"variant\": null, \"status\": \"ok\", \"collect\": \"" level                             \
    ", \"forward_ns_mean\": " #ns "}\n"
#define LAYER(mode, variant, fragments, ns)                                                        \
    "{\"size\": 1, \"batch\": 1, \"status\": \"ok\", \"mode\": \"" mode                            \
    "\", \"variant\": " variant ", \"fragments\": " fragments ", \"forward_ns_mean\": " #ns        \
    ", \"backward_ns_mean\": " #ns "}\n"

/* Of mode a at kernel 1.02 and 1.038, in the median 1.029; at full 1.2. Mode b, a hundred times as fast, has a
 * bare run of its own, and at full a trace that is empty, which is no run at full. Our linear layer takes 9/10 of theirs;
 * 128 fragments take 1.5 of two, and a twentieth of theirs. */
static void goals_are_decided_by_ratios(void **state)
{
    (void)state;
    put("overhead-1", "t/results.jsonl",
        LEVEL("a", OFF, 100) LEVEL("a", KERNEL, 102) LEVEL("a", FULL(8), 120) LEVEL("b", OFF, 1)
            LEVEL("b", KERNEL, 1.01) LEVEL("b", FULL(0), 1));
    put("overhead-2", "t/results.jsonl",
        LEVEL("a", OFF, 100) LEVEL("a", KERNEL, 103.8) LEVEL("b", OFF, 1) LEVEL("b", KERNEL, 1.01));
    put("beside_linear-1", "ours/results.jsonl",
        LAYER("linear", "null", "null", 90) LAYER("inference", "\"grouped\"", "2", 40)
            LAYER("inference", "\"grouped\"", "128", 60));
    put("beside_linear-1", "torch.jsonl",
        LAYER("linear", "null", "null", 100) LAYER("inference", "\"looped\"", "128", 1200));
    put("beside_linear-1", "done", "");
    put("beside_linear-2", "ours/results.jsonl", LAYER("linear", "null", "null", 900));
    put("state", "check", "failed\t3 of 4\n");
    const char *argv[] = {"python3", "tests/device/goals.py", cli_in(cli_folder, "goals"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    static const char *const lines[] = {
        "  every operation as in double precision                         missed   3 of 4\n",
        "  forward at kernel at most 1.03 of bare                         reached  2 of 2 cases, "
        "rounds: 2; "
        "worst: t 1 a 1.029 [1.020 1.038]\n",
        "  forward at full at most 1.10 of bare                           missed   0 of 1 cases, "
        "rounds: 1; "
        "worst: t 1 a 1.200 [1.200 1.200]\n",
        "  device records in every trace at kernel and full               missed   5 of 6 traces\n",
        "  linear forward no slower than PyTorch                          reached  1 of 1 cases, "
        "rounds: 1; "
        "worst: 1 1 0.900",
        "  grouped forward, 128 fragments at most 1.3 of 2                missed   0 of 1 cases, "
        "rounds: 1; "
        "worst: 1 1 1.500",
        "  grouped forward, 128 fragments, 20 times PyTorch's looped      reached  1 of 1 cases",
        "  transformer forward no slower than PyTorch                     not run\n",
        "  peak activation memory at most the published in 80 of 84 rows  not run  0 of 0 rows "
        "(published: 84)\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no line '%s' in\n%s", lines[i], result.out);
    cli_result_free(&result);
}

/* More traces than there is room for: eight files, none above 16 MiB, and the rest is told. */
static void packing_has_bounds(void **state)
{
    (void)state;
    static const char *const parts[] = {"pack", NULL};
    char *noise = malloc(9 << 20);
    const char *work = cli_in(cli_folder, "large");
    assert_non_null(noise);
    uint64_t random = 1;
    for (size_t i = 0; i < 9 << 20; i++)
        noise[i] = (char)((random = random * 6364136223846793005u + 1442695040888963407u) >> 56);
    mkdir(work, 0777);
    for (int i = 0; i < 9; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d.nvt", i);
        cli_write_file(cli_in(work, name), noise, 9 << 20);
    }
    free(noise);
    struct cli_result result = run("", "large", "1", parts);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "8 files"));
    assert_non_null(strstr(result.out, "2 traces had no room"));
    cli_result_free(&result);
    glob_t packed;
    struct stat status;
    assert_int_equal(glob(cli_in(cli_in(cli_folder, "packed"), "*"), 0, NULL, &packed), 0);
    assert_int_equal(packed.gl_pathc, 8);
    for (size_t i = 0; i < packed.gl_pathc; i++) {
        assert_int_equal(stat(packed.gl_pathv[i], &status), 0);
        assert_true(status.st_size <= 16 << 20);
    }
    globfree(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(without_a_device_parts_are_not_run),
        cmocka_unit_test(a_part_is_resumed_and_packed),
        cmocka_unit_test(every_part_can_be_rehearsed),
        cmocka_unit_test(a_device_can_be_rehearsed),
        cmocka_unit_test(beside_pytorch_or_not_run),
        cmocka_unit_test(goals_are_decided_by_ratios),
        cmocka_unit_test(packing_has_bounds),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
