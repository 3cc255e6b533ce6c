/* More threads than processors: whose they are, what helps, and what is never said then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/machine_quantities.h"
#include "finding_kit.h"

#define MS INT64_C(1000000)
enum { ITERATIONS = 20 };

static void sample(struct maker *maker, enum nvt_machine_host id, double value)
{
    struct nvt_trace *trace = maker->trace;
    const struct nvt_machine_quantity *quantity = nvt_machine_host_quantity(id);
    const struct nvt_counter counter = {
        .domain = nvt_trace_domain(trace, maker->process, NVT_MACHINE_HOST),
        .name = nvt_strings_add_text(trace->strings, quantity->name),
        .unit = nvt_strings_add_text(trace->strings, quantity->unit),
        .process = maker->process,
        .values = NVT_COUNTER_ABSOLUTE,
        .is_of_machine = 1};
    uint32_t row = nvt_counter_add(trace, &counter);
    for (int64_t at = 0; at <= maker->now; at += 10 * MS) {
        const struct nvt_counter_sample values = {
            .time = at, .counter = row, .thread = maker->thread, .value = value};
        assert_int_not_equal(nvt_counter_sample_add(trace, &values), NVT_NONE);
    }
}

/* What runs on two processors. */
struct load {
    int threads, workers; /* of the program; each takes its part of what it has */
    double own, ready;    /* processors that it has; threads of all programs */
};

/* A loop of 10 ms an iteration, in whose first part all threads work, and then one alone. */
static struct maker make_load(const struct load *load)
{
    struct maker maker = make_begin();
    const uint32_t main = maker.thread, process = maker.process;
    int count = load->threads + load->workers;
    uint32_t function = make_function(&maker, 0, "gemm", "/x/libtorch_cpu.so");
    for (int i = 0; i < ITERATIONS; i++) {
        maker.now += 10 * MS;
        make_range(&maker, "iteration", maker.now - 10 * MS);
    }
    int64_t now = maker.now;
    for (int k = 0; k < count; k++) {
        uint32_t of =
            k < load->threads ? process : nvt_trace_process(maker.trace, 100 + k - load->threads);
        uint32_t thread = k ? nvt_trace_thread(maker.trace, of, 100 + k) : main;
        int64_t part = (int64_t)(10 * load->own / count * (double)MS);
        for (int i = 0; i < ITERATIONS; i++)
            make_sample(&maker, thread, i * 10 * MS + 9 * MS, part, function);
    }
    maker.now = now;
    if (load->ready > 0) {
        sample(&maker, NVT_MACHINE_RUNNABLE, load->ready);
        sample(&maker, NVT_MACHINE_PROCESSORS, 2);
        sample(&maker, NVT_MACHINE_BUSY, 98);
    }
    return maker;
}

static void the_programs_own_threads_are_counted(void **state)
{
    (void)state;
    const struct load load = {.threads = 8, .workers = 4, .own = 1.8, .ready = 8};
    struct maker maker = make_load(&load);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_oversubscribed);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what, "8 computing threads and 4 worker "
                                                "processes on 2 cores");
    assert_string_equal(findings.items[0].evidence,
                        "8.0 threads of all programs are runnable on average, and the cores "
                        "are busy 98 % of the time; this program's threads use "
                        "1.8 of them, most of it process 1");
    assert_non_null(strstr(findings.items[0].remedy, "torch.set_num_threads()"));
    free(findings.items);
    maker = make_load(&load);
    kit_find_nothing(&maker, &nvt_rule_machine);
}

/* Others have the processors: then it is not the program that has too many threads. */
static void others_are_told_as_such(void **state)
{
    (void)state;
    const struct load load = {.threads = 2, .own = 0.5, .ready = 8};
    struct maker maker = make_load(&load);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_machine);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what,
                        "8.0 runnable threads on 2 cores: the CPU is oversubscribed");
    assert_non_null(strstr(findings.items[0].evidence, "; this program's threads used 0.5 cores"));
    free(findings.items);
    maker = make_load(&load);
    kit_find_nothing(&maker, &nvt_rule_oversubscribed);
}

static void as_many_threads_as_processors_are_none(void **state)
{
    (void)state;
    const struct load load = {.threads = 2, .own = 1.9, .ready = 2.2};
    struct maker maker = make_load(&load);
    kit_find_nothing(&maker, &nvt_rule_machine);
}

/* --- the opposite cure ------------------------------------------------------------------------------ */

/* Three others wait while the main thread works alone, as far as calls say. */
static struct maker make_serial(double ready)
{
    struct maker maker = make_begin();
    for (int i = 0; i < ITERATIONS; i++) {
        const int64_t start = maker.now;
        for (int k = 0; k < 3; k++)
            make_os_call(&maker, "pthread_cond_wait",
                         nvt_trace_thread(maker.trace, maker.process, 9 + k),
                         start + 6 * MS - 20000 * k, start + 10 * MS);
        make_os_call(&maker, "pthread_barrier_wait", maker.thread, start + 6 * MS - 100000,
                     start + 6 * MS);
        maker.now = start + 10 * MS;
        make_range(&maker, "iteration", start);
    }
    if (ready > 0) {
        sample(&maker, NVT_MACHINE_RUNNABLE, ready);
        sample(&maker, NVT_MACHINE_PROCESSORS, 2);
        sample(&maker, NVT_MACHINE_BUSY, 98);
    }
    return maker;
}

static void no_work_is_shared_out_among_too_many(void **state)
{
    (void)state;
    const double ready[] = {0, 1.5, 8};
    for (size_t i = 0; i < 3; i++) {
        struct maker maker = make_serial(ready[i]);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_serial);
        assert_int_equal(findings.count, i < 2);
        free(findings.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_own_threads_are_counted),
        cmocka_unit_test(others_are_told_as_such),
        cmocka_unit_test(as_many_threads_as_processors_are_none),
        cmocka_unit_test(no_work_is_shared_out_among_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
