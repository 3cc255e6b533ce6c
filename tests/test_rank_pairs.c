/*
 * Which collectives of a job's ranks belong together: within their groups, by sequence numbers, and where that cannot be known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/studies/rank_blame.h"
#include "../lib/count_of.h"
#include "made_trace.h"

#define RANKS  4
#define REDUCE "ncclDevKernel_AllReduce"
#define SENDS  "ncclDevKernel_SendRecv"

/* The traces of a job, and what it is read as. */
struct job {
    struct nvt_input_trace traces[RANKS];
    struct nvt_input input;
    struct nvt_ranks ranks;
    struct nvt_rank_pairs pairs;
};

static void begin(struct job *job)
{
    *job = (struct job){.input = {.traces = job->traces, .trace_count = RANKS}};
    for (uint32_t i = 0; i < RANKS; i++) {
        struct nvt_trace *trace = nvt_trace_new("/x/job.json", "test");
        assert_non_null(trace);
        nvt_trace_thread(trace, nvt_trace_process(trace, 10 + i), 10 + i);
        trace->processes.rank[0] = i;
        job->traces[i].trace = trace;
    }
}

/* A kernel that communicates, of a group (NULL: nothing is told) as a framework names it. */
struct message {
    const char *kernel, *does, *group, *members;
    uint32_t size, peer;
    uint64_t sequence;            /* 0: none */
    const char *domain, *payload; /* of a range around the launch, NULL: there is none */
};

static void add_range(struct nvt_trace *trace, const struct message *message, int64_t time)
{
    const struct nvt_range range = {
        .start = time - 10,
        .end = time + 10,
        .domain = nvt_trace_domain(trace, 0, message->domain),
        .name = nvt_strings_add_text(trace->strings, "all_reduce"),
        .payload = nvt_strings_add_text(trace->strings, message->payload),
        .style = message->domain[0] == 'P' ? NVT_START_END : NVT_PUSH_POP,
        .flags = NVT_RANGE_HAS_PAYLOAD};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
}

static void add(struct job *job, uint32_t rank, const struct message *message, int64_t start,
                int64_t end)
{
    struct nvt_trace *trace = job->traces[rank].trace;
    struct nvt_strings *strings = trace->strings;
    struct nvt_kernel kernel = {.grid_x = 1, .grid_y = 1, .grid_z = 1};
    if (message->group) {
        const struct nvt_collective row = {
            .name = nvt_strings_add_text(strings, message->does ? message->does : "allreduce"),
            .group = nvt_strings_add_text(strings, message->group),
            .members = nvt_strings_add_text(strings, message->members ? message->members : ""),
            .ranks = message->size,
            .peer = message->peer};
        kernel.collective = nvt_collective_add(trace, &row) + 1;
    }
    const uint32_t name = nvt_strings_add_text(strings, message->kernel);
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .correlation = trace->ops.count + 1,
                              .thread = message->domain ? 0 : NVT_NONE,
                              .launch = message->domain ? start - 100 : INT64_MIN,
                              .name = name,
                              .short_name = name,
                              .detail = nvt_trace_kernel(trace, &kernel)};
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
    if (message->domain)
        add_range(trace, message, start - 100);
    if (message->sequence) {
        const struct nvt_sequence row = {
            .process = NVT_NONE, .correlation = op.correlation, .number = message->sequence};
        assert_int_not_equal(nvt_sequence_add(trace, &row), NVT_NONE);
    }
}

static void pair(struct job *job)
{
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(nvt_trace_finish(job->traces[i].trace, NULL), 0);
    assert_int_equal(nvt_ranks_find(&job->ranks, &job->input, NULL, 0, NULL), 0);
    assert_int_equal(nvt_rank_pairs_make(&job->pairs, &job->ranks, NULL), 0);
}

static void end(struct job *job)
{
    nvt_rank_pairs_free(&job->pairs);
    nvt_ranks_free(&job->ranks);
    for (uint32_t i = 0; i < RANKS; i++)
        nvt_trace_free(job->traces[i].trace);
}

