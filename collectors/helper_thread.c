#include "helper_thread.h"

#include <signal.h>

/* Memory is taken as it is used. */
#define STACK_BYTES ((size_t)1 << 20)

int nvt_helper_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int cause = pthread_attr_init(&attributes);
    if (cause)
        return cause;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    cause = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    cause = cause ? cause : pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return cause;
}
