/*
 * rocpd, the databases of rocprofv3, in the forms of its schemas 3 and 4: what calls launched, ROCTx's ranges, two runs in one file, and
 * what is broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"

#ifdef HAVE_SQLITE

/* The tables of a run, whose names end so, with a program of that pid. */
#define RUN(end, pid)                                                                              \
    "CREATE TABLE rocpd_string" end " (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);"           \
    "INSERT INTO rocpd_string" end                                                                 \
    " VALUES (1, '', 'HIP_RUNTIME_API_EXT'), (2, '', 'hipLaunchKernel'),"                          \
    " (3, '', 'MARKER_CORE_RANGE_API'), (4, '', 'roctxRangePushA'), (5, '', 'KERNEL_DISPATCH'),"   \
    " (6, '', 'MEMORY_COPY'), (7, '', 'MEMORY_COPY_HOST_TO_DEVICE'), (8, '', 'roctxMarkA'),"       \
    " (9, '', 'RCCL_API'), (10, '', 'ncclAllReduce'), (11, '', 'HSA_CORE_API'), (12, '', "         \
    "'hsa_queue_create');"                                                                         \
    "CREATE TABLE rocpd_info_process" end                                                          \
    " (id INTEGER PRIMARY KEY, nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT);"             \
    "INSERT INTO rocpd_info_process" end " VALUES (5, 1, 9, " pid ", './app');"                    \
    "CREATE TABLE rocpd_info_thread" end                                                           \
    " (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);"                              \
    "INSERT INTO rocpd_info_thread" end " VALUES (6, 5, 78, NULL);"                                \
    "CREATE TABLE rocpd_info_agent" end                                                            \
    " (id INTEGER PRIMARY KEY, pid INTEGER, type TEXT, absolute_index INTEGER, type_index "        \
    "INTEGER, name TEXT, product_name TEXT);"                                                      \
    "INSERT INTO rocpd_info_agent" end " VALUES (0, 5, 'CPU', 0, 0, 'cpu', 'EPYC'), (4, 5, "       \
    "'GPU', 4, 1, 'gfx90a', 'AMD Instinct MI210');"                                                \
    "CREATE TABLE rocpd_info_kernel_symbol" end                                                    \
    " (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER);"     \
    "INSERT INTO rocpd_info_kernel_symbol" end                                                     \
    " VALUES (3, '_Z4gemm.kd', 'void gemm<float>(float*)', 40);"                                   \
    "CREATE TABLE rocpd_event" end                                                                 \
    " (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, extdata TEXT);"              \
    "INSERT INTO rocpd_event" end                                                                  \
    " VALUES (1, 1, 100, '{}'), (2, 3, 101, '{\n \"message\": \"step \\\"1\\\" \\u0041\"\n}'),"    \
    " (3, 5, 100, '{}'), (4, 6, 102, '{}'), (5, 3, 103, '{\"message\": \"here\"}'), (6, 9, 104, "  \
    "'{}'), (7, 11, 105, '{}');"                                                                   \
    "CREATE TABLE rocpd_region" end                                                                \
    " (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, \"end\" "      \
    "BIGINT, name_id INTEGER, event_id INTEGER);"                                                  \
    "INSERT INTO rocpd_region" end                                                                 \
    " VALUES (1, 1, 5, 6, 1000, 1500, 2, 1), (2, 1, 5, 6, 900, 5000, 4, 2),"                       \
    " (3, 1, 5, 6, 950, 950, 8, 5), (4, 1, 5, 6, 1600, 1700, 10, 6), (5, 1, 5, 6, 1800, 1900, "    \
    "12, 7), (6, 1, 5, 6, 9, 8, 2, 1);"                                                            \
    "CREATE TABLE rocpd_kernel_dispatch" end                                                       \
    " (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, "    \
    "queue_id INTEGER, stream_id INTEGER,"                                                         \
    " start BIGINT, \"end\" BIGINT, group_segment_size INTEGER, workgroup_size_x INTEGER, "        \
    "workgroup_size_y INTEGER, workgroup_size_z INTEGER,"                                          \
    " grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);"           \
    "INSERT INTO rocpd_kernel_dispatch" end                                                        \
    " VALUES (1, 5, 6, 4, 3, 1, 2, 2000, 2600, 512, 256, 1, 1, 65537, 2, 1, 3);"                   \
    "CREATE TABLE rocpd_memory_copy" end                                                           \
    " (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id "   \
    "INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, stream_id INTEGER, "       \
    "event_id INTEGER);"                                                                           \
    "INSERT INTO rocpd_memory_copy" end " VALUES (1, 5, 6, 3000, 3100, 7, 4, 0, 4096, 2, 4);"      \
    "CREATE TABLE rocpd_memory_allocate" end                                                       \
    " (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT," \
    " start BIGINT, \"end\" BIGINT, address INTEGER, size INTEGER);"                               \
    "INSERT INTO rocpd_memory_allocate" end                                                        \
    " VALUES (1, 5, 6, 4, 'ALLOC', 'REAL', 1100, 1150, 4096, 64), (2, 5, 6, NULL, 'FREE', "        \
    "'REAL', 4000, 4050, 4096, 0), (3, 5, 6, 4, 'ALLOC', 'SCRATCH', 1, 2, 0, 8);"                  \
    "CREATE TABLE rocpd_info_pmc" end " (id INTEGER PRIMARY KEY, name TEXT);"                      \
    "INSERT INTO rocpd_info_pmc" end " VALUES (1, 'SQ_WAVES');"                                    \
    "CREATE TABLE rocpd_pmc_event" end                                                             \
    " (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);"                     \
    "INSERT INTO rocpd_pmc_event" end " VALUES (1, 3, 1, 5.0), (2, 3, 2, 6.0), (3, 3, 1, 1.5);"

