/* Reports and comparisons of CPU counters, over traces whose every number is worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/comparison/compare_counts.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "made_trace.h"
#include "record_kit.h"

/* --- reports ------------------------------------------------------------------------------------ */

/* A range of a thread from `start` to `end`, with counts if `cpu_ns` is at least 0. */
static void add(struct maker *maker, uint32_t domain, const char *name, int64_t start, int64_t end,
                int64_t cpu_ns, uint64_t faults)
{
    maker->domain = domain;
    maker->now = end;
    make_range(maker, name, start);
    const struct nvt_range_count row = {.start = start,
                                        .end = end,
                                        .thread = maker->thread,
                                        .cpu_ns = (uint64_t)cpu_ns,
                                        .minor_faults = faults,
                                        .major_faults = UINT64_MAX,
                                        .voluntary = 2 * faults,
                                        .involuntary = 0,
                                        .cycles = 2000 * (uint64_t)cpu_ns,
                                        .instructions = 3000 * (uint64_t)cpu_ns,
                                        .cache_misses = 6 * (uint64_t)cpu_ns,
                                        .branch_misses = UINT64_MAX,
                                        .migrations = faults / 2};
    if (cpu_ns >= 0)
        assert_int_not_equal(nvt_range_count_add(maker->trace, &row), NVT_NONE);
}

static void own_counts_are_without_those_within(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_domain other = {.process = NVT_NONE,
                               .name = nvt_strings_add_text(maker.trace->strings, "other")};
    const uint32_t domain = nvt_domain_add(maker.trace, &other);
    add(&maker, 0, "outer", 0, 1000, 500, 10);
    add(&maker, domain, "inner", 100, 300, 100, 3);
    add(&maker, 0, "inner", 400, 600, 150, 4);
    add(&maker, 0, "innermost", 450, 500, 20, 1);
    /* One without counts, and two that cross: what their parents have of their own is unknown. */
    add(&maker, 0, "partly", 2000, 3000, 900, 9);
    add(&maker, 0, "lost", 2100, 2200, -1, 0);
    add(&maker, 0, "crossed", 4000, 5000, 900, 9);
    add(&maker, 0, "first", 4100, 4300, 200, 2);
    add(&maker, domain, "second", 4200, 4400, 200, 2);
    /* Recursion: once in the first table, both in the second. */
    add(&maker, 0, "recurs", 6000, 7000, 800, 8);
    add(&maker, 0, "recurs", 6100, 6900, 700, 7);
    struct nvt_trace *trace = make_end(&maker);
    char *note, *text = make_report("nvtx_cpu_counters", &trace, 1, &note);
    assert_string_equal(
        text, "Range,Instances,Total Time (ns),CPU Time (ns),CPU (%),Minor Faults,Major "
              "Faults,"
              "Vol. Switches,Invol. Switches,Migrations,IPC,LLC MPKI,Branch MPKI\n"
              ":crossed,1,1000,900,90.0,9,,18,0,4,1.50,2.00,\n"
              ":partly,1,1000,900,90.0,9,,18,0,4,1.50,2.00,\n"
              ":recurs,1,1000,800,80.0,8,,16,0,4,1.50,2.00,\n"
              ":outer,1,1000,500,50.0,10,,20,0,5,1.50,2.00,\n"
              ":first,1,200,200,100.0,2,,4,0,1,1.50,2.00,\n"
              "other:second,1,200,200,100.0,2,,4,0,1,1.50,2.00,\n"
              ":inner,1,200,150,75.0,4,,8,0,2,1.50,2.00,\n"
              "other:inner,1,200,100,50.0,3,,6,0,1,1.50,2.00,\n"
              ":innermost,1,50,20,40.0,1,,2,0,0,1.50,2.00,\n"
              "\n"
              "Range,Instances,Own Time (ns),CPU Time (ns),CPU (%),Minor Faults,Major Faults,"
              "Vol. Switches,Invol. Switches,Migrations,IPC,LLC MPKI,Branch MPKI\n"
              ":recurs,2,1000,800,80.0,8,,16,0,4,1.50,2.00,\n"
              ":outer,1,600,250,41.7,3,,6,0,2,1.50,2.00,\n"
              ":first,1,200,200,100.0,2,,4,0,1,1.50,2.00,\n"
              "other:second,1,200,200,100.0,2,,4,0,1,1.50,2.00,\n"
              ":inner,1,150,130,86.7,3,,6,0,2,1.50,2.00,\n"
              "other:inner,1,200,100,50.0,3,,6,0,1,1.50,2.00,\n"
              ":innermost,1,50,20,40.0,1,,2,0,0,1.50,2.00,\n");
    assert_string_equal(
        note, "note: nvtx_cpu_counters leaves out 1 range whose counts were not recorded\n");
    free(text);
    free(note);
    nvt_trace_free(trace);
}

