#include "env_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "attached.h"
#include "attend.h"
#include "stale.h"

#define LOOK_NS      INT64_C(1000000000) /* between two looks at who is left, */
#define LOOK_PATIENT 100                 /* and so many times what the last took */

struct watching {
    const char *folder;
    pid_t holder;
    uint64_t holder_start;
    int64_t next_look; /* CLOCK_MONOTONIC */
};

static int goes_on(void *context)
{
    struct watching *watching = context;
    pid_t one;
    const int64_t now = nvt_monotonic_ns();
    if (now < watching->next_look || nvt_process_is(watching->holder, watching->holder_start))
        return 1;
    const int is_anybody_left = nvt_attached(watching->folder, &one, 1) != 0;
    watching->next_look = nvt_monotonic_ns() + LOOK_NS + (nvt_monotonic_ns() - now) * LOOK_PATIENT;
    return is_anybody_left;
}

/* The job's terminal and signals are not its. */
static void detach(void)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && nothing >= 0; i++)
        dup2(nothing, i);
    setsid();
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* One character to who waits: it watches; or nothing. */
static void watch(const char *path, struct watching *watching, int report)
{
    struct nvt_attend *attend;
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_attend_wish wish = {.watch = path};
    char text[1200];
    if (nvt_attend_open(&wish, &attend, &err)) {
        nvt_error_text(&err, text, sizeof(text));
        (void)!write(report, text, strlen(text));
        return;
    }
    (void)!write(report, "+", 1);
    close(report);
    detach();
    nvt_attend_run(attend, watching->folder, goes_on, watching);
}

int nvt_env_watch(const char *path, const char *folder, pid_t holder, uint64_t holder_start,
                  struct nvt_error *err)
{
    int report[2];
    char said[1200] = "";
    struct watching watching = {folder, holder, holder_start, 0};
    if (pipe2(report, O_CLOEXEC))
        return nvt_fail(err, "no pipe: %s", strerror(errno));
    const pid_t child = fork();
    if (!child) {
        /* Its parent is nobody who would have to wait for it. */
        if (!fork())
            watch(path, &watching, report[1]);
        _exit(0);
    }
    close(report[1]);
    if (child > 0)
        waitpid(child, NULL, 0);
    ssize_t size;
    do
        size = child > 0 ? read(report[0], said, sizeof(said) - 1) : 0;
    while (size < 0 && errno == EINTR);
    close(report[0]);
    if (*said == '+')
        return 0;
    return nvt_fail(err, "--watch %s", *said ? said : "has no process: the system has no room");
}
