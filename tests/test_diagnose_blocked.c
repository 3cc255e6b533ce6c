/*
 * Hosts that are blocked in calls of the operating system: which kinds are told, of which threads, ranges, files and
 * locks, and what is none of the loop's.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/blocking.h"
#include "../analyze/diagnosis/diagnose.h"
#include "../lib/count_of.h"
#include "finding_kit.h"

#define MS INT64_C(1000000)

/* An iteration of 10 ms, which begins with this. */
struct step {
    const char *call, *file, *range, *domain; /* range: around the call, NULL: none */
    int64_t ns;                               /* of the call */
    uint64_t address, bytes;
    int64_t kernel_ns;  /* launched in front of it */
    const char *inside; /* a call of CUDA around it */
    int mpi;            /* one of MPI is */
};

static void add_mpi(struct maker *maker, int64_t ns)
{
    const struct nvt_mpi_call call = {.start = maker->now,
                                      .end = maker->now + ns,
                                      .thread = maker->thread,
                                      .name =
                                          nvt_strings_add_text(maker->trace->strings, "MPI_Recv"),
                                      .peer = NVT_MPI_NONE,
                                      .tag = NVT_MPI_NONE};
    assert_int_not_equal(nvt_mpi_call_add(maker->trace, &call), NVT_NONE);
}

static void block(struct maker *maker, const struct step *step)
{
    int64_t start = maker->now;
    make_os_call_row(maker, step->call, step->file,
                     (struct nvt_os_call){.start = start,
                                          .end = start + step->ns,
                                          .thread = maker->thread,
                                          .address = step->address,
                                          .bytes = step->bytes});
    if (step->mpi)
        add_mpi(maker, step->ns);
    if (step->inside)
        make_call(maker, step->inside, step->ns);
    maker->now = start + step->ns;
    maker->domain = step->domain ? nvt_trace_domain(maker->trace, maker->process, step->domain) : 0;
    if (step->range)
        make_range(maker, step->range, start);
    maker->domain = 0;
}

/* So many steps, one after the other, in each of 20 iterations, or `iteration`; NULL: in no range. */
static void loop(struct maker *maker, const struct step *steps, size_t count, const char *iteration)
{
    for (int i = 0; i < 20; i++) {
        int64_t start = maker->now;
        for (size_t k = 0; k < count; k++) {
            if (steps[k].kernel_ns)
                make_launch(maker, "gemm", steps[k].kernel_ns);
            block(maker, &steps[k]);
        }
        maker->now = start + 10 * MS;
        if (iteration)
            make_range(maker, iteration, start);
    }
}

static const struct kind_case {
    const char *call, *file, *does, *remedy;
    enum nvt_confidence confidence;
} kind_cases[] = {
    {"read", "/data/a", "reading files", "read ahead on another thread", NVT_SEEN},
    {"pwrite64", "/data/a", "writing files", "write on another thread", NVT_SEEN},
    {"fsync", NULL, "writing files", "fsync() only", NVT_SEEN},
    {"openat", "/data/a", "opening, listing and looking up files", "open files once", NVT_SEEN},
    {"recv", "socket 10.0.0.1:80", "waiting for the network", "keep connections open", NVT_SEEN},
    {"read", "socket 10.0.0.1:80", "waiting for the network", "keep connections open", NVT_SEEN},
    {"read", "pipe", "waiting for events or other processes", "find out who", NVT_POSSIBLE},
    {"pthread_mutex_lock", NULL, "waiting for locks", "outside of the lock", NVT_SEEN},
    {"pthread_cond_wait", NULL, "waiting for other threads", "work earlier", NVT_POSSIBLE},
    {"epoll_wait", NULL, "waiting for events or other processes", "find out who", NVT_POSSIBLE},
    {"usleep", NULL, "sleeping", "wait for the event itself", NVT_SEEN},
    {"waitpid", NULL, "starting other programs and waiting for them", "a library", NVT_SEEN},
    {"munmap", NULL, "mapping, unmapping or locking memory", "before the loop", NVT_SEEN},
    {"ioctl", "/dev/nvidia0", "in calls of device drivers", "before the loop", NVT_LIKELY},
};

