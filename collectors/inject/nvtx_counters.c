/*
 * NVTX's counters: a counter is defined once, a sample of it is a mark that carries the counter's name, its
 * value as the payload, and which counter it is of.
 *
 * A definition has texts name, description; numbers schema id; then what the values are (definition.h).
 */
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "definition.h"
#include "events.h"
#include "modules.h"
#include "nvtx_time.h"
#include "registry.h"
#include "session.h"

struct counter {
    struct counter *next;
    nvtxDomainHandle_t domain;
    uint64_t id, schema;
    int clock; /* enum nvt_sample_clock of batches, -1: one that is not known here */
    const struct nvtxStringRegistration *name;
};

#define BUCKETS 256u
static struct counter *_Atomic counters[BUCKETS];
static _Atomic uint64_t next_id = NVTX_COUNTER_ID_DYNAMIC_START;

/* Flags of a batch: two times stand for all. NVTX's own macros shift an int by 32 bits, which is nothing. */
#define PAIR_BEGIN (UINT64_C(1) << 32)
#define PAIR_END   (UINT64_C(2) << 32)

/* --- definitions --- */

/* Static ids are unique in a domain only. */
static struct counter *_Atomic *bucket_of(nvtxDomainHandle_t domain, uint64_t id)
{
    uint64_t number = domain ? domain->number : 0;
    return &counters[(id ^ number * 97) % BUCKETS];
}

static const struct counter *find(nvtxDomainHandle_t domain, uint64_t id)
{
    for (const struct counter *known = atomic_load(bucket_of(domain, id)); known;
         known = known->next)
        if (known->id == id && known->domain == domain)
            return known;
    return NULL;
}

static int clock_of(const nvtxSemanticsHeader_t *list)
{
    const nvtxSemanticsTime_t *time = (const nvtxSemanticsTime_t *)nvt_semantics_find(
        list, NVTX_SEMANTIC_ID_TIME_V1, sizeof(nvtxSemanticsTime_t));
    return nvt_time_clock(time ? time->timeDomainId : NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED);
}

static int define(const struct counter *counter, const nvtxCounterAttr_t *from)
{
    struct nvt_definition_writer out;
    const nvtxSemanticsCounter_t *semantics = nvt_counter_semantics(from->semantics);
    if (nvt_definition_new(&out, 3 * 8 + 3 * NVT_TEXT_MOST + NVT_MEANING_BYTES))
        return -1;
    nvt_put_text(&out, from->name);
    nvt_put_text(&out, from->description);
    nvt_put_number(&out, counter->schema);
    nvt_put_meaning(&out, semantics);
    nvt_define(NVT_DEFINE_COUNTER, counter->domain, 0, counter->id, out.data, out.size);
    nvt_definition_free(&out);
    return 0;
}

static uint64_t register_counter(nvtxDomainHandle_t domain, const nvtxCounterAttr_t *from)
{
    if (!from || from->structSize < sizeof(*from) || from->counterId >= NVT_SAMPLE_COUNTERS)
        return NVTX_COUNTER_ID_NONE;
    struct counter *counter = nvt_session_memory(sizeof(*counter));
    const struct nvtxStringRegistration *name = nvt_registry_string(from->name ? from->name : "");
    if (!counter || !name)
        return NVTX_COUNTER_ID_NONE;
    counter->domain = domain;
    counter->id = from->counterId ? from->counterId : atomic_fetch_add(&next_id, 1);
    counter->schema = from->schemaId;
    counter->clock = clock_of(from->semantics);
    counter->name = name;
    if (define(counter, from))
        return NVTX_COUNTER_ID_NONE;
    struct counter *_Atomic *bucket = bucket_of(domain, counter->id);
    counter->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &counter->next, counter)) {
    }
    return counter->id;
}

/* --- samples --- */

/* A sample of what was never registered has no meaning, and is counted as lost. */
static const struct counter *known_or_drop(nvtxDomainHandle_t domain, uint64_t id)
{
    const struct counter *counter = find(domain, id);
    if (!counter)
        nvt_thread_drop(nvt_thread_get(), 1);
    return counter;
}

static nvtxEventAttributes_t named(const struct counter *counter)
{
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = (nvtxStringHandle_t)counter->name;
    return attributes;
}

static void record(const struct counter *counter, const nvtxEventAttributes_t *attributes,
                   const nvtxPayloadData_t *payload, enum nvt_sample_clock clock, int64_t time)
{
    const struct nvt_ring_sample sample = {counter->id, time};
    struct nvt_event event = {.kind = NVT_EVENT_MARK,
                              .domain = counter->domain,
                              .attributes = attributes,
                              .payloads = payload,
                              .payload_count = payload ? 1 : 0,
                              .sample = &sample,
                              .clock = clock};
    nvt_event_mark(&event);
}

