/*
 * Where the whole run of a process went: every moment counts once, and for the part that is told first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/studies/run_time.h"
#include "made_trace.h"
#include "small_trace.h"

#define MS INT64_C(1000000)

static void range(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    small_range(trace, small_thread(trace, 7, 7), "PyTorch", name, start * MS, end * MS,
                strcmp(name, "iteration") ? NVT_PUSH_POP : NVT_START_END);
}

/* Two epochs of three iterations of 100 ms, from 1000 ms on; the process ends at 2000 ms. */
static struct nvt_trace *make_training(void)
{
    struct nvt_trace *trace = small_trace();
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        const int64_t begin = 1000 + 400 * epoch;
        for (int64_t i = 0; i < 3; i++) {
            const int64_t at = begin + 100 * i;
            range(trace, "iteration", at, at + 100);
            range(trace, "data", at, at + 10);
            range(trace, "forward", at + 10, at + 40);
            range(trace, "optimizer", at + 40, at + 60);
            range(trace, "between steps", at + 60, at + 100);
        }
        range(trace, "checkpoint", begin + 270, begin + 290);
        range(trace, "evaluation", begin + 300, begin + 380);
        range(trace, "data", begin + 310, begin + 320);
    }
    const struct nvt_os_call waits[] = {
        {.start = 1020 * MS, .end = 1025 * MS, .name = 0}, /* in a forward pass */
        {.start = 1305 * MS, .end = 1309 * MS, .name = 0}, /* in an evaluation: that comes first */
    };
    for (size_t i = 0; i < 2; i++) {
        struct nvt_os_call call = waits[i];
        call.thread = small_thread(trace, 7, 7);
        call.name = nvt_strings_add_text(trace->strings, "pthread_mutex_lock");
        assert_int_not_equal(nvt_os_call_add(trace, &call), NVT_NONE);
    }
    trace->threads.ended_ns[small_thread(trace, 7, 7)] = 2000 * MS;
    small_trace_finish(trace);
    return trace;
}

static void expect_parts(const struct nvt_run_time *time, const int64_t expected[NVT_RUN_PARTS])
{
    int64_t all = 0;
    for (int part = 0; part < NVT_RUN_PARTS; part++) {
        if (time->ns[part] != expected[part] * MS)
            fail_msg("%s: %lld ns, not %lld ms", nvt_run_part_name(time, (enum nvt_run_part)part),
                     (long long)time->ns[part], (long long)expected[part]);
        all += time->ns[part];
    }
    assert_int_equal(all, time->to - time->from);
}

static void each_moment_counts_once(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_training();
    struct nvt_run_times times = {0};
    assert_int_equal(nvt_run_times_make(&times, trace), 0);
    assert_int_equal(times.count, 1);
    static const int64_t expected[NVT_RUN_PARTS] = {
        [NVT_RUN_START] = 1000,
        [NVT_RUN_TRAINING] = 6 * 50 - 5,
        [NVT_RUN_EVALUATION] = 2 * 80,
        [NVT_RUN_CHECKPOINT] = 2 * 20,
        [NVT_RUN_DATA] = 6 * 10,
        [NVT_RUN_LOCKS] = 5,
        /* Up to the next iteration, which after the first epoch is 20 ms behind its evaluation. */
        [NVT_RUN_BETWEEN] = 6 * 40 - 2 * 20 + 20,
        [NVT_RUN_END] = 220,
    };
    expect_parts(&times.items[0], expected);
    assert_int_equal(times.items[0].count[NVT_RUN_TRAINING], 6);
    assert_int_equal(times.items[0].count[NVT_RUN_EVALUATION], 2);
    char text[200];
    nvt_run_time_text(&times.items[0], text, sizeof(text));
    assert_string_equal(
        text, "2.00 s: 50 % start and imports, 15 % training, 11 % between steps, 11 % after "
              "the loop, 8 % evaluation, 3 % waiting for data, 2 % checkpoints");
    nvt_run_time_text(&times.items[0], text, 31);
    assert_string_equal(text, "2.00 s: 50 % start and imports");
    nvt_run_times_free(&times);
    nvt_trace_free(trace);
}

