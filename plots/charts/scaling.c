/*
 * scaling: what forward and backward cost over the number that was varied most, a line for each
 * variant: what was measured as points, the straight line through them where it describes them, and
 * where two cross, with the 95 % interval. A sheet for each combination of the other numbers. The
 * lines and crossings are those of `nvtally diagnose` (analyze/sweeps/curves.h).
 */
#include "../chart.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/sweeps/curves.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../looks.h"
#include "../studied.h"
#include "../../lib/words.h"

#define LINES_MAX 6    /* colours that are told apart */
#define CROSSINGS 8    /* that are marked */
#define OFF_MOST  0.25 /* of a line from what it describes, root mean square of the relative ones */
#define ROOM      3    /* an axis holds bars up to so many times the highest point */

static const char *const phases[] = {"forward", "backward"};

/* Curves of one sheet. */
struct sheet {
    const struct nvt_curves *all; /* of the run, for the looks */
    const struct nvt_studied *studied;
    char key[256]; /* workload and the other numbers */
    const char *axis;
    const struct nvt_curve *curves[2][LINES_MAX]; /* by phase */
    size_t counts[2];
    double least, most;           /* n */
    struct nvt_extent extents[2]; /* by phase, in ns, with the bars as far as there is room */
    int has_bars, has_cut;        /* whether there are bars, and some end outside */
    int has_lines, has_joins;     /* curves with a line through them, and without */
    struct nvt_time_unit unit;
};

/* What was measured at one n: the median of the runs' medians, and what its bar holds: the shortest
 * and the longest iteration of one run, or else the least and the largest median of several. */
struct point {
    double n, median, low, high; /* ns; NaN: unknown */
};

static double number_of(const struct nvt_curve *curve, size_t point, const char *what)
{
    char key[64];
    const struct nvt_curve_point *at = &curve->points[point];
    snprintf(key, sizeof(key), "%s_ns_%s", curve->phase, what);
    return nvt_record_number(&at->runs->records[at->record], key);
}

/* The point that begins at `first`; *next gets where the one behind it does. */
static struct point point_at(const struct nvt_curve *curve, size_t first, size_t *next)
{
    enum { MOST = 64 };
    double medians[MOST] = {curve->points[first].ns};
    size_t count = 1, at = first + 1;
    for (; at < curve->count && curve->points[at].n == curve->points[first].n; at++)
        if (count < MOST)
            medians[count++] = curve->points[at].ns;
    *next = at;
    nvt_sample_sort(medians, count);
    struct point point = {curve->points[first].n,
                          (medians[(count - 1) / 2] + medians[count / 2]) / 2, medians[0],
                          medians[count - 1]};
    if (count == 1) {
        point.low = number_of(curve, first, "min");
        point.high = number_of(curve, first, "max");
        if (!(point.low > 0) || !(point.high >= point.median) || !(point.low <= point.median))
            point.low = point.high = NAN;
    }
    return point;
}

static double line_at(const struct nvt_curve *curve, double n)
{
    return curve->line.a + curve->line.b * n;
}

/*
 * Whether a curve's line is drawn: the 95 % interval of its slope (Student's t, with the points less
 * two degrees of freedom) does not hold 0, it misses the points by at most OFF_MOST, and it is above
 * zero all along.
 */
static int has_line(const struct nvt_curve *curve)
{
    const struct nvt_line *line = &curve->line;
    if (curve->count < 3)
        return 0;
    double s2 = line->rest / (double)(curve->count - 2);
    double half = nvt_student_t95(curve->count - 2) * sqrt(fmax(s2 * line->var_b, 0));
    return fabs(line->b) > half && sqrt(line->rest / (double)curve->count) <= OFF_MOST &&
           line_at(curve, curve->points[0].n) > 0 &&
           line_at(curve, curve->points[curve->count - 1].n) > 0;
}

/* The workload and its other axes, those with numbers or those with words. */
static void name_curve(const struct nvt_curve *curve, int numbers, char *out, size_t size)
{
    const struct nvt_record *record = curve->record;
    const char *workload = nvt_record_text(record, "workload");
    size_t used = (size_t)snprintf(out, size, "%s", workload ? workload : "");
    for (size_t i = 0; i < record->count && used < size; i++) {
        const struct nvt_member *member = &record->members[i];
        if (nvt_record_is_axis(record, i) && strcmp(member->key, curve->axis) &&
            member->type != NVT_VALUE_NULL && (member->type == NVT_VALUE_NUMBER) == numbers)
            used += (size_t)snprintf(out + used, size - used, " %s=%s", member->key, member->text);
    }
}

