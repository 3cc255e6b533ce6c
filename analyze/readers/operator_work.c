#include "operator_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

enum form { PRODUCT, BATCHED, VECTOR, ATTENTION, CONVOLUTION, CONVOLUTION_BACKWARD };

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
    {"aten::_scaled_mm", PRODUCT, 0, 0},
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
    {"aten::convolution", CONVOLUTION, 0, 0},
    {"aten::convolution_backward", CONVOLUTION_BACKWARD, 0, 0},
};

/* What PyTorch calls a type, how many bytes it has, its precision as peaks have it (analyze/input/peaks.h), and how many
 * products of that a product is. */
static const struct type {
    const char *name, *precision;
    double bytes, products;
} types[] = {
    {"float", "fp32", 4, 1},
    {"double", "fp64", 8, 1},
    {"c10::BFloat16", "bf16", 2, 1},
    {"c10::Half", "fp16", 2, 1},
    {"signed char", "int8", 1, 1},
    {"c10::Float8_e4m3fn", "fp8", 1, 1},
    {"c10::Float8_e5m2", "fp8", 1, 1},
    {"c10::Float8_e4m3fnuz", "fp8", 1, 1},
    {"c10::Float8_e5m2fnuz", "fp8", 1, 1},
    {"c10::complex<float>", "fp32", 8, 4},
    {"c10::complex<double>", "fp64", 16, 4},
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
    same = same && a->values == b->values;
    for (unsigned i = 0; i < a->values && same; i++)
        same = !strcmp(a->value[i], b->value[i]);
    return same;
}

int nvt_is_operator_with_work(const char *name)
{
    /* Asked of every operator of a file: by its length, most are none. Those of attention are the longest. */
    static const uint64_t lengths =
        UINT64_C(1) << sizeof("aten::mm") | UINT64_C(1) << sizeof("aten::bmm") |
        UINT64_C(1) << sizeof("aten::addmm") | UINT64_C(1) << sizeof("aten::baddbmm") |
        UINT64_C(1) << sizeof("aten::_addmm_activation") | UINT64_C(1) << sizeof("aten::_int_mm") |
        UINT64_C(1) << sizeof("aten::_scaled_mm") | UINT64_C(1) << sizeof("aten::convolution") |
        UINT64_C(1) << sizeof("aten::convolution_backward");
    const size_t size = strlen(name) + 1;
    return (size > 32 || lengths >> size & 1) && find(name) != NULL;
}

