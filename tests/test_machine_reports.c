/*
 * The state of the machine beside a program, as it was recorded: chunks that are malformed; reports, comparisons and
 * exports of it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/comparison/compare_machine.h"
#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/readers/compensate.h"
#include "../analyze/readers/reader.h"
#include "../collectors/machine_sampler.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "machine_kit.h"
#include "made_trace.h"

/* --- chunks that are not as they should be -------------------------------------------------------------- */

static void append_chunk_of(const char *path, uint32_t process, uint32_t count, const void *payload,
                            size_t size)
{
    struct nvt_error err = NVT_ERROR_INIT;
    static const uint8_t strings[] = {0, 4, 'h', 'o', 's', 't'};
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 0, &err);
    assert_non_null(writer);
    struct nvt_chunk chunk = {
        .kind = NVT_CHUNK_STRINGS, .process = NVT_NO_INDEX, .thread = NVT_NO_INDEX, .count = 2};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, strings, sizeof(strings), &err), 0);
    chunk.kind = NVT_CHUNK_MACHINE;
    chunk.process = process;
    chunk.count = count;
    chunk.first = 1000;
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, payload, size, &err), 0);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
}

static void append_chunk(const char *path, uint32_t count, const void *payload, size_t size)
{
    append_chunk_of(path, NVT_NO_INDEX, count, payload, size);
}

#define VALUE 0, 0, 0, 0, 0, 0, 0xf0, 0x3f /* 1.0 */
#define NONE  0, 0, 0, 0, 0, 0, 0xf8, 0x7f /* NaN */
#define MANY  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1

static void malformed_chunks_are_told(void **state)
{
    (void)state;
    static const struct {
        uint32_t count;
        size_t size;
        uint8_t bytes[48];
        int samples; /* -1: it is malformed */
    } cases[] = {
        {1, 15, {1, 1, 1, 0, 0, 0, 0, VALUE}, 1},
        {2, 24, {1, 1, 1, 0, 0, 0, 0, 9, VALUE, NONE}, 1},
        {1, 15, {1, 99, 1, 0, 0, 99, 0, VALUE}, 1}, /* strings that are not there are empty */
        {1, 14, {1, 1, 1, 0, 0, 0, 0, VALUE}, -1},
        {2, 15, {1, 1, 1, 0, 0, 0, 0, VALUE}, -1},
        {0xffffffff, 15, {1, 1, 1, 0, 0, 0, 0, VALUE}, -1},
        {1, 10, {MANY}, -1},
        {1, 15, {9, 1, 1, 0, 0, 0, 0, VALUE}, -1},
        {1, 1, {0}, -1},
        {0, 6, {1, 1, 1, 0, 0, 0}, 0},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        const char *path = cli_in(cli_folder, "bad.nvt");
        append_chunk(path, cases[i].count, cases[i].bytes, cases[i].size);
        struct nvt_trace *trace = nvt_trace_read(path, &err);
        if (!trace)
            fail_msg("%zu: %s", i, err.message);
        assert_non_null(trace->warning);
        int is_malformed = strstr(trace->warning, "malformed") != NULL;
        if (is_malformed != (cases[i].samples < 0))
            fail_msg("%zu: %s", i, trace->warning);
        if (!is_malformed)
            assert_int_equal(trace->counter_samples.count, cases[i].samples);
        nvt_trace_free(trace);
    }
}

static void a_process_must_be_known(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 1, 1, 0, 0, 0, 0, VALUE};
    struct nvt_error err = NVT_ERROR_INIT;
    const char *path = cli_in(cli_folder, "bad.nvt");
    append_chunk_of(path, 0, 1, bytes, 15);
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_non_null(trace);
    assert_non_null(strstr(trace->warning, "malformed"));
    assert_int_equal(trace->counter_samples.count, 0);
    nvt_trace_free(trace);
}

/* --- what is made of it --------------------------------------------------------------------------------- */

