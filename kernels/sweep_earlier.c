#include "sweep_earlier.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/read_file.h"
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

/* Processes of a row's run: 1 where it names none. */
static long ranks_of(const char *line, size_t size)
{
    static const char key[] = "\"ranks\": ";
    const char *at = memmem(line, size, key, sizeof(key) - 1);
    return at ? strtol(at + sizeof(key) - 1, NULL, 10) : 1; /* a line feed ends the row */
}

/* A row names the trace of rank 0; the others' differ in that number. */
static size_t remove_traces(const char *directory, const char *name, long ranks, int first_rank)
{
    size_t removed = (size_t)remove_trace(directory, name);
    char other[4096];
    for (int rank = first_rank; rank < ranks && rank < RANKS_MOST; rank++) {
        if (nvt_rank_trace(name, rank, other, sizeof(other)))
            break;
        removed += (size_t)remove_trace(directory, other);
    }
    return removed;
}

/* Whether a trace is one of the rows that stay. */
static int is_kept(const char *name, const struct nvt_buffer *kept)
{
    char member[4096 + 16];
    int length = snprintf(member, sizeof(member), "\"trace\": \"%s\"", name);
    return kept->size && memmem(kept->data, kept->size, member, (size_t)length) != NULL;
}

/* Remove the traces of all rows that do not stay. Where a line is none of a sweep, nothing is removed: it is
 * somebody else's file. Returns how many. */
static size_t remove_all(const struct nvt_earlier *earlier, const char *directory, int first_rank,
                         const struct nvt_buffer *kept)
{
    char name[4096];
    size_t removed = 0, size;
    for (size_t i = 0; i < earlier->count; i++) {
        const char *line = line_of(earlier, i, &size);
        if (size < 3 || *line != '{' || line[size - 2] != '}')
            return 0;
    }
    for (size_t i = 0; i < earlier->count; i++) {
        const char *line = line_of(earlier, i, &size);
        if (trace_of(line, size, name, sizeof(name)) && !is_kept(name, kept))
            removed += remove_traces(directory, name, ranks_of(line, size), first_rank);
    }
    return removed;
}

void nvt_earlier_remove(const char *directory, int ranks, const struct nvt_buffer *kept)
{
    struct nvt_error unread = NVT_ERROR_INIT;
    struct nvt_earlier earlier = {0};
    struct stat status;
    char results[4096], traces[64] = "";
    snprintf(results, sizeof(results), "%.3000s/results.jsonl", directory);
    if (stat(results, &status) || !S_ISREG(status.st_mode) || !status.st_size ||
        access(results, W_OK))
        return;
    /* What cannot be read names nothing. */
    size_t removed = 0;
    if (!nvt_earlier_read(directory, &earlier, &unread))
        removed = remove_all(&earlier, directory, ranks > 1 ? ranks : 1, kept);
    nvt_earlier_free(&earlier);
    if (removed)
        snprintf(traces, sizeof(traces), " and %zu trace%s of theirs removed", removed,
                 removed == 1 ? "" : "s");
    if (kept->size)
        fprintf(stderr, "nvtally: rows in %s that ended are kept%s%s\n", directory,
                removed ? "," : "", removed ? traces + strlen(" and") : "");
    else
        fprintf(stderr, "nvtally: the results in %s are replaced%s\n", directory, traces);
}
