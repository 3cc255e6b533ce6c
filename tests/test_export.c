/*
 * Exports of a trace that is random in everything that the model can hold: written as nsys's SQLite and read back it
 * gives every report row for row, and as Chrome's or Perfetto's trace what does not depend on the axis.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/model/cuda_names.h"
#include "../analyze/readers/reader.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"
#include "export_kit.h"

/* --- a trace of everything --- */

struct maker {
    struct nvt_trace *trace;
    uint64_t random;
    uint64_t correlation;
    int64_t ops;
};

static uint32_t below(struct maker *maker, uint32_t limit)
{
    uint64_t x = maker->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((x ^ (x >> 31)) % limit);
}

#define UUID "GPU-01125f41-ed43-3b5b-770d-0ef62e701d55"

static uint32_t text(struct maker *maker, const char *what)
{
    static const char *const odd[] = {"plain",      "with \"quotes\", commas", "tab\tline\nend",
                                      "ümläut ☃ 𝄞", "back\\slash </script>",   "[launch]x"};
    char name[128];
    snprintf(name, sizeof(name), "%s %s %u", what, odd[below(maker, 6)], below(maker, 3));
    return nvt_strings_add_text(maker->trace->strings, name);
}

static uint32_t add_process(struct maker *maker, int64_t pid)
{
    const struct nvt_process process = {
        .pid = pid, .parent_pid = -1, .name = text(maker, "process"), .rank = NVT_NONE};
    return nvt_process_add(maker->trace, &process);
}

static uint32_t payload(struct maker *maker, uint8_t *flags)
{
    static const char *const texts[] = {"42",         "-7",  "0.1",
                                        "{\"a\": 1}", "007", "18446744073709551615"};
    *flags |= NVT_RANGE_HAS_PAYLOAD;
    return nvt_strings_add_text(maker->trace->strings, texts[below(maker, 6)]);
}

static void add_range(struct maker *maker, uint32_t thread, uint32_t domain, int64_t start,
                      int64_t end, uint8_t style)
{
    static const char *const categories[] = {"", "layers", "7", "loss"};
    struct nvt_range range = {.start = start,
                              .end = end,
                              .thread = thread,
                              .end_thread = thread,
                              .domain = domain,
                              .name = text(maker, "range"),
                              .style = style};
    range.category = nvt_strings_add_text(maker->trace->strings, categories[below(maker, 4)]);
    if (below(maker, 3) == 0) {
        range.color = below(maker, UINT32_MAX);
        range.flags |= NVT_RANGE_HAS_COLOR;
    }
    if (below(maker, 3) == 0)
        range.payload = payload(maker, &range.flags);
    assert_int_not_equal(nvt_range_add(maker->trace, &range), NVT_NONE);
}

static void nest(struct maker *maker, uint32_t thread, uint32_t domain, int64_t from, int64_t to,
                 int depth)
{
    for (int64_t at = from; depth && at + 40 < to;) {
        int64_t end = at + 20 + below(maker, (uint32_t)(to - at - 20));
        add_range(maker, thread, domain, at, end, NVT_PUSH_POP);
        nest(maker, thread, domain, at, end, depth - 1);
        at = end + below(maker, 10);
    }
}

static uint32_t add_kernel(struct maker *maker)
{
    const struct nvt_kernel kernel = {.grid_x = 1 + below(maker, 9),
                                      .grid_y = 1,
                                      .grid_z = 2,
                                      .block_x = 32,
                                      .block_y = 4,
                                      .block_z = 1,
                                      .registers = below(maker, 255),
                                      .static_shared = below(maker, 50000),
                                      .dynamic_shared = below(maker, 50000),
                                      .local_memory = below(maker, 100000),
                                      .graph = below(maker, 2) ? 0 : 5,
                                      .graph_node = below(maker, 2) ? 0 : UINT64_C(1) << 40};
    return nvt_kernel_add(maker->trace, &kernel);
}