int nvt_is_convolution(const char *name)
{
    static const char prefix[] = "aten::convolution";
    return !strncmp(name, prefix, sizeof(prefix) - 1) && nvt_is_operator_with_work(name);
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

/* Of queries q, keys k, and values of a width; forward reads three and writes one, backward reads five and writes three. Of two
 * products one is of the values' width, of five two. */
static int attention_of(const int64_t *q, const int64_t *k, double width, double products,
                        struct work *work)
{
    const double heads = (double)q[0] * (double)q[1], d = (double)q[3],
                 of_values = products > 2 ? 2 : 1;
    if (q[0] != k[0] || q[3] != k[3])
        return 0;
    const double both = d + width, queries = heads * (double)q[2] * both,
                 keys = (double)k[0] * (double)k[1] * (double)k[2] * both;
    *work = (struct work){2 * heads * (double)q[2] * (double)k[2] *
                              ((products - of_values) * d + of_values * width),
                          of_values * (queries + keys)};
    return 1;
}

/* The width of values, which stand behind the keys; that of the keys where they are not known. */
static double width_of_values(const struct nvt_shapes *shapes, unsigned keys)
{
    const unsigned values = keys + 1;
    const int is_known = values < shapes->inputs && values < NVT_SHAPE_INPUTS &&
                         shapes->sizes[values] == 4 && shapes->size[values][3] > 0;
    return (double)shapes->size[is_known ? values : keys][3];
}

/* --- convolutions ----------------------------------------------------------------------------- */

/* The product of sizes from one dimension on. */
static double product(const int64_t *size, unsigned from, unsigned sizes)
{
    double all = 1;
    for (unsigned i = from; i < sizes; i++)
        all *= (double)size[i];
    return all;
}

/* The i-th number of "[2, 3]"; of one that has a single number that. -1: it is no such text. */
static int64_t number_of(const struct nvt_shapes *shapes, unsigned value, unsigned i)
{
    const char *at = value < shapes->values ? shapes->value[value] : "";
    char *end;
    if (*at++ != '[')
        return -1;
    for (unsigned k = 0;; k++) {
        const long long number = strtoll(at, &end, 10);
        const int is_last = *end == ']';
        if (end == at || (!is_last && *end != ',') || number < 0)
            return -1;
        if (k == i || (is_last && !k))
            return number;
        if (is_last)
            return -1;
        at = end + 1;
    }
}

static int is_value(const struct nvt_shapes *shapes, unsigned value, const char *text)
{
    return value < shapes->values && !strcmp(shapes->value[value], text);
}

/* How many places the result has; 0: it has none, or that is not known. */
static double places_of(const struct nvt_shapes *shapes)
{
    enum { STRIDE = 3, PADDING, DILATION };
    double places = 1;
    for (unsigned i = 2; i < shapes->sizes[0]; i++) {
        const int64_t stride = number_of(shapes, STRIDE, i - 2),
                      padding = number_of(shapes, PADDING, i - 2),
                      dilation = number_of(shapes, DILATION, i - 2);
        if (stride < 1 || padding < 0 || dilation < 1)
            return 0;
        const double covered = (double)shapes->size[0][i] + 2 * (double)padding -
                               (double)dilation * ((double)shapes->size[1][i] - 1) - 1;
        if (covered < 0)
            return 0;
        places *= floor(covered / (double)stride) + 1;
    }
    return places;
}

/* aten::convolution(input, weight, bias, stride, padding, dilation, transposed, …). */
static int convolution_of(const struct nvt_shapes *shapes, struct work *work)
{
    enum { TRANSPOSED = 6 };
    const unsigned sizes = shapes->sizes[0];
    const int64_t *input = shapes->size[0], *weight = shapes->size[1];
    const int is_transposed = is_value(shapes, TRANSPOSED, "True");
    if (!is_transposed && !is_value(shapes, TRANSPOSED, "False"))
        return 0;
    const double weights = product(weight, 0, sizes);
    const double places = is_transposed ? product(input, 2, sizes) : places_of(shapes);
    /* What a transposed one writes is not reckoned: at least what it reads. */
    const double written = is_transposed ? 0 : (double)input[0] * (double)weight[0] * places;
    *work = (struct work){2 * (double)input[0] * places * weights,
                          product(input, 0, sizes) + weights + written};
    return 1;
}

/* aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
 * output_mask). */
static int convolution_backward_of(const struct nvt_shapes *shapes, struct work *work)
{
    enum { TRANSPOSED = 7, MASK = 10 };
    const int64_t *output = shapes->size[0], *input = shapes->size[1], *weight = shapes->size[2];
    const unsigned sizes = shapes->sizes[0];
    const int is_transposed = is_value(shapes, TRANSPOSED, "True");
    const char *mask = MASK < shapes->values ? shapes->value[MASK] : "";
    const int of_input = !strncmp(mask, "[True", 5), of_weight = strstr(mask, ", True, ") != NULL;
    if (shapes->inputs < 3 || shapes->sizes[2] != sizes || *mask != '[' ||
        (!is_transposed && !is_value(shapes, TRANSPOSED, "False")))
        return 0;
    const double weights = product(weight, 0, sizes), gradients = of_input + of_weight;
    *work =
        (struct work){gradients * 2 * (double)input[0] *
                          product(is_transposed ? input : output, 2, sizes) * weights,
                      product(output, 0, sizes) + gradients * (product(input, 0, sizes) + weights)};
    return 1;
}

static int work_of_convolution(const struct known *known, const struct nvt_shapes *shapes,
                               struct work *work)
{
    const unsigned sizes = shapes->sizes[0];
    if (shapes->inputs < 2 || sizes < 3 || sizes > NVT_SHAPE_SIZES || shapes->sizes[1] != sizes)
        return 0;
    return known->form == CONVOLUTION ? convolution_of(shapes, work)
                                      : convolution_backward_of(shapes, work);
}

static int work_of(const struct known *known, const struct nvt_shapes *shapes, struct work *work)
{
    static const unsigned sizes[][2] = {
        [PRODUCT] = {2, 2}, [BATCHED] = {3, 3}, [VECTOR] = {2, 1}, [ATTENTION] = {4, 4}};
    const unsigned a = known->first, b = a + 1;
    if (known->form >= CONVOLUTION)
        return work_of_convolution(known, shapes, work);
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
        return attention_of(left, right, width_of_values(shapes, b), known->products, work);
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
    if (!*shapes->type[known->first] || !work_of(known, shapes, &work) || !(work.flops > 0))
        return 0;
    if (!type)
        snprintf(out, NVT_OPERATOR_WORK_MAX, "{\"flops\":%.17g,\"precision\":\"other\"}",
                 work.flops);
    else
        snprintf(out, NVT_OPERATOR_WORK_MAX,
                 "{\"flops\":%.17g,\"bytes\":%.17g,\"precision\":\"%s\"}",
                 work.flops * type->products, work.numbers * type->bytes, type->precision);
    return 1;
}

/* --- names ------------------------------------------------------------------------------------ */

static const char sizes_key[] = ", sizes = [";

int nvt_has_shapes_in_name(const char *name)
{
    return !strncmp(name, "aten::", 6) && strstr(name, sizes_key) != NULL;
}

/* The numbers of "[2, 3]", which begins at `at`, as an input's. Behind it, or NULL: it is no such list. */
static const char *take_sizes(const char *at, struct nvt_shapes *shapes)
{
    int64_t spare[NVT_SHAPE_SIZES];
    const unsigned input = shapes->inputs++;
    const int is_kept = input < NVT_SHAPE_INPUTS;
    int64_t *size = is_kept ? shapes->size[input] : spare;
    unsigned count = 0;
    if (*at++ != '[')
        return NULL;
    while (*at != ']') {
        char *end;
        const long long number = strtoll(at, &end, 10);
        if (end == at || number < 0)
            return NULL;
        if (count < NVT_SHAPE_SIZES)
            size[count] = number;
        count += count <= NVT_SHAPE_SIZES;
        at = end + (!strncmp(end, ", ", 2) ? 2 : 0);
        if (at == end && *at != ']')
            return NULL;
    }
    if (is_kept)
        shapes->sizes[input] = count;
    return at + 1;
}

double nvt_operator_flops_in_name(const char *name)
{
    const char *at = nvt_has_shapes_in_name(name) ? strstr(name, sizes_key) : NULL;
    char operator[64];
    struct nvt_shapes shapes = {.inputs = 0};
    struct work work;
    if (!at)
        return 0;
    snprintf(operator, sizeof(operator), "%.*s", (int)strcspn(name, ","), name);
    const struct known *known = find(operator);
    for (at += sizeof(sizes_key) - 1; *at && *at != ']';) {
        const char *end = take_sizes(at, &shapes);
        if (!end)
            return 0;
        at = end + (!strncmp(end, ", ", 2) ? 2 : 0);
        if (at == end && *at != ']')
            return 0;
    }
    return known && known->form < CONVOLUTION && work_of(known, &shapes, &work) && work.flops > 0
               ? work.flops
               : 0;
}