static void each_kind_has_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(kind_cases); i++) {
        const struct kind_case *kind = &kind_cases[i];
        struct maker maker = make_begin();
        const struct step step = {
            .call = kind->call, .file = kind->file, .range = "a", .ns = 2 * MS};
        char what[256];
        snprintf(what, sizeof(what), "the loop spends 20 %% of its time %s in range a", kind->does);
        loop(&maker, &step, 1, "iteration");
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
        assert_int_equal(findings.count, 1);
        assert_string_equal(findings.items[0].what, what);
        if (!strstr(findings.items[0].remedy, kind->remedy))
            fail_msg("%s: %s", kind->call, findings.items[0].remedy);
        assert_int_equal(findings.items[0].confidence, kind->confidence);
        assert_int_equal(findings.items[0].moment_count, 3);
        free(findings.items);
    }
}

static void a_file_is_named_with_its_bytes(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct step steps[] = {
        {.call = "read", .file = "/data/a", .range = "load", .ns = 3 * MS, .bytes = 6000000},
        {.call = "pread64", .file = "/data/b", .range = "load", .ns = MS, .bytes = 2000000}};
    loop(&maker, steps, 2, "iteration");
    kit_find_one(
        &maker, &nvt_rule_blocked, 4 * MS,
        "the loop spends 40 % of its time reading files in range load",
        "2 calls per iteration, 2.00 ms each, the longest 3.00 ms; 75 % of that time in "
        "read(); 75 % of that time on /data/a, one of 2 files; 8 MB per iteration, 2 GB/s");
}

/* Of a lock that several threads want, also those without ranges; the thread with most of it counts. */
static void a_lock_is_named_with_who_waits_for_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct step steps[] = {
        {.call = "pthread_mutex_lock", .range = "update", .ns = 3 * MS, .address = 0x7f0010},
        {.call = "pthread_mutex_lock", .range = "update", .ns = MS, .address = 0x7f0020}};
    loop(&maker, steps, 2, "iteration");
    uint32_t other = nvt_trace_thread(maker.trace, maker.process, 9);
    for (int i = 0; i < 20; i++)
        make_os_call_row(&maker, "pthread_mutex_lock", NULL,
                         (struct nvt_os_call){.start = 1000 + i * 10 * MS,
                                              .end = 1000 + i * 10 * MS + 9 * MS,
                                              .thread = other,
                                              .address = 0x7f0010});
    kit_find_one(
        &maker, &nvt_rule_blocked, 4 * MS,
        "the loop spends 40 % of its time waiting for locks in range update",
        "lock contention: 2 waits per iteration, 2.00 ms each, the longest 3.00 ms; 100 % of "
        "that time in pthread_mutex_lock(); 75 % of that time for lock 0x7f0010, one of 2 "
        "locks, for which 2 threads wait");
}

/* Of Python, the lock is known by the line that takes it, and who holds it by the line that it is in. Of calls of 1 ms and more,
 * one with a stack stands for those before it. */
static struct maker in_python(int64_t ns, const char *waits_in, uint32_t holder)
{
    struct maker maker = make_begin();
    nvt_trace_thread(maker.trace, maker.process, 9);
    uint32_t step = make_function(&maker, 0, "step (train.py:7)", NULL);
    uint32_t frame = waits_in ? make_function(&maker, step, "put (queue.py:140)", NULL) : step;
    frame = waits_in ? make_function(&maker, frame, waits_in, NULL) : frame;
    uint32_t flush = make_function(&maker, 0, "flush (log.py:40)", NULL);
    for (int i = 0; i < 20; i++) {
        int64_t start = maker.now;
        make_os_call_row(&maker, "sem_wait", NULL,
                         (struct nvt_os_call){.start = start,
                                              .end = start + ns,
                                              .thread = maker.thread,
                                              .address = 0x1000 + 64 * (uint64_t)i,
                                              .holder = holder,
                                              .frame = holder || i % 3 == 1 ? frame : 0});
        maker.trace->os_calls.caller[i] =
            nvt_strings_add_text(maker.trace->strings, "/usr/lib/libpython3.11.so.1.0");
        make_sample(&maker, 1, start + MS, MS, flush);
        maker.now = start + 10 * MS;
        make_range(&maker, "iteration", start);
    }
    return maker;
}

