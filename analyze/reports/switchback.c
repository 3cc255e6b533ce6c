/*
 * switchback: the SwitchBack study. Two tables: a row a configuration with the three totals, how
 * much of the int8 ones is quantisation, and how much sooner they are done than fp16; and a row an
 * operation. Its published layout is that of the benchmark's own file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../input/conditions.h"
#include "../published/switchback.h"
#include "report.h"
#include "../studies/switchback.h"

enum {
    IN,
    OUT,
    BATCH,
    TIMING,
    STANDARD,
    ROWWISE,
    GLOBAL,
    ROWWISE_QUANTIZE,
    GLOBAL_QUANTIZE,
    ROWWISE_SPEEDUP,
    GLOBAL_SPEEDUP,
    STATUS,
    SOURCE,
    CONDITION /* where some differ in it */
};

static const struct nvt_column_spec columns[] = {
    [IN] = {"in", "", NVT_INT, 0, NVT_PLAIN},
    [OUT] = {"out", "", NVT_INT, 0, NVT_PLAIN},
    [BATCH] = {"batch", "", NVT_INT, 0, NVT_PLAIN},
    [TIMING] = {"timing", "", NVT_TEXT, 0, 0},
    [STANDARD] = {"standard (ms)", "ms", NVT_REAL, 4, 0},
    [ROWWISE] = {"rowwise (ms)", "ms", NVT_REAL, 4, 0},
    [GLOBAL] = {"global (ms)", "ms", NVT_REAL, 4, 0},
    [ROWWISE_QUANTIZE] = {"rowwise quantize (%)", "%", NVT_REAL, 1, 0},
    [GLOBAL_QUANTIZE] = {"global quantize (%)", "%", NVT_REAL, 1, 0},
    [ROWWISE_SPEEDUP] = {"rowwise speed-up (%)", "%", NVT_REAL, 1, 0},
    [GLOBAL_SPEEDUP] = {"global speed-up (%)", "%", NVT_REAL, 1, 0},
    [STATUS] = {"status", "", NVT_TEXT, 0, 0},
    [SOURCE] = {"source", "", NVT_TEXT, 0, 0},
    [CONDITION] = {"measured with", "", NVT_TEXT, 0, 0},
};

enum {
    OPERATION = TIMING + 1,
    CALLS,
    MEAN,
    STD,
    TFLOPS,
    GBYTES,
    STANDARD_PART,
    ROWWISE_PART,
    GLOBAL_PART,
    STEP_SOURCE,
    STEP_CONDITION
};

static const struct nvt_column_spec step_columns[] = {
    [IN] = {"in", "", NVT_INT, 0, NVT_PLAIN},
    [OUT] = {"out", "", NVT_INT, 0, NVT_PLAIN},
    [BATCH] = {"batch", "", NVT_INT, 0, NVT_PLAIN},
    [TIMING] = {"timing", "", NVT_TEXT, 0, 0},
    [OPERATION] = {"operation", "", NVT_TEXT, 0, 0},
    [CALLS] = {"calls", "", NVT_INT, 0, 0},
    [MEAN] = {"mean (ms)", "ms", NVT_REAL, 4, 0},
    [STD] = {"std (ms)", "ms", NVT_REAL, 4, 0},
    [TFLOPS] = {"TFLOP/s", "", NVT_REAL, 4, 0},
    [GBYTES] = {"GB/s", "", NVT_REAL, 2, 0},
    [STANDARD_PART] = {"of standard (%)", "%", NVT_REAL, 1, 0},
    [ROWWISE_PART] = {"of rowwise (%)", "%", NVT_REAL, 1, 0},
    [GLOBAL_PART] = {"of global (%)", "%", NVT_REAL, 1, 0},
    [STEP_SOURCE] = {"source", "", NVT_TEXT, 0, 0},
    [STEP_CONDITION] = {"measured with", "", NVT_TEXT, 0, 0},
};

static size_t put_shape(struct nvt_table *table, const struct nvt_switchback_row *from)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, IN, from->in);
    nvt_table_set_int(table, row, OUT, from->out);
    nvt_table_set_int(table, row, BATCH, from->batch);
    nvt_table_set_text(table, row, TIMING, from->timing);
    return row;
}

