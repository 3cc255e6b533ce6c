/*
 * libnvtally-trace: traces, and what is made of them, for programs.
 */
#include "../include/nvtally-trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/arrow/arrow_tables.h"
#include "../analyze/exports/export.h"
#include "../analyze/input/rows.h"
#include "../analyze/reports/report.h"
#include "../analyze/sql/sql.h"
#include "../lib/render.h"
#include "../lib/version.h"

/* Held by the caller and by what was made of it. */
struct nvtally_trace {
    struct nvt_arrow_owner owner;
    struct nvt_input input;
    struct nvt_model model;
    struct nvt_arrow_model arrow;
    struct nvt_sql *sql; /* NULL: not asked for yet */
};

/* It lives until the last stream that borrows its tables is released, too. */
struct nvtally_result {
    struct nvt_arrow_owner owner;
    nvtally_trace *trace;
    struct nvt_tables tables;
};

static _Thread_local char error_text[1200];

static int end(int status, const struct nvt_error *err)
{
    error_text[0] = 0;
    if (status)
        (void)nvt_error_text(err, error_text, sizeof(error_text));
    return status ? -1 : 0;
}

static int refuse(const char *why)
{
    struct nvt_error err = NVT_ERROR_INIT;
    return end(nvt_fail(&err, "%s", why), &err);
}

int nvtally_trace_abi(void)
{
    return NVTALLY_TRACE_ABI;
}

const char *nvtally_trace_version(void)
{
    return NVT_VERSION;
}

const char *nvtally_trace_error(void)
{
    return error_text;
}

/* --- traces --- */

static void end_trace(struct nvt_arrow_owner *owner)
{
    nvtally_trace *trace = (nvtally_trace *)owner;
    nvt_sql_free(trace->sql);
    nvt_arrow_model_free(&trace->arrow);
    nvt_model_free(&trace->model);
    nvt_input_free(&trace->input);
    free(trace);
}

static int read_all(nvtally_trace *trace, const char *const *paths, size_t count,
                    struct nvt_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!paths[i])
            return nvt_fail(err, "path %zu is NULL", i);
        else if (nvt_input_add(&trace->input, paths[i], err))
            return -1;
    if (nvt_input_rows(&trace->input, err) || nvt_input_traces(&trace->input, err))
        return -1;
    return nvt_model_make(&trace->model, &trace->input, err);
}

int nvtally_trace_open(const char *const *paths, size_t count, unsigned flags,
                       nvtally_trace **trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (!trace)
        return refuse("no place for the trace was given");
    *trace = NULL;
    if (!paths || !count)
        return refuse("no trace or directory was given");
    nvtally_trace *fresh = calloc(1, sizeof(*fresh));
    if (!fresh)
        return refuse("out of memory");
    fresh->owner = (struct nvt_arrow_owner){1, end_trace};
    fresh->input.plain_names = (flags & NVTALLY_TRACE_PLAIN_NAMES) != 0;
    fresh->arrow = (struct nvt_arrow_model){.owner = &fresh->owner, .model = &fresh->model};
    if (read_all(fresh, paths, count, &err)) {
        nvt_arrow_drop(&fresh->owner);
        return end(-1, &err);
    }
    *trace = fresh;
    return end(0, &err);
}

void nvtally_trace_close(nvtally_trace *trace)
{
    if (trace)
        nvt_arrow_drop(&trace->owner);
}

const char *nvtally_trace_notes(nvtally_trace *trace)
{
    struct nvt_buffer *notes = &trace->input.notes;
    if (nvt_buffer_reserve(notes, 1))
        return "";
    notes->data[notes->size] = 0;
    return (const char *)notes->data;
}

size_t nvtally_trace_tables(void)
{
    return NVT_TABLE_COUNT;
}

const char *nvtally_trace_table(size_t table)
{
    return table < NVT_TABLE_COUNT ? nvt_shown_tables()[table].name : NULL;
}

const char *nvtally_trace_table_about(size_t table)
{
    return table < NVT_TABLE_COUNT ? nvt_shown_tables()[table].about : NULL;
}

int64_t nvtally_trace_rows(const nvtally_trace *trace, size_t table)
{
    return table < NVT_TABLE_COUNT ? nvt_model_rows(&trace->model, &nvt_shown_tables()[table]) : 0;
}

int nvtally_trace_stream(nvtally_trace *trace, const char *table, struct ArrowArrayStream *stream)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_shown_table *shown = table ? nvt_shown_table(table) : NULL;
    if (!shown)
        return end(nvt_fail(&err, "no table '%s' in the trace model", table ? table : ""), &err);
    return end(nvt_arrow_of_model(&trace->arrow, shown, stream, &err), &err);
}

