/* Bubbles as schedules predict them; report and charts of a run of the pipeline. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/studies/pipeline.h"
#include "../lib/count_of.h"
#include "cli.h"

/* By hand, of K = 4, M = 8 and, interleaved, V = 2. */
static void schedules_predict_their_bubble(void **state)
{
    (void)state;
    static const struct {
        const char *configuration;
        double bubble;
    } known[] = {{"partitions=4 microbatches=8 schedule=gpipe", 3.0 / 11},
                 {"partitions=4 microbatches=8 checkpoint=on schedule=1f1b batch=8", 3.0 / 11},
                 {"partitions=4 microbatches=8 schedule=interleaved virtual_stages=2", 3.0 / 19},
                 {"partitions=1 microbatches=8 schedule=gpipe", 0},
                 {"partitions=4 microbatches=8 schedule=interleaved", NAN},
                 {"partitions=4 microbatches=8 schedule=gpipes", NAN},
                 {"partitions=4 microbatches=8", NAN},
                 {"partitions=0 microbatches=0 schedule=gpipe", NAN},
                 {"partitions=nan microbatches=8 schedule=gpipe", NAN},
                 {"xpartitions=4 microbatches=8 schedule=gpipe", NAN},
                 {"partitions=4 schedule=gpipe", NAN},
                 {"", NAN}};
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++) {
        const double bubble = nvt_pipeline_bubble(known[i].configuration);
        if (isnan(known[i].bubble) ? !isnan(bubble) : !(fabs(bubble - known[i].bubble) < 1e-12))
            fail_msg("%s: %g", known[i].configuration, bubble);
    }
}

static int count(const char *text, const char *part)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static void a_run_has_report_and_charts(void **state)
{
    char *directory = cli_tempdir();
    (void)state;
    struct cli_result result = cli_run((const char *const[]){"nvtally", "run",
                                                             "gpipe",   "--partitions",
                                                             "2",       "--microbatches",
                                                             "2,4",     "--d-model",
                                                             "16",      "--layers",
                                                             "2",       "--heads",
                                                             "2",       "--d-ff",
                                                             "32",      "--batch",
                                                             "4",       "--sequence",
                                                             "8",       "--vocabulary",
                                                             "20",      "--warmup",
                                                             "1",       "--iterations",
                                                             "2",       "-o",
                                                             directory, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", directory, "-r", "pipeline", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    /* Eight configurations; a forward of two partitions for each of their 2 or 4 micro-batches. */
    assert_int_equal(count(result.out, ",all,"), 8);
    assert_int_equal(count(result.out, ",forward,"), 4 * 2 * 2 + 4 * 2 * 4);
    assert_int_equal(count(result.out, ",backward,"), 4 * 2 * 2 + 4 * 2 * 4);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "plot", directory, NULL});
    if (result.status == 2 && strstr(result.err, "gnuplot")) {
        cli_result_free(&result);
        cli_tempdir_remove(directory);
        skip();
    }
    cli_expect_status(&result, 0);
    for (const char *const *name =
             (const char *const[]){"gpipe-memory.svg", "gpipe-throughput.svg", "gpipe-schedule.svg",
                                   "gpipe-memory-time.svg", NULL};
         *name; name++)
        assert_non_null(strstr(result.out, *name));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_predict_their_bubble),
        cmocka_unit_test(a_run_has_report_and_charts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
