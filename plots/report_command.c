/*
 * The command `report`.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../analyze/command.h"
#include "../analyze/diagnosis/diagnosed.h"
#include "../analyze/input/input_folder.h"
#include "../analyze/input/rows.h"
#include "../analyze/input/shared_reading.h"
#include "../lib/axis.h"
#include "../lib/commands.h"
#include "../lib/create_file.h"
#include "../lib/folder.h"
#include "../lib/shell.h"
#include "../lib/temporary.h"
#include "../lib/text.h"
#include "../lib/wrap.h"
#include "chart.h"
#include "glyphs.h"
#include "story.h"
#include "story_change.h"

enum { PICTURES_MOST = 200, EMBED_DEFAULT = 2 << 20, EMBED_MOST = 1 << 30 };

static const char usage_text[] =
    "usage: nvtally report DIRECTORY|FILE… [-o FILE] [OPTIONS]\n"
    "       nvtally report A… vs B… [vs C…] [-o FILE] [OPTIONS]\n\n"
    "Writes one document of runs (directories of nvtally run or nvtally import) and\n"
    "traces: findings, the overview, charts and tables, the environment, and how to\n"
    "reproduce it. With 'vs', what 'nvtally compare' finds between the sides, with\n"
    "its charts.\n\n"
    "  -o, --output FILE    NAME.html, one file that loads nothing else; NAME.md;\n"
    "                       NAME.tex, with its pictures as NAME-….pdf next to it\n"
    "                       (default: report.html in the directory; for a trace,\n"
    "                       NAME.report.html next to it; with 'vs', change.html)\n"
    "      --title TEXT     instead of the names of the workloads or files\n"
    "      --embed SIZE     bytes of the timeline in HTML (default 2M; 0: none)\n" NVT_WINDOW_HELP
        NVT_LAUNCHERS_HELP NVT_ITERATION_HELP "      --help           this text\n";

struct request {
    const char *output, *title;
    struct nvt_window window;
    uint64_t embed;
    const char *iteration; /* ranges, NULL: those that are called so */
    const struct nvt_document_format *format;
    char path[4096];    /* of the document */
    const char *folder; /* that pictures are drawn in, temporary */
    char *command;      /* line that was typed */
    char *reason;       /* why there are no pictures, or NULL */
    struct nvt_story_picture pictures[PICTURES_MOST];
    size_t picture_count;
    int is_comparison;
    struct nvt_input input;     /* of a comparison empty */
    struct nvt_changes changes; /* of a comparison */
};

/* What draws pictures: one of them, the other NULL. */
struct drawing {
    const struct nvt_chart *chart;
    const struct nvt_change_chart *of_changes;
};

