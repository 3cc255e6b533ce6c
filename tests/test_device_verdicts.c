/*
 * What tests/device/run says of what its parts have measured and checked: by programs that stand in for what they run,
 * whose output is known.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "device_run_kit.h"

/* Says which side it is of, to the program that it records. */
static const char side_program[] =
    "#!/bin/sh\n"
    "[ \"$1\" != info ] || { echo '  CUPTI             /usr/lib/libcupti.so.13'; exit; }\n"
    "[ \"$1\" = record ] || {\n"
    "while [ $# -gt 1 ]; do shift; done\n"
    "mkdir -p \"$1\"; echo '{\"status\": \"ok\"}' >\"$1/results.jsonl\"; exit\n"
    "}\n"
    "export SIDE=\"$3 $5\"\n"
    "while [ \"$1\" != -- ]; do shift; done\n"
    "shift; exec \"$@\"\n";

/* Takes longer with each process of a side. */
static const char cost_program[] =
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

/* Loops without and with records in one process, bare, with CUPTI alone and under `record`: of each the median of its processes,
 * and of the ratios the least and the largest, too. */
static void what_is_ours_of_a_level_is_told(void **state)
{
    (void)state;
    device_put("costs", side_program);
    device_put_program("costs/device", "cupti_cost", cost_program);
    device_put_program("costs/device", "cupti_alone.so", "");
    setenv("CUPTI_ROUNDS", "4", 1);
    unsetenv("NVTALLY_CUPTI");
    struct cli_result result = device_run_stood_in("costs", "", (const char *[]){"cupti", NULL});
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
    result = device_run_stood_in("costs", "", (const char *[]){"--again", "cupti", NULL});
    unsetenv("BYTES");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "cupti: failed: CUPTI alone has recorded nothing"));
    cli_result_free(&result);
    setenv("BROKEN", "1", 1);
    result = device_run_stood_in("costs", "", (const char *[]){"--again", "cupti", NULL});
    unsetenv("BROKEN");
    unsetenv("CUPTI_ROUNDS");
    cli_expect_status(&result, 1);
    assert_non_null(
        strstr(result.err, "cupti: failed: not all of 4 rounds: cupti_cost: no device"));
    cli_result_free(&result);
}

/* Rows that take longer with metrics, and reports whose counters have one level each. */
static const char metrics_program[] =
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

/* So much was moved. */
static const char copies_program[] =
    "#!/bin/sh\n"
    "printf 'moved\\tdevice\\tdram__bytes_read.sum.per_second\\t%s\\n' \"${MOVED-1000}\"\n"
    "printf 'moved\\tto host\\tpcie__write_bytes.sum.per_second\\t690\\n'\n";

