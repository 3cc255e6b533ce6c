#include "cupti_range_counters.h"

#ifdef HAVE_CUPTI

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/gpu_metric_names.h"
#include "cupti_metrics.h"
#include "cupti_profiler.h"
#include "device.h"
#include "session.h"

static struct {
    pthread_mutex_t lock;
    _Atomic(CUcontext) context;
    uint32_t device;
    int is_open, is_refused; /* both once */
    int is_counting;
    struct nvt_cupti_ranges ranges;
    struct nvt_cupti_pm host;
    struct nvt_metric_set set;
    void *profiler;
    uint8_t *image;
    size_t image_size;
    void *driver; /* that is loaded; stays open */
    CUresult (*synchronize)(void);
    uint64_t begun_ns, counted;
    char text[NVT_METRICS_NAMES];
} counting = {.lock = PTHREAD_MUTEX_INITIALIZER};

void nvt_cupti_count_context(CUcontext context, uint32_t device)
{
    CUcontext none = NULL;
    if (!context || atomic_load(&counting.context))
        return;
    counting.device = device;
    atomic_compare_exchange_strong(&counting.context, &none, context);
}

/* --- the beginning ------------------------------------------------------------------------------- */

/* NULL, or what libcupti lacks. */
static const char *load(const struct nvt_cupti_api *api)
{
    const char *missing = NULL;
    counting.driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
#define LOAD(member)                                                                               \
    *(void **)&counting.member = dlsym(api->library, name);                                        \
    if (!counting.member)                                                                          \
        missing = name;
#define LOAD_RANGES(function, type)                                                                \
    {                                                                                              \
        static const char name[] = #function;                                                      \
        LOAD(ranges.function)                                                                      \
    }
#define LOAD_HOST(function, type)                                                                  \
    {                                                                                              \
        static const char name[] = #function;                                                      \
        LOAD(host.function)                                                                        \
    }
    NVT_CUPTI_PM(LOAD_HOST)
    NVT_CUPTI_RANGES(LOAD_RANGES)
    *(void **)&counting.synchronize =
        counting.driver ? dlsym(counting.driver, "cuCtxSynchronize") : NULL;
    return missing;
}

static CUptiResult make_set(void)
{
    struct nvt_chip chip = {NVT_PARAMS(nvt_chip, name), .device = counting.device};
    const char *names[NVT_GPU_METRICS_MOST];
    char refused[256] = "", *state = NULL;
    uint32_t count = 0;
    memcpy(counting.text, nvt_session.control->metrics, sizeof(counting.text));
    counting.text[sizeof(counting.text) - 1] = 0;
    for (char *name = strtok_r(counting.text, "\n", &state); name && count < NVT_GPU_METRICS_MOST;
         name = strtok_r(NULL, "\n", &state))
        names[count++] = name;
    CUptiResult result = counting.host.cuptiDeviceGetChipName(&chip);
    if (result == CUPTI_SUCCESS)
        result = nvt_metric_set_make(&counting.set, &counting.host, NVT_HOST_OF_RANGES, chip.name,
                                     NULL, names, count, refused, sizeof(refused));
    if (result == CUPTI_SUCCESS && *refused)
        nvt_metrics_tell("left out, as %s does not have them, or not in the same pass: %s",
                         chip.name, refused);
    return result;
}

