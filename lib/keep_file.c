#include "keep_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".nvt"

int nvt_keep_names(const char *path, struct nvt_keep_names *names, struct nvt_error *err)
{
    struct stat status;
    int failed = lstat(path, &status) || (S_ISLNK(status.st_mode) && !realpath(path, names->real));
    if (failed)
        return nvt_fail_at(err, path, -1, "cannot be found any more: %s", strerror(errno));
    if (!S_ISLNK(status.st_mode) &&
        snprintf(names->real, sizeof(names->real), "%s", path) >= (int)sizeof(names->real))
        return nvt_fail_at(err, path, -1, "has too long a name");
    const char *slash = strrchr(names->real, '/'), *name = slash ? slash + 1 : names->real;
    int folder = (int)(name - names->real), length = (int)strlen(name);
    int ending = length > (int)strlen(ENDING) && !strcmp(name + length - strlen(ENDING), ENDING)
                     ? (int)strlen(ENDING)
                     : 0;
    if (snprintf(names->fresh, sizeof(names->fresh), "%.*s.%s.new", folder, names->real, name) >=
            (int)sizeof(names->fresh) ||
        snprintf(names->kept, sizeof(names->kept), "%.*s.old%s", folder + length - ending,
                 names->real, name + length - ending) >= (int)sizeof(names->kept))
        return nvt_fail_at(err, path, -1, "has too long a name");
    /* What a killed recorder left is replaced. A link would lead to a file of somebody else, and take our name. */
    if (!lstat(names->fresh, &status) && (!S_ISREG(status.st_mode) || status.st_nlink > 1))
        return nvt_fail_at(err, names->fresh, -1,
                           "is a link or not a regular file, and is not replaced");
    return 0;
}

/* The file gets its other name, too, or that alone where there are no links. 0, 1, or -1 with errno. */
static int give_name(const struct nvt_keep_names *names)
{
    struct stat status;
    if (lstat(names->real, &status))
        return errno == ENOENT ? 0 : -1; /* it has gone: what is kept already stays */
    if (!(unlink(names->kept) && errno != ENOENT) && !link(names->real, names->kept))
        return 0;
    return rename(names->real, names->kept) ? -1 : 1;
}

int nvt_keep_file(const struct nvt_keep_names *names)
{
    int was_moved = give_name(names);
    if (was_moved < 0)
        return -1;
    if (!rename(names->fresh, names->real))
        return 0;
    int cause = errno;
    if (was_moved)
        (void)rename(names->kept, names->real);
    errno = cause;
    return -1;
}
