/*
 * What is used of CUPTI's PM sampling, of its profiler host interface, and of its range profiler.
 *
 * Declared here, as cupti_profiler_host.h of CUDA 13.0 includes C++'s <string>, and headers of before CUDA 12.6 have none of it. A
 * library may be newer than its caller: `size` says which fields a structure has, the last of them being the one that the macro
 * names (CUPTI_PROFILER_STRUCT_SIZE). Fields are those of cupti_pmsampling.h, cupti_profiler_host.h, cupti_range_profiler.h,
 * cupti_profiler_target.h and cupti_target.h of CUDA 13.0.
 *
 * What the headers do not say, as others have found it on an H100 with CUDA 12.8 and 13.3: an image that a decoding fills loses
 * what did not fit; behind an overflow of the hardware's buffer nothing comes until sampling is started again; the decoding after
 * a stop has samples without a length; disabling sampling ends all of CUPTI in the process (OpenXLA's profiler leaves it out).
 * An image takes some 16 KiB a sample, the hardware's buffer up to 7 KiB.
 */
#ifndef NVT_CUPTI_PROFILER_H
#define NVT_CUPTI_PROFILER_H

#ifdef HAVE_CUPTI

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#define NVT_PARAMS(type, last)                                                                     \
    .size = offsetof(struct type, last) + sizeof(((struct type *)0)->last)

/* Every structure begins with its size, and a pointer that stays NULL. */
#define NVT_PARAMS_HEAD                                                                            \
    size_t size;                                                                                   \
    void *unused

struct nvt_profiler_start {
    NVT_PARAMS_HEAD;
};

enum nvt_profiler_support {
    NVT_SUPPORT_UNKNOWN,
    NVT_SUPPORT_NONE,
    NVT_SUPPORT_DISABLED,
    NVT_SUPPORT_FULL,
    NVT_SUPPORT_LIMITED
};
enum { NVT_PROFILER_OF_RANGES = 0, NVT_PROFILER_PM_SAMPLING = 3 }; /* CUpti_Profiler_API */
struct nvt_profiler_supported {
    NVT_PARAMS_HEAD;
    int device;                                                           /* CUdevice */
    int is_supported, architecture, sli, vgpu, confidential, mining, wsl; /* answers */
    int what;
};

struct nvt_chip {
    NVT_PARAMS_HEAD;
    size_t device;
    const char *name; /* answer, CUPTI's */
};

/* Asked twice: without an image for its size. */
struct nvt_pm_availability {
    NVT_PARAMS_HEAD;
    size_t device;
    size_t image_size;
    uint8_t *image;
};

/* --- the host interface: which counters a set of metrics needs, and what their values are --- */

enum { NVT_HOST_OF_RANGES, NVT_HOST_OF_SAMPLES }; /* CUpti_ProfilerType */
struct nvt_host_new {
    NVT_PARAMS_HEAD;
    int what;
    const char *chip;
    const uint8_t *availability;
    void *host; /* answer */
};

struct nvt_host_free {
    NVT_PARAMS_HEAD;
    void *host;
};

struct nvt_host_metrics {
    NVT_PARAMS_HEAD;
    void *host;
    const char **names;
    size_t count;
};

struct nvt_host_config_size {
    NVT_PARAMS_HEAD;
    void *host;
    size_t config_size; /* answer */
};

struct nvt_host_config {
    NVT_PARAMS_HEAD;
    void *host;
    size_t config_size;
    uint8_t *config;
};

struct nvt_host_passes {
    NVT_PARAMS_HEAD;
    size_t config_size;
    uint8_t *config;
    size_t passes; /* answer */
};

struct nvt_host_values {
    NVT_PARAMS_HEAD;
    void *host;
    const uint8_t *image;
    size_t image_size;
    size_t index; /* of a sample or a range */
    const char **names;
    size_t count;
    double *values;
};

/* --- PM sampling --- */

