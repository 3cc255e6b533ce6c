/* The other side of ctl_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/folder.h"
#include "ctl_line.h"

#define FIRST_PAUSE_US 20000
#define LAST_PAUSE_US  300000
#define AGAIN_NS       INT64_C(2000000000) /* a request without an answer is appended again */
#define LATE_NS        INT64_C(1000000000) /* an answer is not what a cache has */
#define TRIES          3                   /* of a write that fails for a moment */
#define GONE_LOOKS     8 /* that found no file, within a second: a session has ended */

static int fail_open(const char *path, struct nvt_error *err)
{
    return nvt_fail_at(err, path, -1, "%s", nvt_ctl_line_why(errno));
}

/* --- who watches ----------------------------------------------------------------------------------- */

/* HOST.PROCESS of an entry FILE.HOST.PROCESS; NULL: it is none. */
static const char *name_of(const char *entry, const char *base)
{
    const size_t length = strlen(base);
    if (strncmp(entry, base, length) != 0 || entry[length] != '.')
        return NULL;
    const char *name = entry + length + 1, *dot = strrchr(name, '.');
    if (!dot || dot == name || dot[1] < '1' || dot[1] > '9' ||
        dot[1 + strspn(dot + 1, "0123456789-")])
        return NULL;
    return name;
}

static int64_t time_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* When that file was written to, by the clock of its file system; now, where `descriptor` may be written to. -1: it is unknown. */
static int64_t written_ns(int descriptor, int is_now)
{
    struct stat status;
    if (is_now && futimens(descriptor, NULL))
        return -1;
    return fstat(descriptor, &status) ? -1 : time_ns(&status.st_mtim);
}

/* For how long that session has given no sign of life, by the time `now`; -1: it is none of ours, or was killed. */
static int64_t silence_of(const char *path, const char *name, int64_t now)
{
    char own[PATH_MAX + 170];
    snprintf(own, sizeof(own), "%s.%s", path, name);
    const int descriptor = nvt_ctl_line_open(own, O_RDONLY);
    if (descriptor < 0)
        return -1;
    char who[NVT_CTL_LINE_WHO] = "";
    const int64_t written = written_ns(descriptor, 0);
    const ssize_t size = read(descriptor, who, sizeof(who) - 1);
    close(descriptor);
    if (size > 0 && nvt_ctl_line_is_dead(who)) {
        unlink(own);
        snprintf(own, sizeof(own), "%s.%s~", path, name); /* what it was writing */
        unlink(own);
        return -1;
    }
    return written < 0 ? -1 : now > written ? now - written : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct nvt_ctl_session *)a)->name,
                  ((const struct nvt_ctl_session *)b)->name);
}

int nvt_ctl_file_sessions(const struct nvt_ctl_file_way *way, struct nvt_ctl_session *out,
                          size_t most, void (*said)(const char *name, int64_t silent_ns),
                          struct nvt_error *err)
{
    char folder[PATH_MAX];
    size_t count = 0;
    const int descriptor = nvt_ctl_line_open(way->path, O_WRONLY);
    if (descriptor < 0)
        return fail_open(way->path, err);
    const int64_t now = written_ns(descriptor, 1);
    close(descriptor);
    snprintf(folder, sizeof(folder), "%s", way->path);
    char *base = strrchr(folder, '/');
    *base++ = 0;
    DIR *entries = opendir(*folder ? folder : "/");
    if (!entries)
        return fail_open(way->path, err);
    for (struct dirent *entry; (entry = nvt_folder_next(entries));) {
        const char *name = name_of(entry->d_name, base);
        const int64_t silent = name ? silence_of(way->path, name, now) : -1;
        if (silent < 0)
            continue;
        if (silent > NVT_CTL_FILE_SILENT_NS) {
            if (said)
                said(name, silent);
            continue;
        }
        if (count < most) {
            out[count] = (struct nvt_ctl_session){.way = &way->way};
            snprintf(out[count].name, sizeof(out[count].name), "%s", name);
        }
        count++;
    }
    closedir(entries);
    qsort(out, count < most ? count : most, sizeof(*out), by_name);
    return (int)count;
}

