/*
 * timeline: what ran when: the ranges of the busiest threads, a lane for each depth and a low one of calls of the system, then on
 * the device its phases, and the kernels and copies of the busiest streams, coloured by what they do, with the times at which
 * the device had nothing to do; during one iteration where the trace names them, else from its beginning on. Functions of a Python
 * stack are drawn only where there is nothing else: a hundred of them lie around each range.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/device/gaps.h"
#include "../../analyze/diagnosis/hip_words.h"
#include "../../analyze/model/cuda_names.h"
#include "../../analyze/studies/stacks.h"
#include "../../lib/text.h"
#include "../chart.h"
#include "../flame_label.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"
#include "../svg.h"
#include "../timeline_sheet.h"

enum {
    LABEL_MOST = 14, /* columns beside a lane */
    LEFT = 112,      /* px there */
    RIGHT = 16,
    LINE = 15,       /* px of a line of text */
    LANE_LEAST = 22, /* px of a lane of height 1, and at most */
    LANE_MOST = 40,
    PANEL = 230 /* px, if these allow */
};

struct timeline {
    struct nvt_timeline_sheet sheet;
    double lane; /* px of a lane of height 1 */
    int has_label[NVT_TIMELINE_LOOKS], is_there[NVT_TIMELINE_LOOKS];
    int has_idle;
};

/* --- texts --- */

static int64_t length_of(const struct nvt_timeline_box *box)
{
    return box->end - box->start;
}

static double pixels_of(const struct timeline *timeline, const struct nvt_timeline_box *box)
{
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    return (double)length_of(box) / (double)(sheet->to - sheet->from) * sheet->columns;
}

static void write_idle(const struct nvt_timeline_box *box, double pixels, char *out, size_t size)
{
    snprintf(out, size, "idle %s", NVT_TIME((double)length_of(box)));
    if (nvt_label_pixels(out) > pixels - 6)
        snprintf(out, size, "%s", NVT_TIME((double)length_of(box)));
    if (nvt_label_pixels(out) > pixels - 6)
        *out = 0;
}

/* What stands in a box; empty: it has no room, or nothing to say. */
static void write_box(const struct timeline *timeline, const struct nvt_timeline_box *box,
                      char *out, size_t size)
{
    const struct nvt_trace *trace = timeline->sheet.trace;
    const double pixels = pixels_of(timeline, box);
    char telling[NVT_TELLING_NAME_MAX], length[32];
    struct nvt_flame_label label = {.kind = NVT_STACK_RANGE, .after = length};
    *out = 0;
    /* Of several, the box is none of them. */
    if (box->filled < length_of(box) || box->kind == NVT_TIMELINE_CALL)
        return;
    if (box->kind == NVT_TIMELINE_IDLE) {
        write_idle(box, pixels, out, size);
        return;
    }
    if (box->kind == NVT_TIMELINE_OP) {
        const char *name = nvt_name(trace, trace->ops.name[box->row]);
        label.name = trace->ops.kind[box->row] == NVT_OP_KERNEL
                         ? nvt_telling_name(name, strlen(name), telling)
                         : name;
        label.kind = NVT_STACK_KERNEL;
    } else {
        label.name = nvt_name(trace, trace->ranges.name[box->row]);
    }
    snprintf(length, sizeof(length), " %s", NVT_TIME((double)length_of(box)));
    label.after_room = nvt_text_width(length);
    nvt_flame_label_write(&label, pixels, out, size);
}

static const char *const gap_causes[] = {
    [NVT_GAP_LATENCY] = "although the next operation was launched",
    [NVT_GAP_WAIT] = "the host waited for the device before it launched more",
    [NVT_GAP_LAUNCH] = "the host was launching, slower than the device works",
    [NVT_GAP_LOAD] = "a launch took 1 ms or more, as when code is loaded",
    [NVT_GAP_CALL] = "the host was in another API call",
    [NVT_GAP_HOST] = "the CPU ran non-CUDA code",
};

