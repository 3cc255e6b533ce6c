/*
 * What findings have in common: their cost as a share, the line that says them, their order, and which is a symptom of
 * which.
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

#include "../analyze/diagnosis/rule_page.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/text.h"
#include "cli.h"
#include "finding_kit.h"
#include "made_trace.h"

static struct nvt_finding finding_of(const struct nvt_rule *rule, double cost_ns, double whole_ns)
{
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    finding.cost_ns = cost_ns;
    finding.whole_ns = whole_ns;
    return finding;
}

static void a_cost_is_a_share_of_a_whole(void **state)
{
    (void)state;
    static const struct {
        double cost_ns, whole_ns, cost_bytes, whole_bytes;
        const char *text;
        int is_minor;
    } cases[] = {
        {6.98e6, 14.7e6, 0, 0, "6.98 ms of 14.7 ms per iteration (47 %)", 0},
        {1e6, 10e6, 0, 0, "1.00 ms of 10.0 ms per iteration (10 %)", 0},
        {0.414e6, 10e6, 0, 0, "414 µs of 10.0 ms per iteration (4.1 %)", 0},
        {0.095e6, 10e6, 0, 0, "95.0 µs of 10.0 ms per iteration (0.95 %)", 1},
        {0.1e6, 10e6, 0, 0, "100 µs of 10.0 ms per iteration (1 %)", 0},
        /* More than the whole is no part of it, but for what sums are rounded by. */
        {11e6, 10e6, 0, 0, "11.0 ms per iteration", 0},
        {10.01e6, 10e6, 0, 0, "10.0 ms of 10.0 ms per iteration (100 %)", 0},
        {10e6, 0, 0, 0, "10.0 ms per iteration", 0},
        {10e6, NAN, 0, 0, "10.0 ms per iteration", 0},
        {0, 0, 1 << 30, 4.0 * (1 << 30), "1.00 GiB of 4.00 GiB per iteration (25 %)", 0},
        {0, 0, 1 << 20, 0, "1.00 MiB per iteration", 0},
        {0, 10e6, 0, 0, "", 0},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_finding finding =
            finding_of(&nvt_rule_launch, cases[i].cost_ns, cases[i].whole_ns);
        char text[NVT_COST_MAX];
        finding.cost_bytes = cases[i].cost_bytes;
        finding.whole_bytes = cases[i].whole_bytes;
        nvt_finding_cost(&finding, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
        assert_int_equal(nvt_finding_is_minor(&finding), cases[i].is_minor);
    }
}

static void a_finding_is_a_line(void **state)
{
    (void)state;
    struct nvt_finding finding = finding_of(&nvt_rule_launch, 6.98e6, 14.7e6);
    char line[NVT_FINDING_LINE_MAX];
    nvt_finding_line(&finding, 14, 0, line, sizeof(line));
    assert_string_equal(line, "launch-bound     6.98 ms of 14.7 ms per iteration (47 %)");
    nvt_finding_about(&finding, "Rückwärtslauf der größten Schicht von allen");
    nvt_finding_line(&finding, 0, 0, line, sizeof(line));
    assert_string_equal(line, "launch-bound   6.98 ms of 14.7 ms per iteration (47 %)   "
                              "Rückwärtslauf der größten Schicht von allen");
    for (size_t width = 20; width < 110; width++) {
        nvt_finding_line(&finding, 0, width, line, sizeof(line));
        assert_true(nvt_text_width(line) <= width);
    }
    nvt_finding_line(&finding, 0, 70, line, sizeof(line));
    assert_string_equal(line,
                        "launch-bound   6.98 ms of 14.7 ms per iteration (47 %)   Rückwärtslau…");
    /* Behind a blank, nothing is left of a name. */
    nvt_finding_line(&finding, 0, 57, line, sizeof(line));
    assert_string_equal(line, "launch-bound   6.98 ms of 14.7 ms per iteration (47 %)…");
    finding = finding_of(&nvt_rule_timing, 1e6, 4e6);
    nvt_finding_line(&finding, 0, 0, line, sizeof(line));
    assert_string_equal(
        line, "un-synchronised timing   1.00 ms of 4.00 ms per iteration (25 %), not measured");
    finding = finding_of(&nvt_rule_memory, 0, 0);
    nvt_finding_line(&finding, 0, 80, line, sizeof(line));
    assert_string_equal(line, "memory growth");
    finding.traces = 3;
    finding.of = 4;
    finding.cost_bytes = 2 << 20;
    nvt_finding_line(&finding, 0, 80, line, sizeof(line));
    assert_string_equal(line, "memory growth in 3 of 4 traces   up to 2.00 MiB per iteration");
}

