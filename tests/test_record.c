/*
 * The collector end to end: programs run under `nvtally record`, and what their traces then hold. What is kept when
 * something is killed or full: test_record_losses.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "record_kit.h"

static void assert_name(const struct nvt_trace *trace, uint32_t id, const char *expected)
{
    assert_string_equal(nvt_name(trace, id), expected);
}

/* --- what is recorded ------------------------------------------------------------------------------ */

static void check_plain(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    static const char *const inner[] = {
        "reused buffer one", "reused buffer two", "wide \xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80",
        "a name that is much longer than the thirty-one bytes of the short way",
        "quote \" comma , pipe | tab\tline\nend _ & %"};
    uint32_t outer = recorded_range(trace, "outer");
    assert_int_equal(ranges->level[outer], 0);
    assert_int_equal(ranges->children[outer], 7);
    for (size_t i = 0; i < NVT_COUNT_OF(inner); i++) {
        uint32_t row = recorded_range(trace, inner[i]);
        assert_int_equal(ranges->parent[row], outer);
        assert_int_equal(ranges->level[row], 1);
        assert_true(ranges->start[row] >= ranges->start[outer]);
        assert_true(ranges->end[row] <= ranges->end[outer]);
    }
    assert_int_equal(recorded_count(trace, ""), 2);
    assert_int_equal(ranges->style[recorded_range(trace, "started")], NVT_START_END);
    assert_int_equal(ranges->style[recorded_range(trace, "started wide")], NVT_START_END);
    assert_true(ranges->flags[recorded_range(trace, "never ended")] & NVT_RANGE_UNCLOSED);
    assert_true(ranges->flags[recorded_range(trace, "never popped")] & NVT_RANGE_UNCLOSED);
    recorded_mark(trace, "a mark");
    recorded_mark(trace, "a wide mark");
}

static void check_domain(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t first = recorded_range(trace, "registered"),
             second = recorded_range(trace, "registered wide");
    assert_name(trace, trace->domains.name[ranges->domain[first]], "my, domain");
    assert_name(trace, ranges->category[first], "network");
    assert_true(ranges->flags[first] & NVT_RANGE_HAS_COLOR);
    assert_int_equal(ranges->color[first], 0xff3366cc);
    assert_name(trace, ranges->payload[first], "2.5");
    assert_int_equal(ranges->parent[second], first);
    assert_name(trace, ranges->category[second], "8");
    assert_false(ranges->flags[second] & NVT_RANGE_HAS_COLOR);
    assert_name(trace, ranges->payload[second], "-42");
    uint32_t mark = recorded_mark(trace, "domain mark");
    assert_name(trace, trace->marks.payload[mark], "4000000000");
    assert_name(trace, trace->domains.name[trace->marks.domain[mark]], "my, domain");
    assert_int_equal(ranges->style[recorded_range(trace, "domain start")], NVT_START_END);
    assert_int_equal(trace->domains.count, 2);
}

