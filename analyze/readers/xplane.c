/*
 * XPlanes of XLA's profiler (.xplane.pb), as JAX, TensorFlow and PyTorch/XLA write them. Source: xplane.proto of the project tsl (openxla);
 * which lanes there are, and what their events say: xplane_schema.cc and preprocess_xplane there, and the trace.json that is made of
 * the same (trace_events_to_json).
 *
 * A plane is a process and a line a thread, by the numbers that trace.json has: hosts from 701 on, devices from 1. From there on an
 * event is one of Chrome's (kineto.h), and lanes are those of kineto_dialects.h. Times are picoseconds behind a line's own, which is
 * wall-clock time.
 */
#include "perfetto.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../model/batches.h"

#define HOST_PID INT64_C(701)
/* Errors and warnings that are passed on. */
#define MOST_MESSAGES 5

struct xplane {
    struct nvt_perfetto common;   /* of which the events are used */
    struct nvt_map events, stats; /* metadata's id -> of texts, string: of the plane */
    struct nvt_wire *described;   /* the messages of events' metadata */
    uint32_t described_count;
    uint32_t hosts, devices;
    uint64_t aggregated, messages;
    int64_t base; /* ns since 1970, time 0 of the trace; 0: none yet */
};

static struct nvt_kineto *kineto_of(struct xplane *xplane)
{
    return &xplane->common.kineto;
}

/* --- metadata --- */

/* An entry of a map: its value, and its key in *key. */
static struct nvt_wire entry_of(const struct nvt_wire_field *entry, uint64_t *key)
{
    struct nvt_wire rest = nvt_wire_in(entry), value = {0};
    struct nvt_wire_field field;
    *key = 0;
    while (nvt_wire_next(&rest, &field) > 0) {
        if (field.number == 1 && field.type == NVT_WIRE_VARINT)
            *key = field.value;
        else if (field.number == 2)
            value = nvt_wire_in(&field);
    }
    return value;
}

/* The text of a field of a message; 0: it has none. */
static uint32_t text_in(struct xplane *xplane, struct nvt_wire message, uint32_t number)
{
    struct nvt_wire_field field;
    while (nvt_wire_next(&message, &field) > 0)
        if (field.number == number && field.type == NVT_WIRE_BYTES && field.size)
            return nvt_perfetto_text(&xplane->common, &field);
    return 0;
}

static int take_metadata(struct xplane *xplane, const struct nvt_wire_field *field)
{
    uint64_t key;
    const struct nvt_wire value = entry_of(field, &key);
    if (field->number == 5) {
        const uint32_t name = text_in(xplane, value, 2);
        return name == NVT_NO_STRING || nvt_map_set(&xplane->stats, key, name) ? -1 : 0;
    }
    struct nvt_wire *described = nvt_map_item(&xplane->events, key, &xplane->described,
                                              &xplane->described_count, sizeof(*xplane->described));
    if (described)
        *described = value;
    return described ? 0 : -1;
}

/* --- events --- */

/* A stat becomes an argument of the event. 0, or -1 when out of memory. */
static int take_stat(struct xplane *xplane, struct nvt_wire stat)
{
    const struct nvt_strings *strings = kineto_of(xplane)->trace->strings;
    struct nvt_wire_field field;
    uint32_t name = NVT_MAP_NONE;
    char number[32] = "";
    const char *text = number;
    size_t size = 0, length;
    while (nvt_wire_next(&stat, &field) > 0) {
        if (field.number == 1)
            name = nvt_map_get(&xplane->stats, field.value);
        else if (field.number == 5 && field.type == NVT_WIRE_BYTES) {
            text = (const char *)field.data;
            size = field.size;
        } else if (field.number == 7) {
            const uint32_t referred = nvt_map_get(&xplane->stats, field.value);
            text = nvt_strings_get(strings, referred == NVT_MAP_NONE ? 0 : referred, &size);
        } else if (field.number == 3)
            size = (size_t)snprintf(number, sizeof(number), "%" PRIu64, field.value);
        else if (field.number == 4)
            size = (size_t)snprintf(number, sizeof(number), "%" PRId64, nvt_wire_int(&field));
    }
    if (name == NVT_MAP_NONE || !size)
        return 0;
    const char *key = nvt_strings_get(strings, name, &length);
    return nvt_perfetto_arg(&xplane->common, key, length, text, size);
}

