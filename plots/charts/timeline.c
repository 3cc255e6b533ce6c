/*
 * timeline: what ran when: the ranges of the busiest threads, a lane for each depth and a low one of calls of the system, above the
 * kernels and copies of the busiest streams, during one iteration where the trace names them, else
 * from its beginning on. The names with the most time have a colour each. Functions of a Python
 * stack are drawn only where there is nothing else: a hundred of them lie around each range.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/diagnosis/diagnose.h"
#include "../../lib/text.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"
#include "../timeline_sheet.h"

/* Of calls of the operating system. */
#define WAITS_COLOR "#4D4D4D"

enum { LABEL_MOST = 13 }; /* columns beside a lane */

/* --- files --- */

/* How much of its time a box is filled. */
static double filled_share(const struct nvt_timeline_box *box)
{
    return box->end > box->start ? fmin((double)box->filled / (double)(box->end - box->start), 1)
                                 : 1;
}

static void put_timeline_data(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct nvt_timeline_sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# start_%s end_%s lane filled; a block a colour\n", sheet->unit.name,
            sheet->unit.name);
    for (size_t color = 0; color < NVT_TIMELINE_COLORS; color++) {
        fprintf(out, "%s# c%zu\n-1\t-1\t0\t1\n", color ? "\n\n" : "", color);
        for (size_t i = 0; i < sheet->count; i++) {
            const struct nvt_timeline_box *box = &sheet->boxes[i];
            if (nvt_timeline_color(sheet, box) == color)
                fprintf(out, "%.9g\t%.9g\t%.4g\t%.3g\n",
                        (double)(box->start - sheet->from) / sheet->unit.ns,
                        (double)(box->end - sheet->from) / sheet->unit.ns, sheet->place[box->lane],
                        filled_share(box) * sheet->height[box->lane]);
        }
    }
}

static void put_timeline_keys(const struct nvt_timeline_sheet *sheet, struct nvt_frame *frame)
{
    char text[256];
    int others = 0, waits = 0;
    struct nvt_label items[NVT_NAMES_MOST];
    struct nvt_labels labels = {items, sheet->name_count};
    for (size_t i = 0; i < sheet->name_count; i++) {
        const char *full = nvt_name(sheet->trace, sheet->names[i]);
        items[i] = (struct nvt_label){*full ? full : "(no name)", 0};
    }
    for (size_t i = 0; i < sheet->name_count; i++) {
        nvt_label_write(&labels, i, 48, text, sizeof(text));
        nvt_frame_key(frame, NVT_KEY_BOX, sheet->colors[i], 1, 0, text);
    }
    for (size_t i = 0; i < sheet->count; i++) {
        size_t color = nvt_timeline_color(sheet, &sheet->boxes[i]);
        others |= color == NVT_TIMELINE_OTHERS;
        waits |= color == NVT_TIMELINE_WAITS;
    }
    if (others)
        nvt_frame_key(frame, NVT_KEY_BOX, NVT_OTHERS_COLOR, 1, 0, "others");
    if (waits)
        nvt_frame_key(frame, NVT_KEY_BOX, WAITS_COLOR, 1, 0, "in calls of the system");
}

static const char *thread_name(const struct nvt_timeline_sheet *sheet, int source)
{
    return nvt_name(sheet->trace, sheet->trace->threads.name[sheet->sources[source].thread]);
}

/* Whether another thread that is shown has the same name. */
static int has_namesake(const struct nvt_timeline_sheet *sheet, int source)
{
    for (int i = 0; i < sheet->source_count; i++)
        if (i != source && !sheet->sources[i].is_stream &&
            !strcmp(thread_name(sheet, i), thread_name(sheet, source)))
            return 1;
    return 0;
}

/* Name and number of a thread, of which the number has to be read in full: it tells namesakes apart. */
static void name_with_number(const char *name, int64_t tid, char *out, size_t size)
{
    char number[24], few[NVT_LABEL_SIZE(LABEL_MOST)];
    int digits = snprintf(number, sizeof(number), "%" PRId64, tid);
    size_t room = digits + 3 < LABEL_MOST ? (size_t)(LABEL_MOST - 1 - digits) : 2;
    /* What is cut has one column more, for the dots. */
    nvt_label_cut(name, nvt_text_width(name) <= room ? room : room - 1, few, sizeof(few));
    snprintf(out, size, "%s %s", few, number);
}

/* "thread 123" or the name of the thread, "GPU 0:7" for stream 7 of device 0. */
static void name_source(const struct nvt_timeline_sheet *sheet, int index, char *out, size_t size)
{
    const struct nvt_timeline_source *source = &sheet->sources[index];
    if (source->is_stream) {
        snprintf(out, size, "GPU %" PRIu32 ":%" PRIu32, source->device, source->stream);
        return;
    }
    const char *name = thread_name(sheet, index);
    int64_t tid = sheet->trace->threads.tid[source->thread];
    if (!*name)
        snprintf(out, size, "thread %" PRId64, tid);
    else if (has_namesake(sheet, index))
        name_with_number(name, tid, out, size);
    else
        nvt_label_cut(name, 40, out, size);
}

static void put_lanes(const struct nvt_timeline_sheet *sheet, FILE *out)
{
    char text[NVT_LABEL_SIZE(40)];
    fputs("set ytics scale 0 (", out);
    for (int i = 0; i < sheet->source_count; i++) {
        name_source(sheet, i, text, sizeof(text));
        fputs(i ? ", " : "", out);
        nvt_gnuplot_text(text, LABEL_MOST, out);
        fprintf(out, " %.4g", sheet->place[sheet->sources[i].lane]);
    }
    fputs(")\n", out);
}

