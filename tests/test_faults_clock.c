/*
 * Clocks that are set while a recording runs, or that drift: nothing is lost, the trace's time goes
 * forward only, as CLOCK_MONOTONIC does, and its date is the one of the beginning. The clocks are
 * set for the recorder and its target alone (tests/faults/step_clock.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "faults_kit.h"

#define MOMENTS 300

/* `clock`: a variable of step_clock.c. */
static struct cli_result record(const char *clock, const char *client, const char *count,
                                const char *ms)
{
    char preload[600];
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", cli_built("tests/libstep-clock.so"));
    const char *environment[] = {preload, clock, NULL};
    const char *argv[] = {"nvtally", "record", "-o", faults_output(), "--", cli_client(client),
                          count,     ms,       NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 60};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 0);
    return result;
}

/* Whether the client's lines and the trace's ranges, of which there is one a line, agree within
 * `tolerance` ns, counted from the first. */
static bool times_agree(const struct nvt_trace *trace, const char *lines, int64_t tolerance)
{
    long long before, after, first_before = 0, first_after = 0;
    int64_t first = 0, last = INT64_MIN;
    uint32_t row = 0, off = 0;
    for (; sscanf(lines, "%lld %lld", &before, &after) == 2; row++) {
        assert_true(row < trace->ranges.count);
        int64_t start = trace->ranges.start[row];
        if (!row)
            first_before = before, first_after = after, first = start;
        /* Between the two readings, seen from anywhere between the first two. */
        int64_t least = before - first_after, most = after - first_before;
        if ((start - first < least - tolerance || start - first > most + tolerance) && !off++)
            print_message("range %u: %lld ns after the first, the clock says %lld to %lld\n", row,
                          (long long)(start - first), (long long)least, (long long)most);
        assert_true(start > last && trace->ranges.end[row] >= start);
        last = trace->ranges.end[row];
        lines = strchr(lines, '\n') + 1;
    }
    assert_int_equal(row, MOMENTS);
    assert_int_equal(trace->ranges.count, MOMENTS);
    return !off;
}

/* The date in the trace, in seconds since 1970. */
static int64_t date_of(const struct nvt_trace *trace)
{
    struct tm calendar = {0};
    const char *date = nvt_trace_meta(trace, "date");
    assert_non_null(date);
    const char *end = strptime(date, "%Y-%m-%dT%H:%M:%SZ", &calendar);
    assert_true(end && !*end);
    return timegm(&calendar);
}

/* What can be said of any of these traces is said. */
static void assert_readable(void)
{
    const char *const reports[] = {"nvtx_sum", "nvtx_pushpop_trace"};
    for (size_t i = 0; i < 2; i++) {
        const char *argv[] = {"nvtally", "stats", "-r", reports[i], faults_output(), NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "moment"));
        cli_result_free(&result);
    }
}

/* How the date is set. */
struct step {
    const char *fault, *clock;
    int64_t offset; /* of the date, at the beginning */
};

/* Whether the trace's times are right; all that no busy machine can change is asserted. */
static bool sets_the_date(const struct step *step)
{
    int64_t now = time(NULL) + step->offset;
    struct cli_result result = record(step->clock, "clocks", "300", "2");
    struct nvt_trace *trace = faults_read();
    assert_null(trace->warning);
    bool agree = times_agree(trace, result.out, 50000);
    if (date_of(trace) < now - 2 || date_of(trace) > now + 60)
        fail_msg("%s: %s", step->clock, nvt_trace_meta(trace, "date"));
    assert_true(trace->origin_ns / 1000000000 >= now - 2 &&
                trace->origin_ns / 1000000000 <= now + 60);
    assert_readable();
    faults_note(step->fault, MOMENTS, faults_count(trace, "moment"), 0,
                (double)result.elapsed_ns / 1e9);
    nvt_trace_free(trace);
    cli_result_free(&result);
    faults_no_session_left();
    return agree;
}

static void a_date_that_is_set_changes_nothing(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const struct step steps[] = {
        {"date set 2 h forward, 5 h back, 1 day forward", "STEP_CLOCK_REAL=0,7200,-18000,86400", 0},
        {"date set 60 years back, then right", "STEP_CLOCK_REAL=0,-1900000000,0", 0},
        {"date of 1966 from the beginning", "STEP_CLOCK_REAL=-1900000000", -1900000000}};
    for (size_t i = 0; i < NVT_COUNT_OF(steps); i++) {
        int tries = 1;
        while (!sets_the_date(&steps[i]))
            if (tries++ == CLI_TRIES)
                cli_give_up("%s: in each of %d recordings", steps[i].clock, CLI_TRIES);
    }
}

/*
 * 2,000 parts in a million are far more than any oscillator's drift. Every second the recorder
 * takes a pair of both clocks; where the drift changes within a second, the line between two pairs
 * misses the kink by a quarter of a second's difference at most, 500 us. With the pairs of the
 * beginning and the end alone it would be 1,300 us, with the counter's nominal rate 4,000 us.
 */
static bool follows_a_drift(void)
{
    struct cli_result result = record("STEP_CLOCK_DRIFT=0,0,2000,2000,0", "clocks", "300", "20");
    struct nvt_trace *trace = faults_read();
    assert_null(trace->warning);
    bool agree = times_agree(trace, result.out, 550000);
    faults_note("clocks drift apart by 2,000 ppm for 2 s", MOMENTS, faults_count(trace, "moment"),
                0, (double)result.elapsed_ns / 1e9);
    nvt_trace_free(trace);
    cli_result_free(&result);
    return agree;
}

static void a_drift_is_followed(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    for (int i = 0; i < CLI_TRIES; i++)
        if (follows_a_drift())
            return;
    cli_give_up("in none of %d recordings", CLI_TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_date_that_is_set_changes_nothing),
        cmocka_unit_test(a_drift_is_followed),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}
