#include "perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../model/batches.h"
#include "reader.h"

/* Fields of TracePacket. */
enum {
    FTRACE = 1,
    PROCESS_TREE = 2,
    CLOCK_SNAPSHOT = 6,
    TIMESTAMP = 8,
    SEQUENCE = 10,
    TRACK_EVENT = 11,
    INTERNED = 12,
    FLAGS = 13,
    STATS = 35,
    CLEARED = 41,
    DROPPED = 42,
    OLD_PROCESS = 43,
    OLD_THREAD = 44,
    COMPRESSED = 50,
    GPU_STAGE = 53,
    CLOCK = 58,
    DEFAULTS = 59,
    DESCRIPTOR = 60,
};

enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };

/* The fields of a packet: whatever their order is, what they refer to is read first. */
struct fields {
    uint64_t timestamp, sequence, flags, dropped, clock;
    int has_timestamp, has_clock;
    struct nvt_wire tree, snapshot, event, interned, stats, old_process, old_thread, compressed,
        stage, defaults, descriptor;
    int is_other; /* of a data source that is not read */
};

/* --- sequences --- */

static struct nvt_perfetto_sequence *sequence_of(struct nvt_perfetto *reader, uint64_t id)
{
    struct nvt_perfetto_sequence *sequence =
        nvt_map_item(&reader->sequence_of, id, &reader->sequences, &reader->sequence_count,
                     sizeof(*reader->sequences));
    if (sequence)
        sequence->id = (uint32_t)id;
    return sequence;
}

/* Its incremental state begins anew. */
static void clear_state(struct nvt_perfetto *reader, struct nvt_perfetto_sequence *sequence)
{
    sequence->generation = ++reader->generations;
    sequence->has_default_track = sequence->has_thread = 0;
    sequence->default_counter_count = 0;
    sequence->clock = 0;
    for (uint32_t i = 0; i < sequence->clock_count; i++)
        sequence->clocks[i].has_moment = 0;
}

static void take_defaults(struct nvt_perfetto_sequence *sequence, struct nvt_wire defaults)
{
    struct nvt_wire_field field, event;
    while (nvt_wire_next(&defaults, &field) > 0) {
        if (field.number == CLOCK && field.type == NVT_WIRE_VARINT)
            sequence->clock = (uint32_t)field.value;
        if (field.number != TRACK_EVENT)
            continue;
        struct nvt_wire events = nvt_wire_in(&field), packed = {0};
        while (nvt_wire_next(&events, &event) > 0) {
            if (event.number == 11 && event.type == NVT_WIRE_VARINT) {
                sequence->default_track = event.value;
                sequence->has_default_track = 1;
            }
            packed = (struct nvt_wire){0};
            while (event.number == 31 && sequence->default_counter_count < 8 &&
                   nvt_wire_repeated(&event, &packed,
                                     &sequence->default_counters[sequence->default_counter_count]))
                sequence->default_counter_count++;
        }
    }
}

/* --- interned data --- */

/* The key of an entry; 0 when out of memory. Ids are any numbers, hence numbers of them. */
static uint64_t entry_key(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                          enum nvt_perfetto_interned kind, uint64_t iid)
{
    const uint32_t number = nvt_map_number(&reader->iids, iid, &reader->iid_count);
    if (number == NVT_MAP_NONE || number >= UINT32_C(1) << 27)
        return 0;
    return (uint64_t)packet->sequence->generation << 32 | (uint64_t)number << 5 | (uint64_t)kind;
}

uint32_t nvt_perfetto_interned(struct nvt_perfetto *reader,
                               const struct nvt_perfetto_packet *packet,
                               enum nvt_perfetto_interned kind, uint64_t iid)
{
    const uint64_t key = entry_key(reader, packet, kind, iid);
    const uint32_t found = key ? nvt_map_get(&reader->interned, key) : NVT_NO_STRING;
    if (!key || found != NVT_MAP_NONE)
        return found;
    reader->unnamed++;
    return 0;
}

/* Of an entry: its text, or the process and interface of a context. */
static uint32_t entry_value(struct nvt_perfetto *reader, const struct nvt_wire *entry,
                            enum nvt_perfetto_interned kind, uint64_t *iid)
{
    struct nvt_wire rest = *entry;
    struct nvt_wire_field field;
    uint32_t value = 0;
    *iid = 0;
    while (nvt_wire_next(&rest, &field) > 0 && value != NVT_NO_STRING) {
        if (field.number == 1 && field.type == NVT_WIRE_VARINT)
            *iid = field.value;
        else if (kind == NVT_PI_GRAPHICS && field.number == 2)
            value |= (uint32_t)field.value & 0xffffff;
        else if (kind == NVT_PI_GRAPHICS && field.number == 3)
            value |= ((uint32_t)field.value & 0x7f) << 24;
        else if (field.number == 2 && field.type == NVT_WIRE_BYTES)
            value = nvt_perfetto_text(reader, &field);
    }
    return value;
}

