/* Tracks of Perfetto's traces, and whose they are. */
#include "perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tracks above tracks: what is deeper belongs to none. */
#define MOST_PARENTS 16
/* Thread numbers of tracks that are of no thread: below those that texts have (kineto.h). */
#define NAMED_TID (-(INT64_C(1) << 40))

struct nvt_perfetto_track *nvt_perfetto_track(struct nvt_perfetto *reader, uint64_t uuid)
{
    const uint32_t before = reader->track_count;
    struct nvt_perfetto_track *track = nvt_map_item(&reader->track_of, uuid, &reader->tracks,
                                                    &reader->track_count, sizeof(*reader->tracks));
    if (track && reader->track_count > before) {
        track->uuid = uuid;
        track->open = track->counter = NVT_NONE;
        track->scale = 1;
    }
    return track;
}

static struct nvt_perfetto_track *known(const struct nvt_perfetto *reader, uint64_t uuid)
{
    const uint32_t at = nvt_map_get(&reader->track_of, uuid);
    return at == NVT_MAP_NONE ? NULL : &reader->tracks[at];
}

int nvt_perfetto_call(struct nvt_perfetto *reader, const char *what, int64_t pid, int64_t tid,
                      uint32_t name)
{
    struct nvt_kineto *kineto = &reader->kineto;
    const struct nvt_kineto_event kept = kineto->event;
    if (!name)
        return 0;
    memset(&kineto->event, 0, sizeof(kineto->event));
    kineto->event.phase = 'M';
    kineto->event.name = nvt_strings_add_text(kineto->trace->strings, what);
    kineto->event.label = name;
    kineto->event.pid = pid;
    kineto->event.tid = tid;
    const int status =
        kineto->event.name == NVT_NO_STRING ? nvt_kineto_no_memory(kineto) : nvt_kineto_add(kineto);
    kineto->event = kept;
    return status;
}

/* --- descriptors --- */

/* What ProcessDescriptor and ThreadDescriptor say. */
struct owner {
    int64_t pid, tid;
    uint32_t name, command, label;
};

static int read_owner(struct nvt_perfetto *reader, struct nvt_wire wire, int is_thread,
                      struct owner *owner)
{
    struct nvt_wire_field field;
    *owner = (struct owner){0};
    while (nvt_wire_next(&wire, &field) > 0) {
        if (field.number == 1 && field.type == NVT_WIRE_VARINT)
            owner->pid = nvt_perfetto_id((int32_t)field.value);
        else if (is_thread && field.number == 2 && field.type == NVT_WIRE_VARINT)
            owner->tid = nvt_perfetto_id(nvt_wire_int(&field));
        else if (field.number == (is_thread ? 5U : 6U))
            owner->name = nvt_perfetto_text(reader, &field);
        else if (!is_thread && field.number == 8)
            owner->label = nvt_perfetto_text(reader, &field);
        else if (!is_thread && field.number == 2 && !owner->command)
            owner->command = nvt_perfetto_text(reader, &field);
    }
    owner->name = owner->name ? owner->name : owner->command;
    return owner->name == NVT_NO_STRING || owner->label == NVT_NO_STRING
               ? nvt_kineto_no_memory(&reader->kineto)
               : 0;
}

static void read_counter(struct nvt_perfetto *reader, struct nvt_wire wire,
                         struct nvt_perfetto_track *track)
{
    static const char *const units[] = {"", "ns", "", "bytes"};
    struct nvt_wire_field field;
    int64_t multiplier = 1;
    while (nvt_wire_next(&wire, &field) > 0) {
        if (field.number == 3 && field.value < 4 && *units[field.value])
            track->unit = nvt_strings_add_text(reader->kineto.trace->strings, units[field.value]);
        else if (field.number == 6)
            track->unit = nvt_perfetto_text(reader, &field);
        else if (field.number == 4 && field.type == NVT_WIRE_VARINT && field.value)
            multiplier = nvt_wire_int(&field);
        else if (field.number == 5)
            track->is_incremental = field.value != 0;
    }
    track->scale = (double)multiplier;
}

