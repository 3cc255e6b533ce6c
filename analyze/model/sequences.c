#include "sequences.h"

/* Ids count from 1 in each process: few of two meet, and those that do are told apart by their rows. */
static uint64_t key_of(uint32_t process, uint64_t correlation)
{
    return correlation ^ (uint64_t)(process + 1) << 40;
}

int nvt_sequences_map(struct nvt_map *map, const struct nvt_trace *trace)
{
    const struct nvt_sequences *rows = &trace->sequences;
    for (uint32_t i = 0; i < rows->count; i++)
        if (nvt_map_set(map, key_of(rows->process[i], rows->correlation[i]), i))
            return -1;
    return 0;
}

uint64_t nvt_sequence_of(const struct nvt_map *map, const struct nvt_trace *trace, uint32_t op)
{
    const struct nvt_sequences *rows = &trace->sequences;
    const uint32_t owners[] = {trace->ops.process[op], NVT_NONE};
    for (int i = 0; i < 2 && rows->count; i++) {
        const uint32_t row = nvt_map_get(map, key_of(owners[i], trace->ops.correlation[op]));
        if (row != NVT_MAP_NONE && rows->process[row] == owners[i] &&
            rows->correlation[row] == trace->ops.correlation[op])
            return rows->number[row];
    }
    return UINT64_MAX;
}
