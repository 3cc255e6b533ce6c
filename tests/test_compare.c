/*
 * The command `compare`: exit status, repetitions, verdicts on runs whose truth is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

/* A run directory with one row. */
static const char *make_directory(const char *name, const char *row)
{
    const char *path = cli_in(cli_folder, name);
    mkdir(path, 0700);
    cli_write_file(cli_in(path, "results.jsonl"), row, strlen(row));
    return path;
}

/* One record, as `run --collect off` leaves it. */
static const char *make_run(const char *name, double forward_ns, double std_ns)
{
    char row[1024];
    snprintf(
        row, sizeof(row),
        "{\"workload\": \"linear\", \"size\": 64, \"backend\": \"host\", \"iterations\": 100, "
        "\"status\": \"ok\", \"forward_ns_mean\": %g, \"forward_ns_std\": %g, \"trace\": null}\n",
        forward_ns, std_ns);
    return make_directory(name, row);
}

static void a_regression_is_exit_status_1(void **state)
{
    (void)state;
    const char *before = make_run("before", 1e6, 2e4), *after = make_run("after", 1.2e6, 2e4);
    const char *slower[] = {"nvtally", "compare", before, after, "--fail-above",
                            "5%",      "-f",      "csv",  NULL};
    struct cli_result result = cli_run(slower);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, ",forward,"));
    assert_non_null(strstr(result.out, ",slower"));
    assert_non_null(strstr(result.err, "1 slower by more than 5 %"));
    cli_result_free(&result);
    const char *allowed[] = {"nvtally", "compare", before, after, "--fail-above", "30", NULL};
    result = cli_run(allowed);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *faster[] = {"nvtally", "compare", after, before, "--fail-above", "5", NULL};
    result = cli_run(faster);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "faster"));
    cli_result_free(&result);
    const char *same[] = {"nvtally", "compare", before, before, NULL};
    result = cli_run(same);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "same"));
    cli_result_free(&result);
}

/* Times from traces: a run against itself is the same to the last digit. */
static void traces_give_their_times(void **state)
{
    (void)state;
    const char *trace = cli_in(cli_folder, "t.nvt");
    const char *record[] = {"nvtally",           "record", "-o",   trace, "--",
                            cli_client("pairs"), "1",      "5000", NULL};
    struct cli_result result = cli_run(record);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *argv[] = {"nvtally", "compare", trace, trace, "vs",
                          trace,     trace,     "-f",  "csv", NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "range,:work,B,10000,10000,"));
    assert_null(strstr(result.out, "slower"));
    assert_null(strstr(result.out, "faster"));
    cli_result_free(&result);
}

/* Ranges of one name, "name" or "category|name": so many, each about that long, in µs. */
struct ranges {
    const char *name;
    int count;
    double us;
};

static const char *make_profile(const char *name, const struct ranges *ranges, size_t kinds)
{
    const char *path = cli_in(cli_folder, name);
    FILE *out = fopen(path, "w");
    double at = 0;
    assert_non_null(out);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n", out);
    for (size_t k = 0; k < kinds; k++)
        for (int i = 0; i < ranges[k].count; i++) {
            const char *bar = strchr(ranges[k].name, '|');
            int length = bar ? (int)(bar - ranges[k].name) : 4;
            double us = ranges[k].us * (1 + 0.01 * ((i * 7 + 3) % 11));
            fprintf(
                out,
                "%s{\"ph\": \"X\", \"cat\": \"%.*s\", \"name\": \"%s\", \"pid\": 7, \"tid\": 7, "
                "\"ts\": %.3f, \"dur\": %.3f}\n",
                at > 0 ? "," : "", length, bar ? ranges[k].name : "nvtx",
                bar ? bar + 1 : ranges[k].name, at, us);
            at += 2 * us;
        }
    fputs("]}\n", out);
    assert_int_equal(fclose(out), 0);
    return path;
}

