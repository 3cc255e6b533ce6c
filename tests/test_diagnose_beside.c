/* What the diagnosis finds where several processes, devices or streams work beside each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/cuda_names.h"
#include "loop_kit.h"
#include "made_trace.h"

/* Each process has the same iterations, and is looked at by itself. */
static void ranks_in_one_trace_are_not_added_up(void **state)
{
    (void)state;
    for (int64_t ranks = 1; ranks <= 8; ranks *= 2) {
        struct maker maker = make_begin();
        char said[96] = "33 % of the GPU's time";
        for (int64_t i = 1; i <= ranks; i++) {
            make_process(&maker, i, (uint32_t)i - 1);
            for (int k = 0; k < 20; k++)
                loop_make(&maker, 1, k < 10 ? 1000000 : 6600000 + i);
        }
        if (ranks > 1)
            (void)snprintf(said, sizeof(said),
                           "in process %d, the costliest of the %d that have it, of %d processes",
                           (int)ranks, (int)ranks, (int)ranks);
        loop_expect_one(&maker, &nvt_rule_idle, 6600000, (const char *const[]){said, NULL});
    }
    struct maker maker = make_begin();
    make_process(&maker, 2, 1);
    loop_make(&maker, 20, MS);
    make_process(&maker, 1, 0);
    loop_make(&maker, 20, 6 * MS);
    loop_expect_one(&maker, &nvt_rule_idle, 6 * MS,
                    (const char *const[]){"in process 1, the only one of 2 processes", NULL});
}

/* Four ranks, of which each has one slow iteration: no warm-up of four. */
static void each_rank_warms_up_by_itself(void **state)
{
    (void)state;
    static const char *const remedies[] = {NULL, "the first 2 from the measurement"};
    for (int slow = 1; slow <= 2; slow++) {
        struct maker maker = make_begin();
        for (int64_t i = 1; i <= 4; i++) {
            make_process(&maker, i, (uint32_t)i - 1);
            for (int k = 0; k < 20; k++) {
                int64_t start = maker.now;
                maker.now += k < slow ? 100 * MS : 20 * MS;
                make_range(&maker, "iteration", start);
            }
        }
        struct nvt_findings findings = loop_look_with(&maker, &nvt_rule_warmup);
        assert_int_equal(findings.count, slow - 1);
        if (findings.count)
            assert_non_null(strstr(findings.items[0].remedy, remedies[slow - 1]));
        free(findings.items);
    }
}

/* 1 % of the time of each of eight is no 8 %. */
static void allocations_of_ranks_are_not_added_up(void **state)
{
    (void)state;
    for (int64_t ns = 200000; ns <= 1200000; ns += 1000000) {
        struct maker maker = make_begin();
        for (int64_t i = 1; i <= 8; i++) {
            make_process(&maker, i, (uint32_t)i - 1);
            for (int k = 0; k < 20; k++) {
                int64_t start = maker.now;
                make_call(&maker, "cudaMalloc", ns);
                maker.now = start + 20 * MS;
                make_range(&maker, "iteration", start);
            }
        }
        if (ns < MS)
            loop_expect_nothing(&maker, &nvt_rule_allocation);
        else
            loop_expect_one(&maker, &nvt_rule_allocation, (double)ns,
                            (const char *const[]){"10 calls, 1.20 ms each, 6 % of the time", NULL});
    }
}

/* A copy from or to pageable memory, on its own thread. */
static void copy(struct maker *maker, int64_t start, int64_t ns, uint64_t bytes)
{
    struct nvt_op row = {.start = start,
                         .end = start + ns,
                         .process = maker->process,
                         .device = maker->number,
                         .name = nvt_strings_add_text(maker->trace->strings, "copy"),
                         .bytes = bytes,
                         .launch = INT64_MIN,
                         .kind = NVT_OP_MEMCPY,
                         .copy_kind = NVT_COPY_HTOD,
                         .source_kind = NVT_KIND_PAGEABLE,
                         .target_kind = NVT_KIND_DEVICE,
                         .detail = NVT_NONE};
    assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
}

