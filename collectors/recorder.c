#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/program.h"
#include "../lib/cpu_coverage.h"
#include "../lib/wrap.h"
#include "budget_follow.h"
#include "children.h"
#include "facts.h"
#include "launch.h"
#include "live.h"
#include "levels.h"
#include "machine_sampler.h"
#include "memory_groups.h"
#include "outsiders.h"
#include "program_file.h"
#include "recorder.h"
#include "record_window.h"

/* Calls of the operating system's libraries from this length on have their stack taken, once for so much time in such calls: taking
 * one costs 20 to 50 us. */
#define WHERE_LEAST_NS 1000000
#define WHERE_EVERY_NS 10000000

/* After that time somebody may take a recording that goes on for one that hangs. */
#define LEFT_NS      1000000000
#define DUMP_LOOK_NS 2000000

/* Reap what has ended. Returns whether recording goes on. */
static int children_left(const struct nvt_launch *launch, int wait_for_all,
                         const struct nvt_children *others, int *command_ended, int *wait_status)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == launch->pid) {
            *command_ended = 1;
            nvt_launch_ended();
            *wait_status = status;
        }
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return 0;
        if (pid)
            continue;
        if (!*command_ended || !wait_for_all || nvt_launch_is_enough())
            return !*command_ended;
        const int are_new = nvt_children_are_new(others);
        /* Where that cannot be told, it can without the witness: the system says when there is no child. */
        if (are_new >= 0 || !nvt_launch_without_witness())
            return are_new != 0;
    }
}

/* Processor time of this process, all its threads, in ns. */
static int64_t own_time(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used))
        return 0;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* The first error is the one that is told. */
static void note_error(struct nvt_recorder *recorder, const struct nvt_error *err)
{
    if (!recorder->totals.error.message[0])
        recorder->totals.error = *err;
}

static struct nvt_machine *start_machine(struct nvt_recorder *recorder, uint64_t trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_machine *machine = trace & (NVT_TRACE_MACHINE | NVT_TRACE_PROCESS)
                                      ? nvt_machine_start(recorder->clock, trace, &err)
                                      : NULL;
    if (err.message[0])
        note_error(recorder, &err);
    return machine;
}

static void write_machine(struct nvt_recorder *recorder, struct nvt_machine *machine, int is_end)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (machine && (is_end ? nvt_machine_stop(machine, recorder->output, &err)
                           : nvt_machine_write(machine, recorder->output, 0, &err)))
        note_error(recorder, &err);
}

/* What the command has left goes on: that is said once. `since`: when it was first seen, 0. */
static void note_left(const struct nvt_record_options *options, const struct nvt_children *others,
                      int64_t *since)
{
    char text[256];
    const int64_t now = nvt_monotonic_ns();
    if (!*since)
        *since = now;
    if (*since == INT64_MAX || now - *since < LEFT_NS)
        return;
    *since = INT64_MAX;
    if (options->waits)
        options->waits(nvt_children_text(others, text, sizeof(text)));
}

/* Whoever cleans up temporary files may remove the session's folder: that is said once, when it is seen. */
static void note_removal(const struct nvt_recorder *recorder, int *is_said)
{
    if (!recorder->is_removed || *is_said)
        return;
    *is_said = 1;
    nvt_message(stderr,
                "%s was removed: processes%s that begin from now on are not recorded, and nvtally "
                "ctl cannot reach this recording",
                recorder->folder, access(recorder->folder, F_OK) ? " and threads" : "");
}

/* A command that is being recorded. */
struct run {
    const struct nvt_record_options *options;
    struct nvt_recorder *recorder;
    struct nvt_launch *launch;
    char *const *argv;           /* the command */
    struct nvt_machine *machine; /* NULL: not sampled, or not yet */
    struct nvt_record_window window;
    struct nvt_live live;
    struct nvt_trigger *trigger;
    struct nvt_attend *attend; /* NULL: nobody asks from elsewhere */
    struct nvt_budget_follow budget;
    struct nvt_children others;
    struct nvt_outsiders outsiders;
    sigset_t hearing;
    int command_ended;
    struct nvt_record_result *result;
};

