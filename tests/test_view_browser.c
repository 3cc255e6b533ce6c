/*
 * The page of `view` in a headless browser (tests/view/drive.py): findings lead to moments, what is under the pointer is in the
 * accessibility tree, selected time has the counts of the report, nothing is fetched from elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../analyze/view/server.h"
#include "cli.h"

static int is_here(const char *program)
{
    const char *const argv[] = {program, "--version", NULL};
    struct cli_result result = cli_run(argv);
    const int found = !result.status;
    cli_result_free(&result);
    return found;
}

/* What drive.py prints. */
static const char expected[] =
    "lanes: 8\n"
    "idle and memory are labelled: GPU 0 idle,GPU 0 memory,host memory\n"
    "moments as diagnose prints them: True\n"
    "a finding leads to an event of its moment: True\n"
    "its details are in sight, no time is selected: True True\n"
    "the status line is about it: True\n"
    "rules that looked: True\n"
    "kernel under the pointer is in the accessibility tree: True\n"
    "its launch is shown: 1 launched by\n"
    "and its neighbours: before,after\n"
    "all is in the hover: True\n"
    "its time by a key: True\n"
    "iterations in the selected time: 3\n"
    "kernels of the selected time as in stats: True\n"
    "names found: True\n"
    "Enter goes to the next, Shift+Enter back: [0, 1, 2, 1, 0] True True\n"
    "the wheel zooms about the pointer: True\n"
    "and moves: True\n"
    "foreign requests: 0\n"
    "foreign addresses are refused: True\n"
    "Tab reaches all of them, light 1280: True True\n"
    "Tab reaches all of them, dark 1280: True True\n"
    "Tab reaches all of them, light 400: True True\n"
    "controls without a name: [] True\n"
    "Enter folds lanes, and the focus stays: True True\n"
    "and unfolds them: True\n"
    "what is selected is in the accessibility tree: True\n"
    "a neighbour by Enter, and the focus stays: True\n"
    "Esc selects nothing: True\n"
    "a lane of 22 rows shows 8, then all: 128 True 352\n"
    "and unfolds for what is looked for: 128 352\n"
    "light: True\n"
    "dark: True\n"
    "fits 400 px: True\n"
    "a tap selects: True\n"
    "a held finger shows the event: True\n"
    "two held fingers select time: True\n"
    "and pinch: True\n"
    "lanes of A and B in turn: ABABABAB\n"
    "first iterations aligned: True\n"
    "iterations of A, none of the same domain in B: :iteration × 10, 0\n"
    "findings of both: True\n"
    "aligned by their beginnings: True\n"
    "median and longest iteration overlaid: True\n"
    "their lengths on the ruler: True\n"
    "iterations in the table: :iteration × 1\n"
    "chosen iterations overlaid: True\n"
    "lanes of a rank fold by the mouse: True\n"
    "and unfold: True\n"
    "the tab and findings name both traces: True True\n"
    "ranks on one axis: True 2\n"
    "the first trace is shown, not both as slivers: True\n"
    "and a note says where the other one is: True\n"
    "and leads there: True\n"
    "memory of a trace has ended by then: True\n"
    "the page says that its trace is cut: True\n"
    "the page grows with its trace: True True\n"
    "the page says that the server has ended: True\n"
    "a slow file ends in its lanes: 8 True\n"
    "an event stays selected when lanes have other numbers: True\n"
    "a broken one in one line: True\n"
    "and status 2\n"
    "its lanes fold by the mouse: True\n"
    "findings in the document: True\n"
    "kernels of the iteration as in the trace: True\n"
    "no figures of what is merged: True\n"
    "flame graph zooms: True\n"
    "and is searched: True\n"
    "rows of the tree fold: iteration\n"
    "rows are filtered: True\n"
    "rows are sorted: True\n"
    "and by the keyboard: True\n"
    "and by the keyboard: True\n"
    "the document loads: ['r.html']\n"
    "lanes of a compared document: AABBAABB\n"
    "its table of both: True\n"
    "it loads: ['c.html']\n"
    "the server outlives a killed browser: True\n";

static void test_page(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err) || !is_here("chromium") || !is_here("python3")) {
        print_message("not run: it needs chromium, python3 and libmicrohttpd\n");
        skip();
    }
    const char *const argv[] = {"python3",
                                "tests/view/drive.py",
                                "chromium",
                                cli_built("nvtally"),
                                "docs/results/h100/traces/train.nvt",
                                "docs/results/h100/traces/looped.nvt",
                                cli_folder,
                                NULL};
    const struct cli_options options = {.timeout_s = 400};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_lines(&result, expected);
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_page, cli_folder_set_up, cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
