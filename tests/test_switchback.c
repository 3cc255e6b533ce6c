/*
 * SwitchBack's operations, from the very sources that the backend runs: conversions of halves,
 * quantisation against exact arithmetic, integer products against 64-bit sums, the int8 layer and
 * its gradients against their definition in double precision and against bounds that follow from
 * the quantisation step.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The kernels take part in this test as source. */
#include "../kernels/ops/quantize_one.h"
#include "../kernels/frame/allocator.c"
#include "../kernels/host/backend.c"
#include "../kernels/host/low_precision.c"
#include "../kernels/ops/quantize.c"
#include "../kernels/ops/random.c"
#include "../kernels/workloads/switchback_layer.c"
#include "../lib/count_of.h"
#include "bounds.h"

/* --- halves ----------------------------------------------------------------------------------- */

/* Its definition: IEEE 754-2019, 3.4. */
static double value_of(nvt_half half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double sign = half >> 15 ? -1 : 1;
    if (exponent == 31)
        return mantissa ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static void every_half_is_converted_both_ways(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        double expected = value_of((nvt_half)bits);
        float value = nvt_half_value((nvt_half)bits);
        nvt_half back = nvt_half_of(value);
        if (isnan(expected)) {
            assert_true(isnan(value));
            assert_true(isnan(value_of(back)));
            continue;
        }
        assert_true(value == expected);
        assert_int_equal(back, bits);
    }
}

/* Between two neighbours: to the nearer one, from the middle to the even one. */
static void floats_are_rounded_to_the_nearest_half(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < NVT_HALF_INFINITY; bits++) {
        double low = value_of((nvt_half)bits);
        double high = bits + 1 < NVT_HALF_INFINITY ? value_of((nvt_half)(bits + 1)) : 65536;
        float middle = (float)((low + high) / 2);
        uint32_t even = bits + (bits & 1);
        assert_int_equal(nvt_half_of(middle), even);
        assert_int_equal(nvt_half_of(nextafterf(middle, -INFINITY)), bits);
        assert_int_equal(nvt_half_of(nextafterf(middle, INFINITY)), bits + 1);
        assert_int_equal(nvt_half_of(-middle), even | 0x8000u);
    }
    assert_int_equal(nvt_half_of(FLT_MAX), NVT_HALF_INFINITY);
    assert_int_equal(nvt_half_of(FLT_MIN), 0);
}

/* --- quantisation ----------------------------------------------------------------------------- */

/* round-half-to-even(127·v / s) in double: exact but for the division, whose error of 2^-53 is far
 * below the distance of 2^-20 that a quotient of halves keeps from a tie. */
static int quantized(double v, double s)
{
    return s > 0 && isfinite(s) ? (int)nearbyint(127 * v / s) : 0;
}

/* Every magnitude of v below a scale, for scales of all kinds: subnormal, round, odd, the largest.
 */
static void quantisation_is_that_of_exact_arithmetic(void **state)
{
    (void)state;
    static const nvt_half scales[] = {1,      2,      3,      127,    254,    1023,
                                      1024,   1025,   0x1fff, 0x3bff, 0x3c00, 0x3c01,
                                      0x57f0, 0x5bf0, 0x5801, 0x6955, 0x7bfe, 0x7bff};
    int64_t ties = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(scales); i++) {
        int64_t n = (int64_t)scales[i] + 1;
        nvt_half *x = calloc((size_t)n, sizeof(*x));
        int8_t *q = calloc((size_t)n, 1);
        float s = 0;
        assert_true(x && q);
        for (int64_t v = 0; v < n; v++)
            x[v] = (nvt_half)(v | (v % 3 ? 0 : 0x8000));
        nvt_quantize_rows(q, &s, x, 1, n);
        assert_true(s == value_of(scales[i]));
        for (int64_t v = 0; v < n; v++) {
            double quotient = 127 * value_of(x[v]) / (double)s;
            ties += quotient - floor(quotient) == 0.5;
            assert_int_equal(q[v], quantized(value_of(x[v]), (double)s));
        }
        free(x);
        free(q);
    }
    assert_true(ties > 100);
}

/* Halves of every size below 2, of both signs. */
static nvt_half *random_halves(int64_t count, uint32_t seed)
{
    nvt_half *x = calloc((size_t)count, sizeof(*x));
    assert_non_null(x);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (nvt_half)(seed >> 16 & 0xbfff);
    }
    return x;
}

