/*
 * Titles say CUDA, as those of Nsight Systems do; of traces of other devices they say what these have: HIP, XPU, NPU, TPU.
 */
#ifndef NVT_DEVICE_WORDS_H
#define NVT_DEVICE_WORDS_H

#include <stddef.h>

#include "input.h"

/* A title in the words of the input's devices, cut to size: as it is where a trace is of CUDA, or several kinds are in it. */
void nvt_device_title(const struct nvt_input *input, const char *title, char *out, size_t size);

#endif
