/*
 * tests/device/run without a device: what is not run is said and is no success. And dry, with the host
 * in the place of the device: rows, going on after a break, packing. What goals.py decides, of rows whose
 * ratios are known.
 */
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

/* NAME=VALUE, unless the test has set that itself. */
static const char *unless_set(const char *name, const char *setting)
{
    return getenv(name) ? NULL : setting;
}

/* The script with its folders in ours; dry at the smallest size that can be cut into 128 fragments. The processor is slower than a
 * device, and others may use it, too: parts and rows have ten times as long. */
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
    const char *environment[9] = {variables[0], variables[1], variables[2], variables[3],
                                  variables[4]};
    const char *const longer[] = {unless_set("WITHIN", "WITHIN=5400"),
                                  unless_set("LIMIT", "LIMIT=4800"),
                                  unless_set("ROW_LIMIT", "ROW_LIMIT=600")};
    for (size_t i = 0, count = 5; i < NVT_COUNT_OF(longer); i++)
        if (longer[i])
            environment[count++] = longer[i];
    struct cli_options options = {.environment = environment, .timeout_s = 600};
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

/* In the order of what they decide. */
#define EVERY_PART                                                                                 \
    "build check losses accumulate beside_linear overhead beside_transformer switchback "          \
    "beside_gpipe fragments gpipe train nccl sanitize beside_switchback transformer precisions "   \
    "nsys twice cupti metrics endings live beside_forms beside_fused warmup devices nccl_devices " \
    "pack"

static void without_a_device_parts_are_not_run(void **state)
{
    (void)state;
    if (cli_has_device())
        skip();
    static const char *const parts[] = {"check", "fragments", "train", NULL};
    struct cli_result result = run("", "none", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "fragments: not run:"));
    assert_non_null(strstr(result.out, "Not run: " EVERY_PART));
    cli_result_free(&result);
}

/* What stands in for the program: rows of status error, and 0. */
static const char failing_program[] =
    "#!/bin/sh\n"
    "while [ $# -gt 1 ]; do shift; done\n"
    "mkdir -p \"$1\"\n"
    "echo '{\"status\": \"error\", \"message\": \"an illegal address\"}' >\"$1/results.jsonl\"\n";

/* dmon tells who it is and stays. */
static const char held_device[] = "#!/bin/sh\n"
                                  "[ \"$1\" = dmon ] || exit 0\n"
                                  "echo $$ >\"$HELD\"\n"
                                  "exec sleep 300\n";

static void put_program(const char *folder, const char *name, const char *text)
{
    mkdir(cli_in(cli_folder, folder), 0777);
    cli_write_file(cli_in(cli_in(cli_folder, folder), name), text, strlen(text));
    chmod(cli_in(cli_in(cli_folder, folder), name), 0777);
}

/* A folder with a device that answers, by this program in the place of nvtally, and that nvidia-smi holds. */
static void put_device(const char *folder, const char *program)
{
    put_program(folder, "nvtally", program);
    put_program(folder, "libnvtally-cuda.so", "");
    put_program(folder, "nvidia-smi", held_device);
}

/* The script with the programs of a folder of the fixture's, as BUILD and on PATH. */
static struct cli_result run_stood_in(const char *programs, const char *dry,
                                      const char *const parts[])
{
    char variables[7][4200], folder[4096];
    const char *argv[8] = {"tests/device/run"};
    snprintf(folder, sizeof(folder), "%s", cli_in(cli_folder, programs));
    snprintf(variables[0], sizeof(variables[0]), "BUILD=%s", folder);
    snprintf(variables[1], sizeof(variables[1]), "WORK=%s/work", folder);
    snprintf(variables[2], sizeof(variables[2]), "OUT=%s", cli_in(cli_folder, "packed"));
    snprintf(variables[3], sizeof(variables[3]), "HELD=%s/held", folder);
    snprintf(variables[4], sizeof(variables[4]), "PATH=%s:%s", folder, getenv("PATH"));
    snprintf(variables[5], sizeof(variables[5]), "DRY=%s", dry);
    const char *rounds = getenv("STANDS_IN_ROUNDS");
    snprintf(variables[6], sizeof(variables[6]), "ROUNDS=%s", rounds ? rounds : "1");
    const char *const environment[] = {variables[0], variables[1], variables[2], variables[3],
                                       variables[4], variables[5], variables[6], NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 120};
    for (size_t i = 0; parts[i]; i++)
        argv[i + 1] = parts[i];
    return cli_run_with(&options, argv);
}

/* A device that answers and computes nothing right is none; while parts run somebody holds it, and no longer. */
static void a_device_is_probed_and_held(void **state)
{
    (void)state;
    char number[32] = "";
    put_device("failing", failing_program);
    struct cli_result result = run_stood_in("failing", "", (const char *[]){"check", NULL});
    cli_expect_status(&result, 3);
    assert_non_null(
        strstr(result.err,
               "check: not run: the device answers, and a run on it fails: an illegal address"));
    cli_result_free(&result);
    FILE *held = fopen(cli_in(cli_in(cli_folder, "failing"), "held"), "re");
    assert_non_null(held);
    assert_non_null(fgets(number, sizeof(number), held));
    fclose(held);
    assert_int_equal(kill((pid_t)atoi(number), 0), -1);
}

/* Rows that failed are no end, however the program ends. */
static void a_failed_row_is_not_done(void **state)
{
    (void)state;
    put_program("failed-rows", "nvtally", failing_program);
    struct cli_result result = run_stood_in("failed-rows", "1", (const char *[]){"overhead", NULL});
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "0 of 4 steps"));
    cli_result_free(&result);
}

/* What stands in for the program: of one configuration a row that is ok, in the folder behind -o. */
static const char ok_program[] =
    "#!/bin/sh\n"
    "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
    "[ \"$word\" != --list ] || { echo one; exit; }\n"
    "mkdir -p \"$out\"\n"
    "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";

/* Rows without the traces that belong to them are not all of a part, and a second call makes the traces. */
static void a_trace_that_was_cut_is_told(void **state)
{
    (void)state;
    char program[512];
    snprintf(program, sizeof(program), "#!/bin/sh\ncase $* in *schedule*) exit $CUT ;; esac\n%s",
             strchr(ok_program, '\n') + 1);
    put_program("cut-traces", "nvtally", program);
    for (int cut = 1; cut >= 0; cut--) {
        setenv("CUT", cut ? "1" : "0", 1);
        struct cli_result result = run_stood_in("cut-traces", "1", (const char *[]){"gpipe", NULL});
        unsetenv("CUT");
        cli_expect_status(&result, cut);
        assert_non_null(strstr(result.err, cut ? "gpipe: failed: 1 of 1 rows, not all traces; a "
                                                 "second call goes on\n"
                                               : "gpipe: ok: 1 of 1 rows"));
        cli_result_free(&result);
    }
    assert_int_equal(
        access(cli_in(cli_in(cli_folder, "cut-traces"), "work/gpipe-traces/done"), R_OK), 0);
}

/* The seconds that a part's rows have at most, with WITHIN as it is here. */
static int seconds_of_a_part(const char *part, const char *within)
{
    char name[64], *log;
    snprintf(name, sizeof(name), "bounded-%s", part);
    put_program(name, "nvtally", ok_program);
    put_program(name, "libnvtally-cuda.so", "");
    put_program(name, "nvidia-smi", "#!/bin/sh\n");
    put_program(name, "timeout",
                "#!/bin/sh\n"
                "case $* in *run*transformer*) echo \"$3\" >>\"$HELD\" ;; esac\n"
                "shift 3\nexec \"$@\"\n");
    setenv("NSYS", "none", 1);
    if (within)
        setenv("WITHIN", within, 1);
    struct cli_result result = run_stood_in(name, "", (const char *[]){"--again", part, NULL});
    unsetenv("WITHIN");
    unsetenv("NSYS");
    cli_result_free(&result);
    log = cli_read_file(cli_in(cli_in(cli_folder, name), "held"), NULL);
    int seconds = log ? atoi(log) : 0;
    free(log);
    unlink(cli_in(cli_in(cli_folder, name), "held"));
    return seconds;
}

/* Steps that a log has, in their order. */
static void expect_steps(const char *log, const char *const steps[])
{
    for (size_t i = 0; steps[i]; i++) {
        const char *at = strstr(log, steps[i]);
        if (!at)
            fail_msg("no '%s' at this place in\n%s", steps[i], log);
        log = at + strlen(steps[i]);
    }
}

/* Steps and their limits, a line each, in the order of a call without names. Returns the seconds of those up to the first
 * one of what follows, all of them where none has its name. */
static int seconds_until(const char *step, const char *within)
{
    if (within)
        setenv("WITHIN", within, 1);
    struct cli_result result = cli_run((const char *const[]){"tests/device/run", "--plan", NULL});
    unsetenv("WITHIN");
    cli_expect_status(&result, 0);
    int sum = 0;
    char *rest = NULL;
    for (char *line = strtok_r(result.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *seconds = strchr(line, ' ');
        assert_non_null(seconds);
        *seconds = 0;
        if (!strcmp(line, step))
            break;
        sum += atoi(seconds + 1);
    }
    cli_result_free(&result);
    return sum;
}

/* Without a word about time a call has ended in less than ten minutes, packing included, and whatever a goal is decided by
 * gets its turn in it, even if all before it needs all of its limit: its first round, where it has rounds. */
static void nine_minutes_are_enough(void **state)
{
    (void)state;
    assert_in_range(seconds_of_a_part("overhead", NULL), 160, 180);
    assert_in_range(seconds_of_a_part("losses", NULL), 15, 25);
    assert_in_range(seconds_of_a_part("overhead", "none"), 460, 480);
    assert_in_range(seconds_of_a_part("overhead", "0"), 460, 480);
    assert_in_range(seconds_of_a_part("overhead", "90"), 70, 90);
    /* More time is more for each, less is no less for each. */
    assert_in_range(seconds_of_a_part("overhead", "1620"), 520, 540);
    assert_in_range(seconds_of_a_part("losses", "90"), 15, 25);
    struct cli_result result = cli_run((const char *const[]){"tests/device/run", "--list", NULL});
    assert_string_equal(result.out, EVERY_PART "\n");
    cli_result_free(&result);
    char *script = cli_read_file("tests/device/run", NULL);
    assert_non_null(strstr(script, "WITHIN=${WITHIN:-540}\n"));
    assert_non_null(strstr(script, "\nPACKING=30\n"));
    free(script);
    assert_in_range(seconds_until("train", NULL), 500, 540);
    assert_in_range(seconds_until("train", "1080"), 1000, 1080);
    assert_int_equal(seconds_until("train", "200"), seconds_until("train", NULL));
}

/* Without names, each part that has rounds has its first before any has its second, and each step is run once. */
static void first_rounds_come_first(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
        "[ \"$word\" != --list ] || { echo one; exit; }\n"
        "[ \"$1\" = run ] || exit 0\n"
        "mkdir -p \"$out\"\n"
        "echo \"${out#*/work/} $*\" >>\"$HELD\"\n"
        "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";
    static const char python[] =
        "#!/bin/sh\n"
        "case $* in *torch.jsonl) ;; *) exit 0 ;; esac\n"
        "while [ $# -gt 1 ]; do shift; done; echo '{\"status\": \"ok\"}' >\"$1\"\n";
    static const char *const steps[] = {"beside_linear-1/ours ",
                                        "overhead-1/transformer-small ",
                                        "overhead-1/fragmented ",
                                        "beside_transformer-1/ours ",
                                        "switchback-1-goal ",
                                        "beside_gpipe-1/ours ",
                                        "fragments-2048 ",
                                        "gpipe-4 ",
                                        "nccl ",
                                        "beside_linear-2/ours ",
                                        "overhead-2/fragmented ",
                                        "beside_transformer-2/ours ",
                                        "beside_gpipe-2/ours ",
                                        "beside_switchback-1/ours ",
                                        "transformer-small ",
                                        "beside_forms-1/ours ",
                                        "beside_fused-1/ours ",
                                        "warmup-small ",
                                        "beside_switchback-2/ours ",
                                        "beside_forms-2/ours ",
                                        "beside_fused-2/ours ",
                                        NULL};
    put_program("rounds", "nvtally", program);
    put_program("rounds", "libnvtally-cuda.so", "");
    put_program("rounds", "nvidia-smi", "#!/bin/sh\n");
    put_program("rounds", "make", "#!/bin/sh\n");
    put_program("rounds", "python3", python);
    setenv("NSYS", "none", 1);
    setenv("TRANSFORMERS", "small", 1);
    setenv("SWITCHBACK_SIDES", "2048", 1);
    setenv("NVTALLY_NCCL", "/dev/null", 1);
    setenv("STANDS_IN_ROUNDS", "2", 1);
    struct cli_result result = run_stood_in("rounds", "", (const char *[]){NULL});
    unsetenv("STANDS_IN_ROUNDS");
    unsetenv("NVTALLY_NCCL");
    unsetenv("SWITCHBACK_SIDES");
    unsetenv("TRANSFORMERS");
    unsetenv("NSYS");
    assert_non_null(strstr(result.err, "overhead: partly: 1 of 2 rounds of off,nvtx,kernel,full"));
    assert_non_null(strstr(result.err, "overhead: ok: 2 rounds of off,nvtx,kernel,full\n"));
    assert_non_null(strstr(result.err, "beside_gpipe: partly: 1 of 2 rounds; a second call"));
    assert_non_null(strstr(result.out, "beside_gpipe       ok       2 rounds, ours and theirs"));
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "rounds"), "held"), NULL);
    expect_steps(log, steps);
    for (size_t i = 0; steps[i]; i++) {
        char line[64];
        snprintf(line, sizeof(line), "\n%s", steps[i]);
        const char *once = strstr(log, line);
        if (!once || strstr(once + 1, line))
            fail_msg("'%s' was not run once in\n%s", steps[i], log);
    }
    free(log);
}

