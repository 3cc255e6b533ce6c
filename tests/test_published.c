/*
 * Published layouts: the documents that are built in, read and printed again; logs with a logger's
 * prefix, cut and broken ones; our figures beside them.
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

#include "../analyze/published/published.h"
#include "../lib/count_of.h"
#include "cli.h"

static struct nvt_error err;

/* Where a document's benchmark content begins, and how many configurations it has. */
static const struct document {
    const char *path, *layout, *begin, *prefix;
    size_t count;
} documents[] = {
    {"data/published/fragments.txt", "fragments", "Benchmarking with", "[12:00:01] INFO ", 63},
    {"data/published/switchback.txt", "switchback", "{\"repeat\"", "INFO:root:", 142},
    {"data/published/transformer.md", "transformer", "+---",
     "2024-05-01 12:00:00.123 | INFO     | bench:main:12 - ", 24},
    {"data/published/gpipe.log", "gpipe", "Running:", "2024-05-01 12:00:00,123 - bench - INFO - ",
     84},
};
enum { DOCUMENTS = NVT_COUNT_OF(documents) };

static char *read_document(const struct document *document, size_t *size)
{
    char *text = cli_read_file(document->path, size);
    assert_non_null(text);
    return text;
}

/* A copy in memory of its very size, so that reading past it is seen. */
static int read_text(const char *text, size_t size, struct nvt_published *out)
{
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    int status = nvt_published_read("a.log", copy, size, out, &err);
    free(copy);
    return status;
}

static struct cli_result nvtally(const char *a, const char *b, const char *c, const char *d,
                                 const char *e)
{
    const char *const argv[] = {"nvtally", a, b, c, d, e, NULL};
    return cli_run(argv);
}

static char *import(const char *path)
{
    char *directory = cli_tempdir();
    struct cli_result result = nvtally("import", path, "-o", directory, NULL);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "");
    cli_result_free(&result);
    return directory;
}

static char *published(const char *directory)
{
    struct cli_result result = nvtally("stats", directory, "-f", "published", NULL);
    cli_expect_status(&result, 0);
    char *text = strdup(result.out);
    cli_result_free(&result);
    return text;
}

/* Only the lines of tables of a document, in place. */
static void keep_tables(char *text)
{
    char *to = text;
    for (char *at = text; *at;) {
        size_t length = strcspn(at, "\n") + (strchr(at, '\n') != NULL);
        if (*at == '+' || *at == '|') {
            memmove(to, at, length);
            to += length;
        }
        at += length;
    }
    *to = 0;
}

/* What is imported comes out again byte for byte: from where the benchmark's output begins, or, of
 * the write-up, all tables. */
static void test_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const struct document *document = &documents[i];
        char *text = read_document(document, NULL);
        char *directory = import(document->path);
        char *again = published(directory);
        if (!strcmp(document->layout, "transformer")) {
            keep_tables(text);
            keep_tables(again);
        }
        const char *begin = strstr(text, document->begin);
        assert_non_null(begin);
        /* Two of the documents end without a line end. */
        size_t length = strlen(begin);
        assert_memory_equal(again, begin, length);
        assert_true(!strcmp(again + length, length && begin[length - 1] == '\n' ? "" : "\n"));
        free(again);
        free(text);
        cli_tempdir_remove(directory);
    }
}

/* Records, and a layout that prints what reads as the same again. */
static void test_records(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        struct nvt_published first = {0}, second = {0};
        size_t size;
        char *text = read_document(&documents[i], &size);
        assert_int_equal(read_text(text, size, &first), 0);
        assert_string_equal(first.layout->name, documents[i].layout);
        assert_int_equal(first.count, documents[i].count);
        assert_string_equal(first.note, "");
        char *directory = import(documents[i].path);
        char *again = published(directory);
        assert_int_equal(read_text(again, strlen(again), &second), 0);
        assert_int_equal(first.results.size, second.results.size);
        assert_memory_equal(first.results.data, second.results.data, first.results.size);
        nvt_published_free(&first);
        nvt_published_free(&second);
        free(again);
        free(text);
        cli_tempdir_remove(directory);
    }
}

