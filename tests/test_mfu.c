/*
 * FLOPs of PyTorch's operators from their shapes, and of the ranges around them: sums done by hand, and a profile of PyTorch's
 * format that is made up.
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

#include "../analyze/input/data_sheet.h"
#include "../analyze/readers/operator_work.h"
#include "../lib/count_of.h"
#include "cli.h"

/* --- operators ---------------------------------------------------------------------------------- */

struct work_case {
    const char *name;
    struct nvt_shapes shapes;
    const char *work; /* NULL: it is not known */
};

static void expect_work(const struct work_case *expected)
{
    char work[NVT_OPERATOR_WORK_MAX] = "";
    const int has = nvt_operator_work(expected->name, &expected->shapes, work);
    assert_int_equal(nvt_is_operator_with_work(expected->name),
                     strcmp(expected->name, "aten::matmul") != 0);
    assert_int_equal(has, expected->work != NULL);
    if (has)
        assert_string_equal(work, expected->work);
}

static void types_and_widths_have_their_work(void **state)
{
    (void)state;
    static const struct work_case cases[] = {
        /* Values of 4 instead of 11: 2 * 6 * 35 * 15, and 2 * 6 * 35 * 41 backward. */
        {"aten::_scaled_dot_product_efficient_attention",
         {3, 3, {4, 4, 4}, {{2, 3, 5, 11}, {2, 3, 7, 11}, {2, 3, 7, 4}}, {"c10::Half"}, 0, {""}},
         "{\"flops\":6300,\"bytes\":2160,\"precision\":\"fp16\"}"},
        {"aten::_scaled_dot_product_efficient_attention_backward",
         {4,
          4,
          {4, 4, 4, 4},
          {{2, 3, 5, 4}, {2, 3, 5, 11}, {2, 3, 7, 11}, {2, 3, 7, 4}},
          {"c10::Half", "c10::Half"},
          0,
          {""}},
         "{\"flops\":17220,\"bytes\":4320,\"precision\":\"fp16\"}"},
        /* Other types: a complex product is four, of integers the bytes are not known. */
        {"aten::mm",
         {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {"double"}, 0, {""}},
         "{\"flops\":48,\"bytes\":208,\"precision\":\"fp64\"}"},
        {"aten::mm",
         {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {"c10::complex<float>"}, 0, {""}},
         "{\"flops\":192,\"bytes\":208,\"precision\":\"fp32\"}"},
        {"aten::_scaled_mm",
         {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {"c10::Float8_e4m3fn"}, 0, {""}},
         "{\"flops\":48,\"bytes\":26,\"precision\":\"fp8\"}"},
        {"aten::mm",
         {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {"long int"}, 0, {""}},
         "{\"flops\":48,\"precision\":\"other\"}"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect_work(&cases[i]);
}

static void operators_have_the_work_of_their_shapes(void **state)
{
    (void)state;
    static const struct work_case cases[] = {
        /* 2 * 2 * 4 * 3; 6 + 12 + 8 numbers of 4 bytes. */
        {"aten::mm",
         {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {"float", "float"}, 0, {""}},
         "{\"flops\":48,\"bytes\":104,\"precision\":\"fp32\"}"},
        {"aten::addmm",
         {3, 3, {1, 2, 2}, {{4}, {2, 3}, {3, 4}}, {"c10::BFloat16", "c10::BFloat16"}, 0, {""}},
         "{\"flops\":48,\"bytes\":52,\"precision\":\"bf16\"}"},
        {"aten::bmm",
         {2, 2, {3, 3}, {{10, 2, 3}, {10, 3, 4}}, {"c10::Half", "c10::Half"}, 0, {""}},
         "{\"flops\":480,\"bytes\":520,\"precision\":\"fp16\"}"},
        {"aten::mv",
         {2, 2, {2, 1}, {{2, 3}, {3}}, {"float", "float"}, 0, {""}},
         "{\"flops\":12,\"bytes\":44,\"precision\":\"fp32\"}"},
        /* 4 * b h s t d with b 2, h 3, s 5, t 7, d 11; twice q, twice k, of 2 bytes. */
        {"aten::_scaled_dot_product_flash_attention",
         {3, 3, {4, 4, 4}, {{2, 3, 5, 11}, {2, 3, 7, 11}}, {"c10::Half", "c10::Half"}, 0, {""}},
         "{\"flops\":9240,\"bytes\":3168,\"precision\":\"fp16\"}"},
        /* Ten times b h s t d: the first input is the gradient. */
        {"aten::_scaled_dot_product_flash_attention_backward",
         {4,
          4,
          {4, 4, 4, 4},
          {{2, 3, 5, 11}, {2, 3, 5, 11}, {2, 3, 7, 11}},
          {"c10::Half", "c10::Half"},
          0,
          {""}},
         "{\"flops\":23100,\"bytes\":6336,\"precision\":\"fp16\"}"},
        /* Matrices that do not fit, a dimension too few, no type, another operator, no types. */
        {"aten::mm", {2, 2, {2, 2}, {{2, 3}, {4, 4}}, {"float", "float"}, 0, {""}}, NULL},
        {"aten::mm", {2, 2, {2, 1}, {{2, 3}, {3}}, {"float", "float"}, 0, {""}}, NULL},
        {"aten::mm", {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {""}, 0, {""}}, NULL},
        {"aten::mm", {1, 1, {2}, {{2, 3}}, {"float"}, 0, {""}}, NULL},
        {"aten::mm", {2, 2, {2, 2}, {{0, 3}, {3, 4}}, {"float", "float"}, 0, {""}}, NULL},
        {"aten::matmul", {2, 2, {2, 2}, {{2, 3}, {3, 4}}, {"float", "float"}, 0, {""}}, NULL},
        {"aten::mm", {2, 0, {2, 2}, {{2, 3}, {3, 4}}, {""}, 0, {""}}, NULL},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect_work(&cases[i]);
    assert_true(nvt_is_operator_with_work("aten::mm"));
    assert_false(nvt_is_operator_with_work("aten::linear"));
}

/* Of 2 images: 3 planes of 8 x 8 to 4 of 4 x 4 by 4 * 3 * 3 * 3 weights, 2 * 2 * 16 * 108 FLOPs. */
#define FORWARD(transposed)                                                                        \
    9,                                                                                             \
    {                                                                                              \
        "", "", "", "[2, 2]", "[1, 1]", "[1, 1]", transposed, "[0, 0]", "1"                        \
    }
#define BACKWARD(mask)                                                                             \
    11,                                                                                            \
    {                                                                                              \
        "", "", "", "[4]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", mask              \
    }
static const struct {
    const char *name;
    struct nvt_shapes shapes;
    const char *work; /* NULL: it is not known */
} convolutions[] = {
    {"aten::convolution",
     {9, 9, {4, 4, 1}, {{2, 3, 8, 8}, {4, 3, 3, 3}, {4}}, {"float"}, FORWARD("False")},
     "{\"flops\":6912,\"bytes\":2480,\"precision\":\"fp32\"}"},
    /* From 4 x 4 to more. */
    {"aten::convolution",
     {9, 9, {4, 4, 1}, {{2, 4, 4, 4}, {4, 3, 3, 3}, {4}}, {"float"}, FORWARD("True")},
     "{\"flops\":6912,\"bytes\":944,\"precision\":\"fp32\"}"},
    /* 6 groups of one plane each, the same stride everywhere: 64 places, 54 weights. */
    {"aten::convolution",
     {9,
      9,
      {4, 4, 0},
      {{2, 6, 8, 8}, {6, 1, 3, 3}},
      {"c10::Half"},
      9,
      {"", "", "", "[1]", "[1]", "[1]", "False", "[0]", "6"}},
     "{\"flops\":13824,\"bytes\":3180,\"precision\":\"fp16\"}"},
    {"aten::convolution_backward",
     {11,
      11,
      {4, 4, 4},
      {{2, 4, 4, 4}, {2, 3, 8, 8}, {4, 3, 3, 3}},
      {"float"},
      BACKWARD("[True, True, False]")},
     "{\"flops\":13824,\"bytes\":4448,\"precision\":\"fp32\"}"},
    {"aten::convolution_backward",
     {11,
      11,
      {4, 4, 4},
      {{2, 4, 4, 4}, {2, 3, 8, 8}, {4, 3, 3, 3}},
      {"float"},
      BACKWARD("[False, True, True]")},
     "{\"flops\":6912,\"bytes\":2480,\"precision\":\"fp32\"}"},
    /* No gradient of input or weights, no mask, no stride, a kernel larger than the image, another number of dimensions. */
    {"aten::convolution_backward",
     {11,
      11,
      {4, 4, 4},
      {{2, 4, 4, 4}, {2, 3, 8, 8}, {4, 3, 3, 3}},
      {"float"},
      BACKWARD("[False, False, True]")},
     NULL},
    {"aten::convolution_backward",
     {11, 11, {4, 4, 4}, {{2, 4, 4, 4}, {2, 3, 8, 8}, {4, 3, 3, 3}}, {"float"}, BACKWARD("")},
     NULL},
    {"aten::convolution", {9, 9, {4, 4}, {{2, 3, 8, 8}, {4, 3, 3, 3}}, {"float"}, 0, {""}}, NULL},
    {"aten::convolution",
     {9, 9, {4, 4}, {{2, 3, 8, 8}, {4, 3, 11, 11}}, {"float"}, FORWARD("False")},
     NULL},
    {"aten::convolution",
     {9, 9, {4, 3}, {{2, 3, 8, 8}, {4, 3, 3}}, {"float"}, FORWARD("False")},
     NULL},
};

static void convolutions_have_the_work_of_their_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(convolutions); i++) {
        char work[NVT_OPERATOR_WORK_MAX] = "";
        const int has = nvt_operator_work(convolutions[i].name, &convolutions[i].shapes, work);
        assert_true(nvt_is_operator_with_work(convolutions[i].name));
        if (has != (convolutions[i].work != NULL) ||
            (has && strcmp(work, convolutions[i].work) != 0))
            fail_msg("case %zu: %d %s", i, has, work);
    }
}

static void names_have_the_work_of_their_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double flops;
    } cases[] = {
        {"aten::mm, seq = 3, op_id = 7, sizes = [[2, 3], [3, 4]]", 48},
        {"aten::addmm, op_id = 7, sizes = [[4], [2, 3], [3, 4], [], []]", 48},
        {"aten::bmm, seq = 3, sizes = [[10, 2, 3], [10, 3, 4]], input_op_ids = [(1,0)]", 480},
        {"aten::mm, seq = 3, sizes = [[2, 3], [4, 4]]", 0}, /* they do not fit */
        {"aten::mm, seq = 3", 0},
        {"aten::mm, seq = 3, sizes = [[2, 3], [3, 4", 0},
        {"aten::mm, seq = 3, sizes = [[2, -3], [-3, 4]]", 0},
        {"aten::mm, seq = 3, sizes = [x]", 0},
        {"aten::mm, seq = 3, sizes = [[1, 2, 3, 4, 5, 6, 7, 8], [3, 4]]", 0},
        {"aten::relu, seq = 3, sizes = [[2, 3]]", 0},
        {"mm, sizes = [[2, 3], [3, 4]]", 0},
        {"aten::convolution, seq = 3, sizes = [[2, 3, 8, 8], [4, 3, 3, 3], [4]]", 0},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        if (fabs(nvt_operator_flops_in_name(cases[i].name) - cases[i].flops) > 0)
            fail_msg("%s: %g", cases[i].name, nvt_operator_flops_in_name(cases[i].name));
}

