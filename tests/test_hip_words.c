/* Findings of ROCm's traces say HIP where CUDA's would say CUDA. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/hip_words.h"
#include "../lib/count_of.h"
#include "cli.h"

static void words_are_hips(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"", ""},
        {"CUDA", "HIP"},
        {"capture them into a CUDA graph", "capture them into a HIP graph"},
        {"CUDA graphs (torch.cuda.graph)", "HIP graphs (torch.cuda.graph)"},
        {"running non-CUDA code", "running non-HIP code"},
        {"CUDA's own. In CUDA.", "HIP's own. In HIP."},
        {"MY_CUDA_CODE, CUDAGraph, xCUDA", "MY_CUDA_CODE, CUDAGraph, xCUDA"},
        {"set PYTORCH_CUDA_ALLOC_CONF=x", "set PYTORCH_HIP_ALLOC_CONF=x"},
        {"serving; CUDA_MODULE_LOADING=EAGER; keep code", "serving; keep code"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char text[128];
        snprintf(text, sizeof(text), "%s", cases[i].from);
        nvt_hip_words(text, 0);
        assert_string_equal(text, cases[i].to);
    }
}

static void names_stay(void **state)
{
    (void)state;
    char text[] = "range CUDA init, kernel CUDA: 5 CUDA calls while it ran non-CUDA code";
    nvt_hip_words(text, 1);
    assert_string_equal(text,
                        "range CUDA init, kernel CUDA: 5 HIP calls while it ran non-HIP code");
}

#define LAUNCHES 3000

/* A program of ROCm that launches small kernels and nothing else. */
static const char *write_launches(void)
{
    const char *path = cli_in(cli_folder, "launches.json");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"rocprofiler-sdk-tool\": [{\"metadata\": {\"pid\": 7}, \"agents\": [{\"id\": "
          "{\"handle\": 1},"
          " \"type\": 2, \"name\": \"gfx90a\"}], \"strings\": {\"buffer_records\": [{\"kind\":"
          " \"HIP_RUNTIME_API\", \"operations\": [\"hipLaunchKernel\"]}]}, \"kernel_symbols\":"
          " [{\"kernel_id\": 3, \"kernel_name\": \"k\"}], \"buffer_records\": {\"hip_api\": [",
          out);
    for (int i = 0; i < LAUNCHES; i++)
        fprintf(out,
                "%s{\"kind\": 0, \"operation\": 0, \"correlation_id\": {\"internal\": %d},"
                " \"thread_id\": 8, \"start_timestamp\": %d, \"end_timestamp\": %d}",
                i ? "," : "", i + 1, 1000 + 7000 * i, 6000 + 7000 * i);
    fputs("], \"kernel_dispatch\": [", out);
    for (int i = 0; i < LAUNCHES; i++)
        fprintf(out,
                "%s{\"correlation_id\": {\"internal\": %d}, \"thread_id\": 8, \"start_timestamp\":"
                " %d, \"end_timestamp\": %d, \"dispatch_info\": {\"agent_id\": {\"handle\": 1},"
                " \"kernel_id\": 3, \"dispatch_id\": %d}}",
                i ? "," : "", i + 1, 9000 + 7000 * i, 10500 + 7000 * i, i + 1);
    fputs("]}}]}\n", out);
    assert_int_equal(fclose(out), 0);
    return path;
}

static void a_diagnosis_says_hip(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "diagnose", write_launches(), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "HIP graph"));
    assert_null(strstr(result.out, "CUDA"));
    cli_result_free(&result);
}

/* Whatever stands in the file, scripts too. */
static void reports_and_exports_say_hip(void **state)
{
    (void)state;
    static const char *const forms[] = {"svg", "chrome", "perfetto"};
    const char *html = cli_in(cli_folder, "report.html"), *from = write_launches();
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "report", from, "-o", html, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    for (size_t i = 0; i <= NVT_COUNT_OF(forms); i++) {
        const char *file = i ? cli_in(cli_folder, forms[i - 1]) : html;
        if (i) {
            result = cli_run((const char *const[]){"nvtally", "export", from, "--to", forms[i - 1],
                                                   "-o", file, NULL});
            cli_expect_status(&result, 0);
            cli_result_free(&result);
        }
        size_t size;
        char *text = cli_read_file(file, &size);
        assert_non_null(text);
        const char *found = memmem(text, size, "CUDA", 4);
        if (found)
            fail_msg("%s: %.60s", file, found);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_hips), cmocka_unit_test(names_stay),
        cmocka_unit_test(a_diagnosis_says_hip), cmocka_unit_test(reports_and_exports_say_hip)};
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
