/*
 * overhead: the slow-down of each phase at each level of collection, with its 95 % interval; a line
 * a configuration and phase, a colour a level.
 */
#include "../chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/studies/overhead.h"
#include "../../lib/count_of.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../../lib/words.h"

#define LINES_MOST 40

static const struct {
    const char *level, *color;
    int point;
} styles[] = {{"nvtx", NVT_BLUE, 7},
              {"kernel", NVT_GREEN, 5},
              {"full", NVT_ORANGE, 9},
              {"nsys", NVT_RED, 13},
              {"control", NVT_BLACK, 4}};
#define LEVELS NVT_COUNT_OF(styles)

struct sheet {
    struct nvt_slowdowns overheads;
    const struct nvt_slowdown_row *lines[LINES_MOST]; /* the first row of each */
    size_t count, left_out;
    double least, most;
};

static int same_line(const struct nvt_slowdown_row *a, const struct nvt_slowdown_row *b)
{
    return a->warmup == b->warmup && !strcmp(a->interleave, b->interleave) &&
           !strcmp(a->phase, b->phase) && !strcmp(a->configuration, b->configuration);
}

static int is_drawn(const char *level)
{
    for (size_t i = 0; i < LEVELS; i++)
        if (!strcmp(styles[i].level, level))
            return 1;
    return 0;
}

static void fill_overhead(struct sheet *sheet)
{
    sheet->least = sheet->most = 1;
    for (size_t i = 0; i < sheet->overheads.count; i++) {
        const struct nvt_slowdown_row *row = &sheet->overheads.rows[i];
        size_t at = 0;
        if (!isfinite(row->ratio) || !is_drawn(row->level))
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

/* The lines of one workload: to the others' places its own row is put, which changes nothing of what all have in common. */
struct workload {
    const struct sheet *sheet;
    const struct nvt_slowdown_row *own;
};

static size_t workload_length(const struct nvt_slowdown_row *row)
{
    return strcspn(row->configuration, " ");
}

static int same_workload(const struct nvt_slowdown_row *a, const struct nvt_slowdown_row *b)
{
    const size_t length = workload_length(a);
    return length == workload_length(b) && !memcmp(a->configuration, b->configuration, length);
}

static const char *configuration_of(const void *rows, size_t index)
{
    const struct workload *workload = rows;
    const struct nvt_slowdown_row *line = workload->sheet->lines[index];
    return same_workload(line, workload->own) ? line->configuration : workload->own->configuration;
}

static int has_several_workloads(const struct sheet *sheet)
{
    for (size_t i = 1; i < sheet->count; i++)
        if (!same_workload(sheet->lines[i], sheet->lines[0]))
            return 1;
    return 0;
}

/* The words of a configuration that differ from others of the workload, and the phase. */
static void put_overhead_label(const struct sheet *sheet, const struct nvt_slowdown_row *row,
                               FILE *out)
{
    const struct workload workload = {sheet, row};
    const struct nvt_words words = {&workload, sheet->count, configuration_of};
    char text[300], differing[120];
    int several_warmups = 0;
    size_t used = 0, name = workload_length(row);
    text[0] = 0;
    if (has_several_workloads(sheet))
        used = (size_t)snprintf(text, sizeof(text), "%.*s", name < 60 ? (int)name : 60,
                                row->configuration);
    if (nvt_words_pick(&words, row->configuration, 0, differing, sizeof(differing)))
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", differing);
    for (size_t i = 0; i < sheet->count; i++)
        several_warmups |=
            same_workload(sheet->lines[i], row) && sheet->lines[i]->warmup != row->warmup;
    if (several_warmups)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%swarmup=%lld", used ? " " : "",
                                 (long long)row->warmup);
    snprintf(text + used, sizeof(text) - used, "%s%.40s", used ? " " : "", row->phase);
    char label[sizeof(text)];
    nvt_label_ends(text, NVT_LABEL_ROW, label, sizeof(label));
    nvt_gnuplot_text(label, sizeof(label), out);
}

static int has_level(const struct sheet *sheet, const char *level)
{
    for (size_t i = 0; i < sheet->overheads.count; i++)
        if (!strcmp(sheet->overheads.rows[i].level, level) &&
            isfinite(sheet->overheads.rows[i].ratio))
            return 1;
    return 0;
}

static int has_intervals(const struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->overheads.count; i++)
        if (isfinite(sheet->overheads.rows[i].low))
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
    return 0.68 + 0.16 * (before - (all - 1) / 2);
}

