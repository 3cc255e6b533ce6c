/*
 * What findings of the diagnosis say: where, in which order, what is the cause of another's symptom, and what is a
 * warm-up.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/cuda_names.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"

static void move_pages(struct maker *maker, uint8_t kind, int64_t start, uint64_t bytes,
                       uint64_t address)
{
    const struct nvt_migration migration = {.address = address, .cause = NVT_UM_MOVE_FAULT};
    const struct nvt_op op = {.start = start,
                              .end = start + 1000,
                              .process = maker->process,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .bytes = bytes,
                              .detail = nvt_migration_add(maker->trace, &migration),
                              .kind = NVT_OP_MEMCPY,
                              .copy_kind = kind};
    assert_int_not_equal(nvt_op_add(maker->trace, &op), NVT_NONE);
}

static void add_um(struct maker *maker, uint8_t kind, int64_t start, int64_t end)
{
    const struct nvt_um_event event = {.start = start,
                                       .end = end,
                                       .process = maker->process,
                                       .device = kind == NVT_UM_GPU_FAULT ? 0 : NVT_NONE,
                                       .target = NVT_NONE,
                                       .address = 0x1000,
                                       .faults = kind == NVT_UM_GPU_FAULT ? 2 : 0,
                                       .kind = kind};
    assert_int_not_equal(nvt_um_event_add(maker->trace, &event), NVT_NONE);
}

/* Which kernel, in which range; what comes and goes. Faults that overlap take their time once, as do kernels. */
static void faults_say_where_and_what_moves(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 8; i++) {
        int64_t begin = maker.now;
        make_launch(&maker, "quiet", 50000);
        int64_t range = maker.now;
        make_launch(&maker, "hungry", 50000);
        make_range(&maker, "gather", range);
        int64_t start = maker.device - 50000;
        for (int k = 0; k < 10; k++)
            add_um(&maker, NVT_UM_GPU_FAULT, start + 2000 * k, start + 2000 * k + 4000);
        add_um(&maker, NVT_UM_THRASHING, start, start);
        move_pages(&maker, NVT_COPY_UNIFIED_HTOD, start, 3000000, 0x1000);
        move_pages(&maker, NVT_COPY_UNIFIED_DTOH, start + 9000, 1000000, 0x1000);
        move_pages(&maker, NVT_COPY_UNIFIED_DTOH, start + 9500, 500000, 0x2000);
        make_wait(&maker);
        make_range(&maker, "iteration", begin);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(&nvt_rule_faults, &facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what, "kernels wait for pages of managed memory: 20 "
                                                "faults per iteration, most in hungry");
    /* 22 of 106 us, of which kernels take 100. */
    assert_string_equal(
        findings.items[0].evidence,
        "21 % of the time, 22 % of kernel time; the driver handles faults 40 "
        "times while 4 kernels run, for 2.20 µs each, in range gather; 12 MB migrate to "
        "devices and 6 MB to the host, 8 MB of it there and back; the driver reports "
        "thrashing, 4 times");
    assert_in_range((uint64_t)findings.items[0].cost_ns, 21999, 22001);
    free(findings.items);
    nvt_trace_free(trace.trace);
}

