#include "kineto_events.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"

/* What is kept of an event, in this order: this, its beginning, its numbers that are there, those of its args that may count. */
struct head {
    uint32_t strings; /* how many there are with those of the event */
    uint32_t counts;  /* numbers that may count */
};

#define EVENT_HEAD offsetof(struct nvt_kineto_event, number)

/* Where an event has its strings. */
static const size_t texts[] = {
    offsetof(struct nvt_kineto_event, name),       offsetof(struct nvt_kineto_event, category),
    offsetof(struct nvt_kineto_event, id),         offsetof(struct nvt_kineto_event, label),
    offsetof(struct nvt_kineto_event, collective), offsetof(struct nvt_kineto_event, type),
    offsetof(struct nvt_kineto_event, group),      offsetof(struct nvt_kineto_event, members),
    offsetof(struct nvt_kineto_event, purpose),    offsetof(struct nvt_kineto_event, file),
    offsetof(struct nvt_kineto_event, caller),     offsetof(struct nvt_kineto_event, work)};

int nvt_kineto_events_clear(struct nvt_kineto_events *events)
{
    events->packed.size = 0;
    nvt_strings_free(events->strings);
    events->strings = nvt_strings_new();
    return events->strings ? 0 : -1;
}

void nvt_kineto_events_free(struct nvt_kineto_events *events)
{
    nvt_strings_free(events->strings);
    nvt_buffer_free(&events->packed);
    free(events->names);
}

int nvt_kineto_events_put(struct nvt_kineto_events *events, const struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const struct head head = {nvt_strings_count(events->strings), reader->number_count};
    struct nvt_buffer *out = &events->packed;
    const size_t counts = head.counts * sizeof(*reader->numbers);
    if (out->size > NVT_KINETO_EVENTS_MOST ||
        nvt_buffer_reserve(out, sizeof(head) + sizeof(*event) + counts))
        return -1;
    uint8_t *at = out->data + out->size;
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    memcpy(at, event, EVENT_HEAD);
    at += EVENT_HEAD;
    for (uint32_t left = event->have; left; left &= left - 1, at += sizeof(*event->number))
        memcpy(at, &event->number[__builtin_ctz(left)], sizeof(*event->number));
    memcpy(at, reader->numbers, counts);
    out->size = (size_t)(at + counts - out->data);
    return 0;
}

/* Strings from `first` on, up to `count`, get their places in the trace. 0, or -1 when out of memory. */
static int place_strings(struct nvt_kineto_events *events, struct nvt_strings *strings,
                         uint32_t first, uint32_t count)
{
    if (nvt_reserve(&events->names, &events->name_room, count, sizeof(*events->names)))
        return -1;
    for (uint32_t i = first; i < count; i++) {
        size_t size;
        const char *text = nvt_strings_get(events->strings, i, &size);
        events->names[i] = nvt_strings_add(strings, text, size);
        if (events->names[i] == NVT_NO_STRING)
            return -1;
    }
    return 0;
}

/* Strings of an event become those of the trace; so do pids and tids that are names. */
static void rename_strings(const struct nvt_kineto_events *events, struct nvt_kineto *reader)
{
    struct nvt_kineto_event *event = &reader->event;
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++) {
        uint32_t *text = (uint32_t *)(void *)((char *)event + texts[i]);
        if (*text && *text != NVT_NO_STRING)
            *text = events->names[*text];
    }
    if (event->pid < -1)
        event->pid = -1 - (int64_t)events->names[-1 - event->pid];
    if (event->tid < -1)
        event->tid = -1 - (int64_t)events->names[-1 - event->tid];
    for (unsigned i = 0; i < reader->number_count; i++)
        reader->numbers[i].key = events->names[reader->numbers[i].key];
}

/* The event at `at` becomes the reader's. Behind it. */
static const uint8_t *unpack(const uint8_t *at, const struct head *head, struct nvt_kineto *reader)
{
    struct nvt_kineto_event *event = &reader->event;
    const size_t counts = head->counts * sizeof(*reader->numbers);
    memcpy(event, at, EVENT_HEAD);
    at += EVENT_HEAD;
    for (uint32_t left = event->have; left; left &= left - 1, at += sizeof(*event->number))
        memcpy(&event->number[__builtin_ctz(left)], at, sizeof(*event->number));
    memcpy(reader->numbers, at, counts);
    reader->number_count = head->counts;
    return at + counts;
}

int nvt_kineto_events_add(struct nvt_kineto_events *events, struct nvt_kineto *reader)
{
    const uint8_t *at = events->packed.data, *const end = at + events->packed.size;
    uint32_t placed = 0;
    while (at < end) {
        struct head head;
        memcpy(&head, at, sizeof(head));
        if (head.strings > placed &&
            place_strings(events, reader->trace->strings, placed, head.strings))
            return nvt_kineto_no_memory(reader);
        placed = head.strings;
        at = unpack(at + sizeof(head), &head, reader);
        rename_strings(events, reader);
        reader->events++;
        if (nvt_kineto_add(reader))
            return -1;
    }
    return 0;
}
