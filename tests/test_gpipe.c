/*
 * `nvtally run gpipe`: rows, traces, ranks of MPI, and what happens when one of them dies. That no cut changes
 * loss or gradients is in test_pipeline_double.c.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/studies/pipeline.h"
#include "../analyze/readers/reader.h"
#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

#define SMALL                                                                                      \
    "--d-model", "32", "--layers", "4", "--heads", "4", "--d-ff", "128", "--batch", "8",           \
        "--sequence", "16", "--vocabulary", "100", "--warmup", "1"

static struct nvt_runs *read_runs(void)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_runs *runs = nvt_runs_read(cli_folder, &err);
    if (!runs)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return runs;
}

static double number(const struct nvt_runs *runs, size_t row, const char *key)
{
    return nvt_record_number(&runs->records[row], key);
}

static uint32_t count_ranges(const char *path, const char *name)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    uint32_t count = 0;
    if (!trace) {
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
        return 0;
    }
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    nvt_trace_free(trace);
    return count;
}

/* A forward of the batch. */
static double expected_flops(const struct nvt_record *row)
{
    double d = nvt_record_number(row, "d_model"), h = nvt_record_number(row, "d_ff");
    double t = nvt_record_number(row, "sequence"), v = nvt_record_number(row, "vocabulary");
    double block = 2 * t * (4 * d * d + 2 * d * h) + 4 * d * t * t;
    return nvt_record_number(row, "batch") *
           (nvt_record_number(row, "layers") * block + 2 * t * d * v);
}

/* All is launched before it is done; what a schedule has no time of is null, and there. */
static void expect_launch_times(const struct nvt_record *row, int is_mixed)
{
    static const char *const phases[] = {"step", "forward", "backward"};
    for (size_t i = 0; i < 3; i++) {
        char launch[64], done[64];
        snprintf(launch, sizeof(launch), "%s_launch_ns_mean", phases[i]);
        snprintf(done, sizeof(done), "%s_ns_mean", phases[i]);
        const struct nvt_member *member = nvt_record_find(row, launch);
        assert_non_null(member);
        assert_int_equal(member->type, i && is_mixed ? NVT_VALUE_NULL : NVT_VALUE_NUMBER);
        if (member->type == NVT_VALUE_NUMBER)
            assert_true(member->number > 0 && member->number < nvt_record_number(row, done));
    }
    assert_true(is_mixed || nvt_record_number(row, "step_launch_ns_mean") >=
                                nvt_record_number(row, "forward_launch_ns_mean") +
                                    nvt_record_number(row, "backward_launch_ns_mean"));
}

/* Of each partition, and at this size a segment of 2 MiB. */
static void expect_weights(const struct nvt_record *row)
{
    int partitions = (int)nvt_record_number(row, "partitions");
    for (int p = 0; p <= partitions; p++) {
        char key[64];
        snprintf(key, sizeof(key), "parameter_bytes_per_partition.%d", p);
        assert_true(p == partitions ? !nvt_record_find(row, key)
                                    : nvt_record_number(row, key) == 2 << 20);
    }
}

/* Every K, M, checkpointing and engine gives the loss of the same micro-batches at K = 1. */
static void a_sweep_agrees_with_itself(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "run", "gpipe", "--partitions", "1,2,4", "--microbatches", "1,4", "--schedule",
        "gpipe,1f1b", SMALL, "--iterations", "3", "-o", cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = read_runs();
    double losses[5] = {NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(runs->count, 3 * 2 * 2 * 2 * 2);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *row = &runs->records[i];
        int microbatches = (int)number(runs, i, "microbatches");
        int is_mixed = !strcmp(nvt_record_text(row, "schedule"), "1f1b");
        assert_string_equal(nvt_record_text(row, "status"), "ok");
        if (isnan(losses[microbatches]))
            losses[microbatches] = number(runs, i, "loss");
        /* Single precision, sums in another order: a few units of the last place of about five. */
        assert_true(fabs(number(runs, i, "loss") - losses[microbatches]) < 1e-5);
        assert_true(number(runs, i, "step_ns_mean") > 0);
        assert_int_equal(isnan(number(runs, i, "forward_ns_mean")), is_mixed);
        expect_launch_times(row, is_mixed);
        expect_weights(row);
        assert_true(number(runs, i, "total_reserved_bytes") >= 12 * number(runs, i, "parameters"));
        assert_true(number(runs, i, "throughput_samples_per_s") > 0);
        double k = number(runs, i, "partitions");
        assert_true(fabs(number(runs, i, "bubble_predicted") - (k - 1) / (microbatches + k - 1)) <
                    1e-12);
        /* By hand: docs/workloads.md. */
        int is_kept = strcmp(nvt_record_text(row, "checkpoint"), "true") != 0;
        double flops = number(runs, i, "flops_forward");
        assert_true(flops == expected_flops(row));
        assert_true(fabs(number(runs, i, "flops_backward") / flops - 2 -
                         (is_kept ? 0 : 1 - 1.0 / microbatches)) < 1e-9);
        assert_true(number(runs, i, "flops_optimizer") == 9 * number(runs, i, "parameters"));
        assert_true(isnan(number(runs, i, "forward_ns_std")) == is_mixed);
        if (!is_mixed)
            assert_true(fabs(number(runs, i, "throughput_samples_per_s") *
                                 (number(runs, i, "forward_ns_mean") +
                                  number(runs, i, "backward_ns_mean")) /
                                 1e9 / number(runs, i, "batch") -
                             1) < 1e-6);
        /* Three timed steps: a forward of the first partition for each micro-batch. */
        assert_int_equal(
            count_ranges(cli_in(cli_folder, nvt_record_text(row, "trace")), "forward p0"),
            3 * (uint32_t)microbatches);
    }
    nvt_runs_free(runs);
}

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
                                 SMALL,
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
    struct nvt_runs *runs = read_runs();
    assert_int_equal(runs->count, 1);
    double loss = number(runs, 0, "loss");
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

