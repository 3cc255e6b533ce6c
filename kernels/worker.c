/*
 * The child that loads a backend's library. It is started as
 *
 *   nvtally run --worker backend LIBRARY              struct nvt_backend_answer on stdout
 *   nvtally run --worker peak LIBRARY                 the same, with the peak measured
 *   nvtally run --worker run LIBRARY RESULT WORKLOAD CONFIGURATION WARMUP ITERATIONS SEED LIMIT
 *                            TWINS SECONDS SETTINGS [TURNS PLACE]     one JSON object in the file RESULT
 *   nvtally run --worker serve LIBRARY                the same, one after the other: standard input is a socket from which
 *                            the words from RESULT to SETTINGS come; a byte, the exit status, goes back for each
 *
 * And of a run that a launcher starts (sweep_launched.h):
 *
 *   nvtally run --worker ranks                        how many there are, said by rank 0
 *   nvtally run --worker rank FILE                    start a worker for this rank's part, and record it
 *
 * TWINS is 1 for the setting `within`, 2 for `halves` (workload.h), else 0.
 *
 * SECONDS is what a run may take, 0: as long as it wants. SIGALRM ends the process behind that.
 *
 * SETTINGS is another object: both together are the run's row, which it also leaves in whatever records its NVTX
 * events, as the mark "result {…}" of the domain nvtally. So the tables can be made of traces alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/nvtx.h"
#include "../lib/sample.h"
#include "sweep.h"
#include "sweep_launched.h"
#include "sweep_served.h"

struct nvt_backend_answer {
    int status;
    struct nvt_backend_facts facts;
    struct nvt_peak peak;
    char message[512];
};

struct library {
    void (*run)(const struct nvt_run_settings *, struct nvt_run_result *);
    void (*release)(struct nvt_run_result *);
    int (*backend)(struct nvt_backend_facts *, struct nvt_error *);
    int (*peak)(struct nvt_peak *, struct nvt_error *);
};

static int load(const char *path, struct library *library, struct nvt_error *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return nvt_fail(err, "%s", dlerror());
    *(void **)&library->run = dlsym(handle, "nvt_workload_run");
    *(void **)&library->release = dlsym(handle, "nvt_workload_release");
    *(void **)&library->backend = dlsym(handle, "nvt_workload_backend");
    *(void **)&library->peak = dlsym(handle, "nvt_workload_peak");
    if (library->run && library->release && library->backend && library->peak)
        /* cppcheck-suppress resourceLeak ; in use until the process ends */
        return 0;
    dlclose(handle);
    return nvt_fail_at(err, path, -1, "is not a library of workloads");
}

/* --- one configuration ------------------------------------------------------------------------------- */

static void put_times(struct nvt_json *json, const struct nvt_phase_result *phase, int64_t count)
{
    struct nvt_summary summary;
    char key[128];
    /* Of calls under one clock the mean is known, and neither the least nor the spread. */
    nvt_sample_summary(phase->ns, phase->calls > 1 && count ? 1 : (size_t)count, &summary);
    if (phase->calls > 1)
        summary.min = summary.median = summary.max = NAN;
    if (isnan(summary.mean))
        summary.std = NAN;
    const struct {
        const char *name;
        double value;
    } members[] = {{"mean", summary.mean},
                   {"std", summary.std},
                   {"min", summary.min},
                   {"median", summary.median},
                   {"max", summary.max}};
    for (size_t i = 0; i < NVT_COUNT_OF(members); i++) {
        snprintf(key, sizeof(key), "%s_ns_%s", phase->name, members[i].name);
        nvt_json_number(json, key, members[i].value);
    }
}

/* What the iterations take without the calls of NVTX, and the ratio of the two that are next to each other, if they are:
 * medians. */
