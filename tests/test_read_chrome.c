/* The reader of Chrome traces, over texts as other tools write them, and over texts made to harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/kineto.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "kineto_kit.h"
#include "read_kit.h"

static void expect_error(const char *text, const char *needle)
{
    kit_expect_unreadable(kineto_make_file(text), needle);
}

/* Any one event, in the array form. */
static void reads_other_tools(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "[{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":2,\"ts\":10},\n"
        "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":2,\"ts\":20},\n"
        "{\"ph\":\"B\",\"name\":\"elsewhere\",\"pid\":1,\"tid\":3,\"ts\":22},\n"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":30},\n"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":40},\n"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":45},\n" /* of something before the trace */
        "{\"ph\":\"b\",\"cat\":\"io\",\"id\":\"0x1\",\"name\":\"read\",\"pid\":1,\"tid\":2,"
        "\"ts\":5},\n"
        "{\"ph\":\"b\",\"cat\":\"io\",\"id\":2,\"name\":\"write\",\"pid\":1,\"tid\":2,\"ts\":6},\n"
        "{\"ph\":\"e\",\"cat\":\"io\",\"id\":\"0x1\",\"pid\":1,\"tid\":3,\"ts\":50},\n"
        "{\"ph\":\"e\",\"cat\":\"io\",\"id\":7,\"pid\":1,\"tid\":3,\"ts\":50},\n"
        "{\"ph\":\"e\",\"cat\":\"io\",\"id\":2,\"pid\":1,\"tid\":2,\"ts\":60},\n"
        "{\"ph\":\"I\",\"name\":\"now\",\"pid\":\"main\",\"tid\":\"ui\",\"ts\":\"1.5\"},\n"
        "{\"ph\":\"C\",\"name\":\"ctr\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"v\":1}},\n"
        "null,{}]");
    const struct nvt_ranges *ranges = &trace->ranges;
    assert_int_equal(ranges->count, 5);
    assert_string_equal(nvt_name(trace, ranges->name[0]), "read");
    assert_int_equal(ranges->style[0], NVT_START_END);
    assert_int_equal(ranges->end[0], 50000);
    assert_int_equal(trace->threads.tid[ranges->end_thread[0]], 3);
    assert_int_equal(ranges->end[1], 60000);
    assert_string_equal(nvt_name(trace, ranges->name[2]), "outer");
    assert_int_equal(ranges->end[2], 40000);
    assert_int_equal(ranges->parent[3], 2);
    assert_int_equal(ranges->end[3], 30000);
    assert_int_equal(ranges->flags[3], 0);
    assert_string_equal(nvt_name(trace, ranges->name[4]), "elsewhere");
    assert_int_equal(ranges->flags[4], NVT_RANGE_UNCLOSED);
    assert_int_equal(ranges->end[4], 50000);
    assert_int_equal(trace->marks.count, 1);
    assert_int_equal(trace->marks.time[0], 1500);
    assert_string_equal(nvt_name(trace, trace->threads.name[trace->marks.thread[0]]), "ui");
    nvt_trace_free(trace);
}

/* As CUPTI has it where there was no time. */
static void leaves_out_what_ends_before_it_begins(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":-1},"
        "\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":0},\n"
        "{\"ph\":\"B\",\"name\":\"late\",\"pid\":1,\"tid\":2,\"ts\":50},\n"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":40},\n"
        "{\"ph\":\"B\",\"name\":\"good\",\"pid\":1,\"tid\":2,\"ts\":60},\n"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":70},\n"
        "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":2,\"ts\":80}]");
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.start[0], 2000);
    /* That end comes before "late", in time: it is not of that. */
    assert_int_equal(trace->ranges.count, 3);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "late");
    assert_int_equal(trace->ranges.flags[0], NVT_RANGE_UNCLOSED);
    assert_string_equal(nvt_name(trace, trace->ranges.name[1]), "good");
    assert_int_equal(trace->ranges.end[1], 70000);
    assert_string_equal(nvt_name(trace, trace->ranges.name[2]), "open");
    assert_int_equal(trace->ranges.flags[2], NVT_RANGE_UNCLOSED);
    assert_string_equal(trace->notes,
                        "left out: events without times, or that end before they begin (1)\n");
    nvt_trace_free(trace);
}

