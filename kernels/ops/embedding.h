/*
 * Embedding of tokens with learned positions: row i of out is table[token[i]] + position[i mod
 * length]. Its gradient sums the rows of each token and of each position in their order, so that it
 * is the same in every run: no atomic additions.
 */
#ifndef NVT_EMBEDDING_H
#define NVT_EMBEDDING_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * out[count][n] from table[tokens][n] and token[count]; position[length][n] may be NULL, for none.
 * Every token is below the number of the table's rows: that is the caller's to see to.
 */
void nvt_embedding_forward(real *out, const real *table, const real *position, const int32_t *token,
                           int64_t count, int64_t length, int64_t n);

/* dtable[tokens][n] and dposition[length][n] += from dout[count][n]; either may be NULL. */
void nvt_embedding_backward(real *dtable, real *dposition, const real *dout, const int32_t *token,
                            int64_t count, int64_t length, int64_t n);

/* n tokens in [0, bound), a function of (seed, stream, place) alone. Philox4x32-10 modulo bound:
 * its preference for small tokens is below bound / 2³². */
void nvt_random_tokens(int32_t *token, int64_t n, int32_t bound, uint64_t seed, uint64_t stream);

#ifdef __cplusplus
}
#endif
#endif
