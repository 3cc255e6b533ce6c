#include "frame_tree.h"

void nvt_frame_tree_free(struct nvt_frame_tree *tree)
{
    nvt_map_free(&tree->pairs);
    nvt_map_free(&tree->numbers);
    *tree = (struct nvt_frame_tree){0};
}

uint32_t *nvt_frame_tree_at(struct nvt_frame_tree *tree, uint32_t caller, uint32_t name,
                            uint32_t module)
{
    uint32_t *pair = nvt_map_at(&tree->pairs, (uint64_t)name << 32 | module);
    if (!pair)
        return NULL;
    if (*pair == NVT_MAP_NONE)
        *pair = tree->pair_count++;
    return nvt_map_at(&tree->numbers, (uint64_t)caller << 32 | *pair);
}
