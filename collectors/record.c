/*
 * The command `record`.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../lib/axis.h"
#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/create_file.h"
#include "../lib/program.h"
#include "../lib/shell.h"
#include "../lib/wrap.h"
#include "capture_wish.h"
#include "output_name.h"
#include "session.h"

static const char usage_text[] =
    "usage: nvtally record [OPTIONS] -- COMMAND [ARGUMENTS…]\n\n"
    "Runs COMMAND and records the NVTX ranges and the GPU work of it and of every\n"
    "process that it starts. COMMAND keeps its input and output, and its exit status\n"
    "is passed on.\n\n"
    "  -o, --output FILE      the trace to write (default: trace.nvt); in its name,\n"
    "                         %q{NAME} stands for an environment variable, such as a\n"
    "                         rank, %h for the host, %p for the process; a trace\n"
    "                         that is there is kept as trace.old.nvt\n"
    "  -f, --force-overwrite  write over a trace that is there\n"
    "      --trace LIST       what to record: nvtx, kernel (kernels, copies,\n"
    "                         memsets), memory, api, sync, overhead, external,\n"
    "                         graph, um (managed memory), machine (clocks, power,\n"
    "                         load beside the program), mpi, osrt (calls of the\n"
    "                         operating system that may block), cpu (samples of the\n"
    "                         functions that run on the host), or full (default:\n"
    "                         nvtx,kernel)\n"
    "      --osrt-threshold NS\n"
    "                         leave out calls of --trace osrt that take less\n"
    "                         (default: 1000)\n"
    "      --cpu-rate N       samples of --trace cpu in a second of processor time\n"
    "                         of a thread, 1 to 1000 (default: 200)\n"
    "      --capture RANGE    record only while this NVTX range is open: RANGE,\n"
    "                         RANGE@DOMAIN (or DOMAIN@RANGE), RANGE@*; /N selects\n"
    "                         the N-th of this name, from 0, and /FROM-TO several:\n"
    "                         step/100-104; or cudaProfilerApi: from\n"
    "                         cudaProfilerStart to cudaProfilerStop\n"
    "      --max-age TIME     keep only the latest part of the trace, like a flight\n"
    "                         recorder: 30s, 5min, 2h\n"
    "      --max-size SIZE    keep only the latest part, up to this size: 200M, 2G\n"
    "      --pytorch          add ranges for what PyTorch does, without changing the\n"
    "                         program: iterations, forward with its modules, loss,\n"
    "                         backward, optimizer, data\n"
    "      --ring-size SIZE   buffer of each thread, 64K to 1G (default: 1M)\n"
    "      --on-full WHAT     wait: a thread whose buffer is full waits (default);\n"
    "                         drop: it continues, and lost events are counted\n"
    "      --wait WHAT        all: record until the last descendant ends (default);\n"
    "                         primary: only until COMMAND ends\n"
    "      --level N          compression, 0 (none) to 19 (default: 1)\n"
    "      --help             this text\n\n"
    "Example:  nvtally record -o t.nvt -- python3 train.py && nvtally stats t.nvt\n";

static int complain(const char *format, const char *what)
{
    nvt_message(stderr, format, what);
    return 2;
}

static int parse_trace(const char *text, uint64_t *trace)
{
    static const struct {
        const char *name;
        uint64_t bits;
    } levels[] = {{"nvtx", NVT_TRACE_NVTX},
                  {"kernel", NVT_TRACE_KERNEL},
                  {"api", NVT_TRACE_API},
                  {"memory", NVT_TRACE_MEMORY},
                  {"sync", NVT_TRACE_SYNC},
                  {"overhead", NVT_TRACE_OVERHEAD},
                  {"external", NVT_TRACE_EXTERNAL},
                  {"graph", NVT_TRACE_GRAPH},
                  {"um", NVT_TRACE_UM},
                  {"machine", NVT_TRACE_MACHINE},
                  {"mpi", NVT_TRACE_MPI | NVT_TRACE_NVTX},
                  {"osrt", NVT_TRACE_OSRT},
                  {"cpu", NVT_TRACE_CPU},
                  {"full", NVT_TRACE_FULL | NVT_TRACE_MACHINE}};
    *trace = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ","), i = 0, count = NVT_COUNT_OF(levels);
        while (i < count &&
               (strlen(levels[i].name) != length || strncmp(at, levels[i].name, length)))
            i++;
        if (i == count)
            return -1;
        *trace |= levels[i].bits;
        at += length;
        if (*at == ',' && !*++at)
            return -1;
    }
    return *trace ? 0 : -1;
}

static int parse_level(const char *text, int *level)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > 19)
        return -1;
    *level = (int)value;
    return 0;
}

static int parse_number(const char *text, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most)
        return -1;
    *number = value;
    return 0;
}

static int parse_rate(const char *text, struct nvt_record_options *options)
{
    int64_t rate;
    if (parse_number(text, 1, 1000, &rate))
        return complain("--cpu-rate %s: must be a number of samples a second, 1 to 1000", text);
    options->cpu_period_ns = 1000000000 / rate;
    return 0;
}

/* A range is seen by its NVTX calls, the profiler's calls by CUPTI. 0, or 2. */
static int check_capture(struct nvt_record_options *options)
{
    const char *capture = options->capture;
    struct nvt_capture_wish wish;
    struct nvt_error err = NVT_ERROR_INIT;
    if (!capture)
        return 0;
    if (nvt_capture_wish_parse(capture, &wish, &err))
        return complain("%s", err.message);
    if (strcmp(wish.range, "cudaProfilerApi"))
        options->trace |= NVT_TRACE_NVTX;
    else if (wish.to != UINT64_MAX)
        return complain("--capture %s: only ranges can be selected by number", capture);
    else if (!(options->trace & NVT_TRACE_DEVICE))
        return complain("--capture %s needs --trace kernel or another level of CUDA", capture);
    return 0;
}

