/* What threads of Python wait for in one and the same call, by their stacks; and who held it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/studies/lock_holders.h"
#include "../analyze/studies/waits.h"
#include "../lib/count_of.h"
#include "made_trace.h"

#define PYTHON "/usr/lib/libpython3.11.so.1.0"

/* Threads 0, 1 and 2 of process 1 have the numbers 1, 2 and 3. */
static struct maker begin(void)
{
    struct maker maker = make_begin();
    nvt_trace_thread(maker.trace, maker.process, 2);
    nvt_trace_thread(maker.trace, maker.process, 3);
    return maker;
}

/* A stack of at most five functions, the innermost first; one with a '/' is a module. */
static uint32_t stack(struct maker *maker, const char *const functions[5])
{
    uint32_t frame = 0;
    for (int i = 5; i-- > 0;)
        if (functions[i])
            frame = make_function(maker, frame, functions[i][0] == '/' ? "0x1234" : functions[i],
                                  functions[i][0] == '/' ? functions[i] : NULL);
    return frame;
}

struct wait {
    uint32_t thread, holder, frame;
    int64_t start, end;
    uint64_t address;
};

static void add(struct maker *maker, const char *name, const char *caller, const struct wait *wait)
{
    make_os_call_row(maker, name, NULL,
                     (struct nvt_os_call){.start = wait->start,
                                          .end = wait->end,
                                          .thread = wait->thread,
                                          .address = wait->address,
                                          .holder = wait->holder,
                                          .frame = wait->frame});
    struct nvt_os_calls *calls = &maker->trace->os_calls;
    calls->caller[calls->count - 1] = nvt_strings_add_text(maker->trace->strings, caller);
}

static const char *site_name(const struct nvt_waits *waits, uint32_t call)
{
    uint32_t site = nvt_wait_site(waits->trace, waits->frame[call]);
    return site ? nvt_name(waits->trace, waits->trace->call_frames.name[site - 1]) : "";
}

static const struct {
    const char *stack[5];
    enum nvt_wait what;
    const char *site;
} cases[] = {
    {{"again (hang.py:9)", "get (hang.py:6)"}, NVT_WAIT_LOCK, "again (hang.py:9)"},
    {{"wait (threading.py:327)", "get (queue.py:171)", "serve (a.py:3)"},
     NVT_WAIT_WORK,
     "serve (a.py:3)"},
    {{"wait (threading.py:327)", "put (queue.py:140)", "make (a.py:4)"},
     NVT_WAIT_ROOM,
     "make (a.py:4)"},
    {{"wait (threading.py:327)", "join (queue.py:90)", "main (a.py:5)"},
     NVT_WAIT_EVENT,
     "main (a.py:5)"},
    {{"__enter__ (threading.py:271)", "get (queue.py:168)", "serve (a.py:3)"},
     NVT_WAIT_LOCK,
     "serve (a.py:3)"},
    {{"wait (threading.py:327)", "wait (threading.py:629)", "main (a.py:6)"},
     NVT_WAIT_EVENT,
     "main (a.py:6)"},
    {{"wait (threading.py:327)", "main (a.py:7)"}, NVT_WAIT_CONDITION, "main (a.py:7)"},
    {{"wait (threading.py:327)", "wait_for (threading.py:360)", "main (a.py:7)"},
     NVT_WAIT_CONDITION,
     "main (a.py:7)"},
    {{"wait (threading.py:327)", "acquire (threading.py:461)", "main (a.py:8)"},
     NVT_WAIT_SEMAPHORE,
     "main (a.py:8)"},
    {{"wait (threading.py:327)", "wait_for (threading.py:360)", "_wait (threading.py:704)",
      "wait (threading.py:669)", "main (a.py:9)"},
     NVT_WAIT_BARRIER,
     "main (a.py:9)"},
    {{"_wait_for_tstate_lock (threading.py:1116)", "join (threading.py:1096)", "main (a.py:10)"},
     NVT_WAIT_THREAD,
     "main (a.py:10)"},
    {{"wait (threading.py:327)", "result (_base.py:451)", "main (a.py:11)"},
     NVT_WAIT_EVENT,
     "main (a.py:11)"},
    {{"/x/_queue.cpython-311-x86_64-linux-gnu.so", "_worker (thread.py:81)",
      "run (threading.py:982)"},
     NVT_WAIT_WORK,
     "_worker (thread.py:81)"},
    {{"/x/_queue.cpython-311-x86_64-linux-gnu.so", "main (a.py:12)"},
     NVT_WAIT_WORK,
     "main (a.py:12)"},
    {{"/x/_multiprocessing.cpython-311-x86_64-linux-gnu.so", "main (a.py:13)"},
     NVT_WAIT_PROCESS_LOCK,
     "main (a.py:13)"},
    {{"/x/_multiprocessing.cpython-311-x86_64-linux-gnu.so", "__enter__ (synchronize.py:95)",
      "main (a.py:13)"},
     NVT_WAIT_PROCESS_LOCK,
     "main (a.py:13)"},
    {{"/x/_multiprocessing.cpython-311-x86_64-linux-gnu.so", "__enter__ (synchronize.py:95)",
      "get (queues.py:102)", "worker (pool.py:114)"},
     NVT_WAIT_WORK,
     "worker (pool.py:114)"},
    {{"/x/_multiprocessing.cpython-311-x86_64-linux-gnu.so", "put (queues.py:89)",
      "main (a.py:14)"},
     NVT_WAIT_ROOM,
     "main (a.py:14)"},
    {{"acquire (logging/__init__.py:917)", "handle (logging/__init__.py:966)",
      "callHandlers (logging/__init__.py:1706)", "info (logging/__init__.py:1489)",
      "step (a.py:15)"},
     NVT_WAIT_LOCK,
     "step (a.py:15)"},
    {{"/usr/lib/libc.so.6", PYTHON, "main (a.py:16)"}, NVT_WAIT_LOCK, "main (a.py:16)"},
    {{"/x/libtorch_cpu.so", "main (a.py:17)"}, NVT_WAIT_NONE, "main (a.py:17)"},
    {{NULL}, NVT_WAIT_PYTHON, ""},
};

