#include "reports_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/studies/phases.h"
#include "../lib/render.h"

struct nvt_error reports_err = NVT_ERROR_INIT;

struct nvt_trace *reports_new_trace(const char *path)
{
    struct nvt_trace *trace = nvt_trace_new(path, "test");
    assert_non_null(trace);
    uint32_t process = nvt_trace_process(trace, 53);
    assert_int_equal(nvt_trace_thread(trace, process, 53), 0);
    assert_int_equal(nvt_trace_thread(trace, process, 54), 1);
    return trace;
}

struct nvt_range reports_range(struct nvt_trace *trace, const char *name, int64_t start,
                               int64_t end)
{
    return (struct nvt_range){.start = start,
                              .end = end,
                              .name = nvt_strings_add_text(trace->strings, name),
                              .style = NVT_PUSH_POP};
}

void reports_add(struct nvt_trace *trace, struct nvt_range row)
{
    row.end_thread = row.thread;
    assert_true(nvt_range_add(trace, &row) != NVT_NONE);
}

void reports_push(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    reports_add(trace, reports_range(trace, name, start, end));
}

void reports_push_in(struct nvt_trace *trace, const char *domain, const char *name, int64_t start,
                     int64_t end)
{
    struct nvt_range row = reports_range(trace, name, start, end);
    row.domain = nvt_trace_domain(trace, 0, domain);
    reports_add(trace, row);
}

/* A table is called as its report is, or as one of its further ones: stats tells by these which report has it. */
static void expect_names(const struct nvt_report *report, const struct nvt_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        const char *name = nvt_table_name(tables->items[i]);
        const char *const *further = report->further;
        while (further && *further && strcmp(*further, name) != 0)
            further++;
        const struct nvt_table_kind *more = report->more;
        while (more && more->title && (!more->name || strcmp(more->name, name) != 0))
            more++;
        if (strcmp(name, report->name) != 0 && (!further || !*further) && (!more || !more->title))
            fail_msg("report %s has a table %s", report->name, name);
    }
}

struct nvt_tables reports_make_tables(const char *report, struct nvt_input *input)
{
    struct nvt_tables tables = {0};
    for (size_t i = 0; i < input->trace_count; i++)
        assert_int_equal(nvt_trace_finish(input->traces[i].trace, &reports_err), 0);
    assert_non_null(nvt_report_find(report));
    assert_int_equal(nvt_report_make(nvt_report_find(report), input, &tables, &reports_err), 0);
    expect_names(nvt_report_find(report), &tables);
    return tables;
}

struct nvt_input reports_input_of(struct nvt_trace *first, struct nvt_trace *second)
{
    struct nvt_input input = {.trace_count = second ? 2 : 1};
    input.traces = calloc(2, sizeof(*input.traces));
    input.traces[0].trace = first;
    input.traces[1].trace = second;
    return input;
}

static char *csv(const struct nvt_tables *tables)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    nvt_render_csv(tables, out);
    fclose(out);
    return text;
}

void reports_expect_csv(struct nvt_trace *first, struct nvt_trace *second, const char *report,
                        const char *expected, const char *notes)
{
    struct nvt_input input = reports_input_of(first, second);
    struct nvt_tables tables = reports_make_tables(report, &input);
    char *text = csv(&tables);
    assert_string_equal(text, expected);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    assert_string_equal((const char *)input.notes.data, notes);
    free(text);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}
