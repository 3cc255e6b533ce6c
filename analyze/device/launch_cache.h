/*
 * The launches of each trace of an input (model/launches.h), worked out once for all reports of a
 * command. Who runs several reports keeps them in input->launches; nvt_report_make does for a single one.
 */
#ifndef NVT_LAUNCH_CACHE_H
#define NVT_LAUNCH_CACHE_H

#include "../model/launches.h"
#include "../input/input.h"

/* Room for those of the traces of an input. NULL when out of memory. */
struct nvt_launch_cache *nvt_launch_cache_new(const struct nvt_input *input);
void nvt_launch_cache_free(struct nvt_launch_cache *cache);

/*
 * The launches of a trace of the input. *launches is the trace's or the cache's; values in groups may be theirs, so
 * release the cache behind those. As nvt_launches_make: 0; 1: nvt_project has to do it; -1 with err filled. Reports on
 * several threads may ask at once.
 */
int nvt_input_launches(const struct nvt_input *input, const struct nvt_input_trace *from,
                       const struct nvt_launches **launches, struct nvt_error *err);

#endif
