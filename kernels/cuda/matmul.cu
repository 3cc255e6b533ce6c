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

/* Numbers of `low`, rounded to nearest, ties to even: of two arrays in one launch. */
template <typename low> struct round_args {
    struct {
        low *out;
        const real *in;
        int64_t n;
    } part[2];
};

template <typename low> static __global__ void round_numbers(round_args<low> a)
{
    int64_t of_first = NVT_CHUNKS(a.part[0].n), row = blockIdx.x;
    auto round_chunk = [](int64_t chunk, const auto &part) {
        nvt_map_chunk(chunk, part.n, part.out, part.in, part.in,
                      [](real x, real) { return low(x); });
    };
    if (row < of_first)
        round_chunk(row, a.part[0]);
    else
        round_chunk(row - of_first, a.part[1]);
}

template <typename low> static void launch_round(const round_args<low> &args)
{
    NVT_LAUNCH(round_numbers, NVT_CHUNKS(args.part[0].n) + NVT_CHUNKS(args.part[1].n), args);
}

struct inputs {
    const void *left, *right; /* NULL: there is no memory for them */
};

/* Rounded copies of what is not rounded yet; that of the left one may be the one of the product before. */
template <typename low>
static inputs rounded(const struct nvt_matmul *shape, const real *a, const real *b)
{
    static thread_local struct {
        const real *in;
        int64_t elements;
        low *made;
    } before;
    int64_t of_a = (shape->count - 1) * shape->stride_a + shape->m * shape->k;
    int64_t of_b = (shape->count - 1) * shape->stride_b + shape->k * shape->n;
    int is_there = shape->same_a && before.in == a && before.elements == of_a && before.made;
    round_args<low> args = {
        {{before.made, a, is_there ? 0 : of_a}, {NULL, b, shape->b_is_rounded ? 0 : of_b}}};
    for (int i = 0; i < 2; i++) {
        int64_t n = args.part[i].n;
        if (n && !(args.part[i].out = (low *)nvt_cuda_scratch(i, (size_t)n * sizeof(low))))
            return {NULL, NULL};
    }
    before = {a, of_a, args.part[0].out};
    launch_round(args);
    return {args.part[0].out, shape->b_is_rounded ? (const void *)b : args.part[1].out};
}

/* As cuBLAS shall read them: float as it lies, the lower ones as rounded copies. */
static inputs inputs_of(const struct nvt_matmul *shape, const real *a, const real *b)
{
    if (shape->precision == NVT_BF16)
        return rounded<__nv_bfloat16>(shape, a, b);
    if (shape->precision == NVT_FP16)
        return rounded<__half>(shape, a, b);
    return {a, b};
}

size_t nvt_backend_rounded_bytes(enum nvt_precision precision, int64_t n)
{
    return precision == NVT_BF16 || precision == NVT_FP16 ? (size_t)n * sizeof(uint16_t) : 0;
}

void nvt_backend_round(enum nvt_precision precision, void *copy, const real *in, int64_t n)
{
    if (precision == NVT_BF16)
        launch_round<__nv_bfloat16>({{{(__nv_bfloat16 *)copy, in, n}, {NULL, NULL, 0}}});
    else if (precision == NVT_FP16)
        launch_round<__half>({{{(__half *)copy, in, n}, {NULL, NULL, 0}}});
}

void nvt_backend_matmul_batched(const struct nvt_matmul *shape, const real *a, const real *b,
                                real *c)
{
    int64_t m = shape->m, n = shape->n, k = shape->k;
    cublasHandle_t handle = shape->count > 0 && m && n ? nvt_cublas_handle() : NULL;
    inputs in = handle ? inputs_of(shape, a, b) : inputs{NULL, NULL};
    if (!in.left || !in.right)
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
            ? cublasGemmEx_64(handle, turn_right, turn_left, n, m, k, &shape->alpha, in.right, type,
                              right_line, in.left, type, left_line, &shape->beta, c, CUDA_R_32F, n,
                              compute, CUBLAS_GEMM_DEFAULT)
            : cublasGemmStridedBatchedEx_64(
                  handle, turn_right, turn_left, n, m, k, &shape->alpha, in.right, type, right_line,
                  shape->stride_b, in.left, type, left_line, shape->stride_a, &shape->beta, c,
                  CUDA_R_32F, n, shape->stride_c, shape->count, compute, CUBLAS_GEMM_DEFAULT);
    nvt_cublas_note(status, "cublasGemmEx");
}

int nvt_backend_emulates(enum nvt_precision precision)
{
    (void)precision;
    return 0;
}
