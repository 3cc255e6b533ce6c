#include "live_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/clock.h"

#define SETTLE_NS    INT64_C(300000000) /* CUPTI is up by then */
#define GONE_NS      INT64_C(2000000000) /* and who has asked has fixed the numbers so long after that */
#define HELD_MOST_NS INT64_C(600000000000)

int nvt_live_steps_are_due(const struct nvt_live_steps *steps)
{
    return steps->wanted && !steps->is_over;
}

int nvt_live_steps_ask(struct nvt_live_steps *steps, struct nvt_control *control, const char *words,
                       int64_t *settle_ns, char *text, size_t size)
{
    char *end;
    const unsigned long long wanted = strtoull(words, &end, 10);
    const int64_t held_ns = *end == ' ' ? strtoll(end + 1, &end, 10) : 0;
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
    *steps = (struct nvt_live_steps){
        .wanted = wanted, .requests = steps->requests + 1, .is_held = held_ns > 0};
    *settle_ns = control->trace & NVT_TRACE_DEVICE ? SETTLE_NS : 0;
    steps->fix_at = nvt_monotonic_ns() + *settle_ns + (held_ns ? held_ns : GONE_NS);
    atomic_store(&control->steps_done, 0);
    atomic_store(&control->steps_from, UINT64_MAX);
    atomic_store(&control->steps_last, UINT64_MAX);
    atomic_store(&control->stepping, steps->requests);
    return 0;
}

int nvt_live_steps_fix(struct nvt_live_steps *steps, struct nvt_control *control, uint64_t from)
{
    const uint64_t seen = atomic_load(&control->steps_seen);
    if (!nvt_live_steps_are_due(steps) || from <= seen || (!steps->fix_at && steps->from <= seen))
        return 0;
    steps->fix_at = 0;
    steps->from = from;
    steps->last = from + steps->wanted - 1;
    /* Who sees the first number sees the last. */
    atomic_store(&control->steps_last, steps->last);
    atomic_store(&control->steps_from, steps->from);
    return 1;
}

int nvt_live_steps_look(struct nvt_live_steps *steps, struct nvt_control *control)
{
    if (!nvt_live_steps_are_due(steps))
        return 0;
    if (steps->fix_at && !steps->is_held && nvt_monotonic_ns() >= steps->fix_at)
        nvt_live_steps_fix(steps, control, atomic_load(&control->steps_seen) + 1);
    steps->processes = atomic_load(&control->steps_done);
    return steps->processes && steps->processes >= atomic_load(&control->steppers);
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
    steps->processes = atomic_load(&control->steps_done);
    steps->is_over = 1;
    steps->is_broken_off = !steps->processes || steps->processes < atomic_load(&control->steppers);
    atomic_store(&control->stepping, 0);
}

void nvt_live_steps_put(const struct nvt_live_steps *steps, const struct nvt_control *control,
                        char *text, size_t size)
{
    const char *state = !steps->wanted         ? "none"
                        : !steps->is_over      ? "waiting"
                        : steps->is_broken_off ? "stopped"
                                               : "done";
    snprintf(text, size,
             "steps\t%s\nwanted\t%" PRIu64 "\nfrom\t%" PRIu64 "\nlast\t%" PRIu64 "\nseen\t%" PRIu64
             "\nprocesses\t%" PRIu32 "\nof\t%" PRIu32 "\n",
             state, steps->wanted, steps->from, steps->last, atomic_load(&control->steps_seen),
             steps->processes, atomic_load(&control->steppers));
}
