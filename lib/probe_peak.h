/* What each backend reaches here, as items of `nvtally info`. */
#ifndef NVT_PROBE_PEAK_H
#define NVT_PROBE_PEAK_H

#include <stddef.h>

#include "backend_facts.h"
#include "probe.h"

/* Fill at most `room` items of the section "peak" with what a backend ("host", "cuda") reaches; `from`: on which device,
 * and when. Returns how many. */
size_t nvt_probe_put_peak(struct nvt_probe_item *items, size_t room, const char *backend,
                          const struct nvt_peak *peak, const char *from);

/* Fill them with what was measured on this machine before (peak_cache.h). Returns how many. */
size_t nvt_probe_cached_peaks(struct nvt_probe_item *items, size_t room);

#endif
