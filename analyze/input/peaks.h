/*
 * What a machine reaches: large GEMMs by precision, and a large copy, as `nvtally info --peak` or `nvtally run --peak`
 * has measured them (kernels/frame/peak.c). They are what was measured, not what the maker states.
 */
#ifndef NVT_PEAKS_H
#define NVT_PEAKS_H

#include "../../lib/date.h"
#include "../model/trace.h"
#include "runs.h"

/* What is multiplied. */
enum nvt_roof {
    NVT_ROOF_FP32,
    NVT_ROOF_TF32,
    NVT_ROOF_BF16,
    NVT_ROOF_FP16,
    NVT_ROOF_INT8,
    NVT_ROOF_FP64,
    NVT_ROOF_FP8,
    NVT_ROOFS,
    NVT_ROOF_OTHER /* none of these */
};

/* "fp32" …, NULL: none; and which one a word is, NVT_ROOFS: none. The word ends at anything but a letter or a digit. */
const char *nvt_roof_name(enum nvt_roof roof);
enum nvt_roof nvt_roof_named(const char *word);

struct nvt_peaks {
    double flops[NVT_ROOFS];  /* FLOP/s of a product (of int8: operations/s); 0: not known */
    double bytes;             /* bytes/s of a copy, read and written; 0: not known */
    int threads;              /* of a host; 0: not known, or none */
    char device[256];         /* "": not known */
    char date[NVT_DATE_SIZE]; /* of the measurement, "": with the run itself */
};

/* Of what env.json states; 1, or 0 where that is nothing. */
int nvt_peaks_stated(const struct nvt_record *env, struct nvt_peaks *peaks);

/* Whether both are of one measurement. */
int nvt_peaks_same(const struct nvt_peaks *a, const struct nvt_peaks *b);

/*
 * Of what is kept of a machine of that name (peak_cache.h). `backend`: "cuda", "host"; `device`: what the trace or env.json
 * calls it, of which the kept device's name is a part. Of several sets of libraries, or numbers of threads, the one that
 * was measured last. 1, or 0 where that is nothing.
 */
int nvt_peaks_cached(const char *host, const char *backend, const char *device,
                     struct nvt_peaks *peaks);

#endif
