/*
 * A training loop for record --budget: loop KIND ITERATIONS [FIRST TIMES].
 *
 *   ranges    100 short ranges with 5 us of work in each
 *   launches  1,000 launches on the made-up device of tests/cupti/stand_in.h, 10 us apart
 *
 * Each iteration is a range "step". What its push returns says whether it is recorded. From the first iteration that is, of number FIRST
 * on, those that are recorded take longer, by TIMES what those that are not took so far, in the mean: on a busy machine both are
 * long. At the end it prints how many iterations were recorded, how long the recorded ones and the others took, and what followed that
 * first one: "planted 120: 3 of 10, 1 of the next 200".
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cupti/stand_in.h"

static stand_in_launch_function launch;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void work(int64_t ns)
{
    const int64_t end = clock_ns(CLOCK_MONOTONIC) + ns;
    while (clock_ns(CLOCK_MONOTONIC) < end) {
    }
}

static void *find(const char *variable, const char *name)
{
    const char *path = getenv(variable);
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    return library ? dlsym(library, name) : NULL;
}

/* What cuInit does. */
static void initialize(void)
{
    int (*begin)(void) = NULL;
    *(void **)&launch = find("NVTALLY_CUPTI", "stand_in_launch");
    *(void **)&begin = find("CUDA_INJECTION64_PATH", "InitializeInjection");
    if (!launch)
        exit(3);
    if (begin)
        begin();
}

static void ranges(void)
{
    for (int i = 0; i < 100; i++) {
        nvtxRangePushA("layer");
        work(5000);
        nvtxRangePop();
    }
}

static void launches(void)
{
    for (int i = 0; i < 1000; i++) {
        launch("kernel", 1000, 1);
        work(10000);
    }
}

/* What came of the iterations: not recorded, and recorded. */
static struct {
    uint64_t count;
    int64_t ns;
} sums[2];

static int64_t mean_ns(int is_recorded)
{
    return sums[is_recorded].count ? sums[is_recorded].ns / (int64_t)sums[is_recorded].count : 0;
}

int main(int argc, char **argv)
{
    const int launches_wanted = argc > 1 && !strcmp(argv[1], "launches");
    const uint64_t iterations = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    const uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
    const int64_t times = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
    uint64_t planted = UINT64_MAX, soon = 0, later = 0;
    if (launches_wanted)
        initialize();
    const int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), start = clock_ns(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < iterations; i++) {
        const int64_t began = clock_ns(CLOCK_MONOTONIC);
        const int is_recorded = nvtxRangePushA("step") >= 0;
        if (is_recorded && i >= first && planted == UINT64_MAX)
            planted = i;
        if (launches_wanted)
            launches();
        else
            ranges();
        if (is_recorded && planted != UINT64_MAX)
            work(times * mean_ns(0));
        nvtxRangePop();
        sums[is_recorded].count++;
        sums[is_recorded].ns += clock_ns(CLOCK_MONOTONIC) - began;
        soon += is_recorded && planted != UINT64_MAX && i < planted + 10;
        later += is_recorded && planted != UINT64_MAX && i >= planted + 10 && i < planted + 210;
    }
    printf(
        "recorded %llu of %llu iterations, %.3f ms each, the others %.3f ms; %.4f s, CPU %.4f s\n",
        (unsigned long long)sums[1].count, (unsigned long long)iterations, (double)mean_ns(1) / 1e6,
        (double)mean_ns(0) / 1e6, (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9,
        (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / 1e9);
    if (planted != UINT64_MAX)
        printf("planted %llu: %llu of 10, %llu of the next 200\n", (unsigned long long)planted,
               (unsigned long long)soon, (unsigned long long)later);
    return 0;
}
