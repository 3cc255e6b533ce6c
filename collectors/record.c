/*
 * The command `record`.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/cpu_coverage.h"
#include "../lib/create_file.h"
#include "../lib/gpu_counters.h"
#include "../lib/hardware_counters.h"
#include "../lib/people.h"
#include "../lib/program.h"
#include "../lib/shell.h"
#include "../lib/trace_file.h"
#include "../lib/wrap.h"
#include "../lib/text.h"
#include "levels.h"
#include "output_name.h"
#include "program_file.h"
#include "python_command.h"
#include "rank_output.h"
#include "record_options.h"
#include "unrecorded.h"

/* The longest command line of ours that is kept. */
enum { RECORD_BYTES_MAX = 4096 };

static int is_python(const char *command)
{
    const char *name = nvt_file_name(command);
    return !strncmp(name, "python", 6) || nvt_has_ending(name, ".py");
}

/* Of a program that has kernels, only where ranges can be had for it. What would show more is named as far as it was not on. */
static void report_no_ranges(const struct nvt_record_request *request,
                             const struct nvt_record_result *result)
{
    char levels[32];
    nvt_levels_host(request->options.trace, levels, sizeof(levels));
    if (request->wants_pytorch)
        nvt_message(stderr, "no PyTorch calls were recorded: the command did not use PyTorch, or "
                            "Python ignored PYTHONPATH (-E, -I, -S)");
    else if (request->options.is_dormant && result->joined)
        nvt_message(stderr, "no range began or ended while recording was under way, and what was "
                            "open before it began is not known");
    else if (is_python(request->command[0]) && *levels)
        nvt_message(stderr, "no NVTX calls were recorded; --python records what the command runs "
                            "and waits for, and PyTorch's ranges if it uses PyTorch");
    else if (!result->used_devices)
        nvt_message(stderr,
                    "no NVTX calls were recorded (the program must use NVTX, be dynamically "
                    "linked, and inherit nvtally's environment)%s%s%s",
                    *levels ? "; --trace nvtx," : "", levels,
                    *levels ? " shows what it runs and waits for" : "");
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
                    "%" PRIu64 " event%s lost: %" PRIu64 " at full buffers, %" PRIu64
                    " could not be written, %" PRIu64 " of threads without a buffer, %" PRIu64
                    " in signal handlers",
                    lost, lost == 1 ? " was" : "s were", result->dropped, result->unwritten,
                    result->homeless, result->nested);
    if (result->homeless && result->scarce)
        nvt_message(stderr,
                    "a thread gets no buffer where the container's memory limit (%" PRIu64
                    " MiB) leaves less than 192 KiB, or the buffers have a quarter of it: raise "
                    "the limit",
                    result->scarce >> 20);
    else if (result->homeless && result->is_removed)
        nvt_message(stderr, "a thread gets no buffer once the recording's folder was removed");
    else if (result->homeless && result->refusals && result->refusal.has_joined)
        nvt_message(stderr,
                    "%s (process %d) changed its user after it had joined the recording: threads "
                    "that began to record after that have no buffer. Record the program as that "
                    "user from the start",
                    *result->refusal.name ? result->refusal.name : "a process",
                    (int)result->refusal.pid);
    else if (result->homeless)
        nvt_message(
            stderr,
            "a thread gets no buffer if there is no room for 24 KiB (/dev/shm or "
            "NVTALLY_TMPDIR full, a limit on file sizes) or no descriptor is left, or if it "
            "runs as another user: set NVTALLY_TMPDIR to another folder");
    else if (result->dropped && result->scarce)
        nvt_message(stderr,
                    "buffers stayed small, as the container's memory limit (%" PRIu64
                    " MiB) left no more: raise the limit, or record less",
                    result->scarce >> 20);
    if (result->unread)
        nvt_message(
            stderr, "the buffer%s of %d thread%s lost, as record could not read %s: %s%s",
            result->unread == 1 ? "" : "s", result->unread, result->unread == 1 ? " is" : "s are",
            result->unread == 1 ? "it" : "them", strerror(result->unread_cause),
            result->unread_cause == ENOMEM ? " (a limit of address space, ulimit -v, or of memory)"
                                           : "");
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
        snprintf(others, sizeof(others), ", %" PRIu64 " device record%s", result->device_records,
                 result->device_records == 1 ? "" : "s");
    if (options->trace & NVT_TRACE_OSRT)
        snprintf(others + strlen(others), sizeof(others) - strlen(others),
                 ", %" PRIu64 " OS call%s", os_calls, os_calls == 1 ? "" : "s");
    if (options->trace & NVT_TRACE_CPU)
        snprintf(others + strlen(others), sizeof(others) - strlen(others),
                 ", %" PRIu64 " CPU sample%s", cpu_samples, cpu_samples == 1 ? "" : "s");
    nvt_message(stderr, "%" PRIu64 " event%s of %u thread%s in %u process%s%s: %s",
                result->events * all, result->events * all == 1 ? "" : "s", result->threads,
                result->threads == 1 ? "" : "s", result->processes,
                result->processes == 1 ? "" : "es", others, options->output);
}

