/*
 * Reports of the operating system's calls over made-up traces, whose every number is worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "made_trace.h"

/* What it says of one trace, which has nothing to note. */
static void expect(const char *name, struct nvt_trace *trace, const char *text)
{
    char *out = make_report(name, &trace, 1, NULL);
    assert_string_equal(out, text);
    free(out);
}

/* A call of a thread with what it worked with; NULL or 0 is not known. */
struct call {
    const char *name, *file, *caller;
    int64_t start, end, result;
    uint64_t address, bytes;
    uint32_t thread;
    uint8_t flags;
};

static void add_calls(struct maker *maker, const struct call *calls, size_t count)
{
    struct nvt_os_calls *rows = &maker->trace->os_calls;
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &calls[i];
        make_os_call_row(maker, call->name, call->file,
                         (struct nvt_os_call){.start = call->start,
                                              .end = call->end,
                                              .thread = call->thread,
                                              .result = call->result,
                                              .address = call->address,
                                              .bytes = call->bytes,
                                              .flags = call->flags});
        rows->caller[rows->count - 1] =
            call->caller ? nvt_strings_add_text(maker->trace->strings, call->caller) : 0;
    }
}

/* Of process 1, whose threads 0 and 1 have the numbers 1 and 2. */
static struct maker begin(void)
{
    struct maker maker = make_begin();
    assert_int_equal(nvt_trace_thread(maker.trace, maker.process, 2), 1);
    return maker;
}

/* --- one by one --------------------------------------------------------------------------------- */

static void every_call_says_what_it_worked_with(void **state)
{
    static const struct call calls[] = {
        {.name = "read",
         .start = 10,
         .end = 30,
         .result = 4096,
         .file = "/a,b",
         .bytes = 4096,
         .caller = "libio.so.1"},
        {.name = "pthread_mutex_lock", .thread = 1, .start = 20, .end = 50, .address = 0x7f10},
        {.name = "futex_of_somebody", .start = 60, .end = 61, .result = -1},
        {.name = "poll", .thread = 1, .start = 70, .end = 95, .flags = NVT_RANGE_UNCLOSED},
    };
    (void)state;
    struct maker maker = begin();
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    expect(
        "osrt_trace", trace,
        "Start (ns),Duration (ns),Name,Kind,Result,PID,TID,File,Address,Bytes,Caller,Unfinished\n"
        "10,20,read,files,4096,1,1,\"/a,b\",,4096,libio.so.1,\n"
        "20,30,pthread_mutex_lock,locks,0,1,2,,0x7f10,,,\n"
        "60,1,futex_of_somebody,other,-1,1,1,,,,,\n"
        "70,25,poll,poll,,1,2,,,,,true\n");
    nvt_trace_free(trace);
}

/* --- by range ----------------------------------------------------------------------------------- */

#define RANGE_HEADINGS                                                                             \
    "NVTX Range,Call,Kind,Num Calls,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "   \
    "(ns),Of Range (%),Read (MB),Written (MB)\n"

/*
 * step (0 to 1000) holds load (0 to 500), which holds a load of its own (100 to 400): a read in the inner one is in step
 * and load once each. The one that begins in load and ends behind it is in step alone, the one of the other thread in none.
 */
static void ranges_have_their_calls(void **state)
{
    static const struct call calls[] = {
        {.name = "read", .start = 150, .end = 250, .bytes = 3000000},
        {.name = "read", .start = 450, .end = 550, .bytes = 1000000},
        {.name = "write", .start = 600, .end = 700, .bytes = 2000000},
        {.name = "poll", .thread = 1, .start = 100, .end = 200},
    };
    (void)state;
    struct maker maker = begin();
    maker.now = 1000;
    make_range(&maker, "step", 0);
    maker.now = 500;
    make_range(&maker, "load", 0);
    maker.now = 400;
    make_range(&maker, "load", 100);
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    expect("nvtx_osrt_sum", trace,
           RANGE_HEADINGS ":step,read,files,2,200,100.0,100.0,100,100,0.0,20.0,4.000,0.000\n"
                          ",poll,poll,1,100,100.0,100.0,100,100,0.0,,0.000,0.000\n"
                          ":load,read,files,1,100,100.0,100.0,100,100,0.0,20.0,3.000,0.000\n"
                          ":step,write,files,1,100,100.0,100.0,100,100,0.0,10.0,0.000,2.000\n");
    nvt_trace_free(trace);
}

