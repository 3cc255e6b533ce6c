/*
 * A hash map from 64-bit keys to row numbers: open addressing, at most half full.
 */
#ifndef NVT_MAP_H
#define NVT_MAP_H

#include <stddef.h>
#include <stdint.h>

#define NVT_MAP_NONE UINT32_MAX

/* Zero-initialised it is empty and owns nothing. */
struct nvt_map {
    uint64_t *keys;
    uint32_t *rows;
    uint64_t mask;
    uint64_t used; /* keys */
    uint32_t last; /* row of the greatest key there is, */
    int has_last;  /* if it was ever asked for */
};

void nvt_map_free(struct nvt_map *map);

/* The row of a key, or NVT_MAP_NONE. */
uint32_t nvt_map_get(const struct nvt_map *map, uint64_t key);

/*
 * Where the row of a key is kept, added with NVT_MAP_NONE when new; good until the next call. Who puts NVT_MAP_NONE there takes
 * the key away. NULL when out of memory.
 */
uint32_t *nvt_map_at(struct nvt_map *map, uint64_t key);

/* The row of a key becomes this one. 0, or -1 when out of memory. */
int nvt_map_set(struct nvt_map *map, uint64_t key, uint32_t row);

/* The row of a key; one that is new gets *count, which then is one more. NVT_MAP_NONE when out of memory. */
uint32_t nvt_map_number(struct nvt_map *map, uint64_t key, uint32_t *count);

/*
 * The item of a key, for a map that numbers the items of one array. `items` is the address of the array's pointer, as in grow.h;
 * it has *count items of `width` bytes, and gets one more, of zeros, for a new key. NULL when out of memory.
 */
void *nvt_map_item(struct nvt_map *map, uint64_t key, void *items, uint32_t *count, size_t width);

/* The number of that item, for who keeps numbers. NVT_MAP_NONE when out of memory. */
uint32_t nvt_map_row(struct nvt_map *map, uint64_t key, void *items, uint32_t *count, size_t width);

#endif
