/*
 * Numbers for functions on stacks, as a tree: each once below each that called it. What a number stands for, and where it comes
 * from, is the caller's business: rows of call_frames, frames of a chunk.
 */
#ifndef NVT_FRAME_TREE_H
#define NVT_FRAME_TREE_H

#include "map.h"

/* Zero-initialise; release with nvt_frame_tree_free, and it is empty again. */
struct nvt_frame_tree {
    struct nvt_map pairs;   /* name << 32 | module -> pair */
    struct nvt_map numbers; /* caller << 32 | pair -> the function's number */
    uint32_t pair_count;
};

void nvt_frame_tree_free(struct nvt_frame_tree *tree);

/* Where the number is kept of a function (ids of its name and module) below a caller (0: below none, else what stands for that
 * caller alone); NVT_MAP_NONE when new. As nvt_map_at: NULL when out of memory. */
uint32_t *nvt_frame_tree_at(struct nvt_frame_tree *tree, uint32_t caller, uint32_t name,
                            uint32_t module);

#endif
