#include "snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/date.h"
#include "../../lib/read_file.h"
#include "reader.h"

int nvt_snapshot_take_room(struct nvt_snapshot *snapshot)
{
    if (!snapshot->room)
        return nvt_fail_at(snapshot->err, snapshot->path, -1,
                           "is a damaged pickle: it claims more than it has bytes for");
    snapshot->room--;
    return 0;
}

/* The earliest time of a list's dicts. */
static int find_first(struct nvt_snapshot *snapshot, uint32_t list)
{
    struct nvt_pickle_walk walk = nvt_pickle_walk(&snapshot->pickle, list);
    uint32_t item;
    while (nvt_pickle_next(&snapshot->pickle, &walk, &item)) {
        int64_t us = nvt_pickle_integer(&snapshot->pickle, item, "time_us", INT64_MAX);
        if (nvt_snapshot_take_room(snapshot))
            return -1;
        if (us < snapshot->first)
            snapshot->first = us;
    }
    return 0;
}

/* Histories: a list for each device; of the host's memory they may be one list. */
struct histories {
    uint32_t of_devices, of_host, segments, host_segments, annotations;
};

static uint32_t first_of(const struct nvt_pickle *pickle, uint32_t list)
{
    uint32_t item;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, list);
    return nvt_pickle_next(pickle, &walk, &item) ? item : NVT_PICKLE_MISSING;
}

/* Where things are in a snapshot. Before PyTorch 2.0 it was the list of segments alone. 0, or -1: it is none. */
static int find_histories(const struct nvt_pickle *pickle, struct histories *out)
{
    uint32_t root = pickle->root;
    enum nvt_pickle_kind kind = nvt_pickle_kind(pickle, root);
    *out = (struct histories){.of_devices = nvt_pickle_find(pickle, root, "device_traces"),
                              .of_host = nvt_pickle_find(pickle, root, "host_traces"),
                              .segments = nvt_pickle_find(pickle, root, "segments"),
                              .host_segments = nvt_pickle_find(pickle, root, "host_segments"),
                              .annotations = nvt_pickle_find(pickle, root, "external_annotations")};
    if (kind == NVT_PICKLE_LIST &&
        nvt_pickle_find(pickle, first_of(pickle, root), "blocks") != NVT_PICKLE_MISSING)
        out->segments = root;
    uint32_t host = first_of(pickle, out->of_host);
    if (nvt_pickle_kind(pickle, host) == NVT_PICKLE_LIST)
        out->of_host = host;
    return nvt_pickle_kind(pickle, out->of_devices) == NVT_PICKLE_LIST ||
                   nvt_pickle_kind(pickle, out->segments) == NVT_PICKLE_LIST
               ? 0
               : -1;
}

static int find_origin(struct nvt_snapshot *snapshot, const struct histories *histories)
{
    struct nvt_pickle_walk walk = nvt_pickle_walk(&snapshot->pickle, histories->of_devices);
    uint32_t history;
    snapshot->first = INT64_MAX;
    while (nvt_pickle_next(&snapshot->pickle, &walk, &history))
        if (find_first(snapshot, history))
            return -1;
    return find_first(snapshot, histories->of_host) || find_first(snapshot, histories->annotations);
}

/* Devices that only segments tell of have no history. */
static uint32_t count_devices(const struct nvt_snapshot *snapshot,
                              const struct histories *histories)
{
    const struct nvt_pickle *pickle = &snapshot->pickle;
    enum { MOST = 1024 };
    uint32_t count = 0, item;
    if (nvt_pickle_kind(pickle, histories->of_devices) == NVT_PICKLE_LIST)
        count = pickle->values[histories->of_devices].size;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, histories->segments);
    while (nvt_pickle_next(pickle, &walk, &item)) {
        int64_t device = nvt_pickle_integer(pickle, item, "device", 0);
        if (device >= count && device < MOST)
            count = (uint32_t)device + 1;
    }
    return count;
}

static int read_devices(struct nvt_snapshot *snapshot, const struct histories *histories)
{
    const struct nvt_pickle *pickle = &snapshot->pickle;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, histories->of_devices);
    uint32_t count = count_devices(snapshot, histories);
    for (uint32_t device = 0; device < count; device++) {
        uint32_t history = NVT_PICKLE_MISSING;
        nvt_pickle_next(pickle, &walk, &history);
        if (nvt_snapshot_device(snapshot, device, history, histories->segments))
            return -1;
    }
    return nvt_snapshot_device(snapshot, NVT_NONE, histories->of_host, histories->host_segments);
}

