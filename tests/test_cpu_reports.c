/*
 * Functions that samples were taken of, and reports of them, over made-up traces whose every number is worked out by hand.
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
#include "../analyze/studies/stacks.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/hot_functions.h"
#include "../lib/count_of.h"
#include "made_trace.h"
#include "random_kit.h"

#define LIBC "/usr/lib/libc.so.6"
#define BLAS "/opt/lib/libblas.so.3"
#define TOOL "/home/x/bin/tool"

/* Process 1, whose threads 0 and 1 have the numbers 1 and 2. */
static struct maker begin(void)
{
    struct maker maker = make_begin();
    assert_int_equal(nvt_trace_thread(maker.trace, maker.process, 2), 1);
    return maker;
}

static void add_range(struct maker *maker, uint32_t thread, const char *name, int64_t start,
                      int64_t end)
{
    maker->thread = thread;
    maker->now = end;
    make_range(maker, name, start);
}

/* So many samples of 1000 ns each, 1000 ns apart. */
static void add_samples(struct maker *maker, uint32_t thread, int64_t from, int count,
                        uint32_t function)
{
    for (int i = 0; i < count; i++)
        make_sample(maker, thread, from + 1000 * i, 1000, function);
}

/* --- functions ---------------------------------------------------------------------------------- */

static void functions_have_owners(void **state)
{
    static const struct {
        const char *name, *module, *shown, *shown_module;
        enum nvt_function_owner owner;
    } cases[] = {
        {"forward (model.py:117)", NULL, "forward (model.py)", "Python", NVT_OF_PYTHON},
        {"<module> (<string>:1)", NULL, "<module> (<string>)", "Python", NVT_OF_PYTHON},
        {"f(int)", NULL, "f(int)", "", NVT_OF_UNKNOWN},
        {"g (x:)", NULL, "g (x:)", "", NVT_OF_UNKNOWN},
        {":1)", NULL, ":1)", "", NVT_OF_UNKNOWN},
        {"main", TOOL, "main", "tool", NVT_OF_PROGRAM},
        {"malloc", LIBC, "malloc", "libc.so.6", NVT_OF_LIBRARY},
        {"k", "/x/lib.something", "k", "lib.something", NVT_OF_PROGRAM},
        {"k", "/x/_pickle.cpython-312-x86_64.so", "k", "_pickle.cpython-312-x86_64.so",
         NVT_OF_LIBRARY},
        {"_PyEval_EvalFrameDefault", "/usr/bin/python3.12", "_PyEval_EvalFrameDefault",
         "python3.12", NVT_OF_INTERPRETER},
        {"f", "/usr/lib/libpython3.12.so.1.0", "f", "libpython3.12.so.1.0", NVT_OF_INTERPRETER},
        {"f", "/x/pythonic", "f", "pythonic", NVT_OF_PROGRAM},
        {"clear_page", "[kernel]", "clear_page", "[kernel]", NVT_OF_SYSTEM},
        {"0x12ab", BLAS, "[libblas.so.3]", "libblas.so.3", NVT_OF_LIBRARY},
        {"0x12ax", BLAS, "0x12ax", "libblas.so.3", NVT_OF_LIBRARY},
        {"0x", BLAS, "0x", "libblas.so.3", NVT_OF_LIBRARY},
    };
    (void)state;
    struct maker maker = begin();
    struct nvt_sampled_functions functions = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        make_function(&maker, 0, cases[i].name, cases[i].module);
    struct nvt_trace *trace = make_end(&maker);
    assert_int_equal(nvt_sampled_functions_make(&functions, trace, NVT_BY_FUNCTION, &err), 0);
    for (uint32_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct nvt_sampled_function *function = &functions.items[functions.of_frame[i]];
        assert_string_equal(function->name, cases[i].shown);
        assert_string_equal(function->module, cases[i].shown_module);
        if (function->owner != cases[i].owner)
            fail_msg("%s: %d", cases[i].name, (int)function->owner);
    }
    nvt_sampled_functions_free(&functions);
    nvt_trace_free(trace);
}

