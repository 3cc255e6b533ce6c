/* What the diagnosis takes for a loop, and what lies beside it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../lib/count_of.h"
#include "finding_kit.h"
#include "loop_kit.h"
#include "made_trace.h"
#include "small_trace.h"

/* A gap that begins in the last iteration and ends a second later costs what of it is in there. */
static void what_lies_behind_a_loop_is_none_of_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    loop_make(&maker, 20, MS);
    maker.now += 1000 * (int64_t)MS;
    make_launch(&maker, "evaluate", 2 * MS);
    loop_expect_nothing(&maker, NULL);
    maker = make_begin();
    loop_make(&maker, 20, 4 * MS);
    maker.now += 1000 * (int64_t)MS;
    make_launch(&maker, "evaluate", 2 * MS);
    loop_expect_one(&maker, &nvt_rule_idle, 4 * MS,
                    (const char *const[]){"1 gap per iteration, 4.01 ms each, 20 % of", NULL});
    /* What was launched in time is no gap: it is held for a second, behind the loop. */
    maker = make_begin();
    loop_make(&maker, 20, MS);
    maker.device = maker.now + 1000 * (int64_t)MS;
    make_launch(&maker, "evaluate", 2 * MS);
    loop_expect_nothing(&maker, NULL);
}

/* The host is in a range for most of all gaps' time, though in the longest of them it is in another one; in two of half of it
 * each, then, or in none. */
