/*
 * What os_calls.c does with semaphores, and who took them: one that is a lock and one that is a signal.
 */
#ifndef NVT_OS_SEMAPHORES_H
#define NVT_OS_SEMAPHORES_H

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POSTED_LATE 200000 /* us, in which a busy machine gets the other thread to wait */

static sem_t as_lock, as_signal;
static int holder_number;

static void *hold_semaphore(void *argument)
{
    (void)argument;
    holder_number = (int)syscall(SYS_gettid);
    while (sem_trywait(&as_lock)) {
    }
    usleep(POSTED_LATE);
    sem_post(&as_signal);
    usleep(POSTED_LATE);
    sem_post(&as_lock);
    return NULL;
}

static void *post_late(void *argument)
{
    usleep(POSTED_LATE);
    sem_post(argument);
    return NULL;
}

/* One as a lock, which another thread and then nobody else holds; one as a signal, waited for twice. */
static void semaphores(void)
{
    pthread_t thread;
    sem_init(&as_lock, 0, 1);
    sem_init(&as_signal, 0, 0);
    pthread_create(&thread, NULL, hold_semaphore, NULL);
    sem_wait(&as_signal);
    sem_wait(&as_lock);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, post_late, &as_lock);
    sem_wait(&as_lock); /* which this thread has */
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, post_late, &as_signal);
    sem_wait(&as_signal);
    pthread_join(thread, NULL);
    printf("%p %p %d\n", (void *)&as_lock, (void *)&as_signal, holder_number);
}

#endif
