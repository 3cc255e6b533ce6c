/*
 * What the commands over traces and run directories share: how they say that they cannot, what they
 * note, and how they take options. These, and the commands themselves, print; nothing else in
 * analyze/ does.
 */
#ifndef NVT_COMMAND_H
#define NVT_COMMAND_H

#include <getopt.h>

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

/* The value of --top: rows, from `least` on. 0, or -1 with err. */
int nvt_command_top(const char *text, size_t least, size_t *top, struct nvt_error *err);

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

/* The same of directories of runs, around the tables of their study, of which a terminal shows the first rows. */
int nvt_command_study(struct nvt_input *input, const char *arguments, enum nvt_color color,
                      struct nvt_tables *tables, FILE *out, struct nvt_error *err);

/*
 * The next option of a command: what getopt_long returns; -1 behind the last one; '?' with err
 * filled for one that is not known or lacks its value. Begin with optind 0. `letters` start with
 * ':'.
 */
int nvt_command_option(int argc, char **argv, const char *letters, const struct option *options,
                       struct nvt_error *err);

/*
 * The options of a window (window.h), as entries of a command's table; both have values. nvt_command_window takes one
 * that came: 1 when it is of the window, 0 when it is another one, -1 with err.
 */
enum { NVT_FILTER_TIME = 0x1000, NVT_FILTER_NVTX, NVT_LAUNCHERS, NVT_ITERATION, NVT_COLOR };
#define NVT_WINDOW_OPTIONS                                                                         \
    {"filter-time", required_argument, NULL, NVT_FILTER_TIME},                                     \
    {                                                                                              \
        "filter-nvtx", required_argument, NULL, NVT_FILTER_NVTX                                    \
    }
#define NVT_WINDOW_HELP                                                                            \
    "      --filter-nvtx R  only what begins within a range: NAME, NAME@DOMAIN, or\n"              \
    "                       NAME/N for the N-th, from 0\n"                                         \
    "      --filter-time W  only what begins between two moments, FROM/TO, such as\n"              \
    "                       1.2s/1300ms\n"

/* Processes that started the program count, too (launchers.h): of the commands that analyse. nvt_command_window takes it. */
#define NVT_LAUNCHERS_OPTION                                                                       \
    {                                                                                              \
        "launchers", no_argument, NULL, NVT_LAUNCHERS                                              \
    }
#define NVT_LAUNCHERS_HELP                                                                         \
    "      --launchers      count OS calls and CPU samples of processes that only\n"               \
    "                       started the program, too (timeout, a shell, mpirun)\n"

/* Which ranges are iterations (nvt_iterations_set), of the commands that look at them: the same, and taken by the command. */
#define NVT_ITERATION_OPTION                                                                       \
    {                                                                                              \
        "iteration", required_argument, NULL, NVT_ITERATION                                        \
    }
#define NVT_ITERATION_HELP                                                                         \
    "      --iteration R    ranges that are iterations: NAME, NAME@DOMAIN, or NAME*\n"             \
    "                       for a prefix\n"

int nvt_command_window(struct nvt_window *window, int option, struct nvt_error *err);

/* When colours are used, of the commands that print for people: nvt_color_parse takes the value. */
#define NVT_COLOR_OPTION                                                                           \
    {                                                                                              \
        "color", required_argument, NULL, NVT_COLOR                                                \
    }
#define NVT_COLOR_HELP                                                                             \
    "      --color WHEN     auto, always or never; auto (the default) is on a\n"                   \
    "                       terminal, unless NO_COLOR is set\n"

#endif
