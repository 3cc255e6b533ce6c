/*
 * Ways to come to grief, each with a known number of ranges: faults HOW [FILE]. tests/test_faults.c
 * knows what to expect.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/count_of.h"

#define FEW 1000

static const char *program, *file;

static void ranges(const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

static void *one_range(void *name)
{
    ranges(name, 1);
    return NULL;
}

static int one_thread(const char *name)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, one_range, (void *)(uintptr_t)name))
        return 1;
    return pthread_join(thread, NULL);
}

/* Every descriptor, the three standard ones too, before the first event. */
static int close_all(void)
{
    for (int i = 0; i < 1024; i++)
        close(i);
    ranges("without descriptors", FEW);
    return one_thread("in a thread");
}

static int limited(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit limit = {most, most};
    if (setrlimit(what, &limit))
        return 99;
    ranges("limited", FEW);
    return 0;
}

static int no_files(void)
{
    return limited(RLIMIT_NOFILE, 3);
}

/* The limit is for the ranges alone: what comes at the very end may write (a coverage build's
 * counters). */
static int no_file_size(void)
{
    struct rlimit before, limit;
    if (getrlimit(RLIMIT_FSIZE, &before))
        return 99;
    limit = (struct rlimit){0, before.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 99;
    ranges("limited", FEW);
    return setrlimit(RLIMIT_FSIZE, &before) ? 99 : 0;
}

static int no_memory(void)
{
    return limited(RLIMIT_AS, 1);
}

/* The main thread has its ring when the limits come; a thread that follows gets none. */
static int limited_later(void)
{
    ranges("before", FEW);
    int status = no_files();
    return status ? status : one_thread("homeless");
}

static _Atomic int limit_is_set;

static void *waits_for_the_limit(void *name)
{
    while (!atomic_load(&limit_is_set))
        sched_yield();
    return one_range(name);
}

/* The main thread has its ring, another thread is there without one when all memory is used up. */
static int no_memory_later(void)
{
    pthread_t thread;
    ranges("before", FEW);
    if (pthread_create(&thread, NULL, waits_for_the_limit, "homeless"))
        return 99;
    int status = no_memory();
    atomic_store(&limit_is_set, 1);
    return status ? status : pthread_join(thread, NULL);
}

/* --- threads ---------------------------------------------------------------------------------- */

static _Atomic int asked, completed;

static void *with_a_cancellation_pending(void *unused)
{
    while (!atomic_load(&asked))
        sched_yield();
    ranges("pending", 10);
    atomic_fetch_add(&completed, 1);
    pthread_testcancel();
    return unused;
}

/* NVTX is no cancellation point, and neither is the collector: not in the first call of a process,
 * not in the first of a thread. Exit status 1 when a thread ended in one. */
static int cancelled(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *ended;
        atomic_store(&asked, 0);
        if (pthread_create(&thread, NULL, with_a_cancellation_pending, NULL))
            return 99;
        pthread_cancel(thread);
        atomic_store(&asked, 1);
        pthread_join(thread, &ended);
        if (ended != PTHREAD_CANCELED || atomic_load(&completed) != i + 1)
            return 1;
    }
    return 0;
}

static void *without_end(void *count)
{
    /* NOLINTNEXTLINE(cert-pos47-c): the worst that a program can do is what is asked for */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        ranges("cut", 1);
        atomic_fetch_add_explicit((_Atomic uint64_t *)count, 1, memory_order_relaxed);
    }
    return NULL;
}

/* Threads that are cut anywhere, even in the middle of an event. Prints the ranges that returned.
 */
static int cut(void)
{
    _Atomic uint64_t returned = 0;
    ranges("first", 1); /* NVTX itself must be ready: its own start cannot be cut */
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        uint64_t before = atomic_load(&returned);
        if (pthread_create(&thread, NULL, without_end, &returned))
            return 99;
        while (atomic_load(&returned) - before < 10)
            sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    printf("%llu\n", (unsigned long long)atomic_load(&returned));
    return 0;
}

