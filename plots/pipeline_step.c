/*
 * One step of a pipeline, as charts: what each partition did when, and what its memory did meanwhile.
 */
#include "pipeline_step.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/studies/pipeline.h"
#include "frame.h"
#include "gnuplot.h"
#include "looks.h"
#include "pipeline_rows.h"

#define SHOWN_MOST    8  /* micro-batches that a Gantt chart should have */
#define NUMBERED_MOST 16 /* micro-batches whose boxes are numbered */
#define FORWARD_BAND  "#E6F4FC"
#define BACKWARD_BAND "#FBF0D9"

/* Of the files of a picture, without what says their kind. */
struct names {
    char data[64], picture[64];
};

static const char *color_of(int index)
{
    static const char *const colors[] = {NVT_BLUE,  NVT_RED,    NVT_GREEN,
                                         NVT_BLACK, NVT_PURPLE, NVT_SKY};
    return colors[(unsigned)index % 6]; /* -1: a file that states no partitions */
}

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

/* Of a schedule; of any where that is not known. */
static const struct nvt_pipeline_view *choose(const struct nvt_pipeline_views *views,
                                              const char *schedule)
{
    const struct nvt_pipeline_view *best = NULL;
    char own[NVT_SCHEDULE_MAX];
    for (size_t i = 0; i < views->count; i++)
        if (views->items[i].step_count &&
            !strcmp(nvt_schedule_of(views->items[i].configuration, own), schedule) &&
            (!best || interest(&views->items[i]) > interest(best)))
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
        fprintf(out, "0\t%.6f\n", held / NVT_MEBIBYTE);
        for (size_t i = 0; i < view->level_count; i++) {
            const struct nvt_pipeline_level *level = &view->levels[i];
            if (level->step != step || level->partition != p)
                continue;
            held = level->allocated;
            fprintf(out, "%.6f\t%.6f\n%.6f\t%.6f\n", (double)(level->start - zero) / 1e6,
                    level->peak_allocated / NVT_MEBIBYTE, (double)(level->time - zero) / 1e6,
                    held / NVT_MEBIBYTE);
        }
        fprintf(out, "%.6f\t%.6f\n", length_of(view, step), held / NVT_MEBIBYTE);
    }
}

/* A host that launches is ahead of the device. */
static void note_clock(const struct nvt_chart_request *request,
                       const struct nvt_pipeline_view *view, struct nvt_frame *frame)
{
    const char *backend = nvt_input_provenance(request->input).backend;
    if (!view->on_device && backend && !strcmp(backend, "cuda"))
        nvt_frame_note(frame, "When work was launched; --collect kernel records when it ran.");
}

enum { KINDS = 3, PARTS_MOST = 8 /* that are told apart */ };

static const struct {
    const char *name, *color;
} kinds[KINDS] = {{"forward", NVT_SKY}, {"backward", NVT_ORANGE}, {"recompute", "#8C6BB1"}};

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
static void put_numbers(const struct nvt_pipeline_view *view, int step, const char *data, FILE *out)
{
    fprintf(out,
            ", \\\n     for [kind in 'forward backward'] '%s.dat' index kind using "
            "($2-$1>($5>0?%.6f:%.6f)?($1+$2)/2:NaN):3:($5>0?sprintf('%%d.%%d',$4,$5):"
            "sprintf('%%d',$4)) with labels font ',12'",
            data, length_of(view, step) / 13, length_of(view, step) / 24);
}

