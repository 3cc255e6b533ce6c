#include "stale.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/folder.h"
#include "../lib/process_stat.h"
#include "attached.h"
#include "ctl_socket.h"
#include "ring.h"

#define OLD_SECONDS 60

uint64_t nvt_process_start(int pid)
{
    struct nvt_process_stat stat;
    return pid <= 0 || nvt_process_stat(pid, &stat) ? 0 : stat.started;
}

static int is_session_name(const char *name)
{
    return !strncmp(name, NVT_SESSION_PREFIX, strlen(NVT_SESSION_PREFIX)) &&
           strlen(name) == strlen(NVT_SESSION_PREFIX) + 6;
}

/* Whether a process lives, and when it started: 0 where that cannot be read. */
static int look_at(int pid, uint64_t *started)
{
    struct nvt_process_stat stat;
    *started = 0;
    if (pid <= 0 || (kill(pid, 0) && errno == ESRCH))
        return 0;
    if (nvt_process_stat(pid, &stat))
        return 1;
    *started = stat.started;
    /* One that nobody has waited for has ended all the same. */
    return stat.state != 'Z' && stat.state != 'X';
}

int nvt_process_is(int pid, uint64_t start)
{
    uint64_t started;
    return look_at(pid, &started) && (!started || started == start);
}

int nvt_process_lives(int pid)
{
    uint64_t started;
    return look_at(pid, &started);
}

/* As it is now, into *page. */
static int says_abandoned(int control, struct nvt_control *page)
{
    return pread(control, page, sizeof(*page), 0) == sizeof(*page) &&
           page->magic == NVT_CONTROL_MAGIC && page->version == NVT_SHARED_VERSION &&
           !nvt_process_is(page->recorder, page->recorder_start);
}

int nvt_stale_is_left(const struct nvt_control *page, const char *folder)
{
    struct stat space;
    return page->is_standing && !stat(NVT_PID_SPACE, &space) && space.st_ino == page->pid_space &&
           !nvt_process_is(page->holder, page->holder_start) && !nvt_attached(folder, NULL, 0);
}

/* Of a standing one that is not so young that its first process may be about to join. */
static int is_left(const struct nvt_control *page, int control, const char *path)
{
    struct stat status;
    return !page->is_standing ||
           (!fstat(control, &status) && time(NULL) - status.st_mtime > OLD_SECONDS &&
            nvt_stale_is_left(page, path));
}

/* Whether the control page says so, which is too large for a small stack. With the lock taken: nobody else removes it meanwhile. Only then, as
 * a recorder that begins takes it before its page says anything, and would be taken for dead without it. */
static int is_abandoned(int control, const char *path)
{
    struct nvt_control *page = malloc(sizeof(*page));
    const int is = page && nvt_is_ours_alone(control) && says_abandoned(control, page) &&
                   is_left(page, control, path) && !flock(control, LOCK_EX | LOCK_NB) &&
                   says_abandoned(control, page);
    free(page);
    return is;
}

/* Rings first: while there is a control page, the rest can still be found and removed. */
static void remove_contents(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    if (!entries) {
        if (again >= 0)
            close(again);
        return;
    }
    for (struct dirent *entry; (entry = nvt_folder_next(entries));)
        if (!strncmp(entry->d_name, NVT_RING_PREFIX, strlen(NVT_RING_PREFIX)) ||
            !strncmp(entry->d_name, NVT_FRESH_PREFIX, strlen(NVT_FRESH_PREFIX)))
            unlinkat(folder, entry->d_name, 0);
    unlinkat(folder, NVT_CTL_NAME, 0);
    unlinkat(folder, NVT_CONTROL_NAME, 0);
    closedir(entries);
}

/* Whether a folder of ours without a control page is none that is just being made or taken away. */
static int is_old(int folder)
{
    struct stat status;
    return nvt_is_ours_alone(folder) && !fstat(folder, &status) &&
           time(NULL) - status.st_mtime > OLD_SECONDS;
}

static void consider(const char *where, int place, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", where, name);
    int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    int control = nvt_is_ours_alone(folder) ? openat(folder, NVT_CONTROL_NAME,
                                                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                                            : -1;
    if (control >= 0 && is_abandoned(control, path)) {
        remove_contents(folder);
        unlinkat(place, name, AT_REMOVEDIR);
    } else if (control < 0 && errno == ENOENT && is_old(folder))
        unlinkat(place, name, AT_REMOVEDIR);
    if (control >= 0)
        close(control);
    close(folder);
}

void nvt_stale_remove(const char *place)
{
    DIR *entries = opendir(place);
    if (!entries)
        return;
    for (struct dirent *entry; (entry = nvt_folder_next(entries));)
        if (is_session_name(entry->d_name))
            consider(place, dirfd(entries), entry->d_name);
    closedir(entries);
}
