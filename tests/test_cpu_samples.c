/*
 * Samples of what threads run: nsys's exports of them, over small files with its schema and over files made to harm; what exports
 * make of them; and windows.
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
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"
#include "trace_same.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

/* Threads 7 and 8 of process 5, thread 7 of process 6; ((1 << 24) + pid) << 24 | tid. */
#define P5  "281475060596736"
#define T57 "281475060596743"
#define T58 "281475060596744"
#define P6  "281475077373952"
#define T67 "281475077373959"

#define STRINGS                                                                                    \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"               \
    "INSERT INTO StringIds VALUES (1, 'main'), (2, 'hot'), (3, 'cold'), (4, '/bin/prog'),"         \
    " (5, '[Broken backtraces]'), (6, '0x55bcadd541a4'), (7, 'libm.so'), (8, 'sin'),"              \
    " (9, '[Unknown]'), (10, ''), (11, 'do_syscall_64'), (12, '[kernel.kallsyms]'),"               \
    " (13, '[Max depth]');"
/* As nsys 2021.5 to 2023.4 have them. */
#define SAMPLES                                                                                    \
    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL,"      \
    " cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);"
#define CHAINS                                                                                     \
    "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL,"              \
    " module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER,"         \
    " specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER,"                             \
    " stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"
#define CAPTURE "CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
#define CLOCK                                                                                      \
    "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD', '2000000'),"      \
    " ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', 'Software'),"                                     \
    " ('LINUX_PERF_OPTIONS:SAMPLES_PER_BACKTRACE', '4'),"                                          \
    " ('LINUX_PERF_OPTIONS:COLLECTION_MODE', 'ProcessTree');"
#define ONE_SAMPLE "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 0, 1, " T57 ", 1);"

/* The stack of a sample, outermost function first: "main hot(libm.so)"; module '/bin/prog' is left out. */
static const char *stack_of(const struct nvt_trace *trace, uint32_t sample)
{
    static char text[4096];
    uint32_t path[64], count = 0;
    size_t length = 0;
    for (uint32_t at = trace->cpu_samples.frame[sample]; at && count < 64;
         at = trace->call_frames.parent[at - 1])
        path[count++] = at - 1;
    *text = 0;
    while (count-- > 0) {
        const char *module = nvt_name(trace, trace->call_frames.module[path[count]]);
        int is_other = *module && strcmp(module, "/bin/prog") != 0;
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s%s%s%s", length ? " " : "",
                             nvt_name(trace, trace->call_frames.name[path[count]]),
                             is_other ? "(" : "", is_other ? module : "", is_other ? ")" : "");
    }
    return text;
}

static void expect_sample(const struct nvt_trace *trace, uint32_t sample, const char *stack,
                          int flags)
{
    assert_true(sample < trace->cpu_samples.count);
    assert_string_equal(stack_of(trace, sample), stack);
    assert_int_equal(trace->cpu_samples.flags[sample], flags);
}

/* As nsys 2023.4 writes a program whose callers are looked for in every fourth sample. */
#define OF_2023                                                                                    \
    STRINGS SAMPLES CHAINS CAPTURE CLOCK                                                           \
        "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 0, 1, " T57 ", 1), (2, 20, 1, 1, " T57        \
        ", 1), (3, 30, 1, 1, " T58 ", 1), (4, 40, NULL, NULL, " T57 ", 1), (5, 50, 0, 1, " T57     \
        ", 1);"                                                                                    \
        "INSERT INTO SAMPLING_CALLCHAINS VALUES"                                                   \
        " (1, 8, 7, NULL, NULL, NULL, NULL, 4711, 0, 0),"                                          \
        " (2, 8, 7, NULL, NULL, NULL, NULL, 4711, 0, 0),"                                          \
        " (2, 2, 4, NULL, NULL, NULL, NULL, 4712, 7, 1),"                                          \
        " (2, 1, 4, NULL, NULL, NULL, NULL, 4713, 7, 2),"                                          \
        " (2, 5, 5, NULL, NULL, NULL, NULL, 0, 0, 3),"                                             \
        " (3, 3, 4, NULL, NULL, NULL, NULL, 4714, 0, 0),"                                          \
        " (4, 6, 4, NULL, NULL, 1, NULL, 94268858646948, 7, 0),"                                   \
        " (4, 1, 4, NULL, NULL, NULL, NULL, 4713, 7, 1),"                                          \
        " (4, 5, 5, NULL, NULL, NULL, NULL, 0, 0, 2),"                                             \
        " (5, 3, 4, NULL, NULL, NULL, NULL, 4714, 7, 0),"                                          \
        " (5, 5, 5, NULL, NULL, NULL, NULL, 0, 0, 1);"

