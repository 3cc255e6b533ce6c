/*
 * Work on several processors. How many threads there may be says NVTALLY_THREADS, else there are as
 * many as processors that are online.
 */
#ifndef NVT_PARALLEL_H
#define NVT_PARALLEL_H

#include "../../lib/error.h"

#include <stddef.h>

#define NVT_THREADS_MOST 64

/* Rows from which on a second thread is worth its start. */
#define NVT_BESIDE_FROM 20000

/* Threads that a command may have at once, 1 to NVT_THREADS_MOST; 1 within a task of nvt_parallel_each. */
unsigned nvt_thread_count(void);

/* Whether NVTALLY_THREADS is unset, empty or a number from 1 to NVT_THREADS_MOST: 0, or -1 with the
 * reason. A command asks before it begins; what is no number counts as unset to the others here. */
int nvt_thread_count_check(struct nvt_error *err);

/*
 * Call task(context, i) for every i below `count`, each once, on up to nvt_thread_count() threads;
 * those with lower numbers begin first. All calls have returned when this does. Where no thread can
 * be had, the caller's does all.
 */
void nvt_parallel(void (*task)(void *context, size_t i), void *context, size_t count);

/* nvt_parallel for tasks that are many and each take long, such as files: what a task does in parallel by itself, it does on its
 * own thread alone. */
void nvt_parallel_each(void (*task)(void *context, size_t i), void *context, size_t count);

#endif
