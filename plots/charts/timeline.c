/*
 * timeline: what ran when: the ranges of the busiest threads, a lane for each depth, above the
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

enum {
    THREADS_MOST = 3,
    DEPTH_MOST = 4,
    STREAMS_MOST = 5,
    SOURCES_MOST = THREADS_MOST + STREAMS_MOST,
    COLUMNS = 340, /* of the picture, about: what lies within one in a lane is one box */
    LANES_MOST = THREADS_MOST * DEPTH_MOST + STREAMS_MOST,
    BOXES_MOST = 2 * (COLUMNS + 1) * LANES_MOST, /* small ones and, between them, others */
    LABEL_MOST = 13,                             /* columns beside a lane */
    SEEN_MOST = 256,                             /* threads and streams that are told apart */
    OPEN_MOST = 32,                              /* ranges within each other whose ends are known */
};

/* A thread, or a stream of a device. */
struct source {
    int is_stream;
    uint32_t process, device, stream; /* of a stream */
    uint32_t thread;                  /* of a thread */
    double ns;                        /* that it was busy */
    int depth, lane;                  /* lanes that it has, and its first one */
    int64_t open[OPEN_MOST];          /* ends of the ranges that lie around the last one */
    int open_count;
};

struct box {
    int64_t start, end, longest; /* longest: what gave it its name */
    int64_t filled;              /* time in what it stands for, which is apart within a lane */
    uint32_t name;
    int lane;
};

struct sheet {
    const struct nvt_trace *trace;
    uint32_t
        functions; /* the name of the domain of Python's functions, when left out; or NVT_NONE */
    size_t undrawn[2]; /* threads and streams */
    int may_cross;     /* start/end ranges are drawn */
    size_t deeper;     /* ranges of the threads that are drawn, below their lanes */
    struct source sources[SOURCES_MOST];
    int source_count, lanes;
    struct box *boxes;
    size_t count;
    struct box *last[LANES_MOST]; /* of each lane */
    double *shares;               /* time in it, by id of the name */
    uint32_t names[NVT_NAMES_MOST];
    const char *colors[NVT_NAMES_MOST + 1]; /* of them, then of the others */
    size_t name_count;
    int64_t from, to;
    char part[NVT_FRAME_TEXT]; /* which part of the trace it is */
    struct nvt_time_unit unit;
};

/* --- what is shown --- */

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (a[0] > b[0]) - (a[0] < b[0]);
}

static int within(const struct sheet *sheet, int64_t start, int64_t end)
{
    return end > sheet->from && start < sheet->to;
}

/* Whether a range is drawn where its thread is. */
static int is_shown(const struct sheet *sheet, uint32_t range)
{
    const struct nvt_ranges *ranges = &sheet->trace->ranges;
    return sheet->trace->domains.name[ranges->domain[range]] != sheet->functions &&
           within(sheet, ranges->start[range], ranges->end[range]);
}

/* Leave Python's functions out where anything else is to be seen. */
static void choose_ranges(struct sheet *sheet)
{
    static const char domain[] = "python_function";
    uint32_t found = nvt_strings_find(sheet->trace->strings, domain, strlen(domain));
    int others = 0, functions = 0;
    sheet->functions = found;
    for (uint32_t i = 0; i < sheet->trace->ranges.count && !(others && functions); i++) {
        others |= is_shown(sheet, i);
        functions |= sheet->trace->domains.name[sheet->trace->ranges.domain[i]] == found;
    }
    sheet->functions = others && functions ? found : NVT_NONE;
}

/* The iteration whose length is the median, or the whole trace, and what is shown of it. -1: out of
 * memory. */
static int choose_window(struct sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    uint32_t count, *rows = nvt_iterations(trace, &count);
    int64_t(*lengths)[2] = malloc(((size_t)count + 1) * sizeof(*lengths));
    sheet->from = trace->first_ns;
    sheet->to = trace->last_ns;
    for (uint32_t i = 0; rows && lengths && i < count; i++) {
        lengths[i][0] = trace->ranges.end[rows[i]] - trace->ranges.start[rows[i]];
        lengths[i][1] = i;
    }
    if (rows && lengths && count) {
        qsort(lengths, count, sizeof(*lengths), by_length);
        int64_t chosen = lengths[count / 2][1];
        sheet->from = trace->ranges.start[rows[chosen]];
        sheet->to = trace->ranges.end[rows[chosen]];
        snprintf(sheet->part, sizeof(sheet->part),
                 "Iteration %" PRId64 " of %" PRIu32 ", the one of median length.", chosen + 1,
                 count);
    }
    choose_ranges(sheet);
    int failed = !rows || !lengths;
    free(rows);
    free(lengths);
    return failed ? -1 : 0;
}

