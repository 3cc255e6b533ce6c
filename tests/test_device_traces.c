/*
 * Traces of an H100 (docs/results/h100/traces): what the analyses say of programs whose faults are known, as they ran there.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"
#include "html_check.h"

#define TRACE(name) "docs/results/h100/traces/" name ".nvt"

static struct cli_result run(const char *const argv[])
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    return result;
}

/* The loop over 128 fragments asks the device for each, and waits for four bytes. */
static void the_loop_waits_for_its_answers(void **state)
{
    (void)state;
    struct cli_result result =
        run((const char *const[]){"nvtally", "diagnose", TRACE("looped"), NULL});
    static const char first[] =
        "1  sync-bound   1.33 ms of 2.51 ms per iteration (53 %)\n   GPU is "
        "idle after cudaMemcpyAsync: the host blocks until it returns";
    assert_non_null(strstr(result.out, first));
    assert_non_null(strstr(result.out, "128 copies of at most 64 bytes to the host per iteration"));
    assert_non_null(strstr(
        result.out,
        "3  tiny copies   848 µs of 2.51 ms per iteration (34 %)\n   128 copies of 4 bytes"));
    /* and not nsys's option */
    assert_non_null(strstr(result.out, "(nvtally record --trace memory)"));
    cli_result_free(&result);
}

/* Time of a range on the device, ns. */
static double projected(const char *range, const char *option)
{
    char row[64];
    double total = 0;
    struct cli_result result = run((const char *const[]){
        "nvtally", "stats", "-r", "nvtx_gpu_proj_sum", "-f", "csv", TRACE("train"), option, NULL});
    snprintf(row, sizeof(row), "\n:%s,PushPop,", range);
    const char *at = strstr(result.out, row);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(row), "%lf", &total), 1);
    cli_result_free(&result);
    return total;
}

/* Each finding of a report links to the page of its rule, which is there once; other rules have none. */
static void a_report_explains_its_findings(void **state)
{
    (void)state;
    static const struct {
        const char *file, *link, *close;
    } formats[] = {{"r.html", "<a href=\"#rule-", "\""}, {"r.md", "](#rule-", ")"}};
    char *directory = cli_tempdir();
    for (size_t i = 0; i < 2; i++) {
        char id[80];
        const char *const path = cli_in(directory, formats[i].file);
        struct cli_result result = run((const char *const[]){
            "nvtally", "report", "-o", path, TRACE("train"), TRACE("managed"), NULL});
        cli_result_free(&result);
        char *text = cli_read_text(directory, formats[i].file);
        size_t links = 0;
        for (const char *at = text; (at = strstr(at, formats[i].link)); links++) {
            at += strlen(formats[i].link);
            snprintf(id, sizeof(id), "id=\"rule-%.*s\"", (int)strcspn(at, formats[i].close), at);
            if (count_of(text, id) != 1)
                fail_msg("%zu times %s in %s", count_of(text, id), id, formats[i].file);
            assert_non_null(strstr(strstr(text, id), "What helped others"));
        }
        assert_in_range(links, 3, 24);
        assert_in_range(count_of(text, "id=\"rule-"), 3, links);
        assert_non_null(strstr(text, "id=\"rule-gpu-idle\""));
        assert_null(strstr(text, "rule-deadlock"));
        free(text);
    }
    cli_tempdir_remove(directory);
}

/* PyTorch's backward pass launches from a thread of its own, which has no ranges. */
static void the_backward_pass_is_found_on_its_thread(void **state)
{
    (void)state;
    assert_true(projected("backward", NULL) < 1e5);
    assert_true(projected("backward", "--across-threads") > 1.5e8);
    assert_true(projected("forward", "--across-threads") == projected("forward", NULL));
    struct cli_result result =
        run((const char *const[]){"nvtally", "diagnose", TRACE("train"), NULL});
    assert_null(strstr(result.out, "not attributed"));
    assert_non_null(strstr(result.out,
                           "1  launch-bound   6.98 ms of 14.6 ms per iteration (48 "
                           "%)\n   GPU is idle 48 % of the time, waiting for kernel launches"));
    cli_result_free(&result);
    /* To people it is backward's, unless they ask for nsys's definition; a table of ours says so to programs, too. */
    result = run((const char *const[]){"nvtally", "stats", "-r", "range_tree", "-f", "csv",
                                       TRACE("train"), NULL});
    assert_non_null(
        strstr(result.out, "\n--:backward,10,162005885,162005885,35.3,1,PushPop,0,21790325,"));
    assert_non_null(strstr(result.err, "such as backward (--by-thread: not)"));
    cli_result_free(&result);
    result = run((const char *const[]){"nvtally", "stats", "-r", "range_tree", "-f", "csv",
                                       "--by-thread", TRACE("train"), NULL});
    assert_non_null(
        strstr(result.out, "\n--:backward,10,162005885,162005885,35.3,1,PushPop,0,9986,"));
    assert_null(strstr(result.err, "by-thread"));
    cli_result_free(&result);
}

