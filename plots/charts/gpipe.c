/*
 * gpipe: the pipeline study. Peak activation memory and throughput against micro-batches, a line
 * for each number of partitions with and without checkpointing, a panel for each engine; the
 * schedule of one step as a Gantt chart; and what each partition's memory did meanwhile.
 */
#include "../chart.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/studies/pipeline.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../looks.h"
#include "../pipeline_rows.h"

#define MIB           (1024.0 * 1024.0)
#define SHOWN_MOST    8  /* micro-batches that a Gantt chart should have */
#define NUMBERED_MOST 16 /* micro-batches whose boxes are numbered */
#define FORWARD_BAND  "#E6F4FC"
#define BACKWARD_BAND "#FBF0D9"

/* --- the study's pictures --- */

static int are_both(const struct nvt_pipeline_rows *rows)
{
    return rows->engines[0] && rows->engines[1];
}

/* One block a line, named after it. */
static void put_rows(const struct nvt_pipeline_rows *rows, FILE *out)
{
    fputs("# microbatches peak_activation_MiB samples_per_s deviation\n", out);
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvt_pipeline_row *row = &rows->items[i];
        if (nvt_pipeline_row_begins(rows, i))
            fprintf(out, "%s# e%dk%dc%d\n", i ? "\n\n" : "", row->engine, row->partitions,
                    row->checkpoint);
        fprintf(out, "%d\t%.9g\t%.9g\t%.9g\n", row->microbatches, row->memory, row->throughput,
                row->deviation);
    }
}

static const char *color_of(int index)
{
    static const char *const colors[] = {NVT_BLUE,  NVT_RED,    NVT_GREEN,
                                         NVT_BLACK, NVT_PURPLE, NVT_SKY};
    return colors[(unsigned)index % 6]; /* -1: a file that states no partitions */
}

/* A colour for each number of partitions, dashes with checkpointing; each once in the legend, with
 * its mark where there is one engine. */
static void put_keys(const struct nvt_pipeline_rows *rows, struct nvt_frame *frame)
{
    char text[64];
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvt_pipeline_row *row = &rows->items[i];
        int known = !nvt_pipeline_row_begins(rows, i);
        snprintf(text, sizeof(text), "K = %d%s", row->partitions,
                 row->checkpoint ? ", checkpointing" : "");
        for (size_t k = 0; k < frame->key_count; k++)
            known |= !strcmp(frame->keys[k].text, text);
        const struct nvt_look look =
            nvt_look_of_pipeline(row->partitions, row->checkpoint, row->engine);
        if (!known)
            nvt_frame_key(frame, are_both(rows) ? NVT_KEY_LINE : NVT_KEY_LINE_POINT, look.color,
                          look.dash, look.point, text);
    }
}

/* What is plotted over micro-batches: columns of the data. */
enum { MEMORY = 2, THROUGHPUT };

/* One line. Where checkpointing changes nothing, the line with it would lie on the one without: there that
 * one is broad, and the other one stands in its middle, on white. */
static void put_line(const struct nvt_pipeline_row *row, const char *data, int is_covered,
                     FILE *out)
{
    const struct nvt_look look =
        nvt_look_of_pipeline(row->partitions, row->checkpoint, row->engine);
    if (!is_covered) {
        fprintf(out, "%s with linespoints", data);
        nvt_frame_style(NVT_KEY_LINE_POINT, look.color, look.dash, look.point, out);
    } else if (!row->checkpoint) {
        fprintf(out, "%s with linespoints linecolor '%s' linewidth 3 pointtype %d pointsize 0.9",
                data, look.color, look.point);
    } else {
        const struct {
            const char *what, *color;
            int number;
        } layers[] = {{"lines linewidth 1.2 dashtype", "white", 1},
                      {"lines linewidth 1.6 dashtype", look.color, look.dash},
                      {"points pointsize 0.6 pointtype", "white", look.point + 1},
                      {"points linewidth 1.6 pointsize 0.6 pointtype", look.color, look.point}};
        for (int i = 0; i < 4; i++)
            fprintf(out, "%s%s with %s %d linecolor '%s'", i ? ", \\\n     " : "", data,
                    layers[i].what, layers[i].number, layers[i].color);
    }
}

