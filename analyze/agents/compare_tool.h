/* `nvtally compare` for agents: the program itself does it, as its tables are made where they are printed. */
#ifndef NVT_COMPARE_TOOL_H
#define NVT_COMPARE_TOOL_H

#include "tools.h"

/* What it prints for people, malloc'ed. 0, or -1 with err filled. */
int nvt_compare_opened(const struct nvt_opened *before, const struct nvt_opened *after, char **text,
                       struct nvt_error *err);

#endif