/* What a descriptor has within: the process, thread or counter that the track is of. */
static int read_kind(struct nvt_perfetto *reader, const struct nvt_wire_field *field,
                     struct nvt_perfetto_track *track)
{
    struct owner owner;
    const int is_thread = field->number == 4;
    if (field->number == 8) {
        track->kind = NVT_PT_COUNTER;
        read_counter(reader, nvt_wire_in(field), track);
        return track->unit == NVT_NO_STRING ? nvt_kineto_no_memory(&reader->kineto) : 0;
    }
    if (read_owner(reader, nvt_wire_in(field), is_thread, &owner))
        return -1;
    track->kind = is_thread ? NVT_PT_THREAD : NVT_PT_PROCESS;
    reader->process_count += !reader->process_count || reader->last_pid != owner.pid;
    reader->last_pid = owner.pid;
    track->pid = owner.pid;
    track->tid = is_thread ? owner.tid : track->tid;
    track->name = owner.name ? owner.name : track->name;
    return is_thread ? 0 : nvt_perfetto_call(reader, "process_labels", owner.pid, 0, owner.label);
}

int nvt_perfetto_describe(struct nvt_perfetto *reader, struct nvt_wire descriptor)
{
    struct nvt_wire rest = descriptor;
    struct nvt_wire_field field;
    uint64_t uuid = 0, parent = 0;
    uint32_t name = 0;
    while (nvt_wire_next(&rest, &field) > 0) {
        if (field.number == 1)
            uuid = field.value;
        else if (field.number == 5)
            parent = field.value;
        else if (field.number == 2 || field.number == 10 || field.number == 13)
            name = nvt_perfetto_text(reader, &field);
    }
    struct nvt_perfetto_track *track = nvt_perfetto_track(reader, uuid);
    if (!track || name == NVT_NO_STRING)
        return nvt_kineto_no_memory(&reader->kineto);
    track->has_descriptor = 1;
    track->parent = parent;
    track->name = name ? name : track->name;
    for (rest = descriptor; nvt_wire_next(&rest, &field) > 0;)
        if ((field.number == 3 || field.number == 4 || field.number == 8) &&
            field.type == NVT_WIRE_BYTES && read_kind(reader, &field, track))
            return -1;
    if (track->kind == NVT_PT_PROCESS)
        return nvt_perfetto_call(reader, "process_name", track->pid, 0, track->name);
    return track->kind == NVT_PT_THREAD
               ? nvt_perfetto_call(reader, "thread_name", track->pid, track->tid, track->name)
               : 0;
}

int nvt_perfetto_describe_thread(struct nvt_perfetto *reader,
                                 const struct nvt_perfetto_packet *packet, struct nvt_wire thread)
{
    struct owner owner;
    struct nvt_wire_field field;
    struct nvt_perfetto_sequence *sequence = packet->sequence;
    if (read_owner(reader, thread, 1, &owner))
        return -1;
    sequence->has_thread = 1;
    sequence->pid = owner.pid;
    sequence->tid = owner.tid;
    while (nvt_wire_next(&thread, &field) > 0)
        if (field.number == 6 && field.value < (uint64_t)INT64_MAX / 4000)
            sequence->reference_ns = (int64_t)field.value * 1000;
    return nvt_perfetto_call(reader, "thread_name", owner.pid, owner.tid, owner.name);
}

