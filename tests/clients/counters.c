/*
 * NVTX's counters in all their forms; tests/test_counters.c knows what to expect. With an argument, 20,000 samples
 * of one counter and 80,000 that it is zero, and it kills itself.
 */
#include <math.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static nvtxSemanticsCounter_t semantics(const char *unit, uint64_t flags, uint64_t numerator,
                                        uint64_t denominator)
{
    nvtxSemanticsCounter_t result = {0};
    result.header.structSize = sizeof(result);
    result.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
    result.header.version = NVTX_COUNTER_SEMANTIC_VERSION;
    result.unit = unit;
    result.flags = flags;
    result.unitScaleNumerator = numerator;
    result.unitScaleDenominator = denominator;
    return result;
}

static nvtxSemanticsTime_t clock_of(uint64_t domain)
{
    nvtxSemanticsTime_t result = {0};
    result.header.structSize = sizeof(result);
    result.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
    result.header.version = NVTX_TIME_SEMANTIC_VERSION;
    result.timeDomainId = domain;
    return result;
}

static uint64_t counter(nvtxDomainHandle_t domain, const char *name, uint64_t schema, uint64_t id,
                        const nvtxSemanticsHeader_t *meaning)
{
    nvtxCounterAttr_t attributes = {0};
    attributes.structSize = sizeof(attributes);
    attributes.schemaId = schema;
    attributes.name = name;
    attributes.description = "of the tests";
    attributes.counterId = id;
    attributes.semantics = meaning;
    return nvtxCounterRegister(domain, &attributes);
}

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void single(nvtxDomainHandle_t domain)
{
    nvtxSemanticsCounter_t seconds = semantics("s", 0, 1, 1000);
    uint64_t loss = counter(domain, "loss", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, 0, NULL);
    /* in ms */
    uint64_t waited = counter(domain, "waited", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, &seconds.header);
    uint64_t fixed = counter(domain, "fixed", NVTX_PAYLOAD_ENTRY_TYPE_UINT32,
                             NVTX_COUNTER_ID_STATIC_START + 7, NULL);
    uint64_t elsewhere = counter(NULL, "elsewhere", NVTX_PAYLOAD_ENTRY_TYPE_UINT32,
                                 NVTX_COUNTER_ID_STATIC_START + 7, NULL);
    for (int i = 0; i < 4; i++) {
        uint32_t value = 100 + (uint32_t)i;
        nvtxRangePushA("step");
        nvtxCounterSampleFloat64(domain, loss, 4 - i);
        nvtxCounterSampleInt64(domain, waited, i * 500);
        nvtxCounterSample(domain, fixed, &value, sizeof(value));
        nvtxRangePop();
    }
    uint32_t value = 5;
    nvtxCounterSample(NULL, elsewhere, &value, sizeof(value));
    nvtxCounterSampleFloat64(domain, loss, NAN);
    nvtxCounterSampleNoValue(domain, loss, NVTX_COUNTER_SAMPLE_UNCHANGED);
    nvtxCounterSampleNoValue(domain, loss, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
    nvtxCounterSampleNoValue(domain, loss, NVTX_COUNTER_SAMPLE_ZERO);
    nvtxCounterSampleInt64(domain, NVTX_COUNTER_ID_STATIC_START + 99, 1); /* never registered */
}

struct traffic {
    uint32_t sent;
    int16_t share;
    double queues[2];
    int64_t time;
};

static uint64_t traffic_schema(nvtxDomainHandle_t domain)
{
    nvtxSemanticsCounter_t bytes = semantics("bytes", NVTX_COUNTER_FLAG_VALUETYPE_DELTA, 1, 1);
    nvtxSemanticsCounter_t share = semantics(NULL, NVTX_COUNTER_FLAG_NORMALIZE, 1, 1);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "sent", NULL, 0, 0, &bytes.header, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT16, "share", NULL, 0, 0, &share.header, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "queues", NULL,
         2, 0, NULL, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "time", NULL, 0, 0, NULL,
         NULL},
    };
    nvtxPayloadSchemaAttr_t attributes = {0};
    attributes.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.flags = NVTX_PAYLOAD_SCHEMA_FLAG_COUNTER_GROUP;
    attributes.entries = entries;
    attributes.numEntries = 4;
    attributes.payloadStaticSize = sizeof(struct traffic);
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void groups(nvtxDomainHandle_t domain)
{
    uint64_t traffic = counter(domain, "traffic", traffic_schema(domain), 0, NULL);
    struct traffic samples[2] = {{10, 32767, {1, 2}, 0}, {5, -32767, {3, 4}, 0}};
    nvtxCounterSample(domain, traffic, &samples[0], sizeof(samples[0]));
    nvtxCounterSample(domain, traffic, &samples[1], sizeof(samples[1]));
    samples[0].time = samples[1].time = nvtxTimestampGet();
    nvtxCounterBatch_t batch = {0};
    batch.counterId = traffic;
    batch.counters = samples;
    batch.countersSize = sizeof(samples);
    nvtxCounterBatchSubmit(domain, &batch); /* with the times in the samples */
}

