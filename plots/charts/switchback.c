/*
 * switchback: the two published charts of the SwitchBack study. The time of each operation against
 * the layer's narrow side at one batch, both axes logarithmic; and how much faster than fp16 int8 is,
 * in %, against the narrow side, a line a batch. Both directions of a layer
 * are averaged; where a side was measured with several multipliers, the one nearest to 4 is shown.
 */
#include "../chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/studies/switchback.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../studied.h"

/* The published charts' batch, and the least of their lines; other runs show what they have. */
#define PUBLISHED_BATCH 32768
#define LEAST_BATCH     16384
#define LINES_MOST      8
#define LEFT_OUT_MOST   6

/* Rows of one narrow side and batch, averaged. */
struct point {
    int64_t dim, batch;
    size_t count;
    double multiplier;
    double ms[NVT_SWITCHBACK_STEPS];
    double variance[NVT_SWITCHBACK_STEPS]; /* ms², NaN unless all calls were timed singly */
};

/* From the column of a time in the data file to that of its deviation. */
#define FIRST_STD (NVT_SWITCHBACK_STEPS + NVT_SWITCHBACK_TOTALS + 1)

struct points {
    struct nvt_studied studied;
    struct point *items;
    size_t count;
    double left_out[LEFT_OUT_MOST]; /* multipliers that are not drawn, ascending */
    size_t left_out_count;
};

/* --- numbers ---------------------------------------------------------------------------------- */

static struct point *find(struct points *points, int64_t dim, int64_t batch)
{
    for (size_t i = 0; i < points->count; i++)
        if (points->items[i].dim == dim && points->items[i].batch == batch)
            return &points->items[i];
    struct point *added = &points->items[points->count++];
    *added = (struct point){.dim = dim, .batch = batch};
    return added;
}

static void leave_out(struct points *points, double multiplier)
{
    size_t at = 0;
    while (at < points->left_out_count && points->left_out[at] < multiplier - 1e-9)
        at++;
    if ((at < points->left_out_count && points->left_out[at] < multiplier + 1e-9) ||
        points->left_out_count == LEFT_OUT_MOST)
        return;
    memmove(&points->left_out[at + 1], &points->left_out[at],
            (points->left_out_count++ - at) * sizeof(multiplier));
    points->left_out[at] = multiplier;
}

/* A nearer multiplier takes the place of what was gathered so far. */
static void add_row(struct points *points, const struct nvt_switchback_row *row)
{
    struct point *point = find(points, row->dim, row->batch);
    double distance = fabs(row->multiplier - 4) - fabs(point->multiplier - 4);
    if (point->count && fabs(distance) > 1e-9)
        leave_out(points, distance > 0 ? row->multiplier : point->multiplier);
    if (point->count && distance > 1e-9)
        return;
    if (point->count && distance < -1e-9)
        *point = (struct point){.dim = row->dim, .batch = row->batch};
    point->multiplier = row->multiplier;
    point->count++;
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++) {
        point->ms[i] += row->steps[i].mean_ms;
        point->variance[i] += row->steps[i].std_ms * row->steps[i].std_ms;
    }
}

static int by_batch_and_dim(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    return (a->dim > b->dim) - (a->dim < b->dim);
}

static void free_points(struct points *points)
{
    nvt_studied_free(&points->studied);
    free(points->items);
}

/* To be freed after a failure as well. */
static int read_points(const struct nvt_input *input, struct points *points, struct nvt_error *err)
{
    size_t count = 0;
    struct nvt_switchback_row *rows = NULL;
    *points = (struct points){0};
    if (!nvt_studied_of(input, 0, &points->studied, err))
        rows = nvt_switchback_rows(points->studied.input.runs, points->studied.input.run_count,
                                   &count, err);
    if (!rows)
        return -1;
    points->items = calloc(count + 1, sizeof(*points->items));
    for (size_t i = 0; points->items && i < count; i++)
        if (nvt_switchback_ok(&rows[i]))
            add_row(points, &rows[i]);
    free(rows);
    if (!points->items)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < points->count; i++)
        for (int k = 0; k < NVT_SWITCHBACK_STEPS; k++) {
            points->items[i].ms[k] /= (double)points->items[i].count;
            points->items[i].variance[k] /= (double)points->items[i].count;
        }
    if (points->count)
        qsort(points->items, points->count, sizeof(*points->items), by_batch_and_dim);
    return 0;
}