/* Ranks of different speed, all slower by a tenth. */
static void ranks_are_compared_with_themselves(void **state)
{
    (void)state;
    const char *argv[16] = {"nvtally", "compare"};
    int count = 2;
    for (int side = 0; side < 2; side++) {
        for (int rank = 0; rank < 4; rank++) {
            char name[32];
            const struct ranges forward = {"forward", 40, (1 + rank) * (side ? 1100 : 1000)};
            snprintf(name, sizeof(name), "%c.rank%d.json", 'a' + side, rank);
            argv[count++] = make_profile(name, &forward, 1);
        }
        argv[count++] = side ? "--fail-above" : "vs";
    }
    argv[count++] = "5%";
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, ", 4 ranks, each compared with itself"));
    assert_non_null(strstr(result.out, "slower"));
    assert_non_null(strstr(result.err, "one run per side"));
    cli_result_free(&result);
}

/* The first line: what would not have been seen is no difference up to 20 %, and no answer above. */
static void the_first_line_says_what_would_be_seen(void **state)
{
    (void)state;
    static const struct {
        double std_ns;
        const char *says;
    } cases[] = {
        {5e5, "B: no difference found in forward, would have seen 1"},
        {3e6, "B: cannot tell whether forward changed: less than 1"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *one = make_run("one", 1e6, cases[i].std_ns);
        struct cli_result result = cli_run((const char *[]){"nvtally", "compare", one, one, NULL});
        cli_expect_status(&result, 0);
        if (strncmp(result.out, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%s", result.out);
        cli_result_free(&result);
    }
}

/* A bound within the tolerance is kept, too: what is the same may be slower by more. */
static void a_bound_may_be_below_the_tolerance(void **state)
{
    (void)state;
    const struct ranges times[] = {{"step", 200, 1000}, {"step", 200, 1020}};
    const char *before = make_profile("below_a.json", &times[0], 1);
    const char *after = make_profile("below_b.json", &times[1], 1);
    static const struct {
        const char *bound, *tolerance;
        int status;
    } cases[] = {{"0.1", "5", 1}, {"4", "5", 0}, {"0.1", "0", 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = cli_run(
            (const char *const[]){"nvtally", "compare", "-f", "csv", before, after, "--fail-above",
                                  cases[i].bound, "--tolerance", cases[i].tolerance, NULL});
        cli_expect_status(&result, cases[i].status);
        cli_result_free(&result);
    }
}

/* By how much the total has changed; what only one side has; no more than asked for. */
static void what_matters_most_comes_first(void **state)
{
    (void)state;
    const struct ranges before[] = {{"small", 40, 10}, {"large", 40, 1000}, {"gone", 3, 100}};
    const struct ranges after[] = {{"small", 40, 20}, {"large", 40, 1100}, {"new", 2, 1}};
    const char *a = make_profile("before.json", before, 3);
    const char *b = make_profile("after.json", after, 3);
    const char *argv[] = {"nvtally", "compare", a, b, "-f", "csv", NULL, NULL, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *large = strstr(result.out, ":large,B,40,40,"), *gone = strstr(result.out, ":gone,");
    const char *small = strstr(result.out, ":small,B,40,40,"), *added = strstr(result.out, ":new,");
    assert_true(large && small && gone && added);
    assert_true(!strncmp(result.out, "kind,name,side,", 15)); /* there is no configuration */
    assert_true(large < small && small < gone && gone < added);
    assert_non_null(strstr(gone, ",only in A\n"));
    assert_non_null(strstr(added, ",only in B\n"));
    assert_non_null(strstr(result.err, "only in A: 1 range\n"));
    assert_non_null(strstr(result.err, "only in B: 1 range\n"));
    cli_result_free(&result);
    argv[6] = "--top";
    argv[7] = "1";
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ":large,"));
    assert_null(strstr(result.out, ":small,"));
    assert_non_null(strstr(result.err, "1 of 4 rows are shown\n"));
    cli_result_free(&result);
}

/* Totals are of one run beside numbers of all of them: said where a side has several. */
static void totals_of_several_runs_are_of_one(void **state)
{
    (void)state;
    const struct ranges before = {"step", 40, 100}, after = {"step", 40, 200};
    const char *a = make_profile("total_a.json", &before, 1);
    const char *a2 = make_profile("total_a2.json", &before, 1);
    const char *b = make_profile("total_b.json", &after, 1);
    static const char told[] = "; totals are per run, n counts all runs of a side";
    struct cli_result result = cli_run((const char *const[]){"nvtally", "compare", a, b, NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, told));
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "compare", a, a2, "vs", b, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, told));
    cli_result_free(&result);
}

/* Functions of Python have line numbers, which another version has not: only modules are compared,
 * or functions where there is nothing else. */
static void functions_of_the_stack_are_left_out(void **state)
{
    (void)state;
    const struct ranges ranges[] = {{"python_function|train.py(7): step", 30, 10},
                                    {"python_function|nn.Module: Linear_0", 30, 5},
                                    {"cpu_op|aten::mm", 30, 3}};
    const char *whole = make_profile("whole.json", ranges, 3);
    const char *bare = make_profile("bare.json", ranges, 1);
    const char *argv[] = {"nvtally", "compare", whole, whole, "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "aten::mm"));
    assert_non_null(strstr(result.out, "nn.Module: Linear_0"));
    assert_null(strstr(result.out, "train.py"));
    cli_result_free(&result);
    argv[2] = argv[3] = bare;
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "train.py(7): step"));
    cli_result_free(&result);
}

