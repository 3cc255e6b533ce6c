/*
 * The command table, nothing else. Each command lives in the folder that owns it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/input/shared_reading.h"
#include "analyze/model/parallel.h"
#include "lib/commands.h"
#include "lib/count_of.h"
#include "lib/job.h"
#include "lib/suggest.h"
#include "lib/version.h"
#include "lib/wrap.h"

static const struct nvt_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"record", nvt_cmd_record, "record the NVTX ranges and CUDA activity of any command"},
    {"run", nvt_cmd_run, "run a documented workload over a sweep of configurations"},
    {"stats", nvt_cmd_stats, "show where the time went, on one screen or in tables"},
    {"diagnose", nvt_cmd_diagnose, "find what slows it down, with evidence and a remedy"},
    {"compare", nvt_cmd_compare, "compare runs or traces, with confidence intervals"},
    {"import", nvt_cmd_import, "convert a published benchmark log into a run directory"},
    {"reference", nvt_cmd_reference, "print the published numbers of a workload"},
    {"plot", nvt_cmd_plot, "draw charts of a run, of a trace, or of what has changed"},
    {"report", nvt_cmd_report, "write a document of runs and traces, or of what has changed"},
    {"view", nvt_cmd_view, "show traces as a timeline in a browser, without the internet"},
    {"top", nvt_cmd_top, "show where the time goes in a terminal, also while it is recorded"},
    {"export", nvt_cmd_export, "convert a trace for other tools: Perfetto, nsys, Parquet, CSV"},
    {"sql", nvt_cmd_sql, "answer SQL over traces, reports, findings and runs"},
    {"check", nvt_cmd_check, "check claims about traces: do their numbers hold?"},
    {"mcp", nvt_cmd_mcp, "serve traces to an agent over the Model Context Protocol"},
    {"env", nvt_cmd_env, "let a job be recorded later: variables for its script"},
    {"ctl", nvt_cmd_ctl, "list running recordings; start, stop, mark and copy them"},
    {"info", nvt_cmd_info, "show build options and detected CUDA components"},
};

#define COMMANDS NVT_COUNT_OF(commands)

static void usage(FILE *out)
{
    fputs("nvtally, a profiler for CUDA programs: where did time and memory go?\n\n"
          "usage: nvtally COMMAND [OPTIONS] …      nvtally COMMAND --help\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s%s\n", commands[i].name, commands[i].about,
                commands[i].run == nvt_cmd_run && !nvt_has_workloads ? " (not in this build)" : "");
    fputs("\nFirst steps:\n"
          "  nvtally record --python -o t.nvt train.py      then    nvtally stats t.nvt\n"
          "  nvtally diagnose t.nvt                         why is it slow?\n",
          out);
    if (nvt_has_workloads)
        fputs("  nvtally run fragmented --size 256 -o out       then    nvtally plot out\n", out);
}

static int fail_unknown(const char *name)
{
    struct nvt_suggestion suggestion = {.name = name};
    char hint[64];
    for (size_t i = 0; i < COMMANDS; i++)
        nvt_suggest(&suggestion, commands[i].name);
    nvt_message(stderr, "no command '%s'%s; 'nvtally --help' lists them", name,
                nvt_suggestion_text(&suggestion, hint, sizeof(hint)));
    return 2;
}

/* Whether several processes that a launcher of MPI started share a command: its files (input/shared_reading.h). */
static int is_shared(const char *name)
{
    static const char *const names[] = {"stats", "diagnose", "report", "export"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        if (!strcmp(name, names[i]))
            return 1;
    return 0;
}

/* Only the first one prints. 0, or -1 with err: the processes do not reach each other. */
static int share(int argc, char **argv, struct nvt_error *err)
{
    if (!is_shared(argv[0]))
        return 0;
    if (nvt_job_begin(argc, argv, err))
        return -1;
    const int is_other = nvt_job_rank() > 0;
    const int nowhere = is_other ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
    return 0;
}

static int run_shared(const struct nvt_command *command, int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const int shared = share(argc, argv, &err);
    if (shared < 0 && *err.message)
        (void)nvt_message_error(stderr, &err);
    if (shared)
        return 2;
    const int status = command->run(argc, argv);
    nvt_readings_leave();
    return status;
}

static int run_command(int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_thread_count_check(&err))
        return nvt_message_error(stderr, &err);
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[0], commands[i].name))
            return run_shared(&commands[i], argc, argv);
    return fail_unknown(argv[0]);
}

static int is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return !strcmp(text, a) || !strcmp(text, b) || !strcmp(text, c);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (argc > 2 && !strcmp(argv[1], "help")) {
        char *ask[] = {argv[2], "--help", NULL};
        return run_command(2, ask);
    }
    if (is_one_of(argv[1], "--help", "-h", "help")) {
        usage(stdout);
        return 0;
    }
    if (is_one_of(argv[1], "--version", "-v", "version")) {
        printf("nvtally %s\n", NVT_VERSION);
        return 0;
    }
    return run_command(argc - 1, argv + 1);
}

/* A standard stream that was closed has its number taken, so that no file or pipe of ours is mistaken for it: reads and
 * writes still fail. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            /* cppcheck-suppress leakReturnValNotUsed ; held until the process ends */
            (void)open("/", O_PATH | O_CLOEXEC);
}

/* What could not be written to stdout is no success of any command. One that failed has said why. */
int main(int argc, char **argv)
{
    static char buffer[1 << 16]; /* what fits is written at the end: there, errno says why not */
    hold_streams();
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* as it is, otherwise */
    int status = run(argc, argv);
    errno = 0;
    if (!(fflush(stdout) || ferror(stdout)) || status == 2)
        return status;
    /* Where the write failed long before, its reason is forgotten. */
    nvt_message(stderr, "stdout: cannot be written%s%s", errno ? ": " : "",
                errno ? strerror(errno) : "");
    return 2;
}
