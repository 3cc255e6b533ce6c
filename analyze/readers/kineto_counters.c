/* Counters of Chrome's trace events (phase C): each number in an event's args is a series of its own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../model/interchange.h"
#include "kineto.h"

int nvt_kineto_split_name(struct nvt_kineto *reader, struct nvt_counter *counter)
{
    struct nvt_trace *trace = reader->trace;
    const char *name = nvt_name(trace, counter->name), *colon = strstr(name, ": ");
    char domain[128];
    if (!colon || (size_t)(colon - name) >= sizeof(domain))
        return 0;
    snprintf(domain, sizeof(domain), "%.*s", (int)(colon - name), name);
    counter->domain = nvt_trace_domain(trace, counter->process, domain);
    /* A copy: strings move as they are added. */
    char rest[512];
    snprintf(rest, sizeof(rest), "%s", colon + 2);
    counter->name = nvt_strings_add_text(trace->strings, rest);
    return counter->name == NVT_NO_STRING || counter->domain == NVT_NONE ? -1 : 0;
}

/* "queue depth" of an event "queue" with a number "depth"; "value" says nothing. */
static uint32_t name_of(struct nvt_kineto *reader, uint32_t key)
{
    char text[512];
    const char *event = nvt_name(reader->trace, reader->event.name);
    const char *entry = nvt_name(reader->trace, key);
    if (!strcmp(entry, "value") || !strcmp(entry, event))
        return reader->event.name;
    snprintf(text, sizeof(text), "%.250s%s%.250s", event, *event ? " " : "", entry);
    return nvt_strings_add_text(reader->trace->strings, text);
}

/* 0, or -1 when out of memory. */
static int describe(struct nvt_kineto *reader, uint32_t process, uint32_t key,
                    struct nvt_counter *counter)
{
    const char *category = nvt_name(reader->trace, reader->event.category);
    *counter = (struct nvt_counter){
        .process = process, .name = reader->event.name, .values = NVT_COUNTER_ABSOLUTE};
    if (reader->is_own) {
        counter->unit = strcmp(nvt_name(reader->trace, key), "value") ? key : 0;
        counter->is_of_process = !strcmp(category, NVT_EXPORT_PROCESS);
        counter->is_of_machine = !strcmp(category, NVT_EXPORT_MACHINE);
        if (counter->is_of_machine)
            return nvt_kineto_split_name(reader, counter);
    } else {
        counter->name = name_of(reader, key);
    }
    counter->domain = counter->is_of_process ? 0 : nvt_kineto_domain(reader, process);
    return counter->name == NVT_NO_STRING || counter->domain == NVT_NONE ? -1 : 0;
}

/* The row of a series of the event; NVT_NONE when out of memory. */
static uint32_t counter_of(struct nvt_kineto *reader, uint32_t process, uint32_t key)
{
    struct nvt_counter counter;
    struct nvt_trace *trace = reader->trace;
    if (describe(reader, process, key, &counter))
        return NVT_NONE;
    const uint32_t series =
        nvt_map_number(&reader->series, (uint64_t)counter.name << 32 | key, &reader->series_count);
    uint32_t *row = series == NVT_MAP_NONE
                        ? NULL
                        : nvt_map_at(&reader->counters, (uint64_t)counter.domain << 32 | series);
    if (row && *row == NVT_MAP_NONE)
        *row = nvt_counter_add(trace, &counter);
    return row ? *row : NVT_NONE;
}

int nvt_kineto_add_counters(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    if (!strcmp(nvt_name(reader->trace, event->category), NVT_EXPORT_MEMORY))
        return 0;
    const uint32_t process = nvt_kineto_process(reader);
    const struct nvt_kineto_owner *thread = event->has_tid ? nvt_kineto_thread(reader) : NULL;
    if (process == NVT_NONE || (event->has_tid && !thread))
        return nvt_kineto_no_memory(reader);
    const uint32_t row = thread ? thread->row : NVT_NONE;
    for (unsigned i = 0; i < reader->number_count; i++) {
        const uint32_t counter = counter_of(reader, process, reader->numbers[i].key);
        const struct nvt_counter_sample sample = {.time = event->time,
                                                  .counter = counter,
                                                  .thread = row,
                                                  .value = reader->numbers[i].value};
        if (counter == NVT_NONE || nvt_counter_sample_add(reader->trace, &sample) == NVT_NONE)
            return nvt_kineto_no_memory(reader);
    }
    return 0;
}

/* The first thread of a process, which is made where it has none; NVT_NONE when out of memory. */
static uint32_t first_thread(struct nvt_trace *trace, uint32_t process)
{
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.process[i] == process)
            return i;
    return nvt_trace_thread(trace, process, 0);
}

int nvt_kineto_own_counters(struct nvt_trace *trace)
{
    struct nvt_counter_samples *samples = &trace->counter_samples;
    uint32_t process = NVT_NONE, thread = NVT_NONE;
    for (uint32_t i = 0; i < samples->count; i++) {
        if (samples->thread[i] != NVT_NONE)
            continue;
        const uint32_t own = trace->counters.process[samples->counter[i]];
        if (own != process)
            thread = first_thread(trace, own);
        process = own;
        if (thread == NVT_NONE)
            return -1;
        samples->thread[i] = thread;
    }
    return 0;
}
