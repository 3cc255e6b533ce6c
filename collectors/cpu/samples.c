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
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "../inject/cpu.h"
#include "../inject/os.h"

#define EXPORT NVT_EXPORT

/* Threads with smaller stacks are not sampled: what the system puts on one for a handler has 4 KiB where registers are large. */
#define STACK_LEAST 32768u

static int number; /* the signal that is ours, 0: nothing is sampled */

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_function(int, sighandler_t);
typedef int mask_function(int, const sigset_t *, sigset_t *);
typedef ssize_t write_function(int, const void *, size_t);
typedef int c11_function(thrd_t *, thrd_start_t, void *);
typedef int wait_function(const sigset_t *, int *);
typedef int wait_info_function(const sigset_t *, siginfo_t *);
typedef int wait_timed_function(const sigset_t *, siginfo_t *, const struct timespec *);

static struct {
    create_function *pthread_create;
    sigaction_function *sigaction;
    signal_function *signal;
    mask_function *pthread_sigmask, *sigprocmask;
    write_function *write;
    c11_function *thrd_create;
    wait_function *sigwait;
    wait_info_function *sigwaitinfo;
    wait_timed_function *sigtimedwait;
    signal_function *sysv_signal;
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
    FIND(thrd_create);
    FIND(sigwait);
    FIND(sigwaitinfo);
    FIND(sigtimedwait);
    FIND(sysv_signal);
#undef FIND
}

/* --- threads --------------------------------------------------------------------------------------- */

struct start {
    void *(*routine)(void *);
    thrd_start_t c11;
    void *argument;
};

/* Of threads that have not begun yet. What a thread frees would give it an arena of its own, 64 MiB of addresses, which many a
 * program has none of: so only where there are more does malloc come in. */
#define STARTS 256
static struct start starts[STARTS];
static _Atomic int is_taken[STARTS];

static struct start *new_start(void)
{
    for (size_t i = 0; i < STARTS; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&is_taken[i], &none, 1))
            return &starts[i];
    }
    return malloc(sizeof(struct start));
}

static void free_start(struct start *start)
{
    if (start >= starts && start < starts + STARTS)
        atomic_store(&is_taken[start - starts], 0);
    else
        free(start);
}

static struct start take(struct start *given)
{
    const struct start start = *given;
    free_start(given);
    return start;
}

static void *begin(void *given)
{
    const struct start start = take(given);
    nvt_cpu_begin_thread();
    return start.routine(start.argument);
}

static int begin_c11(void *given)
{
    const struct start start = take(given);
    nvt_cpu_begin_thread();
    return start.c11(start.argument);
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
    struct start *start = number && is_roomy(attributes) ? new_start() : NULL;
    nvt_os_hand_on(__builtin_return_address(0));
    if (!start)
        return libc.pthread_create(thread, attributes, routine, argument);
    *start = (struct start){.routine = routine, .argument = argument};
    int status = libc.pthread_create(thread, attributes, begin, start);
    if (status)
        free_start(start);
    return status;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    find_all();
    struct start *start = number ? new_start() : NULL;
    nvt_os_hand_on(__builtin_return_address(0));
    if (!start)
        return libc.thrd_create(thread, routine, argument);
    *start = (struct start){.c11 = routine, .argument = argument};
    int status = libc.thrd_create(thread, begin_c11, start);
    if (status != thrd_success)
        free_start(start);
    return status;
}

/* --- signals --------------------------------------------------------------------------------------- */

static int hold(int signal)
{
    return number && (signal == SIGSEGV || signal == SIGBUS) ? nvt_cpu_hold_faults() : 0;
}

static void release(int is_held)
{
    if (is_held)
        nvt_cpu_release_faults();
}

EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    find_all();
    if (number && signal == number)
        return nvt_cpu_action(action, before);
    if (number && signal == NVT_CPU_PYTHON && nvt_cpu_python_action(action, before))
        return 0;
    int is_held = hold(signal), status = libc.sigaction(signal, action, before);
    release(is_held);
    return status;
}

static sighandler_t set_handler(signal_function *function, int which, sighandler_t handler)
{
    if (!number || which != number) {
        int is_held = hold(which);
        sighandler_t before_it = function(which, handler);
        release(is_held);
        return before_it;
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    nvt_cpu_action(&action, &before);
    return before.sa_handler;
}

EXPORT sighandler_t signal(int which, sighandler_t handler)
{
    find_all();
    return set_handler(libc.signal, which, handler);
}

/* What signal() is in a program that asks for System V's. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): libc's name */
EXPORT sighandler_t __sysv_signal(int which, sighandler_t handler)
{
    find_all();
    return set_handler(libc.sysv_signal, which, handler);
}

/* The set without the signal that is ours. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *room)
{
    if (!number || !set || !sigismember(set, number))
        return set;
    *room = *set;
    sigdelset(room, number);
    return room;
}

/* What blocks every signal does not block this one. */
static int change_mask(mask_function *function, int how, const sigset_t *set, sigset_t *before)
{
    sigset_t room;
    return function(how, how == SIG_UNBLOCK ? set : without_ours(set, &room), before);
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

/* Who waits for every signal does not get this one, which may come as it begins to wait. */
EXPORT int sigwait(const sigset_t *set, int *which)
{
    sigset_t room;
    find_all();
    nvt_os_hand_on(__builtin_return_address(0));
    return libc.sigwait(without_ours(set, &room), which);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t room;
    find_all();
    nvt_os_hand_on(__builtin_return_address(0));
    return libc.sigwaitinfo(without_ours(set, &room), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
    sigset_t room;
    find_all();
    nvt_os_hand_on(__builtin_return_address(0));
    return libc.sigtimedwait(without_ours(set, &room), info, time);
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

static void before_fork(void)
{
    nvt_cpu_before_fork();
}

static void after_fork(void)
{
    nvt_cpu_after_fork();
}

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
    if (!number) {
        unsetenv(NVT_CPU_SIGNAL_ENV); /* what it is in the process that started this one */
        return;
    }
    snprintf(text, sizeof(text), "%d", NVT_CPU_PYTHON);
    setenv(NVT_CPU_SIGNAL_ENV, text, 1);
    pthread_atfork(before_fork, after_fork, watch_child);
}
