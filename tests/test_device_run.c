/*
 * tests/device/run without a device: what is not run is said and is no success. And with a program
 * in the place of nvtally that takes the host for a device: rows, going on after a break, packing.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"

static char *directory;

static int make_directory(void **state)
{
    (void)state;
    directory = cli_tempdir();
    return directory ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

/* The script with its folders in ours; the smallest size that can be cut into 128 fragments. */
static struct cli_result run(const char *build, const char *work, const char *iterations,
                             const char *const parts[])
{
    static char variables[4][4200];
    const char *argv[12] = {"tests/device/run"};
    snprintf(variables[0], sizeof(variables[0]), "BUILD=%s", build);
    snprintf(variables[1], sizeof(variables[1]), "WORK=%s", cli_in(directory, work));
    snprintf(variables[2], sizeof(variables[2]), "OUT=%s", cli_in(directory, "packed"));
    snprintf(variables[3], sizeof(variables[3]), "ITERATIONS=%s", iterations);
    const char *const environment[] = {variables[0], variables[1], variables[2], variables[3],
                                       "SIZES=128",  "WARMUP=0",   NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 240};
    for (size_t i = 0; parts[i]; i++)
        argv[i + 1] = parts[i];
    return cli_run_with(&options, argv);
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    static const char *const parts[] = {"everything", NULL};
    struct cli_result result = run(cli_built(""), "wrong", "1", parts);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "usage: tests/device/run"));
    cli_result_free(&result);
}

static void without_a_device_parts_are_not_run(void **state)
{
    (void)state;
    if (!access("/dev/nvidiactl", F_OK))
        skip();
    static const char *const parts[] = {"check", "fragments", "train", NULL};
    struct cli_result result = run(cli_built(""), "none", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "fragments: not run:"));
    assert_non_null(strstr(result.out,
                           "Not run: build check sanitize fragments transformer switchback gpipe "
                           "accumulate overhead torch torch_transformer train pack"));
    cli_result_free(&result);
}

/* A build folder whose nvtally computes on the host when it is asked for CUDA. */
static const char *pretended_build(void)
{
    char script[4096];
    const char *folder = cli_in(directory, "build");
    mkdir(folder, 0777);
    snprintf(script, sizeof(script),
             "#!/bin/sh\n"
             "for word in \"$@\"; do\n"
             "  shift\n"
             "  [ \"$word\" = cuda ] && word=host\n"
             "  set -- \"$@\" \"$word\"\n"
             "done\n"
             "exec '%s' \"$@\"\n",
             cli_built("nvtally"));
    cli_write_file(cli_in(folder, "nvtally"), script, strlen(script));
    chmod(cli_in(folder, "nvtally"), 0755);
    cli_write_file(cli_in(folder, "libnvtally-cuda.so"), "", 0);
    return folder;
}

static void a_part_is_resumed_and_packed(void **state)
{
    (void)state;
    static const char *const fragments[] = {"fragments", NULL};
    static const char *const both[] = {"fragments", "pack", NULL};
    char build[4096];
    snprintf(build, sizeof(build), "%s", pretended_build());
    struct cli_result result = run(build, "work", "no number", fragments);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "0 of 39 rows"));
    cli_result_free(&result);
    result = run(build, "work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "39 of 39 rows"));
    cli_result_free(&result);
    result = run(build, "work", "1", both);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "fragments: was done before"));
    assert_non_null(strstr(result.out,
                           "Not run: build check sanitize transformer switchback gpipe accumulate "
                           "overhead torch torch_transformer train"));
    cli_result_free(&result);
    glob_t packed;
    assert_int_equal(glob(cli_in(cli_in(directory, "packed"), "*"), 0, NULL, &packed), 0);
    /* The results, and the traces of the eight inference runs. */
    assert_int_equal(packed.gl_pathc, 2);
    globfree(&packed);
    const char *argv[] = {
        "tar", "tzf", cli_in(cli_in(directory, "packed"), "nvtally-device-results.tar.gz"), NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "fragments-128/results.jsonl"));
    assert_non_null(strstr(result.out, "fragments-128/env.json"));
    cli_result_free(&result);
}

/* More traces than there is room for: eight files, none above 16 MiB, and the rest is told. */
static void packing_has_bounds(void **state)
{
    (void)state;
    static const char *const parts[] = {"pack", NULL};
    char *noise = malloc(9 << 20);
    const char *work = cli_in(directory, "large");
    assert_non_null(noise);
    uint64_t random = 1;
    for (size_t i = 0; i < 9 << 20; i++)
        noise[i] = (char)((random = random * 6364136223846793005u + 1442695040888963407u) >> 56);
    mkdir(work, 0777);
    for (int i = 0; i < 9; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d.nvt", i);
        cli_write_file(cli_in(work, name), noise, 9 << 20);
    }
    free(noise);
    struct cli_result result = run(cli_built(""), "large", "1", parts);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "8 files"));
    assert_non_null(strstr(result.out, "2 traces had no room"));
    cli_result_free(&result);
    glob_t packed;
    struct stat status;
    assert_int_equal(glob(cli_in(cli_in(directory, "packed"), "*"), 0, NULL, &packed), 0);
    assert_int_equal(packed.gl_pathc, 8);
    for (size_t i = 0; i < packed.gl_pathc; i++) {
        assert_int_equal(stat(packed.gl_pathv[i], &status), 0);
        assert_true(status.st_size <= 16 << 20);
    }
    globfree(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(without_a_device_parts_are_not_run),
        cmocka_unit_test(a_part_is_resumed_and_packed),
        cmocka_unit_test(packing_has_bounds),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
