/* overhead: the slow-down of each phase at each level of collection (analyze/studies/overhead.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../studies/overhead.h"
#include "../published/transformer.h"
#include "report.h"

enum {
    CONFIGURATION,
    WARMUP,
    LEVEL,
    PHASE,
    BARE,
    WITH,
    RATIO,
    LOW,
    HIGH,
    PAIRS,
    BASIS,
    RECORDER,
    INTERLEAVE,
    SOURCE, /* where something is published */
    COLUMNS
};

static const struct nvt_column_spec columns[] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [WARMUP] = {"warmup", "", NVT_INT, 0, 0},
    [LEVEL] = {"collect", "", NVT_TEXT, 0, 0},
    [PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [BARE] = {"bare", "ns", NVT_REAL, 0, 0},
    [WITH] = {"collected", "ns", NVT_REAL, 0, 0},
    [RATIO] = {"slow-down", "", NVT_REAL, 4, 0},
    [LOW] = {"low", "", NVT_REAL, 4, 0},
    [HIGH] = {"high", "", NVT_REAL, 4, 0},
    [PAIRS] = {"pairs", "", NVT_INT, 0, 0},
    [BASIS] = {"interval from", "", NVT_TEXT, 0, 0},
    [RECORDER] = {"recorder", "", NVT_REAL, 4, 0},
    [INTERLEAVE] = {"interleaved", "", NVT_TEXT, 0, 0},
    [SOURCE] = {"source", "", NVT_TEXT, 0, 0},
};

/* The table, and which of the columns it has: place[c] is where, or NONE. */
struct sheet {
    struct nvt_table *table;
    size_t place[COLUMNS];
};
#define NONE SIZE_MAX

static void put_text(const struct sheet *sheet, size_t row, int column, const char *text)
{
    if (sheet->place[column] != NONE)
        nvt_table_set_text(sheet->table, row, sheet->place[column], text);
}

static void put_real(const struct sheet *sheet, size_t row, int column, double value)
{
    if (sheet->place[column] != NONE)
        nvt_table_set_real(sheet->table, row, sheet->place[column], value);
}

static void put_int(const struct sheet *sheet, size_t row, int column, int64_t value)
{
    if (sheet->place[column] != NONE)
        nvt_table_set_int(sheet->table, row, sheet->place[column], value);
}

static int is_published(const struct nvt_slowdown_row *row)
{
    return !strcmp(row->source, "published");
}

/* Of published rows alone nothing is known of a recorder, of turns, and at times of intervals. */
static void choose_columns(const struct nvt_slowdowns *overheads, int has[COLUMNS])
{
    size_t published = 0;
    int intervals = 0;
    for (size_t i = 0; i < overheads->count; i++) {
        published += (size_t)is_published(&overheads->rows[i]);
        intervals |= isfinite(overheads->rows[i].low);
    }
    for (int column = 0; column < COLUMNS; column++)
        has[column] = column != SOURCE || published;
    if (published < overheads->count)
        return;
    has[LOW] = has[HIGH] = has[BASIS] = intervals;
    has[RECORDER] = has[INTERLEAVE] = 0;
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

static struct sheet new_sheet(const struct nvt_slowdowns *overheads, const struct nvt_input *input,
                              struct nvt_error *err)
{
    struct nvt_report report = nvt_report_overhead;
    struct nvt_column_spec specs[COLUMNS];
    struct sheet sheet;
    int has[COLUMNS];
    choose_columns(overheads, has);
    report.columns = specs;
    report.column_count = 0;
    for (int column = 0; column < COLUMNS; column++) {
        sheet.place[column] = has[column] ? report.column_count : NONE;
        if (has[column])
            specs[report.column_count++] = columns[column];
    }
    /* The ratio of two medians is another number than the median of ratios. */
    sheet.table = nvt_report_table(
        &report, input,
        has_pairs(overheads) ? "What collecting costs: times are medians over the pairs, slow-down "
                               "is the median of the pairs' slow-downs, with its 95 % interval"
        : has[LOW] ? "What collecting costs: times are medians, slow-down is the ratio of the "
                     "means, with its 95 % interval"
                   : "What collecting costs",
        err);
    return sheet;
}

static const char *basis_of(const struct nvt_slowdown_row *row)
{
    if (isnan(row->low))
        return NULL;
    return row->pairs == 1  ? "iterations of one run"
           : row->pairs < 6 ? "t of pairs"
                            : "order of pairs";
}

static void put_row(const struct sheet *sheet, const struct nvt_slowdown_row *from)
{
    size_t row = nvt_table_add_row(sheet->table);
    put_text(sheet, row, CONFIGURATION, from->configuration);
    if (from->warmup >= 0)
        put_int(sheet, row, WARMUP, from->warmup);
    put_text(sheet, row, LEVEL, from->level);
    put_text(sheet, row, PHASE, from->phase);
    put_real(sheet, row, BARE, from->bare);
    put_real(sheet, row, WITH, from->with);
    put_real(sheet, row, RATIO, from->ratio);
    put_real(sheet, row, LOW, from->low);
    put_real(sheet, row, HIGH, from->high);
    put_int(sheet, row, PAIRS, (int64_t)from->pairs);
    put_text(sheet, row, BASIS, basis_of(from));
    put_real(sheet, row, RECORDER, from->recorder);
    put_text(sheet, row, INTERLEAVE, is_published(from) ? NULL : from->interleave);
    put_text(sheet, row, SOURCE, from->source);
}

static int refuse(const struct nvt_input *input, const struct nvt_slowdowns *overheads,
                  struct nvt_error *err)
{
    const char *path = input->run_count ? input->runs[0]->path : "input";
    if (!overheads->bare)
        return nvt_fail_at(err, path, -1,
                           "holds no bare run to compare with: run with --collect off,nvtx");
    return nvt_fail_at(err, path, -1, "holds bare runs only: run with --collect off,nvtx");
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_slowdowns overheads = {0};
    int status = nvt_slowdowns_make(&overheads, input, err);
    if (!status && (!overheads.bare || !overheads.count))
        status = refuse(input, &overheads, err);
    if (!status) {
        const struct sheet sheet = new_sheet(&overheads, input, err);
        for (size_t i = 0; sheet.table && i < overheads.count; i++)
            put_row(&sheet, &overheads.rows[i]);
        status = nvt_report_add(tables, sheet.table, err);
        if (overheads.short_runs)
            nvt_note(input,
                     "note: %zu run%s with twins left out: of fewer than 3 iterations the first, "
                     "which may be cold, decides; give more by --iterations",
                     overheads.short_runs, overheads.short_runs == 1 ? "" : "s");
        if (nvt_slowdowns_caution(&overheads))
            nvt_note(input, "note: %s", nvt_slowdowns_caution(&overheads));
    }
    nvt_slowdowns_free(&overheads);
    return status;
}

const struct nvt_report nvt_report_overhead = {
    .name = "overhead",
    .about = "slow-down of each phase at each level of collection, against runs without",
    .needs = NVT_NEEDS_RUNS,
    .columns = columns,
    .column_count = SOURCE,
    .make = make,
    .published = nvt_published_transformer,
};
