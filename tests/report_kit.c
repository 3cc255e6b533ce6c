#include "report_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct cli_result report_run(const char *a, const char *b, const char *c, const char *d,
                             const char *e)
{
    const char *const argv[] = {"nvtally", "report", a, b, c, d, e, NULL};
    return cli_run(argv);
}

char *report_document(const char *input, const char *directory, const char *name)
{
    const char *path = cli_in(directory, name);
    struct cli_result result = report_run(input, "-o", path, NULL, NULL);
    cli_expect_status(&result, 0);
    assert_int_equal(strncmp(result.out, path, strlen(path)), 0);
    cli_result_free(&result);
    char *text = cli_read_file(path, NULL);
    assert_non_null(text);
    return text;
}

void report_expect_braces(const char *text)
{
    long depth = 0;
    for (; *text; text++) {
        if (*text == '\\' && text[1]) {
            text++;
            continue;
        }
        depth += (*text == '{') - (*text == '}');
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
}

void report_compile(const char *directory)
{
    const char *const known[] = {"pdflatex", "--version", NULL};
    struct cli_result result = cli_run(known);
    int found = !result.status;
    cli_result_free(&result);
    if (!found) {
        print_message("not run: there is no pdflatex to compile the report with\n");
        return;
    }
    const char *const argv[] = {"pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex",
                                NULL};
    const struct cli_options options = {.directory = directory, .timeout_s = 120};
    result = cli_run_with(&options, argv);
    if (result.status)
        print_error("%s\n", result.out);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(access(cli_in(directory, "a.pdf"), F_OK), 0);
}
