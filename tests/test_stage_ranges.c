/*
 * The report stages by the names of ranges: what frameworks call the steps of a pipeline, and what a rank waits before each of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/trace.h"
#include "../analyze/studies/stage_names.h"
#include "../lib/count_of.h"
#include "cli.h"

/* --- names --- */

#define NONE NVT_NONE

static void names_are_those_of_frameworks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct nvt_stage_name says;
    } cases[] = {
        {"PP:0F0", {NVT_STEP_FORWARD, 0, 0}},
        {"PP:12B345", {NVT_STEP_BACKWARD, 12, 345}},
        {"PP:3I7", {NVT_STEP_BACKWARD, 3, 7}},
        {"PP:3W7", {NVT_STEP_OTHER, 3, 7}},
        {"PP:(0F8;7B0)OVERLAP_F_B", {NVT_STEP_OTHER, NONE, NONE}},
        {"PP:1RECV_F2", {NVT_STEP_FROM_PREVIOUS, 1, 2}},
        {"PP:1RECV_B2", {NVT_STEP_FROM_NEXT, 1, 2}},
        {"Forward 3", {NVT_STEP_FORWARD, NONE, 3}},
        {"Backward 0", {NVT_STEP_BACKWARD, NONE, 0}},
        {"Stage 2 Forward", {NVT_STEP_FORWARD, 2, NONE}},
        {"Stage 2 Backward", {NVT_STEP_BACKWARD, 2, NONE}},
        {"forward_step", {NVT_STEP_FORWARD, NONE, NONE}},
        {"megatron.core.pipeline_parallel.schedules.backward_step",
         {NVT_STEP_BACKWARD, NONE, NONE}},
        {"megatron.core.pipeline_parallel.p2p_communication.recv_forward",
         {NVT_STEP_FROM_PREVIOUS, NONE, NONE}},
        {"megatron.core.pipeline_parallel.p2p_communication.send_forward_recv_backward",
         {NVT_STEP_FROM_NEXT, NONE, NONE}},
        /* no steps */
        {"", {NVT_STEP_NONE, NONE, NONE}},
        {"PP:0UNSHARD", {NVT_STEP_NONE, NONE, NONE}},
        {"PP:0SEND_F1", {NVT_STEP_NONE, NONE, NONE}},
        {"PP:F0", {NVT_STEP_NONE, NONE, NONE}},
        {"PP:0F", {NVT_STEP_NONE, NONE, NONE}},
        {"PP:0F1 ", {NVT_STEP_NONE, NONE, NONE}},
        {"PP:9999999999F0", {NVT_STEP_NONE, NONE, NONE}},
        {"Forward", {NVT_STEP_NONE, NONE, NONE}},
        {"Forward Linear", {NVT_STEP_NONE, NONE, NONE}},
        {"my_forward_step", {NVT_STEP_NONE, NONE, NONE}},
        {"DeepSpeedEngine.forward", {NVT_STEP_NONE, NONE, NONE}},
        {"megatron.core.pipeline_parallel.p2p_communication.send_forward",
         {NVT_STEP_NONE, NONE, NONE}},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct nvt_stage_name says = nvt_stage_name(cases[i].name);
        if (says.kind != cases[i].says.kind ||
            (says.kind && (says.stage != cases[i].says.stage || says.batch != cases[i].says.batch)))
            fail_msg("%s: %d, stage %u, micro-batch %u", cases[i].name, (int)says.kind, says.stage,
                     says.batch);
    }
}

/* --- profiles --- */

/* A kernel, in µs, and the range that it is launched in, NULL: none. */
struct kernel {
    const char *range, *name;
    int start, end;
    int is_autograds; /* launched by the thread of the backward pass, in three kernels */
};

static int correlation;

static void write_kernel(FILE *out, int rank, const char *name, int thread, int launch,
                         const int span[2])
{
    correlation++;
    fprintf(out,
            ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":%d,"
            "\"tid\":%d,\"ts\":%d.%d,\"dur\":0.1,\"args\":{\"correlation\":%d}}"
            ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,"
            "\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,%s\"correlation\":%d}}",
            100 + rank, thread, launch / 10, launch % 10, correlation, name, span[0],
            span[1] - span[0],
            strstr(name, "SendRecv") ? "\"Collective name\":\"recv\",\"Process Group Name\":\"1\","
                                       "\"Process Group Ranks\":\"[0, 1]\",\"Group size\":2,"
                                     : "",
            correlation);
}

/* Launched one after the other, a range a µs, long before they run. */
static void write_rank(int rank, const char *group, const struct kernel *kernels, size_t count)
{
    char name[32];
    snprintf(name, sizeof(name), "rank%d.json", rank);
    FILE *out = fopen(cli_in(cli_folder, name), "w");
    assert_non_null(out);
    fprintf(out,
            "{\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":2,"
            "\"pg_config\":[{\"pg_name\":\"1\",\"pg_desc\":\"%s\",\"pg_size\":2,"
            "\"ranks\":[0,1]}]},\"traceEvents\":[\n{\"ph\":\"X\",\"cat\":\"user_annotation\","
            "\"name\":\"ProfilerStep#0\",\"pid\":%d,\"tid\":1,\"ts\":0,\"dur\":2000}",
            rank, group, 100 + rank);
    for (size_t i = 0; i < count; i++) {
        const struct kernel *kernel = &kernels[i];
        const int launch = (int)i * 10 + 1, pieces = kernel->is_autograds ? 3 : 1;
        if (kernel->range)
            fprintf(out,
                    ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%s\",\"pid\":%d,"
                    "\"tid\":1,\"ts\":%d,\"dur\":1}",
                    kernel->range, 100 + rank, (int)i);
        for (int k = 0; k < pieces; k++)
            write_kernel(
                out, rank, kernel->name, kernel->is_autograds ? 2 : 1, launch + 2 * k,
                (const int[]){kernel->start + (kernel->end - kernel->start) * k / pieces,
                              kernel->start + (kernel->end - kernel->start) * (k + 1) / pieces});
    }
    fprintf(out, "]}");
    assert_int_equal(fclose(out), 0);
}

