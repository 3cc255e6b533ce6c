/*
 * rocprofv3's JSON, in the form of its schema: what calls launched, ROCTx's ranges, allocations and counters, plain and compressed, in
 * any order, cut and broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "../analyze/readers/reader.h"
#include "cli.h"
#include "read_kit.h"

#define AGENTS                                                                                     \
    "\"agents\": [{\"size\": 9, \"id\": {\"handle\": 11}, \"type\": 1, \"name\": \"cpu\"},"        \
    " {\"id\": {\"handle\": 18446744073709551615}, \"type\": 2, \"name\": \"gfx90a\","             \
    " \"product_name\": \"AMD Instinct MI210\", \"logical_node_type_id\": 1,"                      \
    " \"mem_banks\": [{\"id\": 5, \"name\": \"none\"}]}]"
#define COUNTERS                                                                                   \
    "\"counters\": [{\"id\": {\"handle\": 300}, \"name\": \"SQ_WAVES\"}, {\"id\": {\"handle\": "   \
    "301}, \"name\": \"GRBM_COUNT\"}]"
#define STRINGS                                                                                    \
    "\"strings\": {\"callback_records\": [{\"kind\": \"WRONG\", \"operations\": [\"wrong\"]}],"    \
    " \"buffer_records\": [{\"kind\": \"NONE\", \"operations\": []},"                              \
    " {\"kind\": \"HIP_RUNTIME_API\", \"operations\": [\"hipMalloc\", \"hipLaunchKernel\"]},"      \
    " {\"kind\": \"HSA_CORE_API\", \"operations\": [\"hsa_queue_create\"]},"                       \
    " {\"kind\": \"MARKER_CORE_API\", \"operations\": [\"roctxMarkA\", \"roctxRangePushA\"]},"     \
    " {\"kind\": \"RCCL_API\", \"operations\": [\"ncclAllReduce\"]},"                              \
    " {\"kind\": \"MEMORY_ALLOCATION\", \"operations\": [\"MEMORY_ALLOCATION_NONE\","              \
    " \"MEMORY_ALLOCATION_ALLOCATE\", \"MEMORY_ALLOCATION_VMEM_ALLOCATE\","                        \
    " \"MEMORY_ALLOCATION_FREE\"]}],"                                                              \
    " \"marker_api\": [{\"key\": 101, \"value\": \"step \\\"1\\\"\"}, {\"key\": 103, \"value\": "  \
    "\"here\"}], \"counters\": {\"dimension_ids\": [{\"id\": 0, \"name\": \"DIMENSION_NONE\"}]}}"
#define SYMBOLS                                                                                    \
    "\"kernel_symbols\": [{\"kernel_id\": 0, \"kernel_name\": \"\"}, {\"kernel_id\": 3,"           \
    " \"kernel_name\": \"_Z4gemmPf.kd\", \"formatted_kernel_name\": \"gemm(float*)\","             \
    " \"demangled_kernel_name\": \"void gemm<float>(float*) [clone .kd]\","                        \
    " \"truncated_kernel_name\": \"gemm\", \"arch_vgpr_count\": 40}]"
#define ID(number) "{\"internal\": " number ", \"external\": 0}"
#define GPU        "{\"handle\": 18446744073709551615}"
#define CPU        "{\"handle\": 11}"
#define CALL(kind, operation, id, start, end)                                                      \
    "{\"size\": 56, \"kind\": " kind ", \"operation\": " operation                                 \
    ", \"correlation_id\": " ID(id) ", \"start_timestamp\": " start ", \"end_timestamp\": " end    \
                                    ", \"thread_id\": 78}"
#define DISPATCH                                                                                   \
    "\"dispatch_info\": {\"size\": 9, \"agent_id\": " GPU ", \"queue_id\": {\"handle\": 2},"       \
    " \"kernel_id\": 3, \"dispatch_id\": 1, \"private_segment_size\": 0,"                          \
    " \"group_segment_size\": 512, \"workgroup_size\": {\"x\": 256, \"y\": 1, \"z\": 1},"          \
    " \"grid_size\": {\"x\": 65537, \"y\": 2, \"z\": 1}}"
#define KERNEL                                                                                     \
    "{\"size\": 9, \"kind\": 9, \"operation\": 1, \"thread_id\": 78, \"correlation_id\": " ID(     \
        "100") ", \"start_timestamp\": 2000, \"end_timestamp\": 2600, " DISPATCH "}"
#define ALLOCATION(operation, address, size, time)                                                 \
    "{\"kind\": 5, \"operation\": " operation ", \"thread_id\": 78, \"correlation_id\": " ID(      \
        "0") ", \"start_timestamp\": " time ", \"end_timestamp\": " time ", \"agent_id\": " GPU    \
             ", \"address\": \"" address "\", \"allocation_size\": " size "}"
#define BUFFERS(kernels)                                                                                                                    \
    "\"buffer_records\": {\"kernel_dispatch\": [" kernels                                                                                   \
    "], \"hip_api\": [" CALL("1", "1", "100", "1000", "1500") ", " CALL("1", "0", "9", "90", "80") ", {\"kind\": 1}], \"hsa_api\": [" CALL( \
        "2", "0", "105",                                                                                                                    \
        "180"                                                                                                                               \
        "0",                                                                                                                                \
        "190"                                                                                                                               \
        "0") "], \"marker_api\": [" CALL("3", "1", "101", "900",                                                                            \
                                         "5000") ", " CALL("3", "0", "103", "950",                                                          \
                                                           "950") "], \"rccl_api\": "                                                       \
                                                                  "[" CALL(                                                                 \
                                                                      "4", "0", "104", "1600",                                              \
                                                                      "1700") "],"                                                          \
                                                                              " \"mem"                                                      \
                                                                              "ory_"                                                        \
                                                                              "copy\""                                                      \
                                                                              ": "                                                          \
                                                                              "[{"                                                          \
                                                                              "\"kind"                                                      \
                                                                              "\": "                                                        \
                                                                              "8, "                                                         \
                                                                              "\"oper"                                                      \
                                                                              "ation"                                                       \
                                                                              "\": "                                                        \
                                                                              "2, "                                                         \
                                                                              "\"thre"                                                      \
                                                                              "ad_"                                                         \
                                                                              "id\": "                                                      \
                                                                              "78, "                                                        \
                                                                              "\"corr"                                                      \
                                                                              "elatio"                                                      \
                                                                              "n_"                                                          \
                                                                              "id\":"                                                       \
                                                                              " " ID(                                                       \
                                                                                  "10"                                                      \
                                                                                  "2") ", "                                                 \
                                                                                       "\"start_"                                           \
                                                                                       "timestamp"                                          \
                                                                                       "\": "                                               \
                                                                                       "3000, "                                             \
                                                                                       "\"end_"                                             \
                                                                                       "timestamp"                                          \
                                                                                       "\": "                                               \
                                                                                       "3100, "                                             \
                                                                                       "\"dst_"                                             \
                                                                                       "agent_"                                             \
                                                                                       "id\":"                                              \
                                                                                       " " GPU                                              \
                                                                                       ", "                                                 \
                                                                                       "\"src_"                                             \
                                                                                       "agent_"                                             \
                                                                                       "id\":"                                              \
                                                                                       " " CPU                                              \
                                                                                       ", "                                                 \
                                                                                       "\"stream_"                                          \
                                                                                       "id\": "                                             \
                                                                                       "{\"handle"                                          \
                                                                                       "\": 4}, "                                           \
                                                                                       "\"bytes\""                                          \
                                                                                       ": 4096}],"                                          \
                                                                                       " \"memory"                                          \
                                                                                       "_allocati"                                          \
                                                                                       "on\": "                                             \
                                                                                       "[" ALLOCATION(                                      \
                                                                                           "1",                                             \
                                                                                           "0x000"                                          \
                                                                                           "07f00"                                          \
                                                                                           "00001"                                          \
                                                                                           "000",                                           \
                                                                                           "4096",                                          \
                                                                                           "1100") ", " ALLOCATION("3",                     \
                                                                                                                   "0x00007f0000001000",    \
                                                                                                                   "0",                     \
                                                                                                                   "4000") "],"             \
                                                                                                                           " \"scratch_memory\": [{\"kind\": 7}, {\"kind\": 7}], \"pc_sample_host_trap\": []}"
#define COUNTS                                                                                     \
    "\"callback_records\": {\"counter_collection\": [{\"thread_id\": 78, \"dispatch_data\":"       \
    " {\"size\": 9, \"correlation_id\": " ID(                                                      \
        "100") ", \"start_timestamp\": 2000,"                                                      \
               " \"end_timestamp\": 2600, " DISPATCH                                               \
               "}, \"records\": [{\"counter_id\": {\"handle\": 300},"                              \
               " \"value\": 5.5}, {\"counter_id\": {\"handle\": 301}, \"value\": 7.0}, "           \
               "{\"counter_id\":"                                                                  \
               " {\"handle\": 300}, \"value\": 1.5}, {\"counter_id\": {\"handle\": 9}, "           \
               "\"value\": 1.0}]}]}"
#define METADATA                                                                                   \
    "\"metadata\": {\"pid\": 77, \"init_time\": 1, \"fini_time\": 9, \"config\": {\"pid\": 3},"    \
    " \"command\": [\"./app\", \"-n\"]}"
#define PROCESS(kernels)                                                                           \
    "{" METADATA ", " AGENTS ", " COUNTERS ", " STRINGS ", " SYMBOLS                               \
    ", \"summary\": [{}], " COUNTS ", " BUFFERS(kernels) "}"
#define FILE_OF(process) "{\n    \"rocprofiler-sdk-tool\": [" process "]}\n"

static void check_device(const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    assert_int_equal(ops->count, 2);
    assert_int_equal(ops->kind[0], NVT_OP_KERNEL);
    assert_string_equal(nvt_name(trace, ops->name[0]), "void gemm<float>(float*) [clone .kd]");
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
    assert_int_equal(ops->stream[1], 4);
    assert_string_equal(nvt_name(trace, ops->name[1]), "[HIP memcpy Host-to-Device]");
}

static void check_host(const struct nvt_trace *trace)
{
    static const uint8_t classes[] = {NVT_API_RUNTIME, NVT_API_LIBRARY, NVT_API_DRIVER};
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->processes.pid[0], 77);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "./app -n");
    assert_int_equal(trace->threads.tid[trace->apis.thread[0]], 78);
    assert_int_equal(trace->apis.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(trace->apis.class[i], classes[i]);
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "step \"1\"");
    assert_int_equal(trace->ranges.end[0], 5000);
    assert_int_equal(trace->marks.count, 1);
    assert_string_equal(nvt_name(trace, trace->marks.name[0]), "here");
}

static void check_rest(const struct nvt_trace *trace)
{
    assert_int_equal(trace->memory.count, 2);
    assert_int_equal(trace->memory.device[0], 1);
    assert_int_equal(trace->memory.bytes[0], 4096);
    assert_int_equal(trace->memory.address[0], 0x7f0000001000);
    assert_int_equal(trace->memory.kind[1], NVT_MEMORY_FREE);
    assert_int_equal(trace->memory.bytes[1], 4096);
    assert_int_equal(trace->memory.time[1], 4000);
    /* The instances of a counter are added up; one without a name has no place. */
    assert_int_equal(trace->counters.count, 2);
    assert_int_equal(trace->counter_samples.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t counter = trace->counter_samples.counter[i];
        const int is_waves = !strcmp(nvt_name(trace, trace->counters.name[counter]), "SQ_WAVES");
        assert_true(trace->counter_samples.value[i] == 7.0);
        assert_int_equal(trace->counter_samples.time[i], 2600);
        assert_true(is_waves ||
                    !strcmp(nvt_name(trace, trace->counters.name[counter]), "GRBM_COUNT"));
        assert_string_equal(nvt_name(trace, trace->domains.name[trace->counters.domain[counter]]),
                            "GPU 1");
    }
}

