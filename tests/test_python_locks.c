/*
 * Locks of Python, from the recording to what is told of them: `record --trace osrt,cpu` of programs that wait for each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/studies/waits.h"
#include "../lib/count_of.h"
#include "record_kit.h"

static void skip_without_python(void)
{
    struct cli_result result = cli_run((const char *const[]){"python3", "-c", "pass", NULL});
    int is_there = result.status == 0;
    cli_result_free(&result);
    if (!is_there) {
        print_message("no python3 here: not run\n");
        skip();
    }
}

/* A program in the test's folder; its path, valid as cli_in's are. */
static const char *script(const char *name, const char *text)
{
    FILE *file = fopen(recorded_in(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return recorded_in(name);
}

static struct nvt_trace *record(const char *program)
{
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "--trace", "osrt,cpu", "-o",
                                      recorded_path(), "--", "python3", program, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

/* What waits of the call sites of that name wait for, and for how long in all; the holder of one. */
static int64_t waited_at(const struct nvt_trace *trace, const char *site, enum nvt_wait what,
                         uint32_t *holder)
{
    struct nvt_waits waits = {.trace = NULL};
    int64_t ns = 0;
    assert_int_equal(nvt_waits_make(&waits, trace), 0);
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        uint32_t frame = nvt_wait_site(trace, waits.frame[i]);
        if (!frame || waits.what[i] != what ||
            strcmp(nvt_name(trace, trace->call_frames.name[frame - 1]), site) != 0)
            continue;
        ns += trace->os_calls.end[i] - trace->os_calls.start[i];
        if (holder && trace->os_calls.holder[i])
            *holder = trace->os_calls.holder[i];
    }
    nvt_waits_free(&waits);
    return ns;
}

static int64_t tid_of(const struct nvt_trace *trace, const char *site, const char *call)
{
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        uint32_t frame = nvt_wait_site(trace, trace->os_calls.frame[i]);
        if (frame && !strcmp(nvt_name(trace, trace->os_calls.name[i]), call) &&
            !strcmp(nvt_name(trace, trace->call_frames.name[frame - 1]), site))
            return trace->threads.tid[trace->os_calls.thread[i]];
    }
    return -1;
}

#define MS INT64_C(1000000)

static const char waiting[] = "import threading, time, queue\n"
                              "lock = threading.Lock()\n"
                              "event = threading.Event()\n"
                              "work = queue.Queue()\n"
                              "simple = queue.SimpleQueue()\n"
                              "def hold():\n"
                              "    with lock:\n"
                              "        event.set()\n"
                              "        time.sleep(0.5)\n" /* hold:9 */
                              "    work.put(1)\n"
                              "    time.sleep(0.3)\n"
                              "    simple.put(1)\n"
                              "def want():\n"
                              "    event.wait()\n" /* want:14 */
                              "    with lock:\n"   /* want:15 */
                              "        pass\n"
                              "def serve():\n"
                              "    work.get()\n"   /* serve:18 */
                              "    simple.get()\n" /* serve:19 */
                              "threads = [threading.Thread(target=f) for f in (want, serve)]\n"
                              "[t.start() for t in threads]\n"
                              "time.sleep(0.3)\n"
                              "holder = threading.Thread(target=hold)\n"
                              "holder.start()\n"
                              "holder.join()\n" /* <module>:25 */
                              "[t.join() for t in threads]\n";

/* All of these wait in sem_wait, each for something else, and the lock has the thread that held it. */
static void waits_are_told_apart(void **state)
{
    uint32_t holder = 0;
    (void)state;
    skip_without_python();
    struct nvt_trace *trace = record(script("waiting.py", waiting));
    int64_t wanted = waited_at(trace, "want (waiting.py:15)", NVT_WAIT_LOCK, &holder);
    assert_in_range(wanted, 100 * MS, 60000 * MS);
    assert_int_equal(holder, tid_of(trace, "hold (waiting.py:9)", "clock_nanosleep"));
    assert_in_range(waited_at(trace, "want (waiting.py:14)", NVT_WAIT_EVENT, NULL), 20 * MS,
                    60000 * MS);
    assert_in_range(waited_at(trace, "serve (waiting.py:18)", NVT_WAIT_WORK, NULL), 150 * MS,
                    60000 * MS);
    assert_in_range(waited_at(trace, "serve (waiting.py:19)", NVT_WAIT_WORK, NULL), 20 * MS,
                    60000 * MS);
    assert_in_range(waited_at(trace, "<module> (waiting.py:25)", NVT_WAIT_THREAD, NULL), 100 * MS,
                    60000 * MS);
    assert_int_equal(waited_at(trace, "serve (waiting.py:18)", NVT_WAIT_LOCK, NULL), 0);
    nvt_trace_free(trace);
}

/* The report has them by line, with the line in which the holder was meanwhile. */
static void the_report_names_both_lines(void **state)
{
    (void)state;
    skip_without_python();
    nvt_trace_free(record(script("waiting.py", waiting)));
    struct cli_result result = cli_run((const char *const[]){"nvtally", "stats", "-r", "osrt_locks",
                                                             "-f", "csv", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    const char *wanted = strstr(result.out, ",a lock,want (waiting.py:15),1,");
    assert_non_null(wanted);
    assert_non_null(strstr(wanted, ",hold (waiting.py:9)\n"));
    cli_result_free(&result);
}

/* --- contention ------------------------------------------------------------------------------------ */

static const struct contention {
    const char *program, *waits, *held;
} contentions[] = {
    /* A handler of logging that takes its time holds the lock of all who log. Each thread goes on until all have had it: else one may be
     * through with its turns before the trace's second half, which is what is looked at. Each time is long enough for a stack. */
    {"import logging, threading, time\n"
     "class Slow(logging.Handler):\n"
     "    def emit(self, record):\n"
     "        time.sleep(0.012)\n" /* 4 */
     "logging.getLogger().addHandler(Slow()); turns = [0] * 4\n"
     "def loop(i):\n"
     "    while min(turns) < 15:\n"
     "        logging.error('x')\n" /* 8 */
     "        turns[i] += 1; time.sleep(0.001)\n"
     "for i in range(4): threading.Thread(target=loop, args=(i,)).start()\n",
     "by loop (contended.py:8), where 4 threads wait", "most in emit (contended.py:4)"},
    /* Whoever notifies goes on with the Condition's lock. The pause without it lets the others have it, too: else they may wait once, for
     * the whole time. */
    {"import threading, time\n"
     "condition = threading.Condition(); items = []\n"
     "def make():\n"
     "    for i in range(60):\n"
     "        with condition:\n"
     "            items.append(i); condition.notify_all()\n"
     "            time.sleep(0.005)\n" /* 7 */
     "        time.sleep(0.001)\n"
     "def take():\n"
     "    while len(items) < 60:\n"
     "        with condition: condition.wait(0.01)\n" /* 11 */
     "for f in (take, take, make): threading.Thread(target=f).start()\n",
     "by take (contended.py:11)", "most in make (contended.py:7)"},
    /* A lock of processes is held by another one, of which nothing is known here. The pause after it lets the others have it, too: else
     * one process may be through before the next begins. */
    {"import multiprocessing, time\n"
     "def work(lock):\n"
     "    for i in range(60):\n"
     "        with lock: time.sleep(0.004)\n" /* 4 */
     "        time.sleep(0.001)\n"
     "if __name__ == '__main__':\n"
     "    multiprocessing.set_start_method('fork')\n"
     "    lock = multiprocessing.Lock()\n"
     "    for i in range(3): multiprocessing.Process(target=work, args=(lock,)).start()\n",
     "by work (contended.py:4), where ", NULL},
};

/* Both lines are told, and nothing that helps against something else. */
static void contention_is_told_with_both_lines(void **state)
{
    (void)state;
    skip_without_python();
    for (size_t i = 0; i < NVT_COUNT_OF(contentions); i++) {
        const struct contention *contention = &contentions[i];
        nvt_trace_free(record(script("contended.py", contention->program)));
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "diagnose", recorded_path(), NULL});
        cli_expect_status(&result, 0);
        const char *finding = strstr(result.out, "of its time waiting for locks");
        if (!finding || !strstr(finding, contention->waits) ||
            (contention->held && !strstr(finding, contention->held)))
            fail_msg("%s\n%s", contention->waits, result.out);
        assert_non_null(strstr(finding, "shorter critical sections"));
        assert_null(strstr(result.out, "serial part"));
        cli_result_free(&result);
    }
}

/* Threads that only compute wait for nothing but the GIL: with stacks and without. */
static void the_gil_is_named(void **state)
{
    (void)state;
    skip_without_python();
    const char *program =
        script("gil.py", "import sys, threading\n"
                         "if not getattr(sys, '_is_gil_enabled', lambda: True)(): sys.exit(77)\n"
                         "def work():\n"
                         "    for i in range(40):\n"
                         "        sum(k * k for k in range(60000))\n"
                         "threads = [threading.Thread(target=work) for _ in range(3)]\n"
                         "[thread.start() for thread in threads]\n"
                         "work()\n"
                         "[thread.join() for thread in threads]\n");
    static const char *const levels[] = {"osrt,cpu", "osrt"};
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", levels[i], "-o",
                                          recorded_path(), "--", "python3", program, NULL});
        if (result.status == 77)
            skip();
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        struct nvt_waits waits = {.trace = NULL};
        int64_t ns = 0;
        assert_int_equal(nvt_waits_make(&waits, trace), 0);
        for (uint32_t k = 0; k < trace->os_calls.count; k++)
            ns += waits.what[k] == NVT_WAIT_GIL ? trace->os_calls.end[k] - trace->os_calls.start[k]
                                                : 0;
        assert_true(ns > 50 * 1000000);
        nvt_waits_free(&waits);
        nvt_trace_free(trace);
        result = cli_run((const char *const[]){"nvtally", "diagnose", recorded_path(), NULL});
        cli_expect_status(&result, 0);
        if (!strstr(result.out, "waiting for Python's GIL") || strstr(result.out, "in even parts"))
            fail_msg("%s", result.out);
        cli_result_free(&result);
    }
}