/* --- a question ------------------------------------------------------------------------------------ */

void nvt_ctl_file_serial(char serial[NVT_CTL_SERIAL])
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        number = (uint64_t)nvt_monotonic_ns() << 20 ^ (uint64_t)getpid();
    snprintf(serial, NVT_CTL_SERIAL, "%016" PRIx64, number);
}

/* 0, or an errno. */
static int append(int descriptor, const char *line, size_t size)
{
    const ssize_t written = write(descriptor, line, size);
    if (written < 0)
        return errno;
    return (size_t)written == size ? 0 : ENOSPC;
}

int nvt_ctl_file_send(const char *path, const char *serial, const char *whom, const char *request,
                      struct nvt_error *err)
{
    char line[NVT_CTL_LINE_MOST + 3];
    const struct nvt_ctl_line wanted = {serial, whom, request};
    const int size = nvt_ctl_line_make(&wanted, line, sizeof(line));
    if (size < 0)
        return nvt_fail(err, "too long, or of several lines: at most %d bytes in one line",
                        NVT_CTL_REQUEST_MOST - 2);
    /* What was written twice is done once. */
    int cause = EIO;
    for (int i = 0; i < TRIES && (cause == EIO || cause == ESTALE); i++) {
        const int descriptor = nvt_ctl_line_open(path, O_WRONLY | O_APPEND);
        if (descriptor < 0)
            return fail_open(path, err);
        cause = append(descriptor, line, (size_t)size);
        if (close(descriptor) && !cause)
            cause = errno;
    }
    return cause ? nvt_fail_at(err, path, -1, "%s", strerror(cause)) : 0;
}

/* 1 with the answer: it is there; 0: not yet. */
static int find_answer(FILE *in, const char *serial, struct nvt_ctl_reply *reply)
{
    char line[NVT_CTL_LINE_WHO];
    while (fgets(line, sizeof(line), in)) {
        char *end;
        if (*line == '@')
            continue;
        if (strlen(line) < NVT_CTL_SERIAL + 2 || line[NVT_CTL_SERIAL - 1] != ' ')
            return 0;
        const char sign = line[NVT_CTL_SERIAL];
        const unsigned long length = strtoul(line + NVT_CTL_SERIAL + 1, &end, 10);
        if (*end != '\n' || length >= sizeof(reply->text) ||
            fread(reply->text, 1, length, in) != length || getc(in) != '\n')
            return 0;
        reply->text[length] = 0;
        reply->status = sign == '+' ? 0 : 1;
        if (!strncmp(line, serial, NVT_CTL_SERIAL - 1))
            return 1;
    }
    return 0;
}

/* A request that is under way. `missing` counts the looks that found no file, for each; -1: its reply is there. */
struct question {
    const char *path, *request;
    char serial[NVT_CTL_SERIAL];
    const struct nvt_ctl_session *sessions;
    size_t count;
    struct nvt_ctl_reply *replies;
    int *missing;
    int is_late; /* answers are missing for long */
};

/* 1: it is there; 0: not yet; -1: its file is not. */
static int look_for_answer(const struct question *question, const char *name,
                           struct nvt_ctl_reply *reply)
{
    char own[PATH_MAX + 170];
    snprintf(own, sizeof(own), "%s.%s", question->path, name);
    const int descriptor = nvt_ctl_line_open(own, O_RDONLY);
    if (descriptor >= 0 && question->is_late)
        nvt_ctl_line_refresh(descriptor);
    FILE *in = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    if (!in) {
        const int is_gone = descriptor < 0 && errno == ENOENT;
        if (descriptor >= 0)
            close(descriptor);
        return is_gone ? -1 : 0;
    }
    const int is_there = find_answer(in, question->serial, reply);
    fclose(in);
    return is_there;
}

