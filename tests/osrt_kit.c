#include "osrt_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct cli_result osrt_run(const char *what, const char *levels, const char *option,
                           const char *value)
{
    const char *argv[16] = {"nvtally", "record", "--trace", levels, "-o", recorded_path()};
    size_t count = 6;
    if (option)
        argv[count++] = option;
    if (value)
        argv[count++] = value;
    argv[count++] = "--";
    argv[count++] = cli_client("os_calls");
    argv[count++] = what;
    argv[count++] = cli_folder;
    return cli_run(argv);
}

uint32_t osrt_call(const struct nvt_trace *trace, const char *name, unsigned n)
{
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        if (!strcmp(nvt_name(trace, trace->os_calls.name[i]), name) && !n--)
            return i;
    return NVT_NONE;
}

uint32_t osrt_count(const struct nvt_trace *trace, const char *name)
{
    uint32_t n = 0;
    while (osrt_call(trace, name, n) != NVT_NONE)
        n++;
    return n;
}

int64_t osrt_length(const struct nvt_trace *trace, uint32_t row)
{
    return trace->os_calls.end[row] - trace->os_calls.start[row];
}

int osrt_set_up(void **state)
{
    return cli_folder_set_up(state) || recorded_set_up(state);
}

int osrt_tear_down(void **state)
{
    return recorded_tear_down(state) || cli_folder_tear_down(state);
}
