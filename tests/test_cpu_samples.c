/* Samples of what threads run in nsys's exports, over small files with its schema and over files made to harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "nsys_samples_kit.h"
#include "read_kit.h"

#ifdef HAVE_SQLITE
static void reads_samples_with_and_without_callers(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(OF_2023));
    nsys_expect_2023(trace);
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->processes.pid[0], 5);
    nvt_trace_free(trace);
}

/* A sample stands for so much time only where a clock took it. */
static void knows_what_a_sample_stands_for(void **state)
{
    static const struct {
        const char *settings;
        int64_t ns;
    } cases[] = {
        {"", 0},
        {CAPTURE, 0},
        {CAPTURE "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD',"
                 " '2000000');",
         0},
        {CAPTURE "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD',"
                 " '2000000'), ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', 'Hardware');",
         0},
        {CAPTURE "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD',"
                 " '1000000'), ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', 'Software');",
         1000000},
        {CAPTURE "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD',"
                 " '-5'), ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', 'Software');",
         0},
        {CAPTURE "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD',"
                 " '99999999999999999999'), ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', 'Software'),"
                 " ('SAMPLING_PERIOD', NULL), ('LINUX_PERF_OPTIONS:X', NULL);",
         0},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char script[4096];
        snprintf(script, sizeof(script), "%s%s%s", SAMPLED_STRINGS SAMPLES CHAINS,
                 cases[i].settings, ONE_SAMPLE);
        struct nvt_trace *trace = kit_read(kit_make_export(script));
        assert_int_equal(trace->cpu_samples.count, 1);
        assert_int_equal(trace->cpu_samples.cpu_ns[0], cases[i].ns);
        nvt_trace_free(trace);
    }
}

static void reads_samples_without_stacks(void **state)
{
    static const char *const scripts[] = {
        SAMPLED_STRINGS SAMPLES ONE_SAMPLE, SAMPLED_STRINGS SAMPLES CHAINS ONE_SAMPLE,
        /* Nothing but what is no function; rows of samples that there are not. */
        SAMPLED_STRINGS SAMPLES CHAINS ONE_SAMPLE
        "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 5, 5, 0, 0, 0, 1, 0, 0, 0),"
        " (2, 1, 4, 0, 0, 0, 0, 0, 0, 0), (-3, 1, 4, 0, 0, 0, 0, 0, 0, 0);"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        struct nvt_trace *trace = kit_read(kit_make_export(scripts[i]));
        assert_int_equal(trace->cpu_samples.count, 1);
        nsys_expect_sample(trace, 0, "", 0);
        assert_int_equal(trace->call_frames.count, 0);
        nvt_trace_free(trace);
    }
    /* Stacks of no samples. */
    struct nvt_trace *trace = kit_read(
        kit_make_export(SAMPLED_STRINGS CHAINS
                        "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1, 4, 0, 0, 0, 0, 0, 0, 0);"));
    assert_int_equal(trace->cpu_samples.count + trace->call_frames.count, 0);
    nvt_trace_free(trace);
}

/* A table that lacks what is needed is left out; one that has no more than that is read. */
static void reads_tables_with_few_columns(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        SAMPLED_STRINGS
        "CREATE TABLE COMPOSITE_EVENTS (globalTid, id, start);"
        "INSERT INTO COMPOSITE_EVENTS VALUES (" T57 ", 4, 10), (NULL, 5, 20);"
        "CREATE TABLE SAMPLING_CALLCHAINS (stackDepth, symbol, id);"
        "INSERT INTO SAMPLING_CALLCHAINS VALUES (0, 2, 4), (1, NULL, 4), (2, 1, 4);"));
    assert_int_equal(trace->cpu_samples.count, 1); /* of no thread: of nobody */
    nsys_expect_sample(trace, 0, "main [Unknown] hot", 0);
    nvt_trace_free(trace);
    trace = kit_read(kit_make_export(SAMPLED_STRINGS SAMPLES ONE_SAMPLE
                                     "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol);"
                                     "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1);"));
    assert_non_null(strstr(trace->warning, "no column stackDepth"));
    nsys_expect_sample(trace, 0, "", 0);
    nvt_trace_free(trace);
}

