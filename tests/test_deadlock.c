/* Deadlocks: which waits at the end of a trace nobody can end any more, and which somebody may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "finding_kit.h"

#define MS     INT64_C(1000000)
#define S      INT64_C(1000000000)
#define PYTHON "/usr/lib/libpython3.11.so.1.0"
#define SERVER "/usr/bin/server"

/* Threads 0, 1 and 2 of process 1 have the numbers 1, 2 and 3. The trace goes on for 10 s. */
static struct maker begin(void)
{
    struct maker maker = make_begin();
    nvt_trace_thread(maker.trace, maker.process, 2);
    nvt_trace_thread(maker.trace, maker.process, 3);
    maker.trace->was_stopped = 1;
    return maker;
}

static void call(struct maker *maker, const char *name, const char *caller, struct nvt_os_call row)
{
    make_os_call_row(maker, name, NULL, row);
    struct nvt_os_calls *calls = &maker->trace->os_calls;
    calls->caller[calls->count - 1] = nvt_strings_add_text(maker->trace->strings, caller);
}

/* A thread waits from so many s on until the end, for what the thread of that number holds. */
static void wait(struct maker *maker, uint32_t thread, uint32_t holder, int64_t from_s,
                 uint32_t frame)
{
    call(maker, frame ? "sem_wait" : "pthread_mutex_lock", frame ? PYTHON : SERVER,
         (struct nvt_os_call){.start = from_s * S,
                              .end = 10 * S,
                              .thread = thread,
                              .address = 0x7f00 + 64 * (uint64_t)thread,
                              .holder = holder,
                              .frame = frame,
                              .flags = NVT_RANGE_UNCLOSED});
}

static uint32_t python(struct maker *maker, const char *innermost, const char *caller)
{
    return make_function(maker, make_function(maker, 0, caller, NULL), innermost, NULL);
}

static uint32_t again(struct maker *maker)
{
    return python(maker, "again (a.py:9)", "get (a.py:6)");
}

static void expect(struct maker *maker, int64_t cost, const char *what, const char *evidence)
{
    kit_find_one(maker, &nvt_rule_deadlock, (double)cost, what, evidence);
}

static void a_lock_of_python_that_is_taken_again(void **state)
{
    (void)state;
    struct maker maker = begin();
    wait(&maker, 0, 1, 4, again(&maker));
    expect(&maker, 6 * S,
           "a thread waits for a lock that it holds itself, by again (a.py:9) < get (a.py:6)",
           "process 1; thread 1 has waited for 6.00 s in sem_wait(), by again (a.py:9) < get "
           "(a.py:6); it holds that lock itself, and nothing else of Python runs in the process");
}

static void a_mutex_that_is_locked_again(void **state)
{
    (void)state;
    struct maker maker = begin();
    wait(&maker, 1, 2, 4, 0);
    expect(&maker, 6 * S,
           "a thread waits for a lock that it holds itself, by pthread_mutex_lock 0x7f40",
           "process 1; thread 2 has waited for 6.00 s in pthread_mutex_lock(), by "
           "pthread_mutex_lock 0x7f40; it holds that lock itself");
}

static void threads_that_hold_each_others_locks(void **state)
{
    (void)state;
    struct maker maker = begin();
    wait(&maker, 0, 2, 4, python(&maker, "transfer (b.py:6)", "work (b.py:1)"));
    wait(&maker, 1, 1, 5, python(&maker, "audit (b.py:10)", "work (b.py:1)"));
    wait(&maker, 2, 1, 6, python(&maker, "more (b.py:12)", "work (b.py:1)"));
    /* Whether others run is all the same. */
    uint32_t other = nvt_trace_thread(maker.trace, maker.process, 4);
    make_sample(&maker, other, 9 * S, MS, python(&maker, "run (b.py:30)", "work (b.py:1)"));
    expect(&maker, 5 * S,
           "2 threads hold each other's locks, by transfer (b.py:6) < work (b.py:1) and by "
           "audit (b.py:10) < work (b.py:1)",
           "process 1; thread 1 has waited for 6.00 s in sem_wait(), by transfer (b.py:6) < work "
           "(b.py:1); thread 2 has waited for 5.00 s in sem_wait(), by audit (b.py:10) < work "
           "(b.py:1); 1 more thread waits for locks of these");
}

