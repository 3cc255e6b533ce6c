/*
 * The picture of the first screen that the README shows: what the program prints today. `make first-screen` draws it again, by this test
 * with NVTALLY_DRAW=1.
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
#include "screen_picture.h"
#include "terminal_kit.h"

#define TRACE   "docs/results/h100/traces/train.nvt"
#define OTHER   "docs/results/h100/traces/pytorch.nvt" /* its iterations are of another domain */
#define PICTURE "docs/images/first-screen.svg"
enum { COLUMNS = 80, LINES = 24 };

/* Bars are shapes, colours attributes, and text keeps its columns. */
static void a_screen_becomes_a_picture(void **state)
{
    (void)state;
    /* 12 cells, 2 lines, 12 around them */
    static const char size[] = "width=\"139\" height=\"66\"";
    static const char body[] =
        "<text x=\"12.0\" y=\"28\" textLength=\"19.2\" fill=\"#ffffff\" "
        "font-weight=\"bold\">a&lt;</text>\n"
        "<text x=\"60.0\" y=\"28\" textLength=\"28.8\" fill=\"#e6edf3\">b c</text>\n"
        "<text x=\"12.0\" y=\"49\" textLength=\"9.6\" fill=\"#e6edf3\">%</text>\n"
        "<rect x=\"31.2\" y=\"36\" width=\"14.4\" height=\"16\" fill=\"#3fb950\"/>\n"
        "<text x=\"60.0\" y=\"49\" textLength=\"9.6\" fill=\"#e6edf3\">\u00b5</text>\n</svg>\n";
    char *picture =
        kit_screen_picture("\033[1ma<\033[0m   b c\n% \033[32m\u2588\u258c\033[0m \u00b5\n", 12);
    assert_non_null(strstr(picture, size));
    assert_string_equal(strstr(picture, "<text"), body);
    free(picture);
}

/* The command as a person types it, then what it prints. */
static char *first_screen(void)
{
    const char *const argv[] = {"nvtally", "stats", TRACE, NULL};
    char *both;
    int status;
    char *printed = kit_on_terminal(COLUMNS, LINES, NULL, argv, &status);
    assert_int_equal(status, 0);
    assert_in_range(kit_expect_fits(printed, COLUMNS), 10, LINES - 1);
    assert_true(asprintf(&both, "\033[2m$\033[0m nvtally stats " TRACE "\n%s", printed) >= 0);
    free(printed);
    return both;
}

static void the_picture_is_what_is_printed(void **state)
{
    (void)state;
    char *screen = first_screen(), *picture = kit_screen_picture(screen, COLUMNS);
    const char *draw = getenv("NVTALLY_DRAW");
    if (draw && *draw)
        cli_write_file(PICTURE, picture, strlen(picture));
    char *kept = cli_read_file(PICTURE, NULL);
    if (!kept || strcmp(kept, picture) != 0)
        fail_msg("%s is not what the program prints: run make first-screen, and look at it\n%s",
                 PICTURE, screen);
    free(kept);
    free(picture);
    free(screen);
}

static void the_readme_shows_it(void **state)
{
    (void)state;
    char *readme = cli_read_text(".", "README.md");
    assert_non_null(strstr(readme, "](" PICTURE ")"));
    free(readme);
}

/* Iterations are compared whatever each side calls them, and come first. */
static void a_comparison_begins_with_iterations(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally", "compare", TRACE, "vs", OTHER, NULL};
    int status;
    char *printed = kit_on_terminal(COLUMNS, LINES, NULL, argv, &status);
    assert_int_equal(status, 0);
    assert_non_null(strstr(printed, " less time: iteration 15.1 ms \u2192 6.10 ms"));
    free(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_screen_becomes_a_picture),
        cmocka_unit_test(the_picture_is_what_is_printed),
        cmocka_unit_test(the_readme_shows_it),
        cmocka_unit_test(a_comparison_begins_with_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
