#include "keyed_number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvt_keyed_number(const char *path, const char *key, int base, uint64_t *value)
{
    const size_t length = strlen(key);
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (!found && getline(&line, &room, file) > 0)
        if (!strncmp(line, key, length)) {
            *value = strtoull(line + length, NULL, base);
            found = 1;
        }
    if (!found && !feof(file))
        found = -1;
    const int error = errno;
    free(line);
    (void)fclose(file);
    errno = error;
    return found;
}
