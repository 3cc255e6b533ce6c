#include "sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/create_file.h"
#include "../lib/date.h"
#include "../lib/folder.h"
#include "../lib/program.h"
#include "../lib/progress.h"
#include "sweep_child.h"
#include "sweep_earlier.h"
#include "sweep_group.h"
#include "sweep_launched.h"

const char *const nvt_collect_levels[] = {"off", "nvtx", "kernel", "full", "nsys", "control", NULL};
const char *const nvt_interleave_words[] = {"runs", "iterations", "within", "halves", NULL};

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
static void put_outcome(struct nvt_json *json, struct nvt_child *run,
                        const struct nvt_child_end *how)
{
    char text[32768], *why = run->why;
    int wait_status = how->wait_status;
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
    if (how->message[0])
        snprintf(why, sizeof(run->why), "%.590s", how->message);
    else if (run->sweep->time_limit && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGALRM)
        snprintf(why, sizeof(run->why), "took longer than %" PRId64 " s", run->sweep->time_limit);
    else if (WIFSIGNALED(wait_status))
        snprintf(why, sizeof(run->why), "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(why, sizeof(run->why), "exit status %d", WEXITSTATUS(wait_status));
    nvt_json_text(json, "device", run->sweep->backend.device);
    nvt_json_text(json, "status", "error");
    nvt_json_text(json, "message", why);
}

static void put_settings(struct nvt_json *json, const struct nvt_child *run)
{
    const struct nvt_sweep *sweep = run->sweep;
    nvt_json_text(json, "workload", sweep->axes->workload);
    nvt_axes_put(sweep->axes, run->configuration, json);
    nvt_json_text(json, "backend", sweep->backend.name);
    nvt_json_text(json, "collect", nvt_collect_levels[run->level]);
    nvt_json_integer(json, "warmup", run->warmup);
    if (sweep->repeat > 1)
        nvt_json_integer(json, "repeat", run->repeat);
    if (sweep->interleave)
        nvt_json_text(json, "interleave", nvt_interleave_words[sweep->interleave]);
    nvt_json_integer(json, "iterations", sweep->iterations);
    nvt_json_integer(json, "seed", (int64_t)sweep->seed);
    if (sweep->memory_limit)
        nvt_json_integer(json, "memory_limit", (int64_t)sweep->memory_limit);
    if (run->ranks > 1)
        nvt_json_integer(json, "ranks", run->ranks);
}

/* What the run itself has to say of how it is run: see worker.c. 0 or -1. */
static int write_settings(struct nvt_child *run, struct nvt_error *err)
{
    struct nvt_json json;
    nvt_buffer_free(&run->settings);
    nvt_json_begin(&json, &run->settings);
    put_settings(&json, run);
    /* Ranks that are still to be started say so themselves. */
    if (run->ranks > 1 && !run->is_launched)
        nvt_json_integer(&json, "rank", run->sweep->ranks.rank);
    json.failed |= nvt_json_end(&json) || nvt_buffer_append(&run->settings, "", 1);
    return json.failed ? nvt_fail(err, "out of memory") : 0;
}

static int write_row(struct nvt_child *run, const struct nvt_child_end *end, struct nvt_buffer *row)
{
    struct nvt_json json;
    char date[NVT_DATE_SIZE];
    int has_trace = !nvt_child_is_bare(run->level) && !access(run->trace, R_OK);
    nvt_date(time(NULL), date);
    nvt_json_begin(&json, row);
    put_settings(&json, run);
    put_outcome(&json, run, end);
    if (end->recorder_ns)
        nvt_json_integer(&json, "recorder_cpu_ns", end->recorder_ns);
    if (end->wants_device_records)
        nvt_json_integer(&json, "device_records", end->device_records);
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

static int has_status(const struct nvt_buffer *row, const char *status)
{
    char member[40];
    int size = snprintf(member, sizeof(member), "\"status\": \"%s\"", status);
    return memmem(row->data, row->size, member, (size_t)size) != NULL;
}

/* "fragmented-size256-batch8-train-fragments2.nvt", with what else changes within the sweep. */
static void name_trace(struct nvt_child *run)
{
    const struct nvt_sweep *sweep = run->sweep;
    size_t levels = sweep->collect.count;
    char warmup[40] = "", level[40] = "", rank[40] = "", repeat[40] = "";
    for (size_t i = 0; i < sweep->collect.count; i++)
        levels -= (size_t)nvt_child_is_bare(sweep->collect.values[i]);
    if (sweep->warmup.count > 1)
        snprintf(warmup, sizeof(warmup), "-warmup%" PRId64, run->warmup);
    if (levels > 1)
        snprintf(level, sizeof(level), "-%s", nvt_collect_levels[run->level]);
    if (sweep->repeat > 1)
        snprintf(repeat, sizeof(repeat), "-repeat%" PRId64, run->repeat);
    if (run->ranks > 1)
        snprintf(rank, sizeof(rank), "-rank%d", sweep->ranks.rank);
    snprintf(run->trace_name, sizeof(run->trace_name), "%s-%s%s%s%s%s.%s", sweep->axes->workload,
             run->configuration->label, warmup, level, repeat, rank,
             run->level == NVT_COLLECT_NSYS ? "nsys-rep" : "nvt");
    snprintf(run->trace, sizeof(run->trace), "%.3000s/%s", sweep->directory, run->trace_name);
}

/* What a shell would see of a run that is no row of status ok or oom: a run that says itself that it failed
 * ends with 0. 0 for the others. */
static int exit_status(const struct nvt_buffer *row, int wait_status)
{
    if (!has_status(row, "error"))
        return 0;
    if (WIFSIGNALED(wait_status))
        return 128 + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status) ? WEXITSTATUS(wait_status) : 2;
}

/* Its own, and those of the ranks that it was over. */
static void remove_traces(const struct nvt_child *run)
{
    char path[4096];
    unlink(run->trace);
    for (int rank = 1; rank < run->ranks; rank++)
        if (!nvt_rank_trace(run->trace, rank, path, sizeof(path)))
            unlink(path);
}

/* Whether a run came to its own end, before a signal that ends the sweep could cut it. */
static int is_whole(const struct nvt_child *run, const struct nvt_child_end *end)
{
    return !end->wait_status && !access(run->result, R_OK);
}

/* A run that has ended to its row, or without one when it was cut. 0 ok, 1 not, -1 nothing can be written. */
static int keep_run(struct nvt_child *run, const struct nvt_child_end *end, int is_cut,
                    struct nvt_error *err)
{
    struct nvt_buffer row = {0};
    int status = 0;
    /* Of a run over several processes all that is left counts: it may tell why one of them ended. */
    if (is_cut && run->sweep->ranks.size == 1) {
        remove_traces(run);
    } else if (write_row(run, end, &row)) {
        status = nvt_fail(err, "out of memory");
    } else {
        if (!run->sweep->ranks.rank)
            status = append(run->results, &row, err);
        if (!status && !has_status(&row, "ok"))
            status = 1;
        int failed = exit_status(&row, end->wait_status);
        run->failed = failed ? failed : run->failed;
        if (status == 1)
            nvt_fail(err, "%s", run->why);
        /* Of several ranks, their own line has it. */
        if (status >= 0 && *run->why && (!status || run->sweep->ranks.size == 1))
            fprintf(stderr, "nvtally: %s %s: %s\n", run->sweep->axes->workload,
                    run->configuration->label, run->why);
    }
    unlink(run->result);
    nvt_buffer_free(&row);
    return status;
}

static int run_one(struct nvt_child *run, struct nvt_error *err)
{
    struct nvt_child_end end;
    name_trace(run);
    unlink(run->result);
    if (write_settings(run, err))
        return -1;
    if (run->is_launched)
        nvt_launched_run(run, &end);
    else
        nvt_child_run(run, &end);
    /* Sent by somebody who meant all of us, such as a terminal's Ctrl-C. */
    int number = end.asked ? end.asked : nvt_signals_ended(end.wait_status);
    if (number)
        nvt_signals_set(number);
    int status = keep_run(run, &end, nvt_signals_caught() && !is_whole(run, &end), err);
    /* What went wrong may have left something behind. */
    if (status && run->served)
        nvt_served_end(run->served);
    return status;
}

/* All levels of a configuration at once. The number that are not ok, or -1. */
static int run_levels(struct nvt_child *first, struct nvt_error *err)
{
    const struct nvt_sweep *sweep = first->sweep;
    size_t count = sweep->collect.count;
    struct nvt_child *runs = calloc(count, sizeof(*runs));
    struct nvt_child_end *ends = calloc(count, sizeof(*ends));
    char turns[4096];
    int status = runs && ends ? 0 : nvt_fail(err, "out of memory"), not_ok = 0, is_cut = 0;
    snprintf(turns, sizeof(turns), "%.3000s/.turns", sweep->directory);
    for (size_t i = 0; i < count && !status; i++) {
        runs[i] = *first;
        runs[i].settings = (struct nvt_buffer){0};
        runs[i].level = sweep->collect.values[i];
        status = write_settings(&runs[i], err);
        snprintf(runs[i].result, sizeof(runs[i].result), "%.3000s/.result-%zu-%ld.json",
                 sweep->directory, i, (long)getpid());
        name_trace(&runs[i]);
        unlink(runs[i].result);
    }
    if (!status)
        status = nvt_group_run(runs, count, turns, ends, err);
    /* They are there to be compared with each other. */
    for (size_t i = 0; i < count && status >= 0; i++)
        is_cut |= nvt_signals_caught() && !is_whole(&runs[i], &ends[i]);
    for (size_t i = 0; i < count && status >= 0; i++) {
        status = keep_run(&runs[i], &ends[i], is_cut, err);
        not_ok += status > 0;
        first->failed = runs[i].failed ? runs[i].failed : first->failed;
    }
    for (size_t i = 0; runs && i < count; i++)
        nvt_buffer_free(&runs[i].settings);
    free(runs);
    free(ends);
    return status < 0 ? -1 : not_ok;
}

/* The run at a place of the sweep. */
static void choose(struct nvt_child *run, size_t i)
{
    const struct nvt_sweep *sweep = run->sweep;
    size_t levels = sweep->collect.count;
    size_t repeats = (size_t)sweep->repeat, warmups = sweep->warmup.count;
    run->level = sweep->collect.values[i % levels];
    run->repeat = (int64_t)(i / levels % repeats) + 1;
    run->warmup = sweep->warmup.values[i / levels / repeats % warmups];
    size_t configuration = i / levels / repeats / warmups;
    run->configuration = &sweep->configurations[configuration];
    run->is_launched = sweep->launched && sweep->launched[configuration];
    run->ranks = run->is_launched ? sweep->launched[configuration] : sweep->ranks.size;
}

/* How the row of a run on this device begins, up to a comma. 0 or -1. */
static int write_begin(const struct nvt_child *run, struct nvt_buffer *begin)
{
    struct nvt_json json;
    begin->size = 0;
    nvt_json_begin(&json, begin);
    put_settings(&json, run);
    nvt_json_text(&json, "device", run->sweep->backend.device);
    if (nvt_json_end(&json) || begin->size < 2)
        return -1;
    begin->size -= 2;
    return nvt_buffer_append(begin, ",", 1);
}

/* The rows of an earlier sweep that are of runs of this one, which are not run again. 0, or -1 with err. */
static int keep_earlier(struct nvt_child *run, struct nvt_buffer *kept, struct nvt_error *err)
{
    struct nvt_earlier earlier = {0};
    struct nvt_buffer begin = {0};
    size_t total = nvt_sweep_runs(run->sweep), size;
    run->is_kept = calloc(total, 1);
    int status = run->is_kept ? nvt_earlier_read(run->sweep->directory, &earlier, err)
                              : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < total && !status; i++) {
        choose(run, i);
        if (write_begin(run, &begin)) {
            status = nvt_fail(err, "out of memory");
            break;
        }
        const char *row = nvt_earlier_find(&earlier, run->sweep->directory,
                                           (const char *)begin.data, begin.size, &size);
        run->is_kept[i] = row != NULL;
        if (row && nvt_buffer_append(kept, row, size))
            status = nvt_fail(err, "out of memory");
    }
    nvt_buffer_free(&begin);
    nvt_earlier_free(&earlier);
    return status;
}

