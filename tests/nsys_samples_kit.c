#include "nsys_samples_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/window.h"

#ifdef HAVE_SQLITE
const char *nsys_stack_of(const struct nvt_trace *trace, uint32_t sample)
{
    static char text[4096];
    uint32_t path[64], count = 0;
    size_t length = 0;
    for (uint32_t at = trace->cpu_samples.frame[sample]; at && count < 64;
         at = trace->call_frames.parent[at - 1])
        path[count++] = at - 1;
    *text = 0;
    while (count-- > 0) {
        const char *module = nvt_name(trace, trace->call_frames.module[path[count]]);
        int is_other = *module && strcmp(module, "/bin/prog") != 0;
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s%s%s%s", length ? " " : "",
                             nvt_name(trace, trace->call_frames.name[path[count]]),
                             is_other ? "(" : "", is_other ? module : "", is_other ? ")" : "");
    }
    return text;
}

void nsys_expect_sample(const struct nvt_trace *trace, uint32_t sample, const char *stack,
                        int flags)
{
    assert_true(sample < trace->cpu_samples.count);
    assert_string_equal(nsys_stack_of(trace, sample), stack);
    assert_int_equal(trace->cpu_samples.flags[sample], flags);
}

void nsys_expect_2023(const struct nvt_trace *trace)
{
    assert_int_equal(trace->cpu_samples.count, 5);
    nsys_expect_sample(trace, 0, "sin(libm.so)", NVT_CPU_SAMPLE_NO_CALLERS);
    nsys_expect_sample(trace, 1, "main hot sin(libm.so)", 0);
    nsys_expect_sample(trace, 2, "cold", NVT_CPU_SAMPLE_NO_CALLERS);
    nsys_expect_sample(trace, 3, "main 0x55bcadd541a4", 0);
    nsys_expect_sample(trace, 4, "cold", 0); /* callers were looked for, and not found */
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(trace->cpu_samples.time[i], (i + 1) * 10);
        assert_int_equal(trace->cpu_samples.cpu_ns[i], 2000000);
        assert_int_equal(trace->threads.tid[trace->cpu_samples.thread[i]], i == 2 ? 8 : 7);
    }
    /* sin, main, hot, sin, cold, 0x…: each once below each that called it. */
    assert_int_equal(trace->call_frames.count, 6);
    assert_int_equal(trace->first_ns, 10);
    assert_int_equal(trace->last_ns, 50);
    assert_null(trace->warning);
    assert_null(trace->notes);
}
#endif
