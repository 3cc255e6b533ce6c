#include "sweep_launched.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/program.h"

#define RANKS_MOST 65536
#define FILE_MOST  ((size_t)1 << 20)

/* What a rank is told, a text each with its terminator. Paths are absolute. */
enum {
    LEVEL,
    NSYS,
    BACKEND,
    DEVICE,
    TRACE, /* of rank 0 */
    DIRECTORY,
    LIBRARY,
    WORKLOAD,
    CONFIGURATION,
    WARMUP,
    ITERATIONS,
    SEED,
    LIMIT,
    INTERLEAVE,
    TIME,
    SETTINGS,
    WORDS
};

/* --- the launcher's command line ---------------------------------------------------------------- */

/* Append the value that a configuration has of an axis, as its option would have it. 0, or -1 with err. */
static int append_value(struct nvt_buffer *out, const struct nvt_sweep *sweep,
                        const struct nvt_configuration *configuration, const char *name,
                        size_t length, struct nvt_error *err)
{
    char option[64];
    snprintf(option, sizeof(option), "%.*s", (int)length, name);
    int axis = nvt_axes_find(sweep->axes, option);
    if (axis < 0)
        return nvt_fail(err, "--launcher: {%s} is not an axis of %s; see nvtally run --help",
                        option, sweep->axes->workload);
    if (sweep->axes->axes[axis].kind != NVT_AXIS_NUMBERS)
        return nvt_fail(err, "--launcher: {%s} is not a number", option);
    if (nvt_buffer_printf(out, "%" PRId64, configuration->values[axis]))
        return nvt_fail(err, "out of memory");
    return 0;
}

/* The command with the configuration's values in it, terminated. 0, or -1 with err. */
static int fill_in(struct nvt_buffer *out, const struct nvt_sweep *sweep,
                   const struct nvt_configuration *configuration, struct nvt_error *err)
{
    out->size = 0;
    for (const char *at = sweep->launcher; *at;) {
        size_t plain = strcspn(at, "{");
        const char *end = at[plain] ? strchr(at + plain, '}') : NULL;
        /* "${HOME}" is the shell's. */
        if (!end || (plain && at[plain - 1] == '$'))
            plain += at[plain] == '{';
        if (nvt_buffer_append(out, at, plain))
            return nvt_fail(err, "out of memory");
        if (at[plain] != '{' || !end) {
            at += plain;
            continue;
        }
        if (append_value(out, sweep, configuration, at + plain + 1, (size_t)(end - at) - plain - 1,
                         err))
            return -1;
        at = end + 1;
    }
    return nvt_buffer_append(out, "", 1) ? nvt_fail(err, "out of memory") : 0;
}

/* The command line of COMMAND with ours behind it. */
struct command {
    struct nvt_buffer script;
    char *argv[10];
};

static void free_command(struct command *command)
{
    nvt_buffer_free(&command->script);
}

/* `file` NULL: how many ranks there are, else the run that it tells of. 0, or -1 with err. */
static int make_command(struct command *command, const char *filled_in, const char *self,
                        const char *file, struct nvt_error *err)
{
    *command = (struct command){0};
    if (nvt_buffer_printf(&command->script, "exec %s \"$@\"", filled_in) ||
        nvt_buffer_append(&command->script, "", 1)) {
        free_command(command);
        return nvt_fail(err, "out of memory");
    }
    const char *const words[] = {"/bin/sh", "-c",       (char *)command->script.data, "sh", self,
                                 "run",     "--worker", file ? "rank" : "ranks",      file};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
        command->argv[i] = (char *)words[i];
    return 0;
}

/* --- how many ranks there are ------------------------------------------------------------------- */

