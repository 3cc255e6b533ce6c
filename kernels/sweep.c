#include "sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../collectors/session.h"
#include "../lib/create_file.h"
#include "../lib/progress.h"

const char *const nvt_collect_levels[] = {"off", "nvtx", "kernel", "full", "nsys", NULL};

/* What our collector collects at each level. */
static const uint64_t traced[] = {
    [NVT_COLLECT_OFF] = 0,
    [NVT_COLLECT_NVTX] = NVT_TRACE_NVTX,
    [NVT_COLLECT_KERNEL] = NVT_TRACE_NVTX | NVT_TRACE_KERNEL,
    [NVT_COLLECT_FULL] = NVT_TRACE_FULL,
    [NVT_COLLECT_NSYS] = 0,
};

/* The signal that ends the sweep, and the child that it is passed to (0: none, or it is recorded, and
 * then the recorder passes it on). */
static volatile sig_atomic_t caught, bare_child;

static void catch (int number)
{
    caught = number;
    if (bare_child)
        kill((pid_t)bare_child, SIGTERM);
}

/* One run: a configuration with a warm-up at a level, and where it goes. */
struct run {
    const struct nvt_sweep *sweep;
    const struct nvt_configuration *configuration;
    int64_t warmup, level, repeat; /* repeat: from 1 */
    char self[4096], result[4096], results[4096], trace[4096], trace_name[700];
    char why[600]; /* the last child ended without a result, "" when it left one */
};

static int start_bare(char *const argv[], int *wait_status, struct nvt_error *err)
{
    sigset_t ending, before;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    /* No signal may come between the child's start and the place that its number is kept in. */
    sigprocmask(SIG_BLOCK, &ending, &before);
    pid_t child = fork();
    if (!child) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        /* Standard output is for results, and nsys writes there what it does. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    bare_child = child > 0 ? child : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return nvt_fail(err, "no process can be started: %s", strerror(errno));
    while (waitpid(child, wait_status, 0) < 0 && errno == EINTR)
        continue;
    bare_child = 0;
    return 0;
}

static int start_recorded(const struct run *run, char *const argv[], int *wait_status,
                          struct nvt_error *err)
{
    char text[1200];
    const char *const facts[] = {
        "backend",  run->sweep->backend.name,   "device",        run->sweep->backend.device,
        "workload", run->sweep->axes->workload, "configuration", run->configuration->text,
        NULL};
    struct nvt_record_options options = NVT_RECORD_OPTIONS_INIT;
    struct nvt_record_result recorded = {0};
    options.output = run->trace;
    options.trace = traced[run->level];
    options.facts = facts;
    if (nvt_record_run(&options, argv, &recorded, err))
        return -1;
    if (recorded.write_error.message[0])
        fprintf(stderr, "nvtally: %s\n", nvt_error_text(&recorded.write_error, text, sizeof(text)));
    *wait_status = recorded.wait_status;
    return recorded.exec_error
               ? nvt_fail(err, "no process can be started: %s", strerror(recorded.exec_error))
               : 0;
}

/* Under nsys, with what our own level "full" has: no sampling of the processors. */
static int start_nsys(const struct run *run, char *const argv[], int *wait_status,
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
    return start_bare(under, wait_status, err);
}

/* The child's command line: see worker.c. */
static int run_child(const struct run *run, int *wait_status, struct nvt_error *err)
{
    const struct nvt_sweep *sweep = run->sweep;
    char numbers[4][32];
    snprintf(numbers[0], 32, "%" PRId64, run->warmup);
    snprintf(numbers[1], 32, "%" PRId64, sweep->iterations);
    snprintf(numbers[2], 32, "%" PRIu64, sweep->seed);
    snprintf(numbers[3], 32, "%" PRIu64, sweep->memory_limit);
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
                    NULL};
    *wait_status = 0;
    if (run->level == NVT_COLLECT_NSYS)
        return start_nsys(run, argv, wait_status, err);
    return run->level == NVT_COLLECT_OFF ? start_bare(argv, wait_status, err)
                                         : start_recorded(run, argv, wait_status, err);
}

/* Why a child's object is not ok, as it says itself; "" without a message. */
static void keep_message(const char *object, char *why, size_t size)
{
    static const char key[] = "\"message\": \"";
    const char *at = strstr(object, key);
    size_t used = 0;
    for (at = at ? at + strlen(key) : ""; *at && *at != '"' && used + 1 < size; at++) {
        if (*at == '\\' && at[1])
            at++;
        why[used++] = *at;
    }
    why[used] = 0;
}

