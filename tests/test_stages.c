/*
 * The report stages over simulated jobs: what each stage waits for the one before and the one behind is what the simulation says, micro-batch
 * by micro-batch, whether groups say the stage or messages alone do.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"

/* What a rank waits for one with a lower or a higher stage, of the simulation's traces: the n-th message between two ranks in a direction is
 * the n-th at both ends; who waits has the longer operation. */
struct expected {
    double waited[2];
    uint32_t messages;
};

/* The n-th message operation of a rank, from or to a peer; the row of ops, NVT_NONE behind the last. */
static uint32_t message_at(const struct nvt_trace *trace, const char *name, uint32_t peer,
                           uint32_t n)
{
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        if (trace->ops.kind[i] != NVT_OP_KERNEL || trace->ops.detail[i] == NVT_NONE)
            continue;
        const uint32_t row = trace->kernels.collective[trace->ops.detail[i]];
        if (!row || trace->collectives.peer[row - 1] != peer + 1 ||
            strcmp(nvt_name(trace, trace->collectives.name[row - 1]), name) != 0)
            continue;
        if (!n--)
            return i;
    }
    return NVT_NONE;
}

static int64_t length_at(const struct nvt_trace *trace, uint32_t op)
{
    return trace->ops.end[op] - trace->ops.start[op];
}

static void expect_of(const struct made_job *job, uint32_t rank, uint32_t peer,
                      struct expected *expected)
{
    static const char *const names[2] = {"send", "recv"};
    const struct nvt_trace *own = job->traces[rank].trace, *other = job->traces[peer].trace;
    const int is_next = peer / (job->dp * job->tp) > rank / (job->dp * job->tp);
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0;; n++) {
            const uint32_t a = message_at(own, names[i], peer, n),
                           b = message_at(other, names[1 - i], rank, n);
            if (a == NVT_NONE)
                break;
            assert_int_not_equal(b, NVT_NONE);
            const int64_t wait = length_at(own, a) - length_at(other, b);
            expected->waited[is_next] += wait > 0 ? (double)wait : 0;
            expected->messages++;
        }
}

static struct nvt_tables make_tables(struct made_job *job)
{
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_report_make(nvt_report_find("stages"), &job->input, &tables, &err))
        fail_msg("%s", err.message);
    return tables;
}

/* 0: of a random job without a pipeline. */
static int check(uint64_t seed)
{
    static const char *const columns[2] = {"For Previous (ns)", "For Next (ns)"};
    struct made_job job = made_job(seed, MADE_KERNELS, 24, 0);
    uint32_t rows = 0;
    if (job.pp < 2) {
        made_job_free(&job);
        return 0;
    }
    struct nvt_tables tables = make_tables(&job);
    assert_int_equal(tables.count, 2);
    const struct nvt_table *table = tables.items[0];
    assert_int_equal(nvt_table_rows(table), job.ranks);
    for (size_t i = 0; i < nvt_table_rows(table); i++) {
        const uint32_t rank = (uint32_t)nvt_table_int(table, i, nvt_table_find(table, "Rank"));
        struct expected expected = {0};
        for (uint32_t peer = 0; peer < job.ranks; peer++)
            if (peer != rank)
                expect_of(&job, rank, peer, &expected);
        rows += expected.messages > 0;
        assert_int_equal(nvt_table_int(table, i, nvt_table_find(table, "Stage")),
                         rank / (job.dp * job.tp));
        for (int k = 0; k < 2; k++) {
            const double waited = nvt_table_real(table, i, nvt_table_find(table, columns[k]));
            if (waited < expected.waited[k] * 0.999 - 10 ||
                waited > expected.waited[k] * 1.001 + 10)
                fail_msg("seed %" PRIu64 ", rank %" PRIu32 ": %f and not %f", seed, rank, waited,
                         expected.waited[k]);
        }
    }
    assert_int_equal(rows, job.ranks);
    nvt_tables_free(&tables);
    made_job_free(&job);
    return 1;
}

