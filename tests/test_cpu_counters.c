/*
 * CPU counters of ranges: recorded ones lie between what the program itself read within and around each range; reports over made-up
 * traces whose every number is worked out by hand.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/comparison/compare_counts.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/range_counts.h"
#include "../collectors/inject/hardware.h"
#include "../lib/count_of.h"
#include "../lib/hardware_counters.h"
#include "made_trace.h"
#include "random_kit.h"
#include "record_kit.h"

/* --- recorded ----------------------------------------------------------------------------------- */

/* The client's trace, and what it wrote of its ranges; owned by the caller. */
static struct nvt_trace *record(const char *how, char **truth, int status)
{
    const char *argv[] = {"nvtally",
                          "record",
                          "--trace",
                          "counters",
                          "-o",
                          recorded_path(),
                          "-f",
                          "--",
                          cli_client("counted"),
                          recorded_in("truth"),
                          how,
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    /* The recorder says where counts are missing, and only there. */
    assert_int_equal(strstr(result.err, "CPU counters are missing") != NULL,
                     how && !strncmp(how, "deny", 4));
    cli_result_free(&result);
    *truth = cli_read_file(recorded_in("truth"), NULL);
    assert_non_null(*truth);
    return recorded_trace();
}

/* The counts of the n-th range of a name by its start, -1 of what is unknown. */
static struct nvt_count_values counts_of(const struct nvt_trace *trace, const char *name,
                                         uint32_t n)
{
    struct nvt_counted_ranges counted = {.all = NULL};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_count_values values = {{0}};
    uint32_t i = 0;
    assert_int_equal(nvt_counted_ranges_make(&counted, trace, &err), 0);
    while (i < trace->ranges.count &&
           (strcmp(nvt_name(trace, trace->ranges.name[i]), name) != 0 || n-- > 0))
        i++;
    if (i == trace->ranges.count)
        fail_msg("there is no range %s", name);
    values = counted.all[i];
    nvt_counted_ranges_free(&counted);
    return values;
}

/* Those that the client knows, too. */
#define SOFTWARE NVT_COUNT_CYCLES

struct truth {
    char name[32];
    long long least[SOFTWARE], most[SOFTWARE];
};

/* The next line of the client's file; whether there was one. */
static bool next_truth(char **text, struct truth *truth)
{
    char *at = *text, *end = strchr(at, '\n');
    if (!*at || !end)
        return false;
    *end = 0;
    *text = end + 1;
    char *number = at;
    /* Names have blanks: the numbers are behind the last letter. */
    for (char *c = at; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            number = c + 1;
    snprintf(truth->name, sizeof(truth->name), "%.*s", (int)(number - at), at);
    for (int i = 0; i < 2 * SOFTWARE; i++)
        (i < SOFTWARE ? truth->least : truth->most)[i % SOFTWARE] = strtoll(number, &number, 10);
    return true;
}

static uint32_t expect_truth(const struct nvt_trace *trace, char *text)
{
    struct truth truth;
    uint32_t lines = 0, empty = 0;
    for (; next_truth(&text, &truth); lines++) {
        const struct nvt_count_values values =
            counts_of(trace, truth.name, strcmp(truth.name, "empty") ? 0 : empty++);
        for (unsigned i = 0; i < SOFTWARE; i++)
            if (values.of[i] < truth.least[i] || values.of[i] > truth.most[i])
                fail_msg("%s, count %u: %lld, not %lld to %lld", truth.name, i,
                         (long long)values.of[i], truth.least[i], truth.most[i]);
    }
    return lines;
}

static void counts_are_those_of_the_system(void **state)
{
    (void)state;
    char *text;
    struct nvt_trace *trace = record(NULL, &text, 0);
    /* all, faults, again, waits, computes, 100 empty, joins, other thread, forks, child, before the end; moves, stays with two cores */
    const uint32_t moves = strstr(text, "moves") ? 2 : 0;
    assert_int_equal(expect_truth(trace, text), 110 + moves);
    /* And what they have to be: the truth is not just zeros. */
    assert_true(counts_of(trace, "faults", 0).of[NVT_COUNT_MINOR_FAULTS] >= 300);
    assert_true(counts_of(trace, "again", 0).of[NVT_COUNT_MINOR_FAULTS] >= 300);
    assert_true(counts_of(trace, "child", 0).of[NVT_COUNT_MINOR_FAULTS] >= 300);
    assert_true(counts_of(trace, "waits", 0).of[NVT_COUNT_VOLUNTARY] >= 20);
    assert_true(counts_of(trace, "computes", 0).of[NVT_COUNT_CPU_TIME] > 0);
    /* Another thread's are not those of the range in which one waits for it. */
    assert_true(counts_of(trace, "other thread", 0).of[NVT_COUNT_MINOR_FAULTS] >= 300);
    assert_true(counts_of(trace, "joins", 0).of[NVT_COUNT_MINOR_FAULTS] < 300);
    free(text);
    nvt_trace_free(trace);
}

/* A thread that goes from core to core 20 times: the kernel's own count may be behind by one. */
static void migrations_are_counted(void **state)
{
    (void)state;
    char *text;
    struct nvt_trace *trace = record(NULL, &text, 0);
    const int64_t moves = counts_of(trace, "moves", 0).of[NVT_COUNT_MIGRATIONS],
                  stays = counts_of(trace, "stays", 0).of[NVT_COUNT_MIGRATIONS];
    const int descriptor = nvt_migrations_open();
    const int has_moved = strstr(text, "moves") != NULL;
    if (descriptor >= 0)
        close(descriptor);
    free(text);
    nvt_trace_free(trace);
    if (!has_moved) {
        print_message("one core alone\n");
        skip();
    }
    assert_in_range(stays, 0, 1);
    if (descriptor >= 0)
        assert_in_range(moves, 19, 21);
    else
        assert_in_range(moves, 0, 1);
}

static const char *payload_of(const struct nvt_trace *trace, const char *name)
{
    const uint32_t range = recorded_range(trace, name);
    return trace->ranges.flags[range] & NVT_RANGE_HAS_PAYLOAD
               ? nvt_name(trace, trace->ranges.payload[range])
               : NULL;
}

static void payloads_of_the_program_stay(void **state)
{
    (void)state;
    char *text;
    struct nvt_trace *trace = record(NULL, &text, 0);
    assert_string_equal(payload_of(trace, "carries a number"), "7");
    assert_string_equal(payload_of(trace, "carries a schema"), "{\"answer\":42}");
    assert_null(payload_of(trace, "faults"));
    assert_true(counts_of(trace, "carries a schema", 0).of[NVT_COUNT_CPU_TIME] > 0);
    /* Their marks and counters are none of the program's. */
    assert_int_equal(trace->marks.count, 0);
    assert_int_equal(trace->counters.count, 0);
    free(text);
    nvt_trace_free(trace);
}

static void a_killed_program_leaves_its_counts(void **state)
{
    (void)state;
    char *text;
    struct nvt_trace *trace = record("kill", &text, -1);
    assert_int_equal(expect_truth(trace, text), 106);
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++)
        assert_int_equal(counts_of(trace, "open", 0).of[i], -1);
    free(text);
    nvt_trace_free(trace);
}

/* What the system refuses is unknown, not zero. */
static void what_is_refused_is_unknown(void **state)
{
    (void)state;
    char *text;
    struct nvt_trace *trace = record("deny", &text, 0);
    const struct nvt_count_values values = counts_of(trace, "faults", 0);
    assert_true(values.of[NVT_COUNT_CPU_TIME] > 0);
    for (unsigned i = NVT_COUNT_MINOR_FAULTS; i < SOFTWARE; i++)
        assert_int_equal(values.of[i], -1);
    free(text);
    nvt_trace_free(trace);
    trace = record("deny-all", &text, 0);
    assert_int_equal(counts_of(trace, "faults", 0).of[NVT_COUNT_CPU_TIME], -1);
    free(text);
    nvt_trace_free(trace);
}

/* Without the level there are none. */
static void counts_are_asked_for(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("counted", recorded_in("truth"));
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->range_counts.count, 0);
    assert_int_equal(recorded_count(trace, "empty"), 100);
    nvt_trace_free(trace);
}

