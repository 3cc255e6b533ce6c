/*
 * reference: our times beside the published ones of the same configurations, as ratios on a
 * logarithmic axis, a sheet for each thirty configurations. Both machines are named: the ratio is
 * theirs, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/compare_reference.h"
#include "../analyze/published.h"
#include "chart.h"
#include "gnuplot.h"

enum { SHEET_ROWS = 30, LABEL_MOST = 66 };

static const struct series {
    const char *quantity, *title, *color;
    int point;
} all_series[] = {
    {"forward", "forward", NVT_BLUE, 7},
    {"backward", "backward", NVT_RED, 5},
    {"forward_launch", "forward, launch", NVT_BLUE, 6},
    {"backward_launch", "backward, launch", NVT_RED, 4},
    {"time_standard", "fp16", NVT_BLUE, 7},
    {"time_rowwise", "int8, by row", NVT_RED, 5},
    {"time_global", "int8, one scale", NVT_GREEN, 9},
};
#define SERIES (sizeof(all_series) / sizeof(all_series[0]))

/* Which series a pair belongs to, SERIES: none. */
static size_t series_of(const struct nvt_beside *pair)
{
    if (!(pair->our_value > 0) || !(pair->their_value > 0))
        return SERIES;
    for (size_t i = 0; i < SERIES; i++)
        if (!strcmp(pair->quantity, all_series[i].quantity))
            return i;
    return SERIES;
}

/* Whether a record of the pair was measured: published figures are not set beside themselves. */
static int is_shown(const struct nvt_beside *pair)
{
    return series_of(pair) < SERIES && strcmp(nvt_record_source(pair->ours), "published") != 0;
}

/* A part of the pairs with at most SHEET_ROWS configurations. */
struct sheet {
    const struct nvt_beside *pairs;
    size_t count;
    size_t rows;
    char name[40];
};

/* How many pairs from the first on make a sheet. */
static size_t cut_sheet(const struct nvt_beside *pairs, size_t count, size_t *rows)
{
    const struct nvt_record *last = NULL;
    size_t i = 0;
    *rows = 0;
    for (; i < count; i++) {
        if (!is_shown(&pairs[i]))
            continue;
        /* A sheet names one machine of ours. */
        if ((last && pairs[i].runs != pairs[0].runs) ||
            (pairs[i].ours != last && *rows == SHEET_ROWS))
            break;
        *rows += pairs[i].ours != last;
        last = pairs[i].ours;
    }
    return i;
}

static void put_data(const struct nvt_chart_request *request, const void *what, const char *name,
                     FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fputs("# row ours/published ours_ms published_ms\n", out);
    for (size_t s = 0, blocks = 0; s < SERIES; s++) {
        const struct nvt_record *last = NULL;
        size_t row = 0, in_block = 0;
        for (size_t i = 0; i < sheet->count; i++) {
            const struct nvt_beside *pair = &sheet->pairs[i];
            if (!is_shown(pair))
                continue;
            row += pair->ours != last;
            last = pair->ours;
            if (series_of(pair) != s)
                continue;
            if (!in_block++)
                fprintf(out, "%s# %s\n", blocks++ ? "\n\n" : "", all_series[s].quantity);
            fprintf(out, "%zu\t%.9g\t%.9g\t%.9g\n", row, pair->our_value / pair->their_value,
                    pair->our_value, pair->their_value);
        }
    }
}

static void put_tics(const struct sheet *sheet, FILE *out)
{
    const struct nvt_record *last = NULL;
    size_t row = 0;
    fputs("set ytics (", out);
    for (size_t i = 0; i < sheet->count; i++) {
        if (!is_shown(&sheet->pairs[i]) || sheet->pairs[i].ours == last)
            continue;
        last = sheet->pairs[i].ours;
        char *configuration = nvt_record_configuration(last);
        fputs(row++ ? ", " : "", out);
        nvt_gnuplot_text(configuration ? configuration : "?", LABEL_MOST, out);
        fprintf(out, " %zu", row);
        free(configuration);
    }
    fputs(") font ',9'\n", out);
}

