/*
 * The collector's own cost, measured in the process that it is in.
 */
#ifndef NVT_INJECT_CALIBRATE_H
#define NVT_INJECT_CALIBRATE_H

#include "../../lib/costs.h"

/*
 * Time the collector's own callbacks in a short loop on a private thread state and ring, so that nothing of it is
 * recorded. Medians of several rounds; takes well below a millisecond, once a process image. All zeros when there is no
 * memory. To be called while the session is being joined.
 *
 * The loop has its ring in the cache. A thread whose ring the recorder has just emptied on another
 * processor waits for these lines too, so the cost is a lower bound.
 */
void nvt_calibrate(struct nvt_costs *costs);

#endif