/* A process that has no iterations has ranges, where none has; where one has, as beside a loader's workers, it is left out. */
static void processes_without_iterations(void **state)
{
    (void)state;
    for (int has_loop = 0; has_loop < 2; has_loop++) {
        struct nvt_trace *trace = small_trace();
        small_range(trace, small_thread(trace, 7, 7), "", "work", 100 * MS, 300 * MS, NVT_PUSH_POP);
        small_range(trace, small_thread(trace, 7, 7), "", "part", 150 * MS, 200 * MS, NVT_PUSH_POP);
        if (has_loop)
            small_range(trace, small_thread(trace, 8, 8), "", "iteration", 350 * MS, 400 * MS,
                        NVT_PUSH_POP);
        trace->threads.ended_ns[small_thread(trace, 7, 7)] = 320 * MS;
        if (has_loop)
            trace->threads.ended_ns[small_thread(trace, 8, 8)] = 500 * MS;
        small_trace_finish(trace);
        struct nvt_run_times times = {0};
        assert_int_equal(nvt_run_times_make(&times, trace), 0);
        assert_int_equal(times.count, 1);
        /* The second process starts when the first one has ended. */
        static const int64_t ranges[NVT_RUN_PARTS] = {
            [NVT_RUN_START] = 100, [NVT_RUN_RANGES] = 200, [NVT_RUN_END] = 20};
        static const int64_t loop[NVT_RUN_PARTS] = {
            [NVT_RUN_START] = 30, [NVT_RUN_TRAINING] = 50, [NVT_RUN_END] = 100};
        expect_parts(&times.items[0], has_loop ? loop : ranges);
        nvt_run_times_free(&times);
        nvt_trace_free(trace);
    }
}

/* Passes of a program that infers are no training; where each has a thread of its own, no thread runs the loop. */
static void inference_is_no_training(void **state)
{
    (void)state;
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        struct nvt_trace *trace = small_trace();
        struct nvt_run_times times = {0};
        for (int64_t k = 0; k < 4; k++) {
            const uint32_t thread = small_thread(trace, 7, has_threads ? 7 + k : 7);
            small_range(trace, thread, "PyTorch", "forward", (100 + 100 * k) * MS,
                        (130 + 100 * k) * MS, NVT_PUSH_POP);
            trace->threads.ended_ns[thread] = 500 * MS;
        }
        small_trace_finish(trace);
        assert_int_equal(nvt_run_times_make(&times, trace), 0);
        assert_int_equal(times.count, !has_threads);
        static const int64_t parts[NVT_RUN_PARTS] = {[NVT_RUN_START] = 100,
                                                     [NVT_RUN_TRAINING] = 4 * 30,
                                                     [NVT_RUN_END] = 70,
                                                     [NVT_RUN_REST] = 3 * 70};
        if (!has_threads) {
            expect_parts(&times.items[0], parts);
            assert_string_equal(nvt_run_part_name(&times.items[0], NVT_RUN_TRAINING), "inference");
        }
        nvt_run_times_free(&times);
        nvt_trace_free(trace);
    }
}

/* A profile knows neither when its process started nor when it ended. */
static void traces_without_ends(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    for (int64_t i = 0; i < 4; i++)
        small_range(trace, small_thread(trace, 7, 7), "", "ProfilerStep#1", (500 + 100 * i) * MS,
                    (580 + 100 * i) * MS, NVT_PUSH_POP);
    small_trace_finish(trace);
    struct nvt_run_times times = {0};
    assert_int_equal(nvt_run_times_make(&times, trace), 0);
    assert_int_equal(times.count, 1);
    static const int64_t expected[NVT_RUN_PARTS] = {
        [NVT_RUN_TRAINING] = 4 * 80, [NVT_RUN_REST] = 3 * 20};
    expect_parts(&times.items[0], expected);
    nvt_run_times_free(&times);
    nvt_trace_free(trace);
}

