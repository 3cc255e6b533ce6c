#include "switchback.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN_STANDARD = 1 << NVT_STANDARD,
    IN_ROWWISE = 1 << NVT_ROWWISE,
    IN_GLOBAL = 1 << NVT_GLOBAL
};

const struct nvt_switchback_step nvt_switchback_steps[NVT_SWITCHBACK_STEPS] = {
    {"standard_fwd", NVT_PRODUCT, IN_STANDARD},
    {"standard_gw", NVT_PRODUCT, IN_STANDARD | IN_ROWWISE | IN_GLOBAL},
    {"standard_gx", NVT_PRODUCT, IN_STANDARD},
    {"rowwise_fwd", NVT_PRODUCT, IN_ROWWISE},
    {"rowwise_bwd", NVT_PRODUCT, IN_ROWWISE},
    {"global_fwd", NVT_PRODUCT, IN_GLOBAL},
    {"global_bwd", NVT_PRODUCT, IN_GLOBAL},
    {"x_quantize_rowwise", NVT_QUANTIZE, IN_ROWWISE | IN_GLOBAL},
    {"g_quantize_rowwise", NVT_QUANTIZE, IN_ROWWISE | IN_GLOBAL},
    {"w_quantize_rowwise", NVT_QUANTIZE, IN_ROWWISE},
    {"w_quantize_colwise_transpose", NVT_QUANTIZE, IN_ROWWISE},
    {"w_quantize_global", NVT_QUANTIZE, IN_GLOBAL},
    {"w_quantize_global_transpose", NVT_QUANTIZE, IN_GLOBAL},
    {"cast_x", NVT_CAST, 0},
    {"cast_g", NVT_CAST, 0},
    {"cast_w", NVT_CAST, 0},
};

const char *const nvt_switchback_totals[NVT_SWITCHBACK_TOTALS] = {"standard", "rowwise", "global"};

static double member(const struct nvt_record *record, const char *before, const char *name,
                     const char *behind)
{
    char key[96];
    snprintf(key, sizeof(key), "%s%s%s", before, name, behind);
    return nvt_record_number(record, key);
}

/* Sides of up to 131072 and any sensible batch: products of them fit a double exactly. */
static int read_shape(const struct nvt_record *record, struct nvt_switchback_row *row)
{
    double dim = nvt_record_number(record, "dim"), batch = nvt_record_number(record, "batch");
    double multiplier = nvt_record_number(record, "width_multiplier");
    const char *is_switched = nvt_record_text(record, "switch");
    if (!(dim >= 1 && dim <= 1e9 && batch >= 1 && batch <= 1e12 && multiplier > 0 &&
          multiplier <= 1e6))
        return 0;
    /* The multiplier is a rounded ratio: 1408 · 4.3637 is 6144.09. */
    int64_t narrow = (int64_t)dim, wide = (int64_t)(dim * multiplier + 1e-6);
    int swap = is_switched && !strcmp(is_switched, "true");
    row->dim = narrow;
    row->in = swap ? wide : narrow;
    row->out = swap ? narrow : wide;
    row->batch = (int64_t)batch;
    row->multiplier = multiplier;
    return wide >= 1;
}

static int read_row(const struct nvt_record *record, void *at)
{
    struct nvt_switchback_row *row = at;
    const char *status = nvt_record_text(record, "status");
    if (!nvt_record_is_of(record, "switchback") || !read_shape(record, row))
        return 0;
    row->timing = nvt_record_text(record, "timing");
    row->source = nvt_record_source(record);
    row->record = record;
    row->status = status ? status : "ok";
    row->calls = nvt_record_number(record, "iterations");
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++) {
        const char *name = nvt_switchback_steps[i].name;
        row->steps[i].mean_ms = member(record, "", name, "_ns_mean") / 1e6;
        row->steps[i].std_ms = member(record, "", name, "_ns_std") / 1e6;
        row->steps[i].flops = member(record, "flops_", name, "");
        row->steps[i].bytes = member(record, "bytes_", name, "");
    }
    return 1;
}

struct nvt_switchback_row *nvt_switchback_rows(struct nvt_runs *const *runs, size_t run_count,
                                               size_t *count, struct nvt_error *err)
{
    return nvt_runs_rows(runs, run_count, read_row, sizeof(struct nvt_switchback_row), count, err);
}

int nvt_switchback_ok(const struct nvt_switchback_row *row)
{
    int known = !strcmp(row->status, "ok");
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++)
        known &= row->steps[i].mean_ms > 0;
    return known;
}

static double sum_of(const struct nvt_switchback_row *row, enum nvt_switchback_total total,
                     int quantize_only)
{
    double sum = 0;
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++)
        if (nvt_switchback_steps[i].totals & 1u << total &&
            (!quantize_only || nvt_switchback_steps[i].kind == NVT_QUANTIZE))
            sum += row->steps[i].mean_ms;
    return sum;
}

double nvt_switchback_time(const struct nvt_switchback_row *row, enum nvt_switchback_total total)
{
    return sum_of(row, total, 0);
}

double nvt_switchback_quantize_time(const struct nvt_switchback_row *row,
                                    enum nvt_switchback_total total)
{
    return sum_of(row, total, 1);
}

double nvt_switchback_speedup(const struct nvt_switchback_row *row, enum nvt_switchback_total total)
{
    double standard = nvt_switchback_time(row, NVT_STANDARD);
    return 100 * (standard - nvt_switchback_time(row, total)) / standard;
}
