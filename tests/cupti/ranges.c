/*
 * The stand-in's range profiler, as its header says it behaves: ranges of the user in one pass. Metric number k of a range is (k + 1)
 * million for each launch and copy that the program made between its push and its pop. $STAND_IN_REFUSES: "counting" (permission
 * denied), "second range" (it is dropped), "any pass" (a further pass is needed).
 */
#if defined(HAVE_CUPTI) && !defined(STAND_IN_SECOND)

#include "stand_in_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../../collectors/inject/cupti_profiler.h"
#include "range_image.h"

static struct {
    int is_enabled, is_configured, is_started, is_pushed, has_range;
    uint32_t begun, count, ranges;
    uint8_t *image;
    size_t image_size;
} ranges;

/* The order of calls is that of the header; anything else ends the program. */
static void *check(size_t size, size_t expected, const void *unused, void *profiler, int is_right)
{
    if (size != expected || unused || profiler != &ranges || !is_right || stand_in.is_over)
        abort();
    return profiler;
}
#define CHECK(params, type, last, is_right)                                                        \
    check((params)->size, offsetof(struct type, last) + sizeof((params)->last), (params)->unused,  \
          (params)->profiler, is_right)

CUptiResult cuptiRangeProfilerEnable(struct nvt_range_enable *params);
CUptiResult cuptiRangeProfilerEnable(struct nvt_range_enable *params)
{
    if (!params->context || ranges.is_enabled)
        abort();
    if (stand_in_refuses("counting"))
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    ranges.is_enabled = 1;
    params->profiler = &ranges;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(struct nvt_range_image_size *params);
CUptiResult cuptiRangeProfilerGetCounterDataSize(struct nvt_range_image_size *params)
{
    CHECK(params, nvt_range_image_size, image_size, params->nodes >= params->ranges);
    params->image_size = sizeof(struct stand_in_range_image);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(struct nvt_range_image *params);
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(struct nvt_range_image *params)
{
    const struct stand_in_range_image image = {.magic = STAND_IN_RANGE_IMAGE};
    CHECK(params, nvt_range_image, image, params->image_size == sizeof(image));
    memcpy(params->image, &image, sizeof(image));
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(struct nvt_range_config *params);
CUptiResult cuptiRangeProfilerSetConfig(struct nvt_range_config *params)
{
    CHECK(params, nvt_range_config, target_level,
          !ranges.is_started && params->range == NVT_RANGES_OF_USER &&
              params->replay == NVT_REPLAY_BY_USER && params->most == 1 && params->levels == 1 &&
              params->least_level == 1);
    ranges.is_configured = 1;
    ranges.image = params->image;
    ranges.image_size = params->image_size;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(struct nvt_range_switch *params);
CUptiResult cuptiRangeProfilerStart(struct nvt_range_switch *params)
{
    CHECK(params, nvt_range_switch, profiler, ranges.is_configured && !ranges.is_started);
    ranges.is_started = 1;
    ranges.has_range = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(struct nvt_range_push *params);
CUptiResult cuptiRangeProfilerPushRange(struct nvt_range_push *params)
{
    CHECK(params, nvt_range_push, name, ranges.is_started && !ranges.is_pushed && params->name);
    ranges.is_pushed = 1;
    ranges.begun = __atomic_load_n(&stand_in.correlation, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPopRange(struct nvt_range_switch *params);
CUptiResult cuptiRangeProfilerPopRange(struct nvt_range_switch *params)
{
    CHECK(params, nvt_range_switch, profiler, ranges.is_pushed);
    ranges.is_pushed = 0;
    ranges.has_range = 1;
    ranges.count = __atomic_load_n(&stand_in.correlation, __ATOMIC_RELAXED) - ranges.begun;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(struct nvt_range_stop *params);
CUptiResult cuptiRangeProfilerStop(struct nvt_range_stop *params)
{
    CHECK(params, nvt_range_stop, is_complete, ranges.is_started && !ranges.is_pushed);
    ranges.is_started = 0;
    params->is_complete = !stand_in_refuses("any pass");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(struct nvt_range_decode *params);
CUptiResult cuptiRangeProfilerDecodeData(struct nvt_range_decode *params)
{
    const struct stand_in_range_image image = {STAND_IN_RANGE_IMAGE, 1, ranges.count};
    CHECK(params, nvt_range_decode, dropped, !ranges.is_started && ranges.has_range);
    params->dropped = ++ranges.ranges == 2 && stand_in_refuses("second range");
    memcpy(ranges.image, &image, sizeof(image));
    return CUPTI_SUCCESS;
}

#else
/* Nothing without CUPTI's headers, or in the stand-in for the second interface: an older libcupti has none of it. */
typedef int nvt_stand_in_ranges_is_empty;
#endif
