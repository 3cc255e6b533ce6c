/*
 * record --budget: simulated programs whose cost of recording is known stay within their budget, as far as the 95 % interval says; what
 * recording suddenly costs is noticed; and programs that are really recorded have in their trace what was and was not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/budget.h"
#include "../lib/count_of.h"
#include "random_kit.h"
#include "record_kit.h"

/* --- simulated ------------------------------------------------------------------------------------ */

#define ITERATION 1e7 /* ticks */

/* A program: iterations of that length with noise, of which a recorded one costs `cost` more, and the one behind it a tenth of that. */
struct program {
    double noise, cost; /* shares of an iteration */
    double now, spent;  /* ticks; truly */
    int was_recorded;
};

static int iterate(struct program *program, struct nvt_budget *budget)
{
    const int is_recorded = nvt_budget_next(budget, (uint64_t)program->now, 0);
    double cost = is_recorded ? program->cost * ITERATION : 0;
    if (program->was_recorded)
        cost += program->cost * ITERATION / 10;
    program->was_recorded = is_recorded;
    program->spent += cost;
    program->now += ITERATION * (1 + fabs(program->noise * kit_normal())) + cost;
    return is_recorded;
}

static double slow_down(const struct program *program)
{
    return program->spent / (program->now - 1e9 - program->spent);
}

static void stays_within(void **state)
{
    (void)state;
    static const double shares[] = {0.005, 0.01, 0.05}, noises[] = {0, 0.01, 0.05},
                        costs[] = {0.0005, 0.01, 0.1, 0.4};
    enum { RUNS = 60, ITERATIONS = 3000 };
    unsigned over = 0, outside = 0, all = 0;
    kit_srand(51);
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++)
        for (size_t n = 0; n < NVT_COUNT_OF(noises); n++)
            for (size_t c = 0; c < NVT_COUNT_OF(costs); c++) {
                uint64_t recorded = 0;
                for (int run = 0; run < RUNS; run++, all++) {
                    struct nvt_budget budget = {.share = shares[s]};
                    struct program program = {.noise = noises[n], .cost = costs[c], .now = 1e9};
                    for (int i = 0; i < ITERATIONS; i++)
                        iterate(&program, &budget);
                    recorded += budget.recorded;
                    over += slow_down(&program) > shares[s];
                    /* What has ended is judged; the last block may go on. */
                    outside += fabs(nvt_budget_spent(&budget) - program.spent) >
                               nvt_budget_error(&budget) + 1.2 * costs[c] * ITERATION;
                    assert_true(budget.recorded > 0);
                }
                /* And what may be recorded is: most of it where it costs less than the budget. */
                if (!noises[n] && costs[c] * 1.1 < shares[s])
                    assert_true(recorded > RUNS * ITERATIONS / 2);
            }
    print_message("over the budget: %u of %u programs; truth outside of the interval: %u\n", over,
                  all, outside);
    if (over > all / 40 || outside > all / 20)
        fail();
}

/* From a thousandth to half of an iteration, at once: within ten iterations no more of them are recorded than that leaves room for. */
static void notices_what_is_planted(void **state)
{
    (void)state;
    static const double shares[] = {0.005, 0.01, 0.05};
    kit_srand(52);
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++)
        for (int run = 0; run < 50; run++) {
            struct nvt_budget budget = {.share = shares[s]};
            struct program program = {.noise = 0.01, .cost = 0.001, .now = 1e9};
            for (int i = 0; i < 3000 + run; i++)
                iterate(&program, &budget);
            program.cost = 0.5;
            int first = 0, early = 0, later = 0;
            for (int i = 1; i <= 410 || !first; i++)
                if (iterate(&program, &budget)) {
                    first = first ? first : i;
                    early += i < first + 10;
                    later += i >= first + 10 && i < first + 210;
                }
            if (early > 8 || later > 1 + 1.2 * 200 * shares[s] / program.cost)
                fail_msg("recorded %d of the first 10 that cost more, %d of the next 200", early,
                         later);
            for (int i = 0; i < 20000; i++)
                iterate(&program, &budget);
            assert_true(slow_down(&program) <= shares[s]);
        }
}

/* What only watching costs is part of it: where that is more than the budget, nothing is recorded. */
static void counts_what_watching_costs(void **state)
{
    (void)state;
    struct nvt_budget budget = {.share = 0.01, .watch = ITERATION / 1000};
    double now = 1;
    for (int i = 0; i < 1000; i++, now += ITERATION)
        assert_int_equal(nvt_budget_next(&budget, (uint64_t)now, 20), 0);
    assert_true(nvt_budget_spent(&budget) > 0.019 * now);
}

