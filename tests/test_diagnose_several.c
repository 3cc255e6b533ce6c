/*
 * Diagnosis of several traces: what they share is said once; times and moments as text; hints for who wrote the file.
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

#include "../analyze/diagnosis/diagnose.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "finding_kit.h"
#include "made_trace.h"

/* --- several traces -------------------------------------------------------------------------- */

/* Four traces, of which the first, the third and the last have slow iterations, the third the
 * slowest, and the last leaks memory too. */
static void make_slow(struct nvt_input *input)
{
    static const struct {
        const char *path;
        int64_t slow_ns;
        uint64_t leak_bytes;
    } traces[] = {
        {"a.nvt", 450000, 0}, {"b.nvt", 0, 0}, {"c.nvt", 900000, 0}, {"d.nvt", 600000, 70 << 10}};
    *input = (struct nvt_input){.trace_count = 4};
    input->traces = calloc(4, sizeof(*input->traces));
    for (size_t i = 0; i < 4; i++) {
        const struct program program = {.kernels = 10,
                                        .kernel_ns = 80000,
                                        .slow_every = traces[i].slow_ns ? 10 : 0,
                                        .slow_ns = traces[i].slow_ns,
                                        .leak_bytes = traces[i].leak_bytes};
        input->traces[i].trace = make_program(&program);
        free(input->traces[i].trace->path);
        input->traces[i].trace->path = strdup(traces[i].path);
    }
}

static void what_traces_share_is_said_once(void **state)
{
    (void)state;
    struct nvt_input input;
    struct nvt_findings findings = {0};
    char text[NVT_TITLE_MAX];
    make_slow(&input);
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_int_equal(findings.count, 4);
    assert_int_equal(nvt_findings_fold(&findings, &input, NULL), 0);
    assert_int_equal(findings.count, 2);
    const struct nvt_finding *slow = &findings.items[0], *leak = &findings.items[1];
    assert_string_equal(slow->cause, "slow iterations");
    assert_int_equal(slow->traces, 3);
    assert_ptr_equal(slow->trace, input.traces[2].trace);
    nvt_finding_title(slow, text, sizeof(text));
    assert_string_equal(
        text, "slow iterations in 3 of 4 traces   up to 112 µs of 918 µs per iteration (12 %)");
    nvt_finding_what(slow, text, sizeof(text));
    assert_string_equal(text, "3 of 24 iterations take far longer, every 10 iterations (seen)");
    nvt_finding_where(slow, text, sizeof(text));
    assert_string_equal(text, "c.nvt and 2 more, first in a.nvt");
    assert_int_equal(leak->traces, 1);
    nvt_finding_title(leak, text, sizeof(text));
    assert_string_equal(text, "memory growth   70.0 KiB per iteration");
    nvt_finding_what(leak, text, sizeof(text));
    assert_string_equal(
        text, "device 0's memory in use grows by 70.0 KiB per iteration and is never freed (seen)");
    nvt_finding_where(leak, text, sizeof(text));
    assert_string_equal(text, "d.nvt");
    free(findings.items);
    nvt_input_free(&input);
}

/* Ranges of two names that end early are two findings. */
static void what_is_about_different_things_is_not_folded(void **state)
{
    (void)state;
    struct nvt_trace traces[3] = {{.path = "a"}, {.path = "b"}, {.path = "c"}};
    struct nvt_input_trace inputs[3];
    struct nvt_input input = {.traces = inputs, .trace_count = 3};
    static const char *const subjects[] = {"step", "load", "step"};
    struct nvt_findings findings = {0};
    for (size_t i = 0; i < 3; i++) {
        inputs[i] = (struct nvt_input_trace){.trace = &traces[i]};
        struct nvt_view view = {.input = &inputs[i], .trace = &traces[i], .per = "per iteration"};
        struct nvt_finding finding = nvt_finding_of(&nvt_rule_timing, &view);
        nvt_finding_about(&finding, subjects[i]);
        assert_int_equal(nvt_findings_add(&findings, &finding, NULL), 0);
        /* One that compares runs stands by itself. */
        finding = nvt_finding_of(&nvt_rule_crossing, NULL);
        assert_int_equal(nvt_findings_add(&findings, &finding, NULL), 0);
    }
    assert_int_equal(nvt_findings_fold(&findings, &input, NULL), 0);
    assert_int_equal(findings.count, 5);
    assert_int_equal(findings.items[0].traces, 2);
    assert_string_equal(findings.items[0].first, "a");
    assert_string_equal(findings.items[2].subject, "load");
    assert_int_equal(findings.items[2].traces, 1);
    free(findings.items);
}

