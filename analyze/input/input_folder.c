#include "input_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);
    return length > size && !strcmp(name + length - size, ending);
}

static int is_trace_name(const struct dirent *entry)
{
    const char *name = entry->d_name;
    static const char *const endings[] = {".nvt",     ".sqlite", ".nsys-rep", ".json",
                                          ".json.gz", ".pickle", ".pkl"};
    if (*name == '.' || !strcmp(name, "env.json"))
        return 0;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (ends_with(name, endings[i]))
            return 1;
    return 0;
}

/* What nsys exported of a report, beside it. */
static int has_export(const char *report)
{
    char *export;
    int length = (int)(strlen(report) - strlen(".nsys-rep"));
    if (asprintf(&export, "%.*s.sqlite", length, report) < 0)
        return 0;
    int there = !access(export, F_OK);
    free(export);
    return there;
}

/* A path of the directory, unless it is no file or one that is not wanted. 0, or -1: no memory. */
static int add(struct nvt_paths *paths, const char *directory, const char *name)
{
    struct stat status;
    char *path, **items;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -1;
    if (stat(path, &status) || !S_ISREG(status.st_mode) ||
        (ends_with(path, ".nsys-rep") && has_export(path))) {
        free(path);
        return 0;
    }
    items = realloc(paths->items, (paths->count + 1) * sizeof(*items));
    if (!items) {
        free(path);
        return -1;
    }
    paths->items = items;
    paths->items[paths->count++] = path;
    return 0;
}

static int compare(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

int nvt_folder_traces(const char *directory, struct nvt_paths *paths, struct nvt_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_trace_name, compare), failed = 0;
    if (count < 0)
        return nvt_fail_at(err, directory, -1, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        failed = failed || add(paths, directory, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return failed ? nvt_fail_at(err, directory, -1, "out of memory") : 0;
}

void nvt_paths_free(struct nvt_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (struct nvt_paths){0};
}

int nvt_folder_is_run(const char *directory)
{
    char *results;
    if (asprintf(&results, "%s/results.jsonl", directory) < 0)
        return 1;
    /* Whatever else is wrong with it is told by whoever reads it. */
    int missing = access(results, F_OK) && errno == ENOENT;
    free(results);
    return !missing;
}
