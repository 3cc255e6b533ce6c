/*
 * What people see on terminals of 80 and 120 columns: no line is wider, whatever was asked for, and no number is broken. Colours are
 * there where they are wanted, and nowhere else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"
#include "terminal_kit.h"

#define TRACES "docs/results/h100/traces/"
static const char *const traces[] = {TRACES "train.nvt", TRACES "pytorch.nvt",
                                     TRACES "transformer.nvt", TRACES "looped.nvt",
                                     TRACES "managed.nvt"};
enum { TRACE_COUNT = NVT_COUNT_OF(traces) };
static const int widths[] = {80, 120};

/* What it prints fits, at both widths, and it ends with this status at most. */
static void expect_fits_with(int worst, const char *const argv[])
{
    for (size_t i = 0; i < NVT_COUNT_OF(widths); i++) {
        int status;
        char *text = kit_on_terminal(widths[i], 24, NULL, argv, &status);
        if (status > worst)
            fail_msg("exit status %d:\n%s", status, text);
        assert_true(*text);
        (void)kit_expect_fits(text, (size_t)widths[i]);
        free(text);
    }
}

/* It may end with 2 where a report is not for that input. */
static void expect_fits(const char *const argv[])
{
    expect_fits_with(2, argv);
}

static void every_report_fits(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++)
        expect_fits((const char *const[]){"nvtally", "stats", "-r", reports[i]->name,
                                          traces[i % TRACE_COUNT], NULL});
    expect_fits((const char *const[]){"nvtally", "stats", "-r", "list", NULL});
}

/* Of an input of one or two files. */
static void expect_input_fits(const char *first, const char *second)
{
    static const char *const reports[] = {"summary",        "nvtx_sum",          "range_tree",
                                          "nvtx_kern_sum",  "cuda_gpu_kern_sum", "cuda_api_sum",
                                          "gpu_idle",       "iterations",        "critical_path",
                                          "cuda_gpu_trace", "nvtx_pushpop_trace"};
    for (size_t i = 0; i < NVT_COUNT_OF(reports); i++)
        expect_fits_with(
            0, (const char *const[]){"nvtally", "stats", "-r", reports[i], first, second, NULL});
    expect_fits_with(0, (const char *const[]){"nvtally", "stats", first, second, NULL});
    expect_fits_with(0, (const char *const[]){"nvtally", "diagnose", first, second, NULL});
    expect_fits_with(
        0, (const char *const[]){"nvtally", "compare", first, second ? second : first, NULL});
}

static void commands_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < TRACE_COUNT; i++) {
        expect_fits((const char *const[]){"nvtally", "stats", traces[i], NULL});
        expect_fits((const char *const[]){"nvtally", "diagnose", traces[i], NULL});
        expect_fits((const char *const[]){"nvtally", "compare", traces[i], traces[0], NULL});
    }
    expect_fits((const char *const[]){"nvtally", "diagnose", "--rules", NULL});
    expect_fits((const char *const[]){"nvtally", "diagnose", "-f", "table", traces[0], NULL});
    expect_fits((const char *const[]){"nvtally", "info", NULL});
    expect_fits((const char *const[]){"nvtally", "--help", NULL});
    expect_fits((const char *const[]){"nvtally", "stats",
                                      "no-such-file-of-a-name-that-takes-more-"
                                      "than-a-line-of-a-terminal-has-room-for",
                                      NULL});
}

static void helps_fit(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "record", "run",    "stats", "diagnose", "compare", "import", "reference", "plot",
        "report", "export", "sql",   "info",     "check",   "mcp",    "view",      "ctl"};
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++)
        expect_fits_with(0, (const char *const[]){"nvtally", commands[i], "--help", NULL});
}

#ifdef HAVE_SQLITE
static void exports_of_nsys_fit(void **state)
{
    (void)state;
    expect_input_fits(kit_exported(traces[0], "sqlite", "train.sqlite"), NULL);
}
#endif

