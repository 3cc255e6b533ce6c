/*
 * What is said of ranks whose files are odd: groups that never meet, files that are cut or missing, ranks that are late by turns,
 * stages of a pipeline. Jobs are files of PyTorch's profiler, made here.
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
#include "read_kit.h"

#define RANKS 4
#define STEPS 32
/* us: what each computes in a step, by how much more a late rank does, and what a transfer takes. */
#define WORK     5000
#define LATE     3000
#define TRANSFER 500

static char *folder;

/* A job: who is late in a step (-1: nobody), how many ranks a group has, and how many steps the file of a rank has. */
struct job {
    const char *name;
    int (*late)(int step);
    int group;
    int steps[RANKS]; /* 0: all */
    double later;     /* us */
};

static int nobody(int step)
{
    (void)step;
    return -1;
}

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

static const char *path_of(const struct job *job, int rank)
{
    char name[64];
    snprintf(name, sizeof(name), "%s-rank%d.json", job->name, rank);
    return cli_in(folder, name);
}

static void put(FILE *out, const char *name, double start, double end, const char *more)
{
    fprintf(out,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":7%s}},\n",
            name, start, end - start, more);
}

static int is_unnumbered; /* files do not say of which rank they are */

static void begin(FILE *out, int rank)
{
    fprintf(out,
            "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100\"}],");
    if (!is_unnumbered)
        fprintf(out, "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d},",
                rank, RANKS);
    fprintf(out, "\"traceEvents\":[\n");
}

static void put_step(FILE *out, int step, int rank, double start, double end, const char *tail)
{
    fprintf(out,
            "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":%d,"
            "\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"args\":{}}%s\n",
            step, 1000 + rank, start - 20, end - start + 15, tail);
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
    begin(out, rank);
    for (int step = 0; step < steps; step++) {
        const int late = job->late(step),
                  waits = late >= 0 && late / job->group == rank / job->group;
        const double done = at + WORK + (late == rank ? LATE : 0),
                     end = at + WORK + (waits ? LATE : 0) + TRANSFER;
        put(out, "gemm", at, done, "");
        put(out, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", done, end, more);
        put_step(out, step, rank, at, end, step + 1 < steps ? "," : "]}");
        at = end + 10 + step * step * 13 % 40; /* else files that are cut could lie anywhere */
    }
}

static void write_job(const struct job *job)
{
    static const double clocks[RANKS] = {0, 123456, -98765, 555};
    for (int rank = 0; rank < RANKS; rank++) {
        FILE *out = fopen(path_of(job, rank), "w");
        assert_non_null(out);
        put_rank(job, out, rank, clocks[rank]);
        assert_int_equal(fclose(out), 0);
    }
}

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
        all->files[rank] = fopen(path_of(job, rank), "w");
        assert_non_null(all->files[rank]);
        all->at[rank] = 1700000000000000.0;
        begin(all->files[rank], rank);
    }
}

static void end_step(struct made *all, int step, int steps, const double *starts)
{
    for (int rank = 0; rank < RANKS; rank++) {
        put_step(all->files[rank], step, rank, starts[rank], all->at[rank],
                 step + 1 < steps ? "," : "]}");
        all->at[rank] += 20;
        if (step + 1 == steps)
            assert_int_equal(fclose(all->files[rank]), 0);
    }
}

static void work(struct made *all, int rank, double us)
{
    put(all->files[rank], "gemm", all->at[rank], all->at[rank] + us, "");
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
        put(all->files[ranks[i]], "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start[i], end, more);
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
        put(all->files[ranks[i]], "ncclDevKernel_SendRecv", starts[i], end, more);
    }
    all->sends[from] = end;
    all->at[to] = end;
}