/* What its limit cut off is partly done, which is no failure, and goes on at the end of the call, in the time that is
 * left. What failed is not run again in it. */
static void what_was_cut_goes_on_at_the_end(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
        "[ \"$word\" != --list ] || { echo one; exit; }\n"
        "[ \"$1\" = run ] || exit 0\n"
        "mkdir -p \"$out\"\n"
        "echo \"${out#*/work/}\" >>\"$HELD\"\n"
        "case $out in\n"
        "*/fragments-128) [ -e \"$HELD.cut\" ] || { : >\"$HELD.cut\"; exec sleep 60; } ;;\n"
        "*/gpipe-1) echo '{\"status\": \"error\", \"message\": \"wrong\"}' "
        ">\"$out/results.jsonl\"; exit 1 ;;\n"
        "esac\n"
        "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";
    put_program("goes-on", "nvtally", program);
    put_program("goes-on", "make", "#!/bin/sh\n");
    put_program("goes-on", "python3", "#!/bin/sh\nexit 1\n");
    setenv("LIMIT", "3", 1);
    struct cli_result result = run_stood_in("goes-on", "1", (const char *[]){"fragments", NULL});
    cli_expect_status(&result, 3);
    assert_non_null(strstr(
        result.err, "fragments: partly: 0 of 1 rows, not all traces; a second call goes on\n"));
    assert_non_null(strstr(result.out, "\nNot complete, a second call goes on: fragments\n"));
    cli_result_free(&result);
    unlink(cli_in(cli_in(cli_folder, "goes-on"), "held.cut"));
    unlink(cli_in(cli_in(cli_folder, "goes-on"), "held"));
    result = run_stood_in("goes-on", "1", (const char *[]){NULL});
    unsetenv("LIMIT");
    cli_expect_status(&result, 1);
    const char *cut = strstr(
        result.err, "fragments: partly: 0 of 1 rows, not all traces; a second call goes on\n");
    assert_non_null(cut);
    assert_non_null(strstr(cut, "fragments: ok: 1 of 1 rows"));
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "goes-on"), "held"), NULL);
    expect_steps(
        log, (const char *const[]){"\nfragments-128\n", "warmup-tiny\n", "fragments-128\n", NULL});
    const char *failed = strstr(log, "\ngpipe-1\n");
    assert_non_null(failed);
    assert_null(strstr(failed + 1, "\ngpipe-1\n"));
    free(log);
}

/* A build is never skipped: what was changed would run as it was. */
static void a_build_is_never_skipped(void **state)
{
    (void)state;
    put_program("built", "make", "#!/bin/sh\necho once >>\"$HELD\"\n");
    put_program("built", "nvtally", "#!/bin/sh\necho 'CUDA activity  built into'\n");
    put_program("built", "libnvtally-cuda.so", "");
    put_program("built", "nvidia-smi", "#!/bin/sh\n[ \"$1\" = dmon ] || echo 9.0\n");
    for (int i = 0; i < 2; i++) {
        struct cli_result result = run_stood_in("built", "", (const char *[]){"build", NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
    char *made = cli_read_file(cli_in(cli_in(cli_folder, "built"), "held"), NULL);
    assert_string_equal(made, "once\nonce\n");
    free(made);
}

/* A rehearsal on the stand-in for CUDA makes that, and does not put the real backend in its place. */
static void a_rehearsal_makes_what_it_runs(void **state)
{
    (void)state;
    mkdir(cli_in(cli_folder, "rehearsed"), 0777);
    put_program("rehearsed/emulated", "nvtally", "#!/bin/sh\necho 'CUDA activity  built into'\n");
    put_program("rehearsed/emulated", "libnvtally-cuda.so", "");
    put_program("rehearsed/emulated", "make", "#!/bin/sh\necho \"$*\" >\"$HELD\"\n");
    struct cli_result result =
        run_stood_in("rehearsed/emulated", "emulated", (const char *[]){"build", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *made = cli_read_file(cli_in(cli_folder, "rehearsed/emulated/held"), NULL), wanted[4200];
    snprintf(wanted, sizeof(wanted), " BUILD=%s/rehearsed ", cli_folder);
    assert_non_null(strstr(made, wanted));
    assert_non_null(strstr(made, " emulated\n"));
    free(made);
}

/* What the toolkit lacks is taken from PyTorch's packages, and with it goes the toolkit's, which their headers need. */
static void headers_of_packages_are_found(void **state)
{
    (void)state;
    char python[4200], home[4200];
    snprintf(python, sizeof(python), "#!/bin/sh\necho %s/packages\n", cli_folder);
    snprintf(home, sizeof(home), "%s", cli_in(cli_folder, "thin-toolkit"));
    mkdir(cli_in(cli_folder, "packages"), 0777);
    mkdir(home, 0777);
    put_program("packages/include", "cupti.h", "");
    put_program("thin-toolkit/include", "cuda.h", "");
    put_program("thin-toolkit/include", "cublas_v2.h", "");
    put_program("thin", "make", "#!/bin/sh\necho \"$*\" >\"$HELD\"\nexit 1\n");
    put_program("thin", "python3", python);
    setenv("CUDA_HOME", home, 1);
    struct cli_result result = run_stood_in("thin", "", (const char *[]){"build", NULL});
    unsetenv("CUDA_HOME");
    cli_expect_status(&result, 1);
    cli_result_free(&result);
    char *made = cli_read_file(cli_in(cli_in(cli_folder, "thin"), "held"), NULL), wanted[9000];
    snprintf(wanted, sizeof(wanted), " CUPTI_INC=%s/packages/include CUDA_INC=%s/include device\n",
             cli_folder, home);
    if (!strstr(made, wanted))
        fail_msg("no '%s' in '%s'", wanted, made);
    free(made);
}

/* Beside PyTorch ours has its cuBLAS, where that is of the number that ours was linked with. */
static void both_sides_have_one_cublas(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
        "[ \"$word\" != --list ] || { echo one; exit; }\n"
        "mkdir -p \"$out\"\n"
        "ls \"${LD_LIBRARY_PATH%%:*}\" >>\"$HELD\"\n"
        "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";
    char python[4500];
    snprintf(
        python, sizeof(python),
        "#!/bin/sh\n"
        "case $* in\n"
        "*'import glob, nvidia'*) echo %s/theirs-cublas ;;\n"
        "*torch.jsonl) while [ $# -gt 1 ]; do shift; done; echo '{\"status\": \"ok\"}' >\"$1\" ;;\n"
        "esac\n",
        cli_folder);
    mkdir(cli_in(cli_folder, "theirs-cublas"), 0777);
    put_program("theirs-cublas/lib", "libcublas.so.13", "");
    put_program("theirs-cublas/lib", "libcublasLt.so.13", "");
    put_program("theirs-cublas/lib", "libcudart.so.13", "");
    put_program("same", "nvtally", program);
    put_program("same", "libnvtally-cuda.so", "");
    put_program(
        "same", "ldd",
        "#!/bin/sh\n"
        "echo \" libcublas.so.13 => ${LD_LIBRARY_PATH:-/usr/lib}/libcublas.so.13 (0x7f)\"\n");
    put_program("same", "python3", python);
    put_program("same", "nvidia-smi", "#!/bin/sh\n");
    unsetenv("LD_LIBRARY_PATH");
    struct cli_result result = run_stood_in("same", "", (const char *[]){"beside_gpipe", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "a row of 32 features took "));
    assert_non_null(strstr(result.err, "in turn, both with the libcublas.so.13 of PyTorch"));
    cli_result_free(&result);
    char *seen = cli_read_file(cli_in(cli_in(cli_folder, "same"), "held"), NULL);
    assert_non_null(strstr(seen, "libcublas.so.13\nlibcublasLt.so.13\n"));
    assert_null(strstr(seen, "libcudart"));
    free(seen);
    /* A loader that takes another one all the same. */
    put_program("same", "ldd", "#!/bin/sh\necho ' libcublas.so.13 => /usr/lib/libcublas.so.13'\n");
    result = run_stood_in("same", "", (const char *[]){"--again", "beside_gpipe", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "beside_gpipe: each side with a cuBLAS of its own"));
    assert_non_null(strstr(result.err, "beside_gpipe: ok: 1 rounds, ours and theirs in turn\n"));
    cli_result_free(&result);
}

/* Of the layers the goals' forms are a part, ours and theirs of the others one of their own; of the language model the
 * attention of the goal is one, and PyTorch's fused one another. */
static void every_form_of_a_layer_is_compared(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
        "[ \"$word\" != --list ] || { echo one; exit; }\n"
        "mkdir -p \"$out\"\n"
        "echo \"ours $*\" >>\"$HELD\"\n"
        "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";
    static const char python[] =
        "#!/bin/sh\n"
        "case $* in *torch.jsonl) ;; *) exit 0 ;; esac\n"
        "echo \"theirs $*\" >>\"$HELD\"\n"
        "while [ $# -gt 1 ]; do shift; done; echo '{\"status\": \"ok\"}' >\"$1\"\n";
    static const char *const steps[] = {
        "ours run fragmented --size 2048,4096,8192 --batch 1,8,16 --mode linear,inference "
        "--fragments 2,128 --variant grouped",
        "theirs tests/device/fragmented.py",
        "--mode linear,inference --fragments 2,128",
        "ours run transformer",
        "theirs tests/device/transformer.py",
        "--attention eager --warmup 20",
        "ours run fragmented --size 2048,4096,8192 --batch 1,8,16 --mode train,inference "
        "--fragments 2,128 --variant looped",
        "theirs tests/device/fragmented.py",
        "--mode train,inference --fragments 2,128",
        "ours run transformer",
        "theirs tests/device/transformer.py",
        "--attention fused --warmup 10",
        NULL};
    put_program("forms", "nvtally", program);
    put_program("forms", "libnvtally-cuda.so", "");
    put_program("forms", "nvidia-smi", "#!/bin/sh\n");
    put_program("forms", "python3", python);
    struct cli_result result = run_stood_in("forms", "",
                                            (const char *[]){"beside_linear", "beside_transformer",
                                                             "beside_forms", "beside_fused", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "forms"), "held"), NULL);
    expect_steps(log, steps);
    free(log);
}

/* PyTorch takes long to come off a disk: it is asked for once, and while the build runs. */
static void pytorch_is_asked_for_once(void **state)
{
    (void)state;
    static const char python[] =
        "#!/bin/sh\n"
        "case $* in\n"
        "*'import sys, torch'*) echo torch >>\"$HELD\"; sleep 1; echo there >>\"$HELD\" ;;\n"
        "*torch.jsonl) while [ $# -gt 1 ]; do shift; done; echo '{\"status\": \"ok\"}' >\"$1\" ;;\n"
        "esac\n";
    put_program("once", "nvtally", ok_program);
    put_program("once", "make", "#!/bin/sh\necho make >>\"$HELD\"; sleep 2\n");
    put_program("once", "python3", python);
    struct cli_result result =
        run_stood_in("once", "1", (const char *[]){"build", "beside_linear", "beside_gpipe", NULL});
    assert_non_null(strstr(result.err, "beside_linear: ok: 1 rounds"));
    assert_non_null(strstr(result.err, "beside_gpipe: ok: 1 rounds"));
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "once"), "held"), NULL);
    const char *make = strstr(log, "make\n"), *there = strstr(log, "there\n");
    assert_true(make && there && make < there);
    assert_null(strstr(there + 1, "torch\n"));
    free(log);
}

/* An operation of the check that failed is named. */
static void what_failed_in_the_check_is_told(void **state)
{
    (void)state;
    put_program("checked", "nvtally", ok_program);
    put_program(
        "checked/device", "check",
        "#!/bin/sh\n"
        "echo 'bias_forward                      1          0   0.00e+00     1e-06  FAILED: "
        "CUDA: an illegal address'\n"
        "echo '95 of 96 operations agree'\n"
        "exit 1\n");
    struct cli_result result = run_stood_in("checked", "1", (const char *[]){"check", NULL});
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err,
                           "check: failed: 95 of 96 operations agree; bias_forward: CUDA: "
                           "an illegal address"));
    cli_result_free(&result);
    put_program("checked/device", "check",
                "#!/bin/sh\n"
                "echo 'matmul_nn                         1          0   0.00e+00     1e-06  ok'\n"
                "exec sleep 60\n");
    setenv("LIMIT", "2", 1);
    result = run_stood_in("checked", "1", (const char *[]){"check", NULL});
    unsetenv("LIMIT");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "check: failed: no end in its time, behind matmul_nn"));
    cli_result_free(&result);
}

