/*
 * Calls in pools of Python's threads and processes are ranges by the name of their function (record --pytorch), in each Python that is
 * here. The program is tests/clients/executors.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pythons.h"
#include "record_kit.h"

/* What is within which call, and how many times. */
static const struct {
    const char *inner, *outer;
    uint32_t count;
} calls[] = {
    {"to_thread-0", "threaded", 1},
    {"to_thread-3", "threaded", 1},
    {"run_in_executor", "Model.predict", 1},
    {"ThreadPoolExecutor-submit", "submitted", 1},
    {"ThreadPoolExecutor-partial", "submitted", 1},
    {"ThreadPoolExecutor-map", "mapped", 3},
    {"ThreadPoolExecutor-fails", "fails", 1},
    {"callable", "Callable", 1},
    {"lambda", "<lambda>", 1},
    {"ProcessPoolExecutor-submit", "submitted", 1},
    {"ProcessPoolExecutor-partial", "submitted", 1},
    {"ProcessPoolExecutor-map", "mapped", 3},
    {"ProcessPoolExecutor-fails", "fails", 1},
    {"ThreadPool-map", "pooled", 4},
    {"ThreadPool-apply", "applied", 1},
    {"ThreadPool-fails", "fails", 1},
    {"Pool-map", "pooled", 4},
    {"Pool-apply", "applied", 1},
    {"Pool-fails", "fails", 1},
};

/* The range of the domain "Python" that another one lies in, by its name. */
static const char *outer_of(const struct nvt_trace *trace, uint32_t inner)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < inner; i++)
        if (ranges->thread[i] == ranges->thread[inner] && ranges->end[i] >= ranges->end[inner] &&
            !strcmp(nvt_name(trace, trace->domains.name[ranges->domain[i]]), "Python"))
            return nvt_name(trace, ranges->name[i]);
    return "nothing";
}

static void expect_calls(const struct nvt_trace *trace, const char *python)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        uint32_t count = 0;
        for (uint32_t row = 0; row < ranges->count; row++) {
            if (strcmp(nvt_name(trace, ranges->name[row]), calls[i].inner) != 0)
                continue;
            if (strcmp(outer_of(trace, row), calls[i].outer) != 0)
                fail_msg("%s: %s is within %s, not %s", python, calls[i].inner,
                         outer_of(trace, row), calls[i].outer);
            count++;
        }
        if (count != calls[i].count)
            fail_msg("%s: %u of %s, not %u", python, count, calls[i].inner, calls[i].count);
    }
    for (uint32_t row = 0; row < ranges->count; row++)
        assert_false(ranges->flags[row] & NVT_RANGE_UNCLOSED);
}

static void check_pools(const char *python)
{
    static const char *const starts[] = {"fork", "spawn"};
    char library[4096];
    snprintf(library, sizeof(library), "NVTALLY_PYTORCH_LIBRARY=%s",
             cli_built("libnvtally-pytorch.so"));
    const char *environment[] = {library, "PYTHONWARNINGS=ignore", NULL};
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++) {
        struct cli_result result = cli_run_with(
            &(struct cli_options){.timeout_s = 120, .environment = environment},
            (const char *const[]){"nvtally", "record", "-f", "--pytorch", "-o", recorded_path(),
                                  "--", python, "tests/clients/executors.py", starts[i], NULL});
        if (result.status)
            fail_msg("%s, %s: %s", python, starts[i], result.err);
        assert_null(strstr(result.err, "lost"));
        assert_null(strstr(result.err, "no ranges of"));
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        expect_calls(trace, python);
        nvt_trace_free(trace);
    }
}

static void calls_in_pools_are_ranges_of_their_functions(void **state)
{
    (void)state;
    with_every_python(check_pools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_pools_are_ranges_of_their_functions),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
