#include "ops.h"

#include "real_math.h"

#ifdef __CUDACC__
#include "../cuda/expert.h"
#endif

/* One argument set for all of this file's kernels: x is [batch][fragments][width]. */
struct fragment_args {
    real *out, *out2;
    const real *x, *s, *t;
    const int32_t *chosen;
    int64_t batch, fragments, width, columns;
};

/* A row is a (sample, fragment). */
NVT_KERNEL(score_forward, fragment_args)
{
    const real *x = a.x + row * a.width, *s = a.s + row % a.fragments * a.width;
    real sum = 0;
    FOR_THREADS(i, a.width)
    {
        sum += x[i] * s[i];
    }
    sum = block_sum(sum);
    FOR_THREADS(i, 1)
    {
        a.out[row] = sum;
    }
}

void nvt_score_forward(real *score, const real *x, const real *s, int64_t batch, int64_t fragments,
                       int64_t width)
{
    struct fragment_args args = {score, NULL, x, s, NULL, NULL, batch, fragments, width, 0};
    NVT_LAUNCH(score_forward, batch * fragments, args);
}

/* Features of a row of score_backward: two long fragments are work for more than two processors. */
#define SCORE_FEATURES 256

/* A row is a chunk of a fragment's features. */
NVT_KERNEL(score_backward, fragment_args)
{
    int64_t chunks = (a.width + SCORE_FEATURES - 1) / SCORE_FEATURES;
    int64_t f = row / chunks, first = row % chunks * SCORE_FEATURES, rest = a.width - first;
    FOR_THREADS(j, rest < SCORE_FEATURES ? rest : SCORE_FEATURES)
    {
        int64_t i = first + j;
        real sum = 0;
        for (int64_t b = 0; b < a.batch; b++)
            sum += a.s[b * a.fragments + f] * a.x[(b * a.fragments + f) * a.width + i];
        a.out[f * a.width + i] += sum;
    }
}

void nvt_score_backward(real *ds, const real *dscore, const real *x, int64_t batch,
                        int64_t fragments, int64_t width)
{
    struct fragment_args args = {ds, NULL, x, dscore, NULL, NULL, batch, fragments, width, 0};
    NVT_LAUNCH(score_backward, fragments * ((width + SCORE_FEATURES - 1) / SCORE_FEATURES), args);
}

NVT_KERNEL(blend_forward, fragment_args)
{
    real p = a.s[row];
    FOR_THREADS(i, a.width)
    {
        real x = a.x[row * a.width + i];
        a.out[row * a.width + i] = p * x;
        a.out2[row * a.width + i] = (1 - p) * x;
    }
}

void nvt_blend_forward(real *xs, real *xm, const real *p, const real *x, int64_t batch,
                       int64_t fragments, int64_t width)
{
    struct fragment_args args = {xs, xm, x, p, NULL, NULL, batch, fragments, width, 0};
    NVT_LAUNCH(blend_forward, batch * fragments, args);
}

NVT_KERNEL(blend_backward, fragment_args)
{
    real sum = 0;
    FOR_THREADS(i, a.width)
    {
        int64_t at = row * a.width + i;
        sum += a.x[at] * (a.s[at] - a.t[at]);
    }
    sum = block_sum(sum);
    FOR_THREADS(i, 1)
    {
        a.out[row] = sum;
    }
}

void nvt_blend_backward(real *dp, const real *dxs, const real *dxm, const real *x, int64_t batch,
                        int64_t fragments, int64_t width)
{
    struct fragment_args args = {dp, NULL, x, dxs, dxm, NULL, batch, fragments, width, 0};
    NVT_LAUNCH(blend_backward, batch * fragments, args);
}

struct choose_args {
    int32_t *chosen, *count;
    const real *score;
    int64_t n, f;
};

/* A row is a sample. The first of equals is the one of which −index is largest; float holds indices up to
 * 2^24. A row without a number that is larger than nothing, all of it NaN, chooses the first. */
NVT_KERNEL(choose, choose_args)
{
    const real *score = a.score + row * a.n;
    real top = (real)-INFINITY, first = (real)-a.n;
    FOR_THREADS(f, a.n)
    {
        top = real_max(top, score[f]);
    }
    top = block_max(top);
    FOR_THREADS(f, a.n)
    {
        first = score[f] == top && (real)-f > first ? (real)-f : first;
    }
    first = block_max(first);
    FOR_THREADS(i, 1)
    {
        a.chosen[row + i] = first > (real)-a.n ? (int32_t)-first : 0;
    }
}

void nvt_choose(int32_t *chosen, const real *score, int64_t batch, int64_t fragments)
{
    struct choose_args args = {chosen, NULL, score, fragments, 0};
    NVT_LAUNCH(choose, batch, args);
}

NVT_KERNEL(mask_chosen, fragment_args)
{
    int keep = a.chosen[row / a.fragments] != row % a.fragments;
    FOR_THREADS(i, a.width)
    {
        a.out[row * a.width + i] = keep ? a.x[row * a.width + i] : 0;
    }
}

void nvt_mask_chosen(real *xm, const real *x, const int32_t *chosen, int64_t batch,
                     int64_t fragments, int64_t width)
{
    struct fragment_args args = {xm, NULL, x, NULL, NULL, chosen, batch, fragments, width, 0};
    NVT_LAUNCH(mask_chosen, batch * fragments, args);
}

