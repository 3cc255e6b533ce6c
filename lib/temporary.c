#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "count_of.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
#define ENDING NVT_COUNT_OF(ending)

/* Of the process, for the handler of its signals. */
static struct {
    char path[128]; /* "": there is none */
    pid_t owner;
    struct sigaction before[ENDING];
} temporary;

/* Nothing but system calls, as a handler may: opendir() takes memory. */
static void remove_files(int folder)
{
    _Alignas(struct dirent64) char entries[4096];
    /* The call itself: glibc before 2.30 has no function for it. */
    for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0;)
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            unlinkat(folder, entry->d_name, 0);
            at += entry->d_reclen;
        }
}

/* A program that we have started may write one more file meanwhile. */
static void remove_folder(void)
{
    enum { ROUNDS = 10 };
    for (int i = 0; i < ROUNDS && rmdir(temporary.path) && errno == ENOTEMPTY; i++) {
        int folder = open(temporary.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0)
            return;
        remove_files(folder);
        close(folder);
    }
}

/* The signal's default action is back in place, and follows when this returns. */
static void end_with(int number)
{
    if (temporary.path[0] && getpid() == temporary.owner)
        remove_folder();
    (void)raise(number);
}

/* Hold them back; *before gets the mask to set afterwards. */
static void hold(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ENDING; i++)
        sigaddset(&set, ending[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

const char *nvt_temporary_make(const char *name)
{
    struct sigaction action = {.sa_handler = end_with, .sa_flags = (int)SA_RESETHAND};
    sigset_t before;
    hold(&before);
    snprintf(temporary.path, sizeof(temporary.path), "/tmp/nvtally-%s-XXXXXX", name);
    int made = mkdtemp(temporary.path) != NULL;
    if (!made)
        temporary.path[0] = 0;
    temporary.owner = getpid();
    for (size_t i = 0; i < ENDING && made; i++) {
        sigaction(ending[i], NULL, &temporary.before[i]);
        if (temporary.before[i].sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    }
    int cause = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return made ? temporary.path : NULL;
}

void nvt_temporary_remove(void)
{
    sigset_t before;
    if (!temporary.path[0])
        return;
    hold(&before);
    remove_folder();
    temporary.path[0] = 0;
    for (size_t i = 0; i < ENDING; i++)
        sigaction(ending[i], &temporary.before[i], NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
