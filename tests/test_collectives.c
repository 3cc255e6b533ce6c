/*
 * The report collectives: what frameworks and NCCL say of communication, its sizes and bandwidths.
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
#include "../analyze/model/cuda_names.h"
#include "../analyze/model/sequences.h"
#include "../analyze/readers/reader.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"

#define HEADINGS                                                                                   \
    "Collective,Type,Ranks,Size (B),Calls,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"    \
    "StdDev (ns),Bandwidth Med (GB/s),Bus Med (GB/s),Bus Best (GB/s)\n"

/* The report of a trace, which is freed, as CSV. */
static void expect(struct nvt_trace *trace, const char *text, const char *note)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(nvt_report_make(nvt_report_find("collectives"), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    assert_string_equal(out, text);
    assert_int_equal(input.notes.size != 0, note != NULL);
    if (note)
        assert_memory_equal(input.notes.data, note, strlen(note));
    free(out);
    nvt_buffer_free(&input.notes);
    nvt_tables_free(&tables);
    nvt_trace_free(trace);
}

/* A kernel of us microseconds with more arguments. */
#define KERNEL(name, ts, us, more)                                                                 \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #ts       \
    ",\"dur\":" #us ",\"args\":{\"device\":0,\"stream\":7" more "}}"
#define TELLS(name, type, ranks, given, taken)                                                     \
    ",\"Collective name\":\"" name "\",\"dtype\":\"" type "\",\"Group size\":" #ranks              \
    ",\"In msg nelems\":" #given ",\"Out msg nelems\":" #taken ",\"Process Group Name\":\"0\""

/* clang-format off */
static const char json[] = "["
    KERNEL("ncclDevKernel_AllReduce_Sum", 0, 8, TELLS("allreduce", "Float", 4, 4000, 4000)) ","
    KERNEL("ncclDevKernel_AllReduce_Sum", 20, 4, TELLS("allreduce", "Float", 4, 4000, 4000)) ","
    KERNEL("ncclDevKernel_AllReduce_Sum", 30, 6, TELLS("allreduce", "Float", 4, 4000, 4000)) ","
    KERNEL("ncclDevKernel_AllGather", 40, 4, TELLS("_allgather_base", "BFloat16", 4, 1000, 4000)) ","
    KERNEL("ncclDevKernel_ReduceScatter", 50, 3, TELLS("reduce_scatter", "Half", 4, 4000, 1000)) ","
    KERNEL("ncclDevKernel_SendRecv", 60, 2, TELLS("send", "Byte", 4, 3000, 0)) ","
    KERNEL("ncclDevKernel_Broadcast", 70, 1, TELLS("broadcast", "Unheard", 4, 5, 5)) ","
    KERNEL("gemm", 80, 90, "") ","
    KERNEL("ncclDevKernel_Generic(args)", 180, 5, "") "]";
/* clang-format on */

/* clang-format off */
#define PYTORCH_SAYS HEADINGS \
    "allreduce,Float,4,16000,3,18000,6000.0,6000.0,4000,8000,2000.0,2.67,4.00,6.00\n" \
    "ncclDevKernel_Generic,,,,1,5000,5000.0,5000.0,5000,5000,0.0,,,\n" \
    "_allgather_base,BFloat16,4,8000,1,4000,4000.0,4000.0,4000,4000,0.0,2.00,1.50,1.50\n" \
    "reduce_scatter,Half,4,8000,1,3000,3000.0,3000.0,3000,3000,0.0,2.67,2.00,2.00\n" \
    "send,Byte,4,3000,1,2000,2000.0,2000.0,2000,2000,0.0,1.50,1.50,1.50\n" \
    "broadcast,Unheard,4,,1,1000,1000.0,1000.0,1000,1000,0.0,,,\n"
/* clang-format on */

/* Of all-reduces over 4 ranks 1.5 times the size crosses the bus, of the two others three quarters. */
static void says_what_pytorch_says(void **state)
{
    (void)state;
    char *folder = cli_tempdir();
    const char *path = cli_in(folder, "t.json");
    struct nvt_error err = NVT_ERROR_INIT;
    cli_write_file(path, json, sizeof(json) - 1);
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_non_null(trace);
    assert_int_equal(trace->collectives.count, 5);
    expect(trace, PYTORCH_SAYS, NULL);
    cli_tempdir_remove(folder);
}

/* What is exported for PyTorch's viewers says as much. */
static void chrome_keeps_sizes(void **state)
{
    (void)state;
    char *folder = cli_tempdir();
    char *path = strdup(cli_in(folder, "t.json")), *again = strdup(cli_in(folder, "again.json"));
    struct nvt_error err = NVT_ERROR_INIT;
    cli_write_file(path, json, sizeof(json) - 1);
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    FILE *out = fopen(again, "w");
    assert_true(trace && out);
    assert_int_equal(nvt_exporter_chrome.write(trace, out, &err), 0);
    fclose(out);
    nvt_trace_free(trace);
    trace = nvt_trace_read(again, &err);
    assert_non_null(trace);
    expect(trace, PYTORCH_SAYS, NULL);
    cli_tempdir_remove(folder);
    free(path);
    free(again);
}

/* What a job of several groups says of them, in the forms of PyTorch: events that cut the list of ranks, a head that has all. */
/* clang-format off */
static const char groups[] =
    "{\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":0,\"world_size\":4,\"pg_count\":2,\"pg_config\":["
    "{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"backend_config\":\"cuda:nccl\",\"pg_size\":4,\"ranks\":[0,1,2,3]},"
    "{\"pg_name\":\"7\",\"pg_desc\":\"mesh_tp\",\"pg_size\":2,\"ranks\":[0,1]}]},\"traceEvents\":["
    KERNEL("ncclDevKernel_AllReduce_Sum", 0, 8, ",\"correlation\":5,\"Seq\":41,\"Process Group Ranks\":\"[0, 1, ..., 3]\"" TELLS("allreduce", "Float", 4, 4000, 4000)) ","
    KERNEL("ncclDevKernel_AllReduce_Sum", 20, 8, ",\"correlation\":6,\"Seq\":42" TELLS("allreduce", "Float", 4, 4000, 4000)) ","
    KERNEL("ncclDevKernel_AllReduce_Sum", 40, 8, ",\"correlation\":7,\"Collective name\":\"allreduce\",\"Process Group Name\":\"7\"") ","
    KERNEL("ncclDevKernel_AllReduce_Sum", 60, 8, ",\"Collective name\":\"allreduce\",\"Process Group Name\":\"pp\",\"Process Group Ranks\":[0, 2],\"Process Group Description\":\"stages\"") ","
    KERNEL("ncclDevKernel_SendRecv", 80, 8, ",\"Collective name\":\"send\",\"Process Group Name\":\"pp\",\"Src Rank\":0,\"Dst Rank\":2") ","
    KERNEL("ncclDevKernel_SendRecv", 100, 8, ",\"Collective name\":\"recv\",\"Process Group Name\":\"pp\",\"Src Rank\":3,\"Dst Rank\":0") "]}";
/* clang-format on */

static void expect_groups(const struct nvt_trace *trace)
{
    static const struct {
        const char *group, *members, *purpose;
        uint32_t ranks, peer;
        uint64_t number;
    } expected[] = {
        {"0", "0,1,2,3", "default_pg", 4, 0, 41},  {"0", "0,1,2,3", "default_pg", 4, 0, 42},
        {"7", "0,1", "mesh_tp", 2, 0, UINT64_MAX}, {"pp", "0,2", "stages", 0, 0, UINT64_MAX},
        {"pp", "", "", 0, 3, UINT64_MAX},          {"pp", "", "", 0, 4, UINT64_MAX}};
    const struct nvt_collectives *rows = &trace->collectives;
    struct nvt_map sequences = {0};
    assert_int_equal(nvt_sequences_map(&sequences, trace), 0);
    assert_int_equal(trace->ops.count, NVT_COUNT_OF(expected));
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        const uint32_t row = trace->kernels.collective[trace->ops.detail[i]] - 1;
        assert_string_equal(nvt_name(trace, rows->group[row]), expected[i].group);
        assert_string_equal(nvt_name(trace, rows->members[row]), expected[i].members);
        assert_string_equal(nvt_name(trace, rows->purpose[row]), expected[i].purpose);
        assert_int_equal(rows->ranks[row], expected[i].ranks);
        assert_int_equal(rows->peer[row], expected[i].peer);
        assert_true(nvt_sequence_of(&sequences, trace, i) == expected[i].number);
    }
    nvt_map_free(&sequences);
}