/* Of the options that go with a level of --trace; those that were not given get their defaults. 0, or 2. */
static int check_levels(struct nvt_record_options *options)
{
    const struct nvt_record_options defaults = NVT_RECORD_OPTIONS_INIT;
    if (options->pytorch && !(options->trace & NVT_TRACE_NVTX))
        return complain("--pytorch makes NVTX ranges: --trace must include %s", "nvtx");
    if (options->cpu_period_ns && !(options->trace & NVT_TRACE_CPU))
        return complain("%s needs --trace cpu", "--cpu-rate");
    if (options->os_threshold_ns >= 0 && !(options->trace & NVT_TRACE_OSRT))
        return complain("%s needs --trace osrt", "--osrt-threshold");
    if (!options->cpu_period_ns)
        options->cpu_period_ns = defaults.cpu_period_ns;
    if (options->os_threshold_ns < 0)
        options->os_threshold_ns = defaults.os_threshold_ns;
    return 0;
}

/* What is recorded unless --trace says otherwise: CUPTI is loaded by processes that use CUDA alone. */
#define TRACE_DEFAULT (NVT_TRACE_NVTX | NVT_TRACE_KERNEL)

/* The longest command line of ours that is kept. */
enum { RECORD_BYTES_MAX = 4096 };

enum {
    TRACE = 256,
    OSRT_THRESHOLD,
    CPU_RATE,
    CAPTURE,
    MAX_AGE,
    MAX_SIZE,
    PYTORCH,
    RING_SIZE,
    ON_FULL,
    WAIT,
    LEVEL,
    HELP
};
static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                      {"force-overwrite", no_argument, NULL, 'f'},
                                      {"trace", required_argument, NULL, TRACE},
                                      {"osrt-threshold", required_argument, NULL, OSRT_THRESHOLD},
                                      {"cpu-rate", required_argument, NULL, CPU_RATE},
                                      {"capture", required_argument, NULL, CAPTURE},
                                      {"max-age", required_argument, NULL, MAX_AGE},
                                      {"max-size", required_argument, NULL, MAX_SIZE},
                                      {"pytorch", no_argument, NULL, PYTORCH},
                                      {"ring-size", required_argument, NULL, RING_SIZE},
                                      {"on-full", required_argument, NULL, ON_FULL},
                                      {"wait", required_argument, NULL, WAIT},
                                      {"level", required_argument, NULL, LEVEL},
                                      {"help", no_argument, NULL, HELP},
                                      {NULL, 0, NULL, 0}};

/* Rounded down to a power of two. 0 or -1. */
static int parse_ring(const char *text, uint64_t *bytes)
{
    if (nvt_axis_bytes(text, 1u << 30, bytes) || *bytes < 65536)
        return -1;
    while (*bytes & (*bytes - 1))
        *bytes &= *bytes - 1;
    return 0;
}

