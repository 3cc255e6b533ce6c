#include "transformer_work.h"

#include <string.h>

enum { FORWARD, BACKWARD };

/* The shape's sizes as counts. */
struct sizes {
    uint64_t n, d, ff, t, v, layers;
    uint64_t groups, width; /* heads of all samples, features of a head */
    /* elements of the residual stream that are copied on: none without backward */
    uint64_t carried;
    uint64_t stored;   /* bytes of a stored number (nvt_backend_stored_bytes) */
    uint64_t products; /* parameters that products read */
};

static struct sizes sizes_of(const struct nvt_transformer_shape *shape)
{
    struct sizes s;
    s.n = (uint64_t)(shape->batch * shape->context);
    s.d = (uint64_t)shape->d_model;
    s.ff = (uint64_t)shape->d_ff;
    s.t = (uint64_t)shape->context;
    s.v = (uint64_t)shape->vocabulary;
    s.layers = (uint64_t)shape->layers;
    s.groups = (uint64_t)(shape->batch * shape->heads);
    s.width = (uint64_t)(shape->d_model / shape->heads);
    s.carried = shape->pass >= NVT_PASS_BACKWARD ? s.n * s.d : 0;
    s.stored = nvt_backend_stored_bytes(shape->precision);
    s.products = s.v * s.d + s.layers * (4 * s.d * s.d + 2 * s.d * s.ff);
    return s;
}

/* Operations, and numbers moved: real ones, and stored ones. */
static void add(const struct sizes *s, struct nvt_work_payload *work, uint64_t flops,
                uint64_t reals, uint64_t stored)
{
    work->flops += flops;
    work->bytes += reals * sizeof(real) + stored * s->stored;
}

static void add_work(struct nvt_work_payload *work, struct nvt_work_payload more, uint64_t times)
{
    work->flops += times * more.flops;
    work->bytes += times * more.bytes;
}

/* Of stored numbers alone. */
static void add_matmul(const struct sizes *s, struct nvt_work_payload *work, uint64_t m, uint64_t n,
                       uint64_t k, uint64_t count)
{
    add(s, work, 2 * m * n * k * count, 0, (m * k + k * n + m * n) * count);
}

/* Whose result is real. */
static void add_real_matmul(const struct sizes *s, struct nvt_work_payload *work, uint64_t m,
                            uint64_t n, uint64_t k)
{
    add(s, work, 2 * m * n * k, m * n, m * k + k * n);
}

/* The gradients of y = x·wᵀ: of x and of w. */
static void add_project_backward(const struct sizes *s, struct nvt_work_payload *work, uint64_t n,
                                 uint64_t in, uint64_t out)
{
    add_matmul(s, work, n, in, out, 1);
    add_real_matmul(s, work, out, in, n);
}

static void count_forward(const struct sizes *s, struct nvt_work_payload *part)
{
    uint64_t wide = s->n * s->d, seen = s->groups * s->t * (s->t + 1) / 2;
    add(s, &part[NVT_PART_EMBEDDING], wide, 2 * wide + s->t * s->d + s->n, 0);
    add(s, &part[NVT_PART_NORM], 4 * wide, wide + s->d + s->n, wide);
    add_matmul(s, &part[NVT_PART_SCORES], s->t, s->t, s->width, s->groups);
    add(s, &part[NVT_PART_SOFTMAX], 5 * seen, 0, seen + s->groups * s->t * s->t);
    add_matmul(s, &part[NVT_PART_VALUES], s->t, s->width, s->t, s->groups);

    struct nvt_work_payload *attention = &part[NVT_PART_ATTENTION], *mlp = &part[NVT_PART_MLP];
    add_matmul(s, attention, s->n, 3 * s->d, s->d, 1);
    add(s, attention, 0, 0, 6 * wide + 2 * wide); /* heads split and merged */
    add_work(attention, part[NVT_PART_SCORES], 1);
    add_work(attention, part[NVT_PART_SOFTMAX], 1);
    add_work(attention, part[NVT_PART_VALUES], 1);
    add(s, attention, wide, 2 * s->carried + wide, 0); /* the residual */
    add_real_matmul(s, attention, s->n, s->d, s->d);

    add_matmul(s, mlp, s->n, s->ff, s->d, 1);
    add(s, mlp, 5 * s->n * s->ff, 0, 2 * s->n * s->ff);
    add(s, mlp, wide, 2 * s->carried + wide, 0);
    add_real_matmul(s, mlp, s->n, s->d, s->ff);

    add_real_matmul(s, &part[NVT_PART_LM_HEAD], s->n, s->v, s->d);
    add(s, &part[NVT_PART_LOSS], 4 * s->n * s->v, s->n * s->v, 0);
}

