/*
 * Chunks MACHINE of our own format: what was sampled of the machine, as counters of the trace (docs/trace-format.md).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "nvt.h"

/* What a series has, strings of the model. */
struct series {
    uint32_t domain, name, unit, about, gpu;
};

/* The place of a series among those of the file, NVT_MAP_NONE when out of memory. What an earlier one of its domain and name
 * had for unit and device holds. */
static uint32_t place_of(struct nvt_file_machine *machine, const struct series *series)
{
    uint32_t *place = nvt_map_at(&machine->places, (uint64_t)series->domain << 32 | series->name);
    if (!place || *place != NVT_MAP_NONE)
        return place ? *place : NVT_MAP_NONE;
    if (nvt_grow(&machine->items, machine->count, sizeof(*machine->items)))
        return NVT_MAP_NONE;
    machine->items[machine->count] = (struct nvt_file_machine_series){
        series->domain, series->name, series->unit, series->about, series->gpu, NVT_NONE};
    *place = (uint32_t)machine->count;
    return (uint32_t)machine->count++;
}

static uint32_t string(const struct nvt_file_reader *reader, struct nvt_cursor *cursor)
{
    uint64_t id = nvt_cursor_varint(cursor);
    return nvt_file_string(&reader->strings, id);
}

static int keep(struct nvt_file_machine *machine, uint64_t ticks, uint32_t place, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    if (!isfinite(value))
        return 0;
    if (nvt_grow(&machine->samples, machine->sample_count, sizeof(*machine->samples)))
        return -1;
    machine->samples[machine->sample_count++] =
        (struct nvt_file_machine_sample){ticks, value, place};
    return 0;
}

/* Behind the series: moments, then the values of one series after the other. 0 or -1. */
static int read_values(struct nvt_file_machine *machine, const struct nvt_chunk *chunk,
                       const uint32_t *places, uint64_t count, struct nvt_cursor moments)
{
    struct nvt_cursor values = moments;
    for (uint32_t k = 0; k < chunk->count && values.at; k++)
        nvt_cursor_varint(&values);
    if (!values.at || (uint64_t)(values.end - values.at) / 8 / count < chunk->count)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        struct nvt_cursor times = moments;
        uint64_t ticks = chunk->first;
        for (uint32_t k = 0; k < chunk->count; k++) {
            ticks += nvt_cursor_varint(&times);
            if (keep(machine, ticks, places[i], nvt_cursor_number(&values, 8)))
                return -1;
        }
    }
    return 0;
}

int nvt_file_read_machine(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                          struct nvt_cursor cursor)
{
    uint64_t count = nvt_cursor_varint(&cursor);
    if (!cursor.at || !count || count > (uint64_t)(cursor.end - cursor.at))
        return -1;
    uint32_t *places = malloc(count * sizeof(*places));
    int status = places ? 0 : -1;
    for (uint64_t i = 0; i < count && !status; i++) {
        struct series series;
        series.domain = string(reader, &cursor);
        series.name = string(reader, &cursor);
        series.unit = string(reader, &cursor);
        series.about = string(reader, &cursor);
        series.gpu = string(reader, &cursor);
        places[i] = cursor.at ? place_of(&reader->machine, &series) : NVT_MAP_NONE;
        status = places[i] == NVT_MAP_NONE ? -1 : 0;
    }
    if (!status)
        status = read_values(&reader->machine, chunk, places, count, cursor);
    free(places);
    return status;
}

static int add_counter(struct nvt_trace *trace, struct nvt_file_machine_series *series,
                       uint32_t process)
{
    struct nvt_counter counter = {
        .process = process,
        .domain = nvt_trace_domain(trace, process, nvt_name(trace, series->domain)),
        .name = series->name,
        .unit = series->unit,
        .description = series->about,
        .values = NVT_COUNTER_ABSOLUTE,
        .is_of_machine = 1,
        .gpu = series->gpu};
    if (counter.domain == NVT_NONE)
        return -1;
    series->row = nvt_counter_add(trace, &counter);
    return series->row == NVT_NONE ? -1 : 0;
}

int nvt_file_complete_machine(struct nvt_file_reader *reader, int64_t origin)
{
    struct nvt_file_machine *machine = &reader->machine;
    struct nvt_clock_line line = {0};
    if (!machine->sample_count)
        return 0;
    uint32_t thread = nvt_trace_any_thread(reader->trace);
    if (thread == NVT_NONE)
        return -1;
    for (size_t i = 0; i < machine->count; i++)
        if (add_counter(reader->trace, &machine->items[i], reader->trace->threads.process[thread]))
            return -1;
    for (size_t i = 0; i < machine->sample_count; i++) {
        const struct nvt_file_machine_sample *sample = &machine->samples[i];
        const struct nvt_counter_sample row = {
            .time = nvt_clock_convert_near(reader->samples, reader->sample_count, origin, &line,
                                           sample->ticks),
            .counter = machine->items[sample->series].row,
            .thread = thread,
            .value = sample->value};
        if (nvt_counter_sample_add(reader->trace, &row) == NVT_NONE)
            return -1;
    }
    return 0;
}

void nvt_file_machine_free(struct nvt_file_machine *machine)
{
    nvt_map_free(&machine->places);
    free(machine->items);
    free(machine->samples);
    *machine = (struct nvt_file_machine){0};
}
