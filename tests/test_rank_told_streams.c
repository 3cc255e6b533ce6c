/*
 * What is said of ranks whose devices have several streams: stages of a pipeline, stragglers that others wait for
 * through groups, all-reduces that kernels overlap. Jobs are files of PyTorch's profiler, made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "rank_told_kit.h"

/* --- jobs of several streams --- */

/* The files of a job while it is made, and what the devices of ranks have come to: us. */
struct made {
    FILE *files[RANKS];
    double at[RANKS];      /* on the stream of kernels, */
    double sends[RANKS];   /* of messages that are sent, */
    double buckets[RANKS]; /* and of all-reduces that kernels overlap */
    const char *slow;      /* a group whose link is, NULL: none */
};

static void open_job(const struct job *job, struct made *all)
{
    *all = (struct made){{NULL}, {0}, {0}, {0}, NULL};
    for (int rank = 0; rank < RANKS; rank++) {
        all->files[rank] = fopen(rank_told_path_of(job, rank), "w");
        assert_non_null(all->files[rank]);
        all->at[rank] = 1700000000000000.0;
        rank_told_begin(all->files[rank], rank);
    }
}

static void end_step(struct made *all, int step, int steps, const double *starts)
{
    for (int rank = 0; rank < RANKS; rank++) {
        rank_told_put_step(all->files[rank], step, rank, starts[rank], all->at[rank],
                           step + 1 < steps ? "," : "]}");
        all->at[rank] += 20;
        if (step + 1 == steps)
            assert_int_equal(fclose(all->files[rank]), 0);
    }
}

static void work(struct made *all, int rank, double us)
{
    rank_told_put(all->files[rank], "gemm", all->at[rank], all->at[rank] + us, "");
    all->at[rank] += us;
}

/* An all-reduce of some ranks, which ends for all at once. `overlaps`: kernels go on meanwhile. */
static void reduce(struct made *all, const char *group, const int *ranks, int count, int overlaps)
{
    double start[RANKS], end = 0;
    char more[320], members[32] = "";
    for (int i = 0; i < count; i++) {
        const double at = all->at[ranks[i]], free = all->buckets[ranks[i]];
        start[i] = overlaps && free > at ? free : at;
        end = start[i] > end ? start[i] : end;
        snprintf(members + strlen(members), sizeof(members) - strlen(members), "%s%d",
                 i ? ", " : "", ranks[i]);
    }
    end += all->slow && !strcmp(group, all->slow) ? 300 : 100;
    snprintf(more, sizeof(more),
             ",\"Collective name\":\"allreduce\",\"In msg nelems\":1024,\"Out msg nelems\":1024,"
             "\"Group size\":%d,\"dtype\":\"Float\",\"Process Group Name\":\"%s\","
             "\"Process Group Ranks\":\"[%s]\"",
             count, group, members);
    for (int i = 0; i < count; i++) {
        rank_told_put(all->files[ranks[i]], "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start[i],
                      end, more);
        all->buckets[ranks[i]] = end;
        if (!overlaps)
            all->at[ranks[i]] = end;
    }
}

/* A message that is sent while kernels go on, and waited for where it is received. */
static void pass(struct made *all, int from, int to)
{
    const int ranks[] = {from, to};
    const double starts[] = {all->sends[from] > all->at[from] ? all->sends[from] : all->at[from],
                             all->at[to]};
    const double end = (starts[0] > starts[1] ? starts[0] : starts[1]) + 30;
    for (size_t i = 0; i < NVT_COUNT_OF(ranks); i++) {
        char more[256];
        snprintf(more, sizeof(more),
                 ",\"Collective name\":\"%s\",\"In msg nelems\":1024,\"Out msg nelems\":1024,"
                 "\"Group size\":4,\"dtype\":\"Float\",\"Process Group Name\":\"pp\","
                 "\"Process Group Ranks\":\"[0, 1, 2, 3]\",\"Src Rank\":%d,\"Dst Rank\":%d",
                 i ? "recv" : "send", from, to);
        rank_told_put(all->files[ranks[i]], "ncclDevKernel_SendRecv", starts[i], end, more);
    }
    all->sends[from] = end;
    all->at[to] = end;
}

/* --- a pipeline --- */

/* The files of four stages that take as long as each other, and what their devices have come to: us. */
struct pipeline {
    FILE *files[RANKS];
    double at[RANKS];
};

static void compute(struct pipeline *all, int rank, double us)
{
    rank_told_put(all->files[rank], "gemm", all->at[rank], all->at[rank] + us, "");
    all->at[rank] += us;
}

