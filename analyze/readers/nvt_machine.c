/*
 * Chunks MACHINE of our own format: what was sampled of the machine and of processes, as counters of the trace
 * (docs/trace-format.md).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "nvt.h"

/* What a series has, strings of the model; the process is a row of it, or NVT_NONE. */
struct series {
    uint32_t domain, name, unit, about, gpu, process;
};

/* The place of a series among those of the file, NVT_MAP_NONE when out of memory. What an earlier one of its domain and name
 * had for unit and device holds. */
static uint32_t place_of(struct nvt_file_machine *machine, const struct series *series)
{
    const int of_process = series->process != NVT_NONE;
    const uint32_t owner = of_process ? series->process : series->domain, before = machine->count;
    const uint32_t place = nvt_map_row(of_process ? &machine->of_processes : &machine->places,
                                       (uint64_t)owner << 32 | series->name, &machine->items,
                                       &machine->count, sizeof(*machine->items));
    if (machine->count > before)
        machine->items[place] = (struct nvt_file_machine_series){
            series->domain, series->name,    series->unit, series->about,
            series->gpu,    series->process, NVT_NONE};
    return place;
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
    if (!cursor.at || !count || count > (uint64_t)(cursor.end - cursor.at) ||
        (chunk->process != NVT_NO_INDEX && chunk->process >= reader->process_count))
        return -1;
    uint32_t *places = malloc(count * sizeof(*places));
    int status = places ? 0 : -1;
    for (uint64_t i = 0; i < count && !status; i++) {
        struct series series = {.process = chunk->process == NVT_NO_INDEX
                                               ? NVT_NONE
                                               : reader->processes[chunk->process].row};
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

/* `process`: whose row the machine's are kept with. */
static int add_counter(struct nvt_trace *trace, struct nvt_file_machine_series *series,
                       uint32_t process)
{
    const int is_of_process = series->process != NVT_NONE;
    process = is_of_process ? series->process : process;
    struct nvt_counter counter = {
        .process = process,
        .domain = nvt_trace_domain(trace, process, nvt_name(trace, series->domain)),
        .name = series->name,
        .unit = series->unit,
        .description = series->about,
        .values = NVT_COUNTER_ABSOLUTE,
        .is_of_machine = (uint8_t)!is_of_process,
        .is_of_process = (uint8_t)is_of_process,
        .gpu = series->gpu};
    if (counter.domain == NVT_NONE)
        return -1;
    series->row = nvt_counter_add(trace, &counter);
    return series->row == NVT_NONE ? -1 : 0;
}

/* The first thread of each process, NVT_NONE where it has none; NULL when out of memory. */
static uint32_t *first_threads(const struct nvt_trace *trace)
{
    uint32_t *first = malloc(((size_t)trace->processes.count + 1) * sizeof(*first));
    for (uint32_t i = 0; first && i < trace->processes.count; i++)
        first[i] = NVT_NONE;
    for (uint32_t i = trace->threads.count; first && i-- > 0;)
        first[trace->threads.process[i]] = i;
    return first;
}

/* thread: that samples of no process are of. */
static int add_samples(struct nvt_file_reader *reader, int64_t origin, uint32_t thread,
                       const uint32_t *first_thread)
{
    struct nvt_file_machine *machine = &reader->machine;
    struct nvt_clock_line line = {0};
    for (size_t i = 0; i < machine->sample_count; i++) {
        const struct nvt_file_machine_sample *sample = &machine->samples[i];
        const uint32_t process = machine->items[sample->series].process;
        const struct nvt_counter_sample row = {
            .time = nvt_clock_convert_near(reader->samples, reader->sample_count, origin, &line,
                                           sample->ticks),
            .counter = machine->items[sample->series].row,
            .thread = process == NVT_NONE || first_thread[process] == NVT_NONE
                          ? thread
                          : first_thread[process],
            .value = sample->value};
        if (nvt_counter_sample_add(reader->trace, &row) == NVT_NONE)
            return -1;
    }
    return 0;
}

/* Of those without a sample, as what is read seldom may be, there is no counter. */
static int add_counters(struct nvt_file_reader *reader, uint32_t process)
{
    struct nvt_file_machine *machine = &reader->machine;
    uint8_t *has_samples = calloc((size_t)machine->count + 1, 1);
    int failed = !has_samples;
    for (size_t i = 0; has_samples && i < machine->sample_count; i++)
        has_samples[machine->samples[i].series] = 1;
    for (size_t i = 0; i < machine->count && !failed; i++)
        if (has_samples[i] || machine->items[i].process == NVT_NONE)
            failed = add_counter(reader->trace, &machine->items[i], process);
    free(has_samples);
    return failed ? -1 : 0;
}

int nvt_file_complete_machine(struct nvt_file_reader *reader, int64_t origin)
{
    if (!reader->machine.sample_count)
        return 0;
    const uint32_t thread = nvt_trace_any_thread(reader->trace);
    if (thread == NVT_NONE || add_counters(reader, reader->trace->threads.process[thread]))
        return -1;
    uint32_t *first = first_threads(reader->trace);
    int status = first ? add_samples(reader, origin, thread, first) : -1;
    free(first);
    return status;
}

void nvt_file_machine_free(struct nvt_file_machine *machine)
{
    nvt_map_free(&machine->places);
    nvt_map_free(&machine->of_processes);
    free(machine->items);
    free(machine->samples);
    *machine = (struct nvt_file_machine){0};
}
