/*
 * What the parts of the CUDA backend share: the first failure, and cuBLAS's handle of a stream.
 */
#ifndef NVT_CUDA_DEVICE_H
#define NVT_CUDA_DEVICE_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "../backend.h"

/* What an access of 16 bytes, or a copy of the device's own, wants of an address. */
static inline int nvt_cuda_is_wide(const void *array)
{
    return !((uintptr_t)array % 16);
}

/* Keep the first failure for nvt_backend_failed, which forgets it. Returns whether status is one. Any
 * thread. */
int nvt_cuda_note(cudaError_t status, const char *what);
int nvt_cublas_note(cublasStatus_t status, const char *what);

/* The handle of this thread's stream, made at its first use; NULL when that failed, which is noted.
 */
cublasHandle_t nvt_cublas_handle(void);

/* That handle's workspace and its size; NULL and 0 when there was no memory for it. */
void *nvt_cublas_workspace(size_t *bytes);

#endif
