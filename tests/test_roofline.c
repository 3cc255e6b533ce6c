/* The roofline: times at the roof by hand, of records, of ranges on the host and on a device, and of a program's own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../analyze/studies/roofline.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"

static struct nvt_error err = NVT_ERROR_INIT;

#define HEADINGS                                                                                   \
    "configuration,phase,range,n,mean (ns),FLOP/byte,GFLOP/s,GB/s,precision,roof (GFLOP/s),of "    \
    "the roof (%),bound by,gained at the roof (ns),clock\n"
#define BYTES_NOTE                                                                                 \
    "note: bytes are the least that must be moved, as the program declares, not a measurement; "   \
    "nested ranges each count their whole time\n"

/* --- names and payloads --- */

static void what_is_declared_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plain;
        double flops, bytes;
        enum nvt_roof roof;
    } names[] = {
        {"mlp flops=1e9 bytes=2e6", "mlp", 1e9, 2e6, NVT_ROOFS},
        {"bytes=2 my  mlp precision=bf16 flops=1 x", " my  mlp x", 1, 2, NVT_ROOF_BF16},
        {"mlp flops=1 bytes=0 precision=odd", "mlp precision=odd", 1, 0, NVT_ROOF_OTHER},
        {"mlp flops=1", "mlp flops=1", NAN, NAN, NVT_ROOFS},
        {"mlp flops=x bytes=2", "mlp flops=x bytes=2", NAN, NAN, NVT_ROOFS},
        {"mlp flops=-1 bytes=2", "mlp flops=-1 bytes=2", NAN, NAN, NVT_ROOFS},
        {"mlp flops=inf bytes=2", "mlp flops=inf bytes=2", NAN, NAN, NVT_ROOFS},
        {"mlp flops=0 bytes=0", "mlp flops=0 bytes=0", NAN, NAN, NVT_ROOFS},
        {"gigaflops=1 xbytes=2", "gigaflops=1 xbytes=2", NAN, NAN, NVT_ROOFS},
        {"flops= bytes=", "flops= bytes=", NAN, NAN, NVT_ROOFS},
        {"", "", NAN, NAN, NVT_ROOFS},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        char *plain;
        const struct nvt_declared work = nvt_declared_in_name(names[i].name, &plain);
        assert_string_equal(plain, names[i].plain);
        assert_true(isnan(names[i].flops)
                        ? isnan(work.flops) && isnan(work.bytes)
                        : work.flops == names[i].flops && work.bytes == names[i].bytes);
        assert_int_equal(work.roof, names[i].roof);
        free(plain);
    }
    static const struct {
        const char *payload;
        double flops, bytes;
        enum nvt_roof roof;
    } payloads[] = {
        {"{\"flops\":6,\"bytes\":3}", 6, 3, NVT_ROOFS},
        {"{\"precision\":\"int8\",\"flops\":6,\"bytes\":3}", 6, 3, NVT_ROOF_INT8},
        {"{\"precision\":8,\"flops\":6,\"bytes\":3}", 6, 3, NVT_ROOFS},
        {"{\"precision\":\"fp160\",\"flops\":6,\"bytes\":3}", 6, 3, NVT_ROOF_OTHER},
        /* As Python's nvtx has what NumPy holds. */
        {"{\"flops\":{\"uint64\":6},\"bytes\":{\"float64\":3.5}}", 6, 3.5, NVT_ROOFS},
        {"{\"flops\":{\"uint64", NAN, NAN, NVT_ROOFS},
        {"{\"flops\":{\"uint64\":", NAN, NAN, NVT_ROOFS},
        {"{\"flops\":{\"", NAN, NAN, NVT_ROOFS},
        {"{\"flops\":nan,\"precision\":", NAN, NAN, NVT_ROOFS},
        {"17", NAN, NAN, NVT_ROOFS},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(payloads); i++) {
        const struct nvt_declared work = nvt_declared_in_payload(payloads[i].payload);
        assert_true(isnan(payloads[i].flops)
                        ? isnan(work.flops)
                        : work.flops == payloads[i].flops && work.bytes == payloads[i].bytes);
        assert_int_equal(work.roof, payloads[i].roof);
    }
}

/* --- run directories --- */