/* Four devices that copy for 30 % of their time each, on two streams at once. */
static void shares_are_of_all_devices(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 20; i++) {
        int64_t start = maker.now;
        for (maker.number = 0; maker.number < 4; maker.number++) {
            copy(&maker, start + 1000, 6 * MS, 1 << 26);
            copy(&maker, start + 1000, 6 * MS, 1 << 26);
        }
        maker.now += 20 * MS;
        make_range(&maker, "iteration", start);
    }
    loop_expect_one(
        &maker, &nvt_rule_pageable, 6 * MS,
        (const char *const[]){"8 copies per iteration, 6.00 ms each, 30 % of the time", NULL});
}

/* What ran on other devices before the loop does not make its share less. */
static void devices_that_were_only_touched_do_not_count(void **state)
{
    (void)state;
    for (uint32_t touched = 0; touched <= 7; touched++) {
        struct maker maker = make_begin();
        for (uint32_t device = touched; device > 0; device--) {
            maker.number = device;
            maker.device = 0;
            make_launch(&maker, "start up", 5000);
        }
        maker.number = 0;
        maker.device = 0;
        loop_make(&maker, 20, 6 * MS);
        loop_expect_one(&maker, &nvt_rule_idle, 6 * MS,
                        (const char *const[]){"30 % of the GPU's time", NULL});
    }
}

/* Two processes take turns on one device: what one leaves idle the other uses. */
static void a_shared_device_is_idle_when_nobody_uses_it(void **state)
{
    (void)state;
    for (uint32_t device = 0; device < 2; device++) {
        struct maker maker = make_begin();
        for (int64_t i = 0; i < 2; i++) {
            make_process(&maker, i + 1, device * (uint32_t)i);
            maker.now += i * 10 * MS;
            loop_make(&maker, 20, 10 * MS);
        }
        if (!device)
            loop_expect_nothing(&maker, &nvt_rule_idle);
        else
            loop_expect_one(&maker, &nvt_rule_idle, 10.0 * MS,
                            (const char *const[]){"50 % of the GPU's time", NULL});
    }
}

/* Without iterations on record rounds of memory that is taken and given back are a loop, but not where nothing is given
 * back, where there are but four rounds, where only two take long, or where all of them are in the last fifth of the trace. */
static void allocations_without_iterations_are_rounds(void **state)
{
    (void)state;
    enum { LOOP, KEPT, FOUR, TWO_LONG, LATE, CASES };
    static const int64_t before_ms[CASES] = {2600, 2600, 2600, 7500, 10000};
    for (int what = LOOP; what < CASES; what++) {
        struct maker maker = make_begin();
        make_call(&maker, "cudaGetDevice", 1000);
        maker.now += before_ms[what] * (int64_t)MS;
        for (int i = 0; i < 20; i++) {
            int64_t ns = what != TWO_LONG ? 10 * MS : i < 2 ? 900 * MS : 100000;
            make_call(&maker, "cudaMalloc", ns);
            make_call(&maker, "cudaMalloc", ns);
            make_launch(&maker, "gemm", 90 * MS);
            make_wait(&maker);
            int is_kept = what == KEPT || (what == FOUR && i % 5 != 4);
            make_call(&maker, is_kept ? "cudaMalloc" : "cudaFree", ns);
        }
        if (what == LOOP)
            loop_expect_one(&maker, &nvt_rule_allocation, 600.0 * MS,
                            (const char *const[]){"60 calls, 10.0 ms each", NULL});
        else
            loop_expect_nothing(&maker, &nvt_rule_allocation);
    }
}

/* Nine short calls and one of a second, two gaps of a second beside short ones: neither is a loop,
 * however much of the time they take. A loop of as many is one. */