/* The machine is sampled within the window. */
static void follow_machine(struct run *run, int *is_started)
{
    struct nvt_recorder *recorder = run->recorder;
    const int is_wanted = atomic_load(&recorder->control->window) != NVT_WINDOW_BEFORE;
    if (*is_started && !is_wanted)
        write_machine(recorder, run->machine, 1);
    if (is_wanted != *is_started)
        run->machine = is_wanted ? start_machine(recorder, run->options->trace) : NULL;
    *is_started = is_wanted;
    if (run->machine)
        nvt_machine_follow(run->machine, &recorder->owners);
    write_machine(recorder, run->machine, 0);
}

/* What the processes do from now on is of no interest. */
static void end_session(struct nvt_recorder *recorder, struct nvt_record_result *result)
{
    atomic_store(&recorder->control->ended, 1);
    nvt_recorder_look(recorder);
    recorder->waiting = 0;
    nvt_recorder_adopt(recorder);
    if (recorder->waiting) /* for lack of memory, it may be */
        nvt_recorder_adopt(recorder);
    result->unread = recorder->waiting ? nvt_recorder_missing(recorder) : 0;
    result->unread_cause = recorder->unread_cause ? recorder->unread_cause : ENOMEM;
    nvt_recorder_close_ended(recorder, 0); /* before those that live on, also by their times */
    nvt_recorder_close_ended(recorder, 1);
}

static void follow_trigger(struct run *run, int *is_exit_seen)
{
    nvt_trigger_look(run->trigger);
    if (run->command_ended && !*is_exit_seen)
        nvt_trigger_exit(run->trigger, run->result->wait_status);
    *is_exit_seen = run->command_ended;
}

/* A dump that has begun asks for what there is. */
static void finish_dumps(struct run *run)
{
    while (nvt_trigger_look(run->trigger)) {
        nvt_live_serve(&run->live);
        nanosleep(&(struct timespec){.tv_nsec = DUMP_LOOK_NS}, NULL);
    }
    nvt_trigger_end(run->trigger);
}

static void record_until_end(struct run *run)
{
    struct nvt_recorder *recorder = run->recorder;
    struct nvt_record_result *result = run->result;
    const struct nvt_record_options *options = run->options;
    int64_t left_since = 0, start = own_time();
    uint64_t taken;
    int has_machine = 0, is_exit_seen = 0, is_removal_said = 0;
    nvt_launch_listen(run->launch, recorder->control, &run->hearing);
    nvt_record_window_begin(&run->window, recorder->control, options->delay_ns,
                            options->duration_ns);
    nvt_live_begin(&run->live, recorder, &run->window, options->output, run->argv);
    nvt_attend_begin(run->attend, recorder->folder);
    run->trigger =
        nvt_trigger_begin(&options->trigger, recorder->folder, recorder->control,
                          nvt_output_ticks(recorder->output, recorder->clock, 1000000000));
    while (children_left(run->launch, options->wait_for_all, &run->others, &run->command_ended,
                         &result->wait_status)) {
        result->is_over = nvt_record_window_look(&run->window, recorder->control, recorder->clock);
        if (result->is_over)
            break;
        if (run->command_ended)
            note_left(options, &run->others, &left_since);
        nvt_live_serve(&run->live);
        follow_trigger(run, &is_exit_seen);
        nvt_budget_look(&run->budget, recorder, 0);
        nvt_recorder_look(recorder);
        double fullest = nvt_recorder_drain(recorder, &taken);
        nvt_recorder_housekeeping(recorder);
        note_removal(recorder, &is_removal_said);
        nvt_outsiders_look(&run->outsiders, run->launch->pid);
        follow_machine(run, &has_machine);
        recorder->is_urgent = nvt_launch_pass_on();
        recorder->wake_at = nvt_record_window_next(&run->window, recorder->control);
        nvt_recorder_sleep(recorder, fullest, &run->hearing);
    }
    follow_trigger(run, &is_exit_seen);
    finish_dumps(run);
    nvt_budget_look(&run->budget, recorder, 1);
    nvt_live_end(&run->live);
    nvt_attend_end(run->attend);
    run->attend = NULL;
    result->is_early =
        !options->is_dormant && atomic_load(&recorder->control->window) == NVT_WINDOW_BEFORE;
    result->is_unasked = options->is_dormant && !run->window.parts && !(options->budget > 0);
    if (options->budget > 0)
        nvt_budget_text(recorder->control, result->budget, sizeof(result->budget));
    result->recorder_ns = own_time() - start;
    end_session(recorder, result);
}