/* What its sheet is of. */
static void describe(const struct nvt_curve *curve, char *out, size_t size)
{
    name_curve(curve, 1, out, size);
}

/* What tells it from the others there. */
static void describe_variant(const struct nvt_curve *curve, char *out, size_t size)
{
    name_curve(curve, 0, out, size);
}

/* The variants of a sheet, each once: forward's, then what only backward has. */
static size_t variants_of(const struct sheet *sheet,
                          const struct nvt_curve *variants[2 * LINES_MAX])
{
    size_t count = 0;
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++) {
            size_t at = 0;
            while (at < count && strcmp(variants[at]->rest, sheet->curves[phase][i]->rest))
                at++;
            if (at == count)
                variants[count++] = sheet->curves[phase][i];
        }
    return count;
}

/*
 * The look of a curve: that of its variant in all sheets of its workload. Over the partitions of a
 * pipeline, whose number would give all the same colour, each variant has its own.
 */
static struct nvt_look look_of(const struct sheet *sheet, const struct nvt_curve *curve)
{
    char mine[256], other[256], before[256];
    size_t index = 0;
    if (!strcmp(curve->axis, "partitions")) {
        const struct nvt_curve *variants[2 * LINES_MAX];
        size_t count = variants_of(sheet, variants);
        while (index < count && strcmp(variants[index]->rest, curve->rest))
            index++;
        return nvt_look_of_variant(index);
    }
    describe_variant(curve, mine, sizeof(mine));
    for (size_t i = 0; i < sheet->all->count; i++) {
        const struct nvt_curve *item = &sheet->all->items[i];
        size_t k = 0;
        describe_variant(item, other, sizeof(other));
        if (!strcmp(other, mine))
            break;
        for (; k < i; k++) {
            describe_variant(&sheet->all->items[k], before, sizeof(before));
            if (!strcmp(before, other))
                break;
        }
        index += k == i && !strncmp(other, mine, strcspn(mine, " ") + 1);
    }
    return nvt_look_of_record(curve->record, index);
}

static size_t different(const struct nvt_curve *curve)
{
    size_t count = 1;
    for (size_t i = 1; i < curve->count; i++)
        count += curve->points[i].n != curve->points[i - 1].n;
    return count;
}

/* Whether its axis is the one of its workload that was varied most (the first of equals). */
static int is_main_axis(const struct nvt_curves *curves, const struct nvt_curve *curve)
{
    const char *workload = nvt_record_text(curve->record, "workload"), *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < curves->count; i++) {
        const char *other = nvt_record_text(curves->items[i].record, "workload");
        if (!workload || !other || strcmp(workload, other) || different(&curves->items[i]) <= most)
            continue;
        most = different(&curves->items[i]);
        best = curves->items[i].axis;
    }
    return best && !strcmp(best, curve->axis);
}

static int phase_of(const struct nvt_curve *curve)
{
    return !strcmp(curve->phase, phases[0]) ? 0 : !strcmp(curve->phase, phases[1]) ? 1 : -1;
}

/* What the axis of a phase has to hold: points, lines, and bars as far as there is room. */
static void measure_scaling(struct sheet *sheet, int phase)
{
    struct nvt_extent *extent = &sheet->extents[phase];
    for (size_t i = 0; i < sheet->counts[phase]; i++) {
        const struct nvt_curve *curve = sheet->curves[phase][i];
        for (size_t p = 0; p < curve->count;) {
            struct point point = point_at(curve, p, &p);
            double line = line_at(curve, point.n);
            nvt_extent_add(extent, point.median, point.median);
            if (has_line(curve))
                nvt_extent_add(extent, line, line);
        }
    }
    const struct nvt_extent held = {extent->least / ROOM, extent->most * ROOM};
    for (size_t i = 0; i < sheet->counts[phase]; i++)
        for (size_t p = 0; p < sheet->curves[phase][i]->count;) {
            struct point point = point_at(sheet->curves[phase][i], p, &p);
            if (!(point.high > point.low))
                continue;
            sheet->has_bars = 1;
            sheet->has_cut |= point.low < held.least || point.high > held.most;
            nvt_extent_add(extent, fmax(point.low, held.least), fmin(point.high, held.most));
        }
}