/* --- deadlocks ------------------------------------------------------------------------------------- */

/* What is told of a program that is killed after so many seconds; the caller's. */
static struct cli_result diagnose_killed(const char *program, const char *seconds)
{
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "--trace", "nvtx,osrt,cpu", "-o", recorded_path(), "--", "timeout",
        "-s", "KILL", seconds, "python3", program, NULL});
    assert_int_not_equal(result.status, 0);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    return result;
}

static const struct deadlock {
    const char *program, *what, *remedy;
} deadlocks[] = {
    {"import threading\n"
     "lock = threading.Lock()\n"
     "def outer(i):\n"
     "    with lock:\n"
     "        return inner() if i == 300 else i\n" /* 5 */
     "def inner():\n"
     "    with lock:\n" /* 7 */
     "        pass\n"
     "for i in range(400): outer(i)\n",
     "a thread waits for a lock that it holds itself, by inner (stuck.py:7) < outer "
     "(stuck.py:5)",
     "RLock"},
    {"import threading, time\n"
     "a = threading.Lock(); b = threading.RLock()\n"
     "def transfer():\n"
     "    with a:\n"
     "        time.sleep(0.2)\n"
     "        with b: pass\n" /* 6 */
     "def audit():\n"
     "    with b:\n"
     "        time.sleep(0.2)\n"
     "        with a: pass\n" /* 10 */
     "for f in (transfer, audit): threading.Thread(target=f).start()\n",
     "2 threads hold each other's locks, by transfer (stuck.py:6) and by audit "
     "(stuck.py:10)",
     "the same order"},
    {"import os, threading, time\n"
     "lock = threading.Lock()\n"
     "def hold():\n"
     "    with lock: time.sleep(0.5)\n"
     "def child():\n"
     "    with lock: pass\n" /* 6 */
     "threading.Thread(target=hold).start()\n"
     "time.sleep(0.2)\n"
     "if not os.fork(): child()\n"
     "else: os.wait()\n",
     "a lock that another thread held at the fork is never released; waited for by child "
     "(stuck.py:6)",
     "forkserver"},
    {"import threading, time\n"
     "lock = threading.Lock()\n"
     "threading.Thread(target=lock.acquire).start()\n"
     "time.sleep(0.3)\n"
     "def use():\n"
     "    with lock: pass\n" /* 6 */
     "use()\n",
     "a lock whose holder has ended is never released; waited for by use (stuck.py:6)",
     "with lock:"},
};

