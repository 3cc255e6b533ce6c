/*
 * Managed memory: page faults and migrations in nsys's exports and in traces of our own, in reports, in what is exported, and
 * in files made to harm. How the collector gets them from CUPTI is test_cupti.c and test_cupti_decode.c; that the reports are
 * nsys's to the digit, `make check-nsys` shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "../collectors/output.h"
#include "../lib/count_of.h"
#include "../lib/device_rows.h"
#include "cli.h"
#include "read_kit.h"

/* What a command prints, which has to be right. */
static void expect_output(const char *const argv[], const char *expected)
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, expected);
    cli_result_free(&result);
}

static void expect_report(const char *report, const char *path, const char *expected)
{
    expect_output((const char *const[]){"nvtally", "stats", "-r", report, "-f", "csv", path, NULL},
                  expected);
}

/* --- traces of our own ------------------------------------------------------------------------------ */

/* A trace of one process with these rows about devices, whose times are ns from its beginning. */
static const char *write_rows(const struct nvt_device_row *rows, size_t count)
{
    static struct nvt_device_batch batch;
    static uint8_t room[1 << 16];
    const char *path = cli_in(cli_folder, "t.nvt");
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_costs costs = {{0}};
    struct nvt_buffer out = {0};
    struct nvt_output *output = nvt_output_new(path, 1, &err);
    assert_non_null(output);
    assert_int_equal(nvt_output_begin(output, &err), 0);
    assert_int_equal(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), 0);
    uint64_t origin = (uint64_t)nvt_output_origin(output);
    uint32_t process = nvt_output_process(output, 41, 1, 1, "program", &costs);
    uint32_t thread = nvt_output_thread(output, process, 42, "collector");
    nvt_device_batch_init(&batch, room, sizeof(room));
    for (size_t i = 0; i < count; i++) {
        struct nvt_device_row row = rows[i];
        row.fields[NVT_ROW_START] += origin;
        row.fields[NVT_ROW_END] += origin;
        assert_int_equal(nvt_device_batch_add(&batch, row.kind, row.fields, row.count), 0);
    }
    size_t size;
    const uint8_t *bytes = nvt_device_batch_rows(&batch, &size);
    assert_int_equal(nvt_buffer_varint(&out, 0), 0);
    assert_int_equal(nvt_buffer_append(&out, bytes, size), 0);
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE,
                              .process = process,
                              .thread = thread,
                              .count = batch.rows,
                              .first = origin,
                              .last = origin};
    assert_int_equal(nvt_output_chunk(output, &chunk, out.data, out.size, &err), 0);
    assert_int_equal(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), 0);
    assert_int_equal(nvt_output_close(output, 0, 0, &err), 0);
    nvt_buffer_free(&out);
    return path;
}

#define UM_ROW(start, end, ...)                                                                    \
    {                                                                                              \
        NVT_DEVICE_UM, NVT_UM_FIELDS,                                                              \
        {                                                                                          \
            start, end, 0, __VA_ARGS__                                                             \
        }                                                                                          \
    }
#define MOVE_ROW(start, end, bytes, kind, address, cause)                                          \
    {                                                                                              \
        NVT_DEVICE_MEMCPY, NVT_MIGRATION_FIELDS,                                                   \
        {                                                                                          \
            start, end, 0, 0, 1, 0, 0, 0, 0, bytes, kind, 5, 5, 1, 1, address, cause               \
        }                                                                                          \
    }
#define NOBODY UINT32_MAX

static const struct nvt_device_row all_kinds[] = {
    UM_ROW(1000, 1000, 3, NOBODY, NOBODY, 0x1000, 0x4005d0, 2),
    UM_ROW(1500, 1800, 4, 1, NOBODY, 0x1000, 7, 1),
    MOVE_ROW(1600, 1700, 65536, 11, 0x1000, 2),
    MOVE_ROW(1900, 2000, 4096, 12, 0x2000, 4),
    MOVE_ROW(2000, 2100, 1024, 13, 0x2000, 1),
    UM_ROW(2200, 2200, 5, 3, NOBODY, 0x1000, 2097152, 32),
    UM_ROW(2300, 2900, 6, 1, NOBODY, 0x1000, 0, 64),
    UM_ROW(3000, 3000, 7, 1, NOBODY, 0x3000, 65536, 2),
};
#define ALL_KINDS NVT_COUNT_OF(all_kinds)

