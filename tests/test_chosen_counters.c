/*
 * Hardware counters that are named (record --trace counters=NAME,…): names, the system calls that they become, top-down analysis, reports
 * over made-up counts, and rates of two sides. No counter is read here: machines at hand pass none on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* In place of the system: what perf_event_open(2) is asked for. */
static long stand_in_call(long number, ...);
#define syscall stand_in_call
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "../collectors/inject/hardware.c"
#undef syscall

#include "../analyze/comparison/compare_rates.h"
#include "../collectors/counter_wish.h"
#include "../lib/count_of.h"
#include "../lib/pfm.h"
#include "../lib/topdown.h"
#include "made_trace.h"
#include "record_kit.h"

#if __has_include(<perfmon/pfmlib_perf_event.h>)
#include <perfmon/pfmlib_perf_event.h>
#define HAS_PFM 1
#else
#define HAS_PFM 0
#endif

/* --- names -------------------------------------------------------------------------------------- */

static void names_are_events_of_the_system(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t type;
        uint64_t config;
    } cases[] = {
        {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
        {"llc-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
        {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000},
        {"LLC-loads", PERF_TYPE_HW_CACHE, 2},
        {"dTLB-load-misses", PERF_TYPE_HW_CACHE, 0x10003},
        {"r01c2", PERF_TYPE_RAW, 0x1c2},
        {"rFFFFFFFFFFFFFFFF", PERF_TYPE_RAW, UINT64_MAX},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_counter_choice choice;
        struct nvt_error err = NVT_ERROR_INIT;
        assert_int_equal(nvt_counter_choose(cases[i].name, &choice, &err), 0);
        assert_string_equal(choice.name, cases[i].name);
        assert_int_equal(choice.type, cases[i].type);
        assert_true(choice.config == cases[i].config);
    }
}

static void unknown_names_are_told_with_the_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *name, *nearest; /* NULL: none is near */
    } cases[] = {
        {"cylces", "did you mean 'cycles'?"},
        {"L1-dcache-load-mises", "did you mean 'L1-dcache-load-misses'?"},
        {"no_such_counter", NULL},
        {"r", NULL},
        {"r01g", NULL},
        {"r11112222333344445", NULL},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_counter_choice choice;
        struct nvt_error err = NVT_ERROR_INIT;
        assert_int_equal(nvt_counter_choose(cases[i].name, &choice, &err), -1);
        assert_non_null(strstr(err.message, cases[i].name));
        assert_non_null(strstr(err.message, "libpfm4"));
        if (cases[i].nearest && !strstr(err.message, cases[i].nearest))
            fail_msg("%s", err.message);
    }
}

/* Which libpfm4 knows of processors other than this one when it is told to. */
static void processors_names_are_those_of_libpfm4(void **state)
{
    (void)state;
    struct nvt_counter_choice choice;
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_counter_choose("skl::UOPS_RETIRED:RETIRE_SLOTS", &choice, &err)) {
        if (!strstr(err.message, "need libpfm4 (Debian: libpfm4)"))
            fail_msg("%s", err.message);
        print_message("libpfm4 is not installed\n");
        skip();
    }
    assert_int_equal(choice.type, PERF_TYPE_RAW);
    /* Bits 16 and on: user code, and what perf_event_open(2) sets itself. */
    assert_int_equal(choice.config & 0xffff, 0x02c2);
    err = (struct nvt_error)NVT_ERROR_INIT;
    assert_int_equal(nvt_counter_choose("PERF_COUNT_SW_PAGE_FAULTS", &choice, &err), -1);
    assert_non_null(strstr(err.message, "is the kernel's"));
    err = (struct nvt_error)NVT_ERROR_INIT;
    assert_int_equal(nvt_counter_choose("PERF_COUNT_HW_CPU_CYCLE", &choice, &err), -1);
    assert_non_null(strstr(err.message, "did you mean 'PERF_COUNT_HW_CPU_CYCLES'?"));
}

