#include "nvt_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../../lib/quantity_text.h"
#include "../model/sort.h"
#include "nvt_forks.h"

#define NONE UINT32_MAX

/* Allocations that are looked at for the one that a heap lies in. */
#define LOOKS 4096u

int nvt_file_take_heap(struct nvt_file_reader *reader, struct nvt_file_heap_event event,
                       const uint8_t *payloads, size_t size)
{
    struct nvt_file_heaps *heaps = &reader->heaps;
    struct nvt_cursor cursor = {payloads, payloads ? payloads + size : NULL};
    nvt_cursor_number(&cursor, 8); /* the schema's id */
    const uint64_t length = nvt_cursor_number(&cursor, 8);
    const uint8_t *bytes = nvt_cursor_bytes(&cursor, length);
    if (!bytes || length < sizeof(event.said))
        return 0;
    memcpy(&event.said, bytes, sizeof(event.said));
    if (nvt_grow(&heaps->items, heaps->count, sizeof(*heaps->items)))
        return -1;
    heaps->items[heaps->count++] = event;
    return 0;
}

/* --- what there is at a moment --- */

/* The process's whole memory is a heap, too, of handle 0. */
struct heap {
    uint64_t handle, address, used, held;
    uint32_t process; /* in the file */
    uint32_t device, name;
    uint32_t regions; /* the latest of them, NONE */
    int is_backed;    /* it lies in a recorded allocation */
};

struct region {
    uint64_t address, bytes;
    uint32_t heap, name;    /* name 0: the heap's */
    uint32_t row;           /* of its beginning */
    uint32_t before, after; /* of the same heap, NONE */
};

/* A recorded allocation: its row of the model's memory. */
struct backing {
    uint32_t row, process;
    uint32_t heap;  /* that has all of it, NONE */
    uint32_t place; /* in `live`, NONE: freed */
};

/* What a process has said. */
struct said {
    int has_begun; /* more than what there was before the recording */
    uint64_t lost; /* heaps and regions of before that it could not say */
};

struct walk {
    struct nvt_file_reader *reader;
    struct nvt_memory *memory;
    struct heap *heaps;
    uint32_t heap_count;
    struct region *regions;
    uint32_t region_count;
    struct backing *backings;
    uint32_t backing_count;
    uint32_t *live; /* places in `backings` */
    uint32_t live_count;
    struct nvt_map by_handle, by_region, by_backing; /* key_of() -> place */
    struct said *said;                               /* of each process in the file */
    uint32_t told;    /* processes that have said which heaps there were */
    uint64_t unknown; /* regions that ended, and had not begun here */
    uint64_t adrift;  /* heaps in no recorded allocation, of processes that have some */
};

static uint64_t key_of(uint32_t process, uint64_t address)
{
    return address ^ (uint64_t)process << 48;
}

/* A row of the model's memory, and what is said of the heap after it: its number is odd, those of CUDA's pools, which are
 * addresses of structures, are even. 0, or -1 when out of memory. */
static int add_row(struct walk *walk, const struct heap *heap, int is_pool,
                   const struct nvt_memory_event *event)
{
    struct nvt_file_devices *devices = &walk->reader->devices;
    if (nvt_grow(&devices->words, devices->memory_count, sizeof(*devices->words)) ||
        nvt_grow(&devices->memory_calls, devices->memory_count, sizeof(*devices->memory_calls)))
        return -1;
    const uint64_t held = heap->is_backed || heap->held > heap->used ? heap->held : heap->used;
    devices->memory_calls[devices->memory_count] = 0;
    devices->words[devices->memory_count++] =
        (struct nvt_pool_word){heap->handle | 1, heap->used, held, is_pool};
    return nvt_memory_event_add(walk->reader->trace, event) == NVT_NONE ? -1 : 0;
}