/* How many have not answered yet. */
static size_t look_for_all(struct question *question)
{
    size_t left = 0;
    for (size_t i = 0; i < question->count; i++) {
        const char *name = question->sessions[i].name;
        struct nvt_ctl_reply *reply = &question->replies[i];
        if (question->missing[i] < 0)
            continue;
        const int found = look_for_answer(question, name, reply);
        question->missing[i] = found > 0 ? -1 : found < 0 ? question->missing[i] + 1 : 0;
        if (question->missing[i] == GONE_LOOKS) {
            reply->status = nvt_fail(&reply->err, "%s has ended", name);
            question->missing[i] = -1;
        }
        left += question->missing[i] >= 0;
    }
    return left;
}

static void wait_for_all(struct question *question, const char *whom, int64_t patience_ns)
{
    const int64_t began = nvt_monotonic_ns();
    int64_t again = began + AGAIN_NS;
    useconds_t pause = FIRST_PAUSE_US;
    while (look_for_all(question) && nvt_monotonic_ns() - began < patience_ns) {
        usleep(pause);
        question->is_late = nvt_monotonic_ns() - began > LATE_NS;
        pause = pause * 3 / 2 < LAST_PAUSE_US ? pause * 3 / 2 : LAST_PAUSE_US;
        if (nvt_monotonic_ns() < again)
            continue;
        /* It may have been overwritten; whether that works shows in the answers. */
        (void)nvt_ctl_file_send(question->path, question->serial, whom, question->request, NULL);
        again = nvt_monotonic_ns() + AGAIN_NS;
    }
}

static void ask(const struct nvt_ctl_session *sessions, size_t count, const char *request,
                int64_t patience_ns, struct nvt_ctl_reply *replies)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_ctl_file_way *way = (const struct nvt_ctl_file_way *)sessions[0].way;
    const char *whom = count == 1 ? sessions[0].name : "*";
    struct question question = {.path = way->path,
                                .request = request,
                                .sessions = sessions,
                                .count = count,
                                .replies = replies,
                                .missing = calloc(count, sizeof(int))};
    nvt_ctl_file_serial(question.serial);
    const int failed = question.missing
                           ? nvt_ctl_file_send(way->path, question.serial, whom, request, &err)
                           : nvt_fail(&err, "out of memory");
    if (!failed)
        wait_for_all(&question, whom, patience_ns);
    for (size_t i = 0; i < count; i++) {
        if (failed) {
            replies[i].status = -1;
            replies[i].err = err;
        } else if (question.missing[i] >= 0)
            replies[i].status = nvt_fail(&replies[i].err, "%s has not answered within %d s",
                                         sessions[i].name, (int)(patience_ns / 1000000000));
    }
    free(question.missing);
}

/* Whether a session has its answers next to that file, which is not there. */
static int is_watched(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    const char *base = slash ? slash + 1 : path;
    if (slash)
        *slash = 0;
    DIR *entries = opendir(!slash ? "." : *folder ? folder : "/");
    int found = 0;
    for (struct dirent *entry; entries && !found && (entry = nvt_folder_next(entries));) {
        const char *name = name_of(entry->d_name, base);
        found = name && silence_of(path, name, 0) >= 0;
    }
    if (entries)
        closedir(entries);
    return found;
}

int nvt_ctl_file_reach(struct nvt_ctl_file_way *way, const char *path, struct nvt_error *err)
{
    int descriptor = nvt_ctl_line_open(path, O_WRONLY);
    if (descriptor < 0 && errno == ENOENT) {
        descriptor = is_watched(path) ? nvt_ctl_line_open(path, O_WRONLY | O_CREAT) : -1;
        errno = ENOENT;
    }
    if (descriptor < 0)
        return fail_open(path, err);
    close(descriptor);
    way->way = (struct nvt_ctl_way){.ask = ask, .latency_ns = NVT_CTL_FILE_LOOK_NS};
    return realpath(path, way->path) ? 0 : fail_open(path, err);
}
