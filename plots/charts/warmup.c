/*
 * warmup: iterations from the start of a process, a line a process, those with as many warm-ups in
 * the same colour, with the change-point. A picture a configuration and collect level.
 */
#include "../chart.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/studies/warmup.h"
#include "../../lib/count_of.h"
#include "../frame.h"
#include "../gnuplot.h"

#define SHOWN_LEAST 20 /* iterations */
#define LINES_MOST  12 /* processes with a line of their own */
#define LOG_RATIO   4.0

static const char *const colors[] = {NVT_BLUE,   NVT_ORANGE, NVT_GREEN, NVT_RED,
                                     NVT_PURPLE, NVT_SKY,    NVT_BLACK};
#define COLORS NVT_COUNT_OF(colors)

/* What a picture shows. */
struct sheet {
    const struct nvt_warmup_study *study;
    char name[160];
    size_t shown, lines;
    struct nvt_extent extent; /* of what is shown, in ns */
    struct nvt_time_unit unit;
};

static void name_sheet(struct sheet *sheet, size_t number)
{
    snprintf(sheet->name, sizeof(sheet->name), "warmup-%.100s%s%s-%zu", sheet->study->name,
             sheet->study->level ? "-" : "", sheet->study->level ? sheet->study->level : "",
             number);
    char *to = sheet->name;
    for (const char *at = sheet->name; *at; at++)
        if (isalnum((unsigned char)*at) || *at == '-' || *at == '_')
            *to++ = *at;
        else if (to > sheet->name && to[-1] != '-')
            *to++ = '-';
    *to = 0;
}

static void measure_sheet(struct sheet *sheet)
{
    const struct nvt_warmup_study *study = sheet->study;
    sheet->shown = 4 * study->slow > SHOWN_LEAST ? 4 * study->slow : SHOWN_LEAST;
    sheet->shown = sheet->shown < study->length ? sheet->shown : study->length;
    sheet->lines = study->count < LINES_MOST ? study->count : LINES_MOST;
    sheet->extent = nvt_extent_new();
    for (size_t s = 0; s < sheet->lines; s++)
        for (size_t i = 0; i < sheet->shown; i++)
            nvt_extent_add(&sheet->extent, study->series[s].ns[i], study->series[s].ns[i]);
    sheet->unit = nvt_time_unit_for(sheet->extent.most);
}

static void put_warmup_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# iteration, then the time of each process in %s\n", sheet->unit.name);
    for (size_t i = 0; i < sheet->shown; i++) {
        fprintf(out, "%zu", i + 1);
        for (size_t s = 0; s < sheet->lines; s++)
            fprintf(out, "\t%.9g", sheet->study->series[s].ns[i] / sheet->unit.ns);
        putc('\n', out);
    }
}

static void put_axes(const struct sheet *sheet, const struct nvt_frame *frame, FILE *out)
{
    char text[64];
    const struct nvt_warmup_study *study = sheet->study;
    int is_log = nvt_frame_scale('y', &sheet->extent, sheet->unit.ns, LOG_RATIO, out);
    fprintf(out,
            "set xrange [0.5:%zu.5]\n%sset xlabel 'iteration since the start of the process'\n",
            sheet->shown, sheet->shown > SHOWN_LEAST ? "" : "set xtics 1\n");
    snprintf(text, sizeof(text), "time (%s)%s", sheet->unit.name, is_log ? ", log scale" : "");
    nvt_frame_y_label(frame, 0, text, out);
    if (study->slow)
        fprintf(out,
                "set arrow 1 from %zu.5,graph 0 to %zu.5,graph 1 nohead linecolor '%s' "
                "dashtype 2 linewidth 1.5\n",
                study->change.at, study->change.at, NVT_BLACK);
}

/* The first of the processes with as many warm-ups: repetitions look the same. */
static size_t first_like(const struct sheet *sheet, size_t series)
{
    size_t first = 0;
    while (sheet->study->series[first].warmups != sheet->study->series[series].warmups)
        first++;
    return first;
}

static size_t processes_like(const struct sheet *sheet, size_t series)
{
    size_t count = 0;
    for (size_t s = 0; s < sheet->lines; s++)
        count += first_like(sheet, s) == first_like(sheet, series);
    return count;
}

