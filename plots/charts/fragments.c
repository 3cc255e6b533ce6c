/*
 * fragments: the fragment study, a sheet for each size and batch. Forward and backward time, peak
 * memory and parameters against the number of fragments; a line for the layer in training and for
 * each way of inference, medians with bars from the shortest iteration to the
 * longest, and the linear layer as the horizontal line to beat. Linear layers with no fragments of their size beside them are left to
 * the chart of phases.
 */
#include "../chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/studies/fragments.h"
#include "../../lib/count_of.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../looks.h"
#include "../studied.h"

/* Above this spread of the means a time axis is logarithmic. */
#define LOG_RATIO 15
/* Columns of the data file, from 1. */
enum {
    FRAGMENTS = 1,
    FORWARD, /* with its least and its most behind it, as BACKWARD has them */
    BACKWARD = FORWARD + 3,
    PEAK = BACKWARD + 3,
    PARAMETERS
};

/* One sheet: the measured rows of one size and batch, by line and fragments. */
struct sheet {
    const struct nvt_studied *studied;
    const struct nvt_fragment_row **rows;
    size_t count;
    size_t failed;      /* configurations without a measurement */
    double left, right; /* of the x axis */
};

struct style {
    const char *title;
    double shift; /* factor on x, so that error bars do not hide each other */
};

static const struct style styles[NVT_FRAGMENT_LINES] = {
    [NVT_LINEAR] = {"linear", 1},
    [NVT_TRAIN] = {"train", 0.95},
    [NVT_LOOPED] = {"inference, looped", 1},
    [NVT_GROUPED] = {"inference, grouped", 1.05},
};

struct panel {
    const char *title, *unit;
    int column;
    int is_time; /* it has bars */
};

static const struct panel panels[] = {
    {"Forward", "time (ms)", FORWARD, 1},
    {"Backward and optimizer", "time (ms)", BACKWARD, 1},
    {"Peak memory", "memory (MiB)", PEAK, 0},
    {"Parameters", "", PARAMETERS, 0},
};

static struct nvt_spread time_of(const struct nvt_fragment_row *row, int column)
{
    return nvt_spread_of(row->record, column == FORWARD ? "forward_ns" : "backward_ns");
}

/* The least and the most of a time are in the columns behind it. */
static double value_of(const struct nvt_fragment_row *row, int column)
{
    if (column == PEAK)
        return row->peak_mib;
    if (column == PARAMETERS)
        return row->parameters;
    const struct nvt_spread time = time_of(row, column < BACKWARD ? FORWARD : BACKWARD);
    const double values[] = {time.at, time.low, time.high};
    return values[(column - FORWARD) % 3] / 1e6;
}

static int by_line_and_fragments(const void *left, const void *right)
{
    const struct nvt_fragment_row *a = *(const struct nvt_fragment_row *const *)left;
    const struct nvt_fragment_row *b = *(const struct nvt_fragment_row *const *)right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->fragments > b->fragments) - (a->fragments < b->fragments);
}

/* Take the rows of the size and batch of rows[first], none where no fragments are among them. */
static void fill_sheet(struct sheet *sheet, const struct nvt_fragment_row *rows, size_t count,
                       size_t first)
{
    struct nvt_extent extent = nvt_extent_new();
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
        if (row->fragments)
            nvt_extent_add(&extent, (double)row->fragments, (double)row->fragments);
    }
    qsort(sheet->rows, sheet->count, sizeof(*sheet->rows), by_line_and_fragments);
    nvt_frame_log_range(&extent, 1.5, &sheet->left, &sheet->right);
    sheet->count = extent.most > 0 ? sheet->count : 0;
}

static void put_fragments_number(double value, FILE *out)
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
        put_fragments_number(value_of(row, column), out);
    putc('\n', out);
}

