/*
 * Stacks of calls in nsys's exports (CUDA_CALLCHAINS, OSRT_CALLCHAINS): small files with its schema, as nsys 2023.4 writes it, and
 * files made to harm; and what exports make of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/model/call_stacks.h"
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

/* Thread 7 of process 5; ((1 << 24) + pid) << 24 | tid. */
#define T57 "281475060596743"

#define STRINGS                                                                                    \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"               \
    "INSERT INTO StringIds VALUES (1, 'main'), (2, 'save'), (3, 'step'), (4, '/bin/prog'),"        \
    " (5, '[Broken backtraces]'), (6, '0x7f5e892f580d'), (7, '/lib/libc.so.6'), (8, 'fsync'),"     \
    " (9, 'usleep'), (10, '_start'), (11, '/opt/libTools.so'), (12, 'cudaMalloc_v3020'),"          \
    " (13, 'cudaMemcpy_v3020'), (14, 'libcudart.so.12'), (15, 'cudaMemcpy');"
#define OSRT                                                                                       \
    "CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL,"                         \
    " eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL,"                    \
    " returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL);"
#define CUDA                                                                                       \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"      \
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"                      \
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
#define CHAINS(table)                                                                              \
    "CREATE TABLE " table " (id INTEGER NOT NULL, symbol INTEGER NOT NULL,"                        \
    " module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER,"         \
    " specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER,"                             \
    " stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"
#define SAMPLES                                                                                    \
    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL,"      \
    " cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);"           \
    "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 0, 1, " T57 ", 1), (2, 20, 0, 1, " T57 ", 1);"
/* A row of such a table: who knows no more of a function than where it is. */
#define ROW(id, symbol, module, depth)                                                             \
    "(" #id ", " #symbol ", " #module ", NULL, NULL, NULL, NULL, 4711, NULL, " #depth ")"

/* Two calls of one stack, one of another, and some without any: below the threshold, 0 and null, and of an id that is not there. */
#define OF_2023                                                                                                                      \
    STRINGS OSRT CUDA CHAINS("OSRT_CALLCHAINS") CHAINS(                                                                              \
        "CUDA_CALLCHAINS") "INSERT INTO OSRT_API VALUES (100, 200, 27, " T57 ", 8, 0, NULL, 1),"                                     \
                           " (300, 400, 27, " T57 ", 9, 0, NULL, 2), (500, 501, 27, " T57                                            \
                           ", 9, 0, NULL, 0),"                                                                                       \
                           " (600, 700, 27, " T57 ", 8, 0, NULL, 1), (5, 5, 31, " T57                                                \
                           ", 9, 0, NULL, 2),"                                                                                       \
                           " (800, 900, 27, " T57 ", 9, 0, NULL, 77);"                                                               \
                           "INSERT INTO OSRT_CALLCHAINS VALUES " ROW(1, 8, 7, 0) ", " ROW(1, 2, 4, 1) ", " ROW(1, 3, 4, 2) ", " ROW( \
                               1, 1, 4,                                                                                              \
                               3) ", " ROW(2, 9, 7,                                                                                  \
                                           0) ", " ROW(2, 3, 4,                                                                      \
                                                       1) ", " ROW(2, 1, 4,                                                          \
                                                                   2) ", (3, 1, 4, NULL, NULL, "                                     \
                                                                      "NULL, NULL, 1, NULL, 0);"                                     \
                                                                      "INSERT INTO "                                                 \
                                                                      "CUPTI_ACTIVITY_KIND_"                                         \
                                                                      "RUNTIME VALUES"                                               \
                                                                      " (120, 180, 0, " T57                                          \
                                                                      ", 1, 12, 0, 1), (320, "                                       \
                                                                      "380, 0, " T57                                                 \
                                                                      ", 2, 13, 0, NULL),"                                           \
                                                                      " (620, 680, 1, " T57                                          \
                                                                      ", 3, 13, 0, 2);"                                              \
                                                                      "INSERT INTO "                                                 \
                                                                      "CUDA_CALLCHAINS "                                             \
                                                                      "VALUES " ROW(1, 15, 14, 0) ", " ROW(                          \
                                                                          1, 3, 4,                                                   \
                                                                          1) ", " ROW(1, 1, 4,                                       \
                                                                                      2) ", " ROW(2,                                 \
                                                                                                  6,                                 \
                                                                                                  11,                                \
                                                                                                  0) ", " ROW(2,                     \
                                                                                                              5,                     \
                                                                                                              5,                     \
                                                                                                              1) ";"

