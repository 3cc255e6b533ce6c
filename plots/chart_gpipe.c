/*
 * gpipe: the pipeline study. Peak activation memory and throughput against micro-batches, a line for each
 * number of partitions with and without checkpointing, a panel for each engine; the schedule of one step as a
 * Gantt chart; and what each partition's memory did meanwhile.
 */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/pipeline.h"
#include "gnuplot.h"

#define MIB           (1024.0 * 1024.0)
#define SHOWN_MOST    8  /* micro-batches that a Gantt chart should have */
#define NUMBERED_MOST 16 /* micro-batches whose boxes are numbered */

/* --- the study's rows --- */

struct row {
    int partitions, microbatches, checkpoint, engine;
    double memory, throughput;
};

struct rows {
    struct row *items;
    size_t count;
    int engines[2]; /* whether there are rows of it */
};

static int is_same(const struct nvt_record *a, const struct nvt_record *b, const char *key)
{
    const char *left = nvt_record_text(a, key), *right = nvt_record_text(b, key);
    return !strcmp(left ? left : "", right ? right : "");
}

/* Rows that differ from the first one only in what a chart has lines for. */
static int belongs(const struct nvt_record *record, const struct nvt_record *first)
{
    static const char *const same[] = {"model", "schedule",   "transport", "attention_axis",
                                       "batch", "d_model",    "layers",    "sequence",
                                       "d_ff",  "vocabulary", "heads",     "collect"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        if (!is_same(record, first, same[i]))
            return 0;
    return 1;
}

static int is_ours(const struct nvt_record *record)
{
    const char *workload = nvt_record_text(record, "workload");
    const char *status = nvt_record_text(record, "status");
    return workload && !strcmp(workload, "gpipe") && (!status || !strcmp(status, "ok"));
}

static int by_place(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    const int keys[][2] = {{a->engine, b->engine},
                           {a->partitions, b->partitions},
                           {a->checkpoint, b->checkpoint},
                           {a->microbatches, b->microbatches}};
    for (int i = 0; i < 4; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static struct row row_of(const struct nvt_record *record)
{
    const char *engine = nvt_record_text(record, "engine");
    const char *checkpoint = nvt_record_text(record, "checkpoint");
    struct row row = {(int)nvt_record_number(record, "partitions"),
                      (int)nvt_record_number(record, "microbatches"),
                      checkpoint && (!strcmp(checkpoint, "true") || !strcmp(checkpoint, "on")),
                      engine && !strcmp(engine, "torchgpipe"),
                      nvt_record_number(record, "peak_activation_bytes") / MIB,
                      nvt_record_number(record, "throughput_samples_per_s")};
    return row;
}

static int read_rows(const struct nvt_report_input *input, struct rows *rows)
{
    const struct nvt_record *first = NULL;
    size_t most = 0;
    for (size_t i = 0; i < input->run_count; i++)
        most += input->runs[i]->count;
    *rows = (struct rows){.items = malloc((most + 1) * sizeof(*rows->items))};
    for (size_t i = 0; rows->items && i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            if (!is_ours(record) || !(nvt_record_number(record, "microbatches") >= 1))
                continue;
            first = first ? first : record;
            if (!belongs(record, first))
                continue;
            rows->items[rows->count] = row_of(record);
            rows->engines[rows->items[rows->count++].engine] = 1;
        }
    if (rows->count)
        qsort(rows->items, rows->count, sizeof(*rows->items), by_place);
    return rows->items ? 0 : -1;
}

/* --- the study's pictures --- */

static int is_new_line(const struct rows *rows, size_t i)
{
    const struct row *row = &rows->items[i], *before = row - 1;
    return !i || row->engine != before->engine || row->partitions != before->partitions ||
           row->checkpoint != before->checkpoint;
}

/* One block a line, named after it. */
static void put_rows(const struct rows *rows, FILE *out)
{
    fputs("# microbatches peak_activation_MiB samples_per_s\n", out);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        if (is_new_line(rows, i))
            fprintf(out, "%s# e%dk%dc%d\n", i ? "\n\n" : "", row->engine, row->partitions,
                    row->checkpoint);
        fprintf(out, "%d\t%.9g\t%.9g\n", row->microbatches, row->memory, row->throughput);
    }
}

/* What is shown, in one or two lines, and where it was measured. */
static void put_caption(const struct nvt_report_input *input, const char *before, FILE *out)
{
    struct nvt_provenance from = {0};
    char text[512] = "";
    if (input->run_count)
        from = nvt_runs_provenance(input->runs[0]);
    const char *const facts[] = {from.condition, from.backend, from.device, from.date};
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (facts[i])
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? " · " : "",
                     facts[i]);
    fputs("set label 98 ", out);
    nvt_gnuplot_text(before, 170, out);
    fputs(" at screen 0.5,screen 0.065 center font ',10' textcolor '#555555' noenhanced\nset label 99 ",
          out);
    nvt_gnuplot_text(text, 150, out);
    fputs(" at screen 0.5,screen 0.025 center font ',10' textcolor '#555555' noenhanced\n", out);
}

static void put_style(FILE *out)
{
    fputs("set border 3 linecolor '#555555'\nset tics nomirror textcolor '#333333'\n"
          "set grid xtics ytics linecolor '#dddddd' linetype 1 linewidth 0.5\n",
          out);
}

static const char *color_of(int index)
{
    static const char *const colors[] = {NVT_BLUE,  NVT_RED,   NVT_GREEN,
                                         NVT_BLACK, NVT_PURPLE, NVT_SKY};
    return colors[(unsigned)index % 6]; /* -1: a file that states no partitions */
}

/* The lines of one engine: a colour for each number of partitions, dashes with checkpointing. */
static void put_lines(const struct rows *rows, int engine, int column, FILE *out)
{
    int drawn = 0, color = -1, partitions = 0;
    fputs("plot ", out);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        if (row->engine != engine || !is_new_line(rows, i))
            continue;
        if (row->partitions != partitions)
            color++;
        partitions = row->partitions;
        fprintf(out,
                "%s'gpipe.dat' index 'e%dk%dc%d' using 1:%d with linespoints linecolor '%s' "
                "dashtype %d pointtype %d pointsize 0.8 linewidth 1.6 title 'K = %d%s'",
                drawn++ ? ", \\\n     " : "", engine, row->partitions, row->checkpoint, column,
                color_of(color), row->checkpoint ? 2 : 1, row->checkpoint ? 6 : 7, row->partitions,
                row->checkpoint ? ", checkpointing" : "");
    }
    fputs("\n", out);
}

