/*
 * A program that "uses CUDA" without any: it loads the library that CUDA_INJECTION64_PATH names and
 * calls InitializeInjection, as the CUDA driver does when it comes up, and then works on the
 * made-up device of tests/cupti/stand_in.h. device HOW [COUNTERS]; tests/test_cupti.c and
 * tests/test_faults_device.c know what to expect.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cupti/stand_in.h"

#define KERNEL "_ZN3lib6kernelIfEEvPT_i" /* void lib::kernel<float>(float*, int) */

static stand_in_launch_function launch;
static stand_in_everything_function everything;
static stand_in_profiler_function profiler;
static stand_in_reset_function reset;
static stand_in_drop_function drop;
static stand_in_come_up_function come_up;
static stand_in_take_over_function take_over;
static stand_in_warn_function warn;

static void *find(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (!function) {
        fprintf(stderr, "device: no %s\n", name);
        exit(3);
    }
    return function;
}

/* What cuInit does. */
static void initialize(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*injection)(void) = NULL;
    if (library)
        *(void **)&injection = find(library, "InitializeInjection");
    if (injection)
        injection();
}

static void load_device(void)
{
    const char *path = getenv("NVTALLY_CUPTI");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "device: NVTALLY_CUPTI names no library\n");
        exit(3);
    }
    *(void **)&launch = find(library, "stand_in_launch");
    *(void **)&everything = find(library, "stand_in_everything");
    *(void **)&profiler = find(library, "stand_in_profiler");
    *(void **)&reset = find(library, "stand_in_reset");
    *(void **)&drop = find(library, "stand_in_drop");
    *(void **)&come_up = find(library, "stand_in_come_up");
    *(void **)&take_over = find(library, "stand_in_take_over");
    *(void **)&warn = find(library, "stand_in_warn");
}

static void step(const char *name, int launches)
{
    nvtxRangePushA(name);
    for (int i = 0; i < launches; i++)
        launch(KERNEL, 1000, 1);
    nvtxRangePop();
}

static void *in_thread(void *unused)
{
    step("in a thread", 3);
    return unused;
}

static void plain(void)
{
    pthread_t thread;
    nvtxNameCudaStreamA((cudaStream_t)(uintptr_t)4007, "compute");
    step("forward", 2);
    step("backward", 1);
    if (pthread_create(&thread, NULL, in_thread, NULL))
        exit(3);
    pthread_join(thread, NULL);
    everything();
}

/* Another tool subscribes to the same CUPTI, by the second interface, and gets the kernels as well. */
static void beside(void)
{
    void *library = dlopen(getenv("NVTALLY_CUPTI"), RTLD_NOW);
    int (*tool)(void);
    uint64_t (*records)(void);
    *(void **)&tool = find(library, "stand_in_second_tool");
    *(void **)&records = find(library, "stand_in_second_records");
    step("before", 2);
    if (tool())
        exit(6);
    step("beside", 5);
    if (records() != 5)
        exit(7);
}

static void many(void)
{
    for (int i = 0; i < 20000; i++)
        step("many", 1);
}

static void steady(int count)
{
    for (int i = 0; i < count; i++) {
        step("tick", 1);
        usleep(1000);
    }
}

static void captured(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("work");
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    step("before", 1);
    for (int i = 0; i < 2; i++) {
        nvtxRangePushA("measure");
        step("inside", 2);
        step("measure", 1); /* within itself: no new capture, no end */
        nvtxRangePop();
        step("between", 1);
    }
    attributes.message.ascii = "measure";
    nvtxDomainRangePushEx(domain, &attributes);
    step("in the domain", 1);
    nvtxDomainRangePop(domain);
    nvtxRangeId_t id = nvtxRangeStartA("started");
    step("in started", 1);
    nvtxRangeEnd(id);
    profiler(1);
    step("profiled", 1);
    profiler(0);
    profiler(0); /* once too often */
    step("after", 1);
}

/* Until the counters of the device were read a hundred times, or it was said that they cannot be. */
static void sampled(int number)
{
    void *library = dlopen(getenv("NVTALLY_CUPTI"), RTLD_NOW);
    stand_in_wait_for_samples_function wait;
    *(void **)&wait = find(library, "stand_in_wait_for_samples");
    step("sampled", 2);
    if (!wait(100))
        exit(8);
    if (number)
        raise(number);
}

/* Ranges whose launches are counted, when there is a context: the first makes it. */
static void counted(void)
{
    step("measure", 1);
    for (int i = 2; i < 5; i++) {
        step("measure", i);
        step("between", 1);
    }
}

