#include "pools.h"

#include <stdlib.h>

#include "../../lib/map.h"
#include "../model/sort.h"

/* What of a device's memory, or of a pool's, is used, and what is held. */
struct level {
    uint64_t used, held;
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

/* Row i, after those before it. */
static int follow(struct nvt_memory *memory, const struct nvt_pool_word *word, uint32_t i,
                  struct levels *levels)
{
    uint64_t process = memory->process[i];
    struct level change = {0, 0};
    if (memory->allocated[i] != UINT64_MAX)
        return 0;
    if (word->pool) {
        struct level *pool = level_at(levels, &levels->pools, word->pool ^ process << 56);
        if (!pool)
            return -1;
        change = (struct level){word->used - pool->used, word->size - pool->held};
        *pool = (struct level){word->used, word->size};
    } else if (!word->is_pool) {
        uint64_t bytes =
            memory->kind[i] == NVT_MEMORY_FREE ? 0 - memory->bytes[i] : memory->bytes[i];
        change = (struct level){bytes, bytes};
    }
    struct level *device = level_at(levels, &levels->devices, process << 32 | memory->device[i]);
    if (!device)
        return -1;
    device->used += change.used;
    device->held += change.held;
    memory->allocated[i] = device->used;
    memory->reserved[i] = device->held;
    return 0;
}

int nvt_pools_follow(struct nvt_memory *memory, const struct nvt_pool_word *words)
{
    struct levels levels = {0};
    uint32_t *order; /* NULL: as they lie */
    int status = nvt_sort_order(memory->time, NULL, memory->count, &order);
    if (status)
        return -1;
    for (uint32_t i = 0; !status && i < memory->count; i++) {
        uint32_t row = order ? order[i] : i;
        status = follow(memory, &words[row], row, &levels);
    }
    free(order);
    free(levels.items);
    nvt_map_free(&levels.devices);
    nvt_map_free(&levels.pools);
    return status;
}
