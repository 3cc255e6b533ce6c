/* Products of matrices of the stand-in for cuBLAS, in plain loops. */
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdlib>
#include <type_traits>
#include <vector>

#include "emulated.h"

struct emulated_products {
    cudaStream_t stream;
    void *workspace;
    bool sums_whole; /* no part of a sum is rounded to the type of the result */
    int device;      /* the current one when it was created, which must be that of every product */
};

namespace
{
struct operand {
    const void *memory;
    cudaDataType_t type;
    bool along; /* whether a sum runs along a line */
    int64_t lines, length, stride,
        between; /* lines of `length`, `stride` apart; matrices `between` */
};

/* EMULATED_REFUSE: as cuBLAS may with shapes that it has no kernel for. */
bool refuses(const char *form)
{
    const char *what = getenv("EMULATED_REFUSE");
    return what && !strcmp(what, form);
}

size_t bytes_of(cudaDataType_t type)
{
    return type == CUDA_R_8I ? 1 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 4;
}

float rounded_to_tf32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

float float_at(const void *memory, cudaDataType_t type, int64_t i)
{
    if (type == CUDA_R_16F)
        return __half2float(static_cast<const __half *>(memory)[i]);
    if (type == CUDA_R_16BF)
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(memory)[i]);
    return static_cast<const float *>(memory)[i];
}

/* Matrix `index` of an operand as lines of k numbers: what a sum runs along lies side by side. */
template <typename T> std::vector<T> packed(const operand &of, int64_t index, int64_t k, bool tf32)
{
    int64_t across = of.along ? of.lines : of.length;
    std::vector<T> out(static_cast<size_t>(across * k));
    for (int64_t i = 0; i < across; i++) {
        for (int64_t j = 0; j < k; j++) {
            int64_t at = index * of.between + (of.along ? i * of.stride + j : j * of.stride + i);
            T value;
            if constexpr (std::is_same_v<T, int32_t>)
                value = static_cast<const int8_t *>(of.memory)[at];
            else
                value = tf32 ? rounded_to_tf32(float_at(of.memory, of.type, at))
                             : float_at(of.memory, of.type, at);
            out[static_cast<size_t>(i * k + j)] = value;
        }
    }
    return out;
}

struct product {
    operand a, b;
    int64_t m, n, k, ldc, between, count;
    void *c;
    cudaDataType_t type_c;
    float alpha, beta;
    bool tf32;
    const float *bias; /* of a column's places, or NULL */
    int64_t parts;     /* of a sum: several are rounded to the type of c, and so are their sums */
};

/* What is added up as one. */
template <typename T> T rounded_part(const product &p, T sum)
{
    if constexpr (std::is_same_v<T, double>) {
        float part = static_cast<float>(sum);
        if (p.parts > 1)
            return p.type_c == CUDA_R_16F ? __half2float(__float2half_rn(part))
                                          : __bfloat162float(__float2bfloat16_rn(part));
    }
    return sum;
}

/* What is not asked for is not read: it may be NaN. */
template <typename T> void store(const product &p, int64_t at, T sum)
{
    if constexpr (std::is_same_v<T, int64_t>) {
        int32_t *out = static_cast<int32_t *>(p.c) + at;
        T before = p.beta != 0 ? static_cast<T>(p.beta) * *out : 0;
        *out = static_cast<int32_t>(static_cast<T>(p.alpha) * sum + before);
    } else {
        T before = p.beta != 0 ? static_cast<T>(p.beta) * float_at(p.c, p.type_c, at) : 0;
        float value = static_cast<float>(static_cast<T>(p.alpha) * sum + before);
        if (p.type_c == CUDA_R_16F)
            static_cast<__half *>(p.c)[at] = __float2half_rn(value);
        else if (p.type_c == CUDA_R_16BF)
            static_cast<__nv_bfloat16 *>(p.c)[at] = __float2bfloat16_rn(value);
        else
            static_cast<float *>(p.c)[at] = value;
    }
}