/* Captures end while what they launched is still running. */
static void captured_running(void)
{
    step("before", 1);
    for (int i = 0; i < 15; i++) {
        if (i % 3 == 0)
            nvtxRangePushA("measure");
        launch(KERNEL, 1000, 0);
        if (i % 3 == 2)
            nvtxRangePop();
    }
    step("after", 1);
}

/* Five records that the recorder has, and CUPTI was flushed so many times since. */
static void deliver(unsigned flushes)
{
    void *library = dlopen(getenv("NVTALLY_CUPTI"), RTLD_NOW);
    stand_in_wait_for_flushes_function wait;
    *(void **)&wait = find(library, "stand_in_wait_for_flushes");
    step("delivered", 5);
    if (!wait(flushes))
        exit(8);
}

/* A buffer is with CUPTI when another tool comes, which takes it and what follows. */
static void taken_over(void)
{
    deliver(3);
    launch(KERNEL, 1000, 0);
    take_over();
    step("taken", 5);
    usleep(300000);
}

/* Often enough that each is recorded, which takes a while between two captures. */
static void rests_between(void)
{
    for (int i = 0; i < 5; i++) {
        step("measure", 2);
        usleep(150000);
    }
}

/* For longer than it may take until CUPTI has told of calls. */
static void for_long(void)
{
    for (int i = 0; i < 16; i++) {
        step("step", 200);
        usleep(100000);
    }
}

/* A device is reset while it still runs something, and once when it does not. */
static void reset_running(void)
{
    for (int i = 0; i < 15; i++) {
        launch(KERNEL, 1000, 0);
        if (i % 3 == 2)
            reset();
    }
    step("behind", 2);
    reset();
}

/* Records are delivered, then some more that are not, as one of them never ends; then, so much later, the end. */
static void killed(int number, useconds_t later)
{
    deliver(3);
    launch(KERNEL, 1000, 0);
    step("not delivered", 5);
    usleep(later);
    if (number == SIGSEGV)
        signal(number, SIG_DFL); /* a sanitizer's handler would exit instead */
    if (number)
        raise(number);
}