/* What is declared of libpfm4 is what its header says. */
static void declarations_are_those_of_the_header(void **state)
{
    (void)state;
#if HAS_PFM
#define SAME(ours, theirs, a, b) assert_int_equal(offsetof(ours, a), offsetof(theirs, b))
    assert_int_equal(sizeof(struct nvt_pfm_argument), sizeof(pfm_perf_encode_arg_t));
    SAME(struct nvt_pfm_argument, pfm_perf_encode_arg_t, attributes, attr);
    SAME(struct nvt_pfm_argument, pfm_perf_encode_arg_t, size, size);
    assert_int_equal(sizeof(struct nvt_pfm_pmu), sizeof(pfm_pmu_info_t));
    SAME(struct nvt_pfm_pmu, pfm_pmu_info_t, name, name);
    SAME(struct nvt_pfm_pmu, pfm_pmu_info_t, first_event, first_event);
    assert_int_equal(sizeof(struct nvt_pfm_event), sizeof(pfm_event_info_t));
    SAME(struct nvt_pfm_event, pfm_event_info_t, name, name);
    SAME(struct nvt_pfm_event, pfm_event_info_t, code, code);
    assert_int_equal(PFM_OS_PERF_EVENT, 1);
    assert_int_equal(PFM_PLM3, 8);
#else
    print_message("libpfm4-dev is not installed\n");
    skip();
#endif
}

/* --- what is wished ----------------------------------------------------------------------------- */

static void wishes_have_four_places(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says; /* NULL: it is taken */
    } cases[] = {
        {"instructions", NULL},
        {"instructions", "instructions is counted already"},
        {"cache-misses", NULL},
        {"llc-misses", "llc-misses is counted already"},
        {"r1", NULL},
        {"r01", "r01 is counted already"},
        {"r2", NULL},
        {"r3", NULL},
        {"branches", NULL},
        {"ref-cycles", "ref-cycles is one too many"},
        {"cycles", NULL},
        {"", "'' is not the name of a counter"},
        {"cylces", "there is no counter 'cylces'"},
    };
    struct nvt_counter_wish wish = {.usual = 0};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        const int status = nvt_counter_wish_add(&wish, cases[i].name, strlen(cases[i].name), &err);
        assert_int_equal(status, cases[i].says ? -1 : 0);
        if (cases[i].says && !strstr(err.message, cases[i].says))
            fail_msg("%s", err.message);
    }
    assert_int_equal(wish.usual, 7); /* without branch-misses */
    assert_int_equal(wish.chosen, 4);
}

static struct perf_event_attr asked[16];
static int groups[16], descriptors_closed;
static unsigned asked_count;
static uint64_t refused; /* bit i: the i-th is */

static long stand_in_call(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    if (number == SYS_close) {
        const int descriptor = va_arg(arguments, int);
        descriptors_closed++;
        va_end(arguments);
        return close(descriptor);
    }
    assert_int_equal(number, SYS_perf_event_open);
    const struct perf_event_attr *attributes = va_arg(arguments, struct perf_event_attr *);
    assert_int_equal(va_arg(arguments, int), 0);
    assert_int_equal(va_arg(arguments, int), -1);
    asked[asked_count] = *attributes;
    groups[asked_count] = va_arg(arguments, int);
    va_end(arguments);
    /* A file of one page stands for a counter: it can be mapped, and says that it does not count. */
    const int descriptor = refused >> asked_count++ & 1 ? -1 : memfd_create("counter", MFD_CLOEXEC);
    if (descriptor >= 0)
        assert_int_equal(ftruncate(descriptor, sysconf(_SC_PAGESIZE)), 0);
    return descriptor;
}

