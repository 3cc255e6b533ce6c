#include "sweep_earlier.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/create_file.h"
#include "../lib/read_file.h"
#include "../lib/wrap.h"
#include "../lib/text.h"
#include "ranks.h"

#define RANKS_MOST 65536
#define TEXT_MOST  ((size_t)256 << 20)

int nvt_earlier_read(const char *directory, struct nvt_earlier *earlier, struct nvt_error *err)
{
    char path[4096];
    snprintf(path, sizeof(path), "%.3000s/results.jsonl", directory);
    if (access(path, F_OK))
        return errno == ENOENT ? 0 : nvt_fail_at(err, path, -1, "%s", strerror(errno));
    int status = nvt_read_file(path, TEXT_MOST, &earlier->text, err);
    for (size_t at = 0; !status && at < earlier->text.size; earlier->count++) {
        const char *begin = (const char *)earlier->text.data + at;
        const char *end = memchr(begin, '\n', earlier->text.size - at);
        if (!end)
            break;
        if (nvt_buffer_append(&earlier->lines, &at, sizeof(at)))
            status = nvt_fail(err, "out of memory");
        at += (size_t)(end - begin) + 1;
    }
    return status;
}

void nvt_earlier_free(struct nvt_earlier *earlier)
{
    nvt_buffer_free(&earlier->text);
    nvt_buffer_free(&earlier->lines);
    earlier->count = 0;
}

/* Of a row that is whole. */
static int has_ended(const char *line, size_t size)
{
    static const char ok[] = "\"status\": \"ok\"", oom[] = "\"status\": \"oom\"";
    return size > 1 && line[size - 2] == '}' &&
           (memmem(line, size, ok, sizeof(ok) - 1) || memmem(line, size, oom, sizeof(oom) - 1));
}

/* The name of the trace that a row has. 1, or 0: it has none, or one that fits nowhere. Rows are ours: what is a name has no
 * escape in it. */
static int trace_of(const char *line, size_t size, char *name, size_t room)
{
    static const char key[] = "\"trace\": \"";
    const char *at = memmem(line, size, key, sizeof(key) - 1), *end = NULL;
    if (at) {
        at += sizeof(key) - 1;
        end = memchr(at, '"', size - (size_t)(at - line));
    }
    return end && snprintf(name, room, "%.*s", (int)(end - at), at) < (int)room;
}

/* Whether the trace that a row names, if it does, is there. */
static int has_trace(const char *directory, const char *line, size_t size)
{
    char name[4096], path[8192];
    if (!trace_of(line, size, name, sizeof(name)))
        return 1;
    snprintf(path, sizeof(path), "%.3000s/%s", directory, name);
    return !access(path, R_OK);
}

/* The i-th row, with its line feed. */
static const char *line_of(const struct nvt_earlier *earlier, size_t i, size_t *size)
{
    const size_t *begins = (const size_t *)(const void *)earlier->lines.data;
    const char *line = (const char *)earlier->text.data + begins[i];
    *size = (size_t)((const char *)memchr(line, '\n', earlier->text.size - begins[i]) - line) + 1;
    return line;
}

const char *nvt_earlier_find(const struct nvt_earlier *earlier, const char *directory,
                             const char *begin, size_t length, size_t *size)
{
    for (size_t i = 0; i < earlier->count; i++) {
        const char *line = line_of(earlier, i, size);
        if (*size > length && !memcmp(line, begin, length) && has_ended(line, *size) &&
            has_trace(directory, line, *size))
            return line;
    }
    return NULL;
}

/* Where results make room for others: where they are, and where they go; "" where they are removed. */
struct place {
    const char *directory;
    char old[4096];
};

/* Whether it went. */
static int clear_trace(const struct place *place, const char *name)
{
    struct stat status;
    char path[8192], old[8192];
    if (strchr(name, '/') || !(nvt_has_ending(name, ".nvt") || nvt_has_ending(name, ".nsys-rep")) ||
        snprintf(path, sizeof(path), "%s/%s", place->directory, name) >= (int)sizeof(path) ||
        snprintf(old, sizeof(old), "%s/%s", place->old, name) >= (int)sizeof(old) ||
        lstat(path, &status) || !S_ISREG(status.st_mode))
        return 0;
    return !(*place->old ? rename(path, old) : unlink(path));
}

/* Processes of a row's run: 1 where it names none. */
static long ranks_of(const char *line, size_t size)
{
    static const char key[] = "\"ranks\": ";
    const char *at = memmem(line, size, key, sizeof(key) - 1);
    return at ? strtol(at + sizeof(key) - 1, NULL, 10) : 1; /* a line feed ends the row */
}

/* A row names the trace of rank 0; the others' differ in that number. */
static size_t clear_traces(const struct place *place, const char *name, long ranks, int first_rank)
{
    size_t cleared = (size_t)clear_trace(place, name);
    char other[4096];
    for (int rank = first_rank; rank < ranks && rank < RANKS_MOST; rank++) {
        if (nvt_rank_trace(name, rank, other, sizeof(other)))
            break;
        cleared += (size_t)clear_trace(place, other);
    }
    return cleared;
}

/* Whether a trace is one of the rows that stay. */
static int is_staying(const char *name, const struct nvt_buffer *staying)
{
    char member[4096 + 16];
    int length = snprintf(member, sizeof(member), "\"trace\": \"%s\"", name);
    return staying->size && memmem(staying->data, staying->size, member, (size_t)length) != NULL;
}

/* The traces of all rows that do not stay. Where a line is none of a sweep, nothing goes: it is somebody else's
 * file. Returns how many. */