static const char *name_of(const struct nvt_trace *trace, const struct nvt_timeline_box *box)
{
    if (box->kind == NVT_TIMELINE_OP)
        return nvt_name(trace, trace->ops.name[box->row]);
    return nvt_name(trace, box->kind == NVT_TIMELINE_CALL ? trace->os_calls.name[box->row]
                                                          : trace->ranges.name[box->row]);
}

static void write_tip(const struct timeline *timeline, const struct nvt_timeline_box *box,
                      struct nvt_buffer *out)
{
    const struct nvt_trace *trace = timeline->sheet.trace;
    const char *length = NVT_TIME((double)length_of(box));
    char cause[NVT_HIP_WORD];
    out->size = 0;
    if (box->kind == NVT_TIMELINE_IDLE) {
        nvt_buffer_printf(out, "GPU idle for %s: %s", length,
                          nvt_hip_word(trace, gap_causes[box->row], cause));
    } else if (box->count > 1) {
        nvt_buffer_printf(out, "%" PRIu32 " in %s, ", box->count, length);
        nvt_buffer_printf(out, "%s of it filled; the longest: ", NVT_TIME((double)box->filled));
        nvt_buffer_printf(out, "%s, %s", name_of(trace, box), NVT_TIME((double)box->longest));
    } else {
        const char *class = box->kind == NVT_TIMELINE_OP
                                ? nvt_kernel_class_name(nvt_kernel_class_of(trace, box->row))
                            : box->kind == NVT_TIMELINE_SPAN ? "projected span"
                                                             : "";
        nvt_buffer_printf(out, "%s · %s%s%s", name_of(trace, box), length, *class ? " · " : "",
                          class);
    }
    nvt_buffer_append(out, "", 1);
}

/* --- files --- */

/* How much of its time a box is filled. */
static double filled_share(const struct nvt_timeline_box *box)
{
    return length_of(box) > 0 ? fmin((double)box->filled / (double)length_of(box), 1) : 1;
}

static void put_box(const struct timeline *timeline, const struct nvt_timeline_box *box, FILE *out)
{
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    const struct nvt_timeline_lane *lane = &sheet->lanes[box->lane];
    const double bottom = lane->top + lane->height;
    char label[512];
    write_box(timeline, box, label, sizeof(label));
    fprintf(out, "%.9g\t%.9g\t%.4g\t%.4g\t", (double)(box->start - sheet->from) / sheet->unit.ns,
            (double)(box->end - sheet->from) / sheet->unit.ns,
            bottom - lane->height * filled_share(box), bottom);
    nvt_label_text(label, out);
    putc('\n', out);
}

static void put_timeline_data(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct timeline *timeline = what;
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    (void)request;
    (void)name;
    fprintf(out, "# start_%s\tend_%s\ttop\tbottom\tlabel; a block a colour\n", sheet->unit.name,
            sheet->unit.name);
    for (size_t look = 0; look < NVT_TIMELINE_LOOKS; look++) {
        fprintf(out, "%s# c%zu\n-1\t-1\t-9\t-9\t\n", look ? "\n\n" : "", look);
        for (size_t i = 0; i < sheet->count; i++)
            if (nvt_timeline_look(sheet, &sheet->boxes[i]) == look)
                put_box(timeline, &sheet->boxes[i], out);
    }
}

/* Of each colour that some box has two plots: boxes, and what stands in them. */
static void put_timeline_tips(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct timeline *timeline = what;
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    struct nvt_buffer tip = {0};
    int plot = 1;
    (void)request;
    (void)name;
    for (size_t look = 0; look < NVT_TIMELINE_LOOKS; look++) {
        if (!timeline->is_there[look])
            continue;
        for (size_t i = 0; i < sheet->count; i++)
            if (nvt_timeline_look(sheet, &sheet->boxes[i]) == look) {
                write_tip(timeline, &sheet->boxes[i], &tip);
                nvt_svg_put_tip(plot, tip.failed ? "" : (const char *)tip.data, out);
            }
        plot += 2;
    }
    nvt_buffer_free(&tip);
}