/* A message that ends on both sides at once. */
static void send(struct pipeline *all, int from, int to)
{
    const int ranks[] = {from, to};
    const double end = (all->at[from] > all->at[to] ? all->at[from] : all->at[to]) + 100;
    for (size_t i = 0; i < NVT_COUNT_OF(ranks); i++) {
        char more[256];
        snprintf(more, sizeof(more),
                 ",\"Collective name\":\"%s\",\"In msg nelems\":1024,\"Out msg nelems\":1024,"
                 "\"Group size\":4,\"dtype\":\"Float\",\"Process Group Name\":\"pp\","
                 "\"Process Group Ranks\":\"[0, 1, 2, 3]\",\"Src Rank\":%d,\"Dst Rank\":%d",
                 i ? "recv" : "send", from, to);
        rank_told_put(all->files[ranks[i]], "ncclDevKernel_SendRecv", all->at[ranks[i]], end, more);
        all->at[ranks[i]] = end;
    }
}

static void run_step(struct pipeline *all)
{
    for (int batch = 0; batch < 4; batch++)
        for (int rank = 0; rank < RANKS; rank++) {
            compute(all, rank, 1000);
            if (rank + 1 < RANKS)
                send(all, rank, rank + 1);
        }
    for (int batch = 0; batch < 4; batch++)
        for (int rank = RANKS - 1; rank >= 0; rank--) {
            compute(all, rank, 2000);
            if (rank)
                send(all, rank, rank - 1);
        }
}

static void write_pipeline(const struct job *job)
{
    struct pipeline all;
    for (int rank = 0; rank < RANKS; rank++) {
        all.files[rank] = fopen(rank_told_path_of(job, rank), "w");
        assert_non_null(all.files[rank]);
        all.at[rank] = 1700000000000000.0;
        rank_told_begin(all.files[rank], rank);
    }
    for (int step = 0; step < 8; step++) {
        double starts[RANKS];
        memcpy(starts, all.at, sizeof(starts));
        run_step(&all);
        for (int rank = 0; rank < RANKS; rank++)
            rank_told_put_step(all.files[rank], step, rank, starts[rank], all.at[rank],
                               step + 1 < 8 ? "," : "]}");
    }
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(fclose(all.files[rank]), 0);
}

static void a_bubble_is_no_communication(void **state)
{
    (void)state;
    const struct job job = {"pipeline", rank_told_nobody, 4, {0}, 0};
    write_pipeline(&job);
    struct cli_result result = rank_told_run(&job, "diagnose", NULL, 15);
    rank_told_expect_text(result.out, "in a pipeline, its bubble");
    rank_told_expect_text(result.out, "stats -r stages");
    rank_told_expect_none(result.out, "overlap it");
    rank_told_expect_none(result.out, "straggler");
    cli_result_free(&result);
    result = rank_told_run(&job, "stats", "stragglers", 15);
    rank_told_expect_text(result.out, "its turn in the pipeline (bubble)");
    rank_told_expect_none(result.out, "runs more kernels");
    rank_told_expect_none(result.out, "kernels take longer");
    cli_result_free(&result);
}

/* Stages as long as each other, with messages that are sent meanwhile, and an all-reduce of all behind. */
static void what_a_pipeline_passes_on_is_its_bubble(void **state)
{
    (void)state;
    static const int everyone[] = {0, 1, 2, 3};
    const struct job job = {"passes", rank_told_nobody, 4, {0}, 0};
    struct made all;
    open_job(&job, &all);
    for (int step = 0; step < 8; step++) {
        double starts[RANKS];
        memcpy(starts, all.at, sizeof(starts));
        for (int batch = 0; batch < 8; batch++)
            for (int rank = 0; rank < RANKS; rank++) {
                work(&all, rank, 400);
                if (rank + 1 < RANKS)
                    pass(&all, rank, rank + 1);
            }
        for (int batch = 0; batch < 8; batch++)
            for (int rank = RANKS - 1; rank >= 0; rank--) {
                work(&all, rank, 800);
                if (rank)
                    pass(&all, rank, rank - 1);
            }
        reduce(&all, "all", everyone, RANKS, 0);
        end_step(&all, step, 8, starts);
    }
    struct cli_result result = rank_told_run(&job, "diagnose", NULL, 15);
    rank_told_expect_text(result.out, "in a pipeline, its bubble");
    rank_told_expect_none(result.out, "imbalance");
    rank_told_expect_none(result.out, "straggler");
    cli_result_free(&result);
    result = rank_told_run(&job, "stats", "stragglers", 15);
    rank_told_expect_none(result.out, "kernels take longer");
    rank_told_expect_none(result.out, "launches late");
    cli_result_free(&result);
}

/* --- a straggler that others wait for through groups --- */