/* Rank 0 alone says it: "ranks 4". 0 for anything else. */
static int read_answer(const char *text)
{
    static const char begin[] = "ranks ";
    const char *at = strstr(text, begin);
    char *end;
    if (!at || strstr(at + 1, begin))
        return 0;
    long ranks = strtol(at + strlen(begin), &end, 10);
    return *end == '\n' && ranks >= 1 && ranks <= RANKS_MOST ? (int)ranks : 0;
}

static pid_t start_question(char *const argv[], int *answer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (!child) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    int cause = errno;
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    *answer = ends[0];
    errno = cause;
    return child;
}

/* Whether its program is there, where the command begins with its plain name. 0, or -1 with err. */
static int check_program(const char *filled_in, struct nvt_error *err)
{
    char name[1024], path[4096];
    const char *begin = filled_in + strspn(filled_in, " \t\n");
    size_t length = strcspn(begin, " \t\n");
    if (!length)
        return nvt_fail(err, "--launcher: names no program");
    snprintf(name, sizeof(name), "%.*s", (int)length, begin);
    if (length >= sizeof(name) || strpbrk(name, "'\"$`\\=~*?[(&;|<>"))
        return 0;
    return nvt_find_program(name, path, sizeof(path))
               ? nvt_fail(err, "--launcher %s: there is no such program", name)
               : 0;
}

/* The number of ranks, or -1 with err. */
static int ask(const char *filled_in, const char *self, struct nvt_error *err)
{
    struct command command;
    char text[4096];
    size_t size = 0;
    ssize_t got;
    int answer = -1, wait_status = 0;
    if (check_program(filled_in, err) || make_command(&command, filled_in, self, NULL, err))
        return -1;
    pid_t child = start_question(command.argv, &answer);
    int cause = errno;
    free_command(&command);
    if (child < 0)
        return nvt_fail(err, "no process can be started: %s", strerror(cause));
    while ((got = read(answer, text + size, sizeof(text) - 1 - size)) > 0 ||
           (got < 0 && errno == EINTR))
        size += got > 0 ? (size_t)got : 0;
    text[size] = 0;
    close(answer);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    int ranks = read_answer(text);
    if (!wait_status && ranks)
        return ranks;
    if (wait_status)
        return nvt_fail(err, "--launcher \"%s\": ended with exit status %d", filled_in,
                        nvt_exit_code(wait_status));
    return nvt_fail(err, "--launcher \"%s\": it starts no ranks of Open MPI, MPICH or Slurm",
                    filled_in);
}

int nvt_goes_over_ranks(const struct nvt_configuration *configuration)
{
    return nvt_configuration_is(configuration->text, "transport", "mpi") ||
           nvt_configuration_is(configuration->text, "transport", "nccl");
}

/* The last answer: configurations whose command lines are the same follow one another. */
struct answer {
    struct nvt_buffer filled_in;
    int ranks;
};

static int count_one(struct nvt_sweep *sweep, size_t i, const char *self, struct answer *last,
                     struct nvt_error *err)
{
    struct nvt_buffer now = {0};
    int status = fill_in(&now, sweep, &sweep->configurations[i], err);
    int is_known = !status && last->ranks && now.size == last->filled_in.size &&
                   !memcmp(now.data, last->filled_in.data, now.size);
    if (!status && !is_known) {
        last->ranks = ask((const char *)now.data, self, err);
        status = last->ranks < 0 ? -1 : 0;
    }
    nvt_buffer_free(&last->filled_in);
    last->filled_in = now;
    sweep->launched[i] = status ? 0 : last->ranks;
    return status;
}

int nvt_launched_count(struct nvt_sweep *sweep, struct nvt_error *err)
{
    struct answer last = {0};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int status = 0, any = 0;
    sweep->launched = calloc(sweep->count + 1, sizeof(*sweep->launched));
    if (length <= 0 || !sweep->launched)
        return nvt_fail(err, sweep->launched ? "/proc/self/exe cannot be read" : "out of memory");
    self[length] = 0;
    for (size_t i = 0; i < sweep->count && !status; i++) {
        if (!nvt_goes_over_ranks(&sweep->configurations[i]))
            continue;
        any = 1;
        status = count_one(sweep, i, self, &last, err);
    }
    nvt_buffer_free(&last.filled_in);
    return !status && !any ? nvt_fail(err, "--launcher: is for --transport mpi and nccl") : status;
}

