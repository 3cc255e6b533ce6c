/*
 * --capture of some of the ranges of a name: these and what is in them, whole, and next to nothing of what is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../collectors/capture_wish.h"
#include "record_kit.h"

/* Record the client flight with that --capture, and what it said; events of all threads in the file. */
static struct nvt_trace *capture(const char *what, const char *ms, uint64_t *events)
{
    const char *argv[] = {"nvtally", "record", "--trace",       "nvtx", "--capture",
                          what,      "-o",     recorded_path(), "--",   cli_client("flight"),
                          ms,        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *said = strstr(result.err, "nvtally: ");
    while (said && !strstr(said, " events of "))
        said = strstr(said + 1, "nvtally: ");
    *events = said ? strtoull(said + strlen("nvtally: "), NULL, 10) : 0;
    assert_null(strstr(result.err, "were lost"));
    cli_result_free(&result);
    return recorded_trace();
}

static void counts_ranges_from_zero(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture("step@train/100-104", "1000", &events);
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t number = 100;
    for (uint32_t i = 0; i < ranges->count; i++) {
        char text[20];
        snprintf(text, sizeof(text), "%lld", (long long)number);
        if (strcmp(nvt_name(trace, ranges->name[i]), "step"))
            continue;
        assert_string_equal(nvt_name(trace, ranges->payload[i]), text);
        number++;
    }
    assert_int_equal(number, 105);
    assert_int_equal(recorded_count(trace, "forward"), 5);
    assert_int_equal(recorded_count(trace, "kernel"), 250);
    assert_int_equal(recorded_count(trace, "epoch"), 0);
    assert_int_equal(recorded_count(trace, "main"), 0);
    assert_int_equal(trace->marks.count, 5);
    /* Begun within, and ended later by another thread. */
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!strcmp(nvt_name(trace, ranges->name[i]), "request"))
            assert_false(ranges->flags[i] & NVT_RANGE_UNCLOSED);
    /* Of some 50,000 that the program made. Of each step: 2 x 52, a mark; some requests; ends of what was open. */
    if (events < 500 || events > 700)
        fail_msg("%llu events", (unsigned long long)events);
    nvt_trace_free(trace);
}

static void captures_one(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture("hundred/1", "600", &events);
    assert_int_equal(recorded_count(trace, "hundred"), 1);
    assert_int_equal(recorded_count(trace, "step"), 100);
    assert_int_equal(recorded_count(trace, "kernel"), 5000);
    assert_true(events < 11000);
    nvt_trace_free(trace);
}

/* All of them, as without numbers: between two of them nothing is written. */
static void captures_all(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture("forward", "500", &events);
    uint32_t forward = recorded_count(trace, "forward");
    assert_true(forward > 50);
    assert_int_equal(recorded_count(trace, "kernel"), forward * 50);
    assert_int_equal(recorded_count(trace, "step"), 0);
    assert_true(events <= forward * 102 + 400);
    nvt_trace_free(trace);
}

static void says_that_there_were_not_so_many(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",   "record",
                          "--trace",   "nvtx",
                          "--capture", "step@train/1000000",
                          "-o",        recorded_path(),
                          "--",        cli_client("flight"),
                          "50",        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    if (!strstr(result.err, "nothing was captured: step@train/1000000 never began"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
}

static void parses_what_is_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *range;
        uint64_t from, to;
    } right[] = {{"step", "step", 0, UINT64_MAX},
                 {"step/3", "step", 3, 3},
                 {"step@train/3-17", "step@train", 3, 17},
                 {"a/b", "a/b", 0, UINT64_MAX},
                 {"a/b/0", "a/b", 0, 0},
                 {"a/5@*", "a/5@*", 0, UINT64_MAX},
                 {"a/-5", "a/-5", 0, UINT64_MAX},
                 {"a/5-", "a/5-", 0, UINT64_MAX},
                 {"a/5-6-7", "a/5-6-7", 0, UINT64_MAX},
                 {"/5", "/5", 0, UINT64_MAX}};
    static const char *const wrong[] = {"", "@train", "@/3", "step/5-3", "step@train/1-0"};
    struct nvt_capture_wish wish;
    struct nvt_error err = NVT_ERROR_INIT;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_int_equal(nvt_capture_wish_parse(right[i].text, &wish, &err), 0);
        assert_string_equal(wish.range, right[i].range);
        assert_true(wish.from == right[i].from && wish.to == right[i].to);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *argv[] = {"nvtally", "record", "--capture", wrong[i], "--", "true", NULL};
        assert_int_equal(nvt_capture_wish_parse(wrong[i], &wish, &err), -1);
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, "--capture");
        cli_result_free(&result);
    }
    const char *argv[] = {"nvtally", "record", "--capture", "cudaProfilerApi/3",
                          "--",      "true",   NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "only ranges are counted");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_ranges_from_zero),
        cmocka_unit_test(captures_one),
        cmocka_unit_test(captures_all),
        cmocka_unit_test(says_that_there_were_not_so_many),
        cmocka_unit_test(parses_what_is_wanted),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
