/*
 * The command stats: what it takes for a report's name, what it prints when none is named, directories
 * of traces, terminals.
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

#include "../lib/count_of.h"
#include "../lib/suggest.h"
#include "../lib/version.h"
#include "cli.h"
#include "terminal_kit.h"

static void test_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *name, *best;
    } cases[] = {{"nvtx_smu", "nvtx_sum"},
                 {"NVTX_SUM", "nvtx_sum"},
                 {"nvtx_su", "nvtx_sum"},
                 {"gpu_idel", "gpu_idle"},
                 {"nvtxsum", "nvtx_sum"},
                 {"sum", NULL},
                 {"", NULL},
                 {"stats", NULL},
                 {"gp", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_suggestion suggestion = {.name = cases[i].name};
        nvt_suggest(&suggestion, "gpu_idle");
        nvt_suggest(&suggestion, "nvtx_sum");
        nvt_suggest(&suggestion, "nvtx_kern_sum");
        if (cases[i].best)
            assert_string_equal(suggestion.best, cases[i].best);
        else
            assert_null(suggestion.best);
    }
}

static void expect_out(const char *const argv[], const char *needle)
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, needle))
        fail_msg("'%s' is not in:\n%s", needle, result.out);
    cli_result_free(&result);
}

static void expect_failure(const char *const argv[], const char *needle)
{
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}

static void test_help_and_version(void **state)
{
    (void)state;
    const char *const help[] = {"nvtally", "help", "stats", NULL};
    const char *const none[] = {"nvtally", "help", "stast", NULL};
    const char *const ways[] = {"-v", "version", "--version"};
    expect_out(help, "usage: nvtally stats");
    expect_failure(none, "no command 'stast' (did you mean 'stats'?)");
    for (size_t i = 0; i < 3; i++) {
        const char *const argv[] = {"nvtally", ways[i], NULL};
        expect_out(argv, "nvtally " NVT_VERSION "\n");
    }
}

static const char *write_trace(const char *name, const char *text)
{
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, text, strlen(text));
    return path;
}

/* A process that crashed within "backward". */
static const char *crashed(void)
{
    return write_trace(
        "crashed.json",
        "[{\"ph\":\"X\",\"name\":\"whole\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2},\n"
        "{\"ph\":\"B\",\"name\":\"step\",\"pid\":7,\"tid\":7,\"ts\":10},\n"
        "{\"ph\":\"B\",\"name\":\"backward\",\"pid\":7,\"tid\":7,\"ts\":20}]");
}

/* A launch and its kernel, of a long name, in a range. */
#define LONG_NAME                                                                                  \
    "void a_kernel_of_a_name_that_takes_much_of_a_line<float, 128, true>(float *, float const *, " \
    "unsigned long, unsigned long, unsigned long)"

static const char *with_device(void)
{
    return write_trace(
        "device.json",
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"train\",\"pid\":9,"
        "\"tid\":9,\"ts\":1,\"dur\":50},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,"
        "\"ts\":3,\"dur\":2,\"args\":{\"correlation\":5}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" LONG_NAME "\",\"pid\":0,\"tid\":7,\"ts\":10,"
        "\"dur\":20,\"args\":{\"device\":0,\"stream\":7,\"correlation\":5}}]}");
}

static void test_note_of_a_crash(void **state)
{
    (void)state;
    const char *path = crashed(), *needle = "process 7 ended within: step > backward\n";
    const char *const plain[] = {"nvtally", "stats", path, NULL};
    const char *const named[] = {"nvtally", "stats", "-r", "nvtx_sum", path, NULL};
    struct cli_result result = cli_run(plain);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, needle));
    assert_non_null(strstr(result.out, "\nwhole "));
    cli_result_free(&result);
    result = cli_run(named);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, needle));
    cli_result_free(&result);
}

static void test_default_of_a_device(void **state)
{
    (void)state;
    const char *path = with_device();
    const char *const people[] = {"nvtally", "stats", path, NULL};
    const char *const argv[] = {"nvtally", "stats", "-f", "column", path, NULL};
    expect_out(people, "\nGPU busy ");
    expect_out(people, "\ntrain ");
    expect_out(argv, "[summary]");
    expect_out(argv, "[summary_devices]");
    expect_out(argv, "a_kernel_of_a_name_that_takes_much_of_a_line\n");
    expect_out(argv, "[summary_ranges]");
    expect_out(argv, "[summary_calls]");
}

