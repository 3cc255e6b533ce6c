#include "live_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/clock.h"
#include "stale.h"
#include "steppers.h"

#define SETTLE_NS    INT64_C(300000000) /* CUPTI is up by then */
#define GONE_NS      INT64_C(2000000000) /* and who has asked has fixed the numbers so long after that */
#define LOOK_NS      INT64_C(500000000)
#define HELD_MOST_NS INT64_C(600000000000)

int nvt_live_steps_are_due(const struct nvt_live_steps *steps)
{
    return steps->wanted && !steps->is_over;
}

/* A request of its own: whatever a process is about to do counts for the one before. */
static void renew(struct nvt_live_steps *steps, struct nvt_control *control)
{
    const uint64_t request = ++steps->requests;
    atomic_store(&control->steps_from, UINT64_MAX);
    atomic_store(&control->steps_last, UINT64_MAX);
    atomic_store(&control->steps_done, request << 32);
    atomic_store(&control->steps_left, request << 32);
    atomic_store(&control->steps_began, 0);
    atomic_store(&control->steps_ended, 0);
    atomic_store(&control->stepping, steps->requests);
}

static uint32_t processes_of(const struct nvt_live_steps *steps, const _Atomic uint64_t *processes)
{
    const uint64_t there = atomic_load(processes);
    return there >> 32 == steps->requests ? (uint32_t)there : 0;
}

/* Processes that have begun only since, when the others were far ahead, and have not come to them: they are not waited for. */
static uint32_t late_of(const struct nvt_live_steps *steps, const struct nvt_control *control)
{
    uint32_t late = 0;
    for (int i = 0; i < NVT_STEPPERS; i++)
        late += atomic_load(&control->stepper[i]) &&
                atomic_load(&control->stepper_late[i]) == steps->requests &&
                atomic_load(&control->stepper_done[i]) != steps->requests;
    return late;
}

/* Those that are there and to be waited for. */
static uint32_t waited_of(const struct nvt_live_steps *steps, const struct nvt_control *control)
{
    const uint32_t late = late_of(steps, control), there = atomic_load(&control->steppers);
    return there > late ? there - late : 0;
}

/* Those that have them to record, or have done so; also where they have ended since. */
static uint32_t all_of(const struct nvt_live_steps *steps, const struct nvt_control *control)
{
    return waited_of(steps, control) + processes_of(steps, &control->steps_left);
}

int nvt_live_steps_ask(struct nvt_live_steps *steps, struct nvt_control *control, int asker,
                       const char *words, int64_t *settle_ns, char *text, size_t size)
{
    char *end;
    const unsigned long long wanted = strtoull(words, &end, 10);
    const int64_t held_ns = *end == ' ' ? strtoll(end + 1, &end, 10) : 0;
    const uint64_t ours = *end == ' ' ? strtoull(end + 1, &end, 10) : 0;
    if (*words < '0' || *words > '9' || *end || held_ns < 0 || held_ns > HELD_MOST_NS || !wanted ||
        wanted > NVT_LIVE_STEPS_MOST) {
        snprintf(text, size, "steps takes a number from 1 to %d", NVT_LIVE_STEPS_MOST);
        return -1;
    }
    if (!*control->iteration) {
        snprintf(text, size,
                 "it is unknown which ranges are iterations: record --dormant --iteration RANGE");
        return -1;
    }
    *steps = (struct nvt_live_steps){.wanted = wanted,
                                     .requests = steps->requests,
                                     .ours = ours,
                                     .asker = held_ns > 0 ? 0 : asker,
                                     .asked = nvt_monotonic_ns(),
                                     .is_held = held_ns > 0};
    *settle_ns = control->trace & NVT_TRACE_DEVICE ? SETTLE_NS : 0;
    steps->fix_at = nvt_monotonic_ns() + *settle_ns + (held_ns ? held_ns : GONE_NS);
    renew(steps, control);
    return 0;
}

int nvt_live_steps_fix(struct nvt_live_steps *steps, struct nvt_control *control, uint64_t from)
{
    const uint64_t seen = atomic_load(&control->steps_seen);
    if (!nvt_live_steps_are_due(steps) || from <= seen || (!steps->fix_at && steps->from <= seen))
        return 0;
    if (!steps->fix_at)
        renew(steps, control);
    steps->fix_at = 0;
    steps->from = from;
    steps->last = from + steps->wanted - 1;
    /* Who sees the first number sees the last. */
    atomic_store(&control->steps_last, steps->last);
    atomic_store(&control->steps_from, steps->from);
    if (atomic_load(&control->steps_seen) <= from)
        return 1;
    /* We were held up: a process may have begun with that number before it was on the page, others have it. */
    renew(steps, control);
    steps->fix_at = nvt_monotonic_ns() + GONE_NS;
    return 0;
}

