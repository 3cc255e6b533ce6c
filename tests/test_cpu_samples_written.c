/* Samples of what threads run: what exports make of them, and windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "nsys_samples_kit.h"
#include "read_kit.h"
#include "trace_same.h"

#ifdef HAVE_SQLITE
/* --- exports --- */

static void exports_of_nsys_hold_them_again(void **state)
{
    (void)state;
    const char *path = kit_exported(kit_make_export(OF_2023), "sqlite", "again.sqlite");
    struct nvt_trace *trace = kit_read(path);
    nsys_expect_2023(trace);
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
        kit_make_export(SAMPLED_STRINGS
                        "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid);"
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
        snprintf(before, sizeof(before), "%s", nsys_stack_of(trace, i));
        assert_string_equal(nsys_stack_of(back, i), before);
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
    trace = kit_read(kit_make_export(SAMPLED_STRINGS SAMPLES ONE_SAMPLE));
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
    /* 2400 in one, 200 in the other */
    assert_int_equal(count_of(out, "\"name\":\"ProfileChunk\""), 4);
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
            snprintf(stack, sizeof(stack), "%s", nsys_stack_of(trace, k));
            assert_string_equal(
                nsys_stack_of(whole, (uint32_t)(trace->cpu_samples.time[k] / 10 - 1)), stack);
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