static void what_is_done_once_is_no_loop(void **state)
{
    (void)state;
    for (int is_loop = 0; is_loop < 2; is_loop++) {
        struct maker maker = make_begin();
        make_call(&maker, "cudaGetDevice", 1000);
        maker.now += 1500 * (int64_t)MS;
        for (int i = 0; i < 12; i++) {
            make_call(&maker, i % 2 ? "cudaFree" : "cudaMalloc",
                      is_loop ? 80 * MS
                      : i     ? 10000
                              : 960 * MS);
            make_launch(&maker, "gemm", MS);
            make_wait(&maker);
        }
        if (is_loop)
            loop_expect_one(&maker, &nvt_rule_allocation, 960.0 * MS,
                            (const char *const[]){"12 calls, 80.0 ms each", NULL});
        else
            loop_expect_nothing(&maker, &nvt_rule_allocation);
        maker = make_begin();
        make_call(&maker, "cudaGetDevice", 1000);
        maker.now += 3000 * (int64_t)MS;
        for (int i = 0; i < 12; i++) {
            maker.now += is_loop ? 80 * MS : i == 4 || i == 8 ? 470 * MS : 200000;
            make_launch(&maker, "gemm", 5 * MS);
            make_wait(&maker);
        }
        if (is_loop)
            loop_expect_one(&maker, &nvt_rule_idle, 880.0 * MS,
                            (const char *const[]){"11 gaps in the second half", NULL});
        else
            loop_expect_nothing(&maker, &nvt_rule_idle);
        maker = make_begin();
        make_launch(&maker, "gemm", MS);
        for (int i = 0; i < 8; i++) {
            copy(&maker, (520 + 10 * i) * (int64_t)MS,
                 is_loop ? 8 * MS
                 : i     ? 10000
                         : 150 * MS,
                 1 << 20);
            maker.now = 1000 * (int64_t)MS;
        }
        maker.now = MS;
        make_call(&maker, "cudaMemcpy", 999 * MS);
        if (is_loop)
            loop_expect_one(&maker, &nvt_rule_pageable, 64.0 * MS,
                            (const char *const[]){"8.00 ms each", NULL});
        else
            loop_expect_nothing(&maker, &nvt_rule_pageable);
    }
}

/* Without iterations, however few they are: 250 ms of a second, or 240. */
static void large_copies_are_told_though_they_are_no_loop(void **state)
{
    (void)state;
    for (int is_large = 0; is_large < 2; is_large++) {
        struct maker maker = make_begin();
        make_launch(&maker, "gemm", MS);
        for (int64_t i = 0; i < 2; i++)
            copy(&maker, (10 + 200 * i) * MS, (is_large ? 130 : 115) * MS, (uint64_t)(i + 1) << 29);
        maker.now = 980 * (int64_t)MS;
        make_launch(&maker, "gemm", 20 * MS);
        if (is_large)
            loop_expect_one(&maker, &nvt_rule_pageable, 260.0 * MS,
                            (const char *const[]){
                                "2 copies in the trace, 130 ms each, 26 % of the time", NULL});
        else
            loop_expect_nothing(&maker, &nvt_rule_pageable);
    }
}

/* Kernels of 20 blocks on 100 SMs, one after the other or two at a time; and one of a collective. */
static void kernels_beside_others_are_no_small_grid(void **state)
{
    (void)state;
    for (int beside = 0; beside < 3; beside++) {
        struct maker maker = make_begin();
        make_device(&maker, 100);
        for (int i = 0; i < 40; i++) {
            maker.now = MS * (int64_t)(1 + i);
            make_launch(&maker, beside == 2 ? "ncclDevKernel_AllReduce" : "scan", 900000);
            make_grid(&maker, 20);
            maker.device = 0;
            if (beside != 1)
                continue;
            maker.now = MS * (int64_t)(1 + i);
            make_launch(&maker, "other", 900000);
            make_grid(&maker, 200);
            maker.device = 0;
        }
        if (beside)
            loop_expect_nothing(&maker, &nvt_rule_grid);
        else
            loop_expect_one(&maker, &nvt_rule_grid, 40 * 0.8 * 900000,
                            (const char *const[]){"40 launches in the trace, 900 µs each", NULL});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_one_trace_are_not_added_up),
        cmocka_unit_test(each_rank_warms_up_by_itself),
        cmocka_unit_test(allocations_of_ranks_are_not_added_up),
        cmocka_unit_test(shares_are_of_all_devices),
        cmocka_unit_test(devices_that_were_only_touched_do_not_count),
        cmocka_unit_test(a_shared_device_is_idle_when_nobody_uses_it),
        cmocka_unit_test(allocations_without_iterations_are_rounds),
        cmocka_unit_test(what_is_done_once_is_no_loop),
        cmocka_unit_test(large_copies_are_told_though_they_are_no_loop),
        cmocka_unit_test(kernels_beside_others_are_no_small_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
