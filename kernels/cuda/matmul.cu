/*
 * Products of matrices by cuBLAS. It is column-major: a row-major c = a·b is, read that way, its
 * transpose cᵀ = bᵀ·aᵀ, so the operands change places and nothing is copied.
 */
#include "device.h"

static cublasOperation_t operation(int transpose)
{
    return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

void nvt_backend_matmul(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                        real alpha, const real *a, const real *b, real beta, real *c)
{
    cublasHandle_t handle = m && n ? nvt_cublas_handle() : NULL;
    if (!handle)
        return;
    nvt_cublas_note(cublasSgemm_64(handle, operation(transpose_b), operation(transpose_a), n, m, k,
                                   &alpha, b, transpose_b ? k : n, a, transpose_a ? m : k, &beta, c,
                                   n),
                    "cublasSgemm");
}

/* --- stored numbers --- */

size_t nvt_backend_stored_bytes(enum nvt_precision precision)
{
    return precision == NVT_BF16 || precision == NVT_FP16 ? sizeof(uint16_t) : sizeof(real);
}

static cudaDataType_t type_of(enum nvt_precision precision)
{
    return precision == NVT_BF16 ? CUDA_R_16BF : precision == NVT_FP16 ? CUDA_R_16F : CUDA_R_32F;
}

void nvt_backend_matmul_batched(const struct nvt_matmul *shape, const void *a, const void *b,
                                void *c)
{
    int64_t m = shape->m, n = shape->n, k = shape->k;
    cublasHandle_t handle = shape->count > 0 && m && n ? nvt_cublas_handle() : NULL;
    if (!handle)
        return;
    cudaDataType_t type = type_of(shape->precision);
    cudaDataType_t type_c = shape->c_is_stored ? type : CUDA_R_32F;
    cublasComputeType_t compute =
        shape->precision == NVT_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasOperation_t turn_left = operation(shape->transpose_a),
                      turn_right = operation(shape->transpose_b);
    int64_t left_line = shape->transpose_a ? m : k, right_line = shape->transpose_b ? k : n;
    /* One product is none of many: for those cuBLAS has fewer forms. */
    cublasStatus_t status =
        shape->count == 1
            ? cublasGemmEx_64(handle, turn_right, turn_left, n, m, k, &shape->alpha, b, type,
                              right_line, a, type, left_line, &shape->beta, c, type_c, n, compute,
                              CUBLAS_GEMM_DEFAULT)
            : cublasGemmStridedBatchedEx_64(
                  handle, turn_right, turn_left, n, m, k, &shape->alpha, b, type, right_line,
                  shape->stride_b, a, type, left_line, shape->stride_a, &shape->beta, c, type_c, n,
                  shape->stride_c, shape->count, compute, CUBLAS_GEMM_DEFAULT);
    nvt_cublas_note(status, "cublasGemmEx");
}

int nvt_backend_emulates(enum nvt_precision precision)
{
    (void)precision;
    return 0;
}
