#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/refusals.h"
#include "snapshot.h"

enum action { ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, OOM, ACTIONS };

/* By what names they come; "free" is that of old ones. What is not among them changes nothing. */
static const struct {
    const char *name;
    enum action action;
} actions[] = {{"alloc", ALLOC},
               {"free_completed", FREE},
               {"free", FREE},
               {"segment_alloc", SEGMENT_ALLOC},
               {"segment_map", SEGMENT_ALLOC},
               {"segment_free", SEGMENT_FREE},
               {"segment_unmap", SEGMENT_FREE},
               {"oom", OOM}};

struct entry {
    int64_t time; /* ns on the axis */
    uint64_t address, bytes;
    uint64_t free; /* of the device, of an OOM */
    uint32_t frame;
    uint8_t action;
};

struct entries {
    struct entry *items;
    size_t count;
};

/* The keys that are looked for, and the value that each was the last time: they are mostly the same one. */
enum key { ACTION, ADDRESS, SIZE, TIME, FRAMES, DEVICE_FREE, KEYS };
static const char *const key_names[KEYS] = {"action",  "addr",   "size",
                                            "time_us", "frames", "device_free"};

struct device {
    struct nvt_snapshot *snapshot;
    uint32_t device;
    uint32_t keys[KEYS];
    uint32_t action_values[NVT_COUNT_OF(actions)];
    struct entries history;    /* in its order */
    struct entries before;     /* blocks that were in use when it began */
    struct nvt_map open;       /* addresses -> 1: taken and not given back, 0: given back */
    uint64_t in_use, reserved; /* at the end, as the segments tell it */
    int is_told;               /* whether they do */
};

static int add_entry(struct entries *entries, const struct entry *entry)
{
    if (nvt_grow(&entries->items, entries->count, sizeof(*entries->items)))
        return -1;
    entries->items[entries->count++] = *entry;
    return 0;
}

/* --- the history --- */

static enum key key_of(struct device *device, uint32_t name)
{
    for (int i = 0; i < KEYS; i++)
        if (device->keys[i] == name)
            return (enum key)i;
    for (int i = 0; i < KEYS; i++)
        if (nvt_pickle_is(&device->snapshot->pickle, name, key_names[i])) {
            device->keys[i] = name;
            return (enum key)i;
        }
    return KEYS;
}

static enum action action_of(struct device *device, uint32_t value)
{
    size_t count = value == NVT_PICKLE_MISSING ? 0 : NVT_COUNT_OF(actions);
    for (size_t i = 0; i < count; i++)
        if (device->action_values[i] == value)
            return actions[i].action;
    for (size_t i = 0; i < count; i++)
        if (nvt_pickle_is(&device->snapshot->pickle, value, actions[i].name)) {
            device->action_values[i] = value;
            return actions[i].action;
        }
    return ACTIONS;
}

static uint64_t number_of(const struct nvt_pickle *pickle, uint32_t value, uint64_t absent)
{
    return nvt_pickle_kind(pickle, value) == NVT_PICKLE_INT
               ? (uint64_t)pickle->values[value].is.integer
               : absent;
}

/* What an entry says of each key; MISSING where it says nothing. */
static void look_at(struct device *device, uint32_t entry, uint32_t values[KEYS + 1])
{
    const struct nvt_pickle *pickle = &device->snapshot->pickle;
    uint32_t name, value;
    for (int i = 0; i < KEYS; i++)
        values[i] = NVT_PICKLE_MISSING;
    if (nvt_pickle_kind(pickle, entry) != NVT_PICKLE_DICT)
        return;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, entry);
    while (nvt_pickle_next(pickle, &walk, &name) && nvt_pickle_next(pickle, &walk, &value))
        values[key_of(device, name)] = value;
}

