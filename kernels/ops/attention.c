#include "attention.h"

#include "real_math.h"
#include "stored.h"

#ifdef __CUDACC__
#include "../cuda/softmax.h"
#endif

/* --- products --------------------------------------------------------------------------------- */

/* [length][length] = [length][width] · [length][width]ᵀ, of every group. */
static struct nvt_matmul to_square(const struct nvt_attention *at, real alpha)
{
    int64_t flat = at->length * at->width, square = at->length * at->length;
    struct nvt_matmul shape = {0,          1,    at->length, at->length, at->width,     alpha, 0,
                               at->groups, flat, flat,       square,     at->precision, 1};
    return shape;
}

/* [length][width] = [length][length] or its transpose · [length][width]. */
static struct nvt_matmul from_square(const struct nvt_attention *at, int transpose, real alpha)
{
    int64_t flat = at->length * at->width, square = at->length * at->length;
    struct nvt_matmul shape = {transpose,  0,      at->length, at->width, at->length,    alpha, 0,
                               at->groups, square, flat,       flat,      at->precision, 1};
    return shape;
}

static real scale_of(const struct nvt_attention *at)
{
    return (real)(1 / sqrt((double)at->width));
}

void nvt_attention_scores(const struct nvt_attention *attention, void *s, const void *q,
                          const void *k)
{
    struct nvt_matmul shape = to_square(attention, scale_of(attention));
    nvt_backend_matmul_batched(&shape, q, k, s);
}

void nvt_attention_values(const struct nvt_attention *attention, void *out, const void *p,
                          const void *v)
{
    struct nvt_matmul shape = from_square(attention, 0, 1);
    nvt_backend_matmul_batched(&shape, p, v, out);
}

void nvt_attention_values_backward(const struct nvt_attention *attention, void *dp, void *dv,
                                   const void *dout, const void *p, const void *v)
{
    struct nvt_matmul square = to_square(attention, 1), flat = from_square(attention, 1, 1);
    nvt_backend_matmul_batched(&square, dout, v, dp);
    nvt_backend_matmul_batched(&flat, p, dout, dv);
}

void nvt_attention_scores_backward(const struct nvt_attention *attention, void *dq, void *dk,
                                   const void *ds, const void *q, const void *k)
{
    struct nvt_matmul of_q = from_square(attention, 0, scale_of(attention));
    struct nvt_matmul of_k = from_square(attention, 1, scale_of(attention));
    nvt_backend_matmul_batched(&of_q, ds, k, dq);
    nvt_backend_matmul_batched(&of_k, ds, q, dk);
}

/* --- softmax ---------------------------------------------------------------------------------- */

#ifdef __CUDACC__
void nvt_attention_softmax(const struct nvt_attention *attention, void *p, const void *s)
{
    nvt_cuda_attention_softmax(attention, p, s);
}

void nvt_attention_softmax_backward(const struct nvt_attention *attention, void *ds, const void *p,
                                    const void *dp)
{
    nvt_cuda_attention_softmax_backward(attention, ds, p, dp);
}
#else
struct attention_args {
    real *out;
    const real *x, *p;
    int64_t length;
    int causal;
};

NVT_KERNEL(attention_softmax, attention_args)
{
    const real *x = a.x + row * a.length;
    real *p = a.out + row * a.length;
    int64_t seen = a.causal ? row % a.length + 1 : a.length;
    real top = x[0], sum = 0;
    FOR_THREADS(i, seen)
    {
        top = real_max(top, x[i]);
    }
    top = block_max(top);
    NVT_SIMD_SUM(sum)
    FOR_THREADS(i, seen)
    {
        p[i] = real_exp(x[i] - top);
        sum += p[i];
    }
    sum = block_sum(sum);
    FOR_THREADS(i, a.length)
    {
        p[i] = i < seen ? p[i] / sum : 0;
    }
}

