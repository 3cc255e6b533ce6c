/*
 * What all charts have in common, whatever they show: they are as wide as the column of a paper, or as a
 * screen has room for, no text is smaller than 7 pt in that column, none lies on another or out of the picture, axes have their
 * units, where it was measured stands below, and script and data lie beside it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "../plots/frame.h"
#include "../plots/label.h"
#include "../plots/looks.h"
#include "../lib/words.h"
#include "cli.h"
#include "made_trace.h"

/* --- the texts of a picture --- */

enum { TEXTS = 400, TEXT = 200 };

struct text {
    char text[TEXT];
    double left, right, top, bottom, size;
};

struct picture {
    double width, height;
    struct text texts[TEXTS];
    size_t count;
};

/* What stands between the tags up to `end`, entities as one character. */
static void copy_text(const char *at, const char *end, char *out)
{
    size_t used = 0;
    for (int in_tag = 0; at < end && used + 1 < TEXT; at++) {
        in_tag = *at == '<' ? 1 : in_tag;
        if (!in_tag && *at == '&') {
            out[used++] = '?';
            at = strchr(at, ';');
        } else if (!in_tag && *at != '\n' && *at != '\t') {
            out[used++] = *at;
        }
        in_tag = *at == '>' ? 0 : in_tag;
    }
    out[used] = 0;
    memmove(out, out + strspn(out, " "), strlen(out + strspn(out, " ")) + 1);
}

/* Boxes are a little less than what is drawn. */
static void add_text(struct picture *picture, const char *group, const char *end)
{
    struct text *text = &picture->texts[picture->count];
    double x, y, turned = 0;
    assert_true(picture->count < TEXTS);
    /* An angle has no decimals before gnuplot 6. */
    assert_true(sscanf(group, "<g transform=\"translate(%lf,%lf) rotate(%lf)", &x, &y, &turned) >=
                2);
    assert_true(turned == 0 || turned == 270);
    int is_rotated = turned != 0;
    const char *size = strstr(group, "font-size=\""), *anchor = strstr(group, "text-anchor=\"");
    assert_true(size && anchor && size < end && anchor < end);
    text->size = strtod(size + 11, NULL);
    copy_text(strstr(group, "<text>"), end, text->text);
    double length = 0.97 * text->size / NVT_LABEL_PX * nvt_label_pixels(text->text);
    double before = anchor[13] == 'm' ? length / 2 : anchor[13] == 'e' ? length : 0;
    double up = 0.78 * text->size, down = 0.2 * text->size;
    if (is_rotated) {
        text->left = x - up;
        text->right = x + down;
        text->bottom = y + before;
        text->top = text->bottom - length;
    } else {
        text->left = x - before;
        text->right = text->left + length;
        text->top = y - up;
        text->bottom = y + down;
    }
    picture->count += *text->text != 0;
}

static void read_picture(const char *svg, struct picture *picture)
{
    const char *box = strstr(svg, "viewBox=\"0 0 ");
    assert_non_null(box);
    assert_int_equal(sscanf(box, "viewBox=\"0 0 %lf %lf", &picture->width, &picture->height), 2);
    picture->count = 0;
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")) != NULL; at++) {
        const char *text = strstr(at, "<text>"), *next = strstr(at + 1, "<g ");
        if (text && (!next || text < next))
            add_text(picture, at, strstr(text, "</text>"));
    }
}

static void expect_apart(const char *path, const struct picture *picture)
{
    for (size_t i = 0; i < picture->count; i++) {
        const struct text *a = &picture->texts[i];
        if (a->size < NVT_LABEL_PX)
            fail_msg("%s: '%s' is too small", path, a->text);
        if (a->left < -1 || a->right > picture->width + 1 || a->top < -1 ||
            a->bottom > picture->height + 1)
            fail_msg("%s: '%s' is not in the picture", path, a->text);
        for (size_t k = 0; k < i; k++) {
            const struct text *b = &picture->texts[k];
            if (fmin(a->right, b->right) - fmax(a->left, b->left) > 1 &&
                fmin(a->bottom, b->bottom) - fmax(a->top, b->top) > 1)
                fail_msg("%s: '%s' lies on '%s'", path, a->text, b->text);
        }
    }
}

/* --- what each chart must say --- */

static const struct {
    const char *name, *texts[4];
} said[] = {
    {"change", {"time of B / time of A", "slower", "call tree", "intervals of"}},
    {"flame-change-host", {"time (", "A: before.nvt", "B: after.nvt", "load, "}},
    {"flame-change-device", {"time (", "matmul", "launched them", "half or less"}},
    {"flame-change-cpu", {"CPU time (", "twice or more", "gone", "new"}},
    {"fragments-", {"time (ms)", "memory (MiB)", "number (", "number of fragments"}},
    {"switchback-times", {"time (ms), log scale", "narrow side of the layer (features)"}},
    {"switchback-speedup", {"speed-up (%)", "narrow side of the layer (features)"}},
    {"gpipe-memory-time", {"allocated (MiB)", "time since the step began (ms)"}},
    {"gpipe-memory", {"memory (MiB), log scale", "micro-batches M"}},
    {"gpipe-throughput", {"samples per s", "micro-batches M"}},
    {"gpipe-schedule", {"partition", "time since the step began (ms)"}},
    {"scaling-", {"median (", ", log scale"}},
    {"phases-", {"time (", "forward"}},
    {"roofline", {"FLOP/s, log scale", "arithmetic intensity (FLOP/byte)", "copy ", "Roof: "}},
    {"warmup-", {"time (", "iteration since the start", "--warmup 0, 2 processes"}},
    {"overhead", {"time / baseline (1: ", "level of --collect"}},
    {"reference-", {"ours / published", "Published: ", "Ours: "}},
    {"made-timeline", {"time since the iteration began (", "GPU 0 stream 7", "GEMM", "forward"}},
    {"made-flame-device", {"time (", "matmul", "launched them"}},
    {"made-flame-host", {"time (", "forward", "own time"}},
    {"made-ranges", {"total time (", "forward"}},
    {"made-kernels", {"total time (", "matmul"}},
    {"made-critical-path", {"time (", "matmul", "GEMM", "Of the last"}},
    {"made-osrt", {"share of the ", "files", "outside", "share in OS calls"}},
    {"made-mpi_peers", {"to rank", "from rank", "3 MB", "in bytes"}},
    {"made-mpi", {"time (", "outside of MPI", "collectives", "rank 3 · 25.0 % in MPI"}},
    {"made-cpu", {"CPU time (", "forward", "samples of what threads run", "matmul"}},
    {"made-memory-at-peak", {"memory (", "forward", "not yet freed when most was allocated"}},
    {"made-memory", {"memory (MiB)", "time (", "reserved", "backward"}},
    {"made-counters", {"loss", "tokens, in all", "10³ tok", "time ("}},
};
enum {
    CHARTS = NVT_COUNT_OF(said),
    TRACE_CHARTS = 13, /* the last ones */
    CHANGE_CHARTS = 4  /* the first ones: of comparisons */
};

