/*
 * The GPT-2-like model of the published pipeline study, as modules: embedding, positions, blocks, final
 * norm, head.
 */
#include "../ops/attention.h"
#include "../ops/dropout.h"
#include "../ops/embedding.h"
#include "../ops/norm.h"
#include "../ops/vector.h"
#include "module.h"

#define EPSILON ((real)1e-5)
#define SPREAD  ((real)0.02)

enum { WIDTH, LENGTH, HEADS, HIDDEN, WORDS, ACROSS }; /* in shape[] */

static void init_normal(const struct nvt_module *module, int64_t offset, int64_t count,
                        uint64_t seed, uint64_t place)
{
    nvt_random_normal(module->w + offset, count, seed, module->stream * 16 + place, SPREAD);
}

static void init_ones(const struct nvt_module *module, int64_t offset, int64_t count)
{
    nvt_fill(module->w + offset, count, 1);
}

static void init_matrix(const struct nvt_module *module, uint64_t seed)
{
    init_normal(module, 0, module->parameters, seed, 0);
}

/* y[rows][n] = x[rows][k] · w[n][k]ᵀ. */
static void product(real *y, const real *x, const real *w, int64_t rows, int64_t n, int64_t k)
{
    nvt_backend_matmul(0, 1, rows, n, k, 1, x, w, 0, y);
}

/* dw[n][k] += dyᵀ · x, and dx = dy · w + keep · dx. */
static void product_backward(real *dw, real *dx, real keep, const real *dy, const real *x,
                             const real *w, int64_t rows, int64_t n, int64_t k)
{
    nvt_backend_matmul(1, 0, n, k, rows, 1, dy, x, 1, dw);
    nvt_backend_matmul(0, 0, rows, k, n, 1, dy, w, keep, dx);
}

/* --- embedding and positions ------------------------------------------------------------------------- */

static int embedding_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                             real *y)
{
    const int64_t *shape = module->shape;
    nvt_embedding_forward(y, module->w, NULL, (const void *)x, pass->samples * shape[LENGTH],
                          shape[LENGTH], shape[WIDTH]);
    return 0;
}

static int embedding_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                              const real *y, real *dy, real *dx)
{
    const int64_t *shape = module->shape;
    (void)y;
    (void)dx;
    nvt_embedding_backward(module->g, NULL, dy, (const void *)x, pass->samples * shape[LENGTH],
                           shape[LENGTH], shape[WIDTH]);
    return 0;
}

static int positions_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                             real *y)
{
    nvt_copy(y, x, pass->samples * module->in);
    nvt_bias_forward(y, module->w, pass->samples, module->in);
    return 0;
}

static int positions_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                              const real *y, real *dy, real *dx)
{
    (void)x;
    (void)y;
    nvt_bias_backward(module->g, dy, pass->samples, module->in);
    nvt_copy(dx, dy, pass->samples * module->in);
    return 0;
}

/* --- norm and head ----------------------------------------------------------------------------------- */

static void norm_init(const struct nvt_module *module, uint64_t seed)
{
    int64_t width = module->shape[WIDTH];
    (void)seed;
    init_ones(module, 0, width);
    nvt_fill(module->w + width, width, 0);
}

static int norm_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    int64_t width = module->shape[WIDTH], rows = pass->samples * module->shape[LENGTH];
    real *m = nvt_pass_keep(pass, rows), *r = nvt_pass_keep(pass, rows);
    if (!m || !r)
        return -1;
    nvt_layernorm_forward(y, m, r, x, module->w, module->w + width, rows, width, EPSILON);
    return 0;
}

static int norm_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    int64_t width = module->shape[WIDTH], rows = pass->samples * module->shape[LENGTH];
    const real *m = (const real *)pass->kept->blocks[0], *r = (const real *)pass->kept->blocks[1];
    real *scratch = nvt_pass_take(pass, nvt_norm_scratch(width));
    (void)y;
    if (!scratch)
        return -1;
    nvt_layernorm_backward(dx, 0, module->g, module->g + width, dy, x, module->w, m, r, rows, width,
                           scratch);
    nvt_pass_give(pass, scratch);
    return 0;
}

