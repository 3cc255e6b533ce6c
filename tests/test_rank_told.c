/*
 * What is said of ranks whose files are odd: groups that never meet, files that are cut or missing, ranks that are late
 * by turns. Jobs are files of PyTorch's profiler, made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "rank_told_kit.h"
#include "read_kit.h"

#define STEPS 32
/* us: what each computes in a step, by how much more a late rank does, and what a transfer takes. */
#define WORK     5000
#define LATE     3000
#define TRANSFER 500

static int second(int step)
{
    (void)step;
    return 2;
}

static int first_later(int step)
{
    return step >= STEPS / 2 ? 1 : -1;
}

static int by_turns(int step)
{
    return (step * 7 + step / 4) % RANKS; /* each as often */
}

/* What all ranks of a group do in a step, of one of them. Its clock is another one's by `clock`. */
static void put_rank(const struct job *job, FILE *out, int rank, double clock)
{
    const int steps = job->steps[rank] ? job->steps[rank] : STEPS;
    double at = 1700000000000000.0 + clock + job->later;
    char more[256];
    snprintf(more, sizeof(more),
             ",\"Collective name\":\"allreduce\",\"In msg nelems\":1024,\"Out msg nelems\":1024,"
             "\"Group size\":%d,\"dtype\":\"Float\",\"Process Group Name\":\"g%d\","
             "\"Process Group Ranks\":\"[%s]\"",
             job->group, rank / job->group,
             job->group == RANKS ? "0, 1, 2, 3"
             : rank < 2          ? "0, 1"
                                 : "2, 3");
    rank_told_begin(out, rank);
    for (int step = 0; step < steps; step++) {
        const int late = job->late(step),
                  waits = late >= 0 && late / job->group == rank / job->group;
        const double done = at + WORK + (late == rank ? LATE : 0),
                     end = at + WORK + (waits ? LATE : 0) + TRANSFER;
        rank_told_put(out, "gemm", at, done, "");
        rank_told_put(out, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", done, end, more);
        rank_told_put_step(out, step, rank, at, end, step + 1 < steps ? "," : "]}");
        at = end + 10 + step * step * 13 % 40; /* else files that are cut could lie anywhere */
    }
}

static void write_job(const struct job *job)
{
    static const double clocks[RANKS] = {0, 123456, -98765, 555};
    for (int rank = 0; rank < RANKS; rank++) {
        FILE *out = fopen(rank_told_path_of(job, rank), "w");
        assert_non_null(out);
        put_rank(job, out, rank, clocks[rank]);
        assert_int_equal(fclose(out), 0);
    }
}

/* --- clocks --- */

/* The end of the last collective of a rank. */
static int64_t end_of(const struct nvt_trace *trace, uint32_t rank)
{
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->processes.rank[trace->ops.process[i]] == rank && trace->ops.end[i] > end)
            end = trace->ops.end[i];
    return end;
}

/* Ranks 2 and 3 meet neither of the others, but each other: one stands behind the first two, and the other with it. */
static void groups_apart_are_aligned_within(void **state)
{
    (void)state;
    const struct job job = {"apart", second, 2, {0}, 0};
    write_job(&job);
    const char *out = cli_in(cli_folder, "apart.nvt");
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "export", rank_told_path_of(&job, 0), rank_told_path_of(&job, 1),
        rank_told_path_of(&job, 2), rank_told_path_of(&job, 3), "--to", "nvt", "-o", out, NULL});
    cli_expect_status(&result, 0);
    rank_told_expect_text(result.err,
                          "apart-rank2.json, with 1 more on its clock, is placed behind");
    rank_told_expect_none(result.err, "apart-rank3.json");
    cli_result_free(&result);
    struct nvt_trace *whole = kit_read(out);
    assert_in_range(llabs(end_of(whole, 0) - end_of(whole, 1)), 0, 1000);
    assert_in_range(llabs(end_of(whole, 2) - end_of(whole, 3)), 0, 1000);
    assert_true(end_of(whole, 2) > end_of(whole, 0) + 1000000000);
    nvt_trace_free(whole);
    result = rank_told_run(&job, "stats", "stragglers", 15);
    rank_told_expect_text(result.out, "\n1,0,1,");
    rank_told_expect_text(result.out, "\n3,2,1,");
    rank_told_expect_text(result.err, "rank 3's with rank 2's");
    cli_result_free(&result);
}

