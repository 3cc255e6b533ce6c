/*
 * Inside the reader of Chrome trace events: the arrows of rocprof's JSON (before v3), from a call to what it launched. Source: rocprofiler,
 * bin/sqlitedb.py (flow_json) and bin/tblextr.py (fill_api_db).
 *
 * An arrow of category "DataFlow" begins (phase "s") in the lane and thread of a call when that ends, or when the operation begins if that
 * is earlier, and ends (phase "t") in the operation's lane when it begins. Both times are whole microseconds, and nothing else links them.
 */
#ifndef NVT_KINETO_ROCPROF_H
#define NVT_KINETO_ROCPROF_H

#include <stdint.h>

#include "../../lib/map.h"

struct nvt_kineto;

/* A call or an operation, by the lane, the thread or stream, and the microseconds that the file has. */
struct nvt_rocprof_place {
    int64_t pid, tid, start, end;
    uint32_t row; /* of calls or operations */
    int is_taken; /* an arrow leads to it */
};

/* A list of them; `pid` of an arrow that has no such end is INT64_MIN. */
struct nvt_rocprof_places {
    struct nvt_rocprof_place *at;
    uint32_t count;
};

/* Zero-initialised; released with nvt_rocprof_free. */
struct nvt_rocprof {
    struct nvt_rocprof_places calls, ops;
    struct nvt_map arrows; /* id -> of `begins` and `ends` */
    struct nvt_rocprof_places begins, ends;
    uint64_t begun, ended; /* arrows in the file, by phase */
};

/* A call of that lane, or an operation, was added last. 0, or -1 when out of memory. */
int nvt_rocprof_call(struct nvt_kineto *reader, int64_t lane);
int nvt_rocprof_op(struct nvt_kineto *reader);
/* One end of an arrow. 0, or -1 when out of memory. */
int nvt_rocprof_flow(struct nvt_kineto *reader);

/* Operations get the correlation ids of their calls. Arrows of other programs are counted as not read. */
void nvt_rocprof_link(struct nvt_kineto *reader, int is_rocprof);
void nvt_rocprof_free(struct nvt_rocprof *rocprof);

#endif
