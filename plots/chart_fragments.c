/*
 * fragments: the fragment study, a sheet for each size and batch. Forward and backward time, peak
 * memory and parameters against the number of fragments; a line for the layer in training and for
 * each way of inference, with error bars of one standard deviation, and the linear layer as the
 * horizontal line to beat.
 */
#include "chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/fragments.h"
#include "gnuplot.h"

/* Above this spread of the means a time axis is logarithmic. */
#define LOG_RATIO 15
/* More numbers of fragments than this get gnuplot's own tics. */
#define TICS_MAX 12

/* Columns of the data file, from 1. */
enum { FRAGMENTS = 1, FORWARD, FORWARD_STD, BACKWARD, BACKWARD_STD, PEAK, PARAMETERS };

/* One sheet: the measured rows of one size and batch, by line and fragments. */
struct sheet {
    const struct nvt_fragment_row **rows;
    size_t count;
    size_t failed;      /* configurations without a measurement */
    double left, right; /* of the x axis */
};

struct style {
    const char *title, *color;
    int point;
    double shift; /* factor on x, so that error bars do not hide each other */
};

static const struct style styles[NVT_FRAGMENT_LINES] = {
    [NVT_LINEAR] = {"linear", "#555555", 0, 1},
    [NVT_TRAIN] = {"train", NVT_BLUE, 7, 0.95},
    [NVT_LOOPED] = {"inference, looped", NVT_RED, 5, 1},
    [NVT_GROUPED] = {"inference, grouped", NVT_GREEN, 9, 1.05},
};

struct panel {
    const char *title, *unit;
    int column;
    int std; /* column, 0: none */
};

static const struct panel panels[] = {
    {"Forward", "time (ms)", FORWARD, FORWARD_STD},
    {"Backward with optimizer step", "time (ms)", BACKWARD, BACKWARD_STD},
    {"Peak memory", "memory (MiB)", PEAK, 0},
    {"Parameters", "", PARAMETERS, 0},
};

static double value_of(const struct nvt_fragment_row *row, int column)
{
    switch (column) {
    case FRAGMENTS:
        return (double)row->fragments;
    case FORWARD:
        return row->forward.mean_ms;
    case FORWARD_STD:
        return row->forward.std_ms;
    case BACKWARD:
        return row->backward.mean_ms;
    case BACKWARD_STD:
        return row->backward.std_ms;
    case PEAK:
        return row->peak_mib;
    default:
        return row->parameters;
    }
}

static int by_line_and_fragments(const void *left, const void *right)
{
    const struct nvt_fragment_row *a = *(const struct nvt_fragment_row *const *)left;
    const struct nvt_fragment_row *b = *(const struct nvt_fragment_row *const *)right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->fragments > b->fragments) - (a->fragments < b->fragments);
}

/* Take the rows of the size and batch of rows[first]. */
static void fill_sheet(struct sheet *sheet, const struct nvt_fragment_row *rows, size_t count,
                       size_t first)
{
    double least = INFINITY, most = 0;
    sheet->count = sheet->failed = 0;
    for (size_t i = first; i < count; i++) {
        const struct nvt_fragment_row *row = &rows[i];
        if (row->size != rows[first].size || row->batch != rows[first].batch)
            continue;
        if (!nvt_fragment_ok(row)) {
            sheet->failed++;
            continue;
        }
        sheet->rows[sheet->count++] = row;
        if (row->fragments) {
            least = fmin(least, (double)row->fragments);
            most = fmax(most, (double)row->fragments);
        }
    }
    qsort(sheet->rows, sheet->count, sizeof(*sheet->rows), by_line_and_fragments);
    sheet->left = most > 0 ? least / 1.5 : 1;
    sheet->right = most > 0 ? most * 1.5 : 4;
}

static void put_number(double value, FILE *out)
{
    if (isfinite(value))
        fprintf(out, "\t%.9g", value);
    else
        fputs("\tNaN", out);
}

static void put_values(const struct nvt_fragment_row *row, double x, FILE *out)
{
    fprintf(out, "%.9g", x);
    for (int column = FORWARD; column <= PARAMETERS; column++)
        put_number(value_of(row, column), out);
    putc('\n', out);
}

