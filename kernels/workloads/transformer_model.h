/*
 * A decoder-only language model with its passes written out by hand: learned positions, pre-norm
 * blocks of RMSNorm, causal multi-head attention, RMSNorm and a GELU feed-forward, a final RMSNorm,
 * an output projection of its own, cross-entropy. No biases. docs/workloads.md has the formulas and
 * counts. Apart from the workload, so that tests run the same passes in double precision.
 */
#ifndef NVT_TRANSFORMER_MODEL_H
#define NVT_TRANSFORMER_MODEL_H

#include "../../lib/nvtx.h"
#include "../frame/allocator.h"
#include "../ops/ops.h"
#include "../ops/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NVT_LAYERS_MOST 256

/* How far an iteration goes: what is not needed for it is not kept. */
enum nvt_transformer_pass { NVT_PASS_FORWARD, NVT_PASS_BACKWARD, NVT_PASS_TRAIN };

/* The parts of a pass that have a range of their own. */
enum nvt_transformer_part {
    NVT_PART_EMBEDDING,
    NVT_PART_NORM,
    NVT_PART_ATTENTION, /* projections included */
    NVT_PART_SCORES,    /* these three lie within attention */
    NVT_PART_SOFTMAX,
    NVT_PART_VALUES,
    NVT_PART_MLP,
    NVT_PART_LM_HEAD,
    NVT_PART_LOSS,
    NVT_PARTS,
};

struct nvt_transformer_shape {
    int64_t d_model, d_ff, layers, heads; /* d_model is a multiple of heads */
    int64_t vocabulary, batch, context;
    enum nvt_precision precision; /* of matrix products and of what they read; see below */
    enum nvt_transformer_pass pass;
};

/* A matrix or vector of parameters and its gradient, places in the model's flat arrays. */
struct nvt_tensor {
    real *value, *gradient;
    int64_t count;
};

/*
 * What products read lies in memory as they read it, stored numbers of the precision (`void *`): the kernel that makes them
 * rounds them. So do products store what goes to the next kernel alone. real are the residual stream with its gradient, the
 * logits, and parameters, gradients and moments.
 */
struct nvt_transformer_layer {
    /* [d], [3d][d], [d][d], [d], [d_ff][d], [d][d_ff] */
    struct nvt_tensor norm1, qkv, projection, norm2, up, down;
    /* What the backward pass needs, N = batch · context rows: the residual stream before attention
     * and before the feed-forward, their norms, q, k and v by heads, the attention's weights and
     * output, the feed-forward's hidden features before and behind GELU. */
    real *x1, *r1, *x2, *r2;       /* [N][d], [N], [N][d], [N] */
    void *n1, *heads, *p, *merged; /* [N][d], [3][…], [B·H][T][T], [N][d] */
    void *n2, *u, *h;              /* [N][d], [N][d_ff], [N][d_ff] */
};

struct nvt_transformer {
    struct nvt_transformer_shape shape;
    struct nvt_allocator *allocator;
    /* Called around each part; may be NULL. */
    void (*part_begin)(void *user, enum nvt_transformer_part part, int is_backward);
    void (*part_end)(void *user);
    void *user;

    real *values, *gradients, *m, *v; /* all parameters, each `places` long */
    int64_t places;                   /* parameters, and the gaps that align each tensor */
    int64_t summed; /* of these, the first whose gradients are sums: norms and embeddings */
    /* The others, which products read: stored numbers, kept up by each step; NULL where those are real. */
    void *weights;
    size_t stored;                                 /* bytes of a stored number */
    struct nvt_tensor table, position, norm, head; /* [V][d], [T][d], [d], [V][d] */
    struct nvt_transformer_layer *layers;
    real *clock; /* AdamW's */

    int32_t *token, *target;    /* [N] */
    real *x, *r, *logits, *lse; /* behind the last layer: [N][d], [N], [N][V], [N] */
    void *n;                    /* [N][d] */
    real *losses, *loss;        /* [N], [1] */
    /* Scratch of the passes. Where stored numbers are real, dlogits is logits and dstream dx. */
    void *rows, *groups;                    /* [N][3d], [N][d] */
    real *dx;                               /* [N][d] */
    void *dstream, *dlogits;                /* what products read of dx; [N][V] */
    void *dn, *dh, *dheads, *dp;            /* [N][d], [N][d_ff], [3][…], [B·H][T][T] */
    real *scratch;                          /* of the norms */
    void *taken[NVT_LAYERS_MOST * 11 + 40]; /* all memory, for teardown */
    int taken_count;
};

/* Parameters of a shape. */
uint64_t nvt_transformer_parameters(const struct nvt_transformer_shape *shape);

/*
 * Take memory for the shape, fill the weights (normal, deviation 0.02; norms 1) and draw tokens and
 * targets, all by the seed: tensor i in the order of the struct's declaration (table, position,
 * norm, head, then each layer's) is stream i + 1. 0, or -1 when the allocator refuses.
 */
int nvt_transformer_setup(struct nvt_transformer *model, uint64_t seed);
void nvt_transformer_teardown(struct nvt_transformer *model);

/* The logits and *loss (on the device), the mean of the tokens' cross-entropies. */
void nvt_transformer_forward(struct nvt_transformer *model);

/* All gradients, times the loss scale of the precision. The logits are overwritten. */
void nvt_transformer_backward(struct nvt_transformer *model);

/* One AdamW step: lr 1e-3, betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.01 on all parameters.
 */
void nvt_transformer_step(struct nvt_transformer *model);

/* What the loss is multiplied with, so that small gradients survive binary16: 2¹⁶ there, else 1. */
double nvt_transformer_loss_scale(enum nvt_precision precision);

/* The loss of the last forward pass; waits for the device. */
double nvt_transformer_loss(const struct nvt_transformer *model);

#ifdef __cplusplus
}
#endif
#endif
