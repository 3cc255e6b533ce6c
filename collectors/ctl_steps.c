#include "ctl_steps.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/clock.h"
#include "../lib/wrap.h"
#include "ctl_dump.h"
#include "ctl_file.h"

#define LOOK_NS INT64_C(50000000)
#define SILENCE_NS                                                                                 \
    INT64_C(10000000000) /* no iteration has begun for so long: it is said why we wait */
#define NONE_NS                                                                                    \
    INT64_C(1500000000) /* none has ever begun, for so long: it is said which other ranges have */
#define NOBODY_NS                                                                                  \
    INT64_C(60000000000) /* no process has any, for so long: there is nothing to wait for */
#define TRIES     20     /* each with twice the distance of the one before */
#define HELD_NS   INT64_C(60000000000) /* from afar: so long recorders wait to be told the numbers */
#define FAR_TRIES 6                    /* from afar: each begins anew */
#define AHEAD     2
#define NEAR_NS   INT64_C(20000000) /* a question on this machine takes less, as a rule */

static volatile sig_atomic_t broken_off;

static void break_off(int number)
{
    broken_off = number;
}

static void sleep_ns(int64_t ns)
{
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

/* What is asked of all, and what they have answered last. */
struct steps {
    const struct nvt_ctl_session *sessions;
    size_t count;
    int64_t patience_ns;
    struct nvt_ctl_reply *replies;
    char (*traces)[PATH_MAX];
    uint64_t ours; /* the number by which what we have asked for is known */
    char range[300];
};

static const char *text_of(const struct steps *steps, size_t i)
{
    return steps->replies[i].text;
}

/* What keeps that one from it, -1 with err; 0: nothing. */
static int check(const struct steps *steps, size_t i, struct nvt_error *err)
{
    char title[200];
    const struct nvt_ctl_reply *reply = &steps->replies[i];
    if (reply->status < 0)
        *err = reply->err;
    else if (reply->status)
        nvt_fail(err, "%s: %.400s", nvt_ctl_title(&steps->sessions[i], title, sizeof(title)),
                 reply->text);
    return reply->status ? -1 : 0;
}

static void ask_all(const struct steps *steps, const char *request)
{
    nvt_ctl_ask_all(steps->sessions, steps->count, request, steps->patience_ns, steps->replies);
}

/* 0 with the replies of all, or -1 with err. */
static int ask(const struct steps *steps, const char *request, struct nvt_error *err)
{
    ask_all(steps, request);
    for (size_t i = 0; i < steps->count; i++)
        if (check(steps, i, err))
            return -1;
    return 0;
}

static uint64_t number_of(const char *text, const char *name)
{
    char value[40];
    return strtoull(nvt_ctl_value(text, name, value, sizeof(value)), NULL, 10);
}

/* What was begun for us; they may record for somebody else. */
static void stop(const struct steps *steps)
{
    char request[40];
    snprintf(request, sizeof(request), "stop %" PRIu64, steps->ours);
    ask_all(steps, request);
}

/* What each has come to: "stopped: 449 ms were recorded to FILE". */
static void stop_and_say(const struct steps *steps)
{
    char title[200];
    stop(steps);
    for (size_t i = 0; i < steps->count; i++) {
        const struct nvt_ctl_reply *reply = &steps->replies[i];
        nvt_ctl_title(&steps->sessions[i], title, sizeof(title));
        if (!reply->status)
            nvt_message(stderr, "%s: %s", title, reply->text);
        else if (reply->status < 0 && steps->count > 1)
            nvt_message(stderr,
                        "%s cannot be asked any more: what it had not written by then is lost; "
                        "%s can be read up to there",
                        title, steps->traces[i]);
    }
}

/* Have all get ready. Where they have to agree from afar, none of them goes on by itself. */
static int begin(struct steps *steps, const char *wanted, struct nvt_error *err)
{
    char request[100];
    int64_t settle = 0;
    snprintf(request, sizeof(request), "steps %.40s %" PRId64 " %" PRIu64, wanted,
             steps->sessions[0].way ? HELD_NS : 0, steps->ours);
    if (ask(steps, request, err)) {
        stop(steps);
        return -1;
    }
    for (size_t i = 0; i < steps->count; i++) {
        const int64_t wait = (int64_t)number_of(text_of(steps, i), "settle");
        settle = wait > settle ? wait : settle;
        nvt_ctl_value(text_of(steps, i), "range", steps->range, sizeof(steps->range));
        nvt_ctl_value(text_of(steps, i), "trace", steps->traces[i], sizeof(steps->traces[i]));
    }
    sleep_ns(settle);
    return 0;
}

/* How far all of them are. */
struct seen {
    uint64_t most;            /* iterations that a process has begun */
    uint64_t processes, done; /* that have some; that have recorded those that are wanted */
    uint64_t entered;         /* that have had some so far */
};

static int count_seen(const struct steps *steps, struct seen *seen, struct nvt_error *err)
{
    *seen = (struct seen){0};
    if (ask(steps, "stepped", err))
        return -1;
    for (size_t i = 0; i < steps->count; i++) {
        const uint64_t most = number_of(text_of(steps, i), "seen");
        seen->most = most > seen->most ? most : seen->most;
        seen->processes += number_of(text_of(steps, i), "of");
        seen->done += number_of(text_of(steps, i), "processes");
        seen->entered += number_of(text_of(steps, i), "entered");
    }
    return 0;
}

/* So many iterations ahead none will have come to when all have heard: as many as begin in some times the time that a question takes; of
 * one recorder, the next. -1 with err. */
static int64_t measure_distance(const struct steps *steps, struct nvt_error *err)
{
    struct seen before, after;
    const struct nvt_ctl_way *way = steps->sessions[0].way;
    if (!way && steps->count == 1)
        return 1;
    if (count_seen(steps, &before, err))
        return -1;
    const int64_t began = nvt_monotonic_ns();
    sleep_ns(2 * (way ? way->latency_ns : NEAR_NS));
    if (count_seen(steps, &after, err))
        return -1;
    const int64_t took = nvt_monotonic_ns() - began;
    if (!way && after.most <= before.most)
        return 2;
    const double each =
        after.most > before.most ? (double)took / (double)(after.most - before.most) : (double)took;
    return (int64_t)((double)AHEAD * (double)took / each) + 2;
}

/* Tell all the same number, which none has come to yet. 0; 1: one has; or -1 with err. */
static int fix(const struct steps *steps, uint64_t distance, struct nvt_error *err)
{
    char request[64];
    struct seen seen;
    int refused = 0;
    if (count_seen(steps, &seen, err))
        return -1;
    snprintf(request, sizeof(request), "fix %" PRIu64, seen.most + distance);
    ask_all(steps, request);
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->replies[i].status < 0)
            return check(steps, i, err);
        refused |= steps->replies[i].status;
    }
    return refused != 0;
}