static void put_study(const struct nvt_chart_request *request, const struct rows *rows,
                      const char *name, const char *title, const char *label, int column, FILE *out)
{
    int panels = rows->engines[0] + rows->engines[1], panel = 0;
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double value = column == 2 ? rows->items[i].memory : rows->items[i].throughput;
        low = value > 0 && value < low ? value : low;
        high = value > high ? value : high;
    }
    nvt_gnuplot_terminal(request->format, panels > 1 ? 1100 : 750, 520, name, out);
    put_style(out);
    fprintf(out,
            "set multiplot layout 1,%d title '%s' font ',16' margins 0.08,0.97,0.27,0.84 spacing 0.07\n"
            "set logscale x 2\nset xlabel 'micro-batches M'\nset ylabel '%s'\n"
            "set key at screen 0.5,0.14 center horizontal maxrows 2 samplen 3 noenhanced font ',10'\n",
            panels, title, label);
    if (column == 2 && high > 0)
        fprintf(out, "set logscale y 2\nset yrange [%.9g:%.9g]\nset format y '%%g'\n", low / 1.3,
                high * 1.3);
    else
        fprintf(out, "set yrange [0:%.9g]\n", high * 1.1);
    put_caption(request->input, column == 2 ? "reserved without weights, gradients and momentum"
                                            : "forward and backward, completed",
                out);
    for (int engine = 0; engine < 2; engine++) {
        if (!rows->engines[engine])
            continue;
        fprintf(out, "set title 'engine %s'\n", engine ? "torchgpipe" : "self");
        put_lines(rows, engine, column, out);
        fputs("unset key\nunset label 98\nunset label 99\n", out);
        panel++;
    }
    fputs("unset multiplot\nunset output\n", out);
}

