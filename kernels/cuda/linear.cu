/*
 * A linear layer's product with its bias (linear.h). As in matmul.cu matrices are read as their transposes: y is n by rows
 * in columns, and has the bias of its rows.
 */
#include "linear.h"

#include <cublasLt.h>

#include "device.h"

struct plan {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t w, x, y;
    cublasLtMatmulPreferenceOpaque_t wanted;
};

/* cuBLASLt is told how the matrices lie, and has no word for the bias: some of its kernels read that 16 bytes at a time
 * wherever it is, and a bias behind other weights may be anywhere. What they fault at ends the process's use of the device. */
#define BIAS_ALIGNMENT 16

/* Bytes that an address is a multiple of, 256 at most: more is of no use to cuBLASLt. */
static uint32_t alignment_of(const void *address)
{
    uintptr_t bits = (uintptr_t)address | 256;
    return (uint32_t)(bits & -bits);
}

template <typename T>
static int describe(plan *plan, cublasLtMatmulDescAttributes_t which, const T &value)
{
    return cublasLtMatmulDescSetAttribute(&plan->product, which, &value, sizeof(value));
}

template <typename T>
static int want(plan *plan, cublasLtMatmulPreferenceAttributes_t which, const T &value)
{
    return cublasLtMatmulPreferenceSetAttribute(&plan->wanted, which, &value, sizeof(value));
}

static int describe_product(plan *plan, const real *b, int64_t rows, int64_t n, int64_t k)
{
    const cublasOperation_t turned = CUBLAS_OP_T, straight = CUBLAS_OP_N;
    const cublasLtEpilogue_t with_bias = CUBLASLT_EPILOGUE_BIAS;
    return cublasLtMatmulDescInit(&plan->product, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
           describe(plan, CUBLASLT_MATMUL_DESC_TRANSA, turned) ||
           describe(plan, CUBLASLT_MATMUL_DESC_TRANSB, straight) ||
           describe(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, with_bias) ||
           describe(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, b) ||
           cublasLtMatrixLayoutInit(&plan->w, CUDA_R_32F, (uint64_t)k, (uint64_t)n, k) ||
           cublasLtMatrixLayoutInit(&plan->x, CUDA_R_32F, (uint64_t)k, (uint64_t)rows, k) ||
           cublasLtMatrixLayoutInit(&plan->y, CUDA_R_32F, (uint64_t)n, (uint64_t)rows, n);
}

static int describe_wishes(plan *plan, size_t workspace, const real *y, const real *x,
                           const real *w)
{
    return cublasLtMatmulPreferenceInit(&plan->wanted) ||
           want(plan, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace) ||
           want(plan, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(w)) ||
           want(plan, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(x)) ||
           want(plan, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(y)) ||
           want(plan, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(y));
}

/* cuBLASLt remembers what it has found for a shape: it is asked each time. PyTorch has seen it refuse weights of one row
 * or column (its pull request 72148), for lines that were too short (164930); a single row of x has whole lines here. */
int nvt_cuda_linear(real *y, const real *x, const real *w, const real *b, int64_t rows, int64_t n,
                    int64_t k)
{
    const float one = 1, zero = 0;
    plan plan;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    size_t bytes;
    if (rows < 1 || n < 2 || k < 2 || alignment_of(b) < BIAS_ALIGNMENT)
        return -1;
    /* A handle of cuBLAS is one of cuBLASLt. */
    cublasLtHandle_t handle = (cublasLtHandle_t)nvt_cublas_handle();
    void *workspace = nvt_cublas_workspace(&bytes);
    if (!handle || describe_product(&plan, b, rows, n, k) ||
        describe_wishes(&plan, bytes, y, x, w) ||
        cublasLtMatmulAlgoGetHeuristic(handle, &plan.product, &plan.w, &plan.x, &plan.y, &plan.y,
                                       &plan.wanted, 1, &found, &count) ||
        !count || found.state)
        return -1;
    return cublasLtMatmul(handle, &plan.product, &one, w, &plan.w, x, &plan.x, &zero, y, &plan.y, y,
                          &plan.y, &found.algo, workspace, bytes, nvt_backend_stream())
               ? -1
               : 0;
}
