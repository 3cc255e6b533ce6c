#include "places.h"

#include <stdlib.h>

/* NULL when out of memory. */
static struct nvt_place *place_of(struct nvt_places *places, uint64_t key)
{
    struct nvt_place *place =
        nvt_map_item(&places->keys, key, &places->items, &places->count, sizeof(*place));
    if (place)
        place->key = key;
    return place;
}

int nvt_places_add(struct nvt_places *places, uint64_t key, uint64_t number,
                   const struct nvt_span *span, const struct nvt_span *instance)
{
    struct nvt_place *place = place_of(places, key);
    if (!place)
        return -1;
    if (place->number != number)
        place->until = span->start;
    place->number = number;
    int64_t start = instance->start > place->until ? instance->start : place->until;
    int64_t end = instance->end < span->end ? instance->end : span->end;
    if (end <= start)
        return 0;
    place->ns += end - start;
    place->until = end;
    place->instances++;
    place->instances_ns += (double)instance->end - (double)instance->start;
    return 0;
}

int nvt_places_add_sample(struct nvt_places *places, uint64_t key, uint64_t number, int64_t ns,
                          int64_t instance_ns)
{
    struct nvt_place *place = place_of(places, key);
    if (!place)
        return -1;
    if (place->number == number)
        return 0;
    place->number = number;
    place->ns += ns;
    place->instances++;
    place->instances_ns += (double)instance_ns;
    return 0;
}

int64_t nvt_span_within(const struct nvt_span *span, const struct nvt_span *others, size_t count,
                        size_t *first)
{
    int64_t ns = 0;
    while (*first < count && others[*first].end <= span->start)
        ++*first;
    for (size_t i = *first; i < count && others[i].start < span->end; i++) {
        int64_t start = others[i].start > span->start ? others[i].start : span->start;
        int64_t end = others[i].end < span->end ? others[i].end : span->end;
        ns += end - start;
    }
    return ns;
}

void nvt_places_free(struct nvt_places *places)
{
    nvt_map_free(&places->keys);
    free(places->items);
    *places = (struct nvt_places){0};
}

const struct nvt_place *nvt_places_best(const struct nvt_places *places, int64_t ns)
{
    const struct nvt_place *best = NULL;
    for (uint32_t i = 0; i < places->count; i++) {
        const struct nvt_place *place = &places->items[i];
        if (place->ns >= ns - place->ns && (!best || place->instances_ns / place->instances <
                                                         best->instances_ns / best->instances))
            best = place;
    }
    return best;
}

const struct nvt_place *nvt_places_most(const struct nvt_places *places)
{
    const struct nvt_place *most = NULL;
    for (uint32_t i = 0; i < places->count; i++)
        if (!most || places->items[i].ns > most->ns)
            most = &places->items[i];
    return most;
}
