/*
 * Where NCCL is: the library that NVTALLY_NCCL names, else libnccl.so.2 as the system finds it, or
 * as it lies in the CUDA toolkit.
 */
#ifndef NVT_NCCL_LIBRARY_H
#define NVT_NCCL_LIBRARY_H

#include "../lib/error.h"

/* The one that NVTALLY_NCCL names, or NULL. It need not be for devices. */
const char *nvt_nccl_named(void);

/* Load it, for the rest of the process; NULL with err when it is not found. */
void *nvt_nccl_library(struct nvt_error *err);

#endif