enum { ROWS = 331, COLUMNS = 517 };

static double largest_of(const nvt_half *x, int64_t count, int64_t stride)
{
    double top = 0;
    for (int64_t i = 0; i < count && !isnan(top); i++) {
        double v = fabs(value_of(x[i * stride]));
        top = isnan(v) || v > top ? v : top;
    }
    return top;
}

static int same(float a, double b)
{
    return isnan(b) ? isnan(a) : a == b;
}

/* All four forms over a matrix that fills no tile, with odd rows and columns in it. */
static void check_all_forms(const nvt_half *x)
{
    uint16_t *scratch = calloc((size_t)nvt_quantize_scratch(ROWS, COLUMNS), sizeof(*scratch));
    int8_t *q[4];
    float rows[ROWS], columns[COLUMNS], all[2];
    for (int i = 0; i < 4; i++)
        q[i] = malloc(ROWS * COLUMNS);
    nvt_quantize_rows(q[0], rows, x, ROWS, COLUMNS);
    nvt_quantize_columns_transposed(q[1], columns, x, ROWS, COLUMNS, scratch);
    nvt_quantize_all(q[2], &all[0], x, ROWS, COLUMNS, scratch);
    nvt_quantize_all_transposed(q[3], &all[1], x, ROWS, COLUMNS, scratch);
    double top = largest_of(x, ROWS * COLUMNS, 1);
    assert_true(same(all[0], top) && same(all[1], top));
    for (int r = 0; r < ROWS; r++)
        assert_true(same(rows[r], largest_of(x + r * COLUMNS, COLUMNS, 1)));
    for (int c = 0; c < COLUMNS; c++)
        assert_true(same(columns[c], largest_of(x + c, ROWS, COLUMNS)));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            double v = value_of(x[r * COLUMNS + c]);
            assert_int_equal(q[0][r * COLUMNS + c], quantized(v, (double)rows[r]));
            assert_int_equal(q[1][c * ROWS + r], quantized(v, (double)columns[c]));
            assert_int_equal(q[2][r * COLUMNS + c], quantized(v, top));
            assert_int_equal(q[3][c * ROWS + r], quantized(v, top));
        }
    for (int i = 0; i < 4; i++)
        free(q[i]);
    free(scratch);
}

static void zeros_nans_and_infinities_have_scales_of_their_own(void **state)
{
    (void)state;
    nvt_half *x = random_halves(ROWS * COLUMNS, 1);
    check_all_forms(x);
    /* a row of zeros, and a column of them of both signs */
    memset(x + 7 * COLUMNS, 0, COLUMNS * sizeof(*x));
    for (int r = 0; r < ROWS; r++)
        x[r * COLUMNS + 300] = (nvt_half)(r % 2 << 15);
    check_all_forms(x);
    x[330 * COLUMNS + 516] = 0xfc00; /* −infinity in the last row and column */
    check_all_forms(x);
    x[100 * COLUMNS + 64] = 0x7e01; /* a NaN, and an infinity behind it */
    x[100 * COLUMNS + 65] = 0x7c00;
    x[255 * COLUMNS + 64] = 0xffff;
    check_all_forms(x);
    free(x);
}

/* A device multiplies by the reciprocal and corrects: every scale there is, with random halves below it and with
 * those that lie on ties. */
static void a_corrected_quotient_is_the_rounded_one(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (uint32_t bits = 1; bits < NVT_HALF_INFINITY; bits++) {
        float scale = nvt_half_value((nvt_half)bits), reciprocal = 1.0f / scale;
        assert_true(nvt_is_divisor(scale));
        for (uint32_t i = 0; i < 40; i++) {
            random = random * 1664525 + 1013904223;
            /* Of a scale 254·u, odd multiples of u. */
            float x = i < 32 ? nvt_half_value((nvt_half)(random % (bits + 1)))
                             : scale / 254 * (float)(2 * (random >> 16 & 127) - 1);
            if (x > scale || (i >= 32 && nvt_half_value(nvt_half_of(x)) != x))
                continue;
            float expected = 127.0f * x / scale;
            if (nvt_quotient(x, scale, reciprocal) != expected)
                fail_msg("127 * %a / %a is %a, not %a", (double)x, (double)scale,
                         (double)nvt_quotient(x, scale, reciprocal), (double)expected);
        }
    }
}