/* Of --max-age, --max-size, --osrt-threshold, --cpu-rate. 0, or 2. */
static int parse_limit(int option, const char *text, struct nvt_record_options *options)
{
    struct nvt_retain_limits *limits = &options->keep;
    if (option == CPU_RATE)
        return parse_rate(text, options);
    if (option == OSRT_THRESHOLD)
        return parse_number(text, 0, 1000000000000, &options->os_threshold_ns)
                   ? complain("--osrt-threshold %s: must be a number of ns, at most 10^12", text)
                   : 0;
    if (option == MAX_AGE)
        return nvt_axis_duration(text, &limits->age_ns)
                   ? complain("--max-age %s: must be a time such as 500ms, 30s, 5min or 2h", text)
                   : 0;
    return nvt_axis_bytes(text, UINT64_C(1) << 50, &limits->bytes) || limits->bytes < 65536
               ? complain("--max-size %s: must be a size from 64K on, such as 200M or 2G", text)
               : 0;
}

/* 0 to go on, 1 when --help was answered, 2 when the usage was wrong. What was not given stays as it is. */
static int parse_options(int argc, char **argv, struct nvt_record_options *options)
{
    opterr = 0;
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, "+:o:fh", longs, NULL)) != -1;) {
        switch (option) {
        case 'o':
            options->output = optarg;
            break;
        case 'f':
            options->overwrite = 1;
            break;
        case TRACE:
            if (parse_trace(optarg, &options->trace))
                return complain("--trace %s: the list may hold nvtx, kernel, memory, api, sync, "
                                "overhead, external, graph, um, machine, mpi, osrt, cpu, full",
                                optarg);
            break;
        case CAPTURE:
            options->capture = optarg;
            break;
        case OSRT_THRESHOLD:
        case CPU_RATE:
        case MAX_AGE:
        case MAX_SIZE:
            if (parse_limit(option, optarg, options))
                return 2;
            break;
        case PYTORCH:
            options->pytorch = 1;
            break;
        case RING_SIZE:
            if (parse_ring(optarg, &options->ring_bytes))
                return complain("--ring-size %s: must be from 64K to 1G", optarg);
            break;
        case ON_FULL:
            if (strcmp(optarg, "wait") && strcmp(optarg, "drop"))
                return complain("--on-full %s: must be wait or drop", optarg);
            options->on_full = *optarg == 'd' ? NVT_ON_FULL_DROP : NVT_ON_FULL_WAIT;
            break;
        case WAIT:
            if (strcmp(optarg, "all") && strcmp(optarg, "primary"))
                return complain("--wait %s: must be all or primary", optarg);
            options->wait_for_all = *optarg == 'a';
            break;
        case LEVEL:
            if (parse_level(optarg, &options->level))
                return complain("--level %s: must be from 0 to 19", optarg);
            break;
        case HELP:
        case 'h':
            fputs(usage_text, stdout);
            return 1;
        case ':':
            return complain("%s needs a value; see nvtally record --help", argv[optind - 1]);
        default:
            return complain("unknown option %s; see nvtally record --help", argv[optind - 1]);
        }
    }
    return optind < argc ? 0
                         : complain("record needs a command: nvtally record -- %s", "COMMAND …");
}

/* Of a program that has kernels, only where ranges can be had for it. */
static void report_no_ranges(const struct nvt_record_options *options,
                             const struct nvt_record_result *result, const char *command)
{
    const char *slash = strrchr(command, '/');
    int is_python = !strncmp(slash ? slash + 1 : command, "python", 6);
    if (options->pytorch)
        nvt_message(stderr,
                    "nothing of PyTorch was called, or Python was told to ignore PYTHONPATH "
                    "(-E, -I, -S)");
    else if (is_python)
        nvt_message(stderr,
                    "the command made no NVTX call; if it uses PyTorch, --pytorch adds ranges");
    else if (!result->used_devices)
        nvt_message(stderr,
                    "the command made no NVTX call (an executable must use NVTX v3, must not be "
                    "linked "
                    "statically, and must get our environment)");
}

/* What else may be in the file then, nobody who reads it sees. */
static int is_nothing_captured(const struct nvt_record_options *options,
                               const struct nvt_record_result *result)
{
    return options->capture && !result->captured;
}

