#include "children.h"

#include <stdio.h>
#include <stdlib.h>

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
    if (list)
        fclose(list);
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
    return now.count < 0;
}