static void expect_said(const char *path, const struct picture *picture, int seen[CHARTS])
{
    const char *name = strrchr(path, '/') + 1;
    size_t i = 0;
    while (i < CHARTS && strncmp(name, said[i].name, strlen(said[i].name)))
        i++;
    if (i == CHARTS) {
        fail_msg("nothing is known about the chart %s", name);
        return;
    }
    seen[i] = 1;
    for (size_t t = 0; t < 4 && said[i].texts[t]; t++) {
        int found = 0;
        for (size_t k = 0; k < picture->count; k++)
            found |= strstr(picture->texts[k].text, said[i].texts[t]) != NULL;
        if (!found)
            fail_msg("%s does not say '%s'", name, said[i].texts[t]);
    }
}

/* The last line: where it was measured, or that it was published. */
static void expect_provenance(const char *path, const struct picture *picture)
{
    for (size_t i = 0; i < picture->count; i++)
        if (strstr(picture->texts[i].text, "host") || strstr(picture->texts[i].text, "published") ||
            strstr(picture->texts[i].text, "A made GPU"))
            return;
    fail_msg("%s does not say where it was measured", path);
}

static void expect_pictures(const char *paths, int seen[CHARTS])
{
    struct picture *picture = malloc(sizeof(*picture));
    char *list = strdup(paths), *rest = list;
    assert_non_null(picture);
    for (char *path; (path = strsep(&rest, "\n")) && *path;) {
        char *svg = cli_read_file(path, NULL), other[4200];
        assert_non_null(svg);
        read_picture(svg, picture);
        free(svg);
        if ((int)picture->width != NVT_FRAME_WIDTH && (int)picture->width != NVT_FRAME_WIDE)
            fail_msg("%s is %g px wide", path, picture->width);
        expect_apart(path, picture);
        expect_said(path, picture, seen);
        expect_provenance(path, picture);
        snprintf(other, sizeof(other), "%.*s.gp", (int)(strlen(path) - 4), path);
        svg = cli_read_file(other, NULL);
        assert_non_null(svg);
        /* The data that the script reads lies there too. */
        const char *data = strstr(svg, ".dat'");
        assert_non_null(data);
        const char *quote = data;
        while (*quote != '\'')
            quote--;
        snprintf(other, sizeof(other), "%.*s/%.*s.dat", (int)(strrchr(path, '/') - path), path,
                 (int)(data - quote - 1), quote + 1);
        assert_int_equal(access(other, R_OK), 0);
        free(svg);
    }
    free(list);
    free(picture);
}

static int no_gnuplot(void)
{
    int missing = !cli_has_gnuplot();
    if (missing)
        print_message("not run: there is no gnuplot\n");
    return missing;
}

static void expect_charts_of(const char *const argv[], const char *directory, int seen[CHARTS])
{
    struct cli_options options = {.timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *const plot[] = {"nvtally", "plot", directory, NULL};
    result = cli_run_with(&options, plot);
    cli_expect_status(&result, 0);
    expect_pictures(result.out, seen);
    cli_result_free(&result);
}

/* One of each study that is drawn by itself, as small as its charts take. */
static const char *const runs[][32] = {
    {"nvtally", "run",          "gpipe",  "--partitions", "1,2", "--microbatches",
     "1,2,4",   "--checkpoint", "off,on", "--d-model",    "16",  "--layers",
     "2",       "--heads",      "2",      "--d-ff",       "32",  "--vocabulary",
     "32",      "--batch",      "4",      "--sequence",   "8",   "--warmup",
     "1",       "--iterations", "2"},
    {"nvtally", "run", "linear", "--size", "64", "--batch", "1", "--warmup", "0,2", "--iterations",
     "4", "--repeat", "2"},
    {"nvtally",  "run",      "transformer", "--d-model",    "32", "--d-ff",       "64", "--layers",
     "1",        "--heads",  "2",           "--context",    "16", "--vocabulary", "50", "--collect",
     "off,nvtx", "--warmup", "1",           "--iterations", "4",  "--peak"},
    {"nvtally", "run", "switchback", "--dim", "64,128,1024", "--batch", "1024", "--timing",
     "single", "--warmup", "1", "--iterations", "2", "--width-multiplier", "4"},
    {"nvtally", "run", "fragmented", "--size", "64", "--batch", "1", "--fragments", "2,4,8",
     "--iterations", "4", "--warmup", "1"},
    /* One phase alone: a panel without a title of its own. */
    {"nvtally", "run", "accumulate", "--form", "fp32,fp16", "--count", "100,1000,10000",
     "--iterations", "4", "--warmup", "1"}};
enum { STUDIES = NVT_COUNT_OF(runs) };

static void expect_all(const int *seen, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (!seen[i])
            fail_msg("no chart %s was drawn", said[i].name);
}

static void test_studies(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    static const char *const published[] = {"fragments.txt", "switchback.txt", "gpipe.log",
                                            "transformer.md"};
    int seen[CHARTS] = {0};
    char *directories[4 + STUDIES] = {NULL}, path[200];
    for (int i = 0; i < 4 + STUDIES; i++)
        directories[i] = cli_tempdir();
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "data/published/%s", published[i]);
        const char *const import[] = {"nvtally", "import", path, "-o", directories[i], NULL};
        expect_charts_of(import, directories[i], seen);
    }
    for (int i = 0; i < STUDIES; i++) {
        const char *argv[35];
        int count = 0;
        for (; runs[i][count]; count++)
            argv[count] = runs[i][count];
        argv[count++] = "-o";
        argv[count++] = directories[4 + i];
        argv[count] = NULL;
        expect_charts_of(argv, directories[4 + i], seen);
    }
    expect_all(seen, CHANGE_CHARTS, CHARTS - TRACE_CHARTS);
    for (int i = 0; i < 4 + STUDIES; i++)
        cli_tempdir_remove(directories[i]);
}

