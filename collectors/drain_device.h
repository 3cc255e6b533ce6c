/*
 * Rows about devices, from a ring's records (NVT_DEVICE_RECORDS) to chunks of the trace.
 */
#ifndef NVT_DRAIN_DEVICE_H
#define NVT_DRAIN_DEVICE_H

#include "drain.h"

/* A batch of rows is a chunk of its own; its time is when it was handed over. What is malformed is left out; what could be
 * written is counted, and what could not, too. */
void nvt_drain_device_take(struct nvt_output *output, uint32_t process, uint32_t thread,
                           uint64_t ticks, const uint8_t *data, size_t size,
                           struct nvt_drain_totals *totals);

#endif
