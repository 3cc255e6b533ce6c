/*
 * Who calls, where stacks are on record: call sites, the reports of callers, and findings that say from where most of what they
 * count is called. Over made-up traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/called_from.h"
#include "../analyze/studies/call_sites.h"
#include "../lib/count_of.h"
#include "finding_kit.h"

#define LIBC "/lib/libc.so.6"

/* --- call sites --------------------------------------------------------------------------------- */

static void the_innermost_own_function_is_the_site(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const uint32_t start = make_function(&maker, 0, "_start", "/bin/prog"),
                   main = make_function(&maker, start, "main", "/bin/prog"),
                   step = make_function(&maker, main, "step", "/bin/prog"),
                   nap = make_function(&maker, step, "usleep", LIBC),
                   again = make_function(&maker, nap, "step", "/bin/prog"), /* a callback */
        python = make_function(&maker, nap, "train (train.py:12)", NULL),
                   other_line = make_function(&maker, nap, "train (train.py:13)", NULL),
                   thread = make_function(&maker, 0, "run (threading.py:1)", NULL),
                   driver = make_function(&maker, thread, "cuThing", "/lib/libcuda.so.1"),
                   inner = make_function(&maker, driver, "ioctl", LIBC),
                   innermost = make_function(&maker, inner, "syscall", LIBC);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_call_sites sites = {0};
    assert_int_equal(nvt_call_sites_make(&sites, trace), 0);
    assert_int_equal(nvt_call_site(&sites, 0), 0);
    assert_int_equal(nvt_call_site(&sites, start), 0);
    assert_int_equal(nvt_call_site(&sites, main), main);
    assert_int_equal(nvt_call_site(&sites, nap), step);
    assert_int_equal(nvt_call_site(&sites, again), step); /* the same function, elsewhere */
    assert_int_equal(nvt_call_site(&sites, python), python);
    assert_int_equal(nvt_call_site(&sites, other_line), other_line);
    assert_int_equal(nvt_call_site(&sites, innermost), 0);
    assert_int_equal(nvt_calling_library(&sites, innermost), driver - 1);
    assert_int_equal(nvt_calling_library(&sites, driver), thread - 1);
    assert_int_equal(nvt_calling_library(&sites, thread), thread - 1);
    nvt_call_sites_free(&sites);
    nvt_trace_free(trace);
}

/* --- reports ------------------------------------------------------------------------------------ */

static void add_call(struct maker *maker, const char *name, int64_t start, int64_t end,
                     uint32_t frame)
{
    make_os_call_row(
        maker, name, NULL,
        (struct nvt_os_call){.start = start, .end = end, .thread = maker->thread, .frame = frame});
}

/* A main with two functions, and a stack in libraries alone. */
struct stacks {
    uint32_t load, save, driver;
};

static struct stacks make_stacks(struct maker *maker)
{
    const uint32_t main = make_function(maker, 0, "main", "/bin/prog");
    const uint32_t python = make_function(maker, main, "load (data.py:3)", NULL),
                   save = make_function(maker, main, "save", "/bin/prog"),
                   driver = make_function(maker, 0, "cuThing", "/lib/libcuda.so.1");
    return (struct stacks){make_function(maker, python, "read", LIBC),
                           make_function(maker, save, "write", LIBC),
                           make_function(maker, driver, "ioctl", LIBC)};
}

static void calls_of_the_system_have_functions(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct stacks at = make_stacks(&maker);
    add_call(&maker, "read", 0, 100, at.load);
    add_call(&maker, "read", 200, 500, at.load);
    add_call(&maker, "read", 600, 601, 0);
    add_call(&maker, "write", 700, 750, at.save);
    add_call(&maker, "ioctl", 800, 820, at.driver);
    /* Of no known name, at two places. */
    add_call(&maker, "poll", 900, 907, make_function(&maker, 0, "0x1234", "/bin/prog"));
    add_call(&maker, "poll", 910, 917, make_function(&maker, 0, "0x5678", "/bin/prog"));
    struct nvt_trace *trace = make_end(&maker);
    char *out = make_report("osrt_callers", &trace, 1, NULL);
    char *functions = strstr(out, "Function,");
    assert_non_null(functions);
    assert_string_equal(
        functions,
        "Function,Module,Call,Num Calls,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
        "StdDev (ns)\n"
        "load (data.py:3),Python,read,2,400,200.0,200.0,100,300,141.4\n"
        "save,prog,write,1,50,50.0,50.0,50,50,0.0\n"
        "[libcuda.so.1],libcuda.so.1,ioctl,1,20,20.0,20.0,20,20,0.0\n"
        "[prog],prog,poll,2,14,7.0,7.0,7,7,0.0\n"
        ",,read,1,1,1.0,1.0,1,1,0.0\n");
    free(out);
    nvt_trace_free(trace);
}

