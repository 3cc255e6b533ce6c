#include "small_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

uint32_t small_thread(struct nvt_trace *trace, int64_t pid, int64_t tid)
{
    return nvt_trace_thread(trace, nvt_trace_process(trace, pid), tid);
}

void small_range(struct nvt_trace *trace, uint32_t thread, const char *domain, const char *name,
                 int64_t start, int64_t end, uint8_t style)
{
    const struct nvt_range range = {
        .start = start,
        .end = end,
        .thread = thread,
        .end_thread = thread,
        .domain = nvt_trace_domain(trace, trace->threads.process[thread], domain),
        .name = nvt_strings_add_text(trace->strings, name),
        .style = style};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
}

void small_call(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start,
                int64_t end)
{
    const struct nvt_api api = {
        .start = start, .end = end, .thread = thread, .correlation = correlation};
    assert_int_not_equal(nvt_api_add(trace, &api), NVT_NONE);
}

void small_op(struct nvt_trace *trace, uint32_t process, uint64_t correlation, int64_t start,
              int64_t end, uint32_t thread, int64_t launch)
{
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .process = process,
                              .device = (uint32_t)start & 1,
                              .stream = (uint32_t)start & 3,
                              .name = nvt_strings_add_text(trace->strings, start % 5 ? "k" : "l"),
                              .correlation = correlation,
                              .thread = thread,
                              .launch = launch,
                              .detail = NVT_NONE,
                              .kind = start % 7 ? NVT_OP_KERNEL : NVT_OP_MEMSET};
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
}

void small_launch(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start,
                  int64_t end, int64_t from, int64_t to)
{
    small_call(trace, thread, correlation, start, end);
    small_op(trace, trace->threads.process[thread], correlation, from, to, NVT_NONE, INT64_MIN);
}

struct nvt_trace *small_trace(void)
{
    struct nvt_trace *trace = nvt_trace_new("test", "test");
    assert_non_null(trace);
    return trace;
}

void small_trace_finish(struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
}