/* Rows with times of their own and the ids of where they ran become those of schema 4, which have a track and ids of times. */
#define MOVED(end, table, base, track, others)                                                     \
    "INSERT INTO rocpd_timestamp" end " SELECT " base " + 2 * id, start FROM " table end ";"       \
    "INSERT INTO rocpd_timestamp" end " SELECT " base " + 2 * id + 1, \"end\" FROM " table end ";" \
    "CREATE TABLE moved AS SELECT id, " track " AS track_id, " base " + 2 * id AS start_id, " base \
    " + 2 * id + 1 AS end_id, " others " FROM " table end ";"                                      \
    "DROP TABLE " table end "; ALTER TABLE moved RENAME TO " table end ";"
#define TO_SCHEMA_4(end)                                                                           \
    "CREATE TABLE rocpd_info_category" end " AS SELECT id + 50 AS id, string AS name"              \
    " FROM rocpd_string" end "; UPDATE rocpd_event" end " SET category_id = category_id + 50;"     \
    "CREATE TABLE rocpd_track" end                                                                 \
    " (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, stream_id INTEGER);"    \
    "INSERT INTO rocpd_track" end " VALUES (1, 5, 6, NULL, NULL), (2, 5, 6, 4, 2);"                \
    "CREATE TABLE rocpd_timestamp" end " (id INTEGER PRIMARY KEY, value BIGINT);" MOVED(           \
        end, "rocpd_region", "1000", "1", "name_id, event_id")                                     \
        MOVED(end, "rocpd_kernel_dispatch", "2000", "2",                                           \
              "kernel_id, group_segment_size, workgroup_size_x, workgroup_size_y, "                \
              "workgroup_size_z, "                                                                 \
              "grid_size_x, grid_size_y, grid_size_z, event_id")                                   \
            MOVED(end, "rocpd_memory_copy", "3000", "2",                                           \
                  "name_id, dst_agent_id, src_agent_id, size, event_id")                           \
                MOVED(end, "rocpd_memory_allocate", "4000", "1 + (agent_id IS NOT NULL)",          \
                      "type, level, address, size")