static void put_twins(struct nvt_json *json, struct nvt_phase_result *phase, int64_t count,
                      int are_neighbours)
{
    struct nvt_summary mute, ratio;
    char key[128];
    nvt_sample_summary(phase->mute_ns, (size_t)count, &mute);
    for (int64_t i = 0; i < count; i++)
        phase->mute_ns[i] = phase->ns[i] / phase->mute_ns[i];
    nvt_sample_summary(phase->mute_ns, (size_t)count, &ratio);
    snprintf(key, sizeof(key), "%s_ns_mute_median", phase->name);
    nvt_json_number(json, key, mute.median);
    if (!are_neighbours)
        return;
    snprintf(key, sizeof(key), "%s_ns_twins_ratio", phase->name);
    nvt_json_number(json, key, ratio.median);
}

/* "flops_forward", or "forward_peak_allocated_bytes". */
static void put_count(struct nvt_json *json, const char *before, const char *phase,
                      const char *behind, uint64_t value)
{
    char key[128];
    snprintf(key, sizeof(key), "%s%s%s", before, phase, behind);
    nvt_json_integer(json, key, (int64_t)value);
}

/* "precision_rowwise_fwd": "int8", where a phase has one of its own. */
static void put_precision(struct nvt_json *json, const struct nvt_phase_result *phase)
{
    char key[128];
    snprintf(key, sizeof(key), "precision_%s", phase->name);
    if (phase->precision)
        nvt_json_text(json, key, phase->precision);
}

static void put_phases(struct nvt_json *json, const struct nvt_run_settings *settings,
                       struct nvt_run_result *result)
{
    int64_t count = result->status == NVT_RUN_OK ? result->iterations : 0;
    for (size_t i = 0; i < result->phase_count; i++) {
        struct nvt_phase_result *phase = &result->phases[i];
        int64_t times = phase->is_absent ? 0 : count;
        put_times(json, phase, times);
        if (phase->mute_ns && times)
            put_twins(json, phase, times, settings->within);
    }
    /* A run that was not ok reached no peak that means something, and may not have come to its parameters. */
    double missing = result->status == NVT_RUN_OK ? 0 : NAN;
    nvt_json_number(json, "peak_allocated_bytes", (double)result->peak_allocated + missing);
    nvt_json_number(json, "peak_reserved_bytes", (double)result->peak_reserved + missing);
    nvt_json_number(json, "parameters", result->parameters ? (double)result->parameters : missing);
    for (size_t i = 0; i < result->phase_count; i++) {
        const struct nvt_phase_result *phase = &result->phases[i];
        put_count(json, "flops_", phase->name, "", phase->work.flops);
        put_count(json, "bytes_", phase->name, "", phase->work.bytes);
        put_precision(json, phase);
        put_count(json, "", phase->name, "_peak_allocated_bytes", phase->peak_allocated);
        put_count(json, "", phase->name, "_peak_reserved_bytes", phase->peak_reserved);
    }
}

/* The two objects as one. Tools that are not there make it nothing; those that record a range alone find it in such a one. */
static void mark_row(const char *settings, const struct nvt_buffer *result, int in_range)
{
    struct nvt_buffer text = {0};
    size_t size = strcspn(settings, "\n");
    struct nvt_nvtx nvtx = nvt_nvtx_open("nvtally");
    if (size > 1 && result->size > 2 &&
        !nvt_buffer_printf(&text, NVT_NVTX_RESULT "%.*s, %.*s", (int)size - 1, settings,
                           (int)result->size - 2, (const char *)result->data + 1)) {
        if (in_range)
            nvt_nvtx_push(&nvtx, nvt_nvtx_name(&nvtx, NVT_NVTX_RECORDED));
        nvt_nvtx_note(&nvtx, (const char *)text.data);
        if (in_range)
            nvt_nvtx_pop(&nvtx);
    }
    nvt_buffer_free(&text);
}

/* Numbers KEY.0, KEY.1 … stand there as a list KEY, too. */
static void put_numbers(struct nvt_json *json, const struct nvt_run_result *result)
{
    size_t count =
        result->number_count < NVT_NUMBERS_MOST ? result->number_count : NVT_NUMBERS_MOST;
    for (size_t i = 0; i < count; i++) {
        const struct nvt_run_number *number = &result->numbers[i];
        double list[NVT_NUMBERS_MOST];
        char key[sizeof(number->key)];
        size_t stem = strlen(number->key), length = 0;
        stem -= stem > 2 && !strcmp(number->key + stem - 2, ".0") ? 1 : stem;
        while (stem && i + length < count && !strncmp(number->key, number[length].key, stem)) {
            list[length] = number[length].value;
            length++;
        }
        if (length) {
            snprintf(key, sizeof(key), "%.*s", (int)stem - 1, number->key);
            nvt_json_numbers(json, key, list, length);
        }
        nvt_json_number(json, number->key, number->value);
    }
}