static void the_host_is_where_it_is_most_of_the_time(void **state)
{
    (void)state;
    static const struct {
        int64_t load, check;
        const char *says;
    } cases[] = {{4 * MS, 0, "while the CPU runs other code in range load"},
                 {3 * MS, MS, "while the CPU runs other code, 74 % of it in range load"},
                 {MS, 3 * MS, "while the CPU runs other code, 74 % of it in range check"},
                 {0, 0, "while the CPU runs other code in range iteration"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        for (int k = 0; k < 40; k++) {
            int64_t start = maker.now, load = start + cases[i].load, check = load + cases[i].check;
            maker.now = load;
            if (cases[i].load)
                make_range(&maker, "load", start);
            maker.now = check;
            if (cases[i].check)
                make_range(&maker, "check", load);
            maker.now = start + (k == 30 ? 5 : 4) * MS;
            if (k == 30)
                make_range(&maker, "odd", check);
            make_launch(&maker, "gemm", 10 * MS);
            make_wait(&maker);
            make_range(&maker, "iteration", start);
        }
        struct nvt_findings findings = loop_look_with(&maker, &nvt_rule_idle);
        assert_int_equal(findings.count, 1);
        if (!strstr(findings.items[0].what, cases[i].says))
            fail_msg("%zu: %s", i, findings.items[0].what);
        free(findings.items);
    }
}

#define LONG_TAIL "/p11/p12/p13/p14/p15/p16/p17/p18/p19/p20/p21/p22/p23/p24/p25/p26/p27/p28/p29"

static const char *file_of_step(const char *file, int every, int step, char own[16])
{
    (void)snprintf(own, 16, "/data/%d", step);
    return every && step % every ? own : file;
}

/* What it is in there, where the operating system's calls are on record; those of other threads say nothing. */
static void the_host_is_in_a_call_of_the_system(void **state)
{
    (void)state;
    static const struct {
        int64_t read, write;
        uint32_t thread;
        int every; /* iterations with that file; the others have one of their own; 0: all */
        const char *says, *file; /* of what is read */
    } cases[] = {
        {4 * MS, 0, 0, 0,
         "while the CPU runs other code or waits in range iteration, for 100 % of that time in "
         "read()",
         NULL},
        {3 * MS, MS, 0, 0, "in range iteration, for 75 % of that time in read()", NULL},
        {MS, 3 * MS, 0, 0, "in range iteration, for 75 % of that time in write()", "/data/a"},
        {MS, MS, 0, 0, "while the CPU runs other code in range iteration", "/data/a"},
        {4 * MS, 0, 1, 0, "while the CPU runs other code in range iteration", "/data/a"},
        {4 * MS, 0, 0, 0, "for 100 % of that time in read() of /data/train.bin", "/data/train.bin"},
        {4 * MS, 0, 0, 2, "for 100 % of that time in read() of /data/train.bin", "/data/train.bin"},
        {4 * MS, 0, 0, 4, "in range iteration, for 100 % of that time in read()",
         "/data/train.bin"},
        {4 * MS, 0, 0, 0, "for 100 % of that time in read() of …/p10" LONG_TAIL,
         "/p01/p02/p03/p04/p05/p06/p07/p08/p09/p10" LONG_TAIL}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        uint32_t other = nvt_trace_thread(maker.trace, 0, 99);
        uint32_t thread = cases[i].thread ? other : maker.thread;
        char file[16];
        for (int k = 0; k < 40; k++) {
            int64_t start = maker.now, write = start + cases[i].read;
            if (cases[i].read)
                make_os_call_row(
                    &maker, "read", file_of_step(cases[i].file, cases[i].every, k, file),
                    (struct nvt_os_call){.start = start, .end = write, .thread = thread});
            if (cases[i].write)
                make_os_call(&maker, "write", thread, write, write + cases[i].write);
            maker.now = start + 4 * MS;
            make_launch(&maker, "gemm", 10 * MS);
            make_wait(&maker);
            make_range(&maker, "iteration", start);
        }
        struct nvt_findings findings = loop_look_with(&maker, &nvt_rule_idle);
        assert_int_equal(findings.count, 1);
        const char *what = findings.items[0].what, *said = strstr(what, cases[i].says);
        if (!said || strlen(said) != strlen(cases[i].says))
            fail_msg("%zu: %s", i, what);
        free(findings.items);
    }
}

/* The longest names that there may be, of ranges, calls and files: of the file there is what has room, to its end. */
static void what_the_host_is_in_fits(void **state)
{
    (void)state;
    char range[200] = "";
    memset(range, 'r', sizeof(range) - 1);
    struct maker maker = make_begin();
    for (int k = 0; k < 40; k++) {
        int64_t start = maker.now, end = start + 3 * MS;
        make_os_call_row(&maker, "pthread_rwlock_clockwrlock_of_a_library", "/p10" LONG_TAIL,
                         (struct nvt_os_call){.start = start, .end = end, .thread = maker.thread});
        maker.now = end;
        make_range(&maker, range, start);
        maker.now = start + 4 * MS;
        make_launch(&maker, "gemm", 10 * MS);
        make_wait(&maker);
        make_range(&maker, "iteration", start);
    }
    struct nvt_findings findings = loop_look_with(&maker, &nvt_rule_idle);
    assert_int_equal(findings.count, 1);
    const char *said = strstr(findings.items[0].what, ", 75 % of it in range rrr");
    assert_non_null(said);
    assert_non_null(
        strstr(said, "rr, for 75 % of that time in pthread_rwlock_clockwrlock_of_a_libr"));
    assert_non_null(strstr(said, "() of …/p"));
    assert_string_equal(said + strlen(said) - 4, "/p29");
    free(findings.items);
}

/* Eight launches of 5 ms, each the first of its kernel, or not, or while the device works; or one call that loads code. */
static void only_first_calls_are_cold(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct maker maker = make_begin();
        make_call(&maker, "cudaGetDevice", 1000);
        make_launch(&maker, "same", kind == 2 ? 100 * MS : 1000);
        if (kind == 3)
            make_call(&maker, "cuLibraryLoadData", 40 * MS);
        for (int i = 0; i < 8 && kind < 3; i++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "k%d", i);
            maker.launch_ns = 5 * MS;
            make_launch(&maker, kind == 1 ? "same" : name, 1000);
        }
        maker.launch_ns = 5000;
        make_launch(&maker, "same", 100 * MS);
        if (kind == 0)
            loop_expect_one(&maker, &nvt_rule_cold, 40.0 * MS,
                            (const char *const[]){"8 first launches take 5.00 ms each", NULL});
        else if (kind == 3)
            loop_expect_one(
                &maker, &nvt_rule_cold, 40.0 * MS,
                (const char *const[]){"1 other call takes 40.0 ms", "is cuLibraryLoadData", NULL});
        else
            loop_expect_nothing(&maker, &nvt_rule_cold);
    }
}

