/*
 * NVIDIA's own Python package `nvtx`, under `nvtally record`: what it annotates is in the reports.
 * ./setup check installs the package into .deps/python.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"

static const char program[] =
    "import nvtx\n"
    "@nvtx.annotate('decorated', color='red')\n"
    "def work():\n"
    "    with nvtx.annotate('inner', domain='my domain', category='io', payload=17):\n"
    "        pass\n"
    "    with nvtx.annotate(message='real', domain='my domain', payload=2.5, color='blue'):\n"
    "        pass\n"
    "with nvtx.annotate('outer'):\n"
    "    work()\n"
    "    nvtx.mark('a mark')\n"
    "domain = nvtx.get_domain('fast')\n"
    "attributes = domain.get_event_attributes(message='pushed', category='compute')\n"
    "domain.push_range(attributes)\n"
    "domain.pop_range()\n"
    "id = nvtx.start_range('crossing')\n"
    "nvtx.end_range(id)\n";

/* Where the package is: where ./setup put it, or wherever Python finds it. */
static int has_package(const struct cli_options *options)
{
    const char *argv[] = {"python3", "-c", "import nvtx", NULL};
    struct cli_result result = cli_run_with(options, argv);
    int found = result.status == 0;
    cli_result_free(&result);
    return found;
}

static void assert_row(const char *csv, const char *name, const char *tail)
{
    char needle[256];
    snprintf(needle, sizeof(needle), ",%s,", name);
    for (const char *line = csv; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        size_t length = strcspn(line, "\r\n");
        char row[2048];
        snprintf(row, sizeof(row), "%.*s", (int)length, line);
        if (strstr(row, needle)) {
            if (!strstr(row, tail))
                fail_msg("row '%s' has no '%s'", row, tail);
            return;
        }
    }
    fail_msg("no row of '%s' in\n%s", name, csv);
}

static void python_annotations_are_in_the_trace(void **state)
{
    (void)state;
    const char *environment[] = {"PYTHONPATH=.deps/python", NULL};
    struct cli_options options = {.environment = environment};
    if (!has_package(&options)) {
        print_message("the Python package nvtx is not here (./setup check installs it): not run\n");
        skip();
    }
    char *directory = cli_tempdir();
    const char *trace = cli_in(directory, "t.nvt");
    const char *record[] = {"nvtally", "record", "-o", trace, "--", "python3", "-c", program, NULL};
    struct cli_result result = cli_run_with(&options, record);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *stats[] = {"nvtally", "stats", trace, "-r", "nvtx_pushpop_trace",
                           "-f",      "csv",   NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    /* Name, then somewhere behind it level, domain, category, colour, payload. */
    assert_row(result.out, ":outer", ",0,1,");
    assert_row(result.out, ":decorated", "FF0000");
    assert_row(result.out, "my domain:inner", "my domain,io,");
    assert_row(result.out, "my domain:inner", ",17");
    assert_row(result.out, "my domain:real", ",2.5");
    assert_row(result.out, "my domain:real", "0000FF");
    assert_row(result.out, "fast:pushed", "fast,compute,");
    cli_result_free(&result);
    const char *sum[] = {"nvtally", "stats", trace, "-r", "nvtx_startend_sum", "-f", "csv", NULL};
    result = cli_run(sum);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "crossing"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(python_annotations_are_in_the_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
