/*
 * ranges: where the time of a trace went: the ranges, and the kernels, with the most total time as bars, with how often they ran.
 * Nested ranges count within those around them. Functions of the Python stack are left out where anything else is to be seen: the
 * twenty with the most time are those that call all others.
 */
#include "../../analyze/reports/report.h"
#include "../chart.h"

#include <stdlib.h>
#include <string.h>

#include "../../analyze/device/kernel_class.h"
#include "../../analyze/model/cuda_names.h"
#include "../../analyze/model/plain_names.h"
#include "../../lib/quantity_text.h"
#include "../bars.h"
#include "../looks.h"

enum { BARS_MAX = 16, LABEL_MOST = 52 };

/* A table by total time: its rows as bars. */
struct rows {
    const struct nvt_trace *trace;
    const struct nvt_table *table;
    const char *what, *of; /* "Ranges", heading of the names */
    size_t rows[BARS_MAX]; /* of the table */
    int leaves_out;        /* functions of the Python stack */
    double all;            /* ns, of the others */
    int are_kernels;
    struct nvt_bar items[BARS_MAX];
    char labels[BARS_MAX][NVT_LABEL_SIZE(LABEL_MOST)];
    enum nvt_kernel_class classes[BARS_MAX];
    struct nvt_bars bars;
};

static double total_of(const struct rows *rows, size_t bar)
{
    return nvt_table_real(rows->table, rows->rows[bar],
                          nvt_table_find(rows->table, "Total Time (ns)"));
}

static const char *name_of(const struct rows *rows, size_t bar)
{
    return nvt_table_text(rows->table, rows->rows[bar], nvt_table_find(rows->table, rows->of));
}

/* What all bars begin with: the domain that their ranges are all of, "" that by default. */
static size_t domain_length(const struct rows *rows)
{
    const size_t length = strcspn(name_of(rows, 0), ":") + 1;
    for (size_t i = 0; i < rows->bars.count; i++)
        if (strlen(name_of(rows, i)) <= length ||
            strncmp(name_of(rows, i), name_of(rows, 0), length) != 0)
            return 0;
    return length;
}

/* Of ranges the mean, of kernels the share, which of ranges within each other would mean nothing. */
static void write_text(const struct rows *rows, size_t bar, char *out, size_t size)
{
    const double total = total_of(rows, bar);
    const long long count = (long long)nvt_table_int(rows->table, rows->rows[bar],
                                                     nvt_table_find(rows->table, "Instances"));
    if (rows->are_kernels)
        snprintf(out, size, "%s · %.1f %% · %lld×", NVT_TIME(total),
                 rows->all > 0 ? 100 * total / rows->all : 0, count);
    else if (count > 1)
        snprintf(out, size, "%s · %lld × %s", NVT_TIME(total), count,
                 NVT_TIME(total / (double)count));
    else
        snprintf(out, size, "%s · 1×", NVT_TIME(total));
}

static const char *color_of(struct rows *rows, size_t bar)
{
    const char *name = name_of(rows, bar), *range = strrchr(name, ':'), *color;
    if (rows->are_kernels) {
        size_t length;
        char own[NVT_TELLING_NAME_MAX];
        const char *at = nvt_short_name(name, strlen(name), &length);
        snprintf(own, sizeof(own), "%.*s", (int)(length < sizeof(own) ? length : 0), at);
        rows->classes[bar] = nvt_kernel_class_of_name(own, name);
        return nvt_class_color(rows->classes[bar]);
    }
    color = nvt_known_color(range ? range + 1 : name);
    return color ? color : NVT_RANGE_COLOR;
}

static void make_bars(struct rows *rows)
{
    struct nvt_label items[BARS_MAX];
    const struct nvt_labels labels = {items, rows->bars.count};
    const size_t domain = rows->are_kernels ? 0 : domain_length(rows);
    for (size_t i = 0; i < rows->bars.count; i++)
        items[i] = (struct nvt_label){name_of(rows, i) + domain, rows->are_kernels};
    for (size_t i = 0; i < rows->bars.count; i++) {
        struct nvt_bar *bar = &rows->items[i];
        nvt_label_fit(&labels, i, LABEL_MOST, rows->labels[i], sizeof(rows->labels[i]));
        *bar = (struct nvt_bar){.value = total_of(rows, i),
                                .color = color_of(rows, i),
                                .label = {rows->labels[i], 0},
                                .tip = items[i].name};
        write_text(rows, i, bar->text, sizeof(bar->text));
    }
    rows->bars.items = rows->items;
    rows->bars.axis = "total time";
    rows->bars.unit = nvt_time_unit_for(total_of(rows, 0));
}

