#include "fragments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A count in a record: a whole number that an int64_t and a double both hold. -1: none. */
static int64_t whole(const struct nvt_record *record, const char *key)
{
    double value = nvt_record_number(record, key);
    return value >= 0 && value <= 9e15 && value == floor(value) ? (int64_t)value : -1;
}

static struct nvt_time phase_time(const struct nvt_record *record, const char *phase)
{
    char mean[64], std[64];
    snprintf(mean, sizeof(mean), "%s_ns_mean", phase);
    snprintf(std, sizeof(std), "%s_ns_std", phase);
    return (struct nvt_time){nvt_record_number(record, mean) / 1e6,
                             nvt_record_number(record, std) / 1e6};
}

/* -1: none of the study's. */
static int line_of(const char *workload, const char *mode, const char *variant)
{
    if (!strcmp(workload, "linear") || (mode && !strcmp(mode, "linear")))
        return NVT_LINEAR;
    if (mode && !strcmp(mode, "train"))
        return NVT_TRAIN;
    if (mode && !strcmp(mode, "inference"))
        return variant && !strcmp(variant, "grouped") ? NVT_GROUPED : NVT_LOOPED;
    return -1;
}

static int read_row(const struct nvt_record *record, void *at)
{
    struct nvt_fragment_row *row = at;
    const char *workload = nvt_record_text(record, "workload");
    if (!workload || (strcmp(workload, "linear") && strcmp(workload, "fragmented")))
        return 0;
    const char *variant = nvt_record_text(record, "variant");
    const char *status = nvt_record_text(record, "status");
    int line = line_of(workload, nvt_record_text(record, "mode"), variant);
    int64_t fragments = whole(record, "fragments");
    *row = (struct nvt_fragment_row){
        .size = whole(record, "size"),
        .batch = whole(record, "batch"),
        .variant = line == NVT_LOOPED || line == NVT_GROUPED ? variant : NULL,
        .fragments = line == NVT_LINEAR || fragments < 0 ? 0 : fragments,
        .forward = phase_time(record, "forward"),
        .backward = phase_time(record, "backward"),
        .optimizer = phase_time(record, "optimizer"),
        .peak_mib = nvt_record_number(record, "peak_allocated_bytes") / NVT_MEBIBYTE,
        .parameters = nvt_record_number(record, "parameters"),
        .status = status ? status : "ok",
        .source = nvt_record_source(record),
        .record = record,
    };
    if (line < 0 || row->size < 1 || row->batch < 1)
        return 0;
    row->line = (enum nvt_fragment_line)line;
    return line == NVT_LINEAR || row->fragments > 0;
}

struct nvt_fragment_row *nvt_fragment_rows(struct nvt_runs *const *runs, size_t run_count,
                                           size_t *count, struct nvt_error *err)
{
    return nvt_runs_rows(runs, run_count, read_row, sizeof(struct nvt_fragment_row), count, err);
}

struct nvt_fragment_row *nvt_fragment_rows_of(const struct nvt_input *input, size_t *count,
                                              struct nvt_error *err)
{
    struct nvt_fragment_row *rows = nvt_fragment_rows(input->runs, input->run_count, count, err);
    if (rows && !*count) {
        nvt_input_refuse(input, "linear or fragmented", err);
        free(rows);
        return NULL;
    }
    return rows;
}

int nvt_fragment_ok(const struct nvt_fragment_row *row)
{
    return !strcmp(row->status, "ok") && isfinite(row->forward.mean_ms);
}
