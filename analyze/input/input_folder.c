#include "input_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/text.h"
#include "../model/table_file.h"

static const char *const endings[] = {".nvt",        ".sqlite",         ".nsys-rep", ".json.gz",
                                      ".json",       ".pickle",         ".pkl",      ".pftrace",
                                      ".pftrace.gz", ".perfetto-trace", ".xplane.pb"};

/* "nccl_trace_rank_12", "comm_lib_trace_rank_12": what PyTorch's flight recorder writes. */
static int is_dump_name(const char *name)
{
    const char *rank = strstr(name, "_trace_rank_");
    const char *digits = rank ? rank + strlen("_trace_rank_") : "";
    return *digits && !digits[strspn(digits, "0123456789")];
}

static int is_trace_name(const struct dirent *entry)
{
    const char *name = entry->d_name;
    if (*name == '.' || !strcmp(name, "env.json"))
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(endings); i++)
        if (nvt_has_ending(name, endings[i]))
            return 1;
    return is_dump_name(name);
}

/* Endings of files that say again, or say less, what lies beside them by the other ending: exports of nsys, what JAX makes of an
 * XPlane, and what was compressed or unpacked. */
static const struct {
    const char *ending, *other;
} again[] = {{".nsys-rep", ".sqlite"},
             {".trace.json.gz", ".xplane.pb"},
             {".trace.json", ".xplane.pb"},
             {".json.gz", ".json"},
             {".pftrace.gz", ".pftrace"}};

static int is_said_beside(const char *path)
{
    int is = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(again) && !is; i++) {
        char *other = NULL;
        if (!nvt_has_ending(path, again[i].ending) ||
            asprintf(&other, "%.*s%s", (int)(strlen(path) - strlen(again[i].ending)), path,
                     again[i].other) < 0)
            continue;
        is = !access(other, F_OK);
        free(other);
    }
    return is;
}

/* Whether it is what JAX writes for Perfetto next to the profile itself, which has its host's name. */
static int is_for_perfetto(const char *name, struct dirent *const *entries, int count)
{
    if (strcmp(name, "perfetto_trace.json.gz") != 0)
        return 0;
    for (int i = 0; i < count; i++)
        if (nvt_has_ending(entries[i]->d_name, ".xplane.pb") ||
            nvt_has_ending(entries[i]->d_name, ".trace.json.gz"))
            return 1;
    return 0;
}

/* A file of tables in the directory, and what it was made of (table_file.h). */
struct made {
    char *name;
    struct timespec when;
    char source[NVT_TABLES_NAME];
    uint64_t bytes;
};

struct all_made {
    struct made *items;
    size_t count;
};

static int is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static int is_regular(const char *path, struct stat *status)
{
    return !stat(path, status) && S_ISREG(status->st_mode);
}

/* Look whether a file is one of tables. 0, or -1: no memory. */
static int note_made(struct all_made *all, const char *directory, const char *name)
{
    struct made made = {0};
    struct stat status;
    char *path;
    if (!nvt_has_ending(name, ".nvt"))
        return 0;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -1;
    int has_source = is_regular(path, &status) && nvt_tables_source(path, made.source, &made.bytes);
    free(path);
    if (!has_source)
        return 0;
    if (nvt_grow(&all->items, all->count, sizeof(*all->items)))
        return -1;
    made.name = strdup(name);
    made.when = status.st_mtim;
    if (!made.name)
        return -1;
    all->items[all->count++] = made;
    return 0;
}

/* Whether nsys's export of a report has that name. */
static int is_export_of(const char *name, const char *report)
{
    size_t length = strlen(name);
    return nvt_has_ending(report, ".nsys-rep") && nvt_has_ending(name, ".sqlite") &&
           strlen(report) == length + 2 && !strncmp(name, report, length - 6);
}

/* Whether a trace stands there again, as tables that are not older. */
static int has_tables(const struct all_made *all, const char *name, const struct stat *status)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct made *made = &all->items[i];
        if (strcmp(made->name, name) != 0 && !is_before(&made->when, &status->st_mtim) &&
            ((!strcmp(made->source, name) && made->bytes == (uint64_t)status->st_size) ||
             is_export_of(name, made->source)))
            return 1;
    }
    return 0;
}

/* Whether it is tables of what has been written anew since. */
static int is_outdated(const struct all_made *all, const char *directory, const char *name)
{
    struct stat source;
    char *path;
    size_t i = 0;
    while (i < all->count && strcmp(all->items[i].name, name) != 0)
        i++;
    if (i == all->count || asprintf(&path, "%s/%s", directory, all->items[i].source) < 0)
        return 0;
    int is_older = is_regular(path, &source) && is_before(&all->items[i].when, &source.st_mtim);
    free(path);
    return is_older;
}

/* Whether it is what `record` has kept of a trace that was there before ("x.old.nvt"), beside the new one. */
static int is_kept(const char *directory, const char *name)
{
    static const char old[] = ".old.nvt";
    char *newer;
    if (!nvt_has_ending(name, old) ||
        asprintf(&newer, "%s/%.*s.nvt", directory, (int)(strlen(name) - strlen(old)), name) < 0)
        return 0;
    int is_there = !access(newer, F_OK);
    free(newer);
    return is_there;
}

/* A path of the directory, unless it is no file or one that is not wanted. 0, or -1: no memory. */
static int add(struct nvt_paths *paths, const struct all_made *all, const char *directory,
               const char *name)
{
    struct stat status;
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -1;
    if (!is_regular(path, &status) || has_tables(all, name, &status) ||
        is_outdated(all, directory, name) || is_kept(directory, name) || is_said_beside(path)) {
        free(path);
        return 0;
    }
    if (nvt_grow(&paths->items, paths->count, sizeof(char *))) {
        free(path);
        return -1;
    }
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
    struct all_made all = {NULL, 0};
    int count = scandir(directory, &entries, is_trace_name, compare), failed = 0;
    if (count < 0)
        return nvt_fail_at(err, directory, -1, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < count && !failed; i++)
        failed = note_made(&all, directory, entries[i]->d_name);
    for (int i = 0; i < count && !failed; i++)
        if (!is_for_perfetto(entries[i]->d_name, entries, count))
            failed = add(paths, &all, directory, entries[i]->d_name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    for (size_t i = 0; i < all.count; i++)
        free(all.items[i].name);
    free(all.items);
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

int nvt_folder_has_several(char *const *given)
{
    struct nvt_paths inside = {0};
    struct stat status;
    size_t count = 0;
    for (; given[count]; count++)
        if (!stat(given[count], &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
            return 0;
    if (count == 1 && !nvt_folder_traces(given[0], &inside, NULL))
        count = inside.count;
    nvt_paths_free(&inside);
    return count > 1;
}
