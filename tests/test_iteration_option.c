/*
 * --iteration: what commands see in a program whose loop has ranges of a name of its own.
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

enum { STEPS = 40 };

static void put(FILE *out, const char *name, int at, int length)
{
    fprintf(out,
            "{\"ph\": \"X\", \"cat\": \"nvtx\", \"name\": \"%s\", \"pid\": 7, \"tid\": 7, "
            "\"ts\": %d, \"dur\": %d},\n",
            name, at, length);
}

/* Steps of 100 us, the first five of them slower, with a forward pass in each; one forward is before them all. */
static const char *write_profile(void)
{
    const char *path = cli_in(cli_folder, "p.json");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n", out);
    put(out, "forward", 0, 900);
    for (int i = 0, at = 1000; i < STEPS; i++) {
        const int length = i < 5 ? 400 : 100 + i % 3;
        put(out, "lap", at, length);
        put(out, "forward", at + 10, 40);
        at += length + 5;
    }
    fputs("{\"ph\": \"M\", \"pid\": 7, \"name\": \"process_name\"}]}\n", out);
    assert_int_equal(fclose(out), 0);
    return path;
}

/* What a command prints with the option and without. */
static void expect(const char *const command[3], const char *path, const char *said, int status,
                   const char *text, int is_there)
{
    const char *argv[10] = {"nvtally"};
    size_t count = 1;
    for (size_t i = 0; i < 3 && command[i]; i++)
        argv[count++] = command[i];
    argv[count++] = path;
    if (said) {
        argv[count++] = "--iteration";
        argv[count++] = said;
    }
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    if ((strstr(status ? result.err : result.out, text) != NULL) != is_there)
        fail_msg("%s %s: '%s' is%s there:\n%s%s", command[0], said ? said : "", text,
                 is_there ? " not" : "", result.out, result.err);
    cli_result_free(&result);
}

static void a_loop_of_ones_own_is_one(void **state)
{
    (void)state;
    const char *path = write_profile();
    static const char *const warmup[] = {"stats", "-r", "warmup"};
    static const char *const phases[] = {"stats", "-rphases", "-fcsv"};
    static const char *const diagnose[] = {"diagnose", NULL, NULL};
    const char *const compare[] = {"compare", "-fcsv", cli_in(cli_folder, "p.json")};
    expect(warmup, path, NULL, 0, "shape", 0);
    expect(warmup, path, "lap", 0, "40", 1);
    expect(phases, path, NULL, 0, ",41,", 1);
    expect(phases, path, "lap", 0, ",40,", 1);
    expect(diagnose, path, NULL, 0, "no iterations in the trace", 1);
    expect(diagnose, path, NULL, 0, "--iteration NAME", 1);
    expect(diagnose, path, "lap", 0, "no iterations in the trace", 0);
    expect(diagnose, path, "lap", 0, "warm-up", 1);
    expect(compare, path, "lap", 0, ",40,40,", 1);
    expect(diagnose, path, "stride", 2, "has no range 'stride' (--iteration)", 1);
}

static void a_report_begins_with_it(void **state)
{
    (void)state;
    const char *path = write_profile(), *written = cli_in(cli_folder, "r.md");
    struct cli_result result = cli_run(
        (const char *[]){"nvtally", "report", path, "-o", written, "--iteration", "lap", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(written, NULL);
    assert_non_null(text);
    assert_non_null(strstr(text, "101 µs")); /* the median of the laps */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_of_ones_own_is_one),
        cmocka_unit_test(a_report_begins_with_it),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
