#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/program.h"
#include "../lib/text.h"
#include "document.h"
#include "label.h"

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
        if (nvt_char_visible(character) != character)
            character = ' ';
        if (character == '`') /* a command to run */
            character = '\'';
        nvt_utf8_write(nvt_label_harmless(character), script);
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
                "fontscale 0.44 linewidth 1 pointscale 0.58 background '#ffffff'\n",
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

/* A file in memory, or -1 with err. */
static int memory_file(struct nvt_error *err)
{
    int memory = memfd_create("nvtally", MFD_CLOEXEC);
    if (memory < 0)
        nvt_fail(err, "no memory file can be made: %s", strerror(errno));
    return memory;
}

/* The script in memory, with stdout in place of the picture: gnuplot does not tell that a file was
 * not written whole. -1 with err. */
static int take_script(const char *directory, const char *script, struct nvt_error *err)
{
    char path[PATH_MAX];
    size_t size, done = 0;
    snprintf(path, sizeof(path), "%s/%s", directory, script);
    char *text = nvt_document_read(path, &size, err);
    int memory = text ? memory_file(err) : -1;
    char *output = memory < 0 ? NULL : strstr(text, "\nset output '");
    if (output) {
        output = strchr(output, '\'');
        memset(output, ' ', strcspn(output, "\n"));
    }
    while (memory >= 0 && done < size) {
        ssize_t put = write(memory, text + done, size - done);
        done += put > 0 ? (size_t)put : 0;
        if (put < 0) {
            nvt_fail_at(err, path, -1, "cannot be copied: %s", strerror(errno));
            close(memory);
            memory = -1;
        }
    }
    free(text);
    if (memory >= 0)
        lseek(memory, 0, SEEK_SET);
    return memory;
}

/* All that was written to a file in memory. 0, or -1 with err. */
static int read_picture(int memory, struct nvt_buffer *picture, struct nvt_error *err)
{
    off_t size = lseek(memory, 0, SEEK_END);
    if (size <= 0)
        return nvt_fail(err, "gnuplot drew nothing");
    if (nvt_buffer_reserve(picture, (size_t)size))
        return nvt_fail(err, "out of memory");
    while (picture->size < (size_t)size) {
        ssize_t got = pread(memory, picture->data + picture->size, (size_t)size - picture->size,
                            (off_t)picture->size);
        if (got <= 0)
            return nvt_fail(err, "what gnuplot drew cannot be read");
        picture->size += (size_t)got;
    }
    return 0;
}

/* Start it in that directory. 0, or -1 with err. */
static int start(const char *directory, int script, int picture, int complaint, pid_t *child,
                 struct nvt_error *err)
{
    char path[PATH_MAX];
    if (nvt_find_program("gnuplot", path, sizeof(path)))
        return nvt_fail(err, "charts are drawn by gnuplot, which was not found: install it "
                             "(Debian: apt install gnuplot-nox)");
    /* A shell changes the folder, as glibc before 2.29 cannot. -d: what is in somebody's ~/.gnuplot does not change our charts. */
    char *arguments[] = {(char *)(uintptr_t) "sh",
                         (char *)(uintptr_t) "-c",
                         (char *)(uintptr_t) "cd -- \"$0\" && exec \"$1\" -d -",
                         (char *)(uintptr_t)directory,
                         path,
                         NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, script, 0);
    posix_spawn_file_actions_adddup2(&actions, picture, 1);
    posix_spawn_file_actions_adddup2(&actions, complaint, 2);
    int failed = posix_spawn(child, "/bin/sh", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? nvt_fail(err, "gnuplot cannot be started: %s", strerror(failed)) : 0;
}

/* Run the script that was taken. 0, or -1 with err. */
static int run(const char *directory, const char *name, int script, int picture,
               struct nvt_error *err)
{
    int complaint[2];
    pid_t child;
    char line[400];
    if (pipe2(complaint, O_CLOEXEC))
        return nvt_fail(err, "cannot make a pipe: %s", strerror(errno));
    int failed = start(directory, script, picture, complaint[1], &child, err);
    close(complaint[1]);
    if (!failed) {
        read_complaint(complaint[0], line, sizeof(line));
        if (wait_for(child))
            failed = nvt_fail(err, "gnuplot failed on %s/%s: %s", directory, name,
                              *line ? line : "no reason given");
    }
    close(complaint[0]);
    return failed;
}

int nvt_gnuplot_run(const char *directory, const char *script, struct nvt_buffer *picture,
                    struct nvt_error *err)
{
    int taken = take_script(directory, script, err);
    int drawn = taken < 0 ? -1 : memory_file(err);
    int failed = drawn < 0 ? -1 : run(directory, script, taken, drawn, err);
    if (!failed)
        failed = read_picture(drawn, picture, err);
    if (drawn >= 0)
        close(drawn);
    if (taken >= 0)
        close(taken);
    return failed;
}
