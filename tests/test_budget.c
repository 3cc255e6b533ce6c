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
#include "../collectors/budget_levels.h"
#include "../lib/count_of.h"
#include "random_kit.h"
#include "record_kit.h"

/* --- simulated ------------------------------------------------------------------------------------ */

#define ITERATION 1e7 /* ticks */

/* A program: iterations of that length with noise, of which a recorded one costs `cost` more, and the one behind it a tenth of that. The
 * collector knows of a share of that cost. */
struct program {
    double noise, cost; /* shares of an iteration */
    double delays;      /* so many iterations are delayed, by up to five others */
    double knows;       /* 0: nothing is known */
    double now, spent;  /* ticks; truly */
    int was_recorded;
    struct nvt_budget_known known;
};

static int iterate(struct program *program, struct nvt_budget *budget)
{
    const int is_recorded = nvt_budget_next(budget, (uint64_t)program->now, &program->known);
    double cost = is_recorded ? program->cost * ITERATION : 0;
    if (program->was_recorded)
        cost += program->cost * ITERATION / 10;
    program->was_recorded = is_recorded;
    program->spent += cost;
    program->known.events += program->knows * cost;
    program->known.doubt = program->knows > 0 ? program->known.events : NVT_BUDGET_UNKNOWN;
    program->now += ITERATION * (1 + fabs(program->noise * kit_normal())) + cost;
    if (program->delays > 0 && kit_uniform() < program->delays)
        program->now += 5 * kit_uniform() * ITERATION;
    return is_recorded;
}

static double slow_down(const struct program *program)
{
    return program->spent / (program->now - 1e9 - program->spent);
}

/* What came of programs of a kind. */
struct outcome {
    unsigned all, over, outside;
    uint64_t recorded;
};

enum { ITERATIONS = 3000 };

static void run_program(double share, struct program program, struct outcome *outcome)
{
    struct nvt_budget budget = {.share = share};
    program.now = 1e9;
    for (int i = 0; i < ITERATIONS; i++)
        iterate(&program, &budget);
    const struct nvt_budget_cost cost = nvt_budget_cost(&budget);
    outcome->all++;
    outcome->recorded += budget.recorded;
    outcome->over += slow_down(&program) > share;
    /* What has ended is judged; the last block may go on. */
    outcome->outside +=
        fabs(cost.spent - program.spent) > cost.error + 1.2 * program.cost * ITERATION;
    assert_true(budget.recorded > 0);
}

/* Whatever is known of the cost: nothing, half of it, all, or twice as much as it is. */
static void stays_within(void **state)
{
    (void)state;
    static const double shares[] = {0.005, 0.01, 0.05}, noises[] = {0, 0.01, 0.05},
                        costs[] = {0.0005, 0.01, 0.1, 0.4}, known[] = {0, 0.5, 1, 2};
    enum { RUNS = 20 };
    struct outcome all = {0};
    kit_srand(51);
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++)
        for (size_t n = 0; n < NVT_COUNT_OF(noises); n++)
            for (size_t c = 0; c < NVT_COUNT_OF(costs); c++)
                for (size_t k = 0; k < NVT_COUNT_OF(known); k++) {
                    struct outcome these = {0};
                    for (int run = 0; run < RUNS; run++)
                        run_program(shares[s],
                                    (struct program){
                                        .noise = noises[n], .cost = costs[c], .knows = known[k]},
                                    &these);
                    /* And what may be recorded is: most of it where it costs less than the budget. */
                    if (!noises[n] && costs[c] * 1.1 < shares[s])
                        assert_true(these.recorded > RUNS * ITERATIONS / 2);
                    all.all += these.all;
                    all.over += these.over;
                    all.outside += these.outside;
                }
    print_message("over the budget: %u of %u programs; truth outside of the interval: %u\n",
                  all.over, all.all, all.outside);
    if (all.over > all.all / 40 || all.outside > all.all / 20)
        fail();
}

