/*
 * A number behind a key that begins a line.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/keyed_number.h"
#include "cli.h"

static void is_that_of_the_first_line_with_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key;
        int base, found;
        uint64_t value;
    } cases[] = {
        {"Name:\tcat\nVmPeak:\t    5900 kB\nVmSize: 7 kB\n", "VmPeak:", 10, 1, 5900},
        {"SigCgt:\t0000000180004a07\n", "SigCgt:", 16, 1, 0x180004a07},
        {"CapEff:\tffffffffffffffff\n", "CapEff:", 16, 1, UINT64_MAX},
        {"rchar: 12", "rchar:", 10, 1, 12}, /* no line's end */
        {"a: 1\na: 2\n", "a:", 10, 1, 1},
        {"Threads: none\n", "Threads:", 10, 1, 0},
        {"not a: 1\nab: 2\n", "a:", 10, 0, 77},
        {"", "a:", 10, 0, 77},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        uint64_t value = 77;
        cli_write_file(cli_in(cli_folder, "status"), cases[i].text, strlen(cases[i].text));
        assert_int_equal(
            nvt_keyed_number(cli_in(cli_folder, "status"), cases[i].key, cases[i].base, &value),
            cases[i].found);
        assert_int_equal(value, cases[i].value);
    }
}

static void lines_may_be_long(void **state)
{
    (void)state;
    char text[10000];
    uint64_t value = 0;
    memset(text, 'x', sizeof(text));
    snprintf(text + 9000, 100, "\na: 3\n");
    cli_write_file(cli_in(cli_folder, "long"), text, strlen(text));
    assert_int_equal(nvt_keyed_number(cli_in(cli_folder, "long"), "a:", 10, &value), 1);
    assert_int_equal(value, 3);
}

static void a_file_that_cannot_be_read_says_why(void **state)
{
    (void)state;
    uint64_t value = 77;
    assert_int_equal(nvt_keyed_number(cli_in(cli_folder, "absent"), "a:", 10, &value), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(nvt_keyed_number(cli_folder, "a:", 10, &value), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(value, 77);
}

static void knows_lines_of_proc(void **state)
{
    (void)state;
    uint64_t pid = 0;
    assert_int_equal(nvt_keyed_number("/proc/self/status", "Pid:", 10, &pid), 1);
    assert_int_equal(pid, getpid());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_that_of_the_first_line_with_the_key, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(lines_may_be_long, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_says_why, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test(knows_lines_of_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
