/*
 * Stragglers of simulated jobs with tensor, pipeline and data parallelism (made_job.h): the right rank and why it is late, and nobody
 * in healthy jobs.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/rank_clocks.h"
#include "../lib/render.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"

/* Jobs of each sort. */
static int job_count(void)
{
    return cli_is_long() ? 200 : 60;
}

static void find(struct made_job *job, struct nvt_findings *findings)
{
    struct nvt_case facts = {&job->input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_ranks, &facts, findings, NULL), 0);
}

static void show(const char *what, uint64_t seed, const struct made_job *job,
                 const struct nvt_findings *findings)
{
    print_message("%s: seed %" PRIu64 ", tp %u pp %u dp %u, rank %u, cause %d, %.0f %%\n", what,
                  seed, job->tp, job->pp, job->dp, job->straggler, job->cause, 100 * job->lateness);
    for (size_t i = 0; i < findings->count; i++)
        print_message("  %s: %s\n", findings->items[i].what, findings->items[i].evidence);
}

/* Whether the first finding names the straggler and its cause, and no other rank is named. */
static int is_right(const struct made_job *job, const struct nvt_findings *findings)
{
    static const char *const says[MADE_CAUSES] = {
        [MADE_KERNELS] = "rank %u is slower than",
        [MADE_WORK] = "rank %u is slower than",
        [MADE_HOST] = "the host of rank %u launches late",
        [MADE_LOADING] = "rank %u waits for its batches",
        [MADE_GARBAGE] = "rank %u collects garbage",
        [MADE_CLOCK] = "the clock of rank %u is lower",
    };
    char text[64];
    if (findings->count != 1)
        return 0;
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table above */
    snprintf(text, sizeof(text), says[job->cause], job->straggler);
    const int runs_more = strstr(findings->items[0].evidence, "as it runs more kernels") != NULL;
    return strstr(findings->items[0].what, text) != NULL && runs_more == (job->cause == MADE_WORK);
}

static void stragglers_are_named_with_their_cause(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(47);
    int right = 0, count = job_count();
    for (int i = 0; i < count; i++) {
        const enum made_cause cause = MADE_KERNELS + (enum made_cause)(i % (MADE_CAUSES - 1));
        struct made_job job = made_job(seed * 1000 + (uint64_t)i, cause, 32, 0);
        struct nvt_findings findings = {0};
        find(&job, &findings);
        right += is_right(&job, &findings);
        if (!is_right(&job, &findings))
            show("missed", seed * 1000 + (uint64_t)i, &job, &findings);
        free(findings.items);
        made_job_free(&job);
    }
    print_message("%d of %d jobs: the right rank and cause\n", right, count);
    assert_true(100 * right >= 95 * count);
}

static void nobody_is_blamed_in_healthy_jobs(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(47);
    size_t blamed = 0;
    for (int i = 0; i < job_count(); i++) {
        struct made_job job = made_job(seed * 2000 + (uint64_t)i, MADE_HEALTHY, 32, 0);
        struct nvt_findings findings = {0};
        find(&job, &findings);
        blamed += findings.count;
        if (findings.count)
            show("blamed", seed * 2000 + (uint64_t)i, &job, &findings);
        free(findings.items);
        made_job_free(&job);
    }
    assert_int_equal(blamed, 0);
}

/* Where no groups are recorded, ranks of several that meet each other are not taken for one: nobody is named who is not late. */
static void nobody_is_blamed_by_guess(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(47);
    int wrong = 0;
    for (int i = 0; i < job_count(); i++) {
        const enum made_cause cause = (enum made_cause)(i % MADE_CAUSES);
        struct made_job job = made_job(seed * 3000 + (uint64_t)i, cause, 32, 1);
        struct nvt_findings findings = {0};
        find(&job, &findings);
        const int is_wrong = findings.count && (!cause || !is_right(&job, &findings));
        wrong += is_wrong;
        if (is_wrong)
            show("guessed", seed * 3000 + (uint64_t)i, &job, &findings);
        free(findings.items);
        made_job_free(&job);
    }
    assert_int_equal(wrong, 0);
}