/* How often a rank came last in collectives that are paired, of how many; what it waited. */
static void expect(const struct job *job, uint32_t rank, uint32_t last, uint32_t count,
                   int64_t waited)
{
    uint32_t found = 0, came = 0;
    int64_t ns = 0;
    for (uint32_t i = 0; i < job->ranks.items[rank].part_count; i++) {
        const struct nvt_rank_collective *item = nvt_rank_collective_of(&job->pairs, rank, i);
        const struct nvt_rank_part *part = &job->ranks.items[rank].parts[i];
        if (!item)
            continue;
        found++;
        came += item->shortest == rank && item->most > item->least;
        ns += part->end - part->start - item->least;
    }
    assert_int_equal(found, count);
    assert_int_equal(came, last);
    assert_true(ns == waited);
}

static void expect_note(const struct job *job, const char *says)
{
    char note[512] = "";
    for (uint32_t i = 0; i < job->pairs.kind_count; i++)
        if (nvt_rank_kind_note(&job->pairs, i, note, sizeof(note)) && says && strstr(note, says))
            return;
    if (says)
        fail_msg("no note with '%s', but '%s'", says, note);
    assert_string_equal(note, "");
}

/* Ten times: rank 0 comes last in its group and rank 2 in the other, which begins while the first is under way. */
static void add_two_groups(struct job *job, const struct message groups[2])
{
    for (int64_t i = 0; i < 10; i++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const int64_t leave = 1000000 * i + (rank < 2 ? 500000 : 900000);
            const int64_t waits = rank == 1 ? 40000 : rank == 3 ? 70000 : 0;
            add(job, rank, &groups[rank / 2], leave - 10000 - waits, leave);
        }
}

/* Each is compared within its group, whether its name or its members tell it from the other; whatever clocks say. */
static void groups_are_apart(void **state)
{
    (void)state;
    static const struct message groups[][2] = {
        {{.kernel = REDUCE, .group = "tp0", .members = "0,1", .size = 2},
         {.kernel = REDUCE, .group = "tp1", .members = "2,3", .size = 2}},
        {{.kernel = REDUCE, .group = "tp", .members = "0,1", .size = 2},
         {.kernel = REDUCE, .group = "tp", .members = "2,3", .size = 2}},
        {{.kernel = REDUCE, .group = "tp0"}, {.kernel = REDUCE, .group = "tp1"}},
        {{.kernel = REDUCE, .group = "", .members = "0,1"},
         {.kernel = REDUCE, .group = "", .members = "2,3"}},
        {{.kernel = REDUCE, .domain = "NCCL", .payload = "{\"NCCL communicator ID\":7}"},
         {.kernel = REDUCE, .domain = "NCCL", .payload = "{\"NCCL communicator ID\":8}"}},
        {{.kernel = REDUCE, .domain = "PyTorch", .payload = "{\"group\":\"a\",\"ranks\":2}"},
         {.kernel = REDUCE, .domain = "PyTorch", .payload = "{\"group\":\"b\",\"ranks\":2}"}},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(groups); i++) {
        struct job job;
        begin(&job);
        add_two_groups(&job, groups[i]);
        pair(&job);
        expect(&job, 0, 10, 10, 0);
        expect(&job, 1, 0, 10, 400000);
        expect(&job, 2, 10, 10, 0);
        expect(&job, 3, 0, 10, 700000);
        expect_note(&job, NULL);
        end(&job);
    }
}

/* Half of a group is there: those are compared, and a note says so. */
static void missing_ranks_are_noted(void **state)
{
    (void)state;
    static const struct message group = {
        .kernel = REDUCE, .group = "dp", .members = "0,1,8,9", .size = 4};
    struct job job;
    struct nvt_trace *traces[RANKS];
    char *note = NULL;
    begin(&job);
    for (int64_t i = 0; i < 10; i++)
        for (uint32_t rank = 0; rank < 2; rank++)
            add(&job, rank, &group, 1000000 * i - (rank ? 40000 : 10000), 1000000 * i);
    pair(&job);
    expect(&job, 0, 10, 10, 0);
    for (uint32_t i = 0; i < RANKS; i++)
        traces[i] = job.traces[i].trace;
    free(make_report("stragglers", traces, RANKS, &note));
    assert_non_null(strstr(note, "note: 2 of 4 ranks of group dp (0,1,8,9) are in the input"));
    free(note);
    end(&job);
}

