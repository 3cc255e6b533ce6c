/*
 * The critical path: what is on it, by a simulated program's own word, and by hand. Something lies on the path exactly
 * when the program would have ended a nanosecond later had it taken a nanosecond longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"
#include "../analyze/path/critical_path.h"
#include "../analyze/path/path_index.h"
#include "../analyze/reports/report.h"
#include "../lib/clock.h"
#include "path_kit.h"
#include "random_kit.h"
#include "simulated_program.h"
#include "small_trace.h"

/* --- against the program itself ---------------------------------------------------------------------- */

/* The delays that the trace shows are those of the machine: then nothing is left to judgement. */
static int shows_delays(const struct nvt_trace *trace)
{
    struct nvt_path_index index;
    assert_int_equal(nvt_path_index_make(&index, trace), 0);
    const struct nvt_path_delays *delays = &index.delays;
    int are_shown = delays->launch[NVT_OP_KERNEL] == LAUNCH_NS && delays->behind == BEHIND_NS &&
                    delays->event == EVENT_NS && delays->wake == WAKE_NS && delays->call == WAIT_NS;
    nvt_path_index_free(&index);
    return are_shown;
}

/* From its first event to its last, without a gap or an overlap. */
static void check_whole(const struct nvt_critical_path *path, int64_t start, int64_t end)
{
    assert_true(path->count > 0);
    assert_int_equal(path->segments[0].start, start);
    assert_int_equal(path->segments[path->count - 1].end, end);
    for (uint32_t i = 0; i < path->count; i++) {
        assert_true(path->segments[i].start < path->segments[i].end);
        if (i)
            assert_int_equal(path->segments[i].start, path->segments[i - 1].end);
    }
}

/* Whether a step of the host, or a kernel, is on the path; it is all there, or not at all. */
static int is_on_path(const struct nvt_critical_path *path, const struct nvt_trace *trace,
                      const struct step *step)
{
    int64_t ns = 0, length = step->kind == STEP_WORK ? step->ns : step->device;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct nvt_path_segment *segment = &path->segments[i];
        int is_it = step->kind == STEP_WORK
                        ? segment->kind == NVT_PATH_HOST && segment->start >= step->start &&
                              segment->end <= step->end
                        : segment->kind == NVT_PATH_COMPUTE &&
                              trace->ops.start[segment->row] == step->op_start &&
                              trace->ops.stream[segment->row] == (uint32_t)step->stream + 7;
        ns += is_it ? segment->end - segment->start : 0;
    }
    assert_true(!ns || ns == length);
    return ns > 0;
}

/* Steps of a program: how many there are that could be on the path, are on it, and are said to be wrongly or not to be. */
struct tally {
    int programs, steps, found, wrong;
};

static void check_steps(struct tally *tally, const struct simulated *sim,
                        const struct nvt_critical_path *path, const struct nvt_trace *trace,
                        int64_t end)
{
    static struct simulated other;
    for (int i = 0; i < sim->count; i++) {
        enum step_kind kind = sim->steps[i].kind;
        if (kind != STEP_WORK && kind != STEP_LAUNCH)
            continue;
        other = *sim;
        if (kind == STEP_WORK)
            other.steps[i].ns++;
        else
            other.steps[i].device++;
        int matters = simulated_run(&other) > end;
        tally->steps++;
        tally->found += matters;
        tally->wrong += matters != is_on_path(path, trace, &sim->steps[i]);
    }
}

/* Nothing where the trace does not show the machine's delays. */
static void check_program(struct tally *tally, uint64_t seed, int streams, int threads,
                          int without_events)
{
    static struct simulated sim;
    struct nvt_critical_paths paths;
    struct nvt_error err = NVT_ERROR_INIT;
    simulated_make(&sim, seed, 300, streams, threads);
    int64_t end = simulated_run(&sim);
    struct nvt_trace *told = simulated_trace(&sim, 0);
    struct nvt_trace *trace = simulated_trace(&sim, without_events);
    if (shows_delays(told)) {
        int wrong = tally->wrong;
        assert_int_equal(nvt_critical_paths_make(&paths, trace, NVT_BY_THREAD, &err), 0);
        assert_int_equal(paths.count, 1);
        check_whole(&paths.items[0], 1000, end);
        check_steps(tally, &sim, &paths.items[0], trace, end);
        assert_true(without_events || paths.items[0].inferred == 0);
        assert_true(threads > 1 || paths.items[0].handovers == 0);
        if (tally->wrong > wrong && !without_events)
            print_message("program %llu: %d steps are wrong\n", (unsigned long long)seed,
                          tally->wrong - wrong);
        tally->programs++;
        nvt_critical_paths_free(&paths);
    }
    nvt_trace_free(trace);
    nvt_trace_free(told);
}

