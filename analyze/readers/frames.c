#include "frames.h"

void nvt_frames_free(struct nvt_frames *frames)
{
    nvt_map_free(&frames->pairs);
    nvt_map_free(&frames->rows);
    *frames = (struct nvt_frames){0};
}

uint32_t nvt_frames_below(struct nvt_frames *frames, struct nvt_trace *trace, uint32_t caller,
                          uint32_t name, uint32_t module)
{
    uint32_t *pair = nvt_map_at(&frames->pairs, (uint64_t)name << 32 | module);
    if (!pair)
        return 0;
    if (*pair == NVT_MAP_NONE)
        *pair = frames->pair_count++;
    uint32_t *row = nvt_map_at(&frames->rows, (uint64_t)caller << 32 | *pair);
    if (!row)
        return 0;
    if (*row == NVT_MAP_NONE) {
        uint32_t added = nvt_call_frame_add(
            trace, &(struct nvt_call_frame){.parent = caller, .name = name, .module = module});
        *row = added == NVT_NONE ? NVT_MAP_NONE : added;
    }
    return *row == NVT_MAP_NONE ? 0 : *row + 1;
}