/* A million iterations, and blocks of a bounded number. */
static void parts_are_few(void **state)
{
    (void)state;
    struct nvt_budget budget = {.share = 0.5, .least_cycle = 20 * ITERATION};
    struct program program = {.noise = 0.01, .cost = 0.001, .now = 1e9};
    kit_srand(53);
    for (int i = 0; i < 1000000; i++)
        iterate(&program, &budget);
    assert_in_range(budget.blocks, 1000, 15000);
}

/* --- recorded ------------------------------------------------------------------------------------- */

static struct cli_result record(const char *budget, const char *client, const char *argument)
{
    const char *argv[] = {
        "nvtally", "record", "-f",          "-o",   recorded_path(),    "--budget", budget,
        "--trace", "nvtx",   "--iteration", "step", cli_client(client), argument,   NULL};
    return cli_run(argv);
}

/* What was and was not recorded is in the trace, what is said holds for it, and reports say so. */
static void is_in_the_trace(void **state)
{
    (void)state;
    unsigned long recorded = 0, iterations = 0;
    double cost = 0, least = 0, most = 0;
    struct cli_result result = record("5%", "flight", "3000");
    cli_expect_status(&result, 0);
    const char *said = strstr(result.err, "--budget: recorded ");
    if (!said ||
        sscanf(said,
               "--budget: recorded %lu of %lu iterations; recording cost %lf %% (%lf %% to %lf %%)",
               &recorded, &iterations, &cost, &least, &most) != 5)
        fail_msg("%s", result.err);
    cli_result_free(&result);
    assert_true(recorded > 0 && iterations > recorded && least <= cost && cost <= most);
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_ranges *ranges = &trace->ranges;
    /* The last may have been under way. */
    assert_in_range(recorded_count(trace, "step"), recorded, recorded + 1);
    assert_string_equal(nvt_trace_meta(trace, "budget"), "5 %");
    assert_non_null(strstr(trace->notes, "record --budget 5 %: recorded "));
    const unsigned long parts = strtoul(nvt_trace_meta(trace, "recorded"), NULL, 10);
    assert_in_range(parts, 1, recorded);
    /* Iterations of a part follow one another, and nothing of a part outlasts it. */
    unsigned gaps = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (strcmp(nvt_name(trace, ranges->name[i]), "step") != 0)
            continue;
        const uint64_t number = strtoull(nvt_name(trace, ranges->payload[i]), NULL, 10);
        gaps += last && number != last + 1;
        last = number;
    }
    assert_int_equal(gaps + 1, parts);
    nvt_trace_free(trace);
}

/* A process that has no iterations, or that dies within a part, is in nobody's way. */
static void others_decide(void **state)
{
    (void)state;
    struct cli_result result = record("5%", "flight", "0");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *script =
        "\"$1\" 60000 & first=$!; sleep 0.5; \"$1\" 3000 & sleep 0.3; kill -9 $first; wait $!";
    const char *argv[] = {"nvtally",
                          "record",
                          "-f",
                          "-o",
                          recorded_path(),
                          "--budget",
                          "20%",
                          "--trace",
                          "nvtx",
                          "--iteration",
                          "step",
                          "sh",
                          "-c",
                          script,
                          cli_built("nvtally"),
                          cli_client("flight"),
                          NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "--budget: recorded "));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->processes.count, 2);
    nvt_trace_free(trace);
}

static void expect_refused(const char *needle, const char *const words[])
{
    const char *argv[12] = {"nvtally", "record", "-o", recorded_path()};
    size_t count = 4;
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    argv[count] = "true";
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}
#define EXPECT_REFUSED(needle, ...) expect_refused(needle, (const char *const[]){__VA_ARGS__, NULL})

static void wrong_options(void **state)
{
    (void)state;
    EXPECT_REFUSED("--budget x: must be a share", "--budget", "x");
    EXPECT_REFUSED("--budget 0: must be a share", "--budget", "0");
    EXPECT_REFUSED("--budget 51%: must be a share", "--budget", "51%");
    EXPECT_REFUSED("--budget 1p: must be a share", "--budget", "1p");
    EXPECT_REFUSED("--budget nan: must be a share", "--budget", "nan");
    EXPECT_REFUSED("--budget needs iterations: --iteration RANGE, or --pytorch", "--budget", "1%");
    EXPECT_REFUSED("--budget and --dormant exclude each other", "--budget", "1", "--dormant",
                   "--iteration", "x");
    EXPECT_REFUSED("--budget and --delay exclude each other", "--budget", "1", "--delay", "1",
                   "--iteration", "x");
    EXPECT_REFUSED("--iteration needs --dormant or --budget", "--iteration", "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_within),
        cmocka_unit_test(notices_what_is_planted),
        cmocka_unit_test(counts_what_watching_costs),
        cmocka_unit_test(parts_are_few),
        cmocka_unit_test(is_in_the_trace),
        cmocka_unit_test(others_decide),
        cmocka_unit_test(wrong_options),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