static void what_is_on_the_path_matters_and_nothing_else(void **state)
{
    (void)state;
    struct tally tally = {0, 0, 0, 0};
    for (uint64_t seed = kit_seed(1), last = seed + 299; seed <= last; seed++)
        check_program(&tally, seed, 1 + (int)(seed % STREAMS_MOST), 1 + (int)(seed / 4 % 2), 0);
    print_message("%d programs, %d of their %d steps are on the path, %d are wrong\n",
                  tally.programs, tally.found, tally.steps, tally.wrong);
    assert_true(tally.programs > 150);
    assert_true(tally.found > tally.steps / 10 && tally.found < tally.steps * 9 / 10);
    assert_int_equal(tally.wrong, 0);
}

/* Traces that do not tell of events: most of it is still right. */
static void events_that_are_not_on_record_are_inferred(void **state)
{
    (void)state;
    struct tally tally = {0, 0, 0, 0};
    for (uint64_t seed = kit_seed(1), last = seed + 299; seed <= last; seed++)
        check_program(&tally, seed, 1 + (int)(seed % STREAMS_MOST), 1, 1);
    print_message("%d programs, of their %d steps %d are wrong\n", tally.programs, tally.steps,
                  tally.wrong);
    assert_true(tally.programs > 150);
    assert_true(tally.wrong < tally.steps / 50);
}

/* --- by hand ----------------------------------------------------------------------------------------- */

/* "Host 0-10 main, Launch 10-12 a, …": kinds and times in us, then the range of a segment where it has one, else its
 * name. Frees the trace. */
static void expect(struct nvt_trace *trace, int is_recorded, const char *expected)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_critical_paths paths;
    char text[4096] = "";
    /* Another process: so calls that launch nothing are on record. */
    const struct nvt_api other = {.thread = small_thread(trace, 11, 1),
                                  .name = nvt_strings_add_text(trace->strings, "cudaMalloc")};
    if (is_recorded)
        nvt_api_add(trace, &other);
    small_trace_finish(trace);
    assert_int_equal(nvt_critical_paths_make(&paths, trace, NVT_BY_THREAD, &err), 0);
    for (uint32_t i = 0; paths.count && i < paths.items[0].count; i++) {
        const struct nvt_path_segment *segment = &paths.items[0].segments[i];
        const char *name = segment->kind == NVT_PATH_HOST
                               ? segment->range == NVT_NONE
                                     ? "-"
                                     : nvt_name(trace, trace->ranges.name[segment->range])
                               : nvt_path_name(trace, segment);
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s %lld-%lld %s", used ? ", " : "",
                 nvt_path_kind_name(segment->kind), (long long)segment->start / 1000,
                 (long long)segment->end / 1000, name);
    }
    assert_string_equal(text, expected);
    nvt_critical_paths_free(&paths);
    nvt_trace_free(trace);
}

static void expect_path(struct nvt_trace *trace, const char *expected)
{
    expect(trace, 1, expected);
}

/* Where launches are all that is on record, the host's waits are not: no path is made up. */
static void launches_alone_are_not_enough(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    small_range(trace, path_thread_of(trace, 1), "", "main", 0, 400000, NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 10000, 20000);
    path_op(trace, "a", 7, 1, 15000, 390000);
    expect(trace, 0, "");
}

/* A copy that returns when it is done, behind a kernel; driver calls lie within those of the runtime. */
static void copies_wait(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    small_range(trace, path_thread_of(trace, 1), "", "main", 0, 400000, NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 10000, 20000);
    path_call(trace, 1, "cuLaunchKernel", 2, 12000, 18000);
    path_op(trace, "a", 7, 2, 15000, 115000);
    path_call(trace, 1, "cudaMemcpyAsync", 3, 50000, 130000);
    path_call(trace, 1, "cuMemcpyDtoHAsync", 4, 51000, 129000);
    path_op(trace, "[copy]", 7, 4, 116000, 126000);
    expect_path(trace, "Host 0-10 main, CUDA Call 10-15 cudaLaunchKernel, Compute 15-115 a, "
                       "Gap 115-116 [copy], Copy 116-126 [copy], Wake-up 126-130 cudaMemcpyAsync, "
                       "Host 130-400 main");
}