/* Ranges of a name in two traces are one. */
static void ranges_of_traces_add_up(void **state)
{
    static const struct call calls[] = {{.name = "usleep", .start = 100, .end = 300}};
    (void)state;
    struct nvt_trace *traces[2];
    for (size_t i = 0; i < 2; i++) {
        struct maker maker = begin();
        make_range(&maker, "wait", 0);
        add_calls(&maker, calls, 1);
        traces[i] = make_end(&maker);
    }
    char *out = make_report("nvtx_osrt_sum", traces, 2, NULL);
    assert_string_equal(out, RANGE_HEADINGS ":wait,usleep,sleep,2,400,200.0,200.0,200,200,0.0,"
                                            "20.0,0.000,0.000\n");
    free(out);
    nvt_trace_free(traces[0]);
    nvt_trace_free(traces[1]);
}

/* --- by file ------------------------------------------------------------------------------------ */

/* A read of nothing takes time that reads took; closing a file is neither. */
static void files_say_how_fast_they_are(void **state)
{
    static const struct call calls[] = {
        {.name = "open", .start = 0, .end = 10, .file = "/log"},
        {.name = "write", .start = 10, .end = 20, .file = "/log", .bytes = 1000},
        {.name = "read", .start = 100, .end = 1100, .file = "/data", .bytes = 2000000},
        {.name = "fread", .start = 2000, .end = 3000, .file = "/data", .bytes = 1000000},
        {.name = "read", .start = 4000, .end = 5000, .file = "/data"},
        {.name = "pwrite", .start = 6000, .end = 6500, .file = "/data", .bytes = 500000},
        {.name = "close", .start = 7000, .end = 7500, .file = "/data"},
        {.name = "poll", .start = 8000, .end = 9999},
    };
    (void)state;
    struct maker maker = begin();
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    expect("osrt_files", trace,
           "File,Num Calls,Total Time (ns),Read (MB),Read Time (ns),Read (MB/s),Written (MB),Write "
           "Time (ns),Write (MB/s),Max (ns)\n"
           "/data,5,4000,3.000,3000,1000000.0,0.500,500,1000000.0,1000\n"
           "/log,2,20,0.000,0,,0.001,10,100000.0,10\n");
    nvt_trace_free(trace);
}

/* --- by lock ------------------------------------------------------------------------------------ */

/*
 * Two threads want the lock 0x10: 300 ns in step, 100 in none and 50 in load within step. A queue's condition variable takes
 * longer and comes behind it; its mutex has the address of another lock in another process. A lock without an address is none.
 */
static void locks_come_first(void **state)
{
    static const struct call calls[] = {
        {.name = "pthread_mutex_lock",
         .start = 100,
         .end = 400,
         .address = 0x10,
         .caller = "liba.so"},
        {.name = "pthread_mutex_timedlock",
         .start = 500,
         .end = 550,
         .address = 0x10,
         .caller = "libb.so"},
        {.name = "pthread_mutex_lock", .thread = 1, .start = 100, .end = 200, .address = 0x10},
        {.name = "pthread_cond_wait", .thread = 1, .start = 300, .end = 9300, .address = 0x20},
        {.name = "pthread_mutex_lock", .thread = 1, .start = 9300, .end = 9400},
        {.name = "read", .thread = 1, .start = 9400, .end = 9500, .address = 0x30},
        {.name = "pthread_mutex_lock", .thread = 2, .start = 0, .end = 20, .address = 0x10},
    };
    (void)state;
    struct maker maker = begin();
    make_range(&maker, "step", 0);
    maker.now = 600;
    make_range(&maker, "load", 480);
    make_process(&maker, 3, 0);
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    expect("osrt_locks", trace,
           "PID,Address,Call,Kind,Threads,Num Waits,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max "
           "(ns),StdDev (ns),Caller,Most In,Waits For,Call Site,Objects,Held By (TID),Held In\n"
           "1,0x10,\"pthread_mutex_lock, "
           "…\",locks,2,3,450,150.0,100.0,50,300,132.3,liba.so,:step,a lock,,1,,\n"
           "3,0x10,pthread_mutex_lock,locks,1,1,20,20.0,20.0,20,20,0.0,,,a lock,,1,,\n"
           "1,0x20,pthread_cond_wait,threads,1,1,9000,9000.0,9000.0,9000,9000,0.0,,,,,1,,\n");
    nvt_trace_free(trace);
}

