#include "outcomes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../studies/hot_functions.h"

int nvt_outcome_has_both(const struct nvt_outcome *row)
{
    return row->group->sides[0].count && row->group->sides[row->side].count;
}

double nvt_outcome_change_of_total(const struct nvt_outcome *row)
{
    return row->change->total[1] - row->change->total[0];
}

/* The first group of the same configuration: rows of one stand together, in the order of reading. */
static size_t place_of(const struct nvt_sides *groups, size_t g)
{
    size_t first = 0;
    while (strcmp(groups->items[first].configuration, groups->items[g].configuration))
        first++;
    return first;
}

/* Whether a function has too few samples to be told anything of: on all sides together, which does not say which side has more. */
static int is_rare(const struct nvt_compared *group, size_t sides)
{
    size_t samples = 0;
    for (size_t side = 0; side < sides && nvt_is_sampled(group); side++)
        for (size_t i = 0; i < group->sides[side].count; i++)
            samples += group->sides[side].series[i].n;
    return nvt_is_sampled(group) && samples < NVT_FEW_SAMPLES;
}

/* A row that has a place in the table. 0, or -1 (out of memory). */
static int measure_row(struct nvt_outcome *row)
{
    const struct nvt_compared_side *sides[2] = {&row->group->sides[0],
                                                &row->group->sides[row->side]};
    const struct nvt_side a = {sides[0]->series, sides[0]->count};
    const struct nvt_side b = {sides[1]->series, sides[1]->count};
    if (nvt_change_measure(&a, &b, row->change))
        return -1;
    /* The ratio has half a sample more, the time that is shown has not. */
    for (int side = 0; side < 2 && nvt_is_sampled(row->group); side++)
        if (sides[side]->count)
            row->change->typical[side] = sides[side]->shown / (double)sides[side]->count;
    return 0;
}

/* All rows, those of both sides first, whose verdicts are then given. 0 or -1 (out of memory). */
static int measure(struct nvt_outcomes *outcomes, const struct nvt_sides *groups, size_t sides,
                   int is_one_list)
{
    const size_t most = groups->count * (sides - 1) + 1;
    outcomes->rows = calloc(most, sizeof(*outcomes->rows));
    outcomes->changes = calloc(most, sizeof(*outcomes->changes));
    if (!outcomes->rows || !outcomes->changes)
        return -1;
    for (int both = 1; both >= 0; both--)
        for (size_t g = 0; g < groups->count; g++)
            for (size_t side = 1; side < sides; side++) {
                const struct nvt_compared *group = &groups->items[g];
                struct nvt_outcome *row = &outcomes->rows[outcomes->count];
                *row = (struct nvt_outcome){group, side, 0, &outcomes->changes[outcomes->count]};
                if (nvt_outcome_has_both(row) != both ||
                    (!group->sides[0].count && !group->sides[side].count) || is_rare(group, sides))
                    continue;
                if (measure_row(row))
                    return -1;
                row->place = is_one_list ? 0 : place_of(groups, g);
                outcomes->count++;
                outcomes->compared += (size_t)both;
            }
    return 0;
}

static int by_place_and_total(const void *a, const void *b)
{
    const struct nvt_outcome *left = a, *right = b;
    double x = fabs(nvt_outcome_change_of_total(left));
    double y = fabs(nvt_outcome_change_of_total(right));
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    if (x != y)
        return x > y ? -1 : 1;
    return (left->change > right->change) - (left->change < right->change);
}

int nvt_outcomes_make(struct nvt_outcomes *outcomes, const struct nvt_sides *groups, size_t sides,
                      double tolerance, int is_one_list)
{
    if (measure(outcomes, groups, sides, is_one_list) ||
        nvt_change_verdicts(outcomes->changes, outcomes->compared, NVT_CHANGE_ALPHA, tolerance,
                            &outcomes->level))
        return -1;
    if (outcomes->count)
        qsort(outcomes->rows, outcomes->count, sizeof(*outcomes->rows), by_place_and_total);
    return 0;
}

void nvt_outcomes_free(struct nvt_outcomes *outcomes)
{
    free(outcomes->rows);
    free(outcomes->changes);
    *outcomes = (struct nvt_outcomes){0};
}

void nvt_outcomes_above(const struct nvt_outcomes *outcomes, double fraction, size_t *slower,
                        size_t *unknown)
{
    *slower = *unknown = 0;
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct nvt_change *change = outcomes->rows[i].change;
        if (nvt_is_sampled(outcomes->rows[i].group) || !nvt_outcome_has_both(&outcomes->rows[i]))
            continue;
        const int exceeds = change->ratio - 1 > fraction;
        /* A bound within the tolerance is one of what is the same, too. */
        const int is_slower =
            change->verdict == NVT_SLOWER || (change->verdict == NVT_SAME && change->low > 1);
        *slower += exceeds && is_slower;
        *unknown += exceeds && change->verdict == NVT_CANNOT_TELL;
    }
}
