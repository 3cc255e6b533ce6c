/* Track events: slices, instants, counters, and the old form of Chrome's events. */
#include "perfetto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/interchange.h"
#include "../model/layout.h"

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

#define MOST_FLOWS  16
#define MOST_EXTRAS 8

/* What a TrackEvent says besides its name and annotations. */
struct track_event {
    uint64_t type, track, value;
    int has_track, has_value, is_double;
    int64_t delta_us, absolute_us;
    int has_delta, has_absolute;
    struct nvt_wire legacy;
    uint64_t flows[MOST_FLOWS];
    unsigned flow_count;
    uint64_t extra[MOST_EXTRAS], extra_tracks[MOST_EXTRAS];
    unsigned extra_count, extra_track_count;
    int has_category;
};

/* --- fields --- */

static void take_flows(struct track_event *out, const struct nvt_wire_field *field)
{
    struct nvt_wire packed = {0};
    uint64_t id;
    if (field->type == NVT_WIRE_64 || field->type == NVT_WIRE_VARINT) {
        if (out->flow_count < MOST_FLOWS)
            out->flows[out->flow_count++] = field->value;
        return;
    }
    if (field->number == 36 || field->number == 42) {
        while (out->flow_count < MOST_FLOWS && nvt_wire_repeated(field, &packed, &id))
            out->flows[out->flow_count++] = id;
        return;
    }
    for (size_t at = 0; at + 8 <= field->size && out->flow_count < MOST_FLOWS; at += 8) {
        memcpy(&id, field->data + at, sizeof(id));
        out->flows[out->flow_count++] = id;
    }
}

static void take_extras(uint64_t *out, unsigned *count, const struct nvt_wire_field *field)
{
    struct nvt_wire packed = {0};
    while (*count < MOST_EXTRAS && nvt_wire_repeated(field, &packed, &out[*count]))
        ++*count;
}

/* 0, or -1 when out of memory. */
static int take_names(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                      const struct nvt_wire_field *field, struct track_event *out)
{
    struct nvt_kineto_event *event = &reader->kineto.event;
    struct nvt_wire packed = {0};
    uint64_t iid;
    const int is_text = field->type == NVT_WIRE_BYTES;
    if (field->number == 10)
        event->name = nvt_perfetto_interned(reader, packet, NVT_PI_NAME, field->value);
    else if (field->number == 23 && is_text)
        event->name = nvt_perfetto_text(reader, field);
    else if (field->number == 22 && is_text && !out->has_category++)
        event->category = nvt_perfetto_text(reader, field);
    else if (field->number == 3 && nvt_wire_repeated(field, &packed, &iid) && !out->has_category++)
        event->category = nvt_perfetto_interned(reader, packet, NVT_PI_CATEGORY, iid);
    return event->name == NVT_NO_STRING || event->category == NVT_NO_STRING ? -1 : 0;
}

static void take_number(const struct nvt_wire_field *field, struct track_event *out)
{
    switch (field->number) {
    case 1:
        out->delta_us = nvt_wire_int(field);
        out->has_delta = 1;
        return;
    case 9:
        out->type = field->value;
        return;
    case 11:
        out->track = field->value;
        out->has_track = 1;
        return;
    case 12:
        take_extras(out->extra, &out->extra_count, field);
        return;
    case 16:
        out->absolute_us = nvt_wire_int(field);
        out->has_absolute = 1;
        return;
    case 30:
    case 44:
        out->value = field->value;
        out->has_value = 1;
        out->is_double = field->number == 44;
        return;
    case 31:
        take_extras(out->extra_tracks, &out->extra_track_count, field);
        return;
    case 36:
    case 42:
    case 47:
    case 48:
        take_flows(out, field);
        return;
    default:
        return;
    }
}

/* 0, or -1 with err filled. */
static int take_fields(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                       struct nvt_wire wire, struct track_event *out)
{
    struct nvt_wire_field field;
    int found;
    while ((found = nvt_wire_next(&wire, &field)) > 0) {
        if (field.number == 4 && field.type == NVT_WIRE_BYTES) {
            if (nvt_perfetto_annotation(reader, packet, nvt_wire_in(&field)))
                return -1;
        } else if (field.number == 6)
            out->legacy = nvt_wire_in(&field);
        else if (field.number == 3 || field.number == 10 || field.number == 22 ||
                 field.number == 23) {
            if (take_names(reader, packet, &field, out))
                return nvt_kineto_no_memory(&reader->kineto);
        } else
            take_number(&field, out);
    }
    reader->damaged += found < 0;
    return 0;
}

/* --- slices --- */

/* The tables that a slice may be a row of. */
static const enum nvt_table_number tables[] = {NVT_TABLE_ranges, NVT_TABLE_ops,
                                               NVT_TABLE_apis,   NVT_TABLE_os_calls,
                                               NVT_TABLE_syncs,  NVT_TABLE_overheads};

