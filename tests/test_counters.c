/*
 * NVTX's counters: recorded in every form that NVTX has for them, read back, and what reports say of them.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/also_recorded.h"
#include "../analyze/readers/compensate.h"
#include "../analyze/model/counters.h"
#include "../analyze/readers/reader.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"
#include "random_kit.h"

/* --- recorded --- */

static struct nvt_trace *read_trace(const char *name)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, name), &err);
    if (!trace)
        fail_msg("%s", err.message);
    return trace;
}

/* The client's trace, recorded once. */
static int record(void **state)
{
    if (cli_folder_set_up(state))
        return -1;
    const char *argv[] = {
        "nvtally", "record", "-o", cli_in(cli_folder, "t.nvt"), "--", cli_client("counters"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return 0;
}

/* A counter's course, by name. */
static const struct nvt_counter_course *course_of(const struct nvt_trace *trace,
                                                  const struct nvt_counter_courses *courses,
                                                  const char *name)
{
    for (uint32_t i = 0; i < courses->count; i++)
        if (!strcmp(nvt_name(trace, trace->counters.name[i]), name))
            return &courses->items[i];
    fail_msg("there is no counter %s", name);
    return NULL;
}

static void expect_values(const struct nvt_counter_course *course, const double *values,
                          uint32_t count)
{
    assert_int_equal(course->count, count);
    for (uint32_t i = 0; i < count; i++)
        if (course->value[i] != values[i])
            fail_msg("value %u is %.17g, not %.17g", i, course->value[i], values[i]);
}

static void samples_have_their_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *unit, *domain;
        enum nvt_counter_values values;
        uint32_t count;
        double value[6];
    } expected[] = {
        /* The last two: as before, and none; NaN and "unavailable" are no values. */
        {"loss", "", "training", NVT_COUNTER_ABSOLUTE, 6, {4, 3, 2, 1, 1, 0}},
        {"waited", "s", "training", NVT_COUNTER_ABSOLUTE, 4, {0, 0.5, 1, 1.5}},
        {"fixed", "", "training", NVT_COUNTER_ABSOLUTE, 4, {100, 101, 102, 103}},
        {"elsewhere", "", "", NVT_COUNTER_ABSOLUTE, 1, {5}},
        {"traffic.sent", "bytes", "training", NVT_COUNTER_DELTA, 4, {10, 5, 10, 5}},
        {"traffic.share", "", "training", NVT_COUNTER_ABSOLUTE, 4, {1, -1, 1, -1}},
        {"traffic.queues[0]", "", "training", NVT_COUNTER_ABSOLUTE, 4, {1, 3, 1, 3}},
        {"traffic.queues[1]", "", "training", NVT_COUNTER_ABSOLUTE, 4, {2, 4, 2, 4}},
        {"ticks", "", "training", NVT_COUNTER_ABSOLUTE, 3, {1, 2, 3}},
        {"mono", "", "training", NVT_COUNTER_ABSOLUTE, 3, {1, 2, 3}},
        {"real", "", "training", NVT_COUNTER_ABSOLUTE, 3, {1, 2, 3}},
    };
    struct nvt_trace *trace = read_trace("t.nvt");
    struct nvt_counter_courses courses;
    assert_int_equal(nvt_counter_courses(trace, &courses), 0);
    assert_int_equal(courses.count, NVT_COUNT_OF(expected));
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++) {
        const struct nvt_counter_course *course = course_of(trace, &courses, expected[i].name);
        const struct nvt_counters *counters = &trace->counters;
        uint32_t row = course->counter;
        expect_values(course, expected[i].value, expected[i].count);
        assert_string_equal(nvt_name(trace, counters->unit[row]), expected[i].unit);
        assert_string_equal(nvt_name(trace, trace->domains.name[counters->domain[row]]),
                            expected[i].domain);
        assert_int_equal(counters->values[row], expected[i].values);
        assert_string_equal(nvt_name(trace, counters->description[row]), "of the tests");
        assert_int_equal(counters->is_further[row], i >= 5 && i <= 7);
    }
    assert_int_equal(trace->marks.count, 0);
    nvt_counter_courses_free(&courses);
    nvt_trace_free(trace);
}