/* Sums of T over numbers of N. */
template <typename T, typename N> void multiply(const product &p)
{
    for (int64_t index = 0; index < p.count; index++) {
        std::vector<N> a = packed<N>(p.a, index, p.k, p.tf32),
                       b = packed<N>(p.b, index, p.k, p.tf32);
#pragma omp parallel for
        for (int64_t j = 0; j < p.n; j++) {
            for (int64_t i = 0; i < p.m; i++) {
                const N *x = a.data() + i * p.k, *y = b.data() + j * p.k;
                T sum = 0;
                for (int64_t part = 0; part < p.parts; part++) {
                    T of_part = 0;
                    int64_t end = p.k * (part + 1) / p.parts;
#pragma omp simd reduction(+ : of_part)
                    for (int64_t l = p.k * part / p.parts; l < end; l++)
                        of_part += static_cast<T>(x[l]) * static_cast<T>(y[l]);
                    sum = rounded_part(p, sum + rounded_part(p, of_part));
                }
                sum += p.bias ? static_cast<T>(p.bias[i]) : 0;
                store(p, index * p.between + j * p.ldc + i, sum);
            }
        }
    }
}

void check(const char *call, const operand &of, int64_t count, int device)
{
    int64_t elements = (count - 1) * of.between + (of.lines - 1) * of.stride + of.length;
    if (of.lines && of.length)
        emulated_check_range(call, of.memory, static_cast<size_t>(elements) * bytes_of(of.type),
                             device);
}

/* Parts of a sum where a handle lets cuBLAS round them. */
const int64_t PARTS = 4;

cublasStatus_t start(cublasHandle_t handle, const char *call, product p)
{
    bool is_short = p.type_c == CUDA_R_16F || p.type_c == CUDA_R_16BF;
    p.parts = is_short && !handle->sums_whole ? PARTS : 1;
    bool integers = p.a.type == CUDA_R_8I;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(handle->stream, &capture);
    if (handle->device != emulated_device)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (emulated_fails(call) || (capture != cudaStreamCaptureStatusNone && !handle->workspace))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    /* What it would be without a workspace, slower or another algorithm, does not show here. */
    if (!handle->workspace && refuses("bare"))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.a.stride < p.a.length || p.b.stride < p.b.length ||
        p.ldc < p.m || p.a.type != p.b.type)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (integers && (p.a.stride % 4 || p.b.stride % 4 || p.ldc % 4 ||
                     reinterpret_cast<uintptr_t>(p.a.memory) % 4 ||
                     reinterpret_cast<uintptr_t>(p.b.memory) % 4 || refuses("int8")))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (integers && refuses("int8 as invalid"))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (integers && refuses("int8 by error"))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    check(call, p.a, p.count, handle->device);
    check(call, p.b, p.count, handle->device);
    check(call, {p.c, p.type_c, false, p.n, p.m, p.ldc, p.between}, p.count, handle->device);
    /* What cuBLAS does inside: it launches a kernel. */
    emulated_call inside("cudaLaunchKernel");
    stand_in_operation what =
        emulated_kernel(inside, integers ? "emulated_gemm_int8" : "emulated_gemm", p.count, 256);
    return emulated_enqueue(handle->stream, what,
                            [p, integers] {
                                if (emulated_ignores("products"))
                                    return;
                                if (integers)
                                    multiply<int64_t, int32_t>(p);
                                else
                                    multiply<double, float>(p);
                            }) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INTERNAL_ERROR;
}
} // namespace

const char *cublasGetStatusString(cublasStatus_t status)
{
    static const char *const names[] = {
        "CUBLAS_STATUS_SUCCESS",       "CUBLAS_STATUS_INVALID_VALUE",
        "CUBLAS_STATUS_NOT_SUPPORTED", "CUBLAS_STATUS_INTERNAL_ERROR",
        "CUBLAS_STATUS_ALLOC_FAILED",  "CUBLAS_STATUS_ARCH_MISMATCH"};
    return names[status];
}

