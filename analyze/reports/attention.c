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

enum { SCORES, SOFTMAX, VALUES, PRODUCTS, KINDS };

static const char *const names[KINDS] = {"attention.scores", "attention.softmax",
                                         "attention.values", "products together"};

/* Sums over the runs of a phase. */
struct attention {
    double count[KINDS], flops[KINDS];
    double host_ns[KINDS], device_ns[KINDS];
    int on_device; /* some of it: then what has no operation there takes no time there */
};

static void add_attention(struct attention *attention, const struct nvt_phase_part *part)
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

static void put_attention(struct nvt_table *table, const struct nvt_breakdown *parts,
                          const struct nvt_phase_part *like, const struct attention *attention)
{
    const double runs = (double)nvt_breakdown_runs(parts, like);
    const double *times = attention->on_device ? attention->device_ns : attention->host_ns;
    const double ns = times[PRODUCTS] + times[SOFTMAX];
    const double all = attention->flops[PRODUCTS] + attention->flops[SOFTMAX];
    const int has_flops = all > 0;
    for (int kind = 0; kind < KINDS && runs > 0 && ns > 0; kind++) {
        const double flops = attention->flops[kind];
        nvt_table_put(
            table, like->configuration, nvt_phase_name(like->phase), names[kind],
            attention->count[kind] / runs, times[kind] / runs, NVT_IF(has_flops, flops / runs),
            NVT_IF(has_flops && times[kind] > 0, flops / times[kind]), 100 * times[kind] / ns,
            NVT_IF(has_flops, 100 * flops / all), attention->on_device ? "device" : "host");
    }
}

static int put_all_attention(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_breakdown parts = {0};
    int status = nvt_breakdown_make(&parts, making->input, making->err);
    for (size_t from = 0, to; from < parts.count && !status; from = to) {
        struct attention attention = {.on_device = 0};
        to = nvt_breakdown_phase_end(&parts, from);
        for (size_t i = from; i < to; i++)
            add_attention(&attention, &parts.items[i]);
        put_attention(table, &parts, &parts.items[from], &attention);
    }
    nvt_breakdown_free(&parts);
    return status;
}

const struct nvt_report nvt_report_attention = {
    .name = "attention",
    .about = "softmax compared with GEMMs within attention: time, FLOPs, FLOP/s",
    .needs = NVT_PROJECTS,
    .title = "Softmax and GEMMs in attention",
    .columns = {{"configuration", NVT_NAMES},
                {"phase", NVT_NAMES},
                {"part", NVT_NAMES},
                {"times a phase", NVT_REALS("", 1)},
                {"time a phase", NVT_REALS("ns", 0)},
                {"FLOPs a phase", NVT_REALS("", 0)},
                {"GFLOP/s", NVT_REALS("", 3)},
                {"of the time", NVT_PERCENT},
                {"of the FLOPs", NVT_PERCENT},
                {"clock", NVT_NAMES}},
    .nothing =
        "no range attention.scores, attention.softmax or attention.values was found in a phase",
    .of_input = put_all_attention,
};