/* A block a line, named for gnuplot's `index`; the linear layer spans the axis. */
static void put_fragments_data(const struct sheet *sheet, FILE *out)
{
    fputs("# fragments, median, least and most of forward_ms and of backward_ms, peak_mib, "
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

static struct nvt_extent extent_of(const struct sheet *sheet, const struct panel *panel)
{
    struct nvt_extent extent = nvt_extent_new();
    for (size_t i = 0; i < sheet->count; i++)
        for (int k = 0; k < (panel->is_time ? 3 : 1); k++) {
            const double value = value_of(sheet->rows[i], panel->column + k);
            if (isfinite(value))
                nvt_extent_add(&extent, value, value);
        }
    return extent;
}

static int has_line(const struct sheet *sheet, enum nvt_fragment_line line)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (sheet->rows[i]->line == line)
            return 1;
    return 0;
}

/* What the times of a panel are: of which nvt_spread_kinds. */
static unsigned kinds_of(const struct sheet *sheet)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < sheet->count; i++)
        for (int k = 0; k < 2; k++) {
            const struct nvt_spread time = time_of(sheet->rows[i], k ? BACKWARD : FORWARD);
            kinds |= nvt_spread_kinds(&time);
        }
    return kinds;
}

/* Medians joined by a line, and their bars. */
static void put_bars(const char *name, const char *block, const struct style *style,
                     const struct panel *panel, const struct nvt_look *look, FILE *out)
{
    const int at = panel->column;
    fprintf(out,
            "'%s.dat' index '%s' using ($1*%g):%d:%d:%d with yerrorbars pointtype 0 linecolor '%s' "
            "linewidth 1, \\\n     '' index '%s' using ($1*%g):%d with linespoints linecolor '%s' "
            "pointtype %d pointsize 0.6 linewidth 1.3",
            name, block, style->shift, at, at + 1, at + 2, look->color, block, style->shift, at,
            look->color, look->point);
}

static void put_plot(const struct sheet *sheet, const struct panel *panel, const char *name,
                     double scale, FILE *out)
{
    static const char *const blocks[] = {"linear", "train", "looped", "grouped"};
    const char *separator = "plot ";
    const int with_bars = panel->is_time && kinds_of(sheet) & NVT_SPREAD_BARS;
    for (int line = 0; line < NVT_FRAGMENT_LINES; line++) {
        const struct style *style = &styles[line];
        const struct nvt_look look = nvt_look_of_fragments((enum nvt_fragment_line)line);
        if (!has_line(sheet, (enum nvt_fragment_line)line))
            continue;
        fprintf(out, "%s", separator);
        separator = ", \\\n     ";
        if (line == NVT_LINEAR && with_bars)
            fprintf(out,
                    "'%s.dat' index 'linear' using 1:%d:%d with filledcurves "
                    "fillcolor '%s' fillstyle transparent solid 0.15 noborder%s",
                    name, panel->column + 1, panel->column + 2, look.color, separator);
        if (line == NVT_LINEAR)
            fprintf(out,
                    "'%s.dat' index 'linear' using 1:($%d/%g) with lines linecolor '%s' "
                    "dashtype 2 linewidth 1.6",
                    name, panel->column, scale, look.color);
        else if (with_bars)
            put_bars(name, blocks[line], style, panel, &look, out);
        else
            fprintf(out,
                    "'%s.dat' index '%s' using ($1*%g):($%d/%g) with linespoints linecolor '%s' "
                    "pointtype %d pointsize 0.6 linewidth 1.3",
                    name, blocks[line], style->shift, panel->column, scale, look.color, look.point);
    }
    putc('\n', out);
}

static void put_fragments_panel(const struct sheet *sheet, size_t index,
                                const struct nvt_frame *frame, FILE *out)
{
    const struct panel *panel = &panels[index];
    const struct nvt_extent extent = extent_of(sheet, panel);
    char text[64];
    int parameters = panel->column == PARAMETERS;
    double scale = !parameters ? 1 : extent.most >= 2e6 ? 1e6 : extent.most >= 2e3 ? 1e3 : 1;
    const char *unit = !parameters    ? panel->unit
                       : scale == 1e6 ? "number (millions)"
                       : scale == 1e3 ? "number (thousands)"
                                      : "number";
    nvt_frame_panel(frame, (int)index, panel->title, out);
    /* Time axes go logarithmic when one line would flatten the others; others start at zero. */
    int is_log = nvt_frame_scale('y', &extent, scale, panel->is_time ? LOG_RATIO : INFINITY, out);
    snprintf(text, sizeof(text), "%s%s", unit, is_log ? ", log scale" : "");
    nvt_frame_y_label(frame, (int)index, text, out);
    if (isfinite(extent.least))
        put_plot(sheet, panel, frame->name, scale, out);
    else
        fprintf(out, "plot NaN notitle\n");
}

