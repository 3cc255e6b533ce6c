/* Traces that stay open for an agent. */
#ifndef NVT_SESSION_H
#define NVT_SESSION_H

#include "tools.h"

/* Open one, or a window of one. NULL with err filled. */
struct nvt_opened *nvt_agent_open(struct nvt_agent *agent, const char *path, const char *range,
                                  const char *time, const char *iteration, struct nvt_error *err);

/* The one of that name, or (NULL) that was opened last. NULL with err filled. */
struct nvt_opened *nvt_agent_find(const struct nvt_agent *agent, const char *name,
                                  struct nvt_error *err);

/* SQL over it. NULL with err filled. */
struct nvt_sql *nvt_opened_sql(struct nvt_opened *opened, struct nvt_error *err);

#endif
