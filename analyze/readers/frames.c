#include "frames.h"

uint32_t nvt_frames_below(struct nvt_frame_tree *tree, struct nvt_trace *trace, uint32_t caller,
                          uint32_t name, uint32_t module)
{
    uint32_t *row = nvt_frame_tree_at(tree, caller, name, module);
    if (!row)
        return 0;
    if (*row == NVT_MAP_NONE) {
        uint32_t added = nvt_call_frame_add(
            trace, &(struct nvt_call_frame){.parent = caller, .name = name, .module = module});
        *row = added == NVT_NONE ? NVT_MAP_NONE : added;
    }
    return *row == NVT_MAP_NONE ? 0 : *row + 1;
}