static void forks(void)
{
    step("parent", 1);
    pid_t child = fork();
    if (!child) {
        step("child", 0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    child = fork();
    if (!child)
        exit(0);
    waitpid(child, NULL, 0);
    step("parent", 1);
}

/* --- a stream of launches, in which something happens ----------------------------------------------- */

#define STREAMS 2

/* In a file mapped shared: what has returned, a 64-byte line a thread. */
struct line {
    _Alignas(64) _Atomic uint64_t launches;
};

static atomic_int streams_end;

static void *stream(void *argument)
{
    struct line *line = argument;
    for (uint64_t i = 0; !atomic_load(&streams_end); i++) {
        step("stream", 1);
        atomic_store_explicit(&line->launches, i + 1, memory_order_relaxed);
        if (i % 20 == 0)
            usleep(100);
    }
    return NULL;
}

/* AddressSanitizer looks for leaks at exit with its allocator locked, which a child may have got locked from another
 * thread of its parent: it would hang there. */
int __lsan_is_turned_off(void); /* NOLINT(bugprone-reserved-identifier): the sanitizer's */
int __lsan_is_turned_off(void)  /* NOLINT(bugprone-reserved-identifier): the sanitizer's */
{
    return 1;
}

/* Children that have no CUDA, made while records come: none of them may hang or send anything. */
static int children(void)
{
    int worst = 0;
    for (int i = 0; i < 50; i++) {
        int status = 1;
        pid_t child = fork();
        if (!child) {
            nvtxRangePushA("child");
            nvtxRangePop();
            if (i % 2)
                _exit(0);
            exit(0);
        }
        if (waitpid(child, &status, 0) != child || status)
            worst = 1;
        usleep(10000);
    }
    return worst;
}

/* Two threads launch; after most of a second `how` happens: stream_kill waits for one from outside. */
static int streams(const char *how, const char *program, const char *counters)
{
    pthread_t threads[STREAMS];
    size_t size = STREAMS * sizeof(struct line);
    int status = 0, file = counters ? open(counters, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0 || ftruncate(file, (off_t)size))
        return 3;
    struct line *lines = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (lines == MAP_FAILED)
        return 3;
    for (int i = 0; i < STREAMS; i++)
        if (pthread_create(&threads[i], NULL, stream, &lines[i]))
            exit(3);
    /* NVTX's own start must be over: a child of a fork within it waits for a thread that it does not have. */
    for (int i = 0; i < STREAMS; i++)
        while (!atomic_load_explicit(&lines[i].launches, memory_order_relaxed))
            usleep(100);
    if (!strcmp(how, "stream_fork"))
        status = children();
    else
        usleep(800000);
    while (!strcmp(how, "stream_kill"))
        pause();
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit instead */
    if (!strcmp(how, "stream_segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "stream_exec"))
        execl(program, program, "nothing", (char *)NULL);
    atomic_store(&streams_end, 1);
    for (int i = 0; i < STREAMS; i++)
        pthread_join(threads[i], NULL);
    return status;
}

static void on_alarm(int number)
{
    (void)number;
    _exit(5);
}

static int in_other_ways(const char *how)
{
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "_Exit"))
        _Exit(4);
    if (!strcmp(how, "quick_exit"))
        quick_exit(4);
    if (!strcmp(how, "handler")) {
        signal(SIGALRM, on_alarm);
        alarm(1);
        for (;;)
            launch(KERNEL, 1000, 1);
    }
    return 0;
}

/* As a destructor does: behind the handlers of whatever came up later. */
static void reset_late(void)
{
    launch(KERNEL, 1000, 1);
    nvtxRangePop(); /* of a capture, if there is one */
    reset();
}

/* Contexts that end, records with something wrong, or a plain end. */
static void contexts(const char *how)
{
    if (!strcmp(how, "reset")) {
        step("before the reset", 2);
        reset();
    } else if (!strcmp(how, "destructor")) {
        nvtxRangePushA("measure");
        step("kernels", 2);
    } else if (!strcmp(how, "resets")) {
        reset_running();
    } else if (!strcmp(how, "down")) {
        come_up(0);
        step("kernels", 2);
    } else if (!strcmp(how, "untimed")) {
        step("kernels", 2);
        launch(KERNEL, (uint64_t)-500, 1); /* ends before it begins */
    } else if (!strcmp(how, "elsewhen")) {
        step("kernels", 2);
        launch(KERNEL, UINT64_C(1) << 60, 1); /* by no clock */
        setenv("STAND_IN_CLOCK", "real", 1);
        launch(KERNEL, 1000, 1);
    } else if (!strcmp(how, "warned")) {
        step("kernels", 2);
        warn();
    } else if (!strcmp(how, "drop")) {
        drop(3);
        step("dropped", 4);
    } else {
        killed(0, 0);
    }
}

static void killed_slow(void)
{
    come_up(500000);
    killed(SIGKILL, 0);
}

static void killed_late(void)
{
    deliver(15); /* ten rounds after the first records devices are asked for */
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    if (!strcmp(how, "nothing")) { /* NVTALLY_CUPTI may be any library */
        initialize();
        step(how, 0);
        return 0;
    }
    load_device();
    if (!strcmp(how, "second")) {
        take_over();
        launch(KERNEL, 1000, 1);
    }
    if (!strcmp(how, "destructor"))
        atexit(reset_late);
    initialize();
    if (!strncmp(how, "stream_", 7))
        return streams(how, argv[0], argc > 2 ? argv[2] : NULL);
    if (!strcmp(how, "plain"))
        plain();
    else if (!strcmp(how, "slow"))
        killed_slow();
    else if (!strcmp(how, "many"))
        many();
    else if (!strcmp(how, "steady"))
        steady(1200);
    else if (!strcmp(how, "endless"))
        steady(INT_MAX);
    else if (!strcmp(how, "capture"))
        captured();
    else if (!strcmp(how, "taken"))
        taken_over();
    else if (!strcmp(how, "second"))
        step("kernels", 200);
    else if (!strcmp(how, "long"))
        for_long();
    else if (!strcmp(how, "rests"))
        rests_between();
    else if (!strcmp(how, "running"))
        captured_running();
    else if (!strcmp(how, "kill"))
        killed(SIGKILL, 0);
    else if (!strcmp(how, "held"))
        killed(SIGKILL, 500000);
    else if (!strcmp(how, "killed late"))
        killed_late();
    else if (!strcmp(how, "segv"))
        killed(SIGSEGV, 0);
    else if (!strcmp(how, "fork"))
        forks();
    else if (!strcmp(how, "beside"))
        beside();
    else if (!strcmp(how, "counted"))
        counted();
    else if (!strncmp(how, "sampled", 7))
        sampled(strcmp(how, "sampled") ? SIGKILL : 0);
    else
        contexts(how);
    return in_other_ways(how);
}
