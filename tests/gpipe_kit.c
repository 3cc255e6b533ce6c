#include "gpipe_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/studies/pipeline.h"
#include "cli.h"

struct nvt_runs *gpipe_read_runs(void)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_runs *runs = nvt_runs_read(cli_folder, &err);
    if (!runs)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return runs;
}

double gpipe_number(const struct nvt_runs *runs, size_t row, const char *key)
{
    return nvt_record_number(&runs->records[row], key);
}

uint32_t gpipe_count_ranges(const char *path, const char *name)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    uint32_t count = 0;
    if (!trace) {
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
        return 0;
    }
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    nvt_trace_free(trace);
    return count;
}
