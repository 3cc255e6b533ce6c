/* `nvtally run gpipe` over ranks of MPI: their losses, clocks and rows, and what happens when one of them dies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../analyze/readers/reader.h"
#include "../analyze/studies/pipeline.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "gpipe_kit.h"

#define MPIRUN(ranks) "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks

struct cut {
    const char *partitions, *microbatches, *schedule, *engine, *checkpoint, *axis;
};

/* The loss behind three steps of training, which the gradients of the first have gone into. */
static double loss_over(const char *ranks, const char *transport, const struct cut *cut)
{
    const char *const local[] = {cli_built("nvtally"),
                                 "run",
                                 "gpipe",
                                 "--partitions",
                                 cut->partitions,
                                 "--microbatches",
                                 cut->microbatches,
                                 "--checkpoint",
                                 cut->checkpoint,
                                 "--attention-axis",
                                 cut->axis,
                                 "--engine",
                                 cut->engine,
                                 "--schedule",
                                 cut->schedule,
                                 "--transport",
                                 transport,
                                 GPIPE_SMALL,
                                 "--iterations",
                                 "3",
                                 "-o",
                                 cli_folder,
                                 NULL};
    const char *argv[64] = {MPIRUN(ranks)};
    size_t count = ranks ? 5 : 0;
    for (size_t i = 0; local[i]; i++)
        argv[count++] = local[i];
    argv[count] = NULL;
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = gpipe_read_runs();
    assert_int_equal(runs->count, 1);
    double loss = gpipe_number(runs, 0, "loss");
    nvt_runs_free(runs);
    return loss;
}