/* A block a line, named for gnuplot's `index`; the linear layer spans the axis. */
static void put_data(const struct sheet *sheet, FILE *out)
{
    fputs("# fragments forward_ms forward_std_ms backward_ms backward_std_ms peak_mib "
          "parameters\n",
          out);
    static const char *const blocks[] = {"linear", "train", "looped", "grouped"};
    for (size_t i = 0; i < sheet->count; i++) {
        const struct nvt_fragment_row *row = sheet->rows[i];
        if (!i || row->line != sheet->rows[i - 1]->line)
            fprintf(out, "%s# %s\n", i ? "\n\n" : "", blocks[row->line]);
        if (row->line != NVT_LINEAR)
            put_values(row, (double)row->fragments, out);
        else {
            put_values(row, sheet->left, out);
            put_values(row, sheet->right, out);
        }
    }
}

struct span {
    double least, most; /* of the means, and of mean plus deviation */
    int any;
};

static struct span span_of(const struct sheet *sheet, const struct panel *panel)
{
    struct span span = {INFINITY, 0, 0};
    for (size_t i = 0; i < sheet->count; i++) {
        double value = value_of(sheet->rows[i], panel->column);
        double std = panel->std ? value_of(sheet->rows[i], panel->std) : 0;
        if (!isfinite(value))
            continue;
        span.least = fmin(span.least, value);
        span.most = fmax(span.most, value + (isfinite(std) ? std : 0));
        span.any = 1;
    }
    return span;
}

static int has_line(const struct sheet *sheet, enum nvt_fragment_line line)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (sheet->rows[i]->line == line)
            return 1;
    return 0;
}

/* Whether any deviation is known: published figures come without. */
static int has_bars(const struct sheet *sheet, int std)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (value_of(sheet->rows[i], std) > 0)
            return 1;
    return 0;
}

/* Time axes go logarithmic when one line would flatten the others; others start at zero. */
static int put_y_axis(const struct panel *panel, struct span span, double scale, FILE *out)
{
    int is_log = panel->std && span.least > 0 && span.most / span.least > LOG_RATIO;
    double low = is_log ? span.least / 2 : 0;
    double high = is_log ? span.most * 1.6 : span.most * 1.12;
    fprintf(out, "%s logscale y\nset yrange [%.9g:%.9g]\nfloor = %.9g\n", is_log ? "set" : "unset",
            low / scale, high > 0 ? high / scale : 1, low / scale);
    if (is_log)
        fputs("set logscale y 10\n", out);
    return is_log;
}

static void put_plot(const struct sheet *sheet, const struct panel *panel, const char *name,
                     double scale, FILE *out)
{
    static const char *const blocks[] = {"linear", "train", "looped", "grouped"};
    const char *separator = "plot ";
    int with_bars = panel->std && has_bars(sheet, panel->std);
    for (int line = 0; line < NVT_FRAGMENT_LINES; line++) {
        const struct style *style = &styles[line];
        if (!has_line(sheet, (enum nvt_fragment_line)line))
            continue;
        fprintf(out, "%s", separator);
        separator = ", \\\n     ";
        if (line == NVT_LINEAR && with_bars)
            fprintf(
                out,
                "'%s.dat' index 'linear' using 1:(low($%d,$%d)):(high($%d,$%d)) with filledcurves "
                "fillcolor '%s' fillstyle transparent solid 0.15 noborder notitle%s",
                name, panel->column, panel->std, panel->column, panel->std, style->color,
                separator);
        if (line == NVT_LINEAR)
            fprintf(out,
                    "'%s.dat' index 'linear' using 1:($%d/%g) with lines linecolor '%s' "
                    "dashtype 2 linewidth 1.6 title '%s'",
                    name, panel->column, scale, style->color, style->title);
        else if (with_bars)
            fprintf(out,
                    "'%s.dat' index '%s' using ($1*%g):%d:(low($%d,$%d)):(high($%d,$%d)) "
                    "with yerrorlines linecolor '%s' pointtype %d pointsize 0.7 linewidth 1.4 "
                    "title '%s'",
                    name, blocks[line], style->shift, panel->column, panel->column, panel->std,
                    panel->column, panel->std, style->color, style->point, style->title);
        else
            fprintf(out,
                    "'%s.dat' index '%s' using ($1*%g):($%d/%g) with linespoints linecolor '%s' "
                    "pointtype %d pointsize 0.7 linewidth 1.4 title '%s'",
                    name, blocks[line], style->shift, panel->column, scale, style->color,
                    style->point, style->title);
    }
    putc('\n', out);
}

