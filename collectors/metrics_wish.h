/*
 * Which GPU metrics `record --trace metrics` samples, and how often: metrics, metrics=throughput, metrics=NAME,NAME, each with
 * @RATE behind it, such as 20kHz. Names are CUPTI's (lib/gpu_metric_names.h).
 */
#ifndef NVT_METRICS_WISH_H
#define NVT_METRICS_WISH_H

#include <stddef.h>
#include <stdint.h>

#include "../lib/error.h"
#include "../lib/gpu_metric_names.h"

#define NVT_METRICS_NAMES ((size_t)NVT_GPU_METRICS_MOST * NVT_GPU_METRIC_NAME_MOST)
#define NVT_METRICS_HZ    10000u /* where no rate is given */

/* Zero-initialise: none. */
struct nvt_metrics_wish {
    char names[NVT_METRICS_NAMES]; /* a line each */
    uint32_t count;
    uint32_t hz;      /* samples a second; 0: not given yet */
    int is_of_ranges; /* a set was named that only --counters-of has */
    int is_open;      /* further words of the list are names, too */
};

/* What stands behind the word "metrics": "", "=NAME", "@RATE" or "=NAME@RATE". 0, or -1 with err. */
int nvt_metrics_wish_begin(struct nvt_metrics_wish *wish, const char *text, size_t length,
                           struct nvt_error *err);

/* A further word of the list, "NAME" or "NAME@RATE", while is_open. 0, or -1 with err. */
int nvt_metrics_wish_add(struct nvt_metrics_wish *wish, const char *text, size_t length,
                         struct nvt_error *err);

/* When the list has ended: what was not given has its default. */
void nvt_metrics_wish_end(struct nvt_metrics_wish *wish);

#endif
