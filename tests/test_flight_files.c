/* Reading dumps of PyTorch's flight recorder: both forms, older ones, names, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/payload.h"
#include "../analyze/readers/flight.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "flight_kit.h"
#include "read_kit.h"
#include "trace_same.h"

static void entries_are_ranges(void **state)
{
    (void)state;
    char text[64];
    flight_begin(20);
    flight_call(0, 1, "completed");
    flight_call(0, 2, "started");
    struct nvt_trace *trace = kit_read(flight_write_dump(0));
    assert_string_equal(trace->format, "flight");
    assert_int_equal(trace->origin_ns, BEGIN + S);
    assert_int_equal(trace->ranges.count, 2);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "all_reduce");
    assert_int_equal(trace->ranges.start[0], 0);
    assert_int_equal(trace->ranges.end[0], S / 2);
    assert_int_equal(trace->ranges.flags[0] & NVT_RANGE_UNCLOSED, 0);
    assert_int_equal(trace->ranges.start[1], S);
    assert_int_not_equal(trace->ranges.flags[1] & NVT_RANGE_UNCLOSED, 0);
    assert_int_equal(trace->threads.tid[trace->ranges.thread[0]], 7);
    const char *payload = nvt_name(trace, trace->ranges.payload[1]);
    assert_string_equal(nvt_member_text(payload, "\"given\"", text, sizeof(text)), "[4, 8] Float");
    assert_string_equal(nvt_member_text(payload, "\"stack\"", text, sizeof(text)),
                        "step (train.py:12)");
    assert_string_equal(nvt_name(trace, trace->collectives.members[0]), "0,1,2,3");
    assert_string_equal(nvt_trace_meta(trace, "NCCL"), "2.27.5");
    nvt_trace_free(trace);
}

/* Whether it is JSON or a pickle. */
static void both_forms_are_the_same(void **state)
{
    (void)state;
    char text[200];
    struct nvt_buffer pickle = {0};
    flight_begin(20);
    for (int i = 1; i < 9; i++)
        flight_call(1, i, i < 8 ? "completed" : "started");
    const char *json = flight_write_dump(1);
    struct nvt_trace *left = kit_read(json);
    assert_int_equal(nvt_json_as_pickle(json, &pickle, NULL), 0);
    const char *path = cli_in(cli_folder, "rank1.pickle");
    cli_write_file(path, pickle.data, pickle.size);
    const struct timespec times[2] = {{BEGIN / S + 20, 0}, {BEGIN / S + 20, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct nvt_trace *right = kit_read(path);
    const char *difference = trace_difference(left, right, text, sizeof(text));
    if (difference)
        fail_msg("%s", difference);
    nvt_trace_free(left);
    nvt_trace_free(right);
    nvt_buffer_free(&pickle);
}

static void the_rank_is_at_the_end_of_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t rank;
    } cases[] = {{"dump_12", 12},    {"fr-3.json", 3},          {"x_rank_4", NVT_NONE},
                 {"dump", NVT_NONE}, {"99999999999", NVT_NONE}, {"rank2_try3", NVT_NONE}};
    size_t size;
    flight_begin(20);
    flight_call(0, 1, "completed");
    char *bytes = cli_read_file(flight_write_dump(0), &size);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *path = cli_in(cli_folder, cases[i].name);
        cli_write_file(path, bytes, size);
        struct nvt_trace *trace = kit_read(path);
        assert_int_equal(trace->processes.rank[0], cases[i].rank);
        nvt_trace_free(trace);
    }
    free(bytes);
}

