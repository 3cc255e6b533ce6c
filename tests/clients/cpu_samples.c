/*
 * Programs to be sampled, for `record --trace cpu`: cpu_samples WHAT, where WHAT is one of the names at the end. Each burns
 * processor time in functions of known names. What is wrong about the calls themselves is told, and the exit status is 1.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "../../lib/count_of.h"
#include "burn.h"
#include "cpu_signals.h"
#include "expect.h"

/* NOLINTNEXTLINE(readability-redundant-declaration): some headers have it */
extern char **environ;

static const char *program;

static void ranges(void)
{
    nvtxRangePushA("heavy");
    heavy_work(600);
    nvtxRangePop();
    nvtxRangePushA("light");
    light_work(200);
    nvtxRangePop();
}

/* --- threads --------------------------------------------------------------------------------------- */

static void *thread_a(void *none)
{
    pthread_setname_np(pthread_self(), "worker a");
    work_of_a(300);
    return none;
}

static void *thread_b(void *none)
{
    pthread_setname_np(pthread_self(), "worker b");
    work_of_b(600);
    return none;
}

static int thread_c11(void *number)
{
    small_work(300);
    return *(int *)number;
}

static void threads(void)
{
    pthread_t a = 0, b = 0;
    thrd_t c = 0;
    int number = 7, result = 0;
    EXPECT(!pthread_create(&a, NULL, thread_a, &number) &&
           !pthread_create(&b, NULL, thread_b, NULL));
    EXPECT(thrd_create(&c, thread_c11, &number) == thrd_success);
    void *returned = NULL;
    EXPECT(!pthread_join(a, &returned) && returned == &number);
    EXPECT(!pthread_join(b, NULL) && thrd_join(c, &result) == thrd_success && result == 7);
}

static void *thread_short(void *none)
{
    short_work(1);
    return none;
}

/* Timers of this process, -1: nobody knows. */
static int count_timers(void)
{
    char line[256];
    int count = 0;
    FILE *file = fopen("/proc/self/timers", "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file))
        count += !strncmp(line, "ID:", 3);
    fclose(file);
    return count;
}

static void short_threads(void)
{
    pthread_t thread;
    int at_first = count_timers();
    for (int i = 0; i < 500; i++)
        EXPECT(!pthread_create(&thread, NULL, thread_short, NULL) && !pthread_join(thread, NULL));
    EXPECT(count_timers() == at_first && at_first <= 1);
}

/* There may be no further timers, nor more memory for anything. */
static void no_timers(void)
{
    struct rlimit none = {0, 0};
    EXPECT(!setrlimit(RLIMIT_SIGPENDING, &none));
    threads();
    if (!fork())
        _exit((child_work(100), 0));
    int status = 1;
    EXPECT(wait(&status) > 0 && !status);
}

/* A filter of system calls forbids them. */
static void seccomp_forbids(void)
{
#if defined(__x86_64__)
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {NVT_COUNT_OF(rules), rules};
    EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0));
#endif
    threads();
    work_of_main(300);
}

static void *thread_small(void *none)
{
    small_work(300);
    return none;
}

static void *thread_least(void *none)
{
    burn(200);
    return none;
}

static void small_stacks(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT(!pthread_attr_setstacksize(&attributes, 32768));
    EXPECT(!pthread_create(&thread, &attributes, thread_small, NULL));
    EXPECT(!pthread_join(thread, NULL));
    EXPECT(!pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN));
    EXPECT(!pthread_create(&thread, &attributes, thread_least, NULL));
    EXPECT(!pthread_join(thread, NULL));
    pthread_attr_destroy(&attributes);
}

static ucontext_t outside, inside;

static void on_its_own_stack(void)
{
    small_work(300);
}

/* Bytes of a stack that were never touched, from its end on. */
static size_t untouched(const unsigned char *stack, size_t size)
{
    size_t count = 0;
    while (count < size && stack[count] == 0x5a)
        count++;
    return count;
}