static void stacks_say_what_is_waited_for(void **state)
{
    enum { CASES = NVT_COUNT_OF(cases) };
    (void)state;
    struct maker maker = begin();
    for (uint32_t i = 0; i < CASES; i++)
        add(&maker, "sem_wait", PYTHON,
            &(struct wait){.frame = stack(&maker, cases[i].stack),
                           .start = 100 * i,
                           .end = 100 * i + 50,
                           .address = 0x1000 + 64 * i});
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_waits waits = {.trace = NULL};
    assert_int_equal(nvt_waits_make(&waits, trace), 0);
    for (uint32_t i = 0; i < CASES; i++) {
        if (waits.what[i] != cases[i].what)
            fail_msg("%s: %d", cases[i].stack[0] ? cases[i].stack[0] : "none", waits.what[i]);
        assert_string_equal(site_name(&waits, i), cases[i].site);
    }
    nvt_waits_free(&waits);
    nvt_trace_free(trace);
}

/* Python's lock of its interpreter is a kind of its own; a semaphore of a C program may be anything. */
static void only_pythons_own_calls_are_pythons_locks(void **state)
{
    static const struct {
        const char *name, *caller;
        enum nvt_wait what;
    } calls[] = {{"pthread_cond_timedwait", PYTHON, NVT_WAIT_GIL},
                 {"pthread_cond_timedwait", "/usr/bin/server", NVT_WAIT_NONE},
                 {"pthread_cond_wait", "/usr/bin/python3.11", NVT_WAIT_NONE},
                 {"pthread_cond_timedwait", "/usr/bin/python3.11", NVT_WAIT_GIL},
                 {"pthread_cond_clockwait", "/x/libpython3.9.so.1.0", NVT_WAIT_GIL},
                 {"sem_wait", "/usr/bin/server", NVT_WAIT_NONE},
                 {"futex", "/usr/bin/python3.13", NVT_WAIT_LOCK},
                 {"sem_clockwait", PYTHON, NVT_WAIT_LOCK},
                 {"pthread_mutex_lock", "/usr/bin/server", NVT_WAIT_LOCK},
                 {"pthread_cond_wait", "/usr/bin/server", NVT_WAIT_NONE}};
    (void)state;
    struct maker maker = begin();
    uint32_t frame = stack(&maker, (const char *const[5]){"main (a.py:16)"});
    for (uint32_t i = 0; i < NVT_COUNT_OF(calls); i++)
        add(&maker, calls[i].name, calls[i].caller,
            &(struct wait){
                .frame = frame, .start = 100 * i, .end = 100 * i + 50, .address = 0x40 * (i + 1)});
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_waits waits = {.trace = NULL};
    assert_int_equal(nvt_waits_make(&waits, trace), 0);
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        assert_int_equal(waits.what[i], calls[i].what);
    nvt_waits_free(&waits);
    nvt_trace_free(trace);
}

