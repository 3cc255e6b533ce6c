/*
 * A device that hardly works in a trace in which nothing is found: one line says so. And what it does in
 * other files of the same time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/device/gaps.h"
#include "../lib/count_of.h"
#include "made_trace.h"

/* Two kernels of 10 ms with one such pause of the thread between them: no loop, so no finding. */
static void told_of(int64_t pause_ns, struct nvt_buffer *text)
{
    struct maker maker = make_begin();
    make_launch(&maker, "before", 10000000);
    make_wait(&maker);
    maker.now += pause_ns;
    make_launch(&maker, "behind", 10000000);
    struct nvt_input_trace traces[] = {{.trace = make_end(&maker)}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_findings findings = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, &err), 0);
    assert_int_equal(findings.count, 0);
    assert_int_equal(nvt_diagnose_idle(&input, &findings, text, &err), 0);
    assert_int_equal(nvt_buffer_append(text, "", 1), 0);
    free(findings.items);
    nvt_trace_free(traces[0].trace);
}

/* Time that a finding tells of explains a gap if its rule is about gaps, and it is of this trace alone. */
static void findings_that_explain_it_hide_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    make_launch(&maker, "before", 1000);
    make_wait(&maker);
    maker.now += 180000000;
    make_launch(&maker, "behind", 1000);
    struct nvt_input_trace traces[] = {{.trace = make_end(&maker)}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    const char *idle = nvt_rule_idle.cause, *copies = nvt_rule_pageable.cause;
    const struct {
        struct nvt_finding finding;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {{.trace = traces[0].trace, .traces = 1, .cause = idle, .total_ns = 95e6}, NULL},
        {{.trace = traces[0].trace, .traces = 1, .cause = idle, .total_ns = 45e6},
         "of 180 ms, first to last device operation; findings explain at most 25 % of that."},
        {{.trace = traces[0].trace, .traces = 1, .cause = copies, .total_ns = 95e6},
         "no finding explains it"},
        {{.trace = traces[0].trace, .cause = idle, .total_ns = 95e6}, "no finding explains it"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_finding finding = cases[i].finding;
        struct nvt_findings findings = {&finding, 1};
        struct nvt_buffer text = {0};
        assert_int_equal(nvt_diagnose_idle(&input, &findings, &text, NULL), 0);
        assert_int_equal(text.size > 0, cases[i].says != NULL);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        if (cases[i].says && !strstr((const char *)text.data, cases[i].says))
            fail_msg("%zu: %s", i, (const char *)text.data);
        nvt_buffer_free(&text);
    }
    nvt_trace_free(traces[0].trace);
}

/* Ten iterations of 1 ms of work; the first waits 400 ms, which is warm-up, all others `pause_ns`. */
static void told_of_loop(int64_t pause_ns, struct nvt_buffer *text)
{
    struct maker maker = make_begin();
    for (int i = 0; i < 10; i++) {
        const int64_t start = maker.now;
        make_launch(&maker, "work", 1000000);
        make_wait(&maker);
        maker.now += i ? pause_ns : 400000000;
        make_range(&maker, "iteration", start);
    }
    struct nvt_input_trace traces[] = {{.trace = make_end(&maker)}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    assert_int_equal(nvt_diagnose_idle(&input, &findings, text, NULL), 0);
    assert_int_equal(nvt_buffer_append(text, "", 1), 0);
    free(findings.items);
    nvt_trace_free(traces[0].trace);
}

/* Findings look at the second half of the iterations: what lies before is not what they fail to explain. */
static void idle_time_of_the_first_iterations_is_told_apart(void **state)
{
    struct nvt_buffer text = {0};
    (void)state;
    told_of_loop(10000, &text);
    if (!strstr((const char *)text.data,
                "Findings cover iterations 6 to 10 of 10. Over the whole loop"))
        fail_msg("%s", (const char *)text.data);
    assert_null(strstr((const char *)text.data, "explain"));
    text.size = 0;
    /* A pause that a finding has whole, next to which the first one is little. */
    told_of_loop(200000000, &text);
    assert_string_equal((const char *)text.data, "");
    nvt_buffer_free(&text);
}

/* What the launching thread did in the gap: its shortest range and call that half of the gap lies in. */
static void the_host_is_told(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct maker maker = make_begin();
        make_launch(&maker, "before", 1000);
        make_wait(&maker);
        int64_t start = maker.now;
        if (what == 1)
            make_call(&maker, "cudaMalloc", 150000000);
        if (what == 2)
            make_os_call(&maker, "fsync", maker.thread, start, start + 150000000);
        maker.now = start + 180000000;
        make_range(&maker, "save", start);
        make_launch(&maker, "behind", 1000);
        struct nvt_input_trace traces[] = {{.trace = make_end(&maker)}};
        struct nvt_input input = {.traces = traces, .trace_count = 1};
        const struct nvt_findings findings = {0};
        struct nvt_buffer text = {0};
        static const char *const says[] = {"thread was running non-CUDA code in range save",
                                           "thread was in cudaMalloc in range save",
                                           "thread was in fsync() in range save"};
        assert_int_equal(nvt_diagnose_idle(&input, &findings, &text, NULL), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        if (!strstr((const char *)text.data, says[what]))
            fail_msg("%s", (const char *)text.data);
        nvt_buffer_free(&text);
        nvt_trace_free(traces[0].trace);
    }
}

static void one_long_gap_is_told(void **state)
{
    (void)state;
    struct nvt_buffer text = {0};
    told_of(180000000, &text);
    static const char *const parts[] = {
        "GPU idle 90 % of 200 ms, first to last device operation; no finding explains it. Longest "
        "gap: 180 ms at ",
        " on GPU 0, after before, while the launching thread was running non-CUDA code (made up; ",
        "nvtally stats -r gpu_idle)\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++)
        if (!strstr((const char *)text.data, parts[i]))
            fail_msg("no \"%s\" in %s", parts[i], (const char *)text.data);
    nvt_buffer_free(&text);
}

static void a_device_that_works_is_not(void **state)
{
    (void)state;
    struct nvt_buffer text = {0};
    told_of(15000000, &text);
    assert_string_equal((const char *)text.data, "");
    nvt_buffer_free(&text);
}

static void nothing_on_a_device_is_not(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    make_call(&maker, "cudaMalloc", 1000);
    struct nvt_input_trace traces[] = {{.trace = make_end(&maker)}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_buffer text = {0};
    const struct nvt_findings findings = {0};
    assert_int_equal(nvt_diagnose_idle(&input, &findings, &text, NULL), 0);
    assert_int_equal(text.size, 0);
    nvt_trace_free(traces[0].trace);
}

/* --- several files of one device --- */

#define SECOND INT64_C(1000000000)

/* A kernel of 10 ms at 1 ms, `pause_ns` nothing, another one; its zero is so many s behind those of others. */
static struct nvt_trace *paused(const char *path, const char *gpu, int64_t pause_ns, int64_t origin)
{
    struct maker maker = make_begin();
    const struct nvt_device device = {
        .process = maker.process, .gpu = gpu ? nvt_strings_add_text(maker.trace->strings, gpu) : 0};
    assert_int_not_equal(nvt_device_add(maker.trace, &device), NVT_NONE);
    make_launch(&maker, "before", 10000000);
    make_wait(&maker);
    maker.now += pause_ns;
    make_launch(&maker, "behind", 10000000);
    free(maker.trace->path);
    maker.trace->path = strdup(path);
    maker.trace->origin_ns = origin;
    return make_end(&maker);
}

/* A kernel of 170 ms, whose file begins 15 ms later: most of that pause. */
static struct nvt_trace *working(const char *gpu, int64_t origin)
{
    struct maker maker = make_begin();
    const struct nvt_device device = {
        .process = maker.process, .gpu = gpu ? nvt_strings_add_text(maker.trace->strings, gpu) : 0};
    assert_int_not_equal(nvt_device_add(maker.trace, &device), NVT_NONE);
    make_launch(&maker, "elsewhere", 170000000);
    free(maker.trace->path);
    maker.trace->path = strdup("b.nvt");
    maker.trace->origin_ns = origin ? origin + 15000000 : 0;
    return make_end(&maker);
}

/* What is said of a device that pauses for 180 ms: whether it is idle, and the notes. */
static void expect_beside(const char *gpu, int64_t origin, const char *other_gpu,
                          int64_t other_origin, int is_idle, const char *note)
{
    struct nvt_input_trace traces[] = {{.trace = paused("a.nvt", gpu, 180000000, origin)},
                                       {.trace = working(other_gpu, other_origin)}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_findings findings = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer text = {0};
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, &err), 0);
    assert_int_equal(findings.count, 0);
    assert_int_equal(nvt_diagnose_idle(&input, &findings, &text, &err), 0);
    assert_int_equal(text.size > 0, is_idle);
    assert_int_equal(nvt_diagnose_shared(&input, &findings, 1, &err), 0);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    assert_string_equal((const char *)input.notes.data, note);
    free(findings.items);
    nvt_buffer_free(&text);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

static void work_of_another_file_is_no_gap(void **state)
{
    (void)state;
    expect_beside("GPU-5f", SECOND, "GPU-5f", SECOND, 0,
                  "note: a.nvt and b.nvt have work on the same device: it is idle only when "
                  "neither of them has\n");
    expect_beside("GPU-5f", SECOND, "GPU-60", SECOND, 1, "");
    expect_beside("GPU-5f", SECOND, "GPU-5f", 2 * SECOND, 1, ""); /* later */
    expect_beside("GPU-5f", 0, "GPU-5f", SECOND, 1,
                  "note: a.nvt and b.nvt have work on the same device: when it is idle in one, it "
                  "may have work from the other\n");
    /* The place on a bus, which a device of another machine may have, too. */
    expect_beside("0000:01:00.0", SECOND, "0000:01:00.0", SECOND, 1,
                  "note: a.nvt and b.nvt have work on the same device: when it is idle in one, it "
                  "may have work from the other\n");
    expect_beside(NULL, SECOND, NULL, SECOND, 1,
                  "note: a.nvt and b.nvt have work on devices with the same number, which may be "
                  "the same device: when it is idle in one, it may have work from the other\n");
    expect_beside(NULL, 0, NULL, 0, 1, "");
}

static void keep_gap(void *context, const struct nvt_gap *gap)
{
    *(struct nvt_gap *)context = *gap;
}

/* What is behind the other file's work is left of a gap. */
static void a_gap_begins_behind_the_work_of_another_file(void **state)
{
    (void)state;
    struct nvt_input_trace traces[] = {{.trace = paused("a.nvt", "GPU-5f", 180000000, SECOND)},
                                       {.trace = working("GPU-5f", SECOND)}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_gap alone = {0}, gap = {0};
    assert_int_equal(nvt_gaps(traces[0].trace, NULL, keep_gap, &alone, NULL, &err), 0);
    assert_int_equal(nvt_gaps(traces[0].trace, &input, keep_gap, &gap, NULL, &err), 0);
    assert_int_equal(gap.start, traces[1].trace->ops.end[0] + 15000000);
    assert_int_equal(gap.end, alone.end);
    assert_int_equal(gap.cause, NVT_GAP_HOST);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

/* A loop whose host works between its launches, beside a file in which the device never rests. */
static void findings_know_of_other_files(void **state)
{
    (void)state;
    const struct program program = {.host_ns = 5000000, .kernels = 4, .kernel_ns = 100000};
    for (int is_same = 0; is_same < 2; is_same++) {
        struct maker maker = make_begin();
        struct nvt_trace *loop = make_program(&program);
        const struct nvt_device device = {.gpu = nvt_strings_add_text(loop->strings, "GPU-5f")};
        const struct nvt_device other = {
            .gpu = nvt_strings_add_text(maker.trace->strings, is_same ? "GPU-5f" : "GPU-60")};
        assert_int_not_equal(nvt_device_add(loop, &device), NVT_NONE);
        assert_int_not_equal(nvt_device_add(maker.trace, &other), NVT_NONE);
        make_launch(&maker, "elsewhere", 100 * SECOND);
        struct nvt_input_trace traces[] = {{.trace = loop}, {.trace = make_end(&maker)}};
        struct nvt_input input = {.traces = traces, .trace_count = 2};
        struct nvt_findings findings = {0};
        struct nvt_error err = NVT_ERROR_INIT;
        traces[0].trace->origin_ns = traces[1].trace->origin_ns = SECOND;
        assert_int_equal(nvt_diagnose(&input, NULL, &findings, &err), 0);
        size_t idle = 0;
        for (size_t i = 0; i < findings.count; i++)
            idle += !strcmp(findings.items[i].cause, "GPU idle");
        assert_int_equal(idle, !is_same);
        assert_int_equal(nvt_diagnose_shared(&input, &findings, 0, &err), 0);
        assert_int_equal(input.notes.size, 0);
        free(findings.items);
        nvt_trace_free(traces[0].trace);
        nvt_trace_free(traces[1].trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_long_gap_is_told),
        cmocka_unit_test(findings_that_explain_it_hide_it),
        cmocka_unit_test(idle_time_of_the_first_iterations_is_told_apart),
        cmocka_unit_test(the_host_is_told),
        cmocka_unit_test(a_device_that_works_is_not),
        cmocka_unit_test(nothing_on_a_device_is_not),
        cmocka_unit_test(work_of_another_file_is_no_gap),
        cmocka_unit_test(a_gap_begins_behind_the_work_of_another_file),
        cmocka_unit_test(findings_know_of_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
