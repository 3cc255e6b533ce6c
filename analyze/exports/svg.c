/*
 * A picture of a trace as a timeline: lanes of the scene (view/scene.h) in SVG, without a script and without another program. A
 * span narrower than a column is merged with its neighbours, as in `view`.
 */
#include <inttypes.h>
#include <math.h>

#include "../../lib/count_of.h"
#include "../../lib/render.h"
#include "../../lib/text.h"
#include "../view/scene.h"
#include "export.h"

/* Pixels. */
#define WIDTH     1000
#define LABELS    190
#define ROW       14
#define LANE_GAP  6
#define TOP       26
#define LETTER    6.2 /* width, about */
#define COLUMN    2
#define LANES     24 /* drawn at most */
#define TRACKS    6  /* of a lane */
#define DRAWN     (WIDTH - LABELS)
#define TEXT_MOST 60

struct drawing {
    FILE *out;
    const struct nvt_scene *scene;
    struct nvt_tally tally;
    int64_t from, to;
    int64_t begin; /* of the whole trace, where times count from */
    int y;
};

static int is_drawn(enum nvt_view_kind kind)
{
    return kind == NVT_VIEW_ITERATIONS || kind == NVT_VIEW_RANGES || kind == NVT_VIEW_CALLS ||
           kind == NVT_VIEW_MPI_CALLS || kind == NVT_VIEW_OS_CALLS || kind == NVT_VIEW_STREAM;
}

static double x_of(const struct drawing *drawing, int64_t time)
{
    const double share = (double)(time - drawing->from) / (double)(drawing->to - drawing->from);
    return LABELS + DRAWN * fmin(fmax(share, 0), 1);
}

/* The same name has the same colour everywhere. */
static const char *color_of(const char *name)
{
    static const char *const colors[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                         "#edc948", "#b07aa1", "#9c755f", "#ff9da7", "#8cd17d"};
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return colors[(hash >> 8) % NVT_COUNT_OF(colors)];
}

static void put_item(void *context, const struct nvt_tile_item *item)
{
    const struct drawing *drawing = context;
    const char *name = nvt_scene_name(drawing->scene, item->name);
    const double x = x_of(drawing, item->start), end = x_of(drawing, item->end),
                 width = end - x < 1 ? 1 : end - x;
    fprintf(drawing->out, "<g><rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s'/><title>", x,
            drawing->y, width, ROW - 2, color_of(name));
    nvt_render_html_beginning(name, 200, drawing->out);
    if (item->count > 1)
        fprintf(drawing->out, " and %" PRIu32 " more", item->count - 1);
    fprintf(drawing->out, ", %.3f us</title>", (double)item->ns / 1e3);
    if (item->count == 1 && width > 5 * LETTER) {
        fprintf(drawing->out, "<text x='%.1f' y='%d' fill='#fff'>", x + 2, drawing->y + ROW - 4);
        nvt_render_html_beginning(name, (size_t)((width - 4) / LETTER), drawing->out);
        fputs("</text>", drawing->out);
    }
    fputs("</g>\n", drawing->out);
}

static void put_lane(struct drawing *drawing, uint32_t number)
{
    const struct nvt_view_lane *lane = &drawing->scene->lanes[number];
    const uint32_t tracks = lane->tracks.count < TRACKS ? lane->tracks.count : TRACKS;
    const int is_call = lane->kind != NVT_VIEW_ITERATIONS && lane->kind != NVT_VIEW_RANGES &&
                        lane->kind != NVT_VIEW_STREAM;
    char name[120], label[200];
    nvt_scene_label(drawing->scene, number, name, sizeof(name));
    snprintf(label, sizeof(label), "%s%s%s", name, is_call ? ", " : "",
             is_call ? nvt_view_kind_name(lane->kind) : "");
    fprintf(drawing->out, "<text x='%d' y='%d' text-anchor='end'>", LABELS - 6,
            drawing->y + ROW - 4);
    nvt_render_html_beginning(label, (size_t)((LABELS - 6) / LETTER), drawing->out);
    fputs("</text>\n", drawing->out);
    for (uint32_t i = 0; i < tracks; i++, drawing->y += ROW)
        nvt_track_tile(&lane->tracks.items[i], drawing->from, drawing->to, DRAWN / COLUMN,
                       &drawing->tally, put_item, drawing);
    if (tracks < lane->tracks.count) {
        fprintf(drawing->out, "<text x='%d' y='%d'>%" PRIu32 " more rows</text>\n", LABELS,
                drawing->y + ROW - 4, lane->tracks.count - tracks);
        drawing->y += ROW;
    }
    drawing->y += LANE_GAP;
}

