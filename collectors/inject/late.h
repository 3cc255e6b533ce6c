/*
 * Of a process of a standing session (../standing.h): what it has defined (names of threads and categories, schemas, counters, resources),
 * most of it at its start, kept for recorders that come later. Takes no lock; a child of fork has what its parent had.
 */
#ifndef NVT_INJECT_LATE_H
#define NVT_INJECT_LATE_H

#include "events.h"

/* See nvt_define. */
struct nvt_late_definition {
    enum nvt_record_kind kind;
    nvtxDomainHandle_t domain;
    uint32_t value;
    uint64_t id;
    const void *data;
    size_t size; /* bytes */
};

/* So many bytes are kept in all; what comes then no later recorder hears of. */
#define NVT_LATE_MOST (1u << 20)

void nvt_late_keep(const struct nvt_late_definition *definition);

/* Call `define` for each, in the order in which they were kept; but not for names of threads that a parent had. */
void nvt_late_tell(void (*define)(const struct nvt_late_definition *definition));

#endif