static int set_embed(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    uint64_t *embed = option->to;
    *embed = 0;
    return strcmp(value, "0") != 0 && nvt_axis_bytes(value, EMBED_MOST, embed)
               ? nvt_fail(err, "--embed %s: must be a size such as 2M, at most 1G, or 0", value)
               : 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {"output", 'o', .set = nvt_set_file, .to = &request->output, .hint = "a report"},
        {"title", .text = &request->title},
        {"embed", .set = set_embed, .to = &request->embed},
        {NVT_TIME_OPTION(&request->window)},
        {NVT_RANGE_OPTION(&request->window)},
        {NVT_LAUNCHERS_OPTION(&request->window)},
        {NVT_ITERATION_OPTION(&request->iteration)},
        {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    return status || optind < argc
               ? status
               : nvt_fail(err,
                          "report: no trace or directory was given; see nvtally report --help");
}

/* Whether a document can be named after an input: standard input and pipes, as a shell makes them in /dev/fd, have
 * neither a name nor a place. */
static int has_name(const char *input)
{
    struct stat status;
    return strcmp(input, "-") != 0 && strncmp(input, "/dev/", 5) != 0 &&
           (stat(input, &status) || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/* report.html in the directory; of one trace NAME.report.html next to it, of several report.html there; change.html of a comparison. */
static int default_path(char *path, size_t size, int count, const char *first, const char *whole)
{
    struct stat status;
    const char *slash = strrchr(first, '/'), *name = slash ? slash + 1 : first;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot > name ? (size_t)(dot - first) : strlen(first);
    if (!stat(first, &status) && S_ISDIR(status.st_mode))
        return snprintf(path, size, "%s/%s.html", first, whole);
    if (count > 1)
        return snprintf(path, size, "%.*s%s.html", (int)(name - first), first, whole);
    return snprintf(path, size, "%.*s.report.html", (int)stem, first);
}

static int find_output(struct request *request, int count, const char *first, struct nvt_error *err)
{
    if (!request->output && !has_name(first))
        return nvt_fail(
            err, "a report of standard input or a pipe has no name of its own: give one with -o");
    int length = request->output
                     ? snprintf(request->path, sizeof(request->path), "%s", request->output)
                     : default_path(request->path, sizeof(request->path), count, first,
                                    request->is_comparison ? "change" : "report");
    if (length >= (int)sizeof(request->path) - 300)
        return nvt_fail(err, "the path of the document is too long");
    request->format = nvt_document_format(request->path);
    return request->format ? 0
                           : nvt_fail(err, "-o %s: must end in .html, .md or .tex", request->path);
}

/* The file that takes the document's place when it is whole. */
static void name_part(const struct request *request, char *part, size_t size)
{
    snprintf(part, size, "%s.part", request->path);
}

/* Whether a file would go over what was read. 0, or -1 with err: it would. */
static int check_output(const struct request *request, const char *path, struct nvt_error *err)
{
    return nvt_changes_check_output(request->changes.paths, path, err) ||
                   nvt_input_check_output(&request->input, path, err)
               ? -1
               : 0;
}

/* Folders for it, where no input is in its way. */
static int prepare_output(const struct request *request, struct nvt_error *err)
{
    char part[4400];
    name_part(request, part, sizeof(part));
    if (check_output(request, request->path, err) || check_output(request, part, err))
        return -1;
    if (nvt_folder_make_above(request->path))
        return nvt_fail_at(err, request->path, -1, "cannot be written: %s", strerror(errno));
    return 0;
}

/* --- pictures --------------------------------------------------------------------------------- */

static int is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/* A document's name in plain characters, none of them '-' at the beginning: what TeX and shells take. One
 * that was not so gets a number of its own behind it, by which it stays apart from others. */
static void plain_name(const char *name, size_t length, char *out, size_t size)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    size_t used = 0;
    int is_same = length > 0 && *name != '-';
    for (size_t i = 0; i < length; i++) {
        char c = is_plain(name[i]) ? name[i] : '-';
        is_same = is_same && c == name[i];
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
        int follows = used && (c == name[i] || out[used - 1] != '-');
        if ((c != '-' || follows) && used + 1 < size)
            out[used++] = c;
    }
    while (!is_same && used && out[used - 1] == '-')
        used--;
    out[used] = 0;
    if (!is_same)
        snprintf(out + used, size - used, "%s-%08" PRIx32, used ? "" : "report", hash);
}

/* The picture beside the document, as NAME-CHART.pdf. */
static int place_beside(const struct request *request, const char *picture, char *path, size_t size,
                        struct nvt_error *err)
{
    const char *name = nvt_file_name(request->path);
    char stem[400];
    size_t length;
    plain_name(name, (size_t)(strrchr(name, '.') - name), stem, sizeof(stem));
    snprintf(path, size, "%.*s%s-%.200s", (int)(name - request->path), request->path, stem,
             strrchr(picture, '/') + 1);
    if (check_output(request, path, err))
        return -1;
    char *data = nvt_document_read(picture, &length, err);
    if (!data)
        return -1;
    FILE *file = nvt_create_stream(path);
    int failed = !file || fwrite(data, 1, length, file) != length;
    if (file && fclose(file))
        failed = 1;
    free(data);
    return failed ? nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno)) : 0;
}

static int add_picture(struct request *request, const struct drawing *drawing, const char *picture,
                       struct nvt_error *err)
{
    char placed[4500], what[500];
    if (request->picture_count == PICTURES_MOST)
        return 0;
    snprintf(placed, sizeof(placed), "%s", picture);
    if (!request->format->pictures_within &&
        place_beside(request, picture, placed, sizeof(placed), err))
        return -1;
    snprintf(what, sizeof(what), "%s",
             drawing->chart ? drawing->chart->about : drawing->of_changes->about);
    what[0] = (char)toupper((unsigned char)what[0]);
    struct nvt_story_picture *added = &request->pictures[request->picture_count++];
    added->path = strdup(placed);
    added->title = strdup(what);
    added->part = drawing->chart ? drawing->chart->part : NVT_CHART_NOWHERE;
    return added->path && added->title ? 0 : nvt_fail(err, "out of memory");
}