/* A row of a region, or, where that is NULL, of the heap itself. */
static int add_of_heap(struct walk *walk, const struct heap *heap,
                       const struct nvt_file_heap_event *event, const struct region *region,
                       enum nvt_memory_kind kind)
{
    const struct nvt_memory_event row = {
        .time = (int64_t)event->ticks,
        .process = walk->reader->processes[event->process].row,
        .device = heap->device,
        .thread = event->thread,
        .address = region ? region->address : heap->address,
        .bytes = region ? region->bytes : 0,
        .allocated = UINT64_MAX,
        .reserved = UINT64_MAX,
        .source = region && region->name ? region->name : heap->name,
        .kind = (uint8_t)kind,
        .is_earlier = event->is_told && !walk->said[event->process].has_begun};
    return add_row(walk, heap, !region, &row);
}

/* --- regions --- */

/* The name that a heap had before its process was forked; 0: none is known. */
static uint32_t kin_name(const struct walk *walk, uint32_t process, uint64_t handle)
{
    for (uint32_t i = 0; handle && i < walk->heap_count; i++)
        if (walk->heaps[i].handle == handle &&
            nvt_file_is_kin(walk->reader, process, walk->heaps[i].process))
            return walk->heaps[i].name;
    return 0;
}

/* The heap behind a handle, made where nobody has said what it is. NULL when out of memory. */
static struct heap *heap_at(struct walk *walk, uint32_t process, uint64_t handle)
{
    uint32_t *at = nvt_map_at(&walk->by_handle, key_of(process, handle));
    if (!at || nvt_grow(&walk->heaps, walk->heap_count, sizeof(*walk->heaps)))
        return NULL;
    if (*at == NVT_MAP_NONE) {
        const uint32_t name = kin_name(walk, process, handle);
        *at = walk->heap_count;
        walk->heaps[walk->heap_count++] = (struct heap){.handle = handle,
                                                        .process = process,
                                                        .device = NVT_NONE,
                                                        .name = name,
                                                        .regions = NONE};
    }
    struct heap *heap = &walk->heaps[*at];
    if (!heap->name)
        heap->name = nvt_strings_add_text(walk->reader->trace->strings,
                                          handle ? "NVTX heap" : "NVTX region");
    return heap->name == NVT_NO_STRING ? NULL : heap;
}

static void unlink_region(struct walk *walk, uint32_t number)
{
    const struct region *region = &walk->regions[number];
    if (region->after == NONE)
        walk->heaps[region->heap].regions = region->before;
    else
        walk->regions[region->after].before = region->before;
    if (region->before != NONE)
        walk->regions[region->before].after = region->after;
}

/* A region ends: its row. */
static int end_region(struct walk *walk, const struct nvt_file_heap_event *event, uint32_t number)
{
    const struct region region = walk->regions[number];
    struct heap *heap = &walk->heaps[region.heap];
    heap->used = heap->used > region.bytes ? heap->used - region.bytes : 0;
    unlink_region(walk, number);
    if (nvt_map_set(&walk->by_region, key_of(event->process, region.address), NVT_MAP_NONE))
        return -1;
    return add_of_heap(walk, heap, event, &region, NVT_MEMORY_FREE);
}

static int end_regions(struct walk *walk, const struct nvt_file_heap_event *event, uint32_t heap)
{
    while (walk->heaps[heap].regions != NONE)
        if (end_region(walk, event, walk->heaps[heap].regions))
            return -1;
    return 0;
}

static int begin_region(struct walk *walk, const struct nvt_file_heap_event *event,
                        struct heap *heap, const struct region *from)
{
    struct region region = *from;
    if (nvt_grow(&walk->regions, walk->region_count, sizeof(*walk->regions)) ||
        nvt_map_set(&walk->by_region, key_of(event->process, region.address), walk->region_count))
        return -1;
    region.heap = (uint32_t)(heap - walk->heaps);
    region.row = walk->memory->count;
    region.before = heap->regions;
    region.after = NONE;
    if (heap->regions != NONE)
        walk->regions[heap->regions].after = walk->region_count;
    heap->regions = walk->region_count;
    walk->regions[walk->region_count++] = region;
    heap->used += region.bytes;
    return add_of_heap(walk, heap, event, &region, NVT_MEMORY_ALLOC);
}

/* --- recorded allocations --- */

static void bury(struct walk *walk, struct backing *backing)
{
    const uint32_t place = backing->place;
    if (place == NONE)
        return;
    walk->live[place] = walk->live[--walk->live_count];
    walk->backings[walk->live[place]].place = place;
    backing->place = NONE;
}