/* Of several, one may have begun with what another had no time for: then all begin again, and that one's trace has more. On this
 * machine it is more likely that none has begun, and all can still be told another number. */
static int agree(struct steps *steps, const char *wanted, struct nvt_error *err)
{
    const int is_far = steps->sessions[0].way != NULL;
    const int64_t distance = measure_distance(steps, err);
    int status = distance < 0 ? -1 : 1;
    for (int try = 0; try < (is_far ? FAR_TRIES : TRIES) && status == 1; try++) {
        if (try > !is_far && steps->count > 1) {
            stop(steps);
            if (begin(steps, wanted, err))
                return -1;
        }
        status = fix(steps, (uint64_t)distance << try, err);
    }
    return status == 1 ? nvt_fail(err, "the iterations are too short: the recordings do not agree "
                                       "on some")
                       : status;
}

/* 1: they are recorded; 0: not yet; -1 with err: they never will be. By its last reply. */
static int are_recorded(const struct steps *steps, size_t i, struct nvt_error *err)
{
    char state[40], title[200];
    const char *text = text_of(steps, i);
    nvt_ctl_value(text, "steps", state, sizeof(state));
    nvt_ctl_title(&steps->sessions[i], title, sizeof(title));
    if (number_of(text, "ours") != steps->ours)
        return nvt_fail(err, "%s: stopped, and recording for somebody else since", title);
    if (!strcmp(state, "waiting"))
        return 0;
    if (!strcmp(state, "done"))
        return 1;
    return nvt_fail(err,
                    "%s: stopped when %" PRIu64 " of %" PRIu64 " processes had recorded their "
                    "iterations",
                    title, number_of(text, "processes"), number_of(text, "of"));
}

/* How the waiting goes. */
struct waiting {
    struct seen seen;
    int64_t since;             /* no further iteration has begun, CLOCK_MONOTONIC, */
    int64_t done_at;           /* and no further process has recorded them */
    uint64_t entered;          /* processes that had had iterations then */
    int is_said, is_none_said; /* what we wait for; that there are no such ranges */
};

/* "nosuch" of "nosuch@*". */
static int name_length(const char *range)
{
    const char *at = strrchr(range, '@');
    return (int)(at && !strcmp(at, "@*") ? (size_t)(at - range) : strlen(range));
}

/* The range may be misspelt: those that there are. Of the first recorder that has seen some. */
static void say_none(const struct steps *steps)
{
    char others[1024] = "";
    for (size_t i = 0; i < steps->count && !*others; i++)
        nvt_ctl_value(text_of(steps, i), "others", others, sizeof(others));
    nvt_message(stderr,
                "waiting: no range '%.*s' has begun in any process so far%s%s%s; this ends after "
                "%d s without one, or by Ctrl-C",
                name_length(steps->range), steps->range,
                *others ? " (ranges that have: " : ", nor any other range", others,
                *others ? ")" : "", (int)(NOBODY_NS / 1000000000));
}