static void locks_of_python_are_named_by_their_lines(void **state)
{
    (void)state;
    struct maker maker = in_python(4 * MS, NULL, 9);
    kit_find_one(
        &maker, &nvt_rule_blocked, 4 * MS,
        "the loop spends 40 % of its time waiting for locks in range iteration",
        "lock contention: 1 wait per iteration, 4.00 ms each, the longest 4.00 ms; 100 % of "
        "that time in sem_wait(); 100 % of that time by step (train.py:7), where 1 thread "
        "waits; thread 9 holds it for 100 % of that, most in flush (log.py:40)");
}

static void a_full_queue_is_no_lock(void **state)
{
    (void)state;
    struct maker maker = in_python(4 * MS, "wait (threading.py:327)", 0);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
    assert_int_equal(findings.count, 1);
    assert_string_equal(
        findings.items[0].what,
        "the loop spends 40 % of its time waiting for room in a queue in range iteration");
    assert_non_null(strstr(findings.items[0].evidence, "called from step (train.py:7)"));
    assert_non_null(strstr(findings.items[0].remedy, "the consumer is slower"));
    free(findings.items);
}

/* A program without ranges has locks all the same. */
static void locks_need_no_ranges(void **state)
{
    (void)state;
    for (int is_lock = 0; is_lock < 2; is_lock++) {
        struct maker maker = make_begin();
        for (int i = 0; i < 20; i++)
            make_os_call(&maker, is_lock ? "pthread_mutex_lock" : "read", maker.thread, i * 10 * MS,
                         (i * 10 + 5) * MS);
        for (int i = 1; i < 3; i++)
            make_sample(&maker, maker.thread, i * 6 * MS, MS,
                        make_function(&maker, 0, "main", "/x/a"));
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
        assert_int_equal(findings.count, is_lock);
        free(findings.items);
    }
}

/* A thread beside the loop, in ranges of its own: it may wait for work, but not for locks. */
static void other_threads_have_locks_alone(void **state)
{
    (void)state;
    static const char *const calls[] = {"read", "pthread_cond_wait", "usleep",
                                        "pthread_mutex_lock"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        struct maker maker = make_begin();
        const struct step step = {.call = calls[i], .range = "worker", .ns = 5 * MS};
        loop(&maker, NULL, 0, "iteration");
        maker.thread = nvt_trace_thread(maker.trace, maker.process, 9);
        maker.now = 1000;
        loop(&maker, &step, 1, NULL);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
        assert_int_equal(findings.count, i == 3);
        if (i == 3)
            assert_string_equal(
                findings.items[0].what,
                "a thread spends 50 % of its time waiting for locks in range worker");
        free(findings.items);
    }
}

/* Without iterations it is the main thread, if that has ranges of a loop, and else any that has. */
static void without_iterations_the_main_thread_counts(void **state)
{
    (void)state;
    for (int has_main = 0; has_main < 2; has_main++) {
        struct maker maker = make_begin();
        const struct step step = {.call = "read", .range = "load", .ns = 5 * MS};
        loop(&maker, NULL, 0, has_main ? "step" : NULL);
        maker.thread = nvt_trace_thread(maker.trace, maker.process, 9);
        maker.now = 1000;
        loop(&maker, &step, 1, NULL);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
        assert_int_equal(findings.count, !has_main);
        free(findings.items);
    }
}