/* Counters that are sampled: whether they may be, bytes of copies next to those that were moved, and what sampling costs. */
static void counters_are_held_against_what_is_known(void **state)
{
    (void)state;
    device_put("metrics", metrics_program);
    static const char gemm[] = "#!/bin/sh\nprintf 'multiplied\\t2000\\n'\n";
    device_put_program("metrics/device", "copies", copies_program);
    device_put_program("metrics/device", "gemm", gemm);
    struct cli_result result =
        device_run_stood_in("metrics", "", (const char *[]){"metrics", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "metrics: ok: 5 of 5 within 5 %; see metrics-truth.txt"));
    cli_result_free(&result);
    char *work = strdup(cli_in(cli_in(cli_folder, "metrics"), "work"));
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
    free(work);
    setenv("MOVED", "1100", 1);
    result = device_run_stood_in("metrics", "", (const char *[]){"--again", "metrics", NULL});
    unsetenv("MOVED");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err,
                           "metrics: failed: bytes of copies and FLOPs of GEMMs: 4 of 5 "
                           "within 5 %, see metrics-"));
    cli_result_free(&result);
    setenv("TF32", "0", 1); /* products that used other units */
    result = device_run_stood_in("metrics", "", (const char *[]){"--again", "metrics", NULL});
    unsetenv("TF32");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.err, "4 of 5 within 5 %, see metrics-"));
    cli_result_free(&result);
    setenv("REFUSED", "device 0: permission denied", 1);
    result = device_run_stood_in("metrics", "", (const char *[]){"--again", "metrics", NULL});
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
    device_put("ends", program);
    device_put_program("ends", "mount", "#!/bin/sh\nexit 1\n");
    device_put_program("ends/device", "endings", "");
    struct cli_result result = device_run_stood_in("ends", "", (const char *[]){"endings", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "endings: ok: 10 of 10 traces have what they should have"));
    cli_result_free(&result);
    setenv("SILENT", "1", 1);
    result = device_run_stood_in("ends", "", (const char *[]){"--again", "endings", NULL});
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
    device_put("live", program);
    device_put_program("live/device", "endings", "");
    device_put_program("live/device", "cupti_cost",
                       "#!/bin/sh\nprintf '%-28s    3.700   3.700 1.0000\\n' \"$1\"\n");
    struct cli_result result = device_run_stood_in("live", "", (const char *[]){"live", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "live: ok: 2 of 2 late recordings"));
    cli_result_free(&result);
    setenv("INSIDE", "200", 1);
    result = device_run_stood_in("live", "", (const char *[]){"--again", "live", NULL});
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
    device_put_program("slow", "nvtally", device_ok_program);
    device_put_program("slow", "libnvtally-cuda.so", "");
    device_put_program("slow", "compute-sanitizer", sanitizer);
    setenv("LIMIT", "5", 1); /* enough for one that is done at once */
    setenv("SLOW", "60", 1);
    struct cli_result result = device_run_stood_in("slow", "", (const char *[]){"sanitize", NULL});
    cli_expect_status(&result, 3);
    assert_non_null(strstr(
        result.err, "sanitize: not run: no end in its time: racecheck synccheck; a second call"));
    cli_result_free(&result);
    setenv("SLOW", "0", 1);
    unsetenv("LIMIT");
    result = device_run_stood_in("slow", "", (const char *[]){"sanitize", NULL});
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
    } cases[] = {{"theirs", device_ok_program,
                  "1 rounds; rows of theirs: 1 failed: RuntimeError: no kernel\n"},
                 {"both", half_failing_program,
                  "1 rounds; rows of ours: 1 failed: no \\\"x\\\"; rows of theirs: 1 failed: "
                  "RuntimeError: no kernel\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        device_put_program(cases[i].folder, "nvtally", cases[i].program);
        device_put_program(cases[i].folder, "python3", half_failing_torch);
        struct cli_result result = device_run_stood_in(
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
    device_put_program("checks", "nvtally", device_ok_program);
    device_put_program("checks", "python3", python);
    for (int i = 0; i < 3; i++) {
        setenv("WRONG", i < 2 ? "1" : "0", 1);
        struct cli_result result =
            device_run_stood_in("checks", "1", (const char *[]){"beside_switchback", NULL});
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
        device_put_program("cut", "nvtally", i ? device_failing_program : device_ok_program);
        device_put_program("cut", "python3",
                           i ? half_failing_torch
                             : "#!/bin/sh\ncase $* in *torch.jsonl) exit 1 ;; esac\n");
        struct cli_result result =
            device_run_stood_in("cut", "1", (const char *[]){"beside_gpipe", NULL});
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
    device_put_program("half", "nsys", half_an_nsys);
    setenv("NSYS", cli_in(cli_in(cli_folder, "half"), "nsys"), 1);
    struct cli_result result = device_run("1", "half/work", "1", parts);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ours_of_a_level_is_told),
        cmocka_unit_test(counters_are_held_against_what_is_known),
        cmocka_unit_test(what_traces_of_endings_have_is_told),
        cmocka_unit_test(late_recordings_are_judged),
        cmocka_unit_test(a_sanitizer_without_an_end_goes_on),
        cmocka_unit_test(failed_rows_beside_are_told),
        cmocka_unit_test(theirs_is_checked),
        cmocka_unit_test(a_round_that_was_cut_is_not_done),
        cmocka_unit_test(an_nsys_without_a_report_will_do),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