/* Of cuptiPmSamplingEnable: the sampler is the answer; of Start and Stop: the one meant. */
struct nvt_pm_enable {
    NVT_PARAMS_HEAD;
    size_t device;
    void *sampler;
};
struct nvt_pm_switch {
    NVT_PARAMS_HEAD;
    void *sampler;
};

enum { NVT_PM_BY_SYSTEM_CLOCK, NVT_PM_BY_TIME }; /* CUpti_PmSampling_TriggerMode: cycles, ns */
enum { NVT_PM_KEEP_OLDEST };                     /* CUpti_PmSampling_HardwareBuffer_AppendMode */
struct nvt_pm_config {
    NVT_PARAMS_HEAD;
    void *sampler;
    size_t config_size;
    const uint8_t *config;
    size_t hardware_buffer;
    uint64_t interval;
    int trigger;
    int append;
};

struct nvt_pm_image_size {
    NVT_PARAMS_HEAD;
    void *sampler;
    const char **names;
    size_t count;
    uint32_t samples;
    size_t image_size; /* answer */
};

struct nvt_pm_image {
    NVT_PARAMS_HEAD;
    void *sampler;
    size_t image_size;
    uint8_t *image;
};

enum { NVT_PM_STOPPED_OTHER, NVT_PM_IMAGE_FULL, NVT_PM_ALL_DECODED }; /* …_DecodeStopReason */
struct nvt_pm_decode {
    NVT_PARAMS_HEAD;
    void *sampler;
    uint8_t *image;
    size_t image_size;
    int reason;       /* answers */
    uint8_t overflow; /* of the hardware's buffer */
};

struct nvt_pm_info {
    NVT_PARAMS_HEAD;
    const uint8_t *image;
    size_t image_size;
    size_t total, populated, completed; /* answers */
};

struct nvt_pm_sample {
    NVT_PARAMS_HEAD;
    void *sampler;
    const uint8_t *image;
    size_t image_size;
    size_t index;
    uint64_t start, end; /* answers; "CPU based time stamps" (its manual) */
};

/* X(function, structure) */
#define NVT_CUPTI_PM(X)                                                                            \
    X(cuptiProfilerInitialize, nvt_profiler_start)                                                 \
    X(cuptiProfilerDeviceSupported, nvt_profiler_supported)                                        \
    X(cuptiDeviceGetChipName, nvt_chip)                                                            \
    X(cuptiProfilerHostInitialize, nvt_host_new)                                                   \
    X(cuptiProfilerHostDeinitialize, nvt_host_free)                                                \
    X(cuptiProfilerHostConfigAddMetrics, nvt_host_metrics)                                         \
    X(cuptiProfilerHostGetConfigImageSize, nvt_host_config_size)                                   \
    X(cuptiProfilerHostGetConfigImage, nvt_host_config)                                            \
    X(cuptiProfilerHostGetNumOfPasses, nvt_host_passes)                                            \
    X(cuptiProfilerHostEvaluateToGpuValues, nvt_host_values)                                       \
    X(cuptiPmSamplingGetCounterAvailability, nvt_pm_availability)                                  \
    X(cuptiPmSamplingEnable, nvt_pm_enable)                                                        \
    X(cuptiPmSamplingSetConfig, nvt_pm_config)                                                     \
    X(cuptiPmSamplingGetCounterDataSize, nvt_pm_image_size)                                        \
    X(cuptiPmSamplingCounterDataImageInitialize, nvt_pm_image)                                     \
    X(cuptiPmSamplingStart, nvt_pm_switch)                                                         \
    X(cuptiPmSamplingStop, nvt_pm_switch)                                                          \
    X(cuptiPmSamplingDecodeData, nvt_pm_decode)                                                    \
    X(cuptiPmSamplingGetCounterDataInfo, nvt_pm_info)                                              \
    X(cuptiPmSamplingCounterDataGetSampleInfo, nvt_pm_sample)