/* Who asked for the session and could not join it. Whether anybody did. */
static int report_refusals(const struct nvt_record_result *result)
{
    const struct nvt_refusal *first = &result->refusal;
    char others[48] = "", why[400];
    if (!result->refusals || first->has_joined)
        return result->refusals != 0;
    if (result->refusals > 1)
        snprintf(others, sizeof(others), ", and %d more,", result->refusals - 1);
    if (first->cause == ENOENT || first->cause == ENOTDIR)
        snprintf(why, sizeof(why),
                 "%s is not there in its mount namespace (a container?). Set NVTALLY_TMPDIR to a "
                 "folder that both see",
                 result->folder);
    else if (first->cause == EACCES || first->cause == EPERM)
        snprintf(why, sizeof(why), "it runs as another user");
    else if (first->cause == EPROTO)
        snprintf(why, sizeof(why), "another version of nvtally is injected there");
    else
        snprintf(why, sizeof(why), "%s: %s", result->folder, strerror(first->cause));
    nvt_message(stderr, "%s (process %d)%s could not join the recording: %s",
                *first->name ? first->name : "a process", (int)first->pid, others, why);
    return 1;
}

/* Who could not load the collector, also where others did. Whether anybody was seen, and that is why nothing was recorded. */
static int report_outsiders(const struct nvt_record_result *result)
{
    char found[PATH_MAX], library[PATH_MAX];
    if (*result->unaware)
        nvt_message(stderr,
                    "not recorded, as it began without nvtally's environment (sudo, env -i, "
                    "env={}, a container?): %s. Record what it starts (sudo nvtally record …), or "
                    "keep the environment (sudo -E)",
                    result->unaware);
    if (!*result->outsiders)
        return *result->unaware && !result->events;
    const int is_known = !nvt_find_library("libnvtally-inject.so", found, sizeof(found), NULL) &&
                         realpath(found, library);
    if (is_known)
        *strrchr(library, '/') = 0;
    nvt_message(stderr,
                "not recorded, as nvtally's libraries are not in its root folder (a container?): "
                "%s. Make %s and NVTALLY_TMPDIR or /dev/shm visible there, at the same paths",
                result->outsiders, is_known ? library : "their folder");
    return !result->events;
}

/* Of a window in which nothing came. Whether that was it. */
static int report_window(const struct nvt_record_options *options,
                         const struct nvt_record_result *result)
{
    char delay[64] = "", duration[64] = "";
    if ((!options->delay_ns && !options->duration_ns) ||
        result->events + result->os_calls + result->cpu_samples + result->device_records)
        return 0;
    if (options->delay_ns)
        snprintf(delay, sizeof(delay), "--delay %.9g", (double)options->delay_ns / 1e9);
    if (options->duration_ns)
        snprintf(duration, sizeof(duration), "%s--duration %.9g", *delay ? ", " : "",
                 (double)options->duration_ns / 1e9);
    nvt_message(stderr, "nothing was recorded, as no event came within the window (%s%s)%s", delay,
                duration,
                result->joined ? ": give another one, or none"
                               : "; nor had any process used NVTX by its end: give a later one, or "
                                 "none");
    return 1;
}

