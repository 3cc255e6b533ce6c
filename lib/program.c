#include "program.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

int nvt_is_program(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

/* An empty name is the current folder, as in a shell. */
static int is_in(const char *folder, int length, const char *name, char *path, size_t size)
{
    char found[PATH_MAX], absolute[PATH_MAX];
    if (snprintf(found, sizeof(found), "%.*s/%s", length ? length : 1, length ? folder : ".",
                 name) >= (int)sizeof(found) ||
        !nvt_is_program(found))
        return 0;
    const char *given = *found == '/' ? found : realpath(found, absolute);
    return given && snprintf(path, size, "%s", given) < (int)size;
}

int nvt_find_program(const char *name, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/bin:/usr/bin";; at++) {
        int length = (int)strcspn(at, ":");
        if (is_in(at, length, name, path, size))
            return 0;
        at += length;
        if (!*at)
            return -1;
    }
}

void nvt_end_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        (void)raise(SIGTERM);
}