/* Three iterations, of which the first faults most; two calls of one name in an iteration count as one. */
static void counts_are_shown_by_iteration(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 3; i++) {
        const int64_t from = 10000 * i, cpu = 100 * (i + 1);
        const uint64_t faults = i ? 2 : 500;
        add(&maker, 0, "iteration", from, from + 9000, 5000, faults + 1);
        add(&maker, 0, "load", from + 100, from + 2100, cpu, faults);
        add(&maker, 0, "load", from + 3000, from + 4000, 50, 1);
        if (i == 1)
            add(&maker, 0, "save", from + 5000, from + 6000, 70, 0);
    }
    add(&maker, 0, "load", 40000, 50000, 9999, 99); /* in none */
    struct nvt_trace *trace = make_end(&maker);
    char *text = make_report("nvtx_cpu_counters", &trace, 1, NULL);
    const char *table = strstr(text, "Range,Iterations");
    assert_non_null(table);
    assert_string_equal(
        table, "Range,Iterations,Med CPU (ns),Max CPU (ns),Med Minor Faults,Max Minor Faults,"
               "Med Major Faults,Max Major Faults,Med Vol. Switches,Max Vol. Switches,"
               "Med Invol. Switches,Max Invol. Switches,Med Migrations,Max Migrations,"
               "Med IPC,Med LLC MPKI\n"
               ":iteration,3,5000.0,5000,3.0,501,,,6.0,1002,0.0,0,1.0,250,1.50,2.00\n"
               ":load,3,250.0,350,3.0,501,,,6.0,1002,0.0,0,1.0,250,1.50,2.00\n"
               ":save,1,70.0,70,0.0,0,,,0.0,0,0.0,0,0.0,0,1.50,2.00\n");
    free(text);
    nvt_trace_free(trace);
}

/* 500 misses of 64 bytes in 1000 ns, where 64000 bytes are declared; and a range without counts. */
static void roofline_has_misses_as_bytes(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    add(&maker, 0, "mlp flops=1000 bytes=64000", 0, 1000, 500, 0);
    maker.trace->range_counts.cache_misses[0] = 500;
    add(&maker, 0, "other flops=1000 bytes=64000", 2000, 3000, -1, 0);
    struct nvt_trace *trace = make_end(&maker);
    char *note, *text = make_report("roofline", &trace, 1, &note);
    const char *table = strstr(text, "\n\n");
    assert_non_null(table);
    assert_string_equal(table + 2,
                        "configuration,phase,range,quantity,declared,counted,sampled,at least,at "
                        "most,by,why not,tensor pipes active (%)\n"
                        "made up,,mlp,GB/s,64.000,,,32.000,,misses of the last cache,,\n"
                        "made up,,mlp,GFLOP/s,1.000,,,,,,no counter of the host's FLOPs,\n"
                        "made up,,mlp,FLOP/byte,0.016,,,,0.031,declared FLOPs,,\n");
    assert_non_null(
        strstr(note, "note: bytes of 1 of 2 were not measured: no hardware counters of the host"));
    free(text);
    free(note);
    nvt_trace_free(trace);
}

/* --- compared ----------------------------------------------------------------------------------- */