/* The recorded allocation in use that an address lies in. NULL: there is none, or it was not found among so many. */
static struct backing *backing_of(struct walk *walk, uint32_t process, uint64_t address)
{
    const struct nvt_memory *memory = walk->memory;
    for (uint32_t i = walk->live_count, looks = 0; i-- > 0 && looks < LOOKS; looks++) {
        struct backing *backing = &walk->backings[walk->live[i]];
        const uint64_t bytes =
            backing->heap == NONE ? memory->bytes[backing->row] : walk->heaps[backing->heap].held;
        if (backing->process == process && address >= memory->address[backing->row] &&
            address - memory->address[backing->row] < bytes)
            return backing;
    }
    return NULL;
}

static int begin_backing(struct walk *walk, uint32_t process, uint32_t row)
{
    if (nvt_grow(&walk->backings, walk->backing_count, sizeof(*walk->backings)) ||
        nvt_grow(&walk->live, walk->live_count, sizeof(*walk->live)) ||
        nvt_map_set(&walk->by_backing, key_of(process, walk->memory->address[row]),
                    walk->backing_count))
        return -1;
    walk->backings[walk->backing_count] = (struct backing){row, process, NONE, walk->live_count};
    walk->live[walk->live_count++] = walk->backing_count++;
    return 0;
}

/* What a heap lay in is freed, and with it all that was in the heap. */
static int end_backing(struct walk *walk, const struct backing *backing, uint32_t row)
{
    struct heap *heap = &walk->heaps[backing->heap];
    const struct nvt_file_heap_event event = {.ticks = (uint64_t)walk->memory->time[row],
                                              .process = backing->process,
                                              .thread = NVT_NONE};
    walk->memory->bytes[row] = 0;
    walk->reader->devices.words[row] = (struct nvt_pool_word){heap->handle | 1, 0, 0, 1};
    heap->used = heap->held = 0;
    return end_regions(walk, &event, backing->heap);
}

/* CUPTI's row of an allocation, or of its end. */
static int take_row(struct walk *walk, const uint32_t *files, uint32_t row)
{
    const struct nvt_pool_word *word = &walk->reader->devices.words[row];
    const uint32_t process = files[walk->memory->process[row]];
    walk->said[process].has_begun = 1;
    if (word->pool || word->is_pool)
        return 0;
    const uint32_t at = nvt_map_get(&walk->by_backing, key_of(process, walk->memory->address[row]));
    struct backing *known = at == NVT_MAP_NONE ? NULL : &walk->backings[at];
    const int was_live = known && known->place != NONE;
    if (known)
        bury(walk, known);
    if (walk->memory->kind[row] == NVT_MEMORY_ALLOC)
        return begin_backing(walk, process, row);
    return was_live && known->heap != NONE ? end_backing(walk, known, row) : 0;
}

/* The heap lies in that allocation, which is its reserve from the beginning on, unless it is another heap's. */
static void back(struct walk *walk, struct heap *heap, struct backing *backing)
{
    heap->device = walk->memory->device[backing->row];
    heap->is_backed = 1;
    heap->held = 0;
    if (backing->heap != NONE)
        return;
    heap->held = walk->memory->bytes[backing->row];
    backing->heap = (uint32_t)(heap - walk->heaps);
    walk->memory->bytes[backing->row] = 0;
    walk->memory->source[backing->row] = heap->name;
    walk->reader->devices.words[backing->row] =
        (struct nvt_pool_word){heap->handle | 1, 0, heap->held, 1};
}

/* --- what was said --- */

static int register_heap(struct walk *walk, const struct nvt_file_heap_event *event)
{
    const struct nvt_heap_said *said = &event->said;
    struct heap *heap = heap_at(walk, event->process, said->heap);
    if (!heap)
        return -1;
    heap->name = event->name ? event->name : heap->name;
    heap->address = said->address;
    heap->held = said->bytes;
    heap->is_backed = 0;
    heap->device = NVT_NONE;
    struct backing *backing = backing_of(walk, event->process, said->address);
    if (backing) {
        back(walk, heap, backing);
        return 0;
    }
    for (uint32_t i = 0; i < walk->backing_count && i < LOOKS; i++)
        if (walk->backings[i].process == event->process) {
            walk->adrift++;
            break;
        }
    return add_of_heap(walk, heap, event, NULL, NVT_MEMORY_ALLOC);
}

