/*
 * Serial parts of programs with several threads: in a program that has one, in made-up traces by all that threads are known by,
 * and what is none: one thread, threads that never work, that work ahead, and balanced ones.
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

#include "../analyze/diagnosis/serial.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "finding_kit.h"

#define MS INT64_C(1000000)

enum known { CALLS, SAMPLES, RANGES };
enum { ITERATIONS = 20, MEMBERS = 3 };

/* What one iteration of 10 ms is made of. */
struct loop {
    enum known known;
    int64_t together; /* all threads work */
    int64_t ahead;    /* or the others work beside the main thread, which does not wait for them */
    int members;      /* 0: MEMBERS */
    int every;        /* iterations in which they work, 0: 1 */
    const char *iteration, *alone; /* ranges; NULL: none */
    const char *inside;            /* a call of CUDA around the serial part, and a kernel */
    int mpi;                       /* it is a call of MPI */
    int locks;                     /* the others wait for a lock */
    int launches;                  /* it uses a GPU, for a moment */
};

static void work(struct maker *maker, const struct loop *loop, uint32_t thread, int64_t from,
                 int64_t to, uint32_t function)
{
    if (loop->known == SAMPLES)
        for (int64_t at = from + MS; at <= to; at += MS)
            make_sample(maker, thread, at, MS, function);
    if (loop->known != RANGES)
        return;
    uint32_t main = maker->thread;
    int64_t now = maker->now;
    maker->thread = thread;
    maker->now = to;
    make_range(maker, "part", from);
    maker->thread = main;
    maker->now = now;
}

static void wait_in(struct maker *maker, const struct loop *loop, const char *call, uint32_t thread,
                    int64_t from, int64_t to)
{
    if (loop->known == CALLS && to > from)
        make_os_call(maker, call, thread, from, to);
}

static void serial_part(struct maker *maker, const struct loop *loop, int64_t from, int64_t to,
                        uint32_t function)
{
    maker->now = from;
    if (loop->inside) {
        make_launch(maker, "gemm", to - from - 10000);
        make_call(maker, loop->inside, to - maker->now);
    }
    if (loop->mpi) {
        const struct nvt_mpi_call call = {
            .start = from,
            .end = to,
            .thread = maker->thread,
            .name = nvt_strings_add_text(maker->trace->strings, "MPI_Barrier"),
            .peer = NVT_MPI_NONE,
            .tag = NVT_MPI_NONE,
            .kind = NVT_MPI_COLLECTIVE};
        assert_int_not_equal(nvt_mpi_call_add(maker->trace, &call), NVT_NONE);
    }
    if (loop->known == SAMPLES)
        for (int64_t at = from + MS; at <= to; at += MS)
            make_sample(maker, maker->thread, at, MS, function);
    maker->now = to;
    if (loop->alone)
        make_range(maker, loop->alone, from);
}

/* The others of one iteration; the main thread's work beside them. */
static void iterate(struct maker *maker, const struct loop *loop, int i, const uint32_t *functions)
{
    const int64_t start = maker->now, end = start + 10 * MS;
    const int64_t parallel = loop->ahead ? loop->ahead : loop->together;
    const int members = loop->members ? loop->members : MEMBERS;
    if (loop->launches)
        make_launch(maker, "gemm", MS / 10);
    maker->now = start;
    for (int k = 0; k < members; k++) {
        uint32_t thread = nvt_trace_thread(maker->trace, maker->process, 9 + k);
        int works = i % (loop->every ? loop->every : 1) == 0;
        if (works)
            work(maker, loop, thread, start, start + parallel - 20000 * k, functions[0]);
        wait_in(maker, loop,
                loop->locks ? "pthread_mutex_lock"
                : k         ? "pthread_cond_wait"
                            : "futex",
                thread, works ? start + parallel - 20000 * k : start, end);
    }
    if (loop->together) {
        work(maker, loop, maker->thread, start, start + parallel - 100000, functions[0]);
        wait_in(maker, loop, "pthread_barrier_wait", maker->thread, start + parallel - 100000,
                start + parallel);
    }
    serial_part(maker, loop, loop->ahead ? start : start + parallel, end, functions[1]);
    if (loop->iteration)
        make_range(maker, loop->iteration, start);
}

static struct maker make_loop(const struct loop *loop)
{
    struct maker maker = make_begin();
    uint32_t functions[2] = {1, 2};
    if (loop->known == SAMPLES) {
        functions[0] = make_function(&maker, 0, "multiply", "/home/x/bin/tool");
        functions[1] = make_function(&maker, 0, "add_up", "/home/x/bin/tool");
    }
    for (int i = 0; i < ITERATIONS; i++)
        iterate(&maker, loop, i, functions);
    return maker;
}

static void expect_none(const struct loop *loop)
{
    struct maker maker = make_loop(loop);
    kit_find_nothing(&maker, &nvt_rule_serial);
}

