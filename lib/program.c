#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_of.h"

int nvt_is_program(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

static int can_execute(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    if (S_ISDIR(status.st_mode) || access(path, X_OK))
        return EACCES;
    return 0;
}

int nvt_command_find(const char *command, char *path, size_t size)
{
    char candidate[PATH_MAX];
    int worst = ENOENT;
    if (strchr(command, '/')) {
        if (path)
            snprintf(path, size, "%s", command);
        return can_execute(command);
    }
    /* An empty name is the current folder, as in a shell. */
    const char *places = getenv("PATH");
    for (const char *at = places ? places : "/bin:/usr/bin"; *command; at++) {
        int length = (int)strcspn(at, ":");
        int written = snprintf(candidate, sizeof(candidate), "%.*s/%s", length ? length : 1,
                               length ? at : ".", command);
        int why = written < (int)sizeof(candidate) ? can_execute(candidate) : ENOENT;
        if (!why && path)
            snprintf(path, size, "%s", candidate);
        if (!why)
            return 0;
        if (why == EACCES)
            worst = EACCES;
        at += length;
        if (!*at)
            break;
    }
    return worst;
}

FILE *nvt_program_start(const char *path, char *const *argv, int all, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return NULL;
    int failed = posix_spawn_file_actions_init(&actions);
    if (!failed) {
        if (all) {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
            posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
        failed = posix_spawn(child, path, &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    FILE *said = failed ? NULL : fdopen(ends[0], "r");
    if (!said) {
        failed = failed ? failed : errno;
        close(ends[0]);
        errno = failed;
    }
    return said;
}

int nvt_program_wait(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int nvt_find_program(const char *name, char *path, size_t size)
{
    char found[PATH_MAX], absolute[PATH_MAX];
    if (nvt_command_find(name, found, sizeof(found)))
        return -1;
    const char *given = *found == '/' ? found : realpath(found, absolute);
    return given && snprintf(path, size, "%s", given) < (int)size ? 0 : -1;
}

int nvt_find_library(const char *name, char *out, size_t size, struct nvt_error *err)
{
    char self[PATH_MAX];
    const char *given = getenv("NVTALLY_LIBDIR");
    if (given && snprintf(out, size, "%s/%s", given, name) < (int)size && !access(out, R_OK))
        return 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length > 0) {
        static const char *const places[] = {".", "..", "../lib/nvtally"};
        self[length] = 0;
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
        for (size_t i = 0; i < NVT_COUNT_OF(places); i++)
            if (snprintf(out, size, "%s/%s/%s", self, places[i], name) < (int)size &&
                !access(out, R_OK))
                return 0;
    }
    return nvt_fail(
        err,
        "%s is neither next to the program nor in ../lib/nvtally; set NVTALLY_LIBDIR to its folder",
        name);
}

int nvt_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void nvt_end_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        (void)raise(SIGTERM);
}