/* What all events of a kind have: their name, and stats. */
static int take_kind(struct xplane *xplane, uint64_t id)
{
    const uint32_t at = nvt_map_get(&xplane->events, id);
    struct nvt_wire_field field;
    if (at == NVT_MAP_NONE)
        return 0;
    struct nvt_wire rest = xplane->described[at];
    const uint32_t display = text_in(xplane, rest, 4);
    const uint32_t name = display ? display : text_in(xplane, rest, 2);
    if (name == NVT_NO_STRING)
        return -1;
    kineto_of(xplane)->event.name = name;
    while (nvt_wire_next(&rest, &field) > 0)
        if (field.number == 5 && field.type == NVT_WIRE_BYTES &&
            take_stat(xplane, nvt_wire_in(&field)))
            return -1;
    return 0;
}

/* Nanoseconds on the trace's axis of picoseconds behind a line's begin; -1: it is none. */
static int to_ns(int64_t line, uint64_t ps, int64_t *out)
{
    return ps > (uint64_t)INT64_MAX / 2 ||
                   __builtin_add_overflow(line, (int64_t)((ps + 500) / 1000), out) ||
                   *out > INT64_C(1) << 61
               ? -1
               : 0;
}

static int add_event(struct xplane *xplane, struct nvt_wire wire, int64_t line, int64_t pid,
                     int64_t tid)
{
    struct nvt_kineto *kineto = kineto_of(xplane);
    struct nvt_kineto_event *event = &kineto->event;
    struct nvt_wire_field field;
    uint64_t offset = 0, duration = 0;
    int64_t end;
    memset(event, 0, sizeof(*event));
    event->id = NVT_NO_STRING;
    while (nvt_wire_next(&wire, &field) > 0) {
        if (field.number == 5) {
            xplane->aggregated++; /* it has no time */
            return 0;
        }
        if (field.number == 2)
            offset = field.value;
        else if (field.number == 3)
            duration = field.value;
        else if ((field.number == 1 && take_kind(xplane, field.value)) ||
                 (field.number == 4 && field.type == NVT_WIRE_BYTES &&
                  take_stat(xplane, nvt_wire_in(&field))))
            return nvt_kineto_no_memory(kineto);
    }
    kineto->events++;
    if (to_ns(line, offset, &event->time) || duration > (uint64_t)INT64_MAX / 2 - offset ||
        to_ns(line, offset + duration, &end)) {
        kineto->mistimed++;
        return 0;
    }
    event->phase = 'X';
    event->has_time = event->has_duration = event->has_tid = 1;
    event->duration = end - event->time;
    event->pid = pid;
    event->tid = tid;
    return nvt_kineto_add(kineto);
}

/* --- planes --- */

struct line {
    int64_t id, display, begin;
    uint32_t name, display_name;
};

static int read_line(struct xplane *xplane, struct nvt_wire wire, struct line *line)
{
    struct nvt_wire_field field;
    *line = (struct line){0};
    while (nvt_wire_next(&wire, &field) > 0) {
        if (field.number == 1)
            line->id = nvt_wire_int(&field);
        else if (field.number == 10)
            line->display = nvt_wire_int(&field);
        else if (field.number == 3)
            line->begin = nvt_wire_int(&field);
        else if (field.number == 2)
            line->name = nvt_perfetto_text(&xplane->common, &field);
        else if (field.number == 11)
            line->display_name = nvt_perfetto_text(&xplane->common, &field);
    }
    line->name = line->display_name ? line->display_name : line->name;
    return line->name == NVT_NO_STRING ? -1 : 0;
}

static int add_line(struct xplane *xplane, struct nvt_wire wire, int64_t pid)
{
    struct line line;
    struct nvt_wire_field field;
    if (read_line(xplane, wire, &line))
        return nvt_kineto_no_memory(kineto_of(xplane));
    const int64_t tid = (line.display ? line.display : line.id) & INT64_C(0xffffffff);
    if (!xplane->base && line.begin > 0)
        xplane->base = line.begin;
    int64_t begin;
    if (__builtin_sub_overflow(line.begin, xplane->base, &begin) || begin > INT64_C(1) << 61 ||
        begin < -(INT64_C(1) << 61))
        return 0;
    if (nvt_perfetto_call(&xplane->common, "thread_name", pid, tid, line.name))
        return -1;
    while (nvt_wire_next(&wire, &field) > 0)
        if (field.number == 4 && field.type == NVT_WIRE_BYTES &&
            add_event(xplane, nvt_wire_in(&field), begin, pid, tid))
            return -1;
    return 0;
}

