#include "kineto.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

void nvt_kineto_host_free(struct nvt_kineto_host *host)
{
    nvt_map_free(&host->shared);
    free(host->levels);
}

static struct nvt_kineto_level *level_of(struct nvt_kineto_host *host, uint32_t process)
{
    if (nvt_reserve_zeroed(&host->levels, &host->capacity, process + (size_t)1,
                           sizeof(*host->levels)))
        return NULL;
    return &host->levels[process];
}

int nvt_kineto_host_follow(struct nvt_kineto_host *host, struct nvt_memory_event *memory)
{
    struct nvt_kineto_level *level = level_of(host, memory->process);
    uint64_t key = memory->address ^ (uint64_t)memory->process << 48;
    int takes = memory->kind == NVT_MEMORY_ALLOC;
    int is_shared = takes ? memory->allocated < memory->bytes
                          : !memory->allocated && nvt_map_get(&host->shared, key) != NVT_MAP_NONE;
    if (!level)
        return -1;
    if (is_shared) {
        uint32_t *at = nvt_map_at(&host->shared, key);
        if (!at)
            return -1;
        *at = takes ? 0 : NVT_MAP_NONE;
        level->shared += takes ? memory->bytes : 0 - memory->bytes;
        memory->reserved = UINT64_MAX;
    } else {
        level->said = memory->allocated;
    }
    memory->allocated = level->said + level->shared;
    return 0;
}
