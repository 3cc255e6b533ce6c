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

#endif
