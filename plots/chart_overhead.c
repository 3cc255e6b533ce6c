/*
 * overhead: the slow-down of each phase at each level of collection, with its 95 % interval; a line
 * a configuration and phase, a colour a level.
 */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/overhead.h"
#include "gnuplot.h"

#define LINES_MOST 40

static const struct {
    const char *level, *color;
    int point;
} styles[] = {{"nvtx", NVT_BLUE, 7},
              {"kernel", NVT_GREEN, 5},
              {"full", NVT_ORANGE, 9},
              {"nsys", NVT_RED, 13}};
#define LEVELS (sizeof(styles) / sizeof(styles[0]))

struct sheet {
    struct nvt_slowdowns overheads;
    const struct nvt_slowdown_row *lines[LINES_MOST]; /* the first row of each */
    size_t count, left_out;
    double least, most;
};

static int same_line(const struct nvt_slowdown_row *a, const struct nvt_slowdown_row *b)
{
    return a->warmup == b->warmup && !strcmp(a->phase, b->phase) &&
           !strcmp(a->configuration, b->configuration);
}

static void fill(struct sheet *sheet)
{
    sheet->least = sheet->most = 1;
    for (size_t i = 0; i < sheet->overheads.count; i++) {
        const struct nvt_slowdown_row *row = &sheet->overheads.rows[i];
        size_t at = 0;
        if (!isfinite(row->ratio))
            continue;
        while (at < sheet->count && !same_line(sheet->lines[at], row))
            at++;
        if (at == LINES_MOST) {
            sheet->left_out++;
            continue;
        }
        if (at == sheet->count)
            sheet->lines[sheet->count++] = row;
        sheet->least = fmin(sheet->least, fmin(row->ratio, isfinite(row->low) ? row->low : 1));
        sheet->most = fmax(sheet->most, fmax(row->ratio, isfinite(row->high) ? row->high : 1));
    }
}

/* Whether a word "key=value" stands in every line's configuration: then it tells nothing apart. */
static int in_all(const struct sheet *sheet, const char *word, size_t length)
{
    for (size_t i = 0; i < sheet->count; i++) {
        const char *at = sheet->lines[i]->configuration;
        while ((at = strstr(at, word)) != NULL && at[length] && at[length] != ' ')
            at += length;
        if (!at)
            return 0;
    }
    return 1;
}