static int add_plane(struct xplane *xplane, struct nvt_wire plane)
{
    struct nvt_wire rest = plane;
    struct nvt_wire_field field;
    uint32_t name = 0, lines = 0;
    nvt_map_free(&xplane->events);
    nvt_map_free(&xplane->stats);
    xplane->events = xplane->stats = (struct nvt_map){0};
    free(xplane->described);
    xplane->described = NULL;
    xplane->described_count = 0;
    while (nvt_wire_next(&rest, &field) > 0) {
        lines += field.number == 3;
        if (field.number == 2)
            name = nvt_perfetto_text(&xplane->common, &field);
        if (name == NVT_NO_STRING ||
            ((field.number == 4 || field.number == 5) && field.type == NVT_WIRE_BYTES &&
             take_metadata(xplane, &field)))
            return nvt_kineto_no_memory(kineto_of(xplane));
    }
    if (!lines)
        return 0;
    const int is_device = !strncmp(nvt_name(kineto_of(xplane)->trace, name), "/device:", 8);
    const int64_t pid = is_device ? 1 + (int64_t)xplane->devices++ : HOST_PID + xplane->hosts++;
    if (nvt_perfetto_call(&xplane->common, "process_name", pid, 0, name))
        return -1;
    for (rest = plane; nvt_wire_next(&rest, &field) > 0;)
        if (field.number == 3 && field.type == NVT_WIRE_BYTES &&
            add_line(xplane, nvt_wire_in(&field), pid))
            return -1;
    return 0;
}

/* An error or a warning of the profiler's own; what is no letter of English becomes '?'. */
static void pass_on(struct xplane *xplane, struct nvt_wire text)
{
    char words[300];
    size_t size = (size_t)(text.end - text.at);
    size = size < sizeof(words) ? size : sizeof(words) - 1;
    for (size_t i = 0; i < size; i++)
        words[i] = (char)(text.at[i] >= ' ' && text.at[i] < 0x7f ? text.at[i] : '?');
    words[size] = 0;
    if (size && xplane->messages++ < MOST_MESSAGES)
        nvt_trace_note(kineto_of(xplane)->trace, "XLA's profiler says: %s", words);
}

static int on_field(void *context, uint32_t number, struct nvt_wire message, struct nvt_error *err)
{
    struct xplane *xplane = context;
    (void)err;
    if (number == 1)
        return add_plane(xplane, message);
    if (number == 2 || number == 3)
        pass_on(xplane, message);
    return 0;
}

/* --- the file --- */

/* Whether a message begins as a plane does: with its number or not, then its name. */
static int begins_plane(struct nvt_wire rest)
{
    static const char *const names[] = {"/host:", "/device:", "/task:", "Task Environment"};
    struct nvt_wire_field field;
    while (nvt_wire_next(&rest, &field) > 0 && field.number <= 2) {
        for (size_t i = 0; i < NVT_COUNT_OF(names) && field.number == 2; i++)
            if (field.type == NVT_WIRE_BYTES && field.size >= strlen(names[i]) &&
                !memcmp(field.data, names[i], strlen(names[i])))
                return 1;
    }
    return 0;
}

static int recognizes(const uint8_t *head, size_t size)
{
    uint8_t unpacked[4096];
    uint64_t length;
    const size_t known = nvt_wire_head(head, size, unpacked, sizeof(unpacked));
    const uint8_t *const end = unpacked + known;
    const uint8_t *at =
        known && unpacked[0] == 0x0a ? nvt_varint_get(unpacked + 1, end, &length) : NULL;
    if (!at)
        return 0;
    return begins_plane((struct nvt_wire){at, length < (uint64_t)(end - at) ? at + length : end});
}

static int read_xplane(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_error own = NVT_ERROR_INIT;
    struct xplane *xplane = calloc(1, sizeof(*xplane));
    int cut = 0;
    if (!xplane)
        return nvt_fail_at(err, path, -1, "out of memory");
    struct nvt_kineto *kineto = kineto_of(xplane);
    *kineto = (struct nvt_kineto){
        .trace = trace, .path = path, .err = &own, .rank = NVT_NONE, .first = INT64_MAX};
    int status = nvt_wire_read(path, on_field, xplane, &cut, &own);
    if (!status) {
        trace->origin_ns = xplane->base;
        if (!kineto->events)
            nvt_trace_warn(trace, "is an XPlane without any event");
        if (cut)
            nvt_trace_warn_truncated(trace,
                                     "ends in the middle of a plane: those before it were read");
        if (xplane->aggregated)
            nvt_trace_note(trace, "left out: counts of events without times (%" PRIu64 ")",
                           xplane->aggregated);
        status = nvt_kineto_finish(kineto, !nvt_has_pytorch_operators(trace));
    }
    nvt_map_free(&xplane->events);
    nvt_map_free(&xplane->stats);
    free(xplane->described);
    nvt_kineto_free(kineto);
    free(xplane);
    if (status && err)
        *err = own;
    return status ? nvt_error_in(err, path) : 0;
}

const struct nvt_reader nvt_reader_xplane = {
    .name = "xplane", .recorder = NVT_BY_OTHERS, .recognizes = recognizes, .read = read_xplane};
