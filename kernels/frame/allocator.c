#include "allocator.h"

#include <stdlib.h>

#include "../backend.h"

#define GRAIN         ((size_t)512)
#define SMALL_REQUEST ((size_t)1 << 20)
#define SMALL_SEGMENT ((size_t)2 << 20)
#define LARGE_REQUEST ((size_t)10 << 20)
#define LARGE_SEGMENT ((size_t)20 << 20)
#define ROUND         ((size_t)2 << 20)

/* A part of a segment. Free parts are in the list of their pool, used ones in the table of addresses. */
struct block {
    struct block *before, *after;  /* neighbours in the segment, by address */
    struct block *previous, *next; /* in the list of the pool, or of the bucket */
    char *address;
    size_t size;
    int used;
    int small; /* of a segment for small requests: its pool */
};

#define BUCKETS_LEAST 256

struct nvt_allocator {
    struct block *pools[2]; /* free blocks: of large segments, of small ones */
    struct block **buckets; /* used blocks, by address */
    size_t bucket_count;    /* a power of two */
    size_t used_count;
    uint64_t limit;
    int device; /* whose memory it is */
    struct nvt_memory_use use;
    struct nvt_memory_scope *scope; /* the innermost open one */
};

/* --- lists ------------------------------------------------------------------------------------------- */

static struct block **bucket_of(struct nvt_allocator *allocator, const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address / GRAIN * UINT64_C(0x9E3779B97F4A7C15);
    return &allocator->buckets[(hash >> 32) & (allocator->bucket_count - 1)];
}

static struct block **list_of(struct nvt_allocator *allocator, const struct block *block)
{
    return block->used ? bucket_of(allocator, block->address) : &allocator->pools[block->small];
}

static void enlist(struct nvt_allocator *allocator, struct block *block)
{
    struct block **list = list_of(allocator, block);
    block->previous = NULL;
    block->next = *list;
    if (block->next)
        block->next->previous = block;
    *list = block;
}

static void delist(struct nvt_allocator *allocator, struct block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        *list_of(allocator, block) = block->next;
    if (block->next)
        block->next->previous = block->previous;
}

/* Keep the chains of the table short. Without memory for a larger one they grow, and all still works. */
static void grow_table(struct nvt_allocator *allocator)
{
    size_t old_count = allocator->bucket_count;
    struct block **old = allocator->buckets, **grown;
    if (allocator->used_count < 2 * old_count)
        return;
    grown = (struct block **)calloc(4 * old_count, sizeof(*grown));
    if (!grown)
        return;
    allocator->buckets = grown;
    allocator->bucket_count = 4 * old_count;
    for (size_t i = 0; i < old_count; i++)
        for (struct block *block = old[i], *next; block; block = next) {
            next = block->next;
            enlist(allocator, block);
        }
    free(old);
}

/* --- counting ---------------------------------------------------------------------------------------- */

static void raise_to(uint64_t *peak, uint64_t value)
{
    if (value > *peak)
        *peak = value;
}

/* An outer scope takes over the peaks of an inner one when that ends. */
static void note_peaks(struct nvt_allocator *allocator)
{
    struct nvt_memory_use *use = &allocator->use;
    raise_to(&use->peak_allocated, use->allocated);
    raise_to(&use->peak_reserved, use->reserved);
    if (allocator->scope) {
        raise_to(&allocator->scope->peak_allocated, use->allocated);
        raise_to(&allocator->scope->peak_reserved, use->reserved);
    }
}

void nvt_allocator_scope_begin(struct nvt_allocator *allocator, struct nvt_memory_scope *scope)
{
    scope->outer = allocator->scope;
    scope->peak_allocated = allocator->use.allocated;
    scope->peak_reserved = allocator->use.reserved;
    allocator->scope = scope;
}

void nvt_allocator_scope_end(struct nvt_allocator *allocator, struct nvt_memory_scope *scope)
{
    struct nvt_memory_scope *outer;
    for (struct nvt_memory_scope *at = allocator->scope; at; at = outer) {
        outer = at->outer;
        if (outer) {
            raise_to(&outer->peak_allocated, at->peak_allocated);
            raise_to(&outer->peak_reserved, at->peak_reserved);
        }
        allocator->scope = outer;
        if (at == scope)
            return;
    }
}

void nvt_allocator_reset_peak(struct nvt_allocator *allocator)
{
    allocator->use.peak_allocated = allocator->use.allocated;
    allocator->use.peak_reserved = allocator->use.reserved;
}

struct nvt_memory_use nvt_allocator_use(const struct nvt_allocator *allocator)
{
    return allocator->use;
}

/* --- life -------------------------------------------------------------------------------------------- */

struct nvt_allocator *nvt_allocator_new(uint64_t limit)
{
    struct nvt_allocator *allocator = (struct nvt_allocator *)calloc(1, sizeof(*allocator));
    if (!allocator)
        return NULL;
    allocator->limit = limit;
    allocator->device = nvt_backend_device();
    allocator->bucket_count = BUCKETS_LEAST;
    allocator->buckets = (struct block **)calloc(BUCKETS_LEAST, sizeof(*allocator->buckets));
    if (!allocator->buckets) {
        free(allocator);
        return NULL;
    }
    return allocator;
}

