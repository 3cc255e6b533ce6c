/*
 * Files that are no trace, or hold one in a form that is not read, are named, with what to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/other_formats.h"
#include "../lib/count_of.h"
#include "cli.h"

static void each_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *path, *head;
        size_t size;
        const char *says; /* NULL: none of them */
    } cases[] = {
#define CASE(path, head, says) {path, head, sizeof(head) - 1, says}
        CASE("a.json", "version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        CASE("a.json", "/annex/objects/SHA256E-s1--0.json", "git annex get"),
        CASE("a.ncu-rep", "NVR\0\10\1", "Nsight Compute"),
        CASE("a.json.zip", "PK\3\4\24", "unzip"),
        CASE("a.json.zst", "\x28\xb5\x2f\xfd\1", "zstd -d"),
        CASE("a.json.xz",
             "\xfd"
             "7zXZ\0",
             "xz -d"),
        CASE("a.parquet", "PAR1\1", "Parquet"),
        CASE("perf.data", "PERFILE2", "perf"),
        CASE("a.out",
             "\x7f"
             "ELF\2",
             "is a program"),
        CASE("a.json", "<!DOCTYPE html><html>", "web page"),
        CASE("a.pb", "\n\x14\x12\x0e/device:GPU:0\x1a\2\x08\1", "XPlane"),
        CASE("a.xplane.pb", "\n\x80", "XPlane"),
        CASE("a.bin", "\n\n\n", NULL),
        CASE("a.txt", "\nHello, this is text\nand more", NULL),
        CASE("a.txt", "P", NULL),
        CASE("a.txt", "", NULL),
#undef CASE
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *says =
            nvt_other_format(cases[i].path, (const uint8_t *)cases[i].head, cases[i].size);
        const char *wanted = cases[i].says ? cases[i].says : "(nothing)";
        if (!strstr(says ? says : "(nothing)", wanted))
            fail_msg("%zu: %s", i, says ? says : "(nothing)");
    }
}

static void a_command_says_it(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "kernel.ncu-rep");
    cli_write_file(path, "NVR\0\1", 5);
    struct cli_result result = cli_run((const char *const[]){"nvtally", "stats", path, NULL});
    cli_expect_failure(&result, "kernel.ncu-rep: is a report of Nsight Compute");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_named),
        cmocka_unit_test(a_command_says_it),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