static struct cli_result run_stages(void)
{
    return cli_run((const char *const[]){cli_built("nvtally"), "stats", "-r", "stages", "-f", "csv",
                                         cli_folder, NULL});
}

static void expect_lines(const struct cli_result *result, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strstr(result->out, lines[i]))
            fail_msg("without \"%s\":\n%s", lines[i], result->out);
}

/* 1F1B of two stages: messages are waited in, an all-reduce is not; the first stage has no previous one, the last no next. */
static void waits_are_before_steps(void **state)
{
    (void)state;
    static const struct kernel first[] = {
        {"PP:0F0", "gemm", 1000, 1010, 0},
        {"PP:0F1", "gemm", 1015, 1025, 0},
        {"PP:0RECV_B0", "ncclDevKernel_SendRecv", 1025, 1044, 0},
        {"PP:0B0", "gemm", 1045, 1060, 1},
        {NULL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1062, 1067, 0},
        {"PP:0B1", "gemm", 1080, 1095, 1}};
    static const struct kernel second[] = {{"PP:1F0", "gemm", 1010, 1020, 0},
                                           {"PP:1B0", "gemm", 1022, 1037, 1},
                                           {"PP:1F1", "gemm", 1045, 1055, 0},
                                           {"PP:1B1", "gemm", 1055, 1070, 1}};
    write_rank(0, "default_pg", first, NVT_COUNT_OF(first));
    write_rank(1, "default_pg", second, NVT_COUNT_OF(second));
    struct cli_result result = run_stages();
    cli_expect_status(&result, 0);
    static const char *const lines[] = {
        /* stage, rank, file, micro-batches, span, compute, for previous, for next: 20 and 20 - 5 */
        "\n0,0,rank0.json,2,95000,50000,0.0,35000.0,",
        "\n1,1,rank1.json,2,60000,50000,8000.0,0.0,",
        "\n0,0,0.0,20000.0\n",
        "\n0,1,0.0,15000.0\n",
        "\n1,0,0.0,0.0\n",
        "\n1,1,8000.0,0.0\n"};
    expect_lines(&result, lines, NVT_COUNT_OF(lines));
    assert_non_null(strstr(result.err, "by the ranges of their steps"));
    cli_result_free(&result);
}

/* Names without numbers: the stage is the place in the pipeline's group, micro-batches are counted. Of Megatron's receives it is the
 * time of the message. */
static void numbers_come_from_elsewhere(void **state)
{
    (void)state;
#define PATH "megatron.core.pipeline_parallel.p2p_communication."
    static const struct kernel first[] = {
        {NULL, "gemm", 1000, 1010, 0},
        {PATH "send_forward_recv_backward", "ncclDevKernel_SendRecv", 1010, 1040, 0},
        {NULL, "gemm", 1030, 1050, 0},
        {PATH "recv_backward", "ncclDevKernel_SendRecv", 1050, 1055, 0}};
    static const struct kernel second[] = {
        {PATH "recv_forward", "ncclDevKernel_SendRecv", 1003, 1010, 0},
        {NULL, "gemm", 1010, 1020, 0},
        {PATH "send_backward_recv_forward", "ncclDevKernel_SendRecv", 1020, 1031, 0}};
    write_rank(0, "mesh_pp", first, NVT_COUNT_OF(first));
    write_rank(1, "mesh_pp", second, NVT_COUNT_OF(second));
    struct cli_result result = run_stages();
    cli_expect_status(&result, 0);
    static const char *const lines[] = {"\n0,0,rank0.json,2,55000,30000,0.0,25000.0,",

                                        "\n1,1,rank1.json,2,28000,10000,18000.0,0.0,",

                                        "\n0,0,,20000.0\n",
                                        "\n0,1,,5000.0\n",
                                        "\n1,0,7000.0,\n",
                                        "\n1,1,11000.0,\n"};
    expect_lines(&result, lines, NVT_COUNT_OF(lines));
    cli_result_free(&result);
#undef PATH
}

/* A range of that name around no kernel is no step, and one trace may have several stages. */
static void a_rank_may_have_several_stages(void **state)
{
    (void)state;
    static const struct kernel only[] = {{"Stage 0 Forward", "gemm", 1000, 1010, 0},
                                         {"Stage 2 Forward", "gemm", 1030, 1040, 0},
                                         {"Stage 2 Backward", "gemm", 1040, 1050, 0},
                                         {"Stage 0 Backward", "gemm", 1080, 1090, 0}};
    write_rank(0, "default_pg", only, NVT_COUNT_OF(only));
    struct cli_result result = run_stages();
    cli_expect_status(&result, 0);
    static const char *const lines[] = {"\n0,0,rank0.json,1,90000,20000,0.0,30000.0,",
                                        "\n2,0,rank0.json,1,90000,20000,20000.0,0.0,"};
    expect_lines(&result, lines, NVT_COUNT_OF(lines));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_frameworks),
        cmocka_unit_test_setup_teardown(waits_are_before_steps, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(numbers_come_from_elsewhere, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(a_rank_may_have_several_stages, cli_folder_set_up,
                                        cli_folder_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