/* "2 more threads and 1 more stream not drawn." and what else was left out. */
static void put_undrawn(const struct nvt_timeline_sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT], streams[64] = "", threads[64] = "";
    size_t t = sheet->undrawn[0], s = sheet->undrawn[1];
    if (t)
        snprintf(threads, sizeof(threads), "%zu more thread%s", t, t > 1 ? "s" : "");
    if (s)
        snprintf(streams, sizeof(streams), "%zu more stream%s", s, s > 1 ? "s" : "");
    snprintf(text, sizeof(text), "%s%s%s not drawn.", threads, t && s ? " and " : "", streams);
    nvt_frame_note(frame, t || s ? text : "");
    snprintf(text, sizeof(text), "%zu range%s that %s deeper not drawn.", sheet->deeper,
             sheet->deeper > 1 ? "s" : "", sheet->deeper > 1 ? "lie" : "lies");
    nvt_frame_note(frame, sheet->deeper ? text : "");
    if (sheet->are_open)
        nvt_frame_note(frame, "Ranges that never ended are drawn until their threads did.");
    if (sheet->functions != NVT_NONE)
        nvt_frame_note(frame, "Functions of the Python stack not drawn.");
}

/* How lanes and boxes are read, of those that are there. */
static void put_explanation(const struct nvt_timeline_sheet *sheet, struct nvt_frame *frame)
{
    int threads = 0, streams = 0;
    for (int i = 0; i < sheet->source_count; i++) {
        streams += sheet->sources[i].is_stream;
        threads += !sheet->sources[i].is_stream;
    }
    char text[NVT_FRAME_TEXT];
    snprintf(text, sizeof(text),
             "%s%sWhat is too narrow to be seen is drawn together as the longest of it, as high as "
             "the share of time that it fills.",
             !threads           ? ""
             : sheet->may_cross ? "Threads: ranges, each begun within the one above it; start/end "
                                  "ranges need not end there. "
                                : "Threads: ranges, each lane within the one above it. ",
             streams ? "GPU D:S: kernels and copies of stream S of device D. " : "");
    nvt_frame_note(frame, text);
}

static void put_timeline_script(const struct nvt_chart_request *request, const void *what,
                                const char *name, FILE *out)
{
    const struct nvt_timeline_sheet *sheet = what;
    const char *separator = "plot ";
    char text[NVT_FRAME_TEXT];
    snprintf(text, sizeof(text), "What ran when: %s",
             nvt_label_file(sheet->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request->format, name, text);
    frame.left = 104;
    put_timeline_keys(sheet, &frame);
    nvt_frame_note(&frame, sheet->part);
    put_undrawn(sheet, &frame);
    put_explanation(sheet, &frame);
    nvt_chart_provenance(request->input, &frame);
    nvt_frame_open(&frame, (int)(sheet->bottom * 20) + 6, out);
    put_lanes(sheet, out);
    /* Boxes wide enough end a little sooner, so that neighbours of a colour are told apart. */
    double pixel = (double)(sheet->to - sheet->from) / sheet->unit.ns / NVT_TIMELINE_COLUMNS;
    fprintf(out, "until(start, end) = end - start > %.9g ? end - %.9g : end\n", 3 * pixel,
            0.8 * pixel);
    fprintf(out,
            "set grid noytics\nset style fill solid 1 noborder\nset xrange [0:%.9g]\n"
            "set yrange [%.2f:-0.6]\nset xlabel 'time (%s)'\n",
            (double)(sheet->to - sheet->from) / sheet->unit.ns, sheet->bottom - 0.4,
            sheet->unit.name);
    for (size_t color = 0; color < NVT_TIMELINE_COLORS; color++) {
        fprintf(out,
                "%s'%s.dat' index 'c%zu' using 1:3:1:(until($1,$2)):"
                "($3+0.42-0.84*$4):($3+0.42) with boxxyerror fillcolor '%s'",
                separator, name, color,
                color == NVT_TIMELINE_WAITS ? WAITS_COLOR
                : color < sheet->name_count ? sheet->colors[color]
                                            : NVT_OTHERS_COLOR);
        separator = ", \\\n     ";
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static int draw_timeline_trace(const struct nvt_chart_request *request, const char *base,
                               struct nvt_error *err)
{
    struct nvt_timeline_sheet sheet;
    char name[160];
    int status = nvt_timeline_make(&sheet, request->input->traces[0].trace)
                     ? nvt_fail(err, "out of memory")
                     : 0;
    sheet.unit = nvt_time_unit_for((double)(sheet.to - sheet.from));
    snprintf(name, sizeof(name), "%s-timeline", base);
    if (!status && sheet.count && sheet.to > sheet.from)
        status = nvt_chart_draw(request, name, put_timeline_data, put_timeline_script, &sheet, err);
    nvt_timeline_free(&sheet);
    return status;
}

static int draw_timeline(const struct nvt_chart_request *request, struct nvt_error *err)
{
    return nvt_chart_each_trace(request, draw_timeline_trace, err);
}

static int timeline_fits(const struct nvt_input *input)
{
    return nvt_chart_any_trace(input, nvt_chart_has_time);
}

const struct nvt_chart nvt_chart_timeline = {
    .name = "timeline",
    .about = "what ran when on the busiest threads and streams of a trace",
    .part = NVT_CHART_TIME,
    .fits = timeline_fits,
    .draw = draw_timeline,
};
