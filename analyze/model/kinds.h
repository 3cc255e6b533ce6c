/*
 * Ranges alike: those of the same name, domain and style, and if asked for of the same thread, have
 * the same number. What a report finds out for a kind, it need not find out for each of a million
 * ranges.
 */
#ifndef NVT_KINDS_H
#define NVT_KINDS_H

#include "trace.h"

/* Lookups are in a table when it has so many cells at most, beyond that in a map. */
#define NVT_KINDS_TABLE (1u << 20)

/* Zero-initialise; release with nvt_kinds_free. */
struct nvt_kinds {
    uint32_t *of;   /* of every range: a number from 0 */
    uint32_t count; /* of kinds */
};

/* 0, or -1 when out of memory. */
int nvt_kinds_make(struct nvt_kinds *kinds, const struct nvt_trace *trace, int by_thread);
void nvt_kinds_free(struct nvt_kinds *kinds);

/* Numbers from 0 for those strings of a trace that are among `count` ids, *used of them: an array
 * by string id, NVT_NONE for the others; malloc'ed, NULL when out of memory. */
uint32_t *nvt_number_strings(const struct nvt_trace *trace, const uint32_t *ids, uint32_t count,
                             uint32_t *used);

#endif