static int head_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    const int64_t *shape = module->shape;
    product(y, x, module->w, pass->samples * shape[LENGTH], shape[WORDS], shape[WIDTH]);
    return 0;
}

static int head_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    const int64_t *shape = module->shape;
    (void)y;
    product_backward(module->g, dx, 0, dy, x, module->w, pass->samples * shape[LENGTH],
                     shape[WORDS], shape[WIDTH]);
    return 0;
}

static double head_flops(const struct nvt_module *module, int64_t samples)
{
    (void)samples;
    const int64_t *shape = module->shape;
    return 2.0 * (double)shape[LENGTH] * (double)shape[WORDS] * (double)shape[WIDTH];
}

/* --- block --------------------------------------------------------------------------------------------- */

/* Weights of a block, in their order; gradients lie the same way. */
struct weights {
    real *qkv, *qkv_bias, *out, *out_bias, *norm1, *up, *up_bias, *down, *down_bias, *norm2;
};

static struct weights weights_at(const struct nvt_module *module, real *at)
{
    int64_t d = module->shape[WIDTH], h = module->shape[HIDDEN];
    struct weights w;
    w.qkv = at;
    w.qkv_bias = w.qkv + 3 * d * d;
    w.out = w.qkv_bias + 3 * d;
    w.out_bias = w.out + d * d;
    w.norm1 = w.out_bias + d;
    w.up = w.norm1 + 2 * d;
    w.up_bias = w.up + h * d;
    w.down = w.up_bias + h;
    w.down_bias = w.down + d * h;
    w.norm2 = w.down_bias + d;
    return w;
}

static int64_t block_parameters(int64_t d, int64_t h)
{
    return 3 * d * d + 3 * d + d * d + d + 2 * d + h * d + h + d * h + d + 2 * d;
}

static void block_init(const struct nvt_module *module, uint64_t seed)
{
    int64_t d = module->shape[WIDTH], h = module->shape[HIDDEN];
    struct weights w = weights_at(module, module->w);
    nvt_fill(module->w, module->parameters, 0);
    init_normal(module, w.qkv - module->w, 3 * d * d, seed, 0);
    init_normal(module, w.out - module->w, d * d, seed, 1);
    init_normal(module, w.up - module->w, h * d, seed, 2);
    init_normal(module, w.down - module->w, d * h, seed, 3);
    nvt_fill(w.norm1, d, 1);
    nvt_fill(w.norm2, d, 1);
}

/* What a block keeps, in the order in which it is taken. */
enum {
    QKV,
    PROBABILITIES,
    ATTENDED,
    SUM1,
    NORM1,
    MEAN1,
    SCALE1,
    HIDDEN1,
    SUM2,
    MEAN2,
    SCALE2,
    KEPT
};

struct block {
    struct nvt_heads heads;
    struct nvt_attention attention;
    int64_t rows, d, h, square; /* numbers of all probabilities */
};

static struct block block_of(const struct nvt_module *module, const struct nvt_pass *pass)
{
    struct block block;
    int64_t samples = pass->samples, length = module->shape[LENGTH], heads = module->shape[HEADS];
    block.d = module->shape[WIDTH];
    block.h = module->shape[HIDDEN];
    block.rows = samples * length;
    block.heads =
        (struct nvt_heads){samples, length, heads, block.d / heads, 3, length, 1, NVT_FP32};
    /* Across the batch every position is a "sample" whose places are the samples of the micro-batch. */
    if (module->shape[ACROSS])
        block.heads =
            (struct nvt_heads){length, samples, heads, block.d / heads, 3, 1, length, NVT_FP32};
    block.attention = (struct nvt_attention){block.heads.samples * heads, block.heads.length,
                                             block.d / heads, 0, NVT_FP32};
    block.square = block.attention.groups * block.heads.length * block.heads.length;
    return block;
}