/* No two start at once: exports keep kernels and copies in tables of their own. */
static struct nvt_op random_op(struct maker *maker, uint32_t process, int64_t time)
{
    int64_t start = time * 1000 + maker->ops++;
    char name[NVT_COPY_NAME_MAX];
    struct nvt_op op = {.start = start,
                        .end = start + below(maker, 50000),
                        .process = process,
                        .device = below(maker, 2),
                        .context = 1,
                        .stream = below(maker, 3),
                        .thread = NVT_NONE,
                        .launch = INT64_MIN,
                        .detail = NVT_NONE,
                        .kind = (uint8_t)below(maker, 3)};
    if (op.kind == NVT_OP_KERNEL && !below(maker, 8)) {
        const struct nvt_kernel graph = {.graph = 1 + below(maker, 3)};
        op.name = nvt_strings_add_text(maker->trace->strings, nvt_graph_name(graph.graph, name));
        op.short_name = op.name;
        op.detail = nvt_kernel_add(maker->trace, &graph);
        return op;
    }
    if (op.kind == NVT_OP_KERNEL) {
        op.name = text(maker, "void kernel<int>");
        op.short_name = text(maker, below(maker, 4) ? "kernel" : "ncclKernel");
        op.detail = add_kernel(maker);
        return op;
    }
    op.bytes = below(maker, 1000000);
    op.target_kind = (uint8_t)below(maker, NVT_KINDS);
    op.name = nvt_strings_add_text(maker->trace->strings, NVT_MEMSET_NAME);
    if (op.kind == NVT_OP_MEMCPY) {
        op.copy_kind = (uint8_t)below(maker, NVT_COPY_KINDS);
        op.source_kind = (uint8_t)below(maker, NVT_KINDS);
        op.name = nvt_strings_add_text(maker->trace->strings, nvt_copy_name(op.copy_kind, name));
    }
    op.short_name = op.name;
    return op;
}

/* A call with its operation, an operation of a known thread without a call, or one of neither. */
static void launch(struct maker *maker, uint32_t process, uint32_t thread, int64_t time)
{
    struct nvt_op op = random_op(maker, process, time + below(maker, 200));
    uint32_t how = below(maker, 6);
    if (how > 1) {
        op.correlation = ++maker->correlation;
        const struct nvt_api api = {.start = time,
                                    .end = time + below(maker, 8),
                                    .thread = thread,
                                    .correlation = op.correlation,
                                    .name = text(maker, "cudaLaunch"),
                                    .result = (int32_t)below(maker, 3) - 1,
                                    .class = (uint8_t)below(maker, 2)};
        assert_int_not_equal(nvt_api_add(maker->trace, &api), NVT_NONE);
    } else if (how) {
        op.correlation = below(maker, 2) ? ++maker->correlation : 0;
        op.thread = thread;
        op.launch = time;
    }
    assert_int_not_equal(nvt_op_add(maker->trace, &op), NVT_NONE);
}

/* As nsys has them: a message has one size, a wait none. */
static void add_mpi_call(struct maker *maker, uint32_t thread, int64_t time)
{
    static const char *const names[NVT_MPI_KINDS] = {"MPI_Comm_split", "MPI_Send", "MPI_Allreduce",
                                                     "MPI_Waitall"};
    uint8_t kind = (uint8_t)below(maker, NVT_MPI_KINDS);
    int is_receive = kind == NVT_MPI_P2P && below(maker, 2),
        has_bytes = kind == NVT_MPI_P2P || kind == NVT_MPI_COLLECTIVE;
    uint64_t bytes = below(maker, 1 << 20);
    const struct nvt_mpi_call call = {
        .start = time,
        .end = time + below(maker, 50),
        .thread = thread,
        .name = text(maker, is_receive ? "MPI_Irecv" : names[kind]),
        .communicator = has_bytes ? below(maker, 1000) : 0,
        .sent = has_bytes && !is_receive ? bytes : UINT64_MAX,
        .received =
            is_receive || (kind == NVT_MPI_COLLECTIVE && below(maker, 2)) ? bytes : UINT64_MAX,
        .peer = has_bytes && below(maker, 3) ? (int32_t)below(maker, 8) : NVT_MPI_NONE,
        .tag = kind == NVT_MPI_P2P ? (int32_t)below(maker, 8) - 2 : NVT_MPI_NONE,
        .kind = kind};
    nvt_mpi_call_add(maker->trace, &call);
}

