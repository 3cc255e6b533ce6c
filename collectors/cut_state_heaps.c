#include "cut_state_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/grow.h"
#include "../lib/trace_file.h"

int nvt_kept_add(struct nvt_kept_list *list, const struct nvt_kept *event)
{
    if (nvt_grow(&list->items, list->count, sizeof(*list->items)))
        return -1;
    list->items[list->count++] = *event;
    return 0;
}

void nvt_kept_list_free(struct nvt_kept_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->items[i].attributes);
    free(list->items);
}

void nvt_cut_state_heaps_free(struct nvt_cut_state_heaps *heaps)
{
    nvt_kept_list_free(&heaps->events);
    free(heaps->said);
    nvt_map_free(&heaps->heaps);
    nvt_map_free(&heaps->regions);
    nvt_map_free(&heaps->names);
    nvt_map_free(&heaps->removed);
}

/* The map that finds what was said, and by what. */
static struct nvt_map *map_of(struct nvt_cut_state_heaps *heaps, const struct nvt_heap_said *said,
                              uint64_t *key)
{
    *key = said->operation == NVT_HEAP_REGISTER ? said->heap : said->address;
    switch (said->operation) {
    case NVT_HEAP_REGISTER:
        return &heaps->heaps;
    case NVT_HEAP_ADD_REGION:
        return &heaps->regions;
    case NVT_HEAP_NAME_REGION:
        return &heaps->names;
    default:
        return &heaps->removed;
    }
}

/* --- what there is ---------------------------------------------------------------------------------- */

static int add(struct nvt_cut_state_heaps *heaps, const struct nvt_kept *event,
               const struct nvt_event_attributes *attributes, const struct nvt_heap_said *said)
{
    struct nvt_kept kept = *event;
    uint64_t key;
    struct nvt_map *map = map_of(heaps, said, &key);
    kept.size = (uint32_t)(attributes->to - attributes->from);
    kept.attributes = malloc(kept.size);
    if (!kept.attributes)
        return -1;
    memcpy(kept.attributes, attributes->from, kept.size);
    if (nvt_grow(&heaps->said, heaps->events.count, sizeof(*heaps->said)) ||
        nvt_map_set(map, key, heaps->events.count) || nvt_kept_add(&heaps->events, &kept)) {
        free(kept.attributes);
        return -1;
    }
    heaps->said[heaps->events.count - 1] = *said;
    return 0;
}

static void drop(struct nvt_cut_state_heaps *heaps, uint32_t at)
{
    uint64_t key;
    struct nvt_map *map = map_of(heaps, &heaps->said[at], &key);
    if (nvt_map_get(map, key) == at)
        *nvt_map_at(map, key) = NVT_MAP_NONE;
    free(heaps->events.items[at].attributes);
    heaps->events.items[at] = (struct nvt_kept){.token = NVT_TOKEN_MARK};
    heaps->said[at].operation = 0;
    heaps->unused++;
}

/* What a map has for a key, if it was said by then. */
static void drop_until(struct nvt_cut_state_heaps *heaps, const struct nvt_map *map, uint64_t key,
                       uint64_t ticks)
{
    const uint32_t at = nvt_map_get(map, key);
    if (at != NVT_MAP_NONE && heaps->events.items[at].ticks <= ticks)
        drop(heaps, at);
}

static void drop_regions(struct nvt_cut_state_heaps *heaps, uint64_t heap, uint64_t ticks)
{
    for (uint32_t i = 0; i < heaps->events.count; i++)
        if (heaps->said[i].operation == NVT_HEAP_ADD_REGION && heaps->said[i].heap == heap &&
            heaps->events.items[i].ticks <= ticks) {
            drop_until(heaps, &heaps->names, heaps->said[i].address, ticks);
            drop(heaps, i);
        }
}

/* Without those that are of no use any more. */
static int sweep(struct nvt_cut_state_heaps *heaps)
{
    uint32_t count = 0;
    uint64_t key;
    if (heaps->unused < 1024 || heaps->unused < heaps->events.count / 2)
        return 0;
    for (uint32_t i = 0; i < heaps->events.count; i++) {
        if (!heaps->said[i].operation)
            continue;
        heaps->events.items[count] = heaps->events.items[i];
        heaps->said[count] = heaps->said[i];
        struct nvt_map *map = map_of(heaps, &heaps->said[count], &key);
        if (nvt_map_set(map, key, count++))
            return -1;
    }
    heaps->events.count = count;
    heaps->unused = 0;
    return 0;
}

/* --- what is said ----------------------------------------------------------------------------------- */

