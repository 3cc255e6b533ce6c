/*
 * A range with 1000 tiny ranges in it, so many times: nested ROUNDS. Prints the median of what the
 * outer range took by the program's own clock, in ns: run bare, it is what the range would last if
 * recording cost nothing.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TINY 1000

static int64_t now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (int64_t)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

static void work(void)
{
    for (volatile int i = 0; i < 20; i++) {
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100;
    if (rounds < 1 || rounds > 10000)
        return 2;
    int64_t *took = calloc((size_t)rounds, sizeof(*took));
    if (!took)
        return 1;
    for (int round = 0; round < rounds; round++) {
        int64_t start = now();
        nvtxRangePushA("outer");
        for (int i = 0; i < TINY; i++) {
            nvtxRangePushA("tiny");
            work();
            nvtxRangePop();
        }
        nvtxRangePop();
        took[round] = now() - start;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    qsort(took, (size_t)rounds, sizeof(*took), ascending);
    printf("%lld\n", (long long)took[rounds / 2]);
    free(took);
    return 0;
}
