/*
 * attention: softmax against matrix products within attention, in time and in FLOPs, by the ranges
 * attention.scores, attention.softmax and attention.values of the workload transformer
 * (analyze/studies/phase_breakdown.h). Time is that of the operations launched in them where the trace has a device,
 * else the ranges' own.
 */
#include <math.h>
#include <string.h>

#include "../studies/phase_breakdown.h"

#include "report.h"

enum { CONFIGURATION, PHASE, PART, RUNS, TIME, FLOPS, RATE, TIME_SHARE, FLOP_SHARE, CLOCK };

static const struct nvt_column_spec columns[] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [PART] = {"part", "", NVT_TEXT, 0, 0},
    [RUNS] = {"times a phase", "", NVT_REAL, 1, 0},
    [TIME] = {"time a phase", "ns", NVT_REAL, 0, 0},
    [FLOPS] = {"FLOPs a phase", "", NVT_REAL, 0, 0},
    [RATE] = {"GFLOP/s", "", NVT_REAL, 3, 0},
    [TIME_SHARE] = {"of the time", "%", NVT_REAL, 1, 0},
    [FLOP_SHARE] = {"of the FLOPs", "%", NVT_REAL, 1, 0},
    [CLOCK] = {"clock", "", NVT_TEXT, 0, 0},
};

enum { SCORES, SOFTMAX, VALUES, PRODUCTS, KINDS };

static const char *const names[KINDS] = {"attention.scores", "attention.softmax",
                                         "attention.values", "products together"};

/* Sums over the runs of a phase. */
struct attention {
    double count[KINDS], flops[KINDS];
    double host_ns[KINDS], device_ns[KINDS];
    int on_device; /* some of it: then what has no operation there takes no time there */
};

static void add(struct attention *attention, const struct nvt_phase_part *part)
{
    for (int kind = SCORES; kind <= VALUES; kind++) {
        if (part->is_kernel || strcmp(part->name, names[kind]))
            continue;
        const int to[] = {kind, PRODUCTS};
        attention->on_device |= part->device_ns > 0;
        for (int i = 0; i < (kind == SOFTMAX ? 1 : 2); i++) {
            attention->count[to[i]] += (double)part->count;
            attention->host_ns[to[i]] += part->ns;
            attention->device_ns[to[i]] += part->device_ns;
            attention->flops[to[i]] += part->flops;
        }
    }
}

static void put(struct nvt_table *table, const struct nvt_breakdown *parts,
                const struct nvt_phase_part *like, const struct attention *attention)
{
    const double runs = (double)nvt_breakdown_runs(parts, like);
    const double *times = attention->on_device ? attention->device_ns : attention->host_ns;
    const double ns = times[PRODUCTS] + times[SOFTMAX];
    const double flops = attention->flops[PRODUCTS] + attention->flops[SOFTMAX];
    for (int kind = 0; kind < KINDS && runs > 0 && ns > 0; kind++) {
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, CONFIGURATION, like->configuration);
        nvt_table_set_text(table, row, PHASE, nvt_phase_name(like->phase));
        nvt_table_set_text(table, row, PART, names[kind]);
        nvt_table_set_real(table, row, RUNS, attention->count[kind] / runs);
        nvt_table_set_real(table, row, TIME, times[kind] / runs);
        nvt_table_set_real(table, row, TIME_SHARE, 100 * times[kind] / ns);
        nvt_table_set_text(table, row, CLOCK, attention->on_device ? "device" : "host");
        if (!(flops > 0))
            continue;
        nvt_table_set_real(table, row, FLOPS, attention->flops[kind] / runs);
        if (times[kind] > 0)
            nvt_table_set_real(table, row, RATE, attention->flops[kind] / times[kind]);
        nvt_table_set_real(table, row, FLOP_SHARE, 100 * attention->flops[kind] / flops);
    }
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_breakdown parts = {0};
    struct nvt_table *table = NULL;
    if (!nvt_breakdown_make(&parts, input, err))
        table = nvt_report_table(&nvt_report_attention, input,
                                 "Softmax against products in attention", err);
    for (size_t from = 0, to; table && from < parts.count; from = to) {
        struct attention attention = {.on_device = 0};
        for (to = from; to < parts.count && parts.items[to].phase == parts.items[from].phase &&
                        parts.items[to].configuration == parts.items[from].configuration;
             to++)
            add(&attention, &parts.items[to]);
        put(table, &parts, &parts.items[from], &attention);
    }
    if (table && !nvt_table_rows(table))
        nvt_note(input,
                 "note: no range attention.scores, attention.softmax or attention.values was found "
                 "in a phase");
    nvt_breakdown_free(&parts);
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_attention = {
    .name = "attention",
    .about = "softmax against matrix products within attention: time, FLOPs, FLOP/s",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