/* A loop in which some iterations, in no period, wait for the host. */
static struct nvt_trace *now_and_then(void)
{
    struct maker maker = make_begin();
    for (int i = 0; i < 80; i++) {
        int64_t start = maker.now;
        maker.now += i % 7 == 3 || i % 11 == 5 ? 3000000 : 0;
        for (int k = 0; k < 10; k++)
            make_launch(&maker, "gemm", 80000);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    return make_end(&maker);
}

/* Of each trace what may explain its slow iterations comes before them. */
static void causes_come_before_slow_iterations(void **state)
{
    (void)state;
    struct nvt_input_trace traces[] = {{.trace = now_and_then()}, {.trace = now_and_then()}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_findings findings = {0};
    unsigned slow = 0;
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    for (size_t i = 0; i < findings.count; i++) {
        int is_behind = 0;
        if (findings.items[i].cause != nvt_rule_iterations.cause)
            continue;
        for (size_t k = 0; k < i; k++)
            is_behind |= findings.items[k].cause == nvt_rule_idle.cause &&
                         findings.items[k].trace == findings.items[i].trace;
        assert_true(is_behind);
        slow++;
    }
    assert_int_equal(slow, 2);
    free(findings.items);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

/* That the device is idle while the host evaluates is a consequence: it costs as much, and comes behind. */
static void causes_come_before_idle_devices(void **state)
{
    (void)state;
    const struct program program = {.kernels = 10,
                                    .kernel_ns = 80000,
                                    .iterations = 64,
                                    .slow_every = 8,
                                    .slow_ns = 4000000,
                                    .slow_range = "evaluate"};
    struct nvt_input_trace trace = {.trace = make_program(&program)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_findings findings = {0};
    size_t idle = 0;
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_true(findings.count >= 2);
    assert_string_equal(findings.items[0].cause, nvt_rule_periodic.cause);
    for (size_t i = 1; i < findings.count && !idle; i++)
        idle = findings.items[i].cause == nvt_rule_idle.cause ? i : 0;
    assert_true(idle && findings.items[idle].cost_ns > findings.items[0].cost_ns);
    free(findings.items);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace.trace);
}

/* The host is in `load` for most of a gap, in whose middle lies a small range. */
static void idle_time_is_that_of_the_range_around_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_findings findings = {0};
    for (int i = 0; i < 8; i++) {
        int64_t start = maker.now;
        maker.now += 200000;
        int64_t small = maker.now;
        maker.now += 10000;
        make_range(&maker, "small", small);
        maker.now += 200000;
        make_range(&maker, "load", start);
        make_launch(&maker, "gemm", 400000);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_idle, &facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].what, "while the CPU runs other code in range load"));
    nvt_trace_free(trace.trace);
    free(findings.items);
}

/* Iterations of so many ns, behind so many warm-ups of so many; `findings` gets what the rule says. */
static void warm_up(const int64_t *ns, int count, int warmups, int64_t warmup_ns,
                    const struct nvt_runs *runs, struct nvt_findings *findings)
{
    struct maker maker = make_begin();
    for (int i = 0; i < warmups + count; i++) {
        int64_t start = maker.now;
        maker.now += i < warmups ? warmup_ns : ns[i - warmups];
        make_range(&maker, i < warmups ? "warmup" : "iteration", start);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker), .runs = runs};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_warmup, &facts, findings, NULL), 0);
    nvt_trace_free(trace.trace);
}

/* What the run had and what is to be left out: fewer would make it worse. */
/* Of ranges that end before their work, those that PyTorch makes by itself are nobody's to change. */
static void annotations_of_pytorch_are_no_timing(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t findings;
    } cases[] = {
        {"Optimizer.step#SGD.step", 0},
        {"Optimizer.zero_grad#Adam.zero_grad", 0},
        {"## Call CompiledFxGraph fjs75i4jmhjizyb52gwp7gln7sgi42fcmh5xdwningderuqcuslv ##", 0},
        {"Torch-Compiled Region: 0/0", 0},
        {"DistributedDataParallel.forward", 0},
        {"FullyShardedDataParallel.forward", 0},
        {"FSDP::pre_forward", 0},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0},
        {"## forward ##", 1},
        {"ProfilerStep#3", 1},
        {"Optimizer.step", 1},
        {"optimizer", 1},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        struct nvt_findings findings = {0};
        for (int k = 0; k < 4; k++) {
            int64_t start = maker.now;
            make_launch(&maker, "gemm", 400000);
            make_range(&maker, cases[i].name, start);
            make_wait(&maker);
        }
        struct nvt_input_trace trace = {.trace = make_end(&maker)};
        struct nvt_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        assert_int_equal(nvt_rule_apply(&nvt_rule_timing, &facts, &findings, NULL), 0);
        if (findings.count != cases[i].findings)
            fail_msg("%s: %zu findings", cases[i].name, findings.count);
        nvt_trace_free(trace.trace);
        free(findings.items);
    }
}

