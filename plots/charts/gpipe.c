/*
 * gpipe: the pipeline study. Peak activation memory and throughput against micro-batches, a line
 * for each number of partitions with and without checkpointing, a panel for each engine; the
 * schedule of one step as a Gantt chart; and what each partition's memory did meanwhile. All of it once
 * for each schedule.
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
#include "../pipeline_step.h"

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

/* A colour for each number of partitions, dashes with checkpointing; each once in the legend, with
 * its mark where there is one engine. */
static void put_gpipe_keys(const struct nvt_pipeline_rows *rows, struct nvt_frame *frame)
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
static void put_gpipe_line(const struct nvt_pipeline_row *row, const char *data, int is_covered,
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
static void put_lines(const struct nvt_pipeline_rows *rows, const char *file, int engine,
                      int column, int bars, FILE *out)
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
                    "%s'%s.dat' index 'e%dk%dc%d' using ($1*%.3f):($%d-$4):(0):(2*$4) "
                    "with vectors nohead linecolor '%s' linewidth 0.8",
                    separator, file, engine, row->partitions, row->checkpoint, shift, column,
                    look.color);
        separator = bars ? ", \\\n     " : separator;
        snprintf(data, sizeof(data), "'%s.dat' index 'e%dk%dc%d' using ($1*%.3f):%d", file, engine,
                 row->partitions, row->checkpoint, shift, column);
        fputs(separator, out);
        put_gpipe_line(row, data, nvt_pipeline_row_is_covered(rows, i, column == THROUGHPUT), out);
        separator = ", \\\n     ";
        shift += bars ? 0.04 : 0;
    }
    putc('\n', out);
}

/* Tics at the numbers of micro-batches that were run. */
static void put_gpipe_x_axis(const struct nvt_pipeline_rows *rows, const struct nvt_frame *frame,
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
    put_gpipe_keys(rows, frame);
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
                      const char *data, const char *name, const char *title, int column, FILE *out)
{
    char text[64];
    const struct nvt_extent extent = extent_of(rows, column);
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    frame.columns = rows->engines[0] + rows->engines[1];
    put_study_frame(request, rows, column, &frame);
    nvt_frame_open(&frame, 180, out);
    put_gpipe_x_axis(rows, &frame, out);
    int is_log = nvt_frame_scale('y', &extent, 1, column == MEMORY ? 0 : INFINITY, out);
    snprintf(text, sizeof(text), "%s%s", column == MEMORY ? "memory (MiB)" : "samples per s",
             is_log ? ", log scale" : "");
    for (int engine = 0, panel = 0; engine < 2; engine++) {
        if (!rows->engines[engine])
            continue;
        nvt_frame_panel(&frame, panel, are_both(rows) ? engines[engine] : NULL, out);
        nvt_frame_y_label(&frame, panel++, text, out);
        put_lines(rows, data, engine, column, has_bars(rows, column), out);
    }
    nvt_frame_close(&frame, out);
}

static int draw_study(const struct nvt_chart_request *request, const struct nvt_pipeline_rows *rows,
                      const char *suffix, struct nvt_error *err)
{
    static const struct {
        const char *name, *title;
        int column;
    } pictures[] = {{"gpipe-memory", "Pipeline of K partitions: peak activation memory", MEMORY},
                    {"gpipe-throughput", "Pipeline of K partitions: throughput", THROUGHPUT}};
    char name[64], file[64];
    snprintf(file, sizeof(file), "gpipe%s", suffix);
    FILE *data = nvt_chart_open(request, file, "dat", err);
    if (!data)
        return -1;
    put_rows(rows, data);
    if (nvt_chart_close(request, data, file, "dat", err))
        return -1;
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s%s", pictures[i].name, suffix);
        FILE *script = nvt_chart_open(request, name, "gp", err);
        if (!script)
            return -1;
        put_study(request, rows, file, name, pictures[i].title, pictures[i].column, script);
        if (nvt_chart_close(request, script, name, "gp", err) ||
            nvt_chart_render(request, name, err))
            return -1;
    }
    return 0;
}

static int draw_gpipe(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_schedules schedules = {0};
    int status = 0;
    nvt_pipeline_schedules(request->input, &schedules);
    for (size_t i = 0; i < schedules.count && !status; i++) {
        struct nvt_pipeline_rows rows;
        status = nvt_pipeline_rows_read(request->input, schedules.names[i], &rows)
                     ? nvt_fail(err, "out of memory")
                     : 0;
        char suffix[NVT_SCHEDULE_SUFFIX];
        if (!status && rows.count)
            status = draw_study(request, &rows, nvt_schedule_suffix(&schedules, i, suffix), err);
        nvt_pipeline_rows_free(&rows);
    }
    return status ? status : nvt_pipeline_steps_draw(request, err);
}

/* Whether there may be a step to draw: of a run that did not end well, or of traces that were given by themselves. */
static int is_traced(const struct nvt_input *input)
{
    const struct nvt_record *record;
    for (size_t i = 0; (record = nvt_input_record_of(input, "gpipe", &i));)
        if (nvt_record_text(record, "trace"))
            return 1;
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_input_is_own(&input->traces[i]) && nvt_pipeline_is_in(input->traces[i].trace))
            return 1;
    return 0;
}

static int gpipe_fits(const struct nvt_input *input)
{
    struct nvt_schedules schedules = {0};
    nvt_pipeline_schedules(input, &schedules);
    return schedules.count || is_traced(input);
}

const struct nvt_chart nvt_chart_gpipe = {
    .name = "gpipe",
    .about = "memory and throughput of a pipeline, its schedule, its memory over time",
    .fits = gpipe_fits,
    .draw = draw_gpipe,
};
