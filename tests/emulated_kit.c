#include "emulated_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MOST 48

struct cli_result emulated_run(const char *words, const char *backend, const char *folder,
                               const char *const *environment)
{
    char text[512];
    const char *argv[WORDS_MOST];
    size_t count = 0;
    snprintf(text, sizeof(text), "run %s", words);
    argv[count++] = cli_built("emulated/nvtally");
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    assert_true(count + 7 <= WORDS_MOST);
    argv[count++] = "--backend";
    argv[count++] = backend;
    argv[count++] = "--collect";
    argv[count++] = "off";
    argv[count++] = "-o";
    argv[count++] = cli_in(cli_folder, folder);
    argv[count] = NULL;
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    return cli_run_with(&options, argv);
}

struct nvt_runs *emulated_rows_that_end(int status, const char *words, const char *backend,
                                        const char *folder, const char *const *environment)
{
    struct cli_result result = emulated_run(words, backend, folder, environment);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    return cli_read_runs(cli_in(cli_folder, folder));
}

struct nvt_runs *emulated_rows_of(const char *words, const char *backend, const char *folder,
                                  const char *const *environment)
{
    return emulated_rows_that_end(0, words, backend, folder, environment);
}

int emulated_is_near(double value, double expected)
{
    return fabs(value - expected) <= 2e-5 * fabs(expected);
}

void emulated_expect_the_hosts(const char *words, const char *folder, const char *seed)
{
    char of_host[64], of_device[64];
    const char *const environment[] = {seed, NULL};
    snprintf(of_host, sizeof(of_host), "%s-host", folder);
    snprintf(of_device, sizeof(of_device), "%s-device", folder);
    struct nvt_runs *host = emulated_rows_of(words, "host", of_host, NULL);
    struct nvt_runs *device = emulated_rows_of(words, "cuda", of_device, environment);
    assert_int_equal(host->count, device->count);
    assert_true(host->count > 0);
    for (size_t i = 0; i < host->count; i++) {
        const struct nvt_record *here = &host->records[i], *there = &device->records[i];
        assert_string_equal(nvt_record_text(there, "status"), "ok");
        assert_string_equal(nvt_record_text(there, "backend"), "cuda");
        assert_non_null(strstr(nvt_record_text(there, "device"), "emulated"));
        double loss = nvt_record_number(there, "loss"), want = nvt_record_number(here, "loss");
        if (!emulated_is_near(loss, want))
            fail_msg("%s, row %zu: the loss is %.9g, not %.9g", words, i, loss, want);
        assert_true(nvt_record_number(here, "peak_allocated_bytes") ==
                    nvt_record_number(there, "peak_allocated_bytes"));
    }
    nvt_runs_free(host);
    nvt_runs_free(device);
}