static void expect_2023(const struct nvt_trace *trace)
{
    assert_int_equal(trace->cpu_samples.count, 5);
    expect_sample(trace, 0, "sin(libm.so)", NVT_CPU_SAMPLE_NO_CALLERS);
    expect_sample(trace, 1, "main hot sin(libm.so)", 0);
    expect_sample(trace, 2, "cold", NVT_CPU_SAMPLE_NO_CALLERS);
    expect_sample(trace, 3, "main 0x55bcadd541a4", 0);
    expect_sample(trace, 4, "cold", 0); /* callers were looked for, and not found */
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(trace->cpu_samples.time[i], (i + 1) * 10);
        assert_int_equal(trace->cpu_samples.cpu_ns[i], 2000000);
        assert_int_equal(trace->threads.tid[trace->cpu_samples.thread[i]], i == 2 ? 8 : 7);
    }
    /* sin, main, hot, sin, cold, 0x…: each once below each that called it. */
    assert_int_equal(trace->call_frames.count, 6);
    assert_int_equal(trace->first_ns, 10);
    assert_int_equal(trace->last_ns, 50);
    assert_null(trace->warning);
    assert_null(trace->notes);
}

static void reads_samples_with_and_without_callers(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(OF_2023));
    expect_2023(trace);
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
        snprintf(script, sizeof(script), "%s%s%s", STRINGS SAMPLES CHAINS, cases[i].settings,
                 ONE_SAMPLE);
        struct nvt_trace *trace = kit_read(kit_make_export(script));
        assert_int_equal(trace->cpu_samples.count, 1);
        assert_int_equal(trace->cpu_samples.cpu_ns[0], cases[i].ns);
        nvt_trace_free(trace);
    }
}

static void reads_samples_without_stacks(void **state)
{
    static const char *const scripts[] = {
        STRINGS SAMPLES ONE_SAMPLE, STRINGS SAMPLES CHAINS ONE_SAMPLE,
        /* Nothing but what is no function; rows of samples that there are not. */
        STRINGS SAMPLES CHAINS ONE_SAMPLE
        "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 5, 5, 0, 0, 0, 1, 0, 0, 0),"
        " (2, 1, 4, 0, 0, 0, 0, 0, 0, 0), (-3, 1, 4, 0, 0, 0, 0, 0, 0, 0);"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        struct nvt_trace *trace = kit_read(kit_make_export(scripts[i]));
        assert_int_equal(trace->cpu_samples.count, 1);
        expect_sample(trace, 0, "", 0);
        assert_int_equal(trace->call_frames.count, 0);
        nvt_trace_free(trace);
    }
    /* Stacks of no samples. */
    struct nvt_trace *trace = kit_read(kit_make_export(
        STRINGS CHAINS "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1, 4, 0, 0, 0, 0, 0, 0, 0);"));
    assert_int_equal(trace->cpu_samples.count + trace->call_frames.count, 0);
    nvt_trace_free(trace);
}