/* One group, led by the first that can be had; no descriptor stays open; what does not count is not told. */
static void wishes_become_one_group(void **state)
{
    (void)state;
#if defined(__x86_64__)
    struct nvt_hardware hardware = {.is_tried = 0};
    uint64_t values[NVT_COUNT_COUNT] = {0}, mask = 0;
    nvt_hardware_wish = (struct nvt_hardware_wish){
        .usual = 3, .chosen = 2, .events = {{PERF_TYPE_RAW, 0x1c2}, {PERF_TYPE_HW_CACHE, 2}}};
    refused = 1; /* cycles are not to be had */
    nvt_hardware_open(&hardware);
    assert_int_equal(asked_count, 5); /* and migrations */
    assert_int_equal(asked[0].config, PERF_COUNT_HW_CPU_CYCLES);
    assert_int_equal(asked[1].config, PERF_COUNT_HW_INSTRUCTIONS);
    assert_int_equal(asked[2].type, PERF_TYPE_RAW);
    assert_int_equal(asked[2].config, 0x1c2);
    assert_int_equal(asked[3].type, PERF_TYPE_HW_CACHE);
    assert_int_equal(asked[3].config, 2);
    assert_int_equal(asked[4].type, PERF_TYPE_SOFTWARE);
    for (unsigned i = 0; i < 4; i++)
        assert_true(asked[i].exclude_kernel && asked[i].exclude_hv);
    assert_int_equal(groups[0], -1);
    assert_int_equal(groups[1], -1);
    assert_true(groups[2] >= 0 && groups[3] == groups[2]);
    assert_int_equal(descriptors_closed, 4);
    assert_null(hardware.pages[0]);
    assert_non_null(hardware.pages[1]);
    assert_null(hardware.pages[2]); /* llc-misses: not wished for */
    assert_non_null(hardware.pages[NVT_HARDWARE]);
    assert_non_null(hardware.pages[NVT_HARDWARE + 1]);
    assert_null(hardware.pages[NVT_HARDWARE + 2]);
    nvt_hardware_read(&hardware, values, &mask);
    assert_int_equal(mask, 1u << NVT_COUNT_MIGRATIONS);
    nvt_hardware_close(&hardware);
#else
    skip();
#endif
}

/* --- recorded ----------------------------------------------------------------------------------- */

static struct nvt_trace *record(const char *levels)
{
    const char *argv[] = {"nvtally",
                          "record",
                          "--trace",
                          levels,
                          "-o",
                          recorded_path(),
                          "-f",
                          "--",
                          cli_client("counted"),
                          recorded_in("truth"),
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

static void traces_name_what_was_chosen(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record("counters=cycles,L1-dcache-load-misses,r01c2,branches,process,nvtx");
    assert_string_equal(nvt_trace_meta(trace, NVT_FACT_CHOSEN),
                        "L1-dcache-load-misses,r01c2,branches");
    assert_null(nvt_trace_meta(trace, NVT_FACT_TOPDOWN));
    const struct nvt_range_counts *counts = &trace->range_counts;
    assert_true(counts->count > 100);
    /* All of a group or none; what was not named is not there. */
    for (uint32_t i = 0; i < counts->count; i++) {
        assert_true(counts->cpu_ns[i] != UINT64_MAX);
        assert_true(counts->instructions[i] == UINT64_MAX);
        assert_true(counts->chosen3[i] == UINT64_MAX);
    }
    nvt_trace_free(trace);
    trace = record("counters");
    assert_null(nvt_trace_meta(trace, NVT_FACT_CHOSEN));
    nvt_trace_free(trace);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *levels, *says;
    } cases[] = {
        {"counters=", "--trace counters: '' is not the name of a counter"},
        {"counters=cycels", "there is no counter 'cycels' (did you mean 'cycles'?)"},
        {"counters=cycles,kernl", "there is no counter 'kernl'"},
        {"counters=cycles,cycles", "cycles is counted already"},
        {"nvtx,countrs=cycles", "there is no 'countrs=cycles'"},
        {"counters=cycles,nvtx,branches", "there is no 'branches'"}, /* the list ended */
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *argv[] = {"nvtally",       "record", "--trace", cases[i].levels, "-o",
                              recorded_path(), "-f",     "--",      "true",          NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 2);
        if (!strstr(result.err, cases[i].says) ||
            strchr(result.err, '\n') != result.err + strlen(result.err) - 1)
            fail_msg("%s: %s", cases[i].levels, result.err);
        cli_result_free(&result);
    }
}

/* --- top-down analysis -------------------------------------------------------------------------- */

static void processors_have_their_sets(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        unsigned family, model;
        int is_hybrid;
        const char *set; /* NULL: none */
    } cases[] = {
        {"GenuineIntel", 6, 0x6a, 0, "intel-icelake"},
        {"GenuineIntel", 6, 0x8f, 0, "intel-sapphire-rapids"},
        {"GenuineIntel", 6, 0x55, 0, NULL}, /* Skylake */
        {"GenuineIntel", 6, 0x8f, 1, NULL},
        {"AuthenticAMD", 0x19, 0x11, 0, "amd-zen4"},
        {"AuthenticAMD", 0x19, 0x61, 0, "amd-zen4"},
        {"AuthenticAMD", 0x19, 0x01, 0, NULL}, /* Zen 3 */
        {"AuthenticAMD", 0x19, 0x21, 0, NULL},
        {"AuthenticAMD", 0x1a, 0x02, 0, "amd-zen5"},
        {"HygonGenuine", 0x19, 0x11, 0, NULL},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct nvt_topdown_set *set =
            nvt_topdown_of(cases[i].vendor, cases[i].family, cases[i].model, cases[i].is_hybrid);
        assert_int_equal(set != NULL, cases[i].set != NULL);
        if (set)
            assert_string_equal(set->name, cases[i].set);
    }
    for (unsigned i = 0; nvt_topdown_set(i); i++)
        assert_ptr_equal(nvt_topdown_named(nvt_topdown_set(i)->name), nvt_topdown_set(i));
    assert_null(nvt_topdown_named("no such set"));
}

