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
#include "gnuplot.h"

#define LINES_MAX 6 /* colours that are told apart */

static const char *const colors[LINES_MAX] = {NVT_BLUE, NVT_ORANGE, NVT_GREEN,
                                              NVT_RED,  NVT_PURPLE, NVT_BLACK};
static const char *const phases[] = {"forward", "backward"};

/* Curves of one sheet. */
struct sheet {
    char key[256]; /* workload and the other numbers */
    const char *axis;
    const struct nvt_curve *curves[2][LINES_MAX]; /* by phase */
    size_t counts[2];
    double least, most; /* n */
};

/* The workload and its numbers, or (words = 1) its words, but not the axis. */
static void describe(const struct nvt_curve *curve, int words, char *out, size_t size)
{
    const struct nvt_record *record = curve->record;
    const char *workload = nvt_record_text(record, "workload");
    size_t used = 0;
    *out = 0;
    if (!words)
        used = (size_t)snprintf(out, size, "%s", workload ? workload : "");
    for (size_t i = 0; i < record->count && used < size; i++) {
        const struct nvt_member *member = &record->members[i];
        if (!nvt_record_is_axis(record, i) || !strcmp(member->key, curve->axis))
            continue;
        if (words && member->type == NVT_VALUE_TEXT)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", member->text);
        else if (!words && member->type == NVT_VALUE_NUMBER)
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
    *sheet = (struct sheet){.axis = curves->items[first].axis, .least = INFINITY};
    describe(&curves->items[first], 0, sheet->key, sizeof(sheet->key));
    for (size_t i = first; i < curves->count; i++) {
        const struct nvt_curve *curve = &curves->items[i];
        int phase = phase_of(curve);
        describe(curve, 0, key, sizeof(key));
        if (phase < 0 || strcmp(curve->axis, sheet->axis) || strcmp(key, sheet->key) ||
            sheet->counts[phase] == LINES_MAX)
            continue;
        for (size_t j = 0; j < sheet->counts[phase]; j++)
            comparable |= nvt_curves_differ(sheet->curves[phase][j], curve) != NULL;
        sheet->curves[phase][sheet->counts[phase]++] = curve;
        sheet->least = fmin(sheet->least, curve->points[0].n);
        sheet->most = fmax(sheet->most, curve->points[curve->count - 1].n);
    }
    return comparable;
}

/* Whether an earlier curve began the sheet of this one. */
static int is_later(const struct nvt_curves *curves, size_t index)
{
    char key[256], other[256];
    describe(&curves->items[index], 0, key, sizeof(key));
    for (size_t i = 0; i < index; i++) {
        describe(&curves->items[i], 0, other, sizeof(other));
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
    fprintf(out, "# n ms std_ms; a block a line, forward first\n");
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < sheet->counts[phase]; i++) {
            const struct nvt_curve *curve = sheet->curves[phase][i];
            fprintf(out, "# %s %s\n", curve->phase, curve->rest);
            for (size_t p = 0; p < curve->count; p++)
                fprintf(out, "%.9g\t%.9g\t%.9g\n", curve->points[p].n, curve->points[p].ns / 1e6,
                        isfinite(curve->points[p].std_ns) ? curve->points[p].std_ns / 1e6 : 0);
            fputs("\n\n", out);
        }
}

/* Bands of the intervals behind the lines, and a label at the top of each. */
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
            tag++;
            fprintf(out,
                    "set object %d rectangle from %.9g,graph 0 to %.9g,graph 1 behind fillcolor "
                    "'#bbbbbb' fillstyle transparent solid 0.4 noborder\n"
                    "set arrow %d from %.9g,graph 0 to %.9g,graph 1 nohead dashtype 2 linecolor "
                    "'#555555'\n"
                    "set label %d '%.3g (%.3g to %.3g)' at %.9g,graph %.3g left offset 0.5,0 font "
                    "',10' textcolor '#333333'\n",
                    tag + 10, crossing.from, crossing.to, tag + 10, crossing.n, crossing.n,
                    tag + 10, crossing.n, crossing.from, crossing.to, crossing.n, 1 - 0.05 * tag);
        }
}