/* Calls of the system that the followed thread is in: also before the first range, and across an edge; not those within
 * others, or of other threads. */
static void files_and_locks_are_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = path_thread_of(trace, 1), other = path_thread_of(trace, 2);
    small_range(trace, thread, "", "main", 0, 400000, NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 10000, 20000);
    path_op(trace, "a", 7, 1, 15000, 115000);
    path_call(trace, 1, "cudaDeviceSynchronize", 3, 50000, 120000);
    small_range(trace, thread, "", "load", 150000, 300000, NVT_PUSH_POP);
    path_os_call(trace, thread, "poll", 30000, 40000);
    path_os_call(trace, thread, "fopen", 130000, 170000);
    path_os_call(trace, thread, "open", 135000, 145000);
    path_os_call(trace, thread, "read", 200000, 250000);
    path_os_call(trace, other, "pthread_cond_wait", 0, 390000);
    path_os_call(trace, thread, "fsync", 395000, 500000);
    expect_path(trace,
                "Host 0-10 main, CUDA Call 10-15 cudaLaunchKernel, Compute 15-115 a, "
                "Wake-up 115-120 cudaDeviceSynchronize, Host 120-130 main, OS Call 130-150 fopen, "
                "OS Call 150-170 fopen, Host 170-200 load, OS Call 200-250 read, Host 250-300 "
                "load, Host 300-395 main, OS Call 395-400 fsync");
}

/* What waits for all, when it did; and the same call when something outlasts it. */
static void freeing_waits_for_all(void **state)
{
    (void)state;
    for (int outlasts = 0; outlasts < 2; outlasts++) {
        struct nvt_trace *trace = small_trace();
        path_call(trace, 1, "cudaLaunchKernel", 1, 0, 5000);
        path_op(trace, "a", 7, 1, 4000, 100000);
        path_call(trace, 1, "cudaLaunchKernel", 2, 5000, 10000);
        path_op(trace, "b", 8, 2, 9000, outlasts ? 300000 : 60000);
        path_call(trace, 1, "cudaFree", 3, 20000, 105000);
        small_range(trace, path_thread_of(trace, 1), "", "rest", 105000, 400000, NVT_PUSH_POP);
        expect_path(trace, outlasts ? "CUDA Call 0-5 cudaLaunchKernel, "
                                      "CUDA Call 5-10 cudaLaunchKernel, Host 10-20 -, "
                                      "CUDA Call 20-105 cudaFree, Host 105-400 rest"
                                    : "CUDA Call 0-4 cudaLaunchKernel, Compute 4-100 a, "
                                      "Wake-up 100-105 cudaFree, Host 105-400 rest");
    }
}

/* A launch that has to load its kernel hands it over near its end: that is no stall. */
static void long_launches_are_no_stalls(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    path_call(trace, 1, "cudaLaunchKernel", 1, 0, 5000);
    path_op(trace, "a", 7, 1, 4000, 6000);
    path_call(trace, 1, "cudaLaunchKernel", 2, 10000, 900000);
    path_op(trace, "b", 7, 2, 899000, 950000);
    path_call(trace, 1, "cudaLaunchKernel", 3, 960000, 1000000);
    path_op(trace, "c", 7, 3, 1003000, 1100000);
    path_call(trace, 1, "cudaDeviceSynchronize", 4, 1001000, 1105000);
    expect_path(trace, "CUDA Call 0-5 cudaLaunchKernel, Host 5-10 -, "
                       "CUDA Call 10-900 cudaLaunchKernel, Host 900-960 -, "
                       "CUDA Call 960-1000 cudaLaunchKernel, Launch 1000-1003 c, "
                       "Compute 1003-1100 c, Wake-up 1100-1105 cudaDeviceSynchronize");
}

/* A kernel that begins late, just behind one of another stream, and one that begins late behind nothing. */
static void what_is_not_on_record(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct nvt_trace *trace = small_trace();
        path_call(trace, 1, "cudaLaunchKernel", 1, 0, 5000);
        path_op(trace, "a", 7, 1, 4000, behind ? 199000 : 150000);
        path_call(trace, 1, "cudaLaunchKernel", 2, 5000, 10000);
        path_op(trace, "b", 8, 2, 200000, 300000);
        expect_path(trace, behind ? "CUDA Call 0-4 cudaLaunchKernel, Compute 4-199 a, "
                                    "Gap 199-200 b, Compute 200-300 b"
                                  : "CUDA Call 0-5 cudaLaunchKernel, "
                                    "CUDA Call 5-10 cudaLaunchKernel, Stall 10-200 b, "
                                    "Compute 200-300 b");
    }
}