/* Without a row under the nsys that is there it is not ok, and is not measured again for that. */
static void an_nsys_that_ran_nothing_is_told(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "[ \"$1\" = run ] || exit 0\n"
        "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
        "mkdir -p \"$out\"\n"
        "echo run >>\"$HELD\"\n"
        "echo '{\"collect\": \"off\", \"status\": \"ok\"}' >\"$out/results.jsonl\"\n"
        "case $* in *nsys*) echo '{\"collect\": \"nsys\", \"status\": \"error\", "
        "\"message\": \"exit status 1\"}' >>\"$out/results.jsonl\" ;; esac\n";
    put_program("no-rows", "nvtally", program);
    put_program("no-rows", "nsys", "#!/bin/sh\n");
    setenv("NSYS", cli_in(cli_in(cli_folder, "no-rows"), "nsys"), 1);
    for (int i = 0; i < 2; i++) {
        struct cli_result result =
            run_stood_in("no-rows", "1", (const char *[]){"overhead", "nsys", NULL});
        cli_expect_status(&result, 1);
        assert_non_null(strstr(result.err, i ? "overhead: was done before"
                                             : "overhead: ok: 2 rounds of off,nvtx\n"));
        assert_non_null(
            strstr(result.err, "nsys: failed: no row under nsys; 2 failed: exit status 1\n"));
        cli_result_free(&result);
    }
    unsetenv("NSYS");
    /* Two rounds of two steps, and one of them under nsys. */
    char *runs = cli_read_file(cli_in(cli_in(cli_folder, "no-rows"), "held"), NULL);
    assert_int_equal(strlen(runs), (4 + 2) * strlen("run\n"));
    free(runs);
}

/* Keeps what it was asked for, and has one row of each. */
static const char rows_program[] =
    "#!/bin/sh\n"
    "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
    "[ \"$word\" != --list ] || { echo one; exit; }\n"
    "[ \"$1\" = run ] || exit 0\n"
    "echo \"$*\" >>\"$HELD\"\n"
    "mkdir -p \"$out\"\n"
    "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";

/* Of each published size a trace of two training steps comes first, then the rows. */
static void every_size_is_traced(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "--size small --precision fp32,bf16 --phase train --collect kernel --warmup 2 --iterations "
        "2",
        "--size medium --precision fp32,bf16 --phase train --collect kernel",
        "--size large --precision fp32,bf16 --phase train --collect kernel",
        "--size xl --precision fp32,bf16 --phase train --collect kernel",
        "--size 2.7B --precision fp32,bf16 --phase train --collect kernel",
        "--size small --precision fp32,tf32,bf16,fp16 --phase forward,forward_backward,train",
        "--size 2.7B --precision fp32,tf32,bf16,fp16 --phase forward,forward_backward,train",
        NULL};
    put_device("sizes", rows_program);
    struct cli_result result = run_stood_in("sizes", "", (const char *[]){"transformer", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "sizes"), "held"), NULL);
    expect_steps(log, steps);
    free(log);
}

/* At the length of context that the goal is of. */
static void precisions_are_compared_where_products_are_large(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "--size xl --batch 4 --context 1024 --precision tf32,bf16,fp16 --phase forward_backward",
        "--size 2.7B --batch 4 --context 1024 --precision tf32,bf16,fp16 --phase forward_backward",
        "--size xl --batch 4 --context 1024 --precision bf16 --phase forward_backward --collect "
        "kernel",
        "--size 2.7B --batch 4 --context 1024 --precision bf16 --phase forward_backward --collect "
        "kernel",
        NULL};
    put_device("precisions", rows_program);
    struct cli_result result = run_stood_in("precisions", "", (const char *[]){"precisions", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "precisions"), "held"), NULL);
    expect_steps(log, steps);
    free(log);
}

/* Each round has every level of every size. Then each size that was published of nsys is run under it, smallest first; of an
 * nsys that hangs no more is asked in the same call. */
static void the_overhead_has_all_levels_and_nsys(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "[ \"$1\" = run ] || exit 0\n"
        "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
        "mkdir -p \"$out\"\n"
        "echo \"$*\" >>\"$HELD\"\n"
        "echo '{\"collect\": \"off\", \"status\": \"ok\"}' >\"$out/results.jsonl\"\n"
        "case $* in *nsys*) sleep ${HANGS:-0}; echo '{\"collect\": \"nsys\", \"status\": \"ok\"}' "
        ">>\"$out/results.jsonl\" ;; esac\n";
    static const char *const steps[] = {"--size small --warmup 3", "--collect off,nvtx,kernel,full",
                                        "--size 2.7B --warmup 3",  "--mode linear,inference",
                                        "--size small --warmup 3", "--mode linear,inference",
                                        "--size small --warmup 5", "--time-limit 40",
                                        "--collect off,nsys",      "--size xl --warmup 5",
                                        "--variant looped",        NULL};
    put_device("levels", program);
    put_program("levels", "nsys", "#!/bin/sh\n");
    setenv("NSYS", cli_in(cli_in(cli_folder, "levels"), "nsys"), 1);
    setenv("TRANSFORMERS", "small xl 2.7B", 1);
    setenv("HANGS", "30", 1);
    setenv("ROW_LIMIT", "2", 1);
    struct cli_result result =
        run_stood_in("levels", "", (const char *[]){"overhead", "nsys", NULL});
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "nsys: failed: 0 of 3 steps; a second call goes on"));
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "levels"), "held"), NULL);
    const char *first = strstr(log, "off,nsys");
    assert_non_null(first);
    assert_null(strstr(first + 1, "off,nsys"));
    free(log);
    unlink(cli_in(cli_in(cli_folder, "levels"), "held"));
    unsetenv("HANGS");
    unsetenv("ROW_LIMIT");
    result = run_stood_in("levels", "", (const char *[]){"--again", "overhead", "nsys", NULL});
    unsetenv("NSYS");
    unsetenv("TRANSFORMERS");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "overhead: ok: 2 rounds of off,nvtx,kernel,full\n"));
    assert_non_null(
        strstr(result.err, "nsys: ok: 3 of 3 rows under nsys, 0 with what it recorded\n"));
    cli_result_free(&result);
    log = cli_read_file(cli_in(cli_in(cli_folder, "levels"), "held"), NULL);
    expect_steps(log, steps);
    assert_null(strstr(log, "--size 2.7B --warmup 5"));
    free(log);
}

/* Of racecheck and synccheck cuBLAS's kernels are left out, by an option for each name, of memcheck the calls that cuBLAS or
 * the runtime tries, where this version can. */
static void our_own_kernels_are_sanitized(void **state)
{
    (void)state;
    static const char sanitizer[] = "#!/bin/sh\n"
                                    "[ \"$1\" != --help ] || {\n"
                                    "echo ' --kernel-name-exclude arg'\n"
                                    "echo ' --racecheck-detect-level arg'\n"
                                    "echo ' --report-api-errors arg'\n"
                                    "exit\n"
                                    "}\n"
                                    "echo \"told: $*\"\n";
    put_device("sane", ok_program);
    put_program("sane", "compute-sanitizer", sanitizer);
    struct cli_result result = run_stood_in("sane", "", (const char *[]){"sanitize", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "memcheck, racecheck, synccheck"));
    cli_result_free(&result);
    static const char *const told[][2] = {
        {"memcheck", "--error-exitcode 9 --report-api-errors no /"},
        {"racecheck",
         "--error-exitcode 9 --kernel-name-exclude kns=gemm --kernel-name-exclude kns=gemv "
         "--kernel-name-exclude kns=cutlass --kernel-name-exclude kns=nvjet "
         "--kernel-name-exclude kns=cublas --kernel-name-exclude kns=splitK "
         "--kernel-name-exclude kns=dot_kernel --racecheck-detect-level error /"},
        {"synccheck", "--kernel-name-exclude kns=splitK --kernel-name-exclude kns=dot_kernel /"}};
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof(name), "work/sanitize-%s.log", told[i][0]);
        char *log = cli_read_file(cli_in(cli_in(cli_folder, "sane"), name), NULL);
        assert_non_null(strstr(log, told[i][1]));
        /* cuBLAS's larger products are not for racecheck; our kernel takes no small ones. */
        static const char *const given[2][4] = {
            {"libcheck-cuda.so --most 8388608\n", NULL},
            {"libcheck-cuda.so --most 1\n",
             "libcheck-cuda.so --most 8388608 --only int8_linear_rows\n",
             "libcheck-cuda.so --most 8388608 --only int8_linear_shared\n", NULL}};
        for (size_t k = 0; given[i > 0][k]; k++)
            assert_non_null(strstr(log, given[i > 0][k]));
        free(log);
    }
}

/* Loops without and with records in one process, bare, with CUPTI alone and under `record`: of each the median of its processes,
 * and of the ratios the least and the largest, too. */
static void what_is_ours_of_a_level_is_told(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "[ \"$1\" != info ] || { echo '  CUPTI             /usr/lib/libcupti.so.13'; exit; }\n"
        "[ \"$1\" = record ] || {\n"
        "while [ $# -gt 1 ]; do shift; done\n"
        "mkdir -p \"$1\"; echo '{\"status\": \"ok\"}' >\"$1/results.jsonl\"; exit\n"
        "}\n"
        "export SIDE=\"$3 $5\"\n"
        "while [ \"$1\" != -- ]; do shift; done\n"
        "shift; exec \"$@\"\n";
    static const char cost[] =
        "#!/bin/sh\n"
        "[ -z \"$BROKEN\" ] || { echo 'cupti_cost: no device' >&2; exit 2; }\n"
        "[ \"$1\" != alone ] || {\n"
        "[ \"$NVTALLY_CUPTI\" = /usr/lib/libcupti.so.13 ] && [ -f \"$CUDA_INJECTION64_PATH\" ] || "
        "exit 2\n"
        "SIDE=$CUPTI_ALONE\n"
        "echo \"cupti_alone: ${BYTES-1024} bytes of records\" >&2\n"
        "}\n"
        "echo x >>\"$HELD.$SIDE\"\n"
        "at=$(wc -l <\"$HELD.$SIDE\")\n"
        "echo \"$1     3.000  3.$at 1.$at   20.000 20.$at 2.$at   40.000 40.$at 3.$at\"\n";
    put_device("costs", program);
    put_program("costs/device", "cupti_cost", cost);
    put_program("costs/device", "cupti_alone.so", "");
    setenv("CUPTI_ROUNDS", "4", 1);
    unsetenv("NVTALLY_CUPTI");
    struct cli_result result = run_stood_in("costs", "", (const char *[]){"cupti", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *table = cli_read_file(cli_in(cli_in(cli_folder, "costs"), "work/cupti-cost.txt"), NULL);
    static const char *const sides[] = {
        "bare, twice",         "CUPTI alone, loaded",           "CUPTI alone, records",
        "CUPTI alone, kernel", "CUPTI alone, kernel,plain",     "CUPTI alone, kernel,subscribed",
        "CUPTI alone, full",   "nvtally record --trace kernel", "nvtally record --trace full"};
    for (size_t i = 0; i < NVT_COUNT_OF(sides); i++) {
        char line[256];
        snprintf(line, sizeof(line),
                 "\n%-30s     3.00   1.250 [1.100 1.400]    20.00   2.250 [2.100 2.400]    40.00   "
                 "3.250 [3.100 3.400]  4\n",
                 sides[i]);
        if (!strstr(table, line))
            fail_msg("no line '%s' in:\n%s", line, table);
    }
    free(table);
    setenv("BYTES", "0", 1);
    result = run_stood_in("costs", "", (const char *[]){"--again", "cupti", NULL});
    unsetenv("BYTES");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "cupti: failed: CUPTI alone has recorded nothing"));
    cli_result_free(&result);
    setenv("BROKEN", "1", 1);
    result = run_stood_in("costs", "", (const char *[]){"--again", "cupti", NULL});
    unsetenv("BROKEN");
    unsetenv("CUPTI_ROUNDS");
    cli_expect_status(&result, 1);
    assert_non_null(
        strstr(result.err, "cupti: failed: not all of 4 rounds: cupti_cost: no device"));
    cli_result_free(&result);
}