static void calls_of_cuda_have_functions(void **state)
{
    char *note, *out;
    (void)state;
    struct maker maker = make_begin();
    struct stacks at = make_stacks(&maker);
    make_call(&maker, "cudaMalloc", 100);
    make_call(&maker, "cudaMalloc", 300);
    make_call(&maker, "cudaFree", 7);
    make_call(&maker, "cublasGemm", 9);
    maker.trace->apis.class[3] = NVT_API_LIBRARY;
    struct nvt_trace *trace = make_end(&maker);
    out = make_report("cuda_api_callers", &trace, 1, &note);
    assert_string_equal(note, "note: no stacks of CUDA calls in the input (nsys profile "
                              "--cudabacktrace=all --sample=process-tree; torch.profiler with "
                              "with_stack=True)\n");
    assert_non_null(strstr(out, ",,cudaMalloc,2,400,"));
    free(out);
    free(note);
    trace->apis.frame[0] = at.save;
    trace->apis.frame[1] = at.load;
    out = make_report("cuda_api_callers", &trace, 1, NULL);
    assert_string_equal(
        out, "Function,Module,Call,Num Calls,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
             "StdDev (ns)\n"
             "load (data.py:3),Python,cudaMalloc,1,300,300.0,300.0,300,300,0.0\n"
             "save,prog,cudaMalloc,1,100,100.0,100.0,100,100,0.0\n"
             ",,cudaFree,1,7,7.0,7.0,7,7,0.0\n");
    free(out);
    /* Of two traces, one row for both, whatever their strings' numbers are. */
    struct nvt_trace *both[] = {trace, trace};
    out = make_report("cuda_api_callers", both, 2, NULL);
    assert_non_null(strstr(out, "load (data.py:3),Python,cudaMalloc,2,600,"));
    free(out);
    nvt_trace_free(trace);
}

/* --- findings ----------------------------------------------------------------------------------- */

/* What findings of a rule say of a program whose calls are all made by step(). */
static const struct finding_case {
    const struct nvt_rule *rule;
    struct program program;
    const char *says;
} finding_cases[] = {
    {&nvt_rule_sync,
     {.kernels = 10, .kernel_ns = 8000, .wait_every = 2},
     "% of that time called from step (train.py:12); 0 copies"},
    {&nvt_rule_launch,
     {.kernels = 60, .kernel_ns = 4500},
     "% of the launches' time called from step (train.py:12)"},
    {&nvt_rule_loading,
     {.kernels = 3, .kernel_ns = 80000, .launch_ns = 1000000},
     "% of that time called from step (train.py:12)"},
    {&nvt_rule_allocation,
     {.kernels = 10, .kernel_ns = 80000, .allocations = 1, .allocation_ns = 50000},
     "% of the calls' time called from step (train.py:12)"},
    {&nvt_rule_pageable,
     {.kernels = 10,
      .kernel_ns = 150000,
      .copies = 1,
      .copy_ns = 100000,
      .copy_bytes = 1 << 20,
      .pageable = 1},
     "% of the copies' time called from step (train.py:12)"},
    {&nvt_rule_transfers,
     {.kernels = 10, .kernel_ns = 80000, .copies = 1, .copy_ns = 250000, .copy_bytes = 1 << 23},
     "% of the copies' time called from step (train.py:12)"},
    {&nvt_rule_copies,
     {.kernels = 10, .kernel_ns = 80000, .copies = 15, .copy_ns = 2000, .copy_bytes = 8},
     "% of that time called from step (train.py:12)"},
    {&nvt_rule_blocked,
     {.os_call = "read", .os_ns = 151000, .host_ns = 849000},
     "% of that time called from step (train.py:12)"},
};