/* A launch that waits until the stream has room for it: the host goes on when the first of many has ended. */
static void a_full_queue_is_waited_for(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    enum { QUEUE = 400 };
    for (int i = 0; i < QUEUE; i++) {
        path_call(trace, 1, "cudaLaunchKernel", 1 + (uint64_t)i, 100 * i, 100 * i + 90);
        path_op(trace, "a", 7, 1 + (uint64_t)i, 50 + 1000000 * i, 1000000 * i + 1000000);
    }
    path_call(trace, 1, "cudaLaunchKernel", 1000, 100 * QUEUE, 1002000);
    path_op(trace, "b", 7, 1000, 1000000 * QUEUE + 50, 1000000 * QUEUE + 100);
    small_range(trace, path_thread_of(trace, 1), "", "rest", 1002000, INT64_C(900000000),
                NVT_PUSH_POP);
    expect_path(trace, "CUDA Call 0-0 cudaLaunchKernel, Compute 0-1000 a, "
                       "Wake-up 1000-1002 cudaLaunchKernel, "
                       "Host 1002-900000 rest");
}

/* nsys gives all synchronisation to device 0: a stream is found on another one, and a context by its own number. */
static void waits_are_found_on_other_devices(void **state)
{
    (void)state;
    for (int is_context = 0; is_context < 2; is_context++) {
        struct nvt_trace *trace = small_trace();
        path_call(trace, 1, "cudaLaunchKernel", 1, 0, 5000);
        path_op(trace, "a", 15, 1, 4000, 500000);
        path_call(trace, 1, "cudaWait", 2, 10000, 505000);
        const struct nvt_sync sync = {.start = 10000,
                                      .end = 505000,
                                      .process = nvt_trace_process(trace, 10),
                                      .context = 2,
                                      .stream = is_context ? 0 : 15,
                                      .correlation = 2,
                                      .type = is_context ? NVT_SYNC_CONTEXT : NVT_SYNC_STREAM};
        nvt_sync_add(trace, &sync);
        trace->ops.device[0] = 1;
        trace->ops.context[0] = 2;
        expect_path(trace, "CUDA Call 0-4 cudaLaunchKernel, Compute 4-500 a, "
                           "Wake-up 500-505 cudaWait");
    }
}

/* A thread that asks all the time hands nothing over; nor does one that goes on when the other does. */
static void polling_is_no_work(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    small_range(trace, path_thread_of(trace, 1), "", "before", 0, 100000, NVT_PUSH_POP);
    for (int i = 0; i < 100; i++)
        path_call(trace, 2, "cudaEventQuery", 100 + (uint64_t)i, 9000 * i, 9000 * i + 2000);
    for (int i = 0; i < 90; i++)
        small_range(trace, path_thread_of(trace, 3), "", "busy", 10000 * i, 10000 * i + 3000,
                    NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 300000, 310000);
    path_op(trace, "a", 7, 1, 305000, 1000000);
    expect_path(trace, "Host 0-100 before, Host 100-300 -, CUDA Call 300-305 cudaLaunchKernel, "
                       "Compute 305-1000 a");
}

/* One thread calls another one and waits for it. */
static void threads_hand_over(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    small_range(trace, path_thread_of(trace, 1), "", "step", 0, 1000000, NVT_PUSH_POP);
    small_range(trace, path_thread_of(trace, 1), "", "forward", 0, 300000, NVT_PUSH_POP);
    small_range(trace, path_thread_of(trace, 2), "", "backward", 320000, 700000, NVT_PUSH_POP);
    small_range(trace, path_thread_of(trace, 1), "", "optimizer", 710000, 900000, NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 890000, 900000);
    path_op(trace, "a", 7, 1, 895000, 2000000);
    expect_path(trace, "Host 0-300 forward, Host 300-320 step, Host 320-700 backward, "
                       "Host 700-710 -, Host 710-890 optimizer, "
                       "CUDA Call 890-895 cudaLaunchKernel, Compute 895-2000 a");
}

