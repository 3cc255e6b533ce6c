#include "sweep_earlier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../analyze/runs.h"

#define RANKS_MOST 65536

static int ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && !strcmp(name + length - wanted, ending);
}

/* Whether it went. */
static int remove_trace(const char *directory, const char *name)
{
    struct stat status;
    char *path;
    if (strchr(name, '/') || !(ends_with(name, ".nvt") || ends_with(name, ".nsys-rep")) ||
        asprintf(&path, "%s/%s", directory, name) < 0)
        return 0;
    int removed = !lstat(path, &status) && S_ISREG(status.st_mode) && !unlink(path);
    free(path);
    return removed;
}

/* A row names the trace of rank 0; the others' differ in that number. */
static size_t remove_named(const char *directory, const struct nvt_record *row, int first_rank)
{
    const char *name = nvt_record_text(row, "trace");
    const char *rank0 = name ? strstr(name, "-rank0.") : NULL;
    double ranks = nvt_record_number(row, "ranks");
    size_t removed = name ? (size_t)remove_trace(directory, name) : 0;
    for (int rank = first_rank; rank0 && rank < ranks && rank < RANKS_MOST; rank++) {
        char *other;
        if (asprintf(&other, "%.*s-rank%d%s", (int)(rank0 - name), name, rank,
                     rank0 + strlen("-rank0")) < 0)
            return removed;
        removed += (size_t)remove_trace(directory, other);
        free(other);
    }
    return removed;
}

void nvt_earlier_remove(const char *directory, int ranks)
{
    struct nvt_error unread = NVT_ERROR_INIT;
    struct stat status;
    char results[4096], traces[64] = "";
    snprintf(results, sizeof(results), "%.3000s/results.jsonl", directory);
    if (stat(results, &status) || !S_ISREG(status.st_mode) || !status.st_size ||
        access(results, W_OK))
        return;
    /* What cannot be read names nothing. */
    struct nvt_runs *runs = nvt_runs_read(directory, &unread);
    size_t removed = 0;
    for (size_t i = 0; runs && i < runs->count; i++)
        removed += remove_named(directory, &runs->records[i], ranks > 1 ? ranks : 1);
    nvt_runs_free(runs);
    if (removed)
        snprintf(traces, sizeof(traces), " and %zu trace%s of theirs removed", removed,
                 removed == 1 ? "" : "s");
    fprintf(stderr, "nvtally: the results in %s are replaced%s\n", directory, traces);
}
