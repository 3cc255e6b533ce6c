/*
 * Multi-head attention (Vaswani et al., 2017) in its three parts, so that each can be timed by
 * itself:
 *
 *   scores  s = scale · q · kᵀ      q, k, v, out: [groups][length][width]
 *   softmax p = softmax of s' rows  s, p:         [groups][length][length]
 *   values  out = p · v
 *
 * A group is one head of one sample. `causal`: position t attends to positions 0 … t; p is zero
 * beyond. Products are over whole matrices, what the mask hides included. scale is 1/√width.
 *
 * All arrays, of heads too, are stored numbers of the precision (nvt_backend_stored_bytes), but a bias, which is real.
 */
#ifndef NVT_ATTENTION_H
#define NVT_ATTENTION_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nvt_attention {
    int64_t groups, length, width;
    int causal;
    enum nvt_precision precision; /* of the products; the softmax computes in real */
};

void nvt_attention_scores(const struct nvt_attention *attention, void *s, const void *q,
                          const void *k);
/* p may be s. */
void nvt_attention_softmax(const struct nvt_attention *attention, void *p, const void *s);
void nvt_attention_values(const struct nvt_attention *attention, void *out, const void *p,
                          const void *v);

/* dp = dout · vᵀ, dv = pᵀ · dout. */
void nvt_attention_values_backward(const struct nvt_attention *attention, void *dp, void *dv,
                                   const void *dout, const void *p, const void *v);
/* ds = p · (dp − Σ p·dp), by rows; zero where p is masked. ds may be dp. */
void nvt_attention_softmax_backward(const struct nvt_attention *attention, void *ds, const void *p,
                                    const void *dp);
/* dq = scale · ds · k, dk = scale · dsᵀ · q. */
void nvt_attention_scores_backward(const struct nvt_attention *attention, void *dq, void *dk,
                                   const void *ds, const void *q, const void *k);

/*
 * From a projection's rows to the groups' matrices and back. Row r of `rows` has `parts` blocks (3:
 * q, k, v) of heads · width features. The rows of one sample, position t of sample s, are row s ·
 * sample_step + t · position_step: sample_step = length, position_step = 1 where samples lie one
 * behind the other, the other way round ([length][samples]) sample_step = 1, position_step =
 * samples.
 */
struct nvt_heads {
    int64_t samples, length, heads, width, parts;
    int64_t sample_step, position_step;
    enum nvt_precision precision;
};
/* split[parts][samples · heads][length][width] = rows[samples · length][parts · heads · width] + bias[parts ·
 * heads · width], which may be NULL. */
void nvt_heads_split(const struct nvt_heads *shape, void *split, const void *rows,
                     const real *bias);
void nvt_heads_merge(const struct nvt_heads *shape, void *rows, const void *split);

#ifdef __cplusplus
}
#endif
#endif