/* On a stack twice, f counts once in its total; who called is the innermost of the program's own that is another one. */
static void recursion_counts_once(void **state)
{
    (void)state;
    struct maker maker = begin();
    uint32_t main = make_function(&maker, 0, "main", TOOL);
    uint32_t f = make_function(&maker, main, "f", TOOL);
    uint32_t sort = make_function(&maker, f, "qsort", LIBC);
    uint32_t again = make_function(&maker, sort, "f", TOOL);
    uint32_t copy = make_function(&maker, again, "memcpy", LIBC);
    uint32_t beside = make_function(&maker, main, "f", TOOL);
    make_sample(&maker, 0, 10, 5, copy);
    make_sample(&maker, 0, 20, 3, again);
    make_sample(&maker, 0, 30, 2, beside);
    make_sample(&maker, 0, 40, 1, 0);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_sampled_functions functions = {0};
    struct nvt_hot hot = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_sampled_functions_make(&functions, trace, NVT_BY_FUNCTION, &err), 0);
    assert_int_equal(functions.count, 5);
    assert_int_equal(nvt_hot_make(&hot, &functions, &err), 0);
    static const struct nvt_hot_function expected[] = {/* unknown, main, f, qsort, memcpy */
                                                       {1, 1, 1, 1},
                                                       {0, 10, 0, 3},
                                                       {5, 10, 2, 3},
                                                       {0, 8, 0, 2},
                                                       {5, 5, 1, 1}};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(hot.items[i].self, expected[i].self);
        assert_int_equal(hot.items[i].total, expected[i].total);
        assert_int_equal(hot.items[i].samples, expected[i].samples);
        assert_int_equal(hot.items[i].total_samples, expected[i].total_samples);
    }
    assert_int_equal(hot.all, 11);
    assert_int_equal(functions.own_caller[again - 1], main);
    assert_int_equal(functions.own_caller[copy - 1], again);
    assert_int_equal(functions.own_caller[main - 1], 0);
    uint32_t most[2];
    assert_int_equal(nvt_hot_most(&hot, most, 2), 3);
    assert_int_equal(most[0], 2);
    assert_int_equal(most[1], 4);
    nvt_hot_free(&hot);
    nvt_sampled_functions_free(&functions);
    nvt_trace_free(trace);
}

/* --- reports ------------------------------------------------------------------------------------ */

/* What a report says of one trace; note NULL: nothing to note. */
static void expect(const char *name, struct nvt_trace *trace, const char *text, const char *note)
{
    char *said = NULL;
    char *out = make_report(name, &trace, 1, note ? &said : NULL);
    assert_string_equal(out, text);
    if (note)
        assert_string_equal(said, note);
    free(out);
    free(said);
}

/* A step of main in which f multiplies for 20, allocates for 6 and works itself for 4 samples; 10 of another thread. */
static struct nvt_trace *make_step(void)
{
    struct maker maker = begin();
    uint32_t main = make_function(&maker, 0, "main", TOOL);
    uint32_t f = make_function(&maker, main, "f", TOOL);
    uint32_t gemm = make_function(&maker, f, "0x10", BLAS);
    uint32_t gemm_too = make_function(&maker, f, "0x20", BLAS);
    uint32_t malloc = make_function(&maker, f, "malloc", LIBC);
    uint32_t late = make_function(&maker, main, "malloc", LIBC);
    uint32_t read = make_function(&maker, 0, "read (data.py:7)", NULL);
    uint32_t read_on = make_function(&maker, 0, "read (data.py:9)", NULL);
    add_range(&maker, 0, "step", 0, 40000);
    add_range(&maker, 0, "multiply", 0, 20000);
    add_range(&maker, 0, "multiply", 0, 10000);
    add_range(&maker, 1, "idle", 0, 100000);
    add_samples(&maker, 0, 0, 15, gemm);
    add_samples(&maker, 0, 15000, 5, gemm_too);
    add_samples(&maker, 0, 20000, 4, malloc);
    add_samples(&maker, 0, 24000, 2, late);
    add_samples(&maker, 0, 26000, 4, f);
    add_samples(&maker, 1, 100000, 6, read);
    add_samples(&maker, 1, 106000, 4, read_on);
    maker.trace->threads.name[0] = nvt_strings_add_text(maker.trace->strings, "main thread");
    return make_end(&maker);
}

