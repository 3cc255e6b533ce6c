/*
 * Names of copies and memsets by the device that made them: "[CUDA memcpy Host-to-Device]" is "[HIP memcpy Host-to-Device]" in a trace
 * whose backend is HIP. Readers give them CUDA's, as many know the backend only at the end.
 */
#ifndef NVT_COPY_NAMES_H
#define NVT_COPY_NAMES_H

#include "trace.h"

/* 0, or -1 when out of memory. */
int nvt_copies_rename(struct nvt_trace *trace);

#endif
