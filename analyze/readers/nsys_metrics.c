/*
 * Samples of GPU metrics (nsys profile --gpu-metrics-devices): counters of the machine, whose domain is "GPU 0" and so on,
 * and whose unit is what stands in brackets behind a metric's name: "SMs Active [Throughput %]".
 *
 * The low byte of a typeId is the GPU's id in TARGET_INFO_GPU. Rows with a time before the recording began are of
 * nothing, as nsys's own tools have it.
 */
#ifdef HAVE_SQLITE
#include "nsys.h"

#include <stdio.h>
#include <string.h>

#define GPU_MASK 0xff

enum { M_TYPE, M_METRIC, M_NAME, M_TYPE_NAME };
enum { V_TYPE, V_METRIC, V_TIME, V_VALUE };

/* 0 or -1. */
static int find_owner(struct nvt_nsys *reader)
{
    reader->metric_thread = nvt_trace_any_thread(reader->trace);
    return reader->metric_thread == NVT_NONE ? -1 : 0;
}

/* Where the counter of a metric is kept. NULL when out of memory. */
static uint32_t *counter_at(struct nvt_nsys *reader, int64_t type, uint32_t metric)
{
    uint32_t small =
        nvt_map_number(&reader->metric_types, (uint64_t)type, &reader->metric_type_count);
    return small == NVT_MAP_NONE ? NULL
                                 : nvt_map_at(&reader->metrics, (uint64_t)small << 32 | metric);
}

/* The name without the unit in brackets behind it; the counter gets both. 0 or -1. */
static int name_counter(struct nvt_trace *trace, struct nvt_counter *counter, const char *name)
{
    size_t length = strlen(name), end = length;
    const char *open = length && name[length - 1] == ']' ? strrchr(name, '[') : NULL;
    if (open && open > name) {
        counter->unit =
            nvt_strings_add(trace->strings, open + 1, length - 2 - (size_t)(open - name));
        for (end = (size_t)(open - name); end && name[end - 1] == ' ';)
            end--;
    }
    counter->name = nvt_strings_add(trace->strings, name, end);
    return counter->name == NVT_NO_STRING || counter->unit == NVT_NO_STRING ? -1 : 0;
}

static int add_counter(struct nvt_nsys *reader, int64_t type, uint32_t metric, const char *name,
                       uint32_t description)
{
    struct nvt_trace *trace = reader->trace;
    char domain[32];
    uint32_t *row = counter_at(reader, type, metric);
    if (!row || *row != NVT_MAP_NONE) /* the first of a name is it */
        return row ? 0 : -1;
    if (!reader->metric_count++ && find_owner(reader))
        return -1;
    uint32_t process = trace->threads.process[reader->metric_thread];
    const uint32_t gpu = nvt_map_get(&reader->gpus, (uint64_t)type & GPU_MASK);
    snprintf(domain, sizeof(domain), "GPU %u", (unsigned)(type & GPU_MASK));
    struct nvt_counter counter = {.process = process,
                                  .domain = nvt_trace_domain(trace, process, domain),
                                  .description = description,
                                  .values = NVT_COUNTER_ABSOLUTE,
                                  .is_of_machine = 1,
                                  .gpu = gpu == NVT_MAP_NONE ? 0 : trace->devices.gpu[gpu]};
    if (counter.domain == NVT_NONE || name_counter(trace, &counter, name))
        return -1;
    *row = nvt_counter_add(trace, &counter);
    return *row == NVT_NONE ? -1 : 0;
}

static int metric(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t name = nvt_nsys_text(reader, table, M_NAME);
    uint32_t description = nvt_nsys_text(reader, table, M_TYPE_NAME);
    int64_t type = nvt_nsys_int(table, M_TYPE, 0);
    uint32_t number = nvt_nsys_u32(table, M_METRIC, 0);
    if (table->bad)
        return 0;
    if (name == NVT_NO_STRING || description == NVT_NO_STRING)
        return -1;
    return add_counter(reader, type, number, nvt_name(reader->trace, name), description);
}

static int sample(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    int64_t type = nvt_nsys_int(table, V_TYPE, 0), time = nvt_nsys_time(table, V_TIME);
    uint32_t number = nvt_nsys_u32(table, V_METRIC, 0);
    int64_t value = nvt_nsys_int(table, V_VALUE, 0);
    char unnamed[32];
    if (table->bad || time < 0 || nvt_nsys_is_null(table, V_VALUE))
        return 0;
    uint32_t *row = counter_at(reader, type, number);
    if (row && *row == NVT_MAP_NONE) {
        snprintf(unnamed, sizeof(unnamed), "metric %u", (unsigned)number);
        if (add_counter(reader, type, number, unnamed, 0))
            return -1;
        row = counter_at(reader, type, number);
    }
    if (!row)
        return -1;
    const struct nvt_counter_sample sample = {
        .time = time, .counter = *row, .thread = reader->metric_thread, .value = (double)value};
    return nvt_counter_sample_add(reader->trace, &sample) == NVT_NONE ? -1 : 0;
}

int nvt_nsys_read_metrics(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec names = {"TARGET_INFO_GPU_METRICS",
                                               NULL,
                                               3,
                                               {"typeId", "metricId", "metricName", "typeName"},
                                               metric};
    static const struct nvt_nsys_spec samples = {
        "GPU_METRICS", NULL, 4, {"typeId", "metricId", "timestamp", "value"}, sample};
    return nvt_nsys_read(reader, &names) || nvt_nsys_read(reader, &samples) ? -1 : 0;
}
#endif
