#include "map.h"

#include <stdlib.h>
#include <string.h>

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
    while (map->rows[at & map->mask] != NVT_MAP_NONE && map->keys[at & map->mask] != key)
        at++;
    return at & map->mask;
}

uint32_t nvt_map_get(const struct nvt_map *map, uint64_t key)
{
    return map->rows ? map->rows[place(map, key)] : NVT_MAP_NONE;
}

static int grow(struct nvt_map *map)
{
    uint64_t size = map->rows ? (map->mask + 1) * 2 : 64;
    struct nvt_map bigger = {malloc(size * sizeof(*map->keys)), malloc(size * sizeof(*map->rows)),
                             size - 1, map->used};
    if (!bigger.keys || !bigger.rows) {
        nvt_map_free(&bigger);
        return -1;
    }
    memset(bigger.rows, 0xff, size * sizeof(*bigger.rows));
    for (uint64_t i = 0; map->rows && i <= map->mask; i++) {
        if (map->rows[i] == NVT_MAP_NONE)
            continue;
        uint64_t to = place(&bigger, map->keys[i]);
        bigger.keys[to] = map->keys[i];
        bigger.rows[to] = map->rows[i];
    }
    nvt_map_free(map);
    *map = bigger;
    return 0;
}

uint32_t *nvt_map_at(struct nvt_map *map, uint64_t key)
{
    if ((!map->rows || map->used * 2 > map->mask) && grow(map))
        return NULL;
    uint64_t at = place(map, key);
    if (map->rows[at] == NVT_MAP_NONE) {
        map->keys[at] = key;
        map->used++;
    }
    return &map->rows[at];
}