int nvt_perfetto_intern(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                        struct nvt_wire data)
{
    struct nvt_wire_field field;
    while (nvt_wire_next(&data, &field) > 0) {
        const enum nvt_perfetto_interned kind = (enum nvt_perfetto_interned)field.number;
        if (field.type != NVT_WIRE_BYTES ||
            !(kind == NVT_PI_CATEGORY || kind == NVT_PI_NAME || kind == NVT_PI_ANNOTATION ||
              kind == NVT_PI_GRAPHICS || kind == NVT_PI_STAGE || kind == NVT_PI_TEXT))
            continue;
        uint64_t iid;
        const struct nvt_wire entry = nvt_wire_in(&field);
        const uint32_t value = entry_value(reader, &entry, kind, &iid);
        const uint64_t key = entry_key(reader, packet, kind, iid);
        if (value == NVT_NO_STRING || !key || nvt_map_set(&reader->interned, key, value))
            return nvt_kineto_no_memory(&reader->kineto);
    }
    return 0;
}

/* --- packets --- */

static struct nvt_wire *message_of(struct fields *fields, uint32_t number)
{
    switch (number) {
    case PROCESS_TREE:
        return &fields->tree;
    case CLOCK_SNAPSHOT:
        return &fields->snapshot;
    case TRACK_EVENT:
        return &fields->event;
    case INTERNED:
        return &fields->interned;
    case STATS:
        return &fields->stats;
    case OLD_PROCESS:
        return &fields->old_process;
    case OLD_THREAD:
        return &fields->old_thread;
    case COMPRESSED:
        return &fields->compressed;
    case GPU_STAGE:
        return &fields->stage;
    case DEFAULTS:
        return &fields->defaults;
    case DESCRIPTOR:
        return &fields->descriptor;
    default:
        return NULL;
    }
}

static void take_number(struct fields *fields, const struct nvt_wire_field *field)
{
    if (field->number == TIMESTAMP) {
        fields->timestamp = field->value;
        fields->has_timestamp = 1;
    } else if (field->number == SEQUENCE)
        fields->sequence = field->value;
    else if (field->number == FLAGS)
        fields->flags |= field->value;
    else if (field->number == CLEARED)
        fields->flags |= field->value ? FLAG_CLEARED : 0;
    else if (field->number == DROPPED)
        fields->dropped = field->value;
    else if (field->number == CLOCK) {
        fields->clock = field->value;
        fields->has_clock = 1;
    }
}

/* 0, or -1: it is malformed. What came before that counts. */
static int split(struct nvt_wire packet, struct fields *fields)
{
    struct nvt_wire_field field;
    int found;
    while ((found = nvt_wire_next(&packet, &field)) > 0) {
        struct nvt_wire *message =
            field.type == NVT_WIRE_BYTES ? message_of(fields, field.number) : NULL;
        if (message)
            *message = nvt_wire_in(&field);
        else if (field.type == NVT_WIRE_VARINT)
            take_number(fields, &field);
        else
            fields->is_other |= field.type == NVT_WIRE_BYTES && field.number == FTRACE;
    }
    return found;
}

/* How much a service says that its buffers lost: chunks overwritten, discarded, packets lost by their writers. */
static void take_stats(struct nvt_perfetto *reader, struct nvt_wire stats)
{
    struct nvt_wire_field field, inner;
    uint64_t lost = 0;
    while (nvt_wire_next(&stats, &field) > 0) {
        struct nvt_wire buffer = nvt_wire_in(&field);
        while (field.number == 1 && nvt_wire_next(&buffer, &inner) > 0)
            if (inner.type == NVT_WIRE_VARINT &&
                (inner.number == 3 || inner.number == 18 || inner.number == 19))
                lost += inner.value;
    }
    reader->lost_chunks = lost; /* the last one counts: they are sums */
}

static int on_packet(void *context, uint32_t number, struct nvt_wire message,
                     struct nvt_error *err);

/* Packets within a packet. */
static int read_compressed(struct nvt_perfetto *reader, struct nvt_wire compressed,
                           struct nvt_error *err)
{
    size_t size = 0;
    struct nvt_wire_field field;
    uint8_t *data =
        reader->is_inner
            ? NULL
            : nvt_wire_inflate(compressed.at, (size_t)(compressed.end - compressed.at), &size);
    struct nvt_wire packets = nvt_wire_of(data, size);
    int status = 0, found = data ? 0 : -1;
    reader->is_inner++;
    while (data && !status && (found = nvt_wire_next(&packets, &field)) > 0)
        status = on_packet(reader, field.number, nvt_wire_in(&field), err);
    reader->is_inner--;
    reader->damaged += found < 0;
    free(data);
    return status;
}