int nvt_launched_tell(void)
{
    struct nvt_ranks ranks = nvt_ranks_here();
    if (!ranks.rank)
        printf("ranks %d\n", ranks.size);
    return fflush(stdout) ? 2 : 0;
}

/* --- the run ------------------------------------------------------------------------------------ */

static void result_of(const char *directory, int rank, char *path, size_t size)
{
    snprintf(path, size, "%.3000s/.result-%d.json", directory, rank);
}

static void end_of(const char *directory, char *path, size_t size)
{
    snprintf(path, size, "%.3000s/.ranks-end", directory);
}

/* What the ranks are told. 0, or -1 with err. */
static int write_words(const struct nvt_child *run, const char *directory, const char *path,
                       struct nvt_error *err)
{
    const struct nvt_sweep *sweep = run->sweep;
    struct nvt_buffer out = {0};
    const char *const texts[] = {sweep->nsys, sweep->backend.name, sweep->backend.device};
    int status = nvt_buffer_printf(&out, "%" PRId64 "%c", run->level, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++)
        status |= nvt_buffer_append(&out, texts[i], strlen(texts[i]) + 1);
    status |= nvt_buffer_printf(&out, "%s/%s%c%s%c%s%c%s%c%s%c", directory, run->trace_name, 0,
                                directory, 0, sweep->library, 0, sweep->axes->workload, 0,
                                run->configuration->text, 0);
    status |= nvt_buffer_printf(
        &out, "%" PRId64 "%c%" PRId64 "%c%" PRIu64 "%c%" PRIu64 "%c%d%c%" PRId64 "%c", run->warmup,
        0, sweep->iterations, 0, sweep->seed, 0, sweep->memory_limit, 0, sweep->interleave, 0,
        sweep->time_limit, 0);
    status |= nvt_buffer_append(&out, run->settings.data, run->settings.size);
    FILE *file = status ? NULL : fopen(path, "we");
    int cause = errno;
    if (file && fwrite(out.data, 1, out.size, file) != out.size)
        cause = errno, status = -1;
    if (file && fclose(file))
        cause = errno, status = -1;
    nvt_buffer_free(&out);
    return status || !file ? nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(cause))
                           : 0;
}

/* How a rank's run ended, as its result says. */
enum outcome { NO_RESULT, OK, OOM, FAILED };

static enum outcome outcome_of(const char *path)
{
    char text[32768];
    FILE *file = fopen(path, "re");
    if (!file)
        return NO_RESULT;
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = 0;
    return strstr(text, "\"status\": \"ok\"")      ? OK
           : strstr(text, "\"status\": \"oom\"")   ? OOM
           : strstr(text, "\"status\": \"error\"") ? FAILED
                                                   : NO_RESULT;
}

/* One result of all the ranks': where memory ran out, what the others say follows from that. */
static void choose_result(const struct nvt_child *run, const char *directory, int is_well)
{
    char path[4096];
    int chosen = is_well ? 0 : -1;
    enum outcome worst = OK;
    for (int rank = 0; rank < run->ranks; rank++) {
        result_of(directory, rank, path, sizeof(path));
        enum outcome outcome = outcome_of(path);
        if (outcome == OOM ? worst != OOM : outcome == FAILED && worst == OK) {
            worst = outcome;
            chosen = rank;
        }
    }
    for (int rank = 0; rank < run->ranks; rank++) {
        result_of(directory, rank, path, sizeof(path));
        if (rank != chosen)
            unlink(path);
    }
    result_of(directory, chosen, path, sizeof(path));
    if (chosen > 0 && rename(path, run->result))
        unlink(path);
}

