/*
 * GPU metrics of ranges and kernels: bounds worked out by hand, a thousand random programs whose truth is known, and a report over an
 * export of nsys that is made up.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/gpu_metrics.h"
#include "../lib/count_of.h"
#include "../lib/gpu_counters.h"
#include "../lib/gpu_metric_names.h"
#include "cli.h"
#include "made_trace.h"
#include "random_kit.h"

/* A counter of GPU 0; returns its row. */
static uint32_t add_counter(struct maker *maker, const char *name, const char *unit)
{
    const struct nvt_counter row = {.process = maker->process,
                                    .domain =
                                        nvt_trace_domain(maker->trace, maker->process, "GPU 0"),
                                    .name = nvt_strings_add_text(maker->trace->strings, name),
                                    .unit = nvt_strings_add_text(maker->trace->strings, unit),
                                    .values = NVT_COUNTER_ABSOLUTE,
                                    .is_of_machine = 1};
    return nvt_counter_add(maker->trace, &row);
}

static void add_sample(struct maker *maker, uint32_t counter, int64_t time, double value)
{
    const struct nvt_counter_sample row = {
        .time = time, .counter = counter, .thread = maker->thread, .value = value};
    assert_int_not_equal(nvt_counter_sample_add(maker->trace, &row), NVT_NONE);
}

/* --- bounds ------------------------------------------------------------------------------------- */

/* Samples every 100 ns from 100 to 1000 of 10.5, 20, 30, … 100; without that at 500 in the second counter. */
static void bounds_are_what_edges_allow(void **state)
{
    (void)state;
    static const struct {
        int counter; /* 0: percent; 1: percent with a gap; 2: another unit; 3: that with a gap */
        int64_t from, to;
        uint64_t spans, short_, unknown, samples;
        double mean, low, high;
    } cases[] = {
        /* Whole samples: known. 20 + 30 + 40. */
        {0, 100, 400, 1, 0, 0, 3, 30, 30, 30},
        /* Half of the first, half of the last: 1000 of 30 is at most 5000 in the other half. */
        {0, 250, 650, 1, 0, 0, 5, (30 * 50 + 40 * 100 + 50 * 100 + 60 * 100 + 70 * 50) / 400.0,
         (0 + 4000 + 5000 + 6000 + 7000 - 5000) / 400.0,
         (3000 + 4000 + 5000 + 6000 + 5000) / 400.0},
        /* One ns less than three intervals. */
        {0, 100, 399, 0, 1, 0, 0, 0, 0, 0},
        /* The sample at 500 is missing: anything in it; means of what is known. */
        {1, 300, 600, 1, 0, 0, 2, (40 + 60) / 2.0, (40 + 60) / 3.0, (40 + 60 + 100) / 3.0},
        /* Of a metric without a greatest value the edges may have all of their samples, or nothing. */
        {2, 250, 650, 1, 0, 0, 5, (30 * 50 + 40 * 100 + 50 * 100 + 60 * 100 + 70 * 50) / 400.0,
         (4000 + 5000 + 6000) / 400.0, (3000 + 4000 + 5000 + 6000 + 7000) / 400.0},
        {3, 300, 600, 0, 0, 1, 0, 0, 0, 0},
        /* Behind the last sample nothing is known: more than half of it. */
        {0, 900, 1300, 0, 0, 1, 0, 0, 0, 0},
    };
    struct maker maker = make_begin();
    uint32_t counters[4];
    for (int i = 0; i < 4; i++)
        counters[i] = add_counter(&maker, (const char *[]){"a", "b", "c", "d"}[i],
                                  i < 2 ? "Throughput %" : "MHz");
    for (int i = 0; i < 4; i++)
        for (int k = 1; k <= 10; k++)
            if (!(i % 2) || k != 5)
                add_sample(&maker, counters[i], 100 * k, k == 1 ? 10.5 : 10 * k);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_gpu_metrics metrics = {.items = NULL};
    assert_int_equal(nvt_gpu_metrics_make(&metrics, trace), 0);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_metric_sum sum = {.ns = 0};
        const struct nvt_gpu_metric *metric = &metrics.items[counters[cases[i].counter]];
        assert_true(metric->interval_ns == 100 && metric->rounding == 0);
        nvt_gpu_metric_add(metric, cases[i].from, cases[i].to, &sum);
        assert_int_equal(sum.spans, cases[i].spans);
        assert_int_equal(sum.short_, cases[i].short_);
        assert_int_equal(sum.unknown, cases[i].unknown);
        assert_int_equal(sum.samples, cases[i].samples);
        if (sum.spans && (fabs(sum.integral / sum.ns - cases[i].mean) > 1e-9 ||
                          fabs(sum.low / sum.ns - cases[i].low) > 1e-9 ||
                          fabs(sum.high / sum.ns - cases[i].high) > 1e-9))
            fail_msg("case %zu: %g (%g to %g)", i, sum.integral / sum.ns, sum.low / sum.ns,
                     sum.high / sum.ns);
    }
    nvt_gpu_metrics_free(&metrics);
    nvt_trace_free(trace);
}

