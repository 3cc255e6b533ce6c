/*
 * usage: check REFERENCE LIBRARY [--most N] [--seed N] [--only NAME]
 *
 * Runs every operation of both libraries on the same numbers and compares what they wrote. A line
 * each on stdout, then a verdict. 0 when all agree, 1 when one does not, 2 when it cannot be done.
 * --most: without the shapes whose numbers multiply to more, but for the first of each operation.
 * An operation that takes the device with it, as an illegal address does, has failed, and those behind it are checked
 * by a new process (--from OPERATION RUN FAILED).
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

struct library {
    nvt_check_start_fn *start;
    nvt_check_entry_fn *entry;
    nvt_check_run_fn *run;
    nvt_check_lost_fn *lost;
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
    *(void **)&library->lost = dlsym(handle, "nvt_check_lost");
    if (!library->start || !library->entry || !library->run || !library->lost) {
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
    for (int i = 0; i < outcome->count; i++) {
        free(outcome->results[i].values);
        free(outcome->results[i].bounds);
    }
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
        double size = expected->bounds ? expected->bounds[i] : fabs(want) + scale;
        double error = got == want ? 0 : fabs(got - want);
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

static int64_t product(const int64_t shape[NVT_CHECK_DIMENSIONS])
{
    int64_t value = 1;
    for (int i = 0; i < NVT_CHECK_DIMENSIONS && shape[i]; i++)
        value *= shape[i];
    return value;
}

/* A line of the table. Whether the operation failed. */
static int check_operation(const struct library *reference, const struct library *library,
                           int operation, int64_t most, uint64_t seed)
{
    const struct nvt_check_entry *entry = reference->entry(operation);
    struct verdict verdict = {0};
    int shapes = 0;
    for (int shape = 0; shape < NVT_CHECK_SHAPES && entry->shapes[shape][0] && !verdict.why[0];
         shape++) {
        if (shape && product(entry->shapes[shape]) > most)
            continue;
        check_shape(reference, library, operation, shape,
                    seed * 1000003 + (uint64_t)(operation * NVT_CHECK_SHAPES + shape), &verdict);
        shapes++;
    }
    printf("%-28s %6d %10" PRId64 "  %9.2e %9.0e  %s%s\n", entry->name, shapes, verdict.values,
           verdict.worst, entry->tolerance, verdict.why[0] ? "FAILED: " : "ok", verdict.why);
    fflush(stdout);
    return verdict.why[0] != 0;
}

/* What is to be checked, and what was found so far, which a new process goes on with. */
struct task {
    const char *reference, *library;
    const char *only; /* an operation's name, NULL: all */
    int64_t most;     /* shapes of a larger product than this are left out, but for the first */
    uint64_t seed;
    int from; /* the first operation */
    int run, failed;
};

/* The rest in a new process, in our place: no call of this one's reaches the device any more. Returns where that fails. */
static void go_on(const struct task *task, int from)
{
    char self[4096], numbers[5][32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return;
    self[length] = 0;
    snprintf(numbers[0], sizeof(numbers[0]), "%" PRIu64, task->seed);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", from);
    snprintf(numbers[2], sizeof(numbers[2]), "%d", task->run);
    snprintf(numbers[3], sizeof(numbers[3]), "%d", task->failed);
    snprintf(numbers[4], sizeof(numbers[4]), "%" PRId64, task->most);
    char *argv[] = {self,
                    (char *)task->reference,
                    (char *)task->library,
                    (char *)"--seed",
                    numbers[0],
                    (char *)"--from",
                    numbers[1],
                    numbers[2],
                    numbers[3],
                    (char *)"--most",
                    numbers[4],
                    NULL};
    fflush(stdout);
    execv(self, argv);
}

static void print_head(const struct task *task, const struct library *reference,
                       const struct library *library)
{
    printf("reference: %s, double precision\nchecked:   %s\nseed:      %" PRIu64 "\n\n",
           reference->device, library->device, task->seed);
    printf("%-28s %6s %10s  %9s %9s  %s\n", "operation", "shapes", "values", "worst", "tolerance",
           "verdict");
}

static int tell_verdict(const struct task *task)
{
    printf("\n%d of %d operations agree\n", task->run - task->failed, task->run);
    return task->failed ? 1 : task->run ? 0 : 2;
}

static int check_all(struct task *task, const struct library *reference,
                     const struct library *library)
{
    if (!task->from)
        print_head(task, reference, library);
    for (int i = task->from; library->entry(i); i++) {
        const struct nvt_check_entry *entry = library->entry(i), *other = reference->entry(i);
        if (!other || strcmp(other->name, entry->name)) {
            fprintf(stderr, "check: the two libraries are not of the same table\n");
            return 2;
        }
        if (task->only && strcmp(task->only, entry->name))
            continue;
        int failed = check_operation(reference, library, i, task->most, task->seed);
        task->failed += failed;
        task->run++;
        if (failed && !task->only && library->entry(i + 1) && library->lost()) {
            go_on(task, i + 1);
            fprintf(stderr, "check: no new process can be started for those behind %s\n",
                    entry->name);
            return 2;
        }
    }
    return tell_verdict(task);
}

static int read_options(int argc, char **argv, struct task *task)
{
    if (argc < 3)
        return -1;
    task->reference = argv[1];
    task->library = argv[2];
    for (int i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "--most") && i + 1 < argc) {
            task->most = strtoll(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            task->seed = strtoull(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            task->only = argv[++i];
        } else if (!strcmp(argv[i], "--from") && i + 3 < argc) {
            task->from = atoi(argv[++i]);
            task->run = atoi(argv[++i]);
            task->failed = atoi(argv[++i]);
        } else {
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct library reference, library;
    struct task task = {.most = INT64_MAX, .seed = (uint64_t)time(NULL)};
    if (read_options(argc, argv, &task)) {
        fputs("usage: check REFERENCE LIBRARY [--most N] [--seed N] [--only NAME]\n", stderr);
        return 2;
    }
    if (load(task.reference, &reference) || load(task.library, &library)) {
        if (task.from)
            printf("\n%d of %d operations agree, and the device did not come back for the others\n",
                   task.run - task.failed, task.run);
        return 2;
    }
    return check_all(&task, &reference, &library);
}
