/* Run directories: reading whole, cut and broken ones, and the reports over them. Rows are made up.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"
#include "random_kit.h"

#define ROW(axes, rest)                                                                            \
    "{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 2, " axes ", \"backend\": \"host\", " \
    "\"device\": \"A CPU\", \"iterations\": 10, " rest "}\n"
#define TIMES(forward, backward)                                                                   \
    "\"forward_ns_mean\": " forward ", \"forward_ns_std\": 100, \"forward_ns_min\": 1, "           \
    "\"forward_ns_median\": 2.5, \"backward_ns_mean\": " backward ", \"flops_forward\": 3000, "    \
    "\"peak_allocated_bytes\": 1310720, \"parameters\": 4160"
#define LINEAR "\"mode\": \"linear\", \"fragments\": null, \"variant\": null"
#define TRAIN  "\"mode\": \"train\", \"fragments\": 8, \"variant\": null"
#define LOOPED "\"mode\": \"inference\", \"fragments\": 8, \"variant\": \"looped\""

static const char results[] = ROW(LINEAR, "\"status\": \"ok\", " TIMES("1000000", "2004000"))
    ROW(TRAIN, "\"status\": \"ok\", \"trace\": \"t1.nvt\", " TIMES("1500000", "3e6"))
        ROW(LOOPED, "\"status\": \"oom\"");
static const char env[] =
    "{\"backend\": \"host\", \"device\": \"A CPU\", \"date\": \"2026-11-21\", "
    "\"cpu\": {\"model\": \"M\", \"flags\": [\"a\", {\"b\": 1}]}, \"n\": 2}";

static struct nvt_error err;

static char *new_directory(const char *rows, size_t size)
{
    char *directory = cli_tempdir();
    cli_write_file(cli_in(directory, "results.jsonl"), rows, size);
    cli_write_file(cli_in(directory, "env.json"), env, strlen(env));
    return directory;
}

static void test_whole(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results));
    struct nvt_runs *runs = nvt_runs_read(directory, &err);
    assert_non_null(runs);
    assert_null(runs->warning);
    assert_int_equal(runs->count, 3);
    const struct nvt_record *row = &runs->records[1];
    assert_true(nvt_record_number(row, "backward_ns_mean") == 3e6);
    assert_true(isnan(nvt_record_number(row, "none")));
    assert_true(isnan(nvt_record_number(row, "mode")));
    assert_string_equal(nvt_record_text(row, "size"), "64");
    assert_null(nvt_record_text(row, "variant"));
    assert_int_equal(nvt_record_find(row, "variant")->type, NVT_VALUE_NULL);
    char *configuration = nvt_record_configuration(row);
    assert_string_equal(configuration, "size=64 batch=2 mode=train fragments=8");
    free(configuration);
    assert_string_equal(nvt_record_text(&runs->env, "cpu.model"), "M");
    assert_null(nvt_record_find(&runs->env, "cpu.flags"));
    assert_true(nvt_record_number(&runs->env, "n") == 2);
    struct nvt_provenance from = nvt_runs_provenance(runs);
    assert_string_equal(from.date, "2026-11-21");
    nvt_runs_free(runs);
    cli_tempdir_remove(directory);
}

/* A run that was killed: whatever is left of the last line, the others are read. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    size_t end = strlen(results), last = end - strlen(ROW(LOOPED, "\"status\": \"oom\""));
    char *directory = new_directory(results, end);
    for (size_t size = last; size <= end; size++) {
        cli_write_file(cli_in(directory, "results.jsonl"), results, size);
        struct nvt_runs *runs = nvt_runs_read(directory, &err);
        assert_non_null(runs);
        int whole = size >= end - 1;
        assert_int_equal(runs->count, whole ? 3 : 2);
        assert_true((runs->warning != NULL) == (!whole && size > last));
        if (runs->warning)
            assert_non_null(
                strstr(runs->warning, "results.jsonl: the last line was cut (at line 3)"));
        nvt_runs_free(runs);
    }
    cli_tempdir_remove(directory);
}

static void expect_broken(const char *rows, const char *message, int64_t line)
{
    char *directory = new_directory(rows, strlen(rows));
    assert_null(nvt_runs_read(directory, &err));
    if (!strstr(err.message, message))
        fail_msg("'%s' instead of '%s'", err.message, message);
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.file, "results.jsonl"));
    cli_tempdir_remove(directory);
}

static void test_broken(void **state)
{
    (void)state;
    expect_broken("{\"workload\": 1}\n{\"workload\": \n{\"a\": 1}\n", "not valid JSON", 2);
    expect_broken("[1, 2]\n", "not a JSON object", 1);
    expect_broken("7\n", "not a JSON object", 1);
    expect_broken("\"text\"\n", "not a JSON object", 1);
    expect_broken("{} {}\n", "not valid JSON", 1);
    expect_broken("{\"a\": \"\xFF\"}\n", "not valid JSON", 1);
    char deep[200];
    size_t length = 0;
    for (int i = 0; i < 20; i++)
        length += (size_t)snprintf(deep + length, sizeof(deep) - length, "{\"a\":");
    snprintf(deep + length, sizeof(deep) - length, "\n");
    expect_broken(deep, "nested too deeply", 1);
    char long_name[3000];
    snprintf(long_name, sizeof(long_name), "{\"%02000d\": 1}\n", 0);
    expect_broken(long_name, "too long a name", 1);
    struct nvt_runs *none = nvt_runs_read("/no/such/directory", &err);
    assert_null(none);
    assert_non_null(strstr(err.message, "No such file"));
    char *directory = cli_tempdir();
    assert_null(nvt_runs_read(directory, &err));
    assert_non_null(strstr(err.message, "no results.jsonl"));
    cli_tempdir_remove(directory);
}

/* A broken env.json costs the captions, not the results. */
static void test_broken_env(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results));
    cli_write_file(cli_in(directory, "env.json"), "{\"date\": ", 9);
    struct nvt_runs *runs = nvt_runs_read(directory, &err);
    assert_int_equal(runs->count, 3);
    assert_non_null(strstr(runs->warning, "env.json"));
    struct nvt_provenance from = nvt_runs_provenance(runs);
    assert_string_equal(from.backend, "host"); /* of the first record */
    assert_null(from.date);
    nvt_runs_free(runs);
    cli_tempdir_remove(directory);
}