/* The child's own object without its brace, or what became of it when it left none. */
static void put_outcome(struct nvt_json *json, struct run *run, int wait_status,
                        const char *message)
{
    char text[32768], *why = run->why;
    *why = 0;
    FILE *file = fopen(run->result, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    char *end = strrchr(text, '}');
    if (text[0] == '{' && end) {
        *end = 0;
        keep_message(text, why, sizeof(run->why));
        json->failed |= nvt_buffer_printf(json->out, ", %s", text + 1);
        return;
    }
    if (message)
        snprintf(why, sizeof(run->why), "%s", message);
    else if (WIFSIGNALED(wait_status))
        snprintf(why, sizeof(run->why), "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(why, sizeof(run->why), "exit status %d", WEXITSTATUS(wait_status));
    nvt_json_text(json, "device", run->sweep->backend.device);
    nvt_json_text(json, "status", "error");
    nvt_json_text(json, "message", why);
}

static int write_row(struct run *run, int wait_status, const char *message, struct nvt_buffer *row)
{
    const struct nvt_sweep *sweep = run->sweep;
    struct nvt_json json;
    char date[64];
    struct tm calendar;
    time_t now = time(NULL);
    int has_trace = run->level != NVT_COLLECT_OFF && !access(run->trace, R_OK);
    gmtime_r(&now, &calendar);
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &calendar); /* it fits */
    nvt_json_begin(&json, row);
    nvt_json_text(&json, "workload", sweep->axes->workload);
    nvt_axes_put(sweep->axes, run->configuration, &json);
    nvt_json_text(&json, "backend", sweep->backend.name);
    nvt_json_text(&json, "collect", nvt_collect_levels[run->level]);
    nvt_json_integer(&json, "warmup", run->warmup);
    if (sweep->repeat > 1)
        nvt_json_integer(&json, "repeat", run->repeat);
    nvt_json_integer(&json, "iterations", sweep->iterations);
    nvt_json_integer(&json, "seed", (int64_t)sweep->seed);
    if (sweep->ranks.size > 1)
        nvt_json_integer(&json, "ranks", sweep->ranks.size);
    put_outcome(&json, run, wait_status, message);
    nvt_json_text(&json, "trace", has_trace ? run->trace_name : NULL);
    nvt_json_text(&json, "date", date);
    return nvt_json_end(&json);
}

static int append(const char *path, const struct nvt_buffer *row, struct nvt_error *err)
{
    FILE *file = fopen(path, "ae");
    if (!file || fwrite(row->data, 1, row->size, file) != row->size || fflush(file) ||
        fsync(fileno(file))) {
        int cause = errno;
        if (file)
            fclose(file);
        return nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(cause));
    }
    fclose(file);
    return 0;
}

static int is_ok(const struct nvt_buffer *row)
{
    return memmem(row->data, row->size, "\"status\": \"ok\"", 14) != NULL;
}

/* "fragmented-size256-batch8-train-fragments2.nvt", with what else changes within the sweep. */
static void name_trace(struct run *run)
{
    const struct nvt_sweep *sweep = run->sweep;
    size_t levels = sweep->collect.count;
    char warmup[40] = "", level[40] = "", rank[40] = "", repeat[40] = "";
    for (size_t i = 0; i < sweep->collect.count; i++)
        levels -= sweep->collect.values[i] == NVT_COLLECT_OFF;
    if (sweep->warmup.count > 1)
        snprintf(warmup, sizeof(warmup), "-warmup%" PRId64, run->warmup);
    if (levels > 1)
        snprintf(level, sizeof(level), "-%s", nvt_collect_levels[run->level]);
    if (sweep->repeat > 1)
        snprintf(repeat, sizeof(repeat), "-repeat%" PRId64, run->repeat);
    if (sweep->ranks.size > 1)
        snprintf(rank, sizeof(rank), "-rank%d", sweep->ranks.rank);
    snprintf(run->trace_name, sizeof(run->trace_name), "%s-%s%s%s%s%s.%s", sweep->axes->workload,
             run->configuration->label, warmup, level, repeat, rank,
             run->level == NVT_COLLECT_NSYS ? "nsys-rep" : "nvt");
    snprintf(run->trace, sizeof(run->trace), "%.3000s/%s", sweep->directory, run->trace_name);
}

/* One run to one row. 0 ok, 1 not, -1 nothing can be written. */
static int run_one(struct run *run, struct nvt_error *err)
{
    struct nvt_buffer row = {0};
    struct nvt_error trouble = NVT_ERROR_INIT;
    char text[1200];
    int wait_status, status = 0;
    name_trace(run);
    unlink(run->result);
    int failed = run_child(run, &wait_status, &trouble);
    int number = !failed && WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    /* Sent by somebody who meant all of us, such as a terminal's Ctrl-C. */
    if (number == SIGINT || number == SIGTERM || number == SIGHUP)
        caught = number;
    /* Of a run over several processes all that is left counts: it may tell why one of them ended. */
    if (caught && run->sweep->ranks.size == 1) {
        unlink(run->trace);
    } else if (write_row(run, wait_status,
                         failed ? nvt_error_text(&trouble, text, sizeof(text)) : NULL, &row)) {
        status = nvt_fail(err, "out of memory");
    } else {
        if (!run->sweep->ranks.rank)
            status = append(run->results, &row, err);
        if (!status && !is_ok(&row))
            status = 1;
        if (status == 1)
            nvt_fail(err, "%s", run->why);
    }
    unlink(run->result);
    nvt_buffer_free(&row);
    return status;
}

