/*
 * Recordings by presets and by command lines of nsys: a Python script as a command, and what is said where nothing
 * came.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../collectors/record_options.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "record_kit.h"

/* In the group's folder, with a Python that is no script of a version manager's. */
static struct cli_result run_here(const char *const argv[])
{
    static char path[4200];
    snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", recorded_in("bin"));
    const char *const environment[] = {path, "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", NULL};
    const struct cli_options options = {.directory = recorded_in("."), .environment = environment};
    return cli_run_with(&options, argv);
}

#define RUN(...) run_here((const char *const[]){cli_built("nvtally"), __VA_ARGS__, NULL})

static void expect_out(struct cli_result result, const char *out)
{
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, out);
    cli_result_free(&result);
}

static void expect_said(struct cli_result result, const char *said, const char *unsaid)
{
    cli_expect_status(&result, 0);
    if (!strstr(result.err, said) || (*unsaid && strstr(result.err, unsaid)))
        fail_msg("not '%s', or '%s':\n%s", said, unsaid, result.err);
    cli_result_free(&result);
}

static int has_python(void)
{
    struct cli_result result =
        run_here((const char *const[]){"python3", "-c", "import json", NULL});
    int there = result.status == 0;
    cli_result_free(&result);
    if (!there)
        print_message("not run: there is no python3\n");
    return there;
}

static void write_program(const char *name, const char *text, mode_t mode)
{
    cli_write_file(recorded_in(name), text, strlen(text));
    assert_int_equal(chmod(recorded_in(name), mode), 0);
}

static void a_python_script_is_run(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char script[] = "import sys\nprint(sys.argv)\n";
    write_program("plain.py", script, 0644);
    write_program("executable.py", script, 0755); /* nothing says that Python runs it */
    write_program("own.py", "#!/bin/sh\necho by itself $1\n", 0755);
    write_program("data.txt", script, 0644);
    expect_out(RUN("record", "--python", "plain.py", "--lr", "0.1"),
               "['plain.py', '--lr', '0.1']\n");
    expect_out(RUN("record", "--python", "--", "./plain.py", "-o"), "['./plain.py', '-o']\n");
    expect_out(RUN("record", "--preset=python", "./executable.py"), "['./executable.py']\n");
    expect_out(RUN("record", "--python", "./own.py", "x"), "by itself x\n");
    expect_out(RUN("record", "--python", "python3", "plain.py"), "['plain.py']\n");
    expect_out(RUN("record", "--python", "--", "python3", "-B", "plain.py", "1"),
               "['plain.py', '1']\n");
    struct cli_result result = RUN("record", "--python", "-m", "plain", "2");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/plain.py', '2']\n"));
    cli_result_free(&result);
    expect_out(RUN("record", "--python", "--", "-c", "print(3)"), "3\n");
    expect_out(RUN("record", "--python", "-c", "print(4)"), "4\n");
    expect_out(RUN("record", "--python", "-u", "plain.py"), "['plain.py']\n");
    /* Without the preset, it says what would run it. */
    result = RUN("record", "plain.py");
    cli_expect_failure(&result,
                       "plain.py: is not executable: nvtally record --python plain.py runs it");
    cli_result_free(&result);
    result = RUN("record", "--python", "missing.py");
    cli_expect_failure(&result, "missing.py: No such file");
    cli_result_free(&result);
    result = RUN("record", "--python", "data.txt");
    cli_expect_failure(&result, "data.txt: is neither a command nor a script");
    cli_result_free(&result);
    result = RUN("record", "-m", "plain");
    cli_expect_failure(&result, "unknown option -m");
    cli_result_free(&result);
}