/* So that the traces that are left are those of the last run. */
static void remove_files(void)
{
    struct cli_result result =
        cli_run_with(&(struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c", "rm -f ./*.nvt ./*.json*", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

#ifdef __SANITIZE_THREAD__
/* Under ThreadSanitizer a run takes seconds to start: every fifth meets all schedules, engines and
 * ways. */
enum { MPI_STEP = 5 };

#else
enum { MPI_STEP = 1 };

#endif
/* Every schedule and engine, with a rank a partition and with two partitions a rank. */
static void ranks_of_mpi_give_the_same_loss(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    static const char *const engines[] = {"self", "torchgpipe"};
    static const struct {
        const char *ranks, *partitions, *microbatches;
    } ways[] = {{"2", "2", "8"}, {"2", "4", "4"}, {"4", "4", "8"}, {"4", "4", "4"}};
    static const char *const schedules[] = {"gpipe", "1f1b", "interleaved"};
    for (int i = 0; i < 4 * 3 * 2; i += MPI_STEP) {
        remove_files();
        struct cut cut = {ways[i / 6].partitions,   ways[i / 6].microbatches,
                          schedules[i % 6 / 2],     engines[i % 2],
                          i % 4 < 2 ? "on" : "off", i % 5 < 3 ? "sequence" : "batch"};
        double local = loss_over(NULL, "local", &cut);
        assert_true(isfinite(local));
        if (loss_over(ways[i / 6].ranks, "mpi", &cut) != local)
            fail_msg("another loss: %s ranks, K=%s M=%s %s %s checkpoint %s %s", ways[i / 6].ranks,
                     cut.partitions, cut.microbatches, cut.schedule, cut.engine, cut.checkpoint,
                     cut.axis);
    }
    /* A trace of each rank of the last run, with its clock. */
    struct cli_result result =
        cli_run_with(&(struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c", "ls *-rank[0-3].nvt | wc -l", NULL});
    assert_int_equal(atoi(result.out), 4);
    cli_result_free(&result);
}

/* The forward of a partition and micro-batch in a step; NULL: there is none. */
static const struct nvt_pipeline_span *forward_of(const struct nvt_pipeline_view *view, int step,
                                                  int partition, int microbatch)
{
    for (size_t i = 0; i < view->span_count; i++) {
        const struct nvt_pipeline_span *span = &view->spans[i];
        if (span->kind == NVT_PIPE_FORWARD && span->step == step && span->partition == partition &&
            span->microbatch == microbatch)
            return span;
    }
    return NULL;
}

enum { STEPS = 5, MICROBATCHES = 4, AFTER_NS = 20000 };

static int64_t shortest_forward(const struct nvt_pipeline_view *view, int partition)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < STEPS * MICROBATCHES; i++) {
        const struct nvt_pipeline_span *span =
            forward_of(view, i / MICROBATCHES, partition, i % MICROBATCHES);
        assert_non_null(span);
        if (span->end - span->start < shortest)
            shortest = span->end - span->start;
    }
    return shortest;
}

/* Whether no partition begins with what the one before it has not ended. Who has sent may lose the processor
 * before its range ends; no range ends before its work, which takes no less than the shortest. */
static bool forwards_follow(const struct nvt_pipeline_view *view)
{
    int64_t work_ns = shortest_forward(view, 0);
    int early = 0;
    for (int step = 0; step < STEPS; step++)
        for (int m = 0; m < MICROBATCHES; m++) {
            const struct nvt_pipeline_span *before = forward_of(view, step, 0, m);
            const struct nvt_pipeline_span *behind = forward_of(view, step, 1, m);
            assert_non_null(behind);
            int64_t ended = before->start + work_ns;
            if (behind->start < ended - AFTER_NS && !early++)
                print_message("step %d, micro-batch %d: p1 begins %lld ns before p0 has ended\n",
                              step, m, (long long)(ended - behind->start));
        }
    return !early;
}

/* By the clocks of two ranks; and the pipeline's steps take about what each rank says that they do, and together no longer
 * than from the first one's start to the last one's end. */
static bool ranks_lie_on_one_clock(const char *out)
{
    struct cli_result result = cli_run((const char *const[]){MPIRUN("2"),
                                                             cli_built("nvtally"),
                                                             "run",
                                                             "gpipe",
                                                             "--partitions",
                                                             "2",
                                                             "--microbatches",
                                                             "4",
                                                             "--checkpoint",
                                                             "off",
                                                             "--engine",
                                                             "self",
                                                             "--transport",
                                                             "mpi",
                                                             GPIPE_SMALL,
                                                             "--iterations",
                                                             "5",
                                                             "-o",
                                                             out,
                                                             NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_input input = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_pipeline_views views = {0};
    assert_int_equal(nvt_input_add(&input, out, &err), 0);
    assert_int_equal(nvt_input_traces(&input, &err), 0);
    assert_int_equal(input.trace_count, 2);
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 1);
    const struct nvt_pipeline_view *view = &views.items[0];
    assert_int_equal(view->step_count, STEPS);
    assert_int_equal(view->ranks_here, 2);
    bool follow = forwards_follow(view);
    double own = gpipe_number(input.runs[0], 0, "step_ns_mean") * STEPS;
    double span = (double)nvt_pipeline_span_of_steps(view);
    assert_true(span <= (double)(view->steps[STEPS - 1].end - view->steps[0].start));
    if (!(span < 3 * own))
        print_message("steps of %.0f ns, by rank 0 %.0f ns\n", span, own);
    nvt_pipeline_views_free(&views);
    nvt_input_free(&input);
    return follow && span < 3 * own;
}

/* A machine that takes the processor away beside a clock that is compared sets the two apart in that run. */
static void ranks_of_mpi_lie_on_one_clock(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    cli_expect_one_run("clock", ranks_lie_on_one_clock);
}

/* The pipeline of a directory has all partitions, and the bubble of K = M = 4, which is 3/7. */
static void expect_pipeline(const char *directory)
{
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "stats", directory, "-r", "pipeline", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    for (int partition = 0; partition < 4; partition++) {
        char row[32];
        snprintf(row, sizeof(row), "d_ff=128,%d,", partition);
        assert_non_null(strstr(result.out, row));
    }
    double predicted = 0;
    const char *all = strstr(result.out, "d_ff=128,all,");
    assert_non_null(all);
    assert_int_equal(sscanf(all, "d_ff=128,all,%*d,%*f,%*f,%*f,%*f,%lf", &predicted), 1);
    assert_true(fabs(predicted - 300.0 / 7) < 0.06);
    assert_null(strstr(result.err, "the input has traces of"));
    cli_result_free(&result);
}

/* What is left of a run can be read, drawn and put together, with its row or, where not even that was written, without. */
static void expect_readable(const char *directory)
{
    expect_pipeline(directory);
    const char *pictures = cli_in(cli_folder, "pictures");
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "plot", directory, "-o", pictures, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "gpipe-schedule.svg"));
    cli_result_free(&result);
    cli_write_file(cli_in(directory, "results.jsonl"), "", 0);
    expect_pipeline(directory);
    result = cli_run_with(&(struct cli_options){.directory = directory},
                          (const char *const[]){"sh", "-c", "rm ./*-rank3.nvt", NULL});
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", directory, "-r", "pipeline", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, "d_ff=128,3,"));
    assert_non_null(strstr(result.err, "the input has traces of 3 of 4 ranks"));
    cli_result_free(&result);
}

/* SIGKILL of one rank's worker: all end soon, and say why; all traces can be read. */
static void one_rank_that_dies_ends_all(void **state)
{
    static const char script[] =
        "mpirun --allow-run-as-root --oversubscribe -n 4 \"$0\" run gpipe --partitions 4 "
        "--microbatches 4 --checkpoint on --engine self --transport mpi --d-model 32 --layers 4 "
        "--heads 4 --d-ff 128 --batch 8 --sequence 16 --vocabulary 100 --iterations 1000000 -o "
        "dead & "
        "for i in $(seq 6000); do sleep 0.1; for r in 0 1 2 3; do "
        "\"$0\" stats -r nvtx_sum dead/*-rank$r.nvt 2>&1 | grep -q \"forward p$r\" || continue 2; "
        "done; break; done; "
        "for p in $(pgrep -f 'worker run.*gpipe'); do "
        "[ /proc/$p/cwd -ef . ] && grep -qz OMPI_COMM_WORLD_RANK=2 /proc/$p/environ && "
        "kill -9 $p && break; done; "
        "start=$(date +%s); wait; echo took $(($(date +%s) - start))";
    (void)state;
    if (!cli_has_mpirun())
        skip();
    struct cli_result result =
        cli_run_with(&(struct cli_options){.directory = cli_folder},
                     (const char *const[]){"bash", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    const char *took = strstr(result.out, "took ");
    assert_non_null(took);
    assert_true(atoi(took + 5) < 120);
    assert_non_null(strstr(result.err, "nvtally: rank 2 of 4 failed: killed by signal 9"));
    cli_result_free(&result);
    for (int rank = 0; rank < 4; rank++) {
        char pattern[200], range[32];
        snprintf(pattern, sizeof(pattern), "ls $PWD/dead/*-rank%d.nvt | tr -d '\\n'", rank);
        result = cli_run_with(&(struct cli_options){.directory = cli_folder},
                              (const char *const[]){"sh", "-c", pattern, NULL});
        snprintf(range, sizeof(range), "forward p%d", rank);
        assert_true(gpipe_count_ranges(result.out, range) > 0);
        cli_result_free(&result);
    }
    expect_readable(cli_in(cli_folder, "dead"));
}

/* What all ranges of a name took, in ns. */
static double time_in(const char *path, const char *name)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    double sum = 0;
    assert_non_null(trace);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            sum += (double)(trace->ranges.end[i] - trace->ranges.start[i]);
    nvt_trace_free(trace);
    return sum;
}

/* Whether the row of a run over ranks, in a folder of this name, has peaks that are those of one process, and times that are longer
 * than what rank 1 did in them. */
static bool is_of_all_ranks(const char *folder)
{
    static const char script[] =
        "mkdir \"$2\" && cd \"$2\" || exit 1; for t in local mpi; do mkdir $t; cd $t; test $t = "
        "mpi && mpi=\"$1\"; "
        "$mpi \"$0\" run gpipe --partitions 2 --microbatches 2 --checkpoint off --engine self "
        "--transport $t --d-model 8 --layers 2 --heads 2 --d-ff 16 --batch 16 --sequence 64 "
        "--vocabulary 3000 --warmup 0 --iterations 1 -o . || exit 1; cd ..; done; "
        "mv mpi/*-rank1.nvt rank1.nvt";
    struct cli_result result = cli_run_with(
        &(struct cli_options){.directory = cli_folder},
        (const char *const[]){"sh", "-c", script, cli_built("nvtally"),
                              "mpirun --allow-run-as-root --oversubscribe -n 2", folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *local = cli_read_runs(cli_in(folder, "local"));
    struct nvt_runs *ranks = cli_read_runs(cli_in(folder, "mpi"));
    static const char *const peaks[] = {
        "forward_peak_allocated_bytes", "forward_peak_reserved_bytes",
        "backward_peak_allocated_bytes", "backward_peak_reserved_bytes"};
    for (size_t i = 0; i < NVT_COUNT_OF(peaks); i++)
        if (!(gpipe_number(ranks, 0, peaks[i]) == gpipe_number(local, 0, peaks[i])))
            fail_msg("%s: %.0f over ranks, %.0f in one process", peaks[i],
                     gpipe_number(ranks, 0, peaks[i]), gpipe_number(local, 0, peaks[i]));
    bool is_longer = gpipe_number(ranks, 0, "forward_ns_mean") >
                         time_in(cli_in(folder, "rank1.nvt"), "forward p1") &&
                     gpipe_number(ranks, 0, "backward_ns_mean") >
                         time_in(cli_in(folder, "rank1.nvt"), "backward p1");
    nvt_runs_free(local);
    nvt_runs_free(ranks);
    return is_longer;
}

/* Nearly all that is done and held is the last partition's, in rank 1. The row has it, as one process's has. A rank that is kept from
 * its processor at the end of a range makes that longer. */
static void a_row_is_of_all_ranks(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    cli_expect_one_run("ranks", is_of_all_ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_of_mpi_give_the_same_loss, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(ranks_of_mpi_lie_on_one_clock, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(one_rank_that_dies_ends_all, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(a_row_is_of_all_ranks, cli_folder_set_up,
                                        cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
