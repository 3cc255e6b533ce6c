#include "sweep_child.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../collectors/session.h"
#include "../lib/count_of.h"
#include "../lib/nvtx.h"
#include "../lib/program.h"

/* What our collector collects at each level. */
static const uint64_t traced[] = {
    [NVT_COLLECT_OFF] = 0,
    [NVT_COLLECT_NVTX] = NVT_TRACE_NVTX,
    [NVT_COLLECT_KERNEL] = NVT_TRACE_NVTX | NVT_TRACE_KERNEL,
    [NVT_COLLECT_FULL] = NVT_TRACE_FULL,
    [NVT_COLLECT_NSYS] = 0,
    [NVT_COLLECT_CONTROL] = 0,
};

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDING NVT_COUNT_OF(ending)

/* The signal that ends the sweep, and the processes that it is passed on to (0: none there). One that is
 * recorded by this process is not among them: the recorder passes it on. */
static volatile sig_atomic_t caught, listed[NVT_TURNS_MOST];
static struct sigaction before[ENDING];

/* --- signals ---------------------------------------------------------------------------------- */

static void catch (int number)
{
    caught = number;
    for (size_t i = 0; i < NVT_TURNS_MOST; i++)
        if (listed[i])
            kill((pid_t)listed[i], SIGTERM);
}

void nvt_signals_catch(void)
{
    struct sigaction action = {.sa_handler = catch};
    caught = 0;
    for (size_t i = 0; i < ENDING; i++)
        sigaction(ending[i], &action, &before[i]);
}

void nvt_signals_leave(void)
{
    for (size_t i = 0; i < ENDING; i++)
        sigaction(ending[i], &before[i], NULL);
}

int nvt_signals_caught(void)
{
    return caught;
}

void nvt_signals_set(int number)
{
    catch (number);
}

int nvt_signals_ended(int wait_status)
{
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    for (size_t i = 0; i < ENDING; i++)
        if (number == ending[i])
            return number;
    return 0;
}