static void test_values(void **state)
{
    (void)state;
    const struct nvt_layout *layout;
    struct nvt_runs *runs = nvt_reference_runs(nvt_reference_of("switchback"), &layout, &err);
    assert_non_null(runs);
    const struct nvt_record *row = &runs->records[0];
    assert_true(nvt_record_number(row, "standard_fwd_ns_mean") / 1e6 == 0.047907233238220215);
    assert_true(nvt_record_number(row, "time_global_ns_mean") / 1e6 == 0.33118948340415955);
    assert_true(nvt_record_number(row, "dim_out") == 4096);
    assert_string_equal(nvt_record_source(row), "published");
    assert_string_equal(nvt_record_text(&runs->env, "date"), "2023-03-29");
    nvt_runs_free(runs);
    runs = nvt_reference_runs(nvt_reference_of("linear"), &layout, &err);
    row = &runs->records[8];
    char *configuration = nvt_record_configuration(row);
    assert_string_equal(configuration,
                        "size=2048 batch=1 mode=inference fragments=128 variant=looped");
    free(configuration);
    assert_true(nvt_record_number(row, "forward_ns_mean") == 23590000);
    nvt_runs_free(runs);
    runs = nvt_reference_runs(nvt_reference_of("gpipe"), &layout, &err);
    row = &runs->records[83];
    assert_string_equal(nvt_record_text(row, "reserved_bytes_per_partition"),
                        "541065216;497025024;497025024;1000341504");
    assert_string_equal(nvt_record_text(row, "checkpoint"), "true");
    /* Launch times are not passed off as completed ones. */
    assert_true(isnan(nvt_record_number(row, "forward_ns_mean")));
    assert_true(nvt_record_number(row, "forward_launch_ns_mean") == 0.578e9);
    nvt_runs_free(runs);
    assert_null(nvt_reference_of("line"));
    assert_null(nvt_reference_of(""));
}

/* A line with what a logger puts in front of it reads as the line alone. */
static void test_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        struct nvt_published plain = {0}, prefixed = {0};
        size_t size, used = 0;
        char *text = read_document(&documents[i], &size);
        assert_int_equal(read_text(text, size, &plain), 0);
        size_t room = size * 3 + 200000;
        char *longer = malloc(room);
        assert_non_null(longer);
        for (char *line = text; *line;) {
            size_t length = strcspn(line, "\n");
            int put = snprintf(longer + used, room - used, "%s%.*s\r\n", documents[i].prefix,
                               (int)length, line);
            used += (size_t)put;
            assert_true(used < room);
            line += length + (line[length] == '\n');
        }
        assert_int_equal(read_text(longer, used, &prefixed), 0);
        assert_int_equal(plain.results.size, prefixed.results.size);
        assert_memory_equal(plain.results.data, prefixed.results.data, plain.results.size);
        nvt_published_free(&plain);
        nvt_published_free(&prefixed);
        free(longer);
        free(text);
    }
}

/* Cut at a byte, the configurations before it are those of the whole; what is lost is said. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        struct nvt_published whole = {0};
        size_t size, noted = 0;
        char *text = read_document(&documents[i], &size);
        assert_int_equal(read_text(text, size, &whole), 0);
        size_t step = size > 20000 ? 997 : 7;
        for (size_t cut = size; cut;
             cut = cut > step ? cut - (cut + 2500 > size ? 1 + step / 70 : step) : 0) {
            struct nvt_published part = {0};
            if (read_text(text, cut, &part)) {
                if (!strstr(err.message, "no complete configuration") &&
                    !strstr(err.message, "no published layout"))
                    fail_msg("%s cut at %zu: %s", documents[i].path, cut, err.message);
            } else {
                assert_true(part.results.size <= whole.results.size);
                assert_memory_equal(part.results.data, whole.results.data, part.results.size);
                noted += part.note[0] != 0;
            }
            nvt_published_free(&part);
        }
        assert_true(noted > 10);
        nvt_published_free(&whole);
        free(text);
    }
}

/* Bytes changed to others: read or refused, and what is read are records. */
static void test_damaged(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        size_t size, read = 0;
        char *text = read_document(&documents[i], &size);
        size = size > 6000 ? 6000 : size;
        for (int round = 0; round < 1500; round++) {
            struct nvt_published part = {0};
            char *damaged = malloc(size);
            assert_non_null(damaged);
            memcpy(damaged, text, size);
            for (int k = 0; k < 3; k++) {
                random = random * 1664525u + 1013904223u;
                damaged[random % size] = (char)(random >> 24);
            }
            if (!read_text(damaged, size, &part)) {
                struct nvt_buffer env = {0};
                assert_int_equal(nvt_buffer_printf(&env, "{}"), 0);
                struct nvt_runs *runs = nvt_runs_of_text("a.log", &part.results, &env, &err);
                /* Names that are no UTF-8 are made valid on the way. */
                assert_non_null(runs);
                assert_int_equal(runs->count, part.count);
                nvt_runs_free(runs);
                nvt_buffer_free(&env);
                read++;
            } else {
                assert_true(err.message[0]);
            }
            nvt_published_free(&part);
            free(damaged);
        }
        assert_true(read > 0);
        free(text);
    }
}

