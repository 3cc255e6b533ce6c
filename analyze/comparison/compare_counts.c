#include "compare_counts.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/count_of.h"
#include "../studies/range_counts.h"

#define LEAST_CALLS   5
#define FACTOR        1.5
#define FAULTS_MORE   10
#define SWITCHES_MORE 2
#define RANGES_SHOWN  3

/* Parts of a group's key. */
enum { NAME, COUNT, SIDE, PARTS };

static const struct {
    enum nvt_count count;
    const char *name;
    double least; /* by which medians are apart */
} compared[] = {
    {NVT_COUNT_MINOR_FAULTS, "minor faults", FAULTS_MORE},
    {NVT_COUNT_MAJOR_FAULTS, "major faults", SWITCHES_MORE},
    {NVT_COUNT_VOLUNTARY, "voluntary switches", SWITCHES_MORE},
    {NVT_COUNT_INVOLUNTARY, "involuntary switches", SWITCHES_MORE},
};

static void add_range(struct nvt_groups *groups, size_t side,
                      const struct nvt_counted_ranges *counted, uint32_t range)
{
    const uint32_t name = nvt_groups_range(groups, range);
    for (uint32_t i = 0; i < NVT_COUNT_OF(compared); i++) {
        const enum nvt_count count = compared[i].count;
        const int64_t own = counted->own[range].of[count],
                      value = own >= 0 ? own : counted->all[range].of[count];
        const uint32_t key[PARTS] = {name, i, (uint32_t)side};
        if (value >= 0)
            nvt_groups_add(groups, nvt_groups_key(groups, key, PARTS), value);
    }
}

int nvt_compared_counts_add(struct nvt_compared_counts *counts, size_t side,
                            const struct nvt_input *input, struct nvt_error *err)
{
    int status = 0;
    for (size_t t = 0; t < input->trace_count && !status; t++) {
        const struct nvt_trace *trace = input->traces[t].trace;
        struct nvt_counted_ranges counted = {.all = NULL};
        if (!trace->range_counts.count)
            continue;
        counts->has[side] = 1;
        status = nvt_counted_ranges_make(&counted, trace, err);
        nvt_groups_trace(&counts->groups, trace);
        for (uint32_t i = 0; i < trace->ranges.count && !status; i++)
            add_range(&counts->groups, side, &counted, i);
        if (!status && nvt_compared_rates_add(&counts->rates, side, &counted))
            status = nvt_fail(err, "out of memory");
        nvt_counted_ranges_free(&counted);
    }
    return status;
}

/* --- what differs ------------------------------------------------------------------------------- */

struct change {
    uint32_t name, count;      /* `count`: in `compared` */
    double medians[NVT_SIDES]; /* NaN: unknown */
    double apart;              /* from the first, at most, over what is the least */
};

static int is_apart(double a, double b, double least)
{
    const double low = fmin(a, b), high = fmax(a, b);
    return high >= FACTOR * low && high - low >= least;
}

/* The medians of a group of the first side, and of the others of that range and count; `apart` is 0 where none differs. */
static struct change change_of(struct nvt_groups *groups, uint32_t group, size_t sides)
{
    const uint32_t *key = groups->groups[group].key;
    struct change change = {.name = key[NAME], .count = key[COUNT]};
    const double least = compared[change.count].least;
    for (size_t side = 0; side < NVT_SIDES; side++)
        change.medians[side] = NAN;
    for (uint32_t i = 0; i < groups->count; i++) {
        const uint32_t *other = groups->groups[i].key;
        if (other[NAME] == key[NAME] && other[COUNT] == key[COUNT] &&
            groups->groups[i].count >= LEAST_CALLS)
            change.medians[other[SIDE]] = nvt_groups_summary(groups, i).median;
    }
    for (size_t side = 1; side < sides; side++)
        if (is_apart(change.medians[0], change.medians[side], least))
            change.apart =
                fmax(change.apart, fabs(change.medians[side] - change.medians[0]) / least);
    return change;
}

static int by_distance(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    return (a->apart < b->apart) - (a->apart > b->apart);
}

static int put_change(const struct nvt_groups *groups, const struct change *change, size_t sides,
                      struct nvt_buffer *out)
{
    int failed = nvt_buffer_printf(out, "%s%s has ", out->size ? "; " : "",
                                   nvt_groups_name(groups, change->name));
    for (size_t side = 0, put = 0; side < sides && !failed; side++) {
        if (isnan(change->medians[side]))
            continue;
        failed = nvt_buffer_printf(out, "%s%g", put ? ", " : "", change->medians[side]);
        if (!failed && !put++)
            failed = nvt_buffer_printf(out, " %s a call", compared[change->count].name);
        if (!failed)
            failed = nvt_buffer_printf(out, " on side %c", (char)('A' + side));
    }
    return failed ? -1 : 0;
}

int nvt_compared_counts_text(struct nvt_compared_counts *counts, size_t sides,
                             struct nvt_buffer *out, struct nvt_error *err)
{
    struct nvt_groups *groups = &counts->groups;
    uint32_t found = 0;
    if (nvt_groups_finish(groups, err))
        return -1;
    struct change *changes = malloc(((size_t)groups->count + 1) * sizeof(*changes));
    int failed = !changes;
    for (uint32_t i = 0; i < groups->count && !failed; i++) {
        if (groups->groups[i].key[SIDE] || groups->groups[i].count < LEAST_CALLS)
            continue;
        changes[found] = change_of(groups, i, sides);
        found += changes[found].apart > 0;
    }
    if (!failed)
        qsort(changes, found, sizeof(*changes), by_distance);
    for (uint32_t i = 0; i < found && i < RANGES_SHOWN && !failed; i++)
        failed = put_change(groups, &changes[i], sides, out);
    free(changes);
    if (!failed)
        failed = nvt_compared_rates_text(&counts->rates, sides, out);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

int nvt_compared_counts_note(const struct nvt_compared_counts *counts, size_t sides,
                             struct nvt_buffer *out)
{
    int any = 0, failed = 0;
    for (size_t side = 0; side < sides; side++)
        any |= counts->has[side];
    for (size_t side = 0; side < sides && any && !failed; side++)
        if (!counts->has[side])
            failed = nvt_buffer_printf(out,
                                       "note: CPU counters are not compared with side %c, which "
                                       "has none (nvtally record --trace counters)\n",
                                       (char)('A' + side));
    return failed ? -1 : 0;
}

void nvt_compared_counts_free(struct nvt_compared_counts *counts)
{
    nvt_groups_free(&counts->groups);
    nvt_compared_rates_free(&counts->rates);
}
