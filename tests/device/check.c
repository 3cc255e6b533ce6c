/*
 * usage: check REFERENCE LIBRARY [--small] [--seed N] [--only NAME]
 *
 * Runs every operation of both libraries on the same numbers and compares what they wrote. A line
 * each on stdout, then a verdict. 0 when all agree, 1 when one does not, 2 when it cannot be done.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

struct library {
    nvt_check_start_fn *start;
    nvt_check_entry_fn *entry;
    nvt_check_run_fn *run;
    char device[640];
};

/* What was seen of one operation over all its shapes. */
struct verdict {
    int64_t values;
    double worst; /* difference by tolerance's measure */
    char why[700];
};

static int load(const char *path, struct library *library)
{
    struct nvt_error err = NVT_ERROR_INIT;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "check: %s\n", dlerror());
        return -1;
    }
    *(void **)&library->start = dlsym(handle, "nvt_check_start");
    *(void **)&library->entry = dlsym(handle, "nvt_check_entry");
    *(void **)&library->run = dlsym(handle, "nvt_check_run");
    if (!library->start || !library->entry || !library->run) {
        fprintf(stderr, "check: %s is no library of operations\n", path);
        dlclose(handle);
        return -1;
    }
    int status = library->start(library->device, sizeof(library->device), &err);
    if (status)
        fprintf(stderr, "check: %s: %s\n", path, err.message);
    /* cppcheck-suppress resourceLeak ; in use until the program ends */
    return status ? -1 : 0;
}

static void release(struct nvt_check_outcome *outcome)
{
    for (int i = 0; i < outcome->count; i++)
        free(outcome->results[i].values);
    outcome->count = 0;
}

static double root_mean_square(const struct nvt_check_array *array)
{
    double sum = 0;
    for (int64_t i = 0; i < array->count; i++)
        if (isfinite(array->values[i]))
            sum += array->values[i] * array->values[i];
    return array->count ? sqrt(sum / (double)array->count) : 0;
}

/* An element that the reference left as poison must be left so; one that it wrote must be near. */
static void compare_array(const struct nvt_check_array *expected,
                          const struct nvt_check_array *found, double tolerance,
                          struct verdict *verdict)
{
    double scale = expected->scale > 0 ? expected->scale : root_mean_square(expected);
    for (int64_t i = 0; i < expected->count; i++) {
        double want = expected->values[i], got = found->values[i];
        double size = fabs(want) + scale, error = got == want ? 0 : fabs(got - want);
        if (isnan(want) && isnan(got))
            continue;
        if (error > 0 && size > 0)
            error /= size;
        verdict->values++;
        if (error > verdict->worst)
            verdict->worst = error;
        if (!(error <= tolerance) && !verdict->why[0])
            snprintf(verdict->why, sizeof(verdict->why), "%s[%" PRId64 "] is %.9g, not %.9g",
                     expected->name, i, got, want);
    }
}

static void compare(const struct nvt_check_outcome *expected, const struct nvt_check_outcome *found,
                    double tolerance, struct verdict *verdict)
{
    if (expected->count != found->count || !expected->count)
        snprintf(verdict->why, sizeof(verdict->why), "%d arrays, not %d", found->count,
                 expected->count);
    for (int i = 0; i < expected->count && i < found->count; i++)
        compare_array(&expected->results[i], &found->results[i], tolerance, verdict);
}

static void check_shape(const struct library *reference, const struct library *library,
                        int operation, int shape, uint64_t seed, struct verdict *verdict)
{
    const struct nvt_check_entry *entry = reference->entry(operation);
    struct nvt_check_outcome expected = {0}, found = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (reference->run(operation, shape, seed, &expected, &err))
        snprintf(verdict->why, sizeof(verdict->why), "the reference: %.500s", err.message);
    else if (library->run(operation, shape, seed, &found, &err))
        snprintf(verdict->why, sizeof(verdict->why), "%.500s", err.message);
    else
        compare(&expected, &found, entry->tolerance, verdict);
    release(&expected);
    release(&found);
}

/* A line of the table. Whether the operation failed. */
static int check_operation(const struct library *reference, const struct library *library,
                           int operation, int shapes_most, uint64_t seed)
{
    const struct nvt_check_entry *entry = reference->entry(operation);
    struct verdict verdict = {0};
    int shape = 0;
    for (; shape < shapes_most && entry->shapes[shape][0] && !verdict.why[0]; shape++)
        check_shape(reference, library, operation, shape,
                    seed * 1000003 + (uint64_t)(operation * NVT_CHECK_SHAPES + shape), &verdict);
    printf("%-28s %6d %10" PRId64 "  %9.2e %9.0e  %s%s\n", entry->name, shape, verdict.values,
           verdict.worst, entry->tolerance, verdict.why[0] ? "FAILED: " : "ok", verdict.why);
    fflush(stdout);
    return verdict.why[0] != 0;
}

static int check_all(const struct library *reference, const struct library *library,
                     const char *only, int shapes_most, uint64_t seed)
{
    int failed = 0, run = 0;
    printf("reference: %s, double precision\nchecked:   %s\nseed:      %" PRIu64 "\n\n",
           reference->device, library->device, seed);
    printf("%-28s %6s %10s  %9s %9s  %s\n", "operation", "shapes", "values", "worst", "tolerance",
           "verdict");
    for (int i = 0; library->entry(i); i++) {
        const struct nvt_check_entry *entry = library->entry(i), *other = reference->entry(i);
        if (!other || strcmp(other->name, entry->name)) {
            fprintf(stderr, "check: the two libraries are not of the same table\n");
            return 2;
        }
        if (only && strcmp(only, entry->name))
            continue;
        failed += check_operation(reference, library, i, shapes_most, seed);
        run++;
    }
    printf("\n%d of %d operations agree\n", run - failed, run);
    return failed ? 1 : run ? 0 : 2;
}

int main(int argc, char **argv)
{
    static struct library reference, library;
    const char *only = NULL;
    int shapes_most = NVT_CHECK_SHAPES;
    uint64_t seed = (uint64_t)time(NULL);
    for (int i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "--small"))
            shapes_most = 1;
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            only = argv[++i];
        else
            argc = 0;
    }
    if (argc < 3) {
        fputs("usage: check REFERENCE LIBRARY [--small] [--seed N] [--only NAME]\n", stderr);
        return 2;
    }
    if (load(argv[1], &reference) || load(argv[2], &library))
        return 2;
    return check_all(&reference, &library, only, shapes_most, seed);
}
