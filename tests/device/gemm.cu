/*
 * A program for `record --counters-of gemm`: GEMMs whose FLOPs are known, each in a range of that name.
 *
 *   gemm bf16|tf32|fp32 [SIZE [TURNS]]   4096 and 5 unless given
 *
 * It prints what one has, 2 SIZE^3: multiplied, FLOPs. It ends with 0, or with 1 when a call fails, which it says.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fails(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        fprintf(stderr, "gemm: %s: %s\n", what, cudaGetErrorString(status));
    return status != cudaSuccess;
}

static int multiply(cublasHandle_t handle, const char *precision, int size, const void *a,
                    const void *b, void *c)
{
    const float one = 1, none = 0;
    const cudaDataType type = !strcmp(precision, "bf16") ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute =
        !strcmp(precision, "tf32") ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasStatus_t status =
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a, type, size, b,
                     type, size, &none, c, CUDA_R_32F, size, compute, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        fprintf(stderr, "gemm: %s\n", cublasGetStatusString(status));
    return status != CUBLAS_STATUS_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *precision = argc > 1 ? argv[1] : "bf16";
    const long size = argc > 2 ? strtol(argv[2], NULL, 10) : 4096,
               turns = argc > 3 ? strtol(argv[3], NULL, 10) : 5;
    const size_t bytes = (size_t)size * (size_t)size * sizeof(float);
    void *of[3] = {NULL, NULL, NULL};
    cublasHandle_t handle;
    for (int i = 0; i < 3; i++)
        if (fails(cudaMalloc(&of[i], bytes), "memory") ||
            fails(cudaMemset(of[i], 0, bytes), "memset"))
            return 1;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "gemm: cuBLAS cannot be had\n");
        return 1;
    }
    /* What a first product loads and allocates is none of a range. */
    int failed = multiply(handle, precision, (int)size, of[0], of[1], of[2]) ||
                 fails(cudaDeviceSynchronize(), "warm-up");
    for (long i = 0; i < turns && !failed; i++) {
        nvtxRangePushA("gemm");
        failed = multiply(handle, precision, (int)size, of[0], of[1], of[2]) ||
                 fails(cudaDeviceSynchronize(), "gemm");
        nvtxRangePop();
    }
    printf("multiplied\t%.0f\n", 2.0 * (double)size * (double)size * (double)size);
    return failed;
}
