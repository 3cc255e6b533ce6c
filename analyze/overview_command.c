/*
 * What people see first of traces: `stats` without options, and the end of `record`.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/commands.h"
#include "../lib/render.h"
#include "../lib/shell.h"
#include "command.h"
#include "overview/overview_text.h"
#include "input/also_recorded.h"
#include "studies/unfinished.h"

/* Larger traces take their time to be read, which is asked for and not imposed. */
#define SHOWN_MOST (INT64_C(256) << 20)

int nvt_command_overview(struct nvt_input *input, const char *arguments, enum nvt_color color,
                         FILE *out, struct nvt_error *err)
{
    struct nvt_overview overview = {0};
    struct nvt_overview_view view = {.screen = nvt_screen_of(out, color), .input = arguments};
    int status = nvt_overview_make(&overview, input, err) || nvt_note_unfinished(input, err);
    if (!status) {
        nvt_note_kinds(input);
        view.lines = nvt_overview_lines(&view.screen, nvt_command_note_lines(input));
        nvt_overview_print(&overview, &view, out);
    }
    nvt_overview_free(&overview);
    return status ? -1 : 0;
}

/* Bytes of the traces that directories name. */
static int64_t size_of_traces(const struct nvt_input *input)
{
    int64_t size = 0;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const char *name = nvt_record_text(&input->runs[i]->records[k], "trace");
            char path[4096];
            struct stat file;
            if (name && snprintf(path, sizeof(path), "%s/%s", input->runs[i]->path, name) > 0 &&
                !stat(path, &file))
                size += file.st_size;
        }
    return size;
}

/* Rows of each table that a screen has room for beside `taken` lines; 0: all, where it is no screen. */
static size_t rows_of(const struct nvt_tables *tables, const struct nvt_overview_view *view,
                      size_t taken)
{
    enum { CAPTION = 11, LEAST = 4 };
    const size_t count = tables->count ? tables->count : 1;
    const size_t room = view->lines > taken ? (view->lines - taken) / count : 0;
    if (!view->screen.height)
        return 0;
    return room > CAPTION + LEAST ? room - CAPTION : LEAST;
}

int nvt_command_study(struct nvt_input *input, const char *arguments, enum nvt_color color,
                      struct nvt_tables *tables, FILE *out, struct nvt_error *err)
{
    enum { FACTS = 4 };
    struct nvt_overview overview = {0};
    struct nvt_overview_study study = {0};
    struct nvt_overview_view view = {.screen = nvt_screen_of(out, color), .input = arguments};
    int status = nvt_overview_study_make(&study, input, err);
    if (!status && size_of_traces(input) <= SHOWN_MOST)
        status = nvt_input_traces(input, err) || nvt_overview_find(&overview, input, err);
    if (!status) {
        view.lines = nvt_overview_lines(&view.screen, nvt_command_note_lines(input));
        tables->most_rows = rows_of(tables, &view, FACTS + nvt_overview_end_lines(&overview));
        nvt_overview_print_study(&study, &view, out);
        if (nvt_format_find("table")->render(tables, out))
            status = nvt_fail(err, "out of memory");
        nvt_overview_print_end(&overview, &view, out);
    }
    nvt_overview_free(&overview);
    nvt_overview_study_free(&study);
    return status ? -1 : 0;
}

void nvt_show_recording(const char *path)
{
    struct nvt_input input = {.plain_names = 1};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer arguments = {0};
    struct stat file;
    char *const words[] = {(char *)(uintptr_t)path, NULL};
    if (!isatty(STDERR_FILENO) || stat(path, &file) || file.st_size > SHOWN_MOST)
        return;
    int status = nvt_shell_join(&arguments, words) || nvt_buffer_append(&arguments, "", 1) ||
                 nvt_input_add(&input, path, &err);
    if (!status && nvt_overview_fits(&input)) {
        fputc('\n', stderr);
        (void)nvt_command_overview(&input, (const char *)arguments.data, NVT_COLOR_AUTO, stderr,
                                   &err);
        nvt_command_notes(&input);
    }
    nvt_buffer_free(&arguments);
    nvt_input_free(&input);
}