/* On a busy machine iterations say next to nothing of the cost of recording: what is known of it decides, and much is recorded. */
static void records_where_iterations_differ(void **state)
{
    (void)state;
    static const double shares[] = {0.005, 0.01, 0.05}, known[] = {0.6, 1, 2};
    enum { RUNS = 40 };
    kit_srand(54);
    struct outcome all = {0};
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++)
        for (size_t k = 0; k < NVT_COUNT_OF(known); k++) {
            struct outcome these = {0};
            for (int run = 0; run < RUNS; run++)
                run_program(
                    shares[s],
                    (struct program){
                        .noise = 0.5, .delays = 0.05, .cost = shares[s] / 2, .knows = known[k]},
                    &these);
            print_message("%g %%, %g known: %g %% of the iterations, %u over, %u outside\n",
                          100 * shares[s], known[k],
                          100.0 * (double)these.recorded / RUNS / ITERATIONS, these.over,
                          these.outside);
            assert_true(these.recorded > RUNS * ITERATIONS / 10);
            all.all += these.all;
            all.over += these.over;
        }
    assert_true(all.over <= all.all / 40);
}

/* From a thousandth to half of an iteration, at once, of which nothing is known: within ten iterations no more of them are recorded than that
 * leaves room for. */
static void notices_what_is_planted(void **state)
{
    (void)state;
    static const double shares[] = {0.005, 0.01, 0.05};
    kit_srand(52);
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++)
        for (int run = 0; run < 50; run++) {
            struct nvt_budget budget = {.share = shares[s]};
            struct program program = {.noise = 0.01, .cost = 0.001, .knows = 1, .now = 1e9};
            for (int i = 0; i < 3000 + run; i++)
                iterate(&program, &budget);
            program.cost = 0.5;
            program.knows = 0.001;
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

/* Before iterations that are recorded become rare, less is recorded of each: all that is asked for, two thirds, and a hundredth. */
static void lowers_the_level(void **state)
{
    (void)state;
    static const double shares[] = {0.2, 0.02, 0.005};
    static const double parts[] = {1, 0.6, 0.01};
    static const uint32_t expected[] = {0, 0, 2};
    kit_srand(55);
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++) {
        struct nvt_budget budget = {.share = shares[s], .levels = 3};
        struct program program = {.noise = 0.01, .knows = 1, .now = 1e9};
        uint64_t of_level[3] = {0};
        for (int i = 0; i < 20000; i++) {
            program.cost = 0.3 * parts[budget.level];
            of_level[budget.level] += iterate(&program, &budget) != 0;
        }
        assert_int_equal(budget.level, expected[s]);
        assert_true(slow_down(&program) <= shares[s]);
        /* At the last one nearly all of them. */
        if (expected[s] == 2)
            assert_true(of_level[0] > 0 && of_level[1] > 0 && of_level[2] > 10000);
    }
}

/* What was too dear is recorded again when it is no longer; as long as it is, it is tried less and less often, and within the budget. */
static void raises_the_level_again(void **state)
{
    (void)state;
    static const double shares[] = {0.02, 0.005};
    static const double parts[] = {1, 0.6, 0.01};
    enum { DEAR = 100000, CHEAP = 150000 };
    kit_srand(57);
    for (size_t s = 0; s < NVT_COUNT_OF(shares); s++) {
        struct nvt_budget budget = {.share = shares[s], .levels = 3};
        struct program program = {.noise = 0.01, .knows = 1, .now = 1e9};
        unsigned changes = 0, latest = 0;
        for (int i = 0; i < DEAR + CHEAP; i++) {
            const uint32_t before = budget.level;
            program.cost = (i < DEAR ? 0.5 : 0.001) * parts[before];
            const int is_recorded = iterate(&program, &budget);
            changes += i < DEAR && budget.level != before;
            latest += i >= DEAR + CHEAP - 1000 && is_recorded;
            if (i == DEAR)
                assert_true(slow_down(&program) <= shares[s]);
        }
        print_message("%g %%: %u changes while it was dear; %u of the last 1000\n", 100 * shares[s],
                      changes, latest);
        assert_in_range(changes, 2, 40);
        assert_int_equal(budget.level, 0);
        assert_true(latest > 100); /* blocks are short, and get rarer with time */
        assert_true(slow_down(&program) <= shares[s]);
    }
}

static void levels_are_in_order(void **state)
{
    (void)state;
    uint64_t out[NVT_BUDGET_LEVELS];
    assert_int_equal(nvt_budget_levels(NVT_TRACE_NVTX | NVT_TRACE_MPI, out), 1);
    assert_int_equal(out[0], 0);
    assert_int_equal(nvt_budget_levels(NVT_TRACE_FULL | NVT_TRACE_OSRT, out), 4);
    assert_int_equal(out[1], NVT_TRACE_OSRT);
    assert_int_equal(out[2] & (NVT_TRACE_KERNEL | NVT_TRACE_API), NVT_TRACE_API);
    assert_int_equal(out[3], (NVT_TRACE_FULL | NVT_TRACE_OSRT) & ~(unsigned)NVT_TRACE_NVTX);
    /* The last one is not left without anything. */
    assert_int_equal(nvt_budget_levels(NVT_TRACE_KERNEL | NVT_TRACE_API, out), 2);
    assert_int_equal(out[1], NVT_TRACE_API);
}

