/*
 * --trace nccl: what NCCL says to its profiler plugin, by a stand-in that calls each version of it (tests/clients/nccl_calls.c). No
 * NCCL and no device take part: nothing here says what NCCL itself does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "record_kit.h"

static struct cli_result record(const char *version, const char *how)
{
    return cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", "nccl", "-o",
                                         recorded_path(), "--", cli_client("nccl_calls"), version,
                                         how, NULL});
}

/* The n-th range of that name. */
static uint32_t range(const struct nvt_trace *trace, const char *name, int number)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name) && !number--)
            return i;
    fail_msg("no range %s", name);
    return 0;
}

static void expect_payload(const struct nvt_trace *trace, uint32_t row, const char *part)
{
    const char *payload = nvt_name(trace, trace->ranges.payload[row]);
    assert_true(trace->ranges.flags[row] & NVT_RANGE_HAS_PAYLOAD);
    if (!strstr(payload, part))
        fail_msg("no %s in %s", part, payload);
}

static void check_ranges(const struct nvt_trace *trace, int version)
{
    const int64_t at_least = version < 4 ? 0 : 3000000;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_string_equal(nvt_domain_name(trace, trace->ranges.domain[i]), "NCCL profiler");
    for (int i = 0; i < 2; i++) {
        const uint32_t row = range(trace, "AllReduce", i);
        assert_true(trace->ranges.end[row] - trace->ranges.start[row] >= at_least);
        assert_false(trace->ranges.flags[row] & NVT_RANGE_UNCLOSED);
        expect_payload(trace, row,
                       "{\"group\":\"tp\",\"type\":\"float32\",\"algorithm\":\"RING\",\"protocol\":"
                       "\"LL\",\"communicator\":4369,");
        expect_payload(trace, row, i ? "\"sequence\":1," : "\"sequence\":0,");
        expect_payload(trace, row, "\"bytes given\":4096,\"bytes taken\":4096,");
        expect_payload(trace, row, version < 4 ? "\"until done\":0" : "\"until done\":1");
    }
    /* When collectives begin on the device is known as long as channels are. */
    uint32_t begins = 0;
    for (uint32_t i = 0; i < trace->marks.count; i++) {
        const char *payload = nvt_name(trace, trace->marks.payload[i]);
        assert_string_equal(nvt_name(trace, trace->marks.name[i]), "begins on the device");
        begins += strstr(payload, "{\"communicator\":4369,\"sequence\":") != NULL;
    }
    assert_int_equal(begins, version < 4 ? 0 : 2);
    assert_int_equal(trace->marks.count, version < 4 ? 0 : 3);
    const uint32_t gather = range(trace, "AllGather", 0), send = range(trace, "Send", 0);
    expect_payload(trace, gather, "\"group\":\"NCCL 2222\",\"type\":\"bfloat16\"");
    expect_payload(trace, send, "\"bytes given\":10,\"bytes taken\":0,");
    expect_payload(trace, send, "\"peer\":3,");
    if (version >= 4) {
        expect_payload(trace, gather, "\"bytes given\":200,\"bytes taken\":800,\"ranks\":4,");
        expect_payload(trace, gather, "\"rank in group\":3,");
    }
    /* Two channels of each all-reduce, one of the others, and another process's. */
    assert_int_equal(recorded_count(trace, "network send"), 7);
    expect_payload(trace, range(trace, "network send", 0),
                   "\"communicator\":4369,\"sequence\":0,\"channel\":0,\"peer\":1,\"steps\":8,");
    expect_payload(trace, range(trace, "network send", 4),
                   "\"communicator\":18446744073709551615,");
}

static void each_version_is_served(void **state)
{
    (void)state;
    for (int version = 1; version <= 6; version++) {
        char text[8];
        snprintf(text, sizeof(text), "%d", version);
        struct cli_result result = record(text, NULL);
        cli_expect_status(&result, 0);
        assert_string_equal(result.out, "ends\n");
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        check_ranges(trace, version);
        nvt_trace_free(trace);
    }
}