/* The trace is written. The command goes on, with the signals that are for it. */
static void wait_for_command(struct run *run)
{
    struct nvt_recorder *recorder = run->recorder;
    const struct nvt_record_options *options = run->options;
    const int number = run->options->kill;
    nvt_recorder_remove(recorder);
    run->result->is_over = !run->command_ended;
    if (options->over && !run->command_ended)
        options->over(run->result, options->context);
    if (number && !run->command_ended)
        kill(run->launch->pid, number);
    while (children_left(run->launch, 0, &run->others, &run->command_ended,
                         &run->result->wait_status)) {
        recorder->is_urgent = nvt_launch_pass_on();
        recorder->next_flush = recorder->wake_at = nvt_monotonic_ns() + LEFT_NS;
        nvt_recorder_sleep(recorder, 0, &run->hearing);
    }
    if (number)
        nvt_children_signal(&run->others, number);
}

/* Of how much the latest part is kept, as a fact: "60 s", "200 MiB", or both. 0, or -1 with err. */
static int keep_latest(struct nvt_output *output, const struct nvt_retain_limits *keep,
                       struct nvt_error *err)
{
    char text[64];
    int size = 0;
    if (!keep->age_ns && !keep->bytes)
        return 0;
    if (keep->age_ns)
        size = snprintf(text, sizeof(text), "%.6g s", (double)keep->age_ns / 1e9);
    if (keep->bytes)
        snprintf(text + size, sizeof(text) - (size_t)size, "%s%.6g MiB", size ? " and " : "",
                 (double)keep->bytes / (1 << 20));
    if (nvt_output_fact(output, "kept", text))
        return nvt_fail(err, "out of memory");
    return nvt_output_retain(output, keep, err);
}

/* A time of 0 is none. 0, or -1. */
static int write_seconds(struct nvt_output *output, const char *name, int64_t ns)
{
    char text[40];
    snprintf(text, sizeof(text), "%.9g s", (double)ns / 1e9);
    return ns ? nvt_output_fact(output, name, text) : 0;
}

static int set_up(struct nvt_recorder *recorder, const struct nvt_record_options *options,
                  char *const argv[], struct nvt_error *err)
{
    char levels[128];
    recorder->clock = nvt_clock_best();
    recorder->output = nvt_output_new(options->output, options->level, err);
    if (!recorder->output || (!options->overwrite && nvt_output_keep(recorder->output, err)) ||
        nvt_recorder_folder(recorder, err) || nvt_recorder_control(recorder, options, err))
        return -1;
    nvt_recorder_watch(recorder);
    if (options->trace & NVT_TRACE_CPU)
        nvt_output_take_samples(recorder->output);
    nvt_levels_text(options->trace, levels, sizeof(levels));
    snprintf(levels + strlen(levels), sizeof(levels) - strlen(levels), "%s",
             options->pytorch ? ",pytorch" : "");
    if (nvt_facts_write(recorder->output, options->facts, argv, recorder->clock) ||
        nvt_output_fact(recorder->output, "trace", levels) ||
        (options->capture && nvt_output_fact(recorder->output, "capture", options->capture)) ||
        (options->is_dormant && nvt_output_fact(recorder->output, "recorded", "0 parts, 0 s")) ||
        write_seconds(recorder->output, "delay", options->delay_ns) ||
        write_seconds(recorder->output, "duration", options->duration_ns))
        return nvt_fail(err, "out of memory");
    if (keep_latest(recorder->output, &options->keep, err))
        return -1;
    if (nvt_recorder_axis(recorder, err))
        return -1;
    nvt_counter_wish_put(options->has_counters ? &options->counters : NULL, recorder->control);
    if (nvt_counter_wish_facts(recorder->control, recorder->output))
        return nvt_fail(err, "out of memory");
    recorder->control->cpu_period_ns = (uint64_t)options->cpu_period_ns;
    memcpy(recorder->control->metrics, options->metrics.names, sizeof(options->metrics.names));
    recorder->control->metrics_hz = options->metrics.hz;
    recorder->control->counts_ranges = options->counters_of != NULL;
    recorder->control->os_threshold =
        nvt_output_ticks(recorder->output, recorder->clock, options->os_threshold_ns);
    nvt_budget_prepare(recorder, options->budget);
    recorder->control->slow_percent = options->trigger.slow_percent;
    recorder->control->slow_ticks =
        nvt_output_ticks(recorder->output, recorder->clock, options->trigger.slow_ns);
    recorder->control->where_least =
        options->trace & NVT_TRACE_CPU
            ? nvt_output_ticks(recorder->output, recorder->clock, WHERE_LEAST_NS)
            : UINT64_MAX;
    recorder->control->where_every =
        nvt_output_ticks(recorder->output, recorder->clock, WHERE_EVERY_NS);
    return 0;
}