/* --- found -------------------------------------------------------------------------------------- */

static void it_is_known_by_calls(void **state)
{
    (void)state;
    const struct loop loop = {
        .known = CALLS, .together = 6 * MS, .iteration = "iteration", .alone = "reduce"};
    struct maker maker = make_loop(&loop);
    kit_find_one(&maker, &nvt_rule_serial, 3 * MS,
                 "one of 4 threads works alone 40 % of the time in range reduce, and the others "
                 "wait",
                 "4.00 ms of 10.0 ms per iteration, the longest 4.00 ms; 3 threads wait, most in "
                 "pthread_cond_wait(); two or more threads work 60 % of the time, up to 4 at "
                 "once; spread over 4, an iteration would take 7.00 ms at best (Amdahl: T - S + "
                 "S/n)");
}

/* Threads that wait for a lock are in each other's way: work that is shared out among them waits for it as well. */
static void waits_for_a_lock_are_no_serial_part(void **state)
{
    (void)state;
    const struct loop loop = {.known = CALLS,
                              .together = 6 * MS,
                              .iteration = "iteration",
                              .alone = "reduce",
                              .locks = 1};
    expect_none(&loop);
}

static void it_is_known_by_samples(void **state)
{
    (void)state;
    const struct loop loop = {.known = SAMPLES, .together = 6 * MS, .iteration = "iteration"};
    struct maker maker = make_loop(&loop);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_serial);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what,
                        "one of 4 threads works alone 40 % of the time in range iteration, and "
                        "the others wait");
    assert_non_null(strstr(findings.items[0].evidence, "add_up (tool) 100 %"));
    free(findings.items);
    /* It is the one function, too, for which a GPU waits; that rule leaves it to this one. */
    struct loop alone = loop;
    alone.launches = 1;
    maker = make_loop(&alone);
    kit_find_nothing(&maker, &nvt_rule_busy);
    alone.every = ITERATIONS;
    alone.together = 0;
    maker = make_loop(&alone);
    findings = kit_find(&maker, &nvt_rule_busy);
    assert_int_equal(findings.count, 1);
    free(findings.items);
}

static void it_is_known_by_ranges(void **state)
{
    (void)state;
    const struct loop loop = {
        .known = RANGES, .together = 6 * MS, .iteration = "iteration", .alone = "reduce"};
    struct maker maker = make_loop(&loop);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_serial);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].what,
                           "one of 4 threads works alone 40 % of the time in range reduce"));
    assert_null(strstr(findings.items[0].evidence, "threads wait"));
    free(findings.items);
}

/* It is the main thread then, as a whole. */
static void no_iterations_are_needed(void **state)
{
    (void)state;
    const struct loop loop = {.known = CALLS, .together = 6 * MS, .alone = "reduce"};
    struct maker maker = make_loop(&loop);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_serial);
    assert_int_equal(findings.count, 1);
    if (!strstr(findings.items[0].what, "one of 4 threads works alone 41 % of the time"))
        fail_msg("%s; %s", findings.items[0].what, findings.items[0].evidence);
    assert_non_null(
        strstr(findings.items[0].evidence, "that half of the trace would take 67.0 ms"));
    free(findings.items);
}

/* --- not found ---------------------------------------------------------------------------------- */

static void balanced_programs_have_none(void **state)
{
    (void)state;
    for (enum known known = CALLS; known <= RANGES; known++) {
        expect_none(&(struct loop){
            .known = known, .together = 9 * MS, .iteration = "iteration", .alone = "reduce"});
        expect_none(&(struct loop){.known = known, .together = 9 * MS});
    }
}

static void threads_that_never_or_rarely_work_are_no_team(void **state)
{
    (void)state;
    for (enum known known = CALLS; known <= RANGES; known++) {
        expect_none(&(struct loop){
            .known = known, .every = ITERATIONS, .iteration = "iteration", .alone = "reduce"});
        expect_none(&(struct loop){.known = known,
                                   .every = 4,
                                   .together = 6 * MS,
                                   .iteration = "iteration",
                                   .alone = "reduce"});
    }
}

/* The main thread does not wait for what loads data, however many threads do, and whether they begin with it or not. */
static void threads_that_work_ahead_are_no_team(void **state)
{
    (void)state;
    for (enum known known = CALLS; known <= RANGES; known++)
        for (int members = 1; members <= MEMBERS; members++)
            for (int64_t ahead = 2 * MS; ahead <= 6 * MS; ahead += 2 * MS)
                expect_none(&(struct loop){.known = known,
                                           .ahead = ahead,
                                           .members = members,
                                           .iteration = "iteration",
                                           .alone = "step"});
}