/* A block a level: slow-down, low, high, place on the axis. */
static void put_overhead_data(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
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

/* What all lines of a workload have in common, its name first. */
static void note_workloads(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    for (size_t i = 0; i < sheet->count; i++) {
        const struct workload workload = {sheet, sheet->lines[i]};
        const struct nvt_words words = {&workload, sheet->count, configuration_of};
        size_t first = 0;
        while (!same_workload(sheet->lines[first], sheet->lines[i]))
            first++;
        if (first < i)
            continue;
        nvt_words_pick(&words, sheet->lines[i]->configuration, 1, text, sizeof(text));
        nvt_frame_note(frame, text);
    }
}

static void put_overhead_frame(const struct nvt_chart_request *request, const struct sheet *sheet,
                               struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    frame->left = frame->right = 20;
    for (size_t level = 0; level < LEVELS; level++)
        if (has_level(sheet, styles[level].level))
            nvt_frame_key(frame, NVT_KEY_LINE_POINT, styles[level].color, 1, styles[level].point,
                          styles[level].level);
    nvt_frame_note(frame, has_intervals(sheet)
                              ? "Time at a level of --collect / time without, with 95 % intervals."
                              : "Time at a level of --collect / time without.");
    if (nvt_slowdowns_caution(&sheet->overheads))
        nvt_frame_note(frame, nvt_slowdowns_caution(&sheet->overheads));
    note_workloads(sheet, frame);
    snprintf(text, sizeof(text), "%zu more are not shown.", sheet->left_out);
    if (sheet->left_out)
        nvt_frame_note(frame, text);
    nvt_chart_provenance(request->input, frame);
}

/* A row's name stands above its points. */
static void put_overhead_script(const struct nvt_chart_request *request, const void *what,
                                const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const double margin = 0.06 * (sheet->most - sheet->least) + 0.005;
    const char *separator = "plot ";
    struct nvt_frame frame = nvt_frame_new(request, name, "Profiling overhead");
    put_overhead_frame(request, sheet, &frame);
    nvt_frame_open(&frame, 46 * (int)sheet->count, out);
    fprintf(out,
            "set border 1\nunset ytics\nset grid noytics\nset xlabel 'time / baseline (1: no "
            "overhead)'\n"
            "set xrange [%.9g:%.9g]\nset yrange [%zu:0]\n",
            sheet->least - margin, sheet->most + margin, sheet->count);
    for (size_t line = 0; line < sheet->count; line++)
        fprintf(out,
                "set arrow %zu from 1,%zu.38 to 1,%zu nohead linecolor '#555555' linewidth 1.2\n",
                line + 1, line, line + 1);
    for (size_t line = 0; line < sheet->count; line++) {
        fprintf(out, "set label %zu ", line + 1);
        put_overhead_label(sheet, sheet->lines[line], out);
        fprintf(out, " at graph 0,first %.2f left noenhanced font ',12'\n", (double)line + 0.2);
    }
    for (size_t level = 0; level < LEVELS; level++) {
        if (!has_level(sheet, styles[level].level))
            continue;
        fprintf(out, "%s'%s.dat' index '%s' using 1:4:2:3 with xerrorbars", separator, name,
                styles[level].level);
        nvt_frame_style(NVT_KEY_POINT, styles[level].color, 1, styles[level].point, out);
        separator = ", \\\n     ";
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static int draw_overhead(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct sheet sheet = {0};
    int status = nvt_slowdowns_make(&sheet.overheads, request->input, err);
    fill_overhead(&sheet);
    if (!status && sheet.count)
        status = nvt_chart_draw(request, "overhead", put_overhead_data, put_overhead_script, &sheet,
                                err);
    nvt_slowdowns_free(&sheet.overheads);
    return status;
}

static int overhead_fits(const struct nvt_input *input)
{
    struct sheet sheet = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (!nvt_slowdowns_make(&sheet.overheads, input, &err))
        fill_overhead(&sheet);
    nvt_slowdowns_free(&sheet.overheads);
    return sheet.count > 0;
}

const struct nvt_chart nvt_chart_overhead = {
    .name = "overhead",
    .about = "slow-down of each phase at each level of collection",
    .part = NVT_CHART_COST,
    .fits = overhead_fits,
    .draw = draw_overhead,
};