/* The trace says what it was recorded with. */
static void the_preset_records_what_python_does(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    write_program("work.py",
                  "import time, threading\nend = time.process_time() + 0.3\n"
                  "while time.process_time() < end: sum(range(1000))\ntime.sleep(0.02)\n",
                  0644);
    struct cli_result result = RUN("record", "--python", "-f", "-o", recorded_path(), "work.py");
    cli_expect_status(&result, 0);
    /* Of one line: nothing is missed that nobody asked for. */
    if (!strstr(result.err, " OS calls, ") || strchr(result.err, '\n')[1])
        fail_msg("%s", result.err);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_true(trace->cpu_samples.count > 10 && trace->os_calls.count > 0);
    assert_true(trace->counters.count > 0);
    assert_string_equal(nvt_trace_meta(trace, "trace"),
                        "nvtx,kernel,machine,process,osrt,cpu,pytorch");
    nvt_trace_free(trace);
    result = RUN("record", "--python", "--trace", "mpi", "-f", "-o", recorded_path(), "work.py");
    expect_said(result, "no MPI calls were recorded", "PyTorch");
}

static void what_is_missing_has_a_way_out(void **state)
{
    (void)state;
    expect_said(RUN("record", "-f", "true"), "--trace nvtx,osrt,cpu,machine shows", "CUDA");
    expect_said(RUN("record", "-f", "--trace", "nvtx,osrt", "true"),
                "--trace nvtx,cpu,machine shows", "did not use CUDA");
    expect_said(RUN("record", "-f", "--trace", "nvtx,osrt,cpu,machine", "true"),
                "no NVTX calls were recorded", "shows what");
    expect_said(RUN("record", "-f", "--trace", "all", "sleep", "0.1"), "OS call", "CUDA");
    expect_said(RUN("record", "-f", "-t", "cuda", "true"), "did not use CUDA", "");
    if (!has_python())
        return;
    expect_said(RUN("record", "-f", "python3", "-c", "1"), "--python records", "statically linked");
}

static void command_lines_of_nsys(void **state)
{
    (void)state;
    expect_said(RUN("record", "-w", "true", "-t", "cuda,nvtx,osrt,cudnn,cublas", "-s", "none", "-o",
                    "report", "-f", "true", "-x", "true", "sh", "-c", "exit 0"),
                "--trace: calls of cudnn, cublas are not recorded\n", "unknown");
    expect_said(
        RUN("record", "--force-overwrite", "true", "--stats=true", "-o", "report", "echo", "1"),
        "--stats=true: nvtally stats FILE prints them\n", "was there");
    expect_said(RUN("record", "-f", "false", "-o", "report", "echo", "1"),
                "was there is now report.old", "");
    /* `true` is a command, too. */
    expect_said(RUN("record", "-o", "report", "-f", "true"), "report\n", "was there");
    expect_said(RUN("record", "--force-overwrite", "-o", "report", "--", "true", "1"), "report\n",
                "was there");
    struct cli_result result = RUN("record", "-c", "cudaProfilerApi", "-t", "nvtx", "true");
    cli_expect_failure(&result, "--capture cudaProfilerApi needs --trace kernel");
    cli_result_free(&result);
    expect_said(RUN("record", "-f", "-c", "nvtx", "-p", "a@b", "true"), "a@b never began", "");
    expect_out(RUN("record", "-f", "--pytorch=autograd-nvtx", "echo", "1"), "1\n");
    result = RUN("record", "--trace", "list");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\nosrt      OS calls that block"));
    cli_result_free(&result);
}

static void command_lines_that_are_refused(void **state)
{
    (void)state;
    static const char *const refused[][3] = {{"--trace", "none", "leaves nothing to record"},
                                             {"--start-later", "true", "--delay SECONDS"},
                                             {"-Y", "true", "--capture RANGE"},
                                             {"-e", "A=B", "env NAME=VALUE"},
                                             {"-s", "system-wide", "no others"},
                                             {"--run-as", "me", "sudo -u USER"},
                                             {"-w", "false", "redirect that instead"}};
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++) {
        struct cli_result result = RUN("record", "-f", refused[i][0], refused[i][1], "echo", "ran");
        cli_expect_failure(&result, refused[i][2]);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_lines_that_are_refused),
        cmocka_unit_test(a_python_script_is_run),
        cmocka_unit_test(the_preset_records_what_python_does),
        cmocka_unit_test(what_is_missing_has_a_way_out),
        cmocka_unit_test(command_lines_of_nsys),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