/* --- random programs ---------------------------------------------------------------------------- */

enum { PIECES = 400, RANGES = 20, PROGRAMS = 1000 };

/* What the device did: levels that hold for a while each, percent. */
struct program_truth {
    int64_t start[PIECES + 1];
    double level[PIECES];
};

static void draw_truth(struct program_truth *truth)
{
    int64_t now = 0;
    for (int i = 0; i < PIECES; i++) {
        const double kind = kit_uniform();
        truth->start[i] = now;
        truth->level[i] = kind < 0.3 ? 0 : kind < 0.5 ? 100 : 100 * kit_uniform();
        /* From 1 us to 1 ms, as long as short. */
        now += (int64_t)(1000 * pow(10, 3 * kit_uniform()));
    }
    truth->start[PIECES] = now;
}

/* The level's mean over a span, by adding up. */
static double mean_of(const struct program_truth *truth, int64_t from, int64_t to)
{
    double sum = 0;
    for (int i = 0; i < PIECES; i++) {
        const int64_t low = from > truth->start[i] ? from : truth->start[i];
        const int64_t high = to < truth->start[i + 1] ? to : truth->start[i + 1];
        sum += high > low ? truth->level[i] * (double)(high - low) : 0;
    }
    return sum / (double)(to - from);
}

/* Samples as a GPU takes them: means of intervals, whole numbers as in nsys's files, of which some are lost. */
static void sample_truth(struct maker *maker, const struct program_truth *truth, int64_t interval,
                         int is_whole, double lost)
{
    const uint32_t counter = add_counter(maker, "DRAM Read Bandwidth", "Throughput %");
    int64_t time = (int64_t)((double)interval * kit_uniform());
    for (; time + interval <= truth->start[PIECES]; time += interval) {
        const double mean = mean_of(truth, time, time + interval);
        if (kit_uniform() >= lost)
            add_sample(maker, counter, time + interval, is_whole ? round(mean) : mean);
    }
}

struct score {
    uint64_t told, inside, short_told;
    double width;
};

static void score_program(struct score *score)
{
    static struct program_truth truth;
    const int64_t interval = (int64_t)(2000 * pow(10, 2 * kit_uniform()));
    struct maker maker = make_begin();
    struct nvt_gpu_metrics metrics = {.items = NULL};
    draw_truth(&truth);
    sample_truth(&maker, &truth, interval, kit_uniform() < 0.5, kit_uniform() < 0.5 ? 0.02 : 0);
    struct nvt_trace *trace = make_end(&maker);
    assert_int_equal(nvt_gpu_metrics_make(&metrics, trace), 0);
    for (int i = 0; i < RANGES && metrics.items[0].course; i++) {
        struct nvt_metric_sum sum = {.ns = 0};
        double mean = 0;
        /* One range name, of some instances that begin where a kernel does. */
        for (int k = 0; k < 1 + i % 5; k++) {
            const int first = (int)(kit_uniform() * (PIECES - 12));
            const int64_t from = truth.start[first],
                          to = truth.start[first + 1 + (int)(kit_uniform() * 10)];
            const uint64_t spans = sum.spans;
            nvt_gpu_metric_add(&metrics.items[0], from, to, &sum);
            score->short_told += sum.spans > spans && to - from < NVT_METRIC_LEAST * interval;
            mean += sum.spans > spans ? mean_of(&truth, from, to) * (double)(to - from) : 0;
        }
        score->told += sum.spans > 0;
        score->inside +=
            sum.spans > 0 && mean >= sum.low - 1e-6 * sum.ns && mean <= sum.high + 1e-6 * sum.ns;
        score->width += sum.spans > 0 ? (sum.high - sum.low) / sum.ns : 0;
    }
    nvt_gpu_metrics_free(&metrics);
    nvt_trace_free(trace);
}

