#include "budget_follow.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "budget.h"
#include "budget_levels.h"
#include "levels.h"
#include "output.h"
#include "owners.h"
#include "stale.h"

/* Blocks begin 50 ms after one another: 64 places are enough for the 100 ms between two looks, and a second more. */
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
    struct nvt_control *control = recorder->control;
    control->budget = share;
    control->budget_cycle =
        nvt_output_ticks(recorder->output, recorder->clock, (int64_t)NVT_BUDGET_CYCLE_NS);
    control->budget_levels = nvt_budget_levels(control->trace, control->budget_leaves_out);
}

/* What is not recorded, where that is another thing from this part on. */
static void write_level(struct nvt_budget_follow *follow, struct nvt_recorder *recorder,
                        uint32_t level)
{
    char name[48], left_out[80], value[100];
    if (level == follow->level || level >= NVT_BUDGET_LEVELS)
        return;
    follow->level = level;
    nvt_levels_text(recorder->control->budget_leaves_out[level], left_out, sizeof(left_out));
    snprintf(name, sizeof(name), "levels from part %" PRIu32 " on", follow->parts);
    snprintf(value, sizeof(value), level ? "without %s" : "all", left_out);
    nvt_output_fact(recorder->output, name, value);
}

static void write_part(struct nvt_budget_follow *follow, struct nvt_recorder *recorder,
                       uint64_t from, uint64_t to)
{
    char name[40], value[80];
    const struct nvt_control *control = recorder->control;
    const uint32_t place = follow->parts % NVT_PARTS;
    snprintf(name, sizeof(name), "part %" PRIu32, ++follow->parts);
    write_level(follow, recorder, atomic_load(&control->part_level[place]));
    snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64, from, to);
    follow->recorded += to - from;
    nvt_output_fact(recorder->output, name, value);
}

/* A process that was killed closes nothing, and nobody else decides. */
static void see_to_decider(struct nvt_control *control)
{
    int32_t decider = atomic_load(&control->decider);
    if (!decider || nvt_process_lives(decider) ||
        !atomic_compare_exchange_strong(&control->decider, &decider, 0))
        return;
    atomic_store(&control->window, NVT_WINDOW_BEFORE);
    syscall(SYS_futex, &control->window, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Of the time without it: "0.62 %", at most 1000. */
struct percent {
    char text[24];
};
static struct percent percent_of(double ticks, double elapsed)
{
    struct percent out;
    const double least = elapsed / 11, bare = elapsed - ticks > least ? elapsed - ticks : least;
    double percent = bare > 0 ? 100 * ticks / bare : 0;
    percent = percent > 1000 ? 1000 : percent < -1000 ? -1000 : percent;
    snprintf(out.text, sizeof(out.text),
             percent >= 99.5 || percent <= -99.5 ? "%.0f %%" : "%.2g %%", percent);
    return out;
}

/* "; from part 3 on without osrt": of the level that has come last. */
static void add_level(const struct nvt_control *control, char *text, size_t size)
{
    const uint32_t level = atomic_load(&control->budget_level);
    const uint32_t changes = atomic_load(&control->budget_level_changes);
    char names[80], often[40] = "";
    if (!changes || level >= control->budget_levels)
        return;
    if (changes > 1)
        snprintf(often, sizeof(often), " (%" PRIu32 " changes)", changes);
    nvt_levels_text(control->budget_leaves_out[level], names, sizeof(names));
    snprintf(text, size, "; from part %" PRIu32 " on %s%s%s",
             atomic_load(&control->budget_level_part) + 1,
             level ? "without " : "with all levels again", level ? names : "", often);
}

static void add_cost(const struct nvt_control *control, double elapsed, char *text, size_t size)
{
    const double spent = (double)atomic_load(&control->budget_spent);
    const double watched = (double)atomic_load(&control->budget_watched);
    const double error = (double)atomic_load(&control->budget_error);
    const double compared = (double)atomic_load(&control->budget_compared);
    const double compared_error = (double)atomic_load(&control->budget_compared_error);
    const double least = spent - error > watched ? spent - error : watched;
    snprintf(text, size, "; recording cost %s (%s to %s), by bare iterations alone %s (%s to %s)",
             percent_of(spent, elapsed).text, percent_of(least, elapsed).text,
             percent_of(spent + error, elapsed).text, percent_of(compared, elapsed).text,
             percent_of(compared - compared_error, elapsed).text,
             percent_of(compared + compared_error, elapsed).text);
}

const char *nvt_budget_text(const struct nvt_control *control, char *text, size_t size)
{
    const double elapsed = (double)atomic_load(&control->budget_elapsed);
    const double watched = (double)atomic_load(&control->budget_watched);
    const uint64_t iterations = atomic_load(&control->budget_iterations);
    const uint64_t recorded = atomic_load(&control->budget_recorded);
    if (!iterations)
        snprintf(text, size, "no iterations began");
    else if (!recorded && watched > control->budget * elapsed)
        snprintf(text, size,
                 "recorded none of %" PRIu64 " iterations: to count them alone costs %s",
                 iterations, percent_of(watched, elapsed).text);
    else {
        int used = snprintf(text, size, "recorded %" PRIu64 " of %" PRIu64 " iterations", recorded,
                            iterations);
        add_cost(control, elapsed, text + used, size - (size_t)used);
        used += (int)strlen(text + used);
        add_level(control, text + used, size - (size_t)used);
    }
    return text;
}

static void write_facts(const struct nvt_budget_follow *follow, struct nvt_recorder *recorder)
{
    char text[NVT_BUDGET_TEXT];
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