static size_t clear_all(const struct nvt_earlier *earlier, const struct place *place,
                        const struct nvt_earlier_wish *wish)
{
    char name[4096];
    size_t cleared = 0, size;
    for (size_t i = 0; i < earlier->count; i++) {
        const char *line = line_of(earlier, i, &size);
        if (size < 3 || *line != '{' || line[size - 2] != '}')
            return 0;
    }
    for (size_t i = 0; i < earlier->count; i++) {
        const char *line = line_of(earlier, i, &size);
        if (trace_of(line, size, name, sizeof(name)) && !is_staying(name, wish->staying))
            cleared +=
                clear_traces(place, name, ranks_of(line, size), wish->ranks > 1 ? wish->ranks : 1);
    }
    return cleared;
}

/* Whether all rows are among those that stay. */
static int stay_all(const struct nvt_earlier *earlier, const struct nvt_buffer *staying)
{
    size_t size;
    for (size_t i = 0; i < earlier->count; i++) {
        const char *line = line_of(earlier, i, &size);
        if (!staying->size || !memmem(staying->data, staying->size, line, size))
            return 0;
    }
    return earlier->count > 0;
}

static int write_copy(const char *path, const struct nvt_buffer *text, struct nvt_error *err)
{
    FILE *file = nvt_create_stream(path);
    if (!file)
        return nvt_fail_at(err, path, -1, "cannot be created: %s", strerror(errno));
    return nvt_stream_end(file, path,
                          fwrite(text->data, 1, text->size, file) != text->size &&
                              nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno)),
                          err);
}

/* The directory beside this one, without the results that it had. 0, or -1 with err. */
static int make_old(struct place *place, struct nvt_error *err)
{
    const struct nvt_buffer none = {0};
    const struct nvt_earlier_wish wish = {.overwrite = 1, .staying = &none};
    char real[PATH_MAX];
    if (!realpath(place->directory, real))
        return nvt_fail_at(err, place->directory, -1, "%s", strerror(errno));
    if (snprintf(place->old, sizeof(place->old), "%s.old", real) >= (int)sizeof(place->old))
        return nvt_fail_at(err, real, -1, "has too long a name");
    if (mkdir(place->old, 0777) && errno != EEXIST)
        return nvt_fail_at(err, place->old, -1, "%s", strerror(errno));
    if (access(place->old, W_OK | X_OK))
        return nvt_fail_at(err, place->old, -1, "%s", strerror(errno));
    return nvt_earlier_clear(place->old, &wish, err);
}

/* The two files that are written anew, as copies: until then they are where they were. 0, or -1 with err. */
static int keep_files(const struct nvt_earlier *earlier, struct place *place, struct nvt_error *err)
{
    struct nvt_error why = NVT_ERROR_INIT;
    struct nvt_buffer environment = {0};
    char path[8192], text[1200];
    int status = make_old(place, &why);
    snprintf(path, sizeof(path), "%s/env.json", place->directory);
    if (!status && !access(path, F_OK))
        status = nvt_read_file(path, TEXT_MOST, &environment, &why);
    snprintf(path, sizeof(path), "%s/env.json", place->old);
    if (!status && environment.size)
        status = write_copy(path, &environment, &why);
    snprintf(path, sizeof(path), "%s/results.jsonl", place->old);
    if (!status)
        status = write_copy(path, &earlier->text, &why);
    nvt_buffer_free(&environment);
    return status ? nvt_fail_at(err, place->directory, -1,
                                "holds results that cannot be kept (--force-overwrite replaces "
                                "them, -o names another directory): %s",
                                nvt_error_text(&why, text, sizeof(text)))
                  : 0;
}

/* What became of results, in a line. */
static void say(const struct place *place, size_t cleared, const struct nvt_buffer *staying)
{
    char traces[64] = "";
    if (cleared)
        snprintf(traces, sizeof(traces), "%s%zu trace%s of theirs removed",
                 staying->size ? ", " : " and ", cleared, cleared == 1 ? "" : "s");
    if (staying->size && *place->old)
        fprintf(stderr,
                "nvtally: rows in %s that ended are kept, and all that were there are in %s\n",
                place->directory, place->old);
    else if (staying->size)
        nvt_message(stderr, "rows in %s that ended are kept%s", place->directory, traces);
    else if (*place->old)
        nvt_message(stderr, "the results that were in %s are now in %s", place->directory,
                    place->old);
    else
        nvt_message(stderr, "the results in %s are replaced%s", place->directory, traces);
}

int nvt_earlier_clear(const char *directory, const struct nvt_earlier_wish *wish,
                      struct nvt_error *err)
{
    struct nvt_error unread = NVT_ERROR_INIT;
    struct nvt_earlier earlier = {0};
    struct place place = {.directory = directory};
    struct stat status;
    char results[4096];
    snprintf(results, sizeof(results), "%.3000s/results.jsonl", directory);
    if (stat(results, &status) || !S_ISREG(status.st_mode) || !status.st_size ||
        access(results, W_OK))
        return 0;
    int unreadable = nvt_earlier_read(directory, &earlier, wish->overwrite ? &unread : err);
    int failed = unreadable && !wish->overwrite ? -1 : 0;
    if (unreadable)
        earlier.count = 0; /* it names nothing */
    if (!failed && !wish->overwrite && !stay_all(&earlier, wish->staying))
        failed = keep_files(&earlier, &place, err);
    if (!failed)
        say(&place, clear_all(&earlier, &place, wish), wish->staying);
    nvt_earlier_free(&earlier);
    return failed;
}