/* Who was killed is not waited for. What it has had before counts, as it does of one that ends by itself. */
static void leave_out_dead(struct nvt_control *control)
{
    for (int i = 0; i < NVT_STEPPERS; i++) {
        const int32_t pid = atomic_load(&control->stepper[i]);
        if (pid && !nvt_process_lives(pid))
            nvt_steppers_leave(control, i, pid);
    }
}

uint32_t nvt_live_steps_iterating(struct nvt_control *control)
{
    leave_out_dead(control);
    return atomic_load(&control->steppers);
}

/* "a, b@domain": names of other ranges, each once; several processes may have noted the same at once. */
static void put_others(const struct nvt_control *control, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < NVT_OTHERS; i++) {
        int is_new = atomic_load(&control->other[i].is_ready) != 0;
        for (int j = 0; j < i && is_new; j++)
            is_new = strncmp(control->other[j].name, control->other[i].name, NVT_OTHER_NAME) != 0;
        if (is_new && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "",
                                     NVT_OTHER_NAME - 1, control->other[i].name);
    }
}

int nvt_live_steps_look(struct nvt_live_steps *steps, struct nvt_control *control)
{
    if (!nvt_live_steps_are_due(steps))
        return 0;
    if (steps->fix_at && !steps->is_held && nvt_monotonic_ns() >= steps->fix_at)
        nvt_live_steps_fix(steps, control, atomic_load(&control->steps_seen) + 1);
    if (nvt_monotonic_ns() >= steps->next_look) {
        leave_out_dead(control);
        steps->next_look = nvt_monotonic_ns() + LOOK_NS;
    }
    /* In this order: one that leaves is among those that have left before it is no stepper any more. */
    const uint32_t steppers = waited_of(steps, control);
    const uint32_t left = processes_of(steps, &control->steps_left);
    steps->processes = processes_of(steps, &control->steps_done);
    return steps->processes && steps->processes >= steppers + left;
}

int nvt_live_steps_are_given_up(const struct nvt_live_steps *steps)
{
    return nvt_live_steps_are_due(steps) && steps->fix_at && steps->is_held &&
           nvt_monotonic_ns() >= steps->fix_at;
}

void nvt_live_steps_close(struct nvt_live_steps *steps, struct nvt_control *control)
{
    if (!nvt_live_steps_are_due(steps))
        return;
    steps->processes = processes_of(steps, &control->steps_done);
    steps->is_over = 1;
    steps->of = all_of(steps, control);
    steps->is_broken_off = !steps->processes || steps->processes < steps->of;
    atomic_store(&control->stepping, 0);
}

void nvt_live_steps_span(const struct nvt_live_steps *steps, const struct nvt_control *control,
                         uint64_t now, uint64_t *from, uint64_t *to)
{
    const uint64_t began = atomic_load(&control->steps_began);
    const uint64_t ended = atomic_load(&control->steps_ended);
    const int is_done = steps->is_over && !steps->is_broken_off;
    *from = began && began < now ? began : now;
    *to = is_done && ended >= *from && ended < now ? ended : now;
}

void nvt_live_steps_say_due(const struct nvt_live_steps *steps, char *text, size_t size)
{
    char who[40] = "from elsewhere";
    if (steps->asker)
        snprintf(who, sizeof(who), "(process %d)", steps->asker);
    snprintf(text, size,
             "it is recording %" PRIu64
             " iterations for nvtally ctl steps %s, asked for %.1f s ago: "
             "nvtally ctl stop ends that",
             steps->wanted, who, (double)(nvt_monotonic_ns() - steps->asked) / 1e9);
}

void nvt_live_steps_put_due(const struct nvt_live_steps *steps, char *text, size_t size)
{
    *text = 0;
    if (nvt_live_steps_are_due(steps) && steps->fix_at)
        snprintf(text, size, "steps\t%" PRIu64 ", waiting\n", steps->wanted);
    else if (nvt_live_steps_are_due(steps))
        snprintf(text, size, "steps\t%" PRIu64 ": iterations %" PRIu64 " to %" PRIu64 "\n",
                 steps->wanted, steps->from, steps->last);
}

void nvt_live_steps_put(const struct nvt_live_steps *steps, const struct nvt_control *control,
                        char *text, size_t size)
{
    char others[NVT_OTHERS * (NVT_OTHER_NAME + 2)];
    const char *state = !steps->wanted         ? "none"
                        : !steps->is_over      ? "waiting"
                        : steps->is_broken_off ? "stopped"
                                               : "done";
    put_others(control, others, sizeof(others));
    snprintf(text, size,
             "ours\t%" PRIu64 "\nsteps\t%s\nwanted\t%" PRIu64 "\nfrom\t%" PRIu64 "\nlast\t%" PRIu64
             "\nseen\t%" PRIu64 "\nprocesses\t%" PRIu32 "\nof\t%" PRIu32 "\nentered\t%" PRIu32
             "\nothers\t%s\n",
             steps->ours, state, steps->wanted, steps->from, steps->last,
             atomic_load(&control->steps_seen), steps->processes,
             steps->is_over ? steps->of : all_of(steps, control), atomic_load(&control->entered),
             others);
}