/* Clocks of hosts that are seconds apart and drift are put on that of the first, in healthy jobs and others. */
static void clocks_are_found(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(47);
    for (int i = 0; i < job_count() / 4; i++) {
        struct made_job job =
            made_job(seed * 4000 + (uint64_t)i, (enum made_cause)(i % MADE_CAUSES), 64, 0);
        struct nvt_ranks ranks = {0};
        struct nvt_rank_pairs pairs = {0};
        assert_int_equal(nvt_ranks_find(&ranks, &job.input, NULL, 0, NULL), 0);
        assert_int_equal(nvt_rank_pairs_make(&pairs, &ranks, NULL), 0);
        struct nvt_rank_clock_fit *clocks = nvt_rank_clocks(&pairs);
        assert_non_null(clocks);
        for (uint32_t rank = 0; rank < job.ranks; rank++) {
            assert_int_not_equal(clocks[rank].through, NVT_NONE);
            assert_true(clocks[rank].residual_ns < 20000);
            assert_in_range(
                llabs(nvt_rank_clock_time(clocks, rank, job.starts[rank]) - job.starts[0]), 0,
                40000);
            assert_in_range(llabs(nvt_rank_clock_time(clocks, rank, job.ends[rank]) - job.ends[0]),
                            0, 40000);
        }
        free(clocks);
        nvt_rank_pairs_free(&pairs);
        nvt_ranks_free(&ranks);
        made_job_free(&job);
    }
}

/* The report has them: how far each is ahead of the first, and how much faster it runs. */
static void clocks_are_reported(void **state)
{
    (void)state;
    struct made_job job = made_job(kit_seed(47) * 5000, MADE_HEALTHY, 64, 0);
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char *text = NULL;
    size_t size;
    uint32_t found = 0;
    for (uint32_t rank = 0; rank < job.ranks; rank++)
        job.traces[rank].trace->origin_ns = 1000000000;
    assert_int_equal(nvt_report_make(nvt_report_find("stragglers"), &job.input, &tables, &err), 0);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(nvt_format_find("csv")->render(&tables, out), 0);
    fclose(out);
    const char *line = strstr(text, "Rank,Compared With,");
    assert_non_null(line);
    while ((line = strchr(line, '\n')) && *++line) {
        unsigned rank, with, steps;
        long long ahead;
        double faster, residual;
        assert_int_equal(
            sscanf(line, "%u,%u,%u,%lld,%lf,%lf", &rank, &with, &steps, &ahead, &faster, &residual),
            6);
        assert_true(rank < job.ranks);
        const int64_t first = job.ends[0] - job.starts[0], own = job.ends[rank] - job.starts[rank];
        assert_in_range(llabs(ahead - (job.starts[rank] - job.starts[0])), 0, 60000);
        /* Ends are apart by up to 4 us: of a short job that is much. */
        assert_true(fabs(faster - 1e6 * (double)(own - first) / (double)first) <
                    10 + 1e6 * 8000 / (double)first);
        found++;
    }
    assert_int_equal(found, job.ranks - 1);
    free(text);
    nvt_tables_free(&tables);
    made_job_free(&job);
}

/* A tensor group whose link is slow: it is named where others wait for it, and no other group or rank. */
static void slow_groups_are_named(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(47);
    int named = 0, wrong = 0, count = job_count() / 2;
    for (int i = 0; i < count; i++) {
        struct made_job job = made_job(seed * 6000 + (uint64_t)i, MADE_LINK, 32, 0);
        struct nvt_findings findings = {0};
        char text[64];
        snprintf(text, sizeof(text), "collectives of group tp%u (", job.straggler / job.tp);
        find(&job, &findings);
        const int is_wrong =
            findings.count > 1 || (findings.count && !strstr(findings.items[0].what, text));
        named += findings.count && !is_wrong;
        wrong += is_wrong;
        if (is_wrong)
            show("wrong", seed * 6000 + (uint64_t)i, &job, &findings);
        free(findings.items);
        made_job_free(&job);
    }
    print_message("%d of %d jobs: a slow group is named\n", named, count);
    assert_int_equal(wrong, 0);
    assert_true(named > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stragglers_are_named_with_their_cause),
        cmocka_unit_test(nobody_is_blamed_in_healthy_jobs),
        cmocka_unit_test(nobody_is_blamed_by_guess),
        cmocka_unit_test(clocks_are_found),
        cmocka_unit_test(slow_groups_are_named),
        cmocka_unit_test(clocks_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