/* Counters that are sampled: whether they may be, bytes of copies next to those that were moved, and what sampling costs. */
static void counters_are_held_against_what_is_known(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "case $1 in\n"
        "run) while [ $# -gt 1 ]; do shift; done; mkdir -p \"$1\"\n"
        "echo '{\"status\": \"ok\", \"forward_ns_median\": '${NS:-1000}', \"backward_ns_median\": "
        "0}' >\"$1/results.jsonl\" ;;\n"
        "record) echo \"$*\" >>\"$HELD\"\n"
        "case \"$* \" in *metrics*) [ -z \"$REFUSED\" ] || echo \"nvtally: GPU metrics: "
        "$REFUSED\" >&2 ;; esac\n"
        "case \"$* \" in *metrics@1kHz*) NS=1010 ;; *@10kHz*) NS=1050 ;; *@100kHz*) NS=1500 ;; "
        "esac\n"
        "export NS; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\" ;;\n"
        "stats) case $3 in nvtx_counters)\n"
        "echo 'PID,Domain,Counter,Unit,Samples,First,Last,Min,Avg,Time "
        "Avg,Max,StdDev,Change,Change/s'\n"
        "row() { echo \"7,Ranges of GPU 0,$1,$2,5,$3,$3,$4,$3,$3,$5,0,0,0\"; }\n"
        "case $6 in\n"
        "*bf16*) row '\"Tensor FLOPs, bf16\"' FLOP 2.02e+3 2000 2040; row 'DRAM bytes read' B 9 9 "
        "9 ;;\n"
        "*tf32*) row '\"Tensor FLOPs, tf32\"' FLOP ${TF32-1.98e+3} 1970 1990 ;;\n"
        "*fp32*) row 'fp32 additions' FLOP 10 8 12; row 'fp32 fused multiply-adds' '2 FLOP' 1000 "
        "995 "
        "1005 ;;\n"
        "esac; exit ;; esac\n"
        "echo ':device,GPU 0,dram__bytes_read.sum.per_second,B/s,1,0,2000000000,100,500,490,"
        "510'\n"
        "echo ':to host,GPU 0,pcie__write_bytes.sum.per_second,B/s,1,0,1000000000,100,700,1,900' "
        ";;\n"
        "esac\n";
    static const char copies[] =
        "#!/bin/sh\n"
        "printf 'moved\\tdevice\\tdram__bytes_read.sum.per_second\\t%s\\n' \"${MOVED-1000}\"\n"
        "printf 'moved\\tto host\\tpcie__write_bytes.sum.per_second\\t690\\n'\n";
    put_device("metrics", program);
    static const char gemm[] = "#!/bin/sh\nprintf 'multiplied\\t2000\\n'\n";
    put_program("metrics/device", "copies", copies);
    put_program("metrics/device", "gemm", gemm);
    struct cli_result result = run_stood_in("metrics", "", (const char *[]){"metrics", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "metrics: ok: 5 of 5 within 5 %; see metrics-truth.txt"));
    cli_result_free(&result);
    const char *work = strdup(cli_in(cli_in(cli_folder, "metrics"), "work"));
    char *table = cli_read_file(cli_in(work, "metrics-truth.txt"), NULL);
    assert_non_null(strstr(table, "1000   1.000  [0.980 1.020]\n"));
    assert_non_null(strstr(table, "700   1.014  [0.001 1.304]\n"));
    assert_non_null(strstr(table, "2020   1.010  [1.000 1.020]\n"));
    assert_non_null(strstr(table, "1980   0.990  [0.985 0.995]\n"));
    assert_non_null(strstr(table, "2010   1.005  [0.999 1.011]\n"));
    free(table);
    table = cli_read_file(cli_in(work, "metrics-cost.txt"), NULL);
    assert_non_null(strstr(table, "\nbare      1.000   1.000   1.000\n"));
    assert_non_null(strstr(table, "\n100kHz    1.500   1.500   1.500\n"));
    free(table);
    char *held = cli_read_file(cli_in(cli_in(cli_folder, "metrics"), "held"), NULL);
    assert_non_null(strstr(held, "metrics@20kHz"));
    assert_non_null(strstr(held, "--precision bf16"));
    assert_non_null(strstr(held, "fragmented"));
    assert_non_null(strstr(held, "metrics@100Hz"));
    assert_non_null(strstr(held, "--counters-of gemm --trace nvtx,kernel,metrics=tf32"));
    free(held);
    setenv("MOVED", "1100", 1);
    result = run_stood_in("metrics", "", (const char *[]){"--again", "metrics", NULL});
    unsetenv("MOVED");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err,
                           "metrics: failed: bytes of copies and FLOPs of GEMMs: 4 of 5 "
                           "within 5 %, see metrics-"));
    cli_result_free(&result);
    setenv("TF32", "0", 1); /* products that used other units */
    result = run_stood_in("metrics", "", (const char *[]){"--again", "metrics", NULL});
    unsetenv("TF32");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "4 of 5 within 5 %, see metrics-"));
    cli_result_free(&result);
    setenv("REFUSED", "device 0: permission denied", 1);
    result = run_stood_in("metrics", "", (const char *[]){"--again", "metrics", NULL});
    unsetenv("REFUSED");
    cli_expect_status(&result, 3);
    assert_non_null(strstr(
        result.err, "metrics: not run: counters are refused: device 0: permission denied\n"));
    cli_result_free(&result);
}

/* What a program did and what its trace has: a kernel that is missing without a word is told, one that never ran is not. */
static void what_traces_of_endings_have_is_told(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "[ \"$1\" != stats ] || {\n"
        "for trace; do :; done\n"
        "how=$(sed -n 1p \"$trace\") steps=$(sed -n 2p \"$trace\")\n"
        "case $3 in\n"
        "summary) case $how in\n"
        "_exit) echo \"nvtally: note: $trace: 7 device records without times were left out\" >&2 "
        ";;\n"
        "abort) echo \"nvtally: note: $trace: process 9 ended suddenly: later ones are unknown\" "
        ">&2 ;;\n"
        "kill) [ -n \"$SILENT\" ] || echo \"nvtally: note: $trace: process 9: later ones are "
        "unknown\" >&2 ;;\n"
        "esac ;;\n"
        "nvtx_pushpop_sum) printf 'Instances,Range\\n%d,:step\\n' \"$steps\" ;;\n"
        "cuda_gpu_kern_sum) less=0\n"
        "[ \"$how\" != _exit ] || less=7\n"
        "[ \"$how\" != kill ] || less=100\n"
        "printf 'Instances,Name\\n%d,linger(int *)\\n' $((3 * steps - less)) ;;\n"
        "nvtx_gpu_proj_sum) printf 'Range,Total GPU Ops\\n:step,%d\\n' $((3 * steps)) ;;\n"
        "esac\n"
        "exit\n"
        "}\n"
        "[ \"$1\" = record ] || {\n"
        "while [ $# -gt 1 ]; do shift; done\n"
        "mkdir -p \"$1\"; echo '{\"status\": \"ok\"}' >\"$1/results.jsonl\"; exit\n"
        "}\n"
        "trace=$5 part=\n"
        "while [ \"$1\" != -- ]; do [ \"$1\" != --capture ] || part=1; shift; done\n"
        "steps=$4\n"
        "[ -z \"$part\" ] || steps=100\n"
        "[ \"$3\" != fork ] || steps=4000\n"
        "printf '%s\\n%d\\n' \"$3\" $steps >\"$trace\"\n"
        "case $3 in abort) exit 134 ;; kill) exit 137 ;; esac\n";
    put_device("ends", program);
    put_program("ends", "mount", "#!/bin/sh\nexit 1\n");
    put_program("ends/device", "endings", "");
    struct cli_result result = run_stood_in("ends", "", (const char *[]){"endings", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "endings: ok: 10 of 10 traces have what they should have"));
    cli_result_free(&result);
    setenv("SILENT", "1", 1);
    result = run_stood_in("ends", "", (const char *[]){"--again", "endings", NULL});
    unsetenv("SILENT");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "endings: failed: 9 of 10 traces have what they should"));
    cli_result_free(&result);
}

/* Late recordings whose kernels lie in ranges, by both interfaces, and what a launch takes: as the programs say, which are made up. */
static void late_recordings_are_judged(void **state)
{
    (void)state;
    static const char program[] =
        "#!/bin/sh\n"
        "[ \"$1\" != stats ] || {\n"
        "case $3 in\n"
        "nvtx_pushpop_sum) printf 'Instances,Range\\n100,:step\\n' ;;\n"
        "cuda_gpu_kern_sum) printf 'Instances,Name\\n300,linger(int *)\\n' ;;\n"
        "nvtx_gpu_proj_sum) printf 'Range,Total GPU Ops\\n:step,%d\\n' \"${INSIDE:-297}\" ;;\n"
        "esac\n"
        "exit\n"
        "}\n"
        "[ \"$1\" = record ] || {\n"
        "while [ $# -gt 1 ]; do shift; done\n"
        "mkdir -p \"$1\"; echo '{\"status\": \"ok\"}' >\"$1/results.jsonl\"; exit\n"
        "}\n"
        "while [ \"$1\" != -- ]; do [ \"$1\" != -o ] || : >\"$2\"; shift; done\n"
        "shift\n"
        "case $1 in *cupti_cost) exec \"$@\" ;; esac\n";
    put_device("live", program);
    put_program("live/device", "endings", "");
    put_program("live/device", "cupti_cost",
                "#!/bin/sh\nprintf '%-28s    3.700   3.700 1.0000\\n' \"$1\"\n");
    struct cli_result result = run_stood_in("live", "", (const char *[]){"live", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "live: ok: 2 of 2 late recordings"));
    cli_result_free(&result);
    setenv("INSIDE", "200", 1);
    result = run_stood_in("live", "", (const char *[]){"--again", "live", NULL});
    unsetenv("INSIDE");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "live: failed: 0 of 2 late recordings"));
    cli_result_free(&result);
}

/* A tool that did not come to its end has found nothing, neither good nor bad, and a second call begins with it. */
static void a_sanitizer_without_an_end_goes_on(void **state)
{
    (void)state;
    static const char sanitizer[] = "#!/bin/sh\n"
                                    "[ \"$1\" != --help ] || exit 0\n"
                                    "echo \"$2\" >>\"$HELD\"\n"
                                    "[ \"$2\" = memcheck ] || exec sleep \"$SLOW\"\n";
    put_program("slow", "nvtally", ok_program);
    put_program("slow", "libnvtally-cuda.so", "");
    put_program("slow", "compute-sanitizer", sanitizer);
    setenv("LIMIT", "2", 1);
    setenv("SLOW", "60", 1);
    struct cli_result result = run_stood_in("slow", "", (const char *[]){"sanitize", NULL});
    cli_expect_status(&result, 3);
    assert_non_null(strstr(
        result.err, "sanitize: not run: no end in its time: racecheck synccheck; a second call"));
    cli_result_free(&result);
    setenv("SLOW", "0", 1);
    result = run_stood_in("slow", "", (const char *[]){"sanitize", NULL});
    unsetenv("LIMIT");
    unsetenv("SLOW");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *tools = cli_read_file(cli_in(cli_in(cli_folder, "slow"), "held"), NULL);
    assert_string_equal(tools, "memcheck\nracecheck\nracecheck\nracecheck\nracecheck\n"
                               "synccheck\nsynccheck\nsynccheck\n");
    free(tools);
}

/* Of ours one that is ok and one that failed, and the program says so. */
static const char half_failing_program[] =
    "#!/bin/sh\n"
    "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
    "[ \"$word\" != --list ] || { echo one; echo two; exit; }\n"
    "mkdir -p \"$out\"\n"
    "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n"
    "echo '{\"status\": \"error\", \"message\": \"no \\\"x\\\"\"}' >>\"$out/results.jsonl\"\n"
    "exit 139\n";

static const char half_failing_torch[] =
    "#!/bin/sh\n"
    "case $* in *--check*) exit 0 ;; *torch.jsonl) ;; *) exit 0 ;; esac\n"
    "while [ $# -gt 1 ]; do shift; done\n"
    "echo '{\"status\": \"ok\"}' >\"$1\"\n"
    "echo '{\"status\": \"error\", \"message\": \"RuntimeError: no kernel\"}' >>\"$1\"\n";

/* A row that failed, ours or theirs, is told, and the others are compared. */
static void failed_rows_beside_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *program, *said;
    } cases[] = {
        {"theirs", ok_program, "1 rounds; rows of theirs: 1 failed: RuntimeError: no kernel\n"},
        {"both", half_failing_program,
         "1 rounds; rows of ours: 1 failed: no \\\"x\\\"; rows of theirs: 1 failed: "
         "RuntimeError: no kernel\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        put_program(cases[i].folder, "nvtally", cases[i].program);
        put_program(cases[i].folder, "python3", half_failing_torch);
        struct cli_result result = run_stood_in(
            cases[i].folder, "1", (const char *[]){"beside_switchback", "beside_linear", NULL});
        cli_expect_status(&result, 1);
        assert_non_null(strstr(result.err, "beside_switchback: failed: 1 rounds; rows of "));
        assert_non_null(strstr(result.err, cases[i].said));
        cli_result_free(&result);
        const char *folder = cli_in(cli_folder, cases[i].folder);
        assert_int_equal(access(cli_in(folder, "work/beside_switchback-1/done"), R_OK), 0);
        assert_int_equal(access(cli_in(folder, "work/beside_linear-1/torch.jsonl"), R_OK), 0);
    }
}