static void expect_refused(const char *directory, const char *text, const char *needle)
{
    const char *path = cli_in(directory, "bad.log");
    cli_write_file(path, text, strlen(text));
    struct cli_result result = nvtally("import", path, "-o", cli_in(directory, "out"), NULL);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}

#define HEAD "Benchmarking with input_size=64, output_size=64, batch_size=1\n\nLinear Layer:\n"

static void test_refused(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    expect_refused(directory, "Dear diary\n", "no published layout");
    expect_refused(directory, "Benchmarking with input_size=64, output_size=32, batch_size=1\nx\n",
                   "has none such (at line 1)");
    expect_refused(directory, "Benchmarking with input_size=a, output_size=32, batch_size=1\nx\n",
                   "line 1");
    expect_refused(directory,
                   "Benchmarking with input_size=-64, output_size=-64, batch_size=1\nx\n",
                   "line 1");
    expect_refused(directory, HEAD "  Forward time: 0.12s\n",
                   "'Forward time: ' needs a number in ms");
    expect_refused(directory, HEAD "  Forward time: nanms\n", "(at line 4)");
    expect_refused(directory, HEAD "  Forward time: 1e400ms\n", "(at line 4)");
    expect_refused(directory, HEAD "  Forward time: 1ms\nLinear Layer:\n  Forward time: 1ms\n",
                   "no 'Parameters'");
    expect_refused(directory, HEAD "  Forward time: 1ms\n", "no complete configuration");
    expect_refused(directory, "{\"repeat\": 64, \"standard_fwd\": 0.1}\n", "batch_size");
    expect_refused(directory, "{\"standard_fwd\": 0.1,\n{}\n", "JSON");
    expect_refused(directory, "| Experiment_name | Forward time |\n", "Forward std");
    expect_refused(
        directory,
        "| Experiment_name | Forward time | Forward std | backward time | backward std |\n"
        "| small | 1 | 2 | three | 4 |\n",
        "(at line 2)");
    expect_refused(directory, "Running: a\nnum_partitions: 1\nnum_microbatches: many\n",
                   "(at line 3)");
    expect_refused(directory, "Running: a\nnum_microbatches: 2\nRunning: b\n", "(at line 3)");
    expect_refused(directory, "Running: a\nnum_partitions: 1000000\nnum_microbatches: 1\nx\n",
                   "(at line 2)");
    cli_tempdir_remove(directory);
}

