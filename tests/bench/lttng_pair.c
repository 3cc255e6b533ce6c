/*
 * The same loop as pair.c's, with LTTng-UST tracepoints: lttng_pair ROUNDS. Prints ns a pair, the
 * floor's, the median ratio and its spread; the number of pairs goes to stderr.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/lttng_pair_tp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"

#define BURST 4000

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double burst(enum nvt_clock clock, int traced)
{
    volatile uint64_t sink;
    struct timespec moment = {0, 4000000};
    int64_t start = nvt_monotonic_ns();
    for (int i = 0; i < BURST; i++) {
        if (traced) {
            lttng_ust_tracepoint(nvtally_bench, push, "forward");
            lttng_ust_tracepoint(nvtally_bench, pop, 0);
        } else {
            sink = nvt_ticks(clock);
            sink = nvt_ticks(clock);
        }
    }
    (void)sink;
    double cost = (double)(nvt_monotonic_ns() - start) / BURST;
    nanosleep(&moment, NULL);
    return cost;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
    enum nvt_clock clock = nvt_clock_best();
    size_t count = (size_t)(rounds > 0 ? rounds : 1);
    double *costs = calloc(3 * count, sizeof(double));
    if (!costs)
        return 1;
    double *floors = costs + count, *ratios = floors + count;
    for (size_t i = 0; i < count; i++) {
        floors[i] = burst(clock, 0);
        costs[i] = burst(clock, 1);
        ratios[i] = costs[i] / floors[i];
    }
    qsort(costs, count, sizeof(double), ascending);
    qsort(floors, count, sizeof(double), ascending);
    qsort(ratios, count, sizeof(double), ascending);
    printf("LTTng-UST\t1\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\n", costs[count / 2], floors[count / 2],
           ratios[count / 2], ratios[count / 20], ratios[count - 1 - count / 20]);
    fprintf(stderr, "%zu\n", count * BURST);
    free(costs);
    return 0;
}