static int end_heap(struct walk *walk, const struct nvt_file_heap_event *event)
{
    struct heap *heap = heap_at(walk, event->process, event->said.heap);
    if (!heap || end_regions(walk, event, (uint32_t)(heap - walk->heaps)))
        return -1;
    if (event->said.operation == NVT_HEAP_RESET || !heap->address)
        return 0;
    /* What it lies in is there until it is freed. */
    if (!heap->is_backed) {
        heap->held = 0;
        if (add_of_heap(walk, heap, event, NULL, NVT_MEMORY_FREE))
            return -1;
    }
    return 0;
}

/* The region at an address, NONE: it is unknown. */
static uint32_t known_region(const struct walk *walk, const struct nvt_file_heap_event *event)
{
    const uint32_t at = nvt_map_get(&walk->by_region, key_of(event->process, event->said.address));
    return at < walk->region_count ? at : NONE;
}

/* Whether a region that is told is the one that is known. */
static int is_as_known(const struct walk *walk, uint32_t known, const struct nvt_heap_said *said)
{
    const struct region *region = known == NONE ? NULL : &walk->regions[known];
    return region && region->bytes == said->bytes && walk->heaps[region->heap].handle == said->heap;
}

static int add_region(struct walk *walk, const struct nvt_file_heap_event *event)
{
    const struct nvt_heap_said *said = &event->said;
    const uint32_t known = known_region(walk, event);
    struct heap *heap = heap_at(walk, event->process, said->heap);
    if (heap && event->is_told && is_as_known(walk, known, said))
        return 0;
    if (!heap || (known != NONE && end_region(walk, event, known)))
        return -1;
    if (!said->heap && backing_of(walk, event->process, said->address))
        return 0;
    const struct region region = {.address = said->address, .bytes = said->bytes};
    return begin_region(walk, event, heap, &region);
}

static int resize_region(struct walk *walk, const struct nvt_file_heap_event *event)
{
    const uint32_t known = known_region(walk, event);
    if (known == NONE) {
        walk->unknown++;
        return 0;
    }
    struct region region = walk->regions[known];
    if (end_region(walk, event, known))
        return -1;
    region.bytes = event->said.bytes;
    return begin_region(walk, event, &walk->heaps[region.heap], &region);
}

static int remove_region(struct walk *walk, const struct nvt_file_heap_event *event)
{
    const uint32_t known = known_region(walk, event);
    walk->unknown += known == NONE;
    return known == NONE ? 0 : end_region(walk, event, known);
}

/* It has that name from its beginning on. */
static void name_region(struct walk *walk, const struct nvt_file_heap_event *event)
{
    const uint32_t known = known_region(walk, event);
    if (known == NONE || !event->name)
        return;
    walk->regions[known].name = event->name;
    walk->memory->source[walk->regions[known].row] = event->name;
}

/* What a process has said of a recording that began late. */
static void take_told(struct walk *walk, const struct nvt_file_heap_event *event)
{
    walk->told++;
    walk->said[event->process].lost = event->said.bytes;
}

static int take_event(struct walk *walk, const struct nvt_file_heap_event *event)
{
    walk->said[event->process].has_begun |= !event->is_told;
    switch (event->said.operation) {
    case NVT_HEAP_REGISTER:
        return register_heap(walk, event);
    case NVT_HEAP_UNREGISTER:
    case NVT_HEAP_RESET:
        return end_heap(walk, event);
    case NVT_HEAP_ADD_REGION:
        return add_region(walk, event);
    case NVT_HEAP_RESIZE_REGION:
        return resize_region(walk, event);
    case NVT_HEAP_REMOVE_REGION:
        return remove_region(walk, event);
    case NVT_HEAP_NAME_REGION:
        name_region(walk, event);
        return 0;
    case NVT_HEAP_TOLD:
        take_told(walk, event);
        return 0;
    default:
        return 0;
    }
}

/* --- in the order of time --- */