/* Many traces, and rows of results. */
static void run_directories_fit(void **state)
{
    (void)state;
    const char *run = cli_in(cli_folder, "run");
    const char *const argv[] = {"nvtally", "run", "fragmented",  "--size", "32",
                                "--batch", "1,8", "--fragments", "1,2",    "--iterations",
                                "2",       "-o",  run,           NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    expect_input_fits(run, NULL);
    expect_fits_with(0, (const char *const[]){"nvtally", "stats", "-r", "fragments", run, NULL});
}

static void studies_fit(void **state)
{
    (void)state;
    static const char *const studies[] = {"fragmented", "switchback", "transformer", "gpipe"};
    for (size_t i = 0; i < NVT_COUNT_OF(studies); i++)
        expect_fits((const char *const[]){"nvtally", "reference", studies[i], NULL});
}

static void put_event(FILE *file, const char *what, const char *name, int rank, int id,
                      double start, double length)
{
    fprintf(file,
            ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":{\"correlation\":%d,\"External id\":%d,\"device\":%d,"
            "\"stream\":7}}",
            what, name, *what == 'k' ? rank : 70 + rank, *what == 'k' ? 7 : 70 + rank, start,
            length, id, id, rank);
}

/* Steps of two operators and their kernels, as PyTorch's profiler writes them; the second rank is the slower one. */
static const char *profile_of(int rank, const char *name)
{
    static const char *const kernels[] = {
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(Params)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int)"};
    const char *path = cli_in(cli_folder, name);
    FILE *file = fopen(path, "w");
    double now = 1000;
    assert_non_null(file);
    fprintf(file,
            "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":%d,\"world_size\":2},"
            "\"deviceProperties\":[{\"id\":%d,\"name\":\"NVIDIA H100\"}],\"traceEvents\":[{\"ph\":"
            "\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"python\"}}",
            rank, rank, 70 + rank);
    for (int step = 0, id = 1; step < 6; step++) {
        char iteration[32];
        const double start = now;
        for (int i = 0; i < 2; i++, id++) {
            const double length = i ? 100 : 300 + 200 * rank;
            put_event(file, "cpu_op", i ? "aten::add" : "aten::linear", rank, id, now, length);
            put_event(file, "cuda_runtime", "cudaLaunchKernel", rank, id, now + 5, 6);
            put_event(file, "kernel", kernels[i], rank, id, now + 20, 80);
            now += length;
        }
        snprintf(iteration, sizeof(iteration), "ProfilerStep#%d", step);
        put_event(file, "user_annotation", iteration, rank, 0, start, now - start);
        now += 10;
    }
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void profiles_of_ranks_fit(void **state)
{
    (void)state;
    const char *first = profile_of(0, "rank0.json"), *second = profile_of(1, "rank1.json");
    int status;
    expect_input_fits(first, NULL);
    expect_input_fits(first, second);
    char *text =
        kit_on_terminal(80, 24, (const char *const[]){"NO_COLOR=1", NULL},
                        (const char *const[]){"nvtally", "stats", first, second, NULL}, &status);
    assert_int_equal(status, 0);
    assert_in_range(kit_expect_fits(text, 80), 1, 24);
    assert_non_null(strstr(text, "\nrank 1     600 µs"));
    assert_non_null(strstr(text, "\nrank 0     400 µs"));
    assert_non_null(strstr(text, "GPU idle"));
    free(text);
}

/* Kernels that differ look different, however little room there is: of each line the name, which is last. */
static void kernels_look_different(void **state)
{
    (void)state;
    for (size_t i = 0; i < TRACE_COUNT; i++) {
        static const char *const environment[] = {"NO_COLOR=1", NULL};
        const char *const argv[] = {"nvtally", "stats", "-r", "cuda_gpu_kern_sum", traces[i], NULL};
        char *names[512], *rest, *text;
        size_t count = 0;
        int status;
        rest = text = kit_on_terminal(80, 24, environment, argv, &status);
        assert_int_equal(status, 0);
        for (char *line; (line = strsep(&rest, "\n"));) {
            char *column = line;
            /* share, total, instances, average, median, longest: two blanks in front of each, one in front of a unit */
            for (int k = 0; k < 6 && column; k++) {
                column += strspn(column, " ");
                column = strstr(column, "  ");
            }
            if (!strstr(line, "s  ") || strspn(line, " 0123456789.") < 4 || !column)
                continue;
            column += strspn(column, " ");
            for (size_t k = 0; k < count; k++)
                if (!strcmp(names[k], column))
                    fail_msg("%s: two rows are \"%s\"", traces[i], column);
            assert_in_range(count, 0, NVT_COUNT_OF(names) - 1);
            names[count++] = column;
        }
        assert_true(count > 0);
        free(text);
    }
}

/* Numbers have their unit beside them, in tables for people alone. */
static void numbers_have_units(void **state)
{
    (void)state;
    const char *const people[] = {"nvtally", "stats", "-r", "nvtx_sum", traces[0], NULL};
    const char *const raw[] = {"nvtally", "stats",  "-r",      "nvtx_sum",
                               "-f",      "column", traces[0], NULL};
    int status;
    char *text = kit_on_terminal(80, 24, NULL, people, &status);
    kit_uncolour(text);
    assert_non_null(strstr(text, " 14.7 ms "));
    assert_null(strstr(text, "14,690,358"));
    assert_null(strstr(text, "(ns)"));
    free(text);
    text = kit_on_terminal(80, 24, NULL, raw, &status);
    assert_non_null(strstr(text, "14,690,358"));
    assert_non_null(strstr(text, "Med (ns)"));
    free(text);
}

static void expect_colours(int are_there, const char *environment, const char *color)
{
    const char *const set[] = {environment, NULL};
    const char *const argv[] = {"nvtally", "diagnose", traces[0], color ? "--color" : NULL,
                                color,     NULL};
    int status;
    char *text = kit_on_terminal(80, 24, set, argv, &status);
    assert_int_equal(status, 0);
    assert_int_equal(kit_uncolour(text) > 0, are_there);
    assert_null(strchr(text, '\033'));
    free(text);
}

static void colours_are_where_they_are_wanted(void **state)
{
    (void)state;
    expect_colours(1, NULL, NULL);
    expect_colours(0, "NO_COLOR=1", NULL);
    expect_colours(1, "NO_COLOR=", NULL);
    expect_colours(0, "TERM=dumb", NULL);
    expect_colours(1, "NO_COLOR=1", "always");
    expect_colours(0, NULL, "never");
    static const char *const commands[] = {"stats",     "compare", "diagnose",
                                           "reference", "sql",     "check"};
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++) {
        const char *const wrong[] = {"nvtally", commands[i], "--color", "red", traces[0], NULL};
        struct cli_result result = cli_run(wrong);
        cli_expect_failure(&result, "--color red: must be auto, always or never");
        cli_result_free(&result);
    }
    const char *const pipe[] = {"nvtally", "diagnose", traces[0], NULL};
    struct cli_result result = cli_run(pipe);
    assert_null(strchr(result.out, '\033'));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_report_fits),
        cmocka_unit_test(commands_fit),
        cmocka_unit_test(helps_fit),
#ifdef HAVE_SQLITE
        cmocka_unit_test(exports_of_nsys_fit),
#endif
        cmocka_unit_test(run_directories_fit),
        cmocka_unit_test(studies_fit),
        cmocka_unit_test(profiles_of_ranks_fit),
        cmocka_unit_test(kernels_look_different),
        cmocka_unit_test(numbers_have_units),
        cmocka_unit_test(colours_are_where_they_are_wanted),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