static void test_directories(void **state)
{
    (void)state;
    char *directory = import(documents[0].path);
    struct cli_result result = nvtally("import", documents[0].path, "-o", directory, NULL);
    cli_expect_failure(&result, "already exists");
    cli_result_free(&result);
    result = nvtally("import", documents[0].path, NULL, NULL, NULL);
    cli_expect_failure(&result, "-o DIRECTORY");
    cli_result_free(&result);
    result = nvtally("import", documents[0].path, "-o", "/proc/none", NULL);
    cli_expect_failure(&result, "/proc/none");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Wherever it is printed, it says that it is published. */
static void test_marked(void **state)
{
    (void)state;
    static const char *const workloads[] = {"fragmented", "transformer", "gpipe", "switchback",
                                            "accumulate"};
    for (size_t i = 0; i < NVT_COUNT_OF(workloads); i++) {
        struct cli_result result = nvtally("reference", workloads[i], "-f", "csv", NULL);
        cli_expect_status(&result, 0);
        size_t lines = 0;
        int is_heading = 1;
        for (char *line = result.out, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
            *end = 0;
            assert_non_null(strstr(line, is_heading ? "source" : *line ? "published" : ""));
            is_heading = !*line; /* behind the empty line comes another table */
        }
        assert_true(lines > (strcmp(workloads[i], "accumulate") ? 20 : 4));
        cli_result_free(&result);
        result = nvtally("reference", workloads[i], "-f", "markdown", NULL);
        assert_non_null(strstr(result.out, "published: "));
        cli_result_free(&result);
    }
    struct cli_result result = nvtally("reference", "no_such", NULL, NULL, NULL);
    cli_expect_failure(&result, "no_such");
    cli_result_free(&result);
}

#define OURS(axes, rest)                                                                           \
    "{\"workload\": \"transformer\", \"size\": \"small\", " axes                                   \
    ", \"backend\": \"host\", \"collect\": \"off\", \"device\": \"A CPU\", \"warmup\": 5, "        \
    "\"iterations\": 5, \"status\": " rest "}\n"

static void test_beside(void **state)
{
    (void)state;
    static const char rows[] = OURS(
        "\"precision\": \"fp32\"", "\"ok\", \"forward_ns_mean\": 46561400, \"forward_ns_std\": 7e5")
        OURS("\"precision\": \"bf16\"", "\"ok\", \"forward_ns_mean\": 46561400")
            OURS("\"precision\": \"fp32\"", "\"oom\"");
    char *directory = cli_tempdir(), line[600];
    cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
    struct cli_result result = nvtally("compare", directory, "--reference", "-f", "csv");
    cli_expect_status(&result, 0);
    /* 0.0232807 s; 1.94524e-05 s over 10, divided by 9 instead. */
    snprintf(line, sizeof(line),
             "transformer,size=small precision=fp32,forward,ms,46.5614,0.7000,23.2807,%.4f,2.000,A "
             "CPU,not stated,measured,\"approximate",
             1.94524e-2 * sqrt(10.0 / 9));
    assert_non_null(strstr(result.out, line));
    assert_null(strstr(result.out, "bf16"));
    const char *first = strchr(result.out, '\n');
    assert_ptr_equal(strchr(first + 1, '\n') + 1, result.out + result.out_size);
    cli_result_free(&result);
    /* The chart has the same ratio, and a point for nothing else. */
    result = nvtally("plot", directory, "-o", directory, NULL);
    if (!strstr(result.err, "gnuplot-nox")) {
        cli_expect_status(&result, 0);
        char *data = cli_read_file(cli_in(directory, "reference-1.dat"), NULL);
        assert_string_equal(data, "# ours/published row ours_ms published_ms\n# forward\n"
                                  "2\t1\t46.5614\t23.2807\n");
        free(data);
    }
    cli_result_free(&result);
    result = nvtally("compare", directory, "--reference", "-f", "markdown");
    assert_non_null(strstr(result.out, "other machines"));
    cli_result_free(&result);
    result = nvtally("compare", directory, "--reference", "--fail-above", "5");
    cli_expect_failure(&result, "--fail-above");
    cli_result_free(&result);
    static const char sum[] = "{\"workload\": \"accumulate\", \"form\": \"fp16\", \"count\": 1000, "
                              "\"backend\": \"host\", \"sum\": 9.953125, \"exact_sum\": 10}\n";
    cli_write_file(cli_in(directory, "results.jsonl"), sum, strlen(sum));
    result = nvtally("compare", directory, "--reference", "-f", "csv");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "form=fp16 count=1000,sum,,9.9531,,9.9531,,1.000"));
    assert_null(strstr(result.out, "exact"));
    cli_result_free(&result);
    static const char other[] = "{\"workload\": \"mine\", \"backend\": \"host\"}\n";
    cli_write_file(cli_in(directory, "results.jsonl"), other, strlen(other));
    result = nvtally("compare", directory, "--reference", NULL, NULL);
    cli_expect_failure(&result, "no published");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Our own deviations are those of the layout, which divide by n. */