/* `calls` ranges "work", of which each but the first two has so many faults; and "same", which has 3 each time. */
static struct nvt_trace *make_side(uint32_t calls, uint64_t faults)
{
    struct maker maker = make_begin();
    for (uint32_t i = 0; i < calls; i++) {
        add(&maker, 0, "work", 1000 * i, 1000 * i + 400, 100, i < 2 ? 5000 : faults);
        add(&maker, 0, "same", 1000 * i + 500, 1000 * i + 900, 100, 3);
    }
    return make_end(&maker);
}

/* The note of two sides, owned by the caller. */
static char *compare_counts(struct nvt_trace *a, struct nvt_trace *b)
{
    struct nvt_compared_counts counts = {.groups = {.count = 0}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer text = {0};
    struct nvt_trace *const traces[] = {a, b};
    for (size_t side = 0; side < 2; side++) {
        struct nvt_input_trace from = {.trace = traces[side]};
        struct nvt_input input = {.traces = &from, .trace_count = 1};
        assert_int_equal(nvt_compared_counts_add(&counts, side, &input, &err), 0);
    }
    assert_int_equal(nvt_compared_counts_text(&counts, 2, &text, &err), 0);
    assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
    nvt_compared_counts_free(&counts);
    nvt_trace_free(a);
    nvt_trace_free(b);
    return (char *)text.data;
}

static void changes_of_counts_are_noted(void **state)
{
    (void)state;
    static const struct {
        uint32_t calls[2];
        uint64_t faults[2];
        const char *note;
    } cases[] = {
        {{20, 20},
         {10, 800},
         ":work has 20 voluntary switches a call on side A, 1600 on side B; "
         ":work has 10 minor faults a call on side A, 800 on side B"},
        {{20, 5000}, {10, 10}, ""}, /* the first calls are no change */
        {{20, 20}, {20, 29}, ""},   /* less than half as much again */
        {{4, 20}, {1, 800}, ""},    /* too few calls */
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char *note = compare_counts(make_side(cases[i].calls[0], cases[i].faults[0]),
                                    make_side(cases[i].calls[1], cases[i].faults[1]));
        assert_string_equal(note, cases[i].note);
        free(note);
    }
}

/* 20 iterations with "alloc" and "io" in them; faults of an iteration are theirs. */
static struct nvt_trace *make_nested(uint64_t alloc, uint64_t io)
{
    struct maker maker = make_begin();
    for (int64_t i = 0; i < 20; i++) {
        add(&maker, 0, "iteration", 1000 * i, 1000 * i + 900, 300, alloc + io);
        add(&maker, 0, "alloc", 1000 * i + 100, 1000 * i + 400, 100, alloc);
        add(&maker, 0, "io", 1000 * i + 500, 1000 * i + 800, 100, io);
    }
    return make_end(&maker);
}

static void changes_are_named_where_they_are(void **state)
{
    (void)state;
    char *note = compare_counts(make_nested(10, 10), make_nested(200, 30));
    assert_string_equal(note, ":alloc has 20 voluntary switches a call on side A, 400 on side B; "
                              ":io has 20 voluntary switches a call on side A, 60 on side B; "
                              ":alloc has 10 minor faults a call on side A, 200 on side B");
    free(note);
}

static void sides_without_counts_are_noted(void **state)
{
    (void)state;
    struct nvt_compared_counts counts = {.has = {1, 0, 1}};
    struct nvt_buffer text = {0};
    assert_int_equal(nvt_compared_counts_note(&counts, 3, &text), 0);
    assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
    assert_string_equal((const char *)text.data,
                        "note: CPU counters are not compared with side B, which has none (nvtally "
                        "record --trace counters)\n");
    text.size = 0;
    counts.has[0] = counts.has[2] = 0;
    assert_int_equal(nvt_compared_counts_note(&counts, 3, &text), 0);
    assert_int_equal(text.size, 0);
    nvt_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_counts_are_without_those_within),
        cmocka_unit_test(counts_are_shown_by_iteration),
        cmocka_unit_test(roofline_has_misses_as_bytes),
        cmocka_unit_test(changes_of_counts_are_noted),
        cmocka_unit_test(changes_are_named_where_they_are),
        cmocka_unit_test(sides_without_counts_are_noted),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
