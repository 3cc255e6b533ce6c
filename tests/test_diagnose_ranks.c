/* Findings about ranks; what rules could not look at, and how to record it; the list of rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "finding_kit.h"
#include "made_trace.h"

static void add_kernel(struct maker *maker, const char *name, uint32_t stream, int64_t start,
                       int64_t end)
{
    uint32_t id = nvt_strings_add_text(maker->trace->strings, name);
    struct nvt_op row = {.start = start,
                         .end = end,
                         .process = maker->process,
                         .stream = stream,
                         .name = id,
                         .short_name = id,
                         .launch = INT64_MIN,
                         .kind = NVT_OP_KERNEL,
                         .detail = NVT_NONE};
    assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
}

/* Ten steps of 1000 us: a collective beside the kernels of the first 600, or until `until` us. */
static void communicate(int64_t until, struct nvt_findings *findings)
{
    struct maker maker = make_begin();
    for (int i = 0; i < 10; i++) {
        int64_t start = maker.now;
        add_kernel(&maker, "gemm", 7, start, start + 600000);
        add_kernel(&maker, "ncclKernel_ReduceScatter", 20, start + 100000, start + 650000);
        add_kernel(&maker, "ncclKernel_AllReduce", 20, start + 660000, start + until * 1000);
        add_kernel(&maker, "gemm", 7, start + 800000, start + 1000000);
        maker.now += 1000000;
        make_range(&maker, "iteration", start);
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    assert_int_equal(nvt_rule_apply(&nvt_rule_communication, &facts, findings, NULL), 0);
    nvt_trace_free(trace.trace);
}

/* Only what no kernel runs beside counts: 50 us of one collective, and of the other up to 140. */
static void exposed_collectives_are_told_from_hidden_ones(void **state)
{
    (void)state;
    struct nvt_findings findings = {0};
    communicate(900, &findings);
    assert_int_equal(findings.count, 1);
    const struct nvt_finding *finding = &findings.items[0];
    assert_string_equal(finding->what,
                        "19 % of GPU time is communication with no kernel overlapping, most of "
                        "it in ncclKernel_AllReduce");
    assert_string_equal(
        finding->evidence,
        "2 stretches per iteration, 95.0 µs each, the longest 140 µs; no kernel overlaps "
        "24 % of the time in communication; ncclKernel_AllReduce is 74 % of that");
    assert_true(finding->cost_ns > 189999 && finding->cost_ns < 190001);
    assert_int_equal(finding->moment_count, 3);
    assert_int_equal(finding->moments[0], 1000 + 5660000);
    assert_int_equal(finding->moments[1], 1000 + 6660000);
    free(findings.items);
    findings = (struct nvt_findings){0};
    communicate(708, &findings); /* 98 us of 1000 */
    assert_int_equal(findings.count, 0);
}

/* Four ranks, of which the third computes for so long; the others wait for it. */
static size_t stragglers(int64_t kernel_ns, int with_rank, int by_mpi, struct nvt_finding *finding)
{
    struct nvt_input_trace traces[4];
    struct nvt_input input = {.traces = traces, .trace_count = 4};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    for (int i = 0; i < 4; i++) {
        struct program program = {.kernels = 10,
                                  .kernel_ns = 90000,
                                  .communication_ns = 10 * (kernel_ns - 90000) + 20000,
                                  .rank = with_rank ? i + 1 : 0};
        if (i == 2) {
            program.kernel_ns = kernel_ns;
            program.communication_ns = 20000;
        }
        if (by_mpi) {
            program.mpi_ns = program.communication_ns;
            program.communication_ns = 0;
        }
        traces[i] = (struct nvt_input_trace){.trace = make_program(&program)};
    }
    assert_int_equal(nvt_rule_apply(&nvt_rule_ranks, &facts, &findings, NULL), 0);
    if (findings.count)
        *finding = findings.items[0];
    for (int i = 0; i < 4; i++)
        nvt_trace_free(traces[i].trace);
    free(findings.items);
    return findings.count;
}

static void the_slow_rank_is_named(void **state)
{
    (void)state;
    struct nvt_finding finding;
    assert_int_equal(stragglers(97000, 1, 0, &finding), 1);
    assert_non_null(strstr(finding.what, "rank 2 is slower than the other 3"));
    assert_int_equal(finding.moment_count, 3);
    assert_true(finding.cost_ns > 69000 && finding.cost_ns < 71000);
    assert_int_equal(stragglers(97000, 1, 1, &finding), 1);
    assert_string_equal(finding.what, "rank 2 is slower than the other 3, which wait for it");
    assert_int_equal(stragglers(94000, 1, 1, &finding), 0);
    assert_int_equal(stragglers(94000, 1, 0, &finding), 0);
    assert_int_equal(stragglers(97000, 0, 0, &finding), 0); /* strangers to each other */
}

/* Two files of ranks of `groups` groups, in each of which the second rank's host works for so long; what all rules find. */
static struct nvt_findings late_hosts(int64_t host_ns, const char *const groups[4], uint32_t size)
{
    struct nvt_input_trace traces[4];
    struct nvt_input input = {.traces = traces, .trace_count = 4};
    struct nvt_findings findings = {0};
    for (uint32_t i = 0; i < 4; i++) {
        const int64_t host = i % 2 ? host_ns : 0;
        struct maker maker = make_begin();
        maker.trace->processes.rank[maker.process] = i;
        const struct nvt_collective group = {
            .group = nvt_strings_add_text(maker.trace->strings, groups[i]), .ranks = size};
        nvt_collective_add(maker.trace, &group);
        const struct nvt_kernel kernel = {.grid_x = 4, .grid_y = 1, .grid_z = 1, .collective = 1};
        uint32_t detail = nvt_kernel_add(maker.trace, &kernel);
        for (int k = 0; k < 20; k++) {
            int64_t start = maker.now;
            maker.now += host;
            make_launch(&maker, "gemm", 1000000);
            make_launch(&maker, "ncclDevKernel_AllReduce", 20000 + host_ns - host);
            maker.trace->ops.detail[maker.trace->ops.count - 1] = detail;
            make_wait(&maker);
            make_range(&maker, "iteration", start);
        }
        traces[i] = (struct nvt_input_trace){.trace = make_end(&maker)};
    }
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    for (size_t i = 0; i < findings.count; i++)
        findings.items[i].trace = NULL;
    for (int i = 0; i < 4; i++)
        nvt_trace_free(traces[i].trace);
    return findings;
}

static size_t count_of(const struct nvt_findings *findings, const struct nvt_rule *rule,
                       const char *says)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].cause == rule->cause && strstr(findings->items[i].what, says);
    return count;
}

