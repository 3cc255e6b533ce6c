/*
 * A whole file in memory, or its first line.
 */
#ifndef NVT_READ_FILE_H
#define NVT_READ_FILE_H

#include <stddef.h>

#include "buffer.h"
#include "error.h"

/*
 * Read a file to the end of a buffer, with a NUL behind it that is not counted. Pipes can be read, too. 0, or -1 with err, which
 * names the file: it cannot be read, it has more than `most` bytes, or memory is out. The buffer is the caller's in any case.
 */
int nvt_read_file(const char *path, size_t most, struct nvt_buffer *out, struct nvt_error *err);

/* The first line of a file, without its end and cut to `size`; "" where there is none. Whether there is one. */
int nvt_read_line(const char *path, char *line, size_t size);

#endif