/* Groups are read, and survive what traces are exported to for viewers and for nvtally itself. */
static void groups_of_ranks_are_kept(void **state)
{
    (void)state;
    const struct nvt_exporter *const formats[] = {&nvt_exporter_chrome, &nvt_exporter_nvt};
    char *folder = cli_tempdir();
    char *path = strdup(cli_in(folder, "t.json")), *again = strdup(cli_in(folder, "again"));
    struct nvt_error err = NVT_ERROR_INIT;
    cli_write_file(path, groups, sizeof(groups) - 1);
    for (size_t i = 0; i < NVT_COUNT_OF(formats); i++) {
        struct nvt_trace *trace = nvt_trace_read(path, &err);
        FILE *out = formats[i]->write ? fopen(again, "w") : NULL;
        assert_non_null(trace);
        expect_groups(trace);
        if (!out)
            remove(again);
        assert_int_equal(out ? formats[i]->write(trace, out, &err)
                             : formats[i]->write_file(trace, again, &err),
                         0);
        if (out)
            fclose(out);
        nvt_trace_free(trace);
        trace = nvt_trace_read(again, &err);
        assert_non_null(trace);
        expect_groups(trace);
        nvt_trace_free(trace);
    }
    cli_tempdir_remove(folder);
    free(path);
    free(again);
}