struct nvt_cupti_pm {
#define NVT_CUPTI_PM_POINTER(function, type) CUptiResult(CUPTIAPI *function)(struct type *);
    NVT_CUPTI_PM(NVT_CUPTI_PM_POINTER)
#undef NVT_CUPTI_PM_POINTER
};

/* --- the range profiler --- */

struct nvt_range_enable {
    NVT_PARAMS_HEAD;
    CUcontext context;
    void *profiler; /* answer */
};

struct nvt_range_image_size {
    NVT_PARAMS_HEAD;
    void *profiler;
    const char **names;
    size_t count;
    size_t ranges;
    uint32_t nodes;    /* of the tree of ranges: as many at least */
    size_t image_size; /* answer */
};

struct nvt_range_image {
    NVT_PARAMS_HEAD;
    void *profiler;
    size_t image_size;
    uint8_t *image;
};

enum { NVT_RANGES_OF_USER = 2, NVT_REPLAY_BY_USER = 3 }; /* CUpti_ProfilerRange, …ReplayMode */
struct nvt_range_config {
    NVT_PARAMS_HEAD;
    void *profiler;
    size_t config_size;
    const uint8_t *config;
    size_t image_size;
    uint8_t *image;
    int range, replay;
    size_t most; /* ranges in a pass */
    uint16_t levels, least_level;
    size_t pass;
    uint16_t target_level;
};

/* Start, PopRange. */
struct nvt_range_switch {
    NVT_PARAMS_HEAD;
    void *profiler;
};

struct nvt_range_push {
    NVT_PARAMS_HEAD;
    void *profiler;
    const char *name;
};

struct nvt_range_stop {
    NVT_PARAMS_HEAD;
    void *profiler;
    size_t pass, target_level; /* answers */
    uint8_t is_complete;       /* no further pass is needed */
};

struct nvt_range_decode {
    NVT_PARAMS_HEAD;
    void *profiler;
    size_t dropped; /* answer: ranges */
};

#define NVT_CUPTI_RANGES(X)                                                                        \
    X(cuptiRangeProfilerEnable, nvt_range_enable)                                                  \
    X(cuptiRangeProfilerGetCounterDataSize, nvt_range_image_size)                                  \
    X(cuptiRangeProfilerCounterDataImageInitialize, nvt_range_image)                               \
    X(cuptiRangeProfilerSetConfig, nvt_range_config)                                               \
    X(cuptiRangeProfilerStart, nvt_range_switch)                                                   \
    X(cuptiRangeProfilerPushRange, nvt_range_push)                                                 \
    X(cuptiRangeProfilerPopRange, nvt_range_switch)                                                \
    X(cuptiRangeProfilerStop, nvt_range_stop)                                                      \
    X(cuptiRangeProfilerDecodeData, nvt_range_decode)

struct nvt_cupti_ranges {
#define NVT_CUPTI_RANGES_POINTER(function, type) CUptiResult(CUPTIAPI *function)(struct type *);
    NVT_CUPTI_RANGES(NVT_CUPTI_RANGES_POINTER)
#undef NVT_CUPTI_RANGES_POINTER
};

/* A set of metrics on a chip: the host object that knows it, and the configuration for the device. */
struct nvt_metric_set {
    void *host;
    uint8_t *config;
    size_t config_size;
    const char *names[16];
    uint32_t count;
    size_t passes;
};

/*
 * Make one of these names on a chip, by the host interface alone. `availability` is what the device says of it, or NULL. Names
 * that the chip does not have are left out, and from the last one on those with which it would take more than one pass; these are
 * in `refused`, with ", " between, "" none. CUPTI_SUCCESS, or what CUPTI said. Release it in any case.
 */
CUptiResult nvt_metric_set_make(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm, int what,
                                const char *chip, const uint8_t *availability,
                                const char *const *names, uint32_t count, char *refused,
                                size_t size);
void nvt_metric_set_free(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm);

#endif
#endif