static void put_panel(const struct sheet *sheet, size_t index, const char *name, FILE *out)
{
    const struct panel *panel = &panels[index];
    double left = index % 2 ? 0.585 : 0.085, bottom = index < 2 ? 0.6 : 0.175;
    struct span span = span_of(sheet, panel);
    int parameters = panel->column == PARAMETERS;
    double scale = !parameters ? 1 : span.most >= 2e6 ? 1e6 : span.most >= 2e3 ? 1e3 : 1;
    const char *unit = !parameters    ? panel->unit
                       : scale == 1e6 ? "parameters (millions)"
                       : scale == 1e3 ? "parameters (thousands)"
                                      : "parameters";
    fprintf(out,
            "\nset lmargin at screen %g\nset rmargin at screen %g\n"
            "set bmargin at screen %g\nset tmargin at screen %g\n",
            left, left + 0.395, bottom, bottom + 0.275);
    int is_log = put_y_axis(panel, span, scale, out);
    fprintf(out, "set title '%s' font ',13'\nset ylabel '%s%s'\n", panel->title, unit,
            is_log ? ", log scale" : "");
    if (span.any)
        put_plot(sheet, panel, name, scale, out);
    else
        fprintf(out, "plot NaN notitle\n");
    fputs("unset label\n", out);
}

