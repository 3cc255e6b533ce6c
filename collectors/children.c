#include "children.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/read_file.h"

void nvt_children_read(struct nvt_children *children)
{
    char text[32];
    FILE *list = fopen("/proc/thread-self/children", "re");
    children->count = list ? 0 : -1;
    while (list && fscanf(list, "%31s", text) == 1) {
        if (children->count == NVT_CHILDREN_MOST) {
            children->count = -1;
            break;
        }
        children->pids[children->count++] = (pid_t)strtol(text, NULL, 10);
    }
    /* What was read by then is not all. */
    if (list && ferror(list))
        children->count = -1;
    if (list)
        fclose(list);
}

void nvt_children_add(struct nvt_children *children, pid_t pid)
{
    if (children->count >= 0 && children->count < NVT_CHILDREN_MOST)
        children->pids[children->count++] = pid;
    else
        children->count = -1;
}

static int was_there(const struct nvt_children *before, pid_t pid)
{
    for (int i = 0; i < before->count; i++)
        if (before->pids[i] == pid)
            return 1;
    return 0;
}

int nvt_children_are_new(const struct nvt_children *before)
{
    struct nvt_children now;
    if (before->count <= 0)
        return 1;
    nvt_children_read(&now);
    for (int i = 0; i < now.count; i++)
        if (!was_there(before, now.pids[i]))
            return 1;
    return now.count < 0 ? -1 : 0;
}

void nvt_children_signal(const struct nvt_children *before, int number)
{
    struct nvt_children now;
    if (before->count < 0)
        return;
    nvt_children_read(&now);
    for (int i = 0; i < now.count; i++)
        if (!was_there(before, now.pids[i]))
            kill(now.pids[i], number);
}

static void name_of(pid_t pid, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    if (!nvt_read_line(path, name, size))
        snprintf(name, size, "?");
}

const char *nvt_children_text(const struct nvt_children *before, char *text, size_t size)
{
    enum { SHOWN = 4 };
    struct nvt_children now;
    int count = 0;
    size_t used = 0;
    char name[32];
    nvt_children_read(&now);
    *text = 0;
    for (int i = 0; i < now.count; i++) {
        if (was_there(before, now.pids[i]) || count++ >= SHOWN)
            continue;
        name_of(now.pids[i], name, sizeof(name));
        used += (size_t)snprintf(text + used, size - used, "%s%s (%d)", count > 1 ? ", " : "", name,
                                 (int)now.pids[i]);
        used = used < size ? used : size - 1;
    }
    if (count > SHOWN)
        snprintf(text + used, size - used, " and %d more", count - SHOWN);
    return text;
}