/* An unchanged script, whose ranges are those of --pytorch. */
static void an_unchanged_script_has_its_phases(void **state)
{
    (void)state;
    struct cli_result result =
        run((const char *const[]){"nvtally", "stats", "-r", "phases", "--across-threads", "-f",
                                  "csv", TRACE("pytorch"), NULL});
    assert_non_null(strstr(result.out, ",forward,10,"));
    assert_non_null(strstr(result.out, ",backward,10,"));
    assert_non_null(strstr(result.out, ",optimizer,10,"));
    cli_result_free(&result);
}

static void pages_that_move_are_found(void **state)
{
    (void)state;
    struct cli_result result = run((const char *const[]){"nvtally", "stats", "-r", "um_total_sum",
                                                         "-f", "csv", TRACE("managed"), NULL});
    assert_non_null(strstr(result.out, "\n201.327,201.327,768,1199,"));
    cli_result_free(&result);
    result = run((const char *const[]){"nvtally", "diagnose", TRACE("managed"), NULL});
    assert_non_null(strstr(result.out, "(22 %)\n   kernels wait for pages of managed memory"));
    assert_non_null(strstr(result.out, "most in add_one"));
    assert_non_null(strstr(result.out, "; 56 % of the bytes go to the host"));
    cli_result_free(&result);
}

/* cuBLAS's kernels there are known for products: in bf16 they are less than half of the forward pass. */
static void products_are_known_by_their_kernels(void **state)
{
    (void)state;
    struct cli_result result = run((const char *const[]){"nvtally", "stats", "-r", "matmul_share",
                                                         "-f", "csv", TRACE("transformer"), NULL});
    assert_non_null(strstr(result.out, "forward,2,1026506,426956,426956,41.6,41.6,kernels"));
    assert_non_null(strstr(result.out, "optimizer,2,"));
    cli_result_free(&result);
}

/* A window's findings of the iterations that lie within it: kernels per iteration, which a cut one has fewer of. */
static double kernels_within(const char *window)
{
    double kernels = 0;
    struct cli_result result = run((const char *const[]){"nvtally", "diagnose", TRACE("train"),
                                                         "--filter-time", window, NULL});
    const char *at = strstr(result.out, " kernels per iteration");
    assert_non_null(at);
    while (at[-1] != ' ')
        at--;
    kernels = strtod(at, NULL);
    cli_result_free(&result);
    return kernels;
}

static void iterations_that_a_window_cuts_do_not_count(void **state)
{
    (void)state;
    assert_true(fabs(kernels_within("8.75s/8.796s") - 279) <= 3);
    assert_true(fabs(kernels_within("8.75s/8.795s") - 279) <= 3);
}

/* The first moment of the first finding, ms: what --filter-time takes. */
static double moment_within(const char *window)
{
    struct cli_result result = run((const char *const[]){"nvtally", "diagnose", TRACE("train"),
                                                         "--filter-time", window, NULL});
    const char *at = strstr(result.out, "look at");
    assert_non_null(at);
    at += strcspn(at, "0123456789");
    char *unit;
    const double moment = strtod(at, &unit);
    const double ms = !strncmp(unit, " s", 2) ? 1e3 * moment : moment;
    cli_result_free(&result);
    return ms;
}

static void moments_of_a_window_are_those_of_the_trace(void **state)
{
    (void)state;
    char window[64];
    const double moment = moment_within("8.75s/8.90s");
    assert_true(moment >= 8750 && moment <= 8900);
    snprintf(window, sizeof(window), "%.3fms/%.3fms", moment - 40, moment + 40);
    struct cli_result result =
        run((const char *const[]){"nvtally", "stats", "-r", "nvtx_pushpop_trace", TRACE("train"),
                                  "--filter-time", window, NULL});
    assert_null(strstr(result.err, "nothing begins"));
    assert_non_null(strstr(result.out, "8.8"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_waits_for_its_answers),
        cmocka_unit_test(a_report_explains_its_findings),
        cmocka_unit_test(the_backward_pass_is_found_on_its_thread),
        cmocka_unit_test(an_unchanged_script_has_its_phases),
        cmocka_unit_test(pages_that_move_are_found),
        cmocka_unit_test(products_are_known_by_their_kernels),
        cmocka_unit_test(iterations_that_a_window_cuts_do_not_count),
        cmocka_unit_test(moments_of_a_window_are_those_of_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
