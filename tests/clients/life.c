/*
 * Ways to live and to end, each with a few ranges: life HOW. tests/test_record*.c know what to expect.
 */
#include "../../collectors/ring.h"
#include <fcntl.h>
#include <glob.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/count_of.h"

static void range(const char *name)
{
    nvtxRangePushA(name);
    nvtxRangePop();
}

static void *in_thread(void *name)
{
    range(name);
    return NULL;
}

/* A child that begins in the middle of a range, with much of its own. */
static void forks_within(void)
{
    nvtxRangePushA("X");
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 5000; i++)
            range("child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    range("parent");
    nvtxRangePop();
}

/* The status is 3 as of `plain`, and 4 where it may not. */
static void changes_user(void)
{
    pthread_t thread;
    range("before");
    if (setuid(65534))
        exit(4);
    pthread_create(&thread, NULL, in_thread, (void *)"after");
    pthread_join(thread, NULL);
    exit(3);
}

static void raw_fork(void)
{
    range("parent");
    /* No pthread_atfork handlers run; Arm has no SYS_fork. */
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        range("child");
        _exit(0);
    }
    waitpid((pid_t)child, NULL, 0);
    range("parent");
}

static void forks(void)
{
    range("parent");
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (!child) {
            range("child");
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    range("parent");
}

static void orphan(void)
{
    if (!fork()) {
        if (!fork()) {
            usleep(200000);
            range("grandchild");
            _exit(0);
        }
        _exit(0);
    }
    wait(NULL);
    range("parent");
}

/* How many rings the session has, when the recorder has had time for what has ended. */
static void print_rings(void)
{
    char pattern[4096];
    glob_t rings;
    snprintf(pattern, sizeof(pattern), "%s/ring.*", getenv("NVTALLY_SESSION"));
    usleep(400000);
    if (!glob(pattern, 0, NULL, &rings))
        printf("%zu rings\n", rings.gl_pathc);
    globfree(&rings);
}

/* Children that nobody waits for. */
static void zombies(void)
{
    range("parent");
    for (int i = 0; i < 20; i++)
        if (!fork()) {
            range("child");
            _exit(0);
        }
    print_rings();
}

/* Twenty images of one process, one after the other: the first has no number. */
static void images(const char *program, const char *number)
{
    char next[32];
    long left = number ? strtol(number, NULL, 10) : 20;
    range("image");
    snprintf(next, sizeof(next), "%ld", left - 1);
    if (left > 1)
        execl(program, program, "images", next, (char *)NULL);
    print_rings();
}

static void threads(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, "in a thread");
        pthread_join(thread, NULL);
    }
}

static void *a_thousand(void *barrier)
{
    range("together"); /* every thread has its buffer before one ends */
    pthread_barrier_wait(barrier);
    for (int i = 1; i < 1000; i++)
        range("together");
    return NULL;
}

/* Threads at the same time. */
static void together(void)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, a_thousand, &barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* The same where somebody was killed in its turn at making a buffer. */
static void turn(void)
{
    char path[600];
    const char *folder = getenv(NVT_SESSION_ENV);
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", NVT_CONTROL_NAME);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    struct nvt_control *control =
        mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (control == MAP_FAILED)
        abort();
    atomic_store(&control->turn, 2); /* a number that nobody has */
    together();
}

static void in_handler(int number)
{
    (void)number;
    range("handler");
}

/* A timer that fires in the middle of events. */
static void signals(void)
{
    struct sigaction action = {.sa_handler = in_handler};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    range("first"); /* NVTX itself must be ready: its own start cannot be interrupted by a use */
    sigaction(SIGUSR1, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    for (int i = 0; i < 2000000; i++)
        range("main");
    timer_delete(timer);
}

static void deep(void)
{
    for (int i = 0; i < 2000; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < 2000; i++)
        nvtxRangePop();
    nvtxRangePop(); /* one too many */
}

static void closed(void)
{
    for (int i = 3; i < 256; i++)
        close(i);
    range("after closing");
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, "in a thread");
    pthread_join(thread, NULL);
}

static void many(void)
{
    for (int i = 0; i < 300000; i++)
        range("many");
}