/* Threads stand in the file one behind the other. What happens at one moment stays as it is: of one thread, in its order. */
static int by_time(const void *left, const void *right)
{
    const struct nvt_file_heap_event *a = left, *b = right;
    const int64_t from = (int64_t)a->ticks, to = (int64_t)b->ticks;
    if (from != to)
        return from < to ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static void sort_events(struct nvt_file_reader *reader, int64_t origin)
{
    struct nvt_file_heaps *heaps = &reader->heaps;
    for (size_t i = 0; i < heaps->count; i++) {
        struct nvt_file_heap_event *event = &heaps->items[i];
        event->order = i;
        event->ticks = (uint64_t)nvt_clock_since(
            nvt_clock_convert(reader->samples, reader->sample_count, event->ticks), origin);
    }
    qsort(heaps->items, heaps->count, sizeof(*heaps->items), by_time);
}

static int follow(struct walk *walk, const uint32_t *files, const uint32_t *order)
{
    const struct nvt_file_heaps *heaps = &walk->reader->heaps;
    const uint32_t rows = walk->memory->count;
    uint32_t at = 0;
    int status = 0;
    for (size_t i = 0; i < heaps->count && !status; i++) {
        for (; at < rows && !status; at++) {
            const uint32_t row = order ? order[at] : at;
            if (walk->memory->time[row] > (int64_t)heaps->items[i].ticks)
                break;
            status = take_row(walk, files, row);
        }
        status = status ? status : take_event(walk, &heaps->items[i]);
    }
    for (; at < rows && !status; at++)
        status = take_row(walk, files, order ? order[at] : at);
    return status;
}

/* Whether regions may have begun before the recording did. What a cut left behind says which there were. */
static int began_late(const struct nvt_trace *trace)
{
    return nvt_trace_meta(trace, "capture") || nvt_trace_meta(trace, "delay") ||
           nvt_trace_meta(trace, "recorded");
}

/* Regions of unknown size: that ended here; or that there were, of which some ended. */
static uint64_t unknown_of(const struct walk *walk)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < walk->reader->process_count; i++)
        lost += walk->said[i].lost;
    return lost > walk->unknown ? lost : walk->unknown;
}

static void say_what_is_missing(const struct walk *walk)
{
    struct nvt_trace *trace = walk->reader->trace;
    const uint64_t unknown = unknown_of(walk);
    if (began_late(trace) && !walk->told) /* of an older version */
        nvt_trace_note(trace, "of NVTX heaps, only regions that began in the recording count as "
                              "allocated memory");
    else if (unknown)
        nvt_trace_note(
            trace,
            "%s began before the recording, or when events were lost, of unknown size: "
            "allocated memory and its peaks are at least what is shown",
            NVT_COUNTED((double)unknown, "region of NVTX heaps", "regions of NVTX heaps"));
    if (walk->adrift)
        nvt_trace_note(trace, "%s in no recorded allocation: shown as memory of the host",
                       NVT_COUNTED((double)walk->adrift, "NVTX heap lies", "NVTX heaps lie"));
}

int nvt_file_complete_heaps(struct nvt_file_reader *reader, int64_t origin)
{
    struct walk walk = {.reader = reader, .memory = &reader->trace->memory};
    uint32_t *order = NULL; /* NULL: as they lie */
    if (!reader->heaps.count)
        return 0;
    uint32_t *files = calloc((size_t)reader->trace->processes.count + 1, sizeof(*files));
    walk.said = calloc((size_t)reader->process_count + 1, sizeof(*walk.said));
    int status =
        !files || !walk.said || nvt_sort_order(walk.memory->time, NULL, walk.memory->count, &order);
    for (uint32_t i = 0; files && i < reader->process_count; i++)
        files[reader->processes[i].row] = i;
    if (!status) {
        sort_events(reader, origin);
        status = follow(&walk, files, order);
        say_what_is_missing(&walk);
    }
    free(files);
    free(walk.said);
    free(order);
    free(walk.heaps);
    free(walk.regions);
    free(walk.backings);
    free(walk.live);
    nvt_map_free(&walk.by_handle);
    nvt_map_free(&walk.by_region);
    nvt_map_free(&walk.by_backing);
    return status ? -1 : 0;
}