/* The sheet that begins with a curve. Whether it holds two variants that can be compared. */
static int fill_sheet(struct sheet *sheet, const struct nvt_studied *studied,
                      const struct nvt_curves *curves, size_t first)
{
    char key[256];
    int comparable = 0;
    *sheet = (struct sheet){.all = curves,
                            .studied = studied,
                            .axis = curves->items[first].axis,
                            .least = INFINITY,
                            .extents = {nvt_extent_new(), nvt_extent_new()}};
    describe(&curves->items[first], sheet->key, sizeof(sheet->key));
    for (size_t i = first; i < curves->count; i++) {
        const struct nvt_curve *curve = &curves->items[i];
        int phase = phase_of(curve);
        describe(curve, key, sizeof(key));
        if (phase < 0 || strcmp(curve->axis, sheet->axis) || strcmp(key, sheet->key) ||
            sheet->counts[phase] == LINES_MAX)
            continue;
        for (size_t j = 0; j < sheet->counts[phase]; j++)
            comparable |= nvt_curves_differ(sheet->curves[phase][j], curve) != NULL;
        sheet->curves[phase][sheet->counts[phase]++] = curve;
        sheet->least = fmin(sheet->least, curve->points[0].n);
        sheet->most = fmax(sheet->most, curve->points[curve->count - 1].n);
        sheet->has_lines |= has_line(curve);
        sheet->has_joins |= !has_line(curve);
    }
    measure_scaling(sheet, 0);
    measure_scaling(sheet, 1);
    sheet->unit = nvt_time_unit_for(fmax(sheet->extents[0].most, sheet->extents[1].most));
    return comparable;
}

/* Whether an earlier curve began the sheet of this one. */
static int is_later(const struct nvt_curves *curves, size_t index)
{
    char key[256], other[256];
    describe(&curves->items[index], key, sizeof(key));
    for (size_t i = 0; i < index; i++) {
        describe(&curves->items[i], other, sizeof(other));
        if (!strcmp(curves->items[i].axis, curves->items[index].axis) && !strcmp(key, other))
            return 1;
    }
    return 0;
}

static void put_scaling_data(const struct nvt_chart_request *request, const void *what,
                             const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# n, then median, low and high in %s; a block a line, forward first\n",
            sheet->unit.name);
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++) {
            const struct nvt_curve *curve = sheet->curves[phase][i];
            fprintf(out, "# %s %s\n", curve->phase, curve->rest);
            for (size_t p = 0; p < curve->count;) {
                struct point point = point_at(curve, p, &p);
                double low = isfinite(point.low) ? point.low : point.median;
                double high = isfinite(point.high) ? point.high : point.median;
                fprintf(out, "%.9g\t%.9g\t%.9g\t%.9g\n", point.n, point.median / sheet->unit.ns,
                        low / sheet->unit.ns, high / sheet->unit.ns);
            }
            fputs("\n\n", out);
        }
}

/* Bands of the intervals behind the lines, and where the lines cross. */
static void put_crossings(const struct sheet *sheet, int phase, FILE *out)
{
    int tag = 0;
    struct nvt_crossing crossing;
    for (size_t i = 0; i < sheet->counts[phase]; i++)
        for (size_t j = i + 1; j < sheet->counts[phase]; j++) {
            const struct nvt_curve *left = sheet->curves[phase][i];
            const struct nvt_curve *right = sheet->curves[phase][j];
            if (!has_line(left) || !has_line(right) || !nvt_curves_differ(left, right) ||
                !nvt_curves_cross(left, right, &crossing))
                continue;
            if (++tag > CROSSINGS)
                return;
            fprintf(out,
                    "set object %d rectangle from %.9g,graph 0 to %.9g,graph 1 behind fillcolor "
                    "'#bbbbbb' fillstyle transparent solid 0.4 noborder\n"
                    "set arrow %d from %.9g,graph 0 to %.9g,graph 1 nohead dashtype 2 linecolor "
                    "'#555555'\n",
                    tag + 10, crossing.from, crossing.to, tag + 10, crossing.n, crossing.n);
        }
}

static const char *rest_of(const void *rows, size_t index)
{
    const struct nvt_curve *const *curves = rows;
    return curves[index]->rest;
}

/* The line of a curve from its first n to its last, on logarithmic axes, where it bends; or what
 * only joins its points. */
static void put_scaling_line(const struct sheet *sheet, const struct nvt_curve *curve, size_t block,
                             const struct nvt_look *look, FILE *out)
{
    const double unit = sheet->unit.ns;
    if (has_line(curve))
        fprintf(out,
                "(x >= %.9g && x <= %.9g ? %.9g + %.9g*x : NaN) with lines linecolor '%s' "
                "dashtype %d linewidth 1.6",
                curve->points[0].n * (1 - 1e-6), curve->points[curve->count - 1].n * (1 + 1e-6),
                curve->line.a / unit, curve->line.b / unit, look->color, look->dash);
    else
        fprintf(out, "'' index %zu using 1:2 with lines linecolor '%s' dashtype 3 linewidth 1",
                block, look->color);
}