/* A stack, outermost function first: "main step fsync". */
static const char *text_of(const struct nvt_trace *trace, uint32_t frame)
{
    static char text[4096];
    uint32_t rows[NVT_CALL_STACK_MOST], count = nvt_call_stack(trace, frame, rows);
    size_t length = 0;
    *text = 0;
    while (count-- > 0)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length ? " " : "",
                                   nvt_name(trace, trace->call_frames.name[rows[count]]));
    return text;
}

static void expect_2023(const struct nvt_trace *trace)
{
    static const char *const os[] = {"main step save fsync", "main step usleep", "",
                                     "main step save fsync", ""};
    static const char *const cuda[] = {"main step cudaMemcpy", "", "0x7f5e892f580d"};
    assert_int_equal(trace->os_calls.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(text_of(trace, trace->os_calls.frame[i]), os[i]);
    assert_int_equal(trace->apis.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(text_of(trace, trace->apis.frame[i]), cuda[i]);
    /* One tree for both: main, step, cudaMemcpy, 0x…, save, fsync, usleep. */
    assert_int_equal(trace->call_frames.count, 7);
    assert_true(trace->os_calls.frame[0] == trace->os_calls.frame[3]);
    assert_null(trace->warning);
    assert_null(trace->notes);
}

static void reads_stacks_of_both_kinds_of_calls(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(OF_2023));
    expect_2023(trace);
    uint32_t row = trace->os_calls.frame[0] - 1;
    assert_string_equal(nvt_name(trace, trace->call_frames.module[row]), "/lib/libc.so.6");
    row = trace->call_frames.parent[row] - 1;
    assert_string_equal(nvt_name(trace, trace->call_frames.module[row]), "/bin/prog");
    nvt_trace_free(trace);
}

/* Of samples, too: functions are each once below each that called them, whoever tells of them. */
static void samples_and_calls_share_functions(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        OF_2023 SAMPLES CHAINS("SAMPLING_CALLCHAINS") "INSERT INTO SAMPLING_CALLCHAINS VALUES " ROW(
            2, 3, 4, 0) ", " ROW(2, 1, 4, 1) ";"));
    assert_int_equal(trace->call_frames.count, 7);
    assert_int_equal(trace->cpu_samples.frame[0], 0);
    assert_string_equal(text_of(trace, trace->cpu_samples.frame[1]), "main step");
    nvt_trace_free(trace);
}

/* Rows in no order: what was read of other tables stays, of its own nothing is left of the first try. The first stack that is read
 * then is longer than those that were there before. */
static void takes_rows_in_any_order(void **state)
{
    static const char *const orders[] = {
        "INSERT INTO OSRT_CALLCHAINS VALUES (1, 2, 4, 3), (2, 1, 4, 9), (1, 3, 4, 2), (1, 8, 7, 0),"
        " (2, 9, 7, 1);",
        "INSERT INTO OSRT_CALLCHAINS VALUES (2, 9, 7, 1), (1, 8, 7, 0), (1, 3, 4, 2), (2, 1, 4, 9),"
        " (1, 2, 4, 3);",
        "INSERT INTO OSRT_CALLCHAINS VALUES (1, 8, 7, 0), (1, 3, 4, 2), (1, 2, 4, 3), (2, 9, 7, 1),"
        " (2, 1, 4, 9), (1, 1, 4, 0);"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(orders); i++) {
        char script[8192];
        snprintf(
            script, sizeof(script), "%s%s",
            STRINGS OSRT CUDA CHAINS(
                "CUDA_CALLCHAINS") "CREATE TABLE OSRT_CALLCHAINS (id, symbol, module, stackDepth);"
                                   "INSERT INTO OSRT_API VALUES (100, 200, 27, " T57
                                   ", 8, 0, NULL, 2),"
                                   " (300, 400, 27, " T57 ", 9, 0, NULL, 1), (500, 600, 27, " T57
                                   ", 9, 0, NULL, 2), (700, 800, 27, " T57 ", 9, 0, NULL, -3);"
                                   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
                                   " (120, 180, 0, " T57 ", 1, 12, 0, 1);"
                                   "INSERT INTO CUDA_CALLCHAINS VALUES " ROW(1, 15, 14, 0) ", " ROW(
                                       1, 1, 4, 1) ";",
            orders[i]);
        struct nvt_trace *trace = kit_read(kit_make_export(script));
        assert_string_equal(text_of(trace, trace->apis.frame[0]), "main cudaMemcpy");
        assert_string_equal(text_of(trace, trace->os_calls.frame[0]), "main usleep");
        assert_string_equal(text_of(trace, trace->os_calls.frame[2]), "main usleep");
        assert_int_equal(trace->os_calls.frame[3], 0);
        /* Of two in one place one is taken. */
        if (i < 2 || strcmp(text_of(trace, trace->os_calls.frame[1]), "save step main") != 0)
            assert_string_equal(text_of(trace, trace->os_calls.frame[1]), "save step fsync");
        assert_int_equal(trace->call_frames.count, 6);
        nvt_trace_free(trace);
    }
}