static void data_sheets_are_found_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bf16; /* TFLOP/s; 0: not known */
    } cases[] = {{"NVIDIA H100 80GB HBM3", 989.4},
                 {"NVIDIA H100 PCIe", 756},
                 {"NVIDIA H200", 989.4},
                 {"NVIDIA A100-SXM4-80GB", 312},
                 {"NVIDIA A10", 125},
                 {"NVIDIA A10G", 0},
                 {"NVIDIA L4", 121},
                 {"NVIDIA L40", 0},
                 {"Radeon", 0},
                 {"", 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_peaks peaks = {.bytes = 0};
        const int is_known = nvt_data_sheet(cases[i].name, &peaks);
        if (is_known != (cases[i].bf16 > 0) ||
            fabs(peaks.flops[NVT_ROOF_BF16] - cases[i].bf16 * 1e12) > 1)
            fail_msg("%s: %d, %g", cases[i].name, is_known, peaks.flops[NVT_ROOF_BF16]);
    }
}

/* --- a profile ---------------------------------------------------------------------------------- */

#define MM(name, ts, dur, tid, dims, type)                                                         \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts  \
    ",\"dur\":" dur ",\"args\":{\"External id\":5,\"Input Dims\":" dims ",\"Input type\":" type    \
    ",\"Concrete Inputs\":[\"\",\"\"]}}"
