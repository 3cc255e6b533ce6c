#include "attention.h"

#include "real_math.h"

#ifdef __CUDACC__
#include "../cuda/softmax.h"
#define DONE_BY_DEVICE(call) (!(call))
#else
#define DONE_BY_DEVICE(call) 0
#endif

/* --- products --------------------------------------------------------------------------------- */

/* [length][length] = [length][width] · [length][width]ᵀ, of every group. */
static struct nvt_matmul to_square(const struct nvt_attention *at, real alpha)
{
    int64_t flat = at->length * at->width, square = at->length * at->length;
    struct nvt_matmul shape = {0,          1,    at->length, at->length, at->width,     alpha, 0,
                               at->groups, flat, flat,       square,     at->precision, 0,     0};
    return shape;
}

/* [length][width] = [length][length] or its transpose · [length][width]. */
static struct nvt_matmul from_square(const struct nvt_attention *at, int transpose, real alpha)
{
    int64_t flat = at->length * at->width, square = at->length * at->length;
    struct nvt_matmul shape = {transpose,  0,      at->length, at->width, at->length,    alpha, 0,
                               at->groups, square, flat,       flat,      at->precision, 0,     0};
    return shape;
}

static real scale_of(const struct nvt_attention *at)
{
    return (real)(1 / sqrt((double)at->width));
}

void nvt_attention_scores(const struct nvt_attention *attention, real *s, const real *q,
                          const real *k)
{
    struct nvt_matmul shape = to_square(attention, scale_of(attention));
    nvt_backend_matmul_batched(&shape, q, k, s);
}

void nvt_attention_values(const struct nvt_attention *attention, real *out, const real *p,
                          const real *v)
{
    struct nvt_matmul shape = from_square(attention, 0, 1);
    nvt_backend_matmul_batched(&shape, p, v, out);
}

void nvt_attention_values_backward(const struct nvt_attention *attention, real *dp, real *dv,
                                   const real *dout, const real *p, const real *v)
{
    struct nvt_matmul square = to_square(attention, 1), flat = from_square(attention, 1, 1);
    nvt_backend_matmul_batched(&square, dout, v, dp);
    nvt_backend_matmul_batched(&flat, p, dout, dv);
}

void nvt_attention_scores_backward(const struct nvt_attention *attention, real *dq, real *dk,
                                   const real *ds, const real *q, const real *k)
{
    struct nvt_matmul of_q = from_square(attention, 0, scale_of(attention));
    struct nvt_matmul of_k = from_square(attention, 1, scale_of(attention));
    of_k.same_a = 1;
    nvt_backend_matmul_batched(&of_q, ds, k, dq);
    nvt_backend_matmul_batched(&of_k, ds, q, dk);
}

/* --- softmax ---------------------------------------------------------------------------------- */

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

void nvt_attention_softmax(const struct nvt_attention *attention, real *p, const real *s)
{
    struct attention_args args = {p, s, NULL, attention->length, attention->causal};
    if (!DONE_BY_DEVICE(nvt_cuda_attention_softmax(attention, p, s)))
        NVT_LAUNCH(attention_softmax, attention->groups * attention->length, args);
}

void nvt_attention_softmax_backward(const struct nvt_attention *attention, real *ds, const real *p,
                                    const real *dp)
{
    struct attention_args args = {ds, dp, p, attention->length, attention->causal};
    if (!DONE_BY_DEVICE(nvt_cuda_attention_softmax_backward(attention, ds, p, dp)))
        NVT_LAUNCH(attention_softmax_backward, attention->groups * attention->length, args);
}

/* --- heads ------------------------------------------------------------------------------------ */

struct heads_args {
    real *out;
    const real *in, *bias;
    struct nvt_heads shape;
    int merge;
};

/* A row is one part of one position of one sample; there are fewer than a launch takes, and division of 32 bits is
 * much the faster on a device. */
NVT_KERNEL(rearrange_heads, heads_args)
{
    const struct nvt_heads *s = &a.shape;
    uint32_t parts = (uint32_t)s->parts, length = (uint32_t)s->length,
             place = (uint32_t)row / parts;
    int64_t part = (uint32_t)row % parts, features = s->heads * s->width;
    int64_t sample = place / length, position = place % length;
    int64_t at = (sample * s->sample_step + position * s->position_step) * s->parts + part;
    int64_t to = (part * s->samples + sample) * s->heads * s->length + position;
#ifdef __CUDACC__
    /* Four features at once. */
    int is_even = !(s->width % 4) &&
                  !(((uintptr_t)a.in | (uintptr_t)a.out | (uintptr_t)a.bias) % sizeof(nvt_four));
    for (int64_t i = 4 * threadIdx.x; is_even && i < features; i += 4 * NVT_BLOCK) {
        int64_t head = (int64_t)((uint32_t)i / (uint32_t)s->width);
        int64_t rows = at * features + i;
        int64_t groups = (to + head * s->length) * s->width + i - head * s->width;
        nvt_four value = *(const nvt_four *)(a.in + (a.merge ? groups : rows));
        nvt_four bias = {{0, 0, 0, 0}};
        if (a.bias)
            bias = *(const nvt_four *)(a.bias + part * features + i);
        for (int k = 0; k < 4; k++)
            value.at[k] += bias.at[k];
        *(nvt_four *)(a.out + (a.merge ? rows : groups)) = value;
    }
    if (is_even)
        return;
#endif
    FOR_THREADS(i, features)
    {
        int64_t head = (int64_t)((uint32_t)i / (uint32_t)s->width);
        int64_t rows = at * features + i;
        int64_t groups = (to + head * s->length) * s->width + i - head * s->width;
        real value = NVT_READ(a.in[a.merge ? groups : rows]);
        a.out[a.merge ? rows : groups] =
            a.bias ? value + NVT_READ(a.bias[part * features + i]) : value;
    }
}

void nvt_heads_split(const struct nvt_heads *shape, real *split, const real *rows, const real *bias)
{
    struct heads_args args = {split, rows, bias, *shape, 0};
    NVT_LAUNCH(rearrange_heads, shape->samples * shape->length * shape->parts, args);
}

void nvt_heads_merge(const struct nvt_heads *shape, real *rows, const real *split)
{
    struct heads_args args = {rows, split, NULL, *shape, 1};
    NVT_LAUNCH(rearrange_heads, shape->samples * shape->length * shape->parts, args);
}
