/* libnvtally-trace as others use it: by its header, and from Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/arrow/arrow.h"
#include "../include/nvtally-trace.h"
#include "cli.h"

#define TRACE "docs/results/h100/traces/train.nvt"

static nvtally_trace *opened(void)
{
    const char *const paths[] = {TRACE};
    nvtally_trace *trace;
    if (nvtally_trace_open(paths, 1, 0, &trace))
        fail_msg("%s", nvtally_trace_error());
    assert_string_equal(nvtally_trace_error(), "");
    return trace;
}

static int64_t column_of(struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!strcmp(schema->children[i]->name, name))
            return i;
    fail_msg("there is no column %s", name);
    return -1;
}

/* Arrays last longer than the stream, and than the trace. */
static void tables_are_streams(void **state)
{
    (void)state;
    nvtally_trace *trace = opened();
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch, end;
    assert_int_equal(nvtally_trace_stream(trace, "ops", &stream), 0);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(stream.get_next(&stream, &end), 0);
    assert_null(end.release);
    stream.release(&stream);
    assert_null(stream.release);
    nvtally_trace_close(trace);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(batch.length, 3243);
    assert_int_equal(batch.n_children, schema.n_children);
    const int64_t start = column_of(&schema, "start"), name = column_of(&schema, "name"),
                  range = column_of(&schema, "range");
    assert_string_equal(schema.children[start]->format, "l");
    assert_string_equal(schema.children[name]->format, "i");
    assert_string_equal(schema.children[name]->dictionary->format, "U");
    const int64_t *starts = batch.children[start]->buffers[1];
    for (int64_t i = 1; i < batch.length; i++)
        assert_true(starts[i - 1] <= starts[i]);
    assert_true(batch.children[range]->null_count > 0);
    /* A child that was taken out of the batch lives on by itself. */
    struct ArrowArray taken = *batch.children[name];
    batch.children[name]->release = NULL;
    batch.release(&batch);
    const int64_t *offsets = taken.dictionary->buffers[1];
    const char *bytes = taken.dictionary->buffers[2];
    const int32_t first = ((const int32_t *)taken.buffers[1])[0];
    assert_in_range(first, 1, taken.dictionary->length - 1);
    assert_memory_equal(bytes + offsets[first], "[CUDA memcpy", 12);
    taken.release(&taken);
    schema.release(&schema);
}

static void results_keep_their_trace(void **state)
{
    (void)state;
    nvtally_trace *trace = opened();
    nvtally_result *result, *report;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    char *text;
    assert_int_equal(
        nvtally_trace_sql(trace,
                          "SELECT 1 AS a, 'x' AS b, NULL AS c UNION ALL SELECT 2, NULL, "
                          "2.5; SELECT 3 AS n",
                          1, 0, &result),
        0);
    assert_int_equal(nvtally_trace_report(trace, "nvtx_sum", &report), 0);
    nvtally_trace_close(trace);
    assert_int_equal(nvtally_result_tables(result), 2);
    assert_int_equal(nvtally_result_rows(result, 0), 2);
    assert_null(nvtally_result_name(result, 2));
    assert_int_equal(nvtally_result_text(result, 1, "csv", &text), 0);
    assert_string_equal(text, "n\n3\n");
    nvtally_trace_free_text(text);
    assert_int_equal(nvtally_result_stream(result, 0, &stream), 0);
    nvtally_result_free(result);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    stream.release(&stream);
    assert_int_equal(((const int64_t *)batch.children[0]->buffers[1])[1], 2);
    assert_int_equal(batch.children[1]->null_count, 1);
    assert_int_equal(((const uint8_t *)batch.children[1]->buffers[0])[0] & 3, 1);
    assert_true(((const double *)batch.children[2]->buffers[1])[1] == 2.5);
    batch.release(&batch);
    assert_string_equal(nvtally_result_name(report, 0), "nvtx_sum");
    assert_int_equal(nvtally_result_rows(report, 0), 4);
    nvtally_result_free(report);
}

