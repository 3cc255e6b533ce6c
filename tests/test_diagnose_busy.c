/*
 * What samples tell of a host: kinds of work, who asked for it and in which range, and what is nobody's fault; and what threads
 * ran in the gaps of a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/diagnosis/work_kinds.h"
#include "../lib/count_of.h"
#include "finding_kit.h"

#define MS     INT64_C(1000000)
#define TOOL   "/home/x/bin/tool"
#define LIBC   "/usr/lib/libc.so.6"
#define PYTHON "/usr/bin/python3.12"

/* Samples of a function of 1 ms each, from now on. */
static void work(struct maker *maker, uint32_t function, int count)
{
    for (int i = 0; i < count; i++) {
        maker->now += MS;
        make_sample(maker, maker->thread, maker->now, MS, function);
    }
}

/* 20 iterations of 10 ms, in each so many samples of a function, in a range, and of another one behind it. */
static void loop(struct maker *maker, const char *range, uint32_t function, int count,
                 uint32_t other, int others)
{
    for (int i = 0; i < 20; i++) {
        int64_t start = maker->now;
        work(maker, function, count);
        if (range)
            make_range(maker, range, start);
        work(maker, other, others);
        maker->now = start + 10 * MS;
        make_range(maker, "iteration", start);
    }
}

/* What MPI's libraries do, and what they call, is waiting for other ranks: for the rules of MPI. */
static void waiting_in_mpi_is_not_told(void **state)
{
    static const char *const modules[] = {"/lib/libopen-pal.so.40", "/x/openmpi/mca_btl_vader.so",
                                          "/lib/libmpi.so.40", "/lib/libucp.so.0"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(modules); i++) {
        struct maker maker = make_begin();
        uint32_t main = make_function(&maker, 0, "main", TOOL);
        uint32_t mpi = make_function(&maker, main, "0x1234", modules[i]);
        uint32_t below = make_function(&maker, mpi, "__memmove_avx512_unaligned_erms", LIBC);
        loop(&maker, "exchange", mpi, 5, below, 4);
        kit_find_nothing(&maker, &nvt_rule_busy);
    }
}

static const struct kind_case {
    const char *name, *module, *does, *remedy;
} kind_cases[] = {
    {"gomp_team_barrier_wait_end", "/lib/libgomp.so.1", "spinning while other threads work",
     "OMP_NUM_THREADS"},
    {"sched_yield", LIBC, "spinning while other threads work", "no more threads than free cores"},
    {"gc_collect_main", PYTHON, "collecting garbage", "gc.freeze"},
    {"deepcopy (copy.py:146)", NULL, "in copy.deepcopy()", "copy once or not at all"},
    {"makeRecord (logging/__init__.py:1601)", NULL, "writing log lines",
     "a level that leaves them out"},
    {"spdlog::details::full_formatter::format(...)", TOOL, "writing log lines", "every n-th"},
    {"save", "/x/_pickle.cpython-312.so", "serialising and parsing", "shared memory"},
    {"iterencode (encoder.py:258)", NULL, "serialising and parsing", "binary form"},
    {"inflate_fast", TOOL, "compressing and unpacking", "codec"},
    {"[libz.so.1]", "/lib/libz.so.1", "compressing and unpacking", "codec"},
    {"decode_mcu", "/lib/libjpeg.so.62", "decoding and encoding images or video", "on the GPU"},
    {"gauss (random.py:598)", NULL, "drawing random numbers", "at once"},
    {"__vfprintf_internal", LIBC, "formatting and parsing text", "binary form"},
    {"_int_malloc", LIBC, "allocating and freeing memory", "before the loop"},
    {"brk", LIBC, "allocating and freeing memory", "before the loop"},
    {"clear_page_erms", "[kernel]", "allocating and freeing memory", "before the loop"},
    {"__memmove_avx512_unaligned_erms", LIBC, "copying and filling memory", "views"},
    {"_PyEval_EvalFrameDefault", PYTHON, "in the Python interpreter", "whole arrays"},
    {"step (model.py:3)", NULL, "in the Python interpreter", "whole arrays"},
};

static void each_kind_has_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(kind_cases); i++) {
        const struct kind_case *kind = &kind_cases[i];
        struct maker maker = make_begin();
        char what[256];
        uint32_t main = make_function(&maker, 0, "main", TOOL);
        uint32_t function = make_function(&maker, main, kind->name, kind->module);
        snprintf(what, sizeof(what), "the loop spends 60 %% of its time %s in range a", kind->does);
        loop(&maker, "a", function, 6, 0, 0);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_busy);
        if (findings.count != 1 || strcmp(findings.items[0].what, what) != 0)
            fail_msg("%s: %zu findings, %s", kind->name, findings.count,
                     findings.count ? findings.items[0].what : "");
        assert_non_null(strstr(findings.items[0].remedy, kind->remedy));
        assert_int_equal(findings.items[0].confidence, NVT_LIKELY);
        assert_int_equal(findings.items[0].moment_count, 3);
        free(findings.items);
    }
}

