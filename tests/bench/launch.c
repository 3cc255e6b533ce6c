/*
 * The cost of a launch on the emulated device (tests/cupti/stand_in.h), next to its floor: two time-stamp reads in the same loop.
 *
 *   launch ROUNDS     bursts with a rest after each; prints "launch", threads, ns a launch, the floor's, the median ratio, its spread
 *
 * The device is one of tests: a launch takes the stand-in's lock, and what it costs on a GPU is another number. What differs between
 * states of the collector is the collector's. NVTALLY_CUPTI names the stand-in; the "driver" loads what CUDA_INJECTION64_PATH names.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"
#include "tests/cupti/stand_in.h"

#define BURST  1000
#define ROUNDS 10000

static stand_in_launch_function launch;

static int come_up(void)
{
    const char *device = getenv("NVTALLY_CUPTI"), *collector = getenv("CUDA_INJECTION64_PATH");
    void *library = device ? dlopen(device, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;
    if (!library)
        return -1;
    *(void **)&launch = dlsym(library, "stand_in_launch");
    library = collector ? dlopen(collector, RTLD_NOW) : NULL;
    if (library)
        *(void **)&begin = dlsym(library, "InitializeInjection");
    if (begin)
        begin();
    return launch ? 0 : -1;
}

static double floor_burst(enum nvt_clock clock)
{
    volatile uint64_t sink;
    const int64_t start = nvt_monotonic_ns();
    for (int i = 0; i < BURST; i++) {
        sink = nvt_ticks(clock);
        sink = nvt_ticks(clock);
    }
    (void)sink;
    return (double)(nvt_monotonic_ns() - start) / BURST;
}

static double launch_burst(void)
{
    const int64_t start = nvt_monotonic_ns();
    for (int i = 0; i < BURST; i++)
        launch("kernel", 1000, 1);
    return (double)(nvt_monotonic_ns() - start) / BURST;
}

static void rest(void)
{
    const struct timespec moment = {0, 4000000};
    nanosleep(&moment, NULL);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double floors[ROUNDS], costs[ROUNDS], ratios[ROUNDS];
    const int asked = argc > 1 ? atoi(argv[1]) : 300;
    const size_t count = asked < 1 ? 1 : asked > ROUNDS ? ROUNDS : (size_t)asked;
    if (come_up()) {
        fprintf(stderr, "launch: no emulated device (NVTALLY_CUPTI)\n");
        return 2;
    }
    const enum nvt_clock clock = nvt_clock_best();
    for (int round = -3; round < (int)count; round++) {
        double lowest = floor_burst(clock);
        rest();
        double cost = launch_burst();
        rest();
        if (round < 0)
            continue;
        floors[round] = lowest;
        costs[round] = cost;
        ratios[round] = cost / lowest;
    }
    qsort(floors, count, sizeof(double), ascending);
    qsort(costs, count, sizeof(double), ascending);
    qsort(ratios, count, sizeof(double), ascending);
    printf("launch\t1\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\n", costs[count / 2], floors[count / 2],
           ratios[count / 2], ratios[count / 20], ratios[count - 1 - count / 20]);
    return 0;
}
