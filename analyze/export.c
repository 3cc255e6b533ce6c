/*
 * The command `export`.
 */
#include "exports/export.h"
#include "exports/arrow.h"
#include "exports/frames.h"
#include "exports/losses.h"
#include "exports/merged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/create_file.h"
#include "../lib/keep_file.h"
#include "../lib/wrap.h"
#include "command.h"
#include "readers/reader.h"
#include "input/input.h"
#include "input/shared_reading.h"

static const struct nvt_exporter *const exporters[] = {
    &nvt_exporter_nvt,         &nvt_exporter_sqlite,        &nvt_exporter_chrome,
    &nvt_exporter_chrome_path, &nvt_exporter_perfetto,      &nvt_exporter_csv,
    &nvt_exporter_folded,      &nvt_exporter_folded_device, &nvt_exporter_folded_memory,
    &nvt_exporter_folded_cpu,  &nvt_exporter_svg,
};

#define NAMES                                                                                      \
    "nvt, sqlite, chrome, chrome-path, perfetto, csv, folded, folded-device, folded-memory, "      \
    "folded-cpu, svg, arrow or parquet"

#define EXPORTERS NVT_COUNT_OF(exporters)

static const char usage_text[] =
    "usage: nvtally export FILE --to FORMAT [-o OUT]\n"
    "       nvtally export FILE|DIRECTORY… --to nvt|sqlite|chrome|perfetto -o OUT\n"
    "       nvtally export FILE|DIRECTORY… --to arrow|parquet -o FOLDER\n\n"
    "Converts a trace (.nvt, nsys's .sqlite, PyTorch's .json and .pickle,\n"
    "Perfetto's .pftrace) for other tools; several, of the ranks of a job, into one\n"
    "trace on one time axis.\n\n"
    "      --to FORMAT      nvt: nvtally's own format, small and fast to read; also\n"
    "                       to keep a part of a trace\n"
    "                       sqlite: the schema of nsys's own export\n"
    "                       chrome: trace events, for Perfetto (ui.perfetto.dev)\n"
    "                       perfetto: the same as Perfetto's binary trace, which is\n"
    "                       smaller and opens faster\n"
    "                       chrome-path: trace events, with the critical path in a\n"
    "                       row of its own\n"
    "                       csv: one row per event\n"
    "                       folded: collapsed stacks of host time by ranges, for\n"
    "                       flame graphs (flamegraph.pl, speedscope)\n"
    "                       folded-device: collapsed stacks of device time, with\n"
    "                       kernels below ranges\n"
    "                       folded-memory: collapsed stacks of memory in use at its\n"
    "                       peak, in bytes\n"
    "                       folded-cpu: collapsed stacks of CPU time by ranges and\n"
    "                       functions, from samples\n"
    "                       svg: a picture of the timeline\n"
    "                       arrow, parquet: a file for each table, by rank where\n"
    "                       there are several traces (parquet: with pyarrow)\n"
    "  -o, --output OUT     write to this file, - is stdout (default: stdout; for nvt\n"
    "                       and sqlite, FILE with that ending); an existing trace is\n"
    "                       kept: out.nvt as out.old.nvt, others as OUT.old\n"
    "  -f, --force-overwrite\n"
    "                       replace an existing trace\n" NVT_WINDOW_HELP
    "      --help           this text\n";

struct request {
    const struct nvt_exporter *exporter;
    const char *frames; /* a form of tables, and no exporter (frames.h); NULL */
    char *const *inputs;
    const char *input, *output;   /* the first input */
    int is_merged;                /* it is one of several, or a directory of them */
    const struct nvt_input *read; /* then: those */
    int overwrites;
    struct nvt_window window;
};

static int choose(const struct nvt_option *option, const char *name, struct nvt_error *err)
{
    struct request *request = option->to;
    for (size_t i = 0; i < EXPORTERS; i++)
        if (!strcmp(exporters[i]->name, name)) {
            request->exporter = exporters[i];
            return 0;
        }
    request->frames = nvt_frames_form(name);
    if (request->frames)
        return 0;
    return nvt_fail(err, "export: no format '%s': " NAMES, name);
}