static void add_rest(struct maker *maker, uint32_t process, uint32_t thread, int64_t time)
{
    struct nvt_mark mark = {.time = time, .thread = thread, .name = text(maker, "mark")};
    uint8_t type = (uint8_t)below(maker, NVT_SYNC_TYPES);
    int is_for_event = type == NVT_SYNC_EVENT || type == NVT_SYNC_WAIT_EVENT;
    uint64_t recorded =
        is_for_event && maker->correlation > 1 ? below(maker, (uint32_t)maker->correlation) : 0;
    const struct nvt_sync sync = {.start = time,
                                  .end = time + 5,
                                  .process = process,
                                  .stream = 1,
                                  .correlation = maker->correlation,
                                  .recorded = recorded,
                                  .recorded_stream = recorded ? (uint32_t)(recorded % 3) : 0,
                                  .type = type};
    int known = below(maker, 2) != 0, on_host = below(maker, 3) == 0;
    const struct nvt_memory_event memory = {
        .time = time,
        .process = process,
        .device = on_host ? NVT_NONE : below(maker, 2),
        .thread = below(maker, 2) ? thread : NVT_NONE,
        .address = UINT64_C(0x7f0000000000) + below(maker, 1000),
        .bytes = 1 + below(maker, 1 << 20),
        .allocated = known ? below(maker, 1 << 30) : UINT64_MAX,
        .reserved = known ? 1u << 30 : UINT64_MAX,
        .source = nvt_strings_add_text(maker->trace->strings, on_host           ? "Pinned"
                                                              : below(maker, 2) ? "PyTorch"
                                                                                : "Device"),
        .kind = (uint8_t)below(maker, 2)};
    const struct nvt_overhead overhead = {.start = time,
                                          .end = time + 3,
                                          .process = process,
                                          .thread = thread,
                                          .name = text(maker, "overhead")};
    struct nvt_os_call os_call = {.start = time,
                                  .end = time + below(maker, 50),
                                  .thread = thread,
                                  .name = below(maker, 2)
                                              ? text(maker, "call")
                                              : nvt_strings_add_text(maker->trace->strings, "read"),
                                  .result = (int64_t)below(maker, 3) - 1};
    if (os_call.result > 0 && !strcmp(nvt_name(maker->trace, os_call.name), "read"))
        os_call.bytes = (uint64_t)os_call.result; /* as nsys's exports say it */
    mark.payload = below(maker, 2) ? payload(maker, &mark.flags) : 0;
    nvt_mark_add(maker->trace, &mark);
    nvt_sync_add(maker->trace, &sync);
    nvt_memory_event_add(maker->trace, &memory);
    nvt_overhead_add(maker->trace, &overhead);
    nvt_os_call_add(maker->trace, &os_call);
    add_mpi_call(maker, thread, time);
}

/* Two processes, one of them twice (after exec), with three threads each. */
static struct nvt_trace *make_trace(uint64_t seed)
{
    static const int64_t pids[] = {4321, 77, 4321};
    struct nvt_error err = NVT_ERROR_INIT;
    struct maker maker = {.trace = nvt_trace_new("original", "test"), .random = seed};
    assert_non_null(maker.trace);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t process = add_process(&maker, pids[i]);
        for (uint32_t j = 0; j < 3; j++) {
            struct nvt_thread row = {.process = process, .tid = pids[i] + j};
            row.name = j ? text(&maker, "thread") : 0;
            uint32_t thread = nvt_thread_add(maker.trace, &row);
            int64_t from = 1000000 * (int64_t)i, to = from + 3000;
            uint32_t domain = nvt_trace_domain(maker.trace, process,
                                               j == 0   ? ""
                                               : j == 1 ? "NCCL"
                                                        : "app");
            nest(&maker, thread, domain, from, to, 3);
            for (uint32_t n = below(&maker, 5); n > 0; n--) {
                int64_t start = from + below(&maker, 3000);
                add_range(&maker, thread, domain, start, start + below(&maker, 2000),
                          NVT_START_END);
            }
            for (uint32_t n = below(&maker, 60); n > 0; n--)
                launch(&maker, process, thread, from + below(&maker, 3000));
            for (uint32_t n = below(&maker, 12); n > 0; n--)
                add_rest(&maker, process, thread, from + below(&maker, 3000));
        }
    }
    const struct nvt_device everywhere = {.process = NVT_NONE,
                                          .name = text(&maker, "GPU"),
                                          .memory_bytes = 80000000000,
                                          .multiprocessors = 132,
                                          .capability = 90};
    struct nvt_device second = everywhere;
    second.device = 1;
    const struct nvt_device own = {.process = 1,
                                   .device = 1,
                                   .name = text(&maker, "GPU"),
                                   .memory_bytes = 40000000000,
                                   .multiprocessors = 108,
                                   .capability = 80,
                                   .gpu = nvt_strings_add_text(maker.trace->strings, UUID)};
    const struct nvt_resource stream = {1, nvt_strings_add_text(maker.trace->strings, "stream"), 7,
                                        text(&maker, "copies")};
    nvt_device_add(maker.trace, &everywhere);
    nvt_device_add(maker.trace, &second);
    nvt_device_add(maker.trace, &own);
    nvt_resource_add(maker.trace, &stream);
    nvt_trace_set_meta(maker.trace, "backend", "cuda");
    nvt_trace_set_meta(maker.trace, "device", "a \"device\"");
    nvt_trace_set_meta(maker.trace, "date", "2026-11-21T00:00:00Z");
    assert_int_equal(nvt_trace_finish(maker.trace, &err), 0);
    return maker.trace;
}

