/*
 * Images of decoded samples as files, to be evaluated on a machine without a GPU by CUPTI's host interface: with
 * NVTALLY_KEEP_BUFFERS=FOLDER the first images of each device that have samples are left there, as pm-PID-DEVICE-NUMBER.image. A file is
 * a struct nvt_metrics_kept, the names, NVT_GPU_METRIC_NAME_MOST bytes each, the image as it was, and for each sample its start
 * and end and the values that CUPTI made of it there, doubles. Of the machine's byte order.
 */
#ifndef NVT_CUPTI_METRICS_KEEP_H
#define NVT_CUPTI_METRICS_KEEP_H

#ifdef HAVE_CUPTI

#include <stddef.h>
#include <stdint.h>

#define NVT_METRICS_KEPT_MAGIC "NVTPMS01"
#define NVT_METRICS_KEPT_MOST  4u

struct nvt_metrics_kept {
    char magic[8]; /* NVT_METRICS_KEPT_MAGIC, without its 0 */
    char chip[16];
    uint32_t names, samples;
    uint64_t image_size;
};

/* A file in the making. Zero-initialise. */
struct nvt_metrics_keeper {
    uint32_t kept;
    int file;
    struct nvt_metrics_kept head;
};

/* Begin the file of an image, if one more is wanted and the environment asks for it. Whether it was begun. */
int nvt_metrics_keep_begin(struct nvt_metrics_keeper *keeper, const char *chip, uint32_t device,
                           const char *const *names, uint32_t count, const uint8_t *image,
                           size_t image_size);

/* A sample of it; values: one for each name. */
void nvt_metrics_keep_sample(struct nvt_metrics_keeper *keeper, uint64_t start, uint64_t end,
                             const double *values);

/* It is complete; without samples it is removed, and another one may be kept. */
void nvt_metrics_keep_end(struct nvt_metrics_keeper *keeper, uint32_t device);

#endif
#endif
