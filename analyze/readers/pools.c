#include "pools.h"

#include <stdlib.h>

#include "../model/map.h"

/* Of a device, or of a pool. */
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
    uint32_t *index = nvt_map_at(map, key);
    if (!index)
        return NULL;
    if (*index == NVT_MAP_NONE) {
        if (!(levels->count & (levels->count - 1))) {
            size_t capacity = levels->count ? (size_t)levels->count * 2 : 1;
            struct level *items = realloc(levels->items, capacity * sizeof(*items));
            if (!items)
                return NULL;
            levels->items = items;
        }
        levels->items[levels->count] = (struct level){0, 0};
        *index = levels->count++;
    }
    return &levels->items[*index];
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

struct moment {
    int64_t time;
    uint32_t row;
};

static int by_moment(const void *a, const void *b)
{
    const struct moment *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->row < right->row ? -1 : 1;
}

int nvt_pools_follow(struct nvt_memory *memory, const struct nvt_pool_word *words)
{
    struct levels levels = {0};
    struct moment *order = malloc(((size_t)memory->count + 1) * sizeof(*order));
    int status = order ? 0 : -1;
    for (uint32_t i = 0; order && i < memory->count; i++)
        order[i] = (struct moment){memory->time[i], i};
    if (order && memory->count)
        qsort(order, memory->count, sizeof(*order), by_moment);
    for (uint32_t i = 0; !status && i < memory->count; i++)
        status = follow(memory, &words[order[i].row], order[i].row, &levels);
    free(order);
    free(levels.items);
    nvt_map_free(&levels.devices);
    nvt_map_free(&levels.pools);
    return status;
}