static void finish(struct nvt_recorder *recorder, struct nvt_record_result *result)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_drain_totals *totals = &recorder->totals;
    nvt_output_clock(recorder->output, recorder->clock, NULL);
    nvt_output_cut_all(recorder->output, recorder->clock, &result->cut_error);
    result->events = totals->events;
    result->device_records = totals->device_records;
    result->os_calls = totals->os_calls;
    result->cpu_samples = totals->cpu_samples;
    result->python = totals->python;
    result->used_devices = totals->batches > 0;
    result->dropped = totals->dropped;
    result->too_deep = totals->too_deep;
    result->nested = totals->nested;
    result->unwritten = totals->unwritten;
    result->waited_ns = totals->waited_ns;
    result->captured = atomic_load(&recorder->control->captured) != 0;
    result->joined = atomic_load(&recorder->control->joined);
    result->is_removed = recorder->is_removed;
    result->homeless = atomic_load(&recorder->control->homeless);
    result->uncounted = (int)atomic_load(&recorder->control->uncounted);
    if (atomic_load(&recorder->control->unsampled) == 2)
        snprintf(result->unsampled, sizeof(result->unsampled), "%.*s",
                 (int)sizeof(recorder->control->unsampled_why) - 1,
                 recorder->control->unsampled_why);
    result->scarce = atomic_load(&recorder->control->scarce);
    result->processes = nvt_output_processes(recorder->output);
    result->threads = nvt_output_threads(recorder->output) - totals->device_threads;
    result->write_error = totals->error;
    result->refusals = nvt_recorder_refusals(recorder, &result->refusal);
    snprintf(result->folder, sizeof(result->folder), "%s", recorder->folder);
    uint64_t lost = result->dropped + result->nested + result->unwritten + result->homeless;
    result->bytes = nvt_output_size(recorder->output);
    const char *kept = nvt_output_kept(recorder->output);
    snprintf(result->kept, sizeof(result->kept), "%s", kept ? kept : "");
    if (nvt_output_close(recorder->output, result->wait_status, lost, &err) &&
        !result->write_error.message[0])
        result->write_error = err;
}

/* CPU time of the processes that have ended, and were waited for. */
static int64_t children_time(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used))
        return 0;
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * INT64_C(1000000000) +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * INT64_C(1000);
}

/* Where samples of all of it were wanted, how much CPU time there was. */
static void note_coverage(struct run *run, int64_t before_ns)
{
    const struct nvt_record_options *options = run->options;
    struct nvt_record_result *result = run->result;
    if (!(options->trace & NVT_TRACE_CPU) || options->capture || options->delay_ns ||
        options->is_dormant || options->duration_ns || options->keep.age_ns || options->keep.bytes)
        return;
    result->sampled_ns = (int64_t)run->recorder->totals.sampled_ns;
    result->used_ns = children_time() - before_ns;
    if (write_seconds(run->recorder->output, NVT_CPU_USED, result->used_ns))
        note_error(run->recorder, &(struct nvt_error){.message = "out of memory"});
}

