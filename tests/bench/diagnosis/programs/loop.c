/*
 * Programs of the benchmark of diagnosis that really run: a loop on the host with one trouble, or none.
 *
 *   loop PROGRAM ITERATIONS COST_US [well]
 *
 * An iteration works for BASE_US of its thread's processor time, and PROGRAM's trouble adds about COST_US to it; with `well` the
 * same is done without. Prints the median iteration of the second half in ns. Programs that hang are ended by who started them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "../../../../lib/count_of.h"

enum {
    BASE_US = 4000,
    MOST_ITERATIONS = 4096,
    BETWEEN =
        20000 /* steps of work between two looks at the clock, some 20 us: looking is not what it does */
};

static volatile uint64_t sink;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_us(int64_t us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Work of so much processor time of the thread. */
__attribute__((noinline)) static void work_us(int64_t us)
{
    const int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < BETWEEN; i++)
            sink = sink * 6364136223846793005u + 1;
}

/* What could be numbers once and for all is text in each iteration. */
__attribute__((noinline)) static void parse_records(int64_t us)
{
    const int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < BETWEEN / 200; i++) {
            char text[64];
            snprintf(text, sizeof(text), "%.15g", (double)(sink % 1000003) / 7);
            sink += (uint64_t)(1e6 * strtod(text, NULL));
        }
}

/* --- troubles: what an iteration does beside its work ------------------------------------------------ */

static int iteration;

/* A file is written and synchronised until the time is over. */
static void save(int64_t us)
{
    static char block[1 << 16];
    const int64_t until = clock_ns(CLOCK_MONOTONIC) + us * 1000;
    int file = open("model.ckpt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    nvtxRangePushA("save");
    do {
        if (write(file, block, sizeof(block)) < 0 || fsync(file))
            break;
    } while (clock_ns(CLOCK_MONOTONIC) < until);
    nvtxRangePop();
    close(file);
}

static void sleep_in_range(int64_t us)
{
    nvtxRangePushA("throttle");
    pause_us(us);
    nvtxRangePop();
}

static void busy(int64_t us)
{
    nvtxRangePushA("parse");
    parse_records(us);
    nvtxRangePop();
}

static void evaluate(int64_t us)
{
    if (iteration % 8 != 5)
        return;
    nvtxRangePushA("evaluate");
    work_us(8 * us);
    nvtxRangePop();
}

static void hiccup(int64_t us)
{
    if (iteration % 10 == 7)
        work_us(10 * us);
}

/* A second thread holds a lock for so long, from when this one asks it to. */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t hold_us;
static int asked[2], held[2];

static void *holder(void *unused)
{
    char byte;
    while (read(asked[0], &byte, 1) == 1) {
        pthread_mutex_lock(&queue_lock);
        if (write(held[1], &byte, 1) != 1)
            break;
        pause_us(hold_us);
        pthread_mutex_unlock(&queue_lock);
    }
    return unused;
}

static void lock(int64_t us)
{
    static pthread_t thread;
    char byte = 0;
    hold_us = us;
    if (!thread && (pipe(asked) || pipe(held) || pthread_create(&thread, NULL, holder, NULL)))
        abort();
    if (write(asked[1], &byte, 1) != 1 || read(held[0], &byte, 1) != 1)
        abort();
    nvtxRangePushA("enqueue");
    pthread_mutex_lock(&queue_lock);
    pthread_mutex_unlock(&queue_lock);
    nvtxRangePop();
}

/* A team shares the work of each iteration, and one merges alone. */
static pthread_barrier_t start, done;

static void *member(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&start);
        work_us(BASE_US);
        pthread_barrier_wait(&done);
    }
    return unused;
}

static void serial(int64_t us)
{
    static pthread_t thread;
    if (!thread) {
        pthread_barrier_init(&start, NULL, 2);
        pthread_barrier_init(&done, NULL, 2);
        pthread_create(&thread, NULL, member, NULL);
    }
    pthread_barrier_wait(&start);
    work_us(BASE_US);
    pthread_barrier_wait(&done);
    nvtxRangePushA("merge");
    work_us(us);
    nvtxRangePop();
}

/* --- ends ------------------------------------------------------------------------------------------ */

static pthread_mutex_t accounts[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;

static void *transfer(void *argument)
{
    const int first = *(const int *)argument;
    pthread_mutex_lock(&accounts[first]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&accounts[!first]);
    return NULL;
}

static void end_in_deadlock(void)
{
    static int numbers[2] = {0, 1};
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, transfer, &numbers[1]);
    nvtxRangePushA("transfer");
    transfer(&numbers[0]);
}

static void end_in_hang(void)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        abort();
    nvtxRangePushA("collect results");
    sink = (uint64_t)read(ends[0], &byte, 1);
}