static void who_asked_for_it_is_named(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t train = make_function(&maker, 0, "train (train.py:9)", NULL);
    uint32_t copy = make_function(&maker, train, "deepcopy (copy.py:146)", NULL);
    uint32_t inner = make_function(&maker, copy, "_deepcopy_dict (copy.py:231)", NULL);
    uint32_t other = make_function(&maker, train, "at::mm(int)", "/x/libtorch.so");
    loop(&maker, "load", inner, 6, other, 3);
    kit_find_one(
        &maker, &nvt_rule_busy, 6e6,
        "the loop spends 60 % of its time in copy.deepcopy() in range load",
        "60 of 90 samples of its CPU time (67 %, 95 % interval 56 to 76 %), of them in "
        "_deepcopy_dict (copy.py) 100 %; 100 % of them from train (train.py:9); the thread "
        "runs for 90 % of the time");
}

/* Of one stack the kind that explains the most: memory within unpacking is unpacking; user's code ends the search. */
static void of_several_kinds_one_counts(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t main = make_function(&maker, 0, "main", TOOL);
    uint32_t parallel = make_function(&maker, main, "GOMP_parallel", "/lib/libgomp.so.1");
    uint32_t region = make_function(&maker, parallel, "sum._omp_fn.0", TOOL);
    uint32_t add = make_function(&maker, parallel, "axpy", "/lib/libvec.so");
    uint32_t unpack = make_function(&maker, region, "inflate", "/lib/libz.so.1");
    uint32_t copy = make_function(&maker, unpack, "memcpy", LIBC);
    uint32_t back = make_function(&maker, unpack, "callback", TOOL);
    uint32_t late = make_function(&maker, back, "memcpy", LIBC);
    static const enum nvt_work_kind expected[] = {
        NVT_WORK_NONE,       NVT_WORK_SPINS,      NVT_WORK_NONE, NVT_WORK_NONE,
        NVT_WORK_COMPRESSES, NVT_WORK_COMPRESSES, NVT_WORK_NONE, NVT_WORK_COPIES};
    const uint32_t functions[] = {main, parallel, region, add, unpack, copy, back, late};
    for (int i = 0; i < 8; i++)
        make_sample(&maker, 0, i, 1, functions[i]);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_sampled_functions sampled = {0};
    struct nvt_work kinds = {0};
    assert_int_equal(nvt_sampled_functions_make(&sampled, trace, NVT_BY_FUNCTION, NULL), 0);
    assert_int_equal(nvt_work_make(&kinds, &sampled), 0);
    for (uint32_t i = 0; i < 8; i++)
        if (nvt_work_of(&kinds, i) != expected[i])
            fail_msg("sample %u: %d", i, (int)nvt_work_of(&kinds, i));
    assert_int_equal(kinds.caller[copy - 1], region);
    assert_int_equal(kinds.caller[late - 1], back);
    nvt_work_free(&kinds);
    nvt_sampled_functions_free(&sampled);
    nvt_trace_free(trace);
}

/* A kernel in each of the iterations of loop(). */
static void use_device(struct maker *maker)
{
    const int64_t end = maker->now;
    for (int i = 0; i < 20; i++) {
        maker->now = end - (i + 1) * 10 * MS;
        make_launch(maker, "gemm", MS / 10);
    }
    maker->now = end;
}

static void one_function_has_a_higher_threshold(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t main = make_function(&maker, 0, "main", TOOL);
    uint32_t solve = make_function(&maker, main, "sim::solve<double>(int, double)", TOOL);
    loop(&maker, NULL, solve, 6, main, 1);
    use_device(&maker);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_busy);
    assert_int_equal(findings.count, 1);
    assert_string_equal(
        findings.items[0].what,
        "the loop spends 60 % of its time in one function, solve (tool) in range iteration");
    assert_non_null(strstr(findings.items[0].evidence, "; 100 % of them from main (tool);"));
    assert_int_equal(findings.items[0].confidence, NVT_POSSIBLE);
    free(findings.items);
    /* No GPU waits for it; a library that computes; less than the threshold. */
    enum { NO_DEVICE, COMPUTES, LESS, CASES };
    for (int i = 0; i < CASES; i++) {
        maker = make_begin();
        main = make_function(&maker, 0, "main", TOOL);
        solve = make_function(&maker, main, i == COMPUTES ? "dgemm_kernel" : "solve", TOOL);
        loop(&maker, NULL, solve, i == LESS ? 4 : 9, main, 1);
        if (i != NO_DEVICE)
            use_device(&maker);
        kit_find_nothing(&maker, &nvt_rule_busy);
    }
}