/* Of what makes batches, in two workers or in the wait, the dearer half is told, and what helps there. */
static void the_dearer_half_of_a_batch_is_told(void **state)
{
    (void)state;
    for (int dear = 0; dear < 2; dear++) {
        struct nvt_trace *trace = small_trace();
        uint32_t loops = small_thread(trace, 1, 1);
        for (int64_t i = 0; i < 20; i++) {
            const int64_t at = i * 20 * MS;
            const uint32_t worker = small_thread(trace, 2 + i % 2, 2 + i % 2);
            small_range(trace, loops, "PyTorch", "iteration", at, at + 20 * MS, NVT_START_END);
            small_range(trace, loops, "PyTorch", "data", at, at + 15 * MS, NVT_PUSH_POP);
            small_range(trace, worker, "PyTorch", "worker", at, at + 30 * MS, NVT_PUSH_POP);
            small_range(trace, worker, "PyTorch", "dataset", at, at + (dear ? 5 : 25) * MS,
                        NVT_PUSH_POP);
            small_range(trace, worker, "PyTorch", "collate", at + (dear ? 5 : 25) * MS,
                        at + 30 * MS, NVT_PUSH_POP);
            small_range(trace, worker, "mine", "dataset", at, at + 30 * MS, NVT_PUSH_POP);
        }
        small_trace_finish(trace);
        struct nvt_input_trace from = {.trace = trace};
        struct nvt_input input = {.traces = &from, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        struct nvt_findings findings = {0};
        assert_int_equal(nvt_rule_apply(&nvt_rule_input, &facts, &findings, NULL), 0);
        assert_int_equal(findings.count, 1);
        const struct nvt_finding *finding = &findings.items[0];
        const char *told =
            dear ? "takes 25.0 ms to collate and 5.00 ms in the dataset (__getitem__)"
                 : "takes 5.00 ms to collate and 25.0 ms in the dataset (__getitem__)";
        if (!strstr(finding->evidence, told))
            fail_msg("%s", finding->evidence);
        assert_int_equal(strstr(finding->remedy, "collate_fn=") != NULL, dear);
        free(findings.items);
        nvt_trace_free(trace);
    }
}

/* The GPU works for 3 of 5 ms in which the loop waits for a batch: 2 ms are lost. */
static void waits_count_while_the_device_is_idle(void **state)
{
    (void)state;
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        struct maker maker = make_begin();
        for (int i = 0; i < 20; i++) {
            const int64_t start = maker.now;
            make_launch(&maker, "gemm", (is_busy ? 6 : 3) * MS);
            const int64_t asked = maker.now;
            maker.now += 5 * MS;
            make_range(&maker, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                       asked);
            make_wait(&maker);
            make_range(&maker, "iteration", start);
        }
        if (is_busy) {
            kit_find_nothing(&maker, &nvt_rule_input);
            continue;
        }
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_input);
        assert_int_equal(findings.count, 1);
        assert_true(fabs(findings.items[0].cost_ns - 2 * MS) < 1);
        assert_non_null(strstr(findings.items[0].what, "40 % of its time waiting"));
        free(findings.items);
    }
}

/* 20 iterations of 100 us of each thread: side by side they are one, one thread's behind the other's are not. */
static void threads_enter_iterations_side_by_side(void **state)
{
    (void)state;
    static const struct {
        int threads;
        int64_t later; /* that each begins after the one before it */
        double units, span_ns;
    } cases[] = {{1, 0, 10, 1e6}, {4, 0, 10, 1e6}, {2, 2000000, 20, 2e6}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        for (int k = 0; k < cases[i].threads; k++) {
            maker.thread = nvt_trace_thread(maker.trace, maker.process, 100 + k);
            maker.now = k * cases[i].later;
            for (int n = 0; n < 20; n++) {
                const int64_t start = maker.now;
                maker.now += 100000;
                make_range(&maker, "iteration", start);
            }
        }
        struct nvt_trace *trace = make_end(&maker);
        struct nvt_view view = {.trace = trace, .process = NVT_NONE};
        uint32_t *rows = nvt_iterations(trace, &view.iteration_count);
        view.iterations = rows;
        nvt_view_steady_part(&view);
        if (fabs(view.units - cases[i].units) > 0 || fabs(view.span_ns - cases[i].span_ns) > 0)
            fail_msg("case %zu: %g of %g ns", i, view.units, view.span_ns);
        free(rows);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_enter_iterations_side_by_side),
        cmocka_unit_test(waits_count_while_the_device_is_idle),
        cmocka_unit_test(what_lies_behind_a_loop_is_none_of_it),
        cmocka_unit_test(the_host_is_where_it_is_most_of_the_time),
        cmocka_unit_test(the_host_is_in_a_call_of_the_system),
        cmocka_unit_test(what_the_host_is_in_fits),
        cmocka_unit_test(the_dearer_half_of_a_batch_is_told),
        cmocka_unit_test(only_first_calls_are_cold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
