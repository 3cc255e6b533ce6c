/*
 * The command `plot`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../analyze/command.h"
#include "../analyze/input/rows.h"
#include "../analyze/reports/report.h"
#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/create_file.h"
#include "../lib/folder.h"
#include "../lib/wrap.h"
#include "changes.h"
#include "chart.h"
#include "frame.h"
#include "glyphs.h"
#include "gnuplot.h"
#include "svg.h"

/* Every chart that fits the input is drawn. */
#define NVT_CHART_LINE(name) &nvt_chart_##name,
static const struct nvt_chart *const charts[] = {NVT_CHARTS(NVT_CHART_LINE)};
#undef NVT_CHART_LINE
#define CHARTS NVT_COUNT_OF(charts)

const struct nvt_chart *const *nvt_charts(size_t *count)
{
    *count = CHARTS;
    return charts;
}

/* All of a comparison are drawn that have anything to show. */
#define NVT_CHANGE_CHART_LINE(name) &nvt_change_chart_##name,
static const struct nvt_change_chart *const change_charts[] = {
    NVT_CHANGE_CHARTS(NVT_CHANGE_CHART_LINE)};
#undef NVT_CHANGE_CHART_LINE
#define CHANGE_CHARTS NVT_COUNT_OF(change_charts)

const struct nvt_change_chart *const *nvt_change_charts(size_t *count)
{
    *count = CHANGE_CHARTS;
    return change_charts;
}

static const char usage_head[] =
    "usage: nvtally plot [OPTIONS] DIRECTORY|FILE…\n"
    "       nvtally plot [OPTIONS] A… vs B… [vs C…]\n\n"
    "Draws what 'nvtally run' measured, or what a trace contains, with gnuplot, and\n"
    "prints the path of each picture. The script and the data lie next to it. With\n"
    "'vs', draws what 'nvtally compare' finds.\n\n"
    "  -f, --format FORMAT  svg (default), png or pdf\n"
    "  -o, --output DIR     where the pictures go (default: the directory itself, or\n"
    "                       that of the file)\n" NVT_WINDOW_HELP NVT_LAUNCHERS_HELP
        NVT_ITERATION_HELP "      --help           this text\n\n"
    "Charts of a comparison:\n";

/* Whether a file of a chart would go over what was read. 0, or -1 with err: it would. */
static int check_output(const struct nvt_chart_request *request, const char *path,
                        struct nvt_error *err)
{
    return nvt_changes_check_output(request->kept, path, err) ||
                   nvt_input_check_output(request->input, path, err)
               ? -1
               : 0;
}

FILE *nvt_chart_open(const struct nvt_chart_request *request, const char *name, const char *suffix,
                     struct nvt_error *err)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/%s.%s", request->directory, name, suffix) >=
        (int)sizeof(path)) {
        nvt_fail_at(err, request->directory, -1, "is too long a path");
        return NULL;
    }
    if (check_output(request, path, err))
        return NULL;
    FILE *file = nvt_create_stream(path);
    if (!file)
        nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    return file;
}

int nvt_chart_close(const struct nvt_chart_request *request, FILE *file, const char *name,
                    const char *suffix, struct nvt_error *err)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.%s", request->directory, name, suffix);
    if (nvt_stream_end(file, path, 0, err))
        return -1;
    /* An svg is drawn with the fonts of who looks at it. */
    return strcmp(request->format, "svg") ? nvt_glyphs_replace(path, err) : 0;
}

/* What cannot be written whole is not left behind. */
static int write_picture(const struct nvt_chart_request *request, const char *path,
                         const struct nvt_buffer *picture, struct nvt_error *err)
{
    char *replacement = nvt_replacement_of(path, err);
    if (!replacement)
        return -1;
    if (check_output(request, replacement, err)) {
        free(replacement);
        return -1;
    }
    FILE *out = nvt_create_stream(replacement);
    int failed = !out;
    if (!out) {
        nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    } else {
        (void)fwrite(picture->data, 1, picture->size, out); /* the stream knows if it was not */
        failed = nvt_stream_end(out, path, 0, err);
    }
    return nvt_replacement_end(replacement, path, failed, err);
}

