/*
 * The stand-in's PM sampling and profiler host interface, as their headers say they behave. A sample comes each interval from
 * the start on; the value of metric number k in sample number n is 10 (k + 1) + n % 10, so that a test sees each that is missing.
 * $STAND_IN_REFUSES: "counters" (permission denied), "free counters" (somebody else has them), "whole GPU" (MIG), "known times",
 * "monotonic times" (times are of CLOCK_REALTIME), "every sample" (numbers 20 to 29 do not come), "overflow once", "overflow
 * always", "any metric". A name with "unknown" in it is no metric, one with "second_pass" takes another pass.
 */
#if defined(HAVE_CUPTI) && !defined(STAND_IN_SECOND)

#include "stand_in_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../collectors/inject/cupti_profiler.h"
#include "range_image.h"

enum { CONFIG_MAGIC = 0x434f4e46, IMAGE_MAGIC = 0x494d4147, SAMPLE_BYTES = 7 << 10 };

struct config {
    uint32_t magic, passes;
};

struct image {
    uint32_t magic, most, count, is_used;
    struct {
        uint64_t start, end, number;
    } samples[];
};

/* The only device, 0. */
static struct {
    _Atomic uint64_t decoded, refused, settled; /* settled: of the decodings before the last one */
    int is_ready, is_enabled, is_started, has_ended, has_overflowed;
    uint64_t interval, buffer, next, number, overflows;
    uint32_t most;
} sampling;

static struct {
    int is_there, was_refused;
    uint32_t count, passes;
} hosts[8];

static CUptiResult refuse(CUptiResult result)
{
    atomic_fetch_add(&sampling.refused, 1);
    return result;
}

int stand_in_wait_for_samples(uint64_t count);
int stand_in_wait_for_samples(uint64_t count)
{
    for (int i = 0; i < 30000; i++) {
        if (atomic_load(&sampling.settled) >= count || atomic_load(&sampling.refused))
            return 1;
        usleep(1000);
    }
    return 0;
}

/* Every structure begins with its size, which says what its caller knows, and a pointer that is NULL. */
#define CHECK(params, type, last)                                                                  \
    if ((params)->size != offsetof(struct type, last) + sizeof((params)->last) ||                  \
        (params)->unused || stand_in.is_over)                                                      \
    abort()

/* --- the host interface ------------------------------------------------------------------------- */

