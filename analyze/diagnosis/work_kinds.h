/*
 * What kind of work a function is, by its name or its library: spinning, copying, compressing … work_kinds.def lists
 * them.
 */
#ifndef NVT_WORK_KINDS_H
#define NVT_WORK_KINDS_H

#include "../studies/hot_functions.h"

/* In the order of how much each explains: of several in one stack, the first. */
enum nvt_work_kind {
    NVT_WORK_COMMUNICATES, /* waits for other ranks, as a rule: for other rules, with the MPI calls */
    NVT_WORK_SPINS,
    NVT_WORK_COLLECTS, /* garbage */
    NVT_WORK_COPIES_OBJECTS,
    NVT_WORK_LOGS,
    NVT_WORK_SERIALISES,
    NVT_WORK_COMPRESSES,
    NVT_WORK_DECODES,
    NVT_WORK_DRAWS, /* random numbers */
    NVT_WORK_TEXT,
    NVT_WORK_COMPUTES, /* what a program is for: nothing to report */
    NVT_WORK_ALLOCATES,
    NVT_WORK_COPIES,
    NVT_WORK_INTERPRETS,
    NVT_WORK_NONE, /* no known one */
};
#define NVT_WORK_KINDS NVT_WORK_NONE

/* The kind of a function by itself. */
enum nvt_work_kind nvt_work_kind(const struct nvt_sampled_function *function);

/*
 * The kinds of a trace's stacks. From its innermost function outwards, up to the first one of the program's own that is of no
 * kind (or of the interpreter's), a sample is of the kind that explains the most: memcpy() within inflate() is compressing. Spinning,
 * allocating, copying and interpreting count of the innermost one alone: what OpenMP's runtime calls is no spinning.
 */
struct nvt_work {
    const struct nvt_sampled_functions *functions;
    uint8_t *kinds; /* of each function: enum nvt_work_kind */
    /* of each row of call_frames: what it and those around it are for those that it calls */
    uint8_t *around;
    /* of each: the row, and 1, of the innermost function of the program's own of no kind, be it itself; 0 */
    uint32_t *caller;
};

/* Zero-initialise; release with nvt_work_free. Linear in the trace's frames. 0, or -1 when out of memory. */
int nvt_work_make(struct nvt_work *work, const struct nvt_sampled_functions *functions);
void nvt_work_free(struct nvt_work *work);

enum nvt_work_kind nvt_work_of(const struct nvt_work *work, uint32_t sample);

#endif