/* --- what reports say --- */

static char *report_text(const char *name, struct nvt_trace *trace, unsigned flags)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace traces = {.trace = trace};
    struct nvt_input input = {.traces = &traces, .trace_count = 1, .project_flags = flags};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    return out;
}

static void expect_equal(const char *name, const char *ours, const char *theirs)
{
    size_t line = 0;
    for (const char *a = ours, *b = theirs; *a || *b; line++) {
        size_t left = strcspn(a, "\n"), right = strcspn(b, "\n");
        if (left != right || memcmp(a, b, left))
            fail_msg("%s, line %zu:\n  %.*s\n  %.*s", name, line + 1, (int)left, a, (int)right, b);
        a += left + (a[left] == '\n');
        b += right + (b[right] == '\n');
    }
}

/* What waits for which event, too. */
static void expect_same_syncs(const struct nvt_trace *back, const struct nvt_trace *trace)
{
    assert_int_equal(back->syncs.count, trace->syncs.count);
    for (uint32_t i = 0; i < trace->syncs.count; i++) {
        assert_int_equal(back->syncs.type[i], trace->syncs.type[i]);
        assert_int_equal(back->syncs.recorded[i], trace->syncs.recorded[i]);
        assert_int_equal(back->syncs.recorded_stream[i], trace->syncs.recorded_stream[i]);
    }
}

#ifdef HAVE_SQLITE
static void sqlite_gives_every_report_again(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "t.sqlite");
    size_t count, checked = 0;
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct nvt_trace *trace = make_trace(seed);
        nvt_reader_state(trace, seed % 2 ? "nvt" : "kineto");
        export_write_to(&nvt_exporter_sqlite, trace, path);
        struct nvt_trace *back = export_read_back(path);
        free(back->path); /* some reports name the file */
        back->path = strdup(trace->path);
        for (size_t i = 0; i < count; i++) {
            if (reports[i]->needs & NVT_NEEDS_RUNS)
                continue;
            for (unsigned flags = 0; flags <= NVT_ACROSS_THREADS; flags++) {
                char *ours = report_text(reports[i]->name, trace, flags);
                char *theirs = report_text(reports[i]->name, back, flags);
                expect_equal(reports[i]->name, ours, theirs);
                /* A heading and a row; a report may have no table. */
                const char *heading = strchr(ours, '\n');
                checked += heading && strchr(heading + 1, '\n');
                free(ours);
                free(theirs);
            }
        }
        assert_string_equal(nvt_trace_meta(back, "device"), "a \"device\"");
        assert_string_equal(nvt_trace_meta(back, "date"), "2026-11-21T00:00:00Z");
        /* Who recorded it, and not that nsys did. */
        assert_string_equal(back->format, trace->format);
        assert_null(nvt_trace_meta(back, "nsys"));
        assert_null(nvt_trace_meta(back, "nsys_schema"));
        expect_same_syncs(back, trace);
        assert_int_equal(back->overheads.count, trace->overheads.count);
        assert_true(trace->os_calls.count);
        assert_memory_equal(back->os_calls.result, trace->os_calls.result,
                            trace->os_calls.count * sizeof(int64_t));
        assert_int_equal(back->marks.count, trace->marks.count);
        assert_string_equal(nvt_name(back, back->resources.name[0]),
                            nvt_name(trace, trace->resources.name[0]));
        nvt_trace_free(back);
        nvt_trace_free(trace);
    }
    /* Nearly all reports had rows. */
    assert_true(checked > 12 * 2 * 15);
}