static void our_own_traces_have_them(void **state)
{
    (void)state;
    const char *path = write_rows(all_kinds, ALL_KINDS);
    struct nvt_trace *trace = kit_read(path);
    const struct nvt_um_events *events = &trace->um_events;
    assert_int_equal(events->count, 5);
    assert_int_equal(events->kind[0], NVT_UM_CPU_FAULT);
    assert_int_equal(events->faults[0], 1);
    assert_int_equal(events->pc[0], 0x4005d0);
    assert_int_equal(events->kind[4], NVT_UM_REMOTE_MAP);
    assert_int_equal(events->device[4], 1);
    assert_int_equal(events->target[4], NVT_NONE);
    assert_int_equal(trace->migrations.count, 3);
    assert_int_equal(trace->first_ns, events->start[0]);
    assert_int_equal(trace->last_ns, events->start[4]);
    nvt_trace_free(trace);
    expect_report("um_sum", path,
                  "Virtual Address,HtoD Migration size (MB),DtoH Migration size (MB),"
                  "CPU Page Faults,GPU Page Faults,Migration Throughput (MB/s)\n"
                  "0x1000,0.066,,1,7,655360.000\n"
                  "0x2000,,0.004,,,40960.000\n");
    expect_report("um_total_sum", path,
                  "Total HtoD Migration Size (MB),Total DtoH Migration Size (MB),"
                  "Total CPU Page Faults,Total GPU PageFaults,Minimum Virtual Address,"
                  "Maximum Virtual Address\n"
                  "0.066,0.004,1,7,0x1000,0x2000\n");
    expect_report("um_cpu_page_faults_sum", path,
                  "CPU Page Faults,CPU Instruction Address,Source File,Source Line\n"
                  "1,0x4005d0,,\n");
}

/* Numbers that are none of CUPTI's: of a later one, or of a file made to harm. */
static void strange_numbers_are_unknown(void **state)
{
    static const struct nvt_device_row rows[] = {
        UM_ROW(100, 100, 8, 1, NOBODY, 1, 1, 1),
        UM_ROW(100, 100, UINT64_MAX, 1, NOBODY, 1, 1, 1),
        UM_ROW(200, 200, 4, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX),
        UM_ROW(300, 300, 3, 0, 0, UINT64_MAX, UINT64_MAX, 5),
        UM_ROW(400, 400, 7, 5, 6, 7, UINT64_MAX, 6),
        MOVE_ROW(500, 600, UINT64_MAX, 11, UINT64_MAX, UINT64_MAX),
        MOVE_ROW(500, 600, 1, 1, 0x5000, 2), /* a copy of the program's own */
    };
    (void)state;
    const char *path = write_rows(rows, NVT_COUNT_OF(rows));
    struct nvt_trace *trace = kit_read(path);
    const struct nvt_um_events *events = &trace->um_events;
    assert_int_equal(events->count, 3);
    assert_int_equal(events->kind[0], NVT_UM_GPU_FAULT);
    for (uint32_t i = 0; i < events->count; i++)
        assert_int_equal(events->reason[i], 0);
    assert_string_equal(nvt_name(trace, events->instruction[1]), "0xffffffffffffffff");
    assert_int_equal(trace->migrations.count, 1);
    assert_int_equal(trace->migrations.cause[0], NVT_UM_MOVE_UNKNOWN);
    assert_int_equal(trace->ops.bytes[0], 0);
    nvt_trace_free(trace);
    static const char *const outputs[] = {"csv", "chrome", NULL};
    for (size_t i = 0; outputs[i]; i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "export", path, "--to", outputs[i], NULL});
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "GPU page fault"));
        cli_result_free(&result);
    }
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "stats", "-r", "um_sum,um_total_sum,um_cpu_page_faults_sum", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Chrome's traces have migrations and no page faults: that none are there does not say that there were none. */
static void faults_that_a_format_lacks_are_not_0(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,"
        "\"name\":\"Memcpy Unified HtoD (Managed -> Managed)\",\"args\":{\"bytes\":66000}}]";
    (void)state;
    const char *path = cli_in(cli_folder, "moves.json");
    cli_write_file(path, text, strlen(text));
    expect_report("um_total_sum", path,
                  "Total HtoD Migration Size (MB),Total DtoH Migration Size (MB),"
                  "Total CPU Page Faults,Total GPU PageFaults,Minimum Virtual Address,"
                  "Maximum Virtual Address\n"
                  "0.066,,,,,\n");
}

static void a_window_leaves_others_out(void **state)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_window window = {0};
    (void)state;
    struct nvt_trace *trace = kit_read(write_rows(all_kinds, ALL_KINDS));
    assert_int_equal(nvt_window_set_time(&window, "400ns/1300ns", &err), 0);
    assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
    assert_int_equal(trace->um_events.count, 3);
    assert_int_equal(trace->um_events.kind[0], NVT_UM_GPU_FAULT);
    assert_int_equal(trace->um_events.kind[2], NVT_UM_THROTTLING);
    assert_int_equal(trace->last_ns, trace->um_events.end[2]);
    nvt_trace_free(trace);
}