static void names_functions_as_they_are(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        SAMPLED_STRINGS SAMPLES CHAINS ONE_SAMPLE "INSERT INTO SAMPLING_CALLCHAINS VALUES"
                                                  " (1, 11, 10, 1, 0, 0, 0, 0, 7, 0),"
                                                  " (1, 11, 12, 1, 0, 0, 0, 0, 7, 1),"
                                                  " (1, 9, 9, 0, 0, 1, 0, 0, 7, 2),"
                                                  " (1, 10, 7, 0, 0, 1, 0, 255, 7, 3),"
                                                  " (1, 10, 7, 0, 0, 1, 0, 256, 7, 4),"
                                                  " (1, 99, 98, 0, 0, 0, 0, NULL, 7, 5),"
                                                  " (1, 'text', 'libt.so', 0, 0, 0, 0, 1, 7, 6),"
                                                  " (1, -1, 77777777777, 0, 0, 0, 0, 1, 7, 7),"
                                                  " (1, 13, 13, 0, 0, 0, 0, 1, 7, 8),"
                                                  " (1, 1, 4, 0, 0, 0, 1, 1, 7, 9);"));
    nsys_expect_sample(trace, 0,
                       "0x1 text(libt.so) [Unknown] 0x100(libm.so) 0xff(libm.so) [Unknown]"
                       " do_syscall_64([kernel.kallsyms]) do_syscall_64([kernel])",
                       0);
    nvt_trace_free(trace);
}

/* Depths that are missing leave what is there in its order; ids are any numbers. */
static void takes_rows_in_any_order(void **state)
{
    static const char rows[] =
        "CREATE TABLE COMPOSITE_EVENTS (id, start, globalTid);"
        "INSERT INTO COMPOSITE_EVENTS VALUES (7, 30, " T57 "), (-9223372036854775807, 20, " T57
        "), (9223372036854775807, 10, " T57 "), (0, 40, " T57 ");"
        "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, unwindMethod, stackDepth);"
        "INSERT INTO SAMPLING_CALLCHAINS VALUES"
        " (9223372036854775807, 2, 4, 0, 0), (7, 1, 4, 0, 9), (7, 3, 4, 0, 4),"
        " (0, 2, 4, 0, 5), (-9223372036854775807, 2, 4, 0, 1), (0, 1, 4, 7, 1000000000000),"
        " (7, 8, 7, 0, 0), (9223372036854775807, 1, 4, 0, 2),"
        " (9223372036854775807, 1, 4, 0, 2), (7, 2, 4, 0, 4);";
    (void)state;
    char script[4096];
    snprintf(script, sizeof(script), "%s%s", SAMPLED_STRINGS, rows);
    struct nvt_trace *trace = kit_read(kit_make_export(script));
    assert_int_equal(trace->cpu_samples.count, 4);
    nsys_expect_sample(trace, 0, "main hot", 0);
    nsys_expect_sample(trace, 1, "hot", NVT_CPU_SAMPLE_NO_CALLERS);
    /* Of two in one place one is taken. */
    assert_true(!strcmp(nsys_stack_of(trace, 2), "main cold sin(libm.so)") ||
                !strcmp(nsys_stack_of(trace, 2), "main hot sin(libm.so)"));
    nsys_expect_sample(trace, 3, "main hot", 0);
    /* Nothing is left of what was read before it turned out that rows are in no order. */
    assert_int_equal(trace->call_frames.count, 5);
    nvt_trace_free(trace);
    /* The order of ids does not matter where each one's rows stand together. */
    trace = kit_read(kit_make_export(
        SAMPLED_STRINGS
        "CREATE TABLE COMPOSITE_EVENTS (id, start, globalTid);"
        "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, " T57 "), (2, 20, " T57 "), (3, 30, " T57 ");"
        "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
        "INSERT INTO SAMPLING_CALLCHAINS VALUES (3, 1, 4, 0), (1, 2, 4, 0), (1, 1, 4, 1),"
        " (2, 3, 4, 0);"));
    nsys_expect_sample(trace, 0, "main hot", 0);
    nsys_expect_sample(trace, 1, "cold", NVT_CPU_SAMPLE_NO_CALLERS);
    nsys_expect_sample(trace, 2, "main", NVT_CPU_SAMPLE_NO_CALLERS);
    nvt_trace_free(trace);
}