/* What a command says of the files of some ranks, of which `ranks` has the bits. */
static struct cli_result run(const struct job *job, const char *command, const char *reports,
                             unsigned ranks)
{
    const char *arguments[16] = {"nvtally", command};
    size_t count = 2;
    if (reports) {
        arguments[count++] = "-r";
        arguments[count++] = reports;
        arguments[count++] = "-f";
        arguments[count++] = "csv";
    }
    for (int rank = 0; rank < RANKS; rank++)
        if (ranks >> rank & 1)
            arguments[count++] = path_of(job, rank);
    struct cli_result result = cli_run(arguments);
    cli_expect_status(&result, 0);
    return result;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void expect_none(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in:\n%s", part, text);
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
    const char *out = cli_in(folder, "apart.nvt");
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "export", path_of(&job, 0), path_of(&job, 1),
                              path_of(&job, 2), path_of(&job, 3), "--to", "nvt", "-o", out, NULL});
    cli_expect_status(&result, 0);
    expect_text(result.err, "apart-rank2.json, with 1 more on its clock, is placed behind");
    expect_none(result.err, "apart-rank3.json");
    cli_result_free(&result);
    struct nvt_trace *whole = kit_read(out);
    assert_in_range(llabs(end_of(whole, 0) - end_of(whole, 1)), 0, 1000);
    assert_in_range(llabs(end_of(whole, 2) - end_of(whole, 3)), 0, 1000);
    assert_true(end_of(whole, 2) > end_of(whole, 0) + 1000000000);
    nvt_trace_free(whole);
    result = run(&job, "stats", "stragglers", 15);
    expect_text(result.out, "\n1,0,1,");
    expect_text(result.out, "\n3,2,1,");
    expect_text(result.err, "rank 3's with rank 2's");
    cli_result_free(&result);
}

/* --- waits --- */

/* In the half that the finding is about, all of the waits are for the rank that is late there. */
static void waits_are_of_the_same_time(void **state)
{
    (void)state;
    const struct job job = {"later", first_later, 4, {0}, 0};
    write_job(&job);
    struct cli_result result = run(&job, "diagnose", NULL, 15);
    expect_text(result.out, "rank 1 is slower than the other 3");
    expect_none(result.out, "exposed communication");
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
        struct cli_result result = run(&jobs[i], "diagnose", NULL, 15);
        expect_text(result.out, "rank 2 is slower than the other 3");
        expect_text(result.out, "1  straggler   3.00 ms of ");
        expect_text(result.out, "(median, +60.0 %)");
        expect_none(result.out, "exposed communication");
        cli_result_free(&result);
        result = run(&jobs[i], "stats", "stragglers", 15);
        expect_text(result.out, ",60.0,16,16,");
        expect_text(result.err, "ranks are compared within the 128 ms that all have");
        cli_result_free(&result);
        result = run(&jobs[i], "stats", "ranks", 15);
        expect_text(result.out, "computes longer (+60.0 %)");
        expect_none(result.out, "computes less");
        cli_result_free(&result);
    }
}

/* Too few collectives in common to set clocks: nobody is compared. */
static void files_with_little_in_common_are_not_compared(void **state)
{
    (void)state;
    const struct job job = {"few", second, 4, {0, 0, 4, 0}, 0};
    write_job(&job);
    struct cli_result result = run(&job, "stats", "ranks", 15);
    expect_none(result.out, "computes");
    expect_text(result.err, "cover different times");
    cli_result_free(&result);
}