/* Of what is not in a range, in one that is entered once, or in a call of others, nothing is said. */
static void only_calls_in_ranges_of_the_loop_count(void **state)
{
    (void)state;
    static const struct step inner[] = {
        {.call = "read", .range = "load", .ns = 5 * MS, .inside = "cudaMemcpy"},
        {.call = "poll", .range = "load", .ns = 5 * MS, .mpi = 1},
        {.call = "poll", .range = "data", .domain = "PyTorch", .ns = 5 * MS},
        {.call = "sem_wait", .range = "enumerate(DataLoader)#_Multi.__next__", .ns = 5 * MS},
        {.call = "nanosleep_of_mine", .range = "load", .ns = 5 * MS},
    };
    const struct step step = {.call = "read", .ns = 5 * MS};
    for (size_t i = 0; i < NVT_COUNT_OF(inner); i++) {
        struct maker maker = make_begin();
        loop(&maker, &inner[i], 1, "iteration");
        kit_find_nothing(&maker, &nvt_rule_blocked);
    }
    struct maker none = make_begin(), once = make_begin();
    loop(&none, &step, 1, NULL);
    kit_find_nothing(&none, &nvt_rule_blocked);
    loop(&once, &step, 1, NULL);
    make_range(&once, "all", 1000);
    kit_find_nothing(&once, &nvt_rule_blocked);
}

/* A batch that the loop reads by itself is one problem: input-bound, which names the calls. */
static void files_of_a_batch_are_told(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct step step = {.call = "read", .range = "data", .domain = "PyTorch", .ns = 5 * MS};
    loop(&maker, &step, 1, "iteration");
    kit_find_one(&maker, &nvt_rule_input, 5 * MS,
                 "the loop spends 50 % of its time waiting for the DataLoader",
                 "1 wait per iteration, 5.00 ms each on average, the longest 5.00 ms; GPU activity "
                 "was not recorded; 100 % of that time in read()");
    struct maker again = make_begin();
    loop(&again, &step, 1, "iteration");
    kit_find_nothing(&again, &nvt_rule_blocked);
}

/* One call, or two, that are far longer than the others are no loop; nor is a call that never returns. */
static void what_is_done_once_is_no_loop(void **state)
{
    (void)state;
    for (int hangs = 0; hangs < 2; hangs++) {
        struct maker maker = make_begin();
        const struct step step = {.call = "read", .range = "load", .ns = MS};
        loop(&maker, &step, 1, "iteration");
        const struct step once = {.call = "read", .range = "load", .ns = 80 * MS};
        int64_t start = maker.now;
        block(&maker, &once);
        if (hangs)
            maker.trace->os_calls.flags[maker.trace->os_calls.count - 1] = NVT_RANGE_UNCLOSED;
        make_range(&maker, "iteration", start);
        kit_find_nothing(&maker, &nvt_rule_blocked);
    }
}

/* Of a program that stands still the second half is that of its whole time: without that the loop had slept in it. */
static void a_loop_that_has_ended_in_a_hang_is_not_looked_at(void **state)
{
    (void)state;
    for (int hangs = 0; hangs < 2; hangs++) {
        struct maker maker = make_begin();
        const struct step step = {.call = "usleep", .range = "work", .ns = 9 * MS};
        loop(&maker, &step, 1, NULL);
        int64_t start = maker.now;
        make_range(&maker, "work", start - MS);
        maker.trace->ranges.flags[maker.trace->ranges.count - 1] = NVT_RANGE_UNCLOSED;
        maker.trace->threads.ended_ns[maker.thread] = start + hangs * 300 * MS;
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
        assert_int_equal(findings.count, !hangs);
        free(findings.items);
    }
}