static void a_lock_that_was_held_at_the_fork(void **state)
{
    (void)state;
    struct maker maker = begin();
    uint32_t child = nvt_trace_process(maker.trace, 50);
    maker.trace->processes.parent_pid[child] = 1;
    wait(&maker, nvt_trace_thread(maker.trace, child, 50), 3, 4, again(&maker));
    expect(&maker, 6 * S,
           "a lock that another thread held at the fork is never released; waited for by "
           "again (a.py:9) < get (a.py:6)",
           "process 50; thread 50 has waited for 6.00 s in sem_wait(), by again (a.py:9) < get "
           "(a.py:6); thread 3 of process 1 held it, which fork() did not copy");
}

static void a_lock_whose_holder_has_ended(void **state)
{
    (void)state;
    struct maker maker = begin();
    maker.trace->threads.ended_ns[2] = 1 * S;
    wait(&maker, 0, 3, 4, again(&maker));
    expect(&maker, 6 * S,
           "a lock whose holder has ended is never released; waited for by again "
           "(a.py:9) < get (a.py:6)",
           "process 1; thread 1 has waited for 6.00 s in sem_wait(), by again (a.py:9) < get "
           "(a.py:6); thread 3 took it, and ended 3.00 s before that");
}

/* A worker says that it is one, and who waits for it. */
static void a_worker_of_a_data_loader(void **state)
{
    (void)state;
    struct maker maker = begin();
    maker.now = 9 * S;
    maker.domain = nvt_trace_domain(maker.trace, maker.process, "PyTorch");
    make_range(&maker, "data", 5 * S);
    maker.trace->ranges.flags[0] = NVT_RANGE_UNCLOSED;
    uint32_t worker = nvt_trace_process(maker.trace, 50);
    maker.trace->processes.parent_pid[worker] = 1;
    uint32_t loop = make_function(&maker, 0, "_worker_loop (worker.py:308)", NULL);
    uint32_t get = make_function(&maker, loop, "get (a.py:6)", NULL);
    wait(&maker, nvt_trace_thread(maker.trace, worker, 50), 50, 4,
         make_function(&maker, get, "again (a.py:9)", NULL));
    expect(
        &maker, 6 * S,
        "in a DataLoader worker, a thread waits for a lock that it holds itself, by again "
        "(a.py:9) < get (a.py:6) < _worker_loop (worker.py:308)",
        "process 50; thread 50 has waited for 6.00 s in sem_wait(), by again (a.py:9) < get "
        "(a.py:6) < _worker_loop (worker.py:308); it holds that lock itself, and nothing else of "
        "Python runs in the process; process 1 waits for its batch");
}

/* --- what is none --------------------------------------------------------------------------------- */

static void nothing(struct maker *maker)
{
    kit_find_nothing(maker, &nvt_rule_deadlock);
}

static void waits_for_work_are_none(void **state)
{
    static const char *const waits[] = {"get (queue.py:171)", "wait (threading.py:629)",
                                        "acquire (threading.py:461)", "_worker (thread.py:81)"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(waits); i++) {
        struct maker maker = begin();
        wait(&maker, 0, 1, 4, python(&maker, "wait (threading.py:327)", waits[i]));
        nothing(&maker);
    }
}

