/*
 * reference: our times beside the published ones of the same configurations, as ratios on a
 * logarithmic axis, a sheet for each thirty configurations. Both machines are named: the ratio is
 * theirs, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/published/reference_pairs.h"
#include "../../analyze/published/published.h"
#include "../../lib/count_of.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../studied.h"
#include "../../lib/words.h"

enum { SHEET_ROWS = 30 };

/* A block of the data for each quantity. */
static const struct nvt_series all_series[] = {
    {"forward", "forward", NVT_SKY, 7},
    {"backward", "backward", NVT_ORANGE, 5},
    {"forward_launch", "forward, launch", NVT_SKY, 6},
    {"backward_launch", "backward, launch", NVT_ORANGE, 4},
    {"time_standard", "fp16", NVT_BLUE, 7},
    {"time_rowwise", "int8, by row", NVT_RED, 5},
    {"time_global", "int8, one scale", NVT_GREEN, 9},
};
#define SERIES NVT_COUNT_OF(all_series)

/* Which series a pair belongs to, SERIES: none. */
static size_t series_of(const struct nvt_reference_pair *pair)
{
    if (!(pair->our_value > 0) || !(pair->their_value > 0))
        return SERIES;
    for (size_t i = 0; i < SERIES; i++)
        if (!strcmp(pair->quantity, all_series[i].block))
            return i;
    return SERIES;
}

/* Whether a record of the pair was measured: published figures are not set beside themselves. */
static int is_shown(const struct nvt_reference_pair *pair)
{
    return series_of(pair) < SERIES && strcmp(nvt_record_source(pair->ours), "published") != 0;
}

static double ratio_of(const struct nvt_reference_pair *pair)
{
    return pair->our_value / pair->their_value;
}

/* A part of the pairs with at most SHEET_ROWS configurations. */
struct sheet {
    const struct nvt_studied *studied;
    const struct nvt_reference_pair *pairs;
    size_t count;
    size_t rows;
    char name[40];
};

/* How many pairs from the first on make a sheet. */
static size_t cut_sheet(const struct nvt_reference_pair *pairs, size_t count, size_t *rows)
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

static void put_reference_data(const struct nvt_chart_request *request, const void *what,
                               const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fputs("# ours/published row ours_ms published_ms\n", out);
    for (size_t s = 0, blocks = 0; s < SERIES; s++) {
        const struct nvt_record *last = NULL;
        size_t row = 0, in_block = 0;
        for (size_t i = 0; i < sheet->count; i++) {
            const struct nvt_reference_pair *pair = &sheet->pairs[i];
            if (!is_shown(pair))
                continue;
            row += pair->ours != last;
            last = pair->ours;
            if (series_of(pair) != s)
                continue;
            if (!in_block++)
                fprintf(out, "%s# %s\n", blocks++ ? "\n\n" : "", all_series[s].block);
            fprintf(out, "%.9g\t%zu\t%.9g\t%.9g\n", ratio_of(pair), row, pair->our_value,
                    pair->their_value);
        }
    }
}

/* The records of a sheet, each once. */
static size_t records_of(const struct sheet *sheet, const char *configurations[SHEET_ROWS])
{
    const struct nvt_record *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < sheet->count && count < SHEET_ROWS; i++) {
        if (!is_shown(&sheet->pairs[i]) || sheet->pairs[i].ours == last)
            continue;
        last = sheet->pairs[i].ours;
        configurations[count++] = nvt_record_configuration(last);
    }
    return count;
}

static const char *configuration_of(const void *rows, size_t index)
{
    const char *const *configurations = rows;
    return configurations[index];
}

/* A row's name stands above its points. */
static void put_reference_names(const struct sheet *sheet, FILE *out)
{
    const char *configurations[SHEET_ROWS];
    char text[200], label[200];
    size_t count = records_of(sheet, configurations);
    const struct nvt_words words = {configurations, count, configuration_of};
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "set label %zu ", i + 1);
        if (!nvt_words_pick(&words, configurations[i], 0, text, sizeof(text)))
            snprintf(text, sizeof(text), "%s", configurations[i] ? configurations[i] : "?");
        nvt_label_ends(text, NVT_LABEL_ROW, label, sizeof(label));
        nvt_gnuplot_text(label, sizeof(label), out);
        fprintf(out, " at graph 0,first %.2f left noenhanced font ',12'\n", (double)i + 0.25);
    }
    for (size_t i = 0; i < count; i++)
        free((char *)configurations[i]);
}

static struct nvt_extent extent_of(const struct sheet *sheet)
{
    struct nvt_extent extent = {1, 1}; /* with the line of equal times */
    for (size_t i = 0; i < sheet->count; i++)
        if (is_shown(&sheet->pairs[i]))
            nvt_extent_add(&extent, ratio_of(&sheet->pairs[i]), ratio_of(&sheet->pairs[i]));
    return extent;
}