/* After so long nobody knows any more why it takes its time. */
static void say_why(const struct steps *steps, struct waiting *waiting, int64_t now)
{
    const struct seen *seen = &waiting->seen;
    if (!seen->most && !waiting->is_none_said && now - waiting->since > NONE_NS) {
        say_none(steps);
        waiting->is_none_said = 1;
    }
    if (waiting->is_said || !seen->most || now - waiting->done_at <= SILENCE_NS)
        return;
    if (now - waiting->since > SILENCE_NS && seen->entered != waiting->entered)
        nvt_message(stderr,
                    "waiting: no process has come to iteration %" PRIu64
                    " (range %s) for 10 s: %" PRIu64 " have begun some and ended before it; "
                    "nvtally ctl start records all; Ctrl-C ends it",
                    number_of(text_of(steps, 0), "from"), steps->range,
                    seen->entered - waiting->entered);
    else if (now - waiting->since > SILENCE_NS)
        nvt_message(stderr, "waiting: no iteration (range %s) has begun for 10 s; Ctrl-C ends it",
                    steps->range);
    else if (seen->done)
        nvt_message(stderr,
                    "waiting: %" PRIu64 " of %" PRIu64
                    " processes have recorded the iterations; Ctrl-C ends it",
                    seen->done, seen->processes);
    else
        return;
    waiting->is_said = 1;
}

/* Whether it is worth while: 0, or -1 with err. */
static int see(const struct steps *steps, struct waiting *waiting, struct nvt_error *err)
{
    struct seen seen;
    const int64_t now = nvt_monotonic_ns();
    if (broken_off)
        return nvt_fail(err, "broken off: recording has stopped");
    if (count_seen(steps, &seen, err))
        return -1;
    if (seen.most != waiting->seen.most) {
        waiting->since = now;
        waiting->entered = seen.entered;
    }
    if (seen.done != waiting->seen.done)
        waiting->done_at = now;
    waiting->seen = seen;
    if (!seen.processes && now - waiting->since > NOBODY_NS)
        return nvt_fail(err, "no process has iterations (range %s): recording has stopped",
                        steps->range);
    say_why(steps, waiting, now);
    return 0;
}

static int wait_for_all(const struct steps *steps, struct nvt_error *err)
{
    struct waiting waiting = {.since = nvt_monotonic_ns()};
    waiting.done_at = waiting.since;
    for (;;) {
        size_t done = 0;
        if (see(steps, &waiting, err))
            return -1;
        for (size_t i = 0; i < steps->count; i++) {
            const int is_done = are_recorded(steps, i, err);
            if (is_done < 0)
                return -1;
            done += (size_t)is_done;
        }
        if (done == steps->count)
            return 0;
        sleep_ns(LOOK_NS + (steps->sessions[0].way ? steps->sessions[0].way->latency_ns : 0));
    }
}

static int print_all(const struct steps *steps, struct nvt_error *err)
{
    char trace[4096];
    struct nvt_ctl_reply *stepped = calloc(steps->count, sizeof(*stepped));
    if (!stepped)
        return nvt_fail(err, "out of memory");
    memcpy(stepped, steps->replies, steps->count * sizeof(*stepped));
    int status = ask(steps, "status", err);
    for (size_t i = 0; i < steps->count && !status; i++) {
        const uint64_t processes = number_of(stepped[i].text, "processes");
        printf("iterations %" PRIu64 " to %" PRIu64 " (from 0) of %" PRIu64 " process%s: %s\n",
               number_of(stepped[i].text, "from"), number_of(stepped[i].text, "last"), processes,
               processes == 1 ? "" : "es",
               nvt_ctl_value(text_of(steps, i), "trace", trace, sizeof(trace)));
    }
    free(stepped);
    return status;
}

int nvt_ctl_steps(const struct nvt_ctl_session *sessions, size_t count, const char *wanted,
                  int64_t patience_ns, struct nvt_error *err)
{
    struct steps steps = {.sessions = sessions,
                          .count = count,
                          .patience_ns = patience_ns,
                          .replies = calloc(count, sizeof(*steps.replies)),
                          .traces = calloc(count, sizeof(*steps.traces))};
    char serial[NVT_CTL_SERIAL];
    const struct sigaction action = {.sa_handler = break_off};
    broken_off = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    nvt_ctl_file_serial(serial);
    steps.ours = strtoull(serial, NULL, 16);
    int status =
        steps.replies && steps.traces ? begin(&steps, wanted, err) : nvt_fail(err, "out of memory");
    if (!status && (agree(&steps, wanted, err) || wait_for_all(&steps, err))) {
        stop_and_say(&steps);
        status = -1;
    }
    if (!status)
        status = print_all(&steps, err);
    free(steps.replies);
    free(steps.traces);
    return status;
}