/* A host that launches late is told as such, within its group, and nobody is told to overlap what is waiting for it. */
static void a_late_host_is_a_straggler_of_its_group(void **state)
{
    (void)state;
    static const char *const two[] = {"tp0", "tp0", "tp1", "tp1"}, *const one[] = {"a", "a", "a",
                                                                                   "a"};
    struct nvt_findings findings = late_hosts(400000, two, 2);
    assert_int_equal(
        count_of(&findings, &nvt_rule_ranks,
                 "the host of rank 1 launches late, and the other 1 rank waits for it"),
        1);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, "the host of rank 3 launches late"), 1);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, ""), 2);
    assert_int_equal(count_of(&findings, &nvt_rule_communication, ""), 0);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].cause == nvt_rule_ranks.cause)
            assert_non_null(strstr(findings.items[i].evidence, "last in 20 of 20 collectives"));
    free(findings.items);
    /* Too little; groups of two that share a name: who is in which is not known. */
    findings = late_hosts(50000, two, 2);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, ""), 0);
    free(findings.items);
    findings = late_hosts(400000, one, 2);
    assert_int_equal(count_of(&findings, &nvt_rule_ranks, ""), 0);
    assert_int_equal(count_of(&findings, &nvt_rule_communication, ""), 2);
    free(findings.items);
}

/* What may be missing, a line for each. In this order: a rule is counted for the first that it needs and that is missing. */
static const struct {
    unsigned needs;
    const char *what;
} kinds[] = {
    {NVT_RULE_OPS, "device operations"},
    {NVT_RULE_CALLS, "API calls"},
    {NVT_RULE_MEMORY | NVT_RULE_LEVELS, "memory events"},
    {NVT_RULE_RANGES, "NVTX ranges"},
    {NVT_RULE_ITERATIONS, "iterations"},
    {NVT_RULE_METRICS, "GPU metrics"},
    {NVT_RULE_OPERATORS, "torch.profiler operators without a GPU"},
    {NVT_RULE_OS_CALLS | NVT_RULE_SAMPLES | NVT_RULE_MACHINE | NVT_RULE_PROCESS | NVT_RULE_MPI |
         NVT_RULE_COUNTS,
     "OS calls, CPU samples, machine samples"},
};

#define KINDS  NVT_COUNT_OF(kinds)
#define DEVICE (NVT_RULE_OPS | NVT_RULE_CALLS)
#define MEMORY (NVT_RULE_MEMORY | NVT_RULE_LEVELS)

/* What is said of some of three traces, which have that. */
static const struct {
    size_t from, count;
    unsigned has;
    const char *const says[2];
} missing[] = {
    {0,
     1,
     NVT_RULE_RANGES,
     {"no device operations in the trace (nvtally record --trace kernel, on a ",
      "; for training, nvtally record --pytorch)\n"}},
    {1,
     1,
     DEVICE,
     {"no memory events in the trace (",
      "no GPU metrics in the trace (nvtally record --trace metrics)\n"}},
    {0, 2, DEVICE | NVT_RULE_RANGES, {"no memory events in the traces ("}},
    {0,
     3,
     DEVICE | MEMORY | NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
     {"no GPU metrics in the traces"}},
};

