/*
 * The state of the machine beside a program: what is read of the host and, with a stand-in for NVML, of devices; what
 * of it is in a trace, whatever NVML does.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/comparison/compare_machine.h"
#include "../analyze/readers/reader.h"
#include "../collectors/machine_sampler.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "machine_kit.h"

/* --- the host ------------------------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
    char full[600];
    snprintf(full, sizeof(full), "%s%s", cli_folder, path);
    for (char *slash = strchr(full + strlen(cli_folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    cli_write_file(full, text, strlen(text));
}

#define CLOCK "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"

/* By name, of a source's last values. */
static double value_of(const struct nvt_machine_source *source, const double *values,
                       enum nvt_machine_host id)
{
    for (size_t i = 0; i < source->count; i++)
        if (source->series[i].quantity == nvt_machine_host_quantity(id))
            return values[i];
    fail_msg("there is no %s", nvt_machine_host_quantity(id)->name);
    return NAN;
}

static void expect_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.17g, not %.17g", value, expected);
}

static void reads_the_host(void **state)
{
    (void)state;
    struct nvt_machine_source source = {0};
    double values[NVT_MACHINE_HOST_COUNT];
    put("/proc/stat", "cpu  100 10 50 1000 40 5 5 20 7 7\ncpu0 1 2 3 4\n");
    put("/proc/loadavg", "0.20 0.18 0.12 3/80 11206\n");
    put("/proc/meminfo", "MemTotal: 100 kB\nMemFree: 3 kB\nMemAvailable:   64 kB\n");
    put(CLOCK, "2500000\n");
    assert_int_equal(nvt_machine_open_host_at(&source, cli_folder), 0);
    assert_int_equal(source.count, NVT_MACHINE_HOST_COUNT);
    source.read(&source, values);
    assert_true(isnan(value_of(&source, values, NVT_MACHINE_BUSY))); /* since when? */
    expect_near(value_of(&source, values, NVT_MACHINE_RUNNABLE), 2);
    expect_near(value_of(&source, values, NVT_MACHINE_AVAILABLE), 65536);
    expect_near(value_of(&source, values, NVT_MACHINE_PROCESSOR_CLOCK), 2500);
    /* 200 ticks more: 60 of work, 100 idle, 20 of waiting, 20 stolen. */
    put("/proc/stat", "cpu  130 20 60 1100 60 10 10 40 9 9\ncpu0 1 2 3 4\n");
    source.read(&source, values);
    expect_near(value_of(&source, values, NVT_MACHINE_BUSY), 30);
    expect_near(value_of(&source, values, NVT_MACHINE_STOLEN), 10);
    expect_near(value_of(&source, values, NVT_MACHINE_WAITING), 10);
    nvt_machine_close_source(&source);
}

static void reads_what_the_host_has(void **state)
{
    (void)state;
    struct nvt_machine_source source = {0};
    double values[NVT_MACHINE_HOST_COUNT];
    assert_int_equal(nvt_machine_open_host_at(&source, "/nowhere"), 0);
    assert_int_equal(source.count, 0);
    assert_non_null(strstr(source.absent, "/proc/stat"));
    nvt_machine_close_source(&source);
    put("/proc/stat", "cpu  1 2 3 4\n"); /* of an old kernel */
    put(CLOCK, "");
    put("/proc/loadavg", "");
    put("/proc/meminfo", "MemTotal: 100 kB\n");
    assert_int_equal(nvt_machine_open_host_at(&source, cli_folder), 0);
    assert_int_equal(source.count, 3);
    source.read(&source, values);
    put("/proc/stat", "cpu  1 2 3 1\n"); /* it goes back */
    source.read(&source, values);
    assert_true(isnan(values[0]) && isnan(values[1]) && isnan(values[2]));
    put("/proc/stat", "intr 1\n");
    source.read(&source, values);
    assert_true(isnan(values[0]));
    nvt_machine_close_source(&source);
}

/* --- recorded ------------------------------------------------------------------------------------------- */

/* The one value that all samples of a counter have; NaN where there is no such counter. */
static double constant(const struct nvt_trace *trace, const char *gpu, enum nvt_machine_gpu id)
{
    uint32_t known = nvt_strings_find(trace->strings, gpu, strlen(gpu)), samples = 0;
    double value = NAN;
    int64_t first_ns = 0, last_ns = 0;
    assert_int_not_equal(known, NVT_NO_STRING);
    uint32_t counter = nvt_machine_gpu_counter(trace, known, id);
    for (uint32_t i = 0; i < trace->counter_samples.count; i++) {
        if (trace->counter_samples.counter[i] != counter)
            continue;
        if (samples++)
            assert_true(trace->counter_samples.value[i] == value &&
                        trace->counter_samples.time[i] >= last_ns);
        else
            first_ns = trace->counter_samples.time[i];
        value = trace->counter_samples.value[i];
        last_ns = trace->counter_samples.time[i];
    }
    /* Of at least 500 ms: at the beginning, every 100 ms, and at the end. One that came late may be close to the next. */
    if (counter != NVT_NONE)
        assert_in_range(samples, 3, 3 + (last_ns - first_ns) / 100000000);
    return value;
}

#define FIRST  "GPU-00000000-0000-0000-0000-000000000001"
#define SECOND "GPU-00000000-0000-0000-0000-000000000002"

