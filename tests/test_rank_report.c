/*
 * The report `ranks`: of simulated jobs (made_job.h) what each rank computed, where it stands in its groups, and which differs;
 * places by what frameworks call groups.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/model/named_iterations.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/rank_places.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"
#include "small_trace.h"

/* --- places --- */

static void places_are_those_among_members(void **state)
{
    (void)state;
    static const struct {
        const char *group, *purpose, *members;
        int64_t number;
        uint32_t axis, place; /* NVT_RANK_AXES: none is known */
    } cases[] = {{"tp0", "", "0,1,2", 1, NVT_AXIS_TENSOR, 1},
                 {"7", "TENSOR_MODEL_PARALLEL_GROUP", "8,9,10", 10, NVT_AXIS_TENSOR, 2},
                 {"7", "PIPELINE_MODEL_PARALLEL_GROUP", "0,8,16", 8, NVT_AXIS_PIPELINE, 1},
                 {"7", "DATA_PARALLEL_GROUP", "0,2", 0, NVT_AXIS_DATA, 0},
                 {"7", "mesh_dp", "0,2", 2, NVT_AXIS_DATA, 1},
                 {"ep_1", "undefined", "5,6", 6, NVT_AXIS_EXPERT, 1},
                 {"7", "CONTEXT_PARALLEL_GROUP", "5,6", 6, NVT_AXIS_CONTEXT, 1},
                 /* Of two axes, of none, not its own, cut, of one rank, no list. */
                 {"7", "DATA_PARALLEL_GROUP_WITH_CP", "0,2", 2, NVT_RANK_AXES, 0},
                 {"default_pg", "default_pg", "0,1", 1, NVT_RANK_AXES, 0},
                 {"update", "adapt", "0,1", 1, NVT_RANK_AXES, 0},
                 {"tp", "", "0,1", 2, NVT_RANK_AXES, 0},
                 {"tp", "", "0,1,...,7", 1, NVT_RANK_AXES, 0},
                 {"tp", "", "1", 1, NVT_RANK_AXES, 0},
                 {"tp", "", "x", 1, NVT_RANK_AXES, 0},
                 {"tp", "", "", 1, NVT_RANK_AXES, 0},
                 {"tp", "", "0,1", -1, NVT_RANK_AXES, 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = small_trace();
        const struct nvt_collective row = {
            .group = nvt_strings_add_text(trace->strings, cases[i].group),
            .purpose = nvt_strings_add_text(trace->strings, cases[i].purpose),
            .members = nvt_strings_add_text(trace->strings, cases[i].members)};
        uint32_t places[NVT_RANK_AXES];
        assert_int_not_equal(nvt_collective_add(trace, &row), NVT_NONE);
        nvt_rank_places(trace, cases[i].number, places);
        for (uint32_t axis = 0; axis < NVT_RANK_AXES; axis++)
            assert_int_equal(places[axis], axis == cases[i].axis ? cases[i].place : NVT_NONE);
        nvt_trace_free(trace);
    }
}

static void groups_that_disagree_tell_no_place(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t places[NVT_RANK_AXES];
    for (int i = 0; i < 3; i++) {
        const struct nvt_collective row = {
            .group = nvt_strings_add_text(trace->strings, "dp"),
            .members = nvt_strings_add_text(trace->strings, i ? "0,1,4" : "0,4")};
        assert_int_not_equal(nvt_collective_add(trace, &row), NVT_NONE);
        nvt_rank_places(trace, 4, places);
        assert_int_equal(places[NVT_AXIS_DATA], i ? NVT_NONE : 1);
        nvt_rank_places(trace, 0, places);
        assert_int_equal(places[NVT_AXIS_DATA], 0);
    }
    nvt_trace_free(trace);
}

/* --- the report --- */

/* Its tables: ranks, and places where there are any. */
static struct nvt_tables report_of(struct made_job *job)
{
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_report_make(nvt_report_find("ranks"), &job->input, &tables, &err), 0);
    assert_in_range(tables.count, 1, 2);
    assert_int_equal(nvt_table_rows(tables.items[0]), job->ranks);
    return tables;
}

static double number_at(const struct nvt_table *table, size_t row, const char *column)
{
    return nvt_table_real(table, row, nvt_table_find(table, column));
}

static const char *text_at(const struct nvt_table *table, size_t row, const char *column)
{
    const char *text = nvt_table_text(table, row, nvt_table_find(table, column));
    return text ? text : "";
}

/* Kernels of made_job that compute run one after the other. */
static int64_t computed(const struct nvt_trace *trace)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (!strstr(nvt_name(trace, trace->ops.name[i]), "nccl"))
            ns += trace->ops.end[i] - trace->ops.start[i];
    return ns;
}

static void expect_place(const struct nvt_table *table, size_t row, const char *axis, uint32_t size,
                         uint32_t place)
{
    if (size > 1)
        assert_int_equal((int64_t)number_at(table, row, axis), place);
    else
        assert_true(nvt_table_is_null(table, row, nvt_table_find(table, axis)));
}

static void each_rank_has_its_work_and_place(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(71);
    for (int i = 0; i < 20; i++) {
        struct made_job job =
            made_job(seed * 100 + (uint64_t)i, (enum made_cause)(i % MADE_CAUSES), 32, 0);
        struct nvt_tables tables = report_of(&job);
        const struct nvt_table *table = tables.items[0];
        for (uint32_t rank = 0; rank < job.ranks; rank++) {
            assert_int_equal((int64_t)number_at(table, rank, "Rank"), rank);
            assert_int_equal((int64_t)number_at(table, rank, "Compute (ns)"),
                             computed(job.traces[rank].trace));
            expect_place(table, rank, "TP", job.tp, rank % job.tp);
            expect_place(table, rank, "DP", job.dp, rank / job.tp % job.dp);
        }
        assert_int_equal(tables.count, job.tp > 1 || job.dp > 1 ? 2 : 1);
        nvt_tables_free(&tables);
        made_job_free(&job);
    }
}

