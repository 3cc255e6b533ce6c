/*
 * Work on several processors. How many threads there may be says NVTALLY_THREADS, else there are as
 * many as processors that are online.
 */
#ifndef NVT_PARALLEL_H
#define NVT_PARALLEL_H

#include <stddef.h>

/* Rows from which on a second thread is worth its start. */
#define NVT_BESIDE_FROM 20000

/* Threads that a command may have at once, 1 to 64. */
unsigned nvt_thread_count(void);

/*
 * Call task(context, i) for every i below `count`, each once, on up to nvt_thread_count() threads;
 * those with lower numbers begin first. All calls have returned when this does. Where no thread can
 * be had, the caller's does all.
 */
void nvt_parallel(void (*task)(void *context, size_t i), void *context, size_t count);

#endif