CUptiResult cuptiProfilerInitialize(struct nvt_profiler_start *params);
CUptiResult cuptiProfilerInitialize(struct nvt_profiler_start *params)
{
    CHECK(params, nvt_profiler_start, unused);
    sampling.is_ready = 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(struct nvt_host_new *params);
CUptiResult cuptiProfilerHostInitialize(struct nvt_host_new *params)
{
    CHECK(params, nvt_host_new, host);
    size_t i = 0;
    while (i < 8 && hosts[i].is_there)
        i++;
    if (i == 8)
        abort(); /* none is given back */
    if (strcmp(params->chip, "GH100") != 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    hosts[i].is_there = 1;
    hosts[i].was_refused = 0;
    hosts[i].count = 0;
    hosts[i].passes = 1;
    params->host = &hosts[i];
    return CUPTI_SUCCESS;
}

static size_t host_of(void *host)
{
    for (size_t i = 0; i < 8; i++)
        if (host == &hosts[i] && hosts[i].is_there)
            return i;
    abort();
}

CUptiResult cuptiProfilerHostDeinitialize(struct nvt_host_free *params);
CUptiResult cuptiProfilerHostDeinitialize(struct nvt_host_free *params)
{
    CHECK(params, nvt_host_free, host);
    hosts[host_of(params->host)].is_there = 0;
    return CUPTI_SUCCESS;
}

/* NVIDIA's of CUDA 13.0 crashes in what follows a name that it has refused. */
CUptiResult cuptiProfilerHostConfigAddMetrics(struct nvt_host_metrics *params);
CUptiResult cuptiProfilerHostConfigAddMetrics(struct nvt_host_metrics *params)
{
    CHECK(params, nvt_host_metrics, count);
    const size_t host = host_of(params->host);
    if (hosts[host].was_refused)
        abort();
    for (size_t i = 0; i < params->count; i++) {
        hosts[host].passes += strstr(params->names[i], "second_pass") != NULL;
        if (strstr(params->names[i], "unknown") || stand_in_refuses("any metric")) {
            hosts[host].was_refused = 1;
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
    }
    hosts[host].count += (uint32_t)params->count;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(struct nvt_host_config_size *params);
CUptiResult cuptiProfilerHostGetConfigImageSize(struct nvt_host_config_size *params)
{
    CHECK(params, nvt_host_config_size, config_size);
    if (hosts[host_of(params->host)].was_refused)
        abort();
    params->config_size = sizeof(struct config);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(struct nvt_host_config *params);
CUptiResult cuptiProfilerHostGetConfigImage(struct nvt_host_config *params)
{
    CHECK(params, nvt_host_config, config);
    const struct config config = {CONFIG_MAGIC, hosts[host_of(params->host)].passes};
    memcpy(params->config, &config, sizeof(config));
    return CUPTI_SUCCESS;
}

static struct config config_of(const uint8_t *bytes, size_t size)
{
    struct config config;
    if (size != sizeof(config))
        abort();
    memcpy(&config, bytes, sizeof(config));
    if (config.magic != CONFIG_MAGIC)
        abort();
    return config;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(struct nvt_host_passes *params);
CUptiResult cuptiProfilerHostGetNumOfPasses(struct nvt_host_passes *params)
{
    CHECK(params, nvt_host_passes, passes);
    params->passes = config_of(params->config, params->config_size).passes;
    return CUPTI_SUCCESS;
}

static struct image *image_of(const uint8_t *bytes, size_t size)
{
    struct image *image = (struct image *)(uintptr_t)bytes;
    if (size < sizeof(*image) || image->magic != IMAGE_MAGIC ||
        size != sizeof(*image) + image->most * sizeof(image->samples[0]))
        abort();
    return image;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(struct nvt_host_values *params);
CUptiResult cuptiProfilerHostEvaluateToGpuValues(struct nvt_host_values *params)
{
    CHECK(params, nvt_host_values, values);
    const struct stand_in_range_image *range = (const void *)params->image;
    if (range->magic == STAND_IN_RANGE_IMAGE) {
        for (size_t i = 0; i < params->count && params->index < range->count; i++)
            params->values[i] = 1e6 * (double)(i + 1) * range->launches;
        return params->index < range->count ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    }
    const struct image *image = image_of(params->image, params->image_size);
    host_of(params->host);
    if (params->index >= image->count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < params->count; i++)
        params->values[i] =
            10.0 * (double)(i + 1) + (double)(image->samples[params->index].number % 10);
    return CUPTI_SUCCESS;
}

/* --- the device ---------------------------------------------------------------------------------- */

CUptiResult cuptiProfilerDeviceSupported(struct nvt_profiler_supported *params);
CUptiResult cuptiProfilerDeviceSupported(struct nvt_profiler_supported *params)
{
    CHECK(params, nvt_profiler_supported, what);
    if (!sampling.is_ready || params->what != NVT_PROFILER_PM_SAMPLING)
        abort();
    const int is_full = !stand_in_refuses("this GPU");
    params->is_supported = is_full ? NVT_SUPPORT_FULL : NVT_SUPPORT_NONE;
    params->architecture = params->sli = params->vgpu = params->mining = params->wsl =
        NVT_SUPPORT_FULL;
    params->confidential = params->is_supported;
    return is_full ? CUPTI_SUCCESS : refuse(CUPTI_SUCCESS);
}

CUptiResult cuptiDeviceGetChipName(struct nvt_chip *params);
CUptiResult cuptiDeviceGetChipName(struct nvt_chip *params)
{
    CHECK(params, nvt_chip, name);
    params->name = "GH100";
    return params->device ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterAvailability(struct nvt_pm_availability *params);
CUptiResult cuptiPmSamplingGetCounterAvailability(struct nvt_pm_availability *params)
{
    CHECK(params, nvt_pm_availability, image);
    if (sampling.is_enabled) /* "may fail, if any … session is active" */
        return CUPTI_ERROR_UNKNOWN;
    if (stand_in_refuses("counters") && !stand_in_refuses("free counters"))
        return refuse(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    if (params->image && params->image_size != 16)
        abort();
    if (params->image)
        memset(params->image, 1, 16);
    params->image_size = 16;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingEnable(struct nvt_pm_enable *params);
CUptiResult cuptiPmSamplingEnable(struct nvt_pm_enable *params)
{
    CHECK(params, nvt_pm_enable, sampler);
    if (stand_in_refuses("free counters") || sampling.is_enabled)
        return refuse(CUPTI_ERROR_INVALID_OPERATION);
    if (stand_in_refuses("whole GPU"))
        return refuse((CUptiResult)43);
    sampling.is_enabled = 1;
    params->sampler = &sampling;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingSetConfig(struct nvt_pm_config *params);
CUptiResult cuptiPmSamplingSetConfig(struct nvt_pm_config *params)
{
    CHECK(params, nvt_pm_config, append);
    if (params->sampler != &sampling || params->trigger != NVT_PM_BY_TIME || !params->interval)
        abort();
    if (config_of(params->config, params->config_size).passes != 1)
        return CUPTI_ERROR_NOT_SUPPORTED;
    sampling.interval = params->interval;
    sampling.buffer = params->hardware_buffer / SAMPLE_BYTES;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(struct nvt_pm_image_size *params);
CUptiResult cuptiPmSamplingGetCounterDataSize(struct nvt_pm_image_size *params)
{
    const struct image *none = NULL;
    CHECK(params, nvt_pm_image_size, image_size);
    if (!params->samples || !params->count)
        abort();
    sampling.most = params->samples;
    params->image_size = sizeof(*none) + params->samples * sizeof(none->samples[0]);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(struct nvt_pm_image *params);
CUptiResult cuptiPmSamplingCounterDataImageInitialize(struct nvt_pm_image *params)
{
    CHECK(params, nvt_pm_image, image);
    const struct image image = {.magic = IMAGE_MAGIC, .most = sampling.most};
    if (params->image_size < sizeof(image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(params->image, &image, sizeof(image));
    image_of(params->image, params->image_size);
    return CUPTI_SUCCESS;
}

/* The clock that samples have their times of. */
static uint64_t sample_clock(void)
{
    struct timespec now;
    clock_gettime(stand_in_refuses("monotonic times") ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
    const uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return stand_in_refuses("known times") ? ns / 2 : ns;
}

CUptiResult cuptiPmSamplingStart(struct nvt_pm_switch *params);
CUptiResult cuptiPmSamplingStart(struct nvt_pm_switch *params)
{
    CHECK(params, nvt_pm_switch, sampler);
    if (!sampling.is_enabled || sampling.is_started)
        return CUPTI_ERROR_INVALID_OPERATION;
    sampling.is_started = 1;
    sampling.has_ended = sampling.has_overflowed = 0;
    sampling.next = sample_clock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStop(struct nvt_pm_switch *params);
CUptiResult cuptiPmSamplingStop(struct nvt_pm_switch *params)
{
    CHECK(params, nvt_pm_switch, sampler);
    if (!sampling.is_started)
        return CUPTI_ERROR_INVALID_OPERATION;
    sampling.is_started = 0;
    sampling.has_ended = 1;
    return CUPTI_SUCCESS;
}

static int overflows(void)
{
    const int always = stand_in_refuses("overflow always"),
              once = stand_in_refuses("overflow once") && sampling.decoded >= 50;
    if (!sampling.has_overflowed && (always || (once && !sampling.overflows))) {
        sampling.has_overflowed = 1;
        sampling.overflows++;
        if (always && sampling.overflows > 1)
            refuse(CUPTI_SUCCESS);
    }
    return sampling.has_overflowed;
}

static void put(struct image *image, uint64_t start, uint64_t end)
{
    image->samples[image->count].start = start;
    image->samples[image->count].end = end;
    image->samples[image->count++].number = sampling.number;
}

CUptiResult cuptiPmSamplingDecodeData(struct nvt_pm_decode *params);
CUptiResult cuptiPmSamplingDecodeData(struct nvt_pm_decode *params)
{
    CHECK(params, nvt_pm_decode, overflow);
    struct image *image = image_of(params->image, params->image_size);
    if (!sampling.is_enabled || image->is_used)
        return CUPTI_ERROR_INVALID_OPERATION;
    image->is_used = 1;
    atomic_store(&sampling.settled, sampling.decoded);
    params->overflow = 0;
    if (overflows()) {
        params->overflow = 1;
        return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    const uint64_t now = sample_clock();
    for (; sampling.next + sampling.interval <= now && image->count < image->most;
         sampling.next += sampling.interval, sampling.number++) {
        if (stand_in_refuses("every sample") && sampling.number / 10 == 2)
            continue;
        put(image, sampling.next, sampling.next + sampling.interval);
        sampling.decoded++;
    }
    params->reason = image->count == image->most ? NVT_PM_IMAGE_FULL : NVT_PM_ALL_DECODED;
    /* As on an H100: one without a length behind a stop. */
    if (sampling.has_ended && image->count < image->most)
        put(image, sampling.next, sampling.next);
    sampling.has_ended = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(struct nvt_pm_info *params);
CUptiResult cuptiPmSamplingGetCounterDataInfo(struct nvt_pm_info *params)
{
    CHECK(params, nvt_pm_info, completed);
    const struct image *image = image_of(params->image, params->image_size);
    params->total = image->most;
    params->populated = params->completed = image->count;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(struct nvt_pm_sample *params);
CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(struct nvt_pm_sample *params)
{
    CHECK(params, nvt_pm_sample, end);
    const struct image *image = image_of(params->image, params->image_size);
    if (params->sampler != &sampling || params->index >= image->count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->start = image->samples[params->index].start;
    params->end = image->samples[params->index].end;
    return CUPTI_SUCCESS;
}

#else
/* Nothing without CUPTI's headers, or in the stand-in for the second interface: an older libcupti has none of it. */
typedef int nvt_stand_in_profiler_is_empty;
#endif