/* A server takes a new lock for each request, in one place, and waits for work with a new one each time; of what took too short for
 * a stack, Python's many locks are one row. */
static void waits_of_one_call_site_are_one_row(void **state)
{
    enum { REQUESTS = 85 };
    (void)state;
    struct maker maker = begin();
    uint32_t serve = make_function(&maker, 0, "serve (server.py:12)", NULL);
    uint32_t get = make_function(&maker, serve, "get (queue.py:171)", NULL);
    uint32_t wait = make_function(&maker, get, "wait (threading.py:327)", NULL);
    uint32_t flush = make_function(&maker, 0, "flush (server.py:30)", NULL);
    for (int64_t i = 0; i < REQUESTS; i++) {
        struct nvt_os_call call = {.start = 100 * i,
                                   .end = 100 * i + 10,
                                   .thread = 0,
                                   .address = 0x1000 + 64 * (uint64_t)i};
        call.frame = i % 3 == 0 ? serve : i % 3 == 1 ? wait : 0;
        call.holder = i % 3 == 0 ? 2 : 0;
        make_os_call_row(&maker, "sem_wait", NULL, call);
        maker.trace->os_calls.caller[maker.trace->os_calls.count - 1] =
            nvt_strings_add_text(maker.trace->strings, "libpython3.11.so.1.0");
        make_sample(&maker, 1, 100 * i + 5, 5, flush);
    }
    struct nvt_trace *trace = make_end(&maker);
    expect("osrt_locks", trace,
           "PID,Address,Call,Kind,Threads,Num Waits,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max "
           "(ns),StdDev (ns),Caller,Most In,Waits For,Call Site,Objects,Held By (TID),Held In\n"
           "1,,sem_wait,locks,1,29,290,10.0,10.0,10,10,0.0,libpython3.11.so.1.0,,a lock,serve "
           "(server.py:12),29,2,flush (server.py:30)\n"
           "1,,sem_wait,threads,1,28,280,10.0,10.0,10,10,0.0,libpython3.11.so.1.0,,work from a "
           "queue,serve (server.py:12),28,,\n"
           "1,,sem_wait,threads,1,28,280,10.0,10.0,10,10,0.0,libpython3.11.so.1.0,,,,28,,\n");
    nvt_trace_free(trace);
}

/* --- by caller ---------------------------------------------------------------------------------- */

static void callers_have_their_own_rows(void **state)
{
    static const struct call calls[] = {
        {.name = "read", .start = 0, .end = 100, .bytes = 1000, .caller = "train"},
        {.name = "read", .start = 200, .end = 400, .bytes = 3000, .caller = "libdata.so"},
        {.name = "read", .start = 500, .end = 600, .bytes = 2000, .caller = "libdata.so"},
        {.name = "write", .start = 700, .end = 710, .bytes = 500000, .caller = "train"},
        {.name = "poll", .start = 800, .end = 801},
    };
    (void)state;
    struct maker maker = begin();
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    expect("osrt_callers", trace,
           "Caller,Call,Kind,Num Calls,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
           "(ns),Read (MB),Written (MB)\n"
           "libdata.so,read,files,2,300,150.0,150.0,100,200,70.7,0.005,0.000\n"
           "train,read,files,1,100,100.0,100.0,100,100,0.0,0.001,0.000\n"
           "train,write,files,1,10,10.0,10.0,10,10,0.0,0.000,0.500\n"
           ",poll,poll,1,1,1.0,1.0,1,1,0.0,0.000,0.000\n");
    nvt_trace_free(trace);
}

/* --- by thread ---------------------------------------------------------------------------------- */

