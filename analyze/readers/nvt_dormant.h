/*
 * record --dormant: a recording in parts. The facts `part 1`, `part 2`, … say from when to when each is, in ticks (the end 0: as far as
 * the trace goes), the fact `recorded` how many there are and how long they are together. record --capture: its edges are those.
 */
#ifndef NVT_DORMANT_H
#define NVT_DORMANT_H

#include "nvt.h"

/* Rows of the model's `parts`, on the trace's axis, settled. 0, or -1: out of memory. */
int nvt_file_add_parts(struct nvt_file_reader *reader);

/*
 * A push/pop range whose end was not recorded ends with the part that it began in: its thread forgot it then. Says in a note what lies
 * between parts, and has parts last from their first to their last row. Times of ranges are nanoseconds by now, and ends are there. 0,
 * or -1: out of memory.
 */
int nvt_file_end_parts(struct nvt_file_reader *reader);

#endif