/* The device works for 2 of the 6 ms, or for 4. */
static void a_device_that_works_meanwhile_is_no_trouble(void **state)
{
    (void)state;
    static const char *const calls[] = {"pthread_cond_wait", "ioctl", "read"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++)
        for (int64_t works = 2; works <= 4; works += 2) {
            struct maker maker = make_begin();
            const struct step step = {
                .call = calls[i], .range = "wait", .ns = 6 * MS, .kernel_ns = works * MS};
            loop(&maker, &step, 1, "iteration");
            struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
            assert_int_equal(findings.count, works < 3);
            if (works == 2)
                assert_non_null(strstr(findings.items[0].evidence, "; a GPU works for 33 % of it"));
            if (works == 2)
                assert_true(fabs(findings.items[0].cost_ns - 4 * MS) < 10000);
            free(findings.items);
        }
}

/* Kinds by themselves, the most expensive first; of both, half and less in one range. */
static void kinds_are_told_apart(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct step steps[] = {{.call = "usleep", .range = "pause", .ns = 2 * MS},
                                 {.call = "read", .range = "load", .ns = 3 * MS},
                                 {.call = "read", .range = "look", .ns = 2 * MS},
                                 {.call = "munmap", .range = "load", .ns = MS}};
    loop(&maker, steps, 4, "iteration");
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
    assert_int_equal(findings.count, 2);
    assert_string_equal(
        findings.items[0].what,
        "the loop spends 50 % of its time reading files, 60 % of that in range load");
    assert_string_equal(findings.items[1].what,
                        "the loop spends 20 % of its time sleeping in range pause");
    free(findings.items);
}

/* The range around both, where neither holds half; none, where the loop has no range around them. */
static void no_range_is_blamed_for_others(void **state)
{
    (void)state;
    const struct step steps[] = {{.call = "read", .range = "a", .ns = 2 * MS},
                                 {.call = "read", .range = "b", .ns = 2 * MS},
                                 {.call = "read", .range = "c", .ns = 2 * MS}};
    struct maker in = make_begin(), out = make_begin();
    loop(&in, steps, 3, "iteration");
    kit_find_one(&in, &nvt_rule_blocked, 6 * MS,
                 "the loop spends 60 % of its time reading files in range iteration",
                 "3 calls per iteration, 2.00 ms each, the longest 2.00 ms; 100 % of that time in "
                 "read()");
    loop(&out, steps, 3, NULL);
    struct nvt_findings findings = kit_find(&out, &nvt_rule_blocked);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what, "a thread spends 61 % of its time reading files");
    free(findings.items);
}

/* A call in which others are counts once, for what it is itself. */
static void calls_within_calls_count_once(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 20; i++) {
        int64_t start = maker.now;
        make_os_call(&maker, "getaddrinfo", maker.thread, start, start + 4 * MS);
        make_os_call(&maker, "poll", maker.thread, start + MS, start + 3 * MS);
        make_os_call(&maker, "recv", maker.thread, start + 3 * MS, start + 4 * MS);
        maker.now = start + 10 * MS;
        make_range(&maker, "iteration", start);
    }
    kit_find_one(&maker, &nvt_rule_blocked, 4 * MS,
                 "the loop spends 40 % of its time waiting for the network in range iteration",
                 "1 call per iteration, 4.00 ms each, the longest 4.00 ms; 100 % of that time in "
                 "getaddrinfo()");
}

/* Each process is looked at by itself, and kinds are not mixed up when findings of several are joined. */
static void processes_are_told_apart(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct step reads = {.call = "read", .range = "load", .ns = 2 * MS},
                      sleeps = {.call = "usleep", .range = "load", .ns = 3 * MS};
    loop(&maker, &reads, 1, "iteration");
    make_process(&maker, 2, 0);
    loop(&maker, &reads, 1, "iteration");
    make_process(&maker, 3, 0);
    loop(&maker, &sleeps, 1, "iteration");
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
    assert_int_equal(findings.count, 2);
    assert_non_null(strstr(findings.items[0].evidence, "the costliest of the 2 that have it"));
    assert_non_null(strstr(findings.items[1].evidence, "in process 3, the only one of 3"));
    free(findings.items);
}