/* Any byte changed to any other: read or refused, never more rows than lines. */
static void test_changed_bytes(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results)), changed[sizeof(results)];
    const char *path = strdup(cli_in(directory, "results.jsonl"));
    kit_srand(11);
    for (int round = 0; round < 2000; round++) {
        memcpy(changed, results, sizeof(results));
        for (int i = 0; i < 3; i++)
            changed[(size_t)rand() % (sizeof(results) - 1)] = (char)(rand() % 256);
        cli_write_file(path, changed, sizeof(results) - 1);
        struct nvt_runs *runs = nvt_runs_read(directory, &err);
        assert_true(!runs || runs->count <= 6);
        nvt_runs_free(runs);
    }
    free((char *)path);
    cli_tempdir_remove(directory);
}

static char *render(const struct nvt_report *report, struct nvt_input *input, int published)
{
    struct nvt_tables tables = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (published)
        assert_int_equal(report->published(input, out, &err), 0);
    else {
        assert_int_equal(nvt_report_make(report, input, &tables, &err), 0);
        nvt_render_csv(&tables, out);
    }
    fclose(out);
    nvt_tables_free(&tables);
    return text;
}

static void test_fragments(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results));
    struct nvt_input input = {0};
    assert_int_equal(nvt_input_add(&input, directory, &err), 0);
    assert_ptr_equal(nvt_report_default(&input), &nvt_report_fragments);
    char *text = render(&nvt_report_fragments, &input, 0);
    assert_string_equal(
        text,
        "size,batch,mode,variant,fragments,forward (ms),forward std (ms),backward (ms),"
        "backward std (ms),optimizer (ms),optimizer std (ms),peak (MiB),parameters,status,source\n"
        "64,2,linear,,,1.0000,0.0001,2.0040,,,,1.3,4160,ok,measured\n"
        "64,2,train,,8,1.5000,0.0001,3.0000,,,,1.3,4160,ok,measured\n"
        "64,2,inference,looped,8,,,,,,,,,oom,measured\n");
    free(text);
    text = render(&nvt_report_fragments, &input, 1);
    assert_string_equal(text, "Benchmarking with input_size=64, output_size=64, batch_size=2\n"
                              "\n"
                              "Detailed Results:\n"
                              "Linear Layer:\n"
                              "  Forward time: 1.00ms\n"
                              "  Backward time: 2.00ms\n"
                              "  Peak memory: 1.2MB\n"
                              "  Parameters: 4160\n"
                              "\n"
                              "FragmentedLinear (Train) Results:\n"
                              "\n"
                              "Fragments: 8\n"
                              "  Forward time: 1.50ms\n"
                              "  Backward time: 3.00ms\n"
                              "  Peak memory: 1.2MB\n"
                              "  Parameters: 4160\n"
                              "\n"
                              "FragmentedLinear (Inference) Results:\n"
                              "\n"
                              "Fragments: 8\n"
                              "  Status: oom\n");
    free(text);
    nvt_input_free(&input);
    cli_tempdir_remove(directory);
}