static void put_totals(struct nvt_table *table, const struct nvt_switchback_row *from,
                       unsigned conditions)
{
    size_t row = put_shape(table, from);
    nvt_condition_put(table, row, CONDITION, from->record, conditions);
    nvt_table_set_text(table, row, STATUS, from->status);
    nvt_table_set_text(table, row, SOURCE, from->source);
    for (size_t i = 0; i < NVT_SWITCHBACK_TOTALS; i++) {
        enum nvt_switchback_total total = (enum nvt_switchback_total)i;
        double time = nvt_switchback_time(from, total);
        nvt_table_set_real(table, row, STANDARD + i, time);
        if (total == NVT_STANDARD)
            continue;
        nvt_table_set_real(table, row, ROWWISE_QUANTIZE + i - 1,
                           100 * nvt_switchback_quantize_time(from, total) / time);
        nvt_table_set_real(table, row, ROWWISE_SPEEDUP + i - 1,
                           nvt_switchback_speedup(from, total));
    }
}

static void put_step(struct nvt_table *table, const struct nvt_switchback_row *from, size_t index,
                     unsigned conditions)
{
    const struct nvt_switchback_step *step = &nvt_switchback_steps[index];
    double seconds = from->steps[index].mean_ms / 1e3;
    size_t row = put_shape(table, from);
    nvt_table_set_text(table, row, OPERATION, step->name);
    nvt_table_set_text(table, row, STEP_SOURCE, from->source);
    nvt_condition_put(table, row, STEP_CONDITION, from->record, conditions);
    if (from->calls >= 1 && from->calls <= 9e15)
        nvt_table_set_int(table, row, CALLS, (int64_t)from->calls);
    nvt_table_set_real(table, row, MEAN, from->steps[index].mean_ms);
    nvt_table_set_real(table, row, STD, from->steps[index].std_ms);
    if (step->kind == NVT_PRODUCT)
        nvt_table_set_real(table, row, TFLOPS, from->steps[index].flops / seconds / 1e12);
    nvt_table_set_real(table, row, GBYTES, from->steps[index].bytes / seconds / 1e9);
    for (size_t i = 0; i < NVT_SWITCHBACK_TOTALS; i++)
        if (step->totals & 1u << i)
            nvt_table_set_real(table, row, STANDARD_PART + i,
                               100 * from->steps[index].mean_ms /
                                   nvt_switchback_time(from, (enum nvt_switchback_total)i));
}

static const char *const further[] = {"switchback_operations", NULL};

static struct nvt_table *new_step_table(const struct nvt_input *input, unsigned conditions,
                                        struct nvt_error *err)
{
    struct nvt_report steps = nvt_report_switchback;
    steps.name = further[0];
    steps.columns = step_columns;
    steps.column_count = conditions ? STEP_CONDITION + 1 : STEP_CONDITION;
    return nvt_report_table(&steps, input, "SwitchBack, operations", err);
}

static int make_tables(struct nvt_input *input, const struct nvt_switchback_row *rows, size_t count,
                       struct nvt_tables *tables, struct nvt_error *err)
{
    unsigned conditions = nvt_conditions_of(input->runs, input->run_count, NVT_OF_ALL);
    struct nvt_table *totals =
        nvt_report_table_of(&nvt_report_switchback, conditions ? CONDITION + 1 : CONDITION, input,
                            "SwitchBack, totals against fp16", err);
    for (size_t i = 0; totals && i < count; i++)
        put_totals(totals, &rows[i], conditions);
    if (nvt_report_add(tables, totals, err))
        return -1;
    struct nvt_table *steps = new_step_table(input, conditions, err);
    for (size_t i = 0; steps && i < count; i++)
        for (size_t k = 0; k < NVT_SWITCHBACK_STEPS && nvt_switchback_ok(&rows[i]); k++)
            put_step(steps, &rows[i], k, conditions);
    return nvt_report_add(tables, steps, err);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    size_t count;
    struct nvt_switchback_row *rows =
        nvt_switchback_rows(input->runs, input->run_count, &count, err);
    if (!rows)
        return -1;
    int status = 0;
    if (!count) {
        status = nvt_fail(err, "holds no run of switchback");
        nvt_error_in(err, input->run_count ? input->runs[0]->path : "input");
    } else {
        status = make_tables(input, rows, count, tables, err);
    }
    free(rows);
    return status;
}

const struct nvt_report nvt_report_switchback = {
    .name = "switchback",
    .about = "int8 against fp16, operation by operation: times, quantisation, speed-up",
    .needs = NVT_NEEDS_RUNS,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .published = nvt_published_switchback,
    .further = further,
};