static void clocks_count_while_the_device_works(void **state)
{
    (void)state;
    const struct program program = {
        .kernels = 10, .kernel_ns = 80000, .host_ns = 800000, .clock_mhz = 1800, .limited = 100};
    struct nvt_trace *trace = make_program(&program);
    struct nvt_counter_courses courses;
    struct nvt_used_devices devices = {0};
    struct nvt_machine_sum work = {0, 0}, all = {0, 0};
    uint32_t gpu = nvt_strings_find(trace->strings, "GPU-1", 5);
    uint32_t clock = nvt_machine_gpu_counter(trace, gpu, NVT_MACHINE_SM_CLOCK);
    /* 1000 MHz more whenever nothing runs: in the first half of what the host does. */
    for (uint32_t i = 0; i < trace->counter_samples.count; i++) {
        int64_t at = trace->counter_samples.time[i];
        int runs = 0;
        for (uint32_t op = 0; op < trace->ops.count; op++)
            runs |= trace->ops.start[op] <= at + 60000 && trace->ops.end[op] >= at - 60000;
        if (trace->counter_samples.counter[i] == clock && !runs)
            trace->counter_samples.value[i] = 2800;
    }
    assert_int_equal(nvt_counter_courses(trace, &courses), 0);
    assert_int_equal(nvt_used_devices_make(&devices, trace, NULL), 0);
    assert_int_equal(devices.count, 1);
    nvt_machine_add_work(trace, &devices.items[0], &courses, clock, trace->first_ns, trace->last_ns,
                         &work);
    nvt_machine_add(&courses, clock, trace->first_ns, trace->last_ns, &all);
    double kernels = 32.0 * 10 * 80000;
    assert_true(fabs(work.ns - kernels) < 0.01 * kernels);
    assert_true(nvt_machine_average(&all) > 2000);
    assert_true(nvt_machine_average(&work) < nvt_machine_average(&all) - 200);
    nvt_counter_courses_free(&courses);
    nvt_used_devices_free(&devices);
    nvt_trace_free(trace);
}

static void comparisons_tell_of_another_machine(void **state)
{
    (void)state;
    static const struct {
        struct program a, b;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {{.clock_mhz = 1980}, {.clock_mhz = 1755}, "1980 MHz on side A, 1755 MHz on side B"},
        {{.clock_mhz = 1980}, {.clock_mhz = 1950}, NULL},
        {{.clock_mhz = 1980}, {0}, NULL},
        {{.ready = 1, .at_work = 50},
         {.ready = 5, .at_work = 99},
         "per core differs: 0.5 on side A, 2.5 on side B"},
        {{.ready = 0.2, .at_work = 50}, {.ready = 1.8, .at_work = 99}, NULL},
        {{.taken = 1}, {.taken = 9}, "CPU steal time differs: 1.0 % on side A, 9.0 % on"},
        {{.taken = 1}, {.taken = 2}, NULL},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_compared_machine machine = {0};
        struct nvt_buffer text = {0};
        for (size_t side = 0; side < 2; side++) {
            struct program program = side ? cases[i].b : cases[i].a;
            program.kernels = 10;
            program.kernel_ns = 80000;
            struct nvt_input_trace trace = {.trace = make_program(&program)};
            struct nvt_input input = {.traces = &trace, .trace_count = 1};
            assert_int_equal(nvt_compared_machine_add(&machine, side, &input, NULL), 0);
            nvt_trace_free(trace.trace);
        }
        assert_int_equal(nvt_compared_machine_text(&machine, 2, &text), 0);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        const char *said = (const char *)text.data;
        if (cases[i].says ? !strstr(said, cases[i].says) : *said)
            fail_msg("%zu: %s", i, said);
        nvt_buffer_free(&text);
    }
}