/* Those of batches too, which are handed over three milliseconds later. */
static void samples_lie_where_they_were_taken(void **state)
{
    (void)state;
    static const char *const names[] = {"ticks", "mono", "real"};
    struct nvt_trace *trace = read_trace("t.nvt");
    struct nvt_counter_courses courses;
    assert_int_equal(nvt_counter_courses(trace, &courses), 0);
    const struct nvt_counter_course *loss = course_of(trace, &courses, "loss");
    uint32_t step = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const char *name = nvt_name(trace, trace->ranges.name[i]);
        int64_t start = trace->ranges.start[i], end = trace->ranges.end[i];
        if (!strcmp(name, "step")) {
            assert_in_range(loss->time[step] - start, 0, end - start);
            step++;
            continue;
        }
        assert_string_equal(name, "between");
        for (int k = 0; k < 3; k++) {
            const struct nvt_counter_course *course = course_of(trace, &courses, names[k]);
            /* CLOCK_REALTIME is known from the trace's begin, where the processor may have been taken away. */
            int64_t slack = k == 2 ? 2000000 : 1000;
            for (int n = 0; n < 3; n++) {
                assert_true(course->time[n] >= start - slack);
                assert_true(course->time[n] <= end + slack);
            }
            if (k)
                assert_int_equal(course->time[2] - course->time[0], 2000);
        }
    }
    assert_int_equal(step, 4);
    nvt_counter_courses_free(&courses);
    nvt_trace_free(trace);
}

/* One was never registered, three are of an unknown clock, three have times for one; a NaN, and one from before the
 * recording. */
static void what_cannot_be_kept_is_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = read_trace("t.nvt");
    uint64_t lost = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        lost += trace->threads.dropped[i];
    assert_int_equal(lost, 7);
    assert_non_null(trace->notes);
    assert_non_null(strstr(trace->notes, "times outside of the recording are left out: 1\n"));
    assert_non_null(strstr(trace->notes, "infinite or not numbers are left out: 1\n"));
    nvt_trace_free(trace);
}

/* All that was sampled is in the file, up to the last before the end. */
static void samples_survive_a_kill(void **state)
{
    (void)state;
    const char *argv[] = {
        "nvtally", "record", "-o", cli_in(cli_folder, "k.nvt"), "--", cli_client("counters"),
        "dies",    NULL};
    struct cli_result result = cli_run(argv);
    assert_int_equal(result.signal, SIGKILL);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace("k.nvt");
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    assert_int_equal(samples->count, 20000 + 80000);
    for (uint32_t i = 0; i < samples->count; i++)
        assert_true(samples->value[i] == (i < 20000 ? i : 0));
    nvt_trace_free(trace);
}

/* Of four steps with a sample of each counter, and of what comes behind them. */
static void samples_are_those_of_the_capture(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",   "record",
                          "--capture", "step",
                          "-o",        cli_in(cli_folder, "captured.nvt"),
                          "--",        cli_client("counters"),
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace("captured.nvt");
    assert_int_equal(trace->counter_samples.count, 4 * 3);
    for (uint32_t i = 0; i < trace->counter_samples.count; i++)
        assert_true(trace->counter_samples.counter[i] < 3);
    nvt_trace_free(trace);
}

/* Who asks for nothing in particular is told that there are some, and a document has them. */
static void counters_are_pointed_to(void **state)
{
    (void)state;
    const char *stats[] = {"nvtally", "stats", cli_in(cli_folder, "t.nvt"), NULL};
    struct cli_result result = cli_run(stats);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: note: also recorded: counters\n"));
    cli_result_free(&result);
    const char *out = cli_in(cli_folder, "t.md");
    const char *report[] = {"nvtally", "report", cli_in(cli_folder, "t.nvt"), "-o", out, NULL};
    result = cli_run(report);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(out, NULL);
    assert_non_null(strstr(text, "## Counters"));
    assert_non_null(strstr(text, "| waited"));
    assert_non_null(strstr(text, "| :step"));
    free(text);
}

