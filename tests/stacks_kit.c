#include "stacks_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/device/project.h"
#include "cli.h"

uint32_t stacks_add_range(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                          int64_t end)
{
    const struct nvt_range range = {.start = start,
                                    .end = end,
                                    .thread = thread,
                                    .end_thread = thread,
                                    .name = nvt_strings_add_text(trace->strings, name)};
    uint32_t row = nvt_range_add(trace, &range);
    assert_true(row != NVT_NONE);
    return row;
}

void stacks_add_function(struct nvt_trace *trace, uint32_t thread, uint32_t domain,
                         const char *name, int64_t start, int64_t end)
{
    uint32_t row = stacks_add_range(trace, thread, name, start, end);
    trace->ranges.domain[row] = domain;
}

struct nvt_trace *stacks_finished(struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

void stacks_expect_written(const struct nvt_trace *trace, const struct nvt_exporter *exporter,
                           const char *expected)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(exporter->write(trace, stream, &err), 0);
    fclose(stream);
    assert_string_equal(out, expected);
    free(out);
}

char *stacks_drawn(struct nvt_trace *trace, const struct nvt_chart *chart, const char *name)
{
    char *directory = cli_tempdir(), *paths = NULL;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    size_t size;
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    if (nvt_chart_pictures(chart, &request, &err))
        fail_msg("%s", err.message);
    fclose(out);
    char *data = cli_read_file(cli_in(directory, name), NULL);
    free(paths);
    nvt_trace_free(trace);
    cli_tempdir_remove(directory);
    return data;
}
