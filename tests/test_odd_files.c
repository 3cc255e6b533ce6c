/* What odd files of other programs give (tests/odd_files, which makes them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli.h"

#if defined(HAVE_SQLITE) && defined(HAVE_ZLIB)
static void odd_files_give_what_they_should(void **state)
{
    (void)state;
    const char *const argv[] = {"python3", "-B", "tests/odd_files", cli_built("nvtally"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(HAVE_SQLITE) && defined(HAVE_ZLIB)
        cmocka_unit_test(odd_files_give_what_they_should),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