/* A table that lacks what is needed is left out; one that has no more than that is read. */
static void reads_tables_with_few_columns(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        STRINGS "CREATE TABLE COMPOSITE_EVENTS (globalTid, id, start);"
                "INSERT INTO COMPOSITE_EVENTS VALUES (" T57 ", 4, 10), (NULL, 5, 20);"
                "CREATE TABLE SAMPLING_CALLCHAINS (stackDepth, symbol, id);"
                "INSERT INTO SAMPLING_CALLCHAINS VALUES (0, 2, 4), (1, NULL, 4), (2, 1, 4);"));
    assert_int_equal(trace->cpu_samples.count, 1); /* of no thread: of nobody */
    expect_sample(trace, 0, "main [Unknown] hot", 0);
    nvt_trace_free(trace);
    trace = kit_read(kit_make_export(STRINGS SAMPLES ONE_SAMPLE
                                     "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol);"
                                     "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1);"));
    assert_non_null(strstr(trace->warning, "no column stackDepth"));
    expect_sample(trace, 0, "", 0);
    nvt_trace_free(trace);
}

static void names_functions_as_they_are(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        STRINGS SAMPLES CHAINS ONE_SAMPLE "INSERT INTO SAMPLING_CALLCHAINS VALUES"
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
    expect_sample(trace, 0,
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
    snprintf(script, sizeof(script), "%s%s", STRINGS, rows);
    struct nvt_trace *trace = kit_read(kit_make_export(script));
    assert_int_equal(trace->cpu_samples.count, 4);
    expect_sample(trace, 0, "main hot", 0);
    expect_sample(trace, 1, "hot", NVT_CPU_SAMPLE_NO_CALLERS);
    /* Of two in one place one is taken. */
    assert_true(!strcmp(stack_of(trace, 2), "main cold sin(libm.so)") ||
                !strcmp(stack_of(trace, 2), "main hot sin(libm.so)"));
    expect_sample(trace, 3, "main hot", 0);
    /* Nothing is left of what was read before it turned out that rows are in no order. */
    assert_int_equal(trace->call_frames.count, 5);
    nvt_trace_free(trace);
    /* The order of ids does not matter where each one's rows stand together. */
    trace = kit_read(kit_make_export(
        STRINGS "CREATE TABLE COMPOSITE_EVENTS (id, start, globalTid);"
                "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, " T57 "), (2, 20, " T57
                "), (3, 30, " T57 ");"
                "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
                "INSERT INTO SAMPLING_CALLCHAINS VALUES (3, 1, 4, 0), (1, 2, 4, 0), (1, 1, 4, 1),"
                " (2, 3, 4, 0);"));
    expect_sample(trace, 0, "main hot", 0);
    expect_sample(trace, 1, "cold", NVT_CPU_SAMPLE_NO_CALLERS);
    expect_sample(trace, 2, "main", NVT_CPU_SAMPLE_NO_CALLERS);
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
        snprintf(script, sizeof(script), "%s%s%s%s%s", STRINGS SAMPLES CHAINS CAPTURE,
                 *cases[i].mode ? of_mode : "", of_all, cases[i].has_range ? nvtx : "",
                 cases[i].has_tree ? "CREATE TABLE ProcessStreams (globalPid);"
                                     "INSERT INTO ProcessStreams VALUES (" P5 "), (" P5 ");"
                                   : "");
        struct nvt_trace *trace = kit_read(kit_make_export(script));
        assert_int_equal(trace->cpu_samples.count, cases[i].samples);
        assert_int_equal(trace->processes.count, cases[i].samples);
        expect_sample(trace, 0, "hot", 0);
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
        STRINGS SAMPLES CHAINS ONE_SAMPLE
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
        snprintf(script, sizeof(script), "%s%s", STRINGS SAMPLES CHAINS, cases[i].script);
        kit_expect_unreadable(kit_make_export(script), cases[i].needle);
    }
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
    /* As others ask, of nsys's files. */
    assert_int_equal(kit_asked(path, "SELECT count(*) FROM COMPOSITE_EVENTS e"
                                     " JOIN SAMPLING_CALLCHAINS c ON c.id = e.id"
                                     " JOIN StringIds s ON s.id = c.symbol"
                                     " JOIN ENUM_SAMPLING_THREAD_STATE t ON t.id = e.threadState"
                                     " JOIN ENUM_STACK_UNWIND_METHOD m ON m.id = c.unwindMethod"
                                     " WHERE s.value = 'cold' AND c.stackDepth = 0"),
                     2);
    assert_int_equal(kit_asked(path, "SELECT originalIP FROM SAMPLING_CALLCHAINS WHERE unresolved"),
                     94268858646948);
    assert_int_equal(kit_asked(path, "SELECT value FROM META_DATA_CAPTURE WHERE name ="
                                     " 'LINUX_PERF_OPTIONS:SAMPLING_PERIOD'"),
                     2000000);
    /* Without samples there is no sign of any. */
    path = kit_exported(
        kit_make_export(STRINGS "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid);"
                                "INSERT INTO NVTX_EVENTS VALUES (5, 40, 59, 'range', " T57 ");"),
        "sqlite", "none.sqlite");
    assert_int_equal(kit_asked(path, "SELECT count(*) FROM sqlite_master WHERE name GLOB '*SAMPL*'"
                                     " OR name = 'COMPOSITE_EVENTS'"),
                     0);
}

