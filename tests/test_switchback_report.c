/*
 * The SwitchBack study from run to table: rows of the workload, the report's arithmetic over
 * made-up rows, the published layout, both charts.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

static const char *const operations[] = {"standard_fwd",
                                         "standard_gw",
                                         "standard_gx",
                                         "rowwise_fwd",
                                         "rowwise_bwd",
                                         "global_fwd",
                                         "global_bwd",
                                         "x_quantize_rowwise",
                                         "g_quantize_rowwise",
                                         "w_quantize_rowwise",
                                         "w_quantize_colwise_transpose",
                                         "w_quantize_global",
                                         "w_quantize_global_transpose",
                                         "cast_x",
                                         "cast_g",
                                         "cast_w"};
enum { OPERATIONS = 16 };

/* The totals by their definition, as positions in the above. */
static const struct {
    const char *name;
    int parts[8];
} totals[] = {
    {"time_standard", {0, 1, 2, -1}},
    {"time_rowwise", {7, 8, 10, 9, 1, 3, 4, -1}},
    {"time_global", {7, 8, 11, 12, 1, 5, 6, -1}},
};

static double number_of(const struct nvt_record *record, const char *operation, const char *what)
{
    char key[96];
    snprintf(key, sizeof(key), "%s_ns_%s", operation, what);
    return nvt_record_number(record, key);
}

static struct nvt_runs *run(const char *out, const char *const argv[], int status)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    struct nvt_runs *runs = nvt_runs_read(out, &err);
    assert_non_null(runs);
    return runs;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void check_times(const struct nvt_record *record, int is_loop)
{
    for (int i = 0; i < OPERATIONS; i++) {
        double mean = number_of(record, operations[i], "mean");
        assert_true(mean > 0 && isfinite(mean));
        /* One clock around all calls knows neither the spread nor the least. */
        assert_int_equal(isnan(number_of(record, operations[i], "std")), is_loop);
        assert_int_equal(isnan(number_of(record, operations[i], "min")), is_loop);
        assert_int_equal(number_of(record, operations[i], "min") <= mean, !is_loop);
    }
    for (int i = 0; i < 3; i++) {
        double sum = 0, total = number_of(record, totals[i].name, "mean");
        for (const int *part = totals[i].parts; *part >= 0; part++)
            sum += number_of(record, operations[*part], "mean");
        assert_true(fabs(sum - total) <= 1e-12 * sum);
    }
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name, const char *payload)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            count += !payload || !strcmp(nvt_name(trace, trace->ranges.payload[i]), payload);
    return count;
}

/* 24 × 60: 24·2.5. All calls of an operation in one range, with the work of all of them; or one
 * each. */
static void check_trace(const char *out, const struct nvt_record *record, int is_loop)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(cli_in(out, nvt_record_text(record, "trace")), &err);
    char work[96];
    assert_non_null(trace);
    assert_int_equal(count_ranges(trace, "warmup", NULL), 2 * OPERATIONS);
    assert_int_equal(count_ranges(trace, "loop", NULL), is_loop ? OPERATIONS : 0);
    assert_int_equal(count_ranges(trace, "iteration", NULL), is_loop ? 0 : 3 * OPERATIONS);
    int calls = is_loop ? 3 : 1, elements = 40 * 24 + 40 * 60 + 24 * 60;
    snprintf(work, sizeof(work), "{\"flops\":%d,\"bytes\":%d}", calls * 2 * 40 * 24 * 60,
             calls * 2 * elements);
    for (int i = 0; i < 3; i++)
        assert_int_equal(count_ranges(trace, operations[i], work), is_loop ? 1 : 3);
    for (int i = 3; i < OPERATIONS; i++)
        assert_int_equal(count_ranges(trace, operations[i], NULL), is_loop ? 1 : 3);
    nvt_trace_free(trace);
}

static void rows_have_all_operations_and_totals(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "rows");
    const char *argv[] = {"nvtally", "run",          "switchback",  "--dim",
                          "24",      "--batch",      "40",          "--width-multiplier",
                          "2.5",     "--timing",     "loop,single", "--warmup",
                          "2",       "--iterations", "3",           "--backend",
                          "host",    "-o",           out,           NULL};
    struct nvt_runs *runs = run(out, argv, 0);
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        int is_loop = !strcmp(nvt_record_text(record, "timing"), "loop");
        int is_switched = !strcmp(nvt_record_text(record, "switch"), "true");
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        assert_string_equal(nvt_record_text(record, "width_multiplier"), "2.5");
        assert_true(nvt_record_number(record, "dim_in") == (is_switched ? 60 : 24));
        assert_true(nvt_record_number(record, "dim_out") == (is_switched ? 24 : 60));
        assert_true(nvt_record_number(record, "parameters") == 24 * 60);
        check_times(record, is_loop);
        check_trace(out, record, is_loop);
    }
    nvt_runs_free(runs);
}