/* When it was, and how the allocator was set. */
static int set_facts(struct nvt_snapshot *snapshot)
{
    const struct nvt_pickle *pickle = &snapshot->pickle;
    struct nvt_trace *trace = snapshot->trace;
    uint32_t settings = nvt_pickle_find(pickle, pickle->root, "allocator_settings");
    uint32_t text = nvt_pickle_find(pickle, settings, "PYTORCH_CUDA_ALLOC_CONF");
    int status = 0;
    if (snapshot->first > 0 && snapshot->first < INT64_MAX / 1000) {
        char date[NVT_DATE_SIZE];
        trace->origin_ns = snapshot->first * 1000;
        nvt_date((time_t)(snapshot->first / 1000000), date);
        status = *date ? nvt_trace_set_meta(trace, "date", date) : 0;
    }
    if (!status && nvt_pickle_kind(pickle, text) == NVT_PICKLE_TEXT && pickle->values[text].size) {
        char *copy = strndup(pickle->values[text].is.text, pickle->values[text].size);
        status = copy ? nvt_trace_set_meta(trace, "PYTORCH_CUDA_ALLOC_CONF", copy) : -1;
        free(copy);
    }
    return status ? nvt_snapshot_no_memory(snapshot) : 0;
}

static void add_notes(const struct nvt_snapshot *snapshot)
{
    struct nvt_trace *trace = snapshot->trace;
    uint32_t earlier = 0;
    for (uint32_t i = 0; i < trace->memory.count; i++)
        earlier += trace->memory.is_earlier[i];
    if (snapshot->stand_in)
        nvt_trace_note(trace, "this snapshot has no times: its events are placed a microsecond "
                              "apart, in their order");
    if (trace->memory.count && earlier == trace->memory.count)
        nvt_trace_note(trace, "this snapshot has no history, only what was in use at its end: "
                              "torch.cuda.memory._record_memory_history() keeps one from then on");
}

static int read_snapshot(struct nvt_snapshot *snapshot)
{
    struct histories histories;
    struct nvt_trace *trace = snapshot->trace;
    if (find_histories(&snapshot->pickle, &histories))
        return nvt_fail_at(snapshot->err, snapshot->path, -1,
                           "is a pickle, but " NVT_NO_SNAPSHOT
                           " (torch.cuda.memory._dump_snapshot)");
    snapshot->process = nvt_trace_process(trace, 0);
    snapshot->source = nvt_strings_add_text(trace->strings, "PyTorch");
    if (snapshot->process == NVT_NONE || snapshot->source == NVT_NO_STRING)
        return nvt_snapshot_no_memory(snapshot);
    snapshot->thread = nvt_trace_thread(trace, snapshot->process, 0);
    if (snapshot->thread == NVT_NONE)
        return nvt_snapshot_no_memory(snapshot);
    if (find_origin(snapshot, &histories) || read_devices(snapshot, &histories) ||
        nvt_snapshot_ranges(snapshot, histories.annotations) || set_facts(snapshot))
        return -1;
    add_notes(snapshot);
    return 0;
}

/* A file is gone through for its first time, then for its entries, and each of its segments once for each device. */
#define ROOM_PER_BYTE 2

static int read(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_snapshot snapshot = {.trace = trace, .path = path, .err = err};
    struct nvt_buffer bytes = {0};
    int status = nvt_read_file(path, SIZE_MAX, &bytes, err);
    if (!status && nvt_pickle_read(&snapshot.pickle, bytes.data, bytes.size, err))
        status = nvt_error_in(err, path);
    snapshot.room = ROOM_PER_BYTE * (uint64_t)bytes.size;
    if (!status)
        status = read_snapshot(&snapshot);
    nvt_pickle_free(&snapshot.pickle);
    nvt_map_free(&snapshot.stacks);
    nvt_map_free(&snapshot.traits);
    nvt_map_free(&snapshot.names);
    nvt_map_free(&snapshot.rows);
    nvt_buffer_free(&bytes);
    return status;
}

static int recognizes(const uint8_t *head, size_t size)
{
    return nvt_is_pickle(head, size);
}

const struct nvt_reader nvt_reader_snapshot = {
    .name = "snapshot", .recorder = NVT_BY_PYTORCH, .recognizes = recognizes, .read = read};
