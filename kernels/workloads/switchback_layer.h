/*
 * One linear layer in fp16, and the operations of its int8 forms (SwitchBack): y = x·wᵀ, gx = g·w
 * in int8, gw = gᵀ·x always in fp16. Apart from the workload, so that tests run the same
 * operations.
 *
 * rowwise: a scale for each row of x, g and w; backward with a scale for each column of w.
 * global:  a scale for each row of x and g, one for the whole of w.
 */
#ifndef NVT_SWITCHBACK_LAYER_H
#define NVT_SWITCHBACK_LAYER_H

#include "../../lib/nvtx.h"
#include "../frame/allocator.h"
#include "../ops/ops.h"
#include "../ops/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations, in the order in which they are measured. */
enum nvt_switchback_op {
    NVT_STANDARD_FWD, /* y from x and w */
    NVT_STANDARD_GW,  /* gw from g and x */
    NVT_STANDARD_GX,  /* gx from g and w */
    NVT_X_QUANTIZE_ROWWISE,
    NVT_G_QUANTIZE_ROWWISE,
    NVT_W_QUANTIZE_ROWWISE,
    NVT_W_QUANTIZE_COLWISE_TRANSPOSE,
    NVT_W_QUANTIZE_GLOBAL,
    NVT_W_QUANTIZE_GLOBAL_TRANSPOSE,
    NVT_ROWWISE_FWD, /* y from the row-wise quantised x and w */
    NVT_ROWWISE_BWD, /* gx from the row-wise quantised g and the column-wise quantised w */
    NVT_GLOBAL_FWD,
    NVT_GLOBAL_BWD,
    NVT_CAST_X,
    NVT_CAST_G,
    NVT_CAST_W,
    NVT_SWITCHBACK_OPS
};

/* int8 weights, and their scales: of rows, of columns, of all. Those of columns and the second of
 * all are stored transposed, [in][out]. */
enum { NVT_W_ROWS, NVT_W_COLUMNS, NVT_W_ALL, NVT_W_ALL_TURNED, NVT_W_FORMS };

struct nvt_switchback {
    int64_t batch, in, out;
    struct nvt_allocator *allocator;
    nvt_half *x, *g, *w;   /* [batch][in], [batch][out], [out][in] */
    nvt_half *y, *gx, *gw; /* [batch][out], [batch][in], [out][in] */
    int8_t *x8, *g8;       /* as x and g */
    int8_t *w8[NVT_W_FORMS];
    float *sx, *sg;         /* [batch] */
    float *sw[NVT_W_FORMS]; /* [out], [in], [1], [1] */
    void *scratch;          /* of whichever operation runs */
};

/*
 * Take memory for batch, in and out, fill x, g and w with normal numbers of the seed, and quantise
 * them once in every form, so that operations can run in any order. 0, or -1 when the allocator
 * refuses.
 */
int nvt_switchback_setup(struct nvt_switchback *layer, uint64_t seed);
void nvt_switchback_teardown(struct nvt_switchback *layer);

void nvt_switchback_run(struct nvt_switchback *layer, enum nvt_switchback_op op);

/* FLOPs (a multiply-add is two; integers count alike) of products, 0 of the rest, and the bytes
 * that must be moved: inputs read, results written; w is read twice where its scale must be known
 * before quantising. */
struct nvt_work_payload nvt_switchback_work(const struct nvt_switchback *layer,
                                            enum nvt_switchback_op op);

#ifdef __cplusplus
}
#endif
#endif
