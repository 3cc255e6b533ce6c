/*
 * What a machine reaches, measured once: `nvtally info --peak` keeps it, and runs on the same machine know it.
 *
 * It lies in peaks.tsv of $NVTALLY_CACHE, else of $XDG_CACHE_HOME/nvtally, else of ~/.cache/nvtally: a line for each host,
 * backend, device, set of libraries and number of threads. Without such a folder (NVTALLY_CACHE is empty) nothing is
 * kept and nothing known.
 */
#ifndef NVT_PEAK_CACHE_H
#define NVT_PEAK_CACHE_H

#include <stddef.h>

#include "backend_facts.h"
#include "date.h"
#include "error.h"

struct nvt_cached_peak {
    struct nvt_backend_facts backend; /* without `memory` */
    struct nvt_peak peak;
    char date[NVT_DATE_SIZE]; /* of the measurement */
};

/* What is known of a backend on this machine. 1, or 0 where that is nothing. */
int nvt_peak_cache_find(const struct nvt_backend_facts *backend, struct nvt_cached_peak *kept);

/* Everything that is known of the machine with this name (the folder may be shared, or brought along), NULL: of this
 * one; as many as there is room for. Returns how many. */
size_t nvt_peak_cache_read(const char *host, struct nvt_cached_peak *items, size_t room);

/* Keep what was measured now, instead of what was known. 0, or -1 with err. */
int nvt_peak_cache_put(const struct nvt_backend_facts *backend, const struct nvt_peak *peak,
                       struct nvt_error *err);

#endif
