/*
 * Exports as Chrome's and Perfetto's trace events: their size, slices that cross, OS calls, what never ended,
 * processes, and whatever is in the names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/reports/report.h"
#include "cli.h"
#include "export_kit.h"

static long size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) ? -1 : (long)status.st_size;
}

/* A third of the other's size, of the same events. */
static void perfetto_is_small(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    const uint32_t process = nvt_trace_process(trace, 5),
                   thread = nvt_trace_thread(trace, process, 6);
    const uint32_t call = nvt_strings_add_text(trace->strings, "cudaLaunchKernel");
    const struct nvt_kernel shape = {.grid_x = 128,
                                     .grid_y = 2,
                                     .grid_z = 1,
                                     .block_x = 256,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .registers = 40};
    for (int64_t i = 0; i < 1000; i++) {
        const struct nvt_api api = {.start = 1000 * i,
                                    .end = 1000 * i + 400,
                                    .thread = thread,
                                    .correlation = (uint64_t)i + 1,
                                    .name = call};
        const struct nvt_op op = {
            .start = 1000 * i + 500,
            .end = 1000 * i + 900,
            .process = process,
            .stream = 7,
            .correlation = (uint64_t)i + 1,
            .thread = NVT_NONE,
            .launch = INT64_MIN,
            .name = nvt_strings_add_text(trace->strings, i % 2 ? "void gemm<float>(float*)"
                                                               : "void relu<float>(float*)"),
            .detail = nvt_trace_kernel(trace, &shape)};
        assert_true(nvt_api_add(trace, &api) != NVT_NONE && nvt_op_add(trace, &op) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    export_write_to(&nvt_exporter_perfetto, trace, export_file_of(&nvt_exporter_perfetto));
    const long small = size_of(export_file_of(&nvt_exporter_perfetto));
    export_write_to(&nvt_exporter_chrome, trace, export_file_of(&nvt_exporter_chrome));
    assert_in_range(3 * small, 1, size_of(export_file_of(&nvt_exporter_chrome)));
    nvt_trace_free(trace);
}

/* Slices of a thread that cross each other are on tracks of their own, and all come back. */
static void perfetto_keeps_what_crosses(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    const uint32_t process = nvt_trace_process(trace, 5),
                   thread = nvt_trace_thread(trace, process, 6);
    char name[16];
    for (int64_t i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "range %d", (int)i);
        const struct nvt_range range = {.start = 7 * i,
                                        .end = 7 * i + 5 + i * 37 % 90,
                                        .thread = thread,
                                        .end_thread = thread,
                                        .domain =
                                            nvt_trace_domain(trace, process, i % 3 ? "one" : "two"),
                                        .name = nvt_strings_add_text(trace->strings, name),
                                        .style = i % 4 ? NVT_PUSH_POP : NVT_START_END};
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    export_write_to(&nvt_exporter_perfetto, trace, export_file_of(&nvt_exporter_perfetto));
    struct nvt_trace *back = export_read_back(export_file_of(&nvt_exporter_perfetto));
    assert_int_equal(back->ranges.count, 300);
    assert_int_equal(back->threads.count, 1);
    for (uint32_t i = 0; i < 300; i++) {
        assert_int_equal(back->ranges.start[i], trace->ranges.start[i]);
        assert_int_equal(back->ranges.end[i], trace->ranges.end[i]);
        assert_int_equal(back->ranges.style[i], trace->ranges.style[i]);
        assert_string_equal(nvt_name(back, back->ranges.name[i]),
                            nvt_name(trace, trace->ranges.name[i]));
        assert_string_equal(nvt_domain_name(back, back->ranges.domain[i]),
                            nvt_domain_name(trace, trace->ranges.domain[i]));
    }
    nvt_trace_free(back);
    nvt_trace_free(trace);
}

/* What calls of the system worked with, where that is known, and one that never ended. */
static void has_calls_of_the_system(const struct nvt_exporter *exporter)
{
    static const struct nvt_os_call calls[] = {
        {.start = 10, .end = 20, .result = 4096, .bytes = 4096},
        {.start = 30, .end = 40, .address = UINT64_C(0xffffdeadBEEF0040), .result = -1},
        {.start = 50, .end = 90, .flags = NVT_RANGE_UNCLOSED},
    };
    static const char *const names[] = {"read", "pthread_mutex_lock", "poll"};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 5), 6);
    const struct nvt_mark mark = {.thread = thread,
                                  .name = nvt_strings_add_text(trace->strings, "begin")};
    const char *path = export_file_of(exporter);
    assert_true(nvt_mark_add(trace, &mark) != NVT_NONE);
    for (size_t i = 0; i < 3; i++) {
        struct nvt_os_call call = calls[i];
        call.thread = thread;
        call.name = nvt_strings_add_text(trace->strings, names[i]);
        call.file = i ? 0 : nvt_strings_add_text(trace->strings, "/data/a \"b\"");
        call.caller = i ? 0 : nvt_strings_add_text(trace->strings, "libio.so.1");
        assert_true(nvt_os_call_add(trace, &call) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    export_write_to(exporter, trace, path);
    if (!export_is_perfetto(exporter)) {
        char *json = cli_read_file(path, NULL);
        assert_non_null(strstr(json, "\"args\":{\"result\":4096,\"file\":\"/data/a "
                                     "\\\"b\\\"\",\"caller\":\"libio.so.1\",\"bytes\":4096}"));
        assert_non_null(
            strstr(json, "\"args\":{\"result\":-1,\"address\":\"0xffffdeadbeef0040\"}"));
        assert_non_null(strstr(json, "\"args\":{\"result\":0,\"unclosed\":1}"));
        free(json);
    }
    struct nvt_trace *back = export_read_back(path);
    const struct nvt_os_calls *ours = &trace->os_calls, *theirs = &back->os_calls;
    assert_int_equal(theirs->count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(nvt_name(back, theirs->name[i]), names[i]);
        assert_int_equal(theirs->result[i], ours->result[i]);
        assert_string_equal(nvt_name(back, theirs->file[i]), nvt_name(trace, ours->file[i]));
        assert_string_equal(nvt_name(back, theirs->caller[i]), nvt_name(trace, ours->caller[i]));
        assert_true(theirs->address[i] == ours->address[i]);
        assert_int_equal(theirs->bytes[i], ours->bytes[i]);
        assert_int_equal(theirs->flags[i], ours->flags[i]);
    }
    nvt_trace_free(back);
    nvt_trace_free(trace);
}

static void chrome_has_calls_of_the_system(void **state)
{
    (void)state;
    has_calls_of_the_system(&nvt_exporter_chrome);
}

static void perfetto_has_calls_of_the_system(void **state)
{
    (void)state;
    has_calls_of_the_system(&nvt_exporter_perfetto);
}

/* A range that never ended, nested in another one, and one of both styles that did. */
static void knows_what_never_ended(const struct nvt_exporter *exporter)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    const char *path = export_file_of(exporter);
    static const char *const names[] = {"killed", "inner", "done", "start"};
    for (int64_t i = 0; i < 4; i++) {
        const struct nvt_range range = {.start = 10 * i,
                                        .end = i == 2 ? 25 : 100,
                                        .thread = thread,
                                        .end_thread = thread,
                                        .name = nvt_strings_add_text(trace->strings, names[i]),
                                        .style = i == 3 ? NVT_START_END : NVT_PUSH_POP,
                                        .flags = i == 2 ? 0 : NVT_RANGE_UNCLOSED};
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    }
    trace->threads.last_ns[thread] = 100;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    export_write_to(exporter, trace, path);
    struct nvt_trace *back = export_read_back(path);
    assert_int_equal(back->ranges.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(back->ranges.flags[i] & NVT_RANGE_UNCLOSED,
                         i == 2 ? 0 : NVT_RANGE_UNCLOSED);
        assert_int_equal(back->ranges.end[i] - back->ranges.start[0],
                         trace->ranges.end[i] - trace->ranges.start[0]);
        assert_string_equal(nvt_name(back, back->ranges.name[i]), names[i]);
    }
    nvt_trace_free(back);
    nvt_trace_free(trace);
}

static void chrome_knows_what_never_ended(void **state)
{
    (void)state;
    knows_what_never_ended(&nvt_exporter_chrome);
}

static void perfetto_knows_what_never_ended(void **state)
{
    (void)state;
    knows_what_never_ended(&nvt_exporter_perfetto);
}

/* A call and what it launched in each of two processes, which count their calls from 1: the second's operation is
 * the second's. */
static void tells_processes_apart(const struct nvt_exporter *exporter)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    const char *path = export_file_of(exporter);
    for (int64_t i = 0; i < 2; i++) {
        uint32_t process = nvt_trace_process(trace, 10 + i);
        uint32_t name = nvt_strings_add_text(trace->strings, i ? "second" : "first");
        const struct nvt_api call = {.start = 10 * i,
                                     .end = 10 * i + 5,
                                     .thread = nvt_trace_thread(trace, process, 20 + i),
                                     .correlation = 1,
                                     .name = name};
        const struct nvt_op op = {.start = 50 + 10 * i,
                                  .end = 60 + 10 * i,
                                  .process = process,
                                  .correlation = 1,
                                  .thread = NVT_NONE,
                                  .launch = INT64_MIN,
                                  .name = name,
                                  .short_name = name,
                                  .detail = NVT_NONE};
        const struct nvt_sync sync = {.start = op.start, .end = op.end, .process = process};
        assert_true(nvt_api_add(trace, &call) != NVT_NONE && nvt_op_add(trace, &op) != NVT_NONE &&
                    nvt_sync_add(trace, &sync) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    export_write_to(exporter, trace, path);
    struct nvt_trace *back = export_read_back(path);
    assert_int_equal(back->ops.count, 2);
    assert_int_equal(back->processes.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(back->processes.pid[back->ops.process[i]], 10 + i);
        assert_int_equal(back->processes.pid[back->syncs.process[i]], 10 + i);
        assert_int_equal(back->threads.tid[back->ops.thread[i]], 20 + i);
        assert_int_equal(back->ops.launch[i], 10 * i);
    }
    nvt_trace_free(back);
    nvt_trace_free(trace);
}

static void chrome_tells_processes_apart(void **state)
{
    (void)state;
    tells_processes_apart(&nvt_exporter_chrome);
}

static void perfetto_tells_processes_apart(void **state)
{
    (void)state;
    tells_processes_apart(&nvt_exporter_perfetto);
}

/* Bytes that are no UTF-8, control characters, what ends a string. */
static void chrome_is_valid_for_any_name(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "t.json");
    struct nvt_error err = NVT_ERROR_INIT;
    for (unsigned byte = 1; byte < 256; byte++) {
        struct nvt_trace *trace = nvt_trace_new("x", "test");
        char name[8] = {'a', (char)byte, '"', (char)byte, '\\', '\0'};
        uint32_t id = nvt_strings_add_text(trace->strings, name);
        uint32_t process = nvt_trace_process(trace, 1);
        const struct nvt_range range = {.start = 5,
                                        .end = 9,
                                        .thread = nvt_trace_thread(trace, process, 1),
                                        .domain = nvt_trace_domain(trace, process, name),
                                        .name = id,
                                        .category = id,
                                        .payload = id,
                                        .flags = NVT_RANGE_HAS_PAYLOAD};
        trace->processes.name[0] = id;
        nvt_range_add(trace, &range);
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        export_write_to(&nvt_exporter_chrome, trace, path);
        struct nvt_trace *back = export_read_back(path);
        assert_int_equal(back->ranges.count, 1);
        if (byte < 128)
            assert_string_equal(nvt_name(back, back->ranges.name[0]), name);
        nvt_trace_free(back);
        nvt_trace_free(trace);
    }
}

/* What cannot be written leaves what was there; a device is written itself. */
static void a_file_is_replaced_when_it_is_whole(void **state)
{
    (void)state;
    static const char script[] =
        "mkdir disk && mount -t tmpfs -o size=64k tmpfs disk || { echo none; exit; }\n"
        "echo old >disk/t.csv\n"
        "\"$0\" export --to csv -o disk/t.csv t.nvt 2>&1; echo $?\n"
        "ls disk; cat disk/t.csv; umount disk\n"
        "\"$0\" export --to csv -o /dev/full t.nvt 2>&1; echo $?\n"
        "echo old >t.csv; \"$0\" export --to csv -o t.csv t.nvt; echo $?; ls t.csv*; wc -l "
        "<t.csv\n";
    struct cli_result result = cli_on_a_small_disk(script);
    assert_string_equal(result.out,
                        "nvtally: disk/t.csv: cannot be written: No space left on device\n2\n"
                        "t.csv\nold\n"
                        "nvtally: /dev/full: cannot be written: No space left on device\n2\n"
                        "0\nt.csv\n300001\n");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfetto_is_small),
        cmocka_unit_test(perfetto_keeps_what_crosses),
        cmocka_unit_test(a_file_is_replaced_when_it_is_whole),
        cmocka_unit_test(chrome_has_calls_of_the_system),
        cmocka_unit_test(perfetto_has_calls_of_the_system),
        cmocka_unit_test(chrome_knows_what_never_ended),
        cmocka_unit_test(perfetto_knows_what_never_ended),
        cmocka_unit_test(chrome_tells_processes_apart),
        cmocka_unit_test(perfetto_tells_processes_apart),
        cmocka_unit_test(chrome_is_valid_for_any_name),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
