/* What a command was given, traces and run directories, as the input of reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../lib/create_file.h"
#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "input_folder.h"
#include "input_read.h"
#include "rows.h"
#include "../readers/reader.h"
#include "input.h"

#define RANKS_MOST 65536

/* What was read becomes the input's. 0, or -1 with err. */
static int add_trace(struct nvt_input *input, struct nvt_reading *reading, struct nvt_error *err)
{
    if (nvt_grow(&input->traces, input->trace_count, sizeof(*input->traces)))
        return nvt_fail(err, "out of memory");
    input->traces[input->trace_count++] = reading->item;
    reading->item = (struct nvt_input_trace){0};
    (void)nvt_buffer_append(&input->notes, reading->notes.data, reading->notes.size);
    return 0;
}

int nvt_input_take(struct nvt_input *input, struct nvt_runs *runs)
{
    if (nvt_grow(&input->runs, input->run_count, sizeof(struct nvt_runs *)))
        return -1;
    input->runs[input->run_count++] = runs;
    return 0;
}

static int add_runs(struct nvt_input *input, const char *path, struct nvt_error *err)
{
    struct nvt_runs *runs = nvt_runs_read(path, err);
    if (!runs)
        return -1;
    if (nvt_input_take(input, runs)) {
        nvt_runs_free(runs);
        return nvt_fail(err, "out of memory");
    }
    if (runs->warning)
        nvt_note(input, "warning: %s", runs->warning);
    return 0;
}

/* The range that names the configuration mostly lies around the window, and is gone then: the fact "configuration" tells it
 * (phases.h), so that what was measured apart stays apart. */
int nvt_input_cut(const struct nvt_window *window, struct nvt_trace *trace, struct nvt_error *err)
{
    uint32_t name;
    if (!nvt_window_is_set(window))
        return 0;
    int status = nvt_rows_configuration(trace, &name);
    if (!status && name != NVT_NO_STRING)
        status = nvt_trace_set_meta(trace, "configuration", nvt_name(trace, name));
    if (status)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    return nvt_window_cut(window, trace, err);
}

/* What to do with a file that cannot be read. */
enum failing { FAILS, LEFT_OUT, LEFT_OUT_IF_NO_TRACE };

static int is_no_trace(const struct nvt_error *broken)
{
    return strstr(broken->message, NVT_NO_TRACE_EVENTS) || strstr(broken->message, NVT_NO_SNAPSHOT);
}

/* What is read twice would count twice, or be a job of twice as many ranks, which nobody means. 0, or -1 with err. */
static int take(struct nvt_input *input, struct nvt_reading *reading, enum failing failing,
                struct nvt_error *err)
{
    char text[1100];
    if (reading->was_given)
        nvt_note(input, "warning: %s: was given twice, and is counted once", reading->path);
    else if (!reading->status)
        return add_trace(input, reading, err);
    else if (failing == LEFT_OUT || (failing == LEFT_OUT_IF_NO_TRACE && is_no_trace(&reading->err)))
        nvt_note(input, "%s: %s: left out", failing == LEFT_OUT ? "warning" : "note",
                 nvt_error_text(&reading->err, text, sizeof(text)));
    else {
        *err = reading->err;
        return -1;
    }
    return 0;
}

/* Files, of which *count gets how many are traces. 0; -1 with err; or 1 with err, where each was left out. */
static int add_files(struct nvt_input *input, char *const *paths, size_t number,
                     enum failing failing, size_t *count, struct nvt_error *err)
{
    const size_t before = input->trace_count;
    struct nvt_reading *readings = calloc(number + 1, sizeof(*readings));
    size_t last = SIZE_MAX, again = 0;
    int status = readings ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; readings && i < number; i++)
        readings[i].path = paths[i];
    if (readings)
        nvt_readings_make(input, readings, number, 0);
    for (size_t i = 0; i < number && !status; i++) {
        status = take(input, &readings[i], failing, err);
        last = readings[i].status ? i : last;
        again += readings[i].was_given != 0;
    }
    *count = input->trace_count - before;
    if (!status && !*count && !again && last != SIZE_MAX) {
        *err = readings[last].err;
        status = 1;
    }
    for (size_t i = 0; readings && i < number; i++)
        nvt_reading_free(input, &readings[i]);
    free(readings);
    return status;
}