static void put_ranges_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    (void)request;
    (void)name;
    nvt_bars_put_data(&((const struct rows *)what)->bars, out);
}

static void put_ranges_tips(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    (void)request;
    (void)name;
    nvt_bars_put_tips(&((const struct rows *)what)->bars, out);
}

static void put_ranges_notes(const struct rows *rows, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    const size_t unclosed = rows->are_kernels ? 0 : nvt_chart_unclosed(rows->trace, 0);
    if (!rows->are_kernels)
        nvt_frame_note(frame, "What lies within another range counts in both.");
    snprintf(text, sizeof(text), "Without %zu range%s that never ended.", unclosed,
             unclosed == 1 ? "" : "s");
    nvt_frame_note(frame, unclosed ? text : "");
    if (rows->leaves_out)
        nvt_frame_note(frame, "Functions of the Python stack not drawn.");
}

static void put_ranges_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct rows *rows = what;
    char title[NVT_FRAME_TEXT];
    snprintf(title, sizeof(title), "%s by total time: %s", rows->what,
             nvt_label_file(rows->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    for (int class = 0; class < NVT_KERNEL_CLASSES && rows->are_kernels; class ++)
        for (size_t i = 0; i < rows->bars.count; i++)
            if ((int)rows->classes[i] == class) {
                nvt_frame_key(&frame, NVT_KEY_BOX, nvt_class_color((enum nvt_kernel_class) class),
                              1, 0, nvt_kernel_class_name((enum nvt_kernel_class) class));
                break;
            }
    put_ranges_notes(rows, &frame);
    nvt_frame_provenance(&frame, "", nvt_table_provenance(rows->table));
    nvt_bars_open(&rows->bars, &frame, out);
    nvt_bars_put_plot(&rows->bars, &frame, out);
    nvt_frame_close(&frame, out);
}

/* The first rows of the table that are drawn. */
static void choose_rows(struct rows *rows)
{
    size_t count = nvt_table_rows(rows->table), of = nvt_table_find(rows->table, rows->of);
    int others = 0, functions = 0;
    for (size_t row = 0; row < count && !(others && functions); row++) {
        int is_function = nvt_is_python_function(nvt_table_text(rows->table, row, of));
        functions |= is_function;
        others |= !is_function;
    }
    rows->leaves_out = others && functions;
    size_t total = nvt_table_find(rows->table, "Total Time (ns)");
    for (size_t row = 0; row < count; row++)
        if (!rows->leaves_out || !nvt_is_python_function(nvt_table_text(rows->table, row, of))) {
            rows->all += nvt_table_real(rows->table, row, total);
            if (rows->bars.count < BARS_MAX)
                rows->rows[rows->bars.count++] = row;
        }
}

static int draw_table(const struct nvt_chart_request *request, const struct nvt_report *report,
                      struct rows *rows, const char *name, struct nvt_error *err)
{
    static const struct nvt_chart_parts parts = {put_ranges_data, put_ranges_script,
                                                 put_ranges_tips};
    struct nvt_tables tables = {0};
    int status = nvt_report_make(report, request->input, &tables, err);
    rows->trace = request->input->traces[0].trace;
    rows->table = status ? NULL : tables.items[0];
    if (!status)
        choose_rows(rows);
    if (rows->bars.count) {
        make_bars(rows);
        status = nvt_chart_draw_tipped(request, name, &parts, rows, err);
    }
    nvt_tables_free(&tables);
    return status;
}

static int draw_ranges_trace(const struct nvt_chart_request *request, const char *base,
                             struct nvt_error *err)
{
    char name[160];
    const struct nvt_trace *trace = request->input->traces[0].trace;
    struct rows ranges = {.what = "Ranges", .of = "Range"};
    struct rows kernels = {.what = "Kernels", .of = "Name", .are_kernels = 1};
    int status = 0;
    snprintf(name, sizeof(name), "%s-ranges", base);
    if (trace->ranges.count)
        status = draw_table(request, &nvt_report_nvtx_sum, &ranges, name, err);
    snprintf(name, sizeof(name), "%s-kernels", base);
    if (!status && trace->ops.count)
        status = draw_table(request, nvt_report_find("cuda_gpu_kern_sum"), &kernels, name, err);
    return status;
}

const struct nvt_chart nvt_chart_ranges = {
    .name = "ranges",
    .about = "the ranges and kernels of a trace with the most total time",
    .part = NVT_CHART_TIME,
    .has = nvt_chart_has_time,
    .draw_trace = draw_ranges_trace,
};
