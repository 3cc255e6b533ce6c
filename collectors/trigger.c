#include "trigger.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../lib/clock.h"
#include "../lib/wrap.h"
#include "ctl_dump.h"
#include "helper_thread.h"
#include "launch.h"
#include "output_name.h"
#include "ring.h"
#include "stale.h"
#include "wake.h"

#define PATIENCE_NS INT64_C(10000000000)
/* One that is over so soon after it became too long does not hang: then it is known what it took. */
#define HANG_SECONDS 0.1

struct nvt_trigger {
    struct nvt_trigger_wish wish;
    struct nvt_ctl_session session;
    struct nvt_control *control;
    double clock_hz;
    uint64_t due;      /* signals that have come and not been answered, as in the wish */
    uint32_t slow;     /* slow ranges that were answered, or left out */
    int slow_dumps;    /* of these */
    int64_t slow_next; /* none before, CLOCK_MONOTONIC */
    char why[200];     /* the dump that is being made */
    int is_running;
    pthread_t thread;
    _Atomic int is_done;
    /* Its thread's, until then. */
    int failed;
    char name[PATH_MAX];
    struct nvt_error err;
};

struct nvt_trigger *nvt_trigger_begin(const struct nvt_trigger_wish *wish, const char *folder,
                                      struct nvt_control *control, uint64_t clock_hz)
{
    struct nvt_trigger *trigger = NULL;
    if (wish->signals || wish->on_exit_status || *wish->range)
        trigger = calloc(1, sizeof(*trigger));
    if (!trigger)
        return NULL;
    trigger->wish = *wish;
    trigger->control = control;
    trigger->clock_hz = (double)clock_hz;
    trigger->session.recorder = control->recorder;
    snprintf(trigger->session.folder, sizeof(trigger->session.folder), "%s", folder);
    return trigger;
}

static void *make_dump(void *context)
{
    struct nvt_trigger *trigger = context;
    trigger->err = (struct nvt_error)NVT_ERROR_INIT;
    trigger->failed = nvt_ctl_dump(&trigger->session, NULL, trigger->wish.last_ns, PATIENCE_NS,
                                   trigger->name, sizeof(trigger->name), &trigger->err);
    atomic_store(&trigger->is_done, 1);
    nvt_control_wake(trigger->control);
    return NULL;
}

static void start(struct nvt_trigger *trigger)
{
    atomic_store(&trigger->is_done, 0);
    trigger->is_running = !nvt_helper_thread_start(&trigger->thread, make_dump, trigger);
    if (!trigger->is_running)
        nvt_message(stderr, "%s: no dump: no thread could be started", trigger->why);
}

static void report(struct nvt_trigger *trigger)
{
    char text[1200];
    pthread_join(trigger->thread, NULL);
    trigger->is_running = 0;
    if (trigger->failed)
        nvt_message(stderr, "%s: no dump: %s", trigger->why,
                    nvt_error_text(&trigger->err, text, sizeof(text)));
    else if (nvt_output_rank(NULL) >= 0)
        nvt_message(stderr,
                    "%s: %s, of rank %" PRId64 " alone (of all: nvtally ctl --watch FILE dump, "
                    "where all record with --watch FILE)",
                    trigger->why, trigger->name, nvt_output_rank(NULL));
    else
        nvt_message(stderr, "%s: %s", trigger->why, trigger->name);
}

/* --- what is due --- */

static int is_signal_due(struct nvt_trigger *trigger)
{
    trigger->due |= nvt_launch_kept();
    for (int number = 1; number <= 64; number++) {
        const uint64_t bit = UINT64_C(1) << (number - 1);
        if (!(trigger->due & bit))
            continue;
        trigger->due &= ~bit;
        snprintf(trigger->why, sizeof(trigger->why), "signal %d (%s)", number, strsignal(number));
        return 1;
    }
    return 0;
}

/* Of several soon after one another, and of many, some are left out. */
static int takes_slow(const struct nvt_trigger *trigger)
{
    return trigger->slow_dumps < NVT_TRIGGER_SLOW_MOST && nvt_monotonic_ns() >= trigger->slow_next;
}

