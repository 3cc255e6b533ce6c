#include "folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int make_one(const char *path)
{
    struct stat status;
    if (!mkdir(path, 0777))
        return 0;
    int cause = errno;
    if (!stat(path, &status) && S_ISDIR(status.st_mode))
        return 0;
    errno = cause;
    return -1;
}

int nvt_folder_make_above(const char *file)
{
    char *path = strdup(file);
    int status = path ? 0 : -1;
    for (char *at = path; !status && *at && (at = strchr(at + 1, '/'));) {
        *at = 0;
        status = make_one(path);
        *at = '/';
    }
    int cause = errno;
    free(path);
    errno = cause;
    return status;
}

int nvt_folder_make(const char *path)
{
    return nvt_folder_make_above(path) || make_one(path) ? -1 : 0;
}