static void a_matrix_larger_than_a_share_has_one_scale(void **state)
{
    (void)state;
    enum { SIDE = 700 };
    uint16_t *scratch = calloc((size_t)nvt_quantize_scratch(SIDE, SIDE), sizeof(*scratch));
    nvt_half *x = random_halves(SIDE * SIDE, 3);
    int8_t *q = malloc(SIDE * SIDE);
    float s = 0;
    assert_true(SIDE * SIDE > 4 * SHARE);
    for (int i = 0; i < SIDE * SIDE; i += SIDE * SIDE - 1) {
        x[i] = 0x7800; /* 32768: the largest is first once, then last */
        nvt_quantize_all(q, &s, x, SIDE, SIDE, scratch);
        assert_true(s == 32768.0f);
        for (int k = 0; k < SIDE * SIDE; k++)
            assert_int_equal(q[k], quantized(value_of(x[k]), 32768));
        x[i] = 0;
    }
    free(scratch);
    free(x);
    free(q);
}

static void a_cast_cuts(void **state)
{
    (void)state;
    static const double values[] = {0, 0.99, 1, -1.5, 126.9, 127, 128, -127, -200, 65504, NAN};
    static const int expected[] = {0, 0, 1, -1, 126, 127, 127, -127, -127, 127, 0};
    enum { COUNT = NVT_COUNT_OF(expected) };
    nvt_half x[COUNT];
    int8_t q[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = nvt_half_of((float)values[i]);
    nvt_quantize_cast(q, x, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(q[i], expected[i]);
}

/* --- products of integers --------------------------------------------------------------------- */

static void check_product(int64_t m, int64_t n, int64_t k, int extreme)
{
    int8_t *a = malloc((size_t)(m * k)), *b = malloc((size_t)(n * k));
    int32_t *c = malloc((size_t)(m * n) * sizeof(*c)), *loop = malloc((size_t)(m * n) * sizeof(*c));
    uint32_t seed = 9;
    for (int64_t i = 0; i < (m + n) * k; i++) {
        seed = seed * 1664525 + 1013904223;
        int8_t value =
            (int8_t)(extreme ? (i / k % 3 == 1 ? -127 : 127) : (int)(seed >> 24) % 255 - 127);
        *(i < m * k ? &a[i] : &b[i - m * k]) = value;
    }
    nvt_backend_matmul_int8(m, n, k, a, b, c);
    int8_loop(m, n, k, a, b, loop);
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            int64_t sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += (int64_t)a[row * k + i] * b[column * k + i];
            assert_true(c[row * n + column] == sum);
            assert_true(loop[row * n + column] == sum);
        }
    free(a);
    free(b);
    free(c);
    free(loop);
}

static void integer_products_are_exact(void **state)
{
    (void)state;
    check_product(1, 1, 1, 0);
    check_product(3, 5, 7, 0);
    check_product(64, 48, 320, 0);
    check_product(130, 67, 1031, 0);
    check_product(16, 16, 4096, 1);
    /* The deepest that is sure to fit 32 bits: 2,147,472,... of 2,147,483,647. */
    check_product(2, 4, INT32_MAX / (127 * 127), 1);
}

/* --- the layer -------------------------------------------------------------------------------- */

static double dot(const nvt_half *a, int64_t stride_a, const nvt_half *b, int64_t stride_b,
                  int64_t k, double *magnitude)
{
    double sum = 0;
    *magnitude = 0;
    for (int64_t i = 0; i < k; i++) {
        double product = value_of(a[i * stride_a]) * value_of(b[i * stride_b]);
        sum += product;
        *magnitude += fabs(product);
    }
    return sum;
}

static double norm1(const nvt_half *a, int64_t stride, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += fabs(value_of(a[i * stride]));
    return sum;
}

/* Keep the largest error, as a part of its bound. */
static void meet(double *worst, double error, double limit)
{
    assert_true(fabs(error) <= limit);
    *worst = fmax(*worst, fabs(error) / limit);
}

static struct nvt_switchback make_layer(struct nvt_allocator *allocator, int64_t batch, int64_t in,
                                        int64_t out)
{
    struct nvt_switchback layer;
    memset(&layer, 0, sizeof(layer));
    layer.batch = batch;
    layer.in = in;
    layer.out = out;
    layer.allocator = allocator;
    assert_int_equal(nvt_switchback_setup(&layer, 5), 0);
    return layer;
}

/* A product in int8 against the exact product of the same halves (bounds.h). */
static void check_int8(double *worst, const nvt_half *a, const float *sa, const nvt_half *b,
                       int64_t row_b, int64_t stride_b, const float *sb, int shared,
                       const nvt_half *out, int64_t m, int64_t n, int64_t k)
{
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < n; c++) {
            double magnitude, y = dot(a + r * k, 1, b + c * row_b, stride_b, k, &magnitude);
            double limit =
                bound_of_int8(y, norm1(a + r * k, 1, k), norm1(b + c * row_b, stride_b, k),
                              (double)sa[r], (double)sb[shared ? 0 : c], k);
            meet(worst, value_of(out[r * n + c]) - y, limit);
        }
}