/* Draw a chart into the folder. What gnuplot cannot do is a reason, no failure. */
static int draw_charts(struct request *request, const struct drawing *drawing,
                       struct nvt_error *err)
{
    struct nvt_error trouble = NVT_ERROR_INIT;
    char *paths = NULL, text[1200];
    size_t size = 0;
    int status = 0, failed;
    FILE *list = open_memstream(&paths, &size);
    if (!list)
        return nvt_fail(err, "out of memory");
    const struct nvt_chart_request how = {.input = &request->input,
                                          .directory = request->folder,
                                          .format = request->format->picture,
                                          .paths = list,
                                          .drawn = nvt_strings_new(),
                                          .is_within_document = 1};
    if (!how.drawn)
        failed = nvt_fail(&trouble, "out of memory");
    else
        failed = drawing->chart ? nvt_chart_pictures(drawing->chart, &how, &trouble)
                                : drawing->of_changes->draw(&how, &request->changes, &trouble);
    nvt_strings_free(how.drawn);
    if (fclose(list))
        status = nvt_fail(err, "out of memory");
    if (failed && !request->reason) {
        nvt_error_text(&trouble, text, sizeof(text));
        request->reason = strdup(text);
        nvt_message(stderr, "warning: charts are left out: %s", text);
    }
    char *rest = paths;
    for (char *path; rest && !status && (path = strsep(&rest, "\n")) && *path;)
        status = add_picture(request, drawing, path, err);
    free(paths);
    return status;
}

/* All that fit the input, or those of a comparison. */
static int draw_all(struct request *request, struct nvt_error *err)
{
    size_t count, changes;
    const struct nvt_chart *const *charts = nvt_charts(&count);
    const struct nvt_change_chart *const *of_changes = nvt_change_charts(&changes);
    request->folder = nvt_temporary_make("report");
    if (!request->folder)
        return nvt_fail(err, "no temporary folder: %s", strerror(errno));
    int status = 0;
    for (size_t i = 0; i < count && !request->is_comparison && !status && !request->reason; i++)
        if (nvt_chart_fits(charts[i], &request->input))
            status = draw_charts(request, &(struct drawing){charts[i], NULL}, err);
    for (size_t i = 0; i < changes && request->is_comparison && !status && !request->reason; i++)
        status = draw_charts(request, &(struct drawing){NULL, of_changes[i]}, err);
    nvt_glyphs_note(request->format->picture);
    return status;
}

/* --- the document ----------------------------------------------------------------------------- */

/* A document that could not be written whole is not left behind in place of an earlier one. */
static int write_document(const struct request *request, const struct nvt_document *document,
                          struct nvt_error *err)
{
    char part[4400];
    name_part(request, part, sizeof(part));
    FILE *out = nvt_create_stream(part);
    if (!out)
        return nvt_fail_at(err, request->path, -1, "cannot be written: %s", strerror(errno));
    int failed = request->format->write(document, out, err);
    int status = nvt_stream_end(out, request->path, failed, err);
    if (!status && rename(part, request->path))
        status = nvt_fail_at(err, request->path, -1, "cannot be written: %s", strerror(errno));
    if (status)
        unlink(part);
    return status;
}

static void print_paths(const struct request *request)
{
    printf("%s\n", request->path);
    for (size_t i = 0; i < request->picture_count && !request->format->pictures_within; i++)
        printf("%s\n", request->pictures[i].path);
}

/* Of several files what diagnose finds in each is found where it is read. 0, or -1 with err. */
static int read_input(struct request *request, int count, char **inputs, struct nvt_error *err)
{
    struct nvt_input *input = &request->input;
    const int status = nvt_input_add_all(input, inputs, (size_t)count, err);
    nvt_readings_leave();
    return status || (input->trace_count > 1 && nvt_input_rows(input, err)) ? -1 : 0;
}

