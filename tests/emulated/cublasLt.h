/*
 * A stand-in for cuBLASLt; see cublas_v2.h. A product of float with a bias is all that it has, and it refuses even that
 * with EMULATED_REFUSE=bias.
 */
#ifndef EMULATED_CUBLASLT_H
#define EMULATED_CUBLASLT_H

#include "cublas_v2.h"

typedef cublasHandle_t cublasLtHandle_t;

enum cublasLtEpilogue_t { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4 };
enum cublasLtMatmulDescAttributes_t {
    CUBLASLT_MATMUL_DESC_TRANSA,
    CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER,
};
enum cublasLtMatmulPreferenceAttributes_t {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
};

struct cublasLtMatmulDescOpaque_t {
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};
struct cublasLtMatrixLayoutOpaque_t {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t line;
};
struct cublasLtMatmulPreferenceOpaque_t {
    size_t workspace;
    uint32_t alignment[4];
};
/* What was asked for: an algorithm wants it when it runs. */
struct cublasLtMatmulAlgo_t {
    size_t workspace;
    uint32_t alignment[4];
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
};

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDescOpaque_t *product,
                                      cublasComputeType_t compute, cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t *product,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t size);
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayoutOpaque_t *layout, cudaDataType_t type,
                                        uint64_t rows, uint64_t columns, int64_t line);
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreferenceOpaque_t *wanted);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t *wanted,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *value, size_t size);
cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t *product,
                               cublasLtMatrixLayoutOpaque_t *a, cublasLtMatrixLayoutOpaque_t *b,
                               cublasLtMatrixLayoutOpaque_t *c, cublasLtMatrixLayoutOpaque_t *d,
                               cublasLtMatmulPreferenceOpaque_t *wanted, int most,
                               cublasLtMatmulHeuristicResult_t *found, int *count);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t *product,
                              const void *alpha, const void *a, cublasLtMatrixLayoutOpaque_t *of_a,
                              const void *b, cublasLtMatrixLayoutOpaque_t *of_b, const void *beta,
                              const void *c, cublasLtMatrixLayoutOpaque_t *of_c, void *d,
                              cublasLtMatrixLayoutOpaque_t *of_d, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t bytes, cudaStream_t stream);

#endif
