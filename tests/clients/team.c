/*
 * team HOW [ITERATIONS] [OTHERS] [spin]: iterations of a thread that has others work with it and waits for them, by barriers.
 * They work asleep, by the bare system call, which no recorder takes for a wait: so they need no processors of their own. Or they
 * spin on the clock, for samples.
 *
 *   serial    4 ms of all, then 4 ms of the main thread alone, in a range `reduce`
 *   balanced  8 ms of all
 *   idle      8 ms of the main thread alone; the others wait all the time
 *   single    8 ms of the main thread; there are no others
 *   loader    the others work ahead, one after the other, 2 ms for each iteration of 6 ms, and wait for room
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16 };

static pthread_barrier_t begin, end;
static sem_t room, ready;
static int is_done, is_spinning;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void work(const char *range, int ms)
{
    const struct timespec time = {0, ms * 1000000L};
    int64_t until = now() + ms * INT64_C(1000000);
    nvtxRangePushA(range);
    if (!is_spinning)
        syscall(SYS_nanosleep, &time, NULL);
    while (is_spinning && now() < until)
        ;
    nvtxRangePop();
}

static void *member(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (is_done)
            return NULL;
        work("part", 4);
        pthread_barrier_wait(&end);
    }
}

static void *loader(void *unused)
{
    (void)unused;
    for (;;) {
        sem_wait(&room);
        if (__atomic_load_n(&is_done, __ATOMIC_RELAXED))
            return NULL;
        work("load", 2);
        sem_post(&ready);
    }
}

static void together(int times)
{
    for (int i = 0; i < times; i++) {
        pthread_barrier_wait(&begin);
        work("part", 4);
        pthread_barrier_wait(&end);
    }
}

static void iterate(const char *how)
{
    nvtxRangePushA("iteration");
    if (!strcmp(how, "serial")) {
        together(1);
        work("reduce", 4);
    } else if (!strcmp(how, "balanced")) {
        together(2);
    } else if (!strcmp(how, "loader")) {
        sem_wait(&ready);
        sem_post(&room);
        work("step", 6);
    } else {
        work("reduce", 8);
    }
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "serial";
    long iterations = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
    int is_loader = !strcmp(how, "loader"), others = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3;
    pthread_t threads[MOST];
    is_spinning = argc > 4 && !strcmp(argv[4], "spin");
    if (!strcmp(how, "single"))
        others = 0;
    if (others < 0 || others > MOST)
        return 1;
    pthread_barrier_init(&begin, NULL, (unsigned)others + 1);
    pthread_barrier_init(&end, NULL, (unsigned)others + 1);
    sem_init(&room, 0, 4);
    sem_init(&ready, 0, 0);
    for (int i = 0; i < others; i++)
        if (pthread_create(&threads[i], NULL, is_loader ? loader : member, NULL))
            return 1;
    for (long i = 0; i < iterations; i++)
        iterate(how);
    __atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < others && is_loader; i++)
        sem_post(&room);
    if (others && !is_loader)
        pthread_barrier_wait(&begin);
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
