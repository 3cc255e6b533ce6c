/*
 * Schedules of pipeline parallelism: in which order each partition runs its micro-batches.
 *
 *   gpipe        fill and drain: all forwards, then all backwards in reverse
 *                (Huang et al., "GPipe", 2019, arXiv:1811.06965)
 *   1f1b         after K−1−p forwards, a forward and a backward in turn, which keeps at most K
 *                micro-batches alive (Narayanan et al., "PipeDream", SOSP 2019; here with a flush at the
 *                end of the batch, as in "Memory-efficient pipeline-parallel DNN training", 2021)
 *   interleaved  1f1b over V chunks of the model on each partition, chunk c of partition p being the model's
 *                part c·K + p (Narayanan et al., "Efficient large-scale language model training on GPU
 *                clusters", SC 2021, section 2.2); M must be a multiple of K
 */
#ifndef NVT_SCHEDULE_H
#define NVT_SCHEDULE_H

#include <stddef.h>

#include "../../lib/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nvt_schedule_kind { NVT_GPIPE, NVT_1F1B, NVT_INTERLEAVED };

struct nvt_action {
    int partition, chunk, microbatch;
    int is_backward;
};

struct nvt_schedule {
    enum nvt_schedule_kind kind;
    int partitions, microbatches, chunks; /* K, M, V */
    /* All actions in an order in which one thread can run them: whatever one needs stands before it. A
     * partition's own order is that of its actions in this list. */
    struct nvt_action *actions;
    size_t count; /* 2·K·M·V */
};

/* 0, or -1 with err: numbers that do not go together (chunks > 1 only for `interleaved`), out of memory. */
int nvt_schedule_make(enum nvt_schedule_kind kind, int partitions, int microbatches, int chunks,
                      struct nvt_schedule *schedule, struct nvt_error *err);
void nvt_schedule_free(struct nvt_schedule *schedule);

/* The share of time in which a partition of this schedule stands idle when every forward takes the same
 * time, every backward too, and a transfer none: (K−1)/(M+K−1), with chunks (K−1)/(V·M+K−1). */
double nvt_schedule_bubble(const struct nvt_schedule *schedule);

#ifdef __cplusplus
}
#endif
#endif