/* Run NAME.gp, and finish what it drew with these tips (svg.h), or NULL. 0, or -1 with err. */
static int render(const struct nvt_chart_request *request, const char *name, const char *tips,
                  struct nvt_error *err)
{
    char script[512], path[4096];
    struct nvt_buffer picture = {0};
    snprintf(path, sizeof(path), "%s/%s.%s", request->directory, name, request->format);
    if (check_output(request, path, err))
        return -1;
    snprintf(script, sizeof(script), "%s.gp", name);
    int failed = nvt_gnuplot_run(request->directory, script, &picture, err);
    if (!failed && !strcmp(request->format, "svg") && nvt_svg_finish(&picture, tips))
        failed = nvt_fail(err, "out of memory");
    if (!failed)
        failed = write_picture(request, path, &picture, err);
    nvt_buffer_free(&picture);
    if (!failed)
        fprintf(request->paths, "%s\n", path);
    return failed ? -1 : 0;
}

int nvt_chart_render(const struct nvt_chart_request *request, const char *name,
                     struct nvt_error *err)
{
    return render(request, name, NULL, err);
}

void nvt_chart_provenance(const struct nvt_input *input, struct nvt_frame *frame)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_phases, input, "", NULL);
    if (table)
        nvt_frame_provenance(frame, "", nvt_table_provenance(table));
    nvt_table_free(table);
}

static int write_part(const struct nvt_chart_request *request, const char *name, const char *suffix,
                      nvt_chart_put *put, const void *what, struct nvt_error *err)
{
    FILE *file = nvt_chart_open(request, name, suffix, err);
    if (!file)
        return -1;
    put(request, what, name, file);
    return nvt_chart_close(request, file, name, suffix, err);
}

/* The name, or one with a number behind it that no picture has yet. 0, or -1 with err. */
static int take_name(const struct nvt_chart_request *request, const char *wanted, char *name,
                     size_t size, struct nvt_error *err)
{
    snprintf(name, size, "%s", wanted);
    for (size_t i = 2;
         request->drawn && nvt_strings_find(request->drawn, name, strlen(name)) != NVT_NO_STRING;
         i++)
        snprintf(name, size, "%.200s-%zu", wanted, i);
    return request->drawn && nvt_strings_add_text(request->drawn, name) == NVT_NO_STRING
               ? nvt_fail(err, "out of memory")
               : 0;
}

int nvt_chart_draw(const struct nvt_chart_request *request, const char *wanted,
                   nvt_chart_put *put_data, nvt_chart_put *put_script, const void *what,
                   struct nvt_error *err)
{
    return nvt_chart_draw_tipped(request, wanted,
                                 &(struct nvt_chart_parts){put_data, put_script, NULL}, what, err);
}

int nvt_chart_draw_tipped(const struct nvt_chart_request *request, const char *wanted,
                          const struct nvt_chart_parts *parts, const void *what,
                          struct nvt_error *err)
{
    char name[256], *tips = NULL;
    size_t size = 0;
    if (take_name(request, wanted, name, sizeof(name), err))
        return -1;
    if (write_part(request, name, "dat", parts->data, what, err) ||
        write_part(request, name, "gp", parts->script, what, err))
        return -1;
    FILE *out = parts->tips ? open_memstream(&tips, &size) : NULL;
    if (out)
        parts->tips(request, what, name, out);
    int failed = parts->tips && (!out || fclose(out)) ? nvt_fail(err, "out of memory")
                                                      : render(request, name, tips, err);
    free(tips);
    return failed;
}

/* --- traces --- */

size_t nvt_chart_own_traces(const struct nvt_input *input)
{
    size_t count = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        count += nvt_input_is_own(&input->traces[i]) != 0;
    return count;
}

int nvt_chart_has_time(const struct nvt_trace *trace)
{
    return trace->ranges.count || trace->ops.count;
}

size_t nvt_chart_unclosed(const struct nvt_trace *trace, int push_pop)
{
    size_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += trace->ranges.flags[i] & NVT_RANGE_UNCLOSED &&
                 (!push_pop || trace->ranges.style[i] == NVT_PUSH_POP);
    return count;
}

int nvt_chart_fits(const struct nvt_chart *chart, const struct nvt_input *input)
{
    if (chart->fits)
        return chart->fits(input);
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_input_is_own(&input->traces[i]) && chart->has(input->traces[i].trace))
            return 1;
    return 0;
}

