#include "cupti_metrics.h"

#ifdef HAVE_CUPTI

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/gpu_metric_names.h"
#include "../../lib/pages.h"
#include "../cupti_decode.h"
#include "capture.h"
#include "cupti_metrics_keep.h"
#include "cupti_profiler.h"
#include "cupti_range_counters.h"
#include "device.h"
#include "session.h"
#include "thread.h"

#define DEVICES       64
#define POLL_NS       INT64_C(20000000)  /* between two decodings, */
#define HELD_NS       INT64_C(100000000) /* of which an image holds that much, and */
#define BUFFERED_NS   INT64_C(500000000) /* the hardware's buffer that much */
#define SLOTS_MOST    8192u
#define SLOT_BYTES    (16u << 10) /* of the hardware's buffer, for a sample: more than any has taken */
#define BUFFER_LEAST  ((size_t)32 << 20)
#define BUFFER_MOST   ((size_t)512 << 20)
#define DECODINGS     64  /* in a row, while each fills the image */
#define SYSTEM_CLOCK  1.4 /* cycles in a ns of chips that sample by it: about so many */
#define CLOCK_SAMPLES 2   /* that a clock is known by */

/* A device that is sampled. */
struct sampled {
    enum { NEW, STOPPED, SAMPLING, FAILED } state;
    struct nvt_metric_set set;
    void *sampler;
    uint8_t *image;
    size_t image_size;
    struct nvt_metrics_moment begun; /* before sampling was started */
    int clock;                       /* NVT_METRICS_ANY_CLOCK: not known yet */
    uint64_t ahead;                  /* of its times */
    uint64_t last; /* end of the last sample, on its clock; 0: none since the start */
    uint64_t taken, lost, overflows;
    int was_in_vain; /* nothing came since the last overflow */
    char chip[16];
    struct nvt_metrics_keeper keeper;
};

static struct {
    _Atomic uint64_t seen; /* devices with a context, as bits */
    struct nvt_cupti_pm pm;
    int is_loaded, is_refused, is_over;
    char text[NVT_METRICS_NAMES]; /* the names, each ended by 0 */
    const char *names[NVT_GPU_METRICS_MOST];
    uint32_t count;
    struct sampled devices[DEVICES];
    struct nvt_device_batch batch;
    uint64_t taken;
} metrics;

/* --- the beginning --- */

void nvt_cupti_metrics_context(const struct nvt_cupti_api *api, const void *resource)
{
    const CUpti_ResourceData *data = resource;
    uint32_t device = 0;
    if (!(nvt_session.control->trace & NVT_TRACE_METRICS))
        return;
    if (!api->cuptiGetDeviceId || !data || !data->context ||
        api->cuptiGetDeviceId(data->context, &device) != CUPTI_SUCCESS || device >= DEVICES)
        device = 0;
    if (data && data->context)
        nvt_cupti_count_context(data->context, device);
    atomic_fetch_or(&metrics.seen, UINT64_C(1) << device);
    nvt_cupti_ring_bell();
}

void nvt_cupti_metrics_capture(const struct nvt_cupti_api *api)
{
    if (nvt_session.control->counts_ranges)
        nvt_cupti_count(api, nvt_capture_is_open());
    else if (nvt_session.control->trace & NVT_TRACE_METRICS)
        nvt_cupti_ring_bell();
}

static void read_names(void)
{
    char *state = NULL;
    memcpy(metrics.text, nvt_session.control->metrics, sizeof(metrics.text));
    metrics.text[sizeof(metrics.text) - 1] = 0;
    for (char *name = strtok_r(metrics.text, "\n", &state);
         name && metrics.count < NVT_GPU_METRICS_MOST; name = strtok_r(NULL, "\n", &state))
        metrics.names[metrics.count++] = name;
}

