/*
 * Preloaded: the FAIL_ALLOC-th allocation of the program fails (from 1; 0 or unset: none), in the
 * process that was started with it, and in its children until they become other programs.
 * FAIL_ALLOC_COUNT names a file that gets the number of allocations at the end; FAIL_ALLOC_STACKS one
 * that gets eight bytes for each of them, in their order: a hash of the functions that it was made in, the
 * same for the same place in each run of a program. glibc's own functions do the work.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

void *__libc_malloc(size_t size);                /* NOLINT(bugprone-reserved-identifier): glibc's */
void *__libc_calloc(size_t count, size_t size);  /* NOLINT(bugprone-reserved-identifier): glibc's */
void *__libc_realloc(void *memory, size_t size); /* NOLINT(bugprone-reserved-identifier): glibc's */

static _Atomic unsigned long allocations;
static unsigned long failing;
static int on;
static char counts[512];

/* Hashes of stacks, on their way to a file; of the process that was started, under a lock. */
#define FRAMES 32
static int stacks = -1;
static pid_t stacks_of;
static atomic_flag stacks_lock = ATOMIC_FLAG_INIT;
static uint64_t hashes[1024];
static size_t hashes_used;

struct walk {
    uint64_t hash;
    int frames;
};

/* Files are loaded elsewhere in each run. */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    Dl_info info;
    uint64_t address = _Unwind_GetIP(context);
    if (address && dladdr((void *)address, &info))
        address -= (uint64_t)info.dli_fbase;
    walk->hash = (walk->hash ^ address) * UINT64_C(0x100000001b3);
    return ++walk->frames < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void flush_stacks(void)
{
    if (stacks < 0 || getpid() != stacks_of)
        return;
    if (write(stacks, hashes, hashes_used * sizeof(*hashes)) < 0)
        _exit(1);
    hashes_used = 0;
}

/* Returns the allocation's number. */
static unsigned long note_stack(void)
{
    struct walk walk = {UINT64_C(0xcbf29ce484222325), 0};
    _Unwind_Backtrace(add_frame, &walk);
    while (atomic_flag_test_and_set(&stacks_lock))
        ;
    const unsigned long number = atomic_fetch_add(&allocations, 1) + 1;
    hashes[hashes_used++] = walk.hash;
    if (hashes_used == sizeof(hashes) / sizeof(*hashes))
        flush_stacks();
    atomic_flag_clear(&stacks_lock);
    return number;
}

/* What is behind the program's own end is not its own: gcov's counters are written there. */
static void ended(void)
{
    on = 0;
}

/* Nor what a child of a coverage build does (make coverage names a file for gcov's complaints): before
 * it becomes another program, gcov writes there too. */
static void forked(void)
{
    if (getenv("GCOV_ERROR_FILE"))
        on = 0;
}

static int (*program)(int, char **, char **);

static int with_an_end(int argc, char **argv, char **environment)
{
    if (on && (atexit(ended) || pthread_atfork(NULL, NULL, forked)))
        on = 0;
    return program(argc, argv, environment);
}

typedef int start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                       void (*)(void), void *);
start_main __libc_start_main; /* NOLINT(bugprone-reserved-identifier): glibc's */

/* atexit() from within main(): what our constructor registers comes behind the program's destructors,
 * in one of which gcov writes. */
int __libc_start_main(int (*its_main)(int, char **, char **), int argc, char **argv,
                      void (*its_start)(void), void (*its_end)(void), void (*loader_end)(void),
                      void *stack_end)
{
    start_main *real;
    int was_on = on;
    on = 0; /* dlsym() may allocate */
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    on = was_on;
    program = its_main;
    return real(with_an_end, argc, argv, its_start, its_end, loader_end, stack_end);
}

__attribute__((constructor)) static void start(void)
{
    const char *number = getenv("FAIL_ALLOC"), *path = getenv("FAIL_ALLOC_COUNT");
    const char *where = getenv("FAIL_ALLOC_STACKS");
    failing = number ? strtoul(number, NULL, 10) : 0;
    if (path)
        snprintf(counts, sizeof(counts), "%s", path);
    unsetenv("FAIL_ALLOC");
    if (where) {
        stacks = open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        stacks_of = getpid();
    }
    unsetenv("FAIL_ALLOC_COUNT");
    unsetenv("FAIL_ALLOC_STACKS");
    unsetenv("LD_PRELOAD");
    on = number || path;
}

__attribute__((destructor)) static void end(void)
{
    char text[32];
    flush_stacks();
    int descriptor = *counts ? open(counts, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (descriptor < 0)
        return;
    int length = snprintf(text, sizeof(text), "%lu", atomic_load(&allocations));
    if (write(descriptor, text, (size_t)length) < 0)
        _exit(1);
    close(descriptor);
}

static int fails(void)
{
    if (!on)
        return 0;
    const unsigned long number = stacks < 0 ? atomic_fetch_add(&allocations, 1) + 1 : note_stack();
    if (number != failing)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}
