/*
 * Lines of requests in a file that many write and read (ctl_file.h), and the files themselves.
 */
#ifndef NVT_CTL_LINE_H
#define NVT_CTL_LINE_H

#include "ctl_file.h"

#define NVT_CTL_LINE_MOST ((size_t)NVT_CTL_REQUEST_MOST + 300) /* bytes, without its line feed */

struct nvt_ctl_line {
    const char *serial, *whom, *text; /* in the line that was parsed */
};

/* Take it apart, in place. 0, or -1: it is none, or not whole. */
int nvt_ctl_line_parse(char *line, struct nvt_ctl_line *out);

/* With its line feeds. Bytes, or -1: it is too long, or of several lines. */
int nvt_ctl_line_make(const struct nvt_ctl_line *line, char *out, size_t size);

/* A regular file of ours that nobody else may write to; its descriptor, or -1 with errno (EPERM: it is not). Where a network file system
 * fails for a moment (EIO; ESTALE: the file has been replaced on the server), it is tried again. */
int nvt_ctl_line_open(const char *path, int flags);

/* Have a network file system ask its server how long the file is now, whatever it has cached: it is given the mode that it has. */
void nvt_ctl_line_refresh(int descriptor);

/* Of a process, what distinguishes it from all others: the first line of its file, with its line feed, "@…". */
#define NVT_CTL_LINE_WHO 128
void nvt_ctl_line_who(pid_t pid, char out[NVT_CTL_LINE_WHO]);

/* Whether such a line is of a process that has ended; 0 also where that cannot be told from here. */
int nvt_ctl_line_is_dead(const char *who);

/* What is to be said of that errno. */
const char *nvt_ctl_line_why(int cause);

#endif