/* Log axes: lines bend there, which is why each is drawn from its own a and b. */
static void put_panel(const struct sheet *sheet, int phase, const char *name, FILE *out)
{
    const char *separator = "plot ";
    char title[256];
    size_t block = phase ? sheet->counts[0] : 0;
    if (!sheet->counts[phase])
        return;
    fprintf(out,
            "\nset lmargin at screen %g\nset rmargin at screen %g\nset title '%s' font ',13'\n"
            "set ylabel 'median of the iterations (ms)'\n"
            "set key at screen %g,0.1 center center horizontal noenhanced samplen 2\n",
            phase ? 0.58 : 0.08, phase ? 0.98 : 0.48, phases[phase], phase ? 0.78 : 0.28);
    put_crossings(sheet, phase, out);
    for (size_t i = 0; i < sheet->counts[phase]; i++, block++) {
        const struct nvt_curve *curve = sheet->curves[phase][i];
        describe(curve, 1, title, sizeof(title));
        fprintf(out,
                "%s'%s.dat' index %zu using 1:2 with points pointtype %zu pointsize 0.8 "
                "linecolor '%s' notitle, \\\n     %.9g + %.9g*x with lines linecolor '%s' "
                "linewidth 1.6 title ",
                separator, name, block, 5 + 2 * (i % 3), colors[i], curve->line.a / 1e6,
                curve->line.b / 1e6, colors[i]);
        nvt_gnuplot_text(*title ? title : phases[phase], 60, out);
        separator = ", \\\n     ";
    }
    putc('\n', out);
    fputs("unset object\nunset arrow\n", out);
    for (int i = 11; i < 11 + LINES_MAX * LINES_MAX; i++)
        fprintf(out, "unset label %d\n", i);
}

static void put_script(const struct nvt_chart_request *request, const void *what, const char *name,
                       FILE *out)
{
    const struct sheet *sheet = what;
    char text[700];
    struct nvt_provenance from =
        nvt_runs_provenance(sheet->curves[0][0] ? sheet->curves[0][0]->points[0].runs
                                                : sheet->curves[1][0]->points[0].runs);
    nvt_gnuplot_terminal(request->format, 1040, 500, name, out);
    fputs("set multiplot\nset border 3 linecolor '#555555'\nset tics nomirror textcolor "
          "'#333333'\nset grid xtics ytics linecolor '#dddddd' linetype 1 linewidth 0.5\n"
          "set bmargin at screen 0.25\nset tmargin at screen 0.82\nset samples 400\n"
          "set logscale xy\nset label 1 ",
          out);
    snprintf(text, sizeof(text), "Cost over %s: %s", sheet->axis, sheet->key);
    nvt_gnuplot_text(text, 110, out);
    fputs(" at screen 0.5,0.95 center font ',16' noenhanced\nset label 2 ", out);
    snprintf(text, sizeof(text),
             "lines: a + b·n by least squares, weights 1/cost²; band: crossing with its 95 %% "
             "interval · %s · %s · %s",
             from.backend ? from.backend : "", from.device ? from.device : "",
             from.date ? from.date : "");
    nvt_gnuplot_text(text, 170, out);
    fputs(" at screen 0.5,0.03 center font ',10' textcolor '#555555' noenhanced\nset xlabel ", out);
    nvt_gnuplot_text(sheet->axis, 40, out);
    fprintf(out, " noenhanced\nset xrange [%.9g:%.9g]\n", sheet->least / 1.15, sheet->most * 1.15);
    put_panel(sheet, 0, name, out);
    fputs("unset label 1\nunset label 2\n", out);
    put_panel(sheet, 1, name, out);
    fputs("unset multiplot\nunset output\n", out);
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