/* Samples whose first stack is deep at first, and which are then read again from another one on: no function keeps a caller. */
static void nothing_is_left_of_a_first_try(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        STRINGS SAMPLES "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
                        "INSERT INTO SAMPLING_CALLCHAINS VALUES (2, 1, 4, 0), (2, 2, 4, 1),"
                        " (2, 3, 4, 2), (1, 8, 0, 0), (2, 9, 4, 3), (1, 10, 0, 1);"));
    assert_string_equal(text_of(trace, trace->cpu_samples.frame[0]), "_start fsync");
    assert_string_equal(text_of(trace, trace->cpu_samples.frame[1]), "usleep step save main");
    assert_int_equal(trace->call_frames.count, 6);
    assert_int_equal(trace->call_frames.parent[0], 0);
    assert_int_equal(trace->call_frames.module[0], 0);
    nvt_trace_free(trace);
}

/* One stack of as many calls as a file can hold rows, and stacks that nobody asks for. */
static void many_calls_share_a_stack(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(STRINGS OSRT CHAINS(
        "OSRT_CALLCHAINS") "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i "
                           "< 99999)"
                           " INSERT INTO OSRT_API SELECT i * 10, i * 10 + 5, 27, " T57
                           ", 8, 0, NULL, 5 FROM n;"
                           "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i "
                           "< 20000)"
                           " INSERT INTO OSRT_CALLCHAINS SELECT i, 1, 4, 0, 0, 0, 0, 0, NULL, 0 "
                           "FROM n;"
                           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i "
                           "< 20000)"
                           " INSERT INTO OSRT_CALLCHAINS SELECT 5, 2, 4, 0, 0, 0, 0, 0, NULL, i "
                           "FROM n;"));
    assert_int_equal(trace->os_calls.count, 100000);
    assert_int_equal(trace->call_frames.count, NVT_EXPORT_STACK_DEPTH);
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        assert_int_equal(trace->os_calls.frame[i], NVT_EXPORT_STACK_DEPTH);
    nvt_trace_free(trace);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *script, *needle;
    } cases[] = {
        {"INSERT INTO OSRT_API VALUES (1, 2, 27, " T57 ", 8, 0, NULL, 'x');",
         "table OSRT_API, row 1: column callchainId"},
        {"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " T57 ", 1, 12, 0, 1.5);",
         "table CUPTI_ACTIVITY_KIND_RUNTIME, row 1: column callchainId"},
        {"INSERT INTO OSRT_API VALUES (1, 2, 27, " T57 ", 8, 0, NULL, 1);"
         "INSERT INTO OSRT_CALLCHAINS VALUES (1, 1, 4, 0, 0, 0, 0, 0, 7, -1);",
         "table OSRT_CALLCHAINS, row 1: column stackDepth"},
        {"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " T57 ", 1, 12, 0, 1);"
         "INSERT INTO CUDA_CALLCHAINS VALUES (1, x'00', 4, 0, 0, 0, 0, 0, 7, 0);",
         "table CUDA_CALLCHAINS, row 1: column symbol"},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char script[8192];
        snprintf(script, sizeof(script), "%s%s",
                 STRINGS OSRT CUDA CHAINS("OSRT_CALLCHAINS") CHAINS("CUDA_CALLCHAINS"),
                 cases[i].script);
        kit_expect_unreadable(kit_make_export(script), cases[i].needle);
    }
    /* Without what is needed a table is left out. */
    struct nvt_trace *trace = kit_read(kit_make_export(
        STRINGS OSRT "INSERT INTO OSRT_API VALUES (1, 2, 27, " T57 ", 8, 0, NULL, 1);"
                     "CREATE TABLE OSRT_CALLCHAINS (id, symbol);"));
    assert_non_null(strstr(trace->warning, "table OSRT_CALLCHAINS has no column stackDepth"));
    assert_int_equal(trace->os_calls.frame[0], 0);
    nvt_trace_free(trace);
}

static void survives_any_changed_byte(void **state)
{
    (void)state;
    kit_survives_changed_bytes(kit_make_export("PRAGMA page_size = 512;" OF_2023), "changed.sqlite",
                               200);
}

/* --- exports --- */

