#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Nobody has more; a number beyond is a mistake. */
#define COLUMNS_MOST 10000

/* What the environment says, else the terminal itself, else 0. */
static size_t size_of(const char *name, size_t own)
{
    const char *text = getenv(name);
    long given = text ? strtol(text, NULL, 10) : 0;
    return given > 0 && given <= COLUMNS_MOST ? (size_t)given : own;
}

static int is_terminal(FILE *out)
{
    int terminal = fileno(out);
    return terminal >= 0 && isatty(terminal);
}

struct nvt_screen nvt_screen_of(FILE *out, enum nvt_color color)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    struct nvt_screen screen = {.is_coloured = color == NVT_COLOR_ALWAYS};
    struct winsize size = {0};
    if (!is_terminal(out))
        return screen;
    if (ioctl(fileno(out), TIOCGWINSZ, &size))
        size = (struct winsize){0};
    screen.width = size_of("COLUMNS", size.ws_col);
    screen.height = size_of("LINES", size.ws_row);
    if (color == NVT_COLOR_AUTO)
        screen.is_coloured = !(none && *none) && !(kind && !strcmp(kind, "dumb"));
    return screen;
}

size_t nvt_terminal_width(FILE *out)
{
    return nvt_screen_of(out, NVT_COLOR_NEVER).width;
}

int nvt_color_parse(const char *text, enum nvt_color *color, struct nvt_error *err)
{
    static const char *const names[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, names[i])) {
            *color = (enum nvt_color)i;
            return 0;
        }
    return nvt_fail(err, "--color %s: must be auto, always or never", text);
}

void nvt_paint(const struct nvt_screen *screen, enum nvt_paint paint, FILE *out)
{
    static const char *const codes[NVT_PAINTS] = {
        [NVT_PAINT_NONE] = "0",  [NVT_PAINT_TITLE] = "1", [NVT_PAINT_FAINT] = "2",
        [NVT_PAINT_GOOD] = "32", [NVT_PAINT_BAD] = "31",  [NVT_PAINT_WARN] = "33",
        [NVT_PAINT_CPU] = "36",  [NVT_PAINT_GPU] = "32"};
    if (screen->is_coloured)
        fprintf(out, "\033[%sm", codes[paint]);
}
