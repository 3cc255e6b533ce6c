/*
 * The reader of nsys's SQLite exports, over files that lack something, are another program's or were made to harm; how
 * a file is found to be one, and reports that are not exported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "nsys_kit.h"
#include "read_kit.h"

#ifdef HAVE_SQLITE
static void warns_about_a_table_it_cannot_use(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        kit_read(kit_make_export(NSYS_STRINGS "CREATE TABLE NVTX_EVENTS (start INTEGER, text TEXT);"
                                              "INSERT INTO NVTX_EVENTS VALUES (1, 'x');"));
    assert_int_equal(trace->ranges.count, 0);
    assert_non_null(strstr(trace->warning, "NVTX_EVENTS"));
    assert_non_null(strstr(trace->warning, "eventType"));
    nvt_trace_free(trace);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    kit_expect_unreadable(kit_make_export("CREATE TABLE t (a)"), "not nsys's");
    kit_expect_unreadable(
        kit_make_export(NVTX_2026
                        "INSERT INTO NVTX_EVENTS (start, eventType) VALUES ('soon', 59);"),
        "table NVTX_EVENTS, row 1: column start");
    kit_expect_unreadable(
        kit_make_export(NVTX_2026 "INSERT INTO NVTX_EVENTS (start, eventType) VALUES (1, 59);"
                                  "INSERT INTO NVTX_EVENTS (start, end, eventType) VALUES"
                                  " (2, 9223372036854775807, 59);"),
        "row 2: column end");
    kit_expect_unreadable(
        kit_make_export(NVTX_2026 "INSERT INTO NVTX_EVENTS (start, eventType) VALUES (1e300, 59);"),
        "column start");
    kit_expect_unreadable(
        kit_make_export(NVTX_2026 "INSERT INTO NVTX_EVENTS (start, eventType, category) VALUES"
                                  " (1, 59, 1 << 40);"),
        "column category");
    kit_expect_unreadable(kit_make_export(NVTX_2026
                                          "INSERT INTO NVTX_EVENTS (start, eventType, text) VALUES"
                                          " (1, 59, x'00ff');"),
                          "row 1");
    kit_expect_unreadable(
        kit_make_export(NSYS_STRINGS KERNEL_2020
                        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, localMemoryTotal)"
                        " VALUES (1, 2, -8);"),
        "column localMemoryTotal");
}

/* Databases of other programs, with tables of nsys's names or not, are refused by name and never read in part. */
static void refuses_databases_of_others(void **state)
{
    (void)state;
    kit_expect_unreadable(
        kit_make_export("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);"
                        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY,"
                        " copyKind INT, bytes INT, start INT, end INT);"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 8, 100, 200);"),
        "is a database of nvprof");
    kit_expect_unreadable(kit_make_export("CREATE TABLE rocpd_kernel_dispatch (id INTEGER);"),
                          "rocpd");
    kit_expect_unreadable(kit_make_export("CREATE TABLE CANN_API (startNs INTEGER);"), "Ascend");
    kit_expect_unreadable(
        kit_make_export("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, name INT);"),
        "without nsys's columns");
}

static void passes_on_nsyss_own_warnings(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NVTX_2026
        "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INT, severity INT, text TEXT);"
        "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'started'), (2, 2, 'lost'), (3, 2, 'lost'),"
        " (4, 3, 'full'), (5, 2, 'a'), (6, 2, 'b'), (7, 2, 'c'), (8, 2, 'd'), (9, 2, 'e');"));
    assert_null(strstr(trace->notes, "started"));
    const char *lost = strstr(trace->notes, "nsys's own warning: lost\n");
    assert_non_null(lost);
    assert_null(strstr(lost + strlen("nsys's own warning: lost"), "lost"));
    assert_non_null(strstr(trace->notes, "nsys's own warning: full\n"));
    assert_non_null(strstr(trace->notes, "nsys has 2 more warnings"));
    nvt_trace_free(trace);
    /* One that could compute for ever is not read. */
    trace = kit_read(kit_make_export(
        NVTX_2026 "CREATE VIEW DIAGNOSTIC_EVENT AS WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL"
                  " SELECT i + 1 FROM c) SELECT i AS severity, 'x' AS text FROM c;"));
    nvt_trace_free(trace);
}