/* What only watching costs is part of it: where that is more than the budget, nothing is recorded. */
static void counts_what_watching_costs(void **state)
{
    (void)state;
    struct nvt_budget budget = {.share = 0.01};
    struct nvt_budget_known known = {0};
    double now = 1;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(nvt_budget_next(&budget, (uint64_t)now, &known), 0);
        now += ITERATION;
        known.watched += ITERATION / 50;
    }
    assert_true(nvt_budget_cost(&budget).spent > 0.019 * now);
}

/* What it costs to begin and end a block is spent on many iterations: not on each of a block of one. */
static void blocks_are_worth_their_cost(void **state)
{
    (void)state;
    struct nvt_budget budget = {.share = 0.005, .least_cycle = 5 * ITERATION};
    struct program program = {.noise = 0.01, .cost = 0.001, .knows = 1, .now = 1e9};
    int was_recorded = 0;
    kit_srand(56);
    for (int i = 0; i < 20000; i++) {
        const int is_recorded = iterate(&program, &budget);
        if (is_recorded != was_recorded) {
            program.known.turned += 0.1 * ITERATION;
            program.now += 0.1 * ITERATION;
            program.spent += 0.1 * ITERATION;
        }
        was_recorded = is_recorded;
    }
    assert_true(budget.recorded / budget.blocks >= 10);
    assert_true(budget.recorded > 5000);
    assert_true(slow_down(&program) <= 0.005);
}