static void exports_of_nsys_hold_them_again(void **state)
{
    (void)state;
    const char *path = kit_exported(kit_make_export(OF_2023), "sqlite", "again.sqlite");
    struct nvt_trace *trace = kit_read(path);
    expect_2023(trace);
    nvt_trace_free(trace);
    /* As others ask, of nsys's files; each stack is there once. */
    assert_int_equal(kit_asked(path, "SELECT count(*) FROM OSRT_API a"
                                     " JOIN OSRT_CALLCHAINS c ON c.id = a.callchainId"
                                     " JOIN StringIds s ON s.id = c.symbol"
                                     " JOIN StringIds m ON m.id = c.module"
                                     " WHERE s.value = 'save' AND m.value = '/bin/prog'"
                                     " AND c.stackDepth = 1"),
                     2);
    assert_int_equal(kit_asked(path, "SELECT count(*) FROM OSRT_CALLCHAINS"), 7);
    assert_int_equal(kit_asked(path, "SELECT originalIP FROM CUDA_CALLCHAINS WHERE unresolved"),
                     0x7f5e892f580d);
    /* Without stacks there is no sign of any. */
    path = kit_exported(kit_make_export(STRINGS OSRT "INSERT INTO OSRT_API VALUES (1, 2, 27, " T57
                                                     ", 8, 0, NULL, 0);"),
                        "sqlite", "none.sqlite");
    assert_int_equal(
        kit_asked(path, "SELECT count(*) FROM sqlite_master WHERE name GLOB '*CHAINS'"), 0);
    assert_int_equal(kit_asked(path, "SELECT count(*) FROM OSRT_API WHERE callchainId IS NULL"), 1);
}

static void expect_in(const char *path, const char *needle)
{
    size_t size;
    char *text = cli_read_file(path, &size);
    if (!strstr(text, needle))
        fail_msg("no %s in %s", needle, text);
    free(text);
}

static void lines_and_slices_have_them(void **state)
{
    (void)state;
    const char *path = kit_exported(kit_make_export(OF_2023), "csv", "stacks.csv");
    expect_in(path, "Name,Category,Payload,Stack\n");
    expect_in(path, ",fsync,files,,main;step;save;fsync\n");
    expect_in(path, ",cudaMalloc,,,main;step;cudaMemcpy\n");
    expect_in(path, ",cudaMemcpy,,,\n");
    path = kit_exported(kit_make_export(OF_2023), "chrome", "stacks.json");
    expect_in(path, "\"stack\":[\"fsync\",\"save\",\"step\",\"main\"]");
    expect_in(path, "\"args\":{\"correlation\":2,\"result\":0}");
    expect_in(path, "\"result\":0,\"stack\":[\"cudaMemcpy\",\"step\",\"main\"]}");
    /* A name with what parts names, and stacks that are deeper than what is told. */
    path = kit_exported(
        kit_make_export(STRINGS OSRT CHAINS(
            "OSRT_CALLCHAINS") "INSERT INTO OSRT_API VALUES (1, 2, 27, " T57 ", 8, 0, NULL, 1);"
                               "INSERT INTO StringIds VALUES (20, 'f(int;\"x\")');"
                               "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
                               " WHERE i < 99)"
                               " INSERT INTO OSRT_CALLCHAINS SELECT 1, 20, 4, 0, 0, 0, 0, 0, NULL, "
                               "i FROM "
                               "n;"),
        "csv", "deep.csv");
    size_t size;
    char *text = cli_read_file(path, &size), *at = text;
    int count = 0;
    for (; (at = strstr(at, "f(int,\"\"x\"\")")); at++)
        count++;
    assert_int_equal(count, NVT_CALL_STACK_MOST);
    free(text);
    /* Without stacks the columns are what they were. */
    path = kit_exported(kit_make_export(STRINGS OSRT "INSERT INTO OSRT_API VALUES (1, 2, 27, " T57
                                                     ", 8, 0, NULL, 0);"),
                        "csv", "none.csv");
    expect_in(path, "Name,Category,Payload\n");
}

static void windows_and_tables_keep_them(void **state)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_window window = {0};
    (void)state;
    struct nvt_trace *trace = kit_read(kit_exported(kit_make_export(OF_2023), "nvt", "stacks.nvt"));
    expect_2023(trace);
    assert_int_equal(nvt_window_set_time(&window, "400/", &err), 0);
    assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
    assert_int_equal(trace->apis.count, 1);
    assert_string_equal(text_of(trace, trace->apis.frame[0]), "0x7f5e892f580d");
    assert_int_equal(trace->os_calls.count, 3);
    assert_string_equal(text_of(trace, trace->os_calls.frame[1]), "main step save fsync");
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_stacks_of_both_kinds_of_calls),
        cmocka_unit_test(samples_and_calls_share_functions),
        cmocka_unit_test(takes_rows_in_any_order),
        cmocka_unit_test(nothing_is_left_of_a_first_try),
        cmocka_unit_test(many_calls_share_a_stack),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(survives_any_changed_byte),
        cmocka_unit_test(exports_of_nsys_hold_them_again),
        cmocka_unit_test(lines_and_slices_have_them),
        cmocka_unit_test(windows_and_tables_keep_them),
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