static int read_state(struct nvt_perfetto *reader, struct nvt_perfetto_packet *packet,
                      const struct fields *fields)
{
    struct nvt_perfetto_sequence *sequence = packet->sequence;
    if (fields->flags & FLAG_CLEARED || !sequence->generation)
        clear_state(reader, sequence);
    if (fields->defaults.at)
        take_defaults(sequence, fields->defaults);
    if (fields->interned.at && nvt_perfetto_intern(reader, packet, fields->interned))
        return -1;
    if (fields->snapshot.at)
        return nvt_perfetto_snapshot(reader, packet, fields->snapshot);
    return 0;
}

static int read_descriptors(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                            const struct fields *fields)
{
    if (fields->tree.at && nvt_perfetto_describe_tree(reader, fields->tree))
        return -1;
    if (fields->old_thread.at && nvt_perfetto_describe_thread(reader, packet, fields->old_thread))
        return -1;
    return fields->descriptor.at ? nvt_perfetto_describe(reader, fields->descriptor) : 0;
}

static int on_packet(void *context, uint32_t number, struct nvt_wire message, struct nvt_error *err)
{
    struct nvt_perfetto *reader = context;
    struct fields fields = {0};
    if (number != 1)
        return 0;
    reader->packets++;
    reader->damaged += split(message, &fields) < 0;
    struct nvt_perfetto_packet packet = {.sequence = sequence_of(reader, fields.sequence),
                                         .time = INT64_MIN};
    if (!packet.sequence)
        return nvt_fail(err, "out of memory");
    packet.sequence_row = (uint32_t)(packet.sequence - reader->sequences);
    /* The first packet of a sequence says so, too: it is none that was lost. */
    reader->dropped += fields.dropped && packet.sequence->generation;
    const int lacks_state = fields.flags & FLAG_NEEDS_STATE && !(fields.flags & FLAG_CLEARED) &&
                            !packet.sequence->generation;
    if (read_state(reader, &packet, &fields))
        return -1;
    const uint32_t clock = fields.has_clock ? (uint32_t)fields.clock : packet.sequence->clock;
    if (fields.has_timestamp &&
        nvt_perfetto_moment(reader, packet.sequence, clock, fields.timestamp, &packet.time))
        packet.time = INT64_MIN;
    if (read_descriptors(reader, &packet, &fields))
        return -1;
    if (fields.stats.at)
        take_stats(reader, fields.stats);
    reader->others += fields.is_other != 0;
    if (lacks_state && fields.event.at) {
        reader->dropped++;
        return 0;
    }
    if (fields.event.at && nvt_perfetto_event(reader, &packet, fields.event))
        return -1;
    if (fields.stage.at && nvt_perfetto_stage(reader, &packet, fields.stage))
        return -1;
    return fields.compressed.at ? read_compressed(reader, fields.compressed, err) : 0;
}

/* --- the file --- */

/* How a field of TracePacket is written; -1: not one of those that a trace begins with. */
static int type_in_packet(uint32_t number)
{
    static const uint8_t numbers[] = {3, 8, 10, 13, 41, 42, 58, 79, 87, 98, 102};
    static const uint8_t messages[] = {1,  2,  6,  9,  11, 12, 33, 35, 36, 43, 44, 45, 50, 52,
                                       53, 54, 56, 57, 59, 60, 63, 65, 69, 78, 89, 90, 101};
    if (memchr(numbers, (int)number, sizeof(numbers)) && number < 256)
        return NVT_WIRE_VARINT;
    return number < 256 && memchr(messages, (int)number, sizeof(messages)) ? NVT_WIRE_BYTES : -1;
}

/* How many fields of a packet there are, of which the last may go on behind what is known; -1: they are something else. */
static int packet_fields(struct nvt_wire fields)
{
    struct nvt_wire_field field;
    int count = 0, found;
    while ((found = nvt_wire_next(&fields, &field)) != 0) {
        if (type_in_packet(field.number) != (int)field.type)
            return -1;
        if (found < 0)
            return field.size ? count + 1 : -1;
        count++;
    }
    return count;
}

/* Whether bytes are packets, as far as they go: the first ones are looked at. */
static int begins_packets(const uint8_t *head, size_t size)
{
    struct nvt_wire rest = nvt_wire_of(head, size);
    struct nvt_wire_field packet;
    int fields = 0;
    for (int i = 0; i < 8; i++) {
        const uint8_t *const begin = rest.at;
        const int found = nvt_wire_next(&rest, &packet);
        if (!found)
            break;
        if (packet.number != 1 || packet.type != NVT_WIRE_BYTES)
            return 0;
        /* It may go on behind what is known. */
        uint64_t length;
        struct nvt_wire within = nvt_wire_in(&packet);
        if (found < 0)
            within =
                (struct nvt_wire){nvt_varint_get(begin + 1, head + size, &length), head + size};
        const int count = within.at ? packet_fields(within) : -1;
        if (count < 0)
            return 0;
        fields += count;
        if (found < 0)
            break;
    }
    return fields > 0;
}

