/*
 * The command stats: what it prints when no report is named.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"

#ifdef HAVE_YAJL
static const char *write_trace(const char *name, const char *text)
{
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, text, strlen(text));
    return path;
}

/* A process that crashed within "backward". */
static const char *crashed(void)
{
    return write_trace(
        "crashed.json",
        "[{\"ph\":\"X\",\"name\":\"whole\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2},\n"
        "{\"ph\":\"B\",\"name\":\"step\",\"pid\":7,\"tid\":7,\"ts\":10},\n"
        "{\"ph\":\"B\",\"name\":\"backward\",\"pid\":7,\"tid\":7,\"ts\":20}]");
}

/* A launch and its kernel, of a long name, in a range. */
#define LONG_NAME                                                                                  \
    "void a_kernel_of_a_name_that_takes_much_of_a_line<float, 128, true>(float *, float const *, " \
    "unsigned long, unsigned long, unsigned long)"

static void test_note_of_a_crash(void **state)
{
    (void)state;
    const char *path = crashed(), *needle = "process 7 ended within: step > backward\n";
    const char *const plain[] = {"nvtally", "stats", path, NULL};
    const char *const named[] = {"nvtally", "stats", "-r", "nvtx_sum", path, NULL};
    struct cli_result result = cli_run(plain);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, needle));
    assert_non_null(strstr(result.out, "[nvtx_sum]"));
    cli_result_free(&result);
    result = cli_run(named);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, needle));
    cli_result_free(&result);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HAVE_YAJL
        cmocka_unit_test(test_note_of_a_crash),
#endif
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