static int read_said(const struct nvt_event_attributes *attributes, struct nvt_heap_said *said)
{
    struct nvt_cursor cursor = {attributes->bytes,
                                attributes->bytes ? attributes->bytes + attributes->size : NULL};
    nvt_cursor_number(&cursor, 8); /* the schema's id */
    const uint64_t length = nvt_cursor_number(&cursor, 8);
    const uint8_t *bytes = nvt_cursor_bytes(&cursor, length);
    if (!attributes->from || !bytes || length != sizeof(*said) || cursor.at != attributes->to)
        return -1;
    memcpy(said, bytes, sizeof(*said));
    return 0;
}

/* A region that is there has another size: what is said of it ends with that. */
static void resize(struct nvt_cut_state_heaps *heaps, const struct nvt_heap_said *said)
{
    const uint32_t at = nvt_map_get(&heaps->regions, said->address);
    if (at == NVT_MAP_NONE)
        return;
    struct nvt_kept *event = &heaps->events.items[at];
    heaps->said[at].bytes = said->bytes;
    memcpy(event->attributes + event->size - sizeof(*said), &heaps->said[at], sizeof(*said));
}

static int add_region(struct nvt_cut_state_heaps *heaps, const struct nvt_kept *event,
                      const struct nvt_event_attributes *attributes,
                      const struct nvt_heap_said *said)
{
    const uint32_t removed = nvt_map_get(&heaps->removed, said->address);
    if (removed != NVT_MAP_NONE && heaps->events.items[removed].ticks >= event->ticks) {
        drop(heaps, removed);
        return 0;
    }
    const uint32_t there = nvt_map_get(&heaps->regions, said->address);
    if (there != NVT_MAP_NONE && heaps->events.items[there].ticks > event->ticks)
        return 0;
    drop_until(heaps, &heaps->regions, said->address, event->ticks);
    return add(heaps, event, attributes, said);
}

static int remove_region(struct nvt_cut_state_heaps *heaps, const struct nvt_kept *event,
                         const struct nvt_event_attributes *attributes,
                         const struct nvt_heap_said *said)
{
    const uint32_t there = nvt_map_get(&heaps->regions, said->address);
    if (there == NVT_MAP_NONE || heaps->events.items[there].ticks > event->ticks)
        return add(heaps, event, attributes, said);
    drop(heaps, there);
    drop_until(heaps, &heaps->names, said->address, event->ticks);
    return 0;
}

static int take(struct nvt_cut_state_heaps *heaps, const struct nvt_kept *event,
                const struct nvt_event_attributes *attributes, const struct nvt_heap_said *said)
{
    switch (said->operation) {
    case NVT_HEAP_REGISTER:
        drop_until(heaps, &heaps->heaps, said->heap, event->ticks);
        return add(heaps, event, attributes, said);
    case NVT_HEAP_UNREGISTER:
        drop_until(heaps, &heaps->heaps, said->heap, event->ticks);
        drop_regions(heaps, said->heap, event->ticks);
        return 0;
    case NVT_HEAP_RESET:
        drop_regions(heaps, said->heap, event->ticks);
        return 0;
    case NVT_HEAP_ADD_REGION:
        return add_region(heaps, event, attributes, said);
    case NVT_HEAP_RESIZE_REGION:
        resize(heaps, said);
        return 0;
    case NVT_HEAP_REMOVE_REGION:
        return remove_region(heaps, event, attributes, said);
    case NVT_HEAP_NAME_REGION:
        drop_until(heaps, &heaps->names, said->address, event->ticks);
        return add(heaps, event, attributes, said);
    case NVT_HEAP_TOLD: /* of no address */
        drop_until(heaps, &heaps->removed, said->address, event->ticks);
        return add(heaps, event, attributes, said);
    default: /* of a later version */
        return 0;
    }
}

int nvt_cut_state_heaps_take(struct nvt_cut_state_heaps *heaps, const struct nvt_kept *event,
                             const struct nvt_event_attributes *attributes)
{
    struct nvt_heap_said said;
    if (read_said(attributes, &said))
        return 0;
    return take(heaps, event, attributes, &said) || sweep(heaps) ? -1 : 0;
}

struct nvt_kept_list *nvt_cut_state_heaps_left(struct nvt_cut_state_heaps *heaps, uint64_t first)
{
    /* A region that ended before all that stays began before it, too. */
    for (uint32_t i = 0; i < heaps->events.count; i++)
        if (heaps->said[i].operation == NVT_HEAP_REMOVE_REGION &&
            heaps->events.items[i].ticks < first)
            drop(heaps, i);
    return &heaps->events;
}