/* A view could compute for ever, or call functions; it is not read. */
static void reads_no_views(void **state)
{
    (void)state;
    kit_expect_unreadable(
        kit_make_export("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL"
                        " SELECT i + 1 FROM c) SELECT i AS start, i AS end, 59 AS eventType,"
                        " 'x' AS text FROM c;"),
        "not nsys's");
    kit_expect_unreadable(
        kit_make_export("CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(start, eventType);"),
        "not nsys's");
}

static void takes_generated_columns_as_missing(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(
        kit_make_export("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER,"
                        " text TEXT AS (hex(zeroblob(100000000))));"
                        "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59);"));
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "");
    nvt_trace_free(trace);
}

/* A file of a few thousand ranges, that takes several levels of pages. */
static const char *make_large(void)
{
    return kit_make_export(
        NVTX_2026 "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid)"
                  " WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 4000)"
                  " SELECT i, i + 5, 59, 'range ' || i, " T57 " FROM c;");
}

static void refuses_cut_files(void **state)
{
    (void)state;
    size_t size;
    char *data = cli_read_file(make_large(), &size);
    const char *path = cli_in(cli_folder, "cut.sqlite");
    const size_t sizes[] = {20, 100, 512, 4096, size / 2, size - 1};
    for (size_t i = 0; i < NVT_COUNT_OF(sizes); i++) {
        cli_write_file(path, data, sizes[i]);
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_trace *trace = nvt_trace_read(path, &err);
        assert_null(trace);
        assert_true(*err.message);
    }
    free(data);
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Every child of every inner page becomes `child` (0: the page itself). */
static void rewire(unsigned char *data, size_t size, uint32_t child)
{
    size_t page_size = (size_t)data[16] << 8 | data[17];
    for (size_t page = 1; page * page_size < size; page++) {
        unsigned char *at = data + page * page_size;
        uint32_t to = child ? child : (uint32_t)page + 1;
        if (at[0] != 5)
            continue;
        for (unsigned cell = 0; cell < ((unsigned)at[3] << 8 | at[4]); cell++) {
            unsigned offset = (unsigned)at[12 + 2 * cell] << 8 | at[13 + 2 * cell];
            assert_true(big_endian(at + offset) <= size / page_size);
            for (int byte = 0; byte < 4; byte++)
                at[offset + (unsigned)byte] = (unsigned char)(to >> (24 - 8 * byte));
        }
    }
}

static void survives_pages_that_point_at_each_other(void **state)
{
    (void)state;
    size_t size;
    const char *path = cli_in(cli_folder, "cyclic.sqlite");
    char *original = cli_read_file(make_large(), &size);
    for (uint32_t child = 0; child < 6; child++) {
        char *data = malloc(size);
        assert_non_null(data);
        memcpy(data, original, size);
        rewire((unsigned char *)data, size, child);
        cli_write_file(path, data, size);
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_trace *trace = nvt_trace_read(path, &err);
        assert_true(trace || *err.message);
        if (!child)
            assert_null(trace);
        nvt_trace_free(trace);
        free(data);
    }
    free(original);
}

static void survives_any_changed_byte(void **state)
{
    (void)state;
    kit_survives_changed_bytes(
        kit_make_export(NSYS_STRINGS RUNTIME_2020 KERNEL_2020 NVTX_2026 OSRT_2024
                        "INSERT INTO StringIds VALUES (1, 'a'), (2, 'b');"
                        "INSERT INTO OSRT_API VALUES (1, 2, 27, " T57 ", 8, 1, 1, 0, 0);"
                        "INSERT INTO NVTX_EVENTS (start, end, eventType, text,"
                        " globalTid) VALUES (1, 2, 59, 'r', " T57 ");"),
        "changed.sqlite", 50);
}

static void names_tables_of_devices_that_it_does_not_read(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS NVTX_2026 "CREATE TABLE CUDA_UM_OTHER_EVENTS (start);"
                               "CREATE TABLE VULKAN_WORKLOAD (start);"
                               "CREATE TABLE OPENACC_DATA_EVENTS (start);"
                               "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (start);"
                               "CREATE TABLE \"CUDA_UM_\x1b[2J\" (start);"
                               "INSERT INTO CUDA_UM_OTHER_EVENTS VALUES (1);"
                               "INSERT INTO VULKAN_WORKLOAD VALUES (1), (2);"
                               "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (1);"
                               "INSERT INTO \"CUDA_UM_\x1b[2J\" VALUES (1);"));
    assert_string_equal(trace->notes,
                        "tables CUDA_UM_OTHER_EVENTS, VULKAN_WORKLOAD are not read\n");
    nvt_trace_free(trace);
    trace = kit_read(kit_make_export(NSYS_STRINGS NVTX_2026
                                     "CREATE TABLE OPENACC_LAUNCH_EVENTS (start);"
                                     "INSERT INTO OPENACC_LAUNCH_EVENTS VALUES (1);"));
    assert_string_equal(trace->notes, "table OPENACC_LAUNCH_EVENTS is not read\n");
    nvt_trace_free(trace);
}

