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

static void put_totals(struct nvt_table *table, const struct nvt_switchback_row *from,
                       unsigned conditions)
{
    char condition[NVT_CONDITION_SIZE];
    double times[NVT_SWITCHBACK_TOTALS], quantize[NVT_SWITCHBACK_TOTALS];
    for (int i = 0; i < NVT_SWITCHBACK_TOTALS; i++) {
        times[i] = nvt_switchback_time(from, (enum nvt_switchback_total)i);
        quantize[i] = i == NVT_STANDARD
                          ? NAN
                          : nvt_switchback_quantize_time(from, (enum nvt_switchback_total)i);
    }
    nvt_table_put(
        table, from->in, from->out, from->batch, from->timing, times[NVT_STANDARD],
        times[NVT_ROWWISE], times[NVT_GLOBAL], 100 * quantize[NVT_ROWWISE] / times[NVT_ROWWISE],
        100 * quantize[NVT_GLOBAL] / times[NVT_GLOBAL], nvt_switchback_speedup(from, NVT_ROWWISE),
        nvt_switchback_speedup(from, NVT_GLOBAL), from->status, from->source);
    if (conditions)
        nvt_table_more(table, nvt_condition_text(from->record, conditions, condition));
}

static void put_step(struct nvt_table *table, const struct nvt_switchback_row *from, size_t index,
                     unsigned conditions)
{
    const struct nvt_switchback_step *step = &nvt_switchback_steps[index];
    const double ms = from->steps[index].mean_ms, seconds = ms / 1e3;
    char condition[NVT_CONDITION_SIZE];
    nvt_table_put(table, from->in, from->out, from->batch, from->timing, step->name,
                  NVT_IF(from->calls >= 1 && from->calls <= 9e15, (int64_t)from->calls), ms,
                  from->steps[index].std_ms,
                  step->kind == NVT_PRODUCT ? from->steps[index].flops / seconds / 1e12 : NAN,
                  from->steps[index].bytes / seconds / 1e9);
    for (size_t i = 0; i < NVT_SWITCHBACK_TOTALS; i++)
        nvt_table_more(table,
                       NVT_IF(step->totals & 1u << i,
                              100 * ms / nvt_switchback_time(from, (enum nvt_switchback_total)i)));
    nvt_table_more(table, from->source);
    if (conditions)
        nvt_table_more(table, nvt_condition_text(from->record, conditions, condition));
}

static int put_switchback(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    const unsigned conditions = nvt_conditions_of(input->runs, input->run_count, NVT_OF_ALL);
    size_t count;
    struct nvt_switchback_row *rows =
        nvt_switchback_rows(input->runs, input->run_count, &count, making->err);
    for (size_t i = 0; i < 2 && !conditions; i++)
        nvt_table_drop(making->tables[i], "measured with", 1);
    for (size_t i = 0; rows && i < count; i++) {
        put_totals(table, &rows[i], conditions);
        for (size_t k = 0; k < NVT_SWITCHBACK_STEPS && nvt_switchback_ok(&rows[i]); k++)
            put_step(making->tables[1], &rows[i], k, conditions);
    }
    int status = rows ? 0 : -1;
    if (rows && !count)
        status = nvt_input_refuse(input, "switchback", making->err);
    free(rows);
    return status;
}

static const struct nvt_table_kind more[] = {
    {.name = "switchback_operations",
     .title = "SwitchBack, operations",
     .columns = {{"in", NVT_IDS},
                 {"out", NVT_IDS},
                 {"batch", NVT_IDS},
                 {"timing", NVT_NAMES},
                 {"operation", NVT_NAMES},
                 {"calls", NVT_COUNTS},
                 {"mean (ms)", NVT_REALS("ms", 4)},
                 {"std (ms)", NVT_REALS("ms", 4)},
                 {"TFLOP/s", NVT_REALS("", 4)},
                 {"GB/s", NVT_REALS("", 2)},
                 {"of standard (%)", NVT_PERCENT},
                 {"of rowwise (%)", NVT_PERCENT},
                 {"of global (%)", NVT_PERCENT},
                 {"source", NVT_NAMES},
                 {"measured with", NVT_NAMES}}},
    {.title = NULL},
};

const struct nvt_report nvt_report_switchback = {
    .name = "switchback",
    .about = "int8 compared with fp16 by operation: times, quantisation, speed-up",
    .needs = NVT_NEEDS_RUNS,
    .columns = {{"in", NVT_IDS},
                {"out", NVT_IDS},
                {"batch", NVT_IDS},
                {"timing", NVT_NAMES},
                {"standard (ms)", NVT_REALS("ms", 4)},
                {"rowwise (ms)", NVT_REALS("ms", 4)},
                {"global (ms)", NVT_REALS("ms", 4)},
                {"rowwise quantize (%)", NVT_PERCENT},
                {"global quantize (%)", NVT_PERCENT},
                {"rowwise speed-up (%)", NVT_PERCENT},
                {"global speed-up (%)", NVT_PERCENT},
                {"status", NVT_NAMES},
                {"source", NVT_NAMES},
                {"measured with", NVT_NAMES}},
    .title = "SwitchBack, totals compared with fp16",
    .of_input = put_switchback,
    .more = more,
    .published = nvt_published_switchback,
};