/* Under ThreadSanitizer a run takes seconds to start: every fifth meets all schedules, engines and
 * ways. */
#ifdef __SANITIZE_THREAD__
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
                                                             SMALL,
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
    double own = number(input.runs[0], 0, "step_ns_mean") * STEPS;
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
        "for i in $(seq 300); do sleep 0.1; for r in 0 1 2 3; do "
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
    assert_true(atoi(took + 5) <= 10);
    assert_non_null(strstr(result.err, "nvtally: rank 2 of 4 failed: killed by signal 9"));
    cli_result_free(&result);
    for (int rank = 0; rank < 4; rank++) {
        char pattern[200], range[32];
        snprintf(pattern, sizeof(pattern), "ls $PWD/dead/*-rank%d.nvt | tr -d '\\n'", rank);
        result = cli_run_with(&(struct cli_options){.directory = cli_folder},
                              (const char *const[]){"sh", "-c", pattern, NULL});
        snprintf(range, sizeof(range), "forward p%d", rank);
        assert_true(count_ranges(result.out, range) > 0);
        cli_result_free(&result);
    }
    expect_readable(cli_in(cli_folder, "dead"));
}

/* The most that a table by partition, phase and micro-batch has as reserved by a partition. */
static double most_reserved(const char *table, int partition)
{
    double most = 0;
    for (const char *line = strstr(table, "configuration,partition,"); line;
         line = strchr(line, '\n')) {
        char phase[16];
        int of, microbatch;
        double allocated, reserved;
        const char *at = strchr(++line, ',');
        if (at && sscanf(at, ",%d,%15[a-z],%d,%lf,%lf,", &of, phase, &microbatch, &allocated,
                         &reserved) == 5)
            most = of == partition ? fmax(most, reserved) : most;
    }
    return most;
}

/* Of a host there are no memory events: its allocator's peaks, by phase, and by partition and micro-batch. These are the
 * row's, messages included. */
static void memory_is_reported_by_phase_and_part(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "peaks");
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "run", "gpipe", "--partitions", "2", "--microbatches", "2", "--engine", "self",
        "--checkpoint", "on", SMALL, "--iterations", "2", "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", out, "-r", "memory_peak", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    struct nvt_runs *runs = cli_read_runs(out);
    char line[100];
    snprintf(line, sizeof(line), ",nvtx,forward,%.0f,%.0f\n",
             number(runs, 0, "forward_peak_allocated_bytes"),
             number(runs, 0, "forward_peak_reserved_bytes"));
    for (int i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof(key), "reserved_bytes_per_partition.%d", i);
        if (!(most_reserved(result.out, i) == number(runs, 0, key)))
            fail_msg("partition %d: %.0f bytes, not %.0f", i, most_reserved(result.out, i),
                     number(runs, 0, key));
    }
    nvt_runs_free(runs);
    const char *const lines[] = {line, ",0,forward,0,", ",0,backward,1,", ",1,forward,1,"};
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], result.out);
    assert_null(strstr(result.err, "no memory event"));
    cli_result_free(&result);
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
        if (!(number(ranks, 0, peaks[i]) == number(local, 0, peaks[i])))
            fail_msg("%s: %.0f over ranks, %.0f in one process", peaks[i],
                     number(ranks, 0, peaks[i]), number(local, 0, peaks[i]));
    bool is_longer =
        number(ranks, 0, "forward_ns_mean") > time_in(cli_in(folder, "rank1.nvt"), "forward p1") &&
        number(ranks, 0, "backward_ns_mean") > time_in(cli_in(folder, "rank1.nvt"), "backward p1");
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

static void bad_configurations_run_nothing(void **state)
{
    static const char *const bad[][3] = {
        {"--microbatches", "3", "cannot be cut into 3"},
        {"--partitions", "9", "there are 8 modules"},
        {"--heads", "5", "not a multiple of 5 heads"},
        {"--schedule", "zigzag", "gpipe"},
        {"--engine", "none", "self"},
        {"--transport", "pigeon", "local"},
        {"--partitions", "0", "--partitions"},
        {"--transport", "nccl", "the host backend has none"},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "run", "gpipe", SMALL, "--microbatches", "2", bad[i][0], bad[i][1], NULL});
        cli_expect_failure(&result, bad[i][2]);
        cli_result_free(&result);
    }
}

static void memory_that_runs_out_is_a_row(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally",  "run",        "gpipe", "--partitions", "2", "--microbatches", "4",   "--batch",
        "64",       "--d-model",  "64",    "--layers",     "4", "--heads",        "4",   "--d-ff",
        "256",      "--sequence", "128",   "--iterations", "1", "--memory-limit", "64M", "-o",
        cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = read_runs();
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "oom");
        assert_non_null(
            strstr(nvt_record_text(&runs->records[i], "message"), "bytes were asked for"));
    }
    nvt_runs_free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sweep_agrees_with_itself, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(ranks_of_mpi_give_the_same_loss, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(ranks_of_mpi_lie_on_one_clock, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(one_rank_that_dies_ends_all, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(memory_is_reported_by_phase_and_part, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(a_row_is_of_all_ranks, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test(bad_configurations_run_nothing),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_a_row, cli_folder_set_up,
                                        cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
