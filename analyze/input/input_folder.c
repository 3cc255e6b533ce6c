#include "input_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/trace_file.h"

static int ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);
    return length > size && !strcmp(name + length - size, ending);
}

static const char *const endings[] = {".nvt",  ".sqlite", ".nsys-rep", ".json.gz",
                                      ".json", ".pickle", ".pkl"};

static int is_trace_name(const struct dirent *entry)
{
    const char *name = entry->d_name;
    if (*name == '.' || !strcmp(name, "env.json"))
        return 0;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (ends_with(name, endings[i]))
            return 1;
    return 0;
}

/* The path with another ending in place of that which it has, malloc'ed; NULL: no memory. */
static char *with_ending(const char *path, const char *ending)
{
    char *other;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (ends_with(path, endings[i]))
            return asprintf(&other, "%.*s%s", (int)(strlen(path) - strlen(endings[i])), path,
                            ending) < 0
                       ? NULL
                       : other;
    return NULL;
}

/* When a file was changed, if it is there. */
static int changed_at(const char *path, struct timespec *when)
{
    struct stat status;
    if (!path || stat(path, &status))
        return 0;
    *when = status.st_mtim;
    return 1;
}

static int is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* What nsys exported of a report, beside it. */
static int has_export(const char *report)
{
    char *export = with_ending(report, ".sqlite");
    int there = export && !access(export, F_OK);
    free(export);
    return there;
}

/* A file of tables beside which there is a newer trace of that name. */
static int is_outdated(const char *path)
{
    struct timespec made, changed;
    int outdated = 0;
    if (!changed_at(path, &made) || !nvt_trace_file_is_tables(path))
        return 0;
    for (size_t i = 1; i < sizeof(endings) / sizeof(endings[0]) && !outdated; i++) {
        char *other = with_ending(path, endings[i]);
        outdated = changed_at(other, &changed) && is_before(&made, &changed);
        free(other);
    }
    return outdated;
}

/* What `export --to nvt` made of a trace, beside it; of several traces of that name, of any. */
static int has_tables(const char *path)
{
    struct timespec made, changed;
    char *tables = with_ending(path, ".nvt");
    int there = changed_at(tables, &made) && changed_at(path, &changed) &&
                !is_before(&made, &changed) && nvt_trace_file_is_tables(tables) &&
                !is_outdated(tables);
    free(tables);
    return there;
}

/* Of a trace and what was made of it, only one counts. */
static int is_there_again(const char *path)
{
    if (ends_with(path, ".nvt"))
        return is_outdated(path);
    return (ends_with(path, ".nsys-rep") && has_export(path)) || has_tables(path);
}

/* A path of the directory, unless it is no file or one that is not wanted. 0, or -1: no memory. */
static int add(struct nvt_paths *paths, const char *directory, const char *name)
{
    struct stat status;
    char *path, **items;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -1;
    if (stat(path, &status) || !S_ISREG(status.st_mode) || is_there_again(path)) {
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
