/*
 * The fragment study (workloads `linear` and `fragmented`) in the records of run directories: what
 * the report and the chart of that name read.
 */
#ifndef NVT_FRAGMENTS_H
#define NVT_FRAGMENTS_H

#include "../input/input.h"

enum nvt_fragment_line { NVT_LINEAR, NVT_TRAIN, NVT_LOOPED, NVT_GROUPED, NVT_FRAGMENT_LINES };

struct nvt_time {
    double mean_ms, std_ms; /* NaN: unknown */
};

/* One configuration. Texts belong to the record. */
struct nvt_fragment_row {
    int64_t size, batch;
    enum nvt_fragment_line line;
    const char *variant; /* NULL when none was given */
    int64_t fragments;   /* 0: none, a linear layer */
    struct nvt_time forward, backward, optimizer;
    double peak_mib;   /* NaN: unknown */
    double parameters; /* NaN: unknown */
    const char *status;
    const char *source; /* "measured", "published" */
    const struct nvt_record *record;
};

/*
 * The rows of the study in these directories, in their order; *count gets how many. malloc'ed
 * (never NULL but when out of memory, which err says). Records of other workloads, and those
 * without a size, batch or mode that make sense, are left out.
 */
struct nvt_fragment_row *nvt_fragment_rows(struct nvt_runs *const *runs, size_t run_count,
                                           size_t *count, struct nvt_error *err);

/* The rows of an input; NULL with err filled where it has none of them, too. */
struct nvt_fragment_row *nvt_fragment_rows_of(const struct nvt_input *input, size_t *count,
                                              struct nvt_error *err);

/* Whether the row was measured: status ok (or none given) and a forward time. */
int nvt_fragment_ok(const struct nvt_fragment_row *row);

#endif
