/*
 * Samples of devices' counters (record --trace metrics), and what they counted over ranges (--counters-of), as counters of the machine like those of nsys's GPU metrics
 * (nsys_metrics.c): of the domain "GPU 0" and so on, by the device's number in its process, and with the device's identity. A
 * counter's sample stands at the end of its interval.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/gpu_metric_names.h"
#include "../../lib/grow.h"
#include "nvt.h"
#include "nvt_device_chunk.h"

static uint64_t key_of(uint32_t process, uint32_t device, uint32_t number)
{
    return (uint64_t)process << 32 | (uint64_t)(device & 0xffffff) << 8 | number;
}

int nvt_device_read_metric(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_file_metrics *metrics = &chunk->reader->metrics;
    const uint32_t device = (uint32_t)row->fields[NVT_METRIC_DEVICE];
    const uint64_t number = row->fields[NVT_METRIC_NUMBER];
    if (number >= NVT_METRIC_OF_RANGES + NVT_SAMPLE_MOST)
        return 0;
    struct nvt_file_metric *metric =
        nvt_map_item(&metrics->places, key_of(chunk->owner, device, (uint32_t)number),
                     &metrics->items, &metrics->count, sizeof(*metrics->items));
    if (!metric)
        return -1;
    *metric =
        (struct nvt_file_metric){.process = chunk->owner,
                                 .device = device,
                                 .is_of_ranges = number >= NVT_METRIC_OF_RANGES,
                                 .name = nvt_device_name_at(chunk, row->fields[NVT_METRIC_NAME]),
                                 .unit = nvt_device_name_at(chunk, row->fields[NVT_METRIC_UNIT]),
                                 .about = nvt_device_name_at(chunk, row->fields[NVT_METRIC_ABOUT]),
                                 .row = NVT_NONE};
    return 0;
}

static double value_of(uint32_t kind, uint64_t bits)
{
    const uint32_t half = (uint32_t)bits;
    double whole;
    float value;
    memcpy(&whole, &bits, sizeof(whole));
    memcpy(&value, &half, sizeof(value));
    return kind == NVT_DEVICE_COUNTED ? whole : (double)value;
}

int nvt_device_read_sample(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_file_metrics *metrics = &chunk->reader->metrics;
    const uint32_t count = row->count > NVT_SAMPLE_VALUES ? row->count - NVT_SAMPLE_VALUES : 0;
    if (nvt_grow(&metrics->samples, metrics->sample_count, sizeof(*metrics->samples)))
        return -1;
    metrics->samples[metrics->sample_count++] = (struct nvt_file_metric_sample){
        .end = (int64_t)row->fields[NVT_ROW_END],
        .process = chunk->owner,
        .device = (uint32_t)row->fields[NVT_SAMPLE_DEVICE],
        .count = count < NVT_SAMPLE_MOST ? count : NVT_SAMPLE_MOST,
        .number = row->kind == NVT_DEVICE_COUNTED ? NVT_METRIC_OF_RANGES : 0,
        .first = metrics->value_count};
    for (uint32_t i = 0; i < count && i < NVT_SAMPLE_MOST; i++) {
        if (nvt_grow(&metrics->values, metrics->value_count, sizeof(*metrics->values)))
            return -1;
        metrics->values[metrics->value_count++] =
            value_of(row->kind, row->fields[NVT_SAMPLE_VALUES + i]);
    }
    return 0;
}

/* The identity of a device of a process, 0: unknown. */
static uint32_t gpu_of(const struct nvt_trace *trace, uint32_t process, uint32_t device)
{
    for (uint32_t i = 0; i < trace->devices.count; i++)
        if (trace->devices.process[i] == process && trace->devices.device[i] == device)
            return trace->devices.gpu[i];
    return 0;
}

static int add_counter(struct nvt_trace *trace, struct nvt_file_metric *metric)
{
    char domain[32];
    snprintf(domain, sizeof(domain), "%sGPU %u", metric->is_of_ranges ? NVT_RANGES_DOMAIN : "",
             (unsigned)metric->device);
    const struct nvt_counter counter = {.process = metric->process,
                                        .domain = nvt_trace_domain(trace, metric->process, domain),
                                        .name = metric->name,
                                        .unit = metric->unit,
                                        .description = metric->about,
                                        .values = NVT_COUNTER_ABSOLUTE,
                                        .is_of_machine = !metric->is_of_ranges,
                                        .gpu = gpu_of(trace, metric->process, metric->device)};
    if (counter.domain == NVT_NONE)
        return -1;
    metric->row = nvt_counter_add(trace, &counter);
    return metric->row == NVT_NONE ? -1 : 0;
}

/* A thread of the process, or any. */
static uint32_t thread_of(struct nvt_trace *trace, uint32_t process)
{
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.process[i] == process)
            return i;
    return nvt_trace_any_thread(trace);
}

static int add_values(struct nvt_file_reader *reader, const struct nvt_file_metric_sample *sample,
                      int64_t origin, uint32_t thread)
{
    struct nvt_file_metrics *metrics = &reader->metrics;
    for (uint32_t i = 0; i < sample->count; i++) {
        const uint32_t place = nvt_map_get(
            &metrics->places, key_of(sample->process, sample->device, sample->number + i));
        const double value = metrics->values[sample->first + i];
        /* What nobody has named, and what CUPTI could not make a number of. */
        if (place == NVT_MAP_NONE || !isfinite(value))
            continue;
        struct nvt_file_metric *metric = &metrics->items[place];
        if (metric->row == NVT_NONE && add_counter(reader->trace, metric))
            return -1;
        const struct nvt_counter_sample row = {.time = nvt_clock_since(sample->end, origin),
                                               .counter = metric->row,
                                               .thread = thread,
                                               .value = value};
        if (nvt_counter_sample_add(reader->trace, &row) == NVT_NONE)
            return -1;
    }
    return 0;
}

int nvt_file_complete_metrics(struct nvt_file_reader *reader, int64_t origin)
{
    const struct nvt_file_metrics *metrics = &reader->metrics;
    uint32_t process = NVT_NONE, thread = NVT_NONE;
    for (size_t i = 0; i < metrics->sample_count; i++) {
        if (metrics->samples[i].process != process) {
            process = metrics->samples[i].process;
            thread = thread_of(reader->trace, process);
        }
        if (thread == NVT_NONE || add_values(reader, &metrics->samples[i], origin, thread))
            return -1;
    }
    return 0;
}

void nvt_file_metrics_free(struct nvt_file_metrics *metrics)
{
    nvt_map_free(&metrics->places);
    free(metrics->items);
    free(metrics->samples);
    free(metrics->values);
    *metrics = (struct nvt_file_metrics){.items = NULL};
}
