/*
 * Samples of Python (record --trace cpu) come with Python's own stack. Where one has none, the traced process says why.
 */
#ifndef NVT_PYTHON_STACKS_H
#define NVT_PYTHON_STACKS_H

#include <stddef.h>
#include <stdint.h>

/* In files of traces as they are here (docs/trace-format.md): new ones come last. */
enum nvt_python_state {
    NVT_PYTHON_NONE,       /* the sample is not of Python, or it is not known that it is */
    NVT_PYTHON_TOLD,       /* it has Python's stack */
    NVT_PYTHON_NOT_YET,    /* nvtally's sitecustomize has not run in the process */
    NVT_PYTHON_NO_HANDLER, /* this Python has no faulthandler.register */
    NVT_PYTHON_SILENT, /* the handler wrote nothing: the thread has no state of Python's, or another dump was under way */
    NVT_PYTHON_BUSY, /* other threads wrote theirs for too long */
    NVT_PYTHON_LEFT, /* the handler met a fault that it could not return from, and has written nothing since */
    NVT_PYTHON_UNREGISTERED, /* the program has taken the handler away (faulthandler.unregister) */
    NVT_PYTHON_ENDS,         /* Python is coming to an end */
    NVT_PYTHON_TAKEN_BACK,   /* one of the last two */
    NVT_PYTHON_STATES
};

/* How many samples there are of each state. */
struct nvt_python_stacks {
    uint64_t samples[NVT_PYTHON_STATES];
};

/* Fewer samples without a stack are not worth a word: each start and end of Python has some. */
#define NVT_PYTHON_FEW 20

/*
 * Write a note to `out` if stacks are missing in more than a tenth of the samples of Python, and in NVT_PYTHON_FEW at least: how
 * many, and the reasons that account for a tenth of these or more. 1 if there is one, else 0.
 */
int nvt_python_note(const struct nvt_python_stacks *stacks, char *out, size_t size);

#endif