/* The traces of a directory, none of which a record names. 0, or not with err. */
static int add_traces_of(struct nvt_input *input, const char *path, size_t *count,
                         struct nvt_error *err)
{
    struct nvt_paths paths = {0};
    *count = 0;
    int status = nvt_folder_traces(path, &paths, err);
    if (!status)
        status = add_files(input, paths.items, paths.count,
                           input->leaves_out ? LEFT_OUT : LEFT_OUT_IF_NO_TRACE, count, err);
    nvt_paths_free(&paths);
    return status;
}

/* A run that was killed before its first row was written has left traces. */
static int add_run(struct nvt_input *input, const char *path, struct nvt_error *err)
{
    size_t count = 0;
    if (add_runs(input, path, err))
        return -1;
    if (input->runs[input->run_count - 1]->count)
        return 0;
    int status = add_traces_of(input, path, &count, err);
    if (!status && count)
        nvt_note(input, "note: %s: none of its runs has a row; its traces are read instead", path);
    return status;
}

/* The run that a directory holds, or else its traces. */
static int add_directory(struct nvt_input *input, const char *path, struct nvt_error *err)
{
    size_t count = 0;
    if (nvt_folder_is_run(path))
        return nvt_window_is_set(input->window)
                   ? nvt_fail_at(err, path, -1,
                                 "has rows of whole runs: --filter-time and --filter-nvtx work on "
                                 "traces, such as those in it")
                   : add_run(input, path, err);
    if (add_traces_of(input, path, &count, err))
        return -1;
    return count
               ? 0
               : nvt_fail_at(
                     err, path, -1,
                     "has no results.jsonl and no trace: not a directory that 'nvtally run' wrote");
}

static int is_directory(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

int nvt_input_add(struct nvt_input *input, const char *path, struct nvt_error *err)
{
    size_t count;
    if (!is_directory(path))
        return add_files(input, &(char *){(char *)(uintptr_t)path}, 1, FAILS, &count, err);
    /* Without the '/' that a shell completes: what lies in it is named behind one of ours. */
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char *directory = strndup(path, length);
    int failed = directory ? add_directory(input, directory, err) : nvt_fail(err, "out of memory");
    free(directory);
    return failed;
}

int nvt_input_add_all(struct nvt_input *input, char *const *paths, size_t count,
                      struct nvt_error *err)
{
    const enum failing failing = input->leaves_out && count > 1 ? LEFT_OUT : FAILS;
    const size_t before = input->trace_count;
    struct nvt_error none = NVT_ERROR_INIT;
    int status = 0;
    for (size_t i = 0, files, read; i < count && !status; i += files) {
        for (files = 0; i + files < count && !is_directory(paths[i + files]);)
            files++;
        if (!files) {
            status = nvt_input_add(input, paths[i + files++], err);
            continue;
        }
        status = add_files(input, paths + i, files, failing, &read, err);
        /* Others may be there. */
        if (status > 0) {
            none = *err;
            status = 0;
        }
    }
    if (!status && none.message[0] && input->trace_count == before && !input->run_count) {
        *err = none;
        status = -1;
    }
    return status;
}

/* A trace lies in its run's directory: a name that leads out of it is not followed. */
static int stays_within(const char *name)
{
    return *name && *name != '/' && strcmp(name, "..") && strncmp(name, "../", 3) &&
           !strstr(name, "/../") && !(strlen(name) > 2 && !strcmp(name + strlen(name) - 3, "/.."));
}

static int add_named(struct nvt_input *input, const struct nvt_runs *runs, size_t record,
                     const char *name, struct nvt_error *err)
{
    char *path;
    if (!stays_within(name)) {
        nvt_note(input, "warning: %s: the trace '%s' of a record lies outside of it, left out",
                 runs->path, name);
        return 0;
    }
    if (asprintf(&path, "%s/%s", runs->path, name) < 0)
        return nvt_fail(err, "out of memory");
    struct nvt_reading reading = {.path = path, .item = {.runs = runs, .record = record}};
    char text[1100];
    nvt_readings_make(input, &reading, 1, 1);
    /* Records of a run are told apart even where they name one file. */
    if (!reading.status && reading.was_given)
        nvt_note(input, "warning: %s: was given before, and is counted again", path);
    int status = reading.status && input->compensate ? -1 : 0;
    if (status)
        *err = reading.err;
    else if (reading.status)
        nvt_note(input, "warning: %s: the results of its run are used instead",
                 nvt_error_text(&reading.err, text, sizeof(text)));
    else
        status = add_trace(input, &reading, err);
    nvt_reading_free(input, &reading);
    free(path);
    return status;
}

/* A run over several ranks names the trace of rank 0; the others' differ in that number. */
static int add_recorded(struct nvt_input *input, const struct nvt_runs *runs, size_t record,
                        struct nvt_error *err)
{
    const char *name = nvt_record_text(&runs->records[record], "trace");
    double ranks = nvt_record_number(&runs->records[record], "ranks");
    if (!name || add_named(input, runs, record, name, err))
        return name ? -1 : 0;
    const char *first = strstr(name, "-rank0.");
    for (int rank = 1; first && rank < ranks && rank < RANKS_MOST; rank++) {
        char *other;
        if (asprintf(&other, "%.*s-rank%d.%s", (int)(first - name), name, rank,
                     first + strlen("-rank0.")) < 0)
            return nvt_fail(err, "out of memory");
        int status = add_named(input, runs, record, other, err);
        free(other);
        if (status)
            return -1;
    }
    return 0;
}

int nvt_input_traces(struct nvt_input *input, struct nvt_error *err)
{
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t record = 0; record < input->runs[i]->count; record++)
            if (add_recorded(input, input->runs[i], record, err))
                return -1;
    return 0;
}

