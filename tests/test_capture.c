/*
 * --capture of some of the ranges of a name: these and what is in them, whole, and next to nothing of what is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../collectors/capture_wish.h"
#include "../lib/count_of.h"
#include "random_kit.h"
#include "record_kit.h"

/* Record a client with that --capture, and what it said; events of all threads in the file. */
static struct nvt_trace *capture_of(const char *client, const char *what, const char *argument,
                                    uint64_t *events)
{
    const char *argv[] = {"nvtally", "record", "--trace",       "nvtx", "--capture",
                          what,      "-o",     recorded_path(), "--",   cli_client(client),
                          argument,  NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *said = strstr(result.err, "nvtally: ");
    while (said && !strstr(said, " events of "))
        said = strstr(said + 1, "nvtally: ");
    *events = said ? strtoull(said + strlen("nvtally: "), NULL, 10) : 0;
    assert_null(strstr(result.err, "were lost"));
    cli_result_free(&result);
    return recorded_trace();
}

static struct nvt_trace *capture(const char *what, const char *ms, uint64_t *events)
{
    return capture_of("flight", what, ms, events);
}

/* What the parent has open is no capture of a child's. */
static void a_child_begins_with_none(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture_of("life", "X", "forks_within", &events);
    assert_int_equal(recorded_count(trace, "X"), 1);
    assert_int_equal(recorded_count(trace, "parent"), 1);
    assert_int_equal(recorded_count(trace, "child"), 0);
    if (events > 10)
        fail_msg("%llu events", (unsigned long long)events);
    nvt_trace_free(trace);
}

static void counts_ranges_from_zero(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture("step@train/100-104", "1000", &events);
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t number = 100;
    for (uint32_t i = 0; i < ranges->count; i++) {
        char text[20];
        snprintf(text, sizeof(text), "%lld", (long long)number);
        if (strcmp(nvt_name(trace, ranges->name[i]), "step"))
            continue;
        assert_string_equal(nvt_name(trace, ranges->payload[i]), text);
        number++;
    }
    assert_int_equal(number, 105);
    assert_int_equal(recorded_count(trace, "forward"), 5);
    assert_int_equal(recorded_count(trace, "kernel"), 250);
    assert_int_equal(recorded_count(trace, "epoch"), 0);
    assert_int_equal(recorded_count(trace, "main"), 0);
    assert_int_equal(trace->marks.count, 5);
    /* Begun within, and ended later by another thread. */
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!strcmp(nvt_name(trace, ranges->name[i]), "request"))
            assert_false(ranges->flags[i] & NVT_RANGE_UNCLOSED);
    /* Of some 50,000 that the program made. Of each step: 2 x 52, a mark; some requests; ends of what was open. */
    if (events < 500 || events > 700)
        fail_msg("%llu events", (unsigned long long)events);
    nvt_trace_free(trace);
}

static void captures_one(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture("hundred/1", "600", &events);
    assert_int_equal(recorded_count(trace, "hundred"), 1);
    assert_int_equal(recorded_count(trace, "step"), 100);
    assert_int_equal(recorded_count(trace, "kernel"), 5000);
    assert_true(events < 11000);
    nvt_trace_free(trace);
}

/* All of them, as without numbers: between two of them nothing is written. */
static void captures_all(void **state)
{
    (void)state;
    uint64_t events;
    struct nvt_trace *trace = capture("forward", "500", &events);
    uint32_t forward = recorded_count(trace, "forward");
    assert_true(forward > 50);
    assert_int_equal(recorded_count(trace, "kernel"), forward * 50);
    assert_int_equal(recorded_count(trace, "step"), 0);
    assert_true(events <= forward * 102 + 400);
    nvt_trace_free(trace);
}

