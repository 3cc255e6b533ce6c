/*
 * --trace metrics, end to end, on a made-up device: tests/clients/device.c runs under `record`, and the collector in it samples
 * tests/cupti/profiler.c as it would NVIDIA's libcupti. What it shows is the collector's side: which calls it makes and when, what
 * becomes of samples, and what is said where something cannot be had.
 */
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include "../analyze/device/gpu_metrics.h"
#include "../collectors/inject/cupti_metrics.h"
#include "../collectors/inject/cupti_metrics_keep.h"
#include "../lib/count_of.h"
#include "../lib/gpu_metric_names.h"
#include "cli.h"
#include "record_kit.h"

struct run {
    const char *how, *levels, *refuses, *library, *more; /* more: another option */
    const char *keep;                                    /* a folder for images */
    int signal;
};

static struct nvt_trace *record(const struct run *run, char **messages)
{
    char stand_in[600], refuses[200], keep[600];
    const char *path = cli_in(cli_folder, "t.nvt");
    const char *argv[12] = {"nvtally", "record",
                            "-o",      path,
                            "--trace", run->levels ? run->levels : "nvtx,kernel,metrics@1kHz"};
    size_t count = 6;
    if (run->more)
        argv[count++] = run->more;
    argv[count++] = "--";
    argv[count++] = cli_client("device");
    argv[count++] = run->how;
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             run->library ? run->library : cli_built("tests/libcupti-stand-in.so"));
    snprintf(refuses, sizeof(refuses), "STAND_IN_REFUSES=%s", run->refuses ? run->refuses : "");
    snprintf(keep, sizeof(keep), "NVTALLY_KEEP_BUFFERS%s%s", run->keep ? "=" : "",
             run->keep ? run->keep : "");
    const char *environment[] = {
        stand_in, refuses, keep, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.signal != run->signal || (!run->signal && result.status))
        fail_msg("ended with status %d, signal %d: %s", result.status, result.signal, result.err);
    if (messages)
        *messages = strdup(result.err);
    cli_result_free(&result);
    return recorded_trace_at(path);
}

static int has_note(const struct nvt_trace *trace, const char *text)
{
    return trace->notes && strstr(trace->notes, text);
}

/* The counter of that name, NVT_NONE: there is none. */
static uint32_t counter_named(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->counters.count; i++)
        if (!strcmp(nvt_name(trace, trace->counters.name[i]), name))
            return i;
    return NVT_NONE;
}

static uint32_t count_metrics(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->counters.count; i++)
        count += nvt_is_gpu_metric(trace, i) != 0;
    return count;
}

/* The samples of a counter; those that stand less or more than an interval behind the one before go to *gaps. */
static uint32_t count_samples(const struct nvt_trace *trace, uint32_t counter, int64_t interval,
                              uint32_t *gaps)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    int64_t last = 0;
    uint32_t count = 0;
    *gaps = 0;
    for (uint32_t i = 0; i < samples->count; i++) {
        if (samples->counter[i] != counter)
            continue;
        *gaps += count && samples->time[i] - last != interval;
        last = samples->time[i];
        count++;
    }
    return count;
}

/* Sample n of metric k has 10 (k + 1) + n % 10. */
static void assert_values(const struct nvt_trace *trace, uint32_t counter, uint32_t number)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    uint32_t next = 0;
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->counter[i] == counter)
            assert_true(samples->value[i] == 10.0 * (number + 1) + next++ % 10);
}

static void metrics_are_sampled(void **state)
{
    (void)state;
    char *messages;
    struct nvt_trace *trace = record(&(struct run){.how = "sampled"}, &messages);
    uint32_t gaps, first = 0, kernels = 0;
    assert_int_equal(count_metrics(trace), 8);
    for (uint32_t i = 0; nvt_gpu_throughput[i].cupti; i++) {
        const uint32_t counter = counter_named(trace, nvt_gpu_throughput[i].name);
        assert_int_not_equal(counter, NVT_NONE);
        assert_string_equal(nvt_name(trace, trace->counters.unit[counter]), "Throughput %");
        assert_string_equal(nvt_name(trace, trace->counters.description[counter]),
                            nvt_gpu_throughput[i].cupti);
        assert_string_equal(nvt_domain_name(trace, trace->counters.domain[counter]), "GPU 0");
        const uint32_t count = count_samples(trace, counter, 1000000, &gaps);
        first = first ? first : count;
        assert_true(count >= 100 && count == first);
        assert_int_equal(gaps, 0);
        assert_values(trace, counter, i);
    }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        kernels += trace->ops.kind[i] == NVT_OP_KERNEL;
    assert_int_equal(kernels, 2);
    assert_false(has_note(trace, "GPU metrics"));
    assert_null(strstr(messages, "GPU metrics"));
    assert_string_equal(nvt_trace_meta(trace, "trace"), "nvtx,kernel,metrics");
    free(messages);
    nvt_trace_free(trace);
}