/* What is printed beside a report's first table has a name in brackets, too. */
static void test_names_of_tables(void **state)
{
    (void)state;
    static const char *const tables[][2] = {
        {"summary_devices", "'summary'"},          {"summary_kernels", "'summary'"},
        {"summary_ranges", "'summary'"},           {"summary_calls", "'summary'"},
        {"switchback_operations", "'switchback'"}, {"pipeline_memory", "'pipeline'"},
        {"memory_runs", "'memory_peak'"}};
    const char *path = with_device();
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++) {
        char expected[200];
        const char *const argv[] = {"nvtally", "stats", "-r", tables[i][0], path, NULL};
        snprintf(expected, sizeof(expected), "no report '%s': it is a table of the report %s\n",
                 tables[i][0], tables[i][1]);
        expect_failure(argv, expected);
    }
}

static void test_names_of_reports(void **state)
{
    (void)state;
    static const char *const old[][2] = {{"gpukernsum", "[cuda_gpu_kern_sum]"},
                                         {"nvtxppsum", "[nvtx_pushpop_sum]"},
                                         {"cudaapisum", "[cuda_api_sum]"},
                                         {"gpumemtimesum", "[cuda_gpu_mem_time_sum]"},
                                         {"gpumemsizesum", "[cuda_gpu_mem_size_sum]"},
                                         {"gpusum", "[cuda_gpu_sum]"},
                                         {"gputrace", "[cuda_gpu_trace]"},
                                         {"kernexecsum", "[cuda_kern_exec_sum]"},
                                         {"kernexectrace", "[cuda_kern_exec_trace]"},
                                         {"apigpusum", "[cuda_api_gpu_sum]"},
                                         {"nvtxsum", "[nvtx_sum]"}};
    static const char *const wrong[][2] = {
        {"cuda_gpu_kern_smu", "(did you mean 'cuda_gpu_kern_sum'?)"},
        {"cuda_api_sum:base", "'cuda_api_sum' takes no ':base': name it without"},
        {"gpukernsum:mangled", "'cuda_gpu_kern_sum' takes no ':mangled', but :base and :nvtx-name"},
        {"cuda_gpu_sum:base:", "'cuda_gpu_sum' takes no ':', but :base and :nvtx-name"},
        {"nvtx_kern_sum:nvtx-name", "'nvtx_kern_sum' takes no ':nvtx-name', but :base"},
        {"nonsense:base", "no report 'nonsense:base'; "},
        {"nonsense", "no report 'nonsense'; "}};
    const char *path = with_device();
    for (size_t i = 0; i < NVT_COUNT_OF(old); i++) {
        const char *const argv[] = {"nvtally", "stats", "-r", old[i][0], path, NULL};
        expect_out(argv, old[i][1]);
    }
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const argv[] = {"nvtally", "stats", "-r", wrong[i][0], path, NULL};
        expect_failure(argv, wrong[i][1]);
    }
    const char *const format[] = {"nvtally", "stats", "-f", "jsno", path, NULL};
    expect_failure(format, "no format 'jsno' (did you mean 'json'?)");
}

