#include "path_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small_trace.h"

uint32_t path_thread_of(struct nvt_trace *trace, int64_t tid)
{
    return small_thread(trace, 10, tid);
}

void path_call(struct nvt_trace *trace, int64_t tid, const char *name, uint64_t correlation,
               int64_t start, int64_t end)
{
    const struct nvt_api api = {.start = start,
                                .end = end,
                                .thread = path_thread_of(trace, tid),
                                .correlation = correlation,
                                .name = nvt_strings_add_text(trace->strings, name)};
    assert_int_not_equal(nvt_api_add(trace, &api), NVT_NONE);
}

void path_os_call(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                  int64_t end)
{
    const struct nvt_os_call row = {.start = start,
                                    .end = end,
                                    .thread = thread,
                                    .name = nvt_strings_add_text(trace->strings, name)};
    assert_true(nvt_os_call_add(trace, &row) != NVT_NONE);
}

void path_op(struct nvt_trace *trace, const char *name, uint32_t stream, uint64_t correlation,
             int64_t start, int64_t end)
{
    const struct nvt_op row = {.start = start,
                               .end = end,
                               .process = nvt_trace_process(trace, 10),
                               .stream = stream,
                               .correlation = correlation,
                               .name = nvt_strings_add_text(trace->strings, name),
                               .short_name = nvt_strings_add_text(trace->strings, name),
                               .thread = NVT_NONE,
                               .launch = INT64_MIN,
                               .detail = NVT_NONE,
                               .kind = *name == '[' ? NVT_OP_MEMCPY : NVT_OP_KERNEL};
    assert_int_not_equal(nvt_op_add(trace, &row), NVT_NONE);
}