static void count_backward(const struct sizes *s, struct nvt_work_payload *part)
{
    uint64_t wide = s->n * s->d, seen = s->groups * s->t * (s->t + 1) / 2;
    add(s, &part[NVT_PART_LOSS], 3 * s->n * s->v, s->n * s->v, s->n * s->v);
    add_project_backward(s, &part[NVT_PART_LM_HEAD], s->n, s->d, s->v);
    /* dx is added to; what products read of it is written too. */
    add(s, &part[NVT_PART_NORM], 10 * wide, 3 * wide + 2 * s->d + s->n,
        wide + (s->stored == sizeof(real) ? 0 : wide));

    struct nvt_work_payload *attention = &part[NVT_PART_ATTENTION], *mlp = &part[NVT_PART_MLP];
    add_project_backward(s, mlp, s->n, s->ff, s->d);
    add(s, mlp, 10 * s->n * s->ff, 0, 3 * s->n * s->ff);
    add_project_backward(s, mlp, s->n, s->d, s->ff);

    add_matmul(s, &part[NVT_PART_VALUES], s->t, s->t, s->width, s->groups);
    add_matmul(s, &part[NVT_PART_VALUES], s->t, s->width, s->t, s->groups);
    add(s, &part[NVT_PART_SOFTMAX], 4 * seen, 0, 2 * seen + s->groups * s->t * s->t);
    add_matmul(s, &part[NVT_PART_SCORES], s->t, s->width, s->t, 2 * s->groups);
    add_project_backward(s, attention, s->n, s->d, s->d);
    add(s, attention, 0, 0, 2 * wide + 6 * wide);
    add_work(attention, part[NVT_PART_SCORES], 1);
    add_work(attention, part[NVT_PART_SOFTMAX], 1);
    add_work(attention, part[NVT_PART_VALUES], 1);
    add_project_backward(s, attention, s->n, s->d, 3 * s->d);

    /* Both gradients are zeroed; every row of dx is read for each and added to a sum. */
    add(s, &part[NVT_PART_EMBEDDING], 2 * wide, (s->v + s->t) * s->d + 6 * wide, 0);
}

static struct nvt_work_payload total(const struct sizes *s, const struct nvt_work_payload *part)
{
    struct nvt_work_payload work = {0, 0};
    add_work(&work, part[NVT_PART_EMBEDDING], 1);
    add_work(&work, part[NVT_PART_NORM], 2 * s->layers + 1);
    add_work(&work, part[NVT_PART_ATTENTION], s->layers);
    add_work(&work, part[NVT_PART_MLP], s->layers);
    add_work(&work, part[NVT_PART_LM_HEAD], 1);
    add_work(&work, part[NVT_PART_LOSS], 1);
    return work;
}

struct nvt_transformer_work nvt_transformer_count_work(const struct nvt_transformer_shape *shape)
{
    struct nvt_transformer_work work;
    struct sizes s = sizes_of(shape);
    uint64_t parameters = nvt_transformer_parameters(shape);
    memset(&work, 0, sizeof(work));
    count_forward(&s, work.part[FORWARD]);
    count_backward(&s, work.part[BACKWARD]);
    work.forward = total(&s, work.part[FORWARD]);
    work.backward = total(&s, work.part[BACKWARD]);
    /* AdamW: w, m, v read and written, g read; 15 operations. What products read of w is written too. */
    add(&s, &work.step, 15 * parameters, 7 * parameters, s.stored == sizeof(real) ? 0 : s.products);
    return work;
}