/* Whoever has been notified waits for the lock of the Condition, which another thread holds. */
static void a_notified_thread_waits_for_a_lock(void **state)
{
    (void)state;
    struct maker maker = begin();
    uint32_t frame =
        stack(&maker, (const char *const[5]){"wait (threading.py:334)", "get (queue.py:171)"});
    add(&maker, "sem_wait", PYTHON, &(struct wait){0, 1, frame, 0, 50, 0x40});
    add(&maker, "sem_wait", PYTHON, &(struct wait){0, 2, frame, 100, 150, 0x80});
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_waits waits = {.trace = NULL};
    assert_int_equal(nvt_waits_make(&waits, trace), 0);
    assert_int_equal(waits.what[0], NVT_WAIT_WORK);
    assert_int_equal(waits.what[1], NVT_WAIT_LOCK);
    nvt_waits_free(&waits);
    nvt_trace_free(trace);
}

/* A short wait has no stack: it is like others for the same lock, of the same process. */
static void short_waits_are_like_others_for_the_lock(void **state)
{
    (void)state;
    struct maker maker = begin();
    uint32_t frame = stack(&maker, (const char *const[5]){"main (a.py:16)"});
    add(&maker, "sem_wait", PYTHON, &(struct wait){0, 0, 0, 0, 5, 0x40});
    add(&maker, "sem_wait", PYTHON, &(struct wait){1, 0, frame, 100, 150, 0x40});
    add(&maker, "sem_wait", PYTHON, &(struct wait){2, 0, 0, 200, 205, 0x40});
    add(&maker, "sem_wait", PYTHON, &(struct wait){2, 0, 0, 300, 305, 0x80});
    make_process(&maker, 9, 0);
    add(&maker, "sem_wait", PYTHON, &(struct wait){maker.thread, 0, 0, 400, 405, 0x40});
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_waits waits = {.trace = NULL};
    assert_int_equal(nvt_waits_make(&waits, trace), 0);
    const enum nvt_wait expected[] = {NVT_WAIT_LOCK, NVT_WAIT_LOCK, NVT_WAIT_LOCK, NVT_WAIT_PYTHON,
                                      NVT_WAIT_PYTHON};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(waits.what[i], expected[i]);
    nvt_waits_free(&waits);
    nvt_trace_free(trace);
}

/* While thread 1 waits, thread 2 works for 30, and then sleeps for 60, of which 40 lie within. */
static void holders_are_where_their_samples_and_calls_are(void **state)
{
    (void)state;
    struct maker maker = begin();
    uint32_t works = stack(&maker, (const char *const[5]){"work (a.py:1)"});
    uint32_t sleeps = stack(&maker, (const char *const[5]){"rest (a.py:2)"});
    uint32_t other = stack(&maker, (const char *const[5]){"other (a.py:3)"});
    uint32_t wants = stack(&maker, (const char *const[5]){"want (a.py:4)"});
    add(&maker, "sem_wait", PYTHON, &(struct wait){0, 2, wants, 100, 200, 0x40});
    add(&maker, "sem_wait", PYTHON, &(struct wait){0, 77, wants, 300, 400, 0x40});
    /* It wants the same lock, which it has released meanwhile. */
    add(&maker, "sem_wait", PYTHON, &(struct wait){1, 1, wants, 140, 160, 0x40});
    add(&maker, "clock_nanosleep", PYTHON, &(struct wait){1, 0, sleeps, 160, 220, 0});
    add(&maker, "clock_nanosleep", PYTHON, &(struct wait){2, 0, other, 100, 200, 0});
    make_sample(&maker, 1, 130, 30, works);
    make_sample(&maker, 1, 90, 30, other);
    make_sample(&maker, 1, 250, 30, other);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_waits waits = {.trace = NULL};
    struct nvt_lock_holders holders = {.waits = NULL};
    struct nvt_pairs places = {.count = 0};
    assert_int_equal(nvt_waits_make(&waits, trace), 0);
    assert_int_equal(nvt_lock_holders_make(&holders, &waits), 0);
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        if (trace->os_calls.holder[i] == 2)
            assert_int_equal(nvt_lock_holder(&holders, i), 1);
        else if (trace->os_calls.holder[i] != 1)
            assert_int_equal(nvt_lock_holder(&holders, i), NVT_NONE);
        assert_int_equal(nvt_lock_held_in(&holders, i, 0, &places), 0);
    }
    assert_int_equal(places.count, 2);
    assert_int_equal(nvt_pairs_sort(&places, 1), 0);
    assert_int_equal(places.items[0].part, sleeps - 1);
    assert_int_equal(places.items[0].weight, 40);
    assert_int_equal(places.items[1].part, works - 1);
    assert_int_equal(places.items[1].weight, 30);
    nvt_pairs_free(&places);
    nvt_lock_holders_free(&holders);
    nvt_waits_free(&waits);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_say_what_is_waited_for),
        cmocka_unit_test(only_pythons_own_calls_are_pythons_locks),
        cmocka_unit_test(a_notified_thread_waits_for_a_lock),
        cmocka_unit_test(short_waits_are_like_others_for_the_lock),
        cmocka_unit_test(holders_are_where_their_samples_and_calls_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
