/*
 * CPU counters of ranges: recorded ones lie between what the program itself read within and around each range; what
 * hardware counts, as the kernel says.
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
#include "../analyze/studies/range_counts.h"
#include "../collectors/inject/hardware.h"
#include "../lib/count_of.h"
#include "../lib/hardware_counters.h"
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
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