static void truth_lies_within_the_bounds(void **state)
{
    (void)state;
    struct score score = {0, 0, 0, 0};
    kit_srand(52);
    for (int i = 0; i < PROGRAMS; i++)
        score_program(&score);
    print_message("%d programs: %llu of %llu ranges within their bounds, %.1f %% wide on average; "
                  "%llu that are too short told\n",
                  PROGRAMS, (unsigned long long)score.inside, (unsigned long long)score.told,
                  score.width / (double)score.told, (unsigned long long)score.short_told);
    assert_true(score.told >= 5 * PROGRAMS);
    assert_true((double)score.inside >= 0.95 * (double)score.told);
    assert_int_equal(score.short_told, 0);
    /* Bounds that say nothing would hold as well. */
    assert_true(score.width < 25 * (double)score.told);
}

/* --- the report --------------------------------------------------------------------------------- */

/* Samples of "SMs Active" of a GPU with an identity, 10 us apart. */
static void add_gpu_samples(struct maker *maker, const char *gpu)
{
    const struct nvt_counter row = {
        .process = maker->process,
        .domain = nvt_trace_domain(maker->trace, maker->process, "GPU 0"),
        .name = nvt_strings_add_text(maker->trace->strings, "SMs Active"),
        .unit = nvt_strings_add_text(maker->trace->strings, "Throughput %"),
        .gpu = nvt_strings_add_text(maker->trace->strings, gpu),
        .values = NVT_COUNTER_ABSOLUTE,
        .is_of_machine = 1};
    const uint32_t counter = nvt_counter_add(maker->trace, &row);
    for (int64_t i = 0; i <= maker->now / 10000; i++)
        add_sample(maker, counter, 10000 * i, 80);
}

/* A range with two kernels, of 60 and 40 us with 5 us before them, and one whose kernel is too short. */
static void metrics_are_those_of_ranges_and_kernels(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    maker.now = 15000;
    const int64_t start = maker.now;
    maker.launch_ns = 0;
    make_launch(&maker, "gemm", 60000); /* from 20 to 80 us */
    make_launch(&maker, "copy", 40000); /* to 120 us */
    make_range(&maker, "forward", start);
    const int64_t later = maker.now = 200000;
    make_launch(&maker, "tiny", 5000);
    make_range(&maker, "short", later);
    const uint32_t counter = add_counter(&maker, "SMs Active", "Throughput %");
    for (int64_t i = 0; i <= 30; i++)
        add_sample(&maker, counter, 10000 * i,
                   i > 2 && i <= 8    ? 80.5
                   : i > 8 && i <= 12 ? 30.5
                                      : 0);
    struct nvt_trace *trace = make_end(&maker);
    char *note, *text = make_report("gpu_metrics_by_range", &trace, 1, &note);
    assert_string_equal(text,
                        "Range,GPU,Metric,Unit,Instances,Left Out,Device Time "
                        "(ns),Samples,Mean,Low,High\n"
                        ":forward,GPU 0,SMs Active,Throughput %,1,0,100000,10,60.5,60.5,60.5\n"
                        "\n"
                        "Name,GPU,Metric,Unit,Instances,Left Out,Device Time "
                        "(ns),Samples,Mean,Low,High\n"
                        "gemm,GPU 0,SMs Active,Throughput %,1,0,60000,6,80.5,80.5,80.5\n"
                        "copy,GPU 0,SMs Active,Throughput %,1,0,40000,4,30.5,30.5,30.5\n");
    assert_non_null(strstr(note, "spans of less than 3 sample intervals, 2 times"));
    free(text);
    free(note);
    nvt_trace_free(trace);
}

/* The rows of roofline_measured. */
static void assert_measured(const char *text, const char *rows)
{
    static const char headings[] = "configuration,phase,range,quantity,declared,counted,sampled,at "
                                   "least,at most,by,why not,tensor pipes active (%)\n";
    const char *table = strstr(text, headings);
    assert_non_null(table);
    assert_string_equal(table + strlen(headings), rows);
}

