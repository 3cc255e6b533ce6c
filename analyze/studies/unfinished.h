/*
 * Ranges that a process had open when it, or its recording, ended: where it was then; or where it is, if it is being recorded
 * still.
 */
#ifndef NVT_UNFINISHED_H
#define NVT_UNFINISHED_H

#include "../input/input.h"

/*
 * A note for each process with push/pop ranges that never ended: "process 123 ended within: step > backward; thread 125
 * within: load", the ranges of each thread in the order in which they were opened, whatever their domain, behind them
 * an MPI call and an OS call that never returned, with its file or lock ("read /data/a"), and how
 * long they had been open then, where that is known ("backward (5.2 s)").
 *
 * Also for one without such ranges whose main thread is in such an OS call: "process 123 ended within: pthread_join (5
 * s); thread 125: pthread_mutex_lock 0x7f12 (5 s)", with other threads that wait for locks and files.
 *
 * "is within" of a process that is being recorded still, "was within" of one whose recorder was killed, or left before it.
 *
 * Of deep stacks the ends, of many threads the first ones. 0, or -1 with err filled (out of memory).
 */
int nvt_note_unfinished(struct nvt_input *input, struct nvt_error *err);

#endif