/* results.jsonl, with what is kept of an earlier one: it is there as a whole or still the earlier one. */
static int begin_results(const struct nvt_child *run, const struct nvt_buffer *kept,
                         struct nvt_error *err)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s%s", run->results, kept->size ? ".new" : "");
    FILE *results = nvt_create_stream(path);
    int failed = !results ||
                 (kept->size && fwrite(kept->data, 1, kept->size, results) != kept->size) ||
                 fflush(results) || (kept->size && fsync(fileno(results)));
    int cause = errno;
    if (results && fclose(results) && !failed) {
        failed = 1;
        cause = errno;
    }
    if (!failed && kept->size && rename(path, run->results)) {
        failed = 1;
        cause = errno;
    }
    return failed ? nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(cause)) : 0;
}

static int prepare_results(struct nvt_child *run, struct nvt_error *err)
{
    struct nvt_buffer kept = {0};
    int status = run->sweep->resume ? keep_earlier(run, &kept, err) : 0;
    if (!status) {
        const struct nvt_earlier_wish wish = {
            .overwrite = run->sweep->overwrite, .ranks = run->sweep->ranks.size, .staying = &kept};
        status = nvt_earlier_clear(run->sweep->directory, &wish, err);
    }
    if (!status)
        status = begin_results(run, &kept, err);
    nvt_buffer_free(&kept);
    return status;
}