/* Where a lane ends, as put_lane draws it. */
static int height_of(const struct nvt_view_lane *lane)
{
    const int tracks = lane->tracks.count > TRACKS ? TRACKS + 1 : (int)lane->tracks.count;
    return tracks * ROW + LANE_GAP;
}

/* Times at every step of 1, 2 or 5 times a power of ten, at most ten of them, and texts where there is room for them. */
static void put_axis(const struct drawing *drawing, int height)
{
    const double length = (double)(drawing->to - drawing->from);
    double step = pow(10, floor(log10(length / 5)));
    step *= length / step > 25 ? 5 : length / step > 10 ? 2 : 1;
    const double unit = length < 1e4 ? 1 : length < 1e7 ? 1e3 : length < 2e9 ? 1e6 : 1e9;
    const char *const name = length < 1e4 ? "ns" : length < 1e7 ? "us" : length < 2e9 ? "ms" : "s";
    const double from = (double)(drawing->from - drawing->begin);
    double until = 0;
    const double first = ceil(from / step);
    for (int i = 0; (first + i) * step <= from + length; i++) {
        const double at = (first + i) * step, x = LABELS + DRAWN * (at - from) / length;
        char text[48];
        const int letters = snprintf(text, sizeof(text), "%.12g %s", at / unit, name);
        fprintf(drawing->out, "<path d='M%.1f %d V%d' stroke='#ddd'/>", x, TOP - 8, height);
        if (x - letters * LETTER / 2 > until && x + letters * LETTER / 2 < WIDTH) {
            fprintf(drawing->out, "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>", x,
                    TOP - 12, text);
            until = x + letters * LETTER / 2 + LETTER;
        }
        putc('\n', drawing->out);
    }
}

static void put_lanes(struct drawing *drawing, uint32_t lanes, const char *path)
{
    const struct nvt_scene *scene = drawing->scene;
    uint32_t drawn = 0;
    int height = TOP + (lanes > LANES ? ROW : 0);
    for (uint32_t i = 0; i < scene->count && drawn < LANES; i++)
        if (is_drawn(scene->lanes[i].kind)) {
            height += height_of(&scene->lanes[i]);
            drawn++;
        }
    fprintf(drawing->out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' "
            "font-family='sans-serif' font-size='11'>\n<title>",
            WIDTH, height, WIDTH, height);
    nvt_render_html_beginning(nvt_file_name(path), TEXT_MOST, drawing->out);
    fprintf(drawing->out, "</title>\n<rect width='%d' height='%d' fill='#fff'/>\n", WIDTH, height);
    put_axis(drawing, height);
    drawn = 0;
    for (uint32_t i = 0; i < scene->count && drawn < LANES; i++)
        if (is_drawn(scene->lanes[i].kind)) {
            put_lane(drawing, i);
            drawn++;
        }
    if (lanes > LANES)
        fprintf(drawing->out, "<text x='%d' y='%d'>%" PRIu32 " more lanes</text>\n", LABELS,
                drawing->y + ROW - 4, lanes - LANES);
    fputs("</svg>\n", drawing->out);
}

static int write_svg(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    struct nvt_scene scene = {0};
    struct drawing drawing = {.out = out, .scene = &scene, .y = TOP};
    uint32_t lanes = 0;
    int status = nvt_scene_make(&scene, trace, 1, err);
    for (uint32_t i = 0; !status && i < scene.count; i++)
        lanes += is_drawn(scene.lanes[i].kind) != 0;
    drawing.begin = nvt_trace_begin(trace);
    drawing.from = trace->first_ns;
    drawing.to = trace->last_ns > trace->first_ns ? trace->last_ns : trace->first_ns + 1;
    drawing.tally.names = scene.names;
    if (!status && lanes && nvt_tally_begin(&drawing.tally))
        status = nvt_fail(err, "out of memory");
    if (!status && lanes)
        put_lanes(&drawing, lanes, trace->path);
    nvt_tally_free(&drawing.tally);
    nvt_scene_free(&scene);
    return status ? status : !lanes;
}

const struct nvt_exporter nvt_exporter_svg = {.name = "svg",
                                              .about = "a picture of the timeline",
                                              .of = "range, call or device operation",
                                              .write = write_svg};