static void count_rows(const struct nvt_trace *trace, uint32_t *counts)
{
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        counts[i] = nvt_layout_rows(trace, &nvt_layout()[tables[i]]);
}

/* Add the event, and say in which table it is: NVT_NONE, in none. 0, or -1 with err filled. */
static int add_event(struct nvt_perfetto *reader, uint32_t *table, uint32_t *row)
{
    uint32_t before[NVT_COUNT_OF(tables)], after[NVT_COUNT_OF(tables)];
    struct nvt_kineto *kineto = &reader->kineto;
    kineto->events++;
    count_rows(kineto->trace, before);
    if (nvt_kineto_add(kineto))
        return -1;
    count_rows(kineto->trace, after);
    *table = *row = NVT_NONE;
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        if (after[i] > before[i]) {
            *table = tables[i];
            *row = before[i];
        }
    return 0;
}

/* Arrows lead from the first slice of the host that has their id to operations. */
static int take_arrows(struct nvt_perfetto *reader, const struct track_event *event, uint32_t table,
                       uint32_t row)
{
    const struct nvt_trace *trace = reader->kineto.trace;
    const int is_op = table == NVT_TABLE_ops;
    if (!is_op && table != NVT_TABLE_ranges && table != NVT_TABLE_apis)
        return 0;
    for (unsigned i = 0; i < event->flow_count; i++) {
        if (is_op) {
            if (nvt_grow(&reader->arrows, reader->arrow_count, sizeof(*reader->arrows)))
                return -1;
            reader->arrows[reader->arrow_count++] =
                (struct nvt_perfetto_arrow){event->flows[i], row};
            continue;
        }
        const uint32_t before = reader->launch_count;
        struct nvt_kineto_launch *launch =
            nvt_map_item(&reader->flows, event->flows[i], &reader->launches, &reader->launch_count,
                         sizeof(*reader->launches));
        if (!launch)
            return -1;
        if (reader->launch_count > before)
            *launch = (struct nvt_kineto_launch){
                table == NVT_TABLE_apis ? trace->apis.thread[row] : trace->ranges.thread[row],
                reader->kineto.event.time};
    }
    return 0;
}

/* Tracks may move as they are added, hence the number. */
static int begin_slice(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                       const struct track_event *event, uint32_t at)
{
    struct nvt_kineto *kineto = &reader->kineto;
    uint32_t table, row;
    kineto->event.phase = 'X';
    /* Our export ends what never ended where the recording does. */
    const uint8_t is_unclosed = nvt_kineto_int(&kineto->event, NVT_KN_UNCLOSED, 0) != 0;
    nvt_kineto_set(&kineto->event, NVT_KN_UNCLOSED, 1);
    if (nvt_perfetto_place(reader, &reader->tracks[at]) || nvt_perfetto_classify(reader) ||
        add_event(reader, &table, &row))
        return -1;
    if (table == NVT_TABLE_ranges && reader->tracks[at].is_async)
        kineto->trace->ranges.style[row] = NVT_START_END;
    if (take_arrows(reader, event, table, row))
        return nvt_kineto_no_memory(kineto);
    const struct nvt_perfetto_slice begin = {
        kineto->event.time, at, packet->sequence_row, table, row, 1, is_unclosed, 0};
    return nvt_perfetto_slice(reader, &begin) ? nvt_kineto_no_memory(kineto) : 0;
}

static int end_slice(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                     uint32_t at)
{
    const struct nvt_perfetto_slice end = {
        packet->time, at, packet->sequence_row, NVT_NONE, NVT_NONE, 0, 0, 0};
    return nvt_perfetto_slice(reader, &end) ? nvt_kineto_no_memory(&reader->kineto) : 0;
}

/* Whether an instant is none, but how Kineto writes down facts and what it calls its own rows. */
static int is_of_kineto(const struct nvt_perfetto *reader)
{
    const char *name = nvt_name(reader->kineto.trace, reader->kineto.event.name);
    return !strcmp(name, "trace_metadata") || !strcmp(name, "device_properties") ||
           !strncmp(name, "Overhead: ", 10);
}

static int add_instant(struct nvt_perfetto *reader, uint32_t at)
{
    uint32_t table, row;
    reader->kineto.event.phase = 'i';
    return is_of_kineto(reader)                                                                 ? 0
           : nvt_perfetto_place(reader, &reader->tracks[at]) || add_event(reader, &table, &row) ? -1
                                                                                                : 0;
}

/* --- counters --- */