#define RANGE(cat, name, ts, dur)                                                                  \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts       \
    ",\"dur\":" dur ",\"args\":{}}"
#define LAUNCH(ts, tid, id)                                                                        \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":" tid  \
    ",\"ts\":" ts ",\"dur\":1,\"args\":{\"correlation\":" id "}}"
#define KERNEL(ts, dur, id)                                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":" ts            \
    ",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" id "}}"

#define BF16 "[\"c10::BFloat16\",\"c10::BFloat16\"]"

/* The report over a profile with these events on a GPU of that name, as CSV; owned by the caller. */
static char *report_of(const char *device, const char *events)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/mfu.json", cli_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(
        file,
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"%s\",\"totalGlobalMem\":1,"
        "\"computeMajor\":9,\"computeMinor\":0,\"numSms\":132}],\"traceEvents\":[%s]}",
        device, events);
    assert_int_equal(fclose(file), 0);
    const char *argv[] = {"nvtally", "stats", path, "-r", "mfu", "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    char *text;
    assert_true(asprintf(&text, "%s%s", result.out, result.err) > 0);
    cli_result_free(&result);
    return text;
}

#define NO_PEAK                                                                                    \
    "nvtally: note: no MFU without a peak: none is known of the host; run nvtally info --peak "    \
    "there to measure and keep it\n"

