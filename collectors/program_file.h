/*
 * The file that a command's name stands for, and what in it keeps the collector out.
 */
#ifndef NVT_PROGRAM_FILE_H
#define NVT_PROGRAM_FILE_H

#include <stddef.h>

/* The path that a shell would run. 0, or why it would run none: ENOENT, EACCES. `path` may be NULL. */
int nvt_program_find(const char *command, char *path, size_t size);

/*
 * Why no library can be put into that program, or one of glibc not: "./m is linked statically". A script is what its first line
 * names. Returns `text`, or NULL: there is no such reason, or the file cannot be read.
 */
const char *nvt_program_obstacle(const char *command, char *text, size_t size);

#endif