/* Numbers that stretch an axis: from `least` nanoseconds on, a hundred times as much with each
 * step, and deviations a hair below their means, so that bars end next to zero. */
static void write_hostile(const char *directory, double least)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/results.jsonl", directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 12; i++) {
        int step = i / 2, fragments = 2 << 2 * step, grouped = i % 2;
        double value = least * pow(100, step);
        fprintf(out,
                "{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 1, \"mode\": "
                "\"inference\", \"fragments\": %d, \"variant\": \"%s\", \"backend\": \"host\", "
                "\"device\": \"made\", \"iterations\": 9, \"status\": \"ok\"",
                fragments, grouped ? "grouped" : "looped");
        for (int phase = 0; phase < 2; phase++) {
            const char *name = phase ? "backward" : "forward";
            double mean = grouped && phase ? least : value;
            fprintf(out, ", \"%s_ns_mean\": %.17g, \"%s_ns_std\": %.17g, \"%s_ns_median\": %.17g",
                    name, mean, name, mean * (1 - 1e-9), name, mean);
        }
        fprintf(out, ", \"peak_allocated_bytes\": %.0f, \"parameters\": 4160}\n", value * 1e3);
    }
    assert_int_equal(fclose(out), 0);
}

static void test_hostile_numbers(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    static const double least[] = {1e-3, 1, 7.5e4, 3e9};
    for (size_t i = 0; i < NVT_COUNT_OF(least); i++) {
        int seen[CHARTS] = {0};
        char *directory = cli_tempdir();
        write_hostile(directory, least[i]);
        const char *const plot[] = {"nvtally", "plot", directory, NULL};
        struct cli_result result = cli_run(plot);
        cli_expect_status(&result, 0);
        expect_pictures(result.out, seen);
        expect_all(seen, CHANGE_CHARTS, CHANGE_CHARTS + 1);
        cli_result_free(&result);
        cli_tempdir_remove(directory);
    }
}

/* Phases in a heap, far apart, above the roof and far below it, with names as long as they come; and peaks of all kinds. */
static void write_rooflines(const char *directory, double spread)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/env.json", directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"peak_flops_fp32\": 6e13, \"peak_flops_tf32\": 4e14, \"peak_flops_bf16\": 8e14, "
          "\"peak_flops_fp16\": 8.1e14, \"peak_flops_int8\": 1.5e15, \"peak_bytes\": 3e12, "
          "\"backend\": \"host\"}\n",
          out);
    assert_int_equal(fclose(out), 0);
    snprintf(path, sizeof(path), "%s/results.jsonl", directory);
    out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 60; i++)
        fprintf(out,
                "{\"workload\": \"made\", \"a_name_that_is_long\": %d, \"precision\": \"%s\", "
                "\"backend\": \"host\", \"iterations\": 9, \"status\": \"ok\", "
                "\"forward_ns_mean\": %.17g, \"forward_ns_std\": 9, \"flops_forward\": %.17g, "
                "\"bytes_forward\": %.17g, "
                "\"own_%d_ns_mean\": 1000, \"flops_own_%d\": 1e6, \"bytes_own_%d\": 0, "
                "\"trace\": null}\n",
                i, i % 2 ? "fp32" : "bf16", 1e6 + i, 1e9 * pow(spread, i % 7),
                1e7 * pow(spread, i % 5), i, i, i);
    assert_int_equal(fclose(out), 0);
}

static void test_rooflines(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    static const double spreads[] = {1, 1.2, 10, 1e40, 1e-40};
    for (size_t i = 0; i < NVT_COUNT_OF(spreads); i++) {
        int seen[CHARTS] = {0};
        char *directory = cli_tempdir();
        write_rooflines(directory, spreads[i]);
        const char *const plot[] = {"nvtally", "plot", directory, NULL};
        struct cli_result result = cli_run(plot);
        cli_expect_status(&result, 0);
        expect_pictures(result.out, seen);
        assert_non_null(strstr(result.out, "roofline.svg"));
        cli_result_free(&result);
        cli_tempdir_remove(directory);
    }
}

/* --- a trace --- */

