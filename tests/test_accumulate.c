/*
 * Adding in formats that round: conversions against their definition in double precision, sums
 * against an emulation that shares nothing with the kernel, the published four, and the command.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The kernel takes part as source: its conversions are static. */
#include "../kernels/ops/accumulate.c"

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

/* A number rounded to `digits` binary digits, multiples of 2^least at least, nearest and ties to
 * even: the definition, in double, where scaling by powers of two and rint are exact. */
static double round_by_definition(double value, int digits, int least, double limit)
{
    int exponent;
    if (!isfinite(value) || value == 0)
        return value;
    (void)frexp(value, &exponent);
    int quantum = exponent - digits > least ? exponent - digits : least;
    double rounded = ldexp(rint(ldexp(value, -quantum)), quantum);
    return fabs(rounded) > limit ? copysign(INFINITY, value) : rounded;
}

static double fp16_of(double value)
{
    return round_by_definition(value, 11, -24, 65504);
}

static double bf16_of(double value)
{
    return round_by_definition(value, 8, -133, 0x1.fep127);
}

static void assert_same(float got, double want, float from)
{
    if (isnan(want) ? !isnan(got) : bits_of(got) != bits_of((float)want))
        fail_msg("%a became %a, not %a", (double)from, (double)got, want);
}

static void conversions_round_to_nearest_even(void **state)
{
    (void)state;
    const float edges[] = {0,           -0.0f,        65504,           65519,       65520,
                           -65520,      0x1p-24f,     0x1p-25f,        0x1.8p-25f,  0x1.8p-24f,
                           0x1.4p-14f,  0x1.ffcp-15f, 0x1p-126f,       0x1p-133f,   0x1p-134f,
                           0x1.8p-133f, 0x1.fep127f,  0x1.fffffep127f, INFINITY,    -INFINITY,
                           NAN,         1 + 0x1p-11f, 1 + 0x3p-11f,    1 + 0x1p-8f, 1 + 0x3p-8f};
    for (size_t i = 0; i < NVT_COUNT_OF(edges); i++) {
        assert_same(to_fp16(edges[i]), fp16_of((double)edges[i]), edges[i]);
        assert_same(to_bf16(edges[i]), bf16_of((double)edges[i]), edges[i]);
    }
    /* Every 997th float: all exponents and signs. */
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 997) {
        const float value = float_of((uint32_t)bits);
        assert_same(to_fp16(value), fp16_of((double)value), value);
        assert_same(to_bf16(value), bf16_of((double)value), value);
    }
    /* Exact ties between neighbours of both formats. */
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 0x1000) {
        assert_same(to_fp16(float_of(bits)), fp16_of((double)float_of(bits)), float_of(bits));
        assert_same(to_bf16(float_of(bits)), bf16_of((double)float_of(bits)), float_of(bits));
    }
}

/* Plain sums in double: a sum of two floats rounds twice there without harm (53 >= 2 · 24 + 2
 * digits). */
static double plain_sum(double addend, int count, double (*format)(double))
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum = format ? format(sum + addend) : (double)(float)(sum + addend);
    return sum;
}

static float sum_of(enum nvt_accumulate_form form, float addend, int64_t count)
{
    float sum = NAN;
    nvt_accumulate(&sum, form, addend, count);
    return sum;
}

static void plain_sums_are_those_of_the_definition(void **state)
{
    (void)state;
    const float addends[] = {0.01f, 0.1f, 1.0f / 3, -0.7f, 3e-6f, 900};
    for (size_t i = 0; i < NVT_COUNT_OF(addends); i++) {
        const float x = addends[i];
        const double half = fp16_of((double)x), brain = bf16_of((double)x);
        for (int n = 1; n <= 1000; n += 37) {
            assert_same(sum_of(NVT_ACCUMULATE_FP32, x, n), plain_sum((double)x, n, NULL), x);
            assert_same(sum_of(NVT_ACCUMULATE_FP16, x, n), plain_sum(half, n, fp16_of), x);
            assert_same(sum_of(NVT_ACCUMULATE_MIXED, x, n), plain_sum(half, n, NULL), x);
            assert_same(sum_of(NVT_ACCUMULATE_CAST, x, n), plain_sum(half, n, NULL), x);
            assert_same(sum_of(NVT_ACCUMULATE_BF16, x, n), plain_sum(brain, n, bf16_of), x);
            assert_same(sum_of(NVT_ACCUMULATE_MIXED_BF16, x, n), plain_sum(brain, n, NULL), x);
        }
    }
}