/* Theirs that does not compute the same is no yardstick, and is asked again: by a second call, too, whose rounds are done. */
static void theirs_is_checked(void **state)
{
    (void)state;
    static const char python[] =
        "#!/bin/sh\n"
        "case $* in\n"
        "*--check*) echo 'triton: products off by at most 1.0e+00'; exit \"$WRONG\" ;;\n"
        "*torch.jsonl) while [ $# -gt 1 ]; do shift; done; echo '{\"status\": \"ok\"}' >\"$1\" ;;\n"
        "esac\n";
    put_program("checks", "nvtally", ok_program);
    put_program("checks", "python3", python);
    for (int i = 0; i < 3; i++) {
        setenv("WRONG", i < 2 ? "1" : "0", 1);
        struct cli_result result =
            run_stood_in("checks", "1", (const char *[]){"beside_switchback", NULL});
        unsetenv("WRONG");
        cli_expect_status(&result, i < 2 ? 1 : 0);
        assert_non_null(strstr(
            result.err, i < 2 ? "failed: 1 rounds; not shown that theirs computes the same: "
                                "switchback.py --check: triton: products off by at most 1.0e+00\n"
                              : "beside_switchback: ok: 1 rounds, ours and theirs in turn\n"));
        cli_result_free(&result);
    }
}

/* What came to no end, ours or theirs, is no round. */
static void a_round_that_was_cut_is_not_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        put_program("cut", "nvtally", i ? failing_program : ok_program);
        put_program("cut", "python3",
                    i ? half_failing_torch
                      : "#!/bin/sh\ncase $* in *torch.jsonl) exit 1 ;; esac\n");
        struct cli_result result = run_stood_in("cut", "1", (const char *[]){"beside_gpipe", NULL});
        cli_expect_status(&result, 1);
        assert_non_null(strstr(result.err, "0 of 1 rounds"));
        cli_result_free(&result);
    }
}

/* An nsys that makes no report: what it took stands in the rows, and what it left goes. */
static void an_nsys_without_a_report_will_do(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char half_an_nsys[] =
        "#!/bin/sh\n"
        "for word; do case $word in --output=*) out=${word#*=} ;; esac; done\n"
        "while [ \"${1#-}\" != \"$1\" ] || [ \"$1\" = profile ]; do shift; done\n"
        "\"$@\"\n"
        ": >\"${out%.nsys-rep}.qdstrm\"\n"
        "exit 1\n";
    static const char *const parts[] = {"nsys", NULL};
    put_program("half", "nsys", half_an_nsys);
    setenv("NSYS", cli_in(cli_in(cli_folder, "half"), "nsys"), 1);
    struct cli_result result = run("1", "half/work", "1", parts);
    unsetenv("NSYS");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "nsys               ok       2 of 2 rows under nsys"));
    assert_non_null(
        strstr(result.out, "(language model: forward at nsys, published 1.28 to 2.87)"));
    cli_result_free(&result);
    glob_t left;
    assert_int_equal(
        glob(cli_in(cli_in(cli_folder, "half"), "work/nsys-1/*/*.qdstrm"), 0, NULL, &left),
        GLOB_NOMATCH);
    globfree(&left);
}

static void a_part_is_resumed_and_packed(void **state)
{
    (void)state;
    static const char *const fragments[] = {"fragments", NULL};
    static const char *const both[] = {"fragments", "pack", NULL};
    char results[4096];
    snprintf(results, sizeof(results), "%s",
             cli_in(cli_in(cli_folder, "packed"), "nvtally-device-results.tar.gz"));
    unlink(results);
    struct cli_result result = run("1", "work", "no number", fragments);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "fragments          failed   0 of 1 rows; a second call"));
    cli_result_free(&result);
    result = run("1", "work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "39 of 39 rows"));
    cli_result_free(&result);
    /* What failed is run again, and the rest stays as it is. */
    char results_of[4096];
    snprintf(results_of, sizeof(results_of), "%s",
             cli_in(cli_in(cli_folder, "work"), "fragments-128/results.jsonl"));
    size_t size;
    char *before = cli_read_file(results_of, &size), *second = strchr(before, '\n') + 1;
    strstr(second, "\"ok\"")[1] = 'n';
    cli_write_file(results_of, before, size);
    unlink(cli_in(cli_in(cli_folder, "work"), "state/fragments"));
    result = run("1", "work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "39 of 39 rows"));
    cli_result_free(&result);
    char *after = cli_read_file(results_of, NULL);
    size_t first = (size_t)(second - before), third = (size_t)(strchr(second, '\n') + 1 - before);
    assert_memory_equal(after, before, first);
    assert_memory_equal(after + first, before + third, size - third);
    free(before);
    free(after);
    /* After each part, so that they are there should the next one not end. */
    assert_int_equal(access(results, R_OK), 0);
    result = run("1", "work", "1", both);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "fragments: was done before"));
    assert_non_null(
        strstr(result.out,
               "Not run: build check losses accumulate beside_linear overhead "
               "beside_transformer switchback beside_gpipe gpipe train nccl sanitize "
               "beside_switchback transformer precisions nsys twice cupti metrics endings live "
               "beside_forms beside_fused warmup "
               "devices nccl_devices\n"));
    assert_non_null(strstr(result.out, "A dry run on the processor"));
    cli_result_free(&result);
    glob_t packed;
    assert_int_equal(glob(cli_in(cli_in(cli_folder, "packed"), "*"), 0, NULL, &packed), 0);
    /* The results, and the traces of the four inference runs. */
    assert_int_equal(packed.gl_pathc, 2);
    globfree(&packed);
    const char *argv[] = {"tar", "tzf", results, NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "fragments-128/results.jsonl"));
    assert_non_null(strstr(result.out, "fragments-128/env.json"));
    cli_result_free(&result);
    /* Another machine goes on from there. */
    setenv("FROM", cli_in(cli_folder, "packed"), 1);
    result = run("1", "unpacked-work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "FROM: goes on from the results in "));
    assert_non_null(strstr(result.err, "fragments: was done before"));
    cli_result_free(&result);
    /* What is here already is newer. */
    result = run("1", "unpacked-work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "FROM: results are here already, nothing is unpacked"));
    cli_result_free(&result);
    setenv("FROM", cli_in(cli_folder, "nowhere"), 1);
    result = run("1", "unpacked-nowhere", "1", fragments);
    unsetenv("FROM");
    cli_expect_status(&result, 2);
    cli_result_free(&result);
}

static void put_in(const char *folder, const char *name, const char *text)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/%s", cli_folder, folder);
    const char *const argv[] = {"mkdir", "-p", path, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    cli_write_file(cli_in(path, name), text, strlen(text));
}

/* On another machine a round begins anew that was cut: ours and theirs are of one machine. On one with another device all of a
 * part does that is not complete: rows of one table are of one kind. What is complete stays. */
static void no_ratio_is_of_two_machines(void **state)
{
    (void)state;
    char packed[4200], work[4300];
    put_program("moved", "nvtally", ok_program);
    put_program("moved", "libnvtally-cuda.so", "");
    put_program("moved", "nvidia-smi",
                "#!/bin/sh\ncase $* in *query-gpu=name*) echo \"$DEVICE\" ;; esac\n");
    snprintf(packed, sizeof(packed), "%s", cli_in(cli_folder, "moved/before"));
    put_in("moved/before/overhead-1/fragmented", "results.jsonl", "{\"status\": \"ok\"}\n");
    put_in("moved/before/overhead-1/fragmented", "done", "");
    put_in("moved/before/overhead-2/fragmented", "results.jsonl", "{\"status\": \"ok\"}\n");
    put_in("moved/before/beside_linear-1/ours", "results.jsonl", "{\"status\": \"ok\"}\n");
    put_in("moved/before/gpipe-1", "results.jsonl", "{\"status\": \"ok\"}\n");
    put_in("moved/before/losses", "results.jsonl", "{\"status\": \"ok\"}\n");
    put_in("moved/before/state", "losses", "ok\t8 of 8 rows\n");
    put_in("moved/before/state", "overhead", "partly\t1 of 2 rounds\n");
    put_in("moved/before/state", "gpipe", "partly\t1 of 84 rows\n");
    put_in("moved/before", "device.txt", "NVIDIA H100\n");
    const char *const argv[] = {"sh", "-c",
                                "cd \"$0\" && tar czf nvtally-device-results.tar.gz "
                                "--exclude=*.tar.gz *",
                                packed, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    setenv("FROM", packed, 1);
    snprintf(work, sizeof(work), "%s/moved/work", cli_folder);
    for (int other = 0; other < 2; other++) {
        setenv("DEVICE", other ? "NVIDIA H200" : "NVIDIA H100", 1);
        const char *const remove[] = {"rm", "-rf", work, NULL};
        result = cli_run(remove);
        cli_result_free(&result);
        result = run_stood_in("moved", "", (const char *[]){"losses", NULL});
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.err, "losses: was done before"));
        assert_int_equal(!!strstr(result.err, "results so far are of NVIDIA H100, this is NVIDIA "
                                              "H200: parts that are not complete begin anew"),
                         other);
        cli_result_free(&result);
        assert_int_equal(access(cli_in(work, "losses/results.jsonl"), R_OK), 0);
        assert_int_equal(access(cli_in(work, "overhead-2/fragmented"), R_OK), -1);
        assert_int_equal(access(cli_in(work, "beside_linear-1"), R_OK), -1);
        assert_int_equal(access(cli_in(work, "overhead-1/fragmented/done"), R_OK), other ? -1 : 0);
        assert_int_equal(access(cli_in(work, "gpipe-1/results.jsonl"), R_OK), other ? -1 : 0);
        assert_int_equal(access(cli_in(work, "state/gpipe"), R_OK), other ? -1 : 0);
    }
    unsetenv("DEVICE");
    unsetenv("FROM");
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
    static const char *const parts[] = {"losses", "overhead",   "transformer", "switchback",
                                        "gpipe",  "accumulate", "nccl",        "warmup",
                                        "twice",  NULL};
    static const char *const said[] = {
        "losses             ok       4 of 4 rows",
        "2 rounds of bare and then again nvtx",
        "loss after ten steps, fp32: within 1.0e-04 of reference        reached  fp32 ",
        "2 rounds of off,nvtx",
        "transformer        ok       8 of 8 rows",
        "4 of 4 rows",
        "2 of 2 rows",
        "28 of 28 rows",
        "24 of 24 rows",
        "losses over NCCL, one rank, equal those without, to 1e-6       reached  12 of 12 cases",
        "sums, the host's to the bit",
        NULL};
    rehearse("1", "dry", parts, said);
}

/* The same with the CUDA backend, on the stand-in for CUDA: what a device has and the host has not, graphs and the
 * levels of the collector, too. It takes minutes: the short form leaves it out. */
static void a_device_can_be_rehearsed(void **state)
{
    (void)state;
    if (!cli_is_long())
        skip();
    static const char *const parts[] = {"losses",     "fragments",  "overhead", "transformer",
                                        "switchback", "accumulate", "nccl",     "warmup",
                                        "twice",      NULL};
    static const char *const said[] = {
        "losses             ok       8 of 8 rows",
        "2 rounds of bare and then again kernel full",
        "forward at kernel to CUPTI alone)",
        "loss after ten steps, fp32: within 1.0e-04 of reference        reached  fp32 ",
        "loss after ten steps, tf32, fp16: within 4.9e-04 of reference  reached  tf32 ",
        "loss after ten steps, bf16: within 3.9e-03 of reference        reached  bf16 ",
        "CUDA-graph loss bit-identical to eager                         reached  fp32, tf32, bf16, "
        "fp16",
        "39 of 39 rows",
        "4 of 4 rows",
        "at kernel and full               partly   ",
        "2 rounds of off,nvtx,kernel,full",
        "transformer        ok       14 of 14 rows",
        "2 of 2 rows",
        "24 of 24 rows",
        "12 of 12 cases",
        "sums, the host's to the bit",
        "nothing below is a result of a device",
        NULL};
    rehearse("emulated", "emulated", parts, said);
    glob_t buffers;
    char *kept = strdup(cli_in(cli_in(cli_folder, "emulated"), "buffers/cupti-*.buffer"));
    assert_int_equal(glob(kept, 0, NULL, &buffers), 0);
    assert_true(buffers.gl_pathc >= 4); /* of each level, with and without a graph */
    globfree(&buffers);
    free(kept);
}

/* The line of the goals that begins so, after two spaces, says that. */
static void expect_line(const struct cli_result *result, const char *goal, const char *said)
{
    const char *line = strstr(result->out, goal), *at = line ? strstr(line, said) : NULL;
    if (!at || at - line > (ptrdiff_t)strcspn(line, "\n"))
        fail_msg("'%s' does not say '%s' in\n%s", goal, said, result->out);
}