void nvt_chart_trace_name(const struct nvt_input *input, size_t index, char *out, size_t size)
{
    char other[128];
    size_t namesakes = 0;
    nvt_frame_file_name(input->traces[index].trace->path, "", out, size);
    for (size_t i = 0; i < index; i++) {
        nvt_frame_file_name(input->traces[i].trace->path, "", other, sizeof(other));
        namesakes += !strcmp(other, out);
    }
    if (namesakes)
        snprintf(out + strlen(out), size - strlen(out), "-%zu", namesakes + 1);
}

void nvt_chart_traces_name(const struct nvt_input *input, const char *what, char *out, size_t size)
{
    char base[128], more[40] = "";
    if (input->run_count || !input->trace_count ||
        nvt_chart_own_traces(input) < input->trace_count) {
        snprintf(out, size, "%s", what);
        return;
    }
    nvt_chart_trace_name(input, 0, base, sizeof(base));
    if (input->trace_count > 1)
        snprintf(more, sizeof(more), "-and-%zu-more", input->trace_count - 1);
    snprintf(out, size, "%s%s-%s", base, more, what);
}

int nvt_chart_pictures(const struct nvt_chart *chart, const struct nvt_chart_request *request,
                       struct nvt_error *err)
{
    const struct nvt_input *input = request->input;
    size_t drawn = 0;
    if (chart->draw)
        return chart->draw(request, err);
    int status = 0;
    for (size_t i = 0; i < input->trace_count && drawn < NVT_CHART_TRACES && !status; i++) {
        char base[128];
        if (!nvt_input_is_own(&input->traces[i]))
            continue;
        struct nvt_input one = *input;
        one.traces = &input->traces[i];
        one.trace_count = 1;
        one.run_count = 0;
        one.runs = NULL;
        one.launches = NULL;
        one.notes = (struct nvt_buffer){0};
        struct nvt_chart_request alone = *request;
        alone.input = &one;
        nvt_chart_trace_name(input, i, base, sizeof(base));
        status = chart->draw_trace(&alone, base, err);
        nvt_buffer_free(&one.notes);
        drawn++;
    }
    return status;
}

struct options {
    const char *format;
    const char *output; /* NULL: beside the input */
    struct nvt_window window;
    const char *iteration; /* ranges, NULL: those that are called so */
};

/* A folder is wanted; who names a picture would find one of that name. 0, or -1 with err. */
static int set_output(const struct nvt_option *option, const char *path, struct nvt_error *err)
{
    struct stat status;
    const char *dot = strrchr(path, '.');
    if (dot && nvt_picture_format(dot + 1) && stat(path, &status))
        return nvt_fail(err,
                        "plot -o takes a folder for its pictures, and '%s' looks like one of them; "
                        "-f %s sets their format",
                        path, dot + 1);
    return nvt_set_folder(option, path, err);
}

static int set_format(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    *(const char **)option->to = value;
    return nvt_picture_format(value) ? 0
                                     : nvt_fail(err, "no format '%s': " NVT_PICTURE_FORMATS, value);
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct options *options, struct nvt_error *err)
{
    const struct nvt_option known[] = {
        {"format", 'f', .set = set_format, .to = &options->format},
        {"output", 'o', .set = set_output, .to = &options->output, .hint = "a plot"},
        {NVT_TIME_OPTION(&options->window)},
        {NVT_RANGE_OPTION(&options->window)},
        {NVT_LAUNCHERS_OPTION(&options->window)},
        {NVT_ITERATION_OPTION(&options->iteration)},
        {0}};
    const int status = nvt_command_options(argc, argv, known, usage_head, err);
    return status || optind < argc
               ? status
               : nvt_fail(err, "plot: no trace or directory was given; see nvtally plot --help");
}

/* Where pictures of this input go by default. */
static void default_directory(const char *path, char *directory, size_t size)
{
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (!stat(path, &status) && S_ISDIR(status.st_mode))
        snprintf(directory, size, "%s", path);
    else if (slash)
        snprintf(directory, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    else
        snprintf(directory, size, ".");
    for (size_t end = strlen(directory); end > 1 && directory[end - 1] == '/';)
        directory[--end] = 0;
}

/* Draw every chart that fits. 0, or -1 with err. */
static int draw_charts(struct nvt_input *input, const struct options *options,
                       const char *directory, struct nvt_error *err)
{
    const struct nvt_chart_request request = {.input = input,
                                              .directory = directory,
                                              .format = options->format,
                                              .paths = stdout,
                                              .drawn = nvt_strings_new()};
    int status = request.drawn ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < CHARTS && !status; i++)
        if (nvt_chart_fits(charts[i], input))
            status = nvt_chart_pictures(charts[i], &request, err);
    nvt_strings_free(request.drawn);
    return status;
}