static double kahan_sum(double addend, int count, double (*format)(double))
{
    double sum = 0, lost = 0;
    for (int i = 0; i < count; i++) {
        double y = format(addend - lost), t = format(sum + y);
        lost = format(format(t - sum) - y);
        sum = t;
    }
    return sum;
}

/* The tree by recursion: the largest power of two of the addends, then the rest. */
static double tree_sum(double addend, int count, double (*format)(double))
{
    int left = 1;
    if (count == 1)
        return addend;
    while (2 * left < count)
        left *= 2;
    return format(tree_sum(addend, left, format) + tree_sum(addend, count - left, format));
}

static void careful_sums_are_those_of_the_definition(void **state)
{
    (void)state;
    const float addends[] = {0.01f, 0.1f, -1.0f / 3};
    for (size_t i = 0; i < NVT_COUNT_OF(addends); i++) {
        const float x = addends[i];
        const double half = fp16_of((double)x), brain = bf16_of((double)x);
        for (int n = 1; n <= 300; n++) {
            assert_same(sum_of(NVT_ACCUMULATE_KAHAN, x, n), kahan_sum(half, n, fp16_of), x);
            assert_same(sum_of(NVT_ACCUMULATE_KAHAN_BF16, x, n), kahan_sum(brain, n, bf16_of), x);
            assert_same(sum_of(NVT_ACCUMULATE_PAIRWISE, x, n), tree_sum(half, n, fp16_of), x);
            assert_same(sum_of(NVT_ACCUMULATE_PAIRWISE_BF16, x, n), tree_sum(brain, n, bf16_of), x);
        }
    }
}

/* By hand: from 2 to 4 bfloat16's step is 2^-6, more than half of which is added, so that every
 * addition is a step; from 4 it is 2^-5, whose half is more than 0.01, and the sum stays. */
static void bfloat16_stops_at_four(void **state)
{
    (void)state;
    assert_true(sum_of(NVT_ACCUMULATE_BF16, 0.01f, 1000) == 4);
    assert_true(sum_of(NVT_ACCUMULATE_BF16, 0.01f, 100000) == 4);
}

static void run_forms(const char *out, const char *forms)
{
    const char *argv[] = {"nvtally",  "run", "accumulate",   "--form", forms, "--backend", "host",
                          "--warmup", "0",   "--iterations", "2",      "-o",  out,         NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static void the_published_sums_come_out(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "published");
    run_forms(out, "fp32,fp16,mixed,cast");
    const char *argv[] = {"nvtally", "stats", out, "-f", "published", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    /* The write-up's lines (transformer write-up, "Mixed precision"), which PyTorch printed. */
    assert_string_equal(result.out,
                        "tensor(10.0001)                         -> Pure float32\n"
                        "tensor(9.9531, dtype=torch.float16)     -> Pure float16\n"
                        "tensor(10.0021)                         -> Accumulate result in float32\n"
                        "tensor(10.0021)                         -> explicitly casting float16 to "
                        "float32\n");
    cli_result_free(&result);
}

static void rows_hold_every_bit(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "rows");
    struct nvt_error err = NVT_ERROR_INIT;
    run_forms(out, "fp32,fp16,mixed,bf16,kahan");
    struct nvt_runs *runs = nvt_runs_read(out, &err);
    assert_non_null(runs);
    assert_int_equal(runs->count, 5);
    const double half = fp16_of((double)0.01f), brain = bf16_of((double)0.01f);
    const double want[] = {plain_sum((double)0.01f, 1000, NULL), plain_sum(half, 1000, fp16_of),
                           plain_sum(half, 1000, NULL), plain_sum(brain, 1000, bf16_of),
                           kahan_sum(half, 1000, fp16_of)};
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        assert_true(nvt_record_number(record, "sum") == want[i]);
        assert_true(nvt_record_number(record, "sum_bits") == (double)bits_of((float)want[i]));
        assert_true(nvt_record_number(record, "exact_sum") == 10);
        assert_true(nvt_record_number(record, "flops_forward") == (i == 4 ? 4000 : 1000));
    }
    nvt_runs_free(runs);
    const char *argv[] = {"nvtally", "stats", out, "-r", "accumulate", "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "fp16,1000,9.953125,0x411f4000,10,-0.4688,ok"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_round_to_nearest_even),
        cmocka_unit_test(plain_sums_are_those_of_the_definition),
        cmocka_unit_test(careful_sums_are_those_of_the_definition),
        cmocka_unit_test(bfloat16_stops_at_four),
        cmocka_unit_test(the_published_sums_come_out),
        cmocka_unit_test(rows_hold_every_bit),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
