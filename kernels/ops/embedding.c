#include "embedding.h"

#include "philox.h"
#include "real_math.h"

#ifdef __CUDACC__
#include "../cuda/embedding.h"
#endif

struct embedding_args {
    real *out;
    const real *table, *position;
    const int32_t *token;
    int64_t count, length, n;
};

NVT_KERNEL(embedding_forward, embedding_args)
{
    const real *table = a.table + a.token[row] * a.n;
    const real *position = a.position ? a.position + row % a.length * a.n : NULL;
    FOR_THREADS(i, a.n)
    {
        a.out[row * a.n + i] = NVT_READ(table[i]) + (position ? NVT_READ(position[i]) : 0);
    }
}

#ifndef __CUDACC__
/* The row of a token's first occurrence sums all of them. `table` is the gradient of the output. */
NVT_KERNEL(embedding_backward_table, embedding_args)
{
    int32_t token = a.token[row];
    real earlier = 0;
    FOR_THREADS(k, row)
    {
        earlier += a.token[k] == token;
    }
    earlier = block_sum(earlier);
    for (int64_t k = row; earlier == 0 && k < a.count; k++) {
        if (a.token[k] == token)
            FOR_THREADS(i, a.n)
        a.out[token * a.n + i] += a.table[k * a.n + i];
    }
}

static void add_to_table(real *dtable, const real *dout, const int32_t *token, int64_t count,
                         int64_t n)
{
    struct embedding_args args = {dtable, dout, NULL, token, count, 0, n};
    NVT_LAUNCH(embedding_backward_table, count, args);
}
#else
#define add_to_table nvt_cuda_add_to_table
#endif

NVT_KERNEL(embedding_backward_position, embedding_args)
{
#ifdef __CUDACC__
    /* The sum stays in a register; the host's rows stream by. */
    for (int64_t i = threadIdx.x; i < a.n; i += NVT_BLOCK) {
        real sum = 0;
#pragma unroll 4
        for (int64_t k = row; k < a.count; k += a.length)
            sum += a.table[k * a.n + i];
        a.out[row * a.n + i] += sum;
    }
#else
    for (int64_t k = row; k < a.count; k += a.length)
        FOR_THREADS(i, a.n)
    a.out[row * a.n + i] += a.table[k * a.n + i];
#endif
}

void nvt_embedding_forward(real *out, const real *table, const real *position, const int32_t *token,
                           int64_t count, int64_t length, int64_t n)
{
    struct embedding_args args = {out, table, position, token, count, length, n};
    NVT_LAUNCH(embedding_forward, count, args);
}

void nvt_embedding_backward(real *dtable, real *dposition, const real *dout, const int32_t *token,
                            int64_t count, int64_t length, int64_t n)
{
    struct embedding_args args = {dposition, dout, NULL, token, count, length, n};
    if (dtable)
        add_to_table(dtable, dout, token, count, n);
    if (dposition)
        NVT_LAUNCH(embedding_backward_position, length < count ? length : count, args);
}

struct token_args {
    int32_t *token;
    int64_t n;
    uint32_t bound;
    uint64_t seed, stream;
};

NVT_KERNEL(fill_tokens, token_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n) {
            uint32_t words[4];
            philox_block(words, (uint64_t)i, a.stream, a.seed);
            a.token[i] = (int32_t)(words[0] % a.bound);
        }
    }
}

void nvt_random_tokens(int32_t *token, int64_t n, int32_t bound, uint64_t seed, uint64_t stream)
{
    struct token_args args = {token, n, (uint32_t)bound, seed, stream};
    NVT_LAUNCH(fill_tokens, NVT_CHUNKS(n), args);
}