static void exports_name_them(void **state)
{
    (void)state;
    const char *path = write_rows(all_kinds, ALL_KINDS);
    static const char *const lines[] = {"CPU page fault,",
                                        ",0x4005d0,Write,0x1000\n",
                                        ",300,41,,1,,,,,,Read,\"0x1000, 7 faults\"\n",
                                        "[CUDA memcpy Unified Host-to-Device],Page fault,0x1000\n",
                                        "Thrashing,",
                                        "Throttling,",
                                        ",0,41,,1,,,65536,,,Thrashing,0x3000\n"};
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "export", path, "--to", "csv", NULL});
    cli_expect_status(&result, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], result.out);
    cli_result_free(&result);
    /* Moments stand across a process, what a device waits for has a length, and a row of its own. */
    static const char *const events[] = {
        "{\"ph\":\"i\",\"pid\":41,\"tid\":0,\"ts\":0.000,\"s\":\"p\",\"cat\":\"unified_memory\","
        "\"name\":"
        "\"CPU page fault\",\"args\":{\"address\":\"0x1000\",\"faults\":1,\"access\":\"Write\","
        "\"instruction\":\"0x4005d0\"}}",
        "\"ts\":0.500,\"dur\":0.300,\"cat\":\"unified_memory\",\"name\":\"GPU page "
        "fault\",\"args\":"
        "{\"address\":\"0x1000\",\"faults\":7,\"access\":\"Read\"}}",
        "\"args\":{\"name\":\"managed memory\"}",
        "\"migration\":\"Unified Host-to-Device\",\"address\":\"0x1000\",\"cause\":\"Page fault\"",
        "{\"address\":\"0x3000\",\"bytes\":65536,\"cause\":\"Thrashing\"}"};
    result = cli_run((const char *const[]){"nvtally", "export", path, "--to", "chrome", NULL});
    cli_expect_status(&result, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(events); i++)
        if (!strstr(result.out, events[i]))
            fail_msg("no '%s' in\n%s", events[i], result.out);
    const char *back = cli_in(cli_folder, "t.json");
    cli_write_file(back, result.out, strlen(result.out));
    struct nvt_trace *trace = kit_read(back);
    assert_int_equal(trace->ops.count, 3);
    assert_int_equal(trace->ranges.count, 0); /* they are none */
    assert_int_equal(trace->marks.count, 0);
    nvt_trace_free(trace);
    cli_result_free(&result);
}

/* What our own traces have and is not read of their exports again is noted, with how much it is. */
static void what_is_not_read_again_is_noted(void **state)
{
    static const char *const formats[][2] = {{"chrome", "t.json"}, {"perfetto", "t.pftrace"}};
    (void)state;
    const char *path = write_rows(all_kinds, ALL_KINDS);
    for (size_t i = 0; i < NVT_COUNT_OF(formats); i++) {
        struct nvt_trace *trace = kit_read(kit_exported(path, formats[i][0], formats[i][1]));
        assert_int_equal(trace->um_events.count, 0);
        assert_non_null(strstr(trace->notes, "managed memory are not read from this format (5);"));
        nvt_trace_free(trace);
    }
}

static void nothing_on_record_is_said(void **state)
{
    static const struct nvt_device_row rows[] = {MOVE_ROW(500, 600, 1, 1, 0x5000, 2)};
    static const char *const reports[] = {"um_sum", "um_total_sum", "um_cpu_page_faults_sum", NULL};
    (void)state;
    const char *path = write_rows(rows, 1);
    for (size_t i = 0; reports[i]; i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "stats", "-r", reports[i], path, NULL});
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.err, "in the input (record --trace um)"));
        cli_result_free(&result);
    }
}

/* --- nsys's exports --------------------------------------------------------------------------------- */

#ifdef HAVE_SQLITE
#include <sqlite3.h>

static void expect_error(const char *script, const char *needle)
{
    kit_expect_unreadable(kit_make_export(script), needle);
}

/* As in schema 3.25, of which 2023.4 has all but the last two columns of the first. */
#define STRINGS "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
#define COPIES                                                                                     \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,"       \
    " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"               \
    " globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER,"       \
    " migrationCause INTEGER, virtualAddress INTEGER);"
