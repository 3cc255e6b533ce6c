/*
 * What memory that is touched for the first time costs: page faults, as marks in the trace.
 *
 * Where a range of this thread opens or closes, the faults of the process since the last such
 * moment belong to the range that was open in between. A mark in that range, "page faults", tells
 * them: {"faults": how many, "bytes": by how much the resident memory grew, "cost_ns": CPU time
 * that so many faults take}. Without a fault there is no mark; the ranges of other threads are not
 * looked at.
 *
 * To look takes a microsecond or two, as much as a short range. So ranges within an iteration are looked at in the very
 * first one, and as long as the faults of the iteration before took longer than looking for them. Else, and behind a
 * warm-up, what is looked at is the iteration as a whole, from before its first phase until behind its last, and a mark
 * behind these tells its faults.
 *
 * The cost is an estimate. A fault brings a page of the system (4 KiB as a rule) or one of 2 MiB, which differ some
 * hundredfold; how many there were of each follows from the two sums, and what one takes is
 * measured at the start, on memory of the backend. Threads that fault at once share the time.
 */
#ifndef NVT_FAULTS_H
#define NVT_FAULTS_H

#include <pthread.h>

#include "../../lib/nvtx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums of a process. */
struct nvt_fault_count {
    uint64_t faults, resident; /* bytes */
};

struct nvt_faults {
    const struct nvt_nvtx *nvtx;
    nvtxStringHandle_t name;
    uint64_t schema;
    pthread_t thread;
    int statm;                     /* /proc/self/statm, or -1 */
    double small_ns, large_ns;     /* what a fault takes */
    double look_ns;                /* what a look at the sums takes */
    struct nvt_fault_count before; /* when it was last told */
    uint64_t boundaries;           /* of ranges of this thread in this iteration */
    double cost_ns;                /* of the faults of this iteration */
    int is_calm;                   /* boundaries are counted, and not looked at */
};

/* CPU time of so many faults by which resident memory grew by so many bytes. */
double nvt_faults_cost(const struct nvt_faults *faults, uint64_t count, uint64_t bytes);

/* An iteration's range has been opened, and is about to be closed. */
void nvt_faults_iteration_begin(struct nvt_faults *faults, struct nvt_nvtx *nvtx);
void nvt_faults_iteration_end(struct nvt_faults *faults, struct nvt_nvtx *nvtx);

/* From now on; nothing when nobody records the domain. *faults must live as long as *nvtx is used;
 * close it in any case (zero-initialised is closed too). */
void nvt_faults_watch(struct nvt_faults *faults, struct nvt_nvtx *nvtx);
void nvt_faults_close(struct nvt_faults *faults, struct nvt_nvtx *nvtx);

#ifdef __cplusplus
}
#endif
#endif
