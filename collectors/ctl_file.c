/* The session's side of ctl_file.h. */
#include "ctl_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "ctl_line.h"

#define READ_MOST (1 << 16) /* bytes at a time */
#define FOR_SOON  INT64_C(5000000000)
#define NAMES     100
#define ODD_MOST  3 /* lines that are no requests are said, so many */

/* --- its own file ---------------------------------------------------------------------------------- */

static int fail_open(const char *path, struct nvt_error *err)
{
    return nvt_fail_at(err, path, -1, "%s", nvt_ctl_line_why(errno));
}

/* All of them anew: who reads them finds the file before or after. Where that fails they stay unwritten, and are tried with the next look. */
static void write_answers(struct nvt_ctl_file *file)
{
    char fresh[PATH_MAX + 2], who[NVT_CTL_LINE_WHO];
    snprintf(fresh, sizeof(fresh), "%s~", file->own);
    file->unwritten += !file->unwritten;
    unlink(fresh);
    const int descriptor = nvt_ctl_line_open(fresh, O_WRONLY | O_CREAT | O_EXCL);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out) {
        if (descriptor >= 0)
            close(descriptor);
        return;
    }
    nvt_ctl_line_who(getpid(), who);
    fputs(who, out);
    for (unsigned i = 0; i < NVT_CTL_FILE_ANSWERS; i++) {
        const struct nvt_ctl_file_answer *answer = &file->answers[i];
        if (answer->text)
            fprintf(out, "%s %c%zu\n%s\n", answer->serial, answer->failed ? '-' : '+',
                    strlen(answer->text), answer->text);
    }
    const int failed = ferror(out);
    if (fclose(out) || failed || rename(fresh, file->own))
        unlink(fresh);
    else
        file->unwritten = 0;
}

/* FILE.HOST.PROCESS, and with -2 and on behind it where one that was killed has left that. 0, or -1 with err. */
static int make_own(struct nvt_ctl_file *file, struct nvt_error *err)
{
    char host[96] = "", number[16] = "";
    (void)gethostname(host, sizeof(host) - 1);
    for (char *at = host; *at; at++)
        if (*at <= ' ' || *at == '/')
            *at = '_';
    for (int i = 2; i < NAMES; i++) {
        snprintf(file->name, sizeof(file->name), "%s.%d%s", host, (int)getpid(), number);
        if (snprintf(file->own, sizeof(file->own), "%s.%s", file->path, file->name) + 1 >=
            (int)sizeof(file->own))
            return nvt_fail_at(err, file->path, -1, "its name is too long");
        const int own = nvt_ctl_line_open(file->own, O_WRONLY | O_CREAT | O_EXCL);
        if (own >= 0) {
            close(own);
            write_answers(file);
            return 0;
        }
        if (errno != EEXIST)
            break;
        snprintf(number, sizeof(number), "-%d", i);
    }
    return fail_open(file->own, err);
}