/* What a query's only row and column holds. */
static int64_t asked(sqlite3 *db, const char *query)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Others' programs ask for columns by name, also for those that we know nothing of. */
static void sqlite_answers_what_others_ask(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "asked.sqlite");
    struct nvt_trace *trace = make_trace(1);
    export_write_to(&nvt_exporter_sqlite, trace, path);
    int64_t owned = 0; /* CUDA's numbers of devices are a process's */
    for (uint32_t i = 0; i < trace->devices.count; i++)
        owned += trace->devices.process[i] < trace->processes.count;
    assert_true(owned > 0);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        asked(db, "SELECT count(*) FROM (SELECT c.cudaId, g.name, g.busLocation, g.smCount,"
                  " g.totalMemory, g.chipName, g.memoryBandwidth, g.uuid, g.clockRate"
                  " FROM TARGET_INFO_GPU g JOIN TARGET_INFO_CUDA_DEVICE c ON g.id = c.gpuId)"),
        owned);
    assert_int_equal(asked(db, "SELECT sum(totalMemory) > 0 FROM TARGET_INFO_GPU"), 1);
    /* As nsys has it; ours is read back. */
    assert_int_equal(asked(db, "SELECT count(*) FROM TARGET_INFO_GPU"
                               " WHERE uuid = '01125f41-ed43-3b5b-770d-0ef62e701d55'"),
                     1);
    struct nvt_trace *back = nvt_trace_read(path, NULL);
    uint32_t known = 0;
    for (uint32_t i = 0; back && i < back->devices.count; i++)
        known += !strcmp(nvt_name(back, back->devices.gpu[i]), UUID);
    assert_true(known > 0);
    nvt_trace_free(back);
    assert_int_equal(asked(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_OVERHEAD o"
                               " JOIN ENUM_CUPTI_OVERHEAD_TYPE t ON o.overheadType = t.id"
                               " JOIN ENUM_NSYS_EVENT_CLASS c ON o.eventClass = c.id"
                               " JOIN StringIds s ON o.nameId = s.id"),
                     trace->overheads.count);
    assert_true(trace->overheads.count > 0);
    int64_t graphs = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        graphs += nvt_is_graph_name(nvt_name(trace, trace->ops.name[i]));
    assert_int_equal(asked(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
                               " WHERE graphId > 0 AND graphExecId > 0 AND end >= start"),
                     graphs);
    assert_true(graphs > 0);
    sqlite3_close(db);
    nvt_trace_free(trace);
}

#endif
/* What does not depend on the axis, which starts with the first event there. */
static void reads_back(const struct nvt_exporter *exporter)
{
    static const char *const reports[] = {"nvtx_sum",
                                          "cuda_gpu_kern_gb_sum",
                                          "cuda_api_sum",
                                          "cuda_gpu_mem_time_sum",
                                          "cuda_gpu_mem_size_sum",
                                          "cuda_gpu_sum",
                                          "osrt_sum",
                                          "nvtx_osrt_sum",
                                          "profiler_overhead_sum"};
    const char *path = export_file_of(exporter);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct nvt_trace *trace = make_trace(seed);
        export_write_to(seed % 2 || export_is_perfetto(exporter) ? exporter
                                                                 : &nvt_exporter_chrome_path,
                        trace, path);
        struct nvt_trace *back = export_read_back(path);
        for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
            char *ours = report_text(reports[i], trace, 0);
            char *theirs = report_text(reports[i], back, 0);
            expect_equal(reports[i], ours, theirs);
            free(ours);
            free(theirs);
        }
        assert_int_equal(back->marks.count, trace->marks.count);
        assert_int_equal(back->memory.count, trace->memory.count);
        assert_int_equal(back->ranges.start[0], trace->ranges.start[0] - trace->first_ns);
        nvt_trace_free(back);
        nvt_trace_free(trace);
    }
}

static void chrome_reads_back(void **state)
{
    (void)state;
    reads_back(&nvt_exporter_chrome);
}

static void perfetto_reads_back(void **state)
{
    (void)state;
    reads_back(&nvt_exporter_perfetto);
}

static void chrome_has_arrows_and_counters(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "t.json");
    struct nvt_trace *trace = make_trace(3);
    export_write_to(&nvt_exporter_chrome, trace, path);
    char *json = cli_read_file(path, NULL);
    size_t arrows = 0, launched = 0;
    for (const char *at = json; (at = strstr(at, "\"ph\":\"s\"")) != NULL; at++)
        arrows++;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        launched += trace->ops.thread[i] != NVT_NONE && trace->ops.launch[i] != INT64_MIN;
    assert_int_equal(arrows, launched);
    assert_non_null(strstr(json, "\"bp\":\"e\""));
    assert_non_null(strstr(json, "\"ph\":\"C\""));
    assert_non_null(strstr(json, "GPU 1"));
    free(json);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HAVE_SQLITE
        cmocka_unit_test(sqlite_gives_every_report_again),
        cmocka_unit_test(sqlite_answers_what_others_ask),
#endif
        cmocka_unit_test(chrome_reads_back),
        cmocka_unit_test(perfetto_reads_back),
        cmocka_unit_test(chrome_has_arrows_and_counters),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
