/*
 * roofline: FLOP/s of phases and ranges over their arithmetic intensity, below what the machine reaches there
 * (analyze/studies/roofline.h), on logarithmic axes: a picture for each machine. The area of a mark is a share of time. Of
 * several configurations the phases alone are drawn.
 */
#include "../../analyze/studies/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/text.h"
#include "../../lib/words.h"
#include "../label_placement.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"
#include "../short_words.h"

enum { POINTS_MOST = 40, TEXT_MOST = 26, PANEL = 280, MARGIN_LEFT = 64, MARGIN_RIGHT = 22 };

/* A mark of gnuplot's size 1 in px of the SVG, and how large one of all the time is. */
#define MARK_RADIUS 4.5
#define MARK_LEAST  0.5
#define MARK_MOST   2.4
#define MARK_SWEPT  1.5 /* the same of many configurations, each of which has phases of most of it */

/* What is drawn of a roofline below one set of peaks. */
struct sheet {
    const struct nvt_roofline *roofline;
    const struct nvt_peaks *peaks;
    const struct nvt_roof_point *points[POINTS_MOST]; /* the longest first */
    char names[POINTS_MOST][300];                     /* whole */
    char own[POINTS_MOST][200]; /* what is said of each one's configuration alone */
    char texts[POINTS_MOST][NVT_LABEL_SIZE(TEXT_MOST)];
    struct nvt_short_words words; /* whose keys are cut, as there are names that are too long */
    double sizes[POINTS_MOST];
    struct nvt_point_label beside[POINTS_MOST];
    size_t count, left_out, nameless;
    int has_several;                    /* configurations */
    const char *kinds[NVT_NAMES_MOST];  /* names that have a colour */
    const char *colors[NVT_NAMES_MOST]; /* theirs */
    size_t kind_count;
    double top;             /* of the ceilings that are shown, FLOP/s */
    struct nvt_extent x, y; /* FLOPs a byte, FLOP/s */
    double unit;            /* FLOP/s */
};

/* --- what is drawn ---------------------------------------------------------------------------- */

static double intensity_of(const struct nvt_roof_point *point)
{
    return point->flops / point->bytes;
}

static double rate_of(const struct nvt_roof_point *point)
{
    return point->flops / point->ns * 1e9;
}

/* Logarithms have no zero, and no machine is beyond these numbers. */
static int is_drawable(const struct nvt_roof_point *point, size_t peaks)
{
    const double intensity = intensity_of(point), rate = rate_of(point);
    return point->peaks == peaks && intensity > 1e-9 && intensity < 1e9 && rate > 1 && rate < 1e21;
}

/* Whether points of these peaks are of several configurations, and whether any is a phase. */
static void survey(const struct nvt_roofline *roofline, size_t peaks, int *several, int *phases)
{
    const char *first = NULL;
    *several = *phases = 0;
    for (size_t i = 0; i < roofline->count; i++) {
        const struct nvt_roof_point *point = &roofline->points[i];
        if (!is_drawable(point, peaks))
            continue;
        *several |= first && strcmp(first, point->configuration) != 0;
        first = first ? first : point->configuration;
        *phases |= !*point->range;
    }
}

static void pick_points(struct sheet *sheet, size_t peaks)
{
    int phases;
    survey(sheet->roofline, peaks, &sheet->has_several, &phases);
    for (size_t i = 0; i < sheet->roofline->count; i++) {
        const struct nvt_roof_point *point = &sheet->roofline->points[i];
        if (!is_drawable(point, peaks) || (sheet->has_several && phases && *point->range))
            continue;
        size_t at = sheet->count;
        while (at > 0 && sheet->points[at - 1]->ns < point->ns)
            at--;
        sheet->left_out += sheet->count == POINTS_MOST;
        if (at == POINTS_MOST)
            continue;
        sheet->count += sheet->count < POINTS_MOST;
        for (size_t k = sheet->count - 1; k > at; k--)
            sheet->points[k] = sheet->points[k - 1];
        sheet->points[at] = point;
    }
}