cublasStatus_t cublasGetProperty(libraryPropertyType, int *value)
{
    *value = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (emulated_fails(__func__))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    if (emulated_lacks(__func__))
        return CUBLAS_STATUS_ALLOC_FAILED;
    *handle = new emulated_products{nullptr, nullptr, false, emulated_device};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (emulated_fails(__func__))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    handle->stream = stream;
    handle->workspace = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (emulated_fails(__func__))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    if (reinterpret_cast<uintptr_t>(workspace) % 256)
        return CUBLAS_STATUS_INVALID_VALUE;
    emulated_check_range("cublasSetWorkspace", workspace, bytes, handle->device);
    handle->workspace = workspace;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (emulated_fails(__func__))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    if (!emulated_ignores("mode"))
        handle->sums_whole = mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                              cublasOperation_t transpose_b, int64_t m, int64_t n, int64_t k,
                              const float *alpha, const float *a, int64_t lda, const float *b,
                              int64_t ldb, const float *beta, float *c, int64_t ldc)
{
    return cublasGemmStridedBatchedEx_64(
        handle, transpose_a, transpose_b, m, n, k, alpha, a, CUDA_R_32F, lda, 0, b, CUDA_R_32F, ldb,
        0, beta, c, CUDA_R_32F, ldc, 0, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                               cublasOperation_t transpose_b, int64_t m, int64_t n, int64_t k,
                               const void *alpha, const void *a, cudaDataType_t type_a, int64_t lda,
                               const void *b, cudaDataType_t type_b, int64_t ldb, const void *beta,
                               void *c, cudaDataType_t type_c, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    return cublasGemmStridedBatchedEx_64(handle, transpose_a, transpose_b, m, n, k, alpha, a,
                                         type_a, lda, 0, b, type_b, ldb, 0, beta, c, type_c, ldc, 0,
                                         1, compute, algorithm);
}

/* Columns are the lines: m by k in k columns, or its transpose in m. */
cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int64_t m,
    int64_t n, int64_t k, const void *alpha, const void *a, cudaDataType_t type_a, int64_t lda,
    int64_t stride_a, const void *b, cudaDataType_t type_b, int64_t ldb, int64_t stride_b,
    const void *beta, void *c, cudaDataType_t type_c, int64_t ldc, int64_t stride_c, int64_t count,
    cublasComputeType_t compute, cublasGemmAlgo_t)
{
    bool integers = compute == CUBLAS_COMPUTE_32I, turned_a = transpose_a == CUBLAS_OP_T,
         turned_b = transpose_b == CUBLAS_OP_T;
    if (integers != (type_a == CUDA_R_8I) || integers != (type_c == CUDA_R_32I) ||
        (type_c == CUDA_R_16BF && type_a != CUDA_R_16BF) ||
        (type_c == CUDA_R_16F && type_a != CUDA_R_16F) || type_c == CUDA_R_8I || count < 1)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    product p = {};
    p.a = {a, type_a, turned_a, turned_a ? m : k, turned_a ? k : m, lda, stride_a};
    p.b = {b, type_b, !turned_b, turned_b ? k : n, turned_b ? n : k, ldb, stride_b};
    p.m = m;
    p.n = n;
    p.k = k;
    p.ldc = ldc;
    p.between = stride_c;
    p.count = count;
    p.c = c;
    p.type_c = type_c;
    p.alpha = integers ? static_cast<float>(*static_cast<const int32_t *>(alpha))
                       : *static_cast<const float *>(alpha);
    p.beta = integers ? static_cast<float>(*static_cast<const int32_t *>(beta))
                      : *static_cast<const float *>(beta);
    p.tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    return start(handle, integers ? "cublasGemmEx_64" : "cublasGemm", p);
}

