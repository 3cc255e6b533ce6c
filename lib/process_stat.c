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
    /* The second field is the name in brackets, which may hold anything. */
    uint64_t numbers[ENVIRONMENT + 1] = {0};
    const char *name_end = strrchr(text, ')'), *state = name_end ? strchr(name_end, ' ') : NULL;
    const char *at = state;
    for (int field = STATE; at && field <= ENVIRONMENT; field++, at = strchr(at + 1, ' '))
        numbers[field] = strtoull(at, NULL, 10);
    *stat = (struct nvt_process_stat){.state = (char)(state ? state[1] : 0),
                                      .started = numbers[STARTED],
                                      .arguments = numbers[ARGUMENTS],
                                      .arguments_end = numbers[ARGUMENTS_END],
                                      .environment = numbers[ENVIRONMENT]};
    return stat->state ? 0 : -1;
}
