/* `nvtally compare` for agents. */
#ifndef NVT_COMPARE_TOOL_H
#define NVT_COMPARE_TOOL_H

#include "tools.h"

/* What it says of two whole files: a line, the changes, the largest first, and peaks of memory that differ. 0, or -1 with err filled. */
int nvt_compare_opened(const struct nvt_opened *before, const struct nvt_opened *after,
                       struct nvt_answer *answer, struct nvt_error *err);

#endif