/* They take no processor time then, and yet do not wait: samples of two each, in turns, and together now and then. */
static void threads_that_take_turns_have_none(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    uint32_t other = nvt_trace_thread(maker.trace, maker.process, 9);
    uint32_t function = make_function(&maker, 0, "multiply", "/home/x/bin/tool");
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t start = maker.now;
        for (int k = 0; k < 10; k++) {
            if (k % 5 < 3)
                make_sample(&maker, maker.thread, start + (k + 1) * MS, MS, function);
            if (k % 5 == 0 || k % 5 > 2)
                make_sample(&maker, other, start + (k + 1) * MS, MS, function);
        }
        maker.now = start + 10 * MS;
        make_range(&maker, "iteration", start);
    }
    kit_find_nothing(&maker, &nvt_rule_serial);
}

static void one_thread_has_none(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t start = maker.now;
        make_os_call(&maker, "pthread_cond_wait", maker.thread, start, start + 2 * MS);
        maker.now = start + 10 * MS;
        make_range(&maker, "iteration", start);
    }
    kit_find_nothing(&maker, &nvt_rule_serial);
}

/* Whoever waits for it is not alone. */
static void devices_and_other_ranks_work_meanwhile(void **state)
{
    (void)state;
    expect_none(&(struct loop){.known = CALLS,
                               .together = 6 * MS,
                               .iteration = "iteration",
                               .inside = "cudaDeviceSynchronize"});
    expect_none(
        &(struct loop){.known = CALLS, .together = 6 * MS, .iteration = "iteration", .mpi = 1});
}

/* What is done once is no loop: of 20 iterations, one long part. */
static void a_single_long_part_is_no_loop(void **state)
{
    (void)state;
    const struct loop loop = {
        .known = CALLS, .together = 9 * MS, .iteration = "iteration", .alone = "reduce"};
    struct maker maker = make_loop(&loop);
    int64_t start = maker.now;
    for (int k = 0; k < MEMBERS; k++)
        make_os_call(&maker, "pthread_cond_wait",
                     nvt_trace_thread(maker.trace, maker.process, 9 + k), start, start + 200 * MS);
    maker.now = start + 200 * MS;
    make_range(&maker, "iteration", start);
    kit_find_nothing(&maker, &nvt_rule_serial);
}

/* --- a program ---------------------------------------------------------------------------------- */

/* Its findings; the caller's. */
static char *diagnose(const char *trace, const char *how, const char *others)
{
    char *path = strdup(cli_in(cli_folder, "t.nvt"));
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "--trace", trace, "-o", path, "--",
                                      cli_built("tests/clients/team"), how, "40", others, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", path, NULL});
    cli_expect_status(&result, 0);
    free(path);
    char *out = result.out;
    result.out = NULL;
    cli_result_free(&result);
    return out;
}

static int has_part_of_reduce(const char *out)
{
    return strstr(out, "serial part   ") && strstr(out, "range reduce");
}

static int has_no_part(const char *out)
{
    return !strstr(out, "serial part");
}

/* A busy machine keeps threads from their processors and so makes serial parts, or hides them: one of CLI_TRIES runs has to be
 * right. The caller owns what it said. */
static char *diagnose_until(int (*is_right)(const char *out), const char *trace, const char *how,
                            const char *others)
{
    char *out = NULL;
    for (int i = 0; i < CLI_TRIES; i++) {
        free(out);
        out = diagnose(trace, how, others);
        if (is_right(out))
            return out;
    }
    cli_give_up("%s, %s, %s others, none of %d runs: %s", trace, how, others, CLI_TRIES, out);
    return out;
}

static void a_program_has_one(void **state)
{
    (void)state;
    static const char *const quiet[] = {"balanced", "idle", "single", "loader"};
    static const char *const traces[] = {"nvtx,osrt", "nvtx"};
    static const char *const others[] = {"1", "3"};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++) {
            char *out = diagnose_until(has_part_of_reduce, traces[i], "serial", others[k]);
            assert_true(i || strstr(out, "most in pthread_barrier_wait()"));
            free(out);
            for (size_t j = 0; j < NVT_COUNT_OF(quiet); j++)
                free(diagnose_until(has_no_part, traces[i], quiet[j], others[k]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_by_calls),
        cmocka_unit_test(waits_for_a_lock_are_no_serial_part),
        cmocka_unit_test(it_is_known_by_samples),
        cmocka_unit_test(it_is_known_by_ranges),
        cmocka_unit_test(no_iterations_are_needed),
        cmocka_unit_test(balanced_programs_have_none),
        cmocka_unit_test(threads_that_never_or_rarely_work_are_no_team),
        cmocka_unit_test(threads_that_work_ahead_are_no_team),
        cmocka_unit_test(threads_that_take_turns_have_none),
        cmocka_unit_test(one_thread_has_none),
        cmocka_unit_test(devices_and_other_ranks_work_meanwhile),
        cmocka_unit_test(a_single_long_part_is_no_loop),
        cmocka_unit_test(a_program_has_one),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