/* Two threads, of which one has samples of several lengths and one before everything else; a function of the kernel. */
static struct nvt_trace *make_samples(void)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5);
    uint32_t threads[] = {nvt_trace_thread(trace, process, 5), nvt_trace_thread(trace, process, 6)};
    const char *const names[] = {"main", "step", "write", "a \"b\""};
    for (uint32_t i = 0; i < 4; i++) {
        const struct nvt_call_frame frame = {
            .parent = i < 3 ? i : 1,
            .name = nvt_strings_add_text(trace->strings, names[i]),
            .module = i == 2 ? nvt_strings_add_text(trace->strings, "[kernel]") : 0};
        nvt_call_frame_add(trace, &frame);
    }
    for (uint32_t i = 0; i < 2600; i++) {
        const struct nvt_cpu_sample sample = {
            .time = i ? 1000000 + i * 1500 : 10,
            .thread = threads[i % 13 == 0],
            .cpu_ns = i % 2 ? 1000000 : 2500000,
            .frame = i % 5,
            .flags = i % 5 == 1 && i % 2 ? NVT_CPU_SAMPLE_NO_CALLERS : 0};
        nvt_cpu_sample_add(trace, &sample);
    }
    const struct nvt_range range = {.start = 1000000,
                                    .end = 3000000,
                                    .thread = threads[0],
                                    .name = nvt_strings_add_text(trace->strings, "range")};
    nvt_range_add(trace, &range);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static void expect_same_samples(const struct nvt_trace *trace, const struct nvt_trace *back)
{
    assert_int_equal(back->cpu_samples.count, trace->cpu_samples.count);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        char before[400];
        snprintf(before, sizeof(before), "%s", stack_of(trace, i));
        assert_string_equal(stack_of(back, i), before);
        assert_int_equal(back->cpu_samples.time[i], trace->cpu_samples.time[i]);
        assert_int_equal(back->cpu_samples.cpu_ns[i], trace->cpu_samples.cpu_ns[i]);
        assert_int_equal(back->threads.tid[back->cpu_samples.thread[i]],
                         trace->threads.tid[trace->cpu_samples.thread[i]]);
        assert_int_equal(back->cpu_samples.flags[i],
                         trace->cpu_samples.frame[i] ? trace->cpu_samples.flags[i] : 0);
    }
    assert_int_equal(back->first_ns, trace->first_ns);
    assert_int_equal(back->last_ns, trace->last_ns);
}

static void both_files_hold_any_samples(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_samples();
    const struct nvt_exporter *const exporters[] = {&nvt_exporter_sqlite, &nvt_exporter_nvt};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        const char *path = cli_in(cli_folder, i ? "made.nvt" : "made.sqlite");
        remove(path);
        assert_int_equal(exporters[i]->write_file(trace, path, &err), 0);
        struct nvt_trace *back = kit_read(path);
        expect_same_samples(trace, back);
        if (!i) /* several: there is no one period */
            assert_int_equal(kit_asked(path, "SELECT count(*) FROM META_DATA_CAPTURE"
                                             " WHERE name GLOB '*SAMPLING_PERIOD'"),
                             0);
        nvt_trace_free(back);
    }
    nvt_trace_free(trace);
}