static int by_time(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    if (a->is_stream != b->is_stream)
        return a->is_stream - b->is_stream;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static struct source *source_of(struct source *sources, size_t *count, const struct source *what)
{
    for (size_t i = *count; i-- > 0;) {
        struct source *at = &sources[i];
        if (at->is_stream == what->is_stream &&
            (what->is_stream ? at->process == what->process && at->device == what->device &&
                                   at->stream == what->stream
                             : at->thread == what->thread))
            return at;
    }
    if (*count == SEEN_MOST)
        return NULL;
    sources[*count] = *what;
    return &sources[(*count)++];
}

static struct source stream_of(const struct nvt_trace *trace, uint32_t op)
{
    return (struct source){.is_stream = 1,
                           .process = trace->ops.process[op],
                           .device = trace->ops.device[op],
                           .stream = trace->ops.stream[op]};
}

/* How deep a range lies within others of its thread, of whatever domain: they come by their starts. */
static int depth_of(struct source *thread, int64_t start, int64_t end)
{
    while (thread->open_count && thread->open[thread->open_count - 1] <= start)
        thread->open_count--;
    int depth = thread->open_count;
    if (depth < OPEN_MOST)
        thread->open[thread->open_count++] = end;
    return depth;
}

/* Threads first, then streams, each the busiest first; lanes from above. -1: out of memory. */
static int choose_sources(struct sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    struct source *seen = malloc(SEEN_MOST * sizeof(*seen));
    size_t count = 0;
    for (uint32_t i = 0; seen && i < trace->ranges.count; i++) {
        const struct source thread = {.thread = trace->ranges.thread[i]};
        if (!is_shown(sheet, i))
            continue;
        struct source *at = source_of(seen, &count, &thread);
        int depth = at ? depth_of(at, trace->ranges.start[i], trace->ranges.end[i]) : 0;
        if (at && at->depth <= depth)
            at->depth = depth < DEPTH_MOST ? depth + 1 : DEPTH_MOST;
        if (at && !depth)
            at->ns += (double)(trace->ranges.end[i] - trace->ranges.start[i]);
    }
    for (uint32_t i = 0; seen && i < trace->ops.count; i++) {
        const struct source stream = stream_of(trace, i);
        if (!within(sheet, trace->ops.start[i], trace->ops.end[i]))
            continue;
        struct source *at = source_of(seen, &count, &stream);
        if (at) {
            at->ns += (double)(trace->ops.end[i] - trace->ops.start[i]);
            at->depth = 1;
        }
    }
    if (count)
        qsort(seen, count, sizeof(*seen), by_time);
    int taken[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int is_stream = seen[i].is_stream;
        if (taken[is_stream]++ >= (is_stream ? STREAMS_MOST : THREADS_MOST)) {
            sheet->undrawn[is_stream]++;
            continue;
        }
        seen[i].lane = sheet->lanes;
        seen[i].open_count = 0;
        sheet->lanes += seen[i].depth;
        sheet->sources[sheet->source_count++] = seen[i];
    }
    free(seen);
    return seen ? 0 : -1;
}

static int place_of(const struct sheet *sheet, const struct source *what)
{
    for (int i = 0; i < sheet->source_count; i++) {
        const struct source *at = &sheet->sources[i];
        if (at->is_stream == what->is_stream &&
            (what->is_stream ? at->process == what->process && at->device == what->device &&
                                   at->stream == what->stream
                             : at->thread == what->thread))
            return i;
    }
    return -1;
}

/* What begins in the column of a lane's last box makes that longer, and names it where it is the
 * longest there: thousands of them would be no more to be seen than one. Lanes' boxes come by their
 * starts. */
static void add_box(struct sheet *sheet, int lane, int64_t start, int64_t end, uint32_t name)
{
    int64_t column = (sheet->to - sheet->from) / COLUMNS + 1;
    struct box *last = sheet->last[lane];
    start = start > sheet->from ? start : sheet->from;
    end = end < sheet->to ? end : sheet->to;
    sheet->shares[name] += (double)(end - start);
    if (last && start < last->start + column && end < last->start + column) {
        if (end - start > last->longest) {
            last->longest = end - start;
            last->name = name;
        }
        last->filled += end - start;
        last->end = end > last->end ? end : last->end;
    } else if (sheet->count < BOXES_MOST) {
        sheet->last[lane] = &sheet->boxes[sheet->count++];
        *sheet->last[lane] = (struct box){start, end, end - start, end - start, name, lane};
    }
}

static int take_boxes(struct sheet *sheet)
{
    const struct nvt_trace *trace = sheet->trace;
    sheet->boxes = calloc(BOXES_MOST, sizeof(*sheet->boxes));
    sheet->shares = calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(*sheet->shares));
    if (!sheet->boxes || !sheet->shares)
        return -1;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const struct source thread = {.thread = trace->ranges.thread[i]};
        int64_t start = trace->ranges.start[i], end = trace->ranges.end[i];
        int place = is_shown(sheet, i) ? place_of(sheet, &thread) : -1;
        int depth = place < 0 ? -1 : depth_of(&sheet->sources[place], start, end);
        sheet->deeper += depth >= DEPTH_MOST;
        if (depth < 0 || depth >= DEPTH_MOST)
            continue;
        add_box(sheet, sheet->sources[place].lane + depth, start, end, trace->ranges.name[i]);
        sheet->may_cross |= trace->ranges.style[i] != NVT_PUSH_POP;
    }
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        const struct source stream = stream_of(trace, i);
        int64_t start = trace->ops.start[i], end = trace->ops.end[i];
        int place = within(sheet, start, end) ? place_of(sheet, &stream) : -1;
        if (place >= 0)
            add_box(sheet, sheet->sources[place].lane, start, end, nvt_op_name(trace, i));
    }
    return 0;
}