/* A number of what `perf stat -x,` wrote, -1: it has none. */
static double perf_number(const char *text, const char *event)
{
    const char *at = text ? strstr(text, event) : NULL;
    while (at && at > text && at[-1] != '\n')
        at--;
    return at && *at >= '0' && *at <= '9' ? strtod(at, NULL) : -1;
}

/* What ranges have is what perf counts of the whole program, but for its begin and end, and what lies between ranges. */
static void perf_counts_the_same(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",
                          "record",
                          "--trace",
                          "counters",
                          "-o",
                          recorded_path(),
                          "-f",
                          "--",
                          "perf",
                          "stat",
                          "-x,",
                          "-o",
                          recorded_in("perf"),
                          "-e",
                          "page-faults,context-switches,task-clock",
                          cli_client("counted"),
                          recorded_in("truth"),
                          NULL};
    struct cli_result result = cli_run(argv);
    char *text = cli_read_file(recorded_in("perf"), NULL);
    const double faults = perf_number(text, ",page-faults,");
    const double switches = perf_number(text, ",context-switches,");
    const double ms = perf_number(text, ",task-clock,");
    cli_result_free(&result);
    free(text);
    if (faults < 0 || switches < 0 || ms < 0) {
        print_message("perf does not run here\n");
        skip();
    }
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_range_counts *counts = &trace->range_counts;
    double sums[3] = {0, 0, 0};
    int64_t until = INT64_MIN;
    for (uint32_t i = 0; i < counts->count; i++) {
        /* Outermost ones: of a thread those that begin behind the one before. Other threads' lie within those of the first. */
        if (counts->thread[i] == counts->thread[0] && counts->start[i] < until)
            continue;
        if (counts->thread[i] == counts->thread[0])
            until = counts->end[i];
        sums[0] += (double)(counts->minor_faults[i] + counts->major_faults[i]);
        sums[1] += (double)(counts->voluntary[i] + counts->involuntary[i]);
        sums[2] += (double)counts->cpu_ns[i] / 1e6;
    }
    nvt_trace_free(trace);
    assert_true(sums[0] <= faults && sums[0] > faults - 1000 && sums[0] > 1500);
    assert_true(sums[1] <= switches && sums[1] >= 20);
    assert_true(sums[2] <= ms && sums[2] > 0);
}