#define FUNCTIONS                                                                                  \
    "Self (%),Self Time (ns),Total (%),Total Time (ns),Samples,Function,Module,Called From,Of It " \
    "(%)\n"
#define MODULES                                                                                    \
    "Self (%),Self Time (ns),Total (%),Total Time (ns),Samples,Module,Hottest Function,Of It "     \
    "(%)\n"
#define RANGES                                                                                     \
    "NVTX Range,Instances,Total Time (ns),CPU Time (ns),CPU (%),Of All (%),Samples,Hottest "       \
    "Functions\n"
#define THREADS                                                                                    \
    "PID,TID,Thread,CPU Time (ns),Of Trace (%),Of All (%),Samples,Hottest Function,Module,Of It "  \
    "(%)\n"

static void every_report_adds_up(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_step();
    expect("cpu_functions", trace,
           FUNCTIONS "50.0,20000,50.0,20000,20,[libblas.so.3],libblas.so.3,f,100.0\n"
                     "25.0,10000,25.0,10000,10,read (data.py),Python,,\n"
                     "15.0,6000,15.0,6000,6,malloc,libc.so.6,f,66.7\n"
                     "10.0,4000,70.0,28000,4,f,tool,main,100.0\n"
                     "0.0,0,75.0,30000,0,main,tool,,\n",
           NULL);
    expect("cpu_modules", trace,
           MODULES "50.0,20000,50.0,20000,20,libblas.so.3,[libblas.so.3],100.0\n"
                   "25.0,10000,25.0,10000,10,Python,read (data.py),100.0\n"
                   "15.0,6000,15.0,6000,6,libc.so.6,malloc,100.0\n"
                   "10.0,4000,75.0,30000,4,tool,f,100.0\n",
           NULL);
    expect("nvtx_cpu_sum", trace,
           RANGES ":step,1,40000,30000,75.0,75.0,30,\"[libblas.so.3] 67 %, malloc "
                  "(libc.so.6) 20 %, f (tool) 13 %\"\n"
                  ":multiply,1,20000,20000,100.0,50.0,20,[libblas.so.3] 100 %\n"
                  "[in no range],,,10000,,25.0,10,read (data.py) 100 %\n"
                  ":idle,1,100000,0,0.0,0.0,0,\n",
           NULL);
    expect("cpu_threads", trace,
           THREADS "1,1,main thread,30000,30.0,75.0,30,[libblas.so.3],libblas.so.3,66.7\n"
                   "1,2,,10000,10.0,25.0,10,read (data.py),Python,100.0\n",
           NULL);
    nvt_trace_free(trace);
}

/* Functions of a name in a library of a name are one, wherever it lies. */
static void traces_add_up(void **state)
{
    (void)state;
    struct nvt_trace *traces[2];
    for (int i = 0; i < 2; i++) {
        struct maker maker = begin();
        uint32_t other = make_function(&maker, 0, i ? "other" : "main", TOOL);
        uint32_t read = make_function(&maker, other, "read", i ? "/lib/libc.so.6" : LIBC);
        add_range(&maker, 0, "load", 0, 100000);
        add_samples(&maker, 0, 1000, 30 + 10 * i, read);
        traces[i] = make_end(&maker);
    }
    char *out = make_report("cpu_functions", traces, 2, NULL);
    assert_string_equal(out, FUNCTIONS "100.0,70000,100.0,70000,70,read,libc.so.6,other,57.1\n"
                                       "0.0,0,57.1,40000,0,other,tool,,\n"
                                       "0.0,0,42.9,30000,0,main,tool,,\n");
    free(out);
    out = make_report("nvtx_cpu_sum", traces, 2, NULL);
    assert_string_equal(out, RANGES ":load,2,200000,70000,35.0,100.0,70,read (libc.so.6) 100 %\n");
    free(out);
    nvt_trace_free(traces[0]);
    nvt_trace_free(traces[1]);
}