/* Without a time an entry has that of the one before it, or, where none has any, its place in the history. */
static int64_t time_of(struct device *device, uint32_t value, size_t place)
{
    struct nvt_snapshot *snapshot = device->snapshot;
    if (snapshot->first == INT64_MAX) {
        snapshot->stand_in++;
        return (int64_t)place * 1000;
    }
    if (nvt_pickle_kind(&snapshot->pickle, value) == NVT_PICKLE_INT)
        return nvt_snapshot_time(snapshot, snapshot->pickle.values[value].is.integer);
    return device->history.count ? device->history.items[device->history.count - 1].time : 0;
}

static int read_history(struct device *device, uint32_t entries)
{
    struct nvt_snapshot *snapshot = device->snapshot;
    const struct nvt_pickle *pickle = &snapshot->pickle;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, entries);
    uint32_t item, values[KEYS + 1];
    for (size_t place = 0; nvt_pickle_next(pickle, &walk, &item); place++) {
        if (nvt_snapshot_take_room(snapshot))
            return -1;
        look_at(device, item, values);
        struct entry entry = {.action = (uint8_t)action_of(device, values[ACTION])};
        if (entry.action == ACTIONS)
            continue;
        entry.time = time_of(device, values[TIME], place);
        entry.address = number_of(pickle, values[ADDRESS], 0);
        entry.bytes = number_of(pickle, values[SIZE], 0);
        entry.free = number_of(pickle, values[DEVICE_FREE], UINT64_MAX);
        entry.frame = entry.action == ALLOC ? nvt_snapshot_stack(snapshot, values[FRAMES]) : 0;
        if (entry.frame == NVT_NONE || add_entry(&device->history, &entry))
            return nvt_snapshot_no_memory(snapshot);
    }
    return 0;
}

/* --- what was there before it --- */

/* Blocks that were given back and never taken. */
static int find_freed(struct device *device)
{
    for (size_t i = 0; i < device->history.count; i++) {
        const struct entry *entry = &device->history.items[i];
        if (entry->action != ALLOC && entry->action != FREE)
            continue;
        uint32_t *open = nvt_map_at(&device->open, entry->address);
        if (!open)
            return -1;
        struct entry taken = *entry;
        taken.action = ALLOC;
        if (entry->action == FREE && *open == NVT_MAP_NONE && add_entry(&device->before, &taken))
            return -1;
        *open = entry->action == ALLOC;
    }
    return 0;
}

/* A block's stack: in snapshots of PyTorch 2.0 within a history of its own. */
static uint32_t frames_of(const struct nvt_pickle *pickle, uint32_t block)
{
    uint32_t frames = nvt_pickle_find(pickle, block, "frames"), newest;
    struct nvt_pickle_walk walk =
        nvt_pickle_walk(pickle, nvt_pickle_find(pickle, block, "history"));
    if (frames == NVT_PICKLE_MISSING && nvt_pickle_next(pickle, &walk, &newest))
        frames = nvt_pickle_find(pickle, newest, "frames");
    return frames;
}

/* A block that is in use at the end, at an address. */
static int add_block(struct device *device, uint32_t block, uint64_t address)
{
    struct nvt_snapshot *snapshot = device->snapshot;
    const struct nvt_pickle *pickle = &snapshot->pickle;
    int64_t size = nvt_pickle_integer(pickle, block, "size", 0);
    struct entry entry = {.address = address,
                          .bytes =
                              (uint64_t)nvt_pickle_integer(pickle, block, "requested_size", size)};
    device->in_use += entry.bytes;
    uint32_t *open = nvt_map_at(&device->open, address);
    if (!open)
        return nvt_snapshot_no_memory(snapshot);
    if (*open == 1)
        return 0;
    *open = 1;
    entry.frame = nvt_snapshot_stack(snapshot, frames_of(pickle, block));
    return entry.frame == NVT_NONE || add_entry(&device->before, &entry)
               ? nvt_snapshot_no_memory(snapshot)
               : 0;
}

