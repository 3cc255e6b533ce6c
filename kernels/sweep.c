#include "sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../collectors/session.h"
#include "../lib/progress.h"

static volatile sig_atomic_t caught;

static void catch(int number)
{
    caught = number;
}

struct paths {
    char self[4096], result[4096], trace[4096], trace_name[600], results[4096];
};

/* The child's command line: see nvt_worker_main. */
static int run_child(const struct nvt_sweep *sweep, const struct nvt_configuration *configuration,
                     struct paths *paths, struct nvt_record_result *recorded, struct nvt_error *err)
{
    char numbers[4][32];
    snprintf(numbers[0], 32, "%lld", (long long)sweep->warmup);
    snprintf(numbers[1], 32, "%lld", (long long)sweep->iterations);
    snprintf(numbers[2], 32, "%llu", (unsigned long long)sweep->seed);
    snprintf(numbers[3], 32, "%llu", (unsigned long long)sweep->memory_limit);
    char *argv[] = {paths->self,
                    (char *)"run",
                    (char *)"--worker",
                    (char *)sweep->library,
                    paths->result,
                    (char *)sweep->workload,
                    (char *)configuration->text,
                    numbers[0],
                    numbers[1],
                    numbers[2],
                    numbers[3],
                    NULL};
    memset(recorded, 0, sizeof(*recorded));
    if (strcmp(sweep->collect, "off")) {
        const char *const facts[] = {"backend", sweep->backend, "workload", sweep->workload,
                                     "configuration", configuration->text, NULL};
        struct nvt_record_options options = NVT_RECORD_OPTIONS_INIT;
        options.output = paths->trace;
        options.facts = facts;
        return nvt_record_run(&options, argv, recorded, err);
    }
    pid_t child = fork();
    if (!child) {
        execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0)
        return nvt_fail(err, "no process can be started: %s", strerror(errno));
    while (waitpid(child, &recorded->wait_status, 0) < 0 && errno == EINTR)
        if (caught)
            kill(child, SIGTERM);
    return 0;
}

/* The child's own object without its brace, or what became of it when it left none. */
static void put_outcome(struct nvt_json *json, const char *path, int wait_status,
                        const char *message)
{
    char text[8192];
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    char *end = strrchr(text, '}');
    if (text[0] == '{' && end) {
        *end = 0;
        json->failed |= nvt_buffer_printf(json->out, ", %s", text + 1);
        return;
    }
    char why[600];
    if (message)
        snprintf(why, sizeof(why), "%s", message);
    else if (WIFSIGNALED(wait_status))
        snprintf(why, sizeof(why), "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(wait_status));
    nvt_json_text(json, "device", NULL);
    nvt_json_text(json, "status", "error");
    nvt_json_text(json, "message", why);
}

static int write_row(const struct nvt_sweep *sweep, const struct nvt_configuration *configuration,
                     const struct paths *paths, int wait_status, const char *message,
                     struct nvt_buffer *row)
{
    struct nvt_json json;
    char date[64];
    struct tm calendar;
    time_t now = time(NULL);
    int traced = strcmp(sweep->collect, "off") && !access(paths->trace, R_OK);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &calendar));
    row->size = 0;
    nvt_json_begin(&json, row);
    nvt_json_text(&json, "workload", sweep->workload);
    configuration->axes(&json, configuration);
    nvt_json_text(&json, "backend", sweep->backend);
    nvt_json_text(&json, "collect", sweep->collect);
    nvt_json_integer(&json, "warmup", sweep->warmup);
    nvt_json_integer(&json, "iterations", sweep->iterations);
    nvt_json_integer(&json, "seed", (int64_t)sweep->seed);
    put_outcome(&json, paths->result, wait_status, message);
    nvt_json_text(&json, "trace", traced ? paths->trace_name : NULL);
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

/* One configuration to one row. 0 ok, 1 not, -1 nothing can be written. */
static int run_one(const struct nvt_sweep *sweep, const struct nvt_configuration *configuration,
                   struct paths *paths, struct nvt_error *err)
{
    struct nvt_record_result recorded;
    struct nvt_buffer row = {0};
    struct nvt_error trouble = NVT_ERROR_INIT;
    char text[1200];
    snprintf(paths->trace_name, sizeof(paths->trace_name), "%s-%s.nvt", sweep->workload,
             configuration->label);
    snprintf(paths->trace, sizeof(paths->trace), "%.3000s/%s", sweep->directory, paths->trace_name);
    unlink(paths->result);
    int failed = run_child(sweep, configuration, paths, &recorded, &trouble);
    if (!failed && recorded.write_error.message[0])
        fprintf(stderr, "nvtally: %s\n",
                nvt_error_text(&recorded.write_error, text, sizeof(text)));
    int stopped = WIFSIGNALED(recorded.wait_status) && (WTERMSIG(recorded.wait_status) == SIGINT ||
                                                        WTERMSIG(recorded.wait_status) == SIGTERM);
    if (stopped)
        caught = WTERMSIG(recorded.wait_status);
    int status = 0;
    if (!caught) {
        status = write_row(sweep, configuration, paths, recorded.wait_status,
                           failed ? nvt_error_text(&trouble, text, sizeof(text)) : NULL, &row)
                     ? nvt_fail(err, "out of memory")
                     : append(paths->results, &row, err);
        if (!status && !is_ok(&row))
            status = 1;
    } else {
        unlink(paths->trace);
    }
    unlink(paths->result);
    nvt_buffer_free(&row);
    return status;
}

static int prepare(const struct nvt_sweep *sweep, struct paths *paths, struct nvt_error *err)
{
    ssize_t length = readlink("/proc/self/exe", paths->self, sizeof(paths->self) - 1);
    if (length <= 0)
        return nvt_fail(err, "/proc/self/exe cannot be read: %s", strerror(errno));
    paths->self[length] = 0;
    if (mkdir(sweep->directory, 0777) && errno != EEXIST)
        return nvt_fail_at(err, sweep->directory, -1, "cannot be made: %s", strerror(errno));
    snprintf(paths->result, sizeof(paths->result), "%.3000s/.result.json", sweep->directory);
    snprintf(paths->results, sizeof(paths->results), "%.3000s/results.jsonl", sweep->directory);
    FILE *results = fopen(paths->results, "we");
    if (!results)
        return nvt_fail_at(err, paths->results, -1, "cannot be written: %s", strerror(errno));
    fclose(results);
    return 0;
}

/* Idle OpenMP threads must not spin beside OpenBLAS's: it disturbs what is measured. */
static void quiet_threads(void)
{
    setenv("OMP_WAIT_POLICY", "passive", 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);
}

int nvt_sweep_run(const struct nvt_sweep *sweep, int *interrupted, struct nvt_error *err)
{
    struct paths *paths = calloc(1, sizeof(*paths));
    struct nvt_progress progress;
    struct sigaction action = {.sa_handler = catch}, old_int, old_term;
    int not_ok = 0, status = paths ? prepare(sweep, paths, err) : nvt_fail(err, "out of memory");
    if (status) {
        free(paths);
        return -1;
    }
    caught = 0;
    quiet_threads();
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    nvt_progress_begin(&progress, STDERR_FILENO, sweep->count);
    for (size_t i = 0; i < sweep->count && !caught; i++) {
        nvt_progress_show(&progress, i, sweep->configurations[i].text);
        status = run_one(sweep, &sweep->configurations[i], paths, err);
        if (status < 0)
            break;
        not_ok += status;
    }
    nvt_progress_end(&progress);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    free(paths);
    *interrupted = caught;
    return status < 0 ? -1 : not_ok;
}