static struct nvt_launch_wish wish_of(const struct nvt_record_options *options)
{
    return (struct nvt_launch_wish){.devices = (options->trace & NVT_TRACE_DEVICE) != 0,
                                    .mpi = (options->trace & NVT_TRACE_MPI) != 0,
                                    .nccl = (options->trace & NVT_TRACE_NCCL) != 0,
                                    .os = (options->trace & NVT_TRACE_OSRT) != 0,
                                    .cpu = (options->trace & NVT_TRACE_CPU) != 0,
                                    .pytorch = options->pytorch,
                                    .ends_with_us = options->ends_with_us};
}

/* Record from the command's start to its end, or to that of the window. */
static void record(struct run *run, const struct nvt_memory_groups *groups)
{
    struct nvt_record_result *result = run->result;
    const uint64_t kills = nvt_memory_groups_kills(groups);
    const int64_t before_ns = children_time();
    /* The command runs: from now on there is a new trace. */
    nvt_output_begin(run->recorder->output, &run->recorder->totals.error);
    record_until_end(run);
    write_machine(run->recorder, run->machine, 1);
    result->limit = groups->limit;
    result->memory_kills = (int)(nvt_memory_groups_kills(groups) - kills);
    nvt_outsiders_text(&run->outsiders.of_another_libc, result->foreigners,
                       sizeof(result->foreigners));
    nvt_outsiders_text(&run->outsiders.without_us, result->outsiders, sizeof(result->outsiders));
    nvt_outsiders_text(&run->outsiders.unaware, result->unaware, sizeof(result->unaware));
    nvt_outsiders_text(&run->outsiders.crowded, result->crowded, sizeof(result->crowded));
    result->address_space = run->outsiders.address_space;
    note_coverage(run, before_ns);
    finish(run->recorder, result);
    if (result->is_over)
        wait_for_command(run);
    nvt_launch_listen_no_more();
}

int nvt_record_run(const struct nvt_record_options *options, char *const argv[],
                   struct nvt_record_result *result, struct nvt_error *err)
{
    struct nvt_recorder recorder = NVT_RECORDER_INIT;
    struct nvt_launch launch = {.pid = -1};
    struct nvt_launch_signals before;
    struct nvt_memory_groups groups;
    struct run *run = calloc(1, sizeof(*run)); /* large for a small stack (ulimit -s) */
    *result = (struct nvt_record_result){.exec_error = nvt_command_find(argv[0], NULL, 0)};
    if (!run || result->exec_error) {
        free(run);
        return result->exec_error ? 0 : nvt_fail(err, "out of memory");
    }
    run->options = options;
    run->recorder = &recorder;
    run->launch = &launch;
    run->argv = argv;
    run->result = result;
    nvt_launch_block(&before);
    nvt_launch_keep(options->trigger.signals);
    nvt_launch_ask(options->asked ? options->asked() : 0);
    nvt_children_read(&run->others);
    if (options->has_witness &&
        run->others.count >= 0) { /* or it would be taken for one that the command left */
        const pid_t witness = nvt_launch_witness(argv);
        if (witness)
            nvt_children_add(&run->others, witness);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    nvt_memory_groups_find(&groups);
    int status = nvt_attend_open(&options->attend, &run->attend, err);
    if (!status)
        status = set_up(&recorder, options, argv, err);
    const int listens = !status;
    if (listens) /* before the command runs, which may ask at once */
        nvt_ctl_listen(&run->live.server, recorder.folder);
    if (!status)
        status = nvt_launch_start(argv, recorder.folder, wish_of(options), &before, &launch, err);
    result->exec_error = launch.exec_error;
    result->other_tool = launch.other_tool;
    result->other_nccl_plugin = launch.other_nccl_plugin;
    result->other_device_tool = launch.other_device_tool;
    if (!status && !launch.exec_error)
        record(run, &groups);
    else if (recorder.output)
        nvt_output_discard(recorder.output);
    nvt_attend_end(run->attend);
    if (listens)
        nvt_ctl_close(&run->live.server);
    nvt_recorder_tear_down(&recorder);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    nvt_launch_unblock(&before);
    result->asked = nvt_launch_asked();
    free(run);
    return status;
}