/* What dropout draws from at one of a block's three places. */
static uint64_t stream_of(const struct nvt_module *module, const struct nvt_pass *pass, int place)
{
    return UINT64_C(1) << 63 | (uint64_t)pass->iteration << 36 | (uint64_t)pass->microbatch << 16 |
           (module->stream * 4 + (uint64_t)place);
}

/* Dropout there; without it a copy, or nothing in place. */
static void drop(const struct nvt_module *module, const struct nvt_pass *pass, int place, real *y,
                 const real *x, int64_t n)
{
    if (module->dropout > 0)
        nvt_dropout(y, x, n, (double)module->dropout, pass->seed, stream_of(module, pass, place));
    else if (y != x)
        nvt_copy(y, x, n);
}

static int keep_all(const struct block *block, struct nvt_pass *pass)
{
    const int64_t sizes[KEPT] = {3 * block->rows * block->d,
                                 block->square,
                                 block->rows * block->d,
                                 block->rows * block->d,
                                 block->rows * block->d,
                                 block->rows,
                                 block->rows,
                                 block->rows * block->h,
                                 block->rows * block->d,
                                 block->rows,
                                 block->rows};
    for (int i = 0; i < KEPT; i++)
        if (!nvt_pass_keep(pass, sizes[i]))
            return -1;
    return 0;
}

/* SUM1 = x + attention(x). */
static int attention_forward(const struct nvt_module *module, struct nvt_pass *pass,
                             const struct block *block, const real *x)
{
    struct weights w = weights_at(module, module->w);
    real **kept = (real **)pass->kept->blocks;
    struct nvt_heads one = block->heads;
    int64_t all = block->rows * block->d;
    real *flat = nvt_pass_take(pass, 3 * all), *p = nvt_pass_take(pass, block->square);
    one.parts = 1;
    if (flat && p) {
        product(flat, x, w.qkv, block->rows, 3 * block->d, block->d);
        nvt_heads_split(&block->heads, kept[QKV], flat, w.qkv_bias);
        nvt_attention_scores(&block->attention, kept[PROBABILITIES], kept[QKV], kept[QKV] + all);
        nvt_attention_softmax(&block->attention, kept[PROBABILITIES], kept[PROBABILITIES]);
        drop(module, pass, 0, p, kept[PROBABILITIES], block->square);
        nvt_attention_values(&block->attention, flat, p, kept[QKV] + 2 * all);
        nvt_heads_merge(&one, kept[ATTENDED], flat);
        product(kept[SUM1], kept[ATTENDED], w.out, block->rows, block->d, block->d);
        nvt_bias_dropout_add(kept[SUM1], w.out_bias, x, block->rows, block->d, 0, 0, 0);
    }
    nvt_pass_give(pass, p);
    nvt_pass_give(pass, flat);
    return flat && p ? 0 : -1;
}

/* The hidden layer behind GELU and dropout, from what was kept. */
static void activate(const struct nvt_module *module, const struct nvt_pass *pass,
                     const struct block *block, real *out)
{
    nvt_gelu_dropout_forward(out, (const real *)pass->kept->blocks[HIDDEN1], block->rows * block->h,
                             (double)module->dropout, pass->seed, stream_of(module, pass, 1));
}

/* SUM2 = NORM1 + mlp(NORM1). */
static int mlp_forward(const struct nvt_module *module, struct nvt_pass *pass,
                       const struct block *block)
{
    struct weights w = weights_at(module, module->w);
    real **kept = (real **)pass->kept->blocks;
    real *active = nvt_pass_take(pass, block->rows * block->h);
    if (!active)
        return -1;
    nvt_linear_forward(kept[HIDDEN1], kept[NORM1], w.up, w.up_bias, block->rows, block->h,
                       block->d);
    activate(module, pass, block, active);
    product(kept[SUM2], active, w.down, block->rows, block->d, block->h);
    nvt_pass_give(pass, active);
    nvt_bias_dropout_add(kept[SUM2], w.down_bias, kept[NORM1], block->rows, block->d,
                         (double)module->dropout, pass->seed, stream_of(module, pass, 2));
    return 0;
}