/* 50 % and 10 % of 3350 GB/s, each half a per cent more or less, over 100 us, in which 201 MB are declared. */
static void roofline_has_dram_as_bytes(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct nvt_device device = {
        .process = maker.process,
        .name = nvt_strings_add_text(maker.trace->strings, "NVIDIA H100 80GB HBM3")};
    nvt_device_add(maker.trace, &device);
    maker.now = 15000;
    maker.launch_ns = 0;
    make_launch(&maker, "gemm", 100000); /* from 20 to 120 us */
    make_range(&maker, "mlp flops=1000 bytes=201000000", 15000);
    maker.now = 300000;
    make_metric(&maker, "DRAM Read Bandwidth", 50, 100);
    make_metric(&maker, "DRAM Write Bandwidth", 10, 100);
    struct nvt_trace *trace = make_end(&maker);
    char *note, *text = make_report("roofline", &trace, 1, &note);
    assert_measured(text, "made up,,mlp,GB/s,2010.000,,2010.000,1976.500,2043.500,DRAM,,\n"
                          "made up,,mlp,GFLOP/s,0.010,,,,,,no such GPU metric,\n"
                          "made up,,mlp,FLOP/byte,0.000,,0.000,0.000,0.000,declared FLOPs,,\n");
    assert_null(strstr(note, "were not measured"));
    free(text);
    free(note);
    nvt_trace_free(trace);
}

/* Two ranges of 10 us, with 3 and 5 kB and 40 and 60 kFLOP; what two threads did at once is none of theirs. */
static void roofline_has_what_was_counted(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_trace *trace = maker.trace;
    assert_int_equal(nvt_trace_set_meta(trace, "capture", "mlp flops=50000 bytes=4000@*"), 0);
    static const char *const units[] = {"B", "B", "FLOP", "2 FLOP"};
    uint32_t counters[4];
    for (int i = 0; i < 4; i++) {
        const struct nvt_counter row = {
            .process = maker.process,
            .domain = nvt_trace_domain(trace, maker.process, NVT_RANGES_DOMAIN "GPU 0"),
            .name = nvt_strings_add_text(trace->strings, (const char *[]){"a", "b", "c", "d"}[i]),
            .unit = nvt_strings_add_text(trace->strings, units[i]),
            .values = NVT_COUNTER_ABSOLUTE};
        counters[i] = nvt_counter_add(trace, &row);
    }
    for (int i = 0; i < 2; i++) {
        maker.now = 10000 + 20000 * i + 10000;
        make_range(&maker, "mlp flops=50000 bytes=4000", maker.now - 10000);
        const double values[] = {1000, 2000 + 2000 * i, 20000, 10000 + 10000 * i};
        for (int k = 0; k < 4; k++)
            add_sample(&maker, counters[k], maker.now + 500, values[k]);
    }
    trace = make_end(&maker);
    char *note, *text = make_report("roofline", &trace, 1, &note);
    /* 8 kB and 100 kFLOP in 20 us. */
    assert_measured(text, "made up,,mlp,GB/s,0.400,0.400,,,,DRAM,,\n"
                          "made up,,mlp,GFLOP/s,5.000,5.000,,,,operations,,\n"
                          "made up,,mlp,FLOP/byte,12.500,12.500,,,,operations and DRAM,,\n");
    assert_null(strstr(note, "were not measured"));
    free(text);
    free(note);
    nvt_trace_free(trace);
}

/*
 * Tensor pipes that are active for 40 % of 100 us, half a per cent more or less: at 989.4 TFLOP/s of bf16, 39.576 GFLOP; what a range is too short for, is of fp32, or
 * of a GPU without a data sheet, has the reason instead.
 */