/* Programs that switch stacks have small ones: what a sample takes of one is told. With an alternate stack it is nothing. */
static void own_stacks(void)
{
    enum { SIZE = 32768, OTHER = 65536 };
    static unsigned char stack[SIZE] __attribute__((aligned(64)));
    static unsigned char other[OTHER];
    const stack_t alternate = {.ss_sp = other, .ss_size = sizeof(other)};
    for (int turn = 0; turn < 2; turn++) {
        memset(stack, 0x5a, sizeof(stack));
        memset(other, 0x5a, sizeof(other));
        EXPECT(!turn || !sigaltstack(&alternate, NULL));
        /* cppcheck-suppress getcontextCalled ; it is what is tested */
        EXPECT(!getcontext(&inside));
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = sizeof(stack);
        inside.uc_link = &outside;
        /* cppcheck-suppress makecontextCalled ; it is what is tested */
        makecontext(&inside, on_its_own_stack, 0);
        /* cppcheck-suppress swapcontextCalled ; it is what is tested */
        EXPECT(!swapcontext(&outside, &inside));
        printf("%zu %zu\n", sizeof(stack) - untouched(stack, sizeof(stack)),
               sizeof(other) - untouched(other, sizeof(other)));
    }
}

static void *thread_to_cancel(void *asynchronously)
{
    if (asynchronously)
        /* NOLINTNEXTLINE(cert-pos47-c): it is what is tested */
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        for (int i = 0; i < 1000; i++)
            sink += (uint64_t)i;
        if (!asynchronously)
            pthread_testcancel();
    }
    return NULL;
}

static void *thread_of_nobody(void *none)
{
    pthread_testcancel();
    return none;
}

static void cancelled(void)
{
    pthread_t thread;
    void *result = NULL;
    int turns = 60;
    for (int i = 0; i < turns; i++) {
        struct timespec moment = {0, i % 20 * 700000L};
        EXPECT(!pthread_create(&thread, NULL, thread_to_cancel, i % 2 ? &turns : NULL));
        nanosleep(&moment, NULL);
        EXPECT(!pthread_cancel(thread) && !pthread_join(thread, &result));
        EXPECT(result ==
               PTHREAD_CANCELED); // NOLINT(performance-no-int-to-ptr): as the standard has it
        EXPECT(!pthread_create(&thread, NULL, thread_of_nobody, NULL));
        EXPECT(!pthread_cancel(thread) && !pthread_join(thread, &result));
    }
    EXPECT(count_timers() <= 1);
    work_of_main(300);
}

/* --- processes ------------------------------------------------------------------------------------- */

static void forks(void)
{
    int status = 1;
    fflush(NULL);
    work_before(100);
    pid_t child = fork();
    if (!child) {
        child_work(300);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && !status);
}

static void after(void)
{
    work_after(300);
}

static void executes(void)
{
    char *const argv[] = {(char *)(uintptr_t)program, "after", NULL};
    work_before(300);
    execv(program, argv);
    EXPECT(!"it came back");
}

static void spawns(void)
{
    char *const argv[] = {(char *)(uintptr_t)program, "after", NULL};
    int status = 1;
    pid_t child;
    work_before(50);
    EXPECT(!posix_spawn(&child, program, NULL, NULL, argv, environ));
    EXPECT(waitpid(child, &status, 0) == child && !status);
    child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): it is what is tested
    if (!child) {
        execv(program, argv);
        _exit(1);
    }
    EXPECT(waitpid(child, &status, 0) == child && !status);
}

/* A signal that is on its way when a program becomes another one does not end that. */
static void many_executes(void)
{
    const char *text = getenv("CPU_SAMPLES_TURNS");
    int turns = text ? atoi(text) : 300, ended = 0;
    char *const argv[] = {"true", NULL};
    for (int i = 0; i < turns; i++) {
        int status = 1;
        pid_t child = fork();
        if (!child) {
            for (int k = 0; k < i % 37 * 40; k++)
                for (int n = 0; n < 1000; n++)
                    sink += (uint64_t)n;
            execv("/bin/true", argv);
            _exit(1);
        }
        EXPECT(waitpid(child, &status, 0) == child);
        ended += !status;
    }
    EXPECT(ended == turns);
}

static void killed(void)
{
    work_before(400);
    kill(getpid(), SIGKILL);
}

static void closes(void)
{
    for (int i = 0; i < 1024; i++)
        close(i);
    work_of_main(300);
}

/* --- the rest -------------------------------------------------------------------------------------- */

/* NOLINTNEXTLINE(misc-no-recursion) */
__attribute__((noinline)) static int descend(int levels)
{
    if (!levels) {
        deepest_work(300);
        return 0;
    }
    int result = descend(levels - 1) + 1;
    __asm__ volatile("" : "+r"(result));
    return result;
}

static void deep(void)
{
    EXPECT(descend(5000) == 5000);
}

#define PAIRS 1000000

static void pairs(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxRangePushA("pair");
        nvtxRangePop();
    }
}