static int block_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         real *y)
{
    struct weights w = weights_at(module, module->w);
    struct block block = block_of(module, pass);
    real **kept = (real **)pass->kept->blocks;
    if (keep_all(&block, pass) || attention_forward(module, pass, &block, x))
        return -1;
    nvt_layernorm_forward(kept[NORM1], kept[MEAN1], kept[SCALE1], kept[SUM1], w.norm1,
                          w.norm1 + block.d, block.rows, block.d, EPSILON);
    if (mlp_forward(module, pass, &block))
        return -1;
    nvt_layernorm_forward(y, kept[MEAN2], kept[SCALE2], kept[SUM2], w.norm2, w.norm2 + block.d,
                          block.rows, block.d, EPSILON);
    return 0;
}

/* dsum: gradient of SUM2, becomes that of NORM1. */
static int mlp_backward(const struct nvt_module *module, struct nvt_pass *pass,
                        const struct block *block, real *dsum)
{
    struct weights w = weights_at(module, module->w), g = weights_at(module, module->g);
    const real *const *kept = (const real *const *)pass->kept->blocks;
    int64_t rows = block->rows, d = block->d, h = block->h;
    real *dout = nvt_pass_take(pass, rows * d), *active = nvt_pass_take(pass, rows * h);
    if (dout && active) {
        drop(module, pass, 2, dout, dsum, rows * d);
        activate(module, pass, block, active);
        nvt_backend_matmul(1, 0, d, h, rows, 1, dout, active, 1, g.down);
        nvt_bias_backward(g.down_bias, dout, rows, d);
        nvt_backend_matmul(0, 0, rows, h, d, 1, dout, w.down, 0, active);
        nvt_gelu_dropout_backward(active, active, kept[HIDDEN1], rows * h, (double)module->dropout,
                                  pass->seed, stream_of(module, pass, 1));
        nvt_bias_backward(g.up_bias, active, rows, h);
        product_backward(g.up, dsum, 1, active, kept[NORM1], w.up, rows, h, d);
    }
    nvt_pass_give(pass, active);
    nvt_pass_give(pass, dout);
    return dout && active ? 0 : -1;
}

/* dheads[3][rows · d] of the split projection, from the gradient of what was attended. */
static int heads_backward(const struct nvt_module *module, struct nvt_pass *pass,
                          const struct block *block, const real *dattended, real *dheads)
{
    const real *const *kept = (const real *const *)pass->kept->blocks;
    struct nvt_heads one = block->heads;
    int64_t all = block->rows * block->d;
    real *dout = nvt_pass_take(pass, all), *p = nvt_pass_take(pass, block->square);
    real *dp = nvt_pass_take(pass, block->square);
    one.parts = 1;
    if (dout && p && dp) {
        nvt_heads_split(&one, dout, dattended, NULL);
        drop(module, pass, 0, p, kept[PROBABILITIES], block->square);
        nvt_attention_values_backward(&block->attention, dp, dheads + 2 * all, dout, p,
                                      kept[QKV] + 2 * all);
        drop(module, pass, 0, dp, dp, block->square);
        nvt_attention_softmax_backward(&block->attention, dp, kept[PROBABILITIES], dp);
        nvt_attention_scores_backward(&block->attention, dheads, dheads + all, dp, kept[QKV],
                                      kept[QKV] + all);
    }
    nvt_pass_give(pass, dp);
    nvt_pass_give(pass, p);
    nvt_pass_give(pass, dout);
    return dout && p && dp ? 0 : -1;
}

/* dx: gradient of SUM1, becomes that of x. */
static int attention_backward(const struct nvt_module *module, struct nvt_pass *pass,
                              const struct block *block, const real *x, real *dx)
{
    struct weights w = weights_at(module, module->w), g = weights_at(module, module->g);
    const real *const *kept = (const real *const *)pass->kept->blocks;
    int64_t rows = block->rows, d = block->d;
    real *flat = nvt_pass_take(pass, 3 * rows * d), *split = nvt_pass_take(pass, 3 * rows * d);
    int status = flat && split ? 0 : -1;
    if (!status) {
        nvt_bias_backward(g.out_bias, dx, rows, d);
        product_backward(g.out, flat, 0, dx, kept[ATTENDED], w.out, rows, d, d);
        status = heads_backward(module, pass, block, flat, split);
    }
    if (!status) {
        nvt_heads_merge(&block->heads, flat, split);
        nvt_bias_backward(g.qkv_bias, flat, rows, 3 * d);
        product_backward(g.qkv, dx, 1, flat, x, w.qkv, rows, 3 * d, d);
    }
    nvt_pass_give(pass, split);
    nvt_pass_give(pass, flat);
    return status;
}