static int report(struct request *request, int count, char **inputs, struct nvt_error *err)
{
    struct nvt_input *input = &request->input;
    struct nvt_document document = {0};
    int status = -1;
    *input = (struct nvt_input){.plain_names = 1,
                                .window = &request->window,
                                .iteration = request->iteration,
                                .digester =
                                    nvt_folder_has_several(inputs) ? &nvt_diagnosed_whole : NULL};
    if (nvt_readings_serve(input))
        return 0;
    if (read_input(request, count, inputs, err))
        goto out;
    if (find_output(request, count, inputs[0], err) || nvt_input_traces(input, err) ||
        nvt_diagnosed_settle(input, err) || prepare_output(request, err) || draw_all(request, err))
        goto out;
    const struct nvt_story story = {
        input,
        request->title,
        request->command,
        request->pictures,
        request->picture_count,
        request->reason,
        strcmp(request->format->suffix, "html") ? 0 : (size_t)request->embed};
    if (nvt_story_tell(&story, &document, err) || write_document(request, &document, err))
        goto out;
    print_paths(request);
    nvt_command_warnings(input);
    status = 0;
out:
    nvt_document_free(&document);
    nvt_input_free(input);
    return status;
}

/* Read the first trace of either side, where there are two of them; what is not read has no timeline. */
static void read_timelines(const struct request *request, int count, char **arguments,
                           struct nvt_input sides[2])
{
    struct nvt_error ignored = NVT_ERROR_INIT;
    int vs = 0, others = 0;
    for (int i = 0; i < count; i++)
        if (!strcmp(arguments[i], "vs"))
            vs = others++ ? vs : i;
    for (int i = 0; i < 2 && others == 1 && vs + 1 < count; i++) {
        sides[i] = (struct nvt_input){
            .plain_names = 1, .window = &request->window, .iteration = request->iteration};
        if (nvt_input_add(&sides[i], arguments[i ? vs + 1 : 0], &ignored) ||
            nvt_input_traces(&sides[i], &ignored))
            break;
    }
}

/* The document of a comparison. */
static int report_changes(struct request *request, int count, char **sides, struct nvt_error *err)
{
    const struct nvt_comparison_request how = {
        .command = "report", .window = &request->window, .iteration = request->iteration};
    struct nvt_changes *changes = &request->changes;
    struct nvt_document document = {0};
    struct nvt_input shown[2] = {0};
    if (nvt_readings_serve(NULL))
        return 0;
    nvt_readings_leave();
    request->is_comparison = 1;
    int status = find_output(request, count, sides[0], err) ||
                 nvt_changes_read(changes, &how, 1, count, sides, err);
    if (!status)
        status = prepare_output(request, err) || draw_all(request, err);
    if (!status) {
        const int has_timeline = !strcmp(request->format->suffix, "html") && request->embed;
        if (has_timeline)
            read_timelines(request, count, sides, shown);
        const struct nvt_change_story story = {changes,
                                               request->title,
                                               request->command,
                                               request->pictures,
                                               request->picture_count,
                                               request->reason,
                                               has_timeline ? shown : NULL,
                                               (size_t)request->embed};
        status = nvt_change_story_tell(&story, &document, err);
    }
    if (!status)
        status = write_document(request, &document, err);
    if (!status) {
        print_paths(request);
        nvt_command_lines(changes->comparison.notes.data, changes->comparison.notes.size);
    }
    nvt_document_free(&document);
    for (size_t i = 0; i < 2; i++)
        nvt_input_free(&shown[i]);
    nvt_changes_free(changes);
    return status ? -1 : 0;
}

/* The command line, malloc'ed, NULL when out of memory. */
static char *join(char **argv)
{
    struct nvt_buffer text = {0};
    if (nvt_buffer_printf(&text, "nvtally ") || nvt_shell_join(&text, argv) ||
        nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

int nvt_cmd_report(int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct request *request = calloc(1, sizeof(*request));
    int status = request ? 0 : nvt_fail(&err, "out of memory");
    if (!status)
        request->embed = EMBED_DEFAULT;
    if (!status && !(request->command = join(argv)))
        status = nvt_fail(&err, "out of memory");
    if (!status)
        status = parse(argc, argv, request, &err);
    if (!status)
        status = nvt_comparison_is_asked(argc - optind, argv + optind)
                     ? report_changes(request, argc - optind, argv + optind, &err)
                     : report(request, argc - optind, argv + optind, &err);
    if (status < 0)
        (void)nvt_command_fail(&err);
    nvt_temporary_remove();
    if (request) {
        for (size_t i = 0; i < request->picture_count; i++) {
            free((char *)request->pictures[i].path);
            free((char *)request->pictures[i].title);
        }
        free(request->command);
        free(request->reason);
    }
    free(request);
    return status < 0 ? 2 : 0;
}
