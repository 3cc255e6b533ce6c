#include "allocator.h"

#include <stdlib.h>

#include "../backend.h"

#define GRAIN         ((size_t)512)
#define SMALL_REQUEST ((size_t)1 << 20)
#define SMALL_SEGMENT ((size_t)2 << 20)
#define LARGE_REQUEST ((size_t)10 << 20)
#define LARGE_SEGMENT ((size_t)20 << 20)
#define ROUND         ((size_t)2 << 20)

/* A part of a segment; the parts of a segment are a list in the order of their addresses. */
struct block {
    struct block *before, *after; /* in the segment */
    struct block *next;           /* among all blocks */
    char *address;
    size_t size;
    int used;
    int small; /* of a segment for small requests */
};

struct nvt_allocator {
    struct block *blocks;
    uint64_t limit;
    struct nvt_memory_use use;
};

struct nvt_allocator *nvt_allocator_new(uint64_t limit)
{
    struct nvt_allocator *allocator = (struct nvt_allocator *)calloc(1, sizeof(*allocator));
    if (allocator)
        allocator->limit = limit;
    return allocator;
}

static void unlink_block(struct nvt_allocator *allocator, struct block *block)
{
    struct block **at = &allocator->blocks;
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    free(block);
}

/* Segments that are one free block go back to the backend. Returns whether there were any. */
static int release_unused(struct nvt_allocator *allocator)
{
    int released = 0;
    for (struct block *block = allocator->blocks, *next; block; block = next) {
        next = block->next;
        if (block->used || block->before || block->after)
            continue;
        nvt_backend_free(block->address);
        allocator->use.reserved -= block->size;
        unlink_block(allocator, block);
        released = 1;
    }
    return released;
}

void nvt_allocator_free(struct nvt_allocator *allocator)
{
    if (!allocator)
        return;
    for (struct block *block = allocator->blocks, *next; block; block = next) {
        next = block->next;
        if (!block->before)
            nvt_backend_free(block->address);
        free(block);
    }
    free(allocator);
}

/* The smallest free block that is large enough, of the pool for this size. */
static struct block *best_fit(struct nvt_allocator *allocator, size_t size, int small)
{
    struct block *best = NULL;
    for (struct block *block = allocator->blocks; block; block = block->next)
        if (!block->used && block->small == small && block->size >= size &&
            (!best || block->size < best->size))
            best = block;
    return best;
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
    if (allocator->limit && (bytes > allocator->limit ||
                             allocator->use.reserved > allocator->limit - bytes))
        return NULL;
    struct block *block = (struct block *)calloc(1, sizeof(*block));
    char *address = block ? (char *)nvt_backend_alloc(bytes) : NULL;
    if (!address) {
        free(block);
        return NULL;
    }
    block->address = address;
    block->size = bytes;
    block->small = small;
    block->next = allocator->blocks;
    allocator->blocks = block;
    allocator->use.reserved += bytes;
    if (allocator->use.reserved > allocator->use.peak_reserved)
        allocator->use.peak_reserved = allocator->use.reserved;
    return block;
}

/* Cut the block to size when what is left is worth keeping apart. */
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
    after->next = allocator->blocks;
    allocator->blocks = after;
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
    split(allocator, block, size);
    block->used = 1;
    allocator->use.allocated += block->size;
    if (allocator->use.allocated > allocator->use.peak_allocated)
        allocator->use.peak_allocated = allocator->use.allocated;
    return block->address;
}

/* Join the block with the one behind it. */
static void absorb_after(struct nvt_allocator *allocator, struct block *block)
{
    struct block *after = block->after;
    block->size += after->size;
    block->after = after->after;
    if (block->after)
        block->after->before = block;
    unlink_block(allocator, after);
}

void nvt_allocator_give(struct nvt_allocator *allocator, void *memory)
{
    struct block *block = allocator->blocks;
    while (block && (block->address != memory || !block->used))
        block = block->next;
    if (!block)
        return;
    block->used = 0;
    allocator->use.allocated -= block->size;
    if (block->after && !block->after->used)
        absorb_after(allocator, block);
    if (block->before && !block->before->used)
        absorb_after(allocator, block->before);
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
