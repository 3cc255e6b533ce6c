#include "headline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/quantity_text.h"
#include "../model/loop_names.h"

/* The name of a range behind its domain. */
static const char *plain_of(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon && colon[1] && colon[1] != ':' ? colon + 1 : name;
}

static int is_iteration(const char *name)
{
    return nvt_loop_of(name) || !strncmp(name, "ProfilerStep#", 13);
}

/* How well a row stands for all of a run. */
enum { KERNEL, PART, ITERATION };

static int fitness(const struct nvt_compared *group)
{
    if (group->kind == NVT_GROUP_RANGE && is_iteration(plain_of(group->name)))
        return ITERATION;
    return group->kind == NVT_GROUP_PHASE || group->kind == NVT_GROUP_RANGE ? PART : KERNEL;
}

static int is_better(const struct nvt_outcome *row, const struct nvt_outcome *than)
{
    if (!than)
        return 1;
    const int mine = fitness(row->group), its = fitness(than->group);
    return mine != its ? mine > its : row->change->total[0] > than->change->total[0];
}

static void count(struct nvt_headline *headline, enum nvt_verdict verdict)
{
    headline->slower += verdict == NVT_SLOWER;
    headline->faster += verdict == NVT_FASTER;
    headline->same += verdict == NVT_SAME;
    headline->cannot_tell += verdict == NVT_CANNOT_TELL;
}

struct nvt_headline nvt_headline_of(const struct nvt_comparison *comparison, size_t side)
{
    const struct nvt_outcomes *outcomes = &comparison->outcomes;
    struct nvt_headline headline = {.side = side};
    const char *configuration = NULL;
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct nvt_outcome *row = &outcomes->rows[i];
        if (row->side != side || !nvt_outcome_has_both(row) || nvt_is_sampled(row->group))
            continue;
        if (!configuration || strcmp(configuration, row->group->configuration) != 0)
            headline.of_configurations++;
        configuration = row->group->configuration;
        count(&headline, row->change->verdict);
        if (is_better(row, headline.main))
            headline.main = row;
    }
    if (headline.of_configurations > 1)
        headline.main = NULL;
    return headline;
}

/* "4.1 %": of a change, two digits. */
static const char *percent(double ratio, char out[NVT_TIME_MAX])
{
    const double value = 100 * fabs(ratio - 1);
    snprintf(out, NVT_TIME_MAX, "%.*f", value < 9.95 ? 1 : 0, value);
    return out;
}

static void put_change(const struct nvt_outcome *row, const char *name, char side, char *out)
{
    const struct nvt_change *change = row->change;
    const int is_slower = change->verdict == NVT_SLOWER, is_all = fitness(row->group) == ITERATION;
    char by[NVT_TIME_MAX], low[NVT_TIME_MAX], high[NVT_TIME_MAX], what[48];
    /* What takes 3 to 5 % less time has ratios of 0.97 to 0.95. */
    percent(is_slower ? change->low : change->high, low);
    percent(is_slower ? change->high : change->low, high);
    snprintf(what, sizeof(what), is_slower ? "is %s %%" : "takes %s %%",
             percent(change->ratio, by));
    snprintf(out, NVT_HEADLINE_MAX, "%c%s%.100s %s [%s, %s] %s: %s%s%s → %s", side,
             is_all ? "" : ": ", is_all ? "" : name, what, low, high,
             is_slower ? "slower" : "less time", is_all ? name : "", is_all ? " " : "",
             NVT_TIME(change->typical[0]), NVT_TIME(change->typical[1]));
}

/* A change that large is not seen: that is no answer, and no difference. */
#define MOST_SEEN 1.2

/* The smallest change that an interval around none would not hold: what would have been seen. */
static double would_see(const struct nvt_change *change)
{
    const double half = (log(change->high) - log(change->low)) / 2;
    return exp(half);
}

const char *nvt_headline_counts(const struct nvt_headline *headline, char out[NVT_HEADLINE_MAX])
{
    const struct {
        size_t count;
        const char *what;
    } parts[] = {{headline->slower, "slower"},
                 {headline->faster, "faster"},
                 {headline->same, "the same"},
                 {headline->cannot_tell, "cannot tell"}};
    size_t used = 0, all = 0;
    *out = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++)
        all += parts[i].count;
    for (size_t i = 0; i < NVT_COUNT_OF(parts) && all > 1; i++)
        if (parts[i].count)
            used += (size_t)snprintf(out + used, NVT_HEADLINE_MAX - used, "%s%zu %s",
                                     used ? ", " : "", parts[i].count, parts[i].what);
    return out;
}

const char *nvt_headline_text(const struct nvt_headline *headline, char out[NVT_HEADLINE_MAX])
{
    const struct nvt_outcome *row = headline->main;
    const char side = (char)('A' + headline->side);
    char text[NVT_TIME_MAX];
    if (!row && headline->of_configurations) {
        char counts[NVT_HEADLINE_MAX];
        snprintf(out, NVT_HEADLINE_MAX, "%c in %zu configurations: %.200s", side,
                 headline->of_configurations, nvt_headline_counts(headline, counts));
        return out;
    }
    if (!row) {
        snprintf(out, NVT_HEADLINE_MAX, "%c has nothing in common with A", side);
        return out;
    }
    const struct nvt_change *change = row->change;
    const char *name = plain_of(row->group->name);
    if (change->verdict == NVT_SLOWER || change->verdict == NVT_FASTER)
        put_change(row, name, side, out);
    else if (change->verdict == NVT_SAME)
        snprintf(out, NVT_HEADLINE_MAX,
                 "%c is the same as A: %.100s %s, a change of %s %% excluded", side, name,
                 NVT_TIME(change->typical[1]), percent(would_see(change), text));
    else if (isfinite(change->low) && isfinite(change->high) && would_see(change) > MOST_SEEN)
        snprintf(out, NVT_HEADLINE_MAX,
                 "%c: cannot tell whether %.100s changed: less than %s %% would not be seen", side,
                 name, percent(would_see(change), text));
    else if (isfinite(change->low) && isfinite(change->high))
        snprintf(out, NVT_HEADLINE_MAX, "%c: no difference found in %.100s, would have seen %s %%",
                 side, name, percent(would_see(change), text));
    else
        snprintf(out, NVT_HEADLINE_MAX,
                 "%c: cannot tell whether %.100s changed; give more runs of each side", side, name);
    return out;
}
