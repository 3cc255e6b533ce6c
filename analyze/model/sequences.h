/*
 * Which of its group's collectives a kernel is: the table `sequences` by operation.
 */
#ifndef NVT_SEQUENCES_H
#define NVT_SEQUENCES_H

#include "../../lib/map.h"
#include "trace.h"

/* Rows of `sequences` by what they are of. Zero-initialise *map; release it with nvt_map_free. 0, or -1 when out of memory. */
int nvt_sequences_map(struct nvt_map *map, const struct nvt_trace *trace);

/* That of an operation, UINT64_MAX where none is recorded. */
uint64_t nvt_sequence_of(const struct nvt_map *map, const struct nvt_trace *trace, uint32_t op);

#endif
