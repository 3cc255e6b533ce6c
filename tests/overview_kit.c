#include "overview_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "made_trace.h"

struct nvt_overview overview_with(struct nvt_trace *const *traces, size_t count, int every_name)
{
    struct nvt_input_trace from[8] = {{0}};
    struct nvt_input input = {.traces = from, .trace_count = count, .every_name = every_name};
    struct nvt_overview overview = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    for (size_t i = 0; i < count; i++)
        from[i].trace = traces[i];
    assert_true(nvt_overview_fits(&input));
    if (nvt_overview_make(&overview, &input, &err))
        fail_msg("%s", err.message);
    return overview;
}

struct nvt_overview overview_of(struct nvt_trace *const *traces, size_t count)
{
    return overview_with(traces, count, 0);
}

char *overview_print(const struct nvt_overview *overview, size_t width, size_t height, size_t taken)
{
    struct nvt_overview_view view = {.screen = {.width = width, .height = height},
                                     .input = "a/trace/of/mine.nvt"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    view.lines = nvt_overview_lines(&view.screen, taken);
    nvt_overview_print(overview, &view, out);
    fclose(out);
    return text;
}

void overview_expect_line(const char *text, const char *start, const char *const parts[])
{
    const char *at = strstr(text, start);
    char line[512];
    if (!at)
        fail_msg("no '%s' in\n%s", start, text);
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 1, "\n") + 1, at);
    for (; *parts; parts++)
        if (!strstr(line, *parts))
            fail_msg("no '%s' in '%s'", *parts, line);
}