/* A range that was mistyped. Another tool in our place is the reason already told. Whether that was it. */
static int report_no_capture(const struct nvt_record_options *options,
                             const struct nvt_record_result *result)
{
    const char *capture = options->capture;
    if (!is_nothing_captured(options, result))
        return 0;
    if (strcmp(capture, "cudaProfilerApi") ? result->other_tool : result->other_device_tool)
        return 0;
    nvt_message(stderr, "nothing was captured: %s never began", capture);
    return 1;
}

static void report_lost(const struct nvt_record_options *options,
                        const struct nvt_record_result *result, uint64_t lost)
{
    if (lost)
        nvt_message(stderr,
                    "%" PRIu64 " events were lost: %" PRIu64 " at full buffers, %" PRIu64
                    " could not be written, %" PRIu64 " of threads without a buffer, %" PRIu64
                    " in signal handlers",
                    lost, result->dropped, result->unwritten, result->homeless, result->nested);
    if (result->homeless)
        nvt_message(
            stderr,
            "a thread has no buffer if there is no room for 64 KiB (/dev/shm or "
            "NVTALLY_TMPDIR full, a limit on file sizes), or if it runs as another user: give a "
            "smaller --ring-size, or set NVTALLY_TMPDIR to another folder");
    if (result->too_deep)
        nvt_message(stderr,
                    "ranges were nested deeper than a buffer of %" PRIu64
                    " KiB has room for, which reserves 16 bytes for the end of each: give a larger "
                    "--ring-size",
                    options->ring_bytes >> 10);
}

/* asked: as --trace had it, 0 without: of a device that was not used then nothing is said. */
static void report_counts(const struct nvt_record_options *options, uint64_t asked,
                          const struct nvt_record_result *result)
{
    char others[96] = "";
    const uint64_t all = !is_nothing_captured(options, result);
    const uint64_t os_calls = result->os_calls * all, cpu_samples = result->cpu_samples * all;
    if (asked & NVT_TRACE_DEVICE || result->used_devices)
        snprintf(others, sizeof(others), ", %" PRIu64 " device records", result->device_records);
    if (options->trace & NVT_TRACE_OSRT)
        snprintf(others + strlen(others), sizeof(others) - strlen(others),
                 ", %" PRIu64 " OS call%s", os_calls, os_calls == 1 ? "" : "s");
    if (options->trace & NVT_TRACE_CPU)
        snprintf(others + strlen(others), sizeof(others) - strlen(others),
                 ", %" PRIu64 " CPU sample%s", cpu_samples, cpu_samples == 1 ? "" : "s");
    nvt_message(stderr, "%" PRIu64 " events of %u thread%s in %u process%s%s: %s",
                result->events * all, result->threads, result->threads == 1 ? "" : "s",
                result->processes, result->processes == 1 ? "" : "es", others, options->output);
}

/* What was asked for and is not there, and why that may be. */
static void report_nothing(const struct nvt_record_options *options, uint64_t asked,
                           const struct nvt_record_result *result, uint64_t lost,
                           const char *command)
{
    /* Where no process has joined, the reason is another one. */
    int is_told = report_no_capture(options, result) && result->threads;
    if ((asked & NVT_TRACE_DEVICE) && !result->used_devices && !result->other_device_tool)
        nvt_message(stderr, "the command did not use CUDA");
    if (is_told || lost)
        return;
    if ((options->trace & NVT_TRACE_MPI) && !result->events && !result->other_tool)
        nvt_message(stderr,
                    "no call of MPI was seen (MPI must be a shared library; see nvtally-record(1) "
                    "for what is recorded)");
    if ((options->trace & NVT_TRACE_OSRT) && !result->os_calls)
        nvt_message(stderr,
                    "no call of the operating system was seen: none took as long as "
                    "--osrt-threshold, or the command is linked statically or drops LD_PRELOAD");
    if ((options->trace & NVT_TRACE_CPU) && !result->cpu_samples)
        nvt_message(stderr,
                    "no sample of what ran was taken: the command took too little processor "
                    "time, or it is linked statically or drops LD_PRELOAD");
    if ((options->trace & NVT_TRACE_NVTX) && !result->events && !result->other_tool)
        report_no_ranges(options, result, command);
}

