/*
 * What a thread without ranges does on the critical path while another thread waits for it in one, such as PyTorch's backward
 * pass, counts for that range, as in tables and charts (device/project.h, NVT_ACROSS_WAITS). Only critical_path.c uses this.
 */
#ifndef NVT_PATH_LENT_H
#define NVT_PATH_LENT_H

#include "../../lib/error.h"
#include "critical_path.h"
#include "path_index.h"

/* Give operations the ranges that they are projected to by these flags, and the host's time without a range the one that waits for
 * it; nothing with NVT_BY_THREAD. 0, or -1 with err filled. */
int nvt_path_lend(const struct nvt_path_index *index, struct nvt_critical_paths *paths,
                  unsigned flags, struct nvt_error *err);

#endif