/* The lines of one engine. Error bars are thin, and the lines stand a little apart from each other
 * then. */
static void put_lines(const struct nvt_pipeline_rows *rows, int engine, int column, int bars,
                      FILE *out)
{
    const char *separator = "plot ";
    char data[160];
    double shift = 1;
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvt_pipeline_row *row = &rows->items[i];
        if (row->engine != engine || !nvt_pipeline_row_begins(rows, i))
            continue;
        const struct nvt_look look = nvt_look_of_pipeline(row->partitions, row->checkpoint, engine);
        if (bars)
            fprintf(out,
                    "%s'gpipe.dat' index 'e%dk%dc%d' using ($1*%.3f):($%d-$4):(0):(2*$4) "
                    "with vectors nohead linecolor '%s' linewidth 0.8",
                    separator, engine, row->partitions, row->checkpoint, shift, column, look.color);
        separator = bars ? ", \\\n     " : separator;
        snprintf(data, sizeof(data), "'gpipe.dat' index 'e%dk%dc%d' using ($1*%.3f):%d", engine,
                 row->partitions, row->checkpoint, shift, column);
        fputs(separator, out);
        put_line(row, data, nvt_pipeline_row_is_covered(rows, i, column == THROUGHPUT), out);
        separator = ", \\\n     ";
        shift += bars ? 0.04 : 0;
    }
    putc('\n', out);
}

/* Tics at the numbers of micro-batches that were run. */
static void put_x_axis(const struct nvt_pipeline_rows *rows, const struct nvt_frame *frame,
                       FILE *out)
{
    double *values = calloc(rows->count + 1, sizeof(*values));
    struct nvt_extent extent = nvt_extent_new();
    for (size_t i = 0; values && i < rows->count; i++) {
        values[i] = rows->items[i].microbatches;
        nvt_extent_add(&extent, values[i], values[i]);
    }
    double left, right;
    nvt_frame_log_range(&extent, 1.3, &left, &right);
    if (values)
        nvt_frame_log_x(frame, left, right, values, rows->count, out);
    fputs("set xlabel 'micro-batches M (log)'\n", out);
    free(values);
}

static struct nvt_extent extent_of(const struct nvt_pipeline_rows *rows, int column)
{
    struct nvt_extent extent = nvt_extent_new();
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvt_pipeline_row *row = &rows->items[i];
        if (column == THROUGHPUT)
            nvt_extent_add_bar(&extent, row->throughput, row->deviation);
        else if (row->memory > 0)
            nvt_extent_add_bar(&extent, row->memory, NAN);
    }
    return extent;
}

static int has_bars(const struct nvt_pipeline_rows *rows, int column)
{
    for (size_t i = 0; i < rows->count; i++)
        if (column == THROUGHPUT && rows->items[i].deviation > 0)
            return 1;
    return 0;
}

static const char *const engines[] = {"engine self", "engine torchgpipe"};

/* What the numbers are; of throughput, whose times: published ones are of launches. */
static const char *measured(const struct nvt_pipeline_rows *rows, int column)
{
    return column == MEMORY  ? "Reserved without weights, gradients and momentum"
           : !rows->launched ? "Forward and backward, completed"
           : rows->launched == rows->count
               ? "Forward and backward, launched, not waited for"
               : "Forward and backward, completed; of published rows, launched only";
}

/* One engine is named below the panel, two above theirs. */
static void put_study_frame(const struct nvt_chart_request *request,
                            const struct nvt_pipeline_rows *rows, int column,
                            struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    put_keys(rows, frame);
    snprintf(text, sizeof(text), "%s%s%s.", measured(rows, column), are_both(rows) ? "" : "; ",
             are_both(rows) ? "" : engines[rows->engines[1]]);
    nvt_frame_note(frame, text);
    nvt_studied_notes(&rows->studied, has_bars(rows, column) ? "bars, points side by side" : NULL,
                      frame);
    snprintf(text, sizeof(text), "%zu row%s of another %s not shown.", rows->others,
             rows->others > 1 ? "s" : "", rows->differ);
    nvt_frame_note(frame, rows->others ? text : "");
    nvt_frame_note(frame, rows->shared);
    nvt_chart_provenance(request->input, frame);
}