NVT_KERNEL(attention_softmax_backward, attention_args)
{
    const real *p = a.p + row * a.length, *dp = a.x + row * a.length;
    real *ds = a.out + row * a.length;
    int64_t seen = a.causal ? row % a.length + 1 : a.length;
    real sum = 0;
    NVT_SIMD_SUM(sum)
    FOR_THREADS(i, seen)
    {
        sum += p[i] * dp[i];
    }
    sum = block_sum(sum);
    FOR_THREADS(i, a.length)
    {
        ds[i] = i < seen ? p[i] * (dp[i] - sum) : 0;
    }
}

void nvt_attention_softmax(const struct nvt_attention *attention, void *p, const void *s)
{
    struct attention_args args = {(real *)p, (const real *)s, NULL, attention->length,
                                  attention->causal};
    NVT_LAUNCH(attention_softmax, attention->groups * attention->length, args);
}

void nvt_attention_softmax_backward(const struct nvt_attention *attention, void *ds, const void *p,
                                    const void *dp)
{
    struct attention_args args = {(real *)ds, (const real *)dp, (const real *)p, attention->length,
                                  attention->causal};
    NVT_LAUNCH(attention_softmax_backward, attention->groups * attention->length, args);
}
#endif

/* --- heads ------------------------------------------------------------------------------------ */

struct heads_args {
    void *out;
    const void *in;
    const real *bias;
    struct nvt_heads shape;
    int merge;
};

/* A row is one part of one position of one sample; there are fewer than a launch takes, and division of 32 bits is
 * much the faster on a device. */
NVT_STORED_KERNEL(rearrange_heads, heads_args)
{
    const nvt_stored *in = (const nvt_stored *)a.in;
    nvt_stored *out = (nvt_stored *)a.out;
    const struct nvt_heads *s = &a.shape;
    uint32_t parts = (uint32_t)s->parts, length = (uint32_t)s->length,
             place = (uint32_t)row / parts;
    int64_t part = (uint32_t)row % parts, features = s->heads * s->width;
    int64_t sample = place / length, position = place % length;
    int64_t at = (sample * s->sample_step + position * s->position_step) * s->parts + part;
    int64_t to = (part * s->samples + sample) * s->heads * s->length + position;
#ifdef __CUDACC__
    /* Four features at once. */
    typedef nvt_four_of<nvt_stored> four;
    int is_even = !(s->width % 4) && !(((uintptr_t)in | (uintptr_t)out) % sizeof(four)) &&
                  !((uintptr_t)a.bias % sizeof(nvt_four));
    for (int64_t i = 4 * threadIdx.x; is_even && i < features; i += 4 * NVT_BLOCK) {
        int64_t head = (int64_t)((uint32_t)i / (uint32_t)s->width);
        int64_t rows = at * features + i;
        int64_t groups = (to + head * s->length) * s->width + i - head * s->width;
        four value = *(const four *)(in + (a.merge ? groups : rows));
        if (a.bias) {
            nvt_four bias = *(const nvt_four *)(a.bias + part * features + i);
            for (int k = 0; k < 4; k++)
                NVT_KEEP(value.at[k], NVT_VALUE(value.at[k]) + bias.at[k]);
        }
        *(four *)(out + (a.merge ? rows : groups)) = value;
    }
    if (is_even)
        return;
#endif
    FOR_THREADS(i, features)
    {
        int64_t head = (int64_t)((uint32_t)i / (uint32_t)s->width);
        int64_t rows = at * features + i;
        int64_t groups = (to + head * s->length) * s->width + i - head * s->width;
        real value = NVT_VALUE(NVT_READ(in[a.merge ? groups : rows]));
        NVT_KEEP(out[a.merge ? rows : groups],
                 a.bias ? value + NVT_READ(a.bias[part * features + i]) : value);
    }
}

void nvt_heads_split(const struct nvt_heads *shape, void *split, const void *rows, const real *bias)
{
    struct heads_args args = {split, rows, bias, *shape, 0};
    NVT_LAUNCH_STORED(shape->precision, rearrange_heads,
                      shape->samples * shape->length * shape->parts, args);
}

void nvt_heads_merge(const struct nvt_heads *shape, void *rows, const void *split)
{
    struct heads_args args = {rows, split, NULL, *shape, 1};
    NVT_LAUNCH_STORED(shape->precision, rearrange_heads,
                      shape->samples * shape->length * shape->parts, args);
}