static void expect_run(const char *path)
{
    struct nvt_trace *trace = kit_read(path);
    const struct nvt_ops *ops = &trace->ops;
    assert_string_equal(trace->format, "rocpd");
    assert_int_equal(trace->recorder, NVT_BY_OTHERS);
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    assert_string_equal(nvt_trace_meta(trace, "device"), "AMD Instinct MI210");
    assert_int_equal(trace->processes.pid[0], 77);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "./app");
    assert_int_equal(ops->count, 2);
    assert_int_equal(ops->kind[0], NVT_OP_KERNEL);
    assert_string_equal(nvt_name(trace, ops->name[0]), "void gemm<float>(float*)");
    assert_string_equal(nvt_name(trace, ops->short_name[0]), "gemm");
    assert_int_equal(ops->end[0] - ops->start[0], 600);
    assert_int_equal(ops->device[0], 1);
    assert_int_equal(ops->stream[0], 2);
    const uint32_t kernel = ops->detail[0];
    assert_int_equal(trace->kernels.grid_x[kernel], 257);
    assert_int_equal(trace->kernels.grid_y[kernel], 2);
    assert_int_equal(trace->kernels.block_x[kernel], 256);
    assert_int_equal(trace->kernels.registers[kernel], 40);
    assert_int_equal(trace->kernels.static_shared[kernel], 512);
    /* By its correlation id. */
    assert_string_equal(nvt_name(trace, trace->apis.name[ops->api[0]]), "hipLaunchKernel");
    assert_int_equal(ops->launch[0], 1000);
    assert_int_equal(ops->kind[1], NVT_OP_MEMCPY);
    assert_int_equal(ops->copy_kind[1], 1);
    assert_int_equal(ops->bytes[1], 4096);
    assert_int_equal(trace->threads.tid[ops->thread[1]], 78);
    static const uint8_t classes[] = {NVT_API_RUNTIME, NVT_API_LIBRARY, NVT_API_DRIVER};
    assert_int_equal(trace->apis.count, NVT_COUNT_OF(classes));
    for (uint32_t i = 0; i < NVT_COUNT_OF(classes); i++)
        assert_int_equal(trace->apis.class[i], classes[i]);
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "step \"1\" A");
    assert_int_equal(trace->ranges.end[0], 5000);
    assert_int_equal(trace->marks.count, 1);
    assert_string_equal(nvt_name(trace, trace->marks.name[0]), "here");
    assert_int_equal(trace->memory.count, 2);
    assert_int_equal(trace->memory.device[0], 1);
    assert_int_equal(trace->memory.bytes[0], 64);
    assert_int_equal(trace->memory.kind[1], NVT_MEMORY_FREE);
    assert_int_equal(trace->memory.device[1], 1);
    assert_int_equal(trace->memory.bytes[1], 64);
    /* The instances of a counter are added up, at the end of the kernel. */
    assert_int_equal(trace->counter_samples.count, 1);
    assert_true(trace->counter_samples.value[0] == 6.5);
    assert_int_equal(trace->counter_samples.time[0], 2600);
    assert_string_equal(nvt_name(trace, trace->counters.name[0]), "SQ_WAVES");
    assert_non_null(strstr(trace->notes, "values of counters without a kernel are not read (1)"));
    assert_non_null(strstr(trace->notes, "scratch memory is not read (1)"));
    assert_non_null(strstr(trace->notes, "that end before they begin (1)"));
    nvt_trace_free(trace);
}

static void a_run_has_calls_and_devices(void **state)
{
    (void)state;
    expect_run(kit_make_export(RUN("_0123abcd", "77")));
}

static void so_has_one_of_the_newer_schema(void **state)
{
    (void)state;
    expect_run(kit_make_export(RUN("_0123abcd", "77") TO_SCHEMA_4("_0123abcd")));
}