/* A number as NVTX's attributes have it. */
static void sample_number(nvtxDomainHandle_t domain, uint64_t id, int32_t type, uint64_t bits)
{
    const struct counter *counter = known_or_drop(domain, id);
    if (!counter)
        return;
    nvtxEventAttributes_t attributes = named(counter);
    attributes.payloadType = type;
    attributes.payload.ullValue = bits;
    record(counter, &attributes, NULL, NVT_SAMPLE_EVENT, 0);
}

static void sample_integer(nvtxDomainHandle_t domain, uint64_t id, int64_t value)
{
    sample_number(domain, id, NVTX_PAYLOAD_TYPE_INT64, (uint64_t)value);
}

static void sample_real(nvtxDomainHandle_t domain, uint64_t id, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    sample_number(domain, id, NVTX_PAYLOAD_TYPE_DOUBLE, bits);
}

static void sample_nothing(nvtxDomainHandle_t domain, uint64_t id, uint8_t reason)
{
    sample_number(domain, id, (int32_t)NVT_SAMPLE_NO_VALUE, reason);
}

static void sample(nvtxDomainHandle_t domain, uint64_t id, const void *values, size_t size)
{
    const struct counter *counter = known_or_drop(domain, id);
    if (!counter)
        return;
    nvtxEventAttributes_t attributes = named(counter);
    const nvtxPayloadData_t data = {counter->schema, size, values};
    record(counter, &attributes, &data, NVT_SAMPLE_EVENT, 0);
}

/* --- batches --- */

/* Where the times of a batch are: in an array of their own, in its samples, or begin and interval of all. */
struct batch {
    const char *samples;
    size_t count, size; /* of a sample, bytes */
    const char *times;  /* of the first sample; NULL: first + i * step */
    size_t stride;
    uint64_t first, step;
};

/* 0, or -1 where there are not as many times as samples. */
static int find_times(const nvtxCounterBatch_t *from, size_t timestamp, struct batch *batch)
{
    size_t times = from->timestampsSize / sizeof(int64_t);
    int is_end = (from->flags & PAIR_END) != 0;
    batch->stride = sizeof(int64_t);
    batch->times = (const char *)from->timestamps;
    if (!from->timestamps) {
        batch->times = batch->samples + timestamp;
        batch->stride = batch->size;
        return timestamp == SIZE_MAX ? -1 : 0;
    }
    /* As the macro of NVTX may not have set the flag, a pair is also known by its size. */
    if (times != 2 || (!is_end && !(from->flags & PAIR_BEGIN) && batch->count == 2))
        return times == batch->count ? 0 : -1;
    batch->times = NULL;
    batch->step = (uint64_t)from->timestamps[1];
    batch->first =
        (uint64_t)from->timestamps[0] - (is_end ? (uint64_t)(batch->count - 1) * batch->step : 0);
    return 0;
}

static int64_t time_at(const struct batch *batch, size_t i)
{
    uint64_t time = batch->first + (uint64_t)i * batch->step;
    if (batch->times)
        memcpy(&time, batch->times + i * batch->stride, sizeof(time));
    return (int64_t)time;
}

static void submit(nvtxDomainHandle_t domain, const nvtxCounterBatch_t *from)
{
    size_t timestamp;
    if (!from || !from->counters)
        return;
    const struct counter *counter = known_or_drop(domain, from->counterId);
    if (!counter)
        return;
    struct batch batch = {.samples = from->counters,
                          .size = nvt_schema_size(domain, counter->schema, &timestamp)};
    batch.count = batch.size ? from->countersSize / batch.size : 1;
    if (!batch.count)
        return;
    if (!batch.size || counter->clock < 0 || find_times(from, timestamp, &batch)) {
        nvt_thread_drop(nvt_thread_get(), batch.count);
        return;
    }
    nvtxEventAttributes_t attributes = named(counter);
    for (size_t i = 0; i < batch.count; i++) {
        const nvtxPayloadData_t data = {counter->schema, batch.size,
                                        batch.samples + i * batch.size};
        record(counter, &attributes, &data, (enum nvt_sample_clock)counter->clock,
               time_at(&batch, i));
    }
}

static const struct nvt_callback callbacks[] = {
    {NVTX3EXT_CBID_nvtxCounterRegister, (NvtxFunctionPointer)register_counter},
    {NVTX3EXT_CBID_nvtxCounterSampleInt64, (NvtxFunctionPointer)sample_integer},
    {NVTX3EXT_CBID_nvtxCounterSampleFloat64, (NvtxFunctionPointer)sample_real},
    {NVTX3EXT_CBID_nvtxCounterSample, (NvtxFunctionPointer)sample},
    {NVTX3EXT_CBID_nvtxCounterSampleNoValue, (NvtxFunctionPointer)sample_nothing},
    {NVTX3EXT_CBID_nvtxCounterBatchSubmit, (NvtxFunctionPointer)submit},
};

const struct nvt_extension nvt_extension_counters = {NVTX_EXT_COUNTERS_MODULEID, callbacks,
                                                     NVT_COUNT_OF(callbacks)};