static void expect_error(int status, const char *why)
{
    assert_int_equal(status, -1);
    if (!strstr(nvtally_trace_error(), why) || strchr(nvtally_trace_error(), '\n'))
        fail_msg("\"%s\" and not \"%s\"", nvtally_trace_error(), why);
}

static void errors(void **state)
{
    (void)state;
    const char *const missing[] = {"missing.nvt"}, *const none[] = {NULL},
                      *const document[] = {"README.md"};
    nvtally_trace *trace;
    nvtally_result *result;
    struct ArrowArrayStream stream;
    char *text;
    expect_error(nvtally_trace_open(missing, 1, 0, &trace), "missing.nvt: cannot be opened");
    assert_null(trace);
    expect_error(nvtally_trace_open(none, 1, 0, &trace), "path 0 is NULL");
    expect_error(nvtally_trace_open(none, 0, 0, &trace), "no trace or directory was given");
    expect_error(nvtally_trace_open(document, 1, 0, &trace), "is not a trace of a known format");
    trace = opened();
    expect_error(nvtally_trace_stream(trace, "kernels", &stream), "no table 'kernels'");
    expect_error(nvtally_trace_stream(trace, NULL, &stream), "no table ''");
    expect_error(nvtally_trace_report(trace, "nvtx_sums", &result), "nvtx_sum");
    assert_null(result);
    expect_error(nvtally_trace_sql(trace, "DELETE FROM ops", 1, 0, &result), "may not be modified");
    assert_int_equal(nvtally_trace_diagnose(trace, &result), 0);
    assert_int_equal(nvtally_result_rows(result, 0), 2);
    expect_error(nvtally_result_text(result, 0, "xml", &text), "no format 'xml'");
    expect_error(nvtally_result_stream(result, 1, &stream), "no table 1");
    nvtally_result_free(result);
    nvtally_trace_close(trace);
    nvtally_trace_close(NULL);
    assert_int_equal(nvtally_trace_abi(), NVTALLY_TRACE_ABI);
    assert_null(nvtally_trace_table(nvtally_trace_tables()));
}

/* A script of tests/python with BUILD and a folder. */
static void run_script(const char *script)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("not run: Python has no sanitizer's runtime\n");
    skip();
#endif
    const char *const given = getenv("NVTALLY_NOTEBOOK_PYTHON");
    const char *const python = given && strstr(script, "notebook") ? given : "python3";
    char build[4096], path[4200];
    char *folder = cli_tempdir();
    assert_non_null(realpath(cli_built(""), build));
    snprintf(path, sizeof(path), "PYTHONPATH=.deps/frames:.deps/python");
    const char *const argv[] = {python, "-B", script, build, folder, NULL};
    const char *const environment[] = {path, NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, "done\n") && !strstr(result.out, "not run: "))
        fail_msg("%s did not come to its end: %s", script, result.out);
    for (const char *at = result.out; (at = strstr(at, "not run: ")); at++)
        print_message("%.*s\n", (int)strcspn(at, "\n"), at);
    cli_result_free(&result);
    cli_tempdir_remove(folder);
}

/* With pyarrow, pandas, polars and DuckDB as far as they are in .deps/frames (./setup frames), or Python's own. */
static void module_of_python(void **state)
{
    (void)state;
    run_script("tests/python/module.py");
}

static void a_process_records_itself(void **state)
{
    (void)state;
    run_script("tests/python/session.py");
}

/* With the nbconvert, ipykernel and nvtx of NVTALLY_NOTEBOOK_PYTHON, or of python3. */
static void a_notebook(void **state)
{
    (void)state;
    run_script("tests/python/executed_notebook.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_streams),
        cmocka_unit_test(results_keep_their_trace),
        cmocka_unit_test(errors),
        cmocka_unit_test(module_of_python),
        cmocka_unit_test(a_process_records_itself),
        cmocka_unit_test(a_notebook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