static void devices_are_sampled(void **state)
{
    (void)state;
    static const struct {
        enum nvt_machine_gpu id;
        double first, second;
    } expected[] = {
        {NVT_MACHINE_SM_CLOCK, 1305, 345},
        {NVT_MACHINE_SM_CLOCK_MOST, 1980, 1980},
        {NVT_MACHINE_MEMORY_CLOCK, 2619, 2619},
        {NVT_MACHINE_POWER, 690, NAN},
        {NVT_MACHINE_POWER_LIMIT, 700, NAN},
        {NVT_MACHINE_TEMPERATURE, 66, 30},
        {NVT_MACHINE_WORK, 98, 0},
        {NVT_MACHINE_IN_USE, 5368709120, 1073741824},
        {NVT_MACHINE_BY_POWER, 1, 0},
        {NVT_MACHINE_BY_HEAT, 0, 0},
        {NVT_MACHINE_BY_HARDWARE, 0, 0},
        {NVT_MACHINE_BY_SETTING, 0, 0},
    };
    static const char *const libraries[] = {"tests/nvml", "tests/nvml-older"};
    for (size_t k = 0; k < 2; k++) {
        struct nvt_trace *trace = machine_recorded(libraries[k], "");
        for (size_t i = 0; i < NVT_COUNT_OF(expected); i++) {
            double first = constant(trace, FIRST, expected[i].id);
            double second = constant(trace, SECOND, expected[i].id);
            expect_near(first, expected[i].first);
            assert_true(isnan(expected[i].second) ? isnan(second) : second == expected[i].second);
        }
        assert_null(nvt_trace_meta(trace, "not sampled"));
        nvt_trace_free(trace);
    }
}

/* The host is there without a driver, and why there is no more is said. */
static void what_cannot_be_sampled_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *library, *wish, *says;
    } cases[] = {{NULL, "", "libnvidia-ml.so.1, which comes with NVIDIA's driver, was not found"},
                 {"tests/nvml", "fails", "NVML: Driver Not Loaded"}};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = machine_recorded(cases[i].library, cases[i].wish);
        const char *absent = nvt_trace_meta(trace, "not sampled");
        assert_non_null(absent);
        assert_non_null(strstr(absent, cases[i].says));
        assert_int_not_equal(nvt_machine_host_counter(trace, NVT_MACHINE_RUNNABLE), NVT_NONE);
        nvt_trace_free(trace);
        const char *argv[] = {"nvtally", "stats", "-r", "machine", cli_in(cli_folder, "t.nvt"),
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.err, cases[i].says));
        assert_non_null(strstr(result.out, "threads ready to run"));
        cli_result_free(&result);
    }
}

/* Where nothing else is in the trace, that is its report; and a note names it. */
static void it_is_the_report_where_nothing_else_is(void **state)
{
    (void)state;
    struct cli_result result = machine_record(NULL, "", "machine");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *argv[] = {"nvtally", "stats", cli_in(cli_folder, "t.nvt"), NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "State of the machine"));
    assert_non_null(strstr(result.out, "threads ready to run"));
    assert_non_null(strstr(result.err, ", and machine has those of the machine\n"));
    cli_result_free(&result);
}

/* A driver that does not answer delays nobody by more than its second. */
static void a_driver_that_hangs_holds_up_nobody(void **state)
{
    (void)state;
    struct cli_result result = machine_record("tests/nvml", "hangs", "nvtx,machine");
    cli_expect_status(&result, 0);
    assert_true(result.elapsed_ns < INT64_C(60000000000)); /* it would have answered then */
    cli_result_free(&result);
}

/* Nobody who did not ask for it has it; and it alone needs no NVTX. */
static void it_is_sampled_when_asked_for(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    static const struct {
        const char *what;
        int has;
    } cases[] = {{"nvtx", 0}, {"nvtx,kernel", 0}, {"machine", 1}, {"full", 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = machine_record("tests/nvml", "", cases[i].what);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "t.nvt"), &err);
        assert_non_null(trace);
        assert_int_equal(trace->counter_samples.count > 0, cases[i].has);
        if (!strcmp(cases[i].what, "machine"))
            assert_true(trace->last_ns - trace->first_ns > 300000000);
        nvt_trace_free(trace);
    }
}

/* It goes on beside the program, whose trace begins and ends with the program. */
static void the_trace_is_as_long_as_the_program(void **state)
{
    (void)state;
    struct nvt_trace *trace = machine_recorded(NULL, "");
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        first = trace->ranges.start[i] < first ? trace->ranges.start[i] : first;
        last = trace->ranges.end[i] > last ? trace->ranges.end[i] : last;
    }
    assert_true(trace->first_ns >= first && trace->last_ns <= last + 50000000);
    nvt_trace_free(trace);
}

/* What a flight recorder cuts off has no samples either, but for the second that a chunk has. */
static void a_flight_recorder_forgets_it(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    const char *argv[] = {"nvtally",   "record",
                          "--trace",   "nvtx,machine",
                          "--max-age", "300ms",
                          "-o",        cli_in(cli_folder, "t.nvt"),
                          "--",        cli_client("flight"),
                          "3500",      NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "t.nvt"), &err);
    assert_non_null(trace);
    assert_true(trace->counter_samples.count > 0);
    int64_t last = trace->counter_samples.time[trace->counter_samples.count - 1];
    for (uint32_t i = 0; i < trace->counter_samples.count; i++)
        assert_true(last - trace->counter_samples.time[i] < 2500000000);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_host),
        cmocka_unit_test(reads_what_the_host_has),
        cmocka_unit_test(devices_are_sampled),
        cmocka_unit_test(what_cannot_be_sampled_is_said),
        cmocka_unit_test(it_is_the_report_where_nothing_else_is),
        cmocka_unit_test(a_driver_that_hangs_holds_up_nobody),
        cmocka_unit_test(it_is_sampled_when_asked_for),
        cmocka_unit_test(the_trace_is_as_long_as_the_program),
        cmocka_unit_test(a_flight_recorder_forgets_it),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
