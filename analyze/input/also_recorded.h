/* Notes of what an input has that other reports show than those that were asked for. */
#ifndef NVT_ALSO_RECORDED_H
#define NVT_ALSO_RECORDED_H

#include "input.h"

/* That there are counters, and which reports have them; none where there is none. */
void nvt_note_counters(struct nvt_input *input);

/* One note of all kinds: "note: also recorded: OS calls, CPU samples". */
void nvt_note_kinds(struct nvt_input *input);

/* That there are MPI calls, OS calls or CPU samples, with the reports that show them. */
void nvt_note_calls(struct nvt_input *input);

#endif