/* As NCCL's tests reckon 1,000,000 bytes a rank over 4 ranks in 100 us: 40 GB/s, of which 3/4 cross the bus. Whether a
 * rank tells of all or of its own part makes no difference. */
static void gathers_and_scatters_are_of_all_ranks(void **state)
{
    (void)state;
    static const char *const kernels[] = {
        KERNEL("ncclDevKernel_SendRecv", 0, 100, TELLS("gather", "Byte", 4, 1000000, 4000000)),
        KERNEL("ncclDevKernel_SendRecv", 200, 100, TELLS("gather", "Byte", 4, 1000000, 0)),
        KERNEL("ncclDevKernel_SendRecv", 400, 100, TELLS("scatter", "Byte", 4, 4000000, 1000000)),
        KERNEL("ncclDevKernel_SendRecv", 600, 100, TELLS("scatter", "Byte", 4, 0, 1000000)),
    };
    char text[2048];
    snprintf(text, sizeof(text), "[%s,%s,%s,%s]", kernels[0], kernels[1], kernels[2], kernels[3]);
    char *folder = cli_tempdir();
    const char *path = cli_in(folder, "t.json");
    struct nvt_error err = NVT_ERROR_INIT;
    cli_write_file(path, text, strlen(text));
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_non_null(trace);
    expect(trace,
           HEADINGS "gather,Byte,4,4000000,2,200000,100000.0,100000.0,100000,100000,0.0,40.00,"
                    "30.00,30.00\n"
                    "scatter,Byte,4,4000000,2,200000,100000.0,100000.0,100000,100000,0.0,40.00,"
                    "30.00,30.00\n",
           NULL);
    cli_tempdir_remove(folder);
}

