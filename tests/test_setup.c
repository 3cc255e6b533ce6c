/*
 * ./setup, with every program that it would change the machine with replaced by one that writes
 * down how it was called: what it installs, when it asks for what, and what it says when it cannot.
 */
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

#include "../lib/count_of.h"
#include "cli.h"

/* A folder with a copy of setup, and bin/ with all the programs that it may see. */
struct machine {
    char *directory;
    char path[4096], cuda[4096];
};

static void add_program(const struct machine *machine, const char *name, const char *body)
{
    char file[5000], text[4096];
    snprintf(file, sizeof(file), "%s/bin/%s", machine->directory, name);
    unlink(file);
    int size = snprintf(text, sizeof(text), "#!/bin/sh\necho \"%s $*\" >>'%s/calls'\n%s\n", name,
                        machine->directory, body);
    assert_true(size > 0 && size < (int)sizeof(text));
    cli_write_file(file, text, (size_t)size);
    assert_int_equal(chmod(file, 0755), 0);
}

static void link_tools(const struct machine *machine)
{
    static const char *const tools[] = {"sh",  "dirname", "nproc", "mkdir", "tail",
                                        "env", "cat",     "touch", "ln",    "chmod"};
    for (size_t i = 0; i < NVT_COUNT_OF(tools); i++) {
        char from[64], to[5000];
        snprintf(from, sizeof(from), "/usr/bin/%s", tools[i]);
        snprintf(to, sizeof(to), "%s/bin/%s", machine->directory, tools[i]);
        assert_int_equal(symlink(from, to), 0);
    }
}

static void add_toolkit(const struct machine *machine)
{
    static const char *const parts[] = {"cuda", "cuda/include", "cuda/include/nvtx3"};
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++)
        mkdir(cli_in(machine->directory, parts[i]), 0755);
    cli_write_file(cli_in(machine->directory, "cuda/include/cupti.h"), "", 0);
    cli_write_file(cli_in(machine->directory, "cuda/include/nvtx3/nvToolsExt.h"), "", 0);
    cli_write_file(cli_in(machine->directory, "cuda/include/nvtx3/nvToolsExtCounters.h"), "", 0);
}

static void add_mpi(const struct machine *machine)
{
    static const char *const parts[] = {".deps", ".deps/mpi", ".deps/mpi/mpich",
                                        ".deps/mpi/mpich/bin"};
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++)
        mkdir(cli_in(machine->directory, parts[i]), 0755);
    cli_write_file(cli_in(machine->directory, ".deps/mpi/mpich/bin/mpiexec"), "", 0);
    assert_int_equal(chmod(cli_in(machine->directory, ".deps/mpi/mpich/bin/mpiexec"), 0755), 0);
}

/* A machine of root's where every package is installed and there is a CUDA toolkit. */
static int set_up(void **state)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    size_t size;
    char *setup = cli_read_file("setup", &size);
    assert_non_null(machine);
    assert_non_null(setup);
    machine->directory = cli_tempdir();
    snprintf(machine->path, sizeof(machine->path), "PATH=%s/bin", machine->directory);
    snprintf(machine->cuda, sizeof(machine->cuda), "CUDA_HOME=%s/cuda", machine->directory);
    assert_int_equal(mkdir(cli_in(machine->directory, "bin"), 0755), 0);
    cli_write_file(cli_in(machine->directory, "setup"), setup, size);
    assert_int_equal(chmod(cli_in(machine->directory, "setup"), 0755), 0);
    free(setup);
    link_tools(machine);
    add_toolkit(machine);
    add_mpi(machine);
    add_program(machine, "apt-get", "");
    add_program(machine, "dpkg-query", "echo installed");
    add_program(machine, "id", "echo 0");
    add_program(machine, "python3", "");
    add_program(machine, "make", "");
    *state = machine;
    return 0;
}

static int tear_down(void **state)
{
    struct machine *machine = *state;
    cli_tempdir_remove(machine->directory);
    free(machine);
    return 0;
}

/* Run setup there; *calls gets the owned list of what it called. */
static struct cli_result run_setup(const struct machine *machine, const char *what, char **calls)
{
    const char *const environment[] = {machine->path, machine->cuda, NULL};
    const char *const argv[] = {cli_in(machine->directory, "setup"), what, NULL};
    struct cli_options options = {.environment = environment};
    unlink(cli_in(machine->directory, "calls"));
    struct cli_result result = cli_run_with(&options, argv);
    *calls = cli_read_file(cli_in(machine->directory, "calls"), NULL);
    if (!*calls)
        *calls = calloc(1, 1);
    return result;
}

