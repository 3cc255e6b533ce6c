/*
 * Traces being read for an input (input.h), several at a time. Each has its notes apart until it is added, so that it makes no
 * difference which of them is done first.
 */
#ifndef NVT_INPUT_READ_H
#define NVT_INPUT_READ_H

#include "input.h"

/* Zero-initialise but for the path, and for runs and record of the item. */
struct nvt_reading {
    const char *path;
    struct nvt_input_trace item; /* its trace NULL: it failed, or was given before */
    int was_given;               /* the input, or one before it, has the same file */
    struct nvt_buffer notes;     /* lines about it */
    struct nvt_error err;
    int status; /* 0, or -1 with err */
};

/*
 * Read traces as the input says (input.h, "How traces are read"). A file that was given before is not read again (`again`: it is).
 * Without input->leaves_out those behind one that fails may be left unread, with a status of -1 and no message.
 */
void nvt_readings_make(const struct nvt_input *input, struct nvt_reading *items, size_t count,
                       int again);

/* Release what was not taken out of it. */
void nvt_reading_free(const struct nvt_input *input, struct nvt_reading *reading);

/* Release a trace of an input. */
void nvt_input_trace_free(const struct nvt_input *input, struct nvt_input_trace *item);

#endif