static void int8_outputs_keep_the_bound(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{33, 64, 48}, {5, 2, 3}, {70, 300, 75}, {8, 1, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(shapes); i++) {
        int64_t batch = shapes[i][0], in = shapes[i][1], out = shapes[i][2];
        struct nvt_allocator *allocator = nvt_allocator_new(0);
        struct nvt_switchback layer = make_layer(allocator, batch, in, out);
        double worst[4] = {0};
        nvt_switchback_run(&layer, NVT_ROWWISE_FWD);
        check_int8(&worst[0], layer.x, layer.sx, layer.w, in, 1, layer.sw[NVT_W_ROWS], 0, layer.y,
                   batch, out, in);
        nvt_switchback_run(&layer, NVT_GLOBAL_FWD);
        check_int8(&worst[1], layer.x, layer.sx, layer.w, in, 1, layer.sw[NVT_W_ALL], 1, layer.y,
                   batch, out, in);
        nvt_switchback_run(&layer, NVT_ROWWISE_BWD);
        check_int8(&worst[2], layer.g, layer.sg, layer.w, 1, in, layer.sw[NVT_W_COLUMNS], 0,
                   layer.gx, batch, in, out);
        nvt_switchback_run(&layer, NVT_GLOBAL_BWD);
        check_int8(&worst[3], layer.g, layer.sg, layer.w, 1, in, layer.sw[NVT_W_ALL_TURNED], 1,
                   layer.gx, batch, in, out);
        /* The bound is of the right size: with two or three terms some error comes near it. */
        for (int form = 0; form < 4; form++)
            assert_true(in > 3 || in == 1 || worst[form] > 0.25);
        nvt_switchback_teardown(&layer);
        assert_int_equal(nvt_allocator_use(allocator).allocated, 0);
        nvt_allocator_free(allocator);
    }
}

/* The definition, from x, g and w alone: quantise in double, multiply, scale, round once. What is
 * computed in float in between may move it by four units of 2^-24, and so over a rounding to half.
 */
static void check_definition(const nvt_half *out, int64_t at, double y)
{
    double error = fabs(value_of(out[at]) - y);
    assert_true(error <= bound_scaled(y, 0));
}

static double quantized_dot(const nvt_half *a, double sa, const nvt_half *b, int64_t stride_b,
                            double sb, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += (double)quantized(value_of(a[i]), sa) * quantized(value_of(b[i * stride_b]), sb);
    return sum * sa * sb / (127 * 127);
}

static void int8_passes_are_their_definition(void **state)
{
    (void)state;
    const int64_t batch = 37, in = 130, out = 65;
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_switchback layer = make_layer(allocator, batch, in, out);
    double all = largest_of(layer.w, in * out, 1);
    for (int global = 0; global < 2; global++) {
        nvt_switchback_run(&layer, global ? NVT_GLOBAL_FWD : NVT_ROWWISE_FWD);
        nvt_switchback_run(&layer, global ? NVT_GLOBAL_BWD : NVT_ROWWISE_BWD);
        for (int64_t r = 0; r < batch; r++) {
            double sx = largest_of(layer.x + r * in, in, 1);
            double sg = largest_of(layer.g + r * out, out, 1);
            for (int64_t c = 0; c < out; c++) {
                const nvt_half *w = layer.w + c * in;
                double sw = global ? all : largest_of(w, in, 1);
                check_definition(layer.y, r * out + c,
                                 quantized_dot(layer.x + r * in, sx, w, 1, sw, in));
            }
            for (int64_t c = 0; c < in; c++) {
                const nvt_half *w = layer.w + c;
                double sw = global ? all : largest_of(w, out, in);
                check_definition(layer.gx, r * in + c,
                                 quantized_dot(layer.g + r * out, sg, w, in, sw, out));
            }
        }
    }
    nvt_switchback_teardown(&layer);
    nvt_allocator_free(allocator);
}