/* The row of a track's counter. NVT_NONE when out of memory. */
static uint32_t counter_of(struct nvt_perfetto *reader, uint32_t at)
{
    struct nvt_kineto *kineto = &reader->kineto;
    if (reader->tracks[at].counter != NVT_NONE)
        return reader->tracks[at].counter;
    if (nvt_perfetto_place(reader, &reader->tracks[at]))
        return NVT_NONE;
    const struct nvt_perfetto_track *track = &reader->tracks[at];
    const char *category = nvt_name(kineto->trace, kineto->event.category);
    struct nvt_counter counter = {.process = nvt_kineto_process(kineto),
                                  .name = track->name ? track->name : kineto->event.name,
                                  .unit = track->unit,
                                  .values = NVT_COUNTER_ABSOLUTE,
                                  .is_of_machine = !strcmp(category, NVT_EXPORT_MACHINE),
                                  .is_of_process = !strcmp(category, NVT_EXPORT_PROCESS)};
    if (counter.process == NVT_NONE ||
        (counter.is_of_machine && nvt_kineto_split_name(kineto, &counter)))
        return NVT_NONE;
    if (!counter.is_of_machine && !counter.is_of_process)
        counter.domain = nvt_kineto_domain(kineto, counter.process);
    if (counter.domain == NVT_NONE)
        return NVT_NONE;
    return reader->tracks[at].counter = nvt_counter_add(kineto->trace, &counter);
}

static int add_sample(struct nvt_perfetto *reader, uint32_t at, double value, int64_t time)
{
    struct nvt_kineto *kineto = &reader->kineto;
    const uint32_t counter = counter_of(reader, at);
    struct nvt_perfetto_track *track = &reader->tracks[at];
    value *= track->scale;
    if (track->is_incremental)
        value = track->sum += value;
    if (!isfinite(value))
        return 0;
    const struct nvt_counter_sample sample = {
        .time = time, .counter = counter, .thread = NVT_NONE, .value = value};
    kineto->events++;
    kineto->first = time < kineto->first ? time : kineto->first;
    return counter == NVT_NONE || nvt_counter_sample_add(kineto->trace, &sample) == NVT_NONE
               ? nvt_kineto_no_memory(kineto)
               : 0;
}

static int add_counter(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                       const struct track_event *event, uint32_t at)
{
    /* What our export adds for viewers, events have too. */
    if (!event->has_value ||
        !strcmp(nvt_name(reader->kineto.trace, reader->kineto.event.category), NVT_EXPORT_MEMORY))
        return 0;
    struct nvt_wire_field number = {.type = NVT_WIRE_64, .value = event->value};
    return add_sample(reader, at,
                      event->is_double ? nvt_wire_double(&number) : (double)(int64_t)event->value,
                      packet->time);
}

/* Values of counters that come with events of other kinds. */
static int add_extras(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                      const struct track_event *event)
{
    const struct nvt_perfetto_sequence *sequence = packet->sequence;
    const int is_own = event->extra_track_count != 0;
    const uint64_t *uuids = is_own ? event->extra_tracks : sequence->default_counters;
    const unsigned count = is_own ? event->extra_track_count : sequence->default_counter_count;
    for (unsigned i = 0; i < event->extra_count && i < count; i++) {
        const struct nvt_perfetto_track *track = nvt_perfetto_track(reader, uuids[i]);
        if (!track)
            return nvt_kineto_no_memory(&reader->kineto);
        if (add_sample(reader, (uint32_t)(track - reader->tracks), (double)(int64_t)event->extra[i],
                       packet->time))
            return -1;
    }
    return 0;
}

/* --- the old form --- */

/* LegacyEvent: one of Chrome's events as such. 0, or -1 with err filled. */
static int add_legacy(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                      struct nvt_wire legacy, uint32_t at)
{
    struct nvt_kineto *kineto = &reader->kineto;
    struct nvt_kineto_event *event = &kineto->event;
    struct nvt_wire_field field;
    char id[40] = "";
    uint32_t table, row;
    if (nvt_perfetto_place(reader, &reader->tracks[at]))
        return -1;
    while (nvt_wire_next(&legacy, &field) > 0) {
        if (field.number == 1)
            event->name = nvt_perfetto_interned(reader, packet, NVT_PI_NAME, field.value);
        else if (field.number == 2)
            event->phase = field.value < 128 ? (char)field.value : '?';
        else if (field.number == 3 && field.value < (uint64_t)INT64_MAX / 4000)
            event->duration = (int64_t)field.value * 1000;
        else if (field.number == 6 || field.number == 10 || field.number == 11)
            snprintf(id, sizeof(id), "%" PRIu32 ":%" PRIu64, field.number, field.value);
        else if (field.number == 18)
            event->pid = nvt_perfetto_id((int32_t)field.value);
        else if (field.number == 19)
            event->tid = nvt_perfetto_id((int32_t)field.value);
    }
    event->id = *id ? nvt_strings_add_text(kineto->trace->strings, id) : 0;
    event->has_duration = 1;
    if (event->name == NVT_NO_STRING || event->id == NVT_NO_STRING)
        return nvt_kineto_no_memory(kineto);
    return add_event(reader, &table, &row);
}