/* What a trace is as text in one of the formats, the caller's. */
static char *text_of(const struct nvt_exporter *exporter, const struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(exporter->write(trace, stream, &err), 0);
    fclose(stream);
    return out;
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void csv_has_a_line_a_sample(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(OF_2023));
    char *out = text_of(&nvt_exporter_csv, trace);
    assert_non_null(strstr(out, "CPU sample,10,0,5,7,,,,,,sin,libm.so,2000000\n"
                                "CPU sample,20,0,5,7,,,,,,sin,libm.so,2000000\n"
                                "CPU sample,30,0,5,8,,,,,,cold,/bin/prog,2000000\n"
                                "CPU sample,40,0,5,7,,,,,,0x55bcadd541a4,/bin/prog,2000000\n"));
    free(out);
    nvt_trace_free(trace);
    trace = kit_read(kit_make_export(STRINGS SAMPLES ONE_SAMPLE));
    out = text_of(&nvt_exporter_csv, trace);
    assert_non_null(strstr(out, "\nCPU sample,10,0,5,7,,,,,,,,\n"));
    free(out);
    nvt_trace_free(trace);
}

/* As Perfetto reads profiles of V8: nodes before what refers to them, each once in a thread's profile, and a time for every sample.
 * Our own reader takes these events for nothing. */
static void chrome_has_a_profile_a_thread(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(OF_2023));
    char *out = text_of(&nvt_exporter_chrome, trace);
    assert_non_null(strstr(out, "{\"ph\":\"P\",\"pid\":5,\"tid\":7,\"ts\":0,\"cat\":"
                                "\"disabled-by-default-v8.cpu_profiler\",\"name\":\"Profile\","
                                "\"id\":\"0x1\",\"args\":{\"data\":{\"startTime\":0}}}"));
    assert_non_null(strstr(out,
                           "\"nodes\":[{\"id\":2,\"callFrame\":{\"functionName\":\"[callers not "
                           "recorded]\",\"url\":\"\",\"scriptId\":0}},{\"id\":9,\"parent\":2,"));
    assert_non_null(strstr(out, "\"samples\":[9,6,8,7]},\"timeDeltas\":[0,0,0,0]}}}"));
    assert_int_equal(count_of(out, "\"name\":\"Profile\""), 2);
    assert_int_equal(count_of(out, "\"functionName\":\"main\""), 1);
    free(out);
    nvt_trace_free(trace);

    trace = make_samples();
    out = text_of(&nvt_exporter_chrome, trace);
    assert_int_equal(count_of(out, "\"name\":\"Profile\""), 2);
    assert_int_equal(count_of(out, "\"name\":\"ProfileChunk\""),
                     4); /* 2400 in one, 200 in the other */
    assert_int_equal(count_of(out, "\"functionName\":\"a \\\"b\\\"\""), 2);
    assert_int_equal(count_of(out, "\"functionName\":\"[unknown]\""), 2);
    cli_write_file(cli_in(cli_folder, "made.json"), out, strlen(out));
    free(out);
    nvt_trace_free(trace);
    struct cli_result result = cli_run((const char *const[]){
        "python3", "-c",
        "import json,sys\n"
        "known, now, total = {}, {}, 0\n"
        "for e in json.load(open(sys.argv[1]))['traceEvents']:\n"
        "    if e['ph'] != 'P': continue\n"
        "    key, data = (e['id'], e['pid']), e['args']['data']\n"
        "    if e['name'] == 'Profile':\n"
        "        known[key], now[key] = set(), data['startTime']\n"
        "        continue\n"
        "    for node in data['cpuProfile']['nodes']:\n"
        "        assert node['id'] not in known[key] and node.get('parent') in known[key] | "
        "{None}\n"
        "        known[key].add(node['id'])\n"
        "    assert len(data['timeDeltas']) == len(data['cpuProfile']['samples'])\n"
        "    assert set(data['cpuProfile']['samples']) <= known[key] and min(data['timeDeltas']) "
        ">= 0\n"
        "    now[key] += sum(data['timeDeltas'])\n"
        "    total += len(data['timeDeltas'])\n"
        "print(total, sorted(now.values()))\n",
        cli_in(cli_folder, "made.json"), NULL});
    cli_expect_status(&result, 0);
    /* All of them, also the one before the range: time 0 is its. */
    assert_string_equal(result.out, "2600 [4880, 4898]\n");
    cli_result_free(&result);
    trace = kit_read(cli_in(cli_folder, "made.json"));
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->cpu_samples.count, 0);
    nvt_trace_free(trace);
}

