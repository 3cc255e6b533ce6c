#include "chart_kit.h"

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

#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "../plots/frame.h"
#include "../plots/label.h"
#include "cli.h"

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

_Static_assert(NVT_COUNT_OF(said) == CHARTS, "as many as the header says");

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

const char *chart_name(size_t i)
{
    return said[i].name;
}

void chart_expect_pictures(const char *paths, int seen[CHARTS])
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

int chart_no_gnuplot(void)
{
    int missing = !cli_has_gnuplot();
    if (missing)
        print_message("not run: there is no gnuplot\n");
    return missing;
}

void chart_add_counters(struct nvt_trace *trace, int64_t ns)
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

void chart_add_os_call(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                       int64_t end)
{
    const struct nvt_os_call call = {.start = start,
                                     .end = end,
                                     .thread = thread,
                                     .name = nvt_strings_add_text(trace->strings, name)};
    assert_true(nvt_os_call_add(trace, &call) != NVT_NONE);
}

char *chart_draw(struct nvt_trace *trace, const char *directory)
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
        if (nvt_chart_fits(charts[i], &input) && nvt_chart_pictures(charts[i], &request, &err))
            fail_msg("%s", err.message);
    fclose(out);
    nvt_buffer_free(&input.notes);
    return paths;
}

void chart_draw_trace(struct nvt_trace *trace, const char *directory)
{
    int seen[CHARTS] = {0};
    char *paths = chart_draw(trace, directory);
    chart_expect_pictures(paths, seen);
    for (size_t i = CHARTS - TRACE_CHARTS; i < CHARTS; i++)
        if (!seen[i] && (trace->apis.count || strcmp(said[i].name, "made-critical-path") != 0) &&
            (trace->mpi_calls.count || strncmp(said[i].name, "made-mpi", 8) != 0) &&
            (trace->os_calls.count || strcmp(said[i].name, "made-osrt") != 0) &&
            (trace->cpu_samples.count || strcmp(said[i].name, "made-cpu") != 0))
            fail_msg("no chart %s was drawn", said[i].name);
    free(paths);
    nvt_trace_free(trace);
}
