/*
 * The gradient of an embedding's table (embedding.h). A block has a place of the text; that of a token's first occurrence
 * adds up all of them, and looks for them as many at a time as it has threads.
 */
#include "embedding.h"

#define WARPS (NVT_BLOCK / 32)

struct table_args {
    real *out;
    const real *dout;
    const int32_t *token;
    int64_t count, n;
};

static __device__ int is_first(const table_args &a, int64_t row, int32_t token)
{
    int earlier = 0;
#pragma unroll 4
    for (int64_t k = threadIdx.x; k < row; k += NVT_BLOCK)
        earlier |= a.token[k] == token;
    return block_max((real)earlier) == 0;
}

/* out[n] += the rows that have a bit, the lowest of which is of row `first`. */
static __device__ void add_rows(const table_args &a, real *out, int64_t first, uint32_t bits)
{
    for (; bits; bits &= bits - 1) {
        const real *dout = a.dout + (first + __ffs(bits) - 1) * a.n;
        FOR_THREADS(i, a.n)
        {
            out[i] += NVT_READ(dout[i]);
        }
    }
}

/* What is read of a turn is written again in the next but one: one barrier a turn is enough. */
static __global__ void add_to_table_device(table_args a)
{
    __shared__ uint32_t same[2][WARPS];
    int64_t row = blockIdx.x;
    int32_t token = a.token[row];
    if (!is_first(a, row, token))
        return;
    int turn = 0;
    for (int64_t first = row; first < a.count; first += NVT_BLOCK, turn ^= 1) {
        int64_t k = first + threadIdx.x;
        uint32_t bits = __ballot_sync(0xffffffffu, k < a.count && a.token[k] == token);
        if (threadIdx.x % 32 == 0)
            same[turn][threadIdx.x / 32] = bits;
        __syncthreads();
        for (int warp = 0; warp < WARPS; warp++)
            add_rows(a, a.out + token * a.n, first + 32 * warp, same[turn][warp]);
    }
}

void nvt_cuda_add_to_table(real *dtable, const real *dout, const int32_t *token, int64_t count,
                           int64_t n)
{
    table_args args = {dtable, dout, token, count, n};
    NVT_LAUNCH(add_to_table_device, count, args);
}