/* Whether the address space, which a process has a limit of, may be why it has no collector. */
static void report_address_space(const struct nvt_record_result *result)
{
    struct rlimit limit;
    char size[NVT_TIME_MAX];
    const int is_seen = *result->crowded != 0;
    if (!is_seen && (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY))
        return;
    nvt_binary_text(is_seen ? (double)result->address_space : (double)limit.rlim_cur, size);
    nvt_message(stderr,
                "%s%s%sthe limit of address space (ulimit -v) is %s: the collector takes 5 MiB of "
                "it, and --ring-size for each thread, and is left out where that is not free",
                is_seen ? "of " : "", result->crowded, is_seen ? ", " : "", size);
}

/* What was asked for by its name and is not there, and why that may be. */
static void report_nothing(const struct nvt_record_request *request,
                           const struct nvt_record_result *result, uint64_t lost)
{
    const struct nvt_record_options *options = &request->options;
    if (result->is_unasked) {
        nvt_message(stderr, "nothing was recorded: nobody has asked for it (nvtally ctl start)");
        return;
    }
    if (result->is_early) {
        nvt_message(stderr, "nothing was recorded: the command ended before --delay was over");
        return;
    }
    /* Where no process has joined, the reason is another one. */
    char why[PATH_MAX + 64];
    int is_told = report_no_capture(options, result) && result->threads;
    is_told |= report_refusals(result);
    is_told |= report_outsiders(result);
    if (!result->processes && !is_told &&
        nvt_program_obstacle(request->command[0], why, sizeof(why))) {
        nvt_message(stderr, "nothing of the command was recorded: %s, and it loaded no collector",
                    why);
        return;
    }
    if (*result->foreigners)
        nvt_message(stderr, "not recorded, as it is of another libc: %s", result->foreigners);
    if ((request->asked & NVT_TRACE_DEVICE) && !result->used_devices && !result->other_device_tool)
        nvt_message(stderr, "the command did not use CUDA");
    if (is_told || lost || result->unread || report_window(options, result))
        return;
    if (!result->joined)
        report_address_space(result);
    if ((request->asked & NVT_TRACE_MPI) && !result->events && !result->other_tool)
        nvt_message(stderr, "no MPI calls were recorded (MPI must be a shared library; see "
                            "nvtally-record(1) for what is recorded)");
    if ((request->asked & NVT_TRACE_NCCL) && !result->events && !result->other_tool &&
        !result->other_nccl_plugin)
        nvt_message(stderr, "NCCL said nothing (it must be 2.23 or later, and a communicator of "
                            "two ranks or more must run a collective)");
    if ((request->asked & NVT_TRACE_OSRT) && !result->os_calls)
        nvt_message(stderr, "no OS calls were recorded: none took as long as --osrt-threshold, or "
                            "the command is statically linked or drops LD_PRELOAD");
    if ((request->asked & NVT_TRACE_CPU) && !result->cpu_samples)
        nvt_message(stderr, "no CPU samples were recorded: %s",
                    nvt_cpu_coverage_note(0, result->used_ns, why, sizeof(why))
                        ? "its processes end too soon, are statically linked or drop LD_PRELOAD"
                        : "the command took too little CPU time, is statically linked or drops "
                          "LD_PRELOAD");
    /* Of a preset, what the program has of all that is enough. */
    int has_some = !request->asked && !request->wants_pytorch &&
                   result->os_calls + result->cpu_samples + result->device_records > 0;
    if ((options->trace & NVT_TRACE_NVTX) && !result->events && !result->other_tool && !has_some)
        report_no_ranges(request, result);
}

/* Why there are no GPU metrics, or not all, and what else may be in the way here. */
static void report_unsampled(const struct nvt_record_result *result)
{
    char why[384];
    const enum nvt_gpu_counters counters = nvt_gpu_counters(why, sizeof(why));
    const char *other = strchr(why, ';');
    if (counters == NVT_GPU_COUNTERS_ALLOWED && other)
        nvt_message(stderr, "GPU metrics: %s%s", result->unsampled, other);
    else
        nvt_message(stderr, "GPU metrics: %s", result->unsampled);
}

