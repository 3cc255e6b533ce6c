/* Where a process was when it ended: calls of the operating system that never returned, behind ranges and without any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/leaked_pushes.h"
#include "../analyze/studies/unfinished.h"
#include "../lib/count_of.h"
#include "made_trace.h"

#define SECOND INT64_C(1000000000)
#define ENDED  (10 * SECOND)

/* A thread of process 1 that ended at 10 s. */
static uint32_t thread_of(struct maker *maker, int64_t tid)
{
    uint32_t thread = nvt_trace_thread(maker->trace, maker->process, tid);
    maker->trace->threads.ended_ns[thread] = ENDED;
    return thread;
}

static void open_range(struct maker *maker, uint32_t thread, const char *name, int64_t second)
{
    maker->now = ENDED;
    make_range(maker, name, second * SECOND);
    maker->trace->ranges.thread[maker->trace->ranges.count - 1] = thread;
    maker->trace->ranges.end_thread[maker->trace->ranges.count - 1] = thread;
    maker->trace->ranges.flags[maker->trace->ranges.count - 1] = NVT_RANGE_UNCLOSED;
}

static void open_call(struct maker *maker, uint32_t thread, const char *name, const char *file,
                      uint64_t address, int64_t second)
{
    make_os_call_row(maker, name, file,
                     (struct nvt_os_call){.start = second * SECOND,
                                          .end = ENDED,
                                          .thread = thread,
                                          .address = address,
                                          .flags = NVT_RANGE_UNCLOSED});
}

static void expect(struct maker *maker, const char *notes)
{
    struct nvt_input_trace trace = {.trace = make_end(maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_note_unfinished(&input, &err), 0);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    assert_string_equal((const char *)input.notes.data, notes);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace.trace);
}

/* The innermost of those of a thread, by its file, its lock or its name; one that returned is none. */
static void a_call_stands_behind_the_ranges_of_its_thread(void **state)
{
    (void)state;
    static const struct {
        const char *call, *file;
        uint64_t address;
        const char *says;
    } cases[] = {{"read", "/data/train.bin", 0, "read /data/train.bin (5.00 s)"},
                 {"pthread_mutex_lock", NULL, 0x7f12a0, "pthread_mutex_lock 0x7f12a0 (5.00 s)"},
                 {"poll", NULL, 0, "poll (5.00 s)"},
                 {"of_a_library", NULL, 0, "of_a_library (5.00 s)"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        char notes[200];
        uint32_t thread = thread_of(&maker, 1);
        make_os_call(&maker, "write", thread, 6 * SECOND, 7 * SECOND);
        open_range(&maker, thread, "step", 4);
        open_call(&maker, thread, "getaddrinfo", NULL, 0, 4);
        open_call(&maker, thread, cases[i].call, cases[i].file, cases[i].address, 5);
        (void)snprintf(notes, sizeof(notes),
                       "note: made up: process 1 ended within: step (6.00 s) > %s\n",
                       cases[i].says);
        expect(&maker, notes);
    }
}

static void a_call_stands_behind_one_of_mpi(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t thread = thread_of(&maker, 1);
    const struct nvt_mpi_call call = {.start = 5 * SECOND,
                                      .end = ENDED,
                                      .thread = thread,
                                      .name =
                                          nvt_strings_add_text(maker.trace->strings, "MPI_Recv"),
                                      .flags = NVT_RANGE_UNCLOSED};
    assert_int_not_equal(nvt_mpi_call_add(maker.trace, &call), NVT_NONE);
    open_call(&maker, thread, "epoll_wait", NULL, 0, 5);
    expect(&maker,
           "note: made up: process 1 ended within: MPI_Recv (5.00 s) > epoll_wait (5.00 s)\n");
}

/* Threads without ranges in a process with some: the main one, and those that wait for locks, which others may wait for. */
static void beside_ranges_there_are_locks(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t first = thread_of(&maker, 1), second = thread_of(&maker, 2);
    open_range(&maker, second, "load", 4);
    open_call(&maker, second, "read", "/data/a", 0, 5);
    open_call(&maker, first, "pthread_join", NULL, 0, 5);
    open_call(&maker, thread_of(&maker, 3), "pthread_mutex_lock", NULL, 0x10, 6);
    open_call(&maker, thread_of(&maker, 4), "read", "pipe", 0, 7);
    expect(&maker, "note: made up: process 1 ended within: pthread_join (5.00 s); thread 2 within: "
                   "load (6.00 s) > read /data/a (5.00 s); thread 3: pthread_mutex_lock 0x10 "
                   "(4.00 s)\n");
}

/* The main thread first, whichever row it is; of others, those that wait for locks and files. */
static void a_hang_without_ranges_is_told(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    maker.process = nvt_trace_process(maker.trace, 7);
    uint32_t locked = thread_of(&maker, 8), first = thread_of(&maker, 7);
    uint32_t waits = thread_of(&maker, 9), reads = thread_of(&maker, 10);
    open_call(&maker, locked, "pthread_mutex_lock", NULL, 0x7f12a0, 6);
    open_call(&maker, first, "pthread_join", NULL, 0, 5);
    open_call(&maker, waits, "pthread_cond_wait", NULL, 0x7f12b0, 6);
    open_call(&maker, reads, "read", "pipe", 0, 7);
    expect(&maker, "note: made up: process 7 ended within: pthread_join (5.00 s); thread 8: "
                   "pthread_mutex_lock 0x7f12a0 (4.00 s); thread 10: read pipe (3.00 s)\n");
}

static void three_other_threads_are_named(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    open_call(&maker, thread_of(&maker, 1), "pthread_join", NULL, 0, 5);
    for (int64_t tid = 2; tid < 8; tid++)
        open_call(&maker, thread_of(&maker, tid), "pthread_mutex_lock", NULL, 0x10, 6);
    expect(&maker, "note: made up: process 1 ended within: pthread_join (5.00 s); thread 2: "
                   "pthread_mutex_lock 0x10 (4.00 s); thread 3: pthread_mutex_lock 0x10 (4.00 s); "
                   "thread 4: pthread_mutex_lock 0x10 (4.00 s); and 3 more threads\n");
}

/* A process that ends in order leaves threads behind that wait for work, or for a lock. */
static void a_process_that_ended_in_order_has_no_note(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t first = thread_of(&maker, 1), other = thread_of(&maker, 2);
    make_os_call(&maker, "read", first, 5 * SECOND, 9 * SECOND);
    open_call(&maker, other, "pthread_mutex_lock", NULL, 0x10, 6);
    expect(&maker, "");
}

/* How the command ended, and within what: a process of several may be another than the one that ended so. */
static void whose_range_was_open_is_said(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        struct maker maker = make_begin();
        const uint32_t process = maker.process;
        if (others)
            maker.process = nvt_trace_process(maker.trace, 7);
        open_range(&maker, thread_of(&maker, others ? 7 : 1), "helper", 9);
        maker.process = process;
        struct nvt_input_trace trace = {.trace = make_end(&maker)};
        struct nvt_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_buffer lines = {0};
        assert_int_equal(nvt_trace_set_meta(trace.trace, "ended", "was killed by SIGKILL"), 0);
        assert_int_equal(nvt_diagnose_end(&input, &lines, NULL), 0);
        assert_int_equal(nvt_buffer_append(&lines, "", 1), 0);
        assert_string_equal(
            (const char *)lines.data,
            others ? "the command was killed by SIGKILL; process 7 was within: helper (1.00 s)\n"
                   : "the command was killed by SIGKILL within: helper (1.00 s)\n");
        nvt_buffer_free(&lines);
        nvt_trace_free(trace.trace);
    }
}