/* "large", and whose pool it is where that is not the one of all: "large, pool 0.1"; "" where it has none. */
static uint32_t pool_of(const struct nvt_snapshot *snapshot, uint32_t segment)
{
    const struct nvt_pickle *pickle = &snapshot->pickle;
    uint32_t kind = nvt_pickle_find(pickle, segment, "segment_type");
    struct nvt_pickle_walk walk =
        nvt_pickle_walk(pickle, nvt_pickle_find(pickle, segment, "segment_pool_id"));
    int64_t numbers[2] = {0, 0};
    char text[128] = "";
    uint32_t number;
    for (int i = 0; i < 2 && nvt_pickle_next(pickle, &walk, &number); i++)
        numbers[i] = (int64_t)number_of(pickle, number, 0);
    if (nvt_pickle_kind(pickle, kind) == NVT_PICKLE_TEXT)
        snprintf(text, sizeof(text), "%.*s",
                 (int)(pickle->values[kind].size > 40 ? 40 : pickle->values[kind].size),
                 pickle->values[kind].is.text);
    if (numbers[0] || numbers[1])
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", pool %lld.%lld",
                 (long long)numbers[0], (long long)numbers[1]);
    return nvt_strings_add_text(snapshot->trace->strings, text);
}

/* Blocks lie one behind the other; newer snapshots say where. */
static int read_segment(struct device *device, uint32_t segment)
{
    struct nvt_snapshot *snapshot = device->snapshot;
    const struct nvt_pickle *pickle = &snapshot->pickle;
    uint64_t address = (uint64_t)nvt_pickle_integer(pickle, segment, "address", 0);
    uint32_t block;
    struct nvt_segment held = {.process = snapshot->process,
                               .device = device->device,
                               .pool = pool_of(snapshot, segment),
                               .stream = (uint64_t)nvt_pickle_integer(pickle, segment, "stream", 0),
                               .bytes =
                                   (uint64_t)nvt_pickle_integer(pickle, segment, "total_size", 0)};
    device->is_told = 1;
    device->reserved += held.bytes;
    struct nvt_pickle_walk walk =
        nvt_pickle_walk(pickle, nvt_pickle_find(pickle, segment, "blocks"));
    while (nvt_pickle_next(pickle, &walk, &block)) {
        if (nvt_snapshot_take_room(snapshot))
            return -1;
        uint32_t state = nvt_pickle_find(pickle, block, "state");
        address = (uint64_t)nvt_pickle_integer(pickle, block, "address", (int64_t)address);
        int is_active = nvt_pickle_is(pickle, state, "active_allocated") ||
                        nvt_pickle_is(pickle, state, "active_pending_free") ||
                        nvt_pickle_is(pickle, state, "active_awaiting_free");
        uint64_t size = (uint64_t)nvt_pickle_integer(pickle, block, "size", 0);
        if (is_active && add_block(device, block, address))
            return -1;
        held.in_use += is_active ? size : 0;
        if (!is_active && size > held.largest_free)
            held.largest_free = size;
        address += size;
    }
    return held.pool == NVT_NO_STRING || nvt_segment_add(snapshot->trace, &held) == NVT_NONE
               ? nvt_snapshot_no_memory(snapshot)
               : 0;
}

static int read_segments(struct device *device, uint32_t segments)
{
    struct nvt_snapshot *snapshot = device->snapshot;
    struct nvt_pickle_walk walk = nvt_pickle_walk(&snapshot->pickle, segments);
    uint32_t segment;
    while (nvt_pickle_next(&snapshot->pickle, &walk, &segment)) {
        int64_t of = nvt_pickle_integer(&snapshot->pickle, segment, "device", 0);
        if (nvt_snapshot_take_room(snapshot))
            return -1;
        if ((device->device == NVT_NONE || of == (int64_t)device->device) &&
            read_segment(device, segment))
            return -1;
    }
    return 0;
}

/* --- into the trace --- */