/* --- windows --- */

#define WITH_RANGES                                                                                \
    OF_2023 "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid);"                   \
            "INSERT INTO NVTX_EVENTS VALUES (0, 60, 59, 'all', " T57                               \
            "), (15, 35, 59, 'step', " T57 "), (36, 45, 59, 'step', " T57                          \
            "), (25, 31, 59, 'other', " T58 ");"

static void windows_take_samples_with_them(void **state)
{
    static const struct {
        const char *option, *value;
        const char *kept; /* times of samples */
    } cases[] = {
        {"--filter-time", "0.00002ms/0.00004ms", "20 30 40 "},
        {"--filter-time", "0.00004ms/1s", "40 50 "},
        {"--filter-nvtx", "step", "20 30 "},
        {"--filter-nvtx", "step/1", "40 "},
        {"--filter-nvtx", "other", "30 "},
        {"--filter-nvtx", "all", "10 20 30 40 50 "},
    };
    (void)state;
    const char *from = kit_make_export(WITH_RANGES), *to = cli_in(cli_folder, "cut.nvt");
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char kept[100] = "";
        remove(to);
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "export", from, "--to", "nvt", "-o", to,
                                          cases[i].option, cases[i].value, NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = kit_read(to), *whole = kit_read(from);
        for (uint32_t k = 0; k < trace->cpu_samples.count; k++) {
            size_t length = strlen(kept);
            snprintf(kept + length, sizeof(kept) - length, "%lld ",
                     (long long)trace->cpu_samples.time[k]);
            /* With their stacks, wherever these now are. */
            char stack[200];
            snprintf(stack, sizeof(stack), "%s", stack_of(trace, k));
            assert_string_equal(stack_of(whole, (uint32_t)(trace->cpu_samples.time[k] / 10 - 1)),
                                stack);
        }
        if (strcmp(kept, cases[i].kept) != 0)
            fail_msg("%s %s: %s instead of %s", cases[i].option, cases[i].value, kept,
                     cases[i].kept);
        nvt_trace_free(trace);
        nvt_trace_free(whole);
    }
}

/* A file of tables is the trace as it was read. */
static void tables_are_the_same(void **state)
{
    (void)state;
    char text[400];
    const char *to = kit_exported(kit_make_export(WITH_RANGES), "nvt", "same.nvt");
    struct nvt_trace *before = kit_read(cli_in(cli_folder, "t.sqlite")), *after = kit_read(to);
    after->format = before->format;
    const char *difference = trace_difference(before, after, text, sizeof(text));
    if (difference)
        fail_msg("%s", difference);
    nvt_trace_free(before);
    nvt_trace_free(after);
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
        cmocka_unit_test(exports_of_nsys_hold_them_again),
        cmocka_unit_test(both_files_hold_any_samples),
        cmocka_unit_test(csv_has_a_line_a_sample),
        cmocka_unit_test(chrome_has_a_profile_a_thread),
        cmocka_unit_test(windows_take_samples_with_them),
        cmocka_unit_test(tables_are_the_same),
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
