#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* The number of NVTALLY_THREADS; 0 where it is unset or empty, -1 where it says something else. */
static int wanted_threads(void)
{
    const char *text = getenv("NVTALLY_THREADS");
    if (!text || !*text)
        return 0;
    int value = 0;
    for (; *text >= '0' && *text <= '9' && value <= NVT_THREADS_MOST; text++)
        value = value * 10 + *text - '0';
    return *text || value < 1 || value > NVT_THREADS_MOST ? -1 : value;
}

int nvt_thread_count_check(struct nvt_error *err)
{
    if (wanted_threads() >= 0)
        return 0;
    return nvt_fail(err, "NVTALLY_THREADS is '%s'; it must be a number from 1 to %d, or unset",
                    getenv("NVTALLY_THREADS"), NVT_THREADS_MOST);
}

static _Thread_local int is_alone;

unsigned nvt_thread_count(void)
{
    if (is_alone)
        return 1;
    int wanted = wanted_threads();
    long count = wanted > 0 ? wanted : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > NVT_THREADS_MOST ? NVT_THREADS_MOST : (unsigned)count;
}

struct work {
    void (*task)(void *context, size_t i);
    void *context;
    size_t count;
    int is_each;
    atomic_size_t next;
};

static void *run(void *argument)
{
    struct work *work = argument;
    const int was_alone = is_alone;
    is_alone |= work->is_each;
    /* Relaxed: each number goes to one thread; what tasks read was written before the threads
     * began. */
    for (size_t i;
         (i = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed)) < work->count;)
        work->task(work->context, i);
    is_alone = was_alone;
    return NULL;
}

static void run_all(void (*task)(void *context, size_t i), void *context, size_t count, int is_each)
{
    struct work work = {.task = task, .context = context, .count = count, .is_each = is_each};
    pthread_t threads[NVT_THREADS_MOST];
    size_t most = count < 2 ? 1 : nvt_thread_count(), started = 0;
    while (started + 1 < most && started + 1 < count &&
           !pthread_create(&threads[started], NULL, run, &work))
        started++;
    run(&work);
    while (started)
        pthread_join(threads[--started], NULL);
}

void nvt_parallel(void (*task)(void *context, size_t i), void *context, size_t count)
{
    run_all(task, context, count, 0);
}

void nvt_parallel_each(void (*task)(void *context, size_t i), void *context, size_t count)
{
    run_all(task, context, count, 1);
}
