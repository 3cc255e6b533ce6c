#include "budget_follow.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "output.h"
#include "owners.h"
#include "stale.h"

#define CYCLE_NS                                                                                   \
    INT64_C(50000000) /* 64 places are enough for the 100 ms between two looks, and a second more */
#define LOOK_NS INT64_C(1000000000)

int nvt_budget_parse(const char *text, double *share, struct nvt_error *err)
{
    char *end;
    const double percent = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0.01) || percent > 50)
        return nvt_fail(err, "--budget %.40s: must be a share from 0.01%% to 50%%, such as 1%%",
                        text);
    *share = percent / 100;
    return 0;
}

void nvt_budget_prepare(struct nvt_recorder *recorder, double share)
{
    recorder->control->budget = share;
    recorder->control->budget_cycle = nvt_output_ticks(recorder->output, recorder->clock, CYCLE_NS);
}

static void write_part(struct nvt_budget_follow *follow, struct nvt_recorder *recorder,
                       uint64_t from, uint64_t to)
{
    char name[40], value[80];
    snprintf(name, sizeof(name), "part %" PRIu32, ++follow->parts);
    snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64, from, to);
    follow->recorded += to - from;
    nvt_output_fact(recorder->output, name, value);
}

/* A process that was killed closes nothing, and nobody else decides. */
static void see_to_decider(struct nvt_control *control)
{
    int32_t decider = atomic_load(&control->decider);
    if (!decider || nvt_process_is(decider, nvt_process_start(decider)) ||
        !atomic_compare_exchange_strong(&control->decider, &decider, 0))
        return;
    atomic_store(&control->window, NVT_WINDOW_BEFORE);
    syscall(SYS_futex, &control->window, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static double percent_of(double ticks, double elapsed)
{
    return elapsed > ticks ? 100 * ticks / (elapsed - ticks) : 0;
}

const char *nvt_budget_text(const struct nvt_control *control, char *text, size_t size)
{
    const double elapsed = (double)atomic_load(&control->budget_elapsed);
    const double spent = (double)atomic_load(&control->budget_spent);
    const double watched = (double)atomic_load(&control->budget_watched);
    const double error = (double)atomic_load(&control->budget_error);
    const uint64_t iterations = atomic_load(&control->budget_iterations);
    const uint64_t recorded = atomic_load(&control->budget_recorded);
    const double least = spent - error > watched ? spent - error : watched;
    if (!iterations)
        snprintf(text, size, "no iterations began");
    else if (!recorded && watched > control->budget * elapsed)
        snprintf(text, size,
                 "recorded none of %" PRIu64 " iterations: to count them alone costs %.2g %%",
                 iterations, percent_of(watched, elapsed));
    else
        snprintf(text, size,
                 "recorded %" PRIu64 " of %" PRIu64
                 " iterations; recording cost %.2g %% (%.2g %% to %.2g %%)",
                 recorded, iterations, percent_of(spent, elapsed), percent_of(least, elapsed),
                 percent_of(spent + error, elapsed));
    return text;
}

static void write_facts(const struct nvt_budget_follow *follow, struct nvt_recorder *recorder)
{
    char text[200];
    const uint64_t second = nvt_output_ticks(recorder->output, recorder->clock, 1000000000);
    snprintf(text, sizeof(text), "%g %%", recorder->control->budget * 100);
    nvt_output_fact(recorder->output, "budget", text);
    nvt_output_fact(recorder->output, "budget use",
                    nvt_budget_text(recorder->control, text, sizeof(text)));
    snprintf(text, sizeof(text), "%" PRIu32 " part%s, %.9g s", follow->parts,
             follow->parts == 1 ? "" : "s", (double)follow->recorded / (double)second);
    nvt_output_fact(recorder->output, "recorded", text);
}

void nvt_budget_look(struct nvt_budget_follow *follow, struct nvt_recorder *recorder, int ends)
{
    struct nvt_control *control = recorder->control;
    const int64_t now = nvt_monotonic_ns();
    if (!(control->budget > 0))
        return;
    if (now >= follow->next_look) {
        see_to_decider(control);
        follow->next_look = now + LOOK_NS;
    }
    const uint32_t over = atomic_load(&control->parts), before = follow->parts;
    while (follow->parts < over) {
        const uint32_t i = follow->parts % NVT_PARTS;
        write_part(follow, recorder, atomic_load(&control->part_from[i]),
                   atomic_load(&control->part_to[i]));
    }
    if (ends && atomic_load(&control->window) == NVT_WINDOW_OPEN) {
        write_part(follow, recorder, atomic_load(&control->opened), nvt_ticks(recorder->clock));
        atomic_store(&control->window, NVT_WINDOW_BEFORE);
    }
    if (ends || follow->parts != before)
        write_facts(follow, recorder);
}