/* Two groups of one name: which ranks are in which is not known. */
static void a_name_of_several_groups_is_left_out(void **state)
{
    (void)state;
    static const struct message groups[2] = {{.kernel = REDUCE, .group = "tp", .size = 2},
                                             {.kernel = REDUCE, .group = "tp", .size = 2}};
    struct job job;
    begin(&job);
    add_two_groups(&job, groups);
    pair(&job);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        expect(&job, rank, 0, 0, 0);
    expect_note(&job, "of group tp is left out: 4 ranks name the group, which has 2");
    end(&job);
}

/* Without groups all ranks are taken for one, if they leave together: rank 3's clock is a second ahead, and runs fast by 50 ppm. */
static void an_assumed_group_is_one_that_leaves_together(void **state)
{
    (void)state;
    static const struct message message = {.kernel = REDUCE};
    for (int apart = 0; apart < 2; apart++) {
        struct job job;
        begin(&job);
        for (int64_t i = 0; i < 20; i++)
            for (uint32_t rank = 0; rank < RANKS; rank++) {
                /* Of two pairs each leaves when its own last rank has come. */
                const int64_t late = apart && rank > 1 ? (i * 7 % 20) * 50000 : 0;
                int64_t leave = 4000000 * i + 10 * (i * 5 % 13) + late;
                if (rank == 3)
                    leave += 1000000000 + leave / 20000;
                add(&job, rank, &message, leave - (rank == 1 ? 10000 : 50000), leave);
            }
        pair(&job);
        expect(&job, 1, apart ? 0 : 20, apart ? 0 : 20, 0);
        expect(&job, 0, 0, apart ? 0 : 20, apart ? 0 : 20 * 40000);
        expect_note(&job, apart ? "the ranks do not leave it together" : NULL);
        end(&job);
    }
}

/* Rank 1 was recorded from the third on: numbers tell which, where gaps are all alike. */
static void sequence_numbers_pair(void **state)
{
    (void)state;
    struct job job;
    begin(&job);
    for (int64_t i = 0; i < 10; i++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            const struct message message = {.kernel = REDUCE,
                                            .group = "0",
                                            .members = "0,1",
                                            .size = 2,
                                            .sequence = (uint64_t)i + 41};
            if (!rank || i >= 2)
                add(&job, rank, &message, 1000000 * i - (rank ? 10000 : 10000 + 1000 * i),
                    1000000 * i);
        }
    pair(&job);
    expect(&job, 1, 8, 8, 0);
    expect(&job, 0, 0, 8, 1000 * (2 + 3 + 4 + 5 + 6 + 7 + 8 + 9));
    expect_note(&job, NULL);
    end(&job);
}

/* A pipeline of four, whose inner ranks send twice as often: each message concerns two ranks. */
static void messages_are_paired_by_their_ends(void **state)
{
    (void)state;
    struct job job;
    begin(&job);
    for (int64_t i = 0; i < 10; i++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const struct message to = {.kernel = SENDS,
                                       .does = "send",
                                       .group = "pp",
                                       .members = "0,1,2,3",
                                       .size = 4,
                                       .peer = rank + 2},
                                 from = {.kernel = SENDS,
                                         .does = "recv",
                                         .group = "pp",
                                         .members = "0,1,2,3",
                                         .size = 4,
                                         .peer = rank};
            if (rank)
                add(&job, rank, &from, 1000000 * i + 100000 * rank - 30000,
                    1000000 * i + 100000 * rank);
            if (rank < 3)
                add(&job, rank, &to, 1000000 * i + 100000 * (rank + 1) - 5000,
                    1000000 * i + 100000 * (rank + 1));
        }
    pair(&job);
    expect(&job, 0, 10, 10, 0);
    expect(&job, 1, 10, 20, 250000);
    expect(&job, 3, 0, 10, 250000);
    expect_note(&job, NULL);
    end(&job);
}

