/*
 * A thread of the recorder's own: it takes no signal, as those are for the thread that started it, and has a stack of its own size,
 * however small ulimit -s makes those of others.
 */
#ifndef NVT_HELPER_THREAD_H
#define NVT_HELPER_THREAD_H

#include <pthread.h>

/* 0, or errno. */
int nvt_helper_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
