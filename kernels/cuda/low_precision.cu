/*
 * Products of halves and of 8-bit integers by cuBLAS, with the operands changing places as in
 * matmul.cu. Its integer product wants lines of a multiple of four bytes; others, and what it refuses beyond
 * that, go through a plain kernel.
 */
#include <inttypes.h>
#include <stdio.h>

#include "../ops/int8_product.h"
#include "device.h"

static cublasOperation_t operation(int transpose)
{
    return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

size_t nvt_backend_half_scratch(int transpose_a, int64_t m, int64_t n, int64_t k)
{
    (void)transpose_a;
    (void)m;
    (void)n;
    (void)k;
    return 0;
}

void nvt_backend_matmul_half(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                             const uint16_t *a, const uint16_t *b, uint16_t *c, void *scratch)
{
    const float one = 1, zero = 0;
    cublasHandle_t handle = m && n ? nvt_cublas_handle() : NULL;
    (void)scratch;
    if (!handle)
        return;
    nvt_cublas_note(cublasGemmEx_64(handle, operation(transpose_b), operation(transpose_a), n, m, k,
                                    &one, b, CUDA_R_16F, transpose_b ? k : n, a, CUDA_R_16F,
                                    transpose_a ? m : k, &zero, c, CUDA_R_16F, n,
                                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                    "cublasGemmEx of halves");
}

static int has_refused;

int nvt_backend_int8_is_plain(void)
{
    return __atomic_load_n(&has_refused, __ATOMIC_RELAXED);
}

/* By a plain kernel; that cuBLAS would not have it is said once, as its time is then none of cuBLAS's. */
static void multiply_plainly(int64_t m, const struct int8_args &args, int refused)
{
    if (refused && !__atomic_exchange_n(&has_refused, 1, __ATOMIC_RELAXED))
        fprintf(stderr,
                "nvtally: cuBLAS refuses products of int8 of %" PRId64 " x %" PRId64 " x %" PRId64
                ": a plain kernel computes what it refuses\n",
                m, args.n, args.k);
    NVT_LAUNCH(int8_product, m, args);
}

/* What cuBLAS answers where it has no kernel, or a wish of its own about how the operands lie: which of these it is differs
 * from version to version. Nothing has been started then. A device that is lost says so when ours is launched. */
static int is_refusal(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
           status == CUBLAS_STATUS_ARCH_MISMATCH || status == CUBLAS_STATUS_INTERNAL_ERROR;
}

void nvt_backend_matmul_int8(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b,
                             int32_t *c)
{
    const int32_t one = 1, zero = 0;
    struct int8_args args = {a, b, c, n, k};
    if (k % 4 || n % 4) {
        multiply_plainly(m, args, 0);
        return;
    }
    cublasHandle_t handle = m && n ? nvt_cublas_handle() : NULL;
    if (!handle)
        return;
    cublasStatus_t status = cublasGemmEx_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, b,
                                            CUDA_R_8I, k, a, CUDA_R_8I, k, &zero, c, CUDA_R_32I, n,
                                            CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
    if (is_refusal(status))
        multiply_plainly(m, args, 1);
    else
        nvt_cublas_note(status, "cublasGemmEx of int8");
}