static void a_process_has_calls_and_devices(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text("t.json", FILE_OF(PROCESS(KERNEL)));
    assert_string_equal(trace->format, "rocprofv3");
    assert_int_equal(trace->recorder, NVT_BY_OTHERS);
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    assert_string_equal(nvt_trace_meta(trace, "device"), "AMD Instinct MI210");
    check_device(trace);
    check_host(trace);
    check_rest(trace);
    assert_non_null(strstr(trace->notes, "scratch_memory records are not read (2)"));
    assert_non_null(strstr(trace->notes, "that end before they begin (2)"));
    nvt_trace_free(trace);
}

/* As programs write it that sort keys, and without a list around the one process. */
static void records_may_come_first(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "{\"rocprofiler-sdk-tool\":{" BUFFERS(KERNEL) "," COUNTS "," STRINGS "," SYMBOLS
                                                      "," COUNTERS "," AGENTS "," METADATA "}}");
    check_device(trace);
    check_host(trace);
    check_rest(trace);
    nvt_trace_free(trace);
}

/* rocprofv3 --pmc without --kernel-trace. */
static void kernels_that_were_counted_are_kernels(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text("t.json", FILE_OF(PROCESS("")));
    check_device(trace);
    check_rest(trace);
    nvt_trace_free(trace);
}