/* The steps of the SwitchBack study are all of it, and no row more; nothing is computed. */
static void the_switchback_study_is_whole(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char *const parts[] = {"switchback", NULL};
    static const char *const settings[][2] = {{"EMULATED_IGNORE", "work"},
                                              {"EMULATED_MEMORY", "149250000000"},
                                              {"SWITCHBACK_SIDES", ""},
                                              {"SWITCHBACK_BATCHES", ""}};
    for (size_t i = 0; i < 4; i++)
        setenv(settings[i][0], settings[i][1], 1);
    struct cli_result result = run("emulated", "study", "1", parts);
    for (size_t i = 0; i < 4; i++)
        unsetenv(settings[i][0]);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "142 of 142 rows"));
    assert_non_null(strstr(result.out, "SwitchBack study: 142 rows                                 "
                                       "    reached  142 of 142 rows"));
    expect_line(&result, "time_global below fp16's", " of 16 cases, rounds: 1");
    cli_result_free(&result);
    assert_int_equal(
        access(cli_in(cli_in(cli_folder, "study"), "switchback-1-goal/results.jsonl"), R_OK), 0);
}

/* All of this process's devices beside the first alone, where there are several. */
static void devices_can_be_rehearsed(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char *const parts[] = {"devices", NULL};
    struct cli_result result = run("emulated", "alone", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "devices: not run: one device here"));
    cli_result_free(&result);
    setenv("EMULATED_DEVICES", "2", 1);
    result = run("emulated", "both", "1", parts);
    unsetenv("EMULATED_DEVICES");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "8 of 8 rows, 2 devices"));
    assert_non_null(strstr(
        result.out, "losses on all devices equal one device's, to 1e-6              reached"));
    cli_result_free(&result);
}

/* A rank a device, where there are several and a launcher. */
static void ranks_can_be_rehearsed(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char *const parts[] = {"nccl_devices", NULL};
    struct cli_result version = cli_run((const char *const[]){"mpirun", "--version", NULL});
    int has_ranks = !version.status && !access(cli_built("emulated/libnvtally-mpi.so"), R_OK);
    cli_result_free(&version);
    struct cli_result result = run("emulated", "one", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "nccl_devices: not run: one device here"));
    cli_result_free(&result);
    if (!has_ranks)
        skip();
    setenv("EMULATED_DEVICES", "2", 1);
    result = run("emulated", "two", "1", parts);
    unsetenv("EMULATED_DEVICES");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "4 of 4 rows, 2 ranks"));
    assert_non_null(strstr(
        result.out, "losses over NCCL, several, equal those without, to 1e-6        reached"));
    cli_result_free(&result);
}

/* With PyTorch for python3 here, ours and theirs in turn; without, that is said. */
static void beside_pytorch_or_not_run(void **state)
{
    (void)state;
    static const char *const import[] = {"python3", "-c", "import torch", NULL};
    static const char *const parts[] = {"beside_linear", "beside_transformer", "beside_gpipe",
                                        "beside_switchback", NULL};
    static const char *const decided[] = {"linear forward no slower",
                                          "linear backward no slower",
                                          "grouped forward, 128 fragments at most",
                                          "grouped forward, 128 fragments, 20",
                                          "(soft training backward, ours to PyTorch's)",
                                          "(looped forward, ours to PyTorch's)",
                                          "transformer forward at most eager's",
                                          "transformer backward at most eager's",
                                          "(transformer backward, to scaled_dot_product_attention)",
                                          "pipeline's samples/s no fewer",
                                          "(time_global, ours to the torch path)"};
    struct cli_result result = cli_run(import);
    int has_torch = result.status == 0;
    cli_result_free(&result);
    result = run("1", "beside", "1", parts);
    cli_expect_status(&result, has_torch ? 0 : 3);
    assert_non_null(strstr(result.out, has_torch ? "2 rounds, ours and theirs in turn"
                                                 : "no PyTorch with cpu for python3 here"));
    for (size_t i = 0; i < NVT_COUNT_OF(decided) && has_torch; i++) {
        const char *line = strstr(result.out, decided[i]);
        assert_non_null(line);
        if (!strstr(line, "[") || strcspn(line, "[") > strcspn(line, "\n"))
            fail_msg("'%s' is decided by no ratio in\n%s", decided[i], result.out);
    }
    cli_result_free(&result);
}

/* Of a product's blocks the fastest are taken, and those that a device has no room for are passed over. Neither PyTorch nor
 * Triton is here for that. */