static void says_that_there_were_not_so_many(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",   "record",
                          "--trace",   "nvtx",
                          "--capture", "step@train/1000000",
                          "-o",        recorded_path(),
                          "--",        cli_client("flight"),
                          "50",        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    if (!strstr(result.err, "nothing was captured: step@train/1000000 never began"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
}

/* The command made other calls: nothing is said against it, and what no report shows is not counted. */
static void says_once_that_nothing_was_captured(void **state)
{
    (void)state;
    static const char *const captures[] = {"it/2-3", "cudaProfilerApi"};
    for (size_t i = 0; i < NVT_COUNT_OF(captures); i++) {
        char expected[4400], levels[40];
        snprintf(levels, sizeof(levels), "nvtx,osrt%s", i ? ",kernel" : "");
        const char *argv[] = {"nvtally",   "record",           "--trace", levels,
                              "--capture", captures[i],        "-o",      recorded_path(),
                              "--",        cli_client("life"), "many",    NULL};
        (void)remove(recorded_path());
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        snprintf(expected, sizeof(expected),
                 "nvtally: 0 events of 1 thread in 1 process%s, 0 OS calls: %s\n"
                 "nvtally: nothing was captured: %s never began\n%s",
                 i ? ", 0 device records" : "", recorded_path(), captures[i],
                 i ? "nvtally: the command did not use CUDA\n" : "");
        assert_string_equal(result.err, expected);
        cli_result_free(&result);
    }
    /* Of one that made none it is told as well. */
    const char *argv[] = {"nvtally", "record",        "--trace", "nvtx", "--capture", "it",
                          "-o",      recorded_path(), "--",      "true", NULL};
    struct cli_result result = cli_run(argv);
    assert_non_null(strstr(result.err, "nothing was captured: it never began"));
    assert_non_null(strstr(result.err, "no NVTX calls were recorded"));
    cli_result_free(&result);
}

/* --- the same program, as a whole and captured --------------------------------------------------------- */

/* A range or a mark of the client random. */
struct begun {
    int64_t start, end;
    long number; /* its payload, or in its name; -1: none */
    int is_mark, is_x, is_captured;
    const char *domain;
    uint32_t before_end; /* so many began before it ended, of those that are compared */
};

struct program {
    struct nvt_trace *trace;
    struct begun *items; /* by time */
    uint32_t count;
};

static int by_start(const void *left, const void *right)
{
    const struct begun *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static struct begun begun_of(const struct nvt_trace *trace, uint32_t name, uint32_t domain,
                             uint32_t payload)
{
    const char *text = nvt_name(trace, name), *number = nvt_name(trace, payload);
    struct begun begun = {.number = -1, .is_x = !strcmp(text, "X")};
    begun.domain = domain ? nvt_name(trace, trace->domains.name[domain]) : "";
    if (*number || text[0] == 'n')
        begun.number = strtol(*number ? number : text + 1, NULL, 10);
    return begun;
}

static struct program run_random(const char *capture, const char *seed, const char *threads)
{
    const char *argv[] = {"nvtally", "record",
                          "--trace", "nvtx",
                          "-o",      recorded_path(),
                          "--",      cli_client("random"),
                          seed,      threads,
                          "400",     NULL,
                          NULL,      NULL};
    for (int i = 11; capture && i >= 2; i--)
        argv[i + 2] = argv[i];
    argv[2] = capture ? "--capture" : argv[2];
    argv[3] = capture ? capture : argv[3];
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "were lost"));
    cli_result_free(&result);
    struct program program = {.trace = recorded_trace()};
    const struct nvt_ranges *ranges = &program.trace->ranges;
    const struct nvt_marks *marks = &program.trace->marks;
    program.items = calloc((size_t)ranges->count + marks->count + 1, sizeof(struct begun));
    assert_non_null(program.items);
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct begun *begun = &program.items[program.count++];
        *begun = begun_of(program.trace, ranges->name[i], ranges->domain[i], ranges->payload[i]);
        begun->start = ranges->start[i];
        begun->end = ranges->flags[i] & NVT_RANGE_UNCLOSED ? INT64_MAX : ranges->end[i];
    }
    for (uint32_t i = 0; i < marks->count; i++) {
        struct begun *begun = &program.items[program.count++];
        *begun = begun_of(program.trace, marks->name[i], marks->domain[i], marks->payload[i]);
        begun->start = begun->end = marks->time[i];
        begun->is_mark = 1;
    }
    qsort(program.items, program.count, sizeof(struct begun), by_start);
    return program;
}

/* Leave what begins within the ranges X of that domain ("*": any) that are wanted. */
static void leave_captured(struct program *program, const char *domain, long from, long to)
{
    long number = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        struct begun *x = &program->items[i];
        if (!x->is_x || x->is_mark || (*domain != '*' && strcmp(domain, x->domain)))
            continue;
        int is_wanted = number >= from && number <= to;
        number++;
        for (uint32_t k = i; is_wanted && k < program->count && program->items[k].start <= x->end;
             k++)
            program->items[k].is_captured = 1;
    }
    for (uint32_t i = 0; i < program->count; i++)
        if (program->items[i].is_captured)
            program->items[kept++] = program->items[i];
    program->count = kept;
}