/* The functions, of the libcupti that is in use; `is_last`: only to say whether it has them. */
static void load(const struct nvt_cupti_api *api, int is_last)
{
    struct nvt_profiler_start start = {NVT_PARAMS(nvt_profiler_start, unused)};
    char text[128];
    const char *missing = NULL;
#define LOAD(function, type)                                                                       \
    *(void **)&metrics.pm.function = dlsym(api->library, #function);                               \
    if (!metrics.pm.function)                                                                      \
        missing = #function;
    NVT_CUPTI_PM(LOAD)
#undef LOAD
    metrics.is_loaded = 1;
    metrics.is_refused = 1;
    if (missing) {
        nvt_metrics_tell("libcupti has no %s; that of CUDA 12.6 or later is needed", missing);
        return;
    }
    if (is_last)
        return;
    void *memory = nvt_pages_new(nvt_device_batch_room(nvt_thread_get()));
    if (!memory) {
        nvt_metrics_tell("out of memory");
        return;
    }
    nvt_device_batch_init(&metrics.batch, memory, nvt_device_batch_room(nvt_thread_get()));
    CUptiResult result = metrics.pm.cuptiProfilerInitialize(&start);
    if (result != CUPTI_SUCCESS) {
        nvt_metrics_tell("%s", nvt_metrics_meaning(api, result, text, sizeof(text)));
        return;
    }
    read_names();
    metrics.is_refused = 0;
}

/* Why a device is none that can be sampled; NULL: it can. */
static const char *obstacle(uint32_t device)
{
    struct nvt_profiler_supported asked = {NVT_PARAMS(nvt_profiler_supported, what),
                                           .device = (int)device, .what = NVT_PROFILER_PM_SAMPLING};
    if (metrics.pm.cuptiProfilerDeviceSupported(&asked) != CUPTI_SUCCESS)
        return NULL; /* then CUPTI says why when it is enabled */
    if (asked.is_supported != NVT_SUPPORT_NONE && asked.is_supported != NVT_SUPPORT_DISABLED)
        return NULL;
    return asked.confidential == NVT_SUPPORT_NONE ? "the GPU is in confidential-computing mode"
           : asked.vgpu == NVT_SUPPORT_DISABLED   ? "profiling is switched off for this vGPU"
           : asked.vgpu == NVT_SUPPORT_NONE       ? "this vGPU has no counters"
           : asked.architecture == NVT_SUPPORT_NONE
               ? "CUPTI samples no GPU of this architecture (Turing is the first)"
               : "CUPTI does not sample this GPU";
}

static CUptiResult get_availability(uint32_t device, uint8_t **image)
{
    struct nvt_pm_availability asked = {NVT_PARAMS(nvt_pm_availability, image), .device = device};
    CUptiResult result = metrics.pm.cuptiPmSamplingGetCounterAvailability(&asked);
    *image = result == CUPTI_SUCCESS ? malloc(asked.image_size + 1) : NULL;
    if (!*image)
        return result == CUPTI_SUCCESS ? CUPTI_ERROR_OUT_OF_MEMORY : result;
    asked.image = *image;
    return metrics.pm.cuptiPmSamplingGetCounterAvailability(&asked);
}

/* The metrics on this device. */
static CUptiResult make_set(struct sampled *sampled, uint32_t device)
{
    struct nvt_chip asked = {NVT_PARAMS(nvt_chip, name), .device = device};
    uint8_t *availability = NULL;
    char refused[256] = "";
    CUptiResult result = metrics.pm.cuptiDeviceGetChipName(&asked);
    if (result == CUPTI_SUCCESS)
        result = get_availability(device, &availability);
    if (result == CUPTI_SUCCESS)
        result = nvt_metric_set_make(&sampled->set, &metrics.pm, NVT_HOST_OF_SAMPLES, asked.name,
                                     availability, metrics.names, metrics.count, refused,
                                     sizeof(refused));
    free(availability);
    if (result == CUPTI_SUCCESS && *refused)
        nvt_metrics_tell("left out, as %s does not have them, or not in the same pass: %s",
                         asked.name, refused);
    snprintf(sampled->chip, sizeof(sampled->chip), "%s", result == CUPTI_SUCCESS ? asked.name : "");
    return result;
}

static CUptiResult set_config(const struct sampled *sampled)
{
    const char *chip = sampled->chip;
    const uint32_t hz = nvt_session.control->metrics_hz;
    const double ns = 1e9 / hz;
    size_t buffer = (size_t)((double)BUFFERED_NS / ns) * SLOT_BYTES;
    const int is_by_clock = !strcmp(chip, "GA100") || !strncmp(chip, "TU", 2);
    struct nvt_pm_config config = {NVT_PARAMS(nvt_pm_config, append),
                                   .sampler = sampled->sampler,
                                   .config_size = sampled->set.config_size,
                                   .config = sampled->set.config,
                                   .hardware_buffer = buffer < BUFFER_LEAST  ? BUFFER_LEAST
                                                      : buffer > BUFFER_MOST ? BUFFER_MOST
                                                                             : buffer,
                                   .interval = (uint64_t)(is_by_clock ? ns * SYSTEM_CLOCK : ns),
                                   .trigger = is_by_clock ? NVT_PM_BY_SYSTEM_CLOCK : NVT_PM_BY_TIME,
                                   .append = NVT_PM_KEEP_OLDEST};
    return metrics.pm.cuptiPmSamplingSetConfig(&config);
}

static CUptiResult make_image(struct sampled *sampled)
{
    const double held = (double)HELD_NS * nvt_session.control->metrics_hz / 1e9;
    const uint32_t slots = (uint32_t)(held * 1.25) + 64;
    struct nvt_pm_image_size asked = {NVT_PARAMS(nvt_pm_image_size, image_size),
                                      .sampler = sampled->sampler, .names = sampled->set.names,
                                      .count = sampled->set.count,
                                      .samples = slots < SLOTS_MOST ? slots : SLOTS_MOST};
    CUptiResult result = metrics.pm.cuptiPmSamplingGetCounterDataSize(&asked);
    if (result != CUPTI_SUCCESS)
        return result;
    sampled->image_size = asked.image_size;
    sampled->image = malloc(asked.image_size + 1);
    return sampled->image ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

/* 0, or -1 when it was said that it cannot be. */
static int open_device(const struct nvt_cupti_api *api, struct sampled *sampled, uint32_t device)
{
    struct nvt_pm_enable enable = {NVT_PARAMS(nvt_pm_enable, sampler), .device = device};
    char text[128];
    const char *why = obstacle(device);
    CUptiResult result = why ? CUPTI_SUCCESS : make_set(sampled, device);
    if (!why && result == CUPTI_SUCCESS)
        result = metrics.pm.cuptiPmSamplingEnable(&enable);
    sampled->sampler = enable.sampler;
    if (!why && result == CUPTI_SUCCESS)
        result = set_config(sampled);
    if (!why && result == CUPTI_SUCCESS)
        result = make_image(sampled);
    if (!why && result != CUPTI_SUCCESS)
        why = nvt_metrics_meaning(api, result, text, sizeof(text));
    if (why)
        nvt_metrics_tell("device %u: %s", device, why);
    return why ? -1 : 0;
}

/* --- rows --- */

static void send(void)
{
    if (metrics.batch.rows)
        nvt_device_send(&metrics.batch);
    nvt_device_batch_clear(&metrics.batch);
}

static void add(uint32_t kind, const uint64_t *fields, uint32_t count)
{
    if (!nvt_device_batch_add(&metrics.batch, kind, fields, count))
        return;
    send();
    nvt_device_batch_add(&metrics.batch, kind, fields, count);
}

static void describe(const struct sampled *sampled, uint32_t device)
{
    for (uint32_t i = 0; i < sampled->set.count; i++) {
        const struct nvt_gpu_metric_name name = nvt_gpu_metric_named(sampled->set.names[i]);
        const uint64_t fields[NVT_METRIC_FIELDS] = {
            [NVT_METRIC_DEVICE] = device,
            [NVT_METRIC_NUMBER] = i,
            [NVT_METRIC_NAME] = nvt_device_batch_name(&metrics.batch, name.name),
            [NVT_METRIC_UNIT] = nvt_device_batch_name(&metrics.batch, name.unit),
            [NVT_METRIC_ABOUT] = nvt_device_batch_name(&metrics.batch, name.cupti),
            [NVT_METRIC_INTERVAL_NS] = 1000000000u / nvt_session.control->metrics_hz};
        add(NVT_DEVICE_METRIC, fields, NVT_METRIC_FIELDS);
    }
    send();
}

static void put_sample(const struct sampled *sampled, uint32_t device, uint64_t start, uint64_t end,
                       const double *values)
{
    uint64_t fields[NVT_SAMPLE_VALUES + NVT_SAMPLE_MOST] = {start + sampled->ahead,
                                                            end + sampled->ahead, device};
    for (uint32_t i = 0; i < sampled->set.count; i++) {
        const float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        fields[NVT_SAMPLE_VALUES + i] = bits;
    }
    add(NVT_DEVICE_SAMPLE, fields, NVT_SAMPLE_VALUES + sampled->set.count);
}

/* --- decoding --- */

static int get_times(const struct sampled *sampled, size_t index, uint64_t *start, uint64_t *end)
{
    struct nvt_pm_sample sample = {NVT_PARAMS(nvt_pm_sample, end), .sampler = sampled->sampler,
                                   .image = sampled->image, .image_size = sampled->image_size,
                                   .index = index};
    if (metrics.pm.cuptiPmSamplingCounterDataGetSampleInfo(&sample) != CUPTI_SUCCESS)
        return -1;
    *start = sample.start;
    *end = sample.end;
    return sample.start && sample.end > sample.start ? 0 : -1;
}

/* The first time that there are samples; of a clock that is not CLOCK_MONOTONIC how far it is off, each time. */
static void follow_clock(const struct nvt_cupti_api *api, struct sampled *sampled, uint32_t device,
                         size_t count)
{
    uint64_t first = 0, last = 0, start, end;
    for (size_t i = 0; i < count; i++)
        if (!get_times(sampled, i, &start, &end) && end > sampled->last) {
            first = first ? first : start;
            last = end;
        }
    if (!first || sampled->clock == NVT_METRICS_NO_CLOCK)
        return;
    const struct nvt_metrics_moment now = nvt_metrics_now(api);
    if (sampled->clock == NVT_METRICS_ANY_CLOCK) {
        sampled->clock = nvt_metrics_clock(&sampled->begun, &now, first, last);
        if (sampled->clock == NVT_METRICS_NO_CLOCK)
            nvt_metrics_tell(
                "device %u: samples have times of an unknown clock, and are placed by when they "
                "were read, up to %d ms late",
                device, (int)(POLL_NS / 1000000));
    }
    sampled->ahead = nvt_metrics_ahead(sampled->clock, &now, last);
}

/* What lies between the last sample and this one. */
static void count_lost(struct sampled *sampled, uint64_t start)
{
    const double interval = 1e9 / nvt_session.control->metrics_hz;
    const double missing = (double)start - (double)sampled->last;
    if (sampled->last && missing > interval / 2)
        sampled->lost += (uint64_t)(missing / interval + 0.5);
}

static size_t take_image(const struct nvt_cupti_api *api, struct sampled *sampled, uint32_t device)
{
    struct nvt_pm_info info = {NVT_PARAMS(nvt_pm_info, completed), .image = sampled->image,
                               .image_size = sampled->image_size};
    double values[NVT_GPU_METRICS_MOST] = {0};
    struct nvt_host_values wanted = {NVT_PARAMS(nvt_host_values, values),
                                     .host = sampled->set.host,
                                     .image = sampled->image,
                                     .image_size = sampled->image_size,
                                     .names = sampled->set.names,
                                     .count = sampled->set.count,
                                     .values = values};
    size_t taken = 0;
    if (metrics.pm.cuptiPmSamplingGetCounterDataInfo(&info) != CUPTI_SUCCESS)
        return 0;
    follow_clock(api, sampled, device, info.completed);
    const int is_kept = nvt_metrics_keep_begin(
        &sampled->keeper, sampled->chip, device, (const char *const *)sampled->set.names,
        sampled->set.count, sampled->image, sampled->image_size);
    for (size_t i = 0; i < info.completed; i++) {
        uint64_t start, end;
        if (get_times(sampled, i, &start, &end) || end <= sampled->last)
            continue;
        wanted.index = i;
        count_lost(sampled, start);
        sampled->last = end;
        if (metrics.pm.cuptiProfilerHostEvaluateToGpuValues(&wanted) != CUPTI_SUCCESS) {
            sampled->lost++;
            continue;
        }
        put_sample(sampled, device, start, end, values);
        if (is_kept)
            nvt_metrics_keep_sample(&sampled->keeper, start, end, values);
        taken++;
    }
    if (is_kept)
        nvt_metrics_keep_end(&sampled->keeper, device);
    sampled->taken += taken;
    metrics.taken += taken;
    return taken;
}

/* Empty the hardware's buffer. -1: it has overflowed, and gives nothing before it is started again. */
static int decode(const struct nvt_cupti_api *api, struct sampled *sampled, uint32_t device)
{
    struct nvt_pm_image fresh = {NVT_PARAMS(nvt_pm_image, image), .sampler = sampled->sampler,
                                 .image_size = sampled->image_size, .image = sampled->image};
    struct nvt_pm_decode asked = {NVT_PARAMS(nvt_pm_decode, overflow), .sampler = sampled->sampler,
                                  .image = sampled->image, .image_size = sampled->image_size,
                                  .reason = NVT_PM_IMAGE_FULL};
    for (int i = 0; i < DECODINGS && asked.reason == NVT_PM_IMAGE_FULL; i++) {
        asked.reason = NVT_PM_STOPPED_OTHER;
        if (metrics.pm.cuptiPmSamplingCounterDataImageInitialize(&fresh) != CUPTI_SUCCESS)
            break;
        const CUptiResult result = metrics.pm.cuptiPmSamplingDecodeData(&asked);
        if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY)
            break;
        if (result == CUPTI_SUCCESS && take_image(api, sampled, device))
            sampled->was_in_vain = 0;
        if (asked.overflow || result == CUPTI_ERROR_OUT_OF_MEMORY)
            return -1;
    }
    return 0;
}

/* --- on and off --- */

static CUptiResult start(const struct nvt_cupti_api *api, struct sampled *sampled)
{
    struct nvt_pm_switch on = {NVT_PARAMS(nvt_pm_switch, sampler), .sampler = sampled->sampler};
    sampled->begun = nvt_metrics_now(api);
    sampled->last = 0;
    sampled->clock = NVT_METRICS_ANY_CLOCK;
    return metrics.pm.cuptiPmSamplingStart(&on);
}

static void stop(struct sampled *sampled)
{
    struct nvt_pm_switch off = {NVT_PARAMS(nvt_pm_switch, sampler), .sampler = sampled->sampler};
    metrics.pm.cuptiPmSamplingStop(&off);
    sampled->state = STOPPED;
}

/* Before the last buffer that it has: all that it lost since the last sample is not known, but that it overflowed is. */
static void begin_again(const struct nvt_cupti_api *api, struct sampled *sampled, uint32_t device)
{
    const uint64_t last = sampled->last;
    const int clock = sampled->clock;
    sampled->overflows++;
    stop(sampled);
    if (sampled->was_in_vain || start(api, sampled) != CUPTI_SUCCESS) {
        nvt_metrics_tell(
            "device %u: the hardware's buffer overflowed, and sampling could not go on: a lower "
            "rate may help",
            device);
        sampled->state = FAILED;
        return;
    }
    sampled->was_in_vain = 1;
    sampled->last = last; /* what is missing is counted when the next sample has come */
    sampled->clock = clock;
    sampled->state = SAMPLING;
}

static void tell_lost(struct sampled *sampled, uint32_t device)
{
    const unsigned long long all = sampled->lost + sampled->taken;
    if (sampled->lost || sampled->overflows)
        nvt_metrics_tell(
            "device %u: %llu of %llu samples were lost (overflows of the hardware's buffer: %llu); "
            "a lower rate than %u Hz may help",
            device, (unsigned long long)sampled->lost, all, (unsigned long long)sampled->overflows,
            nvt_session.control->metrics_hz);
    sampled->taken = sampled->lost = sampled->overflows = 0;
}

static void follow(const struct nvt_cupti_api *api, struct sampled *sampled, uint32_t device,
                   int wanted)
{
    char text[128];
    if (wanted && sampled->state == NEW)
        sampled->state = open_device(api, sampled, device) ? FAILED : STOPPED;
    if (wanted && sampled->state == STOPPED) {
        const CUptiResult result = start(api, sampled);
        sampled->state = result == CUPTI_SUCCESS ? SAMPLING : FAILED;
        if (result == CUPTI_SUCCESS)
            describe(sampled, device);
        else
            nvt_metrics_tell("device %u: %s", device,
                             nvt_metrics_meaning(api, result, text, sizeof(text)));
    } else if (sampled->state == SAMPLING) {
        if (!wanted)
            stop(sampled);
        const int has_overflowed = decode(api, sampled, device);
        if (has_overflowed && wanted)
            begin_again(api, sampled, device);
        else if (has_overflowed)
            sampled->overflows++;
    }
}

void nvt_cupti_metrics_round(const struct nvt_cupti_api *api, const struct nvt_cupti_seen *seen,
                             int is_up, int final)
{
    const uint64_t trace = nvt_session.control->trace;
    const int is_last = final == NVT_CUPTI_PROCESS_ENDS;
    const int wanted = !final && nvt_capture_is_open();
    if (!(trace & NVT_TRACE_METRICS) || metrics.is_over)
        return;
    metrics.is_over = is_last;
    if (nvt_session.control->counts_ranges) {
        const char *why = is_last ? nvt_cupti_count_missing() : NULL;
        if (why)
            nvt_metrics_tell("no range was counted: %s", why);
        return;
    }
    uint64_t devices = atomic_load(&metrics.seen);
    if (is_up && !devices)
        devices = 1; /* nobody told of contexts (--dormant) */
    if ((wanted || is_last) && devices && !metrics.is_loaded)
        load(api, is_last);
    for (uint32_t i = 0; i < DEVICES && metrics.is_loaded && !metrics.is_refused; i++)
        if (devices >> i & 1)
            follow(api, &metrics.devices[i], i, wanted);
    if (metrics.is_loaded && !metrics.is_refused)
        send();
    for (uint32_t i = 0; i < DEVICES && final; i++)
        tell_lost(&metrics.devices[i], i);
    if (is_last && metrics.taken && trace & NVT_TRACE_KERNEL && seen->calls && !seen->kernels)
        nvt_metrics_tell(
            "CUPTI delivered no kernels while it sampled: record kernels in another run");
}

int64_t nvt_cupti_metrics_wait(int64_t ns)
{
    const int polls =
        metrics.is_loaded && !metrics.is_refused && !metrics.is_over && nvt_capture_is_open();
    return polls && ns > POLL_NS ? POLL_NS : ns;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_metrics_is_empty;
#endif