/* 1,000 threads, 50 at a time. */
static int crowd(void)
{
    for (int wave = 0; wave < 20; wave++) {
        pthread_t threads[50];
        for (int i = 0; i < 50; i++)
            if (pthread_create(&threads[i], NULL, one_range, "in a crowd"))
                return 99;
        for (int i = 0; i < 50; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}

/* --- ends ---------------------------------------------------------------------------------------- */

static int killed(void)
{
    ranges("before the end", FEW);
    return raise(SIGKILL);
}

static int crashed(void)
{
    ranges("before the end", FEW);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit instead */
    return raise(SIGSEGV);
}

static int aborted(void)
{
    ranges("before the end", FEW);
    abort();
}

static int exits(void)
{
    ranges("before the end", FEW);
    _exit(7);
}

static int execs(void)
{
    ranges("before the end", FEW);
    execl(program, program, "after_exec", (char *)NULL);
    return 99;
}

static int after_exec(void)
{
    ranges("after exec", FEW);
    return 0;
}

/* A daemon's way: the grandchild outlives its parent. */
static int forks_twice(void)
{
    int status;
    ranges("parent", FEW);
    pid_t child = fork();
    if (!child) {
        if (!fork()) {
            nanosleep(&(struct timespec){0, 100000000}, NULL);
            ranges("grandchild", FEW);
        }
        _exit(0);
    }
    return waitpid(child, &status, 0) == child ? status : 99;
}

/* --- processes -------------------------------------------------------------------------------- */

static int stopped(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        ranges("before the stop", FEW);
        raise(SIGSTOP);
        ranges("after the stop", FEW);
        _exit(0);
    }
    if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
        return 1;
    struct timespec moment = {0, 300000000};
    nanosleep(&moment, NULL);
    kill(child, SIGCONT);
    return waitpid(child, &status, 0) == child ? status : 1;
}

/* A debugger and what it debugs, stopped at every system call; both use NVTX. */
static int traced(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(98);
        raise(SIGSTOP);
        ranges("debugged", FEW);
        _exit(0);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        ranges("debugger", 1);
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL))
            return 1;
    }
    return WEXITSTATUS(status);
}

/* Another library comes in with exec. */
static int preloads(void)
{
    ranges("before exec", FEW);
    setenv("LD_PRELOAD", file, 1);
    execl(program, program, "preloaded", (char *)NULL);
    return 99;
}

static int preloaded(void)
{
    unsetenv("LD_PRELOAD");
    ranges("preloaded", FEW);
    return 0;
}

/* The library of the collector is closed as often as it goes. */
static int unloads(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    ranges("before", FEW);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!library)
        return 99;
    for (int i = 0; i < 8 && !dlclose(library); i++) {
    }
    ranges("after", FEW);
    return one_thread("in a thread");
}

/* 1,000 ranges, then FILE is made; goes on when FILE has gone, for many more ranges than a ring
 * has. */
static int waits(void)
{
    struct timespec moment = {0, 10000000};
    ranges("early", FEW);
    nanosleep(&(struct timespec){1, 0}, NULL);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    while (!access(file, F_OK))
        nanosleep(&moment, NULL);
    ranges("late", 100000);
    return 6;
}

/* Threads that come when the recorder has long been killed: FILE goes when it has been. How many rings
 * they leave. */
static int outlives(void)
{
    struct timespec moment = {0, 10000000};
    char pattern[4096];
    glob_t rings;
    snprintf(pattern, sizeof(pattern), "%s/ring.*", getenv("NVTALLY_SESSION"));
    ranges("early", FEW);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    while (!access(file, F_OK))
        nanosleep(&moment, NULL);
    for (int i = 0; i < 20; i++)
        if (one_thread("late"))
            return 99;
    return glob(pattern, 0, NULL, &rings) ? 98 : (int)rings.gl_pathc;
}

static int once(void)
{
    ranges("once", 1);
    return 0;
}

static int many(void)
{
    ranges("many", 500000);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {{"killed", killed},
                {"crashed", crashed},
                {"aborted", aborted},
                {"exits", exits},
                {"execs", execs},
                {"after_exec", after_exec},
                {"forks_twice", forks_twice},
                {"close_all", close_all},
                {"no_files", no_files},
                {"no_memory", no_memory},
                {"no_file_size", no_file_size},
                {"limited_later", limited_later},
                {"no_memory_later", no_memory_later},
                {"cancelled", cancelled},
                {"cut", cut},
                {"crowd", crowd},
                {"stopped", stopped},
                {"traced", traced},
                {"preloads", preloads},
                {"preloaded", preloaded},
                {"unloads", unloads},
                {"waits", waits},
                {"outlives", outlives},
                {"once", once},
                {"many", many}};
    program = argv[0];
    file = argc > 2 ? argv[2] : "";
    for (size_t i = 0; argc > 1 && i < NVT_COUNT_OF(ways); i++)
        if (!strcmp(argv[1], ways[i].name))
            return ways[i].run();
    return 100;
}
