#include "sweep_earlier.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../analyze/input/runs.h"
#include "ranks.h"

#define RANKS_MOST 65536
#define TEXT_MOST  ((size_t)256 << 20)

static int read_text(FILE *file, const char *path, struct nvt_buffer *text, struct nvt_error *err)
{
    size_t piece = (size_t)1 << 16, got;
    do {
        if (nvt_buffer_reserve(text, piece))
            return nvt_fail(err, "out of memory");
        got = fread(text->data + text->size, 1, piece, file);
        text->size += got;
        if (text->size > TEXT_MOST)
            return nvt_fail_at(err, path, -1, "is larger than the rows of a sweep");
    } while (got);
    return ferror(file) ? nvt_fail_at(err, path, -1, "cannot be read: %s", strerror(errno)) : 0;
}

int nvt_earlier_read(const char *directory, struct nvt_earlier *earlier, struct nvt_error *err)
{
    char path[4096];
    snprintf(path, sizeof(path), "%.3000s/results.jsonl", directory);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? 0 : nvt_fail_at(err, path, -1, "%s", strerror(errno));
    int status = read_text(file, path, &earlier->text, err);
    fclose(file);
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

/* Whether the trace that a row names, if it does, is there. */
static int has_trace(const char *directory, const char *line, size_t size)
{
    static const char key[] = "\"trace\": \"";
    const char *at = memmem(line, size, key, sizeof(key) - 1), *end = NULL;
    char path[8192];
    if (at) {
        at += sizeof(key) - 1;
        end = memchr(at, '"', size - (size_t)(at - line));
    }
    return !end || (snprintf(path, sizeof(path), "%.3000s/%.*s", directory, (int)(end - at), at) <
                        (int)sizeof(path) &&
                    !access(path, R_OK));
}

const char *nvt_earlier_find(const struct nvt_earlier *earlier, const char *directory,
                             const char *begin, size_t length, size_t *size)
{
    for (size_t i = 0; i < earlier->count; i++) {
        size_t at = ((const size_t *)(const void *)earlier->lines.data)[i];
        const char *line = (const char *)earlier->text.data + at;
        size_t left = earlier->text.size - at;
        if (left < length || memcmp(line, begin, length) != 0)
            continue;
        *size = (size_t)((const char *)memchr(line, '\n', left) - line) + 1;
        if (has_ended(line, *size) && has_trace(directory, line, *size))
            return line;
    }
    return NULL;
}

static int ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && !strcmp(name + length - wanted, ending);
}

/* Whether it went. */
static int remove_trace(const char *directory, const char *name)
{
    struct stat status;
    char *path;
    if (strchr(name, '/') || !(ends_with(name, ".nvt") || ends_with(name, ".nsys-rep")) ||
        asprintf(&path, "%s/%s", directory, name) < 0)
        return 0;
    int removed = !lstat(path, &status) && S_ISREG(status.st_mode) && !unlink(path);
    free(path);
    return removed;
}

/* A row names the trace of rank 0; the others' differ in that number. */
static size_t remove_named(const char *directory, const struct nvt_record *row, int first_rank)
{
    const char *name = nvt_record_text(row, "trace");
    double ranks = nvt_record_number(row, "ranks");
    size_t removed = name ? (size_t)remove_trace(directory, name) : 0;
    char other[4096];
    for (int rank = first_rank; name && rank < ranks && rank < RANKS_MOST; rank++) {
        if (nvt_rank_trace(name, rank, other, sizeof(other)))
            break;
        removed += (size_t)remove_trace(directory, other);
    }
    return removed;
}

/* Whether the row's trace is one of theirs. */
static int is_kept(const struct nvt_record *row, const struct nvt_buffer *kept)
{
    const char *name = nvt_record_text(row, "trace");
    char *member;
    if (!name || !kept->size || asprintf(&member, "\"trace\": \"%s\"", name) < 0)
        return 0;
    int found = memmem(kept->data, kept->size, member, strlen(member)) != NULL;
    free(member);
    return found;
}

void nvt_earlier_remove(const char *directory, int ranks, const struct nvt_buffer *kept)
{
    struct nvt_error unread = NVT_ERROR_INIT;
    struct stat status;
    char results[4096], traces[64] = "";
    snprintf(results, sizeof(results), "%.3000s/results.jsonl", directory);
    if (stat(results, &status) || !S_ISREG(status.st_mode) || !status.st_size ||
        access(results, W_OK))
        return;
    /* What cannot be read names nothing. */
    struct nvt_runs *runs = nvt_runs_read(directory, &unread);
    size_t removed = 0;
    for (size_t i = 0; runs && i < runs->count; i++)
        if (!is_kept(&runs->records[i], kept))
            removed += remove_named(directory, &runs->records[i], ranks > 1 ? ranks : 1);
    nvt_runs_free(runs);
    if (removed)
        snprintf(traces, sizeof(traces), " and %zu trace%s of theirs removed", removed,
                 removed == 1 ? "" : "s");
    if (kept->size)
        fprintf(stderr, "nvtally: rows in %s that ended are kept%s%s\n", directory,
                removed ? "," : "", removed ? traces + strlen(" and") : "");
    else
        fprintf(stderr, "nvtally: the results in %s are replaced%s\n", directory, traces);
}