static void test_own_grid(void **state)
{
    (void)state;
    static const char rows[] =
        OURS("\"precision\": \"fp32\"", "\"ok\", \"forward_ns_mean\": 1000000, "
                                        "\"forward_ns_std\": 500, \"backward_ns_mean\": 2e9, "
                                        "\"backward_ns_std\": 250000")
            OURS("\"precision\": \"fp32\"", "\"oom\"")
                OURS("\"precision\": \"bf16\"", "\"ok\", \"forward_ns_mean\": 3e9, "
                                                "\"forward_ns_std\": 1, \"backward_ns_mean\": 4e9, "
                                                "\"backward_ns_std\": 1");
    struct nvt_published again = {0};
    char *directory = cli_tempdir(), cell[80];
    cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
    struct cli_result result = nvtally("stats", directory, "-rphases", "-f", "published");
    cli_expect_status(&result, 0);
    snprintf(cell, sizeof(cell), " %.6g |", 5e-7 * sqrt(0.8));
    assert_non_null(strstr(result.out, "With 5 warmup steps:\n+---"));
    assert_non_null(strstr(result.out, cell));
    assert_non_null(strstr(result.out, "oom"));
    /* What the write-up has no table for is told apart, also when it is read again. */
    const char *other = strstr(result.out, "With 5 warmup steps, precision=bf16:\n+---");
    assert_non_null(other);
    assert_int_equal(read_text(other, strlen(other), &again), 0);
    assert_int_equal(again.count, 1);
    assert_non_null(memmem(again.results.data, again.results.size, "\"bf16\"", 6));
    nvt_published_free(&again);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* A table of recorded runs alone is said to be one: most published ones are of runs without a recorder. */
static void test_recorded_runs_are_told(void **state)
{
    (void)state;
    static const char row[] =
        "{\"workload\": \"%s\", \"size\": \"small\", \"backend\": \"host\", \"warmup\": 5, "
        "\"iterations\": 2, \"collect\": \"%s\", \"status\": \"ok\", "
        "\"forward_ns_mean\": 1000000, \"forward_ns_std\": 500}\n";
    static const char *const levels[][2] = {{"nvtx", "full"}, {"nvtx", "off"}, {"off", "off"}};
    static const char note[] =
        "note: all runs were recorded (--collect nvtx); most published tables are of runs that "
        "were not (--collect off)\n";
    char *directory = cli_tempdir(), rows[2000];
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        int size = snprintf(rows, sizeof(rows), row, "transformer", levels[i][0]);
        snprintf(rows + size, sizeof(rows) - (size_t)size, row, "transformer", levels[i][1]);
        cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
        struct cli_result result = nvtally("stats", directory, "-rphases", "-f", "published");
        cli_expect_status(&result, 0);
        assert_int_equal(strstr(result.err, note) != NULL, i == 0);
        cli_result_free(&result);
        result = nvtally("stats", directory, "-rphases", "-f", "csv");
        cli_expect_status(&result, 0);
        assert_null(strstr(result.err, "all runs were recorded"));
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
}

/* The write-up has both conditions: its slow-downs are paired, without columns of what it does not tell. */
static void test_slowdowns(void **state)
{
    (void)state;
    char *directory = import("data/published/transformer.md");
    const char *const stats[] = {"nvtally",  "stats", directory, "-r",
                                 "overhead", "-f",    "csv",     NULL};
    struct cli_result result = cli_run(stats);
    cli_expect_status(&result, 0);
    static const char head[] =
        "configuration,warmup,collect,phase,bare (ns),collected (ns),slow-down,pairs,source\n"
        "transformer size=small,5,nsys,forward,23280700,66757600,2.8675,1,published\n";
    assert_memory_equal(result.out, head, strlen(head));
    assert_non_null(
        strstr(result.out, "transformer size=xl,5,nsys,forward,596514000,762566000,1.2784,1,"));
    cli_result_free(&result);
    result = nvtally("plot", directory, NULL, NULL, NULL);
    if (!strstr(result.err, "gnuplot-nox")) {
        cli_expect_status(&result, 0);
        char *script = cli_read_file(cli_in(directory, "overhead.gp"), NULL);
        assert_non_null(script);
        assert_null(strstr(script, "95 % intervals"));
        free(script);
    }
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

static void test_repr(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } known[] = {{0.1, "0.1"},       {0.047907233238220215, "0.047907233238220215"},
                 {5, "5.0"},         {1e-5, "1e-05"},
                 {0.0001, "0.0001"}, {1e15, "1000000000000000.0"},
                 {1e16, "1e+16"},    {123456789012, "123456789012.0"}};
    char text[NVT_REPR_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        assert_string_equal(nvt_number_repr(known[i].value, text), known[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_records),
        cmocka_unit_test(test_values),     cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_directories),
        cmocka_unit_test(test_marked),     cmocka_unit_test(test_beside),
        cmocka_unit_test(test_own_grid),   cmocka_unit_test(test_recorded_runs_are_told),
        cmocka_unit_test(test_repr),       cmocka_unit_test(test_slowdowns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
