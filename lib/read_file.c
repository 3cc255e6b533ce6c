#include "read_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PIECE ((size_t)1 << 16)

/* The rest of a file. 0; 1: it is too large; -1: memory is out. */
static int read_stream(FILE *file, size_t most, struct nvt_buffer *out)
{
    size_t before = out->size, got;
    do {
        if (nvt_buffer_reserve(out, PIECE + 1))
            return -1;
        got = fread(out->data + out->size, 1, PIECE, file);
        out->size += got;
        if (out->size - before > most)
            return 1;
    } while (got);
    out->data[out->size] = 0;
    return 0;
}

int nvt_read_file(const char *path, size_t most, struct nvt_buffer *out, struct nvt_error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return nvt_fail_at(err, path, -1, "cannot be read: %s", strerror(errno));
    int failed = read_stream(file, most, out), cause = ferror(file) ? errno : 0;
    fclose(file);
    if (cause)
        return nvt_fail_at(err, path, -1, "cannot be read: %s", strerror(cause));
    if (failed > 0)
        return nvt_fail_at(err, path, -1, "is too large: more than %zu MiB", most >> 20);
    return failed ? nvt_fail_at(err, path, -1, "out of memory") : 0;
}

int nvt_read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    const int is_there = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    line[is_there ? strcspn(line, "\n") : 0] = 0;
    return is_there;
}
