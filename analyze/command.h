/*
 * What the commands over traces and run directories share: how they say that they cannot, what they
 * note, and how they take options. These, and the commands themselves, print; nothing else in
 * analyze/ does.
 */
#ifndef NVT_COMMAND_H
#define NVT_COMMAND_H

#include "../lib/options.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "input/input.h"

/* Print the error as "nvtally: …" on stderr. Returns 2, the exit status. */
int nvt_command_fail(const struct nvt_error *err);

/* Print the notes and warnings of an input on stderr, each as a line that starts with "nvtally: ".
 */
void nvt_command_notes(const struct nvt_input *input);
/* Those of them that warn, for who has all of them in a document. */
void nvt_command_warnings(const struct nvt_input *input);

/* Print lines, each with its end, on stderr: those of notes and warnings start with "nvtally: ". */
void nvt_command_lines(const void *lines, size_t size);

/* The format of -f; NULL with err, which says where they are listed: "see nvtally compare --help". */
const struct nvt_format *nvt_command_format(const char *name, const char *where,
                                            struct nvt_error *err);
#define NVT_FORMATS_OF_STATS "'nvtally stats -f list' lists them"

/* Render tables of an input, with what the format facts says of it; NULL: they are of none. 0, or -1 with err. */
int nvt_command_render(struct nvt_tables *tables, const struct nvt_format *format,
                       const struct nvt_input *input, FILE *out, struct nvt_error *err);

/* How many lines of a terminal the notes of an input take; 0 where stderr is none. */
size_t nvt_command_note_lines(const struct nvt_input *input);

/*
 * Print the overview (overview/overview.h) of an input with its traces read; notes that belong to it are added to the input's.
 * `arguments`: of a command that looks at the same. 0, or -1 with err. analyze/overview_command.c
 */
int nvt_command_overview(struct nvt_input *input, const char *arguments, enum nvt_color color,
                         FILE *out, struct nvt_error *err);

/* Print the overview of directories of runs around the tables of their study, of which a terminal shows the first rows. 0, or -1
 * with err. */
int nvt_command_study(struct nvt_input *input, const char *arguments, enum nvt_color color,
                      struct nvt_tables *tables, FILE *out, struct nvt_error *err);

/*
 * Read the options of a command (lib/options.h), and print its usage where --help asks for it. 0 with optind at the first operand, 1: that
 * was all, -1 with err.
 */
int nvt_command_options(int argc, char **argv, const struct nvt_option *options, const char *usage,
                        struct nvt_error *err);

/*
 * Setters of options. nvt_set_format: `to` points to a const struct nvt_format *, `hint` says where formats are listed. nvt_set_rows: to a
 * size_t, a number of rows from `number` on. nvt_set_time and nvt_set_range: to a struct nvt_window. nvt_set_color: to an enum nvt_color.
 */
nvt_set nvt_set_format, nvt_set_rows, nvt_set_time, nvt_set_range, nvt_set_color;

/* What several commands have: an option of a table, and the lines of their usage about it. */

#define NVT_FORMAT_OPTION(format, where)                                                           \
    "format", 'f', .set = nvt_set_format, .to = (format), .hint = (where)

/* A window (window.h). */
#define NVT_TIME_OPTION(window)  "filter-time", .set = nvt_set_time, .to = (window)
#define NVT_RANGE_OPTION(window) "filter-nvtx", .set = nvt_set_range, .to = (window)
#define NVT_WINDOW_HELP                                                                            \
    "      --filter-nvtx R  only what begins within a range: NAME, NAME@DOMAIN, or\n"              \
    "                       NAME/N for the N-th, from 0\n"                                         \
    "      --filter-time W  only what begins between two moments, FROM/TO, such as\n"              \
    "                       1.2s/1300ms\n"

/* Processes that started the program count, too (launchers.h): of the commands that analyse. */
#define NVT_LAUNCHERS_OPTION(window) "launchers", .flag = &(window)->launchers
#define NVT_LAUNCHERS_HELP                                                                         \
    "      --launchers      count OS calls and CPU samples of processes that only\n"               \
    "                       started the program, too (timeout, a shell, mpirun)\n"

/* Which ranges are iterations (nvt_iterations_set), of the commands that look at them. */
#define NVT_ITERATION_OPTION(range) "iteration", .text = (range)
#define NVT_ITERATION_HELP                                                                         \
    "      --iteration R    ranges that are iterations: NAME, NAME@DOMAIN, or NAME*\n"             \
    "                       for a prefix\n"

/* When colours are used, of the commands that print for people. */
#define NVT_COLOR_OPTION(color) "color", .set = nvt_set_color, .to = (color)
#define NVT_COLOR_HELP                                                                             \
    "      --color WHEN     auto, always or never; auto (the default) is on a\n"                   \
    "                       terminal, unless NO_COLOR is set\n"

#endif
