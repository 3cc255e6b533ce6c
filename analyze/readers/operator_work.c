#include "operator_work.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

enum form { PRODUCT, BATCHED, VECTOR, ATTENTION };

static const struct known {
    const char *name;
    enum form form;
    unsigned first;  /* the input that the product begins with */
    double products; /* of attention */
} operators[] = {
    {"aten::mm", PRODUCT, 0, 0},
    {"aten::addmm", PRODUCT, 1, 0},
    {"aten::_addmm_activation", PRODUCT, 1, 0},
    {"aten::_int_mm", PRODUCT, 0, 0},
    {"aten::bmm", BATCHED, 0, 0},
    {"aten::baddbmm", BATCHED, 1, 0},
    {"aten::mv", VECTOR, 0, 0},
    {"aten::addmv", VECTOR, 1, 0},
    {"aten::_scaled_dot_product_flash_attention", ATTENTION, 0, 2},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", ATTENTION, 0, 2},
    {"aten::_scaled_dot_product_efficient_attention", ATTENTION, 0, 2},
    {"aten::_scaled_dot_product_cudnn_attention", ATTENTION, 0, 2},
    {"aten::_scaled_dot_product_flash_attention_backward", ATTENTION, 1, 5},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", ATTENTION, 1, 5},
    {"aten::_scaled_dot_product_efficient_attention_backward", ATTENTION, 1, 5},
    {"aten::_scaled_dot_product_cudnn_attention_backward", ATTENTION, 1, 5},
};

/* What PyTorch calls a type, how many bytes it has, and its precision as peaks have it (analyze/input/peaks.h). */
static const struct type {
    const char *name, *precision;
    double bytes;
} types[] = {
    {"float", "fp32", 4},
    {"c10::BFloat16", "bf16", 2},
    {"c10::Half", "fp16", 2},
    {"signed char", "int8", 1},
};

static const struct known *find(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(operators); i++)
        if (!strcmp(name, operators[i].name))
            return &operators[i];
    return NULL;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

int nvt_shapes_are_same(const struct nvt_shapes *a, const struct nvt_shapes *b)
{
    int same = a->inputs == b->inputs && a->types == b->types;
    for (unsigned i = 0; i < least(a->inputs, NVT_SHAPE_INPUTS) && same; i++)
        same = a->sizes[i] == b->sizes[i] &&
               !memcmp(a->size[i], b->size[i],
                       least(a->sizes[i], NVT_SHAPE_SIZES) * sizeof(a->size[i][0]));
    for (unsigned i = 0; i < least(a->types, NVT_SHAPE_INPUTS) && same; i++)
        same = !strcmp(a->type[i], b->type[i]);
    return same;
}

int nvt_is_operator_with_work(const char *name)
{
    /* Asked of every operator of a file: by its length, most are none. Those of attention are the longest. */
    static const uint64_t lengths =
        UINT64_C(1) << sizeof("aten::mm") | UINT64_C(1) << sizeof("aten::bmm") |
        UINT64_C(1) << sizeof("aten::addmm") | UINT64_C(1) << sizeof("aten::baddbmm") |
        UINT64_C(1) << sizeof("aten::_addmm_activation");
    const size_t size = strlen(name) + 1;
    return (size > 32 || lengths >> size & 1) && find(name) != NULL;
}

static const struct type *type_of(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(types); i++)
        if (!strcmp(name, types[i].name))
            return &types[i];
    return NULL;
}

struct work {
    double flops, numbers;
};

/* Of a × b, whose last two dimensions count, in so many batches. 0: they do not fit. */
static int product_of(const int64_t *a, const int64_t *b, double batches, struct work *work)
{
    const double m = (double)a[0], k = (double)a[1], n = (double)b[1];
    if (a[1] != b[0])
        return 0;
    *work = (struct work){2 * batches * m * n * k, batches * (m * k + k * n + m * n)};
    return 1;
}

/* Of queries q and keys k; forward reads three and writes one, backward reads five and writes three. */
static int attention_of(const int64_t *q, const int64_t *k, double products, struct work *work)
{
    const double heads = (double)q[0] * (double)q[1], d = (double)q[3];
    if (q[0] != k[0] || q[3] != k[3])
        return 0;
    const double queries = heads * (double)q[2] * d,
                 keys = (double)k[0] * (double)k[1] * (double)k[2] * d;
    *work = (struct work){2 * products * heads * (double)q[2] * (double)k[2] * d,
                          products > 2 ? 4 * queries + 4 * keys : 2 * queries + 2 * keys};
    return 1;
}

static int work_of(const struct known *known, const struct nvt_shapes *shapes, struct work *work)
{
    static const unsigned sizes[][2] = {
        [PRODUCT] = {2, 2}, [BATCHED] = {3, 3}, [VECTOR] = {2, 1}, [ATTENTION] = {4, 4}};
    const unsigned a = known->first, b = a + 1;
    if (b >= shapes->inputs || b >= NVT_SHAPE_INPUTS || shapes->sizes[a] != sizes[known->form][0] ||
        shapes->sizes[b] != sizes[known->form][1])
        return 0;
    const int64_t *left = shapes->size[a], *right = shapes->size[b];
    switch (known->form) {
    case PRODUCT:
        return product_of(left, right, 1, work);
    case BATCHED:
        return left[0] == right[0] && product_of(left + 1, right + 1, (double)left[0], work);
    case VECTOR:
        return product_of(left, (const int64_t[]){right[0], 1}, 1, work);
    default:
        return attention_of(left, right, known->products, work);
    }
}

int nvt_operator_work(const char *name, const struct nvt_shapes *shapes,
                      char out[NVT_OPERATOR_WORK_MAX])
{
    const struct known *known = find(name);
    struct work work;
    if (!known || known->first >= shapes->types || known->first >= NVT_SHAPE_INPUTS)
        return 0;
    const struct type *type = type_of(shapes->type[known->first]);
    if (!type || !work_of(known, shapes, &work) || !(work.flops > 0))
        return 0;
    snprintf(out, NVT_OPERATOR_WORK_MAX, "{\"flops\":%.17g,\"bytes\":%.17g,\"precision\":\"%s\"}",
             work.flops, work.numbers * type->bytes, type->precision);
    return 1;
}