static void free_list(const struct nvt_allocator *allocator, struct block *list)
{
    for (struct block *block = list, *next; block; block = next) {
        next = block->next;
        if (!block->before)
            nvt_backend_free(allocator->device, block->address);
        free(block);
    }
}

void nvt_allocator_free(struct nvt_allocator *allocator)
{
    if (!allocator)
        return;
    free_list(allocator, allocator->pools[0]);
    free_list(allocator, allocator->pools[1]);
    for (size_t i = 0; i < allocator->bucket_count; i++)
        free_list(allocator, allocator->buckets[i]);
    free(allocator->buckets);
    free(allocator);
}

/* --- segments ---------------------------------------------------------------------------------------- */

/* Segments that are one free block go back to the backend. Returns whether there were any. */
static int release_unused(struct nvt_allocator *allocator)
{
    int released = 0;
    for (int pool = 0; pool < 2; pool++)
        for (struct block *block = allocator->pools[pool], *next; block; block = next) {
            next = block->next;
            if (block->before || block->after)
                continue;
            delist(allocator, block);
            allocator->use.reserved -= block->size;
            nvt_backend_free(allocator->device, block->address);
            free(block);
            released = 1;
        }
    return released;
}

static size_t segment_size(size_t size)
{
    if (size <= SMALL_REQUEST)
        return SMALL_SEGMENT;
    if (size < LARGE_REQUEST)
        return LARGE_SEGMENT;
    return (size + ROUND - 1) / ROUND * ROUND;
}

static struct block *new_segment(struct nvt_allocator *allocator, size_t size, int small)
{
    size_t bytes = segment_size(size);
    if (allocator->limit &&
        (bytes > allocator->limit || allocator->use.reserved > allocator->limit - bytes))
        return NULL;
    struct block *block = (struct block *)calloc(1, sizeof(*block));
    char *address = block ? (char *)nvt_backend_alloc(allocator->device, bytes) : NULL;
    if (!address) {
        free(block);
        return NULL;
    }
    block->address = address;
    block->size = bytes;
    block->small = small;
    allocator->use.reserved += bytes;
    enlist(allocator, block);
    return block;
}

/* --- blocks ------------------------------------------------------------------------------------------ */

/* The smallest free block of the pool that is large enough; the lowest of equals, against fragmentation. */
static struct block *best_fit(struct nvt_allocator *allocator, size_t size, int small)
{
    struct block *best = NULL;
    for (struct block *block = allocator->pools[small]; block; block = block->next)
        if (block->size >= size && (!best || block->size < best->size ||
                                    (block->size == best->size && block->address < best->address)))
            best = block;
    return best;
}

/* Cut a block that is in no list to size, when what is left is worth keeping apart. */
static void split(struct nvt_allocator *allocator, struct block *block, size_t size)
{
    size_t rest = block->size - size;
    if (block->small ? rest < GRAIN : rest <= SMALL_REQUEST)
        return;
    struct block *after = (struct block *)calloc(1, sizeof(*after));
    if (!after)
        return;
    after->address = block->address + size;
    after->size = rest;
    after->small = block->small;
    after->before = block;
    after->after = block->after;
    if (after->after)
        after->after->before = after;
    block->after = after;
    block->size = size;
    enlist(allocator, after);
}

void *nvt_allocator_take(struct nvt_allocator *allocator, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        allocator->use.refused = bytes;
        return NULL;
    }
    size_t size = bytes ? (bytes + GRAIN - 1) / GRAIN * GRAIN : GRAIN;
    int small = size <= SMALL_REQUEST;
    struct block *block = best_fit(allocator, size, small);
    if (!block)
        block = new_segment(allocator, size, small);
    if (!block && release_unused(allocator))
        block = new_segment(allocator, size, small);
    if (!block) {
        allocator->use.refused = bytes;
        return NULL;
    }
    delist(allocator, block);
    split(allocator, block, size);
    block->used = 1;
    enlist(allocator, block);
    allocator->used_count++;
    grow_table(allocator);
    allocator->use.allocated += block->size;
    note_peaks(allocator);
    return block->address;
}

/* Join two free neighbours, neither of which is in a list. */
static struct block *join(struct block *block, struct block *after)
{
    block->size += after->size;
    block->after = after->after;
    if (block->after)
        block->after->before = block;
    free(after);
    return block;
}

void nvt_allocator_give(struct nvt_allocator *allocator, void *memory)
{
    struct block *block = memory ? *bucket_of(allocator, memory) : NULL;
    while (block && block->address != memory)
        block = block->next;
    if (!block)
        return;
    delist(allocator, block);
    block->used = 0;
    allocator->used_count--;
    allocator->use.allocated -= block->size;
    if (block->after && !block->after->used) {
        delist(allocator, block->after);
        block = join(block, block->after);
    }
    if (block->before && !block->before->used) {
        delist(allocator, block->before);
        block = join(block->before, block);
    }
    enlist(allocator, block);
}