static void takes_any_path(void **state)
{
    (void)state;
    size_t size;
    char *data = cli_read_file(make_large(), &size);
    const char *path = cli_in(cli_folder, "a?mode=memory&b=%41#c d.sqlite");
    cli_write_file(path, data, size);
    struct nvt_trace *trace = kit_read(path);
    assert_int_equal(trace->ranges.count, 4000);
    nvt_trace_free(trace);
    free(data);
}

static void is_found_by_content(void **state)
{
    (void)state;
    size_t size;
    char *data = cli_read_file(make_large(), &size);
    cli_write_file(cli_in(cli_folder, "trace.json"), data, size);
    struct nvt_trace *trace = kit_read(cli_in(cli_folder, "trace.json"));
    assert_string_equal(trace->format, "nsys");
    nvt_trace_free(trace);
    free(data);
}

static void says_how_to_export_a_report(void **state)
{
    (void)state;
    const char *report = cli_in(cli_folder, "a.nsys-rep");
    const char *const environment[] = {"PATH=/nonexistent", NULL};
    const struct cli_options options = {.environment = environment};
    cli_write_file(report, "whatever is in it", 17);
    struct cli_result result =
        cli_run_with(&options, (const char *const[]){cli_built("nvtally"), "stats", report, NULL});
    cli_expect_failure(&result, "nsys export --type sqlite");
    cli_result_free(&result);
}

