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
    const struct nvt_map old = *map;
    uint64_t size = old.rows ? (old.mask + 1) * 2 : 64;
    uint64_t *keys = malloc(size * sizeof(*keys));
    uint32_t *rows = malloc(size * sizeof(*rows));
    if (!keys || !rows) {
        free(keys);
        free(rows);
        return -1;
    }
    memset(rows, 0xff, size * sizeof(*rows));
    *map = (struct nvt_map){keys, rows, size - 1, old.used};
    for (uint64_t i = 0; old.rows && i <= old.mask; i++) {
        if (old.rows[i] == NVT_MAP_NONE)
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
    if ((!map->rows || map->used * 2 > map->mask) && grow(map))
        return NULL;
    uint64_t at = place(map, key);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made by grow() */
    if (map->rows[at] == NVT_MAP_NONE) {
        map->keys[at] = key;
        map->used++;
    }
    return &map->rows[at];
}
