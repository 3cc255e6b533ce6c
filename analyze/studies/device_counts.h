/*
 * What a device counted over ranges, exactly (record --counters-of): bytes of its memory and FLOPs.
 *
 * The samples are counters of the domain "Ranges of GPU 0" (NVT_RANGES_DOMAIN); each lies behind the end of the range that it is of,
 * and that is the last one before it whose name the fact "capture" begins with. Where another thread had such a range open in
 * that time, both were counted together, and neither is told.
 *
 * FLOPs are the operations that tensor cores executed, by CUPTI's sm__ops_path_tensor_…, or additions, products and twice the fused
 * multiply-adds in fp32.
 */
#ifndef NVT_DEVICE_COUNTS_H
#define NVT_DEVICE_COUNTS_H

#include "../../lib/map.h"
#include "../model/trace.h"

struct nvt_device_count {
    uint32_t range;
    double bytes, flops; /* NaN: not counted */
};

/* Zero-initialise; release with nvt_device_counts_free, also after a failure. */
struct nvt_device_counts {
    struct nvt_map places; /* range -> place */
    struct nvt_device_count *items;
    uint32_t count;
};

/* 0, or -1 with err filled (out of memory). */
int nvt_device_counts_make(struct nvt_device_counts *counts, const struct nvt_trace *trace,
                           struct nvt_error *err);
void nvt_device_counts_free(struct nvt_device_counts *counts);

/* What was counted over a range; NULL: nothing. */
const struct nvt_device_count *nvt_device_count_of(const struct nvt_device_counts *counts,
                                                   uint32_t range);

#endif