int nvt_signals_fork(size_t place)
{
    sigset_t set, mask;
    sigemptyset(&set);
    for (size_t i = 0; i < ENDING; i++)
        sigaddset(&set, ending[i]);
    sigprocmask(SIG_BLOCK, &set, &mask);
    const pid_t parent = getpid();
    pid_t child = fork();
    int cause = errno;
    if (!child) {
        for (size_t i = 0; i < NVT_TURNS_MOST; i++)
            listed[i] = 0;
        for (size_t i = 0; i < ENDING; i++)
            (void)signal(ending[i], SIG_DFL);
        nvt_end_with_parent(parent);
    } else if (child > 0) {
        listed[place] = child;
        if (caught)
            kill(child, SIGTERM);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = cause;
    return child;
}

void nvt_signals_forget(size_t place)
{
    listed[place] = 0;
}

/* --- starting --------------------------------------------------------------------------------- */

int nvt_child_is_bare(int64_t level)
{
    return level == NVT_COLLECT_OFF || level == NVT_COLLECT_CONTROL;
}

int nvt_child_start(char *const argv[], int *wait_status, struct nvt_error *err)
{
    pid_t child = nvt_signals_fork(0);
    if (!child) {
        /* Standard output is for results, and nsys writes there what it does. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0)
        return nvt_fail(err, "no process can be started: %s", strerror(errno));
    while (waitpid(child, wait_status, 0) < 0 && errno == EINTR)
        continue;
    nvt_signals_forget(0);
    return 0;
}

static int start_recorded(const struct nvt_child *run, char *const argv[],
                          struct nvt_child_end *end, struct nvt_error *err)
{
    char text[1200];
    const char *const facts[] = {
        "backend",  run->sweep->backend.name,   "device",        run->sweep->backend.device,
        "workload", run->sweep->axes->workload, "configuration", run->configuration->text,
        NULL};
    struct nvt_record_options options = NVT_RECORD_OPTIONS_INIT;
    struct nvt_record_result recorded = {0};
    options.output = run->trace;
    if (run->sweep->interleave == NVT_INTERLEAVE_HALVES)
        options.capture = NVT_NVTX_RECORDED "@nvtally";
    options.trace = traced[run->level] | (run->sweep->machine ? NVT_TRACE_MACHINE : 0u);
    options.overwrite = run->sweep->overwrite;
    options.facts = facts;
    options.ends_with_us = 1;
    options.asked = nvt_signals_caught;
    int status = nvt_record_run(&options, argv, &recorded, err);
    end->asked = recorded.asked;
    if (status)
        return -1;
    end->recorder_ns = recorded.recorder_ns;
    end->wants_device_records =
        options.trace & NVT_TRACE_DEVICE && !strcmp(run->sweep->backend.name, "cuda");
    end->device_records = (int64_t)recorded.device_records;
    /* Of a process that was not started there is no trace that could lack something. */
    if (recorded.write_error.message[0] && !recorded.exec_error)
        fprintf(stderr, "nvtally: %s\n", nvt_error_text(&recorded.write_error, text, sizeof(text)));
    if (*recorded.kept)
        fprintf(stderr, "nvtally: the trace that was there is now %s\n", recorded.kept);
    end->wait_status = recorded.wait_status;
    return recorded.exec_error
               ? nvt_fail(err, "no process can be started: %s", strerror(recorded.exec_error))
               : 0;
}

/* Under nsys, with what our own level "full" has: no sampling of the processors. */
static int start_nsys(const struct nvt_child *run, char *const argv[], int *wait_status,
                      struct nvt_error *err)
{
    enum { MOST = 32 };
    char output[4200], *under[MOST] = {(char *)run->sweep->nsys,
                                       (char *)"profile",
                                       (char *)"--trace=cuda,nvtx",
                                       (char *)"--sample=none",
                                       (char *)"--cpuctxsw=none",
                                       (char *)"--force-overwrite=true",
                                       output};
    int count = 7;
    snprintf(output, sizeof(output), "--output=%s", run->trace);
    for (int i = 0; argv[i] && count < MOST - 1; i++)
        under[count++] = argv[i];
    return nvt_child_start(under, wait_status, err);
}

void nvt_child_run(const struct nvt_child *run, struct nvt_child_end *end)
{
    const struct nvt_sweep *sweep = run->sweep;
    struct nvt_error err = NVT_ERROR_INIT;
    char numbers[6][32];
    int status;
    snprintf(numbers[0], 32, "%" PRId64, run->warmup);
    snprintf(numbers[1], 32, "%" PRId64, sweep->iterations);
    snprintf(numbers[2], 32, "%" PRIu64, sweep->seed);
    snprintf(numbers[3], 32, "%" PRIu64, sweep->memory_limit);
    snprintf(numbers[4], 32, "%" PRId64, run->place);
    snprintf(numbers[5], 32, "%" PRId64, sweep->time_limit);
    /* The child's command line: see worker.c. */
    char *argv[] = {(char *)run->self,
                    (char *)"run",
                    (char *)"--worker",
                    (char *)"run",
                    (char *)sweep->library,
                    (char *)run->result,
                    (char *)sweep->axes->workload,
                    (char *)run->configuration->text,
                    numbers[0],
                    numbers[1],
                    numbers[2],
                    numbers[3],
                    (char *)(sweep->interleave == NVT_INTERLEAVE_WITHIN   ? "1"
                             : sweep->interleave == NVT_INTERLEAVE_HALVES ? "2"
                                                                          : "0"),
                    numbers[5],
                    (char *)run->settings.data,
                    (char *)run->turns,
                    run->turns ? numbers[4] : NULL,
                    NULL};
    *end = (struct nvt_child_end){0};
    if (run->served)
        status = nvt_served_run(run->served, run->self, sweep->library, argv + 5, &end->wait_status,
                                &err);
    else if (run->level == NVT_COLLECT_NSYS)
        status = start_nsys(run, argv, &end->wait_status, &err);
    else if (nvt_child_is_bare(run->level))
        status = nvt_child_start(argv, &end->wait_status, &err);
    else
        status = start_recorded(run, argv, end, &err);
    if (status)
        nvt_error_text(&err, end->message, sizeof(end->message));
}