/* More names than a chunk of the file holds, before the first event. */
static void definitions(void)
{
    enum { LENGTH = 60000 };
    static char name[LENGTH + 1];
    nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
    memset(name, 'x', LENGTH);
    for (uint32_t i = 1; i <= 400; i++)
        nvtxDomainNameCategoryA(domain, i, name);
    nvtxEventAttributes_t last = {.version = NVTX_VERSION,
                                  .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                  .category = 400,
                                  .messageType = NVTX_MESSAGE_TYPE_ASCII};
    last.message.ascii = "defined";
    nvtxDomainRangePushEx(domain, &last);
    nvtxDomainRangePop(domain);
}

#define HANDED 200

static int handed[2];

static void *starts_ranges(void *unused)
{
    for (int i = 0; i < HANDED; i++) {
        nvtxRangeId_t started = nvtxRangeStartA("handed over");
        if (write(handed[1], &started, sizeof(started)) != sizeof(started))
            return handed;
    }
    return unused;
}

/* Ranges that another thread ends; that thread's events come first in the file, as it has been there
 * for longer. Half of them are ended once more, much later. */
static void hands_over(void)
{
    pthread_t thread;
    nvtxRangeId_t started[HANDED];
    nvtxMarkA("first");
    if (pipe(handed) || pthread_create(&thread, NULL, starts_ranges, NULL))
        exit(99);
    for (int i = 0; i < HANDED; i++) {
        if (read(handed[0], &started[i], sizeof(started[i])) != sizeof(started[i]))
            exit(99);
        nvtxRangeEnd(started[i]);
    }
    pthread_join(thread, NULL);
    nvtxMarkA("all ended");
    for (int i = 0; i < HANDED; i += 2)
        nvtxRangeEnd(started[i]);
}

/* Names of every length around the short way's, next to the end of a page. */
static void lengths(void)
{
    char name[80];
    for (int length = 0; length < 70; length++) {
        memset(name, 'a' + length % 26, sizeof(name));
        name[length] = 0;
        for (int i = 0; i < 3; i++)
            range(name);
    }
    long page = sysconf(_SC_PAGESIZE);
    char *memory = aligned_alloc((size_t)page, (size_t)page * 2);
    for (long back = 1; back < 40; back++) {
        char *at = memory + page - back;
        memset(at, 'z', (size_t)back - 1);
        at[back - 1] = 0;
        range(at);
    }
    free(memory);
}

/* More different names than a thread keeps. */
static void names(void)
{
    char name[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20000; i++) {
            snprintf(name, sizeof(name), "name %d", i);
            range(name);
        }
    }
}

/* With attributes in, and without any out. */
static void attributes(void)
{
    nvtxEventAttributes_t colored = {.version = NVTX_VERSION,
                                     .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                     .colorType = NVTX_COLOR_ARGB,
                                     .color = 0xff00ff00};
    colored.messageType = NVTX_MESSAGE_TYPE_ASCII;
    colored.message.ascii = "colored";
    for (int i = 0; i < 3; i++) {
        nvtxRangePushEx(&colored);
        range("plain");
        nvtxRangePop();
    }
}

/* Killed within ranges, of which one had another in it before. */
static void inside(void)
{
    nvtxRangePushA("step");
    range("forward");
    nvtxRangePushA("backward");
    raise(SIGKILL);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {{"forks", forks},
            {"raw_fork", raw_fork},
            {"changes_user", changes_user},
            {"orphan", orphan},
            {"threads", threads},
            {"together", together},
            {"signals", signals},
            {"deep", deep},
            {"closed", closed},
            {"many", many},
            {"lengths", lengths},
            {"names", names},
            {"attributes", attributes},
            {"inside", inside},
            {"hands_over", hands_over},
            {"zombies", zombies},
            {"definitions", definitions},
            {"turn", turn},
            {"forks_within", forks_within}};

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++)
        if (!strcmp(how, ways[i].name)) {
            ways[i].run();
            return 0;
        }
    if (!strcmp(how, "images")) {
        images(argv[0], argc > 2 ? argv[2] : NULL);
        return 0;
    }
    range(how);
    if (!strcmp(how, "exec"))
        execl(argv[0], argv[0], "after exec", (char *)NULL);
    if (!strcmp(how, "_exit"))
        _exit(7);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv")) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit instead */
        raise(SIGSEGV);
    }
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "wait")) {
        /* Until somebody sends SIGUSR1, then exit 5. */
        sigset_t set;
        int number;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        puts("ready");
        fflush(stdout);
        sigwait(&set, &number);
        return 5;
    }
    return 3;
}
