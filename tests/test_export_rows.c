/*
 * Chrome's trace events: what shares a row nests there, whatever the trace holds. Of timelines: time 0 is the earliest of all.
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
#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"

struct complete {
    long long pid, tid, start, end;
};

/* The complete events of our export, one a line; how many. */
static size_t complete_events(const char *json, struct complete *events, size_t most)
{
    size_t count = 0;
    for (const char *at = json; (at = strstr(at, "{\"ph\":\"X\"")) && count < most; at++) {
        long long us, ns, long_us, long_ns;
        struct complete *event = &events[count++];
        assert_int_equal(sscanf(at,
                                "{\"ph\":\"X\",\"pid\":%lld,\"tid\":%lld,\"ts\":%lld.%3lld,"
                                "\"dur\":%lld.%3lld",
                                &event->pid, &event->tid, &us, &ns, &long_us, &long_ns),
                         6);
        event->start = us * 1000 + ns;
        event->end = event->start + long_us * 1000 + long_ns;
    }
    return count;
}

/* Viewers drop what overlaps another event of its row without lying inside it. */
static void expect_nesting(const struct complete *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (events[i].pid == events[j].pid && events[i].tid == events[j].tid &&
                events[i].start < events[j].start && events[j].start < events[i].end)
                assert_true(events[j].end <= events[i].end);
}

static void chrome_rows_nest(void **state)
{
    (void)state;
    static struct complete events[20000];
    char *folder = cli_tempdir();
    const char *path = cli_in(folder, "t.json");
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t name = nvt_strings_add_text(trace->strings, "a");
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    for (int64_t i = 0; i < 100; i++) {
        /* Three kernels at a time on one stream, a wait of it through them, and domains that cross. */
        const struct nvt_op op = {.start = 10 * i,
                                  .end = 10 * i + 25,
                                  .process = process,
                                  .stream = 7,
                                  .kind = NVT_OP_KERNEL,
                                  .name = name,
                                  .thread = NVT_NONE,
                                  .launch = INT64_MIN,
                                  .detail = NVT_NONE};
        const struct nvt_sync sync = {
            .start = 10 * i + 5, .end = 10 * i + 13, .process = process, .stream = 7};
        const struct nvt_range range = {.start = 10 * i,
                                        .end = 10 * i + 15,
                                        .thread = thread,
                                        .end_thread = thread,
                                        .domain =
                                            nvt_trace_domain(trace, process, i % 2 ? "x" : ""),
                                        .name = name};
        nvt_op_add(trace, &op);
        nvt_sync_add(trace, &sync);
        nvt_range_add(trace, &range);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_int_equal(nvt_exporter_chrome.write(trace, out, &err), 0);
    assert_int_equal(fclose(out), 0);
    char *json = cli_read_file(path, NULL);
    size_t count = complete_events(json, events, 20000);
    assert_int_equal(count, 100 + 100 + 50);
    expect_nesting(events, count);
    assert_non_null(strstr(json, "\"stream 7 (3)\""));
    assert_null(strstr(json, "\"stream 7 (4)\""));
    assert_non_null(strstr(json, "\"stream 7, waits\""));
    struct nvt_trace *back = nvt_trace_read(path, &err);
    assert_non_null(back);
    assert_int_equal(back->ops.count, 100);
    assert_int_equal(back->ranges.count, 100);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(back->ops.stream[i], 7);
        assert_int_equal(back->ranges.style[i], NVT_PUSH_POP);
    }
    nvt_trace_free(back);
    free(json);
    nvt_trace_free(trace);
    cli_tempdir_remove(folder);
}

/* So many samples in the only chunk of a profile, and no event before time 0. */
static void expect_samples(const char *path, int samples)
{
    char *json = cli_read_file(path, NULL);
    const char *deltas = strstr(json, "\"timeDeltas\":[");
    assert_non_null(deltas);
    for (; *deltas != ']'; deltas++)
        samples -= *deltas == ',' || *deltas == '[';
    assert_int_equal(samples, 0);
    assert_null(strstr(json, "\"ts\":-"));
    free(json);
}

/* A program that starts: calls of the system, samples and counters before the first range. */
static void nothing_is_before_time_0(void **state)
{
    (void)state;
    static const struct {
        const struct nvt_exporter *exporter;
        const char *file;
        int has_samples;
    } forms[] = {{&nvt_exporter_chrome, "first.json", 1},
                 {&nvt_exporter_perfetto, "first.pftrace", 0}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct maker maker = make_begin();
    const int64_t start = maker.now + 1000000;
    const uint32_t function = make_function(&maker, 0, "main", "a.out");
    for (int i = 0; i < 11; i++)
        make_os_call(&maker, "read", maker.thread, maker.now + 1000 + i * 10000,
                     maker.now + 6000 + i * 10000);
    for (int i = 0; i < 3; i++)
        make_sample(&maker, maker.thread, maker.now + 2000 + i * 200000, 1000, function);
    make_host_samples(&maker, 0, 5);
    make_resident(&maker, maker.now + 500, 4096);
    maker.now = start + 5000;
    make_range(&maker, "work", start);
    struct nvt_trace *trace = make_end(&maker);
    assert_int_equal(trace->first_ns, start);
    char *folder = cli_tempdir();
    for (size_t i = 0; i < NVT_COUNT_OF(forms); i++) {
        const char *path = cli_in(folder, forms[i].file);
        FILE *out = fopen(path, "we");
        assert_non_null(out);
        assert_int_equal(forms[i].exporter->write(trace, out, &err), 0);
        assert_int_equal(fclose(out), 0);
        struct nvt_trace *back = nvt_trace_read(path, &err);
        assert_non_null(back);
        assert_int_equal(back->os_calls.count, 11);
        if (forms[i].has_samples)
            expect_samples(path, 3);
        assert_int_equal(back->counter_samples.count, trace->counter_samples.count);
        assert_true(back->os_calls.start[0] >= 0);
        assert_true(back->counter_samples.time[0] >= 0);
        assert_int_equal(back->ranges.start[0] - back->os_calls.start[0],
                         trace->ranges.start[0] - trace->os_calls.start[0]);
        nvt_trace_free(back);
    }
    nvt_trace_free(trace);
    cli_tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chrome_rows_nest),
        cmocka_unit_test(nothing_is_before_time_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