/* Which colours there are, and which of them say by themselves what they are. */
static void survey(struct timeline *timeline)
{
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    char label[512];
    for (size_t i = 0; i < sheet->count; i++) {
        const size_t look = nvt_timeline_look(sheet, &sheet->boxes[i]);
        write_box(timeline, &sheet->boxes[i], label, sizeof(label));
        timeline->is_there[look] = 1;
        timeline->has_label[look] |= *label && !strstr(label, "…");
    }
    for (int i = 0; i < sheet->source_count && sheet->is_alone; i++)
        timeline->has_idle |=
            sheet->sources[i].is_stream && sheet->sources[i].ns < (double)(sheet->to - sheet->from);
    timeline->has_idle |= timeline->is_there[NVT_TIMELINE_GAPS];
}

static void put_key(const struct timeline *timeline, size_t look, const char *name,
                    struct nvt_frame *frame)
{
    char text[256];
    nvt_label_cut(*name ? name : "(no name)", 40, text, sizeof(text));
    if (timeline->is_there[look])
        nvt_frame_key(frame, NVT_KEY_BOX, timeline->sheet.colors[look], 1, 0, text);
}

static void put_timeline_keys(const struct timeline *timeline, struct nvt_frame *frame)
{
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    for (size_t i = 0; i < sheet->name_count; i++)
        if (!timeline->has_label[i])
            put_key(timeline, i, nvt_name(sheet->trace, sheet->names[i]), frame);
    put_key(timeline, NVT_TIMELINE_OTHER_RANGES, "other ranges", frame);
    put_key(timeline, NVT_TIMELINE_CALLS, "OS calls", frame);
    for (int i = 0; i < NVT_CLASS_OTHER; i++)
        put_key(timeline, NVT_TIMELINE_CLASSES + (size_t)i,
                nvt_kernel_class_name((enum nvt_kernel_class)i), frame);
    for (size_t i = 0; i < sheet->kernel_count; i++)
        put_key(timeline, NVT_TIMELINE_KERNELS + i, nvt_name(sheet->trace, sheet->kernels[i]),
                frame);
    put_key(timeline, NVT_TIMELINE_CLASSES + NVT_CLASS_OTHER,
            nvt_kernel_class_name(NVT_CLASS_OTHER), frame);
    if (timeline->has_idle)
        nvt_frame_key(frame, NVT_KEY_BOX, NVT_IDLE_COLOR, 1, 0, "GPU idle");
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

/* The name of a thread, or "thread 123". */
static void name_thread(const struct nvt_timeline_sheet *sheet, int index, char *out, size_t size)
{
    const char *name = thread_name(sheet, index);
    int64_t tid = sheet->trace->threads.tid[sheet->sources[index].thread];
    if (!*name)
        snprintf(out, size, "thread %" PRId64, tid);
    else if (has_namesake(sheet, index))
        name_with_number(name, tid, out, size);
    else
        nvt_label_cut(name, 40, out, size);
}

/* A label next to the middle of a lane, that has room there. */
static void put_beside(int tag, const char *text, double middle, FILE *out)
{
    const struct nvt_label item = {text, 0};
    char label[NVT_LABEL_SIZE(LABEL_MOST)];
    nvt_label_fit(&(struct nvt_labels){&item, 1}, 0, LABEL_MOST, label, sizeof(label));
    fprintf(out, "set label %d ", tag);
    nvt_gnuplot_text(label, LABEL_MOST + 1, out);
    fprintf(out,
            " at graph 0,first %.4g right offset -0.7,0 noenhanced font ',12' textcolor "
            "'" NVT_DIM "'\n",
            middle);
}

static void put_source(const struct timeline *timeline, int index, FILE *out)
{
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    const struct nvt_timeline_source *source = &sheet->sources[index];
    const struct nvt_timeline_lane *lane = &sheet->lanes[source->lane];
    const double middle = lane->top + lane->height / 2, line = LINE / timeline->lane;
    char text[NVT_LABEL_SIZE(40)];
    if (!source->is_stream) {
        name_thread(sheet, index, text, sizeof(text));
        put_beside(3 * index + 1, text, middle, out);
        return;
    }
    snprintf(text, sizeof(text), "GPU %" PRIu32 " stream %" PRIu32, source->device, source->stream);
    put_beside(3 * index + 1, text, middle - line / 2, out);
    snprintf(text, sizeof(text), "%.3g %% busy",
             100 * source->ns / (double)(sheet->to - sheet->from));
    put_beside(3 * index + 2, text, middle + line / 2, out);
    fprintf(out,
            "set object %d rectangle from graph 0,first %.4g to graph 1,first %.4g behind "
            "fillcolor '%s' fillstyle solid 1 noborder\n",
            index + 1, lane->top, lane->top + lane->height,
            sheet->is_alone ? NVT_IDLE_COLOR : NVT_LANE_COLOR);
}

static void put_lanes(const struct timeline *timeline, FILE *out)
{
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    for (int i = 0; i < sheet->source_count; i++)
        put_source(timeline, i, out);
    if (sheet->spans >= 0)
        put_beside(3 * sheet->source_count + 1, "phases on GPU",
                   sheet->lanes[sheet->spans].top + sheet->lanes[sheet->spans].height / 2, out);
}

/* "2 more threads and 1 more stream are not drawn." and what else was left out. */
static void put_undrawn(const struct nvt_timeline_sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT], streams[64] = "", threads[64] = "", deeper[64] = "";
    size_t t = sheet->undrawn[0], s = sheet->undrawn[1], d = sheet->deeper;
    if (t)
        snprintf(threads, sizeof(threads), "%zu more thread%s", t, t > 1 ? "s" : "");
    if (s)
        snprintf(streams, sizeof(streams), "%s%zu more stream%s", t ? ", " : "", s,
                 s > 1 ? "s" : "");
    if (d)
        snprintf(deeper, sizeof(deeper), "%s%zu deeper range%s", t || s ? ", " : "", d,
                 d > 1 ? "s" : "");
    snprintf(text, sizeof(text), "Not drawn: %s%s%s%s.", threads, streams, deeper,
             sheet->functions == NVT_NONE ? ""
             : t || s || d                ? ", functions of the Python stack"
                                          : "functions of the Python stack");
    nvt_frame_note(frame, t || s || d || sheet->functions != NVT_NONE ? text : "");
    if (sheet->are_open)
        nvt_frame_note(frame, "Unfinished ranges extend to the end of their thread.");
    if (sheet->may_cross)
        nvt_frame_note(frame, "Start/end ranges may end after the range that they begin in.");
    if (sheet->are_merged)
        nvt_frame_note(frame, "What is too narrow to draw is merged: the height of a bar is the "
                              "share of its time that is filled.");
}

