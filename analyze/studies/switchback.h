/*
 * The SwitchBack study (workload `switchback`) in the records of run directories: what the report
 * and the charts of that name read. docs/workloads.md says what the operations and totals are.
 */
#ifndef NVT_SWITCHBACK_H
#define NVT_SWITCHBACK_H

#include "../input/runs.h"

#define NVT_SWITCHBACK_STEPS 16

enum nvt_switchback_total { NVT_STANDARD, NVT_ROWWISE, NVT_GLOBAL, NVT_SWITCHBACK_TOTALS };
enum nvt_switchback_kind { NVT_PRODUCT, NVT_QUANTIZE, NVT_CAST };

/* An operation, and the totals that it is a part of: bits 1 << enum nvt_switchback_total. */
struct nvt_switchback_step {
    const char *name;
    enum nvt_switchback_kind kind;
    unsigned totals;
};

/* In the order of the published file. */
extern const struct nvt_switchback_step nvt_switchback_steps[NVT_SWITCHBACK_STEPS];

/* "standard", "rowwise", "global". */
extern const char *const nvt_switchback_totals[NVT_SWITCHBACK_TOTALS];

/* One configuration. Texts belong to the record; numbers that it does not have are NaN. */
struct nvt_switchback_row {
    int64_t dim, in, out, batch; /* dim: the narrow side */
    double multiplier;
    const char *timing; /* NULL when none was given */
    const char *source; /* "measured", "published" */
    const char *status;
    double calls; /* that a mean is of */
    const struct nvt_record *record;
    struct {
        double mean_ms, std_ms, flops, bytes;
    } steps[NVT_SWITCHBACK_STEPS];
};

/*
 * The rows of the study in these directories, in their order; *count gets how many. malloc'ed
 * (never NULL but when out of memory, which err says). Records of other workloads, and those whose
 * shape makes no sense, are left out.
 */
struct nvt_switchback_row *nvt_switchback_rows(struct nvt_runs *const *runs, size_t run_count,
                                               size_t *count, struct nvt_error *err);

/* Whether the row was measured: status ok and a time of every operation. */
int nvt_switchback_ok(const struct nvt_switchback_row *row);

/* Milliseconds of a total, and of the quantisation in it; NaN where a part is unknown. */
double nvt_switchback_time(const struct nvt_switchback_row *row, enum nvt_switchback_total total);
double nvt_switchback_quantize_time(const struct nvt_switchback_row *row,
                                    enum nvt_switchback_total total);

/* 100·(standard − total) / standard: the speed-up, in %. */
double nvt_switchback_speedup(const struct nvt_switchback_row *row,
                              enum nvt_switchback_total total);

#endif
