#include "rank_output.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/keep_file.h"
#include "output_name.h"

/* Whether the first `length` bytes end in a number that is the rank's. */
static int ends_in(const char *text, int length, int64_t rank)
{
    int from = length;
    while (from > 0 && isdigit((unsigned char)text[from - 1]))
        from--;
    return from < length && strtoll(text + from, NULL, 10) == rank;
}

/* Whether all ranks were told this name. */
static int is_of_all(const char *pattern, const char *output)
{
    struct stat file;
    const int64_t rank = nvt_output_rank(NULL);
    const char *slash = strrchr(output, '/');
    const int is_marked = strstr(pattern, "%q{") || strstr(pattern, "%h") || strstr(pattern, "%p");
    return rank >= 0 && !is_marked && !ends_in(output, nvt_output_stem(output), rank) &&
           !(slash && ends_in(output, (int)(slash - output), rank)) &&
           (stat(output, &file) || S_ISREG(file.st_mode));
}

void nvt_rank_output_take(const char *pattern, char output[PATH_MAX])
{
    char *own = is_of_all(pattern, output) ? nvt_output_of_rank(output) : NULL;
    if (own)
        snprintf(output, PATH_MAX, "%s", own);
    free(own);
}

/* Whether other ranks have written traces "x-rank0.nvt", … since a moment: of the first ones. */
static int has_siblings(const char *output, time_t since)
{
    enum { RANKS = 64 };
    const int64_t rank = nvt_output_rank(NULL);
    int found = 0;
    for (int64_t i = 0; i < RANKS && rank >= 0 && !found; i++) {
        struct stat file;
        char *name = i == rank ? NULL : nvt_output_with_rank(output, i);
        found = name && !stat(name, &file) && file.st_mtime >= since;
        free(name);
    }
    return found;
}

/* What has the name makes way. 0, or -1. */
static int keep(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_keep_names *names = malloc(sizeof(*names));
    const int failed =
        !names || nvt_keep_names(path, names, &err) || rename(names->real, names->kept);
    free(names);
    return failed ? -1 : 0;
}

void nvt_rank_output_settle(char output[PATH_MAX], int overwrites, time_t began)
{
    char *own = has_siblings(output, began) ? nvt_output_of_rank(output) : NULL;
    const int has_room = own && (overwrites || access(own, F_OK) || !keep(own));
    if (has_room && !rename(output, own))
        snprintf(output, PATH_MAX, "%s", own);
    free(own);
}

char *nvt_rank_output_of_job(const char *output)
{
    static const char own[] = "-rank0";
    const int stem = nvt_output_stem(output), length = (int)sizeof(own) - 1;
    int64_t ranks;
    char *name = NULL;
    if (nvt_output_rank(&ranks) || stem <= length ||
        strncmp(output + stem - length, own, sizeof(own) - 1) != 0)
        return NULL;
    for (const char *at = output; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("/._-+=,", *at))
            return NULL;
    char numbers[16] = "*";
    if (ranks > 1 && ranks <= 10)
        snprintf(numbers, sizeof(numbers), "[0-%d]", (int)ranks - 1);
    if (asprintf(&name, "%.*s%s%s", stem - 1, output, numbers, output + stem) < 0)
        return NULL;
    return name;
}
