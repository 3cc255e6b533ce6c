/* overhead: the slow-down of each phase at each level of collection (analyze/studies/overhead.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../studies/overhead.h"
#include "../published/transformer.h"
#include "report.h"

static int is_published(const struct nvt_slowdown_row *row)
{
    return !strcmp(row->source, "published");
}

/* Of published rows alone nothing is known of a recorder, of turns, and at times of intervals. */
struct known {
    int intervals, recorders, sources;
};

static struct known known_of(const struct nvt_slowdowns *overheads)
{
    struct known known = {0, 0, 0};
    for (size_t i = 0; i < overheads->count; i++) {
        const int published = is_published(&overheads->rows[i]);
        known.sources |= published;
        known.recorders |= !published;
        known.intervals |= isfinite(overheads->rows[i].low) != 0;
    }
    known.intervals |= known.recorders;
    return known;
}

/* Whether a slow-down is of several pairs, or of twins or halves: not that of the means. */
static int has_pairs(const struct nvt_slowdowns *overheads)
{
    for (size_t i = 0; i < overheads->count; i++)
        if (!is_published(&overheads->rows[i]) &&
            (overheads->rows[i].pairs > 1 ||
             nvt_interleave_is_own_bare(overheads->rows[i].interleave)))
            return 1;
    return 0;
}

static void choose_columns(const struct nvt_making *making, const struct nvt_slowdowns *overheads,
                           const struct known *known)
{
    struct nvt_table *table = making->tables[0];
    /* The ratio of two medians is another number than the median of ratios. */
    if (has_pairs(overheads))
        nvt_making_title(making, "Profiling overhead: times are medians over the pairs, slow-down "
                                 "is the median of the pairs' slow-downs, with its 95 % interval");
    else if (known->intervals)
        nvt_making_title(making, "Profiling overhead: times are medians, slow-down is the ratio of "
                                 "the means, with its 95 % interval");
    if (!known->intervals) {
        nvt_table_drop(table, "low", 2);
        nvt_table_drop(table, "interval from", 1);
    }
    if (!known->recorders)
        nvt_table_drop(table, "recorder", 2);
    if (!known->sources)
        nvt_table_drop(table, "source", 1);
}

static const char *basis_of(const struct nvt_slowdown_row *row)
{
    if (isnan(row->low))
        return NULL;
    return row->pairs == 1  ? "iterations of one run"
           : row->pairs < 6 ? "t of pairs"
                            : "order of pairs";
}

static void put_overhead_row(struct nvt_table *table, const struct nvt_slowdown_row *from,
                             const struct known *known)
{
    nvt_table_put(table, from->configuration, NVT_IF(from->warmup >= 0, from->warmup), from->level,
                  from->phase, from->bare, from->with, from->ratio);
    if (known->intervals)
        nvt_table_more(table, from->low, from->high, from->pairs, basis_of(from));
    else
        nvt_table_more(table, from->pairs);
    if (known->recorders)
        nvt_table_more(table, from->recorder, is_published(from) ? NULL : from->interleave);
    if (known->sources)
        nvt_table_more(table, from->source);
}

static int refuse_overhead(const struct nvt_input *input, const struct nvt_slowdowns *overheads,
                           struct nvt_error *err)
{
    const char *path = input->run_count ? input->runs[0]->path : "input";
    if (!overheads->bare)
        return nvt_fail_at(err, path, -1,
                           "holds no baseline to compare with: run with --collect off,nvtx");
    return nvt_fail_at(err, path, -1, "holds baseline runs only: run with --collect off,nvtx");
}

static int put_overhead(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_slowdowns overheads = {0};
    int status = nvt_slowdowns_make(&overheads, making->input, making->err);
    if (!status && (!overheads.bare || !overheads.count))
        status = refuse_overhead(making->input, &overheads, making->err);
    const struct known known = known_of(&overheads);
    if (!status) {
        choose_columns(making, &overheads, &known);
        for (size_t i = 0; i < overheads.count; i++)
            put_overhead_row(table, &overheads.rows[i], &known);
        if (overheads.short_runs)
            nvt_note(making->input,
                     "note: %zu run%s of interleaved pairs left out: below 3 iterations the first, "
                     "which may be cold, decides; ask for more with --iterations",
                     overheads.short_runs, overheads.short_runs == 1 ? "" : "s");
        if (nvt_slowdowns_caution(&overheads))
            nvt_note(making->input, "note: %s", nvt_slowdowns_caution(&overheads));
    }
    nvt_slowdowns_free(&overheads);
    return status;
}

const struct nvt_report nvt_report_overhead = {
    .name = "overhead",
    .about = "profiling overhead of each phase at each level of collection",
    .needs = NVT_NEEDS_RUNS,
    .columns = {{"configuration", NVT_NAMES},
                {"warmup", NVT_COUNTS},
                {"collect", NVT_NAMES},
                {"phase", NVT_NAMES},
                {"bare", NVT_REALS("ns", 0)},
                {"collected", NVT_REALS("ns", 0)},
                {"slow-down", NVT_REALS("", 4)},
                {"low", NVT_REALS("", 4)},
                {"high", NVT_REALS("", 4)},
                {"pairs", NVT_COUNTS},
                {"interval from", NVT_NAMES},
                {"recorder", NVT_REALS("", 4)},
                {"interleaved", NVT_NAMES},
                {"source", NVT_NAMES}},
    .title = "Profiling overhead",
    .of_input = put_overhead,
    .published = nvt_published_transformer,
};