static void a_missing_rank_may_be_waited_for(void **state)
{
    (void)state;
    const struct job job = {"missing", second, 4, {0}, 0};
    write_job(&job);
    for (unsigned ranks = 1; ranks < 15; ranks += 10) { /* one alone, three */
        struct cli_result result = run(&job, "diagnose", NULL, ranks);
        expect_text(result.out, "exposed communication");
        expect_text(result.out, "it may be a wait for one that is not");
        expect_none(result.out, "overlap it");
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
    const char *arguments[] = {
        "nvtally",        "diagnose",       path_of(&job, 0),   path_of(&job, 1),
        path_of(&job, 2), path_of(&job, 3), path_of(&again, 1), NULL};
    struct cli_result result = cli_run(arguments);
    cli_expect_status(&result, 0);
    expect_text(result.err, "again-rank1.json: is of rank 1, as ");
    expect_text(result.out, "rank 2 is slower than the other 3");
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "sql", path_of(&job, 1), path_of(&again, 1),
                                           "SELECT count(*) FROM ops", NULL});
    cli_expect_status(&result, 0);
    expect_text(result.err, "again-rank1.json: is of rank 1, as ");
    cli_result_free(&result);
    const char *out = cli_in(folder, "twice.md");
    result = cli_run((const char *const[]){"nvtally", "report", path_of(&job, 0), path_of(&job, 1),
                                           path_of(&again, 1), "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(out, NULL);
    expect_text(text, "is of rank 1, as ");
    free(text);
    /* Two runs of one rank each are no job of one twice. */
    result = cli_run(
        (const char *const[]){"nvtally", "diagnose", path_of(&job, 1), path_of(&after, 1), NULL});
    expect_none(result.err, "is of rank 1");
    cli_result_free(&result);
    /* But at the same time one of them is not what it says. */
    result = cli_run(
        (const char *const[]){"nvtally", "diagnose", path_of(&job, 1), path_of(&again, 1), NULL});
    expect_text(result.err, "again-rank1.json: is of rank 1, as ");
    cli_result_free(&result);
}

/* Files of which no rank is known: a job by their group and time, and alone an hour apart. */
static void files_without_a_rank_are_a_job(void **state)
{
    (void)state;
    const char *names[] = {"node-a.json", "node-b.json", "node-c.json", "node-d.json", NULL};
    for (int apart = 0; apart < 2; apart++) {
        const char *arguments[8] = {"nvtally", "diagnose"};
        is_unnumbered = 1;
        for (int rank = 0; rank < RANKS; rank++) {
            const struct job job = {"node", second, 4, {0}, apart * 3600e6 * rank};
            FILE *out = fopen(cli_in(folder, names[rank]), "w");
            assert_non_null(out);
            put_rank(&job, out, rank, 0);
            assert_int_equal(fclose(out), 0);
            arguments[2 + rank] = cli_in(folder, names[rank]);
        }
        is_unnumbered = 0;
        struct cli_result result = cli_run(arguments);
        cli_expect_status(&result, 0);
        if (apart) {
            expect_none(result.out, "straggler  ");
        } else {
            expect_text(result.out, "is slower than the other 3");
            expect_text(result.out, "node-c.json");
            expect_none(result.out, "are in the input");
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
                                      cli_built("nvtally"), folder, NULL});
    cli_expect_status(&result, 0);
    expect_text(result.out, "nvtally stats -r stragglers -- -odd-rank0.json");
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", "-odd-rank0.json", NULL});
    cli_expect_status(&result, 2);
    expect_text(result.err, "no option '-odd-rank0.json'");
    cli_result_free(&result);
}

static void ranks_that_take_turns_are_imbalance(void **state)
{
    (void)state;
    const struct job job = {"turns", by_turns, 4, {0}, 0}, level = {"level", nobody, 4, {0}, 0};
    write_job(&job);
    write_job(&level);
    struct cli_result result = run(&job, "diagnose", NULL, 15);
    expect_text(result.out, "rank imbalance, no single straggler");
    expect_none(result.out, "overlap it");
    cli_result_free(&result);
    result = run(&level, "diagnose", NULL, 15);
    expect_none(result.out, "imbalance");
    cli_result_free(&result);
}

/* --- a pipeline --- */

/* The files of four stages that take as long as each other, and what their devices have come to: us. */
struct pipeline {
    FILE *files[RANKS];
    double at[RANKS];
};

static void compute(struct pipeline *all, int rank, double us)
{
    put(all->files[rank], "gemm", all->at[rank], all->at[rank] + us, "");
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
        put(all->files[ranks[i]], "ncclDevKernel_SendRecv", all->at[ranks[i]], end, more);
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
        all.files[rank] = fopen(path_of(job, rank), "w");
        assert_non_null(all.files[rank]);
        all.at[rank] = 1700000000000000.0;
        begin(all.files[rank], rank);
    }
    for (int step = 0; step < 8; step++) {
        double starts[RANKS];
        memcpy(starts, all.at, sizeof(starts));
        run_step(&all);
        for (int rank = 0; rank < RANKS; rank++)
            put_step(all.files[rank], step, rank, starts[rank], all.at[rank],
                     step + 1 < 8 ? "," : "]}");
    }
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(fclose(all.files[rank]), 0);
}