/*
 * No other run shall write to the directory meanwhile. Where files cannot be locked nobody is kept out. What a run that was
 * just killed had started holds the lock until its memory is given back, which may take as long as it is large: some
 * seconds' patience.
 */
static int lock_directory(struct nvt_child *run, struct nvt_error *err)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    int is_taken = 0;

    run->lock = open(run->sweep->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; run->lock >= 0 && i < 300; i++) {
        is_taken = flock(run->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
        if (!is_taken)
            break;
        nanosleep(&pause, NULL);
    }
    if (is_taken)
        return nvt_fail_at(
            err, run->sweep->directory, -1,
            "another nvtally run is writing to it; give this one a directory of its own with -o");
    return 0;
}

/* Remove what a run that was killed has left. */
static void remove_left(const char *directory, const char *begin)
{
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && (entry = nvt_folder_next(folder)) != NULL;)
        if (!strncmp(entry->d_name, begin, strlen(begin)))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

static int prepare(struct nvt_child *run, struct nvt_error *err)
{
    const char *directory = run->sweep->directory;
    ssize_t length = readlink("/proc/self/exe", run->self, sizeof(run->self) - 1);
    if (length <= 0)
        return nvt_fail(err, "/proc/self/exe cannot be read: %s", strerror(errno));
    run->self[length] = 0;
    if (strlen(directory) > 3000)
        return nvt_fail(err, "the output folder's name is too long");
    if (nvt_folder_make(directory))
        return nvt_fail_at(err, directory, -1, "cannot be made: %s", strerror(errno));
    /* Nobody who was left behind by a run before shall write there; the ranks that a launcher starts know no more than the
     * directory. */
    if (run->sweep->launcher)
        snprintf(run->result, sizeof(run->result), "%.3000s/.result-0.json", directory);
    else
        snprintf(run->result, sizeof(run->result), "%.3000s/.result-%d-%ld.json", directory,
                 run->sweep->ranks.rank, (long)getpid());
    if (run->sweep->ranks.rank)
        return 0;
    if (lock_directory(run, err))
        return -1;
    remove_left(directory, run->sweep->ranks.size > 1 ? ".result-0" : ".result-");
    remove_left(directory, ".turns");
    snprintf(run->results, sizeof(run->results), "%.3000s/results.jsonl", directory);
    return prepare_results(run, err) || nvt_environment_write(run->sweep, err) ? -1 : 0;
}

