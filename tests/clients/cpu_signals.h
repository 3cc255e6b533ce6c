/*
 * What cpu_samples.c does with signals while it is sampled: it blocks them, handles all that there are, has a child that runs on its
 * memory do so, and jumps out of handlers.
 */
#ifndef NVT_CPU_SIGNALS_H
#define NVT_CPU_SIGNALS_H

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "burn.h"
#include "expect.h"

static volatile sig_atomic_t signals_seen, last_signal;

static void count_signal(int which)
{
    signals_seen++;
    last_signal = which;
}

static void blocked(void)
{
    sigset_t all, before;
    sigfillset(&all);
    EXPECT(!sigprocmask(SIG_SETMASK, &all, NULL) && !pthread_sigmask(SIG_BLOCK, &all, &before));
    EXPECT(sigismember(&before, SIGUSR1) && sigismember(&before, SIGTERM));
    work_of_main(400);
    EXPECT(!pthread_sigmask(SIG_SETMASK, &before, NULL));
}

/* The signal that samples come by, 0: there is none. The kernel knows of its handler, the program does not; to be asked before the
 * program sets handlers of its own. */
static int ours(void)
{
    static int found = -1;
    char line[256];
    unsigned long long caught = 0;
    FILE *file = found < 0 ? fopen("/proc/self/status", "r") : NULL;
    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "SigCgt: %llx", &caught);
    if (file)
        fclose(file);
    if (found < 0)
        found = caught >> (SIGRTMIN - 1) ? 64 - __builtin_clzll(caught) : 0;
    return found;
}

/* SIGKILL, SIGSTOP, and what libc keeps for itself. */
static int is_settable(int which)
{
    return which != SIGKILL && which != SIGSTOP && (which < 32 || which >= SIGRTMIN);
}

static void set_all(void (*handler)(int), int by_signal)
{
    struct sigaction action, now;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    for (int i = 1; i <= SIGRTMAX; i++) {
        if (!is_settable(i))
            continue;
        if (by_signal)
            EXPECT(signal(i, handler) != SIG_ERR);
        else
            EXPECT(!sigaction(i, &action, NULL));
        EXPECT(!sigaction(i, NULL, &now) && now.sa_handler == handler);
    }
}

/* Who handles all signals there are, and then none of them: samples are none of these. */
static void handlers(void)
{
    EXPECT(ours() || !getenv("NVTALLY_SAMPLE_SIGNAL"));
    for (int turn = 0; turn < 2; turn++) {
        signals_seen = 0;
        set_all(count_signal, turn);
        work_of_main(200);
        EXPECT(!signals_seen);
        EXPECT(!raise(SIGRTMIN + 2) && signals_seen == 1 && last_signal == SIGRTMIN + 2);
        if (ours()) { /* one that the program sends itself */
            EXPECT(!raise(ours()) && signals_seen == 2 && last_signal == ours());
            EXPECT(signal(ours(), SIG_IGN) == count_signal);
        }
        set_all(SIG_DFL, turn);
        work_of_main(200);
    }
    const struct timespec none = {0, 0};
    sigset_t all;
    sigfillset(&all);
    for (int i = 0; i < 10000; i++)
        EXPECT(sigtimedwait(&all, NULL, &none) == -1 && errno == EAGAIN);
}

/* A child that runs on this memory sets handlers of its own, before it becomes another program. */
static void resets(int status)
{
    for (int which = 1; which < NSIG; which++)
        if (is_settable(which))
            signal(which, SIG_DFL);
    _exit(status);
}

static int resets_in_clone(void *nothing)
{
    (void)nothing;
    resets(3);
    return 0;
}

static void expect_handlers(void)
{
    for (int which = 1; which < NSIG; which++) {
        struct sigaction now;
        if (is_settable(which))
            EXPECT(!sigaction(which, NULL, &now) && now.sa_handler == count_signal);
    }
}

static void shares_memory(void)
{
    static char stack[65536] __attribute__((aligned(64)));
    int status = 0;
    EXPECT(ours() || !getenv("NVTALLY_SAMPLE_SIGNAL"));
    set_all(count_signal, 0);
    signal(SIGCHLD, count_signal);
    pid_t child = vfork();
    if (!child)
        resets(3);
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    expect_handlers();
    child = clone(resets_in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    expect_handlers();
    /* A child that has memory of its own, and is made past libc, has handlers of its own. */
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        set_all(SIG_DFL, 0);
        struct sigaction now;
        _exit(ours() && (sigaction(ours(), NULL, &now) || now.sa_handler != SIG_DFL) ? 4 : 3);
    }
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    expect_handlers();
    work_of_main(200);
}

static sigjmp_buf back;
static volatile sig_atomic_t jumps_left;

static void jump(int which)
{
    (void)which;
    if (jumps_left > 0) {
        jumps_left--;
        siglongjmp(back, 1);
    }
}

/* Handlers that jump out of whatever they have interrupted: events, samples. */
static void jumps(void)
{
    struct sigaction action;
    const struct itimerval each = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    memset(&action, 0, sizeof(action));
    action.sa_handler = jump;
    EXPECT(!sigaction(SIGPROF, &action, NULL));
    jumps_left = 60;
    EXPECT(!setitimer(ITIMER_PROF, &each, NULL));
    sigsetjmp(back, 1);
    while (jumps_left > 0) {
        nvtxRangePushA("jumped out of");
        nvtxRangePop();
    }
    EXPECT(!setitimer(ITIMER_PROF, &none, NULL));
    work_of_main(400);
}

#endif