/* PyTorch 2.2 to 2.4. */
static void older_ones_are_read(void **state)
{
    (void)state;
    char text[40];
    struct nvt_trace *trace = kit_read_text(
        "older",
        "{\"version\": \"1.5\", \"entries\": [{\"record_id\": 0, \"pg_id\": 3, \"seq_id\": "
        "6, \"profiling_name\": \"nccl:all_gather\", \"time_created_ns\": 5000, "
        "\"input_sizes\": [[2]], \"state\": \"scheduled\", \"frames\": []}]}");
    const char *payload = nvt_name(trace, trace->ranges.payload[0]);
    assert_string_equal(nvt_member_text(payload, "\"group\"", text, sizeof(text)), "3");
    assert_true(nvt_member_number(payload, "\"sequence\"") == 6);
    assert_string_equal(nvt_member_text(payload, "\"given\"", text, sizeof(text)), "[2]");
    nvt_trace_free(trace);
}

static void names_and_numbers_may_be_anything(void **state)
{
    (void)state;
    char text[80];
    struct nvt_trace *trace = kit_read_text(
        "odd",
        "{\"pg_config\": {\"a\\\"b\": {\"desc\": 5, \"ranks\": \"[18446744073709551616, x]\"}}, "
        "\"pg_status\": 0, \"entries\": [{\"process_group\": [\"a\\\"b\\n\", null], "
        "\"profiling_name\": \"\", \"time_created_ns\": -5, \"collective_seq_id\": -1, \"frames\": "
        "[1, {\"name\": \"f\"}], \"input_sizes\": [3, [null]], \"state\": 7}, "
        "{\"time_created_ns\": "
        "9223372036854775807, \"profiling_name\": \":::send 9999999999999999999->1\", \"is_p2p\": "
        "true}, {\"profiling_name\": \"gather\\u0000 of something longer:all_reduce\"}]}");
    assert_int_equal(trace->ranges.count, 3);
    assert_string_equal(nvt_name(trace, trace->ranges.name[1]), "gather");
    assert_string_equal(
        nvt_member_text(nvt_name(trace, trace->ranges.payload[0]), "\"group\"", text, sizeof(text)),
        "a\"b\n");
    nvt_trace_free(trace);
}

static void bad_ones_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": 3}", "has no list of entries"},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": [4]}", "entry 1 is no dict"},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": [{}, {}, []]}", "entry 3 is no dict"},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": [{", ""},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": []} x", ""},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *path = cli_in(cli_folder, "bad");
        cli_write_file(path, cases[i].text, strlen(cases[i].text));
        kit_expect_unreadable(path, cases[i].reason);
        const char *command[] = {"nvtally", "diagnose", path, NULL};
        struct cli_result result = cli_run(command);
        cli_expect_failure(&result, cases[i].reason);
        cli_result_free(&result);
    }
    kit_survives_changed_bytes(flight_by_pytorch[0], "changed_rank_0", 400);
    kit_survives_changed_bytes("tests/fuzz/corpus/flight/rank_0.json", "changed.json", 400);
}

static void stats_and_diagnose_read_them(void **state)
{
    (void)state;
    const char *command[] = {
        "nvtally", "diagnose", flight_by_pytorch[0], flight_by_pytorch[1], flight_by_pytorch[2],
        NULL};
    struct cli_result result = cli_run(command);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "1  stuck collective"));
    cli_result_free(&result);
    const char *folder[] = {"nvtally", "diagnose", "tests/fuzz/corpus/flight", NULL};
    result = cli_run(folder); /* with rank 0 as JSON besides, which is of another run */
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "rank 1 has not reached all_reduce 4"));
    cli_result_free(&result);
    const char *sql[] = {"nvtally",
                         "sql",
                         "-f",
                         "csv",
                         flight_by_pytorch[0],
                         "SELECT count(*) AS calls FROM ranges WHERE name = 'all_reduce'",
                         NULL};
    result = cli_run(sql);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "4"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_ranges),
        cmocka_unit_test(both_forms_are_the_same),
        cmocka_unit_test(the_rank_is_at_the_end_of_the_name),
        cmocka_unit_test(older_ones_are_read),
        cmocka_unit_test(names_and_numbers_may_be_anything),
        cmocka_unit_test(bad_ones_are_refused),
        cmocka_unit_test(stats_and_diagnose_read_them),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