static void put_fragments_x_axis(const struct sheet *sheet, const struct nvt_frame *frame,
                                 FILE *out)
{
    double *values = calloc(sheet->count + 1, sizeof(*values));
    for (size_t i = 0; values && i < sheet->count; i++)
        values[i] = (double)sheet->rows[i]->fragments;
    nvt_frame_log_x(frame, sheet->left, sheet->right, values, values ? sheet->count : 0, out);
    fputs("set xlabel 'number of fragments'\n", out);
    free(values);
}

/* What the bars are, and what is known of the run. */
static void put_fragments_frame(const struct nvt_input *input, const struct sheet *sheet,
                                struct nvt_frame *frame)
{
    char failed[64];
    for (int line = 0; line < NVT_FRAGMENT_LINES; line++) {
        const struct nvt_look look = nvt_look_of_fragments((enum nvt_fragment_line)line);
        if (has_line(sheet, (enum nvt_fragment_line)line))
            nvt_frame_key(frame, line == NVT_LINEAR ? NVT_KEY_LINE : NVT_KEY_LINE_POINT, look.color,
                          look.dash, look.point, styles[line].title);
    }
    nvt_studied_spread_notes(sheet->studied, kinds_of(sheet), frame);
    snprintf(failed, sizeof(failed), "%zu not measured (out of memory or error).", sheet->failed);
    if (sheet->failed)
        nvt_frame_note(frame, failed);
    nvt_chart_provenance(input, frame);
}

static void put_fragments_script(const struct nvt_chart_request *request, const struct sheet *sheet,
                                 const char *name, FILE *out)
{
    const struct nvt_fragment_row *row = sheet->rows[0];
    char title[NVT_FRAME_TEXT];
    snprintf(title, sizeof(title),
             "Fragmented linear layer, %" PRId64 " × %" PRId64 ", batch %" PRId64, row->size,
             row->size, row->batch);
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    frame.columns = frame.rows = 2;
    put_fragments_frame(request->input, sheet, &frame);
    nvt_frame_open(&frame, 120, out);
    put_fragments_x_axis(sheet, &frame, out);
    for (size_t i = 0; i < NVT_COUNT_OF(panels); i++)
        put_fragments_panel(sheet, i, &frame, out);
    nvt_frame_close(&frame, out);
}

static int draw_fragments_sheet(const struct nvt_chart_request *request, const struct sheet *sheet,
                                struct nvt_error *err)
{
    char name[128];
    snprintf(name, sizeof(name), "fragments-size%" PRId64 "-batch%" PRId64, sheet->rows[0]->size,
             sheet->rows[0]->batch);
    FILE *data = nvt_chart_open(request, name, "dat", err);
    if (!data)
        return -1;
    put_fragments_data(sheet, data);
    if (nvt_chart_close(request, data, name, "dat", err))
        return -1;
    FILE *script = nvt_chart_open(request, name, "gp", err);
    if (!script)
        return -1;
    put_fragments_script(request, sheet, name, script);
    if (nvt_chart_close(request, script, name, "gp", err))
        return -1;
    return nvt_chart_render(request, name, err);
}

static int draw_fragments(const struct nvt_chart_request *request, struct nvt_error *err)
{
    size_t count = 0;
    struct nvt_studied studied;
    struct sheet sheet = {.studied = &studied};
    struct nvt_fragment_row *rows = NULL;
    if (!nvt_studied_of(request->input, 0, &studied, err))
        rows = nvt_fragment_rows(studied.input.runs, studied.input.run_count, &count, err);
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
            status = draw_fragments_sheet(request, &sheet, err);
    }
    free(sheet.rows);
    free(rows);
    nvt_studied_free(&studied);
    return status;
}

static int fragments_fits(const struct nvt_input *input)
{
    size_t count = 0, measured = 0;
    struct nvt_fragment_row *rows = nvt_fragment_rows(input->runs, input->run_count, &count, NULL);
    for (size_t i = 0; rows && i < count; i++)
        measured += (size_t)(nvt_fragment_ok(&rows[i]) && rows[i].fragments);
    free(rows);
    return measured > 0;
}

const struct nvt_chart nvt_chart_fragments = {
    .name = "fragments",
    .about = "the fragment study: times, peak memory, parameters; a sheet for each size and batch",
    .fits = fragments_fits,
    .draw = draw_fragments,
};