static void put_captions(const struct sheet *sheet, double bottom, FILE *out)
{
    const struct nvt_record *ours = sheet->pairs[0].ours;
    const char *workload = nvt_record_text(ours, "workload");
    const char *device = nvt_record_text(ours, "device");
    const struct nvt_reference *theirs = nvt_reference_of(workload ? workload : "");
    struct nvt_provenance from = nvt_runs_provenance(sheet->pairs[0].runs);
    char text[900];
    snprintf(text, sizeof(text), "ours: %s, %s, %s", from.backend ? from.backend : "?",
             device ? device : "device not stated", from.date ? from.date : "date not stated");
    fputs("set label 2 ", out);
    nvt_gnuplot_text(text, 140, out);
    fprintf(out, " at screen 0.5,%.4f center font ',10' textcolor '#555555' noenhanced\n",
            bottom * 2);
    snprintf(text, sizeof(text), "published: %s; device: %s", theirs ? theirs->title : "?",
             theirs ? theirs->device : "not stated");
    fputs("set label 3 ", out);
    nvt_gnuplot_text(text, 170, out);
    fprintf(out, " at screen 0.5,%.4f center font ',10' textcolor '#555555' noenhanced\n", bottom);
}

static int has_series(const struct sheet *sheet, size_t series)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (is_shown(&sheet->pairs[i]) && series_of(&sheet->pairs[i]) == series)
            return 1;
    return 0;
}

static void put_script(const struct nvt_chart_request *request, const void *what, const char *name,
                       FILE *out)
{
    const struct sheet *sheet = what;
    (void)name;
    int height = 210 + 20 * (int)sheet->rows;
    const char *separator = "plot ";
    double least = 1, most = 1;
    for (size_t i = 0; i < sheet->count; i++)
        if (is_shown(&sheet->pairs[i])) {
            double ratio = sheet->pairs[i].our_value / sheet->pairs[i].their_value;
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
    nvt_gnuplot_terminal(request->format, 960, height, sheet->name, out);
    fprintf(out,
            "set border 3 linecolor '#555555'\nset tics nomirror textcolor '#333333'\n"
            "set grid xtics ytics linecolor '#dddddd' linetype 1 linewidth 0.5\n"
            "set label 1 'Measured here, as a multiple of the published time (other machines: no "
            "verdict)' at screen 0.5,%.4f center font ',14'\n"
            "set lmargin at screen 0.44\nset rmargin at screen 0.97\n"
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
            "set logscale x\nset xrange [%.9g:%.9g]\nset xlabel 'ours / published, log scale'\n"
            "set yrange [%g:0.3]\nset arrow from 1, graph 0 to 1, graph 1 nohead linecolor "
            "'#333333' dashtype 2\n"
            "set key at screen 0.97,%.4f right horizontal maxrows 1 samplen 1 Left reverse\n",
            1 - 24.0 / height, 1 - 78.0 / height, 110.0 / height, least / 1.6, most * 1.6,
            (double)sheet->rows + 0.7, 1 - 56.0 / height);
    put_captions(sheet, 16.0 / height, out);
    put_tics(sheet, out);
    for (size_t s = 0; s < SERIES; s++) {
        if (!has_series(sheet, s))
            continue;
        fprintf(out,
                "%s'%s.dat' index '%s' using 2:1 with points linecolor '%s' pointtype %d pointsize "
                "0.9 title '%s'",
                separator, sheet->name, all_series[s].quantity, all_series[s].color,
                all_series[s].point, all_series[s].title);
        separator = ", \\\n     ";
    }
    fputs("\nunset output\n", out);
}

static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_besides besides = {0};
    size_t rows, done = 0, number = 1;
    int status = nvt_beside_reference(request->input, &besides, err);
    while (!status && done < besides.count) {
        while (done < besides.count && !is_shown(&besides.rows[done]))
            done++;
        struct sheet sheet = {.pairs = besides.rows + done};
        sheet.count = cut_sheet(sheet.pairs, besides.count - done, &rows);
        sheet.rows = rows;
        snprintf(sheet.name, sizeof(sheet.name), "reference-%zu", number++);
        if (rows)
            status = nvt_chart_draw(request, sheet.name, put_data, put_script, &sheet, err);
        done += sheet.count;
    }
    nvt_besides_free(&besides);
    return status;
}

static int fits(const struct nvt_report_input *input)
{
    struct nvt_besides besides = {0};
    int shown = 0;
    if (!nvt_beside_reference(input, &besides, NULL))
        for (size_t i = 0; i < besides.count && !shown; i++)
            shown = is_shown(&besides.rows[i]);
    nvt_besides_free(&besides);
    return shown;
}

const struct nvt_chart nvt_chart_reference = {
    .name = "reference",
    .about = "times as multiples of the published ones, which are of other machines",
    .part = NVT_CHART_REFERENCE,
    .fits = fits,
    .draw = draw,
};