/* What rank 0's recorder knows. */
static void read_end(const char *path, struct nvt_child_end *end)
{
    struct nvt_child_end read;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fread(&read, sizeof(read), 1, file) == 1) {
        read.wait_status = end->wait_status;
        read.asked = 0; /* by its launcher, as another rank had failed */
        read.message[sizeof(read.message) - 1] = 0;
        *end = read;
    }
    fclose(file);
}

/* A shell, and a launcher after it, tells of a signal by 128 and its number. */
static int as_signal(int wait_status)
{
    int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    return code > 128 && code < 128 + 65 ? code - 128 : wait_status;
}

static int run_launcher(const struct nvt_child *run, const char *directory, const char *file,
                        struct nvt_child_end *end, struct nvt_error *err)
{
    struct nvt_buffer filled_in = {0};
    struct command command = {0};
    int status = fill_in(&filled_in, run->sweep, run->configuration, err);
    if (!status)
        status = make_command(&command, (const char *)filled_in.data, run->self, file, err);
    if (!status)
        status = write_words(run, directory, file, err);
    if (!status)
        status = nvt_child_start(command.argv, &end->wait_status, err);
    free_command(&command);
    nvt_buffer_free(&filled_in);
    return status;
}

void nvt_launched_run(const struct nvt_child *run, struct nvt_child_end *end)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char path[4096], file[4096], told[4096];
    char *directory = realpath(run->sweep->directory, NULL);
    *end = (struct nvt_child_end){0};
    if (!directory) {
        snprintf(end->message, sizeof(end->message), "%s: %s", run->sweep->directory,
                 strerror(errno));
        return;
    }
    snprintf(file, sizeof(file), "%.3000s/.ranks", directory);
    end_of(directory, told, sizeof(told));
    for (int rank = 0; rank < run->ranks; rank++) {
        result_of(directory, rank, path, sizeof(path));
        unlink(path);
    }
    unlink(told);
    if (run_launcher(run, directory, file, end, &err))
        nvt_error_text(&err, end->message, sizeof(end->message));
    else
        read_end(told, end);
    choose_result(run, directory, !end->wait_status && !end->message[0]);
    end->wait_status = as_signal(end->wait_status);
    unlink(file);
    unlink(told);
    free(directory);
}

/* --- in a rank ---------------------------------------------------------------------------------- */

/* The run as this rank sees it. */
struct part {
    struct nvt_child run;
    struct nvt_sweep sweep;
    struct nvt_configuration configuration;
    char *text;
    const char *words[WORDS]; /* in it */
};

/* What the file says. 0, or -1 with err. */
static int read_words(struct part *part, const char *path, struct nvt_error *err)
{
    FILE *file = fopen(path, "re");
    size_t size = 0, count = 0;
    part->text = malloc(FILE_MOST);
    if (!file || !part->text) {
        int cause = errno;
        if (file)
            fclose(file);
        return nvt_fail_at(err, path, -1, "a rank cannot read it, and all of them must: %s",
                           strerror(cause));
    }
    size = fread(part->text, 1, FILE_MOST, file);
    fclose(file);
    for (size_t at = 0; at < size && count < WORDS; at += strnlen(part->text + at, size - at) + 1)
        part->words[count++] = part->text + at;
    return count == WORDS && !part->text[size - 1]
               ? 0
               : nvt_fail_at(err, path, -1, "is not what a sweep hands to its ranks");
}