/* A process or thread of ProcessTree. */
static int describe_node(struct nvt_perfetto *reader, const struct nvt_wire_field *node)
{
    struct nvt_wire wire = nvt_wire_in(node);
    struct nvt_wire_field field;
    const int is_thread = node->number == 2;
    int64_t id = 0, pid = 0;
    uint32_t name = 0;
    while (nvt_wire_next(&wire, &field) > 0) {
        if (field.number == 1 && field.type == NVT_WIRE_VARINT)
            id = nvt_perfetto_id((int32_t)field.value);
        else if (is_thread && field.number == 3 && field.type == NVT_WIRE_VARINT)
            pid = nvt_perfetto_id((int32_t)field.value);
        else if (field.number == (is_thread ? 2U : 3U) && !name)
            name = nvt_perfetto_text(reader, &field);
    }
    if (name == NVT_NO_STRING)
        return nvt_kineto_no_memory(&reader->kineto);
    return is_thread ? nvt_perfetto_call(reader, "thread_name", pid, id, name)
                     : nvt_perfetto_call(reader, "process_name", id, 0, name);
}

int nvt_perfetto_describe_tree(struct nvt_perfetto *reader, struct nvt_wire tree)
{
    struct nvt_wire_field field;
    while (nvt_wire_next(&tree, &field) > 0)
        if ((field.number == 1 || field.number == 2) && field.type == NVT_WIRE_BYTES &&
            describe_node(reader, &field))
            return -1;
    return 0;
}

/* --- owners --- */

/* The nearest track above that is a thread's or a process's; NULL: none is. */
static const struct nvt_perfetto_track *ancestor(const struct nvt_perfetto *reader,
                                                 const struct nvt_perfetto_track *track)
{
    for (int i = 0; track && i < MOST_PARENTS; i++) {
        if (track->kind == NVT_PT_THREAD || track->kind == NVT_PT_PROCESS)
            return track;
        track = track->parent ? known(reader, track->parent) : NULL;
    }
    return NULL;
}

/* "THREAD 2 (4711)", as rocprofv3 calls threads. */
static int thread_in_name(const char *name, int64_t *tid)
{
    const char *number = strstr(name, " (");
    char *end;
    if (strncmp(name, "THREAD ", 7) != 0 || !number)
        return 0;
    *tid = strtoll(number + 2, &end, 10);
    return end > number + 2 && !strcmp(end, ")") && *tid >= 0;
}

/* A track that is no thread's is one of its own in its process, whose own track is number 0. */
static int name_lane(struct nvt_perfetto *reader, struct nvt_perfetto_track *track)
{
    char unnamed[48];
    if (track->kind == NVT_PT_PROCESS)
        return 0;
    if (thread_in_name(nvt_name(reader->kineto.trace, track->name), &track->tid))
        return 0;
    track->tid = NAMED_TID - (int64_t)(track - reader->tracks);
    if (!track->name) {
        snprintf(unnamed, sizeof(unnamed), "track %" PRIu64, track->uuid);
        track->name = nvt_strings_add_text(reader->kineto.trace->strings, unnamed);
    }
    return track->name == NVT_NO_STRING
               ? nvt_kineto_no_memory(&reader->kineto)
               : nvt_perfetto_call(reader, "thread_name", track->pid, track->tid, track->name);
}

static int resolve(struct nvt_perfetto *reader, struct nvt_perfetto_track *track)
{
    const struct nvt_perfetto_track *owner = ancestor(reader, track);
    track->is_resolved = 1;
    if (track->kind == NVT_PT_THREAD)
        return 0;
    /* What is global is of the process, where there is one. */
    track->pid = owner ? owner->pid : reader->process_count == 1 ? reader->last_pid : -1;
    if (owner && owner->kind == NVT_PT_THREAD) {
        track->tid = owner->tid;
        track->is_async = track->name != owner->name;
        return 0;
    }
    return name_lane(reader, track);
}

int nvt_perfetto_place(struct nvt_perfetto *reader, struct nvt_perfetto_track *track)
{
    struct nvt_kineto_event *event = &reader->kineto.event;
    if (!track->is_resolved && resolve(reader, track))
        return -1;
    event->pid = track->pid;
    event->tid = track->tid;
    event->is_device_pid = track->pid >= 0;
    event->has_tid = 1;
    return 0;
}