static void what_is_not_known_is_said(void **state)
{
    static const char nothing[] =
        "note: no CPU samples (record --trace cpu, nsys profile --sample) in the input\n";
    (void)state;
    struct maker maker = begin();
    struct nvt_trace *trace = make_end(&maker);
    expect("cpu_functions", trace, FUNCTIONS, nothing);
    expect("cpu_modules", trace, MODULES, nothing);
    expect("nvtx_cpu_sum", trace, RANGES, nothing);
    expect("cpu_threads", trace, THREADS, nothing);
    nvt_trace_free(trace);

    /* No times, of one of the samples; and one without callers, whatever its function's are. */
    maker = begin();
    uint32_t main = make_function(&maker, 0, "main", TOOL);
    uint32_t f = make_function(&maker, main, "f", TOOL);
    make_sample(&maker, 0, 10, 1000, f);
    make_sample(&maker, 0, 20, 1000, f);
    make_sample(&maker, 0, 30, 0, f);
    make_sample(&maker, 0, 40, -5, 0);
    maker.trace->cpu_samples.flags[1] = NVT_CPU_SAMPLE_NO_CALLERS;
    trace = make_end(&maker);
    expect("cpu_functions", trace,
           FUNCTIONS "75.0,,75.0,,3,f,tool,main,100.0\n"
                     "25.0,,25.0,,1,[unknown],,,\n"
                     "0.0,,50.0,,0,main,tool,,\n",
           "note: only 4 CPU samples: shares are rough estimates\nnote: the samples have no CPU "
           "time: each counts the same, and no times are shown\nnote: 25 % of the samples have no "
           "callers: totals are lower bounds\n");
    expect("cpu_threads", trace, THREADS "1,1,,,,100.0,4,f,tool,75.0\n",
           "note: only 4 CPU samples: shares are rough estimates\nnote: the samples have no CPU "
           "time: each counts the same, and no times are shown\n");
    nvt_trace_free(trace);
}

/* Own times add up to all, whatever is left out; and rules look at it. */
static void look_at_stacks(struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace from = {.trace = trace};
    struct nvt_input input = {.traces = &from, .trace_count = 1};
    struct nvt_findings findings = {0};
    int64_t totals[2];
    for (int is_short = 0; is_short < 2; is_short++) {
        struct nvt_stacks stacks = {0};
        assert_int_equal(
            nvt_stacks_make(&stacks, trace, NVT_STACKS_CPU, is_short ? NVT_STACKS_SHORT : 0, &err),
            0);
        totals[is_short] = stacks.total;
        for (uint32_t i = 0; i < stacks.count; i++)
            assert_true(stacks.items[i].parent == NVT_NONE || stacks.items[i].parent < i);
        nvt_stacks_free(&stacks);
    }
    assert_int_equal(totals[0], totals[1]);
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, &err), 0);
    nvt_buffer_free(&input.notes);
    free(findings.items);
}