/* What a thread without ranges does counts for the range that waits for it, such as PyTorch's backward pass. */
static void who_is_waited_for_works_for_the_range_that_waits(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = small_trace();
    small_range(trace, path_thread_of(trace, 1), "", "forward", 0, 100000, NVT_PUSH_POP);
    small_range(trace, path_thread_of(trace, 1), "", "backward", 110000, 900000, NVT_PUSH_POP);
    path_call(trace, 1, "cudaLaunchKernel", 1, 90000, 100000);
    path_op(trace, "a", 7, 1, 95000, 105000);
    for (int i = 0; i < 6; i++) {
        const int64_t at = 200000 + 100000 * i;
        path_call(trace, 2, "cudaLaunchKernel", 2 + (uint64_t)i, at, at + 10000);
        path_op(trace, "b", 7, 2 + (uint64_t)i, at + 5000, at + 8000);
    }
    path_call(trace, 1, "cudaDeviceSynchronize", 9, 870000, 880000);
    small_trace_finish(trace);
    for (int is_by_thread = 0; is_by_thread < 2; is_by_thread++) {
        struct nvt_critical_paths paths;
        int64_t host_ns = 0;
        assert_int_equal(nvt_critical_paths_make(
                             &paths, trace, is_by_thread ? NVT_BY_THREAD : NVT_ACROSS_WAITS, &err),
                         0);
        assert_int_equal(paths.count, 1);
        for (uint32_t i = 0; i < paths.items[0].count; i++) {
            const struct nvt_path_segment *segment = &paths.items[0].segments[i];
            if (segment->kind == NVT_PATH_HOST && segment->range != NVT_NONE &&
                segment->thread == path_thread_of(trace, 2) &&
                !strcmp(nvt_name(trace, trace->ranges.name[segment->range]), "backward"))
                host_ns += segment->end - segment->start;
        }
        if (is_by_thread)
            assert_int_equal(host_ns, 0);
        else
            assert_in_range(host_ns, 400000, 600000);
        nvt_critical_paths_free(&paths);
    }
    nvt_trace_free(trace);
}

/* Files may be made so that everything is at one moment: that costs no more than if it were not. */
static void equal_times_cost_no_more(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_critical_paths paths;
    struct nvt_trace *trace = small_trace();
    const struct nvt_sync sync = {.start = 0,
                                  .process = nvt_trace_process(trace, 10),
                                  .stream = 7,
                                  .correlation = 2,
                                  .recorded = 3,
                                  .recorded_stream = 7,
                                  .type = NVT_SYNC_WAIT_EVENT};
    for (uint64_t i = 0; i < 200000; i++) {
        path_call(trace, 1, "cudaLaunchKernel", 10 + i, 5, 5);
        path_op(trace, "a", 7, 10 + i, 5, 5);
    }
    path_call(trace, 1, "cudaEventRecord", 3, 0, 0);
    nvt_sync_add(trace, &sync);
    small_trace_finish(trace);
    int64_t started = nvt_monotonic_ns();
    assert_int_equal(nvt_critical_paths_make(&paths, trace, NVT_BY_THREAD, &err), 0);
    assert_true(nvt_monotonic_ns() - started < INT64_C(5000000000));
    nvt_critical_paths_free(&paths);
    nvt_trace_free(trace);
}

static void nothing_to_follow(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_critical_paths paths;
    struct nvt_trace *trace = small_trace();
    path_op(trace, "a", 7, 0, 0, 10);
    small_trace_finish(trace);
    assert_int_equal(nvt_critical_paths_make(&paths, trace, NVT_BY_THREAD, &err), 0);
    assert_int_equal(paths.count, 0);
    assert_true(paths.is_blind);
    nvt_critical_paths_free(&paths);
    nvt_trace_free(trace);
    expect_path(small_trace(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_on_the_path_matters_and_nothing_else),
        cmocka_unit_test(events_that_are_not_on_record_are_inferred),
        cmocka_unit_test(launches_alone_are_not_enough),
        cmocka_unit_test(copies_wait),
        cmocka_unit_test(files_and_locks_are_told),
        cmocka_unit_test(freeing_waits_for_all),
        cmocka_unit_test(long_launches_are_no_stalls),
        cmocka_unit_test(what_is_not_on_record),
        cmocka_unit_test(a_full_queue_is_waited_for),
        cmocka_unit_test(waits_are_found_on_other_devices),
        cmocka_unit_test(polling_is_no_work),
        cmocka_unit_test(threads_hand_over),
        cmocka_unit_test(who_is_waited_for_works_for_the_range_that_waits),
        cmocka_unit_test(equal_times_cost_no_more),
        cmocka_unit_test(nothing_to_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
