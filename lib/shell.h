/* A command line as one text that a shell takes apart again. */
#ifndef NVT_SHELL_H
#define NVT_SHELL_H

#include "buffer.h"

/*
 * Append the words of argv (NULL-terminated) with a blank before each but the first, in single quotes where a POSIX
 * shell would make something else of them. Letters of other scripts need none. A word with line breaks, other control
 * characters or invalid UTF-8 (nvt_char_visible) is written as $'…', which bash, zsh, ksh, busybox and POSIX.1-2024
 * know, so that the text is one line that can be copied from a page. 0, or -1 when out of memory.
 */
int nvt_shell_join(struct nvt_buffer *out, char *const argv[]);

#endif