/* --- hardware ----------------------------------------------------------------------------------- */

static volatile struct perf_event_mmap_page *made;
static int reads;

/* A counter of 48 bits that stands at -5. The first time the kernel changes the page meanwhile. */
static uint64_t made_pmc(uint32_t number)
{
    assert_int_equal(number, 2);
    if (!reads++) {
        made->lock += 2;
        made->offset = 1000;
    }
    return (UINT64_C(1) << 48) - 5;
}

static void pages_are_read_as_the_kernel_says(void **state)
{
    (void)state;
    static struct perf_event_mmap_page page = {
        .lock = 4, .index = 3, .offset = 10, .pmc_width = 48};
    uint64_t value = 0;
    made = &page;
    page.cap_user_rdpmc = 1;
    page.time_enabled = page.time_running = 77;
    assert_int_equal(nvt_hardware_page(&page, made_pmc, &value), 0);
    assert_int_equal(value, 995);
    assert_int_equal(reads, 2);
    page.time_running = 76; /* others had its counter meanwhile */
    assert_int_equal(nvt_hardware_page(&page, made_pmc, &value), -1);
    page.time_running = 77;
    page.index = 0; /* it does not count now */
    assert_int_equal(nvt_hardware_page(&page, made_pmc, &value), -1);
    page.index = 3;
    page.cap_user_rdpmc = 0;
    assert_int_equal(nvt_hardware_page(&page, made_pmc, &value), -1);
    assert_int_equal(reads, 3);
}