struct find_args {
    int32_t *rows, *count;
    const int32_t *chosen;
    int64_t batch, f;
};

NVT_KERNEL(find_rows, find_args)
{
    FOR_THREADS(i, 1)
    {
        int32_t count = (int32_t)(row + i);
        for (int64_t b = 0; b < a.batch; b++)
            if (a.chosen[b] == a.f)
                a.rows[count++] = (int32_t)b;
        *a.count = count;
    }
}

void nvt_find_rows(int32_t *rows, int32_t *count, const int32_t *chosen, int64_t batch, int64_t f)
{
    struct find_args args = {rows, count, chosen, batch, f};
    NVT_LAUNCH(find_rows, 1, args);
}

struct move_args {
    real *out;
    const real *in;
    const int32_t *rows;
    int64_t f, fragments, width;
};

NVT_KERNEL(gather_fragment, move_args)
{
    const real *from = a.in + (a.rows[row] * a.fragments + a.f) * a.width;
    FOR_THREADS(i, a.width)
    {
        a.out[row * a.width + i] = from[i];
    }
}

void nvt_gather_fragment(real *packed, const real *x, const int32_t *rows, int64_t n, int64_t f,
                         int64_t fragments, int64_t width)
{
    struct move_args args = {packed, x, rows, f, fragments, width};
    NVT_LAUNCH(gather_fragment, n, args);
}

NVT_KERNEL(scatter_rows, move_args)
{
    FOR_THREADS(i, a.width)
    {
        a.out[a.rows[row] * a.width + i] = a.in[row * a.width + i];
    }
}

void nvt_scatter_rows(real *out, const real *packed, const int32_t *rows, int64_t n, int64_t width)
{
    struct move_args args = {out, packed, rows, 0, 0, width};
    NVT_LAUNCH(scatter_rows, n, args);
}

/* Columns of a row of the expert kernels: enough rows for all processors, long enough to stream. */
#define EXPERT_COLUMNS 256

/* A row is a (sample, chunk of columns): the chosen expert's weights stream through once. */
NVT_KERNEL(expert_forward, fragment_args)
{
    int64_t chunks = (a.columns + EXPERT_COLUMNS - 1) / EXPERT_COLUMNS;
    int64_t b = row / chunks, first = row % chunks * EXPERT_COLUMNS, f = a.chosen[b];
    int64_t n = a.columns - first < EXPERT_COLUMNS ? a.columns - first : EXPERT_COLUMNS;
    const real *x = a.x + (b * a.fragments + f) * a.width;
    const real *e = a.s + f * a.width * a.columns + first;
    real *out = a.out + b * a.columns + first;
    FOR_THREADS(o, n)
    {
        out[o] = 0;
    }
    for (int64_t i = 0; i < a.width; i++) {
        real factor = x[i];
        FOR_THREADS(o, n)
        {
            out[o] += factor * e[i * a.columns + o];
        }
    }
}

static int64_t expert_chunks(int64_t columns)
{
    return (columns + EXPERT_COLUMNS - 1) / EXPERT_COLUMNS;
}

void nvt_expert_forward(real *out, const real *x, const real *e, const int32_t *chosen,
                        int64_t batch, int64_t fragments, int64_t width, int64_t columns)
{
#ifdef __CUDACC__
    if (!nvt_cuda_expert_forward(out, x, e, chosen, batch, fragments, width, columns))
        return;
#endif
    nvt_expert_forward_rows(out, x, e, chosen, batch, fragments, width, columns);
}

void nvt_expert_forward_rows(real *out, const real *x, const real *e, const int32_t *chosen,
                             int64_t batch, int64_t fragments, int64_t width, int64_t columns)
{
    struct fragment_args args = {out, NULL, x, e, NULL, chosen, batch, fragments, width, columns};
    NVT_LAUNCH(expert_forward, batch * expert_chunks(columns), args);
}

/* A row is a feature (fragment, i): it adds up the samples that chose its fragment. On the host a sample's
 * columns stream by; on a device the sum of a column stays in a register, and the weights are met once. */
NVT_KERNEL(expert_backward, fragment_args)
{
    int64_t f = row / a.width, i = row % a.width;
    real *de = a.out + row * a.columns;
#ifdef __CUDACC__
    FOR_THREADS(o, a.columns)
    {
        real sum = 0;
        int met = 0;
        for (int64_t b = 0; b < a.batch; b++)
            if (a.chosen[b] == f) {
                sum += a.x[(b * a.fragments + f) * a.width + i] * a.s[b * a.columns + o];
                met = 1;
            }
        if (met)
            de[o] += sum;
    }
#else
    for (int64_t b = 0; b < a.batch; b++) {
        if (a.chosen[b] != f)
            continue;
        real factor = a.x[(b * a.fragments + f) * a.width + i];
        FOR_THREADS(o, a.columns)
        {
            de[o] += factor * a.s[b * a.columns + o];
        }
    }
#endif
}

void nvt_expert_backward(real *de, const real *x, const real *dout, const int32_t *chosen,
                         int64_t batch, int64_t fragments, int64_t width, int64_t columns)
{
    struct fragment_args args = {de, NULL, x, dout, NULL, chosen, batch, fragments, width, columns};
    NVT_LAUNCH(expert_backward, fragments * width, args);
}