/* Of stragglers by their own work, in jobs in which four and more ranks are there to compare with; and nobody of healthy ones. */
static void outliers_are_marked(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(72);
    const int count = cli_is_long() ? 200 : 60;
    int late = 0, marked = 0, named = 0, others = 0, healthy = 0;
    for (int i = 0; i < 2 * count; i++) {
        struct made_job job =
            made_job(seed * 1000 + (uint64_t)i, i % 2 ? MADE_KERNELS : MADE_HEALTHY, 64, 0);
        struct nvt_tables tables = report_of(&job);
        for (uint32_t rank = 0; rank < job.ranks; rank++) {
            const char *text = text_at(tables.items[0], rank, "Outlier");
            const int is_late = job.cause && rank == job.straggler;
            if (is_late && job.ranks >= 8) {
                late++;
                marked += strstr(text, "computes longer") != NULL;
                named += strstr(text, "straggler (its kernels take longer)") != NULL;
            } else if (!is_late) {
                others += job.cause && (strstr(text, "computes") || strstr(text, "straggler"));
                healthy += !job.cause && *text;
            }
        }
        nvt_tables_free(&tables);
        made_job_free(&job);
    }
    print_message("%d of %d stragglers are marked, %d named, %d others; %d ranks of healthy jobs\n",
                  marked, late, named, others, healthy);
    assert_true(late > 10);
    assert_true(marked >= 0.95 * late);
    assert_true(named >= 0.9 * late);
    assert_int_equal(others, 0);
    assert_int_equal(healthy, 0);
}

/* --- the chart --- */

/* The path of the only picture of the ranks that plot prints; owned. */
static char *plot_ranks(const char *folder)
{
    const struct cli_options options = {.timeout_s = 120};
    struct cli_result result =
        cli_run_with(&options, (const char *const[]){"nvtally", "plot", folder, NULL});
    char *path = NULL, *rest = result.out;
    cli_expect_status(&result, 0);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strstr(line, "-ranks.svg")) {
            assert_null(path);
            path = strdup(line);
        }
    cli_result_free(&result);
    assert_non_null(path);
    return path;
}

/* The mean of what the data has of each rank. */
static void read_squares(const char *path, double *means, uint32_t ranks, uint32_t *iterations)
{
    char *data = cli_read_file(path, NULL), *line = data;
    assert_non_null(data);
    *iterations = 0;
    while ((line = strchr(line, '\n')) && line[1]) {
        unsigned iteration, rank;
        double value;
        line++;
        assert_int_equal(sscanf(line, "%u\t%u\t%lf", &iteration, &rank, &value), 3);
        assert_true(rank < ranks);
        means[rank] += value;
        *iterations = iteration > *iterations ? iteration : *iterations;
    }
    for (uint32_t i = 0; i < ranks; i++)
        means[i] /= *iterations;
    free(data);
}

/* By kernels, by work or by their hosts: late ranks stand out, and not those that wait for them. */
static void the_chart_shows_late_ranks(void **state)
{
    (void)state;
    static const enum made_cause causes[] = {MADE_KERNELS, MADE_WORK, MADE_HOST};
    uint64_t seed = kit_seed(73) * 100;
    if (!cli_has_gnuplot()) {
        print_message("not run: there is no gnuplot\n");
        skip();
    }
    for (size_t i = 0; i < NVT_COUNT_OF(causes); i++) {
        struct made_job job = made_job(++seed, causes[i], 16, 0);
        for (; job.ranks < 4; job = made_job(++seed, causes[i], 16, 0))
            made_job_free(&job);
        char *folder = cli_tempdir(), name[32];
        for (uint32_t rank = 0; rank < job.ranks; rank++) {
            struct nvt_error err = NVT_ERROR_INIT;
            snprintf(name, sizeof(name), "rank%02" PRIu32 ".nvt", rank);
            assert_int_equal(
                nvt_exporter_nvt.write_file(job.traces[rank].trace, cli_in(folder, name), &err), 0);
        }
        char *path = plot_ranks(folder), *svg = cli_read_file(path, NULL);
        double means[64] = {0};
        uint32_t iterations, count;
        assert_non_null(strstr(svg, ">iteration<"));
        assert_non_null(strstr(svg, ">rank<"));
        assert_non_null(strstr(svg, "Ranks by iterations"));
        memcpy(strstr(path, ".svg"), ".dat", 4);
        read_squares(path, means, job.ranks, &iterations);
        free(nvt_iterations(job.traces[0].trace, &count));
        assert_int_equal(iterations, count);
        for (uint32_t rank = 0; rank < job.ranks; rank++)
            if (rank != job.straggler)
                assert_true(means[rank] < 0.5 * means[job.straggler]);
        free(svg);
        free(path);
        cli_tempdir_remove(folder);
        made_job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_among_members),
        cmocka_unit_test(groups_that_disagree_tell_no_place),
        cmocka_unit_test(each_rank_has_its_work_and_place),
        cmocka_unit_test(outliers_are_marked),
        cmocka_unit_test(the_chart_shows_late_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
