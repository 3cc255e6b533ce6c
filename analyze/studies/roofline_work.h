/*
 * What the files of the roofline have in common: records and traces become points of it.
 */
#ifndef NVT_ROOFLINE_WORK_H
#define NVT_ROOFLINE_WORK_H

#include "../../lib/map.h"
#include "../input/conditions.h"
#include "roofline.h"

/* A roofline that is being made. */
struct nvt_roofline_work {
    struct nvt_roofline *roofline;
    const struct nvt_input *input;
    unsigned conditions;   /* in which the records differ (conditions.h) */
    struct nvt_map by_key; /* points, by the string that names all of one */
};

/* Whether a trace is of a run directory, and not only of a row that traces carry. */
static inline int nvt_roofline_has_directory(const struct nvt_input_trace *from)
{
    return from->runs && !from->runs->is_of_traces;
}

/* Where these peaks stand in the roofline, added when new. 0, or -1 when out of memory. */
int nvt_roofline_add_peaks(struct nvt_roofline *roofline, const struct nvt_peaks *peaks,
                           size_t *at);

/* Where the peaks of a directory's machine stand in the roofline: as it states them, or else as they are kept; SIZE_MAX: not known.
 * 0, or -1 when out of memory. */
int nvt_roofline_peaks_of_runs(struct nvt_roofline *roofline, const struct nvt_runs *runs,
                               size_t *at);

/* The point that all this names (with what else sets its run apart behind the configuration), added when new as the other
 * one is. NULL when out of memory. */
struct nvt_roof_point *nvt_roofline_point(struct nvt_roofline_work *work,
                                          const struct nvt_runs *runs,
                                          const struct nvt_roof_point *of, const char *suffix);

/* " collect=nvtx" of a record, or "". */
void nvt_roofline_suffix(const struct nvt_roofline_work *work, const struct nvt_record *record,
                         char out[NVT_CONDITION_SIZE + 1]);

/* Add what ranges of a trace say. 0, or -1 with err (out of memory). */
int nvt_roofline_add_trace(struct nvt_roofline_work *work, const struct nvt_input_trace *from,
                           struct nvt_error *err);

#endif