/* nsys's options behind names of reports: two instances of a template, one of them in a range. */
static void test_names_of_kernels(void **state)
{
    (void)state;
    static const char trace[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"train\",\"pid\":9,"
        "\"tid\":9,\"ts\":1,\"dur\":5},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,"
        "\"ts\":3,\"dur\":2,\"args\":{\"correlation\":5}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,"
        "\"ts\":8,\"dur\":2,\"args\":{\"correlation\":6}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void add<int>(int)\",\"pid\":0,\"tid\":7,"
        "\"ts\":10,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,\"correlation\":5}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void add<float>(float)\",\"pid\":0,\"tid\":7,"
        "\"ts\":40,\"dur\":10,\"args\":{\"device\":0,\"stream\":7,\"correlation\":6}}]}";
    static const char *const asked[][2] = {
        {"cuda_gpu_kern_sum", "66.7,20000,1,20000.0,20000.0,20000,20000,0.0,void add<int>(int)\n"},
        {"cuda_gpu_kern_sum:base", "\n100.0,30000,2,15000.0,15000.0,10000,20000,7071.1,add\n"},
        {"gpukernsum:nvtx-name", "20000,0.0,train/void add<int>(int)\n"},
        {"cuda_gpu_kern_sum:nvtx-name:base",
         ",train/add\n33.3,10000,1,10000.0,10000.0,10000,10000,0.0,add\n"},
        {"cuda_gpu_kern_gb_sum:base", "\n100.0,30000,2,"},
        {"cuda_api_gpu_sum:nvtx-name:base", "CUDA_KERNEL,train/add\n"},
        {"cuda_kern_exec_sum:base", ",cudaLaunchKernel,add\n"},
        {"cuda_kern_exec_trace:nvtx-name", ",train/void add<int>(int)\n"},
        {"cuda_gpu_trace:base", ",7,add\n"},
        {"nvtx_kern_sum:base",
         ":train,PushPop,9,9,1,1,20000,20000.0,20000.0,20000,20000,0.0,add\n"},
        {"cuda_gpu_kern_sum,cuda_gpu_kern_sum:base", "\n100.0,30000,2,"}};
    const char *path = write_trace("names.json", trace);
    for (size_t i = 0; i < NVT_COUNT_OF(asked); i++) {
        const char *const argv[] = {"nvtally", "stats", "-f", "csv", "-r", asked[i][0], path, NULL};
        expect_out(argv, asked[i][1]);
    }
}

/* Of ranges alone: nothing of devices, and nothing of runs. */
static void test_all_reports(void **state)
{
    (void)state;
    const char *path = write_trace(
        "range.json", "[{\"ph\":\"X\",\"name\":\"whole\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2}]");
    const char *const argv[] = {"nvtally", "stats", "-r", "all", path, NULL};
    const char *const published[] = {"nvtally", "stats",     "-r", "all",
                                     "-f",      "published", path, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "[nvtx_sum]"));
    assert_non_null(strstr(result.out, "[range_tree]"));
    assert_null(strstr(result.out, "[cuda_gpu_kern_sum]"));
    assert_null(strstr(result.out, "[gpu_idle]"));
    assert_null(strstr(result.out, "[fragments]"));
    assert_null(strstr(result.err, "there is no"));
    cli_result_free(&result);
    expect_failure(published, "-r all");
}

/* Under one name or two; its copy is another trace. */
static void test_a_trace_that_is_given_twice(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    size_t size = 0;
    char *profile = cli_read_file("tests/docs/profile.json", &size);
    const char *first = cli_in(directory, "first.json"), *link = cli_in(directory, "link.json");
    cli_write_file(first, profile, size);
    cli_write_file(cli_in(directory, "copy.json"), profile, size);
    free(profile);
    assert_int_equal(symlink("first.json", link), 0);
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "stats", "-r", "cuda_gpu_sum", first, cli_in(directory, "copy.json"), NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "was given before"));
    cli_result_free(&result);
    result =
        cli_run((const char *const[]){"nvtally", "stats", "-r", "cuda_gpu_sum", first, link, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "link.json: was given twice, and is counted once"));
    struct cli_result once =
        cli_run((const char *const[]){"nvtally", "stats", "-r", "cuda_gpu_sum", first, NULL});
    cli_expect_status(&once, 0);
    assert_string_equal(result.out, once.out);
    cli_result_free(&once);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

static void test_directory_of_traces(void **state)
{
    (void)state;
    char *folder = cli_tempdir();
    const char *text = "[{\"ph\":\"X\",\"name\":\"%s\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2}]";
    char one[200];
    const char *const argv[] = {"nvtally", "stats", "-r", "nvtx_pushpop_trace", folder, NULL};
    const char *const diagnose[] = {"nvtally", "diagnose", folder, NULL};
    expect_failure(argv,
                   "has no results.jsonl and no trace: not a directory that 'nvtally run' wrote");
    for (int i = 0; i < 2; i++) {
        snprintf(one, sizeof(one), text, i ? "second" : "first");
        cli_write_file(cli_in(folder, i ? "b.json" : "a.json"), one, strlen(one));
    }
    cli_write_file(cli_in(folder, "notes.txt"), "x", 1);
    cli_write_file(cli_in(folder, "package.json"), "{\"name\": \"x\"}", 13);
    cli_write_file(cli_in(folder, ".hidden.json"), "x", 1);
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *first = strstr(result.out, ":first");
    assert_non_null(first);
    assert_non_null(strstr(first, ":second"));
    assert_non_null(
        strstr(result.err, "package.json: is JSON, but holds no trace events: left out"));
    cli_result_free(&result);
    result = cli_run(diagnose);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    cli_tempdir_remove(folder);
}