/* Samples lie on the trace's axis: behind the context, which the first range made, and before the end. */
static void samples_are_on_the_axis(void **state)
{
    (void)state;
    static const char *const refused[] = {"", "monotonic times"};
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++) {
        struct nvt_trace *trace =
            record(&(struct run){.how = "sampled", .refuses = refused[i]}, NULL);
        const struct nvt_counter_samples *samples = &trace->counter_samples;
        assert_true(samples->count >= 800);
        for (uint32_t k = 0; k < samples->count; k++)
            assert_true(samples->time[k] > trace->ranges.start[0]);
        assert_false(has_note(trace, "GPU metrics"));
        nvt_trace_free(trace);
    }
}

static void times_of_no_clock_are_said(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "sampled", .refuses = "known times"}, NULL);
    assert_true(trace->counter_samples.count >= 800);
    assert_true(has_note(trace, "GPU metrics: device 0: samples have times of an unknown clock"));
    nvt_trace_free(trace);
}

static void names_are_chosen(void **state)
{
    (void)state;
    char *messages;
    struct nvt_trace *trace = record(
        &(struct run){.how = "sampled",
                      .levels = "kernel,metrics=dram__bytes_read.sum.per_second,pcie__unknown.sum,"
                                "sm__second_pass.avg@2kHz,nvtx"},
        &messages);
    uint32_t gaps;
    const uint32_t counter = counter_named(trace, "dram__bytes_read.sum.per_second");
    assert_int_equal(count_metrics(trace), 1);
    assert_string_equal(nvt_name(trace, trace->counters.unit[counter]), "B/s");
    assert_true(count_samples(trace, counter, 500000, &gaps) >= 100);
    assert_int_equal(gaps, 0);
    assert_true(trace->ranges.count == 1);
    assert_true(has_note(trace, "GPU metrics: left out, as GH100 does not have them, or not in the "
                                "same pass: pcie__unknown.sum, sm__second_pass.avg"));
    assert_non_null(strstr(messages, "nvtally: GPU metrics: left out"));
    free(messages);
    nvt_trace_free(trace);
}

