/*
 * Products of matrices by cuBLAS. It is column-major: a row-major c = a·b is, read that way, its
 * transpose cᵀ = bᵀ·aᵀ, so the operands change places and nothing is copied.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

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

/* --- lower precisions --- */

/* Numbers of `low`, rounded to nearest, ties to even. */
template <typename low> struct round_args {
    low *out;
    const real *in;
    int64_t n;
};

template <typename low> static __global__ void round_numbers(round_args<low> a)
{
    nvt_map_chunk(blockIdx.x, a.n, a.out, a.in, a.in, [](real x, real) { return low(x); });
}

template <typename low> static const void *rounded(int which, const real *in, int64_t n)
{
    round_args<low> args = {(low *)nvt_cuda_scratch(which, (size_t)n * sizeof(low)), in, n};
    if (!args.out)
        return NULL;
    NVT_LAUNCH(round_numbers, NVT_CHUNKS(n), args);
    return args.out;
}

/* An input as cuBLAS shall read it: float as it lies, the lower ones as rounded copies. */
static const void *input_of(const struct nvt_matmul *shape, int which, const real *in,
                            int64_t stride, int64_t elements)
{
    int64_t span = (shape->count - 1) * stride + elements;
    if (shape->precision == NVT_BF16)
        return rounded<__nv_bfloat16>(which, in, span);
    if (shape->precision == NVT_FP16)
        return rounded<__half>(which, in, span);
    return in;
}

/* The left one; what was made of it for the product before may be taken again. */
static const void *left_of(const struct nvt_matmul *shape, const real *a)
{
    static thread_local struct {
        const real *in;
        int64_t elements;
        enum nvt_precision precision;
        const void *made;
    } before;
    int64_t elements = (shape->count - 1) * shape->stride_a + shape->m * shape->k;
    int is_there = shape->same_a && before.in == a && before.elements == elements &&
                   before.precision == shape->precision;
    if (!is_there)
        before = {a, elements, shape->precision,
                  input_of(shape, 0, a, shape->stride_a, shape->m * shape->k)};
    return before.made;
}

void nvt_backend_matmul_batched(const struct nvt_matmul *shape, const real *a, const real *b,
                                real *c)
{
    int64_t m = shape->m, n = shape->n, k = shape->k;
    cublasHandle_t handle = shape->count > 0 && m && n ? nvt_cublas_handle() : NULL;
    const void *left = handle ? left_of(shape, a) : NULL;
    const void *right = left ? input_of(shape, 1, b, shape->stride_b, k * n) : NULL;
    if (!right)
        return;
    cudaDataType_t type = shape->precision == NVT_BF16   ? CUDA_R_16BF
                          : shape->precision == NVT_FP16 ? CUDA_R_16F
                                                         : CUDA_R_32F;
    cublasComputeType_t compute =
        shape->precision == NVT_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasOperation_t turn_left = operation(shape->transpose_a),
                      turn_right = operation(shape->transpose_b);
    int64_t left_line = shape->transpose_a ? m : k, right_line = shape->transpose_b ? k : n;
    /* One product is none of many: for those cuBLAS has fewer forms. */
    cublasStatus_t status =
        shape->count == 1
            ? cublasGemmEx_64(handle, turn_right, turn_left, n, m, k, &shape->alpha, right, type,
                              right_line, left, type, left_line, &shape->beta, c, CUDA_R_32F, n,
                              compute, CUBLAS_GEMM_DEFAULT)
            : cublasGemmStridedBatchedEx_64(
                  handle, turn_right, turn_left, n, m, k, &shape->alpha, right, type, right_line,
                  shape->stride_b, left, type, left_line, shape->stride_a, &shape->beta, c,
                  CUDA_R_32F, n, shape->stride_c, shape->count, compute, CUBLAS_GEMM_DEFAULT);
    nvt_cublas_note(status, "cublasGemmEx");
}

int nvt_backend_emulates(enum nvt_precision precision)
{
    (void)precision;
    return 0;
}
