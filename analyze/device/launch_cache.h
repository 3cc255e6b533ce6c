/*
 * The launches of each trace of an input (model/launches.h), worked out once for all reports of a
 * command, where its owner keeps them.
 */
#ifndef NVT_LAUNCH_CACHE_H
#define NVT_LAUNCH_CACHE_H

#include "../model/launches.h"
#include "../input/input.h"

/* What is kept for the traces of an input: input->launches, by whoever runs several reports. NULL
 * when out of memory. */
struct nvt_launch_cache *nvt_launch_cache_new(const struct nvt_input *input);
void nvt_launch_cache_free(struct nvt_launch_cache *cache);

/* Those that a report worked out for itself. Zero-initialise. */
struct nvt_own_launches {
    struct nvt_launches *items;
    size_t count;
};

void nvt_own_launches_free(struct nvt_own_launches *own);

/*
 * The launches of trace i. *launches is the input's, the cache's, or else among *own; values in
 * groups may be theirs, so release *own behind those. As nvt_launches_make: 0; 1: nvt_project has
 * to do it; -1 with err filled. Reports on several threads may ask at once.
 */
int nvt_input_launches(const struct nvt_input *input, size_t i, struct nvt_own_launches *own,
                       const struct nvt_launches **launches, struct nvt_error *err);

#endif