/* What cannot be had: one line of `record`, one of the trace, and the kernels. */
static void recording_goes_on_without(void **state)
{
    (void)state;
    static const struct {
        const char *refuses, *said;
    } cases[] = {
        {"counters", "device 0: permission denied (ERR_NVGPUCTRPERM): load the driver with "
                     "NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN"},
        {"free counters", "device 0: another tool, or another process, has the counters"},
        {"whole GPU", "device 0: the GPU is divided by MIG, which CUPTI does not sample"},
        {"this GPU", "device 0: the GPU is in confidential-computing mode"},
        {"overflow always", "device 0: the hardware's buffer overflowed, and sampling could not go "
                            "on: a lower rate may help"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char *messages, line[400];
        struct nvt_trace *trace =
            record(&(struct run){.how = "sampled", .refuses = cases[i].refuses}, &messages);
        snprintf(line, sizeof(line), "nvtally: GPU metrics: %s", cases[i].said);
        if (!strstr(messages, line))
            fail_msg("%s: %s", cases[i].refuses, messages);
        assert_null(strstr(strstr(messages, line) + strlen(line), "GPU metrics"));
        assert_true(has_note(trace, line + strlen("nvtally: ")));
        assert_int_equal(count_metrics(trace), 0);
        assert_int_equal(trace->ops.count, 2);
        free(messages);
        nvt_trace_free(trace);
    }
}

/* None of the metrics, and a libcupti without any of it: then nobody tells the client, and it does not wait. */
static void old_and_other_libraries_have_none(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(
        &(struct run){.how = "plain", .library = cli_built("tests/libcupti-stand-in-second.so")},
        NULL);
    assert_true(has_note(trace, "GPU metrics: libcupti has no "));
    assert_true(has_note(trace, "that of CUDA 12.6 or later is needed"));
    assert_true(trace->ops.count >= 6);
    nvt_trace_free(trace);
}

static void lost_samples_are_counted(void **state)
{
    (void)state;
    uint32_t gaps;
    struct nvt_trace *trace =
        record(&(struct run){.how = "sampled", .refuses = "every sample"}, NULL);
    const uint32_t counter = counter_named(trace, "SMs Active");
    assert_true(count_samples(trace, counter, 1000000, &gaps) >= 100);
    assert_int_equal(gaps, 1);
    assert_true(has_note(trace, "GPU metrics: device 0: 10 of "));
    assert_true(has_note(trace, "samples were lost (overflows of the hardware's buffer: 0)"));
    nvt_trace_free(trace);
}

static void sampling_begins_again_behind_an_overflow(void **state)
{
    (void)state;
    uint32_t gaps;
    struct nvt_trace *trace =
        record(&(struct run){.how = "sampled", .refuses = "overflow once"}, NULL);
    assert_true(count_samples(trace, counter_named(trace, "GR Active"), 1000000, &gaps) >= 100);
    assert_true(gaps <= 1);
    assert_true(has_note(trace, "samples were lost (overflows of the hardware's buffer: 1)"));
    nvt_trace_free(trace);
}

static void killed_processes_leave_their_samples(void **state)
{
    (void)state;
    uint32_t gaps;
    struct nvt_trace *trace = record(&(struct run){.how = "sampled kill", .signal = SIGKILL}, NULL);
    assert_true(count_samples(trace, counter_named(trace, "SMs Active"), 1000000, &gaps) >= 100);
    assert_int_equal(gaps, 0);
    nvt_trace_free(trace);
}

/* What a flight recorder cuts off takes no definitions with it. On a busy machine the program may end so late that all samples are older
 * than what is kept. */
static void a_cut_keeps_the_names(void **state)
{
    (void)state;
    uint32_t kept = 0;
    for (int i = 0; i < CLI_TRIES && !kept; i++) {
        struct nvt_trace *trace =
            record(&(struct run){.how = "sampled", .more = "--max-age=40ms"}, NULL);
        kept = trace->counter_samples.count;
        if (kept)
            assert_int_equal(count_metrics(trace), 8);
        nvt_trace_free(trace);
    }
    if (!kept)
        cli_give_up("no sample was kept in any of %d recordings", CLI_TRIES);
}

/* A job that was there before anybody asked (nvtally env) is sampled from then on. */
static void metrics_are_sampled_later(void **state)
{
    (void)state;
    static const char script[] =
        "mkdir -p \"$NVTALLY_TMPDIR\"; sh -c '"
        "eval \"$(\"$0\" env -t nvtx,kernel,metrics=throughput@1kHz)\"; \"$1\" sampled & "
        "for i in $(seq 6000); do \"$0\" ctl status | grep -q \"^processes.1$\" && break; "
        "sleep 0.1; done; \"$0\" ctl start -o \"$2\"; wait $!' \"$0\" \"$1\" \"$2\"; "
        "status=$?; for i in $(seq 6000); do [ -z \"$(ls \"$NVTALLY_TMPDIR\")\" ] && break; "
        "sleep 0.1; done; exit $status";
    char stand_in[600], folder[600];
    uint32_t gaps;
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    snprintf(folder, sizeof(folder), "NVTALLY_TMPDIR=%s/sessions", cli_folder);
    const char *environment[] = {
        stand_in, folder, "STAND_IN_REFUSES=", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
        NULL};
    const struct cli_options options = {.environment = environment};
    const char *path = cli_in(cli_folder, "later.nvt");
    const char *argv[] = {"sh", "-c", script, cli_built("nvtally"), cli_client("device"),
                          path, NULL};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.status)
        fail_msg("ended with status %d: %s", result.status, result.err);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace_at(path);
    assert_int_equal(count_metrics(trace), 8);
    assert_true(count_samples(trace, counter_named(trace, "SMs Active"), 1000000, &gaps) >= 100);
    nvt_trace_free(trace);
}

/* --- counters of ranges --------------------------------------------------------------------------- */

/* Launches of each: 2, 3 and 4; the first made the context, and was not counted. */
static void ranges_are_counted(void **state)
{
    (void)state;
    char *messages;
    struct nvt_trace *trace = record(
        &(struct run){.how = "counted", .levels = "nvtx,kernel", .more = "--counters-of=measure"},
        &messages);
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    static const char *const names[] = {"Tensor FLOPs, bf16", "DRAM bytes read",
                                        "DRAM bytes written"};
    assert_int_equal(trace->ranges.count, 4);
    assert_int_equal(samples->count, 9);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t counter = counter_named(trace, names[i]);
        uint32_t range = 1;
        assert_int_not_equal(counter, NVT_NONE);
        assert_string_equal(nvt_domain_name(trace, trace->counters.domain[counter]),
                            "Ranges of GPU 0");
        assert_false(nvt_is_gpu_metric(trace, counter));
        for (uint32_t k = 0; k < samples->count; k++) {
            if (samples->counter[k] != counter)
                continue;
            assert_true(samples->value[k] == 1e6 * (i + 1) * (range + 1));
            assert_true(samples->time[k] >= trace->ranges.end[range]);
            assert_true(range == 3 || samples->time[k] <= trace->ranges.start[range + 1]);
            range++;
        }
        assert_int_equal(range, 4);
    }
    assert_null(strstr(messages, "GPU metrics"));
    free(messages);
    nvt_trace_free(trace);
}