static void records_everything_that_nvtx_has(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("everything", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    check_plain(trace);
    check_domain(trace);
    assert_name(trace, trace->ranges.payload[recorded_range(trace, "with schema")],
                "{\"rank\":-3,\"fruit\":\"pear\",\"seconds\":0.125,\"name\":\"a \\\"pointed\\\" "
                "text\",\"code\":\"ab\",\"inner\":{\"ratio\":1.5,\"counts\":[1,2,65535]}}");
    assert_name(trace, trace->ranges.payload[recorded_range(trace, "payload at the end")], "99");
    assert_int_equal(trace->threads.count, 1);
    assert_name(trace, trace->threads.name[0], "the main thread");
    assert_int_equal(trace->resources.count, 1);
    assert_name(trace, trace->resources.name[0], "first device");
    nvt_trace_free(trace);
}

static void records_cpp_clients(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("scoped", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t scoped = recorded_range(trace, "scoped");
    assert_int_equal(recorded_count(trace, "main"), 1);
    assert_int_equal(recorded_count(trace, "unique"), 1);
    assert_name(trace, trace->domains.name[trace->ranges.domain[scoped]], "a C++ library");
    assert_name(trace, trace->ranges.category[scoped], "network");
    assert_name(trace, trace->ranges.payload[scoped], "17");
    assert_int_equal(trace->ranges.color[scoped], 0xff010203);
    recorded_mark(trace, "marked");
    nvt_trace_free(trace);
}

/* A report says how its trace came about, with the options of the recording. */
static void tells_by_which_command_it_was_recorded(void **state)
{
    (void)state;
    const char *trace = recorded_in("by options.nvt"), *path = recorded_in("told.md");
    struct cli_result result =
        cli_run((const char *[]){"nvtally", "record", "--trace", "nvtx", "--level", "3", "-o",
                                 trace, "--", cli_client("scoped"), "two words", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run((const char *[]){"nvtally", "report", trace, "-o", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char line[4000], *text = cli_read_file(path, NULL);
    snprintf(line, sizeof(line),
             "sh\nnvtally record --trace nvtx --level 3 -o '%s' -- %s 'two words'\n", trace,
             cli_client("scoped"));
    assert_non_null(text);
    if (!strstr(text, line))
        fail_msg("no %s in\n%s", line, text);
    free(text);
}

/* Ranges "name 0" to "name N-1", and that once more. Of those that begin at the same tick, as short ones do where the
 * clock is slow, the longest comes first. */
static void expect_numbers_in_turn(const struct nvt_trace *trace, uint32_t numbers)
{
    const int64_t *start = trace->ranges.start;
    uint8_t *seen = calloc(numbers, 1);
    char name[32];
    assert_non_null(seen);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        uint32_t number = numbers;
        const char *is = nvt_name(trace, trace->ranges.name[i]);
        assert_true(sscanf(is, "name %" SCNu32, &number) == 1 && number < numbers);
        seen[number]++;
        snprintf(name, sizeof(name), "name %u", i % numbers);
        if ((!i || start[i - 1] != start[i]) &&
            (i + 1 == trace->ranges.count || start[i + 1] != start[i]))
            assert_string_equal(is, name);
    }
    for (uint32_t i = 0; i < numbers; i++)
        assert_int_equal(seen[i], 2);
    free(seen);
}

static void keeps_names_of_all_lengths_and_numbers(void **state)
{
    (void)state;
    char name[80];
    struct cli_result result = recorded_run("life", "lengths");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    for (int length = 1; length < 70; length++) {
        memset(name, 'a' + length % 26, sizeof(name));
        name[length] = 0;
        /* 'z' names of less than 39 bytes are made a fourth time, at a page's end. */
        uint32_t expected = length % 26 == 25 && length < 39 ? 4 : 3;
        assert_int_equal(recorded_count(trace, name), expected);
    }
    nvt_trace_free(trace);
    result = recorded_run("life", "names");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    assert_int_equal(trace->ranges.count, 40000);
    expect_numbers_in_turn(trace, 20000);
    nvt_trace_free(trace);
}

/* The reader takes pushes and pops without attributes by a short way of its own. */
static void closes_ranges_with_attributes(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "attributes");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "colored"), 3);
    assert_int_equal(recorded_count(trace, "plain"), 3);
    nvt_trace_free(trace);
}

static void pops_too_many_are_ignored(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "deep");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "deep"), 2000);
    assert_int_equal(trace->ranges.level[trace->ranges.count - 1], 1999);
    nvt_trace_free(trace);
}

static void keeps_more_definitions_than_a_chunk_holds(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "definitions");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    uint32_t row = recorded_range(trace, "defined");
    assert_int_equal(strlen(nvt_name(trace, trace->ranges.category[row])), 60000);
    nvt_trace_free(trace);
}

static void ends_ranges_that_another_thread_ends(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "hands_over");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    int64_t ended = trace->marks.time[recorded_mark(trace, "all ended")];
    assert_int_equal(recorded_count(trace, "handed over"), 200);
    assert_int_equal(trace->ranges.count, 200);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        assert_true(trace->ranges.end[i] >= trace->ranges.start[i]);
        assert_true(trace->ranges.end[i] <= ended);
        assert_int_not_equal(trace->ranges.end_thread[i], trace->ranges.thread[i]);
    }
    nvt_trace_free(trace);
}

/* --- bad use ----------------------------------------------------------------------------------------- */

/* A registered name takes no longer for the many that were registered before it: some three times as long as one by its text, and
   with lists of them it was a hundred times. By processor time, which a busy machine changes little. */
static void registers_names_by_the_hundred_thousand(void **state)
{
    (void)state;
    long long text_ns, registered_ns;
    const char *argv[] = {
        "nvtally", "record", "-o", recorded_path(), "--", cli_client("many_names"), "200000", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%lld %lld", &text_ns, &registered_ns), 2);
    if (registered_ns > 25 * text_ns)
        fail_msg("registered: %lld ns, by text: %lld ns", registered_ns, text_ns);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->ranges.count, 400000);
    recorded_range(trace, "registered 199999");
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_everything_that_nvtx_has),
        cmocka_unit_test(records_cpp_clients),
        cmocka_unit_test(tells_by_which_command_it_was_recorded),
        cmocka_unit_test(keeps_names_of_all_lengths_and_numbers),
        cmocka_unit_test(registers_names_by_the_hundred_thousand),
        cmocka_unit_test(closes_ranges_with_attributes),
        cmocka_unit_test(pops_too_many_are_ignored),
        cmocka_unit_test(keeps_more_definitions_than_a_chunk_holds),
        cmocka_unit_test(ends_ranges_that_another_thread_ends),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