/* Where libpfm4 knows the processor, its events have our codes. */
static void sets_are_those_of_libpfm4(void **state)
{
    (void)state;
    unsigned compared = 0;
    for (unsigned i = 0; nvt_topdown_set(i); i++)
        for (unsigned k = 0; k < NVT_CHOSEN_MOST; k++) {
            struct perf_event_attr attributes;
            char why[120] = "";
            const char *name = nvt_topdown_set(i)->events[k].pfm;
            if (!name)
                continue;
            if (nvt_pfm_encode(name, &attributes, why, sizeof(why)) != NVT_PFM_FOUND) {
                print_message("%s: %s\n", name, *why ? why : "no libpfm4");
                continue;
            }
            /* The event's number and its mask. */
            const uint64_t code = attributes.config & UINT64_C(0xf0000ffff);
            if (code != nvt_topdown_set(i)->events[k].config)
                fail_msg("%s: %llx, not %llx", name, (unsigned long long)code,
                         (unsigned long long)nvt_topdown_set(i)->events[k].config);
            compared++;
        }
    if (!compared)
        skip();
}

static void expect_parts(const struct nvt_topdown_set *set, int64_t cycles, const int64_t *counted,
                         const double *parts)
{
    struct nvt_topdown found;
    assert_int_equal(nvt_topdown(set, cycles, counted, &found), parts != NULL);
    if (!parts)
        return;
    const double all[] = {found.slots,    found.retiring, found.bad_speculation,
                          found.frontend, found.backend,  found.other};
    for (unsigned i = 0; i < NVT_COUNT_OF(all); i++)
        if (all[i] < parts[i] - 1e-9 || all[i] > parts[i] + 1e-9)
            fail_msg("part %u: %g, not %g", i, all[i], parts[i]);
}

static void slots_are_divided(void **state)
{
    (void)state;
    const struct nvt_topdown_set *intel = nvt_topdown_named("intel-icelake"),
                                 *zen4 = nvt_topdown_named("amd-zen4"),
                                 *zen5 = nvt_topdown_named("amd-zen5");
    /* Slots, front end, back end, retired; cycles do not count. */
    expect_parts(intel, -1, (const int64_t[]){1000, 100, 500, 300},
                 (const double[]){1000, 0.3, 0.1, 0.1, 0.5, 0});
    /* Counters that are not of the very same moment add up to more. */
    expect_parts(intel, -1, (const int64_t[]){1000, 300, 500, 300},
                 (const double[]){1000, 0.3, 0, 0.3, 0.5, 0});
    /* Front end, back end, dispatched, retired; the rest is the other thread's. */
    expect_parts(zen4, 1000, (const int64_t[]){600, 1200, 2400, 1800},
                 (const double[]){6000, 0.3, 0.1, 0.1, 0.2, 0.3});
    expect_parts(zen5, 1000, (const int64_t[]){800, 1600, 4000, 4000},
                 (const double[]){8000, 0.5, 0, 0.1, 0.2, 0.2});
    expect_parts(zen4, -1, (const int64_t[]){600, 1200, 2400, 1800}, NULL);
    expect_parts(zen4, 0, (const int64_t[]){0, 0, 0, 0}, NULL);
    expect_parts(intel, 1, (const int64_t[]){1000, -1, 500, 300}, NULL);
    expect_parts(intel, 1, (const int64_t[]){0, 0, 0, 0}, NULL);
}