static void ranges_that_are_not_counted_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *refuses, *how, *said;
        uint32_t samples;
    } cases[] = {
        {"counting", "counted", "device 0: permission denied (ERR_NVGPUCTRPERM)", 0},
        {"second range", "counted", "device 0: ranges are not counted any more: CUPTI refuses", 3},
        {"any pass", "counted", "device 0: ranges are not counted any more: CUPTI refuses", 0},
        {"", "plain", "no range was counted: no range began after the device's context had", 0},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char *messages, line[300];
        struct nvt_trace *trace = record(&(struct run){.how = cases[i].how,
                                                       .levels = "nvtx,kernel",
                                                       .more = "--counters-of=measure",
                                                       .refuses = cases[i].refuses},
                                         &messages);
        snprintf(line, sizeof(line), "nvtally: GPU metrics: %s", cases[i].said);
        if (!strstr(messages, line))
            fail_msg("%s: %s", cases[i].refuses, messages);
        assert_true(has_note(trace, line + strlen("nvtally: ")));
        assert_int_equal(trace->counter_samples.count, cases[i].samples);
        free(messages);
        nvt_trace_free(trace);
    }
}

/* The first image of the device with what was made of it. */
static void images_are_kept(void **state)
{
    (void)state;
    glob_t found;
    struct nvt_metrics_kept head;
    double values[8];
    uint64_t times[2];
    nvt_trace_free(record(&(struct run){.how = "sampled", .keep = cli_folder}, NULL));
    assert_int_equal(glob(cli_in(cli_folder, "pm-*-0-0.image"), 0, NULL, &found), 0);
    FILE *file = fopen(found.gl_pathv[0], "rb");
    assert_non_null(file);
    assert_int_equal(fread(&head, sizeof(head), 1, file), 1);
    assert_memory_equal(head.magic, NVT_METRICS_KEPT_MAGIC, 8);
    assert_string_equal(head.chip, "GH100");
    assert_int_equal(head.names, 8);
    assert_true(head.samples > 0);
    assert_int_equal(fseek(file, (long)(8 * NVT_GPU_METRIC_NAME_MOST + head.image_size), SEEK_CUR),
                     0);
    for (uint32_t i = 0; i < head.samples; i++) {
        assert_int_equal(fread(times, sizeof(times), 1, file), 1);
        assert_int_equal(fread(values, sizeof(values), 1, file), 1);
        assert_true(times[1] - times[0] == 1000000);
        assert_true(values[7] == 80 + i % 10);
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    globfree(&found);
}

/* --- clocks -------------------------------------------------------------------------------------- */

static void the_first_clock_that_fits_is_it(void **state)
{
    (void)state;
    const struct nvt_metrics_moment begun = {{1000000000, 5000000000, 7000000000, 0}},
                                    now = {{2000000000, 6000000000, 8000000000, 9000000000}};
    static const struct {
        uint64_t first, last;
        int clock;
        uint64_t ahead;
    } cases[] = {
        {1100000000, 1900000000, 0, 0},
        {999100000, 2000900000, 0, 0}, /* within the slack */
        {5100000000, 5900000000, 1, UINT64_C(2000000000) - 6000000000},
        {7100000000, 7900000000, 2, UINT64_C(2000000000) - 8000000000},
        {998000000, 1900000000, NVT_METRICS_NO_CLOCK, 2000000000 - 1900000000},
        {8500000000, 8900000000, NVT_METRICS_NO_CLOCK, UINT64_C(2000000000) - 8900000000},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const int clock = nvt_metrics_clock(&begun, &now, cases[i].first, cases[i].last);
        assert_int_equal(clock, cases[i].clock);
        assert_true(nvt_metrics_ahead(clock, &now, cases[i].last) == cases[i].ahead);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_sampled),
        cmocka_unit_test(samples_are_on_the_axis),
        cmocka_unit_test(times_of_no_clock_are_said),
        cmocka_unit_test(names_are_chosen),
        cmocka_unit_test(recording_goes_on_without),
        cmocka_unit_test(old_and_other_libraries_have_none),
        cmocka_unit_test(lost_samples_are_counted),
        cmocka_unit_test(sampling_begins_again_behind_an_overflow),
        cmocka_unit_test(killed_processes_leave_their_samples),
        cmocka_unit_test(a_cut_keeps_the_names),
        cmocka_unit_test(metrics_are_sampled_later),
        cmocka_unit_test(ranges_are_counted),
        cmocka_unit_test(ranges_that_are_not_counted_are_said),
        cmocka_unit_test(images_are_kept),
        cmocka_unit_test(the_first_clock_that_fits_is_it),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