static CUptiResult make_image(void)
{
    struct nvt_range_image_size size = {NVT_PARAMS(nvt_range_image_size, image_size),
                                        .profiler = counting.profiler,
                                        .names = counting.set.names,
                                        .count = counting.set.count,
                                        .ranges = 1,
                                        .nodes = 1};
    CUptiResult result = counting.ranges.cuptiRangeProfilerGetCounterDataSize(&size);
    if (result != CUPTI_SUCCESS)
        return result;
    counting.image_size = size.image_size;
    counting.image = malloc(size.image_size + 1);
    return counting.image ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

static void describe(void)
{
    for (uint32_t i = 0; i < counting.set.count; i++) {
        const struct nvt_gpu_metric_name name = nvt_gpu_metric_named(counting.set.names[i]);
        struct nvt_device_batch batch;
        uint8_t memory[4096];
        nvt_device_batch_init(&batch, memory, sizeof(memory));
        const uint64_t fields[NVT_METRIC_FIELDS] = {
            [NVT_METRIC_DEVICE] = counting.device,
            [NVT_METRIC_NUMBER] = NVT_METRIC_OF_RANGES + i,
            [NVT_METRIC_NAME] = nvt_device_batch_name(&batch, name.name),
            [NVT_METRIC_UNIT] = nvt_device_batch_name(&batch, name.unit),
            [NVT_METRIC_ABOUT] = nvt_device_batch_name(&batch, name.cupti)};
        nvt_device_batch_add(&batch, NVT_DEVICE_METRIC, fields, NVT_METRIC_FIELDS);
        nvt_device_send(&batch);
    }
}

/* 0, or -1 when it was said why not. */
static int open_profiler(const struct nvt_cupti_api *api)
{
    struct nvt_profiler_start start = {NVT_PARAMS(nvt_profiler_start, unused)};
    struct nvt_range_enable enable = {NVT_PARAMS(nvt_range_enable, profiler),
                                      .context = atomic_load(&counting.context)};
    char text[128];
    const char *missing = load(api);
    counting.is_open = 1;
    if (missing) {
        nvt_metrics_tell("libcupti has no %s; that of CUDA 12.6 or later is needed", missing);
        return -1;
    }
    CUptiResult result = counting.host.cuptiProfilerInitialize(&start);
    if (result == CUPTI_SUCCESS)
        result = make_set();
    if (result == CUPTI_SUCCESS)
        result = counting.ranges.cuptiRangeProfilerEnable(&enable);
    counting.profiler = enable.profiler;
    if (result == CUPTI_SUCCESS)
        result = make_image();
    if (result == CUPTI_SUCCESS) {
        describe();
        return 0;
    }
    nvt_metrics_tell("device %u: %s", counting.device,
                     nvt_metrics_meaning(api, result, text, sizeof(text)));
    return -1;
}

/* --- a range --------------------------------------------------------------------------------------- */

static CUptiResult prepare(void)
{
    struct nvt_range_image image = {NVT_PARAMS(nvt_range_image, image),
                                    .profiler = counting.profiler,
                                    .image_size = counting.image_size, .image = counting.image};
    struct nvt_range_config config = {NVT_PARAMS(nvt_range_config, target_level),
                                      .profiler = counting.profiler,
                                      .config_size = counting.set.config_size,
                                      .config = counting.set.config,
                                      .image_size = counting.image_size,
                                      .image = counting.image,
                                      .range = NVT_RANGES_OF_USER,
                                      .replay = NVT_REPLAY_BY_USER,
                                      .most = 1,
                                      .levels = 1,
                                      .least_level = 1,
                                      .target_level = 1};
    CUptiResult result = counting.ranges.cuptiRangeProfilerCounterDataImageInitialize(&image);
    return result == CUPTI_SUCCESS ? counting.ranges.cuptiRangeProfilerSetConfig(&config) : result;
}

static CUptiResult begin(void)
{
    struct nvt_range_switch start = {NVT_PARAMS(nvt_range_switch, profiler),
                                     .profiler = counting.profiler};
    struct nvt_range_push push = {NVT_PARAMS(nvt_range_push, name), .profiler = counting.profiler,
                                  .name = "range"};
    CUptiResult result = prepare();
    if (counting.synchronize)
        counting.synchronize();
    if (result == CUPTI_SUCCESS)
        result = counting.ranges.cuptiRangeProfilerStart(&start);
    if (result == CUPTI_SUCCESS)
        result = counting.ranges.cuptiRangeProfilerPushRange(&push);
    counting.begun_ns = (uint64_t)nvt_monotonic_ns();
    return result;
}

static void send(uint64_t ended_ns, const double *values)
{
    uint64_t fields[NVT_COUNTED_VALUES + NVT_GPU_METRICS_MOST] = {counting.begun_ns, ended_ns,
                                                                  counting.device};
    memcpy(fields + NVT_COUNTED_VALUES, values, counting.set.count * sizeof(*values));
    nvt_device_send_row(NVT_DEVICE_COUNTED, fields, NVT_COUNTED_VALUES + counting.set.count, 0,
                        NULL);
    counting.counted++;
}

static CUptiResult end(void)
{
    struct nvt_range_switch pop = {NVT_PARAMS(nvt_range_switch, profiler),
                                   .profiler = counting.profiler};
    struct nvt_range_stop stop = {NVT_PARAMS(nvt_range_stop, is_complete),
                                  .profiler = counting.profiler};
    struct nvt_range_decode decode = {NVT_PARAMS(nvt_range_decode, dropped),
                                      .profiler = counting.profiler};
    double numbers[NVT_GPU_METRICS_MOST] = {0};
    struct nvt_host_values values = {NVT_PARAMS(nvt_host_values, values),
                                     .host = counting.set.host,
                                     .image = counting.image,
                                     .image_size = counting.image_size,
                                     .names = counting.set.names,
                                     .count = counting.set.count,
                                     .values = numbers};
    if (counting.synchronize)
        counting.synchronize();
    const uint64_t ended = (uint64_t)nvt_monotonic_ns();
    CUptiResult result = counting.ranges.cuptiRangeProfilerPopRange(&pop);
    const CUptiResult stopped = counting.ranges.cuptiRangeProfilerStop(&stop);
    result = result == CUPTI_SUCCESS ? stopped : result;
    if (result == CUPTI_SUCCESS)
        result = counting.ranges.cuptiRangeProfilerDecodeData(&decode);
    if (result == CUPTI_SUCCESS && (decode.dropped || !stop.is_complete))
        result = CUPTI_ERROR_NOT_READY;
    if (result == CUPTI_SUCCESS)
        result = counting.host.cuptiProfilerHostEvaluateToGpuValues(&values);
    if (result == CUPTI_SUCCESS)
        send(ended, numbers);
    return result;
}

void nvt_cupti_count(const struct nvt_cupti_api *api, int is_open)
{
    char text[128];
    CUptiResult result = CUPTI_SUCCESS;
    pthread_mutex_lock(&counting.lock);
    if (is_open && atomic_load(&counting.context) && !counting.is_open)
        counting.is_refused = open_profiler(api) != 0;
    if (counting.is_open && !counting.is_refused && is_open != counting.is_counting) {
        counting.is_counting = is_open;
        result = is_open ? begin() : end();
    }
    if (result != CUPTI_SUCCESS) {
        counting.is_refused = 1;
        nvt_metrics_tell("device %u: ranges are not counted any more: %s", counting.device,
                         nvt_metrics_meaning(api, result, text, sizeof(text)));
    }
    pthread_mutex_unlock(&counting.lock);
}

const char *nvt_cupti_count_missing(void)
{
    return counting.counted || counting.is_refused ? NULL
           : counting.is_open                      ? "no range ended"
                              : "no range began after the device's context had come up";
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_range_counters_is_empty;
#endif