static void report(const struct nvt_record_options *options, uint64_t asked,
                   const struct nvt_record_result *result, const char *command)
{
    char text[1200];
    uint64_t lost = result->dropped + result->homeless + result->unwritten + result->nested;
    if (result->other_tool)
        nvt_message(stderr, "another tool is injected already (NVTX_INJECTION64_PATH): it was "
                            "left in place, and this trace has no NVTX events");
    if (result->other_device_tool)
        nvt_message(stderr, "another tool is injected already (CUDA_INJECTION64_PATH): it was "
                            "left in place, and this trace has no device records");
    if (result->write_error.message[0])
        nvt_message(stderr, "%s", nvt_error_text(&result->write_error, text, sizeof(text)));
    if (result->cut_error.message[0])
        nvt_message(stderr, "the part older than was to be kept could not be cut off: %s",
                    nvt_error_text(&result->cut_error, text, sizeof(text)));
    report_lost(options, result, lost);
    report_counts(options, asked, result);
    if (*result->kept)
        nvt_message(stderr, "the trace that was there is now %s", result->kept);
    if (!is_nothing_captured(options, result) &&
        nvt_python_note(&result->python, text, sizeof(text)))
        nvt_message(stderr, "%s", text);
    report_nothing(options, asked, result, lost, command);
}

/* End as the command ended, so that whoever waits for us sees the same. */
static int end_like(int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        struct rlimit none = {0, 0};
        sigset_t set;
        setrlimit(RLIMIT_CORE, &none); /* the command has dumped its own */
        /* Failing that, the code below tells the same. */
        (void)fflush(NULL);
        (void)signal(WTERMSIG(wait_status), SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, WTERMSIG(wait_status));
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        (void)raise(WTERMSIG(wait_status));
    }
    return nvt_exit_code(wait_status);
}

/* Record, and tell the trace by which command line: nvt_record_run. */
static int run(struct nvt_record_options *options, char **argv, char *const command[],
               struct nvt_record_result *result, struct nvt_error *err)
{
    struct nvt_buffer line = {0};
    const char *facts[] = {"record", NULL, NULL};
    int failed = nvt_buffer_append(&line, "nvtally ", 8) || nvt_shell_join(&line, argv);
    /* What is too long is no command that could be copied. */
    if (!failed && line.size < RECORD_BYTES_MAX && !nvt_buffer_append(&line, "", 1)) {
        facts[1] = (const char *)line.data;
        options->facts = facts;
    }
    failed =
        failed ? nvt_fail(err, "out of memory") : nvt_record_run(options, command, result, err);
    options->facts = NULL;
    nvt_buffer_free(&line);
    return failed;
}

int nvt_cmd_record(int argc, char **argv)
{
    struct nvt_record_options options = NVT_RECORD_OPTIONS_INIT;
    struct nvt_record_result result;
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1200], output[PATH_MAX];
    options.output = "trace.nvt";
    options.trace = 0;
    options.cpu_period_ns = 0;
    options.os_threshold_ns = -1;
    int status = parse_options(argc, argv, &options);
    if (status)
        return status == 1 ? 0 : 2;
    uint64_t asked = options.trace;
    options.trace = asked ? asked : TRACE_DEFAULT;
    if (check_capture(&options) || check_levels(&options))
        return 2;
    if (nvt_output_name(options.output, output, sizeof(output), &err) ||
        nvt_check_not_stdout(output, "a trace", "file", &err)) {
        nvt_message(stderr, "%s", nvt_error_text(&err, text, sizeof(text)));
        return 2;
    }
    options.output = output;
    char **command = argv + optind;
    int failed = run(&options, argv, command, &result, &err);
    /* Where nobody reads what we say, the status still is the command's. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (failed) {
        nvt_message(stderr, "%s", nvt_error_text(&err, text, sizeof(text)));
        return 2;
    }
    if (result.exec_error) {
        const char *why = result.exec_error == ENOENT && !strchr(command[0], '/')
                              ? "command not found"
                              : strerror(result.exec_error);
        nvt_fail_at(&err, command[0], -1, "%s", why);
        nvt_message(stderr, "%s", nvt_error_text(&err, text, sizeof(text)));
        return 2;
    }
    report(&options, asked, &result, command[0]);
    return end_like(result.wait_status);
}