/* What the machine was like in slow iterations, where it was another. */
static void slow_iterations_tell_of_the_machine(void **state)
{
    (void)state;
    static const struct {
        double ready, clock; /* in slow iterations; else 1 thread and 1900 MHz */
        const char *says, *says_not;
    } cases[] = {
        {5, 1900, "5.0 threads were runnable on 2 cores in them, else 1.0", "clock"},
        {1.5, 1200, "the clock of GPU 0 was 1200 MHz in them, else 1900", "threads"},
        {1.5, 1800, "the slowest", "in them"},
        {2.5, 1200, "else 1.0; the clock", "GPU 1"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct program program = {.iterations = 64,
                                        .host_ns = 100000,
                                        .slow_every = 10,
                                        .slow_ns = 900000,
                                        .kernels = 1,
                                        .kernel_ns = 1000,
                                        .clock_mhz = 1900,
                                        .ready = 1,
                                        .at_work = 50};
        struct nvt_input_trace trace = {.trace = make_program(&program)};
        struct nvt_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        struct nvt_findings findings = {0};
        struct nvt_trace *made = trace.trace;
        uint32_t ready = nvt_machine_host_counter(made, NVT_MACHINE_RUNNABLE);
        uint32_t clock = nvt_machine_gpu_counter(made, nvt_strings_find(made->strings, "GPU-1", 5),
                                                 NVT_MACHINE_SM_CLOCK);
        /* Samples where each iteration begins and ends, in place of the others. Rows come into columns of zeros. */
        struct nvt_counter_samples *samples = &made->counter_samples;
        memset(samples->counter, 0, samples->count * sizeof(*samples->counter));
        memset(samples->value, 0, samples->count * sizeof(*samples->value));
        samples->count = 0;
        for (uint32_t k = 0; k < made->ranges.count; k++) {
            int64_t start = made->ranges.start[k], end = made->ranges.end[k];
            int is_slow = end - start > 500000;
            const double values[] = {is_slow ? cases[i].ready : 1, is_slow ? cases[i].clock : 1900,
                                     2};
            const uint32_t rows[] = {ready, clock,
                                     nvt_machine_host_counter(made, NVT_MACHINE_PROCESSORS)};
            for (size_t c = 0; c < 3; c++) {
                struct nvt_counter_sample sample = {
                    .time = start, .counter = rows[c], .value = values[c]};
                nvt_counter_sample_add(made, &sample);
                sample.time = end;
                nvt_counter_sample_add(made, &sample);
            }
        }
        assert_int_equal(nvt_rule_apply(&nvt_rule_iterations, &facts, &findings, NULL), 0);
        assert_int_equal(findings.count, 1);
        if (!strstr(findings.items[0].evidence, cases[i].says) ||
            strstr(findings.items[0].evidence, cases[i].says_not))
            fail_msg("%zu: %s", i, findings.items[0].evidence);
        free(findings.items);
        nvt_trace_free(made);
    }
}

/* While others keep the cores busy, irregular slow iterations are only possible; regular ones are the program's. */
static void slow_iterations_on_a_busy_machine_are_only_possible(void **state)
{
    (void)state;
    static const struct {
        double ready;
        int slow_every;
        enum nvt_confidence confidence;
    } cases[] = {{10, 27, NVT_POSSIBLE}, {1, 27, NVT_SEEN}, {10, 10, NVT_SEEN}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct program program = {.iterations = 64,
                                        .host_ns = 100000,
                                        .slow_every = cases[i].slow_every,
                                        .slow_ns = 900000,
                                        .kernels = 1,
                                        .kernel_ns = 1000,
                                        .clock_mhz = 1900,
                                        .ready = cases[i].ready,
                                        .at_work = 99};
        struct nvt_input_trace trace = {.trace = make_program(&program)};
        struct nvt_input input = {.traces = &trace, .trace_count = 1};
        struct nvt_case facts = {&input, NULL};
        struct nvt_findings findings = {0};
        assert_int_equal(nvt_rule_apply(&nvt_rule_iterations, &facts, &findings, NULL), 0);
        assert_int_equal(findings.count, 1);
        assert_int_equal(findings.items[0].confidence, cases[i].confidence);
        assert_int_equal(!!strstr(findings.items[0].evidence, "other programs kept the cores busy"),
                         cases[i].confidence == NVT_POSSIBLE);
        free(findings.items);
        nvt_trace_free(trace.trace);
    }
}

/* Counters of two devices have names of their own, and none is of the process whose thread stands for nobody. */
static void exports_tell_devices_apart(void **state)
{
    (void)state;
    nvt_trace_free(machine_recorded("tests/nvml", ""));
    const char *argv[] = {"nvtally", "export", cli_in(cli_folder, "t.nvt"),  "--to",
                          "chrome",  "-o",     cli_in(cli_folder, "t.json"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_text(cli_folder, "t.json");
    assert_non_null(strstr(text, "\"name\":\"GPU 0: SM clock\""));
    assert_non_null(strstr(text, "\"name\":\"GPU 1: SM clock\""));
    assert_non_null(strstr(text, "\"name\":\"host: threads ready to run\""));
    free(text);
    const char *counters[] = {
        "nvtally", "stats", "-r", "nvtx_counters", "-f", "csv", cli_in(cli_folder, "t.nvt"), NULL};
    result = cli_run(counters);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\n,GPU 1,SM clock,MHz,"));
    cli_result_free(&result);
}

/* A document tells of the machine, and of the program's counters where it has some. */
static void documents_have_a_part_of_it(void **state)
{
    (void)state;
    nvt_trace_free(machine_recorded("tests/nvml", ""));
    const char *argv[] = {
        "nvtally", "report", cli_in(cli_folder, "t.nvt"), "-o", cli_in(cli_folder, "t.md"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_text(cli_folder, "t.md");
    assert_non_null(strstr(text, "## Machine"));
    assert_non_null(strstr(text, "GPU 0 NVIDIA H100 80GB HBM3"));
    assert_null(strstr(text, "## Counters"));
    free(text);
}

/* A study's runs have it where their traces do. */
static void runs_sample_it_when_asked_for(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "study");
    const char *run[] = {"nvtally", "run",       "linear",       "--size", "64",
                         "--batch", "1",         "--iterations", "5",      "--backend",
                         "host",    "--machine", "-o",           out,      NULL};
    const char *stats[] = {"nvtally", "stats", "-r", "machine", "-f", "csv", out, NULL};
    const char *bare[] = {"nvtally", "run", "linear", "--collect", "off", "--machine", NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\nhost,threads ready to run,,"));
    cli_result_free(&result);
    result = cli_run(bare);
    cli_expect_failure(&result, "--machine: needs a level of --collect that is recorded");
    cli_result_free(&result);
}

/* What events cost is taken off a thread's times, and samples are of none. */
static void compensation_leaves_samples(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = machine_recorded(NULL, "");
    uint32_t count = trace->counter_samples.count;
    int64_t *times = malloc((count + 1) * sizeof(*times));
    assert_non_null(times);
    memcpy(times, trace->counter_samples.time, count * sizeof(*times));
    assert_int_equal(nvt_compensate(trace, &err), 0);
    assert_memory_equal(times, trace->counter_samples.time, count * sizeof(*times));
    free(times);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_chunks_are_told),
        cmocka_unit_test(a_process_must_be_known),
        cmocka_unit_test(clocks_count_while_the_device_works),
        cmocka_unit_test(comparisons_tell_of_another_machine),
        cmocka_unit_test(slow_iterations_tell_of_the_machine),
        cmocka_unit_test(slow_iterations_on_a_busy_machine_are_only_possible),
        cmocka_unit_test(exports_tell_devices_apart),
        cmocka_unit_test(documents_have_a_part_of_it),
        cmocka_unit_test(runs_sample_it_when_asked_for),
        cmocka_unit_test(compensation_leaves_samples),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