static void roofline_has_tensor_pipes(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct maker maker = make_begin();
        const struct nvt_device device = {
            .process = maker.process,
            .name = nvt_strings_add_text(maker.trace->strings,
                                         is_known ? "NVIDIA H100 80GB HBM3" : "A new one")};
        nvt_device_add(maker.trace, &device);
        maker.launch_ns = 0;
        maker.now = 15000;
        make_launch(&maker, "gemm", 100000); /* from 20 to 120 us */
        make_range(&maker, "mlp flops=30e9 bytes=201000000 precision=bf16", 15000);
        maker.now = 215000;
        make_launch(&maker, "sgemm", 100000);
        make_range(&maker, "single flops=1e9 bytes=201000000", 215000);
        maker.now = 415000;
        make_launch(&maker, "small", 5000);
        make_range(&maker, "short flops=1e6 bytes=2010 precision=bf16", 415000);
        maker.now = 500000;
        make_metric(&maker, "Tensor Active", 40, 100);
        struct nvt_trace *trace = make_end(&maker);
        char *note, *text = make_report("roofline", &trace, 1, &note);
        assert_measured(
            text,
            is_known
                ? "made up,,mlp,GB/s,2010.000,,,,,,no such GPU metric,\n"
                  "made up,,mlp,GFLOP/s,300000.000,,395760.000,390813.000,400707.000,active "
                  "tensor pipes,,40.0\n"
                  "made up,,single,GB/s,2010.000,,,,,,no such GPU metric,\n"
                  "made up,,single,GFLOP/s,10000.000,,,,,,fp32 is not multiplied by tensor "
                  "cores,40.0\n"
                : "made up,,mlp,GB/s,2010.000,,,,,,\"GPU metrics, but of a GPU whose data sheet "
                  "is not known\",\n"
                  "made up,,mlp,GFLOP/s,300000.000,,,,,,\"GPU metrics, but of a GPU whose data "
                  "sheet is not known\",40.0\n"
                  "made up,,single,GB/s,2010.000,,,,,,\"GPU metrics, but of a GPU whose data "
                  "sheet is not known\",\n"
                  "made up,,single,GFLOP/s,10000.000,,,,,,\"GPU metrics, but of a GPU whose "
                  "data sheet is not known\",40.0\n");
        assert_non_null(strstr(note, is_known ? "note: bytes of 3 of 3 were not measured: no such "
                                                "GPU metric\n"
                                              : "note: bytes of 3 of 3 were not measured: GPU "
                                                "metrics, but of a GPU whose data sheet"));
        free(text);
        free(note);
        nvt_trace_free(trace);
    }
}

/* Samples that begin and end within others leave bounds: those of a pipe that is active half of the time, over a span of 45 us. */
static void sampled_flops_have_bounds(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const struct nvt_device device = {
        .process = maker.process,
        .name = nvt_strings_add_text(maker.trace->strings, "NVIDIA H100 80GB HBM3")};
    nvt_device_add(maker.trace, &device);
    maker.launch_ns = 0;
    maker.now = 15000;
    make_launch(&maker, "gemm", 45000); /* from 20 to 65 us: of the last sample, half */
    make_range(&maker, "mlp flops=30e9 bytes=201000000 precision=bf16", 15000);
    maker.now = 200000;
    make_metric(&maker, "Tensor Active", 60, 100);
    struct nvt_trace *trace = make_end(&maker);
    char *note, *text = make_report("roofline", &trace, 1, &note);
    /* 40 us of 59.5 to 60.5 % are known, as samples are whole numbers; of the last sample's activity, 5.95 to 6.05 us, the other half
     * has at most 5. */
    const double peak = 989400, low = peak * (40 * 0.595 + 0.95) / 45,
                 high = peak * (40 * 0.605 + 5) / 45;
    char row[160];
    snprintf(row, sizeof(row), "made up,,mlp,GFLOP/s,%.3f,,%.3f,%.3f,%.3f,", 30e9 / 45000,
             peak * 0.6, low, high);
    if (!strstr(text, row))
        fail_msg("no %s in\n%s", row, text);
    free(text);
    free(note);
    nvt_trace_free(trace);
}

/* Two processes at work on one GPU: samples are of both, and a line says so. Of two GPUs, or one process, none does. */
static void shared_devices_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *gpus[2];
        int is_told;
    } cases[] = {{{"GPU-1", "GPU-1"}, 1}, {{"GPU-1", "GPU-2"}, 0}, {{"GPU-1", NULL}, 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        for (int k = 0; k < 2 && cases[i].gpus[k]; k++) {
            make_process(&maker, 10 + k, 0);
            const struct nvt_device device = {
                .process = maker.process,
                .name = nvt_strings_add_text(maker.trace->strings, "NVIDIA H100 80GB HBM3"),
                .gpu = nvt_strings_add_text(maker.trace->strings, cases[i].gpus[k])};
            nvt_device_add(maker.trace, &device);
            const int64_t start = maker.now;
            make_launch(&maker, "gemm", 100000);
            make_range(&maker, "forward", start);
        }
        maker.now = 400000;
        add_gpu_samples(&maker, "GPU-1");
        struct nvt_trace *trace = make_end(&maker);
        char *note = NULL;
        char *text =
            make_report("gpu_metrics_by_range", &trace, 1, cases[i].is_told ? &note : NULL);
        assert_non_null(strstr(text, ":forward,GPU 0,SMs Active"));
        if (cases[i].is_told)
            assert_string_equal(note, "note: 2 processes use one device (NVIDIA H100 80GB HBM3): "
                                      "its metrics are those of all\n");
        free(text);
        free(note);
        nvt_trace_free(trace);
    }
}