static void the_fastest_blocks_are_taken(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, types\n"
        "torch, triton, language = (types.ModuleType(name) for name in ('torch', 'triton', 't'))\n"
        "now = 0\n"
        "class Event:\n"
        "    def __init__(self, enable_timing): assert enable_timing\n"
        "    def record(self): self.at = now\n"
        "    def synchronize(self): pass\n"
        "    def elapsed_time(self, end): return end.at - self.at\n"
        "torch.cuda = types.SimpleNamespace(Event=Event)\n"
        "triton.jit, triton.language, language.constexpr = (lambda kernel: kernel), language, int\n"
        "sys.modules.update({'torch': torch, 'triton': triton, 'triton.language': language})\n"
        "sys.path.insert(0, 'tests/device')\n"
        "from switchback_triton import CONFIGURATIONS, tuned\n"
        "def run(*one):\n"
        "    global now\n"
        "    if one == CONFIGURATIONS[0]: raise RuntimeError('no room')\n"
        "    now += 1 if one == CONFIGURATIONS[3] else 2\n"
        "assert tuned(run, 'm n k') == CONFIGURATIONS[3]\n"
        "def fail(*one): raise RuntimeError('none has room')\n"
        "try:\n"
        "    tuned(fail, 'm n k')\n"
        "except RuntimeError as error:\n"
        "    print(error)\n";
    struct cli_result result = cli_run((const char *const[]){"python3", "-B", "-c", script, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "none has room\n");
    assert_non_null(strstr(result.err, "is left out: no room\n"));
    cli_result_free(&result);
}

/* Triton's kernels on the host's interpreter, where there is Triton, and PyTorch's operations: every integer as defined. */
static void int8_beside_is_as_defined(void **state)
{
    (void)state;
    const char *const variables[] = {"TRITON_INTERPRET=1", "PYTHONDONTWRITEBYTECODE=1", NULL};
    struct cli_options options = {.environment = variables, .timeout_s = 120};
    struct cli_result result = cli_run((const char *const[]){
        "python3", "-c", "import torch, triton, numpy; int(numpy.zeros(1))", NULL});
    int here = !result.status;
    cli_result_free(&result);
    if (!here)
        skip();
    result = cli_run_with(&options, (const char *const[]){"python3", "tests/device/switchback.py",
                                                          "--check", "--device", "cpu", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "triton: products off by at most "));
    cli_result_free(&result);
}

/* Every row of PyTorch's says how float is multiplied: an environment that allows TF32 is not asked. Without PyTorch, by
 * what takes its place: each setting that a script makes before it needs anything else. */
static void float_is_multiplied_as_float(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, types\n"
        "class Anything(types.ModuleType):\n"
        "    def __getattr__(self, name): return Anything\n"
        "    def __init__(self, *words, **more): pass\n"
        "class Stop(Exception): pass\n"
        "def stop(*words): raise Stop\n"
        "torch, nn = Anything(), Anything()\n"
        "matmul = types.SimpleNamespace(allow_tf32=True)\n"
        "torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=matmul))\n"
        "torch.manual_seed, torch.nn, nn.functional = stop, nn, Anything()\n"
        "nn.Module = object\n"
        "sys.modules.update({'torch': torch, 'torch.nn': nn})\n"
        "sys.path.insert(0, 'tests/device')\n"
        "from importlib import import_module\n"
        "study = import_module('study')\n"
        "row = {'size': 2, 'batch': 2}\n"
        "for name, words in ('fragmented', (row, None)), ('gpipe', (None,)):\n"
        "    matmul.allow_tf32 = True\n"
        "    try: import_module(name).measure(*words)\n"
        "    except Stop: print(name, matmul.allow_tf32)\n"
        "study.products(tf32=True)\n"
        "print(matmul)\n";
    struct cli_result result = cli_run((const char *const[]){"python3", "-B", "-c", script, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out,
                        "fragmented False\ngpipe False\n"
                        "namespace(allow_tf32=True, allow_fp16_reduced_precision_reduction=False, "
                        "allow_bf16_reduced_precision_reduction=False)\n");
    cli_result_free(&result);
}

/* No time of PyTorch's has a collection of Python's garbage in it, and none is off behind it, however it ended. */
static void no_garbage_is_collected_in_time(void **state)
{
    (void)state;
    static const char script[] =
        "import gc, sys, types\n"
        "torch = types.ModuleType('torch')\n"
        "torch.cuda = types.SimpleNamespace(OutOfMemoryError=MemoryError)\n"
        "sys.modules['torch'] = torch\n"
        "sys.path.insert(0, 'tests/device')\n"
        "from study import outcome\n"
        "print(outcome({}, 'cpu', lambda: {'collects': gc.isenabled()}), gc.isenabled())\n"
        "print(outcome({}, 'cpu', lambda: 1 / 0)['status'], gc.isenabled())\n";
    struct cli_result result = cli_run((const char *const[]){"python3", "-B", "-c", script, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "{'status': 'ok', 'collects': False} True\nerror True\n");
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
#define MEASURED(axes, level, ns)                                                                  \
    "{" axes ", \"backend\": \"cuda\", \"warmup\": 3, \"iterations\": 9, \"collect\": \"" level    \
    ", \"status\": \"ok\", \"forward_ns_mean\": 7777, \"forward_ns_median\": " #ns "}\n"
#define LEVEL(size, level, ns)                                                                     \
    MEASURED("\"workload\": \"transformer\", \"size\": \"" size                                    \
             "\", \"precision\": \"fp32\", \"phase\": \"forward_backward\"",                       \
             level, ns)
#define LINEAR(level, ns)                                                                          \
    MEASURED("\"workload\": \"fragmented\", \"size\": 2048, \"batch\": 8, \"mode\": \"linear\", "  \
             "\"fragments\": null, \"variant\": null, \"trace\": \"linear.nvt\"",                  \
             level, ns)
#define LAYER(size, batch, mode, variant, fragments, ns)                                           \
    "{\"size\": " size ", \"batch\": " batch ", \"status\": \"ok\", \"mode\": \"" mode             \
    "\", \"variant\": " variant ", \"fragments\": " fragments ", \"forward_ns_mean\": " #ns        \
    ", \"backward_ns_mean\": " #ns "}\n"

/* Of the language model, of theirs with that attention. */
#define MODEL(size, attention, ns)                                                                 \
    "{\"status\": \"ok\", \"size\": \"" size                                                       \
    "\", \"precision\": \"fp32\", \"phase\": \"forward_backward\", " attention                     \
    "\"forward_ns_mean\": " #ns "}\n"
#define EAGER "\"attention\": \"eager\", "
#define FUSED "\"attention\": \"fused\", "

/* 3 GB in a ms; PyTorch's copy moves 4, on another kind of device 9. */
#define QUANTISED                                                                                  \
    "{\"status\": \"ok\", \"device\": \"A\", \"dim\": 4096, \"width_multiplier\": 4, \"switch\": " \
    "false, "                                                                                      \
    "\"batch\": 32768, \"x_quantize_rowwise_ns_mean\": 1e6, \"bytes_x_quantize_rowwise\": 3e9}\n"

/* Of ten steps; the reference's is 3.21360614634975. */
#define LOSS(precision, graph, loss)                                                               \
    "{\"status\": \"ok\", \"backend\": \"cuda\", \"precision\": \"" precision                      \
    "\", \"graph\": " graph ", \"loss\": " loss "}\n"

/* Ours and theirs: all nine linear layers, of the fragments one size. */
static void put_layers(void)
{
    static char ours[4096], theirs[8192];
    size_t mine = 0, others = 0;
    for (int size = 2048; size <= 8192; size *= 2)
        for (int batch = 1; batch <= 16; batch += batch < 8 ? 7 : 8) {
            mine += (size_t)snprintf(ours + mine, sizeof(ours) - mine,
                                     LAYER("%d", "%d", "linear", "null", "null", 90), size, batch);
            others += (size_t)snprintf(theirs + others, sizeof(theirs) - others,
                                       LAYER("%d", "%d", "linear", "null", "null", 100)
                                           LAYER("%d", "%d", "linear", "null", "null", 150),
                                       size, batch, size, batch);
        }
    snprintf(ours + mine, sizeof(ours) - mine, "%s",
             LAYER("2048", "1", "inference", "\"grouped\"", "2", 40)
                 LAYER("2048", "1", "inference", "\"grouped\"", "128", 60));
    snprintf(theirs + others, sizeof(theirs) - others, "%s",
             LAYER("2048", "1", "inference", "\"looped\"", "128", 1200));
    put("beside_linear-1", "ours/results.jsonl", ours);
    put("beside_linear-1", "torch.jsonl", theirs);
    put("beside_linear-1", "done", "");
    put("beside_forms-1", "ours/results.jsonl",
        LAYER("2048", "1", "train", "null", "2", 30)
            LAYER("2048", "1", "inference", "\"looped\"", "128", 300));
    put("beside_forms-1", "torch.jsonl",
        LAYER("2048", "1", "train", "null", "2", 60)
            LAYER("2048", "1", "inference", "\"looped\"", "128", 1200));
    put("beside_forms-1", "done", "");
}

/* Times in ms; a pass of 21.6 TFLOP, which takes 60 ms at 45 % of 800 TFLOP/s. */
#define LONG_ROW(precision, context, ms)                                                           \
    "{\"status\": \"ok\", \"size\": \"xl\", \"precision\": \"" precision "\", \"batch\": 4, "      \
    "\"context\": " #context ", \"flops_forward\": 21600000000000, \"flops_backward\": 0, "        \
    "\"forward_ns_mean\": " #ms "000000}\n"

/* Of the small model at kernel 1.02 and 1.038, in the median 1.029; at full 1.2. The xl one, a hundred times as fast, has a
 * bare run of its own, and at full a trace that is empty, which is no run at full. The linear layer, of two launches, takes
 * 4 us more at kernel. Our linear layer takes 9/10 of the faster
 * of theirs; 128 fragments take 1.5 of two, and a twentieth of theirs. What of the language model only they can do is a
 * miss, and a line that was cut is none. A loss of float is off by
 * 2e-4, one of bf16 is another in a graph, and of the others there is none without a graph. At a long context bf16 takes
 * 0.6 of tf32's time and reaches 45 % of its peak, fp16 neither. */
static void put_results(void)
{
    put("overhead-1", "t/results.jsonl",
        LEVEL("small", OFF, 100) LEVEL("small", KERNEL, 102) LEVEL("small", FULL(8), 120)
            LEVEL("xl", OFF, 1) LEVEL("xl", KERNEL, 1.01) LEVEL("xl", FULL(0), 1) LINEAR(OFF, 10000)
                LINEAR(KERNEL, 14000));
    put("overhead-1", "t/linear-ranges.txt",
        "Range,Avg GPU Ops\nnvtally:iteration,9\nnvtally:forward,2.0\n");
    put("overhead-2", "t/results.jsonl",
        LEVEL("small", OFF, 100) LEVEL("small", KERNEL, 103.8) LEVEL("xl", OFF, 1)
            LEVEL("xl", KERNEL,
                  1.01) "{\"workload\": \"transformer\", \"size\": \"2.7B\", \"precision\": "
                        "\"fp32\", \"status\": \"oom\"}\n");
    put_layers();
    put("beside_transformer-1", "ours/results.jsonl", MODEL("small", "", 80) "{\"status\": \"o");
    put("beside_transformer-1", "torch.jsonl",
        MODEL("small", EAGER, 100) MODEL("large", EAGER, 100));
    put("beside_transformer-1", "done", "");
    put("beside_fused-1", "ours/results.jsonl", MODEL("small", "", 80));
    put("beside_fused-1", "torch.jsonl", MODEL("small", FUSED, 40));
    put("beside_fused-1", "done", "");
    put("nsys-1", "t/results.jsonl", LEVEL("small", OFF, 100) LEVEL("small", "nsys\"", 250));
    put("beside_linear-2", "ours/results.jsonl", LAYER("2048", "1", "linear", "null", "null", 900));
    put("switchback-1280", "results.jsonl", QUANTISED);
    put("switchback-1280", "env.json", "{\"peak_bytes\": 3e12}\n");
    put("beside_switchback-1", "ours/results.jsonl", "{\"status\": \"ok\"}\n");
    put("beside_switchback-1", "torch.jsonl",
        "{\"status\": \"ok\", \"device\": \"A\", \"copy_bytes_per_s\": 4e12}\n"
        "{\"status\": \"ok\", \"device\": \"B\", \"copy_bytes_per_s\": 9e12}\n");
    put("beside_switchback-1", "done", "");
    put("warmup-small", "results.jsonl",
        "{\"status\": \"ok\", \"warmup\": 0, \"forward_ns_mean\": 30}\n"
        "{\"status\": \"ok\", \"warmup\": 5, \"forward_ns_mean\": 20}\n");
    put("losses", "results.jsonl",
        LOSS("fp32", "false", "3.21425") LOSS("fp32", "true", "3.21425")
            LOSS("bf16", "false", "3.2136") LOSS("bf16", "true", "3.21361")
                LOSS("tf32", "true", "3.2136") LOSS("fp16", "true", "3.2136"));
    put("precisions-xl", "env.json", "{\"peak_flops_bf16\": 8e14, \"peak_flops_fp16\": 7e14}\n");
    put("precisions-xl", "results.jsonl",
        LONG_ROW("tf32", 1024, 100) LONG_ROW("bf16", 1024, 60) LONG_ROW("bf16", 128, 1)
            LONG_ROW("fp16", 1024, 80));
    put("state", "check", "failed\t3 of 4\n");
}

static void goals_are_decided_by_ratios(void **state)
{
    (void)state;
    put_results();
    const char *argv[] = {"python3", "tests/device/goals.py", cli_in(cli_folder, "goals"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    static const char *const lines[] = {
        "  every operation matches double precision                       missed   3 of 4\n",
        "  loss after ten steps, fp32: within 1.0e-04 of reference        missed   fp32 2.0e-04, "
        "fp32 in a graph 2.0e-04\n",
        "  loss after ten steps, tf32, fp16: within 4.9e-04 of reference  partly   tf32 in a graph "
        "1.9e-06, fp16 in a graph 1.9e-06\n",
        "  loss after ten steps, bf16: within 3.9e-03 of reference        reached  bf16 ",
        "  CUDA-graph loss bit-identical to eager                         missed   fp32, bf16 "
        "3.21361, "
        "not 3.2136\n",
        "  language model: forward at kernel at most 1.03 x baseline      partly   2 of 4 cases, "
        "not "
        "complete, 1 had no room, rounds: 2; worst: small 1.029 [1.020 1.038]\n",
        "  language model: forward at full at most 1.10 x baseline        missed   0 of 4 cases, "
        "not "
        "complete, 1 had no room, rounds: 1; worst: small 1.200 [1.200 1.200]\n",
        "  linear layer: forward at kernel at most 1.03 x baseline        missed   0 of 1 cases, "
        "rounds: 1; worst: 2048 1.400 [1.400 1.400] +2.00 us an operation\n",
        "  fragments: forward at kernel at most 1.03 x baseline           not run\n",
        "  (language model: forward at nsys, published 1.28 to 2.87)               small 2.500 "
        "[2.500 2.500]\n",
        "  device records in every trace at kernel and full               missed   6 of 7 traces; "
        "not complete: overhead, warmup, transformer, fragments, gpipe\n",
        "  (forward without warm-ups to that after five)                           small 1.500 "
        "[1.500 "
        "1.500]\n",
        "  linear forward no slower than PyTorch                          reached  9 of 9 cases, "
        "rounds: 1; "
        "worst: 2048 1 0.900",
        "  grouped forward, 128 fragments at most 1.3 of 2                missed   0 of 9 cases, "
        "not complete, "
        "rounds: 1; worst: 2048 1 1.500",
        "  grouped forward, 128 fragments, 20 times PyTorch's looped      partly   1 of 9 cases, "
        "not complete",
        "  (soft training forward, ours to PyTorch's)                              2048 1 2 0.500 "
        "[0.500 0.500]\n",
        "  (looped forward, ours to PyTorch's)                                     2048 1 128 "
        "0.250 "
        "[0.250 0.250]\n",
        "  transformer forward at most eager's, attention written out     missed   1 of 10 cases, "
        "not complete, "
        "rounds: 1; "
        "worst: large fp32 inf [inf inf], small fp32 0.800 [0.800 0.800]\n"
        "  (transformer forward, to scaled_dot_product_attention) ",
        "  transformer backward at most eager's, attention written out    not run\n",
        "  (transformer forward, to scaled_dot_product_attention)                  small fp32 "
        "2.000 [2.000 2.000]\n",
        "  bf16, fp16 in 1/1.6 of tf32's time at 4 x 1,024 tokens         missed   1 of 8 cases, "
        "not complete, rounds: 1; worst: xl fp16 forward 0.800 [0.800 0.800], xl bf16 forward "
        "0.600 [0.600 0.600]\n",
        "  bf16, fp16 at 45 % of peak at 4 x 1,024 tokens                 missed   1 of 8 cases, "
        "not complete, rounds: 1; worst: xl fp16 forward 0.386 [0.386 0.386], xl bf16 forward "
        "0.450 [0.450 0.450]\n",
        "  switchback and what follows of it                              not run  KeyError: "
        "'dim'\n",
        "  quantisation at 0.85 of the copy's bandwidth, from 256 MiB on  missed   0 of 146 cases, "
        "not complete, "
        "rounds: 1; worst: x_quantize_rowwise 4096\302\2674 out 32768 0.750",
        "  peak activation memory at most the published in 80 of 84 rows  not run\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no line '%s' in\n%s", lines[i], result.out);
    cli_result_free(&result);
}

/* A loss that is no number agrees with nothing, and a part that was cut off is no part that was not run. */
static void what_is_no_number_reaches_nothing(void **state)
{
    (void)state;
    put("odd", "losses/results.jsonl",
        LOSS("fp32", "false", "NaN") LOSS("fp32", "true", "NaN") LOSS("bf16", "false", "null")
            LOSS("bf16", "true", "null"));
    put("odd", "state/check", "partly\t3 of 4\n");
    put("odd", "nccl/results.jsonl",
        "{\"status\": \"ok\", \"partitions\": 1, \"microbatches\": 1, \"engine\": \"self\", "
        "\"schedule\": \"gpipe\", \"transport\": \"nccl\", \"loss\": NaN}\n"
        "{\"status\": \"ok\", \"partitions\": 1, \"microbatches\": 1, \"engine\": \"self\", "
        "\"schedule\": \"gpipe\", \"transport\": \"local\", \"loss\": 2.5}\n"
        "{\"status\": \"ok\", \"partitions\": 1, \"microbatches\": 2, \"engine\": \"self\", "
        "\"schedule\": \"gpipe\", \"transport\": \"nccl\", \"loss\": 2.5}\n"
        "{\"status\": \"ok\", \"partitions\": 1, \"microbatches\": 2, \"engine\": \"self\", "
        "\"schedule\": \"gpipe\", \"transport\": \"local\", \"loss\": null}\n");
    const char *argv[] = {"python3", "tests/device/goals.py", cli_in(cli_folder, "goals/odd"),
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    static const char *const lines[] = {
        "  every operation matches double precision                       partly   3 of 4\n",
        "  loss after ten steps, fp32: within 1.0e-04 of reference        missed   fp32 nan, ",
        "  loss after ten steps, bf16: within 3.9e-03 of reference        missed   bf16 inf, ",
        "  losses over NCCL, one rank, equal those without, to 1e-6       missed   0 of 12 "
        "cases; "};
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no line '%s' in\n%s", lines[i], result.out);
    cli_result_free(&result);
}

/* The overhead's goals and its report say the same of the same rows. */
static void the_report_agrees_on_the_overhead(void **state)
{
    (void)state;
    put_results();
    char folders[2][4096];
    for (int i = 0; i < 2; i++)
        snprintf(folders[i], sizeof(folders[i]), "%s/goals/overhead-%d/t", cli_folder, i + 1);
    const char *const argv[] = {"nvtally", "stats",    "-r",       "overhead", "-f",
                                "csv",     folders[0], folders[1], NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, "size=small precision=fp32 phase=forward_backward,3,kernel,forward,100,"
                            "103,1.0290,"))
        fail_msg("%s", result.out);
    cli_result_free(&result);
}

/* A folder by a relative path, as the default is: what the device reaches is kept there, so that every study knows it. */
static void a_relative_folder_keeps_the_peak(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    char build[4200], work[4200], *environment_of;
    snprintf(build, sizeof(build), "BUILD=%s", cli_built(""));
    snprintf(work, sizeof(work), "WORK=%s%s", "../../../../../../../../../../../../../../../..",
             cli_in(cli_folder, "relative"));
    const char *const environment[] = {build, work, "DRY=1", NULL};
    const char *const argv[] = {"tests/device/run", "switchback", "pack", NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "switchback: ok: 2 of 2 rows\n"));
    assert_non_null(strstr(result.out, "measured peaks known to every study                 "
                                       "           partly   1 of 1 folders; not complete: "
                                       "fragments, gpipe, transformer, warmup, overhead"));
    cli_result_free(&result);
    environment_of = cli_read_text(cli_in(cli_folder, "relative"), "switchback-1/env.json");
    assert_non_null(strstr(environment_of, "\"peak_bytes\": "));
    free(environment_of);
    assert_int_equal(
        access(cli_in(cli_in(cli_folder, "relative"), "pack/nvtally-device-results.tar.gz"), R_OK),
        0);
}

/* Rows that do not know it are told. */
static void a_peak_that_is_not_known_is_told(void **state)
{
    (void)state;
    put_program("no-peak", "nvtally", ok_program);
    struct cli_result result =
        run_stood_in("no-peak", "1", (const char *[]){"switchback", "warmup", NULL});
    assert_non_null(strstr(result.err, "switchback: what the device reaches is not known"));
    assert_non_null(strstr(result.err, "switchback: ok: 1 of 1 rows; without shares of the peak"));
    assert_null(strstr(result.err, "warmup: what the device reaches"));
    cli_result_free(&result);
}

/* More traces than there is room for: five files, none above 16 MiB, and the rest is told. Of the others rows, texts
 * and logs go along, unless they are large. */
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
    cli_write_file(cli_in(work, "report.qdstrm"), noise, 1 << 10);
    cli_write_file(cli_in(work, "small.log"), noise, 1 << 10);
    cli_write_file(cli_in(work, "large.log"), noise, 3 << 20);
    free(noise);
    struct cli_result result = run("", "large", "1", parts);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "5 files"));
    assert_non_null(strstr(result.out, "5 traces had no room"));
    cli_result_free(&result);
    const char *argv[] = {
        "tar", "tzf", cli_in(cli_in(cli_folder, "packed"), "nvtally-device-results.tar.gz"), NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "small.log"));
    assert_null(strstr(result.out, "large.log"));
    assert_null(strstr(result.out, "qdstrm"));
    cli_result_free(&result);
    glob_t packed;
    struct stat status;
    assert_int_equal(glob(cli_in(cli_in(cli_folder, "packed"), "*"), 0, NULL, &packed), 0);
    assert_int_equal(packed.gl_pathc, 5);
    for (size_t i = 0; i < packed.gl_pathc; i++) {
        assert_int_equal(stat(packed.gl_pathv[i], &status), 0);
        assert_true(status.st_size <= 16 << 20);
    }
    globfree(&packed);
}

/* All but one of the layers are not enough, whatever they say. */
static void a_goal_is_reached_with_all_its_cases(void **state)
{
    (void)state;
    static const char *const said[] = {"partly   15 of 16 cases, not complete, rounds: 1; worst",
                                       "reached  16 of 16 cases, rounds: 1; worst"};
    static const int sides[][2] = {{1280, 5120}, {1408, 5632}, {1408, 6144},  {1664, 6656},
                                   {1664, 8192}, {2048, 8192}, {4096, 16384}, {8096, 32384}};
    char *text;
    size_t size;
    for (int all = 0; all < 2; all++) {
        FILE *rows = open_memstream(&text, &size);
        for (int i = 1 - all; i < 16; i++)
            fprintf(rows,
                    "{\"status\": \"ok\", \"dim\": %d, \"width_multiplier\": %.4f, \"switch\": %s, "
                    "\"batch\": 32768, \"standard_fwd_ns_mean\": 9, \"standard_gw_ns_mean\": 9, "
                    "\"standard_gx_ns_mean\": 9, \"x_quantize_rowwise_ns_mean\": 1, "
                    "\"g_quantize_rowwise_ns_mean\": 1, \"w_quantize_global_ns_mean\": 1, "
                    "\"w_quantize_global_transpose_ns_mean\": 1, \"global_fwd_ns_mean\": 4, "
                    "\"global_bwd_ns_mean\": 4}\n",
                    sides[i / 2][0], 1.0 * sides[i / 2][1] / sides[i / 2][0],
                    i % 2 ? "true" : "false");
        fclose(rows);
        mkdir(cli_in(cli_folder, "layers"), 0777);
        mkdir(cli_in(cli_folder, "layers/switchback-1-goal"), 0777);
        cli_write_file(cli_in(cli_folder, "layers/switchback-1-goal/results.jsonl"), text, size);
        cli_write_file(cli_in(cli_folder, "layers/switchback-1-goal/env.json"), "{}", 2);
        free(text);
        struct cli_result result = cli_run((const char *const[]){
            "python3", "tests/device/goals.py", cli_in(cli_folder, "layers"), NULL});
        cli_expect_status(&result, 0);
        expect_line(&result, "time_global below fp16's", said[all]);
        expect_line(&result, "SwitchBack study: 142 rows",
                    all ? "partly   16 of 142 rows" : "partly   15 of 142 rows");
        cli_result_free(&result);
    }
}

/* And all cases of them, in Markdown. */
static void all_cases_can_be_shown(void **state)
{
    (void)state;
    put_results();
    const char *argv[] = {"python3", "tests/device/goals.py", "--all", cli_in(cli_folder, "goals"),
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    static const char *const lines[] = {
        ("**language model: forward at kernel at most 1.03 x baseline**: partly\n\n"
         "`tests/device/run overhead`\n\n"
         "| case | kernel, us | baseline, us | ratio | least | largest | rounds |\n"
         "|---|---:|---:|---:|---:|---:|---:|\n"
         "| small | 0.1 | 0.1 | 1.029 | 1.020 | 1.038 | 2 |\n"
         "| xl | 0.0 | 0.0 | 1.010 | 1.010 | 1.010 | 2 |\n\n"),
        ("| case | kernel, us | baseline, us | ratio | least | largest | rounds | us an operation "
         "|\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|\n"
         "| 2048 | 14.0 | 10.0 | 1.400 | 1.400 | 1.400 | 1 | +2.00 |\n"),
        ("**linear forward no slower than PyTorch**: reached\n\n"
         "| case | ours, us | PyTorch, us | ratio | least | largest | rounds |\n"),
        "| large fp32 | - | 0.1 | inf | inf | inf | 1 |\n",
        "**every operation matches double precision**: missed\n\n3 of 4\n\n",
        "**switchback and what follows of it**: not run\n\nKeyError: 'dim'\n\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], result.out);
    cli_result_free(&result);
}

/* The page has the verdict that the rows in docs/results/h100 give each goal, and each part, run or not. */
static void what_was_run_is_on_a_page(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){"python3", "tests/device/goals.py",
                                                             "--all", "docs/results/h100", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "**fragment study: 117 rows**: reached\n\n117 of 117"));
    cli_result_free(&result);
    char *page = cli_read_file("docs/results/device.md", NULL);
    assert_non_null(page);
    /* The summary: the verdict in front of the goal. */
    result = cli_run(
        (const char *const[]){"python3", "tests/device/goals.py", "docs/results/h100", NULL});
    char *rest = NULL;
    int count = 0;
    for (char *line = strtok_r(result.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        static const char *const verdicts[] = {"reached", "missed ", "partly ", "not run"};
        char goal[128], expected[160];
        for (size_t i = 0; i < 4; i++)
            if (strlen(line) > 72 && !memcmp(line + 65, verdicts[i], 7)) {
                snprintf(goal, sizeof(goal), "%.63s", line + 2);
                goal[strcspn(goal, "\n")] = 0;
                for (size_t n = strlen(goal); n && goal[n - 1] == ' '; n--)
                    goal[n - 1] = 0;
                snprintf(expected, sizeof(expected), "%-8s %s\n", verdicts[i], goal);
                count++;
                if (!strstr(page, expected))
                    fail_msg("docs/results/device.md does not have: %s", expected);
            }
    }
    assert_true(count > 30);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"tests/device/run", "--list", NULL});
    for (char *part = strtok_r(result.out, " \n", &rest); part;
         part = strtok_r(NULL, " \n", &rest)) {
        char word[64];
        snprintf(word, sizeof(word), "`%s`", part);
        if (strcmp(part, "build") && strcmp(part, "pack") && !strstr(page, word))
            fail_msg("docs/results/device.md does not have the part %s", part);
    }
    cli_result_free(&result);
    free(page);
}