/* --- healthy programs ------------------------------------------------------------------------------ */

static void nothing(int64_t us)
{
    (void)us;
}

static void *loader(void *argument)
{
    char byte = 0;
    for (int i = 0;; i++) {
        pause_us(i % 7 ? 500 : 3000);
        if (write(*(const int *)argument, &byte, 1) != 1)
            return NULL;
    }
}

/* A loader that is slow at times, and ahead in time. */
static void load(int64_t us)
{
    static int ends[2];
    static pthread_t thread;
    char byte;
    (void)us;
    if (!thread && (pipe(ends) || pthread_create(&thread, NULL, loader, &ends[1])))
        abort();
    nvtxRangePushA("next batch");
    if (read(ends[0], &byte, 1) != 1)
        abort();
    nvtxRangePop();
}

static void *client(void *argument)
{
    unsigned seed = 1;
    char byte = 0;
    do {
        seed = seed * 1664525u + 1013904223u;
        pause_us(500 + seed % 12000);
    } while (write(*(const int *)argument, &byte, 1) == 1);
    return NULL;
}

/* Requests come when they come. */
static void serve(int iterations)
{
    int ends[2];
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
        pthread_create(&thread, NULL, client, &ends[1]))
        abort();
    for (int i = 0; i < iterations; i++) {
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        char byte;
        poll(&wait, 1, -1);
        if (read(ends[0], &byte, 1) != 1)
            abort();
        nvtxRangePushA("request");
        work_us(BASE_US / 4);
        nvtxRangePop();
    }
}

/* It looks for work at times, and sleeps in between on purpose. */
static void watch(int iterations)
{
    for (int i = 0; i < iterations / 8; i++) {
        nvtxRangePushA("poll");
        work_us(500);
        nvtxRangePop();
        pause_us(100000);
    }
}

/* One thing after the other, each once. */
static void script(int iterations)
{
    static const char *const parts[] = {"load", "prepare", "fit", "report"};
    for (int i = 0; i < 4; i++) {
        nvtxRangePushA(parts[i]);
        work_us((int64_t)iterations * BASE_US / (2 << i));
        nvtxRangePop();
    }
}

static const struct program {
    const char *name;
    void (*add)(int64_t us); /* in each iteration */
    void (*end)(void);
    void (*instead)(int iterations); /* of a loop */
} programs[] = {
    {.name = "save", .add = save},
    {.name = "sleep", .add = sleep_in_range},
    {.name = "lock", .add = lock},
    {.name = "busy", .add = busy},
    {.name = "evaluate", .add = evaluate},
    {.name = "hiccup", .add = hiccup},
    {.name = "serial", .add = serial},
    {.name = "deadlock", .add = nothing, .end = end_in_deadlock},
    {.name = "hang", .add = nothing, .end = end_in_hang},
    {.name = "plain", .add = nothing},
    {.name = "loader", .add = load},
    {.name = "serve", .instead = serve},
    {.name = "watch", .instead = watch},
    {.name = "script", .instead = script},
};

static int by_size(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void run(const struct program *program, int iterations, int64_t us, int is_well)
{
    static int64_t ns[MOST_ITERATIONS];
    for (iteration = 0; iteration < iterations; iteration++) {
        const int64_t begin = clock_ns(CLOCK_MONOTONIC);
        nvtxRangePushA("iteration");
        work_us(BASE_US);
        if (!is_well)
            program->add(us);
        nvtxRangePop();
        ns[iteration] = clock_ns(CLOCK_MONOTONIC) - begin;
    }
    int64_t sum = 0;
    for (int i = iterations / 2; i < iterations; i++)
        sum += ns[i];
    qsort(ns + iterations / 2, (size_t)(iterations - iterations / 2), sizeof(*ns), by_size);
    printf("%lld %lld\n", (long long)ns[iterations / 2 + (iterations - iterations / 2) / 2],
           (long long)(sum / (iterations - iterations / 2)));
}

int main(int argc, char **argv)
{
    const int iterations = argc > 2 ? atoi(argv[2]) : 0;
    const int64_t us = argc > 3 ? atoll(argv[3]) : 0;
    for (size_t i = 0; i < NVT_COUNT_OF(programs); i++) {
        if (argc < 4 || strcmp(programs[i].name, argv[1]) || iterations < 2 ||
            iterations > MOST_ITERATIONS)
            continue;
        if (programs[i].instead)
            programs[i].instead(iterations);
        else
            run(&programs[i], iterations, us, argc > 4);
        fflush(stdout);
        if (programs[i].end && argc < 5)
            programs[i].end();
        return 0;
    }
    fputs("usage: loop PROGRAM ITERATIONS COST_US [well]\n", stderr);
    return 2;
}