/* Of `of` calls of each name in turn, `step` are made by step(), `other` by another one, and of the rest there is no stack. */
static void give_stacks(struct nvt_trace *trace, uint32_t of, uint32_t step, uint32_t other)
{
    struct maker maker = {.trace = trace};
    const uint32_t frames[] = {
        0, make_function(&maker, make_function(&maker, 0, "step (train.py:12)", NULL), "x", LIBC),
        make_function(&maker, make_function(&maker, 0, "other (train.py:80)", NULL), "x", LIBC)};
    uint32_t *seen = calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(*seen));
    for (uint32_t i = 0; i < trace->apis.count; i++) {
        uint32_t at = seen[trace->apis.name[i]]++ % of;
        trace->apis.frame[i] = frames[at < step ? 1 : at < step + other ? 2 : 0];
    }
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        trace->os_calls.frame[i] = frames[i % of < step ? 1 : i % of < step + other ? 2 : 0];
    free(seen);
}

/* The evidence of the only finding, which the caller frees. */
static char *evidence_of(const struct nvt_rule *rule, struct nvt_trace *trace)
{
    struct nvt_input_trace from = {.trace = trace};
    struct nvt_input input = {.traces = &from, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(rule, &facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    char *evidence = strdup(findings.items[0].evidence);
    free(findings.items);
    return evidence;
}

static void findings_say_from_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(finding_cases); i++) {
        const struct finding_case *one = &finding_cases[i];
        struct nvt_trace *trace = make_program(&one->program);
        char *without = evidence_of(one->rule, trace);
        assert_null(strstr(without, "called from"));
        give_stacks(trace, 1, 1, 0);
        char *with = evidence_of(one->rule, trace), text[200];
        snprintf(text, sizeof(text), "; 100 %s", one->says);
        if (!strstr(with, text))
            fail_msg("%s: no '%s' in '%s'", one->rule->cause, text, with);
        /* What it says beside that is the same. */
        assert_int_equal(strncmp(with, without, (size_t)(strstr(with, text) - with)), 0);
        free(with);
        free(without);
        nvt_trace_free(trace);
    }
}

static void half_of_it_is_enough(void **state)
{
    static const struct {
        uint32_t of, step, other;
        const char *says; /* NULL: nothing */
    } cases[] = {{4, 3, 1, "; 75 % of that time called from step (train.py:12)"},
                 {4, 2, 0, "; at least 50 % of that time called from step (train.py:12)"},
                 {4, 1, 1, NULL},
                 {4, 1, 0, NULL}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace =
            make_program(&(struct program){.os_call = "read", .os_ns = 151000, .host_ns = 849000});
        give_stacks(trace, cases[i].of, cases[i].step, cases[i].other);
        char *evidence = evidence_of(&nvt_rule_blocked, trace);
        if (cases[i].says ? !strstr(evidence, cases[i].says) : strstr(evidence, "called") != NULL)
            fail_msg("%zu: %s", i, evidence);
        free(evidence);
        nvt_trace_free(trace);
    }
}

/* Times of strangers: more than a sum can hold. */
static void sums_do_not_overflow(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct stacks at = make_stacks(&maker);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_called_from from = {.ns = 0};
    struct nvt_finding finding = {.cause = ""};
    trace->call_frames.count = 0; /* nothing has stacks: nothing is begun */
    assert_int_equal(nvt_called_from_begin(&from, trace), 0);
    nvt_called_from_add(&from, at.save, 1);
    assert_int_equal(nvt_called_from_tell(&from, "it", &finding), 0);
    assert_string_equal(finding.evidence, "");
    trace->call_frames.count = 7;
    assert_int_equal(nvt_call_sites_make(&from.sites, trace), 0);
    for (int i = 0; i < 5; i++)
        nvt_called_from_add(&from, at.save, 1e30);
    nvt_called_from_add(&from, 0, -5);
    nvt_called_from_add_call(&from, NVT_NONE, 0);
    assert_int_equal(nvt_called_from_tell(&from, "it", &finding), 0);
    assert_string_equal(finding.evidence, "; 100 % of it called from save (prog)");
    nvt_called_from_free(&from);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_own_function_is_the_site),
        cmocka_unit_test(calls_of_the_system_have_functions),
        cmocka_unit_test(calls_of_cuda_have_functions),
        cmocka_unit_test(findings_say_from_where),
        cmocka_unit_test(half_of_it_is_enough),
        cmocka_unit_test(sums_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