static void warm_ups_are_added_to_those_there_were(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    static const char row[] = "{\"workload\": \"toy\", \"backend\": \"host\", \"warmup\": 10}";
    int64_t ns[COUNT];
    struct nvt_record record = {0};
    struct nvt_runs runs = {.records = &record, .count = 1};
    assert_int_equal(nvt_record_parse(&record, row, sizeof(row) - 1, NULL), 0);
    for (int i = 0; i < COUNT; i++)
        ns[i] = i < 3 ? 300000 : 100000;
    const struct {
        int warmups;
        const struct nvt_runs *runs;
        const char *remedy;
    } cases[] = {
        {0, NULL, "exclude the first 3 from the measurement; reports do with --filter-time"},
        {10, NULL, "exclude the first 3 from the measurement"},
        {0, &runs, "exclude the first 3 too: --warmup 13"},
        {10, &runs, "exclude the first 3 too: --warmup 13"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_findings findings = {0};
        warm_up(ns, COUNT, cases[i].warmups, 300000, cases[i].runs, &findings);
        assert_int_equal(findings.count, 1);
        assert_int_equal(
            strncmp(findings.items[0].remedy, cases[i].remedy, strlen(cases[i].remedy)), 0);
        assert_int_equal(strstr(findings.items[0].remedy, "--warmup") != NULL,
                         cases[i].runs != NULL);
        free(findings.items);
    }
    /* It had been warm: what is slow now is something else. */
    struct nvt_findings findings = {0};
    warm_up(ns, COUNT, 10, 101000, NULL, &findings);
    assert_int_equal(findings.count, 0);
    nvt_record_free(&record);
}

/* A number in (0, 1), by a 64-bit LCG (Knuth's MMIX). */
static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

/* An iteration of a busy machine: mostly flat, with a tail as heavy as 1/x; now and then preempted;
 * or spread over decades. */
static double noisy(int kind, uint64_t *seed)
{
    double chance = uniform(seed), jitter = 1 + 0.02 * uniform(seed);
    if (kind == 0)
        return jitter / pow(chance, 1 / 1.1);
    if (kind == 1)
        return chance < 0.1 ? jitter + 20 * uniform(seed) : jitter;
    return exp(1.5 * sqrt(-2 * log(chance)) * cos(6.283185307179586 * uniform(seed)));
}

/* Without any warm-up in them, 1 of 100 may be taken for one (the threshold says so); a real one is
 * found in the same noise. */
static void noise_is_no_warm_up(void **state)
{
    (void)state;
    enum { TRIALS = 1000, MOST = 200 };
    static const int counts[] = {16, 20, 50, MOST};
    for (int kind = 0; kind < 3; kind++)
        for (size_t c = 0; c < NVT_COUNT_OF(counts); c++) {
            uint64_t seed = 1 + c;
            size_t alarms = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                int64_t ns[MOST];
                struct nvt_findings findings = {0};
                for (int i = 0; i < counts[c]; i++)
                    ns[i] = (int64_t)(100000 * noisy(kind, &seed));
                warm_up(ns, counts[c], 0, 0, NULL, &findings);
                alarms += findings.count;
                free(findings.items);
            }
            print_message("noise %d, %d iterations: %zu of %d\n", kind, counts[c], alarms, TRIALS);
            assert_true(alarms <= TRIALS / 100);
        }
    uint64_t seed = 1;
    size_t found = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t ns[50];
        struct nvt_findings findings = {0};
        for (int i = 0; i < 50; i++)
            ns[i] = (int64_t)(100000 * noisy(1, &seed) * (i < 5 ? 4 : 1));
        warm_up(ns, 50, 0, 0, NULL, &findings);
        found += findings.count;
        free(findings.items);
    }
    print_message("warm-up of 5 in 50: %zu of %d\n", found, TRIALS);
    assert_true(found >= TRIALS * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_say_where_and_what_moves),
        cmocka_unit_test(causes_come_before_slow_iterations),
        cmocka_unit_test(causes_come_before_idle_devices),
        cmocka_unit_test(idle_time_is_that_of_the_range_around_it),
        cmocka_unit_test(annotations_of_pytorch_are_no_timing),
        cmocka_unit_test(warm_ups_are_added_to_those_there_were),
        cmocka_unit_test(noise_is_no_warm_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
