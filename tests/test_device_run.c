/*
 * tests/device/run without a device: what is not run is said and is no success; in which order steps are made and how
 * long they may take; what was cut off and what failed, in the next call.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"
#include "device_run_kit.h"

static void wrong_words_are_refused(void **state)
{
    (void)state;
    static const char *const parts[] = {"everything", NULL};
    struct cli_result result = device_run("", "wrong", "1", parts);
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
    struct cli_result result = device_run("", "none", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "fragments: not run:"));
    assert_non_null(strstr(result.out, "Not run: " EVERY_PART));
    cli_result_free(&result);
}

/* A device that answers and computes nothing right is none; while parts run somebody holds it, and no longer. */
static void a_device_is_probed_and_held(void **state)
{
    (void)state;
    char number[32] = "";
    device_put("failing", device_failing_program);
    struct cli_result result = device_run_stood_in("failing", "", (const char *[]){"check", NULL});
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
    device_put_program("failed-rows", "nvtally", device_failing_program);
    struct cli_result result =
        device_run_stood_in("failed-rows", "1", (const char *[]){"overhead", NULL});
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "0 of 4 steps"));
    cli_result_free(&result);
}

/* Rows without the traces that belong to them are not all of a part, and a second call makes the traces. */
static void a_trace_that_was_cut_is_told(void **state)
{
    (void)state;
    char program[512];
    snprintf(program, sizeof(program), "#!/bin/sh\ncase $* in *schedule*) exit $CUT ;; esac\n%s",
             strchr(device_ok_program, '\n') + 1);
    device_put_program("cut-traces", "nvtally", program);
    for (int cut = 1; cut >= 0; cut--) {
        setenv("CUT", cut ? "1" : "0", 1);
        struct cli_result result =
            device_run_stood_in("cut-traces", "1", (const char *[]){"gpipe", NULL});
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
    device_put_program(name, "nvtally", device_ok_program);
    device_put_program(name, "libnvtally-cuda.so", "");
    device_put_program(name, "nvidia-smi", "#!/bin/sh\n");
    device_put_program(name, "timeout",
                       "#!/bin/sh\n"
                       "case $* in *run*transformer*) echo \"$3\" >>\"$HELD\" ;; esac\n"
                       "shift 3\nexec \"$@\"\n");
    setenv("NSYS", "none", 1);
    if (within)
        setenv("WITHIN", within, 1);
    struct cli_result result =
        device_run_stood_in(name, "", (const char *[]){"--again", part, NULL});
    unsetenv("WITHIN");
    unsetenv("NSYS");
    cli_result_free(&result);
    log = cli_read_file(cli_in(cli_in(cli_folder, name), "held"), NULL);
    int seconds = log ? atoi(log) : 0;
    free(log);
    unlink(cli_in(cli_in(cli_folder, name), "held"));
    return seconds;
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

/* Keeps which row of which step it was asked for, and has one that is ok. */
static const char round_program[] =
    "#!/bin/sh\n"
    "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
    "[ \"$word\" != --list ] || { echo one; exit; }\n"
    "[ \"$1\" = run ] || exit 0\n"
    "mkdir -p \"$out\"\n"
    "echo \"${out#*/work/} $*\" >>\"$HELD\"\n"
    "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";

/* Has theirs. */
static const char round_python[] =
    "#!/bin/sh\n"
    "case $* in *torch.jsonl) ;; *) exit 0 ;; esac\n"
    "while [ $# -gt 1 ]; do shift; done; echo '{\"status\": \"ok\"}' >\"$1\"\n";

static const char *const round_steps[] = {"beside_linear-1/ours ",
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

/* Without names, each part that has rounds has its first before any has its second, and each step is run once. */
static void first_rounds_come_first(void **state)
{
    (void)state;
    device_put_program("rounds", "nvtally", round_program);
    device_put_program("rounds", "libnvtally-cuda.so", "");
    device_put_program("rounds", "nvidia-smi", "#!/bin/sh\n");
    device_put_program("rounds", "make", "#!/bin/sh\n");
    device_put_program("rounds", "python3", round_python);
    setenv("NSYS", "none", 1);
    setenv("TRANSFORMERS", "small", 1);
    setenv("SWITCHBACK_SIDES", "2048", 1);
    setenv("NVTALLY_NCCL", "/dev/null", 1);
    setenv("STANDS_IN_ROUNDS", "2", 1);
    struct cli_result result = device_run_stood_in("rounds", "", (const char *[]){NULL});
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
    device_expect_steps(log, round_steps);
    for (size_t i = 0; round_steps[i]; i++) {
        char line[64];
        snprintf(line, sizeof(line), "\n%s", round_steps[i]);
        const char *once = strstr(log, line);
        if (!once || strstr(once + 1, line))
            fail_msg("'%s' was not run once in\n%s", round_steps[i], log);
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
    device_put_program("goes-on", "nvtally", program);
    device_put_program("goes-on", "make", "#!/bin/sh\n");
    device_put_program("goes-on", "python3", "#!/bin/sh\nexit 1\n");
    setenv("LIMIT", "3", 1);
    struct cli_result result =
        device_run_stood_in("goes-on", "1", (const char *[]){"fragments", NULL});
    cli_expect_status(&result, 3);
    assert_non_null(strstr(
        result.err, "fragments: partly: 0 of 1 rows, not all traces; a second call goes on\n"));
    assert_non_null(strstr(result.out, "\nNot complete, a second call goes on: fragments\n"));
    cli_result_free(&result);
    unlink(cli_in(cli_in(cli_folder, "goes-on"), "held.cut"));
    unlink(cli_in(cli_in(cli_folder, "goes-on"), "held"));
    result = device_run_stood_in("goes-on", "1", (const char *[]){NULL});
    unsetenv("LIMIT");
    cli_expect_status(&result, 1);
    const char *cut = strstr(
        result.err, "fragments: partly: 0 of 1 rows, not all traces; a second call goes on\n");
    assert_non_null(cut);
    assert_non_null(strstr(cut, "fragments: ok: 1 of 1 rows"));
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "goes-on"), "held"), NULL);
    device_expect_steps(
        log, (const char *const[]){"\nfragments-128\n", "warmup-tiny\n", "fragments-128\n", NULL});
    const char *failed = strstr(log, "\ngpipe-1\n");
    assert_non_null(failed);
    assert_null(strstr(failed + 1, "\ngpipe-1\n"));
    free(log);
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
    device_put_program("moved", "nvtally", device_ok_program);
    device_put_program("moved", "libnvtally-cuda.so", "");
    device_put_program("moved", "nvidia-smi",
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
        result = device_run_stood_in("moved", "", (const char *[]){"losses", NULL});
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
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