static double total_of(const struct point *point, enum nvt_switchback_total total)
{
    double sum = 0;
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++)
        if (nvt_switchback_steps[i].totals & 1u << total)
            sum += point->ms[i];
    return sum;
}

static double speedup_of(const struct point *point)
{
    double standard = total_of(point, NVT_STANDARD);
    return 100 * (standard - total_of(point, NVT_GLOBAL)) / standard;
}

static double variance_of(const struct point *point, enum nvt_switchback_total total)
{
    double sum = 0;
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++)
        if (nvt_switchback_steps[i].totals & 1u << total)
            sum += point->variance[i];
    return sum;
}

/* First order, the operations taken as independent: of 100·(1 - G/S). */
static double speedup_deviation(const struct point *point)
{
    double standard = total_of(point, NVT_STANDARD), global = total_of(point, NVT_GLOBAL);
    return 100 *
           sqrt(variance_of(point, NVT_GLOBAL) +
                global * global / standard / standard * variance_of(point, NVT_STANDARD)) /
           standard;
}

/* Whether every operation of a batch (0: of any) has a deviation. */
static int has_deviations(const struct points *points, int64_t batch)
{
    for (size_t i = 0; i < points->count; i++)
        if ((!batch || points->items[i].batch == batch) &&
            !isfinite(speedup_deviation(&points->items[i])))
            return 0;
    return 1;
}

static struct nvt_extent extent_of(const struct points *points, int64_t batch)
{
    struct nvt_extent extent = nvt_extent_new();
    for (size_t i = 0; i < points->count; i++)
        for (int k = 0; k < NVT_SWITCHBACK_STEPS && points->items[i].batch == batch; k++)
            nvt_extent_add(&extent, points->items[i].ms[k], points->items[i].ms[k]);
    return extent;
}

/* The published batch where it was measured, else the largest. */
static int64_t batch_to_show(const struct points *points)
{
    int64_t batch = points->items[points->count - 1].batch;
    for (size_t i = 0; i < points->count; i++)
        if (points->items[i].batch == PUBLISHED_BATCH)
            batch = PUBLISHED_BATCH;
    return batch;
}

/* The batches of the second chart: those of the published one, or the largest that there are. */
static size_t lines_of(const struct points *points, int64_t lines[LINES_MOST])
{
    int large = points->items[points->count - 1].batch >= LEAST_BATCH;
    size_t count = 0;
    for (size_t i = points->count; i-- > 0 && count < LINES_MOST;) {
        int64_t batch = points->items[i].batch;
        if (large && batch < LEAST_BATCH)
            break;
        if (!count || lines[count - 1] != batch)
            lines[count++] = batch;
    }
    return count;
}

/* --- data ------------------------------------------------------------------------------------- */

/* One block a batch, named after it: narrow side, time of each operation, the three totals, the
 * speed-up. */
static void put_switchback_data(const struct points *points, FILE *out)
{
    fputs("# dim", out);
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++)
        fprintf(out, " %s_ms", nvt_switchback_steps[i].name);
    for (int i = 0; i < NVT_SWITCHBACK_TOTALS; i++)
        fprintf(out, " %s_ms", nvt_switchback_totals[i]);
    fputs(" global_speedup_percent, then the deviation of each operation and of the speed-up\n",
          out);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];
        if (!i || point->batch != points->items[i - 1].batch)
            fprintf(out, "%s# batch%" PRId64 "\n", i ? "\n\n" : "", point->batch);
        fprintf(out, "%" PRId64, point->dim);
        for (int k = 0; k < NVT_SWITCHBACK_STEPS; k++)
            fprintf(out, "\t%.9g", point->ms[k]);
        for (int k = 0; k < NVT_SWITCHBACK_TOTALS; k++)
            fprintf(out, "\t%.9g", total_of(point, (enum nvt_switchback_total)k));
        fprintf(out, "\t%.9g", speedup_of(point));
        for (int k = 0; k < NVT_SWITCHBACK_STEPS; k++)
            fprintf(out, "\t%.9g", sqrt(point->variance[k]));
        fprintf(out, "\t%.9g\n", speedup_deviation(point));
    }
}