/* A loss that falls and tokens by the thousand, ten samples in so much time. */
static void add_counters(struct nvt_trace *trace, int64_t ns)
{
    const struct nvt_counter counters[] = {{.name = nvt_strings_add_text(trace->strings, "loss")},
                                           {.name = nvt_strings_add_text(trace->strings, "tokens"),
                                            .unit = nvt_strings_add_text(trace->strings, "tok"),
                                            .values = NVT_COUNTER_DELTA}};
    for (uint32_t k = 0; k < 2; k++)
        assert_int_equal(nvt_counter_add(trace, &counters[k]), k);
    for (uint32_t i = 0; i < 20; i++) {
        const struct nvt_counter_sample sample = {
            .time = ns * (i / 2) / 10, .counter = i % 2, .value = i % 2 ? 4096 : 4.0 / (1 + i)};
        assert_true(nvt_counter_sample_add(trace, &sample) != NVT_NONE);
    }
}

/* Rank 3: a sum of 20 us, 60 us of its own work, and a message. */
static void add_mpi(struct nvt_trace *trace, uint32_t thread)
{
    for (int i = 0; i < 2; i++) {
        const struct nvt_mpi_call call = {.start = 10000 + 70000 * i,
                                          .end = 20000 + 70000 * i,
                                          .thread = thread,
                                          .name =
                                              nvt_strings_add_text(trace->strings, "MPI_Allreduce"),
                                          .kind = NVT_MPI_COLLECTIVE};
        assert_true(nvt_mpi_call_add(trace, &call) != NVT_NONE);
    }
    const struct nvt_mpi_call message = {.start = 50000,
                                         .end = 50000,
                                         .thread = thread,
                                         .name = nvt_strings_add_text(trace->strings, "MPI_Send"),
                                         .kind = NVT_MPI_P2P,
                                         .peer = 1,
                                         .sent = 3000000,
                                         .received = UINT64_MAX};
    assert_true(nvt_mpi_call_add(trace, &message) != NVT_NONE);
    trace->processes.rank[trace->threads.process[thread]] = 3;
}

static void add_os_call(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                        int64_t end)
{
    const struct nvt_os_call call = {.start = start,
                                     .end = end,
                                     .thread = thread,
                                     .name = nvt_strings_add_text(trace->strings, name)};
    assert_true(nvt_os_call_add(trace, &call) != NVT_NONE);
}

/* 30 us of files in the forward pass, a lock in the backward pass. */
static void add_os_calls(struct nvt_trace *trace, uint32_t thread)
{
    add_os_call(trace, thread, "read", 10000, 40000);
    add_os_call(trace, thread, "pthread_mutex_lock", 70000, 80000);
}

/* The i-th sample, in a function that the one before it called. */
static void add_cpu_sample(struct nvt_trace *trace, uint32_t thread, uint32_t i)
{
    const struct nvt_call_frame frame = {
        .parent = i,
        .name = nvt_strings_add_text(trace->strings, i ? "at::matmul(int)" : "main"),
        .module = nvt_strings_add_text(trace->strings, i ? "/x/libat.so" : "/x/prog")};
    const struct nvt_cpu_sample sample = {
        .time = i * 11000 + 100, .thread = thread, .cpu_ns = 5000, .frame = i + 1};
    assert_true(nvt_call_frame_add(trace, &frame) != NVT_NONE);
    assert_true(nvt_cpu_sample_add(trace, &sample) != NVT_NONE);
}