static void what_does_not_fit_is_a_row(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "oom");
    const char *argv[] = {"nvtally", "run",       "switchback", "--dim",
                          "64,2048", "--batch",   "64",         "--switch",
                          "off",     "--warmup",  "1",          "--iterations",
                          "1",       "--collect", "off",        "--memory-limit",
                          "64M",     "--backend", "host",       "-o",
                          out,       NULL};
    struct nvt_runs *runs = run(out, argv, 0);
    assert_int_equal(runs->count, 2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    assert_non_null(strstr(nvt_record_text(&runs->records[1], "message"), "bytes were asked for"));
    const char *stats[] = {"nvtally", "stats", "-f", "csv", out, NULL};
    struct cli_result result = cli_run(stats);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\n2048,8192,64,loop,,,,,,,,oom,measured\n"));
    cli_result_free(&result);
    const char *published[] = {"nvtally", "stats", "-f", "published", out, NULL};
    result = cli_run(published);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\"dim_in\": 64"));
    /* Not as a side; a time may have these digits. */
    assert_null(strstr(result.out, "\"dim_in\": 2048"));
    cli_result_free(&result);
    nvt_runs_free(runs);
}

static void the_default_list_is_the_published_one(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "run", "switchback", "--list", NULL};
    const char *reference[] = {"nvtally", "reference", "switchback", "-f", "published", NULL};
    struct cli_result list = cli_run(argv), published = cli_run(reference);
    size_t lines = 0;
    char *rest = published.out;
    cli_expect_status(&list, 0);
    cli_expect_status(&published, 0);
    for (char *line; (line = strsep(&rest, "\n")) && *line; lines++) {
        long batch, out, in;
        double multiplier;
        char word[8], expected[128];
        assert_int_equal(
            sscanf(line,
                   "{\"repeat\": 64, \"batch_size\": %ld, \"dim_out\": %ld, \"dim_in\": "
                   "%ld, \"wm\": %lf, \"switch\": %5[a-z]",
                   &batch, &out, &in, &multiplier, word),
            5);
        snprintf(expected, sizeof(expected),
                 "\nswitchback dim=%ld batch=%ld width_multiplier=%.5g switch=%s timing=loop\n",
                 in < out ? in : out, batch, multiplier, strcmp(word, "true") ? "off" : "on");
        /* The first line of the list has none before it. */
        int found =
            strstr(list.out, expected) || !strncmp(list.out, expected + 1, strlen(expected) - 1);
        if (!found)
            fail_msg("not in the list: %s", expected);
    }
    assert_int_equal(lines, 142);
    lines = 0;
    for (const char *at = list.out; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 142);
    cli_result_free(&list);
    cli_result_free(&published);
}

static void axes_that_make_no_layer_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"--width-multiplier", "4.36371"},
                                           {"--width-multiplier", "4."},
                                           {"--width-multiplier", "0"},
                                           {"--width-multiplier", "-1"},
                                           {"--width-multiplier", "4,4.0"},
                                           {"--width-multiplier", ".5"},
                                           {"--width-multiplier", "99999999999999999999"},
                                           {"--dim", "0"},
                                           {"--dim", "131072"},
                                           {"--switch", "true"},
                                           {"--timing", "each"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *argv[] = {"nvtally",   "run",    "switchback", wrong[i][0],
                              wrong[i][1], "--list", NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i][0]);
        cli_result_free(&result);
    }
}

/* The other way round it is the same layer, of which there is one row. */
static void a_square_layer_is_measured_once(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "run",     "switchback", "--dim",
                          "256",     "--batch", "64",         "--width-multiplier",
                          "1,4",     "--list",  NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out,
                        "switchback dim=256 batch=64 width_multiplier=1 timing=loop\n"
                        "switchback dim=256 batch=64 width_multiplier=4 switch=off timing=loop\n"
                        "switchback dim=256 batch=64 width_multiplier=4 switch=on timing=loop\n");
    cli_result_free(&result);
}

/* --- the report over made-up rows ------------------------------------------------------------- */

/* The i-th operation takes (i + 1)·scale µs, 1000·(i + 1) FLOPs and bytes. */
static void put_row(FILE *file, int dim, int batch, const char *is_switched, int scale)
{
    fprintf(file,
            "{\"workload\": \"switchback\", \"dim\": %d, \"batch\": %d, \"width_multiplier\": 4, "
            "\"switch\": %s, \"timing\": \"single\", \"backend\": \"host\", \"device\": \"A CPU\", "
            "\"status\": \"ok\", \"iterations\": 64, \"dim_in\": %d, \"dim_out\": %d",
            dim, batch, is_switched, *is_switched == 't' ? 4 * dim : dim,
            *is_switched == 't' ? dim : 4 * dim);
    for (int i = 0; i < OPERATIONS; i++)
        fprintf(file,
                ", \"%s_ns_mean\": %d, \"%s_ns_std\": 500, \"flops_%s\": %d, \"bytes_%s\": %d",
                operations[i], (i + 1) * scale * 1000, operations[i], operations[i], 1000 * (i + 1),
                operations[i], 1000 * (i + 1));
    for (int i = 0; i < 3; i++) {
        int sum = 0;
        for (const int *part = totals[i].parts; *part >= 0; part++)
            sum += *part + 1;
        fprintf(file, ", \"%s_ns_mean\": %d", totals[i].name, sum * scale * 1000);
    }
    fputs("}\n", file);
}

