#include "standing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/folder.h"
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
    const char *wishes = behind;
    while (*behind == '[' && (end = strchr(behind, ']')))
        behind = (char *)(uintptr_t)end + 1;
    out->wishes_size = (size_t)(behind - wishes);
    out->wishes = out->wishes_size ? wishes : NULL;
    if (*behind != ':' || slots < 1024 || slots > 1u << 26 || (slots & (slots - 1)) ||
        strlen(behind + 1) >= sizeof(out->iteration))
        return -1;
    out->slots = (uint32_t)slots;
    memcpy(out->iteration, behind + 1, strlen(behind + 1));
    return 0;
}

int nvt_standing_text(const struct nvt_standing *standing, char *out, uint64_t size)
{
    return snprintf(out, size, "%s:%" PRIx64 ":%" PRIx32 "%.*s:%s", standing->folder,
                    standing->trace, standing->slots, (int)standing->wishes_size,
                    standing->wishes ? standing->wishes : "", standing->iteration) < (int)size;
}

/* --- counters ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void append(char out[NVT_STANDING_WISHES],
                                                         const char *format, ...)
{
    const size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, NVT_STANDING_WISHES - used, format, arguments);
    va_end(arguments);
}

void nvt_standing_wishes(const struct nvt_control *page, int has_counters,
                         char out[NVT_STANDING_WISHES])
{
    *out = 0;
    if (has_counters) {
        append(out, "[c%" PRIx32, page->usual_counters);
        for (uint32_t i = 0; i < page->chosen_counters; i++)
            append(out, ",%" PRIx32 ".%" PRIx64 ".%s", page->chosen[i].type, page->chosen[i].config,
                   page->chosen[i].name);
        append(out, "]");
    }
    if (*page->topdown)
        append(out, "[t%s]", page->topdown);
    if (page->trace & NVT_TRACE_METRICS) {
        append(out, "[m%" PRIu32, page->metrics_hz);
        for (const char *name = page->metrics; *name; name += strcspn(name, "\n") + 1)
            append(out, ",%.*s", (int)strcspn(name, "\n"), name);
        append(out, "]");
    }
}

/* A text up to the end of a block or the next comma. 0, or -1: it has no room. */
static int copy_word(const char *from, char *to, size_t room, char end)
{
    const size_t length = strcspn(from, ",]");
    if (!length || length + 1 + (end != 0) > room)
        return -1;
    memcpy(to, from, length);
    to[length] = end;
    to[length + (end != 0)] = 0;
    return 0;
}

/* ",TYPE.CONFIG.NAME…]" */
static int read_chosen(const char *at, struct nvt_control *page)
{
    for (; *at == ','; at += strcspn(at, ",]")) {
        const uint32_t i = page->chosen_counters;
        char *behind;
        if (i == NVT_CHOSEN_MOST)
            return -1;
        page->chosen[i].type = (uint32_t)strtoul(at + 1, &behind, 16);
        if (*behind != '.')
            return -1;
        page->chosen[i].config = strtoull(behind + 1, &behind, 16);
        if (*behind != '.' ||
            copy_word(behind + 1, page->chosen[i].name, sizeof(page->chosen[i].name), 0))
            return -1;
        at = behind + 1;
        page->chosen_counters++;
    }
    return *at == ']' ? 0 : -1;
}

/* ",NAME…]" */
static int read_metrics(const char *at, struct nvt_control *page)
{
    for (size_t used = 0; *at == ','; at += strcspn(at, ",]")) {
        at++;
        if (copy_word(at, page->metrics + used, sizeof(page->metrics) - used, '\n'))
            return -1;
        used += strlen(page->metrics + used);
    }
    return *at == ']' && *page->metrics && page->metrics_hz ? 0 : -1;
}

/* What a value says of counters, onto a page. 0, or -1. */
static int read_wishes(const struct nvt_standing *standing, struct nvt_control *page)
{
    const char *end = standing->wishes + standing->wishes_size;
    page->usual_counters = NVT_COUNTS_USUAL;
    for (const char *at = standing->wishes; at && at < end; at = strchr(at, ']') + 1) {
        char *behind;
        int status = -1;
        if (at[1] == 'c') {
            page->usual_counters = (uint32_t)strtoul(at + 2, &behind, 16) & NVT_COUNTS_USUAL;
            status = read_chosen(behind, page);
        } else if (at[1] == 't') {
            status = copy_word(at + 2, page->topdown, sizeof(page->topdown), 0);
        } else if (at[1] == 'm') {
            page->metrics_hz = (uint32_t)strtoul(at + 2, &behind, 10);
            status = read_metrics(behind, page);
        }
        if (status)
            return -1;
    }
    return 0;
}

/* --- the page ----------------------------------------------------------------------------------- */

static int describe(const struct nvt_standing *standing, int32_t holder, uint64_t holder_start,
                    struct nvt_control *page)
{
    struct stat status;
    page->magic = NVT_CONTROL_MAGIC;
    page->version = NVT_SHARED_VERSION;
    page->clock = nvt_clock_best();
    page->on_full = NVT_ON_FULL_WAIT;
    page->slots = standing->slots;
    page->trace = standing->trace;
    page->pid_space = stat(NVT_PID_SPACE, &status) ? 0 : status.st_ino;
    page->where_least = UINT64_MAX;
    page->is_dormant = page->is_standing = 1;
    page->window = NVT_WINDOW_BEFORE;
    page->holder = holder;
    page->holder_start = holder_start;
    memcpy(page->iteration, standing->iteration, sizeof(standing->iteration));
    return read_wishes(standing, page);
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
    /* not on the stack, which may be small: one thread of a process joins */
    static struct nvt_control page;
    if (mkdir(standing->folder, 0700) && errno != EEXIST)
        return -1;
    const int folder = open(standing->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int status = nvt_is_ours_alone(folder) ? 0 : -1;
    errno = EPERM;
    if (!status && faccessat(folder, NVT_CONTROL_NAME, F_OK, 0)) {
        memset(&page, 0, sizeof(page));
        status = describe(standing, holder, holder_start, &page);
        errno = EPROTO;
        if (!status)
            status = make_page(folder, &page);
    }
    const int cause = errno;
    close(folder);
    errno = cause;
    return status;
}