/* The largest share first, whatever it is of; then what has none; errors of measurement behind all that costs time. */
static void the_largest_share_is_first(void **state)
{
    (void)state;
    const struct nvt_finding items[] = {
        finding_of(&nvt_rule_memory, 0, 0),      finding_of(&nvt_rule_timing, 9e6, 10e6),
        finding_of(&nvt_rule_crossing, 1e9, 0),  finding_of(&nvt_rule_cold, 1e9, 10e9),
        finding_of(&nvt_rule_launch, 2e6, 10e6), finding_of(&nvt_rule_hang, 5e9, 0),
    };
    const char *const order[] = {"hang",     "launch-bound",           "cold start",
                                 "crossing", "un-synchronised timing", "memory growth"};
    struct nvt_finding copy[NVT_COUNT_OF(items)];
    memcpy(copy, items, sizeof(copy));
    struct nvt_findings findings = {.items = copy, .count = NVT_COUNT_OF(items)};
    nvt_findings_sort(&findings, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(order); i++)
        assert_string_equal(copy[i].cause, order[i]);
}

/* The findings of a program; the caller frees the items and then the trace. */
static struct nvt_findings diagnose(const struct program *program, struct nvt_trace **trace)
{
    struct nvt_input_trace from = {.trace = *trace = make_program(program)};
    struct nvt_input input = {.traces = &from, .trace_count = 1};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    return findings;
}

static const struct nvt_finding *find(const struct nvt_findings *findings,
                                      const struct nvt_rule *rule)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].rule == rule)
            return &findings->items[i];
    fail_msg("no finding %s", rule->cause);
    return NULL;
}

/* A loop that waits for batches: the GPU is idle meanwhile, and the wait says why. */
static void waits_for_batches_explain_idle_time(void **state)
{
    (void)state;
    static const struct program waits = {.kernels = 4, .kernel_ns = 80000, .data_ns = 900000};
    struct nvt_trace *trace;
    struct nvt_findings findings = diagnose(&waits, &trace);
    const struct nvt_finding *input = find(&findings, &nvt_rule_input),
                             *idle = find(&findings, &nvt_rule_idle);
    assert_true(input->cost_ns == 900000);
    assert_true(idle->explained_by > 0);
    assert_ptr_equal(&findings.items[idle->explained_by - 1], input);
    assert_non_null(strstr(input->what, "waiting for the DataLoader while the GPU is idle"));
    free(findings.items);
    nvt_trace_free(trace);
}

/* While a loop reads a file, its device is idle: the reading is why. What launches leave is another gap, however long. */
static void symptoms_name_what_explains_them(void **state)
{
    (void)state;
    static const struct program reads = {
        .kernels = 1, .kernel_ns = 80000, .os_call = "read", .os_ns = 900000};
    static const struct program launches = {.kernels = 60, .kernel_ns = 3000, .host_ns = 120000};
    struct nvt_trace *trace;
    struct nvt_findings findings = diagnose(&reads, &trace);
    const struct nvt_finding *idle = find(&findings, &nvt_rule_idle);
    assert_true(idle->explained_by > 0 && idle->explained_by <= (size_t)(idle - findings.items));
    assert_ptr_equal(findings.items[idle->explained_by - 1].rule, &nvt_rule_blocked);
    free(findings.items);
    nvt_trace_free(trace);
    findings = diagnose(&launches, &trace);
    assert_true(find(&findings, &nvt_rule_launch)->cost_ns >
                find(&findings, &nvt_rule_idle)->cost_ns);
    for (size_t i = 0; i < findings.count; i++)
        assert_int_equal(findings.items[i].explained_by, 0);
    free(findings.items);
    nvt_trace_free(trace);
}

