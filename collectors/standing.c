#include "standing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "ring.h"

/* The end of "/dev/shm/nvtally-XXXXXX", with which the variable of such a session begins; NULL: it does not. */
static const char *folder_end(const char *value)
{
    const char *at = value, *found = NULL;
    while ((at = strstr(at, "/" NVT_SESSION_PREFIX)))
        found = at++;
    const size_t length = strlen("/" NVT_SESSION_PREFIX) + 6;
    return found && strlen(found) > length && found[length] == ':' ? found + length : NULL;
}

int nvt_standing_parse(const char *value, struct nvt_standing *out)
{
    const char *end = folder_end(value);
    const size_t length = end ? (size_t)(end - value) : strlen(value);
    *out = (struct nvt_standing){.is_standing = end != NULL};
    if (!length || length >= sizeof(out->folder))
        return -1;
    memcpy(out->folder, value, length);
    if (!end)
        return 0;
    char *behind;
    out->trace = strtoull(end + 1, &behind, 16);
    if (*behind != ':' || !out->trace)
        return -1;
    const unsigned long slots = strtoul(behind + 1, &behind, 16);
    if (*behind != ':' || slots < 1024 || slots > 1u << 26 || (slots & (slots - 1)) ||
        strlen(behind + 1) >= sizeof(out->iteration))
        return -1;
    out->slots = (uint32_t)slots;
    memcpy(out->iteration, behind + 1, strlen(behind + 1));
    return 0;
}

int nvt_standing_text(const struct nvt_standing *standing, char *out, uint64_t size)
{
    return snprintf(out, size, "%s:%" PRIx64 ":%" PRIx32 ":%s", standing->folder, standing->trace,
                    standing->slots, standing->iteration) < (int)size;
}

static int is_ours_alone(int folder)
{
    struct stat status;
    return !fstat(folder, &status) && status.st_uid == geteuid() && !(status.st_mode & 077);
}

static void describe(const struct nvt_standing *standing, int32_t holder, uint64_t holder_start,
                     struct nvt_control *page)
{
    struct stat status;
    page->magic = NVT_CONTROL_MAGIC;
    page->version = NVT_SHARED_VERSION;
    page->clock = nvt_clock_best();
    page->on_full = NVT_ON_FULL_WAIT;
    page->slots = standing->slots;
    page->trace = standing->trace;
    page->usual_counters = NVT_COUNTS_USUAL;
    page->pid_space = stat(NVT_PID_SPACE, &status) ? 0 : status.st_ino;
    page->where_least = UINT64_MAX;
    page->is_dormant = page->is_standing = 1;
    page->window = NVT_WINDOW_BEFORE;
    page->holder = holder;
    page->holder_start = holder_start;
    memcpy(page->iteration, standing->iteration, sizeof(standing->iteration));
}

/* It gets its name when it is complete, and only one does. */
static int make_page(int folder, const struct nvt_control *page)
{
    char fresh[64];
    snprintf(fresh, sizeof(fresh), NVT_FRESH_PREFIX "page.%d", (int)getpid());
    const int descriptor = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return -1;
    errno = ENOSPC;
    int status = write(descriptor, page, sizeof(*page)) == sizeof(*page) ? 0 : -1;
    if (!status)
        status = linkat(folder, fresh, folder, NVT_CONTROL_NAME, 0);
    if (status && errno == EEXIST)
        status = 0;
    const int cause = errno;
    close(descriptor);
    unlinkat(folder, fresh, 0);
    errno = cause;
    return status;
}

int nvt_standing_make(const struct nvt_standing *standing, int32_t holder, uint64_t holder_start)
{
    struct nvt_control page;
    if (mkdir(standing->folder, 0700) && errno != EEXIST)
        return -1;
    const int folder = open(standing->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int status = is_ours_alone(folder) ? 0 : -1;
    errno = EPERM;
    if (!status && faccessat(folder, NVT_CONTROL_NAME, F_OK, 0)) {
        memset(&page, 0, sizeof(page));
        describe(standing, holder, holder_start, &page);
        status = make_page(folder, &page);
    }
    const int cause = errno;
    close(folder);
    errno = cause;
    return status;
}
