#ifdef HAVE_YAJL

#include "yajl_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct nvt_yajl_block {
    struct nvt_yajl_block *next, *previous;
    max_align_t data[];
};

static void link_in(struct nvt_yajl_memory *memory, struct nvt_yajl_block *block)
{
    block->previous = NULL;
    block->next = memory->blocks;
    if (block->next)
        block->next->previous = block;
    memory->blocks = block;
}

static void unlink_from(struct nvt_yajl_memory *memory, struct nvt_yajl_block *block)
{
    if (block->next)
        block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else
        memory->blocks = block->next;
}

static struct nvt_yajl_block *block_of(void *data)
{
    return (struct nvt_yajl_block *)(void *)((char *)data - offsetof(struct nvt_yajl_block, data));
}

static void *take(void *context, size_t size)
{
    struct nvt_yajl_memory *memory = context;
    struct nvt_yajl_block *block =
        size > SIZE_MAX / 2 ? NULL : malloc(sizeof(struct nvt_yajl_block) + size);
    if (!block)
        longjmp(memory->out, 1);
    link_in(memory, block);
    return block->data;
}

static void give_back(void *context, void *data)
{
    if (!data)
        return;
    unlink_from(context, block_of(data));
    free(block_of(data));
}

static void *take_again(void *context, void *data, size_t size)
{
    struct nvt_yajl_memory *memory = context;
    if (!data)
        return take(context, size);
    /* While the block moves, nobody else looks at its neighbours; when it cannot, it stays listed.
     */
    struct nvt_yajl_block *block =
        size > SIZE_MAX / 2 ? NULL : realloc(block_of(data), sizeof(struct nvt_yajl_block) + size);
    if (!block)
        longjmp(memory->out, 1);
    if (block->next)
        block->next->previous = block;
    if (block->previous)
        block->previous->next = block;
    else
        memory->blocks = block;
    return block->data;
}

void nvt_yajl_memory_init(struct nvt_yajl_memory *memory)
{
    memory->blocks = NULL;
    memory->functions = (yajl_alloc_funcs){take, take_again, give_back, memory};
}

void nvt_yajl_memory_free(struct nvt_yajl_memory *memory)
{
    struct nvt_yajl_block *next;
    for (struct nvt_yajl_block *block = memory->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    memory->blocks = NULL;
}

#else

typedef int nvt_yajl_memory_is_left_out; /* ISO C wants something in a file */

#endif
