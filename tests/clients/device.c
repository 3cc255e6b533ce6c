/*
 * A program that "uses CUDA" without any: it loads the library that CUDA_INJECTION64_PATH names and
 * calls InitializeInjection, as the CUDA driver does when it comes up, and then works on the
 * made-up device of tests/cupti/stand_in.h. device HOW; tests/test_cupti.c knows what to expect.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cupti/stand_in.h"

#define KERNEL "_ZN3lib6kernelIfEEvPT_i" /* void lib::kernel<float>(float*, int) */

static stand_in_launch_function launch;
static stand_in_everything_function everything;
static stand_in_profiler_function profiler;
static stand_in_reset_function reset;
static stand_in_drop_function drop;

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
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    everything();
}

static void many(void)
{
    for (int i = 0; i < 20000; i++)
        step("many", 1);
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

/* Records are delivered, then some more that are not, then the end. */
static void killed(int number)
{
    step("delivered", 5);
    usleep(500000);
    launch(KERNEL, 1000, 0);
    step("not delivered", 5);
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

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    if (!strcmp(how, "nothing")) { /* NVTALLY_CUPTI may be any library */
        initialize();
        step(how, 0);
        return 0;
    }
    load_device();
    initialize();
    if (!strcmp(how, "plain"))
        plain();
    else if (!strcmp(how, "many"))
        many();
    else if (!strcmp(how, "capture"))
        captured();
    else if (!strcmp(how, "kill"))
        killed(SIGKILL);
    else if (!strcmp(how, "segv"))
        killed(SIGSEGV);
    else if (!strcmp(how, "fork"))
        forks();
    else if (!strcmp(how, "reset")) {
        step("before the reset", 2);
        reset();
    } else if (!strcmp(how, "drop")) {
        drop(3);
        step("dropped", 4);
    } else {
        killed(0);
    }
    return in_other_ways(how);
}