static int prepare(struct run *run, struct nvt_error *err)
{
    const char *directory = run->sweep->directory;
    ssize_t length = readlink("/proc/self/exe", run->self, sizeof(run->self) - 1);
    if (length <= 0)
        return nvt_fail(err, "/proc/self/exe cannot be read: %s", strerror(errno));
    run->self[length] = 0;
    if (strlen(directory) > 3000)
        return nvt_fail(err, "the output folder's name is too long");
    if (mkdir(directory, 0777) && errno != EEXIST)
        return nvt_fail_at(err, directory, -1, "cannot be made: %s", strerror(errno));
    snprintf(run->result, sizeof(run->result), "%.3000s/.result-%d.json", directory,
             run->sweep->ranks.rank);
    if (run->sweep->ranks.rank)
        return 0;
    snprintf(run->results, sizeof(run->results), "%.3000s/results.jsonl", directory);
    FILE *results = nvt_create_stream(run->results);
    if (!results)
        return nvt_fail_at(err, run->results, -1, "cannot be written: %s", strerror(errno));
    fclose(results);
    return nvt_environment_write(run->sweep, err);
}

void nvt_quiet_threads(void)
{
    setenv("OMP_WAIT_POLICY", "passive", 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);
}

static int is_program(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

int nvt_sweep_find_nsys(struct nvt_sweep *sweep, const char *given, struct nvt_error *err)
{
    const char *folders = getenv("PATH");
    int asked = 0;
    for (size_t i = 0; i < sweep->collect.count; i++)
        asked |= sweep->collect.values[i] == NVT_COLLECT_NSYS;
    if (given && !is_program(given))
        return nvt_fail(err, "--nsys %s: is no program that can be run", given);
    if (!asked)
        return given ? nvt_fail(err, "--nsys is for --collect nsys") : 0;
    if (given) {
        snprintf(sweep->nsys, sizeof(sweep->nsys), "%s", given);
        return 0;
    }
    for (const char *at = folders; at && *at; at += strcspn(at, ":"), at += *at == ':') {
        snprintf(sweep->nsys, sizeof(sweep->nsys), "%.*s/nsys", (int)strcspn(at, ":"), at);
        if (is_program(sweep->nsys))
            return 0;
    }
    sweep->nsys[0] = 0;
    return nvt_fail(err, "--collect nsys: there is no nsys on PATH; give it with --nsys PATH");
}

size_t nvt_sweep_runs(const struct nvt_sweep *sweep)
{
    return sweep->count * sweep->warmup.count * (size_t)sweep->repeat * sweep->collect.count;
}

/* All runs. The number that are not ok, or -1. */
static int run_all(struct run *run, struct nvt_error *err)
{
    const struct nvt_sweep *sweep = run->sweep;
    size_t total = nvt_sweep_runs(sweep), levels = sweep->collect.count;
    size_t repeats = (size_t)sweep->repeat, warmups = sweep->warmup.count;
    struct nvt_progress progress;
    int not_ok = 0, status = 0;
    nvt_progress_begin(&progress, STDERR_FILENO, total);
    for (size_t i = 0; i < total && !caught; i++) {
        run->level = sweep->collect.values[i % levels];
        run->repeat = (int64_t)(i / levels % repeats) + 1;
        run->warmup = sweep->warmup.values[i / levels / repeats % warmups];
        run->configuration = &sweep->configurations[i / levels / repeats / warmups];
        nvt_progress_show(&progress, i, run->configuration->text);
        status = run_one(run, err);
        if (status < 0)
            break;
        not_ok += status;
    }
    nvt_progress_end(&progress);
    return status < 0 ? -1 : not_ok;
}

int nvt_sweep_run(const struct nvt_sweep *sweep, int *interrupted, struct nvt_error *err)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = catch}, old[3];
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return nvt_fail(err, "out of memory");
    run->sweep = sweep;
    int status = prepare(run, err);
    if (!status) {
        caught = 0;
        for (int i = 0; i < 3; i++)
            sigaction(ending[i], &action, &old[i]);
        status = run_all(run, err);
        for (int i = 0; i < 3; i++)
            sigaction(ending[i], &old[i], NULL);
    }
    free(run);
    *interrupted = caught;
    return status;
}