/* --- reports ------------------------------------------------------------------------------------ */

/* A range with these counts. */
static void add(struct maker *maker, const char *name, int64_t start, int64_t end,
                uint64_t instructions, const uint64_t chosen[4])
{
    maker->now = end;
    make_range(maker, name, start);
    const struct nvt_range_count row = {.start = start,
                                        .end = end,
                                        .thread = maker->thread,
                                        .cpu_ns = (uint64_t)(end - start),
                                        .minor_faults = 0,
                                        .major_faults = UINT64_MAX,
                                        .voluntary = UINT64_MAX,
                                        .involuntary = UINT64_MAX,
                                        .cycles = 1000,
                                        .instructions = instructions,
                                        .cache_misses = UINT64_MAX,
                                        .branch_misses = UINT64_MAX,
                                        .migrations = UINT64_MAX,
                                        .chosen0 = chosen[0],
                                        .chosen1 = chosen[1],
                                        .chosen2 = chosen[2],
                                        .chosen3 = chosen[3]};
    assert_int_not_equal(nvt_range_count_add(maker->trace, &row), NVT_NONE);
}

static void chosen_counters_are_shown(void **state)
{
    (void)state;
    static const uint64_t none = UINT64_MAX;
    struct maker maker = make_begin();
    add(&maker, "work", 0, 1000, 4000, (const uint64_t[]){8, 100, none, none});
    add(&maker, "work", 2000, 3000, 4000, (const uint64_t[]){12, none, none, none});
    add(&maker, "work", 2100, 2900, 2000, (const uint64_t[]){5, 10, none, none}); /* within it */
    add(&maker, "rest", 4000, 5000, none, (const uint64_t[]){7, 70, none, none});
    nvt_trace_set_meta(maker.trace, NVT_FACT_CHOSEN, "LLC-loads,r01c2");
    struct nvt_trace *trace = make_end(&maker);
    char *text = make_report("nvtx_cpu_counters", &trace, 1, NULL);
    const char *table = strstr(text, "Range,Counter");
    assert_non_null(table);
    /* r01c2 is not known of all of `work`. */
    assert_string_equal(table, "Range,Counter,Instances,Total,Avg,\"Per 1,000 Instructions\"\n"
                               ":rest,r01c2,1,70,70.0,\n"
                               ":work,LLC-loads,2,20,10.0,2.50\n"
                               ":rest,LLC-loads,1,7,7.0,\n");
    free(text);
    nvt_trace_free(trace);
}

static void topdown_is_shown(void **state)
{
    (void)state;
    static const uint64_t none = UINT64_MAX;
    struct maker maker = make_begin();
    add(&maker, "work", 0, 1000, 4000, (const uint64_t[]){600, 1200, 2400, 1800});
    add(&maker, "work", 2000, 3000, 4000, (const uint64_t[]){0, 3600, 2400, 2400});
    add(&maker, "rest", 4000, 5000, 4000, (const uint64_t[]){600, none, none, none});
    nvt_trace_set_meta(maker.trace, NVT_FACT_CHOSEN,
                       "frontend-slots,backend-slots,dispatched-ops,retired-ops");
    nvt_trace_set_meta(maker.trace, NVT_FACT_TOPDOWN, "amd-zen4");
    struct nvt_trace *trace = make_end(&maker);
    char *text = make_report("nvtx_cpu_counters", &trace, 1, NULL);
    const char *table = strstr(text, "Range,Instances,Slots");
    assert_non_null(table);
    assert_string_equal(table,
                        "Range,Instances,Slots,Retiring (%),Bad Speculation (%),Frontend-Bound "
                        "(%),Backend-Bound (%),Other Thread (%)\n"
                        ":work,2,12000,35.0,5.0,5.0,40.0,15.0\n");
    free(text);
    nvt_trace_free(trace);
}