static void expect_call(const char *calls, const char *call)
{
    if (!strstr(calls, call))
        fail_msg("no call of '%s' in:\n%s", call, calls);
}

static void expect_no_call(const char *calls, const char *call)
{
    if (strstr(calls, call))
        fail_msg("a call of '%s' in:\n%s", call, calls);
}

/* Nothing is missing: nothing is installed or downloaded, and the build begins. */
static void test_nothing_missing(void **state)
{
    static const char *const goals[][2] = {
        {"build", "make -j"}, {"demo", "make demo\n"}, {"check", " check\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(goals); i++) {
        char *calls;
        struct cli_result result = run_setup(*state, goals[i][0], &calls);
        cli_expect_status(&result, 0);
        expect_call(calls, goals[i][1]);
        expect_no_call(calls, "apt-get");
        expect_no_call(calls, "-m pip");
        free(calls);
        cli_result_free(&result);
    }
}

/* Only what is missing is asked for, so that a package that is held back is left alone. */
static void test_only_what_is_missing(void **state)
{
    char *calls;
    add_program(*state, "dpkg-query",
                "for name; do :; done\ncase $name in\n"
                "libzstd-dev) exit 1;;\nmake) echo config-files;;\n*) echo installed;;\nesac");
    struct cli_result result = run_setup(*state, "build", &calls);
    cli_expect_status(&result, 0);
    expect_call(calls,
                "apt-get -q install -y --no-install-recommends --no-upgrade --no-remove make "
                "libzstd-dev\n");
    expect_no_call(calls, "apt-get -q update");
    expect_call(calls, "make -j");
    free(calls);
    cli_result_free(&result);
}

/* The lists of packages are fetched when apt-get does not know a package, and only then. */
static void test_update_when_needed(void **state)
{
    char *calls, body[5000];
    const struct machine *machine = *state;
    add_program(*state, "dpkg-query", "exit 1");
    snprintf(body, sizeof(body),
             "case $* in *update) touch '%1$s/lists';; *) test -f '%1$s/lists' || exit 100;; esac",
             machine->directory);
    add_program(*state, "apt-get", body);
    struct cli_result result = run_setup(*state, "build", &calls);
    cli_expect_status(&result, 0);
    expect_call(calls, "apt-get -q update\napt-get -q install");
    free(calls);
    cli_result_free(&result);
}

static void test_apt_fails(void **state)
{
    char *calls;
    add_program(*state, "dpkg-query", "exit 1");
    add_program(*state, "apt-get", "echo 'E: the mirror is on fire'; exit 100");
    struct cli_result result = run_setup(*state, "build", &calls);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "the mirror is on fire"));
    assert_non_null(strstr(result.err, "setup: apt-get could not install them"));
    expect_no_call(calls, "\nmake ");
    free(calls);
    cli_result_free(&result);
}

static void test_not_root(void **state)
{
    char *calls;
    add_program(*state, "id", "echo 1000");
    add_program(*state, "dpkg-query", "exit 1");
    struct cli_result result = run_setup(*state, "build", &calls);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "not root, and no sudo"));
    assert_non_null(strstr(result.err, "apt-get install --no-install-recommends gcc"));
    expect_no_call(calls, "apt-get");
    free(calls);
    cli_result_free(&result);

    add_program(*state, "sudo", "exec \"$@\"");
    result = run_setup(*state, "build", &calls);
    cli_expect_status(&result, 0);
    expect_call(calls, "sudo env DEBIAN_FRONTEND=noninteractive apt-get");
    free(calls);
    cli_result_free(&result);
}

/* Where the toolkit lacks a header, as that of CUDA 12 does NVTX's counters, they come as wheels, each with its hash. */
static void test_headers_as_wheels(void **state)
{
    static const char *const lacking[] = {"cuda/include/nvtx3/nvToolsExtCounters.h",
                                          "cuda/include/cupti.h"};
    const struct machine *machine = *state;
    for (size_t i = 0; i < NVT_COUNT_OF(lacking); i++) {
        char *calls;
        unlink(cli_in(machine->directory, lacking[i]));
        struct cli_result result = run_setup(*state, "build", &calls);
        expect_call(calls, "--require-hashes");
        expect_call(calls, "--target .deps");
        free(calls);
        cli_result_free(&result);
        cli_write_file(cli_in(machine->directory, lacking[i]), "", 0);
    }
    char *list = cli_read_file(cli_in(machine->directory, ".deps/wheels.txt"), NULL);
    assert_non_null(list);
    char *rest = NULL;
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_non_null(strstr(line, "=="));
        assert_non_null(strstr(line, "--hash=sha256:"));
    }
    free(list);
}

