/*
 * Memory for yajl, which does not look whether it got any: what it asks for comes from here, and
 * when there is none, the parse is left by a jump instead of a crash. For those files alone that
 * use yajl.
 *
 *     nvt_yajl_memory_init(&memory);
 *     if (setjmp(memory.out))
 *         ... out of memory: no yajl function may be called any more ...
 *     handle = yajl_alloc(&callbacks, &memory.functions, context);
 *     ...
 *     nvt_yajl_memory_free(&memory);     (instead of yajl_free)
 *
 * The jump only leaves yajl's own code: callbacks must not call yajl.
 */
#ifndef NVT_YAJL_MEMORY_H
#define NVT_YAJL_MEMORY_H

#include <setjmp.h>
#include <yajl/yajl_parse.h>

struct nvt_yajl_block;

struct nvt_yajl_memory {
    jmp_buf out;
    struct nvt_yajl_block *blocks; /* all that are allocated, the newest first */
    yajl_alloc_funcs functions;
};

void nvt_yajl_memory_init(struct nvt_yajl_memory *memory);

/* Release whatever yajl has allocated, a handle included. */
void nvt_yajl_memory_free(struct nvt_yajl_memory *memory);

#endif