/* Time of a configuration that marks are shares of: that of its phases or, without any, of all its points. */
static double whole_of(const struct nvt_roofline *roofline, const char *configuration)
{
    double phases = 0, all = 0;
    for (size_t i = 0; i < roofline->count; i++) {
        const struct nvt_roof_point *point = &roofline->points[i];
        if (strcmp(point->configuration, configuration) != 0)
            continue;
        all += point->ns;
        phases += *point->range ? 0 : point->ns;
    }
    return phases > 0 ? phases : all;
}

/* What a point's colour says: its phase, or its own name. */
static const char *kind_of(const struct nvt_roof_point *point)
{
    return *point->phase ? point->phase : point->range;
}

static size_t kind_at(const struct sheet *sheet, const struct nvt_roof_point *point)
{
    size_t kind = 0;
    while (kind < sheet->kind_count && strcmp(sheet->kinds[kind], kind_of(point)) != 0)
        kind++;
    return kind;
}

static const char *configuration_at(const void *sheet, size_t index)
{
    return ((const struct sheet *)sheet)->points[index]->configuration;
}

/* What tells a point apart: in one configuration its name, else what is said of its configuration alone. Returns the columns
 * that it has. */
static size_t name_point(struct sheet *sheet, size_t index, const char *own)
{
    const struct nvt_roof_point *point = sheet->points[index];
    const char *name = !sheet->has_several && !*point->range ? point->phase : point->range;
    snprintf(sheet->names[index], sizeof(sheet->names[index]), "%.90s%s%s", name,
             *name && *own ? " " : "", own);
    return nvt_text_width(sheet->names[index]);
}

/* What is said of a point's configuration alone; of one without any such word, its first. */
static void pick_own(struct sheet *sheet, size_t index)
{
    const struct nvt_words words = {sheet, sheet->count, configuration_at};
    const char *all = sheet->points[index]->configuration;
    char *own = sheet->own[index];
    if (!nvt_words_pick(&words, all, 0, own, sizeof(sheet->own[index])))
        snprintf(own, sizeof(sheet->own[index]), "%.*s", (int)strcspn(all, " "), all);
}

/* Whole, if all have room; else with short keys, and those that still look alike cut in their middle. */
static void name_points(struct sheet *sheet)
{
    struct nvt_label items[POINTS_MOST];
    char own[sizeof(sheet->own[0])];
    size_t longest = 0;
    for (size_t i = 0; i < sheet->count; i++) {
        if (sheet->has_several)
            pick_own(sheet, i);
        const size_t width = name_point(sheet, i, sheet->own[i]);
        longest = width > longest ? width : longest;
        items[i] = (struct nvt_label){sheet->names[i], 0};
    }
    for (size_t i = 0; longest > TEXT_MOST && i < sheet->count; i++)
        nvt_short_words_add(&sheet->words, sheet->own[i]);
    for (size_t i = 0; longest > TEXT_MOST && i < sheet->count; i++) {
        nvt_short_words_write(&sheet->words, sheet->own[i], own, sizeof(own));
        name_point(sheet, i, own);
    }
    for (size_t i = 0; i < sheet->count; i++)
        nvt_label_write(&(struct nvt_labels){items, sheet->count}, i, TEXT_MOST, sheet->texts[i],
                        sizeof(sheet->texts[i]));
}

/* A ceiling that is shown: of what is multiplied. */
static int has_ceiling(const struct sheet *sheet, int roof)
{
    int used = 0;
    for (size_t i = 0; i < sheet->count && !used; i++)
        used = (int)sheet->points[i]->roof == roof;
    return used && sheet->peaks->flops[roof] > 0;
}

