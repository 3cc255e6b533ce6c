/*
 * The files of a job's ranks: read several at a time, with a digest of each kept and no events, they say the same as whole traces
 * do; a file that cannot be read is named, and the others count.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"

static struct made_job job_of_many(uint64_t seed)
{
    for (;; seed++) {
        struct made_job job = made_job(seed, MADE_KERNELS, 32, 0);
        if (job.ranks >= 8)
            return job;
        made_job_free(&job);
    }
}

/* A file for each rank in a folder, by names that sort as the ranks do. */
static void write_traces(const struct made_job *job, const struct nvt_exporter *exporter,
                         const char *folder)
{
    for (uint32_t i = 0; i < job->ranks; i++) {
        char name[32];
        struct nvt_error err = NVT_ERROR_INIT;
        snprintf(name, sizeof(name), "rank%02" PRIu32 ".nvt", i);
        assert_int_equal(exporter->write_file(job->traces[i].trace, cli_in(folder, name), &err), 0);
    }
}

/* A job of 8 ranks and more, in the fixture's folder. */
static uint32_t write_job(uint64_t seed)
{
    struct made_job job = job_of_many(seed);
    write_traces(&job, &nvt_exporter_nvt, cli_folder);
    const uint32_t ranks = job.ranks;
    made_job_free(&job);
    return ranks;
}

/* The report of whole traces. */
static char *report_of_traces(void)
{
    struct nvt_input input = {0};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char *text = NULL;
    size_t size;
    assert_int_equal(nvt_input_add(&input, cli_folder, &err), 0);
    assert_true(input.trace_count >= 8);
    assert_true(input.traces[0].trace->ops.count > 0);
    assert_int_equal(nvt_report_make(nvt_report_find("stragglers"), &input, &tables, &err), 0);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(nvt_format_find("csv")->render(&tables, out), 0);
    fclose(out);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
    return text;
}

static struct cli_result run_stragglers(const char *threads, const char *const files[])
{
    const char *argv[9] = {"nvtally", "stats", "-r", "stragglers", "-f", "csv", cli_folder};
    const char *const environment[] = {threads, NULL};
    const struct cli_options options = {.environment = environment};
    for (size_t i = 0; files && i < 2 && files[i]; i++)
        argv[6 + i] = files[i];
    return cli_run_with(&options, argv);
}

static void digests_say_what_traces_say(void **state)
{
    (void)state;
    static const char *const threads[] = {"NVTALLY_THREADS=1", "NVTALLY_THREADS=2",
                                          "NVTALLY_THREADS=7"};
    (void)write_job(kit_seed(61));
    char *whole = report_of_traces();
    assert_non_null(strstr(whole, "its kernels take longer"));
    for (size_t i = 0; i < NVT_COUNT_OF(threads); i++) {
        struct cli_result result = run_stragglers(threads[i], NULL);
        cli_expect_status(&result, 0);
        assert_string_equal(result.out, whole);
        cli_result_free(&result);
    }
    free(whole);
}