int nvt_ctl_file_watch(struct nvt_ctl_file *file, const char *path, struct nvt_error *err)
{
    struct stat status;
    *file = (struct nvt_ctl_file){.path = ""};
    const int descriptor = nvt_ctl_line_open(path, O_RDWR | O_CREAT);
    if (descriptor < 0)
        return fail_open(path, err);
    const int failed = fstat(descriptor, &status) || !realpath(path, file->path);
    close(descriptor);
    if (failed || make_own(file, err)) {
        file->path[0] = 0;
        return failed ? fail_open(path, err) : -1;
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->offset = status.st_size;
    file->next_sign = nvt_monotonic_ns() + NVT_CTL_FILE_SIGN_NS;
    return 0;
}

void nvt_ctl_file_close(struct nvt_ctl_file *file)
{
    if (file->path[0])
        unlink(file->own);
    for (unsigned i = 0; i < NVT_CTL_FILE_ANSWERS; i++)
        free(file->answers[i].text);
    *file = (struct nvt_ctl_file){.path = ""};
}

/* --- what is wrong --- */

static void say(const struct nvt_ctl_file *file, const char *what)
{
    if (file->said)
        file->said(file->path, what);
}

/* Nobody is heard any more, and whoever asks hears nothing. Once. */
static void note_trouble(struct nvt_ctl_file *file, int cause)
{
    char what[200];
    if (cause == file->trouble)
        return;
    file->trouble = cause;
    if (cause == ENOENT)
        snprintf(what, sizeof(what), "it was removed: no request comes before it is there again");
    else if (cause == EIO || cause == ESTALE)
        snprintf(what, sizeof(what), "%s: no request comes before it can be read again",
                 strerror(cause));
    else
        snprintf(what, sizeof(what), "%s: no request in it is followed until it is so",
                 nvt_ctl_line_why(cause));
    say(file, what);
}

static void note_odd(struct nvt_ctl_file *file, const char *line)
{
    char what[200], start[60];
    size_t i = 0;
    for (; line[i] && i + 1 < sizeof(start); i++)
        start[i] = (unsigned char)line[i] < ' ' || (unsigned char)line[i] > '~' ? '?' : line[i];
    start[i] = 0;
    if (++file->odd > ODD_MOST)
        return;
    snprintf(what, sizeof(what), "no request of nvtally ctl --watch, and passed over: '%s'%s",
             start, file->odd == ODD_MOST ? " (further ones are not said)" : "");
    say(file, what);
}

/* --- requests -------------------------------------------------------------------------------------- */

static int is_known(const struct nvt_ctl_file *file, const char *serial)
{
    for (unsigned i = 0; i < NVT_CTL_FILE_KNOWN && i < file->done; i++)
        if (!strcmp(file->known[i], serial))
            return 1;
    return 0;
}

static int has_answer(const struct nvt_ctl_file *file, const char *serial)
{
    for (unsigned i = 0; i < NVT_CTL_FILE_ANSWERS; i++)
        if (file->answers[i].text && !strcmp(file->answers[i].serial, serial))
            return 1;
    return 0;
}

static void put_answer(struct nvt_ctl_file *file, const char *serial, int failed, const char *text)
{
    struct nvt_ctl_file_answer *place = &file->answers[file->done % NVT_CTL_FILE_ANSWERS];
    free(place->text);
    place->text = strdup(text);
    place->failed = failed;
    snprintf(place->serial, sizeof(place->serial), "%s", serial);
    snprintf(file->known[file->done % NVT_CTL_FILE_KNOWN], NVT_CTL_SERIAL, "%s", serial);
    file->done++;
    if (++file->unwritten >= NVT_CTL_FILE_ANSWERS / 2)
        write_answers(file);
}

static void take_line(struct nvt_ctl_file *file, char *line, nvt_ctl_answer *answer, void *context)
{
    struct nvt_ctl_line request;
    char text[NVT_CTL_ANSWER_MOST] = "", start[61];
    snprintf(start, sizeof(start), "%.60s", line);
    if (nvt_ctl_line_parse(line, &request)) {
        note_odd(file, start);
        return;
    }
    if (strcmp(request.whom, "*") != 0 && strcmp(request.whom, file->name) != 0)
        return;
    if (!is_known(file, request.serial)) {
        const int failed = answer(context, request.text, text, sizeof(text));
        put_answer(file, request.serial, failed, text);
    } else if (!has_answer(file, request.serial))
        put_answer(file, request.serial, 1, "it was done, and its answer is no longer kept");
}

/* Whole lines; the last may still be being written, unless it is longer than any. Returns the bytes that are done. */
static int64_t take_lines(struct nvt_ctl_file *file, char *text, size_t size,
                          nvt_ctl_answer *answer, void *context)
{
    size_t done = 0;
    for (char *end; (end = memchr(text + done, '\n', size - done));
         done = (size_t)(end - text) + 1) {
        const size_t length = (size_t)(end - text) - done;
        *end = 0;
        if (length && length < NVT_CTL_LINE_MOST && strlen(text + done) == length)
            take_line(file, text + done, answer, context);
    }
    return (int64_t)(size - done < NVT_CTL_LINE_MOST ? done : size);
}

/* What has come since the last look. */
static void read_requests(struct nvt_ctl_file *file, int descriptor, nvt_ctl_answer *answer,
                          void *context)
{
    char *text = malloc(READ_MOST);
    ssize_t size;
    int64_t taken = 1;
    while (text && taken > 0 && (size = pread(descriptor, text, READ_MOST, file->offset)) > 0) {
        taken = take_lines(file, text, (size_t)size, answer, context);
        file->offset += taken;
    }
    free(text);
}

static void look(struct nvt_ctl_file *file, nvt_ctl_answer *answer, void *context)
{
    struct stat status;
    const unsigned before = file->done;
    const int descriptor = nvt_ctl_line_open(file->path, O_RDONLY);
    if (descriptor < 0) {
        note_trouble(file, errno);
        if (file->unwritten)
            write_answers(file);
        return;
    }
    if (nvt_monotonic_ns() >= file->next_refresh) {
        nvt_ctl_line_refresh(descriptor);
        file->next_refresh = nvt_monotonic_ns() + NVT_CTL_FILE_REFRESH_NS;
    }
    if (!fstat(descriptor, &status)) {
        const int is_same = status.st_dev == file->device && status.st_ino == file->inode;
        if (file->trouble)
            say(file, "requests that come from now on are followed again");
        else if (!is_same)
            say(file, "it is another file now: requests that come from now on are followed");
        file->trouble = 0;
        file->device = status.st_dev;
        file->inode = status.st_ino;
        if (!is_same || status.st_size < file->offset)
            file->offset = status.st_size; /* who asks just now asks again */
        else if (status.st_size > file->offset)
            read_requests(file, descriptor, answer, context);
    }
    close(descriptor);
    if (file->unwritten)
        write_answers(file);
    if (file->done != before)
        file->soon_until = nvt_monotonic_ns() + FOR_SOON;
}

int64_t nvt_ctl_file_serve(struct nvt_ctl_file *file, nvt_ctl_answer *answer, void *context)
{
    int64_t now = nvt_monotonic_ns();
    if (now < file->next_look)
        return file->next_look;
    if (now >= file->next_sign) {
        /* Somebody may have removed it. */
        if (utimensat(AT_FDCWD, file->own, NULL, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
            write_answers(file);
        file->next_sign = now + NVT_CTL_FILE_SIGN_NS;
    }
    look(file, answer, context);
    now = nvt_monotonic_ns();
    file->next_look = now + (now < file->soon_until ? NVT_CTL_FILE_SOON_NS : NVT_CTL_FILE_LOOK_NS);
    return file->next_look;
}
