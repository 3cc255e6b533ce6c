/*
 * A file that stays under another name when a new one takes its place.
 */
#ifndef NVT_KEEP_FILE_H
#define NVT_KEEP_FILE_H

#include <limits.h>

#include "error.h"

/*
 * Names in the folder of a file that is there: its own or, of a link, of what that leads to; of the hidden file that is to
 * take its place, ".trace.nvt.new"; and of what it is kept as, "trace.old.nvt" ("x.old" of one that does not end in
 * .nvt).
 */
struct nvt_keep_names {
    char real[PATH_MAX], fresh[PATH_MAX], kept[PATH_MAX];
};

/* 0, or -1 with err: the file is not there, has too long a name, or something stands in the place of the hidden file
 * that is no regular file of one name (a link would lead to a file of somebody else). */
int nvt_keep_names(const char *path, struct nvt_keep_names *names, struct nvt_error *err);

/*
 * The file gets its name `kept`, in place of one of that name, and the hidden one gets that of the file. At no moment
 * is there none where the file system has hard links. 0, or -1 with errno: the file is still there, or is kept.
 */
int nvt_keep_file(const struct nvt_keep_names *names);

#endif
