/*
 * Ranks that NCCL's profiler plugin alone tells of (record --trace nccl): collectives begin with their first channel on the device,
 * and who comes last to them is found within each communicator.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../lib/nccl_payload.h"
#include "cli.h"

#define RANKS  4
#define ROUNDS 40

struct job {
    struct nvt_trace *traces[RANKS];
    uint32_t threads[RANKS], domains[RANKS];
};

static void begin_job(struct job *job)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        char path[32];
        snprintf(path, sizeof(path), "rank-%" PRIu32 ".nvt", i);
        struct nvt_trace *trace = nvt_trace_new(path, "nvt");
        assert_non_null(trace);
        const uint32_t process = nvt_trace_process(trace, 100 + i);
        trace->processes.rank[process] = i;
        job->threads[i] = nvt_trace_thread(trace, process, 100 + i);
        job->domains[i] = nvt_trace_domain(trace, process, NVT_NCCL_DOMAIN);
        job->traces[i] = trace;
    }
}

/* A collective of a rank, launched before it begins on the device. */
static void add(struct job *job, uint32_t rank, uint64_t communicator, uint64_t sequence,
                int64_t begin, int64_t end)
{
    struct nvt_trace *trace = job->traces[rank];
    char payload[256];
    snprintf(
        payload, sizeof(payload),
        "{\"group\":\"tp\",\"type\":\"float32\",\"algorithm\":\"RING\",\"protocol\":\"LL\","
        "\"communicator\":%" PRIu64 ",\"sequence\":%" PRIu64
        ",\"bytes given\":4096,\"bytes taken\":4096,\"ranks\":2,\"rank in group\":0,\"peer\":0,"
        "\"channels\":2,\"until done\":1}",
        communicator, sequence);
    const struct nvt_range range = {.start = begin - 700000,
                                    .end = end,
                                    .thread = job->threads[rank],
                                    .end_thread = job->threads[rank],
                                    .domain = job->domains[rank],
                                    .name = nvt_strings_add_text(trace->strings, "AllReduce"),
                                    .payload = nvt_strings_add_text(trace->strings, payload),
                                    .style = NVT_START_END,
                                    .flags = NVT_RANGE_HAS_PAYLOAD};
    snprintf(payload, sizeof(payload), "{\"communicator\":%" PRIu64 ",\"sequence\":%" PRIu64 "}",
             communicator, sequence);
    const struct nvt_mark mark = {.time = begin,
                                  .thread = job->threads[rank],
                                  .domain = job->domains[rank],
                                  .name = nvt_strings_add_text(trace->strings, NVT_NCCL_BEGINS),
                                  .payload = nvt_strings_add_text(trace->strings, payload),
                                  .flags = NVT_RANGE_HAS_PAYLOAD};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    assert_int_not_equal(nvt_mark_add(trace, &mark), NVT_NONE);
}

/* Two communicators of two ranks each, all of one name; one rank comes later by so much. As files of the fixture's folder. */
static void write_job(uint32_t late, int64_t by, int64_t shift)
{
    struct job job;
    int64_t now[RANKS];
    begin_job(&job);
    for (uint32_t i = 0; i < RANKS; i++)
        now[i] = 5000000;
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t group = 0; group < 2; group++) {
            int64_t begins[2], last = 0;
            for (uint32_t k = 0; k < 2; k++) {
                const uint32_t rank = 2 * group + k;
                begins[k] = now[rank] + 1000000 + (rank == late ? by : 0) +
                            (round * 7 + (int)rank * 13) % 10 * 1000;
                last = begins[k] > last ? begins[k] : last;
            }
            for (uint32_t k = 0; k < 2; k++) {
                const uint32_t rank = 2 * group + k;
                const int64_t axis = (int64_t)rank * shift;
                add(&job, rank, 7000 + group, (uint64_t)round, begins[k] + axis,
                    last + 100000 + axis);
                now[rank] = last + 100000;
            }
        }
    for (uint32_t i = 0; i < RANKS; i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        char name[32];
        snprintf(name, sizeof(name), "rank-%" PRIu32 ".nvt", i);
        assert_int_equal(nvt_trace_finish(job.traces[i], &err), 0);
        assert_int_equal(nvt_exporter_nvt.write_file(job.traces[i], cli_in(cli_folder, name), &err),
                         0);
        nvt_trace_free(job.traces[i]);
    }
}

static struct cli_result stats(const char *report)
{
    return cli_run(
        (const char *const[]){"nvtally", "stats", "-r", report, "-f", "csv", cli_folder, NULL});
}

static struct cli_result diagnose(void)
{
    return cli_run((const char *const[]){"nvtally", "diagnose", "-f", "csv", cli_folder, NULL});
}

static void the_late_rank_is_named(void **state)
{
    (void)state;
    write_job(2, 400000, 3000000000);
    struct cli_result result = stats("stragglers");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\n2,it is outside of collectives for longer,1,"));
    assert_null(strstr(result.out, "\n0,it is outside of collectives for longer,1,4"));
    assert_non_null(strstr(result.out, "AllReduce,tp,"));
    cli_result_free(&result);
    result = diagnose();
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "rank 2 comes late to collectives"));
    assert_non_null(strstr(result.out, "what it does there was not recorded"));
    cli_result_free(&result);
    result = stats("ranks");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "rank-2.nvt"));
    cli_result_free(&result);
}

static void nobody_is_blamed_for_nothing(void **state)
{
    (void)state;
    write_job(NVT_NONE, 0, 0);
    struct cli_result result = diagnose();
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, "straggler"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_late_rank_is_named, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_blamed_for_nothing, cli_folder_set_up,
                                        cli_folder_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