/* 2 * 4096^3 FLOPs are 137.438953472 GFLOP; in 200 us 687 TFLOP/s, 69.5 % of 989.4. */
static void ranges_have_the_work_within_them(void **state)
{
    (void)state;
    static const char events[] = RANGE("user_annotation", "ProfilerStep#1", "0", "400") "," RANGE(
        "user_annotation", "forward", "10",
        "50") "," MM("aten::linear", "11", "30", "1", "[[4096,4096],[4096,4096]]",
                     BF16) "," MM("aten::mm", "12", "20", "1", "[[4096,4096],[4096,4096]]",
                                  BF16) "," LAUNCH("13", "1", "100") "," KERNEL("100", "200",
                                                                                "100");
    char *text = report_of("NVIDIA H100 80GB HBM3", events);
    assert_string_equal(
        text, "Range,Instances,Time (ns),GFLOP each,TFLOP/s,Precision,MFU (%),Peak\n"
              ":ProfilerStep#1,1,400000,137.438953472,343.59738368,bf16,34.7,data sheet\n"
              ":forward,1,200000,137.438953472,687.19476736,bf16,69.5,data sheet\n"
              "cpu_op:aten::linear,1,200000,137.438953472,687.19476736,bf16,69.5,data sheet\n"
              "cpu_op:aten::mm,1,200000,137.438953472,687.19476736,bf16,69.5,data sheet\n");
    free(text);
    /* A GPU that nobody knows: no share. */
    text = report_of("Some GPU", events);
    assert_non_null(strstr(text, ":forward,1,200000,137.438953472,687.19476736,bf16,,\n"));
    free(text);
    /* In 100 us it is more than there is: refused. */
    text = report_of("NVIDIA A100-SXM4-80GB", events);
    assert_non_null(
        strstr(text, ":forward,1,200000,137.438953472,687.19476736,bf16,,above 100 %\n"));
    free(text);
}