/* The words of a configuration that differ, and the phase. */
static void put_label(const struct sheet *sheet, const struct nvt_slowdown_row *row, FILE *out)
{
    char text[200] = "", word[128];
    size_t used = 0;
    int several_warmups = 0;
    for (size_t i = 0; i < sheet->count; i++)
        several_warmups |= sheet->lines[i]->warmup != row->warmup;
    for (const char *at = row->configuration; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (length < sizeof(word) && !in_all(sheet, word, length) &&
            used + length + 2 < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", word);
        at += length;
    }
    if (several_warmups && used + 32 < sizeof(text))
        used += (size_t)snprintf(text + used, sizeof(text) - used, "warmup=%lld ",
                                 (long long)row->warmup);
    snprintf(text + used, sizeof(text) - used, "%.40s", row->phase);
    nvt_gnuplot_text(text, 60, out);
}

static int has_level(const struct sheet *sheet, const char *level)
{
    for (size_t i = 0; i < sheet->overheads.count; i++)
        if (!strcmp(sheet->overheads.rows[i].level, level) &&
            isfinite(sheet->overheads.rows[i].ratio))
            return 1;
    return 0;
}

/* How far a level's points lie from the middle of their line: those that are there share it out. */
static double offset_of(const struct sheet *sheet, size_t level)
{
    double before = 0, all = 0;
    for (size_t i = 0; i < LEVELS; i++) {
        before += i < level && has_level(sheet, styles[i].level);
        all += has_level(sheet, styles[i].level);
    }
    return 0.18 * (before - (all - 1) / 2);
}

/* A block a level: slow-down, low, high, place on the axis. */
static void put_data(const struct nvt_chart_request *request, const void *what, const char *name,
                     FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fputs("# slow-down\tlow\thigh\tplace\n", out);
    for (size_t level = 0; level < LEVELS; level++) {
        fprintf(out, "%s# %s\n", level ? "\n\n" : "", styles[level].level);
        for (size_t line = 0; line < sheet->count; line++)
            for (size_t i = 0; i < sheet->overheads.count; i++) {
                const struct nvt_slowdown_row *row = &sheet->overheads.rows[i];
                if (strcmp(row->level, styles[level].level) ||
                    !same_line(row, sheet->lines[line]) || !isfinite(row->ratio))
                    continue;
                fprintf(out, "%.9g\t%.9g\t%.9g\t%.3f\n", row->ratio,
                        isfinite(row->low) ? row->low : row->ratio,
                        isfinite(row->high) ? row->high : row->ratio,
                        (double)line + offset_of(sheet, level));
            }
    }
}

static void put_titles(const struct nvt_chart_request *request, const struct sheet *sheet,
                       int height, FILE *out)
{
    struct nvt_provenance from = nvt_runs_provenance(request->input->runs[0]);
    char text[600];
    fprintf(
        out,
        "set label 1 'What collecting costs' at screen 0.5,%.4f center font ',16'\nset label 2 ",
        1 - 28.0 / height);
    snprintf(text, sizeof(text),
             "%.*s: time with a level of collection / bare time, 95 %% intervals",
             (int)strcspn(sheet->lines[0]->configuration, " "), sheet->lines[0]->configuration);
    nvt_gnuplot_text(text, 120, out);
    fprintf(out, " at screen 0.5,%.4f center font ',11' noenhanced\nset label 3 ",
            1 - 52.0 / height);
    size_t used =
        (size_t)snprintf(text, sizeof(text), "%s%s%s%s%s", from.backend ? from.backend : "",
                         from.backend ? " · " : "", from.device ? from.device : "",
                         from.device ? " · " : "", from.date ? from.date : "");
    if (sheet->left_out && used < sizeof(text))
        snprintf(text + used, sizeof(text) - used, " · %zu more are not shown", sheet->left_out);
    nvt_gnuplot_text(text, 130, out);
    fprintf(out, " at screen 0.5,%.4f center font ',10' textcolor '#555555' noenhanced\n",
            14.0 / height);
}

static void put_script(const struct nvt_chart_request *request, const void *what, const char *name,
                       FILE *out)
{
    const struct sheet *sheet = what;
    (void)name;
    const int height = 170 + 44 * (int)sheet->count;
    const double margin = 0.06 * (sheet->most - sheet->least) + 0.005;
    const char *separator = "plot ";
    nvt_gnuplot_terminal(request->format, 960, height, "overhead", out);
    put_titles(request, sheet, height, out);
    fprintf(out,
            "set lmargin at screen 0.3\nset rmargin at screen 0.87\n"
            "set bmargin at screen %.4f\nset tmargin at screen %.4f\n"
            "set key at screen 0.985,%.4f right top Left reverse samplen 2 font ',11'\n"
            "set border 1 linecolor '#555555'\nset tics nomirror textcolor '#333333'\n"
            "set grid xtics linecolor '#dddddd' linetype 1 linewidth 0.5\n"
            "set xlabel 'slow-down (1: none)'\nset xrange [%.9g:%.9g]\nset yrange [%.1f:-0.6]\n"
            "set arrow 1 from 1,graph 0 to 1,graph 1 nohead linecolor '#555555' linewidth 1.2\n"
            "set ytics scale 0 noenhanced (",
            68.0 / height, 1 - 72.0 / height, 1 - 72.0 / height, sheet->least - margin,
            sheet->most + margin, (double)sheet->count - 0.4);
    for (size_t line = 0; line < sheet->count; line++) {
        fputs(line ? ", " : "", out);
        put_label(sheet, sheet->lines[line], out);
        fprintf(out, " %zu", line);
    }
    fputs(")\n", out);
    for (size_t level = 0; level < LEVELS; level++) {
        if (!has_level(sheet, styles[level].level))
            continue;
        fprintf(out,
                "%s'overhead.dat' index '%s' using 1:4:2:3 with xerrorbars linecolor '%s' "
                "pointtype %d pointsize 0.9 linewidth 1.6 title '%s'",
                separator, styles[level].level, styles[level].color, styles[level].point,
                styles[level].level);
        separator = ", \\\n     ";
    }
    fputs("\nunset output\n", out);
}

static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct sheet sheet = {0};
    int status = nvt_slowdowns_make(&sheet.overheads, request->input, err);
    fill(&sheet);
    if (!status && sheet.count)
        status = nvt_chart_draw(request, "overhead", put_data, put_script, &sheet, err);
    nvt_slowdowns_free(&sheet.overheads);
    return status;
}

static int fits(const struct nvt_report_input *input)
{
    struct sheet sheet = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (!nvt_slowdowns_make(&sheet.overheads, input, &err))
        fill(&sheet);
    nvt_slowdowns_free(&sheet.overheads);
    return sheet.count > 0;
}

const struct nvt_chart nvt_chart_overhead = {
    .name = "overhead",
    .about = "slow-down of each phase at each level of collection",
    .part = NVT_CHART_COST,
    .fits = fits,
    .draw = draw,
};
