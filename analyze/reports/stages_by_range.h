/* The report `stages` of ranks whose ranges name the steps of a pipeline (studies/stage_names.h). */
#ifndef NVT_STAGES_BY_RANGE_H
#define NVT_STAGES_BY_RANGE_H

#include "../studies/rank_digest.h"

/* Whether any rank has such ranges. */
int nvt_has_stage_ranges(const struct nvt_ranks *ranks);

/*
 * A row for each stage of each rank, and into `batches` one for each stage and micro-batch, with the columns of stages.c. A rank waits before a
 * step while its device runs nothing but messages: a forward step waits for the previous stage, and a backward one for the next; the
 * first stage has no previous one, and the last no next. 0, or -1 when out of memory.
 */
int nvt_put_stage_ranges(struct nvt_table *table, struct nvt_table *batches,
                         const struct nvt_ranks *ranks);

#endif