/* Rows that differ in nothing but how they were measured say so; what all have in common is not said. */
static void test_conditions(void **state)
{
    (void)state;
    static const char rows[] =
        "{\"workload\": \"linear\", \"size\": 64, \"batch\": 2, \"backend\": \"host\", "
        "\"collect\": "
        "\"off\", \"warmup\": 3, \"repeat\": 1, \"status\": \"ok\", \"forward_ns_mean\": 1000000}\n"
        "{\"workload\": \"linear\", \"size\": 64, \"batch\": 2, \"backend\": \"host\", "
        "\"collect\": "
        "\"nvtx\", \"warmup\": 3, \"repeat\": 1, \"status\": \"ok\", \"forward_ns_mean\": "
        "1000000}\n"
        "{\"workload\": \"linear\", \"size\": 64, \"batch\": 2, \"backend\": \"host\", "
        "\"collect\": "
        "\"off\", \"warmup\": 3, \"repeat\": 2, \"status\": \"ok\", \"forward_ns_mean\": "
        "1000000}\n";
    char *directory = new_directory(rows, strlen(rows));
    struct nvt_input input = {0};
    assert_int_equal(nvt_input_add(&input, directory, &err), 0);
    char *text = render(&nvt_report_fragments, &input, 0);
    assert_non_null(strstr(text, ",source,measured with\n"));
    assert_non_null(strstr(text, ",measured,collect=off repeat=1\n"));
    assert_non_null(strstr(text, ",measured,collect=nvtx repeat=1\n"));
    assert_non_null(strstr(text, ",measured,collect=off repeat=2\n"));
    free(text);
    nvt_input_free(&input);
    cli_tempdir_remove(directory);
}

#define PHASES_HEADINGS                                                                            \
    "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"                      \
    "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
#define LINEAR_PHASES                                                                              \
    "fragmented,size=64 batch=2 "                                                                  \
    "mode=linear,forward,10,1000000.0,100.0,1,2.5,,0.000003,,,,ok,measured\n"                      \
    "fragmented,size=64 batch=2 mode=linear,backward,10,2004000.0,,,,,,,,,ok,measured\n"
#define FAILED_PHASES                                                                              \
    "fragmented,size=64 batch=2 mode=inference fragments=8 "                                       \
    "variant=looped,,,,,,,,,,,,oom,measured\n"

/* The trace that the second record names is not there: a note, and the record stands in. */
static void test_phases_of_records(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results));
    struct nvt_input input = {0};
    assert_int_equal(nvt_input_add(&input, directory, &err), 0);
    assert_int_equal(nvt_input_traces(&input, &err), 0);
    assert_int_equal(input.trace_count, 0);
    char *text = render(&nvt_report_phases, &input, 0);
    assert_string_equal(text, PHASES_HEADINGS LINEAR_PHASES
                        "fragmented,size=64 batch=2 mode=train fragments=8,forward,10,1500000.0,"
                        "100.0,1,2.5,,0.000002,,,,ok,measured\n"
                        "fragmented,size=64 batch=2 mode=train fragments=8,backward,10,3000000.0,"
                        ",,,,,,,,ok,measured\n" FAILED_PHASES);
    nvt_buffer_append(&input.notes, "", 1);
    assert_non_null(strstr((char *)input.notes.data, "t1.nvt"));
    free(text);
    nvt_input_free(&input);
    cli_tempdir_remove(directory);
}