static void put_title(const struct nvt_timeline_sheet *sheet, char *out, size_t size)
{
    char file[NVT_LABEL_FILE];
    nvt_label_file(sheet->trace->path, file);
    if (sheet->iterations == 1)
        snprintf(out, size, "Timeline of %s: iteration of %s", file,
                 NVT_TIME((double)(sheet->to - sheet->from)));
    else if (sheet->iteration)
        snprintf(out, size, "Timeline of %s: iteration %" PRIu32 " of %" PRIu32 " (median, %s)",
                 file, sheet->iteration, sheet->iterations,
                 NVT_TIME((double)(sheet->to - sheet->from)));
    else
        snprintf(out, size, "Timeline of %s", file);
}

static void put_plots(const struct timeline *timeline, const char *name, FILE *out)
{
    const char *separator = "plot ";
    for (size_t look = 0; look < NVT_TIMELINE_LOOKS; look++) {
        const char *color = timeline->sheet.colors[look];
        if (!timeline->is_there[look])
            continue;
        fprintf(out,
                "%s'%s.dat' index 'c%zu' using 1:3:1:(until($1,$2)):3:4 with boxxyerror fillcolor "
                "'%s', \\\n     '' index 'c%zu' using ($1+%.9g):(($3+$4)/2):5 with labels left "
                "font ',12' textcolor '%s'",
                separator, name, look, color, look,
                3 * (double)(timeline->sheet.to - timeline->sheet.from) / timeline->sheet.unit.ns /
                    timeline->sheet.columns,
                look == NVT_TIMELINE_GAPS ? NVT_IDLE_INK : nvt_ink_on(color));
        separator = ", \\\n     ";
    }
    putc('\n', out);
}