/* A lock that one thread takes again, for another to release it. */
static void what_others_may_release_is_none(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct maker maker = begin();
        uint32_t works = python(&maker, "work (a.py:20)", "main (a.py:30)");
        wait(&maker, 0, 1, 4, again(&maker));
        if (what == 0)
            make_sample(&maker, 1, 9 * S, MS, works);
        else if (what == 1)
            call(&maker, "clock_nanosleep", PYTHON,
                 (struct nvt_os_call){.start = 4 * S, .end = 9 * S, .thread = 1});
        else { /* a thread of a library, which knows no lock of Python */
            make_sample(&maker, 1, 9 * S, MS, make_function(&maker, 0, "gemm", "/x/libblas.so"));
            expect(
                &maker, 6 * S,
                "a thread waits for a lock that it holds itself, by again (a.py:9) < get "
                "(a.py:6)",
                "process 1; thread 1 has waited for 6.00 s in sem_wait(), by again (a.py:9) < "
                "get (a.py:6); it holds that lock itself, and nothing else of Python runs in the "
                "process");
            continue;
        }
        nothing(&maker);
    }
}

/* In a copy, a thread that waits for a request may release it later. */
static void what_a_server_may_release_is_none(void **state)
{
    (void)state;
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        struct maker maker = begin();
        wait(&maker, 0, 1, 4, again(&maker));
        call(&maker, "accept4", PYTHON,
             (struct nvt_os_call){
                 .start = 2 * S, .end = 10 * S, .thread = 1, .flags = NVT_RANGE_UNCLOSED});
        if (is_copy)
            assert_int_equal(nvt_trace_set_meta(maker.trace, "copy", "of one that went on"), 0);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_deadlock);
        assert_int_equal(findings.count, !is_copy);
        free(findings.items);
    }
}

static void what_is_not_known_is_none(void **state)
{
    (void)state;
    for (int what = 0; what < 6; what++) {
        struct maker maker = begin();
        uint32_t frame = again(&maker);
        if (what == 0) /* the holder is not known, */
            wait(&maker, 0, 0, 4, frame);
        else if (what == 1) /* or runs, */
            wait(&maker, 0, 2, 4, frame);
        else if (what == 2) /* or nobody knows it; */
            wait(&maker, 0, 77, 4, frame);
        else if (what == 3) /* it has not waited for long, */
            wait(&maker, 0, 1, 9, frame);
        else if (what == 4) /* or has a limit; */
            call(&maker, "sem_clockwait", PYTHON,
                 (struct nvt_os_call){.start = 4 * S,
                                      .end = 10 * S,
                                      .address = 0x40,
                                      .holder = 1,
                                      .frame = frame,
                                      .flags = NVT_RANGE_UNCLOSED});
        else { /* the program has ended by itself */
            wait(&maker, 0, 1, 4, frame);
            maker.trace->was_stopped = 0;
        }
        nothing(&maker);
    }
}

/* The threads wait for one that works, in a row. */
static void a_row_of_threads_is_none(void **state)
{
    (void)state;
    struct maker maker = begin();
    wait(&maker, 0, 2, 4, 0);
    wait(&maker, 1, 3, 4, 0);
    nothing(&maker);
}

/* What is told as a deadlock is not told as a hang. */
static void it_is_no_hang_as_well(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct maker maker = begin();
        for (int i = 0; i < 12; i++) {
            maker.now = i * 100 * MS;
            make_range(&maker, "step", maker.now);
        }
        maker.trace->ranges.flags[11] = NVT_RANGE_UNCLOSED;
        maker.trace->threads.ended_ns[0] = 10 * S;
        wait(&maker, 0, (uint32_t)is_known, 2, again(&maker));
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
        assert_int_equal(findings.count, !is_known);
        free(findings.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_of_python_that_is_taken_again),
        cmocka_unit_test(a_mutex_that_is_locked_again),
        cmocka_unit_test(threads_that_hold_each_others_locks),
        cmocka_unit_test(a_lock_that_was_held_at_the_fork),
        cmocka_unit_test(a_lock_whose_holder_has_ended),
        cmocka_unit_test(a_worker_of_a_data_loader),
        cmocka_unit_test(waits_for_work_are_none),
        cmocka_unit_test(what_others_may_release_is_none),
        cmocka_unit_test(what_a_server_may_release_is_none),
        cmocka_unit_test(what_is_not_known_is_none),
        cmocka_unit_test(a_row_of_threads_is_none),
        cmocka_unit_test(it_is_no_hang_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