/* The fp16 products, with sums of float (bounds.h). */
static void check_half(const nvt_half *a, int64_t row_a, int64_t stride_a, const nvt_half *b,
                       int64_t row_b, int64_t stride_b, const nvt_half *out, int64_t m, int64_t n,
                       int64_t k)
{
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < n; c++) {
            double magnitude;
            double y = dot(a + r * row_a, stride_a, b + c * row_b, stride_b, k, &magnitude);
            assert_true(fabs(value_of(out[r * n + c]) - y) <= bound_of_halves(y, magnitude, k));
        }
}

static void fp16_passes_and_the_weight_gradient(void **state)
{
    (void)state;
    const int64_t batch = 530, in = 40, out = 24;
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_switchback layer = make_layer(allocator, batch, in, out);
    nvt_switchback_run(&layer, NVT_STANDARD_FWD);
    nvt_switchback_run(&layer, NVT_STANDARD_GX);
    nvt_switchback_run(&layer, NVT_STANDARD_GW);
    check_half(layer.x, in, 1, layer.w, in, 1, layer.y, batch, out, in);
    check_half(layer.g, out, 1, layer.w, 1, in, layer.gx, batch, in, out);
    check_half(layer.g, 1, out, layer.x, 1, in, layer.gw, out, in, batch);
    nvt_switchback_teardown(&layer);
    nvt_allocator_free(allocator);
}

/* Outputs of both layers, as doubles. Owned. */
static double *outputs_of(struct nvt_switchback *layer, enum nvt_switchback_op op)
{
    int64_t count = layer->batch * layer->out;
    double *values = calloc((size_t)count, sizeof(*values));
    assert_non_null(values);
    nvt_switchback_run(layer, op);
    for (int64_t i = 0; i < count; i++)
        values[i] = value_of(layer->y[i]);
    return values;
}

/* Of each `step`-th column of both layers' outputs. */
static void check_both(const struct nvt_switchback *layer, const double *int8, const double *fp16,
                       int shared, int64_t step)
{
    const float *scales = layer->sw[shared ? NVT_W_ALL : NVT_W_ROWS];
    int64_t k = layer->in;
    for (int64_t r = 0; r < layer->batch; r++)
        for (int64_t c = 0; c < layer->out; c += step) {
            const nvt_half *x = layer->x + r * k, *w = layer->w + c * k;
            double magnitude, y = dot(x, 1, w, 1, k, &magnitude);
            double limit = bound_of_int8(y, norm1(x, 1, k), norm1(w, 1, k), (double)layer->sx[r],
                                         (double)scales[shared ? 0 : c], k) +
                           bound_of_halves(y, magnitude, k);
            assert_true(fabs(int8[r * layer->out + c] - fp16[r * layer->out + c]) <= limit);
        }
}

/*
 * The whole int8 layer against the fp16 one: from the same halves, they differ by both bounds at most. The last shape goes
 * through int8 in chunks of rows, of which the last is smaller.
 */
static void int8_and_fp16_differ_by_both_bounds(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {33, 64, 48, 1}, {7, 3, 5, 1}, {40, 1000, 36, 1}, {272, 16, 16912, 61}};
    assert_true(nvt_int8_scratch(272, 16912) < 272 * 16912);
    for (size_t i = 0; i < NVT_COUNT_OF(shapes); i++) {
        struct nvt_allocator *allocator = nvt_allocator_new(0);
        struct nvt_switchback layer =
            make_layer(allocator, shapes[i][0], shapes[i][1], shapes[i][2]);
        double *fp16 = outputs_of(&layer, NVT_STANDARD_FWD);
        for (int shared = 0; shared < 2; shared++) {
            double *int8 = outputs_of(&layer, shared ? NVT_GLOBAL_FWD : NVT_ROWWISE_FWD);
            check_both(&layer, int8, fp16, shared, shapes[i][3]);
            free(int8);
        }
        free(fp16);
        nvt_switchback_teardown(&layer);
        nvt_allocator_free(allocator);
    }
}

