/*
 * The script that compares reports on ranks with its own sums (tests/public/ranks), over a profile like those that others have
 * published: several ranks in one file, whose processes' names alone say which they are, in no order.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cli.h"
#include "../lib/count_of.h"

enum { RANKS = 4, TURNS = 6, LATE = 3 };

/* The order of the ranks in the file. */
static const int order[RANKS] = {2, 0, 3, 1};

static void write_kernel(FILE *out, int rank, const char *name, double start, double length,
                         const char *args)
{
    fprintf(out,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":%d,\"tid\":7,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":{\"device\":%d,\"stream\":7%s}},\n",
            name, 100 * rank + 5, start, length, rank, args);
}

/* Iterations of 1 ms: a GEMM, for longer on the late rank, and an all-reduce that all leave together. The late rank's trace begins 50 us
 * before its first all-reduce, for which the others have waited for longer. */
static void write_rank(FILE *out, int rank)
{
    char group[128];
    const int is_late = rank == LATE;
    snprintf(group, sizeof(group),
             ",\"Collective name\":\"allreduce\",\"In msg nelems\":1000,\"Out msg nelems\":1000,"
             "\"Group size\":%d,\"dtype\":\"Float\",",
             RANKS);
    for (int i = 0; i < TURNS; i++) {
        const double start = 1000.0 * (i + 1), end = start + 900,
                     begin = is_late ? 700 : 300 + rank;
        char args[320];
        snprintf(args, sizeof(args),
                 "%s\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1, 2, 3]\"", group);
        write_kernel(out, rank, "gemm", start + (is_late && !i ? 650 : 0),
                     begin - (is_late && !i ? 650 : 0), "");
        write_kernel(out, rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + begin,
                     end - start - begin, args);
    }
}

static void write_profile(const char *path)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"traceEvents\":[\n", out);
    for (int i = 0; i < RANKS; i++)
        write_rank(out, order[i]);
    for (int i = 0; i < RANKS; i++)
        fprintf(out,
                "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,"
                "\"args\":{\"name\":\"RANK %d - GPU\"}}%s\n",
                100 * order[i] + 5, order[i], i < RANKS - 1 ? "," : "]}");
    assert_int_equal(fclose(out), 0);
}

/* The rank that comes last is the one that the names say, at moments that are in its trace. */
static void names_say_who_is_late(void **state)
{
    (void)state;
    write_profile(cli_in(cli_folder, "job.json"));
    struct cli_result result =
        cli_run((const char *const[]){cli_built("nvtally"), "stats", "-r", "stragglers", "-f",
                                      "csv", cli_in(cli_folder, "job.json"), NULL});
    cli_expect_status(&result, 0);
    for (int i = 0; i < RANKS; i++) {
        char row[64];
        snprintf(row, sizeof(row), "\n%d,job.json,", i);
        const char *at = strstr(result.out, row), *line = at ? strchr(at + 1, '\n') : NULL;
        assert_non_null(line);
        assert_int_equal(!!strstr(at, ",6,6,100.0,") && strstr(at, ",6,6,100.0,") < line,
                         i == LATE);
    }
    cli_result_free(&result);
    result = cli_run((const char *const[]){cli_built("nvtally"), "diagnose",
                                           cli_in(cli_folder, "job.json"), NULL});
    assert_non_null(strstr(result.out, "rank 3 is slower than the other 3"));
    cli_result_free(&result);
}

/* The others had waited since before the late rank's trace begins: the moment to look at is its beginning. */
static void moments_are_in_the_trace(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "rank%d.json", i);
        FILE *out = fopen(cli_in(cli_folder, name), "w");
        assert_non_null(out);
        fprintf(out, "{\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},\"traceEvents\":[\n", i,
                RANKS);
        write_rank(out, i);
        fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}}]}",
              out);
        assert_int_equal(fclose(out), 0);
    }
    struct cli_result result =
        cli_run((const char *const[]){cli_built("nvtally"), "diagnose", cli_folder, NULL});
    const char *finding = strstr(result.out, "rank 3 is slower than the other 3"),
               *moments = finding ? strstr(finding, "look at ") : NULL;
    assert_non_null(moments);
    print_message("%.60s\n", moments);
    assert_null(memchr(moments, '-', strcspn(moments, "\n")));
    cli_result_free(&result);
}

static struct cli_result run_script(const char *program)
{
    return cli_run(
        (const char *const[]){"python3", "tests/public/ranks", program, cli_folder, NULL});
}

static void sums_agree(void **state)
{
    (void)state;
    write_profile(cli_in(cli_folder, "job.json"));
    struct cli_result result = run_script(cli_built("nvtally"));
    print_message("%s", result.out);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "4 ranks, 48 operations, 1 sizes of collectives: 27 numbers "
                                       "compared, 0 differ"));
    cli_result_free(&result);
}

/* A program whose numbers are wrong is found out. */
static void wrong_sums_differ(void **state)
{
    (void)state;
    static const char *const edits[] = {"s/,6,0,/,6,1,/", "s/^3,/9,/; s/^2,/3,/; s/^9,/2,/",
                                        "s/allreduce,Float,4,4000,24/allreduce,Float,4,4000,23/"};
    char script[8400];
    write_profile(cli_in(cli_folder, "job.json"));
    for (size_t i = 0; i < NVT_COUNT_OF(edits); i++) {
        snprintf(script, sizeof(script), "#!/bin/sh\n'%s' \"$@\" | sed '%s'\n",
                 cli_built("nvtally"), edits[i]);
        cli_write_file(cli_in(cli_folder, "wrong"), script, strlen(script));
        assert_int_equal(chmod(cli_in(cli_folder, "wrong"), 0755), 0);
        struct cli_result result = run_script(cli_in(cli_folder, "wrong"));
        assert_int_equal(result.status, 1);
        assert_non_null(strstr(result.out, "by this script"));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_say_who_is_late, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(moments_are_in_the_trace, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(sums_agree, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(wrong_sums_differ, cli_folder_set_up,
                                        cli_folder_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
