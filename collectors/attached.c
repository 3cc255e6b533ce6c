#include "attached.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/folder.h"
#include "ring.h"

#define COLLECTOR    "/libnvtally-inject.so"
#define COMMAND_MOST 4096 /* bytes of a command line that are read */

static int ends_with(const char *line, size_t length, const char *end)
{
    const size_t size = strlen(end);
    return length >= size && !memcmp(line + length - size, end, size);
}

int nvt_attached_is(const char *folder, pid_t pid)
{
    char path[600], *line = NULL;
    size_t room = 0;
    int has_page = 0, has_collector = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return 0;
    snprintf(path, sizeof(path), " %s/" NVT_CONTROL_NAME, folder);
    ssize_t length;
    while (!(has_page && has_collector) && (length = getline(&line, &room, maps)) > 0) {
        length -= line[length - 1] == '\n';
        has_page |= ends_with(line, (size_t)length, path);
        has_collector |= ends_with(line, (size_t)length, COLLECTOR);
    }
    free(line);
    fclose(maps);
    return has_page && has_collector;
}

static int compare(const void *left, const void *right)
{
    const pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;
    return (a > b) - (a < b);
}

size_t nvt_attached(const char *folder, pid_t *out, size_t most)
{
    DIR *processes = opendir("/proc");
    size_t count = 0;
    for (struct dirent *entry; processes && (entry = nvt_folder_next(processes));) {
        struct stat status;
        const long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid() || fstatat(dirfd(processes), entry->d_name, &status, 0) ||
            status.st_uid != geteuid() || !nvt_attached_is(folder, (pid_t)pid))
            continue;
        if (count < most)
            out[count] = (pid_t)pid;
        count++;
    }
    if (processes)
        closedir(processes);
    if (out)
        qsort(out, count < most ? count : most, sizeof(*out), compare);
    return count;
}

char **nvt_attached_command(pid_t pid)
{
    char path[64], text[COMMAND_MOST + 1];
    size_t words = 0;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = descriptor < 0 ? -1 : read(descriptor, text, COMMAND_MOST);
    if (descriptor >= 0)
        close(descriptor);
    if (size <= 0)
        return NULL;
    text[size] = 0;
    for (ssize_t i = 0; i < size; i++)
        words += !text[i] || i + 1 == size;
    char **out = malloc((words + 1) * sizeof(*out) + (size_t)size + 1);
    if (!out)
        return NULL;
    char *at = memcpy(out + words + 1, text, (size_t)size + 1);
    for (size_t i = 0; i < words; i++, at += strlen(at) + 1)
        out[i] = at;
    out[words] = NULL;
    return out;
}