void nvt_quiet_threads(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", "1000", 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);
}

int nvt_sweep_find_nsys(struct nvt_sweep *sweep, const char *given, struct nvt_error *err)
{
    int asked = 0;
    for (size_t i = 0; i < sweep->collect.count; i++)
        asked |= sweep->collect.values[i] == NVT_COLLECT_NSYS;
    if (given && !nvt_is_program(given))
        return nvt_fail(err, "--nsys %s: is not a program that can be run", given);
    if (!asked)
        return given ? nvt_fail(err, "--nsys is for --collect nsys") : 0;
    if (given) {
        snprintf(sweep->nsys, sizeof(sweep->nsys), "%s", given);
        return 0;
    }
    if (!nvt_find_program("nsys", sweep->nsys, sizeof(sweep->nsys)))
        return 0;
    sweep->nsys[0] = 0;
    return nvt_fail(err, "--collect nsys: there is no nsys on PATH; give it with --nsys PATH");
}

size_t nvt_sweep_runs(const struct nvt_sweep *sweep)
{
    return sweep->count * sweep->warmup.count * (size_t)sweep->repeat * sweep->collect.count;
}

/* All runs. The number that are not ok, or -1. */
static int run_all(struct nvt_child *run, struct nvt_error *err)
{
    const struct nvt_sweep *sweep = run->sweep;
    size_t total = nvt_sweep_runs(sweep), levels = sweep->collect.count;
    int takes_turns = sweep->interleave == NVT_INTERLEAVE_ITERATIONS;
    size_t step = takes_turns ? levels : 1;
    struct nvt_progress progress;
    int not_ok = 0, status = 0;
    nvt_progress_begin(&progress, STDERR_FILENO, total);
    for (size_t i = 0; i < total && !nvt_signals_caught(); i += step) {
        if (run->is_kept && run->is_kept[i])
            continue;
        choose(run, i);
        nvt_progress_show(&progress, i, run->configuration->text);
        status = takes_turns ? run_levels(run, err) : run_one(run, err);
        if (status < 0)
            break;
        not_ok += status;
    }
    nvt_progress_end(&progress);
    return status < 0 ? -1 : not_ok;
}

int nvt_sweep_run(const struct nvt_sweep *sweep, struct nvt_sweep_end *end, struct nvt_error *err)
{
    struct nvt_child *run = calloc(1, sizeof(*run));
    struct nvt_served served = {0};
    *end = (struct nvt_sweep_end){0};
    if (!run)
        return nvt_fail(err, "out of memory");
    run->sweep = sweep;
    run->lock = -1;
    run->served = sweep->one_process ? &served : NULL;
    int status = prepare(run, err);
    if (!status) {
        nvt_signals_catch();
        status = run_all(run, err);
        nvt_served_end(&served);
        nvt_signals_leave();
        end->interrupted = nvt_signals_caught();
    }
    end->not_ok = status > 0 ? status : 0;
    end->status = run->failed;
    nvt_buffer_free(&run->settings);
    free(run->is_kept);
    if (run->lock >= 0)
        close(run->lock);
    free(run);
    return status < 0 ? -1 : 0;
}