/* --- scripts ---------------------------------------------------------------------------------- */

/* Of each operation: a colour a kind, a mark each. Where lines lie on each other, as those of x and
 * g do when both directions are averaged, a large open mark shows behind a small full one. */
static const struct {
    const char *color;
    int point, dash;
} styles[NVT_SWITCHBACK_STEPS] = {
    {NVT_BLACK, 7, 1}, {NVT_BLACK, 5, 1},  {NVT_BLACK, 9, 1},   {NVT_BLUE, 6, 1},
    {NVT_BLUE, 4, 1},  {NVT_SKY, 7, 1},    {NVT_SKY, 5, 1},     {NVT_RED, 6, 1},
    {NVT_RED, 5, 1},   {NVT_ORANGE, 9, 1}, {NVT_ORANGE, 11, 1}, {NVT_GREEN, 6, 1},
    {NVT_GREEN, 5, 1}, {"#999999", 6, 2},  {"#999999", 5, 2},   {"#999999", 9, 2},
};

/* Which layers are not drawn, as their narrow side has others. */
static void put_left_out(const struct points *points, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "If a narrow side has several width multipliers, the one nearest to 4; not drawn: ");
    for (size_t i = 0; i < points->left_out_count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.6g", i ? ", " : "",
                                 points->left_out[i]);
    snprintf(text + used, sizeof(text) - used, ".");
    if (points->left_out_count)
        nvt_frame_note(frame, text);
}

/* What both charts have below them. */
static void put_switchback_frame(const struct nvt_input *input, const struct points *points,
                                 struct nvt_frame *frame, const char *note, const char *bars)
{
    nvt_frame_note(frame, note);
    put_left_out(points, frame);
    nvt_studied_notes(&points->studied, bars, frame);
    nvt_chart_provenance(input, frame);
}

/* The sides that were measured with a batch, or with any (0), and where their axis begins and ends; malloc'ed, NULL:
 * out of memory. */
static double *sides_of(const struct points *points, int64_t batch, size_t *count, double *left,
                        double *right)
{
    double *values = calloc(points->count + 1, sizeof(*values));
    struct nvt_extent extent = nvt_extent_new();
    *count = 0;
    for (size_t i = 0; values && i < points->count; i++) {
        if (batch && points->items[i].batch != batch)
            continue;
        values[(*count)++] = (double)points->items[i].dim;
        nvt_extent_add(&extent, values[*count - 1], values[*count - 1]);
    }
    nvt_frame_log_range(&extent, 1.15, left, right);
    return values;
}

/* Open a frame with room for the labels of its sides, and put tics at them. */
static void open_frame(struct nvt_frame *frame, int panel, const struct points *points,
                       int64_t batch, FILE *out)
{
    double left, right;
    size_t count;
    double *values = sides_of(points, batch, &count, &left, &right);
    frame->x_rows = nvt_frame_log_x_rows(frame, left, right, values, count);
    nvt_frame_open(frame, panel, out);
    if (count)
        nvt_frame_log_x(frame, left, right, values, count, out);
    fputs("set xlabel 'narrow side of the layer (features), log scale'\n", out);
    free(values);
}