static void report(const struct nvt_record_request *request, const struct nvt_record_result *result)
{
    const struct nvt_record_options *options = &request->options;
    char text[1200];
    uint64_t lost = result->dropped + result->homeless + result->unwritten + result->nested;
    if (result->other_tool)
        nvt_message(stderr, "another tool is injected already (NVTX_INJECTION64_PATH): it was "
                            "left in place, and this trace has no NVTX events");
    if (result->other_device_tool)
        nvt_message(stderr, "another tool is injected already (CUDA_INJECTION64_PATH): it was "
                            "left in place, and this trace has no device records");
    if (result->other_nccl_plugin)
        nvt_message(stderr,
                    "NCCL has another profiler plugin already (NCCL_PROFILER_PLUGIN): it was "
                    "left in place, and this trace has nothing of nccl");
    if (result->uncounted)
        nvt_message(stderr,
                    "CPU counters are missing where the system refused getrusage or clock_gettime "
                    "(%s): a sandbox's filter of system calls, as a rule",
                    strerror(result->uncounted));
    if ((options->trace & NVT_TRACE_COUNTERS) && !nvt_hardware_counters(text, sizeof(text)))
        nvt_message(stderr, "cycles, instructions and cache misses are not counted: %s", text);
    if (*result->unsampled)
        report_unsampled(result);
    if (result->memory_kills)
        nvt_message(
            stderr, "the system killed %d process%s for memory: the limit here is %" PRIu64 " MiB",
            result->memory_kills, result->memory_kills == 1 ? "" : "es", result->limit >> 20);
    if (result->write_error.message[0])
        (void)nvt_message_error(stderr, &result->write_error);
    if (result->cut_error.message[0])
        nvt_message(stderr, "the older part of the trace could not be cut off: %s",
                    nvt_error_text(&result->cut_error, text, sizeof(text)));
    report_lost(options, result, lost);
    report_counts(options, request->asked, result);
    if (*result->budget)
        nvt_message(stderr, "--budget: %s", result->budget);
    if (*result->kept)
        nvt_message(stderr, "the trace that was there is now %s", result->kept);
    if (!is_nothing_captured(options, result) &&
        nvt_python_note(&result->python, text, sizeof(text)))
        nvt_message(stderr, "%s", text);
    if ((request->asked & NVT_TRACE_CPU || result->cpu_samples) &&
        nvt_cpu_coverage_note(result->sampled_ns, result->used_ns, text, sizeof(text)))
        nvt_message(stderr, "%s", text);
    for (const char *note = request->notes, *end; (end = strchr(note, '\n')); note = end + 1)
        nvt_message(stderr, "%.*s", (int)(end - note), note);
    report_nothing(request, result, lost);
}

static void say_who_is_left(const char *processes)
{
    nvt_message(stderr,
                "the command has ended; recording goes on for what it left: %s. Ctrl-C ends the "
                "recording (next time: --wait primary)",
                *processes ? processes : "processes without a name");
}

/* The end of --duration: `context` is the request. */
static void say_that_it_is_over(const struct nvt_record_result *result, void *context)
{
    const struct nvt_record_request *request = context;
    const int number = request->options.kill;
    char what[64] = "the command goes on";
    if (number)
        snprintf(what, sizeof(what), "the command gets signal %d (%s)", number, strsignal(number));
    nvt_message(stderr, "the recording is over, as --duration says; %s", what);
    report(request, result);
}

/* Of a signal that nobody sent through us, as a crash or the system's. */
static void report_signal(const struct nvt_record_request *request,
                          const struct nvt_record_result *result)
{
    const int number = WIFSIGNALED(result->wait_status) ? WTERMSIG(result->wait_status) : 0;
    if (number && number != result->asked && !(result->is_over && number == request->options.kill))
        nvt_message(stderr, "the command was ended by signal %d (%s)", number, strsignal(number));
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
    char why[NVT_HARDWARE_WHY_MAX];
    const char *facts[] = {"record", NULL, NULL, NULL, NULL};
    int failed = nvt_buffer_append(&line, "nvtally ", 8) || nvt_shell_join(&line, argv);
    /* What is too long is no command that could be copied. */
    if (!failed && line.size < RECORD_BYTES_MAX && !nvt_buffer_append(&line, "", 1)) {
        facts[1] = (const char *)line.data;
        options->facts = facts;
        if ((options->trace & NVT_TRACE_COUNTERS) && !nvt_hardware_counters(why, sizeof(why))) {
            facts[2] = NVT_FACT_NO_HARDWARE;
            facts[3] = why;
        }
    }
    failed =
        failed ? nvt_fail(err, "out of memory") : nvt_record_run(options, command, result, err);
    options->facts = NULL;
    nvt_buffer_free(&line);
    return failed;
}

