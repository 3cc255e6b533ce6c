/*
 * A library whose constructor waits for a thread of its own, as runtimes do, while the linker holds its lock; and that has a
 * function of libc, without a version, as sanitizers do.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *waits(void *nothing)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 10);
    return nothing;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (getenv("OSRT_CONSTRUCTOR") && !pthread_create(&thread, NULL, waits, NULL))
        pthread_join(thread, NULL);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    *(void **)&next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    (void)!write(2, "passed through\n", 15);
    return next ? next(condition, mutex, until) : 1;
}