/* What a terminal of so many columns shows; NULL for `columns`: not set. Owned. */
static char *read_terminal(int columns, const char *environment, const char *const argv[])
{
    const char *const set[] = {environment, NULL};
    int status;
    char *out = kit_on_terminal(columns, 25, set, argv, &status);
    assert_int_equal(status, 0);
    return out;
}

static void expect_terminal(int columns, const char *environment, const char *const argv[],
                            const char *there, const char *absent)
{
    char *out = read_terminal(columns, environment, argv);
    if ((there && !strstr(out, there)) || (absent && strstr(out, absent)))
        fail_msg("no %s, or %s, in\n%s", there, absent, out);
    free(out);
}

static void test_terminal(void **state)
{
    (void)state;
    const char *path = with_device();
    const char *const argv[] = {"nvtally", "stats", "-r", "cuda_gpu_kern_sum", path, NULL};
    const char *const wide[] = {"nvtally",           "stats", "--wide", "-r",
                                "cuda_gpu_kern_sum", path,    NULL};
    const char *const tsv[] = {"nvtally", "stats", "-ftsv", "-r", "cuda_gpu_kern_sum", path, NULL};
    char *out = read_terminal(130, NULL, argv);
    kit_expect_fits(out, 130);
    free(out);
    /* Kernels have their short names, cut where that is too long; whole ones where all is shown. */
    expect_terminal(130, NULL, argv, " a_kernel_of_a_name_that_takes_much_of_a_line", "void");
    expect_terminal(40, NULL, argv, "…", "a_kernel_of_a_name_that_takes_much_of_a_line");
    expect_terminal(1000, "COLUMNS=40", argv, "…", LONG_NAME);
    expect_terminal(1000, NULL, argv, " a_kernel_of_a_name_that_takes_much_of_a_line", "void");
    expect_terminal(130, NULL, wide, LONG_NAME, NULL);
    /* The numbers of a comparison stand behind the names. */
    const char *const compare[] = {"nvtally", "compare", path, path, NULL};
    const char *const all[] = {"nvtally", "compare", "--wide", path, path, NULL};
    expect_terminal(80, NULL, compare, "…", "a_kernel_of_a_name_that_takes_much_of_a_line");
    expect_terminal(130, NULL, all, "a_kernel_of_a_name_that_takes_much_of_a_line", NULL);
    expect_terminal(130, NULL, tsv, LONG_NAME, NULL);
    expect_out(
        argv,
        " a_kernel_of_a_name_that_takes_much_of_a_line\n"); /* a pipe, whatever COLUMNS says */
    expect_out(wide, LONG_NAME);
}

/* What cannot be written leaves what was there; pipes and devices are written themselves. */
static void test_output_is_replaced_when_it_is_whole(void **state)
{
    (void)state;
    static const char script[] =
        "mkdir disk && mount -t tmpfs -o size=64k tmpfs disk || { echo none; exit; }\n"
        "echo old >disk/t.csv; set -- \"$0\" stats -r nvtx_pushpop_trace -f csv t.nvt -o\n"
        "\"$@\" disk/t.csv 2>&1; echo $?\n"
        "ls disk; cat disk/t.csv; umount disk\n"
        "\"$@\" /dev/full 2>&1; echo $?\n"
        "echo old >t.csv; \"$@\" t.csv; echo $?; ls t.csv*; grep -c old t.csv\n"
        "mkfifo pipe; cmp pipe t.csv & \"$@\" pipe && wait $!; echo $?; test -p pipe; echo $?\n"
        "\"$@\" /dev/stdout | cmp - t.csv; echo $?; \"$@\" - | cmp - t.csv; echo $?\n";
    struct cli_result result = cli_on_a_small_disk(script);
    assert_string_equal(result.out,
                        "nvtally: disk/t.csv: cannot be written: No space left on device\n2\n"
                        "t.csv\nold\n"
                        "nvtally: /dev/full: cannot be written: No space left on device\n2\n"
                        "0\nt.csv\n0\n0\n0\n0\n0\n");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_output_is_replaced_when_it_is_whole),
        cmocka_unit_test(test_note_of_a_crash),
        cmocka_unit_test(test_default_of_a_device),
        cmocka_unit_test(test_names_of_reports),
        cmocka_unit_test(test_names_of_kernels),
        cmocka_unit_test(test_names_of_tables),
        cmocka_unit_test(test_all_reports),
        cmocka_unit_test(test_a_trace_that_is_given_twice),
        cmocka_unit_test(test_directory_of_traces),
        cmocka_unit_test(test_terminal),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