/* A million iterations, and blocks of a bounded number. */
static void parts_are_few(void **state)
{
    (void)state;
    struct nvt_budget budget = {.share = 0.5, .least_cycle = 20 * ITERATION};
    struct program program = {.noise = 0.01, .cost = 0.001, .knows = 1, .now = 1e9};
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
    assert_int_equal(recorded_count(trace, "step"), recorded);
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

/* --- loops that run (tests/clients/loop.c) ------------------------------------------------------------- */

/* The loop with the collector's CUPTI, whose device is made up. */
static struct cli_result loop(const char *budget, const char *levels, const char *const words[])
{
    char library[600];
    const char *argv[20] = {
        "nvtally", "record",      "-f",   "-o", recorded_path(),   "--budget", budget, "--trace",
        levels,    "--iteration", "step", "--", cli_client("loop")};
    size_t count = 13;
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    snprintf(library, sizeof(library), "NVTALLY_CUPTI=%s", cli_built("tests/libcupti-stand-in.so"));
    const char *environment[] = {library, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    print_message("%s%s", result.out, result.err);
    return result;
}
#define LOOP(budget, levels, ...) loop(budget, levels, (const char *const[]){__VA_ARGS__, NULL})

/* Iterations that the program saw recorded. */
static unsigned long recorded_of(const struct cli_result *result)
{
    unsigned long recorded = 0;
    if (sscanf(result->out, "recorded %lu of", &recorded) != 1)
        fail_msg("%s", result->out);
    return recorded;
}

/* At small budgets, too, something of it is recorded, and what nvtally says of it is what the program saw. */
static void short_ranges(void **state)
{
    (void)state;
    static const char *const budgets[] = {"0.5%", "1%", "5%"};
    for (size_t i = 0; i < NVT_COUNT_OF(budgets); i++) {
        unsigned long said = 0;
        struct cli_result result = LOOP(budgets[i], "nvtx", "ranges", "3000");
        const unsigned long recorded = recorded_of(&result);
        const char *line = strstr(result.err, "--budget: recorded ");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "--budget: recorded %lu of", &said), 1);
        assert_int_equal(recorded, said);
        assert_true(recorded > 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        assert_int_equal(recorded_count(trace, "layer"), 100 * recorded);
        nvt_trace_free(trace);
    }
}

/* Kernels of the iterations that were recorded, and of no others. */
static void launches(void **state)
{
    (void)state;
#ifdef HAVE_CUPTI
    struct cli_result result = LOOP("5%", "nvtx,kernel", "launches", "200");
    const unsigned long recorded = recorded_of(&result);
    cli_result_free(&result);
    assert_true(recorded > 0 && recorded < 200);
    struct nvt_trace *trace = recorded_trace();
    /* CUPTI comes up while the first ones are recorded. */
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        kernels += trace->ops.kind[i] == NVT_OP_KERNEL;
    assert_true((kernels > 0 || recorded < 5) && kernels <= 1000 * recorded);
    nvt_trace_free(trace);
#else
    skip();
#endif
}

/* Whether a part is the first one of that level. */
static int has_level(const struct nvt_trace *trace, const char *value)
{
    int found = 0;
    for (uint32_t i = 0; i < trace->meta.count; i++)
        found |= !strncmp(nvt_name(trace, trace->meta.key[i]), "levels from part ", 17) &&
                 !strcmp(nvt_name(trace, trace->meta.value[i]), value);
    return found;
}

/* Where even a rare iteration is too dear, what is dear is left out: CPU counts, which are not what makes it so here. It is as dear as
 * 60 others: where a fifth of the time may be spent, 300 pay for one. */
static void dear_levels_are_left_out(void **state)
{
    (void)state;
    struct cli_result result = LOOP("20%", "nvtx,counters", "ranges", "6000", "50", "60");
    const unsigned long recorded = recorded_of(&result);
    /* At the end they may just be tried again. */
    assert_true(strstr(result.err, " on without counters") ||
                strstr(result.err, " on with all levels again"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "step"), recorded);
    assert_true(trace->range_counts.count > 0 && trace->range_counts.count < 101 * recorded);
    assert_true(has_level(trace, "without counters"));
    assert_non_null(strstr(trace->notes, "; from part "));
    nvt_trace_free(trace);
}

/* From some iteration on, those that are recorded take 81 times as long as the others. The first of them costs what may be spent on 400
 * iterations, whatever one takes on this machine. */
static void what_gets_dear_is_noticed(void **state)
{
    (void)state;
    unsigned long planted = 0, soon = 0, later = 0;
    struct cli_result result = LOOP("20%", "nvtx", "ranges", "3000", "400", "80");
    const char *said = strstr(result.out, "planted ");
    if (!said ||
        sscanf(said, "planted %lu: %lu of 10, %lu of the next 200", &planted, &soon, &later) != 3)
        fail_msg("%s", result.out);
    assert_true(planted >= 400);
    assert_in_range(soon, 1, 5);
    assert_true(later <= 10);
    cli_result_free(&result);
}

/* A process that has no iterations, or that dies within a part, is in nobody's way. */
static void others_decide(void **state)
{
    (void)state;
    struct cli_result result = record("5%", "flight", "0");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *script = CLI_UNTIL_STATUS
        "\"$1\" 60000 & first=$!; until_status state.recording; \"$1\" 60000 & second=$!; "
        "until_status processes.2; kill -9 $first; sleep 1; kill $second; wait $second; exit 0";
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

/* Several that come one after the other: what is said is of all of them, as is what is in the trace. */
static void one_after_the_other(void **state)
{
    (void)state;
    unsigned long recorded = 0, iterations = 0;
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
                          "for i in 1 2 3; do \"$0\" 800; done",
                          cli_client("flight"),
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *said = strstr(result.err, "--budget: recorded ");
    if (!said || sscanf(said, "--budget: recorded %lu of %lu", &recorded, &iterations) != 2)
        fail_msg("%s", result.err);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->processes.count, 3);
    assert_int_equal(recorded_count(trace, "step"), recorded);
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
        cmocka_unit_test(records_where_iterations_differ),
        cmocka_unit_test(notices_what_is_planted),
        cmocka_unit_test(lowers_the_level),
        cmocka_unit_test(raises_the_level_again),
        cmocka_unit_test(levels_are_in_order),
        cmocka_unit_test(counts_what_watching_costs),
        cmocka_unit_test(blocks_are_worth_their_cost),
        cmocka_unit_test(parts_are_few),
        cmocka_unit_test(is_in_the_trace),
        cmocka_unit_test(others_decide),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(short_ranges),
        cmocka_unit_test(launches),
        cmocka_unit_test(dear_levels_are_left_out),
        cmocka_unit_test(what_gets_dear_is_noticed),
        cmocka_unit_test(wrong_options),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