/* --- events --- */

/* The track of an event, by its number; NVT_NONE when out of memory. */
static uint32_t track_of(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                         const struct track_event *event)
{
    const struct nvt_perfetto_sequence *sequence = packet->sequence;
    const int is_told = event->has_track || sequence->has_default_track;
    uint64_t uuid = event->has_track ? event->track : sequence->default_track;
    /* Of an old trace: the sequence is a thread. */
    if (!is_told && sequence->has_thread)
        uuid = UINT64_C(0x9e3779b97f4a7c15) * (sequence->id + UINT64_C(1));
    struct nvt_perfetto_track *track = nvt_perfetto_track(reader, uuid);
    if (track && !is_told && sequence->has_thread && !track->has_descriptor) {
        track->kind = NVT_PT_THREAD;
        track->has_descriptor = 1;
        track->pid = sequence->pid;
        track->tid = sequence->tid;
    }
    return track ? (uint32_t)(track - reader->tracks) : NVT_NONE;
}

/* The time of an old event, which is told in it. */
static void take_old_time(struct nvt_perfetto_packet *packet, const struct track_event *event)
{
    struct nvt_perfetto_sequence *sequence = packet->sequence;
    const int64_t most = INT64_MAX / 4000; /* the sum of two is a number, in ns too */
    if (event->has_absolute && event->absolute_us >= 0 && event->absolute_us < most)
        packet->time = event->absolute_us * 1000;
    else if (event->has_delta && event->delta_us > -most && event->delta_us < most) {
        const int64_t time = sequence->reference_ns + event->delta_us * 1000;
        if (time > -most * 1000 && time < most * 1000)
            packet->time = sequence->reference_ns = time;
    }
}

int nvt_perfetto_event(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *whole,
                       struct nvt_wire wire)
{
    struct nvt_kineto *kineto = &reader->kineto;
    struct nvt_perfetto_packet packet = *whole;
    struct track_event event = {0};
    memset(&kineto->event, 0, sizeof(kineto->event));
    kineto->event.id = NVT_NO_STRING;
    reader->says = 0;
    if (take_fields(reader, &packet, wire, &event))
        return -1;
    if (packet.time == INT64_MIN)
        take_old_time(&packet, &event);
    if (packet.time == INT64_MIN) {
        kineto->mistimed += !is_of_kineto(reader);
        return 0;
    }
    kineto->event.time = packet.time;
    kineto->event.has_time = kineto->event.has_duration = 1;
    const uint32_t at = track_of(reader, &packet, &event);
    if (at == NVT_NONE)
        return nvt_kineto_no_memory(kineto);
    if (event.extra_count && add_extras(reader, &packet, &event))
        return -1;
    switch (event.type) {
    case SLICE_BEGIN:
        return begin_slice(reader, &packet, &event, at);
    case SLICE_END:
        return end_slice(reader, &packet, at);
    case INSTANT:
        return add_instant(reader, at);
    case COUNTER:
        return add_counter(reader, &packet, &event, at);
    default:
        return event.legacy.at ? add_legacy(reader, &packet, event.legacy, at) : 0;
    }
}

/* --- the end --- */

int nvt_perfetto_finish_events(struct nvt_perfetto *reader)
{
    struct nvt_trace *trace = reader->kineto.trace;
    struct nvt_ops *ops = &trace->ops;
    uint64_t without_end = 0;
    if (nvt_perfetto_pair_anew(reader))
        return -1;
    reader->without_begin += reader->early_count;
    for (uint32_t i = 0; i < reader->arrow_count; i++) {
        const struct nvt_perfetto_arrow *arrow = &reader->arrows[i];
        const uint32_t launch = nvt_map_get(&reader->flows, arrow->flow);
        if (launch == NVT_MAP_NONE || ops->thread[arrow->op] != NVT_NONE)
            continue;
        const uint32_t thread = reader->launches[launch].thread;
        ops->thread[arrow->op] = thread;
        ops->launch[arrow->op] = reader->launches[launch].time;
        if (ops->process[arrow->op] == NVT_NONE)
            ops->process[arrow->op] = trace->threads.process[thread];
    }
    for (uint32_t i = 0; i < reader->track_count; i++)
        for (uint32_t open = reader->tracks[i].open; open != NVT_NONE;
             open = reader->open[open].outer)
            without_end += reader->open[open].slice.table == NVT_TABLE_ops;
    if (without_end)
        nvt_trace_note(trace,
                       "%" PRIu64 " device operations do not end in the file: they have no length",
                       without_end);
    return 0;
}