/* Without a device: the backward pass of another thread belongs to the iteration by time, and to nothing else. */
static void work_on_the_host_belongs_to_iterations(void **state)
{
    (void)state;
    char *text =
        report_of("", RANGE("user_annotation", "ProfilerStep#1", "0", "400") "," RANGE(
                          "user_annotation", "forward", "10",
                          "50") "," MM("aten::mm", "12", "20", "1", "[[1000,1000],[1000,1000]]",
                                       "[\"float\",\"float\"]") "," MM("aten::mm", "100", "80", "2",
                                                                       "[[1000,1000],[1000,1000]]",
                                                                       "[\"float\",\"float\"]"));
    assert_string_equal(text,
                        "Range,Instances,Time (ns),GFLOP each,TFLOP/s,Precision,MFU (%),Peak\n"
                        ":ProfilerStep#1,1,400000,4,10,fp32,,\n"
                        "cpu_op:aten::mm,2,100000,2,40,fp32,,\n"
                        ":forward,1,50000,2,40,fp32,,\n" NO_PEAK);
    free(text);
}

/* The stride is among the concrete inputs: 6912 FLOPs in 20 us. Ranges of emit_nvtx have shapes in their names, and no types. */
static void profiles_have_convolutions_and_names(void **state)
{
    (void)state;
    char *text = report_of(
        "", "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::convolution\",\"pid\":1,\"tid\":1,"
            "\"ts\":10,"
            "\"dur\":20,\"args\":{\"External id\":5,\"Concrete Inputs\":[\"\",\"\",\"\",\"[2, "
            "2]\",\"[1, 1]\","
            "\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"],\"Input "
            "type\":[\"float\",\"float\",\"float\",\"ScalarList\","
            "\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"],\"Input "
            "Dims\":[[2,3,8,8],"
            "[4,3,3,3],[4],[],[],[],[],[],[]]}}," RANGE("user_annotation",
                                                        "aten::mm, seq = 1, sizes = [[1000, 1000], "
                                                        "[1000, 1000]]",
                                                        "100", "50"));
    assert_string_equal(
        text, "Range,Instances,Time (ns),GFLOP each,TFLOP/s,Precision,MFU (%),Peak\n"
              "\":aten::mm, seq = 1, sizes = [[1000, 1000], [1000, 1000]]\",1,50000,2,40,,,"
              "type unknown\n"
              "cpu_op:aten::convolution,1,20000,6.912e-06,0.0003456,fp32,,\n" NO_PEAK);
    free(text);
}

/* In names as roofline has them, 1e11 FLOPs in 200 us; a format that has no peak; none said: fp32. */
static void names_declare_work(void **state)
{
    (void)state;
#define DECLARES(name, ts)                                                                         \
    RANGE("user_annotation", name, ts, "5") "," LAUNCH(ts, "1", ts) "," KERNEL(ts, "200", ts)
    static const char first[] = DECLARES("a flops=1e11 bytes=2 precision=bf16", "1000"),
                      second[] = DECLARES("b flops=1e10 bytes=2", "2000"),
                      third[] = DECLARES("c flops=1e10 bytes=2 precision=fp3000", "3000"),
                      fourth[] = DECLARES("d flops=x bytes=1", "4000"),
                      fifth[] = DECLARES("e flops=1e308 bytes=1", "5000");
    char events[4000];
    snprintf(events, sizeof(events), "%s,%s,%s,%s,%s", first, second, third, fourth, fifth);
    char *text = report_of("NVIDIA H100 80GB HBM3", events);
    assert_string_equal(
        text, "Range,Instances,Time (ns),GFLOP each,TFLOP/s,Precision,MFU (%),Peak\n"
              ":a flops=1e11 bytes=2 precision=bf16,1,200000,100,500,bf16,50.5,data sheet\n"
              ":b flops=1e10 bytes=2,1,200000,10,50,fp32,74.6,data sheet\n"
              ":c flops=1e10 bytes=2 precision=fp3000,1,200000,10,50,,,type unknown\n"
              "nvtally: note: names of 2 ranges have flops= and declare no work: flops= "
              "and bytes= must both be numbers from 0 to 1e+30\n");
    free(text);
}