static void the_end_of_a_long_path_is_kept(void **state)
{
    (void)state;
    char out[NVT_FILE_TEXT_MAX], path[200] = "/a";
    assert_string_equal(nvt_file_text("/data/a.bin", 40, out), "/data/a.bin");
    assert_string_equal(nvt_file_text("/data/a.bin", 11, out), "/data/a.bin");
    assert_string_equal(nvt_file_text("/data/a.bin", 10, out), "…/a.bin");
    assert_string_equal(nvt_file_text("/data/a.bin", 7, out), "….bin");
    assert_string_equal(nvt_file_text("/data/\xc3\xa4.bin", 8, out), "….bin");
    assert_string_equal(nvt_file_text("/data/a.bin", 2, out), "");
    memset(path + 2, 'x', 150);
    nvt_file_text(path, sizeof(path), out);
    assert_int_equal(strlen(out), NVT_FILE_TEXT_MAX - 1);
}

/* Tasks of asyncio, whose ranges are not the thread's: what blocks a turn of its loop is told, not what it waits for. */
static void event_loops_are_blocked(void **state)
{
    static const struct {
        const char *call, *turn, *remedy;
    } cases[] = {{"clock_nanosleep", "_run_once (base_events.py:1909)", "asyncio.to_thread()"},
                 {"recv", "_run_once (base_events.py:1922)", "asynchronous client"},
                 {"epoll_wait", "_run_once (base_events.py:1871)", NULL},
                 {"clock_nanosleep", "run_once (base_events.py:10)", NULL},
                 {"clock_nanosleep", "_run_once (mine.py:10)", NULL}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        const uint32_t turn = make_function(&maker, 0, cases[i].turn, NULL);
        const uint32_t handler = make_function(&maker, turn, "handler (serve.py:9)", NULL);
        for (int k = 0; k < 40; k++) {
            const int64_t start = k * 10 * MS;
            make_os_call_row(&maker, cases[i].call,
                             !strcmp(cases[i].call, "recv") ? "socket" : NULL,
                             (struct nvt_os_call){.start = start,
                                                  .end = start + 6 * MS,
                                                  .thread = maker.thread,
                                                  .frame = handler});
        }
        maker.thread = nvt_trace_thread(maker.trace, maker.process, 77);
        maker.now = 400 * MS;
        make_range(&maker, "serve", 0);
        if (!cases[i].remedy) {
            kit_find_nothing(&maker, &nvt_rule_blocked);
            continue;
        }
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_blocked);
        assert_int_equal(findings.count, 1);
        if (strncmp(findings.items[0].what, "the event loop spends 60 % of its time ", 39) ||
            !strstr(findings.items[0].remedy, cases[i].remedy) ||
            !strstr(findings.items[0].evidence, "from handler (serve.py:9)"))
            fail_msg("%s; %s; %s", findings.items[0].what, findings.items[0].evidence,
                     findings.items[0].remedy);
        free(findings.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_loops_are_blocked),
        cmocka_unit_test(each_kind_has_its_words),
        cmocka_unit_test(a_file_is_named_with_its_bytes),
        cmocka_unit_test(a_lock_is_named_with_who_waits_for_it),
        cmocka_unit_test(locks_of_python_are_named_by_their_lines),
        cmocka_unit_test(a_full_queue_is_no_lock),
        cmocka_unit_test(locks_need_no_ranges),
        cmocka_unit_test(other_threads_have_locks_alone),
        cmocka_unit_test(without_iterations_the_main_thread_counts),
        cmocka_unit_test(only_calls_in_ranges_of_the_loop_count),
        cmocka_unit_test(files_of_a_batch_are_told),
        cmocka_unit_test(what_is_done_once_is_no_loop),
        cmocka_unit_test(a_loop_that_has_ended_in_a_hang_is_not_looked_at),
        cmocka_unit_test(a_device_that_works_meanwhile_is_no_trouble),
        cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(no_range_is_blamed_for_others),
        cmocka_unit_test(calls_within_calls_count_once),
        cmocka_unit_test(processes_are_told_apart),
        cmocka_unit_test(the_end_of_a_long_path_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
