/*
 * The layers of the fragment study: parameters with their gradients and Adam's moments, and the passes
 * over them. Apart from the workloads, so that tests run the same passes in double precision.
 */
#ifndef NVT_LAYER_H
#define NVT_LAYER_H

#include "../../lib/nvtx.h"
#include "../frame/allocator.h"
#include "../ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nvt_layer_mode { NVT_LINEAR, NVT_TRAIN, NVT_INFERENCE };

struct nvt_parameter {
    real *value, *gradient, *m, *v; /* each of `count` */
    int64_t count;
};

/* linear: weight and bias. fragmented: selector, expert, compressor, expansion. */
enum { NVT_WEIGHT = 0, NVT_BIAS = 1 };
enum { NVT_SELECTOR = 0, NVT_EXPERT = 1, NVT_COMPRESSOR = 2, NVT_EXPANSION = 3 };

struct nvt_layer {
    enum nvt_layer_mode mode;
    int grouped; /* inference: all samples in one launch, else a host loop over the fragments */
    int64_t batch, in, out, fragments, width, compressed; /* width = in / fragments */
    struct nvt_parameter parameters[4];
    int parameter_count;
    int64_t step;     /* Adam's */
    real *x, *target; /* [batch][in], [batch][out] */
    real *y, *dy;     /* [batch][out] */
    /* fragmented: */
    real *score, *p, *dp, *dscore;  /* [batch][fragments] */
    real *xs, *xm, *dxs, *dxm;      /* [batch][in] */
    real *h, *dh;                   /* [batch][compressed] */
    int32_t *chosen, *rows, *found; /* [batch], [batch], [1] */
    /* Called before and after each fragment of the looped form; may be NULL. */
    void (*fragment_begin)(void *user, int64_t fragment);
    void (*fragment_end)(void *user);
    void *user;
    struct nvt_allocator *allocator;
};

/* The parameter count of a layer, from its shapes alone. */
uint64_t nvt_layer_parameters(enum nvt_layer_mode mode, int64_t in, int64_t out);

/*
 * Take memory for the shapes that are set (mode, grouped, batch, in, out, fragments, allocator) and fill
 * weights, x and target with normal numbers of the seed. 0, or -1 when the allocator refuses.
 */
int nvt_layer_setup(struct nvt_layer *layer, uint64_t seed);
void nvt_layer_teardown(struct nvt_layer *layer);

/* y from x. -1 when memory is out (looped only: it packs rows). */
int nvt_layer_forward(struct nvt_layer *layer);

/* Gradients of mean((y - target)²), whatever they were before; x's is left out as nobody asks for it. */
void nvt_layer_backward(struct nvt_layer *layer);

/* One Adam step: lr 1e-3, betas 0.9 and 0.999, epsilon 1e-8. */
void nvt_layer_step(struct nvt_layer *layer);

/*
 * FLOPs (a multiply-add is two) and bytes of one forward, one backward and one step of Adam. Bytes are what
 * must be moved once: weights, activations, gradients and moments. docs/workloads.md counts them by hand.
 */
struct nvt_layer_work {
    struct nvt_work_payload forward, backward, step;
};
struct nvt_layer_work nvt_layer_count_work(const struct nvt_layer *layer);

#ifdef __cplusplus
}
#endif
#endif