/* 32 steps of 1 ms, of which one takes 9, twice. */
static void write_steps(const char *profile, const char *again)
{
    struct nvt_buffer text = {0};
    int64_t now = 5000000;
    assert_int_equal(nvt_buffer_printf(&text, "{\"traceEvents\": [\n"), 0);
    for (int i = 0; i < 32; i++) {
        int64_t length = i == 20 ? 9000 : 1000;
        assert_int_equal(nvt_buffer_printf(&text,
                                           "%s{\"ph\": \"X\", \"cat\": \"user_annotation\", "
                                           "\"name\": \"ProfilerStep#%d\", \"pid\": 1, \"tid\": 1, "
                                           "\"ts\": %lld, \"dur\": %lld}\n",
                                           i ? "," : "", i, (long long)now, (long long)length),
                         0);
        now += length;
    }
    assert_int_equal(nvt_buffer_printf(&text, "]}\n"), 0);
    cli_write_file(profile, text.data, text.size);
    cli_write_file(again, text.data, text.size);
    nvt_buffer_free(&text);
}

/* People get one row or paragraph of it, programs a row for each trace. */
static void programs_get_every_finding(void **state)
{
    char missing[256];
    (void)state;
    static const struct {
        const char *format, *needle;
        size_t times;
    } cases[] = {{"json", "\"cause\": \"slow iterations\"", 2},
                 {"csv", "slow iterations,", 2},
                 {"markdown", "| slow iterations |", 1}};
    const char *profile = cli_in(cli_folder, "profile.json"),
               *again = cli_in(cli_folder, "again.json");
    write_steps(profile, again);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *command[] = {"nvtally", "diagnose",      profile, again,
                                 "-f",      cases[i].format, NULL};
        struct cli_result result = cli_run(command);
        cli_expect_status(&result, 0);
        size_t times = 0;
        for (const char *at = result.out; (at = strstr(at, cases[i].needle)); at++)
            times++;
        assert_int_equal(times, cases[i].times);
        if (!i) {
            assert_non_null(strstr(result.out, "\"cost (ns)\": 333333"));
            assert_non_null(strstr(result.out,
                                   "\"trace begins (ns)\": 5000000000, \"moment 1 (ns)\": "
                                   "20000000, \"moment 2 (ns)\": null"));
        }
        cli_result_free(&result);
    }
    struct cli_result result =
        cli_run((const char *[]){"nvtally", "diagnose", profile, again, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out,
                           "1  slow iterations in 2 of 2 traces   up to 333 µs of 1.33 ms per "
                           "iteration (25 %)\n   1 of 24 iterations takes far longer (seen)\n"));
    assert_non_null(strstr(result.out, "look at    20.000 ms\n"));
    (void)snprintf(missing, sizeof(missing),
                   "\n%zu of %zu rules skipped: no device operations in the traces "
                   "(activities with ProfilerActivity.CUDA in torch.profiler, on a machine with a "
                   "GPU)\n",
                   kit_rules(NVT_RULE_OPS, 0), kit_rules(0, 0));
    assert_non_null(strstr(result.out, missing));
    assert_null(strstr(result.out, "\n2  "));
    cli_result_free(&result);
}

/* --- texts ---------------------------------------------------------------------------------- */