int nvtally_trace_timeline(const nvtally_trace *trace, size_t which, char **svg)
{
    struct nvt_error err = NVT_ERROR_INIT;
    size_t size;
    *svg = NULL;
    if (which >= trace->input.trace_count)
        return end(0, &err);
    FILE *out = open_memstream(svg, &size);
    if (!out)
        return refuse("out of memory");
    int status = nvt_exporter_svg.write(trace->input.traces[which].trace, out, &err);
    if (fclose(out) && status >= 0)
        status = nvt_fail(&err, "out of memory");
    if (status) {
        free(*svg);
        *svg = NULL;
    }
    return end(status < 0 ? -1 : 0, &err);
}

/* --- results --- */

static void end_result(struct nvt_arrow_owner *owner)
{
    nvtally_result *result = (nvtally_result *)owner;
    nvt_tables_free(&result->tables);
    nvtally_trace_close(result->trace);
    free(result);
}

/* An empty result, or NULL with err. */
static nvtally_result *new_result(nvtally_trace *trace, struct nvt_error *err)
{
    nvtally_result *result = calloc(1, sizeof(*result));
    if (!result) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    result->owner = (struct nvt_arrow_owner){1, end_result};
    result->trace = trace;
    nvt_arrow_hold(&trace->owner);
    return result;
}

void nvtally_result_free(nvtally_result *result)
{
    if (result)
        nvt_arrow_drop(&result->owner);
}

/* Hand it over, or drop it where that failed. */
static int give(nvtally_result *result, int status, const struct nvt_error *err,
                nvtally_result **out)
{
    *out = status ? NULL : result;
    if (status)
        nvtally_result_free(result);
    return end(status, err);
}

static int make_report(nvtally_trace *trace, const char *name, struct nvt_tables *tables,
                       struct nvt_error *err)
{
    unsigned naming;
    const struct nvt_report *report = nvt_report_named(name, &naming, err);
    if (!report)
        return -1;
    return nvt_report_make_named(report, naming, &trace->input, tables, err);
}

int nvtally_trace_report(nvtally_trace *trace, const char *report, nvtally_result **result)
{
    struct nvt_error err = NVT_ERROR_INIT;
    nvtally_result *fresh = new_result(trace, &err);
    return give(fresh, fresh ? make_report(trace, report, &fresh->tables, &err) : -1, &err, result);
}

static int answer(nvtally_trace *trace, const char *query, const struct nvt_sql_limits *limits,
                  nvtally_result **result)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (!trace->sql)
        trace->sql = nvt_sql_open(&trace->input, &err);
    nvtally_result *fresh = trace->sql ? new_result(trace, &err) : NULL;
    return give(fresh, fresh ? nvt_sql_answer(trace->sql, query, limits, &fresh->tables, &err) : -1,
                &err, result);
}

int nvtally_trace_sql(nvtally_trace *trace, const char *query, double seconds, size_t rows,
                      nvtally_result **result)
{
    const struct nvt_sql_limits limits = {
        .seconds = seconds, .rows = rows, .more = "the limit of rows 0 gives all"};
    return answer(trace, query, &limits, result);
}

int nvtally_trace_diagnose(nvtally_trace *trace, nvtally_result **result)
{
    static const struct nvt_sql_limits none;
    return answer(trace, "SELECT * FROM findings", &none, result);
}

static const struct nvt_table *table_of(const nvtally_result *result, size_t table)
{
    return table < result->tables.count ? result->tables.items[table] : NULL;
}

size_t nvtally_result_tables(const nvtally_result *result)
{
    return result->tables.count;
}

const char *nvtally_result_name(const nvtally_result *result, size_t table)
{
    return table_of(result, table) ? nvt_table_name(table_of(result, table)) : NULL;
}

const char *nvtally_result_title(const nvtally_result *result, size_t table)
{
    return table_of(result, table) ? nvt_table_title(table_of(result, table)) : NULL;
}

size_t nvtally_result_rows(const nvtally_result *result, size_t table)
{
    return table_of(result, table) ? nvt_table_rows(table_of(result, table)) : 0;
}

int nvtally_result_stream(nvtally_result *result, size_t table, struct ArrowArrayStream *stream)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (!table_of(result, table))
        return end(nvt_fail(&err, "no table %zu in the result", table), &err);
    return end(nvt_arrow_of_table(table_of(result, table), &result->owner, stream, &err), &err);
}

int nvtally_result_text(const nvtally_result *result, size_t table, const char *format, char **text)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_format *how = nvt_format_find(format);
    size_t size;
    *text = NULL;
    if (!how)
        return end(nvt_fail(&err, "no format '%s'", format), &err);
    if (!table_of(result, table))
        return end(nvt_fail(&err, "no table %zu in the result", table), &err);
    const struct nvt_tables one = {.items = &result->tables.items[table], .count = 1};
    FILE *out = open_memstream(text, &size);
    int failed = !out || how->render(&one, out);
    if (out)
        failed |= fclose(out) != 0;
    if (failed) {
        free(*text);
        *text = NULL;
        nvt_fail(&err, "out of memory");
    }
    return end(failed ? -1 : 0, &err);
}

void nvtally_trace_free_text(char *text)
{
    free(text);
}