/* Numbers below -1 are names of their own: they once took that of another text. */
static void owners_below_zero_have_their_numbers_for_names(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "[{\"ph\": \"X\", \"name\": \"a\", \"cat\": \"user_annotation\", \"pid\": -2, \"tid\": "
        "-77, "
        "\"ts\": 1, \"dur\": 2},"
        "{\"ph\": \"X\", \"name\": \"b\", \"cat\": \"user_annotation\", \"pid\": -1, \"tid\": 5, "
        "\"ts\": 1, \"dur\": 2}]");
    assert_int_equal(trace->processes.count, 2);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "-2");
    assert_string_equal(nvt_name(trace, trace->processes.name[1]), "");
    assert_string_equal(nvt_name(trace, trace->threads.name[0]), "-77");
    assert_int_equal(trace->threads.tid[0], -1);
    assert_int_equal(trace->threads.tid[1], 5);
    nvt_trace_free(trace);
}

static void lets_the_array_end_without_its_bracket(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},\n");
    assert_int_equal(trace->ranges.count, 1);
    assert_null(trace->warning);
    nvt_trace_free(trace);
}

#define WHOLE_EVENT "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}"

static void reads_whole_events_before_a_cut(void **state)
{
    (void)state;
    static const char *const cut[] = {"{\"traceEvents\":[" WHOLE_EVENT ",",
                                      "{\"traceEvents\":[" WHOLE_EVENT ",{\"ph\":\"X\",\"na",
                                      "{\"traceEvents\":[" WHOLE_EVENT "],\"traceName",
                                      "[" WHOLE_EVENT ",{\"ph\":\"X\",\"args\":{\"grid\":[1"};
    for (size_t i = 0; i < NVT_COUNT_OF(cut); i++) {
        struct nvt_trace *trace = kineto_read_text(cut[i]);
        assert_int_equal(trace->ranges.count, 1);
        assert_string_equal(
            trace->warning,
            "ends in the middle, after event 1: what was written until then was read");
        assert_true(trace->is_truncated);
        nvt_trace_free(trace);
    }
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,", "ends in the middle");
    expect_error("{\"schemaVersion\":1,\"traceEvents\":[", "ends in the middle");
}

static void warns_of_a_profile_without_events(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text("{\"schemaVersion\":1,\"traceEvents\":[]}");
    assert_string_equal(trace->warning, "is a profile without any event");
    assert_false(trace->is_truncated);
    nvt_trace_free(trace);
}

/* Two ranks' operations with one correlation id, in one file, are of the process that called. */
static void knows_whose_operations_they_are(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
        "\"ts\":5,\"dur\":1,\"args\":{\"correlation\":2}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"c\",\"pid\":10,\"tid\":10,\"ts\":1,"
        "\"dur\":1,\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"c\",\"pid\":20,\"tid\":20,\"ts\":1,"
        "\"dur\":1,\"args\":{\"correlation\":2}}]}");
    assert_int_equal(trace->processes.pid[trace->ops.process[0]], 20);
    assert_int_equal(trace->threads.tid[trace->ops.thread[0]], 20);
    nvt_trace_free(trace);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    expect_error("{\"a\": 1}", "holds no trace events");
    expect_error("{\"rocprofiler-sdk-tool\": []}", "is rocprofv3's JSON");
    expect_error("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"}",
                 "speedscope");
    expect_error("[]", "holds no trace events");
    expect_error("[{\"a\": 1}]", "holds no trace events");
    expect_error("{\"traceEvents\": 5}", "'traceEvents' is not a list");
    expect_error("{\"traceEvents\": {\"a\": 1}}", "'traceEvents' is not a list");
    expect_error("[1, 2]", "event 1 is not an object");
    expect_error("[[]]", "event 1 is not an object");
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"dur\":1}]", "event 1 ('a') has a 'ts'");
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":[1],\"dur\":1}]", "'ts'");
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":\"long\"}]", "'dur'");
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1e300,\"dur\":1}]",
                 "out of range (ns or ticks");
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":99999999999999999999,\"dur\":1}]", "'ts'");
    expect_error("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":NaN,\"dur\":1}]", "is not JSON");
    expect_error("[{\"ph\":\"X\" \"name\":1}]", "(at byte ");
    expect_error("[{\"ph\":\"i\",\"name\":\"a\\nb\x01\"}]", "is not JSON"); /* and has no ts */
    expect_error("[] []", "is several JSON values one after the other");
    expect_error("[}", "is not JSON");
}

static int has_note(const struct nvt_trace *trace, const char *words)
{
    return trace->notes && strstr(trace->notes, words);
}

