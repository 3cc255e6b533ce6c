#include "compare_table.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

#define NO_BOUND 1e4 /* a ratio that says no more than that there is no upper bound */

static const struct nvt_column columns[] = {{"configuration", NVT_NAMES},
                                            {"kind", NVT_NAME_KINDS},
                                            {"name", NVT_KERNELS},
                                            {"side", NVT_NAMES},
                                            {"n A", NVT_SPARE_COUNTS},
                                            {"n", NVT_SPARE_COUNTS},
                                            {"change of total", NVT_REALS("ns", 0)},
                                            {"typical A", NVT_NS_AVERAGE},
                                            {"typical", NVT_NS_AVERAGE},
                                            {"change", NVT_REALS("%", 2)},
                                            {"low", NVT_REALS("%", 2)},
                                            {"high", NVT_REALS("%", 2)},
                                            {"verdict", NVT_VERDICTS}};

static const char *verdict_of(const struct nvt_outcome *row)
{
    static const char *const missing[NVT_SIDES] = {"only in A", "only in B", "only in C",
                                                   "only in D", "only in E", "only in F",
                                                   "only in G", "only in H"};
    if (nvt_outcome_has_both(row))
        return nvt_verdict_name(row->change->verdict);
    return missing[row->group->sides[0].count ? 0 : row->side];
}

/* Whether a row has a configuration; traces of one's own mostly have none, and no column for it. */
static int has_configurations(const struct nvt_outcomes *outcomes)
{
    for (size_t i = 0; i < outcomes->count; i++)
        if (outcomes->rows[i].group->configuration[0])
            return 1;
    return 0;
}

static void add_row(struct nvt_table *table, const struct nvt_sides *groups,
                    const struct nvt_outcome *from, int has_configuration)
{
    const struct nvt_compared *group = from->group;
    const struct nvt_change *change = from->change;
    const char name[] = {(char)('A' + from->side), 0};
    const int has_times = !nvt_is_sampled(group) || !groups->functions.are_counts;
    nvt_table_add_row(table);
    if (has_configuration)
        nvt_table_more(table, nvt_text_if_any(group->configuration));
    nvt_table_more(table, nvt_compared_kind_name(group->kind), group->name, name, change->n[0],
                   change->n[1], NVT_IF(has_times, nvt_outcome_change_of_total(from)),
                   NVT_IF(has_times, change->typical[0]), NVT_IF(has_times, change->typical[1]),
                   100 * (change->ratio - 1), 100 * (change->low - 1),
                   NVT_IF(change->high < NO_BOUND, 100 * (change->high - 1)), verdict_of(from));
}

/* What the sides have in common, or "A x, B y". NULL where nothing is known of any. */
static const char *together(const struct nvt_sides *groups, size_t offset, size_t sides, char *out,
                            size_t size)
{
    const char *first = (const char *)&groups->origins[0] + offset;
    size_t used = 0;
    int same = 1;
    for (size_t side = 1; side < sides; side++)
        same &= !strcmp(first, (const char *)&groups->origins[side] + offset);
    for (size_t side = 0; side < (same ? 1 : sides) && used < size; side++) {
        const char *text = (const char *)&groups->origins[side] + offset;
        char letter[4] = {(char)('A' + side), ' ', 0};
        used += (size_t)snprintf(out + used, size - used, "%s%s%s", side ? ", " : "",
                                 same ? "" : letter, *text || same ? text : "not stated");
    }
    return same && !*first ? NULL : out;
}

void nvt_compare_set_provenance(struct nvt_table *table, const struct nvt_sides *groups,
                                size_t sides)
{
    char backend[640], device[1400], date[640], condition[2200];
    const struct nvt_provenance provenance = {
        .backend =
            together(groups, offsetof(struct nvt_origin, backend), sides, backend, sizeof(backend)),
        .device =
            together(groups, offsetof(struct nvt_origin, device), sides, device, sizeof(device)),
        .date = together(groups, offsetof(struct nvt_origin, date), sides, date, sizeof(date)),
        .condition = together(groups, offsetof(struct nvt_origin, condition), sides, condition,
                              sizeof(condition))};
    nvt_table_set_provenance(table, &provenance);
}

/* "99.2": as many decimals as tell it from 100. */
static void print_level(double level, char *out, size_t size)
{
    const double rest = 100 * (1 - level);
    const int decimals = rest < 0.9999 ? (int)ceil(-log10(rest)) : fabs(rest - round(rest)) > 0.05;
    snprintf(out, size, "%.*f", decimals, 100 * level);
}

static void print_title(const struct nvt_outcomes *outcomes, const struct nvt_sides *groups,
                        char *out, size_t size)
{
    char level[32], rows[64] = "";
    size_t ranks = 0, runs = 0;
    int are_sampled = 0;
    print_level(outcomes->level, level, sizeof(level));
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct nvt_change *change = outcomes->rows[i].change;
        are_sampled |= nvt_is_sampled(outcomes->rows[i].group);
        ranks = change->ranks > ranks ? change->ranks : ranks;
        for (int side = 0; side < 2; side++)
            runs = change->runs[side] > runs ? change->runs[side] : runs;
    }
    if (outcomes->level > 1 - NVT_CHANGE_ALPHA)
        snprintf(rows, sizeof(rows), " (%g %% over all rows)", 100 * (1 - NVT_CHANGE_ALPHA));
    size_t used = (size_t)snprintf(
        out, size, "Change from side A, verdicts and intervals at %s %%%s", level, rows);
    if (ranks > 1 && used < size)
        used += (size_t)snprintf(out + used, size - used, ", %zu ranks, each compared with itself",
                                 ranks);
    if (runs > 1 && used < size)
        used += (size_t)snprintf(out + used, size - used,
                                 "; totals are per run, n counts all runs of a side");
    if (are_sampled && used < size)
        snprintf(out + used, size - used, "; functions: CPU time %s, n counts samples",
                 groups->functions.by_iteration ? "per iteration" : "in total");
}

struct nvt_table *nvt_compare_table(const struct nvt_outcomes *outcomes,
                                    const struct nvt_sides *groups, size_t sides, size_t top)
{
    char title[320];
    print_title(outcomes, groups, title, sizeof(title));
    const int has_configuration = has_configurations(outcomes);
    struct nvt_table *table = nvt_table_new("compare", title, columns, NVT_COUNT_OF(columns));
    if (table)
        nvt_compare_set_provenance(table, groups, sides);
    if (!has_configuration)
        nvt_table_drop(table, "configuration", 1);
    if (top && top < outcomes->count)
        nvt_table_set_all(table, outcomes->count);
    for (size_t i = 0; table && i < outcomes->count && (!top || i < top); i++)
        add_row(table, groups, &outcomes->rows[i], has_configuration);
    return table;
}