/* Ranges of a thread, so many that were popped and so many that were not. */
static void push(struct maker *maker, const char *name, int popped, int open)
{
    for (int i = 0; i < popped; i++)
        make_range(maker, name, maker->now++);
    for (int i = 0; i < open; i++)
        open_range(maker, maker->thread, name, 1 + i % 8);
}

/* Many of one name that were pushed and never popped; not those that were open as the program ended, nor a recursion that ended. */
static void pushes_without_pops_are_found(void **state)
{
    (void)state;
    static const struct {
        int popped, open, found;
    } cases[] = {{0, 20, 1}, {2, 20, 1}, {3, 20, 0}, {0, 19, 0}, {1000, 99, 0}, {99, 1000, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        struct nvt_leaked_pushes leaked;
        push(&maker, "step", 50, 1);
        push(&maker, "iter", cases[i].popped, cases[i].open);
        push(&maker, "few", 0, 5);
        struct nvt_trace *trace = make_end(&maker);
        assert_int_equal(nvt_leaked_pushes_find(trace, &leaked), cases[i].found);
        struct nvt_input_trace traces = {.trace = trace};
        struct nvt_input input = {.traces = &traces, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        struct nvt_findings findings = {0};
        assert_int_equal(nvt_rule_apply(&nvt_rule_unclosed, &facts, &findings, NULL), 0);
        assert_int_equal(findings.count, cases[i].found);
        if (cases[i].found) {
            assert_string_equal(nvt_name(trace, leaked.name), "iter");
            assert_int_equal(leaked.pushed, cases[i].open);
            assert_non_null(
                strstr(findings.items[0].what, "range iter is pushed and never popped"));
            assert_int_equal(findings.items[0].moment_count, 3);
        }
        free(findings.items);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_stands_behind_the_ranges_of_its_thread),
        cmocka_unit_test(a_call_stands_behind_one_of_mpi),
        cmocka_unit_test(beside_ranges_there_are_locks),
        cmocka_unit_test(a_hang_without_ranges_is_told),
        cmocka_unit_test(three_other_threads_are_named),
        cmocka_unit_test(a_process_that_ended_in_order_has_no_note),
        cmocka_unit_test(whose_range_was_open_is_said),
        cmocka_unit_test(pushes_without_pops_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
