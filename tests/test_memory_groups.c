/*
 * What control groups leave of memory: of both versions, with limits at several levels, and with a page cache that fills them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../collectors/memory_groups.h"
#include "cli.h"
#include "../lib/count_of.h"

#define MIB ((uint64_t)1 << 20)

/* A file below the fixture's folder, with its folders. */
static void put(const char *path, const char *text)
{
    char whole[600];
    snprintf(whole, sizeof(whole), "%s/%s", cli_folder, path);
    for (char *slash = whole + strlen(cli_folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0700);
        *slash = '/';
    }
    cli_write_file(whole, text, strlen(text));
}

static struct nvt_memory_groups found(const char *self, const char *root)
{
    struct nvt_memory_groups groups;
    put("self", self);
    nvt_memory_groups_find_at(&groups, cli_in(cli_folder, "self"), cli_in(cli_folder, root));
    return groups;
}

static void the_tightest_level_counts(void **state)
{
    (void)state;
    put("new/job/step/memory.max", "max\n");
    put("new/job/step/memory.current", "1048576\n");
    put("new/job/memory.max", "104857600\n");
    put("new/job/memory.current", "20971520\n");
    put("new/job/memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\n");
    put("new/memory.max", "209715200\n");
    put("new/memory.current", "199229440\n");
    put("new/memory.stat", "anon 1\nfile 2\ninactive_file 0\nactive_file 0\n");
    struct nvt_memory_groups groups = found("0::/job/step\n", "new");
    assert_int_equal(groups.count, 2);
    assert_int_equal(groups.limit, 100 * MIB);
    assert_int_equal(nvt_memory_groups_left(&groups), 10 * MIB);
    assert_int_equal(nvt_memory_groups_kills(&groups), 3);
}

/* A job that reads much has its limit full of pages that the system gives back. */
static void the_page_cache_is_left(void **state)
{
    (void)state;
    put("full/memory.max", "104857600\n");
    put("full/memory.current", "104857600\n");
    put("full/memory.stat", "anon 12\ninactive_file 31457280\nactive_file 10485760\n");
    struct nvt_memory_groups groups = found("0::/\n", "full");
    assert_int_equal(groups.count, 1);
    assert_int_equal(nvt_memory_groups_left(&groups), 40 * MIB);
}

static void the_first_version_has_other_names(void **state)
{
    (void)state;
    put("old/memory/docker/x/memory.limit_in_bytes", "314572800\n");
    put("old/memory/docker/x/memory.usage_in_bytes", "104857600\n");
    put("old/memory/docker/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    put("old/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");
    put("old/memory/memory.limit_in_bytes", "9223372036854771712\n");
    struct nvt_memory_groups groups =
        found("5:cpu,cpuacct:/\n4:memory:/docker/x\n0::/other\n", "old");
    assert_int_equal(groups.is_old, 1);
    assert_int_equal(groups.count, 1);
    assert_int_equal(groups.limit, 300 * MIB);
    assert_int_equal(nvt_memory_groups_left(&groups), 200 * MIB);
    assert_int_equal(nvt_memory_groups_kills(&groups), 5);
}

/* In a container the group's path may be one of the host, and only the root is there. */
static void a_path_of_the_host_leads_to_the_root(void **state)
{
    (void)state;
    put("inside/memory.max", "104857600\n");
    put("inside/memory.current", "0\n");
    struct nvt_memory_groups groups = found("0::/docker/0123456789abcdef\n", "inside");
    assert_int_equal(groups.count, 1);
    assert_int_equal(nvt_memory_groups_left(&groups), 100 * MIB);
}

static void without_limits_there_is_no_end(void **state)
{
    (void)state;
    static const char *const selves[] = {"",       "\n",         "0::/\n",   "rubbish",
                                         "::::\n", "1:memory\n", "0::/a/b/c"};
    put("none/memory.current", "17\n");
    for (size_t i = 0; i < NVT_COUNT_OF(selves); i++) {
        struct nvt_memory_groups groups = found(selves[i], "none");
        assert_int_equal(groups.count, 0);
        assert_true(groups.limit == UINT64_MAX);
        assert_true(nvt_memory_groups_left(&groups) == UINT64_MAX);
        assert_int_equal(nvt_memory_groups_kills(&groups), 0);
    }
    struct nvt_memory_groups groups;
    nvt_memory_groups_find_at(&groups, "/nowhere", "/nowhere");
    assert_int_equal(groups.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tightest_level_counts),
        cmocka_unit_test(the_page_cache_is_left),
        cmocka_unit_test(the_first_version_has_other_names),
        cmocka_unit_test(a_path_of_the_host_leads_to_the_root),
        cmocka_unit_test(without_limits_there_is_no_end),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