static void put_timeline_script(const struct nvt_chart_request *request, const void *what,
                                const char *name, FILE *out)
{
    const struct timeline *timeline = what;
    const struct nvt_timeline_sheet *sheet = &timeline->sheet;
    char text[NVT_FRAME_TEXT];
    put_title(sheet, text, sizeof(text));
    struct nvt_frame frame = nvt_frame_new(request, name, text);
    nvt_frame_widen(&frame);
    frame.left = LEFT;
    frame.right = RIGHT;
    put_timeline_keys(timeline, &frame);
    put_undrawn(sheet, &frame);
    nvt_chart_provenance(request->input, &frame);
    nvt_frame_open(&frame, (int)(sheet->bottom * timeline->lane) + 6, out);
    put_lanes(timeline, out);
    /* Boxes wide enough end a little sooner, so that neighbours of a colour are told apart. */
    const double span = (double)(sheet->to - sheet->from) / sheet->unit.ns;
    fprintf(out,
            "until(start, end) = end - start > %.9g ? end - %.9g : end\n"
            "set datafile separator '\\t'\nset grid noytics\nset border 1\nunset ytics\n"
            "set style fill solid 1 noborder\nset xrange [0:%.9g]\nset yrange [%.4g:0]\n"
            "set xlabel 'time%s (%s)'\n",
            3 * span / sheet->columns, 0.8 * span / sheet->columns, span, sheet->bottom + 0.15,
            sheet->iteration ? " since the iteration began" : "", sheet->unit.name);
    put_plots(timeline, name, out);
    nvt_frame_close(&frame, out);
}

static int draw_timeline_trace(const struct nvt_chart_request *request, const char *base,
                               struct nvt_error *err)
{
    static const struct nvt_chart_parts parts = {put_timeline_data, put_timeline_script,
                                                 put_timeline_tips};
    struct nvt_frame frame = nvt_frame_new(request, base, "");
    struct timeline timeline = {.lane = LANE_LEAST};
    char name[160];
    nvt_frame_widen(&frame);
    int status = nvt_timeline_make(&timeline.sheet, request->input->traces[0].trace,
                                   frame.width - LEFT - RIGHT, err);
    snprintf(name, sizeof(name), "%s-timeline", base);
    if (!status && timeline.sheet.count && timeline.sheet.to > timeline.sheet.from) {
        timeline.lane = fmin(LANE_MOST, fmax(LANE_LEAST, PANEL / timeline.sheet.bottom));
        survey(&timeline);
        status = nvt_chart_draw_tipped(request, name, &parts, &timeline, err);
    }
    nvt_timeline_free(&timeline.sheet);
    return status;
}

const struct nvt_chart nvt_chart_timeline = {
    .name = "timeline",
    .about = "what ran when on the busiest threads and streams of a trace",
    .part = NVT_CHART_TIME,
    .has = nvt_chart_has_time,
    .draw_trace = draw_timeline_trace,
};
