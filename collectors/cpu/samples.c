/*
 * libnvtally-cpu-samples.so: `record --trace cpu` puts it in front of the program's libraries (LD_PRELOAD), so that it sees threads
 * begin. What becomes of a sample is collectors/inject/cpu.h's business.
 *
 * The signal that samples come by is none of the program's business: what it does with all signals leaves this one as it is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../inject/cpu.h"

#define EXPORT NVT_EXPORT

/* Threads with smaller stacks are not sampled: the handler needs some 10 KiB of it. */
#define STACK_LEAST 65536u

static int number; /* the signal that is ours, 0: nothing is sampled */

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_function(int, sighandler_t);
typedef int mask_function(int, const sigset_t *, sigset_t *);
typedef ssize_t write_function(int, const void *, size_t);

static struct {
    create_function *pthread_create;
    sigaction_function *sigaction;
    signal_function *signal;
    mask_function *pthread_sigmask, *sigprocmask;
    write_function *write;
} libc;

/* Calls that come before our beginning, of other libraries', find it, too. */
static void find_all(void)
{
#define FIND(name)                                                                                 \
    if (!libc.name)                                                                                \
    *(void **)&libc.name = dlsym(RTLD_NEXT, #name)
    FIND(pthread_create);
    FIND(sigaction);
    FIND(signal);
    FIND(pthread_sigmask);
    FIND(sigprocmask);
    FIND(write);
#undef FIND
}

/* --- threads --------------------------------------------------------------------------------------- */

struct start {
    void *(*routine)(void *);
    void *argument;
};

static void *begin(void *given)
{
    struct start start = *(struct start *)given;
    free(given);
    nvt_cpu_begin_thread();
    return start.routine(start.argument);
}

static int is_roomy(const pthread_attr_t *attributes)
{
    size_t size;
    return !attributes || pthread_attr_getstacksize(attributes, &size) || size >= STACK_LEAST;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *argument)
{
    find_all();
    struct start *start = number && is_roomy(attributes) ? malloc(sizeof(*start)) : NULL;
    if (!start)
        return libc.pthread_create(thread, attributes, routine, argument);
    *start = (struct start){routine, argument};
    int status = libc.pthread_create(thread, attributes, begin, start);
    if (status)
        free(start);
    return status;
}

/* --- signals --------------------------------------------------------------------------------------- */

EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    find_all();
    return number && signal == number ? nvt_cpu_action(action, before)
                                      : libc.sigaction(signal, action, before);
}

EXPORT sighandler_t signal(int which, sighandler_t handler)
{
    find_all();
    if (!number || which != number)
        return libc.signal(which, handler);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    nvt_cpu_action(&action, &before);
    return before.sa_handler;
}

/* What blocks every signal does not block this one. */
static int change_mask(mask_function *function, int how, const sigset_t *set, sigset_t *before)
{
    sigset_t without;
    if (!number || !set || how == SIG_UNBLOCK || !sigismember(set, number))
        return function(how, set, before);
    without = *set;
    sigdelset(&without, number);
    return function(how, &without, before);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    find_all();
    return change_mask(libc.pthread_sigmask, how, set, before);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    find_all();
    return change_mask(libc.sigprocmask, how, set, before);
}

/* --- Python's stack -------------------------------------------------------------------------------- */

EXPORT ssize_t write(int descriptor, const void *bytes, size_t size)
{
    if (NVT_UNLIKELY(descriptor == NVT_CPU_STACK_DESCRIPTOR) && nvt_cpu_take_stack(bytes, size))
        return (ssize_t)size;
    if (NVT_UNLIKELY(!libc.write))
        find_all();
    return libc.write(descriptor, bytes, size);
}

/* --- the beginning --------------------------------------------------------------------------------- */

static void watch_child(void)
{
    nvt_cpu_forked();
}

__attribute__((constructor)) static void watch(void)
{
    char text[16];
    find_all();
    const struct nvt_cpu_system system = {.sigaction = libc.sigaction};
    number = nvt_cpu_watch(&system);
    if (!number)
        return;
    snprintf(text, sizeof(text), "%d", number);
    setenv(NVT_CPU_SIGNAL_ENV, text, 1);
    pthread_atfork(NULL, NULL, watch_child);
}
