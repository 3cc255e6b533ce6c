#include "heap_table.h"

#include <errno.h>
#include <sys/mman.h>

#include "../../lib/pages.h"

#define FIRST_PLACES 4096u
#define GROUP        8u
#define WAYS         2u
#define TAKEN        UINT64_MAX /* the number of a place that is being filled */

void *nvt_heap_pages(size_t bytes)
{
    const int saved = errno;
    void *pages = nvt_pages_new(bytes);
    if (pages && madvise(pages, bytes, MADV_WIPEONFORK)) {
        munmap(pages, bytes);
        pages = NULL;
    }
    errno = saved;
    return pages;
}

static size_t places_of(unsigned level)
{
    return (size_t)FIRST_PLACES << 2 * level;
}

/* A group of places in a level: the first or the second of a number. */
static struct nvt_heap_place *group_of(struct nvt_heap_place *places, unsigned level,
                                       uint64_t number, unsigned way)
{
    const uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t hash = way ? mixed >> 16 : mixed >> 40;
    return places + hash % (places_of(level) / GROUP) * GROUP;
}

/* The place in a level that has `number` and becomes `to`, if that is another one. NULL: none has. */
static struct nvt_heap_place *look(struct nvt_heap_place *places, unsigned level, uint64_t key,
                                   uint64_t number, uint64_t to)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct nvt_heap_place *group = group_of(places, level, key, way);
        for (unsigned i = 0; i < GROUP; i++) {
            uint64_t there = atomic_load_explicit(&group[i].number, memory_order_acquire);
            if (there == number &&
                (number == to || atomic_compare_exchange_strong(&group[i].number, &there, to)))
                return &group[i];
        }
    }
    return NULL;
}

struct nvt_heap_place *nvt_heap_find(struct nvt_heap_table *table, uint64_t number)
{
    for (unsigned level = 0; number && number != TAKEN && level < NVT_HEAP_LEVELS; level++) {
        struct nvt_heap_place *places = atomic_load(&table->levels[level]);
        struct nvt_heap_place *place = places ? look(places, level, number, number, number) : NULL;
        if (place || !places)
            return place;
    }
    return NULL;
}

static struct nvt_heap_place *places_at(struct nvt_heap_table *table, unsigned level)
{
    struct nvt_heap_place *none = NULL, *places = atomic_load(&table->levels[level]);
    const size_t bytes = places_of(level) * sizeof(*places);
    if (places)
        return places;
    places = nvt_heap_pages(bytes);
    if (!places || atomic_compare_exchange_strong(&table->levels[level], &none, places))
        return places;
    munmap(places, bytes);
    return none;
}

static struct nvt_heap_place *take_free(struct nvt_heap_table *table, uint64_t number)
{
    for (unsigned level = 0; level < NVT_HEAP_LEVELS; level++) {
        struct nvt_heap_place *places = places_at(table, level);
        struct nvt_heap_place *place = places ? look(places, level, number, 0, TAKEN) : NULL;
        if (place || !places)
            return place;
    }
    return NULL;
}

struct nvt_heap_place *nvt_heap_put(struct nvt_heap_table *table, uint64_t number,
                                    const struct nvt_heap_place *values)
{
    struct nvt_heap_place *place = nvt_heap_find(table, number);
    if (!place && number && number != TAKEN)
        place = take_free(table, number);
    if (!place) {
        atomic_fetch_add(&table->lost, 1);
        return NULL;
    }
    atomic_store(&place->heap, values->heap);
    atomic_store(&place->bytes, values->bytes);
    atomic_store(&place->address, values->address);
    atomic_store(&place->domain, values->domain);
    atomic_store(&place->name, values->name);
    atomic_store(&place->is_gone, 0);
    atomic_store(&place->told, values->told);
    atomic_store(&place->number, number);
    return place;
}

void nvt_heap_clear(struct nvt_heap_place *place)
{
    atomic_store(&place->number, 0);
}

void nvt_heap_each(struct nvt_heap_table *table,
                   void (*visit)(struct nvt_heap_place *place, uint64_t number, void *context),
                   void *context)
{
    for (unsigned level = 0; level < NVT_HEAP_LEVELS; level++) {
        struct nvt_heap_place *places = atomic_load(&table->levels[level]);
        for (size_t i = 0; places && i < places_of(level); i++) {
            const uint64_t number = atomic_load_explicit(&places[i].number, memory_order_acquire);
            if (number && number != TAKEN)
                visit(&places[i], number, context);
        }
    }
}