static void measure_roofline(struct sheet *sheet)
{
    sheet->x = sheet->y = nvt_extent_new();
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        if (has_ceiling(sheet, roof))
            sheet->top = fmax(sheet->top, sheet->peaks->flops[roof]);
    const double ridge = sheet->top / sheet->peaks->bytes;
    nvt_extent_add(&sheet->x, ridge / 2, ridge * 1.2);
    nvt_extent_add(&sheet->y, sheet->top, sheet->top);
    for (size_t i = 0; i < sheet->count; i++) {
        const struct nvt_roof_point *point = sheet->points[i];
        const double whole = whole_of(sheet->roofline, point->configuration);
        nvt_extent_add(&sheet->x, intensity_of(point), intensity_of(point));
        nvt_extent_add(&sheet->y, rate_of(point), rate_of(point));
        sheet->sizes[i] = fmax(MARK_LEAST, (sheet->has_several ? MARK_SWEPT : MARK_MOST) *
                                               sqrt(fmin(1, point->ns / whole)));
        if (kind_at(sheet, point) == sheet->kind_count && sheet->kind_count < NVT_NAMES_MOST)
            sheet->kinds[sheet->kind_count++] = kind_of(point);
    }
    name_points(sheet);
    nvt_name_colors(sheet->kinds, sheet->kind_count, sheet->colors);
    sheet->unit = sheet->y.most >= 1e13 ? 1e12 : 1e9;
}

/* --- where names stand ------------------------------------------------------------------------ */

/* Where a value lies on an axis of nvt_frame_scale, from 0 to 1. */
static double along(const struct nvt_extent *extent, double value)
{
    return log(value / (extent->least / 1.5)) / log(extent->most * 1.5 / (extent->least / 1.5));
}

enum { PLACES = 400 };

/* The roofs, as rows of places. Returns how many. */
static size_t trace_roofs(const struct sheet *sheet, double width,
                          struct nvt_line_point places[(NVT_ROOFS + 1) * PLACES])
{
    const struct nvt_extent *x = &sheet->x;
    const double span = x->most * 1.5 / (x->least / 1.5);
    size_t count = 0;
    for (int roof = 0; roof <= NVT_ROOFS; roof++)
        for (int i = 0; i < PLACES; i++) {
            const double at = x->least / 1.5 * pow(span, (double)i / PLACES);
            const double slope = sheet->peaks->bytes * at;
            const double level = roof < NVT_ROOFS ? sheet->peaks->flops[roof] : slope;
            if (roof < NVT_ROOFS ? !has_ceiling(sheet, roof) || slope < level : level > sheet->top)
                continue;
            places[count++] = (struct nvt_line_point){along(x, at) * width,
                                                      (1 - along(&sheet->y, level)) * PANEL};
        }
    return count;
}

static int place_names(struct sheet *sheet)
{
    const double width = NVT_FRAME_WIDTH - MARGIN_LEFT - MARGIN_RIGHT;
    struct nvt_line_point *places = malloc((NVT_ROOFS + 1) * PLACES * sizeof(*places));
    if (!places)
        return -1;
    for (size_t i = 0; i < sheet->count; i++)
        sheet->beside[i] = (struct nvt_point_label){
            .x = along(&sheet->x, intensity_of(sheet->points[i])) * width,
            .y = (1 - along(&sheet->y, rate_of(sheet->points[i]))) * PANEL,
            .radius = MARK_RADIUS * sheet->sizes[i],
            .weight = sheet->points[i]->ns,
            .text = sheet->texts[i],
        };
    const size_t count = trace_roofs(sheet, width, places);
    sheet->nameless = nvt_place_labels(sheet->beside, sheet->count, places, count, width, PANEL);
    free(places);
    return 0;
}

/* --- data and script -------------------------------------------------------------------------- */

/* What a mark is like: a full circle of a phase, or of what lies in none; an open one of a range in a phase; a triangle above the
 * roof. */
enum mark { OPEN, FULL, ABOVE, MARKS };
static const int marks[MARKS] = {6, 7, 9}; /* gnuplot's pointtype */

static enum mark mark_of(const struct sheet *sheet, const struct nvt_roof_point *point)
{
    if (nvt_roof_share(sheet->roofline, point) > 1)
        return ABOVE;
    return !*point->range || !*point->phase ? FULL : OPEN;
}

static int has_kind(const struct sheet *sheet, size_t kind, enum mark mark)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (kind_at(sheet, sheet->points[i]) == kind && mark_of(sheet, sheet->points[i]) == mark)
            return 1;
    return 0;
}

static int has_mark(const struct sheet *sheet, enum mark mark)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (mark_of(sheet, sheet->points[i]) == mark)
            return 1;
    return 0;
}

