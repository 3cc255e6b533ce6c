/*
 * Which libcupti is loaded, among copies of several CUDA versions that do nothing (tests/cuptis): the one that the
 * process has, that of its runtime, and none that the driver is too old for.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: no libcupti is looked for");
    return 0;
}

#else

#include "../collectors/inject/cupti_find.h"
#include "cli.h"

/* A process as the collector finds it. */
struct process {
    const char *has[3]; /* libraries that it has loaded, in tests/cuptis */
    const char *home;   /* CUDA_HOME, in tests/cuptis */
    const char *driver; /* its version, in the name of its file; NULL: there is none */
    const char *given;  /* NVTALLY_CUPTI, in tests/cuptis; NULL: not set */
};

struct found {
    char name[NAME_MAX + 1]; /* of the file; "": none */
    char path[PATH_MAX], why[512];
};

static const char *in_cuptis(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", cli_built("tests/cuptis"), name);
    return path;
}

static void must_load(const char *name)
{
    /* cppcheck-suppress leakReturnValNotUsed ; it stays loaded until the process ends */
    if (!dlopen(in_cuptis(name), RTLD_NOW | RTLD_LOCAL))
        _exit(1);
}

static void look_at_process(const struct process *process, struct found *found)
{
    struct link_map *map = NULL;
    unsetenv("CUDA_PATH");
    unsetenv("NVTALLY_CUPTI");
    setenv("CUDA_HOME", in_cuptis(process->home ? process->home : "nothing"), 1);
    if (process->given)
        setenv("NVTALLY_CUPTI", in_cuptis(process->given), 1);
    if (process->driver) {
        char driver[64];
        snprintf(driver, sizeof(driver), "driver/libcuda.so.%s", process->driver);
        must_load(driver);
    }
    for (size_t i = 0; i < NVT_COUNT_OF(process->has) && process->has[i]; i++)
        must_load(process->has[i]);
    void *library = nvt_cupti_find(found->why, sizeof(found->why));
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
        return;
    const char *slash = strrchr(map->l_name, '/');
    snprintf(found->path, sizeof(found->path), "%s", map->l_name);
    snprintf(found->name, sizeof(found->name), "%s", slash ? slash + 1 : map->l_name);
}

/* In a process of its own, as what is loaded stays. */
static struct found find(const struct process *process)
{
    struct found found = {.name = ""};
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        look_at_process(process, &found);
        _exit(write(ends[1], &found, sizeof(found)) == (ssize_t)sizeof(found) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &found, sizeof(found)), sizeof(found));
    close(ends[0]);
    close(ends[1]);
    return found;
}

static void what_is_loaded_is_taken_under_any_name(void **state)
{
    (void)state;
    struct found found =
        find(&(struct process){.has = {"wheel/libcupti-0a1b2c3d.so.11.8"}, .home = "toolkit"});
    assert_string_equal(found.name, "libcupti-0a1b2c3d.so.11.8");
    found = find(&(struct process){.has = {"toolkit/extras/CUPTI/lib64/libcupti.so.11.8"},
                                   .home = "newest",
                                   .driver = "580.65.06"});
    assert_string_equal(found.name, "libcupti.so.11.8");
    /* A tool is no libcupti, whatever it is called. */
    found =
        find(&(struct process){.has = {"wheel/libcupti_trace_injection.so"}, .home = "toolkit"});
    assert_string_equal(found.name, "libcupti.so.13");
    assert_string_equal(found.why, "");
}

static void none_is_newer_than_the_driver(void **state)
{
    static const struct {
        const char *driver, *name;
    } expected[] = {{"580.65.06", "libcupti.so.13"},
                    {"595.10", "libcupti.so.13"},
                    {"570.124.06", "libcupti.so.12"},
                    {"520.61.05", "libcupti.so.11.8"},
                    {"1.1", "libcupti.so.13"}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++) {
        struct found found =
            find(&(struct process){.home = "toolkit", .driver = expected[i].driver});
        assert_string_equal(found.name, expected[i].name);
    }
    /* The system may have one of its own. */
    struct found found = find(&(struct process){.home = "newest", .driver = "520.61.05"});
    assert_string_not_equal(found.name, "libcupti.so.13");
    if (!found.name[0])
        assert_non_null(strstr(found.why, "this driver (CUDA 11)"));
}

static void the_runtime_says_which(void **state)
{
    (void)state;
    struct found found = find(&(struct process){
        .has = {"runtime/lib/libcudart.so.12"}, .home = "toolkit", .driver = "580.65.06"});
    assert_string_equal(found.path, in_cuptis("runtime/lib/libcupti.so.12"));
}

static void what_is_given_is_taken_and_a_second_copy_told(void **state)
{
    (void)state;
    struct found found =
        find(&(struct process){.given = "toolkit/lib64/libcupti.so.13", .driver = "570.124.06"});
    assert_string_equal(found.path, in_cuptis("toolkit/lib64/libcupti.so.13"));
    assert_string_equal(found.why, "");
    found = find(&(struct process){.has = {"runtime/lib/libcupti.so.12"},
                                   .given = "toolkit/lib64/libcupti.so.13"});
    assert_string_equal(found.name, "libcupti.so.13");
    assert_non_null(strstr(found.why, "has loaded another libcupti"));
    assert_non_null(strstr(found.why, "runtime/lib/libcupti.so.12"));
    found = find(&(struct process){.given = "nowhere/libcupti.so.13"});
    assert_string_equal(found.name, "");
    assert_non_null(strstr(found.why, "cannot be loaded"));
}

/* Where pip has both: lib/nvtally/… and lib/python3.…/site-packages/nvidia/…, seen from this program's folder. */
static void that_of_pip_is_found(void **state)
{
    (void)state;
    char to[PATH_MAX];
    const char *folders[] = {"python3.0", "python3.0/site-packages",
                             "python3.0/site-packages/nvidia",
                             "python3.0/site-packages/nvidia/cu13"};
    /* Of this driver's version no machine has one in a usual place. */
    const struct process process = {.home = "nothing", .driver = "520.61.05"};
    struct found found = find(&process);
    assert_string_equal(found.name, "");
    for (size_t i = 0; i < NVT_COUNT_OF(folders); i++)
        (void)mkdir(cli_built(folders[i]), 0700);
    snprintf(to, sizeof(to), "%s", in_cuptis("toolkit/extras/CUPTI/lib64"));
    const char *link = cli_built("python3.0/site-packages/nvidia/cu13/lib");
    assert_int_equal(symlink(to, link), 0);
    found = find(&process);
    (void)unlink(cli_built("python3.0/site-packages/nvidia/cu13/lib"));
    for (size_t i = NVT_COUNT_OF(folders); i-- > 0;)
        (void)rmdir(cli_built(folders[i]));
    assert_string_equal(found.name, "libcupti.so.11.8");
    assert_non_null(strstr(found.path, "site-packages/nvidia/cu13/lib/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(that_of_pip_is_found),
        cmocka_unit_test(what_is_loaded_is_taken_under_any_name),
        cmocka_unit_test(none_is_newer_than_the_driver),
        cmocka_unit_test(the_runtime_says_which),
        cmocka_unit_test(what_is_given_is_taken_and_a_second_copy_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