/* Stacks as deep as a reader takes them cost no more than their length. */
static void deep_stacks_take_linear_time(void **state)
{
    enum { DEEP = 200000 };
    (void)state;
    struct maker maker = begin();
    uint32_t caller = 0;
    for (int i = 0; i < DEEP; i++)
        caller = make_function(&maker, caller, i % 2 ? "odd" : "even", TOOL);
    for (int i = 0; i < 1000; i++)
        make_sample(&maker, 0, i, 10, caller - (uint32_t)i);
    struct nvt_trace *trace = make_end(&maker);
    expect("cpu_functions", trace,
           FUNCTIONS "50.0,5000,100.0,10000,500,even,tool,odd,100.0\n"
                     "50.0,5000,100.0,10000,500,odd,tool,even,100.0\n",
           NULL);
    look_at_stacks(trace);
    nvt_trace_free(trace);
}

/* A number below `count`, by a linear congruential generator. */
static uint32_t next(uint32_t *random, uint32_t count)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 16) % count;
}

/* What tables may hold: any names, any times, frames that call themselves in any way. */
static struct nvt_trace *make_anything(uint32_t seed)
{
    static const char *const names[] = {"f",
                                        "",
                                        "0x1",
                                        "main",
                                        "a::b<c>(d)",
                                        "run (x.py:1)",
                                        "run (x.py:22)",
                                        "memcpy",
                                        "operator()",
                                        " (:1)",
                                        "[libc.so.6]"};
    static const char *const modules[] = {NULL, LIBC, TOOL, "[kernel]", "/", "/usr/bin/python3"};
    static const int64_t weights[] = {0, 1, -1, 1000, INT64_MAX, INT64_MIN, 5000000};
    static const int64_t limit = INT64_MAX / 16;
    uint32_t random = seed;
    struct maker maker = begin();
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t caller = next(&random, i + 1);
        const char *name = names[next(&random, 11)];
        make_function(&maker, caller, name, modules[next(&random, 6)]);
    }
    for (uint32_t i = 0; i < 20; i++) {
        int64_t start = (int64_t)next(&random, 1000);
        const char *name = names[next(&random, 11)];
        add_range(&maker, i % 2, name, start, start + (int64_t)next(&random, 500));
    }
    for (uint32_t i = 0; i < 200; i++) {
        int64_t time = (int64_t)next(&random, 1500);
        if (!next(&random, 50))
            time = i % 2 ? limit : -limit;
        int64_t weight = weights[seed % 3 ? 3 : next(&random, 7)];
        make_sample(&maker, i % 2, time, weight, next(&random, 41));
        maker.trace->cpu_samples.flags[i] = next(&random, 9) ? 0 : NVT_CPU_SAMPLE_NO_CALLERS;
    }
    make_launch(&maker, "gemm", 100);
    return make_end(&maker);
}

/* Nothing is a reason to fall over, and shares of functions add up. */
static void anything_that_tables_hold_is_taken(void **state)
{
    static const char *const reports[] = {"cpu_functions", "cpu_modules", "nvtx_cpu_sum",
                                          "cpu_threads", "critical_path"};
    (void)state;
    for (uint32_t seed = (uint32_t)kit_seed(1), last = seed + 59; seed <= last; seed++) {
        struct nvt_trace *trace = make_anything(seed);
        for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
            struct nvt_error err = NVT_ERROR_INIT;
            struct nvt_input_trace from = {.trace = trace};
            struct nvt_input input = {.traces = &from, .trace_count = 1};
            struct nvt_tables tables = {0};
            double sum = 0;
            assert_int_equal(nvt_report_make(nvt_report_find(reports[i]), &input, &tables, &err),
                             0);
            for (size_t row = 0; i < 2 && row < nvt_table_rows(tables.items[0]); row++)
                sum += nvt_table_real(tables.items[0], row, 0);
            if (i < 2 && seed % 3 && (sum < 99.9 || sum > 100.1))
                fail_msg("%s, seed %u: %g %%", reports[i], seed, sum);
            nvt_tables_free(&tables);
            nvt_buffer_free(&input.notes);
        }
        look_at_stacks(trace);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_have_owners),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(every_report_adds_up),
        cmocka_unit_test(traces_add_up),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(deep_stacks_take_linear_time),
        cmocka_unit_test(anything_that_tables_hold_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