/* One for 10 ms that fell into 3 ms: the rest of its time was not there, but other such samples fell elsewhere. */
static void a_sample_counts_where_its_moment_is(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t parse = make_function(&maker, 0, "__vfprintf_internal", LIBC);
    for (int i = 0; i < 120; i++) {
        const int64_t start = maker.now;
        make_sample(&maker, 0, start + 8 * MS, 10 * MS, parse);
        maker.now = start + 9 * MS;
        make_range(&maker, "parse", start + 6 * MS);
        maker.now = start + 10 * MS;
        make_range(&maker, "iteration", start);
    }
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_busy);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].what, "parsing text in range parse"));
    free(findings.items);
}

/* Beside a device at work, on another thread, at times that are unknown, in few samples. */
static void what_costs_nothing_is_not_told(void **state)
{
    (void)state;
    enum { DEVICE, THREAD, TIMES, FEW, BEFORE, CASES };
    for (int i = 0; i < CASES; i++) {
        struct maker maker = make_begin();
        uint32_t copy = make_function(&maker, 0, "memcpy", LIBC);
        uint32_t other = nvt_trace_thread(maker.trace, maker.process, 9);
        if (i == DEVICE)
            for (int k = 0; k < 20; k++) {
                make_launch(&maker, "gemm", 10 * MS);
                maker.now = 1000;
            }
        for (int k = 0; k < 20; k++) {
            int64_t start = maker.now;
            int count = i == FEW ? 4 : i == BEFORE && k >= 10 ? 0 : 6;
            maker.thread = i == THREAD ? other : 0;
            work(&maker, copy, count);
            maker.thread = 0;
            if (i == THREAD)
                make_sample(&maker, 0, maker.now, MS / 1000, copy);
            maker.now = start + 10 * MS;
            make_range(&maker, "iteration", start);
        }
        if (i == TIMES)
            maker.trace->cpu_samples.cpu_ns[0] = 0;
        kit_find_nothing(&maker, &nvt_rule_busy);
    }
}

/* Without ranges, the second half of the main thread. */
static void programs_without_ranges_have_their_main_thread(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t copy = make_function(&maker, 0, "memcpy", LIBC);
    work(&maker, copy, 200);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_busy);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what,
                        "a thread spends 100 % of its time copying and filling memory");
    free(findings.items);
}

/* --- in the gaps of a device --- */

static void gaps_tell_what_ran_meanwhile(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t load = make_function(&maker, 0, "load (data.py:7)", NULL);
    uint32_t copy = make_function(&maker, load, "memcpy", LIBC);
    uint32_t wait = make_function(&maker, 0, "wait", TOOL);
    for (int i = 0; i < 8; i++) {
        int64_t start = maker.now;
        work(&maker, load, 3);
        work(&maker, copy, 1);
        make_launch(&maker, "gemm", 4 * MS);
        make_sample(&maker, 0, maker.now + MS, MS, wait);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_idle);
    assert_int_equal(findings.count, 1);
    if (!strstr(findings.items[0].evidence,
                "; running then, in 16 samples: load (data.py) 75 %, memcpy (libc.so.6) 25 %; "
                "100 % of them from load (data.py:7)"))
        fail_msg("%s", findings.items[0].evidence);
    free(findings.items);
}

static void waits_for_batches_tell_what_ran_meanwhile(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t decode = make_function(&maker, 0, "decode", "/lib/libimage.so");
    for (int i = 0; i < 8; i++) {
        int64_t start = maker.now;
        work(&maker, decode, 5);
        make_range(&maker, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start);
        maker.now += MS;
        make_range(&maker, "iteration", start);
    }
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_input);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].evidence,
                           "; running then, in 20 samples: decode (libimage.so) 100 %"));
    free(findings.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_in_mpi_is_not_told),
        cmocka_unit_test(each_kind_has_its_words),
        cmocka_unit_test(who_asked_for_it_is_named),
        cmocka_unit_test(of_several_kinds_one_counts),
        cmocka_unit_test(one_function_has_a_higher_threshold),
        cmocka_unit_test(a_sample_counts_where_its_moment_is),
        cmocka_unit_test(what_costs_nothing_is_not_told),
        cmocka_unit_test(programs_without_ranges_have_their_main_thread),
        cmocka_unit_test(gaps_tell_what_ran_meanwhile),
        cmocka_unit_test(waits_for_batches_tell_what_ran_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