/* Three times a side say nothing; whoever wants to be sure can fail for them too. */
static void what_cannot_be_told_is_told(void **state)
{
    (void)state;
    const struct ranges before = {"few", 3, 10}, after = {"few", 3, 20};
    const char *a = make_profile("few-a.json", &before, 1);
    const char *b = make_profile("few-b.json", &after, 1);
    const char *argv[] = {"nvtally", "compare", a, b, "--fail-above", "5", NULL, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "cannot tell"));
    assert_non_null(strstr(result.err, "1 may be slower by more than 5 % (cannot tell); "
                                       "--fail-unknown makes that exit status 1\n"));
    cli_result_free(&result);
    argv[6] = "--fail-unknown";
    result = cli_run(argv);
    cli_expect_status(&result, 1);
    cli_result_free(&result);
}

/* A run directory whose row has a peak, of so many MiB. */
static const char *make_peak(const char *name, double mib)
{
    char row[1024];
    snprintf(
        row, sizeof(row),
        "{\"workload\": \"linear\", \"size\": 64, \"backend\": \"host\", \"iterations\": 100, "
        "\"status\": \"ok\", \"forward_ns_mean\": 1000000, \"forward_ns_std\": 1000, "
        "\"peak_allocated_bytes\": %.0f, \"peak_reserved_bytes\": 1073741824, \"trace\": null}\n",
        mib * 1048576);
    return make_directory(name, row);
}

/* Compare with a bound for memory; the exit status, and what stands on stdout or stderr. */
static void expect_peaks(const char *const *sides, int status, const char *out, const char *err)
{
    const char *argv[24] = {"nvtally", "compare", "-f", "csv", "--fail-memory-above", "5"};
    for (size_t i = 0; sides[i]; i++)
        argv[6 + i] = sides[i];
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    if (out ? !strstr(result.out, out) : strstr(result.out, "peak A") != NULL)
        fail_msg("no %s in %s", out ? out : "table of times alone", result.out);
    if (!strstr(result.err, err))
        fail_msg("no %s in %s", err, result.err);
    cli_result_free(&result);
}

/* Of several runs a side all have to be above all others; what is the same has no row. */
static void more_memory_is_exit_status_1(void **state)
{
    (void)state;
    const char *a1 = make_peak("a1", 100), *a2 = make_peak("a2", 102);
    const char *b1 = make_peak("b1", 108), *b2 = make_peak("b2", 112);
    const char *c1 = make_peak("c1", 99), *c2 = make_peak("c2", 130);
    expect_peaks((const char *const[]){a1, b1, NULL}, 1,
                 "size=64,allocated,B,1,1,100.00,108.00,8.00,8.00,more\n",
                 "nvtally: memory: 1 higher by more than 5 %");
    expect_peaks((const char *const[]){a1, a2, "vs", b1, b2, NULL}, 1,
                 "size=64,allocated,B,2,2,101.00,110.00,9.00,8.91,more\n",
                 "nvtally: memory: 1 other peak is unchanged");
    expect_peaks((const char *const[]){a1, a2, "vs", c1, c2, NULL}, 0,
                 "size=64,allocated,B,2,2,101.00,114.50,13.50,13.37,cannot tell\n", "");
    expect_peaks((const char *const[]){b1, a1, NULL}, 0, ",less\n", "");
    expect_peaks((const char *const[]){a1, b1, "--tolerance", "20", NULL}, 1, NULL,
                 "nvtally: memory: 1 higher by more than 5 %");
    expect_peaks((const char *const[]){a1, a2, NULL}, 0,
                 "size=64,allocated,B,1,1,100.00,102.00,2.00,2.00,more\n", "");
    expect_peaks((const char *const[]){a1, a1, NULL}, 0, NULL,
                 "nvtally: memory: all 2 peaks are the same");
}

