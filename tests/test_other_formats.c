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
        const char *head;
        size_t size;
        const char *says; /* NULL: none of them */
    } cases[] = {
#define CASE(head, says) {head, sizeof(head) - 1, says}
        CASE("version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        CASE("/annex/objects/SHA256E-s1--0.json", "git annex get"),
        CASE("NVR\0\10\1", "Nsight Compute"),
        CASE("PK\3\4\24", "unzip"),
        CASE("\x28\xb5\x2f\xfd\1", "zstd -d"),
        CASE("\xfd"
             "7zXZ\0",
             "xz -d"),
        CASE("PAR1\1", "Parquet"),
        CASE("PERFILE2", "perf"),
        CASE("\x7f"
             "ELF\2",
             "is a program"),
        CASE("<!DOCTYPE html><html>", "web page"),
        CASE("\n\n\n", "white space"),
        CASE("\nHello, this is text\nand more", NULL),
        CASE("P", NULL),
        CASE("", NULL),
#undef CASE
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *says = nvt_other_format((const uint8_t *)cases[i].head, cases[i].size);
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