/* Our own part, as a run by itself. 0, or -1 with err. */
static int set_part(struct part *part, struct nvt_error *err)
{
    struct nvt_child *run = &part->run;
    struct nvt_sweep *sweep = &part->sweep;
    const char *const *words = part->words;
    struct nvt_ranks ranks = nvt_ranks_here();
    ssize_t length = readlink("/proc/self/exe", run->self, sizeof(run->self) - 1);
    const char *settings = words[SETTINGS];
    size_t size = strcspn(settings, "\n");
    sweep->axes = nvt_axes_of(words[WORKLOAD]);
    if (length <= 0 || !sweep->axes || !size)
        return nvt_fail(err, "a rank cannot run its part of the sweep");
    sweep->iterations = strtoll(words[ITERATIONS], NULL, 10);
    sweep->seed = strtoull(words[SEED], NULL, 10);
    sweep->memory_limit = strtoull(words[LIMIT], NULL, 10);
    sweep->interleave = (int)strtol(words[INTERLEAVE], NULL, 10);
    sweep->time_limit = strtoll(words[TIME], NULL, 10);
    sweep->ranks = ranks;
    snprintf(sweep->library, sizeof(sweep->library), "%s", words[LIBRARY]);
    snprintf(sweep->nsys, sizeof(sweep->nsys), "%s", words[NSYS]);
    snprintf(sweep->backend.name, sizeof(sweep->backend.name), "%s", words[BACKEND]);
    snprintf(sweep->backend.device, sizeof(sweep->backend.device), "%s", words[DEVICE]);
    snprintf(part->configuration.text, sizeof(part->configuration.text), "%s",
             words[CONFIGURATION]);
    run->sweep = sweep;
    run->configuration = &part->configuration;
    run->level = strtoll(words[LEVEL], NULL, 10);
    run->warmup = strtoll(words[WARMUP], NULL, 10);
    result_of(words[DIRECTORY], ranks.rank, run->result, sizeof(run->result));
    if (nvt_rank_trace(words[TRACE], ranks.rank, run->trace, sizeof(run->trace)))
        snprintf(run->trace, sizeof(run->trace), "%s", words[TRACE]);
    int failed = nvt_buffer_append(&run->settings, settings, size - (ranks.size > 1));
    if (ranks.size > 1)
        failed |= nvt_buffer_printf(&run->settings, ", \"rank\": %d}", ranks.rank);
    return failed || nvt_buffer_append(&run->settings, "\n", 2) ? nvt_fail(err, "out of memory")
                                                                : 0;
}

/* Run it; the launcher shall end the others when it failed. Where memory ran out they have been told. */
static int run_part(const struct nvt_child *run, const char *directory)
{
    struct nvt_child_end end;
    char path[4096];
    nvt_signals_catch();
    nvt_child_run(run, &end);
    nvt_signals_leave();
    if (!run->sweep->ranks.rank) {
        end_of(directory, path, sizeof(path));
        FILE *file = fopen(path, "we");
        int failed = !file || fwrite(&end, sizeof(end), 1, file) != 1;
        if (file && fclose(file))
            failed = 1;
        if (failed)
            unlink(path);
    }
    if (end.message[0])
        fprintf(stderr, "nvtally: rank %d: %s\n", run->sweep->ranks.rank, end.message);
    /* A worker that has said that all is well is believed, as one without ranks is, however it ends then. */
    enum outcome outcome = outcome_of(run->result);
    if (!end.message[0] && (outcome == OK || outcome == OOM))
        return 0;
    int code = end.message[0] ? 0 : nvt_exit_code(end.wait_status);
    return code ? code : 2;
}

int nvt_launched_rank(const char *file)
{
    struct part *part = calloc(1, sizeof(*part));
    struct nvt_error err = NVT_ERROR_INIT;
    char line[1200];
    if (!part) {
        fputs("nvtally: out of memory\n", stderr);
        return 2;
    }
    int status = read_words(part, file, &err) || set_part(part, &err) ? 2 : 0;
    if (status)
        fprintf(stderr, "nvtally: %s\n", nvt_error_text(&err, line, sizeof(line)));
    else
        status = run_part(&part->run, part->words[DIRECTORY]);
    nvt_buffer_free(&part->run.settings);
    free(part->text);
    free(part);
    return status;
}