/* --- with a bias --- */

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDescOpaque_t *product,
                                      cublasComputeType_t compute, cudaDataType_t scale)
{
    *product = {CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t put(void *to, size_t room, const void *value, size_t size)
{
    if (room != size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t *product,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t size)
{
    switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return put(&product->transpose_a, sizeof(product->transpose_a), value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return put(&product->transpose_b, sizeof(product->transpose_b), value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return put(&product->epilogue, sizeof(product->epilogue), value, size);
    default:
        return put(&product->bias, sizeof(product->bias), value, size);
    }
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayoutOpaque_t *layout, cudaDataType_t type,
                                        uint64_t rows, uint64_t columns, int64_t line)
{
    *layout = {type, rows, columns, line};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreferenceOpaque_t *wanted)
{
    *wanted = {0, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t *wanted,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *value, size_t size)
{
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return put(&wanted->workspace, sizeof(wanted->workspace), value, size);
    uint32_t *alignment = &wanted->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
    return put(alignment, sizeof(*alignment), value, size);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDescOpaque_t *,
                                              cublasLtMatrixLayoutOpaque_t *,
                                              cublasLtMatrixLayoutOpaque_t *,
                                              cublasLtMatrixLayoutOpaque_t *,
                                              cublasLtMatrixLayoutOpaque_t *,
                                              cublasLtMatmulPreferenceOpaque_t *wanted, int most,
                                              cublasLtMatmulHeuristicResult_t *found, int *count)
{
    *count = most > 0 && !refuses("bias");
    if (!*count)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    found->algo.workspace = found->workspaceSize = wanted->workspace;
    memcpy(found->algo.alignment, wanted->alignment, sizeof(wanted->alignment));
    found->state = CUBLAS_STATUS_SUCCESS;
    return CUBLAS_STATUS_SUCCESS;
}

/* As the algorithm was promised. */
static bool is_kept(const cublasLtMatmulAlgo_t &algo, const void *const *matrices, size_t workspace)
{
    for (int i = 0; i < 4; i++)
        if (reinterpret_cast<uintptr_t>(matrices[i]) % algo.alignment[i])
            return false;
    return workspace >= algo.workspace;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t *of,
                              const void *alpha, const void *a, cublasLtMatrixLayoutOpaque_t *of_a,
                              const void *b, cublasLtMatrixLayoutOpaque_t *of_b, const void *beta,
                              const void *c, cublasLtMatrixLayoutOpaque_t *, void *d,
                              cublasLtMatrixLayoutOpaque_t *of_d, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t bytes, cudaStream_t stream)
{
    const void *const matrices[] = {a, b, c, d};
    bool turned_a = of->transpose_a == CUBLAS_OP_T, turned_b = of->transpose_b == CUBLAS_OP_T;
    int64_t m = static_cast<int64_t>(of_d->rows), n = static_cast<int64_t>(of_d->columns);
    int64_t k = static_cast<int64_t>(turned_a ? of_a->rows : of_a->columns);
    if (!is_kept(*algo, matrices, bytes) || c != d || handle->stream != stream ||
        of->epilogue != CUBLASLT_EPILOGUE_BIAS ||
        (turned_b ? of_b->columns : of_b->rows) != static_cast<uint64_t>(k))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes)
        emulated_check_range("cublasLtMatmul", workspace, bytes, handle->device);
    emulated_check_range("cublasLtMatmul", of->bias, static_cast<size_t>(m) * sizeof(float),
                         handle->device);
    /* No preference tells how a bias lies: cuBLASLt's kernels may read it 16 bytes at a time, and fault. */
    if (reinterpret_cast<uintptr_t>(of->bias) % 16)
        emulated_stop("cublasLtMatmul: a bias that is no multiple of 16 bytes");
    product p = {};
    p.a = {a, of_a->type, turned_a, turned_a ? m : k, turned_a ? k : m, of_a->line, 0};
    p.b = {b, of_b->type, !turned_b, turned_b ? k : n, turned_b ? n : k, of_b->line, 0};
    p.m = m;
    p.n = n;
    p.k = k;
    p.ldc = of_d->line;
    p.count = 1;
    p.c = d;
    p.type_c = of_d->type;
    p.alpha = *static_cast<const float *>(alpha);
    p.beta = *static_cast<const float *>(beta);
    p.bias = static_cast<const float *>(of->bias);
    return start(handle, "cublasGemm", p);
}