static void put_study(const struct nvt_chart_request *request, const struct nvt_pipeline_rows *rows,
                      const char *name, const char *title, int column, FILE *out)
{
    char text[64];
    const struct nvt_extent extent = extent_of(rows, column);
    struct nvt_frame frame = nvt_frame_new(request->format, name, title);
    frame.columns = rows->engines[0] + rows->engines[1];
    put_study_frame(request, rows, column, &frame);
    nvt_frame_open(&frame, 180, out);
    put_x_axis(rows, &frame, out);
    int is_log = nvt_frame_scale('y', &extent, 1, column == MEMORY ? 0 : INFINITY, out);
    snprintf(text, sizeof(text), "%s%s", column == MEMORY ? "memory (MiB)" : "samples per s",
             is_log ? ", log scale" : "");
    for (int engine = 0, panel = 0; engine < 2; engine++) {
        if (!rows->engines[engine])
            continue;
        nvt_frame_panel(&frame, panel, are_both(rows) ? engines[engine] : NULL, out);
        nvt_frame_y_label(&frame, panel++, text, out);
        put_lines(rows, engine, column, has_bars(rows, column), out);
    }
    nvt_frame_close(&frame, out);
}

static int draw_study(const struct nvt_chart_request *request, const struct nvt_pipeline_rows *rows,
                      struct nvt_error *err)
{
    static const struct {
        const char *name, *title;
        int column;
    } pictures[] = {
        {"gpipe-memory", "Peak activation memory of a pipeline of K partitions", MEMORY},
        {"gpipe-throughput", "Throughput of a pipeline of K partitions", THROUGHPUT}};
    FILE *data = nvt_chart_open(request, "gpipe", "dat", err);
    if (!data)
        return -1;
    put_rows(rows, data);
    if (nvt_chart_close(request, data, "gpipe", "dat", err))
        return -1;
    for (int i = 0; i < 2; i++) {
        FILE *script = nvt_chart_open(request, pictures[i].name, "gp", err);
        if (!script)
            return -1;
        put_study(request, rows, pictures[i].name, pictures[i].title, pictures[i].column, script);
        if (nvt_chart_close(request, script, pictures[i].name, "gp", err) ||
            nvt_chart_render(request, pictures[i].name, err))
            return -1;
    }
    return 0;
}

/* --- one step --- */

static int microbatches_of(const struct nvt_pipeline_view *view)
{
    int most = 0;
    for (size_t i = 0; i < view->span_count; i++)
        most = view->spans[i].microbatch > most ? view->spans[i].microbatch : most;
    return most + 1;
}

/* The better one to look at: more partitions, micro-batches that can be told apart, work side by
 * side. */
static double interest(const struct nvt_pipeline_view *view)
{
    int count = microbatches_of(view);
    return view->partitions * 100 + (view->has_workers || view->on_device) * 50 -
           fabs(log2((double)count / SHOWN_MOST)) * 10 +
           (nvt_pipeline_time(view, 0, NVT_PIPE_RECOMPUTE) > 0);
}

static const struct nvt_pipeline_view *choose(const struct nvt_pipeline_views *views)
{
    const struct nvt_pipeline_view *best = NULL;
    for (size_t i = 0; i < views->count; i++)
        if (views->items[i].step_count && (!best || interest(&views->items[i]) > interest(best)))
            best = &views->items[i];
    return best;
}

/* The step whose length is the median: neither the first nor one that was disturbed. */
static int choose_step(const struct nvt_pipeline_view *view)
{
    int best = 0;
    double closest = INFINITY;
    double mean = (double)nvt_pipeline_span_of_steps(view) / (double)view->step_count;
    for (size_t i = 0; i < view->step_count; i++) {
        double off = fabs((double)(view->steps[i].end - view->steps[i].start) - mean);
        if (off < closest) {
            closest = off;
            best = (int)i;
        }
    }
    return best;
}

/* Parts of the model on a partition. */
static int chunks_of(const struct nvt_pipeline_view *view)
{
    int most = 0;
    for (size_t i = 0; i < view->span_count; i++)
        most = view->spans[i].chunk > most ? view->spans[i].chunk : most;
    return most + 1;
}