static int recognizes(const uint8_t *head, size_t size)
{
    uint8_t unpacked[4096];
    const size_t known = nvt_wire_head(head, size, unpacked, sizeof(unpacked));
    return begins_packets(unpacked, known);
}

static void note_counts(const struct nvt_perfetto *reader, int cut)
{
    struct nvt_trace *trace = reader->kineto.trace;
    const struct {
        uint64_t count;
        const char *what;
    } notes[] = {
        {reader->dropped, "packets were lost while this was recorded, or what they refer to"},
        {reader->told_times ? reader->untold_times : 0,
         "times on clocks that no snapshot before them relates to the trace's are taken as they "
         "are"},
        {reader->lost_chunks, "chunks were lost in the buffers that this was recorded in"},
        {reader->damaged, "packets are damaged: what they hold was read in part or not at all"},
        {reader->unnamed, "references to names that are not in the file"},
        {reader->without_begin, "slices that end and do not begin in the file were left out"},
        {reader->others, "packets of the kernel's tracing (ftrace) are not read"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(notes); i++)
        if (notes[i].count)
            nvt_trace_note(trace, "%s (%" PRIu64 ")", notes[i].what, notes[i].count);
    if (cut)
        nvt_trace_warn_truncated(trace,
                                 "ends in the middle, after packet %" PRIu64
                                 ": what was written until then was read",
                                 reader->packets);
}

static void release(struct nvt_perfetto *reader)
{
    nvt_kineto_free(&reader->kineto);
    for (uint32_t i = 0; i < reader->sequence_count; i++)
        free(reader->sequences[i].clocks);
    nvt_map_free(&reader->sequence_of);
    nvt_map_free(&reader->track_of);
    nvt_map_free(&reader->iids);
    nvt_map_free(&reader->interned);
    nvt_map_free(&reader->flows);
    free(reader->sequences);
    free(reader->tracks);
    free(reader->open);
    free(reader->slices);
    free(reader->launches);
    free(reader->arrows);
    free(reader);
}

/* *is_unordered: it has to be read with slices kept. */
static int read_packets(const char *path, struct nvt_trace *trace, int keeps_slices,
                        int *is_unordered, struct nvt_error *err)
{
    struct nvt_error own = NVT_ERROR_INIT;
    struct nvt_perfetto *reader = calloc(1, sizeof(*reader));
    int cut = 0;
    *is_unordered = 0;
    if (!reader)
        return nvt_fail_at(err, path, -1, "out of memory");
    reader->keeps_slices = keeps_slices;
    reader->kineto = (struct nvt_kineto){
        .trace = trace, .path = path, .err = &own, .rank = NVT_NONE, .first = INT64_MAX};
    reader->kineto.keeps_pairs = keeps_slices;
    int status = nvt_wire_read(path, on_packet, reader, &cut, &own);
    if (!status) {
        status = nvt_perfetto_finish_events(reader);
        if (!reader->kineto.events)
            nvt_trace_warn(trace, "is a trace without any track event or GPU stage");
        const int is_of_others = !nvt_has_pytorch_operators(trace);
        note_counts(reader, cut);
        status = status ? status : nvt_kineto_finish(&reader->kineto, is_of_others);
        trace->recorder = is_of_others ? NVT_BY_OTHERS : NVT_BY_PYTORCH;
    }
    *is_unordered = reader->has_unordered || reader->kineto.has_unordered;
    release(reader);
    if (status && err)
        *err = own;
    return status ? nvt_error_in(err, path) : 0;
}

static int read_perfetto(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_error own = NVT_ERROR_INIT;
    int is_unordered;
    int status = read_packets(path, trace, 0, &is_unordered, &own);
    if (is_unordered) {
        own = (struct nvt_error)NVT_ERROR_INIT;
        status = nvt_reader_begin_anew(trace) ? nvt_fail_at(&own, path, -1, "out of memory")
                                              : read_packets(path, trace, 1, &is_unordered, &own);
    }
    if (status && err)
        *err = own;
    return status;
}

const struct nvt_reader nvt_reader_perfetto = {.name = "perfetto",
                                               .recorder = NVT_BY_OTHERS,
                                               .lacks_page_faults = 1,
                                               .recognizes = recognizes,
                                               .read = read_perfetto};