/* A wait counts from 2 s on, and a busy machine takes its time to begin. */
static void deadlocks_are_told_with_their_lines(void **state)
{
    static const char *const seconds[] = {"4", "40"};
    (void)state;
    skip_without_python();
    for (size_t i = 0; i < NVT_COUNT_OF(deadlocks); i++)
        for (int turn = 0; turn < 2; turn++) {
            struct cli_result result =
                diagnose_killed(script("stuck.py", deadlocks[i].program), seconds[turn]);
            const char *finding = strstr(result.out, deadlocks[i].what);
            if (!finding && turn)
                fail_msg("%s\nis not in\n%s", deadlocks[i].what, result.out);
            turn = finding ? 2 : turn;
            assert_true(!finding || strstr(finding, deadlocks[i].remedy));
            cli_result_free(&result);
        }
}

/* Threads that have nothing to do, or work, are in no deadlock and in no hang, however a lock is used: one thread takes it twice, for
 * another to release it. */
static const char healthy[] =
    "import concurrent.futures, logging, queue, threading, time, _thread\n"
    "work = queue.Queue(); simple = queue.SimpleQueue(); full = queue.Queue(1)\n"
    "event = threading.Event(); condition = threading.Condition()\n"
    "barrier = threading.Barrier(2); semaphore = threading.Semaphore(0)\n"
    "def in_condition():\n"
    "    with condition: condition.wait()\n"
    "def in_queue():\n"
    "    full.put(1); full.put(2)\n"
    "for f in (work.get, simple.get, event.wait, in_condition, in_queue, barrier.wait,\n"
    "          semaphore.acquire):\n"
    "    threading.Thread(target=f, daemon=True).start()\n"
    "pool = concurrent.futures.ThreadPoolExecutor(3)\n"
    "list(pool.map(time.sleep, [0.01] * 20))\n"
    "done = _thread.allocate_lock()\n"
    "def serve():\n"
    "    while True:\n"
    "        logging.warning('x')\n"
    "        time.sleep(0.05)\n"
    "threading.Thread(target=serve, daemon=True).start()\n"
    "done.acquire()\n"
    "done.acquire()\n";

static void threads_without_work_are_in_no_deadlock(void **state)
{
    (void)state;
    skip_without_python();
    struct cli_result result = diagnose_killed(script("healthy.py", healthy), "6");
    if (strstr(result.out, "deadlock   ") || strstr(result.out, "hang   "))
        fail_msg("%s", result.out);
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_told_apart),
        cmocka_unit_test(the_report_names_both_lines),
        cmocka_unit_test(the_gil_is_named),
        cmocka_unit_test(contention_is_told_with_both_lines),
        cmocka_unit_test(deadlocks_are_told_with_their_lines),
        cmocka_unit_test(threads_without_work_are_in_no_deadlock),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