/* Bars that go on outside have a head where they are cut. */
static void put_bars(const char *name, size_t block, const char *color, const char *separator,
                     FILE *out)
{
    fprintf(
        out,
        "%s'%s.dat' index %zu using 1:(lower($3)):(0):(upper($4)-lower($3)) with vectors nohead "
        "linewidth 0.8 linecolor '%s', \\\n     '' index %zu using ($4>ceiling?$1:NaN):"
        "(ceiling) with points pointtype 9 pointsize 0.5 linecolor '%s', \\\n     '' index %zu "
        "using ($3<floor?$1:NaN):(floor) with points pointtype 11 pointsize 0.5 linecolor '%s'",
        separator, name, block, color, block, color, block, color);
}

static void put_scaling_panel(const struct sheet *sheet, int phase, int index,
                              const struct nvt_frame *frame, FILE *out)
{
    const char *separator = "plot ";
    char text[64];
    size_t block = phase ? sheet->counts[0] : 0;
    nvt_frame_panel(frame, index, frame->columns > 1 ? phases[phase] : NULL, out);
    snprintf(text, sizeof(text), "median (%s)%s", sheet->unit.name,
             nvt_frame_scale('y', &sheet->extents[phase], sheet->unit.ns, 0, out) ? ", log scale"
                                                                                  : "");
    nvt_frame_y_label(frame, index, text, out);
    put_crossings(sheet, phase, out);
    for (size_t i = 0; i < sheet->counts[phase]; i++, block++) {
        const struct nvt_curve *curve = sheet->curves[phase][i];
        const struct nvt_look look = look_of(sheet, curve);
        put_bars(frame->name, block, look.color, separator, out);
        fprintf(out,
                ", \\\n     '' index %zu using 1:2 with points pointtype %d pointsize 0.7 "
                "linecolor '%s', \\\n     ",
                block, look.point, look.color);
        put_scaling_line(sheet, curve, block, &look, out);
        separator = ", \\\n     ";
    }
    putc('\n', out);
    for (int i = 11; i <= 10 + CROSSINGS; i++)
        fprintf(out, "unset object %d\nunset arrow %d\n", i, i);
}

/* The first crossings in words: their places on the axis would be on top of data. */
static void put_crossing_notes(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_curve *variants[2 * LINES_MAX];
    const struct nvt_words words = {variants, variants_of(sheet, variants), rest_of};
    struct nvt_crossing crossing;
    char text[NVT_FRAME_TEXT], names[2][100];
    int count = 0;
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++)
            for (size_t j = i + 1; j < sheet->counts[phase] && count < 3; j++) {
                const struct nvt_curve *pair[] = {sheet->curves[phase][i], sheet->curves[phase][j]};
                if (!has_line(pair[0]) || !has_line(pair[1]) ||
                    !nvt_curves_differ(pair[0], pair[1]) ||
                    !nvt_curves_cross(pair[0], pair[1], &crossing))
                    continue;
                for (int k = 0; k < 2; k++)
                    nvt_words_pick(&words, pair[k]->rest, 0, names[k], sizeof(names[k]));
                snprintf(text, sizeof(text), "%s: %s meets %s at %.3g (%.3g to %.3g).",
                         phases[phase], names[0], names[1], crossing.n, crossing.from, crossing.to);
                nvt_frame_note(frame, text);
                count++;
            }
    nvt_frame_note(frame, count ? "Band: where two cross, with the 95 % interval." : "");
}

/* What points, bars and lines are. */
static void put_scaling_notes(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    int several = sheet->studied->repeats > 1;
    snprintf(text, sizeof(text), "%s%s%s.",
             several ? "Points: medians of the runs' medians" : "Points: medians",
             !sheet->has_bars ? ""
             : several        ? "; bars: from the least run to the largest"
                              : "; bars: from the shortest iteration to the longest",
             sheet->has_cut ? ", cut at a triangle where they go on" : "");
    nvt_frame_note(frame, text);
    if (sheet->has_lines)
        nvt_frame_note(frame, "Lines: a + b·n by least squares, weights 1/cost².");
    if (sheet->has_joins)
        nvt_frame_note(frame, "Dotted: joins points that no line describes (the 95 % interval of "
                              "its slope contains 0, or it misses them by more than 25 %).");
    nvt_frame_note(frame, sheet->studied->left_out);
}

