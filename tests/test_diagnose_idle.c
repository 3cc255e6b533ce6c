/*
 * A device that hardly works in a trace in which nothing is found: one line says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnose.h"
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
    struct nvt_report_input input = {.traces = traces, .trace_count = 1};
    struct nvt_findings findings = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, &err), 0);
    assert_int_equal(findings.count, 0);
    assert_int_equal(nvt_diagnose_idle(&input, text, &err), 0);
    assert_int_equal(nvt_buffer_append(text, "", 1), 0);
    free(findings.items);
    nvt_trace_free(traces[0].trace);
}

static void one_long_gap_is_told(void **state)
{
    (void)state;
    struct nvt_buffer text = {0};
    told_of(180000000, &text);
    static const char *const parts[] = {
        "has nothing to do for 90 % of 200 ms, for 180 ms at a time", "behind before",
        "nvtally stats -r gpu_idle)\n"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
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
    struct nvt_report_input input = {.traces = traces, .trace_count = 1};
    struct nvt_buffer text = {0};
    assert_int_equal(nvt_diagnose_idle(&input, &text, NULL), 0);
    assert_int_equal(text.size, 0);
    nvt_trace_free(traces[0].trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_long_gap_is_told),
        cmocka_unit_test(a_device_that_works_is_not),
        cmocka_unit_test(nothing_on_a_device_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