/* The text, which begins with a line's end, has a line for each kind that rules lack, and no other; those kinds are `seen`. */
static void expect_missing(const char *text, size_t i, int seen[KINDS])
{
    unsigned before = 0;
    size_t lines = 0;
    for (size_t kind = 0; kind < KINDS; kind++) {
        const unsigned lacks = kinds[kind].needs & ~missing[i].has;
        const size_t rules = lacks ? kit_rules(lacks, before) : 0;
        char line[160];
        (void)snprintf(line, sizeof(line), "\n%zu of %zu rules skipped: no %s", rules,
                       kit_rules(0, 0), kinds[kind].what);
        before |= lacks;
        if (rules && !strstr(text, line))
            fail_msg("%zu: no \"%s\" in%s", i, line, text);
        lines += rules > 0;
        seen[kind] |= rules > 0;
    }
    for (size_t j = 0; j < 2 && missing[i].says[j]; j++)
        if (!strstr(text, missing[i].says[j]))
            fail_msg("%zu: no \"%s\" in%s", i, missing[i].says[j], text);
    for (const char *at = text + 1; *at; at++)
        lines -= *at == '\n';
    assert_int_equal(lines, 0);
}

/* A line for each kind of record that is missing, and none where a trace has it. */
static void what_rules_could_not_look_at_is_said(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    maker.now += 1000;
    make_range(&maker, "forward", 0);
    struct nvt_input_trace traces[] = {
        {.trace = make_end(&maker)},
        {.trace =
             make_program(&(struct program){.kernels = 4, .kernel_ns = 80000, .no_ranges = 1})},
        {.trace = make_program(
             &(struct program){.kernels = 4, .kernel_ns = 80000, .leak_bytes = 1024})}};
    int seen[KINDS] = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(missing); i++) {
        struct nvt_input input = {.traces = traces + missing[i].from,
                                  .trace_count = missing[i].count};
        struct nvt_buffer text = {0};
        assert_int_equal(nvt_buffer_append(&text, "\n", 1), 0);
        assert_int_equal(nvt_diagnose_missing(&input, &text, NULL), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        expect_missing((const char *)text.data, i, seen);
        nvt_buffer_free(&text);
    }
    for (size_t kind = 0; kind < KINDS; kind++)
        assert_true(seen[kind]);
    for (size_t i = 0; i < 3; i++)
        nvt_trace_free(traces[i].trace);
}

/* With an option of what recorded the trace. */
static void the_way_to_record_it_is_that_of_the_recorder(void **state)
{
    (void)state;
    static const enum nvt_recorder recorders[] = {NVT_BY_NVTALLY, NVT_BY_NSYS, NVT_BY_PYTORCH};
    static const char *const remedies[] = {"(nvtally record --trace memory)\n",
                                           "(nsys profile --cuda-memory-usage=true)\n",
                                           "(profile_memory=True in torch.profiler)\n"};
    const struct program program = {.kernels = 4, .kernel_ns = 80000};
    struct nvt_input_trace traces[] = {{.trace = make_program(&program)},
                                       {.trace = make_program(&program)}};
    for (size_t i = 0; i < 9; i++) {
        struct nvt_input input = {.traces = traces, .trace_count = 2};
        struct nvt_buffer text = {0};
        traces[0].trace->recorder = recorders[i % 3];
        traces[1].trace->recorder = recorders[i / 3];
        assert_int_equal(nvt_diagnose_missing(&input, &text, NULL), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        if (!strstr((const char *)text.data, remedies[i % 3 == i / 3 ? i % 3 : 0]))
            fail_msg("%zu: %s", i, (const char *)text.data);
        nvt_buffer_free(&text);
    }
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

static void rules_are_listed_and_documented(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    static char manual[100000];
    FILE *file = fopen("docs/man/nvtally-diagnose.1.scd", "r");
    assert_non_null(file);
    manual[fread(manual, 1, sizeof(manual) - 1, file)] = 0;
    fclose(file);
    const char *command[] = {"nvtally", "diagnose", "--rules", "-f", "csv", NULL};
    struct cli_result result = cli_run(command);
    cli_expect_status(&result, 0);
    for (size_t i = 0; i < count; i++) {
        char heading[100];
        snprintf(heading, sizeof(heading), "*%s*", rules[i]->cause);
        if (!strstr(manual, heading))
            fail_msg("%s is not in the manual", heading);
        assert_non_null(strstr(result.out, rules[i]->cause));
    }
    for (int i = 0; i < NVT_CONFIDENCES; i++) {
        char word[40];
        snprintf(word, sizeof(word), "_%s_", nvt_confidence_name((enum nvt_confidence)i));
        assert_non_null(strstr(manual, word));
    }
    cli_result_free(&result);
    const char *both[] = {"nvtally", "diagnose", "--rules", "out", NULL};
    result = cli_run(both);
    cli_expect_failure(&result, "--rules takes no trace");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slow_rank_is_named),
        cmocka_unit_test(a_late_host_is_a_straggler_of_its_group),
        cmocka_unit_test(exposed_collectives_are_told_from_hidden_ones),
        cmocka_unit_test(what_rules_could_not_look_at_is_said),
        cmocka_unit_test(the_way_to_record_it_is_that_of_the_recorder),
        cmocka_unit_test(rules_are_listed_and_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