/* What is missing is named with what to change, where anything would help. */
static void reasons_are_told(void **state)
{
    (void)state;
    static const struct {
        int error, paranoid;
        const char *why;
    } cases[] = {
        {ENOENT, 2, "virtual machine"},
        {EOPNOTSUPP, 2, "virtual machine"},
        {EACCES, 4, "perf_event_paranoid=2"},
        {EACCES, 3, "perf_event_paranoid is 3"},
        {EPERM, 2, "seccomp"},
        {ENOSYS, INT_MIN, "seccomp"},
        {EMFILE, 2, "cannot tell: perf_event_open: Too many open files"},
    };
    char why[384];
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        nvt_hardware_counters_why(cases[i].error, cases[i].paranoid, why, sizeof(why));
        if (!strstr(why, cases[i].why))
            fail_msg("case %zu: %s", i, why);
    }
    /* The program's answer is the system's. */
    const char *argv[] = {"nvtally", "info", NULL};
    struct cli_result result = cli_run(argv);
    const char *line = strstr(result.out, "hardware counters");
    assert_non_null(line);
    const int is_there = nvt_hardware_counters(why, sizeof(why));
    assert_int_equal(!strncmp(line + strlen("hardware counters"), "      cycles", 12), is_there);
    cli_result_free(&result);
}

/* What the collector rests on: a mapping alone keeps the event, whose descriptor is closed. */
static void mappings_count_without_descriptors(void **state)
{
    (void)state;
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attributes),
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .exclude_kernel = 1};
    const int descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    const volatile struct perf_event_mmap_page *page =
        descriptor < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (page == MAP_FAILED) {
        print_message("perf_event_open is refused here\n");
        skip();
    }
    /* The page is brought up to date when the thread has left its core. */
    uint64_t before = page->time_running;
    for (int i = 0; i < 1000 && page->time_running <= before; i++)
        usleep(1000);
    assert_true(page->time_running > before);
    assert_int_equal(page->time_running, page->time_enabled);
    munmap((void *)page, size);
}

/* All of a group or none; more instructions than a spinning loop has in a millisecond, where there are counters. */
static void hardware_counts_where_there_is_some(void **state)
{
    (void)state;
    char *text;
    struct nvt_trace *trace = record(NULL, &text, 0);
    const struct nvt_count_values values = counts_of(trace, "computes", 0);
    free(text);
    nvt_trace_free(trace);
    if (values.of[NVT_COUNT_CYCLES] < 0) {
        print_message("no hardware counters here\n");
        skip();
    }
    assert_true(values.of[NVT_COUNT_CYCLES] > 100000);
    assert_true(values.of[NVT_COUNT_INSTRUCTIONS] > 100000);
}

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
        cmocka_unit_test(counts_are_those_of_the_system),
        cmocka_unit_test(migrations_are_counted),
        cmocka_unit_test(payloads_of_the_program_stay),
        cmocka_unit_test(a_killed_program_leaves_its_counts),
        cmocka_unit_test(what_is_refused_is_unknown),
        cmocka_unit_test(counts_are_asked_for),
        cmocka_unit_test(perf_counts_the_same),
        cmocka_unit_test(pages_are_read_as_the_kernel_says),
        cmocka_unit_test(reasons_are_told),
        cmocka_unit_test(mappings_count_without_descriptors),
        cmocka_unit_test(hardware_counts_where_there_is_some),
        cmocka_unit_test(own_counts_are_without_those_within),
        cmocka_unit_test(counts_are_shown_by_iteration),
        cmocka_unit_test(roofline_has_misses_as_bytes),
        cmocka_unit_test(changes_of_counts_are_noted),
        cmocka_unit_test(changes_are_named_where_they_are),
        cmocka_unit_test(sides_without_counts_are_noted),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