static int draw_to(struct nvt_input *input, const struct options *options, const char *path,
                   struct nvt_error *err)
{
    char directory[4096];
    default_directory(path, directory, sizeof(directory));
    int fitting = 0;
    for (size_t i = 0; i < CHARTS; i++)
        fitting += nvt_chart_fits(charts[i], input);
    if (!fitting)
        return nvt_fail_at(err, path, -1, "holds nothing that a chart shows");
    if (options->output && nvt_folder_make(options->output))
        return nvt_fail_at(err, options->output, -1, "cannot be made: %s", strerror(errno));
    int status = draw_charts(input, options, options->output ? options->output : directory, err);
    size_t traces = nvt_chart_own_traces(input);
    if (!status && traces > NVT_CHART_TRACES)
        nvt_message(stderr,
                    "note: charts show the first %d of %zu traces; plot the others by "
                    "themselves",
                    NVT_CHART_TRACES, traces);
    nvt_glyphs_note(options->format);
    return status;
}

/* Draw every chart of a comparison. 0, or -1 with err. */
static int draw_comparison(const struct nvt_changes *changes, const struct options *options,
                           const char *directory, struct nvt_error *err)
{
    struct nvt_input none = {0};
    const struct nvt_chart_request request = {.input = &none,
                                              .directory = directory,
                                              .format = options->format,
                                              .paths = stdout,
                                              .drawn = nvt_strings_new(),
                                              .kept = changes->paths};
    int status = request.drawn ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < CHANGE_CHARTS && !status; i++)
        status = change_charts[i]->draw(&request, changes, err);
    nvt_strings_free(request.drawn);
    nvt_glyphs_note(options->format);
    return status;
}

/* Read what is compared, and draw it. 0, or -1 with err. */
static int plot_comparison(const struct options *options, int count, char **arguments,
                           struct nvt_error *err)
{
    const struct nvt_comparison_request request = {
        .command = "plot", .window = &options->window, .iteration = options->iteration};
    struct nvt_changes changes = {.paths = NULL};
    char directory[4096];
    default_directory(arguments[0], directory, sizeof(directory));
    int status = nvt_changes_read(&changes, &request, 0, count, arguments, err);
    if (!status && options->output && nvt_folder_make(options->output))
        status = nvt_fail_at(err, options->output, -1, "cannot be made: %s", strerror(errno));
    if (!status)
        status =
            draw_comparison(&changes, options, options->output ? options->output : directory, err);
    if (!status)
        nvt_command_lines(changes.comparison.notes.data, changes.comparison.notes.size);
    nvt_changes_free(&changes);
    return status;
}

static void list_charts(void)
{
    for (size_t i = 0; i < CHANGE_CHARTS; i++)
        nvt_put_item(change_charts[i]->name, 17, change_charts[i]->about, NVT_HELP_WIDTH, stdout);
    fputs("\nCharts:\n", stdout);
    for (size_t i = 0; i < CHARTS; i++)
        nvt_put_item(charts[i]->name, 17, charts[i]->about, NVT_HELP_WIDTH, stdout);
}

/* What is given is drawn. 0, or -1 with err. */
static int plot_inputs(const struct options *options, int count, char **arguments,
                       struct nvt_error *err)
{
    struct nvt_input input = {
        .plain_names = 1, .window = &options->window, .iteration = options->iteration};
    int status = 0;
    for (int i = 0; i < count && !status; i++)
        status = nvt_input_add(&input, arguments[i], err);
    if (!status && input.trace_count > 1)
        status = nvt_input_rows(&input, err);
    /* What was found while reading; reports behind a chart note what nobody asked for. */
    nvt_command_notes(&input);
    if (!status)
        status = draw_to(&input, options, arguments[0], err);
    nvt_input_free(&input);
    return status;
}

int nvt_cmd_plot(int argc, char **argv)
{
    struct options options = {.format = "svg"};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &options, &err);
    if (status > 0) {
        list_charts();
        return 0;
    }
    if (!status && nvt_comparison_is_asked(argc - optind, argv + optind))
        status = plot_comparison(&options, argc - optind, argv + optind, &err);
    else if (!status)
        status = plot_inputs(&options, argc - optind, argv + optind, &err);
    return status ? nvt_command_fail(&err) : 0;
}