/* What was running when the process was killed is in the trace, and open. */
static void a_kill_leaves_what_hangs(void **state)
{
    (void)state;
    struct cli_result result = record("5", "hang");
    assert_true(result.status == 128 + 9 || result.signal == 9);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const uint32_t row = range(trace, "AllReduce", 1);
    assert_true(trace->ranges.flags[row] & NVT_RANGE_UNCLOSED);
    expect_payload(trace, row, "\"sequence\":1,");
    assert_false(trace->ranges.flags[range(trace, "AllReduce", 0)] & NVT_RANGE_UNCLOSED);
    nvt_trace_free(trace);
}

/* Sizes and counts; a launch is no communication, and how long one took is not known then. */
static void the_report_knows_them(void **state)
{
    (void)state;
    for (int version = 3; version <= 6; version += 3) {
        struct cli_result result = record(version == 3 ? "3" : "6", NULL);
        cli_result_free(&result);
        result = cli_run((const char *const[]){"nvtally", "stats", "-r", "collectives", "-f", "csv",
                                               recorded_path(), NULL});
        cli_expect_status(&result, 0);
        assert_int_equal(strstr(result.out, "AllReduce,float32,2,4096,2,") != NULL, version == 6);
        assert_int_equal(strstr(result.out, "AllGather,bfloat16,4,800,1,") != NULL, version == 6);
        cli_result_free(&result);
    }
}

/* Each communicator and algorithm has a row, what hangs is open. */
static void expect_report(const char *version, const char *how, const char *const *rows)
{
    struct cli_result result = record(version, how);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "stats", "-r", "nccl", "-f", "csv",
                                           recorded_path(), NULL});
    cli_expect_status(&result, 0);
    for (int i = 0; rows[i]; i++)
        if (!strstr(result.out, rows[i]))
            fail_msg("no '%s' in\n%s", rows[i], result.out);
    cli_result_free(&result);
}

static void the_report_of_nccl(void **state)
{
    (void)state;
    expect_report("6", NULL,
                  (const char *const[]){"tp,AllReduce,float32,2,4096,RING,LL,2,2,0,",
                                        "NCCL 2222,AllGather,bfloat16,4,800,RING,LL,1,1,0,",
                                        "NCCL 2222,Send,int8,4,10,,,1,1,0,", NULL});
    expect_report("4", "hang",
                  (const char *const[]){"tp,AllReduce,float32,2,4096,RING,LL,2,2,1,", NULL});
    /* A launch has no time. */
    expect_report("2", NULL,
                  (const char *const[]){"tp,AllReduce,float32,,,RING,LL,,2,0,,,,,,,", NULL});
}

/* Who has a plugin of NCCL's already keeps it. */
static void another_plugin_stays(void **state)
{
    (void)state;
    struct cli_result result = cli_run_with(
        &(struct cli_options){.environment =
                                  (const char *[]){"NCCL_PROFILER_PLUGIN=inspector", NULL}},
        (const char *const[]){"nvtally", "record", "-f", "--trace", "nccl", "-o", recorded_path(),
                              "--", "sh", "-c", "echo $NCCL_PROFILER_PLUGIN", NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "inspector\n");
    assert_non_null(strstr(result.err, "NCCL has another profiler plugin already"));
    cli_result_free(&result);
}

static void nothing_is_said_to_be_so(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "-f", "--trace", "nccl", "-o", recorded_path(), "--", "true", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "NCCL said nothing"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_is_served), cmocka_unit_test(a_kill_leaves_what_hangs),
        cmocka_unit_test(the_report_knows_them),  cmocka_unit_test(the_report_of_nccl),
        cmocka_unit_test(another_plugin_stays),   cmocka_unit_test(nothing_is_said_to_be_so)};
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