/* A crash in the fourth iteration, 30 ms into it: these are of the training, and nothing is behind the loop. */
static void an_iteration_that_never_ended(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    const uint32_t thread = small_thread(trace, 7, 7);
    for (int64_t i = 0; i < 4; i++) {
        range(trace, "iteration", 1000 + 110 * i, 1000 + 110 * i + (i < 3 ? 100 : 20));
        range(trace, "forward", 1000 + 110 * i, 1000 + 110 * i + 20);
    }
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (trace->ranges.start[i] == 1330 * MS && trace->ranges.style[i] == NVT_START_END)
            trace->ranges.flags[i] |= NVT_RANGE_UNCLOSED;
    trace->threads.ended_ns[thread] = 1360 * MS;
    small_trace_finish(trace);
    struct nvt_run_times times = {0};
    assert_int_equal(nvt_run_times_make(&times, trace), 0);
    assert_int_equal(times.count, 1);
    assert_int_equal(times.items[0].iterations, 3);
    static const int64_t expected[NVT_RUN_PARTS] = {
        [NVT_RUN_START] = 1000, [NVT_RUN_TRAINING] = 330, [NVT_RUN_REST] = 30};
    expect_parts(&times.items[0], expected);
    nvt_run_times_free(&times);
    nvt_trace_free(trace);
}

/* A program that waits for workers, which have the ranges: it comes behind them, and a shell that nothing was sampled of is left out. */
static void who_waits_for_workers_is_there(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int64_t pid = 2; pid < 6; pid++) { /* 2: the program; 3 and 4: workers; 5: a shell */
        make_process(&maker, pid, 0);
        maker.trace->processes.parent_pid[maker.process] = pid > 4 ? 1 : pid > 2 ? 2 : 5;
        maker.trace->threads.ended_ns[maker.thread] = 2000 * MS;
        maker.now = 900 * MS;
        if (pid == 2)
            make_sample(&maker, maker.thread, 100 * MS, 5 * MS, 0);
        else if (pid < 5)
            make_range(&maker, "work", 800 * MS);
    }
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_run_times times = {0};
    assert_int_equal(nvt_run_times_make(&times, trace), 0);
    assert_int_equal(times.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(trace->processes.pid[times.items[i].process], i < 2 ? 3 + i : 2);
    static const int64_t expected[NVT_RUN_PARTS] = {[NVT_RUN_REST] = 2000};
    expect_parts(&times.items[2], expected);
    nvt_run_times_free(&times);
    nvt_trace_free(trace);
}

static void the_report_adds_up(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_training();
    char *out = make_report("run_time", &trace, 1, NULL);
    assert_string_equal(out, "Time (%),Total Time (ns),Instances,Part,PID,TID\n"
                             "50.0,1000000000,,start and imports,7,7\n"
                             "14.8,295000000,6,training,7,7\n"
                             "8.0,160000000,2,evaluation,7,7\n"
                             "2.0,40000000,2,checkpoints,7,7\n"
                             "3.0,60000000,8,waiting for data,7,7\n"
                             "0.3,5000000,2,waiting for locks,7,7\n"
                             "11.0,220000000,6,between steps,7,7\n"
                             "11.0,220000000,,after the loop,7,7\n");
    free(out);
}

/* Where the recorder was killed, nobody knows how long the run was. */
static void what_was_cut_off_is_not_whole(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_training();
    struct nvt_run_times times = {0};
    assert_int_equal(nvt_run_times_make(&times, trace), 0);
    assert_true(nvt_run_time_is_whole(&times.items[0], trace));
    trace->open_ns = 2000 * MS;
    assert_false(nvt_run_time_is_whole(&times.items[0], trace));
    nvt_run_times_free(&times);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_counts_once),
        cmocka_unit_test(processes_without_iterations),
        cmocka_unit_test(inference_is_no_training),
        cmocka_unit_test(traces_without_ends),
        cmocka_unit_test(an_iteration_that_never_ended),
        cmocka_unit_test(who_waits_for_workers_is_there),
        cmocka_unit_test(the_report_adds_up),
        cmocka_unit_test(what_was_cut_off_is_not_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