/* Of a folder without results no goal is said to be reached, and each has what runs it. */
static void without_results_no_goal_is_reached(void **state)
{
    (void)state;
    mkdir(cli_in(cli_folder, "nothing"), 0777);
    struct cli_result result = cli_run((const char *const[]){
        "python3", "tests/device/goals.py", "--all", cli_in(cli_folder, "nothing"), NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "**fragment study: 117 rows**: not run\n\n"
                                       "`tests/device/run fragments`\n"));
    assert_null(strstr(result.out, "reached"));
    assert_null(strstr(result.out, "missed"));
    cli_result_free(&result);
}

/* A part that failed before, and that there is no time for now, is still one that failed. */
static void what_failed_stays_failed(void **state)
{
    (void)state;
    put_program("late", "nvtally", failing_program);
    struct cli_result result = run_stood_in("late", "1", (const char *[]){"overhead", NULL});
    cli_expect_status(&result, 1);
    cli_result_free(&result);
    setenv("WITHIN", "1", 1);
    result = run_stood_in("late", "1", (const char *[]){"overhead", "warmup", NULL});
    unsetenv("WITHIN");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "overhead: no time was left: it stays failed: 0 of 4"));
    assert_non_null(strstr(result.out, "overhead           failed   0 of 4 steps"));
    assert_non_null(strstr(result.err, "warmup: not run: no time was left"));
    cli_result_free(&result);
}

/* What cannot be packed is told, and is no success; what was packed before stays. */
static void a_pack_that_fails_is_told(void **state)
{
    (void)state;
    char part[4096];
    snprintf(part, sizeof(part), "%s",
             cli_in(cli_in(cli_folder, "packed"), "nvtally-device-results.part"));
    mkdir(cli_in(cli_folder, "packed"), 0777);
    mkdir(part, 0777);
    struct cli_result result = run("", "unpacked", "1", (const char *[]){"pack", NULL});
    rmdir(part);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "pack: nvtally-device-results is left out: "));
    assert_non_null(strstr(result.err, "pack: failed: incomplete: "));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(without_a_device_parts_are_not_run),
        cmocka_unit_test(a_device_is_probed_and_held),
        cmocka_unit_test(a_failed_row_is_not_done),
        cmocka_unit_test(a_trace_that_was_cut_is_told),
        cmocka_unit_test(nine_minutes_are_enough),
        cmocka_unit_test(first_rounds_come_first),
        cmocka_unit_test(what_was_cut_goes_on_at_the_end),
        cmocka_unit_test(no_ratio_is_of_two_machines),
        cmocka_unit_test(a_build_is_never_skipped),
        cmocka_unit_test(a_rehearsal_makes_what_it_runs),
        cmocka_unit_test(headers_of_packages_are_found),
        cmocka_unit_test(both_sides_have_one_cublas),
        cmocka_unit_test(every_form_of_a_layer_is_compared),
        cmocka_unit_test(pytorch_is_asked_for_once),
        cmocka_unit_test(what_failed_in_the_check_is_told),
        cmocka_unit_test(an_nsys_that_ran_nothing_is_told),
        cmocka_unit_test(the_overhead_has_all_levels_and_nsys),
        cmocka_unit_test(every_size_is_traced),
        cmocka_unit_test(precisions_are_compared_where_products_are_large),
        cmocka_unit_test(our_own_kernels_are_sanitized),
        cmocka_unit_test(what_is_ours_of_a_level_is_told),
        cmocka_unit_test(counters_are_held_against_what_is_known),
        cmocka_unit_test(what_traces_of_endings_have_is_told),
        cmocka_unit_test(late_recordings_are_judged),
        cmocka_unit_test(a_sanitizer_without_an_end_goes_on),
        cmocka_unit_test(failed_rows_beside_are_told),
        cmocka_unit_test(theirs_is_checked),
        cmocka_unit_test(a_round_that_was_cut_is_not_done),
        cmocka_unit_test(an_nsys_without_a_report_will_do),
        cmocka_unit_test(a_part_is_resumed_and_packed),
        cmocka_unit_test(every_part_can_be_rehearsed),
        cmocka_unit_test(a_device_can_be_rehearsed),
        cmocka_unit_test(the_switchback_study_is_whole),
        cmocka_unit_test(devices_can_be_rehearsed),
        cmocka_unit_test(ranks_can_be_rehearsed),
        cmocka_unit_test(beside_pytorch_or_not_run),
        cmocka_unit_test(the_fastest_blocks_are_taken),
        cmocka_unit_test(float_is_multiplied_as_float),
        cmocka_unit_test(no_garbage_is_collected_in_time),
        cmocka_unit_test(int8_beside_is_as_defined),
        cmocka_unit_test(goals_are_decided_by_ratios),
        cmocka_unit_test(a_goal_is_reached_with_all_its_cases),
        cmocka_unit_test(all_cases_can_be_shown),
        cmocka_unit_test(what_was_run_is_on_a_page),
        cmocka_unit_test(without_results_no_goal_is_reached),
        cmocka_unit_test(what_failed_stays_failed),
        cmocka_unit_test(what_is_no_number_reaches_nothing),
        cmocka_unit_test(the_report_agrees_on_the_overhead),
        cmocka_unit_test(a_relative_folder_keeps_the_peak),
        cmocka_unit_test(a_peak_that_is_not_known_is_told),
        cmocka_unit_test(packing_has_bounds),
        cmocka_unit_test(a_pack_that_fails_is_told),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
