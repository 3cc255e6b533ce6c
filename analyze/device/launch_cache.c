#include "launch_cache.h"

#include <pthread.h>
#include <stdlib.h>

struct nvt_launch_cache {
    pthread_mutex_t lock; /* of all: whoever comes while it is worked out waits */
    size_t count;
    struct {
        struct nvt_launches launches;
        int is_done, status;
    } items[];
};

struct nvt_launch_cache *nvt_launch_cache_new(const struct nvt_input *input)
{
    struct nvt_launch_cache *cache =
        calloc(1, sizeof(*cache) + input->trace_count * sizeof(cache->items[0]));
    if (!cache)
        return NULL;
    cache->count = input->trace_count;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void nvt_launch_cache_free(struct nvt_launch_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        nvt_launches_free(&cache->items[i].launches);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

int nvt_input_launches(const struct nvt_input *input, const struct nvt_input_trace *from,
                       const struct nvt_launches **launches, struct nvt_error *err)
{
    struct nvt_launch_cache *cache = input->launches;
    const size_t i = (size_t)(from - input->traces);
    *launches = from->launches;
    if (*launches)
        return 0;
    pthread_mutex_lock(&cache->lock);
    int status = cache->items[i].status;
    if (!cache->items[i].is_done)
        status =
            nvt_launches_make(&cache->items[i].launches, from->trace, input->project_flags, err);
    cache->items[i].status = status;
    /* Who has no memory now may have some later; and every report wants to say why. */
    cache->items[i].is_done = status >= 0;
    pthread_mutex_unlock(&cache->lock);
    *launches = &cache->items[i].launches;
    return status;
}
