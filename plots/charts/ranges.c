/*
 * ranges: where the time of a trace went: the ranges, and the kernels, with the most total
 * time as bars, with the total, its share and how often the range ran. Nested ranges count within
 * those around them, so shares can exceed 100 % together. Functions of the Python stack are left out
 * where anything else is to be seen: the twenty with the most time are those that call all others.
 */
#include "../../analyze/reports/report.h"
#include "../chart.h"

#include <stdlib.h>
#include <string.h>

#include "../../analyze/model/plain_names.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"

#define BARS_MAX 20

/* A table by total time: its rows as bars. */
struct bars {
    const struct nvt_trace *trace;
    const struct nvt_table *table;
    const char *what, *of; /* "Ranges", heading of the names */
    size_t rows[BARS_MAX]; /* of the table */
    size_t count;
    int leaves_out; /* functions of the Python stack */
    double all;     /* ns, of the others */
    struct nvt_time_unit unit;
    int are_kernels;
};

static double total_of(const struct bars *bars, size_t bar)
{
    return nvt_table_real(bars->table, bars->rows[bar],
                          nvt_table_find(bars->table, "Total Time (ns)"));
}

static void put_ranges_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct bars *bars = what;
    size_t instances = nvt_table_find(bars->table, "Instances");
    size_t names = nvt_table_find(bars->table, bars->of);
    struct nvt_label items[BARS_MAX];
    struct nvt_labels labels = {items, bars->count};
    for (size_t bar = 0; bar < bars->count; bar++)
        items[bar] = (struct nvt_label){nvt_table_text(bars->table, bars->rows[bar], names),
                                        bars->are_kernels};
    (void)request;
    (void)name;
    fprintf(out, "# total_%s\tpercent\tinstances\t%s\n", bars->unit.name, bars->of);
    for (size_t bar = 0; bar < bars->count; bar++) {
        size_t row = bars->rows[bar];
        fprintf(out, "%.9g\t%.1f\t%lld\t", total_of(bars, bar) / bars->unit.ns,
                bars->all > 0 ? 100 * total_of(bars, bar) / bars->all : 0,
                (long long)nvt_table_int(bars->table, row, instances));
        nvt_label_put(&labels, bar, out);
        putc('\n', out);
    }
}

static void put_unclosed(const struct bars *bars, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    const size_t unclosed = bars->are_kernels ? 0 : nvt_chart_unclosed(bars->trace, 0);
    snprintf(text, sizeof(text), "Without %zu range%s that never ended.", unclosed,
             unclosed == 1 ? "" : "s");
    nvt_frame_note(frame, unclosed ? text : "");
}

/* The name of a bar stands above it, so that names may be long. */
static void put_ranges_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct bars *bars = what;
    double longest = total_of(bars, 0) / bars->unit.ns;
    char title[NVT_FRAME_TEXT];
    snprintf(title, sizeof(title), "%s of %s by total time", bars->what,
             nvt_label_file(bars->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    frame.left = frame.right = 16;
    nvt_frame_note(&frame, bars->are_kernels
                               ? "Total time, its share, and how often it ran."
                               : "Total time, its share of the sum over all, and how often it ran. "
                                 "What lies within another counts in both.");
    put_unclosed(bars, &frame);
    if (bars->leaves_out)
        nvt_frame_note(&frame, "Functions of the Python stack not drawn.");
    nvt_frame_provenance(&frame, "", nvt_table_provenance(bars->table));
    nvt_frame_open(&frame, 30 * (int)bars->count, out);
    nvt_frame_time_text(&bars->unit, out);
    fprintf(
        out,
        "set datafile separator '\\t'\nset border 1\nunset ytics\n"
        "set grid noytics\nset xlabel 'total time (%s)'\nset xrange [0:%.9g]\n"
        "set yrange [%zu:0]\n"
        "plot '%s.dat' using (0):($0+0.7):(0):1:($0+0.52):($0+0.88) with boxxyerror "
        "fillstyle solid noborder fillcolor '%s', \\\n"
        "     '' using (0):($0+0.27):4 with labels left font ',12', \\\n"
        "     '' using 1:($0+0.7):(sprintf('%%s · %%.1f %%%% · %%d×', of_time($1), $2, int($3))) "
        "with labels left offset 0.5,0 font ',12' textcolor '#333333'\n",
        bars->unit.name, longest > 0 ? longest * 1.75 : 1, bars->count, name, NVT_SKY);
    nvt_frame_close(&frame, out);
}

/* The first rows of the table that are drawn. */
static void choose_rows(struct bars *bars)
{
    size_t rows = nvt_table_rows(bars->table), of = nvt_table_find(bars->table, bars->of);
    int others = 0, functions = 0;
    for (size_t row = 0; row < rows && !(others && functions); row++) {
        int is_function = nvt_is_python_function(nvt_table_text(bars->table, row, of));
        functions |= is_function;
        others |= !is_function;
    }
    bars->leaves_out = others && functions;
    size_t total = nvt_table_find(bars->table, "Total Time (ns)");
    for (size_t row = 0; row < rows; row++)
        if (!bars->leaves_out || !nvt_is_python_function(nvt_table_text(bars->table, row, of))) {
            bars->all += nvt_table_real(bars->table, row, total);
            if (bars->count < BARS_MAX)
                bars->rows[bars->count++] = row;
        }
}

static int draw_table(const struct nvt_chart_request *request, const struct nvt_report *report,
                      struct bars bars, const char *name, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    int status = nvt_report_make(report, request->input, &tables, err);
    bars.trace = request->input->traces[0].trace;
    bars.table = status ? NULL : tables.items[0];
    if (!status)
        choose_rows(&bars);
    if (bars.count) {
        bars.unit = nvt_time_unit_for(total_of(&bars, 0));
        status = nvt_chart_draw(request, name, put_ranges_data, put_ranges_script, &bars, err);
    }
    nvt_tables_free(&tables);
    return status;
}

static int draw_ranges_trace(const struct nvt_chart_request *request, const char *base,
                             struct nvt_error *err)
{
    char name[160];
    const struct nvt_trace *trace = request->input->traces[0].trace;
    const struct bars ranges = {.what = "Ranges", .of = "Range"};
    const struct bars kernels = {.what = "Kernels", .of = "Name", .are_kernels = 1};
    int status = 0;
    snprintf(name, sizeof(name), "%s-ranges", base);
    if (trace->ranges.count)
        status = draw_table(request, &nvt_report_nvtx_sum, ranges, name, err);
    snprintf(name, sizeof(name), "%s-kernels", base);
    if (!status && trace->ops.count)
        status = draw_table(request, nvt_report_find("cuda_gpu_kern_sum"), kernels, name, err);
    return status;
}

static int draw_ranges(const struct nvt_chart_request *request, struct nvt_error *err)
{
    return nvt_chart_each_trace(request, draw_ranges_trace, err);
}

static int ranges_fits(const struct nvt_input *input)
{
    return nvt_chart_any_trace(input, nvt_chart_has_time);
}

const struct nvt_chart nvt_chart_ranges = {
    .name = "ranges",
    .about = "the ranges and kernels of a trace with the most total time",
    .part = NVT_CHART_TIME,
    .fits = ranges_fits,
    .draw = draw_ranges,
};