static const char *made_up(const char *name)
{
    const char *out = cli_in(cli_folder, name);
    char path[4096];
    assert_int_equal(mkdir(out, 0777), 0);
    snprintf(path, sizeof(path), "%s/results.jsonl", out);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    put_row(file, 256, 1024, "false", 1);
    put_row(file, 256, 1024, "true", 3);
    put_row(file, 512, 1024, "false", 4);
    put_row(file, 512, 32768, "true", 5);
    fclose(file);
    return out;
}

static void the_report_is_the_definition(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "stats",         "-r", "switchback", "-f",
                          "csv",     made_up("made"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    /* standard 1+2+3 = 6 µs; rowwise 8+9+11+10+2+4+5 = 49, of it quantised 38; global
     * 8+9+12+13+2+6+7 = 57, of it 42. Speed-ups 100·(6 − 49)/6 and 100·(6 − 57)/6. */
    assert_non_null(strstr(
        result.out,
        "\n256,1024,1024,single,0.0060,0.0490,0.0570,77.6,73.7,-716.7,-850.0,ok,measured\n"));
    assert_non_null(strstr(result.out, "\n1024,256,1024,single,0.0180,0.1470,0.1710,77.6,"));
    /* gw: 2 µs, 2000 FLOPs: 1e9 FLOP/s; of the totals 2/6, 2/49, 2/57. */
    assert_non_null(strstr(result.out,
                           "\n256,1024,1024,single,standard_gw,64,0.0020,0.0005,0.0010,1.00,"
                           "33.3,4.1,3.5,measured\n"));
    assert_non_null(
        strstr(result.out, "\n512,2048,1024,single,cast_w,64,0.0640,0.0005,,0.25,,,,measured\n"));
    cli_result_free(&result);
}

static void the_published_layout_has_its_25_keys(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "stats", "-f", "published", made_up("layout"), NULL};
    struct cli_result result = cli_run(argv);
    struct nvt_record record = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    cli_expect_status(&result, 0);
    static const char *const shape[] = {"repeat", "batch_size", "dim_out",
                                        "dim_in", "wm",         "switch"};
    assert_int_equal(nvt_record_parse(&record, result.out, strcspn(result.out, "\n"), &err), 0);
    assert_int_equal(record.count, 25);
    for (int i = 0; i < 6; i++)
        assert_string_equal(record.members[i].key, shape[i]);
    for (int i = 0; i < OPERATIONS; i++) {
        assert_string_equal(record.members[6 + i].key, operations[i]);
        assert_true(fabs(record.members[6 + i].number - (i + 1) / 1e3) < 1e-15);
    }
    for (int i = 0; i < 3; i++)
        assert_string_equal(record.members[22 + i].key, totals[i].name);
    nvt_record_free(&record);
    cli_result_free(&result);
}

/* --- charts ----------------------------------------------------------------------------------- */

static void both_charts_are_drawn_of_averages(void **state)
{
    (void)state;
    const char *out = made_up("charts");
    const char *argv[] = {"nvtally", "plot", "-f", "svg", out, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "switchback-times.svg\n"));
    assert_non_null(strstr(result.out, "switchback-speedup.svg\n"));
    cli_result_free(&result);
    char *data = cli_read_file(cli_in(out, "switchback.dat"), NULL);
    char *times = cli_read_file(cli_in(out, "switchback-times.gp"), NULL);
    char *svg = cli_read_file(cli_in(out, "switchback-times.svg"), NULL);
    assert_non_null(data && times && svg ? data : NULL);
    /* Both directions of 256, 1 and 3 µs: 2. The batch of the published chart is there and is
     * shown. */
    assert_non_null(strstr(data, "# batch1024\n256\t0.002\t0.004\t0.006\t"));
    assert_non_null(strstr(data, "# batch32768\n512\t0.005\t0.01\t"));
    assert_non_null(strstr(times, "index 'batch32768'"));
    assert_null(strstr(times, "index 'batch1024'"));
    for (int i = 0; i < OPERATIONS; i++)
        assert_non_null(strstr(svg, operations[i]));
    free(data);
    free(times);
    free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_all_operations_and_totals),
        cmocka_unit_test(what_does_not_fit_is_a_row),
        cmocka_unit_test(the_default_list_is_the_published_one),
        cmocka_unit_test(axes_that_make_no_layer_are_refused),
        cmocka_unit_test(a_square_layer_is_measured_once),
        cmocka_unit_test(the_report_is_the_definition),
        cmocka_unit_test(the_published_layout_has_its_25_keys),
        cmocka_unit_test(both_charts_are_drawn_of_averages),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