/* Messages whose ends are not known: all ranks send as often, as in an all-to-all; or some more often. */
static void messages_of_all_ranks_are_paired(void **state)
{
    (void)state;
    static const struct message message = {.kernel = SENDS};
    for (uint32_t more = 0; more < 2; more++) {
        struct job job;
        begin(&job);
        for (int64_t i = 0; i < 10; i++)
            for (uint32_t rank = 0; rank < RANKS; rank++)
                for (uint32_t k = 0; k < (rank == 2 ? 1 + more : 1); k++)
                    add(&job, rank, &message, 1000000 * i + 200000 * k - (rank ? 30000 : 10000),
                        1000000 * i + 200000 * k);
        pair(&job);
        expect(&job, 0, more ? 0 : 10, more ? 0 : 10, 0);
        expect_note(&job, more ? "ranks have 10 to 20 of " SENDS ": left out" : NULL);
        end(&job);
    }
}

/* Rank 1 waits for 0, which waited for 3 in another group: it is 3 that computes for long, and both waits are for it. */
static void blame_goes_through_groups(void **state)
{
    (void)state;
    static const struct message work = {.kernel = "gemm"},
                                tp = {.kernel = REDUCE, .group = "tp", .members = "0,1", .size = 2},
                                dp = {.kernel = REDUCE, .group = "dp", .members = "0,3", .size = 2};
    struct nvt_rank_blame blame = {0};
    struct job job;
    begin(&job);
    for (int64_t i = 0; i < 10; i++) {
        const int64_t start = 1000000 * i;
        add(&job, 3, &work, start, start + 600000);
        add(&job, 3, &dp, start + 600000, start + 610000);
        add(&job, 0, &work, start, start + 100000);
        add(&job, 0, &dp, start + 100000, start + 610000);
        add(&job, 0, &work, start + 610000, start + 650000);
        add(&job, 0, &tp, start + 650000, start + 660000);
        add(&job, 1, &work, start, start + 140000);
        add(&job, 1, &tp, start + 140000, start + 660000);
    }
    pair(&job);
    assert_int_equal(nvt_rank_blame_make(&blame, &job.pairs, NULL), 0);
    const uint32_t late = job.ranks.count - 1; /* rank 2 does nothing */
    assert_int_equal(job.ranks.items[late].number, 3);
    assert_int_equal(blame.wait_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(blame.waits[i].late, late);
        assert_true(blame.waits[i].ns[NVT_LATE_KERNELS] == (blame.waits[i].waiting ? 5.1e6 : 5e6));
    }
    for (uint32_t i = 0; i < job.pairs.count; i++) {
        const struct nvt_rank_group *group =
            &job.ranks.groups[job.pairs.kinds[job.pairs.items[i].kind].group];
        const int is_tp = !strcmp(nvt_strings_get(job.ranks.names, group->name, NULL), "tp");
        assert_int_equal(blame.reasons[i].rank, late);
        assert_int_equal(blame.reasons[i].through, is_tp);
    }
    assert_true(blame.through_ns[late] == 5.1e6);
    nvt_rank_blame_free(&blame);
    end(&job);
}

/* An all-reduce of 1 MiB over 4 ranks: 2 x 3/4 of it cross the slowest link, as nccl-tests reckon. */
static void bytes_are_known_where_they_are_told(void **state)
{
    (void)state;
    static const struct message message = {.kernel = REDUCE, .group = "0", .size = 4};
    struct job job;
    begin(&job);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct nvt_trace *trace = job.traces[rank].trace;
        add(&job, rank, &message, 0, 1000);
        trace->collectives.type[0] = nvt_strings_add_text(trace->strings, "Float");
        trace->collectives.given[0] = trace->collectives.taken[0] = 262144;
    }
    pair(&job);
    assert_int_equal(job.pairs.count, 1);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_true(job.ranks.items[rank].parts[0].bus_bytes == 1.5 * 1048576);
    end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_apart),
        cmocka_unit_test(missing_ranks_are_noted),
        cmocka_unit_test(a_name_of_several_groups_is_left_out),
        cmocka_unit_test(an_assumed_group_is_one_that_leaves_together),
        cmocka_unit_test(sequence_numbers_pair),
        cmocka_unit_test(messages_are_paired_by_their_ends),
        cmocka_unit_test(messages_of_all_ranks_are_paired),
        cmocka_unit_test(blame_goes_through_groups),
        cmocka_unit_test(bytes_are_known_where_they_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
