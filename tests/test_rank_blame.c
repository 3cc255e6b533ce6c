/*
 * Stragglers of simulated jobs with tensor, pipeline and data parallelism (made_job.h): the right rank and why it is late, and nobody
 * in healthy jobs.
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

#include "../analyze/diagnosis/diagnose.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stragglers_are_named_with_their_cause),
        cmocka_unit_test(nobody_is_blamed_in_healthy_jobs),
        cmocka_unit_test(nobody_is_blamed_by_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