/* --- compared ----------------------------------------------------------------------------------- */

/* A trace of 40 calls of `work`, which has so many instructions in its 1,000 cycles, 2 % more or less, and of `same`. */
static void add_side(struct nvt_compared_rates *rates, size_t side, uint64_t instructions,
                     unsigned run)
{
    static const uint64_t none[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct maker maker = make_begin();
    struct nvt_counted_ranges counted = {.all = NULL};
    struct nvt_error err = NVT_ERROR_INIT;
    for (unsigned i = 0; i < 40; i++) {
        const uint64_t more = (i * 37 + run * 11) % 41;
        add(&maker, "work", 1000 * i, 1000 * i + 400,
            instructions + instructions * more / 1000 - instructions / 50, none);
        add(&maker, "same", 1000 * i + 500, 1000 * i + 900, 1500 + more, none);
    }
    struct nvt_trace *trace = make_end(&maker);
    assert_int_equal(nvt_counted_ranges_make(&counted, trace, &err), 0);
    assert_int_equal(nvt_compared_rates_add(rates, side, &counted), 0);
    nvt_counted_ranges_free(&counted);
    nvt_trace_free(trace);
}

/* What a text has behind a phrase, as a number. */
static double number_behind(const char *text, const char *phrase)
{
    const char *at = strstr(text, phrase);
    if (!at)
        fail_msg("'%s' is not in: %s", phrase, text);
    return strtod(at + strlen(phrase), NULL);
}

static void rates_are_compared_with_intervals(void **state)
{
    (void)state;
    for (unsigned runs = 1; runs <= 3; runs += 2) {
        struct nvt_compared_rates rates = {.items = NULL};
        struct nvt_buffer text = {0};
        for (unsigned run = 0; run < runs; run++) {
            add_side(&rates, 0, 1800, run);
            add_side(&rates, 1, 600, run + 5);
        }
        assert_int_equal(nvt_compared_rates_text(&rates, 2, &text), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        const char *line = (const char *)text.data;
        /* 0.6 of 1.8: a third, and the interval holds it. */
        const double a = number_behind(line, ":work has "),
                     b = number_behind(line, " instructions per cycle on side A, ");
        assert_true(a > 1.75 && a < 1.85 && b > 0.58 && b < 0.62);
        const double ratio = number_behind(line, " on side B: "),
                     low = number_behind(line, " % of it ("), high = number_behind(line, " to ");
        if (low > ratio || ratio > high || low < 30 || high > 37)
            fail_msg("%s", line);
        assert_true(low <= 33.4 && high >= 33.3);
        assert_null(strstr(line, "same"));
        nvt_buffer_free(&text);
        nvt_compared_rates_free(&rates);
    }
}

static void equal_rates_are_not_told(void **state)
{
    (void)state;
    struct nvt_compared_rates rates = {.items = NULL};
    struct nvt_buffer text = {0};
    for (unsigned run = 0; run < 3; run++) {
        add_side(&rates, 0, 1800, run);
        add_side(&rates, 1, 1820, run + 5); /* 1 % */
    }
    assert_int_equal(nvt_compared_rates_text(&rates, 2, &text), 0);
    assert_int_equal(text.size, 0);
    nvt_buffer_free(&text);
    nvt_compared_rates_free(&rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_events_of_the_system),
        cmocka_unit_test(unknown_names_are_told_with_the_nearest),
        cmocka_unit_test(processors_names_are_those_of_libpfm4),
        cmocka_unit_test(declarations_are_those_of_the_header),
        cmocka_unit_test(wishes_have_four_places),
        cmocka_unit_test(wishes_become_one_group),
        cmocka_unit_test(traces_name_what_was_chosen),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(processors_have_their_sets),
        cmocka_unit_test(sets_are_those_of_libpfm4),
        cmocka_unit_test(slots_are_divided),
        cmocka_unit_test(chosen_counters_are_shown),
        cmocka_unit_test(topdown_is_shown),
        cmocka_unit_test(rates_are_compared_with_intervals),
        cmocka_unit_test(equal_rates_are_not_told),
    };
    /* Before libpfm4 is used: it knows other processors than this one, too. */
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
