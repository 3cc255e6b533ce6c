#include "process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fields as proc(5) numbers them. */
enum { STATE = 3, STARTED = 22, ARGUMENTS = 48, ARGUMENTS_END, ENVIRONMENT };

int nvt_process_stat(pid_t process, struct nvt_process_stat *stat)
{
    char path[64] = "/proc/self/stat", text[2048];
    if (process)
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof(text) - 1);
    if (descriptor >= 0)
        close(descriptor);
    text[length > 0 ? length : 0] = 0;
    *stat = (struct nvt_process_stat){0};
    /* The second field is the name in brackets, which may hold anything. */
    const char *at = strrchr(text, ')');
    at = at ? strchr(at, ' ') : NULL;
    for (int field = STATE; at; field++, at = strchr(at + 1, ' '))
        switch (field) {
        case STATE:
            stat->state = at[1];
            break;
        case STARTED:
            stat->started = strtoull(at, NULL, 10);
            break;
        case ARGUMENTS:
            stat->arguments = strtoull(at, NULL, 10);
            break;
        case ARGUMENTS_END:
            stat->arguments_end = strtoull(at, NULL, 10);
            break;
        case ENVIRONMENT:
            stat->environment = strtoull(at, NULL, 10);
            break;
        default:
            break;
        }
    return stat->state ? 0 : -1;
}