/* Blocks are numbered in this order: the copy, ceilings, marks. */
static void put_roofline_data(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const double left = sheet->x.least / 1.5, right = sheet->x.most * 1.5;
    const double bytes = sheet->peaks->bytes, end = fmin(sheet->top / bytes, right);
    (void)request;
    (void)name;
    fprintf(out, "# FLOPs a byte, FLOP/s in %g, of marks their size\n# copy\n", sheet->unit);
    fprintf(out, "%.9g\t%.9g\n%.9g\t%.9g\n", left, bytes * left / sheet->unit, end,
            bytes * end / sheet->unit);
    for (int roof = 0; roof < NVT_ROOFS; roof++) {
        const double flops = sheet->peaks->flops[roof];
        if (has_ceiling(sheet, roof))
            fprintf(out, "\n\n# %s\n%.9g\t%.9g\n%.9g\t%.9g\n", nvt_roof_name((enum nvt_roof)roof),
                    flops / bytes, flops / sheet->unit, right, flops / sheet->unit);
    }
    for (size_t kind = 0; kind <= sheet->kind_count; kind++)
        for (enum mark mark = OPEN; mark < MARKS; mark++) {
            static const char *const which[MARKS] = {", ranges in it\n", "\n",
                                                     ", above the roof\n"};
            if (!has_kind(sheet, kind, mark))
                continue;
            fputs("\n\n# ", out);
            nvt_label_text(kind < sheet->kind_count ? sheet->kinds[kind] : "others", out);
            fputs(which[mark], out);
            for (size_t i = 0; i < sheet->count; i++)
                if (kind_at(sheet, sheet->points[i]) == kind &&
                    mark_of(sheet, sheet->points[i]) == mark)
                    fprintf(out, "%.9g\t%.9g\t%.3f\n", intensity_of(sheet->points[i]),
                            rate_of(sheet->points[i]) / sheet->unit, sheet->sizes[i]);
        }
}

static const char *color_of(const struct sheet *sheet, size_t kind)
{
    return kind < sheet->kind_count ? sheet->colors[kind] : NVT_OTHERS_COLOR;
}

/* Dashes alone would not do: gnuplot 5.4 draws a key like the one before it if both have one colour. */
static const char *const copy_color = "#555555";
static const struct nvt_look ceilings[NVT_ROOFS] = {
    {NVT_BLACK, 1, 0}, {"#666666", 2, 0}, {"#888888", 4, 0}, {"#AAAAAA", 5, 0},
    {"#333333", 3, 0}, {"#777777", 1, 0}, {"#BBBBBB", 2, 0}};

/* "239 GFLOP/s", "1,370 TOP/s": three digits. */
static void write_rate(double rate, const char *unit, char *out, size_t size)
{
    const int tera = rate >= 1e12;
    const double value = rate / (tera ? 1e12 : 1e9);
    const double step = value >= 1e4 ? 100 : 10;
    const double rounded = round(value / step) * step;
    if (value >= 999.5 && value < 1e6)
        snprintf(out, size, "%.0f,%03.0f %c%s", floor(rounded / 1000), fmod(rounded, 1000),
                 tera ? 'T' : 'G', unit);
    else
        snprintf(out, size, "%.3g %c%s", value, tera ? 'T' : 'G', unit);
}

/* "fp32 239 GFLOP/s", "copy 95.7 GB/s". */
static void put_roofline_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[64], rate[32];
    for (size_t kind = 0; kind <= sheet->kind_count; kind++)
        if (has_kind(sheet, kind, FULL) || has_kind(sheet, kind, OPEN) ||
            has_kind(sheet, kind, ABOVE))
            nvt_frame_key(frame, NVT_KEY_POINT, color_of(sheet, kind), 1,
                          has_kind(sheet, kind, FULL)   ? marks[FULL]
                          : has_kind(sheet, kind, OPEN) ? marks[OPEN]
                                                        : marks[ABOVE],
                          kind < sheet->kind_count ? sheet->kinds[kind] : "others");
    write_rate(sheet->peaks->bytes, "B/s", rate, sizeof(rate));
    snprintf(text, sizeof(text), "copy %s", rate);
    nvt_frame_key(frame, NVT_KEY_LINE, copy_color, 1, 0, text);
    for (int roof = 0; roof < NVT_ROOFS; roof++) {
        write_rate(sheet->peaks->flops[roof], roof == NVT_ROOF_INT8 ? "OP/s" : "FLOP/s", rate,
                   sizeof(rate));
        snprintf(text, sizeof(text), "%s %s", nvt_roof_name((enum nvt_roof)roof), rate);
        if (has_ceiling(sheet, roof))
            nvt_frame_key(frame, NVT_KEY_LINE, ceilings[roof].color, ceilings[roof].dash, 0, text);
    }
}