/* Traces for frames, and where to. */
static int take_frames(const struct request *request, char *const *inputs, struct nvt_error *err)
{
    if (!*inputs)
        return nvt_fail(err, "export: no trace or directory was given");
    if (!request->output || !strcmp(request->output, "-"))
        return nvt_fail(err, "export: --to %s writes a folder: name it with -o", request->frames);
    if (nvt_window_is_set(&request->window))
        return nvt_fail(err, "export: --to %s takes whole traces: cut one with --to nvt before",
                        request->frames);
    return 0;
}

/* A trace, or several for one. */
static int take_inputs(struct request *request, int count, struct nvt_error *err)
{
    struct stat status;
    if (!count)
        return nvt_fail(err, "export: give one trace, or those of a job's ranks");
    if (!request->exporter)
        return nvt_fail(err, "export: give a format with --to: " NAMES);
    request->input = request->inputs[0];
    request->is_merged = count > 1 || (!stat(request->input, &status) && S_ISDIR(status.st_mode));
    if (request->is_merged && !request->exporter->is_trace)
        return nvt_fail_at(
            err, request->input, -1,
            "a directory, or one of several: --to %s takes one trace (merge those of "
            "ranks with --to nvt before)",
            request->exporter->name);
    if (request->is_merged && !request->output && request->exporter->ending)
        return nvt_fail(err, "export: several traces have no name of their own: give one with -o");
    if (request->exporter->write_file)
        return nvt_check_not_stdout(request->output, "an export to nvt or sqlite", "file", err);
    if (request->output && !strcmp(request->output, "-"))
        request->output = NULL;
    return 0;
}

static size_t count_of(char *const *inputs)
{
    size_t count = 0;
    while (inputs[count])
        count++;
    return count;
}