#ifdef HAVE_ZLIB
static void what_is_compressed_is_the_same(void **state)
{
    (void)state;
    static const char whole[] = FILE_OF(PROCESS(KERNEL));
    const char *path = cli_in(cli_folder, "t.json.gz");
    gzFile out = gzopen(path, "wb9");
    assert_int_equal(gzwrite(out, whole, sizeof(whole) - 1), sizeof(whole) - 1);
    gzclose(out);
    struct nvt_trace *trace = kit_read(path);
    assert_string_equal(trace->format, "rocprofv3");
    check_device(trace);
    check_rest(trace);
    nvt_trace_free(trace);
}
#endif

static void cut_files_have_whole_records(void **state)
{
    (void)state;
    static const char whole[] = FILE_OF(PROCESS(KERNEL));
    char *text = strdup(whole);
    *strstr(text, ", \"memory_allocation\": [{") = 0;
    struct nvt_trace *trace = kit_read_text("cut.json", text);
    check_device(trace);
    check_host(trace);
    assert_non_null(strstr(trace->warning, "ends in the middle"));
    assert_true(trace->is_truncated);
    nvt_trace_free(trace);
    free(text);
}

static void broken_files_do_no_harm(void **state)
{
    (void)state;
    char *path = strdup(cli_in(cli_folder, "t.json"));
    nvt_trace_free(kit_read_text("t.json", FILE_OF(PROCESS(KERNEL))));
    kit_survives_changed_bytes(path, "changed.json", 40);
    free(path);
    nvt_trace_free(kit_read_text("odd.json", FILE_OF("{\"buffer_records\": {\"hip_api\": [" CALL(
                                                 "1", "1", "1", "1", "NaN") "]}}")));
    struct nvt_trace *trace = kit_read_text(
        "odd.json", FILE_OF("{\"buffer_records\": {\"hip_api\": [" CALL(
                        "77", "-1", "99999999999999999999", "1",
                        "18446744073709551615") ", " CALL("77", "-1", "1", "1", "2") "]}}"));
    assert_int_equal(trace->apis.count, 1);
    nvt_trace_free(trace);
    const char *none = cli_in(cli_folder, "none.json");
    cli_write_file(none, "{\"rocprofiler-sdk-tool\": []}", 28);
    kit_expect_unreadable(none, "without any process");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_calls_and_devices),
        cmocka_unit_test(records_may_come_first),
        cmocka_unit_test(kernels_that_were_counted_are_kernels),
#ifdef HAVE_ZLIB
        cmocka_unit_test(what_is_compressed_is_the_same),
#endif
        cmocka_unit_test(cut_files_have_whole_records),
        cmocka_unit_test(broken_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