/* One odd value costs the value, or the event that it stands in, and is counted. */
static void odd_values_cost_themselves(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "{\"schemaVersion\":1,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy\",\"pid\":0,\"tid\":7,\"ts\":10,"
        "\"dur\":2,"
        "\"args\":{\"device\":0,\"stream\":7,\"bytes\":0x10,\"memory bandwidth (GB/s)\":inf}},"
        "{\"ph\":\"X\",\"name\":\"lib\\os.py\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":5,},"
        "{\"ph\":\"X\",\"name\":\"late\",\"pid\":1,\"tid\":1,\"ts\":nan,\"dur\":5},"
        "{\"ph\":\"X\",\"name\":\"far\",\"pid\":1,\"tid\":1,\"ts\":1e300,\"dur\":5},]}");
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.bytes[0], 16);
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "lib\\os.py");
    assert_true(has_note(trace, "needless commas and comments (6)"));
    assert_true(has_note(trace, "(microseconds belong there) (2)"));
    nvt_trace_free(trace);
}

static void ends_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *events;
        int64_t outer, leaf; /* ns; -1: it never ends */
    } cases[] = {
        {"{\"ph\":\"B\",\"name\":\"outer\",\"ts\":0},{\"ph\":\"B\",\"name\":\"leaf\",\"ts\":10},"
         "{\"ph\":\"E\",\"name\":\"outer\",\"ts\":100}",
         100000, -1},
        {"{\"ph\":\"B\",\"name\":\"outer\",\"ts\":0},{\"ph\":\"E\",\"name\":\"leaf\",\"ts\":20},"
         "{\"ph\":\"B\",\"name\":\"leaf\",\"ts\":20},{\"ph\":\"E\",\"name\":\"outer\",\"ts\":100}",
         100000, 0},
        {"{\"ph\":\"B\",\"name\":\"outer\",\"ts\":0},{\"ph\":\"B\",\"name\":\"leaf\",\"ts\":10},"
         "{\"ph\":\"E\",\"ts\":30},{\"ph\":\"E\",\"ts\":100}",
         100000, 20000},
        {"{\"ph\":\"E\",\"name\":\"other\",\"ts\":0},{\"ph\":\"B\",\"name\":\"outer\",\"ts\":0},"
         "{\"ph\":\"B\",\"name\":\"leaf\",\"ts\":10},{\"ph\":\"E\",\"name\":\"leaf\",\"ts\":30},"
         "{\"ph\":\"E\",\"name\":\"outer\",\"ts\":100}",
         100000, 20000},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "[%s]", cases[i].events);
        struct nvt_trace *trace = kineto_read_text(text);
        assert_int_equal(trace->ranges.count, 2);
        for (uint32_t k = 0; k < 2; k++) {
            const int is_outer = !strcmp(nvt_name(trace, trace->ranges.name[k]), "outer");
            const int64_t ns = is_outer ? cases[i].outer : cases[i].leaf;
            const int is_open = trace->ranges.flags[k] & NVT_RANGE_UNCLOSED;
            assert_int_equal(is_open != 0, ns < 0);
            if (!is_open)
                assert_int_equal(trace->ranges.end[k] - trace->ranges.start[k], ns);
        }
        nvt_trace_free(trace);
    }
}

static void old_asynchronous_events_are_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        kineto_read_text("[{\"ph\":\"S\",\"cat\":\"io\",\"id\":\"1\",\"name\":\"load\",\"ts\":0},"
                         "{\"ph\":\"T\",\"cat\":\"io\",\"id\":\"1\",\"name\":\"load\",\"ts\":5},"
                         "{\"ph\":\"F\",\"cat\":\"io\",\"id\":\"1\",\"name\":\"load\",\"ts\":100},"
                         "{\"ph\":\"s\",\"id\":1,\"ts\":5},{\"ph\":\"O\",\"id\":1,\"ts\":5}]");
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->ranges.end[0] - trace->ranges.start[0], 100000);
    assert_int_equal(trace->ranges.style[0], NVT_START_END);
    assert_true(
        has_note(trace, "flows (1), steps of asynchronous events (1), states of objects (1)"));
    nvt_trace_free(trace);
}

/* Each number of a counter's event is a series; the phase may come last. */
static void counters_are_read(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(
        "[{\"ph\":\"X\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100},"
        "{\"ph\":\"C\",\"name\":\"queue\",\"pid\":1,\"ts\":10,\"args\":{\"depth\":3,"
        "\"name\":\"q\"}},"
        "{\"name\":\"queue\",\"pid\":1,\"ts\":50,\"args\":{\"depth\":9.5,\"waiting\":2},"
        "\"ph\":\"C\"},"
        "{\"ph\":\"C\",\"name\":\"load\",\"pid\":2,\"ts\":60,\"args\":{\"value\":0.5}}]");
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    static const char *const names[] = {"queue depth", "queue waiting", "load"};
    assert_int_equal(trace->counters.count, 3);
    assert_int_equal(samples->count, 4);
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(nvt_name(trace, trace->counters.name[i]), names[i]);
    assert_true(samples->value[0] == 3 && samples->value[1] == 9.5 && samples->value[3] == 0.5);
    assert_int_equal(samples->time[1] - samples->time[0], 40000);
    assert_int_equal(trace->threads.tid[samples->thread[0]], 1); /* no lane of their own */
    nvt_trace_free(trace);
}