/* What an export of the client's trace has in it. */
static void expect_exported(const char *form, const char *const *wanted)
{
    const char *argv[] = {"nvtally", "export", "--to", form, cli_in(cli_folder, "t.nvt"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    for (; *wanted; wanted++)
        if (!strstr(result.out, *wanted))
            fail_msg("%s has no '%s'", form, *wanted);
    cli_result_free(&result);
}

/* The words for CPU counters have the word for these in them. */
static void counters_are_named_next_to_those_of_cpus(void **state)
{
    static const char expected[] = "note: also recorded: CPU counters, counters\n";
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "t.nvt"), &err);
    struct nvt_input_trace item = {.trace = trace};
    struct nvt_input input = {.traces = &item, .trace_count = 1};
    const struct nvt_range_count counts = {.start = 1, .end = 2};
    (void)state;
    assert_non_null(trace);
    assert_int_not_equal(nvt_range_count_add(trace, &counts), NVT_NONE);
    nvt_note_kinds(&input);
    assert_int_equal(input.notes.size, sizeof(expected) - 1);
    assert_memory_equal(input.notes.data, expected, sizeof(expected) - 1);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

static void samples_are_exported(void **state)
{
    (void)state;
    expect_exported("csv", (const char *const[]){",training,waited,s,1.5\n",
                                                 ",training,traffic.sent,bytes,5\n", NULL});
    /* What more was sent is shown as what was sent in all. */
    expect_exported(
        "chrome", (const char *const[]){"\"cat\":\"training\",\"name\":\"waited\",\"args\":{\"s\":"
                                        "1.5}}",
                                        "\"name\":\"traffic.sent\",\"args\":{\"bytes\":30}}",
                                        "\"name\":\"loss\",\"args\":{\"value\":4}}", NULL});
}

#ifdef HAVE_SQLITE
/* nsys's schema has no counters: there, samples are marks with their value. */
static void samples_become_marks_in_nsys_form(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "export", "--to", "sqlite", cli_in(cli_folder, "t.nvt"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace("t.sqlite");
    uint32_t found = 0;
    for (uint32_t i = 0; i < trace->marks.count; i++)
        found += !strcmp(nvt_name(trace, trace->marks.name[i]), "waited") &&
                 !strcmp(nvt_name(trace, trace->marks.payload[i]), found == 1   ? "0.5"
                                                                   : found == 3 ? "1.5"
                                                                   : found == 2 ? "1"
                                                                                : "0");
    assert_int_equal(found, 4);
    nvt_trace_free(trace);
}
#endif

/* --- made up --- */

static uint32_t add_counter(struct nvt_trace *trace, const char *name, const char *unit,
                            enum nvt_counter_values values)
{
    struct nvt_counter row = {.name = nvt_strings_add_text(trace->strings, name),
                              .unit = nvt_strings_add_text(trace->strings, unit),
                              .values = (uint8_t)values};
    return nvt_counter_add(trace, &row);
}

static void add_sample(struct nvt_trace *trace, uint32_t counter, int64_t time, double value)
{
    struct nvt_counter_sample row = {.time = time, .counter = counter, .value = value};
    assert_int_not_equal(nvt_counter_sample_add(trace, &row), NVT_NONE);
}

static void add_range(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    struct nvt_range row = {.start = start,
                            .end = end,
                            .name = nvt_strings_add_text(trace->strings, name),
                            .parent = NVT_NONE,
                            .style = NVT_PUSH_POP};
    assert_int_not_equal(nvt_range_add(trace, &row), NVT_NONE);
}

static struct nvt_trace *new_trace(void)
{
    struct nvt_trace *trace = nvt_trace_new("made up", "nvt");
    assert_non_null(trace);
    nvt_trace_thread(trace, nvt_trace_process(trace, 100), 100);
    return trace;
}

/* A report of a trace, which it finishes and frees, as CSV. */
static void expect_csv(struct nvt_trace *trace, const char *name, const char *want)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace item = {.trace = trace};
    struct nvt_input input = {.traces = &item, .trace_count = 1};
    struct nvt_tables tables = {0};
    char *text = NULL;
    size_t size;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(nvt_format_find("csv")->render(&tables, out), 0);
    fclose(out);
    assert_string_equal(text, want);
    free(text);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

/* memory: 10 from 1 s to 2 s, 40 to 5 s, then 20; sent: 5, 7, 9 more. */
static struct nvt_trace *two_counters(void)
{
    struct nvt_trace *trace = new_trace();
    uint32_t memory = add_counter(trace, "memory", "MiB", NVT_COUNTER_ABSOLUTE);
    uint32_t sent = add_counter(trace, "sent", "", NVT_COUNTER_DELTA);
    add_sample(trace, memory, 5000000000, 20);
    add_sample(trace, memory, 1000000000, 10);
    add_sample(trace, memory, 2000000000, 40);
    add_sample(trace, sent, 1000000000, 5);
    add_sample(trace, sent, 2000000000, 7);
    add_sample(trace, sent, 4000000000, 9);
    return trace;
}

static void averages_are_of_samples_and_of_time(void **state)
{
    (void)state;
    expect_csv(two_counters(), "nvtx_counters",
               "PID,Domain,Counter,Unit,Samples,First,Last,Min,Avg,Time Avg,Max,StdDev,Change,"
               "Change/s\n"
               "100,,memory,MiB,3,10,20,10,23.3333,32.5,40,15.2753,10,2.5\n"
               "100,,sent,,3,5,9,5,7,,9,2,21,5.33333\n");
}

static void changes_are_those_within_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace = two_counters();
    add_range(trace, "early", 0, 900000000);           /* before all samples */
    add_range(trace, "step", 500000000, 2500000000);   /* 10 to 40; 12 more */
    add_range(trace, "step", 3000000000, 6000000000);  /* 40 to 20; 9 more */
    add_range(trace, "quiet", 2100000000, 3900000000); /* no sample */
    expect_csv(trace, "nvtx_counter_ranges",
               "Range,Counter,Unit,Instances,Samples,Avg Change,Total Change,Change/s,Time Avg,"
               "Lowest,Highest\n"
               ":step,:memory,MiB,2,3,5,10,2,31.4286,10,40\n" /* (10 + 40 / 2 + 40 * 2) / 3.5 */
               ":step,:sent,,2,3,10.5,21,4.2,,,\n");
}

static void what_has_no_counters_says_so(void **state)
{
    (void)state;
    expect_csv(new_trace(), "nvtx_counters",
               "PID,Domain,Counter,Unit,Samples,First,Last,Min,Avg,Time Avg,Max,StdDev,Change,"
               "Change/s\n");
    expect_csv(new_trace(), "nvtx_counter_ranges",
               "Range,Counter,Unit,Instances,Samples,Avg Change,Total Change,Change/s,Time Avg,"
               "Lowest,Highest\n");
}

/* Against looking at every sample. */
static void bounds_are_those_of_all_samples(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = new_trace();
    struct nvt_counter_courses courses;
    uint32_t counter = add_counter(trace, "random", "", NVT_COUNTER_ABSOLUTE);
    kit_srand(5);
    for (int i = 0; i < 3000; i++)
        add_sample(trace, counter, i, rand() % 1000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_counter_courses(trace, &courses), 0);
    const struct nvt_counter_course *course = &courses.items[0];
    for (int round = 0; round < 2000; round++) {
        uint32_t from = (uint32_t)rand() % 3000, to = from + 1 + (uint32_t)rand() % (3000 - from);
        double low, high, lowest = INFINITY, highest = -INFINITY;
        for (uint32_t i = from; i < to; i++) {
            lowest = fmin(lowest, course->level[i]);
            highest = fmax(highest, course->level[i]);
        }
        nvt_course_bounds(course, from, to, &low, &high);
        assert_true(low == lowest && high == highest);
        assert_int_equal(nvt_course_until(course, from), from + 1);
    }
    nvt_counter_courses_free(&courses);
    nvt_trace_free(trace);
}

/* A sample costs what a mark does, the numbers of a group together one, and one of a batch nothing. */
static void samples_are_compensated_once(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = new_trace();
    struct nvt_event_cost cost = {0, 8000, NVT_COST_MARK};
    nvt_event_cost_add(trace, &cost);
    uint32_t first = add_counter(trace, "a", "", NVT_COUNTER_ABSOLUTE);
    uint32_t further = add_counter(trace, "b", "", NVT_COUNTER_ABSOLUTE);
    trace->counters.is_further[further] = 1;
    add_sample(trace, first, 1000, 1);
    add_sample(trace, further, 1000, 1);
    struct nvt_counter_sample batched = {.time = 1500, .value = 1, .flags = NVT_SAMPLE_BATCHED};
    nvt_counter_sample_add(trace, &batched);
    add_sample(trace, first, 2000, 1);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_compensate(trace, &err), 0);
    assert_int_equal(trace->counter_samples.time[0], 1000 - 4);
    assert_int_equal(trace->counter_samples.time[1], 1000 - 4);
    assert_int_equal(trace->counter_samples.time[2], 1500 - 8);
    assert_int_equal(trace->counter_samples.time[3], 2000 - 12);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_their_values),
        cmocka_unit_test(samples_lie_where_they_were_taken),
        cmocka_unit_test(what_cannot_be_kept_is_told),
        cmocka_unit_test(samples_survive_a_kill),
        cmocka_unit_test(samples_are_those_of_the_capture),
        cmocka_unit_test(counters_are_pointed_to),
        cmocka_unit_test(counters_are_named_next_to_those_of_cpus),
        cmocka_unit_test(samples_are_exported),
#ifdef HAVE_SQLITE
        cmocka_unit_test(samples_become_marks_in_nsys_form),
#endif
        cmocka_unit_test(averages_are_of_samples_and_of_time),
        cmocka_unit_test(changes_are_those_within_ranges),
        cmocka_unit_test(what_has_no_counters_says_so),
        cmocka_unit_test(bounds_are_those_of_all_samples),
        cmocka_unit_test(samples_are_compensated_once),
    };
    return cmocka_run_group_tests(tests, record, cli_folder_tear_down);
}