static void add_op(struct nvt_trace *trace, uint8_t kind, const char *name, int64_t launch,
                   int64_t start, int64_t end)
{
    uint32_t id = nvt_strings_add_text(trace->strings, name);
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .launch = launch,
                              .api = NVT_NONE,
                              .detail = NVT_NONE,
                              .name = id,
                              .short_name = id,
                              .kind = kind,
                              .copy_kind = kind == NVT_OP_MEMCPY ? NVT_COPY_PTOP : 0,
                              .bytes = kind == NVT_OP_MEMCPY ? 1000 : 0};
    assert_true(nvt_op_add(trace, &op) != NVT_NONE);
}

static void add_range(struct nvt_trace *trace, uint32_t domain, const char *name,
                      const char *payload, int64_t start, int64_t end)
{
    const struct nvt_range range = {.start = start,
                                    .end = end,
                                    .domain = domain,
                                    .name = nvt_strings_add_text(trace->strings, name),
                                    .payload = nvt_strings_add_text(trace->strings, payload),
                                    .flags = *payload ? NVT_RANGE_HAS_PAYLOAD : 0};
    assert_true(nvt_range_add(trace, &range) != NVT_NONE);
}

/* NCCL's own ranges have the size; those around a group of calls have none, and those of others are
 * none of NCCL's. Who gathers how much from how many ranks, nobody says: so no bus. */
static void says_what_nccl_says(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 1);
    nvt_trace_thread(trace, process, 1);
    uint32_t nccl = nvt_trace_domain(trace, process, "NCCL");
    uint32_t other = nvt_trace_domain(trace, process, "mine");
    static const char size[] = "{\"NCCL communicator ID\":7,\"Message size [bytes]\":4096}";
    add_range(trace, other, "step", "{\"Message size [bytes]\":1}", 0, 1000);
    add_range(trace, nccl, "ncclBroadcast", size, 10, 20);
    add_range(trace, nccl, "ncclAllGather", size, 30, 40);
    add_range(trace, nccl, "ncclGroupEnd", "", 50, 60);
    add_range(trace, nccl, "ncclReduce", "{\"Message size [bytes]\":-1}", 70, 80);
    add_op(trace, NVT_OP_KERNEL, "ncclDevKernel_Broadcast", 12, 100, 1124);
    add_op(trace, NVT_OP_KERNEL, "ncclDevKernel_AllGather", 32, 2000, 4048);
    add_op(trace, NVT_OP_KERNEL, "ncclDevKernel_Generic", 52, 5000, 5100);
    add_op(trace, NVT_OP_KERNEL, "ncclDevKernel_Reduce", 72, 5200, 5250);
    add_op(trace, NVT_OP_KERNEL, "gemm", 90, 6000, 7000);
    add_op(trace, NVT_OP_MEMCPY, "[CUDA memcpy Peer-to-Peer]", 92, 7000, 7040);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect(trace,
           HEADINGS
           "ncclAllGather,,,4096,1,2048,2048.0,2048.0,2048,2048,0.0,2.00,,\n"
           "ncclBroadcast,,,4096,1,1024,1024.0,1024.0,1024,1024,0.0,4.00,4.00,4.00\n"
           "ncclDevKernel_Generic,,,,1,100,100.0,100.0,100,100,0.0,,,\n"
           "ncclReduce,,,,1,50,50.0,50.0,50,50,0.0,,,\n"
           "[CUDA memcpy Peer-to-Peer],,,1000,1,40,40.0,40.0,40,40,0.0,25.00,25.00,25.00\n",
           NULL);
}

static void says_that_there_is_none(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 1), 1);
    add_op(trace, NVT_OP_KERNEL, "gemm", 90, 6000, 7000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect(trace, HEADINGS, "note: no communication in the input");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_pytorch_says),
        cmocka_unit_test(chrome_keeps_sizes),
        cmocka_unit_test(groups_of_ranks_are_kept),
        cmocka_unit_test(gathers_and_scatters_are_of_all_ranks),
        cmocka_unit_test(says_what_nccl_says),
        cmocka_unit_test(says_that_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
