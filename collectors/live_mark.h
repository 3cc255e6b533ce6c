/*
 * `nvtally ctl mark`: a mark in the trace of each process that is being recorded. It is an event of a thread of its own and of a domain of its own
 * (lib/ctl_mark.h), so that nobody takes it for something that the program did. The thread's number is that of the recorder.
 */
#ifndef NVT_LIVE_MARK_H
#define NVT_LIVE_MARK_H

#include "recorder.h"

/* Zero-initialise; release with nvt_live_marks_free. */
struct nvt_live_marks {
    struct nvt_live_marked {
        uint32_t thread; /* its index in the file, and 1; 0: it has none */
        uint64_t count;  /* of its marks */
    } * items;           /* by the processes' indices */
    uint32_t count;
};

/*
 * Put a mark with that text, now, into each process of the trace that lives, and have it in the file. 0 with the number of processes,
 * which may be 0; or -1 with err: some may have got it.
 */
int nvt_live_mark(struct nvt_live_marks *marks, struct nvt_recorder *recorder, const char *text,
                  uint32_t *processes, struct nvt_error *err);

void nvt_live_marks_free(struct nvt_live_marks *marks);

#endif
