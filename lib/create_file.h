/*
 * Making a file that others may have laid a trap for.
 */
#ifndef NVT_CREATE_FILE_H
#define NVT_CREATE_FILE_H

#include <stdio.h>

#include "error.h"

/*
 * Create a file for writing, or empty the one that is there. In a folder where everybody may write
 * (/tmp), a link or a file that somebody else has put there is not taken: it could lead to a file
 * of ours, or leave what we write in the hands of its owner. That is what Linux does itself with
 * fs.protected_symlinks and fs.protected_regular, where these are on. The descriptor, or -1 with
 * errno (EPERM: that was it).
 */
int nvt_create_file(const char *path);

/* Create a file for writing, or open the one that is there and leave what it holds; refused and returned as by nvt_create_file. */
int nvt_open_file(const char *path);

/* Create a file with nvt_create_file and open it as a stream; NULL with errno. */
FILE *nvt_create_stream(const char *path);

/* When all was written: flush a stream, and close it unless it is stdout. `name`: of what, for err. `failed`: something went wrong
 * before, and err says so. 0, or -1 with err: that, or it cannot be written. */
int nvt_stream_end(FILE *out, const char *name, int failed, struct nvt_error *err);

/*
 * Where to write what shall take the place of `path` once it is whole: a file beside it, or `path` itself where that is a
 * pipe, a device or a link. malloc'ed, or NULL with err: what is there cannot be written.
 * nvt_replacement_end: it was written and closed, or `failed`: it takes the place, or nothing is left of it. 0, or -1
 * with err; `replacement` is freed.
 */
char *nvt_replacement_of(const char *path, struct nvt_error *err);
int nvt_replacement_end(char *replacement, const char *path, int failed, struct nvt_error *err);

/* Whether an option -o says "-", as who wants standard output does, for `what`, "a trace", which cannot go there; `kind` is "file"
 * or "directory". 0, or -1 with err: it does. */
int nvt_check_not_stdout(const char *output, const char *what, const char *kind,
                         struct nvt_error *err);

/* Whether `output` would go over a file that is read, by whatever name. 0, or -1 with err: it would. */
int nvt_check_output(const char *output, const char *input, struct nvt_error *err);

#endif