/* How much was in use, or reserved, before the history: what is left of the end, and no less than what it takes away. */
static uint64_t level_before(const struct device *device, enum action up, enum action down,
                             uint64_t at_end)
{
    int64_t sum = 0, least = 0;
    for (size_t i = 0; i < device->history.count; i++) {
        const struct entry *entry = &device->history.items[i];
        if (entry->action == up || entry->action == down)
            sum =
                (int64_t)((uint64_t)sum + (entry->action == up ? entry->bytes : 0 - entry->bytes));
        if (sum < least)
            least = sum;
    }
    uint64_t enough = 0 - (uint64_t)least;
    uint64_t told = at_end - (uint64_t)sum;
    return device->is_told && (int64_t)told > (int64_t)enough ? told : enough;
}

static int add_event(const struct device *device, const struct entry *entry, int is_earlier,
                     uint64_t in_use, uint64_t reserved)
{
    struct nvt_snapshot *snapshot = device->snapshot;
    struct nvt_memory_event event = {.time = entry->time,
                                     .process = snapshot->process,
                                     .device = device->device,
                                     .thread = snapshot->thread,
                                     .address = entry->address,
                                     .bytes = entry->bytes,
                                     .allocated = in_use,
                                     .reserved = reserved > in_use ? reserved : in_use,
                                     .source = snapshot->source,
                                     .frame = entry->frame,
                                     .kind =
                                         entry->action == FREE ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC,
                                     .is_earlier = (uint8_t)is_earlier};
    return nvt_memory_event_add(snapshot->trace, &event) == NVT_NONE
               ? nvt_snapshot_no_memory(snapshot)
               : 0;
}

static int add_refusal(const struct device *device, const struct entry *entry)
{
    struct nvt_refusal refusal = {
        .time = entry->time, .device = device->device, .bytes = entry->bytes, .free = entry->free};
    return nvt_refusal_add(device->snapshot->trace, device->snapshot->thread, &refusal)
               ? nvt_snapshot_no_memory(device->snapshot)
               : 0;
}

static int add_all(const struct device *device)
{
    uint64_t in_use = level_before(device, ALLOC, FREE, device->in_use);
    uint64_t reserved = level_before(device, SEGMENT_ALLOC, SEGMENT_FREE, device->reserved);
    uint64_t known = 0;
    int status = 0;
    for (size_t i = 0; i < device->before.count; i++)
        known += device->before.items[i].bytes;
    in_use = known < in_use ? in_use - known : 0;
    for (size_t i = 0; i < device->before.count && !status; i++) {
        struct entry entry = device->before.items[i];
        entry.time = 0;
        entry.action = ALLOC;
        in_use += entry.bytes;
        status = add_event(device, &entry, 1, in_use, reserved);
    }
    for (size_t i = 0; i < device->history.count && !status; i++) {
        const struct entry *entry = &device->history.items[i];
        if (entry->action == SEGMENT_ALLOC || entry->action == SEGMENT_FREE)
            reserved += entry->action == SEGMENT_ALLOC ? entry->bytes : 0 - entry->bytes;
        if (entry->action == OOM)
            status = add_refusal(device, entry);
        if (entry->action != ALLOC && entry->action != FREE)
            continue;
        in_use += entry->action == ALLOC ? entry->bytes : 0 - entry->bytes;
        status = add_event(device, entry, 0, in_use, reserved);
    }
    return status;
}

int nvt_snapshot_device(struct nvt_snapshot *snapshot, uint32_t device, uint32_t entries,
                        uint32_t segments)
{
    struct device of = {.snapshot = snapshot, .device = device};
    memset(of.keys, 0xff, sizeof(of.keys));
    memset(of.action_values, 0xff, sizeof(of.action_values));
    int status = read_history(&of, entries);
    if (!status && find_freed(&of))
        status = nvt_snapshot_no_memory(snapshot);
    if (!status)
        status = read_segments(&of, segments);
    if (!status)
        status = add_all(&of);
    free(of.history.items);
    free(of.before.items);
    nvt_map_free(&of.open);
    return status;
}