/* Wide enough that operands and results go through in several blocks: row by row the same. */
static void blocks_make_no_difference(void **state)
{
    (void)state;
    const int64_t batch = 700, in = 4, out = 70000;
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_switchback layer = make_layer(allocator, batch, in, out);
    assert_true(nvt_int8_scratch(batch, out) < batch * out);
    assert_true(block_rows(batch, in + out) < batch);
    nvt_switchback_run(&layer, NVT_GLOBAL_FWD);
    for (int64_t r = 0; r < batch; r += 37)
        for (int64_t c = 0; c < out; c += 997)
            check_definition(layer.y, r * out + c,
                             quantized_dot(layer.x + r * in, (double)layer.sx[r], layer.w + c * in,
                                           1, (double)layer.sw[NVT_W_ALL][0], in));
    nvt_switchback_run(&layer, NVT_STANDARD_FWD);
    check_half(layer.x + 690 * in, in, 1, layer.w, in, 1, layer.y + 690 * out, 2, out, in);
    nvt_switchback_run(&layer, NVT_STANDARD_GW);
    check_half(layer.g, 1, out, layer.x, 1, in, layer.gw, 50, in, batch);
    nvt_switchback_teardown(&layer);
    nvt_allocator_free(allocator);
}

static void a_nan_reaches_its_outputs_only(void **state)
{
    (void)state;
    const int64_t batch = 4, in = 8, out = 6;
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_switchback layer = make_layer(allocator, batch, in, out);
    layer.x[2 * in + 3] = 0x7e00;
    memset(layer.x + 1 * in, 0, (size_t)in * sizeof(nvt_half));
    nvt_switchback_run(&layer, NVT_X_QUANTIZE_ROWWISE);
    nvt_switchback_run(&layer, NVT_ROWWISE_FWD);
    for (int64_t c = 0; c < out; c++) {
        assert_true(isfinite(value_of(layer.y[0 * out + c])));
        assert_true(value_of(layer.y[1 * out + c]) == 0);
        assert_true(isnan(value_of(layer.y[2 * out + c])));
    }
    nvt_switchback_teardown(&layer);
    nvt_allocator_free(allocator);
}

static void memory_that_is_not_there_is_refused(void **state)
{
    (void)state;
    for (uint64_t limit = (uint64_t)2 << 20; limit <= (uint64_t)26 << 20;
         limit += (uint64_t)2 << 20) {
        struct nvt_allocator *allocator = nvt_allocator_new(limit);
        struct nvt_switchback layer;
        memset(&layer, 0, sizeof(layer));
        layer.batch = 512;
        layer.in = 1024;
        layer.out = 2048;
        layer.allocator = allocator;
        assert_int_equal(nvt_switchback_setup(&layer, 1), -1);
        assert_int_equal(nvt_allocator_use(allocator).allocated, 0);
        assert_true(nvt_allocator_use(allocator).refused > 0);
        nvt_allocator_free(allocator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_converted_both_ways),
        cmocka_unit_test(floats_are_rounded_to_the_nearest_half),
        cmocka_unit_test(quantisation_is_that_of_exact_arithmetic),
        cmocka_unit_test(zeros_nans_and_infinities_have_scales_of_their_own),
        cmocka_unit_test(a_corrected_quotient_is_the_rounded_one),
        cmocka_unit_test(a_matrix_larger_than_a_share_has_one_scale),
        cmocka_unit_test(a_cast_cuts),
        cmocka_unit_test(integer_products_are_exact),
        cmocka_unit_test(int8_outputs_keep_the_bound),
        cmocka_unit_test(int8_passes_are_their_definition),
        cmocka_unit_test(fp16_passes_and_the_weight_gradient),
        cmocka_unit_test(int8_and_fp16_differ_by_both_bounds),
        cmocka_unit_test(blocks_make_no_difference),
        cmocka_unit_test(a_nan_reaches_its_outputs_only),
        cmocka_unit_test(memory_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