/* Matrices that do not fit, beside one that does. */
static void products_that_are_left_out_are_noted(void **state)
{
    (void)state;
    char *text =
        report_of("", MM("aten::mm", "12", "20", "1", "[[10,10],[10,10]]", "[\"double\"]") "," MM(
                          "aten::mm", "100", "80", "1", "[[10,10],[11,10]]", "[\"double\"]"));
    assert_non_null(strstr(text, "cpu_op:aten::mm,1,20000,2e-06,0.0001,fp64,,\n"));
    assert_non_null(strstr(text, "note: FLOPs of 1 of PyTorch's products are left out"));
    free(text);
}

/* The run's configuration says bf16, of the ranges within it too. */
static void formats_are_those_of_the_roofline(void **state)
{
    (void)state;
    const char *argv[] = {
        "nvtally", "stats", "-r", "mfu", "-f", "csv", "docs/results/h100/traces/transformer.nvt",
        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\nnvtally:iteration,2,"));
    assert_non_null(strstr(result.out, ",bf16,4.4,data sheet\n"));
    assert_null(strstr(result.out, "fp32"));
    assert_null(strstr(result.out, "above"));
    cli_result_free(&result);
}

/* Shapes that are none, and more of them than there is room for. */
static void odd_shapes_are_no_work(void **state)
{
    (void)state;
    static const char *const dims[] = {"[]",
                                       "[[]]",
                                       "[[-1,3],[3,4]]",
                                       "[[1,2,3,4,5,6,7],[1]]",
                                       "[[[1,2],[3]],[2,2]]",
                                       "7",
                                       "{\"a\":1}",
                                       "[[\"x\",3],[3,4]]",
                                       "[[1e300,3],[3,4]]",
                                       "[[2,3],[3,4],[1],[1],[1],[1],[1],[1],[1]]"};
    for (size_t i = 0; i < NVT_COUNT_OF(dims); i++) {
        char event[600];
        snprintf(event, sizeof(event), MM("aten::mm", "12", "20", "1", "%s", BF16), dims[i]);
        char path[300];
        snprintf(path, sizeof(path), "%s/odd.json", cli_folder);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "{\"schemaVersion\":1,\"traceEvents\":[%s]}", event);
        assert_int_equal(fclose(file), 0);
        const char *argv[] = {"nvtally", "stats", path, "-r", "mfu", "-f", "csv", NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        /* The last one has two matrices, and inputs that do not count. */
        assert_int_equal(strstr(result.out, "aten::mm") != NULL, i == NVT_COUNT_OF(dims) - 1);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_widths_have_their_work),
        cmocka_unit_test(operators_have_the_work_of_their_shapes),
        cmocka_unit_test(convolutions_have_the_work_of_their_shapes),
        cmocka_unit_test(names_have_the_work_of_their_shapes),
        cmocka_unit_test(data_sheets_are_found_by_name),
        cmocka_unit_test(ranges_have_the_work_within_them),
        cmocka_unit_test(work_on_the_host_belongs_to_iterations),
        cmocka_unit_test(profiles_have_convolutions_and_names),
        cmocka_unit_test(products_that_are_left_out_are_noted),
        cmocka_unit_test(names_declare_work),
        cmocka_unit_test(formats_are_those_of_the_roofline),
        cmocka_unit_test(odd_shapes_are_no_work),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
