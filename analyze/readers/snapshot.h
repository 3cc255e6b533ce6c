/*
 * Inside the reader of PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): what its files share.
 *
 * Source: the documentation of torch.cuda.memory._snapshot, and torch/csrc/cuda/memory_snapshot.cpp.
 *
 * What was in use is counted as its documentation's "Active Memory Timeline" counts it: bytes as they were asked for,
 * from "alloc" to "free_completed"; memory that was freed while another stream still used it is in use. Reserved memory
 * follows the segments that were allocated on the device and freed, or mapped and unmapped. How much there was before
 * the first event, when the history had no room for all, is what the segments at the end leave of it.
 *
 * Every block that was in use before the first event and is known, from the segments or by its being freed, is an
 * allocation at the time of the first event with is_earlier.
 */
#ifndef NVT_READ_SNAPSHOT_H
#define NVT_READ_SNAPSHOT_H

#include "../../lib/map.h"
#include "../model/trace.h"
#include "pickle.h"

struct nvt_snapshot {
    struct nvt_trace *trace;
    const char *path;
    struct nvt_error *err;
    struct nvt_pickle pickle;
    uint32_t process, thread; /* stand for those that it does not have */
    int64_t first;            /* us since 1970; INT64_MAX: there are no times, */
    uint32_t stand_in;        /* and this many events have had one that stands in for theirs */
    uint32_t source;          /* "PyTorch" */
    uint64_t room; /* entries that a file of its size may yet have, see nvt_snapshot_take_room */
    struct nvt_map stacks; /* lists of frames -> rows of call_frames and 1 */
    struct nvt_map traits; /* dicts of frames -> what they are */
    struct nvt_map names;  /* dicts of frames -> strings */
    struct nvt_map rows;   /* (row of the caller and 1) << 32 | name -> rows of call_frames */
};

/* Fail where there are more entries than a file of its size holds: then its lists are in many places each. 0, or -1 with
 * err. */
int nvt_snapshot_take_room(struct nvt_snapshot *snapshot);

/*
 * The row of call_frames, and 1, of the innermost function of a stack; 0: it is empty. NVT_NONE when out of memory.
 *
 * Of a stack with Python in it, these are its Python functions, without the two through which every module is
 * called, and within them the operator that was called, "aten::linear"; of another one all functions but those of calling
 * and unwinding.
 */
uint32_t nvt_snapshot_stack(struct nvt_snapshot *snapshot, uint32_t frames);

/* -1, and err says so. */
static inline int nvt_snapshot_no_memory(const struct nvt_snapshot *snapshot)
{
    return nvt_fail_at(snapshot->err, snapshot->path, -1, "out of memory");
}

/* A moment on the trace's axis, ns; no more than 127 years behind the first one. */
#define NVT_SNAPSHOT_LONGEST_US UINT64_C(4000000000000000)
static inline int64_t nvt_snapshot_time(const struct nvt_snapshot *snapshot, int64_t us)
{
    uint64_t since = (uint64_t)us - (uint64_t)snapshot->first;
    return (int64_t)(since > NVT_SNAPSHOT_LONGEST_US ? NVT_SNAPSHOT_LONGEST_US : since) * 1000;
}

/* The ranges that PyTorch's record_function left in it (external_annotations). 0, or -1 with err. */
int nvt_snapshot_ranges(struct nvt_snapshot *snapshot, uint32_t annotations);

/* The history of a device (NVT_NONE: of the host's pinned memory), `entries`, and its segments. 0, or -1 with err. */
int nvt_snapshot_device(struct nvt_snapshot *snapshot, uint32_t device, uint32_t entries,
                        uint32_t segments);

#endif