static void put_times(const struct nvt_chart_request *request, const struct points *points,
                      const char *name, FILE *out)
{
    char title[128];
    int64_t batch = batch_to_show(points);
    snprintf(title, sizeof(title), "SwitchBack: time of each operation, batch %" PRId64, batch);
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++)
        nvt_frame_key(&frame, NVT_KEY_LINE_POINT, styles[i].color, styles[i].dash, styles[i].point,
                      nvt_switchback_steps[i].name);
    put_switchback_frame(request->input, points, &frame, "Mean of the directions measured.", NULL);
    open_frame(&frame, 240, points, batch, out);
    nvt_frame_y_label(&frame, 0, "time (ms), log scale", out);
    const struct nvt_extent extent = extent_of(points, batch);
    nvt_frame_scale('y', &extent, 1, 0, out);
    fputs("plot ", out);
    for (int i = 0; i < NVT_SWITCHBACK_STEPS; i++) {
        fprintf(out, "%s'switchback.dat' index 'batch%" PRId64 "' using 1:%d with linespoints",
                i ? ", \\\n     " : "", batch, i + 2);
        nvt_frame_style(NVT_KEY_LINE_POINT, styles[i].color, styles[i].dash, styles[i].point, out);
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static void put_speedup(const struct nvt_chart_request *request, const struct points *points,
                        const char *name, FILE *out)
{
    static const char *const colors[LINES_MOST] = {NVT_BLUE, NVT_RED,    NVT_GREEN, NVT_PURPLE,
                                                   NVT_SKY,  NVT_ORANGE, NVT_BLACK, "#999999"};
    static const int marks[LINES_MOST] = {7, 5, 9, 11, 13, 6, 4, 8};
    int64_t lines[LINES_MOST];
    char text[64];
    size_t count = lines_of(points, lines);
    struct nvt_frame frame = nvt_frame_new(request, name, "SwitchBack: speed-up of int8 over fp16");
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "batch %" PRId64, lines[i]);
        nvt_frame_key(&frame, NVT_KEY_LINE_POINT, colors[i], 1, marks[i], text);
    }
    int bars = has_deviations(points, 0);
    put_switchback_frame(
        request->input, points, &frame,
        "Of the layer's forward and backward, with one scale for the weights; mean of the "
        "directions measured.",
        bars ? "bars, from those of the operations" : NULL);
    open_frame(&frame, 200, points, 0, out);
    nvt_frame_y_label(&frame, 0, "speed-up (%)", out);
    fputs("set arrow 1 from graph 0,first 0 to graph 1,first 0 nohead "
          "linecolor '#555555' dashtype 2\nset yrange [*<0:0<*]\nplot ",
          out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s'switchback.dat' index 'batch%" PRId64 "' using 1:%d",
                i ? ", \\\n     " : "", lines[i], 1 + FIRST_STD);
        if (bars)
            fprintf(out, ":%d", 1 + FIRST_STD + NVT_SWITCHBACK_STEPS + 1);
        fputs(bars ? " with yerrorlines" : " with linespoints", out);
        nvt_frame_style(NVT_KEY_LINE_POINT, colors[i], 1, marks[i], out);
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

/* --- drawing ---------------------------------------------------------------------------------- */

typedef void put_script(const struct nvt_chart_request *, const struct points *, const char *,
                        FILE *);

static int draw_one(const struct nvt_chart_request *request, const struct points *points,
                    const char *name, put_script *put, struct nvt_error *err)
{
    FILE *script = nvt_chart_open(request, name, "gp", err);
    if (!script)
        return -1;
    put(request, points, name, script);
    if (nvt_chart_close(request, script, name, "gp", err))
        return -1;
    return nvt_chart_render(request, name, err);
}

static int draw_points(const struct nvt_chart_request *request, const struct points *points,
                       struct nvt_error *err)
{
    FILE *data = nvt_chart_open(request, "switchback", "dat", err);
    if (!data)
        return -1;
    put_switchback_data(points, data);
    if (nvt_chart_close(request, data, "switchback", "dat", err) ||
        draw_one(request, points, "switchback-times", put_times, err))
        return -1;
    return draw_one(request, points, "switchback-speedup", put_speedup, err);
}

static int draw_switchback(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct points points;
    int status = read_points(request->input, &points, err);
    if (!status)
        status = draw_points(request, &points, err);
    free_points(&points);
    return status;
}

static int switchback_fits(const struct nvt_input *input)
{
    struct points points;
    int is_any = !read_points(input, &points, NULL) && points.count > 0;
    free_points(&points);
    return is_any;
}

const struct nvt_chart nvt_chart_switchback = {
    .name = "switchback",
    .about = "int8 against fp16: time of each operation, speed-up by batch",
    .fits = switchback_fits,
    .draw = draw_switchback,
};
