/*
 * Creates files safely where others may have planted a link or a file.
 */
#ifndef NVT_CREATE_FILE_H
#define NVT_CREATE_FILE_H

#include <stdio.h>

#include "error.h"

/*
 * Create a file for writing, or truncate an existing one. In a folder where everybody may write (/tmp), a link or file
 * of another user is refused: it could lead to a file of our user's, or leave what we write in its owner's hands. Linux
 * does the same where fs.protected_symlinks and fs.protected_regular are on. The descriptor, or -1 with errno (EPERM:
 * that was it).
 */
int nvt_create_file(const char *path);

/* Create a file for writing, or open an existing one without truncating it. Refuses and returns as nvt_create_file
 * does. */
int nvt_open_file(const char *path);

/* Create a file with nvt_create_file and open it as a stream; NULL with errno. */
FILE *nvt_create_stream(const char *path);

/* After the last write: flush the stream, and close it unless it is stdout. `name` names it in err. `failed`: an
 * earlier step failed and has filled err. 0, or -1 with err. */
int nvt_stream_end(FILE *out, const char *name, int failed, struct nvt_error *err);

/*
 * The file to write so that `path` is replaced only once the new content is complete: a file next to it, or `path`
 * itself where that is a pipe, a device or a link. malloc'ed; NULL with err where the existing file cannot be written.
 * nvt_replacement_end, after the file was written and closed, renames it to `path`, or removes it if `failed`; it frees
 * `replacement`. 0, or -1 with err.
 */
char *nvt_replacement_of(const char *path, struct nvt_error *err);
int nvt_replacement_end(char *replacement, const char *path, int failed, struct nvt_error *err);

/* Whether an option -o says "-", as who wants standard output does, for `what`, "a trace", which cannot go there; `kind` is "file"
 * or "directory". 0, or -1 with err: it does. */
int nvt_check_not_stdout(const char *output, const char *what, const char *kind,
                         struct nvt_error *err);

/* Whether `output` would go over a file that is read, by whatever name. 0, or -1 with err: it would. */
int nvt_check_output(const char *output, const char *input, struct nvt_error *err);

/* Whether `output` is a trace, ours or a database, that something else than a trace would go over. 0, or -1 with err: it is. */
int nvt_check_not_trace(const char *output, struct nvt_error *err);

#endif
