#include "attend.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/wrap.h"
#include "ctl_file.h"
#include "ctl_net.h"
#include "ctl_relay.h"
#include "helper_thread.h"

#define LOOK_NS  INT64_C(1000000000) /* at clients that say nothing, and at whether it is to go on */
#define LEAVE_NS 2000000000 /* a file system that does not answer is not waited for longer */

struct nvt_attend {
    struct nvt_ctl_file file;
    struct nvt_ctl_net_server net;
    struct nvt_ctl_key *key;
    char folder[256];
    int wake; /* an eventfd: it is to end */
    _Atomic int ends, answers;
    pthread_t thread;
    int has_thread;
    int waits_alone; /* in that, so that nothing else has to be looked at */
};

static void free_all(struct nvt_attend *attend)
{
    nvt_ctl_file_close(&attend->file);
    nvt_ctl_net_close(&attend->net);
    nvt_ctl_key_free(attend->key);
    if (attend->wake >= 0)
        close(attend->wake);
    free(attend);
}

static void say(const char *path, const char *what)
{
    nvt_message(stderr, "--watch %s: %s", path, what);
}

int nvt_attend_open(const struct nvt_attend_wish *wish, struct nvt_attend **out,
                    struct nvt_error *err)
{
    *out = NULL;
    if (!wish->watch && !wish->listen)
        return 0;
    struct nvt_attend *attend = calloc(1, sizeof(*attend));
    if (!attend)
        return nvt_fail(err, "out of memory");
    attend->net.socket = -1;
    attend->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = attend->wake < 0 ? nvt_fail(err, "eventfd: %s", strerror(errno)) : 0;
    if (!status && wish->listen) {
        attend->key = nvt_ctl_key_read(wish->key, err);
        status =
            attend->key ? nvt_ctl_net_listen(&attend->net, wish->listen, attend->key, err) : -1;
    }
    if (!status && wish->watch)
        status = nvt_ctl_file_watch(&attend->file, wish->watch, err);
    attend->file.said = say;
    if (status)
        free_all(attend);
    else
        *out = attend;
    return status;
}

/* --- answers --------------------------------------------------------------------------------------- */

static int answer(void *context, const char *request, char *text, size_t size)
{
    struct nvt_attend *attend = context;
    atomic_store(&attend->answers, 1);
    const int status = nvt_ctl_relay(attend->folder, request, text, size);
    atomic_store(&attend->answers, 0);
    return status;
}

static void wait_and_answer(struct nvt_attend *attend, int64_t *next_file)
{
    struct pollfd pollers[NVT_CTL_NET_CLIENTS + 2];
    int64_t until = nvt_monotonic_ns() + LOOK_NS;
    if (attend->file.path[0] && *next_file < until)
        until = *next_file;
    const int64_t left = until - nvt_monotonic_ns();
    int timeout = left > 0 ? (int)((left + 999999) / 1000000) : 0;
    pollers[0] = (struct pollfd){.fd = attend->wake, .events = POLLIN};
    const size_t count = 1 + nvt_ctl_net_descriptors(&attend->net, pollers + 1);
    /* Who listens alone, and has no client, has nothing to look at. */
    if (attend->waits_alone && count == 2)
        timeout = -1;
    (void)poll(pollers, count, timeout);
    if (atomic_load(&attend->ends))
        return;
    nvt_ctl_net_serve(&attend->net, answer, attend);
    if (attend->file.path[0])
        *next_file = nvt_ctl_file_serve(&attend->file, answer, attend);
}

static void *attend_all(void *context)
{
    struct nvt_attend *attend = context;
    int64_t next_file = 0;
    while (!atomic_load(&attend->ends))
        wait_and_answer(attend, &next_file);
    return NULL;
}

void nvt_attend_begin(struct nvt_attend *attend, const char *folder)
{
    if (!attend)
        return;
    snprintf(attend->folder, sizeof(attend->folder), "%s", folder);
    attend->waits_alone = !attend->file.path[0];
    attend->has_thread = !nvt_helper_thread_start(&attend->thread, attend_all, attend);
    if (!attend->has_thread)
        nvt_message(stderr, "--watch and --listen: no thread could be started");
    else if (attend->net.socket >= 0)
        nvt_message(stderr, "listening on %s", attend->net.name);
}

void nvt_attend_end(struct nvt_attend *attend)
{
    struct timespec until;
    const uint64_t one = 1;
    if (!attend)
        return;
    atomic_store(&attend->ends, 1);
    (void)!write(attend->wake, &one, sizeof(one));
    int failed = 0;
    do {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LEAVE_NS / 1000000000;
        failed = attend->has_thread ? pthread_timedjoin_np(attend->thread, NULL, &until) : 0;
    } while (failed && atomic_load(&attend->answers));
    /* Otherwise it waits for its file system, and all stays as it is until this process ends. */
    if (!failed)
        free_all(attend);
}

void nvt_attend_run(struct nvt_attend *attend, const char *folder, int (*goes_on)(void *context),
                    void *context)
{
    int64_t next_file = 0;
    snprintf(attend->folder, sizeof(attend->folder), "%s", folder);
    while (goes_on(context))
        wait_and_answer(attend, &next_file);
    free_all(attend);
}
