/*
 * A stand-in for cuBLAS; see cuda_runtime.h. Matrices are column-major, as there, and what cuBLAS
 * refuses (leading dimensions that are too small, 8-bit lines that are no multiple of four bytes)
 * is refused. A handle without a workspace would put memory into the graphs that its products are recorded
 * to: those fail. Where the mode allows it, parts of a sum are rounded to the type of the result.
 */
#ifndef EMULATED_CUBLAS_V2_H
#define EMULATED_CUBLAS_V2_H

#include "cuda_runtime.h"

typedef struct emulated_products *cublasHandle_t;

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS,
    CUBLAS_STATUS_INVALID_VALUE,
    CUBLAS_STATUS_NOT_SUPPORTED,
    CUBLAS_STATUS_INTERNAL_ERROR,
    CUBLAS_STATUS_ALLOC_FAILED,
    CUBLAS_STATUS_ARCH_MISMATCH,
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cudaDataType_t { CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8I, CUDA_R_32I };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32I };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};
enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };

const char *cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
/* Takes the workspace away. */
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                              cublasOperation_t transpose_b, int64_t m, int64_t n, int64_t k,
                              const float *alpha, const float *a, int64_t lda, const float *b,
                              int64_t ldb, const float *beta, float *c, int64_t ldc);
cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                               cublasOperation_t transpose_b, int64_t m, int64_t n, int64_t k,
                               const void *alpha, const void *a, cudaDataType_t type_a, int64_t lda,
                               const void *b, cudaDataType_t type_b, int64_t ldb, const void *beta,
                               void *c, cudaDataType_t type_c, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int64_t m,
    int64_t n, int64_t k, const void *alpha, const void *a, cudaDataType_t type_a, int64_t lda,
    int64_t stride_a, const void *b, cudaDataType_t type_b, int64_t ldb, int64_t stride_b,
    const void *beta, void *c, cudaDataType_t type_c, int64_t ldc, int64_t stride_c, int64_t count,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

#endif