static int block_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                          const real *y, real *dy, real *dx)
{
    struct weights w = weights_at(module, module->w), g = weights_at(module, module->g);
    const real *const *kept = (const real *const *)pass->kept->blocks;
    struct block block = block_of(module, pass);
    int64_t rows = block.rows, d = block.d;
    real *scratch = nvt_pass_take(pass, nvt_norm_scratch(d));
    (void)y;
    if (!scratch)
        return -1;
    nvt_layernorm_backward(dy, 0, g.norm2, g.norm2 + d, dy, kept[SUM2], w.norm2, kept[MEAN2],
                           kept[SCALE2], rows, d, scratch);
    int status = mlp_backward(module, pass, &block, dy);
    if (!status) {
        nvt_layernorm_backward(dx, 0, g.norm1, g.norm1 + d, dy, kept[SUM1], w.norm1, kept[MEAN1],
                               kept[SCALE1], rows, d, scratch);
        status = attention_backward(module, pass, &block, x, dx);
    }
    nvt_pass_give(pass, scratch);
    return status;
}

/* Per token: 2·4·d² of the four projections, 2·2·d·h of the mlp; attention 2·2·d a pair of places, or of samples
 * of the micro-batch where it goes across them. */
static double block_flops(const struct nvt_module *module, int64_t samples)
{
    double d = (double)module->shape[WIDTH], h = (double)module->shape[HIDDEN];
    double length = (double)module->shape[LENGTH];
    double pairs = length * (module->shape[ACROSS] ? (double)samples : length);
    return length * (8 * d * d + 4 * d * h) + 4 * d * pairs;
}

/* --- the model ----------------------------------------------------------------------------------------- */

static const struct nvt_module_type embedding = {
    "embedding", 1, 0, init_matrix, embedding_forward, embedding_backward, NULL};
static const struct nvt_module_type positions = {
    "positions", 0, 0, init_matrix, positions_forward, positions_backward, NULL};
static const struct nvt_module_type block_type = {
    "block", 1, 0, block_init, block_forward, block_backward, block_flops};
static const struct nvt_module_type norm = {"norm",        1,   0, norm_init, norm_forward,
                                            norm_backward, NULL};
static const struct nvt_module_type head = {"head",        1,         0, init_matrix, head_forward,
                                            head_backward, head_flops};

int nvt_gpt2_modules(const struct nvt_gpt2_shape *shape, struct nvt_module *modules, int most)
{
    int64_t d = shape->d_model, all = shape->sequence * d;
    int count = (int)shape->layers + 4;
    if (shape->layers > most - 4)
        return -1;
    for (int i = 0; i < count; i++) {
        struct nvt_module module = {&block_type,
                                    all,
                                    all,
                                    block_parameters(d, shape->d_ff),
                                    {d, shape->sequence, shape->heads, shape->d_ff,
                                     shape->vocabulary, shape->attends_batch},
                                    shape->dropout,
                                    (uint64_t)i,
                                    NULL,
                                    NULL};
        modules[i] = module;
    }
    modules[0].type = &embedding;
    modules[0].in = shape->sequence;
    modules[0].parameters = shape->vocabulary * d;
    modules[1].type = &positions;
    modules[1].parameters = all;
    modules[count - 2].type = &norm;
    modules[count - 2].parameters = 2 * d;
    modules[count - 1].type = &head;
    modules[count - 1].parameters = shape->vocabulary * d;
    modules[count - 1].out = shape->sequence * shape->vocabulary;
    return count;
}