/* "0.9512 ms", "16221 ms", of ticks, until the end of the block. */
static const char *ms_text(const struct nvt_trigger *trigger, double ticks, char out[32])
{
    const double ms = ticks / trigger->clock_hz * 1e3;
    snprintf(out, 32, ms < 1000 ? "%.4g ms" : "%.0f ms", ms);
    return out;
}
#define MS(ticks) ms_text(trigger, ticks, (char[32]){0})

/* `how`: "took", "has taken"; `usual`: the median, 0: it was not asked for; ticks. */
static void note_slow(struct nvt_trigger *trigger, const char *how, double took, double usual)
{
    trigger->slow_dumps++;
    trigger->slow_next = nvt_monotonic_ns() + NVT_TRIGGER_SLOW_NS;
    const int size = snprintf(trigger->why, sizeof(trigger->why), "%.80s %s %s",
                              trigger->wish.range, how, MS(took));
    if (usual > 0)
        snprintf(trigger->why + size, sizeof(trigger->why) - (size_t)size,
                 ", %.2f x the median of %s", took / usual, MS(usual));
}

static int is_slow_due(struct nvt_trigger *trigger)
{
    const struct nvt_control *control = trigger->control;
    const uint32_t slow = atomic_load(&control->slow);
    if (slow == trigger->slow)
        return 0;
    trigger->slow = slow;
    if (!takes_slow(trigger))
        return 0;
    note_slow(trigger, "took", (double)atomic_load(&control->slow_took),
              (double)atomic_load(&control->slow_usual));
    return 1;
}

/* Whether it goes on in a process that lives, since when something is recorded. */
static int is_going_on(const struct nvt_control *control, int place)
{
    const int32_t process = atomic_load(&control->running[place].process);
    return atomic_load(&control->running[place].began) >= atomic_load(&control->opened) &&
           nvt_process_lives(process);
}

/* One that is too long already, and may hang. It is taken once; a process that has ended leaves its place to others. */
static int is_hang_due(struct nvt_trigger *trigger)
{
    struct nvt_control *control = trigger->control;
    if (!*trigger->wish.range || atomic_load(&control->window) != NVT_WINDOW_OPEN ||
        !takes_slow(trigger))
        return 0;
    const uint64_t now = nvt_ticks(control->clock);
    const uint64_t patience = (uint64_t)(trigger->clock_hz * HANG_SECONDS);
    for (int i = 0; i < NVT_RUNNING; i++) {
        uint64_t due = atomic_load(&control->running[i].due);
        const uint64_t began = atomic_load(&control->running[i].began);
        const uint64_t usual = atomic_load(&control->running[i].usual);
        if (due <= NVT_RUNNING_FOUND || due + patience >= now)
            continue;
        const int goes_on = is_going_on(control, i);
        if (!atomic_compare_exchange_strong(&control->running[i].due, &due,
                                            goes_on ? NVT_RUNNING_FOUND : NVT_RUNNING_FREE) ||
            !goes_on)
            continue;
        note_slow(trigger, "goes on and has taken", (double)(now - began), (double)usual);
        return 1;
    }
    return 0;
}

int nvt_trigger_look(struct nvt_trigger *trigger)
{
    if (!trigger)
        return 0;
    if (trigger->is_running && atomic_load(&trigger->is_done))
        report(trigger);
    if (!trigger->is_running &&
        (is_signal_due(trigger) || is_slow_due(trigger) || is_hang_due(trigger)))
        start(trigger);
    return trigger->is_running;
}

void nvt_trigger_exit(struct nvt_trigger *trigger, int wait_status)
{
    if (!trigger || !trigger->wish.on_exit_status || !wait_status || trigger->is_running)
        return;
    if (WIFSIGNALED(wait_status))
        snprintf(trigger->why, sizeof(trigger->why), "the command was ended by signal %d",
                 WTERMSIG(wait_status));
    else
        snprintf(trigger->why, sizeof(trigger->why), "the command ended with status %d",
                 WEXITSTATUS(wait_status));
    start(trigger);
}

void nvt_trigger_end(struct nvt_trigger *trigger)
{
    if (trigger && trigger->is_running)
        report(trigger);
    free(trigger);
}