static int write_result(const char *path, const char *row, const struct nvt_run_settings *settings,
                        struct nvt_run_result *result)
{
    static const char *const statuses[] = {"ok", "oom", "error"};
    struct nvt_buffer out = {0};
    struct nvt_json json;
    nvt_json_begin(&json, &out);
    nvt_json_text(&json, "device", result->backend.device);
    nvt_json_text(&json, "status", statuses[result->status]);
    nvt_json_text(&json, "message", result->message[0] ? result->message : NULL);
    put_phases(&json, settings, result);
    nvt_json_number(&json, "loss", result->loss);
    nvt_json_integer(&json, "timed_ns", result->status == NVT_RUN_OK ? result->timed_ns : 0);
    put_numbers(&json, result);
    int status = nvt_json_end(&json);
    if (!status)
        mark_row(row, &out, settings->halves);
    FILE *file = status ? NULL : fopen(path, "we");
    if (!file || fwrite(out.data, 1, out.size, file) != out.size)
        status = -1;
    if (file && fclose(file))
        status = -1;
    nvt_buffer_free(&out);
    return status;
}

/* Among those that take turns; -1, which none has, for what is no number. */
static int64_t place_of(const char *text)
{
    char *end;
    long long place = strtoll(text, &end, 10);
    return *text && !*end ? place : -1;
}

/* SIGALRM shall end us, whatever we came from did with it. 0: never. */
static void set_alarm(const char *seconds)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    (void)signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm((unsigned)strtoul(seconds, NULL, 10));
}

/* Its words, from RESULT on. */
static int run_configuration(const struct library *library, char *const *argv)
{
    struct nvt_run_settings settings = {argv[1],
                                        argv[2],
                                        strtoll(argv[3], NULL, 10),
                                        strtoll(argv[4], NULL, 10),
                                        strtoull(argv[5], NULL, 10),
                                        strtoull(argv[6], NULL, 10),
                                        !strcmp(argv[7], "1"),
                                        !strcmp(argv[7], "2"),
                                        argv[10],
                                        argv[10] ? place_of(argv[11]) : 0};
    struct nvt_run_result *result = calloc(1, sizeof(*result));
    if (!result)
        return 2;
    library->run(&settings, result);
    int status = write_result(argv[0], argv[9], &settings, result) ? 2 : 0;
    library->release(result);
    free(result);
    return status;
}

/* What comes in one message: so many words, each with its terminator. 0 or -1. */
static int read_words(char *text, size_t size, char **words, size_t count)
{
    size_t found = 0;
    for (size_t at = 0; at < size; at += strnlen(text + at, size - at) + 1) {
        if (found == count)
            return -1;
        words[found++] = text + at;
    }
    return size && !text[size - 1] && found == count ? 0 : -1;
}

