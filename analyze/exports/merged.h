/* The traces of a job as one, to be exported: on one axis (one_axis.h), processes kept apart (merge.h). */
#ifndef NVT_EXPORT_MERGED_H
#define NVT_EXPORT_MERGED_H

#include "../input/input.h"

/*
 * Make it of the traces of an input, whose processes get the ranks that their files say; traces of another job are left out
 * (nvt_input_keep_job). Notes say how clocks were set, and which are not known. The caller's. NULL with err: traces of several
 * formats, dumps of flight recorders, which have no timeline, or what nvt_merge refuses.
 */
struct nvt_trace *nvt_merged(struct nvt_input *input, struct nvt_error *err);

#endif
