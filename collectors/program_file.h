/*
 * What in a command's file keeps the collector out.
 */
#ifndef NVT_PROGRAM_FILE_H
#define NVT_PROGRAM_FILE_H

#include <stddef.h>

/*
 * Why no library can be put into that program, or one of glibc not: "./m is linked statically". A script is what its first line
 * names. Returns `text`, or NULL: there is no such reason, or the file cannot be read.
 */
const char *nvt_program_obstacle(const char *command, char *text, size_t size);

/*
 * What a command that is there lacks, so that the kernel cannot start it: "its first line names the interpreter /bin/nosh, which is
 * not there", or its loader. Returns `text`, or NULL: nothing of that kind.
 */
const char *nvt_program_lacks(const char *command, char *text, size_t size);

/* Whether a file, with no search for it, is a program of another libc, whose loader `loader` then gets. Not where it cannot be read. */
int nvt_program_is_foreign(const char *path, char *loader, size_t size);

/*
 * Whether a command is statically linked and has NVTX in it. Such a program can load the collector with the shared libraries of the
 * glibc that it was linked with; with those of another version it crashes.
 */
int nvt_program_is_static_nvtx(const char *command);

#endif