/* What is left keeps pointing at what explains it, or at nothing. */
static void minor_findings_are_left_out(void **state)
{
    (void)state;
    struct nvt_finding items[] = {
        finding_of(&nvt_rule_launch, 5e6, 10e6),      finding_of(&nvt_rule_copies, 0.09e6, 10e6),
        finding_of(&nvt_rule_blocked, 3e6, 10e6),     finding_of(&nvt_rule_idle, 3e6, 10e6),
        finding_of(&nvt_rule_transfers, 0.1e6, 10e6), finding_of(&nvt_rule_memory, 0, 0)};
    struct nvt_findings findings = {items, NVT_COUNT_OF(items)};
    size_t count = 0;
    items[3].explained_by = 3;
    items[4].explained_by = 2;
    assert_int_equal(nvt_findings_leave_minor(&findings, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(findings.count, 5);
    assert_ptr_equal(items[2].rule, &nvt_rule_idle);
    assert_int_equal(items[2].explained_by, 2);
    assert_int_equal(items[3].explained_by, 0);
    assert_ptr_equal(items[4].rule, &nvt_rule_memory);
}

static void expect_command(const struct nvt_finding *finding, char *const *given, const char *text)
{
    struct nvt_buffer command = {0};
    assert_int_equal(nvt_finding_command(finding, given, &command), 0);
    assert_int_equal(nvt_buffer_append(&command, "", 1), 0);
    assert_string_equal((const char *)command.data, text);
    nvt_buffer_free(&command);
}

static void a_command_shows_a_finding(void **state)
{
    (void)state;
    struct nvt_trace trace = {.path = "a trace.nvt", .first_ns = 5000000000};
    char *const given[] = {"first.nvt", "second run", NULL};
    struct nvt_rule shown = nvt_rule_launch;
    struct nvt_finding finding = finding_of(&nvt_rule_launch, 2e6, 10e6);
    finding.trace = &trace;
    finding.traces = 1;
    expect_command(&finding, given, "");
    /* An iteration before the first moment, and one behind it. */
    nvt_finding_point(&finding, 5020000000);
    nvt_finding_point(&finding, 5090000000);
    expect_command(&finding, given, "nvtally plot --filter-time 10.000ms/30.000ms 'a trace.nvt'");
    finding.moments[0] = 5000000000;
    expect_command(&finding, NULL, "nvtally plot --filter-time 0.000ms/10.000ms 'a trace.nvt'");
    /* A window's trace begins elsewhere: on its axis moments are what they are in the file. */
    trace.is_part = 1;
    finding.per = "in the trace";
    expect_command(&finding, given,
                   "nvtally plot --filter-time 4998000000/5002000000 'a trace.nvt'");
    shown.show = "stats -r gpu_idle";
    finding.rule = &shown;
    expect_command(&finding, given, "nvtally stats -r gpu_idle 'a trace.nvt'");
    finding.traces = 0;
    expect_command(&finding, given, "nvtally stats -r gpu_idle first.nvt 'second run'");
    expect_command(&finding, NULL, "");
}

static void nothing_found_says_what_was_looked_at(void **state)
{
    (void)state;
    struct nvt_input_trace traces[] = {
        {.trace = make_program(&(struct program){.kernels = 4, .kernel_ns = 80000})},
        {.trace = make_program(&(struct program){
             .kernels = 4, .kernel_ns = 80000, .no_ranges = 1, .iterations = 10})}};
    enum { DEVICE = NVT_RULE_OPS | NVT_RULE_CALLS, LOOP = NVT_RULE_RANGES | NVT_RULE_ITERATIONS };
    static const struct {
        unsigned has;
        const char *part;
    } looked[] = {
        {DEVICE | LOOP, "iterations 17 to 32 of 32"},
        {DEVICE, "the second half of the trace, 1.63 ms"},
        {DEVICE | LOOP, "the second half of the iterations, or of the time, of 2 traces"},
    };
    for (size_t i = 0; i < 3; i++) {
        struct nvt_input input = {.traces = traces + i % 2, .trace_count = i < 2 ? 1 : 2};
        struct nvt_buffer text = {0};
        char says[128];
        (void)snprintf(says, sizeof(says), "%zu of %zu rules looked at %s\n",
                       kit_rules(0, ~looked[i].has), kit_rules(0, 0), looked[i].part);
        assert_int_equal(nvt_diagnose_looked(&input, &text, NULL), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        assert_string_equal((const char *)text.data, says);
        nvt_buffer_free(&text);
    }
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

/* --- pages ------------------------------------------------------------------------------------------- */

/* Each part says something, in whole sentences, and stands where it should. */
static void each_rule_has_its_page(void **state)
{
    (void)state;
    static const char *const titles[] = {"What it finds", "What it means", "How it is found",
                                         "Threshold",     "Remedy",        "What helped others",
                                         "Confused with", "Confidence"};
    size_t rules;
    const struct nvt_rule *const *all = nvt_rules(&rules);
    for (size_t i = 0; i < rules; i++) {
        struct nvt_rule_part parts[NVT_RULE_PARTS];
        if (nvt_rule_page(all[i], parts) != NVT_COUNT_OF(titles))
            fail_msg("the page of %s has not all parts", all[i]->cause);
        for (size_t k = 0; k < NVT_COUNT_OF(titles); k++) {
            const size_t length = strlen(parts[k].text);
            assert_string_equal(parts[k].title, titles[k]);
            if (length < 20 || length + 1 >= sizeof(parts[k].text) ||
                parts[k].text[length - 1] != '.')
                fail_msg("%s: %s: \"%s\"", all[i]->cause, titles[k], parts[k].text);
        }
        assert_non_null(strstr(parts[3].text, all[i]->threshold + 1));
        assert_ptr_equal(nvt_rule_named(all[i]->cause), all[i]);
    }
}

/* What a rule's findings are shown by is a report, or a chart. */
static void what_shows_a_finding_is_there(void **state)
{
    (void)state;
    size_t rules;
    const struct nvt_rule *const *all = nvt_rules(&rules);
    for (size_t i = 0; i < rules; i++) {
        const char *show = all[i]->show ? all[i]->show : "plot";
        char report[64];
        if (sscanf(show, "stats -r %63[a-z_]", report) == 1 ? !nvt_report_find(report)
                                                            : strcmp(show, "plot") != 0)
            fail_msg("%s: %s", all[i]->cause, show);
    }
}

static void expect_explained(const char *const *arguments, int status, const char *text)
{
    const char *argv[8] = {"nvtally", "diagnose"};
    for (size_t i = 0; arguments[i]; i++)
        argv[i + 2] = arguments[i];
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    if (!strstr(status ? result.err : result.out, text))
        fail_msg("no \"%s\" in\n%s%s", text, result.out, result.err);
    cli_result_free(&result);
}

static void pages_are_printed(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[5];
        int status;
        const char *text;
    } cases[] = {
        {{"--explain", "launch-bound"}, 0, "launch-bound\n\nWhat it finds\n   A GPU that waits"},
        {{"--explain", "gpu-idle"}, 0, "GPU idle\n\nWhat it finds\n"},
        {{"--explain", "MPI"}, 0, "\n\nConfidence\n   Seen: measured directly.\n"},
        {{"--explain", "many_small_kernels", "-f", "markdown"},
         0,
         "# many small kernels\n\n## What"},
        {{"--explain", "all"}, 0, "\n\nGPU idle\n\nWhat it finds\n"},
        {{"--explain", "gpu"}, 2, "nvtally: no rule 'gpu'; nvtally diagnose --rules lists them\n"},
        {{"--explain", ""}, 2, "no rule ''"},
        {{"--explain", "MPI", "-f", "csv"}, 2, "--explain prints text or -f markdown"},
        {{"--explain", "all", "a.nvt"}, 2, "--explain of a trace prints text about one rule"},
        {{"--explain", "MPI", "no-such.nvt"}, 2, "no-such.nvt"},
        {{"--explain"}, 2, "needs a value"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect_explained(cases[i].arguments, cases[i].status, cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cost_is_a_share_of_a_whole),
        cmocka_unit_test(a_finding_is_a_line),
        cmocka_unit_test(the_largest_share_is_first),
        cmocka_unit_test(waits_for_batches_explain_idle_time),
        cmocka_unit_test(symptoms_name_what_explains_them),
        cmocka_unit_test(minor_findings_are_left_out),
        cmocka_unit_test(a_command_shows_a_finding),
        cmocka_unit_test(nothing_found_says_what_was_looked_at),
        cmocka_unit_test(each_rule_has_its_page),
        cmocka_unit_test(what_shows_a_finding_is_there),
        cmocka_unit_test(pages_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