/* --- waits --- */

/* In the half that the finding is about, all of the waits are for the rank that is late there. */
static void waits_are_of_the_same_time(void **state)
{
    (void)state;
    const struct job job = {"later", first_later, 4, {0}, 0};
    write_job(&job);
    struct cli_result result = rank_told_run(&job, "diagnose", NULL, 15);
    rank_told_expect_text(result.out, "rank 1 is slower than the other 3");
    rank_told_expect_none(result.out, "exposed communication");
    cli_result_free(&result);
}

/* A file that ends in the middle: its rank's, or that of one that waits. */
static void cut_files_are_compared_within(void **state)
{
    (void)state;
    const struct job jobs[] = {{"own", second, 4, {0, 0, STEPS / 2, 0}, 0},
                               {"other", second, 4, {STEPS / 2, 0, 0, 0}, 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(jobs); i++) {
        write_job(&jobs[i]);
        struct cli_result result = rank_told_run(&jobs[i], "diagnose", NULL, 15);
        rank_told_expect_text(result.out, "rank 2 is slower than the other 3");
        rank_told_expect_text(result.out, "1  straggler   3.00 ms of ");
        rank_told_expect_text(result.out, "(median, +60.0 %)");
        rank_told_expect_none(result.out, "exposed communication");
        cli_result_free(&result);
        result = rank_told_run(&jobs[i], "stats", "stragglers", 15);
        rank_told_expect_text(result.out, ",60.0,16,16,");
        rank_told_expect_text(result.err, "ranks are compared within the 128 ms that all have");
        cli_result_free(&result);
        result = rank_told_run(&jobs[i], "stats", "ranks", 15);
        rank_told_expect_text(result.out, "computes longer (+60.0 %)");
        rank_told_expect_none(result.out, "computes less");
        cli_result_free(&result);
    }
}

/* Too few collectives in common to set clocks: nobody is compared. */
static void files_with_little_in_common_are_not_compared(void **state)
{
    (void)state;
    const struct job job = {"few", second, 4, {0, 0, 4, 0}, 0};
    write_job(&job);
    struct cli_result result = rank_told_run(&job, "stats", "ranks", 15);
    rank_told_expect_none(result.out, "computes");
    rank_told_expect_text(result.err, "cover different times");
    cli_result_free(&result);
}

static void a_missing_rank_may_be_waited_for(void **state)
{
    (void)state;
    const struct job job = {"missing", second, 4, {0}, 0};
    write_job(&job);
    for (unsigned ranks = 1; ranks < 15; ranks += 10) { /* one alone, three */
        struct cli_result result = rank_told_run(&job, "diagnose", NULL, ranks);
        rank_told_expect_text(result.out, "exposed communication");
        rank_told_expect_text(result.out, "it may be a wait for one that is not");
        rank_told_expect_none(result.out, "overlap it");
        cli_result_free(&result);
    }
}

static void a_rank_given_twice_is_noted(void **state)
{
    (void)state;
    const struct job job = {"first", second, 4, {0}, 0}, again = {"again", second, 4, {0}, 0},
                     after = {"after", second, 4, {0}, 3600e6};
    write_job(&job);
    write_job(&again);
    write_job(&after);
    const char *arguments[] = {"nvtally",
                               "diagnose",
                               rank_told_path_of(&job, 0),
                               rank_told_path_of(&job, 1),
                               rank_told_path_of(&job, 2),
                               rank_told_path_of(&job, 3),
                               rank_told_path_of(&again, 1),
                               NULL};
    struct cli_result result = cli_run(arguments);
    cli_expect_status(&result, 0);
    rank_told_expect_text(result.err, "again-rank1.json: is of rank 1, as ");
    rank_told_expect_text(result.out, "rank 2 is slower than the other 3");
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "sql", rank_told_path_of(&job, 1),
                                           rank_told_path_of(&again, 1), "SELECT count(*) FROM ops",
                                           NULL});
    cli_expect_status(&result, 0);
    rank_told_expect_text(result.err, "again-rank1.json: is of rank 1, as ");
    cli_result_free(&result);
    const char *out = cli_in(cli_folder, "twice.md");
    result = cli_run((const char *const[]){"nvtally", "report", rank_told_path_of(&job, 0),
                                           rank_told_path_of(&job, 1), rank_told_path_of(&again, 1),
                                           "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(out, NULL);
    rank_told_expect_text(text, "is of rank 1, as ");
    free(text);
    /* Two runs of one rank each are no job of one twice. */
    result = cli_run((const char *const[]){"nvtally", "diagnose", rank_told_path_of(&job, 1),
                                           rank_told_path_of(&after, 1), NULL});
    rank_told_expect_none(result.err, "is of rank 1");
    cli_result_free(&result);
    /* But at the same time one of them is not what it says. */
    result = cli_run((const char *const[]){"nvtally", "diagnose", rank_told_path_of(&job, 1),
                                           rank_told_path_of(&again, 1), NULL});
    rank_told_expect_text(result.err, "again-rank1.json: is of rank 1, as ");
    cli_result_free(&result);
}

/* Files of which no rank is known: a job by their group and time, and alone an hour apart. */
static void files_without_a_rank_are_a_job(void **state)
{
    (void)state;
    const char *names[] = {"node-a.json", "node-b.json", "node-c.json", "node-d.json", NULL};
    for (int apart = 0; apart < 2; apart++) {
        const char *arguments[8] = {"nvtally", "diagnose"};
        rank_told_is_unnumbered = 1;
        for (int rank = 0; rank < RANKS; rank++) {
            const struct job job = {"node", second, 4, {0}, apart * 3600e6 * rank};
            FILE *out = fopen(cli_in(cli_folder, names[rank]), "w");
            assert_non_null(out);
            put_rank(&job, out, rank, 0);
            assert_int_equal(fclose(out), 0);
            arguments[2 + rank] = cli_in(cli_folder, names[rank]);
        }
        rank_told_is_unnumbered = 0;
        struct cli_result result = cli_run(arguments);
        cli_expect_status(&result, 0);
        if (apart) {
            rank_told_expect_none(result.out, "straggler  ");
        } else {
            rank_told_expect_text(result.out, "is slower than the other 3");
            rank_told_expect_text(result.out, "node-c.json");
            rank_told_expect_none(result.out, "are in the input");
        }
        cli_result_free(&result);
    }
}

/* A name that begins with a '-': an option without "--", and no option of the commands that are suggested. */
static void a_name_like_an_option_is_a_file(void **state)
{
    (void)state;
    const struct job job = {"-odd", second, 4, {0}, 0};
    write_job(&job);
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", "cd \"$1\" && exec \"$0\" diagnose -- -odd-rank*",
                                      cli_built("nvtally"), cli_folder, NULL});
    cli_expect_status(&result, 0);
    rank_told_expect_text(result.out, "nvtally stats -r stragglers -- -odd-rank0.json");
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", "-odd-rank0.json", NULL});
    cli_expect_status(&result, 2);
    rank_told_expect_text(result.err, "unknown option -odd-rank0.json;");
    cli_result_free(&result);
}

static void ranks_that_take_turns_are_imbalance(void **state)
{
    (void)state;
    const struct job job = {"turns", by_turns, 4, {0}, 0},
                     level = {"level", rank_told_nobody, 4, {0}, 0};
    write_job(&job);
    write_job(&level);
    struct cli_result result = rank_told_run(&job, "diagnose", NULL, 15);
    rank_told_expect_text(result.out, "rank imbalance, no single straggler");
    rank_told_expect_none(result.out, "overlap it");
    cli_result_free(&result);
    result = rank_told_run(&level, "diagnose", NULL, 15);
    rank_told_expect_none(result.out, "imbalance");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_apart_are_aligned_within),
        cmocka_unit_test(waits_are_of_the_same_time),
        cmocka_unit_test(cut_files_are_compared_within),
        cmocka_unit_test(files_with_little_in_common_are_not_compared),
        cmocka_unit_test(a_missing_rank_may_be_waited_for),
        cmocka_unit_test(a_rank_given_twice_is_noted),
        cmocka_unit_test(files_without_a_rank_are_a_job),
        cmocka_unit_test(a_name_like_an_option_is_a_file),
        cmocka_unit_test(ranks_that_take_turns_are_imbalance),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
