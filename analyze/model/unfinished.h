/*
 * Ranges that a process had open when it, or its recording, ended: where it was then.
 */
#ifndef NVT_UNFINISHED_H
#define NVT_UNFINISHED_H

#include "../reports/report.h"

/*
 * A note for each process with push/pop ranges that never ended: "process 123 ended within: step >
 * backward; thread 125 within: load", the ranges of each thread in the order in which they were
 * opened, whatever their domain, and behind them a call of MPI that never returned, and how long they had been open then, where that is known ("backward (5.2 s)"). Of deep stacks the ends, of many threads the first ones. 0, or -1
 * with err filled (out of memory).
 */
int nvt_note_unfinished(struct nvt_report_input *input, struct nvt_error *err);

#endif