/* How many other numbers of warm-ups come before that of a series. */
static size_t look_of(const struct sheet *sheet, size_t series)
{
    size_t before = 0;
    for (size_t s = 0; s < first_like(sheet, series); s++)
        before += first_like(sheet, s) == s;
    return before;
}

static void put_warmup_frame(const struct nvt_chart_request *request, const struct sheet *sheet,
                             struct nvt_frame *frame)
{
    const struct nvt_warmup_study *study = sheet->study;
    const struct nvt_change_point *change = &study->change;
    char text[NVT_FRAME_TEXT];
    nvt_frame_key(frame, NVT_KEY_LINE, "#888888", 1, 0, "steady");
    for (size_t s = 0; s < sheet->lines; s++) {
        size_t count = processes_like(sheet, s), at = look_of(sheet, s);
        snprintf(text, sizeof(text), "--warmup %zu", study->series[s].warmups);
        if (count > 1)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %zu processes", count);
        if (first_like(sheet, s) == s)
            nvt_frame_key(frame, NVT_KEY_LINE_POINT, colors[at % COLORS], 1, at < COLORS ? 7 : 4,
                          text);
    }
    if (study->slow)
        snprintf(text, sizeof(text),
                 "Dashed: change point after %zu iteration%s (95 %% interval %zu to %zu), "
                 "confidence %.2f %%. Warm-ups are among the iterations.",
                 change->at, change->at == 1 ? "" : "s", change->low, change->high,
                 100 * (1 - change->p));
    else
        snprintf(text, sizeof(text),
                 "No change point found in %zu iterations, warm-ups among them, of %zu process%s.",
                 study->length, study->count, study->count == 1 ? "" : "es");
    nvt_frame_note(frame, text);
    snprintf(text, sizeof(text), "%s%s%s", study->name, study->level ? ", collect " : "",
             study->level ? study->level : "");
    nvt_frame_note(frame, text);
    nvt_chart_provenance(request->input, frame);
}

static void put_warmup_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    struct nvt_frame frame = nvt_frame_new(request, name, "Warm-up");
    put_warmup_frame(request, sheet, &frame);
    nvt_frame_open(&frame, 190, out);
    put_axes(sheet, &frame, out);
    fprintf(out, "plot %.9g with lines linecolor '#888888' linewidth 1.2",
            sheet->study->steady / sheet->unit.ns);
    for (size_t s = 0; s < sheet->lines; s++) {
        fprintf(out, ", \\\n     '%s.dat' using 1:%zu with linespoints", name, s + 2);
        size_t at = look_of(sheet, s);
        nvt_frame_style(NVT_KEY_LINE_POINT, colors[at % COLORS], 1, at < COLORS ? 7 : 4, out);
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static int draw_warmup(const struct nvt_chart_request *request, struct nvt_error *err)
{
    int status = request->input->trace_count ? 0 : nvt_input_traces(request->input, err);
    struct nvt_warmups *warmups = status ? NULL : nvt_warmups_of(request->input, err);
    if (!warmups)
        return -1;
    for (size_t i = 0; i < warmups->count && !status; i++) {
        struct sheet sheet = {.study = &warmups->studies[i]};
        name_sheet(&sheet, i + 1);
        measure_sheet(&sheet);
        if (sheet.shown > 1)
            status = nvt_chart_draw(request, sheet.name, put_warmup_data, put_warmup_script, &sheet,
                                    err);
    }
    nvt_warmups_free(warmups);
    return status;
}

/* A directory whose traced runs differ in their warm-ups: else nobody asked for the study. */
static int warmup_fits(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->run_count; i++) {
        double some = NAN;
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            double warmup = nvt_record_number(record, "warmup");
            if (!nvt_record_text(record, "trace") || isnan(warmup))
                continue;
            if (!isnan(some) && warmup != some)
                return 1;
            some = warmup;
        }
    }
    return 0;
}

const struct nvt_chart nvt_chart_warmup = {
    .name = "warmup",
    .about = "iterations since the start of a process, and when they become level",
    .part = NVT_CHART_WARMUP,
    .fits = warmup_fits,
    .draw = draw_warmup,
};
