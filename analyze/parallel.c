#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MOST 64

unsigned nvt_thread_count(void)
{
    const char *wanted = getenv("NVTALLY_THREADS");
    long count = wanted ? strtol(wanted, NULL, 10) : 0;
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > THREADS_MOST ? THREADS_MOST : (unsigned)count;
}

struct work {
    void (*task)(void *context, size_t i);
    void *context;
    size_t count;
    atomic_size_t next;
};

static void *run(void *argument)
{
    struct work *work = argument;
    /* Relaxed: each number goes to one thread; what tasks read was written before the threads
     * began. */
    for (size_t i;
         (i = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed)) < work->count;)
        work->task(work->context, i);
    return NULL;
}

void nvt_parallel(void (*task)(void *context, size_t i), void *context, size_t count)
{
    struct work work = {.task = task, .context = context, .count = count};
    pthread_t threads[THREADS_MOST];
    size_t most = count < 2 ? 1 : nvt_thread_count(), started = 0;
    while (started + 1 < most && started + 1 < count &&
           !pthread_create(&threads[started], NULL, run, &work))
        started++;
    run(&work);
    while (started)
        pthread_join(threads[--started], NULL);
}