static void put_x_axis(const struct sheet *sheet, FILE *out)
{
    int64_t tics[TICS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < sheet->count && count <= TICS_MAX; i++) {
        int64_t fragments = sheet->rows[i]->fragments;
        size_t at = 0;
        while (at < count && at < TICS_MAX && tics[at] != fragments)
            at++;
        if (!fragments || at < count)
            continue;
        if (count < TICS_MAX)
            tics[count] = fragments;
        count++;
    }
    fprintf(out, "set logscale x 2\nset xrange [%.9g:%.9g]\nset xlabel 'number of fragments'\n",
            sheet->left, sheet->right);
    if (count > TICS_MAX)
        return;
    fputs("set xtics (", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", tics[i]);
    fputs(")\n", out);
}

static size_t add_fact(char *text, size_t used, size_t size, const char *fact)
{
    if (used + 1 < size)
        snprintf(text + used, size - used, "%s%s", used ? " · " : "", fact);
    return strlen(text);
}

/* What the bars are, and what is known of the run: "… · host · Some CPU · 2026-…". */
static void put_caption(const struct nvt_report_input *input, const struct sheet *sheet, FILE *out)
{
    char text[1024] = "", failed[64];
    struct nvt_provenance from = {0};
    if (input->run_count)
        from = nvt_runs_provenance(input->runs[0]);
    const char *const facts[] = {from.condition, from.backend, from.device, from.date};
    size_t used = 0;
    if (has_bars(sheet, FORWARD_STD) || has_bars(sheet, BACKWARD_STD))
        used = add_fact(text, used, sizeof(text), "bars: ± one standard deviation");
    snprintf(failed, sizeof(failed), "%zu not measured (out of memory or error)", sheet->failed);
    if (sheet->failed)
        used = add_fact(text, used, sizeof(text), failed);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (facts[i])
            used = add_fact(text, used, sizeof(text), facts[i]);
    fputs("set label 2 ", out);
    nvt_gnuplot_text(text, 150, out);
    fputs(" at screen 0.5,0.025 center font ',10' textcolor '#555555' noenhanced\n", out);
}

/* The legend is a plot of its own below the others: it can hide no data, whatever its width. */
static void put_legend(const struct sheet *sheet, FILE *out)
{
    const char *separator = "plot ";
    fputs("\nset lmargin at screen 0.02\nset rmargin at screen 0.98\n"
          "set bmargin at screen 0.055\nset tmargin at screen 0.095\n"
          "unset logscale\nunset border\nunset tics\nunset grid\nunset title\nunset xlabel\n"
          "unset ylabel\nset xrange [0:1]\nset yrange [0:1]\n"
          "set key center center horizontal Left reverse samplen 3 maxrows 1\n",
          out);
    for (int line = 0; line < NVT_FRAGMENT_LINES; line++) {
        const struct style *style = &styles[line];
        if (!has_line(sheet, (enum nvt_fragment_line)line))
            continue;
        fprintf(out,
                "%sNaN with linespoints linecolor '%s' %s%d pointsize 0.7 linewidth 1.5 "
                "title '%s'",
                separator, style->color,
                line == NVT_LINEAR ? "dashtype 2 pointtype " : "pointtype ",
                line == NVT_LINEAR ? -1 : style->point, style->title);
        separator = ", \\\n     ";
    }
    putc('\n', out);
}

static void put_script(const struct nvt_chart_request *request, const struct sheet *sheet,
                       const char *name, FILE *out)
{
    const struct nvt_fragment_row *row = sheet->rows[0];
    nvt_gnuplot_terminal(request->format, 960, 760, name, out);
    fprintf(out,
            "set multiplot\nunset key\n"
            "low(mean, std) = std > 0 ? (mean - std > floor ? mean - std : floor) : mean\n"
            "high(mean, std) = std > 0 ? mean + std : mean\n"
            "set border 3 linecolor '#555555'\nset tics nomirror textcolor '#333333'\n"
            "set grid xtics ytics linecolor '#dddddd' linetype 1 linewidth 0.5\n"
            "set label 1 'Fragmented linear layer, %" PRId64 " × %" PRId64 ", batch %" PRId64
            "' at screen 0.5,0.965 center font ',16' noenhanced\n",
            row->size, row->size, row->batch);
    put_caption(request->input, sheet, out);
    put_x_axis(sheet, out);
    for (size_t i = 0; i < sizeof(panels) / sizeof(panels[0]); i++)
        put_panel(sheet, i, name, out);
    put_legend(sheet, out);
    fputs("\nunset multiplot\nunset output\n", out);
}

static int draw_sheet(const struct nvt_chart_request *request, const struct sheet *sheet,
                      struct nvt_error *err)
{
    char name[128];
    snprintf(name, sizeof(name), "fragments-size%" PRId64 "-batch%" PRId64, sheet->rows[0]->size,
             sheet->rows[0]->batch);
    FILE *data = nvt_chart_open(request, name, "dat", err);
    if (!data)
        return -1;
    put_data(sheet, data);
    if (nvt_chart_close(data, name, err))
        return -1;
    FILE *script = nvt_chart_open(request, name, "gp", err);
    if (!script)
        return -1;
    put_script(request, sheet, name, script);
    if (nvt_chart_close(script, name, err))
        return -1;
    return nvt_chart_render(request, name, err);
}

static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    size_t count;
    struct nvt_fragment_row *rows =
        nvt_fragment_rows(request->input->runs, request->input->run_count, &count, err);
    struct sheet sheet = {0};
    int status = rows ? 0 : -1;
    if (rows)
        sheet.rows = malloc((count + 1) * sizeof(struct nvt_fragment_row *));
    if (rows && !sheet.rows)
        status = nvt_fail(err, "out of memory");
    for (size_t i = 0; i < count && !status; i++) {
        size_t first = 0;
        while (rows[first].size != rows[i].size || rows[first].batch != rows[i].batch)
            first++;
        if (first < i)
            continue;
        fill_sheet(&sheet, rows, count, i);
        if (sheet.count)
            status = draw_sheet(request, &sheet, err);
    }
    free(sheet.rows);
    free(rows);
    return status;
}

static int fits(const struct nvt_report_input *input)
{
    size_t count = 0, measured = 0;
    struct nvt_fragment_row *rows = nvt_fragment_rows(input->runs, input->run_count, &count, NULL);
    for (size_t i = 0; rows && i < count; i++)
        measured += (size_t)nvt_fragment_ok(&rows[i]);
    free(rows);
    return measured > 0;
}

const struct nvt_chart nvt_chart_fragments = {
    .name = "fragments",
    .about = "the fragment study: times, peak memory, parameters; a sheet a size and batch",
    .fits = fits,
    .draw = draw,
};
