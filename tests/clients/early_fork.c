/*
 * One thread makes the program's first call of NVTX, and while that opens the session another one forks. The child makes a call of its
 * own, which has to end: early_fork; the status is 0 if it did.
 */
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../collectors/ring.h"

static _Atomic int is_there, forks;

/* The library's, too: the first call stays here until the other thread is about to fork, and 50 ms more. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (strstr(path, "/" NVT_CONTROL_NAME) && !atomic_exchange(&is_there, 1)) {
        while (!atomic_load(&forks))
            usleep(1000);
        usleep(50000);
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void *first_call(void *unused)
{
    nvtxRangePushA("parent");
    nvtxRangePop();
    return unused;
}

int main(void)
{
    pthread_t thread;
    int status = 1;
    pthread_create(&thread, NULL, first_call, NULL);
    while (!atomic_load(&is_there))
        usleep(1000);
    atomic_store(&forks, 1);
    pid_t child = fork();
    if (!child) {
        alarm(600); /* what hangs fails */
        nvtxRangePushA("child");
        nvtxRangePop();
        nvtxDomainResourceDestroy(NULL); /* which nobody records */
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    pthread_join(thread, NULL);
    return status != 0;
}
