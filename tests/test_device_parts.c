/*
 * The parts of tests/device/run, by programs that stand in for what they run: which steps each has, in which order,
 * with what around them.
 */
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
#include "device_run_kit.h"

/* A build is never skipped: what was changed would run as it was. */
static void a_build_is_never_skipped(void **state)
{
    (void)state;
    device_put_program("built", "make", "#!/bin/sh\necho once >>\"$HELD\"\n");
    device_put_program("built", "nvtally", "#!/bin/sh\necho 'CUDA activity  built into'\n");
    device_put_program("built", "libnvtally-cuda.so", "");
    device_put_program("built", "nvidia-smi", "#!/bin/sh\n[ \"$1\" = dmon ] || echo 9.0\n");
    for (int i = 0; i < 2; i++) {
        struct cli_result result =
            device_run_stood_in("built", "", (const char *[]){"build", NULL});
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
    device_put_program("rehearsed/emulated", "nvtally",
                       "#!/bin/sh\necho 'CUDA activity  built into'\n");
    device_put_program("rehearsed/emulated", "libnvtally-cuda.so", "");
    device_put_program("rehearsed/emulated", "make", "#!/bin/sh\necho \"$*\" >\"$HELD\"\n");
    struct cli_result result =
        device_run_stood_in("rehearsed/emulated", "emulated", (const char *[]){"build", NULL});
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
    device_put_program("packages/include", "cupti.h", "");
    device_put_program("thin-toolkit/include", "cuda.h", "");
    device_put_program("thin-toolkit/include", "cublas_v2.h", "");
    device_put_program("thin", "make", "#!/bin/sh\necho \"$*\" >\"$HELD\"\nexit 1\n");
    device_put_program("thin", "python3", python);
    setenv("CUDA_HOME", home, 1);
    struct cli_result result = device_run_stood_in("thin", "", (const char *[]){"build", NULL});
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
    device_put_program("theirs-cublas/lib", "libcublas.so.13", "");
    device_put_program("theirs-cublas/lib", "libcublasLt.so.13", "");
    device_put_program("theirs-cublas/lib", "libcudart.so.13", "");
    device_put_program("same", "nvtally", program);
    device_put_program("same", "libnvtally-cuda.so", "");
    device_put_program(
        "same", "ldd",
        "#!/bin/sh\n"
        "echo \" libcublas.so.13 => ${LD_LIBRARY_PATH:-/usr/lib}/libcublas.so.13 (0x7f)\"\n");
    device_put_program("same", "python3", python);
    device_put_program("same", "nvidia-smi", "#!/bin/sh\n");
    unsetenv("LD_LIBRARY_PATH");
    struct cli_result result =
        device_run_stood_in("same", "", (const char *[]){"beside_gpipe", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "a row of 32 features took "));
    assert_non_null(strstr(result.err, "in turn, both with the libcublas.so.13 of PyTorch"));
    cli_result_free(&result);
    char *seen = cli_read_file(cli_in(cli_in(cli_folder, "same"), "held"), NULL);
    assert_non_null(strstr(seen, "libcublas.so.13\nlibcublasLt.so.13\n"));
    assert_null(strstr(seen, "libcudart"));
    free(seen);
    /* A loader that takes another one all the same. */
    device_put_program("same", "ldd",
                       "#!/bin/sh\necho ' libcublas.so.13 => /usr/lib/libcublas.so.13'\n");
    result = device_run_stood_in("same", "", (const char *[]){"--again", "beside_gpipe", NULL});
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
    device_put_program("forms", "nvtally", program);
    device_put_program("forms", "libnvtally-cuda.so", "");
    device_put_program("forms", "nvidia-smi", "#!/bin/sh\n");
    device_put_program("forms", "python3", python);
    struct cli_result result =
        device_run_stood_in("forms", "",
                            (const char *[]){"beside_linear", "beside_transformer", "beside_forms",
                                             "beside_fused", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "forms"), "held"), NULL);
    device_expect_steps(log, steps);
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
    device_put_program("once", "nvtally", device_ok_program);
    device_put_program("once", "make", "#!/bin/sh\necho make >>\"$HELD\"; sleep 2\n");
    device_put_program("once", "python3", python);
    struct cli_result result = device_run_stood_in(
        "once", "1", (const char *[]){"build", "beside_linear", "beside_gpipe", NULL});
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
    device_put_program("checked", "nvtally", device_ok_program);
    device_put_program(
        "checked/device", "check",
        "#!/bin/sh\n"
        "echo 'bias_forward                      1          0   0.00e+00     1e-06  FAILED: "
        "CUDA: an illegal address'\n"
        "echo '95 of 96 operations agree'\n"
        "exit 1\n");
    struct cli_result result = device_run_stood_in("checked", "1", (const char *[]){"check", NULL});
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err,
                           "check: failed: 95 of 96 operations agree; bias_forward: CUDA: "
                           "an illegal address"));
    cli_result_free(&result);
    device_put_program(
        "checked/device", "check",
        "#!/bin/sh\n"
        "echo 'matmul_nn                         1          0   0.00e+00     1e-06  ok'\n"
        "exec sleep 60\n");
    setenv("LIMIT", "2", 1);
    result = device_run_stood_in("checked", "1", (const char *[]){"check", NULL});
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
    device_put_program("no-rows", "nvtally", program);
    device_put_program("no-rows", "nsys", "#!/bin/sh\n");
    setenv("NSYS", cli_in(cli_in(cli_folder, "no-rows"), "nsys"), 1);
    for (int i = 0; i < 2; i++) {
        struct cli_result result =
            device_run_stood_in("no-rows", "1", (const char *[]){"overhead", "nsys", NULL});
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
    device_put("sizes", rows_program);
    struct cli_result result =
        device_run_stood_in("sizes", "", (const char *[]){"transformer", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "sizes"), "held"), NULL);
    device_expect_steps(log, steps);
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
    device_put("precisions", rows_program);
    struct cli_result result =
        device_run_stood_in("precisions", "", (const char *[]){"precisions", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *log = cli_read_file(cli_in(cli_in(cli_folder, "precisions"), "held"), NULL);
    device_expect_steps(log, steps);
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
    device_put("levels", program);
    device_put_program("levels", "nsys", "#!/bin/sh\n");
    setenv("NSYS", cli_in(cli_in(cli_folder, "levels"), "nsys"), 1);
    setenv("TRANSFORMERS", "small xl 2.7B", 1);
    setenv("HANGS", "30", 1);
    setenv("ROW_LIMIT", "2", 1);
    struct cli_result result =
        device_run_stood_in("levels", "", (const char *[]){"overhead", "nsys", NULL});
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
    result =
        device_run_stood_in("levels", "", (const char *[]){"--again", "overhead", "nsys", NULL});
    unsetenv("NSYS");
    unsetenv("TRANSFORMERS");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "overhead: ok: 2 rounds of off,nvtx,kernel,full\n"));
    assert_non_null(
        strstr(result.err, "nsys: ok: 3 of 3 rows under nsys, 0 with what it recorded\n"));
    cli_result_free(&result);
    log = cli_read_file(cli_in(cli_in(cli_folder, "levels"), "held"), NULL);
    device_expect_steps(log, steps);
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
    device_put("sane", device_ok_program);
    device_put_program("sane", "compute-sanitizer", sanitizer);
    struct cli_result result = device_run_stood_in("sane", "", (const char *[]){"sanitize", NULL});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