/* What refers to nothing is left out, and counted where it has no times. */
static void tracks_and_times_may_be_missing(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        kit_read(kit_make_export(RUN("_a", "77") TO_SCHEMA_4("_a") "DELETE FROM rocpd_track_a;"));
    assert_int_equal(trace->apis.count, 0);
    assert_int_equal(trace->ops.count, 2);
    assert_int_equal(trace->ops.device[0], 0);
    nvt_trace_free(trace);
    trace = kit_read(
        kit_make_export(RUN("_a", "77") TO_SCHEMA_4("_a") "DELETE FROM rocpd_timestamp_a;"));
    assert_int_equal(trace->ops.count + trace->apis.count + trace->memory.count, 0);
    assert_non_null(strstr(trace->notes, "that end before they begin (10)"));
    nvt_trace_free(trace);
}

/* As rocpd merge makes them: the same ids, of two programs. */
static void runs_of_a_file_stay_apart(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(RUN("_a", "77") RUN("_b", "88")));
    assert_int_equal(trace->processes.count, 2);
    assert_int_equal(trace->ops.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(trace->processes.pid[trace->ops.process[i]],
                         trace->processes.pid[trace->threads.process[trace->ops.thread[i]]]);
    assert_int_not_equal(trace->ops.process[0], trace->ops.process[1]);
    nvt_trace_free(trace);
}

static void other_schemas_are_refused(void **state)
{
    (void)state;
    kit_expect_unreadable(kit_make_export("CREATE TABLE rocpd_op (id INTEGER, gpuId INTEGER);"),
                          "another schema than 3");
    kit_expect_unreadable(kit_make_export("CREATE TABLE \"rocpd_region_x';--\" (id INTEGER);"
                                          "CREATE TABLE rocpd_info_process (id INTEGER);"),
                          "another schema than 3");
}

/* A value that is none costs itself, or a time its row. */
static void odd_values_cost_their_row_at_most(void **state)
{
    static const char note[] = "values of the wrong kind are left out, or read without those (1)";
    static const struct {
        const char *script;
        int kernels, copies;
    } cases[] = {
        {RUN("_a", "77") "UPDATE rocpd_kernel_dispatch_a SET start = 'x';", 0, 1},
        {RUN("_a", "77") "UPDATE rocpd_kernel_dispatch_a SET \"end\" = NULL;", 0, 1},
        {RUN("_a", "77") "UPDATE rocpd_kernel_dispatch_a SET kernel_id = x'01';", 1, 1},
        {RUN("_a", "77") "UPDATE rocpd_memory_copy_a SET size = -5;", 1, 1},
        {RUN("_a", "77") TO_SCHEMA_4("_a") "UPDATE rocpd_timestamp_a SET value = 'x' WHERE id = "
                                           "(SELECT end_id FROM rocpd_kernel_dispatch_a);",
         0, 1},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = kit_read(kit_make_export(cases[i].script));
        int of_kind[3] = {0};
        for (uint32_t op = 0; op < trace->ops.count; op++)
            of_kind[trace->ops.kind[op]]++;
        assert_int_equal(of_kind[NVT_OP_KERNEL], cases[i].kernels);
        assert_int_equal(of_kind[NVT_OP_MEMCPY], cases[i].copies);
        if (!trace->notes || !strstr(trace->notes, note))
            fail_msg("case %d: '%s'", (int)i, trace->notes ? trace->notes : "");
        nvt_trace_free(trace);
    }
}

static void broken_files_do_no_harm(void **state)
{
    (void)state;
    char *path = strdup(kit_make_export(RUN("_a", "77")));
    kit_survives_changed_bytes(path, "changed.sqlite", 200);
    free(path);
    path = strdup(kit_make_export(RUN("_a", "77") TO_SCHEMA_4("_a")));
    kit_survives_changed_bytes(path, "changed.sqlite", 400);
    free(path);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HAVE_SQLITE
        cmocka_unit_test(a_run_has_calls_and_devices),
        cmocka_unit_test(so_has_one_of_the_newer_schema),
        cmocka_unit_test(tracks_and_times_may_be_missing),
        cmocka_unit_test(runs_of_a_file_stay_apart),
        cmocka_unit_test(other_schemas_are_refused),
        cmocka_unit_test(odd_values_cost_their_row_at_most),
        cmocka_unit_test(broken_files_do_no_harm),
#endif
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