/* Two iterations with phases, kernels on one stream, and an allocator that takes and gives. */
static struct nvt_trace *make_trace(void)
{
    struct nvt_trace *trace = nvt_trace_new("/tmp/made.nvt", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    static const char *const names[] = {"iteration", "forward", "backward"};
    static const int64_t starts[] = {0, 0, 60000}, ends[] = {100000, 60000, 100000};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            struct nvt_range range = {.start = i * 110000 + starts[k],
                                      .end = i * 110000 + ends[k],
                                      .thread = thread,
                                      .end_thread = thread,
                                      .name = nvt_strings_add_text(trace->strings, names[k])};
            assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        }
    for (int i = 0; i < 20; i++) {
        uint32_t name = nvt_strings_add_text(trace->strings, i % 2 ? "matmul" : "softmax");
        struct nvt_op op = {.start = i * 11000 + 500,
                            .end = i * 11000 + 9000,
                            .process = process,
                            .stream = 7,
                            .correlation = (uint64_t)i + 1,
                            .thread = NVT_NONE,
                            .launch = INT64_MIN,
                            .api = NVT_NONE,
                            .detail = NVT_NONE,
                            .name = name,
                            .short_name = name};
        struct nvt_memory_event event = {.time = i * 11000,
                                         .process = process,
                                         .thread = thread,
                                         .address = 4096,
                                         .bytes = 1 << 20,
                                         .allocated = (uint64_t)(i % 5 + 1) << 20,
                                         .reserved = 6u << 20,
                                         .kind = i % 5 ? NVT_MEMORY_ALLOC : NVT_MEMORY_FREE};
        add_cpu_sample(trace, thread, (uint32_t)i);
        const struct nvt_api call = {.start = i * 10000,
                                     .end = i * 10000 + 400,
                                     .thread = thread,
                                     .correlation = (uint64_t)i + 1,
                                     .name =
                                         nvt_strings_add_text(trace->strings, "cudaLaunchKernel")};
        assert_true(nvt_op_add(trace, &op) != NVT_NONE);
        assert_true(nvt_api_add(trace, &call) != NVT_NONE);
        assert_true(nvt_memory_event_add(trace, &event) != NVT_NONE);
    }
    add_mpi(trace, thread);
    add_os_calls(trace, thread);
    const struct nvt_api other = {.start = 450,
                                  .end = 480,
                                  .thread = thread,
                                  .name = nvt_strings_add_text(trace->strings, "cudaMalloc")};
    assert_true(nvt_api_add(trace, &other) != NVT_NONE);
    assert_int_equal(nvt_trace_set_meta(trace, "device", "A made GPU"), 0);
    add_counters(trace, 200000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* An 'x' and as many letters of two bytes, whose places are odd: cut by bytes, one of them falls apart. */
static uint32_t long_name(struct nvt_trace *trace, size_t letters, const char *end)
{
    char name[300] = "x";
    size_t length = 1;
    for (size_t i = 0; i <= letters; i++)
        length +=
            (size_t)snprintf(name + length, sizeof(name) - length, "%s", i < letters ? "ä" : end);
    return nvt_strings_add_text(trace->strings, name);
}

/* The same with names that are too long for any place. */
static struct nvt_trace *make_trace_of_long_names(void)
{
    struct nvt_trace *trace = make_trace();
    uint32_t forward = nvt_strings_find(trace->strings, "forward", 7);
    uint32_t backward = nvt_strings_find(trace->strings, "backward", 8);
    const struct nvt_device device = {.process = NVT_NONE, .name = long_name(trace, 60, "")};
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (trace->ranges.name[i] == forward || trace->ranges.name[i] == backward)
            trace->ranges.name[i] =
                long_name(trace, 60, trace->ranges.name[i] == forward ? "1" : "2");
    trace->counters.name[0] = long_name(trace, 130, "");
    trace->counters.unit[1] = long_name(trace, 60, "");
    assert_true(nvt_device_add(trace, &device) != NVT_NONE);
    return trace;
}

/* All charts of a trace into a folder; their paths, owned. */
static char *draw_charts(struct nvt_trace *trace, const char *directory)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    char *paths = NULL;
    size_t size = 0, count;
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    const struct nvt_chart *const *charts = nvt_charts(&count);
    for (size_t i = 0; i < count; i++)
        if (charts[i]->fits(&input) && charts[i]->draw(&request, &err))
            fail_msg("%s", err.message);
    fclose(out);
    nvt_buffer_free(&input.notes);
    return paths;
}

/* The same of a trace that is freed, which say what they should. */
static void draw_trace(struct nvt_trace *trace, const char *directory)
{
    int seen[CHARTS] = {0};
    char *paths = draw_charts(trace, directory);
    expect_pictures(paths, seen);
    for (size_t i = CHARTS - TRACE_CHARTS; i < CHARTS; i++)
        if (!seen[i] && (trace->apis.count || strcmp(said[i].name, "made-critical-path") != 0) &&
            (trace->mpi_calls.count || strncmp(said[i].name, "made-mpi", 8) != 0) &&
            (trace->os_calls.count || strcmp(said[i].name, "made-osrt") != 0) &&
            (trace->cpu_samples.count || strcmp(said[i].name, "made-cpu") != 0))
            fail_msg("no chart %s was drawn", said[i].name);
    free(paths);
    nvt_trace_free(trace);
}

/* Names end with an ellipsis, characters stay whole, and two that differ at their ends do so in the legend. */
static void test_long_names(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    static const char *const scripts[] = {"made-memory.gp", "made-counters.gp", "made-timeline.gp"};
    char *directory = cli_tempdir();
    struct nvt_trace *trace = make_trace_of_long_names();
    free(draw_charts(trace, directory));
    nvt_trace_free(trace);
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        char *script = cli_read_file(cli_in(directory, scripts[i]), NULL);
        assert_null(strstr(script, "\xef\xbf\xbd"));
        if (i < 2 && !(strstr(script, "ä1'") && strstr(script, "ä2'") && strstr(script, "…")))
            fail_msg("%s: %s", scripts[i], script);
        free(script);
    }
    cli_tempdir_remove(directory);
}

/* Of the ranges what their calls are, of those within each other no more than the range; without ranges, of threads. */
static void test_calls_of_the_system(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    struct nvt_trace *trace = make_trace();
    free(draw_charts(trace, directory));
    nvt_trace_free(trace);
    char *data = cli_read_file(cli_in(directory, "made-osrt.dat"), NULL);
    assert_non_null(strstr(data, "# files\n0\t15\t0\titeration · 20.0 % of 200 µs\n"
                                 "0\t25\t1\tforward · 25.0 % of 120 µs\n"
                                 "0\t0\t2\tbackward · 12.5 % of 80 µs\n"));
    assert_non_null(strstr(data, "# locks\n15\t20\t0\t"));
    assert_non_null(strstr(data, "# outside\n20\t100\t0\t"));
    free(data);
    for (int has_ranges = 0; has_ranges < 2; has_ranges++) {
        struct nvt_error err = NVT_ERROR_INIT;
        trace = nvt_trace_new("/tmp/made.nvt", "test");
        uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 1), 7);
        const struct nvt_range range = {.end = 1000,
                                        .name = nvt_strings_add_text(trace->strings, "r")};
        if (has_ranges)
            assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        trace->threads.name[thread] = nvt_strings_add_text(trace->strings, "worker");
        add_os_call(trace, thread, "fopen", 0, 900);
        add_os_call(trace, thread, "open", 100, 700);
        add_os_call(trace, thread, "poll", 900, 1000);
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        free(draw_charts(trace, directory));
        nvt_trace_free(trace);
        data = cli_read_file(cli_in(directory, "made-osrt.dat"), NULL);
        assert_non_null(strstr(data, has_ranges
                                         ? "\n0\t93.75\t0\tr · 100.0 % of 1 µs\n"
                                         : "\n0\t90\t0\tworker, thread 7 · 100.0 % of 1 µs\n"));
        free(data);
    }
    cli_tempdir_remove(directory);
}