#define HOST_FAULTS                                                                                \
    "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER,"       \
    " address INTEGER, originalFaultPc INTEGER, CpuInstruction INTEGER, module INTEGER,"           \
    " unresolvedFaultPc INTEGER, sourceFile INTEGER, sourceLine INTEGER);"
#define DEVICE_FAULTS                                                                              \
    "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER,"             \
    " globalPid INTEGER, deviceId INTEGER, address INTEGER, numberOfPageFaults INTEGER,"           \
    " faultAccessType INTEGER);"
#define P5 "281475060596736"
#define P6 "281475077373952"

#define MANAGED                                                                                    \
    STRINGS COPIES HOST_FAULTS DEVICE_FAULTS                                                       \
        "INSERT INTO StringIds VALUES (1, 'main'), (2, 'fill'), (3, '/opt/a.out'), (4, 'a.cu');"   \
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"                                            \
        " (100, 1100, 1, 0, 0, 0, " P5 ", 65536, 11, 4, 4, 2, 4096),"                              \
        " (2100, 5100, 1, 0, 0, 0, " P5 ", 131072, 12, 4, 4, 4, 4096),"                            \
        " (6100, 6400, 1, 0, 0, 0, " P5 ", 65536, 11, 4, 4, 1, 1048576),"                          \
        " (7000, 7001, 1, 1, 7, 9, " P5 ", 99, 1, 0, 2, NULL, NULL);"                              \
        "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES"                                         \
        " (70, " P5 ", 4096, 4712, 2, 3, 0, 4, 17), (50, " P5                                      \
        ", 4096, 4711, 1, 3, 0, NULL, NULL),"                                                      \
        " (60, " P6 ", 8192, 4711, 1, NULL, 1, NULL, NULL);"                                       \
        "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES"                                         \
        " (90, 120, " P5 ", 1, 4096, 7, 2), (95, 125, " P5 ", 1, 1048576, 3, 1);"

static void expect_managed(const struct nvt_trace *trace)
{
    const struct nvt_um_events *events = &trace->um_events;
    const struct nvt_ops *ops = &trace->ops;
    assert_null(trace->notes);
    assert_int_equal(events->count, 5);
    assert_int_equal(events->start[0], 50);
    assert_int_equal(events->end[0], 50);
    assert_int_equal(events->kind[0], NVT_UM_CPU_FAULT);
    assert_int_equal(events->device[0], NVT_NONE);
    assert_int_equal(events->pc[0], 4711);
    assert_string_equal(nvt_name(trace, events->instruction[0]), "main");
    assert_string_equal(nvt_name(trace, events->module[0]), "/opt/a.out");
    assert_int_equal(events->source[0], 0);
    assert_int_not_equal(events->process[0], events->process[1]);
    assert_string_equal(nvt_name(trace, events->source[2]), "a.cu");
    assert_int_equal(events->line[2], 17);
    assert_int_equal(events->kind[3], NVT_UM_GPU_FAULT);
    assert_int_equal(events->end[3], 120);
    assert_int_equal(events->device[3], 1);
    assert_int_equal(events->address[3], 4096);
    assert_int_equal(events->faults[3], 7);
    assert_int_equal(events->reason[3], 2);
    assert_int_equal(ops->count, 4);
    assert_int_equal(trace->migrations.count, 3);
    assert_int_equal(trace->migrations.address[ops->detail[0]], 4096);
    assert_int_equal(trace->migrations.cause[ops->detail[0]], NVT_UM_MOVE_FAULT);
    assert_int_equal(trace->migrations.cause[ops->detail[1]], 4);
    assert_int_equal(trace->migrations.cause[ops->detail[2]], NVT_UM_MOVE_USER);
    assert_int_equal(ops->detail[3], NVT_NONE);
}

static void reads_faults_of_nsys(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(MANAGED));
    expect_managed(trace);
    nvt_trace_free(trace);
}

/* The figures are those that nsys 2023.4 prints of it, but for halves of its last digit. */
static void reports_are_those_of_nsys(void **state)
{
    (void)state;
    const char *path = kit_make_export(MANAGED);
    expect_report("um_sum", path,
                  "Virtual Address,HtoD Migration size (MB),DtoH Migration size (MB),"
                  "CPU Page Faults,GPU Page Faults,Migration Throughput (MB/s)\n"
                  "0x100000,0.066,,,3,218453.333\n"
                  "0x1000,0.066,0.131,2,7,49152.000\n"
                  "0x2000,,,1,,\n");
    expect_report("um_total_sum", path,
                  "Total HtoD Migration Size (MB),Total DtoH Migration Size (MB),"
                  "Total CPU Page Faults,Total GPU PageFaults,Minimum Virtual Address,"
                  "Maximum Virtual Address\n"
                  "0.131,0.131,3,10,0x1000,0x100000\n");
    expect_report("um_cpu_page_faults_sum", path,
                  "CPU Page Faults,CPU Instruction Address,Source File,Source Line\n"
                  "2,main,,\n"
                  "1,fill,a.cu,17\n");
}