/* Without nvcc a toolkit comes as wheels, headers and all, as pip replaces whole folders; with one nothing does. */
static void test_toolkit_as_wheels(void **state)
{
    static const char *const wanted[] = {"nvidia-nvtx==", "nvidia-cuda-cupti==",
                                         "nvidia-cuda-nvcc==", "nvidia-nvvm==", "nvidia-cublas=="};
    const struct machine *machine = *state;
    char *calls;
    struct cli_result result = run_setup(machine, "toolkit", &calls);
    cli_expect_status(&result, 2); /* what stands for pip installs nothing */
    assert_non_null(strstr(result.err, "the wheels came without nvcc"));
    expect_call(calls, "--require-hashes");
    free(calls);
    cli_result_free(&result);
    char *list = cli_read_file(cli_in(machine->directory, ".deps/wheels.txt"), NULL);
    assert_non_null(list);
    for (size_t i = 0; i < NVT_COUNT_OF(wanted); i++)
        expect_call(list, wanted[i]);
    free(list);
    /* What pip would have brought: libraries get the names that nvcc looks for. */
    static const char *const folders[] = {".deps/nvidia", ".deps/nvidia/cu13",
                                          ".deps/nvidia/cu13/bin", ".deps/nvidia/cu13/lib"};
    for (size_t i = 0; i < NVT_COUNT_OF(folders); i++)
        assert_int_equal(mkdir(cli_in(machine->directory, folders[i]), 0755), 0);
    cli_write_file(cli_in(machine->directory, ".deps/nvidia/cu13/lib/libcublas.so.13"), "x", 1);
    add_program(machine, "python3",
                "cd \"$(dirname \"$0\")/..\" && cat /dev/null >.deps/nvidia/cu13/bin/nvcc && "
                "chmod 755 .deps/nvidia/cu13/bin/nvcc");
    result = run_setup(machine, "toolkit", &calls);
    cli_expect_status(&result, 0);
    expect_call(calls, "make -j");
    assert_int_equal(
        access(cli_in(machine->directory, ".deps/nvidia/cu13/lib64/libcublas.so"), R_OK), 0);
    free(calls);
    cli_result_free(&result);
    result = run_setup(machine, "toolkit", &calls);
    cli_expect_status(&result, 0);
    expect_no_call(calls, "pip");
    free(calls);
    cli_result_free(&result);
}

/* The compiler's lines go to a log; what went wrong is shown. */
static void test_building(void **state)
{
    struct machine *machine = *state;
    char *calls;
    add_program(machine, "make",
                "case $1 in -n) echo 'echo \"  CC   a.c\"'; echo 'cc -c a.c'; exit;; esac\n"
                "echo '  CC   a.c'; echo 'a.c:1: warning: odd'");
    struct cli_result result = run_setup(machine, "build", &calls);
    cli_expect_status(&result, 0);
    expect_call(calls, "make -n\nmake -j");
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "setup: building; the compiler's lines are in "
                                       ".deps/build.log\nsetup: done; to use it from here: "
                                       "export PATH=\""));
    free(calls);
    cli_result_free(&result);
    char *log = cli_read_text(machine->directory, ".deps/build.log");
    assert_string_equal(log, "  CC   a.c\na.c:1: warning: odd\n");
    free(log);
    add_program(machine, "make", "[ $1 = -n ] || { echo 'a.c:1: error: no'; exit 2; }");
    result = run_setup(machine, "demo", &calls);
    cli_expect_status(&result, 2);
    expect_no_call(calls, "make demo");
    assert_non_null(strstr(result.err, "a.c:1: error: no\nsetup: it could not be built; the whole "
                                       "log is .deps/build.log\n"));
    free(calls);
    cli_result_free(&result);
}

static void test_wrong_usage(void **state)
{
    char *calls;
    struct cli_result result = run_setup(*state, "everything", &calls);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "usage: ./setup"));
    assert_string_equal(calls, "");
    free(calls);
    cli_result_free(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_missing),    TEST(test_only_what_is_missing),
        TEST(test_update_when_needed), TEST(test_apt_fails),
        TEST(test_not_root),           TEST(test_headers_as_wheels),
        TEST(test_toolkit_as_wheels),  TEST(test_building),
        TEST(test_wrong_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