uint64_t nvt_input_signature(const struct nvt_input *input)
{
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < input->trace_count; i++) {
        struct stat status;
        uint64_t parts[4] = {0};
        if (!stat(input->traces[i].trace->path, &status) && S_ISREG(status.st_mode)) {
            parts[0] = (uint64_t)status.st_size;
            parts[1] = (uint64_t)status.st_ino;
            parts[2] = (uint64_t)status.st_mtim.tv_sec;
            parts[3] = (uint64_t)status.st_mtim.tv_nsec;
        }
        for (size_t k = 0; k < NVT_COUNT_OF(parts); k++)
            sum = (sum ^ parts[k]) * 1099511628211u;
    }
    return sum;
}

int nvt_input_has_trace(const struct nvt_input *input, const struct nvt_runs *runs, size_t record)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].runs == runs && input->traces[i].record == record)
            return 1;
    return 0;
}

/* The file of a run directory, read or not. */
static int check_named(const struct nvt_runs *runs, const char *name, const char *output,
                       struct nvt_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", runs->path, name) < 0)
        return nvt_fail(err, "out of memory");
    int status = nvt_check_output(output, path, err);
    free(path);
    return status;
}

static int check_runs(const struct nvt_runs *runs, const char *output, struct nvt_error *err)
{
    int status = check_named(runs, "results.jsonl", output, err) ||
                 check_named(runs, "env.json", output, err);
    for (size_t i = 0; i < runs->count && !status; i++) {
        const char *trace = nvt_record_text(&runs->records[i], "trace");
        status = trace ? check_named(runs, trace, output, err) : 0;
    }
    return status;
}

int nvt_input_check_output(const struct nvt_input *input, const char *output, struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = nvt_check_output(output, input->traces[i].trace->path, err);
    for (size_t i = 0; i < input->run_count && !status; i++)
        status = check_runs(input->runs[i], output, err);
    return status || nvt_check_not_trace(output, err) ? -1 : 0;
}

void nvt_input_free(struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        nvt_input_trace_free(input, &input->traces[i]);
    for (size_t i = 0; i < input->run_count; i++)
        nvt_runs_free(input->runs[i]);
    free(input->traces);
    free(input->runs);
    nvt_buffer_free(&input->notes);
    *input = (struct nvt_input){0};
}
