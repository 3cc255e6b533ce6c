/* What is seen first of directories of runs, in front of the table of their study. */
#ifndef NVT_OVERVIEW_STUDY_H
#define NVT_OVERVIEW_STUDY_H

#include "overview.h"

struct nvt_overview_study {
    char workloads[64];                   /* "fragmented, linear" */
    uint32_t runs, out_of_memory, failed; /* failed: neither ok nor out of memory */
    double peak_bytes;                    /* of the run with most; NaN: not known */
    char *peak_of;                        /* its configuration, owned; NULL: not known */
};

/* Of the records of an input. 0, or -1 with err (out of memory). Release with nvt_overview_study_free in any case. */
int nvt_overview_study_make(struct nvt_overview_study *study, const struct nvt_input *input,
                            struct nvt_error *err);
void nvt_overview_study_free(struct nvt_overview_study *study);

#endif
