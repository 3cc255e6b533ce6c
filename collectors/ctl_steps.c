#include "ctl_steps.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/clock.h"
#include "../lib/wrap.h"
#include "ctl_dump.h"

#define LOOK_NS INT64_C(50000000)
#define SILENCE_NS                                                                                 \
    INT64_C(10000000000) /* no iteration has begun for so long: it is said why we wait */
#define NOBODY_NS                                                                                  \
    INT64_C(60000000000) /* no process has any, for so long: there is nothing to wait for */
#define TRIES 20         /* each with twice the distance of the one before */

static volatile sig_atomic_t broken_off;

static void break_off(int number)
{
    broken_off = number;
}

static void sleep_ns(int64_t ns)
{
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

/* What is asked of all. */
struct steps {
    const struct nvt_ctl_session *sessions;
    size_t count;
    int64_t patience_ns;
    char range[300];
};

/* 0 with the text, or -1 with err. */
static int ask(const struct steps *steps, size_t i, const char *request, char *text,
               struct nvt_error *err)
{
    const int failed = nvt_ctl_ask(&steps->sessions[i], request, steps->patience_ns, text,
                                   NVT_CTL_ANSWER_MOST, err);
    return failed <= 0 ? failed
                       : nvt_fail(err, "recorder %d: %.400s", steps->sessions[i].recorder, text);
}

static uint64_t number_of(const char *text, const char *name)
{
    char value[40];
    return strtoull(nvt_ctl_value(text, name, value, sizeof(value)), NULL, 10);
}

/* Those before `count` have begun. */
static void stop(const struct steps *steps, size_t count)
{
    char text[NVT_CTL_ANSWER_MOST];
    struct nvt_error ignored = NVT_ERROR_INIT;
    for (size_t i = 0; i < count; i++)
        ask(steps, i, "stop", text, &ignored);
}

/* Have all get ready. */
static int begin(struct steps *steps, const char *wanted, struct nvt_error *err)
{
    char text[NVT_CTL_ANSWER_MOST], request[64];
    int64_t settle = 0;
    snprintf(request, sizeof(request), "steps %.40s", wanted);
    for (size_t i = 0; i < steps->count; i++) {
        if (ask(steps, i, request, text, err)) {
            stop(steps, i);
            return -1;
        }
        const int64_t wait = (int64_t)number_of(text, "settle");
        settle = wait > settle ? wait : settle;
        nvt_ctl_value(text, "range", steps->range, sizeof(steps->range));
    }
    sleep_ns(settle);
    return 0;
}

/* The most iterations that a process of any has begun, and how many processes there are that have some. */
static int count_seen(const struct steps *steps, uint64_t *most, uint64_t *processes,
                      struct nvt_error *err)
{
    char text[NVT_CTL_ANSWER_MOST];
    *most = *processes = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (ask(steps, i, "stepped", text, err))
            return -1;
        const uint64_t seen = number_of(text, "seen");
        *most = seen > *most ? seen : *most;
        *processes += number_of(text, "of");
    }
    return 0;
}

/* The same number for all, which none has come to yet. */
static int agree(const struct steps *steps, struct nvt_error *err)
{
    char text[NVT_CTL_ANSWER_MOST], request[64];
    uint64_t most, processes;
    for (int try = 0; try < TRIES; try++) {
        if (count_seen(steps, &most, &processes, err))
            return -1;
        snprintf(request, sizeof(request), "fix %" PRIu64, most + (UINT64_C(1) << try));
        size_t i = 0;
        int failed = 0;
        while (i < steps->count &&
               !(failed = nvt_ctl_ask(&steps->sessions[i], request, steps->patience_ns, text,
                                      sizeof(text), err)))
            i++;
        if (failed < 0)
            return -1;
        if (!failed)
            return 0;
    }
    return nvt_fail(err, "the iterations are too short: the recordings do not agree on some");
}

/* 1: they are recorded; 0: not yet; -1 with err: they never will be. */
static int are_recorded(const struct steps *steps, size_t i, struct nvt_error *err)
{
    char text[NVT_CTL_ANSWER_MOST], state[40];
    if (ask(steps, i, "stepped", text, err))
        return -1;
    nvt_ctl_value(text, "steps", state, sizeof(state));
    if (!strcmp(state, "waiting"))
        return 0;
    if (!strcmp(state, "done"))
        return 1;
    return nvt_fail(err,
                    "recorder %d: stopped when %" PRIu64 " of %" PRIu64 " processes had recorded "
                    "their iterations",
                    steps->sessions[i].recorder, number_of(text, "processes"),
                    number_of(text, "of"));
}

/* How the waiting goes. */
struct waiting {
    uint64_t seen; /* iterations that have begun, of the process that has most */
    int64_t since; /* no other has begun, CLOCK_MONOTONIC */
    int is_said;   /* that none does */
};

/* Whether it is worth while: 0, or -1 with err. */
static int see(const struct steps *steps, struct waiting *waiting, struct nvt_error *err)
{
    uint64_t seen, processes;
    const int64_t now = nvt_monotonic_ns();
    if (broken_off)
        return nvt_fail(err, "broken off: recording has stopped");
    if (count_seen(steps, &seen, &processes, err))
        return -1;
    if (seen != waiting->seen)
        *waiting = (struct waiting){seen, now, 0};
    if (!processes && now - waiting->since > NOBODY_NS)
        return nvt_fail(err, "no process has iterations (range %s): recording has stopped",
                        steps->range);
    if (!waiting->is_said && now - waiting->since > SILENCE_NS) {
        nvt_message(stderr, "waiting: no iteration (range %s) has begun for 10 s; Ctrl-C ends it",
                    steps->range);
        waiting->is_said = 1;
    }
    return 0;
}

static int wait_for_all(const struct steps *steps, struct nvt_error *err)
{
    struct waiting waiting = {.since = nvt_monotonic_ns()};
    for (size_t i = 0; i < steps->count;) {
        const int is_done = are_recorded(steps, i, err);
        if (is_done < 0)
            return -1;
        i += (size_t)is_done;
        if (is_done)
            continue;
        if (see(steps, &waiting, err))
            return -1;
        sleep_ns(LOOK_NS);
    }
    return 0;
}

static int print_all(const struct steps *steps, struct nvt_error *err)
{
    char text[NVT_CTL_ANSWER_MOST], status[NVT_CTL_ANSWER_MOST], trace[4096];
    for (size_t i = 0; i < steps->count; i++) {
        if (ask(steps, i, "stepped", text, err) || ask(steps, i, "status", status, err))
            return -1;
        const uint64_t processes = number_of(text, "processes");
        printf("iterations %" PRIu64 " to %" PRIu64 " (from 0) of %" PRIu64 " process%s: %s\n",
               number_of(text, "from"), number_of(text, "last"), processes,
               processes == 1 ? "" : "es", nvt_ctl_value(status, "trace", trace, sizeof(trace)));
    }
    return 0;
}

int nvt_ctl_steps(const struct nvt_ctl_session *sessions, size_t count, const char *wanted,
                  int64_t patience_ns, struct nvt_error *err)
{
    struct steps steps = {.sessions = sessions, .count = count, .patience_ns = patience_ns};
    const struct sigaction action = {.sa_handler = break_off};
    broken_off = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (begin(&steps, wanted, err))
        return -1;
    if (agree(&steps, err) || wait_for_all(&steps, err)) {
        stop(&steps, steps.count);
        return -1;
    }
    return print_all(&steps, err);
}