static int draw_study(const struct nvt_chart_request *request, const struct rows *rows,
                      struct nvt_error *err)
{
    static const struct {
        const char *name, *title, *label;
        int column;
    } pictures[] = {
        {"gpipe-memory", "Peak activation memory of a pipeline of K partitions", "MiB, log scale", 2},
        {"gpipe-throughput", "Throughput of a pipeline of K partitions", "samples a second", 3}};
    FILE *data = nvt_chart_open(request, "gpipe", "dat", err);
    if (!data)
        return -1;
    put_rows(rows, data);
    if (nvt_chart_close(data, "gpipe.dat", err))
        return -1;
    for (int i = 0; i < 2; i++) {
        FILE *script = nvt_chart_open(request, pictures[i].name, "gp", err);
        if (!script)
            return -1;
        put_study(request, rows, pictures[i].name, pictures[i].title, pictures[i].label,
                  pictures[i].column, script);
        if (nvt_chart_close(script, pictures[i].name, err) ||
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

/* The better one to look at: more partitions, micro-batches that can be told apart, work side by side. */
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

/* Boxes by kind: start, end, row; recomputing lies over its backward. */
static void put_spans(const struct nvt_pipeline_view *view, int step, FILE *out)
{
    static const char *const kinds[] = {"forward", "backward", "recompute", "wait"};
    int64_t zero = view->steps[step].start;
    fputs("# start_ms end_ms partition microbatch\n", out);
    for (int kind = 0; kind < 4; kind++) {
        fprintf(out, "%s# %s\n-1\t-1\t0\t0\n", kind ? "\n\n" : "", kinds[kind]);
        for (size_t i = 0; i < view->span_count; i++) {
            const struct nvt_pipeline_span *span = &view->spans[i];
            if (span->step == step && (int)span->kind == kind)
                fprintf(out, "%.6f\t%.6f\t%d\t%d\n", (double)(span->start - zero) / 1e6,
                        (double)(span->end - zero) / 1e6, span->partition, span->microbatch);
        }
    }
}

static void put_levels(const struct nvt_pipeline_view *view, int step, FILE *out)
{
    int64_t zero = view->steps[step].start;
    fputs("# time_ms allocated_MiB, a block a partition\n", out);
    for (int p = 0; p < view->partitions; p++) {
        fprintf(out, "%s# p%d\n", p ? "\n\n" : "", p);
        for (size_t i = 0; i < view->level_count; i++) {
            const struct nvt_pipeline_level *level = &view->levels[i];
            if (level->step == step && level->partition == p)
                fprintf(out, "%.6f\t%.6f\n", (double)(level->time - zero) / 1e6,
                        level->allocated / MIB);
        }
    }
}

static double length_of(const struct nvt_pipeline_view *view, int step)
{
    return (double)(view->steps[step].end - view->steps[step].start) / 1e6;
}

static void put_gantt(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                      int step, FILE *out)
{
    static const struct {
        const char *name, *color;
        double half; /* height */
    } kinds[] = {{"forward", NVT_SKY, 0.38}, {"backward", NVT_ORANGE, 0.38}, {"recompute", NVT_GREEN, 0.38}};
    nvt_gnuplot_terminal(request->format, 1100, 160 + 70 * view->partitions, "gpipe-schedule", out);
    put_style(out);
    fputs("unset grid\nset grid xtics linecolor '#dddddd' linetype 1 linewidth 0.5\n"
          "set title 'One step of the pipeline' font ',16'\n"
          "set style fill solid 1 border linecolor '#ffffff'\nset lmargin 10\n"
          "set bmargin at screen 0.28\nset key at screen 0.985,0.93 right top horizontal samplen 1\n",
          out);
    fprintf(out, "set xrange [0:%.6f]\nset yrange [%.2f:-0.6]\nset ytics 1 format 'partition %%g'\n",
            length_of(view, step), view->partitions - 0.4);
    fprintf(out, "set xlabel 'ms since the step began (%s time)'\n", view->on_device ? "device" : "host");
    put_caption(request->input, view->configuration, out);
    fputs("plot ", out);
    for (int kind = 0; kind < 3; kind++)
        fprintf(out,
                "%s'gpipe-schedule.dat' index '%s' using 1:3:1:2:($3-%g):($3+%g) with boxxyerror "
                "fillcolor '%s' title '%s'",
                kind ? ", \\\n     " : "", kinds[kind].name, kinds[kind].half, kinds[kind].half,
                kinds[kind].color, kinds[kind].name);
    if (microbatches_of(view) <= NUMBERED_MOST)
        fputs(", \\\n     for [kind in 'forward backward'] 'gpipe-schedule.dat' index kind using "
              "(($1+$2)/2):3:4 with labels font ',9' notitle",
              out);
    fputs("\nunset output\n", out);
}

static void put_memory(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                       int step, FILE *out)
{
    const struct nvt_pipeline_step *at = &view->steps[step];
    nvt_gnuplot_terminal(request->format, 1100, 460, "gpipe-memory-time", out);
    put_style(out);
    if (at->backward_start != INT64_MAX) {
        double middle = (double)(at->backward_start - at->start) / 1e6;
        fprintf(out,
                "set object 1 rectangle from 0,graph 0 to %.6f,graph 1 behind fillcolor '%s' "
                "fillstyle solid 0.15 noborder\nset object 2 rectangle from %.6f,graph 0 to "
                "%.6f,graph 1 behind fillcolor '%s' fillstyle solid 0.15 noborder\n"
                "set label 1 'forward' at %.6f,graph 0.96 center textcolor '#555555'\n"
                "set label 2 'backward' at %.6f,graph 0.96 center textcolor '#555555'\n",
                middle, NVT_SKY, middle, length_of(view, step), NVT_ORANGE, middle / 2,
                (middle + length_of(view, step)) / 2);
    }
    fprintf(out,
            "set title 'Memory in use by each partition during one step' font ',16'\n"
            "set xrange [0:%.6f]\nset yrange [0:*]\nset xlabel 'ms since the step began'\n"
            "set ylabel 'MiB allocated'\nset bmargin at screen 0.2\n"
            "set rmargin at screen 0.86\nset key at screen 0.99,0.85 right top samplen 2\n",
            length_of(view, step));
    put_caption(request->input, view->configuration, out);
    fputs("plot ", out);
    for (int p = 0; p < view->partitions; p++)
        fprintf(out,
                "%s'gpipe-levels.dat' index 'p%d' using 1:2 with steps linecolor '%s' linewidth 1.6 "
                "title 'partition %d'",
                p ? ", \\\n     " : "", p, color_of(p), p);
    fputs("\nunset output\n", out);
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
    if (nvt_chart_close(file, data_name, err) || !(file = nvt_chart_open(request, name, "gp", err)))
        return -1;
    script(request, view, step, file);
    return nvt_chart_close(file, name, err) ? -1 : nvt_chart_render(request, name, err);
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
    struct rows rows;
    int status = read_rows(request->input, &rows) ? nvt_fail(err, "out of memory") : 0;
    if (!status && rows.count)
        status = draw_study(request, &rows, err);
    free(rows.items);
    return status ? status : draw_step(request, err);
}

static int fits(const struct nvt_report_input *input)
{
    struct rows rows;
    int is_any = !read_rows(input, &rows) && rows.count;
    free(rows.items);
    return is_any;
}

const struct nvt_chart nvt_chart_gpipe = {
    .name = "gpipe",
    .about = "memory and throughput of a pipeline, its schedule, its memory over time",
    .fits = fits,
    .draw = draw,
};