/* Where there is a trace its ranges count, under the configuration of the record. */
static void test_phases_of_a_trace(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results));
    struct nvt_input input = {0};
    assert_int_equal(nvt_input_add(&input, directory, &err), 0);
    struct nvt_trace *trace = nvt_trace_new("t1.nvt", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 1), 1);
    struct nvt_range row = {
        .start = 5, .end = 25, .name = nvt_strings_add_text(trace->strings, "forward")};
    nvt_range_add(trace, &row);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    input.traces = calloc(1, sizeof(*input.traces));
    input.traces[0] = (struct nvt_input_trace){.trace = trace, .runs = input.runs[0], .record = 1};
    input.trace_count = 1;
    char *text = render(&nvt_report_phases, &input, 0);
    assert_string_equal(text, PHASES_HEADINGS LINEAR_PHASES
                        "fragmented,size=64 batch=2 mode=train fragments=8,forward,1,20.0,,20,20.0,"
                        "20,,,,,ok,measured\n" FAILED_PHASES);
    free(text);
    nvt_input_free(&input);
    cli_tempdir_remove(directory);
}

/* A record cannot make us read a file outside of its directory. */
static void test_trace_elsewhere(void **state)
{
    (void)state;
    static const char *const names[] = {"../t.nvt", "/etc/passwd", "a/../../t.nvt", "..", "a/.."};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        char rows[200];
        snprintf(rows, sizeof(rows), "{\"workload\": \"linear\", \"trace\": \"%s\"}\n", names[i]);
        char *directory = new_directory(rows, strlen(rows));
        struct nvt_input input = {0};
        assert_int_equal(nvt_input_add(&input, directory, &err), 0);
        assert_int_equal(nvt_input_traces(&input, &err), 0);
        nvt_buffer_append(&input.notes, "", 1);
        assert_non_null(strstr((char *)input.notes.data, "outside"));
        nvt_input_free(&input);
        cli_tempdir_remove(directory);
    }
}

static struct cli_result stats(const char *a, const char *b, const char *c, const char *d,
                               const char *e)
{
    const char *const argv[] = {"nvtally", "stats", a, b, c, d, e, NULL};
    return cli_run(argv);
}

/* The command: defaults, formats, several reports, an output file, and what it refuses. */
static void test_command(void **state)
{
    (void)state;
    char *directory = new_directory(results, strlen(results));
    struct cli_result result = stats(directory, NULL, NULL, NULL, NULL);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "A CPU · host · 2026-11-21"));
    assert_non_null(strstr(result.out, "\nFragment study  [fragments]\n"));
    cli_result_free(&result);
    result = stats("-r", "fragments,phases", "-f", "json", directory);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\"fragments\": ["));
    assert_non_null(strstr(result.out, "\"phases\": ["));
    assert_non_null(strstr(result.err, "nvtally: warning: "));
    cli_result_free(&result);
    char *file = strdup(cli_in(directory, "table.txt"));
    result = stats("-fpublished", "-o", file, directory, NULL);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "");
    char *written = cli_read_file(file, NULL);
    assert_int_equal(strncmp(written, "Benchmarking with input_size=64", 31), 0);
    free(written);
    free(file);
    cli_result_free(&result);
    result = stats("-f", "published", "-r", "phases", directory);
    cli_expect_failure(&result, "published layout of phases");
    cli_result_free(&result);
    result = stats("-o", "/no/such/place", directory, NULL, NULL);
    cli_expect_failure(&result, "/no/such/place");
    cli_result_free(&result);
    result = stats("-r", "list", NULL, NULL, NULL);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "nvtx_pushpop_trace"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_broken_env),
        cmocka_unit_test(test_changed_bytes),
        cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_phases_of_records),
        cmocka_unit_test(test_phases_of_a_trace),
        cmocka_unit_test(test_trace_elsewhere),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
