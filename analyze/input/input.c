/* What a command was given, traces and run directories, as the input of reports. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../lib/create_file.h"
#include "../../lib/grow.h"
#include "input_folder.h"
#include "rows.h"
#include "../model/launchers.h"
#include "../model/leaked_pushes.h"
#include "../model/named_iterations.h"
#include "../model/alike_names.h"
#include "../model/plain_names.h"
#include "../readers/reader.h"
#include "input.h"

#define RANKS_MOST 65536

static void free_trace(struct nvt_input_trace *item)
{
    nvt_trace_free(item->trace);
    if (item->launches)
        nvt_launches_free(item->launches);
    free(item->launches);
}

/* Which file a path is, and whether it was given before. Device and number 0: no file, which never was. */
static int was_given(const struct nvt_input *input, const char *path, uint64_t file[2])
{
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return 0;
    file[0] = (uint64_t)status.st_dev;
    file[1] = (uint64_t)status.st_ino;
    for (size_t i = 0; i < input->trace_count; i++)
        if (!memcmp(input->traces[i].file, file, sizeof(input->traces[i].file)))
            return 1;
    return 0;
}

/* 0, or -1 when out of memory. */
static int note_leaked(struct nvt_input *input, const struct nvt_trace *trace)
{
    struct nvt_leaked_pushes leaked;
    const int found = nvt_leaked_pushes_find(trace, &leaked);
    if (found > 0)
        nvt_note(input,
                 "note: %s: range %s was pushed %u times and never popped (thread %lld): a return, "
                 "continue or exception skips the pop; what comes behind counts as within it",
                 trace->path, nvt_name(trace, leaked.name), leaked.pushed,
                 (long long)trace->threads.tid[leaked.thread]);
    return found < 0 ? -1 : 0;
}

static int add_trace(struct nvt_input *input, struct nvt_input_trace item, struct nvt_error *err)
{
    const struct nvt_trace *trace = item.trace;
    if (nvt_grow(&input->traces, input->trace_count, sizeof(*input->traces))) {
        free_trace(&item);
        return nvt_fail(err, "out of memory");
    }
    input->traces[input->trace_count++] = item;
    if (trace->warning)
        nvt_note(input, "warning: %s: %s", trace->path, trace->warning);
    for (const char *note = trace->notes; note && *note;) {
        size_t length = strcspn(note, "\n");
        nvt_note(input, "note: %s: %.*s", trace->path, (int)length, note);
        note += length + (note[length] == '\n');
    }
    return note_leaked(input, trace) ? nvt_fail(err, "out of memory") : 0;
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

static int leave_out_launchers(const struct nvt_window *window, struct nvt_trace *trace,
                               struct nvt_error *err)
{
    return !(window && window->launchers) && nvt_launchers_leave_out(trace)
               ? nvt_fail_at(err, trace->path, -1, "out of memory")
               : 0;
}

static int group_names(struct nvt_input *input, struct nvt_trace *trace, struct nvt_error *err)
{
    const int is_asked = input->grouping == NVT_GROUP_ALL;
    uint32_t example, names;
    if (input->grouping == NVT_GROUP_NONE)
        return 0;
    if (nvt_alike_ranges(trace, is_asked ? 0 : NVT_MANY_NAMES, &example, &names, err))
        return -1;
    if (!is_asked && example != NVT_NO_STRING)
        nvt_note(input,
                 "note: %s: of %" PRIu32 " names, those that differ only in a number are one, such "
                 "as %.60s (--every-name: not)",
                 trace->path, names, nvt_name(trace, example));
    return 0;
}

/* *item gets the trace. 0 or -1. */
static int read_trace(struct nvt_input *input, const char *path, struct nvt_input_trace *item,
                      struct nvt_error *err)
{
    if (input->compensate)
        item->trace = nvt_trace_read_compensated(path, err);
    else if (input->only_launches)
        item->trace = nvt_trace_read_launches(path, &item->launches, err);
    else
        item->trace = nvt_trace_read(path, err);
    if (!item->trace)
        return -1;
    if ((!input->iteration || !nvt_iterations_set(item->trace, input->iteration, err)) &&
        !leave_out_launchers(input->window, item->trace, err) &&
        !nvt_input_cut(input->window, item->trace, err) &&
        (!input->plain_names || !nvt_plain_names(item->trace, err)) &&
        !group_names(input, item->trace, err))
        return 0;
    nvt_trace_free(item->trace);
    item->trace = NULL;
    return -1;
}

/* What is read twice would count twice, or be a job of twice as many ranks, which nobody means. */
static int add_file(struct nvt_input *input, const char *path, struct nvt_error *err)
{
    struct nvt_input_trace item = {0};
    if (was_given(input, path, item.file)) {
        nvt_note(input, "warning: %s: was given twice, and is counted once", path);
        return 0;
    }
    return read_trace(input, path, &item, err) ? -1 : add_trace(input, item, err);
}

/* The traces of a directory, none of which a record names. */
static int add_traces_of(struct nvt_input *input, const char *path, size_t *count,
                         struct nvt_error *err)
{
    struct nvt_paths paths = {0};
    struct nvt_error other = NVT_ERROR_INIT;
    char text[1100];
    int status = nvt_folder_traces(path, &paths, err);
    *count = 0;
    for (size_t i = 0; i < paths.count && !status; i++) {
        struct nvt_error broken = NVT_ERROR_INIT;
        if (!add_file(input, paths.items[i], &broken)) {
            ++*count;
        } else if (strstr(broken.message, NVT_NO_TRACE_EVENTS) ||
                   strstr(broken.message, NVT_NO_SNAPSHOT)) {
            nvt_note(input, "note: %s: left out", nvt_error_text(&broken, text, sizeof(text)));
            other = broken;
        } else {
            *err = broken;
            status = -1;
        }
    }
    if (!status && !*count && paths.count) {
        *err = other;
        status = -1;
    }
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

int nvt_input_add(struct nvt_input *input, const char *path, struct nvt_error *err)
{
    struct stat status;
    if (stat(path, &status) || !S_ISDIR(status.st_mode))
        return add_file(input, path, err);
    /* Without the '/' that a shell completes: what lies in it is named behind one of ours. */
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char *directory = strndup(path, length);
    int failed = directory ? add_directory(input, directory, err) : nvt_fail(err, "out of memory");
    free(directory);
    return failed;
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
    struct nvt_error broken = NVT_ERROR_INIT;
    struct nvt_input_trace item = {.runs = runs, .record = record};
    int status = read_trace(input, path, &item, &broken);
    /* Records of a run are told apart even where they name one file. */
    if (!status && was_given(input, path, item.file))
        nvt_note(input, "warning: %s: was given before, and is counted again", path);
    free(path);
    if (!status)
        return add_trace(input, item, err);
    if (input->compensate) {
        *err = broken;
        return -1;
    }
    char text[1100];
    nvt_note(input, "warning: %s: the results of its run are used instead",
             nvt_error_text(&broken, text, sizeof(text)));
    return 0;
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
        free_trace(&input->traces[i]);
    for (size_t i = 0; i < input->run_count; i++)
        nvt_runs_free(input->runs[i]);
    free(input->traces);
    free(input->runs);
    nvt_buffer_free(&input->notes);
    *input = (struct nvt_input){0};
}
