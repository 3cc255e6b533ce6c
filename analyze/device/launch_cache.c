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

void nvt_own_launches_free(struct nvt_own_launches *own)
{
    for (size_t i = 0; i < own->count; i++)
        nvt_launches_free(&own->items[i]);
    free(own->items);
    *own = (struct nvt_own_launches){0};
}

static int make_own(const struct nvt_input *input, size_t i, struct nvt_own_launches *own,
                    const struct nvt_launches **launches, struct nvt_error *err)
{
    const struct nvt_trace *trace = input->traces[i].trace;
    if (!own->items)
        own->items = calloc(input->trace_count, sizeof(*own->items));
    if (!own->items)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    own->count = input->trace_count;
    nvt_launches_free(&own->items[i]);
    *launches = &own->items[i];
    return nvt_launches_make(&own->items[i], trace, input->project_flags, err);
}

int nvt_input_launches(const struct nvt_input *input, size_t i, struct nvt_own_launches *own,
                       const struct nvt_launches **launches, struct nvt_error *err)
{
    struct nvt_launch_cache *cache = input->launches;
    const struct nvt_trace *trace = input->traces[i].trace;
    *launches = input->traces[i].launches;
    if (*launches)
        return 0;
    if (!cache || i >= cache->count)
        return make_own(input, i, own, launches, err);
    pthread_mutex_lock(&cache->lock);
    int status = cache->items[i].status;
    if (!cache->items[i].is_done)
        status = nvt_launches_make(&cache->items[i].launches, trace, input->project_flags, err);
    cache->items[i].status = status;
    /* Who has no memory now may have some later; and every report wants to say why. */
    cache->items[i].is_done = status >= 0;
    pthread_mutex_unlock(&cache->lock);
    *launches = &cache->items[i].launches;
    return status;
}
