#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/program.h"
#include "../lib/text.h"

int nvt_picture_format(const char *format)
{
    return !strcmp(format, "svg") || !strcmp(format, "png") || !strcmp(format, "pdf");
}

void nvt_gnuplot_text(const char *text, size_t limit, FILE *script)
{
    putc('\'', script);
    for (uint32_t character; *text;) {
        const char *next = text;
        character = nvt_utf8_next(&next);
        size_t width = (size_t)nvt_char_width(nvt_char_visible(character));
        if (width > limit)
            break;
        limit -= width;
        text = next;
        if (character == '\'' || character == '`')
            character = 0x2019;
        else if (character == '\\')
            character = '/';
        else if (character < 0x20 || nvt_char_visible(character) != character)
            character = ' ';
        nvt_utf8_write(character, script);
    }
    if (*text)
        fputs("…", script);
    putc('\'', script);
}

void nvt_gnuplot_terminal(const char *format, int width, int height, const char *name, FILE *script)
{
    fputs("set encoding utf8\n", script);
    if (!strcmp(format, "png"))
        fprintf(script,
                "set terminal pngcairo noenhanced size %d,%d font 'DejaVu Sans,12' fontscale 1.5 "
                "linewidth 2 pointscale 2 background '#ffffff'\n",
                width * 2, height * 2);
    else if (!strcmp(format, "pdf")) /* as wide as the column of a paper */
        fprintf(script,
                "set terminal pdfcairo noenhanced size 8.5cm,%.2fcm font 'DejaVu Sans,12' "
                "fontscale 0.41 linewidth 1 pointscale 0.55 background '#ffffff'\n",
                8.5 * height / width);
    else
        fprintf(script,
                "set terminal svg noenhanced size %d,%d font 'DejaVu Sans,Arial,sans-serif,12' "
                "background '#ffffff'\n",
                width, height);
    fprintf(script, "set output '%s.%s'\n", name, format);
}

/* The first line that says something, of what gnuplot wrote to stderr. */
static void read_complaint(int from, char *line, size_t size)
{
    char rest[4096];
    size_t used = 0;
    for (ssize_t got; (got = read(from, rest, sizeof(rest))) > 0 || (got < 0 && errno == EINTR);)
        for (ssize_t i = 0; i < got; i++)
            if (used + 1 < size)
                line[used++] = rest[i];
    line[used] = 0;
    char *start = line + strspn(line, " \n\t^");
    start[strcspn(start, "\n")] = 0;
    memmove(line, start, strlen(start) + 1);
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

int nvt_gnuplot_run(const char *directory, const char *script, struct nvt_error *err)
{
    int complaint[2];
    pid_t child;
    char path[PATH_MAX];
    if (nvt_find_program("gnuplot", path, sizeof(path)))
        return nvt_fail(err, "charts are drawn by gnuplot, which was not found: install it "
                             "(Debian: apt install gnuplot-nox)");
    if (pipe2(complaint, O_CLOEXEC))
        return nvt_fail(err, "cannot make a pipe: %s", strerror(errno));
    /* -d: what is in somebody's ~/.gnuplot does not change our charts. */
    char program[] = "gnuplot", no_startup[] = "-d",
         *arguments[] = {program, no_startup, NULL, NULL};
    char name[512];
    /* Behind "./", as a name that begins with '-' would be an option. */
    snprintf(name, sizeof(name), "./%s", script);
    arguments[2] = name;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    posix_spawn_file_actions_adddup2(&actions, complaint[1], 2);
    int failed = posix_spawn(&child, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(complaint[1]);
    if (failed) {
        close(complaint[0]);
        return nvt_fail(err, "gnuplot cannot be started: %s", strerror(failed));
    }
    char line[400];
    read_complaint(complaint[0], line, sizeof(line));
    close(complaint[0]);
    if (wait_for(child) == 0)
        return 0;
    return nvt_fail(err, "gnuplot failed on %s/%s: %s", directory, script,
                    *line ? line : "no reason given");
}