static void times_have_three_digits_and_a_unit(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } times[] = {{0, "0 ns"},           {8, "8 ns"},
                 {2.5, "2.50 ns"},      {999.4, "999 ns"},
                 {999.6, "1.00 µs"},    {12345, "12.3 µs"},
                 {99960, "100 µs"},     {16033640, "16.0 ms"},
                 {999600000, "1.00 s"}, {1.5e9, "1.50 s"},
                 {3.6e12, "3600 s"},    {-278.6, "-279 ns"},
                 {0.1, "0.10 ns"},      {0.00123, "0.0012 ns"},
                 {NAN, "unknown"}};
    char out[NVT_TIME_MAX], line[NVT_LINE_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(times); i++)
        assert_string_equal(nvt_time_text(times[i].ns, out), times[i].text);
    assert_string_equal(nvt_line_text(12345, 21.5, "n", line), "12.3 µs + 21.5 ns·n");
    assert_string_equal(nvt_line_text(12345, -278.6, "n", line), "12.3 µs - 279 ns·n");
    assert_string_equal(nvt_line_text(-12345, 21.5, "n", line), "21.5 ns·n - 12.3 µs");
    assert_string_equal(nvt_moment_text(999, out), "0.999 µs");
    assert_string_equal(nvt_moment_text(11780042, out), "11.780 ms");
    assert_string_equal(nvt_moment_text(61203462602, out), "61.203463 s");
    assert_string_equal(nvt_count_text(12.5, out), "12.5");
    assert_string_equal(nvt_count_text(1308.96, out), "1309");
    assert_string_equal(nvt_count_text(12840, out), "12840");
    assert_string_equal(nvt_bytes_text(640, out), "640 B");
    assert_string_equal(nvt_bytes_text(999600, out), "1 MB");
    assert_string_equal(nvt_bytes_text(49.7e9, out), "49.7 GB");
}

/* As export --to chrome has them, whose first event is at 0: not as the file's clock has them. */
static void moments_count_from_the_beginning(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("profile.json", "kineto");
    struct nvt_finding finding = {.trace = trace, .where = "profile.json"};
    char moments[NVT_MOMENTS_MAX];
    trace->first_ns = 1661203462590960000;
    nvt_finding_moments(&finding, moments, sizeof(moments));
    assert_string_equal(moments, "");
    nvt_finding_point(&finding, 1661203462602740000);
    nvt_finding_point(&finding, 1661203463602740000);
    nvt_finding_moments(&finding, moments, sizeof(moments));
    assert_string_equal(moments, "0.011780 s, 1.011780 s");
    assert_int_equal(nvt_finding_moment(&finding, 0), 11780000);
    nvt_trace_free(trace);
}

/* --- crossings -------------------------------------------------------------------------------- */

/* JSON of a program that is not PyTorch's: what is missing is recorded by ours. */
static void hints_fit_who_wrote_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *end, *hint;
    } cases[] = {{"[", "]", "(nvtally record --trace kernel, on"},
                 {"{\"traceEvents\": [", "]}", "(nvtally record --trace kernel, on"},
                 {"{\"schemaVersion\": 1, \"traceEvents\": [", "]}", "ProfilerActivity.CUDA"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *path = cli_in(cli_folder, "tasks.json");
        struct nvt_buffer text = {0};
        assert_int_equal(
            nvt_buffer_printf(&text,
                              "%s{\"ph\": \"X\", \"cat\": \"task\", \"name\": \"task:step\", "
                              "\"pid\": 1, \"tid\": 1, \"ts\": 10, \"dur\": 5}%s",
                              cases[i].begin, cases[i].end),
            0);
        cli_write_file(path, text.data, text.size);
        nvt_buffer_free(&text);
        struct cli_result result = cli_run((const char *[]){"nvtally", "diagnose", path, NULL});
        cli_expect_status(&result, 0);
        if (!strstr(result.out, cases[i].hint))
            fail_msg("%s", result.out);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_traces_share_is_said_once),
        cmocka_unit_test(what_is_about_different_things_is_not_folded),
        cmocka_unit_test_setup_teardown(hints_fit_who_wrote_the_file, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(programs_get_every_finding, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test(times_have_three_digits_and_a_unit),
        cmocka_unit_test(moments_count_from_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
