/* Windows on traces in every command that takes some: --filter-time and --filter-nvtx. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "cli.h"

static struct cli_result command(const char *const words[])
{
    const char *argv[16] = {"nvtally"};
    for (size_t i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    return cli_run_with(&(struct cli_options){.directory = cli_folder}, argv);
}

#define COMMAND(...) command((const char *const[]){__VA_ARGS__, NULL})

/* What lies in no window is a note, and where there is a command line for it, no crash. */
static void expect_empty_windows(void)
{
    struct cli_result result = COMMAND("stats", "t.nvt", "--filter-time", "100s/");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nothing begins in the window"));
    cli_result_free(&result);
    /* Also where memory is still in use that was allocated before. */
    result =
        cli_run((const char *const[]){"nvtally", "stats", "-r", "nvtx_sum", "--filter-time",
                                      "900s/901s", "docs/results/h100/traces/pytorch.nvt", NULL});
    cli_expect_status(&result, 0);
    /* How long it is counts from its beginning, as the option does. */
    assert_non_null(strstr(result.err, "nothing begins in the window: the trace is 9.22 s long ("));
    assert_non_null(strstr(result.err, " ns in tables)"));
    cli_result_free(&result);
    result = COMMAND("diagnose", "t.nvt", "--filter-time", "100s/");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "nothing begins in the window"));
    assert_null(strstr(result.out, "second half"));
    /* Each rule looked, or says why not. */
    unsigned sum = 0, all = 0, some = 0;
    for (const char *at = result.out; (at = strstr(at, " rules ")); at++) {
        const char *line = at;
        while (line > result.out && line[-1] != '\n')
            line--;
        if (sscanf(line, "%u of %u rules", &some, &all) == 2)
            sum += some;
    }
    assert_true(all > 40);
    assert_int_equal(sum, all);
    cli_result_free(&result);
}

/* In every command that takes traces, of which tables and documents tell. */
static void commands_take_windows(void **state)
{
    (void)state;
    struct cli_result result =
        COMMAND("run", "linear", "--size", "64", "--batch", "1", "--iterations", "4", "--warmup",
                "1", "--backend", "host", "-o", "out");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run_with(&(struct cli_options){.directory = cli_folder},
                          (const char *const[]){"sh", "-c", "mv out/*.nvt t.nvt", NULL});
    cli_result_free(&result);
    result =
        COMMAND("stats", "-r", "nvtx_sum", "-f", "csv", "t.nvt", "--filter-nvtx", "iteration/2");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ",1,"));
    assert_non_null(strstr(result.out, "nvtally:iteration\n"));
    assert_null(strstr(result.out, ",4,"));
    assert_null(strstr(result.out, "linear size"));
    assert_null(strstr(result.err, "the window is the first"));
    cli_result_free(&result);
    /* Which of several ranges it is, if nobody said so. */
    result = COMMAND("stats", "-r", "nvtx_sum", "-f", "csv", "t.nvt", "--filter-nvtx", "iteration");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err,
                           "the window is the first of 4 ranges 'iteration': behind the "
                           "name, /1 is the second, /3 the last"));
    cli_result_free(&result);
    result = COMMAND("stats", "t.nvt", "--filter-nvtx", "iteration/2", "--filter-time", "0s/");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\nwithin iteration/2, time 0s/\n"));
    cli_result_free(&result);
    result = COMMAND("diagnose", "t.nvt", "--filter-nvtx", "iteration/2");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = COMMAND("report", "t.nvt", "--filter-nvtx", "iteration/2", "-o", "r.md");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    size_t size = 0;
    char *document = cli_read_file(cli_in(cli_folder, "r.md"), &size);
    assert_non_null(strstr(document, "within iteration/2"));
    free(document);
    result = COMMAND("export", "t.nvt", "--to", "csv", "--filter-nvtx", "iteration/2");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "iteration"));
    assert_null(strstr(result.out, "linear size"));
    cli_result_free(&result);
    result = COMMAND("compare", "t.nvt", "t.nvt", "--filter-nvtx", "iteration/2", "-f", "csv");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, ",4,4,"));
    cli_result_free(&result);
    expect_empty_windows();
}

/* The ranges that name the configurations lie around the window: their traces are told apart nevertheless. */
static void configurations_stay_apart(void **state)
{
    (void)state;
    struct cli_result result =
        COMMAND("run", "linear", "--size", "32,64", "--batch", "1", "--iterations", "4", "--warmup",
                "1", "--backend", "host", "-o", "sweep");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    static const char script[] =
        "\"$0\" compare sweep/*.nvt vs sweep/*.nvt --filter-nvtx forward/2 -f csv\n"
        "\"$0\" stats -r phases sweep/*.nvt --filter-nvtx iteration/2 -f csv\n";
    result = cli_run_with(&(struct cli_options){.directory = cli_folder},
                          (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "linear size=32 batch=1 mode=linear,phase,forward,B,1,1,"));
    assert_non_null(strstr(result.out, "linear size=64 batch=1 mode=linear,phase,forward,B,1,1,"));
    assert_non_null(strstr(result.out, "linear,size=32 batch=1 mode=linear,backward,1,"));
    assert_non_null(strstr(result.out, "linear,size=64 batch=1 mode=linear,backward,1,"));
    cli_result_free(&result);
}

static void commands_refuse_windows(void **state)
{
    (void)state;
    static const char *const refused[][2] = {{"--filter-nvtx", "iteration/4"},
                                             {"--filter-nvtx", ""},
                                             {"--filter-time", "now/then"},
                                             {"--filter-time", "5"},
                                             {"--filter-time", "3/2"}};
    static const char *const commands[] = {"stats", "diagnose", "plot", "report", "export"};
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++)
        for (size_t k = 0; k < NVT_COUNT_OF(commands); k++) {
            int is_export = !strcmp(commands[k], "export");
            struct cli_result result = COMMAND(commands[k], "t.nvt", refused[i][0], refused[i][1],
                                               is_export ? "--to" : NULL, "csv");
            cli_expect_failure(&result, refused[i][0]);
            cli_result_free(&result);
        }
    struct cli_result result = COMMAND("stats", "out", "--filter-time", "0s/1s");
    cli_expect_failure(&result, "has rows of whole runs");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_take_windows), cmocka_unit_test(configurations_stay_apart),
        cmocka_unit_test(commands_refuse_windows),
        /* the trace is that one's */
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