/* GPipe's first stage has nothing to do from its last forward until the first backward comes back: later ones it waits less for. */
static void the_first_backward_is_waited_for(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(92);
    struct made_job job = {0};
    for (uint64_t i = 0; job.pp < 3; i++) {
        made_job_free(&job);
        job = made_job(seed + i, MADE_HEALTHY, 24, 0);
    }
    struct nvt_tables tables = make_tables(&job);
    assert_int_equal(tables.count, 2);
    const struct nvt_table *table = tables.items[1];
    const uint32_t batches = (uint32_t)nvt_table_int(
        tables.items[0], 0, nvt_table_find(tables.items[0], "Micro-Batches"));
    const size_t backward = nvt_table_find(table, "Backward Avg (ns)");
    assert_true(batches > 1);
    assert_int_equal(nvt_table_rows(table), job.pp * batches);
    for (uint32_t i = 1; i < batches; i++)
        assert_true(nvt_table_real(table, i, backward) < nvt_table_real(table, 0, backward));
    nvt_tables_free(&tables);
    made_job_free(&job);
}

/* --- rings --- */

enum { RING = 3 };

/* Ranks that send to the next one and receive from the one before, round; `purpose` of their group. */
static void write_ring(const char *purpose)
{
    for (int rank = 0; rank < RING; rank++) {
        char name[32];
        snprintf(name, sizeof(name), "rank%d.json", rank);
        FILE *out = fopen(cli_in(cli_folder, name), "w");
        assert_non_null(out);
        fprintf(out,
                "{\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d,"
                "\"pg_config\":[{\"pg_name\":\"1\",\"pg_desc\":\"%s\",\"pg_size\":%d,"
                "\"ranks\":[0,1,2]}]},\"traceEvents\":[\n",
                rank, RING, purpose, RING);
        for (int i = 0; i < 8; i++)
            fprintf(out,
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_SendRecv\","
                    "\"pid\":%d,\"tid\":7,\"ts\":%d,\"dur\":50,\"args\":{\"device\":%d,"
                    "\"stream\":7,\"Collective name\":\"%s\",\"Process Group Name\":\"1\","
                    "\"Process Group Ranks\":\"[0, 1, 2]\",\"Group size\":3,\"Src Rank\":%d,"
                    "\"Dst Rank\":%d,\"In msg nelems\":10,\"Out msg nelems\":10,"
                    "\"dtype\":\"Float\"}}%s\n",
                    rank, 1000 + 100 * i, rank, i % 2 ? "recv" : "send",
                    i % 2 ? (rank + RING - 1) % RING : rank, i % 2 ? rank : (rank + 1) % RING,
                    i < 7 ? "," : "]}");
        assert_int_equal(fclose(out), 0);
    }
}

static struct cli_result run_stages(void)
{
    return cli_run((const char *const[]){cli_built("nvtally"), "stats", "-r", "stages", "-f", "csv",
                                         cli_folder, NULL});
}

/* Where messages go round, no stage is said; a ring of context parallelism is no pipeline. */
static void rings_have_no_stages(void **state)
{
    (void)state;
    write_ring("default_pg");
    struct cli_result result = run_stages();
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\n,0,rank0.json,,"));
    assert_non_null(strstr(result.out, "\n,2,rank2.json,,"));
    assert_null(strstr(result.out, "Micro-Batch,"));
    cli_result_free(&result);
    write_ring("mesh_cp");
    result = run_stages();
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, "rank0.json"));
    assert_non_null(strstr(result.err, "no messages in the input"));
    cli_result_free(&result);
}

static void waits_are_those_of_the_simulation(void **state)
{
    (void)state;
    const uint64_t seed = kit_seed(91);
    int checked = 0;
    for (uint64_t i = 0; i < 40 && checked < 6; i++)
        checked += check(seed + i);
    assert_true(checked > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waits_are_those_of_the_simulation),
                                       cmocka_unit_test(the_first_backward_is_waited_for),
                                       cmocka_unit_test_setup_teardown(rings_have_no_stages,
                                                                       cli_folder_set_up,
                                                                       cli_folder_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
