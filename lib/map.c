#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* The key of an empty slot; as a key it has a place of its own. */
#define EMPTY UINT64_MAX

void nvt_map_free(struct nvt_map *map)
{
    free(map->keys);
    free(map->rows);
    *map = (struct nvt_map){0};
}

static uint64_t place(const struct nvt_map *map, uint64_t key)
{
    uint64_t at = (key ^ (key >> 29)) * UINT64_C(0x9E3779B97F4A7C15);
    at ^= at >> 32;
    while (map->keys[at & map->mask] != EMPTY && map->keys[at & map->mask] != key)
        at++;
    return at & map->mask;
}

uint32_t nvt_map_get(const struct nvt_map *map, uint64_t key)
{
    if (key == EMPTY)
        return map->has_last ? map->last : NVT_MAP_NONE;
    uint64_t at = map->keys ? place(map, key) : 0;
    return map->keys && map->keys[at] == key ? map->rows[at] : NVT_MAP_NONE;
}

/* Keys without a row go. There is room for as many again as stay. */
static int grow(struct nvt_map *map)
{
    const struct nvt_map old = *map;
    uint64_t size = 64, live = 0;
    for (uint64_t i = 0; old.keys && i <= old.mask; i++)
        live += old.keys[i] != EMPTY && old.rows[i] != NVT_MAP_NONE;
    while (size < live * 4)
        size *= 2;
    uint64_t *keys = malloc(size * sizeof(*keys));
    uint32_t *rows = malloc(size * sizeof(*rows));
    if (!keys || !rows) {
        free(keys);
        free(rows);
        return -1;
    }
    memset(keys, 0xff, size * sizeof(*keys));
    map->keys = keys;
    map->rows = rows;
    map->mask = size - 1;
    map->used = live;
    for (uint64_t i = 0; old.keys && i <= old.mask; i++) {
        if (old.keys[i] == EMPTY || old.rows[i] == NVT_MAP_NONE)
            continue;
        uint64_t to = place(map, old.keys[i]);
        keys[to] = old.keys[i];
        rows[to] = old.rows[i];
    }
    free(old.keys);
    free(old.rows);
    return 0;
}

uint32_t *nvt_map_at(struct nvt_map *map, uint64_t key)
{
    if (key == EMPTY) {
        if (!map->has_last)
            map->last = NVT_MAP_NONE;
        map->has_last = 1;
        return &map->last;
    }
    if ((!map->keys || map->used * 2 > map->mask) && grow(map))
        return NULL;
    uint64_t at = place(map, key);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made by grow() */
    if (map->keys[at] == EMPTY) {
        map->keys[at] = key;
        map->rows[at] = NVT_MAP_NONE;
        map->used++;
    }
    return &map->rows[at];
}

int nvt_map_set(struct nvt_map *map, uint64_t key, uint32_t row)
{
    uint32_t *at = nvt_map_at(map, key);
    if (!at)
        return -1;
    *at = row;
    return 0;
}

uint32_t nvt_map_number(struct nvt_map *map, uint64_t key, uint32_t *count)
{
    uint32_t *at = nvt_map_at(map, key);
    if (!at)
        return NVT_MAP_NONE;
    if (*at == NVT_MAP_NONE)
        *at = (*count)++;
    return *at;
}

static char *item_at(const void *items, uint32_t row, size_t width)
{
    char *array;
    memcpy(&array, items, sizeof(array));
    return array + row * width;
}

uint32_t nvt_map_row(struct nvt_map *map, uint64_t key, void *items, uint32_t *count, size_t width)
{
    uint32_t *at = nvt_map_at(map, key);
    if (!at || *at != NVT_MAP_NONE)
        return at ? *at : NVT_MAP_NONE;
    if (nvt_grow(items, *count, width))
        return NVT_MAP_NONE;
    memset(item_at(items, *count, width), 0, width);
    return *at = (*count)++;
}

void *nvt_map_item(struct nvt_map *map, uint64_t key, void *items, uint32_t *count, size_t width)
{
    const uint32_t row = nvt_map_row(map, key, items, count, width);
    return row == NVT_MAP_NONE ? NULL : item_at(items, row, width);
}
