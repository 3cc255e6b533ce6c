/*
 * The levels of a sweep side by side: a process for each, which take turns iteration by iteration
 * (frame/turns.h). Two levels then meet the machine as it is within milliseconds, which runs one after the
 * other do not. In the manner of paired designs: Bulej, Horký, Tůma, Farquet, Prokopec, "Duet Benchmarking:
 * Improving Measurement Accuracy in the Cloud" (ICPE 2020) runs both at the same instant; here one rests
 * while the other works, so that they do not share a processor's time, caches or memory while the clock runs.
 */
#ifndef NVT_SWEEP_GROUP_H
#define NVT_SWEEP_GROUP_H

#include "sweep_child.h"

/*
 * Run `count` children and wait until all have ended; `turns` is the path of the file that they share, made
 * and removed here, and set in each of them. The first turn goes to another one with each repeat. One that
 * ends, however it does, does not stop the others; a signal that ends the sweep is passed on to all, also when
 * it ended one of them only. ends[i]: how the i-th ended. 0, or -1 with err when nothing could be begun.
 */
int nvt_group_run(struct nvt_child *children, size_t count, const char *turns,
                  struct nvt_child_end *ends, struct nvt_error *err);

#endif