static void bounds_depth_and_length(void **state)
{
    (void)state;
    char *text = malloc(6 << 20);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "{\"x\":");
    memset(text + at, '[', 100);
    text[at + 100] = '\0';
    expect_error(text, "nests deeper than 64 levels");
    at = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"");
    memset(text + at, 'n', 5 << 20);
    memcpy(text + at + (5 << 20), "\"}]", sizeof("\"}]"));
    expect_error(text, "value longer than");
    free(text);
}

/* As much of a number as can be kept, exactly. */
static void parses_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int power;
        int64_t value; /* INT64_MIN: no number */
    } cases[] = {
        {"0", 3, 0},
        {"1", 3, 1000},
        {"-1.5", 3, -1500},
        {"100.123", 3, 100123},
        {"100.1234", 3, 100123},
        {"100.1235", 3, 100124},
        {"-100.1235", 3, -100124},
        {"1.5e3", 0, 1500},
        {"15E-1", 0, 2},
        {"1e-400", 3, 0},
        {"0.0000000000000000000000001", 3, 0},
        {"1712000000000000.123", 3, INT64_C(1712000000000000123)},
        {"4611686018427387903", 0, (INT64_C(1) << 62) - 1},
        {"4611686018427387904", 0, INT64_MIN},
        {"1e19", 0, INT64_MIN},
        {"1e999999999999", 0, INT64_MIN},
        {"", 0, INT64_MIN},
        {"-", 0, INT64_MIN},
        {".", 0, INT64_MIN},
        {"1.2.3", 0, INT64_MIN},
        {"1e", 0, INT64_MIN},
        {"0x10", 0, INT64_MIN},
        {"12 ", 0, INT64_MIN},
        {"nan", 0, INT64_MIN},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        int64_t value = INT64_MIN;
        int status = nvt_parse_scaled(cases[i].text, strlen(cases[i].text), cases[i].power, &value);
        if (value != cases[i].value || (status != 0) != (value == INT64_MIN))
            fail_msg("%s gives %lld", cases[i].text, (long long)value);
    }
}

/* With a format and without -r: the ranges where there are any, else the device's operations, else the calls. */
static void the_report_is_one_that_fits(void **state)
{
    (void)state;
    static const char *const events[][2] = {
        {"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": "
         "1, "
         "\"dur\": 2, \"args\": {\"device\": 0, \"stream\": 7}}",
         "[summary]"},
        {"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaFree\", \"pid\": 1, \"tid\": "
         "1, "
         "\"ts\": 1, \"dur\": 2}",
         "[cuda_api_sum]"},
        {"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, "
         "\"ts\": "
         "1, \"dur\": 2}, {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, "
         "\"tid\": "
         "7, \"ts\": 1, \"dur\": 2}",
         "[summary]"},
        {"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, "
         "\"ts\": 1, \"dur\": 2}",
         "[nvtx_sum]"}};
    char text[2000];
    for (size_t i = 0; i < NVT_COUNT_OF(events); i++) {
        snprintf(text, sizeof(text), "{\"schemaVersion\": 1, \"traceEvents\": [%s]}", events[i][0]);
        const char *argv[] = {"nvtally", "stats", "-f", "column", kineto_make_file(text), NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, events[i][1]));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_other_tools),
        cmocka_unit_test(leaves_out_what_ends_before_it_begins),
        cmocka_unit_test(owners_below_zero_have_their_numbers_for_names),
        cmocka_unit_test(lets_the_array_end_without_its_bracket),
        cmocka_unit_test(reads_whole_events_before_a_cut),
        cmocka_unit_test(warns_of_a_profile_without_events),
        cmocka_unit_test(knows_whose_operations_they_are),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(odd_values_cost_themselves),
        cmocka_unit_test(ends_have_names),
        cmocka_unit_test(old_asynchronous_events_are_ranges),
        cmocka_unit_test(counters_are_read),
        cmocka_unit_test(bounds_depth_and_length),
        cmocka_unit_test(parses_numbers),
        cmocka_unit_test(the_report_is_one_that_fits),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