/* "The 40 of 117 with the most time; 31 names had no room." */
static void put_left_out(const struct sheet *sheet, struct nvt_frame *frame)
{
    char points[80] = "", names[80] = "", text[NVT_FRAME_TEXT];
    if (sheet->left_out)
        snprintf(points, sizeof(points), "The %zu of %zu with the most time. ", sheet->count,
                 sheet->count + sheet->left_out);
    if (sheet->nameless)
        snprintf(names, sizeof(names), "%zu name%s had no room.", sheet->nameless,
                 sheet->nameless > 1 ? "s" : "");
    snprintf(text, sizeof(text), "%s%s%s", points, names,
             *points || *names ? " All: nvtally stats -r roofline." : "");
    nvt_frame_note(frame, text);
}

static void put_roofline_notes(const struct nvt_chart_request *request, const struct sheet *sheet,
                               struct nvt_frame *frame)
{
    const struct nvt_words words = {sheet, sheet->count, configuration_at};
    char text[NVT_FRAME_TEXT], keys[NVT_FRAME_TEXT - 1];
    snprintf(text, sizeof(text), "Area: share of the time.%s",
             has_mark(sheet, OPEN) ? " Open: ranges in the phase of that colour." : "");
    nvt_frame_note(frame, text);
    if (has_mark(sheet, ABOVE))
        nvt_frame_note(frame, "Triangles are above their roof: their data stays in a cache or is "
                              "written where it was read, or the roof was measured slower.");
    put_left_out(sheet, frame);
    nvt_short_words_tell(&sheet->words, keys, sizeof(keys));
    snprintf(text, sizeof(text), "%s.", keys);
    nvt_frame_note(frame, *keys ? text : "");
    snprintf(text, sizeof(text), "Roof: large GEMMs and a copy, measured %s%.10s.",
             *sheet->peaks->date ? "" : "with the run", sheet->peaks->date);
    nvt_frame_note(frame, text);
    if (nvt_words_pick(&words, sheet->points[0]->configuration, 1, text, sizeof(text)))
        nvt_frame_note(frame, text);
    nvt_chart_provenance(request->input, frame);
}

static void put_plots(const struct sheet *sheet, const char *name, FILE *out)
{
    int block = 0;
    fprintf(out, "plot '%s.dat' index %d using 1:2 with lines linecolor '%s' linewidth 1.6", name,
            block++, copy_color);
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        if (has_ceiling(sheet, roof))
            fprintf(out,
                    ", \\\n     '' index %d using 1:2 with lines linecolor '%s' dashtype %d "
                    "linewidth 1.6",
                    block++, ceilings[roof].color, ceilings[roof].dash);
    for (size_t kind = 0; kind <= sheet->kind_count; kind++)
        for (enum mark mark = OPEN; mark < MARKS; mark++)
            if (has_kind(sheet, kind, mark))
                fprintf(out,
                        ", \\\n     '' index %d using 1:2:3 with points pointtype %d pointsize "
                        "variable linewidth 1.4 linecolor '%s'",
                        block++, marks[mark], color_of(sheet, kind));
    putc('\n', out);
}

/* Places of the panel as gnuplot's. */
static void put_roofline_names(const struct sheet *sheet, double width, FILE *out)
{
    for (size_t i = 0; i < sheet->count; i++) {
        const struct nvt_point_label *beside = &sheet->beside[i];
        if (!beside->is_placed)
            continue;
        fprintf(out, "set label %zu ", 1 + i);
        nvt_gnuplot_text(beside->text, TEXT_MOST + 1, out);
        fprintf(out, " at graph %.4f,graph %.4f %s front noenhanced font ',12'\n",
                beside->anchor / width, 1 - beside->middle / PANEL,
                beside->align > 0   ? "left"
                : beside->align < 0 ? "right"
                                    : "center");
        if (beside->is_far)
            fprintf(out,
                    "set arrow %zu from graph %.4f,graph %.4f to graph %.4f,graph %.4f nohead "
                    "linecolor '#888888' linewidth 0.7\n",
                    1 + i, beside->edge_x / width, 1 - beside->edge_y / PANEL,
                    beside->end_x / width, 1 - beside->end_y / PANEL);
    }
}