/* An nsys of the test's own, which "exports" by copying what lies beside the report. */
static void runs_nsys_on_a_report(void **state)
{
    (void)state;
    size_t size;
    char *data = cli_read_file(make_large(), &size);
    cli_write_file(cli_in(cli_folder, "b.nsys-rep.sqlite"), data, size);
    free(data);
    static const char script[] = "#!/bin/sh\n[ \"$1 $2 $3\" = 'export --type sqlite' ] || exit 3\n"
                                 "cp \"$8.sqlite\" \"$7\"\n";
    const char *nsys = cli_in(cli_folder, "nsys");
    cli_write_file(nsys, script, sizeof(script) - 1);
    assert_int_equal(chmod(nsys, 0755), 0);
    const char *report = cli_in(cli_folder, "b.nsys-rep");
    cli_write_file(report, "whatever is in it", 17);
    char path[1024];
    snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", cli_folder);
    const char *const environment[] = {path, NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result =
        cli_run_with(&options, (const char *const[]){cli_built("nvtally"), "stats", "-r",
                                                     "nvtx_sum", "-f", "csv", report, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ":range 4000"));
    cli_result_free(&result);

    /* What it says of a report that is newer than it is what there is to say; nothing is left of it. */
    static const char older[] =
        "#!/bin/sh\nprintf '\\nExport error: \\033newer\\nPlease update\\n' >&2\nexit 1\n";
    char tmp[1024];
    snprintf(tmp, sizeof(tmp), "TMPDIR=%s", cli_in(cli_folder, "tmp"));
    assert_int_equal(mkdir(cli_in(cli_folder, "tmp"), 0700), 0);
    cli_write_file(nsys, older, sizeof(older) - 1);
    const char *const there[] = {path, tmp, NULL};
    const struct cli_options again = {.environment = there};
    result =
        cli_run_with(&again, (const char *const[]){cli_built("nvtally"), "stats", report, NULL});
    cli_expect_status(&result, 2);
    assert_non_null(
        strstr(result.err, "b.nsys-rep: nsys export failed with status 1: Export error: "));
    assert_non_null(strstr(result.err, "newer\n"));
    assert_null(strchr(result.err, '\033'));
    assert_ptr_equal(strchr(result.err, '\n') + 1, result.err + strlen(result.err));
    assert_int_equal(rmdir(cli_in(cli_folder, "tmp")), 0);
    cli_result_free(&result);
}

/* Tables of more rows than one thread reads, with every type of cell; then a row of them is not what it should be. */
static void reading_ahead_changes_nothing(void **state)
{
    (void)state;
    static const char rows[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)";
    static const char *const bad[] = {
        "", "UPDATE NVTX_EVENTS SET start = 'soon' WHERE rowid = 55555;",
        "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = x'00' WHERE rowid = 20001;",
        "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 1.5 WHERE rowid = 69999;"};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        char sql[4096];
        snprintf(sql, sizeof(sql),
                 NSYS_STRINGS NVTX_2026 RUNTIME_2020
                 "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'registered');"
                 "%s INSERT INTO NVTX_EVENTS (start, end, eventType, text, textId, globalTid,"
                 " doubleValue, int64Value, color) SELECT i * 3, nullif(i * 3 + 2, 3002), 59,"
                 " CASE i %% 4 WHEN 0 THEN 'step ' || (i %% 100) WHEN 1 THEN '' END, 2, " T57
                 " + i %% 2, CASE i %% 7 WHEN 0 THEN i / 8.0 END, CASE i %% 5 WHEN 0 THEN -i END,"
                 " i FROM n;"
                 "%s INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 3, i * 3 + 1, 0, " T57
                 ", i, 1, 0 FROM n; %s",
                 rows, rows, bad[i]);
        struct nvt_trace *trace = kit_read_on_threads(kit_make_export(sql), "3", bad[i]);
        assert_int_equal(trace != NULL, !*bad[i]);
        assert_true(!trace || (trace->ranges.count == 70000 && trace->apis.count == 70000));
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warns_about_a_table_it_cannot_use),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(refuses_databases_of_others),
        cmocka_unit_test(passes_on_nsyss_own_warnings),
        cmocka_unit_test(reads_no_views),
        cmocka_unit_test(takes_generated_columns_as_missing),
        cmocka_unit_test(refuses_cut_files),
        cmocka_unit_test(survives_pages_that_point_at_each_other),
        cmocka_unit_test(survives_any_changed_byte),
        cmocka_unit_test(names_tables_of_devices_that_it_does_not_read),
        cmocka_unit_test(takes_any_path),
        cmocka_unit_test(is_found_by_content),
        cmocka_unit_test(says_how_to_export_a_report),
        cmocka_unit_test(runs_nsys_on_a_report),
        cmocka_unit_test(reading_ahead_changes_nothing),
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