/* All tables of all traces, as files for data frames. */
static int export_tables(const struct request *request, struct nvt_error *err)
{
    struct nvt_input input = {.digester = &nvt_whole_traces};
    const int is_arrow = !strcmp(request->frames, "arrow");
    if (nvt_readings_serve(is_arrow ? &input : NULL))
        return 0;
    if (!is_arrow) {
        nvt_readings_leave();
        return nvt_frames_write(request->inputs, request->output, err);
    }
    int status = nvt_input_add_all(&input, request->inputs, count_of(request->inputs), err);
    nvt_readings_leave();
    if (!status)
        status = nvt_input_traces(&input, err);
    if (!status && !input.trace_count)
        status = nvt_fail_at(err, request->inputs[0], -1, "has no trace to export");
    if (!status)
        status = nvt_arrow_folder(&input, request->output, err);
    if (!status)
        nvt_command_notes(&input);
    nvt_input_free(&input);
    return status ? -1 : 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {{"to", .set = choose, .to = request},
                                         {"output", 'o', .text = &request->output},
                                         {"force-overwrite", 'f', .flag = &request->overwrites},
                                         {NVT_TIME_OPTION(&request->window)},
                                         {NVT_RANGE_OPTION(&request->window)},
                                         {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    if (status)
        return status;
    request->inputs = argv + optind;
    return request->frames ? take_frames(request, request->inputs, err)
                           : take_inputs(request, argc - optind, err);
}

/* The input's name with another ending, malloc'ed. */
static char *made_up_name(const char *input, const char *ending)
{
    const char *slash = strrchr(input, '/'), *name_of = slash ? slash : input;
    const char *dot =
        strstr(name_of, ".json.gz") ? strstr(name_of, ".json.gz") : strrchr(name_of, '.');
    size_t length = dot ? (size_t)(dot - input) : strlen(input), room = length + strlen(ending) + 1;
    char *name = malloc(room);
    if (name)
        snprintf(name, room, "%.*s%s", (int)length, input, ending);
    return name;
}

/* Whether a file would go over one that is read. 0, or -1 with err. */
static int check_output(const struct request *request, const char *output, struct nvt_error *err)
{
    const size_t count = request->read ? request->read->trace_count : 0;
    for (size_t i = 0; i < count; i++)
        if (nvt_check_output(output, request->read->traces[i].trace->path, err))
            return -1;
    return request->read ? 0 : nvt_check_output(output, request->input, err);
}

/* Write to a stream, which is closed if it is a file's. 0, or -1 with err. */
static int write_to(FILE *out, const char *name, const struct request *request,
                    const struct nvt_trace *trace, struct nvt_error *err)
{
    if (!out)
        return nvt_fail_at(err, name, -1, "cannot be opened: %s", strerror(errno));
    int status = request->exporter->write(trace, out, err);
    if (nvt_stream_end(out, name, status < 0, err))
        return -1;
    if (status > 0)
        nvt_message(stderr, "note: no %s in %s", request->exporter->of, trace->path);
    return 0;
}

/* Whoever records into a file holds a lock on it. */
static int is_being_written(const char *path, struct nvt_error *err)
{
    int there = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is_locked = there >= 0 && flock(there, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (there >= 0)
        close(there);
    return is_locked ? nvt_fail_at(err, path, -1, "is being written by a recorder") : 0;
}

/* A new file in place of one that was there, which is kept. Frees `fresh`. 0, or -1 with err. */
static int keep_old(char *fresh, const char *path, struct nvt_error *err)
{
    struct nvt_keep_names names;
    int status = nvt_keep_names(path, &names, err);
    if (!status && snprintf(names.fresh, sizeof(names.fresh), "%s", fresh) < 0)
        status = nvt_fail_at(err, path, -1, "has too long a name");
    if (!status && nvt_keep_file(&names))
        status = nvt_fail_at(err, path, -1,
                             "is there and cannot be kept (--force-overwrite replaces it, -o names "
                             "another file): %s",
                             strerror(errno));
    if (!status)
        nvt_message(stderr, "the trace that was there is now %s", names.kept);
    else
        unlink(fresh);
    free(fresh);
    return status;
}

/* As nvt_replacement_end, but a trace that is there is kept, as `record` does. A link alone is replaced, which loses nothing. */
static int end_replacement(char *fresh, const char *path, int failed, const struct request *request,
                           struct nvt_error *err)
{
    struct stat there;
    if (failed || request->overwrites || !request->exporter->is_trace || strcmp(fresh, path) == 0 ||
        lstat(path, &there) || !S_ISREG(there.st_mode) || !there.st_size)
        return nvt_replacement_end(fresh, path, failed, err);
    return keep_old(fresh, path, err);
}

/* To standard output, a pipe or a device, or as a file. */
static int write_stream(const struct request *request, const struct nvt_trace *trace,
                        struct nvt_error *err)
{
    const char *path = request->output;
    if (!path && request->exporter->is_binary && isatty(STDOUT_FILENO))
        return nvt_fail(err, "export: --to %s is binary: name a file with -o",
                        request->exporter->name);
    if (!path)
        return write_to(stdout, "stdout", request, trace, err);
    if (!request->exporter->is_trace && nvt_check_not_trace(path, err))
        return -1;
    char *replacement = nvt_replacement_of(path, err);
    if (!replacement)
        return -1;
    if (strcmp(replacement, path) != 0 &&
        (is_being_written(path, err) || check_output(request, replacement, err))) {
        free(replacement);
        return -1;
    }
    int status = write_to(nvt_create_stream(replacement), path, request, trace, err);
    return end_replacement(replacement, path, status, request, err);
}

/* Made here, as SQLite does not say why it cannot make a file. */
static int write_database(const struct request *request, const char *partial, const char *path,
                          const struct nvt_trace *trace, struct nvt_error *err)
{
    unlink(partial);
    int made = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made < 0)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    close(made);
    return request->exporter->write_file(trace, partial, err);
}

/* Into a file beside the one that is wanted, which then takes its place, also that of a link: what cannot be finished
 * leaves nothing behind. */
static int replace(const struct request *request, const char *path, const struct nvt_trace *trace,
                   struct nvt_error *err)
{
    char *partial;
    if (asprintf(&partial, "%s.partial", path) < 0)
        return nvt_fail_at(err, path, -1, "out of memory");
    if (is_being_written(path, err) || check_output(request, partial, err)) {
        free(partial);
        return -1;
    }
    int failed = write_database(request, partial, path, trace, err);
    if (failed && !strcmp(err->file, partial))
        snprintf(err->file, sizeof(err->file), "%s", path);
    return end_replacement(partial, path, failed, request, err);
}

static int write_file(const struct request *request, const char *path,
                      const struct nvt_trace *trace, struct nvt_error *err)
{
    struct stat status;
    if (!stat(path, &status) && !S_ISREG(status.st_mode))
        return nvt_fail_at(err, path, -1, "is not a regular file, and is not replaced");
    return replace(request, path, trace, err);
}

/* What it is written to where that is not named, malloc'ed. NULL: with err, or where it is a stream. */
static char *name_output(const struct request *request, struct nvt_error *err)
{
    struct stat existing;
    if (request->output || !request->exporter->ending)
        return NULL;
    if (!strcmp(request->input, "-")) {
        nvt_error_set(err, "an export of standard input has no name of its own: give one with -o");
        return NULL;
    }
    if (request->exporter == &nvt_exporter_nvt && nvt_window_is_set(&request->window)) {
        nvt_error_set(err, "a part of a trace has no name of its own: give one with -o");
        return NULL;
    }
    char *name = made_up_name(request->input, request->exporter->ending);
    if (!name)
        nvt_error_set(err, "out of memory");
    else if (!stat(name, &existing)) {
        nvt_error_set_at(err, name, -1, "already exists; name it with -o to replace it");
        free(name);
        name = NULL;
    }
    return name;
}

static void note_losses(const struct request *request, const struct nvt_trace *trace)
{
    struct nvt_buffer lost = {0};
    if (!nvt_export_losses(request->exporter, trace, &lost) && lost.size)
        nvt_message(stderr, "note: %s: left out, as --to %s has no form for it: %.*s", trace->path,
                    request->exporter->name, (int)lost.size, (const char *)lost.data);
    nvt_buffer_free(&lost);
}

static int write_trace(const struct request *request, const struct nvt_trace *trace,
                       struct nvt_error *err)
{
    char *made_up = name_output(request, err);
    const char *path = request->output ? request->output : made_up;
    int status = !path && request->exporter->ending ? -1 : 0;
    if (!status && request->output)
        status = check_output(request, path, err);
    if (!status)
        status = path && request->exporter->write_file ? write_file(request, path, trace, err)
                                                       : write_stream(request, trace, err);
    if (!status)
        note_losses(request, trace);
    if (!status && made_up)
        nvt_message(stderr, "wrote %s", made_up);
    free(made_up);
    return status;
}

static int export_trace(const struct request *request, struct nvt_error *err)
{
    if (nvt_readings_serve(NULL))
        return 0;
    nvt_readings_leave();
    struct nvt_trace *trace = nvt_trace_read(request->input, err);
    if (!trace)
        return -1;
    int status = nvt_input_cut(&request->window, trace, err);
    if (!status && trace->warning)
        nvt_message(stderr, "warning: %s: %s", trace->path, trace->warning);
    for (const char *note = status ? NULL : trace->notes; note && *note;
         note += strcspn(note, "\n") + 1)
        fprintf(stderr, "nvtally: note: %s: %.*s\n", trace->path, (int)strcspn(note, "\n"), note);
    if (!status)
        status = write_trace(request, trace, err);
    nvt_trace_free(trace);
    return status;
}

/* The traces of a job as one. */
static int export_merged(struct request *request, struct nvt_error *err)
{
    struct nvt_input input = {
        .window = &request->window, .leaves_out = 1, .digester = &nvt_whole_traces};
    struct nvt_trace *trace = NULL;
    if (nvt_readings_serve(&input))
        return 0;
    int status = nvt_input_add_all(&input, request->inputs, count_of(request->inputs), err);
    nvt_readings_leave();
    if (!status)
        status = nvt_input_traces(&input, err);
    if (!status && !input.trace_count)
        status = nvt_fail_at(err, request->input, -1, "has no trace to export");
    request->read = &input;
    if (!status && request->output)
        status = check_output(request, request->output, err);
    if (!status && !(trace = nvt_merged(&input, err)))
        status = -1;
    if (!status)
        nvt_command_notes(&input);
    if (!status)
        status = write_trace(request, trace, err);
    nvt_trace_free(trace);
    nvt_input_free(&input);
    request->read = NULL;
    return status;
}

int nvt_cmd_export(int argc, char **argv)
{
    struct request request = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status > 0)
        return 0;
    if (!status)
        status = request.frames      ? export_tables(&request, &err)
                 : request.is_merged ? export_merged(&request, &err)
                                     : export_trace(&request, &err);
    return status ? nvt_command_fail(&err) : 0;
}
