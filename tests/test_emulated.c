/*
 * The operations of the CUDA backend as it is compiled for a device, on the stand-in for CUDA in tests/emulated: that
 * they compute what the host computes, in whatever order the rules allow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "emulated_kit.h"

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not see into OpenMP's library, and takes what waits for each other there for a race. */
#define REFERENCE_THREADS "OMP_NUM_THREADS=1"

#else
#define REFERENCE_THREADS "OMP_DYNAMIC=FALSE"

#endif
/* All operations, or `only` one; FIRST_SHAPES: all, with the first shape of each; SMALL_SHAPES: all, without shapes whose numbers multiply
 * to more than SHORT, which take three quarters of the time. In short, large shapes are left out of all. */
#define SHORT        "10000000"
#define FIRST_SHAPES "--most"
#define SMALL_SHAPES "--most " SHORT
static struct cli_result check(const char *setting, const char *only)
{
    const int first = only && !strcmp(only, FIRST_SHAPES);
    const int small = only ? !strcmp(only, SMALL_SHAPES) : !cli_is_long();
    const char *most = first ? "1" : small ? SHORT : NULL;
    const char *option = most ? "--most" : only ? "--only" : NULL;
    const char *argv[] = {cli_built("emulated/device/check"),
                          cli_built("emulated/device/libcheck-reference.so"),
                          cli_built("emulated/device/libcheck-cuda.so"),
                          option,
                          most ? most : only,
                          NULL};
    const char *const environment[] = {"ASAN_OPTIONS=detect_leaks=0", REFERENCE_THREADS, setting,
                                       NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    return cli_run_with(&options, argv);
}

static void every_operation_agrees_in_any_order(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("plain loops of a reference, for twenty minutes");
    static const char *const seeds[] = {"EMULATED_SEED=1", "EMULATED_SEED=20261122"};
    for (size_t i = 0; i < (cli_is_long() ? NVT_COUNT_OF(seeds) : 1); i++) {
        struct cli_result result = check(seeds[i], i ? SMALL_SHAPES : NULL);
        if (result.status)
            print_error("%s\n%s", result.out, result.err);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "emulated device"));
        assert_null(strstr(result.out, "FAILED"));
        cli_result_free(&result);
    }
}

/* The stand-in is a test only as far as it finds what is wrong. */
static void what_is_left_out_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *operation;
    } broken[] = {{"EMULATED_IGNORE=barriers", "softmax_forward"},
                  {"EMULATED_IGNORE=barriers", "expert_forward"},
                  {"EMULATED_IGNORE=barriers", "quantize_all_transposed"},
                  {"EMULATED_IGNORE=products", "matmul_nn"},
                  {"EMULATED_IGNORE=mode", "half_sums_tn"},
                  {"EMULATED_IGNORE=waits", "streams"}};
    for (size_t i = 0; i < NVT_COUNT_OF(broken); i++) {
        struct cli_result result = check(broken[i].setting, broken[i].operation);
        cli_expect_status(&result, 1);
        assert_non_null(strstr(result.out, "FAILED: "));
        cli_result_free(&result);
    }
    /* Memory that is touched after its time ends the program. */
    struct cli_result result = check("EMULATED_IGNORE=frees", "freed_in_order");
    assert_int_not_equal(result.status, 0);
    assert_null(strstr(result.out, "operations agree"));
    cli_result_free(&result);
}

/* A call that fails once is of the operation that made it: those behind it agree. */
static void a_failure_is_of_one_operation(void **state)
{
    (void)state;
    struct cli_result result = check("EMULATED_FAIL=cublasGemm:1", FIRST_SHAPES);
    int agree = 0, all = 0;
    cli_expect_status(&result, 1);
    const char *failed = strstr(result.out, "FAILED: CUDA: cublas");
    assert_non_null(failed);
    assert_null(strstr(failed + 1, "FAILED"));
    const char *end = strstr(failed, "\n\n");
    assert_non_null(end);
    assert_int_equal(sscanf(end, "%d of %d operations", &agree, &all), 2);
    assert_int_equal(agree, all - 1);
    cli_result_free(&result);
}

/* One that takes the device with it has failed, and those behind it agree in a new process. */
static void a_lost_device_is_of_one_operation(void **state)
{
    (void)state;
    struct cli_result result = check("EMULATED_LOSE=bias_forward", FIRST_SHAPES);
    int agree = 0, all = 0, failed = 0;
    cli_expect_status(&result, 1);
    for (const char *at = result.out; (at = strstr(at, "FAILED")); at++)
        failed++;
    assert_true(failed > 0);
    assert_null(strstr(result.out, "memory"));
    const char *end = strstr(result.out, " operations agree");
    assert_non_null(end);
    while (end[-1] != '\n')
        end--;
    assert_int_equal(sscanf(end, "%d of %d operations", &agree, &all), 2);
    assert_int_equal(agree, all - failed);
    assert_true(agree > 80);
    cli_result_free(&result);
}

/* What there is no memory for has failed; what needs less has not. */
static void without_memory_an_operation_fails(void **state)
{
    (void)state;
    struct cli_result result = check("EMULATED_MEMORY=35000000", "matmul_nn");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "FAILED: out of device memory"));
    assert_non_null(strstr(result.out, "0 of 1 operations agree"));
    cli_result_free(&result);
}

/* A product of 8-bit integers that cuBLAS has no kernel for is computed by ours; that is said once. */
static void products_that_are_refused_are_computed(void **state)
{
    (void)state;
    static const char *const ways[] = {"EMULATED_REFUSE=int8", "EMULATED_REFUSE=int8 as invalid",
                                       "EMULATED_REFUSE=int8 by error"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = check(ways[i], "int8_product");
        cli_expect_status(&result, 0);
        const char *told = strstr(result.err, "cuBLAS refuses products of int8 of ");
        assert_non_null(told);
        assert_null(strstr(told + 1, "cuBLAS refuses"));
        cli_result_free(&result);
    }
}

/* A linear layer adds its bias where its product is made, of a single row too; where cuBLASLt refuses, a kernel does. */
static void a_bias_is_added_with_the_product(void **state)
{
    (void)state;
    /* The first: no kernel adds it. */
    static const char *const ways[] = {"EMULATED_LOSE=bias_forward", "EMULATED_REFUSE=bias"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = check(ways[i], "linear_forward");
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_agrees_in_any_order),
        cmocka_unit_test(what_is_left_out_is_found),
        cmocka_unit_test(a_failure_is_of_one_operation),
        cmocka_unit_test(a_lost_device_is_of_one_operation),
        cmocka_unit_test(without_memory_an_operation_fails),
        cmocka_unit_test(products_that_are_refused_are_computed),
        cmocka_unit_test(a_bias_is_added_with_the_product),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