/* --- names --- */

struct share {
    uint32_t name;
    double ns;
};

static int by_share(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static int choose_names(struct sheet *sheet)
{
    uint32_t ids = nvt_strings_count(sheet->trace->strings);
    struct share *shares = malloc(((size_t)ids + 1) * sizeof(*shares));
    size_t count = 0;
    /* Of names that some box has: each once, as its time is taken away when it is seen. */
    for (size_t i = 0; shares && i < sheet->count; i++) {
        uint32_t id = sheet->boxes[i].name;
        if (sheet->shares[id] > 0)
            shares[count++] = (struct share){id, sheet->shares[id]};
        sheet->shares[id] = 0;
    }
    if (count)
        qsort(shares, count, sizeof(*shares), by_share);
    for (size_t i = 0; i < count && i < NVT_NAMES_MOST; i++)
        sheet->names[sheet->name_count++] = shares[i].name;
    free(shares);
    const char *names[NVT_NAMES_MOST];
    for (size_t i = 0; i < sheet->name_count; i++)
        names[i] = nvt_name(sheet->trace, sheet->names[i]);
    nvt_name_colors(names, sheet->name_count, sheet->colors);
    return shares ? 0 : -1;
}

static size_t color_of(const struct sheet *sheet, uint32_t name)
{
    size_t i = 0;
    while (i < sheet->name_count && sheet->names[i] != name)
        i++;
    return i < sheet->name_count ? i : NVT_NAMES_MOST;
}

/* --- files --- */

/* How much of its time a box is filled. */
static double filled_share(const struct box *box)
{
    return box->end > box->start ? fmin((double)box->filled / (double)(box->end - box->start), 1)
                                 : 1;
}

static void put_data(const struct nvt_chart_request *request, const void *what, const char *name,
                     FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# start_%s end_%s lane filled; a block a colour\n", sheet->unit.name,
            sheet->unit.name);
    for (size_t color = 0; color <= NVT_NAMES_MOST; color++) {
        fprintf(out, "%s# c%zu\n-1\t-1\t0\t1\n", color ? "\n\n" : "", color);
        for (size_t i = 0; i < sheet->count; i++) {
            const struct box *box = &sheet->boxes[i];
            if (color_of(sheet, box->name) == color)
                fprintf(out, "%.9g\t%.9g\t%d\t%.3g\n",
                        (double)(box->start - sheet->from) / sheet->unit.ns,
                        (double)(box->end - sheet->from) / sheet->unit.ns, box->lane,
                        filled_share(box));
        }
    }
}

static void put_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[256];
    int others = 0;
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
    for (size_t i = 0; i < sheet->count; i++)
        others |= color_of(sheet, sheet->boxes[i].name) == NVT_NAMES_MOST;
    if (others)
        nvt_frame_key(frame, NVT_KEY_BOX, NVT_OTHERS_COLOR, 1, 0, "others");
}