/* Pictures of all traces together are called after these: another trace's in the same folder stay. */
static void pictures_of_other_traces_stay(void **state)
{
    (void)state;
    static const char *const expected[] = {"one-osrt", "two-osrt", "one-and-1-more-osrt"};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given[2] = {{.trace = NULL}};
    char name[200];
    for (int i = 0; i < 2; i++) {
        given[i].trace = nvt_trace_new(i ? "/tmp/two.nvt" : "/tmp/one.nvt", "test");
        assert_int_equal(nvt_trace_finish(given[i].trace, &err), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        const struct nvt_input input = {.traces = &given[i % 2], .trace_count = i < 2 ? 1 : 2};
        nvt_chart_traces_name(&input, "osrt", name, sizeof(name));
        assert_string_equal(name, expected[i]);
    }
    const struct nvt_input none = {.trace_count = 0};
    nvt_chart_traces_name(&none, "osrt", name, sizeof(name));
    assert_string_equal(name, "osrt");
    nvt_trace_free(given[0].trace);
    nvt_trace_free(given[1].trace);
}

static void test_trace(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    draw_trace(make_trace(), directory);
    /* The iteration of median length is shown, 100 µs of it; each kernel in the lane of its stream,
     * below the two of the ranges. */
    char *data = cli_read_file(cli_in(directory, "made-timeline.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t100\t0.1\t1.1\titeration 100 µs\n"));
    assert_non_null(strstr(data, "\n0\t60\t1.16\t2.16\tforward 60.0 µs\n"));
    assert_non_null(strstr(data, "\n60\t100\t1.16\t2.16\tbackward 40.0 µs\n"));
    /* From the first kernel that a phase launched to its last; kernels by what they are. */
    assert_non_null(strstr(data, "\n11.5\t75\t2.56\t3.56\tforward 63.5 µs\n"));
    const char *gemm = strstr(data, "# c8\n"), *elementwise = strstr(data, "# c10\n");
    assert_non_null(gemm && elementwise ? strstr(gemm, "\n11.5\t20\t3.62\t5.22\tmatmul\n") : NULL);
    assert_non_null(strstr(elementwise, "\n0.5\t9\t3.62\t5.22\tsoftm…\n"));
    free(data);
    /* The kernels that lie in each phase; the host's time in both iterations. */
    data = cli_read_file(cli_in(directory, "made-flame-device.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t161.5\t0\titeration 95 %\n"));
    assert_non_null(strstr(data, "\n0\t102\t1\tforward 60 %\n"));
    assert_non_null(strstr(data, "\n102\t161.5\t1\tbackward 35 %\n"));
    free(data);
    data = cli_read_file(cli_in(directory, "made-flame-host.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t200\t0\titeration 100 %\n"));
    assert_non_null(strstr(data, "\n0\t120\t1\tforward 60 %\n"));
    assert_non_null(strstr(data, "\n120\t200\t1\tbackward 40 %\n"));
    free(data);
    /* The highest level is in the data, and what is left behind is drawn to the end. */
    data = cli_read_file(cli_in(directory, "made-memory.dat"), NULL);
    assert_non_null(strstr(data, "\n44\t5\t6\n"));
    assert_non_null(strstr(data, "\n218\t5\t6\n"));
    free(data);
    /* What more tokens there are comes to; the last level is drawn to the end. */
    data = cli_read_file(cli_in(directory, "made-counters.dat"), NULL);
    assert_non_null(strstr(data, "\n20\t8192\n"));
    assert_non_null(strstr(data, "\n180\t40960\n"));
    assert_non_null(strstr(data, "\n218\t40960\n"));
    free(data);
    cli_tempdir_remove(directory);
}

/* A step as PyTorch's profiler has it: 20000 operators and kernels in the first 0.8 of a second,
 * a phase around half of them, memory that grows with each. */
enum { MANY = 20000, MANY_NS = 40000 };

static struct nvt_trace *make_large_trace(void)
{
    static const char kernel[] =
        "void at::native::(anonymous namespace)::matmul<4, at::AddFunctor<float> >(at::Iterator&)";
    struct nvt_trace *trace = nvt_trace_new("/tmp/made.nvt", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    struct nvt_range range = {.end = 1000000000,
                              .thread = thread,
                              .end_thread = thread,
                              .name = nvt_strings_add_text(trace->strings, "ProfilerStep#7")};
    assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    range.end = 400000000;
    range.name = nvt_strings_add_text(trace->strings, "forward and backward");
    assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    range.domain = nvt_trace_domain(trace, process, "cpu_op");
    range.name = nvt_strings_add_text(trace->strings, "aten::matmul");
    struct nvt_op op = {.process = process,
                        .stream = 7,
                        .thread = NVT_NONE,
                        .launch = INT64_MIN,
                        .api = NVT_NONE,
                        .detail = NVT_NONE,
                        .name = nvt_strings_add_text(trace->strings, kernel),
                        .short_name = nvt_strings_add_text(trace->strings, "matmul")};
    struct nvt_memory_event event = {.process = process,
                                     .thread = thread,
                                     .bytes = 1 << 20,
                                     .reserved = (uint64_t)MANY << 20,
                                     .kind = NVT_MEMORY_ALLOC};
    for (int i = 0; i < MANY; i++) {
        event.time = op.start = range.start = (int64_t)i * MANY_NS;
        op.end = range.end = range.start + MANY_NS / 2;
        event.address = event.allocated = (uint64_t)(i + 1) << 20;
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        assert_true(nvt_op_add(trace, &op) != NVT_NONE);
        assert_true(nvt_memory_event_add(trace, &event) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_set_meta(trace, "device", "A made GPU"), 0);
    add_counters(trace, 200000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Five threads, functions of a Python stack around the phases of one, and a phase again and again. */
static struct nvt_trace *make_stack(void)
{
    struct nvt_trace *trace = nvt_trace_new("/tmp/made.nvt", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t process = nvt_trace_process(trace, 1);
    for (int i = 0; i < 50; i++) {
        uint32_t thread = nvt_trace_thread(trace, process, 1 + (i < 46 ? 0 : i - 45));
        struct nvt_range range = {.start = i * 1000,
                                  .end = i * 1000 + 1000,
                                  .thread = thread,
                                  .end_thread = thread,
                                  .domain = nvt_trace_domain(trace, process, "python_function"),
                                  .name = nvt_strings_add_text(trace->strings, "<module>")};
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        range.domain = nvt_trace_domain(trace, process, "user_annotation");
        range.name = nvt_strings_add_text(trace->strings, "forward");
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    }
    add_counters(trace, 1000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* Phases are shown and no functions; what is not shown is said; neighbours are told apart. */
static void test_stack(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    char *directory = cli_tempdir(), *paths = NULL;
    size_t size = 0;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = make_stack();
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    assert_int_equal(nvt_chart_timeline.draw(&request, &err), 0);
    fclose(out);
    free(paths);
    char *svg = cli_read_file(cli_in(directory, "made-timeline.svg"), NULL);
    char *script = cli_read_file(cli_in(directory, "made-timeline.gp"), NULL);
    assert_non_null(strstr(svg, "forward"));
    assert_null(strstr(svg, "module"));
    assert_non_null(strstr(svg, "Not drawn: 2 more threads, functions of the Python"));
    assert_non_null(strstr(script, "until(start, end) = end - start > 0.23"));
    assert_non_null(strstr(script, nvt_known_color("forward")));
    free(svg);
    free(script);
    nvt_trace_free(trace);
    cli_tempdir_remove(directory);
}

/* A low lane below the ranges of a thread is of its calls of the system; what never ended goes on until its thread did. */
static void test_calls_and_hangs(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("made", "nvt");
    uint32_t process = nvt_trace_process(trace, 7), thread = nvt_trace_thread(trace, process, 7);
    struct nvt_range range = {.start = 0,
                              .end = 400,
                              .thread = thread,
                              .end_thread = thread,
                              .name = nvt_strings_add_text(trace->strings, "step")};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    range.start = 500;
    range.end = 500;
    range.flags = NVT_RANGE_UNCLOSED;
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    add_os_call(trace, thread, "read", 100, 200);
    add_os_call(trace, thread, "pthread_mutex_lock", 600, 1000);
    trace->threads.ended_ns[thread] = 1000;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    free(draw_charts(trace, directory));
    char *data = cli_read_file(cli_in(directory, "made-timeline.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t0.4\t0.1\t1.1\tstep 400 ns\n"));
    assert_non_null(strstr(data, "\n0.5\t1\t0.1\t1.1\tstep 500 ns\n"));
    const char *calls = strstr(data, "# c17\n");
    assert_non_null(calls);
    assert_non_null(strstr(calls, "\n0.1\t0.2\t1.14\t1.54\t\n"));
    assert_non_null(strstr(calls, "\n0.6\t1\t1.14\t1.54\t\n"));
    free(data);
    char *svg = cli_read_file(cli_in(directory, "made-timeline.svg"), NULL);
    assert_non_null(strstr(svg, "OS calls"));
    assert_non_null(strstr(svg, "Unfinished ranges extend to the end of"));
    free(svg);
    svg = cli_read_file(cli_in(directory, "made-flame-host.svg"), NULL);
    assert_non_null(strstr(svg, "With 1 range that never ended, each up to its"));
    free(svg);
    svg = cli_read_file(cli_in(directory, "made-ranges.svg"), NULL);
    assert_non_null(strstr(svg, "Without 1 range that never ended."));
    free(svg);
    nvt_trace_free(trace);
    cli_tempdir_remove(directory);
}

static void test_large_trace(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    draw_trace(make_large_trace(), directory);
    /* The whole step, each depth in a lane of its own; small boxes as one a column. */
    char *data = cli_read_file(cli_in(directory, "made-timeline.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t1\t0.1\t1.1\tProfilerStep#7 1.00 s\n"));
    assert_non_null(strstr(data, "\n0\t0.4\t1.16\t2.16\tforward and backward 400 ms\n"));
    assert_in_range(lines_of(data), 500, 3000);
    static const double bottoms[] = {1.1, 2.16, 3.22,
                                     5.22}; /* of the lanes; the last is 1.6 high */
    double last[4] = {0}, filled = 0, start, end, top, bottom;
    for (const char *at = data; at; at = strchr(at + 1, '\n'))
        for (int lane = 0; lane < 4; lane++)
            if (sscanf(at, "\n%lf\t%lf\t%lf\t%lf", &start, &end, &top, &bottom) == 4 &&
                fabs(bottom - bottoms[lane]) < 1e-6) {
                last[lane] = fmax(last[lane], end);
                filled += lane == 3 ? (end - start) * (bottom - top) / 1.6 : 0;
            }
    assert_true(last[1] > 0.799 && last[1] < 0.801); /* operators behind the range */
    assert_true(last[2] > 0.399 && last[2] < 0.401); /* and within it */
    assert_true(last[3] > 0.799 && last[3] < 0.801); /* kernels */
    /* Boxes that stand for many are as high as those fill their time. */
    assert_true(fabs(filled / 0.4 - 1) < 0.02);
    free(data);
    /* Memory that grows without a rest has its points all the same. */
    data = cli_read_file(cli_in(directory, "made-memory.dat"), NULL);
    assert_in_range(lines_of(data), 900, 3000);
    free(data);
    /* Behind it lies the phase, neither the step nor an operator. */
    data = cli_read_file(cli_in(directory, "made-memory.gp"), NULL);
    assert_non_null(strstr(data, "'forward and backward'"));
    assert_null(strstr(data, "aten::"));
    assert_null(strstr(data, "ProfilerStep"));
    free(data);
    data = cli_read_file(cli_in(directory, "made-kernels.dat"), NULL);
    assert_non_null(strstr(data, "\tmatmul\t"));
    free(data);
    cli_tempdir_remove(directory);
}

/* --- comparisons --- */

/* A loop of steps that spend so much in functions, a sample each 1 ms, and in a kernel. */
struct side {
    const char *name;
    int copy, work, solve, late; /* samples a step */
    int64_t kernel_ns;
};

static void make_side(const char *directory, const struct side *side)
{
    static const char tool[] = "/home/x/bin/tool";
    struct nvt_error err = NVT_ERROR_INIT;
    struct maker maker = make_begin();
    const uint32_t main = make_function(&maker, 0, "main", tool);
    const uint32_t functions[] = {
        make_function(&maker, main,
                      "void deep::copy<std::vector<int, std::allocator<int> > >(int const&)", tool),
        make_function(&maker, main, "work", tool), make_function(&maker, main, "solve", tool),
        make_function(&maker, main, "late", tool)};
    const int counts[] = {side->copy, side->work, side->solve, side->late};
    assert_int_equal(nvt_trace_set_meta(maker.trace, "device", "A made GPU"), 0);
    for (int step = 0; step < 20; step++) {
        const int64_t begun = maker.now;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < counts[i]; k++)
                make_sample(&maker, maker.thread, maker.now += 1000000, 1000000, functions[i]);
        make_range(&maker, "load, which has a name that is far too long for any box", begun);
        const int64_t forward = maker.now += 1000;
        make_launch(&maker, "matmul", side->kernel_ns + 1000 * (step % 7));
        make_wait(&maker);
        make_range(&maker, "forward", forward);
        make_range(&maker, "iteration", begun);
    }
    struct nvt_trace *trace = make_end(&maker);
    if (nvt_exporter_nvt.write_file(trace, cli_in(directory, side->name), &err))
        fail_msg("%s", err.message);
    nvt_trace_free(trace);
}

/* Something is gone, something is new, less and more, and all is the same. */
static void test_changes(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    static const struct side before = {"before.nvt", 12, 6, 8, 0, 4000000},
                             after = {"after.nvt", 0, 15, 8, 9, 1500000};
    char *directory = cli_tempdir();
    int seen[CHARTS] = {0};
    make_side(directory, &before);
    make_side(directory, &after);
    struct cli_options options = {.directory = directory, .timeout_s = 120};
    const char *const plot[] = {"nvtally",   "plot", "before.nvt", "vs",
                                "after.nvt", "-o",   directory,    NULL};
    struct cli_result result = cli_run_with(&options, plot);
    cli_expect_status(&result, 0);
    expect_pictures(result.out, seen);
    expect_all(seen, 0, CHANGE_CHARTS);
    cli_result_free(&result);
    /* Widths are of one scale, an iteration; names are without scopes. */
    char *data = cli_read_file(cli_in(directory, "flame-change-cpu.dat"), NULL);
    assert_non_null(strstr(data, "\tcopy"));
    assert_non_null(strstr(data, " gone\n"));
    assert_non_null(strstr(data, "work +150 %\n"));
    free(data);
    data = cli_read_file(cli_in(directory, "change.dat"), NULL);
    assert_non_null(strstr(data, "# slower"));
    free(data);
    /* The document counts what the pictures call gone and new. */
    const char *const report[] = {"nvtally",   "report", "before.nvt", "vs",
                                  "after.nvt", "-o",     "change.md",  NULL};
    result = cli_run_with(&options, report);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    data = cli_read_file(cli_in(directory, "change.md"), NULL);
    assert_non_null(strstr(data, " 2 are on one side only"));
    free(data);
    /* The same is the same: no box has a colour. */
    const char *const same[] = {"nvtally",    "plot", "before.nvt", "vs",
                                "before.nvt", "-o",   directory,    NULL};
    result = cli_run_with(&options, same);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    data = cli_read_file(cli_in(directory, "flame-change-host.gp"), NULL);
    assert_non_null(strstr(data, "'within 5 %, or cannot tell'"));
    assert_null(strstr(data, "half or less"));
    assert_null(strstr(data, "'more (outlined)'"));
    free(data);
    cli_tempdir_remove(directory);
}

/* What is no comparison says so in one line, and nothing that was read is written over. */
static void test_no_changes(void **state)
{
    (void)state;
    static const struct side before = {"before.nvt", 12, 6, 8, 0, 4000000},
                             odd = {"change.dat", 12, 6, 8, 0, 4000000};
    static const struct {
        const char *argv[7], *said;
    } wrong[] = {
        {{"nvtally", "plot", "vs", "before.nvt"}, "a side has nothing to compare"},
        {{"nvtally", "plot", "before.nvt", "vs"}, "needs two sides"},
        {{"nvtally", "report", "before.nvt", "vs"}, "needs two sides"},
        {{"nvtally", "plot", "before.nvt", "vs", "nothing.nvt"}, "cannot be opened"},
        {{"nvtally", "plot", "before.nvt", "vs", "change.dat"}, "is an input"},
        {{"nvtally", "report", "before.nvt", "vs", "change.dat", "-o"}, "needs a value"},
    };
    char *directory = cli_tempdir();
    make_side(directory, &before);
    make_side(directory, &odd);
    struct cli_options options = {.directory = directory, .timeout_s = 60};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result = cli_run_with(&options, wrong[i].argv);
        cli_expect_status(&result, 2);
        if (!strstr(result.err, wrong[i].said))
            fail_msg("'%s' does not say '%s'", result.err, wrong[i].said);
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_no_changes),
        cmocka_unit_test(test_studies),
        cmocka_unit_test(test_hostile_numbers),
        cmocka_unit_test(test_rooflines),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_calls_and_hangs),
        cmocka_unit_test(test_large_trace),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_calls_of_the_system),
        cmocka_unit_test(pictures_of_other_traces_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