/* Which events lie before each end. */
static void rank_ends(struct program *program)
{
    for (uint32_t i = 0; i < program->count; i++)
        for (uint32_t k = 0; k < program->count; k++)
            program->items[i].before_end += program->items[k].start < program->items[i].end;
}

static void free_program(struct program *program)
{
    nvt_trace_free(program->trace);
    free(program->items);
}

static void captures_what_begins_within(const char *seed, const char *threads, const char *domain,
                                        long from, long to)
{
    char capture[64];
    snprintf(capture, sizeof(capture), *domain ? "X@%s/%ld-%ld" : "X%s/%ld-%ld", domain, from, to);
    struct program whole = run_random(NULL, seed, threads);
    struct program some = run_random(capture, seed, threads);
    leave_captured(&whole, domain, from, to);
    rank_ends(&whole);
    rank_ends(&some);
    for (uint32_t i = 0; i < whole.count || i < some.count; i++) {
        const struct begun *a = &whole.items[i], *b = &some.items[i];
        if (i == whole.count || i == some.count || a->number != b->number || a->is_x != b->is_x ||
            a->is_mark != b->is_mark || strcmp(a->domain, b->domain) ||
            a->before_end != b->before_end)
            fail_msg("seed %s, %s threads, %s: %u of %u, %u: %ld@%s to %u, %ld@%s to %u", seed,
                     threads, capture, i, whole.count, some.count, i < whole.count ? a->number : -2,
                     i < whole.count ? a->domain : "", a->before_end,
                     i < some.count ? b->number : -2, i < some.count ? b->domain : "",
                     b->before_end);
    }
    free_program(&whole);
    free_program(&some);
}

static void captures_random_programs(void **state)
{
    (void)state;
    static const char *const domains[] = {"", "*", "d1"};
    const char *most = getenv("NVTALLY_TEST_SEEDS");
    for (unsigned i = 0; i < (most ? strtoul(most, NULL, 10) : 12); i++) {
        char seed[16], threads[16];
        snprintf(seed, sizeof(seed), "%u", (unsigned)kit_seed(0) + i);
        snprintf(threads, sizeof(threads), "%u", 1 + i / 3 % 4);
        long from = i % 5;
        captures_what_begins_within(seed, threads, domains[i % 3], from, from + i % 4);
    }
}

static void parses_what_is_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *range;
        uint64_t from, to;
    } right[] = {{"step", "step", 0, UINT64_MAX},
                 {"step/3", "step", 3, 3},
                 {"step@train/3-17", "step@train", 3, 17},
                 {"a/b", "a/b", 0, UINT64_MAX},
                 {"a/b/0", "a/b", 0, 0},
                 {"a/5@*", "a/5@*", 0, UINT64_MAX},
                 {"a/-5", "a/-5", 0, UINT64_MAX},
                 {"a/5-", "a/5-", 0, UINT64_MAX},
                 {"a/5-6-7", "a/5-6-7", 0, UINT64_MAX},
                 {"/5", "/5", 0, UINT64_MAX}};
    static const char *const wrong[] = {"", "@train", "@/3", "step/5-3", "step@train/1-0"};
    struct nvt_capture_wish wish;
    struct nvt_error err = NVT_ERROR_INIT;
    for (size_t i = 0; i < NVT_COUNT_OF(right); i++) {
        assert_int_equal(nvt_capture_wish_parse(right[i].text, &wish, &err), 0);
        assert_string_equal(wish.range, right[i].range);
        assert_true(wish.from == right[i].from && wish.to == right[i].to);
    }
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *argv[] = {"nvtally", "record", "--capture", wrong[i], "--", "true", NULL};
        assert_int_equal(nvt_capture_wish_parse(wrong[i], &wish, &err), -1);
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, "--capture");
        cli_result_free(&result);
    }
    const char *argv[] = {"nvtally", "record", "--capture", "cudaProfilerApi/3",
                          "--",      "true",   NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "only ranges can be selected by number");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_ranges_from_zero),
        cmocka_unit_test(captures_one),
        cmocka_unit_test(captures_all),
        cmocka_unit_test(says_that_there_were_not_so_many),
        cmocka_unit_test(says_once_that_nothing_was_captured),
        cmocka_unit_test(captures_random_programs),
        cmocka_unit_test(a_child_begins_with_none),
        cmocka_unit_test(parses_what_is_wanted),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