/* Until nobody is there to ask. The exit status. */
static int serve(const struct library *library)
{
    enum { WORDS = 10 };
    char *text = malloc(NVT_SERVED_MOST + 1);
    int status = text ? 0 : 2;
    while (!status) {
        char *words[WORDS + 1] = {0};
        ssize_t size = recv(STDIN_FILENO, text, NVT_SERVED_MOST + 1, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        status = read_words(text, (size_t)size, words, WORDS) ? 2 : 0;
        if (status)
            break;
        set_alarm(words[8]);
        uint8_t how = (uint8_t)run_configuration(library, words);
        set_alarm("0");
        if (send(STDIN_FILENO, &how, 1, MSG_NOSIGNAL) != 1)
            break;
    }
    free(text);
    /* Nobody waits for what a driver may still do. */
    set_alarm("10");
    return status;
}

/* --- what the backend is ----------------------------------------------------------------------------- */

static int tell_backend(const struct library *library, int with_peak, struct nvt_error *err)
{
    struct nvt_backend_answer answer;
    memset(&answer, 0, sizeof(answer));
    answer.status = library ? library->backend(&answer.facts, err) : -1;
    if (!answer.status && with_peak)
        answer.status = library->peak(&answer.peak, err);
    if (answer.status)
        nvt_error_text(err, answer.message, sizeof(answer.message));
    return write(STDOUT_FILENO, &answer, sizeof(answer)) == sizeof(answer) ? 0 : 2;
}

int nvt_worker_main(int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct library library = {0};
    char text[1200];
    if (argc == 2 && !strcmp(argv[1], "ranks"))
        return nvt_launched_tell();
    if (argc == 3 && !strcmp(argv[1], "rank"))
        return nvt_launched_rank(argv[2]);
    int wants_peak = argc == 3 && !strcmp(argv[1], "peak");
    int is_question = wants_peak || (argc == 3 && !strcmp(argv[1], "backend"));
    int serves = argc == 3 && !strcmp(argv[1], "serve");
    int runs = (argc == 13 || argc == 15) && !strcmp(argv[1], "run");
    if (!is_question && !serves && !runs)
        return 2;
    if (runs)
        set_alarm(argv[11]);
    int status = load(argv[2], &library, &err);
    if (is_question)
        return tell_backend(status ? NULL : &library, wants_peak, &err);
    if (status) {
        fprintf(stderr, "nvtally: %s\n", nvt_error_text(&err, text, sizeof(text)));
        return 2;
    }
    return serves ? serve(&library) : run_configuration(&library, argv + 3);
}

static pid_t start_question(const char *what, const char *library, int *answer,
                            struct nvt_error *err)
{
    int ends[2];
    if (pipe(ends))
        return nvt_fail(err, "no pipe: %s", strerror(errno));
    pid_t child = fork();
    if (!child) {
        char *argv[] = {(char *)"nvtally", (char *)"run",   (char *)"--worker",
                        (char *)what,      (char *)library, NULL};
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(ends[1]);
    *answer = ends[0];
    if (child > 0)
        return child;
    close(ends[0]);
    return nvt_fail(err, "no process can be started: %s", strerror(errno));
}

/* The answer of a child. 0, or -1 with err. */
static int ask(const char *what, const char *library, struct nvt_backend_answer *got,
               struct nvt_error *err)
{
    struct nvt_backend_answer answer;
    int descriptor = -1, wait_status = 0;
    size_t size = 0;
    pid_t child = start_question(what, library, &descriptor, err);
    if (child < 0)
        return -1;
    while (size < sizeof(answer)) {
        ssize_t count = read(descriptor, (char *)&answer + size, sizeof(answer) - size);
        if (count <= 0 && !(count < 0 && errno == EINTR))
            break;
        size += count > 0 ? (size_t)count : 0;
    }
    close(descriptor);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (size != sizeof(answer) && WIFSIGNALED(wait_status))
        return nvt_fail_at(err, library, -1, "crashed: %s", strsignal(WTERMSIG(wait_status)));
    if (size != sizeof(answer))
        return nvt_fail_at(err, library, -1, "gave no answer");
    answer.message[sizeof(answer.message) - 1] = 0;
    if (answer.status)
        return nvt_fail(err, "%s", answer.message);
    *got = answer;
    return 0;
}

int nvt_ask_peak(const char *library, struct nvt_peak *peak, struct nvt_error *err)
{
    struct nvt_backend_answer answer;
    if (ask("peak", library, &answer, err))
        return -1;
    *peak = answer.peak;
    return 0;
}

int nvt_ask_backend(const char *library, struct nvt_backend_facts *facts, struct nvt_error *err)
{
    struct nvt_backend_answer answer;
    if (ask("backend", library, &answer, err))
        return -1;
    *facts = answer.facts;
    facts->name[sizeof(facts->name) - 1] = 0;
    facts->device[sizeof(facts->device) - 1] = 0;
    facts->libraries[sizeof(facts->libraries) - 1] = 0;
    return 0;
}