/* Why no metric is of a range: no operations, GPUs that are not known, others, and short ranges. */
static void what_is_not_there_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *gpu; /* NULL: no operations */
        int64_t ns;
        const char *note;
    } cases[] = {{NULL, 0, "note: there are GPU metrics, but no device operations in the input\n"},
                 {"", 100000, "note: the GPU that the operations ran on is not known"},
                 {"GPU-2", 100000, "note: the GPU metrics are of other GPUs than the operations\n"},
                 {"GPU-1", 5000, "note: no range lasts three sample intervals on the device\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct maker maker = make_begin();
        const struct nvt_device device = {
            .process = maker.process,
            .name = nvt_strings_add_text(maker.trace->strings, "NVIDIA H100 80GB HBM3"),
            .gpu = nvt_strings_add_text(maker.trace->strings, cases[i].gpu ? cases[i].gpu : "")};
        nvt_device_add(maker.trace, &device);
        if (cases[i].gpu)
            make_launch(&maker, "gemm", cases[i].ns);
        maker.now = 400000;
        make_range(&maker, "forward", 0);
        add_gpu_samples(&maker, "GPU-1");
        struct nvt_trace *trace = make_end(&maker);
        char *note = NULL, *text = make_report("gpu_metrics_by_range", &trace, 1, &note);
        assert_null(strstr(text, "SMs Active"));
        if (!strstr(note, cases[i].note))
            fail_msg("case %zu: %s", i, note);
        free(text);
        free(note);
        nvt_trace_free(trace);
    }
}

/* --- permissions -------------------------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char command[600];
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\"", cli_folder, name);
    assert_int_equal(system(command), 0);
    cli_write_file(cli_in(cli_folder, name), text, strlen(text));
}

/* In a folder that stands for /proc. */
static void permissions_are_told(void **state)
{
    (void)state;
    char why[384];
    assert_int_equal(nvt_gpu_counters_in(cli_folder, 0, why, sizeof(why)),
                     NVT_GPU_COUNTERS_NO_DRIVER);
    assert_string_equal(why, "");
    put("driver/nvidia/params", "EnableMSI: 1\n");
    assert_int_equal(nvt_gpu_counters_in(cli_folder, 1, why, sizeof(why)),
                     NVT_GPU_COUNTERS_UNKNOWN);
    assert_non_null(strstr(why, "no RmProfilingAdminOnly in it"));
    put("driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\nOther: 2\n");
    assert_int_equal(nvt_gpu_counters_in(cli_folder, 0, why, sizeof(why)),
                     NVT_GPU_COUNTERS_REFUSED);
    assert_non_null(strstr(why, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_int_equal(nvt_gpu_counters_in(cli_folder, 1, why, sizeof(why)),
                     NVT_GPU_COUNTERS_ALLOWED);
    assert_string_equal(why, "allowed, to administrators");
    put("driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
    put("17/comm", "nv-hostengine\n");
    put("driver/nvidia/capabilities/gpu0/mig/gi1/access", "DeviceFileMinor: 12\n");
    assert_int_equal(nvt_gpu_counters_in(cli_folder, 0, why, sizeof(why)),
                     NVT_GPU_COUNTERS_ALLOWED);
    assert_string_equal(why, "allowed; a GPU has MIG instances, in which some metrics are refused; "
                             "DCGM runs (nv-hostengine) and may have them (dcgmi profile --pause)");
    /* The program says the same of this machine. */
    const char *argv[] = {"nvtally", "info", NULL};
    struct cli_result result = cli_run(argv);
    const char *line = strstr(result.out, "GPU counters");
    assert_non_null(line);
    if (nvt_gpu_counters(why, sizeof(why)) != NVT_GPU_COUNTERS_NO_DRIVER)
        assert_non_null(strstr(line, why));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_what_edges_allow),
        cmocka_unit_test(truth_lies_within_the_bounds),
        cmocka_unit_test(metrics_are_those_of_ranges_and_kernels),
        cmocka_unit_test(roofline_has_dram_as_bytes),
        cmocka_unit_test(roofline_has_what_was_counted),
        cmocka_unit_test(roofline_has_tensor_pipes),
        cmocka_unit_test(sampled_flops_have_bounds),
        cmocka_unit_test(shared_devices_are_told),
        cmocka_unit_test(what_is_not_there_is_told),
        cmocka_unit_test(permissions_are_told),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