static void put_reference_notes(const struct sheet *sheet, struct nvt_frame *frame)
{
    const char *configurations[SHEET_ROWS];
    const struct nvt_record *ours = sheet->pairs[0].ours;
    const char *workload = nvt_record_text(ours, "workload");
    const struct nvt_reference *theirs = nvt_reference_of(workload ? workload : "");
    struct nvt_provenance from = nvt_runs_provenance(sheet->pairs[0].runs);
    char text[NVT_FRAME_TEXT];
    size_t count = records_of(sheet, configurations);
    const struct nvt_words words = {configurations, count, configuration_of};
    snprintf(text, sizeof(text), "%s ", workload ? workload : "");
    if (count > 1)
        nvt_words_pick(&words, configurations[0], 1, text + strlen(text),
                       sizeof(text) - strlen(text));
    for (size_t i = 0; i < count; i++)
        free((char *)configurations[i]);
    nvt_frame_note(frame, text);
    nvt_frame_note(frame, "Means. The machines differ, so a ratio is no verdict.");
    nvt_frame_note(frame, sheet->studied->left_out);
    nvt_frame_provenance(frame, "Ours: ", &from);
    snprintf(text, sizeof(text), "Published: %s; device: %s", theirs ? theirs->title : "?",
             theirs ? theirs->device : "not stated");
    nvt_frame_note(frame, text);
}

/* The series that some pair belongs to; how many. */
static size_t shown_series(const struct sheet *sheet, struct nvt_series shown[SERIES])
{
    size_t count = 0;
    for (size_t s = 0; s < SERIES; s++)
        for (size_t i = 0; i < sheet->count; i++)
            if (is_shown(&sheet->pairs[i]) && series_of(&sheet->pairs[i]) == s) {
                shown[count++] = all_series[s];
                break;
            }
    return count;
}

static void put_reference_script(const struct nvt_chart_request *request, const void *what,
                                 const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    struct nvt_series shown[SERIES];
    size_t series = shown_series(sheet, shown);
    const struct nvt_extent extent = extent_of(sheet);
    struct nvt_frame frame = nvt_frame_new(request, name, "Time compared with published results");
    frame.left = frame.right = 20;
    nvt_frame_series_keys(&frame, shown, series);
    put_reference_notes(sheet, &frame);
    nvt_frame_open(&frame, 34 * (int)sheet->rows, out);
    fprintf(out,
            "set border 1\nunset ytics\nset grid noytics\n"
            "set xlabel 'ours / published, log scale'\nset yrange [%zu:0]\n",
            sheet->rows);
    nvt_frame_scale('x', &extent, 1, 0, out);
    for (size_t row = 0; row < sheet->rows; row++)
        fprintf(out, "set arrow %zu from 1,%zu.44 to 1,%zu nohead linecolor '#333333' dashtype 2\n",
                row + 1, row, row + 1);
    put_reference_names(sheet, out);
    for (size_t i = 0; i < series; i++) {
        fprintf(out, "%s'%s.dat' index '%s' using 1:($2-0.32) with points",
                i ? ", \\\n     " : "plot ", name, shown[i].block);
        nvt_frame_style(NVT_KEY_POINT, shown[i].color, 1, shown[i].point, out);
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static int draw_reference(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_reference_pairs pairs = {0};
    struct nvt_studied studied;
    size_t rows, done = 0, number = 1;
    int status = nvt_studied_of(request->input, NVT_STUDIED_WARMUPS, &studied, err);
    if (!status)
        status = nvt_reference_pairs_find(&studied.input, &pairs, err);
    while (!status && done < pairs.count) {
        while (done < pairs.count && !is_shown(&pairs.rows[done]))
            done++;
        struct sheet sheet = {.studied = &studied, .pairs = pairs.rows + done};
        sheet.count = cut_sheet(sheet.pairs, pairs.count - done, &rows);
        sheet.rows = rows;
        snprintf(sheet.name, sizeof(sheet.name), "reference-%zu", number++);
        if (rows)
            status = nvt_chart_draw(request, sheet.name, put_reference_data, put_reference_script,
                                    &sheet, err);
        done += sheet.count;
    }
    nvt_reference_pairs_free(&pairs);
    nvt_studied_free(&studied);
    return status;
}

static int reference_fits(const struct nvt_input *input)
{
    struct nvt_reference_pairs pairs = {0};
    int shown = 0;
    if (!nvt_reference_pairs_find(input, &pairs, NULL))
        for (size_t i = 0; i < pairs.count && !shown; i++)
            shown = is_shown(&pairs.rows[i]);
    nvt_reference_pairs_free(&pairs);
    return shown;
}

const struct nvt_chart nvt_chart_reference = {
    .name = "reference",
    .about = "times as multiples of the published ones, which come from other machines",
    .part = NVT_CHART_REFERENCE,
    .fits = reference_fits,
    .draw = draw_reference,
};