static const char *thread_name(const struct sheet *sheet, int source)
{
    return nvt_name(sheet->trace, sheet->trace->threads.name[sheet->sources[source].thread]);
}

/* Whether another thread that is shown has the same name. */
static int has_namesake(const struct sheet *sheet, int source)
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
static void name_source(const struct sheet *sheet, int index, char *out, size_t size)
{
    const struct source *source = &sheet->sources[index];
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

static void put_lanes(const struct sheet *sheet, FILE *out)
{
    char text[NVT_LABEL_SIZE(40)];
    fputs("set ytics scale 0 (", out);
    for (int i = 0; i < sheet->source_count; i++) {
        name_source(sheet, i, text, sizeof(text));
        fputs(i ? ", " : "", out);
        nvt_gnuplot_text(text, LABEL_MOST, out);
        fprintf(out, " %d", sheet->sources[i].lane);
    }
    fputs(")\n", out);
}

/* "2 more threads and 1 more stream not drawn." and what else was left out. */
static void put_undrawn(const struct sheet *sheet, struct nvt_frame *frame)
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
    if (sheet->functions != NVT_NONE)
        nvt_frame_note(frame, "Functions of the Python stack not drawn.");
}

/* How lanes and boxes are read, of those that are there. */
static void put_explanation(const struct sheet *sheet, struct nvt_frame *frame)
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

static void put_script(const struct nvt_chart_request *request, const void *what, const char *name,
                       FILE *out)
{
    const struct sheet *sheet = what;
    const char *separator = "plot ";
    char text[NVT_FRAME_TEXT];
    snprintf(text, sizeof(text), "What ran when: %s",
             nvt_label_file(sheet->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request->format, name, text);
    frame.left = 104;
    put_keys(sheet, &frame);
    nvt_frame_note(&frame, sheet->part);
    put_undrawn(sheet, &frame);
    put_explanation(sheet, &frame);
    nvt_chart_provenance(request->input, &frame);
    nvt_frame_open(&frame, sheet->lanes * 20 + 6, out);
    put_lanes(sheet, out);
    /* Boxes wide enough end a little sooner, so that neighbours of a colour are told apart. */
    double pixel = (double)(sheet->to - sheet->from) / sheet->unit.ns / COLUMNS;
    fprintf(out, "until(start, end) = end - start > %.9g ? end - %.9g : end\n", 3 * pixel,
            0.8 * pixel);
    fprintf(out,
            "set grid noytics\nset style fill solid 1 noborder\nset xrange [0:%.9g]\n"
            "set yrange [%.1f:-0.6]\nset xlabel 'time (%s)'\n",
            (double)(sheet->to - sheet->from) / sheet->unit.ns, sheet->lanes - 0.4,
            sheet->unit.name);
    for (size_t color = 0; color <= NVT_NAMES_MOST; color++) {
        fprintf(out,
                "%s'%s.dat' index 'c%zu' using 1:3:1:(until($1,$2)):"
                "($3+0.42-0.84*$4):($3+0.42) with boxxyerror fillcolor '%s'",
                separator, name, color,
                color < sheet->name_count ? sheet->colors[color] : NVT_OTHERS_COLOR);
        separator = ", \\\n     ";
    }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static int draw_trace(const struct nvt_chart_request *request, const char *base,
                      struct nvt_error *err)
{
    struct sheet sheet = {.trace = request->input->traces[0].trace};
    char name[160];
    int status = choose_window(&sheet) || choose_sources(&sheet) || take_boxes(&sheet) ||
                         choose_names(&sheet)
                     ? nvt_fail(err, "out of memory")
                     : 0;
    sheet.unit = nvt_time_unit_for((double)(sheet.to - sheet.from));
    snprintf(name, sizeof(name), "%s-timeline", base);
    if (!status && sheet.count && sheet.to > sheet.from)
        status = nvt_chart_draw(request, name, put_data, put_script, &sheet, err);
    free(sheet.boxes);
    free(sheet.shares);
    return status;
}

static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    return nvt_chart_each_trace(request, draw_trace, err);
}

static int fits(const struct nvt_report_input *input)
{
    return nvt_chart_any_trace(input, nvt_chart_has_time);
}

const struct nvt_chart nvt_chart_timeline = {
    .name = "timeline",
    .about = "what ran when on the busiest threads and streams of a trace",
    .part = NVT_CHART_TIME,
    .fits = fits,
    .draw = draw,
};
