#include "sql_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../analyze/sql/model.h"
#include "../lib/render.h"
#include "made_trace.h"

#ifdef HAVE_SQLITE
struct nvt_error sql_err = NVT_ERROR_INIT;

struct nvt_input_trace sql_given[3];

struct nvt_input sql_input;

struct nvt_sql *sql_here;

/* A training loop with a bit of everything that the model has of it. */
static struct nvt_trace *loop(int rank, unsigned seed)
{
    const struct program program = {.iterations = 12,
                                    .kernels = 40,
                                    .kernel_ns = 9000,
                                    .copies = 2,
                                    .copy_ns = 3000,
                                    .copy_bytes = 4096,
                                    .host_ns = 2000000,
                                    .os_call = "read",
                                    .os_ns = 20000,
                                    .blocks = 40,
                                    .backward = 9,
                                    .leak_bytes = 1000,
                                    .wait_every = 10,
                                    .mpi_ns = 5000,
                                    .jitter = seed,
                                    .rank = rank};
    return make_program(&program);
}

void sql_open_over(size_t count)
{
    nvt_sql_free(sql_here);
    sql_input = (struct nvt_input){.traces = sql_given, .trace_count = count};
    sql_here = nvt_sql_open(&sql_input, &sql_err);
    if (!sql_here)
        fail_msg("%s", sql_err.message);
}

int sql_set_up(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        sql_given[i] = (struct nvt_input_trace){.trace = loop(i + 1, (unsigned)i + 1)};
    return 0;
}

int sql_tear_down(void **state)
{
    (void)state;
    nvt_sql_free(sql_here);
    for (int i = 0; i < 3; i++)
        nvt_trace_free(sql_given[i].trace);
    nvt_buffer_free(&sql_input.notes);
    return 0;
}

const struct nvt_sql_limits sql_no_limits;

int64_t sql_number_of(const char *format, ...)
{
    char text[2000];
    struct nvt_tables tables = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (nvt_sql_answer(sql_here, text, &sql_no_limits, &tables, &sql_err))
        fail_msg("%s: %s", text, sql_err.message);
    assert_int_equal(tables.count, 1);
    assert_int_equal(nvt_table_rows(tables.items[0]), 1);
    assert_false(nvt_table_is_null(tables.items[0], 0, 0));
    int64_t number = nvt_table_int(tables.items[0], 0, 0);
    nvt_tables_free(&tables);
    return number;
}

/* Results as text, owned. */
static char *rendered(const struct nvt_tables *tables)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(nvt_render_csv(tables, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

char *sql_text_of(const char *statement)
{
    struct nvt_tables tables = {0};
    if (nvt_sql_answer(sql_here, statement, &sql_no_limits, &tables, &sql_err))
        fail_msg("%s: %s", statement, sql_err.message);
    char *text = rendered(&tables);
    nvt_tables_free(&tables);
    return text;
}
#endif