static void put_scaling_frame(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_curve *variants[2 * LINES_MAX] = {NULL};
    size_t count = variants_of(sheet, variants);
    const struct nvt_words words = {variants, count, rest_of};
    char text[NVT_FRAME_TEXT];
    if (!count)
        return;
    struct nvt_provenance from = nvt_runs_provenance(variants[0]->points[0].runs);
    for (size_t i = 0; i < count; i++) {
        const struct nvt_look look = look_of(sheet, variants[i]);
        nvt_words_pick(&words, variants[i]->rest, 0, text, sizeof(text));
        nvt_frame_key(frame, NVT_KEY_LINE_POINT, look.color, look.dash, look.point,
                      *text ? text : variants[i]->rest);
    }
    put_scaling_notes(sheet, frame);
    put_crossing_notes(sheet, frame);
    nvt_words_pick(&words, variants[0]->rest, 1, text, sizeof(text));
    nvt_frame_note(frame, count > 1 ? text : "");
    nvt_frame_provenance(frame, "", &from);
}

/* Tics at what was measured. */
static void put_scaling_x_axis(const struct sheet *sheet, const struct nvt_frame *frame, FILE *out)
{
    double *values = NULL;
    size_t count = 0;
    char text[NVT_FRAME_TEXT];
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++) {
            const struct nvt_curve *curve = sheet->curves[phase][i];
            const int failed = nvt_resize(&values, count + curve->count, sizeof(*values));
            for (size_t p = 0; !failed && p < curve->count; p++)
                values[count++] = curve->points[p].n;
        }
    nvt_frame_log_x(frame, sheet->least / 1.3, sheet->most * 1.3, values, count, out);
    free(values);
    snprintf(text, sizeof(text), "%s, log scale", sheet->axis);
    fputs("set samples 400\nset xlabel ", out);
    nvt_gnuplot_text(text, 40, out);
    fputs(" noenhanced\n", out);
}

static void put_scaling_script(const struct nvt_chart_request *request, const void *what,
                               const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    char text[NVT_FRAME_TEXT];
    int panel = 0;
    int columns = (sheet->counts[0] > 0) + (sheet->counts[1] > 0);
    /* A phase alone is named by the title, two above their panels. */
    snprintf(text, sizeof(text), "Cost of %.*s over %s%s%s", (int)strcspn(sheet->key, " "),
             sheet->key, sheet->axis, columns > 1 ? "" : ", ",
             columns > 1 ? "" : phases[!sheet->counts[0]]);
    struct nvt_frame frame = nvt_frame_new(request, name, text);
    frame.columns = columns;
    put_scaling_frame(sheet, &frame);
    nvt_frame_open(&frame, 180, out);
    put_scaling_x_axis(sheet, &frame, out);
    for (int phase = 0; phase < 2; phase++)
        if (sheet->counts[phase])
            put_scaling_panel(sheet, phase, panel++, &frame, out);
    nvt_frame_close(&frame, out);
}

static int draw_scaling_sheet(const struct nvt_chart_request *request, const struct sheet *sheet,
                              struct nvt_error *err)
{
    char name[160];
    snprintf(name, sizeof(name), "scaling-%.40s-%.100s", sheet->axis, sheet->key);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            *at = '_';
    return nvt_chart_draw(request, name, put_scaling_data, put_scaling_script, sheet, err);
}

static int draw_scaling(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_curves curves = {0};
    struct nvt_studied studied;
    struct sheet sheet;
    int status = nvt_studied_of(request->input, NVT_STUDIED_REPEATS, &studied, err);
    if (!status)
        status = nvt_curves_of(&studied.input, NULL, &curves, err);
    for (size_t i = 0; i < curves.count && !status; i++)
        if (is_main_axis(&curves, &curves.items[i]) && !is_later(&curves, i) &&
            fill_sheet(&sheet, &studied, &curves, i))
            status = draw_scaling_sheet(request, &sheet, err);
    nvt_curves_free(&curves);
    nvt_studied_free(&studied);
    return status;
}

static int scaling_fits(const struct nvt_input *input)
{
    struct nvt_curves curves = {0};
    struct nvt_studied studied;
    struct sheet sheet;
    int fitting = 0;
    if (!nvt_studied_of(input, NVT_STUDIED_REPEATS, &studied, NULL) &&
        !nvt_curves_of(&studied.input, NULL, &curves, NULL))
        for (size_t i = 0; i < curves.count && !fitting; i++)
            fitting =
                is_main_axis(&curves, &curves.items[i]) && fill_sheet(&sheet, &studied, &curves, i);
    nvt_curves_free(&curves);
    nvt_studied_free(&studied);
    return fitting;
}

const struct nvt_chart nvt_chart_scaling = {
    .name = "scaling",
    .about = "cost over the number varied most, a line for each variant, and where they cross",
    .fits = scaling_fits,
    .draw = draw_scaling,
};