/* A profile with an allocation and a range of one name. */
static const char *make_allocation(const char *name, double mib)
{
    char text[1024];
    const char *path = cli_in(cli_folder, name);
    snprintf(text, sizeof(text),
             "{\"schemaVersion\": 1, \"traceEvents\": [\n"
             "{\"ph\": \"X\", \"cat\": \"nvtx\", \"name\": \"step\", \"pid\": 7, \"tid\": 7, "
             "\"ts\": 1, \"dur\": 9},\n"
             "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 7, "
             "\"tid\": 7, \"ts\": 2, \"args\": {\"Total Reserved\": 104857600, "
             "\"Total Allocated\": %.0f, \"Bytes\": 1048576, \"Addr\": 4096, \"Device Id\": 1, "
             "\"Device Type\": 1}}]}\n",
             mib * 1048576);
    cli_write_file(path, text, strlen(text));
    return path;
}

static void peaks_of_traces_are_those_of_devices(void **state)
{
    (void)state;
    const char *a0 = make_allocation("m_rank0.json", 50), *a1 = make_allocation("m_rank1.json", 50);
    const char *b0 = make_allocation("n_rank0.json", 50), *b1 = make_allocation("n_rank1.json", 75);
    expect_peaks((const char *const[]){a0, a1, "vs", b0, b1, NULL}, 1,
                 "\n,\"device 1, rank 1, allocated\",B,1,1,50.00,75.00,25.00,50.00,more\n",
                 "nvtally: memory: 3 other peaks are unchanged");
}

static void what_cannot_be_compared_says_so(void **state)
{
    (void)state;
    const char *before = make_run("x", 1e6, 2e4);
    const char *trace = cli_in(cli_folder, "y.nvt");
    const char *record[] = {"nvtally",           "record", "-o", trace, "--",
                            cli_client("pairs"), "1",      "10", NULL};
    struct cli_result result = cli_run(record);
    cli_result_free(&result);
    const struct {
        const char *arguments[4];
        const char *needle;
    } bad[] = {{{before, NULL}, "needs two sides"},
               {{before, "vs", NULL}, "needs two sides"},
               {{"vs", before, NULL}, "nothing to compare"},
               {{before, trace, NULL}, "nothing in common"},
               {{"--fail-above", "much", before, NULL}, "--fail-above much"},
               {{"--fail-memory-above", "x", before, NULL}, "--fail-memory-above x"},
               {{"--fail-memory-above", "5", before, before}, "has nothing to check"},
               {{"--tolerance", "-1", before, NULL}, "--tolerance -1"},
               {{"--top", "0", before, NULL}, "--top 0"},
               {{"--fail-unknown", before, NULL}, "--fail-unknown needs --fail-above"},
               {{"-f", "xml", before, NULL}, "no format 'xml'"}};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        const char *const *more = bad[i].arguments;
        const char *argv[] = {"nvtally",
                              "compare",
                              more[0],
                              more[1],
                              more[1] ? more[2] : NULL,
                              more[1] && more[2] ? more[3] : NULL,
                              NULL};
        result = cli_run(argv);
        cli_expect_failure(&result, bad[i].needle);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regression_is_exit_status_1),
        cmocka_unit_test(the_first_line_says_what_would_be_seen),
        cmocka_unit_test(traces_give_their_times),
        cmocka_unit_test(ranks_are_compared_with_themselves),
        cmocka_unit_test(what_matters_most_comes_first),
        cmocka_unit_test(totals_of_several_runs_are_of_one),
        cmocka_unit_test(a_bound_may_be_below_the_tolerance),
        cmocka_unit_test(what_cannot_be_told_is_told),
        cmocka_unit_test(functions_of_the_stack_are_left_out),
        cmocka_unit_test(peaks_of_traces_are_those_of_devices),
        cmocka_unit_test(more_memory_is_exit_status_1),
        cmocka_unit_test(what_cannot_be_compared_says_so),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