static void put_gantt(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                      int step, const struct names *names, FILE *out)
{
    const struct shades shades = shades_of(view);
    struct nvt_frame frame = nvt_frame_new(request, names->picture, "One step of the pipeline");
    put_gantt_frame(request, view, step, &shades, &frame);
    nvt_frame_open(&frame, 40 * view->partitions, out);
    nvt_frame_y_label(&frame, 0, "partition", out);
    /* Boxes wide enough end a little sooner, so that neighbours are told apart. */
    const double pixel = length_of(view, step) / (NVT_FRAME_WIDTH - NVT_FRAME_LEFT);
    fprintf(out,
            "until(from, to) = to - from > %.9g ? to - %.9g : to\n"
            "set grid noytics\nset style fill solid 1 noborder\n"
            "set xrange [0:%.6f]\nset yrange [%.2f:-0.5]\nset ytics 1\n"
            "set xlabel '%s time since the step began (ms)'\nplot ",
            3 * pixel, 0.9 * pixel, length_of(view, step), view->partitions - 0.5,
            view->on_device ? "device" : "host");
    for (int kind = 0; kind < KINDS; kind++)
        for (int part = 0; part < shades.parts; part++)
            fprintf(out,
                    "%s'%s.dat' index '%s' using ($5%s%d?$1:NaN):3:1:(until($1,$2)):($3-0.36):"
                    "($3+0.36) with boxxyerror fillcolor '%s'",
                    kind || part ? ", \\\n     " : "", names->data, kinds[kind].name,
                    part + 1 < shades.parts ? "==" : ">=", part, shades.colors[kind][part]);
    if (microbatches_of(view) <= NUMBERED_MOST)
        put_numbers(view, step, names->data, out);
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static void put_memory(const struct nvt_chart_request *request,
                       const struct nvt_pipeline_view *view, int step, const struct names *names,
                       FILE *out)
{
    const struct nvt_pipeline_step *at = &view->steps[step];
    char text[32];
    struct nvt_frame frame =
        nvt_frame_new(request, names->picture, "Memory of each partition during one step");
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
        fprintf(out, "%s'%s.dat' index 'p%d' using 1:2 with steps", p ? ", \\\n     " : "",
                names->data, p);
        nvt_frame_style(NVT_KEY_LINE, color_of(p), p % 4 + 1, 0, out);
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

typedef void put_data(const struct nvt_pipeline_view *, int, FILE *);
typedef void put_script(const struct nvt_chart_request *, const struct nvt_pipeline_view *, int,
                        const struct names *, FILE *);

static int draw_one(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                    int step, const struct names *names, put_data *data, put_script *script,
                    struct nvt_error *err)
{
    FILE *file = nvt_chart_open(request, names->data, "dat", err);
    if (!file)
        return -1;
    data(view, step, file);
    if (nvt_chart_close(request, file, names->data, "dat", err) ||
        !(file = nvt_chart_open(request, names->picture, "gp", err)))
        return -1;
    script(request, view, step, names, file);
    return nvt_chart_close(request, file, names->picture, "gp", err)
               ? -1
               : nvt_chart_render(request, names->picture, err);
}

static struct names names_of(const char *data, const char *picture, const char *suffix)
{
    struct names names;
    snprintf(names.data, sizeof(names.data), "%s%s", data, suffix);
    snprintf(names.picture, sizeof(names.picture), "%s%s", picture, suffix);
    return names;
}

static int draw_view(const struct nvt_chart_request *request, const struct nvt_pipeline_view *view,
                     const char *suffix, struct nvt_error *err)
{
    const int step = choose_step(view);
    const struct names boxes = names_of("gpipe-schedule", "gpipe-schedule", suffix);
    const struct names levels = names_of("gpipe-levels", "gpipe-memory-time", suffix);
    int status = draw_one(request, view, step, &boxes, put_spans, put_gantt, err);
    if (!status && view->level_count)
        status = draw_one(request, view, step, &levels, put_levels, put_memory, err);
    return status;
}

int nvt_pipeline_steps_draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_pipeline_views views = {0};
    struct nvt_schedules schedules = {0};
    char schedule[NVT_SCHEDULE_MAX], suffix[NVT_SCHEDULE_SUFFIX];
    int status = request->input->trace_count ? 0 : nvt_input_traces(request->input, err);
    if (!status)
        status = nvt_pipeline_views_make(&views, request->input, err);
    for (size_t i = 0; i < views.count && !status; i++)
        if (views.items[i].step_count)
            nvt_schedules_add(&schedules, nvt_schedule_of(views.items[i].configuration, schedule));
    for (size_t i = 0; i < schedules.count && !status; i++)
        status = draw_view(request, choose(&views, schedules.names[i]),
                           nvt_schedule_suffix(&schedules, i, suffix), err);
    nvt_pipeline_views_free(&views);
    return status;
}