static int fail_to_start(const struct nvt_record_request *request, int why, struct nvt_error *err)
{
    const char *command = request->command[0], *dot = strrchr(command, '.');
    char text[512];
    const int is_here = !strchr(command, '/') && !access(command, F_OK);
    if (nvt_is_python_script(command))
        nvt_fail_at(err, command, -1, "is not executable: nvtally record --python %s runs it",
                    command);
    else if (request->is_python && is_here)
        nvt_fail_at(err, command, -1,
                    "is neither a command nor a script (*.py): nvtally record --python -- python3 "
                    "%s runs it",
                    command);
    else if (is_here)
        nvt_fail_at(err, command, -1, "command not found, but there is ./%s", command);
    else if (nvt_program_lacks(command, text, sizeof(text)))
        nvt_fail_at(err, command, -1, "%s", text);
    else if (dot && !strcmp(dot, ".py"))
        nvt_fail_at(err, command, -1, "%s", strerror(why));
    else
        nvt_fail_at(err, command, -1, "%s",
                    why == ENOENT && !strchr(command, '/') ? "command not found" : strerror(why));
    return nvt_message_error(stderr, err);
}

/* The same under a name with our rank, where another recorder of the job writes the trace that was named: nvt_record_run. */
static int run_as_rank(struct nvt_record_request *request, char **argv, char output[PATH_MAX],
                       struct nvt_record_result *result, struct nvt_error *err)
{
    char *own = strstr(err->message, NVT_WRITTEN_BY_ANOTHER) ? nvt_output_of_rank(output) : NULL;
    if (!own)
        return -1;
    nvt_message(stderr, "another rank's recorder writes %s: this one writes %s", output, own);
    snprintf(output, PATH_MAX, "%s", own);
    free(own);
    *err = (struct nvt_error)NVT_ERROR_INIT;
    return run(&request->options, argv, request->command, result, err);
}

static void report_job(const char *output)
{
    char *job = nvt_rank_output_of_job(output);
    if (job)
        nvt_message(stderr, "the traces of all ranks: nvtally report %s", job);
    free(job);
}

/* Record a command, with what it is told by `argv`, and say what came of it. Returns the exit status. */
static int record(const struct nvt_record_request *given, char **argv, struct nvt_error *err)
{
    struct nvt_record_request request = *given;
    static struct nvt_record_result result; /* large for a small stack (ulimit -s) */
    static char output[PATH_MAX];
    const time_t began = time(NULL);
    if (nvt_output_name(given->options.output, output, sizeof(output), err) ||
        nvt_check_not_stdout(output, "a trace", "file", err))
        return nvt_message_error(stderr, err);
    nvt_rank_output_take(given->options.output, output);
    request.options.output = output;
    request.options.waits = say_who_is_left;
    request.options.over = say_that_it_is_over;
    request.options.context = &request;
    request.options.has_witness = 1;
    int failed = run(&request.options, argv, request.command, &result, err);
    failed = failed ? run_as_rank(&request, argv, output, &result, err) : 0;
    if (failed)
        nvt_run_unrecorded(request.command, err);
    /* Where nobody reads what we say, the status still is the command's. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (failed) {
        if (strstr(err->message, NVT_WRITTEN_BY_ANOTHER))
            nvt_output_add_hint(err);
        return nvt_message_error(stderr, err);
    }
    if (result.exec_error)
        return fail_to_start(&request, result.exec_error, err);
    nvt_rank_output_settle(output, request.options.overwrite, began);
    if (!result.is_over)
        report(&request, &result);
    report_job(output);
    report_signal(&request, &result);
    nvt_show_recording(request.options.output);
    return end_like(result.wait_status);
}

int nvt_cmd_record(int argc, char **argv)
{
    struct nvt_record_request request;
    struct nvt_error err = NVT_ERROR_INIT;
    int status = nvt_record_options_parse(argc, argv, &request, &err);
    if (status)
        return status == 1 ? 0 : nvt_message_error(stderr, &err);
    char **python = request.is_python ? nvt_python_command(request.command, &err) : NULL;
    if (request.is_python && !python)
        return nvt_message_error(stderr, &err);
    if (python)
        request.command = python;
    status = record(&request, argv, &err);
    free(python);
    return status;
}