/* Boxes by kind: start, end, row; recomputing lies over its backward. */
static void put_spans(const struct nvt_pipeline_view *view, int step, FILE *out)
{
    static const char *const kinds[] = {"forward", "backward", "recompute", "wait"};
    int64_t zero = view->steps[step].start;
    fputs("# start_ms end_ms partition microbatch part\n", out);
    for (int kind = 0; kind < 4; kind++) {
        fprintf(out, "%s# %s\n-1\t-1\t0\t0\t0\n", kind ? "\n\n" : "", kinds[kind]);
        for (size_t i = 0; i < view->span_count; i++) {
            const struct nvt_pipeline_span *span = &view->spans[i];
            if (span->step == step && (int)span->kind == kind)
                fprintf(out, "%.6f\t%.6f\t%d\t%d\t%d\n", (double)(span->start - zero) / 1e6,
                        (double)(span->end - zero) / 1e6, span->partition, span->microbatch,
                        span->chunk);
        }
    }
}

static double length_of(const struct nvt_pipeline_view *view, int step)
{
    return (double)(view->steps[step].end - view->steps[step].start) / 1e6;
}

/* Within a forward or a backward its peak, behind it what was left. */
static void put_levels(const struct nvt_pipeline_view *view, int step, FILE *out)
{
    int64_t zero = view->steps[step].start;
    fputs("# time_ms allocated_MiB, a block a partition\n", out);
    for (int p = 0; p < view->partitions; p++) {
        double held = nvt_pipeline_level_before(view, step, p);
        fprintf(out, "%s# p%d\n", p ? "\n\n" : "", p);
        if (isnan(held)) { /* its rank's trace is not here */
            fputs("-1\t-1\n", out);
            continue;
        }
        fprintf(out, "0\t%.6f\n", held / MIB);
        for (size_t i = 0; i < view->level_count; i++) {
            const struct nvt_pipeline_level *level = &view->levels[i];
            if (level->step != step || level->partition != p)
                continue;
            held = level->allocated;
            fprintf(out, "%.6f\t%.6f\n%.6f\t%.6f\n", (double)(level->start - zero) / 1e6,
                    level->peak_allocated / MIB, (double)(level->time - zero) / 1e6, held / MIB);
        }
        fprintf(out, "%.6f\t%.6f\n", length_of(view, step), held / MIB);
    }
}

/* A host that launches is ahead of the device. */
static void note_clock(const struct nvt_chart_request *request,
                       const struct nvt_pipeline_view *view, struct nvt_frame *frame)
{
    const char *backend = nvt_report_provenance(request->input).backend;
    if (!view->on_device && backend && !strcmp(backend, "cuda"))
        nvt_frame_note(frame, "When work was launched; --collect kernel records when it ran.");
}

enum { KINDS = 3, PARTS_MOST = 8 /* that are told apart */ };

static const struct {
    const char *name, *color;
} kinds[KINDS] = {{"forward", NVT_SKY}, {"backward", NVT_ORANGE}, {"recompute", NVT_GREEN}};

/* Colours of boxes: of each kind one for each part of the model on a partition, "#RRGGBB". */
struct shades {
    int parts;
    char colors[KINDS][PARTS_MOST][8];
};

/* Paler for each part behind the first. */
static struct shades shades_of(const struct nvt_pipeline_view *view)
{
    struct shades shades = {.parts = chunks_of(view)};
    if (shades.parts > PARTS_MOST)
        shades.parts = PARTS_MOST;
    for (int kind = 0; kind < KINDS; kind++)
        for (int part = 0; part < shades.parts; part++) {
            const unsigned long rgb = strtoul(kinds[kind].color + 1, NULL, 16);
            unsigned mixed = 0;
            for (int shift = 16; shift >= 0; shift -= 8) {
                const unsigned full = rgb >> shift & 255;
                mixed = mixed << 8 |
                        (full + (255 - full) * 6 * (unsigned)part / 10 / (unsigned)shades.parts);
            }
            snprintf(shades.colors[kind][part], 8, "#%06X", mixed & 0xFFFFFF);
        }
    return shades;
}