static void files_that_cannot_be_read_are_left_out(void **state)
{
    (void)state;
    const uint32_t ranks = write_job(kit_seed(62));
    struct cli_result good = run_stragglers("NVTALLY_THREADS=2", NULL);
    /* In a directory, and by name. */
    cli_write_file(cli_in(cli_folder, "rank99.nvt"), "no trace", 8);
    struct cli_result result = run_stragglers("NVTALLY_THREADS=2", NULL);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, good.out);
    const char *line = strstr(result.err, "nvtally: warning: ");
    assert_non_null(line);
    assert_non_null(strstr(line, "rank99.nvt"));
    assert_non_null(strstr(line, ": left out\n"));
    cli_result_free(&result);
    assert_int_equal(unlink(cli_in(cli_folder, "rank99.nvt")), 0);
    result = run_stragglers("NVTALLY_THREADS=2",
                            (const char *const[]){"/nowhere/rank98.nvt", cli_folder});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, good.out);
    assert_non_null(strstr(result.err, "nvtally: warning: /nowhere/rank98.nvt: "));
    cli_result_free(&result);
    /* All of them being so is an error, as one by itself is. */
    result = run_stragglers("NVTALLY_THREADS=2",
                            (const char *const[]){"/nowhere/rank98.nvt", "/nowhere/rank97.nvt"});
    cli_expect_failure(&result, "/nowhere/rank97.nvt");
    cli_result_free(&result);
    result =
        run_stragglers("NVTALLY_THREADS=2", (const char *const[]){"/nowhere/rank98.nvt", NULL});
    cli_expect_failure(&result, "/nowhere/rank98.nvt");
    cli_result_free(&result);
    /* Findings are of the others, too. */
    result = cli_run(
        (const char *const[]){"nvtally", "diagnose", "/nowhere/rank98.nvt", cli_folder, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: warning: /nowhere/rank98.nvt: "));
    assert_non_null(strstr(result.out, "straggler"));
    cli_result_free(&result);
    cli_result_free(&good);
    assert_true(ranks >= 8);
}

/* Files of a job of another size, and a second one of a rank, are left out and named. */
static void other_jobs_are_left_out(void **state)
{
    (void)state;
    static const char *const warnings[] = {
        "/s-rank00.nvt: is of a job of 4 ranks, the others of one of 8: left out\n",
        "/t-rank03.nvt: is of rank 3, as "};
    struct made_job job = job_of_many(kit_seed(64));
    for (uint32_t i = 0; i < job.ranks; i++)
        assert_int_equal(nvt_trace_set_meta(job.traces[i].trace, "world_size", "8"), 0);
    write_traces(&job, &nvt_exporter_nvt, cli_folder);
    struct cli_result good = run_stragglers("NVTALLY_THREADS=2", NULL);
    assert_null(strstr(good.err, "left out"));
    struct nvt_error err = NVT_ERROR_INIT;
    const char *twice = cli_in(cli_folder, "t-rank03.nvt");
    assert_int_equal(nvt_exporter_nvt.write_file(job.traces[3].trace, twice, &err), 0);
    assert_int_equal(nvt_trace_set_meta(job.traces[0].trace, "world_size", "4"), 0);
    assert_int_equal(
        nvt_exporter_nvt.write_file(job.traces[0].trace, cli_in(cli_folder, "s-rank00.nvt"), &err),
        0);
    struct cli_result result = run_stragglers("NVTALLY_THREADS=2", NULL);
    cli_expect_status(&result, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(warnings); i++)
        if (!strstr(result.err, warnings[i]))
            fail_msg("%s", result.err);
    assert_string_equal(result.out, good.out);
    cli_result_free(&result);
    cli_result_free(&good);
    made_job_free(&job);
}

#ifdef HAVE_SQLITE
/* Groups, members, peers and sizes of collectives are in exports as nsys writes them, so that nobody else is blamed for a wait. */
static void exports_keep_collectives(void **state)
{
    (void)state;
    static const char *const reports[] = {"stragglers", "ranks", "collectives"};
    struct made_job job = job_of_many(kit_seed(63));
    char *folders[] = {strdup(cli_in(cli_folder, "nvt")), strdup(cli_in(cli_folder, "sqlite"))};
    const struct nvt_exporter *const exporters[] = {&nvt_exporter_nvt, &nvt_exporter_sqlite};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(mkdir(folders[i], 0777), 0);
        write_traces(&job, exporters[i], folders[i]);
    }
    for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
        struct cli_result results[2];
        for (size_t k = 0; k < 2; k++) {
            results[k] = cli_run((const char *const[]){"nvtally", "stats", "-r", reports[i], "-f",
                                                       "csv", folders[k], NULL});
            cli_expect_status(&results[k], 0);
        }
        assert_string_equal(results[0].out, results[1].out);
        assert_non_null(strchr(results[0].out, '\n'));
        cli_result_free(&results[0]);
        cli_result_free(&results[1]);
    }
    free(folders[0]);
    free(folders[1]);
    made_job_free(&job);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(digests_say_what_traces_say, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_read_are_left_out, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(other_jobs_are_left_out, cli_folder_set_up,
                                        cli_folder_tear_down),
#ifdef HAVE_SQLITE
        cmocka_unit_test_setup_teardown(exports_keep_collectives, cli_folder_set_up,
                                        cli_folder_tear_down),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
