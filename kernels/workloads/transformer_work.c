#include "transformer_work.h"

#include <string.h>

enum { FORWARD, BACKWARD };

/* The shape's sizes as counts. */
struct sizes {
    uint64_t n, d, ff, t, v, layers;
    uint64_t groups, width; /* heads of all samples, features of a head */
    uint64_t
        carried; /* elements of the residual stream that are copied on: none without backward */
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
    return s;
}

/* Operations, and elements moved. */
static void add(struct nvt_work_payload *work, uint64_t flops, uint64_t elements)
{
    work->flops += flops;
    work->bytes += elements * sizeof(real);
}

static void add_work(struct nvt_work_payload *work, struct nvt_work_payload more, uint64_t times)
{
    work->flops += times * more.flops;
    work->bytes += times * more.bytes;
}

static void add_matmul(struct nvt_work_payload *work, uint64_t m, uint64_t n, uint64_t k,
                       uint64_t count)
{
    add(work, 2 * m * n * k * count, (m * k + k * n + m * n) * count);
}

/* The gradients of y = x·wᵀ: of x and of w. */
static void add_project_backward(struct nvt_work_payload *work, uint64_t n, uint64_t in,
                                 uint64_t out)
{
    add_matmul(work, n, in, out, 1);
    add_matmul(work, out, in, n, 1);
}

static void count_forward(const struct sizes *s, struct nvt_work_payload *part)
{
    uint64_t wide = s->n * s->d, seen = s->groups * s->t * (s->t + 1) / 2;
    add(&part[NVT_PART_EMBEDDING], wide, 2 * wide + s->t * s->d + s->n);
    add(&part[NVT_PART_NORM], 4 * wide, 2 * wide + s->d + s->n);
    add_matmul(&part[NVT_PART_SCORES], s->t, s->t, s->width, s->groups);
    add(&part[NVT_PART_SOFTMAX], 5 * seen, seen + s->groups * s->t * s->t);
    add_matmul(&part[NVT_PART_VALUES], s->t, s->width, s->t, s->groups);

    struct nvt_work_payload *attention = &part[NVT_PART_ATTENTION], *mlp = &part[NVT_PART_MLP];
    add_matmul(attention, s->n, 3 * s->d, s->d, 1);
    add(attention, 0, 6 * wide + 2 * wide); /* heads split and merged */
    add_work(attention, part[NVT_PART_SCORES], 1);
    add_work(attention, part[NVT_PART_SOFTMAX], 1);
    add_work(attention, part[NVT_PART_VALUES], 1);
    add(attention, wide, 2 * s->carried + wide); /* the residual */
    add_matmul(attention, s->n, s->d, s->d, 1);

    add_matmul(mlp, s->n, s->ff, s->d, 1);
    add(mlp, 5 * s->n * s->ff, 2 * s->n * s->ff);
    add(mlp, wide, 2 * s->carried + wide);
    add_matmul(mlp, s->n, s->d, s->ff, 1);

    add_matmul(&part[NVT_PART_LM_HEAD], s->n, s->v, s->d, 1);
    add(&part[NVT_PART_LOSS], 4 * s->n * s->v, s->n * s->v);
}

static void count_backward(const struct sizes *s, struct nvt_work_payload *part)
{
    uint64_t wide = s->n * s->d, seen = s->groups * s->t * (s->t + 1) / 2;
    add(&part[NVT_PART_LOSS], 3 * s->n * s->v, 2 * s->n * s->v);
    add_project_backward(&part[NVT_PART_LM_HEAD], s->n, s->d, s->v);
    add(&part[NVT_PART_NORM], 10 * wide, 4 * wide + 2 * s->d + s->n);

    struct nvt_work_payload *attention = &part[NVT_PART_ATTENTION], *mlp = &part[NVT_PART_MLP];
    add_project_backward(mlp, s->n, s->ff, s->d);
    add(mlp, 10 * s->n * s->ff, 3 * s->n * s->ff);
    add_project_backward(mlp, s->n, s->d, s->ff);

    add_matmul(&part[NVT_PART_VALUES], s->t, s->t, s->width, s->groups);
    add_matmul(&part[NVT_PART_VALUES], s->t, s->width, s->t, s->groups);
    add(&part[NVT_PART_SOFTMAX], 4 * seen, 2 * seen + s->groups * s->t * s->t);
    add_matmul(&part[NVT_PART_SCORES], s->t, s->width, s->t, 2 * s->groups);
    add_project_backward(attention, s->n, s->d, s->d);
    add(attention, 0, 2 * wide + 6 * wide);
    add_work(attention, part[NVT_PART_SCORES], 1);
    add_work(attention, part[NVT_PART_SOFTMAX], 1);
    add_work(attention, part[NVT_PART_VALUES], 1);
    add_project_backward(attention, s->n, s->d, 3 * s->d);

    /* Both gradients are zeroed; every row of dx is read for each and added to a sum. */
    add(&part[NVT_PART_EMBEDDING], 2 * wide, (s->v + s->t) * s->d + 6 * wide);
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
    /* AdamW: w, m, v read and written, g read; 15 operations. */
    add(&work.step, 15 * parameters, 7 * parameters);
    return work;
}