static void submit(nvtxDomainHandle_t domain, uint64_t id, const float *values, size_t count,
                   const int64_t *times, size_t time_count, uint64_t flags)
{
    nvtxCounterBatch_t batch = {0};
    batch.counterId = id;
    batch.counters = values;
    batch.countersSize = count * sizeof(*values);
    batch.flags = flags;
    batch.timestamps = times;
    batch.timestampsSize = time_count * sizeof(*times);
    nvtxCounterBatchSubmit(domain, &batch);
}

static void batches(nvtxDomainHandle_t domain)
{
    static const float values[] = {1, 2, 3};
    nvtxSemanticsTime_t monotonic = clock_of(NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC);
    nvtxSemanticsTime_t realtime = clock_of(NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME);
    nvtxSemanticsTime_t unknown = clock_of(NVTX_TIMESTAMP_TYPE_GPU_GLOBALTIMER);
    uint64_t ticks = counter(domain, "ticks", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0, NULL);
    uint64_t mono = counter(domain, "mono", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0, &monotonic.header);
    uint64_t real = counter(domain, "real", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0, &realtime.header);
    uint64_t other = counter(domain, "other", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0, &unknown.header);
    int64_t times[3];
    nvtxRangePushA("between");
    for (int i = 0; i < 3; i++)
        times[i] = nvtxTimestampGet();
    int64_t pair[2] = {now(CLOCK_MONOTONIC), 1000};
    int64_t end[2] = {now(CLOCK_REALTIME) + 2000, 1000};
    usleep(20);
    nvtxRangePop();
    usleep(3000);
    submit(domain, ticks, values, 3, times, 3, 0);
    submit(domain, mono, values, 3, pair, 2, 0);
    submit(domain, real, values, 3, end, 2, UINT64_C(2) << 32);
    submit(domain, other, values, 3, times, 3, 0); /* of a clock that is not known: lost */
    submit(domain, ticks, values, 3, times, 1, 0); /* without times enough: lost */
    times[0] = 0;
    submit(domain, ticks, values, 1, times, 1, 0); /* before there was a recording: left out */
}

/* Samples of a counter, and then nothing more of this process. */
static void die(nvtxDomainHandle_t domain)
{
    uint64_t id = counter(domain, "alive", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, NULL);
    for (int64_t i = 0; i < 20000; i++)
        nvtxCounterSampleInt64(domain, id, i);
    for (int i = 0; i < 80000; i++)
        nvtxCounterSampleNoValue(domain, id, NVTX_COUNTER_SAMPLE_ZERO);
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    (void)argv;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("training");
    if (argc > 1)
        die(domain);
    single(domain);
    groups(domain);
    batches(domain);
    return 0;
}