/* Runs of 1 ms, ten of them: FLOPs and bytes in so many words. */
#define ROW(n, precision, flops, bytes)                                                            \
    "{\"workload\": \"toy\", \"n\": " #n ", \"precision\": \"" precision                           \
    "\", \"backend\": \"host\", \"iterations\": 10, \"status\": \"ok\", \"forward_ns_mean\": "     \
    "1000000, \"flops_forward\": " #flops ", \"bytes_forward\": " #bytes ", \"trace\": null}\n"

static void write_run(const char *results, const char *env)
{
    cli_write_file(cli_in(cli_folder, "results.jsonl"), results, strlen(results));
    cli_write_file(cli_in(cli_folder, "env.json"), env, strlen(env));
}

static void expect(const char *cache, const char *body, const char *note)
{
    const char *const environment[] = {cache, NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 60};
    const char *argv[] = {"nvtally", "stats", "-r", "roofline", "-f", "csv", cli_folder, NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_true(!strncmp(result.out, HEADINGS, strlen(HEADINGS)));
    assert_string_equal(result.out + strlen(HEADINGS), body);
    if (!strstr(result.err, note))
        fail_msg("'%s' does not say '%s'", result.err, note);
    cli_result_free(&result);
}

static void times_at_the_roof_are_those_by_hand(void **state)
{
    (void)state;
    /* 100 GFLOP/s, 200 in bf16, and 10 GB/s: the ridge is at 10 FLOPs a byte. In a ms, 1e8 FLOPs or 1e7 bytes. */
    write_run(ROW(1, "fp32", 50000000, 1000000)  /* 50 FLOP/byte: half of the compute roof */
              ROW(2, "fp32", 5000000, 5000000)   /* 1 FLOP/byte: half of the memory roof */
              ROW(3, "fp32", 1000000, 1000000)   /* a tenth of it */
              ROW(4, "fp32", 20000000, 20000000) /* twice the memory roof */
              ROW(5, "bf16", 50000000, 1000000)  /* a quarter */
              ROW(6, "tf32", 50000000, 1000000)  /* nothing is known of that */
              ROW(7, "fp32", 0, 8000000)         /* no FLOPs */
              ROW(8, "fp32", 0, 0),              /* no work */
              "{\"peak_flops_fp32\": 1e11, \"peak_flops_bf16\": 2e11, \"peak_bytes\": 1e10, "
              "\"threads\": 2, \"device\": \"A toy\"}\n");
    expect("NVTALLY_CACHE=",
           "toy n=3 precision=fp32,forward,,10,1000000.0,1.000,1.000,1.000,fp32,10.000,10.0,"
           "neither,9000000,host\n"
           "toy n=5 precision=bf16,forward,,10,1000000.0,50.000,50.000,1.000,bf16,200.000,25.0,"
           "neither,7500000,host\n"
           "toy n=1 precision=fp32,forward,,10,1000000.0,50.000,50.000,1.000,fp32,100.000,50.0,"
           "compute,5000000,host\n"
           "toy n=2 precision=fp32,forward,,10,1000000.0,1.000,5.000,5.000,fp32,10.000,50.0,"
           "memory,5000000,host\n"
           "toy n=7 precision=fp32,forward,,10,1000000.0,0.000,0.000,8.000,,,80.0,"
           "memory,2000000,host\n"
           "toy n=4 precision=fp32,forward,,10,1000000.0,1.000,20.000,20.000,fp32,10.000,200.0,"
           "memory,0,host\n"
           "toy n=6 precision=tf32,forward,,10,1000000.0,50.000,50.000,1.000,tf32,,,,,host\n",
           "note: the roofs are what GEMMs and a copy reached on A toy with 2 threads, measured "
           "with the run\nnvtally: note: 1 above its roof, faster than the GEMM or the copy that "
           "was measured: data stayed in a cache, the work writes what it has read, or the machine "
           "had other work when the roof was measured\nnvtally: note: the machine's roof is "
           "unknown for 1 of 7;");
}

/* Of a directory that states no peaks: those that are kept of its machine and device, the last ones. */
static void kept_peaks_are_those_of_the_machine(void **state)
{
    (void)state;
    static const char lines[] =
        "elsewhere\thost\tA toy\tlibraries\t1\t2026-01-01T00:00:00Z\t1e10\t0\t0\t0\t1e9\t0\n"
        "elsewhere\thost\tA toy\tlibraries\t2\t2026-02-01T00:00:00Z\t1e11\t0\t0\t0\t1e10\t0\n"
        "elsewhere\thost\tAnother\tlibraries\t2\t2026-03-01T00:00:00Z\t1e12\t0\t0\t0\t1e11\t0\n"
        "elsewhere\tcuda\tA toy\tlibraries\t0\t2026-03-01T00:00:00Z\t1e12\t0\t0\t0\t1e11\t0\n"
        "here\thost\tA toy\tlibraries\t2\t2026-03-01T00:00:00Z\t1e13\t0\t0\t0\t1e12\t0\n";
    char cache[600];
    snprintf(cache, sizeof(cache), "NVTALLY_CACHE=%s", cli_in(cli_folder, "kept"));
    mkdir(strchr(cache, '=') + 1, 0755);
    cli_write_file(cli_in(cli_folder, "kept/peaks.tsv"), lines, strlen(lines));
    write_run(ROW(1, "fp32", 50000000, 1000000),
              "{\"host\": \"elsewhere\", \"backend\": \"host\", \"device\": \"A toy\"}\n");
    expect(cache,
           "toy n=1 precision=fp32,forward,,10,1000000.0,50.000,50.000,1.000,fp32,100.000,50.0,"
           "compute,5000000,host\n",
           "reached on A toy with 2 threads, measured 2026-02-01T00:00:00Z");
    write_run(ROW(1, "fp32", 50000000, 1000000),
              "{\"host\": \"nowhere\", \"backend\": \"host\", \"device\": \"A toy\"}\n");
    expect(cache,
           "toy n=1 precision=fp32,forward,,10,1000000.0,50.000,50.000,1.000,fp32,,,,,host\n",
           "unknown for 1 of 1;");
}

/* --- traces --- */

static void push(struct nvt_trace *trace, const char *domain, const char *name, int64_t start,
                 int64_t end, const char *payload)
{
    struct nvt_range row = {.start = start,
                            .end = end,
                            .name = nvt_strings_add_text(trace->strings, name),
                            .domain = nvt_trace_domain(trace, 0, domain),
                            .style = NVT_PUSH_POP};
    if (payload) {
        row.payload = nvt_strings_add_text(trace->strings, payload);
        row.flags = NVT_RANGE_HAS_PAYLOAD;
    }
    assert_true(nvt_range_add(trace, &row) != NVT_NONE);
}

static void kernel(struct nvt_trace *trace, int64_t launch, int64_t start, int64_t end)
{
    struct nvt_op row = {.start = start,
                         .end = end,
                         .name = nvt_strings_add_text(trace->strings, "kernel"),
                         .launch = launch,
                         .api = NVT_NONE,
                         .detail = NVT_NONE,
                         .kind = NVT_OP_KERNEL};
    row.short_name = row.name;
    assert_true(nvt_op_add(trace, &row) != NVT_NONE);
}

static struct nvt_trace *new_trace(void)
{
    struct nvt_trace *trace = nvt_trace_new("toy.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    return trace;
}

static void expect_of(struct nvt_trace *trace, const char *body, const char *notes)
{
    struct nvt_input input = {.trace_count = 1};
    struct nvt_tables tables = {0};
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    input.traces = calloc(1, sizeof(*input.traces));
    input.traces[0].trace = trace;
    assert_int_equal(nvt_report_make(nvt_report_find("roofline"), &input, &tables, &err), 0);
    FILE *out = open_memstream(&text, &size);
    nvt_render_csv(&tables, out);
    fclose(out);
    assert_string_equal(text + strlen(HEADINGS), body);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    assert_string_equal((const char *)input.notes.data, notes);
    free(text);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

#define UNKNOWN(count, of) UNMEASURED(count, of, "no hardware counters of the host")
#define UNMEASURED(count, of, why)                                                                 \
    "note: bytes of " count " of " of " were not measured: " why "\n"                              \
    "note: the machine's roof is unknown for " count " of " of                                     \
    "; run nvtally info --peak there to measure and keep it\n"

/* Phases with the ranges in them, warm-ups and what did not end left out, loops by their calls. */
static void ranges_lie_in_their_phases(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace();
    static const char work[] = "{\"flops\":4000,\"bytes\":1000}";
    push(trace, "nvtally", "toy n=1", 0, 90000, NULL);
    push(trace, "nvtally", "warmup", 0, 900, NULL);
    push(trace, "nvtally", "forward", 10, 800, work);
    for (int64_t at = 1000; at < 21000; at += 10000) {
        push(trace, "nvtally", "iteration", at, at + 9000, NULL);
        push(trace, "nvtally", "forward", at, at + 4000, work);
        push(trace, "", "norm", at, at + 1000, "{\"flops\":500,\"bytes\":1000}");
        push(trace, "", "mlp flops=1000 bytes=500", at + 1000, at + 3000, NULL);
        push(trace, "nvtally", "own phase", at + 4000, at + 6000, work);
        push(trace, "", "norm", at + 4000, at + 5000, "{\"flops\":500,\"bytes\":1000}");
    }
    push(trace, "nvtally", "loop", 30000, 40000, "5");
    push(trace, "nvtally", "cast_x", 30000, 40000, "{\"flops\":0,\"bytes\":10000}");
    push(trace, "", "alone", 50000, 51000, work);
    expect_of(trace,
              "toy n=1,cast_x,,5,2000.0,0.000,0.000,1.000,,,,,,host\n"
              "toy n=1,forward,,2,4000.0,4.000,1.000,0.250,fp32,,,,,host\n"
              "toy n=1,own phase,,2,2000.0,4.000,2.000,0.500,fp32,,,,,host\n"
              "toy n=1,forward,mlp,2,2000.0,2.000,0.500,0.250,fp32,,,,,host\n"
              "toy n=1,forward,norm,2,1000.0,0.500,0.500,1.000,fp32,,,,,host\n"
              "toy n=1,own phase,norm,2,1000.0,0.500,0.500,1.000,fp32,,,,,host\n"
              "toy n=1,,alone,1,1000.0,4.000,4.000,1.000,fp32,,,,,host\n",
              BYTES_NOTE UNKNOWN("7", "7"));
}

/* Time is from the first operation to the last; without operations on record nothing waits but phases. */
static void a_device_has_its_own_clock(void **state)
{
    (void)state;
    for (int with_operations = 0; with_operations < 2; with_operations++) {
        struct nvt_trace *trace = new_trace();
        static const char work[] = "{\"flops\":4000,\"bytes\":1000}";
        assert_int_equal(nvt_trace_set_meta(trace, "backend", "cuda"), 0);
        push(trace, "nvtally", "iteration", 0, 9000, NULL);
        push(trace, "nvtally", "forward", 0, 8000, work);
        push(trace, "", "mlp", 100, 200, work);
        if (with_operations) {
            kernel(trace, 110, 1000, 1400);
            kernel(trace, 120, 1600, 2000);
            kernel(trace, 300, 2000, 6000);
        }
        expect_of(
            trace,
            with_operations ? "toy.nvt,forward,,1,5000.0,4.000,0.800,0.200,fp32,,,,,device\n"
                              "toy.nvt,forward,mlp,1,1000.0,4.000,4.000,1.000,fp32,,,,,device\n"
                            : "toy.nvt,forward,,1,8000.0,4.000,0.500,0.125,fp32,,,,,host\n",
            with_operations
                ? BYTES_NOTE UNMEASURED("2", "2", "no GPU metrics")
                : "note: 1 range within phases is left out: nothing waits for the device in it, "
                  "and its operations were not recorded (--collect kernel)\n" BYTES_NOTE UNKNOWN(
                      "1", "1"));
    }
}

static void without_work_there_is_no_row(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace();
    push(trace, "", "forward", 0, 100, NULL);
    push(trace, "", "at once", 100, 100, "{\"flops\":1,\"bytes\":1}");
    expect_of(trace, "",
              "note: no range declares its FLOPs and bytes; nvtally-stats(1) shows how\n");
}

/* The phases of a run over ranks carry the work of all of it: those of its first rank count. */
static void ranks_count_once(void **state)
{
    (void)state;
    static const char row[] = "{\"workload\": \"toy\", \"n\": 1, \"backend\": \"host\"}";
    struct nvt_buffer results = {0}, env = {0};
    struct nvt_input input = {.trace_count = 3};
    struct nvt_roofline roofline = {0};
    assert_int_equal(nvt_buffer_append(&results, row, strlen(row)), 0);
    assert_int_equal(nvt_buffer_append(&env, "{}", 2), 0);
    struct nvt_runs *runs = nvt_runs_of_text("toy", &results, &env, &err);
    assert_non_null(runs);
    runs->is_of_traces = 1;
    input.traces = calloc(3, sizeof(*input.traces));
    for (size_t i = 0; i < 3; i++) { /* the third is of another run */
        struct nvt_trace *trace = new_trace();
        push(trace, "nvtally", "forward", 0, 100, "{\"flops\":4000,\"bytes\":1000}");
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        input.traces[i] =
            (struct nvt_input_trace){.trace = trace, .runs = i < 2 ? runs : NULL, .record = 0};
    }
    assert_int_equal(nvt_input_take(&input, runs), 0);
    assert_int_equal(nvt_roofline_make(&roofline, &input, &err), 0);
    assert_int_equal(roofline.count, 1);
    assert_true(roofline.points[0].count == 2 && roofline.points[0].flops == 8000);
    nvt_roofline_free(&roofline);
    nvt_input_free(&input);
    nvt_buffer_free(&results);
    nvt_buffer_free(&env);
}

/* A trace of strangers: every range has a name, a payload and a configuration of its own. */
static void many_names_take_no_time(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    struct nvt_trace *trace = new_trace();
    struct nvt_input input = {.trace_count = 1};
    struct nvt_roofline roofline = {0};
    for (int i = 0; i < COUNT; i++) {
        char name[64], payload[64];
        snprintf(name, sizeof(name), "range%d x=%d", i, i);
        snprintf(payload, sizeof(payload), "{\"flops\":%d,\"bytes\":1}", i);
        push(trace, "nvtally", name, 10 * i, 10 * i + 9, payload);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    input.traces = calloc(1, sizeof(*input.traces));
    input.traces[0].trace = trace;
    assert_int_equal(nvt_roofline_make(&roofline, &input, &err), 0);
    assert_int_equal(roofline.count, COUNT);
    nvt_roofline_free(&roofline);
    nvt_input_free(&input);
}

/* --- programs of their own --- */

static void expect_program(const char *const program[], const char *range, const char *intensity)
{
    const char *trace = cli_in(cli_folder, "own.nvt");
    const char *argv[9] = {"nvtally", "record", "-o", trace, "--"}, *at;
    for (size_t i = 0; program[i]; i++)
        argv[5 + i] = program[i];
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *stats[] = {"nvtally", "stats", "-r", "roofline", "-f", "csv", trace, NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    at = strstr(result.out, range);
    assert_non_null(at);
    at = strchr(at + strlen(range), ','); /* behind the time */
    assert_true(at && !strncmp(at + 1, intensity, strlen(intensity)));
    cli_result_free(&result);
}

/* The example of documents in C, and payloads of Python, where that has NumPy. */
static void a_program_says_what_its_work_is(void **state)
{
    (void)state;
    static const char script[] =
        "import numpy, nvtx\n"
        "WORK = numpy.dtype([('flops', 'u8'), ('bytes', 'u8')])\n"
        "with nvtx.annotate('triad', payload=numpy.array((2, 24), dtype=WORK)):\n"
        "    pass\n";
    static const char *const python[] = {"python3", "-c", script, NULL}, *const asked[] = {
                                                                             "python3", "-c",
                                                                             "import numpy, nvtx",
                                                                             NULL};
    const char *const client[] = {cli_client("work"), NULL};
    expect_program(client, ",,triad,20,", "0.167,");
    struct cli_result result = cli_run(asked);
    if (result.status)
        print_message("Python has not both of nvtx and NumPy: not run\n");
    else
        expect_program(python, ",,triad,1,", "0.083,");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_declared_is_read),
        cmocka_unit_test(times_at_the_roof_are_those_by_hand),
        cmocka_unit_test(kept_peaks_are_those_of_the_machine),
        cmocka_unit_test(ranges_lie_in_their_phases),
        cmocka_unit_test(a_device_has_its_own_clock),
        cmocka_unit_test(without_work_there_is_no_row),
        cmocka_unit_test(ranks_count_once),
        cmocka_unit_test(many_names_take_no_time),
        cmocka_unit_test(a_program_says_what_its_work_is),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