static void *thread_that_loads(void *none)
{
    int64_t end = processor_ms() + 400;
    for (int i = 0; processor_ms() < end; i++) {
        void *library = dlopen(i % 2 ? "libresolv.so.2" : "libanl.so.1", RTLD_NOW);
        if (library)
            dlclose(library);
    }
    return none;
}

static void libraries(void)
{
    pthread_t thread;
    EXPECT(!pthread_create(&thread, NULL, thread_that_loads, NULL));
    thread_that_loads(NULL);
    EXPECT(!pthread_join(thread, NULL));
    work_of_main(200);
}

/* For --capture. */
static void captured(void)
{
    work_before(200);
    nvtxRangePushA("wanted");
    work_of_main(300);
    nvtxRangePop();
    work_after(200);
}

static void idle(void)
{
    const struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
}

/* How often calls that wait are interrupted, in a second of processor time; told. */
static void interruptions(void)
{
    int64_t end = processor_ms() + 1000;
    uint64_t calls = 0, interrupted = 0;
    const struct timespec moment = {0, 1000};
    int ends[2];
    char byte = 0;
    EXPECT(!pipe(ends));
    while (processor_ms() < end) {
        for (int i = 0; i < 100; i++) {
            int status = i % 3 == 0   ? nanosleep(&moment, NULL)
                         : i % 3 == 1 ? poll(NULL, 0, 0)
                                      : (int)write(ends[1], &byte, 1) - 1;
            if (i % 3 == 2)
                status |= (int)read(ends[0], &byte, 1) - 1;
            calls++;
            interrupted += status < 0 && errno == EINTR;
        }
        burn(1);
    }
    printf("%llu of %llu\n", (unsigned long long)interrupted, (unsigned long long)calls);
}

/* A handler that writes the stack, as Python's, and takes long. */
static void writes_long(int number)
{
    struct timespec begin, now;
    (void)number;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 300000);
}

static void first_handler(int number)
{
    (void)number;
}

static void second_handler(int number)
{
    (void)number;
}

static _Atomic int is_over;

static void *sets_handlers(void *nothing)
{
    for (int i = 0; !is_over; i++) {
        struct sigaction action = {.sa_handler = i & 1 ? first_handler : second_handler}, now;
        EXPECT(!sigaction(SIGSEGV, &action, NULL) && !sigaction(SIGSEGV, NULL, &now));
        EXPECT(now.sa_handler == action.sa_handler);
        EXPECT(signal(SIGBUS, SIG_IGN) != SIG_ERR && signal(SIGBUS, SIG_DFL) == SIG_IGN);
        if (failures)
            break;
    }
    return nothing;
}

/* Handlers of faults that are set while a stack is written stay set. */
static void faults(void)
{
    static const char wish[] = "nvtally: a handler that writes the stack";
    const struct sigaction action = {.sa_handler = writes_long};
    const char *number = getenv("NVTALLY_SAMPLE_SIGNAL");
    pthread_t thread;
    EXPECT(number && write(0x7ffffff0, wish, sizeof(wish) - 1) == (ssize_t)sizeof(wish) - 1);
    if (failures)
        return;
    EXPECT(!sigaction(atoi(number), &action, NULL));
    EXPECT(!pthread_create(&thread, NULL, sets_handlers, NULL));
    work_of_main(600);
    is_over = 1;
    EXPECT(!pthread_join(thread, NULL));
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {{"ranges", ranges},
           {"threads", threads},
           {"short-threads", short_threads},
           {"no-timers", no_timers},
           {"seccomp", seccomp_forbids},
           {"small-stacks", small_stacks},
           {"own-stacks", own_stacks},
           {"cancelled", cancelled},
           {"forks", forks},
           {"after", after},
           {"executes", executes},
           {"spawns", spawns},
           {"many-executes", many_executes},
           {"killed", killed},
           {"closes", closes},
           {"blocked", blocked},
           {"handlers", handlers},
           {"shares-memory", shares_memory},
           {"faults", faults},
           {"jumps", jumps},
           {"deep", deep},
           {"pairs", pairs},
           {"libraries", libraries},
           {"captured", captured},
           {"idle", idle},
           {"interruptions", interruptions}};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    program = argv[0];
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++)
        if (!strcmp(all[i].name, what)) {
            all[i].run();
            return failures ? 1 : 0;
        }
    fprintf(stderr, "cpu_samples: there is no '%s'\n", what);
    return 1;
}