/* Whether a step has boxes of that kind: nothing is recomputed without checkpoints. */
static int has_kind(const struct nvt_pipeline_view *view, int step, int kind)
{
    for (size_t i = 0; i < view->span_count; i++)
        if (view->spans[i].step == step && (int)view->spans[i].kind == kind)
            return 1;
    return 0;
}

static void put_gantt_frame(const struct nvt_chart_request *request,
                            const struct nvt_pipeline_view *view, int step,
                            const struct shades *shades, struct nvt_frame *frame)
{
    char text[32];
    for (int kind = 0; kind < KINDS; kind++)
        for (int part = 0; part < shades->parts && has_kind(view, step, kind); part++) {
            snprintf(text, sizeof(text), part ? "%s .%d" : "%s", kinds[kind].name, part);
            nvt_frame_key(frame, NVT_KEY_BOX, shades->colors[kind][part], 1, 0, text);
        }
    nvt_frame_note(frame, "Numbers: micro-batches, where there is room for them.");
    nvt_frame_note(frame,
                   shades->parts > 2 ? ".1, .2 …, paler: further parts of the model on a partition."
                   : shades->parts > 1 ? ".1, paler: the second part of the model on a partition."
                                       : "");
    note_clock(request, view, frame);
    nvt_frame_note(frame, view->configuration);
    nvt_chart_provenance(request->input, frame);
}

/* Boxes that are wide enough have their micro-batch's number: "4", and of further parts "4.1". */
static void put_numbers(const struct nvt_pipeline_view *view, int step, FILE *out)
{
    fprintf(out,
            ", \\\n     for [kind in 'forward backward'] 'gpipe-schedule.dat' index kind using "
            "($2-$1>($5>0?%.6f:%.6f)?($1+$2)/2:NaN):3:($5>0?sprintf('%%d.%%d',$4,$5):"
            "sprintf('%%d',$4)) with labels font ',11'",
            length_of(view, step) / 13, length_of(view, step) / 24);
}