/* Tensor groups {0, 1} and {2, 3}, data groups {0, 2} and {1, 3}. us: a kernel of rank 3; others take 400. */
static void write_grid(const struct job *job, double work_of_3, const char *slow)
{
    static const int groups[][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    struct made all;
    open_job(job, &all);
    all.slow = slow;
    for (int step = 0; step < 10; step++) {
        double starts[RANKS];
        memcpy(starts, all.at, sizeof(starts));
        for (int layer = 0; layer < 4; layer++) {
            for (int rank = 0; rank < RANKS; rank++)
                work(&all, rank, rank == 3 ? work_of_3 : 400 + rank + layer);
            reduce(&all, "tp0", groups[0], 2, 0);
            reduce(&all, "tp1", groups[1], 2, 0);
        }
        reduce(&all, "dp0", groups[2], 2, 0);
        reduce(&all, "dp1", groups[3], 2, 0);
        end_step(&all, step, 10, starts);
    }
}

/* What those that are there wait for a rank that is not is no transfer, and nobody's fault. */
static void nobody_is_blamed_for_a_missing_rank(void **state)
{
    (void)state;
    const struct job job = {"grid", rank_told_nobody, 4, {0}, 0};
    write_grid(&job, 800, NULL);
    struct cli_result result = rank_told_run(&job, "diagnose", NULL, 15);
    rank_told_expect_text(result.out, "rank 3 is slower than the other 3");
    rank_told_expect_none(result.out, "imbalance");
    cli_result_free(&result);
    result = rank_told_run(&job, "diagnose", NULL, 7);
    rank_told_expect_none(result.out, "straggler");
    rank_told_expect_none(result.out, "interconnect");
    rank_told_expect_none(result.out, "imbalance");
    rank_told_expect_text(result.out, "it may be a wait for one that is not");
    rank_told_expect_text(result.out, "read whole files of all ranks");
    cli_result_free(&result);
    result = rank_told_run(&job, "stats", "stragglers", 7);
    rank_told_expect_text(result.out, ",may wait for a rank that is not in the input,");
    rank_told_expect_none(result.out, "longer collectives");
    cli_result_free(&result);
    result = rank_told_run(&job, "stats", "ranks", 7);
    rank_told_expect_none(result.out, "straggler");
    cli_result_free(&result);
}

/* Each of the two ranks of a slow group holds up one other: two wait. */
static void all_that_wait_for_a_slow_group_count(void **state)
{
    (void)state;
    const struct job job = {"link", rank_told_nobody, 4, {0}, 0};
    write_grid(&job, 402, "tp1");
    struct cli_result result = rank_told_run(&job, "diagnose", NULL, 15);
    rank_told_expect_text(result.out,
                          "collectives of group tp1 (2,3) take longer than those of groups "
                          "alike, and 2 other ranks wait for its ranks");
    cli_result_free(&result);
}

/* --- all-reduces that kernels overlap --- */

/* Two buckets in a step, the first of which the second half of the kernels overlaps. Rank 2 is late by its kernels, or its batches. */
static void write_buckets(const struct job *job, double kernel, double batch)
{
    static const int everyone[] = {0, 1, 2, 3};
    struct made all;
    open_job(job, &all);
    for (int step = 0; step < 12; step++) {
        double starts[RANKS];
        memcpy(starts, all.at, sizeof(starts));
        for (int rank = 0; rank < RANKS; rank++) {
            const double waits = rank == 2 ? batch : 200;
            fprintf(all.files[rank],
                    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"enumerate(DataLoader)"
                    "#_SingleProcessDataLoaderIter.__next__\",\"pid\":%d,\"tid\":1,\"ts\":%.3f,"
                    "\"dur\":%.3f,\"args\":{}},\n",
                    1000 + rank, all.at[rank], waits);
            all.at[rank] += waits;
        }
        for (int half = 0; half < 2; half++) {
            for (int rank = 0; rank < RANKS; rank++)
                for (int i = 0; i < 5; i++)
                    work(&all, rank, rank == 2 ? kernel : 500 + rank + i);
            reduce(&all, "all", everyone, RANKS, 1);
        }
        for (int rank = 0; rank < RANKS; rank++)
            all.at[rank] = all.buckets[rank];
        end_step(&all, step, 12, starts);
    }
}

static void causes_are_found_behind_overlapped_buckets(void **state)
{
    (void)state;
    const struct job slow = {"slow", rank_told_nobody, 4, {0}, 0},
                     waits = {"waits", rank_told_nobody, 4, {0}, 0};
    write_buckets(&slow, 750, 200);
    struct cli_result result = rank_told_run(&slow, "stats", "stragglers", 15);
    rank_told_expect_text(result.out, "\n2,its kernels take longer,3,");
    rank_told_expect_none(result.out, "runs more kernels");
    cli_result_free(&result);
    write_buckets(&waits, 500, 3000);
    result = rank_told_run(&waits, "stats", "stragglers", 15);
    rank_told_expect_text(result.out, "\n2,it waits for a batch,3,");
    rank_told_expect_none(result.out, "\n2,its kernels take longer,3,");
    cli_result_free(&result);
    result = rank_told_run(&waits, "diagnose", NULL, 15);
    rank_told_expect_text(result.out, "rank 2 waits for its batches");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bubble_is_no_communication),
        cmocka_unit_test(what_a_pipeline_passes_on_is_its_bubble),
        cmocka_unit_test(nobody_is_blamed_for_a_missing_rank),
        cmocka_unit_test(all_that_wait_for_a_slow_group_count),
        cmocka_unit_test(causes_are_found_behind_overlapped_buckets),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