static void an_export_takes_them_back(void **state)
{
    (void)state;
    const char *again = cli_in(cli_folder, "again.sqlite");
    remove(again);
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "export", kit_make_export(MANAGED), "--to", "sqlite", "-o", again, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = kit_read(again);
    expect_managed(trace);
    nvt_trace_free(trace);
}

static int count_tables(const char *path, const char *pattern)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_master WHERE name GLOB ?",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(statement, 1, pattern, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

/* nsys takes the tables for a sign that it was recorded. */
static void an_export_has_tables_only_for_something(void **state)
{
    static const struct nvt_device_row nothing[] = {MOVE_ROW(500, 600, 1, 1, 0x5000, 2)};
    (void)state;
    const char *out = cli_in(cli_folder, "out.sqlite");
    for (int is_managed = 0; is_managed < 2; is_managed++) {
        const char *path = is_managed ? write_rows(all_kinds, ALL_KINDS) : write_rows(nothing, 1);
        remove(out);
        struct cli_result result = cli_run(
            (const char *const[]){"nvtally", "export", path, "--to", "sqlite", "-o", out, NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        assert_int_equal(count_tables(out, "CUDA_UM_*"), is_managed ? 2 : 0);
        assert_int_equal(count_tables(out, "ENUM_CUDA_UNIF_*"), is_managed ? 2 : 0);
    }
}

/* Columns come and go between versions, and may be null in any. */
static void columns_may_be_missing(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER,"
                " bytes INTEGER, copyKind INTEGER);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 4096, 12);"
                "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER, address INTEGER);"
                "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (5, NULL), (6, -1);"
                "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, end INTEGER,"
                " address INTEGER, faultAccessType INTEGER);"
                "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (7, 3, 64, 4294967298);"));
    const struct nvt_um_events *events = &trace->um_events;
    assert_int_equal(trace->migrations.count, 1);
    assert_int_equal(trace->migrations.address[0], 0);
    assert_int_equal(events->count, 3);
    assert_int_equal(events->address[0], 0);
    assert_true(events->address[1] == UINT64_MAX);
    assert_int_equal(events->end[2], 7); /* not before its start */
    assert_int_equal(events->faults[2], 0);
    assert_int_equal(events->reason[2], 0);
    nvt_trace_free(trace);
    trace = kit_read(kit_make_export(STRINGS DEVICE_FAULTS
                                     "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER);"
                                     "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (1);"));
    assert_string_equal(trace->warning,
                        "table CUDA_UM_CPU_PAGE_FAULT_EVENTS has no column address: left out");
    nvt_trace_free(trace);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    expect_error(HOST_FAULTS "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS (start, address) VALUES"
                             " (1, 'here');",
                 "CUDA_UM_CPU_PAGE_FAULT_EVENTS, row 1: column address");
    expect_error(HOST_FAULTS "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS (start, address,"
                             " sourceLine) VALUES (1, 1, 4294967296);",
                 "column sourceLine");
    expect_error(DEVICE_FAULTS "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES"
                               " (1, 2, 0, 0, 1, -1, 0);",
                 "column numberOfPageFaults");
    expect_error(DEVICE_FAULTS "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES"
                               " (1, NULL, 0, 0, 1, 1, 0);",
                 "column end");
    expect_error(COPIES "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, copyKind,"
                        " virtualAddress) VALUES (1, 2, 11, 1.5);",
                 "column virtualAddress");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_traces_have_them),
        cmocka_unit_test(strange_numbers_are_unknown),
        cmocka_unit_test(faults_that_a_format_lacks_are_not_0),
        cmocka_unit_test(a_window_leaves_others_out),
        cmocka_unit_test(exports_name_them),
        cmocka_unit_test(what_is_not_read_again_is_noted),
        cmocka_unit_test(nothing_on_record_is_said),
#ifdef HAVE_SQLITE
        cmocka_unit_test(reads_faults_of_nsys),
        cmocka_unit_test(reports_are_those_of_nsys),
        cmocka_unit_test(an_export_takes_them_back),
        cmocka_unit_test(an_export_has_tables_only_for_something),
        cmocka_unit_test(columns_may_be_missing),
        cmocka_unit_test(says_what_is_wrong),
#endif
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