static void leaves_out_what_others_run(void **state)
{
    static const char of_all[] =
        "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 0, 1, " T57 ", 1), (2, 20, 0, 1, " T67
        ", 1), (3, 30, 0, 6, " T57 ", 1);"
        "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 2, 4, 0, 0, 0, 0, 0, 7, 0),"
        " (2, 3, 4, 0, 0, 0, 0, 0, 7, 0), (3, 1, 4, 0, 0, 0, 0, 0, 7, 0);";
    static const char nvtx[] = "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid);"
                               "INSERT INTO NVTX_EVENTS VALUES (5, 40, 59, 'range', " T57 ");";
    static const char mode[] =
        "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:COLLECTION_MODE', '%s');";
    static const struct {
        const char *mode;
        int has_range, has_tree;
        uint32_t samples;
    } cases[] = {
        {"ProcessTree", 1, 0, 2}, /* of the tree, whatever else there is of it */
        {"SystemWide", 1, 0, 1},
        {"SystemWide", 0, 1, 1}, /* of what nsys started */
        {"SystemWide", 0, 0, 2}, /* who can tell? */
        {"", 1, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char script[4096], of_mode[200];
        snprintf(of_mode, sizeof(of_mode), mode, cases[i].mode);
        snprintf(script, sizeof(script), "%s%s%s%s%s", SAMPLED_STRINGS SAMPLES CHAINS CAPTURE,
                 *cases[i].mode ? of_mode : "", of_all, cases[i].has_range ? nvtx : "",
                 cases[i].has_tree ? "CREATE TABLE ProcessStreams (globalPid);"
                                     "INSERT INTO ProcessStreams VALUES (" P5 "), (" P5 ");"
                                   : "");
        struct nvt_trace *trace = kit_read(kit_make_export(script));
        assert_int_equal(trace->cpu_samples.count, cases[i].samples);
        assert_int_equal(trace->processes.count, cases[i].samples);
        nsys_expect_sample(trace, 0, "hot", 0);
        assert_int_equal(trace->call_frames.count, cases[i].samples);
        assert_non_null(strstr(trace->notes, "1 sample is left out: of threads that did not run"));
        assert_true((cases[i].samples == 1) ==
                    (strstr(trace->notes, "1 sample is left out: of processes") != NULL));
        nvt_trace_free(trace);
    }
}

/* A stack that is too deep keeps its innermost functions. */
static void cuts_deep_stacks(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        SAMPLED_STRINGS SAMPLES CHAINS ONE_SAMPLE
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        " INSERT INTO SAMPLING_CALLCHAINS SELECT 1, CASE i WHEN 0 THEN 8 WHEN 20000 THEN 1 ELSE 2"
        " END, 4, 0, 0, 0, 0, 0, 7, i FROM n;"));
    assert_int_equal(trace->call_frames.count, 512);
    assert_string_equal(nvt_name(trace, trace->call_frames.name[trace->cpu_samples.frame[0] - 1]),
                        "sin");
    assert_string_equal(nvt_name(trace, trace->call_frames.name[0]), "hot");
    for (uint32_t i = 0; i < trace->call_frames.count; i++)
        assert_true(trace->call_frames.parent[i] <= i);
    nvt_trace_free(trace);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *script, *needle;
    } cases[] = {
        {"INSERT INTO COMPOSITE_EVENTS VALUES (1, 9223372036854775807, 0, 1, " T57 ", 1);",
         "table COMPOSITE_EVENTS, row 1: column start"},
        {"INSERT INTO COMPOSITE_EVENTS VALUES (1, 'now', 0, 1, " T57 ", 1);", "column start"},
        {"INSERT INTO COMPOSITE_EVENTS VALUES (1, 5, 0, 1, 'me', 1);", "column globalTid"},
        {ONE_SAMPLE "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1, 4, 0, 0, 0, 0, 0, 7, -1);",
         "table SAMPLING_CALLCHAINS, row 1: column stackDepth"},
        {ONE_SAMPLE "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1.5, 4, 0, 0, 0, 0, 0, 7, 0);",
         "column symbol"},
        {ONE_SAMPLE "INSERT INTO SAMPLING_CALLCHAINS VALUES ('a', 1, 4, 0, 0, 0, 0, 0, 7, 0);",
         "column id"},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char script[4096];
        snprintf(script, sizeof(script), "%s%s", SAMPLED_STRINGS SAMPLES CHAINS, cases[i].script);
        kit_expect_unreadable(kit_make_export(script), cases[i].needle);
    }
}

static void survives_any_changed_byte(void **state)
{
    (void)state;
    kit_survives_changed_bytes(kit_make_export("PRAGMA page_size = 512;" OF_2023), "changed.sqlite",
                               200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_samples_with_and_without_callers),
        cmocka_unit_test(knows_what_a_sample_stands_for),
        cmocka_unit_test(reads_samples_without_stacks),
        cmocka_unit_test(reads_tables_with_few_columns),
        cmocka_unit_test(names_functions_as_they_are),
        cmocka_unit_test(takes_rows_in_any_order),
        cmocka_unit_test(leaves_out_what_others_run),
        cmocka_unit_test(cuts_deep_stacks),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(survives_any_changed_byte),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#else
int main(void)
{
    puts("not run: built without SQLite");
    return 0;
}
#endif