static void a_bubble_is_no_communication(void **state)
{
    (void)state;
    const struct job job = {"pipeline", nobody, 4, {0}, 0};
    write_pipeline(&job);
    struct cli_result result = run(&job, "diagnose", NULL, 15);
    expect_text(result.out, "in a pipeline, its bubble");
    expect_text(result.out, "stats -r stages");
    expect_none(result.out, "overlap it");
    expect_none(result.out, "straggler");
    cli_result_free(&result);
    result = run(&job, "stats", "stragglers", 15);
    expect_text(result.out, "its turn in the pipeline (bubble)");
    expect_none(result.out, "runs more kernels");
    expect_none(result.out, "kernels take longer");
    cli_result_free(&result);
}

/* Stages as long as each other, with messages that are sent meanwhile, and an all-reduce of all behind. */
static void what_a_pipeline_passes_on_is_its_bubble(void **state)
{
    (void)state;
    static const int everyone[] = {0, 1, 2, 3};
    const struct job job = {"passes", nobody, 4, {0}, 0};
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
    struct cli_result result = run(&job, "diagnose", NULL, 15);
    expect_text(result.out, "in a pipeline, its bubble");
    expect_none(result.out, "imbalance");
    expect_none(result.out, "straggler");
    cli_result_free(&result);
    result = run(&job, "stats", "stragglers", 15);
    expect_none(result.out, "kernels take longer");
    expect_none(result.out, "launches late");
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
    const struct job job = {"grid", nobody, 4, {0}, 0};
    write_grid(&job, 800, NULL);
    struct cli_result result = run(&job, "diagnose", NULL, 15);
    expect_text(result.out, "rank 3 is slower than the other 3");
    expect_none(result.out, "imbalance");
    cli_result_free(&result);
    result = run(&job, "diagnose", NULL, 7);
    expect_none(result.out, "straggler");
    expect_none(result.out, "interconnect");
    expect_none(result.out, "imbalance");
    expect_text(result.out, "it may be a wait for one that is not");
    expect_text(result.out, "read whole files of all ranks");
    cli_result_free(&result);
    result = run(&job, "stats", "stragglers", 7);
    expect_text(result.out, ",may wait for a rank that is not in the input,");
    expect_none(result.out, "longer collectives");
    cli_result_free(&result);
    result = run(&job, "stats", "ranks", 7);
    expect_none(result.out, "straggler");
    cli_result_free(&result);
}

/* Each of the two ranks of a slow group holds up one other: two wait. */
static void all_that_wait_for_a_slow_group_count(void **state)
{
    (void)state;
    const struct job job = {"link", nobody, 4, {0}, 0};
    write_grid(&job, 402, "tp1");
    struct cli_result result = run(&job, "diagnose", NULL, 15);
    expect_text(result.out, "collectives of group tp1 (2,3) take longer than those of groups "
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
    const struct job slow = {"slow", nobody, 4, {0}, 0}, waits = {"waits", nobody, 4, {0}, 0};
    write_buckets(&slow, 750, 200);
    struct cli_result result = run(&slow, "stats", "stragglers", 15);
    expect_text(result.out, "\n2,its kernels take longer,3,");
    expect_none(result.out, "runs more kernels");
    cli_result_free(&result);
    write_buckets(&waits, 500, 3000);
    result = run(&waits, "stats", "stragglers", 15);
    expect_text(result.out, "\n2,it waits for a batch,3,");
    expect_none(result.out, "\n2,its kernels take longer,3,");
    cli_result_free(&result);
    result = run(&waits, "diagnose", NULL, 15);
    expect_text(result.out, "rank 2 waits for its batches");
    cli_result_free(&result);
}

static int make_folder(void **state)
{
    (void)state;
    folder = cli_tempdir();
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    free(folder);
    return 0;
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
        cmocka_unit_test(a_bubble_is_no_communication),
        cmocka_unit_test(what_a_pipeline_passes_on_is_its_bubble),
        cmocka_unit_test(nobody_is_blamed_for_a_missing_rank),
        cmocka_unit_test(all_that_wait_for_a_slow_group_count),
        cmocka_unit_test(causes_are_found_behind_overlapped_buckets),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
