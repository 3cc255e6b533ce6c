#include "memory_groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files of a group, of the first version and of the second. */
static const struct {
    const char *limit, *used, *kills;
    const char *cache[2]; /* of memory.stat, the page cache of files */
} files[2] = {
    {"memory.max", "memory.current", "memory.events", {"\ninactive_file ", "\nactive_file "}},
    {"memory.limit_in_bytes",
     "memory.usage_in_bytes",
     "memory.oom_control",
     {"\ntotal_inactive_file ", "\ntotal_active_file "}},
};

/* The first version writes "no limit" as a number near 2^63. */
#define NO_LIMIT (UINT64_C(1) << 62)

/* The beginning of a file, as a text behind a line feed: its length, 0 when it cannot be read. */
static size_t read_text(const char *path, char *text, size_t size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? 0 : read(descriptor, text + 1, size - 2);
    if (descriptor >= 0)
        close(descriptor);
    text[0] = '\n';
    text[length > 0 ? length + 1 : 1] = 0;
    return length > 0 ? (size_t)length : 0;
}

/* The number behind `key` in the first `size` bytes of a file; `otherwise` where there is none. */
static uint64_t read_behind(const char *folder, const char *file, const char *key,
                            uint64_t otherwise, char *text, size_t size)
{
    char path[384], *end;
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    if (!read_text(path, text, size))
        return otherwise;
    const char *at = strstr(text, key);
    if (!at)
        return otherwise;
    at += strlen(key);
    uint64_t number = strtoull(at, &end, 10);
    return end == at ? otherwise : number;
}

/* A file that is a number. On little of the stack: a thread of 16 KiB may be the first that uses NVTX, and looks at the limits. */
static uint64_t read_number(const char *folder, const char *file, uint64_t otherwise)
{
    char text[64];
    return read_behind(folder, file, "\n", otherwise, text, sizeof(text));
}

/* The number behind `key` ("\nkey ") in a file of many. */
static uint64_t read_of_many(const char *folder, const char *file, const char *key,
                             uint64_t otherwise)
{
    char text[4096];
    return read_behind(folder, file, key, otherwise, text, sizeof(text));
}

static uint64_t limit_of(const char *folder, uint32_t is_old)
{
    uint64_t limit = read_number(folder, files[is_old].limit, UINT64_MAX);
    return limit < NO_LIMIT ? limit : UINT64_MAX;
}

/* The group's path from /proc/self/cgroup: of a line with the controller `memory`, or of the second version. NULL: neither. */
static char *path_of(char *text, uint32_t *is_old)
{
    char *found = NULL;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        char *controllers = strchr(line, ':'),
             *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        const char *memory = strstr(controllers + 1, "memory");
        if (memory) {
            *is_old = 1;
            return path;
        }
        if (!controllers[1])
            found = path;
    }
    *is_old = 0;
    return found;
}

void nvt_memory_groups_find_at(struct nvt_memory_groups *groups, const char *self, const char *root)
{
    char text[4096];
    memset(groups, 0, sizeof(*groups));
    groups->limit = UINT64_MAX;
    char *path = read_text(self, text, sizeof(text)) ? path_of(text + 1, &groups->is_old) : NULL;
    while (path && groups->count < NVT_MEMORY_GROUPS) {
        char *folder = groups->folders[groups->count];
        const char *rest = strcmp(path, "/") ? path : "";
        if (snprintf(folder, sizeof(groups->folders[0]), "%s%s%s", root,
                     groups->is_old ? "/memory" : "", rest) >= (int)sizeof(groups->folders[0]))
            return;
        uint64_t limit = limit_of(folder, groups->is_old);
        groups->count += limit != UINT64_MAX;
        groups->limit = limit < groups->limit ? limit : groups->limit;
        if (!*rest)
            return;
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        slash[slash == path] = 0; /* to the parent, "/" last */
    }
}

void nvt_memory_groups_find(struct nvt_memory_groups *groups)
{
    nvt_memory_groups_find_at(groups, "/proc/self/cgroup", "/sys/fs/cgroup");
}

uint64_t nvt_memory_groups_left(const struct nvt_memory_groups *groups)
{
    uint64_t least = UINT64_MAX;
    const uint32_t is_old = groups->is_old;
    for (uint32_t i = 0; i < groups->count; i++) {
        const char *folder = groups->folders[i];
        uint64_t limit = limit_of(folder, is_old);
        uint64_t used = read_number(folder, files[is_old].used, 0);
        uint64_t left = used < limit ? limit - used : 0;
        /* The page cache is counted as used, and fills all there is in time. */
        const int is_short = left < limit / 4;
        for (int kind = 0; kind < 2 && is_short; kind++)
            left += read_of_many(folder, "memory.stat", files[is_old].cache[kind], 0);
        least = left < least ? left : least;
    }
    return least;
}

uint64_t nvt_memory_groups_kills(const struct nvt_memory_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        uint64_t kills = read_of_many(groups->folders[i], files[groups->is_old].kills,
                                      "\noom_kill ", UINT64_MAX);
        if (kills != UINT64_MAX)
            return kills;
    }
    return 0;
}