/* fopen opens within it: what is covered is 200 ns of files, and the mmap that goes on behind it has the rest. */
static void threads_count_no_moment_twice(void **state)
{
    static const struct call calls[] = {
        {.name = "fopen", .start = 100, .end = 300},
        {.name = "open", .start = 150, .end = 250},
        {.name = "mmap", .start = 290, .end = 310},
        {.name = "ioctl", .start = 400, .end = 440},
        {.name = "whatever", .start = 500, .end = 505},
        {.name = "nanosleep", .thread = 1, .start = 0, .end = 50},
    };
    (void)state;
    struct maker maker = begin();
    uint32_t idle = nvt_trace_thread(maker.trace, maker.process, 3);
    maker.trace->threads.name[1] = nvt_strings_add_text(maker.trace->strings, "sleeper");
    maker.now = 1050;
    make_range(&maker, "step", 50);
    maker.thread = idle; /* which calls nothing, and is not told of */
    make_range(&maker, "step", 0);
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    expect("osrt_threads", trace,
           "PID,TID,Thread,Span (ns),Num Calls,In Calls (ns),In Calls (%),Files (ns),Network (ns),"
           "Locks (ns),Threads (ns),Poll (ns),Sleep (ns),Processes (ns),Memory (ns),Devices (ns),"
           "Other (ns)\n"
           "1,1,,1000,5,255,25.5,200,0,0,0,0,0,0,10,40,5\n"
           "1,2,sleeper,50,1,50,100.0,0,0,0,0,0,50,0,0,0,0\n");
    nvt_trace_free(trace);
}

/* --- nothing to tell ---------------------------------------------------------------------------- */

static void without_calls_it_says_how_to_get_them(void **state)
{
    static const char *const names[] = {"osrt_trace", "nvtx_osrt_sum", "osrt_threads", "osrt_files",
                                        "osrt_locks", "osrt_sum",      "osrt_callers"};
    (void)state;
    struct maker maker = begin();
    make_range(&maker, "step", 0);
    struct nvt_trace *trace = make_end(&maker);
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        char *note, *out = make_report(names[i], &trace, 1, &note);
        assert_non_null(strstr(note, "note: no OS calls"));
        assert_non_null(strstr(note, "(record --trace osrt, nsys profile --trace=osrt)"));
        assert_null(strchr(strchr(out, '\n') + 1, '\n'));
        free(note);
        free(out);
    }
    nvt_trace_free(trace);
}

/* As in exports of nsys. */
static void without_files_and_locks_it_says_so(void **state)
{
    static const struct call calls[] = {{.name = "read", .start = 10, .end = 20},
                                        {.name = "pthread_mutex_lock", .start = 30, .end = 40}};
    static const char *const names[][2] = {{"osrt_files", "names its file"},
                                           {"osrt_locks", "the lock"}};
    (void)state;
    struct maker maker = begin();
    add_calls(&maker, calls, NVT_COUNT_OF(calls));
    struct nvt_trace *trace = make_end(&maker);
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        char *note, *out = make_report(names[i][0], &trace, 1, &note);
        assert_non_null(strstr(note, names[i][1]));
        assert_null(strchr(strchr(out, '\n') + 1, '\n'));
        free(note);
        free(out);
    }
    nvt_trace_free(trace);
}

/* A trace that has only these calls is told by their names. */
static void calls_alone_are_told_by_name(void **state)
{
    static const struct call calls[] = {{.name = "read", .start = 10, .end = 20}};
    (void)state;
    struct maker maker = begin();
    add_calls(&maker, calls, 1);
    struct nvt_input_trace own = {.trace = make_end(&maker)};
    const struct nvt_input input = {.traces = &own, .trace_count = 1};
    assert_ptr_equal(nvt_report_default(&input), &nvt_report_osrt_sum);
    nvt_trace_free(own.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_says_what_it_worked_with),
        cmocka_unit_test(ranges_have_their_calls),
        cmocka_unit_test(ranges_of_traces_add_up),
        cmocka_unit_test(files_say_how_fast_they_are),
        cmocka_unit_test(locks_come_first),
        cmocka_unit_test(waits_of_one_call_site_are_one_row),
        cmocka_unit_test(callers_have_their_own_rows),
        cmocka_unit_test(threads_count_no_moment_twice),
        cmocka_unit_test(without_calls_it_says_how_to_get_them),
        cmocka_unit_test(without_files_and_locks_it_says_so),
        cmocka_unit_test(calls_alone_are_told_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
