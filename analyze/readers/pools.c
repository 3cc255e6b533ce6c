#include "pools.h"

#include <stdlib.h>

#include "../../lib/map.h"
#include "../../lib/quantity_text.h"
#include "../model/sort.h"

/* No device has more memory: 1 PiB. */
#define MOST_BELOW (UINT64_C(1) << 50)

/* What of a device's memory, or of a pool's, is used, and what is held. */
struct level {
    uint64_t used, held;
    /* of a device: the most that was freed and had not been allocated here, bytes */
    uint64_t least;
};

struct levels {
    struct nvt_map devices; /* process << 32 | device -> index in items */
    struct nvt_map pools;   /* address, by process -> index in items */
    struct level *items;
    uint32_t count;
};

static struct level *level_at(struct levels *levels, struct nvt_map *map, uint64_t key)
{
    return nvt_map_item(map, key, &levels->items, &levels->count, sizeof(*levels->items));
}

static uint64_t key_of(const struct nvt_memory *memory, uint32_t row)
{
    return (uint64_t)memory->process[row] << 32 | memory->device[row];
}

/* Row i, after those before it. */
static int follow(struct nvt_memory *memory, const struct nvt_pool_word *word, uint32_t i,
                  struct levels *levels)
{
    uint64_t process = memory->process[i];
    struct level change = {0, 0, 0};
    if (memory->allocated[i] != UINT64_MAX)
        return 0;
    if (word->pool) {
        struct level *pool = level_at(levels, &levels->pools, word->pool ^ process << 56);
        if (!pool)
            return -1;
        change = (struct level){word->used - pool->used, word->size - pool->held, 0};
        *pool = (struct level){word->used, word->size, 0};
    } else if (!word->is_pool) {
        uint64_t bytes =
            memory->kind[i] == NVT_MEMORY_FREE ? 0 - memory->bytes[i] : memory->bytes[i];
        change = (struct level){bytes, bytes, 0};
    }
    struct level *device = level_at(levels, &levels->devices, key_of(memory, i));
    if (!device)
        return -1;
    device->used += change.used;
    device->held += change.held;
    /* Sums that wrap around are below zero, unless they are nonsense. */
    const uint64_t below = 0 - device->used;
    if (below <= MOST_BELOW && below > device->least)
        device->least = below;
    memory->allocated[i] = device->used;
    memory->reserved[i] = device->held;
    return 0;
}

/* What was allocated before the first row, and freed, was in use until then: rows that have no level of their own have that, too. */
static void add_earlier(struct nvt_memory *memory, const uint8_t *is_ours,
                        const struct levels *levels)
{
    for (uint32_t i = 0; i < memory->count; i++) {
        const uint32_t at =
            is_ours[i] ? nvt_map_get(&levels->devices, key_of(memory, i)) : NVT_MAP_NONE;
        if (at >= levels->count)
            continue;
        memory->allocated[i] += levels->items[at].least;
        memory->reserved[i] += levels->items[at].least;
    }
}

static void say_what_is_missing(struct nvt_trace *trace, const struct levels *levels)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < levels->count; i++)
        bytes += levels->items[i].least;
    if (bytes)
        nvt_trace_note(trace,
                       "%s were freed that had been allocated before the recording, or when events "
                       "were lost: allocated memory and its peaks are at least what is shown",
                       NVT_BYTES((double)bytes));
}

int nvt_pools_follow(struct nvt_trace *trace, const struct nvt_pool_word *words)
{
    struct nvt_memory *memory = &trace->memory;
    struct levels levels = {0};
    uint32_t *order = NULL; /* NULL: as they lie */
    uint8_t *is_ours = calloc((size_t)memory->count + 1, 1);
    int status = !is_ours || nvt_sort_order(memory->time, NULL, memory->count, &order);
    for (uint32_t i = 0; !status && i < memory->count; i++) {
        uint32_t row = order ? order[i] : i;
        is_ours[row] = memory->allocated[row] == UINT64_MAX;
        status = follow(memory, &words[row], row, &levels);
    }
    if (!status) {
        add_earlier(memory, is_ours, &levels);
        say_what_is_missing(trace, &levels);
    }
    free(is_ours);
    free(order);
    free(levels.items);
    nvt_map_free(&levels.devices);
    nvt_map_free(&levels.pools);
    return status ? -1 : 0;
}
