/*
 * The cost of an NVTX push+pop pair, beside its floor: two time-stamp reads in the same loop.
 *
 *   pair THREADS ROUNDS [cpu]    bursts that a ring holds, with a rest after each; prints for each kind
 *                                of name: ns a pair, the floor's, and the median ratio with its spread;
 *                                cpu: of CPU time, which other work on the machine does not change much
 *   pair sustained THREADS N     N pairs a thread without a rest: pairs a second and ns a pair
 *   pair spaced THREADS N        the same with 10 us of work in each pair
 *
 * Run under `nvtally record` it measures the collector, run alone an unattached NVTX. A floor burst
 * and a pair burst alternate, so that both see the same machine; every ratio is of neighbours.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"

#define BURST  20000
#define ROUNDS 2000

enum kind { LITERAL, DYNAMIC, KINDS };
static const char *const kind_names[] = {"literal name", "dynamic name"};

static int threads, rounds, is_cpu_time;
static pthread_barrier_t barrier;
static double *floors, *costs; /* [kind][thread][round], ns a pair */

static double *at(double *table, int kind, int thread, int round)
{
    return &table[((size_t)kind * (size_t)threads + (size_t)thread) * (size_t)rounds +
                  (size_t)round];
}

__attribute__((noinline)) static void floor_burst(enum nvt_clock clock)
{
    volatile uint64_t sink;
    for (int i = 0; i < BURST; i++) {
        sink = nvt_ticks(clock);
        sink = nvt_ticks(clock);
    }
    (void)sink;
}

__attribute__((noinline)) static void literal_burst(void)
{
    for (int i = 0; i < BURST; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

/* Sixteen names in buffers that the caller owns and could reuse. */
__attribute__((noinline)) static void dynamic_burst(char names[16][32])
{
    for (int i = 0; i < BURST; i++) {
        nvtxRangePushA(names[i & 15]);
        nvtxRangePop();
    }
}

static void rest(void)
{
    struct timespec moment = {0, 4000000};
    nanosleep(&moment, NULL);
}

static int64_t now(void)
{
    struct timespec spent;
    if (!is_cpu_time)
        return nvt_monotonic_ns();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}

static double since(int64_t start)
{
    return (double)(now() - start) / BURST;
}

static void *measure(void *argument)
{
    int thread = (int)(intptr_t)argument;
    enum nvt_clock clock = nvt_clock_best();
    char names[16][32];
    for (int i = 0; i < 16; i++)
        snprintf(names[i], sizeof(names[i]), "layer %d of thread %d", i, thread);
    for (int round = -3; round < rounds; round++) {
        for (int kind = 0; kind < KINDS; kind++) {
            pthread_barrier_wait(&barrier);
            int64_t start = now();
            floor_burst(clock);
            double lowest = since(start);
            rest();
            pthread_barrier_wait(&barrier);
            start = now();
            if (kind == LITERAL)
                literal_burst();
            else
                dynamic_burst(names);
            double cost = since(start);
            rest();
            if (round >= 0) {
                *at(floors, kind, thread, round) = lowest;
                *at(costs, kind, thread, round) = cost;
            }
        }
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_threads(void *(*work)(void *))
{
    pthread_t ids[64];
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

static void bursts(void)
{
    size_t count = (size_t)threads * (size_t)rounds;
    double *ratios = calloc(count, sizeof(double));
    floors = calloc(count * KINDS, sizeof(double));
    costs = calloc(count * KINDS, sizeof(double));
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    run_threads(measure);
    for (int kind = 0; kind < KINDS; kind++) {
        double *cost = at(costs, kind, 0, 0), *lowest = at(floors, kind, 0, 0);
        for (size_t i = 0; i < count; i++)
            ratios[i] = cost[i] / lowest[i];
        qsort(cost, count, sizeof(double), ascending);
        qsort(lowest, count, sizeof(double), ascending);
        qsort(ratios, count, sizeof(double), ascending);
        printf("%s\t%d\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\n", kind_names[kind], threads, cost[count / 2],
               lowest[count / 2], ratios[count / 2], ratios[count / 20],
               ratios[count - 1 - count / 20]);
    }
}

static long sustained_pairs;
static int64_t work_ns; /* inside of each pair */

static void *sustain(void *argument)
{
    (void)argument;
    for (long i = 0; i < sustained_pairs; i++) {
        nvtxRangePushA("forward");
        for (int64_t end = work_ns ? nvt_monotonic_ns() + work_ns : 0;
             end && nvt_monotonic_ns() < end;) {
        }
        nvtxRangePop();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 3 && (!strcmp(argv[1], "sustained") || !strcmp(argv[1], "spaced"))) {
        work_ns = argv[1][1] == 'p' ? 10000 : 0;
        threads = (int)strtol(argv[2], NULL, 10);
        sustained_pairs = strtol(argv[3], NULL, 10);
        int64_t start = nvt_monotonic_ns();
        run_threads(sustain);
        double seconds = (double)(nvt_monotonic_ns() - start) / 1e9;
        double pairs = (double)sustained_pairs * threads;
        printf("sustained\t%d\t%.2f\t%.1f\n", threads, seconds * 1e9 / (double)sustained_pairs,
               pairs / seconds / 1e6);
        return 0;
    }
    threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    is_cpu_time = argc > 3 && !strcmp(argv[3], "cpu");
    if (threads < 1 || threads > 64 || rounds < 1 || rounds > ROUNDS)
        return 2;
    bursts();
    return 0;
}
