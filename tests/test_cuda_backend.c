/*
 * libnvtally-cuda.so: that it loads, what it says without a device, and that the program does not
 * need it. With a device, the smallest runs of both variants against the host's.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../kernels/workload.h"
#include "cli.h"

/* Without nvcc there is nothing to test, and the test says so. */
static void need_library(void)
{
    if (access(cli_built("libnvtally-cuda.so"), F_OK)) {
        print_message("libnvtally-cuda.so was not built: no nvcc here\n");
        skip();
    }
}

/* It stays: what CUDA's runtime keeps for good would be lost without it, and AddressSanitizer says so. */
static void *load(void)
{
    void *library = dlopen(cli_built("libnvtally-cuda.so"), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        fail_msg("%s", dlerror());
    return library;
}

/* Every symbol that its objects want is found in it, in the runtime or in cuBLAS. */
static void it_loads_whole(void **state)
{
    (void)state;
    need_library();
    void *library = load();
    assert_non_null(dlsym(library, "nvt_workload_run"));
    assert_non_null(dlsym(library, "nvt_workload_release"));
    assert_non_null(dlsym(library, "nvt_workload_backend"));
    /* Nothing else is visible: names such as these would meet those of the program. */
    assert_null(dlsym(library, "nvt_backend_start"));
    assert_null(dlsym(library, "nvt_softmax_forward"));
    dlclose(library);
}

/* With a driver's library and without one. */
static int says_why(const char *message)
{
    return strstr(message, "driver") || strstr(message, "no CUDA-capable device");
}

static void without_a_device_it_says_why(void **state)
{
    (void)state;
    need_library();
    if (cli_has_device())
        skip();
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_backend_facts facts;
    struct nvt_run_result result;
    struct nvt_run_settings settings = {.workload = "linear",
                                        .configuration = "size=32 batch=1 mode=linear",
                                        .warmup = 1,
                                        .iterations = 1,
                                        .seed = 1};
    void *library = load();
    int (*backend)(struct nvt_backend_facts *, struct nvt_error *);
    void (*run)(const struct nvt_run_settings *, struct nvt_run_result *);
    *(void **)&backend = dlsym(library, "nvt_workload_backend");
    *(void **)&run = dlsym(library, "nvt_workload_run");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(backend(&facts, &err), -1);
        assert_true(says_why(err.message));
    }
    run(&settings, &result);
    assert_int_equal(result.status, NVT_RUN_ERROR);
    assert_true(says_why(result.message));
    dlclose(library);
}

static void cuda_without_a_device_is_one_line(void **state)
{
    (void)state;
    if (cli_has_device())
        skip();
    const char *argv[] = {"nvtally", "run", "linear", "--size", "32", "--backend", "cuda", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "--backend cuda: no CUDA device answers here");
    cli_result_free(&result);
}

static void auto_takes_the_host_and_says_so(void **state)
{
    (void)state;
    if (cli_has_device())
        skip();
    const char *argv[] = {"nvtally", "run", "linear",       "--size", "32",
                          "--batch", "1",   "--iterations", "1",      NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "no CUDA device answers here: using the host backend"));
    assert_non_null(strstr(result.out, " · host · "));
    cli_result_free(&result);
}

/* A library that lacks what it was linked to is an error of the backend, and no crash. */
static void a_broken_library_is_told(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    char folder[4096];
    static const char text[] = "this is no library\n";
    snprintf(folder, sizeof(folder), "NVTALLY_LIBDIR=%s", directory);
    cli_write_file(cli_in(directory, "libnvtally-cuda.so"), text, sizeof(text) - 1);
    const char *const environment[] = {folder, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "run", "linear", "--size", "32", "--backend", "cuda", NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "libnvtally-cuda.so");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* The program itself runs where there is no CUDA at all. */
static void the_program_is_not_linked_to_cuda(void **state)
{
    (void)state;
    const char *argv[] = {"ldd", cli_built("nvtally"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "libc.so"));
    assert_null(strstr(result.out, "libcud"));
    assert_null(strstr(result.out, "libcublas"));
    cli_result_free(&result);
}

static struct nvt_runs *run_on(const char *backend, const char *directory)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    const char *argv[] = {"nvtally", "run",       "fragmented",  "--size",    "256",
                          "--batch", "3",         "--fragments", "4,32",      "--iterations",
                          "5",       "--collect", "off",         "--backend", backend,
                          "-o",      directory,   NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = nvt_runs_read(directory, &err);
    if (!runs)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return runs;
}

/* The same seed, the same steps: float rounding apart, the same loss and the same memory. */
static void a_device_agrees_with_the_host(void **state)
{
    (void)state;
    if (!cli_has_device()) {
        print_message("not run: no device here\n");
        skip();
    }
    char *directory = cli_tempdir();
    struct nvt_runs *host = run_on("host", cli_in(directory, "host"));
    struct nvt_runs *cuda = run_on("cuda", cli_in(directory, "cuda"));
    assert_int_equal(host->count, cuda->count);
    for (size_t i = 0; i < host->count; i++) {
        double expected = nvt_record_number(&host->records[i], "loss");
        double loss = nvt_record_number(&cuda->records[i], "loss");
        assert_string_equal(nvt_record_text(&cuda->records[i], "status"), "ok");
        assert_true(fabs(loss - expected) <= 1e-3 * expected);
        assert_true(nvt_record_number(&host->records[i], "peak_allocated_bytes") ==
                    nvt_record_number(&cuda->records[i], "peak_allocated_bytes"));
    }
    nvt_runs_free(host);
    nvt_runs_free(cuda);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_loads_whole),
        cmocka_unit_test(without_a_device_it_says_why),
        cmocka_unit_test(cuda_without_a_device_is_one_line),
        cmocka_unit_test(auto_takes_the_host_and_says_so),
        cmocka_unit_test(a_broken_library_is_told),
        cmocka_unit_test(the_program_is_not_linked_to_cuda),
        cmocka_unit_test(a_device_agrees_with_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