static void put_roofline_script(const struct nvt_chart_request *request, const void *what,
                                const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const double width = NVT_FRAME_WIDTH - MARGIN_LEFT - MARGIN_RIGHT;
    struct nvt_frame frame = nvt_frame_new(request, name, "Roofline");
    frame.left = MARGIN_LEFT;
    frame.right = MARGIN_RIGHT;
    put_roofline_keys(sheet, &frame);
    put_roofline_notes(request, sheet, &frame);
    nvt_frame_open(&frame, PANEL, out);
    nvt_frame_scale('x', &sheet->x, 1, 0, out);
    nvt_frame_scale('y', &sheet->y, sheet->unit, 0, out);
    fputs("set xlabel 'arithmetic intensity (FLOP/byte), log scale'\n", out);
    nvt_frame_y_label(&frame, 0, sheet->unit > 1e9 ? "TFLOP/s, log scale" : "GFLOP/s, log scale",
                      out);
    put_roofline_names(sheet, width, out);
    put_plots(sheet, name, out);
    nvt_frame_close(&frame, out);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static int has_roof(const struct nvt_peaks *peaks)
{
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        if (peaks->flops[roof] > 1 && roof != NVT_ROOF_INT8)
            return peaks->bytes > 1;
    return 0;
}

static int draw_peaks(const struct nvt_chart_request *request, const struct nvt_roofline *roofline,
                      size_t peaks, struct nvt_error *err)
{
    struct sheet *sheet = calloc(1, sizeof(*sheet));
    int status = 0;
    if (!sheet)
        return nvt_fail(err, "out of memory");
    sheet->roofline = roofline;
    sheet->peaks = &roofline->peaks[peaks];
    pick_points(sheet, peaks);
    if (sheet->count) {
        measure_roofline(sheet);
        status = place_names(sheet) ? nvt_fail(err, "out of memory")
                                    : nvt_chart_draw(request, "roofline", put_roofline_data,
                                                     put_roofline_script, sheet, err);
    }
    free(sheet);
    return status;
}

/* Of one configuration the ranges in its phases are drawn, which are in its trace; else the records have all. */
static int read_traces(struct nvt_input *input, struct nvt_error *err)
{
    size_t records = 0;
    for (size_t i = 0; i < input->run_count; i++)
        records += input->runs[i]->count;
    return records == 1 && !input->trace_count ? nvt_input_traces(input, err) : 0;
}

static int draw_roofline(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_roofline roofline = {0};
    int status = read_traces(request->input, err);
    if (!status)
        status = nvt_roofline_make(&roofline, request->input, err);
    for (size_t i = 0; i < roofline.peaks_count && !status; i++)
        if (has_roof(&roofline.peaks[i]))
            status = draw_peaks(request, &roofline, i, err);
    nvt_roofline_free(&roofline);
    return status;
}

static int roofline_fits(const struct nvt_input *input)
{
    struct nvt_roofline roofline = {0};
    int fitting = 0;
    if (!nvt_roofline_make(&roofline, input, NULL))
        for (size_t i = 0; i < roofline.count && !fitting; i++)
            fitting = roofline.points[i].peaks != SIZE_MAX &&
                      has_roof(&roofline.peaks[roofline.points[i].peaks]) &&
                      is_drawable(&roofline.points[i], roofline.points[i].peaks);
    nvt_roofline_free(&roofline);
    return fitting;
}

const struct nvt_chart nvt_chart_roofline = {
    .name = "roofline",
    .about = "FLOP/s of phases and ranges below what the machine reaches",
    .part = NVT_CHART_ROOFLINE,
    .fits = roofline_fits,
    .draw = draw_roofline,
};
