/* overhead: the slow-down of each phase at each level of collection (analyze/overhead.h). */
#include <math.h>
#include <stdio.h>

#include "../overhead.h"
#include "../published/transformer.h"

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
    INTERLEAVE
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
};

static const char *basis_of(const struct nvt_slowdown_row *row)
{
    if (isnan(row->low))
        return NULL;
    return row->pairs == 1  ? "iterations of one run"
           : row->pairs < 6 ? "t of pairs"
                            : "order of pairs";
}

static void put_row(struct nvt_table *table, const struct nvt_slowdown_row *from)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, CONFIGURATION, from->configuration);
    if (from->warmup >= 0)
        nvt_table_set_int(table, row, WARMUP, from->warmup);
    nvt_table_set_text(table, row, LEVEL, from->level);
    nvt_table_set_text(table, row, PHASE, from->phase);
    nvt_table_set_real(table, row, BARE, from->bare);
    nvt_table_set_real(table, row, WITH, from->with);
    nvt_table_set_real(table, row, RATIO, from->ratio);
    nvt_table_set_real(table, row, LOW, from->low);
    nvt_table_set_real(table, row, HIGH, from->high);
    nvt_table_set_int(table, row, PAIRS, (int64_t)from->pairs);
    nvt_table_set_text(table, row, BASIS, basis_of(from));
    nvt_table_set_real(table, row, RECORDER, from->recorder);
    nvt_table_set_text(table, row, INTERLEAVE, from->interleave);
}

static int refuse(const struct nvt_report_input *input, const struct nvt_slowdowns *overheads,
                  struct nvt_error *err)
{
    const char *path = input->run_count ? input->runs[0]->path : "input";
    if (!overheads->bare)
        return nvt_fail_at(err, path, -1,
                           "holds no bare run to compare with: run with --collect off,nvtx");
    return nvt_fail_at(err, path, -1, "holds bare runs only: run with --collect off,nvtx");
}

static int make(struct nvt_report_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_slowdowns overheads = {0};
    int status = nvt_slowdowns_make(&overheads, input, err);
    if (!status && (!overheads.bare || !overheads.count))
        status = refuse(input, &overheads, err);
    if (!status) {
        struct nvt_table *table = nvt_report_table(&nvt_report_overhead, input,
                                                   "What collecting costs, 95 % intervals", err);
        for (size_t i = 0; table && i < overheads.count; i++)
            put_row(table, &overheads.rows[i]);
        status = nvt_report_add(tables, table, err);
        if (nvt_slowdowns_caution(&overheads))
            nvt_note(input, "note: %s", nvt_slowdowns_caution(&overheads));
    }
    nvt_slowdowns_free(&overheads);
    return status;
}

const struct nvt_report nvt_report_overhead = {
    .name = "overhead",
    .about = "slow-down of each phase at each level of collection against none",
    .needs = NVT_NEEDS_RUNS,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .published = nvt_published_transformer,
};
