/*
 * scaling: what forward and backward cost over the number that was varied most, a line for each
 * variant: what was measured as points, the straight line through them, and where two cross, with
 * the 95 % interval. A sheet for each combination of the other numbers. The lines and crossings are
 * those of `nvtally diagnose` (analyze/curves.h).
 */
#include "chart.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/curves.h"
#include "frame.h"
#include "gnuplot.h"
#include "words.h"

#define LINES_MAX 6 /* colours that are told apart */
#define CROSSINGS 8 /* that are marked */

static const char *const colors[LINES_MAX] = {NVT_BLUE, NVT_ORANGE, NVT_GREEN,
                                              NVT_RED,  NVT_PURPLE, NVT_BLACK};
static const char *const phases[] = {"forward", "backward"};

/* Curves of one sheet. */
struct sheet {
    char key[256]; /* workload and the other numbers */
    const char *axis;
    const struct nvt_curve *curves[2][LINES_MAX]; /* by phase */
    size_t counts[2];
    double least, most;           /* n */
    struct nvt_extent extents[2]; /* by phase, in ns, with the bars */
    struct nvt_time_unit unit;
};

/* The workload and its numbers, but not the axis. */
static void describe(const struct nvt_curve *curve, char *out, size_t size)
{
    const struct nvt_record *record = curve->record;
    const char *workload = nvt_record_text(record, "workload");
    size_t used = (size_t)snprintf(out, size, "%s", workload ? workload : "");
    for (size_t i = 0; i < record->count && used < size; i++) {
        const struct nvt_member *member = &record->members[i];
        if (!nvt_record_is_axis(record, i) || !strcmp(member->key, curve->axis))
            continue;
        if (member->type == NVT_VALUE_NUMBER)
            used += (size_t)snprintf(out + used, size - used, " %s=%s", member->key, member->text);
    }
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

/* The sheet that begins with a curve. Whether it holds two variants that can be compared. */
static int fill_sheet(struct sheet *sheet, const struct nvt_curves *curves, size_t first)
{
    char key[256];
    int comparable = 0;
    *sheet = (struct sheet){.axis = curves->items[first].axis,
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
        for (size_t p = 0; p < curve->count; p++)
            nvt_extent_add_bar(&sheet->extents[phase], curve->points[p].ns,
                               curve->points[p].std_ns);
    }
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

static void put_data(const struct nvt_chart_request *request, const void *what, const char *name,
                     FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# n %s std_%s; a block a line, forward first\n", sheet->unit.name,
            sheet->unit.name);
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++) {
            const struct nvt_curve *curve = sheet->curves[phase][i];
            fprintf(out, "# %s %s\n", curve->phase, curve->rest);
            for (size_t p = 0; p < curve->count; p++)
                fprintf(out, "%.9g\t%.9g\t%.9g\n", curve->points[p].n,
                        curve->points[p].ns / sheet->unit.ns,
                        isfinite(curve->points[p].std_ns) ? curve->points[p].std_ns / sheet->unit.ns
                                                          : 0);
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
            if (!nvt_curves_differ(left, right) || !nvt_curves_cross(left, right, &crossing))
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

static size_t variant_of(const struct nvt_curve *const *variants, const struct nvt_curve *curve)
{
    size_t at = 0;
    while (strcmp(variants[at]->rest, curve->rest))
        at++;
    return at;
}

/* Log axes: lines bend there, which is why each is drawn from its own a and b. */
static void put_panel(const struct sheet *sheet, int phase, int index,
                      const struct nvt_frame *frame, FILE *out)
{
    const struct nvt_curve *variants[2 * LINES_MAX];
    const char *separator = "plot ";
    char text[64];
    size_t block = phase ? sheet->counts[0] : 0;
    variants_of(sheet, variants);
    nvt_frame_panel(frame, index, phases[phase], out);
    snprintf(text, sizeof(text), "median (%s)%s", sheet->unit.name,
             nvt_frame_scale('y', &sheet->extents[phase], sheet->unit.ns, 0, out) ? ", log scale"
                                                                                  : "");
    nvt_frame_y_label(frame, index, text, out);
    put_crossings(sheet, phase, out);
    for (size_t i = 0; i < sheet->counts[phase]; i++, block++) {
        const struct nvt_curve *curve = sheet->curves[phase][i];
        size_t variant = variant_of(variants, curve);
        fprintf(
            out,
            "%s'%s.dat' index %zu using 1:(low($2,$3)):(0):(high($2,$3)-low($2,$3)) with vectors "
            "nohead linewidth 0.8 linecolor '%s', \\\n     '' index %zu using 1:2 with points "
            "pointtype %zu pointsize 0.7 linecolor '%s', \\\n     %.9g + %.9g*x with lines "
            "linecolor '%s' linewidth 1.6",
            separator, frame->name, block, colors[variant % LINES_MAX], block,
            5 + 2 * (variant % 3), colors[variant % LINES_MAX], curve->line.a / sheet->unit.ns,
            curve->line.b / sheet->unit.ns, colors[variant % LINES_MAX]);
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
                if (!nvt_curves_differ(pair[0], pair[1]) ||
                    !nvt_curves_cross(pair[0], pair[1], &crossing))
                    continue;
                for (int k = 0; k < 2; k++)
                    nvt_words_pick(&words, pair[k]->rest, 0, names[k], sizeof(names[k]));
                snprintf(text, sizeof(text), "%s: %s meets %s at %.3g (%.3g to %.3g).",
                         phases[phase], names[0], names[1], crossing.n, crossing.from, crossing.to);
                nvt_frame_note(frame, text);
                count++;
            }
}

static void put_frame(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_curve *variants[2 * LINES_MAX] = {NULL};
    size_t count = variants_of(sheet, variants);
    const struct nvt_words words = {variants, count, rest_of};
    char text[NVT_FRAME_TEXT];
    if (!count)
        return;
    struct nvt_provenance from = nvt_runs_provenance(variants[0]->points[0].runs);
    for (size_t i = 0; i < count; i++) {
        nvt_words_pick(&words, variants[i]->rest, 0, text, sizeof(text));
        nvt_frame_key(frame, NVT_KEY_LINE_POINT, colors[i % LINES_MAX], 1, (int)(5 + 2 * (i % 3)),
                      *text ? text : variants[i]->rest);
    }
    nvt_frame_note(frame, "Lines: a + b·n by least squares, weights 1/cost². Bars: ± one standard "
                          "deviation. Band: where two cross, with the 95 % interval.");
    put_crossing_notes(sheet, frame);
    nvt_words_pick(&words, variants[0]->rest, 1, text, sizeof(text));
    nvt_frame_note(frame, count > 1 ? text : "");
    nvt_frame_provenance(frame, "", &from);
}

/* Tics at what was measured. */
static void put_x_axis(const struct sheet *sheet, const struct nvt_frame *frame, FILE *out)
{
    double *values = NULL;
    size_t count = 0;
    char text[NVT_FRAME_TEXT];
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++) {
            const struct nvt_curve *curve = sheet->curves[phase][i];
            double *more = realloc(values, (count + curve->count + 1) * sizeof(*values));
            values = more ? more : values;
            for (size_t p = 0; more && p < curve->count; p++)
                values[count++] = curve->points[p].n;
        }
    nvt_frame_log_x(frame, sheet->least / 1.3, sheet->most * 1.3, values, count, out);
    free(values);
    snprintf(text, sizeof(text), "%s, log scale", sheet->axis);
    fputs("set samples 400\nset xlabel ", out);
    nvt_gnuplot_text(text, 40, out);
    fputs(" noenhanced\n", out);
}

static void put_script(const struct nvt_chart_request *request, const void *what, const char *name,
                       FILE *out)
{
    const struct sheet *sheet = what;
    char text[NVT_FRAME_TEXT];
    int panel = 0;
    snprintf(text, sizeof(text), "Cost of %.*s over %s", (int)strcspn(sheet->key, " "), sheet->key,
             sheet->axis);
    struct nvt_frame frame = nvt_frame_new(request->format, name, text);
    frame.columns = (sheet->counts[0] > 0) + (sheet->counts[1] > 0);
    frame.right = 8;
    put_frame(sheet, &frame);
    nvt_frame_open(&frame, 180, out);
    put_x_axis(sheet, &frame, out);
    for (int phase = 0; phase < 2; phase++)
        if (sheet->counts[phase])
            put_panel(sheet, phase, panel++, &frame, out);
    nvt_frame_close(&frame, out);
}

static int draw_sheet(const struct nvt_chart_request *request, const struct sheet *sheet,
                      struct nvt_error *err)
{
    char name[160];
    snprintf(name, sizeof(name), "scaling-%.40s-%.100s", sheet->axis, sheet->key);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            *at = '_';
    return nvt_chart_draw(request, name, put_data, put_script, sheet, err);
}

static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_curves curves = {0};
    struct sheet sheet;
    int status = nvt_curves_of(request->input, NULL, &curves, err);
    for (size_t i = 0; i < curves.count && !status; i++)
        if (is_main_axis(&curves, &curves.items[i]) && !is_later(&curves, i) &&
            fill_sheet(&sheet, &curves, i))
            status = draw_sheet(request, &sheet, err);
    nvt_curves_free(&curves);
    return status;
}

static int fits(const struct nvt_report_input *input)
{
    struct nvt_curves curves = {0};
    struct sheet sheet;
    int fitting = 0;
    if (!nvt_curves_of(input, NULL, &curves, NULL))
        for (size_t i = 0; i < curves.count && !fitting; i++)
            fitting = is_main_axis(&curves, &curves.items[i]) && fill_sheet(&sheet, &curves, i);
    nvt_curves_free(&curves);
    return fitting;
}

const struct nvt_chart nvt_chart_scaling = {
    .name = "scaling",
    .about = "cost over the number varied most, a line a variant, and where variants cross",
    .fits = fits,
    .draw = draw,
};