static void put_gantt(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                      int step, FILE *out)
{
    const struct shades shades = shades_of(view);
    struct nvt_frame frame =
        nvt_frame_new(request->format, "gpipe-schedule", "One step of the pipeline");
    put_gantt_frame(request, view, step, &shades, &frame);
    nvt_frame_open(&frame, 40 * view->partitions, out);
    nvt_frame_y_label(&frame, 0, "partition", out);
    fprintf(out,
            "set grid noytics\nset style fill solid 1 noborder\n"
            "set xrange [0:%.6f]\nset yrange [%.2f:-0.5]\nset ytics 1\n"
            "set xlabel '%s time since the step began (ms)'\nplot ",
            length_of(view, step), view->partitions - 0.5, view->on_device ? "device" : "host");
    for (int kind = 0; kind < KINDS; kind++)
        for (int part = 0; part < shades.parts; part++)
            fprintf(out,
                    "%s'gpipe-schedule.dat' index '%s' using ($5%s%d?$1:NaN):3:1:2:($3-0.36):"
                    "($3+0.36) with boxxyerror fillcolor '%s'",
                    kind || part ? ", \\\n     " : "", kinds[kind].name,
                    part + 1 < shades.parts ? "==" : ">=", part, shades.colors[kind][part]);
    if (microbatches_of(view) <= NUMBERED_MOST)
        put_numbers(view, step, out);
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static void put_memory(const struct nvt_chart_request *request,
                       const struct nvt_pipeline_view *view, int step, FILE *out)
{
    const struct nvt_pipeline_step *at = &view->steps[step];
    char text[32];
    struct nvt_frame frame = nvt_frame_new(request->format, "gpipe-memory-time",
                                           "Memory of each partition during one step");
    for (int p = 0; p < view->partitions; p++) {
        snprintf(text, sizeof(text), "partition %d", p);
        nvt_frame_key(&frame, NVT_KEY_LINE, color_of(p), p % 4 + 1, 0, text);
    }
    if (at->backward_start != INT64_MAX) {
        nvt_frame_key(&frame, NVT_KEY_BOX, FORWARD_BAND, 1, 0, "forward");
        nvt_frame_key(&frame, NVT_KEY_BOX, BACKWARD_BAND, 1, 0, "backward");
    } else {
        nvt_frame_note(&frame, "This schedule mixes forward and backward: see gpipe-schedule.");
    }
    nvt_frame_note(&frame, "Within a forward or backward: its peak; after it: what was left.");
    note_clock(request, view, &frame);
    nvt_frame_note(&frame, view->configuration);
    nvt_chart_provenance(request->input, &frame);
    nvt_frame_open(&frame, 180, out);
    if (at->backward_start != INT64_MAX) {
        double middle = (double)(at->backward_start - at->start) / 1e6;
        fprintf(out,
                "set object 1 rectangle from 0,graph 0 to %.6f,graph 1 behind fillcolor '%s' "
                "fillstyle solid 1 noborder\nset object 2 rectangle from %.6f,graph 0 to "
                "%.6f,graph 1 behind fillcolor '%s' fillstyle solid 1 noborder\n",
                middle, FORWARD_BAND, middle, length_of(view, step), BACKWARD_BAND);
    }
    nvt_frame_y_label(&frame, 0, "allocated (MiB)", out);
    fprintf(
        out,
        "set xrange [0:%.6f]\nset yrange [0:*]\nset xlabel '%s time since the step began (ms)'\n"
        "plot ",
        length_of(view, step), view->on_device ? "device" : "host");
    for (int p = 0; p < view->partitions; p++) {
        fprintf(out, "%s'gpipe-levels.dat' index 'p%d' using 1:2 with steps",
                p ? ", \\\n     " : "", p);
        nvt_frame_style(NVT_KEY_LINE, color_of(p), p % 4 + 1, 0, out);
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

typedef void put_data(const struct nvt_pipeline_view *, int, FILE *);
typedef void put_script(const struct nvt_chart_request *, const struct nvt_pipeline_view *, int,
                        FILE *);

static int draw_one(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                    int step, const char *data_name, put_data *data, const char *name,
                    put_script *script, struct nvt_error *err)
{
    FILE *file = nvt_chart_open(request, data_name, "dat", err);
    if (!file)
        return -1;
    data(view, step, file);
    if (nvt_chart_close(request, file, data_name, "dat", err) ||
        !(file = nvt_chart_open(request, name, "gp", err)))
        return -1;
    script(request, view, step, file);
    return nvt_chart_close(request, file, name, "gp", err) ? -1
                                                           : nvt_chart_render(request, name, err);
}

static int draw_step(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_pipeline_views views = {0};
    int status = request->input->trace_count ? 0 : nvt_input_traces(request->input, err);
    if (!status)
        status = nvt_pipeline_views_make(&views, request->input, err);
    const struct nvt_pipeline_view *view = status ? NULL : choose(&views);
    if (view) {
        int step = choose_step(view);
        status = draw_one(request, view, step, "gpipe-schedule", put_spans, "gpipe-schedule",
                          put_gantt, err);
        if (!status && view->level_count)
            status = draw_one(request, view, step, "gpipe-levels", put_levels, "gpipe-memory-time",
                              put_memory, err);
    }
    nvt_pipeline_views_free(&views);
    return status;
}

static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_pipeline_rows rows;
    int status = nvt_pipeline_rows_read(request->input, &rows) ? nvt_fail(err, "out of memory") : 0;
    if (!status && rows.count)
        status = draw_study(request, &rows, err);
    nvt_pipeline_rows_free(&rows);
    return status ? status : draw_step(request, err);
}

/* Whether there may be a step to draw: of a run that did not end well, or of traces that were given by themselves. */
static int is_traced(const struct nvt_report_input *input)
{
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            if (nvt_record_is_of(record, "gpipe") && nvt_record_text(record, "trace"))
                return 1;
        }
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_input_is_own(&input->traces[i]) && nvt_pipeline_is_in(input->traces[i].trace))
            return 1;
    return 0;
}

static int fits(const struct nvt_report_input *input)
{
    struct nvt_pipeline_rows rows;
    int is_any = !nvt_pipeline_rows_read(input, &rows) && rows.count;
    nvt_pipeline_rows_free(&rows);
    return is_any || is_traced(input);
}

const struct nvt_chart nvt_chart_gpipe = {
    .name = "gpipe",
    .about = "memory and throughput of a pipeline, its schedule, its memory over time",
    .fits = fits,
    .draw = draw,
};
