/*
 * Traces of an input read by several processes (lib/job.h): the first one has each of the others read a part of them and gets what
 * their digesters keep, and whole traces where their events are kept, in the order of the files. So it prints what it would by itself.
 */
#ifndef NVT_SHARED_READING_H
#define NVT_SHARED_READING_H

#include "input_read.h"

/* For who needs all of each trace: struct nvt_input.digester. */
extern const struct nvt_input_digester nvt_whole_traces;

/* Whether readings are shared: there are several processes, and digests are all that is kept of a trace, or all is. */
int nvt_readings_are_shared(const struct nvt_input *input, size_t count);

/* As nvt_readings_make, for readings whose files are known: those of regular files that were not given before are shared, `mine` reads
 * the others. */
void nvt_readings_share(const struct nvt_input *input, struct nvt_reading *items, size_t count,
                        void (*mine)(void *context, const size_t *numbers, size_t count),
                        void *context);

/* Of the other processes, with an input as the first one has it: read what that asks for, until it needs no more. Then MPI is
 * ended. Whether this is one of them: it has nothing left to do. */
int nvt_readings_serve(const struct nvt_input *input);

/* Once everything is read, and before the process ends: the first one lets the others go, any other waits for that. */
void nvt_readings_leave(void);

#endif
